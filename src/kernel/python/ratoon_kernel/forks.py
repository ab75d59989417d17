"""Finds what of a state does not survive a fork. It is repaired in the child if possible, and
reported otherwise.

`boot` wraps functions of the standard library to learn of event loops, subprocesses, fork hooks and
watchdogs that user code makes.
"""

import _posixsubprocess
import _thread
import asyncio.selector_events
import ctypes
import faulthandler
import functools
import gc
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, cast

from . import import_hooks
from .private_layouts import START_NEW_SESSION
from .text import listed, to_json

# Cells may replace it in its module.
_getitimer = signal.getitimer
# The threads that have started and those that are about to, by id.
_threads, _starting_threads = threading._active, threading._limbo  # type: ignore[attr-defined]

_shell: Any = None
# `adapters.pools`. Held here, as a cell may remove it from `sys.modules`.
_pools: Any = None
# All event loops and subprocesses that were made here and still exist; subprocesses by `id`.
_loops: "weakref.WeakSet[Any]" = weakref.WeakSet()
_processes: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()
# Names of functions that cells have given to os.register_at_fork.
_fork_hooks: list[str] = []
# When faulthandler's watchdog ends, on the clock of time.monotonic (infinite if it repeats), and
# whether a fork has left one behind.
_watchdog_ends: float = 0
_watchdog_is_lost = False
# Whether the fork in progress is ours, not the user's.
_fork_is_ours = False


def boot(has_forked: Callable[[], None]) -> None:
    """Starts watching, before any code of the user runs. `has_forked` is called in every child."""
    os.register_at_fork(after_in_child=has_forked, after_in_parent=_after_fork_in_parent)
    _seed_only_users_forks()
    _note_fork_hooks()
    _note_new_loops()
    _note_new_processes()
    _note_watchdogs()
    _detach_trackers()


def settle(shell: Any) -> None:
    """The root is complete."""
    from .adapters import pools

    global _shell, _pools
    _shell, _pools = shell, pools


def hazards() -> str:
    """What of the state does not survive a fork, as JSON: [sentences, whether this process may be
    forked at all, whether part of the state lives in this process alone]."""
    if _is_simple():
        return "[[],true,false]"
    warnings, may_fork = [], True
    threads = [t.name for t in threading.enumerate() if t.is_alive() and not _is_ours(t)]
    if threads:
        warnings.append(f"threads do not go on in a branch: {listed(threads)}")
        locks = _held_locks()
        if locks:
            warnings.append(
                f"locks that these threads may hold stay locked in a branch: {listed(locks)}"
            )
    timers = [name for name, timer in _TIMERS.items() if _getitimer(timer)[0]]
    if _has_watchdog():
        timers.append("faulthandler.dump_traceback_later")
    if timers:
        warnings.append(f"timers do not go on in a branch: {listed(timers)}")
    tasks = _waiting_tasks()
    if tasks:
        warnings.append(
            f"tasks go on in each branch by themselves, when its event loop runs: {listed(tasks)}"
        )
    if _fork_hooks:
        warnings.append(f"functions that run at each fork, in every branch: {listed(_fork_hooks)}")
    if _uses_cuda():
        warnings.append("CUDA does not survive a fork: branches come from the checkpoint")
        may_fork = False
    return to_json([warnings, may_fork, bool(threads or timers) or not may_fork])


def _is_simple() -> bool:
    """Whether nothing is there that `hazards` looks at, found without touching much."""
    return (
        len(_threads) == 1
        and not _starting_threads
        and not _loops
        and not _fork_hooks
        and not _watchdog_ends
        and "torch" not in sys.modules
        and not any(_getitimer(timer)[0] for timer in _TIMERS.values())
    )


_TIMERS = {
    "ITIMER_REAL (signal.alarm)": signal.ITIMER_REAL,
    "ITIMER_VIRTUAL": signal.ITIMER_VIRTUAL,
    "ITIMER_PROF": signal.ITIMER_PROF,
}


def _waiting_tasks() -> list[str]:
    try:
        return [
            task.get_name()
            for loop in list(_loops)
            if not loop.is_closed()
            for task in asyncio.all_tasks(loop)
        ]
    except RuntimeError:  # threads keep changing the set
        return []


def _held_locks() -> list[str]:
    """Names of variables that are held locks or contain one. An RLock held by this thread does not
    count: this thread will release it."""
    held = []
    for name, value in list(_shell.user_ns.items()):
        kind = type(value)
        # A thread has locks of its own. It is reported by its name.
        has_parts = not issubclass(kind, (type, type(sys), type(_parts), threading.Thread))
        parts = _parts(value) if has_parts else []
        if (
            type(name) is str
            and not name.startswith("_")
            and any(_is_held(one) for one in [value, *parts])
        ):
            held.append(name)
    return held


