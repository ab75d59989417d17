"""Saves and restores pools of threads and processes: their arguments, but not their tasks and
workers. In a branch, pools start new workers, or refuse tasks.

Threads and processes that start while a checkpoint is loaded would not exist in branches. If the
constructor of a pool starts any, the pool is constructed when a branch first uses it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from typing import Any

from .. import import_hooks, pickling
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


# -- in branches -----------------------------------------------------------------------------------


_NO_WORKERS = (
    "the processes of this pool belong to the lineage that started them, not to its branches:"
    " create a new pool in this branch"
)


def _clear_threads() -> None:
    """Lets pools of threads start new threads."""
    pools = sys.modules.get("concurrent.futures.thread")
    for worker in list(getattr(pools, "_threads_queues", ())):
        arguments = getattr(worker, "_args", None)
        pool = arguments[0]() if arguments else None
        if pool is not None:
            pool._threads.clear()
            pool._idle_semaphore = threading.Semaphore(0)


def _end_executors() -> None:
    """Makes executors of processes refuse tasks. The threads that send tasks to the processes do
    not exist in a branch, so a task would wait forever."""
    pools = sys.modules.get("concurrent.futures.process")
    for thread in list(getattr(pools, "_threads_wakeups", ())):
        pool = thread.executor_reference()
        if pool is not None:
            pool._broken = _NO_WORKERS


def _end_pools() -> None:
    """Makes multiprocessing's pools of processes refuse tasks, for the same reason."""
    pools = sys.modules.get("multiprocessing.pool")
    if pools is None:
        return
    for final in list(sys.modules["multiprocessing.util"]._finalizer_registry.values()):
        pool = final._weakref() if final._weakref is not None else None
        if isinstance(pool, pools.Pool) and not hasattr(pool, "_ratoon_is_inherited"):
            pool._ratoon_is_inherited = True
            pool._check_running = _refuse_pool
            # Terminating the pool would wait for threads that do not exist here.
            final.cancel()
            pool._terminate = _do_nothing
            pool.join = _do_nothing


def _refuse_pool() -> None:
    raise RuntimeError(_NO_WORKERS)


def _do_nothing(*_: Any, **__: Any) -> None:
    pass


def _forget_fork_server() -> None:
    """Lets multiprocessing start another server for the start method `forkserver`. The state's
    server is the child of another process, so Python could not see whether it still runs. It ends
    when no process has its descriptor open."""
    module = sys.modules.get("multiprocessing.forkserver")
    server: Any = getattr(module, "_forkserver", None)
    if getattr(server, "_forkserver_pid", None) is None:
        return
    os.close(server._forkserver_alive_fd)
    server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None


class ConcurrentFutures(Adapter):
    library = "concurrent"
    reducers = {
        ("concurrent.futures.thread", "ThreadPoolExecutor"): _reduce_thread_pool,
        ("concurrent.futures.process", "ProcessPoolExecutor"): _reduce_process_pool,
    }

    def after_fork(self) -> None:
        _clear_threads()
        if import_hooks.process_pools:
            begin_anew(list(import_hooks.process_pools))
        _end_executors()


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

    def after_fork(self) -> None:
        _end_pools()
        _forget_fork_server()


class Loky(Adapter):
    """The reusable executor of loky, or of joblib's copy of it. Its workers do not exist in a
    branch."""

    def __init__(self, library: str, module: str) -> None:
        self.library = library
        self.module = module

    def after_fork(self) -> None:
        executor: Any = sys.modules.get(self.module)
        if executor is not None:
            executor._executor = None
