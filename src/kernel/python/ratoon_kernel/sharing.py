"""Computes digests of a state's variables, and finds which of them share objects. Runs in a
throw-away process.

Clients compare digests of two states to decide whether a cell has to run again, so equal digests
must mean equal values. A value that cannot be read has no digest; the server then uses a digest of
the state's id.
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
from . import pickling, variables
from . import shell as kernel_shell
from .classes import module_of, name_of
from .importable import is_importable
from .text import to_json

# How long reading all values may take, in seconds of processor time and of real time. Each value
# gets at most half of the remaining time. Values that are not reached have no digest.
MAX_SECONDS = 20
MAX_SECONDS_BY_CLOCK = 40
# Maximum number of objects that are searched behind a value that cannot be pickled.
MAX_OBJECTS = 20_000
# How deep nested tuples are searched for mutable objects.
MAX_DEPTH = 4
# More than for the page's fingerprints, because no user waits for this.
MAX_ITEMS = 20_000_000

# Immutable, so they never count as shared.
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
    null]}. Each variable is in exactly one group, with all variables that share a mutable object
    with it."""
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
    # A value that took too long to search is not pickled, because that would also take too long.
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
        }
    )


def _refuse_to_exit(*_: Any) -> None:
    raise SystemExit("it tried to end the process")


class _OutOfTime(BaseException):
    """Not an `Exception`, which the code being read may catch."""


class _Limit:
    """Reads values one by one, each within a time limit and whatever it raises."""

    def __init__(self) -> None:
        # Whether the last value failed because of its time limit.
        self.ran_out = False
        self.deadline = time.process_time() + MAX_SECONDS
        self.by_clock = time.monotonic() + MAX_SECONDS_BY_CLOCK
        signal.signal(signal.SIGALRM, self.end)

    def read(self, read: Any, *arguments: Any) -> Any:
        """The result of `read`; None if it fails or takes too long."""
        left = min(self.deadline - time.process_time(), self.by_clock - time.monotonic())
        self.ran_out = left <= 0
        if self.ran_out:
            return None
        try:
            try:
                # Repeated, because the code being read may catch the first exception.
                signal.setitimer(signal.ITIMER_REAL, left / 2, 1)
                return read(*arguments)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except BaseException:  # `__reduce__` and metaclasses may raise anything
            # If the timer fired in `finally`, it was not stopped there, and it repeats.
            signal.setitimer(signal.ITIMER_REAL, 0)
            return None

    def end(self, _signal: int, _frame: Any) -> None:
        self.ran_out = True
        raise _OutOfTime


# -- digests of single values ----------------------------------------------------------------------


class _Whole(fingerprints.Reader):
    """Reads a value as its fingerprint does, but completely, and with attributes of functions."""

    # Unlimited, so that nothing is sampled.
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
    """Returns 64 hexadecimal digits, equal only for equal values. Raises any exception if the value
    cannot be read."""
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
    """Traverses all variables as a pickler does, writes nothing, and records which objects several
    variables reach."""

    def __init__(self, deadline: float) -> None:
        super().__init__(_Nowhere(), pickling.PROTOCOL, buffer_callback=lambda _: False)
        self.deadline = deadline
        self.namespace_id = id(kernel_shell.shell.user_ns)
        self.prepare(kernel_shell.shell.user_ns, lambda *_: 0)
        self.pinned = {id(one) for one in pickling.pinned(self.namespace)}
        self.owner = ""
        self.count = 0
        # By address: (variable that reached the object first, its number there). The objects are
        # kept alive, so that no other object gets their address.
        self.first: dict[Any, tuple[str, int]] = {}
        self.alive: list[Any] = []
        # What a variable shares: [(the first variable, the object's number there, and here)].
        self.meetings: dict[str, list[tuple[str, int, int]]] = {}
        self.parents: dict[str, str] = {}
        self.tangled: list[str] = []

    def look(self, name: str, value: Any) -> bool:
        self.owner, self.count, self.meetings[name] = name, 0, []
        self.dump(value)
        return True

    def persistent_id(self, value: Any) -> Any:
        """Called for each object, also when it was pickled before. Returns None to let the pickler
        continue with the parts of the object."""
        kind = type(value)
        if kind in _ATOMS or id(value) in self.pinned:
            return None
        if kind is tuple or kind is frozenset:
            # The pickler does not enter the object a second time. Its items are shared together
            # with it.
            if not self.is_constant(value):
                self.note(value)
            return None
        if self.is_fixed(kind, value):
            return 0
        numpy = sys.modules.get("numpy")
        if numpy is not None and issubclass(kind, numpy.ndarray):
            self.note(_memory(value, numpy))
            return None if value.dtype.hasobject else 0
        if module_of(kind) == "torch" and hasattr(value, "untyped_storage"):
            self.meet(("torch", value.untyped_storage().data_ptr()))
            return 0
        self.note(value)
        return None

    def is_constant(self, value: Any, depth: int = 0) -> bool:
        """Whether nothing in a tuple or frozenset is mutable. False if it is too deep to tell."""
        for one in value:
            kind = type(one)
            if kind is tuple or kind is frozenset:
                if depth == MAX_DEPTH or not self.is_constant(one, depth + 1):
                    return False
            elif kind not in _ATOMS and not self.is_fixed(kind, one):
                return False
        return True

    def is_fixed(self, kind: Any, value: Any) -> bool:
        """Whether an object may be shared without harm and needs no search."""
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
            return True
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
            # It cannot be pickled, so its references are followed instead.
            if not self.below(value):
                raise
            return dict, ()

    def below(self, value: Any) -> bool:
        """Records the objects that a value reaches, without calling its code. Returns False if
        there are too many."""
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
        """A digest of the values of a group and of what they share. None if one of them has no
        digest."""
        if any(hashes[name] is None or name in self.tangled for name in group):
            return None
        whole = [[name, hashes[name], self.meetings[name]] for name in group]
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


class _Nowhere:
    def write(self, data: Any) -> None:
        pass


def _memory(value: Any, numpy: Any) -> Any:
    """The object that owns an array's memory."""
    while isinstance(value.base, numpy.ndarray):
        value = value.base
    below = value.base
    while isinstance(below, memoryview):
        below = below.obj
    return value if below is None else below
