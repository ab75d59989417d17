"""Finds the parts of a state that do not survive a fork. Repairs them in the child if possible, and
reports them otherwise.

`boot` wraps functions of the standard library, to find the event loops, subprocesses, fork hooks
and watchdogs that user code makes.
"""

import _posixsubprocess
import _thread
import asyncio.selector_events
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
from typing import Any, NoReturn, cast

from . import background_scripts, program_pipes, sqlite_files
from .adapter import registry
from .python_versions import START_NEW_SESSION
from .text import listed, to_json

# The original function, because cells may replace `signal.getitimer`.
_getitimer = signal.getitimer
# The threads that have started, and the threads that are about to start, by id.
_threads, _starting_threads = threading._active, threading._limbo  # type: ignore[attr-defined]

_shell: Any = None
# The event loops and the subprocesses that this process or its ancestors made, while their objects
# exist. The subprocesses are stored by the `id` of their objects.
_loops: Any = weakref.WeakSet()
_processes: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()
# Names of functions that cells have passed to `os.register_at_fork`.
_fork_hooks: list[str] = []
# The `time.monotonic()` at which faulthandler's watchdog ends. Infinite if the watchdog repeats.
_watchdog_ends: float = 0
# Whether a watchdog was running in the parent at a fork.
_watchdog_is_lost = False
# Whether the fork in progress was started by the kernel, not by user code.
_fork_is_ours = False


def boot(has_forked: Callable[[], None]) -> None:
    """Wraps functions of the standard library before any user code runs. `has_forked` will be
    called in every child."""
    os.register_at_fork(after_in_child=has_forked, after_in_parent=_after_fork_in_parent)
    _seed_only_users_forks()
    _note_fork_hooks()
    _note_new_loops()
    _note_new_processes()
    program_pipes.boot()
    _note_watchdogs()
    _detach_trackers()


def settle(shell: Any) -> None:
    """Called when the root is complete."""
    global _shell
    _shell = shell


def hazards() -> str:
    """Reports the parts of the state that do not survive a fork. Returns JSON: [sentences, whether
    this process may be forked at all, whether a part of the state exists only in this process]."""
    if _is_simple():
        return "[[],true,false]"
    warnings, may_fork = [], True
    threads = [t.name for t in threading.enumerate() if t.is_alive() and not _is_ours(t)]
    if threads:
        warnings.append(f"threads do not survive in a branch: {listed(threads)}")
        locks = _held_locks()
        if locks:
            warnings.append(
                f"locks that these threads may hold stay locked in a branch: {listed(locks)}"
            )
    timers = [name for name, timer in _TIMERS.items() if _getitimer(timer)[0]]
    if _has_watchdog():
        timers.append("faulthandler.dump_traceback_later")
    if timers:
        warnings.append(f"timers do not survive in a branch: {listed(timers)}")
    tasks = _waiting_tasks()
    if tasks:
        warnings.append(
            "each branch has its own copies of these asyncio tasks, which run with its event loop:"
            f" {listed(tasks)}"
        )
    if _fork_hooks:
        warnings.append(
            f"functions given to os.register_at_fork run once in each branch: {listed(_fork_hooks)}"
        )
    transactions = sqlite_files.open_transactions()
    if transactions:
        warnings.append(
            "a transaction of sqlite3 is open; the next cell may continue it, and branches get an"
            f" error: {listed(transactions)}"
        )
    scripts = background_scripts.names(_shell)
    if scripts:
        warnings.append(
            f"programs in the background can be read in this lineage only: {listed(scripts)}"
        )
    hazards = registry.hazards()
    if hazards:
        warnings.extend(hazards)
        may_fork = False
    is_alone = bool(threads or timers or transactions or scripts) or not may_fork
    return to_json([warnings, may_fork, is_alone])


def _is_simple() -> bool:
    """Whether `hazards` has certainly nothing to report. Asked after each cell, so it calls no
    other functions of Python: each writes to memory pages that would otherwise be shared."""
    return (
        len(_threads) == 1
        and not _starting_threads
        and not _loops.data
        and not _fork_hooks
        and not _watchdog_ends
        and not sqlite_files.connections.data
        and sys.modules.keys().isdisjoint(registry.hazardous)
        and not (_getitimer(_REAL)[0] or _getitimer(_VIRTUAL)[0] or _getitimer(_PROFILING)[0])
    )


