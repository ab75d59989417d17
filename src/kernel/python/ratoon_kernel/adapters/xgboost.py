"""Saves and restores data sets of XGBoost."""

from __future__ import annotations

from typing import Any

from ..adapter import Adapter, Reduced
from . import by_file


def _reduce_matrix(value: Any) -> Reduced:
    kept = by_file.written(value.save_binary)
    return make_matrix, (type(value), kept, value.feature_types, value.feature_names)


def make_matrix(kind: type, kept: bytes, types: Any, names: Any) -> Any:
    # Checkpoints refer to this function by module and name: do not move or rename it.
    made = by_file.read(kept, kind)
    made.feature_names, made.feature_types = names, types
    return made


class Xgboost(Adapter):
    library = "xgboost"
    reducers = {("xgboost.core", "DMatrix"): _reduce_matrix}
