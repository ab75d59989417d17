"""Saves and restores symbols of SQLAlchemy."""

from __future__ import annotations

import sys
from typing import Any

from ..adapter import Adapter, Reduced

_HELPERS = "sqlalchemy.util.langhelpers"


def _reduce_symbol(value: Any) -> Reduced:
    # Saved by name, because the number of a symbol is a hash that differs between processes.
    return make_symbol, (value.name,)


def make_symbol(name: str) -> Any:
    # Checkpoints refer to this function by module and name: do not move or rename it.
    symbol = sys.modules[_HELPERS].symbol
    return symbol.symbols.get(name) or symbol(name)


class Sqlalchemy(Adapter):
    library = "sqlalchemy"
    reducers = {(_HELPERS, "symbol"): _reduce_symbol}
    refused = {
        (
            "sqlalchemy.orm.decl_api",
            "registry",
        ): "SQLAlchemy's registry, which identifies mapped classes by their address"
    }
