"""The programs that run tests: libtest, Node, pytest, and commands that are one test each.

`run` runs the tests of one suite that the words after `tests/run SUITE --` choose. The words of a
`Test` choose just this test.
"""

import json
import os
import re
import tempfile
import time
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from string import Template
from typing import Protocol

import processes
from results import Outcome, Test

Environment = dict[str, str]
Words = Sequence[str]
# Shows a line to the user.
Write = Callable[[str], None]

# Programs of the tests' environment: `[*PYTHON, "mypy"]`. `-P`: not from the checkout.
PYTHON = ["$RATOON_TEST_PYTHON", "-P", "-m"]
# The tests themselves read these two. With the first they try everything.
IN_FULL = "RATOON_TEST_ALL"
# The user has chosen tests: also those run that otherwise run in `nightly` only.
CHOSEN = "RATOON_TEST_CHOSEN"
# So begins the reason why such a test of libtest is ignored.
NIGHTLY = "nightly: "
# Ends a process of Node's tests that hangs.
LIMITED = ["timeout", "--kill-after=10", "1800"]


class Program(Protocol):
    """What runs the tests of a suite."""

    def run(self, words: Words, env: Environment, write: Write) -> list[Test]:
        """Runs the tests that the words choose; without words, all."""


def follow(command: Sequence[str], env: Environment, on_line: Write) -> int:
    """Runs a command, and calls `on_line` with each line that it writes. Returns its exit code.
    `$NAME` as the program is a variable of the environment."""
    process = processes.start([Template(command[0]).safe_substitute(env), *command[1:]], env)
    assert process.stdout is not None
    for line in process.stdout:
        on_line(line.decode(errors="replace").rstrip("\n"))
    return process.wait()


def show(command: Sequence[str], env: Environment, write: Write) -> tuple[int, list[str]]:
    """Runs a command and shows what it writes. Returns its exit code and the lines."""
    lines: list[str] = []

    def on_line(line: str) -> None:
        lines.append(line)
        write(line)

    return follow(command, env, on_line), lines


def first_error(lines: Sequence[str], code: int) -> str:
    """The line that says best why a program ended with this exit code."""
    for line in lines:
        if re.search(r"^error\b|^FAIL|^E  |✖|Error:| error: ", line):
            return line.strip()
    last = next((line for line in reversed(lines) if line.strip()), "")
    return last.strip() or f"it ended with {code}, without a message"


@dataclass(frozen=True)
class Command:
    """A command that is one test: it passes if it exits with 0. It gets the words."""

    suite: str
    name: str
    command: Sequence[str]

    def run(self, words: Words, env: Environment, write: Write) -> list[Test]:
        began = time.monotonic()
        code, lines = show([*self.command, *words], env, write)
        seconds = time.monotonic() - began
        if code == 0:
            return [Test(self.suite, self.name, Outcome.PASSED, seconds, words=tuple(words))]
        error = first_error(lines, code)
        return [Test(self.suite, self.name, Outcome.FAILED, seconds, error, tuple(words))]


@dataclass(frozen=True)
class Checks:
    """Several commands and perhaps another program. A word that is the name of a command chooses it;
    all other words are for the program."""

    suite: str
    commands: Mapping[str, Sequence[str]]
    program: Program | None = None

    def run(self, words: Words, env: Environment, write: Write) -> list[Test]:
        named = [word for word in words if word in self.commands]
        others = [word for word in words if word not in self.commands]
        tests: list[Test] = []
        for name in named if words else self.commands:
            write(f"-- {name}")
            ran = Command(self.suite, name, self.commands[name]).run((), env, write)
            tests += [replace(test, words=(name,)) for test in ran]
        if self.program and (others or not words):
            tests += self.program.run(others, env, write)
        elif others:
            raise SystemExit(
                f"tests/run: {self.suite} has no {others[0]!r}: {', '.join(self.commands)}"
            )
        return tests


