"""Starts the shell in a kernel process, and runs cells in it.

`boot` and `settle` are called once, in the root. All other functions are called in forks of the
root. Functions that Rust calls return JSON text.
"""

import ast
import builtins
import faulthandler
import gc
import getpass
import linecache
import os
import sys
import threading
from types import ModuleType, TracebackType
from typing import Any, cast

from . import (
    event_loop,
    forks,
    import_hooks,
    outputs,
    plain_cells,
    python_versions,
    startup,
    widgets,
)
from . import shell as kernel_shell
from .shell import running
from .text import clean, text_of, to_json

# Modules and functions of this package. Stored here, because a cell may remove them from
# `sys.modules`.
_evaluation: Any = None
_is_shells_frame: Any = None
_symbols: Any = None
_thread_limit: Any = None
_transfer: Any = None


def boot(channel: Any, support: str | None) -> None:
    """Creates the shell in the root process. Raises an ImportError if a package is missing."""
    global _is_shells_frame
    # Nothing that the start makes becomes garbage, so collections would only take time.
    gc.disable()
    _activate_environment()
    if support:
        sys.path.append(support)
    sys.argv = [""]
    _import_ipython()
    python_versions.check_packages()
    outputs.boot(channel)
    # After a crash in C code, faulthandler prints the Python traceback.
    faulthandler.enable(file=2)
    forks.boot(channel.has_forked)
    event_loop.boot()
    from . import ipython_shell

    kernel_shell.shell = ipython_shell.make()
    _is_shells_frame = ipython_shell.is_shells_frame
    builtins.input = cast(Any, _input)
    getpass.getpass = _getpass
    import_hooks.prepare()


def settle() -> None:
    """Completes the start of the root process."""
    from . import evaluation, packages, settings, symbols, thread_limit, transfer

    global _evaluation, _symbols, _thread_limit, _transfer
    _evaluation, _symbols = evaluation, symbols
    _thread_limit, _transfer = thread_limit, transfer
    forks.settle(kernel_shell.shell)
    _warm_up()
    plain_cells.settle(kernel_shell.shell)
    _load_tracebacks()
    thread_limit.settle()
    startup.add_working_directory()
    gc.enable()
    packages.boot()
    startup.run(kernel_shell.shell)
    settings.note_root()
    # Runs a garbage collection, then exempts the remaining objects from later collections.
    # Otherwise the first collection in each state would write to some 30 MB of memory pages and so
    # copy them: 20 times the memory of a state.
    gc.collect()
    gc.freeze()


def rehearse() -> None:
    """Prepares the memory pages that the next cell will write to. Called while the head is idle."""
    plain_cells.rehearse()


def _activate_environment() -> None:
    """Makes `!pip` and `!python` run those of the environment in which the cells run, also if the
    server was started in another active environment."""
    scripts = os.path.dirname(sys.executable)
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    other = os.environ.get("VIRTUAL_ENV")
    if other and not _is_same_directory(other, sys.prefix):
        del os.environ["VIRTUAL_ENV"]
        path = [
            entry for entry in path if not _is_same_directory(entry, os.path.join(other, "bin"))
        ]
    if sys.prefix != sys.base_prefix:
        os.environ["VIRTUAL_ENV"] = sys.prefix
    # The programs of the system are on $PATH already, after the user's own.
    if sys.prefix not in ("/usr", "/usr/local") and scripts not in path[:1]:
        path.insert(0, scripts)
    os.environ["PATH"] = os.pathsep.join(path)


