"""Tests of `%pip` and `%uv`."""

import importlib.util
import shutil
import sys

import pytest

from ratoon_kernel import packages, shell


@pytest.fixture
def commands(booted, monkeypatch):
    """The commands that the magics have run."""
    found = []
    monkeypatch.setattr(shell.shell, "system", found.append)
    packages.boot()
    return found


def machine(monkeypatch, installed=(), on_path=()):
    """Pretends that these packages are installed, and that these programs are on $PATH."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name in installed or None)
    monkeypatch.setattr(shutil, "which", lambda name: name if name in on_path else None)


def test_pip_is_used_where_it_is_installed(booted, commands, monkeypatch):
    machine(monkeypatch, ["pip"], ["uv"])
    booted.run_line_magic("pip", "install -U six")
    assert commands == [f"{sys.executable} -m pip install -U six"]


def test_without_pip_uv_installs_into_the_environment_of_the_notebook(
    booted, commands, monkeypatch
):
    machine(monkeypatch, [], ["uv"])
    booted.run_line_magic("pip", "install -U six")
    booted.run_line_magic("uv", "pip install six")
    machine(monkeypatch, ["uv"])
    booted.run_line_magic("uv", "sync")
    assert commands == [
        f"uv --no-progress pip install --python {sys.executable} -U six",
        "uv --no-progress pip install six",
        f"{sys.executable} -m uv --no-progress sync",
    ]


def test_without_both_the_cell_says_what_is_missing(booted, commands, monkeypatch, capsys):
    machine(monkeypatch)
    for magic, why in (("pip", "-m ensurepip"), ("uv", "nor on $PATH")):
        booted.run_cell(f"%{magic} install six")
        told = capsys.readouterr()
        assert why in told.out + told.err
    assert commands == []
