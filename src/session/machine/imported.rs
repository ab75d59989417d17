//! Runs that were imported from a notebook file to show its outputs. Each belongs to a draft. It is
//! removed when the draft has run. If the draft is deleted, it stays until the trash is emptied,
//! because an undo, or a copy of the draft, shows its outputs again.

use super::core::Core;
use crate::notebook::{DraftId, ExecId, Fact, Run, RunStatus};
use std::collections::{HashMap, HashSet};

/// Removes the imported runs of drafts that no longer exist.
pub(super) fn sweep_imported(core: &mut Core) {
    let drafts = core.notebook.drafts().chain(core.notebook.trash().drafts());
    let drafts: HashSet<DraftId> = drafts.map(|draft| draft.id.clone()).collect();
    remove_imported(core, |draft| !drafts.contains(draft));
}

/// Removes the imported runs of some drafts, except those that other drafts show.
pub(super) fn remove_imported(core: &mut Core, is_gone: impl Fn(&DraftId) -> bool) {
    let shown: HashSet<&ExecId> =
        core.notebook.drafts().filter_map(|draft| draft.stale_run.as_ref()).collect();
    let is_left = |run: &&Run| {
        run.status == RunStatus::Imported
            && run.draft.as_ref().is_none_or(&is_gone)
            && !shown.contains(&run.exec_id)
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
