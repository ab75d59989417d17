"""Uses plainbook like its page, once with snapshot-kernel and once with Ratoon. In both, the same
cells must run and show the same outputs.

Started by `tests/ancestor/run plainbook`.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)))

import ratoon_client as ratoon

# Names that IPython defines in the namespace. plainbook lists them as variables.
OF_IPYTHON = {"In", "Out", "exit", "quit", "get_ipython"}
# Time limit of the start, and of a request.
SECONDS = 60


class Plainbook:
    """A server of plainbook in its own temporary directory."""

    def __init__(self, name, *paths):
        self.name = name
        self.room = tempfile.TemporaryDirectory(prefix="ratoon-test-", ignore_cleanup_errors=True)
        self.directory = self.room.name
        self.port = ratoon.free_port()
        # plainbook stores its settings in the home directory.
        environment = {
            "HOME": self.directory,
            "XDG_DATA_HOME": self.directory,
            "PYTHONUNBUFFERED": "1",
        }
        environment["PYTHONPATH"] = os.pathsep.join([*paths, os.environ["RATOON_TEST_PLAINBOOK"]])
        command = [
            sys.executable,
            os.path.join(HERE, "start.py"),
            "book.plnb",
            "--port",
            str(self.port),
        ]
        self.log = open(os.path.join(self.directory, "log"), "w+")
        self.process = subprocess.Popen(
            command,
            cwd=self.directory,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        try:
            self.token = self.wait(
                lambda: re.search(r"Authentication token: (\w+)", self.said())
            ).group(1)
            self.wait(self.is_there)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.send_signal(2)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.room.cleanup()

    def wait(self, until):
        ends = time.monotonic() + SECONDS
        while not (found := until()):
            if self.process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError(
                    f"plainbook with {self.name} does not answer; it said:\n{self.said()}"
                )
            time.sleep(0.05)
        return found

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def is_there(self):
        try:
            return self.ask("/state")
        except OSError:
            return None

    def ask(self, path, **body):
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode({'token': self.token})}"
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(
            url, data, {"Content-Type": "application/json"} if body else {}
        )
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.loads(answer.read())

    # -- requests like those of plainbook's page

    def cells(self):
        return self.ask("/get_notebook")["nb"]["cells"]

    def place(self, name):
        """Returns the index of the cell with this name."""
        return next(
            at
            for at, cell in enumerate(self.cells())
            if f"# name {name}\n" in text(cell["metadata"].get("explanation"))
        )

    def add(self, name, code, at=None, kind="code"):
        at = len(self.cells()) if at is None else at
        self.ask("/insert_cell", cell_type=kind, index=at)
        self.ask("/edit_explanation", cell_index=at, explanation=f"# name {name}\n{code}")

    def change(self, name, code):
        self.ask(
            "/edit_explanation", cell_index=self.place(name), explanation=f"# name {name}\n{code}"
        )

    def run_all(self, forced=None):
        """Runs each cell in turn until one fails. First generates code for cells without valid
        code. Returns for each cell whether it really ran, and its outputs.
        """
        told, before = [], self.ask("/counters")["ran"]
        for at, cell in enumerate(self.cells()):
            if cell["cell_type"] != "code":
                continue
            if self.ask("/state")["state"]["last_valid_code_cell"] < at:
                self.ask("/generate_code", cell_index=at)
            name = self.cells()[at]["metadata"]["name"]
            ran = self.ask("/execute_cell", cell_index=at, force_reexecute=name == forced)
            now = self.ask("/counters")["ran"]
            told.append(
                [
                    name,
                    "ran" if now > before else "did not run",
                    ran.get("details"),
                    *shown(ran.get("outputs", [])),
                ]
            )
            before = now
            if ran["status"] != "ok" or ran["details"] == "CellExecutionError":
                break
        return told

    def test(self, name):
        at = self.place(name)
        self.ask("/generate_test_code", cell_index=at)
        return shown(self.ask("/execute_test_cell", cell_index=at)["outputs"])

    def unit_test(self, name, setup, check):
        at, cell = self.place(name), {"source": "", "metadata": {}, "outputs": []}
        parts = {"setup": dict(cell), "target": {}, "test": dict(cell)}
        self.ask(
            "/save_unit_tests", cell_index=at, unit_tests={"t": {"cells": parts, "validity": {}}}
        )
        self.ask("/save_unit_test_code", cell_index=at, test_name="t", role="setup", source=setup)
        self.ask("/save_unit_test_code", cell_index=at, test_name="t", role="test", source=check)
        roles = ("setup", "target", "test")
        return [
            shown(
                self.ask("/run_unit_test_cell", cell_index=at, test_name="t", role=role)["outputs"]
            )
            for role in roles
        ]

    def interrupted(self):
        """Runs all cells, and interrupts the cell that creates the file `slow`."""

        def stop():
            self.wait(lambda: os.path.exists(os.path.join(self.directory, "slow")))
            self.ask("/interrupt_kernel", now=True)

        stopping = threading.Thread(target=stop)
        stopping.start()
        told = self.run_all()
        stopping.join()
        return told


def text(value):
    return "".join(value) if isinstance(value, list) else value or ""


def shown(outputs):
    """Returns the text of each stream, and the errors and displayed objects. Ignores the order
    between streams and the others, because only Ratoon preserves it.
    """
    streams, others = {}, []
    for item in outputs:
        if item["output_type"] == "stream":
            streams[item["name"]] = streams.get(item["name"], "") + text(item["text"])
        elif item["output_type"] == "error":
            others.append([item["ename"], item["evalue"]])
        else:
            others.append(sorted(item["data"]) if "image/png" in item["data"] else item["data"])
    return [streams, others]


def story(book):
    book.add("data", "import numpy as np\nrows = list(range(10))\nprint('data')")
    book.add("total", "total = sum(rows)\nprint('total')\ntotal")
    book.add("other", "other = {'k': [1]}\nprint('other')")
    book.add("helper", "def double(v): return v * factor\nfactor = 2\nprint('helper')")
    book.add("use", "result = double(total)\nprint('use', result)")
    book.add("plot", "import matplotlib.pyplot as plt\nplt.plot(rows)\nplt.show()\nprint('plot')")
    book.add("mutate", "other['k'].append(total)\nprint('mutate', other)")
    book.add("last", "print('last', other, result)")
    book.add("right", "assert __state__total.total == 45\nassert result == 90, result", kind="test")
    book.add("wrong", "assert __state__data.rows[0] == 1, 'not one'", kind="test")
    yield "all", book.run_all()
    yield "all again", book.run_all()
    yield "a test that passes", book.test("right")
    yield "a test that fails", book.test("wrong")
    variables = book.cells()[book.place("last")]["metadata"]["variables"]
    yield "variables", sorted(set(variables) - OF_IPYTHON)
    book.change("data", "import numpy as np\nrows = [n for n in range(10)]\nprint('data 2')")
    yield "other code with the same effect", book.run_all()
    book.change("other", "other = {'k': [2]}\nprint('other 2')")
    yield "what one cell reads", book.run_all()
    book.change("helper", "def double(v): return v * factor\nfactor = 3\nprint('helper 2')")
    yield "what a function reads", book.run_all()
    book.change("data", "import numpy as np\nrows = list(range(11))\nprint('data 3')")
    yield "what most cells read", book.run_all()
    yield "a test after it", book.test("right")
    yield "one cell by force", book.run_all(forced="other")
    book.change("total", "total = sum(rows) / 0")
    yield "a cell that fails", book.run_all()
    yield "it fails again", book.run_all()
    book.change("total", "total = sum(rows)\nprint('total')")
    yield "mended", book.run_all()
    book.add(
        "slow",
        "import time\nprint('slow')\nopen('slow', 'w').close()\nwhile True: time.sleep(0.02)",
        at=2,
    )
    yield "interrupted", book.interrupted()
    book.ask("/delete_cell", cell_index=2)
    yield "without it", book.run_all()
    book.ask("/reset_kernel", now=True)
    yield "after a reset", book.run_all()
    book.ask("/move_cell", cell_index=2, new_index=0)
    yield "in another order", book.run_all()
    book.change(
        "data", "import numpy as np\nrows = np.arange(11)\na = (0, [1])\nb = a\nprint('data 4')"
    )
    book.change(
        "total", "total = 55\na[1].append(total)\ntry:\n    1/0\nexcept Exception as e: pass"
    )
    book.add("look", "print(b, a is b, 'e' in globals())", at=3)
    yield "a list in a tuple of two names", book.run_all()
    book.add("name", "e = 5", at=0)
    yield "a name that `except` deletes", book.run_all()
    # Does not set variables that functions read, because only Ratoon detects these reads.
    yield "parts that are tested", book.unit_test("use", "total = 1", "assert result == 3, result")
    yield "parts that fail", book.unit_test("use", "total = 1", "assert result == 4, result")
    yield "all once more", book.run_all()
    state = book.ask("/state")["state"]
    yield (
        "state",
        {
            name: value
            for name, value in state.items()
            if name.startswith("last_") or name == "num_cells"
        },
    )
    counters = book.ask("/counters")
    yield "generated", counters["generated"]
    yield "refused by the kernel", counters["refused"]


def main():
    is_wrong, count = False, 0
    with (
        Plainbook("snapshot-kernel") as there,
        Plainbook("Ratoon", os.path.join(HERE, "kernel")) as here,
    ):
        for (step, theirs), (_, ours) in zip(story(there), story(here), strict=True):
            count += 1
            if theirs != ours:
                is_wrong = True
                print(f"DIFFERS {step}\n    there {theirs}\n    here  {ours}")
    print(f"plainbook: {count} steps, {'not all' if is_wrong else 'all'} alike")
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
