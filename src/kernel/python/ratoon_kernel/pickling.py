"""The environment form's pickler and unpickler: everything that can be pickled, as it was.

cloudpickle does classes; functions, closures, arrays and what is known only by its name are done here, because they have
to come back bound to the live namespace and sharing what they shared. One pickler with one memo writes a record per
name. The namespace itself stands in the memo from the beginning, so a function costs its code and nothing of its globals.
"""

import _thread
import array
import builtins
import collections
import dataclasses
import functools
import gc
import io
import marshal
import os
import pickle
import random
import signal
import socket
import sys
import threading
import time
import types
import typing
import weakref

import cloudpickle

PROTOCOL = 5
# Smaller buffers stay in the stream.
LARGE_BYTES = 256 * 1024

# How long a trial in another fork may take, in seconds.
MAX_TRIAL = 5
# A saving process makes the user's own exits fail.
_exit = os._exit
# A function made by `exec` keeps its whole namespace up to so many names, and of a larger one what it uses.
MAX_FOREIGN_NAMES = 200

_by_cloudpickle = cloudpickle.CloudPickler
_EMPTY = "<empty cell>"


class Unsavable(Exception):
    """An object that no form can hold; `found` is the object and `what` says so in plain words."""

    def __init__(self, found, what):
        super().__init__(what)
        self.found = found
        self.what = what


def pinned(namespace):
    """What stands in the memo from the beginning, in this order."""
    return [namespace, builtins.__dict__]


# -- what cannot be saved ---------------------------------------------------------------------------------------------


def _refusals():
    words = {
        types.GeneratorType: "a generator that has begun its work",
        types.CoroutineType: "a coroutine",
        types.AsyncGeneratorType: "an asynchronous generator",
        types.FrameType: "a frame of running code",
        types.TracebackType: "a traceback",
        _thread.LockType: "a lock",
        _thread.RLock: "a lock",
        threading.Thread: "a thread",
        socket.socket: "a socket",
    }
    return words


_refused = _refusals()
# Of modules that need not be loaded.
_refused_by_name = {
    ("sqlite3", "Connection"): "a database connection",
    ("sqlite3", "Cursor"): "a cursor of a database connection",
    ("sqlite3", "Blob"): "a part of a database",
    ("subprocess", "Popen"): "a running program",
    ("mmap", "mmap"): "a mapped file",
    ("tempfile", "TemporaryDirectory"): "a temporary directory, which is removed when its process ends",
    ("tempfile", "_TemporaryFileWrapper"): "a temporary file",
    ("select", "epoll"): "a selector",
    ("_contextvars", "ContextVar"): "a context variable",
    ("_asyncio", "Task"): "a task of an event loop",
    ("_asyncio", "Future"): "a future of an event loop",
    ("contextlib", "_GeneratorContextManager"): "a context manager that is open",
    ("psycopg2.extensions", "connection"): "a database connection",
    ("_duckdb", "DuckDBPyConnection"): "a database connection",
    ("duckdb.duckdb", "DuckDBPyConnection"): "a database connection",
    ("sqlalchemy.orm.decl_api", "registry"): "SQLAlchemy's registry, which knows mapped classes by their place in memory",
    ("multiprocessing.managers", "BaseManager"): "a manager, whose process ends with the server",
    ("multiprocessing.managers", "BaseProxy"): "something that lives in a manager's process, which ends with the server",
}

# Reducers of adapters (adapters/), by (module, name): of exactly that class, and of a class and all below it that say nothing
# themselves of how they are reduced. By name, so that no library is imported for its adapter.
_adapters = {}
_adapters_of_families = {}
_adapters_with_files = set()


def adapt(reducers):
    """Each takes the object, and answers as `__reduce_ex__` does; NotImplemented: as without it."""
    _adapters.update(reducers)


def adapt_with_files(reducers):
    """The same, of what is made of functions: each takes the names of files whose text is kept too, and then the object."""
    adapt(reducers)
    _adapters_with_files.update(reducers.values())


def adapt_types(reducers):
    """The same, of types that are there in any case."""
    _own_reducers.update((kind, functools.partial(_without_pickler, reduce)) for kind, reduce in reducers.items())


def _without_pickler(reduce, _, value):
    return reduce(value)


def adapt_family(reducers):
    _adapters_of_families.update(reducers)


def _adapter(kind):
    adapter = _adapters.get((kind.__module__, kind.__qualname__))
    if adapter is not None and _is_importable(kind):
        return adapter
    if not _is_reduced_as_any(kind):
        return None
    families = (base for base in kind.__mro__ if (base.__module__, base.__qualname__) in _adapters_of_families)
    for base in families:
        if _is_importable(base):
            return _adapters_of_families[base.__module__, base.__qualname__]
    return None


