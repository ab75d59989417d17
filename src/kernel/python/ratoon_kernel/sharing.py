"""Computes digests of a state's variables, and finds which variables share objects. Runs in a
throw-away process.

Clients compare the digests of two states to decide whether a cell has to run again, so equal
digests must mean equal values. A value that cannot be read has no digest. The server replaces a
missing digest by a digest of the state's id.
"""

import gc
import hashlib
import json
import os
import signal
import sys
import time
import types
from collections.abc import Iterable
from typing import Any, cast

from . import fingerprint as fingerprints
from . import pickling, symbols, variables
from . import shell as kernel_shell
from .classes import module_of, name_of
from .importable import is_importable
from .text import to_json

# Time limits for reading all values, in seconds of processor time and of real time. Each value gets
# at most half of the remaining time. Values after the limit have no digest.
MAX_SECONDS = 20
MAX_SECONDS_BY_CLOCK = 40
# Maximum number of objects that are visited when the references of a value are followed.
MAX_OBJECTS = 20_000
# Maximum nesting of tuples that are searched for mutable objects.
MAX_DEPTH = 4
# Maximum number of items that are read in one value. Larger than for the page's fingerprints,
# because no user waits for these digests.
MAX_ITEMS = 20_000_000

# Immutable types. Their objects may be shared without effect, so they never count as shared.
_ATOMS = frozenset(
    {
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        range,
        type(Ellipsis),
        type(NotImplemented),
    }
)
_ATOMS_BY_NAME = frozenset(
    {
        ("builtins", "slice"),
        ("builtins", "code"),
        ("builtins", "builtin_function_or_method"),
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("datetime", "time"),
        ("datetime", "timedelta"),
        ("datetime", "timezone"),
        ("decimal", "Decimal"),
        ("fractions", "Fraction"),
        ("numpy", "ufunc"),
        ("re", "Pattern"),
        ("uuid", "UUID"),
        ("zoneinfo", "ZoneInfo"),
    }
)


def digests() -> str:
    """Returns JSON: {"hashes": {name: hex or null}, "groups": [[name]], "fingerprints": [hex or
    null], "reads": {name: [name]}}. Each variable is in exactly one group, with all variables that
    share a mutable object with it. `reads` has the variables that functions and classes read."""
    os._exit = cast(Any, _refuse_to_exit)
    limit = _Limit()
    found = dict(sorted(variables.variables()))
    shared = _Shared(limit.deadline)
    endless = set()
    for name, value in found.items():
        if limit.read(shared.look, name, value):
            continue
        if limit.ran_out:
            endless.add(name)
        if not limit.read(shared.below, value):
            shared.tangled.append(name)
    # Values whose search took too long are not pickled, because pickling would also take too long.
    hashes = {
        name: limit.read(_digest, value, limit.deadline, name not in endless)
        for name, value in found.items()
    }
    groups = shared.groups(found)
    return to_json(
        {
            "hashes": hashes,
            "groups": groups,
            "fingerprints": [shared.fingerprint(group, hashes) for group in groups],
            "reads": {
                name: read
                for name, value in found.items()
                if _is_code(value) and (read := limit.read(_reads, name, found))
            },
        }
    )


def _is_code(value: Any) -> bool:
    """Whether a value is a function or class of the notebook."""
    if isinstance(value, type):
        return module_of(value) == "__main__"
    return type(value) is types.FunctionType and value.__globals__ is kernel_shell.shell.user_ns


def _reads(name: str, found: dict[str, Any]) -> list[str]:
    """Returns the variables that a function or class reads, also through functions that it uses."""
    names = symbols.reach([name]) or ()
    return sorted(one for one in names if one in found and one != name)


def _refuse_to_exit(*_: Any) -> None:
    raise SystemExit("it tried to end the process")


class _OutOfTime(BaseException):
    """The time for a value is over. Derived from BaseException, because code of the value may catch
    every Exception."""


class _Limit:
    """Reads values one by one, each within a time limit. Suppresses all their exceptions."""

    def __init__(self) -> None:
        # Whether the last value exceeded its time limit.
        self.ran_out = False
        self.deadline = time.process_time() + MAX_SECONDS
        self.by_clock = time.monotonic() + MAX_SECONDS_BY_CLOCK
        signal.signal(signal.SIGALRM, self.end)

    def read(self, read: Any, *arguments: Any) -> Any:
        """Returns the result of `read`, or None if `read` fails or takes too long."""
        left = min(self.deadline - time.process_time(), self.by_clock - time.monotonic())
        self.ran_out = left <= 0
        if self.ran_out:
            return None
        try:
            try:
                # The timer repeats, because code of the value may catch the first exception.
                signal.setitimer(signal.ITIMER_REAL, left / 2, 1)
                return read(*arguments)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except BaseException:  # `__reduce__` and metaclasses may raise anything
            # Stops the timer again: if it fired in `finally`, the call there did not stop it.
            signal.setitimer(signal.ITIMER_REAL, 0)
            return None

    def end(self, _signal: int, _frame: Any) -> None:
        self.ran_out = True
        raise _OutOfTime


