"""The data form of a checkpoint: plain values in MessagePack with additional types. Reading the
data form executes no code.

Any MessagePack reader understands nil, booleans, integers, floats, text, bytes, arrays (lists) and
maps (dictionaries). A value of another type is a map of one pair: the key is an extension of type
MARK that contains the number of the type, and the value contains the object's parts. Containers are
numbered in the order in which they begin. A later value can refer to a container by this number, so
objects stay shared, and an object can contain itself.
"""

from __future__ import annotations

import types
from typing import Any

MARK = 0x52
# Maximum nesting of a plain value. There is a limit because the decoder is recursive.
MAX_DEPTH = 200
# Maximum number of parts of one variable. Writing more parts takes too long for a preview.
MAX_COUNT = 2_000_000
# Minimum number of items that are written as one piece (PACKED): all integers, floats or texts.
# Keys and values of a dictionary are two pieces (DICT).
MIN_PACKED = 32
# Maximum number of items that are hashed because keys contain them: one second of hashing. Larger
# than MAX_COUNT, because a tuple that is shared by several keys is hashed for each of them.
MAX_HASHED = 4 * MAX_COUNT
# Bytes objects of at least this size are stored as separate buffers.
LARGE_BYTES = 256 * 1024

(
    BIG_INT, SURROGATES, BYTEARRAY, TUPLE, SET, FROZENSET, COMPLEX, DATETIME, DATE, TIME, TIMEDELTA,
    DECIMAL, UUID, PATH, RANGE, SLICE, SAME, PLACEHOLDER, ARRAY, SCALAR, FRAME, SERIES, INDEX,
    TABLE, TIMEZONE, DEQUE, ORDERED, COUNTER, DEFAULTS, PACKED, BYTES_KEPT, ELLIPSIS, DICT,
) = range(33)  # fmt: skip

# The factories of a defaultdict that the data form can represent. They are written by name.
FACTORIES: dict[str, type] = {
    "list": list, "dict": dict, "set": set, "int": int, "float": float, "str": str,
}  # fmt: skip


class NotPlain(Exception):
    """The data form cannot represent a value."""


class Malformed(ValueError):
    """The bytes are not a value that an Encoder writes."""

    def __init__(self, what: str = "its values are damaged") -> None:
        super().__init__(what)


class Placeholder:
    """Replaces a value that is not plain. Has the name of the value's type and, if known, its
    shape."""

    __slots__ = ("size", "type_name")

    def __init__(self, type_name: str, size: str | None = None) -> None:
        self.type_name = type_name
        self.size = size

    def __repr__(self) -> str:
        size = f", {self.size}" if self.size else ""
        return f"<not a plain value: {self.type_name}{size}>"


def is_left_out(name: str, value: Any) -> bool:
    """Whether the data form omits a variable. It omits functions, classes, modules, and names that
    begin and end with two underscores."""
    if name.startswith("__") and name.endswith("__"):
        return True
    code = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
    # `isinstance` would run code of the object.
    return issubclass(type(value), (type, types.ModuleType, *code))
