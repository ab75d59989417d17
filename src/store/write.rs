//! Writes facts as rows. The store's thread begins and ends the transaction.

use super::draft_order::DraftOrder;
use super::imported_file;
use super::row_formats::{
    LogEntry, MAX_ENTRY_BYTES, NewLogEntry, Plain, StoredRun, StoredState, Unpacked, entries, replay,
    state_row, unpacked,
};
use super::sweep_rows;
use super::tables::{
    CHECKPOINTS, DRAFTS, Fault, META, NAMES, OUTPUTS, RUNS, STATES, SqlValue, TASKS, Tables,
};
use crate::blobs::Blobs;
use crate::notebook::{
    Base, Changes, Draft, DraftId, ExecId, Fact, ImportedFile, Outputs, Parts, PlacedDraft, Residency, Run,
    State, StateId, TaskCheckpoint, WidgetMessage,
};
use crate::store::Notebook;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashMap;

/// Maximum length of an output item's JSON in a row. When the run has ended, a longer item is moved
/// to a blob.
const MAX_INLINE_BYTES: usize = 256 << 10;

/// When a log has grown by this many bytes, it is compacted. Otherwise `clear_output` in a loop
/// would make the log grow forever.
const MAX_LOG_BYTES: usize = 64 << 20;

/// Writes the tables and blobs of one notebook.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) tables: Tables,
    blobs: Blobs,
    /// SQLite's count of changed rows at the beginning of the transaction.
    changes: u64,
    logs: HashMap<ExecId, OpenLog>,
    /// The order of drafts in their table; read when a draft changes for the first time.
    draft_order: Option<DraftOrder>,
}

/// The log of a run that has not ended.
#[derive(Debug, Default)]
struct OpenLog {
    next: i64,
    bytes: usize,
}

impl Writer {
    pub(super) fn new(tables: Tables, blobs: Blobs) -> Self {
        Self { tables, blobs, changes: 0, logs: HashMap::new(), draft_order: None }
    }

    pub(super) fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Stores the file that the notebook is imported from.
    pub(super) fn keep_imported_file(&mut self, file: &str) -> Result<Option<ImportedFile>, Fault> {
        imported_file::keep(&mut self.blobs, file)
    }

    /// Makes all blobs that the rows name durable. Must be called before the commit.
    pub(super) fn settle(&mut self) -> Result<(), Fault> {
        Ok(self.blobs.settle()?)
    }

    /// Begins a transaction, unless one is already open.
    pub(super) fn begin(&mut self) -> Result<(), Fault> {
        if !self.tables.is_open() {
            self.tables.begin()?;
            self.changes = self.tables.changes();
        }
        Ok(())
    }

    pub(super) fn is_open(&self) -> bool {
        self.tables.is_open()
    }

    /// Whether the transaction has changed any row.
    pub(super) fn has_changed(&self) -> bool {
        self.tables.changes() != self.changes
    }

    pub(super) fn commit(&self) -> Result<(), Fault> {
        self.tables.commit()
    }

    pub(super) fn roll_back(&self) {
        self.tables.roll_back();
    }

    /// Rolls back. After this call, closing the database leaves SQLite's log unchanged.
    pub(super) fn abandon(&self) {
        self.tables.roll_back();
        self.tables.settle_on_close(false);
    }

    /// Stores the number of transactions since the notebook was created.
    pub(super) fn count(&self, commits: i64) -> Result<(), Fault> {
        self.tables.put(&META, &["commits".into(), commits.into()])
    }

