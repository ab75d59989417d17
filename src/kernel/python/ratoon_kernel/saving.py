"""Writes the variables of a state in the environment form and in the data form. The two forms share
buffers."""

from __future__ import annotations

import os
import pickle
import re
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from json import dumps
from typing import Any, NoReturn

from . import cell_imports, cell_sources, changes, data_form, missing, pickling, settings
from . import shell as kernel
from .adapter import registry
from .adapters import ipython
from .data_encoder import Encoder
from .keeper import CHUNK_BYTES, Kept, Sink
from .missing import Lack
from .persistent_ids import PersistentIds
from .round_trip import RoundTrip
from .text import is_clean

FORMAT = "ratoon-checkpoint-1"
# Maximum time without progress while one variable is saved, in seconds. The time in which other
# processes have the processor does not count.
MAX_STANDSTILL = 30
# Size of the stack for pickling deeply nested objects. Only the used part of it takes memory.
DEEP_STACK_BYTES = 1 << 30
# Recursion limit for pickling deeply nested objects. A level of nesting takes three calls, so it
# allows 300,000 nested lists.
DEEP_RECURSION = 1_000_000

# Names that every module defines.
_OF_EVERY_MODULE = frozenset(
    "__name__ __doc__ __package__ __loader__ __spec__ __builtin__ __builtins__".split()
)
# Matches names of IPython's history, but not a user's name such as `_private`.
_SHELL_NAME = re.compile(r"_+|_i+|_i?\d+|_[oid]h")
# Types of objects that an import restores completely.
_IMPORTED = (type, types.FunctionType, types.BuiltinFunctionType)


