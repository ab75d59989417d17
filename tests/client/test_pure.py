"""The parts of the Python package that need no server."""

import asyncio
from datetime import UTC, datetime

import pytest

from ratoon import websocket
from ratoon.connection import Added, Cleared, Outputs, Updated
from ratoon.jupyter.commands import Command, command_of
from ratoon.jupyter.navigation import Navigation
from ratoon.jupyter.texts import with_joined_text
from ratoon.servers import Server
from ratoon.values import Display, State, States, Stream


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536])
def test_frames_are_found_in_any_pieces(size):
    payload = bytes(n % 251 for n in range(size))
    sent = websocket.frame(payload)
    # A server's frame is the same without a mask.
    length = {126: 2, 127: 8}.get(sent[1] & 0x7F, 0)
    served = bytes((sent[0], sent[1] & 0x7F)) + sent[2 : 2 + length] + payload
    mask, masked = sent[2 + length : 6 + length], sent[6 + length :]
    assert bytes(b ^ mask[n % 4] for n, b in enumerate(masked)) == payload
    frames = websocket.Frames()
    found = [m for n in range(0, len(served), 1000) for m in frames.feed(served[n : n + 1000])]
    assert found == [(websocket.TEXT, payload)]


def test_a_fragmented_message_is_one_message_and_pings_come_between():
    frames = websocket.Frames()
    parts = [b"\x01\x02ab", b"\x89\x00", b"\x80\x01c"]
    assert [m for part in parts for m in frames.feed(part)] == [
        (websocket.PING, b""),
        (websocket.TEXT, b"abc"),
    ]


def test_outputs_are_joined_cleared_and_updated_in_order():
    def outputs(*events):
        found = Outputs()
        for event in events:
            found.apply(event)
        return found.joined()

    out, err = Stream("stdout", "a"), Stream("stderr", "b")
    assert outputs(Added(out), Added(out), Added(err)) == (Stream("stdout", "aa"), err)
    assert outputs(Added(out), Cleared(wait=True)) == (out,)
    assert outputs(Added(out), Cleared(wait=True), Added(err)) == (err,)
    assert outputs(Added(out), Cleared(wait=False)) == ()
    shown, new = Display({"text/plain": "1"}, {}, "d"), Display({"text/plain": "2"}, {}, "d")
    assert outputs(Added(shown), Updated(new)) == (new,)


def test_addresses_are_read_as_they_are_printed():
    server = Server.at("http://127.0.0.1:8080/n/main?token=secret")
    assert (server.url, server.token) == ("http://127.0.0.1:8080", "secret")
    below = Server.at("https://example.org/ratoon/n/my%20notebook", "secret")
    assert (below.url, below.notebook) == ("https://example.org/ratoon", "my notebook")
    assert below.page("a b") == "https://example.org/ratoon/n/a%20b"


def test_the_kernels_own_commands_are_told_from_code():
    assert command_of(" %state ") == Command("state")
    assert command_of("%checkout abc def") == Command("checkout", "abc def")
    assert command_of("len?") == command_of("?len") == Command("?", "len")
    for code in (
        "",
        "%stately",
        "x = 1 # %state",
        "%state\nx = 1",
        "print('?')",
        "%timeit?",
        "x[0]?",
    ):
        assert command_of(code) is None, code


def test_navigation_follows_a_front_end():
    way = Navigation()
    for cell in "abc":
        way.left(cell, f"{cell}1")
    assert (way.here.state, way.here.count) == ("c1", 3)
    # Without branching, a cell that runs again continues from the last state.
    assert way.before("b").state == "c1"
    way.branches = True
    assert way.before("b").state == "a1" and way.before("a").state == "initial"
    assert way.before("new").state == way.before(None).state == "c1"
    way.left("b", "b2")
    assert [place.state for place in way.way] == ["initial", "a1", "b2"]
    assert way.before("c").state == "b2"
    assert way.fork(2).state == "a1"
    with pytest.raises(LookupError):
        way.fork(2)
    assert way.fork(None).state == "initial"


def state(id, parent, count):
    values = (id, id, parent, None, count, datetime.now(UTC), None, "memory", (), False, None)
    return State(*values)


def test_a_checkout_keeps_the_cells_of_the_states_that_the_front_end_ran():
    way = Navigation(branches=True)
    way.left("a", "a1")
    way.left("b", "b1")
    states = States([state("initial", None, 0), state("a1", "initial", 1), state("x", "a1", 2)])
    way.go_to(states, states.find("x"))
    assert [(p.state, p.count, p.cell) for p in way.way[1:]] == [("a1", 1, "a"), ("x", 2, None)]
    assert way.before("a").state == "initial" and way.before("b").state == "x"


def test_text_that_comes_together_is_one_message():
    async def events(release):
        yield Added(Stream("stdout", "a"))
        yield Added(Stream("stdout", "b"))
        yield Added(Stream("stderr", "c"))
        yield Cleared(wait=False)
        yield Added(Stream("stdout", "d"))
        await release.wait()
        yield Added(Stream("stdout", "e"))

    async def collected():
        release, found = asyncio.Event(), []
        async for event in with_joined_text(events(release)):
            found.append(event.output.text if isinstance(event, Added) else "cleared")
            if found[-1] == "d":  # It was flushed, though nothing followed.
                release.set()
        return found

    assert asyncio.run(collected()) == ["ab", "c", "cleared", "d", "e"]
