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
_module_in_root: dict[str, Any] = {}
# The variables that IPython has made, which are no variables of cells.
hidden_in_root: dict[str, Any] = {}
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


def _hidden() -> list[str] | None:
    """The variables that cells have hidden from the list of variables, as `%pylab` does."""
    namespace = kernel.shell.user_ns
    hidden = [
        name
        for name, value in kernel.shell.user_ns_hidden.items()
        if name not in hidden_in_root and name in namespace and namespace[name] is value
    ]
    return hidden or None


def _restore_hidden(names: list[str]) -> None:
    namespace = kernel.shell.user_ns
    kernel.shell.user_ns_hidden.update(
        {name: namespace[name] for name in names if name in namespace}
    )


def _debugger() -> bool | None:
    """Whether `%pdb` is on."""
    return kernel.shell.call_pdb or None


def _restore_debugger(is_on: bool) -> None:
    kernel.shell.call_pdb = is_on


def _directories() -> list[str] | None:
    """The directory history of `%cd` (`_dh`), or None if `%cd` was never used."""
    visited: list[str] = kernel.shell.user_ns.get("_dh", [])
    return [str(one) for one in visited] if len(visited) > 1 else None


def _restore_directories(visited: list[str]) -> None:
    kernel.shell.user_ns["_dh"][1:] = visited[1:]


# The variables that every module has, and that cells may set.
_OF_MODULE = ("__doc__", "__name__")


def _module() -> dict[str, Any]:
    return {name: kernel.shell.user_ns.get(name) for name in _OF_MODULE}


def _changed_module() -> dict[str, Any] | None:
    changed = {name: now for name, now in _module().items() if now != _module_in_root[name]}
    return changed or None


def _restore_module(changed: dict[str, Any]) -> None:
    kernel.shell.user_ns.update(changed)


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
        "debugger": Setting(_debugger, _restore_debugger),
        "directories": Setting(_directories, _restore_directories),
        "hidden": Setting(_hidden, _restore_hidden),
        "module": Setting(_changed_module, _restore_module),
    }
    changes = {"printers": Change(_changed_printers, _restore_printers)}

    def note_root(self) -> None:
        _options_in_root.update(_options())
        _module_in_root.update(_module())
        hidden_in_root.update(kernel.shell.user_ns_hidden)
        for kind, formatter in _formatters().items():
            _printers_in_root[kind] = dict(formatter.type_printers)
