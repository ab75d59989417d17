"""Lets completion and inspection find names that the lines above the cursor define."""

import ast
import contextlib
import importlib
import importlib.util
import itertools
import os
import sys
import sysconfig
from collections.abc import Iterator
from typing import Any

from . import shell as kernel_shell
from .code_position import MISSING

# Maximum number of statements that are read in one line.
_MAX_STATEMENTS = 20
_STANDARD_LIBRARY = os.path.join(sysconfig.get_path("stdlib"), "")
# Modules of the standard library that print or open something when they are imported.
_LOUD = frozenset({"antigravity", "this", "idlelib", "turtledemo", "turtle", "__main__"})


@contextlib.contextmanager
def names_of_the_cell(code: str, cursor: int) -> Iterator[Any]:
    """Adds names to the namespace for the duration of a `with` block: the names to which the lines
    above the cursor bind a loaded module, a module of the standard library, or a literal. Existing
    variables do not change, and no user code runs."""
    namespace, made = kernel_shell.shell.user_ns, []
    for line in code[:cursor].split("\n")[:-1]:
        try:
            statements = ast.parse(line).body if line and not line[0].isspace() else []
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for name, value in itertools.chain.from_iterable(
            _assigned_by(one) for one in statements[:_MAX_STATEMENTS]
        ):
            if name not in namespace:
                namespace[name] = value
                made.append(name)
    try:
        yield
    finally:
        for name in made:
            del namespace[name]


def _assigned_by(statement: ast.stmt) -> Iterator[Any]:
    """Yields the names that a statement defines and their values, if the values are known without
    running the statement."""
    if isinstance(statement, ast.Import):
        for one in statement.names:
            module = _module_of_python(one.name if one.asname else one.name.partition(".")[0])
            if module is not None:
                yield one.asname or one.name.partition(".")[0], module
    elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
        module = _module_of_python(statement.module)
        for one in statement.names if module is not None else ():
            value = vars(module).get(one.name, MISSING)
            if value is not MISSING:
                yield one.asname or one.name, value
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        with contextlib.suppress(ValueError, TypeError, MemoryError, RecursionError):
            yield statement.targets[0].id, ast.literal_eval(statement.value)


def _module_of_python(name: str) -> Any:
    """Returns a module that is loaded, or imports it from the standard library. Returns None if it
    is not in the standard library, or if a file of the user hides it."""
    if name in sys.modules:
        return sys.modules[name]
    top = name.partition(".")[0]
    if top not in getattr(sys, "stdlib_module_names", ()) or top in _LOUD:
        return None
    try:
        spec = importlib.util.find_spec(top)
        is_own = spec is not None and (
            spec.origin in ("built-in", "frozen") or str(spec.origin).startswith(_STANDARD_LIBRARY)
        )
        return importlib.import_module(name) if is_own else None
    except Exception:
        return None
