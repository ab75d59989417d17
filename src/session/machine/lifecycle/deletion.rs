//! Deletes a state, a subtree, a failed run, or everything (reset), and restores what was deleted.
//! Ends the runs and processes that depend on the deleted items. Also opens and closes the
//! notebook.

use crate::notebook::{DraftId, ExecId, Fact, Reply, Residency, StateId};
use crate::problem::{Kind, Problem};
use crate::session::machine::cancel::interrupted;
use crate::session::machine::imported::sweep_imported;
use crate::session::machine::processes::Duty;
use crate::session::machine::runs::Outcome;
use crate::session::machine::{Effect, Killed, Machine, introspect, listings, not_found};
use indexmap::IndexMap;
use std::collections::HashSet;

/// The error of a run that had not ended when the server stopped.
pub(super) const STOPPED: &str = "interrupted by server stop";
/// The reason in refusals of requests that waited for a state when the notebook was reset.
const WAS_RESET: &str = "the notebook was reset";

impl Machine {
    /// Starts the root process, and ends the runs that had not ended when the server last stopped.
    pub(in crate::session::machine) fn opened(&mut self) {
        self.core.spawn_root();
        self.core.keeps_tasks = true;
        for run in self.core.open.clone() {
            self.runs.end(&mut self.core, &run, Outcome::Interrupted(interrupted(STOPPED)));
        }
        self.trim_trash();
        self.resume_sweeps();
        self.core.keeps_tasks = false;
    }

    /// Ends all runs, and begins to save the remaining states without a pause.
    pub(in crate::session::machine) fn closing(&mut self) {
        self.core.keeps_tasks = true;
        self.sweeps.close();
        self.replays.fail_all(&mut self.core, STOPPED);
        self.settle();
        self.refreeze_all();
        self.runs.backlog.clear();
        for run in self.core.open.clone() {
            if let Some(head) = self.core.processes.of_run(&run) {
                self.core.discard(head);
            }
            self.runs.end(&mut self.core, &run, Outcome::Interrupted(interrupted(STOPPED)));
        }
        self.saver.is_closing = true;
        self.save_next();
    }

    /// Deletes a state and kills its processes. The state's descendants and the runs against the
    /// state stay.
    pub(in crate::session::machine) fn delete_state(&mut self, id: &StateId) -> Reply {
        let before = self.lineage(id);
        let at = self.core.notebook.next_deletion(self.core.now_ms);
        let Some((states, runs)) = self.take_out(id, at) else {
            return Reply::Refused(not_found("state", id));
        };
        self.core.publish_state(id);
        self.publish_removed(&before, states, runs, Some(at));
        self.trim_trash();
        // The saving of other states may have waited for the deleted state.
        self.save_next();
        Reply::Done
    }

    /// Deletes a state that has just been added, without the trash.
    pub(in crate::session::machine) fn remove_for_good(&mut self, id: &StateId) {
        let before = self.lineage(id);
        let Some((states, runs)) = self.take_out(id, self.core.now_ms) else { return };
        self.core.notebook.purge(&states, &runs);
        self.publish_removed(&before, states, runs, None);
    }

    /// Deletes a state and its descendants, and stops the runs against them.
    pub(in crate::session::machine) fn delete_subtree(&mut self, id: &StateId) -> Reply {
        if id.is_root() {
            let (what, why) = ("delete state initial", "every notebook begins with it");
            return Reply::Refused(Problem::new(
                Kind::Conflict,
                what,
                why,
                "to delete all other states, reset the notebook",
            ));
        }
        if !self.core.notebook.state(id).is_some_and(|s| s.residency != Residency::Deleted) {
            return Reply::Refused(not_found("state", id));
        }
        let before = self.lineage(id);
        let subtree = self.core.notebook.subtree(id);
        self.runs.stop_on(&mut self.core, &subtree);
        self.settle();
        let at = self.core.notebook.next_deletion(self.core.now_ms);
        let (mut states, mut runs) = (Vec::new(), Vec::new());
        // In this order, each state has no children when it is removed.
        for id in subtree.iter().rev() {
            let (gone, ended) = self.take_out(id, at).unwrap_or_default();
            states.extend(gone);
            runs.extend(ended);
        }
        self.publish_removed(&before, states, runs, Some(at));
        self.trim_trash();
        self.save_next();
        Reply::Done
    }

