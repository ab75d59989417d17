"""Saves and restores the types of ctypes: those of arrays and pointers, which have no name in a
module, and the structures and unions that cells define."""

from __future__ import annotations

import ctypes
import operator
from typing import TYPE_CHECKING, Any

from ..adapter import Adapter, Reduced

if TYPE_CHECKING:
    from ..pickling import Reducers


def _reduce_array_type(pickler: Reducers, kind: Any) -> Reduced:
    # ctypes makes each of these types once.
    if hasattr(kind, "_length_") and kind._type_ * kind._length_ is kind:
        return operator.mul, (kind._type_, kind._length_)
    return pickler._class(kind)


def _reduce_pointer_type(pickler: Reducers, kind: Any) -> Reduced:
    if hasattr(kind, "_type_") and ctypes.POINTER(kind._type_) is kind:
        return ctypes.POINTER, (kind._type_,)
    return pickler._class(kind)


class _Sample(ctypes.Structure):
    _fields_ = [("field", ctypes.c_int)]


_FIELD = type(vars(_Sample)["field"])


def _reduce_fields(pickler: Reducers, kind: Any) -> Reduced:
    reduced = pickler._class(kind)
    if type(reduced) is not tuple or len(reduced) != 6:
        return reduced
    make, arguments, (own, *more), *others = reduced
    attributes = {name: one for name, one in own.items() if type(one) is not _FIELD}
    # Setting `_fields_` creates the fields with the options set so far, so it must come last.
    if "_fields_" in attributes:
        attributes["_fields_"] = attributes.pop("_fields_")
    return make, arguments, (attributes, *more), *others


class Ctypes(Adapter):
    library = "ctypes"
    types = {
        type(ctypes.c_int * 1): _reduce_array_type,
        type(ctypes.POINTER(ctypes.c_int)): _reduce_pointer_type,
        type(ctypes.Structure): _reduce_fields,
        type(ctypes.Union): _reduce_fields,
    }
