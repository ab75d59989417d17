"""The data of the table of libraries: rows, groups of rows, and known failures."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

# The columns of the table, and the number of cells that each column runs.
COLUMNS = {"parent": 1, "line": 2, "branches": 3, "restored": 3}


@dataclass(frozen=True)
class Row:
    """One use of a library, in two cells. The cells must print the same text in each run, so they
    print no times, addresses or random numbers.
    """

    name: str
    state: str
    """A cell that imports and uses the library. Branches grow from the state after it."""
    again: str
    """A cell that uses the library again. It runs after `state`, in branches, and after a restart."""
    told: tuple[str, ...] = ()
    """A warning that contains one of these words, or a variable of `again`, is about `again`."""


@dataclass(frozen=True)
class Group:
    """Rows whose libraries are installed in one environment, made from a requirements file."""

    name: str
    requirements: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Known:
    """A cell of the table that may be WRONG or HANG, because the docs warn users about it."""

    row: str
    column: str
    why: str
    docs: str
    """A file in docs/ and a text in this file, for example `branches.md: polars, after its threads`."""


def row(name: str, state: str, again: str, *, told: tuple[str, ...] = ()) -> Row:
    """Makes a row. Removes the common indentation of each cell."""
    return Row(name, textwrap.dedent(state).strip(), textwrap.dedent(again).strip(), told)
