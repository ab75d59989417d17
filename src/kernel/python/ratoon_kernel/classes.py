"""Reads names and flags of classes without running code of a user's metaclass."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterator
from typing import Any

_NAME_OF = type.__dict__["__name__"].__get__
_MODULE_OF = type.__dict__["__module__"].__get__
_ATTRIBUTES_OF = type.__dict__["__dict__"].__get__
_FLAGS_OF = type.__dict__["__flags__"].__get__
# Py_TPFLAGS_HEAPTYPE
_MADE_AT_RUN_TIME = 1 << 9


def name_of(kind: type) -> str:
    name: str = _NAME_OF(kind)
    return name


def module_of(kind: type) -> str:
    """Returns the name of a class's module, or an empty text if the class has none."""
    module = _MODULE_OF(kind)
    return module if type(module) is str else ""


def is_made_at_run_time(kind: type) -> bool:
    """Whether a class was made by a class statement, or by C code while the program ran."""
    return bool(_FLAGS_OF(kind) & _MADE_AT_RUN_TIME)


def base_in_c(kind: type) -> Any:
    """Returns the nearest class of which `__new__` is written in C."""
    return next(one for one in kind.__mro__ if not isinstance(one.__new__, types.FunctionType))


def static_base(kind: type) -> Any:
    """Returns the nearest class that was not made at run time."""
    return next(one for one in kind.__mro__ if not is_made_at_run_time(one))


def is_reduced_as(kind: Any, base: Any) -> bool:
    """Whether pickle reduces the objects of a class by the methods of `base`."""
    return kind.__reduce_ex__ is base.__reduce_ex__ and kind.__reduce__ is base.__reduce__


def class_with_attributes(attributes: Any) -> type | None:
    """Returns the class whose attributes are in this very dictionary, if there is one."""
    if type(attributes) is not dict or "__doc__" not in attributes:
        return None
    for kind in _classes_near(attributes):
        if gc.get_referents(_ATTRIBUTES_OF(kind))[0] is attributes:
            return kind
    return None


_DESCRIPTORS = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)


def _classes_near(attributes: dict[str, Any]) -> Iterator[type]:
    # The garbage collector does not know classes that are written in C.
    for value in attributes.values():
        if type(value) in _DESCRIPTORS:
            yield value.__objclass__
    for one in gc.get_referrers(attributes):
        if isinstance(one, type):
            yield one
