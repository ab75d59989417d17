"""Writes many numbers or texts as one piece of memory: much faster than one by one."""

from __future__ import annotations

import array
from collections.abc import Collection
from typing import Any

# The letter of the type, the number of items, and their bytes.
Packed = tuple[str, int, bytes]


def pack(items: Collection[Any]) -> Packed | None:
    """Packs floats, integers of 64 bits, or texts without a NUL. Returns None for others."""
    kinds = set(map(type, items))
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    try:
        if kind is float:
            return "d", len(items), array.array("d", items).tobytes()
        if kind is int:
            return "q", len(items), array.array("q", items).tobytes()
        if kind is str:
            text = "\0".join(items)
            is_whole = text.count("\0") == len(items) - 1
            return ("u", len(items), text.encode()) if is_whole else None
    except (OverflowError, UnicodeEncodeError):
        pass
    return None


def unpack(letter: str, count: int, data: bytes | bytearray) -> list[Any]:
    """Returns the items that were packed. Raises ValueError if these are none."""
    if letter in ("q", "d") and len(data) == 8 * count:
        return list(array.array(letter, bytes(data)))
    if letter == "u" and data.count(b"\0") == count - 1:
        return str(data, "utf-8").split("\0")
    raise ValueError
