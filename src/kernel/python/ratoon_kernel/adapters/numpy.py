"""Handles arrays and scalars of numpy, its global random generator, and its settings."""

from __future__ import annotations

import array
import functools
import math
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import pickling, rebuilding
from ..adapter import Adapter, Columns, Reduce, Reduced, Setting, Unknown
from ..classes import is_reduced_as
from ..data_form import ARRAY, LARGE_BYTES, MAX_COUNT, SCALAR, Malformed, NotPlain

if TYPE_CHECKING:
    from ..data_decoder import Decoder
    from ..data_encoder import Encoder
    from ..fingerprint import Reader
    from ..pickling import Reducers

# Maximum size of an array whose summary has minimum, maximum and mean.
MAX_SUMMARY_BYTES = 64 * 1024 * 1024
# Maximum number of items of an object array that has a fingerprint.
MAX_OBJECTS = 5_000_000
# Maximum number of items of an object array whose nulls are counted.
MAX_NULLS_COUNTED = 1_000_000
MAX_DIMENSIONS = 32
MAX_DTYPE_DEPTH = 20


def loaded() -> Any:
    return sys.modules["numpy"]


# -- environment form ------------------------------------------------------------------------------


class OwnArray:
    """Wraps an array to be pickled. The loaded array shares its memory with no other array."""

    def __init__(self, array: Any) -> None:
        self.array = array


def is_plain_array(kind: type) -> bool:
    """Whether arrays of a class are pickled by the methods of `numpy.ndarray`."""
    return is_reduced_as(kind, loaded().ndarray)


def _reduce_array(pickler: Reducers, value: Any) -> Reduced:
    numpy, kind = loaded(), type(value)
    if kind is numpy.memmap and value.mode != "c" and _is_mapped_file(value.base):
        mode = "r" if value.mode == "r" else "r+"
        layout = (value.dtype, mode, value.offset, value.shape, _order(value))
        return make_memmap, (str(value.filename), *layout)
    own = dict(vars(value)) if kind is not numpy.ndarray and hasattr(value, "__dict__") else {}
    if kind is numpy.memmap:
        kind, own = numpy.ndarray, {}
    root = _root(value)
    if root is not None:
        at = _address(value) - _address(root)
        layout = (value.shape, value.strides, at, value.dtype, value.flags.writeable)
        return make_view, (root, kind, *layout), own or None, None, None, rebuilding.set_dict
    memory = _memory_below(value)
    if memory is not None:
        whole, at = memory
        layout = (value.shape, value.strides, at, value.dtype, value.flags.writeable)
        return make_array_over, (whole, kind, *layout), own or None, None, None, rebuilding.set_dict
    return _reduce_whole(pickler, value, kind, own)


def _reduce_own(pickler: Reducers, value: OwnArray) -> Reduced:
    return _reduce_whole(pickler, value.array, type(value.array), {})


def _reduce_whole(pickler: Reducers, value: Any, kind: type, own: dict[str, Any]) -> Reduced:
    """Reduces an array with its own memory."""
    order, set_dict = _order(value), rebuilding.set_dict
    layout = (value.shape, value.dtype, order, kind, value.flags.writeable)
    if value.dtype.hasobject:
        flat = value.ravel(order=order)
        state = (list(flat) if value.dtype == object else flat.tolist(), own, value.flags.writeable)
        return make_object_array, layout, state, None, None, set_object_array
    if value.nbytes < pickling.LARGE_BYTES:
        return make_array, (value.tobytes(order), *layout), own or None, None, None, set_dict
    kept = rebuilding.Filled(pickler.keep_buffer(_bytes(value)))
    return make_large_array, (kept, *layout), own or None, None, None, set_dict


def _is_mapped_file(memory: Any) -> bool:
    import mmap

    return isinstance(memory, mmap.mmap)


def _order(value: Any) -> str:
    return "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"


def _bytes(value: Any) -> Any:
    """Returns the bytes of an array's items, in the order of the array's memory layout."""
    numpy = loaded()
    return numpy.asarray(value).ravel(order=_order(value)).view(numpy.uint8)


