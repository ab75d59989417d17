"""Saves and restores IPython's history: `In`, `Out`, `_` and similar names. Searches the history
for magics such as `%rerun`: IPython would search in a database, which the kernel does not use.
"""

from __future__ import annotations

import fnmatch
import functools
import itertools
from collections.abc import Callable
from json import dumps, loads
from typing import Any

from .rebuilding import Filled

# The size of a full piece of the history, in bytes. Each full piece is a blob.
PIECE_BYTES = 16 * 1024


def collect(shell: Any, keep_buffer: Callable[[bytes], int]) -> dict[str, Any]:
    """Returns the history: a line of JSON for each cell, cut into pieces. Full pieces do not change
    when the history grows, so each new state writes only the last piece.
    """
    manager, lines = shell.history_manager, []
    cells = itertools.zip_longest(manager.input_hist_parsed, manager.input_hist_raw)
    for parsed, raw in cells:
        both = [None if one is None else str(one) for one in (parsed, raw)]
        lines.append(dumps(both[:1] if both[0] == both[1] else both) + "\n")
    text = "".join(lines).encode()
    full = len(text) - len(text) % PIECE_BYTES
    pieces = [text[at : at + PIECE_BYTES] for at in range(0, full, PIECE_BYTES)]
    return {
        "count": shell.execution_count,
        "pieces": [(len(piece), Filled(keep_buffer(piece))) for piece in pieces],
        "rest": text[full:],
    }


def restore(shell: Any, late: dict[str, Any], outs: dict[Any, Any]) -> None:
    """Restores the history, so that the next cell gets the next number. `outs` maps the number of a
    cell to the cell's result."""
    history = late.get("history")
    if history is None:
        return
    # Not imported with this module: the root must first find where IPython is.
    from IPython.core.interactiveshell import ExecutionResult

    manager, names = shell.history_manager, shell.user_ns
    shell.execution_count = history["count"]
    # `%xdel` looks at the result of the last cell.
    shell.last_execution_result = ExecutionResult(None)
    lines = [loads(line) for line in _text_of(history).splitlines()]
    raw = [line[-1] for line in lines if line[-1] is not None]
    manager.input_hist_parsed[:] = [line[0] for line in lines if line[0] is not None]
    manager.input_hist_raw[:] = raw
    manager.output_hist.update(outs)
    hidden: dict[str, Any] = {f"_i{number}": text for number, text in enumerate(raw) if number}
    last = [""] * 4 + raw[1:]
    hidden.update(_i=last[-2], _ii=last[-3], _iii=last[-4])
    newest_first = (("_i00", last[-1]), ("_i", last[-2]), ("_ii", last[-3]), ("_iii", last[-4]))
    for name, text in newest_first:
        if hasattr(manager, name):
            setattr(manager, name, text)
    hidden.update((f"_{number}", value) for number, value in outs.items())
    for name in ("_", "__", "___"):
        if "under" + name in late:
            hidden[name], of_hook = late["under" + name]
            setattr(shell.displayhook, name, of_hook)
    names.update(hidden)
    shell.user_ns_hidden.update(hidden)


def _text_of(history: dict[str, Any]) -> str:
    text = bytearray()
    for count, fill in history["pieces"]:
        piece = bytearray(count)
        fill(piece)
        text += piece
    text += history["rest"]
    return text.decode()


# -- searching -------------------------------------------------------------------------------------

# A line of the history as IPython's magics expect it: the session, which is always 0 (the current
# one), the number of the cell, and its source, or its source and its output.
Line = tuple[int, int, Any]


def search_without_database(manager: Any) -> None:
    """Replaces the methods of IPython's history manager that read the database."""
    manager.get_tail = functools.partial(_tail, manager)
    manager.search = functools.partial(_search, manager)


def _tail(
    manager: Any,
    n: int | None = 10,
    raw: bool = True,
    output: bool = False,
    include_latest: bool = False,
) -> list[Line]:
    """The last `n` lines. The latest one is the cell that runs."""
    lines = list(manager.get_range(0, 1, None, raw, output))
    if not include_latest:
        lines = lines[:-1]
    return lines[-n:] if n else lines[-10:] if n is None else []


def _search(
    manager: Any,
    pattern: str = "*",
    raw: bool = True,
    search_raw: bool = True,
    output: bool = False,
    n: int | None = None,
    unique: bool = False,
) -> list[Line]:
    """The lines that match a pattern with wildcards, the latest last."""
    searched = manager.get_range(0, 1, None, search_raw, False)
    lines = manager.get_range(0, 1, None, raw, output)
    both = [(text, line) for (_, _, text), line in zip(searched, lines)]
    found = [(text, line) for text, line in both if fnmatch.fnmatchcase(text, pattern)]
    if unique:
        latest = dict(found)
        found = [(text, line) for text, line in found if latest[text] is line]
    matching = [line for _, line in found]
    return matching if n is None else matching[len(matching) - min(n, len(matching)) :]
