"""What a checkpoint is written to and read from: blobs (checkpoint.rs), or a pipe (transfer.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

CHUNK_BYTES = 4 << 20

# What the manifest says of a buffer or a stream: its "bytes", its "chunks", and more.
Kept = dict[str, Any]


class Sink(Protocol):
    """What bytes are written to."""

    def expect(self, count: int, /) -> None:
        """Says about how many bytes will come."""

    def put(self, memory: Any, again: bool, /) -> tuple[int, list[str]]:
        """Cuts bytes into chunks and keeps them; answers their count and the chunks.

        `again`: the same memory may be put again.
        """


class Source(Protocol):
    """What bytes are read from."""

    def check(self, count: int, chunks: Sequence[str], /) -> int:
        """Answers `count` if the chunks can hold so many bytes and there is memory for them."""

    def fill(self, memory: Any, chunks: Sequence[str], /) -> None:
        """Fills memory with chunks. Each is verified before it is used."""


class LimitedSource(Source, Protocol):
    """One that nobody may have vouched for, so there are limits."""

    def too_large(self) -> str:
        """What is said of a value that takes more memory than it may."""

    def lift(self) -> None:
        """Lifts the limits while a library is imported."""

    def limit_again(self) -> None: ...
