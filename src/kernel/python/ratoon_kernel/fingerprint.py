"""Fingerprints: short digests of values, equal for equal values in every branch and after every restart.

Only objects of types that are known exactly are looked into, so no code of the user's runs: not `__eq__`, not `__hash__`, not
`__reduce__`. What is not known has no fingerprint, and neither has what holds it. What counts is the type and the content;
who shares what does not. Dictionaries count in their order, sets in none.

An array, or a piece of a text, of more than MAX_WHOLE_BYTES is not read whole: its length and SAMPLES pieces of SAMPLE_BYTES, spread
evenly from its first byte to its last, stand for it. A change between them is not seen.
"""

import collections
import datetime
import decimal
import fractions
import hashlib
import marshal
import math
import pathlib
import re
import struct
import sys
import time
import types
import uuid

from ._native import digest

# Read whole up to here: some 50 ms.
MAX_WHOLE_BYTES = 128 * 1024 * 1024
SAMPLES = 512
SAMPLE_BYTES = 16 * 1024
# Of one value, items that are visited one by one, and how deeply.
MAX_ITEMS = 200_000
MAX_DEPTH = 30
# Lists of plain items alone take a short way, and may be longer.
MIN_FLAT = 16
MAX_FLAT = 5_000_000
MAX_COLUMNS = 2000
# How many columns of a frame are summarised.
MAX_TOLD_COLUMNS = 50
# Arrays larger than this are not added up.
MAX_TOLD_BYTES = 64 * 1024 * 1024

_FLAT = frozenset({int, float, bool, str, bytes, type(None)})
_FLAT_CODES = 2  # The last version of marshal in which equal values have equal bytes.
_NAME_OF = type.__dict__["__name__"].__get__
_MODULE_OF = type.__dict__["__module__"].__get__
_BASES_OF = type.__dict__["__mro__"].__get__
_DICT_OF = type.__dict__["__dict__"].__get__
_QUALNAME_OF = type.__dict__["__qualname__"].__get__
_FLAGS_OF = type.__dict__["__flags__"].__get__
_SIZE_OF = type.__dict__["__basicsize__"].__get__
_ITEM_SIZE_OF = type.__dict__["__itemsize__"].__get__
# Py_TPFLAGS_HEAPTYPE: made by a class statement, or by C in the same way.
_MADE_BY_STATEMENT = 1 << 9
# What a class has because of how it came to be, not because of what was written.
_NOT_WRITTEN = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __qualname__ __firstlineno__ __static_attributes__ __abstractmethods__ _abc_impl"
    " __annotations__ __annotate__ __annotate_func__ __annotations_cache__ __conditional_annotations__ __slotnames__".split()
)


class Unknown(Exception):
    """A value that is not of a known type, or too large."""


class OutOfTime(Exception):
    """There is no time left."""


def fingerprint(value, deadline):
    """The fingerprint of a value, 32 hexadecimal digits; none when its type is not known, or time is out.

    `deadline` is a time of `time.process_time()`.
    """
    return fingerprint_and_columns(value, deadline)[0]


def fingerprint_and_columns(value, deadline):
    """The fingerprint, whether some of the value was sampled, and the columns of a frame or series: of each its fingerprint, none
    where it is not known, and whether some of it was sampled."""
    if time.process_time() > deadline:
        return None, False, []
    reader = _Reader(deadline)
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(max(limit, 3000))
        reader.value(value, 0)
        return reader.hash.hexdigest(), reader.is_sampled, reader.columns
    except Exception:  # a library that is not as expected, too
        return None, False, reader.columns
    finally:
        sys.setrecursionlimit(limit)


def library_of(kind):
    """The library that a class is of: numpy, pandas or polars; none when it is of no such."""
    module = _MODULE_OF(kind)
    top = module.split(".")[0] if type(module) is str else ""
    library = sys.modules.get(top) if top in ("numpy", "pandas", "polars") else None
    known = library is not None and any(
        vars(place).get(_NAME_OF(kind)) is kind for place in (library, sys.modules.get(module)) if place is not None
    )
    return top if known else None