    /// Writes one fact.
    pub(super) fn fact(&mut self, fact: &Fact) -> Result<(), Fault> {
        match fact {
            Fact::RunAdded { run } => self.run(run),
            Fact::RunStarted { exec_id, on, started_at } => self.change_run(exec_id, |run| {
                run.status = crate::notebook::RunStatus::Running;
                run.on = on.clone();
                run.started_at = Some(*started_at);
            }),
            Fact::OutputAdded { exec_id, output } => {
                self.log(exec_id, &NewLogEntry::Output(Cow::Borrowed(output)))
            }
            Fact::OutputsCleared { exec_id, wait: true } => self.log(exec_id, &NewLogEntry::ClearWhenNext),
            Fact::OutputsCleared { exec_id, wait: false } => {
                self.logs.remove(exec_id);
                self.tables.remove(&OUTPUTS, "run", exec_id.as_str())
            }
            Fact::DisplayUpdated { exec_id, display_id, data, metadata } => self.log(
                exec_id,
                &LogEntry::Update {
                    display_id: display_id.clone(),
                    data: data.clone(),
                    metadata: metadata.clone(),
                },
            ),
            Fact::WidgetsChanged { exec_id, messages } => messages
                .iter()
                .filter(|message| !matches!(message, WidgetMessage::Custom { .. }))
                .try_for_each(|message| self.log(exec_id, &NewLogEntry::Widget(Cow::Borrowed(message)))),
            Fact::RunWarned { exec_id, warning } => {
                self.change_run(exec_id, |run| run.warnings.push(warning.clone()))
            }
            Fact::RunEnded { exec_id, status, error, duration_ms, state, symbols, metric, worker } => {
                self.change_run(exec_id, |run| {
                    run.status = *status;
                    run.error.clone_from(error);
                    run.duration_ms = *duration_ms;
                    run.state.clone_from(state);
                    run.symbols.clone_from(symbols);
                    run.metric.clone_from(metric);
                    run.worker.clone_from(worker);
                })?;
                self.logs.remove(exec_id);
                self.compact(exec_id)
            }
            Fact::StateAdded { state } => self.add_state(state),
            Fact::StateChanged { state } => self.change_state(state),
            Fact::ChangesFound { state, changes } => self.changes(state, changes),
            Fact::Removed { states, runs, deleted_at: None } => {
                for run in runs {
                    self.remove_run(run)?;
                }
                states.iter().try_for_each(|state| self.remove_state(state))
            }
            Fact::Removed { states, runs, deleted_at: Some(at) } => {
                // What ran against a state that was deleted earlier returns together with it.
                let mut state_times = HashMap::new();
                for state in states {
                    state_times.insert(state, self.mark_deleted(state, *at)?);
                }
                let mut run_times = HashMap::new();
                for id in runs {
                    self.change_run(id, |run| {
                        let known = match &run.on {
                            Base::State(state) => state_times.get(state),
                            Base::Run(earlier) => run_times.get(earlier),
                            Base::Name(_) => None,
                        };
                        let deleted_at = known.copied().unwrap_or(*at);
                        run.deleted_at = Some(deleted_at);
                        run_times.insert(id, deleted_at);
                    })?;
                }
                Ok(())
            }
            Fact::Restored { states, runs } => {
                for run in runs {
                    // In the notebook, they come after all other runs.
                    let pos = self.tables.new_pos();
                    if self.tables.get(&RUNS, &[run.exec_id.as_str().into()])?.is_some() {
                        self.tables.put(&RUNS, &run_row(run, pos)?)?;
                    }
                }
                for state in states {
                    self.change_state(state)?;
                    if state.residency != Residency::Deleted {
                        let pos = self.pos_of(&NAMES, &state.name)?;
                        self.tables.put(&NAMES, &name_row(&state.name, pos, &state.id))?;
                    }
                }
                Ok(())
            }
            Fact::DraftsChanged { on, removed, put } => self.drafts(on, removed, put),
            // The store's thread writes it, because it signs it.
            Fact::PythonChanged { .. } => Ok(()),
            Fact::TaskSaved { checkpoint } => {
                let pos = self.tables.new_pos();
                self.tables.put(&TASKS, &task_row(checkpoint, pos)?)
            }
            Fact::SweepAdded { .. }
            | Fact::SweepRowsAdded { .. }
            | Fact::SweepRowEnded { .. }
            | Fact::SweepEnded { .. }
            | Fact::SweepRemoved { .. } => sweep_rows::write(&mut self.tables, fact),
            Fact::Reset { notebook } => {
                let names = notebook.states.iter().filter(|s| s.residency != Residency::Deleted);
                let parts = Parts {
                    name: notebook.name.clone(),
                    names: names.map(|s| (s.name.clone(), s.id.clone())).collect(),
                    states: notebook.states.clone(),
                    runs: notebook.runs.clone(),
                    drafts: notebook.drafts.clone(),
                    ..Parts::default()
                };
                self.graph(&parts)
            }
        }
    }

