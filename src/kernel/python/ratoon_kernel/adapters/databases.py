"""Functions for the adapters of databases.

Checkpoints are written in a throw-away process. After copying a database, an adapter may therefore
change it, to find properties of a connection that the library does not report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..adapter import Reduce, Reduced

# The name of a table that is added to a database after copying it. If another connection finds the
# table, it belongs to the same database.
MARK = "ratoon_mark"

# For the id of each saved connection: the connection, and its reduction. If an object that contains
# the connection cannot be saved, the reduction is needed again for another object.
saved: dict[int, tuple[Any, Reduced]] = {}


def once(reduce: Reduce) -> Reduce:
    def reduce_once(value: Any) -> Reduced:
        if id(value) not in saved:
            saved[id(value)] = value, reduce(value)
        return saved[id(value)][1]

    return reduce_once


def asking(execute: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Returns a function that runs a query with `execute` and returns all rows."""

    def ask(query: str) -> list[Any]:
        rows: list[Any] = execute(query).fetchall()
        return rows

    return ask


# Checkpoints refer to these two functions by module and name: do not move or rename them.


def make_cursor(connection: Any) -> Any:
    return connection.cursor()


def set_attributes(made: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(made, name, value)