@dataclass(frozen=True)
class Libtest:
    """Rust's test executables. Words are parts of names; the whole name chooses one test."""

    suite: str
    # Called when the suite begins: the executables are built before.
    executables: Callable[[], list[Path]]
    threads: int

    def run(self, words: Words, env: Environment, write: Write) -> list[Test]:
        # Without it, libtest of a stable Rust has neither JSON nor times.
        env = {**env, "RUSTC_BOOTSTRAP": "1"}
        options = ["-Zunstable-options", "--format=json", "--report-time"]
        options.append(f"--test-threads={self.threads}")
        tests: list[Test] = []
        for executable in self.executables():
            ran = self._run([str(executable), *options, *words], env, write)
            later = [test.name for test in ran if test.error.startswith(NIGHTLY)]
            if later and (IN_FULL in env or CHOSEN in env):
                ran = [test for test in ran if test.name not in later]
                chosen = ["--exact", "--ignored", *later]
                ran += self._run([str(executable), *options, *chosen], env, write)
            tests += ran
        return tests

    def _run(self, command: Sequence[str], env: Environment, write: Write) -> list[Test]:
        tests: list[Test] = []
        running: set[str] = set()
        is_over = False

        def on_line(line: str) -> None:
            nonlocal is_over
            try:
                event = json.loads(line)
                kind, what = event["type"], event["event"]
            except (ValueError, TypeError, KeyError):
                return write(line)
            if kind == "suite":
                is_over = what in ("ok", "failed")
            elif kind == "test" and what == "started":
                running.add(event["name"])
            elif kind == "test" and what in ("ok", "failed", "ignored"):
                running.discard(event["name"])
                tests.append(self._ended(event, write))
            return None

        code = follow(command, env, on_line)
        if not is_over:
            why = f"the test program ended with {code} while these tests ran: {', '.join(sorted(running))}"
            tests.append(Test(self.suite, "the test program", Outcome.FAILED, 0.0, why))
        return tests

    def _ended(self, event: dict[str, object], write: Write) -> Test:
        name, seconds = str(event["name"]), float(str(event.get("exec_time", 0)))
        outcome = {"ok": Outcome.PASSED, "failed": Outcome.FAILED}.get(
            str(event["event"]), Outcome.SKIPPED
        )
        error = ""
        write(f"{outcome:7} {seconds:6.1f} s  {name}")
        if outcome is Outcome.FAILED:
            said = str(event.get("stdout") or event.get("message") or "")
            write(said)
            panic = re.search(r"panicked at (.*):\n(.*)", said)
            error = f"{panic[1]}: {panic[2]}" if panic else said.strip().partition("\n")[0]
        elif outcome is Outcome.SKIPPED:
            error = str(event.get("message", ""))
        return Test(self.suite, name, outcome, seconds, error, (name,))


@dataclass(frozen=True)
class InPythons:
    """The same tests in several Pythons, each the first on `$PATH`."""

    program: Program
    # The version of each Python, from the oldest, and the directory of its program. Called when the
    # suite begins.
    pythons: Callable[[], dict[str, Path]]
    # What runs without words in each of them, from the newest. If it is empty, all tests run.
    default: Iterable[Words]

    def run(self, words: Words, env: Environment, write: Write) -> list[Test]:
        tests: list[Test] = []
        for (version, directory), default in zip(reversed(self.pythons().items()), self.default):
            write(f"-- Python {version}")
            path = {"PATH": f"{directory}:{env['PATH']}"}
            ran = self.program.run(words or default, {**env, **path}, write)
            tests += [replace(test, name=f"{version} {test.name}") for test in ran]
        return tests


