"""Tests of what a checkpoint says about objects that the own pickling of a library changes."""

import os
import signal
import sys

import pytest

from ratoon_kernel import round_trip
from store import Checkpoint, saved_and_loaded

LIBRARY = """
import functools, os, time

class Forgetful:
    def __init__(self): self.kept, self.note = 1, 2
    def __getstate__(self): return {name: one for name, one in vars(self).items() if name != "note"}

class Resetting(Forgetful):
    def __getstate__(self): return {**vars(self), "kept": 0}

class Frugal:
    '''Leaves out what it can compute again, and what belongs to it alone.'''
    def __init__(self): self._cache, self.items, self.half = {}, [1], 1; self.long
    @functools.cached_property
    def long(self): return [1] * 3
    def __getattr__(self, name):
        if name == "half": return 1
        raise AttributeError(name)
    def __getstate__(self): return {"items": list(self.items)}
    def __setstate__(self, state): vars(self).update(items=list(state["items"]), _cache={})

class Node:
    def __init__(self, tree): self.tree = tree

class Tree:
    def __init__(self, count=2): self.nodes = [Node(self) for _ in range(count)]
    def __reduce__(self): return Tree, (len(self.nodes),)

class Registry:
    def __init__(self): self.kind = type("Quantity", (Quantity,), {})
    def __reduce__(self): return registry, ()
def registry(): return shared
class Quantity:
    def __init__(self): self.value = 1
    def __reduce__(self): return shared.kind, ()
shared = Registry()

class Refusing:
    def __init__(self): self.x = 1
    def __reduce__(self): return refuse, ()
def refuse(): raise ValueError("not again")

class Slow(Refusing):
    def __reduce__(self): return time.sleep, (1000,)
class Deadly(Refusing):
    def __reduce__(self): return die, ()
def die(): os.kill(os.getpid(), 9)
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A library `losing` that the notebook can import."""
    (tmp_path / "losing.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("losing", None)


def changed():
    """What a checkpoint of the current state says: {name: what}."""
    checkpoint = Checkpoint()
    assert checkpoint.manifest["not_compared"] is None
    return {one["name"]: one["what"] for one in checkpoint.manifest["changed"]}


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("a = losing.Forgetful()", {"a": "a Forgetful lost .note"}),
        ("a = [losing.Forgetful()] * 2; b = a", {"a": "a Forgetful lost .note"}),
        ("a = losing.Resetting()", {"a": "a Resetting has another .kept"}),
        ("a = losing.Frugal()", {}),
        ("a = losing.Tree()", {}),
        ("a = losing.Node(losing.Tree())", {}),
        (
            "a = losing.Tree(); b = a.nodes[1]",
            {"a": "a Tree no longer shares .nodes with other objects"},
        ),
        (
            "b = [losing.Tree().nodes[1]]",
            {"b": "a Tree no longer shares .nodes with other objects"},
        ),
        (
            "r = losing.Registry(); a = r.kind()",
            {"a": "a Quantity belongs to another class Quantity"},
        ),
        (
            "a = losing.Refusing(); b = 1",
            {"a": "it cannot be loaded again (ValueError: not again)"},
        ),
        # The user's own classes do what the user wants.
        (
            "class Own:\n    def __init__(self): self.x, self.y = 1, 2\n"
            "    def __getstate__(self): return {'x': 1}\na = Own()",
            {},
        ),
        (
            "class Own(losing.Forgetful):\n"
            "    def __getstate__(self): return {'kept': 1}\na = Own()",
            {},
        ),
        # But not what they inherit.
        (
            "class Own(losing.Forgetful): pass\na = Own()",
            {"a": "a Own lost .note"},
        ),
    ],
)
def test_what_a_librarys_own_pickling_changes_is_told(run, namespace, library, code, told):
    run("import losing\n" + code)
    assert changed() == told


