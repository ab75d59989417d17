"""Databases in memory, in a checkpoint: the whole database, and a connection to it.

The process that saves is thrown away afterwards, so a database may be changed there once it is written down: that is how
it is found out what a connection does not say of itself.
"""

import os
import sys
import tempfile
import threading

from .. import pickling

# By a table of this name a database is known again when another connection leads to it.
_MARK = "ratoon_mark"

# What was written down, by the connection's id: one may be asked for again, when what it was a part of could not be saved.
_written_down = {}


def _once(reduce):
    def reduce_once(value):
        if id(value) not in _written_down:
            _written_down[id(value)] = value, reduce(value)
        return _written_down[id(value)][1]

    return reduce_once


# -- sqlite3 ----------------------------------------------------------------------------------------------------------


@_once
def _sqlite(value):
    import sqlite3

    def refuse(why):
        raise pickling.Unsavable(value, f"a database connection {why}")

    if not hasattr(value, "serialize"):
        refuse("(that can be kept from Python 3.11 on)")
    plain = value.cursor(sqlite3.Cursor)
    plain.row_factory = None
    ask = lambda query: plain.execute(query).fetchall()
    try:
        places = ask("PRAGMA database_list")
        if places[0][2]:
            refuse(f"to the file {places[0][2]}: connect again")
        if len(places) > 2 or ask("SELECT 1 FROM sqlite_temp_master"):
            refuse("with temporary tables or other databases attached")
        if ask(f"SELECT 1 FROM sqlite_master WHERE name = '{_MARK}'"):
            refuse("to a database that another connection has, too")
        fresh = sqlite3.connect(":memory:")
        for listed in ("PRAGMA function_list", "PRAGMA collation_list"):
            if len(ask(listed)) != len(fresh.execute(listed).fetchall()):
                refuse("with functions or collations of its own")
        has_begun = value.in_transaction
        timeout = ask("PRAGMA busy_timeout")[0][0] / 1000
        foreign_keys = ask("PRAGMA foreign_keys")[0][0]
        kept = value.serialize() if ask("PRAGMA page_count")[0][0] else b""
        types = _sqlite_types(sqlite3, value)
        plain.execute(f"CREATE TABLE {_MARK} (x)")
    except sqlite3.Error as error:
        refuse(f"that is closed or busy ({error})")
    named = {
        "timeout": timeout,
        "detect_types": types,
        "isolation_level": value.isolation_level,
        "check_same_thread": _is_of_one_thread(sqlite3, value),
    }
    if hasattr(value, "autocommit"):
        named["autocommit"] = value.autocommit
    later = {"row_factory": value.row_factory, "text_factory": value.text_factory}
    return make_sqlite, (kept, named, bool(foreign_keys), has_begun), later, None, None, set_attributes


def _sqlite_types(sqlite3, value):
    """`detect_types`, found out by trying."""
    sqlite3.register_converter("ratoonprobe", lambda _: _MARK)
    plain = value.cursor(sqlite3.Cursor)
    plain.row_factory = None
    plain.execute("CREATE TEMP TABLE ratoon_probe (x ratoonprobe)")
    plain.execute("INSERT INTO ratoon_probe VALUES (1)")
    by_column = plain.execute("SELECT x FROM temp.ratoon_probe").fetchone()[0] == _MARK
    by_name = plain.execute("SELECT 1 AS 'x [ratoonprobe]'").fetchone()[0] == _MARK
    return by_column * sqlite3.PARSE_DECLTYPES | by_name * sqlite3.PARSE_COLNAMES


def _is_of_one_thread(sqlite3, value):
    refused = []

    def use():
        try:
            value.total_changes
            value.cursor()
        except sqlite3.ProgrammingError:
            refused.append(True)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    return bool(refused)


def make_sqlite(kept, named, foreign_keys, has_begun):
    import sqlite3

    made = sqlite3.connect(":memory:", **named)
    if kept:
        made.deserialize(kept)
    if foreign_keys:
        made.execute("PRAGMA foreign_keys = ON")
    if has_begun and not made.in_transaction:
        made.execute("BEGIN")
    return made


def set_attributes(made, attributes):
    for name, value in attributes.items():
        setattr(made, name, value)


def _sqlite_cursor(value):
    if value.fetchone() is not None:
        raise pickling.Unsavable(value, "a cursor of a database connection with rows that have not been fetched")
    later = {"arraysize": value.arraysize, "row_factory": value.row_factory}
    return make_cursor, (value.connection,), later, None, None, set_attributes


def make_cursor(connection):
    return connection.cursor()


# -- DuckDB -----------------------------------------------------------------------------------------------------------

