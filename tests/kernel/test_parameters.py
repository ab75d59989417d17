"""Tests of what a sweep can change in a cell."""

import json
import os
import time

import pytest

from ratoon_kernel import parameters


@pytest.fixture
def find(namespace):
    """A function that finds the parameters of a cell."""

    def of(code, values=(), metric=None, rung=None):
        asked = {"code": code, "values": list(values), "metric": metric, "rung": rung}
        found = json.loads(parameters.find(json.dumps({"parameters": asked})))
        for one in found["parameters"]:
            assert code[one["from"] : one["to"]] == one["value"], one
        return found

    return of


def described(found):
    return {one["name"]: (one["value"], one["type"]) for one in found["parameters"]}


def test_literals_and_names_are_parameters(find):
    found = find(
        "lr = 0.1; n = -3\nz = 1 - 2j\nname: str = 'é', b'x'\nbig = 1_000  # rows\nnothing = None\n"
        "flag = True\nwords = ['a', {'b': (1,)}, {2}]\nopt = torch.optim.Adam\nact = relu\n"
        "deep = (0.5)\npair = 1, 2\n"
    )
    assert described(found) == {
        "lr": ("0.1", "float"),
        "n": ("-3", "int"),
        "z": ("1 - 2j", "complex"),
        "name": ("'é', b'x'", "tuple"),
        "big": ("1_000", "int"),
        "nothing": ("None", "NoneType"),
        "flag": ("True", "bool"),
        "words": ("['a', {'b': (1,)}, {2}]", "list"),
        "opt": ("torch.optim.Adam", "name"),
        "act": ("relu", "name"),
        "deep": ("0.5", "float"),
        "pair": ("1, 2", "tuple"),
    }
    assert [one["name"] for one in found["parameters"]] == [
        *("lr", "n", "z", "name", "big", "nothing", "flag", "words", "opt", "act", "deep", "pair")
    ]
    assert found["obstacles"] == {}
    assert found["syntax_error"] is None


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("x = 1\nx = 2", "is assigned more than once"),
        ("x = 1\nx *= 2", "is assigned more than once"),
        ("x = 1\ndel x", "is assigned more than once"),
        ("x = 1\nfor x in y: pass", "is assigned more than once"),
        ("x = 1\ndef f():\n    global x\n    x = 2", "is assigned more than once"),
        ("x = 1\n[x := i for i in y]", "is assigned more than once"),
        ("x *= 2", "is changed in place"),
        ("del x", "is deleted by the cell"),
        ("x = y = 1", "is assigned together with other names"),
        ("x, y = 1, 2", "is assigned together with other names"),
        ("if y:\n    x = 1", "is assigned inside a block"),
        ("with y:\n    x = 1", "is assigned inside a block"),
        ("try:\n    x = 1\nfinally: pass", "is assigned inside a block"),
        ("for x in y: pass", "is the variable of a loop"),
        ("with y as (x, z): pass", "is set by a `with` statement"),
        ("try: pass\nexcept E as x: pass", "is set by an `except` clause"),
        ("match y:\n    case [x, *_]: pass", "is set by a `match` statement"),
        ("match y:\n    case {**x}: pass", "is set by a `match` statement"),
        ("import x.y", "is imported by the cell"),
        ("from y import z as x", "is imported by the cell"),
        ("def x(): pass", "is a function that the cell defines"),
        ("class x: pass", "is a class that the cell defines"),
        ("print(x := 1)", "is assigned inside an expression"),
        ("lambda: (x := 1)", None),
        ("def f():\n    global x\n    x = 1", "is assigned by a function of the cell"),
        ("x = 1 + 1", "is computed, not a literal"),
        ("x = f'{y}'", "is computed, not a literal"),
        ("x = [y]", "is computed, not a literal"),
        ("x = y()", "is computed, not a literal"),
        ("x = y().z", "is computed, not a literal"),
        ("x = {**y}", "is computed, not a literal"),
        ("x = -True", "is computed, not a literal"),
        ("x = !ls", "is computed, not a literal"),
        ("x.y = 1; x[0] = 2", None),
        ("def f(x=1):\n    x = 2\n    return x", None),
        ("[x for x in y]", None),
        ("class A:\n    x = 1", None),
        ("x: int", None),
    ],
)
def test_other_assignments_are_obstacles(find, code, reason):
    found = find(code)
    assert found["syntax_error"] is None
    assert found["obstacles"].get("x") == reason
    assert "x" not in described(found)


def test_positions_are_those_of_the_code_as_it_was_sent(find):
    for code, values in [
        ("%matplotlib inline\nlr = 0.1\n!ls\nn = 3", ["0.1", "3"]),
        ("\n\n    é = 'é'; lr = 0.1\n    n = 3", ["'é'", "0.1", "3"]),
        ("\n\nlr = 0.1", ["0.1"]),
        ("lr = 0.1\r\n'é'; n = 3\r\n%time n", ["0.1", "3"]),
        ("%%time\nlr = 0.1\n%time lr", ["0.1"]),
        ("%%capture out\n%%time\n\n  lr = [\n    1,\n  ]\n", ["[\n    1,\n  ]"]),
        ("x = '''\n%time\n'''\n%time x\nlr = 0.1", ["'''\n%time\n'''", "0.1"]),
        ("lr = 0.1\nawait f()", ["0.1"]),
        ("f?\nlr = 0.1", ["0.1"]),
    ]:
        found = find(code)
        assert [one["value"] for one in found["parameters"]] == values, code
        assert found["syntax_error"] is None


def test_a_position_that_is_not_certain_is_no_position(find):
    # The first `lr = 0.1` is a part of the magic.
    found = find("%time \\\nlr = 0.1\nlr = 0.1\nn = 2")
    assert described(found) == {"n": ("2", "int")}
    assert found["obstacles"] == {"lr": "is in a line that IPython translates"}