    /// Replaces the stored notebook with this one. Skips unchanged rows, so that the change needs
    /// little disk space. Deletes checkpoints of states that no longer exist.
    pub(super) fn whole(&mut self, parts: &Parts) -> Result<(), Fault> {
        self.graph(parts)?;
        let tasks = parts.tasks.iter().map(|task| task_row(task, SqlValue::Null));
        self.tables.replace_all(&TASKS, tasks)
    }

    fn graph(&mut self, parts: &Parts) -> Result<(), Fault> {
        self.logs.clear();
        self.draft_order = None;
        self.tables.replace_all(&STATES, parts.states.iter().map(|s| state_row(s, SqlValue::Null)))?;
        self.tables.replace_all(&RUNS, parts.runs.iter().map(|r| run_row(r, SqlValue::Null)))?;
        let blobs = &mut self.blobs;
        let rows = parts.runs.iter().flat_map(|run| log_rows(run.exec_id.as_str(), &run.outputs));
        let rows =
            rows.map(|row| row.and_then(|(run, seq, body)| log_row(run, seq, body, Some(&mut *blobs))));
        self.tables.replace_all(&OUTPUTS, rows)?;
        let names = parts.names.iter().map(|(name, id)| Ok(name_row(name, SqlValue::Null, id)));
        self.tables.replace_all(&NAMES, names)?;
        let mut order = DraftOrder::default();
        let drafts = parts.drafts.iter().map(|draft| draft_row(draft, order.append(&draft.id, &draft.on)));
        self.tables.replace_all(&DRAFTS, drafts)?;
        imported_file::put(&self.tables, parts.imported_file.as_ref())?;
        sweep_rows::replace(&mut self.tables, &parts.sweeps)?;
        self.tables.remove_orphans(&CHECKPOINTS, "state")
    }

    fn run(&mut self, run: &Run) -> Result<(), Fault> {
        let pos = self.pos_of(&RUNS, run.exec_id.as_str())?;
        self.tables.put(&RUNS, &run_row(run, pos)?)?;
        self.logs.remove(&run.exec_id);
        self.tables.remove(&OUTPUTS, "run", run.exec_id.as_str())?;
        entries(&run.outputs).try_for_each(|entry| self.log(&run.exec_id, &entry))
    }

    /// Returns the position of a row in its table. If there is no such row, returns a new position.
    fn pos_of(&mut self, table: &super::tables::Table, id: &str) -> Result<SqlValue, Fault> {
        let row = self.tables.get(table, &[id.into()])?;
        Ok(row.map_or_else(|| self.tables.new_pos(), |row| row[1].clone()))
    }

    fn change_run(&mut self, id: &ExecId, change: impl FnOnce(&mut StoredRun)) -> Result<(), Fault> {
        let Some(mut row) = self.tables.get(&RUNS, &[id.as_str().into()])? else { return Ok(()) };
        let mut run: StoredRun = serde_json::from_str(row[2].text().unwrap_or_default())?;
        change(&mut run);
        row[2] = serde_json::to_string(&run)?.into();
        self.tables.put(&RUNS, &row)
    }

    fn remove_run(&mut self, id: &ExecId) -> Result<(), Fault> {
        self.logs.remove(id);
        self.tables.remove(&OUTPUTS, "run", id.as_str())?;
        self.tables.remove(&RUNS, "id", id.as_str())
    }

    fn log(&mut self, id: &ExecId, entry: &impl Serialize) -> Result<(), Fault> {
        let run = id.as_str();
        if !self.logs.contains_key(id) {
            if self.tables.get(&RUNS, &[run.into()])?.is_none() {
                return Ok(());
            }
            let next = self.tables.size_of_log(run)?.next;
            self.logs.insert(id.clone(), OpenLog { next, bytes: 0 });
        }
        let log = self.logs.entry(id.clone()).or_default();
        let body = serde_json::to_string(entry)?;
        log.bytes += body.len();
        let (seq, is_long) = (log.next, log.bytes > MAX_LOG_BYTES);
        log.next += 1;
        self.tables.put(&OUTPUTS, &log_row(run, seq, body, None)?)?;
        if is_long { self.compact(id) } else { Ok(()) }
    }

