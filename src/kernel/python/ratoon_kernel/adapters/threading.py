"""Locks, queues, futures and data of the main thread.

A lock that nobody holds is restored as a new lock. So objects that contain locks can be saved:
conditions, events, semaphores and queues. A held lock cannot: its owner would be gone, and nothing
else could release it.
"""

from __future__ import annotations

import _thread
import gc
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .. import pickling, rebuilding
from ..adapter import Adapter, Reduced

if TYPE_CHECKING:
    from ..pickling import Reducers


def _reduce_lock(_: Reducers, value: Any) -> Reduced:
    if value.locked():
        raise pickling.Unsavable(value, "a lock that is held")
    return _thread.allocate_lock, ()


def _reduce_reentrant_lock(_: Reducers, value: Any) -> Reduced:
    # `_is_owned` checks only this thread. Another thread may hold the lock, even one that this fork
    # does not have.
    if value._is_owned() or not value.acquire(blocking=False):
        raise pickling.Unsavable(value, "a lock that is held")
    value.release()
    return threading.RLock, ()


def _reduce_simple_queue(value: Any) -> Reduced:
    # Reading a queue's items removes them. They are put back, because the queue may be read again.
    items = [value.get_nowait() for _ in range(value.qsize())]
    for item in items:
        value.put(item)
    return type(value), (), items, None, None, fill_queue


def _reduce_local(value: Any) -> Reduced:
    """Reduces thread-local data to that of the main thread, because checkpoints hold no other
    threads."""
    if threading.current_thread() is not threading.main_thread():
        raise pickling.Unsavable(value, "thread-local data that is nested too deeply")
    # The arguments of its class: each thread that uses it later calls `__init__` with them.
    called = gc.get_referents(value)
    arguments = next((one for one in called if type(one) is tuple), ())
    named = next((one for one in called if type(one) is dict and _are_names(one)), {})
    state = dict(vars(value))
    return make_local, (type(value), arguments, named), state, None, None, rebuilding.set_dict


def _are_names(found: dict[Any, Any]) -> bool:
    return bool(found) and all(type(key) is str for key in found)


def _reduce_future(value: Any) -> Reduced:
    if not value.done():
        raise pickling.Unsavable(value, "a future whose work is not done")
    return NotImplemented


# Checkpoints refer to these two functions by module and name: do not move or rename them.


def fill_queue(queue: Any, items: Iterable[Any]) -> None:
    for item in items:
        queue.put(item)


def make_local(kind: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    # `__init__` ran in the thread that made the original.
    return kind.__new__(kind, *arguments, **named)


class Threading(Adapter):
    library = "threading"
    types = {_thread.LockType: _reduce_lock, _thread.RLock: _reduce_reentrant_lock}
    reducers = {
        ("_queue", "SimpleQueue"): _reduce_simple_queue,
        ("concurrent.futures._base", "Future"): _reduce_future,
    }
    families = {("_thread", "_local"): _reduce_local}
