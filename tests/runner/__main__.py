"""`tests/run`: see there."""

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import processes
import report
from prepare import CACHE, TARGET, Preparation, say, step, stop
from programs import CHOSEN, IN_FULL, Words, Write
from report import Ran
from results import Outcome, Test
from suites import CORES, Suite, all_suites

# How many times `stress` runs each suite.
STRESS_ROUNDS = 3
# If more tests of a suite fail, none runs again: it is no accident.
MOST_AGAIN = 20
# Which tests failed last time.
FAILED = TARGET / "failed-tests.json"


@dataclass(frozen=True)
class Request:
    """What the user wants to run."""

    suites: tuple[str, ...]
    words: tuple[str, ...]
    is_nightly: bool
    is_stress: bool
    only_failed: bool


def parse(arguments: Sequence[str]) -> Request:
    before, words = list(arguments), []
    if "--" in before:
        at = before.index("--")
        before, words = before[:at], before[at + 1 :]
    modes = {"nightly", "stress", "--failed"}
    chosen = tuple(word for word in before if word not in modes)
    request = Request(
        chosen, tuple(words), "nightly" in before, "stress" in before, "--failed" in before
    )
    if words and len(chosen) != 1:
        stop(
            "words after `--` choose tests of one suite", "for example: tests/run rust -- crashes::"
        )
    return request


class Runner:
    """Runs suites: first, on each core one, those that keep one core busy, then the others one after
    the other. More side by side would exceed their time limits."""

    def __init__(self, request: Request, directory: Path) -> None:
        self.request = request
        self.directory = directory
        self.id = f"{os.getpid()}-{os.urandom(4).hex()}"
        self.environment = dict(os.environ)
        if request.is_nightly:
            self.environment[IN_FULL] = "1"
        if request.words:
            self.environment[CHOSEN] = "1"
        # What the tests write goes where it can be looked at and removed: not into the user's home.
        self.environment["XDG_DATA_HOME"] = str(CACHE / "data")
        self.ready = Preparation(sys.executable, directory, self.environment)
        # The words of what failed last time, by suite, if only this is wanted.
        self.failed = report.remembered(FAILED) if request.only_failed else {}

    def chosen(self) -> list[Suite]:
        suites = all_suites(self.ready, IN_FULL in self.environment)
        names = [suite.name for suite in suites]
        for name in self.request.suites:
            if name not in names:
                stop(f"there is no suite {name!r}", f"{', '.join(names)}; nightly is all of them")
        if self.request.only_failed:
            return [suite for suite in suites if suite.name in self.failed]
        if self.request.suites:
            return [suite for suite in suites if suite.name in self.request.suites]
        return [suite for suite in suites if suite.is_default or self.request.is_nightly]

    def run(self) -> int:
        suites = self.chosen()
        needs = dict.fromkeys(need for suite in suites for need in suite.needs)
        # The tests first: the program is built with them.
        for need in sorted(needs, key=lambda need: need != self.ready.tests):
            need()
        done = []
        with ExitStack() as stack:
            if self.request.is_stress:
                stack.enter_context(processes.busy_cores(CORES, self.environment_of("stress")))
            for _ in range(STRESS_ROUNDS if self.request.is_stress else 1):
                done += self.run_suites(suites)
        if not self.request.is_stress:
            done = [self.again(suite, ran) for suite, ran in zip(suites, done)]
        return self.conclude(done)

    def mark(self, suite: str) -> str:
        """What marks the processes of a suite. So begins also the mark of a longer name."""
        return f"{self.id}-{suite}"

    def environment_of(self, suite: str) -> dict[str, str]:
        return {**self.environment, processes.MARK: self.mark(suite)}

    def run_suites(self, suites: Sequence[Suite]) -> list[Ran]:
        beside = [suite for suite in suites if suite.takes_one_core]
        calls = [partial(self.run_beside, suite) for suite in beside]
        ran = processes.side_by_side(CORES, calls, self.mark(""))
        by_name = {one.name: one for one in ran}
        return [by_name.get(suite.name) or self.run_suite(suite, say) for suite in suites]

    def run_beside(self, suite: Suite) -> Ran:
        """Runs a suite and shows its lines when it has ended: another runs meanwhile."""
        lines: list[str] = []
        try:
            return self.run_suite(suite, lines.append)
        finally:
            say("\n".join(lines))

    def run_suite(self, suite: Suite, write: Write) -> Ran:
        step(suite.title, write)
        began, busy = time.monotonic(), processes.busy_seconds()
        chosen = self.failed.get(suite.name, [list(self.request.words)])
        tests = [test for words in chosen for test in self.tests(suite, words, write)]
        seconds, busy = time.monotonic() - began, processes.busy_seconds() - busy
        ran = Ran(suite.name, suite.title, seconds, busy, tests)
        write(ran.line())
        return ran

    def tests(self, suite: Suite, words: Words, write: Write = say) -> list[Test]:
        """Runs a suite's tests, and one more: that they leave no process and no file behind."""
        directory = self.directory / f"{suite.name}-tmp"
        directory.mkdir()
        environment = {**self.environment_of(suite.name), "TMPDIR": str(directory)}
        try:
            tests = suite.program.run(words, environment, write)
        finally:
            left = processes.left_behind(self.mark(suite.name))
            left += [str(path) for path in directory.glob("ratoon*")]
            shutil.rmtree(directory, ignore_errors=True)
        for one in left:
            write(f"left behind: {one}")
        outcome = Outcome.FAILED if left else Outcome.PASSED
        error = f"left behind: {left[0]}" if left else ""
        name = "no process and no file is left behind"
        return [*tests, Test(suite.name, name, outcome, 0.0, error)]

    def again(self, suite: Suite, ran: Ran) -> Ran:
        """Runs each test that failed once more, alone. If it passes, it is a defect all the same:
        the end of the output names it."""
        failed = [test for test in ran.tests if test.outcome is Outcome.FAILED]
        if len(failed) > MOST_AGAIN:
            return ran
        tests = []
        for test in ran.tests:
            if test.outcome is Outcome.FAILED and test.words is not None:
                step(f"Once more, alone: {test.suite}: {test.name}")
                second = self.tests(suite, test.words)
                if not any(one.outcome is Outcome.FAILED for one in second):
                    test = replace(test, outcome=Outcome.FLAKY)
            tests.append(test)
        return replace(ran, tests=tests)

    def conclude(self, done: Sequence[Ran]) -> int:
        step("The slowest tests")
        for ran in done:
            for line in report.slowest(ran):
                print(line)
        step("Result")
        for ran in done:
            print(ran.line())
        print("\n".join(report.closing(done)), flush=True)
        report.remember(FAILED, done)
        bad = {Outcome.FAILED, Outcome.FLAKY} if self.request.is_nightly else {Outcome.FAILED}
        return int(any(test.outcome in bad for ran in done for test in ran.tests))


def main() -> int:
    # As with Ctrl-C: the processes end, and the directory is removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    request = parse(sys.argv[1:])
    directory = Path(tempfile.mkdtemp(prefix="ratoon-tests-"))
    runner = Runner(request, directory)
    try:
        return runner.run()
    except KeyboardInterrupt:
        return 130
    finally:
        processes.left_behind(runner.mark(""))
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