class Saving:
    """Writes one checkpoint."""

    def __init__(self, keeper: Sink) -> None:
        self.keeper = keeper
        self.shell = kernel.shell
        self.namespace: dict[str, Any] = self.shell.user_ns
        self.buffers: list[Kept] = []
        # The number of each buffer, by its length, access and chunks.
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.missing: dict[str, Lack] = {}
        # The variables that loading changes, and the reason if this was not tried.
        self.changed: dict[str, str] = {}
        self.not_compared: str | None = None

    def run(self, form: str, umask: int) -> str:
        """Writes the checkpoint. Returns JSON: the manifest as text, and a summary of the manifest
        for the server."""
        names = dict(self._names())
        self.keeper.expect(sum(map(_size, names.values())) + 1)
        give_up_standstills()
        for name, lack in missing.lacking.items():
            if name not in self.namespace:
                self.missing[name] = lack
        python = "{}.{}".format(*sys.version_info)
        manifest: dict[str, Any] = {"format": FORMAT, "python": python}
        entries: dict[str, str] = {}
        parts = []
        if form == "environment":
            manifest.update(self._environment(names, umask, entries))
            parts.append(manifest["environment"])
        manifest["data"] = self._data(names, entries, form)
        parts.append(manifest["data"])
        manifest["buffers"] = self.buffers
        manifest["entries"] = [{"name": name, "type": kind} for name, kind in entries.items()]
        manifest["missing"] = list(self.missing.values())
        manifest["changed"] = [
            {"name": name, "type": entries[name], "what": what}
            for name, what in self.changed.items()
            if name in entries
        ]
        manifest["not_compared"] = self.not_compared
        kept = [*self.buffers, *(stream for part in parts for stream in part["streams"])]
        return dumps(
            {
                "manifest": dumps(manifest, sort_keys=True, separators=(",", ":")),
                "entry_count": len(entries),
                "namespace_bytes": sum(one["bytes"] for one in kept),
                "includes_source": form == "environment",
                "missing": manifest["missing"],
                "changed": manifest["changed"],
                "not_compared": self.not_compared,
            }
        )

    def _names(self) -> Iterator[tuple[str, Any]]:
        hidden = ipython.hidden_in_root
        for name, value in list(self.namespace.items()):
            if not isinstance(name, str) or name in _OF_EVERY_MODULE or not is_clean(name):
                continue
            is_hidden = name in hidden and hidden[name] is value
            if not is_hidden and not _SHELL_NAME.fullmatch(name):
                yield name, value

    # The environment form

    def _environment(
        self, names: dict[str, Any], umask: int, entries: dict[str, str]
    ) -> dict[str, Any]:
        writer = RecordWriter(self, RoundTrip())
        taken = cell_imports.imported_from(self.shell, names)
        # Collected before pickling, because pickling may run user code that changes settings.
        wanted = list(self._wanted(names, taken, umask))
        for kind, name, value in wanted:
            error = writer.write_record(kind, name, value)
            if error is None:
                if kind == "name":
                    entries[name] = missing.type_name(value)
                elif kind == "change":
                    self.missing.pop(name, None)
            elif kind == "name" and name in taken:
                entries[name] = missing.type_name(value)
            elif kind == "name":
                self.miss(name, value, missing.reason(error, value))
            elif kind == "out" and f"_{name}" in self.namespace:
                self.miss(f"_{name}", value, missing.reason(error, value))
            elif kind == "change":
                self.miss(name, value[-1], missing.reason(error, value[-1]))
        entries.update((name, missing.type_name(names[name])) for name in taken)
        pickler = writer.pickler
        writer.write_last("cells", cell_sources.collect(pickler.files, pickler.defined.values()))
        self.changed, self.not_compared = writer.changes()
        imports, modules = cell_imports.imports(self.shell)
        environ = dumps(settings.environ_changes(), sort_keys=True).encode()
        early = dumps(settings.early(), sort_keys=True).encode()
        streams = [
            writer.stream.end_as("values"),
            self._kept_stream("settings", early),
            self._kept_stream("environ", environ),
        ]
        return {
            "environment": {
                "streams": streams,
                "records": writer.records,
                "oob": writer.oob,
                "modules": modules,
                "taken": taken,
            },
            "packages": cell_imports.packages(modules),
            "imports": imports,
            "sources": cell_sources.sources(pickler.defined),
        }

    def _wanted(
        self, names: dict[str, Any], taken: dict[str, Any], umask: int
    ) -> Iterator[tuple[str, Any, Any]]:
        """Yields the kind, the name and the value of each record to write."""
        for name, value in names.items():
            # Functions and classes from a module are restored by an import. Other imported objects
            # may have changed after their import, so they are written if possible.
            if name not in taken or not issubclass(type(value), _IMPORTED):
                yield "name", name, value
        for number, value in list(self.namespace.get("_oh", {}).items()):
            yield "out", number, value
        for name, value in settings.collect(self.shell, umask, self.keep_buffer).items():
            yield "setting", name, value
        for name, value in changes.collect(self.shell).items():
            yield "change", name, value

    def miss(self, name: str, value: Any, reason: str) -> None:
        self.missing[name] = missing.lack(name, missing.type_name(value), reason)

    def keep_buffer(self, memory: Any, readonly: bool = False) -> int:
        """Stores bytes as a buffer and returns the buffer's number."""
        go_on()
        count, chunks = self.keeper.put(memory, True)
        return self.add(count, chunks, readonly)

    def add(self, count: int, chunks: list[str], readonly: bool = False) -> int:
        key = (count, readonly, *chunks)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.buffers)
            self.buffers.append({"bytes": count, "readonly": readonly, "chunks": chunks})
        return number

    def _kept_stream(self, name: str, data: bytes) -> Kept:
        count, chunks = self.keeper.put(data, False)
        return {"name": name, "bytes": count, "chunks": chunks}

    # The data form

    def _data(self, names: dict[str, Any], entries: dict[str, str], form: str) -> dict[str, Any]:
        stream = RecordStream(self.keeper)
        records: list[list[Any]] = []
        # The numbers of the buffers that the data form needs. A file that is exported with only
        # this form omits the other buffers.
        used: set[int] = set()

        def noting(keep: Callable[..., int]) -> Callable[..., int]:
            def keep_and_note(*what: Any) -> int:
                number = keep(*what)
                used.add(number)
                return number

            return keep_and_note

        encoder = Encoder(noting(self.keep_buffer))
        for name, value in names.items():
            why, data = self._plain(encoder, name, value)
            if why is not None:
                if form == "data":
                    self.miss(name, value, why)
                if data is None:
                    continue
            elif form == "data":
                entries[name] = missing.type_name(value)
            if data is None or (form == "data" and data.is_placeholder):
                continue
            record = Record(self.keeper)
            record.write(data.text)
            records.append([name, *record.end(stream, noting(self.add))])
        signal.alarm(0)
        return {
            "streams": [stream.end_as("values")],
            "buffers": sorted(used),
            "records": records,
            "execution_count": self.shell.execution_count,
        }

    def _plain(self, encoder: Encoder, name: str, value: Any) -> tuple[str | None, Any]:
        """Returns the reason why a value is not plain (None if it is plain), and the encoded value
        or placeholder (None if there is none)."""
        if data_form.is_left_out(name, value):
            return "this form of checkpoint holds only values", None
        restart_clock()
        try:
            data = encoder.encode(value)
        except BaseException as error:
            signal.alarm(0)
            return missing.reason(error, value), None
        return ("it is not a plain value" if data.is_placeholder else None), data


