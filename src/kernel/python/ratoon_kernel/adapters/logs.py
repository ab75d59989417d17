"""What cells set at loggers, and the handlers of `logging`, in a checkpoint."""

import logging

from .. import pickling

# The level and `propagate` and `disabled` of a logger that nobody has set.
_UNSET = (logging.NOTSET, True, False)
_LEVEL_NAMES = set(logging._levelToName.values())


# -- handlers ---------------------------------------------------------------------------------------------------------


def _file_handler(value):
    # The file is opened again by the first record, to append: what stands in it stays. One that was closed stays closed.
    mode = value.mode if getattr(value, "_closed", False) else value.mode.replace("w", "a")
    kept = {**_without_lock(vars(value)), "stream": None, "mode": mode}
    return make_handler, (type(value),), kept, None, None, set_handler


def _handler(value):
    state = value.__reduce_ex__(pickling.PROTOCOL)[2]
    if type(state) is not dict:
        return NotImplemented
    return make_handler, (type(value),), _without_lock(state), None, None, set_handler


def _without_lock(state):
    return {name: one for name, one in state.items() if name != "lock"}


def make_handler(kind):
    return kind.__new__(kind)


def set_handler(made, kept):
    vars(made).update(kept)
    made.createLock()
    # For `logging.shutdown` and `logging.getHandlerByName`.
    logging._addHandlerRef(made)
    if made.name is not None:
        logging._handlers[made.name] = made


pickling.adapt(
    {
        ("logging", "FileHandler"): _file_handler,
        ("logging.handlers", "RotatingFileHandler"): _file_handler,
        ("logging.handlers", "TimedRotatingFileHandler"): _file_handler,
        ("logging.handlers", "WatchedFileHandler"): _file_handler,
    }
)
pickling.adapt_family({("logging", "Handler"): _handler})


# -- loggers ----------------------------------------------------------------------------------------------------------


def levels():
    """The levels of loggers, and names of levels: {"loggers": {name: (level, propagate, disabled)}, …}."""
    manager = logging.root.manager
    set_ones = {name: _state(one) for name, one in _loggers().items() if _state(one) != _UNSET}
    own_names = {number: name for number, name in logging._levelToName.items() if name not in _LEVEL_NAMES}
    found = {"loggers": set_ones, "names": own_names, "disable": manager.disable}
    return None if found == {"loggers": {"": (logging.WARNING, True, False)}, "names": {}, "disable": 0} else found


def restore_levels(found):
    for number, name in found["names"].items():
        logging.addLevelName(number, name)
    logging.disable(found["disable"])
    for name, (level, propagate, disabled) in found["loggers"].items():
        one = logging.getLogger(name)
        one.setLevel(level)
        one.propagate, one.disabled = propagate, disabled


def handlers():
    """The handlers and filters of each logger that has some, by the expression that leads to the logger."""
    return {
        f"logging.getLogger({name!r})" if name else "logging.getLogger()": (name, list(one.handlers), list(one.filters))
        for name, one in _loggers().items()
        if one.filters or any(type(each) is not logging.NullHandler for each in one.handlers)
    }


def restore_handlers(name, kept, filters):
    one = logging.getLogger(name)
    one.filters[:] = filters
    if [type(each) for each in one.handlers] != [type(each) for each in kept]:
        one.handlers[:] = kept
        return
    # These are a library's, which made them when it was imported and knows them: they stay, set as they were.
    for each, was in zip(one.handlers, kept):
        each.level, each.formatter, each.filters = was.level, was.formatter, was.filters


def _loggers():
    known = {name: one for name, one in logging.root.manager.loggerDict.items() if isinstance(one, logging.Logger)}
    return {"": logging.root, **known}


def _state(one):
    return one.level, one.propagate, one.disabled
