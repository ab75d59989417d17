"""Installs what the tests need, and builds the program. Everything is done once and kept.

Under `${XDG_CACHE_HOME:-~/.cache}/ratoon-tests` are a Python environment and what some suites
download; in the checkout are `target/` and `node_modules/`.
"""

import filecmp
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ratoon-tests"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or "target").absolute()
NETWORK = "see the lines above; the network is needed once"


def stop(why: str, how: str) -> NoReturn:
    """Ends the run: says what is wrong, and what to do about it."""
    raise SystemExit(f"\ntests/run: {why}\n  {how}")


def say(line: str) -> None:
    print(line, flush=True)


def step(text: str, write: Callable[[str], None] = say) -> None:
    write(f"\n== {text}")


def succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, stdin=subprocess.DEVNULL).returncode == 0


class Preparation:
    """What is installed and built for the suites of this run."""

    def __init__(self, python: str, directory: Path, environment: dict[str, str]) -> None:
        # The Python that a user of this machine would take; see `tests/python`.
        self.python = python
        # A temporary directory, which is removed at the end.
        self.directory = directory
        # What the suites' processes get.
        self.environment = environment
        # The executables of the tests, if a suite needs them.
        self.executables: list[Path] = []

    def packages(self) -> None:
        """A Python environment with the tests' packages."""
        wanted = Path("tests/requirements.txt").read_bytes() + f"{self.python}\n".encode()
        series = subprocess.check_output(
            [self.python, "-c", 'import sys; print("py%d%d" % sys.version_info[:2])'], text=True
        ).strip()
        venv = CACHE / f"{series}-{hashlib.sha256(wanted).hexdigest()[:12]}"
        if not (venv / "complete").exists():
            step(f"Installing the tests' Python packages into {venv} (once)")
            shutil.rmtree(venv, ignore_errors=True)
            if not succeeds([self.python, "-m", "venv", str(venv)]):
                stop("no environment could be made", "Debian: install python3-venv")
            install = [str(venv / "bin/python"), "-m", "pip", "install", "--quiet"]
            install += ["--only-binary", ":all:", "--requirement", "tests/requirements.txt"]
            if not succeeds(install):
                stop("the Python packages could not be installed", NETWORK)
            (venv / "complete").touch()
        self.environment["RATOON_TEST_PYTHON"] = str(venv / "bin/python")
        # A server of the tests uses this Python, and not a shim in front of it, which is slow.
        directory = os.path.dirname(self.python)
        self.environment["PATH"] = f"{directory}:{self.environment['PATH']}"

    def node(self) -> None:
        """The page's development packages."""
        if not (shutil.which("node") and shutil.which("npm")):
            stop("Node was not found", "install Node 20 or later with npm")
        stamp = Path("node_modules/.ratoon-lock")
        if stamp.exists() and filecmp.cmp("package-lock.json", stamp, shallow=False):
            return
        if Path("node_modules").is_symlink():
            how = f"remove the link, or run npm ci in that directory and copy package-lock.json to {stamp}"
            stop("node_modules is a link, and npm would empty the directory it names", how)
        step("Installing the page's test packages into node_modules (once)")
        if not succeeds(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]):
            stop("the page's test packages could not be installed", NETWORK)
        shutil.copy("package-lock.json", stamp)

    def chromium(self) -> None:
        """A browser. The headless shell is Chromium without windows, and needs half of its
        processor time."""
        own = os.environ.get("CHROMIUM")
        for package in ("chromium-headless-shell", "chromium"):
            if shutil.which(own or package) or apt_install(package):
                break
        names = (own or "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
        found = next(filter(None, map(shutil.which, names)), None)
        if found is None:
            how = "install it (Debian: apt-get install chromium-headless-shell), or set CHROMIUM to its path"
            stop("Chromium was not found", how)
        self.environment["CHROMIUM"] = found

    def strace(self) -> None:
        """Some tests kill the server at each of its writes with it. Without it they are skipped."""
        if not shutil.which("strace"):
            apt_install("strace")

    def program(self) -> None:
        """The program. It is there if its tests have been built."""
        if not self.executables:
            self._build()

    def tests(self) -> None:
        """The program and the executables of its tests, which compile side by side."""
        for artifact in self._build("--all-targets"):
            if artifact.get("executable") and artifact["profile"]["test"]:
                self.executables.append(Path(artifact["executable"]))
        # The unit tests before those with a server: they say more, and sooner.
        self.executables.sort(key=lambda path: path.name.startswith("it-"))

    def _build(self, *targets: str) -> list[dict[str, Any]]:
        if not shutil.which("cargo"):
            stop("cargo was not found", "install Rust")
        step("Building the program")
        command = [
            "cargo",
            "build",
            "--locked",
            *targets,
            "--message-format=json-render-diagnostics",
        ]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as build:
            assert build.stdout is not None
            messages = [json.loads(line) for line in build.stdout if line.startswith(b"{")]
        if build.returncode != 0:
            stop("the program does not build", "see the lines above")
        self.environment["RATOON_BIN"] = str(TARGET / "debug/ratoon")
        return [message for message in messages if message["reason"] == "compiler-artifact"]


def apt_install(package: str) -> bool:
    """Installs a package of Debian. Only root can."""
    if os.getuid() != 0 or not shutil.which("apt-get"):
        return False
    step(f"Installing {package} with apt-get (once)")
    install = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", package]
    for command in (["apt-get", "update", "--quiet"], install):
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode != 0:
            print(done.stdout.decode(errors="replace")[-2000:])
            return False
    return True
