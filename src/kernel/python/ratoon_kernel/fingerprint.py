"""Computes fingerprints: short digests of values. Equal values have equal fingerprints in all
branches and after a restart.

Only objects of known types are read, so no user code runs: no `__eq__`, no `__hash__`, no
`__reduce__`. A value of an unknown type has no fingerprint, and a container of such a value has
none. A fingerprint depends on types, content and the order of dictionaries. It does not depend on
whether parts are shared.

An array or text of more than MAX_WHOLE_BYTES is sampled. The fingerprint then depends on the length
and on SAMPLES pieces of SAMPLE_BYTES, spread evenly from the first byte to the last. Changes
between these pieces are not detected.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import hashlib
import marshal
import pathlib
import re
import struct
import sys
import time
import types
import uuid
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ._native import digest
from .adapter import Columns, Unknown, registry
from .classes import is_made_at_run_time, module_of, name_of

# Maximum size of a value that is read completely. Reading this many bytes takes some 50 ms.
MAX_WHOLE_BYTES = 128 * 1024 * 1024
SAMPLES = 512
SAMPLE_BYTES = 16 * 1024
# Maximum number of items in one value that are visited one by one, and their maximum nesting.
MAX_ITEMS = 200_000
MAX_DEPTH = 30
# Minimum and maximum length of a list that is read in one call because it contains only plain
# items. MAX_ITEMS does not apply to such a list.
MIN_FLAT = 16
MAX_FLAT = 5_000_000

_FLAT = frozenset({int, float, bool, str, bytes, type(None)})
# The newest format of marshal in which equal values have equal bytes.
_FLAT_CODES = 2
_BASES_OF = type.__dict__["__mro__"].__get__
_DICT_OF = type.__dict__["__dict__"].__get__
_QUALNAME_OF = type.__dict__["__qualname__"].__get__
_SIZE_OF = type.__dict__["__basicsize__"].__get__
_ITEM_SIZE_OF = type.__dict__["__itemsize__"].__get__
# Attributes that Python adds to a class. They do not belong to its content.
_NOT_WRITTEN = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __qualname__ __firstlineno__ __static_attributes__"
    " __abstractmethods__ _abc_impl __annotations__ __annotate__ __annotate_func__"
    " __annotations_cache__ __conditional_annotations__ __slotnames__".split()
)
# Modules with time zones and paths whose `repr` shows all of their content.
_PLAIN_MODULES = frozenset(
    "datetime zoneinfo pathlib pathlib._local pytz pytz.tzfile dateutil.tz.tz".split()
)


class OutOfTime(Exception):
    """The deadline has passed."""


def fingerprint(value: Any, deadline: float) -> str | None:
    """Returns the fingerprint of a value: 32 hexadecimal digits.

    Returns None if the value has no fingerprint, or if `time.process_time()` has passed the
    deadline.
    """
    return fingerprint_and_columns(value, deadline)[0]


def fingerprint_and_columns(value: Any, deadline: float) -> tuple[str | None, bool, Columns]:
    """Returns the fingerprint, whether a part of the value was sampled, and the columns if the
    value is a frame."""
    if time.process_time() > deadline:
        return None, False, []
    reader = Reader(deadline)
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(max(limit, 3000))
        reader.value(value, 0)
        return reader.hash.hexdigest(), reader.is_sampled, reader.columns
    except Exception:  # Unknown, OutOfTime, or an unexpected version of a library
        return None, False, reader.columns
    finally:
        sys.setrecursionlimit(limit)


class Reader:
    """Reads one value into a hash."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.hash = hashlib.blake2b(digest_size=16)
        self.left = MAX_ITEMS
        # Maximum size in bytes of a value that is read completely.
        self.room = MAX_WHOLE_BYTES
        # The depth of each container that is being read, by the container's id.
        self.open: dict[int, int] = {}
        self.is_sampled = False
        self.columns: Columns = []

    def value(self, value: Any, depth: int) -> None:
        """Reads any value."""
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            raise Unknown
        if self.left % 256 == 0:
            self.check()
        kind = type(value)
        read = _readers.get(kind)
        if read is not None:
            read(self, value, depth)
            return
        adapter = registry.of_known_class(kind)
        if adapter is not None and adapter.fingerprint(self, value, depth):
            return
        if issubclass(kind, type):
            self._class(value, depth)
        elif issubclass(kind, (datetime.tzinfo, pathlib.PurePath)):
            if module_of(kind) not in _PLAIN_MODULES:
                raise Unknown
            self._by_repr(value, depth)
        else:
            self._instance(kind, value, depth)

    # For adapters

    def check(self) -> None:
        if time.process_time() > self.deadline:
            raise OutOfTime

    def put(self, tag: bytes, data: bytes | bytearray = b"") -> None:
        """Adds bytes to the hash, with their kind (`tag`)."""
        self.hash.update(struct.pack("<BQ", len(tag), len(data)))
        self.hash.update(tag)
        self.hash.update(data)

    def memory(self, tag: bytes, data: Any) -> None:
        """Adds the content of memory to the hash. Adds only samples if it is larger than `room`."""
        self.check()
        view = memoryview(data)
        # Arrow's buffers have signed bytes, and `digest` accepts only unsigned bytes.
        view = view if view.format == "B" else view.cast("B")
        count = len(view)
        if count <= self.room:
            self.put(tag, digest(view).encode() if count > 256 else bytes(view))
            return
        self.is_sampled = True
        pieces = b"".join(view[at : at + SAMPLE_BYTES] for at in _sampled(count))
        self.put(tag + b" sampled", f"{count} {digest(pieces)}".encode())

    def sequence(self, value: Any, depth: int) -> None:
        """Reads a container and its items in order."""
        if self._is_open(value, depth):
            return
        self.put(name_of(type(value)).encode(), str(len(value)).encode())
        if type(value) in (list, tuple) and self._flat(value):
            return
        self.open[id(value)] = depth
        for item in value:
            self.value(item, depth + 1)
        del self.open[id(value)]

    def each_column(self, columns: Sequence[Any], read: Callable[[Any], None]) -> None:
        """Reads the columns of a frame. If a column has no fingerprint, the frame has none either,
        but the other columns have their fingerprints."""
        self.room = MAX_WHOLE_BYTES // max(1, len(columns))
        outside, is_sampled = dict(self.open), self.is_sampled
        for column in columns:
            self.is_sampled = False
            one: bytes | None
            try:
                one = self._apart(read, column)
            except OutOfTime:
                raise
            except Exception:  # Unknown, or an unexpected version of a library
                one, self.open = None, dict(outside)
            is_sampled = is_sampled or self.is_sampled
            result = {"fingerprint": one and one.hex(), "sampled": self.is_sampled}
            self.columns.append(result)
            self.hash.update(one or b"")
        self.is_sampled = is_sampled
        if any(column["fingerprint"] is None for column in self.columns):
            raise Unknown

    def _apart(self, read: Callable[..., None], *arguments: Any) -> bytes:
        """Calls `read` with a separate hash, and returns the digest of this hash."""
        outer, self.hash = self.hash, hashlib.blake2b(digest_size=16)
        try:
            read(*arguments)
            return self.hash.digest()
        finally:
            self.hash = outer

    # Plain values

    def _none(self, value: Any, depth: int) -> None:
        self.put(name_of(type(value)).encode())

    def _int(self, value: int, depth: int) -> None:
        data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        self.put(b"int", data)

    def _bool(self, value: bool, depth: int) -> None:
        self.put(b"bool", b"1" if value else b"0")

    def _float(self, value: float, depth: int) -> None:
        self.put(b"float", struct.pack("<d", value))

    def _complex(self, value: complex, depth: int) -> None:
        self.put(b"complex", struct.pack("<dd", value.real, value.imag))

    def _str(self, value: str, depth: int) -> None:
        count = len(value)
        if count <= self.room:
            self.memory(b"str", value.encode("utf-8", "surrogatepass"))
            return
        # Encodes only the samples, because encoding the whole text would double its memory.
        self.check()
        self.is_sampled = True
        pieces = (value[at : at + SAMPLE_BYTES] for at in _sampled(count))
        text = "".join(pieces).encode("utf-8", "surrogatepass")
        self.put(b"str sampled", f"{count} {digest(text)}".encode())

    def _bytes(self, value: bytes, depth: int) -> None:
        self.memory(name_of(type(value)).encode(), value)

    def _by_repr(self, value: Any, depth: int) -> None:
        """Reads the repr of a value. Only for types whose repr shows all of the content and runs no
        user code."""
        self.put(name_of(type(value)).encode(), repr(value).encode("utf-8", "backslashreplace"))

    def _zoned(self, value: Any, depth: int) -> None:
        zone = value.tzinfo
        if zone is not None:
            self.value(zone, depth + 1)
        self._by_repr(value.replace(tzinfo=None), depth)

    def _pattern(self, value: re.Pattern[Any], depth: int) -> None:
        self.value([value.pattern, value.flags], depth)

    # Containers

    def _is_open(self, value: Any, depth: int) -> bool:
        """Whether a container is inside itself. If so, adds the number of levels between its two
        occurrences to the hash, and the caller must not read it."""
        if id(value) in self.open:
            self.put(b"outside", str(depth - self.open[id(value)]).encode())
            return True
        return False

    def _flat(self, items: Collection[Any]) -> bool:
        """Reads plain items in one call. Returns False, without reading any, if an item is not
        plain or there are fewer than MIN_FLAT items."""
        if len(items) < MIN_FLAT:
            return False
        if len(items) > MAX_FLAT:
            # Reading an item writes to its reference count, so this fork would copy the memory
            # pages of all items.
            raise Unknown
        kinds = set(map(type, items))
        if not kinds <= _FLAT:
            return False
        self.check()
        if kinds & {str, bytes}:
            if sum(len(item) for item in items if type(item) in (str, bytes)) > MAX_WHOLE_BYTES:
                raise Unknown
        self.memory(b"flat", marshal.dumps(list(items), _FLAT_CODES))
        return True

    def _deque(self, value: collections.deque[Any], depth: int) -> None:
        self.put(b"maxlen", str(value.maxlen).encode())
        self.sequence(value, depth)

    def _dict(self, value: dict[Any, Any], depth: int) -> None:
        if self._is_open(value, depth):
            return
        self.put(name_of(type(value)).encode(), str(len(value)).encode())
        if type(value) is dict and self._flat(list(value)) and self._flat(list(value.values())):
            return
        self.open[id(value)] = depth
        for key, item in value.items():
            self.value(key, depth + 1)
            self.value(item, depth + 1)
        del self.open[id(value)]

    def _defaults(self, value: collections.defaultdict[Any, Any], depth: int) -> None:
        self.value(value.default_factory, depth + 1)
        self._dict(value, depth)

    def _set(self, value: Any, depth: int) -> None:
        self.put(name_of(type(value)).encode(), str(len(value)).encode())
        for item in sorted(self._apart(self.value, item, depth + 1) for item in value):
            self.hash.update(item)

    # Code

    def _function(self, value: types.FunctionType, depth: int) -> None:
        if self._is_open(value, depth):
            return
        self.open[id(value)] = depth
        self.put(b"function")
        self.value([value.__module__, value.__qualname__], depth + 1)
        self._code(value.__code__, depth + 1)
        self.value(value.__defaults__, depth + 1)
        self.value(value.__kwdefaults__, depth + 1)
        for cell in value.__closure__ or ():
            inside: Any
            try:
                inside = cell.cell_contents
            except ValueError:
                inside = Ellipsis  # not filled yet
            self.value(inside, depth + 1)
        del self.open[id(value)]

    def _code(self, value: types.CodeType, depth: int) -> None:
        self.put(b"code", value.co_code)
        counts = [value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount]
        names = [value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars]
        self.value([value.co_name, *counts, *names, value.co_flags], depth)
        self.sequence(value.co_consts, depth)

    def _method(self, value: types.MethodType, depth: int) -> None:
        self.put(b"method")
        self.value(value.__func__, depth + 1)
        self.value(value.__self__, depth + 1)

    def _wrapped(self, value: Any, depth: int) -> None:
        """Reads a staticmethod or a classmethod."""
        self.put(name_of(type(value)).encode())
        self.value(value.__func__, depth + 1)

    def _property(self, value: Any, depth: int) -> None:
        self.put(b"property")
        self.value([value.fget, value.fset, value.fdel], depth + 1)

    def _builtin(self, value: Any, depth: int) -> None:
        owner = value.__self__
        self.put(b"builtin")
        self.value([value.__module__, value.__qualname__], depth + 1)
        if owner is not None and type(owner) is not types.ModuleType:
            self.value(owner, depth + 1)

    def _descriptor(self, value: Any, depth: int) -> None:
        owner = value.__objclass__
        self.put(b"descriptor", f"{_QUALNAME_OF(owner)} {value.__name__}".encode())

    def _module(self, value: types.ModuleType, depth: int) -> None:
        name = vars(value).get("__name__")
        if type(name) is not str:
            raise Unknown
        self.put(b"module", name.encode())

    def _class(self, value: Any, depth: int) -> None:
        """Reads a class. Reads only the name if the class is importable, and also the content if a
        cell has defined it."""
        if self._is_open(value, depth):
            return
        written = _DICT_OF(value)
        module = type.__dict__["__module__"].__get__(value)
        self.put(b"class", f"{module} {_QUALNAME_OF(value)}".encode())
        is_importable = type(module) is str and module != "__main__" and module in sys.modules
        if is_importable or value is object:
            return
        self.open[id(value)] = depth
        self.value(type(value), depth + 1)
        for base in _BASES_OF(value)[1:]:
            self.value(base, depth + 1)
        for key in sorted(key for key in written if type(key) is str and key not in _NOT_WRITTEN):
            if type(written[key]) in (types.GetSetDescriptorType, types.MemberDescriptorType):
                continue  # derived from `__slots__`, which is read itself
            self.put(b"name", key.encode("utf-8", "surrogatepass"))
            self.value(written[key], depth + 1)
        del self.open[id(value)]

    def _instance(self, kind: type, value: Any, depth: int) -> None:
        """Reads an object that has only attributes, and whose class is written in Python."""
        if self._is_open(value, depth):
            return
        bases = _BASES_OF(kind)
        for base in bases[:-1]:
            # Objects of classes written in C may have hidden content. Attributes in `__slots__` are
            # not in the object's dictionary.
            is_plain = is_made_at_run_time(base) and "__slots__" not in _DICT_OF(base)
            if not is_plain or not isinstance(type.__dict__["__module__"].__get__(base), str):
                raise Unknown
        holders = (_DICT_OF(base) for base in bases)
        holder: Any = next((one["__dict__"] for one in holders if "__dict__" in one), None)
        size = object.__basicsize__ + 2 * struct.calcsize("P")
        has_more = _SIZE_OF(kind) > size or _ITEM_SIZE_OF(kind)
        if type(holder) is not types.GetSetDescriptorType or has_more:
            raise Unknown
        self.put(b"instance")
        self.value(kind, depth + 1)
        attributes = holder.__get__(value)
        if type(attributes) is not dict:
            raise Unknown
        self.open[id(value)] = depth
        self._dict(attributes, depth + 1)
        del self.open[id(value)]


