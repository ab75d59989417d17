//! Deletes a state, a subtree or a failed run, or everything (reset), and ends the runs and
//! processes that depend on what is deleted. Also opens and closes the notebook.

use crate::notebook::{ExecId, Fact, Reply, Residency, StateId};
use crate::problem::{Kind, Problem};
use crate::session::machine::cancel::interrupted;
use crate::session::machine::imported::sweep_imported;
use crate::session::machine::processes::Duty;
use crate::session::machine::runs::Outcome;
use crate::session::machine::{Effect, Machine, introspect, listings, not_found};

/// The error of a run that had not ended when the server stopped.
const STOPPED: &str = "interrupted by server stop";

impl Machine {
    /// Starts the root process, and ends the runs that the last server left unfinished.
    pub(in crate::session::machine) fn opened(&mut self) {
        self.core.spawn_root();
        for run in self.core.open.clone() {
            self.runs.end(&mut self.core, &run, Outcome::Interrupted(interrupted(STOPPED)));
        }
    }

    /// Ends all runs, and begins to save the remaining states without waiting for a pause.
    pub(in crate::session::machine) fn closing(&mut self) {
        self.replays.fail_all(&mut self.core, STOPPED);
        self.settle();
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

    /// Deletes a state and kills its processes. States that grew from it stay, and so do runs that
    /// began from it.
    pub(in crate::session::machine) fn delete_state(&mut self, id: &StateId) -> Reply {
        let before = self.lineage(id);
        let Some((states, runs)) = self.take_out(id) else {
            return Reply::Refused(not_found("state", id));
        };
        self.core.publish_state(id);
        self.publish_removed(&before, states, runs);
        sweep_imported(&mut self.core);
        // The deleted state may have held up the saving of other states.
        self.save_next();
        Reply::Done
    }

    /// Deletes a state and all states that grew from it, and stops the runs against them.
    pub(in crate::session::machine) fn delete_subtree(&mut self, id: &StateId) -> Reply {
        if id.is_root() {
            let (what, why) = ("delete state initial", "every notebook grows from it");
            return Reply::Refused(Problem::new(Kind::Conflict, what, why, "start over instead"));
        }
        if !self.core.notebook.state(id).is_some_and(|s| s.residency != Residency::Deleted) {
            return Reply::Refused(not_found("state", id));
        }
        let before = self.lineage(id);
        let subtree = self.core.notebook.subtree(id);
        self.runs.stop_on(&mut self.core, &subtree);
        self.settle();
        let (mut states, mut runs) = (Vec::new(), Vec::new());
        // In this order, each state is a leaf when it is taken out.
        for id in subtree.iter().rev() {
            let (gone, ended) = self.take_out(id).unwrap_or_default();
            states.extend(gone);
            runs.extend(ended);
        }
        self.publish_removed(&before, states, runs);
        sweep_imported(&mut self.core);
        self.save_next();
        Reply::Done
    }

    fn lineage(&self, id: &StateId) -> Vec<StateId> {
        self.core.notebook.lineage(id).iter().map(|state| state.id.clone()).collect()
    }

    /// Takes a state out of the graph, and ends its processes and the requests that wait for it.
    /// Returns the states and runs that left the graph.
    fn take_out(&mut self, id: &StateId) -> Option<(Vec<StateId>, Vec<ExecId>)> {
        let (states, runs) = self.core.notebook.delete_state(id)?;
        if !id.is_root()
            && let Some(frozen) = self.core.processes.frozen(id)
        {
            self.core.end(frozen);
        }
        while let Some(head) = self.core.processes.resting_at(id) {
            self.core.discard(head);
        }
        self.begin_loaded(id);
        let core = &mut self.core;
        self.held.end_at(core, id);
        self.saver.stop(core, id);
        listings::end_at(core, id, &not_found("state", id));
        self.loads.answer(core, id, &Reply::Refused(not_found("state", id)));
        introspect::end_answers(core, id, Kind::NotFound, "the state was deleted");
        self.comparer.forget(&states);
        states.iter().for_each(|state| self.listings.forget(state));
        core.uses.forget(id);
        self.memory.forget(id);
        self.replays.failed(core, id, "the state was deleted");
        self.forget_runs(&runs);
        self.settle();
        Some((states, runs))
    }

    /// Removes a deleted state from the graph if nothing needs it any more. Called when a run
    /// against it has ended without leaving a state.
    pub(super) fn forget_deleted(&mut self, id: &StateId) {
        if self.core.notebook.state(id).is_none_or(|s| s.residency != Residency::Deleted) {
            return;
        }
        let before = self.lineage(id);
        let (states, runs) = self.core.notebook.forget_deleted(id);
        self.forget_runs(&runs);
        self.publish_removed(&before, states, runs);
    }

    fn forget_runs(&mut self, runs: &[ExecId]) {
        self.runs.forget(runs);
        self.held.forget(runs);
    }

    /// Publishes which states and runs left the graph. Clients that looked at such a state are
    /// moved to the nearest state that stays. `before` is the lineage of the state that was
    /// deleted.
    fn publish_removed(&mut self, before: &[StateId], states: Vec<StateId>, runs: Vec<ExecId>) {
        if states.is_empty() {
            return;
        }
        let stays = before.iter().rev().find(|id| !states.contains(id)).cloned();
        let stays = stays.unwrap_or_else(StateId::root);
        self.presence.move_away(&mut self.core, &stays, |id| states.contains(id));
        self.core.publish(Fact::Removed { states, runs });
    }

    /// Deletes a run that left no state.
    pub(in crate::session::machine) fn drop_attempt(&mut self, exec_id: ExecId) -> Reply {
        if !self.core.notebook.drop_attempt(&exec_id) {
            return Reply::Refused(not_found("failed run", &exec_id));
        }
        self.held.end_of(&mut self.core, &exec_id);
        let mut runs = vec![exec_id];
        runs.extend(self.core.notebook.drop_stranded(&runs));
        self.forget_runs(&runs);
        self.core.publish(Fact::Removed { states: Vec::new(), runs });
        Reply::Done
    }

    /// Ends all runs, and deletes all states but the root.
    pub(in crate::session::machine) fn reset(&mut self) -> Reply {
        self.replays.fail_all(&mut self.core, "the notebook was reset");
        self.saver.stop_all(&mut self.core);
        self.adoption.reset(&mut self.core);
        self.settle();
        let core = &mut self.core;
        self.runs.end_all(core);
        core.effects.push(Effect::EndCells);
        for head in core.processes.all_of(|duty| matches!(duty, Duty::Head(_))) {
            core.end(head);
        }
        self.held.reset(core);
        let root = core.processes.root();
        let is_new = core.notebook.state(&StateId::root()).is_none_or(|s| s.residency == Residency::Freezing);
        for process in core.processes.take_frozen() {
            core.effects.push(Effect::Kill(process));
        }
        listings::end_all(core);
        self.loads.reset(core);
        introspect::end_all_answers(core);
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
            state.residency = Residency::Memory;
        }
        if root.is_none() {
            core.spawn_root();
        }
        let notebook = core.notebook.snapshot(self.presence.participants.clone());
        core.publish(Fact::Reset { notebook });
        Reply::Done
    }
}
