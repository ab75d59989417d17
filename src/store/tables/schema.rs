//! The tables, version by version.

use super::{Fault, Table};
use rusqlite::Connection;

/// "Ratn": SQLite's application id of a notebook's database.
pub(super) const APPLICATION_ID: i32 = 0x5261_746e;

/// One migration per version, the first from an empty file. A released migration never changes.
pub(super) const STEPS: &[fn(&Connection) -> rusqlite::Result<()>] = &[to_version_1];

/// Facts about the notebook itself.
pub(in crate::store) const META: Table = Table { name: "meta", columns: &["key", "value"], keys: 1 };
/// States.
pub(in crate::store) const STATES: Table =
    Table { name: "states", columns: &["id", "pos", "parent", "run", "deleted", "tree", "body"], keys: 1 };
/// What names mean.
pub(in crate::store) const NAMES: Table =
    Table { name: "names", columns: &["name", "pos", "state"], keys: 1 };
/// Runs.
pub(in crate::store) const RUNS: Table = Table { name: "runs", columns: &["id", "pos", "body"], keys: 1 };
/// The logs of runs' outputs.
pub(in crate::store) const OUTPUTS: Table =
    Table { name: "outputs", columns: &["run", "seq", "body"], keys: 2 };
/// Drafts.
pub(in crate::store) const DRAFTS: Table =
    Table { name: "drafts", columns: &["state", "seq", "body"], keys: 2 };
/// Checkpoints of tasks.
pub(in crate::store) const TASKS: Table =
    Table { name: "tasks", columns: &["task", "version", "pos", "body"], keys: 2 };
/// Checkpoints of states.
pub(in crate::store) const CHECKPOINTS: Table =
    Table { name: "checkpoints", columns: &["state", "form", "manifest", "body", "hmac"], keys: 2 };
/// Share links.
pub(in crate::store) const LINKS: Table =
    Table { name: "links", columns: &["id", "pos", "body", "hmac"], keys: 1 };

/// Migrates a database to the newest version.
pub(super) fn bring_forward(db: &Connection, from: usize) -> Result<(), Fault> {
    for step in &STEPS[from.min(STEPS.len())..] {
        step(db)?;
    }
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", STEPS.len() as i64)?;
    Ok(())
}

/// The schema stored in a database, as text.
pub(super) fn text(db: &Connection) -> Result<Vec<String>, Fault> {
    let mut query = db.prepare(
        "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_schema",
    )?;
    let mut lines = query.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    lines.sort();
    Ok(lines)
}

/// The schema that this version creates, as text.
pub(super) fn expected() -> Result<Vec<String>, Fault> {
    let db = Connection::open_in_memory()?;
    bring_forward(&db, 0)?;
    text(&db)
}

/// No column is NOT NULL: the digest finds a damaged row, which is set aside alone. A constraint
/// would make SQLite refuse the whole table.
fn to_version_1(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(
        "CREATE TABLE meta(key TEXT PRIMARY KEY, value, digest BLOB);
         CREATE TABLE states(id TEXT PRIMARY KEY, pos INTEGER,
             parent TEXT REFERENCES states(id) DEFERRABLE INITIALLY DEFERRED,
             run TEXT, deleted INTEGER, tree BLOB, body TEXT, digest BLOB);
         CREATE INDEX states_by_parent ON states(parent);
         CREATE TABLE names(name TEXT PRIMARY KEY, pos INTEGER,
             state TEXT REFERENCES states(id) DEFERRABLE INITIALLY DEFERRED, digest BLOB);
         CREATE INDEX names_by_state ON names(state);
         CREATE TABLE runs(id TEXT PRIMARY KEY, pos INTEGER, body TEXT, digest BLOB);
         CREATE TABLE outputs(run TEXT REFERENCES runs(id) DEFERRABLE INITIALLY DEFERRED, seq INTEGER,
             body TEXT, digest BLOB, PRIMARY KEY(run, seq));
         CREATE TABLE drafts(state TEXT REFERENCES states(id) DEFERRABLE INITIALLY DEFERRED, seq INTEGER,
             body TEXT, digest BLOB, PRIMARY KEY(state, seq));
         CREATE TABLE tasks(task TEXT, version INTEGER, pos INTEGER, body TEXT, digest BLOB,
             PRIMARY KEY(task, version));
         CREATE TABLE checkpoints(state TEXT REFERENCES states(id) DEFERRABLE INITIALLY DEFERRED, form TEXT,
             manifest TEXT, body TEXT, hmac BLOB, digest BLOB, PRIMARY KEY(state, form));
         CREATE TABLE links(id TEXT PRIMARY KEY, pos INTEGER, body TEXT, hmac BLOB, digest BLOB);",
    )
}
