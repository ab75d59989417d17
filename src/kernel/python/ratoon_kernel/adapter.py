"""What the kernel knows of a library: one adapter for each, found by the names of its classes.

An adapter owns how objects of its library are pickled, written as plain values, fingerprinted and
summarised, and which of the library's settings belong to a state. Nothing imports a library for its
adapter: an adapter is asked about objects that exist, and about libraries that are loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .classes import module_of, name_of

if TYPE_CHECKING:
    from .data_decoder import Decoder
    from .data_encoder import Encoder
    from .fingerprint import Reader
    from .pickling import Reducers

# A class, as its module and its qualified name.
ClassName = tuple[str, str]
# What `__reduce_ex__` answers; NotImplemented leaves the object to pickle.
Reduced = Any
Reduce = Callable[[Any], Reduced]
# The columns of a frame: the fingerprint of each, if known, and whether it was sampled.
Columns = list[dict[str, Any]]


class Unknown(Exception):
    """A value without a fingerprint: its type is not known, or it is too large."""


class Setting(NamedTuple):
    """One setting of a library. `collect` answers None where it is the default."""

    collect: Callable[[], Any]
    restore: Callable[[Any], None]


class Change(NamedTuple):
    """Objects of a library that cells changed. `collect` answers parts by the expression that leads
    to each; `restore` takes the items of one part."""

    collect: Callable[[], Mapping[str, tuple[Any, ...]]]
    restore: Callable[..., None]


class Adapter:
    """Knows one library. The defaults know nothing of it."""

    # Its top-level package.
    library: str = ""

    # -- environment form: pickling --

    # Of exactly these classes.
    reducers: Mapping[ClassName, Reduce] = {}
    # Of these classes and of those below them that do not define how they are reduced.
    families: Mapping[ClassName, Reduce] = {}
    # Of classes that exist in any case.
    types: Mapping[type, Callable[[Reducers, Any], Reduced]] = {}

    def reducer(self, pickler: Reducers, kind: type) -> Reduce | None:
        """How objects of other classes are reduced. Asked once for each class and pickler."""
        return None

    # -- data form --

    # What reads the values that `encode` marks with these numbers.
    decoders: Mapping[int, Callable[[Decoder, int], Any]] = {}

    def encode(self, encoder: Encoder, value: Any, depth: int) -> bool:
        """Writes a value; false when it is no plain one."""
        return False

    # -- fingerprint and summary --

    # Whether `repr` of its objects runs no code of the user's.
    has_own_repr = False

    def fingerprint(self, reader: Reader, value: Any, depth: int) -> bool:
        """Feeds a value to the reader; false when it is to be read as an object of any class."""
        return False

    def size_in_bytes(self, value: Any) -> int | None:
        """How much memory a value takes, where the library tells that cheaply."""
        return None

    def summary(self, value: Any, columns: Columns, deadline: float) -> dict[str, Any] | None:
        """What the page shows of an array or a frame (protocol.js)."""
        return None

    # -- settings and changes --

    settings: Mapping[str, Setting] = {}
    changes: Mapping[str, Change] = {}

    def note_root(self) -> None:
        """Notes in the root, before any cell, what changes are told against."""


class Registry:
    """All adapters."""

    def __init__(self) -> None:
        self.adapters: list[Adapter] = []
        self.types: dict[type, Callable[[Reducers, Any], Reduced]] = {}
        self.decoders: dict[int, Callable[[Decoder, int], Any]] = {}
        self.settings: dict[str, Setting] = {}
        self.changes: dict[str, Change] = {}
        self._by_library: dict[str, Adapter] = {}
        self._reducers: dict[ClassName, Reduce] = {}
        self._families: dict[ClassName, Reduce] = {}

    def add(self, adapter: Adapter) -> None:
        self.adapters.append(adapter)
        self._by_library[adapter.library] = adapter
        self._reducers.update(adapter.reducers)
        self._families.update(adapter.families)
        self.types.update(adapter.types)
        self.decoders.update(adapter.decoders)
        self.settings.update(adapter.settings)
        self.changes.update(adapter.changes)

    def of_class(self, kind: type) -> Adapter | None:
        """The adapter of the library that a class says it is of, if that library is loaded."""
        top = module_of(kind).split(".")[0]
        return self._by_library.get(top) if top in sys.modules else None

    def of_known_class(self, kind: type) -> Adapter | None:
        """The same, of a class that its library or its module has by its name. No code runs."""
        adapter = self.of_class(kind)
        if adapter is None:
            return None
        places = (sys.modules[adapter.library], sys.modules.get(module_of(kind)))
        name = name_of(kind)
        known = any(vars(place).get(name) is kind for place in places if place is not None)
        return adapter if known else None

    def reducer(self, pickler: Reducers, kind: type) -> Reduce | None:
        """What an adapter whose library is loaded says of a class."""
        for adapter in self._loaded():
            reduce = adapter.reducer(pickler, kind)
            if reduce is not None:
                return reduce
        return None

    def reducer_of_class(self, kind: type) -> Reduce | None:
        """What is registered for exactly this class."""
        return self._reducers.get((kind.__module__, kind.__qualname__))

    def reducers_of_families(self, kind: type) -> Iterator[tuple[type, Reduce]]:
        """What is registered for a class or one above it, the nearest first."""
        for base in kind.__mro__:
            reduce = self._families.get((base.__module__, base.__qualname__))
            if reduce is not None:
                yield base, reduce

    def _loaded(self) -> Iterator[Adapter]:
        return (adapter for adapter in self.adapters if adapter.library in sys.modules)


registry = Registry()
