"""How objects of one library are taken apart and made again, and what cells changed in it.

Classes are known by name, so no library is imported for its adapter.
"""

from . import changes, databases, learning, locks, logs, observers, pools, web

__all__ = ["changes", "databases", "learning", "locks", "logs", "observers", "pools", "web"]