class RecordWriter:
    """Writes one record for each value. All records share one memo. A record that fails is removed
    completely."""

    def __init__(self, saving: Saving, round_trip: RoundTrip) -> None:
        self.saving = saving
        self.round_trip = round_trip
        self.stream = RecordStream(saving.keeper)
        # Entries of the manifest: [kind, name, bytes, buffer or None, index of the first buffer in
        # `oob`].
        self.records: list[list[Any]] = []
        # The numbers of the buffers that were pickled out of band.
        self.oob: list[int] = []
        self.target = _Target()
        self.ids = PersistentIds(self._keep_buffer)
        self.pickler: Any = self._pickler(pickling.Fast)
        # The number of memo objects that belong to complete records.
        self.known = len(self.pickler.memo.copy())

    def write_record(self, kind: str, name: Any, value: Any) -> BaseException | None:
        """Adds a record. Returns the error if the record cannot be written."""
        first_buffer = len(self.oob)
        try:
            record = self._write((kind, name, value))
        except BaseException as error:
            del self.oob[first_buffer:]
            return error
        self.round_trip.end(name if kind == "name" else None, first_buffer)
        self.records.append([kind, str(name), *self._end(record), first_buffer])
        return None

    def write_last(self, name: str, value: Any) -> None:
        """Adds the record of a setting that depends on all earlier records. Raises an error if the
        record cannot be written."""
        record = self._write(("setting", name, value))
        self.records.append(["setting", name, *self._end(record), len(self.oob)])

    def changes(self) -> tuple[dict[str, str], str | None]:
        """Returns what loading the records changes; see round_trip.py."""
        restart_clock()
        try:
            return self.round_trip.changes(self.pickler, self.oob)
        except Exception as error:
            return {}, f"{type(error).__name__}: {error}"
        finally:
            signal.alarm(0)

    def _end(self, record: Record) -> list[Any]:
        return record.end(self.stream, self.saving.add)

    def _write(self, value: Any) -> Record:
        try:
            return self._dump(self.pickler, value)
        except RecursionError:
            self._forget()
            return self._write_deep(value)
        except BaseException:
            self._forget()
            raise
        finally:
            signal.alarm(0)

    def _dump(self, pickler: Any, value: Any) -> Record:
        restart_clock()
        record = self.target.record = Record(self.saving.keeper)
        self.target.copy = self.round_trip.begin()
        mark: list[Any] = []
        pickler.dump((value, mark))
        self.target.copy = None
        # Pickling `mark` again writes a reference that contains its memo number. This finds the
        # size of the memo without copying the memo.
        again = self.target.record = Record(self.saving.keeper)
        pickler.dump(mark)
        self.known = _number(again.waiting) + 2
        return record

    def _write_deep(self, value: Any) -> Record:
        """Pickles with the pickler written in Python, in a thread with a larger stack."""
        limit, size = sys.getrecursionlimit(), threading.stack_size(DEEP_STACK_BYTES)
        memo = self.pickler.memo.copy()
        outcome: list[Record | BaseException] = []

        def work() -> None:
            try:
                deep = self._like(self._pickler(pickling.Deep), dict(memo))
                outcome.append(self._dump(deep, value))
                self.pickler = self._like(self._pickler(pickling.Fast), dict(deep.memo), deep)
            except BaseException as error:
                outcome.append(error)

        sys.setrecursionlimit(DEEP_RECURSION)
        thread = threading.Thread(target=work)
        try:
            thread.start()
            thread.join()
        finally:
            sys.setrecursionlimit(limit)
            threading.stack_size(size)
        if isinstance(outcome[0], BaseException):
            raise outcome[0]
        return outcome[0]

    def _pickler(self, kind: Any) -> Any:
        pickler = kind.__new__(kind)
        # The pickler reads this attribute when it is initialised.
        pickler.persistent_id = self.ids.of
        pickler.__init__(self.target, pickling.PROTOCOL, buffer_callback=self._take_buffer)
        trip = self.round_trip
        return pickler.prepare(self.saving.namespace, self._keep_buffer, trip.note)

    def _like(self, pickler: Any, memo: Any, other: Any = None) -> Any:
        other = other or self.pickler
        pickler.memo = memo
        pickler.files, pickler.defined = other.files, other.defined
        pickler.own_cells = other.own_cells
        return pickler

    def _forget(self) -> None:
        memo = self.pickler.memo.copy().items()
        kept = {key: one for key, one in memo if one[0] < self.known}
        self.pickler = self._like(self._pickler(pickling.Fast), kept)

    def _take_buffer(self, buffer: pickle.PickleBuffer) -> bool:
        """Called by the pickler for each buffer. Returns whether the buffer stays in its record."""
        raw = buffer.raw()
        if raw.nbytes < pickling.LARGE_BYTES:
            return True
        self.oob.append(self._keep_buffer(raw, raw.readonly))
        return False

    def _keep_buffer(self, memory: Any, readonly: bool = False) -> int:
        number = self.saving.keep_buffer(memory, readonly)
        self.round_trip.keep_buffer(number, memory)
        return number


