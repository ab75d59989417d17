"""What the adapters of databases share.

Checkpoints are written in a throw-away process. There an adapter may change a database after
copying it, to find what a connection does not reveal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..adapter import Reduce, Reduced

# A table of this name marks a database that was copied: another connection to the database finds
# the table.
MARK = "ratoon_mark"

# The saved connections and their reductions, by the connection's id. A reduction is needed again if
# an object that contains the connection could not be saved.
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


# Checkpoints refer to these two functions by module and name: do not move or rename them.


def make_cursor(connection: Any) -> Any:
    return connection.cursor()


def set_attributes(made: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(made, name, value)
