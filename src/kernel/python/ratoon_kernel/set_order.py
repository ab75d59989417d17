"""Keeps the order of sets when they are loaded.

The order of a set is that of the entries in its hash table. An item takes the first unused entry of
those that are tried for its hash. So the order depends on the size of the table, on the order in
which the items were added, and on items that were removed since. pickle adds the items in the
order of their entries, to a table that grows meanwhile, and so most sets would get another order.

Sets have worked like this since CPython 3.7 (`Objects/setobject.c`). If a later version differs,
`recipe` finds nothing, and the items are added as pickle does.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice, takewhile
from typing import Any

# How to make a set: the arguments of `make_set`.
Recipe = tuple[list[Any], list[Any], list[int]]

# The order of a larger set is not kept, because finding a recipe takes 10 µs for each item.
MAX_ITEMS = 20_000
# Types whose hashes are the same in the process that loads them.
_SAME_HASH = {str, bytes, int, float, bool, complex}
# The number of entries in a table that is a part of the set itself.
_SMALL = 8
# A set tries an entry and this many of its neighbours, and then those of another entry.
_NEIGHBOURS = 9
# How many of these ranges of entries are considered for each item: few, and then more.
_RANGES = (1, 2, 4, 8)


def recipe(value: set[Any]) -> Recipe | None:
    """Returns how to make a set of the same items in the same order. Returns None if pickle makes
    it, or if no way is found."""
    items = list(value) if len(value) <= MAX_ITEMS else []
    if not _have_same_hashes(items) or _are_in_order(set(items), items):
        return None
    size = _table_size(value)
    for count in _RANGES:
        found = _recipe(items, size, count)
        if found is not None and _are_in_order(make_set(*found), items):
            return found
    return None


def make_set(first: Sequence[Any], rest: Sequence[Any], unused: Sequence[int]) -> set[Any]:
    """Makes a set whose table has the size for `first` and `unused`, and adds `rest` to it.
    `unused`: entries that no item may take.

    Checkpoints refer to this function. Do not move or rename it."""
    others = {_AtEntry(at) for at in unused}
    made: set[Any] = set()
    # If a set is added to an empty one, the new table has two to four entries for each item.
    made.update({*first, *others})
    made.update(rest)
    made.difference_update(others)
    return made


class _AtEntry:
    """An object that takes one entry of a table."""

    def __init__(self, at: int) -> None:
        self.at = at

    def __hash__(self) -> int:
        return self.at


def _table_size(value: set[Any]) -> int:
    beside = sys.getsizeof(value) - sys.getsizeof(set())
    # An entry is a pointer and a hash.
    return beside // 16 or _SMALL


def _recipe(items: list[Any], size: int, count: int) -> Recipe | None:
    """`count`: how many ranges of entries are considered for each item."""
    tried = [list(islice(_tried(hash(item), size), count)) for item in items]
    entries = _ascending(tried)
    if entries is None:
        return None
    index = {entry: at for at, entry in enumerate(entries)}
    # The items that take the first entry tried do so in any order.
    first = [at for at, entry in enumerate(entries) if tried[at][0].start == entry]
    del first[max(0, size // 2 - 1) :]
    unused: dict[int, None] = {}
    added = set(first)
    rest: list[int] = []
    for at in range(len(items)):
        # An item is added after the items that take the entries tried before its own.
        waiting = [at]
        while waiting:
            if (at := waiting[-1]) in added:
                waiting.pop()
                continue
            before = list(takewhile(entries[at].__ne__, chain(*tried[at])))
            unused.update(dict.fromkeys(entry for entry in before if entry not in index))
            missing = [
                index[entry] for entry in before if entry in index and index[entry] not in added
            ]
            if not missing:
                rest.append(at)
                added.add(at)
            elif missing[0] in waiting:
                return None
            else:
                waiting.append(missing[0])
    if size > _SMALL:
        free = (at for at in range(size) if at not in index and at not in unused)
        least = max(size // 4, 5)
        unused.update(dict.fromkeys(islice(free, max(0, least - len(first) - len(unused)))))
    return [items[at] for at in first], [items[at] for at in rest], list(unused)


def _ascending(tried: list[list[range]]) -> list[int] | None:
    """Returns ascending numbers, one of each list, as near to the list's beginning as possible."""
    limits, limit = [], sys.maxsize
    for ranges in reversed(tried):
        limit = max((min(one.stop, limit) - 1 for one in ranges if one.start < limit), default=-1)
        if limit < 0:
            return None
        limits.append(limit)
    found, last = [], -1
    for ranges, limit in zip(tried, reversed(limits)):
        least = (max(one.start, last + 1) for one in ranges if one.stop > last + 1)
        last = next(at for at in least if at <= limit)
        found.append(last)
    return found


def _tried(number: int, size: int) -> Iterator[range]:
    """Yields the ranges of entries that are tried for a hash, in their order."""
    mask = size - 1
    at, rest = number & mask, number & (2**64 - 1)
    while True:
        yield range(at, at + 1 + (_NEIGHBOURS if at + _NEIGHBOURS <= mask else 0))
        rest >>= 5
        at = (at * 5 + 1 + rest) & mask


def _have_same_hashes(items: list[Any]) -> bool:
    kinds = set(map(type, items))
    if tuple in kinds:
        kinds.remove(tuple)
        kinds.update(type(part) for one in items if type(one) is tuple for part in one)
    return kinds <= _SAME_HASH


def _are_in_order(value: set[Any], items: list[Any]) -> bool:
    return all(map(operator.is_, value, items))
