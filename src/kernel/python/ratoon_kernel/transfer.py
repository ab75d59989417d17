"""Sends variables from one state's process to the process of another state, through a pipe that the
server made.

`send` runs in a throw-away fork of the state that has the variables. `receive` runs in the process
that runs a cell. The pipe carries a small checkpoint: first its chunks, then its manifest. Nothing
is written to a disk. Only these two processes have ends of the pipe, so all data in it comes from
`send` and can be trusted.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import signal
import struct
import sys
import types
from collections.abc import Collection, Iterable, Sequence
from typing import Any, BinaryIO

from IPython.core.magic import no_var_expand

from . import missing, symbols, variables
from . import shell as kernel
from .keeper import CHUNK_BYTES
from .loading import Buffers, RecordBytes
from .round_trip import RoundTrip
from .saving import RecordWriter, Saving, give_up_standstills, refuse_exits, restart_clock
from .text import listed
from .unpickling import Records

# The header of a frame: the kind of the frame, and the number of bytes that follow.
_HEAD = struct.Struct("<cQ")
_CHUNK, _MANIFEST = b"C", b"M"
# Maximum size of a manifest, in bytes. A manifest lists variables and chunks, but not their values.
MAX_MANIFEST_BYTES = 256 << 20
# Code that uses one of these names may read variables whose names do not occur in the code.
_READS_ALL = ("eval", "exec", "globals", "locals", "vars", "get_ipython")

# The version of Python whose objects can be sent to this process.
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

# The alias of a state, its id, and the descriptor of the pipe from which its variables are read.
Delivery = tuple[str | None, str, int | None]
# The deliveries of the running cell.
deliveries: list[Delivery] = []


def boot() -> None:
    # IPython must not evaluate `{…}` and `$…` in names.
    for magic, name in ((_rebuild_state, "rebuild_state"), (_take, "take")):
        kernel.shell.register_magic_function(no_var_expand(magic), "line", name)


# -- sending ---------------------------------------------------------------------------------------


def send(descriptor: int, wanted: str) -> None:
    """Writes variables of this process into a pipe. `wanted` is JSON. It is {"names": [name]}, or
    {"alias", "code"} for the variables that the code reads from the state with this alias.
    """
    asked = json.loads(wanted)
    refuse_exits()
    give_up_standstills()
    pipe = _PipeSink(descriptor)
    found = dict(variables.variables())
    names = asked["names"] if "names" in asked else _taken(asked["code"], asked["alias"], found)
    saving = Saving(pipe)
    writer = RecordWriter(saving, RoundTrip(max_bytes=0))
    for name in names:
        if name in found:
            error = writer.write_record("name", name, found[name])
            if error is not None:
                saving.miss(name, found[name], missing.reason(error, found[name]))
    lacking = [lack for name, lack in missing.lacking.items() if name not in found]
    manifest = {
        "python": _PYTHON,
        "stream": writer.stream.end_as("values"),
        "records": [record[1:] for record in writer.records],
        "oob": writer.oob,
        "buffers": saving.buffers,
        "missing": lacking + list(saving.missing.values()),
    }
    pipe.frame(_MANIFEST, json.dumps(manifest).encode())


def _taken(code: str, alias: str, found: dict[str, Any]) -> Collection[str]:
    """Returns the names that code reads from a state, and the names that functions among these
    variables use. Returns all names if they cannot be determined.
    """
    try:
        tree = ast.parse(kernel.shell.transform_cell(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return list(found)
    names, owners = set(), set()
    nodes = list(symbols.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Attribute) and _is_name(node.value, alias):
            names.add(node.attr)
            owners.add(node.value)
        elif isinstance(node, ast.Name) and node.id in _READS_ALL:
            return list(found)
    if any(_is_name(node, alias) and node not in owners for node in nodes):
        return list(found)
    needed = symbols.reach(names)
    return list(found) if needed is None else [name for name in found if name in needed]


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


class _PipeSink:
    """Writes chunks into a pipe. A chunk is identified by its position in the pipe."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.count = 0

    def expect(self, _count: int, /) -> None:
        pass

    def put(self, memory: Any, _again: bool, /) -> tuple[int, list[str]]:
        whole = memoryview(memory).cast("B")
        chunks = []
        for at in range(0, len(whole), CHUNK_BYTES):
            self.frame(_CHUNK, whole[at : at + CHUNK_BYTES])
            chunks.append(str(self.count))
            self.count += 1
        return len(whole), chunks

    def frame(self, kind: bytes, data: bytes | memoryview) -> None:
        # Switches the alarm off, because a frame that has begun must be completed. Only the reader
        # of the pipe can cause a delay here.
        clock = signal.alarm(0)
        for left in (memoryview(_HEAD.pack(kind, len(data))), memoryview(data)):
            while left:
                left = left[os.write(self.descriptor, left) :]
        if clock:
            restart_clock()


