"""Which variables a cell reads, assigns and deletes."""

import ast

import pytest

from ratoon_kernel import symbols


@pytest.fixture
def told(namespace):
    """The symbols of a cell that runs."""

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


def test_names_that_a_statement_loads_and_stores(run, told):
    run("a = 1; b = 2; gone = 3")
    assert told("c = a + 1\nb = 5\ndel gone") == {
        "accessed": ["a"],
        "modified": ["b", "c"],
        "deleted": ["gone"],
    }


def test_names_that_a_called_function_reads(run, told):
    run("k = 1; unused = 2\ndef inner(): return k\ndef outer(): return inner()")
    assert told("x = outer()")["accessed"] == ["inner", "k", "outer"]


@pytest.mark.parametrize("cell", ["n = len(globals())", "n = eval('a')", "n = vars()"])
def test_code_that_may_read_anything_reads_all(run, told, cell):
    run("a = 1; b = 2")
    assert told(cell)["accessed"] == ["a", "b"]


def test_a_name_that_a_block_may_delete(run, told):
    run("old = 1")
    assert told("try:\n    1 / 0\nexcept ZeroDivisionError as old:\n    pass")["deleted"] == ["old"]
