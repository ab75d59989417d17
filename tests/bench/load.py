"""Measures notebooks with thousands of states, which are made, listed, and deleted in random order.
Also measures a tree with three times as many states as may be in memory.

The measures of thousands of states end with deleting all of them. Then the server's resources are
compared with its resources at the beginning.
"""

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import ratoon_client as ratoon
from measures import MB, MS, WS, Row

CONTESTANTS = [WS]
# Number of states of each shape, before scaling.
LINE, STAR, TREE = 5000, 2000, 3000
# Maximum number of states in memory, before scaling, for a tree that has three times as many.
BUDGET = 200
# Number of cells that are timed at a depth, and the two depths at which freezing is compared.
WINDOW = 40
SHALLOW, DEEP = 10, 1000


@dataclass
class Setup:
    start: Callable
    scale: float

    def count(self, full):
        return max(60, int(full * self.scale))


def line(setup):
    """Measures a line: each state grows from the previous one."""
    return shape(
        setup, f"line of {setup.count(LINE)}", setup.count(LINE), lambda chance, states: states[-1]
    )


def star(setup):
    """Measures a star: all states grow from the first."""
    return shape(
        setup, f"star of {setup.count(STAR)}", setup.count(STAR), lambda chance, states: states[0]
    )


def tree(setup):
    """Measures a tree: each state grows from a random earlier state."""
    return shape(
        setup,
        f"tree of {setup.count(TREE)}",
        setup.count(TREE),
        lambda chance, states: chance.choice(states),
    )


def shape(setup, title, count, parent):
    chance = random.Random(5)
    run, frozen = Row(f"{title}: a cell", "ms"), Row(f"{title}: result to frozen", "ms")
    deep = min(DEEP, count - 2 * WINDOW)
    early = Row(f"{title}: freezing the {deep}th, to the {SHALLOW}th", "×", target=1.5)
    late = Row(f"{title}: freezing the last, relative to the {SHALLOW}th", "×")
    names, whole = Row(f"{title}: GET /states", "ms"), Row(f"{title}: GET /api/states", "ms")
    delete = Row(f"{title}: deleting one, in random order", "ms")
    rows = [run, run.at(0.95), frozen, early, late, names, whole, delete, delete.at(0.95)]
    with tempfile.TemporaryDirectory() as temporary, setup.start(TMPDIR=temporary) as server:
        rest = server.rest()
        rest.get("/states")
        held = holds(server, temporary)
        # Closes the connection, because the server closes connections that are idle for long.
        rest.close()
        door = server.socket()
        states = ["initial"]
        while len(states) <= count:
            if len(states) in (deep, count - WINDOW + 1):
                row = early if len(states) == deep else late
                row.add(WS, growth(setup, lambda: grow(door, states, parent(chance, states))))
                continue
            took, froze = grow(door, states, parent(chance, states))
            run.add(WS, took / MS)
            frozen.add(WS, froze / MS)
        for row, path in ((names, "/states"), (whole, "/api/states")):
            for _ in range(5):
                started = time.perf_counter()
                found = rest.get(path)["states"]
                row.add(WS, (time.perf_counter() - started) / MS)
                if len(found) != count + 1:
                    raise RuntimeError(f"{path}: {len(found)} states, not {count + 1}")
        door.close()
        for name in chance.sample(states[1:], count):
            started = time.perf_counter()
            rest.ask("DELETE", f"/states/{name}")
            delete.add(WS, (time.perf_counter() - started) / MS)
        rest.get("/states")
        rows += left(title, server, temporary, held)
    return rows


def growth(setup, grow_there):
    """Returns the ratio of the freezing time in a large notebook to the freezing time in a small
    one. Takes turns, so that other work of the machine affects both alike.
    """
    with setup.start() as other:
        door, states = other.socket(), ["initial"]
        for _ in range(SHALLOW):
            grow(door, states, states[-1])
        pairs = [(grow_there()[1], grow(door, states, states[-1])[1]) for _ in range(WINDOW)]
        door.close()
    there, here = zip(*pairs, strict=True)
    return statistics.median(there) / statistics.median(here)


def grow(door, states, at):
    """Runs a cell. Returns the seconds until the cell has ended, and the seconds from then until
    its state is frozen.
    """
    started = time.perf_counter()
    states.append(door.run(f"x = {len(states)}", at)["state_name"])
    ended = time.perf_counter()
    door.wait_for_frozen(states[-1])
    return ended - started, time.perf_counter() - ended


def left(title, server, temporary, held):
    """Yields the growth of each resource of the server since the beginning. First waits until the
    server has freed its resources, but at most 30 seconds."""
    deadline = time.perf_counter() + 30
    while (now := holds(server, temporary))[:3] != held[:3] and time.perf_counter() < deadline:
        time.sleep(0.2)
    for what, unit, before, after in zip(
        ("processes", "descriptors", "temporary files", "memory"), ("", "", "", "MB"), held, now
    ):
        row = Row(f"{title}: {what} left", unit, target=64 if unit else 0)
        row.add(WS, (after - before) / (MB if unit else 1))
        yield row


def holds(server, temporary):
    # Sends a request first, so that this connection is always counted among the descriptors.
    server.rest().get("/states")
    processes = server.processes()
    descriptors = os.listdir(f"/proc/{server.process.pid}/fd")
    with open(f"/proc/{server.process.pid}/status") as lines:
        memory = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
    return len(processes), len(descriptors), len(os.listdir(temporary)), memory


def crowd(setup):
    """Measures a tree with three times as many states as may be in memory, and then cells on random
    states."""
    chance, most = random.Random(6), setup.count(BUDGET)
    title = f"tree of {3 * most}, {most} in memory"
    ended = Row(f"{title}: a cell at any state", "ms")
    # This figure has no target: only saved states can be evicted, and making a state is faster than
    # saving it.
    making = Row(f"{title}: most processes while it is made, relative to the budget", "×")
    held = Row(f"{title}: most processes, relative to the budget", "×", target=1.5)
    wrong = Row(f"{title}: wrong values", "", target=0)
    with setup.start("--max-frozen", str(most)) as server:
        door, sums, states = server.socket(), {"initial": 0}, ["initial"]
        door.run("total = 0")
        crowded = 0
        for number in range(3 * most):
            at = chance.choice(states)
            code = f"total = globals().get('total', 0) + {number}"
            state = door.run(code, at)["state_name"]
            sums[state] = sums[at] + number
            states.append(state)
            if number % 20 == 0:
                crowded = max(crowded, len(server.processes()))
        saved = time.perf_counter() + 120
        while count(server.rest(), "checkpoint") < 3 * most and time.perf_counter() < saved:
            time.sleep(0.2)
        misses, peak = 0, 0
        for turn in range(300):
            at = chance.choice(states[1:])
            started = time.perf_counter()
            answer = door.run("print(total)", at)
            ended.add(WS, (time.perf_counter() - started) / MS)
            misses += ratoon.printed(answer) != f"{sums[at]}\n"
            if turn % 20 == 0:
                peak = max(peak, len(server.processes()))
        door.close()
    wrong.add(WS, misses)
    making.add(WS, crowded / most)
    held.add(WS, peak / most)
    return [ended, ended.at(0.95), making, held, wrong]


def count(rest, what):
    found = sum(state[what] is not None for state in rest.get("/api/states")["states"])
    rest.close()
    return found


ALL = [line, star, tree, crowd]
