"""Keeps branches from waiting for the output of a program that another branch reads.

All branches of a state share the pipes of a program that a cell has started. What one branch reads,
no other gets, and the others would wait, perhaps for ever. So the output belongs to the lineage
that reads it first. A run of another lineage gets an error at once, as long as the process of the
run that has read last exists.
"""

from __future__ import annotations

import functools
import io
import os
import subprocess
from typing import Any

from ._native import SharedNumber
from .shell import running

# The process that runs cells: this one, or an ancestor if user code has forked.
_process = 0


def note_process() -> None:
    """Called in the root, and in each child that the kernel forks."""
    global _process
    _process = os.getpid()


def _run() -> int:
    """Identifies the running cell: the process, and how many cells it has begun."""
    return _process << 32 | running.number & 0xFFFF_FFFF


class _Reading:
    """Which run reads the output of a program."""

    def __init__(self, program: str) -> None:
        self.program = program
        # The run that has read last, in memory that all processes share. 0: none has.
        self.last = SharedNumber()
        # The runs of this lineage that have read.
        self.lineage: set[int] = set()

    def begin(self) -> None:
        """Called before reading. Raises an error if the output belongs to another lineage."""
        run = _run()
        while (last := self.last.get()) != run:
            if last and last not in self.lineage and began(last >> 32) is not None:
                raise OSError(
                    f"another branch reads the output of {self.program}, and what one branch reads"
                    " the others do not get: start the program again in this branch"
                )
            if self.last.replace(last, run):
                self.lineage.add(run)
                return


def began(pid: int) -> Any:
    """Returns the start time of a running process, or None. The pid and the start time together
    identify a process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in b"ZX" else fields[19]


class _PipeEnd(io.FileIO):
    """The end of a pipe from which the output of a program is read."""

    reading: _Reading

    def readinto(self, memory: Any) -> Any:
        self.reading.begin()
        return super().readinto(memory)

    def readall(self) -> Any:
        self.reading.begin()
        return super().readall()

    def read(self, size: int | None = -1) -> Any:
        self.reading.begin()
        return super().read(-1 if size is None else size)


def watch(process: Any) -> None:
    """Called when a program has started. Replaces the ends of its pipes."""
    streams = {
        name: stream
        for name in ("stdout", "stderr")
        if (stream := getattr(process, name)) is not None
    }
    if not streams:
        return
    reading = process._ratoon_reading = _Reading(f"program {process.pid}")
    for name, stream in streams.items():
        setattr(process, name, _with_own_end(stream, reading))


def _with_own_end(stream: Any, reading: _Reading) -> Any:
    """Returns the same stream with a `_PipeEnd` below it."""
    if isinstance(stream, io.TextIOWrapper):
        encoding, errors = stream.encoding, stream.errors
        buffer = _with_own_end(stream.detach(), reading)
        return io.TextIOWrapper(buffer, encoding=encoding, errors=errors)
    if isinstance(stream, io.BufferedReader):
        return io.BufferedReader(_with_own_end(stream.detach(), reading))
    end = _PipeEnd(os.dup(stream.fileno()))
    end.reading = reading
    stream.close()
    return end


def boot() -> None:
    """Wraps the method that reads without these streams."""
    note_process()
    popen: Any = subprocess.Popen
    communicate = popen.communicate

    @functools.wraps(communicate)
    def communicate_as_owner(process: Any, *args: Any, **kwargs: Any) -> Any:
        reading = process.__dict__.get("_ratoon_reading")
        if reading is not None:
            reading.begin()
        return communicate(process, *args, **kwargs)

    popen.communicate = communicate_as_owner
