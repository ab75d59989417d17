"""The pickler of the environment form.

cloudpickle reduces classes, and adapters reduce objects of libraries. This module reduces functions
and closures, because after loading their globals must be the notebook's namespace and they must
share the same objects as before. It also reduces objects that pickle can only refer to by name. One
pickler with one memo writes a record for each variable. The memo contains the namespace from the
beginning, so the record of a function contains the function's code but none of its globals.
"""

from __future__ import annotations

import _thread
import builtins
import collections
import copyreg
import dataclasses
import enum
import functools
import gc
import inspect
import io
import itertools
import marshal
import pickle
import random
import socket
import sys
import threading
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

import cloudpickle

from . import named_objects
from .adapter import Reduce, Reduced, registry
from .classes import base_in_c, class_with_attributes, is_reduced_as, module_of
from .importable import can_be_imported, is_importable
from .rebuilding import (
    EMPTY,
    fill_as_base,
    fill_own_dict,
    fill_quietly,
    import_module,
    make_as_base,
    make_cached_property,
    make_class,
    make_dead_reference,
    make_dict_view,
    make_exception,
    make_function,
    make_lru_cache,
    make_memoryview,
    make_parameter,
    make_traceback,
    make_unnamed_type,
    make_weak_dict,
    make_without_new,
    set_cell,
    set_dict,
    set_enum,
    set_exception,
    set_function,
    set_late,
    set_module,
    set_own_dict,
    set_state_and_attributes,
    unnamed_types,
)

PROTOCOL = 5
# Minimum size of memory that is stored as a separate buffer. Smaller memory stays in the stream.
LARGE_BYTES = 256 * 1024
# Maximum number of names in the namespace of a function made by `exec`, if the whole namespace is
# to be saved. If there are more, only the names that the function uses are saved.
MAX_FOREIGN_NAMES = 200

# Stores the bytes of a buffer and returns its number.
KeepBuffer = Callable[..., int]
# Is called with each object whose class a library pickles in its own way.
Note = Callable[[Any], None]
OwnReduce = Callable[[Any, Any], Reduced]

_by_cloudpickle: Any = cloudpickle.CloudPickler


class Unsavable(Exception):
    """An object cannot be pickled. `found` is the object, `what` describes it for users."""

    def __init__(self, found: Any, what: str) -> None:
        super().__init__(what)
        self.found = found
        self.what = what


