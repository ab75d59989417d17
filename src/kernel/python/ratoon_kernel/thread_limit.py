"""Limits the threads of numeric libraries while a cell runs, so that branches that run at the same
time share the cores.

Libraries read environment variables when they are loaded. Loaded libraries are limited by PyTorch's
own function, and by threadpoolctl if the user's environment contains it.
"""

import contextlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "BLIS_NUM_THREADS",
)
# Parts of the file names of the libraries that threadpoolctl can limit. To find out whether one is
# loaded takes 0.5 ms.
_LIBRARIES = ("blas", "mkl_rt", "blis", "libomp", "libgomp", "libiomp")


class _Pool(NamedTuple):
    """The threads of a loaded library."""

    threads: int
    set_threads: Callable[[int], Any]


def settle() -> None:
    """Imports threadpoolctl in the root process, if the user's environment contains it. Otherwise
    each branch would import it anew, which takes 8 of its 10 ms."""
    with contextlib.suppress(Exception):  # another version, or a broken one
        if importlib.util.find_spec("threadpoolctl") is not None:
            _threadpoolctl().ThreadpoolController()


@contextlib.contextmanager
def limited(count: int) -> Iterator[None]:
    """Limits the number of threads for the duration of a `with` block. What the block itself sets
    stays. Libraries that the block loads get their usual number of threads at its end."""
    variables = {name: os.environ.get(name) for name in _VARIABLES}
    usual = _usual_count(variables["OMP_NUM_THREADS"])
    before: dict[str, int] = {}
    try:
        for name, value in variables.items():
            if value is None or not value.isdecimal() or int(value) > count:
                os.environ[name] = str(count)
        pools = _pools()
        before.update((key, pool.threads) for key, pool in pools.items())
        _set(pools, dict.fromkeys((key for key in before if before[key] > count), count))
        yield
    finally:
        for name, value in variables.items():
            if os.environ.get(name) == str(count):
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
        pools = _pools()
        at_limit = [key for key in pools if pools[key].threads == count]
        _set(pools, {key: before.get(key, usual) for key in at_limit})


def _usual_count(of_openmp: str | None) -> int:
    if of_openmp is not None and of_openmp.isdecimal():
        return int(of_openmp)
    return len(os.sched_getaffinity(0))


def _set(pools: dict[str, _Pool], counts: dict[str, int]) -> None:
    for key, count in counts.items():
        if pools[key].threads != count:
            with contextlib.suppress(Exception):  # another version of the library
                pools[key].set_threads(count)


def _pools() -> dict[str, _Pool]:
    found: dict[str, _Pool] = {}
    with contextlib.suppress(Exception):  # no threadpoolctl, or another version
        if _has_library():
            for one in _threadpoolctl().ThreadpoolController().lib_controllers:
                if type(one.num_threads) is int:
                    found[one.filepath] = _Pool(one.num_threads, one.set_num_threads)
    with contextlib.suppress(Exception):  # a module of the user that is called torch
        torch: Any = sys.modules.get("torch")
        if torch is not None:
            found["torch"] = _Pool(int(torch.get_num_threads()), torch.set_num_threads)
    return found


def _threadpoolctl() -> Any:
    """Imports threadpoolctl without the environment variable that it sets when it is imported."""
    name = "KMP_DUPLICATE_LIB_OK"
    is_own = name in os.environ or "threadpoolctl" in sys.modules
    try:
        import threadpoolctl
    finally:
        if not is_own:
            os.environ.pop(name, None)
    return threadpoolctl


def _has_library() -> bool:
    with open("/proc/self/maps") as file:
        loaded = file.read()
    return any(name in loaded for name in _LIBRARIES)
