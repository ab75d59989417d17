"""Finds what a sweep can change in a cell, and checks the sources that a sweep puts there. Runs
nothing.

The syntax tree is read without recursion, because a long sum is a deep tree.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import json
import re
import types
import warnings
from bisect import bisect_right
from typing import Any, NamedTuple

from . import sampling, syntax, variables
from . import shell as kernel_shell
from .classes import name_of
from .text import MAX_NAME_CHARACTERS, short, to_json

# Cell magics whose text is code that runs with the user's variables.
_CODE_MAGIC = re.compile(r"\s*%%(?:time|capture)\b[^\n]*\n")
_CELL_MAGIC = re.compile(r"\s*%%\w")
# Texts that IPython may treat as prompts although they are valid Python.
_PROMPTS = ("...", ">>>", "In [")
_LINE_END = re.compile("\r\n|\r|\n")
# Maximum length of a cell that IPython has to translate, in characters. Its tokenizer takes a
# second for that.
_MAX_TRANSLATED = 200_000
_NOT_TRANSLATED = f" (magics work only in cells of at most {_MAX_TRANSLATED:,} characters here)"

# Reasons why a name cannot be a parameter.
_MORE_THAN_ONCE = "is assigned more than once"
_COMPUTED = "is computed, not a literal"
_TOGETHER = "is assigned together with other names"
_IN_BLOCK = "is assigned inside a block"
_IN_EXPRESSION = "is assigned inside an expression"
_IN_FUNCTION = "is assigned by a function of the cell"
_IN_PLACE = "is changed in place"
_DELETED = "is deleted by the cell"
_LOOP = "is the variable of a loop"
_WITH = "is set by a `with` statement"
_EXCEPT = "is set by an `except` clause"
_MATCH = "is set by a `match` statement"
_IMPORTED = "is imported by the cell"
_FUNCTION = "is a function that the cell defines"
_CLASS = "is a class that the cell defines"
_TYPE = "is a type that the cell defines"
_OF_IPYTHON = "is a name of Python or IPython"
_TRANSLATED = "is in a line that IPython translates"

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NAMES_OF_PATTERNS = {"MatchAs": "name", "MatchStar": "name", "MatchMapping": "rest"}


def find(request: str) -> str:
    """Answers `Question::Parameters`, as JSON. Returns JSON: `CodeParameters`."""
    asked = json.loads(request)["parameters"]
    code, values, metric = asked["code"], asked["values"], asked.get("metric")
    with warnings.catch_warnings():
        # Invalid escape sequences, `assert (1, "text")`, …
        warnings.simplefilter("ignore")
        error, cell = _read(code, "the cell")
        if error is None and asked.get("rung") is not None:
            error, _ = _read(asked["rung"], "the cell of the rungs")
        found = _parameters(cell) if cell else _Found([], [], {}, set())
        checks = {value: _why_no_value(value, found.assigned) for value in dict.fromkeys(values)}
        return to_json(
            {
                "parameters": found.parameters,
                "reads": found.reads,
                "obstacles": found.obstacles,
                "syntax_error": error,
                "values": [checks[value] for value in values],
                "metric": None if metric is None else _why_no_metric(metric, cell, found),
                "sampler": sampling.why_missing() if asked.get("draws") else None,
            }
        )


class _Cell(NamedTuple):
    code: str
    # Where the part of the code begins that was read, after the lines of cell magics.
    begin: int
    # The code as IPython runs it, from `begin`.
    run: str
    tree: ast.Module


class _Found(NamedTuple):
    parameters: list[dict[str, Any]]
    reads: list[str]
    obstacles: dict[str, str]
    assigned: set[str]


# -- the code --------------------------------------------------------------------------------------


def _read(code: str, which: str) -> tuple[str | None, _Cell | None]:
    """Returns the syntax error of a cell, as a sentence, and the cell. One of them is None, or both
    if the cell is not Python."""
    begin = 0
    while begun := _CODE_MAGIC.match(code, begin):
        begin = begun.end()
    part = run = code[begin:]
    try:
        try:
            tree = _parse(part)
            is_translated = any(prompt in part for prompt in _PROMPTS)
        except SyntaxError as error:
            is_translated = True
            if len(part) > _MAX_TRANSLATED:
                line = len(_LINE_END.findall(code[:begin])) + (error.lineno or 1)
                return f"line {line} of {which}: {error.msg}{_NOT_TRANSLATED}", None
        if is_translated:
            problem = syntax.problem(part)
            if problem is not None:
                line = len(_LINE_END.findall(code[: begin + problem["from"]])) + 1
                return f"line {line} of {which}: {problem['message']}", None
            run = kernel_shell.shell.input_transformer_manager.transform_cell(part)
            tree = _parse(run)
    except (RecursionError, MemoryError):
        return f"{which} is nested too deeply", None
    except Exception:  # a transformer of the user may raise anything
        return f"{which} cannot be read", None
    return None, None if _CELL_MAGIC.match(part) else _Cell(code, begin, run, tree)


def _parse(code: str) -> ast.Module:
    """Returns the syntax tree of code that compiles. `return` outside a function is an error of the
    compiler, and not of the parser."""
    flags = syntax.flags()
    compile(code, "<cell>", "exec", flags, dont_inherit=True)
    tree = compile(code, "<cell>", "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    return tree


class _Places:
    """Converts positions of a syntax tree to code points."""

    def __init__(self, text: str) -> None:
        self._text = text
        ends = [one.end() for one in _LINE_END.finditer(text)]
        self._starts = [0, *ends]
        # The line that was converted last, and where its characters begin in UTF-8.
        self._known: tuple[int, list[int]] | None = None

    def of(self, line: int, column: int) -> int:
        start = self._starts[line - 1]
        end = self._starts[line] if line < len(self._starts) else len(self._text)
        if self._known is None or self._known[0] != line:
            letters = self._text[start:end]
            sizes = [] if letters.isascii() else [len(letter.encode()) for letter in letters]
            self._known = line, list(itertools.accumulate(sizes))
        bytes_before = self._known[1]
        return start + (bisect_right(bytes_before, column) if bytes_before else column)

    def range_of(self, node: Any) -> tuple[int, int]:
        return (
            self.of(node.lineno, node.col_offset),
            self.of(node.end_lineno, node.end_col_offset),
        )


class _Translation:
    """Converts positions in the code that IPython runs to positions in the code as it was sent."""

    def __init__(self, cell: _Cell) -> None:
        sent = cell.code[cell.begin :]
        self._cell, self._is_same = cell, cell.run == sent
        if self._is_same:
            return
        lines, run = sent.split("\n"), cell.run.split("\n")
        originals = syntax.original_lines(lines, run)
        self._starts = [0, *itertools.accumulate(len(line) + 1 for line in run)]
        starts = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
        # For each line that runs: the offset of its text from the line that was sent. None for a
        # line that IPython wrote.
        self._shifts: list[int | None] = []
        for index, original in enumerate(originals):
            if original is None:
                self._shifts.append(None)
                continue
            # IPython removes the indentation that all lines have in common.
            indent = _indent(lines[original]) - _indent(run[index])
            self._shifts.append(starts[original] + indent - self._starts[index])

    def original(self, begin: int, end: int) -> tuple[int, int] | None:
        if self._is_same:
            return self._cell.begin + begin, self._cell.begin + end
        first, last = (self._shift(at) for at in (begin, end))
        if first is None or last is None:
            return None
        offset = self._cell.begin
        return offset + begin + first, offset + end + last

    def _shift(self, at: int) -> int | None:
        index = bisect_right(self._starts, at) - 1
        return self._shifts[index] if index < len(self._shifts) else None

    def are_right(self, ranges: dict[str, tuple[int, int]]) -> set[str]:
        """Returns the names whose values are where `original` says. Puts something else there, and
        looks whether IPython then runs just that."""
        if self._is_same:
            return set(ranges)
        code, parts, at = self._cell.code, [], self._cell.begin
        marks = {name: f"_ratoon_{number}_" for number, name in enumerate(ranges)}
        for name, (begin, end) in sorted(ranges.items(), key=lambda one: one[1]):
            if begin < at:
                return set()
            parts += [code[at:begin], marks[name]]
            at = end
        text = "".join([*parts, code[at:]])
        try:
            tree = _parse(kernel_shell.shell.input_transformer_manager.transform_cell(text))
        except Exception:
            return set()
        return {
            target.id
            for target, value in filter(None, map(_simple_assignment, tree.body))
            if isinstance(value, ast.Name) and marks.get(target.id) == value.id
        }


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


# -- parameters ------------------------------------------------------------------------------------


def _parameters(cell: _Cell) -> _Found:
    names = _Names(cell.tree)
    assigned, places, translation = names.assigned(), _Places(cell.run), _Translation(cell)
    simple = {}
    for statement in cell.tree.body:
        one = _simple_assignment(statement)
        if one is not None:
            simple[one[0].id] = one[1]
    parameters: list[dict[str, Any]] = []
    ranges, obstacles = {}, {}
    for name, reasons in assigned.items():
        reason = reasons[0] if len(reasons) == 1 else _MORE_THAN_ONCE
        value = simple.get(name) if not reason else None
        kind = _kind_of(value) if value is not None else None
        if not variables.is_users_name(name):
            reason = _OF_IPYTHON
        if reason or kind is None or value is None:
            obstacles[name] = reason or _COMPUTED
            continue
        begin, end = places.range_of(value)
        place = translation.original(begin, end)
        if place is None:
            obstacles[name] = _TRANSLATED
            continue
        ranges[name] = place
        parameters.append(
            {
                "name": name,
                "value": cell.code[place[0] : place[1]],
                "type": kind,
                "from": place[0],
                "to": place[1],
            }
        )
    right = translation.are_right(ranges)
    obstacles.update((name, _TRANSLATED) for name in ranges if name not in right)
    parameters = [one for one in parameters if one["name"] in right]
    parameters.sort(key=lambda one: one["from"])
    # An assignment above a cell magic would be an error.
    reads = [] if cell.begin else _reads(names.read(), assigned)
    return _Found(parameters, reads, obstacles, set(assigned))


def _simple_assignment(statement: ast.stmt) -> tuple[ast.Name, ast.expr] | None:
    """Returns the name and the value of `name = value` and of `name: type = value`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
    else:
        return None
    value = statement.value
    return (target, value) if isinstance(target, ast.Name) and value is not None else None


