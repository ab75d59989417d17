"""The contestants of `durable`: programs that keep a namespace on disk and give it back, all driven
the same way.

A keeper runs cells on one line. `cell` answers what the cell printed and how long the user waited
for it; `mark` names the namespace as it is now, and `go_back` brings it back and answers how long
that took until a cell was answered there.
"""

import os
import time
from dataclasses import dataclass

import ratoon_client as ratoon
from peers import IPyKernel, check

# Waiting for a checkpoint of a gigabyte on a busy machine.
PATIENCE = 900

# Every cell says itself how long its own work took; the rest is what the user waits because the
# cell ran here.
CLOCKED = """import time as _time
_began = _time.perf_counter()
{code}
print("took", _time.perf_counter() - _began)
"""


@dataclass
class Cell:
    """How a cell went: what it printed, and seconds: to its answer, and of these, its own work."""

    text: str
    seconds: float
    own: float

    @property
    def beyond(self):
        return self.seconds - self.own


def clocked(run, code):
    started = time.perf_counter()
    answer = run(CLOCKED.format(code=code))
    passed = time.perf_counter() - started
    text, _, own = ratoon.printed(answer).rpartition("took ")
    return Cell(text, passed, float(own))


def size_of(path):
    """Bytes that a file, or all in a folder, take on disk."""
    if os.path.isdir(path):
        return sum(size_of(entry.path) for entry in os.scandir(path))
    try:
        return os.stat(path).st_blocks * 512
    except FileNotFoundError:
        return 0


def forget_pages(path):
    """Takes a file, or all in a folder, out of the machine's page cache, as if it were read for
    the first time.
    """
    if os.path.isdir(path):
        for entry in os.scandir(path):
            forget_pages(entry.path)
        return
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


class Ratoon:
    """A line of states over REST. Checkpoints are written by themselves."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.server.__enter__()
        self.name = self.server.notebook()
        self.door = self.server.rest()
        self.state = "initial"
        return self

    def __exit__(self, *error):
        self.server.__exit__(*error)

    def run(self, code):
        answer = self.door.run(code, self.state)
        check(answer["error"])
        self.state = answer["state_name"]
        return answer

    def cell(self, code):
        return clocked(self.run, code)

    def record(self, state):
        """What the notebook says about a state."""
        states = self.door.get(f"/api/notebooks/{self.name}")["states"]
        return next(record for record in states if record["name"] == state)

    def wait_until_kept(self, states=None):
        """Waits until these states (else the last) are on disk; answers how many seconds that
        took.
        """
        left = set(states or [self.state])
        started = time.perf_counter()
        while True:
            for record in self.door.get(f"/api/notebooks/{self.name}")["states"]:
                if record["name"] in left:
                    if record["saving"]["now"] == "failed":
                        raise RuntimeError(f"a checkpoint failed: {record['saving']['why']}")
                    if record["checkpoint"]:
                        left.remove(record["name"])
            passed = time.perf_counter() - started
            if not left:
                return passed
            if passed > PATIENCE:
                raise RuntimeError(f"{len(left)} states have no checkpoint after {PATIENCE} s")
            time.sleep(min(0.05, passed / 10 + 0.002))

    def mark(self):
        self.wait_until_kept()
        return self.state

    def restart(self):
        self.server.restart()
        self.door = self.server.rest()
        # What is timed is the state's way back, not the start of Python.
        self.door.run("1", "initial")

    def go_back(self, mark):
        self.state = mark
        started = time.perf_counter()
        self.run("1")
        return time.perf_counter() - started

    def place(self):
        return os.path.join(self.server.directory, f"{self.name}.ratoon")


class Kishu(IPyKernel):
    """Kishu in ipykernel, as its own commands drive it. After each cell it commits, before the cell
    is answered.

    Its test mode leaves out what waits for a browser's page (and costs up to a second per
    checkout); all else is as it is.
    """

    def __init__(self, python):
        notebook = os.path.join("{room}", "notebook.ipynb")
        super().__init__(
            python, TEST_NOTEBOOK_PATH=notebook, ENV_KISHU_TEST_MODE="1", KISHU_PATH_ROOT="{room}"
        )
        with open(notebook.format(room=self.room.name), "w") as file:
            file.write('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')

    def start(self):
        super().start()
        # Its first hook after a cell fails for this cell, in which it came to be. That is its way.
        self.ask("from kishu import init_kishu; init_kishu()")

    def ask(self, code):
        """Runs what is no cell of the notebook; answers the text that it printed."""
        text = ""
        for message in self.messages(self.client.execute(code, silent=True, store_history=False)):
            text += message["content"].get("text", "") if message["msg_type"] == "stream" else ""
        reply = self.client.get_shell_msg(timeout=300)["content"]
        if reply["status"] != "ok":
            raise RuntimeError(f"Kishu: {reply.get('ename')}: {reply.get('evalue')}")
        return text

    def cell(self, code):
        return clocked(self.run, code)

    def mark(self):
        return self.ask("print(_kishu._kishu_branch.get_head().commit_id)").strip()

    def restart(self):
        self.stop()
        self.start()

    def go_back(self, mark):
        started = time.perf_counter()
        self.ask(f"_kishu.checkout({mark!r})")
        self.ask("1")
        return time.perf_counter() - started

    def place(self):
        return os.path.join(self.room.name, "notebook.kishudb")


class Dill(IPyKernel):
    """What people do by hand: all names of their own into one file, with dill, in the cell."""

    SET_UP = """import dill as _dill
_not_own = {"In", "Out", "exit", "quit", "open", "get_ipython"}
def _keep(path):
    with open(path, "wb") as file:
        own = {k: v for k, v in globals().items() if k[0] != "_" and k not in _not_own}
        _dill.dump(own, file)
def _give_back(path):
    with open(path, "rb") as file:
        globals().update(_dill.load(file))
"""

    def __init__(self, python):
        super().__init__(python)
        self.kept = 0

    def start(self):
        super().start()
        self.run(self.SET_UP)

    def path(self, number):
        return os.path.join(self.room.name, "kept", f"{number}.dill")

    def cell(self, code):
        """Only a cell of which a mark is wanted is kept: see `kept_cell`."""
        return clocked(self.run, code)

    def kept_cell(self, code):
        os.makedirs(os.path.dirname(self.path(0)), exist_ok=True)
        self.kept += 1
        path = self.path(self.kept)
        return clocked(lambda text: self.run(f"{text}\n_keep({path!r})"), code)

    def mark(self):
        return self.path(self.kept)

    def restart(self):
        self.stop()
        self.start()

    def go_back(self, mark):
        started = time.perf_counter()
        self.run(f"_give_back({mark!r})")
        self.run("1")
        return time.perf_counter() - started

    def place(self):
        return os.path.dirname(self.path(0))


def kept_cell(keeper, code):
    """Runs a cell after which a mark is wanted."""
    return getattr(keeper, "kept_cell", keeper.cell)(code)
