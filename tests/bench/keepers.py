"""The contestants of `durable`: programs that save a namespace to disk and restore it. All have the
same interface.

A keeper runs cells one after the other. `cell` runs a cell and returns its text and times. `mark`
returns an identifier of the current namespace. `go_back` restores the namespace of a mark, and
returns the seconds until a cell was answered there.
"""

import os
import time
from dataclasses import dataclass

import ratoon_client as ratoon
from peers import IPyKernel, check

# Time limit for writing checkpoints, in seconds. Enough for a gigabyte on a busy machine.
PATIENCE = 900

# Each cell prints the duration of its own work. The remaining waiting time is caused by the
# contestant.
CLOCKED = """import time as _time
_began = _time.perf_counter()
{code}
print("took", _time.perf_counter() - _began)
"""


@dataclass
class Cell:
    """The result of a cell: the text that it printed, the seconds until its answer, and the seconds
    of its own work."""

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
    """Returns the bytes that a file or a directory takes on disk."""
    if os.path.isdir(path):
        return sum(size_of(entry.path) for entry in os.scandir(path))
    try:
        return os.stat(path).st_blocks * 512
    except FileNotFoundError:
        return 0


def forget_pages(path):
    """Removes a file, or all files of a directory, from the system's page cache, so that they must
    be read from disk.
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
    """Ratoon over REST. The server writes checkpoints without a request."""

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
        """Returns the server's description of a state."""
        states = self.door.get(f"/api/notebooks/{self.name}")["states"]
        return next(record for record in states if record["name"] == state)

    def wait_until_kept(self, states=None):
        """Waits until these states (by default, the newest one) are on disk. Returns the seconds of
        waiting.
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
        # Starts Python now, so that its start is not included in the time of restoring.
        self.door.run("1", "initial")

    def go_back(self, mark):
        self.state = mark
        started = time.perf_counter()
        self.run("1")
        return time.perf_counter() - started

    def place(self):
        return os.path.join(self.server.directory, f"{self.name}.ratoon")


class Kishu(IPyKernel):
    """Kishu in ipykernel, used through its own commands. Kishu commits after each cell, before the
    cell is answered.

    Kishu's test mode skips steps that wait for a browser's page and cost up to a second per
    checkout. It changes nothing else.
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
        # This call installs a hook that runs after cells. The hook fails for the cell that installs
        # it, which is normal for Kishu.
        self.ask("from kishu import init_kishu; init_kishu()")

    def ask(self, code):
        """Runs code that is not a cell of the notebook. Returns the text that the code printed."""
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
    """Saves as users do by hand: the cell writes all of the user's variables to a file with
    dill."""

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
        """Runs a cell without saving. `kept_cell` also saves."""
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
    """Runs a cell whose namespace will be marked, so it must be saved."""
    return getattr(keeper, "kept_cell", keeper.cell)(code)
