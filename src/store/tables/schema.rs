//! The tables of the database, and the migrations between versions.

use super::fault::Fault;
use super::table::Table;
use rusqlite::Connection;

/// SQLite's application id of a notebook's database: the letters "Ratn".
pub(super) const APPLICATION_ID: i32 = 0x5261_746e;

/// The oldest version that is read.
const OLDEST: usize = 2;
/// The migrations. The first one makes a database of the version `OLDEST` from an empty file, each
/// other one the next version. A released migration must never change.
const STEPS: &[fn(&Connection) -> rusqlite::Result<()>] = &[to_version_2, to_version_3];
/// The newest version, which this program creates.
pub(super) const NEWEST: usize = OLDEST + STEPS.len() - 1;

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

/// Migrates a database to the newest version. Version 0 is an empty file.
pub(super) fn bring_forward(db: &Connection, from: usize) -> Result<(), Fault> {
    if from != 0 && from < OLDEST {
        let why = format!("its format has version {from}, and Ratoon reads version {OLDEST} and later");
        return Err(Fault::new(why, "open it with the Ratoon that made it, and export it"));
    }
    for step in &STEPS[(from + 1).saturating_sub(OLDEST).min(STEPS.len())..] {
        step(db)?;
    }
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", NEWEST as i64)?;
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
fn to_version_2(db: &Connection) -> rusqlite::Result<()> {
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
         CREATE TABLE links(id TEXT PRIMARY KEY, pos INTEGER, body TEXT, hmac BLOB, digest BLOB);
         CREATE TABLE browser_sessions(id TEXT PRIMARY KEY, pos INTEGER, body TEXT, hmac BLOB, digest BLOB);",
    )
}

/// Adds the tables of sweeps.
fn to_version_3(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(
        "CREATE TABLE sweeps(id TEXT PRIMARY KEY, pos INTEGER, body TEXT, digest BLOB);
         CREATE TABLE sweep_rows(sweep TEXT REFERENCES sweeps(id) DEFERRABLE INITIALLY DEFERRED, row INTEGER,
             body TEXT, digest BLOB, PRIMARY KEY(sweep, row));",
    )
}
