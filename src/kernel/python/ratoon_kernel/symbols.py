"""Finds the variables that a cell has read, assigned and deleted.

Clients use this result to skip cells whose inputs are unchanged. Assignments and deletions are
found by comparing the namespace before the cell with the namespace after it. Observing reads would
slow down every use of a name, so they are found in the code: the names that a statement loads, and
the names that the functions reachable through these names load. If code can read variables without
naming them (`globals()`, `eval`), all variables count as read. An unnecessary name makes a client
run a cell again, but a missing name would make the client show a stale result.
"""

import ast
import builtins
import functools
import gc
import opcode
import re
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from . import shell as kernel_shell
from . import variables
from ._native import note
from .classes import module_of

# Maximum number of objects that are searched for functions for one statement. If there are more,
# all variables count as read.
MAX_OBJECTS = 5000
# Maximum number of characters of a string that are searched for names.
MAX_TEXT = 100_000
# Maximum number of items of a container that are searched.
MAX_ITEMS = 1000

# Code that uses one of these names may read variables whose names do not occur in the code.
_READS_ALL = frozenset(
    "globals locals vars dir eval exec __main__ _getframe _current_frames currentframe f_globals"
    " f_locals f_back __globals__ user_ns user_global_ns user_module run_cell".split()
)
# Code that uses one of these names may read variables whose names occur in its strings:
# `df.query("a > @x")`, `%timeit x`.
_READS_BY_TEXT = frozenset({"query", "get_ipython", "sql"})
# Magics that can read all variables.
_MAGICS_OF_ALL = frozenset(
    "who whos who_ls run store rerun recall macro debug save notebook logstart reset"
    " reset_selective".split()
)
_WORD = re.compile(r"[^\W\d]\w*")

_OPS = opcode.opmap
_LOADS = {
    _OPS[op] for op in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS") if op in _OPS
}
_LOAD_GLOBAL = _OPS["LOAD_GLOBAL"]
_STORES = {_OPS["STORE_NAME"], _OPS["STORE_GLOBAL"]}
_DELETES = {_OPS["DELETE_NAME"], _OPS["DELETE_GLOBAL"]}
_EXTENDED = _OPS["EXTENDED_ARG"]
_JUMPS = frozenset(opcode.hasjrel) | frozenset(opcode.hasjabs)
# Since Python 3.11, the lowest bit of the argument of LOAD_GLOBAL is a flag and not a part of the
# name's index.
_GLOBAL_SHIFT = 1 if sys.version_info >= (3, 11) else 0
# A statement that consists only of these instructions defines, imports or assigns constants. It
# runs no function of the notebook.
_INERT = frozenset(
    _OPS[op]
    for op in (
        "CACHE RESUME NOP LOAD_CONST LOAD_SMALL_INT LOAD_COMMON_CONSTANT MAKE_FUNCTION"
        " SET_FUNCTION_ATTRIBUTE STORE_NAME STORE_GLOBAL DELETE_NAME LOAD_NAME RETURN_VALUE"
        " RETURN_CONST IMPORT_NAME IMPORT_FROM POP_TOP BUILD_TUPLE BUILD_MAP BUILD_CONST_KEY_MAP"
        " EXTENDED_ARG COPY PUSH_NULL LOAD_BUILD_CLASS SETUP_ANNOTATIONS NOT_TAKEN"
    ).split()
    if op in _OPS
)
_CALLS = frozenset(_OPS[op] for op in ("PRECALL", "CALL", "CALL_FUNCTION") if op in _OPS)
_OPTIMIZED = 0x1

_PLAIN = frozenset(
    {
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        bytearray,
        range,
        slice,
        type(Ellipsis),
        types.BuiltinFunctionType,
        types.ModuleType,
        types.CodeType,
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        types.WrapperDescriptorType,
        types.MethodDescriptorType,
        types.MethodWrapperType,
    }
)
# The name of a function in `builtins`. Code that `Tracker.mark` has changed calls this function to
# report that it deletes a name.
_DELETED = "__ratoon_deleted__"
_COMPOUND = tuple(
    getattr(ast, kind)
    for kind in "If For AsyncFor While Try TryStar With AsyncWith Match".split()
    if hasattr(ast, kind)
)

# Objects of these libraries contain data, but no functions of the notebook, so they are not
# searched.
_DATA_LIBRARIES = frozenset("numpy pandas polars pyarrow torch scipy PIL datetime decimal".split())