class _Reader:
    """Reads one value."""

    def __init__(self, deadline):
        self.deadline = deadline
        self.hash = hashlib.blake2b(digest_size=16)
        self.left = MAX_ITEMS
        self.room = MAX_WHOLE_BYTES
        self.open = {}
        self.is_sampled = False
        self.columns = []

    def value(self, value, depth):
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            raise Unknown
        if self.left % 256 == 0:
            self.check()
        kind = type(value)
        read = _readers.get(kind)
        if read is not None:
            read(self, value, depth)
        elif (library := library_of(kind)) is not None:
            _libraries[library](self, sys.modules[library], value, depth)
        elif issubclass(kind, type):
            self.klass(value, depth)
        elif issubclass(kind, (datetime.tzinfo, pathlib.PurePath)):
            self.small(kind, value, depth)
        else:
            self.instance(kind, value, depth)

    def check(self):
        if time.process_time() > self.deadline:
            raise OutOfTime

    def put(self, tag, data=b""):
        """Takes up one piece: what it is, and its bytes."""
        self.hash.update(struct.pack("<BQ", len(tag), len(data)))
        self.hash.update(tag)
        self.hash.update(data)

    def memory(self, tag, data):
        """Takes up bytes that may be many."""
        self.check()
        view = memoryview(data)
        # Arrow's bytes are signed, and `digest` takes none of these.
        view = view if view.format == "B" else view.cast("B")
        count = len(view)
        if count <= self.room:
            return self.put(tag, digest(view).encode() if count > 256 else bytes(view))
        self.is_sampled = True
        step = (count - SAMPLE_BYTES) / (SAMPLES - 1)
        pieces = b"".join(view[int(at * step) : int(at * step) + SAMPLE_BYTES] for at in range(SAMPLES))
        return self.put(tag + b" sampled", f"{count} {digest(pieces)}".encode())

    def apart(self, read, *arguments):
        """The digest of what a reading takes up, by itself."""
        outer, self.hash = self.hash, hashlib.blake2b(digest_size=16)
        try:
            read(*arguments)
            return self.hash.digest()
        finally:
            self.hash = outer

    def each_column(self, columns, read):
        """Takes up the columns of a frame. One that is not known leaves the frame without a fingerprint, and the others with theirs."""
        self.room = MAX_WHOLE_BYTES // max(1, len(columns))
        outside, is_sampled = dict(self.open), self.is_sampled
        for column in columns:
            self.is_sampled = False
            try:
                one = self.apart(read, column)
            except OutOfTime:
                raise
            except Exception:  # Unknown, or a library that is not as expected
                one, self.open = None, dict(outside)
            is_sampled = is_sampled or self.is_sampled
            self.columns.append({"fingerprint": one and one.hex(), "sampled": self.is_sampled})
            self.hash.update(one or b"")
        self.is_sampled = is_sampled
        if any(column["fingerprint"] is None for column in self.columns):
            raise Unknown

    # Plain values

    def none(self, value, depth):
        self.put(_NAME_OF(type(value)).encode())

    def int(self, value, depth):
        self.put(b"int", value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))

    def bool(self, value, depth):
        self.put(b"bool", b"1" if value else b"0")

    def float(self, value, depth):
        self.put(b"float", struct.pack("<d", value))

    def complex(self, value, depth):
        self.put(b"complex", struct.pack("<dd", value.real, value.imag))

    def str(self, value, depth):
        count = len(value)
        if count <= self.room:
            return self.memory(b"str", value.encode("utf-8", "surrogatepass"))
        # Not encoded whole: that would take as much memory again.
        self.check()
        self.is_sampled = True
        step = (count - SAMPLE_BYTES) / (SAMPLES - 1)
        pieces = (value[int(at * step) : int(at * step) + SAMPLE_BYTES] for at in range(SAMPLES))
        text = "".join(pieces).encode("utf-8", "surrogatepass")
        return self.put(b"str sampled", f"{count} {digest(text)}".encode())

    def bytes(self, value, depth):
        self.memory(_NAME_OF(type(value)).encode(), value)

    def plainly(self, value, depth):
        """What says all about itself in its repr, which is not the user's."""
        self.put(_NAME_OF(type(value)).encode(), repr(value).encode("utf-8", "backslashreplace"))

    def zoned(self, value, depth):
        zone = value.tzinfo
        if zone is not None:
            self.value(zone, depth + 1)
        self.plainly(value.replace(tzinfo=None), depth)

    def small(self, kind, value, depth):
        module = _MODULE_OF(kind)
        if module in ("datetime", "zoneinfo", "pathlib", "pathlib._local", "pytz", "pytz.tzfile", "dateutil.tz.tz"):
            self.plainly(value, depth)
        else:
            raise Unknown

    def pattern(self, value, depth):
        self.value([value.pattern, value.flags], depth)

    # Containers

    def again(self, value, depth):
        """Whether a container is inside itself: then it is said how far outside."""
        if id(value) in self.open:
            self.put(b"outside", str(depth - self.open[id(value)]).encode())
            return True
        return False

    def sequence(self, value, depth):
        if self.again(value, depth):
            return
        self.put(_NAME_OF(type(value)).encode(), str(len(value)).encode())
        if type(value) in (list, tuple) and self.flat(value):
            return
        self.open[id(value)] = depth
        for item in value:
            self.value(item, depth + 1)
        del self.open[id(value)]

    def flat(self, items):
        """Takes up a list of nothing but plain items at once, if it is one."""
        if len(items) < MIN_FLAT:
            return False
        if len(items) > MAX_FLAT:
            # Not even looked at: the fork would have to copy every item, as each counts who holds it.
            raise Unknown
        kinds = set(map(type, items))
        if not kinds <= _FLAT:
            return False
        self.check()
        if kinds & {str, bytes} and sum(len(i) for i in items if type(i) in (str, bytes)) > MAX_WHOLE_BYTES:
            raise Unknown
        self.memory(b"flat", marshal.dumps(list(items), _FLAT_CODES))
        return True

    def deque(self, value, depth):
        self.put(b"maxlen", str(value.maxlen).encode())
        self.sequence(value, depth)

    def dict(self, value, depth):
        if self.again(value, depth):
            return
        self.put(_NAME_OF(type(value)).encode(), str(len(value)).encode())
        if type(value) is dict and self.flat(list(value)) and self.flat(list(value.values())):
            return
        self.open[id(value)] = depth
        for key, item in value.items():
            self.value(key, depth + 1)
            self.value(item, depth + 1)
        del self.open[id(value)]

    def defaults(self, value, depth):
        self.value(value.default_factory, depth + 1)
        self.dict(value, depth)

    def set(self, value, depth):
        self.put(_NAME_OF(type(value)).encode(), str(len(value)).encode())
        for item in sorted(self.apart(self.value, item, depth + 1) for item in value):
            self.hash.update(item)

    # Code

    def function(self, value, depth):
        if self.again(value, depth):
            return
        self.open[id(value)] = depth
        self.put(b"function")
        self.value([value.__module__, value.__qualname__], depth + 1)
        self.code(value.__code__, depth + 1)
        self.value(value.__defaults__, depth + 1)
        self.value(value.__kwdefaults__, depth + 1)
        for cell in value.__closure__ or ():
            try:
                inside = cell.cell_contents
            except ValueError:
                inside = Ellipsis  # not filled yet
            self.value(inside, depth + 1)
        del self.open[id(value)]

    def code(self, value, depth):
        self.put(b"code", value.co_code)
        names = [value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars, value.co_flags]
        self.value([value.co_name, value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, *names], depth)
        self.sequence(value.co_consts, depth)

    def method(self, value, depth):
        self.put(b"method")
        self.value(value.__func__, depth + 1)
        self.value(value.__self__, depth + 1)

    def wrapped(self, value, depth):
        """A staticmethod or classmethod."""
        self.put(_NAME_OF(type(value)).encode())
        self.value(value.__func__, depth + 1)

    def property(self, value, depth):
        self.put(b"property")
        self.value([value.fget, value.fset, value.fdel], depth + 1)

    def builtin(self, value, depth):
        owner = value.__self__
        self.put(b"builtin")
        self.value([value.__module__, value.__qualname__], depth + 1)
        if owner is not None and type(owner) is not types.ModuleType:
            self.value(owner, depth + 1)

    def descriptor(self, value, depth):
        owner = value.__objclass__
        self.put(b"descriptor", f"{_QUALNAME_OF(owner)} {value.__name__}".encode())

    def module(self, value, depth):
        name = vars(value).get("__name__")
        if type(name) is not str:
            raise Unknown
        self.put(b"module", name.encode())

    def klass(self, value, depth):
        """A class: one that can be imported by its name, one of the notebook by what is written in it."""
        if self.again(value, depth):
            return
        written = _DICT_OF(value)
        module, name = _MODULE_OF(value), _QUALNAME_OF(value)
        self.put(b"class", f"{module} {name}".encode())
        if type(module) is str and module != "__main__" and module in sys.modules or value is object:
            return
        self.open[id(value)] = depth
        self.value(type(value), depth + 1)
        for base in _BASES_OF(value)[1:]:
            self.value(base, depth + 1)
        for key in sorted(key for key in written if type(key) is str and key not in _NOT_WRITTEN):
            if type(written[key]) in (types.GetSetDescriptorType, types.MemberDescriptorType):
                continue  # made from `__slots__`, which is there too
            self.put(b"name", key.encode("utf-8", "surrogatepass"))
            self.value(written[key], depth + 1)
        del self.open[id(value)]

    def instance(self, kind, value, depth):
        """An object of a class written in Python, which has nothing but its attributes."""
        if self.again(value, depth):
            return
        for base in _BASES_OF(kind)[:-1]:
            # Classes made in C are static, or keep things that cannot be seen; `__slots__` keep things elsewhere.
            is_plain = _FLAGS_OF(base) & _MADE_BY_STATEMENT and "__slots__" not in _DICT_OF(base)
            if not is_plain or not isinstance(_MODULE_OF(base), str):
                raise Unknown
        holder = next((_DICT_OF(b)["__dict__"] for b in _BASES_OF(kind) if "__dict__" in _DICT_OF(b)), None)
        size = object.__basicsize__ + 2 * struct.calcsize("P")
        if type(holder) is not types.GetSetDescriptorType or _SIZE_OF(kind) > size or _ITEM_SIZE_OF(kind):
            raise Unknown
        self.put(b"instance")
        self.value(kind, depth + 1)
        attributes = holder.__get__(value)
        if type(attributes) is not dict:
            raise Unknown
        self.open[id(value)] = depth
        self.dict(attributes, depth + 1)
        del self.open[id(value)]

    # numpy

    def numpy(self, numpy, value, depth):
        kind = type(value)
        if kind is numpy.ndarray or kind is numpy.memmap:
            self.array(numpy, value, depth)
        elif issubclass(kind, numpy.generic):
            self.put(b"scalar")
            self.array(numpy, numpy.asarray(value), depth)
        elif issubclass(kind, numpy.dtype):
            self.put(b"dtype", repr(value.descr).encode())
        elif kind is numpy.ufunc:
            self.put(b"ufunc", value.__name__.encode())
        else:
            raise Unknown

    def array(self, numpy, value, depth):
        dtype = value.dtype
        if dtype.hasobject:
            # One item that stands for many, as in what was broadcast, would be written out.
            if dtype != object or value.size > MAX_FLAT:
                raise Unknown
            self.put(b"objects", repr(value.shape).encode())
            return self.sequence(value.ravel().tolist(), depth + 1)
        self.put(b"array", f"{dtype.descr} {value.shape}".encode())
        if value.nbytes == 0:
            return None
        if not value.flags.c_contiguous:
            if value.nbytes > self.room:
                if not value.flags.f_contiguous:
                    raise Unknown
                self.put(b"by columns")
                value = value.T
            else:
                value = numpy.ascontiguousarray(value)
        return self.memory(b"items", memoryview(numpy.asarray(value).reshape(-1).view(numpy.uint8)))

    # pandas

    def pandas(self, pandas, value, depth):
        numpy, kind = sys.modules["numpy"], type(value)
        if kind is pandas.DataFrame:
            self.frame(pandas, numpy, value, depth)
        elif kind is pandas.Series:
            self.put(b"series")
            self.value(value.name, depth + 1)
            self.index(pandas, numpy, value.index, depth)
            self.each_column([value.array], lambda array: self.column(pandas, numpy, array, depth))
        elif issubclass(kind, pandas.Index):
            self.index(pandas, numpy, value, depth)
        elif issubclass(kind, pandas.api.extensions.ExtensionArray):
            self.column(pandas, numpy, value, depth)
        elif kind in (pandas.Timestamp, pandas.Timedelta):
            zone = getattr(value, "tzinfo", None)
            self.put(_NAME_OF(kind).encode(), f"{value.value} {value.unit}".encode())
            self.value(zone, depth + 1)
        elif value is pandas.NA or value is pandas.NaT:
            self.none(value, depth)
        else:
            raise Unknown

    def frame(self, pandas, numpy, value, depth):
        count = value.shape[1]
        if count > MAX_COLUMNS:
            raise Unknown
        self.put(b"frame", repr(value.shape).encode())
        self.index(pandas, numpy, value.index, depth)
        self.index(pandas, numpy, value.columns, depth)
        arrays = [value.iloc[:, at].array for at in range(count)]
        self.each_column(arrays, lambda array: self.column(pandas, numpy, array, depth))

    def index(self, pandas, numpy, value, depth):
        self.value(list(value.names), depth + 1)
        if type(value) is pandas.RangeIndex:
            self.put(b"range", f"{value.start} {value.stop} {value.step}".encode())
        elif type(value) is pandas.MultiIndex:
            self.put(b"multi", str(value.nlevels).encode())
            for level, codes in zip(value.levels, value.codes):
                self.index(pandas, numpy, level, depth + 1)
                self.array(numpy, numpy.asarray(codes), depth)
        else:
            self.column(pandas, numpy, value.array, depth)

    def column(self, pandas, numpy, value, depth):
        kind, dtype = type(value), value.dtype
        if library_of(kind) != "pandas" and not _MODULE_OF(kind).startswith("pandas.core.arrays."):
            raise Unknown
        name = _NAME_OF(kind)
        zone = getattr(dtype, "tz", None)
        if zone is not None:
            self.value(zone, depth + 1)
        if name in ("PandasArray", "NumpyExtensionArray"):
            return self.array(numpy, value.to_numpy(), depth)
        self.put(b"column", f"{name} {dtype.name}".encode())
        if name == "Categorical":
            self.put(b"ordered" if value.ordered else b"not ordered")
            self.index(pandas, numpy, value.categories, depth)
            return self.array(numpy, value.codes, depth)
        if name in ("DatetimeArray", "TimedeltaArray", "PeriodArray"):
            return self.array(numpy, value.asi8, depth)
        if name in ("IntegerArray", "FloatingArray", "BooleanArray"):
            self.array(numpy, numpy.where(value._mask, value._data.dtype.type(0), value._data), depth)
            return self.array(numpy, value._mask, depth)
        chunked = getattr(value, "_pa_array", None)
        if chunked is not None and self.arrow(numpy, chunked.type, chunked.chunks):
            return None
        return self.sequence(value.to_numpy(dtype=object).tolist(), depth + 1)

    # Arrow and polars

    def arrow(self, numpy, kind, chunks):
        """Takes up a column of Arrow's, whatever pieces it is in; false when it is of a kind that is not known."""
        text, nulls, parts, lengths = str(kind), [], [], []
        widths = {"string": numpy.int32, "binary": numpy.int32, "large_string": numpy.int64, "large_binary": numpy.int64}
        if text not in widths and text not in _ARROW_WIDTHS and not text.startswith(("timestamp[", "duration[", "time64[")):
            return False
        for chunk in chunks:
            begin, end, buffers = chunk.offset, chunk.offset + len(chunk), chunk.buffers()
            if chunk.null_count and buffers[0] is not None:
                bits = numpy.unpackbits(numpy.frombuffer(buffers[0], numpy.uint8), bitorder="little")
                nulls.append(bits[begin:end])
            else:
                nulls.append(numpy.ones(len(chunk), numpy.uint8))
            if text in widths:
                ends = numpy.frombuffer(buffers[1], widths[text])[begin : end + 1]
                lengths.append(numpy.diff(ends).astype(numpy.int64))
                parts.append(memoryview(buffers[2])[ends[0] : ends[-1]] if buffers[2] is not None and len(ends) else b"")
            else:
                width = _ARROW_WIDTHS.get(text, 8)
                parts.append(memoryview(buffers[1])[begin * width : end * width] if len(chunk) else b"")
        self.put(b"arrow", f"{text} {sum(map(len, nulls))}".encode())
        for arrays in (nulls, lengths):
            if arrays:
                self.array(numpy, numpy.concatenate(arrays), 0)
        self.memory(b"items", parts[0] if len(parts) == 1 else b"".join(parts))
        return True

    def polars(self, polars, value, depth):
        # Only single pieces are handed to Arrow: anything else would wait in a fork for polars' own threads.
        numpy, kind = sys.modules.get("numpy"), type(value)
        if numpy is None or kind not in (polars.DataFrame, polars.Series):
            raise Unknown
        columns = value.get_columns() if kind is polars.DataFrame else [value]
        if len(columns) > MAX_COLUMNS:
            raise Unknown
        self.put(b"polars", _NAME_OF(kind).encode())
        for column in columns:
            self.put(b"name", column.name.encode())
        self.each_column(columns, lambda column: self.polars_column(numpy, column))

    def polars_column(self, numpy, column):
        chunks = [piece.to_arrow() for piece in column.get_chunks()]
        if not chunks or not self.arrow(numpy, chunks[0].type, chunks):
            raise Unknown


