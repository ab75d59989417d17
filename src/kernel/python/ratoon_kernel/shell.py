"""The Python side of a process: IPython's shell, with its outputs sent to the server.

`boot` is called once, in the root; everything else lives on in forks of it. The functions that Rust calls answer
with JSON text. `channel` is Rust's end (capture.rs): `text`, `report`, `ask`, `has_forked`.
"""

import _posixsubprocess
import _signal
import _thread
import ast
import asyncio.selector_events
import base64
import builtins
import faulthandler
import functools
import gc
import getpass
import io
import json
import linecache
import os
import random
import re
import select
import socket
import subprocess
import sys
import threading
import time
import traceback
import types
import warnings
import weakref
from typing import Any

from . import import_hooks
from .classes import name_of
from .private_layouts import START_NEW_SESSION
from .text import MAX_NAME_CHARACTERS, clean, cut, listed, short, text_of, to_json

# One text/plain representation, in characters: what the snapshot kernel's clients rely on.
MAX_PLAIN_CHARACTERS = 1_000_000
# Any other representation, in characters: more would not be shown inline anyway.
MAX_RICH_CHARACTERS = 8 * 1024 * 1024
# Cells may put another function in its place.
_getitimer = _signal.getitimer
# How many frames of a traceback are shown.
MAX_TRACEBACK_ITEMS = 100

channel: Any = None
shell: Any = None
# Our modules that import this one. They are held here, as a cell may take them out of `sys.modules`.
parts = types.SimpleNamespace()
# All event loops that were ever made here and are still there, and all subprocesses, by the id of their object.
loops = weakref.WeakSet()
processes = weakref.WeakValueDictionary()
# The names of functions that cells have given to os.register_at_fork.
fork_hooks = []
# When faulthandler's watchdog ends by itself, on the clock of time.monotonic; infinite, when it goes on; and whether one was
# left behind by a fork.
watchdog_ends, watchdog_is_lost = 0, False


def boot(own_channel, support):
    """Builds the shell in the root process. An ImportError's message says what is missing."""
    global channel, shell
    channel = own_channel
    sys.path.insert(0, "")
    _put_environment_on_path()
    if support:
        sys.path.append(support)
    sys.argv = [""]
    sys.stdout = sys.__stdout__ = _Stream(1)
    sys.stderr = sys.__stderr__ = _Stream(2)
    # A crash in C code says where Python stood.
    faulthandler.enable(file=2)
    os.register_at_fork(after_in_child=channel.has_forked, after_in_parent=lambda: _share_trackers(False))
    _note_fork_hooks()
    _note_new_loops()
    _note_new_processes()
    _note_watchdogs()
    _let_trackers_live()
    shell = _make_shell()
    builtins.input = _input
    getpass.getpass = _getpass
    import_hooks.prepare()
    _has_hooks.at_boot = _hooks()


def settle():
    """Ends the start of the root process."""
    from . import symbols, transfer
    from .adapters import pools

    parts.pools, parts.symbols, parts.transfer = pools, symbols, transfer
    rehearse()
    _load_tracebacks()
    # One full collection now, and the root's objects are never looked at again: without this the first
    # collection in each state would copy some 30 MB of pages (20 times the memory per state).
    gc.collect()
    gc.freeze()


def _put_environment_on_path():
    """`!pip` is the pip of the cells' environment, whatever the server was started from."""
    scripts = os.path.dirname(sys.executable)
    path = os.environ.get("PATH", os.defpath)
    if sys.prefix != sys.base_prefix and scripts not in path.split(os.pathsep)[:1]:
        os.environ["PATH"] = scripts + os.pathsep + path
        os.environ["VIRTUAL_ENV"] = sys.prefix