def _is_same_directory(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def run(
    code: str,
    allow_stdin: bool,
    report_symbols: bool,
    metric: str | None = None,
    threads: int | None = None,
) -> str:
    """Runs a cell. `metric` is an expression to evaluate if the cell succeeds, `threads` the number
    of threads that numeric libraries may use. Returns JSON: {"error": null or {ename, evalue,
    traceback, cause}, "exec_count": n, "symbols": null or {accessed, modified, deleted}, "metric":
    null or {value, problem}, "remains": a variant of `Remains` in protocol.rs}."""
    if threads is not None:
        with _thread_limit.limited(threads):
            return run(code, allow_stdin, report_symbols, metric)
    running.allow_stdin, running.refused, running.is_widget = allow_stdin, None, False
    running.number += 1
    outputs.errors_sent.clear()
    tracker = None
    result, count = None, _count_names()
    try:
        if _transfer.deliveries:
            _transfer.prepare()
        if report_symbols:
            tracker = running.tracker = _symbols.Tracker()
        running.is_in_cell = True
        result = plain_cells.run(code, tracker) or kernel_shell.shell.run_cell(
            code, store_history=True
        )
        error = result.error_before_exec or result.error_in_exec
        if error is None and event_loop.loop is not None:
            event_loop.run_ready()
    except BaseException as escaped:
        # Reached after an interrupt outside the shell's own handler, and after an error that the
        # shell cannot show.
        error = escaped
    running.is_in_cell = False
    running.tracker = None
    _transfer.end()
    if outputs.sink is not None:
        widgets.end_captures()
    # IPython does not report an error of the debugger itself as an error of the cell.
    error, sent = error or running.refused, None
    remains = "nothing" if error is None else _remains(result, error, count)
    if error is not None:
        shown = [one["ename"] for one in outputs.errors_sent]
        if outputs.ename(error) not in shown:
            outputs.send_error(type(error), error, [f"{outputs.ename(error)}: {text_of(error)}"])
        sent = next(
            one for one in reversed(outputs.errors_sent) if one["ename"] == outputs.ename(error)
        )
        if isinstance(error, KeyboardInterrupt):
            sent = {**sent, "cause": "interrupt"}
    measured = _evaluation.metric(metric) if error is None and metric is not None else None
    symbols = tracker.end() if tracker is not None else None
    exec_count = outputs.count_or_zero(kernel_shell.shell.execution_count - 1)
    if sent is None and symbols is None and measured is None:
        # Formatted by hand, because encoding the JSON would write to thirty memory pages.
        return (
            f'{{"error":null,"exec_count":{exec_count},"symbols":null,"metric":null,'
            f'"remains":"{remains}"}}'
        )
    return to_json(
        {
            "error": sent,
            "exec_count": exec_count,
            "symbols": symbols,
            "metric": measured,
            "remains": remains,
        }
    )


def _count_names() -> int:
    """Returns the number of the user's variables. Does not list the variables, because that would
    write to their reference counts and so copy memory pages."""
    return len(kernel_shell.shell.user_ns) - len(kernel_shell.shell.user_ns_hidden)


def _remains(result: Any, error: BaseException, count: int) -> str:
    """Returns whether a cell that raised an error has changed the state, as the name of a variant
    of `Remains` in protocol.rs."""
    has_begun = (
        result is None or result.error_before_exec is None or isinstance(error, KeyboardInterrupt)
    )
    if not has_begun or isinstance(error, SystemExit):
        return "nothing"
    try:
        is_unchanged = _count_names() == count and _failed_at_once(error)
    except Exception:
        is_unchanged = False
    return "unchanged" if is_unchanged else "set"


def _failed_at_once(error: BaseException) -> bool:
    """Whether the error was raised directly by the first statement of a cell: neither in a function
    that it called nor in a block."""
    tb = error.__traceback__
    while _is_shells_frame(tb):
        tb = cast(TracebackType, tb).tb_next
    if isinstance(error, KeyboardInterrupt) or tb is None or tb.tb_next is not None:
        return False
    # The source that was compiled, in which IPython has translated magics.
    first, *others = ast.parse("".join(linecache.getlines(tb.tb_frame.f_code.co_filename))).body
    is_simple = not hasattr(first, "body") and not hasattr(first, "cases")
    return is_simple and not (others and tb.tb_lineno >= others[0].lineno)


# -- IPython's shell -------------------------------------------------------------------------------


def _import_ipython() -> None:
    """Imports IPython without its terminal, which needs as much time and memory as the rest and has
    no use here. `IPython.embed` imports it when it is called."""

    def embed(**options: Any) -> Any:
        from IPython.terminal.embed import embed

        return embed(**options)

    name = "IPython.terminal.embed"
    stand_in: Any = ModuleType(name)
    stand_in.embed = embed
    sys.modules[name] = stand_in
    register = os.register_at_fork

    def register_others(**hooks: Any) -> None:
        # It would look for the thread of the history before each fork; this history has none.
        if getattr(hooks.get("before"), "__qualname__", "") != "HistoryManager._stop_thread":
            register(**hooks)

    os.register_at_fork = register_others
    try:
        import IPython  # noqa: F401
    finally:
        del sys.modules[name]
        os.register_at_fork = register


def _warm_up() -> None:
    """Runs a cell in the root, so that IPython loads all modules that its first cell needs."""
    kernel_shell.shell.run_cell("1", store_history=False, silent=True)
    kernel_shell.shell.display_formatter.format(1)
    # Makes the values that traitlets otherwise makes when a cell first needs them.
    kernel_shell.shell.history_manager.trait_values()
    kernel_shell.shell.last_execution_result = None


def _load_tracebacks() -> None:
    """Formats a traceback in the root, so that IPython loads all modules that tracebacks need. It
    takes 50 ms, which would otherwise be spent in every branch."""
    name = kernel_shell.shell.compile.cache("1/0", 0)
    try:
        exec(compile("1/0", name, "exec"), {})
    except ZeroDivisionError:
        etype, evalue, tb = sys.exc_info()
        kernel_shell.shell.InteractiveTB.structured_traceback(
            etype, evalue, tb and tb.tb_next, tb_offset=0
        )


# -- input -----------------------------------------------------------------------------------------


# What the output shows instead of a password. Its length tells nothing.
_HIDDEN = "\u00b7" * 8


def _input(prompt: str = "", /) -> str:
    return _ask("input()", str(prompt), False)


def _getpass(prompt: str = "Password: ", stream: Any = None, **_: Any) -> str:
    return _ask("getpass()", str(prompt), True)


def _ask(function: str, prompt: str, password: bool) -> str:
    if not running.allow_stdin:
        from IPython.core.error import StdinNotImplementedError

        # Frame 0 is `_ask`, frame 1 is `_input` or `_getpass`, frame 2 is the caller of that.
        is_debugger = sys._getframe(2).f_globals.get("__name__") in ("cmd", "IPython.core.debugger")
        error = StdinNotImplementedError(
            running.nobody_to_ask("the debugger" if is_debugger else function)
        )
        if is_debugger:
            running.refused = error
        raise error
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            f"{function} works only in the main thread of a cell, not in threads that it started"
        )
    prompt = clean(prompt)
    answer = str(outputs.channel.ask(prompt, password))
    # A terminal shows both, and no cell can capture them there.
    outputs.channel.text(False, f"{prompt}{_HIDDEN if password else answer}\n")
    return answer
