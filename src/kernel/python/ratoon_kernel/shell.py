"""The Python side of a process: IPython's shell, with its outputs sent to the server.

`boot` and `settle` are called once, in the root; everything else is called in its forks. Functions
that Rust calls return JSON text.
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
from types import TracebackType
from typing import Any, cast

from . import forks, import_hooks, outputs, plain_cells
from .text import MAX_NAME_CHARACTERS, clean, cut, text_of, to_json

# IPython's shell.
shell: Any = None
# `symbols` and `transfer`. Held here, as a cell may remove them from `sys.modules`.
_symbols: Any = None
_transfer: Any = None


class _Run:
    """The settings and findings of the running cell."""

    allow_stdin = False
    # The debugger's error if it could not ask.
    refused: BaseException | None = None
    # Records which variables the cell reads and assigns, if the client wants that.
    tracker: Any = None


_run = _Run()


def boot(channel: Any, support: str | None) -> None:
    """Creates the shell in the root process. An ImportError's message says what is missing."""
    global shell
    sys.path.insert(0, "")
    _put_environment_on_path()
    if support:
        sys.path.append(support)
    sys.argv = [""]
    outputs.boot(channel)
    # After a crash in C code, the traceback shows where Python stood.
    faulthandler.enable(file=2)
    forks.boot(channel.has_forked)
    shell = _make_shell()
    builtins.input = cast(Any, _input)
    getpass.getpass = _getpass
    import_hooks.prepare()


def settle() -> None:
    """Ends the start of the root process."""
    from . import symbols, transfer

    global _symbols, _transfer
    _symbols, _transfer = symbols, transfer
    forks.settle(shell)
    _warm_up()
    plain_cells.settle(shell)
    _load_tracebacks()
    # Collects once, then exempts these objects from later collections. Otherwise the first
    # collection in each state would copy some 30 MB of pages, 20 times the memory of a state.
    gc.collect()
    gc.freeze()


def rehearse() -> None:
    """Lets the next cell find its memory pages copied."""
    plain_cells.rehearse()


def _put_environment_on_path() -> None:
    """Makes `!pip` the pip of the cells' environment."""
    scripts = os.path.dirname(sys.executable)
    path = os.environ.get("PATH", os.defpath)
    if sys.prefix != sys.base_prefix and scripts not in path.split(os.pathsep)[:1]:
        os.environ["PATH"] = scripts + os.pathsep + path
        os.environ["VIRTUAL_ENV"] = sys.prefix


def run(code: str, allow_stdin: bool, report_symbols: bool) -> str:
    """Runs a cell. Returns JSON: {"error": null or {ename, evalue, traceback}, "exec_count": n,
    "symbols": null or {accessed, modified, deleted}, "remains": what a cell that raised has left,
    as `Remains` in protocol.rs}."""
    _run.allow_stdin, _run.refused = allow_stdin, None
    outputs.errors_sent.clear()
    tracker = None
    result, count = None, _count_names()
    try:
        if _transfer.deliveries:
            _transfer.prepare()
        if report_symbols:
            tracker = _run.tracker = _symbols.Tracker()
        result = plain_cells.run(code, tracker) or shell.run_cell(code, store_history=True)
        error = result.error_before_exec or result.error_in_exec
    except BaseException as escaped:
        # An interrupt outside the shell's own handler, or an error that the shell cannot show.
        error = escaped
    _run.tracker = None
    _transfer.end()
    # IPython takes the debugger's own error for one of the debugged code.
    error, sent = error or _run.refused, None
    remains = "nothing" if error is None else _remains(result, error, count)
    if error is not None:
        shown = [one["ename"] for one in outputs.errors_sent]
        if outputs.ename(error) not in shown:
            outputs.send_error(type(error), error, [f"{outputs.ename(error)}: {text_of(error)}"])
        sent = next(
            one for one in reversed(outputs.errors_sent) if one["ename"] == outputs.ename(error)
        )
    symbols = tracker.end() if tracker is not None else None
    exec_count = outputs.count_or_zero(shell.execution_count - 1)
    if sent is None and symbols is None:
        # Encoding it copies thirty pages.
        return f'{{"error":null,"exec_count":{exec_count},"symbols":null,"remains":"{remains}"}}'
    return to_json(
        {"error": sent, "exec_count": exec_count, "symbols": symbols, "remains": remains}
    )


def _count_names() -> int:
    """How many variables the user has. Listing them would copy the pages of their reference
    counts."""
    return len(shell.user_ns) - len(shell.user_ns_hidden)


def _remains(result: Any, error: BaseException, count: int) -> str:
    """What a cell that raised has left, as `Remains` in protocol.rs."""
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
    """Whether the first statement of a cell raised, outside any function and block."""
    tb = error.__traceback__
    while _is_shells_frame(tb):
        tb = cast(TracebackType, tb).tb_next
    if isinstance(error, KeyboardInterrupt) or tb is None or tb.tb_next is not None:
        return False
    # The source as compiled, after IPython has translated magics.
    first, *others = ast.parse("".join(linecache.getlines(tb.tb_frame.f_code.co_filename))).body
    is_simple = not hasattr(first, "body") and not hasattr(first, "cases")
    return is_simple and not (others and tb.tb_lineno >= others[0].lineno)


