"""What a suite has found: one `Test` for each of its tests."""

import shlex
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a test has ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    # It failed, and passed when it ran once more, alone.
    FLAKY = "flaky"


@dataclass(frozen=True)
class Test:
    """One test of a suite."""

    suite: str
    # What the suite's program calls it, for example `crashes::a_crash_is_reported`.
    name: str
    outcome: Outcome
    seconds: float
    # The first line of its error; empty if it passed.
    error: str = ""
    # The words after `tests/run SUITE --` that run this test alone; none if nothing does.
    words: tuple[str, ...] | None = None

    @property
    def command(self) -> str:
        """The command that runs this test alone."""
        rest = f" -- {shlex.join(self.words)}" if self.words else ""
        return f"tests/run {self.suite}{rest}"


def failed(tests: list[Test]) -> list[Test]:
    """The tests that failed, without those that passed alone."""
    return [test for test in tests if test.outcome is Outcome.FAILED]
