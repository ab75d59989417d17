"""Sends a cell's outputs to the server in order: text, displays, results and errors."""

import base64
import io
import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .classes import name_of
from .text import MAX_NAME_CHARACTERS, clean, cut, short, text_of, to_json

# Maximum length of a text/plain representation, in characters. Clients of snapshot-kernel rely on
# this value.
MAX_PLAIN_CHARACTERS = 1_000_000
# Maximum length of any other representation, in characters. The page shows no longer ones inline.
MAX_RICH_CHARACTERS = 8 * 1024 * 1024
# Maximum number of frames in a traceback.
MAX_TRACEBACK_ITEMS = 100

# The connection to the server, implemented in Rust (`Channel` in channel.rs).
channel: Any = None
# Takes the outputs instead of the server, while an `Output` widget captures (widgets.py).
sink: Callable[[Any], None] | None = None
# The errors that the running cell has shown.
errors_sent: list[dict[str, Any]] = []


def boot(own_channel: Any) -> None:
    """Replaces `sys.stdout` and `sys.stderr` by streams that send to the server."""
    global channel
    channel = own_channel
    sys.stdout = sys.__stdout__ = Stream(1)  # type: ignore[misc, assignment]
    sys.stderr = sys.__stderr__ = Stream(2)  # type: ignore[misc, assignment]


class Stream(io.TextIOBase):
    """`sys.stdout` or `sys.stderr`. Each write is sent to the server in order."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._is_error = fd == 2
        self._send: Callable[[bool, str], int] = channel.text
        self.buffer = io.FileIO(fd, "w", closefd=False)

    name = property(lambda self: "<stderr>" if self._is_error else "<stdout>")

    def write(self, text: str) -> int:
        if sink is None or not isinstance(text, str):
            return self._send(self._is_error, text)  # an error if it is not a string
        if text:
            name = "stderr" if self._is_error else "stdout"
            sink({"output": {"output_type": "stream", "name": name, "text": clean(text)}})
        return len(text)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def flush(self) -> None:
        channel.flush(self._is_error)

    def close(self) -> None:
        pass

    def reconfigure(self, **_: Any) -> None:
        pass


def send_error(etype: Any, evalue: Any, lines: Sequence[Any]) -> None:
    text = short(text_of(evalue), MAX_PLAIN_CHARACTERS)
    if type(evalue) is SystemExit:
        text = _EXIT if evalue.code is None else f"{text} ({_EXIT})"
        lines = [f"SystemExit: {text}"]
    error = {
        "ename": ename(evalue),
        "evalue": cut(text, MAX_PLAIN_CHARACTERS),
        "traceback": [short(line, MAX_PLAIN_CHARACTERS // 10) for line in _shortened(lines)],
    }
    errors_sent.append(error)
    report({"output": {"output_type": "error", **error}})


_EXIT = "exit() stopped this cell. Nothing else changed."


def _shortened(lines: Sequence[Any]) -> Any:
    """Removes the middle of a long traceback, except the last frame in the code of a cell."""
    if len(lines) <= MAX_TRACEBACK_ITEMS:
        return lines
    begin, end = MAX_TRACEBACK_ITEMS // 2, len(lines) - MAX_TRACEBACK_ITEMS // 2
    own = max((at for at, line in enumerate(lines) if _CELL_FRAME.match(line)), default=0)
    if not begin <= own < end:
        return [*lines[:begin], *_left_out(end - begin), *lines[end:]]
    return [
        *lines[:begin],
        *_left_out(own - begin),
        lines[own],
        *_left_out(end - own - 1),
        *lines[end:],
    ]


def _left_out(count: int) -> Any:
    return [f"[{count} frames are not shown here]"] if count else []


# Matches the first line of a frame in a cell. Terminal colours may surround its words.
_COLOUR = r"(?:\x1b\[[0-9;]*m)*"
_CELL_FRAME = re.compile(rf"\s*{_COLOUR}(?:Cell|Input){_COLOUR} ?{_COLOUR} ?{_COLOUR}In ?\[")


def cut_own_frames(tb: Any) -> None:
    """Cuts Ratoon's own frames off the end of a traceback, so that it ends in the user's code. Such
    frames exist when `input` or the use of a missing variable raises an error."""
    while tb is not None and tb.tb_next is not None:
        if tb.tb_next.tb_frame.f_code.co_filename.startswith("<ratoon "):
            tb.tb_next = None
        tb = tb.tb_next


def ename(error: BaseException) -> str:
    return short(name_of(type(error)), MAX_NAME_CHARACTERS)


def count_or_zero(number: Any) -> Any:
    return number if isinstance(number, int) and 0 <= number < 2**32 else 0


def bundle(data: Any, metadata: Any) -> Any:
    """Returns representations and metadata that are valid JSON. Encodes bytes in base64 and cuts
    long plain text. Prints a message for each representation that it leaves out."""
    kept = {}
    for mime, value in data.items():
        if isinstance(value, bytes) and len(value) <= MAX_RICH_CHARACTERS:
            value = base64.b64encode(value).decode("ascii")
        if isinstance(value, str) and mime == "text/plain":
            kept[mime] = short(value, MAX_PLAIN_CHARACTERS)
        elif isinstance(value, (str, bytes)) and len(value) > MAX_RICH_CHARACTERS:
            _tell_left_out(
                mime,
                f"has {len(value)} characters, more than the {MAX_RICH_CHARACTERS} that can be"
                " shown",
            )
        elif isinstance(value, str):
            kept[mime] = clean(value)
        elif _is_json(value):
            kept[mime] = value
        else:
            _tell_left_out(mime, "is not JSON, or is too long")
    return kept, {k: v for k, v in (metadata or {}).items() if _is_json(v)}


def _tell_left_out(mime: Any, why: str) -> None:
    if isinstance(mime, str):
        sys.stderr.write(
            f"[ratoon: an output was not shown: its {cut(mime, MAX_NAME_CHARACTERS)} {why}]\n"
        )


def _is_json(value: Any) -> bool:
    try:
        return len(json.dumps(value, allow_nan=False)) <= MAX_RICH_CHARACTERS
    except (TypeError, ValueError, RecursionError):
        return False


def report(message: Any) -> None:
    if sink is not None:
        return sink(message)
    try:
        channel.report(to_json(message))
    except ValueError as error:
        sys.stderr.write(f"[ratoon: an output was not shown: {error}]\n")
