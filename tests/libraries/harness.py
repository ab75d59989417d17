"""Runs the cells of one row on its own server: the state's cell, cells after it, branches of the
state, and branches after the server was killed and started again.
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
# Time after which a cell counts as hanging if its processes are idle.
IDLE_SECONDS = 40
# Time after which a cell counts as hanging even if its processes work. Long, because the machine
# may be busy.
BUSY_SECONDS = 240
# Time limit of a row in plain IPython. Long, because compiling can take minutes on a busy machine.
PLAIN_SECONDS = 900
# Processes count as idle if they sleep at this many checks, made at this interval.
IDLE_LOOKS = 20
IDLE_LOOK_SECONDS = 0.25
# Time limit for writing the checkpoint of a row's state, which is small.
SAVED_SECONDS = 60
# Time limit for the end of a run after it was interrupted.
ENDED_SECONDS = 10
# Environment variables of plain IPython and of the server, so that cells print the same text.
ENVIRONMENT = {
    "COLUMNS": "80",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "JAX_PLATFORMS": "cpu",
    "PYTHONHASHSEED": "0",
}


class PlainFailed(Exception):
    """The row does not work in plain IPython, so it cannot show whether branches work."""


def plainly(row: Row, python: str) -> dict[str, list[dict[str, Any]]]:
    """Runs the cells of a row in plain IPython. Returns the expected outputs for each column."""
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
    """Runs the cells of one row on its own server."""

    def __init__(self, row: Row, server: ratoon.Server) -> None:
        self.row, self.server = row, server

    def run(self, code: str, state: str) -> Answer:
        """Runs a cell. Interrupts the cell if it hangs, and then returns an answer without
        outputs."""
        exec_id = ratoon.new_id()
        started = time.monotonic()
        found: list[Answer] = []

        def ask() -> None:
            try:
                found.append(self.execute(code, state, exec_id, started))
            except (OSError, http.client.HTTPException) as error:
                # The connection was closed, because the run was given up or the server ended.
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
            for _ in range(2):  # the second request kills the run
                door.answer("POST", "/interrupt", {"exec_id": exec_id})
        finally:
            door.close()

    def is_idle(self) -> bool:
        """Whether all threads of the server's child processes sleep for some seconds. Their
        processor time is not used, because on a busy machine a process may wait long for the
        processor.
        """
        for _ in range(IDLE_LOOKS):
            if any(map(is_busy, self.server.processes()[1:])):
                return False
            time.sleep(IDLE_LOOK_SECONDS)
        return True

    def branches(self, state: str) -> list[Answer]:
        """Runs the row's second cell in two branches at once, then in a third branch."""
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
        """Waits until the state is on disk or saving it has failed. Returns its saving status as
        JSON."""
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
        """Returns the server's reports about a state: its warnings, and the names that are missing
        in its checkpoint.
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
    """Whether a thread of a process runs, is ready to run, or waits for the disk."""
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] in "RD":
                    return True
    except OSError:
        pass  # the process has just ended
    return False


@dataclass
class Result:
    """The result of one row of the table."""

    row: Row
    verdicts: dict[str, list[Verdict]]
    state: State | None
    broken: str | None = None


def try_row(row: Row, binary: str, python: str) -> Result:
    """Runs all cells of a row and judges their outputs."""
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
        # The first cell after the state runs in the process that ran the state's cell. All later
        # cells of branches run in forks.
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
