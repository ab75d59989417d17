"""What adapters of databases have in common.

A saving process is thrown away afterwards. So a database may be changed there once it is saved:
that is how an adapter learns what a connection does not tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..adapter import Reduce, Reduced

# A table of this name marks a database that is saved: another connection to it finds the table.
MARK = "ratoon_mark"

# The saved connections and how they were reduced, by their id. One may be asked for again when what
# it was a part of could not be saved.
saved: dict[int, tuple[Any, Reduced]] = {}


def once(reduce: Reduce) -> Reduce:
    def reduce_once(value: Any) -> Reduced:
        if id(value) not in saved:
            saved[id(value)] = value, reduce(value)
        return saved[id(value)][1]

    return reduce_once


def asking(execute: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """What answers a query with all rows."""

    def ask(query: str) -> list[Any]:
        rows: list[Any] = execute(query).fetchall()
        return rows

    return ask


# Checkpoints name these two functions: they stay where they are.


def make_cursor(connection: Any) -> Any:
    return connection.cursor()


def set_attributes(made: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(made, name, value)
