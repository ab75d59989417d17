"""The kernel's package in a plain Python: with stand-ins for what the program gives to it."""

import hashlib
import sys
import types

import pytest

native = types.ModuleType("ratoon_kernel._native")


class Before:
    def __init__(self, namespace):
        self.objects = dict(namespace)

    def changes(self, namespace):
        before = self.objects
        added = [name for name in namespace if name not in before]
        common = [name for name in namespace if name in before]
        changed = [name for name in common if namespace[name] is not before[name]]
        return added, changed, [name for name in before if name not in namespace]


native.digest = lambda memory: hashlib.blake2b(memory, digest_size=32).hexdigest()
native.note = Before
sys.modules["ratoon_kernel._native"] = native

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
