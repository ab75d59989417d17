"""Handles frames, series and queries of polars.

polars computes in its own threads. These threads do not exist in a fork, so operations that need
them would wait there forever. Operations on whole frames and on columns of several chunks need the
threads. Operations on single chunks do not (measured with polars 2.1).
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import pickling
from ..adapter import Adapter, Columns, Reduce, Reduced, Unknown
from . import frames, pyarrow

if TYPE_CHECKING:
    from ..fingerprint import Reader
    from ..pickling import Reducers

# Time limit for pickling a query in the trial fork, in seconds.
MAX_TRIAL = 5
# The original function, because `os._exit` is replaced while a checkpoint is written.
_exit = os._exit


def _reduce_frame(value: Any) -> Reduced:
    return make_polars_frame, (value.get_columns(),)


def _reduce_series(value: Any) -> Reduced:
    if value.n_chunks() == 1:
        return value.__reduce_ex__(pickling.PROTOCOL)
    return make_polars_series, (value.get_chunks(),)


def _reduce_query(value: Any) -> Reduced:
    # The number of chunks in a query's frames cannot be read. So a trial fork shows whether
    # pickling the query ends.
    if not _ends_in_a_fork(lambda: value.__reduce_ex__(pickling.PROTOCOL)):
        what = "a polars query that only polars' own threads can write: call collect() on it"
        raise pickling.Unsavable(value, what)
    return value.__reduce_ex__(pickling.PROTOCOL)


def _ends_in_a_fork(work: Callable[[], object]) -> bool:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            _exit(0)
    end = time.monotonic() + MAX_TRIAL
    while time.monotonic() < end:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return True
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


# Checkpoints refer to these two functions by module and name: do not move or rename them.


def make_polars_frame(columns: Sequence[Any]) -> Any:
    import polars

    return polars.DataFrame(columns)


def make_polars_series(chunks: Sequence[Any]) -> Any:
    made = chunks[0].clone()
    for chunk in chunks[1:]:
        made.append(chunk)
    return made


# --------------------------------------------------------------------------------------------------


def _read_column(reader: Reader, column: Any) -> None:
    chunks = [chunk.to_arrow() for chunk in column.get_chunks()]
    if not chunks or not pyarrow.read_column(reader, chunks[0].type, chunks):
        raise Unknown


def _statistics(column: Any, _deadline: float) -> dict[str, Any]:
    return {"nulls": int(column.null_count())}


_REDUCERS = {"DataFrame": _reduce_frame, "Series": _reduce_series, "LazyFrame": _reduce_query}


class Polars(Adapter):
    library = "polars"
    loses_nothing = True
    has_own_repr = True

    def reducer(self, pickler: Reducers, kind: type) -> Reduce | None:
        is_ours = kind.__module__.startswith("polars.")
        return _REDUCERS.get(kind.__name__) if is_ours else None

    def fingerprint(self, reader: Reader, value: Any, depth: int) -> bool:
        polars, kind = sys.modules["polars"], type(value)
        if "numpy" not in sys.modules or kind not in (polars.DataFrame, polars.Series):
            raise Unknown
        columns = value.get_columns() if kind is polars.DataFrame else [value]
        if len(columns) > frames.MAX_COLUMNS:
            raise Unknown
        reader.put(b"polars", kind.__name__.encode())
        for column in columns:
            reader.put(b"name", column.name.encode())
        reader.each_column(columns, functools.partial(_read_column, reader))
        return True

    def summary(self, value: Any, columns: Columns, deadline: float) -> dict[str, Any] | None:
        name = type(value).__name__
        if name == "Series":
            return frames.summary(value, [(value.name, value)], columns, _statistics, deadline)
        if name != "DataFrame":
            return None
        shown = value.get_columns()[: frames.MAX_SUMMARY_COLUMNS]
        named = [(column.name, column) for column in shown]
        return frames.summary(value, named, columns, _statistics, deadline)
