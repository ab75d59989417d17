"""A checkpoint: what a state holds, written to blobs by a throw-away fork of its frozen process, and loaded by a fork of
the root.

`save` and `load` are called by Rust (checkpoint.rs). `keeper` is Rust's end: `put` cuts bytes into chunks and keeps them,
`fill` fills memory with kept chunks, each verified before it is used. Two parts stand over the same buffers: the
environment part (pickling.py) and the data part (data_form.py).
"""

import builtins
import gc
import importlib
import keyword
import os
import pickle
import re
import signal
import sys
import threading
import types
from json import dumps, loads

from . import data_form, former_names, pickling, settings
from . import shell as kernel_shell
from .adapters import changes
from .shell import _clean, _name_of

FORMAT = "ratoon-checkpoint-1"
CHUNK_BYTES = 4 << 20
# A name whose saving comes no further for so long is given up, in seconds.
MAX_STANDSTILL = 30
# What one reason may say, in characters.
MAX_REASON = 300
# The stack for what is nested very deeply: only what is used of it costs memory.
DEEP_STACK_BYTES = 1 << 30
# Three calls for a level: enough for 300,000 lists in each other, and an end for what recurses without one.
DEEP_RECURSION = 1_000_000
# Names of every module, which a new process has by itself.
OF_EVERY_MODULE = {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtin__", "__builtins__"}

# The shell's own history; a user's `_private` is the user's.
SHELL_NAME = re.compile(r"_+|_i+|_i?\d+|_[oid]h")

# What this process lacks of the state it was loaded for: by name, {"name", "type", "reason"}.
lacking = {}


def boot():
    """Called in the root, before it is forked."""
    settings.note_root()
    pickling.own_stream(type(sys.stdout))


# -- saving -----------------------------------------------------------------------------------------------------------


def save(keeper, form):
    """Writes this process' state. Answers JSON: the manifest as text, and what the server is to know of it."""
    umask = os.umask(0o077)
    os._exit = _refuse_to_exit
    saving = _Saving(keeper)
    return saving.run(form, umask)


class _Saving:
    def __init__(self, keeper):
        self.keeper = keeper
        self.shell = kernel_shell.shell
        self.namespace = self.shell.user_ns
        self.buffers = []
        self.numbers = {}
        self.missing = {}

    def run(self, form, umask):
        names = dict(self._names())
        self.keeper.expect(sum(map(_size, names.values())) + 1)
        signal.signal(signal.SIGALRM, _stands_still)
        for name, lack in lacking.items():
            if name not in self.namespace:
                self.missing[name] = lack
        manifest = {"format": FORMAT, "python": "%d.%d" % sys.version_info[:2]}
        entries = {}
        if form == "environment":
            manifest.update(self._environment(names, umask, entries))
        manifest["data"] = self._data(names, entries, form)
        manifest["buffers"] = self.buffers
        manifest["entries"] = [{"name": name, "type": kind} for name, kind in entries.items()]
        manifest["missing"] = list(self.missing.values())
        parts = [manifest["data"]] + ([manifest["environment"]] if "environment" in manifest else [])
        kept = [stream["bytes"] for part in parts for stream in part["streams"]] + [b["bytes"] for b in self.buffers]
        return dumps(
            {
                "manifest": dumps(manifest, sort_keys=True, separators=(",", ":")),
                "entry_count": len(entries),
                "namespace_bytes": sum(kept),
                "includes_source": form == "environment",
                "missing": manifest["missing"],
            }
        )

    def _names(self):
        hidden = self.shell.user_ns_hidden
        for name, value in list(self.namespace.items()):
            if not isinstance(name, str) or name in OF_EVERY_MODULE or name != _clean(name):
                continue
            if name in hidden and hidden[name] is value or SHELL_NAME.fullmatch(name):
                continue
            yield name, value

    # The environment part

    def _environment(self, names, umask, entries):
        stream, records, oob = _Stream(self.keeper), [], []
        writer = _Writer(self, oob)
        taken = settings.imported_from(self.shell, names)
        wanted = [("name", name, value) for name, value in names.items() if not self._is_only_taken(name, value, taken)]
        wanted += [("out", number, value) for number, value in list(self.namespace.get("_oh", {}).items())]
        wanted += [("setting", name, value) for name, value in settings.collect(self.shell, umask, self.keep_buffer).items()]
        wanted += [("change", name, value) for name, value in changes.collect(self.shell).items()]
        for kind, name, value in wanted:
            first_buffer = len(oob)
            try:
                record = writer.write((kind, name, value))
            except BaseException as error:
                del oob[first_buffer:]
                if kind == "name" and name in taken:
                    entries[name] = _type_name(value)
                elif kind == "name":
                    self._miss(name, value, _reason(error, value))
                elif kind == "out" and f"_{name}" in self.namespace:
                    self._miss(f"_{name}", value, _reason(error, value))
                elif kind == "change":
                    self._miss(name, value[-1], _reason(error, value[-1]))
                continue
            if kind == "name":
                entries[name] = _type_name(value)
            elif kind == "change":
                self.missing.pop(name, None)
            records.append([kind, str(name), *record.end(stream, self._add), first_buffer])
        entries.update((name, _type_name(names[name])) for name in taken)
        pickler = writer.pickler
        cells = settings.cells_of(pickler.files, pickler.defined.values())
        record = writer.write(("setting", "cells", cells))
        records.append(["setting", "cells", *record.end(stream, self._add), len(oob)])
        imports, modules = settings.imports(self.shell)
        environ = dumps(settings.environ_changes(), sort_keys=True).encode()
        early = dumps(settings.early(), sort_keys=True).encode()
        streams = [stream.end("values"), self._stream("settings", early), self._stream("environ", environ)]
        return {
            "environment": {"streams": streams, "records": records, "oob": oob, "modules": modules, "taken": taken},
            "packages": settings.packages(modules),
            "imports": imports,
            "sources": settings.sources(pickler.defined),
        }

    def _is_only_taken(self, name, value, taken):
        """Whether an import brings a name back: functions and classes are what they were. Other things may have changed
        since, and are imported again only when they cannot be written."""
        return name in taken and issubclass(type(value), (type, types.FunctionType, types.BuiltinFunctionType))

    def _miss(self, name, value, reason):
        self.missing[name] = {"name": name, "type": _type_name(value), "reason": reason}

    def keep_buffer(self, memory, readonly=False):
        """Keeps bytes as a buffer of its own; answers its number."""
        _go_on()
        return self._add(*self.keeper.put(memory, True), readonly)

    def _add(self, count, chunks, readonly=False):
        key = (count, readonly, *chunks)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.buffers)
            self.buffers.append({"bytes": count, "readonly": readonly, "chunks": chunks})
        return number

    def _stream(self, name, data):
        count, chunks = self.keeper.put(data, False)
        return {"name": name, "bytes": count, "chunks": chunks}

    # The data part

    def _data(self, names, entries, form):
        stream, records, used = _Stream(self.keeper), [], set()

        def noting(keep):
            # Which buffers this part needs: a file of values goes without the others.
            def keep_and_note(*what, **more):
                number = keep(*what, **more)
                used.add(number)
                return number

            return keep_and_note

        encoder = data_form.Encoder(noting(self.keep_buffer))
        for name, value in names.items():
            if data_form.is_left_out(name, value):
                if form == "data":
                    self._miss(name, value, "only values are kept in this form")
                continue
            _restart_clock()
            try:
                data = encoder.encode(value)
            except BaseException as error:
                signal.alarm(0)
                if form == "data":
                    self._miss(name, value, _reason(error, value))
                continue
            if form == "data":
                if data.is_placeholder:
                    self._miss(name, value, "it is no plain value")
                    continue
                entries[name] = _type_name(value)
            record = _Record(self.keeper)
            record.write(data.text)
            records.append([name] + record.end(stream, noting(self._add)))
        signal.alarm(0)
        return {
            "streams": [stream.end("values")],
            "buffers": sorted(used),
            "records": records,
            "execution_count": self.shell.execution_count,
        }


