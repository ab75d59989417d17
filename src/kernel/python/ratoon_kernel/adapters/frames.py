"""Summarises frames of pandas and polars for the page."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from ..adapter import Columns, registry
from ..classes import name_of

# Maximum number of columns of a frame that has a fingerprint.
MAX_COLUMNS = 2000
# Maximum number of columns in a summary, and maximum length of their names in characters.
MAX_SUMMARY_COLUMNS = 50
MAX_NAME_CHARACTERS = 200

_PLAIN = (int, float, bool, type(None))

# A function (column, deadline) that returns minimum, maximum, mean and number of nulls.
Statistics = Callable[[Any, float], dict[str, Any]]


def summary(
    value: Any,
    named: Sequence[tuple[Any, Any]],
    columns: Columns,
    statistics: Statistics,
    deadline: float,
) -> dict[str, Any]:
    """Returns the summary of a frame or a series. `named` are the first columns as (name,
    column)."""
    unknown = {"fingerprint": None, "sampled": False}
    summaries = []
    for at, (name, column) in enumerate(named):
        own = columns[at] if at < len(columns) else unknown
        one = {"name": _words(name), "dtype": str(column.dtype), **own}
        summaries.append({**one, **statistics(column, deadline)})
    count = int(value.shape[1]) if len(value.shape) > 1 else 1
    more = max(0, count - len(named))
    return {"kind": "frame", "rows": int(value.shape[0]), "columns": summaries, "more": more}


def _words(name: Any) -> str:
    """Returns the name of a column as text, without running user code."""
    kind = type(name)
    if kind is str:
        return str(name[:MAX_NAME_CHARACTERS])
    if kind is tuple and not all(type(part) in (str, *_PLAIN) for part in name):
        return "(…)"
    adapter = registry.of_known_class(kind)
    is_safe = kind in (*_PLAIN, tuple, bytes, datetime.date)
    if is_safe or (adapter is not None and adapter.has_own_repr):
        return repr(name)[:MAX_NAME_CHARACTERS]
    return f"<{name_of(kind)}>"