# Kinds of Arrow's with so many bytes an item.
_ARROW_WIDTHS = {
    "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "halffloat": 2,
    "float": 4, "double": 8, "date32[day]": 4, "date64[ms]": 8, "time32[s]": 4, "time32[ms]": 4,
}  # fmt: skip

_readers = {
    type(None): _Reader.none,
    type(Ellipsis): _Reader.none,
    type(NotImplemented): _Reader.none,
    int: _Reader.int,
    bool: _Reader.bool,
    float: _Reader.float,
    complex: _Reader.complex,
    str: _Reader.str,
    bytes: _Reader.bytes,
    bytearray: _Reader.bytes,
    list: _Reader.sequence,
    tuple: _Reader.sequence,
    collections.deque: _Reader.deque,
    dict: _Reader.dict,
    collections.OrderedDict: _Reader.dict,
    collections.Counter: _Reader.dict,
    collections.defaultdict: _Reader.defaults,
    set: _Reader.set,
    frozenset: _Reader.set,
    range: _Reader.plainly,
    datetime.date: _Reader.plainly,
    datetime.timedelta: _Reader.plainly,
    datetime.datetime: _Reader.zoned,
    datetime.time: _Reader.zoned,
    decimal.Decimal: _Reader.plainly,
    fractions.Fraction: _Reader.plainly,
    uuid.UUID: _Reader.plainly,
    re.Pattern: _Reader.pattern,
    types.FunctionType: _Reader.function,
    types.CodeType: _Reader.code,
    types.MethodType: _Reader.method,
    staticmethod: _Reader.wrapped,
    classmethod: _Reader.wrapped,
    property: _Reader.property,
    types.BuiltinFunctionType: _Reader.builtin,
    types.WrapperDescriptorType: _Reader.descriptor,
    types.MethodDescriptorType: _Reader.descriptor,
    types.ModuleType: _Reader.module,
    type: _Reader.klass,
}

