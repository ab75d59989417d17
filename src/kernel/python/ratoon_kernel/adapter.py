"""The base class of adapters, and their registry. Each adapter handles the objects of one library.

An adapter defines how objects of a library are pickled, written as plain values, fingerprinted and
summarised, which settings of the library belong to a state, and what a fork does to the library.
The registry finds an adapter by the module name of an object's class. Adapters need not import
their library, because its objects exist only if the library is already loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .classes import module_of, name_of

if TYPE_CHECKING:
    from .data_decoder import Decoder
    from .data_encoder import Encoder
    from .fingerprint import Reader
    from .pickling import Reducers

# The module and the qualified name of a class.
ClassName = tuple[str, str]
# A result of `__reduce_ex__`; NotImplemented leaves the object to pickle.
Reduced = Any
Reduce = Callable[[Any], Reduced]
# The columns of a frame: the fingerprint of each column, if known, and whether it was sampled.
Columns = list[dict[str, Any]]


class Unknown(Exception):
    """A value has no fingerprint, because its type is unknown or the value is too large."""


class Setting(NamedTuple):
    """One setting of a library. `collect` returns None if the setting has its default value."""

    collect: Callable[[], Any]
    restore: Callable[[Any], None]


class Change(NamedTuple):
    """A kind of change that cells make to objects of a library. `collect` returns the parts of each
    change by the change's expression. `restore` takes the parts of one change as arguments."""

    collect: Callable[[], Mapping[str, tuple[Any, ...]]]
    restore: Callable[..., None]


class Adapter:
    """Handles one library. Every part is optional: the defaults of this class handle nothing."""

    # The library's top-level package.
    library: str = ""

    # -- environment form: pickling --

    # Whether objects of the library lose nothing when they are pickled. Otherwise, those whose
    # class has its own pickling are compared after each checkpoint (round_trip.py).
    loses_nothing = False
    # Reducers of these classes, but not of their subclasses.
    reducers: Mapping[ClassName, Reduce] = {}
    # Reducers of these classes and of their subclasses that do not define their own reduction.
    families: Mapping[ClassName, Reduce] = {}
    # Reducers of classes of the standard library.
    types: Mapping[type, Callable[[Reducers, Any], Reduced]] = {}

    def reducer(self, pickler: Reducers, kind: type) -> Reduce | None:
        """Returns the reducer of a class that the tables above do not contain. Called once for each
        pair of class and pickler."""
        return None

    # What the objects of these classes and of their subclasses are, if they cannot be saved.
    refused: Mapping[ClassName, str] = {}

    # -- data form --

    # For each type number that `encode` writes: the function that reads such a value.
    decoders: Mapping[int, Callable[[Decoder, int], Any]] = {}

    def encode(self, encoder: Encoder, value: Any, depth: int) -> bool:
        """Writes a value to the encoder. Returns False if the value is not plain."""
        return False

    # -- fingerprint and summary --

    # Whether the `repr` of the library's objects runs no code of the user.
    has_own_repr = False

    def fingerprint(self, reader: Reader, value: Any, depth: int) -> bool:
        """Feeds a value to the reader. Returns False to let the reader treat the value as an object
        of an unknown class."""
        return False

    def size_in_bytes(self, value: Any) -> int | None:
        """Returns the memory of a value, or None if it cannot be found cheaply."""
        return None

    def summary(self, value: Any, columns: Columns, deadline: float) -> dict[str, Any] | None:
        """Returns the summary of an array or a frame that the page shows (protocol.js)."""
        return None

    # -- settings and changes --

    # Variables of the library's modules whose objects are pickled by name (named_objects.py): the
    # module and the name of each.
    named: tuple[tuple[str, str], ...] = ()
    settings: Mapping[str, Setting] = {}
    changes: Mapping[str, Change] = {}

    # -- forks --

    def hazard(self) -> str | None:
        """Returns a sentence if a process that has loaded the library must not be forked now."""
        return None

    def end_threads(self) -> None:
        """Ends native threads that the library starts again when it needs them. Called in the
        parent before a fork."""

    def own_locks(self) -> int:
        """Returns the number of locks between processes that need no warning."""
        return 0

    def after_fork(self) -> None:
        """Repairs what a fork by the kernel breaks. Called in the child, if the library is
        loaded."""

    def note_root(self) -> None:
        """Called in the root before any cell runs. Records the library's initial state, with which
        `changes` and `settings` compare."""


