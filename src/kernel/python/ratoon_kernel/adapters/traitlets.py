"""Saves and restores objects of traitlets, including widgets. Their observers are saved too, unlike
in traitlets' own pickles.
"""

from __future__ import annotations

import sys
from typing import Any

from .. import pickling
from .. import shell as kernel
from ..adapter import Adapter, Reduced

# The name of a trait, the kind of change, and the observer.
Observer = tuple[str, str, Any]


def _reduce_observed(value: Any) -> Reduced:
    place = _place_in_shell(value)
    if place is not None:
        return place
    observers, validators = _of_cells(value)
    if not observers and not validators:
        return NotImplemented
    reduced = value.__reduce_ex__(pickling.PROTOCOL)
    if len(reduced) < 3 or reduced[2] is None:
        return NotImplemented
    state = (reduced[2], observers, validators)
    return *reduced[:2], state, *reduced[3:5], set_observed


def _place_in_shell(value: Any) -> Reduced | None:
    """Reduces IPython's shell and its parts to references to the same parts in the loading process.
    Returns None for other objects."""
    shell = kernel.shell
    if value is shell:
        return getattr, (kernel, "shell")
    parts = {**vars(shell), **shell._trait_values}
    name = next((name for name, one in parts.items() if one is value), None)
    if name is not None:
        return getattr, (shell, name)
    kinds = shell.display_formatter.formatters
    kind = next((kind for kind, one in kinds.items() if one is value), None)
    return None if kind is None else (make_formatter, (kind,))


def _of_cells(value: Any) -> tuple[list[Observer], dict[str, Any]]:
    """Returns the observers and validators that cells have added. Those that a class defines are
    excluded, because the constructor adds them."""
    of_class = sys.modules["traitlets"].traitlets.EventHandler
    observers = [
        (name, kind, one)
        for name, kinds in value._trait_notifiers.items()
        for kind, several in kinds.items()
        for one in several
        if not isinstance(one, of_class)
    ]
    validators = value._trait_validators.items()
    return observers, {name: one for name, one in validators if not isinstance(one, of_class)}


def _reduce_sentinel(value: Any) -> Reduced:
    # traitlets compares sentinels such as `All` and `Undefined` by identity, so they are saved by
    # name.
    module = sys.modules.get(value.module)
    is_known = getattr(module, value.name, None) is value
    return (getattr, (module, value.name)) if is_known else NotImplemented


# Checkpoints refer to these two functions by module and name: do not move or rename them.


def make_formatter(kind: str) -> Any:
    shell = kernel.shell
    return shell.display_formatter.formatters[kind]


def set_observed(made: Any, kept: tuple[Any, list[Observer], dict[str, Any]]) -> None:
    state, observers, validators = kept
    made.__setstate__(state)
    for name, kind, one in observers:
        several = made._trait_notifiers.setdefault(name, {}).setdefault(kind, [])
        if one not in several:
            several.append(one)
    made._trait_validators.update(validators)


class Traitlets(Adapter):
    library = "traitlets"
    reducers = {("traitlets.utils.sentinel", "Sentinel"): _reduce_sentinel}
    families = {("traitlets.traitlets", "HasTraits"): _reduce_observed}
