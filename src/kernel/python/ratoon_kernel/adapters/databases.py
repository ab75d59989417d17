"""Shared by the adapters of databases.

A saving process is a throw-away. So an adapter may change a database there once it is saved, to
find what a connection does not reveal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..adapter import Reduce, Reduced

# A table of this name marks a database that is saved: another connection to it finds the table.
MARK = "ratoon_mark"

# The saved connections and how they were reduced, by their id. A connection is needed again if an
# object that contains it could not be saved.
saved: dict[int, tuple[Any, Reduced]] = {}


def once(reduce: Reduce) -> Reduce:
    def reduce_once(value: Any) -> Reduced:
        if id(value) not in saved:
            saved[id(value)] = value, reduce(value)
        return saved[id(value)][1]

    return reduce_once


def asking(execute: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Runs a query and returns all rows."""

    def ask(query: str) -> list[Any]:
        rows: list[Any] = execute(query).fetchall()
        return rows

    return ask


# Checkpoints name these two functions: they must not move.


def make_cursor(connection: Any) -> Any:
    return connection.cursor()


def set_attributes(made: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(made, name, value)