@pytest.mark.parametrize("code", ["losing.Slow()", "losing.Deadly()"])
def test_loading_that_hangs_or_dies_is_told(run, namespace, library, monkeypatch, code):
    monkeypatch.setattr(round_trip, "MAX_SECONDS", 0.2)
    run(f"import losing\na = {code}; b = 1")
    checkpoint = Checkpoint()
    assert checkpoint.manifest["changed"] == []
    assert checkpoint.manifest["not_compared"].startswith("loading it took more than")
    assert "b" not in checkpoint.lacks
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_large_state_is_not_compared_and_says_so(run, namespace, library):
    run("import losing, numpy\na = losing.Forgetful(); big = numpy.arange(7_000_000.0)")
    assert Checkpoint().manifest["not_compared"] == "the state has more than 50 MiB"
    run("del a, big")
    # There is nothing to compare.
    run("big = numpy.arange(7_000_000.0)")
    assert Checkpoint().manifest["not_compared"] is None


def test_buffers_are_loaded_as_they_were(run, namespace, library):
    run(
        "import losing, numpy, pickle\na = losing.Forgetful(); a.kept = numpy.arange(100_000.0)\n"
        "b = a.kept[5:]; c = bytearray(b'x') * 1_000_000; d = pickle.PickleBuffer(c)"
    )
    run("text = 'é' * 1_000_000")
    assert changed() == {"a": "a Forgetful lost .note"}


def test_records_that_fail_and_deep_ones_are_skipped(run, namespace, library):
    run("import losing\ng = (i for i in ()); a = losing.Forgetful(); h = [a, g]; deep = []")
    run("for _ in range(20_000): deep = [deep]\nz = losing.Forgetful(); z.note = deep")
    found = changed()
    assert found == {"a": "a Forgetful lost .note", "z": "a Forgetful lost .note"}


def test_comparing_changes_nothing_and_leaves_nothing(run, namespace, library):
    run("import losing\na = losing.Tree(); b = a.nodes[1]\ndef f(): return a")
    before = signal.getsignal(signal.SIGALRM), os.listdir("/proc/self/fd")
    assert changed()
    assert (signal.getsignal(signal.SIGALRM), os.listdir("/proc/self/fd")) == before
    assert namespace["f"]() is namespace["a"] and namespace["b"] is namespace["a"].nodes[1]
    assert namespace["f"].__globals__ is namespace


def test_attributes_of_frames_and_masked_arrays_come_back(run, namespace):
    pytest.importorskip("pandas")
    run(
        "import pandas, numpy\ntrain = pandas.DataFrame({'a': [1, 2]}); train.title = 'T'; train.of = train\n"
        "column = train.a; column.unit = 'km'; names = pandas.Series(['a']); names.str\n"
        "class Own(pandas.DataFrame): pass\nown = Own({'a': [1]}); own.title = 'O'\n"
        "masked = numpy.ma.masked_array([1, 2], [0, 1]); masked.unit = 'm'"
    )
    assert saved_and_loaded(namespace) == {}
    assert namespace["train"].title == "T" and namespace["train"].of is namespace["train"]
    assert namespace["column"].unit == "km" and namespace["own"].title == "O"
    assert type(namespace["own"]) is namespace["Own"]
    assert namespace["masked"].unit == "m" and namespace["masked"].mask.tolist() == [False, True]
    assert changed() == {}


def test_registered_colormaps_come_back(run, namespace):
    matplotlib = pytest.importorskip("matplotlib")
    run(
        "import matplotlib, matplotlib.colors\n"
        "own = matplotlib.colors.ListedColormap(['red', 'blue'], name='own')\n"
        "matplotlib.colormaps.register(own); matplotlib.colormaps.register(own, name='again')"
    )
    checkpoint = Checkpoint()
    for name in ("own", "again"):
        matplotlib.colormaps.unregister(name)
    assert checkpoint.load(namespace) == {}
    assert matplotlib.colormaps["again"].colors == ["red", "blue"]
    for name in ("own", "again"):
        matplotlib.colormaps.unregister(name)
