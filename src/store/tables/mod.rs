//! Reads and writes rows. Only this module uses SQLite. It knows tables and digests, but not the
//! meaning of rows.

mod sql_value;
mod fault;
mod schema;
mod table;

pub(super) use fault::{Cause, Fault};
pub(super) use schema::{
    BROWSER_SESSIONS, CHECKPOINTS, DRAFTS, LINKS, META, NAMES, OUTPUTS, RUNS, STATES, SWEEP_ROWS, SWEEPS,
    TASKS,
};
pub(super) use sql_value::{SqlValue, digest};
pub(super) use table::Table;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params_from_iter};
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

/// If the `-wal` file has grown larger than this number of bytes, SQLite truncates it to this size.
const WAL_BYTES: i64 = 16 << 20;
/// A commit checkpoints SQLite's log if the log has at least this many pages. The store usually
/// checkpoints the log earlier, while it is idle.
const WAL_PAGES: i64 = 4096;

/// A row that was read from a table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) number: i64,
    /// The row's columns without its digest.
    pub(super) cells: Vec<SqlValue>,
    /// Whether the row's digest is right.
    pub(super) is_whole: bool,
}

/// The size of the log of a run's outputs.
#[derive(Debug)]
pub(super) struct LogSize {
    pub(super) entries: i64,
    /// The length of the longest entry.
    pub(super) longest: usize,
    /// The number for the next entry.
    pub(super) next: i64,
}

/// The health of a database.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DatabaseHealth {
    Well,
    /// The rows are readable, but the indexes are wrong.
    Indexes,
    /// The database is damaged, for this reason.
    Malformed(String),
}

/// An open database.
#[derive(Debug)]
pub(super) struct Tables {
    db: Connection,
    next_pos: i64,
}

impl Tables {
    /// Creates a database that consists of one file. The caller makes the file durable and renames
    /// it.
    pub(super) fn make(path: &Path) -> Result<(), Fault> {
        let db = Connection::open(path)?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.execute_batch("BEGIN")?;
        schema::bring_forward(&db, 0)?;
        db.execute_batch("COMMIT")?;
        // The file stores that it uses WAL mode. Closing the last connection removes the log
        // itself.
        db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        db.close().map_err(|(_, e)| e.into())
    }

