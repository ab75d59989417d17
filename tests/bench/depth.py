"""Compares a cell deep in a chain with a cell at its beginning: with checkpoints, without them, and
in a chain of plain forks of IPython. The plain forks show the costs of the operating system.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from measures import MS, Row

DEFAULT, WITHOUT, RAW = "Ratoon", "no checkpoints", "raw fork chain"
CONTESTANTS = [DEFAULT, WITHOUT, RAW]
SHALLOW, DEEP = 10, 550
# Number of cells that are timed at each depth, in turns.
TURNS = 60


@dataclass
class Setup:
    start: Callable
    scale: float


class Chain:
    """Runs cells over REST. Each cell runs on the state of the previous one."""

    def __init__(self, server):
        self.server, self.door = server, server.rest()
        self.state, self.cells = "initial", 0

    def cell(self):
        self.cells += 1
        self.state = self.door.run(f"x = {self.cells}", self.state)["state_name"]

    def processor_seconds(self):
        """Returns the processor time of the server alone, and of the server with all its child
        processes."""
        own = processor_seconds(self.server.process.pid)
        return own, own + sum(map(processor_seconds, self.server.processes()[1:]))

    def close(self):
        self.door.close()


class RawChain:
    def __init__(self):
        here = os.path.dirname(os.path.abspath(__file__))
        command = [sys.executable, os.path.join(here, "raw_forks.py")]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.cells = 0

    def cell(self):
        self.cells += 1
        self.process.stdin.write(f"x = {self.cells}\n")
        self.process.stdin.flush()
        if not self.process.stdout.readline():
            raise RuntimeError("the fork chain has ended")

    def processor_seconds(self):
        own = processor_seconds(self.process.pid)
        return own, own

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def processor_seconds(pid):
    """Returns the processor time of all threads of a process, in seconds. Returns 0 if the process
    has ended."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        return sum(on_processor(f"/proc/{pid}/task/{task}/schedstat") for task in tasks) / 1e9
    except OSError:
        return 0.0


def on_processor(path):
    with open(path) as file:
        return int(file.read().split()[0])


def chains(stack, setup):
    """Starts a chain of each contestant."""
    found = {
        DEFAULT: Chain(stack.enter_context(setup.start())),
        WITHOUT: Chain(stack.enter_context(setup.start("--no-checkpoints"))),
        RAW: RawChain(),
    }
    for chain in found.values():
        stack.callback(chain.close)
    return found


def growth(setup):
    """Times a cell after many cells and a cell after few cells, in turns, so that other work of the
    machine affects both alike."""
    deep_at = max(SHALLOW, int(DEEP * setup.scale))
    wall = {depth: Row(f"a cell at {depth}", "ms", judged=DEFAULT) for depth in (SHALLOW, deep_at)}
    served = {
        depth: Row(f"a cell at {depth}: the server's processor time", "ms", judged=DEFAULT)
        for depth in wall
    }
    worked = {
        depth: Row(f"a cell at {depth}: all processor time", "ms", judged=DEFAULT) for depth in wall
    }
    ratio = Row(f"a cell at {deep_at}, relative to one at {SHALLOW}", "×", judged=DEFAULT)
    with ExitStack() as stack:
        at = {depth: chains(stack, setup) for depth in wall}
        for depth, contestants in at.items():
            for chain in contestants.values():
                [chain.cell() for _ in range(depth)]
        for chain in [chain for of in at.values() for name, chain in of.items() if name != RAW]:
            # Connects again, because the server closes connections that are idle for long.
            chain.close()
            chain.door = chain.server.rest()
        before = {
            (d, name): chain.processor_seconds()
            for d, of in at.items()
            for name, chain in of.items()
        }
        for _ in range(TURNS):
            for name in CONTESTANTS:
                for depth, contestants in at.items():
                    started = time.perf_counter()
                    contestants[name].cell()
                    wall[depth].add(name, (time.perf_counter() - started) / MS)
        for (depth, name), (server, everything) in before.items():
            now = at[depth][name].processor_seconds()
            served[depth].add(name, (now[0] - server) / TURNS / MS)
            worked[depth].add(name, (now[1] - everything) / TURNS / MS)
    for name in CONTESTANTS:
        ratio.add(name, wall[deep_at].figure(name) / wall[SHALLOW].figure(name))
    return [*wall.values(), ratio, *served.values(), *worked.values()]


ALL = [growth]
