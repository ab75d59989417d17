"""Reads rows of a data frame or an array, sorted and filtered, for the page's grid.

The process is a fork that ends soon after its answer. It may read any value, and it keeps the last
order of rows, because the grid asks for one page of rows after another. Nothing is imported, so a
notebook without pandas stays without it.
"""

from __future__ import annotations

import ast
import csv
import decimal
import json
import math
import numbers
import operator
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from . import shell as kernel_shell
from .classes import module_of, name_of
from .text import MAX_NAME_CHARACTERS, short, text_of, to_json
from .variables import short_repr

# Maximum number of columns that are read.
MAX_COLUMNS = 200
# Maximum length of a value, in characters: in the grid, and in CSV or TSV.
MAX_CELL_CHARACTERS = 300
MAX_EXACT_CHARACTERS = 100_000
# Length of the text after which an answer ends, in characters. It then has fewer rows than wanted.
MAX_ANSWER_CHARACTERS = 2_000_000
# Maximum number of rows that the summaries of columns read.
MAX_SAMPLE = 20_000
# Time limit of all summaries together, in seconds. Later columns have none.
SUMMARY_SECONDS = 2
# Number of bars of a histogram, and of values that are listed by frequency.
BARS = 20
MOST_FREQUENT = 3
# Time limit of one `__repr__`, in seconds.
REPR_SECONDS = 0.5

# A predicate on a value. None is a missing value.
_Test = Callable[[Any], bool]

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "equal": operator.eq,
    "unequal": operator.ne,
    "less": operator.lt,
    "at_most": operator.le,
    "greater": operator.gt,
    "at_least": operator.ge,
}


class Refused(Exception):
    """Why there is no table, and what the user can do."""

    def __init__(self, why: str, how: str) -> None:
        super().__init__(why)
        self.why, self.how = why, how


def page(request: str) -> str:
    """Answers a request (`TableView` as JSON). Returns JSON: {"found": {…}}, or {"refused": {why,
    how}}."""
    try:
        return to_json({"found": _page(**json.loads(request))})
    except Refused as refused:
        why, how = refused.why, refused.how
    except BaseException as error:  # the user's classes may raise anything
        why = f"reading it raised {name_of(type(error))}: {short(text_of(error), 500)}"
        how = "convert it to a plain DataFrame, or choose another value"
    return to_json({"refused": {"why": why, "how": how}})


def _page(
    expression: str,
    sort: dict[str, Any] | None,
    filters: list[dict[str, Any]],
    offset: int,
    limit: int,
    form: str,
    columns: list[int] | None,
    names: bool | None,
    summaries: bool,
) -> dict[str, Any]:
    table = _table_of(expression)
    rows = table.rows(sort, filters)
    wanted = rows[offset : offset + limit]
    is_exact = form != "cells"
    sent = table.columns if columns is None else [table.column(at) for at in columns]
    if is_exact and columns is None:
        sent = [one for one in sent if not one.is_counted]
    found = _rows(sent, wanted, is_exact)
    separator = {"csv": ",", "tsv": "\t"}.get(form)
    has_names = offset == 0 if names is None else names
    return {
        "columns": [
            {"name": one.name, "dtype": one.dtype, "kind": one.kind, "is_index": one.is_index}
            for one in table.columns
        ],
        "columns_left_out": table.left_out,
        "total": table.count,
        "matching": len(rows),
        "count": len(found),
        "rows": None if is_exact else found,
        "text": _delimited(found, separator, sent if has_names else []) if separator else None,
        "summaries": _summaries(table, rows) if summaries else None,
    }


def _rows(columns: list[_Column], rows: Sequence[int], is_exact: bool) -> list[list[str | None]]:
    """The texts of rows, as many as an answer may hold."""
    found: list[list[str | None]] = []
    room, at = MAX_ANSWER_CHARACTERS, 0
    while at < len(rows) and room > 0:
        some = rows[at : at + 200]
        at += len(some)
        if not columns:
            found += [[] for _ in some]
            continue
        texts = [one.texts(some, is_exact) for one in columns]
        for row in zip(*texts, strict=True):
            found.append(list(row))
            room -= sum(len(text or "") + 4 for text in row)
            if room <= 0:
                break
    return found


