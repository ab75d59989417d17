"""Tests of the rows that Optuna draws. The tests that need Optuna are skipped where it is not
installed."""

import importlib.util
import json
import math
import sys

import pytest

from ratoon_kernel import sampling

needs_optuna = pytest.mark.skipif(
    importlib.util.find_spec("optuna") is None, reason="Optuna is not installed"
)
SPACE = {
    "optimizer": ["adam", "sgd", {"code": "(1, 2)"}, [1, True, None]],
    "lr": {"low": 1e-4, "high": 1.0, "log": True, "int": False},
    "layers": {"low": 1.0, "high": 10.0, "log": False, "int": True},
}


def draw(known=(), count=2, space=SPACE, goal="max", seed=0, trials=20):
    sampler = {"kind": "optuna", "space": space, "trials": trials, "seed": seed}
    asked = {"sampler": sampler, "goal": goal, "known": list(known), "count": count}
    return json.loads(sampling.draw(json.dumps({"draw": asked})))


def score(row):
    layers, lr, optimizer = row
    penalty = 0 if optimizer == '"adam"' else 1
    return -((math.log10(float(lr)) + 2) ** 2) - (int(layers) - 7) ** 2 / 9 - penalty


def test_values_become_python():
    for value, source in [
        (0.1, "0.1"),
        (1e-05, "1e-05"),
        (-3, "-3"),
        ("it's", '"it\'s"'),
        ('"\né', '"\\"\\né"'),
        ([True, None, {"a": [False]}], '[True, None, {"a": [False]}]'),
        ({"code": " (64, 32)"}, "(64, 32)"),
        ([{"code": "relu"}], "[relu]"),
        ({"code": 1}, '{"code": 1}'),
        ({}, "{}"),
    ]:
        assert sampling.source_of(value) == source


def test_without_optuna_the_user_learns_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert draw() == {
        "why": "Optuna is not installed in the environment of this notebook",
        "how": "install it with `%pip install optuna`, or use the sampler `random`",
    }


def test_an_optuna_that_cannot_be_imported_is_told(monkeypatch, tmp_path):
    (tmp_path / "optuna.py").write_text("import nothing_of_this_name")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "optuna", raising=False)
    assert draw()["why"] == (
        "Optuna cannot be imported: ModuleNotFoundError: No module named 'nothing_of_this_name'"
    )


@needs_optuna
def test_rows_stay_within_their_ranges():
    space = {**SPACE, "x": {"low": 1.23456789, "high": 1.23456799}}
    rows = draw(count=200, space=space)["rows"]
    for layers, lr, optimizer, x in rows:
        assert 1 <= int(layers) <= 10
        assert 1e-4 <= float(lr) <= 1
        assert len(lr.replace(".", "").lstrip("0")) <= 6
        assert optimizer in ('"adam"', '"sgd"', "(1, 2)", "[1, True, None]")
        assert 1.23456789 <= float(x) <= 1.23456799
    assert {row[2] for row in rows} == {'"adam"', '"sgd"', "(1, 2)", "[1, True, None]"}
    assert {row[0] for row in rows} == {str(n) for n in range(1, 11)}


@needs_optuna
def test_a_seed_determines_the_rows():
    known = [[["3", "0.1", '"sgd"'], 0.5], [["4", "0.2", '"sgd"'], None]]
    assert draw(known, seed=2**64 - 1) == draw(known, seed=2**64 - 1)
    assert draw(known) != draw(known, seed=1)
    # The next rows are others.
    assert draw(known) != draw(known[:1])


@needs_optuna
def test_rows_come_nearer_to_the_best():
    for goal, sign in (("max", 1), ("min", -1)):
        known, means = [], []
        while len(known) < 20:
            known += [[row, sign * score(row)] for row in draw(known, goal=goal)["rows"]]
        for half in (known[:10], known[10:]):
            means.append(sum(sign * metric for _, metric in half) / len(half))
        assert means[1] > means[0] + 0.5


@needs_optuna
def test_rows_without_a_metric_or_outside_the_ranges_are_known():
    known = [[["3", "0.1", '"sgd"'], None], [["99", "0.1", '"sgd"'], 1.0], [["x", "y", "z"], 2.0]]
    assert len(draw(known * 10)["rows"]) == 2


@needs_optuna
def test_ranges_that_optuna_refuses_are_told():
    refused = draw(space={"x": {"low": 2, "high": 1}})
    assert refused["why"].startswith("Optuna raised ValueError")
    assert "why" in draw(space={"x": {"low": -1, "high": 1, "log": True}})
    assert "why" in draw(space={"x": []})
