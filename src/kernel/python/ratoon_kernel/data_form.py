"""The data form: plain values in typed MessagePack. Nothing is executed when it is read.

A value is MessagePack as anybody reads it: nil, booleans, integers, floats, text, bytes, arrays (lists) and maps
(dictionaries). What MessagePack has no type for is a map of one pair whose key is the extension type MARK with the number
of the type, and whose value is what it is made of. Containers are numbered in the order in which they begin, so that a
later one can say "that one": what is shared stays shared, and what holds itself can be written.
"""

import collections
import datetime
import decimal
import importlib
import math
import pathlib
import struct
import sys
import types
import uuid

MARK = 0x52
# Deeper is not plain any more, and a reader that recurses has to end.
MAX_DEPTH = 200
# Of one name: beyond it, writing would take longer than anybody wants to wait for a preview.
MAX_COUNT = 2_000_000
# Long lists of one kind of number or text are written as one piece.
MIN_PACKED = 32
# What is hashed for keys, all in all: some times as much, as tuples may be shared. It takes a second.
MAX_HASHED = 4 * MAX_COUNT
LARGE_BYTES = 256 * 1024
# Older ones run code that a table names (CVE-2023-47248).
MIN_ARROW = 15

(
    BIG_INT, SURROGATES, BYTEARRAY, TUPLE, SET, FROZENSET, COMPLEX, DATETIME, DATE, TIME, TIMEDELTA, DECIMAL, UUID, PATH,
    RANGE, SLICE, SAME, PLACEHOLDER, ARRAY, SCALAR, FRAME, SERIES, INDEX, TABLE, TIMEZONE, DEQUE, ORDERED, COUNTER,
    DEFAULTS, PACKED, BYTES_KEPT, ELLIPSIS,
) = range(32)  # fmt: skip

_ZONE_KEYS = (type(None), str, int)
_factories = {"list": list, "dict": dict, "set": set, "int": int, "float": float, "str": str}


class Placeholder:
    """Stands where a value was that is not plain. It does nothing."""

    __slots__ = ("type_name", "size")

    def __init__(self, type_name, size=None):
        self.type_name = type_name
        self.size = size

    def __repr__(self):
        size = f", {self.size}" if self.size else ""
        return f"<not a plain value: {self.type_name}{size}>"


class Encoded:
    """The bytes of a value, and whether nothing but a placeholder is in them."""

    def __init__(self, text, is_placeholder):
        self.text = text
        self.is_placeholder = is_placeholder