def _address(value: Any) -> int:
    address: int = value.__array_interface__["data"][0]
    return address


def _root(value: Any) -> Any:
    """Returns the array that owns the memory of a view. Returns None if the given array must be
    saved with its own memory."""
    root = value
    while (below := _array_below(root)) is not None:
        root = below
    if root is value or value.dtype.hasobject != root.dtype.hasobject:
        return None
    if not (root.flags.c_contiguous or root.flags.f_contiguous):
        return None
    kind = type(root)
    if not (is_plain_array(kind) or _is_plain_masked(kind)):
        return None
    if kind is loaded().memmap and root.mode == "c":
        return None
    if value.dtype.hasobject and value.dtype != root.dtype:
        return None
    low, high = _span(value)
    start = _address(value) - _address(root)
    return None if value.size == 0 or start + low < 0 or start + high > root.nbytes else root


def _array_below(value: Any) -> Any:
    """Returns the array of which another one is a view, or None."""
    below = value.base
    if type(below).__name__ == "DummyArray":  # what `as_strided` puts between them
        below = below.base
    return below if isinstance(below, loaded().ndarray) else None


def _span(value: Any) -> tuple[int, int]:
    """Returns where the memory of an array begins and ends, relative to its first item."""
    steps = [(n - 1) * stride for n, stride in zip(value.shape, value.strides) if n]
    low = sum(min(0, step) for step in steps)
    return low, sum(max(0, step) for step in steps) + value.itemsize


def _memory_below(value: Any) -> tuple[Any, int] | None:
    """If an array uses the memory of a bytearray or an array.array, returns this object and the
    offset of the array in its memory."""
    numpy, below = loaded(), value.base
    while isinstance(below, memoryview):
        below = below.obj
    if type(below) not in (bytearray, array.array) or not value.size or value.dtype.hasobject:
        return None
    return below, _address(value) - _address(numpy.frombuffer(below, numpy.uint8))


def _is_plain_masked(kind: type) -> bool:
    """Whether arrays of a class are pickled by the methods of `numpy.ma.MaskedArray`."""
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return masked is not None and issubclass(kind, masked) and is_reduced_as(kind, masked)


def _reduce_masked(value: Any) -> Reduced:
    """Reduces a masked array so that it shares its memory with the same arrays as before."""
    numpy = loaded()
    plain = numpy.ndarray.view(value, numpy.ndarray)
    data = OwnArray(plain) if _root(value) is None else plain
    return make_masked, (type(value), data), dict(vars(value)), None, None, rebuilding.set_dict


def _reduce_random(value: Any) -> Reduced:
    legacy = loaded().random.mtrand
    return (getattr, (legacy, "_rand")) if value is legacy._rand else NotImplemented


# Checkpoints refer to the functions from here to the next dashed line by module and name: do not
# move or rename them.


def make_memmap(
    filename: str, dtype: Any, mode: Any, offset: int, shape: tuple[int, ...], order: Any
) -> Any:
    import numpy

    return numpy.memmap(filename, dtype=dtype, mode=mode, offset=offset, shape=shape, order=order)


def make_view(
    root: Any,
    kind: type,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    at: int,
    dtype: Any,
    writeable: bool,
) -> Any:
    import numpy

    plain = numpy.asarray(root)
    if dtype.hasobject:
        # The view and the root have the same dtype and differ only in their layout.
        plain = plain.reshape(-1, order="A")
    return _finish(numpy.ndarray(shape, dtype, plain, at, strides), kind, writeable)


def make_masked(kind: type, data: Any) -> Any:
    return data.view(kind)


def make_array_over(
    memory: Any,
    kind: type,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    at: int,
    dtype: Any,
    writeable: bool,
) -> Any:
    import numpy

    return _finish(numpy.ndarray(shape, dtype, memory, at, strides), kind, writeable)


