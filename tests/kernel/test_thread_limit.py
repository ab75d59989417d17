"""Tests of the limit of threads of numeric libraries."""

import os
import sys
import types

import pytest

from ratoon_kernel import thread_limit
from run_cells import run_cells

# The environment variables of libraries with threads.
VARIABLES = "sorted(one for one in os.environ if '_THREADS' in one or 'KMP' in one)"
# The numbers of threads of the loaded libraries.
POOLS = "{one['num_threads'] for one in threadpoolctl.threadpool_info()}"
CORES = len(os.sched_getaffinity(0))


def printed(one):
    return "".join(text[1] for text in one["sent"] if len(text) == 2).strip()


@pytest.fixture(autouse=True)
def unlimited(monkeypatch):
    for name in thread_limit._VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_the_environment_is_limited_and_restored(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setenv("MKL_NUM_THREADS", "1")
    monkeypatch.setenv("BLIS_NUM_THREADS", "many")
    before = dict(os.environ)
    with pytest.raises(KeyboardInterrupt), thread_limit.limited(2):
        assert os.environ["OMP_NUM_THREADS"] == "2"
        assert os.environ["OPENBLAS_NUM_THREADS"] == "2"
        assert os.environ["BLIS_NUM_THREADS"] == "2"
        # A limit does not add threads.
        assert os.environ["MKL_NUM_THREADS"] == "1"
        raise KeyboardInterrupt
    assert dict(os.environ) == before
    with thread_limit.limited(2):
        os.environ["OMP_NUM_THREADS"] = "3"
        del os.environ["OPENBLAS_NUM_THREADS"]
    assert os.environ.pop("OMP_NUM_THREADS") == "3"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_pytorch_is_limited_and_restored(monkeypatch):
    class Torch(types.ModuleType):
        count = 8

        def get_num_threads(self):
            return self.count

        def set_num_threads(self, count):
            self.count = count

    torch = Torch("torch")
    monkeypatch.setitem(sys.modules, "torch", torch)
    with thread_limit.limited(2):
        assert torch.count == 2
    assert torch.count == 8
    with thread_limit.limited(2):
        torch.set_num_threads(3)
    assert torch.count == 3
    with thread_limit.limited(4):
        assert torch.count == 3
    # A library that the cell itself loads.
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    with thread_limit.limited(2):
        torch.count = 2
        monkeypatch.setitem(sys.modules, "torch", torch)
    assert torch.count == 5
    # A module of the user.
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    with thread_limit.limited(2):
        pass


@pytest.mark.skipif(CORES < 2, reason="one core has nothing to limit")
def test_loaded_libraries_are_limited_while_a_cell_and_its_metric_run(tmp_path):
    show = f"print({POOLS})"
    found = run_cells(
        tmp_path,
        ["import numpy, os, threadpoolctl", True, False],
        [show, True, False],
        [show, True, False, f"max({POOLS})", 1],
        [f"{show}\n1/0", True, False, None, 1],
        [show, True, False],
    )
    every = f"{{{CORES}}}"
    assert [printed(found[at]) for at in (1, 2, 3, 4)] == [every, "{1}", "{1}", every]
    assert found[2]["ended"]["metric"]["value"] == 1
    assert found[3]["ended"]["error"]["ename"] == "ZeroDivisionError"


def test_a_limited_cell_leaves_libraries_and_the_environment_unlimited(tmp_path):
    _, variables, loaded, later = run_cells(
        tmp_path,
        ["import os, sys", True, False],
        [f"print(len({VARIABLES}))", True, False, None, 1],
        ["import numpy\nnumpy.ones((9, 9)) @ numpy.ones(9)", True, False, None, 1],
        [f"print({VARIABLES})\nimport threadpoolctl\nprint({POOLS})", True, False],
    )
    assert printed(variables) == f"{len(thread_limit._VARIABLES)}"
    assert loaded["ended"]["error"] is None
    assert printed(later) == f"[]\n{{{CORES}}}"


def test_a_limited_branch_computes_with_one_thread(tmp_path):
    # Counts the threads, other than the main one, that use the processor during products.
    code = """
import os, numpy
a = numpy.ones((600, 600))
a @ a

def ticks(thread):
    with open(f"/proc/self/task/{thread}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])

def helpers():
    before = {thread: ticks(thread) for thread in os.listdir("/proc/self/task")}
    for _ in range(30):
        a @ a
    busy = {thread for thread in before if ticks(thread) > before[thread] + 1}
    return len(busy - {str(os.getpid())})
"""
    _, found = run_cells(tmp_path, [code, True, False], ["helpers()", True, False, "helpers()", 1])
    assert found["ended"]["metric"] == {"value": 0.0, "problem": None}
    if CORES > 1:
        unlimited = run_cells(tmp_path, [code, True, False, "helpers()"])
        assert unlimited[0]["ended"]["metric"]["value"] > 0