def is_left_out(name, value):
    """Functions, classes, modules and names with two underscores around them are no values."""
    if name.startswith("__") and name.endswith("__"):
        return True
    # Not isinstance, which asks the object itself.
    kind = type(value)
    return issubclass(
        kind, (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
    )


# -- writing ----------------------------------------------------------------------------------------------------------


class NotPlain(Exception):
    """A value that this form does not hold."""


class Encoder:
    """Writes values. `keep(memory)` keeps bytes as a buffer and answers its number."""

    def __init__(self, keep):
        self.keep = keep

    def encode(self, value):
        self.out = bytearray()
        self.numbers = {}
        self.open = set()
        self.alive = []
        self.left = MAX_COUNT
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 5000))
        try:
            self._value(value, 0)
        finally:
            sys.setrecursionlimit(limit)
        out, self.out = self.out, None
        return Encoded(out, out[:4] == bytes((0x81, 0xD4, MARK, PLACEHOLDER)))

    def _value(self, value, depth):
        self.left -= 1
        if self.left < 0:
            raise NotPlain("it has too many parts")
        kind = type(value)
        write = _writers.get(kind)
        if write is not None:
            return write(self, value, depth)
        begin, numbers = len(self.out), len(self.numbers)
        try:
            if self._of_library(kind, value, depth):
                return None
        except NotPlain:
            pass
        except Exception:  # a library that is not as expected
            pass
        del self.out[begin:]
        for key in [key for key, number in self.numbers.items() if number >= numbers]:
            del self.numbers[key]
        return self._placeholder(kind, value)

    def _placeholder(self, kind, value):
        size = None
        if kind.__module__.split(".")[0] in ("numpy", "pandas", "polars", "torch", "scipy"):
            shape = getattr(value, "shape", None)
            size = "×".join(map(str, shape)) if isinstance(shape, tuple) else None
        self._mark(PLACEHOLDER)
        self._plain([f"{kind.__module__}.{kind.__qualname__}"[:200].encode(errors="replace").decode(), size])

    def _of_library(self, kind, value, depth):
        top = kind.__module__.split(".")[0]
        numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
        if numpy is not None and kind in (numpy.ndarray, numpy.memmap):
            self._array(value, depth)
        elif numpy is not None and isinstance(value, numpy.generic) and top == "numpy":
            if value.dtype.hasobject:
                return False
            self._mark(SCALAR)
            self._value([_describe(numpy, value.dtype), numpy.asarray(value).tobytes()], depth)
        elif pandas is not None and kind in (pandas.DataFrame, pandas.Series):
            self._frame(pandas, value, depth)
        elif pandas is not None and isinstance(value, pandas.Index) and top == "pandas":
            self._index(pandas, value, depth)
        elif top == "pyarrow" and kind.__name__ == "Table":
            self._mark(TABLE)
            self._value(_arrow_bytes(value), depth)
        elif kind.__module__ == "zoneinfo" and isinstance(value.key, str):
            self._mark(TIMEZONE)
            self._plain(value.key)
        else:
            return False
        return True

    # Shared and recursive containers

    def _begins(self, value):
        """Whether a container is said for the first time. Else it is said by its number."""
        number = self.numbers.get(id(value))
        if number is None:
            self.numbers[id(value)] = len(self.numbers)
            # So that its address means nothing else.
            self.alive.append(value)
            return True
        if id(value) in self.open:
            raise NotPlain("it holds itself")
        self._mark(SAME)
        self._int(number)
        return False

    def _items(self, value, items, depth):
        if depth >= MAX_DEPTH:
            raise NotPlain("it is nested too deeply")
        self._head(0x90, 0xDC, len(value))
        for item in items:
            self._value(item, depth + 1)

    def _list(self, value, depth):
        if self._begins(value):
            packed = _packed(value) if len(value) >= MIN_PACKED else None
            if packed:
                self._mark(PACKED)
                self._plain_list([packed[0], len(value)], packed[1])
            else:
                self._items(value, value, depth)

    def _dict(self, value, depth):
        if self._begins(value):
            self._pairs(value, depth)

    def _pairs(self, value, depth):
        if depth >= MAX_DEPTH:
            raise NotPlain("it is nested too deeply")
        self._head(0x80, 0xDE, len(value))
        for key, item in value.items():
            begin = len(self.out)
            self._value(key, depth + 1)
            if bytes((0x81, 0xD4, MARK, PLACEHOLDER)) in self.out[begin : begin + 4096]:
                raise NotPlain("a key is no plain value")
            self._value(item, depth + 1)

    def _frozen(self, number, value, depth):
        if self._begins(value):
            self.open.add(id(value))
            self._mark(number)
            self._items(value, value, depth)
            self.open.discard(id(value))

    def _tuple(self, value, depth):
        self._frozen(TUPLE, value, depth)

    def _frozenset(self, value, depth):
        self._frozen(FROZENSET, value, depth)

    def _marked(self, number, value, parts, depth):
        if self._begins(value):
            self._mark(number)
            self._items(parts, parts, depth)

    def _set(self, value, depth):
        self._marked(SET, value, list(value), depth)

    def _deque(self, value, depth):
        self._marked(DEQUE, value, [value.maxlen, *value], depth)

    def _ordered(self, value, depth):
        self._marked(ORDERED, value, [part for pair in value.items() for part in pair], depth)

    def _counter(self, value, depth):
        self._marked(COUNTER, value, [part for pair in value.items() for part in pair], depth)

    def _defaults(self, value, depth):
        name = getattr(value.default_factory, "__name__", None)
        if value.default_factory is not None and _factories.get(name) is not value.default_factory:
            return self._placeholder(type(value), value)
        return self._marked(DEFAULTS, value, [name, *(part for pair in value.items() for part in pair)], depth)

    # Scalars

    def _head(self, small, large, count):
        limit = 16
        if count < limit:
            self.out.append(small | count)
        elif count < 1 << 16:
            self.out += struct.pack(">BH", large, count)
        else:
            self.out += struct.pack(">BI", large + 1, count)

    def _mark(self, number):
        self.out += bytes((0x81, 0xD4, MARK, number))

    def _none(self, value, depth=0):
        self.out.append(0xC0)

    def _bool(self, value, depth=0):
        self.out.append(0xC3 if value else 0xC2)

    def _int(self, value, depth=0):
        if 0 <= value < 128:
            self.out.append(value)
        elif -32 <= value < 0:
            self.out.append(value & 0xFF)
        elif -(2**63) <= value < 2**63:
            self.out += struct.pack(">Bq", 0xD3, value)
        elif 0 <= value < 2**64:
            self.out += struct.pack(">BQ", 0xCF, value)
        else:
            self._mark(BIG_INT)
            self._bytes(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))

    def _float(self, value, depth=0):
        self.out += struct.pack(">Bd", 0xCB, value)

    def _text(self, value, depth=0):
        try:
            data = value.encode()
        except UnicodeEncodeError:
            self._mark(SURROGATES)
            return self._bytes(value.encode("utf-8", "surrogatepass"))
        if len(data) < 32:
            self.out.append(0xA0 | len(data))
        else:
            self.out += struct.pack(">BI", 0xDB, len(data))
        self.out += data
        return None

    def _bytes(self, value, depth=0):
        if len(value) >= LARGE_BYTES:
            self._mark(BYTES_KEPT)
            return self._plain([len(value), self.keep(value)])
        self.out += struct.pack(">BI", 0xC6, len(value))
        self.out += value
        return None

    def _bytearray(self, value, depth):
        if self._begins(value):
            self._mark(BYTEARRAY)
            self._bytes(bytes(value))

    def _plain(self, value):
        """What we make ourselves: it is neither shared nor counted."""
        if type(value) is list:
            self._head(0x90, 0xDC, len(value))
            for item in value:
                self._plain(item)
        else:
            _writers[type(value)](self, value, 0)

    def _plain_list(self, parts, last):
        self._head(0x90, 0xDC, len(parts) + 1)
        for part in parts:
            self._plain(part)
        self._bytes(last)

    def _complex(self, value, depth):
        self._mark(COMPLEX)
        self._plain([value.real, value.imag])

    def _datetime(self, value, depth):
        at = [value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond, value.fold]
        self._zoned(DATETIME, value, at)

    def _time(self, value, depth):
        self._zoned(TIME, value, [value.hour, value.minute, value.second, value.microsecond, value.fold])

    def _zoned(self, number, value, at):
        try:
            zone = _zone(value.tzinfo)
        except NotPlain:
            return self._placeholder(type(value), value)
        self._mark(number)
        return self._plain([*at, zone])

    def _date(self, value, depth):
        self._mark(DATE)
        self._plain([value.year, value.month, value.day])

    def _timedelta(self, value, depth):
        self._mark(TIMEDELTA)
        self._plain([value.days, value.seconds, value.microseconds])

    def _timezone(self, value, depth):
        self._mark(TIMEZONE)
        self._plain(_zone(value))

    def _decimal(self, value, depth):
        self._mark(DECIMAL)
        self._plain(str(value))

    def _uuid(self, value, depth):
        self._mark(UUID)
        self._plain(value.bytes)

    def _path(self, value, depth):
        self._mark(PATH)
        self._plain([type(value).__name__, str(value)])

    def _range(self, value, depth):
        self._mark(RANGE)
        self._plain([value.start, value.stop, value.step])

    def _slice(self, value, depth):
        self._mark(SLICE)
        self._items((0,) * 3, (value.start, value.stop, value.step), depth)

    def _ellipsis(self, value, depth):
        self._mark(ELLIPSIS)
        self.out.append(0xC0)

    # Arrays and frames

    def _array(self, value, depth):
        if value.dtype.hasobject:
            raise NotPlain("an array of objects")
        if not self._begins(value):
            return
        numpy = sys.modules["numpy"]
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        self._mark(ARRAY)
        flat = numpy.asarray(value).ravel(order=order).view(numpy.uint8) if value.size else b""
        self._head(0x90, 0xDC, 4)
        self._value(_describe(numpy, value.dtype), depth + 1)
        self._plain(list(map(int, value.shape)))
        self._plain(order)
        if value.nbytes >= LARGE_BYTES:
            self._plain([value.nbytes, self.keep(flat)])
        else:
            self._bytes(bytes(flat))

    def _column(self, pandas, values, depth):
        """One column, whatever holds it: an array, or text, or by Arrow when that is here."""
        numpy = sys.modules["numpy"]
        if type(values) is numpy.ndarray and not values.dtype.hasobject:
            return self._value(values, depth)
        if type(values) is numpy.ndarray:
            return self._plain_head(["objects"], values.tolist(), depth)
        name = type(values).__name__
        if name == "Categorical":
            self._head(0x90, 0xDC, 4)
            self._plain("categories")
            self._value(numpy.asarray(values.codes), depth)
            self._plain(bool(values.ordered))
            return self._index(pandas, values.categories, depth)
        if name in ("DatetimeArray", "TimedeltaArray"):
            zone = getattr(values, "tz", None)
            plain = numpy.asarray(values._ndarray)
            return self._plain_head(["times", None if zone is None else str(zone)], plain, depth)
        return self._plain_head(["as", str(values.dtype)], values.to_numpy(object, na_value=None).tolist(), depth)

    def _plain_head(self, parts, value, depth):
        self._head(0x90, 0xDC, len(parts) + 1)
        for part in parts:
            self._plain(part)
        self._value(value, depth + 1)

    def _index(self, pandas, value, depth):
        self._mark(INDEX)
        if isinstance(value, pandas.MultiIndex):
            self._head(0x90, 0xDC, 4)
            self._plain("levels")
            self._value(list(value.names), depth + 1)
            self._head(0x90, 0xDC, len(value.levels))
            for level in value.levels:
                self._index(pandas, level, depth + 1)
            self._value([sys.modules["numpy"].asarray(codes) for codes in value.codes], depth + 1)
        elif isinstance(value, pandas.RangeIndex):
            self._head(0x90, 0xDC, 3)
            self._plain("range")
            self._value(value.name, depth + 1)
            self._plain([value.start, value.stop, value.step])
        elif type(value) in (pandas.PeriodIndex, pandas.IntervalIndex):
            raise NotPlain("an index of periods")
        else:
            self._head(0x90, 0xDC, 3)
            self._plain("column")
            self._value(value.name, depth + 1)
            self._column(pandas, value.array._ndarray if _wraps_array(value.array) else value.array, depth + 1)

    def _frame(self, pandas, value, depth):
        if not self._begins(value):
            return
        is_series = type(value) is pandas.Series
        self._mark(SERIES if is_series else FRAME)
        self._head(0x90, 0xDC, 3)
        self._index(pandas, value.index, depth + 1)
        if is_series:
            self._value(value.name, depth + 1)
        else:
            self._index(pandas, value.columns, depth + 1)
        blocks = value._mgr.blocks
        self._head(0x90, 0xDC, len(blocks))
        for block in blocks:
            self._head(0x90, 0xDC, 2)
            self._plain([0] if is_series else [int(place) for place in block.mgr_locs])
            values = block.values
            if type(values).__name__ == "ndarray" and not values.dtype.hasobject:
                # As it lies in memory: its bytes are those of the environment part.
                self._value(values, depth + 1)
                continue
            columns = list(values) if getattr(values, "ndim", 1) == 2 else [values]
            self._head(0x90, 0xDC, len(columns))
            for column in columns:
                self._column(pandas, column, depth + 2)


