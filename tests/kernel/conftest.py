"""Fixtures that run the package `ratoon_kernel` in a plain Python. Stand-ins replace the modules
that the program provides."""

import sys

import pytest

import stand_ins

stand_ins.install()

from IPython.core.interactiveshell import InteractiveShell

from ratoon_kernel import cells, checkpoint, settings, shell, transfer  # noqa: F401


@pytest.fixture(scope="session")
def booted():
    """A shell that is set up like the shell of the root process."""
    InteractiveShell.cache_size = 0
    shell.shell = InteractiveShell.instance()
    shell.shell.history_manager.enabled = False
    checkpoint.boot()
    settings.note_root()
    return shell.shell


@pytest.fixture
def namespace(booted):
    """The namespace of a notebook in which no cell has run."""
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
    """A function that runs code like a cell of the notebook."""
    return lambda code: exec(compile(code, "<ipython-input-1>", "exec"), namespace)
