"""Saves and restores the changes that cells made to Python's builtins."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

from .. import shell as kernel
from ..adapter import Adapter, Change

_names = vars(builtins)
_in_root: dict[str, Any] = {}
# The names whose builtins this process has put back, with the values that cells gave them.
_replaced: dict[str, Any] = {}
_deleted: list[str] = []


def put_back() -> None:
    """Puts Python's own builtins back, so that a state can be saved although its cells have
    replaced or deleted them. Uses no builtins itself."""
    for name, own in _in_root.items():
        if name not in _names:
            _deleted.append(name)
        elif _names[name] is not own:
            _replaced[name] = _names[name]
    _names.update(_in_root)


def _changes() -> dict[str, tuple[Any, ...]]:
    added = {name: one for name, one in _names.items() if name not in _in_root}
    changed = {name: (name, one) for name, one in [*added.items(), *_replaced.items()]}
    all = {**changed, **{name: (name,) for name in _deleted}}
    # Libraries that replace the import set this up again when they are imported.
    return {f"builtins.{name}": part for name, part in all.items() if not name.startswith("__")}


def _restore(name: str, *value: Any) -> None:
    for one in _dictionaries():
        if value:
            one[name] = value[0]
        else:
            one.pop(name, None)


def _dictionaries() -> Iterator[dict[str, Any]]:
    yield _names
    # The cells of a state that lacks names have builtins of their own (missing.py).
    own = kernel.shell.user_ns.get("__builtins__")
    if isinstance(own, dict) and own is not _names:
        yield own


class Builtins(Adapter):
    library = "builtins"
    changes = {"builtins": Change(_changes, _restore)}

    def note_root(self) -> None:
        _in_root.update(_names)