def _number(data: bytes | bytearray) -> int:
    """Returns the memo number in a pickle that contains only a reference to a memo object: `PROTO
    BINGET|LONG_BINGET STOP`, with or without FRAME."""
    data = bytes(data)
    at = len(data) - 1
    if data[at - 2 : at - 1] == pickle.BINGET and data[at - 5 : at - 4] != pickle.LONG_BINGET:
        return data[at - 1]
    return int.from_bytes(data[at - 4 : at], "little")


# -- records ---------------------------------------------------------------------------------------


class Record:
    """Collects the bytes of one record. Stores each chunk as soon as the chunk is full, so memory
    never contains the whole of a large record."""

    def __init__(self, keeper: Sink) -> None:
        self.keeper = keeper
        self.waiting = bytearray()
        self.count = 0
        self.chunks: list[str] = []

    def write(self, data: Any) -> None:
        data = memoryview(data).cast("B")
        self.count += len(data)
        if len(self.waiting) + len(data) < CHUNK_BYTES:
            self.waiting += data
            return
        while len(data):
            room = CHUNK_BYTES - len(self.waiting)
            if room == CHUNK_BYTES and len(data) >= CHUNK_BYTES:
                self.chunks += self.keeper.put(data[:CHUNK_BYTES], False)[1]
            else:
                self.waiting += data[:room]
                if len(self.waiting) == CHUNK_BYTES:
                    self._put()
            data = data[room:]

    def _put(self) -> None:
        go_on()
        self.chunks += self.keeper.put(bytes(self.waiting), False)[1]
        self.waiting = bytearray()

    def end(self, stream: RecordStream, add: Callable[[int, list[str]], int]) -> list[Any]:
        """Returns [bytes, buffer or None]. A small record is appended to the stream. A large record
        becomes a buffer, so later states with the same record need not store it again.
        """
        if self.count < pickling.LARGE_BYTES:
            stream.write(self.waiting)
            return [self.count, None]
        if self.waiting:
            self._put()
        return [self.count, add(self.count, self.chunks)]


class RecordStream(Record):
    """Collects the small records, one after the other."""

    def end_as(self, name: str) -> Kept:
        if self.waiting:
            self._put()
        return {"name": name, "bytes": self.count, "chunks": self.chunks}


class _Target:
    """The file object of a pickler. Passes all bytes to the record that is being written."""

    record: Record
    copy: RoundTrip | None = None

    def write(self, data: Any) -> None:
        self.record.write(data)
        if self.copy is not None:
            self.copy.write(data)


# -- the clock -------------------------------------------------------------------------------------


def give_up_standstills() -> None:
    """Sets a handler for the alarm. It raises an error in the saving of a variable that makes no
    progress."""
    signal.signal(signal.SIGALRM, _stands_still)


# The original function, because cells may replace `time.monotonic`.
_monotonic = time.monotonic
# The value of `_clock` at the last progress.
_progress = 0.0


def restart_clock() -> None:
    global _progress
    _progress = _clock()
    signal.alarm(MAX_STANDSTILL)


def _clock() -> float:
    """Returns the time in seconds, less the time for which this process had to wait for a
    processor."""
    try:
        with open("/proc/self/schedstat") as stream:
            waited = int(stream.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):  # a kernel that does not count it
        waited = 0.0
    return _monotonic() - waited


def go_on() -> None:
    """Called after progress. Restarts the alarm if it is set."""
    if signal.alarm(0):
        restart_clock()


def _stands_still(_signal: int, _frame: object) -> None:
    left = _progress + MAX_STANDSTILL - _clock()
    if left >= 1:
        signal.alarm(int(left))
        return
    raise TimeoutError(f"saving it took longer than {MAX_STANDSTILL} s")


def refuse_exits() -> None:
    """Makes `os._exit` in user code raise an error, because user code must not end this process."""
    os._exit = _refuse_to_exit  # type: ignore[assignment]


def _refuse_to_exit(*_: object) -> NoReturn:
    raise SystemExit("it tried to end the process")


def _size(value: Any) -> int:
    """Returns the approximate number of bytes that a value adds to the checkpoint, for progress
    reports."""
    try:
        adapter = registry.of_class(type(value))
        known = None if adapter is None else adapter.size_in_bytes(value)
        if known is not None:
            return known
        size = getattr(value, "nbytes", None)
        return size if type(size) is int and size >= 0 else sys.getsizeof(value)
    except BaseException:
        return 0