class _Writer:
    """Writes one record for each value, all with one memo. What fails leaves no trace in it."""

    def __init__(self, saving, oob):
        self.saving = saving
        self.oob = oob
        self.target = _Target()
        self.known = None
        self.pickler = self._pickler(pickling.Fast)
        self.known = len(self.pickler.memo.copy())

    def write(self, value):
        try:
            return self._write(self.pickler, value)
        except RecursionError:
            self._forget()
            return self._write_deep(value)
        except BaseException:
            self._forget()
            raise
        finally:
            signal.alarm(0)

    def _write(self, pickler, value):
        _restart_clock()
        record = self.target.record = _Record(self.saving.keeper)
        mark = []
        pickler.dump((value, mark))
        # Said again it is said by its number: so the number of what is known is learned, without copying the memo.
        said = self.target.record = _Record(self.saving.keeper)
        pickler.dump(mark)
        self.known = _number(said.waiting) + 2
        return record

    def _write_deep(self, value):
        """In Python, on a stack of its own: neither C's stack nor its limits count there."""
        limit, size = sys.getrecursionlimit(), threading.stack_size(DEEP_STACK_BYTES)
        memo, outcome = self.pickler.memo.copy(), []

        def work():
            try:
                deep = self._like(self._pickler(pickling.Deep), dict(memo))
                outcome.append(self._write(deep, value))
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

    def _pickler(self, kind):
        pickler = kind(self.target, pickling.PROTOCOL, buffer_callback=self._take_buffer)
        return pickler.prepare(self.saving.namespace, self.saving.keep_buffer)

    def _like(self, pickler, memo, other=None):
        other = other or self.pickler
        pickler.memo = memo
        pickler.files, pickler.defined, pickler.own_cells = other.files, other.defined, other.own_cells
        return pickler

    def _forget(self):
        kept = {key: one for key, one in self.pickler.memo.copy().items() if one[0] < self.known}
        self.pickler = self._like(self._pickler(pickling.Fast), kept)

    def _take_buffer(self, buffer):
        raw = buffer.raw()
        if raw.nbytes < pickling.LARGE_BYTES:
            return True
        self.oob.append(self.saving.keep_buffer(raw, raw.readonly))
        return False