# -- digests of single values ----------------------------------------------------------------------


class _Whole(fingerprints.Reader):
    """Reads a value like the base class, but also reads attributes of functions, and samples
    nothing."""

    # Never decreases, so that nothing is sampled.
    room = property(lambda self: sys.maxsize, lambda self, _: None)

    def __init__(self, deadline: float) -> None:
        super().__init__(deadline)
        self.left = MAX_ITEMS

    def value(self, value: Any, depth: int) -> None:
        super().value(value, depth)
        if type(value) is types.FunctionType and vars(value):
            self.put(b"attributes")
            super().value(dict(vars(value)), depth + 1)


def _digest(value: Any, deadline: float, may_pickle: bool) -> str | None:
    """Returns a digest of 64 hexadecimal digits. Different values have different digests. Raises
    any exception if the value cannot be read."""
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(max(limit, 3000))
        reader = _Whole(deadline)
        reader.value(value, 0)
        return hashlib.sha256(b"read" + reader.hash.digest()).hexdigest()
    except _OutOfTime:
        raise
    except BaseException:
        pass  # an unknown type, or too deep
    finally:
        sys.setrecursionlimit(limit)
    return _pickled(value, deadline) if may_pickle else None


def _pickled(value: Any, deadline: float) -> str:
    into = hashlib.sha256(b"pickled")

    class Into:
        def write(self, data: Any) -> None:
            if time.process_time() > deadline:
                raise TimeoutError
            into.update(data)

    def keep(flat: Any, *_: Any) -> Any:
        into.update(memoryview(flat).cast("B"))
        return 0

    pickler = pickling.Fast(
        Into(), pickling.PROTOCOL, buffer_callback=lambda one: keep(one.raw()) and False
    )
    pickler.prepare(kernel_shell.shell.user_ns, keep).dump(value)
    return into.hexdigest()


# -- what is shared --------------------------------------------------------------------------------