def _wraps_array(values):
    return type(values).__name__ == "NumpyExtensionArray" or type(values).__name__ == "PandasArray"


def _zone(zone):
    if zone is None:
        return None
    if type(zone) is datetime.timezone:
        offset = zone.utcoffset(None)
        return offset // datetime.timedelta(microseconds=1)
    key = getattr(zone, "key", None)
    if type(zone).__module__ == "zoneinfo" and type(key) is str:
        return key
    raise NotPlain("a time zone of its own kind")


def _describe(numpy, dtype):
    """A dtype in words: text, or for records a list of (name, words, shape)."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return ["sub", _describe(numpy, base), list(map(int, shape))]
    if dtype.names is None:
        return dtype.str
    fields = [[name, _describe(numpy, dtype.fields[name][0]), int(dtype.fields[name][1])] for name in dtype.names]
    return ["record", int(dtype.itemsize), fields]


def _packed(value):
    """The letter and the bytes of a list of one kind of number or text; None when it is no such list."""
    import array

    kinds = set(map(type, value))
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind is float:
        return "d", array.array("d", value).tobytes()
    if kind is int:
        try:
            return "q", array.array("q", value).tobytes()
        except OverflowError:
            return None
    if kind is str:
        text = "\0".join(value)
        if text.count("\0") == len(value) - 1:
            try:
                return "u", text.encode()
            except UnicodeEncodeError:
                return None
    return None


def _arrow_bytes(table):
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


_writers = {
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


# -- reading ----------------------------------------------------------------------------------------------------------


class Malformed(ValueError):
    """These bytes were not written by an Encoder."""

    def __init__(self, what="its values are damaged"):
        super().__init__(what)


class Decoder:
    """Reads values. `fill(number, memory)` fills memory with a kept buffer; `sizes` are the buffers' lengths. `library(name)`
    imports a library and answers it."""

    def __init__(self, fill, sizes, library=importlib.import_module):
        self.fill = fill
        self.sizes = sizes
        self.library = library

    def decode(self, data):
        self.data = memoryview(data)
        self.at = 0
        self.objects = []
        # No reader makes more of it than was there to be written.
        self.left = MAX_COUNT
        self.hashed = 0
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 5000))
        try:
            value = self._value(0)
        except (Malformed, MemoryError):
            raise
        except Exception as error:  # a date that is none, a key that has no hash, …
            raise Malformed(f"its values are damaged: {type(error).__name__}: {error}") from None
        finally:
            sys.setrecursionlimit(limit)
            # What failed is not held on to: others may need its memory.
            self.objects = None
        if self.at != len(self.data):
            raise Malformed()
        return value

    def _take(self, count):
        if count > len(self.data) - self.at:
            raise Malformed()
        self.at += count
        return self.data[self.at - count : self.at]

    def _number(self, layout):
        return struct.unpack(layout, self._take(struct.calcsize(layout)))[0]

    def _value(self, depth):
        """Any value."""
        head = self._take(1)[0]
        self.left -= 1
        if depth > 2 * MAX_DEPTH or self.left < 0:
            raise Malformed()
        if head < 0x80:
            return head
        if head >= 0xE0:
            return head - 256
        if head == 0x81 and bytes(self.data[self.at : self.at + 2]) == bytes((0xD4, MARK)):
            number = self._take(3)[2]
            if number >= len(_readers) or _readers[number] is None:
                raise Malformed("it holds a value of a kind that this version does not know")
            return _readers[number](self, depth)
        if head < 0xA0:
            count = self._map_count(head)
        elif head < 0xC0:
            return str(self._take(head & 31), "utf-8")
        elif head == 0xC0:
            return None
        elif head in (0xC2, 0xC3):
            return head == 0xC3
        elif head == 0xC6:
            return bytes(self._take(self._number(">I")))
        elif head == 0xCB:
            return self._number(">d")
        elif head == 0xCF:
            return self._number(">Q")
        elif head == 0xD3:
            return self._number(">q")
        elif head == 0xDB:
            return str(self._take(self._number(">I")), "utf-8")
        else:
            count = self._map_count(head)
        if count is None:
            raise Malformed()
        kind, count = count
        if kind is list:
            made = []
            self.objects.append(made)
            made.extend(self._value(depth + 1) for _ in range(count))
            return made
        made = {}
        self.objects.append(made)
        for _ in range(count):
            key = self._hashed(self._value(depth + 1))
            made[key] = self._value(depth + 1)
        return made

    def _hashed(self, key):
        """A value that is about to be hashed, which goes through all that a tuple holds, as often as it is shared: tuples of
        two of the same, sixty deep, take for ever."""
        parts = [key]
        while parts:
            part = parts.pop()
            kind = type(part)
            if kind is tuple or kind is slice:
                parts += part if kind is tuple else (part.start, part.stop, part.step)
                self.hashed += len(part) if kind is tuple else 3
                if self.hashed > MAX_HASHED:
                    raise Malformed("what it uses as keys holds too much")
        return key

    def _all_hashed(self, parts):
        for part in parts:
            self._hashed(part)
        return parts

    def _map_count(self, head):
        """The kind and length of a list or a dictionary. Each item takes a byte at least."""
        if head < 0x90:
            kind, count = dict, head & 15
        elif head < 0xA0:
            kind, count = list, head & 15
        elif head in (0xDC, 0xDE):
            kind, count = (list if head == 0xDC else dict), self._number(">H")
        elif head in (0xDD, 0xDF):
            kind, count = (list if head == 0xDD else dict), self._number(">I")
        else:
            return None
        if count > len(self.data) - self.at:
            raise Malformed()
        return kind, count

    def _own(self, *kinds):
        """A list that we made ourselves: it has no number, and its items are of these types."""
        count = self._count()
        if count != len(kinds):
            raise Malformed()
        return [self._of(kind) for kind in kinds]

    def _of(self, kind):
        value = self._value(MAX_DEPTH)
        if not isinstance(value, kind) or isinstance(value, bool) and kind is int:
            raise Malformed()
        return value

    def _count(self):
        counted = self._map_count(self._take(1)[0])
        if counted is None or counted[0] is not list:
            raise Malformed()
        return counted[1]

    def _reserve(self):
        self.objects.append(_NotYet)
        return len(self.objects) - 1

    def _parts(self, depth):
        return [self._value(depth + 1) for _ in range(self._count())]

    def _pairs(self, parts):
        if len(parts) % 2:
            raise Malformed()
        return zip(self._all_hashed(parts[::2]), parts[1::2])

    # The marked kinds

    def _big_int(self, depth):
        data = self._of(bytes)
        return int.from_bytes(data, "little", signed=True)

    def _surrogates(self, depth):
        return self._of(bytes).decode("utf-8", "surrogatepass")

    def _bytearray(self, depth):
        number = self._reserve()
        made = self.objects[number] = bytearray(self._of(bytes))
        return made

    def _tuple(self, depth):
        number = self._reserve()
        made = self.objects[number] = tuple(self._parts(depth))
        return made

    def _frozenset(self, depth):
        number = self._reserve()
        made = self.objects[number] = frozenset(self._all_hashed(self._parts(depth)))
        return made

    def _set(self, depth):
        made = set()
        self.objects.append(made)
        made.update(self._all_hashed(self._parts(depth)))
        return made

    def _deque(self, depth):
        number = self._reserve()
        maxlen, *parts = self._parts(depth)
        made = self.objects[number] = collections.deque(parts, maxlen)
        return made

    def _ordered(self, depth):
        made = collections.OrderedDict()
        self.objects.append(made)
        made.update(self._pairs(self._parts(depth)))
        return made

    def _counter(self, depth):
        made = collections.Counter()
        self.objects.append(made)
        for key, count in self._pairs(self._parts(depth)):
            made[key] = count
        return made

    def _defaults(self, depth):
        made = collections.defaultdict()
        self.objects.append(made)
        name, *parts = self._parts(depth)
        made.default_factory = None if name is None else _factories[name]
        made.update(self._pairs(parts))
        return made

    def _complex(self, depth):
        return complex(*self._own(float, float))

    def _datetime(self, depth):
        *at, fold, zone = self._own(*[int] * 8, _ZONE_KEYS)
        return datetime.datetime(*at, tzinfo=_to_zone(zone), fold=fold)

    def _time(self, depth):
        *at, fold, zone = self._own(*[int] * 5, _ZONE_KEYS)
        return datetime.time(*at, tzinfo=_to_zone(zone), fold=fold)

    def _date(self, depth):
        return datetime.date(*self._own(int, int, int))

    def _timedelta(self, depth):
        return datetime.timedelta(*self._own(int, int, int))

    def _timezone(self, depth):
        return _to_zone(self._of((int, str)))

    def _decimal(self, depth):
        return decimal.Decimal(self._of(str))

    def _uuid(self, depth):
        return uuid.UUID(bytes=self._of(bytes))

    def _path(self, depth):
        kind, text = self._own(str, str)
        kinds = {one.__name__: one for one in (pathlib.PosixPath, pathlib.PurePosixPath, pathlib.PureWindowsPath)}
        return kinds[kind](text)

    def _range(self, depth):
        return range(*self._own(int, int, int))

    def _slice(self, depth):
        parts = self._parts(depth)
        if len(parts) != 3:
            raise Malformed()
        return slice(*parts)

    def _ellipsis(self, depth):
        self._of(type(None))
        return ...

    def _same(self, depth):
        number = self._of(int)
        if not 0 <= number < len(self.objects) or self.objects[number] is _NotYet:
            raise Malformed()
        return self.objects[number]

    def _placeholder(self, depth):
        return Placeholder(*self._own(str, (str, type(None))))

    def _packed_list(self, depth):
        import array

        made = []
        self.objects.append(made)
        letter, count, data = self._own(str, int, bytes)
        if letter in ("q", "d"):
            if len(data) != 8 * count:
                raise Malformed()
            made.extend(array.array(letter, data))
        elif letter == "u":
            made.extend(data.decode().split("\0"))
        else:
            raise Malformed()
        if len(made) != count:
            raise Malformed()
        return made

    def _kept(self, count, number):
        """Whether a buffer is there and is as long as it is said to be: asked before any memory is made for it."""
        if not 0 <= number < len(self.sizes) or self.sizes[number] != count:
            raise Malformed()

    def _bytes_kept(self, depth):
        count, number = self._own(int, int)
        self._kept(count, number)
        memory = bytearray(count)
        self.fill(number, memory)
        return bytes(memory)

    def _array(self, depth):
        numpy = self.library("numpy")

        place = self._reserve()
        if self._count() != 4:
            raise Malformed()
        dtype = self._dtype(numpy, depth)
        shape = tuple(self._own_list(int))
        order = self._of(str)
        if order not in ("C", "F") or any(n < 0 for n in shape) or len(shape) > 32:
            raise Malformed()
        need = math.prod(shape) * dtype.itemsize
        if not need and math.prod(shape) > MAX_COUNT:
            raise Malformed()
        if self.data[self.at : self.at + 1] == b"\xc6":
            data = self._of(bytes)
            if len(data) != need:
                raise Malformed()
            made = numpy.empty(shape, dtype, order)
            if need:
                made.reshape(-1, order=order).view(numpy.uint8)[:] = numpy.frombuffer(data, numpy.uint8)
        else:
            count, number = self._own(int, int)
            self._kept(count, number)
            if count != need or not need:
                raise Malformed()
            made = numpy.empty(shape, dtype, order)
            self.fill(number, made.reshape(-1, order=order).view(numpy.uint8))
        self.objects[place] = made
        return made

    def _own_list(self, kind):
        return [self._of(kind) for _ in range(self._count())]

    def _dtype(self, numpy, depth):
        return _to_dtype(numpy, self._value(depth), 0)

    def _scalar(self, depth):
        numpy = self.library("numpy")

        words, data = self._value(depth + 1)
        dtype = _to_dtype(numpy, words, 0)
        if type(data) is not bytes or len(data) != dtype.itemsize:
            raise Malformed()
        return numpy.frombuffer(data, dtype)[0] if data else numpy.zeros((), dtype)[()]

    def _table(self, depth):
        pyarrow = self.library("pyarrow")

        if int(pyarrow.__version__.split(".")[0]) < MIN_ARROW:
            raise Malformed("reading it is not safe with this old pyarrow")
        return pyarrow.ipc.open_stream(self._of(bytes)).read_all()

    def _index(self, depth):
        pandas = self.library("pandas")

        count = self._count()
        kind = self._of(str)
        if kind == "range" and count == 3:
            name = self._value(depth + 1)
            return pandas.RangeIndex(*self._own(int, int, int), name=name)
        if kind == "levels" and count == 4:
            names = self._value(depth + 1)
            levels = [self._value(depth + 1) for _ in range(self._count())]
            return pandas.MultiIndex(levels=levels, codes=self._value(depth + 1), names=names)
        if kind == "column" and count == 3:
            name = self._value(depth + 1)
            return pandas.Index(self._column(pandas, depth + 1), name=name)
        raise Malformed()

    def _column(self, pandas, depth):
        numpy = self.library("numpy")

        if self.data[self.at : self.at + 1] == b"\x81":
            value = self._value(depth)
            if type(value) is not numpy.ndarray:
                raise Malformed()
            return value
        count = self._count()
        kind = self._of(str)
        if kind == "objects" and count == 2:
            items = self._value(depth + 1)
            made = numpy.empty(len(items), object)
            for number, item in enumerate(items):
                made[number] = item
            return made
        if kind == "categories" and count == 4:
            codes, ordered, categories = self._value(depth + 1), self._of(bool), self._value(depth + 1)
            return pandas.Categorical.from_codes(codes, categories, ordered=ordered)
        if kind == "times" and count == 3:
            zone, plain = self._of((str, type(None))), self._value(depth + 1)
            times = pandas.Series(plain)
            return (times if zone is None else times.dt.tz_localize("UTC").dt.tz_convert(zone)).array
        if kind == "as" and count == 3:
            dtype, items = self._of(str), self._value(depth + 1)
            return pandas.array(items, dtype=dtype)
        raise Malformed()

    def _frame(self, depth):
        return self._framed(depth, False)

    def _series(self, depth):
        return self._framed(depth, True)

    def _framed(self, depth, is_series):
        pandas = self.library("pandas")

        place = self._reserve()
        if self._count() != 3:
            raise Malformed()
        index = self._value(depth + 1)
        columns = self._value(depth + 1)
        found = {}
        for _ in range(self._count()):
            if self._count() != 2:
                raise Malformed()
            places = self._own_list(int)
            if self.data[self.at : self.at + 1] == b"\x81":
                values = self._value(depth + 1)
                values = [values] if is_series and values.ndim == 1 else list(values)
            else:
                values = [self._column(pandas, depth + 2) for _ in range(self._count())]
            # Each is as long as the index says: pandas would repeat a single value as often as that, and an index of numbers in
            # a row costs nothing.
            if len(values) != len(places) or any(one.ndim != 1 or len(one) != len(index) for one in values):
                raise Malformed()
            found.update(zip(places, values))
        if is_series:
            made = pandas.Series(found[0], index=index, name=columns)
        else:
            made = pandas.DataFrame({place: found[place] for place in range(len(columns))}, index=index)
            made.columns = columns
        self.objects[place] = made
        return made


class _NotYet:
    """Stands for a tuple that is still being read."""


def _to_zone(zone):
    if zone is None:
        return None
    if type(zone) is int:
        return datetime.timezone(datetime.timedelta(microseconds=zone)) if zone else datetime.timezone.utc
    import zoneinfo

    return zoneinfo.ZoneInfo(zone)


def _to_dtype(numpy, words, depth):
    if depth > 20:
        raise Malformed()
    if type(words) is str:
        dtype = numpy.dtype(words)
        if dtype.names is not None or dtype.subdtype is not None:
            raise Malformed()
    elif words[0] == "sub":
        shape = tuple(words[2])
        if any(type(n) is not int or not 0 <= n < 2**31 for n in shape) or math.prod(shape) > 2**40:
            raise Malformed()
        dtype = numpy.dtype((_to_dtype(numpy, words[1], depth + 1), shape))
    elif words[0] == "record":
        _, size, fields = words
        parts = {"names": [], "formats": [], "offsets": [], "itemsize": size}
        for name, inner, at in fields:
            parts["names"].append(name)
            parts["formats"].append(_to_dtype(numpy, inner, depth + 1))
            parts["offsets"].append(at)
        dtype = numpy.dtype(parts)
    else:
        raise Malformed()
    if dtype.hasobject:
        raise Malformed()
    return dtype


_readers = [None] * 32
for _number, _read in {
    BIG_INT: Decoder._big_int,
    SURROGATES: Decoder._surrogates,
    BYTEARRAY: Decoder._bytearray,
    TUPLE: Decoder._tuple,
    SET: Decoder._set,
    FROZENSET: Decoder._frozenset,
    COMPLEX: Decoder._complex,
    DATETIME: Decoder._datetime,
    DATE: Decoder._date,
    TIME: Decoder._time,
    TIMEDELTA: Decoder._timedelta,
    DECIMAL: Decoder._decimal,
    UUID: Decoder._uuid,
    PATH: Decoder._path,
    RANGE: Decoder._range,
    SLICE: Decoder._slice,
    SAME: Decoder._same,
    PLACEHOLDER: Decoder._placeholder,
    ARRAY: Decoder._array,
    SCALAR: Decoder._scalar,
    FRAME: Decoder._frame,
    SERIES: Decoder._series,
    INDEX: Decoder._index,
    TABLE: Decoder._table,
    TIMEZONE: Decoder._timezone,
    DEQUE: Decoder._deque,
    ORDERED: Decoder._ordered,
    COUNTER: Decoder._counter,
    DEFAULTS: Decoder._defaults,
    PACKED: Decoder._packed_list,
    BYTES_KEPT: Decoder._bytes_kept,
    ELLIPSIS: Decoder._ellipsis,
}.items():
    _readers[_number] = _read