_libraries = {"numpy": _Reader.numpy, "pandas": _Reader.pandas, "polars": _Reader.polars}


# -- summaries --------------------------------------------------------------------------------------------------------


def size_in_bytes(value):
    """How much memory a value takes, as far as it is known cheaply: containers without what is in them."""
    kind = type(value)
    library = library_of(kind)
    try:
        if library == "numpy" and kind.__name__ in ("ndarray", "memmap"):
            return int(value.nbytes)
        if library == "pandas" and kind.__name__ == "DataFrame":
            return int(value.memory_usage(index=True, deep=False).sum())
        if library == "pandas" and kind.__name__ in ("Series", "Index", "RangeIndex", "MultiIndex", "DatetimeIndex"):
            return int(value.memory_usage(deep=False))
    except Exception:  # a library that is not as expected
        return None
    if kind in _readers and kind not in (type, types.FunctionType, types.ModuleType, types.BuiltinFunctionType):
        return sys.getsizeof(value)
    return None


def summary(value, columns, deadline):
    """What is in an array, a series or a frame, as protocol.js says it; none for anything else.

    `columns` says of its columns what fingerprint_and_columns does, as far as time was left.
    """
    kind = type(value)
    library = library_of(kind)
    try:
        if library == "numpy" and kind.__name__ in ("ndarray", "memmap"):
            numbers = _stats(sys.modules["numpy"], value, deadline)
            return {"kind": "array", "shape": list(map(int, value.shape)), "dtype": str(value.dtype), **numbers}
        if library in ("pandas", "polars") and kind.__name__ in ("DataFrame", "Series"):
            return _frame(library, value, kind.__name__, columns, deadline)
    except Exception:  # a library that is not as expected
        pass
    return None