def _kind_of(value: ast.expr) -> str | None:
    """Returns the type of a literal, or "name" for a name or a name with dots. Returns None for all
    other expressions."""
    if isinstance(value, (ast.Name, ast.Attribute)):
        return "name" if _first_name(value) is not None else None
    kind, stack = _type_of(value), [value]
    while stack:
        one = stack.pop()
        if _type_of(one) is None:
            return None
        if isinstance(one, (ast.Tuple, ast.List, ast.Set)):
            stack += one.elts
        elif isinstance(one, ast.Dict):
            if None in one.keys:
                return None
            stack += [*filter(None, one.keys), *one.values]
    return kind


def _first_name(value: ast.expr) -> str | None:
    while isinstance(value, ast.Attribute):
        value = value.value
    return value.id if isinstance(value, ast.Name) else None


def _type_of(value: ast.expr) -> str | None:
    if isinstance(value, ast.Constant):
        return type(value.value).__name__
    if isinstance(value, (ast.Tuple, ast.List, ast.Set, ast.Dict)):
        return type(value).__name__.lower()
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        is_complex = _number_type(value.left) in ("int", "float") and (
            isinstance(value.right, ast.Constant) and type(value.right.value) is complex
        )
        return "complex" if is_complex else None
    return _number_type(value)


