//! Turns a lineage into a document, and a document into a new notebook.

use super::document::{Cell, Document, is_id, kept};
use super::markdown::Pictures;
use crate::notebook::{
    Asked, Base, Draft, DraftId, DraftKind, ExecId, Notebook, Output, Run, RunStatus, State, StateId, Take,
};
use std::collections::{HashMap, HashSet};

/// Reads the cells of a notebook's states.
pub(super) struct Cells<'a> {
    notebook: &'a Notebook,
    /// See `shown_by_drafts`.
    shown: HashMap<&'a DraftId, &'a Run>,
    /// See `stale_of_drafts`.
    stale: HashMap<&'a DraftId, &'a Run>,
    /// See `Notebook::edits`.
    edits: HashMap<&'a StateId, &'a Draft>,
    /// See `Notebook::drafts_by_place`.
    places: HashMap<(&'a StateId, Option<&'a StateId>), Vec<&'a Draft>>,
}

impl<'a> Cells<'a> {
    pub(super) fn of(notebook: &'a Notebook) -> Self {
        let shown = shown_by_drafts(notebook);
        let stale = stale_of_drafts(notebook, &shown);
        let (edits, places) = (notebook.edits(), notebook.drafts_by_place());
        Self { notebook, shown, stale, edits, places }
    }

    /// The same, for a document of all that ran: failed attempts have cells of their own, so drafts
    /// show only imported outputs, and cells that ran show the code that ran.
    pub(super) fn beside_attempts(notebook: &'a Notebook) -> Self {
        let mut cells = Self::of(notebook);
        cells.shown.retain(|_, run| run.status == RunStatus::Imported);
        cells.edits.clear();
        cells
    }

    /// The cell that left a state, below the drafts and the texts above it. If its code was
    /// changed, it has that code and the outputs of the code that ran.
    pub(super) fn of_state(&self, state: &'a State) -> Vec<Cell> {
        let above = state.parent.as_ref().into_iter().flat_map(|on| self.drafts_at(on, Some(&state.id)));
        let mut cells: Vec<Cell> = above
            .filter(|draft| !draft.source.trim().is_empty() || draft.imported_cell.is_some())
            .map(|draft| self.of_draft(draft))
            .collect();
        for (i, text) in state.prose.iter().enumerate() {
            let cell = Cell::new(DraftKind::Markdown, text);
            cells.push(Cell { id: format!("{}-{}", state.id, i + 1), ..cell });
        }
        if let Some(run) = state.exec_id.as_ref().and_then(|id| self.notebook.run(id)) {
            let of_draft = run.draft.as_ref().map_or(state.id.as_str(), DraftId::as_str);
            let cell = self.of_run(run);
            let edit = self.edits.get(&state.id);
            cells.push(Cell {
                id: of_draft.to_owned(),
                exec_count: Some(state.exec_count),
                is_partial: state.partial,
                is_stale: edit.is_some() && !cell.outputs.is_empty(),
                source: edit.map_or(cell.source, |edit| edit.source.clone()),
                ..cell
            });
        }
        cells
    }

    /// The cell of a run.
    pub(super) fn of_run(&self, run: &Run) -> Cell {
        Cell {
            id: run.exec_id.as_str().to_owned(),
            outputs: outputs_of(run),
            imported_cell: run.imported_cell,
            ..Cell::new(DraftKind::Code, exported(self.notebook, &run.code))
        }
    }

    /// The drafts at the end of a state's lineage.
    pub(super) fn drafts_on(&self, state: &'a StateId) -> Vec<Cell> {
        self.drafts_at(state, None).map(|draft| self.of_draft(draft)).collect()
    }

    /// The cell of a draft. If it has the outputs of an earlier version, it also has the number of
    /// that version, as in Jupyter.
    fn of_draft(&self, draft: &Draft) -> Cell {
        let shown = self.shown.get(&draft.id);
        let stale = self.stale.get(&draft.id);
        let run = shown.or(stale);
        let state = run.and_then(|run| self.notebook.state(run.state.as_ref()?));
        Cell {
            id: draft.id.as_str().to_owned(),
            outputs: run.map(|run| outputs_of(run)).unwrap_or_default(),
            exec_count: run.and_then(|run| run.exec_count).or(state.map(|state| state.exec_count)),
            is_stale: shown.is_none() && stale.is_some(),
            imported_cell: draft.imported_cell,
            ..Cell::new(draft.kind, &draft.source)
        }
    }

    fn drafts_at(&self, on: &'a StateId, before: Option<&'a StateId>) -> impl Iterator<Item = &'a Draft> {
        self.places.get(&(on, before)).into_iter().flatten().copied()
    }
}

impl Document {
    /// The document of a state's lineage, including drafts, in page order.
    pub fn of(notebook: &Notebook, state: &StateId) -> Self {
        let of = Cells::of(notebook);
        let lineage = notebook.lineage(state);
        let mut cells: Vec<Cell> = lineage.into_iter().flat_map(|state| of.of_state(state)).collect();
        cells.extend(of.drafts_on(state));
        with_ids(&mut cells);
        Self::new(notebook.name(), cells)
    }

