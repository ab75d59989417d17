"""Variables on their way from one state's process to another's, through a pipe that the server has made for the two.

`send` runs in a throw-away fork of the state that they are taken from; `receive` in the process that runs a cell. What goes
through the pipe is a small checkpoint that never touches a disk: chunks, then a manifest that says what they are. Only these
two hold its ends, so what is read was written by `send`.
"""

import ast
import builtins
import json
import os
import signal
import struct
import types

from . import checkpoint
from . import variables
from . import pickling
from . import shell as own
from . import symbols

# A frame: what it is, and how many bytes follow.
_HEAD = struct.Struct("<cQ")
_CHUNK, _MANIFEST = b"C", b"M"
# A manifest names variables, and counts chunks of 4 MiB.
MAX_MANIFEST_BYTES = 256 << 20

# The pipes that the server has given to the cell that runs: [(alias, state, descriptor)].
deliveries = []


def boot():
    own.shell.register_magic_function(_rebuild_state, "line", "rebuild_state")


# -- sending ----------------------------------------------------------------------------------------------------------


def send(descriptor, wanted):
    """Writes variables of this process into a pipe. `wanted` is JSON: {"names": [name]}, or {"alias", "code"}: what this code
    takes from the state that it calls so."""
    wanted = json.loads(wanted)
    os._exit = _refuse_to_exit
    signal.signal(signal.SIGALRM, checkpoint._stands_still)
    pipe = _Pipe(descriptor)
    found = dict(variables.variables())
    names = wanted["names"] if "names" in wanted else _taken(wanted["code"], wanted["alias"], found)
    saving = checkpoint._Saving(pipe)
    oob, records, stream = [], [], checkpoint._Stream(pipe)
    writer = checkpoint._Writer(saving, oob)
    for name in names:
        if name not in found:
            continue
        first = len(oob)
        try:
            record = writer.write(("name", name, found[name]))
        except BaseException as error:
            del oob[first:]
            saving._miss(name, found[name], checkpoint._reason(error, found[name]))
            continue
        records.append([name, *record.end(stream, saving._add), first])
    missing = [lack for name, lack in checkpoint.lacking.items() if name not in found]
    manifest = {
        "stream": stream.end("values"),
        "records": records,
        "oob": oob,
        "buffers": saving.buffers,
        "missing": missing + list(saving.missing.values()),
    }
    pipe.frame(_MANIFEST, json.dumps(manifest).encode())


def _refuse_to_exit(*_):
    raise SystemExit("it tried to end the process")


