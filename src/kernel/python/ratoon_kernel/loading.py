"""Loads a checkpoint into this process, a fork of the root."""

from __future__ import annotations

import importlib
import keyword
import sys
from json import loads
from typing import Any

from . import changes, missing, pickling, settings, startup
from . import shell as kernel
from .data_decoder import Decoder
from .data_form import Placeholder
from .keeper import Kept, LimitedSource, Source
from .missing import Lack
from .text import clean
from .unpickling import Record, Records


class Buffers:
    """Reads the buffers and streams that a manifest lists."""

    def __init__(self, keeper: Source, buffers: list[Kept]) -> None:
        self.keeper = keeper
        self.buffers = buffers

    def read(self, kept: Kept) -> bytearray | memoryview:
        memory = bytearray(self.keeper.check(kept["bytes"], kept["chunks"]))
        self.keeper.fill(memory, kept["chunks"])
        # Slicing a view copies nothing.
        return memory if len(memory) < pickling.LARGE_BYTES else memoryview(memory)

    def fill(self, number: int, memory: Any) -> None:
        kept = self.buffers[number]
        if len(memory) != kept["bytes"]:
            raise ValueError("a buffer has the wrong length")
        self.keeper.check(kept["bytes"], kept["chunks"])
        self.keeper.fill(memory, kept["chunks"])

    def map(self, number: int) -> memoryview:
        """Loads a buffer into a memory mapping of its own, and returns the memory."""
        import mmap

        kept = self.buffers[number]
        count = self.keeper.check(kept["bytes"], kept["chunks"])
        memory = mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        # With huge pages, a fork copies fewer page table entries.
        memory.madvise(mmap.MADV_HUGEPAGE)
        view = memoryview(memory)
        self.keeper.fill(view, kept["chunks"])
        return view.toreadonly() if kept["readonly"] else view


class RecordBytes:
    """Reads the bytes of records in order. A record is a part of the stream or a separate
    buffer."""

    def __init__(self, buffers: Buffers, stream: bytearray | memoryview) -> None:
        self.buffers = buffers
        self.stream = stream
        self.at = 0

    def next(self, count: int, buffer: int | None) -> Record:
        if buffer is not None:
            return self.buffers.read(self.buffers.buffers[buffer])
        self.at += count
        return self.stream[self.at - count : self.at]


