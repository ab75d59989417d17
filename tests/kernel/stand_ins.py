"""Python versions of the classes and functions that the program implements in Rust."""

import hashlib
import sys
import types


class Before:
    def __init__(self, namespace):
        self.objects = dict(namespace)

    def changes(self, namespace):
        before = self.objects
        added = [name for name in namespace if name not in before]
        common = [name for name in namespace if name in before]
        changed = [name for name in common if namespace[name] is not before[name]]
        return added, changed, [name for name in before if name not in namespace]


class Contents:
    def __init__(self, containers, entries):
        self.noted = containers, entries
        self.held = self.now()

    def now(self):
        containers, entries = self.noted
        items = [[*one, *one.values()] if isinstance(one, dict) else one for one in containers]
        held = [[id(item) for item in one] for one in items]
        return held, [id(one[key]) if key in one else 0 for one, key in entries]

    def are_same(self):
        return self.held == self.now()


class PickleWatch:
    def __init__(self, found, named):
        self.found = found
        self.named = {id(one): (place, one) for one, place in named}

    def persistent_id(self, value):
        is_nan = type(value) is float and value != value
        if is_nan or type(value) is set:
            return self.found(value)
        return self.named.get(id(value), [None])[0]


class SharedNumber:
    """Not shared: the tests run in one process."""

    def __init__(self):
        self.number = 0

    def get(self):
        return self.number

    def replace(self, old, new):
        is_old = self.number == old
        self.number = new if is_old else self.number
        return is_old


def install():
    """Makes the module `ratoon_kernel._native` importable."""
    native = types.ModuleType("ratoon_kernel._native")
    native.digest = lambda memory: hashlib.blake2b(memory, digest_size=32).hexdigest()
    native.note = Before
    native.Contents = Contents
    native.PickleWatch = PickleWatch
    native.SharedNumber = SharedNumber
    sys.modules["ratoon_kernel._native"] = native
