"""Adapters: each contains what the kernel knows about one library, and is found by the names of the
library's classes.

An adapter defines how objects of its library are pickled, written as plain values, fingerprinted
and summarised, and which of the library's settings belong to a state. It does not import the
library to handle its objects, because they exist only if the library is loaded.
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

# A class: its module and its qualified name.
ClassName = tuple[str, str]
# A result of `__reduce_ex__`; NotImplemented leaves the object to pickle.
Reduced = Any
Reduce = Callable[[Any], Reduced]
# The columns of a frame: the fingerprint of each, if known, and whether it was sampled.
Columns = list[dict[str, Any]]


class Unknown(Exception):
    """A value without a fingerprint: its type is not known, or it is too large."""


class Setting(NamedTuple):
    """One setting of a library. `collect` returns None if the setting has its default value."""

    collect: Callable[[], Any]
    restore: Callable[[Any], None]


class Change(NamedTuple):
    """Objects of a library that cells changed. `collect` returns the parts of the change, each by
    its expression; `restore` takes the items of one part."""

    collect: Callable[[], Mapping[str, tuple[Any, ...]]]
    restore: Callable[..., None]


class Adapter:
    """Handles one library. The defaults of this class handle nothing."""

    # The library's top-level package.
    library: str = ""

    # -- environment form: pickling --

    # Reducers of exactly these classes.
    reducers: Mapping[ClassName, Reduce] = {}
    # Reducers of these classes and of their subclasses that do not define their own reduction.
    families: Mapping[ClassName, Reduce] = {}
    # Reducers of classes of Python itself.
    types: Mapping[type, Callable[[Reducers, Any], Reduced]] = {}

    def reducer(self, pickler: Reducers, kind: type) -> Reduce | None:
        """The reducer of a class that the tables above do not contain. Called once for each class
        and pickler."""
        return None

    # -- data form --

    # Readers of the values that `encode` marks with these numbers.
    decoders: Mapping[int, Callable[[Decoder, int], Any]] = {}

    def encode(self, encoder: Encoder, value: Any, depth: int) -> bool:
        """Writes a value. Returns False if it is not plain."""
        return False

    # -- fingerprint and summary --

    # Whether `repr` of the library's objects runs no user code.
    has_own_repr = False

    def fingerprint(self, reader: Reader, value: Any, depth: int) -> bool:
        """Feeds a value to the reader. Returns False to have it read as an object of an unknown
        class."""
        return False

    def size_in_bytes(self, value: Any) -> int | None:
        """How much memory a value takes, if that is cheap to find."""
        return None

    def summary(self, value: Any, columns: Columns, deadline: float) -> dict[str, Any] | None:
        """The page's summary of an array or a frame (protocol.js)."""
        return None

    # -- settings and changes --

    settings: Mapping[str, Setting] = {}
    changes: Mapping[str, Change] = {}

    def note_root(self) -> None:
        """Records in the root, before any cell, the state against which changes are found."""


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
        """The adapter of the library that a class says it belongs to, if that library is loaded."""
        top = module_of(kind).split(".")[0]
        return self._by_library.get(top) if top in sys.modules else None

    def of_known_class(self, kind: type) -> Adapter | None:
        """Like `of_class`, but only if the library or the class's module contains this class. Runs
        no user code."""
        adapter = self.of_class(kind)
        if adapter is None:
            return None
        places = (sys.modules[adapter.library], sys.modules.get(module_of(kind)))
        name = name_of(kind)
        known = any(vars(place).get(name) is kind for place in places if place is not None)
        return adapter if known else None

    def reducer(self, pickler: Reducers, kind: type) -> Reduce | None:
        """The reducer that the adapter of a loaded library returns for a class."""
        for adapter in self._loaded():
            reduce = adapter.reducer(pickler, kind)
            if reduce is not None:
                return reduce
        return None

    def reducer_of_class(self, kind: type) -> Reduce | None:
        """The entry of exactly this class in `reducers`."""
        return self._reducers.get((kind.__module__, kind.__qualname__))

    def reducers_of_families(self, kind: type) -> Iterator[tuple[type, Reduce]]:
        """The entries in `families` of a class and its superclasses, the nearest first."""
        for base in kind.__mro__:
            reduce = self._families.get((base.__module__, base.__qualname__))
            if reduce is not None:
                yield base, reduce

    def _loaded(self) -> Iterator[Adapter]:
        return (adapter for adapter in self.adapters if adapter.library in sys.modules)


registry = Registry()
