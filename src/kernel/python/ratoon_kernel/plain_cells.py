"""Runs a cell of plain Python with the same effects as IPython's `run_cell`, at a quarter of the
cost.

After a fork, the first write to a memory page copies the page (3 µs), and each state keeps its
copies. `run_cell` writes to some 500 pages for `x = 1`: tokens, traits, reference counts. This
module does the same steps in the same order, but skips the steps that have nothing to do. IPython
runs all other cells: cells with magics or `await`, code that does not parse, and all cells if the
user has changed the shell.
"""

from __future__ import annotations

import ast
import bdb
import builtins
import gc
import linecache
import sys
import warnings
from typing import Any

from ._native import Contents
from .compiler_flags import FEATURES

_compile = compile

# The shell, its history, and the dictionaries that contain the values of their traits. Setting a
# trait in the usual way, through its descriptor, writes to ten times as many pages.
_shell: Any = None
_history: Any = None
_values: dict[str, Any] = {}
_history_values: dict[str, Any] = {}
_hook_values: dict[str, Any] = {}
_line_magics: dict[str, Any] = {}
# Classes of IPython.
_Info: Any = None
_Result: Any = None
_HistoryOutput: Any = None
_called_by_name: tuple[type, ...] = ()
# Records of the parts of the shell that a user may change, of the hooks around cells, and of the
# printers for the types `_SIMPLE`. They show whether the user has changed something.
_parts: Contents | None = None
_hooks: Contents | None = None
_printers: Contents | None = None

# Texts that IPython may treat differently from Python: prompts, `await`, and calls into which
# IPython translates magics.
_SPECIAL = ("await", "async", "...", ">>>", "In [", "get_ipython().run_")
# Major versions of IPython whose `run_cell` has the steps below.
_KNOWN_VERSIONS = (9,)
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
# Classes whose only representation is their `repr`.
_SIMPLE = (int, float, bool, str, bytes, complex)
# Maximum length of a `repr` that is shown without IPython, in characters.
_MAX_SIMPLE_CHARACTERS = 10_000


def settle(shell: Any) -> None:
    """Called when the root is complete. Records the shell as it is before the user can change
    it."""
    import IPython

    if IPython.version_info[0] not in _KNOWN_VERSIONS or _is_configured(shell):
        return
    from IPython.core import history, interactiveshell
    from IPython.core.autocall import IPyAutocall
    from IPython.core.macro import Macro

    global _shell, _history, _values, _history_values, _hook_values, _line_magics
    global _Info, _Result, _HistoryOutput, _called_by_name, _parts, _hooks, _printers
    _shell, _history = shell, shell.history_manager
    _values, _history_values = shell._trait_values, _history._trait_values
    _hook_values = shell.displayhook._trait_values
    _line_magics = shell.magics_manager.magics["line"]
    for name in ("input_hist_parsed", "input_hist_raw", "db_input_cache"):
        # The first access creates the list.
        getattr(_history, name)
    # Entered once for all cells. The trap hides `exit` and `quit` of interactive Python, which
    # nothing else in this process needs.
    shell.builtin_trap.__enter__()
    _Info, _Result = interactiveshell.ExecutionInfo, interactiveshell.ExecutionResult
    _HistoryOutput = getattr(history, "HistoryOutput", None)
    _called_by_name = (IPyAutocall, Macro)
    _parts = _note_parts(interactiveshell.InteractiveShell)
    _hooks = Contents(list(shell.events.callbacks.values()), [])
    _printers = _note_printers(shell.display_formatter)


def _is_configured(shell: Any) -> bool:
    """Whether the user's configuration sets a trait of what runs cells and shows their values. The
    steps below are those of the default values."""
    display = shell.display_formatter
    owners = [
        shell,
        shell.input_transformer_manager,
        shell.prefilter_manager,
        shell.displayhook,
        shell.display_pub,
        display,
        *_formatters(display),
    ]
    classes = {one.__name__ for owner in owners for one in type(owner).__mro__}
    return any(section in classes for section in shell.config)


