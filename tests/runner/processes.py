"""The processes of a run, also those that a suite has left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TypeVar

T = TypeVar("T")

# A server that several tests use ends a second after the last of them, and then its processes.
PATIENCE = 5.0

# Keeps a core busy until it is killed.
BUSY = "while True: pass"


# The variable that all processes of a suite have in their environment.
MARK = "RATOON_TEST_RUN"

# Held while a process starts.
starting = Lock()
# Whether the user has ended the run.
is_over = False


class Over(Exception):
    """The user has ended the run: no process starts."""


def start(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Starts a process of a suite. What it writes can be read from `stdout`."""
    with starting:
        if is_over:
            raise Over
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )


def end_all(mark: str) -> None:
    """Kills the processes with this mark, and lets no other start."""
    global is_over
    with starting:
        is_over = True
    while found := marked(mark):
        kill(found)
        time.sleep(0.05)


def side_by_side(count: int, calls: Sequence[Callable[[], T]], mark: str) -> list[T]:
    """Runs functions in this number of threads, and returns their results in order. If the user ends
    the run, ends the processes that they have started."""
    with ThreadPoolExecutor(count) as threads:
        running = [threads.submit(call) for call in calls]
        try:
            return [one.result() for one in running]
        except BaseException:
            end_all(mark)
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def marked(mark: str) -> dict[int, str]:
    """The processes with this mark, or with one that begins so, and their command lines."""
    found = {}
    mark = f"{MARK}={mark}"
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
    kill(found)
    return [f"{pid} {line[:300]}" for pid, line in found.items()]


def kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


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
