"""Finds what the own pickling of libraries changes.

Many classes define how they are pickled (`__reduce__`, `__getstate__` and others). Some of them
leave out what a notebook needs, for example attributes that a cell has set, or that two variables
refer to one object, and no error says so. So after the records of a checkpoint have been written, a
fork of the saving process loads them, and compares the objects of such classes with what came back.
Objects of the standard library and of cells are not compared, nor what an adapter vouches for.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import time
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .classes import name_of
from .text import listed, text_of, to_json
from .unpickling import LOST, Records

# Maximum size of records and buffers that are loaded and compared, in bytes.
MAX_BYTES = 50 << 20
# Time limit of loading and comparing, in seconds.
MAX_SECONDS = 5
# How many objects are compared.
MAX_OBJECTS = 20_000
# How many items of a list or a dict are compared.
MAX_ITEMS = 1_000
# How many objects are looked through for those that variables refer to.
MAX_REACHED = 500_000

# Values without an identity that a notebook could rely on.
_ATOMS = (str, bytes, int, float, complex, bool, type(None), type(...), type(NotImplemented))
# Not floats: many are the time at which an object was made.
_COMPARED = (str, bytes, int, bool, type(None))
_WITHOUT_IDENTITY = (*_ATOMS, tuple, frozenset, type, types.FunctionType, types.BuiltinFunctionType)

# The name of a variable, and what loading changes in it.
Changes = dict[str, str]


class RoundTrip:
    """Collects the records of a checkpoint, loads them in a fork, and compares. Collects at most
    `max_bytes` of records and buffers: if there are more, nothing is compared."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        # The record that is being written, and its objects whose class has its own pickling.
        self.record = bytearray()
        self.noted: list[Any] = []
        # For each record: the variable (None if it is of something else), the bytes, and the index
        # of the first buffer out of band.
        self.records: list[tuple[str | None, bytearray, int]] = []
        # The buffers by their number. They are not copied.
        self.buffers: dict[int, memoryview] = {}
        # The bytes of records and buffers.
        self.count = 0
        # The noted objects of all records, each with the name of its record.
        self.found: list[tuple[str, Any]] = []

    # Called while a checkpoint is written

    def begin(self) -> RoundTrip:
        """Begins a record. What was written of one that has not ended is forgotten."""
        self.record, self.noted = bytearray(), []
        return self

    def write(self, data: Any) -> None:
        self.count += len(data)
        if self.count <= self.max_bytes:
            self.record += data

    def note(self, value: Any) -> None:
        """Called with each object whose class has its own pickling."""
        if len(self.found) + len(self.noted) < MAX_OBJECTS:
            self.noted.append(value)

    def end(self, name: str | None, first_buffer: int) -> None:
        """Ends the record of a variable, or of something else that is not compared."""
        self.records.append((name, self.record, first_buffer))
        if name is not None:
            self.found += ((name, value) for value in self.noted)

    def keep_buffer(self, number: int, memory: Any) -> None:
        if number not in self.buffers:
            whole = memoryview(memory).cast("B")
            self.count += len(whole)
            if self.count <= self.max_bytes:
                self.buffers[number] = whole

    # Called after it has been written

    def changes(self, pickler: Any, oob: list[int]) -> tuple[Changes, str | None]:
        """Returns the variables that loading changes, and why nothing could be compared (None if
        it was compared, or if there is nothing to compare)."""
        if not self.found:
            return {}, None
        if self.count > self.max_bytes:
            return {}, f"the state has more than {self.max_bytes >> 20} MiB"
        answer = _in_a_fork(lambda: self._changes(pickler.memo.copy(), oob))
        if answer is None:
            return {}, f"loading it took more than {MAX_SECONDS} s, or ended its process"
        changes: Changes = json.loads(answer)
        return changes, None

    def _changes(self, memo: Mapping[int, tuple[int, Any]], oob: list[int]) -> str:
        home: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
        records = Records(home, self._fill, lambda number: bytearray(self.buffers[oob[number]]))
        failed: Changes = {}
        roots = []
        for name, data, first_buffer in self.records:
            try:
                roots.append(records.load(data, first_buffer))
            except BaseException as error:
                if name is not None:
                    why = f"{type(error).__name__}: {text_of(error)}"
                    failed[name] = f"it cannot be loaded again ({why})"
        comparison = _Comparison(memo, records.unpickler.memo.copy(), roots)
        changes: dict[str, list[str]] = {}
        for name, value in self.found:
            if name not in failed:
                told = changes.setdefault(name, [])
                told += (one for one in comparison.differences(value) if one not in told)
        told_of = {name: listed(told) for name, told in changes.items() if told}
        return to_json({**failed, **told_of})

    def _fill(self, number: int, memory: Any) -> None:
        memoryview(memory).cast("B")[:] = self.buffers[number]