def _frame(library, value, kind, columns, deadline):
    of = _pandas_column if library == "pandas" else _polars_column
    if kind == "Series":
        pieces = [(value.name, value)]
    elif library == "pandas":
        pieces = [(value.columns[at], value.iloc[:, at]) for at in range(min(value.shape[1], MAX_TOLD_COLUMNS))]
    else:
        pieces = [(column.name, column) for column in value.get_columns()[:MAX_TOLD_COLUMNS]]
    count = 1 if kind == "Series" else int(value.shape[1])
    told = []
    for at, (name, column) in enumerate(pieces):
        own = columns[at] if at < len(columns) else {"fingerprint": None, "sampled": False}
        told.append({"name": _words(name), "dtype": str(column.dtype), **own, **of(column, deadline)})
    return {"kind": "frame", "rows": int(value.shape[0]), "columns": told, "more": max(0, count - len(pieces))}


def _words(name):
    """The name of a column: mostly text; what else it is by its repr, if that is not the user's."""
    if type(name) is str:
        return name[:200]
    plain = (int, float, bool, type(None), tuple, bytes, datetime.date)
    if type(name) is tuple and not all(type(part) in (str, *plain[:4]) for part in name):
        return "(…)"
    return repr(name)[:200] if type(name) in plain or library_of(type(name)) else f"<{_NAME_OF(type(name))}>"


