//! Loads a notebook from rows. Reads the undamaged rows and reports the damaged ones.

use super::checkpoint_rows;
use super::chosen_python;
use super::imported_file;
use super::key::{InstallKey, Seal};
use super::row_formats::{LogEntry, StoredRun, StoredState, TreePosition, replay, stand_in, state};
use super::sweep_rows;
use super::tables::{
    BROWSER_SESSIONS, CHECKPOINTS, DRAFTS, Fault, LINKS, META, NAMES, OUTPUTS, RUNS, Row, STATES, SqlValue,
    TASKS, Table, Tables,
};
use crate::blobs::Blobs;
use crate::notebook::{
    Checkpoint, Draft, Form, KeptCredentials, KeptSession, MAX_RUN_OUTPUT_BYTES, Residency, Run, State,
    StateId, TaskCheckpoint,
};
use crate::store::loaded::Loaded;
use crate::store::row_formats::Unpacked;
use crate::store::row_formats::unpacked;
use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use std::collections::{HashMap, HashSet};

/// Reads the whole notebook, and names it `name`. Checks signatures only if `key` is given.
pub(super) fn load(
    tables: &mut Tables,
    blobs: &Blobs,
    key: Option<&InstallKey>,
    name: &str,
) -> Result<Loaded, Fault> {
    let mut loaded = Loaded::default();
    loaded.parts.name = name.to_owned();
    meta(tables, &mut loaded)?;
    states(tables, &mut loaded)?;
    runs(tables, blobs, &mut loaded)?;
    for row in loaded.whole(tables, &DRAFTS, 1)? {
        let draft: Option<Draft> = loaded.body(&DRAFTS, &row, 2);
        loaded.parts.drafts.extend(draft);
    }
    for row in loaded.whole(tables, &TASKS, 2)? {
        let task: Option<TaskCheckpoint> = loaded.body(&TASKS, &row, 3);
        loaded.parts.tasks.extend(task);
    }
    sweep_rows::load(tables, &mut loaded)?;
    names(tables, &mut loaded)?;
    let seal = key.zip(loaded.notebook_id.clone()).map(|(key, id)| Seal::new(key, &id));
    if let (Some(seal), Some(row)) = (&seal, tables.get(&META, &[chosen_python::KEY.into()])?) {
        loaded.parts.python = chosen_python::read(&row[1], seal);
    }
    sweep_rows::stop_foreign(tables, &mut loaded, seal.as_ref())?;
    let row = tables.get(&META, &[imported_file::KEY.into()])?;
    if let Some((file, digest)) = row.and_then(|row| imported_file::read(&row[1])) {
        loaded.parts.imported_file = Some(file);
        loaded.blobs.insert(digest);
    }
    checkpoints(tables, blobs, seal.as_ref(), &mut loaded)?;
    credentials(tables, seal.as_ref(), &mut loaded)?;
    Ok(loaded)
}

/// Reads only the share links and browser sessions.
pub(super) fn load_credentials(tables: &mut Tables, key: &InstallKey) -> Result<KeptCredentials, Fault> {
    let mut loaded = Loaded::default();
    meta(tables, &mut loaded)?;
    let seal = loaded.notebook_id.clone().map(|id| Seal::new(key, &id));
    credentials(tables, seal.as_ref(), &mut loaded)?;
    Ok(loaded.credentials)
}

fn credentials(tables: &mut Tables, seal: Option<&Seal>, loaded: &mut Loaded) -> Result<(), Fault> {
    let links = signed(tables, &LINKS, seal, loaded)?;
    let mut sessions: Vec<KeptSession> = signed(tables, &BROWSER_SESSIONS, seal, loaded)?;
    // The signature of a link's row would also be valid in this table. The prefix of the id shows
    // that a row is a browser session.
    sessions.retain(|session| session.id.starts_with(KeptSession::ID_PREFIX));
    loaded.credentials = KeptCredentials { links, sessions };
    Ok(())
}

