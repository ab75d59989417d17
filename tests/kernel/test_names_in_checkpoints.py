"""Checkpoints refer by name to the functions that rebuild their objects. All versions of Ratoon
must find these functions."""

import importlib

import pytest

# The names, by module.
NAMES = {
    "ratoon_kernel.adapters.databases": "make_cursor set_attributes",
    "ratoon_kernel.adapters.duckdb": "make_duckdb",
    "ratoon_kernel.adapters.httpx": "make_client",
    "ratoon_kernel.adapters.lightgbm": "make_data_set set_data_set",
    "ratoon_kernel.adapters.logging": "make_handler set_handler",
    "ratoon_kernel.adapters.numba": "cache_again",
    "ratoon_kernel.adapters.numpy": "make_memmap make_view make_array_over make_array"
    " make_large_array make_object_array set_object_array",
    "ratoon_kernel.adapters.onnxruntime": "make_session_options",
    "ratoon_kernel.adapters.polars": "make_polars_frame make_polars_series",
    "ratoon_kernel.adapters.pools": "make_executor make_context make_default_context make_later",
    "ratoon_kernel.adapters.sqlalchemy": "make_symbol",
    "ratoon_kernel.adapters.sqlite3": "make_sqlite",
    "ratoon_kernel.adapters.threading": "fill_queue make_local",
    "ratoon_kernel.adapters.traitlets": "make_formatter set_observed",
    "ratoon_kernel.adapters.xgboost": "make_matrix",
    "ratoon_kernel.rebuilding": "make_function set_function set_cell make_class set_enum"
    " import_module set_module fill_quietly make_lru_cache make_cached_property set_dict"
    " make_exception set_exception make_dict_view make_memoryview make_dead_reference"
    " make_weak_dict make_parameter fill_with",
    "ratoon_kernel.data_form": "Placeholder",
    "ratoon_kernel.shell": "shell",
}


@pytest.mark.parametrize("module", NAMES)
def test_names_stay_in_their_modules(module):
    found = importlib.import_module(module)
    for name in NAMES[module].split():
        one = getattr(found, name)
        assert module == "ratoon_kernel.shell" or one.__module__ == module
