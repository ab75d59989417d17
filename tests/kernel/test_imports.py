"""The modules of the package import each other in one direction."""

import ast
import pathlib

import ratoon_kernel

ROOT = pathlib.Path(ratoon_kernel.__file__).parent


def names_of_modules():
    """The files of the package by the names of their modules."""
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in ROOT.rglob("*.py")
    }
    return {name.removesuffix("__init__").rstrip("."): path for name, path in files.items()}


def is_for_types(node):
    """Whether a statement runs only for type checkers."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def statements(node):
    """The statements below a node, also in functions, without those for type checkers."""
    for child in ast.iter_child_nodes(node):
        if not is_for_types(child):
            yield child
            yield from statements(child)


def imported(name, path, modules):
    """The modules of the package that a module imports."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in statements(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        parents = package.split(".") if package else []
        base = ".".join([*parents[: len(parents) + 1 - node.level], *filter(None, [node.module])])
        for one in node.names:
            full = f"{base}.{one.name}".lstrip(".")
            yield full if full in modules else base


def test_no_modules_import_each_other_in_a_circle():
    modules = names_of_modules()
    left = {name: set(imported(name, path, modules)) - {name, ""} for name, path in modules.items()}
    assert "plain_cells" in left["cells"] and "adapter" in left["adapters.numpy"]
    while settled := [name for name, those in left.items() if not those & left.keys()]:
        for name in settled:
            del left[name]
    assert {name: those & left.keys() for name, those in left.items()} == {}
