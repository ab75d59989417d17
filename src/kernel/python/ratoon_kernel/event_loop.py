"""Lets cells use asyncio without `await`, as in Jupyter, where cells run inside a running loop.

Here a cell without `await` runs outside of any loop, because no loop can run in a frozen process.
Such a cell gets the loop that runs cells with `await` when it asks for the running loop. So it can
make tasks, and objects that need a loop. When its code has ended, the loop runs until every task
waits for something. The tasks then wait in the state, and continue in the next cell that awaits.
"""

import asyncio
import functools
import threading
from typing import Any

from .shell import running

# The loop of the notebook, once a cell has asked for it.
loop: Any = None
# Whether the main thread has a loop of its own, by `asyncio.set_event_loop`.
_has_own_loop = False
# How many times the loop runs what is ready when a cell has ended. A task that is always ready must
# not keep the cell from ending.
_MAX_ROUNDS = 1000


def boot() -> None:
    """Replaces the functions of asyncio that return a loop. Must be called before other modules
    import them by name."""
    for name, make in (
        ("get_running_loop", _get_running_loop),
        ("get_event_loop", _get_event_loop),
        ("_get_event_loop", _get_event_loop),
        ("set_event_loop", _set_event_loop),
    ):
        real = getattr(asyncio.events, name, None)
        if real is None:
            continue
        replaced: Any = functools.wraps(real)(make(real))
        # Pickles find it there; the module of the real one is that of its C code.
        replaced.__module__ = "asyncio.events"
        setattr(asyncio.events, name, replaced)
        if hasattr(asyncio, name):
            setattr(asyncio, name, replaced)


def _get_running_loop(real: Any) -> Any:
    def get_running_loop() -> Any:
        try:
            return real()
        except RuntimeError:
            if not _may_have_loop():
                raise
        return _of_notebook()

    return get_running_loop


def _get_event_loop(real: Any) -> Any:
    def get_event_loop(*arguments: Any, **options: Any) -> Any:
        if not _has_own_loop and asyncio._get_running_loop() is None and _may_have_loop():
            return _of_notebook()
        return real(*arguments, **options)

    return get_event_loop


def _set_event_loop(real: Any) -> Any:
    def set_event_loop(loop: Any) -> None:
        global _has_own_loop
        real(loop)
        if threading.current_thread() is threading.main_thread():
            _has_own_loop = loop is not None

    return set_event_loop


def _may_have_loop() -> bool:
    return running.is_in_cell and threading.current_thread() is threading.main_thread()


def _of_notebook() -> Any:
    """The loop in which IPython runs cells with `await`."""
    from IPython.core.async_helpers import get_asyncio_loop

    global loop
    # IPython asks whether a loop is running, and makes its own if there is none.
    running.is_in_cell = False
    try:
        loop = get_asyncio_loop()
    finally:
        running.is_in_cell = True
    return loop


def run_ready() -> None:
    """Runs what is ready, so that tasks begin in the cell that made them. Their code may raise
    KeyboardInterrupt or SystemExit."""
    rounds = 0
    while _is_ready() and rounds < _MAX_ROUNDS:
        loop.call_soon(loop.stop)
        loop.run_forever()
        rounds += 1


def _is_ready() -> bool:
    """Whether something is ready to run in the loop of the notebook. Loops of other libraries do
    not say it; in those, tasks begin in the next cell that awaits."""
    if loop.is_closed() or loop.is_running():
        return False
    return bool(getattr(loop, "_ready", ()))