def run(code, allow_stdin, tells_symbols):
    """Runs a cell. Answers JSON: {"error": null or {ename, evalue, traceback}, "exec_count": n, "symbols": null or {accessed,
    modified, deleted}, "remains": what a cell that raised has left, see Remains in protocol.rs}."""
    _input.allowed, _input.refused = allow_stdin, None
    shell.errors_sent, tracker = [], None
    result, count = None, _count_names()
    try:
        if parts.transfer.deliveries:
            parts.transfer.prepare()
        if tells_symbols:
            tracker = run.tracker = parts.symbols.Tracker()
        result = shell.run_cell(code, store_history=True)
        error = result.error_before_exec or result.error_in_exec
    except BaseException as escaped:
        # An interrupt between the cell and the shell's own handler, or an error whose text the shell cannot even show.
        error = escaped
    run.tracker = None
    parts.transfer.end()
    # What starts the debugger takes its error for one of the debugged code.
    error, sent = error or _input.refused, None
    remains = "nothing" if error is None else _remains(result, error, count)
    if error is not None:
        shown = [one["ename"] for one in shell.errors_sent]
        if _ename(error) not in shown:
            _send_error(type(error), error, [f"{_ename(error)}: {text_of(error)}"])
        sent = next(one for one in reversed(shell.errors_sent) if one["ename"] == _ename(error))
    symbols = tracker.end() if tracker is not None else None
    exec_count = _count(shell.execution_count - 1)
    return to_json({"error": sent, "exec_count": exec_count, "symbols": symbols, "remains": remains})


# What notes which variables the cell that runs reads and assigns, when the client wants to know.
run.tracker = None


def _count_names():
    """How many variables the user has. Not which: to look at each would copy the pages that their reference counts are on."""
    return len(shell.user_ns) - len(shell.user_ns_hidden)


def _remains(result, error, count):
    """What a cell that raised has left."""
    has_begun = result is None or result.error_before_exec is None or isinstance(error, KeyboardInterrupt)
    if not has_begun or isinstance(error, SystemExit):
        return "nothing"
    try:
        is_unchanged = _count_names() == count and _failed_at_once(error)
    except Exception:
        is_unchanged = False
    return "unchanged" if is_unchanged else "set"


def _failed_at_once(error):
    """Whether the first statement of a cell failed by itself: in no function that it calls, and with no statements inside."""
    from IPython.core.interactiveshell import __file__ as shells

    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename == shells:
        tb = tb.tb_next
    if isinstance(error, KeyboardInterrupt) or tb is None or tb.tb_next is not None:
        return False
    # As it was compiled: with what IPython makes of magics.
    first, *others = ast.parse("".join(linecache.getlines(tb.tb_frame.f_code.co_filename))).body
    is_simple = not hasattr(first, "body") and not hasattr(first, "cases")
    return is_simple and not (others and tb.tb_lineno >= others[0].lineno)


def rehearse():
    """Runs a cell that does nothing, beside the state, while nobody waits. Where the user has hooks in the shell it is left
    out: they are not to see it.

    After a fork every page of memory that is written to is copied first. The shell's own machinery writes to some 700
    (reference counts), which costs 2 ms where pages cost 3 µs each: more than all the rest of a small cell.
    """
    if _has_hooks():
        return
    events, last = shell.events, (shell.last_execution_result, shell.last_execution_succeeded)
    shell.events = _NoEvents()
    try:
        shell.run_cell("1", store_history=False, silent=True)
        shell.display_formatter.format(1)
        to_json({"error": None})
    finally:
        shell.events = events
        shell.last_execution_result, shell.last_execution_succeeded = last


def _has_hooks():
    return bool(shell.ast_transformers) or _hooks() != _has_hooks.at_boot


def _hooks():
    """What else could make the rehearsed cell, `1`, call the user's code."""
    printers = [
        own.type_printers.get(kind) for own in shell.display_formatter.formatters.values() for kind in (int, object)
    ]
    return printers + [len(shell.input_transformers_cleanup), len(shell.input_transformers_post)]


class _NoEvents:
    def trigger(self, *_, **__):
        pass


