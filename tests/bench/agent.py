"""Replays what an agent did in a task on data: cells, some of which were faulty at first. With
states, a failed cell changes nothing, and the corrected one runs at the same state. Without them, a
failed cell may have changed anything, so the agent restarts and runs all cells again.

The restart itself costs nothing here: the second arm begins at the first state again.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from measures import Row

STATES, LINEAR = "with states", "restart, run all"
CONTESTANTS = [STATES, LINEAR]
TRANSCRIPT = json.loads(Path(__file__).with_name("agent-transcript.json").read_text())


@dataclass
class Setup:
    start: Callable
    scale: float


class Agent:
    """Counts the cells that it runs, and the seconds that it waits for them."""

    def __init__(self, door, scale):
        self.door = door
        self.scale = max(1, int(60 * scale))
        self.cells, self.seconds = 0, 0.0

    def run(self, code, at):
        since = time.perf_counter()
        answer = self.door.run(code.replace("SCALE", str(self.scale)), at)
        self.seconds += time.perf_counter() - since
        self.cells += 1
        return answer["state_name"]

    def all_before(self, index):
        at = "initial"
        for cell in TRANSCRIPT[:index]:
            at = self.run(cell["code"], at)
        return at

    def work(self, restarts):
        at = "initial"
        for index, cell in enumerate(TRANSCRIPT):
            for faulty in cell["faulty"]:
                if self.run(faulty, at) is not None:
                    raise RuntimeError(f"a faulty cell did not fail: {faulty}")
                if restarts:
                    at = self.all_before(index)
            at = self.run(cell["code"], at)


def replayed(setup):
    """The whole task, three times on each arm."""
    cells = Row("cells that ran", "", judged=STATES)
    seconds = Row("seconds that the agent waited for cells", "s", judged=STATES)
    saved = Row("seconds of recomputation saved", "s", judged=STATES)
    for _ in range(3):
        for name in CONTESTANTS:
            with setup.start() as server:
                door = server.rest()
                agent = Agent(door, setup.scale)
                agent.work(restarts=name == LINEAR)
                cells.add(name, agent.cells)
                seconds.add(name, agent.seconds)
                door.close()
    saved.add(STATES, seconds.figure(LINEAR) - seconds.figure(STATES))
    return [cells, seconds, saved]


ALL = [replayed]
