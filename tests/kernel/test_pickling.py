"""Tests of the environment form: objects after saving and loading a checkpoint."""

import math
import sys

import executing
import pytest

from store import Checkpoint, saved_and_loaded


def test_a_function_belongs_to_the_live_namespace(run, namespace):
    run("k = 5\ndef add(a, b=2, *, c=3): return a + b + c + k\nadd.note = [1]")
    assert saved_and_loaded(namespace) == {}
    namespace["k"] = 100
    assert namespace["add"](1) == 106
    assert namespace["add"].note == [1]
    assert namespace["add"].__globals__ is namespace


def test_closures_share_their_cells(run, namespace):
    run(
        "def counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n"
        "        return n\n"
        "    def look(): return n\n    return up, look\nup, look = counter()\nup()"
    )
    saved_and_loaded(namespace)
    assert namespace["up"]() == 2 == namespace["look"]()


def test_objects_shared_by_two_names_stay_shared(run, namespace):
    run("import numpy\na = [1]; b = {'a': a}; big = numpy.arange(1e5); view = big[5:9]; loop = []")
    run("loop.append(loop)")
    assert saved_and_loaded(namespace) == {}
    assert namespace["b"]["a"] is namespace["a"]
    assert namespace["view"].base is namespace["big"]
    namespace["big"][5] = -1
    assert namespace["view"][0] == -1
    assert namespace["loop"][0] is namespace["loop"]


@pytest.mark.parametrize(
    "statement",
    [
        "class C:\n    __slots__ = ('a', '__b')\n    def __init__(self): self.a, self.__b = 1, 2\n"
        "x = C()",
        "import enum\nclass C(enum.Enum):\n    ONE = 1\n    TWO = 2\nx = C.TWO",
        "import typing\nclass C(typing.NamedTuple):\n    a: int\n    b: str = 'y'\nx = C(1)",
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n    a: int = 1\nx = C(3)",
    ],
)
def test_a_class_is_restored_with_its_objects(run, namespace, statement):
    run(statement)
    before = repr(namespace["x"]) if hasattr(namespace["C"], "__members__") else None
    assert saved_and_loaded(namespace) == {}
    assert type(namespace["x"]) is namespace["C"]
    assert before is None or repr(namespace["x"]) == before
    if hasattr(namespace["C"], "__slots__") and "a" in namespace["C"].__slots__:
        assert namespace["x"]._C__b == 2
        assert not hasattr(namespace["x"], "__dict__")


def test_loading_a_subclass_does_not_call_init_subclass_again(run, namespace):
    run("seen = []\nclass Base:\n    def __init_subclass__(cls, **more): seen.append((cls, more))")
    run("class Sub(Base, flag=1): pass")
    saved_and_loaded(namespace)
    assert namespace["seen"] == [(namespace["Sub"], {"flag": 1})]


def test_an_exception_keeps_its_cause(run, namespace):
    run(
        "class Own(Exception):\n    def __init__(self, a, b): super().__init__(a); self.b = b\n"
        "try:\n    try: 1/0\n    except Exception as e: raise Own(1, 2) from e\n"
        "except Own as e: kept = e"
    )
    saved_and_loaded(namespace)
    assert namespace["kept"].b == 2
    assert isinstance(namespace["kept"].__cause__, ZeroDivisionError)


def test_an_exception_keeps_its_traceback(run, namespace):
    run(
        "import traceback\ndef fails(path):\n    return open(path)\n"
        "try: fails('/no/file')\nexcept OSError as e:\n    kept = e\n    kept.note = [e]\n"
        "def lines(): return [(one.name, one.lineno) for one in traceback.extract_tb(kept.__traceback__)]"
    )
    before = namespace["lines"]()
    assert saved_and_loaded(namespace) == {}
    assert namespace["lines"]() == before
    assert before[:2] == [("<module>", 4), ("fails", 3)]
    kept = namespace["kept"]
    assert type(kept) is FileNotFoundError and kept.filename == "/no/file" and kept.errno == 2
    assert kept.note[0] is kept
    # IPython looks for the node of each frame.
    assert executing.Source.executing(kept.__traceback__).node is None
    with pytest.raises(FileNotFoundError):
        raise kept