def hazards():
    """What of the state as it is now does not survive a fork, as JSON: [sentences, whether it may be forked at all, whether
    some of it lives in this process alone]."""
    told, forks = [], True
    threads = [t.name for t in threading.enumerate() if t.is_alive() and not _is_ours(t)]
    if threads:
        told.append(f"threads do not go on in a branch: {listed(threads)}")
        locks = _held_locks()
        if locks:
            told.append(f"locks that these threads may hold stay locked in a branch: {listed(locks)}")
    timers = [name for name, timer in _TIMERS.items() if _getitimer(timer)[0]]
    if _has_watchdog():
        timers.append("faulthandler.dump_traceback_later")
    if timers:
        told.append(f"timers do not go on in a branch: {listed(timers)}")
    tasks = _waiting_tasks()
    if tasks:
        told.append(f"tasks go on in each branch by themselves, when its event loop runs: {listed(tasks)}")
    if fork_hooks:
        told.append(f"functions that run at each fork, in every state and branch: {listed(fork_hooks)}")
    if _uses_cuda():
        told.append("CUDA does not survive a fork: branches come from the checkpoint")
        forks = False
    return to_json([told, forks, bool(threads or timers) or not forks])


_TIMERS = {
    "ITIMER_REAL (signal.alarm)": _signal.ITIMER_REAL,
    "ITIMER_VIRTUAL": _signal.ITIMER_VIRTUAL,
    "ITIMER_PROF": _signal.ITIMER_PROF,
}


def _waiting_tasks():
    try:
        return [task.get_name() for loop in list(loops) if not loop.is_closed() for task in asyncio.all_tasks(loop)]
    except RuntimeError:  # a thread makes and ends them all the time
        return []


def _held_locks():
    """The names of variables that are held locks, or have one. An RLock of this thread will be let go by this thread."""
    held = []
    for name, value in list(shell.user_ns.items()):
        kind = type(value)
        # A thread has locks of its own, and what these have to do with the cell is told with its name.
        has_parts = not issubclass(kind, (type, type(sys), type(_parts), threading.Thread))
        parts = _parts(value) if has_parts else []
        if type(name) is str and not name.startswith("_") and any(_is_held(one) for one in [value, *parts]):
            held.append(name)
    return held


def _parts(value):
    """What an object consists of, without asking it. Nobody keeps locks among thousands of things, and to touch these would copy
    their memory."""
    large = (list, tuple, dict, set, frozenset)
    parts = [] if type(value) in large and len(value) > 1000 else gc.get_referents(value)
    inside = [part for part in parts[:1000] if type(part) is dict and len(part) <= 1000]
    return parts + gc.get_referents(*inside)


def _is_held(lock):
    if type(lock) is _thread.LockType:
        return lock.locked()
    return type(lock) is _thread.RLock and not lock._is_owned() and not repr(lock).startswith("<unlocked")


def own_sockets():
    """The descriptors of sockets that each branch gets anew, as JSON."""
    pairs = [(loop._ssock, loop._csock) for loop in list(loops) if not loop.is_closed()]
    return to_json([end.fileno() for pair in pairs for end in pair])


def own_locks():
    """How many locks between processes there are that no branch can wait for, as JSON: tqdm makes one as soon as it is
    imported, and holds it only while it writes a line."""
    writing = getattr(sys.modules.get("tqdm.std"), "TqdmDefaultWriteLock", None)
    return to_json(0 if getattr(writing, "mp_lock", None) is None else 1)


def native_ids():
    """The system's ids of the threads that Python knows, as JSON; asked for before threads are counted."""
    _pause_opencv()
    return to_json([thread.native_id for thread in threading.enumerate() if thread.native_id is not None])


def _pause_opencv():
    """Ends OpenCV's threads, which it starts again when it needs them: one that is about to sleep holds a lock, which nobody would let
    go in a branch (one of a hundred forks). A thread of Python's may be using them."""
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


def _uses_cuda():
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    try:
        return bool(cuda and cuda.is_initialized())
    except Exception:
        return False


def _is_ours(thread):
    """Whether nobody will miss a thread in a branch: Python's own, and the one in which %%bash waits."""
    loop = getattr(_script_magics(), "event_loop", None)
    return thread is threading.main_thread() or (loop and getattr(thread, "_target", None) == loop.run_forever)


