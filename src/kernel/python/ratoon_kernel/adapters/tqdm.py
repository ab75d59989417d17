"""Knows the lock of tqdm."""

from __future__ import annotations

import sys

from ..adapter import Adapter


class Tqdm(Adapter):
    library = "tqdm"

    def own_locks(self) -> int:
        """tqdm makes one lock when it is imported, and locks it only while it writes a line."""
        writing = getattr(sys.modules.get("tqdm.std"), "TqdmDefaultWriteLock", None)
        return 0 if getattr(writing, "mp_lock", None) is None else 1
