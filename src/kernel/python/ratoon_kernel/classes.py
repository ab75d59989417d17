"""Reads names and flags of classes without running code of a user's metaclass."""

from __future__ import annotations

_NAME_OF = type.__dict__["__name__"].__get__
_MODULE_OF = type.__dict__["__module__"].__get__
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