class Tracker:
    """Records what one cell reads, assigns and deletes."""

    def __init__(self) -> None:
        self.namespace = kernel_shell.shell.user_ns
        self.before = note(self.namespace)
        self.loaded: set[str] = set()
        self.stored: set[str] = set()
        self.deleted: set[str] = set()
        # Names that a statement may or may not assign, depending on its branches.
        self.unsure: set[str] = set()
        # Loaded names whose values must still be searched for functions.
        self.pending: set[str] = set()
        self.reads_all = False
        self.walk = _Walk(self)

    def mark(self, tree: Any) -> None:
        """Changes compound statements so that they report each name that they delete, because the
        deleted names depend on the branches that run. `except … as name` also deletes a name. Such
        a name may exist neither before nor after the cell, so a comparison would not show it."""
        for statement in tree.body:
            if isinstance(statement, _COMPOUND) and _Marking().marks(statement):
                setattr(builtins, _DELETED, self.deleted.add)

    def statement(self, code: types.CodeType) -> None:
        """Scans the code of a statement. Called right before the statement runs."""
        try:
            self._scan(code, True)
            self.walk.go()
        except Exception:
            # The bytecode has an unexpected form.
            self.reads_all = True

    def read(self, code: types.CodeType) -> None:
        """Scans the code of a function that the cell can reach by a name."""
        loads, _, _, _, words, inner = _parts(code)
        self._take(loads, words, code)
        for one in inner:
            self.read(one)

    def _scan(self, code: types.CodeType, is_whole: bool) -> None:
        """Scans code that certainly runs: the code of a statement or of a class body."""
        loads, stores, deletes, is_straight, words, inner = _parts(code)
        self._take(loads, words, code)
        if is_whole:
            self.stored |= stores
            self.deleted |= deletes if is_straight else set()
            if not is_straight:
                self.unsure |= stores
        runs = not _is_inert(code)
        for one in inner:
            if not one.co_flags & _OPTIMIZED:
                self._scan(one, False)
            elif runs:
                self.read(one)

    def _take(self, loads: set[str], words: frozenset[str], code: types.CodeType) -> None:
        self._load(loads)
        # A user's variable that has one of these names is not the builtin and does not count.
        if any(word not in loads or word not in self.namespace for word in words & _READS_ALL):
            self.reads_all = True
        if words & _READS_BY_TEXT:
            self.by_text(one for one in code.co_consts if type(one) is str)
            self.by_text(value for value in map(self.namespace.get, loads) if type(value) is str)

    def _load(self, names: set[str]) -> None:
        self.loaded |= names
        self.pending |= names

    def by_text(self, texts: Iterable[str]) -> None:
        for text in texts:
            named = set(_WORD.findall(text[:MAX_TEXT]))
            self._load(named)
            if named & (_MAGICS_OF_ALL | _READS_ALL):
                self.reads_all = True

    def end(self) -> Any:
        """Returns {"accessed", "modified", "deleted"}. Each entry is a sorted list of names."""
        vars(builtins).pop(_DELETED, None)
        added, changed, gone = map(set, self.before.changes(self.namespace))
        now = set(self.namespace)
        kept = (now - added) | gone
        same = (self.stored & now) - added - changed
        accessed = (
            kept
            if self.reads_all or any(variables.is_shells(name) for name in self.loaded & kept)
            else self.loaded & kept
        )
        # These names have their old value and are assigned only in some branches. If another branch
        # ran, the value after the cell depends on the value before it, so the names count as read.
        accessed = accessed | (same & self.unsure & kept)
        deleted = gone | (self.deleted - now)
        return {
            "accessed": _sorted(accessed),
            "modified": _sorted(added | changed | same),
            "deleted": _sorted(deleted),
        }


class _Marking(ast.NodeTransformer):
    """Inserts a call next to each deletion of a name. The call reports the name."""

    def __init__(self) -> None:
        self.is_marked = False

    def marks(self, statement: ast.stmt) -> bool:
        self.visit(statement)
        return self.is_marked

    def visit_Delete(self, node: Any) -> Any:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        return [node, *(self.deletion_call(name, node) for name in names)]

    def visit_ExceptHandler(self, node: Any) -> Any:
        self.generic_visit(node)
        if node.name:
            node.body.insert(0, self.deletion_call(node.name, node.body[0]))
        return node

    def deletion_call(self, name: str, beside: Any) -> Any:
        self.is_marked = True
        call = ast.Call(ast.Name(_DELETED, ast.Load()), [ast.Constant(name)], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), beside))

    def leave(self, node: Any) -> Any:
        """Returns functions and classes unchanged. Names in them are local, or are deleted later,
        when a function is called."""
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = leave