def _parts(value: Any) -> list[Any]:
    """The objects inside an object, without calling its code. Containers of thousands are left out:
    touching their items copies memory pages, and locks are not kept there."""
    large = (list, tuple, dict, set, frozenset)
    parts = [] if type(value) in large and len(value) > 1000 else gc.get_referents(value)
    inside = [part for part in parts[:1000] if type(part) is dict and len(part) <= 1000]
    return parts + gc.get_referents(*inside)


def _is_held(lock: object) -> bool:
    if type(lock) is _thread.LockType:
        return lock.locked()
    return (
        type(lock) is _thread.RLock
        and not cast(Any, lock)._is_owned()
        and not repr(lock).startswith("<unlocked")
    )


def own_sockets() -> str:
    """Descriptors of sockets that each branch replaces, as JSON."""
    pairs = [(loop._ssock, loop._csock) for loop in list(_loops) if not loop.is_closed()]
    return to_json([end.fileno() for pair in pairs for end in pair])


def own_locks() -> str:
    """How many locks between processes cannot block a branch, as JSON: tqdm makes one when it is
    imported and holds it only while it writes a line."""
    writing = getattr(sys.modules.get("tqdm.std"), "TqdmDefaultWriteLock", None)
    return to_json(0 if getattr(writing, "mp_lock", None) is None else 1)


def native_ids() -> str:
    """The system's ids of the threads that Python knows, as JSON. Called before threads are
    counted."""
    _pause_opencv()
    own = threading.current_thread()
    ids = [thread.native_id for thread in threading.enumerate() if thread is not own]
    # CPython 3.11 keeps the parent's id for the thread that forked.
    return to_json([threading.get_native_id(), *(id for id in ids if id is not None)])


def _pause_opencv() -> None:
    """Ends OpenCV's threads, which it restarts when needed. One that falls asleep holds a lock,
    which would stay locked in a branch (one fork in a hundred). Skipped if a Python thread may be
    using them."""
    cv2 = sys.modules.get("cv2")
    if cv2 is None or threading.active_count() > 1:
        return
    try:
        count = cv2.getNumThreads()
        if count > 1:
            cv2.setNumThreads(1)
            cv2.setNumThreads(count)
    except Exception:  # another module of this name
        pass


def _uses_cuda() -> bool:
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    try:
        return bool(cuda and cuda.is_initialized())
    except Exception:
        return False


def _is_ours(thread: threading.Thread) -> bool:
    """Whether a branch does without a thread: the main thread, one whose function has returned, the
    one in which %%bash waits, and those in which asyncio waits for child processes. The processes
    themselves are reported."""
    if thread is threading.main_thread():
        return True
    try:
        target = thread._target  # type: ignore[attr-defined]
    except AttributeError:  # `Thread.run` deletes it at its end
        return True
    if getattr(target, "__name__", "") == "_do_waitpid":
        return getattr(target, "__module__", "") == "asyncio.unix_events"
    loop = getattr(_script_magics(), "event_loop", None)
    return loop is not None and target == loop.run_forever


def _script_magics() -> Any:
    return _shell.magics_manager.registry.get("ScriptMagics")


def before_fork() -> None:
    """Runs before each of our forks, in the parent or in a child that is not finished."""
    global _fork_is_ours
    _fork_is_ours = True
    _share_trackers(True)


def _after_fork_in_parent() -> None:
    global _fork_is_ours
    _fork_is_ours = False
    _share_trackers(False)


def after_fork_in_child() -> None:
    """Repairs what a fork breaks."""
    _after_fork_in_parent()
    if getattr(_script_magics(), "event_loop", None):
        # Its thread is gone. %%bash starts another instead of waiting for it forever.
        _script_magics().event_loop = None
    _give_own_workers()
    _own_openmp_of_numba()
    _give_away_processes()
    _lose_watchdog()
    for loop in list(_loops):
        if not loop.is_closed():
            _give_own_wakeups(loop)


def _give_own_workers() -> None:
    """Lets pools start new workers. Those of the state do not exist in a branch."""
    for name in ("joblib.externals.loky.reusable_executor", "loky.reusable_executor"):
        loky = sys.modules.get(name)
        if loky is not None:
            cast(Any, loky)._executor = None
    pools = sys.modules.get("concurrent.futures.thread")
    for worker in list(getattr(pools, "_threads_queues", ())):
        arguments = getattr(worker, "_args", None)
        pool = arguments[0]() if arguments else None
        if pool is not None:
            pool._threads.clear()
            pool._idle_semaphore = threading.Semaphore(0)
    if import_hooks.process_pools:
        _pools.begin_anew(list(import_hooks.process_pools))
    _end_pools_of_processes()