class Loading:
    """Loads one checkpoint. The methods `environment` and `data` load the two forms of a
    checkpoint, and return the names that could not be loaded."""

    def __init__(self, keeper: LimitedSource, manifest: dict[str, Any]) -> None:
        self.keeper = keeper
        self.manifest = manifest
        self.buffers = Buffers(keeper, manifest["buffers"])
        self.shell = kernel.shell
        self.namespace: dict[str, Any] = self.shell.user_ns
        self.types = {entry["name"]: entry["type"] for entry in manifest["entries"]}
        self.missing: dict[str, Lack] = {one["name"]: one for one in manifest["missing"]}
        # Names that `_take` has bound to imported objects.
        self.taken: set[str] = set()
        startup.forget(self.namespace)

    def environment(self) -> dict[str, Lack]:
        part = self.manifest["environment"]
        streams = {stream["name"]: stream for stream in part["streams"]}
        settings.restore_environ(self._json(streams.get("environ")))
        stream = self.buffers.read(streams["values"])
        if self.missing:
            missing.tell_of(self.missing)
        early = self._json(streams.get("settings"))
        settings.restore_early(early)
        settings.import_all(part["modules"], early)
        self._take(part["taken"])
        before = dict(self.namespace)
        failed = self._records(part, stream, {})
        if failed and not self.missing:
            # Loads the records again with the failed names marked as missing, so that code that
            # runs while loading gets the reason.
            self.namespace.clear()
            self.namespace.update(before)
            missing.tell_of(failed)
            failed = self._records(part, stream, failed)
        self.missing.update(failed)
        return self.missing

    def _json(self, stream: Kept | None) -> dict[str, Any]:
        found: dict[str, Any] = loads(bytes(self.buffers.read(stream))) if stream else {}
        return found

    def _take(self, taken: dict[str, list[str]]) -> None:
        """Binds names to objects of loaded modules, as `from module import attribute` did. Pickled
        values of the same names replace these objects later."""
        for name, (module, attribute) in taken.items():
            found = vars(sys.modules[module]) if module in sys.modules else {}
            if attribute in found:
                self.namespace[name] = found[attribute]
                self.taken.add(name)

    def _records(
        self, part: dict[str, Any], stream: bytearray | memoryview, failed: dict[str, Lack]
    ) -> dict[str, Lack]:
        failed = dict(failed)
        late: dict[str, Any] = {}
        changed: dict[str, Any] = {}
        outs: dict[Any, Any] = {}
        oob, data = part["oob"], RecordBytes(self.buffers, stream)
        records = Records(
            self.namespace, self.buffers.fill, lambda number: self.buffers.map(oob[number])
        )
        into = {"name": self.namespace, "out": outs, "change": changed}
        for kind, name, count, buffer, first_buffer in part["records"]:
            record = data.next(count, buffer)
            try:
                ((_, name, value), _) = records.load(record, first_buffer)
            except BaseException as error:
                if kind != "setting" and not (kind == "name" and name in self.taken):
                    why = f"{type(error).__name__}: {error}"
                    self._fail(failed, "_" + name if kind == "out" else name, why)
                continue
            into.get(kind, late)[name] = value
        records.end()
        settings.restore_late(self.shell, late, outs)
        for name, why in changes.restore(changed).items():
            self._fail(failed, name, why)
        return failed

    def _fail(self, failed: dict[str, Lack], name: str, why: str) -> None:
        reason = clean(f"it could not be loaded: {why}")[: missing.MAX_REASON]
        failed[name] = missing.lack(name, self.types.get(name, ""), reason)

    def data(self, reason: str | None = None) -> dict[str, Lack]:
        """Loads the plain values. `reason` is why other values are missing."""
        part = self.manifest["data"]
        (stream,) = part["streams"]
        data, kept = RecordBytes(self.buffers, self.buffers.read(stream)), set()
        if reason is None:
            reason = "it is not a plain value"
            if "environment" in self.manifest:
                reason += ", and other values are loaded only from trusted notebooks"
        sizes = [one["bytes"] for one in self.manifest["buffers"]]
        decoder = Decoder(self.buffers.fill, sizes, self._import)
        for name, count, buffer in part["records"]:
            record = data.next(count, buffer)
            if not _is_variable(name):
                continue
            why = None
            try:
                value = decoder.decode(record)
                if isinstance(value, Placeholder):
                    raise ValueError(reason)
                kept.add(name)
                self.namespace[name] = value
                continue
            except MemoryError:
                pass
            except Exception as error:
                why = str(error)[: missing.MAX_REASON]
            # Here, outside the `except` block, the memory of a value that was too large is free
            # again.
            if why is None:
                why = self.keeper.too_large()
            self.missing[name] = missing.lack(name, self.types.get(name, ""), why)
        for name, kind in self.types.items():
            if name not in kept and name not in self.missing:
                self.missing[name] = missing.lack(name, kind, reason)
        number = part.get("execution_count")
        if type(number) is int and 0 < number < 2**31:
            self.shell.execution_count = number
        if self.missing:
            missing.tell_of(self.missing)
        return self.missing

    def _import(self, name: str) -> Any:
        """Imports a library that a value of the data form needs. Lifts the limits for the
        import."""
        if name not in sys.modules:
            self.keeper.lift()
            try:
                importlib.import_module(name)
            finally:
                self.keeper.limit_again()
        return sys.modules[name]


def _is_variable(name: Any) -> bool:
    if type(name) is not str or keyword.iskeyword(name):
        return False
    return name.isidentifier() and not name.startswith("__")