    /// Replaces the log of a run with the shortest log that has the same outputs.
    fn compact(&mut self, id: &ExecId) -> Result<(), Fault> {
        let run = id.as_str();
        let size = self.tables.size_of_log(run)?;
        if size.entries <= 1 && size.longest <= MAX_INLINE_BYTES {
            return Ok(());
        }
        self.logs.remove(id);
        // The first pass only checks the entries. Collecting them would need memory for a second
        // copy of all outputs.
        let mut plain = Plain::default();
        let read = self.tables.each_of_log(run, |body| {
            plain.note(&unpacked(body, &self.blobs)?);
            Ok::<_, Unpacked>(())
        })?;
        if read.is_err() || plain.is_so() && size.longest <= MAX_INLINE_BYTES {
            // The log is already as short as possible, or an entry cannot be read. The next open
            // reports such an entry.
            return Ok(());
        }
        let mut outputs = Outputs::default();
        let read = self.tables.each_of_log(run, |body| {
            replay(&mut outputs, unpacked(body, &self.blobs)?);
            Ok::<_, Unpacked>(())
        })?;
        if read.is_err() {
            // The next open reports an unreadable entry, so the log stays unchanged here.
            return Ok(());
        }
        let is_less = entries(&outputs).count() as i64 != size.entries || size.longest > MAX_INLINE_BYTES;
        if is_less {
            self.tables.remove(&OUTPUTS, "run", run)?;
            for row in log_rows(run, &outputs) {
                let (run, seq, body) = row?;
                self.tables.put(&OUTPUTS, &log_row(run, seq, body, Some(&mut self.blobs))?)?;
            }
        }
        Ok(())
    }

    fn add_state(&mut self, state: &State) -> Result<(), Fault> {
        let pos = self.pos_of(&STATES, state.id.as_str())?;
        self.tables.put(&STATES, &state_row(state, pos)?)?;
        let pos = self.pos_of(&NAMES, &state.name)?;
        self.tables.put(&NAMES, &name_row(&state.name, pos, &state.id))
    }

    fn change_state(&mut self, state: &State) -> Result<(), Fault> {
        let id = state.id.as_str();
        let Some(row) = self.tables.get(&STATES, &[id.into()])? else { return Ok(()) };
        let anew = state_row(state, row[1].clone())?;
        // Usually only the residency has changed, and the residency is not stored.
        if anew[..5] == row[..5] && anew[6] == row[6] {
            return Ok(());
        }
        self.tables.put(&STATES, &anew)?;
        if state.residency == Residency::Deleted {
            self.tables.remove(&NAMES, "state", id)?;
        }
        Ok(())
    }

    /// Marks a state as deleted, unless it is. Its checkpoint and drafts stay until it is purged.
    /// Returns the time of its deletion.
    fn mark_deleted(&mut self, id: &StateId, at: f64) -> Result<f64, Fault> {
        let Some(mut row) = self.tables.get(&STATES, &[id.as_str().into()])? else { return Ok(at) };
        let mut body: StoredState = serde_json::from_str(row[6].text().unwrap_or_default())?;
        let known = body.deleted_at;
        if known.is_none() {
            body.deleted_at = Some(at);
            row[4] = 1.into();
            row[6] = serde_json::to_string(&body)?.into();
            self.tables.put(&STATES, &row)?;
        }
        self.tables.remove(&NAMES, "state", id.as_str())?;
        Ok(known.unwrap_or(at))
    }

    fn changes(&mut self, id: &StateId, changes: &Changes) -> Result<(), Fault> {
        let Some(mut row) = self.tables.get(&STATES, &[id.as_str().into()])? else { return Ok(()) };
        let mut body: StoredState = serde_json::from_str(row[6].text().unwrap_or_default())?;
        body.changes = Some(changes.clone());
        row[6] = serde_json::to_string(&body)?.into();
        self.tables.put(&STATES, &row)
    }

    fn remove_state(&mut self, id: &StateId) -> Result<(), Fault> {
        self.remove_from_state(id)?;
        self.tables.remove(&STATES, "id", id.as_str())
    }

    /// Removes a state's checkpoint, names and drafts.
    fn remove_from_state(&mut self, id: &StateId) -> Result<(), Fault> {
        if let Some(order) = &mut self.draft_order {
            order.remove_state(id);
        }
        for table in [&CHECKPOINTS, &NAMES, &DRAFTS] {
            self.tables.remove(table, "state", id.as_str())?;
        }
        Ok(())
    }

