"""Takes one row through a server of its own: parent, branches, line, a kill, and branches of
what comes back.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import Any

import ratoon_client as ratoon
from model import COLUMNS, Row
from verdicts import Answer, State, Verdict, judge

HERE = os.path.dirname(os.path.abspath(__file__))
# How long an answer may take while the processes do nothing.
IDLE_SECONDS = 40
# A cell that its processes still work at is waited for longer: the machine may be busy.
BUSY_SECONDS = 240
# Plain IPython may have to compile for minutes on a busy machine; nothing is learnt from a row
# without it.
PLAIN_SECONDS = 900
# How often, and how far apart, processes must be found asleep to count as idle.
IDLE_LOOKS = 20
IDLE_LOOK_SECONDS = 0.25
# A checkpoint is written when nobody asks for a cell; gigabytes are not what rows make.
SAVED_SECONDS = 60
ENDED_SECONDS = 10
# Of both plain IPython and the server's cells, so that what they print is as wide.
ENVIRONMENT = {
    "COLUMNS": "80",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "JAX_PLATFORMS": "cpu",
    "PYTHONHASHSEED": "0",
}


class PlainFailed(Exception):
    """A row that does not work in plain IPython either says nothing about branches."""


def plainly(row: Row, python: str) -> dict[str, list[dict[str, Any]]]:
    """What each column's cells give in plain IPython."""
    environment = {
        **os.environ,
        **ENVIRONMENT,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    with tempfile.TemporaryDirectory() as directory:
        found = os.path.join(directory, "outputs.json")
        done = subprocess.run(
            [python, os.path.join(HERE, "plain.py"), found],
            input=json.dumps([row.state, row.again, row.again]),
            capture_output=True,
            text=True,
            env=environment,
            cwd=directory,
            timeout=PLAIN_SECONDS,
        )
        if not os.path.exists(found):
            raise PlainFailed(done.stderr[-2000:] or done.stdout[-2000:])
        with open(found) as file:
            parent, again, line = json.load(file)
    for outputs in (parent, again, line):
        for item in outputs:
            if item["output_type"] == "error":
                raise PlainFailed(f"{item['ename']}: {item['evalue']}")
    return {"parent": parent, "branches": again, "line": line, "restored": again}


class Trial:
    """One row on its own server."""

    def __init__(self, row: Row, server: ratoon.Server) -> None:
        self.row, self.server = row, server

    def run(self, code: str, state: str) -> Answer:
        """Runs a cell. One that does nothing for too long is interrupted and counts as hanging."""
        exec_id = ratoon.new_id()
        started = time.monotonic()
        found: list[Answer] = []

        def ask() -> None:
            try:
                found.append(self.execute(code, state, exec_id, started))
            except (OSError, http.client.HTTPException) as error:
                # The connection went away: of an answer that nobody waits for any more, or with the
                # server.
                refused = {"ename": type(error).__name__, "evalue": str(error)}
                found.append(Answer([], time.monotonic() - started, error=refused))

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        while asking.is_alive():
            asking.join(IDLE_SECONDS if time.monotonic() - started < 1 else 5)
            passed = time.monotonic() - started
            if asking.is_alive() and (passed > BUSY_SECONDS or self.is_idle()):
                self.end(exec_id)
                asking.join(ENDED_SECONDS)
                return Answer(None, passed)
        return found[0]

    def execute(self, code: str, state: str, exec_id: str, started: float) -> Answer:
        door = ratoon.Rest(self.server, timeout=BUSY_SECONDS + 60)
        try:
            body = {"code": code, "exec_id": exec_id, "state_name": state}
            status, text = door.answer("POST", "/execute", body)
        finally:
            door.close()
        seconds = time.monotonic() - started
        if status != 200:
            refused = json.loads(text)["error"]
            why = f"{status} {refused['what']}: {refused['why']}; {refused['how']}"
            return Answer([], seconds, error={"ename": "Refused", "evalue": why})
        answer = json.loads(text)
        return Answer(
            answer["output"],
            seconds,
            answer["state_name"],
            answer["error"],
            answer.get("warnings") or [],
        )

    def end(self, exec_id: str) -> None:
        door = ratoon.Rest(self.server, timeout=ENDED_SECONDS)
        try:
            for _ in range(2):  # asked twice, a run is killed
                door.answer("POST", "/interrupt", {"exec_id": exec_id})
        finally:
            door.close()

    def is_idle(self) -> bool:
        """Whether the processes below the server do nothing for some seconds: on a busy machine
        one that wants to run may get no turn for long, so what counts is that all their threads
        sleep.
        """
        for _ in range(IDLE_LOOKS):
            if any(map(is_busy, self.server.processes()[1:])):
                return False
            time.sleep(IDLE_LOOK_SECONDS)
        return True

    def branches(self, state: str) -> list[Answer]:
        """Two at once, then one more."""
        found: dict[int, Answer] = {}

        def run(number: int) -> None:
            found[number] = self.run(self.row.again, state)

        both = [threading.Thread(target=run, args=(number,)) for number in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        return [found[0], found[1], self.run(self.row.again, state)]

    def saved(self, state: str) -> str:
        """Waits until the state is on disk, or is said not to come there; answers what is said."""
        door = self.server.rest()
        try:
            said = "idle"
            for _ in range(SAVED_SECONDS * 10):
                found = next(s for s in door.get("/api/states")["states"] if s["id"] == state)
                said = json.dumps(found["saving"])
                if found["checkpoint"] or found["saving"]["now"] == "failed":
                    break
                time.sleep(0.1)
            return said
        finally:
            door.close()

    def told(self, state: str, saving: str = "") -> State:
        """What the server tells about the state: what does not survive a branch, and what its
        checkpoint lacks.
        """
        door = self.server.rest()
        try:
            found = next(s for s in door.get("/api/states")["states"] if s["id"] == state)
            status, text = door.answer("GET", f"/api/states/{state}/checkpoint")
            missing = json.loads(text).get("missing", []) if status == 200 else []
            missing += (found["revival"] or {}).get("missing", [])
            return State(found["warnings"], sorted({m["name"] for m in missing}), saving)
        finally:
            door.close()


def is_busy(pid: int) -> bool:
    """Whether a thread of a process runs, would like to, or waits for the disk."""
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] in "RD":
                    return True
    except OSError:
        pass  # it has just ended
    return False


@dataclass
class Result:
    """A row of the table."""

    row: Row
    verdicts: dict[str, list[Verdict]]
    state: State | None
    broken: str | None = None


def try_row(row: Row, binary: str, python: str) -> Result:
    """A row, from its first cell to the branches of what a killed server brings back."""
    try:
        truth = plainly(row, python)
    except (PlainFailed, subprocess.TimeoutExpired) as error:
        return Result(row, {}, None, f"does not work in plain IPython: {error}")
    verdicts: dict[str, list[Verdict]] = {column: [] for column in COLUMNS}
    with ratoon.Server(binary, python, **ENVIRONMENT) as server:
        trial = Trial(row, server)

        def see(column: str, state: State, *answers: Answer) -> None:
            verdicts[column] += [
                judge(row, column, truth[column], state, answer) for answer in answers
            ]

        parent = trial.run(row.state, "initial")
        if parent.state is None:
            see("parent", State([], []), parent)
            return Result(row, verdicts, None)
        # The line goes on in the process that ran the state's cell; all that follow are copies of
        # it.
        first = trial.run(row.again, parent.state)
        second = trial.run(row.again, first.state) if first.state else None
        branches = trial.branches(parent.state)
        told = trial.told(parent.state, trial.saved(parent.state))
        see("parent", told, parent)
        verdicts["line"] = [judge(row, "line", truth["branches"], told, first)]
        if second:
            see("line", told, second)
        see("branches", told, *branches)
        server.restart()
        answers = trial.branches(parent.state)
        told = trial.told(parent.state, told.saving)
        see("restored", told, *answers)
        return Result(row, verdicts, told)
