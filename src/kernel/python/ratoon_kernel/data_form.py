"""The data form of a checkpoint: plain values in typed MessagePack. Reading it executes nothing.

A value is MessagePack that any reader understands: nil, booleans, integers, floats, text, bytes,
arrays (lists) and maps (dictionaries). A value of another type is a map of one pair: the key is the
extension type MARK with the number of the type, the value contains the object's parts. Containers
are numbered in the order in which they begin. A later value can refer to a container by its number,
so objects stay shared, and an object can contain itself.
"""

from __future__ import annotations

import types
from typing import Any

MARK = 0x52
# Values that are nested more deeply are not plain, because the reader is recursive.
MAX_DEPTH = 200
# Maximum number of parts of one variable: writing more takes too long for a preview.
MAX_COUNT = 2_000_000
# A list of at least this many numbers of one type, or of texts, is written as one piece.
MIN_PACKED = 32
# Maximum number of items that are hashed for keys. It is more than MAX_COUNT, because tuples may be
# shared. Hashing so many takes a second.
MAX_HASHED = 4 * MAX_COUNT
# Larger bytes become buffers.
LARGE_BYTES = 256 * 1024

(
    BIG_INT, SURROGATES, BYTEARRAY, TUPLE, SET, FROZENSET, COMPLEX, DATETIME, DATE, TIME, TIMEDELTA,
    DECIMAL, UUID, PATH, RANGE, SLICE, SAME, PLACEHOLDER, ARRAY, SCALAR, FRAME, SERIES, INDEX,
    TABLE, TIMEZONE, DEQUE, ORDERED, COUNTER, DEFAULTS, PACKED, BYTES_KEPT, ELLIPSIS,
) = range(32)  # fmt: skip

# Factories of a defaultdict that are written by their name.
FACTORIES: dict[str, type] = {
    "list": list, "dict": dict, "set": set, "int": int, "float": float, "str": str,
}  # fmt: skip


class NotPlain(Exception):
    """The data form cannot represent a value."""


class Malformed(ValueError):
    """No Encoder wrote these bytes."""

    def __init__(self, what: str = "its values are damaged") -> None:
        super().__init__(what)


class Placeholder:
    """Replaces a value that is not plain."""

    __slots__ = ("size", "type_name")

    def __init__(self, type_name: str, size: str | None = None) -> None:
        self.type_name = type_name
        self.size = size

    def __repr__(self) -> str:
        size = f", {self.size}" if self.size else ""
        return f"<not a plain value: {self.type_name}{size}>"


def is_left_out(name: str, value: Any) -> bool:
    """Whether the data form omits a name: it is `__like_this__`, or its value is a function, class
    or module."""
    if name.startswith("__") and name.endswith("__"):
        return True
    code = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
    # Not isinstance, which runs the object's code.
    return issubclass(type(value), (type, types.ModuleType, *code))
