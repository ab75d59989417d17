"""Puts a server under heavy use and compares it with a model. Started by the script `run`."""

import argparse
import collections
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import plan
import ratoon_client as ratoon
from model import FIRST, Model, Run, State, Values

SWEEPS = "/api/notebooks/main/sweeps"
# Time limit of every request, in seconds. Long, so that a slow machine does not fail the test.
PATIENCE = 90
# Maximum growth of the server's memory, in bytes. Events, SQLite's pages and malloc may use it.
MAX_GROWTH = 96 * 1024 * 1024
# Errors that a run may have if its processes were killed.
TOLD = {"KernelDied", "ForkFailed", "StateLost", "RestoreFailed", "ReplayFailed"}
# Maximum number of states in memory. Small, so that others must be restored from checkpoints.
MAX_FROZEN = 12
# For each kind of run: the statuses that it may end with.
EXPECTED = {
    "first": {"ok"},
    "ok": {"ok"},
    "take": {"ok"},
    "again": {"ok"},
    "flood": {"ok"},
    "chain": {"ok"},
    "broken": {"error"},
    "behind": {"interrupted"},
    "error": {"error"},
    "child": {"error"},
    "race": {"ok", "interrupted"},
    "die": {"crashed"},
    "murder": {"crashed"},
    "interrupt": {"interrupted"},
    "stubborn": {"interrupted"},
    "stop": {"interrupted"},
    "timeout": {"interrupted"},
    "endless": {"interrupted"},
}
# For each kind of run: code that ends it in this way.
ENDS = {
    "error": ["raise ValueError(3)", "1 / 0", "not_there", "assert False"],
    "child": ["subprocess.Popen(['sleep', '600']); 1 / 0"],
    "interrupt": [
        "time.sleep(600)",
        "while True: pass",
        "import threading; threading.Event().wait()",
    ],
    "timeout": ["time.sleep(600)", "while True: pass"],
    "stubborn": ["while True:\n    try: time.sleep(600)\n    except BaseException: pass"],
    "stop": ["os.kill(os.getpid(), signal.SIGSTOP); time.sleep(600)"],
    "die": [
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os._exit(3)",
        "os.abort()",
        "import ctypes; ctypes.string_at(0)",
    ],
    "endless": ["while True: print('x' * 60)"],
}


class Divergence(Exception):
    """The server does not behave as the model expects."""


@dataclass
class Outcome:
    """A planned run, and its end as reported to its client."""

    deed: plan.Deed
    number: int
    what: str
    on: State
    exec_id: str
    after: Values
    # The text that the run prints if it is not disturbed.
    prints: str
    replay: bool
    status: str | None = None
    ename: str | None = None
    state: str | None = None
    printed: str | None = None
    # Whether a repeated request was refused because the state did not exist any more.
    went: bool = False
    took: float = 0.0
    # The id of the state from which the run takes variables.
    other: str | None = None


