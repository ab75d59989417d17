"""The processes of a suite, also those that it has left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# A server that several tests use ends a second after the last of them, and then its processes.
PATIENCE = 5.0

# Keeps a core busy until it is killed.
BUSY = "while True: pass"


def mark(run: str, suite: str) -> str:
    """The variable that all processes of a suite have in their environment."""
    return f"RATOON_TEST_RUN={run}-{suite}"


def marked(mark: str) -> dict[int, str]:
    """The processes with this mark, or with one that begins so, and their command lines."""
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        # It may have ended, or belong to another user.
        with suppress(OSError):
            if f"\0{mark}" in "\0" + (directory / "environ").read_bytes().decode(errors="replace"):
                line = (directory / "cmdline").read_bytes().decode(errors="replace")
                found[int(directory.name)] = " ".join(line.replace("\0", " ").split())
    return found


def left_behind(mark: str) -> list[str]:
    """The processes with this mark that do not end. Kills them."""
    end = time.monotonic() + PATIENCE
    while (found := marked(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [f"{pid} {line[:300]}" for pid, line in found.items()]


def busy_seconds() -> float:
    """The processor time that this machine has used since its start."""
    user, nice, system = Path("/proc/stat").read_text().split(maxsplit=4)[1:4]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def busy_cores(count: int, environment: dict[str, str]) -> Iterator[None]:
    """Keeps this number of cores busy."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY], env=environment) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
