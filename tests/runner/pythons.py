"""The CPythons from 3.11 on that this machine has, beside the one of the other suites."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prepare import Preparation, stop

# Of pyenv, uv and the system.
PLACES = (
    (Path.home() / ".pyenv", "versions/*/bin/python3"),
    (Path.home() / ".local/share/uv/python", "*/bin/python3"),
    (Path("/usr/bin"), "python3"),
    (Path("/usr/bin"), "python3.1[1-9]"),
    (Path("/usr/local/bin"), "python3"),
    (Path("/usr/local/bin"), "python3.1[1-9]"),
)

# Prints the version, whether there is a shared libpython, and the real path. Fails for all but a
# CPython with a GIL from 3.11 on.
DESCRIBE = """
import os, sys
assert sys.implementation.name == "cpython" and sys.version_info >= (3, 11) and "t" not in sys.abiflags
kind = "with" if "/libpython3." in open("/proc/self/maps").read() else "without"
print("%d.%d.%d" % sys.version_info[:3], kind, os.path.realpath(sys.executable))
"""


@dataclass(frozen=True, order=True)
class Python:
    version: tuple[int, ...]
    has_shared_library: bool
    path: str

    @property
    def name(self) -> str:
        """As texts show it, for example `3.12.1` or `3.11.2-static`."""
        version = ".".join(map(str, self.version))
        return version if self.has_shared_library else f"{version}-static"


def described(python: str) -> Python | None:
    command = [python, "-c", DESCRIBE]
    asked = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if asked.returncode != 0:
        return None
    version, kind, path = asked.stdout.split(" ", 2)
    return Python(tuple(map(int, version.split("."))), kind == "with", path.strip())


def others(own: str) -> list[Python]:
    """All but the Python of the other suites, from the oldest to the newest."""
    places = [str(path) for directory, pattern in PLACES for path in directory.glob(pattern)]
    found = set(map(described, filter(None, [shutil.which("python3"), *places])))
    return sorted(python for python in found - {described(own)} if python)


def environments(prepared: Preparation, in_full: bool) -> dict[str, Path]:
    """A new environment of each Python, by its name: the directory of its programs.

    Without `in_full` these are the oldest and the newest: what works in both has worked in those
    between."""
    found = others(prepared.python)
    chosen: Sequence[Python] = found if in_full else found[:1] + found[1:][-1:]
    made = {}
    for python in chosen:
        venv = prepared.directory / f"python-{python.name}"
        if not venv.exists():
            command = [python.path, "-m", "venv", "--without-pip", str(venv)]
            if subprocess.run(command, stdin=subprocess.DEVNULL).returncode != 0:
                stop(
                    f"no environment of {python.path} could be made", "Debian: install python3-venv"
                )
        made[python.name] = venv / "bin"
    return made