    fn drafts(&mut self, on: &StateId, removed: &[DraftId], put: &[PlacedDraft]) -> Result<(), Fault> {
        if self.draft_order.is_none() {
            self.draft_order = Some(DraftOrder::read(&mut self.tables)?);
        }
        let Self { tables, draft_order: Some(order), .. } = self else { return Ok(()) };
        for id in removed {
            if let Some((state, seq)) = order.remove(id) {
                tables.remove_row(&DRAFTS, &[state.as_str().into(), seq.into()])?;
            }
        }
        if !put.is_empty() && tables.get(&STATES, &[on.as_str().into()])?.is_none() {
            return Ok(());
        }
        for PlacedDraft { draft, after, .. } in put {
            let place = order.place(&draft.id, on, after.as_ref());
            if let Some((state, seq)) = &place.left {
                tables.remove_row(&DRAFTS, &[state.as_str().into(), (*seq).into()])?;
            }
            if !place.spread.is_empty() {
                spread(tables, on, &place.spread)?;
            }
            tables.put(&DRAFTS, &draft_row(draft, place.seq)?)?;
        }
        Ok(())
    }
}

/// Renumbers the rows of a state's drafts.
fn spread(tables: &Tables, on: &StateId, numbers: &[(i64, i64)]) -> Result<(), Fault> {
    let rows = numbers.iter().map(|(from, _)| tables.get(&DRAFTS, &[on.as_str().into(), (*from).into()]));
    let rows: Vec<Option<Vec<SqlValue>>> = rows.collect::<Result<_, _>>()?;
    tables.remove(&DRAFTS, "state", on.as_str())?;
    for (row, (_, to)) in rows.into_iter().zip(numbers) {
        let Some(mut row) = row else { continue };
        row[1] = (*to).into();
        tables.put(&DRAFTS, &row)?;
    }
    Ok(())
}

fn run_row(run: &Run, pos: SqlValue) -> Result<Vec<SqlValue>, Fault> {
    Ok(vec![run.exec_id.as_str().into(), pos, serde_json::to_string(&StoredRun::from(run))?.into()])
}

fn name_row(name: &str, pos: SqlValue, id: &StateId) -> Vec<SqlValue> {
    vec![name.into(), pos, id.as_str().into()]
}

fn draft_row(draft: &Draft, seq: i64) -> Result<Vec<SqlValue>, Fault> {
    Ok(vec![draft.on.as_str().into(), seq.into(), serde_json::to_string(draft)?.into()])
}

fn task_row(task: &TaskCheckpoint, pos: SqlValue) -> Result<Vec<SqlValue>, Fault> {
    let version = i64::try_from(task.version).unwrap_or(i64::MAX);
    Ok(vec![task.task_id.as_str().into(), version.into(), pos, serde_json::to_string(task)?.into()])
}

type LogRow<'a> = Result<(&'a str, i64, String), Fault>;

/// Returns the rows of the shortest log with these outputs.
fn log_rows<'a>(run: &'a str, outputs: &'a Outputs) -> impl Iterator<Item = LogRow<'a>> {
    (0..).zip(entries(outputs)).map(move |(seq, entry)| Ok((run, seq, serde_json::to_string(&entry)?)))
}

/// Returns one row of a log. If `blobs` is given, a large entry goes to a blob.
fn log_row(run: &str, seq: i64, mut body: String, blobs: Option<&mut Blobs>) -> Result<Vec<SqlValue>, Fault> {
    if let Some(blobs) = blobs
        && (MAX_INLINE_BYTES + 1..=MAX_ENTRY_BYTES).contains(&body.len())
    {
        let put = blobs.put(body.as_bytes())?;
        body = serde_json::to_string(&LogEntry::Blob { digest: put.digest, bytes: body.len() })?;
    }
    Ok(vec![run.into(), seq.into(), body.into()])
}

/// Returns the parts of a notebook that the store writes.
pub(super) fn parts_of(notebook: &Notebook) -> Parts {
    Parts {
        name: notebook.name().to_owned(),
        states: notebook.states().chain(notebook.trash().states()).cloned().collect(),
        names: notebook.named().map(|(name, id)| (name.to_owned(), id.clone())).collect(),
        runs: notebook.runs().chain(notebook.trash().runs()).cloned().collect(),
        drafts: notebook.drafts().chain(notebook.trash().drafts()).cloned().collect(),
        tasks: notebook.tasks().cloned().collect(),
        python: notebook.chosen_python(),
        imported_file: notebook.imported_file().cloned(),
        sweeps: notebook.sweeps().cloned().collect(),
    }
}
