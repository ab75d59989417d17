"""Reads values in the data form (data_form.py). The bytes may be untrusted. Reading them executes
no code that they contain."""

from __future__ import annotations

import collections
import datetime
import decimal
import importlib
import pathlib
import struct
import sys
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from . import data_form as form
from . import packing
from .adapter import registry
from .data_form import Malformed, Placeholder

_ZONE_KEYS = (type(None), str, int)
_PATHS = {
    one.__name__: one for one in (pathlib.PosixPath, pathlib.PurePosixPath, pathlib.PureWindowsPath)
}


_PACKED_MARK = bytes((0x81, 0xD4, form.MARK, form.PACKED))


class _NotYet:
    """Marks a container that is still being read."""


class Decoder:
    """Reads values.

    `fill(number, memory)` fills memory with a buffer of the checkpoint. `sizes` are the lengths of
    these buffers. `library(name)` imports a library.
    """

    def __init__(
        self,
        fill: Callable[[int, Any], None],
        sizes: list[int],
        library: Callable[[str], Any] = importlib.import_module,
    ) -> None:
        self.fill = fill
        self.sizes = sizes
        self.library = library

    def decode(self, data: bytes | bytearray | memoryview) -> Any:
        self.data = memoryview(data)
        self.at = 0
        # The containers that were read. The index of a container is its number.
        self.objects: list[Any] = []
        # The number of parts that may still be read. Limits the time that a hostile file can take.
        self.left = form.MAX_COUNT
        self.hashed = 0
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 5000))
        try:
            value = self.value(0)
        except (Malformed, MemoryError):
            raise
        except ModuleNotFoundError as error:
            raise Malformed(f"it needs {error.name}, which this Python does not have") from None
        except Exception as error:  # for example an invalid date, or a key that cannot be hashed
            what = f"its values are damaged: {type(error).__name__}: {error}"
            raise Malformed(what) from None
        finally:
            sys.setrecursionlimit(limit)
            # Frees a value that failed, because other values may need its memory. `clear` needs no
            # new memory, unlike a new list.
            self.objects.clear()
        if self.at != len(self.data):
            raise Malformed
        return value

    def value(self, depth: int) -> Any:
        """Reads any value."""
        head = self._take(1)[0]
        self.left -= 1
        if depth > 2 * form.MAX_DEPTH or self.left < 0:
            raise Malformed
        if head < 0x80:
            return head
        if head >= 0xE0:
            return head - 256
        if head == 0x81 and self.next_is(bytes((0xD4, form.MARK))):
            read = _readers.get(number := self._take(3)[2]) or registry.decoders.get(number)
            if read is None:
                raise Malformed("it holds a value of a kind that this version does not know")
            return read(self, depth)
        if 0xA0 <= head < 0xC0:
            return str(self._take(head & 31), "utf-8")
        read_scalar = _scalars.get(head)
        return read_scalar(self) if read_scalar is not None else self._container(head, depth)

    def _container(self, head: int, depth: int) -> Any:
        counted = self._counted(head)
        if counted is None:
            raise Malformed
        kind, count = counted
        if kind is list:
            items: list[Any] = []
            self.objects.append(items)
            items.extend(self.value(depth + 1) for _ in range(count))
            return items
        made: dict[Any, Any] = {}
        self.objects.append(made)
        for _ in range(count):
            key = self._hashable(self.value(depth + 1))
            made[key] = self.value(depth + 1)
        return made

    def _take(self, count: int) -> memoryview:
        if count > len(self.data) - self.at:
            raise Malformed
        self.at += count
        return self.data[self.at - count : self.at]

    def _number(self, layout: str) -> Any:
        return struct.unpack(layout, self._take(struct.calcsize(layout)))[0]

    def _counted(self, head: int) -> tuple[type, int] | None:
        """Returns the type and the length of a list or a dictionary, or None if `head` begins
        neither. Each item takes at least one byte, so a greater length is an error."""
        if 0x80 <= head < 0xA0:
            kind, count = (dict if head < 0x90 else list), head & 15
        elif head in (0xDC, 0xDE):
            kind, count = (list if head == 0xDC else dict), self._number(">H")
        elif head in (0xDD, 0xDF):
            kind, count = (list if head == 0xDD else dict), self._number(">I")
        else:
            return None
        if count > len(self.data) - self.at:
            raise Malformed
        return kind, count

    def _hashable(self, key: Any) -> Any:
        """Returns a value that will be hashed, after checking that hashing it is fast. Python
        hashes shared items of tuples repeatedly, so hashing 60 nested pairs, each of the same tuple
        twice, would never end.
        """
        parts = [key]
        while parts:
            part = parts.pop()
            if type(part) is tuple:
                inside = part
            elif type(part) is slice:
                inside = (part.start, part.stop, part.step)
            else:
                continue
            parts += inside
            self.hashed += len(inside)
            if self.hashed > form.MAX_HASHED:
                raise Malformed("its keys have too many items")
        return key

    def _all_hashable(self, parts: list[Any]) -> list[Any]:
        return list(map(self._hashable, parts))

    # For adapters

    def next_is(self, data: bytes) -> bool:
        """Whether the next bytes are equal to `data`."""
        return bytes(self.data[self.at : self.at + len(data)]) == data

    def count(self) -> int:
        """Reads the beginning of a list that has no number, and returns the list's length."""
        counted = self._counted(self._take(1)[0])
        if counted is None or counted[0] is not list:
            raise Malformed
        return counted[1]

    def of(self, kind: type | tuple[type, ...]) -> Any:
        """Reads a value of this type. A bool does not count as an int."""
        value = self.value(form.MAX_DEPTH)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise Malformed
        return value

    def own(self, *kinds: type | tuple[type, ...]) -> list[Any]:
        """Reads a list that has no number and one item of each of these types."""
        if self.count() != len(kinds):
            raise Malformed
        return [self.of(kind) for kind in kinds]

    def list_of(self, kind: type) -> list[Any]:
        """Reads a list that has no number and any count of items of one type."""
        return [self.of(kind) for _ in range(self.count())]

    def reserve(self) -> int:
        """Reserves the next number for a container, and returns the number. Values can refer to the
        container only after it has been read completely."""
        self.objects.append(_NotYet)
        return len(self.objects) - 1

    def check_kept(self, count: int, number: int) -> None:
        """Raises Malformed unless the buffer `number` exists and has `count` bytes. Must be called
        before memory is allocated for the buffer."""
        if not 0 <= number < len(self.sizes) or self.sizes[number] != count:
            raise Malformed

    # The marked types

    def _parts(self, depth: int) -> list[Any]:
        if self.next_is(_PACKED_MARK):
            self._take(len(_PACKED_MARK))
            return self._piece()
        return [self.value(depth + 1) for _ in range(self.count())]

    def _pairs(self, parts: list[Any]) -> Iterable[tuple[Any, Any]]:
        if len(parts) % 2:
            raise Malformed
        return zip(self._all_hashable(parts[::2]), parts[1::2])

    def _big_int(self, depth: int) -> int:
        return int.from_bytes(self.of(bytes), "little", signed=True)

    def _surrogates(self, depth: int) -> Any:
        return self.of(bytes).decode("utf-8", "surrogatepass")

    def _bytearray(self, depth: int) -> bytearray:
        number = self.reserve()
        made = self.objects[number] = bytearray(self.of(bytes))
        return made

    def _tuple(self, depth: int) -> tuple[Any, ...]:
        number = self.reserve()
        made = self.objects[number] = tuple(self._parts(depth))
        return made

    def _frozenset(self, depth: int) -> frozenset[Any]:
        number = self.reserve()
        made = self.objects[number] = frozenset(self._all_hashable(self._parts(depth)))
        return made

    def _set(self, depth: int) -> set[Any]:
        made: set[Any] = set()
        self.objects.append(made)
        made.update(self._all_hashable(self._parts(depth)))
        return made

    def _deque(self, depth: int) -> collections.deque[Any]:
        number = self.reserve()
        maxlen, *parts = self._parts(depth)
        made = self.objects[number] = collections.deque(parts, maxlen)
        return made

    def _ordered(self, depth: int) -> collections.OrderedDict[Any, Any]:
        made: collections.OrderedDict[Any, Any] = collections.OrderedDict()
        self.objects.append(made)
        made.update(self._pairs(self._parts(depth)))
        return made

    def _counter(self, depth: int) -> collections.Counter[Any]:
        made: collections.Counter[Any] = collections.Counter()
        self.objects.append(made)
        for key, count in self._pairs(self._parts(depth)):
            made[key] = count
        return made

    def _defaults(self, depth: int) -> collections.defaultdict[Any, Any]:
        made: collections.defaultdict[Any, Any] = collections.defaultdict()
        self.objects.append(made)
        name, *parts = self._parts(depth)
        made.default_factory = None if name is None else form.FACTORIES[name]
        made.update(self._pairs(parts))
        return made

    def _complex(self, depth: int) -> complex:
        return complex(*self.own(float, float))

    def _datetime(self, depth: int) -> datetime.datetime:
        *at, fold, zone = self.own(*[int] * 8, _ZONE_KEYS)
        made = datetime.datetime(*at)
        return made.replace(tzinfo=_to_zone(zone), fold=fold)

    def _time(self, depth: int) -> datetime.time:
        *at, fold, zone = self.own(*[int] * 5, _ZONE_KEYS)
        return datetime.time(*at).replace(tzinfo=_to_zone(zone), fold=fold)

    def _date(self, depth: int) -> datetime.date:
        return datetime.date(*self.own(int, int, int))

    def _timedelta(self, depth: int) -> datetime.timedelta:
        return datetime.timedelta(*self.own(int, int, int))

    def _timezone(self, depth: int) -> datetime.tzinfo | None:
        return _to_zone(self.of((int, str)))

    def _decimal(self, depth: int) -> decimal.Decimal:
        return decimal.Decimal(self.of(str))

    def _uuid(self, depth: int) -> uuid.UUID:
        return uuid.UUID(bytes=self.of(bytes))

    def _path(self, depth: int) -> pathlib.PurePath:
        kind, text = self.own(str, str)
        return _PATHS[kind](text)

    def _range(self, depth: int) -> range:
        return range(*self.own(int, int, int))

    def _slice(self, depth: int) -> Any:
        parts = self._parts(depth)
        if len(parts) != 3:
            raise Malformed
        return slice(*parts)

    def _ellipsis(self, depth: int) -> Any:
        self.of(type(None))
        return ...

    def _same(self, depth: int) -> Any:
        number = self.of(int)
        if not 0 <= number < len(self.objects) or self.objects[number] is _NotYet:
            raise Malformed
        return self.objects[number]

    def _placeholder(self, depth: int) -> Placeholder:
        return Placeholder(*self.own(str, (str, type(None))))

    def _packed(self, depth: int) -> list[Any]:
        number = self.reserve()
        made = self.objects[number] = self._piece()
        return made

    def _piece(self) -> list[Any]:
        return packing.unpack(*self.own(str, int, bytes))

    def _dict(self, depth: int) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        self.objects.append(made)
        if self.count() != 2:
            raise Malformed
        keys, items = (self._parts(depth) for _ in range(2))
        if len(keys) != len(items):
            raise Malformed
        made.update(zip(self._all_hashable(keys), items))
        return made

    def _bytes_kept(self, depth: int) -> bytes:
        count, number = self.own(int, int)
        self.check_kept(count, number)
        memory = bytearray(count)
        self.fill(number, memory)
        return bytes(memory)


