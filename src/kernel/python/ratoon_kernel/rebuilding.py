"""Functions that rebuild objects when a checkpoint is loaded.

Checkpoints refer to these functions by module and name. Do not move or rename them, and do not
change their parameters.
"""

from __future__ import annotations

import builtins
import collections
import ctypes
import functools
import sys
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import packing
from .classes import base_in_c
from .importable import is_importable

# The content that a checkpoint stores for an empty cell of a closure.
EMPTY = "<empty cell>"

# A function (number, memory) that fills memory with the checkpoint's buffer of this number.
Fill = Callable[[int, Any], None]


class LoadContext:
    """The parts of the checkpoint being loaded that the functions below need."""

    fill: Fill | None = None
    namespace: dict[str, Any] | None = None


loading = LoadContext()


class Filled:
    """Is pickled as a function that fills memory with the checkpoint's buffer `number`."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return fill_with, (self.number,)


def fill_with(number: int) -> Callable[[Any], None]:
    """Returns a function that fills memory with the checkpoint's buffer `number`."""
    if loading.fill is None:
        raise ValueError("no checkpoint is being loaded")
    return functools.partial(loading.fill, number)


def make_set_of_piece(letter: str, count: int, size: int, fill: Callable[[Any], None]) -> set[Any]:
    memory = bytearray(size)
    fill(memory)
    return set(packing.unpack(letter, count, memory))


# -- functions and classes -------------------------------------------------------------------------


def make_function(code: types.CodeType, home: Any, name: str, cells: Sequence[Any]) -> Any:
    globals = vars(home) if isinstance(home, types.ModuleType) else home
    if globals is not loading.namespace:
        globals.setdefault("__builtins__", builtins)
    return types.FunctionType(code, globals, name, None, tuple(cells) or None)


def set_function(function: Any, state: dict[str, Any]) -> None:
    for cell, content in zip(function.__closure__ or (), state["contents"]):
        if not (isinstance(content, str) and content == EMPTY):
            cell.cell_contents = content
    function.__defaults__ = state["defaults"]
    function.__kwdefaults__ = state["kwdefaults"]
    function.__module__ = state["module"]
    function.__qualname__ = state["qualname"]
    function.__doc__ = state["doc"]
    function.__annotations__ = state["annotations"]
    if "type_params" in state:
        function.__type_params__ = state["type_params"]
    vars(function).update(state["dict"])


def set_cell(cell: types.CellType, content: Any) -> None:
    cell.cell_contents = content


def make_class(
    make: Any,
    metaclass: Any,
    name: str,
    bases: tuple[type, ...],
    kwargs: dict[str, Any],
    tracker: Any,
    extra: Any,
) -> Any:
    """Makes a class as cloudpickle does, but does not call the user's metaclass nor
    `__init_subclass__` of the base classes, because both already ran when the class was defined.
    """
    put_back, unnamed = [], [type, *unnamed_types()]
    all_bases = (one for base in types.resolve_bases(bases) for one in base.__mro__)
    for base in dict.fromkeys(all_bases):
        own = vars(base).get("__init_subclass__")
        if base is object or own is None or base.__module__ in ("typing", "abc"):
            continue
        try:
            type.__setattr__(base, "__init_subclass__", _passed_on(base))
        except TypeError:  # written in C
            continue
        put_back.append((base, own))
    try:
        known = next(one for one in metaclass.__mro__ if one in unnamed or is_importable(one))
        if known is metaclass:
            return make(metaclass, name, bases, kwargs, tracker, extra)
        return _make_class_without(metaclass, known, name, bases, kwargs)
    finally:
        for base, own in put_back:
            type.__setattr__(base, "__init_subclass__", own)


def _passed_on(base: Any) -> Any:
    return classmethod(lambda cls, **_: super(base, cls).__init_subclass__())