/// Reads the links or browser sessions with a valid signature of this install.
fn signed<T: DeserializeOwned>(
    tables: &mut Tables,
    table: &'static Table,
    seal: Option<&Seal>,
    loaded: &mut Loaded,
) -> Result<Vec<T>, Fault> {
    let mut credentials = Vec::new();
    for row in loaded.whole(tables, table, 1)? {
        let own = seal.is_some_and(|seal| {
            seal.is_credential(
                row.cells[0].text().unwrap_or_default(),
                row.cells[2].text().unwrap_or_default(),
                row.cells[3].bytes(),
            )
        });
        let record: Option<T> = loaded.body(table, &row, 2);
        credentials.extend(record.filter(|_| own));
    }
    Ok(credentials)
}

fn meta(tables: &mut Tables, loaded: &mut Loaded) -> Result<(), Fault> {
    for row in loaded.whole(tables, &META, 0)? {
        match row.cells[0].text() {
            Some("notebook_id") => loaded.notebook_id = row.cells[1].text().map(str::to_owned),
            Some("commits") => loaded.commits = row.cells[1].int().unwrap_or_default(),
            _ => {}
        }
    }
    if loaded.notebook_id.is_none() {
        let lost = "the notebook's id is lost: its checkpoints have to be trusted again (`ratoon trust`), \
                    and its share links created again";
        loaded.damage.push(lost.into());
    }
    Ok(())
}

fn states(tables: &mut Tables, loaded: &mut Loaded) -> Result<(), Fault> {
    let mut rows: Vec<(TreePosition, Option<StoredState>)> = Vec::new();
    for row in tables.rows(&STATES)? {
        let place = TreePosition::read(&row.cells);
        let id = row.cells[0].text().unwrap_or_default().to_owned();
        let is_whole = row.is_whole && place.is_some();
        let read = || serde_json::from_str(row.cells[6].text().unwrap_or_default()).ok();
        let body: Option<StoredState> = is_whole.then(read).flatten();
        if body.is_none() {
            let how = if place.is_some() {
                "its label, prose and warnings are lost"
            } else {
                "its place in the graph is lost"
            };
            loaded.lose(&STATES, row.number, format!("the record of state {id:?} was damaged: {how}"));
        }
        rows.extend(place.map(|place| (place, body)));
    }
    rows.sort_by_key(|(place, _)| place.pos.int());
    let mut states: IndexMap<StateId, State> = IndexMap::new();
    for (place, body) in rows {
        if let Some(parent) = place.parent.clone().filter(|parent| !states.contains_key(parent)) {
            hang_on_root(&mut states, parent, loaded);
        }
        let made = match body {
            Some(body) => state(place, body),
            None => stand_in(place.clone(), place.parent.as_ref().and_then(|parent| states.get(parent))),
        };
        states.insert(made.id.clone(), made);
    }
    ensure_root(&mut states, loaded);
    loaded.parts.states = states.into_values().collect();
    Ok(())
}

fn ensure_root(states: &mut IndexMap<StateId, State>, loaded: &mut Loaded) {
    let root = StateId::root();
    if !states.contains_key(&root) {
        states.shift_insert(0, root.clone(), stand_in(place_of(root, None), None));
        loaded.damage.push("the record of the first state is lost: a new one was created".into());
    }
}

/// Adds a placeholder for a missing state that another state names as its parent. The root becomes
/// the parent of the placeholder.
fn hang_on_root(states: &mut IndexMap<StateId, State>, id: StateId, loaded: &mut Loaded) {
    let root = StateId::root();
    ensure_root(states, loaded);
    if id != root {
        loaded.damage.push(format!(
            "state {id} is lost but has child states: an empty state below the first state replaces it"
        ));
        let made = stand_in(place_of(id.clone(), Some(root.clone())), states.get(&root));
        states.insert(id, made);
    }
}

fn place_of(id: StateId, parent: Option<StateId>) -> TreePosition {
    TreePosition { id, pos: SqlValue::Null, parent, run: None, is_deleted: false }
}