# -- receiving -------------------------------------------------------------------------------------


class TransferFailed(Exception):
    """Variables of another state could not be read."""


TransferFailed.__module__ = "builtins"


def prepare() -> None:
    """Called before a cell runs. Defines the aliases through which the cell reads other states."""
    for alias, state, descriptor in list(deliveries):
        if alias:
            deliveries.remove((alias, state, descriptor))
            kernel.shell.user_ns[alias] = _as_object(state, descriptor)


def end() -> None:
    """Closes the pipes that the cell has not read."""
    while deliveries:
        _, _, descriptor = deliveries.pop()
        if descriptor is not None:
            os.close(descriptor)


def _as_object(state: str, descriptor: int | None) -> types.SimpleNamespace:
    # The globals of the other state's functions, so that they use variables of the other state.
    home: dict[str, Any] = {"__builtins__": builtins, "__name__": "__main__"}
    reasons: dict[str | None, str]
    if descriptor is None:
        reasons = {
            None: "the cell's code does not use this state, so no variables were read from it"
        }
    else:
        reasons = dict(receive(state, descriptor, home, home).items())
    values = {name: one for name, one in home.items() if not _is_dunder(name)}
    if not reasons:
        return types.SimpleNamespace(**values)
    made = _Partial(**values)
    _reasons[id(made)] = reasons
    return made


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class _Partial(types.SimpleNamespace):
    """The variables of another state, without those that could not be read. Access to one of the
    missing names raises an error with the reason."""

    def __getattr__(self, name: str) -> Any:
        reasons = _reasons.get(id(self), {})
        why = reasons.get(name) or reasons.get(None)
        if why:
            raise AttributeError(f"'{name}' could not be read from the other state: {why}")
        raise AttributeError(f"the other state has no '{name}'")


_Partial.__name__ = _Partial.__qualname__ = "SimpleNamespace"
# The reasons why names are missing in a `_Partial`, by the id of that object. Stored outside of it,
# because its attributes are the variables of the state and nothing else.
_reasons: dict[int, dict[str | None, str]] = {}


def receive(
    state: str, descriptor: int, namespace: dict[str, Any], into: dict[str, Any]
) -> dict[str, str]:
    """Reads variables from a pipe and puts them into `into`. `namespace` becomes the globals of
    functions among them. Returns {name: reason} for the variables that could not be read.
    """
    with os.fdopen(descriptor, "rb", buffering=1 << 20) as pipe:
        chunks: list[bytes] = []
        manifest: dict[str, Any] | None = None
        while manifest is None:
            kind, count = _HEAD.unpack(_exactly(pipe, _HEAD.size, state))
            if kind == _CHUNK and count <= CHUNK_BYTES:
                chunks.append(_exactly(pipe, count, state))
            elif kind == _MANIFEST and count <= MAX_MANIFEST_BYTES:
                manifest = json.loads(_exactly(pipe, count, state))
            else:
                raise TransferFailed(f"the data from state {state} is damaged")
    if manifest["python"] != _PYTHON:
        # The environment was changed in place while the notebook was open.
        raise TransferFailed(
            f"state {state} is in Python {manifest['python']}, and this cell in Python {_PYTHON}:"
            " the Python of this notebook was replaced. Restart the notebook in its Python"
        )
    return _load(manifest, chunks, namespace, into)


