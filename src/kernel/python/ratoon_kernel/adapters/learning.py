"""Data sets, sessions and compiled functions of libraries for machine learning, in a checkpoint."""

import os
import tempfile

from .. import pickling
from . import pools


# -- XGBoost ----------------------------------------------------------------------------------------------------------


def _matrix(value):
    kept = _written(value.save_binary)
    types = value.feature_types, value.feature_names
    return make_matrix, (type(value), kept, *types)


def make_matrix(kind, kept, types, names):
    made = _read(kept, kind)
    made.feature_names, made.feature_types = names, types
    return made


# -- LightGBM ---------------------------------------------------------------------------------------------------------


def _data_set(value):
    state = dict(vars(value))
    is_made = state.get("_handle") is not None
    if not is_made or state.get("data") is not None and not isinstance(state["data"], (str, os.PathLike)):
        # It still has what it is made from.
        kept = {**state, "_handle": None}
        return make_data_set, (type(value), None, None), (kept, is_made), None, None, set_data_set
    kept = _written(value.save_binary)
    del state["_handle"]
    return make_data_set, (type(value), kept, state["params"]), state, None, None, pickling.set_dict


def make_data_set(kind, kept, params):
    if kept is None:
        return kind.__new__(kind)
    return _read(kept, lambda file: kind(file, params=params).construct())


def set_data_set(made, kept):
    state, is_made = kept
    vars(made).update(state)
    if is_made:
        made.construct()


# -- ONNX Runtime -----------------------------------------------------------------------------------------------------


def _session(value):
    model = value._model_bytes if value._model_bytes is not None else value._model_path
    providers = value.get_providers()
    settings = [value.get_provider_options().get(one, {}) for one in providers]
    return pools.make_later, (type(value), (model, value._sess_options_initial, providers, settings))


def _session_options(value):
    settings = {name: getattr(value, name) for name in dir(type(value)) if _is_setting(type(value), name)}
    return make_session_options, (type(value), settings)


def _is_setting(kind, name):
    return isinstance(vars(kind).get(name), property) and vars(kind)[name].fset is not None


def make_session_options(kind, settings):
    made = kind()
    for name, one in settings.items():
        setattr(made, name, one)
    return made


# -- numba ------------------------------------------------------------------------------------------------------------


def _compiled(files, value):
    files.add(value.py_func.__code__.co_filename)
    reduced = value.__reduce__()
    if value._cache.cache_path is None:
        return reduced
    # numba itself forgets that its compiled code is to be kept on disk (`cache=True`).
    return *reduced, True, None, None, cache_again


def cache_again(made, _):
    made._cache = _CacheLater(made)


class _CacheLater:
    """For its cache numba reads the source of a function, which comes back after the variables: when it is first used."""

    def __init__(self, function):
        self._function = function
        self._none = function._cache

    def __getattr__(self, name):
        function = self._function
        function._cache = self._none
        try:
            function.enable_caching()
        except (OSError, RuntimeError):  # no source, or no place that can be written to
            pass
        return getattr(function._cache, name)


# -- by way of a file -------------------------------------------------------------------------------------------------


def _written(write):
    """What a library writes into a file."""
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "kept.bin")
        write(file)
        with open(file, "rb") as written:
            return written.read()


def _read(kept, read):
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "kept.bin")
        with open(file, "wb") as written:
            written.write(kept)
        return read(file)


pickling.adapt(
    {
        ("xgboost.core", "DMatrix"): _matrix,
        ("lightgbm.basic", "Dataset"): _data_set,
        ("onnxruntime.capi.onnxruntime_inference_collection", "InferenceSession"): _session,
        ("onnxruntime.capi.onnxruntime_pybind11_state", "SessionOptions"): _session_options,
    }
)
pickling.adapt_with_files({("numba.core.registry", "CPUDispatcher"): _compiled})
