"""The suites: what each runs, and what it needs."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import pythons
from prepare import Preparation
from programs import PYTHON, Checks, Command, InPythons, Libtest, Node, Program, Pytest

CORES = os.cpu_count() or 1

# What Python's linters check.
SOURCES = ["python", "src/kernel/python"]
SOURCES += [f"tests/{name}" for name in ("kernel", "client", "machines", "runner", "wheel")]

# What runs in the oldest Python, unless all tests run in all Pythons: what depends on how a Python
# was built.
IN_OLDEST = ["pythons::"]
# What runs in the newest: what depends on the version of Python, without the slowest.
IN_NEWEST = ["branches::", "checkpoints::", "interrupts::", "pythons::"]
IN_NEWEST += ["--skip=of_libraries", "--skip=numeric_libraries"]

LINTS = {
    "biome": ["node_modules/.bin/biome", "ci"],
    "clippy": ["cargo", "clippy", "--locked", "--all-targets", "--", "-D", "warnings"],
    "doc": ["cargo", "doc", "--locked", "--no-deps"],
}
PYTHON_LINTS = {
    "format": [*PYTHON, "ruff", "format", "--check", *SOURCES],
    "ruff": [*PYTHON, "ruff", "check", *SOURCES],
    "mypy": [*PYTHON, "mypy"],
}


@dataclass(frozen=True)
class Suite:
    """A suite of tests."""

    name: str
    title: str
    program: Program
    # What is installed or built before: methods of `Preparation`.
    needs: Sequence[Callable[[], None]] = ()
    # Whether `tests/run` runs it without arguments.
    is_default: bool = True
    # Whether it keeps about one core busy, so that others of this kind can run beside it.
    takes_one_core: bool = False


def all_suites(ready: Preparation, in_full: bool) -> list[Suite]:
    """All suites, in the order in which they run. With `in_full`, they try all where they try
    examples otherwise."""
    server, page = [ready.packages, ready.program], [ready.node, ready.chromium]
    tests = [ready.packages, ready.tests]

    def server_tests() -> list[Path]:
        return [path for path in ready.executables if path.name.startswith("it-")]

    # More than two tests per core: they wait for half of their time.
    rust = Libtest("rust", lambda: ready.executables, 5 * CORES // 2)
    in_pythons = InPythons(
        Libtest("pythons", server_tests, 3 * CORES),
        lambda: pythons.environments(ready, in_full),
        repeat([]) if in_full else [IN_NEWEST, IN_OLDEST],
    )
    soak = ["--minutes", "10"] if in_full else ["--seed", "7", "--runs", "150"]
    gallery = ["$RATOON_TEST_PYTHON", "tests/gallery/run.py"]

    def script(name: str, *command: str) -> Command:
        return Command(name, name, command or [f"tests/{name}/run"])

    return [
        Suite("lints", "Lints", Checks("lints", LINTS), [ready.node], takes_one_core=True),
        Suite(
            "kernel",
            "The kernel's Python, without a server, and the runner of the tests",
            Checks("kernel", PYTHON_LINTS, Pytest("kernel", ["tests/kernel", "tests/runner"])),
            [ready.packages],
            takes_one_core=True,
        ),
        Suite(
            "client",
            "The Python client, with a server",
            Pytest("client", ["tests/client"]),
            server,
            takes_one_core=True,
        ),
        Suite(
            "gallery",
            "Notebooks from scikit-learn's gallery",
            script("gallery", *gallery),
            server,
            is_default=False,
        ),
        Suite(
            "ancestor",
            "The same requests to snapshot-kernel",
            script("ancestor"),
            server,
            takes_one_core=True,
        ),
        Suite(
            "page",
            "The page, without a browser",
            Node("page", "tests/web", 1),
            [ready.node],
            takes_one_core=True,
        ),
        Suite(
            "soak", "A soak", script("soak", "tests/soak/run", *soak), server, takes_one_core=True
        ),
        Suite("rust", "The server and its kernel", rust, [*tests, ready.strace]),
        Suite("pythons", "The kernel in the other Pythons of this machine", in_pythons, tests),
        Suite(
            "browser",
            "The page, in Chromium",
            Node("browser", "tests/browser", 3 * CORES // 2, "tests/browser/together.mjs"),
            [*server, *page],
        ),
        Suite(
            "plainbook",
            "plainbook with snapshot-kernel and with Ratoon",
            script("plainbook", "tests/ancestor/run", "plainbook"),
            server,
            is_default=False,
        ),
        Suite("doors", "MCP and Jupyter", script("doors"), [*server, *page], is_default=False),
        Suite(
            "libraries",
            "Libraries in branches and after a restart",
            script("libraries"),
            server,
            is_default=False,
        ),
        Suite(
            "machines", "Several machines and a store", script("machines"), server, is_default=False
        ),
        Suite("wheel", "The wheel, in empty environments", script("wheel"), page, is_default=False),
    ]
