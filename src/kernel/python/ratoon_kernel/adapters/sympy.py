"""Saves and restores what `sympy.init_printing` changes beside IPython's printers."""

from __future__ import annotations

import sys
from typing import Any

from ..adapter import Adapter, Change, Setting

# The methods of all objects that sympy prints, and the function that each is at first.
_METHODS = {
    "_repr_latex_": "Printable._repr_latex_",
    "_repr_png_": "Printable._repr_disabled",
    "_repr_svg_": "Printable._repr_disabled",
}


def _printable() -> Any:
    module = sys.modules.get("sympy.core._print_helpers")
    return getattr(module, "Printable", object)


def _changed_methods() -> dict[str, tuple[Any, ...]]:
    of_class = vars(_printable())
    return {
        f"sympy.Basic.{name}": (name, of_class[name])
        for name, usual in _METHODS.items()
        if getattr(of_class.get(name), "__qualname__", usual) != usual
    }


def _restore_method(name: str, method: Any) -> None:
    setattr(_printable(), name, method)


def _printer() -> Any:
    return getattr(sys.modules.get("sympy.printing.printer"), "Printer", None)


def _options() -> dict[str, Any] | None:
    options: dict[str, Any] | None = getattr(_printer(), "_global_settings", None)
    return dict(options) if options else None


def _restore_options(options: dict[str, Any]) -> None:
    _printer().set_global_settings(**options)


class Sympy(Adapter):
    library = "sympy"
    named = (("sympy", "S"), ("sympy", "RR"), ("sympy", "CC"))
    changes = {"sympy methods": Change(_changed_methods, _restore_method)}
    settings = {"sympy printing": Setting(_options, _restore_options)}
