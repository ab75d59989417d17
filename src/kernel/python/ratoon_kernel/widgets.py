"""Carries the messages of widgets between their objects and their models on the page.

ipywidgets and anywidget send them through the package `comm`, for which a kernel provides the
connection. A message leaves the process as a report, in order with the outputs, and arrives as an
order to a head that runs no cell (`handle`). `WidgetMessage` in widget.rs has its fields.

`Output` widgets: elsewhere the page moves outputs into them. Here the process does it, so they are
filled even if no page is open: while such a widget captures, outputs become part of its state.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import numbers
import time
from typing import Any

from . import outputs
from . import shell as kernel_shell
from .shell import running
from .text import clean

# Other comms have no counterpart on the page.
TARGET = "jupyter.widget"
# While an `Output` widget captures, it is sent at most this often, in seconds: each time with all
# its outputs.
SEND_EVERY = 0.1
# Maximum number of characters that one `Output` widget captures.
MAX_CAPTURED_CHARACTERS = 4 * 1024 * 1024

# The open comms of this process, by id.
_comms: dict[str, Any] = {}
# The class of the comms. None until the package `comm` is imported.
_comm_class: Any = None
# The id of the page's update that is being handled.
_echo: str | None = None


# -- comms -----------------------------------------------------------------------------------------


def connect(comm: Any) -> None:
    """Connects the package `comm`. Called when it is imported."""
    global _comm_class

    from comm.base_comm import BaseComm, CommManager

    class Comm(BaseComm):
        """A comm whose messages go to the page."""

        def publish_msg(
            self,
            msg_type: str,
            data: Any = None,
            metadata: Any = None,
            buffers: Any = None,
            **_: Any,
        ) -> None:
            if self.target_name == TARGET:
                _send(msg_type, self.comm_id, data or {}, buffers or [])

        def __reduce__(self) -> Any:
            callbacks = self._msg_callback, self._close_callback
            return restored, (self.comm_id, self.target_name), callbacks, None, None, set_callbacks

    manager = CommManager()
    manager.comms = _comms
    _comm_class = Comm
    comm.create_comm = Comm
    comm.get_comm_manager = lambda: manager


def connect_again(_: Any) -> None:
    """Connects the package `comm` again. ipykernel replaces the connection when it is imported, and
    its own one needs a kernel of Jupyter."""
    import comm

    connect(comm)


# Checkpoints refer to these two functions by module and name: do not move or rename them.


def restored(comm_id: str, target_name: str) -> Any:
    import comm  # noqa: F401

    made = _comm_class(comm_id=comm_id, target_name=target_name, primary=False)
    _comms[comm_id] = made
    return made


def set_callbacks(comm: Any, callbacks: tuple[Any, Any]) -> None:
    comm._msg_callback, comm._close_callback = callbacks
    widget = getattr(comm._msg_callback, "__self__", None)
    if widget is not None:
        # ipywidgets finds its widgets there, when a state refers to another widget.
        from ipywidgets.widgets.widget import _instances  # type: ignore[import-untyped]

        _instances[comm.comm_id] = widget


def _send(msg_type: str, comm_id: str, data: Any, buffers: Any) -> None:
    message: dict[str, Any] = {"model": comm_id}
    if msg_type == "comm_close":
        message["method"] = "close"
    elif msg_type == "comm_open" or data.get("method") in ("update", "echo_update"):
        message["method"] = "open" if msg_type == "comm_open" else "update"
        message["state"] = data.get("state") or {}
        paths = data.get("buffer_paths") or []
        message["buffers"] = [
            {"path": list(path), "data": _base64(buffer)}
            for path, buffer in zip(paths, buffers, strict=False)
        ]
        if data.get("method") == "echo_update" and _echo is not None:
            message["echo"] = _echo
    elif data.get("method") == "custom":
        message["method"] = "custom"
        message["content"] = data.get("content")
        message["buffers"] = [_base64(buffer) for buffer in buffers]
    else:
        return
    outputs.channel.report(_to_json({"widget": message}))


def _base64(buffer: Any) -> str:
    return base64.b64encode(bytes(buffer)).decode("ascii")


def _to_json(message: Any) -> str:
    try:
        text = json.dumps(message, ensure_ascii=False, allow_nan=False, default=_plain)
    except ValueError:
        text = json.dumps(_without_nan(message), ensure_ascii=False, default=_plain)
    return clean(text)


def _plain(value: Any) -> Any:
    """Encodes values that are not JSON as ipykernel does."""
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _base64(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError(f"a widget cannot send {type(value).__name__} to the page: it is not JSON")


def _without_nan(value: Any) -> Any:
    """Replaces NaN and infinity, which JSON does not have, by null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(one) for one in value]
    return value


