//! Removes states and runs from the graph, moves them to the trash and back, and tells the clients.

use crate::notebook::{DraftId, ExecId, Fact, Reply, Residency, StateId};
use crate::problem::{Kind, Problem};
use crate::session::machine::core::not_found;
use crate::session::machine::drafts::remove_edits_of;
use crate::session::machine::imported::sweep_imported;
use crate::session::machine::parts::Parts;
use indexmap::IndexMap;
use std::collections::HashSet;

/// Removes a deleted state from the graph if it has neither children nor open runs. Called when
/// a run against the state has ended without leaving a state.
pub(in crate::session::machine) fn forget_deleted(parts: &mut Parts, id: &StateId) {
    let state = parts.core.notebook.state(id).filter(|s| s.residency == Residency::Deleted);
    let Some(at) = state.and_then(|state| state.deleted_at) else { return };
    let before = lineage(parts, id);
    let (states, runs) = parts.core.notebook.forget_deleted(id);
    forget_runs(parts, &runs);
    move_away(parts, &before, &states);
    publish_removed(parts, states, runs, Some(at));
}

pub(in crate::session::machine) fn forget_runs(parts: &mut Parts, runs: &[ExecId]) {
    parts.runs.forget(runs);
    parts.held.forget(runs);
}

/// Moves the clients that look at a removed state to its nearest remaining ancestor. `before` is
/// the lineage of the deleted state before the deletion.
pub(in crate::session::machine) fn move_away(parts: &mut Parts, before: &[StateId], removed: &[StateId]) {
    if removed.is_empty() {
        return;
    }
    let stays = before.iter().rev().find(|id| !removed.contains(id)).cloned();
    let stays = stays.unwrap_or_else(StateId::root);
    parts.presence.move_away(&mut parts.core, &stays, |id| removed.contains(id));
}

/// Publishes which states and runs were removed from the graph: at the time `at`, or for good. The
/// edits of cells that are gone for good go too.
pub(in crate::session::machine) fn publish_removed(
    parts: &mut Parts,
    states: Vec<StateId>,
    runs: Vec<ExecId>,
    at: Option<f64>,
) {
    if at.is_none() {
        remove_edits_of(&mut parts.core, &states);
    }
    if !states.is_empty() || !runs.is_empty() {
        parts.core.publish(Fact::Removed { states, runs, deleted_at: at });
    }
}

/// Deletes a run that left no state.
pub(in crate::session::machine) fn drop_attempt(parts: &mut Parts, exec_id: &ExecId) -> Reply {
    let at = parts.core.notebook.next_deletion(parts.core.now_ms);
    let Some(runs) = take_attempt(parts, exec_id, at) else {
        return Reply::Refused(not_found("failed run", exec_id));
    };
    publish_removed(parts, Vec::new(), runs, Some(at));
    trim_trash(parts);
    Reply::Done
}

/// Moves a run that left no state into the trash. Returns the runs that were removed with it.
pub(in crate::session::machine) fn take_attempt(
    parts: &mut Parts,
    exec_id: &ExecId,
    at: f64,
) -> Option<Vec<ExecId>> {
    let runs = parts.core.notebook.drop_attempt(exec_id, at)?;
    parts.held.end_of(&mut parts.core, exec_id);
    forget_runs(parts, &runs);
    Some(runs)
}

/// Restores a deleted state or failed run by its id, with all that was deleted with it. The
/// states have no processes: they come back from their checkpoints or by replay.
pub(in crate::session::machine) fn restore(parts: &mut Parts, id: &str) -> Reply {
    let Some(mut restored) = parts.core.notebook.restore(id) else {
        let why = "nothing in the trash has this id: it was restored, or deleted for good";
        let how = "GET /api/notebooks/{name}/trash lists what can be restored";
        return Reply::Refused(Problem::new(Kind::NotFound, format!("restore {id:?}"), why, how));
    };
    // The process of the root was not ended.
    if parts.core.processes.frozen(&StateId::root()).is_some()
        && let Some(root) = restored.states.iter_mut().find(|state| state.id.is_root())
        && let Some(own) = parts.core.notebook.state_mut(&StateId::root())
    {
        let now_ms = parts.core.now_ms;
        root.move_to(Residency::Memory, now_ms);
        own.move_to(Residency::Memory, now_ms);
    }
    parts.core.publish(Fact::Restored { states: restored.states, runs: restored.runs });
    let mut drafts: IndexMap<StateId, HashSet<DraftId>> = IndexMap::new();
    for draft in restored.drafts {
        drafts.entry(draft.on).or_default().insert(draft.id);
    }
    for (on, ids) in drafts {
        let put = parts.core.notebook.placed_drafts(&on, &ids);
        parts.core.publish(Fact::DraftsChanged { on, removed: Vec::new(), put });
    }
    Reply::Done
}

/// Deletes the deleted states and runs for good.
pub(in crate::session::machine) fn empty_trash(parts: &mut Parts) -> Reply {
    let (states, runs) = parts.core.notebook.empty_trash();
    publish_removed(parts, states, runs, None);
    sweep_imported(&mut parts.core);
    Reply::Done
}

/// Purges old deletions from the trash.
pub(in crate::session::machine) fn trim_trash(parts: &mut Parts) {
    let (states, runs) = parts.core.notebook.trim_trash(parts.core.now_ms);
    if states.is_empty() && runs.is_empty() {
        return;
    }
    publish_removed(parts, states, runs, None);
    sweep_imported(&mut parts.core);
}

pub(in crate::session::machine) fn lineage(parts: &Parts, id: &StateId) -> Vec<StateId> {
    parts.core.notebook.lineage(id).iter().map(|state| state.id.clone()).collect()
}