def _pandas_column(column, deadline):
    numpy, values = sys.modules["numpy"], column.array
    name = _NAME_OF(type(values))
    if name in ("PandasArray", "NumpyExtensionArray"):
        return _stats(numpy, values.to_numpy(), deadline)
    if name in ("DatetimeArray", "TimedeltaArray"):
        return _stats(numpy, values.asi8.view(f"{values.dtype.kind}8[{values.unit}]"), deadline)
    if name in ("IntegerArray", "FloatingArray", "BooleanArray"):
        told = _stats(numpy, values._data[~values._mask], deadline)
        return {**told, "nulls": told.get("nulls", 0) + int(values._mask.sum())}
    if name == "Categorical":
        return {"nulls": int((values.codes < 0).sum())}
    return {"nulls": int(values.isna().sum())} if len(values) <= 1_000_000 else {}


def _polars_column(column, _deadline):
    return {"nulls": int(column.null_count())}


def _stats(numpy, array, deadline):
    """Least, greatest, mean, and how many are missing."""
    kind = array.dtype.kind
    if array.size == 0 or array.nbytes > MAX_TOLD_BYTES or time.process_time() > deadline:
        return {}
    if kind == "O":
        items = array.ravel().tolist() if array.size <= 1_000_000 else []
        return {"nulls": sum(1 for i in items if i is None or type(i) is float and i != i)} if items else {}
    if kind not in "biufmM":
        return {}
    missing = numpy.isnan(array) if kind == "f" else numpy.isnat(array) if kind in "mM" else None
    nulls = int(missing.sum()) if missing is not None else 0
    if nulls:
        array = array[~missing]
    if array.size == 0:
        return {"nulls": nulls}
    told = {"min": _number(array.min()), "max": _number(array.max()), "nulls": nulls}
    if kind in "biuf":
        with numpy.errstate(all="ignore"):
            told["mean"] = _mean(array.mean(dtype=float))
    return told


def _number(value):
    """A number as JSON has it; what it has not, and times, as text."""
    if value.dtype.kind in "mM":
        return str(value)
    value = value.item()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, (int, float)) else str(value)


def _mean(value):
    value = float(value)
    return value if math.isfinite(value) else None
