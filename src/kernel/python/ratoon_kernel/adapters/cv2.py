"""Ends OpenCV's threads before a fork."""

from __future__ import annotations

import sys
import threading

from ..adapter import Adapter


class Cv2(Adapter):
    library = "cv2"

    def end_threads(self) -> None:
        """Ends OpenCV's threads. OpenCV restarts them when it needs them. A thread that is falling
        asleep holds a lock, and this lock would stay locked in a branch (one fork in a hundred).
        Does nothing if there are other Python threads, because they may be using OpenCV."""
        if threading.active_count() > 1:
            return
        cv2 = sys.modules["cv2"]
        try:
            count = cv2.getNumThreads()
            if count > 1:
                cv2.setNumThreads(1)
                cv2.setNumThreads(count)
        except Exception:  # a different module that is also called cv2
            pass
