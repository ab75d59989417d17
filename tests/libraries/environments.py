"""Creates a virtual environment for each requirements file. Environments are kept in the cache
directory, like those of tests/run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


# The requirements file of the environment that tests/run makes for the cells of all tests.
OF_ALL_TESTS = "../requirements.txt"


def python_of(requirements: str) -> str:
    """Returns the path of the Python in the environment of a requirements file. Creates the
    environment if it does not exist."""
    path = os.path.normpath(os.path.join(HERE, requirements))
    venv = place_of(path, requirements == OF_ALL_TESTS)
    python = os.path.join(venv, "bin", "python")
    if not os.path.exists(os.path.join(venv, "complete")):
        print(f"Installing what {path} names into {venv} (once)", file=sys.stderr, flush=True)
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        install = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--only-binary",
            ":all:",
            "--requirement",
            path,
        ]
        subprocess.run(install, check=True, stdout=sys.stderr)
        with open(os.path.join(venv, "complete"), "w"):
            pass
    return python


def place_of(path: str, is_of_all_tests: bool) -> str:
    """Returns the directory of an environment. tests/run computes the same directory."""
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read() + f"{sys.executable}\n".encode()).hexdigest()[:12]
    own = os.path.basename(path).removeprefix("requirements-").removesuffix(".txt")
    name = (
        f"py{sys.version_info[0]}{sys.version_info[1]}" if is_of_all_tests else f"libraries-{own}"
    )
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "ratoon-tests", f"{name}-{digest}")
