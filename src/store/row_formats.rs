//! The JSON that rows contain. A change here needs a new version of the format: see docs/format.md.
//!
//! Drafts, checkpoints, tasks' checkpoints, links and output items are stored in the same JSON as
//! in the API.

use super::tables::{Fault, SqlValue, digest};
use crate::blobs::{BlobError, Blobs, Digest};
use crate::notebook::MAX_RUN_OUTPUT_BYTES;
use crate::notebook::{
    Asked, Base, Changes, DraftId, ExecId, Metric, MimeBundle, Output, Outputs, Residency, Run, RunError,
    RunStatus, RunWorker, Saving, State, StateId, StreamName, Symbols, WidgetMessage,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Maximum length of an entry of an output log, in bytes. An entry may contain all output that a
/// run may keep. In JSON, one byte of output may need six bytes.
pub(super) const MAX_ENTRY_BYTES: usize = 6 * MAX_RUN_OUTPUT_BYTES + (1 << 20);

/// Maximum number of bytes of text in an entry of an output log. Longer text is split into several
/// entries.
const PIECE_BYTES: usize = 1 << 20;

/// The columns with a state's place in the tree. They have a separate digest, so that the tree
/// survives damage to the other columns of the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreePosition {
    pub(super) id: StateId,
    pub(super) pos: SqlValue,
    pub(super) parent: Option<StateId>,
    pub(super) run: Option<ExecId>,
    pub(super) is_deleted: bool,
}

impl TreePosition {
    fn cells(&self) -> Vec<SqlValue> {
        vec![
            self.id.as_str().into(),
            self.pos.clone(),
            self.parent.as_ref().map(StateId::as_str).into(),
            self.run.as_ref().map(ExecId::as_str).into(),
            i64::from(self.is_deleted).into(),
        ]
    }

    /// Reads the columns of a row. Returns `None` if the digest of the columns is wrong.
    pub(super) fn read(cells: &[SqlValue]) -> Option<Self> {
        let [id, pos, parent, run, deleted, tree, ..] = cells else { return None };
        if digest("tree", &cells[..5]) != *tree {
            return None;
        }
        Some(Self {
            id: StateId::new(id.text()?),
            pos: pos.clone(),
            parent: parent.text().map(StateId::new),
            run: run.text().map(ExecId::new),
            is_deleted: deleted.int()? != 0,
        })
    }
}

/// The other fields of a state, stored as the row's body.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredState {
    pub(super) name: String,
    exec_count: u32,
    created_at: f64,
    label: Option<String>,
    prose: Vec<String>,
    warnings: Vec<String>,
    forks: bool,
    /// Absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    fork_anyway: bool,
    pinned: bool,
    /// Absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) changes: Option<Changes>,
    /// Absent when false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
    /// Absent unless the cell took variables of another state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taken_from: Option<StateId>,
    /// Absent unless the state was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deleted_at: Option<f64>,
}

/// Converts a state to its row.
pub(super) fn state_row(state: &State, pos: SqlValue) -> Result<Vec<SqlValue>, Fault> {
    let place = TreePosition {
        id: state.id.clone(),
        pos,
        parent: state.parent.clone(),
        run: state.exec_id.clone(),
        is_deleted: state.residency == Residency::Deleted,
    };
    let body = StoredState {
        name: state.name.clone(),
        exec_count: state.exec_count,
        created_at: state.created_at,
        label: state.label.clone(),
        prose: state.prose.clone(),
        warnings: state.warnings.clone(),
        forks: state.forks,
        fork_anyway: state.fork_anyway,
        pinned: state.pinned,
        changes: state.changes.clone(),
        partial: state.partial,
        taken_from: state.taken_from.clone(),
        deleted_at: state.deleted_at,
    };
    let mut cells = place.cells();
    // The column `tree`: when the row is written, the digest of the cells so far replaces this
    // value.
    cells.push(SqlValue::Null);
    cells.push(serde_json::to_string(&body)?.into());
    Ok(cells)
}

