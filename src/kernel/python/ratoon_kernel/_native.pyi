"""What the Rust program provides to this package (package.rs)."""

from typing_extensions import Buffer

class Before:
    """The names of a namespace and the addresses of their objects at one moment."""

    def changes(self, namespace: dict[str, object]) -> tuple[list[str], list[str], list[str]]:
        """Returns the names that are new, those that refer to another object, and those that are
        gone."""

def digest(memory: Buffer) -> str:
    """The BLAKE3 digest of some memory, in hexadecimal digits."""

def note(namespace: dict[str, object]) -> Before:
    """Records a namespace without touching its objects."""
