"""Writes objects that pickle would change as persistent ids: floats that are no number, sets, and
objects that belong to a module (named_objects.py, imported_objects.py).

Code tests `value is nan`, `nan in values` or `d[nan]`, which depend on the identity of the float.
pickle makes a new float of each reference. For small sets see set_order.py. Large ones of numbers
or texts are written as one piece, because pickle takes seconds for millions of items.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from . import imported_objects, named_objects, packing, set_order
from ._native import PickleWatch
from .rebuilding import Filled, import_module, make_set_of_piece

# The modules whose NaN has the id -1, -2 and so on.
_MODULES = ("math", "cmath", "numpy")


class PersistentIds:
    """Gives ids. They are valid for all records of a checkpoint. `keep_buffer` stores bytes and
    returns the number of the buffer."""

    def __init__(self, keep_buffer: Callable[[bytes], int]) -> None:
        self.keep_buffer = keep_buffer
        # The number of each NaN, by its address. The floats are kept, so that no other object gets
        # the address.
        self.numbers: dict[int, tuple[int, float]] = {}
        for number, name in enumerate(_MODULES, 1):
            # A cell may have put anything there: None prevents an import.
            nan = getattr(sys.modules.get(name), "nan", None)
            if type(nan) is float:
                self.numbers.setdefault(id(nan), (-number, nan))
        self.sets: dict[int, tuple[set[Any], _Made | None]] = {}
        # The attribute `persistent_id` of the pickler. It is called for every object that is
        # pickled, so it is written in Rust and calls Python only for the few that matter.
        known = [*named_objects.known(), *imported_objects.known()]
        self.of = PickleWatch(self._of, known).persistent_id

    def _of(self, value: Any) -> Any:
        return self._number(value) if type(value) is float else self._set(value)

    def _number(self, nan: float) -> int:
        # Odd numbers have a sign, as the result of `inf - inf` has.
        free = -2 * (len(self.numbers) + len(_MODULES)) - (math.copysign(1, nan) < 0)
        return self.numbers.setdefault(id(nan), (free, nan))[0]

    def _set(self, value: set[Any]) -> _Made | None:
        if id(value) not in self.sets:
            self.sets[id(value)] = (value, self._made(value))
        return self.sets[id(value)][1]

    def _made(self, value: set[Any]) -> _Made | None:
        if len(value) <= set_order.MAX_ITEMS:
            recipe = set_order.recipe(value)
            return _Made(set_order.make_set, recipe) if recipe else None
        packed = packing.pack(value)
        if packed is None:
            return None
        letter, count, data = packed
        filled = Filled(self.keep_buffer(data))
        return _Made(make_set_of_piece, (letter, count, len(data), filled))


class _Made:
    """Is pickled as what a function makes."""

    def __init__(self, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.reduced = make, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.reduced


class PersistentObjects:
    """Returns the objects of persistent ids."""

    def __init__(self) -> None:
        self.nans: dict[int, float] = {}

    def load(self, number: Any) -> Any:
        if type(number) is set:
            return number
        if type(number) is tuple:
            module, name = number
            return getattr(import_module(module), name)
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
