"""Objects that are pickled as the name of a module's variable.

Code compares some of them by identity, as `x is dataclasses.MISSING`. Others are changed in place,
as `sys.path` is: a variable that a cell has imported from the module must still be the module's own
object after a restart. Their contents are restored as settings.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from .adapter import registry
from .classes import is_made_at_run_time, is_reduced_as, module_of
from .importable import can_be_imported, is_importable

# The module and the name of a variable.
Place = tuple[str, str]

_PLACES: tuple[Place, ...] = (
    ("argparse", "SUPPRESS"),
    ("functools", "_initial_missing"),
    ("optparse", "NO_DEFAULT"),
    ("os", "environ"),
    ("os", "environb"),
    ("sys", "argv"),
    ("sys", "path"),
    ("warnings", "filters"),
)


def known() -> Iterator[tuple[Any, Place]]:
    """Yields the known objects of loaded modules."""
    for module, name in (*_PLACES, *registry.named):
        # A cell may have put anything there: None prevents an import.
        found = getattr(sys.modules.get(module), "__dict__", {}).get(name)
        if found is not None:
            yield found, (module, name)


def is_bare(kind: Any) -> bool:
    """Whether objects of a class can be without attributes: then they serve only for comparisons by
    identity."""
    if kind is object:
        return True
    bases = kind.__mro__[:-1]
    return (
        kind.__mro__[-1] is object
        and all(is_made_at_run_time(one) and not vars(one).get("__slots__") for one in bases)
        and is_reduced_as(kind, object)
        and is_importable(kind)
    )


class BareObjects:
    """Finds the variables of modules, and the attributes of their classes, that have objects of
    classes for which `is_bare` is true."""

    def __init__(self) -> None:
        # The owner and the name of each object of the class `object`, by its address.
        self._plain: dict[int, tuple[Any, str]] | None = None

    def owner_of(self, value: Any) -> tuple[Any, str] | None:
        """Returns the module or the class that has the object, and the name. Returns None if the
        object has parts or is no module's."""
        if getattr(value, "__dict__", None):
            return None
        if type(value) is not object:
            of_module = _variables([type(value).__module__])
            return next(((owner, name) for owner, name, one in of_module if one is value), None)
        if self._plain is None:
            everywhere = _variables(list(sys.modules))
            self._plain = {
                id(one): (owner, name) for owner, name, one in everywhere if type(one) is object
            }
        return self._plain.get(id(value))


def _variables(modules: list[str]) -> Iterator[tuple[Any, str, Any]]:
    for place in modules:
        module: Any = sys.modules.get(place)
        names = getattr(module, "__dict__", None)
        if type(names) is not dict or place == "__main__" or not can_be_imported(module):
            continue
        for name, one in list(names.items()):
            yield module, name, one
            if isinstance(one, type) and module_of(one) == place and is_importable(one):
                for attribute, inner in list(vars(one).items()):
                    yield one, attribute, inner