def make_array(
    data: bytes, shape: tuple[int, ...], dtype: Any, order: Any, kind: type, writeable: bool
) -> Any:
    import numpy

    made = numpy.empty(shape, dtype, order)
    if data:
        flat = made.reshape(-1, order=order).view(numpy.uint8)
        flat[:] = numpy.frombuffer(data, numpy.uint8)
    return _finish(made, kind, writeable)


def make_large_array(
    fill: Any, shape: tuple[int, ...], dtype: Any, order: Any, kind: type, writeable: bool
) -> Any:
    import numpy

    # Memory that numpy allocates can be resized. numpy also requests huge pages for it, so a fork
    # copies fewer page table entries.
    made = numpy.empty(shape, dtype, order)
    fill(made.reshape(-1, order=order).view(numpy.uint8))
    return _finish(made, kind, writeable)


def make_object_array(
    shape: tuple[int, ...], dtype: Any, order: Any, kind: type, writeable: bool
) -> Any:
    import numpy

    return _finish(numpy.empty(shape, dtype, order), kind, True)


def set_object_array(made: Any, state: tuple[Sequence[Any], dict[str, Any], bool]) -> None:
    import numpy

    items, own, writeable = state
    plain = numpy.asarray(made)
    flat = plain.reshape(-1, order=_order(plain))
    for number, item in enumerate(items):
        flat[number] = item
    if own:
        vars(made).update(own)
    if not writeable:
        made.flags.writeable = False


# --------------------------------------------------------------------------------------------------


def _finish(made: Any, kind: type, writeable: bool) -> Any:
    import numpy

    if kind is not numpy.ndarray:
        made = made.view(kind)
    if not writeable:
        made.flags.writeable = False
    return made


# -- data form -------------------------------------------------------------------------------------