class _Target:
    """The file of a pickler: the record that is being written."""

    record = None

    def write(self, data):
        self.record.write(data)


def _number(data):
    """The memo's number in `PROTO BINGET|LONG_BINGET STOP`, with or without a frame."""
    data = bytes(data)
    at = len(data) - 1
    if data[at - 2 : at - 1] == pickle.BINGET and data[at - 5 : at - 4] != pickle.LONG_BINGET:
        return data[at - 1]
    return int.from_bytes(data[at - 4 : at], "little")


class _Record:
    """The bytes of one record. Many go into chunks at once, so that a large one is never whole in memory."""

    def __init__(self, keeper):
        self.keeper = keeper
        self.waiting = bytearray()
        self.count = 0
        self.chunks = []

    def write(self, data):
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

    def _put(self):
        _go_on()
        self.chunks += self.keeper.put(bytes(self.waiting), False)[1]
        self.waiting = bytearray()

    def end(self, stream, add):
        """Small ones go into the stream, large ones are buffers of their own, so that they are kept once while they stay the
        same. Answers [bytes, buffer or None]."""
        if self.count < pickling.LARGE_BYTES:
            stream.write(self.waiting)
            return [self.count, None]
        if self.waiting:
            self._put()
        return [self.count, add(self.count, self.chunks)]


class _Stream(_Record):
    """The small records, one after the other."""

    def end(self, name):
        if self.waiting:
            self._put()
        return {"name": name, "bytes": self.count, "chunks": self.chunks}


def _restart_clock():
    signal.alarm(MAX_STANDSTILL)


def _go_on():
    """It comes further: the clock starts again, if it runs."""
    if signal.alarm(0):
        signal.alarm(MAX_STANDSTILL)


def _stands_still(_signal, _frame):
    raise TimeoutError(f"saving it took longer than {MAX_STANDSTILL} s")


def _refuse_to_exit(*_):
    raise SystemExit("it tried to end the process")


def _size(value):
    """About how much there is to hash, for the progress shown."""
    try:
        if type(value).__module__.startswith("pandas.") and hasattr(value, "memory_usage"):
            used = value.memory_usage()
            return int(used.sum() if hasattr(used, "sum") else used)
        size = getattr(value, "nbytes", None)
        return size if type(size) is int and size >= 0 else sys.getsizeof(value)
    except BaseException:
        return 0


def _type_name(value):
    return _clean(_name_of(type(value)))[:200]


def _reason(error, value):
    """Why a name cannot be saved, in plain words."""
    try:
        return _clean(_explain(error, value))[:MAX_REASON]
    except BaseException:
        return "it cannot be pickled"