    pub(super) fn new(name: &str, cells: Vec<Cell>) -> Self {
        Self { name: name.to_owned(), cells, left_out: Vec::new(), file: None, pictures: Pictures::new() }
    }

    /// A new notebook with these cells as drafts of the root. The outputs of a cell become an
    /// imported run of the cell's draft. `new_id` makes the ids of these runs, and of cells without
    /// a unique id.
    pub fn into_notebook(mut self, name: &str, now_ms: f64, new_id: &mut dyn FnMut() -> String) -> Notebook {
        let mut notebook = Notebook::new(name, now_ms);
        let mut taken = HashSet::new();
        for cell in &mut self.cells {
            if cell.id.is_empty() || !taken.insert(cell.id.clone()) {
                cell.id = new_id();
                taken.insert(cell.id.clone());
            }
        }
        for cell in self.cells {
            let id = DraftId::new(cell.id);
            if cell.kind == DraftKind::Code && !(cell.outputs.is_empty() && cell.exec_count.is_none()) {
                notebook.add_run(Run {
                    exec_count: cell.exec_count,
                    imported_cell: cell.imported_cell,
                    outputs: kept(cell.outputs),
                    ..imported(ExecId::new(format!("imported-{}", new_id())), id.clone(), &cell.source)
                });
            }
            let (on, kind) = (StateId::root(), cell.kind);
            notebook.append_draft(Draft {
                instead_of: None,
                id,
                on,
                before: None,
                kind,
                source: cell.source,
                version: 1,
                received: Vec::new(),
                imported_cell: cell.imported_cell,
                stale_run: None,
            });
        }
        notebook
    }
}

/// The code of a cell in a file. The file has no other state to take variables from, so code that
/// takes some becomes a comment.
fn exported(notebook: &Notebook, code: &str) -> String {
    let Some((from, take)) = Take::read(code) else { return code.to_owned() };
    let label = notebook.state(&from).and_then(|state| state.label.as_deref());
    take.comment(label.unwrap_or(from.as_str()))
}

/// For each draft, the run whose outputs the page shows below the draft. It is the imported run, or
/// the last ended run of the draft that left no state and ran at the draft's state. A run that was
/// cancelled before its state was known is not shown.
fn shown_by_drafts(notebook: &Notebook) -> HashMap<&DraftId, &Run> {
    let left_nothing = notebook.runs().filter(|run| run.state.is_none() && run.status.has_ended());
    let is_shown = |draft: &Draft, run: &Run| {
        run.status == RunStatus::Imported || notebook.state_under(run) == Some(&draft.on)
    };
    let drafts: HashMap<&DraftId, &Draft> = notebook.drafts().map(|draft| (&draft.id, draft)).collect();
    let of_draft = left_nothing.filter_map(|run| {
        let draft = drafts.get(run.draft.as_ref()?)?;
        (draft.kind == DraftKind::Code && is_shown(draft, run)).then_some((&draft.id, run))
    });
    of_draft.collect()
}

/// For each draft, the run whose outputs the page shows below the draft as stale, if it shows no
/// others there.
fn stale_of_drafts<'a>(
    notebook: &'a Notebook,
    shown: &HashMap<&DraftId, &Run>,
) -> HashMap<&'a DraftId, &'a Run> {
    let code = notebook.drafts().filter(|draft| draft.kind == DraftKind::Code);
    let of_draft = code.filter(|draft| !shown.contains_key(&draft.id)).filter_map(|draft| {
        let run = notebook.run(draft.stale_run.as_ref()?)?;
        (!run.outputs.items().is_empty()).then_some((&draft.id, run))
    });
    of_draft.collect()
}

/// The outputs of a run. Adds the run's error if the outputs do not contain an error.
fn outputs_of(run: &Run) -> Vec<Output> {
    let mut items = run.outputs.items().to_vec();
    let is_told = items.iter().any(|item| matches!(item, Output::Error(_)));
    items.extend(run.error.clone().filter(|_| !is_told).map(Output::Error));
    items
}

/// An imported run of a draft, without outputs.
pub(super) fn imported(exec_id: ExecId, draft: DraftId, code: &str) -> Run {
    let on = Base::State(StateId::root());
    let asked = Asked { on: on.clone(), new_state_name: None };
    let run = Run::new(exec_id, on, code.to_owned(), Some(draft), asked);
    Run { status: RunStatus::Imported, ..run }
}

/// Gives every cell a valid and unique id.
pub(super) fn with_ids(cells: &mut [Cell]) {
    let mut taken = HashSet::new();
    // `next` only grows. If it started again at 1, a file with many ids of the form `cell-N` would
    // make the loop slow.
    let mut next = 1;
    for (at, cell) in cells.iter_mut().enumerate() {
        if is_id(&cell.id) && taken.insert(cell.id.clone()) {
            continue;
        }
        next = next.max(at + 1);
        while !taken.insert(format!("cell-{next}")) {
            next += 1;
        }
        cell.id = format!("cell-{next}");
    }
}
