"""Saves and restores pools of threads and processes: their arguments, but not their tasks and
workers.

Threads and processes that start while a checkpoint is loaded would not exist in branches. If the
constructor of a pool starts any, the pool is constructed when a branch first uses it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import pickling
from ..adapter import Adapter, Reduced

# The positional and the named arguments of a pool's class.
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def _reduce_thread_pool(value: Any) -> Reduced:
    queue = value._work_queue
    waiting = [queue.get_nowait() for _ in range(queue.qsize())]
    for work in waiting:
        queue.put(work)
    # A None in the queue is not a task. It only wakes the threads.
    if any(work is not None for work in waiting):
        raise pickling.Unsavable(value, "a pool with unfinished work")
    arguments = (value._max_workers, value._thread_name_prefix, *_initializer(value))
    return make_executor, (type(value), arguments, {}, value._shutdown)


def _reduce_process_pool(value: Any) -> Reduced:
    if value._pending_work_items:
        raise pickling.Unsavable(value, "a pool with unfinished work")
    positional, named = _arguments(value)
    if value._shutdown_thread:
        return make_executor, (type(value), positional, named, True)
    # The pool is constructed when it is first used, because its constructor makes pipes and locks
    # that all branches would otherwise share.
    return make_later, (type(value), positional, named)


def _arguments(pool: Any) -> Arguments:
    """Returns the arguments with which a process pool of concurrent.futures was constructed."""
    most_tasks = getattr(pool, "_max_tasks_per_child", None)
    named = {} if most_tasks is None else {"max_tasks_per_child": most_tasks}
    return (pool._max_workers, pool._mp_context, *_initializer(pool)), named


def _initializer(pool: Any) -> tuple[Any, Any]:
    return pool._initializer, pool._initargs


def _reduce_multiprocessing_pool(value: Any) -> Reduced:
    arguments = (*_checked(value), value._maxtasksperchild, value._ctx)
    return make_later, (type(value), arguments)


def _reduce_multiprocessing_thread_pool(value: Any) -> Reduced:
    return make_later, (type(value), _checked(value))


def _checked(value: Any) -> tuple[Any, ...]:
    """Returns the first arguments of a pool of multiprocessing. Raises Unsavable if the pool is
    closed or has tasks."""
    if value._state != "RUN":
        raise pickling.Unsavable(value, "a pool that is closed")
    if value._cache:
        raise pickling.Unsavable(value, "a pool with unfinished work")
    return (value._processes, *_initializer(value))


def _reduce_context(value: Any) -> Reduced:
    return make_context, (value._name,)


def _reduce_default_context(_: Any) -> Reduced:
    return make_default_context, ()


# Checkpoints refer to the functions from here to `_later` by module and name: do not move or rename
# them.


def make_executor(
    kind: Any, arguments: tuple[Any, ...], named: dict[str, Any], is_over: bool
) -> Any:
    made = kind(*arguments, **named)
    if is_over:
        made.shutdown()
    return made


def make_context(name: str) -> Any:
    import multiprocessing

    return multiprocessing.get_context(name)


def make_default_context() -> Any:
    import multiprocessing.context

    context: Any = multiprocessing.context
    return context._default_context


def make_later(kind: Any, arguments: tuple[Any, ...], named: dict[str, Any] | None = None) -> Any:
    """Returns an object that is constructed when an attribute of it is first accessed."""
    made = kind.__new__(_later_of(kind))
    object.__setattr__(made, _MADE_WITH, (arguments, named or {}))
    return made


# -- pools that are constructed at their first use -------------------------------------------------

_MADE_WITH = "_ratoon_made_with"
# For each class of pools: the subclass that its objects have until they are constructed.
_later: dict[type, type] = {}


def _later_of(kind: type) -> type:
    later = _later.get(kind)
    if later is None:
        own = {
            "__getattr__": _make_now,
            "__del__": _was_not_needed,
            "__reduce_ex__": _reduce_later,
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
            "__repr__": object.__repr__,
        }
        later = _later[kind] = type(kind.__name__, (kind,), own)
    return later


def begin_anew(pools: Iterable[Any]) -> None:
    """Called in a child after a fork. Removes the pipes and locks of pools that were never used,
    because they belong to the parent. Each of these pools is constructed again when it is used.
    """
    for pool in pools:
        kind = type(pool)
        is_its_own = kind.__module__ == "concurrent.futures.process" and kind not in _later.values()
        has_begun = pool._executor_manager_thread is not None if is_its_own else True
        if not has_begun and not pool._shutdown_thread:
            made_with = _arguments(pool)
            vars(pool).clear()
            vars(pool)[_MADE_WITH] = made_with
            object.__setattr__(pool, "__class__", _later_of(kind))


def _make_now(made: Any, name: str) -> Any:
    made_with = vars(made).get(_MADE_WITH)
    kind: Any = type(made).__base__
    # Tools that inspect objects read such names. This does not count as a use of the pool.
    if made_with is None or name.startswith(("__", "_repr_", "_ipython_")):
        raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
    object.__delattr__(made, _MADE_WITH)
    object.__setattr__(made, "__class__", kind)
    try:
        kind.__init__(made, *made_with[0], **made_with[1])
    except BaseException:
        vars(made).clear()
        vars(made)[_MADE_WITH] = made_with
        object.__setattr__(made, "__class__", _later[kind])
        raise
    return getattr(made, name)


def _was_not_needed(_: Any) -> None:
    pass


def _reduce_later(made: Any, _: object) -> Reduced:
    return make_later, (type(made).__base__, *vars(made)[_MADE_WITH])


class ConcurrentFutures(Adapter):
    library = "concurrent"
    reducers = {
        ("concurrent.futures.thread", "ThreadPoolExecutor"): _reduce_thread_pool,
        ("concurrent.futures.process", "ProcessPoolExecutor"): _reduce_process_pool,
    }


class Multiprocessing(Adapter):
    library = "multiprocessing"
    reducers = {
        ("multiprocessing.pool", "Pool"): _reduce_multiprocessing_pool,
        ("multiprocessing.pool", "ThreadPool"): _reduce_multiprocessing_thread_pool,
        ("multiprocessing.context", "ForkContext"): _reduce_context,
        ("multiprocessing.context", "SpawnContext"): _reduce_context,
        ("multiprocessing.context", "ForkServerContext"): _reduce_context,
        ("multiprocessing.context", "DefaultContext"): _reduce_default_context,
    }
