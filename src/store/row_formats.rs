//! The JSON in rows. A change here is a new version of the format: see docs/format.md.
//!
//! Drafts, checkpoints, tasks' checkpoints, links and output items are stored in their wire form.

use super::tables::{Fault, SqlValue, digest};
use crate::blobs::Digest;
use crate::notebook::{
    Asked, Base, Changes, DraftId, ExecId, MimeBundle, Output, Outputs, Residency, Run, RunError, RunStatus,
    Saving, State, StateId, StreamName, Symbols,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Bytes per entry; longer text of a run is split into several entries.
const PIECE_BYTES: usize = 1 << 20;

/// A state's place in the tree. It has its own digest, so that the tree survives damage to the rest
/// of the row.
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

    /// Reads the columns of a row; none if their digest is wrong.
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

/// The rest of a state's record, without its place in the tree.
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
}

/// The row of a state.
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
    };
    let mut cells = place.cells();
    // Replaced by the digest of the cells so far when the row is written.
    cells.push(SqlValue::Null);
    cells.push(serde_json::to_string(&body)?.into());
    Ok(cells)
}

/// A state with the residency that it has right after loading.
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
        checkpoint: None,
        saving: Saving::Idle,
        restored_from: None,
        memory_bytes: None,
        changes: body.changes,
        partial: body.partial,
    }
}

/// A stand-in for a state whose record is lost.
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
    };
    state(place, body)
}

/// A run without its id, outputs and prompt.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredRun {
    pub(super) on: Base,
    code: String,
    pub(super) status: RunStatus,
    draft: Option<DraftId>,
    /// Set only for imported runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exec_count: Option<u32>,
    /// Absent when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
    pub(super) error: Option<RunError>,
    pub(super) started_at: Option<f64>,
    pub(super) duration_ms: Option<f64>,
    pub(super) state: Option<StateId>,
    /// Only when the client asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) symbols: Option<Symbols>,
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
            warnings: run.warnings.clone(),
            error: run.error.clone(),
            started_at: run.started_at,
            duration_ms: run.duration_ms,
            state: run.state.clone(),
            symbols: run.symbols.clone(),
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
            outputs: Outputs::default(),
            warnings: self.warnings,
            error: self.error,
            keepable: false,
            prompt: None,
            started_at: self.started_at,
            duration_ms: self.duration_ms,
            state: self.state,
            symbols: self.symbols,
            asked: self.asked,
        }
    }
}

/// An entry in the output log of a run.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LogEntry {
    /// An output item. Stream text is appended to the previous item if that has the same stream.
    Output(Output),
    /// New data for the displays with this id.
    Update { display_id: String, data: MimeBundle, metadata: MimeBundle },
    /// The next item replaces all items so far.
    ClearWhenNext,
    /// An entry whose JSON is in a blob.
    Blob { digest: Digest, bytes: usize },
}

/// Applies an entry to outputs.
pub(super) fn replay(outputs: &mut Outputs, entry: LogEntry) {
    match entry {
        LogEntry::Output(output) => outputs.keep(output),
        LogEntry::Update { display_id, data, metadata } => {
            outputs.update_display(&display_id, &data, &metadata);
        }
        LogEntry::ClearWhenNext => outputs.clear(true),
        LogEntry::Blob { .. } => {}
    }
}

/// Finds out whether a log is as short as possible: no entry changes or joins an earlier one.
#[derive(Debug, Default)]
pub(super) struct Plain {
    last: Option<StreamName>,
    is_broken: bool,
}

impl Plain {
    /// Notes the next entry.
    pub(super) fn note(&mut self, entry: &LogEntry) {
        let stream = match entry {
            LogEntry::Output(Output::Stream { name, .. }) => Some(*name),
            LogEntry::Output(_) => None,
            _ => return self.is_broken = true,
        };
        self.is_broken |= stream.is_some() && stream == self.last;
        self.last = stream;
    }

    /// Whether no entry so far changes or joins an earlier one.
    pub(super) fn is_so(&self) -> bool {
        !self.is_broken
    }
}

/// An entry to be written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NewLogEntry<'a> {
    Output(Cow<'a, Output>),
    ClearWhenNext,
}

/// The shortest log with these outputs. Splits long text, so that writing it needs no copy of the
/// whole text.
pub(super) fn entries(outputs: &Outputs) -> impl Iterator<Item = NewLogEntry<'_>> {
    let pending = outputs.is_clear_pending().then_some(NewLogEntry::ClearWhenNext);
    outputs.items().iter().flat_map(pieces).map(NewLogEntry::Output).chain(pending)
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