def _is_reduced_as_any(kind):
    return kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__


def refusal(value):
    """Why an object cannot be saved, known by its type alone; None when that is not known."""
    kind = type(value)
    for base in kind.__mro__:
        what = _refused.get(base) or _refused_by_name.get((base.__module__, base.__name__))
        if what:
            return what
    if isinstance(value, io.IOBase) and not isinstance(value, (io.StringIO, io.BytesIO)):
        return "an open file"
    return None


# -- pickling ---------------------------------------------------------------------------------------------------------


class _Reducers:
    """How objects are taken apart. `keep_buffer(flat)` takes the bytes of an array and answers their number."""

    def prepare(self, namespace, keep_buffer):
        self.namespace = namespace
        self.keep_buffer = keep_buffer
        self.own_cells = {}
        # What was pickled that has a source: names of cells' files, functions and classes.
        self.files = set()
        self.defined = {}
        # For each type whether objects of it may call themselves by a name.
        self.by_name = {}
        self.memo = {id(one): (number, one) for number, one in enumerate(pinned(namespace))}
        return self

    def reducer_override(self, value):
        kind = type(value)
        own = _own_reducers.get(kind)
        if own is not None:
            return own(self, value)
        if isinstance(value, type):
            return self._class(value)
        may = self.by_name.get(kind)
        if may is None:
            may = self.by_name[kind] = self._look_at(kind, value)
        if may is NotImplemented:
            return may
        return may(value)

    def _look_at(self, kind, value):
        """How objects of a type are reduced; decided once for each type."""
        numpy = sys.modules.get("numpy")
        if numpy is not None and issubclass(kind, numpy.ndarray):
            if _is_plain_array(kind, numpy):
                return self._array
        if issubclass(kind, functools.cached_property):
            return _reduce_cached_property
        if kind.__reduce__ is BaseException.__reduce__ and kind.__reduce_ex__ is object.__reduce_ex__:
            return _reduce_exception
        if kind is random.Random:
            return _reduce_random
        if kind.__module__ == "numpy.random.mtrand" and kind.__name__ == "RandomState":
            return _reduce_numpy_random
        adapter = _adapter(kind)
        if adapter is not None:
            return functools.partial(adapter, self.files) if adapter in _adapters_with_files else adapter
        if _is_block(kind):
            return self._block
        if kind.__module__.startswith("polars.") and kind.__name__ in _of_polars:
            return _of_polars[kind.__name__]
        what = refusal(value)
        if what:
            return _refuse(what)
        if kind in self.dispatch_table:
            return functools.partial(_reduce_by_table, self.dispatch_table[kind])
        if _is_reduced_as_any(kind):
            return _reduce_quietly if _runs_when_filled(kind) else NotImplemented
        return _reduce_unless_by_name

    # Functions and classes

    def _function(self, value):
        if not self._is_ours(value.__globals__) and _is_importable(value):
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
                contents.append(_EMPTY)
        home = value.__globals__
        if home is not self.namespace:
            module = sys.modules.get(home.get("__name__"))
            if module is not None and vars(module) is home:
                home = module
            elif len(home) > MAX_FOREIGN_NAMES:
                # A namespace that a library has made up for one function, of everything that it could need.
                used = _names_used(value.__code__)
                home = {name: one for name, one in home.items() if name in used}
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
        return make_function, (value.__code__, home, value.__name__, cells), state, None, None, set_function

    def _is_ours(self, globals):
        return globals is self.namespace

    def _cell(self, value):
        # A function sets what its cells hold, because a cell may hold the function.
        if id(value) in self.own_cells:
            return types.CellType, ()
        try:
            return types.CellType, (), value.cell_contents, None, None, set_cell
        except ValueError:
            return types.CellType, ()

    def _class(self, value):
        reduced = _by_cloudpickle.reducer_override(self, value)
        if not isinstance(reduced, tuple) or len(reduced) != 6:
            return reduced
        if value.__module__ == "__main__" and "<" not in value.__qualname__:
            self.defined[value.__qualname__] = value
        make, arguments, state, _, _, set_state = reduced
        arguments = list(arguments)
        if make.__name__ == "_make_skeleton_enum":
            # By cloudpickle: (bases, name, qualname, members, module, tracker, extra); state (dict, slots).
            members = dict(value.__members__)
            arguments[3] = {name: member.value for name, member in members.items()}
            arguments[5] = None
            for name in members:
                state[0].pop(name, None)
            kept = {name: dict(vars(member)) for name, member in members.items() if member.name == name}
            return make, tuple(arguments), (set_state, state, kept), None, None, set_enum
        if make.__name__ == "_make_skeleton_class":
            # (metaclass, name, bases, kwargs, tracker, extra). The tracker is random: the same class would be other bytes.
            arguments[4] = None
            # Older versions of cloudpickle leave it to the state, which is too late for a NamedTuple.
            arguments[3] = {"__module__": value.__module__, **arguments[3]}
            if typing.NamedTuple in arguments[2]:
                # It chooses its slots itself, and refuses to be told.
                arguments[3].pop("__slots__", None)
            if value.__qualname__ != value.__name__:
                arguments[3] = {**arguments[3], "__qualname__": value.__qualname__}
            slots = vars(value).get("__slots__")
            if isinstance(slots, (str, tuple, list)) and arguments[2] == value.__bases__:
                # Given at birth, or the instances would have a dictionary besides.
                arguments[3] = {**arguments[3], "__slots__": slots}
                state[0].pop("__slots__", None)
                for name in [slots] if isinstance(slots, str) else slots:
                    state[0].pop(f"_{value.__name__.lstrip('_')}{name}", None)
            return make_class, (make, *arguments), state, None, None, set_state
        return reduced

    def _module(self, value):
        name = value.__name__
        if name == "__main__" or sys.modules.get(name) is value and can_be_imported(value):
            return import_module, (name,)
        kept = {k: v for k, v in vars(value).items() if k not in _MODULES_OWN}
        return types.ModuleType, (name,), (kept, sys.modules.get(name) is value), None, None, set_module

    def _lru_cache(self, value):
        if _is_importable(value):
            return NotImplemented
        parameters = value.cache_parameters()
        inner = value.__wrapped__
        return make_lru_cache, (inner, parameters["maxsize"], parameters["typed"]), dict(vars(value)), None, None, set_dict

    # Arrays

    def _array(self, value):
        numpy = sys.modules["numpy"]
        kind = type(value)
        if kind is numpy.memmap and value.mode != "c" and isinstance(_base(value), _mmap_type()):
            order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
            mode = "r" if value.mode == "r" else "r+"
            return make_memmap, (str(value.filename), value.dtype, mode, value.offset, value.shape, order)
        own = dict(vars(value)) if kind is not numpy.ndarray and hasattr(value, "__dict__") else {}
        if kind is numpy.memmap:
            kind, own = numpy.ndarray, {}
        root = _root(value, numpy)
        if root is not None:
            at = value.__array_interface__["data"][0] - root.__array_interface__["data"][0]
            layout = (value.shape, value.strides, at, value.dtype, value.flags.writeable)
            return make_view, (root, kind, *layout), own or None, None, None, set_dict
        memory = _memory_below(value, numpy)
        if memory is not None:
            whole, at = memory
            layout = (value.shape, value.strides, at, value.dtype, value.flags.writeable)
            return make_array_over, (whole, kind, *layout), own or None, None, None, set_dict
        return self.array_itself(value, kind, own)

    def array_itself(self, value, kind, own=None):
        """An array that is no view of another."""
        numpy = sys.modules["numpy"]
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        layout = (value.shape, value.dtype, order, kind, value.flags.writeable)
        if value.dtype.hasobject:
            items = list(value.ravel(order=order)) if value.dtype == object else value.ravel(order=order).tolist()
            return make_object_array, layout, (items, own, value.flags.writeable), None, None, set_object_array
        if value.nbytes < LARGE_BYTES:
            return make_array, (value.tobytes(order), *layout), own or None, None, None, set_dict
        flat = numpy.asarray(value).ravel(order=order).view(numpy.uint8)
        return make_large_array, (Filled(self.keep_buffer(flat)), *layout), own or None, None, None, set_dict

    def _block(self, value):
        """A block of a pandas frame. Its array may be shared with another frame until one of them writes. Who shares it is
        known only to the live objects: here each block gets its own."""
        reduced = value.__reduce_ex__(PROTOCOL)
        if _writes_through():
            return reduced
        values = value.values
        numpy = sys.modules["numpy"]
        own = _Own(values) if type(values) is numpy.ndarray else values.copy()
        return (reduced[0], tuple(own if part is values else part for part in reduced[1]), *reduced[2:])

    def _own(self, value):
        return self.array_itself(value.array, type(value.array))


