"""Saves and restores locks, queues, futures and thread-local data.

An unlocked lock is restored as a new lock. So objects that contain locks can be saved: conditions,
events, semaphores and queues. A locked lock cannot be saved, because the thread that would unlock
it does not exist after loading.
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
    # `_is_owned` is true only if this thread has locked the lock. `acquire` fails if any other
    # thread has locked it, even a thread that does not exist in this fork.
    if value._is_owned() or not value.acquire(blocking=False):
        raise pickling.Unsavable(value, "a lock that is held")
    value.release()
    return threading.RLock, ()


def _reduce_simple_queue(value: Any) -> Reduced:
    # Reading the items removes them from the queue. They are put back, because the queue may be
    # pickled again.
    items = [value.get_nowait() for _ in range(value.qsize())]
    for item in items:
        value.put(item)
    return type(value), (), items, None, None, fill_queue


def _reduce_local(value: Any) -> Reduced:
    """Reduces thread-local data to the data of the main thread, because a checkpoint contains no
    other threads."""
    if threading.current_thread() is not threading.main_thread():
        raise pickling.Unsavable(value, "thread-local data that is nested too deeply")
    # The arguments with which the object was constructed. Each thread that uses the object later
    # calls `__init__` with the same arguments.
    called = gc.get_referents(value)
    arguments = next((one for one in called if type(one) is tuple), ())
    named = next((one for one in called if type(one) is dict and _are_names(one)), {})
    state = dict(vars(value))
    return make_local, (type(value), arguments, named), state, None, None, rebuilding.set_dict


def _are_names(found: dict[Any, Any]) -> bool:
    return bool(found) and all(type(key) is str for key in found)


def _reduce_future(value: Any) -> Reduced:
    if not value.done():
        raise pickling.Unsavable(value, "a future whose work has not ended")
    return NotImplemented


# Checkpoints refer to these two functions by module and name: do not move or rename them.


def fill_queue(queue: Any, items: Iterable[Any]) -> None:
    for item in items:
        queue.put(item)


def make_local(kind: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    # Does not call `__init__`, because it ran when the original was constructed.
    return kind.__new__(kind, *arguments, **named)


class Threading(Adapter):
    library = "threading"
    types = {_thread.LockType: _reduce_lock, _thread.RLock: _reduce_reentrant_lock}
    reducers = {
        ("_queue", "SimpleQueue"): _reduce_simple_queue,
        ("concurrent.futures._base", "Future"): _reduce_future,
    }
    families = {("_thread", "_local"): _reduce_local}
