"""Checkpoints whose bytes are stored in memory."""

import json
import os
import signal

from ratoon_kernel.keeper import CHUNK_BYTES
from ratoon_kernel.loading import Loading
from ratoon_kernel.saving import Saving


class Keeper:
    def __init__(self):
        self.chunks = {}

    def expect(self, count):
        pass

    def put(self, memory, again):
        whole = bytes(memoryview(memory).cast("B"))
        parts = [whole[at : at + CHUNK_BYTES] for at in range(0, len(whole), CHUNK_BYTES)]
        names = []
        for part in parts:
            names.append(str(len(self.chunks)))
            self.chunks[names[-1]] = part
        return len(whole), names

    def check(self, count, chunks):
        return count

    def fill(self, memory, chunks):
        memoryview(memory).cast("B")[:] = b"".join(self.chunks[name] for name in chunks)

    def too_large(self):
        return "it is too large"

    def lift(self):
        pass

    def limit_again(self):
        pass


class Checkpoint:
    """Saves the current state when it is constructed. `lacks` maps each name that could not be
    saved to the reason."""

    def __init__(self, form="environment"):
        self.form = form
        self.keeper = Keeper()
        clock = signal.getsignal(signal.SIGALRM)
        told = json.loads(Saving(self.keeper).run(form, os.umask(os.umask(0))))
        signal.signal(signal.SIGALRM, clock)
        self.manifest = json.loads(told["manifest"])
        self.lacks = {one["name"]: one["reason"] for one in told["missing"]}

    def load(self, namespace):
        """Deletes the saved names from a namespace and loads the checkpoint. Returns {name: reason}
        for the missing names."""
        for name in [*(entry["name"] for entry in self.manifest["entries"]), *self.lacks]:
            namespace.pop(name, None)
        loading = Loading(self.keeper, self.manifest)
        lacks = loading.environment() if self.form == "environment" else loading.data()
        return {name: one["reason"] for name, one in lacks.items()}


def saved_and_loaded(namespace):
    """Saves the current state and loads the checkpoint into the namespace. Returns {name: reason}
    for the missing names."""
    checkpoint = Checkpoint()
    failed = checkpoint.load(namespace)
    assert failed == checkpoint.lacks
    return checkpoint.lacks