def _script_magics():
    return shell.magics_manager.registry.get("ScriptMagics")


def before_fork():
    """What must be the same in the child although CPython changes it on a fork."""
    _share_trackers(True)
    return random.getstate()


def after_fork_in_child(kept):
    """Undoes `random`'s reseeding: the same state gives the same numbers. A fork by the user's code still reseeds."""
    random.setstate(kept)
    _share_trackers(False)
    if getattr(_script_magics(), "event_loop", None):
        # Its thread is gone: %%bash makes another, instead of waiting for it for ever.
        _script_magics().event_loop = None
    _give_own_workers()
    _own_openmp_of_numba()
    _give_away_processes()
    _lose_watchdog()
    for loop in list(loops):
        if not loop.is_closed():
            _give_own_wakeups(loop)


def _give_own_workers():
    """Pools that a state keeps have no workers in a branch, and would wait for them for ever: they start new ones."""
    for name in ("joblib.externals.loky.reusable_executor", "loky.reusable_executor"):
        loky = sys.modules.get(name)
        if loky is not None:
            loky._executor = None
    pools = sys.modules.get("concurrent.futures.thread")
    for worker in list(getattr(pools, "_threads_queues", ())):
        arguments = getattr(worker, "_args", None)
        pool = arguments[0]() if arguments else None
        if pool is not None:
            pool._threads.clear()
            pool._idle_semaphore = threading.Semaphore(0)
    if import_hooks.process_pools:
        parts.pools.begin_anew(list(import_hooks.process_pools))
    _end_pools_of_processes()


def _end_pools_of_processes():
    """Their processes, and the threads that talk to them, belong to the line that started them. A task for them would wait
    for ever: it is refused."""
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
                # Else its end would wait for threads that are gone.
                final.cancel()
                pool._terminate = _do_nothing
                pool.join = _do_nothing


def _own_openmp_of_numba():
    """numba ends a child of the process that has started its OpenMP threads, as libgomp's do not survive a fork. Those of our
    forks do: libgomp is paused. From now on the children of this process are meant, which the user's code forks."""
    pool = sys.modules.get("numba.np.ufunc.omppool")
    if pool is not None and getattr(sys.modules.get("numba.np.ufunc.parallel"), "_is_initialized", False):
        import ctypes

        try:
            # It starts no threads a second time, and takes note of the process.
            ctypes.CFUNCTYPE(None, ctypes.c_int)(pool.launch_threads)(1)
        except (AttributeError, TypeError):
            pass  # a version that is built otherwise


_NO_WORKERS = "the processes of this pool belong to the line that started them, not to its branches: make another pool here"


def _refuse_pool():
    raise RuntimeError(_NO_WORKERS)


def _do_nothing(*_, **__):
    pass


def _let_trackers_live():
    """multiprocessing and loky start a process each that removes semaphores and shared memory once nobody uses them any more.
    States use them after the cell's own process has ended. In a session of its own it is not killed with that one, nor
    with the server; it ends when the last process that could use it has."""
    fork_exec = _posixsubprocess.fork_exec

    @functools.wraps(fork_exec)
    def with_session(args, *more):
        if any(_OF_TRACKER in os.fsencode(one) for one in args):
            more = (*more[:START_NEW_SESSION], True, *more[START_NEW_SESSION + 1 :])
        return fork_exec(args, *more)

    _posixsubprocess.fork_exec = with_session


_OF_TRACKER = b"resource_tracker import main"


def _share_trackers(is_wanted):
    """A tracker ends when nobody is left that could use it. For newer CPythons (gh-146313, met in 3.14.8) a child counts only when
    this was said before the fork, as multiprocessing does for its own."""
    intent = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_fork_intent", None)
    if intent is not None:
        intent.preserve_fd = is_wanted


def _note_fork_hooks():
    register = os.register_at_fork

    @functools.wraps(register)
    def register_and_note(**hooks):
        register(**hooks)
        if sys._getframe(1).f_globals.get("__name__") == "__main__":
            fork_hooks.extend(getattr(hook, "__qualname__", type(hook).__name__) for hook in hooks.values())

    os.register_at_fork = register_and_note


