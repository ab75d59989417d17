"""Digests of a state's variables, and which of them share objects: answers of a process that is thrown away.

Clients compare digests of two states to tell whether a cell has to run again, so a digest errs on one side only: equal
digests mean equal values. A value that cannot be read has none, and the server makes one of the state's id in its place.
"""

import gc
import hashlib
import json
import os
import signal
import sys
import time
import types

from . import fingerprint as fingerprints
from . import variables
from . import pickling
from .importable import is_importable
from .classes import module_of, name_of
from .text import to_json

# How long the values of a state are read, in seconds of the processor, and by the clock; what is left has no digest. One value
# gets half of what is left, so that one which does not end leaves time for the others.
MAX_SECONDS = 20
MAX_SECONDS_BY_CLOCK = 40
# Behind a value that cannot be pickled, how many objects are searched for what it shares.
MAX_OBJECTS = 20_000
# How deep tuples in tuples are searched for what can be changed.
MAX_DEPTH = 4
# More items than the fingerprints that the page asks for: nobody waits at a keyboard.
MAX_ITEMS = 20_000_000

# Never counted as shared: nothing in them can be changed.
_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis), type(NotImplemented)})
_ATOMS_BY_NAME = frozenset({
    ("builtins", "slice"), ("datetime", "date"), ("datetime", "datetime"), ("datetime", "time"), ("datetime", "timedelta"),
    ("datetime", "timezone"), ("zoneinfo", "ZoneInfo"), ("decimal", "Decimal"), ("fractions", "Fraction"), ("uuid", "UUID"),
    ("re", "Pattern"), ("builtins", "code"), ("builtins", "builtin_function_or_method"), ("numpy", "ufunc"),
})  # fmt: skip


def digests():
    """Answers JSON: {"hashes": {name: hex or null}, "groups": [[name]], "fingerprints": [hex or null]}; every variable is in
    exactly one group, with all those that share an object with it that can be changed."""
    os._exit = _refuse_to_exit
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
    # What was not taken apart in its time would not be pickled in it either.
    hashes = {name: limit.read(_digest, value, limit.deadline, name not in endless) for name, value in found.items()}
    groups = shared.groups(found)
    return to_json({"hashes": hashes, "groups": groups, "fingerprints": [shared.fingerprint(group, hashes) for group in groups]})


def _refuse_to_exit(*_):
    raise SystemExit("it tried to end the process")


class _OutOfTime(BaseException):
    """No `Exception`: what is read may catch those."""


class _Limit:
    """Reads one value after the other, each within its time, whatever it raises."""

    def __init__(self):
        # Whether it was the time that the last value has failed for.
        self.ran_out = False
        self.deadline = time.process_time() + MAX_SECONDS
        self.by_clock = time.monotonic() + MAX_SECONDS_BY_CLOCK
        signal.signal(signal.SIGALRM, self.end)

    def read(self, read, *arguments):
        """What `read` answers; None when that fails or takes too long."""
        left = min(self.deadline - time.process_time(), self.by_clock - time.monotonic())
        self.ran_out = left <= 0
        if self.ran_out:
            return None
        try:
            try:
                # Again and again: what is read may catch it.
                signal.setitimer(signal.ITIMER_REAL, left / 2, 1)
                return read(*arguments)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except BaseException:  # `__reduce__` and metaclasses may raise anything
            # The time may have run out in the line above.
            signal.setitimer(signal.ITIMER_REAL, 0)
            return None

    def end(self, _signal, _frame):
        self.ran_out = True
        raise _OutOfTime


# -- digests of single values -----------------------------------------------------------------------------------------


class _Whole(fingerprints.Reader):
    """Reads a value as its fingerprint does, but all of it, and the attributes of functions."""

    # Nothing is sampled: whatever room is set, there is more.
    room = property(lambda self: sys.maxsize, lambda self, _: None)

    def __init__(self, deadline):
        super().__init__(deadline)
        self.left = MAX_ITEMS

    def value(self, value, depth):
        super().value(value, depth)
        if type(value) is types.FunctionType and vars(value):
            self.put(b"attributes")
            super().value(dict(vars(value)), depth + 1)


def _digest(value, deadline, may_pickle):
    """64 hexadecimal digits, equal only for equal values; raises anything when it cannot be read."""
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(max(limit, 3000))
        reader = _Whole(deadline)
        reader.value(value, 0)
        return hashlib.sha256(b"read" + reader.hash.digest()).hexdigest()
    except _OutOfTime:
        raise
    except BaseException:
        pass  # of a type that is not known, or too deep
    finally:
        sys.setrecursionlimit(limit)
    return _pickled(value, deadline) if may_pickle else None


