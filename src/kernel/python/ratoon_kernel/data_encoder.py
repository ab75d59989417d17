"""Writes values in the data form (data_form.py)."""

from __future__ import annotations

import collections
import datetime
import decimal
import pathlib
import struct
import sys
import uuid
from collections.abc import Callable, Collection, Sequence
from typing import Any

from . import data_form as form
from . import packing
from .adapter import registry
from .data_form import NotPlain

# The first bytes of lists and of maps in MessagePack, each as (for fewer than 16 items, for more).
_LIST, _MAP = (0x90, 0xDC), (0x80, 0xDE)
_PLACEHOLDER_MARK = bytes((0x81, 0xD4, form.MARK, form.PLACEHOLDER))
_WITH_SHAPE = ("numpy", "pandas", "polars", "torch", "scipy")


class Encoded:
    """The bytes of a value. `is_placeholder`: the value is not plain, and the bytes describe it."""

    def __init__(self, text: bytearray) -> None:
        self.text = text
        self.is_placeholder = text[:4] == _PLACEHOLDER_MARK


class Encoder:
    """Writes values. `keep(memory)` stores bytes as a buffer and returns the buffer's number."""

    def __init__(self, keep: Callable[[Any], int]) -> None:
        self.keep = keep

    def encode(self, value: Any) -> Encoded:
        self.out = bytearray()
        # The number of each container, by the container's id.
        self.numbers: dict[int, int] = {}
        # The ids of the immutable containers that are being written.
        self.open: set[int] = set()
        # Keeps the containers alive, so that no other object gets their id.
        self.alive: list[Any] = []
        self.left = form.MAX_COUNT
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 5000))
        try:
            self.value(value, 0)
        finally:
            sys.setrecursionlimit(limit)
        out, self.out = self.out, bytearray()
        return Encoded(out)

    def value(self, value: Any, depth: int) -> None:
        """Writes any value, or a placeholder if the value is not plain."""
        self.left -= 1
        if self.left < 0:
            raise NotPlain("it has too many parts")
        kind = type(value)
        write = _writers.get(kind)
        if write is not None:
            write(self, value, depth)
            return
        begin, numbers = len(self.out), len(self.numbers)
        try:
            if self._of_library(kind, value, depth):
                return
        except Exception:  # not plain, or from an unexpected version of a library
            pass
        del self.out[begin:]
        for key in [key for key, number in self.numbers.items() if number >= numbers]:
            del self.numbers[key]
        self._placeholder(kind, value)

    def _of_library(self, kind: type, value: Any, depth: int) -> bool:
        if kind.__module__ == "zoneinfo" and isinstance(value.key, str):
            self.mark(form.TIMEZONE)
            self.plain(value.key)
            return True
        adapter = registry.of_class(kind)
        return adapter is not None and adapter.encode(self, value, depth)

    def _placeholder(self, kind: type, value: Any) -> None:
        size = None
        if kind.__module__.split(".")[0] in _WITH_SHAPE:
            shape = getattr(value, "shape", None)
            size = "×".join(map(str, shape)) if isinstance(shape, tuple) else None
        self.mark(form.PLACEHOLDER)
        name = f"{kind.__module__}.{kind.__qualname__}"[:200]
        self.plain([name.encode(errors="replace").decode(), size])

    # For adapters

    def mark(self, number: int) -> None:
        """Begins a value of a type that MessagePack does not have. `number` is the type's
        number."""
        self.out += bytes((0x81, 0xD4, form.MARK, number))

    def list_of(self, count: int) -> None:
        """Begins a list of `count` items, which the caller then writes. The list gets no number, so
        no other value can refer to it."""
        self._head(_LIST, count)

    def plain(self, value: Any) -> None:
        """Writes a value that the caller has made for this call. Lists in it get no number, because
        they are not shared."""
        if type(value) is list:
            self.list_of(len(value))
            for item in value:
                self.plain(item)
        else:
            _writers[type(value)](self, value, 0)

    def begins(self, value: Any) -> bool:
        """Returns True if the caller must write a container. If the container was written before,
        writes a reference to it and returns False."""
        number = self.numbers.get(id(value))
        if number is None:
            self.numbers[id(value)] = len(self.numbers)
            self.alive.append(value)
            return True
        if id(value) in self.open:
            raise NotPlain("it contains itself")
        self.mark(form.SAME)
        self._int(number)
        return False

    # Containers

    def _head(self, first: tuple[int, int], count: int) -> None:
        short, long = first
        if count < 16:
            self.out.append(short | count)
        elif count < 1 << 16:
            self.out += struct.pack(">BH", long, count)
        else:
            self.out += struct.pack(">BI", long + 1, count)

    def _items(self, items: Sequence[Any], depth: int) -> None:
        if depth >= form.MAX_DEPTH:
            raise NotPlain("it is nested too deeply")
        packed = self._packed(items)
        if packed is not None:
            self._piece(packed)
            return
        self._check(len(items))
        self.list_of(len(items))
        for item in items:
            self.value(item, depth + 1)

    def _packed(self, items: Collection[Any]) -> packing.Packed | None:
        return packing.pack(items) if len(items) >= form.MIN_PACKED else None

    def _check(self, count: int) -> None:
        if count > self.left:
            raise NotPlain("it has too many parts")

    def _piece(self, packed: packing.Packed) -> None:
        letter, count, data = packed
        self.mark(form.PACKED)
        self.list_of(3)
        self.plain(letter)
        self.plain(count)
        self._bytes(data)

    def _list(self, value: list[Any], depth: int) -> None:
        if self.begins(value):
            self._items(value, depth)

    def _dict(self, value: dict[Any, Any], depth: int) -> None:
        if not self.begins(value):
            return
        if depth >= form.MAX_DEPTH:
            raise NotPlain("it is nested too deeply")
        keys, items = self._packed(value.keys()), self._packed(value.values())
        if keys is not None and items is not None:
            self.mark(form.DICT)
            self.list_of(2)
            self._piece(keys)
            self._piece(items)
            return
        self._check(2 * len(value))
        self._head(_MAP, len(value))
        for key, item in value.items():
            begin = len(self.out)
            self.value(key, depth + 1)
            if _PLACEHOLDER_MARK in self.out[begin : begin + 4096]:
                raise NotPlain("a key is not a plain value")
            self.value(item, depth + 1)

    def _tuple(self, value: tuple[Any, ...], depth: int) -> None:
        self._frozen(form.TUPLE, value, depth)

    def _frozenset(self, value: frozenset[Any], depth: int) -> None:
        self._frozen(form.FROZENSET, value, depth)

    def _frozen(self, number: int, value: Any, depth: int) -> None:
        if self.begins(value):
            self.open.add(id(value))
            self.mark(number)
            self._items(value, depth)
            self.open.discard(id(value))

    def _marked(self, number: int, value: Any, parts: Sequence[Any], depth: int) -> None:
        if self.begins(value):
            self.mark(number)
            self._items(parts, depth)

    def _set(self, value: set[Any], depth: int) -> None:
        self._marked(form.SET, value, list(value), depth)

    def _deque(self, value: collections.deque[Any], depth: int) -> None:
        self._marked(form.DEQUE, value, [value.maxlen, *value], depth)

    def _ordered(self, value: Any, depth: int) -> None:
        self._marked(form.ORDERED, value, _flat(value), depth)

    def _counter(self, value: Any, depth: int) -> None:
        self._marked(form.COUNTER, value, _flat(value), depth)

    def _defaults(self, value: Any, depth: int) -> None:
        factory = value.default_factory
        name: Any = getattr(factory, "__name__", None)
        if factory is not None and form.FACTORIES.get(name) is not factory:
            self._placeholder(type(value), value)
        else:
            self._marked(form.DEFAULTS, value, [name, *_flat(value)], depth)

    # Scalars

    def _none(self, value: None, depth: int = 0) -> None:
        self.out.append(0xC0)

    def _bool(self, value: bool, depth: int = 0) -> None:
        self.out.append(0xC3 if value else 0xC2)

    def _int(self, value: int, depth: int = 0) -> None:
        if 0 <= value < 128:
            self.out.append(value)
        elif -32 <= value < 0:
            self.out.append(value & 0xFF)
        elif -(2**63) <= value < 2**63:
            self.out += struct.pack(">Bq", 0xD3, value)
        elif 0 <= value < 2**64:
            self.out += struct.pack(">BQ", 0xCF, value)
        else:
            self.mark(form.BIG_INT)
            self._bytes(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))

    def _float(self, value: float, depth: int = 0) -> None:
        self.out += struct.pack(">Bd", 0xCB, value)

    def _text(self, value: str, depth: int = 0) -> None:
        try:
            data = value.encode()
        except UnicodeEncodeError:
            self.mark(form.SURROGATES)
            self._bytes(value.encode("utf-8", "surrogatepass"))
            return
        if len(data) < 32:
            self.out.append(0xA0 | len(data))
        else:
            self.out += struct.pack(">BI", 0xDB, len(data))
        self.out += data

    def _bytes(self, value: bytes, depth: int = 0) -> None:
        if len(value) >= form.LARGE_BYTES:
            self.mark(form.BYTES_KEPT)
            self.plain([len(value), self.keep(value)])
        else:
            self.out += struct.pack(">BI", 0xC6, len(value))
            self.out += value

    def _bytearray(self, value: bytearray, depth: int) -> None:
        if self.begins(value):
            self.mark(form.BYTEARRAY)
            self._bytes(bytes(value))

    def _complex(self, value: complex, depth: int) -> None:
        self.mark(form.COMPLEX)
        self.plain([value.real, value.imag])

    def _datetime(self, value: datetime.datetime, depth: int) -> None:
        date = [value.year, value.month, value.day]
        time = [value.hour, value.minute, value.second, value.microsecond, value.fold]
        self._zoned(form.DATETIME, value, [*date, *time])

    def _time(self, value: datetime.time, depth: int) -> None:
        time = [value.hour, value.minute, value.second, value.microsecond, value.fold]
        self._zoned(form.TIME, value, time)

    def _zoned(self, number: int, value: Any, at: list[Any]) -> None:
        try:
            zone = _zone(value.tzinfo)
        except NotPlain:
            self._placeholder(type(value), value)
        else:
            self.mark(number)
            self.plain([*at, zone])

    def _date(self, value: datetime.date, depth: int) -> None:
        self.mark(form.DATE)
        self.plain([value.year, value.month, value.day])

    def _timedelta(self, value: datetime.timedelta, depth: int) -> None:
        self.mark(form.TIMEDELTA)
        self.plain([value.days, value.seconds, value.microseconds])

    def _timezone(self, value: datetime.timezone, depth: int) -> None:
        self.mark(form.TIMEZONE)
        self.plain(_zone(value))

    def _decimal(self, value: decimal.Decimal, depth: int) -> None:
        self.mark(form.DECIMAL)
        self.plain(str(value))

    def _uuid(self, value: uuid.UUID, depth: int) -> None:
        self.mark(form.UUID)
        self.plain(value.bytes)

    def _path(self, value: pathlib.PurePath, depth: int) -> None:
        self.mark(form.PATH)
        self.plain([type(value).__name__, str(value)])

    def _range(self, value: range, depth: int) -> None:
        self.mark(form.RANGE)
        self.plain([value.start, value.stop, value.step])

    def _slice(self, value: Any, depth: int) -> None:
        self.mark(form.SLICE)
        parts = (value.start, value.stop, value.step)
        self._items(parts, depth)

    def _ellipsis(self, value: Any, depth: int) -> None:
        self.mark(form.ELLIPSIS)
        self.out.append(0xC0)


