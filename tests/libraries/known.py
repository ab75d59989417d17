"""What may be WRONG or HANG: short, each with its reason and the line of the docs that tells the
user.
"""

from __future__ import annotations

import os

from model import Known

KNOWN: tuple[Known, ...] = ()

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def known(row: str, column: str) -> Known | None:
    return next((k for k in KNOWN if (k.row, k.column) == (row, column)), None)


def stale(rows: set[str]) -> list[str]:
    """What is wrong with the list itself: rows that are not there, docs that do not say it."""
    faults = [
        f"known.py names {k.row!r}, and there is no such row" for k in KNOWN if k.row not in rows
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
