"""The shell: a subclass of IPython's whose outputs go to the server. Imported when IPython is."""

from __future__ import annotations

import ast
import functools
import sys
import traceback
import warnings
from types import TracebackType
from typing import Any

from IPython.core import interactiveshell, ultratb  # noqa: F401
from IPython.core.autocall import ExitAutocall
from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.events import EventManager, available_events
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type, default

from . import history, outputs, plain_cells, startup
from .shell import running
from .text import MAX_NAME_CHARACTERS, cut, text_of


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
        display_id = cut(str(display_id), MAX_NAME_CHARACTERS) if display_id is not None else None
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
            running.tracker is not None
            and args
            and isinstance(args[0], (ast.Module, ast.Interactive))
        ):
            running.tracker.mark(args[0])
        code = super().__call__(*args, **kwargs)
        if running.tracker is not None:
            running.tracker.statement(code)
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
            if is_shells_frame(tb):
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
        if not running.allow_stdin:
            sys.stderr.write(f"[ratoon: {running.nobody_to_ask('the debugger')}]\n")
        elif getattr(sys, "last_traceback", None) is None:
            sys.stderr.write(
                "[ratoon: there is no error to debug. A failed cell leaves no state, so its"
                " error is gone. Keep the changes of the failed cell and debug there, or run"
                " the cell again after `%pdb on` or with breakpoint() in it]\n"
            )
        else:
            tb = getattr(sys.last_value, "__traceback__", None)
            if is_shells_frame(tb):
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

    def system(self, cmd: str) -> None:
        """Runs `!command` in a pseudo-terminal, and streams its output into the cell."""
        try:
            self.system_piped(cmd)
        except UnboundLocalError as e:
            # IPython fails so if an interrupt arrives while the command starts.
            if isinstance(e.__context__, KeyboardInterrupt):
                raise e.__context__ from None
            raise


def make() -> InteractiveShell:
    """Makes the shell."""
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


def is_shells_frame(tb: TracebackType | None) -> bool:
    """Whether a traceback begins with a frame of the shell. Such frames precede those of a cell."""
    if tb is None:
        return False
    return tb.tb_frame.f_code.co_filename == interactiveshell.__file__ or plain_cells.is_own_frame(
        tb
    )
