"""Saves and restores handlers of `logging` and the settings of loggers."""

from __future__ import annotations

import logging
from typing import Any

from .. import pickling
from ..adapter import Adapter, Change, Reduced, Setting

# The level, `propagate` and `disabled` of a logger.
State = tuple[int, bool, bool]

_UNSET: State = (logging.NOTSET, True, False)
_USUAL = {"loggers": {"": (logging.WARNING, True, False)}, "names": {}, "disable": 0}
# The names of levels that exist before any cell runs.
_LEVEL_NAMES = set(logging._levelToName.values())


# -- handlers --------------------------------------------------------------------------------------


def _reduce_file_handler(value: Any) -> Reduced:
    # After loading, the next log record opens the file in append mode. A closed handler stays
    # closed.
    is_closed = getattr(value, "_closed", False)
    mode = value.mode if is_closed else value.mode.replace("w", "a")
    kept = {**_without_lock(vars(value)), "stream": None, "mode": mode}
    return make_handler, (type(value),), kept, None, None, set_handler


def _reduce_handler(value: Any) -> Reduced:
    state = value.__reduce_ex__(pickling.PROTOCOL)[2]
    if type(state) is not dict:
        return NotImplemented
    return make_handler, (type(value),), _without_lock(state), None, None, set_handler


def _without_lock(state: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in state.items() if name != "lock"}


# Checkpoints refer to these two functions by module and name: do not move or rename them.


def make_handler(kind: Any) -> Any:
    return kind.__new__(kind)


def set_handler(made: Any, kept: dict[str, Any]) -> None:
    vars(made).update(kept)
    made.createLock()
    # Lets `logging.shutdown` and `logging.getHandlerByName` find the handler.
    registry: Any = logging
    registry._addHandlerRef(made)
    if made.name is not None:
        registry._handlers[made.name] = made


# -- loggers ---------------------------------------------------------------------------------------


def _levels() -> dict[str, Any] | None:
    """Returns the settings of loggers and the names of new levels, or None if cells have changed
    nothing."""
    states = {name: _state(one) for name, one in _loggers().items() if _state(one) != _UNSET}
    known = logging._levelToName
    names = {number: name for number, name in known.items() if name not in _LEVEL_NAMES}
    found = {"loggers": states, "names": names, "disable": logging.root.manager.disable}
    return None if found == _USUAL else found


def _restore_levels(found: dict[str, Any]) -> None:
    for number, name in found["names"].items():
        logging.addLevelName(number, name)
    logging.disable(found["disable"])
    for name, (level, propagate, disabled) in found["loggers"].items():
        one = logging.getLogger(name)
        one.setLevel(level)
        one.propagate, one.disabled = propagate, disabled


def _handlers() -> dict[str, tuple[Any, ...]]:
    """Returns the handlers and filters of each logger that has any, by an expression for the
    logger."""
    found = {}
    for name, one in _loggers().items():
        if one.filters or any(type(each) is not logging.NullHandler for each in one.handlers):
            expression = f"logging.getLogger({name!r})" if name else "logging.getLogger()"
            found[expression] = (name, list(one.handlers), list(one.filters))
    return found


def _restore_handlers(name: str, kept: list[Any], filters: list[Any]) -> None:
    one = logging.getLogger(name)
    one.filters[:] = filters
    if [type(each) for each in one.handlers] != [type(each) for each in kept]:
        one.handlers[:] = kept
        return
    # A library made these handlers when it was imported, and refers to them. So they are not
    # replaced, but get the saved settings.
    for each, was in zip(one.handlers, kept):
        each.level, each.formatter, each.filters = was.level, was.formatter, was.filters


def _loggers() -> dict[str, logging.Logger]:
    known = logging.root.manager.loggerDict.items()
    named = {name: one for name, one in known if isinstance(one, logging.Logger)}
    return {"": logging.root, **named}


def _state(one: logging.Logger) -> State:
    return one.level, one.propagate, one.disabled


class Logging(Adapter):
    library = "logging"
    reducers = {
        ("logging", "FileHandler"): _reduce_file_handler,
        ("logging.handlers", "RotatingFileHandler"): _reduce_file_handler,
        ("logging.handlers", "TimedRotatingFileHandler"): _reduce_file_handler,
        ("logging.handlers", "WatchedFileHandler"): _reduce_file_handler,
    }
    families = {("logging", "Handler"): _reduce_handler}
    settings = {"logging": Setting(_levels, _restore_levels)}
    changes = {"handlers": Change(_handlers, _restore_handlers)}