fn runs(tables: &mut Tables, blobs: &Blobs, loaded: &mut Loaded) -> Result<(), Fault> {
    let mut found: IndexMap<String, Run> = IndexMap::new();
    for row in loaded.whole(tables, &RUNS, 1)? {
        let id = row.cells[0].text().unwrap_or_default().to_owned();
        if let Some(run) = loaded.body::<StoredRun>(&RUNS, &row, 2) {
            found.insert(id.clone(), run.run(&id));
        }
    }
    for row in loaded.whole(tables, &OUTPUTS, 1)? {
        let (id, body) = (row.cells[0].text().unwrap_or_default(), row.cells[2].text().unwrap_or_default());
        let Some(run) = found.get_mut(id) else {
            loaded.lose(&OUTPUTS, row.number, format!("an output of run {id:?} is lost with its run"));
            continue;
        };
        if let Ok(LogEntry::Blob { digest, .. }) = serde_json::from_str(body) {
            loaded.blobs.insert(digest);
        }
        match unpacked(body, blobs) {
            Ok(_) if run.outputs.kept_bytes() > 2 * MAX_RUN_OUTPUT_BYTES => {
                loaded.lose(&OUTPUTS, row.number, format!("run {id:?} has more outputs than a run can have"));
            }
            Ok(entry) => replay(&mut run.outputs, entry),
            Err(Unpacked::Damaged(why)) => {
                loaded.lose(&OUTPUTS, row.number, format!("an output of run {id:?} is lost: {why}"));
            }
            Err(Unpacked::Refused(fault)) => return Err(fault),
        }
    }
    loaded.parts.runs = found.into_values().collect();
    Ok(())
}

/// Reads the names of states. If a name's row is damaged, restores the name from the record of its
/// state, and puts the name after all other names.
fn names(tables: &mut Tables, loaded: &mut Loaded) -> Result<(), Fault> {
    let before = loaded.damage.len();
    let rows = loaded.whole(tables, &NAMES, 1)?;
    let is_damaged = loaded.damage.len() > before;
    let text = |row: &Row, at: usize| row.cells[at].text().unwrap_or_default().to_owned();
    let mut names: IndexMap<String, StateId> =
        rows.iter().map(|row| (text(row, 0), StateId::new(text(row, 2)))).collect();
    let of: HashMap<StateId, String> = names.iter().map(|(name, id)| (id.clone(), name.clone())).collect();
    for state in loaded.parts.states.iter_mut().filter(|s| s.residency != Residency::Deleted) {
        match of.get(&state.id) {
            Some(name) => state.name.clone_from(name),
            None if is_damaged && !names.contains_key(&state.name) => {
                names.insert(state.name.clone(), state.id.clone());
            }
            None => {}
        }
    }
    let there: HashSet<&StateId> = loaded.parts.states.iter().map(|s| &s.id).collect();
    loaded.parts.names = names.into_iter().filter(|(_, id)| there.contains(id)).collect();
    Ok(())
}

fn checkpoints(
    tables: &mut Tables,
    blobs: &Blobs,
    seal: Option<&Seal>,
    loaded: &mut Loaded,
) -> Result<(), Fault> {
    let at: HashMap<StateId, usize> =
        loaded.parts.states.iter().enumerate().map(|(at, s)| (s.id.clone(), at)).collect();
    for row in loaded.whole(tables, &CHECKPOINTS, 1)? {
        let Some(mut checkpoint) = loaded.body::<Checkpoint>(&CHECKPOINTS, &row, 3) else { continue };
        let id = StateId::new(row.cells[0].text().unwrap_or_default());
        let manifest = row.cells[2].text().unwrap_or_default();
        let (Some(at), Ok(digest)) = (at.get(&id), manifest.parse()) else {
            loaded.lose(
                &CHECKPOINTS,
                row.number,
                format!("a checkpoint of state {id} is lost with its state"),
            );
            continue;
        };
        loaded.manifests.push((id.clone(), digest));
        let state = &mut loaded.parts.states[*at];
        // These values come from the row's columns and from the notebook, because the body may
        // contain other values.
        checkpoint.checkpoint_id = manifest.to_owned();
        checkpoint.notebook_id = loaded.notebook_id.clone().unwrap_or_default();
        checkpoint.state_id = id;
        if checkpoint.python.is_none() && checkpoint.form == Form::Environment {
            // Only records of earlier versions of the format do not say it.
            checkpoint.python = checkpoint_rows::python_of(blobs, &digest);
        }
        checkpoint.is_trusted =
            seal.is_some_and(|seal| seal.is_checkpoint(&row.cells, state.parent.as_ref()));
        let is_better = state.checkpoint.as_ref().is_none_or(|c| c.form == Form::Data);
        if is_better {
            state.checkpoint = Some(checkpoint);
            if state.parent.is_some() && state.residency != Residency::Deleted {
                state.residency = Residency::Disk;
            }
        }
    }
    Ok(())
}
