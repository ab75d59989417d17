"""Objects that cells import by name from modules of the user, and may change in place.

`from settings import options` and `options["a"] = 1` change an object that the module's own code
uses too. So a checkpoint refers to such an object by the name of the module's variable, and has
its contents beside it; loading changes the module's object. Objects of installed libraries are
not handled, because nobody knows what else refers to their parts.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from . import cell_imports, rebuilding
from . import shell as kernel
from .classes import is_reduced_as, static_base
from .named_objects import Place

# How the items of a container are added to another.
_ADD: dict[Any, Any] = {dict: dict.update, list: list.extend, set: set.update}


def known() -> Iterator[tuple[Any, Place]]:
    """Yields the objects that are saved by name."""
    taken = cell_imports.imported_from(kernel.shell, kernel.shell.user_ns)
    for name, (module, attribute) in taken.items():
        value = kernel.shell.user_ns[name]
        if _has_contents(type(value)) and _is_of_user(module):
            yield value, (module, attribute)


def contents() -> dict[str, tuple[Any, ...]]:
    """Returns the place and the contents of each object, by an expression for the object."""
    return {f"{module}.{name}": (module, name, _parts(one)) for one, (module, name) in known()}


def restore(module: str, name: str, parts: tuple[Any, Any]) -> None:
    found, (items, attributes) = getattr(rebuilding.import_module(module), name), parts
    if items is not None:
        base = static_base(type(found))
        base.clear(found)
        _ADD[base](found, items)
    if attributes is not None:
        vars(found).clear()
        vars(found).update(attributes)


def _has_contents(kind: Any) -> bool:
    """Whether an object is its attributes and its items, and nothing else."""
    base = static_base(kind)
    if base is not object and base not in _ADD:
        return False
    has_slots = any(vars(one).get("__slots__") for one in kind.__mro__)
    is_pickled_as_usual = (
        is_reduced_as(kind, base)
        and kind.__getstate__ is object.__getstate__
        and not hasattr(kind, "__setstate__")
    )
    has_parts = base is not object or bool(kind.__dictoffset__)
    return has_parts and is_pickled_as_usual and not has_slots


def _parts(value: Any) -> tuple[Any, Any]:
    base, attributes = static_base(type(value)), getattr(value, "__dict__", None)
    items = base.copy(value) if base in _ADD else None
    if attributes is None or attributes is value:
        return items, None
    return items, dict(attributes)


def _is_of_user(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(file, str):
        return False
    path = PurePath(file)
    is_installed = {"site-packages", "dist-packages"} & set(path.parts)
    return not is_installed and not path.is_relative_to(sysconfig.get_path("stdlib"))
