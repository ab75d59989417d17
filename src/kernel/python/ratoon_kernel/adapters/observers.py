"""Objects of traitlets, and so widgets, in a checkpoint: with the functions that observe them, which traitlets leaves out
when it is pickled."""

import sys

from .. import pickling
from .. import shell as kernel_shell


def _observed(value):
    place = _place_in_shell(value)
    if place is not None:
        return place
    observers, validators = _by_cells(value)
    if not observers and not validators:
        return NotImplemented
    reduced = value.__reduce_ex__(pickling.PROTOCOL)
    if len(reduced) < 3 or reduced[2] is None:
        return NotImplemented
    return *reduced[:2], (reduced[2], observers, validators), *reduced[3:5], set_observed


def _place_in_shell(value):
    """IPython and its parts are those of the process that they come back in."""
    shell = kernel_shell.shell
    if value is shell:
        return getattr, (kernel_shell, "shell")
    parts = {**vars(shell), **shell._trait_values}
    name = next((name for name, one in parts.items() if one is value), None)
    if name is not None:
        return getattr, (shell, name)
    kinds = shell.display_formatter.formatters
    kind = next((kind for kind, one in kinds.items() if one is value), None)
    return None if kind is None else (make_formatter, (kind,))


def make_formatter(kind):
    return kernel_shell.shell.display_formatter.formatters[kind]


def _by_cells(value):
    """Those that were added to the object; the class adds its own by itself."""
    of_class = sys.modules["traitlets"].traitlets.EventHandler
    observers = [
        (name, kind, one)
        for name, kinds in value._trait_notifiers.items()
        for kind, several in kinds.items()
        for one in several
        if not isinstance(one, of_class)
    ]
    validators = {name: one for name, one in value._trait_validators.items() if not isinstance(one, of_class)}
    return observers, validators


def set_observed(made, kept):
    state, observers, validators = kept
    made.__setstate__(state)
    for name, kind, one in observers:
        several = made._trait_notifiers.setdefault(name, {}).setdefault(kind, [])
        if one not in several:
            several.append(one)
    made._trait_validators.update(validators)


def _sentinel(value):
    # `All` and `Undefined` are compared by what they are, so they must not become others.
    module = sys.modules.get(value.module)
    return (getattr, (module, value.name)) if getattr(module, value.name, None) is value else NotImplemented


pickling.adapt({("traitlets.utils.sentinel", "Sentinel"): _sentinel})
pickling.adapt_family({("traitlets.traitlets", "HasTraits"): _observed})
