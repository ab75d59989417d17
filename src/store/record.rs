//! What stands in the bodies of rows. A change here is a new version of the format: see docs/format.md.
//!
//! Drafts, checkpoints, tasks' checkpoints, links and the items of outputs are stored as they cross every other border.

use super::tables::{Cell, Fault, digest};
use crate::blobs::Digest;
use crate::notebook::{
    Asked, Base, Changes, DraftId, ExecId, MimeBundle, Output, Outputs, Residency, Run, RunError, RunStatus,
    Saving, State, StateId, StreamName, Symbols,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Longer text of a run is several entries, each of at most so many bytes.
const PIECE_BYTES: usize = 1 << 20;

/// Where a state stands: what is needed to keep the tree when the rest of its row is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) id: StateId,
    pub(super) pos: Cell,
    pub(super) parent: Option<StateId>,
    pub(super) run: Option<ExecId>,
    pub(super) is_deleted: bool,
}

impl Place {
    fn cells(&self) -> Vec<Cell> {
        vec![
            self.id.as_str().into(),
            self.pos.clone(),
            self.parent.as_ref().map(StateId::as_str).into(),
            self.run.as_ref().map(ExecId::as_str).into(),
            i64::from(self.is_deleted).into(),
        ]
    }

    /// From the columns of a row, if they are what was written.
    pub(super) fn read(cells: &[Cell]) -> Option<Self> {
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

/// A state, but for its place.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredState {
    pub(super) name: String,
    exec_count: u32,
    created_at: f64,
    label: Option<String>,
    prose: Vec<String>,
    warnings: Vec<String>,
    forks: bool,
    /// Not there in what was written before states could have it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    fork_anyway: bool,
    pinned: bool,
    /// Not there in what was written before this was known of states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) changes: Option<Changes>,
    /// Only where it is so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
}

/// The row of a state.
pub(super) fn state_row(state: &State, pos: Cell) -> Result<Vec<Cell>, Fault> {
    let place = Place {
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
    // The digest of these is made when the row is written.
    cells.push(Cell::Null);
    cells.push(serde_json::to_string(&body)?.into());
    Ok(cells)
}

/// A state as it is when nothing but the disk knows of it.
pub(super) fn state(place: Place, body: StoredState) -> State {
    let living = match (place.is_deleted, &place.parent) {
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
        residency: living,
        checkpoint: None,
        saving: Saving::Idle,
        restored_from: None,
        memory_bytes: None,
        changes: body.changes,
        partial: body.partial,
    }
}

/// A node in place of a state whose record is lost.
pub(super) fn stand_in(place: Place, parent: Option<&State>) -> State {
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

/// A run, but for its id, its outputs and the question that it asks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredRun {
    pub(super) on: Base,
    code: String,
    pub(super) status: RunStatus,
    draft: Option<DraftId>,
    /// Only of what came in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exec_count: Option<u32>,
    /// Only of few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
    pub(super) error: Option<RunError>,
    pub(super) started_at: Option<f64>,
    pub(super) duration_ms: Option<f64>,
    pub(super) state: Option<StateId>,
    /// Only of runs whose client asked for them.
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

/// An entry of the log of a run's outputs.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// An item. Text of the same stream as the item before joins it.
    Output(Output),
    /// Displays show something else.
    Update { display_id: String, data: MimeBundle, metadata: MimeBundle },
    /// What is there goes when the next item comes.
    ClearWhenNext,
    /// An entry that is in a blob, as JSON.
    Blob { digest: Digest, bytes: usize },
}

/// Does to outputs what an entry says.
pub(super) fn replay(outputs: &mut Outputs, entry: Entry) {
    match entry {
        Entry::Output(output) => outputs.keep(output),
        Entry::Update { display_id, data, metadata } => {
            outputs.update_display(&display_id, &data, &metadata);
        }
        Entry::ClearWhenNext => outputs.clear(true),
        Entry::Blob { .. } => {}
    }
}

/// Whether entries, in their order, are the outputs that they come to: none changes or joins an earlier one.
#[derive(Debug, Default)]
pub(super) struct Plain {
    last: Option<StreamName>,
    is_broken: bool,
}

impl Plain {
    /// Notes the next entry.
    pub(super) fn note(&mut self, entry: &Entry) {
        let stream = match entry {
            Entry::Output(Output::Stream { name, .. }) => Some(*name),
            Entry::Output(_) => None,
            _ => return self.is_broken = true,
        };
        self.is_broken |= stream.is_some() && stream == self.last;
        self.last = stream;
    }

    /// Whether they are.
    pub(super) fn is_so(&self) -> bool {
        !self.is_broken
    }
}

/// An entry that is about to be written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said<'a> {
    Output(Cow<'a, Output>),
    ClearWhenNext,
}

/// The entries that come to these outputs. Long text is in pieces, so that writing it takes no copy of all of it.
pub(super) fn entries(outputs: &Outputs) -> impl Iterator<Item = Said<'_>> {
    let pending = outputs.is_clear_pending().then_some(Said::ClearWhenNext);
    outputs.items().iter().flat_map(pieces).map(Said::Output).chain(pending)
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