def _formatters(display: Any) -> list[Any]:
    return [
        *display.formatters.values(),
        display.ipython_display_formatter,
        display.mimebundle_formatter,
    ]


# What changes in the shell and in its display hook while cells run.
_VOLATILE = frozenset(
    (
        "execution_count",
        "last_execution_result",
        "last_execution_succeeded",
        "exec_result",
        "sys_excepthook",
        "showing_traceback",
        "_last_input_line",
        "_is_active",
        "_",
        "__",
        "___",
    )
)
# Classes of these packages are recorded. Those below them, of traitlets, know nothing of cells.
_PACKAGES = ("IPython", __package__.partition(".")[0])


def _note_parts(base: type) -> Contents:
    """Records the shell, and what it uses to run a cell. Records all that a user may change,
    because a list of what IPython reads would never be complete."""
    transformers, prefilter = _shell.input_transformer_manager, _shell.prefilter_manager
    values = vars(prefilter)
    containers = [
        *_class_dicts(_shell, transformers, prefilter, _shell.compile, _shell.events),
        _shell.ast_transformers,
        _shell.input_transformers_post,
        transformers.cleanup_transforms,
        transformers.line_transforms,
        transformers.token_transformers,
        *(values[name] for name in ("_transformers", "_checkers", "_handlers")),
    ]
    own = vars(_shell)
    entries = [
        # A method may be replaced on the instance.
        *((own, name) for name in {*own, *dir(base)} - _VOLATILE),
        *_traits(_shell),
        *_traits(prefilter),
        *((vars(transformers), f"{name}_transforms") for name in ("cleanup", "line")),
        (vars(_shell.logger), "log_active"),
        (vars(_shell.logger), "log_output"),
        (_history_values, "db_log_output"),
    ]
    return Contents(containers, entries)


def _note_printers(display: Any) -> Contents:
    """Records what shows a simple value."""
    formatters = _formatters(display)
    hook, publisher = _shell.displayhook, _shell.display_pub
    containers = [
        *_class_dicts(display, hook, publisher, *formatters),
        display.formatters,
        display.active_types,
    ]
    entries: list[Any] = [*_traits(display), *_traits(hook), *_traits(publisher)]
    for one in (display, hook, publisher, *formatters):
        names = {*vars(one), *dir(type(one))} - _VOLATILE
        entries += [(vars(one), name) for name in names]
    for one in formatters:
        printers = one.type_printers
        containers += [one.singleton_printers, one.deferred_printers]
        entries += [(printers, kind) for kind in (*_SIMPLE, object)]
        entries += _traits(one)
    return Contents(containers, entries)


def _class_dicts(*objects: Any) -> list[Any]:
    """The dictionaries of the objects' classes: a trait or a method may be replaced on a class."""
    classes = {
        one: None
        for owner in objects
        for one in type(owner).__mro__
        if one.__module__.partition(".")[0] in _PACKAGES
    }
    return [gc.get_referents(vars(one))[0] for one in classes]


def _traits(owner: Any) -> list[tuple[Any, str]]:
    """The entries for the values of an object's traits."""
    names = [name for name in owner.trait_names() if name not in _VOLATILE]
    for name in names:
        # Some traits get their value when they are first read.
        getattr(owner, name)
    return [(owner._trait_values, name) for name in names]


def run(code: str, tracker: Any) -> Any:
    """Runs a plain cell and returns its result object. Returns None, without any effect, if the
    cell is not plain."""
    if _parts is None or not _is_plain(code) or not _parts.are_same():
        return None
    cell = code if code.endswith("\n") else code + "\n"
    count = _shell.execution_count
    name = _shell.compile.get_code_name(code, cell, count)
    nodes = _parse(cell, name)
    if nodes is None:
        return None
    # Valid for all versions 9 of IPython. Newer ones have additional optional fields.
    info = _Info(code, True, False, True, None, transformed_cell=cell)
    result = _Result(info)
    try:
        try:
            _run(cell, name, nodes, count, result, tracker)
        except BaseException as error:
            # Reached if an interrupt arrives between two statements.
            result = _Result(info)
            result.error_in_exec = error
            _shell.showtraceback(running_compiled_code=True)
    finally:
        if _has_users_hooks():
            _shell.events.trigger("post_execute")
            _shell.events.trigger("post_run_cell", result)
    return result


