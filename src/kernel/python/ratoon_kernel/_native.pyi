"""What the program gives to its Python (package.rs)."""

from typing_extensions import Buffer

class Before:
    """The names of a namespace and the addresses of their objects at one moment."""

    def changes(self, namespace: dict[str, object]) -> tuple[list[str], list[str], list[str]]:
        """The names that are new, that mean another object, and that are gone."""

def digest(memory: Buffer) -> str:
    """The BLAKE3 digest of some memory, in hexadecimal digits."""

def note(namespace: dict[str, object]) -> Before:
    """Notes what a namespace holds, without touching its objects."""