def _make_class_without(
    metaclass: Any, known: Any, name: str, bases: tuple[type, ...], kwargs: dict[str, Any]
) -> Any:
    """Makes a class with a user's metaclass without calling that metaclass. Calls `known` instead,
    its nearest superclass that is not defined by the user."""
    resolved = types.resolve_bases(bases)
    namespace = known.__prepare__(name, resolved)
    namespace.update(kwargs)
    if resolved is not bases:
        namespace["__orig_bases__"] = bases
    made = known.__new__(metaclass, name, resolved, namespace)
    known.__init__(made, name, resolved, namespace)
    return made


def set_enum(made: Any, state: tuple[Any, Any, dict[str, dict[str, Any]]]) -> None:
    set_state, own, members = state
    set_state(made, own)
    by_value = made._value2member_map_
    for name, kept in members.items():
        member, then = made[name], made[name]._value_
        vars(member).update(kept)
        if member._value_ is not then and by_value.get(then) is member:
            del by_value[then]
            by_value[member._value_] = member


@functools.cache
def unnamed_types() -> list[type]:
    """The types of Python's iterators and views, and the metaclasses of ctypes, which no module
    names. Checkpoints contain their places in this list: append new types at the end."""
    ordered: Any = collections.OrderedDict()
    one: dict[Any, Any] = {}
    samples: list[Any] = [iter([]), iter(()), iter(set()), iter(range(0)), iter(range(1 << 99))]
    samples += [iter(""), iter("é"), iter(b""), iter(bytearray()), iter(int, 1), reversed([])]
    for of in (one, ordered):
        for view in (of.keys(), of.values(), of.items()):
            samples += [view, iter(view), reversed(view)]
    number = ctypes.c_int
    samples += [number, ctypes.Structure, ctypes.Union, number * 1, ctypes.POINTER(number)]
    samples.append(ctypes.CFUNCTYPE(number))
    return list(map(type, samples))


def make_unnamed_type(place: int) -> type:
    return unnamed_types()[place]


def make_without_new(base: Any, kind: Any, *arguments: Any) -> Any:
    """Makes an object as `base`, a class written in C, does. Its class's own `__new__` needs other
    arguments."""
    return base.__new__(kind, *arguments)


def make_as_base(base: Any, kind: Any, arguments: tuple[Any, ...]) -> Any:
    """Makes an object as `base`, a class of Python's library, does. Its class is defined in a cell
    and may need other arguments."""
    made = base.__new__(kind, *arguments)
    if base.__init__ is not object.__init__:
        base.__init__(made, *arguments)
    return made


def make_lru_cache(function: Any, maxsize: int | None, typed: bool) -> Any:
    return functools.lru_cache(maxsize, typed)(function)


def make_cached_property(kind: Any, function: Any) -> Any:
    return kind(function)


def make_parameter(kind: Any, name: str) -> Any:
    """Makes a ParamSpec or a TypeVarTuple that belongs to the notebook's module."""
    made = kind(name)
    made.__module__ = "__main__"
    return made


# -- modules ---------------------------------------------------------------------------------------


def import_module(name: str) -> types.ModuleType:
    __import__(name)
    return sys.modules[name]


def set_module(module: types.ModuleType, state: tuple[dict[str, Any], bool]) -> None:
    kept, is_known = state
    vars(module).update(kept)
    if is_known:
        sys.modules[module.__name__] = module


# -- objects ---------------------------------------------------------------------------------------


def fill_quietly(made: Any, kept: tuple[Any, Any]) -> None:
    """Sets the attributes and items of an object without calling methods of its class."""
    state, inside = kept
    own, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    if own:
        object.__getattribute__(made, "__dict__").update(own)
    for name, one in (slots or {}).items():
        object.__setattr__(made, name, one)
    if type(inside) is list:
        list.extend(made, inside)
    elif inside is not None:
        dict.update(made, inside)


def set_late(made: Any, state: tuple[None, Any]) -> None:
    """Sets the attributes that are loaded last. Loading `state` has set the others."""
    fill_quietly(made, (state[1], None))