def _number_type(value: ast.expr) -> str | None:
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, (ast.UAdd, ast.USub)):
        value = value.operand
    number = value.value if isinstance(value, ast.Constant) else None
    return type(number).__name__ if type(number) in (int, float, complex) else None


def _reads(names: list[str], assigned: dict[str, list[str]]) -> list[str]:
    users = dict(variables.variables())
    return [
        name
        for name in names
        if name in users and name not in assigned and not _is_defined(name, users[name])
    ]


def _is_defined(name: str, value: Any) -> bool:
    """Whether a variable is a module, or a function or class under its own name."""
    if isinstance(value, type):
        return name_of(value) == name
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
        return value.__name__ == name
    return isinstance(value, types.ModuleType)


class _Scope:
    """What a module, a function, a class or a comprehension does with names."""

    def __init__(self, parent: _Scope | None, kind: str) -> None:
        self.parent, self.kind = parent, kind
        # For each name: why it cannot be a parameter. An empty text if nothing is known against it.
        self.bound: dict[str, list[str]] = {}
        # For each name: where it is first read.
        self.read: dict[str, tuple[int, int]] = {}
        self.globals: set[str] = set()

    def bind(self, name: str, reason: str) -> None:
        self.bound.setdefault(name, []).append(reason)

    def is_global(self, name: str) -> bool:
        """Whether a name that this scope reads is a variable of the module."""
        scope: _Scope | None = self
        while scope is not None and scope.kind != "module":
            if name in scope.globals:
                return True
            if name in scope.bound and (scope is self or scope.kind != "class"):
                return False
            scope = scope.parent
        return True


