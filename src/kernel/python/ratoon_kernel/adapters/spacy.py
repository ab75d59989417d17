"""Saves and restores attributes that cells have added to spaCy's documents, tokens and spans."""

from __future__ import annotations

import sys
from typing import Any

from .. import rebuilding
from ..adapter import Adapter, Change

# spaCy's tables of these attributes, by the class that has them.
_TABLES = {"Doc": "doc_extensions", "Span": "span_extensions", "Token": "token_extensions"}


def _extensions() -> dict[str, tuple[Any, ...]]:
    """Returns the added attributes, by an expression for each."""
    underscore = getattr(sys.modules.get("spacy.tokens.underscore"), "Underscore", None)
    return {
        f"spacy.tokens.{kind}.set_extension({name!r})": (table, name, parts)
        for kind, table in _TABLES.items()
        for name, parts in getattr(underscore, table, {}).items()
    }


def _restore_extension(table: str, name: str, parts: tuple[Any, ...]) -> None:
    module: Any = rebuilding.import_module("spacy.tokens.underscore")
    getattr(module.Underscore, table)[name] = parts


class Spacy(Adapter):
    library = "spacy"
    changes = {"extension": Change(_extensions, _restore_extension)}