def _pickled(value, deadline):
    into = hashlib.sha256(b"pickled")

    class Into:
        def write(self, data):
            if time.process_time() > deadline:
                raise TimeoutError
            into.update(data)

    def keep(flat, *_):
        into.update(memoryview(flat).cast("B"))
        return 0

    pickler = pickling.Fast(Into(), pickling.PROTOCOL, buffer_callback=lambda one: keep(one.raw()) and False)
    pickler.prepare(variables.own.shell.user_ns, keep).dump(value)
    return into.hexdigest()


# -- what is shared ---------------------------------------------------------------------------------------------------


class _Shared(pickling.Fast):
    """Goes through all variables as a pickler would, writes nothing, and notes which objects are met from several."""

    def __init__(self, deadline):
        super().__init__(_Nowhere(), pickling.PROTOCOL, buffer_callback=lambda _: False)
        self.deadline = deadline
        self.namespace_id = id(variables.own.shell.user_ns)
        self.prepare(variables.own.shell.user_ns, lambda *_: 0)
        self.pinned = {id(one) for one in pickling.pinned(self.namespace)}
        self.owner, self.count = None, 0
        # Where each object was met first, by its address: (owner, number among what the owner has). They are held, so that no
        # other object gets their address.
        self.first, self.alive = {}, []
        # What an owner shares: [(owner of the first, its number, own number)].
        self.meetings, self.parents = {}, {}
        self.tangled = []

    def look(self, name, value):
        self.owner, self.count, self.meetings[name] = name, 0, []
        self.dump(value)
        return True

    def persistent_id(self, value):
        """Asked of each object before it is pickled, also when it was pickled before: None lets it be taken apart."""
        kind = type(value)
        if kind in _ATOMS or id(value) in self.pinned:
            return None
        if kind is tuple or kind is frozenset:
            # Met again it is not taken apart again: what is in it is shared with it.
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

    def is_constant(self, value, depth=0):
        """Whether nothing in a tuple or frozenset can be changed; no where that is too deep to tell."""
        for one in value:
            kind = type(one)
            if kind is tuple or kind is frozenset:
                if depth == MAX_DEPTH or not self.is_constant(one, depth + 1):
                    return False
            elif kind not in _ATOMS and not self.is_fixed(kind, one):
                return False
        return True

    def is_fixed(self, kind, value):
        """Whether it can be shared without harm, and nothing in it has to be looked at."""
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
            return issubclass(kind, (pandas.Index, pandas.api.extensions.ExtensionDtype)) or name_of(kind) in (
                "Timestamp", "Timedelta", "Period", "NAType", "NaTType",
            )  # fmt: skip
        return False

    def note(self, value):
        self.meet(id(value))
        self.alive.append(value)

    def meet(self, key):
        self.count += 1
        if not self.count % 4096 and time.process_time() > self.deadline:
            raise TimeoutError
        owner, number = self.first.setdefault(key, (self.owner, self.count))
        if (owner, number) != (self.owner, self.count):
            self.meetings[self.owner].append((owner, number, self.count))
            self.join(owner, self.owner)

    def reducer_override(self, value):
        try:
            return super().reducer_override(value)
        except Exception:
            # It cannot be pickled: what it holds is searched in another way.
            if not self.below(value):
                raise
            return dict, ()

    def below(self, value):
        """Notes what can be reached from a value, without asking it; false when that is too much."""
        waiting, seen = [value], {}
        while waiting:
            one = waiting.pop()
            kind = type(one)
            if kind in _ATOMS or id(one) in self.pinned or id(one) in seen or self.is_fixed(kind, one):
                continue
            if len(seen) >= MAX_OBJECTS:
                return False
            seen[id(one)] = one
            if kind is not tuple and kind is not types.FrameType:
                self.note(one)
            home = getattr(one, "__globals__", None) if kind is types.FunctionType else None
            waiting += [part for part in gc.get_referents(one) if part is not home]
        return True

    # Groups

    def find(self, name):
        while (parent := self.parents.get(name, name)) != name:
            name = parent
        return name

    def join(self, one, other):
        self.parents[self.find(one)] = self.find(other)

    def groups(self, names):
        for name in self.tangled[1:]:
            self.join(self.tangled[0], name)
        together = {}
        for name in names:
            together.setdefault(self.find(name), []).append(name)
        return list(together.values())

    def fingerprint(self, group, hashes):
        """Of the values of a group and of what they share; None when one of them has none."""
        if any(hashes[name] is None or name in self.tangled for name in group):
            return None
        whole = [[name, hashes[name], self.meetings[name]] for name in group]
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


class _Nowhere:
    def write(self, data):
        pass


def _memory(value, numpy):
    """The object whose memory an array shows."""
    while isinstance(value.base, numpy.ndarray):
        value = value.base
    below = value.base
    while isinstance(below, memoryview):
        below = below.obj
    return value if below is None else below
