"""IPython's shell in a kernel process. It sends its outputs to the server.

`boot` and `settle` are called once, in the root. All other functions are called in forks of the
root. Functions that Rust calls return JSON text.
"""

import ast
import builtins
import faulthandler
import functools
import gc
import getpass
import linecache
import os
import sys
import threading
import traceback
import warnings
from types import ModuleType, TracebackType
from typing import Any, cast

from . import (
    event_loop,
    forks,
    history,
    import_hooks,
    outputs,
    plain_cells,
    program_pipes,
    python_versions,
    startup,
    widgets,
)
from .text import MAX_NAME_CHARACTERS, clean, cut, text_of, to_json

# The instance of IPython's shell.
shell: Any = None
# Modules of this package. Stored here, because a cell may remove them from `sys.modules`.
_evaluation: Any = None
_symbols: Any = None
_thread_limit: Any = None
_transfer: Any = None


class _Run:
    """The state of the running cell."""

    allow_stdin = False
    # Whether the code of a widget runs, and not a cell.
    is_widget = False
    # The error that the debugger got when it could not ask the user for input.
    refused: BaseException | None = None
    # Records the variables that the cell reads and assigns. None if the client does not want them.
    tracker: Any = None


_run = _Run()


def boot(channel: Any, support: str | None) -> None:
    """Creates the shell in the root process. Raises an ImportError if a package is missing."""
    global shell
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
    shell = _make_shell()
    builtins.input = cast(Any, _input)
    getpass.getpass = _getpass
    import_hooks.prepare()


