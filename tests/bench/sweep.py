"""Compares a sweep with joblib's processes (loky) and with snapshot-kernel: many small branches of
one state that holds an array.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from durable import Peak
from measures import MB, MS, Row
from peers import SnapshotKernel

SWEEP, ONE, JOBLIB, SNAPSHOT = "Ratoon sweep", "one at a time", "joblib loky", "snapshot-kernel"
CONTESTANTS = [SWEEP, ONE, JOBLIB, SNAPSHOT]
ROWS, MANY, KEPT, PARALLEL = 100, 1000, 5, 2
SWEEPS = "/api/notebooks/main/sweeps"
CELL = "x = 0\nscore = float(held[x % 7]) + x"
# The same job as a script: the array is sent to the workers, as a user of joblib would do it.
SCRIPT = """
import sys, time, numpy
from joblib import Parallel, delayed
size, rows, work = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
held = numpy.ones(size)
def cell(held, x):
    end = time.process_time() + work
    while time.process_time() < end: pass
    return float(held[x % 7]) + x
since = time.perf_counter()
Parallel(n_jobs=2)(delayed(cell)(held, x) for x in range(rows))
print(time.perf_counter() - since)
"""
WORK = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass\n"


@dataclass
class Setup:
    start: Callable
    scale: float

    def size(self):
        """The number of floats in the array of 1 GB."""
        return int((1 << 27) * self.scale)


def run_sweep(door, at, rows, **options):
    """Runs a sweep. Returns its seconds and its table."""
    body = {"at": at, "code": CELL, "grid": {"x": list(range(rows))}, "metric": "score", **options}
    id = door.ask("POST", SWEEPS, body)["id"]
    while True:
        time.sleep(0.05)
        sweep = next(one for one in door.ask("GET", SWEEPS) if one["id"] == id)
        if sweep["status"] != "running":
            whole = door.ask("GET", f"{SWEEPS}/{id}")
            bad = [row for row in whole["rows"] if row["status"] != "ok"]
            if bad:
                raise RuntimeError(f"rows have failed: {bad[:3]}")
            return (sweep["ended_at"] - sweep["created_at"]) / 1000, whole


def hundred(setup):
    """A hundred trivial rows of a state with 1 GB, two at a time."""
    wall = Row(f"{ROWS} trivial rows on 1 GB, a row", "ms", target=10, judged=SWEEP)
    memory = Row("the same: peak decrease of available memory", "MB", target=2000, judged=SWEEP)
    for _ in range(3):
        with setup.start() as server:
            door = server.rest()
            make = f"import numpy\nheld = numpy.ones({setup.size()})"
            state = door.run(make)["state_name"]
            run_sweep(door, state, 4, parallel=PARALLEL)
            for name, parallel in ((SWEEP, PARALLEL), (ONE, 1)):
                with Peak(server) as peak:
                    seconds, _ = run_sweep(door, state, ROWS, parallel=parallel)
                wall.add(name, seconds / ROWS / MS)
                memory.add(name, peak.lacking / MB)
            door.close()
    wall.add(JOBLIB, joblib(setup, ROWS, 0) / ROWS / MS)
    with SnapshotKernel() as snapshot:
        door = snapshot.rest()
        state = door.run(f"import numpy\nheld = numpy.ones({setup.size()})")["state_name"]
        # Each of its states is a copy of the namespace, so ten must do.
        since = time.perf_counter()
        for x in range(10):
            left = door.run(CELL.replace("x = 0", f"x = {x}"), state)["state_name"]
            door.ask("DELETE", f"/states/{left}")
        wall.add(SNAPSHOT, (time.perf_counter() - since) / 10 / MS)
        door.close()
    return [wall, memory]


def joblib(setup, rows, work):
    command = [sys.executable, "-c", SCRIPT, str(setup.size()), str(rows), str(work)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def thousand(setup):
    """A thousand rows with `keep: 5`: what is left when they have ended."""
    wall = Row(f"{MANY} trivial rows, keep {KEPT}, a row", "ms", judged=SWEEP)
    states = Row("the same: states of rows in memory", "", target=KEPT, judged=SWEEP)
    processes = Row("the same: processes more than before, for each kept state", "", target=2, judged=SWEEP)
    rows = max(20, int(MANY * min(1, setup.scale)))
    with setup.start() as server:
        door = server.rest()
        state = door.run("held = [1.0] * 7")["state_name"]
        # The first sweep starts what later ones use too.
        run_sweep(door, state, 4, parallel=PARALLEL)
        before = len(server.processes())
        seconds, sweep = run_sweep(door, state, rows, parallel=PARALLEL, keep=KEPT)
        wall.add(SWEEP, seconds / rows / MS)
        left = {row["state"] for row in sweep["rows"]}
        living = [one for one in door.ask("GET", "/api/notebooks/main")["states"] if one["id"] in left]
        states.add(SWEEP, sum(one["living"] in ("memory", "freezing") for one in living))
        processes.add(SWEEP, max(0, len(server.processes()) - before) / KEPT)
        door.close()
    return [wall, states, processes]


def two_at_once(setup):
    """Rows that work for half a second of processor time: two at once beside one."""
    wall = Row("a row of 0.5 s of work, to its end", "ms", judged=SWEEP)
    ratio = Row("the same: two at once to one at a time", "×", target=1.1, judged=SWEEP)
    with setup.start() as server:
        door = server.rest()
        state = door.run("import time\nheld = [1.0] * 7")["state_name"]
        for _ in range(3):
            for name, parallel in ((SWEEP, 2), (ONE, 1)):
                body = {"at": state, "code": f"x = 0\n{WORK}", "grid": {"x": [1, 2, 3, 4]}}
                id = door.ask("POST", SWEEPS, {**body, "parallel": parallel})["id"]
                while True:
                    time.sleep(0.02)
                    sweep = door.ask("GET", f"{SWEEPS}/{id}")
                    if sweep["status"] != "running":
                        break
                for row in sweep["rows"]:
                    wall.add(name, row["seconds"] / MS)
        door.close()
    ratio.add(SWEEP, wall.figure(SWEEP) / wall.figure(ONE))
    return [wall, ratio]


ALL = [hundred, thousand, two_at_once]
