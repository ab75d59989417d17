"""Interfaces for storing and reading the bytes of a checkpoint. They are implemented for blobs
(checkpoint.rs) and for a pipe (transfer.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

CHUNK_BYTES = 4 << 20

# The manifest's entry for a buffer or a stream. "bytes" is the length, "chunks" are the chunks that
# contain the bytes.
Kept = dict[str, Any]


class Sink(Protocol):
    """Stores bytes."""

    def expect(self, count: int, /) -> None:
        """Sets the approximate number of bytes that will be stored. Progress reports use it."""

    def put(self, memory: Any, again: bool, /) -> tuple[int, list[str]]:
        """Cuts memory into chunks and stores them. Returns the number of bytes, and the chunks.
        `again`: the caller may store the same memory again later, so the result may be cached.
        """


class Source(Protocol):
    """Reads bytes."""

    def check(self, count: int, chunks: Sequence[str], /) -> int:
        """Returns `count`. Raises an error if `count` bytes do not fit the number of chunks, or if
        there is not enough memory for them."""

    def fill(self, memory: Any, chunks: Sequence[str], /) -> None:
        """Fills memory with the content of chunks."""


class LimitedSource(Source, Protocol):
    """Reads bytes that may be untrusted, within limits."""

    def too_large(self) -> str:
        """Returns the reason to report for a value that exceeds the memory limit."""

    def lift(self) -> None:
        """Lifts the limits while a library is imported."""

    def limit_again(self) -> None: ...
