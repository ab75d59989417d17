"""Jupyter's messaging protocol: the sockets of a kernel, and its messages.

Messages of the shell channel are answered one after the other. Messages of the control channel are
answered at once, also while a cell runs. All runs in one event loop; nothing here blocks.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import zmq
import zmq.asyncio
from jupyter_client.session import Session

Message = dict[str, Any]
Answer = Callable[[Message], Awaitable[Mapping[str, Any] | None]]
"""Answers a request: the content of the reply; null for a message that has no reply."""

# How long messages may take to leave when the kernel ends, in milliseconds.
LINGER_MS = 1000


class Wire:
    """The sockets of a kernel."""

    def __init__(self, connection_file: Path) -> None:
        config = json.loads(connection_file.read_text())
        self.session = Session(
            key=config["key"].encode(), signature_scheme=config["signature_scheme"]
        )
        self.context = zmq.asyncio.Context()
        self.config = config
        self.shell = self.bind(zmq.ROUTER, "shell")
        self.control = self.bind(zmq.ROUTER, "control")
        self.stdin = self.bind(zmq.ROUTER, "stdin")
        self.iopub = self.bind(zmq.XPUB, "iopub")
        self.heartbeat = self.bind(zmq.REP, "hb")
        self.requests: asyncio.Queue[Message] = asyncio.Queue()

    def bind(self, kind: int, name: str) -> zmq.asyncio.Socket:
        socket: zmq.asyncio.Socket = self.context.socket(kind)
        socket.linger = LINGER_MS
        transport, ip, port = (self.config[key] for key in ("transport", "ip", f"{name}_port"))
        separator = "-" if transport == "ipc" else ":"
        socket.bind(f"{transport}://{ip}{separator}{port}")
        return socket

    async def serve(self, answer: Answer) -> None:
        """Answers messages until the task is cancelled or one of them raises."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.echo())
            group.create_task(self.collect())
            group.create_task(self.welcome())
            group.create_task(self.serve_control(answer))
            while True:
                await self.handle(self.shell, await self.requests.get(), answer)

    async def echo(self) -> None:
        while True:
            await self.heartbeat.send(await self.heartbeat.recv())

    async def welcome(self) -> None:
        """Tells each front end that its subscription has arrived: it misses nothing from now on."""
        while True:
            event = await self.iopub.recv()
            if event.startswith(b"\1"):
                topic = event[1:]
                content = {"subscription": topic.decode(errors="replace")}
                await self.send(self.iopub, "iopub_welcome", content, None, [topic])

    async def collect(self) -> None:
        """Reads the messages of the shell channel, so that those that wait are known."""
        while True:
            if (message := await self.receive(self.shell)) is not None:
                self.requests.put_nowait(message)

    async def serve_control(self, answer: Answer) -> None:
        while True:
            if (message := await self.receive(self.control)) is not None:
                await self.handle(self.control, message, answer)

    async def receive(self, socket: zmq.asyncio.Socket) -> Message | None:
        """The next message; null if it is not signed or cannot be read."""
        received = await socket.recv_multipart()
        try:
            identities, parts = self.session.feed_identities(received)
            message: Message = self.session.deserialize(parts)
        except (ValueError, TypeError, IndexError, KeyError):
            return None
        message["identities"] = identities
        return message

    async def handle(self, socket: zmq.asyncio.Socket, request: Message, answer: Answer) -> None:
        """Answers one message, between the states busy and idle."""
        content = None
        await self.publish("status", {"execution_state": "busy"}, request)
        try:
            content = await answer(request)
            if content is not None:
                await self.reply(socket, request, content)
        finally:
            await self.publish("status", {"execution_state": "idle"}, request)
        is_cell = request["header"]["msg_type"] == "execute_request"
        stops = is_cell and request["content"].get("stop_on_error", True)
        if stops and content is not None and content.get("status") == "error":
            await self.abort_waiting()

    async def reply(
        self, socket: zmq.asyncio.Socket, request: Message, content: Mapping[str, Any]
    ) -> None:
        kind = request["header"]["msg_type"].replace("_request", "_reply")
        await self.send(socket, kind, content, request, request["identities"])

    async def publish(
        self, kind: str, content: Mapping[str, Any], parent: Message | None = None
    ) -> None:
        """Sends a message to all front ends."""
        await self.send(self.iopub, kind, content, parent, [kind.encode()])

    async def send(
        self,
        socket: zmq.asyncio.Socket,
        kind: str,
        content: Mapping[str, Any],
        parent: Message | None,
        identities: list[bytes],
    ) -> None:
        metadata = (parent or {}).get("reply_metadata", {}) if kind == "execute_reply" else {}
        message = self.session.msg(kind, dict(content), parent and parent["header"], None, metadata)
        await socket.send_multipart(self.session.serialize(message, identities))

    async def ask(self, request: Message, prompt: str, password: bool) -> str:
        """Asks the front end of a request for input, and waits for the answer."""
        content = {"prompt": prompt, "password": password}
        while await self.stdin.poll(0):  # An answer to an earlier question.
            await self.stdin.recv_multipart()
        await self.send(self.stdin, "input_request", content, request, request["identities"])
        while True:
            message = await self.receive(self.stdin)
            if message is not None and message["header"]["msg_type"] == "input_reply":
                return str(message["content"].get("value", ""))

    async def abort_waiting(self) -> None:
        """Answers all cells that wait with `aborted`, because a cell before them failed."""
        waiting = [self.requests.get_nowait() for _ in range(self.requests.qsize())]
        for request in waiting:
            if request["header"]["msg_type"] != "execute_request":
                self.requests.put_nowait(request)
                continue

            async def aborted(_: Message) -> Mapping[str, Any]:
                return {"status": "aborted"}

            await self.handle(self.shell, request, aborted)

    def close(self) -> None:
        with contextlib.suppress(zmq.ZMQError):
            self.context.destroy(linger=LINGER_MS)