@dataclass(frozen=True)
class Node:
    """Files of Node's test runner. A word is a file, or a regular expression for titles."""

    suite: str
    directory: str
    # How many processes run at the same time.
    processes: int
    # A script that runs several files in one process. Without it each file has its own.
    together: str | None = None

    def run(self, words: Words, env: Environment, write: Write) -> list[Test]:
        files = [self._file(word) for word in words if word.endswith(".mjs")]
        files = files or sorted(map(str, Path(self.directory).glob("*.test.mjs")))
        patterns = [f"--test-name-pattern={word}" for word in words if not word.endswith(".mjs")]
        # The large files first, so that none of them runs alone at the end.
        files.sort(key=lambda file: -os.path.getsize(file))
        # Node's patterns skip suites, which the files of one process are.
        if self.together is None or patterns:
            commands = [[file] for file in files]
        else:
            commands = [[self.together, *group] for group in groups(files, 2 * self.processes)]
        calls = [partial(self._run, [*patterns, *one], env, write) for one in commands]
        ran = processes.side_by_side(self.processes, calls, env[processes.MARK])
        return [test for tests in ran for test in tests]

    def _file(self, word: str) -> str:
        """The path of a file that may be named without its directory."""
        for path in (word, f"{self.directory}/{word}"):
            if os.path.isfile(path):
                return path
        raise SystemExit(
            f"\ntests/run: there is no file {word!r}\n  {self.directory} has the tests"
        )

    def _run(self, arguments: Sequence[str], env: Environment, write: Write) -> list[Test]:
        """Runs a process. What it writes is shown when it has ended."""
        file = arguments[-1]
        with tempfile.NamedTemporaryFile("r", dir=env["TMPDIR"], suffix=".jsonl") as found:
            reporters = ["--test-reporter=spec", "--test-reporter-destination=stdout"]
            reporters += ["--test-reporter=./tests/runner/reporter.mjs"]
            reporters += [f"--test-reporter-destination={found.name}"]
            lines: list[str] = []
            command = [*LIMITED, "node", *reporters, *arguments]
            code = follow(command, env, lines.append)
            tests = [self._test({"file": file, **json.loads(line)}) for line in found]
        write("\n".join([f"-- {' '.join(arguments)}", *lines]))
        if code != 0 and not any(test.outcome is Outcome.FAILED for test in tests):
            error = first_error(lines, code)
            tests.append(Test(self.suite, file, Outcome.FAILED, 0.0, error, (file,)))
        return tests

    def _test(self, found: dict[str, object]) -> Test:
        name, file = str(found["name"]), str(found["file"])
        outcome = Outcome.PASSED if found["isPassed"] else Outcome.FAILED
        if found["isSkipped"]:
            outcome = Outcome.SKIPPED
        error = str(found["error"]).strip().partition("\n")[0]
        words = (file,) if name == file else (file, f"^{escaped(name)}$")
        return Test(self.suite, name, outcome, float(str(found["seconds"])), error, words)


def groups(files: Sequence[str], count: int) -> list[list[str]]:
    """Divides files into groups of about the same size."""
    made: list[list[str]] = [[] for _ in range(min(count, len(files)))]
    for file in files:
        min(made, key=lambda group: sum(map(os.path.getsize, group))).append(file)
    return made


def escaped(title: str) -> str:
    """A regular expression of JavaScript for this text."""
    return re.sub(r"[\\^$.*+?()[\]{}|/]", r"\\\g<0>", title)


@dataclass(frozen=True)
class Pytest:
    """Tests of pytest. A word is the id of a test (`FILE::NAME`) or a part of a name (`-k`)."""

    suite: str
    directories: Sequence[str]

    def run(self, words: Words, env: Environment, write: Write) -> list[Test]:
        ids = [word for word in words if "::" in word] or self.directories
        parts = " or ".join(word for word in words if "::" not in word)
        with tempfile.NamedTemporaryFile("r", dir=env["TMPDIR"], suffix=".xml") as found:
            options = [f"--junitxml={found.name}", "--override-ini=junit_family=xunit1"]
            chosen = ["-k", parts] if parts else []
            code, lines = show([*PYTHON, "pytest", "--quiet", *options, *chosen, *ids], env, write)
            tests = self._tests(found.read())
        if code != 0 and not any(test.outcome is Outcome.FAILED for test in tests):
            error = first_error(lines, code)
            tests.append(Test(self.suite, "the test program", Outcome.FAILED, 0.0, error))
        return tests

    def _tests(self, found: str) -> list[Test]:
        cases = xml.fromstring(found).iter("testcase") if found.strip() else []
        return [self._test(case) for case in cases]

    def _test(self, case: xml.Element) -> Test:
        name, file = case.get("name", ""), case.get("file", "")
        bad = next((part for part in case if part.tag in ("failure", "error")), None)
        outcome = Outcome.PASSED if bad is None else Outcome.FAILED
        if case.find("skipped") is not None:
            outcome = Outcome.SKIPPED
        error = "" if bad is None else bad.get("message", "").partition("\n")[0]
        seconds = float(case.get("time", "0"))
        return Test(self.suite, name, outcome, seconds, error, (f"{file}::{name}",))