def test_a_number_that_is_none_keeps_its_identity(run, namespace):
    run(
        "import math, numpy\nown = float('nan'); other = float('inf') - float('inf')\n"
        "values = [math.nan, numpy.nan, own, other, 1.0]\ncounts = {numpy.nan: 1, own: 2, (own, 1): 3}"
    )
    assert saved_and_loaded(namespace) == {}
    own, other, values = (namespace[name] for name in ("own", "other", "values"))
    assert values[0] is math.nan and values[1] is namespace["numpy"].nan
    assert values[2] is own and values[3] is other and values[4] == 1
    assert [math.copysign(1, one) for one in (own, other)] == [1, -1]
    counts = namespace["counts"]
    assert [counts[values[1]], counts[own], counts[own, 1]] == [1, 2, 3]


def test_a_module_that_a_cell_has_replaced_prevents_no_checkpoint(run, namespace, monkeypatch):
    run("import numpy\nvalues = [numpy.nan, 1.0]; values.append(values[0])\ndel numpy")
    checkpoint = Checkpoint()
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert checkpoint.load(namespace) == {}
    assert math.isnan(namespace["values"][0]) and namespace["values"][0] is namespace["values"][2]
    assert saved_and_loaded(namespace) == {}


def test_a_reducer_that_a_cell_has_registered_pickles_its_exceptions(run, namespace):
    run(
        "import copyreg\nclass E(Exception):\n    def __reduce__(self): raise TypeError\n"
        "def make(text):\n    made = E(text); made.is_made = True; return made\n"
        "copyreg.pickle(E, lambda one: (make, one.args))\nkept = E('x')"
    )
    assert saved_and_loaded(namespace) == {}
    assert namespace["kept"].is_made and namespace["kept"].args == ("x",)


def test_sets_keep_their_order(run, namespace):
    run(
        "added = [set() for _ in range(200)]\n"
        "for n, one in enumerate(added):\n    for m in range(n): one.add(f'{n} {m}')\n"
        "copied = [set(one) for one in added]\n"
        "shrunk = [set(one) for one in added]\n"
        "for one in shrunk:\n    for item in list(one)[::3]: one.discard(item)\n"
        "joined = [a | b for a, b in zip(added, added[50:])]\n"
        "mixed = [{(n, 'a'), 2.5, b'c', True, f'd{n}'} for n in range(100)]; same = mixed[0]"
    )
    kinds = ("added", "copied", "shrunk", "joined", "mixed")
    before = {kind: [list(one) for one in namespace[kind]] for kind in kinds}
    changed = [one for lists in before.values() for one in lists if list(set(one)) != one]
    assert len(changed) > 200, "pickle would keep the order of these sets"
    assert saved_and_loaded(namespace) == {}
    found = {kind: [list(one) for one in namespace[kind]] for kind in kinds}
    differing = [
        one for kind in kinds for one, as_was in zip(found[kind], before[kind]) if one != as_was
    ]
    # For one set of a hundred there is no way.
    assert len(differing) < len(changed) / 20
    assert namespace["same"] is namespace["mixed"][0]


def test_large_sets_of_one_type_are_kept_as_one_buffer(run, namespace):
    run(
        "words = {f'word {n}' for n in range(30_000)}; again = [words]; bad = {*words, '\\udc80'}\n"
        "numbers = {*range(30_000)}; huge = {*numbers, 2**70}; empty = {*words, ''}"
    )
    before = {name: set(namespace[name]) for name in ("words", "bad", "numbers", "huge", "empty")}
    checkpoint = Checkpoint()
    assert checkpoint.load(namespace) == {}
    assert all(namespace[name] == value for name, value in before.items())
    assert namespace["again"][0] is namespace["words"]
    # Both forms keep the same bytes, which are one blob on disk: the data form for each name.
    size = sum(map(len, before["words"])) + len(before["words"]) - 1
    assert [one["bytes"] for one in checkpoint.manifest["buffers"]].count(size) == 3


def test_weak_references_refer_to_the_restored_object(run, namespace):
    run("import weakref\nclass C: pass\nc = C(); ref = weakref.ref(c); gone = weakref.ref(C())")
    saved_and_loaded(namespace)
    assert namespace["ref"]() is namespace["c"]
    assert namespace["gone"]() is None


