"""Tests of the metric, which is evaluated when a cell has succeeded."""

import math

import pytest

from ratoon_kernel import evaluation, outputs
from run_cells import run_cells


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("  acc", 0.5),
        ("True", 1.0),
        ("len('abc')", 3.0),
        ("sum(x for x in [acc, acc])", 1.0),
        ("np.float32(0.25)", 0.25),
        ("np.array(2)", 2.0),
        ("Fraction(1, 4)", 0.25),
        ("[y for y in [lambda: acc]][0]()", 0.5),
    ],
)
def test_numbers_are_metrics(run, expression, value):
    run("import numpy as np\nfrom fractions import Fraction\nacc = 0.5")
    assert evaluation.metric(expression) == {"value": value, "problem": None}


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("missing", "the metric raised NameError: name 'missing' is not defined"),
        ("None", "the metric is None"),
        ("'0.5'", "the metric is a str, not a number"),
        ("[1]", "the metric is a list, not a number"),
        ("np.array([1, 2])", "the metric is a ndarray, not a number"),
        ("1j", "the metric is a complex number"),
        ("np.complex64(1)", "the metric is a complex number"),
        ("float('nan')", "the metric is NaN"),
        ("np.inf", "the metric is infinite"),
        ("10 ** 400", "the metric is too large for a float"),
        ("exit()", "the metric raised SystemExit: "),
        ("wait()", "the metric was interrupted"),
        ("Interrupted()", "the metric was interrupted"),
        ("x = 1", "the metric raised SyntaxError: "),
    ],
)
def test_other_values_are_problems(run, expression, problem):
    run(
        "import numpy as np\n"
        "def exit(): raise SystemExit\n"
        "def wait(): raise KeyboardInterrupt\n"
        "class Interrupted:\n    def __float__(self): raise KeyboardInterrupt"
    )
    found = evaluation.metric(expression)
    assert found["value"] is None
    assert found["problem"].startswith(problem)


def test_a_metric_sets_no_names_and_prints_nothing(namespace):
    sent = []
    outputs.sink = sent.append
    try:
        before = dict(namespace)
        assert evaluation.metric("(x := 2)")["value"] == 2
        assert namespace == before
        assert outputs.sink == sent.append
    finally:
        outputs.sink = None
    assert not sent


def test_a_metric_is_evaluated_after_its_cell(tmp_path):
    acc, loud, failed, none, history = run_cells(
        tmp_path,
        ["acc = 0.5\nacc", True, False, "acc * 2"],
        ["y = 3", True, True, "[print('loud'), display('loud'), acc][2]"],
        ["1/0", True, False, "acc"],
        ["y", True, False, "nothing"],
        ["_, Out, In[-1], _i", True, False],
    )
    assert acc["ended"] == {
        "error": None,
        "exec_count": 1,
        "symbols": None,
        "metric": {"value": 1.0, "problem": None},
        "remains": "nothing",
    }
    assert loud["ended"]["metric"] == {"value": 0.5, "problem": None}
    assert loud["ended"]["symbols"]["accessed"] == []
    assert loud["ended"]["symbols"]["modified"] == ["y"]
    assert not loud["sent"]
    assert failed["ended"]["error"]["ename"] == "ZeroDivisionError"
    assert failed["ended"]["metric"] is None
    assert none["ended"]["error"] is None
    assert none["ended"]["metric"]["value"] is None
    assert "NameError" in none["ended"]["metric"]["problem"]
    assert history["ended"]["exec_count"] == 5
    (shown,) = history["sent"]
    assert shown[1]["output"]["data"]["text/plain"] == (
        "(3, {1: 0.5, 4: 3}, '_, Out, In[-1], _i', 'y')"
    )
    assert math.isfinite(acc["ended"]["metric"]["value"])