/// Makes a state from its row. Its residency is that of a state that has just been loaded.
pub(super) fn state(place: TreePosition, body: StoredState) -> State {
    let residency = match (place.is_deleted, &place.parent) {
        (true, _) => Residency::Deleted,
        (false, None) => Residency::Freezing,
        (false, Some(_)) => Residency::Replay,
    };
    State {
        id: place.id,
        name: body.name,
        parent: place.parent,
        taken_from: body.taken_from,
        exec_id: place.run,
        exec_count: body.exec_count,
        created_at: body.created_at,
        label: body.label,
        prose: body.prose,
        warnings: body.warnings,
        forks: body.forks,
        fork_anyway: body.fork_anyway,
        pinned: body.pinned,
        residency,
        deleted_at: body.deleted_at.filter(|_| place.is_deleted),
        checkpoint: None,
        saving: Saving::Idle,
        restored_from: None,
        memory_bytes: None,
        shared_bytes: None,
        in_memory_since: None,
        changes: body.changes,
        partial: body.partial,
    }
}

/// Makes a placeholder for a state whose record is lost.
pub(super) fn stand_in(place: TreePosition, parent: Option<&State>) -> State {
    let body = StoredState {
        name: place.id.as_str().to_owned(),
        exec_count: parent.map_or(0, |p| p.exec_count + 1),
        created_at: parent.map_or(0.0, |p| p.created_at),
        label: None,
        prose: Vec::new(),
        warnings: vec!["its record on disk was damaged: its label and prose are lost".into()],
        forks: true,
        fork_anyway: false,
        pinned: false,
        changes: None,
        partial: false,
        taken_from: None,
        deleted_at: None,
    };
    state(place, body)
}

/// The stored fields of a run: all except the id, the outputs and the prompt.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredRun {
    pub(super) on: Base,
    code: String,
    pub(super) status: RunStatus,
    draft: Option<DraftId>,
    /// Set only for imported runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exec_count: Option<u32>,
    /// Absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    imported_cell: Option<u32>,
    /// Absent when false, and in files of earlier versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    variant: bool,
    /// Absent when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
    pub(super) error: Option<RunError>,
    pub(super) started_at: Option<f64>,
    pub(super) duration_ms: Option<f64>,
    pub(super) state: Option<StateId>,
    /// Present only if the client asked for the symbols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) symbols: Option<Symbols>,
    /// Present only if the run belongs to a sweep with a metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) metric: Option<Metric>,
    /// Absent unless the run was at a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) worker: Option<RunWorker>,
    /// Absent unless the run is in the trash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deleted_at: Option<f64>,
    asked: Asked,
}

impl From<&Run> for StoredRun {
    fn from(run: &Run) -> Self {
        Self {
            on: run.on.clone(),
            code: run.code.clone(),
            status: run.status,
            draft: run.draft.clone(),
            exec_count: run.exec_count,
            imported_cell: run.imported_cell,
            variant: run.variant,
            warnings: run.warnings.clone(),
            error: run.error.clone(),
            started_at: run.started_at,
            duration_ms: run.duration_ms,
            state: run.state.clone(),
            symbols: run.symbols.clone(),
            metric: run.metric.clone(),
            worker: run.worker.clone(),
            deleted_at: run.deleted_at,
            asked: run.asked.clone(),
        }
    }
}

impl StoredRun {
    pub(super) fn run(self, id: &str) -> Run {
        Run {
            exec_id: ExecId::new(id),
            on: self.on,
            code: self.code,
            status: self.status,
            draft: self.draft,
            exec_count: self.exec_count,
            imported_cell: self.imported_cell,
            variant: self.variant,
            outputs: Outputs::default(),
            warnings: self.warnings,
            error: self.error,
            keepable: false,
            prompt: None,
            started_at: self.started_at,
            duration_ms: self.duration_ms,
            state: self.state,
            symbols: self.symbols,
            metric: self.metric,
            worker: self.worker,
            deleted_at: self.deleted_at,
            asked: self.asked,
        }
    }
}