class _Walk:
    """Finds the functions of the notebook that a value can reach."""

    def __init__(self, tracker: Any) -> None:
        self.tracker = tracker
        self.seen: dict[int, object] = {}
        self.left = MAX_OBJECTS

    def go(self) -> None:
        """Searches the values of the pending names. Functions that it finds add pending names.
        Repeats until no name is pending.

        Keeps no reference to an object afterwards, so an object that the statement deletes is freed
        immediately, as without a tracker."""
        tracker = self.tracker
        self.left = MAX_OBJECTS
        while tracker.pending and not tracker.reads_all:
            self.value(tracker.namespace.get(tracker.pending.pop()))
        self.seen.clear()

    def value(self, value: Any) -> None:
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if type(one) in _PLAIN or id(one) in self.seen:
                continue
            self.left -= 1
            if self.left < 0:
                self.tracker.reads_all = True
                return
            # The reference keeps the object alive, so that no other object gets its address.
            self.seen[id(one)] = one
            waiting += self._behind(one)

    def _behind(self, one: Any) -> Any:
        kind = type(one)
        if kind is types.FunctionType:
            return self._function(one)
        if issubclass(kind, type):
            return self._class(one)
        if kind in (list, tuple, set, frozenset):
            return list(one)[:MAX_ITEMS] if len(one) > MAX_ITEMS else list(one)
        if kind is dict:
            return (
                []
                if one is self.tracker.namespace
                else [*list(one)[:MAX_ITEMS], *list(one.values())[:MAX_ITEMS]]
            )
        if kind is types.MethodType:
            return [one.__func__, one.__self__]
        if kind is functools.partial:
            return [one.func, one.args, one.keywords]
        module = module_of(kind)
        if module.partition(".")[0] in _DATA_LIBRARIES:
            return []
        # Avoids `vars(one)`, which could run user code.
        return [kind, *gc.get_referents(one)] if module == "__main__" else gc.get_referents(one)

    def _function(self, one: Any) -> Any:
        home = one.__globals__
        if home is self.tracker.namespace:
            self.tracker.read(one.__code__)
        return [
            part
            for part in gc.get_referents(one)
            if part is not home and part is not one.__builtins__
        ]

    def _class(self, one: Any) -> Any:
        if module_of(one) != "__main__":
            return []
        return [
            *type.__dict__["__dict__"].__get__(one).values(),
            *type.__dict__["__mro__"].__get__(one)[1:],
            type(one),
        ]


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yields a node and its descendants, in the order of the text. `ast.walk` imports a module, and
    a cell may have cleared `sys.modules`.
    """
    nodes = [node]
    while nodes:
        yield (node := nodes.pop())
        nodes.extend(reversed(list(ast.iter_child_nodes(node))))


def reach(names: Iterable[Any]) -> Any:
    """Returns these names, and the names that functions reachable through them load. Returns None
    if the functions may read any variable."""
    tracker = Tracker()
    try:
        tracker._load(set(names))
        tracker.walk.go()
    except Exception:
        return None
    return None if tracker.reads_all else tracker.loaded


def _sorted(names: Iterable[Any]) -> list[str]:
    hidden, namespace = kernel_shell.shell.user_ns_hidden, kernel_shell.shell.user_ns

    def is_hidden(name: str) -> bool:
        # For example `open`, which IPython defines.
        return name in hidden and namespace.get(name) is hidden[name]

    return sorted(
        name
        for name in names
        if type(name) is str and variables.is_users_name(name) and not is_hidden(name)
    )


def _is_inert(code: types.CodeType) -> bool:
    return all(op in _INERT or (op in _CALLS and _makes_class(code)) for op in code.co_code[::2])


def _makes_class(code: types.CodeType) -> bool:
    """Whether the only call of a statement is the call that runs a class body."""
    raw = code.co_code[::2]
    calls = sum(op in _CALLS and opcode.opname[op].startswith("CALL") for op in raw)
    return calls == 1 and _OPS["LOAD_BUILD_CLASS"] in raw


def _parts(code: types.CodeType) -> Any:
    """Returns (loads, stores, deletes, is_straight, words, inner). The first three are sets of
    names. `is_straight`: the code has no jumps and no exception handlers. `words` are the names and
    attributes that the code uses other than by assigning them. `inner` are nested code objects."""
    loads, stores, deletes, argument, raw, is_straight = set(), set(), set(), 0, code.co_code, True
    for at in range(0, len(raw), 2):
        op = raw[at]
        argument |= raw[at + 1]
        if op == _EXTENDED:
            argument <<= 8
            continue
        if op in _LOADS:
            loads.add(code.co_names[argument >> _GLOBAL_SHIFT if op == _LOAD_GLOBAL else argument])
        elif op in _STORES:
            stores.add(code.co_names[argument])
        elif op in _DELETES:
            deletes.add(code.co_names[argument])
        elif op in _JUMPS:
            is_straight = False
        argument = 0
    is_straight = is_straight and not getattr(code, "co_exceptiontable", b"")
    words = frozenset(code.co_names) - (stores - loads - {"__main__"}) - {"__name__"}
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return loads - {"__name__"}, stores, deletes, is_straight, words, inner