def _delimited(rows: list[list[str | None]], separator: str, named: list[_Column]) -> str:
    """Rows as CSV (RFC 4180) or TSV, below the names of the columns."""
    lines = _Lines()
    writer = csv.writer(lines, delimiter=separator, lineterminator="\r\n")
    if named:
        writer.writerow([one.name for one in named])
    writer.writerows([["" if one is None else one for one in row] for row in rows])
    return "".join(lines.texts)


class _Lines:
    """Receives lines of `csv.writer`, which quotes the characters of its line ends only."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, line: str) -> None:
        self.texts.append(line.removesuffix("\r\n") + "\n")


# -- tables ----------------------------------------------------------------------------------------


class _Table:
    """A frame as columns. An index is a column as well, and so is each level of one."""

    def __init__(self, count: int, columns: list[_Column], left_out: int) -> None:
        self.count, self.columns, self.left_out = count, columns, left_out
        self._order: tuple[Any, Sequence[int]] | None = None

    def rows(self, sort: dict[str, Any] | None, filters: list[dict[str, Any]]) -> Sequence[int]:
        """The positions of the rows that match all filters, in the wanted order."""
        wanted = (sort, filters)
        if self._order is None or self._order[0] != wanted:
            found: Sequence[int] = range(self.count)
            for one in filters:
                column = self.column(one["column"])
                found = column.matching(found, one["is"], one.get("value") or "")
            if sort is not None:
                found = self.column(sort["column"]).sorted(found, sort["descending"])
            self._order = (wanted, found)
        return self._order[1]

    def column(self, at: int) -> _Column:
        if at >= len(self.columns):
            many = f"the table has {len(self.columns)} columns"
            raise Refused(f"there is no column {at}: {many}", "count columns from 0")
        return self.columns[at]


class _Column:
    """A column of a frame of polars, and what all columns share.

    Attributes:
        kind: number, time, bool or text.
        is_counted: Whether it is the index that pandas adds by itself.
    """

    is_index = False
    is_counted = False

    def __init__(self, name: Any, values: Any, kind: str) -> None:
        self.name, self.dtype, self.kind = _name(name), str(values.dtype), kind
        self._values = values

    def values(self, rows: Sequence[int]) -> list[Any]:
        """The values of rows as objects of Python. A missing value is None."""
        if not hasattr(self, "_list"):
            # A series of several chunks needs threads that a fork does not have.
            chunks = self._values.get_chunks()
            self._list = [value for chunk in chunks for value in chunk.to_list()]
        every = self._list
        found = (
            every if len(rows) == len(every) and type(rows) is range else [every[at] for at in rows]
        )
        return [None if type(value) is float and value != value else value for value in found]

    def array(self, rows: Sequence[int]) -> Any:
        """Numbers or times as an array that has NaN or NaT where a value is missing. None if the
        column has neither."""
        return None

    def order(self, rows: Sequence[int]) -> Any:
        """An array in whose order the rows are sorted, or None."""
        return self.array(rows)

    def parsed(self, text: str) -> Any:
        """What the values of `array` are compared with."""
        return _number(text)

    def sorted(self, rows: Sequence[int], is_descending: bool) -> Sequence[int]:
        """Sorts rows. Equal rows keep their order, and missing values come last."""
        keys = self.order(rows)
        if keys is not None:
            return _sorted_by_array(rows, keys, is_descending)
        values = self.values(rows)
        present = [at for at, value in enumerate(values) if value is not None]
        missing = [rows[at] for at, value in enumerate(values) if value is None]
        try:
            present.sort(key=values.__getitem__, reverse=is_descending)
        except TypeError:  # values of several types
            present.sort(key=lambda at: _mixed_key(values[at]), reverse=is_descending)
        return [rows[at] for at in present] + missing

    def matching(self, rows: Sequence[int], how: str, text: str) -> Sequence[int]:
        keys = None if how == "contains" else self.array(rows)
        if keys is not None:
            return _matching_in_array(self, rows, keys, how, text)
        if self.kind == "number" and how in _COMPARISONS:
            self._needs(_number(text), text)
        test = _test(how, text)
        return [at for at, value in zip(rows, self.values(rows), strict=True) if test(value)]

    def texts(self, rows: Sequence[int], is_exact: bool) -> list[str | None]:
        texts = [_text(value, is_exact) for value in self.values(rows)]
        if self.kind == "time" and all(one is None or one.endswith(" 00:00:00") for one in texts):
            return [one and one.removesuffix(" 00:00:00") for one in texts]
        return texts

    def summary(self, rows: Sequence[int]) -> dict[str, Any]:
        """A histogram of numbers and times. Otherwise the most frequent values."""
        array = self.array(rows)
        if array is not None:
            return _histogram_of_array(array)
        sample = _sampled(rows)
        values = [value for value in self.values(sample) if value is not None]
        missing = len(sample) - len(values)
        finite = [value for value in values if _is_real(value) and math.isfinite(value)]
        if self.kind == "number" and finite:
            low, high = min(finite), max(finite)
            bars = _bars([float(one) for one in finite], float(low), float(high))
            ends = {"low": _text(low, False), "high": _text(high, False)}
            return {"bars": bars, **ends, "missing": missing}
        counts = Counter(_text(value, False) for value in values)
        return {
            "distinct": len(counts),
            "frequent": [
                {"text": text, "count": count} for text, count in counts.most_common(MOST_FREQUENT)
            ],
            "missing": missing,
        }

    def _needs(self, parsed: Any, text: str) -> None:
        if parsed is None:
            thing = "a number" if self.kind == "number" else "a date or time"
            raise Refused(
                f"the column {self.name} is compared with {text!r}, which is not {thing}",
                f"compare it with {thing}, or search for a text",
            )


class _PandasColumn(_Column):
    """A column or a level of the index of a frame of pandas."""

    def values(self, rows: Sequence[int]) -> list[Any]:
        some = self._some(rows)
        missing = sys.modules["pandas"].isna(some).tolist()
        found = some.tolist()
        return [None if no else one for one, no in zip(found, missing, strict=True)]

    def array(self, rows: Sequence[int]) -> Any:
        some = self._some(rows)
        if self.kind == "number":
            if _is_of_numpy(some):
                return some.to_numpy()
            exact = getattr(some.dtype, "numpy_dtype", None)
            if exact is not None and exact.kind in "iu" and not some.isna().any():
                # A float has 53 bits only.
                return some.to_numpy(dtype=exact)
            return some.to_numpy(dtype="float64", na_value=math.nan)
        if self.kind != "time":
            return None
        if getattr(some.dtype, "tz", None) is not None:
            some = some.dt.tz_convert("UTC").dt.tz_localize(None)
        return some.to_numpy() if _is_of_numpy(some) else None

    def order(self, rows: Sequence[int]) -> Any:
        if name_of(type(self._values.dtype)) != "CategoricalDtype":
            return self.array(rows)
        codes = self._some(rows).cat.codes.to_numpy().astype("float64")
        codes[codes < 0] = math.nan
        return codes

    def parsed(self, text: str) -> Any:
        if self.kind == "number":
            return _number(text)
        pandas = sys.modules["pandas"]
        try:
            if self.dtype.startswith("timedelta"):
                return pandas.Timedelta(text).to_numpy()
            moment = pandas.Timestamp(text)
        except ValueError:
            return None
        zone = getattr(self._values.dtype, "tz", None)
        if zone is not None and moment.tzinfo is None:
            moment = moment.tz_localize(zone)
        if moment.tzinfo is not None:
            moment = moment.tz_convert("UTC").tz_localize(None)
        return moment.to_numpy()

    def _some(self, rows: Sequence[int]) -> Any:
        if type(rows) is range and len(rows) == len(self._values):
            return self._values
        if type(rows) is range:
            return self._values.iloc[rows.start : rows.stop : rows.step]
        return self._values.take(rows)


class _NumpyColumn(_Column):
    """A column of an array of numpy, or its row numbers."""

    def values(self, rows: Sequence[int]) -> list[Any]:
        some = self._some(rows)
        if some.dtype.kind in "mM":
            # Python's dates have microseconds.
            some = some.astype(f"{some.dtype.name.split('[')[0]}[us]")
        return [None if type(one) is float and one != one else one for one in some.tolist()]

    def array(self, rows: Sequence[int]) -> Any:
        if self.kind not in ("number", "time"):
            return None
        some, numpy = self._some(rows), sys.modules["numpy"]
        if not isinstance(some, numpy.ma.MaskedArray):
            return some
        if self.kind == "time":
            return some.filled(numpy.array("NaT", some.dtype))
        return some.astype("float64").filled(math.nan)

    def parsed(self, text: str) -> Any:
        if self.kind == "number":
            return _number(text)
        numpy = sys.modules["numpy"]
        try:
            return None if self.dtype.startswith("timedelta") else numpy.datetime64(text)
        except ValueError:
            return None

    def _some(self, rows: Sequence[int]) -> Any:
        if type(rows) is range:
            return self._values[rows.start : rows.stop : rows.step]
        return self._values[rows]


# The last table, and the expression that it is the value of.
_last: tuple[str, _Table] | None = None


def _table_of(expression: str) -> _Table:
    global _last
    if _last is None or _last[0] != expression:
        value = _value_of(expression)
        table = _of_pandas(value) or _of_polars(value) or _of_numpy(expression, value)
        if table is None:
            kind = f"{module_of(type(value))}.{name_of(type(value))}".removeprefix("builtins.")
            raise Refused(
                f"`{expression}` is no DataFrame, Series or array, but a {kind}",
                "choose a DataFrame, a Series or an array",
            )
        _last = (expression, table)
    return _last[1]


def _value_of(expression: str) -> Any:
    """The value of a name, an attribute or an item. Other expressions may change objects that a
    later page shows, so they are refused."""
    how = "give the name of a DataFrame, such as `df`, `frames['a']` or `Out[3]`"
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise Refused(f"`{expression}` is no expression: {text_of(error)}", how) from None
    if not _is_chain(tree.body):
        raise Refused(f"`{expression}` is not a name, an attribute or an item", how)
    try:
        value = eval(compile(tree, "<expression>", "eval"), kernel_shell.shell.user_ns)
    except (NameError, AttributeError, LookupError) as error:
        cause = f"{name_of(type(error))}: {text_of(error)}"
        why = f"`{expression}` does not exist in this state ({cause})"
        raise Refused(short(why, 500), how) from None
    # The data of a Styler, which pandas shows instead of a frame.
    is_styled = module_of(type(value)).startswith("pandas.io.formats.style")
    return value.data if is_styled else value


def _is_chain(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return _is_chain(node.value)
    if isinstance(node, ast.Subscript):
        return _is_chain(node.value) and _is_constant(node.slice)
    return isinstance(node, ast.Name)


def _is_constant(node: ast.AST) -> bool:
    if isinstance(node, ast.Tuple):
        return all(_is_constant(one) for one in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_constant(node.operand)
    return isinstance(node, ast.Constant)


def _of_pandas(value: Any) -> _Table | None:
    pandas = sys.modules.get("pandas")
    if pandas is None or not hasattr(pandas, "DataFrame"):
        return None
    if issubclass(type(value), pandas.Series):
        # The plain class, because a subclass may have other methods.
        value = pandas.Series(value).to_frame()
    elif issubclass(type(value), pandas.DataFrame):
        value = pandas.DataFrame(value)
    else:
        return None
    index = value.index
    columns: list[_Column] = []
    for level in range(min(index.nlevels, MAX_COLUMNS)):
        labels = index.get_level_values(level)
        one = _pandas_column(labels.name, pandas.Series(labels))
        one.is_index = True
        one.is_counted = type(index) is pandas.RangeIndex and labels.name is None
        columns.append(one)
    width = value.shape[1]
    shown = min(width, MAX_COLUMNS - len(columns))
    columns += [
        _pandas_column(value.columns[at], value.iloc[:, at].reset_index(drop=True))
        for at in range(shown)
    ]
    return _Table(value.shape[0], columns, width - shown)


def _pandas_column(name: Any, values: Any) -> _Column:
    of = sys.modules["pandas"].api.types
    dtype = values.dtype
    if of.is_bool_dtype(dtype):
        kind = "bool"
    elif of.is_numeric_dtype(dtype) and not of.is_complex_dtype(dtype):
        kind = "number"
    elif of.is_datetime64_any_dtype(dtype) or of.is_timedelta64_dtype(dtype):
        kind = "time"
    else:
        kind = "text"
    return _PandasColumn(name, values, kind)


def _is_of_numpy(values: Any) -> bool:
    return type(values.dtype).__module__.startswith("numpy")


def _of_polars(value: Any) -> _Table | None:
    polars = sys.modules.get("polars")
    if polars is None or not hasattr(polars, "DataFrame"):
        return None
    if issubclass(type(value), polars.Series):
        every = [value]
    elif issubclass(type(value), polars.DataFrame):
        every = value.get_columns()
    else:
        return None
    columns = [_Column(one.name, one, _kind_in_polars(one.dtype)) for one in every[:MAX_COLUMNS]]
    count = len(every[0]) if every else 0
    return _Table(count, columns, max(0, len(every) - MAX_COLUMNS))


def _of_numpy(expression: str, value: Any) -> _Table | None:
    numpy = sys.modules.get("numpy")
    if numpy is None or not issubclass(type(value), getattr(numpy, "ndarray", ())):
        return None
    # The plain class, because a subclass may have other methods.
    is_masked = issubclass(type(value), numpy.ma.MaskedArray)
    value = numpy.ndarray.view(value, numpy.ma.MaskedArray if is_masked else numpy.ndarray)
    if value.ndim not in (1, 2):
        how = f"choose a part of it, such as `{expression}[0]`" if value.ndim else "print it"
        raise Refused(f"`{expression}` is an array of {value.ndim} dimensions", how)
    numbers_ = _NumpyColumn(None, numpy.arange(value.shape[0]), "number")
    numbers_.is_index = numbers_.is_counted = True
    if value.ndim == 1:
        names = value.dtype.names or ("value",)
        every = [value[name] for name in names] if value.dtype.names else [value]
    else:
        names = [str(at) for at in range(value.shape[1])]
        every = [value[:, at] for at in range(min(value.shape[1], MAX_COLUMNS))]
    columns: list[_Column] = [numbers_]
    columns += [
        _NumpyColumn(name, one, _kind_in_numpy(one))
        for name, one in zip(names, every[: MAX_COLUMNS - 1], strict=False)
    ]
    return _Table(value.shape[0], columns, len(names) - len(columns) + 1)


def _kind_in_numpy(values: Any) -> str:
    if values.ndim != 1 or values.dtype.names:
        return "text"
    kinds = {"b": "bool", "i": "number", "u": "number", "f": "number", "m": "time", "M": "time"}
    return kinds.get(values.dtype.kind, "text")


def _kind_in_polars(dtype: Any) -> str:
    if dtype.is_numeric():
        return "number"
    if dtype.is_temporal():
        return "time"
    return "bool" if str(dtype) == "Boolean" else "text"


# -- arrays of numpy -------------------------------------------------------------------------------


def _sorted_by_array(rows: Sequence[int], keys: Any, is_descending: bool) -> Sequence[int]:
    numpy = sys.modules["numpy"]
    positions = numpy.asarray(rows)
    # NaN and NaT are the only values that differ from themselves.
    is_missing = keys != keys
    present, missing = positions[~is_missing], positions[is_missing]
    keys = keys[~is_missing]
    if is_descending:
        # Reversed twice, so that equal rows keep their order.
        order = len(keys) - 1 - numpy.argsort(keys[::-1], kind="stable")[::-1]
    else:
        order = numpy.argsort(keys, kind="stable")
    found: Sequence[int] = numpy.concatenate([present[order], missing])
    return found


def _matching_in_array(
    column: _Column, rows: Sequence[int], keys: Any, how: str, text: str
) -> Sequence[int]:
    positions = sys.modules["numpy"].asarray(rows)
    is_missing = keys != keys
    if how in ("missing", "present"):
        found: Sequence[int] = positions[is_missing if how == "missing" else ~is_missing]
        return found
    wanted = column.parsed(text)
    column._needs(wanted, text)
    found = positions[_COMPARISONS[how](keys, wanted)]
    return found


def _histogram_of_array(array: Any) -> dict[str, Any]:
    numpy = sys.modules["numpy"]
    is_time = array.dtype.kind in "mM"
    present = array[array == array] if is_time else array[numpy.isfinite(array)]
    missing = int((array != array).sum())
    if not len(present):
        return {"distinct": 0, "frequent": [], "missing": missing}
    low, high = present.min(), present.max()

    def as_floats(some: Any) -> list[float]:
        floats: list[float] = (some.astype("int64") if is_time else some).astype("float64").tolist()
        return floats

    left, right = as_floats(numpy.array([low, high]))
    bars = _bars(as_floats(_sampled(present)), left, right)
    if is_time:
        # A time of numpy as text: 2024-01-05T10:30:00.000000
        unit = "timedelta64[s]" if array.dtype.kind == "m" else "datetime64[s]"
        texts = [str(one.astype(unit)).replace("T00:00:00", "") for one in (low, high)]
        low, high = (text.replace("T", " ") for text in texts)
        return {"bars": bars, "low": low, "high": high, "missing": missing}
    low_text, high_text = (_text(one.item(), False) for one in (low, high))
    return {"bars": bars, "low": low_text, "high": high_text, "missing": missing}


# -- values ----------------------------------------------------------------------------------------


def _text(value: Any, is_exact: bool) -> str | None:
    """The text of a value. Numbers of the grid are rounded, but not those of CSV and TSV."""
    if value is None:
        return None
    if module_of(type(value)) == "numpy" and hasattr(value, "item"):
        value = value.item()
    kind = type(value)
    if kind is float and not is_exact:
        return _rounded(value)
    if kind is str:
        text = value
    elif kind in (int, float, bool) or isinstance(value, decimal.Decimal) or _is_time(value):
        text = str(value)
    else:
        try:
            text = short_repr(value, REPR_SECONDS, MAX_EXACT_CHARACTERS)
        except BaseException as error:  # a hostile __repr__ may raise anything
            text = f"<repr failed: {name_of(type(error))}>"
    return short(text, MAX_EXACT_CHARACTERS if is_exact else MAX_CELL_CHARACTERS)


def _is_time(value: Any) -> bool:
    module = module_of(type(value))
    return module in ("datetime", "pandas") or module.startswith("pandas.")


def _rounded(value: float) -> str:
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-4 or not math.isfinite(value):
        return f"{value:.6g}"
    text = f"{value:.6f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def _name(name: Any) -> str:
    if name is None:
        return ""
    if type(name) is tuple:
        return short(", ".join(_name(part) for part in name), MAX_NAME_CHARACTERS)
    return _text(name if type(name) is not str else name[:MAX_NAME_CHARACTERS], False) or ""


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text.replace("_", "").replace(",", ""))
        except ValueError:
            pass
    return None


def _is_real(value: Any) -> bool:
    return isinstance(value, (numbers.Real, decimal.Decimal)) and not isinstance(value, bool)


def _mixed_key(value: Any) -> tuple[bool, Any, str, str]:
    """Numbers come first, then the other types by name."""
    is_real = _is_real(value)
    text = "" if is_real else _text(value, False) or ""
    return (not is_real, value if is_real else 0, name_of(type(value)), text)


def _test(how: str, text: str) -> _Test:
    if how == "missing":
        return lambda value: value is None
    if how == "present":
        return lambda value: value is not None
    if how == "contains":
        needle = text.casefold()
        return lambda value: value is not None and needle in (_text(value, True) or "").casefold()
    compare, number = _COMPARISONS[how], _number(text)

    def test(value: Any) -> bool:
        if value is None:
            return how == "unequal"
        if type(value) is bool:
            return bool(compare(str(value).lower(), text.lower()))
        if number is not None and _is_real(value):
            return bool(compare(value, number))
        return bool(compare(_text(value, True), text))

    return test


# -- summaries -------------------------------------------------------------------------------------


def _summaries(table: _Table, rows: Sequence[int]) -> dict[str, Any]:
    deadline = time.monotonic() + SUMMARY_SECONDS
    columns: list[dict[str, Any] | None] = []
    for one in table.columns:
        is_wanted = not one.is_counted and time.monotonic() < deadline
        columns.append(one.summary(rows) if is_wanted else None)
    return {"columns": columns, "sampled": len(_sampled(rows)) if len(rows) > MAX_SAMPLE else None}


def _sampled(rows: Sequence[int]) -> Sequence[int]:
    return rows[:: max(1, math.ceil(len(rows) / MAX_SAMPLE))]


def _bars(values: list[float], low: float, high: float) -> list[int]:
    bars = [0] * BARS
    # Divided first, because the range of the largest numbers has no finite length.
    width = high / BARS - low / BARS
    for value in values:
        at = int(value / width - low / width) if width else 0
        bars[min(at, BARS - 1)] += 1
    return bars
