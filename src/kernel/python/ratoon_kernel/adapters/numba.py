"""Saves and restores functions that numba compiles: their source, and whether their compiled code
is cached on disk."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .. import importable
from ..adapter import Adapter, Reduce, Reduced

if TYPE_CHECKING:
    from ..pickling import Reducers


def _reduce_compiled(files: set[str], value: Any) -> Reduced:
    files.add(value.py_func.__code__.co_filename)
    reduced = value.__reduce__()
    if value._cache.cache_path is None:
        return reduced
    # numba's own reduction does not contain the setting `cache=True`.
    return *reduced, True, None, None, cache_again


def cache_again(made: Any, _: Any) -> None:
    # Checkpoints refer to this function by module and name: do not move or rename it.
    made._cache = _CacheLater(made)


class _CacheLater:
    """Enables the cache on disk when it is first used. The cache needs the source of the function,
    which is restored after the function."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._none = function._cache

    def __getattr__(self, name: str) -> Any:
        function = self._function
        function._cache = self._none
        try:
            function.enable_caching()
        except (OSError, RuntimeError):  # no source, or no directory that can be written to
            pass
        return getattr(function._cache, name)


class Numba(Adapter):
    library = "numba"

    def reducer(self, pickler: Reducers, kind: type) -> Reduce | None:
        name = (kind.__module__, kind.__qualname__)
        if name != ("numba.core.registry", "CPUDispatcher") or not importable.is_importable(kind):
            return None
        return functools.partial(_reduce_compiled, pickler.files)
