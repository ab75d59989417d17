"""Saves and restores objects that a library can only write to a file and read from a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any


def written(write: Callable[[str], object]) -> bytes:
    """Calls `write` with a file path and returns the bytes of the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kept.bin")
        write(path)
        with open(path, "rb") as file:
            return file.read()


def read(kept: bytes, read: Callable[[str], Any]) -> Any:
    """Writes bytes to a file and returns the result of calling `read` with the file's path."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kept.bin")
        with open(path, "wb") as file:
            file.write(kept)
        return read(path)
