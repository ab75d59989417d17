"""Checkpoints refer by name to the functions that rebuild their objects. All versions of Ratoon
must find these functions."""

import importlib
import pickle

import pytest

from ratoon_kernel import former_names, rebuilding, shell

# The names in checkpoints of version 0.1, by module.
FORMER = {
    "_ratoon_databases": "make_sqlite set_attributes make_cursor make_duckdb make_symbol",
    "_ratoon_learning": "make_matrix make_data_set set_data_set make_session_options cache_again",
    "_ratoon_locks": "fill_queue make_local",
    "_ratoon_logs": "make_handler set_handler",
    "_ratoon_observers": "make_formatter set_observed",
    "_ratoon_pickling": "make_function set_function set_cell make_class set_enum import_module"
    " set_module fill_quietly make_lru_cache make_cached_property set_dict make_exception"
    " set_exception make_dict_view make_memoryview make_dead_reference make_weak_dict"
    " make_polars_frame make_polars_series make_parameter make_memmap make_view make_array_over"
    " make_array make_large_array make_object_array set_object_array fill_with",
    "_ratoon_pools": "make_executor make_context make_default_context make_later",
    "_ratoon_shell": "shell _input _getpass",
    "_ratoon_values": "Placeholder",
    "_ratoon_web": "make_client",
}
# The names in checkpoints since the kernel's Python became a package, by module.
NOW = {
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


@pytest.mark.parametrize("module", FORMER)
def test_former_names_are_resolved(module):
    with former_names.resolved():
        found = importlib.import_module(module)
        assert [name for name in FORMER[module].split() if not hasattr(found, name)] == []
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(module)


@pytest.mark.parametrize("module", NOW)
def test_current_names_stay_in_their_modules(module):
    found = importlib.import_module(module)
    for name in NOW[module].split():
        one = getattr(found, name)
        assert module == "ratoon_kernel.shell" or one.__module__ == module


def test_a_pickle_of_version_0_1_is_read(namespace):
    rebuilding.loading.namespace = namespace
    # Pickles of an array and of the shell, as version 0.1 wrote them.
    array = (
        b"\x80\x05c_ratoon_pickling\nmake_array\n(C\x02\x01\x02K\x02\x85cnumpy\ndtype\nX\x02\x00\x00"
        b"\x00u1\x85RX\x01\x00\x00\x00Ccnumpy\nndarray\n\x88tR."
    )
    own = (
        b"\x80\x05cbuiltins\ngetattr\nc_ratoon_pickling\nimport_module\nX\r\x00\x00\x00"
        b"_ratoon_shell\x85RX\x05\x00\x00\x00shell\x86R."
    )
    with former_names.resolved():
        assert pickle.loads(array).tolist() == [1, 2]
        assert pickle.loads(own) is shell.shell
