//! Runs that were imported from a notebook file to show its outputs. Each belongs to a draft and is
//! removed with the draft; while the draft is in the trash, it stays.

use super::core::Core;
use crate::notebook::{DraftId, ExecId, Fact, Run, RunStatus};
use std::collections::{HashMap, HashSet};

/// Removes imported runs whose drafts no longer exist.
pub(super) fn sweep_imported(core: &mut Core) {
    // A set makes lookups fast: a file may have thousands of cells, and this function runs after
    // each cell.
    let drafts = core.notebook.drafts().chain(core.notebook.trash().drafts());
    let drafts: HashSet<&DraftId> = drafts.map(|draft| &draft.id).collect();
    let is_left = |run: &&Run| {
        let has_draft = run.draft.as_ref().is_some_and(|draft| drafts.contains(draft));
        run.status == RunStatus::Imported && !has_draft
    };
    let runs: Vec<ExecId> = core.notebook.runs().filter(is_left).map(|run| run.exec_id.clone()).collect();
    for run in &runs {
        core.notebook.remove_attempt(run);
    }
    if !runs.is_empty() {
        core.publish(Fact::Removed { states: Vec::new(), runs, deleted_at: None });
    }
}

/// The imported runs of some drafts, by draft.
pub(super) fn imported_runs(core: &Core, drafts: &HashSet<DraftId>) -> HashMap<DraftId, Run> {
    if drafts.is_empty() {
        return HashMap::new();
    }
    let imported = core.notebook.runs().filter(|run| run.status == RunStatus::Imported);
    let of_draft = imported.filter_map(|run| Some((run.draft.clone()?, run)));
    let wanted = of_draft.filter(|(draft, _)| drafts.contains(draft));
    wanted.map(|(draft, run)| (draft, run.clone())).collect()
}
