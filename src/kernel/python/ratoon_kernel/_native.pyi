"""What the Rust program provides to this package (package.rs)."""

from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import Buffer

class Before:
    """The names of a namespace and the addresses of their objects at one moment."""

    def changes(self, namespace: dict[str, object]) -> tuple[list[str], list[str], list[str]]:
        """Returns the names that are new, those that refer to another object, and those that are
        gone."""

class Contents:
    """What dictionaries and lists hold at one moment."""

    def __init__(
        self,
        containers: Sequence[dict[Any, Any] | list[Any]],
        entries: Sequence[tuple[dict[Any, Any], Any]],
    ) -> None:
        """`entries`: dictionaries, each with the one key that matters."""

    def are_same(self) -> bool:
        """Whether all of it is as it was. Touches none of the objects."""

class PickleWatch:
    """Calls a function for each float that is not a number, and for each set. Knows the ids of
    objects that are written by name."""

    def __init__(self, found: Callable[[Any], Any], named: list[tuple[Any, Any]]) -> None: ...
    def persistent_id(self, value: object) -> Any:
        """`Pickler.persistent_id`: what the function returns or the id of a named object, and None
        for all other objects."""

class SharedNumber:
    """A number that this process shares with its forks and its ancestors. It begins with 0."""

    def __init__(self) -> None: ...
    def get(self) -> int: ...
    def replace(self, old: int, new: int) -> bool:
        """Sets the number to `new` if it is `old`. Returns whether it was."""

def digest(memory: Buffer) -> str:
    """The BLAKE3 digest of some memory, in hexadecimal digits."""

def note(namespace: dict[str, object]) -> Before:
    """Records a namespace without touching its objects."""