    pub(super) fn lineage(&self, id: &StateId) -> Vec<StateId> {
        self.core.notebook.lineage(id).iter().map(|state| state.id.clone()).collect()
    }

    /// Deletes a state from the graph, and ends the state's processes and the requests that wait
    /// for it. Returns the states and runs that were removed from the graph.
    pub(super) fn take_out(&mut self, id: &StateId, at: f64) -> Option<(Vec<StateId>, Vec<ExecId>)> {
        let (states, runs) = self.core.notebook.delete_state(id, at)?;
        if !id.is_root()
            && let Some(frozen) = self.core.processes.frozen(id)
        {
            self.core.end(frozen);
        }
        let processes = |machine: &Self| {
            let processes = &machine.core.processes;
            processes.resting_at(id).or_else(|| processes.handling_at(id))
        };
        while let Some(head) = processes(self) {
            self.core.discard(head);
        }
        self.begin_loaded(id);
        let core = &mut self.core;
        self.held.end_at(core, id);
        self.saver.stop(core, id);
        listings::end_at(core, id, &not_found("state", id));
        self.loads.answer(core, id, &Reply::Refused(not_found("state", id)));
        introspect::end_answers(core, id, Kind::NotFound, "the state was deleted");
        self.comparer.forget(core, &states);
        states.iter().for_each(|state| self.listings.forget(state));
        core.uses.forget(id);
        self.memory.forget(id);
        self.replays.failed(core, id, "the state was deleted");
        self.forget_runs(&runs);
        self.settle();
        Some((states, runs))
    }

    /// Removes a deleted state from the graph if it has neither children nor open runs. Called when
    /// a run against the state has ended without leaving a state.
    pub(super) fn forget_deleted(&mut self, id: &StateId) {
        let state = self.core.notebook.state(id).filter(|s| s.residency == Residency::Deleted);
        let Some(at) = state.and_then(|state| state.deleted_at) else { return };
        let before = self.lineage(id);
        let (states, runs) = self.core.notebook.forget_deleted(id);
        self.forget_runs(&runs);
        self.publish_removed(&before, states, runs, Some(at));
    }

    pub(super) fn forget_runs(&mut self, runs: &[ExecId]) {
        self.runs.forget(runs);
        self.held.forget(runs);
    }

    /// Publishes which states and runs were removed from the graph. Clients that look at a removed
    /// state are moved to its nearest remaining ancestor. `before` is the lineage of the deleted
    /// state before the deletion.
    pub(super) fn publish_removed(
        &mut self,
        before: &[StateId],
        states: Vec<StateId>,
        runs: Vec<ExecId>,
        at: Option<f64>,
    ) {
        if states.is_empty() && runs.is_empty() {
            return;
        }
        let stays = before.iter().rev().find(|id| !states.contains(id)).cloned();
        let stays = stays.unwrap_or_else(StateId::root);
        self.presence.move_away(&mut self.core, &stays, |id| states.contains(id));
        self.core.publish(Fact::Removed { states, runs, deleted_at: at });
    }

    /// Deletes a run that left no state.
    pub(in crate::session::machine) fn drop_attempt(&mut self, exec_id: &ExecId) -> Reply {
        let at = self.core.notebook.next_deletion(self.core.now_ms);
        let Some(runs) = self.core.notebook.drop_attempt(exec_id, at) else {
            return Reply::Refused(not_found("failed run", exec_id));
        };
        self.held.end_of(&mut self.core, exec_id);
        self.forget_runs(&runs);
        self.publish_removed(&[], Vec::new(), runs, Some(at));
        self.trim_trash();
        Reply::Done
    }

