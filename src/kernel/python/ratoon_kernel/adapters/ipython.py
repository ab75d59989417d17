"""Saves and restores the changes that cells made to IPython's shell: its options, the features that
it compiles with, and its printers for objects of certain types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import shell as kernel
from ..adapter import Adapter, Change, Setting
from ..compiler_flags import FEATURES

# The part of the shell that has an option, and the name of the option.
Option = tuple[str, str]

_options_in_root: dict[Option, Any] = {}
# For each output format: the printer of each type.
_printers_in_root: dict[str, dict[type, Any]] = {}


def _formatters() -> dict[str, Any]:
    shell = kernel.shell
    formatters: dict[str, Any] = shell.display_formatter.formatters
    return formatters


def _parts() -> dict[str, Any]:
    """Returns the objects whose options are saved: the shell, and its formatter for plain text."""
    return {"shell": kernel.shell, "text": _formatters()["text/plain"]}


def _options() -> Iterator[tuple[Option, Any]]:
    for part, one in _parts().items():
        for name in type(one).class_trait_names(config=True):
            yield (part, name), getattr(one, name, None)


def _changed_options() -> dict[Option, Any] | None:
    found = {}
    for (part, name), then in _options_in_root.items():
        now = getattr(_parts()[part], name, None)
        if type(now) in (bool, int, float, str) and (type(now), now) != (type(then), then):
            found[part, name] = now
    return found or None


def _restore_options(options: dict[Option, Any]) -> None:
    for (part, name), value in options.items():
        setattr(_parts()[part], name, value)


def _features() -> int | None:
    """The flags that imports from `__future__` have set."""
    flags: int = kernel.shell.compile.flags
    return flags & FEATURES or None


def _restore_features(features: int) -> None:
    kernel.shell.compile.flags |= features


def _changed_printers() -> dict[str, tuple[Any, ...]]:
    found = {}
    for kind, formatter in _formatters().items():
        then, now = _printers_in_root.get(kind, {}), formatter.type_printers.items()
        changed = {one: shows for one, shows in now if then.get(one) is not shows}
        if changed:
            expression = f"get_ipython().display_formatter.formatters[{kind!r}]"
            found[expression] = (kind, changed)
    return found


def _restore_printers(kind: str, printers: dict[type, Any]) -> None:
    _formatters()[kind].type_printers.update(printers)


class Ipython(Adapter):
    library = "IPython"
    settings = {
        "ipython": Setting(_changed_options, _restore_options),
        "features": Setting(_features, _restore_features),
    }
    changes = {"printers": Change(_changed_printers, _restore_printers)}

    def note_root(self) -> None:
        _options_in_root.update(_options())
        for kind, formatter in _formatters().items():
            _printers_in_root[kind] = dict(formatter.type_printers)