def settle() -> None:
    """Completes the start of the root process."""
    from . import evaluation, settings, symbols, thread_limit, transfer

    global _evaluation, _symbols, _thread_limit, _transfer
    _evaluation, _symbols = evaluation, symbols
    _thread_limit, _transfer = thread_limit, transfer
    forks.settle(shell)
    _warm_up()
    plain_cells.settle(shell)
    _load_tracebacks()
    thread_limit.settle()
    startup.add_working_directory()
    gc.enable()
    startup.run(shell)
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
    _run.allow_stdin, _run.refused, _run.is_widget = allow_stdin, None, False
    outputs.errors_sent.clear()
    tracker = None
    result, count = None, _count_names()
    program_pipes.begin_run()
    try:
        if _transfer.deliveries:
            _transfer.prepare()
        if report_symbols:
            tracker = _run.tracker = _symbols.Tracker()
        event_loop.begin_cell()
        result = plain_cells.run(code, tracker) or shell.run_cell(code, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is None:
            event_loop.run_ready()
    except BaseException as escaped:
        # Reached after an interrupt outside the shell's own handler, and after an error that the
        # shell cannot show.
        error = escaped
    event_loop.end_cell()
    _run.tracker = None
    _transfer.end()
    if outputs.sink is not None:
        widgets.end_captures()
    # IPython does not report an error of the debugger itself as an error of the cell.
    error, sent = error or _run.refused, None
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
    exec_count = outputs.count_or_zero(shell.execution_count - 1)
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


def begin_widget() -> None:
    """Prepares for the code of a widget."""
    _run.allow_stdin, _run.refused, _run.is_widget = False, None, True
    outputs.errors_sent.clear()


def _count_names() -> int:
    """Returns the number of the user's variables. Does not list the variables, because that would
    write to their reference counts and so copy memory pages."""
    return len(shell.user_ns) - len(shell.user_ns_hidden)


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


def _is_shells_frame(tb: TracebackType | None) -> bool:
    """Whether a traceback begins with a frame of the shell. Such frames precede those of a cell."""
    from IPython.core.interactiveshell import __file__ as shells

    if tb is None:
        return False
    return tb.tb_frame.f_code.co_filename == shells or plain_cells.is_own_frame(tb)


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
    try:
        import IPython  # noqa: F401
    finally:
        del sys.modules[name]


def _make_shell() -> Any:
    from IPython.core import interactiveshell, ultratb  # noqa: F401
    from IPython.core.autocall import ExitAutocall
    from IPython.core.compilerop import CachingCompiler
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.events import EventManager, available_events
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type, default

    class Publisher(DisplayPublisher):
        """Sends the outputs of display(), update_display() and clear_output() to the server."""

        def publish(
            self,
            data: Any,
            metadata: Any = None,
            source: Any = None,
            *,
            transient: Any = None,
            update: Any = False,
            **_: Any,
        ) -> None:
            data, metadata = outputs.bundle(data, metadata)
            display_id = (transient or {}).get("display_id")
            display_id = (
                cut(str(display_id), MAX_NAME_CHARACTERS) if display_id is not None else None
            )
            if update:
                outputs.report(
                    {"update": {"display_id": display_id or "", "data": data, "metadata": metadata}}
                )
                return
            output = {"output_type": "display_data", "data": data, "metadata": metadata}
            if display_id:
                output["display_id"] = display_id
            outputs.report({"output": output})

        def clear_output(self, wait: bool = False) -> None:
            outputs.report({"clear": {"wait": bool(wait)}})

    class Hook(DisplayHook):
        """Sends the value of a cell's last expression to the server."""

        def __call__(self, result: Any = None) -> None:
            text = plain_cells.display(self, result)
            if text is None:
                super().__call__(result)
            else:
                self.write_format_data({"text/plain": text}, {})

        def write_output_prompt(self) -> None:
            pass

        def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
            data, metadata = outputs.bundle(format_dict, md_dict)
            count = outputs.count_or_zero(self.prompt_count)
            output = {
                "output_type": "execute_result",
                "data": data,
                "metadata": metadata,
                "execution_count": count,
            }
            outputs.report({"output": output})

        def finish_displayhook(self) -> None:
            pass

    class Compiler(CachingCompiler):
        """Compiles code as complete input, so that unfinished code gets Python's usual SyntaxError,
        not "incomplete input"."""

        def __init__(self) -> None:
            super().__init__()
            # Removes IPython's compiler flag for prompts, where more input may follow.
            self.reset_compiler_flags()

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            # The shell compiles each statement right before it runs it.
            if (
                _run.tracker is not None
                and args
                and isinstance(args[0], (ast.Module, ast.Interactive))
            ):
                _run.tracker.mark(args[0])
            code = super().__call__(*args, **kwargs)
            if _run.tracker is not None:
                _run.tracker.statement(code)
            return code

    class Exit(ExitAutocall):
        """Implements `exit` and `quit` by raising SystemExit."""

        def __call__(self, code: str | None = None) -> None:
            raise SystemExit(code)

    class Events(EventManager):
        """Runs IPython's hooks. An interrupt during a hook ends the cell. IPython's own class would
        show the interrupt and then run the cell."""

        def trigger(self, event: str, *args: Any, **kwargs: Any) -> None:
            for hook in list(self.callbacks[event]):
                try:
                    hook(*args, **kwargs)
                except Exception:
                    print(f"Error in the hook {hook} (for {event}):")
                    self.shell.showtraceback()

    class Shell(InteractiveShell):
        """IPython's shell without a terminal."""

        compiler_class = Type(Compiler)
        displayhook_class = Type(Hook)
        display_pub_class = Type(Publisher)

        def init_events(self) -> None:
            # Replaces the manager of hooks before other code registers hooks in it.
            super().init_events()
            hooks: Any = self.events.callbacks
            self.events: Any = Events(self, available_events)
            self.events.callbacks.update(hooks)

        def init_traceback_handlers(self, *args: Any) -> None:
            super().init_traceback_handlers(*args)
            structured = self.InteractiveTB.structured_traceback

            @functools.wraps(structured)
            def structured_or_plain(
                etype: Any = None, evalue: Any = None, tb: Any = None, *more: Any, **kwargs: Any
            ) -> Any:
                try:
                    return structured(etype, evalue, tb, *more, **kwargs)
                except Exception:
                    # IPython fails, for example, if a cell was interrupted before its first line.
                    return traceback.format_exception(etype, evalue, tb)

            self.InteractiveTB.structured_traceback = structured_or_plain

        def show_usage_error(self, exc: Any) -> None:
            # IPython's method would print the error, so it would be shown twice.
            outputs.send_error(type(exc), exc, [f"{outputs.ename(exc)}: {text_of(exc)}"])

        def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
            outputs.send_error(etype, evalue, [str(line) for line in stb])

        def showtraceback(
            self, exc_tuple: Any = None, filename: Any = None, tb_offset: Any = None, **kwargs: Any
        ) -> None:
            # Removes the shell's own frame first. Otherwise IPython would parse the 4,000 lines of
            # its own source only to leave this frame out.
            etype, evalue, tb = exc_tuple or sys.exc_info()
            outputs.cut_own_frames(tb)
            if tb_offset is None and tb is not None and tb.tb_next is not None:
                if _is_shells_frame(tb):
                    exc_tuple, tb_offset = (etype, evalue, tb.tb_next), 0
            super().showtraceback(exc_tuple, filename, tb_offset, **kwargs)

        def _format_exception_for_storage(self, exception: Any, *_: Any, **__: Any) -> Any:
            # IPython 9 formats a second traceback for its history. The history is off here, and the
            # original method fails if `str(error)` raises an error.
            return {
                "ename": outputs.ename(exception),
                "evalue": text_of(exception),
                "traceback": [],
            }

        def debugger(self, force: bool = False) -> None:
            if not _run.allow_stdin:
                sys.stderr.write(f"[ratoon: {_nobody_to_ask('the debugger')}]\n")
            elif getattr(sys, "last_traceback", None) is None:
                sys.stderr.write(
                    "[ratoon: there is no error to debug. A failed cell leaves no state, so its"
                    " error is gone. Keep the changes of the failed cell and debug there, or run"
                    " the cell again after `%pdb on` or with breakpoint() in it]\n"
                )
            else:
                tb = getattr(sys.last_value, "__traceback__", None)
                if _is_shells_frame(tb):
                    # The debugger skips the first frame. This traceback begins with the shell's
                    # frame, so the debugger does not skip a frame of the cell.
                    self.InteractiveTB.tb = tb
                super().debugger(force)

        @default("exiter")  # type: ignore[untyped-decorator]
        def _make_exit(self) -> Any:
            return Exit(self)

        def enable_gui(self, gui: Any = None) -> None:
            if gui not in (None, "inline"):
                raise NotImplementedError(f"a notebook has no window for the {gui} event loop")

        # Runs `!command` in a pseudo-terminal and streams its output into the cell, like Jupyter.
        system = InteractiveShell.system_piped

    config = startup.config()
    # By default, IPython's history starts a thread and opens a database. Neither survives a fork.
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    quiet = interactiveshell.warn

    def warn(message: Any, *args: Any, **kwargs: Any) -> None:
        if "To exit: use" not in str(message):
            quiet(message, *args, **kwargs)

    interactiveshell.warn = warn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Shell.instance(config=config)
    history.search_without_database(made.history_manager)
    return made


def _warm_up() -> None:
    """Runs a cell in the root, so that IPython loads all modules that its first cell needs."""
    shell.run_cell("1", store_history=False, silent=True)
    shell.display_formatter.format(1)
    # Makes the values that traitlets otherwise makes when a cell first needs them.
    shell.history_manager.trait_values()
    shell.last_execution_result = None


def _load_tracebacks() -> None:
    """Formats a traceback in the root, so that IPython loads all modules that tracebacks need. It
    takes 50 ms, which would otherwise be spent in every branch."""
    name = shell.compile.cache("1/0", 0)
    try:
        exec(compile("1/0", name, "exec"), {})
    except ZeroDivisionError:
        etype, evalue, tb = sys.exc_info()
        shell.InteractiveTB.structured_traceback(etype, evalue, tb and tb.tb_next, tb_offset=0)


# -- input -----------------------------------------------------------------------------------------


# What the output shows instead of a password. Its length tells nothing.
_HIDDEN = "\u00b7" * 8


def _input(prompt: str = "", /) -> str:
    return _ask("input()", str(prompt), False)


def _getpass(prompt: str = "Password: ", stream: Any = None, **_: Any) -> str:
    return _ask("getpass()", str(prompt), True)


def _ask(function: str, prompt: str, password: bool) -> str:
    if not _run.allow_stdin:
        from IPython.core.error import StdinNotImplementedError

        # Frame 0 is `_ask`, frame 1 is `_input` or `_getpass`, frame 2 is the caller of that.
        is_debugger = sys._getframe(2).f_globals.get("__name__") in ("cmd", "IPython.core.debugger")
        error = StdinNotImplementedError(
            _nobody_to_ask("the debugger" if is_debugger else function)
        )
        if is_debugger:
            _run.refused = error
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


def _nobody_to_ask(who: str) -> str:
    if _run.is_widget:
        return f"{who} cannot ask anybody in the code of a widget: call it in a cell."
    return (
        f"{who} cannot ask anybody: this run was started over REST. Pass the value in the code, or"
        " run the cell on the page."
    )
