"""Lists the cells of the table that may be WRONG or HANG. Each entry has a reason, and a text in
the docs that warns users.
"""

from __future__ import annotations

import os

from model import Known

KNOWN: tuple[Known, ...] = ()

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def known(row: str, column: str) -> Known | None:
    return next((k for k in KNOWN if (k.row, k.column) == (row, column)), None)


def stale(rows: set[str]) -> list[str]:
    """Returns errors in the list itself: rows that do not exist, and texts that are not in the
    docs."""
    faults = [
        f"known.py names {k.row!r}, but there is no such row" for k in KNOWN if k.row not in rows
    ]
    for entry in KNOWN:
        name, _, text = entry.docs.partition(": ")
        try:
            with open(os.path.join(DOCS, name)) as file:
                is_said = text in file.read()
        except OSError:
            is_said = False
        if not is_said:
            faults.append(f"known.py: docs/{name} does not say {text!r} ({entry.row})")
    return faults
