//! Outputs that were imported in a notebook file. Each belongs to a draft and disappears with it.

use super::core::Core;
use crate::notebook::{DraftId, ExecId, Fact, Run, RunStatus};
use std::collections::HashSet;

/// Forgets imported outputs whose drafts are gone.
pub(super) fn sweep_imported(core: &mut Core) {
    // A set, because a file may have thousands of cells, and this function runs after each cell.
    let drafts: HashSet<&DraftId> = core.notebook.drafts().map(|draft| &draft.id).collect();
    let is_left = |run: &&Run| {
        let has_draft = run.draft.as_ref().is_some_and(|draft| drafts.contains(draft));
        run.status == RunStatus::Imported && !has_draft
    };
    let runs: Vec<ExecId> = core.notebook.runs().filter(is_left).map(|run| run.exec_id.clone()).collect();
    for run in &runs {
        core.notebook.drop_attempt(run);
    }
    if !runs.is_empty() {
        core.publish(Fact::Removed { states: Vec::new(), runs });
    }
}