def _explain(error, value):
    if isinstance(error, RecursionError):
        return "it is nested too deeply for this Python"
    if isinstance(error, MemoryError):
        return "there was not enough memory to write it down"
    if isinstance(error, pickling.Unsavable):
        if error.found is value:
            return error.what
        where = _path_to(value, error.found)
        return f"it holds {error.what}" + (f" ({where})" if where else "")
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _path_to(value, found):
    """Where in an object another is held, when that is not deep inside."""
    left, seen = [("", value)], set()
    while left and len(seen) < 2000:
        path, one = left.pop(0)
        if one is found:
            return path.lstrip(".")
        if id(one) in seen or path.count(".") + path.count("[") > 4:
            continue
        seen.add(id(one))
        if type(one) in (list, tuple):
            left += [(f"{path}[{number}]", item) for number, item in enumerate(one[:200])]
        elif type(one) is dict:
            left += [(f"{path}[{key!r:.40}]", item) for key, item in list(one.items())[:200] if type(key) in (str, int)]
        elif isinstance(getattr(one, "__dict__", None), dict):
            left += [(f"{path}.{key}", item) for key, item in list(vars(one).items())[:200] if isinstance(key, str)]
        elif type(one).__name__ == "function":
            left += [(f"{path}.{name}", cell.cell_contents) for name, cell in _cells(one)]
    return None


def _cells(function):
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            cell.cell_contents
        except ValueError:
            continue
        yield name, cell


# -- loading ----------------------------------------------------------------------------------------------------------


def load(keeper, text, form):
    """Loads a checkpoint into this fork of the root. Answers JSON: what it could not give. Any error: it is no state."""
    manifest = loads(text)
    if manifest.get("format") != FORMAT:
        raise ValueError("this checkpoint is of a format that this version of Ratoon does not know")
    if form == "environment" and "environment" not in manifest:
        raise ValueError("this checkpoint holds only values, not the environment")
    ours = "%d.%d" % sys.version_info[:2]
    if form == "environment" and manifest["python"] != ours:
        raise ValueError(
            f"this checkpoint was written by Python {manifest['python']} and this is {ours}: start ratoon with "
            f"--python and a Python {manifest['python']}, or replay the cells"
        )
    loading = _Loading(keeper, manifest)
    with former_names.resolved():
        missing = loading.environment() if form == "environment" else loading.data()
    _take_note(missing)
    # As in the root: a full collection in a state that grows from this one does not copy its pages.
    gc.freeze()
    return dumps(list(missing.values()))


