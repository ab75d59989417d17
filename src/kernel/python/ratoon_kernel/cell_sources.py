"""Collects the sources of the cells that define the functions and classes of a checkpoint."""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Iterable
from typing import Any

from . import shell as kernel
from .text import clean

CELL_PREFIX = "<ipython-input-"

# For each file name of a cell: the cell's number (None if unknown) and the cell's text.
Cells = dict[str, tuple[int | None, str]]


def collect(files: Iterable[str], defined: Iterable[Any]) -> Cells:
    """Returns the cells that have these file names, and the cells that define classes among these
    objects."""
    names = set(files)
    names.update(file for one in defined if isinstance(one, type) and (file := _file_of(one)))
    shell = kernel.shell
    numbers = getattr(shell.compile, "_filename_map", {})
    found = {}
    for file in sorted(names):
        entry = linecache.cache.get(file)
        if file.startswith(CELL_PREFIX) and entry and len(entry) == 4:
            found[file] = (numbers.get(file), "".join(entry[2]))
    return found


def restore(cells: Cells) -> None:
    shell = kernel.shell
    numbers = getattr(shell.compile, "_filename_map", None)
    for file, (number, text) in cells.items():
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        if numbers is not None and number is not None:
            numbers[file] = number


def sources(defined: dict[str, Any]) -> dict[str, str]:
    """Returns the source of each function and class by its name. Users and other programs can read
    these texts in a checkpoint."""
    found = {}
    for name, value in defined.items():
        try:
            found[clean(name)] = clean(inspect.getsource(value))
        except Exception:  # made by exec, or the cell's source is gone
            continue
    return found


def find_classes_of_cells() -> None:
    """Makes `inspect.getsource` work for classes that cells define. Without this change it raises
    an error for every class in `__main__`."""
    inspect.getfile = _getfile


_getfile_of_inspect = inspect.getfile


def _getfile(object: Any) -> str:
    if isinstance(object, type) and getattr(object, "__module__", None) == "__main__":
        file = _file_of(object)
        if file:
            return file
    return _getfile_of_inspect(object)


def _file_of(kind: type) -> str | None:
    """Returns the file name of the cell that defines a class, or None."""
    for value in vars(kind).values():
        function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        function = getattr(function, "__wrapped__", function)
        code = getattr(function, "__code__", None)
        if code and getattr(function, "__qualname__", "").startswith(kind.__qualname__ + "."):
            file: str = code.co_filename
            if file.startswith(CELL_PREFIX) and file in linecache.cache:
                return file
    pattern = re.compile(rf"^\s*class\s+{re.escape(kind.__name__)}\b", re.MULTILINE)
    for file in reversed([name for name in linecache.cache if name.startswith(CELL_PREFIX)]):
        entry = linecache.cache[file]
        if len(entry) == 4 and pattern.search("".join(entry[2])):
            return file
    return None
