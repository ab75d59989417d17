"""Saves and restores data sets of LightGBM."""

from __future__ import annotations

import os
from typing import Any

from .. import rebuilding
from ..adapter import Adapter, Reduced
from . import by_file


def _reduce_data_set(value: Any) -> Reduced:
    state = dict(vars(value))
    is_made, source = state.get("_handle") is not None, state.get("data")
    if not is_made or (source is not None and not isinstance(source, (str, os.PathLike))):
        # The data set still has its source data, so it can be made again from the source data.
        kept = {**state, "_handle": None}
        return make_data_set, (type(value), None, None), (kept, is_made), None, None, set_data_set
    data = by_file.written(value.save_binary)
    del state["_handle"]
    arguments = (type(value), data, state["params"])
    return make_data_set, arguments, state, None, None, rebuilding.set_dict


# Checkpoints refer to these two functions by module and name: do not move or rename them.


def make_data_set(kind: Any, kept: bytes | None, params: Any) -> Any:
    if kept is None:
        return kind.__new__(kind)
    return by_file.read(kept, lambda path: kind(path, params=params).construct())


def set_data_set(made: Any, kept: tuple[dict[str, Any], bool]) -> None:
    state, is_made = kept
    vars(made).update(state)
    if is_made:
        made.construct()


class Lightgbm(Adapter):
    library = "lightgbm"
    reducers = {("lightgbm.basic", "Dataset"): _reduce_data_set}
