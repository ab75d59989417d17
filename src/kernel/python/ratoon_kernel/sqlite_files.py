"""Connections of sqlite3 to files, in branches.

SQLite forbids the use of a connection across a fork: its locks belong to the process that took
them, but the memory that a fork copies says that they are held. So a branch opens each idle
connection anew. A connection whose transaction was open is refused before it can touch the file:
the head that began the transaction still owns it, and may commit it.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable
from typing import Any

# The connections that this process or its ancestors have made with `sqlite3.connect`.
connections: Any = weakref.WeakSet()
# Connections whose transaction belongs to another process. They are never freed: SQLite would roll
# the transaction back, in the file.
_lost: list[Any] = []

# Methods that set up a connection, and are called again for one that is opened anew.
_SETTERS = (
    "create_aggregate",
    "create_collation",
    "create_function",
    "create_window_function",
    "enable_load_extension",
    "load_extension",
    "set_authorizer",
    "set_progress_handler",
    "set_trace_callback",
    "setconfig",
    "setlimit",
)
# Attributes that a user may set.
_ATTRIBUTES = ("row_factory", "text_factory", "isolation_level", "autocommit")
# Settings of one connection that SQLite can tell.
_PRAGMAS = (
    "busy_timeout",
    "cache_size",
    "foreign_keys",
    "query_only",
    "recursive_triggers",
    "synchronous",
    "temp_store",
)
# Methods that use the file. For a lost connection, they raise an error.
_USES = (
    "backup",
    "blobopen",
    "commit",
    "cursor",
    "deserialize",
    "execute",
    "executemany",
    "executescript",
    "iterdump",
    "rollback",
    "serialize",
)


def watch(sqlite3: Any) -> None:
    """Called when sqlite3 has been imported. Replaces `connect`, so that connections are known."""
    connect = sqlite3.connect
    made = _class(sqlite3)

    def watched(database: Any, *arguments: Any, **options: Any) -> Any:
        # `factory` is the sixth argument.
        if "factory" not in options and len(arguments) < 5:
            options["factory"] = made
        connection = connect(database, *arguments, **options)
        if isinstance(connection, made):
            connections.add(connection)
        return connection

    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__text_signature__"):
        if hasattr(connect, name):
            setattr(watched, name, getattr(connect, name))
    dbapi2: Any = sys.modules["sqlite3.dbapi2"]
    sqlite3.connect = dbapi2.connect = watched
    sqlite3.Connection = dbapi2.Connection = made


def _class(sqlite3: Any) -> Any:
    class Connection(sqlite3.Connection):
        def __init__(self, database: Any, *arguments: Any, **options: Any) -> None:
            super().__init__(database, *arguments, **options)
            is_path = not (options.get("uri") or arguments[6:7] == (True,))
            if is_path and database not in (":memory:", "", b":memory:", b""):
                # The branch may have another working directory.
                database = os.path.abspath(os.fspath(database))
            options.pop("factory", None)
            self._ratoon_opened = (database, arguments, options)
            self._ratoon_set_up: list[tuple[str, Any, Any]] = []

    def setter(name: str) -> Callable[..., Any]:
        own = getattr(sqlite3.Connection, name)

        def set_up(self: Any, *arguments: Any, **options: Any) -> Any:
            result = own(self, *arguments, **options)
            self._ratoon_set_up.append((name, arguments, options))
            return result

        set_up.__name__, set_up.__doc__ = name, own.__doc__
        return set_up

    for name in _SETTERS:
        if hasattr(sqlite3.Connection, name):
            setattr(Connection, name, setter(name))
    # It takes the place of the class of sqlite3.
    Connection.__module__, Connection.__qualname__ = "sqlite3", "Connection"
    Connection.__doc__ = sqlite3.Connection.__doc__
    return Connection


def open_transactions() -> list[str]:
    """The files with a transaction that is open in this process."""
    return sorted({_file_of(one) for one in list(connections) if _is_busy(one)} - {""})


def after_fork() -> None:
    """Called in a child."""
    for connection in list(connections):
        try:
            if not _file_of(connection):
                continue  # A database in memory is the child's own.
            if _is_busy(connection):
                _lose(connection)
            else:
                _open_again(connection)
        except Exception:
            # It is closed, or its file is gone. Its next use says so.
            continue


def _is_busy(connection: Any) -> bool:
    try:
        return bool(connection.in_transaction)
    except Exception:
        return False


def _databases(connection: Any) -> list[Any]:
    """Number, name and file of each database."""
    rows: list[Any] = _ask(connection, "PRAGMA database_list").fetchall()
    return rows


def _ask(connection: Any, query: str) -> Any:
    sqlite3: Any = sys.modules["sqlite3"]
    plain = sqlite3.Cursor(connection)
    plain.row_factory = None
    return plain.execute(query)


def _file_of(connection: Any) -> str:
    """The file of a connection; empty if it has none or is closed."""
    if connection in _lost:
        return ""
    try:
        file: str = next(file for _, name, file in _databases(connection) if name == "main")
    except Exception:
        return ""
    return file if is_file(file) else ""


def is_file(listed: str) -> bool:
    """Whether this entry of `PRAGMA database_list` is a file. After `deserialize`, SQLite lists a
    database in memory as `x`; files have whole paths."""
    return os.path.isabs(listed)


def _open_again(connection: Any) -> None:
    if _ask(connection, "SELECT 1 FROM sqlite_temp_master LIMIT 1").fetchone():
        return  # Its temporary tables would be lost. Without a transaction it holds no lock.
    attached = [
        (name, file) for _, name, file in _databases(connection) if name not in ("main", "temp")
    ]
    if any(not is_file(file) for _, file in attached):
        return  # A second database in memory would be lost.
    pragmas = {name: _pragma(connection, name) for name in _PRAGMAS}
    attributes = {
        name: getattr(connection, name) for name in _ATTRIBUTES if hasattr(connection, name)
    }
    (database, arguments, options), set_up = connection._ratoon_opened, connection._ratoon_set_up
    # Closes the inherited handle, which frees no lock of another process.
    connection.__init__(database, *arguments, **options)
    for name, file in attached:
        _ask(connection, f"ATTACH {_quoted(file)} AS {_quoted(name)}")
    for name, value in pragmas.items():
        if value is not None and value != _pragma(connection, name):
            _ask(connection, f"PRAGMA {name} = {value}")
    for name, value in attributes.items():
        if getattr(connection, name) != value:
            setattr(connection, name, value)
    for name, given, named in set_up:
        getattr(connection, name)(*given, **named)


def _pragma(connection: Any, name: str) -> Any:
    row = _ask(connection, f"PRAGMA {name}").fetchone()
    return row[0] if row else None


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _lose(connection: Any) -> None:
    sqlite3: Any = sys.modules["sqlite3"]
    why = (
        f"a transaction of this connection to {_file_of(connection)} was open when the state was"
        " kept, and belongs to the lineage that continues it: connect again in this branch,"
        " or commit before you branch"
    )
    _lost.append(connection)

    def refuse(*_: Any, **__: Any) -> Any:
        raise sqlite3.OperationalError(why)

    for name in _USES:
        if hasattr(connection, name):
            setattr(connection, name, refuse)
    # Closing it would roll the transaction back.
    connection.close = lambda: None
    # For cursors that exist: SQLite asks before each statement, also before COMMIT and ROLLBACK.
    sqlite3.Connection.set_authorizer(connection, lambda *_: sqlite3.SQLITE_DENY)
