"""A WebSocket to a notebook: sends commands, and passes the events of each run to its caller.

It is opened by the first command, and opened again when it was lost. The events of runs that go on
continue where they ended.
"""

import asyncio
import contextlib
import json
import ssl
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal
from urllib.parse import quote, urlencode, urlsplit

from . import websocket
from .errors import ConnectionLost, NotFound, RatoonError
from .servers import Server, refusal
from .values import CellError, Display, Json, Output, Run, Stream, output

RECONNECT_SECONDS = 10
RECONNECT_PAUSE = 0.1
READ_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Started:
    """The cell of a run has begun."""


@dataclass(frozen=True, slots=True)
class Added:
    """A run printed or showed something."""

    output: Output


@dataclass(frozen=True, slots=True)
class Cleared:
    """The outputs so far are cleared: now, or with `wait` when the next one comes."""

    wait: bool


@dataclass(frozen=True, slots=True)
class Updated:
    """The displays with this id have new data."""

    display: Display


@dataclass(frozen=True, slots=True)
class Prompt:
    """The cell waits for `input()`."""

    text: str
    password: bool


Event = Started | Added | Cleared | Updated | Prompt


@dataclass(slots=True)
class Outputs:
    """The outputs of a run, as its events make them."""

    items: list[Output] = field(default_factory=list)
    clear_pending: bool = False

    def apply(self, event: Event) -> None:
        match event:
            case Cleared(wait=True):
                self.clear_pending = True
            case Cleared():
                self.items.clear()
            case Updated(display=new):
                for n, item in enumerate(self.items):
                    if isinstance(item, Display) and item.display_id == new.display_id:
                        count = item.execution_count
                        self.items[n] = Display(new.data, new.metadata, new.display_id, count)
            case Added(output=new):
                if self.clear_pending:
                    self.items.clear()
                    self.clear_pending = False
                self.items.append(new)

    def joined(self) -> tuple[Output, ...]:
        """The outputs, with adjacent text of one stream as one item."""
        found: list[Output] = []
        for name, group in groupby(self.items, key=stream_name):
            items = list(group)
            if name is None:
                found += items
            else:
                text = "".join(item.text for item in items if isinstance(item, Stream))
                found.append(Stream(name, text))
        return tuple(found)


def stream_name(item: Output) -> Literal["stdout", "stderr"] | None:
    return item.name if isinstance(item, Stream) else None


class Live:
    """A run that has not ended: its events so far, later events, and its end."""

    def __init__(self, exec_id: str, code: str, at: str) -> None:
        self.exec_id, self.code, self.at = exec_id, code, at
        self.outputs = Outputs()
        self.events: list[Event] = []
        self.ended: Json | None = None
        """The event that the run has ended."""
        self.changed = asyncio.Event()

    def add(self, event: Event) -> None:
        self.outputs.apply(event)
        self.events.append(event)
        self.changed.set()

    def on_event(self, message: Json) -> None:
        match message["event"]:
            case "run_started":
                self.add(Started())
            case "output_added":
                self.add(Added(output(message["output"])))
            case "outputs_cleared":
                self.add(Cleared(message["wait"]))
            case "display_updated":
                data, metadata = message["data"], message["metadata"]
                self.add(Updated(Display(data, metadata, message["display_id"])))
            case "prompt_changed":
                if prompt := message["prompt"]:
                    self.add(Prompt(prompt["text"], prompt["password"]))
            case "run_ended":
                self.ended = message
                self.changed.set()

    def resume(self, run: Json) -> None:
        """Takes the run from a snapshot: its events since the last one are not known."""
        self.add(Cleared(wait=False))
        for item in run["outputs"]:
            self.add(Added(output(item)))
        if run["status"] not in ("queued", "running"):
            self.ended = run
        self.changed.set()

    def finish(self, reply: Json) -> Run:
        """The run, when it has ended."""
        end = {**(self.ended or {}), **{k: v for k, v in reply.items() if v is not None}}
        if "outputs" in reply:  # A passing run, which has no events.
            self.outputs.items = [output(item) for item in reply["outputs"]]
        error, milliseconds = end.get("error"), end.get("duration_ms")
        return Run(
            exec_id=self.exec_id,
            code=self.code,
            at=self.at,
            status=end["status"],
            state=end.get("state"),
            outputs=self.outputs.joined(),
            error=CellError.from_json(error) if error else None,
            warnings=tuple(end.get("warnings", ())),
            duration=None if milliseconds is None else milliseconds / 1000,
            keepable=end.get("keepable", False),
        )