def describe_dtype(dtype: Any) -> Any:
    """Returns a description of a dtype: text, ["sub", description, shape], or ["record", size, list
    of [name, description, offset]]."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return ["sub", describe_dtype(base), list(map(int, shape))]
    if dtype.names is None:
        return dtype.str
    fields = [(name, *dtype.fields[name][:2]) for name in dtype.names]
    described = [[name, describe_dtype(inner), int(offset)] for name, inner, offset in fields]
    return ["record", int(dtype.itemsize), described]


def _encode_array(encoder: Encoder, value: Any, depth: int) -> None:
    if value.dtype.hasobject:
        raise NotPlain("an array of objects")
    low, high = _span(value)
    if value.nbytes > LARGE_BYTES and value.nbytes > high - low:
        raise NotPlain("an array that contains the same memory many times")
    if not encoder.begins(value):
        return
    encoder.mark(ARRAY)
    flat = _bytes(value) if value.size else b""
    encoder.list_of(4)
    encoder.value(describe_dtype(value.dtype), depth + 1)
    encoder.plain(list(map(int, value.shape)))
    encoder.plain(_order(value))
    if value.nbytes >= LARGE_BYTES:
        encoder.plain([value.nbytes, encoder.keep(flat)])
    else:
        encoder.plain(bytes(flat))


def _decode_array(decoder: Decoder, depth: int) -> Any:
    numpy = decoder.library("numpy")
    place = decoder.reserve()
    if decoder.count() != 4:
        raise Malformed
    dtype = to_dtype(numpy, decoder.value(depth))
    shape = tuple(decoder.list_of(int))
    order = decoder.of(str)
    if order not in ("C", "F") or any(n < 0 for n in shape) or len(shape) > MAX_DIMENSIONS:
        raise Malformed
    need = math.prod(shape) * dtype.itemsize
    if not need and math.prod(shape) > MAX_COUNT:
        raise Malformed
    if decoder.next_is(b"\xc6"):
        data = decoder.of(bytes)
        if len(data) != need:
            raise Malformed
        made = make_array(data, shape, dtype, order, numpy.ndarray, True)
    else:
        count, number = decoder.own(int, int)
        decoder.check_kept(count, number)
        if count != need or not need:
            raise Malformed
        made = numpy.empty(shape, dtype, order)
        decoder.fill(number, made.reshape(-1, order=order).view(numpy.uint8))
    decoder.objects[place] = made
    return made


def _decode_scalar(decoder: Decoder, depth: int) -> Any:
    numpy = decoder.library("numpy")
    words, data = decoder.value(depth + 1)
    dtype = to_dtype(numpy, words)
    if type(data) is not bytes or len(data) != dtype.itemsize:
        raise Malformed
    return numpy.frombuffer(data, dtype)[0] if data else numpy.zeros((), dtype)[()]


def to_dtype(numpy: Any, words: Any, depth: int = 0) -> Any:
    """Returns the dtype for a description that `describe_dtype` has made."""
    if depth > MAX_DTYPE_DEPTH:
        raise Malformed
    if type(words) is str:
        dtype = numpy.dtype(words)
        if dtype.names is not None or dtype.subdtype is not None:
            raise Malformed
    elif words[0] == "sub":
        shape = tuple(words[2])
        if any(type(n) is not int or not 0 <= n < 2**31 for n in shape):
            raise Malformed
        if math.prod(shape) > 2**40:
            raise Malformed
        dtype = numpy.dtype((to_dtype(numpy, words[1], depth + 1), shape))
    elif words[0] == "record":
        _, size, fields = words
        parts: dict[str, Any] = {"names": [], "formats": [], "offsets": [], "itemsize": size}
        for name, inner, offset in fields:
            parts["names"].append(name)
            parts["formats"].append(to_dtype(numpy, inner, depth + 1))
            parts["offsets"].append(offset)
        dtype = numpy.dtype(parts)
    else:
        raise Malformed
    if dtype.hasobject:
        raise Malformed
    return dtype


# -- fingerprint and summary -----------------------------------------------------------------------


def read_array(reader: Reader, value: Any, depth: int) -> None:
    """Feeds an array to the reader of a fingerprint."""
    numpy, dtype = loaded(), value.dtype
    if dtype.hasobject:
        # Counts all items, because a broadcast array repeats an item without using more memory.
        if dtype.kind != "O" or value.size > MAX_OBJECTS:
            raise Unknown
        reader.put(b"objects", repr(value.shape).encode())
        reader.sequence(value.ravel().tolist(), depth + 1)
        return
    reader.put(b"array", f"{dtype.descr} {value.shape}".encode())
    if value.nbytes == 0:
        return
    if not value.flags.c_contiguous:
        if value.nbytes <= reader.room:
            value = numpy.ascontiguousarray(value)
        elif value.flags.f_contiguous:
            reader.put(b"by columns")
            value = value.T
        else:
            raise Unknown
    flat = numpy.asarray(value).reshape(-1).view(numpy.uint8)
    reader.memory(b"items", memoryview(flat))


def statistics(values: Any, deadline: float) -> dict[str, Any]:
    """Returns the minimum, maximum, mean and number of nulls of an array. Omits those that are not
    defined for its dtype or take too long."""
    numpy, kind = loaded(), values.dtype.kind
    too_late = time.process_time() > deadline
    if values.size == 0 or values.nbytes > MAX_SUMMARY_BYTES or too_late:
        return {}
    if kind == "O":
        items = values.ravel().tolist() if values.size <= MAX_NULLS_COUNTED else []
        return {"nulls": sum(map(_is_null, items))} if items else {}
    if kind not in "biufmM":
        return {}
    is_missing = {"f": numpy.isnan, "m": numpy.isnat, "M": numpy.isnat}.get(kind)
    missing: Any = is_missing(values) if is_missing is not None else None
    nulls = int(missing.sum()) if missing is not None else 0
    if nulls:
        values = values[~missing]
    if values.size == 0:
        return {"nulls": nulls}
    found: dict[str, Any] = {
        "min": _number(values.min()),
        "max": _number(values.max()),
        "nulls": nulls,
    }
    if kind in "biuf":
        with numpy.errstate(all="ignore"):
            mean = float(values.mean(dtype=float))
        found["mean"] = mean if math.isfinite(mean) else None
    return found


def _is_null(item: Any) -> bool:
    return item is None or (type(item) is float and item != item)


def _number(value: Any) -> int | float | str:
    """Returns a scalar as a number that JSON can represent, or else as text."""
    if value.dtype.kind in "mM":
        return str(value)
    value = value.item()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, (int, float)) else str(value)


# -- settings --------------------------------------------------------------------------------------

_USUAL_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def _random_state() -> Any:
    numpy = sys.modules.get("numpy")
    if not numpy or "numpy.random" not in sys.modules:
        return None
    return numpy.random.get_state(legacy=False)


def _restore_random(state: Any) -> None:
    import numpy

    numpy.random.set_state(state)


def _error_handling() -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None or numpy.geterr() == _USUAL_ERRORS:
        return None
    return numpy.geterr()


def _restore_error_handling(handling: dict[str, Any]) -> None:
    import numpy

    numpy.seterr(**handling)


def _error_function() -> Any:
    numpy = sys.modules.get("numpy")
    return None if numpy is None else numpy.geterrcall()


def _restore_error_function(function: Any) -> None:
    import numpy

    numpy.seterrcall(function)


def _print_options() -> Any:
    numpy = sys.modules.get("numpy")
    return numpy.get_printoptions() if numpy else None


def _restore_print_options(options: dict[str, Any]) -> None:
    import numpy

    if options != numpy.get_printoptions():
        options.pop("override_repr", None)
        numpy.set_printoptions(**options)


class Numpy(Adapter):
    library = "numpy"
    loses_nothing = True
    has_own_repr = True
    types = {OwnArray: _reduce_own}
    decoders = {ARRAY: _decode_array, SCALAR: _decode_scalar}
    settings = {
        "numpy.random": Setting(_random_state, _restore_random),
        "numpy.errors": Setting(_error_handling, _restore_error_handling),
        "numpy.error function": Setting(_error_function, _restore_error_function),
        "numpy.print": Setting(_print_options, _restore_print_options),
    }

    def reducer(self, pickler: Reducers, kind: type) -> Reduce | None:
        if issubclass(kind, loaded().ndarray) and is_plain_array(kind):
            return functools.partial(_reduce_array, pickler)
        masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
        if _is_plain_masked(kind):
            return _reduce_masked
        if masked is not None and issubclass(kind, masked):
            return pickling.reduce_with_attributes
        if kind.__module__ == "numpy.random.mtrand" and kind.__name__ == "RandomState":
            return _reduce_random
        return None

    def encode(self, encoder: Encoder, value: Any, depth: int) -> bool:
        numpy = loaded()
        if type(value) in (numpy.ndarray, numpy.memmap):
            _encode_array(encoder, value, depth)
            return True
        if not isinstance(value, numpy.generic) or value.dtype.hasobject:
            return False
        encoder.mark(SCALAR)
        encoder.value([describe_dtype(value.dtype), numpy.asarray(value).tobytes()], depth)
        return True

    def fingerprint(self, reader: Reader, value: Any, depth: int) -> bool:
        numpy, kind = loaded(), type(value)
        if kind is numpy.ndarray or kind is numpy.memmap:
            read_array(reader, value, depth)
        elif issubclass(kind, numpy.generic):
            reader.put(b"scalar")
            read_array(reader, numpy.asarray(value), depth)
        elif issubclass(kind, numpy.dtype):
            reader.put(b"dtype", repr(value.descr).encode())
        elif kind is numpy.ufunc:
            reader.put(b"ufunc", value.__name__.encode())
        else:
            raise Unknown
        return True

    def size_in_bytes(self, value: Any) -> int | None:
        return int(value.nbytes) if type(value).__name__ in ("ndarray", "memmap") else None

    def summary(self, value: Any, columns: Columns, deadline: float) -> dict[str, Any] | None:
        if type(value).__name__ not in ("ndarray", "memmap"):
            return None
        shape = list(map(int, value.shape))
        found = {"kind": "array", "shape": shape, "dtype": str(value.dtype)}
        return {**found, **statistics(value, deadline)}
