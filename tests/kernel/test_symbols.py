"""Tests of finding the variables that a cell reads, assigns and deletes."""

import ast
import sys

import pytest

from ratoon_kernel import cell_imports, symbols


@pytest.fixture
def told(namespace):
    """A function that runs a cell and returns the variables that it read, assigned and deleted."""

    def tell(cell):
        tracker = symbols.Tracker()
        tree = ast.parse(cell)
        tracker.mark(tree)
        for statement in tree.body:
            code = compile(ast.Module([statement], []), "<cell>", "exec")
            tracker.statement(code)
            exec(code, namespace)
        return tracker.end()

    return tell


def test_names_that_a_statement_reads_assigns_and_deletes_are_reported(run, told):
    run("a = 1; b = 2; gone = 3")
    assert told("c = a + 1\nb = 5\ndel gone") == {
        "accessed": ["a"],
        "modified": ["b", "c"],
        "deleted": ["gone"],
    }


def test_names_that_a_called_function_reads_count_as_read(run, told):
    run("k = 1; unused = 2\ndef inner(): return k\ndef outer(): return inner()")
    assert told("x = outer()")["accessed"] == ["inner", "k", "outer"]


@pytest.mark.parametrize("cell", ["n = len(globals())", "n = eval('a')", "n = vars()"])
def test_code_that_may_read_anything_counts_as_reading_all(run, told, cell):
    run("a = 1; b = 2")
    assert told(cell)["accessed"] == ["a", "b"]


def test_a_name_that_a_block_may_delete_counts_as_deleted(run, told):
    run("old = 1")
    assert told("try:\n    1 / 0\nexcept ZeroDivisionError as old:\n    pass")["deleted"] == ["old"]


def test_imports_are_found_in_order_by_a_process_that_can_import_nothing(monkeypatch):
    cell = "import a\nif b:\n    from c import d\nimport e"
    # `ast.walk` imports this module, and yields the statement in the block last.
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "collections", None)
        found = [node.lineno for node in cell_imports._imports_in(cell)]
    assert found == [1, 3, 4]