def _to_zone(zone: int | str | None) -> datetime.tzinfo | None:
    if zone is None:
        return None
    if type(zone) is int:
        offset = datetime.timedelta(microseconds=zone)
        return datetime.timezone(offset) if zone else datetime.UTC
    import zoneinfo

    return zoneinfo.ZoneInfo(str(zone))


# For the first byte of each value that is not a container: the function that reads the rest.
_scalars: dict[int, Callable[[Any], Any]] = {
    0xC0: lambda _: None,
    0xC2: lambda _: False,
    0xC3: lambda _: True,
    0xC6: lambda decoder: bytes(decoder._take(decoder._number(">I"))),
    0xCB: lambda decoder: decoder._number(">d"),
    0xCF: lambda decoder: decoder._number(">Q"),
    0xD3: lambda decoder: decoder._number(">q"),
    0xDB: lambda decoder: str(decoder._take(decoder._number(">I")), "utf-8"),
}

_readers: dict[int, Callable[[Any, int], Any]] = {
    form.BIG_INT: Decoder._big_int,
    form.SURROGATES: Decoder._surrogates,
    form.BYTEARRAY: Decoder._bytearray,
    form.TUPLE: Decoder._tuple,
    form.SET: Decoder._set,
    form.FROZENSET: Decoder._frozenset,
    form.COMPLEX: Decoder._complex,
    form.DATETIME: Decoder._datetime,
    form.DATE: Decoder._date,
    form.TIME: Decoder._time,
    form.TIMEDELTA: Decoder._timedelta,
    form.DECIMAL: Decoder._decimal,
    form.UUID: Decoder._uuid,
    form.PATH: Decoder._path,
    form.RANGE: Decoder._range,
    form.SLICE: Decoder._slice,
    form.SAME: Decoder._same,
    form.PLACEHOLDER: Decoder._placeholder,
    form.TIMEZONE: Decoder._timezone,
    form.DEQUE: Decoder._deque,
    form.DICT: Decoder._dict,
    form.ORDERED: Decoder._ordered,
    form.COUNTER: Decoder._counter,
    form.DEFAULTS: Decoder._defaults,
    form.PACKED: Decoder._packed,
    form.BYTES_KEPT: Decoder._bytes_kept,
    form.ELLIPSIS: Decoder._ellipsis,
}
