//! The tables of the database, and the migrations between versions.

use super::fault::Fault;
use super::sql_value::{SqlValue, digest};
use super::table::Table;
use rusqlite::{Connection, params_from_iter};
use serde_json::Value;

/// SQLite's application id of a notebook's database: the letters "Ratn".
pub(super) const APPLICATION_ID: i32 = 0x5261_746e;

/// The migrations, one for each version. The first one begins with an empty file. A released
/// migration must never change.
pub(super) const STEPS: &[fn(&Connection) -> rusqlite::Result<()>] =
    &[to_version_1, to_version_2, to_version_3];

/// Facts about the notebook itself.
pub(in crate::store) const META: Table = Table { name: "meta", columns: &["key", "value"], keys: 1 };
/// States.
pub(in crate::store) const STATES: Table =
    Table { name: "states", columns: &["id", "pos", "parent", "run", "deleted", "tree", "body"], keys: 1 };
/// The names of states.
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
/// Sweeps, without their rows.
pub(in crate::store) const SWEEPS: Table = Table { name: "sweeps", columns: &["id", "pos", "body"], keys: 1 };
/// The rows of sweeps, with their ends.
pub(in crate::store) const SWEEP_ROWS: Table =
    Table { name: "sweep_rows", columns: &["sweep", "row", "body"], keys: 2 };
/// Checkpoints of states.
pub(in crate::store) const CHECKPOINTS: Table =
    Table { name: "checkpoints", columns: &["state", "form", "manifest", "body", "hmac"], keys: 2 };
/// Share links.
pub(in crate::store) const LINKS: Table =
    Table { name: "links", columns: &["id", "pos", "body", "hmac"], keys: 1 };
/// Browser sessions.
pub(in crate::store) const BROWSER_SESSIONS: Table =
    Table { name: "browser_sessions", columns: &["id", "pos", "body", "hmac"], keys: 1 };

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

/// No column is NOT NULL. If a row is damaged, its digest is wrong, and only that row is set aside.
/// With a constraint, SQLite would refuse the whole table.
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

/// Moves the browser sessions to a separate table. In version 1 they were links with the scope
/// `session`. The columns stay unchanged, because the signature covers them. A damaged row stays in
/// `links`, and is set aside when the notebook is loaded.
fn to_version_2(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(
        "CREATE TABLE browser_sessions(id TEXT PRIMARY KEY, pos INTEGER, body TEXT, hmac BLOB, digest BLOB);",
    )?;
    let mut query = db.prepare("SELECT rowid, digest, id, pos, body, hmac FROM links NOT INDEXED")?;
    let rows = query.query_map([], |row| {
        let cells: Option<Vec<SqlValue>> =
            (2..6).map(|at| row.get_ref(at).map(SqlValue::read)).collect::<Result<_, _>>()?;
        Ok((row.get::<_, i64>(0)?, SqlValue::read(row.get_ref(1)?), cells))
    })?;
    for (number, own, cells) in rows.collect::<Result<Vec<_>, _>>()? {
        let is_whole = |cells: &Vec<SqlValue>| own == Some(digest("links", cells));
        let Some(cells) = cells.filter(|cells| is_whole(cells) && has_scope_session(&cells[2])) else {
            continue;
        };
        let sum = digest("browser_sessions", &cells);
        db.execute(
            "INSERT INTO browser_sessions(id, pos, body, hmac, digest) VALUES(?1, ?2, ?3, ?4, ?5)",
            params_from_iter(cells.iter().chain([&sum])),
        )?;
        db.execute("DELETE FROM links WHERE rowid = ?1", [number])?;
    }
    Ok(())
}

/// Adds the tables of sweeps.
fn to_version_3(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(
        "CREATE TABLE sweeps(id TEXT PRIMARY KEY, pos INTEGER, body TEXT, digest BLOB);
         CREATE TABLE sweep_rows(sweep TEXT REFERENCES sweeps(id) DEFERRABLE INITIALLY DEFERRED, row INTEGER,
             body TEXT, digest BLOB, PRIMARY KEY(sweep, row));",
    )
}

fn has_scope_session(body: &SqlValue) -> bool {
    let body = serde_json::from_str::<Value>(body.text().unwrap_or_default());
    body.is_ok_and(|body| body["scope"] == "session")
}