class Connection:
    """The WebSocket to one notebook."""

    def __init__(self, server: Server, notebook: str) -> None:
        self.server, self.notebook = server, notebook
        self.writer: asyncio.StreamWriter | None = None
        self.reading: asyncio.Task[None] | None = None
        self.opening = asyncio.Lock()
        self.replies: dict[int, asyncio.Future[Json]] = {}
        self.live: dict[str, Live] = {}
        self.position: tuple[str, int] | None = None
        self.last = 0

    async def ask(self, do: str, **what: Any) -> Json:
        """Sends a command, and returns its reply.

        Raises `RatoonError` if the command is refused, `ConnectionLost` if no reply comes.
        """
        await self.open()
        self.last += 1
        number = self.last
        reply = self.replies[number] = asyncio.get_running_loop().create_future()
        try:
            await self.send({"id": number, "do": do, **what})
            answer: Json = await reply
        finally:
            self.replies.pop(number, None)
        if answer["kind"] == "refused":
            raise RatoonError.from_problem(answer)
        return answer

    async def send(self, message: Json) -> None:
        writer = self.writer
        if writer is None:
            raise self.lost("it was closed")
        writer.write(websocket.frame(json.dumps(message).encode()))
        try:
            await writer.drain()
        except OSError as error:
            raise self.lost(str(error)) from error

    def lost(self, why: str) -> ConnectionLost:
        return ConnectionLost(f"get an answer from {self.server.url}", why)

    async def run(self, live: Live, command: Json) -> Run:
        """Runs a cell, whose events `live` gets. Survives an interrupted connection."""
        self.live[live.exec_id] = live
        try:
            return live.finish(await self.reply_to_run(live, command))
        finally:
            self.live.pop(live.exec_id, None)

    async def reply_to_run(self, live: Live, command: Json) -> Json:
        is_repeated = False
        while True:
            try:
                return await self.ask("run", **command)
            except ConnectionLost:
                # An exec id runs once, so the request can be repeated. A passing run leaves no
                # trace by which the server could know it.
                if self.reading is None or command["passing"]:
                    raise
                is_repeated = True
            except RatoonError as refused:
                if not is_repeated or refused.code != "conflict":
                    raise
                return await self.end_of(live)  # It still runs.

    async def end_of(self, live: Live) -> Json:
        while live.ended is None:
            if self.reading is None:
                raise self.lost("the connection was interrupted")
            live.changed.clear()
            await live.changed.wait()
        return {}

    async def open(self) -> None:
        async with self.opening:
            if self.writer is None:
                self.position = None
                reader, writer = await self.connect(resumes=False)
                self.writer = writer
                self.reading = asyncio.create_task(self.read(reader))

    async def connect(self, *, resumes: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        parts = urlsplit(self.server.url)
        is_safe = parts.scheme == "https"
        port = parts.port or (443 if is_safe else 80)
        context = ssl.create_default_context() if is_safe else None
        since = {"since": "now"}
        if resumes and self.position:
            since = {"epoch": self.position[0], "seq": str(self.position[1])}
        path = f"{parts.path}/ws/{quote(self.notebook, safe='')}?{urlencode(since)}"
        request, accept = websocket.handshake(path, parts.netloc, self.server.token)
        try:
            opened = asyncio.open_connection(parts.hostname, port, ssl=context, limit=1 << 20)
            reader, writer = await opened
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        except asyncio.IncompleteReadError as error:
            raise self.lost("the server closed it") from error
        except OSError as error:
            raise self.server.unreachable(error) from error
        status = head[0].split()[1]
        if status != "101":
            headers = dict(line.split(": ", 1) for line in head if ": " in line)
            body = await reader.read(int(headers.get("content-length", 1 << 16)))
            writer.close()
            raise refusal(int(status), body)
        if f"sec-websocket-accept: {accept.lower()}" not in head:
            writer.close()
            raise self.lost("this is no WebSocket")
        return reader, writer

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Reads messages until the connection cannot be opened again."""
        why = "the server closed it"
        while True:
            why = await self.read_until_lost(reader)
            again = await self.reconnect()
            if again is None:
                break
            reader = again
        self.abandon(self.lost(why))

    async def read_until_lost(self, reader: asyncio.StreamReader) -> str:
        frames = websocket.Frames()
        while True:
            try:
                data = await reader.read(READ_BYTES)
            except OSError as error:
                return str(error)
            if not data:
                return "the server closed it"
            for opcode, payload in frames.feed(data):
                if opcode == websocket.PING and self.writer:
                    self.writer.write(websocket.frame(payload, websocket.PONG))
                elif opcode == websocket.CLOSE:
                    return payload[2:].decode(errors="replace") or "the server closed it"
                elif opcode == websocket.TEXT:
                    self.on_message(json.loads(payload))

    async def reconnect(self) -> asyncio.StreamReader | None:
        """Opens the connection again if runs go on; their events continue."""
        async with self.opening:
            if self.writer:
                self.writer.close()
                self.writer = None
            # Replies to commands on the lost connection do not come.
            self.fail_replies(self.lost("the connection was interrupted"))
            loop = asyncio.get_running_loop()
            by = loop.time() + RECONNECT_SECONDS
            while self.live and self.position and loop.time() < by:
                try:
                    reader, self.writer = await self.connect(resumes=True)
                    return reader
                except NotFound:
                    break
                except RatoonError:
                    await asyncio.sleep(RECONNECT_PAUSE)
            self.reading = None
            return None

    def on_message(self, message: Json) -> None:
        if "seq" in message:
            self.position = message["epoch"], message["seq"]
        if "snapshot" in message:
            runs = {run["exec_id"]: run for run in message["snapshot"]["runs"]}
            for one in self.live.values():
                if run := runs.get(one.exec_id):
                    one.resume(run)
        elif "event" in message:
            if live := self.live.get(message.get("exec_id", "")):
                live.on_event(message)
        elif (number := message.get("reply")) is not None:
            reply = self.replies.get(number)
            if reply and not reply.done():
                reply.set_result(message)

    def fail_replies(self, error: Exception) -> None:
        for reply in self.replies.values():
            if not reply.done():
                reply.set_exception(error)

    def abandon(self, error: ConnectionLost) -> None:
        """Ends all that waits, because the connection is gone."""
        self.fail_replies(error)
        for live in self.live.values():
            live.changed.set()
        self.writer = self.reading = None

    async def close(self) -> None:
        reading, writer = self.reading, self.writer
        if reading is not None:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading
        self.abandon(self.lost("it was closed"))
        if writer is not None:
            writer.write(websocket.frame((1000).to_bytes(2), websocket.CLOSE))
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