_TIMERS = {
    "ITIMER_REAL (signal.alarm)": signal.ITIMER_REAL,
    "ITIMER_VIRTUAL": signal.ITIMER_VIRTUAL,
    "ITIMER_PROF": signal.ITIMER_PROF,
}
_REAL, _VIRTUAL, _PROFILING = _TIMERS.values()


def _waiting_tasks() -> list[str]:
    try:
        return [
            task.get_name()
            for loop in list(_loops)
            if not loop.is_closed()
            for task in asyncio.all_tasks(loop)
        ]
    except RuntimeError:  # other threads change the set of tasks during the iteration
        return []


def _held_locks() -> list[str]:
    """Returns the names of variables that are or contain a locked lock. An RLock that this thread
    has locked does not count, because this thread also exists in a branch and can release it."""
    held = []
    for name, value in list(_shell.user_ns.items()):
        kind = type(value)
        # Excludes threads. They contain locks, but are already reported by their names.
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
    """Returns the objects inside an object without calling code of the object. Skips containers of
    more than 1,000 items: they rarely contain locks, and reading their items would copy many memory
    pages."""
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
    """Returns JSON: the descriptors of the sockets that each branch replaces by its own."""
    pairs = [(loop._ssock, loop._csock) for loop in list(_loops) if loop._ssock is not None]
    return to_json([end.fileno() for pair in pairs for end in pair])


def own_locks() -> str:
    """Returns JSON: the number of locks between processes that need no warning."""
    return to_json(registry.own_locks())


def native_ids() -> str:
    """Returns JSON: the system's ids of the threads that Python knows. Also ends the threads that
    libraries start again, because the caller then counts the threads that Python does not know."""
    registry.end_threads()
    own = threading.current_thread()
    ids = [thread.native_id for thread in threading.enumerate() if thread is not own]
    # After a fork, CPython 3.11 still has the parent's id for the current thread, so the id of this
    # thread comes from the system.
    return to_json([threading.get_native_id(), *(id for id in ids if id is not None)])


def _is_ours(thread: threading.Thread) -> bool:
    """Whether a thread needs no warning: the main thread, a thread whose function has returned, the
    thread in which %%bash waits for its process, and the threads in which asyncio waits for child
    processes. The processes themselves are reported elsewhere."""
    if thread is threading.main_thread():
        return True
    try:
        target = thread._target  # type: ignore[attr-defined]
    except AttributeError:  # the function has returned, and `Thread.run` has deleted `_target`
        return True
    if getattr(target, "__name__", "") == "_do_waitpid":
        return getattr(target, "__module__", "") == "asyncio.unix_events"
    return background_scripts.is_loop_of_scripts(_shell, target)


def before_fork() -> None:
    """Called in the parent before each fork that the kernel starts. The parent may itself be a
    child whose fork is not finished yet."""
    global _fork_is_ours
    _fork_is_ours = True
    _share_trackers(True)


def _after_fork_in_parent() -> None:
    global _fork_is_ours
    _fork_is_ours = False
    _share_trackers(False)


def after_fork_in_child() -> None:
    """Repairs the parts of a state that a fork breaks. Called in the child."""
    _after_fork_in_parent()
    program_pipes.note_process()
    background_scripts.after_fork_in_child(_shell)
    registry.after_fork()
    _give_away_processes()
    _lose_watchdog()
    for loop in list(_loops):
        if loop._thread_id not in (None, _thread.get_ident()):
            _end_loop(loop)
        elif not loop.is_closed():
            _give_own_wakeups(loop)
    if sqlite_files.connections:
        sqlite_files.after_fork()


def _detach_trackers() -> None:
    """Starts each resource tracker in its own session. multiprocessing and loky use this process to
    remove unused semaphores and shared memory. States use these objects after the cell's process
    has ended. A tracker in its own session is not killed together with that process or with the
    server. It ends after the last process that can use it."""
    fork_exec = _posixsubprocess.fork_exec

    @functools.wraps(fork_exec)
    def with_session(args: Any, *more: Any) -> Any:
        if any(_OF_TRACKER in os.fsencode(one) for one in args):
            more = (*more[:START_NEW_SESSION], True, *more[START_NEW_SESSION + 1 :])
        return fork_exec(args, *more)

    _posixsubprocess.fork_exec = with_session


_OF_TRACKER = b"resource_tracker import main"


def _share_trackers(is_wanted: bool) -> None:
    """Tells multiprocessing whether the child of the next fork will use the resource tracker. The
    tracker ends when no process uses it. Newer versions of CPython (gh-146313, seen in 3.14.8)
    count a child only if `preserve_fd` was set before the fork."""
    intent = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_fork_intent", None)
    if intent is not None:
        intent.preserve_fd = is_wanted


