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
from .classes import is_made_at_run_time
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
    """Whether objects of a class may have no parts, so that they are good for comparisons by
    identity only."""
    if kind is object:
        return True
    bases = kind.__mro__[:-1]
    return (
        kind.__mro__[-1] is object
        and all(is_made_at_run_time(one) and not vars(one).get("__slots__") for one in bases)
        and kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and is_importable(kind)
    )


def place_of(value: Any) -> Place | None:
    """The variable that has an object of a class for which `is_bare` is true. Returns None if the
    object has parts or is no module's."""
    if getattr(value, "__dict__", None):
        return None
    places = list(sys.modules) if type(value) is object else [type(value).__module__]
    for place in places:
        module: Any = sys.modules.get(place)
        names = getattr(module, "__dict__", None)
        if type(names) is not dict or place == "__main__" or not can_be_imported(module):
            continue
        for name, one in list(names.items()):
            if one is value:
                return place, name
    return None