def _sampled(count: int) -> list[int]:
    """Returns the positions of the samples in a value of this length."""
    step = (count - SAMPLE_BYTES) / (SAMPLES - 1)
    return [int(at * step) for at in range(SAMPLES)]


_readers: dict[Any, Callable[..., None]] = {
    type(None): Reader._none,
    type(Ellipsis): Reader._none,
    type(NotImplemented): Reader._none,
    int: Reader._int,
    bool: Reader._bool,
    float: Reader._float,
    complex: Reader._complex,
    str: Reader._str,
    bytes: Reader._bytes,
    bytearray: Reader._bytes,
    list: Reader.sequence,
    tuple: Reader.sequence,
    collections.deque: Reader._deque,
    dict: Reader._dict,
    collections.OrderedDict: Reader._dict,
    collections.Counter: Reader._dict,
    collections.defaultdict: Reader._defaults,
    set: Reader._set,
    frozenset: Reader._set,
    range: Reader._by_repr,
    datetime.date: Reader._by_repr,
    datetime.timedelta: Reader._by_repr,
    datetime.datetime: Reader._zoned,
    datetime.time: Reader._zoned,
    decimal.Decimal: Reader._by_repr,
    fractions.Fraction: Reader._by_repr,
    uuid.UUID: Reader._by_repr,
    re.Pattern: Reader._pattern,
    types.FunctionType: Reader._function,
    types.CodeType: Reader._code,
    types.MethodType: Reader._method,
    staticmethod: Reader._wrapped,
    classmethod: Reader._wrapped,
    property: Reader._property,
    types.BuiltinFunctionType: Reader._builtin,
    types.WrapperDescriptorType: Reader._descriptor,
    types.MethodDescriptorType: Reader._descriptor,
    types.ModuleType: Reader._module,
    type: Reader._class,
}
# Types for which `sys.getsizeof` returns much less than the memory that an object takes.
_WITHOUT_SIZE = (type, types.FunctionType, types.ModuleType, types.BuiltinFunctionType)


# -- summaries -------------------------------------------------------------------------------------


def size_in_bytes(value: Any) -> int | None:
    """Returns the memory of a value, or None if it cannot be found cheaply. Does not count the
    items of a container."""
    kind = type(value)
    adapter = registry.of_known_class(kind)
    try:
        size = adapter.size_in_bytes(value) if adapter is not None else None
    except Exception:  # an unexpected version of a library
        return None
    if size is None and kind in _readers and kind not in _WITHOUT_SIZE:
        return sys.getsizeof(value)
    return size


def summary(value: Any, columns: Columns, deadline: float) -> dict[str, Any] | None:
    """Returns the summary of an array, a series or a frame that the page shows (protocol.js).

    `columns` is a result of `fingerprint_and_columns`. The summary is incomplete if the deadline
    has passed.
    """
    adapter = registry.of_known_class(type(value))
    try:
        return adapter.summary(value, columns, deadline) if adapter is not None else None
    except Exception:  # an unexpected version of a library
        return None