# Of these a database in memory has none of its own, or they cannot be asked for.
_DUCKDB_ALONE = {
    "temporary tables or views": "SELECT 1 FROM duckdb_tables() WHERE temporary"
    " UNION ALL SELECT 1 FROM duckdb_views() WHERE temporary AND NOT internal",
    "other databases attached": "SELECT 1 FROM duckdb_databases() WHERE NOT internal OFFSET 1",
}
_DUCKDB_HAS = (
    "SELECT 1 FROM duckdb_tables() UNION ALL SELECT 1 FROM duckdb_views() WHERE NOT internal"
    " UNION ALL SELECT 1 FROM duckdb_functions() WHERE NOT internal"
)
_DUCKDB_FUNCTIONS = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE macro_definition IS NULL"
_DUCKDB_SETTINGS = "SELECT name, value FROM duckdb_settings() WHERE value IS NOT NULL"
_DUCKDB_PLACE = "SELECT database_name, path FROM duckdb_databases() WHERE NOT internal AND database_name = current_database()"


@_once
def _duckdb(value):
    import duckdb

    def refuse(why):
        raise pickling.Unsavable(value, f"a database connection {why}")

    ask = lambda query: value.execute(query).fetchall()
    try:
        (name, path), *_ = ask(_DUCKDB_PLACE)
        if path:
            refuse(f"to the file {path}: connect again")
        for what, query in _DUCKDB_ALONE.items():
            if ask(query):
                refuse(f"with {what}")
        marks = ask(f"SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '{_MARK}%'")
        if marks:
            return make_cursor, (_written_down[int(marks[0][0].removeprefix(_MARK))][0],)
        fresh = duckdb.connect()
        if set(ask(_DUCKDB_FUNCTIONS)) - set(fresh.execute(_DUCKDB_FUNCTIONS).fetchall()):
            refuse("with functions of its own, or of extensions")
        usual = dict(fresh.execute(_DUCKDB_SETTINGS).fetchall())
        settings = {key: now for key, now in ask(_DUCKDB_SETTINGS) if usual.get(key) != now}
        with tempfile.TemporaryDirectory() as place:
            file = os.path.join(place, "kept")
            value.execute(f"ATTACH '{file}' AS ratoon_kept")
            value.execute(f'COPY FROM DATABASE "{name}" TO ratoon_kept')
            value.execute("DETACH ratoon_kept")
            with open(file, "rb") as written:
                kept = written.read()
        value.execute(f"CREATE TABLE {_MARK}{id(value)} (x INTEGER)")
    except duckdb.Error as error:
        refuse(f"that cannot be copied ({str(error).splitlines()[0]})")
    return make_duckdb, (kept, settings)


def make_duckdb(kept, settings):
    import duckdb

    made = duckdb.connect()
    (name,) = made.execute("SELECT current_database()").fetchone()
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "kept")
        with open(file, "wb") as written:
            written.write(kept)
        made.execute(f"ATTACH '{file}' AS ratoon_kept (READ_ONLY)")
        made.execute(f'COPY FROM DATABASE ratoon_kept TO "{name}"')
        made.execute("DETACH ratoon_kept")
    for key, now in settings.items():
        try:
            made.execute("SET {} = '{}'".format(key, str(now).replace("'", "''")))
        except duckdb.Error:  # it can be set at the start only, or follows from the machine
            continue
    return made


def default_connection():
    """What `duckdb.sql` and its like use, when there is something in it."""
    duckdb = sys.modules.get("duckdb")
    if duckdb is None or not hasattr(duckdb, "set_default_connection"):
        return {}
    connection = duckdb.default_connection()
    has_some = connection.execute(_DUCKDB_HAS).fetchone()
    return {"duckdb.default_connection()": (connection,)} if has_some else {}


def restore_default_connection(connection):
    sys.modules["duckdb"].set_default_connection(connection)


# -- SQLAlchemy -------------------------------------------------------------------------------------------------------


def _symbol(value):
    # Its number is a hash of its name, which is another one in each process.
    return make_symbol, (value.name,)


def make_symbol(name):
    symbol = sys.modules["sqlalchemy.util.langhelpers"].symbol
    return symbol.symbols.get(name) or symbol(name)


pickling.adapt(
    {
        ("sqlalchemy.util.langhelpers", "symbol"): _symbol,
        ("sqlite3", "Connection"): _sqlite,
        ("sqlite3", "Cursor"): _sqlite_cursor,
        ("_duckdb", "DuckDBPyConnection"): _duckdb,
        ("duckdb.duckdb", "DuckDBPyConnection"): _duckdb,
    }
)
