"""Describes the names that a checkpoint lacks. A cell that uses such a name gets an error with the
reason."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from json import dumps
from typing import Any

from . import shell as kernel
from .classes import name_of
from .pickling import Unsavable
from .text import clean

# Maximum length of a reason, in characters.
MAX_REASON = 300
# A missing variable: its "name", the name of its "type", and the "reason".
Lack = dict[str, str]

# The variables that could not be loaded in this process or in an ancestor of it.
lacking: dict[str, Lack] = {}


def lack(name: str, type_name: str, reason: str) -> Lack:
    return {"name": name, "type": type_name, "reason": reason}


def take_note(missing: Mapping[str, Lack]) -> None:
    lacking.clear()
    lacking.update(missing)


def still_lacking() -> str:
    """Returns JSON: the entries of `lacking` whose names are still undefined."""
    if not lacking:
        return "[]"
    shell = kernel.shell
    return dumps([one for name, one in lacking.items() if name not in shell.user_ns])


class _Builtins(dict[str, Any]):
    """The builtins of a restored namespace. Python looks here last for a name, so `__missing__` is
    called for each undefined name."""

    missing: Mapping[str, Lack] = {}

    def __missing__(self, name: str) -> Any:
        one = self.missing.get(name)
        if one is None:
            return vars(builtins)[name]
        raise NameError(
            f"name '{name}' is not defined: it is missing since this state was restored "
            f"({one['reason']}). Replay the cells of this state to get it back.",
            name=name,
        )


def tell_of(missing: Mapping[str, Lack]) -> None:
    """Makes cells that use a missing name fail with a NameError that contains the reason."""
    own = _Builtins(vars(builtins))
    own.missing = missing
    for name in missing:
        own.pop(name, None)
    shell = kernel.shell
    shell.user_ns["__builtins__"] = own


# -- reasons ---------------------------------------------------------------------------------------


def type_name(value: Any) -> str:
    return clean(name_of(type(value)))[:200]


def reason(error: BaseException, value: Any) -> str:
    """Returns the reason why a variable cannot be saved."""
    try:
        return clean(_explain(error, value))[:MAX_REASON]
    except BaseException:
        return "it cannot be pickled"


def _explain(error: BaseException, value: Any) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply for this Python"
    if isinstance(error, MemoryError):
        return "there was not enough memory to save it"
    if isinstance(error, Unsavable):
        if error.found is value:
            return error.what
        where = _path_to(value, error.found)
        return f"it holds {error.what}" + (f" ({where})" if where else "")
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _path_to(value: Any, found: Any) -> str | None:
    """Returns the expression that leads from an object to another object inside it, for example
    `items[3].lock`. Returns None if the inner object is nested too deeply."""
    left: list[tuple[str, Any]] = [("", value)]
    seen: set[int] = set()
    while left and len(seen) < 2000:
        path, one = left.pop(0)
        if one is found:
            return path.lstrip(".")
        if id(one) in seen or path.count(".") + path.count("[") > 4:
            continue
        seen.add(id(one))
        left += [(path + step, item) for step, item in _steps(one)]
    return None


def _steps(one: Any) -> Iterator[tuple[str, Any]]:
    """Yields the first objects that an object contains, each with the expression that reads it."""
    if type(one) in (list, tuple):
        for number, item in enumerate(one[:200]):
            yield f"[{number}]", item
    elif type(one) is dict:
        for key, item in list(one.items())[:200]:
            if type(key) in (str, int):
                yield f"[{key!r:.40}]", item
    elif isinstance(getattr(one, "__dict__", None), dict):
        for key, item in list(vars(one).items())[:200]:
            if isinstance(key, str):
                yield f".{key}", item
    elif type(one).__name__ == "function":
        for name, cell in zip(one.__code__.co_freevars, one.__closure__ or ()):
            try:
                yield f".{name}", cell.cell_contents
            except ValueError:  # not filled yet
                continue
