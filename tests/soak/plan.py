"""Plans a soak test: the deeds and their order. The plan depends only on the seed.

A deed is one action of a client. Deeds are numbered. A deed refers to a state by the number of the
deed that should leave this state. The client that carries out the deed uses the state if it exists,
or else its nearest ancestor. So results of the server do not change later decisions of the plan.
"""

import itertools
import random
from dataclasses import dataclass

# The kinds of runs, each with its relative frequency.
RUNS = {
    "ok": 50,
    "error": 8,
    "interrupt": 8,  # runs until it is interrupted
    "race": 6,  # is interrupted at about the time at which it ends
    "stubborn": 1,  # catches the interrupt, and is interrupted again
    "die": 4,
    "murder": 3,  # its process is killed from outside
    "stop": 1,  # its process is stopped by SIGSTOP
    "timeout": 3,
    "flood": 3,
    "endless": 2,  # prints until it is interrupted
    "child": 1,  # leaves a subprocess behind and fails
    "again": 4,  # the same request is sent twice
    "take": 5,  # takes variables of another state
    "chain": 4,  # three cells, each queued behind the previous one
}
# The kinds of other deeds, each with its relative frequency. They are done one after the other, at
# the same time as the runs.
CARE = {
    "look": 25,
    "complete": 6,
    "checkpoint": 10,
    "label": 10,
    "pin": 6,
    "prose": 6,
    "draft": 14,
    "undraft": 6,
    "drop": 5,
    "delete": 12,
    "prune": 3,  # deletes a state and all its descendants
    "sweep": 5,  # runs a sweep, keeps its best row, and deletes it
}
# The kinds of runs from whose states later deeds may grow.
GROWING = ("ok", "race", "flood", "again", "take")
# Number of rounds between two resets of the notebook.
ERA = 40
# In each block of BLOCK rounds, the server is killed or stopped only in the first RESTARTS rounds.
# In the other rounds it runs without a restart.
BLOCK, RESTARTS = 64, 24
# Number of cells in a chain.
CHAIN = 3


@dataclass(frozen=True)
class Deed:
    number: int
    what: str
    # The number of the deed whose state this deed uses.
    on: int
    # A random number that decides the details of the deed.
    amount: int
    # Time before an interrupt of the deed, in seconds.
    delay: float

    def chance(self, share):
        return self.amount % 997 < share * 997


@dataclass(frozen=True)
class Round:
    number: int
    # Deeds that are carried out at the same time, each by its own client.
    runs: list
    # Deeds that one client carries out in order.
    care: list
    # The event that ends the round: "kill" (SIGKILL), "stop" (SIGINT), "reset", or None.
    ending: str | None
    # Time before the ending or the accident, in seconds.
    delay: float
    # A number that selects a child process of the server to kill, or None.
    accident: int | None
    # Whether the notebook is empty before this round.
    opens: bool

    def is_disturbed(self):
        return self.ending is not None or self.accident is not None


def rounds(seed):
    """Yields rounds without end. The first round of an era has only one deed. It leaves the state
    from which all other states of the era grow.
    """
    chance = random.Random(seed)
    numbers = itertools.count(1)
    grown = []
    for number in itertools.count():
        place = number % ERA
        if place == 0:
            first = Deed(next(numbers), "first", 0, chance.randrange(10**6), 0)
            grown = [first.number]
            yield Round(number, [first], [], None, 0, None, True)
            continue
        runs = [deed(chance, numbers, RUNS, grown) for _ in range(chance.randint(3, 12))]
        care = [deed(chance, numbers, CARE, grown) for _ in range(chance.randint(0, 5))]
        grown += [one.number for one in runs if one.what in GROWING]
        ending = "reset" if place == ERA - 1 else None
        if number % BLOCK < RESTARTS and ending is None:
            ending = {5: "kill", 11: "stop", 17: "kill"}.get(number % 20)
        accident = chance.randrange(10**6) if ending is None and chance.random() < 0.08 else None
        yield Round(number, runs, care, ending, chance.uniform(0, 0.15), accident, False)


def deed(chance, numbers, kinds, grown):
    what = chance.choices(list(kinds), kinds.values())[0]
    way = chance.random()
    # Half of the deeds use one of the newest states, others any state or the first state.
    on = (
        chance.choice(grown[-4:]) if way < 0.5 else chance.choice(grown) if way < 0.85 else grown[0]
    )
    number = next(numbers)
    for _ in range(CHAIN - 1 if what == "chain" else 0):
        next(numbers)
    return Deed(number, what, on, chance.randrange(10**6), chance.uniform(0, 0.08))