# -- messages of the page --------------------------------------------------------------------------


def has(model: str) -> str:
    return "true" if model in _comms else "false"


def handle(text: str) -> None:
    """Runs the code of a widget for a message of the page. Errors are shown among the outputs."""
    global _echo

    message = json.loads(text)
    buffers = message.get("buffers") or []
    if message["method"] == "custom":
        data = {"method": "custom", "content": message["content"]}
    else:
        data = {
            "method": "update",
            "state": message["state"],
            "buffer_paths": [buffer["path"] for buffer in buffers],
        }
        buffers = [buffer["data"] for buffer in buffers]
    _echo = message.get("echo")
    running.allow_stdin, running.refused, running.is_widget = False, None, True
    outputs.errors_sent.clear()
    try:
        _comms[message["model"]].handle_msg(
            {
                "header": {"msg_id": _echo or ""},
                "content": {"comm_id": message["model"], "data": data},
                "metadata": {},
                "buffers": [memoryview(base64.b64decode(buffer)) for buffer in buffers],
            }
        )
    except BaseException:
        kernel_shell.shell.showtraceback()
    finally:
        _echo = None
        end_captures()


def echo_always(module: Any) -> None:
    """Makes ipywidgets send the values that a page has set to all pages."""
    module.JUPYTER_WIDGETS_ECHO = True


# -- Output widgets --------------------------------------------------------------------------------


class _Capture:
    """An `Output` widget that captures outputs."""

    def __init__(self, widget: Any) -> None:
        self._widget = widget
        self._items = list(widget.outputs)
        self._characters = sum(map(_characters, self._items))
        self._clears = False
        self._is_changed = False
        self._sent = 0.0

    def take(self, message: Any) -> None:
        """Takes a report that would otherwise go to the server."""
        if "clear" in message:
            self._clears = message["clear"]["wait"]
            if not self._clears:
                self._clear()
        elif "update" in message:
            self._update(message["update"])
        else:
            self._add(message["output"])
        if time.monotonic() - self._sent >= SEND_EVERY:
            self.send()

    def _clear(self) -> None:
        self._items, self._characters, self._is_changed = [], 0, True

    def _update(self, update: Any) -> None:
        for at, item in enumerate(self._items):
            if item.get("transient", {}).get("display_id") == update["display_id"]:
                item = {**item, "data": update["data"], "metadata": update["metadata"]}
                self._items[at], self._is_changed = item, True

    def _add(self, output: Any) -> None:
        if self._clears:
            self._clears = False
            self._clear()
        if self._characters > MAX_CAPTURED_CHARACTERS:
            return
        display_id = output.pop("display_id", None)
        if display_id is not None:
            output["transient"] = {"display_id": display_id}
        self._characters += _characters(output)
        if self._characters > MAX_CAPTURED_CHARACTERS:
            text = "\n[ratoon: this widget captures no more output]\n"
            output = {"output_type": "stream", "name": "stderr", "text": text}
        last = self._items[-1] if self._items else {}
        if output["output_type"] == "stream" == last.get("output_type"):
            if output["name"] == last["name"]:
                self._items.pop()
                output = {**last, "text": last["text"] + output["text"]}
        self._items.append(output)
        self._is_changed = True

    def send(self) -> None:
        if self._is_changed:
            self._is_changed = False
            outputs.sink, sink = None, outputs.sink
            try:
                self._widget.outputs = tuple(self._items)
            finally:
                outputs.sink = sink
            self._sent = time.monotonic()


# The widgets that capture now, the innermost last.
_captures: list[_Capture] = []


def end_captures() -> None:
    """Ends what code has begun and not ended: a widget captures only until the end of a cell."""
    while _captures:
        _end_capture()


def _end_capture() -> None:
    _captures.pop().send()
    outputs.sink = _captures[-1].take if _captures else None


def capture_here(module: Any) -> None:
    """Makes `Output` widgets capture in this process."""

    def enter(self: Any) -> None:
        if _captures:
            _captures[-1].send()
        _captures.append(_Capture(self))
        outputs.sink = _captures[-1].take

    def leave(self: Any, etype: Any, evalue: Any, tb: Any) -> bool | None:
        if etype is not None:
            kernel_shell.shell.showtraceback((etype, evalue, tb), tb_offset=0)
        if _captures:
            _end_capture()
        # As in Jupyter, the widget shows the error, and the code continues.
        return True if etype is not None else None

    module.Output.__enter__ = enter
    module.Output.__exit__ = leave


def _characters(output: Any) -> int:
    if output["output_type"] == "stream":
        return len(output["text"])
    return len(json.dumps(output, default=str))
