"""Lists the user's variables for the page, and computes fingerprints with which the server compares
states."""

import re
import reprlib
import signal
import time
from typing import Any

from . import fingerprint
from . import shell as kernel_shell
from .classes import name_of
from .text import MAX_NAME_CHARACTERS, short, text_of, to_json

# Maximum length of one repr in the list, in characters.
MAX_REPR_CHARACTERS = 10_000
# Time limit of one repr, in seconds.
REPR_SECONDS = 0.5
# Time limit of all reprs together, in seconds. Later variables are listed without their repr.
ALL_REPRS_SECONDS = 2.5
# Maximum length of all reprs together, in characters. Later variables are listed by name only.
MAX_LIST_CHARACTERS = 8_000_000
# Limit of the processor time for reading values, in seconds. Later variables get no fingerprint.
READING_SECONDS = 0.3
# Maximum number of variables with fingerprints. A state with more variables is not compared.
MAX_FINGERPRINTS = 20_000

# Names that IPython defines in every namespace.
SHELL_HELPERS = frozenset({"In", "Out", "get_ipython", "exit", "quit"})
# Matches names of IPython's history, but not a user's name such as `_private`.
_SHELL_NAME = re.compile(r"_+|_i+|_i?\d+|_[oid]h|__\w+__")
_long = reprlib.Repr()
_long.maxlist = _long.maxtuple = _long.maxset = _long.maxfrozenset = _long.maxdict = (
    _long.maxdeque
) = 200
_long.maxstring = _long.maxother = MAX_REPR_CHARACTERS
_long.maxlevel = 6


def list_variables() -> str:
    """Returns JSON: a list of {name, type, repr, size, bytes, fingerprint, sampled, summary}, one
    for each of the user's variables."""
    signal.signal(signal.SIGALRM, _took_too_long)
    seen: list[dict[str, Any]] = []
    total = 0
    no_more_reprs = time.monotonic() + ALL_REPRS_SECONDS
    deadline = time.process_time() + READING_SECONDS
    # Fingerprints are computed before the first repr, because a `__repr__` may change values.
    inside = {name: _inside(value, deadline) for name, value in variables()}
    for name, value in variables():
        if total >= MAX_LIST_CHARACTERS:
            one: dict[str, Any] = {"name": name, "type": "", "repr": "", "size": None}
        else:
            one = _describe(name, value, no_more_reprs)
        one.update(inside.get(name, {}))
        total += len(one["repr"])
        seen.append(one)
    return to_json(seen)


def fingerprints() -> str:
    """Returns JSON: {name: [fingerprint or null, type and address]}, or null if there are too many
    variables."""
    found = variables()
    if len(found) > MAX_FINGERPRINTS:
        return "null"
    deadline = time.process_time() + READING_SECONDS
    return to_json(
        {name: [fingerprint.fingerprint(value, deadline), _who(value)] for name, value in found}
    )


def variables() -> list[tuple[str, Any]]:
    """Returns the user's variables as (name, value)."""
    return [
        (n, v)
        for n, v in list(kernel_shell.shell.user_ns.items())
        if type(n) is str and _is_users(n, v)
    ]


def short_repr(value: Any, seconds: float, characters: int) -> str:
    """Returns the beginning of `repr(value)`. Raises any exception of `__repr__`, and TimeoutError
    after `seconds`."""
    signal.signal(signal.SIGALRM, _took_too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        text = _long.repr(value) if _is_long(value) else repr(value)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return short(str.__str__(text), characters)


def type_name(value: Any) -> str:
    return short(name_of(type(value)), MAX_NAME_CHARACTERS)


def _who(value: Any) -> str:
    return f"{name_of(type(value))} {id(value):x}"


def _inside(value: Any, deadline: float) -> Any:
    one, is_sampled, columns = fingerprint.fingerprint_and_columns(value, deadline)
    summary = fingerprint.summary(value, columns, deadline)
    return {
        "bytes": fingerprint.size_in_bytes(value),
        "fingerprint": one,
        "sampled": is_sampled,
        "summary": summary,
    }


def is_users_name(name: str) -> bool:
    """Whether a name can be a user's variable. Names of IPython and `__dunder__` names cannot."""
    return name not in SHELL_HELPERS and not _SHELL_NAME.fullmatch(name)


def is_shells(name: str) -> bool:
    """Whether a name belongs to IPython's history, for example `In` or `_3`."""
    return name in ("In", "Out") or (
        _SHELL_NAME.fullmatch(name) is not None and not name.startswith("__")
    )


def _is_users(name: str, value: Any) -> bool:
    if not is_users_name(name):
        return False
    hidden = kernel_shell.shell.user_ns_hidden
    return name not in hidden or hidden[name] is not value


def _describe(name: str, value: Any, no_more_reprs: float) -> Any:
    text, size = "…", None
    try:
        size = _size(value)
        if time.monotonic() < no_more_reprs:
            text = short_repr(value, REPR_SECONDS, MAX_REPR_CHARACTERS)
    except BaseException as error:  # a hostile __repr__ may raise anything
        text = f"<repr failed: {name_of(type(error))}: {text_of(error)}>"
        text, size = short(text, MAX_REPR_CHARACTERS), None
    return {
        "name": short(name, MAX_NAME_CHARACTERS),
        "type": type_name(value),
        "repr": text,
        "size": size,
    }


def _is_long(value: Any) -> bool:
    return type(value) in (str, bytes, list, tuple, dict, set, frozenset) and len(value) > 200


def _size(value: Any) -> str | None:
    signal.setitimer(signal.ITIMER_REAL, REPR_SECONDS)
    try:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple):
            return "×".join(str(n) for n in shape)
        return (
            str(len(value))
            if isinstance(value, (str, bytes, list, tuple, dict, set, frozenset))
            else None
        )
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _took_too_long(_signal: int, _frame: Any) -> None:
    raise TimeoutError(f"took longer than {REPR_SECONDS} s")
