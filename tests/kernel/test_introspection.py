"""Completions, descriptions of objects, and the list of variables."""

import json
import signal

import pytest

from ratoon_kernel import code_position, completion, inspection, variables


@pytest.fixture
def completed(namespace):
    """The completions at the end of code, and what they replace."""

    def of(code, cursor=None):
        found = json.loads(completion.complete(code, len(code) if cursor is None else cursor))
        return code[found["from"] : found["to"]], {one["text"]: one for one in found["items"]}

    return of


@pytest.fixture
def described(namespace):
    """What is known of the object at the end of code."""
    return lambda code, cursor=None: json.loads(
        inspection.inspect(code, len(code) if cursor is None else cursor)
    )


def test_variables_are_completed_with_their_kinds(run, completed):
    run("import json\ntable = [1]\ndef tabulate(rows, width=3): pass\nclass Tabular: pass")
    typed, found = completed("x = ta")
    assert typed == "ta"
    assert found["table"]["kind"] == "instance"
    assert found["tabulate"] == {
        "text": "tabulate",
        "kind": "function",
        "signature": "(rows, width=3)",
    }


def test_attributes_are_completed_without_running_properties(run, completed):
    run("class A:\n    @property\n    def loud(self): raise SystemExit\na = A(); a.quiet = 1")
    typed, found = completed("a.")
    assert typed == ""
    assert found["loud"]["kind"] == "property"
    assert found["quiet"]["kind"] == "instance"


def test_parameters_of_the_call_are_completed(run, completed):
    run("def plot(data, colour=None, width=1): pass")
    _, found = completed("plot([1, 2], width=2, co")
    assert found["colour="]["kind"] == "param"
    assert "width=" not in completed("plot([1], width=2, w")[1]


def test_names_of_the_cell_are_completed(completed):
    _, found = completed("import math\nvalue = 3\nval")
    assert "value" in found
    assert "sqrt" in completed("import math\nmath.sq")[1]


def test_names_of_the_cell_do_not_stay(namespace, completed):
    completed("import colorsys\ncolorsys.rgb")
    assert "colorsys" not in namespace


def test_an_unfinished_cell_is_completed(completed):
    for code in ["", "(", "'", '"""', "def f(", "x = [1,", "a.b.", "%", "!", "\\", "f(\n#", "é.ü"]:
        completed(code)


def test_a_function_is_described(run, described):
    run("def add(a: int, /, b=2, *, c: 'str' = 'x') -> float:\n    'Adds.'")
    told = described("add(1, ")
    assert told["doc"] == "Adds."
    assert told["signature"] == {
        "parameters": ["a: int", "/", "b=2", "*", "c: str = 'x'"],
        "returns": "float",
        "active": 2,
    }


def test_the_object_at_the_cursor_wins_over_the_call(run, described):
    run("import math\nn = 5")
    assert described("math.sqrt(n)", 10)["name"] == "n"
    assert described("math.sqrt(", 10)["name"] == "math.sqrt"


def test_what_the_cell_defines_is_described(described):
    told = described("def later(a, b=1):\n    'Comes.'\n\nlater(1, ")
    assert (told["place"], told["doc"], told["signature"]["active"]) == ("line 1", "Comes.", 1)


def test_nothing_is_described_where_nothing_is(described):
    for code in ["", "   ", "def", "1", "nothing_of_this_name"]:
        assert described(code) is None


def test_calls_are_found_through_strings_and_brackets():
    for code, call in [
        ("f(a, g(b), ", ("f", ["a", " g(b)", " "])),
        ("f('(', \"),\", x", ("f", ["'('", ' "),"', " x"])),
        ("f('''a\n(''', [1, (2, 3)", ("f", ["'''a\n('''", " [1, (2, 3)"])),
        ("f(a, # , (\n b", ("f", ["a", " # , (\n b"])),
        ("a[0].b(c)", None),
        ("def f(a, ", None),
        ("x = (1, ", None),
        ("o.m()[2].n(", ("o.m()[2].n", [""])),
    ]:
        assert code_position.call_around(code, len(code)) == call, code


def test_variables_are_listed_as_the_user_made_them(run, namespace):
    run("a = [1, 2]; _private = 'x'; import math")
    before = signal.getsignal(signal.SIGALRM)
    try:
        listed = {one["name"]: one for one in json.loads(variables.list_variables())}
    finally:
        signal.signal(signal.SIGALRM, before)
    assert listed["a"]["repr"] == "[1, 2]"
    assert listed["a"]["size"] == "2"
    assert {"In", "Out", "_", "get_ipython"}.isdisjoint(listed)
    assert "_private" in listed


def test_a_hostile_repr_is_told(run):
    run("class Bad:\n    def __repr__(self): raise ValueError('no')\nbad = Bad()")
    before = signal.getsignal(signal.SIGALRM)
    try:
        listed = {one["name"]: one for one in json.loads(variables.list_variables())}
    finally:
        signal.signal(signal.SIGALRM, before)
    assert listed["bad"]["repr"] == "<repr failed: ValueError: no>"
