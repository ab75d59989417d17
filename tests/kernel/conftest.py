"""The kernel's package in a plain Python: with stand-ins for what the program gives to it."""

import sys

import pytest

import stand_ins

stand_ins.install()

from IPython.core.interactiveshell import InteractiveShell

from ratoon_kernel import checkpoint, shell, transfer  # noqa: F401


@pytest.fixture(scope="session")
def booted():
    """A shell, as the root has one."""
    InteractiveShell.cache_size = 0
    shell.shell = InteractiveShell.instance()
    shell.shell.history_manager.enabled = False
    checkpoint.boot()
    return shell.shell


@pytest.fixture
def namespace(booted):
    """The namespace of a notebook in which nothing has run."""
    names = booted.user_ns
    before = dict(names)
    home, names["__name__"] = sys.modules["__main__"], "__main__"
    sys.modules["__main__"] = booted.user_module
    yield names
    sys.modules["__main__"] = home
    names.clear()
    names.update(before)


@pytest.fixture
def run(namespace):
    """Runs code as a cell does."""
    return lambda code: exec(compile(code, "<ipython-input-1>", "exec"), namespace)
