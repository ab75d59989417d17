"""Completes import statements without importing anything: modules and submodules of the
environment, and the names in a module.

A loaded module has its names in memory. The names of any other module are read from its source."""

import ast
import functools
import importlib.machinery
import importlib.util
import os
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType

# How many bytes of source are read for one module. Parsing takes some 0.1 s for each 100 KB.
_MAX_SOURCE_BYTES = 200_000
# How many modules deep `from x import *` is followed.
_MAX_DEPTH = 3
# Directories that may be packages without `__init__.py`, and are not.
_NO_PACKAGES = ("__pycache__",)

_STATEMENT = re.compile(
    r"(?:^|[\n;])[ \t]*"
    r"(?:from[ \t]+(?P<module>[\w.]+)[ \t]+import[ \t]*(?P<names>\([^()#]*|[^()\n;#]*)"
    r"|from[ \t]+(?P<source>[\w.]*)(?P<rest>[ \t]+\w*)?"
    r"|import[ \t]+(?P<modules>[^\n;#()]*))\Z"
)

Found = list[tuple[str, str]]


def complete_import(code: str, cursor: int) -> tuple[int, Found] | None:
    """Returns completions if the cursor is in an import statement: where the completed name begins,
    and a list of (text, kind). Returns None elsewhere."""
    statement = _STATEMENT.search(code, 0, cursor)
    if statement is None:
        return None
    if statement["module"] is not None:
        typed = _last_name(statement["names"].lstrip("("))
        names = [] if typed is None else names_in(statement["module"])
    elif statement["rest"] is not None:
        typed = statement["rest"].strip()
        names = [("import", "keyword")]
    else:
        last = _last_name(statement["modules"] or "", dots=True)
        whole = statement["source"] if statement["source"] is not None else last
        if whole is None:
            return cursor, []
        package, _, typed = whole.rpartition(".")
        names = [(name, "module") for name in _modules_below(package)]
    if typed is None:
        return cursor, []
    shown = [
        (name, kind)
        for name, kind in names
        if name.startswith(typed) and (typed.startswith("_") or not name.startswith("_"))
    ]
    return cursor - len(typed), sorted(set(shown))


def _last_name(text: str, dots: bool = False) -> str | None:
    """Returns the beginning of the last name in a list of imported names. None after `as`."""
    last = text.rpartition(",")[2].strip("\\ \t\n")
    return last if re.fullmatch(r"[\w.]*" if dots else r"\w*", last) else None


def _modules_below(package: str) -> Iterable[str]:
    if package:
        return _submodules(package)
    return {*sys.builtin_module_names, *sys.stdlib_module_names, *_listed(sys.path)}


def _submodules(package: str) -> Iterable[str]:
    loaded = sys.modules.get(package)
    path = getattr(loaded, "__path__", None) if loaded is not None else _path_of(package)
    try:
        return _listed(path) if path is not None else ()
    except TypeError:  # the package has set a strange `__path__`
        return ()


def _listed(path: Iterable[object]) -> Iterable[str]:
    """The modules in some directories."""
    names: set[str] = set()
    for directory in path:
        if isinstance(directory, str):
            try:
                names |= _listed_at(directory or ".", os.stat(directory or ".").st_mtime_ns)
            except OSError:
                continue
    return names


@functools.lru_cache(64)
def _listed_at(directory: str, _changed: int) -> frozenset[str]:
    names = {one.name for one in pkgutil.iter_modules([directory])}
    names.update(_packages_without_init(directory))
    return frozenset(name for name in names if name.isidentifier())


def _packages_without_init(directory: str) -> Iterator[str]:
    try:
        entries = [one for one in os.scandir(directory) if one.name.isidentifier() and one.is_dir()]
        for entry in entries:
            inside = os.listdir(entry.path) if entry.name not in _NO_PACKAGES else []
            if "__init__.py" not in inside and any(one.endswith(".py") for one in inside):
                yield entry.name
    except OSError:
        return


def _spec_of(name: str) -> importlib.machinery.ModuleSpec | None:
    """Finds a module. Unlike `importlib.util.find_spec`, imports no parent packages."""
    path = None
    spec = None
    for at, part in enumerate(name.split(".")):
        full = ".".join(name.split(".")[: at + 1])
        try:
            if path is None:
                spec = importlib.util.find_spec(part)
            else:
                spec = importlib.machinery.PathFinder.find_spec(full, path)
        except Exception:  # a finder of the user may raise anything
            return None
        if spec is None:
            return None
        path = spec.submodule_search_locations or []
    return spec


def _path_of(package: str) -> Iterable[str] | None:
    spec = _spec_of(package)
    return spec.submodule_search_locations if spec is not None else None


def names_in(module: str) -> Found:
    """The names in a module, and its submodules."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        found = [(name, _kind(value)) for name, value in vars(loaded).items()]
    else:
        found = _names_in_files(module)
    known = {name for name, _ in found}
    return found + [(name, "module") for name in _submodules(module) if name not in known]


def _kind(value: object) -> str:
    if isinstance(value, ModuleType):
        return "module"
    if isinstance(value, type):
        return "class"
    return "function" if callable(value) else "instance"


@functools.lru_cache(64)
def _names_in_files(module: str) -> Found:
    return list(_names_in_source(module, _MAX_DEPTH, [_MAX_SOURCE_BYTES]).items())


def _names_in_source(module: str, depth: int, bytes_left: list[int]) -> dict[str, str]:
    spec = _spec_of(module)
    origin = spec.origin if spec is not None else None
    if spec is None or not origin or not origin.endswith(".py"):
        return {}
    found: dict[str, str] = {}
    # Packages that load their modules late declare the names in a stub.
    for path in (origin, f"{origin}i"):
        for name, kind in _bound_in(_parsed(path, bytes_left)):
            if kind == "star":
                if depth > 0:
                    package = (
                        module if spec.submodule_search_locations else module.rpartition(".")[0]
                    )
                    source = _absolute(name, package)
                    found |= _names_in_source(source, depth - 1, bytes_left)
            else:
                found[name] = kind
    return found


def _absolute(name: str, package: str) -> str:
    level = len(name) - len(name.lstrip("."))
    parts = package.split(".")[: len(package.split(".")) - level + 1] if level else []
    return ".".join([*parts, name[level:]] if name[level:] else parts)


def _parsed(path: str, bytes_left: list[int]) -> list[ast.stmt]:
    try:
        size = os.path.getsize(path)
        if size > bytes_left[0]:
            return []
        bytes_left[0] -= size
        with open(path, "rb") as file:
            return ast.parse(file.read()).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _bound_in(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yields the names that statements bind, with their kinds. `from x import *` yields x, with the
    kind "star"."""
    for one in body:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield one.name, "function"
        elif isinstance(one, ast.ClassDef):
            yield one.name, "class"
        elif isinstance(one, ast.Import):
            for alias in one.names:
                yield alias.asname or alias.name.partition(".")[0], "module"
        elif isinstance(one, ast.ImportFrom):
            for alias in one.names:
                if alias.name == "*":
                    yield "." * one.level + (one.module or ""), "star"
                else:
                    yield alias.asname or alias.name, "instance"
        elif isinstance(one, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            for target in targets:
                for node in ast.walk(target):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                        yield node.id, "instance"
        elif isinstance(one, (ast.If, ast.Try, ast.With)):
            yield from _bound_in(one.body)
            for handler in getattr(one, "handlers", ()):
                yield from _bound_in(handler.body)
            yield from _bound_in(getattr(one, "orelse", []))
            yield from _bound_in(getattr(one, "finalbody", []))