class _Own:
    """An array that is to share its memory with no other when it comes back."""

    def __init__(self, array):
        self.array = array


class Filled:
    """Memory that is filled with a kept buffer when it comes back: `number` says which."""

    def __init__(self, number):
        self.number = number

    def __reduce__(self):
        return fill_with, (self.number,)


class Fast(_Reducers, _by_cloudpickle):
    """The usual pickler, in C."""

    def dump(self, value):
        # Not cloudpickle's, which hides what a RecursionError was.
        pickle.Pickler.dump(self, value)


class Deep(_Reducers, pickle._Pickler):
    """For what is nested so deeply that C's stack ends: slow, in Python, whose stack is as large as memory."""

    def prepare(self, namespace, keep_buffer):
        # One dictionary: cloudpickle's chain of two is asked by way of C, whose stack has an end.
        self.dispatch_table = dict(_by_cloudpickle.dispatch_table)
        # A function, as the call of a bound method with `*` goes by way of C, too.
        whole = pickle._Pickler.save_reduce
        self.save_reduce = lambda *parts, **more: whole(self, *parts, **more)
        return super().prepare(namespace, keep_buffer)


def _reduce_polars_frame(value):
    # Whole frames go through polars' threads, which a fork does not have: it would wait for them for ever. So do columns in
    # several pieces. Single pieces do not (measured with polars 2.1).
    return make_polars_frame, (value.get_columns(),)


