"""The supported versions of Python: checks our assumptions about private parts of CPython and
cloudpickle when the root starts. If an assumption is wrong, states could be damaged silently, so
the root reports it and does not start. CONTRIBUTING.md, "Add a Python version", has all steps.
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
import sys
import threading
from collections.abc import Callable
from typing import Any

# The index of `start_new_session` in the arguments of `_posixsubprocess.fork_exec`, not counting
# the first argument. Valid for CPython 3.11 to 3.14 (Lib/subprocess.py, _execute_child).
START_NEW_SESSION = 14

# Private names that we use, each with the module or class that has it.
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
    """An assumption about a private part is wrong."""


def check_packages() -> None:
    """Raises an ImportError if a package of the environment is too old for the kernel. Ratoon asks
    for the versions before it starts a kernel, but the environment may have changed since."""
    import cloudpickle
    import IPython

    for module, package, oldest in ((IPython, "ipython", 8), (cloudpickle, "cloudpickle", 2)):
        version = str(module.__version__)
        major = version.split(".")[0]
        if major.isdigit() and int(major) < oldest:
            raise ImportError(
                f"{package} {version} is installed for {sys.executable}, and Ratoon needs"
                f" {oldest}.0 or later. Run: {sys.executable} -m pip install --upgrade {package}"
            )


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
        f"{what} differs from Python 3.11 to 3.14 and cloudpickle 2 and 3, which this version of "
        "Ratoon supports: states could be damaged. Start ratoon with --python and an environment "
        "of these versions, or update Ratoon"
    )


def _has_session_flag() -> bool:
    """Whether START_NEW_SESSION is the index of `start_new_session`."""
    with_flag, without = _fork_exec_arguments(True), _fork_exec_arguments(False)
    differing = [at for at, pair in enumerate(zip(with_flag, without)) if pair == (True, False)]
    return differing == [START_NEW_SESSION + 1]


class _Called(Exception):
    """Raised instead of calling `fork_exec`. Its `args` are the arguments of the call."""


def _fork_exec_arguments(start_new_session: bool) -> tuple[Any, ...]:
    """Returns the arguments that `subprocess` passes to `fork_exec`."""

    def fork_exec(*arguments: Any) -> None:
        raise _Called(*arguments)

    # Since Python 3.11, subprocess calls the function by its own global name `_fork_exec`.
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
    """Returns the shape of cloudpickle's result for a class: the name of the constructor, the types
    of its arguments, and the types of the state."""
    # Imported late: if Ratoon provides cloudpickle, it is on the path only after the shell started.
    import cloudpickle

    pickler: Any = cloudpickle.CloudPickler(io.BytesIO(), 5)
    make, arguments, state, items, pairs, _set_state = pickler.reducer_override(kind)
    assert items is None and pairs is None
    return make.__name__, list(map(type, arguments)), list(map(type, state))


def _has_class_form() -> bool:
    class Sample:
        pass

    # Metaclass, name, bases, keywords, tracker id, and an unused argument.
    arguments = [type, str, tuple, dict, str, type(None)]
    return _reduced(Sample) == ("_make_skeleton_class", arguments, [dict, dict])


def _has_enum_form() -> bool:
    class Sample(enum.Enum):
        ONE = 1

    # Bases, name, qualified name, members, module, tracker id, and an unused argument.
    arguments = [tuple, str, str, dict, str, str, type(None)]
    return _reduced(Sample) == ("_make_skeleton_enum", arguments, [dict, dict])


def _has_memo_form() -> bool:
    """Whether the memo of the C pickler maps the id of an object to (number, object), and can be
    set."""
    value: list[Any] = []
    pickler: Any = pickle.Pickler(io.BytesIO(), 5)
    pickler.memo = {id(value): (7, value)}
    return bool(pickler.memo.copy() == {id(value): (7, value)})


def _has_target_until_its_end() -> bool:
    """Whether a thread has the attribute `_target` until its function returns."""
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