class Watcher(threading.Thread):
    """A client that listens to events and keeps a list of states, like the page."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server = server
        self.states = {}
        # The changes of each state, for error reports.
        self.history = collections.defaultdict(list)
        self.is_over = False

    def run(self):
        while not self.is_over:
            try:
                self.socket = ratoon.Socket(self.server, "main")
                while True:
                    self.fold(self.socket.receive())
            except (OSError, RuntimeError):
                # The server was killed, or closed the connection because this client was too slow.
                # Connects again, and gets a new snapshot.
                time.sleep(0.05)

    def fold(self, message):
        whole = (
            message.get("snapshot") or message.get("notebook")
            if message.get("event") in (None, "reset")
            else None
        )
        if whole:
            self.states = {s["id"]: s for s in whole["states"]}
        elif message.get("event") in ("state_added", "state_changed"):
            state = message["state"]
            self.states = {**self.states, state["id"]: state}
            told = (
                state["living"],
                state["revival"] and state["revival"]["by"],
                state["checkpoint"] is not None,
            )
            self.history[state["id"]].append((round(time.monotonic(), 2), *told))
        elif message.get("event") == "removed":
            self.states = {id: s for id, s in self.states.items() if id not in message["states"]}

    def end(self):
        self.is_over = True
        self.socket.wire.close()


class Soak:
    def __init__(self, server, seed, traces):
        self.server, self.seed, self.traces = server, seed, traces
        self.model = Model()
        self.log = collections.deque(maxlen=150)
        self.counts = collections.Counter()
        self.most = collections.Counter()
        self.deleted, self.pruned = set(), set()
        # The sweeps that have not been deleted.
        self.sweeps = set()
        self.own = threading.local()
        self.clients = []
        # The last round in which unsaved states may be found lost.
        self.excuse = -1
        self.began = time.monotonic()

    # Requests to the server.

    def answer(self, method, path, body=None):
        """Sends a request. Returns the status and the body, or None if the connection ended before
        the answer."""
        if not hasattr(self.own, "client"):
            self.own.client = ratoon.Rest(self.server, PATIENCE)
            self.clients.append(self.own.client)
        try:
            status, text = self.own.client.answer(method, path, body)
            return status, json.loads(text)
        except TimeoutError:
            raise Divergence(f"no answer in {PATIENCE} s: {method} {path} {body}") from None
        except (OSError, http.client.HTTPException):
            self.own.client.close()
            return None

    def close_all(self):
        """Closes all connections. Each client opens a new connection with its next request."""
        for client in self.clients:
            client.close()

    def command(self, do, **what):
        return self.answer("POST", "/api/notebooks/main/commands", {"do": do, **what})

    def snapshot(self):
        answer = self.answer("GET", "/api/notebooks/main")
        if answer is None or answer[0] != 200:
            raise Divergence(f"the notebook cannot be read: {answer}")
        return answer[1]

    # One round.

    def round(self, now):
        self.deleted, self.pruned = set(), set()
        if now.opens:
            self.model = Model()
        wishes = [outcome for deed in now.runs for outcome in self.wishes(deed)]
        with ThreadPoolExecutor(24) as pool:
            if now.runs and now.runs[0].what == "first":
                pending = [pool.submit(self.execute, wish) for wish in wishes]
            else:
                chains = collections.defaultdict(list)
                for wish in wishes:
                    chains[wish.deed.number].append(wish)
                pending = [pool.submit(self.carry_out, chain) for chain in chains.values()]
            pending.append(pool.submit(self.care, now))
            if now.accident is not None:
                pending.append(pool.submit(self.accident, now))
            if now.ending:
                time.sleep(now.delay)
                self.end(now.ending)
        [one.result() for one in pending]
        self.close_all()
        if now.ending in ("kill", "stop"):
            self.come_back(now)
        self.settle(now, wishes)

    def wishes(self, deed):
        """Returns the runs of a deed, with their expected results."""
        on = self.model.nearest(deed.on) or State(0, "initial", "initial", "", Values())
        values, end = on.values, ""
        if deed.what == "first":
            return [self.wish(deed, deed.number, "first", on, FIRST, Values(), "")]
        if deed.what == "chain":
            found = []
            for place in range(plan.CHAIN):
                breaks = place == 1 and deed.chance(0.4)
                what = (
                    "broken"
                    if breaks
                    else "behind"
                    if found and found[-1].what != "chain"
                    else "chain"
                )
                wish = self.cell(
                    deed, deed.number + place, what, on, values, "1 / 0" if breaks else ""
                )
                found.append(wish)
                values = wish.after
            return found
        if deed.what == "flood":
            lines = 1000 + deed.amount % 30000
            wish = self.cell(
                deed, deed.number, "flood", on, values, f"for i in range({lines}): print(i)"
            )
            wish.prints += "".join(f"{i}\n" for i in range(lines))
            return [wish]
        if deed.what == "take" and self.model.living():
            return [self.take(deed, on, values)]
        if deed.what == "race":
            end = f"time.sleep({deed.amount % 80 / 1000})"
        elif deed.what == "murder":
            end = f"open('pid{deed.number}', 'w').write(str(os.getpid()) + '.'); time.sleep(600)"
        elif deed.what in ENDS:
            end = ENDS[deed.what][deed.amount % len(ENDS[deed.what])]
        return [self.cell(deed, deed.number, deed.what, on, values, end)]

    def cell(self, deed, number, what, on, values, end):
        piece, after = values.do(number, deed.amount)
        code = f"print(picture())\n{piece}\nprint(picture())\n{end}"
        return self.wish(
            deed, number, what, on, code, after, f"{values.picture()}\n{after.picture()}\n"
        )

    def take(self, deed, on, values):
        known = sorted(self.model.living().values(), key=lambda state: state.number)
        other = known[deed.amount % len(known)]
        after = replace(values, trail=other.values.trail, seen=other.values.seen)
        code = f"%take trail, same, seen from {other.id}"
        wish = self.wish(deed, deed.number, "take", on, code, after, "")
        wish.other = other.id
        return wish

    def wish(self, deed, number, what, on, code, after, prints):
        wish = Outcome(
            deed, number, what, on, f"{self.seed}-{number}", after, prints, deed.amount % 2 == 0
        )
        wish.code = code
        # The parent of the state that this run may leave.
        self.model.plan[number] = deed.on if what != "first" else 0
        return wish

    def carry_out(self, wishes):
        since = time.monotonic()
        try:
            self.try_to_carry_out(wishes)
        finally:
            wishes[0].took = time.monotonic() - since

    def try_to_carry_out(self, wishes):
        if len(wishes) > 1:
            return self.chain(wishes)
        [wish] = wishes
        done = threading.Event()
        helper = {"murder": self.murder, "race": self.interrupt}.get(wish.what)
        if wish.what in ("interrupt", "stubborn", "stop", "endless"):
            helper = self.interrupt
        helper = helper and threading.Thread(target=helper, args=(wish, done))
        if helper:
            helper.start()
        try:
            self.execute(wish)
            if wish.what == "again" and wish.status == "ok":
                first = (wish.status, wish.state_name, wish.printed)
                self.execute(wish)
                if (wish.status, wish.ename) == ("refused", "StateNotFound"):
                    # The state was deleted between the two requests, so the second request was
                    # refused. `settle` checks that the state was really deleted.
                    (wish.status, wish.state_name, wish.printed), wish.ename, wish.went = (
                        first,
                        None,
                        True,
                    )
                if wish.status is not None and first != (
                    wish.status,
                    wish.state_name,
                    wish.printed,
                ):
                    raise Divergence(f"{wish.exec_id} was answered {first}, then {wish}")
        finally:
            done.set()
            if helper:
                helper.join()

    def execute(self, wish):
        """Runs a cell over REST."""
        body = {
            "code": wish.code,
            "exec_id": wish.exec_id,
            "state_name": self.call(wish),
            "replay": wish.replay,
        }
        if wish.deed.amount % 4 < 2:
            body["new_state_name"] = f"s{wish.number}"
        if wish.what == "timeout":
            body["timeout"] = 0.02 + wish.deed.delay
        answer = self.answer("POST", "/execute", body)
        wish.status = None
        if answer is None:
            return
        status, said = answer
        if status == 503 and said.get("error", {}).get("code") == "closed":
            # The server is stopping. The run may have ended before.
            return
        if status != 200:
            wish.status, wish.ename = "refused", said.get("error", {}).get("code")
            return
        error = said["error"]
        wish.ename = error and error["ename"]
        wish.printed = "".join(o["text"] for o in said["output"] if o.get("name") == "stdout")
        wish.state_name = said["state_name"]
        # `RunAborted` means that the state was deleted while the run waited for a process.
        by_name = {
            None: "ok",
            **dict.fromkeys(("KeyboardInterrupt", "RunTimeout", "RunAborted"), "interrupted"),
        }
        by_name["KernelDied"] = "crashed"
        wish.status = by_name.get(wish.ename, "error")
        if wish.ename in ("StateNotFound", "StateLost") and not said["output"]:
            wish.status = "refused"

    def call(self, wish):
        return wish.on.name if wish.deed.amount % 3 else wish.on.id

    def chain(self, wishes):
        """Runs cells that are queued behind each other, over a WebSocket."""
        try:
            door = ratoon.Socket(self.server, "main")
            door.wire.settimeout(PATIENCE)
            ids, before = {}, {"state": wishes[0].on.id}
            for wish in wishes:
                more = {"exec_id": wish.exec_id, "code": wish.code, "replay": wish.replay}
                ids[door.ask("run", on=before, allow_stdin=False, **more)] = wish
                before = {"run": wish.exec_id}
            while ids:
                message = door.receive()
                wish = ids.pop(message.get("reply"), None)
                if wish and message.get("kind") == "ended":
                    wish.status, wish.state = message["status"], message["state"]
                    wish.ename = message["error"] and message["error"]["ename"]
                elif wish and message.get("code") != "closed":
                    wish.status, wish.ename = "refused", message.get("code")
            door.close()
        except TimeoutError:
            raise Divergence(
                f"no answer in {PATIENCE} s: {[wish.exec_id for wish in ids.values()]}"
            ) from None
        except (OSError, RuntimeError):
            pass

    def interrupt(self, wish, done):
        """Interrupts a run as soon as it exists. Interrupts a stubborn or stopped run twice."""
        time.sleep(wish.deed.delay)
        more = 1 if wish.what in ("stubborn", "stop") else 0
        while not done.is_set():
            answer = self.answer("POST", "/interrupt", {"exec_id": wish.exec_id})
            if answer is None or wish.what == "race":
                return
            if answer[1].get("interrupted"):
                if more == 0:
                    return
                more -= 1
                time.sleep(0.05)
            time.sleep(0.005)

    def murder(self, wish, done):
        """Kills the process of a run as soon as the run has written its pid to a file."""
        path = os.path.join(self.server.directory, f"pid{wish.number}")
        while not done.wait(0.005):
            if os.path.exists(path):
                with open(path) as file:
                    pid = file.read()
                if pid.endswith("."):
                    kill(int(pid[:-1]), signal.SIGKILL)
                    os.unlink(path)
                    return

    def accident(self, now):
        time.sleep(now.delay)
        mortal = sorted(self.server.processes()[1:])
        if mortal:
            self.log.append(f"{now.number}: accident at {time.monotonic() - self.began:.2f}")
            kill(mortal[now.accident % len(mortal)], signal.SIGKILL)
            self.counts["accidents"] += 1

    def end(self, ending):
        self.counts[ending] += 1
        if ending == "reset":
            self.answer("POST", "/reset")
            return
        self.server.process.send_signal(signal.SIGKILL if ending == "kill" else signal.SIGINT)
        self.server.process.wait(PATIENCE)

    def come_back(self, now):
        """Called after the server has ended. Checks that no process is left, checks the files, and
        starts the server again."""
        self.nothing_is_left()
        if now.number % 3 == 0:
            self.program("check")
        self.server.start()
        self.server.wait_until_it_answers()

    def nothing_is_left(self):
        ended = time.monotonic()
        while left := self.marked():
            if time.monotonic() - ended > 20:
                raise Divergence(f"left behind: {left}")
            time.sleep(0.02)
        self.most["ms until no process was left"] = max(
            self.most["ms until no process was left"], round((time.monotonic() - ended) * 1000)
        )

    def marked(self):
        """Returns the pids of processes that have the server's mark in their environment."""
        mark, found = f"RATOON_SOAK={self.seed}\0".encode(), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark in file.read():
                        found.append(int(pid))
            except OSError:
                continue
        return found

    def program(self, word):
        """Runs `ratoon check` or `ratoon gc` on the notebook."""
        kept = os.path.join(self.server.directory, "main.ratoon")
        done = subprocess.run(
            [os.environ["RATOON_BIN"], word, kept],
            env=self.server.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode != 0:
            raise Divergence(f"ratoon {word}: {done.stdout}{done.stderr}")
        return done.stdout

    # Deeds beside the runs.

    def care(self, now):
        for deed in now.care:
            state = self.model.nearest(deed.on)
            if state is not None:
                answer = getattr(self, deed.what)(deed, state)
                self.note(now, deed, state, answer if deed.what != "look" else answer and answer[0])
                self.check_care(now, deed, state, answer)

    def check_care(self, now, deed, state, answer):
        status = answer and answer[0]
        if status is None and now.ending in (None, "reset"):
            raise Divergence(f"{deed}: the server is gone")
        code = None
        if status not in (None, 200):
            code = (answer[1].get("error") or answer[1]).get("code")
        is_fine = {
            None: True,
            # The server may refuse or give up these requests when it is busy.
            "busy": deed.what in ("look", "complete"),
            "timeout": deed.what in ("look", "complete"),
            "not_found": now.ending == "reset",
            "closed": now.ending == "stop",
            "lost": state.id in self.model.lost or now.is_disturbed() or now.number <= self.excuse,
            "kernel": now.is_disturbed() or now.number <= self.excuse,
            "disk": deed.what == "checkpoint" and (now.is_disturbed() or now.number <= self.excuse),
        }.get(code, False)
        if code:
            self.counts[f"{deed.what} refused: {code}"] += 1
        if not is_fine:
            raise Divergence(f"{deed} on state {state.number} ({state.id}): {answer}")

    def look(self, deed, state):
        answer = self.answer("GET", f"/states/{state.id if deed.chance(0.5) else state.name}")
        if answer and answer[0] == 200:
            seen = {
                name: answer[1]["variables"].get(name, {}).get("repr")
                for name in state.values.reprs()
            }
            if seen != state.values.reprs():
                raise Divergence(f"state {state.number} shows {seen}, not {state.values.reprs()}")
        return answer

    def complete(self, deed, state):
        answer = self.command("complete", state=state.id, code="pict", cursor=4)
        if (
            answer
            and answer[0] == 200
            and "picture" not in [item["text"] for item in answer[1]["items"]]
        ):
            raise Divergence(f"state {state.number} completes to {answer}")
        return answer

    def checkpoint(self, deed, state):
        answer = self.answer("POST", f"/api/states/{state.id}/checkpoint", {})
        if answer and answer[0] == 200 and answer[1]["checkpoint"]["missing"]:
            raise Divergence(f"state {state.number} misses {answer[1]['checkpoint']['missing']}")
        return answer

    def change(self, whose, name, value, do, **what):
        """Sends a command that changes a property of a state. If there is no answer, it is unknown
        whether the change was made, so `settle_unsure` decides it later.
        """
        answer = self.command(do, **what)
        if answer is None:
            self.unsure.append((whose, name, value))
        elif answer[0] == 200:
            setattr(whose, name, value)
        return answer

    def label(self, deed, state):
        label = f"label {deed.number}" if deed.chance(0.8) else None
        return self.change(state, "label", label, "label", state=state.id, label=label)

    def pin(self, deed, state):
        pinned = deed.chance(0.3)
        return self.change(state, "pinned", pinned, "pin", state=state.id, pinned=pinned)

    def prose(self, deed, state):
        prose = [f"# {deed.number}"] * (deed.amount % 3)
        return self.change(state, "prose", prose, "put_prose", state=state.id, prose=prose)

    def draft(self, deed, state):
        known = [id for id, _ in state.drafts]
        behind = deed.amount % (len(known) + 1)
        id, source = f"{self.seed}-d{deed.number}", f"draft {deed.amount}"
        drafts = [*state.drafts[:behind], (id, source), *state.drafts[behind:]]
        draft = {"id": id, "on": state.id, "kind": "code", "source": source}
        after = known[behind - 1] if behind else None
        return self.change(state, "drafts", drafts, "put_draft", draft=draft, after=after)

    def undraft(self, deed, state):
        if not state.drafts:
            return 200, {}
        at = deed.amount % len(state.drafts)
        drafts = [*state.drafts[:at], *state.drafts[at + 1 :]]
        return self.change(state, "drafts", drafts, "delete_draft", draft=state.drafts[at][0])

    def drop(self, deed, state):
        living = self.model.living()
        failed = sorted(
            n for n, run in self.model.runs.items() if run.state is None and run.on in living
        )
        if not failed:
            return 200, {}
        number = failed[deed.amount % len(failed)]
        answer = self.command("drop_attempt", exec_id=self.model.runs[number].exec_id)
        if answer is None or answer[0] == 200:
            dropped = self.model.drop(number)
            if answer is None:
                self.unsure_runs.update(dropped)
            return answer and (answer[0], {"dropped": sorted(dropped), **answer[1]})
        return answer

    def delete(self, deed, state):
        if state.parent == "initial":
            return 200, {}
        answer = self.answer("DELETE", f"/states/{state.id}")
        self.forget(answer, {state.id})
        return answer

    def prune(self, deed, state):
        if state.parent == "initial":
            return 200, {}
        self.pruned |= self.model.subtree(state)
        answer = self.command("delete_state", state=state.id, subtree=True)
        self.forget(answer, self.model.subtree(state))
        return answer

    def sweep(self, deed, state):
        """Runs a sweep, keeps its best row, and then deletes it, so that no other deed uses its
        states. If the server ends meanwhile, `end_sweeps` does the rest."""
        id, values = f"{self.seed}-s{deed.number}", list(range(2 + deed.amount % 4))
        body = {
            "id": id,
            "at": state.id,
            "code": "sweep_x = 0\nsweep_y = sweep_x * 2",
            "metric": "sweep_y",
            "grid": {"sweep_x": values},
            "keep": 1,
            "parallel": 2,
        }
        if deed.chance(0.4):
            body["rungs"] = {"code": "sweep_y += 1", "count": 1, "factor": 2}
        self.sweeps.add(id)
        answer = self.answer("POST", SWEEPS, body)
        if answer is None:
            return answer
        if answer[0] != 202:
            self.sweeps.discard(id)
            return answer
        return self.end_sweep(id)

    def end_sweep(self, id):
        """Waits until a sweep has ended, checks its rows, keeps the best one, and deletes it."""
        since = time.monotonic()
        while True:
            answer = self.answer("GET", f"{SWEEPS}/{id}")
            if answer is None or answer[0] != 200:
                break
            if answer[1]["status"] != "running":
                self.check_rows(answer[1])
                answer = self.answer("POST", f"{SWEEPS}/{id}/collapse", {})
                if answer and answer[0] in (200, 409):
                    answer = self.answer("DELETE", f"{SWEEPS}/{id}")
                break
            if time.monotonic() - since > PATIENCE:
                raise Divergence(f"the sweep {id} does not end: {answer}")
            time.sleep(0.01)
        if answer and answer[0] in (200, 404):
            self.sweeps.discard(id)
        return answer

    def check_rows(self, sweep):
        for row in sweep["rows"]:
            metric = row["params"]["sweep_x"] * 2 + row["rung"]
            if row["status"] == "ok" and row["metric"] != metric:
                raise Divergence(f"the row {row} should have the metric {metric}")
            if row["status"] in ("queued", "running") and sweep["status"] == "done":
                raise Divergence(f"the sweep has ended before its row: {row}")
            self.counts[f"rows: {row['status']}"] += 1

    def end_sweeps(self):
        """Deletes the sweeps during which the server has ended. They have gone on meanwhile."""
        for id in sorted(self.sweeps):
            self.end_sweep(id)
        if self.sweeps:
            raise Divergence(f"sweeps cannot be deleted: {self.sweeps}")

    def forget(self, answer, ids):
        self.deleted |= ids
        for state in self.model.states.values():
            if state.id in ids and (answer is None or answer[0] == 200):
                if answer is None and not state.is_deleted:
                    self.unsure.append((state, "is_deleted", False))
                state.is_deleted = True

    # The results.

    def note(self, now, deed, on, what):
        passed = time.monotonic() - self.began
        line = (
            f"{passed:.2f} {now.number}: {deed.what} {deed.number} on {on.number} ({on.id}): "
            f"{str(what)[:200]}"
        )
        if self.traces:
            print(line)
        self.log.append(line)

    def settle(self, now, wishes):
        for wish in wishes:
            said = (wish.status, wish.ename, wish.state, f"{wish.took:.2f} s")
            self.note(now, wish.deed, wish.on, f"{wish.exec_id}: {said}")
        # A failed replay ends a process from which states of its lineage were about to be made.
        # Runs at these states get an error.
        if now.accident is not None or any(wish.ename == "ReplayFailed" for wish in wishes):
            self.excuse = now.number + 3
        if now.ending == "reset":
            self.model = Model()
            self.sweeps.clear()
            self.agree(now)
            return
        self.end_sweeps()
        snapshot = self.snapshot()
        there = {run["exec_id"]: run for run in snapshot["runs"]}
        states = {s["id"]: s for s in snapshot["states"]}
        for wish in wishes:
            self.settle_run(now, wish, there.get(wish.exec_id), states)
        self.settle_unsure(snapshot, states)
        self.find_lost(now, states)
        self.agree(now, snapshot)

    def settle_run(self, now, wish, run, states):
        """Checks the end of a run and updates the model."""
        self.counts["runs"] += 1
        is_gone = wish.on.id in self.deleted
        if wish.went and not is_gone:
            raise Divergence(f"{wish} was answered, then refused, although its state exists")
        if wish.status is None or wish.status == "refused":
            is_told = wish.status == "refused" and (
                (wish.ename in ("StateNotFound", "not_found") and is_gone)
                or (wish.ename in ("StateLost", "lost") and self.may_be_lost(now, wish))
                # The run before it had ended without a state before this run was requested.
                or (wish.ename == "conflict" and wish.what == "behind")
                or (
                    wish.ename in ("conflict", "not_found")
                    and wish.number != wish.deed.number
                    and (now.is_disturbed() or is_gone or self.may_be_lost(now, wish))
                )
            )
            if not is_told and not (wish.status is None and now.ending):
                raise Divergence(f"{wish} has an unexpected answer")
            if run is None:
                self.counts["refused or unanswered"] += 1
                return
            if wish.status == "refused":
                raise Divergence(f"{wish} was refused, but is listed: {run}")
            wish.status, wish.ename, wish.state = (
                run["status"],
                (run["error"] or {}).get("ename"),
                run["state"],
            )
        self.counts[wish.status] += 1
        if wish.status not in EXPECTED[wish.what]:
            is_told = (
                (now.ending and wish.status == "interrupted")
                or (now.accident is not None and (wish.ename in TOLD or wish.ename == "RunAborted"))
                or (
                    self.may_be_lost(now, wish)
                    and wish.ename in ("StateLost", "ReplayFailed", "RunAborted")
                )
                or (
                    is_gone
                    and (wish.status == "interrupted" or wish.ename in TOLD | {"RunAborted"})
                )
                # The other state is not available.
                or (
                    wish.ename == "TransferFailed"
                    and (
                        wish.other in self.deleted | self.model.lost
                        or now.is_disturbed()
                        or now.number <= self.excuse
                    )
                )
                # A process was killed in an earlier round, and this run is the first to notice it.
                or (now.number <= self.excuse and wish.ename in TOLD)
            )
            if not is_told:
                raise Divergence(
                    f"run {wish.exec_id} ({wish.what}) ended {wish.status} ({wish.ename}): {run}"
                )
        if wish.printed is not None:
            self.check_printed(wish)
        if run is None:
            # The run was deleted together with its state.
            if wish.on.id in self.pruned:
                return
            if not is_gone or wish.status == "ok":
                raise Divergence(f"run {wish.exec_id} is missing")
            return
        if wish.status == "ok":
            wish.state = wish.state or run["state"]
            on = self.model.by_id().get(run["on"].get("state"))
            self.model.add(
                State(
                    wish.number,
                    wish.state,
                    states[wish.state]["name"],
                    run["on"]["state"],
                    wish.after,
                )
            )
            if on is None and run["on"]["state"] != "initial":
                raise Divergence(f"run {wish.exec_id} ran against an unknown state: {run}")
        on, behind = run["on"].get("state") or wish.on.id, run["on"].get("run")
        self.model.runs[wish.number] = Run(wish.exec_id, on, wish.status, wish.state, behind)

    def may_be_lost(self, now, wish):
        return (
            wish.on.id in self.model.lost or now.accident is not None or now.number <= self.excuse
        )

    def check_printed(self, wish):
        if wish.what in ("endless", "first"):
            is_right = wish.printed.startswith(wish.prints) or wish.prints.startswith(wish.printed)
        elif (
            wish.status in ("ok", "error")
            and wish.status in EXPECTED[wish.what]
            and wish.ename not in TOLD
        ):
            is_right = wish.printed == wish.prints
        else:
            is_right = wish.prints.startswith(wish.printed)
        if not is_right:
            # Compares characters, not path components.
            at = len(os.path.commonprefix([wish.printed, wish.prints]))  # noqa: RUF071
            around = slice(max(0, at - 100), at + 200)
            raise Divergence(
                f"run {wish.exec_id} ({wish.what}) printed {len(wish.printed)} characters, "
                f"not {len(wish.prints)};"
                f" from {at} on {wish.printed[around]!r}, not {wish.prints[around]!r}"
            )

    def settle_unsure(self, snapshot, states):
        """Finds out whether changes without an answer were made. Each change must have been made
        completely or not at all."""
        for state, name, value in self.unsure:
            there = states.get(state.id)
            if name == "is_deleted":
                state.is_deleted = there is None or there["living"] == "deleted"
            elif there and name == "drafts":
                if [
                    (d["id"], d["source"]) for d in snapshot["drafts"] if d["on"] == state.id
                ] == value:
                    state.drafts = value
            elif there and there[name] == value:
                setattr(state, name, value)
        ids = {run["exec_id"] for run in snapshot["runs"]}
        for number, run in self.unsure_runs.items():
            if run.exec_id in ids:
                self.model.runs[number] = run
        self.unsure, self.unsure_runs = [], {}

    unsure, unsure_runs = [], {}

    def find_lost(self, now, states):
        lost = {id for id, s in states.items() if s["living"] == "replay" and s["parent"]}
        for id in lost - self.model.lost:
            if states[id]["checkpoint"] is not None:
                raise Divergence(f"state {id} has a checkpoint, but cannot be used: {states[id]}")
            if not (now.is_disturbed() or now.number <= self.excuse):
                history = [
                    (round(at - self.began, 2), *told)
                    for at, *told in self.watcher.history[id][-12:]
                ]
                raise Divergence(
                    f"state {states[id]['name']} ({id}) is lost, but no process was killed: {history}"
                )
            self.model.lost.add(id)
        self.counts["lost at some time"] += len(lost & self.model.lost - (self.model.lost - lost))
        self.model.lost &= lost

    def agree(self, now, snapshot=None):
        """Checks that the model, the server's snapshot and the states of the listening client
        agree."""
        snapshot = snapshot or self.snapshot()
        if differences := list(self.model.differences(snapshot)):
            raise Divergence("\n".join(differences))
        since = time.monotonic()
        while True:
            picture = self.picture({s["id"]: s for s in snapshot["states"]})
            heard = self.picture(self.watcher.states)
            if picture == heard:
                break
            if time.monotonic() - since > PATIENCE:
                raise Divergence(
                    f"a listening client has other states: {picture.items() ^ heard.items()}"
                )
            time.sleep(0.01)
            snapshot = self.snapshot()
        processes = self.server.processes()
        figures = {
            "processes": len(processes),
            "states": len(snapshot["states"]),
            "MB of the server": resident(self.server.process.pid) >> 20,
        }
        for what, figure in figures.items():
            self.most[what] = max(self.most[what], figure)

    def picture(self, states):
        return {id: (s["living"], s["parent"], s["label"]) for id, s in states.items()}

    # The beginning and the end.

    def begin(self):
        """Runs a cell, resets the notebook, and records the resources of the idle server."""
        self.answer(
            "POST",
            "/execute",
            {"code": FIRST, "exec_id": f"{self.seed}-0", "state_name": "initial"},
        )
        self.watcher = Watcher(self.server)
        self.held = self.rest()
        self.watcher.start()

    def rest(self):
        """Resets the notebook, closes all connections, and waits until only the root process is
        left. Returns the resources that the server then uses."""
        self.answer("POST", "/reset")
        since = time.monotonic()
        self.close_all()
        held = {}
        while time.monotonic() - since < 30:
            before, held = held, self.descriptors()
            if (
                len(self.server.processes()) == 2
                and held == before
                and held == getattr(self, "held", (held,))[0]
            ):
                break
            time.sleep(0.1)
        return (
            held,
            resident(self.server.process.pid),
            self.server.processes()[1:],
            self.temporary(),
        )

    def descriptors(self):
        kinds = collections.Counter()
        directory = f"/proc/{self.server.process.pid}/fd"
        for name in os.listdir(directory):
            try:
                file = os.readlink(f"{directory}/{name}").split(":")[0]
                # Its name contains the process id, which a restart changes.
                kinds[re.sub(r"/servers/\d+\.json$", "/servers/PID.json", file)] += 1
            except OSError:
                continue
        return dict(kinds)

    def temporary(self):
        return sorted(os.listdir(self.server.environment["TMPDIR"]))

    def finish(self):
        """Checks that nothing has leaked, and stops the server."""
        self.watcher.end()
        before, now = self.held, self.rest()
        print(
            f"at the beginning: descriptors {before[0]}, {before[1] >> 20} MB; at the end: "
            f"{now[0]}, {now[1] >> 20} MB"
        )
        if now[0] != before[0]:
            raise Divergence(f"the server has the descriptors {now[0]}, at first {before[0]}")
        if len(now[2]) != 1:
            raise Divergence(f"processes are left: {now[2]}")
        if now[3] != before[3]:
            raise Divergence(f"temporary files are left: {now[3]}")
        if now[1] - before[1] > MAX_GROWTH:
            raise Divergence(f"the server has grown from {before[1] >> 20} to {now[1] >> 20} MB")
        self.end("stop")
        self.nothing_is_left()
        if left := self.temporary():
            raise Divergence(f"temporary files are left: {left}")
        self.program("check")
        self.program("gc")
        blobs = [
            f
            for _, _, files in os.walk(os.path.join(self.server.directory, "main.ratoon", "blobs"))
            for f in files
        ]
        if blobs:
            raise Divergence(f"{len(blobs)} blobs are left that no state needs: {blobs[:5]}")


def kill(pid, how):
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        pass


def resident(pid):
    with open(f"/proc/{pid}/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS:"))


