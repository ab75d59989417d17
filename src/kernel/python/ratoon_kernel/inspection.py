"""Describes the object at a cursor: its type, repr, signature, documentation, and the place in the
source where it is defined."""

import ast
import inspect as inspecting
import keyword
import os
import re
import sys
import types
from typing import Any

from . import shell as kernel_shell
from . import variables
from .classes import name_of
from .code_position import MISSING, call_around, expression_before, owner_at, value_of
from .names_of_the_cell import names_of_the_cell
from .signatures import (
    MAX_PARAMETERS,
    active_parameter,
    as_written,
    described_signature,
    kind_of_value,
    parameters_in,
    signature_of,
)
from .text import clean, short, to_json

# Time limit of a `__repr__`, in seconds.
REPR_SECONDS = 0.3
MAX_REPR_CHARACTERS = 2000
MAX_DOC_CHARACTERS = 16_000

_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|.\x08")


def inspect(code: str, cursor: int, above: str = "") -> str:
    """Returns JSON: a description of the object at the cursor, or null. `above` is code that runs
    before this code and has not run yet.

    If the cursor is inside the parentheses of a call and not on a name, describes the called
    function.
    """
    before = f"{above}\n" if above else ""
    with names_of_the_cell(before + code, len(before) + cursor):
        return _inspection(code, cursor, above)


def _inspection(code: str, cursor: int, above: str) -> str:
    cursor = max(0, min(cursor, len(code)))
    call = call_around(code, cursor)
    points = re.match(r"\w", code[cursor : cursor + 1]) is not None
    if call is None or points:
        described = _inspected(_name_at(code, cursor), None, code, above)
        if described is not None or call is None:
            return to_json(described)
    name, arguments = call
    return to_json(_inspected(name, arguments, code, above))


def _name_at(code: str, cursor: int) -> str:
    end = cursor
    while end < len(code) and (code[end].isalnum() or code[end] == "_"):
        end += 1
    return expression_before(code, end)


def _inspected(name: str, arguments: list[str] | None, code: str, above: str) -> Any:
    if (
        not name
        or (keyword.iskeyword(name) and name not in ("None", "True", "False"))
        or name.isdigit()
    ):
        return None
    value, is_bound = value_of(name), False
    if (
        value is MISSING
        and (owner := owner_at(name, name.rfind(".") + 1)) is not None
        and owner is not MISSING
    ):
        try:
            # Describes the property itself, because reading its value would run user code.
            value = inspecting.getattr_static(owner, name.rpartition(".")[2])
            is_bound = type(value) is types.FunctionType and not issubclass(
                type(owner), (type, types.ModuleType)
            )
        except Exception:
            value = MISSING
    if value is MISSING:
        found = _defined_in_the_cell(name, arguments, code)
        if found is None and above:
            found = _defined_in_the_cell(name, arguments, above)
            if found is not None:
                found["place"] = "a draft above"
        return found
    kind, _, _ = kind_of_value(value)
    described = {"name": short(name, 200), "type": variables.type_name(value), "repr": None}
    if kind == "instance":
        described["repr"] = _repr(value)
    described["doc"] = _doc(value, kind)
    described["signature"] = described_signature(
        signature_of(value, is_bound), described["doc"], value, arguments
    )
    described["place"] = _place(value, kind)
    return described


def _repr(value: Any) -> str:
    try:
        return variables.short_repr(value, REPR_SECONDS, MAX_REPR_CHARACTERS)
    except BaseException as error:  # a hostile __repr__ may raise anything
        return f"<repr failed: {name_of(type(error))}>"


def _doc(value: Any, kind: Any) -> str | None:
    of = (
        value
        if kind in ("function", "class", "module")
        else value
        if kind == "property"
        else type(value)
    )
    try:
        text = of.__dict__.get("__doc__") if kind == "module" else of.__doc__
    except Exception:
        return None
    if type(text) is not str or not text.strip():
        return None
    text = _TERMINAL_CODES.sub("", inspecting.cleandoc(text[: 4 * MAX_DOC_CHARACTERS]))
    return clean(text if len(text) <= MAX_DOC_CHARACTERS else text[: MAX_DOC_CHARACTERS - 1] + "…")


def _place(value: Any, kind: Any) -> str | None:
    """Returns the path of the file that defines an object, and the line if it is known without
    reading the file."""
    try:
        if kind == "module":
            file = vars(value).get("__file__")
            return file if type(file) is str else None
        if kind == "class":
            return _place_of_class(value)
        value = value.fget if type(value) is property else value
        value = value.__func__ if type(value) is types.MethodType else value
        for _ in range(10):
            inner = vars(value).get("__wrapped__") if type(value) is types.FunctionType else None
            value = value if inner is None else inner
        if type(value) is not types.FunctionType:
            return None
        return _path_and_line(value.__code__.co_filename, value.__code__.co_firstlineno)
    except Exception:
        return None


def _place_of_class(value: Any) -> str | None:
    written = type.__dict__["__dict__"].__get__(value)
    module = written.get("__module__")
    if module == "__main__":
        methods = [v.__code__ for v in written.values() if type(v) is types.FunctionType]
        first = min(methods, key=lambda code: code.co_firstlineno, default=None)
        return (
            _path_and_line(first.co_filename, written.get("__firstlineno__", first.co_firstlineno))
            if first
            else None
        )
    file = vars(sys.modules[module]).get("__file__")
    return file if type(file) is str else None


def _path_and_line(file: str, line: int) -> str | None:
    number = getattr(kernel_shell.shell.compile, "_filename_map", {}).get(file)
    if number is not None:
        return f"In[{number}], line {line}"
    return f"{file}:{line}" if os.path.isabs(file) else None


def _defined_in_the_cell(name: str, arguments: list[str] | None, code: str) -> Any:
    """Describes a function or class that the cell itself defines."""
    found = None
    for text in (code, code[: code.rfind("\n") + 1]):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        made = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found = next(
            (node for node in ast.walk(tree) if isinstance(node, made) and node.name == name), None
        )
        break
    if found is None:
        return None
    doc = ast.get_docstring(found)
    described: dict[str, Any] = {
        "name": name,
        "repr": None,
        "doc": doc and clean(doc[:MAX_DOC_CHARACTERS]),
        "place": f"line {found.lineno}",
    }
    described["type"] = "type" if isinstance(found, ast.ClassDef) else "function"
    described["signature"] = None
    if not isinstance(found, ast.ClassDef):
        parameters = parameters_in(found.args)
        texts, places = as_written(parameters)
        active = active_parameter([(p.name, p.kind) for p in parameters], arguments)
        returns = clean(ast.unparse(found.returns)) if found.returns else None
        described["signature"] = {
            "parameters": texts[:MAX_PARAMETERS],
            "returns": returns,
            "active": places[active] if active is not None else None,
        }
    return described