def _note_new_processes():
    """A subprocess is the child of one process. In all others Python takes it for one that has ended well; there it is told
    what is known."""
    popen = subprocess.Popen
    execute, poll, wait = popen._execute_child, popen._internal_poll, popen._try_wait

    @functools.wraps(execute)
    def execute_and_note(process, *args, **kwargs):
        execute(process, *args, **kwargs)
        processes[id(process)] = process

    @functools.wraps(poll)
    def poll_or_look(process, *args, **kwargs):
        began = process.__dict__.get("_ratoon_began")
        if began is None:
            return poll(process, *args, **kwargs)
        if _began(process.pid) == began:
            return None
        # Python's own, when it cleans up: it wants only to be rid of it.
        deadstate = kwargs.get("_deadstate", args[0] if args else None)
        return _ended_elsewhere(process) if deadstate is None else deadstate

    @functools.wraps(wait)
    def wait_or_look(process, flags):
        began = process.__dict__.get("_ratoon_began")
        if began is None:
            return wait(process, flags)
        if _began(process.pid) == began and not flags & os.WNOHANG:
            _wait_for_other(process.pid)
        return (0, 0) if _began(process.pid) == began else _ended_elsewhere(process)

    popen._execute_child, popen._internal_poll, popen._try_wait = execute_and_note, poll_or_look, wait_or_look


def _give_away_processes():
    """Subprocesses belong to the line that started them."""
    for process in list(processes.values()):
        if process.returncode is None and "_ratoon_began" not in process.__dict__:
            process._ratoon_began = _began(process.pid) or "ended"


def _began(pid):
    """When a process began that still runs; nothing else has its number and began then."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in b"ZX" else fields[19]


def _wait_for_other(pid):
    """Waits until a process has ended that is not our child."""
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


def _ended_elsewhere(process):
    raise ChildProcessError(
        f"process {process.pid} has ended, but how is not known here: it belongs to the line that started it, not to its branches"
    )


def _note_watchdogs():
    """faulthandler's watchdog is a thread that Python does not know of. In a branch it is gone, and to end it, or to set it anew,
    would wait for it for ever."""
    begin, end = faulthandler.dump_traceback_later, faulthandler.cancel_dump_traceback_later

    @functools.wraps(begin)
    def begin_and_note(timeout, repeat=False, *args, **kwargs):
        global watchdog_ends
        if watchdog_is_lost:
            raise RuntimeError(
                "faulthandler's watchdog was set in a state before this one, and a branch of that cannot set it again:"
                " cancel it there, with faulthandler.cancel_dump_traceback_later(), and run the cells from there on"
            )
        begin(timeout, repeat, *args, **kwargs)
        watchdog_ends = float("inf") if repeat else time.monotonic() + timeout + _WATCHDOG_IS_LATE

    @functools.wraps(end)
    def end_and_note():
        global watchdog_ends
        if not watchdog_is_lost:
            end()
        watchdog_ends = 0

    faulthandler.dump_traceback_later, faulthandler.cancel_dump_traceback_later = begin_and_note, end_and_note


# How long after its time it may still be at work, in seconds.
_WATCHDOG_IS_LATE = 1


def _has_watchdog():
    return time.monotonic() < watchdog_ends


def _lose_watchdog():
    global watchdog_ends, watchdog_is_lost
    watchdog_is_lost = watchdog_is_lost or _has_watchdog()
    watchdog_ends = 0


def _note_new_loops():
    selector_loop = asyncio.selector_events.BaseSelectorEventLoop
    make = selector_loop._make_self_pipe

    def make_and_note(loop):
        make(loop)
        loops.add(loop)

    selector_loop._make_self_pipe = make_and_note


def _give_own_wakeups(loop):
    """A loop wakes itself through a pair of sockets: if branches shared it, one would take the other's wake-ups and the
    other would wait for ever."""
    for own, new in zip((loop._ssock, loop._csock), socket.socketpair()):
        new.setblocking(False)
        os.dup2(new.fileno(), own.fileno(), inheritable=False)
        new.close()


# -- outputs ----------------------------------------------------------------------------------------------------------


class _Stream(io.TextIOBase):
    """sys.stdout or sys.stderr: every write goes to the server in order."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, fd):
        self._fd = fd
        self._is_error = fd == 2
        self._send = channel.text
        self.buffer = io.FileIO(fd, "w", closefd=False)

    name = property(lambda self: "<stderr>" if self._is_error else "<stdout>")

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._send(self._is_error, text)
        return len(text)

    def writable(self):
        return True

    def fileno(self):
        return self._fd

    def flush(self):
        channel.flush(self._is_error)

    def close(self):
        pass

    def reconfigure(self, **_):
        pass