def test_a_cell_in_another_language_has_no_parameters(find):
    for code in ["%%bash\nx=1", "%%html\n<b>", "", "# nothing"]:
        assert find(code, metric="x")["parameters"] == []


def test_variables_that_the_cell_only_reads_are_found(run, find):
    run(
        "import math, json as j\na = b = c = d = e = 1\nunused = 2\ndef train(): pass\n"
        "class Net: pass\nmodel = Net\n_private = 3"
    )
    found = find(
        "def f(a, *, q=e):\n    return a + d + [c for c in b][0]\nc = 2\nclass K:\n    m = b\n"
        "    def g(self): return m\nprint(_private, math, j, train, Net, model, len, In, unknown)"
    )
    assert found["reads"] == ["e", "d", "b", "_private", "model"]
    run("m = 1")
    assert find("class K:\n    m = 2\n    def g(self): return m")["reads"] == ["m"]
    # An assignment above a cell magic would be an error.
    assert find("%%time\nprint(a)")["reads"] == []


def test_values_are_checked(run, find):
    run("relu = abs; import math")
    values = {
        "0.1": None,
        " -2 ": None,
        "[1, (2, {'a': b'x'})]": None,
        "1, 2": None,
        "(1,\n 2)": "has several lines",
        "relu": None,
        "math.tau": None,
        "max": None,
        "own": None,
        "missing": "is unknown: no variable is called `missing`",
        "missing.x": "is unknown: no variable is called `missing`",
        "": "is empty",
        "  ": "is empty",
        "1\n": "has several lines",
        "1 # one": "ends with a comment",
        "f()": "is neither a literal nor the name of a variable",
        "[relu]": "is neither a literal nor the name of a variable",
        "x = 1": "is an assignment, not an expression",
        "pass": "is a statement, not an expression",
        "1 +": "is not an expression: invalid syntax",
        "1; 2": "is a statement, not an expression",
        "(" * 10_000 + ")" * 10_000: None,
    }
    found = find("own = 1", [*values, "0.1"])["values"]
    assert found[-1] is None
    assert "nested" in found[-2]
    assert dict(list(zip(values, found))[:-1]) == dict(list(values.items())[:-1])


def test_the_metric_is_checked(find):
    for metric, why in [
        (None, None),
        (" acc ", None),
        ("model.score(X, y) if ok else 0", None),
        ("", "is empty"),
        ("# acc", "is empty"),
        ("acc = 1", "is an assignment, not an expression"),
        ("acc += 1", "is an assignment, not an expression"),
        ("print(1); acc", "is a statement, not an expression"),
        ("(acc := 1)", "assigns a variable"),
        ("acc acc", "is not an expression: invalid syntax"),
        ("await acc", "is not an expression: 'await' outside function"),
    ]:
        code = "acc = 1\nmodel = X = y = ok = 1"
        assert find(code, metric=metric)["metric"] == why, metric


def test_a_name_that_the_metric_cannot_have_is_found_before_the_rows_run(find):
    why = "reads `scroe`, which neither the cell nor its state has"
    assert find("score = 1", metric="-scroe")["metric"] == why
    assert find("score = 1", metric="max(x for x in [score])")["metric"] is None
    assert find("def f():\n    global late\n    late = 1\nf()", metric="late")["metric"] is None
    # The names that these cells set are unknown.
    for code in ["from math import *", "exec('a = 1')", "%run other.py", "globals()['a'] = 1"]:
        assert find(code, metric="a")["metric"] is None, code


def test_syntax_errors_are_sentences(find):
    assert find("x = 1\ny = = 2")["syntax_error"] == "line 2 of the cell: invalid syntax"
    assert "line 1 of the cell" in find("return 1")["syntax_error"]
    assert find("%%time\nx = = 1")["syntax_error"] == "line 2 of the cell: invalid syntax"
    assert find("x = 1", rung="%time f()\nx = = 1")["syntax_error"] == (
        "line 2 of the cell of the rungs: invalid syntax"
    )
    assert find("x = = 1", rung="x = = 1")["syntax_error"] == "line 1 of the cell: invalid syntax"
    # The values are checked nevertheless.
    assert find("x = = 1", ["1", "f()"])["values"][0] is None


def test_long_and_deep_code_is_read_or_refused_in_time(find):
    lines = "".join(f"é{n} = {n}; v = v + [é{n} for _ in range({n})]\n" for n in range(5_000))
    codes = [
        lines,
        "x = 1\n" * 160_000,
        "; ".join(f"é{n} = {n}" for n in range(20_000)),
        "lr = 0.1\nx = " + "1 + " * 250_000 + "1",
        "lr = 0.1\nx = " + "-" * 200_000 + "1",
        "lr = 0.1\nx = " + "[" * 100_000 + "]" * 100_000,
        "lr = 0.1\nx = " + "f(" * 90 + ")" * 90,
        "lr = 0.1\n" + "x" * 1_000_000 + " = 1",
        "lr = 0.1\nx = '" + "x" * 1_000_000 + "'",
        "%time x\n" + "x = 1\n" * 160_000,
        "%time x\n" + "x = 1\n" * 5_000,
        "x = = 1\n" * 100_000,
        "\0" * 1_000_000,
    ]
    for code in codes if os.environ.get("RATOON_TEST_ALL") else codes[::2]:
        began = time.process_time()
        find(code)
        assert time.process_time() - began < 20, code[:30]
    assert "nested" in find("x = " + "[" * 100_000 + "]" * 100_000)["syntax_error"]
    assert find("x = = 1\n" * 100_000)["syntax_error"].startswith("line 1 of the cell: invalid")
