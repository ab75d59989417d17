//! Deletes a state, branches, or everything (reset). Ends the runs and processes that depend on
//! the deleted items.

use super::removal::{forget_runs, lineage, move_away, publish_removed, take_attempt, trim_trash};
use super::settle::settle;
use crate::notebook::{ExecId, Fact, Reply, Residency, StateId};
use crate::problem::{Kind, Problem};
use crate::session::machine::core::not_found;
use crate::session::machine::duty::Duty;
use crate::session::machine::effect::{Effect, Killed};
use crate::session::machine::introspect;
use crate::session::machine::listings;
use crate::session::machine::outcome;
use crate::session::machine::parts::Parts;

/// The reason in refusals of requests that waited for a state when the notebook was reset.
const WAS_RESET: &str = "the notebook was reset";

/// Deletes a state and kills its processes. The state's descendants and the runs against the
/// state stay.
pub(in crate::session::machine) fn delete_state(parts: &mut Parts, id: &StateId) -> Reply {
    let before = lineage(parts, id);
    let at = parts.core.notebook.next_deletion(parts.core.now_ms);
    let Some((states, runs)) = take_out(parts, id, at) else {
        return Reply::Refused(not_found("state", id));
    };
    parts.core.publish_state(id);
    move_away(parts, &before, &states);
    publish_removed(parts, states, runs, Some(at));
    trim_trash(parts);
    // The saving of other states may have waited for the deleted state.
    parts.save_next();
    Reply::Done
}

/// Deletes a state that has just been added, without the trash.
pub(in crate::session::machine) fn remove_for_good(parts: &mut Parts, id: &StateId) {
    let before = lineage(parts, id);
    let Some((states, runs)) = take_out(parts, id, parts.core.now_ms) else { return };
    parts.core.notebook.purge(&states, &runs);
    move_away(parts, &before, &states);
    publish_removed(parts, states, runs, None);
}

/// Deletes states and their descendants, and failed runs, as one deletion. Stops the runs against
/// the states. Skips states and runs that are gone, unless all are.
pub(in crate::session::machine) fn delete_branches(
    parts: &mut Parts,
    firsts: &[StateId],
    attempts: &[ExecId],
) -> Reply {
    if firsts.iter().any(StateId::is_root) {
        let (what, why) = ("delete state initial", "every notebook begins with it");
        return Reply::Refused(Problem::new(
            Kind::Conflict,
            what,
            why,
            "to delete all other states, reset the notebook",
        ));
    }
    let exists = |id: &&StateId| {
        parts.core.notebook.state(id).is_some_and(|state| state.residency != Residency::Deleted)
    };
    let asked: Vec<&str> = firsts.iter().map(StateId::as_str).collect();
    let firsts: Vec<StateId> = firsts.iter().filter(exists).cloned().collect();
    for first in &firsts {
        let branch = parts.core.notebook.subtree(first);
        parts.runs.stop_on(&mut parts.core, &branch);
    }
    settle(parts);
    let at = parts.core.notebook.next_deletion(parts.core.now_ms);
    let (mut states, mut runs) = (Vec::new(), Vec::new());
    for first in &firsts {
        let before = lineage(parts, first);
        let mut branch = Vec::new();
        // In this order, each state has no children when it is removed.
        for id in parts.core.notebook.subtree(first).iter().rev() {
            let (gone, ended) = take_out(parts, id, at).unwrap_or_default();
            branch.extend(gone);
            runs.extend(ended);
        }
        move_away(parts, &before, &branch);
        states.extend(branch);
    }
    for attempt in attempts {
        runs.extend(take_attempt(parts, attempt, at).unwrap_or_default());
    }
    if firsts.is_empty() && runs.is_empty() {
        let attempts: Vec<&str> = attempts.iter().map(ExecId::as_str).collect();
        let (kind, asked) = if asked.is_empty() { ("failed run", attempts) } else { ("state", asked) };
        return Reply::Refused(not_found(kind, asked.join(", ")));
    }
    publish_removed(parts, states, runs, Some(at));
    trim_trash(parts);
    parts.save_next();
    Reply::Done
}

/// Deletes a state from the graph, and ends the state's processes and the requests that wait
/// for it. Returns the states and runs that were removed from the graph.
pub(in crate::session::machine) fn take_out(
    parts: &mut Parts,
    id: &StateId,
    at: f64,
) -> Option<(Vec<StateId>, Vec<ExecId>)> {
    let (states, runs) = parts.core.notebook.delete_state(id, at)?;
    if !id.is_root()
        && let Some(frozen) = parts.core.processes.frozen(id)
    {
        parts.core.end(frozen);
    }
    let processes = |parts: &Parts| {
        let processes = &parts.core.processes;
        processes.resting_at(id).or_else(|| processes.handling_at(id))
    };
    while let Some(head) = processes(parts) {
        parts.core.discard(head);
    }
    let waiting = parts.loads.take_runs(id);
    let core = &mut parts.core;
    parts.runs.kill_and_end(core, &waiting, outcome::STATE_DELETED);
    parts.held.end_at(core, id);
    parts.saver.stop(core, id);
    listings::end_at(core, id, &not_found("state", id));
    parts.loads.answer(core, id, &Reply::Refused(not_found("state", id)));
    introspect::end_answers(core, id, Kind::NotFound, "the state was deleted");
    parts.comparer.forget(core, &states);
    states.iter().for_each(|state| parts.listings.forget(state));
    core.uses.forget(id);
    parts.memory.forget(id);
    parts.replays.failed(core, id, "the state was deleted");
    forget_runs(parts, &runs);
    settle(parts);
    Some((states, runs))
}

/// Ends all runs, and deletes all states except the root.
pub(in crate::session::machine) fn reset(parts: &mut Parts) -> Reply {
    parts.sweeps.reset(&mut parts.core);
    parts.replays.fail_all(&mut parts.core, "the notebook was reset");
    parts.saver.stop_all(&mut parts.core);
    parts.adoption.reset(&mut parts.core);
    parts.workers.reset();
    settle(parts);
    let core = &mut parts.core;
    parts.runs.end_all(core);
    core.emit(Effect::EndCells);
    for process in core.processes.all_of(|duty| matches!(duty, Duty::Head(_) | Duty::Spare)) {
        core.end(process);
    }
    parts.held.reset(core);
    let root = core.processes.root();
    let is_new = core.notebook.state(&StateId::root()).is_none_or(|s| s.residency == Residency::Freezing);
    for process in core.processes.take_frozen() {
        core.kill(process, Killed::NotNeeded);
    }
    listings::end_all(core, Kind::NotFound, WAS_RESET);
    parts.loads.reset(core, Kind::NotFound, WAS_RESET);
    introspect::end_all_answers(core, Kind::NotFound, WAS_RESET);
    parts.comparer.stop_comparing(core);
    parts.listings.clear();
    core.notebook.reset(core.now_ms);
    parts.memory.forget_all();
    core.uses.forget_all();
    parts.presence.move_away(core, &StateId::root(), |id| !id.is_root());
    if !is_new
        && root.is_some()
        && let Some(state) = core.notebook.state_mut(&StateId::root())
    {
        state.move_to(Residency::Memory, core.now_ms);
    }
    if root.is_none() {
        core.spawn_root();
    }
    let notebook = core.notebook.snapshot(parts.presence.participants.clone());
    core.publish(Fact::Reset { notebook });
    Reply::Done
}