class Registry:
    """All adapters."""

    def __init__(self) -> None:
        self.adapters: list[Adapter] = []
        self.types: dict[type, Callable[[Reducers, Any], Reduced]] = {}
        self.decoders: dict[int, Callable[[Decoder, int], Any]] = {}
        self.settings: dict[str, Setting] = {}
        self.changes: dict[str, Change] = {}
        self.named: list[tuple[str, str]] = []
        self.refused: dict[ClassName, str] = {}
        # The adapters that define `hazard`, by their libraries.
        self.hazardous: dict[str, Adapter] = {}
        # The adapters that define these methods.
        self._threaded: list[Adapter] = []
        self._locking: list[Adapter] = []
        self._repairing: list[Adapter] = []
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
        self.named.extend(adapter.named)
        self.refused.update(adapter.refused)
        if type(adapter).hazard is not Adapter.hazard:
            self.hazardous[adapter.library] = adapter
        for method, those in (
            ("end_threads", self._threaded),
            ("own_locks", self._locking),
            ("after_fork", self._repairing),
        ):
            if getattr(type(adapter), method) is not getattr(Adapter, method):
                those.append(adapter)

    def of_class(self, kind: type) -> Adapter | None:
        """Returns the adapter for the top-level package in the class's module name, if the package
        is loaded."""
        top = module_of(kind).split(".")[0]
        return self._by_library.get(top) if top in sys.modules else None

    def of_known_class(self, kind: type) -> Adapter | None:
        """Like `of_class`, but checks that the library or the class's module really contains the
        class, because a user's class can have any module name. Runs no user code."""
        adapter = self.of_class(kind)
        if adapter is None:
            return None
        places = (sys.modules[adapter.library], sys.modules.get(module_of(kind)))
        name = name_of(kind)
        known = any(vars(place).get(name) is kind for place in places if place is not None)
        return adapter if known else None

    def reducer(self, pickler: Reducers, kind: type) -> Reduce | None:
        """Asks the adapters of loaded libraries for the reducer of a class."""
        for adapter in _loaded(self.adapters):
            reduce = adapter.reducer(pickler, kind)
            if reduce is not None:
                return reduce
        return None

    def reducer_of_class(self, kind: type) -> Reduce | None:
        """Returns the reducer of this class from the tables `reducers`."""
        return self._reducers.get((kind.__module__, kind.__qualname__))

    def reducers_of_families(self, kind: type) -> Iterator[tuple[type, Reduce]]:
        """Yields the reducers of a class and its superclasses from the tables `families`, the
        nearest class first."""
        for base in kind.__mro__:
            reduce = self._families.get((base.__module__, base.__qualname__))
            if reduce is not None:
                yield base, reduce

    def hazards(self) -> list[str]:
        """Returns why this process must not be forked, as sentences."""
        found = [adapter.hazard() for adapter in _loaded(self.hazardous.values())]
        return [sentence for sentence in found if sentence is not None]

    def end_threads(self) -> None:
        """Ends native threads that libraries start again when they need them."""
        for adapter in _loaded(self._threaded):
            adapter.end_threads()

    def own_locks(self) -> int:
        """Returns the number of locks between processes that need no warning."""
        return sum(adapter.own_locks() for adapter in _loaded(self._locking))

    def after_fork(self) -> None:
        """Repairs what a fork by the kernel breaks. Called in the child."""
        for adapter in _loaded(self._repairing):
            adapter.after_fork()


def _loaded(adapters: Iterable[Adapter]) -> Iterator[Adapter]:
    return (adapter for adapter in adapters if adapter.library in sys.modules)


registry = Registry()
