"""Saves and restores the classes that pydantic makes of generic models, as `Response[int]`."""

from __future__ import annotations

import operator
from typing import Any

from ..adapter import Adapter, Reduced


def _reduce_model(kind: Any) -> Reduced:
    made_of = vars(kind).get("__pydantic_generic_metadata__", {})
    origin, arguments = made_of.get("origin"), made_of.get("args")
    if origin is None or not arguments:
        return NotImplemented
    # pydantic makes each of these classes once.
    return operator.getitem, (origin, arguments if len(arguments) > 1 else arguments[0])


class Pydantic(Adapter):
    library = "pydantic"
    reducers = {("pydantic._internal._model_construction", "ModelMetaclass"): _reduce_model}