class _Names:
    """Which names the code of a cell assigns and reads."""

    def __init__(self, tree: ast.Module) -> None:
        self._module = _Scope(None, "module")
        self._scopes = [self._module]
        # Nodes that are still to be read: each with its scope, and with the reason for names that
        # are stored below it. The statements of the cell itself have an empty reason.
        self._stack: list[tuple[ast.AST, _Scope, str]] = []
        self._push(tree.body, self._module, "")
        while self._stack:
            self._visit(*self._stack.pop())

    def assigned(self) -> dict[str, list[str]]:
        found = {name: list(reasons) for name, reasons in self._module.bound.items()}
        for scope in self._scopes[1:]:
            for name in scope.globals & scope.bound.keys():
                found.setdefault(name, []).append(_IN_FUNCTION)
        return found

    def read(self) -> list[str]:
        """Returns the variables that the cell reads, in the order of their first use."""
        first: dict[str, tuple[int, int]] = {}
        for scope in self._scopes:
            for name, place in scope.read.items():
                if scope.is_global(name):
                    first[name] = min(place, first.get(name, place))
        return sorted(first, key=lambda name: first[name])

    def _push(self, nodes: Any, scope: _Scope, reason: str) -> None:
        some = nodes if isinstance(nodes, list) else [nodes]
        self._stack += [(node, scope, reason) for node in reversed(some) if node is not None]

    def _inside(self, scope: _Scope, kind: str) -> _Scope:
        made = _Scope(scope, kind)
        self._scopes.append(made)
        return made

    def _visit(self, node: ast.AST, scope: _Scope, reason: str) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                scope.read.setdefault(node.id, (node.lineno, node.col_offset))
            else:
                scope.bind(node.id, reason)
        elif isinstance(node, ast.stmt):
            self._visit_statement(node, scope, reason)
        elif isinstance(node, ast.Lambda):
            self._visit_function(node.args, [node.body], scope, scope)
        elif isinstance(node, _COMPREHENSIONS):
            self._visit_comprehension(node, scope)
        elif isinstance(node, ast.NamedExpr):
            self._push(node.value, scope, reason)
            while scope.kind == "comprehension" and scope.parent is not None:
                scope = scope.parent
            self._push(node.target, scope, _IN_EXPRESSION)
        elif isinstance(node, ast.ExceptHandler):
            if node.name:
                scope.bind(node.name, _EXCEPT)
            self._push(list(ast.iter_child_nodes(node)), scope, _IN_BLOCK)
        else:
            name = getattr(node, _NAMES_OF_PATTERNS.get(type(node).__name__, ""), None)
            if name:
                scope.bind(name, _MATCH)
            self._push(list(ast.iter_child_nodes(node)), scope, reason)

    def _visit_statement(self, node: ast.stmt, scope: _Scope, reason: str) -> None:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            self._visit_assignment(node, scope, reason)
        elif isinstance(node, ast.AugAssign):
            self._push([node.target, node.value], scope, _IN_PLACE)
        elif isinstance(node, ast.Delete):
            self._push([*node.targets], scope, _DELETED)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._push(node.target, scope, _LOOP)
            self._push([node.iter, *node.body, *node.orelse], scope, _IN_BLOCK)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self._push(item.optional_vars, scope, _WITH)
                self._push(item.context_expr, scope, _IN_BLOCK)
            self._push([*node.body], scope, _IN_BLOCK)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                scope.bind(alias.asname or alias.name.partition(".")[0], _IMPORTED)
        elif isinstance(node, ast.Global):
            scope.globals.update(node.names)
        elif isinstance(node, _FUNCTIONS):
            scope.bind(node.name, _FUNCTION)
            self._push([*node.decorator_list], scope, _IN_BLOCK)
            outer = self._scope_of_types(node, scope)
            self._push(node.returns, outer, _IN_BLOCK)
            self._visit_function(node.args, node.body, scope, outer)
        elif isinstance(node, ast.ClassDef):
            scope.bind(node.name, _CLASS)
            self._push([*node.decorator_list], scope, _IN_BLOCK)
            outer = self._scope_of_types(node, scope)
            self._push([*node.bases, *node.keywords], outer, _IN_BLOCK)
            self._push([*node.body], self._inside(outer, "class"), _IN_BLOCK)
        elif type(node).__name__ == "TypeAlias":
            alias_name: Any = getattr(node, "name")
            scope.bind(alias_name.id, _TYPE)
            self._push(getattr(node, "value"), self._scope_of_types(node, scope), _IN_BLOCK)
        else:
            self._push(list(ast.iter_child_nodes(node)), scope, _IN_BLOCK)

    def _visit_assignment(
        self, node: ast.Assign | ast.AnnAssign, scope: _Scope, reason: str
    ) -> None:
        self._push(node.value, scope, _IN_BLOCK)
        if isinstance(node, ast.AnnAssign):
            self._push(node.annotation, scope, _IN_BLOCK)
            if node.value is None and isinstance(node.target, ast.Name):
                return
        is_simple = _simple_assignment(node) is not None
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        self._push([*targets], scope, reason if is_simple or reason else _TOGETHER)

    def _visit_function(
        self, arguments: ast.arguments, body: list[Any], scope: _Scope, outer: _Scope
    ) -> None:
        inner = self._inside(outer, "function")
        self._push([*arguments.defaults, *arguments.kw_defaults], scope, _IN_BLOCK)
        for one in [
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            *filter(None, [arguments.vararg, arguments.kwarg]),
        ]:
            inner.bind(one.arg, _IN_FUNCTION)
            self._push(one.annotation, outer, _IN_BLOCK)
        self._push([*body], inner, _IN_BLOCK)

    def _visit_comprehension(self, node: Any, scope: _Scope) -> None:
        inner = self._inside(scope, "comprehension")
        for index, one in enumerate(node.generators):
            self._push(one.iter, inner if index else scope, _IN_BLOCK)
            self._push([one.target, *one.ifs], inner, _LOOP)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._push(parts, inner, _IN_BLOCK)

    def _scope_of_types(self, node: Any, scope: _Scope) -> _Scope:
        """Returns the scope of `[T]` in `def f[T](): …`, if there is one."""
        types_of = getattr(node, "type_params", None)
        if not types_of:
            return scope
        made = self._inside(scope, "function")
        for one in types_of:
            made.bind(one.name, _TYPE)
            self._push(list(ast.iter_child_nodes(one)), made, _IN_BLOCK)
        return made