def _make_shell():
    from IPython.core import interactiveshell, ultratb  # noqa: F401
    from IPython.core.autocall import ExitAutocall
    from IPython.core.compilerop import CachingCompiler
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.events import EventManager, available_events
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type, default
    from traitlets.config import Config

    class Publisher(DisplayPublisher):
        """display(), update_display(), clear_output()."""

        def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **_):
            data, metadata = _bundle(data, metadata)
            display_id = (transient or {}).get("display_id")
            display_id = cut(str(display_id), MAX_NAME_CHARACTERS) if display_id is not None else None
            if update:
                _report({"update": {"display_id": display_id or "", "data": data, "metadata": metadata}})
                return
            output = {"output_type": "display_data", "data": data, "metadata": metadata}
            if display_id:
                output["display_id"] = display_id
            _report({"output": output})

        def clear_output(self, wait=False):
            _report({"clear": {"wait": bool(wait)}})

    class Hook(DisplayHook):
        """The value of the last expression."""

        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            data, metadata = _bundle(format_dict, md_dict)
            count = _count(self.prompt_count)
            output = {"output_type": "execute_result", "data": data, "metadata": metadata, "execution_count": count}
            _report({"output": output})

        def finish_displayhook(self):
            pass

    class Compiler(CachingCompiler):
        """A cell is all there is: its error names what it lacks, as Python does, and not "incomplete input"."""

        def __init__(self):
            super().__init__()
            # Leaves out the flag that a prompt needs, where a line may go on.
            self.reset_compiler_flags()

        def __call__(self, *args, **kwargs):
            # The shell compiles each statement right before it runs it.
            if run.tracker is not None and args and isinstance(args[0], (ast.Module, ast.Interactive)):
                run.tracker.mark(args[0])
            code = super().__call__(*args, **kwargs)
            if run.tracker is not None:
                run.tracker.statement(code)
            return code

    class Exit(ExitAutocall):
        """exit and quit."""

        def __call__(self, code=None):
            raise SystemExit(code)

    class Events(EventManager):
        """IPython's hooks, the user's and its own. An interrupt that comes while one runs is the cell's: IPython would show
        it and run the cell all the same."""

        def trigger(self, event, *args, **kwargs):
            for hook in list(self.callbacks[event]):
                try:
                    hook(*args, **kwargs)
                except Exception:
                    print(f"Error in the hook {hook} (for {event}):")
                    self.shell.showtraceback()

    class Shell(InteractiveShell):
        """IPython without a terminal."""

        compiler_class = Type(Compiler)
        displayhook_class = Type(Hook)
        display_pub_class = Type(Publisher)
        errors_sent = []

        def init_events(self):
            # Before anything is registered in them.
            super().init_events()
            hooks, self.events = self.events.callbacks, Events(self, available_events)
            self.events.callbacks.update(hooks)

        def init_traceback_handlers(self, *args):
            super().init_traceback_handlers(*args)
            structured = self.InteractiveTB.structured_traceback

            @functools.wraps(structured)
            def structured_or_plain(etype=None, evalue=None, tb=None, *more, **kwargs):
                try:
                    return structured(etype, evalue, tb, *more, **kwargs)
                except Exception:
                    # What IPython uses cannot show a cell that was interrupted before its first line, among others.
                    return traceback.format_exception(etype, evalue, tb)

            self.InteractiveTB.structured_traceback = structured_or_plain

        def show_usage_error(self, exc):
            # IPython prints it, and it would be shown twice.
            _send_error(type(exc), exc, [f"{_ename(exc)}: {text_of(exc)}"])

        def _showtraceback(self, etype, evalue, stb):
            _send_error(etype, evalue, [str(line) for line in stb])

        def showtraceback(self, exc_tuple=None, filename=None, tb_offset=None, **kwargs):
            # IPython leaves its own frame out of what it shows, but only after it has parsed its own 4,000 lines.
            etype, evalue, tb = exc_tuple or sys.exc_info()
            _cut_own_frames(tb)
            if tb_offset is None and tb is not None and tb.tb_next is not None:
                if tb.tb_frame.f_code.co_filename == interactiveshell.__file__:
                    exc_tuple, tb_offset = (etype, evalue, tb.tb_next), 0
            super().showtraceback(exc_tuple, filename, tb_offset, **kwargs)

        def _format_exception_for_storage(self, exception, *_, **__):
            # IPython 9 keeps a second traceback for a history that is switched off here, and fails when the error's own
            # text raises.
            return {"ename": _ename(exception), "evalue": text_of(exception), "traceback": []}

        def debugger(self, force=False):
            if not _input.allowed:
                sys.stderr.write(f"[ratoon: {_nobody_to_ask('the debugger')}]\n")
            elif getattr(sys, "last_traceback", None) is None:
                sys.stderr.write(
                    "[ratoon: there is no error to look at. A cell that fails leaves no state, so its error is gone with it:"
                    " keep what it had set and debug there, or run it again after `%pdb on` or with breakpoint() in it]\n"
                )
            else:
                tb = getattr(sys.last_value, "__traceback__", None)
                if tb is not None and tb.tb_frame.f_code.co_filename == interactiveshell.__file__:
                    # The debugger leaves its first frame out: that is to be IPython's, not the cell's.
                    self.InteractiveTB.tb = tb
                super().debugger(force)

        @default("exiter")
        def _make_exit(self):
            return Exit(self)

        def enable_gui(self, gui=None):
            if gui not in (None, "inline"):
                raise NotImplementedError(f"a notebook has no window for the {gui} event loop")

        # A pseudo-terminal whose output is streamed into the cell, as Jupyter does it.
        system = InteractiveShell.system_piped

    config = Config()
    # Its default starts a thread and opens a database file, and neither survives a fork.
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    quiet = interactiveshell.warn

    def warn(message, *args, **kwargs):
        if "To exit: use" not in str(message):
            quiet(message, *args, **kwargs)

    interactiveshell.warn = warn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Shell.instance(config=config)


