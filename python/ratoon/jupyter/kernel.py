"""Answers the requests of a Jupyter front end by means of a Ratoon server.

The front end runs cells one after another. Each runs against the state where the front end is
(`navigation`), and a cell that fails leaves a partial state, because in Jupyter the variables that
it had set stay.
"""

import asyncio
import contextlib
import fnmatch
import os
import signal
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from ..client import AsyncLiveRun, AsyncNotebook
from ..connection import Added, Cleared, Event, Prompt, Updated
from ..errors import RatoonError
from ..values import Display, Run, State, States, Stream, without_colours
from .commands import Command, command_of
from .navigation import Navigation
from .texts import with_joined_text
from .wire import Message, Wire

PROTOCOL_VERSION = "5.4"
WIDGET = "application/vnd.jupyter.widget-view+json"
BRANCHING = "RATOON_BRANCHING"
"""The environment variable that turns on branching for a new kernel: `on`."""


async def serve(connection_file: Path) -> None:
    """Serves a front end until it shuts the kernel down."""
    wire = Wire(connection_file)
    kernel = Kernel(wire, AsyncNotebook(notebook_name()))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, kernel.interrupt_soon)
    serving = loop.create_task(wire.serve(kernel.answer))
    loop.add_signal_handler(signal.SIGTERM, kernel.ended.set)
    ended = loop.create_task(kernel.ended.wait())
    await asyncio.wait((serving, ended), return_when=asyncio.FIRST_COMPLETED)
    await kernel.interrupt()
    with contextlib.suppress(asyncio.CancelledError):
        serving.cancel()
        await serving
    await kernel.notebook.close()
    wire.close()


def notebook_name() -> str:
    """The name of the notebook: that of Jupyter's notebook, if it has a file."""
    stem = Path(os.environ.get("JPY_SESSION_NAME", "")).name.removesuffix(".ipynb")
    # The characters that the names of notebooks may have.
    plain = "".join(c if c.isalnum() or c in "-_. " else "-" for c in stem).strip(" .")
    return plain[:60] or "jupyter"


