"""Looking at the user's variables: what the page lists, and what tells two states apart."""

import re
import reprlib
import signal
import time

from . import fingerprint as fingerprints
from . import shell as own
from .classes import name_of
from .text import MAX_NAME_CHARACTERS, short, text_of, to_json

# One variable's repr in a list of variables, in characters.
MAX_LOOK_CHARACTERS = 10_000
# How long one repr may take in a list of variables, in seconds, and all together; the rest is not asked.
MAX_LOOK_SECONDS = 0.5
MAX_LOOKS_SECONDS = 2.5
# All variables of a state together, in characters; the last ones of a very full state are only named.
MAX_LOOK_TOTAL = 8_000_000
# How long the content of all variables together is read, in seconds of the processor. What is left has no fingerprint.
MAX_READING_SECONDS = 0.3
# More variables than this are not told apart.
MAX_MARKS = 20_000

# What IPython puts into every namespace.
SHELL_HELPERS = frozenset({"In", "Out", "get_ipython", "exit", "quit"})
# IPython's own history names; a user's `_private` is the user's.
_SHELL_NAME = re.compile(r"_+|_i+|_i?\d+|_[oid]h|__\w+__")
_long = reprlib.Repr()
_long.maxlist = _long.maxtuple = _long.maxset = _long.maxfrozenset = _long.maxdict = _long.maxdeque = 200
_long.maxstring = _long.maxother = MAX_LOOK_CHARACTERS
_long.maxlevel = 6


def look():
    """The user's variables, as a JSON list of {name, type, repr, size, bytes, fingerprint, sampled, summary}."""
    signal.signal(signal.SIGALRM, _took_too_long)
    seen, total = [], 0
    no_more_reprs = time.monotonic() + MAX_LOOKS_SECONDS
    deadline = time.process_time() + MAX_READING_SECONDS
    # What is in them first: a __repr__ may change it.
    inside = {name: _inside(value, deadline) for name, value in variables()}
    for name, value in variables():
        if total >= MAX_LOOK_TOTAL:
            one = {"name": name, "type": "", "repr": "", "size": None}
        else:
            one = _describe(name, value, no_more_reprs)
        one.update(inside.get(name, {}))
        total += len(one["repr"])
        seen.append(one)
    return to_json(seen)


def marks():
    """What tells the variables from those of another state, as JSON: {name: [fingerprint or null, type and address]}; null
    when there are too many."""
    found = variables()
    if len(found) > MAX_MARKS:
        return "null"
    deadline = time.process_time() + MAX_READING_SECONDS
    return to_json({name: [fingerprints.fingerprint(value, deadline), _who(value)] for name, value in found})


def variables():
    """The user's variables, as (name, value)."""
    return [(n, v) for n, v in list(own.shell.user_ns.items()) if type(n) is str and _is_users(n, v)]


def short_repr(value, seconds, characters):
    """`repr(value)`, cut where it is long; it may raise anything, `TimeoutError` when it takes longer."""
    signal.signal(signal.SIGALRM, _took_too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        text = _long.repr(value) if _is_long(value) else repr(value)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return short(str.__str__(text), characters)


def type_name(value):
    return short(name_of(type(value)), MAX_NAME_CHARACTERS)


def _who(value):
    return f"{name_of(type(value))} {id(value):x}"


def _inside(value, deadline):
    one, is_sampled, columns = fingerprints.fingerprint_and_columns(value, deadline)
    told = fingerprints.summary(value, columns, deadline)
    return {"bytes": fingerprints.size_in_bytes(value), "fingerprint": one, "sampled": is_sampled, "summary": told}


def is_users_name(name):
    """Whether a name is the user's whatever it means: neither the shell's nor special to Python."""
    return name not in SHELL_HELPERS and not _SHELL_NAME.fullmatch(name)


def is_shells(name):
    """Whether a name means something of the shell's history."""
    return name in ("In", "Out") or _SHELL_NAME.fullmatch(name) is not None and not name.startswith("__")


def _is_users(name, value):
    if not is_users_name(name):
        return False
    hidden = own.shell.user_ns_hidden
    return name not in hidden or hidden[name] is not value


def _describe(name, value, no_more_reprs):
    text, size = "…", None
    try:
        size = _size(value)
        if time.monotonic() < no_more_reprs:
            text = short_repr(value, MAX_LOOK_SECONDS, MAX_LOOK_CHARACTERS)
    except BaseException as error:  # a hostile __repr__ may raise anything
        text = f"<repr failed: {name_of(type(error))}: {text_of(error)}>"
        text, size = short(text, MAX_LOOK_CHARACTERS), None
    return {"name": short(name, MAX_NAME_CHARACTERS), "type": type_name(value), "repr": text, "size": size}


def _is_long(value):
    return type(value) in (str, bytes, list, tuple, dict, set, frozenset) and len(value) > 200


def _size(value):
    signal.setitimer(signal.ITIMER_REAL, MAX_LOOK_SECONDS)
    try:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple):
            return "×".join(str(n) for n in shape)
        return str(len(value)) if isinstance(value, (str, bytes, list, tuple, dict, set, frozenset)) else None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _took_too_long(_signal, _frame):
    raise TimeoutError(f"took longer than {MAX_LOOK_SECONDS} s")