def fill_as_base(made: Any, state: tuple[Any, Any, Any, Any]) -> None:
    """Sets the attributes and items of an object with the methods of `base`."""
    base, attributes, items, pairs = state
    if attributes:
        object.__getattribute__(made, "__dict__").update(attributes)
    if items:
        base.extend(made, items)
    for key, one in pairs or ():
        base.__setitem__(made, key, one)


def fill_own_dict(made: Any, items: Mapping[Any, Any]) -> None:
    """Fills a dictionary whose attributes are its items (`self.__dict__ = self`)."""
    dict.update(made, items)
    object.__setattr__(made, "__dict__", made)


def set_own_dict(made: Any, attributes: dict[str, Any]) -> None:
    object.__setattr__(made, "__dict__", attributes)


def set_dict(value: Any, state: Mapping[str, Any] | None) -> None:
    if state:
        vars(value).update(state)


def make_empty(kind: type) -> Any:
    """Makes an object of a class whose `__new__` needs arguments."""
    return object.__new__(kind)


def set_state_and_attributes(made: Any, state: tuple[Any, Mapping[str, Any]]) -> None:
    own, attributes = state
    made.__setstate__(own)
    vars(made).update(attributes)


def make_exception(kind: Any, arguments: tuple[Any, ...]) -> Any:
    return base_in_c(kind).__new__(kind, *arguments)


def set_exception(made: Any, state: tuple[Any, ...]) -> None:
    own, made.__cause__, made.__context__, made.__suppress_context__, made.__traceback__ = state
    kind: Any = type(made)
    if all(getattr(kind, name) is getattr(BaseException, name) for name in _OF_EXCEPTIONS):
        # Runs no user code.
        vars(made).update(own)
    elif own:
        made.__setstate__(own)


_OF_EXCEPTIONS = ("__reduce__", "__setstate__")


def make_traceback(lines: Sequence[tuple[Any, ...]]) -> types.TracebackType | None:
    """Makes a traceback of these lines, as (file, function, number of the line, its last line and
    columns or None). Its frames have no variables."""
    made = None
    for file, function, line, *place in reversed(lines):
        code = _frame.__code__.replace(
            co_filename=file,
            co_name=function,
            co_firstlineno=line,
            co_linetable=_line_table(line, *place),
        )
        frame = types.FunctionType(code, {"_getframe": sys._getframe, "__builtins__": builtins})()
        # Where a traceback has no instruction (-1), `executing` searches for ever.
        made = types.TracebackType(made, frame, 0, line)
    return made


def _line_table(
    line: int, end: int | None = None, column: int | None = None, end_column: int | None = None
) -> bytes:
    """Returns the table of lines of `_frame` in which all instructions have one place
    (InternalDocs/code_objects.md of CPython). Each entry is for at most eight units of code."""
    units = len(_frame.__code__.co_code) // 2
    counts = [min(8, units - at) for at in range(0, units, 8)]
    if end is None or column is None or end_column is None:
        return bytes(0x80 | 15 << 3 | count - 1 for count in counts)
    # No entry moves to another line.
    place = b"\0" + b"".join(map(_variable_length, (end - line, column + 1, end_column + 1)))
    return b"".join(bytes([0x80 | 14 << 3 | count - 1]) + place for count in counts)


def _variable_length(number: int) -> bytes:
    made = bytearray()
    while number > 0x3F:
        made.append(0x40 | number & 0x3F)
        number >>= 6
    return bytes([*made, number])


def _frame() -> types.FrameType:
    return _getframe()  # type: ignore[name-defined,no-any-return]  # noqa: F821


def make_dict_view(owner: Any, name: str, whole: Any) -> Any:
    return getattr(owner, name)(whole)


def make_memoryview(
    whole: Any, at: int, count: int, format: Any, shape: Any, readonly: bool
) -> memoryview:
    made = memoryview(whole).cast("B")[at : at + count].cast(format, shape)
    return made.toreadonly() if readonly else made


def make_dead_reference() -> weakref.ref[Any]:
    return weakref.ref(set())


def make_weak_dict(kind: Any, items: Mapping[Any, Any]) -> Any:
    return kind(items)
