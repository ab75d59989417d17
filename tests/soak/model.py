"""A model of the notebook: the states that must exist, their variables, and the end of each run."""

import hashlib
import random
from dataclasses import dataclass, field, replace

SIZE = 300_000

FIRST = f"""
import hashlib, os, random, signal, subprocess, time
random.seed(7)
count, draws, trail, seen, bulk = 0, 0, [], {{}}, bytearray({SIZE})
same = trail
def picture():
    digest = hashlib.sha1(bulk).hexdigest()[:8]
    return repr((count, draws, trail, same is trail, sorted(seen.items()), digest))
"""


@dataclass(frozen=True)
class Values:
    """The variables of a state."""

    count: int = 0
    draws: int = 0
    trail: tuple = ()
    seen: tuple = ()
    bulk: tuple = ()

    def picture(self):
        bulk = bytearray(SIZE)
        for at, byte in self.bulk:
            bulk[at] = byte
        digest = hashlib.sha1(bulk).hexdigest()[:8]
        return repr((self.count, self.draws, list(self.trail), True, sorted(self.seen), digest))

    def reprs(self):
        """Returns the reprs of some variables, as `GET /states/…` must show them."""
        return {
            "count": repr(self.count),
            "trail": repr(list(self.trail)),
            "draws": repr(self.draws),
        }

    def do(self, number, amount):
        """Returns a piece of code for a cell, and the variables after this code has run. `number`
        and `amount` choose the code."""
        match amount % 5:
            case 0:
                return f"count = count * 31 % 1000003 + {number}", replace(
                    self, count=self.count * 31 % 1000003 + number
                )
            case 1:
                return f"trail.append({number}); del trail[:-6]", replace(
                    self, trail=(*self.trail, number)[-6:]
                )
            case 2:
                seen = tuple(pair for pair in self.seen if pair[0] != number % 10)
                return f"seen[{number % 10}] = {number}", replace(
                    self, seen=(*seen, (number % 10, number))
                )
            case 3:
                at, byte = amount * 7 % SIZE, 1 + number % 255
                bulk = tuple(pair for pair in self.bulk if pair[0] != at)
                return f"bulk[{at}] = {byte}", replace(self, bulk=(*bulk, (at, byte)))
        source = random.Random(7)
        for _ in range(self.draws + 1):
            drawn = source.random()
        changed = replace(self, draws=self.draws + 1, count=int(drawn * 10**9))
        return "count = int(random.random() * 10**9); draws += 1", changed


@dataclass
class State:
    number: int
    id: str
    name: str
    # The id of the parent state.
    parent: str
    values: Values
    is_deleted: bool = False
    label: str | None = None
    pinned: bool = False
    prose: list = field(default_factory=list)
    drafts: list = field(default_factory=list)


@dataclass
class Run:
    exec_id: str
    # The id of the state against which the cell ran.
    on: str
    status: str
    state: str | None
    # The exec_id of the run behind which this run was queued, if that run left no state.
    behind: str | None


class Model:
    """The expected content of the notebook since the last reset."""

    def __init__(self):
        # States and runs, by the number of the deed that made them.
        self.states = {}
        self.runs = {}
        # For the number of each deed: the number of the deed whose state it should grow from.
        self.plan = {}
        # Ids of states whose process was killed before they were saved. Only a replay restores
        # them.
        self.lost = set()

    def add(self, state):
        self.states[state.number] = state

    def nearest(self, number):
        """Returns the state that a deed should leave, or its nearest planned ancestor that exists.
        Returns None if none of them exists.
        """
        while number and not (self.states.get(number) and not self.states[number].is_deleted):
            number = self.plan.get(number, 0)
        return self.states.get(number)

    def living(self):
        return {s.id: s for s in self.states.values() if not s.is_deleted}

    def drop(self, number):
        """Removes a run, and the runs that were queued behind it. Returns all removed runs."""
        gone = {number: self.runs.pop(number)}
        for other, run in sorted(self.runs.items()):
            if run.behind in {lost.exec_id for lost in gone.values()}:
                gone[other] = self.runs.pop(other)
        return gone

    def by_id(self):
        return {s.id: s for s in self.states.values()}

    def subtree(self, state):
        """Returns the ids of a state and of all its descendants."""
        ids = {state.id}
        for other in sorted(self.states.values(), key=lambda s: s.number):
            if other.parent in ids:
                ids.add(other.id)
        return ids

    def differences(self, snapshot):
        """Yields the differences between this model and a snapshot of the notebook."""
        there = {s["id"]: s for s in snapshot["states"] if s["parent"] is not None}
        living = {id for id, s in there.items() if s["living"] != "deleted"}
        own = self.living()
        yield from (f"state {own[id].number} ({id}) is missing" for id in own.keys() - living)
        yield from (
            f"state {there[id]['name']} ({id}) should not be there" for id in living - own.keys()
        )
        carrying = {s["parent"] for s in there.values()}
        for id, state in there.items():
            if state["living"] == "deleted" and id not in carrying:
                yield f"deleted state {id} is still listed, although it has no children"
            if state["living"] == "replay" and id not in self.lost:
                yield f"state {state['name']} ({id}) is lost, although no process was killed"
            if id in own:
                for what in ("parent", "label", "pinned", "prose"):
                    if state[what] != getattr(own[id], what):
                        yield (
                            f"state {own[id].number}: {what} is {state[what]!r}, not "
                            f"{getattr(own[id], what)!r}"
                        )
        yield from self.drafts_that_differ(snapshot, own)
        yield from self.runs_that_differ(snapshot, own)

    def drafts_that_differ(self, snapshot, own):
        for id, state in own.items():
            drafts = [(d["id"], d["source"]) for d in snapshot["drafts"] if d["on"] == id]
            if drafts != state.drafts:
                yield f"state {state.number}: its drafts are {drafts}, not {state.drafts}"

    def runs_that_differ(self, snapshot, own):
        there = {run["exec_id"]: run for run in snapshot["runs"]}
        known = {run.exec_id: run for run in self.runs.values()}
        for id, run in there.items():
            if run["status"] in ("queued", "running"):
                yield f"run {id} is {run['status']} although nothing runs"
            elif id not in known:
                yield f"run {id} should not be there: {run}"
            elif "run" in run["on"] and run["on"]["run"] not in there:
                yield f"run {id} is still listed, although the run before it is gone"
            elif (run["status"], run["state"]) != (known[id].status, known[id].state):
                yield f"run {id} is {run['status']} with state {run['state']}, not {known[id]}"
        for id, run in known.items():
            # A run without a new state must be listed while the state that it ran against exists.
            # Any other run must be listed while its new state exists.
            if id not in there and (run.state or run.on) in own:
                yield f"run {id} is missing: {run}"