/// An entry in the output log of a run.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LogEntry {
    /// An output item. Stream text is appended to the previous item if both have the same stream.
    Output(Output),
    /// New data for the displays with this id.
    Update { display_id: String, data: MimeBundle, metadata: MimeBundle },
    /// The next item replaces all earlier items.
    ClearWhenNext,
    /// A message of a widget.
    Widget(WidgetMessage),
    /// An entry whose JSON is in a blob.
    Blob { digest: Digest, bytes: usize },
}

/// Applies one entry of an output log to outputs.
pub(super) fn replay(outputs: &mut Outputs, entry: LogEntry) {
    match entry {
        LogEntry::Output(output) => outputs.keep(output),
        LogEntry::Update { display_id, data, metadata } => {
            outputs.update_display(&display_id, &data, &metadata);
        }
        LogEntry::ClearWhenNext => outputs.clear(true),
        // A message that does not fit was not shown either.
        LogEntry::Widget(message) => drop(outputs.widgets.apply(&message)),
        LogEntry::Blob { .. } => {}
    }
}

/// Checks whether a log is as short as possible. In such a log, no entry changes an earlier entry,
/// and no entry can be joined with the previous one.
#[derive(Debug, Default)]
pub(super) struct Plain {
    last: Option<StreamName>,
    is_broken: bool,
}

impl Plain {
    /// Checks the next entry.
    pub(super) fn note(&mut self, entry: &LogEntry) {
        let stream = match entry {
            LogEntry::Output(Output::Stream { name, .. }) => Some(*name),
            LogEntry::Output(_) => None,
            LogEntry::Widget(WidgetMessage::Open { .. }) => return,
            _ => return self.is_broken = true,
        };
        self.is_broken |= stream.is_some() && stream == self.last;
        self.last = stream;
    }

    /// Whether the log is as short as possible so far.
    pub(super) fn is_so(&self) -> bool {
        !self.is_broken
    }
}

/// An entry of an output log that will be written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NewLogEntry<'a> {
    Output(Cow<'a, Output>),
    ClearWhenNext,
    Widget(Cow<'a, WidgetMessage>),
}

/// Returns the entries of the shortest log with these outputs. Splits long text, so that writing
/// needs no copy of the whole text.
pub(super) fn entries(outputs: &Outputs) -> impl Iterator<Item = NewLogEntry<'_>> {
    let pending = outputs.is_clear_pending().then_some(NewLogEntry::ClearWhenNext);
    let widgets = outputs.widgets.messages().map(|message| NewLogEntry::Widget(Cow::Owned(message)));
    outputs.items().iter().flat_map(pieces).map(NewLogEntry::Output).chain(pending).chain(widgets)
}

fn pieces(item: &Output) -> impl Iterator<Item = Cow<'_, Output>> {
    let (long, whole) = match item {
        Output::Stream { name, text } if text.len() > PIECE_BYTES => (Some((*name, text.as_str())), None),
        item => (None, Some(Cow::Borrowed(item))),
    };
    let mut left = long;
    let pieces = std::iter::from_fn(move || {
        let (name, text) = left.take()?;
        let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE_BYTES));
        left = (!rest.is_empty()).then_some((name, rest));
        Some(Cow::Owned(Output::stream(name, piece)))
    });
    pieces.chain(whole)
}

/// Why an entry of an output log cannot be read.
pub(super) enum Unpacked {
    Damaged(String),
    /// The disk failed; a later attempt may succeed.
    Refused(Fault),
}

/// Parses an entry of an output log. Reads the entry from its blob if it is stored in one.
pub(super) fn unpacked(body: &str, blobs: &Blobs) -> Result<LogEntry, Unpacked> {
    let read = |body: &[u8]| {
        serde_json::from_slice(body)
            .map_err(|error| Unpacked::Damaged(format!("it cannot be read ({error})")))
    };
    match read(body.as_bytes())? {
        LogEntry::Blob { digest, bytes } => match blobs.get(&digest, bytes.min(MAX_ENTRY_BYTES)) {
            Ok(body) => read(&body),
            Err(BlobError::Io(_, error)) => Err(Unpacked::Refused(error.into())),
            Err(error) => Err(Unpacked::Damaged(error.to_string())),
        },
        entry => Ok(entry),
    }
}
