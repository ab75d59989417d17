"""What we assume of private parts of CPython and cloudpickle."""

import pickle
import random
import subprocess
import threading

import cloudpickle
import pytest

from ratoon_kernel import private_layouts


def test_this_python_is_known():
    private_layouts.check()


def test_a_moved_flag_is_told(monkeypatch):
    monkeypatch.setattr(private_layouts, "START_NEW_SESSION", 15)
    with pytest.raises(ImportError, match=r"fork_exec is not what .* or update Ratoon"):
        private_layouts.check()


def test_a_missing_name_is_told(monkeypatch):
    monkeypatch.delattr(random, "_inst")
    with pytest.raises(ImportError, match=r"random\._inst is not what"):
        private_layouts.check()


def test_a_thread_that_keeps_its_target_is_told(monkeypatch):
    monkeypatch.setattr(threading.Thread, "run", lambda thread: thread._target())
    with pytest.raises(ImportError, match=r"threading\.Thread\._target is not what"):
        private_layouts.check()


def test_another_form_of_classes_is_told(monkeypatch):
    usual = cloudpickle.CloudPickler.reducer_override
    more = lambda self, kind: (*usual(self, kind), None)  # noqa: E731
    monkeypatch.setattr(cloudpickle.CloudPickler, "reducer_override", more)
    with pytest.raises(ImportError, match="cloudpickle's form of a class"):
        private_layouts.check()


def test_subprocess_is_left_as_it_was():
    before = getattr(subprocess, "_fork_exec", None)
    private_layouts.check()
    assert getattr(subprocess, "_fork_exec", None) is before
    assert subprocess.run(["true"], check=True).returncode == 0
    assert pickle.loads(pickle.dumps(1)) == 1
