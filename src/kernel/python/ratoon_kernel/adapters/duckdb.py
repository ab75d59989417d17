"""Saves and restores in-memory databases of DuckDB, connections to them, and the default connection
of the module."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any, NoReturn

from .. import pickling
from ..adapter import Adapter, Change, Reduced
from .databases import MARK, asking, make_cursor, once, saved

# Properties of a connection that cannot be saved. Each query returns rows if a connection has the
# property.
_REFUSED = {
    "temporary tables or views": "SELECT 1 FROM duckdb_tables() WHERE temporary"
    " UNION ALL SELECT 1 FROM duckdb_views() WHERE temporary AND NOT internal",
    "other databases attached": "SELECT 1 FROM duckdb_databases() WHERE NOT internal OFFSET 1",
}
_CONTENT = (
    "SELECT 1 FROM duckdb_tables() UNION ALL SELECT 1 FROM duckdb_views() WHERE NOT internal"
    " UNION ALL SELECT 1 FROM duckdb_functions() WHERE NOT internal"
)
_FUNCTIONS = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE macro_definition IS NULL"
_SETTINGS = "SELECT name, value FROM duckdb_settings() WHERE value IS NOT NULL"
_PLACE = (
    "SELECT database_name, path FROM duckdb_databases()"
    " WHERE NOT internal AND database_name = current_database()"
)
_MARKS = f"SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '{MARK}%'"


@once
def _reduce_connection(value: Any) -> Reduced:
    import duckdb

    def refuse(why: str) -> NoReturn:
        raise pickling.Unsavable(value, f"a database connection {why}")

    ask = asking(value.execute)
    try:
        (name, path), *_ = ask(_PLACE)
        if path:
            refuse(f"to the file {path}: connect again")
        for what, query in _REFUSED.items():
            if ask(query):
                refuse(f"with {what}")
        marks = ask(_MARKS)
        if marks:
            return make_cursor, (saved[int(marks[0][0].removeprefix(MARK))][0],)
        fresh = duckdb.connect()
        if set(ask(_FUNCTIONS)) - set(fresh.execute(_FUNCTIONS).fetchall()):
            refuse("with functions of its own, or of extensions")
        usual = dict(fresh.execute(_SETTINGS).fetchall())
        settings = {key: now for key, now in ask(_SETTINGS) if usual.get(key) != now}
        kept = _copied(value, name)
        value.execute(f"CREATE TABLE {MARK}{id(value)} (x INTEGER)")
    except duckdb.Error as error:
        refuse(f"that cannot be copied ({str(error).splitlines()[0]})")
    return make_duckdb, (kept, settings)


def _copied(value: Any, name: str) -> bytes:
    """Returns a copy of a database as bytes in DuckDB's file format."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kept")
        value.execute(f"ATTACH '{path}' AS ratoon_kept")
        value.execute(f'COPY FROM DATABASE "{name}" TO ratoon_kept')
        value.execute("DETACH ratoon_kept")
        with open(path, "rb") as file:
            return file.read()


def make_duckdb(kept: bytes, settings: dict[str, Any]) -> Any:
    # Checkpoints refer to this function by module and name: do not move or rename it.
    import duckdb

    made = duckdb.connect()
    (name,) = made.execute("SELECT current_database()").fetchone()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kept")
        with open(path, "wb") as file:
            file.write(kept)
        made.execute(f"ATTACH '{path}' AS ratoon_kept (READ_ONLY)")
        made.execute(f'COPY FROM DATABASE ratoon_kept TO "{name}"')
        made.execute("DETACH ratoon_kept")
    for key, now in settings.items():
        text = str(now).replace("'", "''")
        try:
            made.execute(f"SET {key} = '{text}'")
        except duckdb.Error:  # a setting that cannot be changed after the start
            continue
    return made


def _default_connection() -> dict[str, tuple[Any, ...]]:
    """Returns the connection that functions such as `duckdb.sql` use, if it has any content."""
    duckdb = sys.modules.get("duckdb")
    if duckdb is None or not hasattr(duckdb, "set_default_connection"):
        return {}
    connection = duckdb.default_connection()
    has_content = connection.execute(_CONTENT).fetchone()
    return {"duckdb.default_connection()": (connection,)} if has_content else {}


def _restore_default_connection(connection: Any) -> None:
    sys.modules["duckdb"].set_default_connection(connection)


class Duckdb(Adapter):
    library = "duckdb"
    reducers = {
        ("_duckdb", "DuckDBPyConnection"): _reduce_connection,
        ("duckdb.duckdb", "DuckDBPyConnection"): _reduce_connection,
    }
    refused = {
        ("_duckdb", "DuckDBPyConnection"): "a database connection",
        ("duckdb.duckdb", "DuckDBPyConnection"): "a database connection",
    }
    changes = {"default connection": Change(_default_connection, _restore_default_connection)}