def rehearse() -> None:
    """Writes to the memory pages that the next cell will write to, so that they are copied while
    nobody waits."""
    nodes = _parse("0\n", "<ratoon>") if _is_plain("0") and _parts and _parts.are_same() else None
    if nodes:
        exec(_compiled(ast.Module(nodes, []), "<ratoon>", "exec"), {})


def _is_plain(code: str) -> bool:
    """Whether IPython would run the text unchanged, provided that it is valid Python."""
    if not code or code[0].isspace():
        return False
    for special in _SPECIAL:
        if special in code:
            return False
    if "\n" in code.rstrip("\n"):
        return True
    # In a cell of one line, the first word may be a magic, or an object that IPython calls when its
    # name is typed: `ls`, `exit`.
    end = 0
    for character in code:
        if not (character.isalnum() or character == "_"):
            break
        end += 1
    word = code[:end]
    return not (
        word in _line_magics
        or word in ("exit", "quit")
        or isinstance(_shell.user_ns.get(word), _called_by_name)
    )


def _parse(cell: str, name: str) -> list[ast.stmt] | None:
    """Returns the statements. Returns None if IPython would show an error or a warning about the
    text."""
    flags = _shell.compile.flags | ast.PyCF_ONLY_AST
    try:
        if "\\" not in cell:
            return _body(_compile(cell, name, "exec", flags, True))
        # Parsing an invalid escape sequence causes a warning. IPython must show it, so the cell is
        # left to IPython.
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            nodes = _body(_compile(cell, name, "exec", flags, True))
        return None if given else nodes
    except Exception:
        return None


def _body(module: Any) -> list[ast.stmt]:
    body: list[ast.stmt] = module.body
    return body


def _run(
    cell: str, name: str, nodes: list[ast.stmt], count: int, result: Any, tracker: Any
) -> None:
    result.execution_count = count
    _values["execution_count"] = count + 1
    raw = result.info.raw_cell
    if _has_users_hooks():
        _shell.events.trigger("pre_execute")
        _shell.events.trigger("pre_run_cell", result.info)
    # A warning at the same place of an earlier cell suppresses none of this cell.
    _shell.user_ns.pop("__warningregistry__", None)
    _store_input(cell.rstrip("\n"), raw.rstrip("\n"), count)
    # Does the same as IPython's `CachingCompiler.cache`.
    _shell.compile._filename_map[name] = count
    lines = [f"{line}\n" for line in cell.splitlines()]
    linecache.cache[name] = (len(cell), None, lines, name)
    kept, sys.displayhook = sys.displayhook, _shell.displayhook
    try:
        _hook_values["exec_result"] = result
        has_raised = _run_nodes(nodes, name, result, tracker)
        _values["last_execution_succeeded"] = not has_raised
        _values["last_execution_result"] = result
        _hook_values["exec_result"] = None
    finally:
        sys.displayhook = kept
    if result.error_in_exec:
        _history.exceptions[count] = _shell._format_exception_for_storage(result.error_in_exec)


def _has_users_hooks() -> bool:
    """Whether the user or a library has registered a hook that runs before or after cells."""
    return _hooks is None or not _hooks.are_same()


