"""Decides whether a pickle can refer to an object by its name instead of containing the object."""

from __future__ import annotations

import sys
import types
from typing import Any


def is_importable(value: Any, qualname: str | None = None) -> bool:
    """Whether an object can be imported by its name from a module other than `__main__`, the
    notebook's module."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    if module is None or module.__name__ == "__main__" or not can_be_imported(module):
        return False
    found: Any = module
    name: Any = qualname or getattr(value, "__qualname__", "<")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value


def can_be_imported(module: types.ModuleType) -> bool:
    has_spec = getattr(module, "__spec__", None) is not None
    return has_spec or module.__name__ in sys.builtin_module_names
