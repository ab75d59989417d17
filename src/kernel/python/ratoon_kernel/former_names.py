"""Maps module names in checkpoints of earlier versions to the modules of this package."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import Any

# For each former module: the modules that replace it, in the order in which names are searched.
_MODULES = {
    "_ratoon_databases": (
        "adapters.databases",
        "adapters.sqlite3",
        "adapters.duckdb",
        "adapters.sqlalchemy",
    ),
    "_ratoon_learning": (
        "adapters.xgboost",
        "adapters.lightgbm",
        "adapters.onnxruntime",
        "adapters.numba",
    ),
    "_ratoon_locks": ("adapters.threading",),
    "_ratoon_logs": ("adapters.logging",),
    "_ratoon_observers": ("adapters.traitlets",),
    "_ratoon_pickling": ("rebuilding", "pickling", "adapters.numpy", "adapters.polars"),
    "_ratoon_pools": ("adapters.pools",),
    "_ratoon_shell": ("shell", "cells", "outputs", "forks"),
    "_ratoon_transfer": ("transfer",),
    "_ratoon_values": ("data_form",),
    "_ratoon_web": ("adapters.httpx",),
}


class _Former(types.ModuleType):
    """Replaces a former module whose content was split into several modules."""

    def __init__(self, name: str, modules: list[types.ModuleType]) -> None:
        super().__init__(name)
        self.modules = modules

    def __getattr__(self, name: str) -> Any:
        for module in self.modules:
            if name in vars(module):
                return vars(module)[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def _module(former: str, names: tuple[str, ...]) -> types.ModuleType:
    modules = [sys.modules[f"{__package__}.{name}"] for name in names]
    return modules[0] if len(modules) == 1 else _Former(former, modules)


@contextlib.contextmanager
def resolved() -> Iterator[None]:
    """Makes the former module names importable inside a `with` block."""
    known = {former: _module(former, names) for former, names in _MODULES.items()}
    sys.modules.update(known)
    try:
        yield
    finally:
        for former in known:
            sys.modules.pop(former, None)
