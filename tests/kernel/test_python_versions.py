"""Tests of the checks of private parts of CPython and cloudpickle."""

import pickle
import random
import subprocess
import threading

import cloudpickle
import pytest

from ratoon_kernel import python_versions


def test_this_python_passes_the_checks():
    python_versions.check()


def test_a_moved_argument_of_fork_exec_is_reported(monkeypatch):
    monkeypatch.setattr(python_versions, "START_NEW_SESSION", 15)
    with pytest.raises(ImportError, match=r"fork_exec differs from .* or update Ratoon"):
        python_versions.check()


def test_a_missing_name_is_reported(monkeypatch):
    monkeypatch.delattr(random, "_inst")
    with pytest.raises(ImportError, match=r"random\._inst differs from"):
        python_versions.check()


def test_a_thread_that_keeps_its_target_is_reported(monkeypatch):
    monkeypatch.setattr(threading.Thread, "run", lambda thread: thread._target())
    with pytest.raises(ImportError, match=r"threading\.Thread\._target differs from"):
        python_versions.check()


def test_another_form_of_classes_is_reported(monkeypatch):
    usual = cloudpickle.CloudPickler.reducer_override
    more = lambda self, kind: (*usual(self, kind), None)  # noqa: E731
    monkeypatch.setattr(cloudpickle.CloudPickler, "reducer_override", more)
    with pytest.raises(ImportError, match="cloudpickle's form of a class"):
        python_versions.check()


def test_the_checks_leave_subprocess_unchanged():
    before = getattr(subprocess, "_fork_exec", None)
    python_versions.check()
    assert getattr(subprocess, "_fork_exec", None) is before
    assert subprocess.run(["true"], check=True).returncode == 0
    assert pickle.loads(pickle.dumps(1)) == 1
