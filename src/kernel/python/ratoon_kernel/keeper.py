"""The interface for the bytes of a checkpoint: blobs (checkpoint.rs), or a pipe (transfer.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

CHUNK_BYTES = 4 << 20

# The manifest's entry of a buffer or a stream: its "bytes", its "chunks", and more.
Kept = dict[str, Any]


class Sink(Protocol):
    """Stores bytes."""

    def expect(self, count: int, /) -> None:
        """Announces the approximate number of bytes that will come."""

    def put(self, memory: Any, again: bool, /) -> tuple[int, list[str]]:
        """Cuts bytes into chunks and stores them. Returns their count and the chunks. `again`: the
        same memory may be stored again.
        """


class Source(Protocol):
    """Reads bytes."""

    def check(self, count: int, chunks: Sequence[str], /) -> int:
        """Returns `count`. Fails if the chunks cannot hold so many bytes, or there is not enough
        memory."""

    def fill(self, memory: Any, chunks: Sequence[str], /) -> None:
        """Fills memory with chunks. Each chunk is verified before it is used."""


class LimitedSource(Source, Protocol):
    """Reads bytes that may be untrusted, within limits."""

    def too_large(self) -> str:
        """Describes a value that exceeds the memory limit."""

    def lift(self) -> None:
        """Lifts the limits while a library is imported."""

    def limit_again(self) -> None: ...
