"""Pools and sessions in a checkpoint: what they were made with. They are made again, without the work and the threads that
they had.

A thread or a process that begins while a checkpoint is loaded is in none of the state's branches. So what begins some as
soon as it is made is made when it is first used, in the branch that uses it.
"""

from .. import pickling


def _threads(value):
    waiting = [value._work_queue.get_nowait() for _ in range(value._work_queue.qsize())]
    for work in waiting:
        value._work_queue.put(work)
    # None only wakes its threads up.
    if any(work is not None for work in waiting):
        raise pickling.Unsavable(value, "a pool with work that has not been done")
    arguments = (value._max_workers, value._thread_name_prefix, *_first_steps(value))
    return make_executor, (type(value), arguments, {}, value._shutdown)


def _processes(value):
    if value._pending_work_items:
        raise pickling.Unsavable(value, "a pool with work that has not been done")
    arguments = (value._max_workers, value._mp_context, *_first_steps(value))
    named = {}
    if getattr(value, "_max_tasks_per_child", None) is not None:
        named["max_tasks_per_child"] = value._max_tasks_per_child
    if value._shutdown_thread:
        return make_executor, (type(value), arguments, named, True)
    # It makes pipes and locks for its processes at once, which all branches would share.
    return make_later, (type(value), arguments, named)


def _first_steps(value):
    return value._initializer, value._initargs


def _pool(value):
    if value._state != "RUN":
        raise pickling.Unsavable(value, "a pool that is closed")
    if value._cache:
        raise pickling.Unsavable(value, "a pool with work that has not been done")
    count = value._processes
    arguments = (count, value._initializer, value._initargs, value._maxtasksperchild, value._ctx)
    return make_later, (type(value), arguments)


def _thread_pool(value):
    reduced = _pool(value)
    return make_later, (type(value), reduced[1][1][:3])


def _context(value):
    return make_context, (value._name,)


def _default_context(value):
    return make_default_context, ()


def make_executor(kind, arguments, named, is_over):
    made = kind(*arguments, **named)
    if is_over:
        made.shutdown()
    return made


def make_context(name):
    import multiprocessing

    return multiprocessing.get_context(name)


def make_default_context():
    import multiprocessing

    return multiprocessing.context._default_context


# -- made when it is first used ---------------------------------------------------------------------------------------

_later = {}


def make_later(kind, arguments, named=None):
    """An object of a class that is made once anything of it is asked for."""
    made = kind.__new__(_later_of(kind))
    object.__setattr__(made, "_ratoon_made_with", (arguments, named or {}))
    return made


def _later_of(kind):
    later = _later.get(kind)
    if later is None:
        own = {"__getattr__": _make_now, "__del__": _was_not_needed, "__reduce_ex__": _reduce_later}
        own.update(__module__=kind.__module__, __qualname__=kind.__qualname__, __repr__=object.__repr__)
        later = _later[kind] = type(kind.__name__, (kind,), own)
    return later


def begin_anew(pools):
    """Pools of processes that have not begun have pipes and locks for them already. In a child they are those of another
    process, so it makes its own when a pool is first used."""
    for pool in pools:
        kind = type(pool)
        is_its_own = kind.__module__ == "concurrent.futures.process" and kind not in _later.values()
        if is_its_own and pool._executor_manager_thread is None and not pool._shutdown_thread:
            _, (_, *made_with) = _processes(pool)
            vars(pool).clear()
            vars(pool)["_ratoon_made_with"] = tuple(made_with)
            object.__setattr__(pool, "__class__", _later_of(kind))


def _make_now(made, name):
    made_with = vars(made).get("_ratoon_made_with")
    kind = type(made).__base__
    # What is asked of every object, to find out what it is: that is no use.
    if made_with is None or name.startswith("__") or name.startswith(("_repr_", "_ipython_")):
        raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
    object.__delattr__(made, "_ratoon_made_with")
    object.__setattr__(made, "__class__", kind)
    try:
        kind.__init__(made, *made_with[0], **made_with[1])
    except BaseException:
        vars(made).clear()
        vars(made)["_ratoon_made_with"] = made_with
        object.__setattr__(made, "__class__", _later[kind])
        raise
    return getattr(made, name)


def _was_not_needed(_):
    pass


def _reduce_later(made, _):
    return make_later, (type(made).__base__, *vars(made)["_ratoon_made_with"])


pickling.adapt(
    {
        ("concurrent.futures.thread", "ThreadPoolExecutor"): _threads,
        ("concurrent.futures.process", "ProcessPoolExecutor"): _processes,
        ("multiprocessing.pool", "Pool"): _pool,
        ("multiprocessing.pool", "ThreadPool"): _thread_pool,
        ("multiprocessing.context", "ForkContext"): _context,
        ("multiprocessing.context", "SpawnContext"): _context,
        ("multiprocessing.context", "ForkServerContext"): _context,
        ("multiprocessing.context", "DefaultContext"): _default_context,
    }
)