def _is_shells_frame(tb: TracebackType | None) -> bool:
    """Whether a traceback begins with a frame of the shell, above the cell's."""
    from IPython.core.interactiveshell import __file__ as shells

    if tb is None:
        return False
    return tb.tb_frame.f_code.co_filename == shells or plain_cells.is_own_frame(tb)


# -- IPython's shell -------------------------------------------------------------------------------


def _make_shell() -> Any:
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
        """The value of the last expression."""

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
        """Compiles a cell as a whole: an unfinished one gets Python's own error, not "incomplete
        input"."""

        def __init__(self) -> None:
            super().__init__()
            # Removes the flag for prompts, where input may go on.
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
        """exit and quit."""

        def __call__(self, code: str | None = None) -> None:
            raise SystemExit(code)

    class Events(EventManager):
        """Runs IPython's hooks. An interrupt during a hook ends the cell; IPython would show it and
        run the cell all the same."""

        def trigger(self, event: str, *args: Any, **kwargs: Any) -> None:
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

        def init_events(self) -> None:
            # Before anything is registered in them.
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
                    # Raised, for example, for a cell that was interrupted before its first line.
                    return traceback.format_exception(etype, evalue, tb)

            self.InteractiveTB.structured_traceback = structured_or_plain

        def show_usage_error(self, exc: Any) -> None:
            # IPython prints it, and it would be shown twice.
            outputs.send_error(type(exc), exc, [f"{outputs.ename(exc)}: {text_of(exc)}"])

        def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
            outputs.send_error(etype, evalue, [str(line) for line in stb])

        def showtraceback(
            self, exc_tuple: Any = None, filename: Any = None, tb_offset: Any = None, **kwargs: Any
        ) -> None:
            # Cuts IPython's own frame before IPython parses its 4,000 lines to leave it out.
            etype, evalue, tb = exc_tuple or sys.exc_info()
            outputs.cut_own_frames(tb)
            if tb_offset is None and tb is not None and tb.tb_next is not None:
                if _is_shells_frame(tb):
                    exc_tuple, tb_offset = (etype, evalue, tb.tb_next), 0
            super().showtraceback(exc_tuple, filename, tb_offset, **kwargs)

        def _format_exception_for_storage(self, exception: Any, *_: Any, **__: Any) -> Any:
            # IPython 9 keeps a second traceback for the history, which is off here, and fails if
            # `str(error)` raises.
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
                    "[ratoon: there is no error to look at. A cell that fails leaves no state, so"
                    " its error is gone with it: keep what it had set and debug there, or run it"
                    " again after `%pdb on` or with breakpoint() in it]\n"
                )
            else:
                tb = getattr(sys.last_value, "__traceback__", None)
                if _is_shells_frame(tb):
                    # The debugger skips the first frame: let that be IPython's, not the cell's.
                    self.InteractiveTB.tb = tb
                super().debugger(force)

        @default("exiter")  # type: ignore[untyped-decorator]
        def _make_exit(self) -> Any:
            return Exit(self)

        def enable_gui(self, gui: Any = None) -> None:
            if gui not in (None, "inline"):
                raise NotImplementedError(f"a notebook has no window for the {gui} event loop")

        # A pseudo-terminal whose output is streamed into the cell, as Jupyter does it.
        system = InteractiveShell.system_piped

    config = Config()
    # The default starts a thread and opens a database file. Neither survives a fork.
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    quiet = interactiveshell.warn

    def warn(message: Any, *args: Any, **kwargs: Any) -> None:
        if "To exit: use" not in str(message):
            quiet(message, *args, **kwargs)

    interactiveshell.warn = warn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Shell.instance(config=config)


def _warm_up() -> None:
    """Runs a cell that does nothing, so that IPython loads now what its first cell needs."""
    shell.run_cell("1", store_history=False, silent=True)
    shell.display_formatter.format(1)
    shell.last_execution_result = None


def _load_tracebacks() -> None:
    """Loads now what IPython's first traceback needs (50 ms), instead of in every branch."""
    name = shell.compile.cache("1/0", 0)
    try:
        exec(compile("1/0", name, "exec"), {})
    except ZeroDivisionError:
        etype, evalue, tb = sys.exc_info()
        shell.InteractiveTB.structured_traceback(etype, evalue, tb and tb.tb_next, tb_offset=0)


# -- input -----------------------------------------------------------------------------------------


def _input(prompt: str = "", /) -> str:
    return _ask("input()", str(prompt), False)


def _getpass(prompt: str = "Password: ", stream: Any = None, **_: Any) -> str:
    return _ask("getpass()", str(prompt), True)


def _ask(function: str, prompt: str, password: bool) -> str:
    if not _run.allow_stdin:
        from IPython.core.error import StdinNotImplementedError

        # The caller of _input or _getpass, which called _ask.
        is_debugger = sys._getframe(2).f_globals.get("__name__") in ("cmd", "IPython.core.debugger")
        error = StdinNotImplementedError(
            _nobody_to_ask("the debugger" if is_debugger else function)
        )
        if is_debugger:
            _run.refused = error
        raise error
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            f"{function} works in the cell itself, not in a thread that it has started"
        )
    return str(outputs.channel.ask(clean(prompt), password))


def _nobody_to_ask(who: str) -> str:
    return (
        f"{who} has nobody to ask: this run came over REST. Pass the value in the code, or run the"
        " cell on the page."
    )