class _Comparison:
    """Compares objects with what came back of them."""

    def __init__(
        self, memo: Mapping[int, tuple[int, Any]], loaded: Mapping[int, Any], roots: list[Any]
    ) -> None:
        self.memo = memo
        self.loaded = loaded
        self.roots = roots
        self.reached: set[int] | None = None

    def differences(self, value: Any) -> Iterator[str]:
        came = self._came_of(value, LOST)
        if came is LOST or came is value:
            return
        kind = type(value)
        if type(came) is not self._came_of(kind, kind):
            yield f"a {name_of(kind)} belongs to another class {name_of(type(came))}"
            return
        before, after = _attributes(value), _attributes(came)
        for name, one in before.items():
            is_public = not name.startswith("_")
            if name not in after:
                if is_public and not hasattr(came, name):
                    yield f"a {name_of(kind)} lost .{name}"
            elif is_public and type(one) in _COMPARED and not _is_same(one, after[name]):
                yield f"a {name_of(kind)} has another .{name}"
            elif any(self._is_separate(*pair) for pair in _pairs(one, after[name])):
                yield f"a {name_of(kind)} no longer shares .{name} with other objects"

    def _came_of(self, value: Any, default: Any) -> Any:
        known = self.memo.get(id(value))
        return default if known is None else self.loaded.get(known[0], default)

    def _is_separate(self, before: Any, after: Any) -> bool:
        """Whether an object that variables also reach by another path was loaded as two objects."""
        if type(before) in _WITHOUT_IDENTITY:
            return False
        came = self._came_of(before, LOST)
        return came is not LOST and came is not after and self._is_reached(came)

    def _is_reached(self, value: Any) -> bool:
        if self.reached is None:
            self.reached = _reached(self.roots)
        return id(value) in self.reached


def _attributes(value: Any) -> dict[str, Any]:
    found = dict(getattr(value, "__dict__", {}))
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                try:
                    found.setdefault(name, getattr(value, name))
                except Exception:  # not set, or a private name
                    continue
    return {name: one for name, one in found.items() if type(name) is str}


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _pairs(before: Any, after: Any) -> Iterator[tuple[Any, Any]]:
    """Yields an object and its loaded counterpart, and those of the items of a list or a dict."""
    yield before, after
    if type(before) is not type(after):
        return
    if type(before) in (list, tuple):
        yield from zip(before[:MAX_ITEMS], after[:MAX_ITEMS])
    elif type(before) is dict:
        for key in list(before)[:MAX_ITEMS]:
            if type(key) in _ATOMS and key in after:
                yield before[key], after[key]


def _reached(roots: Iterable[Any]) -> set[int]:
    """Returns the ids of the objects that others refer to, without those of modules."""
    left = list(roots)
    reached: set[int] = set()
    while left and len(reached) < MAX_REACHED:
        one = left.pop()
        if id(one) in reached or isinstance(one, (types.ModuleType, type, types.FunctionType)):
            continue
        reached.add(id(one))
        if gc.is_tracked(one):
            left += gc.get_referents(one)
    return reached


# -- a fork ----------------------------------------------------------------------------------------


def _in_a_fork(work: Any) -> bytes | None:
    """Returns what `work` returns in a fork of this process, or None if it takes too long or ends
    its process."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        try:
            # Ends the child if this process ends before it.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS + 1)
            gc.disable()
            _write(writer, work().encode())
        finally:
            # No code runs at its exit, neither Python's nor that of libraries.
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(writer)
    try:
        return _read(reader, time.monotonic() + MAX_SECONDS)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _write(descriptor: int, data: bytes) -> None:
    # The last byte says that all has been written.
    left = memoryview(data + b"\n")
    while left:
        left = left[os.write(descriptor, left) :]


def _read(descriptor: int, deadline: float) -> bytes | None:
    data = b""
    while select.select([descriptor], [], [], max(0, deadline - time.monotonic()))[0]:
        part = os.read(descriptor, 1 << 16)
        data += part
        if not part:
            return data[:-1] if data.endswith(b"\n") else None
    return None
