//! All branches of a notebook in one file: an HTML page in which each line of the graph can be
//! shown, and two of them compared.

use super::document::{Cell, Document};
use super::lineage::Cells;
use crate::notebook::{Notebook, Residency, Run, RunStatus, StateId};
use std::collections::HashMap;
use std::ops::Range;

/// The cells of all states and failed attempts of a notebook.
pub struct Tree {
    /// All cells. Each belongs to one node.
    pub(super) document: Document,
    /// Parents before their children. The first node is the root.
    pub(super) nodes: Vec<Node>,
    /// The index of the node whose line the page shows at first.
    pub(super) here: usize,
}

/// A state, or a failed attempt.
pub(super) struct Node {
    /// The id of the state; of an attempt, the id of its run.
    pub(super) id: String,
    /// The index of the parent; `None` for the root.
    pub(super) parent: Option<usize>,
    pub(super) label: Option<String>,
    pub(super) kind: NodeKind,
    /// The node's cell and the texts above it: indexes into the document's cells.
    pub(super) cells: Range<usize>,
    /// The drafts below it.
    pub(super) drafts: Range<usize>,
}

pub(super) enum NodeKind {
    State,
    /// A run that left no state, because it failed or was stopped.
    Attempt,
    /// A deleted state, which is on the way to others.
    Deleted,
}

impl Tree {
    /// The tree of a notebook. The page shows the line of the state `here` at first.
    pub(super) fn of(notebook: &Notebook, here: &StateId) -> Self {
        let of = Cells::beside_attempts(notebook);
        let document = Document::new(notebook.name(), Vec::new());
        let mut tree = Self { document, nodes: Vec::new(), here: 0 };
        let mut index: HashMap<&StateId, usize> = HashMap::new();
        for state in notebook.states() {
            let at = tree.nodes.len();
            index.insert(&state.id, at);
            if state.id == *here {
                tree.here = at;
            }
            let is_deleted = state.residency == Residency::Deleted;
            let node = Node {
                id: state.id.as_str().to_owned(),
                parent: state.parent.as_ref().and_then(|parent| index.get(parent).copied()),
                label: state.label.clone(),
                kind: if is_deleted { NodeKind::Deleted } else { NodeKind::State },
                cells: tree.add(of.of_state(state)),
                drafts: tree.add(of.drafts_on(&state.id)),
            };
            tree.nodes.push(node);
        }
        for run in notebook.runs().filter(|run| is_attempt(run)) {
            let on = notebook.state_under(run);
            let Some(parent) = on.and_then(|on| index.get(on).copied()) else { continue };
            let cells = tree.add(vec![of.of_run(run)]);
            tree.nodes.push(Node {
                id: run.exec_id.as_str().to_owned(),
                parent: Some(parent),
                label: None,
                kind: NodeKind::Attempt,
                drafts: cells.end..cells.end,
                cells,
            });
        }
        tree
    }

    fn add(&mut self, cells: Vec<Cell>) -> Range<usize> {
        let from = self.document.cells.len();
        self.document.cells.extend(cells);
        from..self.document.cells.len()
    }
}

/// Whether the graph shows a run as a failed attempt.
fn is_attempt(run: &Run) -> bool {
    let has_failed = matches!(run.status, RunStatus::Error | RunStatus::Interrupted | RunStatus::Crashed);
    has_failed && run.state.is_none() && run.started_at.is_some()
}