def _store_input(source: str, raw: str, count: int) -> None:
    """Sets In, _i, _ii, _iii, _i1, _i2, … as IPython's `HistoryManager.store_inputs` does."""
    values = _history_values
    values["input_hist_parsed"].append(source)
    values["input_hist_raw"].append(raw)
    values["db_input_cache"].append((count, source, raw))
    values["_iii"], values["_ii"] = values["_ii"], values["_i"]
    values["_i"], values["_i00"] = values["_i00"], raw
    names = {"_i": values["_i"], "_ii": values["_ii"], "_iii": values["_iii"], f"_i{count}": raw}
    _shell.user_ns.update(names)
    _shell.user_ns_hidden.update(names)


def _run_nodes(nodes: list[ast.stmt], name: str, result: Any, tracker: Any) -> bool:
    """Runs statements one by one until one raises an error. Returns whether one did."""
    last = nodes[-1] if nodes and isinstance(nodes[-1], ast.Expr) else None
    try:
        for node in nodes:
            tree: ast.Module | ast.Interactive
            if node is last:
                tree, mode = ast.Interactive([node]), "single"
            else:
                tree, mode = ast.Module([node], []), "exec"
            if tracker is not None:
                with _shell.compile.extra_flags(_FLAGS):
                    code = _shell.compile(tree, name, mode)
            else:
                code = _compiled(tree, name, mode)
            if _run_code(code, result):
                return True
    except BaseException:
        # Reached if a statement parses but does not compile, for example `return`.
        result.error_before_exec = sys.exc_info()[1]
        _shell.showtraceback()
        return True
    return False


def _compiled(tree: ast.Module | ast.Interactive, name: str, mode: str) -> Any:
    """Compiles a statement and remembers imports from `__future__`, as `codeop.Compile` does."""
    code = _compile(tree, name, mode, _shell.compile.flags | _FLAGS, True)
    if code.co_flags & FEATURES:
        _shell.compile.flags |= code.co_flags & FEATURES
    return code


def _run_code(code: Any, result: Any) -> bool:
    """Runs a statement and shows its error. Returns whether it raised one."""
    # Debuggers show no frame above this one.
    __tracebackhide__ = "__ipython_bottom__"
    namespace = _shell.user_ns
    kept, sys.excepthook = sys.excepthook, _shell.excepthook
    _shell.sys_excepthook = kept
    try:
        try:
            exec(code, namespace, namespace)
        finally:
            sys.excepthook = kept
    except SystemExit as error:
        result.error_in_exec = error
        _shell.showtraceback(exception_only=True)
    except bdb.BdbQuit as error:
        result.error_in_exec = error
    except _shell.custom_exceptions:
        etype, value, tb = sys.exc_info()
        result.error_in_exec = value
        _shell.CustomTB(etype, value, tb)
    except BaseException as error:
        result.error_in_exec = error
        if isinstance(error, BaseExceptionGroup) and error.__traceback__ is not None:
            # IPython lets Python format an exception group, which would show this function's frame.
            error.__traceback__ = error.__traceback__.tb_next
        _shell.showtraceback(running_compiled_code=True)
    else:
        return False
    return True


def is_own_frame(tb: Any) -> bool:
    """Whether a traceback begins with the frame of `_run_code`."""
    return tb is not None and tb.tb_frame.f_code is _run_code.__code__


def display(hook: Any, value: Any) -> str | None:
    """Updates the history for the value of the last expression, and returns the `repr` to show.
    Returns None, without any effect, if IPython must display the value."""
    if type(value) not in _SIMPLE or "_" in builtins.__dict__ or _printers is None:
        return None
    if ";" in _history_values["input_hist_parsed"][-1] or not _printers.are_same():
        return None
    try:
        text = repr(value)
    except ValueError:  # an integer with too many digits
        return None
    if len(text) > _MAX_SIMPLE_CHARACTERS:
        return None
    hook.update_user_ns(value)
    result = _hook_values["exec_result"]
    if result is not None:
        result.result = value
    count = hook.prompt_count
    if _HistoryOutput is not None:
        output = _HistoryOutput(output_type="execute_result", bundle={"text/plain": text})
        _history.outputs[count].append(output)
    _history.output_hist_reprs[count] = text
    return text
