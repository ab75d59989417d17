"""Tests of completions, descriptions of objects, and the list of variables."""

import json
import signal
import sys

import pytest

from ratoon_kernel import code_position, completion, inspection, syntax, variables


@pytest.fixture
def completed(namespace):
    """A function that completes code at its end. Returns the text that the completions replace, and
    the completions by their text."""

    def of(code, cursor=None, above=""):
        place = len(code) if cursor is None else cursor
        found = json.loads(completion.complete(code, place, above))
        return code[found["from"] : found["to"]], {one["text"]: one for one in found["items"]}

    return of


@pytest.fixture
def described(namespace):
    """A function that returns the description of the object at the end of code."""
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


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that must not be imported."""
    files = {
        "loud/__init__.py": "raise SystemExit\nfrom .core import *\nfrom . import late\nSIZE = 1\n"
        "def load(): pass\nif SIZE:\n    class Loader: pass\n_hidden = 1",
        "loud/__init__.pyi": "from .lazy import lazy_name as lazy_name",
        "loud/core.py": "def from_core(): pass",
        "loud/deep/__init__.py": "raise SystemExit",
        "loud/deep/deeper.py": "value: int = 1\na, (b, *c) = 1, (2, 3)",
        "spaced/part.py": "",
        "data/file.txt": "",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)


def test_imports_are_completed_without_importing(completed, package):
    def texts(code):
        return list(completed(code)[1])

    assert texts("import lou") == ["loud"]
    assert texts("x = 1; import json, spac") == ["spaced"]
    assert "data" not in texts("import ")
    assert texts("import loud.") == ["core", "deep"]
    assert texts("from loud.de") == ["deep"]
    assert texts("import loud.deep.d") == ["deeper"]
    assert texts("from loud im") == ["import"]
    assert texts("from loud import ") == [
        "Loader",
        "SIZE",
        "core",
        "deep",
        "from_core",
        "late",
        "lazy_name",
        "load",
    ]
    assert texts("from loud import (\n    SIZE,\n    L") == ["Loader"]
    assert texts("from loud import _") == ["_hidden"]
    assert texts("from loud.deep.deeper import ") == ["a", "b", "c", "value"]
    assert completed("from loud import Load")[1]["Loader"]["kind"] == "class"
    for code in (
        "import loud as ",
        "from loud import SIZE as ",
        "from . import ",
        "import nothing.",
    ):
        assert texts(code) == [], code
    assert not any(name.startswith("loud") for name in sys.modules)
    # A loaded module has its names in memory.
    assert "dumps" in texts("from json import du")
    assert "decoder" in texts("import json.")


def test_names_of_drafts_above_are_completed(run, completed, described):
    above = "import math as m\ndef plotted(data, colour=1): 'Plots.'\nplot_count = 3\nobj.plot_attribute"
    typed, found = completed("pl", above=above)
    assert (typed, list(found)) == ("pl", ["plot_count", "plotted"])
    assert found["plotted"]["kind"] == "function"
    assert "sqrt" in completed("m.sq", above=above)[1]
    run("plot_live = 1\nzz_plot = 2")
    # Each name is offered once. Those that the code around uses come before other variables.
    assert list(completed("plot_count\nplot_", above=above)[1]) == ["plot_count", "plot_live"]
    told = json.loads(inspection.inspect("plotted(1, ", 11, above))
    assert (told["place"], told["doc"], told["signature"]["active"]) == (
        "a draft above",
        "Plots.",
        1,
    )


def test_python_names_come_after_the_users(run, completed):
    run("print_all = 1\n_private = 2")
    assert list(completed("pri")[1])[:2] == ["print_all", "print"]


def test_completion_adds_no_names_to_the_namespace(namespace, completed):
    completed("import colorsys\ncolorsys.rgb")
    assert "colorsys" not in namespace


def test_completing_an_unfinished_cell_does_not_fail(completed):
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


def test_a_function_that_the_cell_defines_is_described(described):
    told = described("def later(a, b=1):\n    'Comes.'\n\nlater(1, ")
    assert (told["place"], told["doc"], told["signature"]["active"]) == ("line 1", "Comes.", 1)


def test_code_without_an_object_has_no_description(described):
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


def test_only_variables_of_the_user_are_listed(run, namespace):
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


def test_a_repr_that_raises_is_listed_with_its_error(run):
    run("class Bad:\n    def __repr__(self): raise ValueError('no')\nbad = Bad()")
    before = signal.getsignal(signal.SIGALRM)
    try:
        listed = {one["name"]: one for one in json.loads(variables.list_variables())}
    finally:
        signal.signal(signal.SIGALRM, before)
    assert listed["bad"]["repr"] == "<repr failed: ValueError: no>"


def test_syntax_errors_are_found_where_they_are(namespace):
    for code, marked, words in [
        ("x = (1,\ny = 2", (4, "("), "never closed"),
        ("a = 1\nif a\n    b", (9, "a"), "expected ':'"),
        ("é = 'é'; x = = 1", (13, "="), "invalid syntax"),
        ("def f():\nreturn 1", (9, "return"), "indented block"),
        # IPython drops empty lines and the common indentation, and joins the lines of a magic.
        ("\n\n  x = 1\n  y = = 2", (16, "="), "invalid syntax"),
        ("%matplotlib inline\n%time \\\n  f(1)\nx = = 1", (38, "="), "invalid syntax"),
        ("return 1", (0, "return 1"), "outside function"),
        ("for i in x:", (10, ":"), "indented block"),
        ("x = 'abc", (4, "'"), "unterminated string"),
    ]:
        found = json.loads(syntax.check(code))
        assert (found["from"], code[found["from"] : found["to"]]) == marked, code
        assert words in found["message"], code


def test_what_ipython_runs_is_no_syntax_error(namespace):
    for code in [
        "",
        "  x = 1\n  y = 2",
        "%timeit 1 +",
        "!ls (",
        "files = !ls",
        "print?",
        "?print",
        "await x",
        "async for i in x: pass",
        "%%bash\nif (",
        "%%time\nx = = 1",
        "x = 1;",
        "'\\d'",
        "assert (1, 'x')",
        ">>> x = 1",
    ]:
        assert syntax.check(code) == "null", code