def _load_tracebacks():
    """Lets IPython load now what its first traceback needs (50 ms), so that not every branch does."""
    name = shell.compile.cache("1/0", 0)
    try:
        exec(compile("1/0", name, "exec"), {})
    except ZeroDivisionError:
        etype, evalue, tb = sys.exc_info()
        shell.InteractiveTB.structured_traceback(etype, evalue, tb.tb_next, tb_offset=0)


def _send_error(etype, evalue, lines):
    text = short(text_of(evalue), MAX_PLAIN_CHARACTERS)
    if type(evalue) is SystemExit:
        text = _EXIT if evalue.code is None else f"{text} ({_EXIT})"
        lines = [f"SystemExit: {text}"]
    error = {
        "ename": _ename(evalue),
        "evalue": cut(text, MAX_PLAIN_CHARACTERS),
        "traceback": [short(line, MAX_PLAIN_CHARACTERS // 10) for line in _shortened(lines)],
    }
    shell.errors_sent.append(error)
    _report({"output": {"output_type": "error", **error}})


_EXIT = "the cell ended itself: that ends only this run, which leaves no state; the notebook goes on"


def _shortened(lines):
    """A very long one without its middle: where it began, where it ended, and where the cell's own code was left last are what one
    looks for."""
    if len(lines) <= MAX_TRACEBACK_ITEMS:
        return lines
    begin, end = MAX_TRACEBACK_ITEMS // 2, len(lines) - MAX_TRACEBACK_ITEMS // 2
    own = max((at for at, line in enumerate(lines) if _CELL_FRAME.match(line)), default=0)
    if not begin <= own < end:
        return [*lines[:begin], *_left_out(end - begin), *lines[end:]]
    return [*lines[:begin], *_left_out(own - begin), lines[own], *_left_out(end - own - 1), *lines[end:]]


def _left_out(count):
    return [f"[{count} frames are left out here]"] if count else []


# The first line of a frame in a cell, between a terminal's colours.
_COLOUR = r"(?:\x1b\[[0-9;]*m)*"
_CELL_FRAME = re.compile(rf"\s*{_COLOUR}(?:Cell|Input){_COLOUR} ?{_COLOUR} ?{_COLOUR}In ?\[")


def _cut_own_frames(tb):
    """A traceback ends in the user's code, not in how we ask for input or tell what is missing."""
    while tb is not None and tb.tb_next is not None:
        if tb.tb_next.tb_frame.f_code.co_filename.startswith("<ratoon "):
            tb.tb_next = None
        tb = tb.tb_next


def _ename(error):
    return short(name_of(type(error)), MAX_NAME_CHARACTERS)


def _count(number):
    return number if isinstance(number, int) and 0 <= number < 2**32 else 0


def _bundle(data, metadata):
    """Representations as JSON can carry them: bytes in base64, long text cut; what is left out is told."""
    kept = {}
    for mime, value in data.items():
        if isinstance(value, bytes) and len(value) <= MAX_RICH_CHARACTERS:
            value = base64.b64encode(value).decode("ascii")
        if isinstance(value, str) and mime == "text/plain":
            kept[mime] = short(value, MAX_PLAIN_CHARACTERS)
        elif isinstance(value, (str, bytes)) and len(value) > MAX_RICH_CHARACTERS:
            _tell_left_out(mime, f"has {len(value)} characters, more than the {MAX_RICH_CHARACTERS} that can be shown")
        elif isinstance(value, str):
            kept[mime] = clean(value)
        elif _is_json(value):
            kept[mime] = value
        else:
            _tell_left_out(mime, "is no JSON, or too long")
    return kept, {k: v for k, v in (metadata or {}).items() if _is_json(v)}


def _tell_left_out(mime, why):
    if isinstance(mime, str):
        sys.stderr.write(f"[ratoon: what was to be shown as {cut(mime, MAX_NAME_CHARACTERS)} {why}]\n")


def _is_json(value):
    try:
        return len(json.dumps(value, allow_nan=False)) <= MAX_RICH_CHARACTERS
    except (TypeError, ValueError, RecursionError):
        return False


def _report(message):
    try:
        channel.report(to_json(message))
    except ValueError as error:
        sys.stderr.write(f"[ratoon: an output was not shown: {error}]\n")


# -- input ------------------------------------------------------------------------------------------------------------


def _input(prompt="", /):
    return _ask("input()", str(prompt), False)


def _getpass(prompt="Password: ", stream=None, **_):
    return _ask("getpass()", str(prompt), True)


def _ask(function, prompt, password):
    if not _input.allowed:
        from IPython.core.error import StdinNotImplementedError

        # _ask is called by _input, and that by whoever asks.
        is_debugger = sys._getframe(2).f_globals.get("__name__") in ("cmd", "IPython.core.debugger")
        error = StdinNotImplementedError(_nobody_to_ask("the debugger" if is_debugger else function))
        if is_debugger:
            _input.refused = error
        raise error
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(f"{function} works in the cell itself, not in a thread that it has started")
    return channel.ask(clean(prompt), password)


def _nobody_to_ask(who):
    return f"{who} has nobody to ask: this run came over REST. Pass the value in the code, or run the cell on the page."


_input.allowed, _input.refused = False, None