def test_views_share_the_memory_of_their_object(run, namespace):
    run("whole = bytearray(b'abcdef'); part = memoryview(whole)[2:4]; keys = {1: 2}.keys()")
    saved_and_loaded(namespace)
    namespace["whole"][2] = ord("X")
    assert bytes(namespace["part"]) == b"Xd"
    assert list(namespace["keys"]) == [1]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("(n for n in [1])", "a generator"),
        ("open('/dev/null')", "an open file"),
        (
            "[1, {'key': (n for n in [1])}]",
            "it holds a generator ([1]['key'])",
        ),
        ("held()", "a lock that is held"),
        ("__import__('contextvars').ContextVar('c')", "a context variable"),
    ],
)
def test_only_the_name_that_cannot_be_saved_is_missing(run, namespace, value, reason):
    run(
        "import threading\ndef held():\n    one = threading.Lock()\n    one.acquire()\n"
        "    return one"
    )
    run(f"before = [1]; bad = {value}; after = (before, before)")
    lacks = saved_and_loaded(namespace)
    assert lacks == {"bad": reason}
    assert namespace["after"][0] is namespace["before"]
    with pytest.raises(NameError, match="it is missing since this state was restored"):
        eval("bad", namespace)


def test_only_the_name_that_cannot_be_loaded_is_missing(run, namespace):
    run("class C:\n    def __setstate__(self, state): raise ValueError('no')\nshared = ['text']")
    run("bad = C(); bad.a = shared; good = [shared]")
    failed = Checkpoint().load(namespace)
    assert failed == {"bad": "it could not be loaded: ValueError: no"}
    assert namespace["good"][0] is namespace["shared"]


def test_deep_nesting_is_saved(run, namespace):
    run("deep = []\nfor _ in range(30_000): deep = [deep]")
    checkpoint = Checkpoint()
    assert checkpoint.lacks == {}
    # Visits the levels one by one, because comparing the lists would recurse too deeply.
    assert checkpoint.load(namespace) == {}
    depth, at = 0, namespace["deep"]
    while at:
        depth, at = depth + 1, at[0]
    assert depth == 30_000


def test_a_write_to_a_shared_pandas_block_changes_one_frame_only(run, namespace):
    run("import pandas\na = pandas.DataFrame({'x': [1.0, 2.0]}); b = a.copy(deep=False)")
    saved_and_loaded(namespace)
    namespace["a"].iloc[0, 0] = 9
    assert namespace["b"].iloc[0, 0] == 1


def test_settings_and_imports_are_restored(run, namespace, booted):
    booted.history_manager.input_hist_parsed[:] = ["", "import random, json as j"]
    run("import random, json as j\nrandom.seed(4)")
    sys.setrecursionlimit(sys.getrecursionlimit() + 7)
    limit = sys.getrecursionlimit()
    checkpoint = Checkpoint()
    first = namespace["random"].random()
    sys.setrecursionlimit(limit - 7)
    assert checkpoint.load(namespace) == {}
    assert namespace["random"].random() == first
    assert sys.getrecursionlimit() == limit
    assert checkpoint.manifest["imports"] == ["import random, json as j"]
    sys.setrecursionlimit(limit - 7)


def test_pools_are_created_again(run, namespace):
    run("from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(2)")
    run("import multiprocessing.pool\nlater = multiprocessing.pool.ThreadPool(2)")
    namespace["later"].close, stop = namespace["later"].close, namespace["later"].terminate
    del namespace["later"].close
    assert saved_and_loaded(namespace) == {}
    stop()
    assert namespace["pool"].submit(pow, 2, 5).result() == 32
    assert "_ratoon_made_with" in vars(namespace["later"])
    assert namespace["later"].map(abs, [-1]) == [1]
    namespace["later"].terminate()


def test_databases_in_memory_are_restored(run, namespace):
    run("import sqlite3\ndb = sqlite3.connect(':memory:'); db.execute('create table t (a)')")
    run("db.execute('insert into t values (3)')")
    if not hasattr(namespace["db"], "serialize"):
        pytest.skip("this Python's SQLite cannot serialize databases")
    assert saved_and_loaded(namespace) == {}
    assert namespace["db"].execute("select a from t").fetchall() == [(3,)]
