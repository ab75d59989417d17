"""Saves and restores the changes that cells made to objects of libraries: assigned attributes of
modules, and changes that adapters find. A checkpoint names each change by an expression for users,
for example `module.attribute`. If a change cannot be saved, the checkpoint lists this expression as
missing.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Mapping
from typing import Any

from . import importable, imported_objects, rebuilding
from .adapter import Change, registry

_ASSIGNED = r"\s*(?:\*\*|//|<<|>>|[-+*/%&|^@])?=(?!=)"
# The attributes between the module and the assigned attribute, for example `.part.part`.
_PATH = r"(?:\.\w+)*"


def collect(shell: Any) -> dict[str, tuple[Any, ...]]:
    """Returns all changes by their expression, as (kind of change, part, …)."""
    found: dict[str, tuple[Any, ...]] = {}
    for kind, change in _changes(shell).items():
        try:
            parts = change.collect()
        except Exception:  # a library that is not as expected
            continue
        found.update((expression, (kind, *part)) for expression, part in parts.items())
    return found


def restore(parts: Mapping[str, tuple[Any, ...]]) -> dict[str, str]:
    """Restores changes. Returns {expression: reason} for the changes that could not be restored."""
    failed, known = {}, _changes(None)
    for expression, (kind, *part) in parts.items():
        try:
            known[kind].restore(*part)
        except Exception as error:
            failed[expression] = f"{type(error).__name__}: {error}"
    return failed


def _changes(shell: Any) -> dict[str, Change]:
    attribute = Change(lambda: _attributes(shell), _restore_attribute)
    contents = Change(imported_objects.contents, imported_objects.restore)
    return {"attribute": attribute, "contents": contents, **registry.changes}


def _attributes(shell: Any) -> dict[str, tuple[Any, ...]]:
    """Finds the attributes of modules that the source of a cell assigns, by
    `module.attribute = …` or `setattr(module, "attribute", …)`. Attributes of objects in modules
    are found too.
    """
    modules = {
        name: one
        for name, one in shell.user_ns.items()
        if type(one) is types.ModuleType and importable.can_be_imported(one)
    }
    if not modules:
        return {}
    roots = "|".join(map(re.escape, modules))
    assigned = re.compile(rf"(?<![\w.])((?:{roots}){_PATH})\.(\w+){_ASSIGNED}")
    by_name = re.compile(rf"\bsetattr\(\s*((?:{roots}){_PATH})\s*,\s*['\"](\w+)['\"]")
    found = {}
    for text in shell.history_manager.input_hist_parsed:
        for pattern in (assigned, by_name):
            for place, name in pattern.findall(str(text)):
                part = _attribute(modules, place.split("."), name)
                if part is not None:
                    found[f"{place}.{name}"] = part
    return found


def _attribute(
    modules: dict[str, types.ModuleType], place: list[str], name: str
) -> tuple[str, list[str], str, Any] | None:
    root, *steps = place
    owner: Any = modules[root]
    try:
        for step in steps:
            owner = getattr(owner, step)
        has_own = isinstance(owner, (types.ModuleType, type))
        value = vars(owner)[name] if has_own else getattr(owner, name)
    except Exception:  # the attribute was deleted, or the line never ran
        return None
    is_plain = type(value) in (bool, int, float, str, type(None))
    if name.startswith("__") or (owner is sys and not is_plain):
        return None
    return modules[root].__name__, steps, name, value


def _restore_attribute(module: str, steps: list[str], name: str, value: Any) -> None:
    owner: Any = rebuilding.import_module(module)
    for step in steps:
        owner = getattr(owner, step)
    setattr(owner, name, value)
