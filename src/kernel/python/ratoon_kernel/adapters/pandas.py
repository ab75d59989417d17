"""Handles frames, series and indexes of pandas, its options, and the accessors and dtypes that
cells have registered."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from .. import pickling, rebuilding
from ..adapter import Adapter, Change, Columns, Reduce, Reduced, Setting, Unknown, registry
from ..classes import module_of, name_of
from ..data_form import FRAME, INDEX, SERIES, Malformed, NotPlain
from . import frames, pyarrow
from . import numpy as arrays

if TYPE_CHECKING:
    from ..data_decoder import Decoder
    from ..data_encoder import Encoder
    from ..fingerprint import Reader
    from ..pickling import Reducers

# Maximum length of a column whose nulls are counted one by one.
MAX_NULLS_COUNTED = 1_000_000

# Names of pandas' classes of extension arrays: wrapped numpy arrays, times, and arrays with a mask.
_OF_NUMPY = ("PandasArray", "NumpyExtensionArray")
_OF_TIMES = ("DatetimeArray", "TimedeltaArray")
_MASKED = ("IntegerArray", "FloatingArray", "BooleanArray")
_SIZED = ("Series", "Index", "RangeIndex", "MultiIndex", "DatetimeIndex")


def loaded() -> Any:
    return sys.modules["pandas"]


# -- environment form ------------------------------------------------------------------------------


def _reduce_block(value: Any) -> Reduced:
    """Reduces a block of a frame. Several frames may share the array of a block until one of the
    frames is changed (copy-on-write). pandas tracks this sharing with weak references, which cannot
    be saved, so each block is saved with its own array.
    """
    reduced = value.__reduce_ex__(pickling.PROTOCOL)
    if _writes_through():
        return reduced
    values = value.values
    is_array = type(values) is sys.modules["numpy"].ndarray
    own = arrays.OwnArray(values) if is_array else values.copy()
    parts = tuple(own if part is values else part for part in reduced[1])
    return (reduced[0], parts, *reduced[2:])


def _writes_through() -> bool:
    """Whether a write to one frame can change another frame. True for pandas before 3 without
    copy-on-write."""
    pandas = loaded()
    try:
        is_old = int(pandas.__version__.split(".")[0]) < 3
        return is_old and not pandas.options.mode.copy_on_write
    except Exception:
        return False


# -- data form: writing ----------------------------------------------------------------------------


def _encode_frame(encoder: Encoder, value: Any, depth: int) -> None:
    if not encoder.begins(value):
        return
    is_series = type(value) is loaded().Series
    encoder.mark(SERIES if is_series else FRAME)
    encoder.list_of(3)
    _encode_index(encoder, value.index, depth + 1)
    if is_series:
        encoder.value(value.name, depth + 1)
    else:
        _encode_index(encoder, value.columns, depth + 1)
    blocks = value._mgr.blocks
    encoder.list_of(len(blocks))
    for block in blocks:
        encoder.list_of(2)
        encoder.plain([0] if is_series else [int(place) for place in block.mgr_locs])
        values = block.values
        if type(values).__name__ == "ndarray" and not values.dtype.hasobject:
            # Writes the memory of the whole block, so that both forms share one buffer.
            encoder.value(values, depth + 1)
            continue
        columns = list(values) if getattr(values, "ndim", 1) == 2 else [values]
        encoder.list_of(len(columns))
        for column in columns:
            _encode_column(encoder, column, depth + 2)


def _encode_column(encoder: Encoder, values: Any, depth: int) -> None:
    """Writes one column of any kind."""
    numpy = sys.modules["numpy"]
    if type(values) is numpy.ndarray and not values.dtype.hasobject:
        encoder.value(values, depth)
        return
    if type(values) is numpy.ndarray:
        _encode_named(encoder, ["objects"], values.tolist(), depth)
        return
    name = type(values).__name__
    if name == "Categorical":
        encoder.list_of(4)
        encoder.plain("categories")
        encoder.value(numpy.asarray(values.codes), depth)
        encoder.plain(bool(values.ordered))
        _encode_index(encoder, values.categories, depth)
    elif name in _OF_TIMES:
        zone = getattr(values, "tz", None)
        plain = numpy.asarray(values._ndarray)
        _encode_named(encoder, ["times", None if zone is None else str(zone)], plain, depth)
    else:
        items = values.to_numpy(object, na_value=None).tolist()
        _encode_named(encoder, ["as", str(values.dtype)], items, depth)


def _encode_named(encoder: Encoder, parts: list[Any], value: Any, depth: int) -> None:
    encoder.list_of(len(parts) + 1)
    for part in parts:
        encoder.plain(part)
    encoder.value(value, depth + 1)


def _encode_index(encoder: Encoder, value: Any, depth: int) -> None:
    pandas = loaded()
    encoder.mark(INDEX)
    if isinstance(value, pandas.MultiIndex):
        encoder.list_of(4)
        encoder.plain("levels")
        encoder.value(list(value.names), depth + 1)
        encoder.list_of(len(value.levels))
        for level in value.levels:
            _encode_index(encoder, level, depth + 1)
        codes = [sys.modules["numpy"].asarray(codes) for codes in value.codes]
        encoder.value(codes, depth + 1)
    elif isinstance(value, pandas.RangeIndex):
        encoder.list_of(3)
        encoder.plain("range")
        encoder.value(value.name, depth + 1)
        encoder.plain([value.start, value.stop, value.step])
    elif type(value) in (pandas.PeriodIndex, pandas.IntervalIndex):
        raise NotPlain("an index of periods")
    else:
        encoder.list_of(3)
        encoder.plain("column")
        encoder.value(value.name, depth + 1)
        items = value.array
        wraps_array = type(items).__name__ in _OF_NUMPY
        _encode_column(encoder, items._ndarray if wraps_array else items, depth + 1)


# -- data form: reading ----------------------------------------------------------------------------


def _decode_index(decoder: Decoder, depth: int) -> Any:
    pandas = decoder.library("pandas")
    count = decoder.count()
    kind = decoder.of(str)
    if kind == "range" and count == 3:
        name = decoder.value(depth + 1)
        return pandas.RangeIndex(*decoder.own(int, int, int), name=name)
    if kind == "levels" and count == 4:
        names = decoder.value(depth + 1)
        levels = [decoder.value(depth + 1) for _ in range(decoder.count())]
        return pandas.MultiIndex(levels=levels, codes=decoder.value(depth + 1), names=names)
    if kind == "column" and count == 3:
        name = decoder.value(depth + 1)
        return pandas.Index(_decode_column(decoder, depth + 1), name=name)
    raise Malformed


def _decode_column(decoder: Decoder, depth: int) -> Any:
    numpy, pandas = decoder.library("numpy"), decoder.library("pandas")
    if decoder.next_is(b"\x81"):
        value = decoder.value(depth)
        if type(value) is not numpy.ndarray:
            raise Malformed
        return value
    count = decoder.count()
    kind = decoder.of(str)
    if kind == "objects" and count == 2:
        items = decoder.value(depth + 1)
        made = numpy.empty(len(items), object)
        for number, item in enumerate(items):
            made[number] = item
        return made
    if kind == "categories" and count == 4:
        codes, ordered = decoder.value(depth + 1), decoder.of(bool)
        categories = decoder.value(depth + 1)
        return pandas.Categorical.from_codes(codes, categories, ordered=ordered)
    if kind == "times" and count == 3:
        zone = decoder.of((str, type(None)))
        times = pandas.Series(decoder.value(depth + 1))
        return (times if zone is None else times.dt.tz_localize("UTC").dt.tz_convert(zone)).array
    if kind == "as" and count == 3:
        dtype, items = decoder.of(str), decoder.value(depth + 1)
        return pandas.array(items, dtype=dtype)
    raise Malformed


def _decode_frame(decoder: Decoder, depth: int) -> Any:
    pandas = decoder.library("pandas")
    place = decoder.reserve()
    index, columns, found = _decode_parts(decoder, depth, is_series=False)
    made = pandas.DataFrame({at: found[at] for at in range(len(columns))}, index=index)
    made.columns = columns
    decoder.objects[place] = made
    return made


def _decode_series(decoder: Decoder, depth: int) -> Any:
    pandas = decoder.library("pandas")
    place = decoder.reserve()
    index, name, found = _decode_parts(decoder, depth, is_series=True)
    made = decoder.objects[place] = pandas.Series(found[0], index=index, name=name)
    return made


def _decode_parts(decoder: Decoder, depth: int, is_series: bool) -> tuple[Any, Any, dict[int, Any]]:
    """Reads the parts of a frame or a series. Returns the index, the columns (for a series: its
    name), and the values of the columns by position."""
    if decoder.count() != 3:
        raise Malformed
    index, columns = decoder.value(depth + 1), decoder.value(depth + 1)
    found: dict[int, Any] = {}
    for _ in range(decoder.count()):
        if decoder.count() != 2:
            raise Malformed
        places = decoder.list_of(int)
        if decoder.next_is(b"\x81"):
            values = decoder.value(depth + 1)
            values = [values] if is_series and values.ndim == 1 else list(values)
        else:
            values = [_decode_column(decoder, depth + 2) for _ in range(decoder.count())]
        # Each column must be as long as the index. Otherwise pandas could repeat a single value for
        # each item of the index, and an index can be huge although a file stores it in a few bytes.
        fits = all(one.ndim == 1 and len(one) == len(index) for one in values)
        if len(values) != len(places) or not fits:
            raise Malformed
        found.update(zip(places, values))
    return index, columns, found


# -- fingerprint -----------------------------------------------------------------------------------


def _read_frame(reader: Reader, value: Any, depth: int) -> None:
    count = value.shape[1]
    if count > frames.MAX_COLUMNS:
        raise Unknown
    reader.put(b"frame", repr(value.shape).encode())
    _read_index(reader, value.index, depth)
    _read_index(reader, value.columns, depth)
    columns = [value.iloc[:, at].array for at in range(count)]
    reader.each_column(columns, functools.partial(_read_column, reader, depth=depth))


def _read_index(reader: Reader, value: Any, depth: int) -> None:
    pandas, numpy = loaded(), sys.modules["numpy"]
    reader.value(list(value.names), depth + 1)
    if type(value) is pandas.RangeIndex:
        reader.put(b"range", f"{value.start} {value.stop} {value.step}".encode())
    elif type(value) is pandas.MultiIndex:
        reader.put(b"multi", str(value.nlevels).encode())
        for level, codes in zip(value.levels, value.codes):
            _read_index(reader, level, depth + 1)
            arrays.read_array(reader, numpy.asarray(codes), depth)
    else:
        _read_column(reader, value.array, depth)


def _read_column(reader: Reader, value: Any, depth: int) -> None:
    numpy, kind, dtype = sys.modules["numpy"], type(value), value.dtype
    adapter = registry.of_known_class(kind)
    is_pandas = adapter is not None and adapter.library == "pandas"
    if not is_pandas and not module_of(kind).startswith("pandas.core.arrays."):
        raise Unknown
    name = name_of(kind)
    zone = getattr(dtype, "tz", None)
    if zone is not None:
        reader.value(zone, depth + 1)
    if name in _OF_NUMPY:
        arrays.read_array(reader, value.to_numpy(), depth)
        return
    reader.put(b"column", f"{name} {dtype.name}".encode())
    if name == "Categorical":
        reader.put(b"ordered" if value.ordered else b"not ordered")
        _read_index(reader, value.categories, depth)
        arrays.read_array(reader, value.codes, depth)
    elif name in (*_OF_TIMES, "PeriodArray"):
        arrays.read_array(reader, value.asi8, depth)
    elif name in _MASKED:
        nothing = value._data.dtype.type(0)
        arrays.read_array(reader, numpy.where(value._mask, nothing, value._data), depth)
        arrays.read_array(reader, value._mask, depth)
    else:
        chunked = getattr(value, "_pa_array", None)
        if chunked is None or not pyarrow.read_column(reader, chunked.type, chunked.chunks):
            reader.sequence(value.to_numpy(dtype=object).tolist(), depth + 1)


# -- summary ---------------------------------------------------------------------------------------


def _statistics(column: Any, deadline: float) -> dict[str, Any]:
    values = column.array
    name = type(values).__name__
    if name in _OF_NUMPY:
        return arrays.statistics(values.to_numpy(), deadline)
    if name in _OF_TIMES:
        times = values.asi8.view(f"{values.dtype.kind}8[{values.unit}]")
        return arrays.statistics(times, deadline)
    if name in _MASKED:
        found = arrays.statistics(values._data[~values._mask], deadline)
        return {**found, "nulls": found.get("nulls", 0) + int(values._mask.sum())}
    if name == "Categorical":
        return {"nulls": int((values.codes < 0).sum())}
    return {"nulls": int(values.isna().sum())} if len(values) <= MAX_NULLS_COUNTED else {}


# -- options, accessors and dtypes -----------------------------------------------------------------


def _changed_options() -> dict[str, Any] | None:
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    config = pandas._config.config
    found = {}
    for key, option in config._registered_options.items():
        now = config._global_config
        for part in key.split("."):
            now = now[part]
        if now != option.defval:
            found[key] = now
    return found or None


def _restore_options(options: dict[str, Any]) -> None:
    import pandas

    for key, value in options.items():
        pandas.set_option(key, value)


def _accessors() -> dict[str, tuple[Any, ...]]:
    """Returns the accessors that cells have registered, by the name of each in pandas."""
    pandas = sys.modules.get("pandas")
    found = {}
    for kind in ("DataFrame", "Series", "Index") if pandas is not None else ():
        owner = getattr(pandas, kind)
        for name in owner._accessors:
            accessor = getattr(vars(owner).get(name), "_accessor", None)
            if getattr(accessor, "__module__", None) == "__main__":
                found[f"pandas.{kind}.{name}"] = (kind, name, accessor)
    return found


def _restore_accessor(kind: str, name: str, accessor: Any) -> None:
    extensions = rebuilding.import_module("pandas.api.extensions")
    getattr(extensions, f"register_{kind.lower()}_accessor")(name)(accessor)


def _dtypes() -> dict[str, tuple[Any, ...]]:
    """Returns the extension dtypes that cells have registered, by the code that registers each."""
    base = sys.modules.get("pandas.core.dtypes.base")
    known = base._registry.dtypes if base is not None else ()
    return {
        f"pandas.api.extensions.register_extension_dtype({kind.__qualname__})": (kind,)
        for kind in known
        if kind.__module__ == "__main__"
    }


def _restore_dtype(kind: type) -> None:
    rebuilding.import_module("pandas.api.extensions").register_extension_dtype(kind)


class Pandas(Adapter):
    library = "pandas"
    loses_nothing = True
    has_own_repr = True
    families = {
        ("pandas", "DataFrame"): pickling.reduce_with_attributes,
        ("pandas", "Series"): pickling.reduce_with_attributes,
        ("pandas.core.frame", "DataFrame"): pickling.reduce_with_attributes,
        ("pandas.core.series", "Series"): pickling.reduce_with_attributes,
    }
    decoders = {FRAME: _decode_frame, SERIES: _decode_series, INDEX: _decode_index}
    settings = {"pandas": Setting(_changed_options, _restore_options)}
    changes = {
        "accessor": Change(_accessors, _restore_accessor),
        "dtype": Change(_dtypes, _restore_dtype),
    }

    def reducer(self, pickler: Reducers, kind: type) -> Reduce | None:
        blocks = sys.modules.get("pandas.core.internals.blocks")
        return _reduce_block if blocks is not None and issubclass(kind, blocks.Block) else None

    def encode(self, encoder: Encoder, value: Any, depth: int) -> bool:
        pandas = loaded()
        if type(value) in (pandas.DataFrame, pandas.Series):
            _encode_frame(encoder, value, depth)
        elif isinstance(value, pandas.Index):
            _encode_index(encoder, value, depth)
        else:
            return False
        return True

    def fingerprint(self, reader: Reader, value: Any, depth: int) -> bool:
        pandas, kind = loaded(), type(value)
        if kind is pandas.DataFrame:
            _read_frame(reader, value, depth)
        elif kind is pandas.Series:
            reader.put(b"series")
            reader.value(value.name, depth + 1)
            _read_index(reader, value.index, depth)
            read = functools.partial(_read_column, reader, depth=depth)
            reader.each_column([value.array], read)
        elif issubclass(kind, pandas.Index):
            _read_index(reader, value, depth)
        elif issubclass(kind, pandas.api.extensions.ExtensionArray):
            _read_column(reader, value, depth)
        elif kind in (pandas.Timestamp, pandas.Timedelta):
            reader.put(kind.__name__.encode(), f"{value.value} {value.unit}".encode())
            reader.value(getattr(value, "tzinfo", None), depth + 1)
        elif value is pandas.NA or value is pandas.NaT:
            reader.put(kind.__name__.encode())
        else:
            raise Unknown
        return True

    def size_in_bytes(self, value: Any) -> int | None:
        name = type(value).__name__
        if name == "DataFrame":
            return int(value.memory_usage(index=True, deep=False).sum())
        return int(value.memory_usage(deep=False)) if name in _SIZED else None

    def summary(self, value: Any, columns: Columns, deadline: float) -> dict[str, Any] | None:
        name = type(value).__name__
        if name == "Series":
            return frames.summary(value, [(value.name, value)], columns, _statistics, deadline)
        if name != "DataFrame":
            return None
        count = min(value.shape[1], frames.MAX_SUMMARY_COLUMNS)
        named = [(value.columns[at], value.iloc[:, at]) for at in range(count)]
        return frames.summary(value, named, columns, _statistics, deadline)
