"""Reads the records of the environment form (pickling.py) one by one. All records share one
memo."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import rebuilding
from .persistent_ids import PersistentObjects
from .pickling import pinned

# The bytes of a record.
Record = bytes | bytearray | memoryview


class Records:
    """Reads records that one pickler has written, in the same order.

    `fill(number, memory)` fills memory with a buffer of the checkpoint. `buffer(number)` loads a
    buffer that was pickled out of band, and returns its memory.
    """

    def __init__(
        self, namespace: dict[str, Any], fill: rebuilding.Fill, buffer: Callable[[int], Any]
    ) -> None:
        rebuilding.loading.fill, rebuilding.loading.namespace = fill, namespace
        self.buffer = buffer
        self.next_buffer = 0
        self.objects = PersistentObjects()
        # The numbers (in the memo) of the objects that could not be loaded.
        self.lost: set[int] = set()
        self.known = len(pinned(namespace))
        # Loaded records whose objects are not included in `known` yet. Counting them takes time, so
        # they are counted only after an error.
        self.uncounted: list[Record] = []
        self._begin(pinned(namespace))

    def load(self, record: Record, first_buffer: int) -> Any:
        """Returns the object of a record. Raises an error if the record refers to an object of an
        earlier record that could not be loaded."""
        if self.lost and self.lost & _referred(record):
            self._lose(record)
            raise ValueError(
                "it shares an object with another variable, and that object could not be loaded"
            )
        self.source.turn_to(record)
        self.next_buffer = first_buffer
        try:
            value = self.unpickler.load()
        except BaseException:
            self._lose(record)
            raise
        self.uncounted.append(record)
        return value

    def end(self) -> None:
        """Deletes the unpickler and its source, whose references form a cycle. The objects of the
        cycle are exempt from garbage collection, and refer to all loaded variables, so a variable
        that is deleted later would stay in memory.
        """
        del self.unpickler, self.source

    def _begin(self, objects: Sequence[Any]) -> None:
        self.source = _Source()
        self.unpickler = _Unpickler(self.source, self._buffers(), objects, self.objects)
        # Setting the memo of the C unpickler has no effect. Loading objects with MEMOIZE fills it.
        for number in range(len(objects)):
            self.source.turn_to(b"\x80\x05J" + number.to_bytes(4, "little") + b"Q\x94.")
            self.unpickler.load()

    def _buffers(self) -> Iterator[Any]:
        while True:
            self.next_buffer += 1
            yield self.buffer(self.next_buffer - 1)

    def _lose(self, record: Record) -> None:
        """Replaces the unpickler after a record has failed. The memo of the new unpickler is
        numbered as if the record had been loaded."""
        memo: dict[int, Any] = self.unpickler.memo.copy()
        self.known += sum(_count(one) for one in self.uncounted)
        self.uncounted.clear()
        objects = [memo.get(number) for number in range(self.known)]
        made = _words_and_names(record, objects)
        self.lost.update(len(objects) + at for at, one in enumerate(made) if one is LOST)
        objects += made
        self.known = len(objects)
        self._begin(objects)


class _Unpickler(pickle.Unpickler):
    """`first`: the objects with which the memo begins. Their ids are the numbers from 0 on."""

    def __init__(
        self,
        source: _Source,
        buffers: Iterator[Any],
        first: Sequence[Any],
        others: PersistentObjects,
    ) -> None:
        super().__init__(source, buffers=buffers)
        self.first, self.others = first, others

    def persistent_load(self, number: Any) -> Any:
        if type(number) is int and number >= 0:
            return self.first[number]
        return self.others.load(number)


class _Source:
    """A file object that contains one record at a time."""

    def turn_to(self, record: Record) -> None:
        self.left = io.BytesIO(record)

    def read(self, count: int = -1) -> bytes:
        return self.left.read(count)

    def readinto(self, into: Any) -> int:
        return self.left.readinto(into)

    def readline(self) -> bytes:
        return self.left.readline()


LOST = object()


def _opcodes(record: Record) -> Iterator[tuple[Any, Any, int | None]]:
    import pickletools

    return pickletools.genops(bytes(record))


def _count(record: Record) -> int:
    return sum(op.name == "MEMOIZE" for op, _, _ in _opcodes(record))


def _referred(record: Record) -> set[int]:
    gets = ("BINGET", "LONG_BINGET")
    return {argument for op, argument, _ in _opcodes(record) if op.name in gets}


def _words_and_names(record: Record, objects: Sequence[Any]) -> list[Any]:
    """Returns the memo objects of a failed record: its texts and importable objects, because other
    records use them too, and `LOST` for each other object.
    """
    made: list[Any] = []
    last = [LOST, LOST]
    for op, argument, _ in _opcodes(record):
        if op.name == "MEMOIZE":
            made.append(last[-1])
            continue
        if "UNICODE" in op.name:
            one = argument
        elif op.name in ("BINGET", "LONG_BINGET"):
            is_older = argument < len(objects)
            one = objects[argument] if is_older else made[argument - len(objects)]
        elif op.name == "STACK_GLOBAL":
            one = _import_name(*last)
        elif op.name in ("FRAME", "PROTO"):
            continue
        else:
            one = LOST
        last = [last[-1], one]
    return made


def _import_name(module: Any, name: Any) -> Any:
    if type(module) is not str or type(name) is not str:
        return LOST
    try:
        found: Any = rebuilding.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found
    except BaseException:
        return LOST
