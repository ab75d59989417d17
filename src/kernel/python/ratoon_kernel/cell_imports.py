"""Finds the imports of a lineage's cells in their source."""

from __future__ import annotations

import ast
import functools
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

from .symbols import walk

Import = ast.Import | ast.ImportFrom


@functools.lru_cache(None)
def _imports_in(text: str) -> Sequence[Import]:
    if "import" not in text:
        return ()
    try:
        nodes = walk(ast.parse(text))
        return [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    except (SyntaxError, ValueError, RecursionError):
        return ()


def _all_imports(shell: Any) -> Iterator[Import]:
    for text in shell.history_manager.input_hist_parsed:
        yield from _imports_in(str(text))


def imports(shell: Any) -> tuple[list[str], list[str]]:
    """Returns the import statements of the cells, and the loaded modules that these statements
    name."""
    statements: dict[str, None] = {}
    modules: dict[str, None] = {}
    for node in _all_imports(shell):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif node.module and not node.level:
            named = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        statements[ast.unparse(node)] = None
        modules.update((name, None) for name in named if _has_spec(sys.modules.get(name)))
    return list(statements), list(modules)


def imported_from(shell: Any, names: dict[str, Any]) -> dict[str, list[str]]:
    """Returns {name: [module, attribute]} for the names that `from module import attribute` has
    bound, if they still refer to the same object.
    """
    found: dict[str, list[str]] = {}
    for node in _all_imports(shell):
        if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
            continue
        module = sys.modules.get(node.module)
        if module is None or not _has_spec(module):
            continue
        taken = {alias.asname or alias.name: alias.name for alias in node.names}
        if "*" in taken:
            taken = {name: name for name in names if name in vars(module)}
        for name, attribute in taken.items():
            if name in names and vars(module).get(attribute, found) is names[name]:
                found[name] = [node.module, attribute]
    return found


def _has_spec(module: types.ModuleType | None) -> bool:
    return getattr(module, "__spec__", None) is not None


def packages(modules: list[str]) -> dict[str, str]:
    """Returns the versions of the packages that contain these modules. They help to explain why a
    checkpoint cannot be loaded."""
    found = {}
    for name in modules:
        top = name.split(".")[0]
        version = getattr(sys.modules.get(top), "__version__", None)
        if isinstance(version, str):
            found[top] = version
    return found
