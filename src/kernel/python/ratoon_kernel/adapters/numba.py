"""Saves and restores functions that numba compiles: their source, and whether their compiled code
is cached on disk. Makes numba work in branches."""

from __future__ import annotations

import ctypes
import functools
import sys
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

    def after_fork(self) -> None:
        """Makes numba work in this child. numba terminates each child of the process that started
        its OpenMP threads, because libgomp's threads do not survive a fork. The kernel's forks end
        these threads first, so its children are safe. numba then only terminates children that user
        code forks from this process."""
        pool = sys.modules.get("numba.np.ufunc.omppool")
        parallel = sys.modules.get("numba.np.ufunc.parallel")
        if pool is not None and getattr(parallel, "_is_initialized", False):
            try:
                # Makes numba record this process. Starts no threads.
                ctypes.CFUNCTYPE(None, ctypes.c_int)(pool.launch_threads)(1)
            except (AttributeError, TypeError):
                pass  # another version of numba
