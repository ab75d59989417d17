"""What is done in which order: a function of the seed alone.

Deeds are numbered. A deed names the state it is about by the number of the deed that was to leave
it; who carries it out looks which state that is now, or which of its ancestors is still there. So
chance decides here once and for all, and what the server makes of it changes no later decision.
"""

import itertools
import random
from dataclasses import dataclass

# Cells, by what is to become of them, and how often each comes.
RUNS = {
    "ok": 50,
    "error": 8,
    "interrupt": 8,  # runs until it is interrupted
    "race": 6,  # is interrupted at a time at which it may just have ended
    "stubborn": 1,  # catches the interrupt, and is interrupted again
    "die": 4,
    "murder": 3,  # its process is killed from outside
    "stop": 1,  # its process is stopped by SIGSTOP
    "timeout": 3,
    "flood": 3,
    "endless": 2,  # prints until it is interrupted
    "child": 1,  # leaves a subprocess behind and fails
    "again": 4,  # the same request comes a second time
    "chain": 4,  # three cells, each behind the one before it
}
# What else is done meanwhile, one after the other.
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
    "prune": 3,  # a state with all that grew from it
}
# So many rounds, then the notebook is reset, while cells run.
ERA = 40
# The server is killed or stopped within the first of so many rounds; in the others it may grow old.
BLOCK, RESTARTS = 64, 24
CHAIN = 3


@dataclass(frozen=True)
class Deed:
    number: int
    what: str
    # The deed whose state it is about.
    on: int
    # Decides whatever the deed leaves open.
    amount: int
    # Seconds, for what comes in between.
    delay: float

    def chance(self, share):
        return self.amount % 997 < share * 997


@dataclass(frozen=True)
class Round:
    number: int
    # Carried out at once, each by a client of its own.
    runs: list
    # Carried out by one client, in order.
    care: list
    # What happens to the server meanwhile: "kill" (-9), "stop" (politely), "reset", or nothing.
    ending: str | None
    delay: float
    # Which of the server's processes is killed meanwhile, if one is.
    accident: int | None
    # Whether everything begins anew with it.
    opens: bool

    def is_disturbed(self):
        return self.ending is not None or self.accident is not None


def rounds(seed):
    """All rounds, without end. The first deed of an era is alone: it leaves the state from which
    all others grow.
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
        grown += [one.number for one in runs if one.what in ("ok", "race", "flood", "again")]
        ending = "reset" if place == ERA - 1 else None
        if number % BLOCK < RESTARTS and ending is None:
            ending = {5: "kill", 11: "stop", 17: "kill"}.get(number % 20)
        accident = chance.randrange(10**6) if ending is None and chance.random() < 0.08 else None
        yield Round(number, runs, care, ending, chance.uniform(0, 0.15), accident, False)


def deed(chance, numbers, kinds, grown):
    what = chance.choices(list(kinds), kinds.values())[0]
    way = chance.random()
    # Somebody goes on where they are; looks back; or tries the first state once more.
    on = (
        chance.choice(grown[-4:]) if way < 0.5 else chance.choice(grown) if way < 0.85 else grown[0]
    )
    number = next(numbers)
    for _ in range(CHAIN - 1 if what == "chain" else 0):
        next(numbers)
    return Deed(number, what, on, chance.randrange(10**6), chance.uniform(0, 0.08))
