"""What `tests/run` says at the end, and what it remembers for `--failed`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from results import Outcome, Test

# So many of the slowest tests of each suite are listed, if they take so many seconds.
SLOWEST = 20
SHORTEST = 0.2
# At most so many failed tests are described, so that the last 40 lines of a log have them all.
DESCRIBED = 11
# Maximum length of a line with an error.
WIDTH = 200


@dataclass(frozen=True)
class Ran:
    """A suite that has run."""

    name: str
    title: str
    seconds: float
    # Processor time of the whole machine meanwhile, also of the suites beside it.
    processor_seconds: float
    tests: list[Test]

    @property
    def has_failed(self) -> bool:
        return any(test.outcome is Outcome.FAILED for test in self.tests)

    def line(self) -> str:
        how = "FAILED" if self.has_failed else "passed"
        used = f"{self.processor_seconds:.0f} s of processor time"
        return f"{self.title}: {how} ({self.seconds:.0f} s, {used}, {len(self.tests)} tests)"


def slowest(ran: Ran) -> list[str]:
    """The slowest tests of a suite, with their share of all its tests' time."""
    tests = sorted(ran.tests, key=lambda test: -test.seconds)[:SLOWEST]
    tests = [test for test in tests if test.seconds >= SHORTEST]
    if not tests:
        return []
    total = sum(test.seconds for test in ran.tests)
    head = (
        f"Slowest tests of {ran.name}: {sum(test.seconds for test in tests):.0f} of {total:.0f} s"
    )
    return [head, *(f"  {test.seconds:6.1f} s  {test.name}" for test in tests)]


def closing(suites: Sequence[Ran]) -> list[str]:
    """The last lines: each test that failed, with its error and the command that repeats it."""
    tests = [test for ran in suites for test in ran.tests]
    lines = []
    bad = [test for test in tests if test.outcome in (Outcome.FAILED, Outcome.FLAKY)]
    bad.sort(key=lambda test: test.outcome is Outcome.FLAKY)
    for test in bad[:DESCRIBED]:
        lines.append(f"{test.outcome.upper()} {test.suite}: {test.name}"[:WIDTH])
        lines.append(f"    {test.error}"[:WIDTH])
        lines.append(f"    again: {test.command}")
    if len(bad) > DESCRIBED:
        lines.append(f"and {len(bad) - DESCRIBED} more; all that failed, again: tests/run --failed")
    failed_suites = sum(ran.has_failed for ran in suites)
    lines.append(f"suites: {len(suites) - failed_suites} passed, {failed_suites} failed")
    count = {outcome: sum(test.outcome is outcome for test in tests) for outcome in Outcome}
    passed = count[Outcome.PASSED] + count[Outcome.FLAKY]
    lines.append(
        f"tests: {passed} passed, {count[Outcome.FAILED]} failed, {count[Outcome.SKIPPED]} skipped"
    )
    return lines


def remember(file: Path, suites: Sequence[Ran]) -> None:
    """Writes which tests failed."""
    bad: dict[str, list[list[str]]] = {}
    for ran in suites:
        for test in ran.tests:
            words = list(test.words or ())
            # In several rounds a test may fail again.
            if test.outcome is Outcome.FAILED and words not in bad.setdefault(ran.name, []):
                bad[ran.name].append(words)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({suite: words for suite, words in bad.items() if words}))


def remembered(file: Path) -> dict[str, list[list[str]]]:
    """The words that choose each test that failed last time, by suite."""
    if not file.exists():
        return {}
    found: dict[str, list[list[str]]] = json.loads(file.read_text())
    return found
