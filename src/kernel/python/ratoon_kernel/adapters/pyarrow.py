"""Writes tables of Arrow as plain values, and reads Arrow columns of pandas and polars for
fingerprints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..adapter import Adapter
from ..data_form import TABLE, Malformed
from . import numpy as arrays

if TYPE_CHECKING:
    from ..data_decoder import Decoder
    from ..data_encoder import Encoder
    from ..fingerprint import Reader

# Versions before this one can run code that a table names (CVE-2023-47248).
OLDEST_SAFE_VERSION = 15

# The size of an item in bytes, by the name of its type in Arrow.
_WIDTHS = {
    "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8,
    "uint64": 8, "halffloat": 2, "float": 4, "double": 8, "date32[day]": 4, "date64[ms]": 8,
    "time32[s]": 4, "time32[ms]": 4,
}  # fmt: skip
_EIGHT_BYTES_WIDE = ("timestamp[", "duration[", "time64[")
# For each type with items of variable length: the type of the offsets at which its items begin.
_OFFSETS = {
    "string": "int32", "binary": "int32", "large_string": "int64", "large_binary": "int64",
}  # fmt: skip


def read_column(reader: Reader, kind: Any, chunks: Sequence[Any]) -> bool:
    """Feeds a column to the reader of a fingerprint. The fingerprint does not depend on how the
    column is divided into chunks. Returns False if the type of the column is unknown."""
    numpy, name = sys.modules["numpy"], str(kind)
    is_text = name in _OFFSETS
    if not is_text and name not in _WIDTHS and not name.startswith(_EIGHT_BYTES_WIDE):
        return False
    nulls, parts, lengths = [], [], []
    for chunk in chunks:
        begin, end, buffers = chunk.offset, chunk.offset + len(chunk), chunk.buffers()
        if chunk.null_count and buffers[0] is not None:
            bits = numpy.frombuffer(buffers[0], numpy.uint8)
            nulls.append(numpy.unpackbits(bits, bitorder="little")[begin:end])
        else:
            nulls.append(numpy.ones(len(chunk), numpy.uint8))
        if is_text:
            ends = numpy.frombuffer(buffers[1], _OFFSETS[name])[begin : end + 1]
            lengths.append(numpy.diff(ends).astype(numpy.int64))
            has_text = buffers[2] is not None and len(ends)
            parts.append(memoryview(buffers[2])[ends[0] : ends[-1]] if has_text else b"")
        else:
            width = _WIDTHS.get(name, 8)
            items = slice(begin * width, end * width)
            parts.append(memoryview(buffers[1])[items] if len(chunk) else b"")
    reader.put(b"arrow", f"{name} {sum(map(len, nulls))}".encode())
    for pieces in (nulls, lengths):
        if pieces:
            arrays.read_array(reader, numpy.concatenate(pieces), 0)
    reader.memory(b"items", parts[0] if len(parts) == 1 else b"".join(parts))
    return True


def _written(table: Any) -> bytes:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _decode_table(decoder: Decoder, depth: int) -> Any:
    pyarrow = decoder.library("pyarrow")
    if int(pyarrow.__version__.split(".")[0]) < OLDEST_SAFE_VERSION:
        raise Malformed("reading it is not safe with this old version of pyarrow")
    return pyarrow.ipc.open_stream(decoder.of(bytes)).read_all()


class Pyarrow(Adapter):
    library = "pyarrow"
    loses_nothing = True
    decoders = {TABLE: _decode_table}

    def encode(self, encoder: Encoder, value: Any, depth: int) -> bool:
        if type(value).__name__ != "Table":
            return False
        encoder.mark(TABLE)
        encoder.value(_written(value), depth)
        return True
