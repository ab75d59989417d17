"""What a class is called, without asking its metaclass, which may be the user's."""

from __future__ import annotations

_NAME_OF = type.__dict__["__name__"].__get__
_MODULE_OF = type.__dict__["__module__"].__get__


def name_of(kind: type) -> str:
    name: str = _NAME_OF(kind)
    return name


def module_of(kind: type) -> str:
    """The name of a class's module; empty where the class says something else."""
    module = _MODULE_OF(kind)
    return module if type(module) is str else ""
