"""Joins printed text into fewer messages, as ipykernel does."""

import asyncio
from collections.abc import AsyncIterator

from ..connection import Added, Event
from ..values import Stream

FLUSH_SECONDS = 0.2
"""How long printed text may wait for more; ipykernel has the same."""


async def with_joined_text(events: AsyncIterator[Event]) -> AsyncIterator[Event]:
    """Joins text of one stream that comes within `FLUSH_SECONDS`.

    Some front ends store each message as an output of its own.
    """
    loop = asyncio.get_running_loop()
    texts: list[Stream] = []
    by = 0.0
    following = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            limit = max(0.0, by - loop.time()) if texts else None
            done, _ = await asyncio.wait((following,), timeout=limit)
            event = following.result() if done else None
            new = event.output if isinstance(event, Added) else None
            joins = isinstance(new, Stream) and texts and new.name == texts[0].name
            if texts and not (joins and loop.time() < by):
                yield Added(Stream(texts[0].name, "".join(each.text for each in texts)))
                texts = []
            if not done:
                continue
            if event is None:
                return
            if not isinstance(new, Stream):
                yield event
            else:
                by = by if texts else loop.time() + FLUSH_SECONDS
                texts.append(new)
            following = asyncio.ensure_future(anext(events, None))
    finally:
        following.cancel()
