"""Saves objects that their library can only write to a file and read from one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any


def written(write: Callable[[str], object]) -> bytes:
    """The bytes that a library writes to a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kept.bin")
        write(path)
        with open(path, "rb") as file:
            return file.read()


def read(kept: bytes, read: Callable[[str], Any]) -> Any:
    """The object that a library reads from a file of these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kept.bin")
        with open(path, "wb") as file:
            file.write(kept)
        return read(path)