class _Shared(pickling.Fast):
    """A pickler that writes nothing. It visits the objects of all variables, and records the
    objects that several variables reach."""

    def __init__(self, deadline: float) -> None:
        super().__init__(_Nowhere(), pickling.PROTOCOL, buffer_callback=lambda _: False)
        self.deadline = deadline
        self.namespace_id = id(kernel_shell.shell.user_ns)
        self.prepare(kernel_shell.shell.user_ns, lambda *_: 0)
        self.pinned = {id(one) for one in pickling.pinned(self.namespace)}
        self.owner = ""
        self.count = 0
        # For the address of each object: the first variable that reached the object, and the number
        # of the object in this variable. `alive` keeps the objects alive, so that addresses are
        # unique.
        self.first: dict[Any, tuple[str, int]] = {}
        self.alive: list[Any] = []
        # For each variable: the objects that it shares with earlier variables, as (first variable,
        # number of the object in that variable, number of the object in this variable).
        self.meetings: dict[str, list[tuple[str, int, int]]] = {}
        self.parents: dict[str, str] = {}
        self.tangled: list[str] = []

    def look(self, name: str, value: Any) -> bool:
        self.owner, self.count, self.meetings[name] = name, 0, []
        self.dump(value)
        return True

    def persistent_id(self, value: Any) -> Any:
        """Called each time the pickler reaches an object, even if it has pickled the object before.
        Returns None to let the pickler continue with the parts of the object."""
        kind = type(value)
        if kind in _ATOMS or id(value) in self.pinned:
            return None
        if kind is tuple or kind is frozenset:
            # The pickler enters the object only once, so recording the object itself also covers
            # its items. An object without mutable items need not be recorded.
            if not self.is_constant(value):
                self.note(value)
            return None
        if self.is_fixed(kind, value):
            return 0
        numpy = sys.modules.get("numpy")
        if numpy is not None and kind is numpy.void and value.base is not None:
            # A record of an array: a view of its memory.
            self.note(_memory(value, numpy))
            return 0
        if numpy is not None and issubclass(kind, numpy.ndarray):
            self.note(_memory(value, numpy))
            return None if value.dtype.hasobject else 0
        if module_of(kind) == "torch" and hasattr(value, "untyped_storage"):
            self.meet(("torch", value.untyped_storage().data_ptr()))
            return 0
        self.note(value)
        return None

    def is_constant(self, value: Any, depth: int = 0) -> bool:
        """Whether a tuple or frozenset contains no mutable object. Returns False if it is nested
        too deeply to know."""
        for one in value:
            kind = type(one)
            if kind is tuple or kind is frozenset:
                if depth == MAX_DEPTH or not self.is_constant(one, depth + 1):
                    return False
            elif kind not in _ATOMS and not self.is_fixed(kind, one):
                return False
        return True

    def is_fixed(self, kind: Any, value: Any) -> bool:
        """Whether sharing an object has no effect, so that the object and its parts need no
        visit."""
        if kind is types.FunctionType:
            return value.__globals__ is not self.namespace and is_importable(value)
        if issubclass(kind, type):
            return module_of(value) != "__main__"
        if kind is types.ModuleType:
            return sys.modules.get(value.__name__) is value
        module = module_of(kind)
        if (module, name_of(kind)) in _ATOMS_BY_NAME:
            return True
        numpy = sys.modules.get("numpy")
        if numpy is not None and issubclass(kind, (numpy.generic, numpy.dtype)):
            return kind is not numpy.void
        pandas = sys.modules.get("pandas")
        if pandas is not None and module.startswith("pandas."):
            immutable = (pandas.Index, pandas.api.extensions.ExtensionDtype)
            scalars = ("Timestamp", "Timedelta", "Period", "NAType", "NaTType")
            return issubclass(kind, immutable) or name_of(kind) in scalars
        return False

    def note(self, value: Any) -> None:
        self.meet(id(value))
        self.alive.append(value)

    def meet(self, key: Any) -> None:
        self.count += 1
        if not self.count % 4096 and time.process_time() > self.deadline:
            raise TimeoutError
        owner, number = self.first.setdefault(key, (self.owner, self.count))
        if (owner, number) != (self.owner, self.count):
            self.meetings[self.owner].append((owner, number, self.count))
            self.join(owner, self.owner)

    def reducer_override(self, value: Any) -> Any:
        try:
            return super().reducer_override(value)
        except Exception:
            # The value cannot be pickled, so its references are followed instead.
            if not self.below(value):
                raise
            return dict, ()

    def below(self, value: Any) -> bool:
        """Records the objects that a value reaches by references, without calling code of the
        value. Returns False if there are too many objects."""
        waiting: list[Any] = [value]
        seen: dict[int, Any] = {}
        while waiting:
            one = waiting.pop()
            kind = type(one)
            if (
                kind in _ATOMS
                or id(one) in self.pinned
                or id(one) in seen
                or self.is_fixed(kind, one)
            ):
                continue
            if len(seen) >= MAX_OBJECTS:
                return False
            seen[id(one)] = one
            if kind is not tuple and kind is not types.FrameType:
                self.note(one)
            home = getattr(one, "__globals__", None) if kind is types.FunctionType else None
            waiting += [part for part in gc.get_referents(one) if part is not home]
        return True

    def find(self, name: str) -> str:
        while (parent := self.parents.get(name, name)) != name:
            name = parent
        return name

    def join(self, one: Any, other: Any) -> None:
        self.parents[self.find(one)] = self.find(other)

    def groups(self, names: Iterable[Any]) -> list[list[str]]:
        for name in self.tangled[1:]:
            self.join(self.tangled[0], name)
        together: dict[str, list[str]] = {}
        for name in names:
            together.setdefault(self.find(name), []).append(name)
        return list(together.values())

    def fingerprint(self, group: list[str], hashes: dict[str, str | None]) -> Any:
        """Returns a digest of the values of a group and of the objects that they share. Returns
        None if one of the values has no digest."""
        if any(hashes[name] is None or name in self.tangled for name in group):
            return None
        whole = [[name, hashes[name], self.meetings[name]] for name in group]
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


class _Nowhere:
    def write(self, data: Any) -> None:
        pass


def _memory(value: Any, numpy: Any) -> Any:
    """Returns the object that owns the memory of an array."""
    while True:
        below = value.base
        # `as_strided` and `sliding_window_view` make an object between a view and its base.
        if type(below).__name__ == "DummyArray":
            below = below.base
        if not isinstance(below, numpy.ndarray):
            break
        value = below
    while isinstance(below, memoryview):
        below = below.obj
    return value if below is None else below
