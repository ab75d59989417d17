"""What a row is: a library, a state that uses it, and a cell that uses it again."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

# The columns of the table, and how many cells each of them runs.
COLUMNS = {"parent": 1, "line": 2, "branches": 3, "restored": 3}


@dataclass(frozen=True)
class Row:
    """One use of a library. Its cells print the same text whenever they run: no times, addresses
    or random numbers.
    """

    name: str
    state: str
    """Imports the library and uses it. Its state is what branches grow from."""
    again: str
    """Uses it again: in two branches at once, further along the line, and after a restart."""
    told: tuple[str, ...] = ()
    """Words by which a warning is known to be about what `again` uses, beside the names of its variables."""


@dataclass(frozen=True)
class Group:
    """Rows whose libraries share an environment: `requirements-NAME.txt`, or that of all tests."""

    name: str
    requirements: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Known:
    """A cell of the table that may be WRONG or HANG, because the user is told in the docs."""

    row: str
    column: str
    why: str
    docs: str
    """A file under docs/, and a text that stands in it: `branches.md: polars, after its threads`."""


def row(name: str, state: str, again: str, *, told: tuple[str, ...] = ()) -> Row:
    """A row whose cells may be indented like the code around them."""
    return Row(name, textwrap.dedent(state).strip(), textwrap.dedent(again).strip(), told)
