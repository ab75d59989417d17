"""Saves and restores in-memory databases of sqlite3 and connections to them."""

from __future__ import annotations

import threading
from typing import Any, NoReturn

from .. import pickling, sqlite_files
from ..adapter import Adapter, Reduced
from .databases import MARK, asking, make_cursor, once, set_attributes


@once
def _reduce_connection(value: Any) -> Reduced:
    import sqlite3

    def refuse(why: str) -> NoReturn:
        raise pickling.Unsavable(value, f"a database connection {why}")

    if not hasattr(value, "serialize"):
        refuse("(saving one needs Python 3.11 or later)")
    plain = value.cursor(sqlite3.Cursor)
    plain.row_factory = None
    ask = asking(plain.execute)
    try:
        databases = ask("PRAGMA database_list")
        if sqlite_files.is_file(databases[0][2]):
            refuse(f"to the file {databases[0][2]}: connect again")
        if len(databases) > 2 or ask("SELECT 1 FROM sqlite_temp_master"):
            refuse("with temporary tables or other databases attached")
        if ask(f"SELECT 1 FROM sqlite_master WHERE name = '{MARK}'"):
            refuse("to a database that another connection also uses")
        fresh = sqlite3.connect(":memory:")
        for listed in ("PRAGMA function_list", "PRAGMA collation_list"):
            if len(ask(listed)) != len(fresh.execute(listed).fetchall()):
                refuse("with functions or collations of its own")
        has_begun = value.in_transaction
        timeout = ask("PRAGMA busy_timeout")[0][0] / 1000
        foreign_keys = ask("PRAGMA foreign_keys")[0][0]
        kept = value.serialize() if ask("PRAGMA page_count")[0][0] else b""
        types = _detected_types(sqlite3, value)
        plain.execute(f"CREATE TABLE {MARK} (x)")
    except sqlite3.Error as error:
        refuse(f"that is closed or busy ({error})")
    named = {
        "timeout": timeout,
        "detect_types": types,
        "isolation_level": value.isolation_level,
        "check_same_thread": _checks_thread(sqlite3, value),
    }
    if hasattr(value, "autocommit"):
        named["autocommit"] = value.autocommit
    later = {"row_factory": value.row_factory, "text_factory": value.text_factory}
    arguments = (kept, named, bool(foreign_keys), has_begun)
    return make_sqlite, arguments, later, None, None, set_attributes


def _detected_types(sqlite3: Any, value: Any) -> int:
    """Finds the argument `detect_types` of a connection by running queries."""
    sqlite3.register_converter("ratoonprobe", lambda _: MARK)
    plain = value.cursor(sqlite3.Cursor)
    plain.row_factory = None
    plain.execute("CREATE TEMP TABLE ratoon_probe (x ratoonprobe)")
    plain.execute("INSERT INTO ratoon_probe VALUES (1)")
    by_column = plain.execute("SELECT x FROM temp.ratoon_probe").fetchone()[0] == MARK
    by_name = plain.execute("SELECT 1 AS 'x [ratoonprobe]'").fetchone()[0] == MARK
    found: int = by_column * sqlite3.PARSE_DECLTYPES | by_name * sqlite3.PARSE_COLNAMES
    return found


def _checks_thread(sqlite3: Any, value: Any) -> bool:
    """Finds the argument `check_same_thread` of a connection by using it in another thread."""
    refused = []

    def use() -> None:
        try:
            _ = value.total_changes
            value.cursor()
        except sqlite3.ProgrammingError:
            refused.append(True)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    return bool(refused)


def make_sqlite(kept: bytes, named: dict[str, Any], foreign_keys: bool, has_begun: bool) -> Any:
    # Checkpoints refer to this function by module and name: do not move or rename it.
    import sqlite3

    made: Any = sqlite3.connect(":memory:", **named)
    if kept:
        made.deserialize(kept)
    if foreign_keys:
        made.execute("PRAGMA foreign_keys = ON")
    if has_begun and not made.in_transaction:
        made.execute("BEGIN")
    return made


def _reduce_cursor(value: Any) -> Reduced:
    if value.fetchone() is not None:
        what = "a cursor of a database connection with rows that have not been fetched"
        raise pickling.Unsavable(value, what)
    later = {"arraysize": value.arraysize, "row_factory": value.row_factory}
    return make_cursor, (value.connection,), later, None, None, set_attributes


class Sqlite3(Adapter):
    library = "sqlite3"
    reducers = {
        ("sqlite3", "Connection"): _reduce_connection,
        ("sqlite3", "Cursor"): _reduce_cursor,
    }
