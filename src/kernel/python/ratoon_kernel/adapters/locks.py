"""Locks, queues, futures and data of the main thread in a checkpoint.

A lock that nobody holds comes back as a new free lock, so everything that merely has one can be kept: conditions, events,
semaphores and queues are made of locks. A lock that is held stays missing: its owner would be gone, and nobody else could
release it.
"""

import _thread
import gc
import threading

from .. import pickling


def _lock(value):
    if value.locked():
        raise pickling.Unsavable(value, "a lock that is held")
    return _thread.allocate_lock, ()


def _reentrant_lock(value):
    # Asking its owner is not enough: another thread may hold it, also one that is gone since the fork.
    if value._is_owned() or not value.acquire(blocking=False):
        raise pickling.Unsavable(value, "a lock that is held")
    value.release()
    return threading.RLock, ()


def _simple_queue(value):
    # It shows its items only by giving them away. They go back, as they may be asked for once more.
    items = [value.get_nowait() for _ in range(value.qsize())]
    for item in items:
        value.put(item)
    return type(value), (), items, None, None, fill_queue


def _local(value):
    """Other threads are not in a checkpoint, so what they have in it goes with them."""
    if threading.current_thread() is not threading.main_thread():
        raise pickling.Unsavable(value, "data of one thread, nested too deeply")
    # What it was called with: each thread that uses it later calls its `__init__` with that again.
    called = gc.get_referents(value)
    arguments = next((one for one in called if type(one) is tuple), ())
    named = next((one for one in called if type(one) is dict and _are_names(one)), {})
    return make_local, (type(value), arguments, named), dict(vars(value)), None, None, pickling.set_dict


def _are_names(found):
    return bool(found) and all(type(key) is str for key in found)


def _future(value):
    if not value.done():
        raise pickling.Unsavable(value, "work of a pool that has not been done")
    return NotImplemented


def fill_queue(queue, items):
    for item in items:
        queue.put(item)


def make_local(kind, arguments, named):
    # `__init__` has run in the thread that made it.
    return kind.__new__(kind, *arguments, **named)


pickling.adapt_types({_thread.LockType: _lock, _thread.RLock: _reentrant_lock})
pickling.adapt(
    {
        ("_queue", "SimpleQueue"): _simple_queue,
        ("concurrent.futures._base", "Future"): _future,
    }
)
pickling.adapt_family({("_thread", "_local"): _local})
