"""The official MCP client, over HTTP and over stdio, in the revisions with and without sessions."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from conftest import RATOON, TOKEN, Server

TOOLS = ["run", "read_run", "run_many", "peek", "compare", "history", "take", "interrupt"]
HANG = 60

Connect = Callable[..., Any]


@asynccontextmanager
async def over_http(server: Server, mode: str, token: str = TOKEN) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=HANG) as http:
        transport = streamable_http_client(server.url + "/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


@asynccontextmanager
async def over_stdio(server: Server, mode: str, token: str | None = None) -> AsyncIterator[Client]:
    # The client passes only some variables of its environment on.
    kept = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "TMPDIR", "RATOON_TEST_RUN")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env |= {"RATOON_TOKEN": token} if token else {}
    arguments = ["mcp", "--dir", str(server.directory)]
    async with Client(
        StdioServerParameters(command=RATOON, args=arguments, env=env), mode=mode
    ) as client:
        yield client


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[over_http, over_stdio])
def connect(request: pytest.FixtureRequest, server: Server, mode: str) -> Connect:
    return lambda *more: request.param(server, mode, *more)


def within_time(scene: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), HANG))


async def use(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured content of a tool that succeeds. The client checks it against the schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    text = result.content[0]
    assert text.type == "text"
    assert json.loads(text.text) == result.structured_content
    return result.structured_content


async def error_of(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    text = result.content[0]
    assert text.type == "text"
    return text.text


async def file_appears(path: Path) -> None:
    while not path.exists():
        await asyncio.sleep(0.02)


def test_tools_are_listed_and_called(connect: Connect, mode: str) -> None:
    async def scene() -> None:
        async with connect() as client:
            assert client.protocol_version == ("2026-07-28" if mode == "auto" else "2025-11-25")
            assert "state" in (client.instructions or "")
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == TOOLS
            texts = [tool.description or "" for tool in listed]
            fields = [
                field for tool in listed for field in tool.input_schema["properties"].values()
            ]
            texts += [str(field.get("description", "")) for field in fields]
            assert 0 < sum(map(len, texts)) < 2048

            base = (await use(client, "run", at="initial", code="xs = [3, 1, 2]"))["state"]
            good = await use(client, "run", at=base, code="xs.sort()\nxs", label="sorted")
            assert (good["status"], good["output"]) == ("ok", "[1, 2, 3]")
            bad = await use(client, "run", at=base, code="xs.nothing()")
            assert bad["status"] == "error" and bad["state"] is None
            assert "AttributeError" in bad["error"] and "\x1b" not in bad["output"]
            seen = await use(client, "peek", state=base, expr="xs")
            assert seen["value"]["text"] == "[3, 1, 2]"
            compared = await use(client, "compare", a=base, b=good["state"])
            assert [one["name"] for one in compared["different"]] == ["xs"]
            taken = await use(client, "take", into=base, **{"from": good["state"]}, names=["xs"])
            seen = await use(client, "peek", state=taken["state"], expr="xs")
            assert seen["value"]["text"] == "[1, 2, 3]"
            swept = await use(
                client, "run_many", at=base, code="k = 0\ny = k * 2", grid={"k": [1, 2]}, metric="y"
            )
            assert (swept["status"], swept["rows"][0]["metric"]) == ("done", 4.0)
            history = await use(client, "history", at=good["state"])
            assert [cell["code"] for cell in history["cells"]] == [
                "",
                "xs = [3, 1, 2]",
                "xs.sort()\nxs",
            ]
            assert history["cells"][-1]["label"] == "sorted"

    within_time(scene)


def test_long_text_and_pictures_are_resources(connect: Connect) -> None:
    code = (
        "from IPython.display import display\nimport base64\n"
        "png = base64.b64encode(b'\\x89PNG' + bytes(200)).decode()\n"
        "print('a', 'x' * 30_000, 'z')\n"
        "for _ in range(5): display({'image/png': png, 'text/plain': 'plot'}, raw=True)"
    )

    async def scene() -> None:
        async with connect() as client:
            result = await client.call_tool("run", {"at": "initial", "code": code})
            kinds = [item.type for item in result.content]
            assert kinds == ["text", *["image"] * 4, *["resource_link"] * 2]
            assert len(result.structured_content["output"]) < 8100
            links = [item.uri for item in result.content[5:]]
            contents = [(await client.read_resource(str(uri))).contents for uri in links]
            assert contents[0][0].blob == result.content[1].data
            assert len(contents[1][0].text) == len("a  z\n") + 30_000
            templates = await client.list_resource_templates()
            assert templates.resource_templates[0].uri_template.startswith("ratoon://{notebook}")
            with pytest.raises(MCPError):
                await client.read_resource("ratoon://main/runs/none/outputs/0")

    within_time(scene)


def test_bad_arguments_are_told_to_the_model(connect: Connect) -> None:
    async def scene() -> None:
        async with connect() as client:
            assert "missing field `at`" in await error_of(client, "run", code="1")
            assert "unknown field" in await error_of(client, "run", at="initial", code="1", x=1)
            assert "no state has this id" in await error_of(client, "run", at="nowhere", code="1")
            assert "invalid type" in await error_of(client, "peek", state=1)
            with pytest.raises(MCPError):
                await client.call_tool("nothing", {})

    within_time(scene)


def test_a_link_has_its_scope(connect: Connect, server: Server) -> None:
    view = server.link("view")

    async def scene() -> None:
        async with connect(view) as client:
            assert "scope `view`" in await error_of(client, "run", at="initial", code="1")
            assert (await use(client, "history"))["cells"][0]["state"] == "initial"

    within_time(scene)


def test_a_cancelled_call_interrupts_its_run(connect: Connect, server: Server) -> None:
    begun = server.directory / "begun"
    code = "import time\nopen('begun', 'w').close()\nwhile True: time.sleep(0.01)"

    async def scene() -> None:
        async with connect() as client:
            call = asyncio.create_task(client.call_tool("run", {"at": "initial", "code": code}))
            await file_appears(begun)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            status = "running"
            while status in ("queued", "running"):
                status = (await use(client, "history"))["cells"][-1]["status"]
            assert status == "interrupted"

    within_time(scene)


def test_fifty_calls_at_once(connect: Connect) -> None:
    async def scene() -> None:
        async with connect() as client:
            base = (await use(client, "run", at="initial", code="x = 20"))["state"]

            async def one(n: int) -> str:
                if n % 5 == 0:
                    return str((await use(client, "run", at=base, code=f"x + {n}"))["output"])
                return str(
                    (await use(client, "peek", state=base, expr=f"x + {n}"))["value"]["text"]
                )

            found = await asyncio.gather(*map(one, range(50)))
            assert found == [str(20 + n) for n in range(50)]

    within_time(scene)


def test_without_a_server_one_is_started_and_ends_with_its_client(tmp_path: Path) -> None:
    class Nothing:
        directory = tmp_path

    async def scene() -> None:
        async with over_stdio(Nothing, "auto") as client:  # type: ignore[arg-type]
            code = "import os\nprint(os.getppid())"
            pid = int((await use(client, "run", at="initial", code=code))["output"])
        while Path(f"/proc/{pid}").exists():
            await asyncio.sleep(0.02)
        assert (tmp_path / "main.ratoon").is_dir()

    within_time(scene)