def _reduce_polars_series(value):
    if value.n_chunks() == 1:
        return value.__reduce_ex__(PROTOCOL)
    return make_polars_series, (value.get_chunks(),)


def _reduce_polars_plan(value):
    # What it was made from is inside it, in how many pieces it does not say: another fork tries it.
    if not _ends_in_a_fork(lambda: value.__reduce_ex__(PROTOCOL)):
        raise Unsavable(value, "a query of polars that needs polars' own threads to be written: collect() it")
    return value.__reduce_ex__(PROTOCOL)


_of_polars = {
    "DataFrame": _reduce_polars_frame,
    "Series": _reduce_polars_series,
    "LazyFrame": _reduce_polars_plan,
}


def _ends_in_a_fork(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            _exit(0)
    end = time.monotonic() + MAX_TRIAL
    while time.monotonic() < end:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return True
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def _refuse(what):
    def reduce(value):
        raise Unsavable(value, what)

    return reduce


def _reduce_unless_by_name(value):
    return _unless_of_notebook(value, value.__reduce_ex__(PROTOCOL))


def _reduce_by_table(reduce, value):
    return _unless_of_notebook(value, reduce(value))


def _unless_of_notebook(value, reduced):
    """What is only a name is in no checkpoint when it is a name of the notebook's. multiprocessing knows the notebook's module
    by another name besides."""
    if isinstance(reduced, str) and pickle.whichmodule(value, reduced) in ("__main__", "__mp_main__"):
        raise Unsavable(value, f"a {type(value).__name__} that is known only by its name")
    return reduced


def _runs_when_filled(kind):
    """Whether methods of an object's class would run while it is filled, before it is whole: those of a list or a dictionary of
    a class of its own, and `__getattr__`, which is asked for a `__setstate__`."""
    if "__setstate__" in dir(kind):
        return False
    base = next((one for one in (list, dict) if issubclass(kind, one)), None)
    by = {list: ("append", "extend"), dict: ("__setitem__",)}.get(base, ())
    return hasattr(kind, "__getattr__") or any(getattr(kind, name) is not getattr(base, name) for name in by)


def _reduce_quietly(value):
    make, arguments, state, items, pairs = (*value.__reduce_ex__(PROTOCOL), None, None, None)[:5]
    inside = list(items) if items is not None else dict(pairs) if pairs is not None else None
    return make, arguments, (state, inside), None, None, fill_quietly


def _reduce_cached_property(value):
    # Up to Python 3.11 it holds a lock.
    kept = {k: v for k, v in vars(value).items() if k not in ("lock", "func")}
    return make_cached_property, (type(value), value.func), kept, None, None, set_dict


def _reduce_exception(value):
    kind, arguments, *own = value.__reduce_ex__(PROTOCOL)
    make = kind, arguments
    builtin = next(one for one in kind.__mro__ if one.__module__ == "builtins")
    if isinstance(kind.__init__, types.FunctionType) and builtin.__basicsize__ == BaseException.__basicsize__:
        # Not through an __init__ of the user's, which may take other arguments.
        make = make_exception, (kind, arguments)
    state = (own[0] if own else {}, value.__cause__, value.__context__, value.__suppress_context__)
    return *make, state, None, None, set_exception


def _reduce_weak_reference(_, value):
    target = value()
    if target is None:
        return make_dead_reference, ()
    return weakref.ref, (target,) if value.__callback__ is None else (target, value.__callback__)


def _reduce_weak_dict(_, value):
    return make_weak_dict, (type(value), dict(value.items()))


def _reduce_field_kind(_, value):
    return getattr, (dataclasses, value.name)


def _reduce_memoryview(_, value):
    whole = value.obj
    if type(whole) is bytes and value.nbytes and value.c_contiguous:
        return make_memoryview, (bytes(value), 0, value.nbytes, value.format, value.shape, True)
    if whole is not None:
        known = memoryview(whole)
        if all(getattr(value, part) == getattr(known, part) for part in ("format", "shape", "strides")):
            if value.readonly == known.readonly:
                return memoryview, (whole,)
            return make_memoryview, (whole, 0, value.nbytes, value.format, value.shape, True)
        at = _distance(value, known)
        if at is not None:
            return make_memoryview, (whole, at, value.nbytes, value.format, value.shape, False)
    raise Unsavable(value, "a view of memory that something else holds")


def _distance(value, whole):
    """How many bytes behind the beginning of a piece of memory a view of it begins; None when that cannot be told."""
    import ctypes

    if any(one.readonly or not one.c_contiguous or not one.nbytes for one in (value, whole)):
        return None
    at, begin = (ctypes.addressof(ctypes.c_char.from_buffer(one)) for one in (value, whole))
    return at - begin


def _reduce_dict_view(_, value):
    for owner in (collections.OrderedDict, dict):
        for name in ("keys", "values", "items"):
            if type(getattr(owner, name)(owner())) is type(value):
                (whole,) = gc.get_referents(value)
                return make_dict_view, (owner, name, whole)
    return NotImplemented


def _reduce_weak_proxy(_, value):
    # Whatever is asked of a proxy, its object answers.
    return weakref.proxy, (value.__reduce_ex__.__self__,)


def _reduce_weak_method(_, value):
    method = value()
    if method is None:
        return make_dead_reference, ()
    return type(value), (method,)


def _reduce_random(value):
    # The one of which the module's functions are methods.
    return (getattr, (random, "_inst")) if value is random._inst else NotImplemented


def _reduce_numpy_random(value):
    numpy = sys.modules["numpy"]
    return (getattr, (numpy.random.mtrand, "_rand")) if value is numpy.random.mtrand._rand else NotImplemented


def _reduce_proxy(_, value):
    inner = gc.get_referents(value)
    if len(inner) == 1 and type(inner[0]) is dict and "__weakref__" not in inner[0]:
        return types.MappingProxyType, (inner[0],)
    return types.MappingProxyType, (dict(value),)


def _reduce_code(_, value):
    try:
        return marshal.loads, (marshal.dumps(value),)
    except ValueError:
        return _by_cloudpickle.dispatch_table[types.CodeType](value)


def _reduce_new_type(_, value):
    if value.__module__ != "__main__":
        return NotImplemented
    return typing.NewType, (value.__name__, value.__supertype__), dict(vars(value)), None, None, set_dict


def _reduce_parameter(_, value):
    if getattr(value, "__module__", None) != "__main__":
        return NotImplemented
    return make_parameter, (type(value), value.__name__)


def _reduce_stream(_, value):
    for name in ("stdout", "stderr", "stdin"):
        if value is getattr(sys, "__" + name + "__") or value is getattr(sys, name):
            return getattr, (sys, "__" + name + "__")
    raise Unsavable(value, "an open file")


def _reduce_logger(_, value):
    import logging

    return (logging.getLogger, () if isinstance(value, logging.RootLogger) else (value.name,))


_own_reducers = {
    types.FunctionType: _Reducers._function,
    types.CellType: _Reducers._cell,
    types.ModuleType: _Reducers._module,
    types.CodeType: _reduce_code,
    types.MappingProxyType: _reduce_proxy,
    memoryview: _reduce_memoryview,
    **{
        type(getattr(owner, name)(owner())): _reduce_dict_view
        for owner in (dict, collections.OrderedDict)
        for name in ("keys", "values", "items")
    },
    functools._lru_cache_wrapper: _Reducers._lru_cache,
    weakref.ref: _reduce_weak_reference,
    weakref.ProxyType: _reduce_weak_proxy,
    weakref.CallableProxyType: _reduce_weak_proxy,
    weakref.WeakMethod: _reduce_weak_method,
    weakref.WeakKeyDictionary: _reduce_weak_dict,
    weakref.WeakValueDictionary: _reduce_weak_dict,
    _Own: _Reducers._own,
    io.TextIOWrapper: _reduce_stream,
    dataclasses._FIELD_BASE: _reduce_field_kind,
    typing.NewType: _reduce_new_type,
    **{
        getattr(typing, name): _reduce_parameter for name in ("ParamSpec", "TypeVarTuple") if hasattr(typing, name)
    },
}
_MODULES_OWN = {"__builtins__", "__loader__", "__spec__", "__cached__", "__name__"}


def own_stream(kind):
    """Makes our standard streams come back as the standard streams of the new process."""
    _own_reducers[kind] = _reduce_stream


def _names_used(code):
    used = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            used |= _names_used(inner)
    return used


def _annotations(value):
    try:
        return value.__annotations__
    except Exception:  # evaluated late, of a name that is not there yet
        return {}


def _is_importable(value, qualname=None):
    """Whether a name in a module other than the notebook's leads to this object."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    if module is None or module.__name__ == "__main__":
        return False
    if not can_be_imported(module):
        return False
    found = module
    for part in (qualname or getattr(value, "__qualname__", "<")).split("."):
        found = getattr(found, part, None)
    return found is value


def can_be_imported(module):
    return getattr(module, "__spec__", None) is not None or module.__name__ in sys.builtin_module_names


def _base(value):
    base = value.base
    return base


def _mmap_type():
    import mmap

    return mmap.mmap


def _root(value, numpy):
    """The array whose memory this one is a view of; None when it has its own."""
    root = value
    while isinstance(root.base, numpy.ndarray):
        root = root.base
    if root is value or value.dtype.hasobject != root.dtype.hasobject:
        return None
    if not (root.flags.c_contiguous or root.flags.f_contiguous):
        return None
    if not _is_plain_array(type(root), numpy) or type(root) is numpy.memmap and root.mode == "c":
        return None
    if value.dtype.hasobject and value.dtype != root.dtype:
        return None
    start = value.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    low = start + sum(min(0, (n - 1) * s) for n, s in zip(value.shape, value.strides) if n)
    high = start + sum(max(0, (n - 1) * s) for n, s in zip(value.shape, value.strides) if n) + value.itemsize
    if value.size == 0 or low < 0 or high > root.nbytes:
        return None
    return root


def _is_plain_array(kind, numpy):
    """Whether arrays of this kind are written by us."""
    return kind.__reduce__ is numpy.ndarray.__reduce__ and kind.__reduce_ex__ is numpy.ndarray.__reduce_ex__


def _memory_below(value, numpy):
    """The object of Python's whose memory an array shows, and where in it the array begins; None when there is none."""
    below = value.base
    while isinstance(below, memoryview):
        below = below.obj
    if type(below) not in (bytearray, array.array) or not value.size or value.dtype.hasobject:
        return None
    begin = numpy.frombuffer(below, numpy.uint8).__array_interface__["data"][0]
    return below, value.__array_interface__["data"][0] - begin


def _is_block(kind):
    blocks = sys.modules.get("pandas.core.internals.blocks")
    return blocks is not None and issubclass(kind, blocks.Block)


def _writes_through():
    """Whether this pandas lets frames share memory for good: older than 3, and copy-on-write is off."""
    pandas = sys.modules["pandas"]
    try:
        return int(pandas.__version__.split(".")[0]) < 3 and not pandas.options.mode.copy_on_write
    except Exception:
        return False


# -- what a stream names: these must stay where they are ----------------------------------------------------------------


def make_function(code, home, name, cells):
    globals = vars(home) if isinstance(home, types.ModuleType) else home
    if globals is not fill_with.namespace:
        globals.setdefault("__builtins__", builtins)
    return types.FunctionType(code, globals, name, None, tuple(cells) or None)


def set_function(function, state):
    for cell, content in zip(function.__closure__ or (), state["contents"]):
        if not (isinstance(content, str) and content == _EMPTY):
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


def set_cell(cell, content):
    cell.cell_contents = content


def make_class(make, metaclass, name, bases, kwargs, tracker, extra):
    """As cloudpickle does it, but nothing of the user's runs: metaclasses and the bases' __init_subclass__ have already seen
    this class, with its arguments."""
    put_back = []
    for base in dict.fromkeys(one for base in types.resolve_bases(bases) for one in base.__mro__):
        own = vars(base).get("__init_subclass__")
        if base is object or own is None or base.__module__ in ("typing", "abc"):
            continue
        try:
            type.__setattr__(base, "__init_subclass__", _passed_on(base))
        except TypeError:  # written in C
            continue
        put_back.append((base, own))
    try:
        known = next(one for one in metaclass.__mro__ if one is type or _is_importable(one))
        if known is metaclass:
            return make(metaclass, name, bases, kwargs, tracker, extra)
        return _make_class_without(metaclass, known, name, bases, kwargs)
    finally:
        for base, own in put_back:
            type.__setattr__(base, "__init_subclass__", own)


def _passed_on(base):
    return classmethod(lambda cls, **_: super(base, cls).__init_subclass__())


def _make_class_without(metaclass, known, name, bases, kwargs):
    """A class of a metaclass of the user's, made by the nearest that is not."""
    resolved = types.resolve_bases(bases)
    namespace = known.__prepare__(name, resolved)
    namespace.update(kwargs)
    if resolved is not bases:
        namespace["__orig_bases__"] = bases
    made = known.__new__(metaclass, name, resolved, namespace)
    known.__init__(made, name, resolved, namespace)
    return made


def set_enum(made, state):
    set_state, own, members = state
    set_state(made, own)
    for name, kept in members.items():
        vars(made[name]).update(kept)


def import_module(name):
    __import__(name)
    return sys.modules[name]


def set_module(module, state):
    kept, is_known = state
    vars(module).update(kept)
    if is_known:
        sys.modules[module.__name__] = module


def fill_quietly(made, kept):
    state, inside = kept
    own, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    if own:
        object.__getattribute__(made, "__dict__").update(own)
    for name, one in (slots or {}).items():
        object.__setattr__(made, name, one)
    if inside is not None:
        (list.extend if type(inside) is list else dict.update)(made, inside)


def make_lru_cache(function, maxsize, typed):
    return functools.lru_cache(maxsize, typed)(function)


def make_cached_property(kind, function):
    return kind(function)


def set_dict(value, state):
    if state:
        vars(value).update(state)


def make_exception(kind, arguments):
    return kind.__new__(kind, *arguments)


def set_exception(made, state):
    own, made.__cause__, made.__context__, made.__suppress_context__ = state
    vars(made).update(own)


def make_dict_view(owner, name, whole):
    return getattr(owner, name)(whole)


def make_memoryview(whole, at, count, format, shape, readonly):
    made = memoryview(whole).cast("B")[at : at + count].cast(format, shape)
    return made.toreadonly() if readonly else made


def make_dead_reference():
    return weakref.ref(set())


def make_weak_dict(kind, items):
    return kind(items)


def make_polars_frame(columns):
    import polars

    return polars.DataFrame(columns)


def make_polars_series(chunks):
    made = chunks[0].clone()
    for chunk in chunks[1:]:
        made.append(chunk)
    return made


def make_parameter(kind, name):
    made = kind(name)
    made.__module__ = "__main__"
    return made


def make_memmap(filename, dtype, mode, offset, shape, order):
    import numpy

    return numpy.memmap(filename, dtype=dtype, mode=mode, offset=offset, shape=shape, order=order)


def make_view(root, kind, shape, strides, at, dtype, writeable):
    import numpy

    if dtype.hasobject:
        # The same dtype as its root's: only the layout differs.
        plain = numpy.ndarray(shape, dtype, numpy.asarray(root).reshape(-1, order="A"), at, strides)
    else:
        plain = numpy.ndarray(shape, dtype, numpy.asarray(root), at, strides)
    return _finish_array(plain, kind, writeable)


def make_array_over(memory, kind, shape, strides, at, dtype, writeable):
    import numpy

    return _finish_array(numpy.ndarray(shape, dtype, memory, at, strides), kind, writeable)


def make_array(data, shape, dtype, order, kind, writeable):
    import numpy

    made = numpy.empty(shape, dtype, order)
    if data:
        made.reshape(-1, order=order).view(numpy.uint8)[:] = numpy.frombuffer(data, numpy.uint8)
    return _finish_array(made, kind, writeable)


def make_large_array(fill, shape, dtype, order, kind, writeable):
    import numpy

    # numpy's own memory: it can be resized, and large pages are asked for it, which makes later forks cheap.
    made = numpy.empty(shape, dtype, order)
    fill(made.reshape(-1, order=order).view(numpy.uint8))
    return _finish_array(made, kind, writeable)


def _finish_array(made, kind, writeable):
    import numpy

    if kind is not numpy.ndarray:
        made = made.view(kind)
    if not writeable:
        made.flags.writeable = False
    return made


def make_object_array(shape, dtype, order, kind, writeable):
    import numpy

    return _finish_array(numpy.empty(shape, dtype, order), kind, True)


def set_object_array(made, state):
    import numpy

    items, own, writeable = state
    plain = numpy.asarray(made)
    order = "F" if plain.flags.f_contiguous and not plain.flags.c_contiguous else "C"
    flat = plain.reshape(-1, order=order)
    for number, item in enumerate(items):
        flat[number] = item
    if own:
        vars(made).update(own)
    if not writeable:
        made.flags.writeable = False


def fill_with(number):
    """Answers what fills memory with a kept buffer."""
    return functools.partial(fill_with.fill, number)


fill_with.fill = None
fill_with.namespace = None


# -- unpickling -------------------------------------------------------------------------------------------------------


class Records:
    """Reads records that one pickler wrote, one after the other, with one memo."""

    def __init__(self, namespace, fill, buffer):
        fill_with.fill, fill_with.namespace = fill, namespace
        # What makes the memory of a buffer that was pickled out of band, by its number.
        self.buffer = buffer
        self.lost = set()
        self.known = len(pinned(namespace))
        # Records whose objects in the memo are not counted yet: only after an error must that be known.
        self.uncounted = []
        self._begin(pinned(namespace))

    def load(self, record, first_buffer):
        """The object of a record. Any error costs this record, and those that refer to what it had made."""
        if self.lost and self.lost & _referred(record):
            self._lose(record)
            raise ValueError("it holds something that could not be loaded with another name")
        self.source.turn_to(record)
        self.next_buffer = first_buffer
        try:
            value = self.unpickler.load()
        except BaseException:
            self._lose(record)
            raise
        self.uncounted.append(record)
        return value

    def end(self):
        """Lets go of what was read. These hold each other, and what is loaded is never looked at by the collector again: a
        variable that is deleted later would stay in memory."""
        self.unpickler = self.source = None

    def _begin(self, objects):
        self.source = _Source()
        self.unpickler = _Unpickler(self.source, buffers=self._buffers())
        # The memo of the C unpickler cannot be set (what is set is forgotten): it is filled by loading.
        self.unpickler.objects = objects
        for number in range(len(objects)):
            self.source.turn_to(b"\x80\x05J" + number.to_bytes(4, "little") + b"Q\x94.")
            self.unpickler.load()

    def _buffers(self):
        while True:
            self.next_buffer += 1
            yield self.buffer(self.next_buffer - 1)

    def _lose(self, record):
        """A new unpickler stands where the old one would have stood after this record."""
        memo = self.unpickler.memo.copy()
        self.known += sum(_count(one) for one in self.uncounted)
        self.uncounted.clear()
        objects = [memo.get(number) for number in range(self.known)]
        made = _words_and_names(record, objects)
        self.lost.update(len(objects) + number for number, one in enumerate(made) if one is _LOST)
        objects += made
        self.known = len(objects)
        self._begin(objects)


class _Unpickler(pickle.Unpickler):
    objects = ()

    def persistent_load(self, number):
        return self.objects[number]


class _Source:
    """A file that holds one record at a time."""

    def turn_to(self, record):
        self.left = io.BytesIO(record)

    def read(self, count=-1):
        return self.left.read(count)

    def readinto(self, into):
        return self.left.readinto(into)

    def readline(self):
        return self.left.readline()


_LOST = object()


def _opcodes(record):
    import pickletools

    return pickletools.genops(bytes(record))


def _count(record):
    return sum(op.name == "MEMOIZE" for op, _, _ in _opcodes(record))


def _referred(record):
    return {argument for op, argument, _ in _opcodes(record) if op.name in ("BINGET", "LONG_BINGET")}


def _words_and_names(record, objects):
    """What a record that failed put into the memo, as far as it is text or can be imported: other records use it, too."""
    made, last = [], [_LOST, _LOST]
    for op, argument, _ in _opcodes(record):
        if op.name == "MEMOIZE":
            made.append(last[-1])
            continue
        if "UNICODE" in op.name:
            one = argument
        elif op.name in ("BINGET", "LONG_BINGET"):
            one = objects[argument] if argument < len(objects) else made[argument - len(objects)]
        elif op.name == "STACK_GLOBAL":
            one = _import_name(*last)
        elif op.name in ("FRAME", "PROTO"):
            continue
        else:
            one = _LOST
        last = [last[-1], one]
    return made


def _import_name(module, name):
    if type(module) is not str or type(name) is not str:
        return _LOST
    try:
        found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found
    except BaseException:
        return _LOST