def _end_pools_of_processes() -> None:
    """Makes pools refuse tasks. Their processes, and the threads that talk to them, belong to the
    line that started them, so a task would wait forever."""
    pools = sys.modules.get("concurrent.futures.process")
    for thread in list(getattr(pools, "_threads_wakeups", ())):
        pool = thread.executor_reference()
        if pool is not None:
            pool._broken = _NO_WORKERS
    pools = sys.modules.get("multiprocessing.pool")
    if pools is not None:
        for final in list(sys.modules["multiprocessing.util"]._finalizer_registry.values()):
            pool = final._weakref() if final._weakref is not None else None
            if isinstance(pool, pools.Pool) and not hasattr(pool, "_ratoon_is_inherited"):
                pool._ratoon_is_inherited = True
                pool._check_running = _refuse_pool
                # Terminating would wait for threads that are gone.
                final.cancel()
                pool._terminate = _do_nothing
                pool.join = _do_nothing


def _own_openmp_of_numba() -> None:
    """numba terminates children of the process that started its OpenMP threads, as libgomp's
    threads do not survive a fork. Our forks pause libgomp, so they do. Now numba terminates only
    children that user code forks from this process."""
    pool = sys.modules.get("numba.np.ufunc.omppool")
    if pool is not None and getattr(
        sys.modules.get("numba.np.ufunc.parallel"), "_is_initialized", False
    ):
        try:
            # Notes this process; starts no threads a second time.
            ctypes.CFUNCTYPE(None, ctypes.c_int)(pool.launch_threads)(1)
        except (AttributeError, TypeError):
            pass  # another version of numba


_NO_WORKERS = (
    "the processes of this pool belong to the line that started them, not to its branches:"
    " make another pool here"
)


def _refuse_pool() -> None:
    raise RuntimeError(_NO_WORKERS)


def _do_nothing(*_: Any, **__: Any) -> None:
    pass


def _detach_trackers() -> None:
    """Starts resource trackers in sessions of their own. multiprocessing and loky use them to
    remove semaphores and shared memory that nothing uses any more. States use these after the
    cell's process has ended; a tracker in its own session is not killed with it, nor with the
    server. It ends with the last process that could use it."""
    fork_exec = _posixsubprocess.fork_exec

    @functools.wraps(fork_exec)
    def with_session(args: Any, *more: Any) -> Any:
        if any(_OF_TRACKER in os.fsencode(one) for one in args):
            more = (*more[:START_NEW_SESSION], True, *more[START_NEW_SESSION + 1 :])
        return fork_exec(args, *more)

    _posixsubprocess.fork_exec = with_session


_OF_TRACKER = b"resource_tracker import main"


def _share_trackers(is_wanted: bool) -> None:
    """A tracker ends when no process is left that could use it. In newer CPythons (gh-146313, seen
    in 3.14.8) a child counts only if this was set before the fork, as multiprocessing does for its
    own."""
    intent = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_fork_intent", None)
    if intent is not None:
        intent.preserve_fd = is_wanted


def _seed_only_users_forks() -> None:
    """Lets `random` go on in our forks: a state always gives the same numbers. CPython reseeds it
    in every child, with a hook that `random` registers when it is imported."""
    register, hooks = os.register_at_fork, []
    imported = sys.modules.pop("random", None)
    os.register_at_fork = lambda **given: hooks.append(given)
    try:
        module = importlib.import_module("random")
    finally:
        os.register_at_fork = register
    if imported is not None:
        # Its own hook reseeds a generator that nobody uses any more.
        vars(imported).update(vars(module))
        sys.modules["random"] = imported
    for given in hooks:
        seed = given["after_in_child"]
        register(after_in_child=lambda seed=seed: None if _fork_is_ours else seed())


def _note_fork_hooks() -> None:
    register = os.register_at_fork

    @functools.wraps(register)
    def register_and_note(**hooks: Any) -> None:
        register(**hooks)
        if sys._getframe(1).f_globals.get("__name__") == "__main__":
            _fork_hooks.extend(
                getattr(hook, "__qualname__", type(hook).__name__) for hook in hooks.values()
            )

    os.register_at_fork = register_and_note


