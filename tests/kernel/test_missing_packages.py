"""Tests of the script that asks an environment for its packages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "src/kernel/python/missing_packages.py"


@pytest.mark.parametrize(
    ("metadata", "told"),
    [("Name: ipython\nVersion: 7.1\n", ["too-old ipython 7.1 8"]), ("", []), ("\0", [])],
)
def test_a_version_that_cannot_be_read_is_no_reason_to_refuse(tmp_path, metadata, told):
    (tmp_path / "IPython").mkdir()
    (tmp_path / "IPython/__init__.py").touch()
    (tmp_path / "ipython-7.1.dist-info").mkdir()
    (tmp_path / "ipython-7.1.dist-info/METADATA").write_text(metadata)
    asked = subprocess.run(
        [sys.executable, "-c", SCRIPT.read_text()],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert asked.returncode == 0, asked.stderr
    lines = asked.stdout.splitlines()
    assert [line for line in lines if line.startswith("too-old")] == told


def test_a_finder_that_fails_finds_nothing(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'jedi': raise RuntimeError(name)\n"
        "sys.meta_path.insert(0, Finder)\n"
    )
    asked = subprocess.run(
        [sys.executable, "-c", SCRIPT.read_text()],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "missing jedi" in asked.stdout