def _flat(pairs: Any) -> list[Any]:
    """Returns keys and values in one list, alternating."""
    return [part for pair in pairs.items() for part in pair]


def _zone(zone: datetime.tzinfo | None) -> int | str | None:
    """Returns the offset of a time zone in microseconds, or its name."""
    if zone is None:
        return None
    if type(zone) is datetime.timezone:
        return zone.utcoffset(None) // datetime.timedelta(microseconds=1)
    key = getattr(zone, "key", None)
    if type(zone).__module__ == "zoneinfo" and type(key) is str:
        return key
    raise NotPlain("a time zone of an unknown type")


_writers: dict[Any, Callable[..., None]] = {
    type(None): Encoder._none,
    bool: Encoder._bool,
    int: Encoder._int,
    float: Encoder._float,
    str: Encoder._text,
    bytes: Encoder._bytes,
    bytearray: Encoder._bytearray,
    list: Encoder._list,
    dict: Encoder._dict,
    tuple: Encoder._tuple,
    set: Encoder._set,
    frozenset: Encoder._frozenset,
    complex: Encoder._complex,
    datetime.datetime: Encoder._datetime,
    datetime.date: Encoder._date,
    datetime.time: Encoder._time,
    datetime.timedelta: Encoder._timedelta,
    datetime.timezone: Encoder._timezone,
    decimal.Decimal: Encoder._decimal,
    uuid.UUID: Encoder._uuid,
    range: Encoder._range,
    slice: Encoder._slice,
    type(...): Encoder._ellipsis,
    collections.deque: Encoder._deque,
    collections.OrderedDict: Encoder._ordered,
    collections.Counter: Encoder._counter,
    collections.defaultdict: Encoder._defaults,
    pathlib.PosixPath: Encoder._path,
    pathlib.PurePosixPath: Encoder._path,
    pathlib.PureWindowsPath: Encoder._path,
}