def _note_new_processes() -> None:
    """Lets `Popen` objects work in branches. A subprocess is the child of one process; in all
    others Python would report that it has ended with status 0."""
    popen: Any = subprocess.Popen
    execute, poll, wait = popen._execute_child, popen._internal_poll, popen._try_wait

    @functools.wraps(execute)
    def execute_and_note(process: Any, *args: Any, **kwargs: Any) -> None:
        execute(process, *args, **kwargs)
        _processes[id(process)] = process

    @functools.wraps(poll)
    def poll_or_look(process: Any, *args: Any, **kwargs: Any) -> Any:
        began = process.__dict__.get("_ratoon_began")
        if began is None:
            return poll(process, *args, **kwargs)
        if _began(process.pid) == began:
            return None
        # Set when Python itself cleans up: then any status will do.
        deadstate = kwargs.get("_deadstate", args[0] if args else None)
        return _ended_elsewhere(process) if deadstate is None else deadstate

    @functools.wraps(wait)
    def wait_or_look(process: Any, flags: int) -> Any:
        began = process.__dict__.get("_ratoon_began")
        if began is None:
            return wait(process, flags)
        if _began(process.pid) == began and not flags & os.WNOHANG:
            _wait_for_other(process.pid)
        return (0, 0) if _began(process.pid) == began else _ended_elsewhere(process)

    popen._execute_child, popen._internal_poll, popen._try_wait = (
        execute_and_note,
        poll_or_look,
        wait_or_look,
    )


def _give_away_processes() -> None:
    """Marks subprocesses as children of another process."""
    for process in list(_processes.values()):
        if process.returncode is None and "_ratoon_began" not in process.__dict__:
            process._ratoon_began = _began(process.pid) or "ended"


def _began(pid: int) -> Any:
    """When a running process started, which identifies it together with its pid."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in b"ZX" else fields[19]


def _wait_for_other(pid: int) -> None:
    """Waits for the end of a process that is not our child."""
    try:
        end = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        poll = select.poll()
        poll.register(end, select.POLLIN)
        poll.poll()
    finally:
        os.close(end)


def _ended_elsewhere(process: Any) -> None:
    raise ChildProcessError(
        f"process {process.pid} has ended, but how is not known here: it belongs to the line that"
        " started it, not to its branches"
    )


def _note_watchdogs() -> None:
    """Knows faulthandler's watchdog, a thread that Python does not list. It does not exist in a
    branch, where cancelling or setting it would wait for it forever."""
    begin, end = faulthandler.dump_traceback_later, faulthandler.cancel_dump_traceback_later

    @functools.wraps(begin)
    def begin_and_note(timeout: float, repeat: Any = False, *args: Any, **kwargs: Any) -> None:
        global _watchdog_ends
        if _watchdog_is_lost:
            raise RuntimeError(
                "faulthandler's watchdog was set in a state before this one, and a branch of that"
                " cannot set it again: cancel it there, with"
                " faulthandler.cancel_dump_traceback_later(), and run the cells from there on"
            )
        begin(timeout, repeat, *args, **kwargs)
        _watchdog_ends = (
            float("inf") if repeat else time.monotonic() + timeout + _WATCHDOG_SLACK_SECONDS
        )

    @functools.wraps(end)
    def end_and_note() -> None:
        global _watchdog_ends
        if not _watchdog_is_lost:
            end()
        _watchdog_ends = 0

    faulthandler.dump_traceback_later, faulthandler.cancel_dump_traceback_later = (
        begin_and_note,
        end_and_note,
    )


# How long faulthandler's watchdog thread may outlive its timeout, in seconds.
_WATCHDOG_SLACK_SECONDS = 1


def _has_watchdog() -> bool:
    return time.monotonic() < _watchdog_ends


def _lose_watchdog() -> None:
    global _watchdog_ends, _watchdog_is_lost
    _watchdog_is_lost = _watchdog_is_lost or _has_watchdog()
    _watchdog_ends = 0


def _note_new_loops() -> None:
    selector_loop: Any = asyncio.selector_events.BaseSelectorEventLoop
    make = selector_loop._make_self_pipe

    def make_and_note(loop: Any) -> None:
        make(loop)
        _loops.add(loop)

    selector_loop._make_self_pipe = make_and_note


def _give_own_wakeups(loop: Any) -> None:
    """Gives an event loop new sockets to wake itself. If branches shared a pair, one would take the
    other's wake-ups, and the other would wait forever."""
    for own, new in zip((loop._ssock, loop._csock), socket.socketpair()):
        new.setblocking(False)
        os.dup2(new.fileno(), own.fileno(), inheritable=False)
        new.close()