def _taken(code, alias, found):
    """The names that code takes from a state that it calls by this alias, and those that functions among them use; all, when
    that cannot be told."""
    try:
        tree = ast.parse(own.shell.transform_cell(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return list(found)
    names, owners = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == alias:
            names.add(node.attr)
            owners.add(node.value)
        elif isinstance(node, ast.Name) and node.id in ("eval", "exec", "globals", "locals", "vars", "get_ipython"):
            return list(found)
    if any(isinstance(node, ast.Name) and node.id == alias and node not in owners for node in ast.walk(tree)):
        return list(found)
    needed = symbols.reach(names)
    return list(found) if needed is None else [name for name in found if name in needed]


class _Pipe:
    """What a checkpoint is written with, in the place of files."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.count = 0

    def expect(self, _):
        pass

    def put(self, memory, _):
        whole = memoryview(memory).cast("B")
        chunks = []
        for at in range(0, len(whole), checkpoint.CHUNK_BYTES):
            self.frame(_CHUNK, whole[at : at + checkpoint.CHUNK_BYTES])
            chunks.append(str(self.count))
            self.count += 1
        return len(whole), chunks

    def frame(self, kind, data):
        # What can be late here is the other end, and what is begun has to be written.
        clock = signal.alarm(0)
        for left in (memoryview(_HEAD.pack(kind, len(data))), memoryview(data)):
            while left:
                left = left[os.write(self.descriptor, left) :]
        if clock:
            checkpoint._restart_clock()


# -- receiving --------------------------------------------------------------------------------------------------------


class TransferFailed(Exception):
    """Variables of another state could not be had."""


TransferFailed.__module__ = "builtins"


def prepare():
    """Makes the states that a cell reads known by their aliases, before it runs."""
    for alias, state, descriptor in list(deliveries):
        if alias:
            deliveries.remove((alias, state, descriptor))
            own.shell.user_ns[alias] = _as_object(state, descriptor)


def end():
    """Closes what the cell has not read."""
    while deliveries:
        _, _, descriptor = deliveries.pop()
        if descriptor is not None:
            os.close(descriptor)


def _as_object(state, descriptor):
    # Functions of that state see its variables, not those of the cell.
    home = {"__builtins__": builtins, "__name__": "__main__"}
    if descriptor is None:
        missing = {None: "the code does not name it, so nothing of it was read"}
    else:
        missing = receive(state, descriptor, home, home)
    values = {name: value for name, value in home.items() if not (name.startswith("__") and name.endswith("__"))}
    if not missing:
        return types.SimpleNamespace(**values)
    made = _Partial(**values)
    _reasons[id(made)] = missing
    return made


class _Partial(types.SimpleNamespace):
    """The variables of another state, but for some."""

    def __getattr__(self, name):
        reasons = _reasons.get(id(self), {})
        why = reasons.get(name) or reasons.get(None)
        raise AttributeError(f"'{name}' could not be read from the other state: {why}" if why else f"the other state has no '{name}'")


_Partial.__name__ = _Partial.__qualname__ = "SimpleNamespace"
# Of each such object why names are missing in it; beside it, so that it has only the state's names.
_reasons = {}


def receive(state, descriptor, namespace, into):
    """Puts what comes through a pipe into a dictionary; its functions belong to a namespace. Answers what could not be had:
    {name: why}."""
    with os.fdopen(descriptor, "rb", buffering=1 << 20) as pipe:
        chunks, manifest = [], None
        while manifest is None:
            kind, count = _HEAD.unpack(_exactly(pipe, _HEAD.size, state))
            if kind == _CHUNK and count <= checkpoint.CHUNK_BYTES:
                chunks.append(_exactly(pipe, count, state))
            elif kind == _MANIFEST and count <= MAX_MANIFEST_BYTES:
                manifest = json.loads(_exactly(pipe, count, state))
            else:
                raise TransferFailed(f"what came from state {state} is damaged")
    box = _Box(chunks)
    loading = checkpoint._Loading(box, {"entries": [], **manifest})
    whole = loading._bytes(manifest["stream"])
    records = pickling.Records(namespace, loading._fill, lambda number: loading._memory(manifest["oob"][number]))
    missing, at = {one["name"]: one["reason"] for one in manifest["missing"]}, 0
    for name, count, buffer, first in manifest["records"]:
        if buffer is None:
            record = whole[at : at + count]
            at += count
        else:
            record = loading._bytes(manifest["buffers"][buffer])
        try:
            ((_, _, value), _) = records.load(record, first)
        except Exception as error:
            missing[name] = f"it could not be loaded: {type(error).__name__}: {error}"
            continue
        into[name] = value
    records.end()
    return missing


def _exactly(pipe, count, state):
    data = pipe.read(count)
    if len(data) < count:
        raise TransferFailed(f"the process that was to send the variables of state {state} has ended before it had")
    return data


class _Box:
    """What a checkpoint is loaded with, in the place of files."""

    def __init__(self, chunks):
        self.chunks = chunks

    def check(self, count, _):
        return count

    def fill(self, memory, chunks):
        into, at = memoryview(memory).cast("B"), 0
        for number in chunks:
            chunk = self.chunks[int(number)]
            into[at : at + len(chunk)] = chunk
            at += len(chunk)


# -- a state of the variables of two ----------------------------------------------------------------------------------


def _rebuild_state(line):
    """%rebuild_state --from STATE --take NAMES --keep NAMES: the variables NAMES of another state, and of this one NAMES.

    The code of the states that POST /rebuild_state makes: it has to be the whole cell. With what is taken comes everything
    that it shares objects with, or nothing of it is what it was.
    """
    parts = line.split()
    take, keep = _after("--take", parts), _after("--keep", parts)
    if not deliveries:
        raise TransferFailed(
            "the other state is not there: it was deleted, or has to be replayed first. (This magic has to be the whole cell.)"
        )
    _, state, descriptor = deliveries.pop()
    namespace, mine, taken = own.shell.user_ns, dict(variables.variables()), {}
    missing = receive(state, descriptor, namespace, taken)
    lost = [f"{name} ({missing[name]})" for name in take if name in missing]
    if lost:
        raise TransferFailed(f"these variables cannot leave the process of their state: {own._listed(lost)}")
    for name in mine:
        if name not in keep:
            namespace.pop(name, None)
    namespace.update(taken)


def _after(flag, parts):
    """The words behind a flag, up to the next."""
    words = parts[parts.index(flag) + 1 :] if flag in parts else []
    end = next((at for at, word in enumerate(words) if word.startswith("--")), len(words))
    return words[:end]
