//! Outputs that came in a file: each stands below its draft, and goes with it.

use super::core::Core;
use crate::notebook::{DraftId, ExecId, Fact, Run, RunStatus};
use std::collections::HashSet;

/// Forgets the outputs from files whose drafts are gone: run into a state, deleted, or lost with
/// what they hung on.
pub(super) fn sweep_imported(core: &mut Core) {
    // A file may have thousands of cells, and this is done whenever one of them has run.
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