def pinned(namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the objects that the memo contains from the beginning, in order of their numbers."""
    return [namespace, builtins.__dict__]


# -- what cannot be saved --------------------------------------------------------------------------

_REFUSED: dict[type, str] = {
    types.GeneratorType: "a generator",
    types.CoroutineType: "a coroutine",
    types.AsyncGeneratorType: "an asynchronous generator",
    types.FrameType: "a frame of running code",
    _thread.LockType: "a lock",
    _thread.RLock: "a lock",
    threading.Thread: "a thread",
    socket.socket: "a socket",
}
# Types of the standard library whose modules may not be loaded, by module and name. Adapters know
# those of other libraries.
_REFUSED_BY_NAME = {
    ("sqlite3", "Connection"): "a database connection",
    ("sqlite3", "Cursor"): "a cursor of a database connection",
    ("sqlite3", "Blob"): "a part of a database",
    ("subprocess", "Popen"): "a running program",
    ("mmap", "mmap"): "a memory-mapped file",
    (
        "tempfile",
        "TemporaryDirectory",
    ): "a temporary directory, which is removed when its process ends",
    ("tempfile", "_TemporaryFileWrapper"): "a temporary file",
    ("select", "epoll"): "a selector",
    ("_contextvars", "ContextVar"): "a context variable",
    ("_asyncio", "Task"): "a task of an event loop",
    ("_asyncio", "Future"): "a future of an event loop",
    ("contextlib", "_GeneratorContextManager"): "a context manager that is open",
    ("multiprocessing.managers", "BaseManager"): "a manager, whose process ends with the server",
    (
        "multiprocessing.managers",
        "BaseProxy",
    ): "an object in a manager's process, which ends with the server",
}


def _refusal(value: Any) -> str | None:
    """Returns a description of the object if objects of its type cannot be saved, else None."""
    for base in type(value).__mro__:
        name = (base.__module__, base.__name__)
        what = _REFUSED.get(base) or _REFUSED_BY_NAME.get(name) or registry.refused.get(name)
        if what:
            return what
    if isinstance(value, io.IOBase) and not isinstance(value, (io.StringIO, io.BytesIO)):
        return "an open file"
    return None


def _adapted(kind: type) -> Reduce | None:
    """Returns the reducer of an adapter for a class, found by the class's name."""
    reduce = registry.reducer_of_class(kind)
    if reduce is not None and is_importable(kind):
        return reduce
    if not is_reduced_as(kind, object):
        return None
    families = registry.reducers_of_families(kind)
    return next((reduce for base, reduce in families if is_importable(base)), None)


# -- the pickler -----------------------------------------------------------------------------------


class Reducers:
    """Reduces objects. The base class of both picklers."""

    namespace: dict[str, Any]
    keep_buffer: KeepBuffer
    memo: Any
    dispatch_table: Any
    # The file names of the cells that define the pickled functions.
    files: set[str]
    # The pickled functions and classes of the notebook, by their qualified name.
    defined: dict[str, Any]
    # The closure cells of pickled functions, by id. Loading a function fills its cells.
    own_cells: dict[int, Any]
    # The reducer for each type of object that was pickled.
    decided: dict[type, Reduce]
    on_own_pickling: Note | None
    bare_objects: named_objects.BareObjects

    def prepare(
        self,
        namespace: dict[str, Any],
        keep_buffer: KeepBuffer,
        on_own_pickling: Note | None = None,
    ) -> Any:
        """Initialises the pickler and returns it. `keep_buffer` stores the bytes of an array and
        returns the number of the buffer."""
        self.namespace = namespace
        self.keep_buffer = keep_buffer
        self.on_own_pickling = on_own_pickling
        self.own_cells = {}
        self.files = set()
        self.defined = {}
        self.decided = {}
        self.bare_objects = named_objects.BareObjects()
        self.memo = {id(one): (number, one) for number, one in enumerate(pinned(namespace))}
        return self

    def reducer_override(self, value: Any) -> Reduced:
        kind = type(value)
        own = _own_reducers.get(kind) or registry.types.get(kind)
        if own is not None:
            return own(self, value)
        if isinstance(value, type):
            reduce = registry.reducer_of_class(kind)
            reduced = NotImplemented if reduce is None else reduce(value)
            return self._class(value) if reduced is NotImplemented else reduced
        reduce = self.decided.get(kind)
        if reduce is None:
            reduce = self._decide(kind, value)
            if named_objects.is_bare(kind):
                reduce = functools.partial(self._bare, reduce)
            self.decided[kind] = reduce
        return reduce if reduce is NotImplemented else reduce(value)

    def _decide(self, kind: type, value: Any) -> Any:
        """Returns the reducer for objects of a type."""
        reduce = registry.reducer(typing.cast(Any, self), kind)
        if reduce is not None:
            return reduce
        if issubclass(kind, functools.cached_property):
            return _reduce_cached_property
        if kind is random.Random:
            return _reduce_random
        adapted = _adapted(kind)
        if adapted is not None:
            return adapted
        what = _refusal(value)
        if what:
            return _refuse(what)
        reduce = self._decide_without_adapter(kind, value)
        if self.on_own_pickling is None or not _has_own_pickling(kind):
            return reduce
        return functools.partial(_noting, self.on_own_pickling, reduce)

    def _bare(self, reduce: Any, value: Any) -> Reduced:
        place = self.bare_objects.owner_of(value)
        if place is not None:
            return getattr, place
        return reduce if reduce is NotImplemented else reduce(value)

    def _decide_without_adapter(self, kind: type, value: Any) -> Any:
        if kind in self.dispatch_table:
            return functools.partial(_reduce_by_table, self.dispatch_table[kind])
        if issubclass(kind, BaseException):
            return _reduce_exception
        if is_reduced_as(kind, object):
            reduce = self._decide_for_any(kind, value)
            if _may_share_dict(kind, value):
                return functools.partial(_reduce_with_shared_dict, reduce)
            return reduce
        if self._extends_python(kind):
            return _reduce_as_base
        return _reduce_unless_by_name

    def _decide_for_any(self, kind: Any, value: Any) -> Any:
        has_own_new = self._is_of_cell(kind.__new__) or _lacks_arguments(kind, value)
        reduce = _reduce_without_new if has_own_new else None
        if _runs_when_filled(kind):
            return functools.partial(_reduce_quietly, reduce or _reduce_as_any)
        if reduce is None and _hashes_its_attributes(kind):
            return _reduce_hashed
        return reduce or NotImplemented

    def _is_of_cell(self, function: Any) -> bool:
        return type(function) is types.FunctionType and function.__globals__ is self.namespace

    def _extends_python(self, kind: type) -> bool:
        """Whether a class is defined in a cell, and Python's library defines its pickling."""
        if kind.__module__ != "__main__" or kind in self.dispatch_table:
            return False
        if issubclass(kind, enum.Enum):
            return False  # a member is found by its value
        names = ("__reduce_ex__", "__reduce__", "__getstate__", "__setstate__")
        bases = [base for base in kind.__mro__ if any(name in vars(base) for name in names)]
        return all(_is_pythons(base) for base in bases)

    # Functions, classes and tracebacks

    def _function(self, value: Any) -> Reduced:
        if value.__globals__ is not self.namespace and is_importable(value):
            return NotImplemented
        self.files.add(value.__code__.co_filename)
        if value.__module__ == "__main__" and "<" not in value.__qualname__:
            self.defined[value.__qualname__] = value
        cells = value.__closure__ or ()
        contents = []
        for cell in cells:
            self.own_cells[id(cell)] = cell
            try:
                contents.append(cell.cell_contents)
            except ValueError:
                contents.append(EMPTY)
        state = {
            "contents": contents,
            "dict": dict(vars(value)),
            "defaults": value.__defaults__,
            "kwdefaults": value.__kwdefaults__,
            "module": value.__module__,
            "qualname": value.__qualname__,
            "doc": value.__doc__,
            "annotations": _annotations(value),
        }
        parameters = getattr(value, "__type_params__", ())
        if parameters:
            state["type_params"] = parameters
        arguments = (value.__code__, self._home(value), value.__name__, cells)
        return make_function, arguments, state, None, None, set_function

    def _home(self, value: Any) -> Any:
        """Returns the object that becomes the globals of a function when the function is loaded."""
        home = value.__globals__
        if home is self.namespace:
            return home
        module = sys.modules.get(home.get("__name__"))
        if module is not None and vars(module) is home:
            return module
        if len(home) > MAX_FOREIGN_NAMES:
            # A library made this namespace for one function, with all names that the function could
            # use.
            used = _names_used(value.__code__)
            return {name: one for name, one in home.items() if name in used}
        return home

    def _cell(self, value: Any) -> Reduced:
        # Cells of a function are saved empty. Loading the function fills them, because a cell may
        # contain the function itself.
        if id(value) in self.own_cells:
            return types.CellType, ()
        try:
            return types.CellType, (), value.cell_contents, None, None, set_cell
        except ValueError:
            return types.CellType, ()

    def _class(self, value: type) -> Reduced:
        place = next((at for at, one in enumerate(unnamed_types()) if one is value), None)
        if place is not None:
            return make_unnamed_type, (place,)
        reduced = _by_cloudpickle.reducer_override(self, value)
        if not isinstance(reduced, tuple) or len(reduced) != 6:
            return reduced
        if value.__module__ == "__main__" and "<" not in value.__qualname__:
            self.defined[value.__qualname__] = value
        # python_versions.py checks when the root starts that cloudpickle's results have this form.
        make, arguments, state, _, _, set_state = reduced
        if make.__name__ == "_make_skeleton_enum":
            return _enum(value, make, list(arguments), state, set_state)
        if make.__name__ == "_make_skeleton_class":
            return _skeleton(value, make, list(arguments), state, set_state)
        return reduced

    def _traceback(self, value: types.TracebackType) -> Reduced:
        lines = []
        one: types.TracebackType | None = value
        while one is not None:
            code = one.tb_frame.f_code
            self.files.add(code.co_filename)
            lines.append((code.co_filename, code.co_name, one.tb_lineno, *_position(one)))
            one = one.tb_next
        return make_traceback, (lines,)

    def _module(self, value: Any) -> Reduced:
        name = value.__name__
        is_known = sys.modules.get(name) is value
        if name == "__main__" or (is_known and can_be_imported(value)):
            return import_module, (name,)
        kept = {key: one for key, one in vars(value).items() if key not in _OF_EVERY_MODULE}
        return types.ModuleType, (name,), (kept, is_known), None, None, set_module

    def _lru_cache(self, value: Any) -> Reduced:
        if is_importable(value):
            return NotImplemented
        parameters = value.cache_parameters()
        arguments = (value.__wrapped__, parameters["maxsize"], parameters["typed"])
        return make_lru_cache, arguments, dict(vars(value)), None, None, set_dict


class Fast(Reducers, _by_cloudpickle):
    """The usual pickler, which is written in C."""

    def dump(self, value: Any) -> None:
        # cloudpickle's own `dump` would replace a RecursionError by another error.
        pickle.Pickler.dump(typing.cast(Any, self), value)


class Deep(Reducers, pickle._Pickler):
    """The pickler for objects that are nested too deeply for C's stack. It is slow, because it is
    written in Python, but it can use a stack as large as the memory.
    """

    def prepare(self, *given: Any, **named: Any) -> Any:
        # A plain dictionary, because a lookup in cloudpickle's ChainMap uses C's stack.
        self.dispatch_table = dict(_by_cloudpickle.dispatch_table)
        # A plain function, because calling a bound method with `*` also uses C's stack.
        whole: Any = pickle._Pickler.save_reduce  # type: ignore[attr-defined]
        override: Any = self
        override.save_reduce = lambda *parts, **more: whole(self, *parts, **more)
        return super().prepare(*given, **named)


# -- parts of cloudpickle's answers ----------------------------------------------------------------


def _enum(value: Any, make: Any, arguments: list[Any], state: Any, set_state: Any) -> Reduced:
    """Changes cloudpickle's result for an enum, so that loading restores the attributes of members.
    `arguments` are (bases, name, qualname, members, module, tracker, extra)."""
    members = dict(value.__members__)
    arguments[3] = {name: _made_of(value, member) for name, member in members.items()}
    arguments[5] = None
    for name in members:
        state[0].pop(name, None)
    kept = {name: dict(vars(one)) for name, one in members.items() if one.name == name}
    return make, tuple(arguments), (set_state, state, kept), None, None, set_enum


def _made_of(kind: Any, member: Any) -> Any:
    """Returns what the base class of an enum's members makes a member of. The enum's own `__new__`
    may need something else."""
    base = kind._member_type_
    has_own_new = "__new_member__" in vars(kind) and hasattr(base, "__getnewargs__")
    return base.__getnewargs__(member) if has_own_new else member.value


def _skeleton(value: Any, make: Any, arguments: list[Any], state: Any, set_state: Any) -> Reduced:
    """Changes cloudpickle's result for a class, so that loading runs no user code. `arguments` are
    (metaclass, name, bases, kwargs, tracker, extra)."""
    bases, named = arguments[2], {"__module__": value.__module__, **arguments[3]}
    # Without the tracker, because it is random and the same class would always have new bytes.
    arguments[4] = None
    # cloudpickle sorts the attributes.
    order = {key: at for at, key in enumerate(vars(value))}
    attributes = sorted(state[0].items(), key=lambda pair: order.get(pair[0], len(order)))
    state = (dict(attributes), *state[1:])
    if typing.NamedTuple in bases:
        # NamedTuple defines the slots itself, and refuses a class that has `__slots__`.
        named.pop("__slots__", None)
    if value.__qualname__ != value.__name__:
        named["__qualname__"] = value.__qualname__
    slots = vars(value).get("__slots__")
    if isinstance(slots, (str, tuple, list)) and bases == value.__bases__:
        # Slots must be defined when the class is made. Otherwise its instances have a dictionary.
        named["__slots__"] = slots
        state[0].pop("__slots__", None)
        for name in [slots] if isinstance(slots, str) else slots:
            state[0].pop(f"_{value.__name__.lstrip('_')}{name}", None)
    for name in [name for name in state[0] if _is_of_metaclass(type(value), name)]:
        named[name] = state[0].pop(name)
    arguments[3] = named
    return make_class, (make, *arguments), state, None, None, set_state


def _is_of_metaclass(metaclass: type, name: str) -> bool:
    """Whether setting an attribute of a class would set a property of its metaclass instead."""
    known = metaclass.__mro__[: metaclass.__mro__.index(type)]
    found = next((vars(one)[name] for one in known if name in vars(one)), None)
    return hasattr(type(found), "__set__")


# -- objects of any class --------------------------------------------------------------------------


def _refuse(what: str) -> Reduce:
    def reduce(value: Any) -> NoReturn:
        raise Unsavable(value, what)

    return reduce


_METHODS = (
    "__reduce_ex__ __reduce__ __getstate__ __setstate__ __getnewargs_ex__ __getnewargs__".split()
)
_NO_LIBRARIES = ("", "__main__", "__mp_main__", "ratoon_kernel")


def _has_own_pickling(kind: type) -> bool:
    """Whether a library defines how objects of a class with attributes are pickled, and may lose
    some of them."""
    if not (kind.__dictoffset__ or any("__slots__" in vars(base) for base in kind.__mro__)):
        return False
    if kind in copyreg.dispatch_table:
        return _may_lose(kind)
    definers = (
        next((base for base in kind.__mro__ if name in vars(base)), object) for name in _METHODS
    )
    return any(_may_lose(base) for base in definers)


def _may_lose(kind: type) -> bool:
    """Whether what this class defines may lose something when an object is pickled."""
    adapter = registry.of_class(kind)
    if adapter is not None and adapter.loses_nothing:
        return False
    top = module_of(kind).partition(".")[0]
    return top not in sys.stdlib_module_names and top not in _NO_LIBRARIES


def _noting(note: Note, reduce: Any, value: Any) -> Reduced:
    note(value)
    return reduce if reduce is NotImplemented else reduce(value)


def _reduce_unless_by_name(value: Any) -> Reduced:
    return _unless_of_notebook(value, value.__reduce_ex__(PROTOCOL))


def _reduce_by_table(reduce: Reduce, value: Any) -> Reduced:
    return _unless_of_notebook(value, reduce(value))


def _unless_of_notebook(value: Any, reduced: Reduced) -> Reduced:
    """Refuses an object that would be pickled only as a name in the notebook's module, because a
    checkpoint does not contain the object itself. The notebook's module has a second name,
    `__mp_main__`, which multiprocessing defines.
    """
    modules = ("__main__", "__mp_main__")
    whichmodule: Any = getattr(pickle, "whichmodule")
    if isinstance(reduced, str) and whichmodule(value, reduced) in modules:
        raise Unsavable(value, f"a {type(value).__name__} that can be pickled only by its name")
    return reduced


def _runs_when_filled(kind: type) -> bool:
    """Whether unpickling would call methods of an object's class before the object has its
    attributes: methods of a list or dict that the class overrides, or `__getattr__`, which
    unpickling calls when it looks for `__setstate__`.
    """
    if "__setstate__" in dir(kind):
        return False
    fillers: dict[type, tuple[str, ...]] = {list: ("append", "extend"), dict: ("__setitem__",)}
    base = next((one for one in fillers if issubclass(kind, one)), None)
    names = fillers[base] if base is not None else ()
    has_own = any(getattr(kind, name) is not getattr(base, name) for name in names)
    return has_own or hasattr(kind, "__getattr__")


def _reduce_as_any(value: Any) -> Reduced:
    return value.__reduce_ex__(PROTOCOL)


def _reduce_quietly(reduce: Reduce, value: Any) -> Reduced:
    reduced = (*reduce(value), None, None, None)
    make, arguments, state, items, pairs = reduced[:5]
    inside = list(items) if items is not None else dict(pairs) if pairs is not None else None
    return make, arguments, (state, inside), None, None, fill_quietly


def _lacks_arguments(kind: Any, value: Any) -> bool:
    """Whether unpickling would call a `__new__` without the arguments that it needs."""
    new = kind.__new__
    if not isinstance(new, types.FunctionType):
        return False
    try:
        inspect.signature(new).bind(*value.__reduce_ex__(PROTOCOL)[1])
    except TypeError:
        return True
    return False


def _reduce_without_new(value: Any) -> Reduced:
    kind = type(value)
    base = base_in_c(kind)
    of_base = base.__getnewargs__(value) if hasattr(base, "__getnewargs__") else ()
    return make_without_new, (base, kind, *of_base), *value.__reduce_ex__(PROTOCOL)[2:]


def _may_share_dict(kind: Any, value: Any) -> bool:
    """Whether the attributes of an object may be in a dictionary that is also something else: the
    object itself, or an attribute of its class."""
    return bool(kind.__dictoffset__) and (issubclass(kind, dict) or _is_of_class(value))


def _is_of_class(value: Any) -> bool:
    own = value.__dict__
    return any(one is own for base in type(value).__mro__ for one in vars(base).values())


def _reduce_with_shared_dict(reduce: Any, value: Any) -> Reduced:
    kind = type(value)
    if value.__dict__ is value:
        return make_without_new, (dict, kind), dict(value), None, None, fill_own_dict
    if not issubclass(kind, dict) and _is_of_class(value):
        return make_without_new, (object, kind), value.__dict__, None, None, set_own_dict
    return reduce if reduce is NotImplemented else reduce(value)


def _is_pythons(kind: type) -> bool:
    return module_of(kind).partition(".")[0] in sys.stdlib_module_names


def _reduce_as_base(value: Any) -> Reduced:
    """Reduces an object of a class that is defined in a cell as the nearest class of Python's
    library is reduced, without calling methods of the cell's class when it is loaded."""
    kind: Any = type(value)
    reduced = value.__reduce_ex__(PROTOCOL)
    if type(reduced) is not tuple:
        return _unless_of_notebook(value, reduced)
    make, arguments, state, items, pairs, set_state = (*reduced, *[None] * 4)[:6]
    if set_state is not None or hasattr(kind, "__setstate__") or type(state) not in _PLAIN_STATES:
        return reduced
    base = next(one for one in kind.__mro__ if _is_pythons(one))
    if make is kind:
        make, arguments = make_as_base, (base, kind, arguments)
    attributes = state or dict(getattr(value, "__dict__", {}))
    inside = [None if one is None else list(one) for one in (items, pairs)]
    return make, arguments, (base, attributes, *inside), None, None, fill_as_base


_PLAIN_STATES = (type(None), dict)


def _hashes_its_attributes(kind: Any) -> bool:
    """Whether the hash of an object may need the attributes that unpickling sets last."""
    is_usual = kind.__getstate__ is object.__getstate__ and not hasattr(kind, "__setstate__")
    has_own_hash = isinstance(kind.__hash__, types.FunctionType)
    return has_own_hash and (is_usual or _is_frozen_with_slots(kind))


def _is_frozen_with_slots(kind: Any) -> bool:
    """Whether a class has the state methods that `dataclasses` defines: the state is a list."""
    method = getattr(kind, "__setstate__", None)
    return method is not None and method is getattr(dataclasses, "_dataclass_setstate", None)


_CONTAINERS = (dict, set, frozenset, list)


class _Early:
    """Is pickled as a call that sets these attributes of an object."""

    def __init__(self, made: Any, attributes: Any) -> None:
        self.parts = made, (attributes, None)

    def __reduce__(self) -> Reduced:
        return fill_quietly, self.parts


def _reduce_hashed(value: Any) -> Reduced:
    """Reduces an object so that its containers, which may contain the object itself, are loaded
    after its other attributes."""
    attributes = getattr(value, "__dict__", None)
    if attributes and not any(isinstance(one, _CONTAINERS) for one in attributes.values()):
        return NotImplemented  # the usual case, found quickly
    reduced = value.__reduce_ex__(PROTOCOL)
    state = reduced[2]
    if type(state) is list:
        state = (None, {field.name: one for field, one in zip(dataclasses.fields(value), state)})
    parts = state if type(state) is tuple else (state, None)
    late = [_some(part, isinstance) for part in parts]
    if not any(late) or any(one is not None for one in reduced[3:]):
        return NotImplemented
    early = tuple(_some(part, _is_not) for part in parts)
    return *reduced[:2], (_Early(value, early), tuple(late)), None, None, set_late


def _some(attributes: Any, chosen: Callable[[Any, Any], bool]) -> Any:
    return {name: one for name, one in (attributes or {}).items() if chosen(one, _CONTAINERS)}


def _is_not(value: Any, kinds: Any) -> bool:
    return not isinstance(value, kinds)


def _reduce_cached_property(value: Any) -> Reduced:
    # Up to Python 3.11, a cached property contains a lock. A lock cannot be saved.
    kept = {key: one for key, one in vars(value).items() if key not in ("lock", "func")}
    return make_cached_property, (type(value), value.func), kept, None, None, set_dict


def _reduce_exception(value: Any) -> Reduced:
    reduced = value.__reduce_ex__(PROTOCOL)
    if type(reduced) is not tuple or len(reduced) > 3:
        return _unless_of_notebook(value, reduced)
    kind: Any = type(value)
    make, arguments, *own = reduced
    builtin = next(one for one in kind.__mro__ if one.__module__ == "builtins")
    has_no_fields = builtin.__basicsize__ == BaseException.__basicsize__
    has_own_reduce = (
        kind.__reduce_ex__ is not object.__reduce_ex__
        or kind.__reduce__ is not BaseException.__reduce__
    )
    is_made_in_python = any(
        isinstance(one, types.FunctionType) for one in (kind.__new__, kind.__init__)
    )
    if has_no_fields and not has_own_reduce and is_made_in_python:
        # Does not call the user's functions, which may take other arguments.
        make, arguments = make_exception, (kind, arguments)
    links = (value.__cause__, value.__context__, value.__suppress_context__, value.__traceback__)
    return make, arguments, (own[0] if own else {}, *links), None, None, set_exception


def _reduce_random(value: Any) -> Reduced:
    # The functions of the module `random` are methods of its object `_inst`, so `_inst` is saved by
    # name.
    shared: Any = random
    return (getattr, (random, "_inst")) if value is shared._inst else NotImplemented


def reduce_with_attributes(value: Any) -> Reduced:
    """Reduces an object of a library whose own pickling leaves out the attributes that cells have
    set. For adapters."""
    kind = type(value)
    attributes = {
        name: one
        for name, one in vars(value).items()
        if type(name) is str and not name.startswith("_") and not hasattr(kind, name)
    }
    reduced = value.__reduce_ex__(PROTOCOL)
    if not attributes:
        return reduced
    make, arguments, state = reduced[:3]
    return make, arguments, (state, attributes), None, None, set_state_and_attributes


# -- objects of the types of `_own_reducers` -------------------------------------------------------


def _reduce_weak_reference(_: Reducers, value: Any) -> Reduced:
    target = value()
    if target is None:
        return make_dead_reference, ()
    callback = value.__callback__
    return weakref.ref, (target,) if callback is None else (target, callback)


def _reduce_weak_dict(_: Reducers, value: Any) -> Reduced:
    return make_weak_dict, (type(value), dict(value.items()))


def _reduce_weak_proxy(_: Reducers, value: Any) -> Reduced:
    # A proxy forwards all accesses to its target, so the bound method's `__self__` is the target.
    return weakref.proxy, (value.__reduce_ex__.__self__,)


def _reduce_weak_method(_: Reducers, value: Any) -> Reduced:
    method = value()
    return (make_dead_reference, ()) if method is None else (type(value), (method,))


def _reduce_field_kind(_: Reducers, value: Any) -> Reduced:
    return getattr, (dataclasses, value.name)


def _reduce_memoryview(_: Reducers, value: Any) -> Reduced:
    whole, layout = value.obj, (value.format, value.shape)
    if type(whole) is bytes and value.nbytes and value.c_contiguous:
        return make_memoryview, (bytes(value), 0, value.nbytes, *layout, True)
    if whole is not None:
        known = memoryview(whole)
        same = ("format", "shape", "strides")
        if all(getattr(value, part) == getattr(known, part) for part in same):
            if value.readonly == known.readonly:
                return memoryview, (whole,)
            return make_memoryview, (whole, 0, value.nbytes, *layout, True)
        at = _distance(value, known)
        if at is not None:
            return make_memoryview, (whole, at, value.nbytes, *layout, False)
    raise Unsavable(value, "a view of memory that another object owns")


def _distance(value: memoryview, whole: memoryview) -> int | None:
    """Returns the offset of a view in its memory, in bytes. Returns None if it cannot be found."""
    import ctypes

    if any(one.readonly or not one.c_contiguous or not one.nbytes for one in (value, whole)):
        return None
    at, begin = (ctypes.addressof(ctypes.c_char.from_buffer(one)) for one in (value, whole))
    return at - begin


def _reduce_dict_view(_: Reducers, value: Any) -> Reduced:
    for owner in (collections.OrderedDict, dict):
        for name in ("keys", "values", "items"):
            if type(getattr(owner, name)(owner())) is type(value):
                (whole,) = gc.get_referents(value)
                return make_dict_view, (owner, name, whole)
    return NotImplemented


def _reduce_proxy(_: Reducers, value: Any) -> Reduced:
    (inner,) = gc.get_referents(value)
    owner = class_with_attributes(inner)
    return (types.MappingProxyType, (inner,)) if owner is None else (vars, (owner,))


def _reduce_code(_: Reducers, value: types.CodeType) -> Reduced:
    try:
        return marshal.loads, (marshal.dumps(value),)
    except ValueError:
        return _by_cloudpickle.dispatch_table[types.CodeType](value)


def _reduce_new_type(_: Reducers, value: Any) -> Reduced:
    if value.__module__ != "__main__":
        return NotImplemented
    arguments = (value.__name__, value.__supertype__)
    return typing.NewType, arguments, dict(vars(value)), None, None, set_dict


def _reduce_parameter(_: Reducers, value: Any) -> Reduced:
    if getattr(value, "__module__", None) != "__main__":
        return NotImplemented
    return make_parameter, (type(value), value.__name__)


def _reduce_stream(_: Reducers, value: Any) -> Reduced:
    for name in ("stdout", "stderr", "stdin"):
        original = f"__{name}__"
        if value is getattr(sys, original) or value is getattr(sys, name):
            return getattr, (sys, original)
    raise Unsavable(value, "an open file")


_PARAMETERS = [getattr(typing, name, None) for name in ("ParamSpec", "TypeVarTuple")]
_own_reducers: dict[Any, OwnReduce] = {
    types.FunctionType: Reducers._function,
    types.CellType: Reducers._cell,
    types.ModuleType: Reducers._module,
    types.TracebackType: Reducers._traceback,
    types.CodeType: _reduce_code,
    types.MappingProxyType: _reduce_proxy,
    memoryview: _reduce_memoryview,
    **{
        type(getattr(owner, name)(owner())): _reduce_dict_view
        for owner in (dict, collections.OrderedDict)
        for name in ("keys", "values", "items")
    },
    functools._lru_cache_wrapper: Reducers._lru_cache,
    weakref.ref: _reduce_weak_reference,
    weakref.ProxyType: _reduce_weak_proxy,
    weakref.CallableProxyType: _reduce_weak_proxy,
    weakref.WeakMethod: _reduce_weak_method,
    weakref.WeakKeyDictionary: _reduce_weak_dict,
    weakref.WeakValueDictionary: _reduce_weak_dict,
    io.TextIOWrapper: _reduce_stream,
    dataclasses._FIELD_BASE: _reduce_field_kind,  # type: ignore[attr-defined]
    typing.NewType: _reduce_new_type,
    **{kind: _reduce_parameter for kind in _PARAMETERS if kind is not None},
}
_OF_EVERY_MODULE = {"__builtins__", "__loader__", "__spec__", "__cached__", "__name__"}


def own_stream(kind: type) -> None:
    """Makes standard streams of this type load as the standard streams of the loading process."""
    _own_reducers[kind] = _reduce_stream


def _position(one: types.TracebackType) -> tuple[int | None, ...]:
    """Returns the last line and the columns of the instruction that raised, if they are known."""
    positions = one.tb_frame.f_code.co_positions()
    line, *place = next(itertools.islice(positions, max(0, one.tb_lasti) // 2, None), (None,) * 4)
    return tuple(place) if line == one.tb_lineno else (None,) * 3


def _names_used(code: types.CodeType) -> set[str]:
    used = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            used |= _names_used(inner)
    return used


def _annotations(value: Any) -> dict[str, Any]:
    try:
        annotations: dict[str, Any] = value.__annotations__
    except Exception:  # Python evaluates annotations lazily, and a name in them is undefined
        return {}
    return annotations
