"""Tests of connections of sqlite3 to files, across forks."""

import os
import sqlite3

import pytest

from ratoon_kernel import sqlite_files
from ratoon_kernel.adapters.sqlite3 import _reduce_connection as reduce_connection


@pytest.fixture
def connect(monkeypatch):
    """`sqlite3.connect` as cells have it."""
    for module in (sqlite3, sqlite3.dbapi2):
        monkeypatch.setattr(module, "connect", module.connect)
        monkeypatch.setattr(module, "Connection", module.Connection)
    sqlite_files.watch(sqlite3)
    return sqlite3.connect


def in_branch(work):
    """Runs a function in a fork. Returns what it returns, as text."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            sqlite_files.after_fork()
            said = str(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        said = file.read().decode()
    os.waitpid(pid, 0)
    return said


def count(path):
    plain = sqlite3.Connection(path)
    try:
        return plain.execute("SELECT count(*) FROM t").fetchone()[0]
    finally:
        plain.close()


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_an_idle_connection_is_opened_anew_as_it_was(connect, tmp_path, monkeypatch, mode):
    path = tmp_path / "a.db"
    monkeypatch.chdir(tmp_path)
    connection = connect("a.db", timeout=7, isolation_level="IMMEDIATE")
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE t (x)")
    connection.row_factory = sqlite3.Row
    connection.create_function("double", 1, lambda x: 2 * x)
    connection.execute("ATTACH 'b.db' AS other")
    assert type(connection).__name__ == "Connection"
    assert repr(connection).startswith("<sqlite3.Connection object at ")

    def write():
        os.chdir("/")
        for n in range(50):
            with connection:
                connection.execute("INSERT INTO t VALUES (double(?))", (n,))
        row = connection.execute("SELECT max(x) AS most FROM t").fetchone()
        settings = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("foreign_keys", "busy_timeout")
        ]
        names = [name for _, name, _ in map(tuple, connection.execute("PRAGMA database_list"))]
        return row["most"], settings, names, connection.isolation_level

    for done in (50, 100):
        assert in_branch(write) == "(98, [1, 7000], ['main', 'other'], 'IMMEDIATE')"
        assert count(path) == done
    with connection:
        connection.execute("INSERT INTO t VALUES (1)")
    assert count(path) == 101
    connection.close()


def test_an_open_transaction_is_refused_in_a_branch_and_goes_on_where_it_began(connect, tmp_path):
    path = tmp_path / "a.db"
    connection = connect(path)
    connection.execute("CREATE TABLE t (x)")
    cursor = connection.cursor()
    cursor.execute("INSERT INTO t VALUES (1)")
    assert sqlite_files.open_transactions() == [str(path)]
    for use in (
        lambda: connection.execute("INSERT INTO t VALUES (2)"),
        lambda: connection.commit(),
        lambda: connection.rollback(),
    ):
        said = in_branch(use)
        assert said.startswith("OperationalError: a transaction of this connection to"), said
    assert in_branch(lambda: cursor.execute("COMMIT")) == "DatabaseError: not authorized"

    def forget():
        nonlocal connection, cursor
        connection.close()
        del connection, cursor

    assert in_branch(forget) == "None"
    assert count(path) == 0
    connection.commit()
    assert count(path) == 1
    # Once it is committed, branches have it.
    assert in_branch(lambda: connection.execute("SELECT count(*) FROM t").fetchone()) == "(1,)"
    connection.close()


def test_databases_in_memory_and_closed_connections_stay_as_they_are(connect, tmp_path):
    memory = connect(":memory:")
    memory.execute("CREATE TABLE t (x)")
    memory.execute("INSERT INTO t VALUES (1)")
    closed = connect(tmp_path / "a.db")
    closed.close()
    assert in_branch(lambda: memory.execute("SELECT count(*) FROM t").fetchone()) == "(1,)"
    assert in_branch(lambda: closed.execute("SELECT 1")) == (
        "ProgrammingError: Cannot operate on a closed database."
    )
    assert sqlite_files.open_transactions() == []
    memory.close()


def test_a_factory_of_the_user_is_used(connect, tmp_path):
    class Own(sqlite3.Connection):
        pass

    for connection in (
        connect(tmp_path / "a.db", factory=Own),
        connect(tmp_path / "a.db", 5, 0, None, True, Own),
    ):
        assert type(connection) is Own
        connection.close()


def test_a_restored_database_in_memory_is_saved_again_and_goes_on_in_branches(connect):
    first = connect(":memory:")
    first.execute("CREATE TABLE t (x)")
    first.execute("INSERT INTO t VALUES (1)")

    def restored(connection):
        make, arguments, *_ = reduce_connection(connection)
        return make(*arguments)

    second = restored(restored(first))
    assert in_branch(lambda: second.execute("SELECT x FROM t").fetchone()) == "(1,)"