def main():
    parser = argparse.ArgumentParser(
        description="Puts a server under heavy use and compares it with a model."
    )
    parser.add_argument(
        "--minutes", type=float, default=60, help="time after which no new round begins"
    )
    parser.add_argument(
        "--runs", type=int, default=10**9, help="runs after which no new round begins"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=random.randrange(10**9),
        help="the same seed makes the same plan",
    )
    parser.add_argument("--trace", action="store_true", help="print every action")
    options = parser.parse_args()
    print(f"soak: seed {options.seed}", flush=True)
    room = tempfile.mkdtemp(prefix="ratoon-soak-")
    own = {
        "TMPDIR": os.path.join(room, "tmp"),
        "XDG_CONFIG_HOME": os.path.join(room, "config"),
        "RATOON_SOAK": str(options.seed),
    }
    os.mkdir(own["TMPDIR"])
    server = ratoon.Server(
        os.environ["RATOON_BIN"],
        os.environ["RATOON_TEST_PYTHON"],
        "--max-frozen",
        str(MAX_FROZEN),
        **own,
    )
    try:
        soak_for(server, options)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def soak_for(server, options):
    with server:
        soak = Soak(server, options.seed, options.trace)
        began = time.monotonic()
        try:
            soak.begin()
            for now in plan.rounds(options.seed):
                since = time.monotonic()
                soak.round(now)
                soak.most["s in a round"] = max(
                    soak.most["s in a round"], round(time.monotonic() - since, 1)
                )
                passed = time.monotonic() - began
                if passed > options.minutes * 60 or soak.counts["runs"] >= options.runs:
                    break
            soak.finish()
        except Divergence as divergence:
            print("\n".join(soak.log))
            server.log.seek(0)
            print(f"the server wrote:\n{server.log.read()[-3000:]}")
            print(f"DIVERGENCE with seed {options.seed} in round {now.number}: {divergence}")
            sys.exit(1)
        finally:
            passed = time.monotonic() - began
            print(
                f"{now.number + 1} rounds in {passed:.0f} s: {dict(soak.counts)}; at most "
                f"{dict(soak.most)}"
            )


if __name__ == "__main__":
    main()
