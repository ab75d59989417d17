"""Checks, when the root starts, what we assume of private parts of CPython and cloudpickle. Another
layout could silently damage states, so the root refuses to start and reports it.
"""

from __future__ import annotations

import _posixsubprocess
import asyncio.selector_events
import dataclasses
import enum
import functools
import io
import logging
import pickle
import random
import subprocess
import threading
from collections.abc import Callable
from typing import Any

# The position of `start_new_session` among the arguments of `_posixsubprocess.fork_exec` after the
# first, in CPython 3.10 to 3.14 (Lib/subprocess.py, _execute_child).
START_NEW_SESSION = 14

# Names that we use, by their owner.
_NAMES: tuple[tuple[Any, str], ...] = (
    (asyncio.selector_events.BaseSelectorEventLoop, "_make_self_pipe"),
    (dataclasses, "_FIELD_BASE"),
    (functools, "_lru_cache_wrapper"),
    (logging, "_addHandlerRef"),
    (logging, "_handlers"),
    (logging, "_levelToName"),
    (pickle, "whichmodule"),
    (pickle._Pickler, "save_reduce"),
    (random, "_inst"),
    (threading, "_active"),
    (threading, "_limbo"),
)


class UnknownLayout(ImportError):
    """A private part is not as we assume."""


def check() -> None:
    """Raises UnknownLayout if an assumption does not hold."""
    for owner, name in _NAMES:
        if not hasattr(owner, name):
            raise _unknown(f"{owner.__name__}.{name}")
    for what, holds in _ASSUMPTIONS.items():
        try:
            is_known = holds()
        except Exception:
            is_known = False
        if not is_known:
            raise _unknown(what)


def _unknown(what: str) -> UnknownLayout:
    return UnknownLayout(
        f"{what} is not what this version of Ratoon knows from Python 3.10 to 3.14 and cloudpickle "
        "3: states could be damaged. Start ratoon with --python and an environment of these "
        "versions, or update Ratoon"
    )


def _has_session_flag() -> bool:
    """Whether START_NEW_SESSION is the position of this flag."""
    with_flag, without = _fork_exec_arguments(True), _fork_exec_arguments(False)
    differing = [at for at, pair in enumerate(zip(with_flag, without)) if pair == (True, False)]
    return differing == [START_NEW_SESSION + 1]


class _Called(Exception):
    """`fork_exec` was called with these arguments."""


def _fork_exec_arguments(start_new_session: bool) -> tuple[Any, ...]:
    """The arguments with which `subprocess` calls `fork_exec`."""

    def fork_exec(*arguments: Any) -> None:
        raise _Called(*arguments)

    # Since Python 3.11 subprocess has its own name for it.
    owner: Any = subprocess if hasattr(subprocess, "_fork_exec") else _posixsubprocess
    name = "_fork_exec" if owner is subprocess else "fork_exec"
    original = getattr(owner, name)
    setattr(owner, name, fork_exec)
    try:
        subprocess.Popen(["true"], start_new_session=start_new_session)
    except _Called as called:
        return called.args
    finally:
        setattr(owner, name, original)
    return ()


def _reduced(kind: type) -> tuple[str, list[type], list[type]]:
    """The form of cloudpickle's result for a class: constructor, arguments, state."""
    # Where the user's environment lacks it, it is not on the path before the shell has started.
    import cloudpickle

    pickler: Any = cloudpickle.CloudPickler(io.BytesIO(), 5)
    make, arguments, state, items, pairs, _set_state = pickler.reducer_override(kind)
    assert items is None and pairs is None
    return make.__name__, list(map(type, arguments)), list(map(type, state))


def _has_class_form() -> bool:
    class Sample:
        pass

    # Metaclass, name, bases, keywords, tracker, and a part that is empty.
    arguments = [type, str, tuple, dict, str, type(None)]
    return _reduced(Sample) == ("_make_skeleton_class", arguments, [dict, dict])


def _has_enum_form() -> bool:
    class Sample(enum.Enum):
        ONE = 1

    # Bases, name, qualified name, members, module, tracker, and a part that is empty.
    arguments = [tuple, str, str, dict, str, str, type(None)]
    return _reduced(Sample) == ("_make_skeleton_enum", arguments, [dict, dict])


def _has_memo_form() -> bool:
    """Whether C's pickler has a memo of numbers and objects by their id, and takes another."""
    value: list[Any] = []
    pickler: Any = pickle.Pickler(io.BytesIO(), 5)
    pickler.memo = {id(value): (7, value)}
    return bool(pickler.memo.copy() == {id(value): (7, value)})


def _has_target_until_its_end() -> bool:
    """Whether a thread has `_target` until its function has returned."""
    had = []
    thread = threading.Thread(target=lambda: had.append(hasattr(thread, "_target")))
    thread.run()
    return had == [True] and not hasattr(thread, "_target")


_ASSUMPTIONS: dict[str, Callable[[], bool]] = {
    "how subprocess calls _posixsubprocess.fork_exec": _has_session_flag,
    "cloudpickle's form of a class": _has_class_form,
    "cloudpickle's form of an enum": _has_enum_form,
    "the memo of pickle.Pickler": _has_memo_form,
    "threading.Thread._target": _has_target_until_its_end,
}