    /// Opens a database. Dropping this value leaves the files unchanged, unless `settle_on_close`
    /// was called.
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags)?;
        // Other programs may read the database, and SQLite then waits for their locks. No other
        // program writes it.
        db.busy_timeout(Duration::from_secs(2))?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        db.set_prepared_statement_cache_capacity(64);
        // Keeps temporary data of queries in memory.
        db.pragma_update(None, "temp_store", "MEMORY")?;
        db.pragma_update(None, "cell_size_check", true)?;
        db.pragma_update(None, "foreign_keys", true)?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update_and_check(None, "journal_size_limit", WAL_BYTES, |_| Ok(()))?;
        db.pragma_update_and_check(None, "wal_autocheckpoint", WAL_PAGES, |_| Ok(()))?;
        let mode: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        if mode != "wal" {
            return Err(Fault::malformed(format!("its journal mode is {mode}, not wal")));
        }
        Ok(Self { db, next_pos: 1 })
    }

    /// The application id in the header of a notebook's database.
    pub(super) fn application_id() -> [u8; 4] {
        schema::APPLICATION_ID.to_be_bytes()
    }

    /// Sets whether dropping this value checkpoints SQLite's write-ahead log into the database.
    pub(super) fn settle_on_close(&self, is_well: bool) {
        // If this fails, the log stays a separate file, and the next open reads it.
        let _ = self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !is_well);
    }

    /// Returns the version of the database, and the version that this program creates.
    pub(super) fn version(&self) -> Result<(usize, usize), Fault> {
        let own: i64 = self.db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        Ok((usize::try_from(own).unwrap_or(usize::MAX), schema::NEWEST))
    }

    /// Runs SQLite's own checks. Also checks that the tables are those of a notebook.
    pub(super) fn health(&self) -> Result<DatabaseHealth, Fault> {
        let ask = |what: &str| self.db.query_row(what, [], |row| row.get::<_, String>(0));
        let result = ask("PRAGMA integrity_check(1)")?;
        if schema::text(&self.db)? != schema::expected()? {
            return Ok(DatabaseHealth::Malformed("its tables are not those of a notebook".into()));
        }
        if result == "ok" {
            return Ok(DatabaseHealth::Well);
        }
        let result = ask("PRAGMA quick_check(1)")?;
        Ok(if result == "ok" { DatabaseHealth::Indexes } else { DatabaseHealth::Malformed(result) })
    }

    /// Migrates a database of an older version. Must be called inside a transaction.
    pub(super) fn bring_forward(&self, from: usize) -> Result<(), Fault> {
        schema::bring_forward(&self.db, from)
    }

    /// Rebuilds the indexes. Must be called inside a transaction.
    pub(super) fn reindex(&self) -> Result<(), Fault> {
        Ok(self.db.execute_batch("REINDEX")?)
    }

    /// The version of databases that this program creates.
    pub(super) fn newest() -> usize {
        schema::NEWEST
    }

    /// Begins a transaction that only reads. The store's thread can write meanwhile.
    pub(super) fn begin_reading(&self) -> Result<(), Fault> {
        Ok(self.db.execute_batch("BEGIN DEFERRED")?)
    }

    /// Whether a transaction is open.
    pub(super) fn is_open(&self) -> bool {
        !self.db.is_autocommit()
    }

    pub(super) fn begin(&self) -> Result<(), Fault> {
        Ok(self.db.execute_batch("BEGIN IMMEDIATE")?)
    }

    /// Commits the transaction. After this call, the transaction is on disk.
    pub(super) fn commit(&self) -> Result<(), Fault> {
        Ok(self.db.execute_batch("COMMIT")?)
    }

    /// Rolls back the open transaction, if there is one.
    pub(super) fn roll_back(&self) {
        if self.is_open() {
            let _ = self.db.execute_batch("ROLLBACK");
        }
    }

    /// Number of rows changed since the database was opened.
    pub(super) fn changes(&self) -> u64 {
        self.db.total_changes()
    }

    /// Checkpoints as much of SQLite's log as possible without waiting for readers. A commit does
    /// the same if the log is long.
    pub(super) fn shorten_log(&self) -> Result<(), Fault> {
        Ok(self.db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
    }

    /// Checkpoints the whole log into the database, and syncs both files.
    pub(super) fn empty_log(&self) -> Result<(), Fault> {
        let busy: i64 = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy == 0 {
            Ok(())
        } else {
            Err(Fault::new("another program has the database open", "close that program"))
        }
    }

    /// Returns a new `pos`, which is larger than all earlier ones.
    pub(super) fn new_pos(&mut self) -> SqlValue {
        self.next_pos += 1;
        SqlValue::Int(self.next_pos - 1)
    }

    /// Returns all rows in file order. Reads the table itself, because an index may be damaged.
    pub(super) fn rows(&mut self, table: &Table) -> Result<Vec<Row>, Fault> {
        let sql = format!("SELECT rowid, digest, {} FROM {} NOT INDEXED", table.list(), table.name);
        let mut query = self.db.prepare(&sql)?;
        let mut rows = Vec::new();
        let mut results = query.query([])?;
        while let Some(row) = results.next()? {
            let number = row.get(0)?;
            let own = SqlValue::read(row.get_ref(1)?);
            let read: Vec<Option<SqlValue>> = (0..table.columns.len())
                .map(|i| row.get_ref(i + 2).map(SqlValue::read))
                .collect::<Result<_, _>>()?;
            let is_readable = read.iter().all(Option::is_some);
            let cells: Vec<SqlValue> = read.into_iter().map(|c| c.unwrap_or(SqlValue::Null)).collect();
            let is_whole = is_readable && own == Some(digest(table.name, &cells));
            if let Some(pos) = table.pos().and_then(|i| cells[i].int()).filter(|_| is_whole) {
                self.next_pos = self.next_pos.max(pos.saturating_add(1));
            }
            rows.push(Row { number, cells, is_whole });
        }
        Ok(rows)
    }

    /// Returns the columns of the row with this key.
    pub(super) fn get(&self, table: &Table, key: &[SqlValue]) -> Result<Option<Vec<SqlValue>>, Fault> {
        let sql = format!("SELECT {} FROM {} WHERE {}", table.list(), table.name, table.is_key());
        let mut query = self.db.prepare_cached(&sql)?;
        let row = query.query_row(params_from_iter(key), |row| {
            (0..table.columns.len())
                .map(|i| row.get_ref(i).map(|value| SqlValue::read(value).unwrap_or(SqlValue::Null)))
                .collect()
        });
        Ok(row.optional()?)
    }

    /// Writes a row with its digest. Replaces a row that has the same key. Does nothing if the row
    /// is unchanged.
    pub(super) fn put(&self, table: &Table, cells: &[SqlValue]) -> Result<(), Fault> {
        let mut cells = cells.to_vec();
        if let Some(at) = table.columns.iter().position(|c| *c == "tree") {
            cells[at] = digest("tree", &cells[..at]);
        }
        let cells = cells.as_slice();
        let seal = digest(table.name, cells);
        let key = &cells[..table.keys];
        let sql =
            format!("SELECT 1 FROM {} WHERE {} AND digest = ?{}", table.name, table.is_key(), table.keys + 1);
        let is_there = self.db.prepare_cached(&sql)?.exists(params_from_iter(key.iter().chain([&seal])))?;
        if is_there {
            return Ok(());
        }
        let holders: Vec<String> = (1..=table.columns.len() + 1).map(|i| format!("?{i}")).collect();
        let sql = format!(
            "INSERT OR REPLACE INTO {}({}, digest) VALUES({})",
            table.name,
            table.list(),
            holders.join(", ")
        );
        self.db.prepare_cached(&sql)?.execute(params_from_iter(cells.iter().chain([&seal])))?;
        Ok(())
    }

    /// Writes these rows in order, and removes all other rows. A row's `pos` stays the same if it
    /// is larger than the `pos` of the row before it.
    pub(super) fn replace_all(
        &mut self,
        table: &Table,
        rows: impl IntoIterator<Item = Result<Vec<SqlValue>, Fault>>,
    ) -> Result<(), Fault> {
        let mut left = self.keys_of(table)?;
        let mut last = 0;
        for cells in rows {
            let mut cells = cells?;
            let key = cells[..table.keys].to_vec();
            if let Some(at) = table.pos() {
                let own = self.get(table, &key)?.and_then(|row| row[at].int()).filter(|own| *own > last);
                last = own.unwrap_or(last + 1);
                cells[at] = SqlValue::Int(last);
                self.next_pos = self.next_pos.max(last.saturating_add(1));
            }
            self.put(table, &cells)?;
            left.remove(&key);
        }
        left.iter().try_for_each(|key| self.remove_row(table, key))
    }

    fn keys_of(&self, table: &Table) -> Result<HashSet<Vec<SqlValue>>, Fault> {
        let sql = format!("SELECT {} FROM {}", table.columns[..table.keys].join(", "), table.name);
        let mut query = self.db.prepare(&sql)?;
        let keys = query.query_map([], |row| {
            (0..table.keys)
                .map(|i| row.get_ref(i).map(|value| SqlValue::read(value).unwrap_or(SqlValue::Null)))
                .collect()
        })?;
        Ok(keys.collect::<Result<_, _>>()?)
    }

    /// Removes the rows that have this value in a column.
    pub(super) fn remove(&self, table: &Table, column: &str, value: &str) -> Result<(), Fault> {
        let sql = format!("DELETE FROM {} WHERE {column} = ?1", table.name);
        self.db.prepare_cached(&sql)?.execute([value])?;
        Ok(())
    }

    /// Removes the row with this key.
    pub(super) fn remove_row(&self, table: &Table, key: &[SqlValue]) -> Result<(), Fault> {
        let sql = format!("DELETE FROM {} WHERE {}", table.name, table.is_key());
        self.db.prepare_cached(&sql)?.execute(params_from_iter(key))?;
        Ok(())
    }

    /// Removes a row by its number in the file. The content of the row does not matter.
    pub(super) fn remove_at(&self, table: &Table, number: i64) -> Result<(), Fault> {
        self.db.execute(&format!("DELETE FROM {} WHERE rowid = ?1", table.name), [number])?;
        Ok(())
    }

    /// Removes the rows whose `column` is not the id of an existing state.
    pub(super) fn remove_orphans(&self, table: &Table, column: &str) -> Result<(), Fault> {
        let sql = format!("DELETE FROM {} WHERE {column} NOT IN (SELECT id FROM states)", table.name);
        self.db.execute(&sql, [])?;
        Ok(())
    }

    /// Number of states, without the root and deleted states.
    pub(super) fn count_states(&self) -> Result<u64, Fault> {
        let sql = "SELECT count(*) FROM states WHERE deleted = 0 AND parent IS NOT NULL";
        let count: i64 = self.db.query_row(sql, [], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// Copies the database to a new file of the newest version. Leaves out share links, browser
    /// sessions, tasks and the signatures of running sweeps, so that no row runs twice. When this
    /// returns, the copy is durable.
    pub(super) fn copy_to(&self, path: &Path) -> Result<(), Fault> {
        let text =
            path.to_str().ok_or_else(|| Fault::new("its path is not valid UTF-8", "choose another name"))?;
        self.db.execute("VACUUM INTO ?1", [text])?;
        let copy = Connection::open(path)?;
        copy.pragma_update(None, "synchronous", "FULL")?;
        copy.execute_batch("BEGIN")?;
        let (version, newest) = self.version()?;
        if version < newest {
            schema::bring_forward(&copy, version)?;
        }
        copy.execute_batch(
            "DELETE FROM links; DELETE FROM browser_sessions; DELETE FROM tasks;
             DELETE FROM meta WHERE key LIKE 'sweep:%'; COMMIT; VACUUM",
        )?;
        copy.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        copy.close().map_err(|(_, error)| error)?;
        Ok(std::fs::File::open(path)?.sync_all()?)
    }

    /// Calls `take` with each entry of a run's output log, in order. Stops at the first error of
    /// `take`, and returns this error as the inner result.
    pub(super) fn each_of_log<E>(
        &self,
        run: &str,
        mut take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<Result<(), E>, Fault> {
        let mut query = self.db.prepare_cached("SELECT body FROM outputs WHERE run = ?1 ORDER BY seq")?;
        let mut rows = query.query([run])?;
        while let Some(row) = rows.next()? {
            // An entry that is not valid UTF-8 is passed as an empty text, which cannot be parsed.
            if let Err(error) = take(row.get_ref(0)?.as_str().unwrap_or_default()) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// The size of a run's output log.
    pub(super) fn size_of_log(&self, run: &str) -> Result<LogSize, Fault> {
        let sql = "SELECT count(*), coalesce(max(length(body)), 0), coalesce(max(seq) + 1, 0)
                   FROM outputs WHERE run = ?1";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query.query_row([run], |row| {
            let longest: i64 = row.get(1)?;
            let longest = usize::try_from(longest).unwrap_or(usize::MAX);
            Ok(LogSize { entries: row.get(0)?, longest, next: row.get(2)? })
        })?)
    }
}
