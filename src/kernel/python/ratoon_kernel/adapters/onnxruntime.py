"""Saves and restores sessions of ONNX Runtime: their model and their options."""

from __future__ import annotations

from typing import Any

from ..adapter import Adapter, Reduced
from . import pools


def _reduce_session(value: Any) -> Reduced:
    model = value._model_bytes if value._model_bytes is not None else value._model_path
    providers = value.get_providers()
    options = [value.get_provider_options().get(one, {}) for one in providers]
    arguments = (model, value._sess_options_initial, providers, options)
    return pools.make_later, (type(value), arguments)


def _reduce_options(value: Any) -> Reduced:
    kind = type(value)
    options = {name: getattr(value, name) for name in dir(kind) if _is_option(kind, name)}
    return make_session_options, (kind, options)


def _is_option(kind: type, name: str) -> bool:
    one = vars(kind).get(name)
    return isinstance(one, property) and one.fset is not None


def make_session_options(kind: type, options: dict[str, Any]) -> Any:
    # Checkpoints refer to this function by module and name: do not move or rename it.
    made = kind()
    for name, one in options.items():
        setattr(made, name, one)
    return made


class Onnxruntime(Adapter):
    library = "onnxruntime"
    reducers = {
        (
            "onnxruntime.capi.onnxruntime_inference_collection",
            "InferenceSession",
        ): _reduce_session,
        ("onnxruntime.capi.onnxruntime_pybind11_state", "SessionOptions"): _reduce_options,
    }