class Kernel:
    """What a front end sees as a kernel."""

    def __init__(self, wire: Wire, notebook: AsyncNotebook) -> None:
        self.wire, self.notebook = wire, notebook
        self.navigation = Navigation(branches=os.environ.get(BRANCHING) == "on")
        self.ended = asyncio.Event()
        self.running: AsyncLiveRun | None = None
        self.interrupting: set[asyncio.Task[None]] = set()
        self.history: list[tuple[int, str, str | None]] = []
        """What this kernel ran: number, code and result."""

    async def answer(self, request: Message) -> Mapping[str, Any] | None:
        """The content of the reply to a request; null for messages without a reply."""
        try:
            return await self.reply_to(request)
        except RatoonError as error:
            return {"status": "error", **as_error(error)}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # A request without what the protocol demands must not end the kernel.
            kind = request["header"]["msg_type"]
            why = f"it is malformed: {type(error).__name__}: {error}"
            refusal = RatoonError(f"answer {kind}", why, "see Jupyter's messaging protocol")
            return {"status": "error", **as_error(refusal)}

    async def reply_to(self, request: Message) -> Mapping[str, Any] | None:
        kind, content = request["header"]["msg_type"], request["content"]
        if kind == "execute_request":
            return await self.execute(request, content)
        answers = {
            "kernel_info_request": self.kernel_info,
            "complete_request": self.complete,
            "inspect_request": self.inspect,
            "is_complete_request": self.is_complete,
            "history_request": self.past,
            "comm_info_request": self.comm_info,
            "interrupt_request": self.interrupt_request,
            "shutdown_request": self.shutdown,
        }
        if kind == "comm_open":
            # The protocol's way to say that nobody here knows the target.
            closed = {"comm_id": content["comm_id"], "data": {}}
            await self.wire.publish("comm_close", closed, request)
        return await answers[kind](content) if kind in answers else None

    async def kernel_info(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        number = ".".join(map(str, sys.version_info[:3]))
        language = {
            "name": "python",
            "version": number,
            "mimetype": "text/x-python",
            "file_extension": ".py",
            "pygments_lexer": "ipython3",
            "codemirror_mode": {"name": "ipython", "version": 3},
            "nbconvert_exporter": "python",
        }
        try:
            own = version("ratoon")
        except PackageNotFoundError:
            own = "0"
        return {
            "status": "ok",
            "protocol_version": PROTOCOL_VERSION,
            "implementation": "ratoon",
            "implementation_version": own,
            "language_info": language,
            "banner": f"Ratoon {own}, Python {number}. %state, %checkout ID, %fork, %branching on",
            "help_links": [],
            "debugger": False,
            "supported_features": [],
        }

    async def execute(self, request: Message, content: Mapping[str, Any]) -> Mapping[str, Any]:
        request["reply_metadata"] = {"started": datetime.now(UTC).isoformat()}
        code, silent = content["code"], content.get("silent", False)
        stores = content.get("store_history", True) and not silent
        cell = request["metadata"].get("cellId")
        base = self.navigation.before(cell)
        count = base.count + 1 if stores else base.count
        if not silent:
            shown = {"code": code, "execution_count": count}
            await self.wire.publish("execute_input", shown, request)
        payload: list[Mapping[str, Any]] = []
        try:
            if (command := command_of(code)) is not None:
                count = base.count
                payload = await self.carry_out(command, request)
                run = None
            elif not code.strip():
                count, run = base.count, None
            else:
                run = await self.run(request, content, base.state, stores)
        except (RatoonError, LookupError) as error:
            return await self.failed(request, content, count, as_error(error))
        if run is not None and stores:
            self.history.append((count, code, run.result))
            if run.state is not None:
                self.navigation.left(cell, run.state)
        if run is not None and run.error is not None:
            error_of = {k: v for k, v in run.error.to_json().items() if k != "output_type"}
            return await self.failed(request, content, count, error_of)
        wanted = content.get("user_expressions") or {}
        expressions = await self.user_expressions(wanted)
        return {
            "status": "ok",
            "execution_count": count,
            "user_expressions": expressions,
            "payload": payload,
        }

    async def failed(
        self, request: Message, content: Mapping[str, Any], count: int, error: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        if not content.get("silent", False):
            await self.wire.publish("error", error, request)
        return {"status": "error", "execution_count": count, **error}

    async def run(self, request: Message, content: Mapping[str, Any], at: str, stores: bool) -> Run:
        """Runs a cell, and publishes its outputs while it runs."""
        live = self.running = await self.notebook.start(
            content["code"],
            at,
            allow_stdin=bool(content.get("allow_stdin", False)),
            keep_partial=stores,
            passing=not stores,
            replay=True,
        )
        asking: asyncio.Task[None] | None = None
        try:
            async for event in with_joined_text(live.events()):
                if isinstance(event, Prompt):
                    asking = asyncio.create_task(self.ask(live, request, event))
                else:
                    await self.publish(event, request)
            run = await live.wait()
        finally:
            self.running = None
            if asking is not None:
                asking.cancel()
        if not stores and not content.get("silent", False):
            # The outputs of a passing run come at its end.
            for item in run.outputs:
                await self.publish(Added(item), request)
        return run

    async def publish(self, event: Event, request: Message) -> None:
        match event:
            case Added(output=Stream(name=name, text=text)):
                await self.wire.publish("stream", {"name": name, "text": text}, request)
            case Added(output=Display() as item):
                kind = "display_data" if item.execution_count is None else "execute_result"
                await self.wire.publish(kind, shown(item), request)
            case Updated(display=item):
                await self.wire.publish("update_display_data", shown(item), request)
            case Cleared(wait=wait):
                await self.wire.publish("clear_output", {"wait": wait}, request)
            case _:
                pass  # An error is published when the run has ended.

    async def ask(self, live: AsyncLiveRun, request: Message, prompt: Prompt) -> None:
        answer = await self.wire.ask(request, prompt.text, prompt.password)
        with contextlib.suppress(RatoonError):  # The run may have ended meanwhile.
            await live.answer(answer)

    async def user_expressions(self, wanted: Mapping[str, str]) -> Mapping[str, Any]:
        if not wanted:
            return {}
        here = self.navigation.here.state
        values = await self.notebook.evaluate(*wanted.values(), at=here)
        found: dict[str, Any] = {}
        for name, value in zip(wanted, values):
            if value.failed:
                ename, _, evalue = value.text.partition(": ")
                error = {"ename": ename, "evalue": evalue, "traceback": []}
                found[name] = {"status": "error", **error}
            else:
                data = {"text/plain": value.text}
                found[name] = {"status": "ok", "data": data, "metadata": {}}
        return found

    async def carry_out(self, command: Command, request: Message) -> list[Mapping[str, Any]]:
        """Carries out a command of the kernel's own. Returns the payload of the reply."""
        navigation = self.navigation
        match command.name:
            case "?":
                text = await self.description(command.argument)
                return [{"source": "page", "data": {"text/plain": text}, "start": 0}]
            case "branching":
                if command.argument in ("on", "off"):
                    navigation.branches = command.argument == "on"
                elif command.argument:
                    raise LookupError(f"%branching is on or off, not {command.argument!r}")
                word = "on" if navigation.branches else "off"
                await self.say(f"branching is {word}\n", request)
                return []
            case "checkout":
                states = await self.notebook.states()
                navigation.go_to(states, state_of(states, command.argument))
            case "fork":
                number = command.argument
                if number and not number.isdecimal():
                    raise LookupError(f"%fork takes the number of a cell, not {number!r}")
                navigation.fork(int(number) if number else None)
        await self.say(await self.position(), request)
        return []

    async def say(self, text: str, request: Message) -> None:
        await self.wire.publish("stream", {"name": "stdout", "text": text}, request)

    async def position(self) -> str:
        """Where the front end is, in words."""
        here = self.navigation.here
        states = await self.notebook.states()
        state = states.find(here.state)
        children = sum(each.parent == state.id for each in states)
        label = f" ({state.label})" if state.label else ""
        lines = [f"state {state.id}{label}"]
        if here.count:
            lines.append(f"after In[{here.count}]; continued {children} times")
        else:
            lines.append(f"the first state, without variables; continued {children} times")
        lines.append(f"page {self.notebook.url}")
        return "\n".join(lines) + "\n"

    async def complete(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        code, cursor = content["code"], content["cursor_pos"]
        here = self.navigation.here.state
        reply = await self.notebook.complete(code, min(cursor, len(code)), at=here)
        start, end, items = reply["from"], reply["to"], reply["items"]
        kinds = [
            {
                "start": start,
                "end": end,
                "text": item["text"],
                "type": item["kind"],
                "signature": item["signature"] or "",
            }
            for item in items
        ]
        return {
            "status": "ok",
            "matches": [item["text"] for item in items],
            "cursor_start": start,
            "cursor_end": end,
            "metadata": {"_jupyter_types_experimental": kinds},
        }

    async def inspect(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        code, cursor = content["code"], content["cursor_pos"]
        here = self.navigation.here.state
        found = await self.notebook.inspect(code, min(cursor, len(code)), at=here)
        data = {"text/plain": in_words(found)} if found else {}
        return {"status": "ok", "found": found is not None, "data": data, "metadata": {}}

    async def description(self, name: str) -> str:
        here = self.navigation.here.state
        found = await self.notebook.inspect(name, len(name), at=here)
        return in_words(found) if found else f"Object `{name}` not found."

    async def is_complete(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        status, indent = TransformerManager().check_complete(content["code"])
        spaces = {"indent": " " * (indent or 0)} if status == "incomplete" else {}
        return {"status": status, **spaces}

    async def past(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """What this kernel ran. It is session 1, as seen from itself."""
        entries = self.history
        kind, n = content.get("hist_access_type"), content.get("n") or None
        if kind == "range":
            start, stop = content.get("start") or 0, content.get("stop")
            is_own = content.get("session", 0) in (0, 1)
            entries = [
                e for e in entries if is_own and e[0] >= start and (stop is None or e[0] < stop)
            ]
        elif kind == "search":
            pattern = content.get("pattern") or "*"
            entries = [e for e in entries if fnmatch.fnmatchcase(e[1], pattern)]
            if content.get("unique"):
                entries = list({e[1]: e for e in entries}.values())
        if kind != "range" and n is not None:
            entries = entries[-n:]
        has_output = content.get("output", False)
        found = [(1, no, (code, result) if has_output else code) for no, code, result in entries]
        return {"status": "ok", "history": found}

    async def comm_info(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"status": "ok", "comms": {}}

    async def interrupt_request(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        await self.interrupt()
        return {"status": "ok"}

    async def interrupt(self) -> None:
        if self.running is not None:
            with contextlib.suppress(RatoonError):
                await self.running.interrupt()

    def interrupt_soon(self) -> None:
        """Interrupts the cell that runs, when a signal has come."""
        task = asyncio.create_task(self.interrupt())
        self.interrupting.add(task)
        task.add_done_callback(self.interrupting.discard)

    async def shutdown(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ends the kernel. The server ends by itself, when nobody uses it."""
        # After the reply was sent.
        asyncio.get_running_loop().call_later(0.05, self.ended.set)
        return {"status": "ok", "restart": content.get("restart", False)}


def state_of(states: States, text: str) -> State:
    """The state with an id, the beginning of an id, a name or a label.

    Raises `LookupError` if none or several have it.
    """
    with contextlib.suppress(KeyError):
        return states.find(text)
    found = [state for state in states if text and state.id.startswith(text)]
    if len(found) != 1:
        what = "several states have" if found else "no state has"
        raise LookupError(f"{what} the id, name or label {text!r}")
    return found[0]


def shown(item: Display) -> Mapping[str, Any]:
    """The content of a message that shows something. Widgets are shown as their text, because the
    kernel has no comms."""
    data = dict(item.data)
    if len(data) > 1:
        data.pop(WIDGET, None)
    content: dict[str, Any] = {"data": data, "metadata": dict(item.metadata)}
    if item.execution_count is not None:
        return {**content, "execution_count": item.execution_count}
    return {**content, "transient": {"display_id": item.display_id} if item.display_id else {}}


def as_error(error: Exception) -> Mapping[str, Any]:
    if isinstance(error, RatoonError):
        evalue = f"cannot {error.what}: {error.why}"
        lines = [f"RatoonError: {evalue}", f"  {error.how}"]
        return {"ename": "RatoonError", "evalue": evalue, "traceback": lines}
    text = str(error.args[0]) if error.args else ""
    return {"ename": "LookupError", "evalue": text, "traceback": [text]}


def in_words(found: Mapping[str, Any]) -> str:
    """The description of an object, like IPython's."""
    lines = []
    if signature := found.get("signature"):
        parameters = ", ".join(signature["parameters"])
        returns = f" -> {signature['returns']}" if signature["returns"] else ""
        lines.append(f"Signature: {found['name']}({parameters}){returns}")
    lines.append(f"Type: {found['type']}")
    if found.get("repr") is not None:
        lines.append(f"String form: {found['repr']}")
    if found.get("place"):
        lines.append(f"File: {found['place']}")
    if found.get("doc"):
        lines.append(f"Docstring:\n{found['doc']}")
    return without_colours("\n".join(lines))