class _Loading:
    def __init__(self, keeper, manifest):
        self.keeper = keeper
        self.manifest = manifest
        self.shell = kernel_shell.shell
        self.namespace = self.shell.user_ns
        self.types = {entry["name"]: entry["type"] for entry in manifest["entries"]}

    def environment(self):
        part = self.manifest["environment"]
        streams = {stream["name"]: stream for stream in part["streams"]}
        settings.restore_environ(loads(self._bytes(streams["environ"]) if "environ" in streams else "{}"))
        whole = self._bytes(streams["values"])
        missing = {one["name"]: one for one in self.manifest["missing"]}
        if missing:
            _tell_of(missing)
        early = self._early(part)
        settings.restore_early(early)
        settings.import_all(part["modules"], early)
        self._take(part["taken"])
        before = dict(self.namespace)
        failed = self._records(part, whole, {})
        if failed and not missing:
            # What was loaded before would not know what is missing: once more, with that known.
            self.namespace.clear()
            self.namespace.update(before)
            _tell_of(failed)
            failed = self._records(part, whole, failed)
        missing.update(failed)
        return missing

    def _take(self, taken):
        """Names that import statements took out of modules. One that is pickled besides is what it was, not what it is now."""
        self.taken = set()
        for name, (module, attribute) in taken.items():
            found = vars(sys.modules[module]) if module in sys.modules else {}
            if attribute in found:
                self.namespace[name] = found[attribute]
                self.taken.add(name)

    def _early(self, part):
        """The settings that the rest needs to be found. They hold no objects of the user's, so they are read by themselves."""
        for stream in part["streams"]:
            if stream["name"] == "settings":
                return loads(self._bytes(stream))
        return {}

    def _records(self, part, whole, failed):
        failed, late, changed, outs, at = dict(failed), {}, {}, {}, 0
        records = pickling.Records(self.namespace, self._fill, lambda number: self._memory(part["oob"][number]))
        for kind, name, count, buffer, first_buffer in part["records"]:
            if buffer is None:
                record = whole[at : at + count]
                at += count
            else:
                record = self._bytes(self.manifest["buffers"][buffer])
            try:
                ((_, name, value), _) = records.load(record, first_buffer)
            except BaseException as error:
                if kind != "setting" and not (kind == "name" and name in self.taken):
                    self._fail(failed, "_" + name if kind == "out" else name, f"{type(error).__name__}: {error}")
                continue
            if kind == "name":
                self.namespace[name] = value
            elif kind == "out":
                outs[name] = value
            elif kind == "change":
                changed[name] = value
            else:
                late[name] = value
        records.end()
        settings.restore_late(self.shell, late, outs)
        for name, why in changes.restore(changed).items():
            self._fail(failed, name, why)
        return failed

    def _fail(self, failed, name, why):
        reason = _clean(f"it could not be loaded: {why}")[:MAX_REASON]
        failed[name] = {"name": name, "type": self.types.get(name, ""), "reason": reason}

    def data(self):
        part = self.manifest["data"]
        (stream,) = part["streams"]
        whole, at, kept = self._bytes(stream), 0, set()
        reason = "it is no plain value"
        if "environment" in self.manifest:
            reason += ", and those of others are loaded only when the notebook is trusted"
        missing = {one["name"]: one for one in self.manifest["missing"]}
        decoder = data_form.Decoder(self._fill, [one["bytes"] for one in self.manifest["buffers"]], self._import)
        for name, count, buffer in part["records"]:
            if buffer is None:
                record = whole[at : at + count]
                at += count
            else:
                record = self._bytes(self.manifest["buffers"][buffer])
            if type(name) is not str or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
                continue
            try:
                value = decoder.decode(record)
                if isinstance(value, data_form.Placeholder):
                    raise ValueError(reason)
            except Exception as error:
                why = self.keeper.too_large() if isinstance(error, MemoryError) else str(error)[:MAX_REASON]
                missing[name] = {"name": name, "type": self.types.get(name, ""), "reason": why}
                continue
            kept.add(name)
            self.namespace[name] = value
        for name, kind in self.types.items():
            if name not in kept and name not in missing:
                missing[name] = {"name": name, "type": kind, "reason": reason}
        if type(part.get("execution_count")) is int and 0 < part["execution_count"] < 2**31:
            self.shell.execution_count = part["execution_count"]
        if missing:
            _tell_of(missing)
        return missing

    def _import(self, name):
        """A library that values are made of."""
        if name not in sys.modules:
            self.keeper.lift()
            try:
                importlib.import_module(name)
            finally:
                self.keeper.limit_again()
        return sys.modules[name]

    def _bytes(self, kept):
        memory = bytearray(self.keeper.check(kept["bytes"], kept["chunks"]))
        self.keeper.fill(memory, kept["chunks"])
        return memory if len(memory) < pickling.LARGE_BYTES else memoryview(memory)

    def _fill(self, number, memory):
        kept = self.manifest["buffers"][number]
        if len(memory) != kept["bytes"]:
            raise ValueError("a buffer is not as long as what it is to fill")
        self.keeper.check(kept["bytes"], kept["chunks"])
        self.keeper.fill(memory, kept["chunks"])

    def _memory(self, number):
        import mmap

        kept = self.manifest["buffers"][number]
        count = self.keeper.check(kept["bytes"], kept["chunks"])
        memory = mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        # Large pages make later forks cheap.
        memory.madvise(mmap.MADV_HUGEPAGE)
        view = memoryview(memory)
        self.keeper.fill(view, kept["chunks"])
        return view.toreadonly() if kept["readonly"] else view


# -- what is missing --------------------------------------------------------------------------------------------------


def _take_note(missing):
    lacking.clear()
    lacking.update(missing)


def still_lacking():
    """As JSON, for each state that grows from one that lacks names."""
    if not lacking:
        return "[]"
    names = kernel_shell.shell.user_ns
    return dumps([lack for name, lack in lacking.items() if name not in names])


class _Builtins(dict):
    """The builtins of a restored namespace: the last place where a name is looked for, so here it is told why it is missing."""

    def __missing__(self, name):
        told = self.told.get(name)
        if told is None:
            return vars(builtins)[name]
        raise NameError(
            f"name '{name}' is not defined: it is missing since this state was restored ({told['reason']}). "
            "Replay the cells of this state to have it again.",
            name=name,
        )


def _tell_of(missing):
    own = _Builtins(vars(builtins))
    own.told = missing
    for name in missing:
        own.pop(name, None)
    kernel_shell.shell.user_ns["__builtins__"] = own
