"""Ratoon, a Python notebook that can branch from any cell it ever ran.

    from ratoon import Notebook

This package contains the client for programs (docs/python.md), the Jupyter kernel
(docs/jupyter.md), the server's program, `ratoon`, and beside it `libratoon.so`, which the processes
that run cells load. `__main__` starts the server.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import AsyncLiveRun as AsyncLiveRun
    from .client import AsyncNotebook as AsyncNotebook
    from .client import LiveRun as LiveRun
    from .client import Notebook as Notebook
    from .errors import CellFailed as CellFailed
    from .errors import ConnectionLost as ConnectionLost
    from .errors import NotFound as NotFound
    from .errors import RatoonError as RatoonError

PLACES = {
    "AsyncLiveRun": "client",
    "AsyncNotebook": "client",
    "LiveRun": "client",
    "Notebook": "client",
    "CellFailed": "errors",
    "ConnectionLost": "errors",
    "NotFound": "errors",
    "RatoonError": "errors",
}


def __getattr__(name: str) -> Any:
    # Loaded when it is used: the command `ratoon` starts without it.
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{PLACES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *PLACES])