def _load(
    manifest: dict[str, Any],
    chunks: Sequence[bytes],
    namespace: dict[str, Any],
    into: dict[str, Any],
) -> dict[str, str]:
    buffers = Buffers(_ChunkSource(chunks), manifest["buffers"])
    data = RecordBytes(buffers, buffers.read(manifest["stream"]))
    oob = manifest["oob"]
    records = Records(namespace, buffers.fill, lambda number: buffers.map(oob[number]))
    reasons = {one["name"]: one["reason"] for one in manifest["missing"]}
    for name, count, buffer, first_buffer in manifest["records"]:
        record = data.next(count, buffer)
        try:
            ((_, _, value), _) = records.load(record, first_buffer)
        except Exception as error:
            reasons[name] = f"it could not be loaded: {type(error).__name__}: {error}"
            continue
        into[name] = value
    records.end()
    return reasons


def _exactly(pipe: BinaryIO, count: int, state: str) -> bytes:
    data = pipe.read(count)
    if len(data) < count:
        raise TransferFailed(
            f"the process that sends the variables of state {state} ended before it had sent them"
        )
    return data


class _ChunkSource:
    """Reads chunks that were received through a pipe, by their position."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self.chunks = chunks

    def check(self, count: int, _chunks: Iterable[str], /) -> int:
        return count

    def fill(self, memory: Any, chunks: Iterable[str], /) -> None:
        into, at = memoryview(memory).cast("B"), 0
        for number in chunks:
            chunk = self.chunks[int(number)]
            into[at : at + len(chunk)] = chunk
            at += len(chunk)


# -- a state with variables of two others ----------------------------------------------------------


def _take(line: str) -> None:
    """%take NAME [as NAME], … from STATE [del NAME, …]

    Takes variables of another state into this one. The magic must be the whole cell. It is the code
    of the states that a merge makes. Variables that share objects must be taken together.
    """
    names, _, rest = f" {line} ".partition(" from ")
    _, _, deleted = rest.partition(" del ")
    # The new name of each variable, by its name in the other state.
    wanted = {one.split()[0]: one.split()[-1] for one in _items(names)}
    taken = _received(list(wanted))
    absent = (name for name in wanted if name not in taken)
    _check(f"{name} (the other state has no variable of this name)" for name in absent)
    namespace = kernel.shell.user_ns
    for name in _items(deleted):
        namespace.pop(name, None)
    for name, own in wanted.items():
        namespace[own] = taken[name]


def _items(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _received(names: list[str]) -> dict[str, Any]:
    """Returns the variables that the other state has sent. Raises TransferFailed if one of `names`
    could not be sent or loaded."""
    if not deliveries or deliveries[-1][2] is None:
        raise TransferFailed(
            "the other state is not available: it was deleted, or has to be replayed first. "
            "(This magic has to be the whole cell.)"
        )
    _, state, descriptor = deliveries.pop()
    assert descriptor is not None
    taken: dict[str, Any] = {}
    reasons = receive(state, descriptor, kernel.shell.user_ns, taken)
    _check(f"{name} ({reasons[name]})" for name in names if name in reasons)
    return taken


def _check(lost: Iterable[str]) -> None:
    if names := listed(list(lost)):
        raise TransferFailed(f"these variables cannot leave the process of their state: {names}")


def _rebuild_state(line: str) -> None:
    """%rebuild_state --from STATE --take NAMES --keep NAMES

    Combines variables of another state with variables of this one. The magic must be the whole
    cell. It is the code of the states that POST /rebuild_state makes. Variables that share objects
    with a taken variable must be taken too.
    """
    parts = line.split()
    take, keep = _after("--take", parts), _after("--keep", parts)
    namespace, mine = kernel.shell.user_ns, dict(variables.variables())
    taken = _received(take)
    for name in mine:
        if name not in keep:
            namespace.pop(name, None)
    namespace.update(taken)


def _after(flag: str, parts: list[str]) -> list[str]:
    """Returns the words between a flag and the next flag."""
    words = parts[parts.index(flag) + 1 :] if flag in parts else []
    end = next((at for at, word in enumerate(words) if word.startswith("--")), len(words))
    return words[:end]