def _seed_only_users_forks() -> None:
    """Keeps CPython from reseeding `random` in the kernel's forks, so that all branches of a state
    get the same numbers. The module `random` registers a hook when it is imported. Without this
    change, the hook reseeds the generator in every child."""
    register, hooks = os.register_at_fork, []
    imported = sys.modules.pop("random", None)
    os.register_at_fork = lambda **given: hooks.append(given)
    try:
        module = importlib.import_module("random")
    finally:
        os.register_at_fork = register
    if imported is not None:
        # The hook of the first import then reseeds a generator that is no longer used.
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
    """Makes `Popen` objects work in branches. A subprocess is the child of only one process. In all
    other processes, Python would report that the subprocess has ended with status 0."""
    popen: Any = subprocess.Popen
    execute, poll, wait = popen._execute_child, popen._internal_poll, popen._try_wait

    @functools.wraps(execute)
    def execute_and_note(process: Any, *args: Any, **kwargs: Any) -> None:
        execute(process, *args, **kwargs)
        _processes[id(process)] = process
        program_pipes.watch(process)

    @functools.wraps(poll)
    def poll_or_look(process: Any, *args: Any, **kwargs: Any) -> Any:
        began = process.__dict__.get("_ratoon_began")
        if began is None:
            return poll(process, *args, **kwargs)
        if program_pipes.began(process.pid) == began:
            return None
        # Python passes `_deadstate` when it cleans up, as the status to use if there is no other.
        deadstate = kwargs.get("_deadstate", args[0] if args else None)
        return _ended_elsewhere(process) if deadstate is None else deadstate

    @functools.wraps(wait)
    def wait_or_look(process: Any, flags: int) -> Any:
        began = process.__dict__.get("_ratoon_began")
        if began is None:
            return wait(process, flags)
        if program_pipes.began(process.pid) == began and not flags & os.WNOHANG:
            _wait_for_other(process.pid)
        return (0, 0) if program_pipes.began(process.pid) == began else _ended_elsewhere(process)

    popen._execute_child, popen._internal_poll, popen._try_wait = (
        execute_and_note,
        poll_or_look,
        wait_or_look,
    )


def _give_away_processes() -> None:
    """Marks all subprocesses as children of another process. Called in the child after a fork."""
    for process in list(_processes.values()):
        if process.returncode is None and "_ratoon_began" not in process.__dict__:
            process._ratoon_began = program_pipes.began(process.pid) or "ended"


def _wait_for_other(pid: int) -> None:
    """Waits for the end of a process that is not a child of this process."""
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
        f"process {process.pid} has ended, but its exit code is unknown in this branch: the process"
        " belongs to the lineage that started it"
    )


def _note_watchdogs() -> None:
    """Records whether faulthandler's watchdog runs. The watchdog is a thread that Python does not
    list. It does not exist in a branch, where setting or cancelling it would wait forever."""
    begin, end = faulthandler.dump_traceback_later, faulthandler.cancel_dump_traceback_later

    @functools.wraps(begin)
    def begin_and_note(timeout: float, repeat: Any = False, *args: Any, **kwargs: Any) -> None:
        global _watchdog_ends
        if _watchdog_is_lost:
            raise RuntimeError(
                "faulthandler's watchdog was set in an earlier state, and a branch of that state"
                " cannot set it again: call faulthandler.cancel_dump_traceback_later() at the end"
                " of the cell that set it, and run that cell and the later ones again"
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


# Maximum time for which the watchdog thread may run after its timeout, in seconds.
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


def _end_loop(loop: Any) -> None:
    """Makes an event loop that ran in a thread refuse work, because nothing would ever do it."""
    loop._thread_id, loop._closed, loop._check_closed = None, True, _refuse_work


def _refuse_work() -> NoReturn:
    raise RuntimeError(
        "this event loop ran in a thread, and threads do not survive in a branch:"
        " make the loop, or the client that uses it, anew in this branch"
    )


def _give_own_wakeups(loop: Any) -> None:
    """Gives an event loop new sockets with which it wakes itself. If two branches shared the
    sockets, one branch would take the wake-ups of the other, and the other would wait forever."""
    for own, new in zip((loop._ssock, loop._csock), socket.socketpair()):
        new.setblocking(False)
        os.dup2(new.fileno(), own.fileno(), inheritable=False)
        new.close()
