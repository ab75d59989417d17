"""Writes objects that pickle would change as persistent ids: floats that are no number, and sets.

Code tests `value is nan`, `nan in values` or `d[nan]`, which depend on the identity of the float.
pickle makes a new float of each reference. For sets see set_order.py.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from . import set_order
from ._native import PickleWatch
from .rebuilding import import_module

# The modules whose NaN has the id -1, -2 and so on.
_MODULES = ("math", "cmath", "numpy")


class PersistentIds:
    """Gives ids. They are valid for all records of a checkpoint."""

    def __init__(self) -> None:
        # The number of each NaN, by its address. The floats are kept, so that no other object gets
        # the address.
        self.numbers: dict[int, tuple[int, float]] = {}
        for number, name in enumerate(_MODULES, 1):
            # A cell may have put anything there: None prevents an import.
            nan = getattr(sys.modules.get(name), "nan", None)
            if type(nan) is float:
                self.numbers.setdefault(id(nan), (-number, nan))
        self.sets: dict[int, tuple[set[Any], _InOrder | None]] = {}
        # The attribute `persistent_id` of the pickler. It is called for every object that is
        # pickled, so it is written in Rust and calls Python only for the few that matter.
        self.of = PickleWatch(self._of).persistent_id

    def _of(self, value: Any) -> Any:
        return self._number(value) if type(value) is float else self._set(value)

    def _number(self, nan: float) -> int:
        # Odd numbers have a sign, as the result of `inf - inf` has.
        free = -2 * (len(self.numbers) + len(_MODULES)) - (math.copysign(1, nan) < 0)
        return self.numbers.setdefault(id(nan), (free, nan))[0]

    def _set(self, value: set[Any]) -> _InOrder | None:
        if id(value) not in self.sets:
            recipe = set_order.recipe(value)
            self.sets[id(value)] = (value, recipe and _InOrder(recipe))
        return self.sets[id(value)][1]


class _InOrder:
    """Is pickled as a set with a given order."""

    def __init__(self, recipe: set_order.Recipe) -> None:
        self.recipe = recipe

    def __reduce__(self) -> tuple[Any, ...]:
        return set_order.make_set, self.recipe


class PersistentObjects:
    """Returns the objects of persistent ids."""

    def __init__(self) -> None:
        self.nans: dict[int, float] = {}

    def load(self, number: Any) -> Any:
        if type(number) is set:
            return number
        if number not in self.nans:
            self.nans[number] = _nan(number)
        return self.nans[number]


def _nan(number: int) -> float:
    if -number <= len(_MODULES):
        try:
            nan: float = import_module(_MODULES[-number - 1]).nan
            return nan
        except Exception:  # this environment has no numpy, and so no code that has its NaN
            return float("nan")
    return math.copysign(float("nan"), -1 if number % 2 else 1)