    /// Restores a deleted state or failed run by its id, with all that was deleted with it. The
    /// states have no processes: they come back from their checkpoints or by replay.
    pub(in crate::session::machine) fn restore(&mut self, id: &str) -> Reply {
        let Some(mut restored) = self.core.notebook.restore(id) else {
            let why = "nothing in the trash has this id: it was restored, or deleted for good";
            return Reply::Refused(Problem::not_found(format!("restore {id:?}"), why));
        };
        // The process of the root was not ended.
        if self.core.processes.frozen(&StateId::root()).is_some()
            && let Some(root) = restored.states.iter_mut().find(|state| state.id.is_root())
            && let Some(own) = self.core.notebook.state_mut(&StateId::root())
        {
            let now_ms = self.core.now_ms;
            root.move_to(Residency::Memory, now_ms);
            own.move_to(Residency::Memory, now_ms);
        }
        self.core.publish(Fact::Restored { states: restored.states, runs: restored.runs });
        let mut drafts: IndexMap<StateId, HashSet<DraftId>> = IndexMap::new();
        for draft in restored.drafts {
            drafts.entry(draft.on).or_default().insert(draft.id);
        }
        for (on, ids) in drafts {
            let put = self.core.notebook.placed_drafts(&on, &ids);
            self.core.publish(Fact::DraftsChanged { on, removed: Vec::new(), put });
        }
        Reply::Done
    }

    /// Deletes the deleted states and runs for good.
    pub(in crate::session::machine) fn empty_trash(&mut self) -> Reply {
        let purged = self.core.notebook.empty_trash();
        self.publish_purged(purged);
        Reply::Done
    }

    /// Purges old deletions from the trash.
    pub(super) fn trim_trash(&mut self) {
        let purged = self.core.notebook.trim_trash(self.core.now_ms);
        self.publish_purged(purged);
    }

    fn publish_purged(&mut self, (states, runs): (Vec<StateId>, Vec<ExecId>)) {
        if !states.is_empty() || !runs.is_empty() {
            self.core.publish(Fact::Removed { states, runs, deleted_at: None });
        }
        sweep_imported(&mut self.core);
    }

    /// Ends all runs, and deletes all states except the root.
    pub(in crate::session::machine) fn reset(&mut self) -> Reply {
        self.sweeps.reset(&mut self.core);
        self.replays.fail_all(&mut self.core, "the notebook was reset");
        self.saver.stop_all(&mut self.core);
        self.adoption.reset(&mut self.core);
        self.workers.reset();
        self.settle();
        let core = &mut self.core;
        self.runs.end_all(core);
        core.effects.push(Effect::EndCells);
        for process in core.processes.all_of(|duty| matches!(duty, Duty::Head(_) | Duty::Spare)) {
            core.end(process);
        }
        self.held.reset(core);
        let root = core.processes.root();
        let is_new = core.notebook.state(&StateId::root()).is_none_or(|s| s.residency == Residency::Freezing);
        for process in core.processes.take_frozen() {
            core.effects.push(Effect::Kill(process, Killed::NotNeeded));
        }
        listings::end_all(core, Kind::NotFound, WAS_RESET);
        self.loads.reset(core, Kind::NotFound, WAS_RESET);
        introspect::end_all_answers(core, Kind::NotFound, WAS_RESET);
        self.comparer.stop_comparing(core);
        self.listings.clear();
        core.notebook.reset(core.now_ms);
        self.memory.forget_all();
        core.uses.forget_all();
        self.presence.move_away(core, &StateId::root(), |id| !id.is_root());
        if !is_new
            && root.is_some()
            && let Some(state) = core.notebook.state_mut(&StateId::root())
        {
            state.move_to(Residency::Memory, core.now_ms);
        }
        if root.is_none() {
            core.spawn_root();
        }
        let notebook = core.notebook.snapshot(self.presence.participants.clone());
        core.publish(Fact::Reset { notebook });
        Reply::Done
    }
}