# -- values and the metric -------------------------------------------------------------------------


def _why_no_value(text: str, assigned: set[str]) -> str | None:
    """Returns why a source cannot be the value of a parameter, as a part of a sentence; or None."""
    # A value of several lines would lose the indentation of the cell, or what looks like a prompt.
    if "\n" in text or "\r" in text:
        return "has several lines"
    tree = _expression(text.strip())
    if isinstance(tree, str):
        return tree
    # A comment would hide what follows the value in its line.
    if isinstance(_expression(f"({text})"), str):
        return "ends with a comment"
    if _kind_of(tree) is None:
        return "is neither a literal nor the name of a variable"
    name = _first_name(tree)
    if name is None or name in assigned or hasattr(builtins, name):
        return None
    if name in kernel_shell.shell.user_ns:
        return None
    return f"is unknown: no variable is called `{short(name, MAX_NAME_CHARACTERS)}`"


def _why_no_metric(text: str, cell: _Cell | None, found: _Found) -> str | None:
    """Returns why a text cannot be the metric of a cell, as a part of a sentence; or None. Finds
    unknown names before any row runs, because each row would fail to evaluate the metric."""
    tree = _expression(text.strip())
    if isinstance(tree, str):
        return tree
    if any(isinstance(node, ast.NamedExpr) for node in ast.walk(tree)):
        return "assigns a variable"
    if cell is None or _may_set_any_name(cell):
        return None
    for name in _Names(ast.Module([ast.Expr(tree)], [])).read():
        is_known = name in found.assigned or name in kernel_shell.shell.user_ns
        if not is_known and not hasattr(builtins, name):
            name = short(name, MAX_NAME_CHARACTERS)
            return f"reads `{name}`, which neither the cell nor its state has"
    return None


def _may_set_any_name(cell: _Cell) -> bool:
    """Whether a cell may set variables that its code does not name: by magics, `exec` or
    `from module import *`."""
    if cell.run != cell.code[cell.begin :]:
        return True
    for node in ast.walk(cell.tree):
        if isinstance(node, ast.alias) and node.name == "*":
            return True
        if isinstance(node, ast.Name) and node.id in ("exec", "globals", "get_ipython"):
            return True
    return False


def _expression(text: str) -> ast.expr | str:
    """Returns the syntax tree of an expression, or why there is none."""
    if not text:
        return "is empty"
    try:
        # `await` outside a function is an error of the compiler, and not of the parser.
        compile(text, "<expression>", "eval", dont_inherit=True)
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        return _why_invalid(text, error)
    except (RecursionError, MemoryError):
        return "is nested too deeply"
    except ValueError as error:  # null characters, lone surrogates
        return f"is not an expression: {error}"
    return tree.body


def _why_invalid(text: str, error: SyntaxError) -> str:
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        statements = None
    if statements == []:
        return "is empty"
    if statements is None or (len(statements) == 1 and isinstance(statements[0], ast.Expr)):
        message = short(error.msg or "invalid syntax", MAX_NAME_CHARACTERS)
        return f"is not an expression: {message}"
    is_assignment = isinstance(statements[0], (ast.Assign, ast.AnnAssign, ast.AugAssign))
    return f"is {'an assignment' if is_assignment else 'a statement'}, not an expression"
