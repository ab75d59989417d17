"""Uses a server hard, and compares it with a model of what must be true. See `run`."""

import argparse
import collections
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import plan
import ratoon_client as ratoon
from model import FIRST, Model, Run, State, Values

# How long anything may take before it counts as hanging. Generous: no figure of the machine's fails
# a soak.
PATIENCE = 90
# What the server may hold more at the end than at the beginning: the events it keeps, SQLite's
# pages, what malloc keeps.
MAX_GROWTH = 96 * 1024 * 1024
# What a run may say whose processes were killed.
TOLD = {"KernelDied", "ForkFailed", "StateLost", "RestoreFailed", "ReplayFailed"}
# How many states may live in memory: few, so that the others come back from their checkpoints.
MAX_FROZEN = 12
EXPECTED = {
    "first": {"ok"},
    "ok": {"ok"},
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
    """What is not as it should be."""


@dataclass
class Outcome:
    """How a run ended, as far as its client was told."""

    deed: plan.Deed
    number: int
    what: str
    on: State
    exec_id: str
    after: Values
    # What it prints if nothing comes in between.
    prints: str
    replay: bool
    status: str | None = None
    ename: str | None = None
    state: str | None = None
    printed: str | None = None
    # It was answered, and then the state that it was asked for was not there any more.
    went: bool = False
    took: float = 0.0


class Watcher(threading.Thread):
    """A client that folds the events, as the page does."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server = server
        self.states = {}
        # What was told of each state, for a report.
        self.history = collections.defaultdict(list)
        self.is_over = False

    def run(self):
        while not self.is_over:
            try:
                self.socket = ratoon.Socket(self.server, "main")
                while True:
                    self.fold(self.socket.receive())
            except (OSError, RuntimeError):
                # The server was killed, or let a client go that was too slow: it comes back and
                # begins anew.
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
        self.own = threading.local()
        self.clients = []
        # Until this round, states that were not saved may turn out to be lost.
        self.excuse = -1
        self.began = time.monotonic()

    # Talking to the server.

    def answer(self, method, path, body=None):
        """Status and body; None when the server was gone before it answered."""
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
        """Ends all connections. Each client opens another one when it wants something."""
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
        """The runs of a deed, with what they must come to."""
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

    def wish(self, deed, number, what, on, code, after, prints):
        wish = Outcome(
            deed, number, what, on, f"{self.seed}-{number}", after, prints, deed.amount % 2 == 0
        )
        wish.code = code
        # Where it would stand if it leaves a state.
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
                    # Between the two it went with its state, and the second is a new run. Whether
                    # that is so, `settle` knows.
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
            # The server stops: the run may have ended all the same.
            return
        if status != 200:
            wish.status, wish.ename = "refused", said.get("error", {}).get("code")
            return
        error = said["error"]
        wish.ename = error and error["ename"]
        wish.printed = "".join(o["text"] for o in said["output"] if o.get("name") == "stdout")
        wish.state_name = said["state_name"]
        # `RunAborted`: its state was deleted while it waited for a process.
        by_name = {
            None: "ok",
            **dict.fromkeys(("KeyboardInterrupt", "RunTimeout", "RunAborted"), "interrupted"),
        }
        by_name |= dict.fromkeys(("KernelDied", "StateLost"), "crashed")
        wish.status = by_name.get(wish.ename, "error")
        if wish.ename in ("StateNotFound", "StateLost") and not said["output"]:
            wish.status = "refused"

    def call(self, wish):
        return wish.on.name if wish.deed.amount % 3 else wish.on.id

    def chain(self, wishes):
        """Runs that wait for each other, over a WebSocket."""
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
        """Interrupts a run once it is there; a stubborn one twice."""
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
        """Kills the process of a run once it says which it is."""
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
        """The server has ended: nothing of it is left, its files are whole, and it starts again."""
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
        """Processes that carry the server's mark in their environment."""
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
        """`ratoon check`, `ratoon gc`."""
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

    # What is done beside the runs.

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
            # Nothing that was asked for in the wrong moment.
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
        """A command that changes something of a state. One that was not answered may have been
        carried out.
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

    def forget(self, answer, ids):
        self.deleted |= ids
        for state in self.model.states.values():
            if state.id in ids and (answer is None or answer[0] == 200):
                if answer is None and not state.is_deleted:
                    self.unsure.append((state, "is_deleted", False))
                state.is_deleted = True

    # What has come of it.

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
        # A replay that fails ends the process from which states on its way were just to be made:
        # who uses one is told.
        if now.accident is not None or any(wish.ename == "ReplayFailed" for wish in wishes):
            self.excuse = now.number + 3
        if now.ending == "reset":
            self.model = Model()
            self.agree(now)
            return
        snapshot = self.snapshot()
        there = {run["exec_id"]: run for run in snapshot["runs"]}
        states = {s["id"]: s for s in snapshot["states"]}
        for wish in wishes:
            self.settle_run(now, wish, there.get(wish.exec_id), states)
        self.settle_unsure(snapshot, states)
        self.find_lost(now, states)
        self.agree(now, snapshot)

    def settle_run(self, now, wish, run, states):
        """Whether a run ended as it may have, and what is true from now on."""
        self.counts["runs"] += 1
        is_gone = wish.on.id in self.deleted
        if wish.went and not is_gone:
            raise Divergence(f"{wish} was answered, then refused, and nobody had deleted its state")
        if wish.status is None or wish.status == "refused":
            is_told = wish.status == "refused" and (
                (wish.ename in ("StateNotFound", "not_found") and is_gone)
                or (wish.ename in ("StateLost", "lost") and self.may_be_lost(now, wish))
                # What it was to follow had ended without a state before it was asked for.
                or (wish.ename == "conflict" and wish.what == "behind")
                or (
                    wish.ename in ("conflict", "not_found")
                    and wish.number != wish.deed.number
                    and (now.is_disturbed() or is_gone or self.may_be_lost(now, wish))
                )
            )
            if not is_told and not (wish.status is None and now.ending):
                raise Divergence(f"{wish} was not answered as it should be")
            if run is None:
                self.counts["refused or unheard"] += 1
                return
            if wish.status == "refused":
                raise Divergence(f"{wish} was refused, and there it is: {run}")
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
                # An accident of the round before is noticed now.
                or (now.number <= self.excuse and wish.ename in TOLD)
            )
            if not is_told:
                raise Divergence(
                    f"run {wish.exec_id} ({wish.what}) ended {wish.status} ({wish.ename}): {run}"
                )
        if wish.printed is not None:
            self.check_printed(wish)
        if run is None:
            # It went with its state, which was deleted meanwhile.
            if wish.on.id in self.pruned:
                return
            if not is_gone or wish.status == "ok":
                raise Divergence(f"run {wish.exec_id} is forgotten")
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
                raise Divergence(f"run {wish.exec_id} ran against a state that nobody knows: {run}")
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
            # Characters are meant, not folders.
            at = len(os.path.commonprefix([wish.printed, wish.prints]))  # noqa: RUF071
            around = slice(max(0, at - 100), at + 200)
            raise Divergence(
                f"run {wish.exec_id} ({wish.what}) printed {len(wish.printed)} characters, "
                f"not {len(wish.prints)};"
                f" from {at} on {wish.printed[around]!r}, not {wish.prints[around]!r}"
            )

    def settle_unsure(self, snapshot, states):
        """What was not answered was carried out, or it was not; nothing in between."""
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
                raise Divergence(f"state {id} has a checkpoint, and cannot be used: {states[id]}")
            if not (now.is_disturbed() or now.number <= self.excuse):
                history = [
                    (round(at - self.began, 2), *told)
                    for at, *told in self.watcher.history[id][-12:]
                ]
                raise Divergence(
                    f"state {states[id]['name']} ({id}) is lost, and nothing was killed: {history}"
                )
            self.model.lost.add(id)
        self.counts["lost at some time"] += len(lost & self.model.lost - (self.model.lost - lost))
        self.model.lost &= lost

    def agree(self, now, snapshot=None):
        """The model, the server's picture and that of a client that listened are the same."""
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
                    f"a listener has another picture: {picture.items() ^ heard.items()}"
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
        """What the server holds when it has run something and has nothing to do."""
        self.answer(
            "POST",
            "/execute",
            {"code": FIRST, "exec_id": f"{self.seed}-0", "state_name": "initial"},
        )
        self.watcher = Watcher(self.server)
        self.held = self.rest()
        self.watcher.start()

    def rest(self):
        """Forgets all states, lets all clients go, and waits until nothing but the root is left."""
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
                kinds[os.readlink(f"{directory}/{name}").split(":")[0]] += 1
            except OSError:
                continue
        return dict(kinds)

    def temporary(self):
        return sorted(os.listdir(self.server.environment["TMPDIR"]))

    def finish(self):
        """Nothing has leaked."""
        self.watcher.end()
        before, now = self.held, self.rest()
        print(
            f"at the beginning: descriptors {before[0]}, {before[1] >> 20} MB; at the end: "
            f"{now[0]}, {now[1] >> 20} MB"
        )
        if now[0] != before[0]:
            raise Divergence(f"the server holds the descriptors {now[0]}, at first {before[0]}")
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
        description="Uses a server hard, and compares it with a model of what must be true."
    )
    parser.add_argument("--minutes", type=float, default=60, help="no round begins after so long")
    parser.add_argument(
        "--runs", type=int, default=10**9, help="no round begins after so many runs"
    )
    parser.add_argument(
        "--seed", type=int, default=random.randrange(10**9), help="the same seed decides the same"
    )
    parser.add_argument("--trace", action="store_true", help="say everything that is done")
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
