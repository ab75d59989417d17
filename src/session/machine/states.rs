//! The life of a state: it grows from a run, and is deleted, alone, with its subtree or in a reset.

use super::cancel::interrupted;
use super::hangs::Hazards;
use super::imported::sweep_imported;
use super::processes::Duty;
use super::{Effect, Machine, introspect, listings, not_found};
use crate::notebook::{Base, ExecId, Fact, Reply, Residency, RunStatus, State, StateId};
use crate::problem::{Kind, Problem};

/// The error of a run that was going on when the server stopped.
const STOPPED: &str = "interrupted by server stop";

impl Machine {
    /// The notebook was opened: its root process starts, and runs that the last server left
    /// unfinished end.
    pub(super) fn opened(&mut self) {
        self.core.spawn_root();
        for run in self.core.open.clone() {
            self.end(&run, RunStatus::Interrupted, Some(interrupted(STOPPED)));
        }
    }

    /// The notebook is about to be closed: running cells end, and what can still be saved is saved
    /// at once.
    pub(super) fn closing(&mut self) {
        self.fail_all_replays(STOPPED);
        self.backlog.clear();
        for run in self.core.open.clone() {
            if let Some(head) = self.core.processes.of_run(&run) {
                self.core.discard(head);
            }
            self.end(&run, RunStatus::Interrupted, Some(interrupted(STOPPED)));
        }
        self.saver.in_haste = true;
        self.save_next();
    }

    /// Adds the state that a run leaves.
    pub(super) fn grow(
        &mut self,
        parent: &StateId,
        exec_id: &ExecId,
        name: Option<String>,
        exec_count: u32,
        hazards: Hazards,
        partial: bool,
    ) -> StateId {
        let id = StateId::new(self.core.new_id());
        let mut state = State::new(id.clone(), Some(parent.clone()), Some(exec_id.clone()), self.core.now_ms);
        state.name = name.unwrap_or(state.name);
        (state.exec_count, state.warnings, state.forks) = (exec_count, hazards.warnings, hazards.forks);
        state.partial = partial;
        let renamed = self.core.notebook.add_state(state.clone());
        if let Some(earlier) = renamed {
            self.core.publish_state(&earlier);
        }
        self.core.publish(Fact::StateAdded { state });
        id
    }

    /// Deletes a state and ends its processes. States that grew from it live on, and so do runs
    /// that began from it.
    pub(super) fn delete_state(&mut self, id: &StateId) -> Reply {
        let before: Vec<StateId> = self.core.notebook.lineage(id).iter().map(|s| s.id.clone()).collect();
        match self.take_out(id) {
            Some((states, runs)) => {
                self.core.publish_state(id);
                self.publish_removed(&before, states, runs);
            }
            None => return Reply::Refused(not_found("state", id)),
        }
        sweep_imported(&mut self.core);
        // What was being saved may have been what others waited for.
        self.save_next();
        Reply::Done
    }

    /// Deletes a state and all that grew from it, and stops what runs there.
    pub(super) fn delete_subtree(&mut self, id: &StateId) -> Reply {
        if id.is_root() {
            let why = "every notebook grows from it";
            return Reply::Refused(Problem::new(
                Kind::Conflict,
                "delete state initial",
                why,
                "start over instead",
            ));
        }
        if !self.core.notebook.state(id).is_some_and(|s| s.residency != Residency::Deleted) {
            return Reply::Refused(not_found("state", id));
        }
        let before: Vec<StateId> = self.core.notebook.lineage(id).iter().map(|s| s.id.clone()).collect();
        let subtree = self.core.notebook.subtree(id);
        self.stop_runs_on(&subtree);
        let (mut states, mut runs) = (Vec::new(), Vec::new());
        // Each is a leaf when its turn comes.
        for id in subtree.iter().rev() {
            let (gone, ended) = self.take_out(id).unwrap_or_default();
            states.extend(gone);
            runs.extend(ended);
        }
        self.publish_removed(&before, states, runs);
        sweep_imported(&mut self.core);
        self.serve_backlog();
        self.save_next();
        Reply::Done
    }

    /// Takes a state out of the graph, and ends its processes and what waits for it. Answers what
    /// left.
    fn take_out(&mut self, id: &StateId) -> Option<(Vec<StateId>, Vec<ExecId>)> {
        let (states, runs) = self.core.notebook.delete_state(id)?;
        if *id != StateId::root()
            && let Some(frozen) = self.core.processes.frozen(id)
        {
            self.core.end(frozen);
        }
        while let Some(head) = self.core.processes.resting_at(id) {
            self.core.discard(head);
        }
        self.begin_late_runs(id);
        self.end_held_at(id);
        self.requests.forget(&runs);
        self.stop_saving(id);
        listings::end_at(&mut self.core, id, &not_found("state", id));
        self.answer_loads(id, &Reply::Refused(not_found("state", id)));
        introspect::end_answers(&mut self.core, id, Kind::NotFound, "the state was deleted");
        self.comparer.forget(&states);
        states.iter().for_each(|state| self.listings.forget(state));
        self.core.uses.forget(id);
        self.memory.forget(id);
        self.replay_failed(id, "the state was deleted");
        Some((states, runs))
    }

    /// A run that left no state has ended. It may have been the last that held a state which was
    /// deleted meanwhile.
    pub(super) fn let_go_after(&mut self, base: &Base) {
        let Base::State(id) = base else { return };
        if self.core.notebook.state(id).is_none_or(|s| s.residency != Residency::Deleted) {
            return;
        }
        let before: Vec<StateId> = self.core.notebook.lineage(id).iter().map(|s| s.id.clone()).collect();
        let (states, runs) = self.core.notebook.let_go_of_deleted(id);
        self.requests.forget(&runs);
        self.publish_removed(&before, states, runs);
    }

    /// Publishes what left the graph, and moves the clients that looked at it. `before` is the
    /// lineage of what was deleted.
    fn publish_removed(&mut self, before: &[StateId], states: Vec<StateId>, runs: Vec<ExecId>) {
        if states.is_empty() {
            return;
        }
        let stays = before.iter().rev().find(|id| !states.contains(id)).cloned();
        self.presence
            .move_away(&mut self.core, &stays.unwrap_or_else(StateId::root), |id| states.contains(id));
        self.core.publish(Fact::Removed { states, runs });
    }

    /// Forgets a run that left no state.
    pub(super) fn drop_attempt(&mut self, exec_id: ExecId) -> Reply {
        if !self.core.notebook.drop_attempt(&exec_id) {
            return Reply::Refused(not_found("failed run", &exec_id));
        }
        self.end_held_of(&exec_id);
        let mut runs = vec![exec_id];
        runs.extend(self.core.notebook.drop_stranded(&runs));
        self.requests.forget(&runs);
        self.core.publish(Fact::Removed { states: Vec::new(), runs });
        Reply::Done
    }

    /// Stops everything and forgets all but the root.
    pub(super) fn reset(&mut self) -> Reply {
        self.fail_all_replays("the notebook was reset");
        self.stop_all_saving();
        for (ticket, _) in std::mem::take(&mut self.adopting).into_values() {
            let how = "import it again";
            let refused = Problem::new(Kind::Conflict, "import a state", "the notebook was reset", how);
            self.core.answer(ticket, Reply::Refused(refused));
        }
        self.late_runs.clear();
        self.end_all_runs();
        self.core.effects.push(Effect::EndCells);
        for head in self.core.processes.all_of(|duty| matches!(duty, Duty::Head(_))) {
            self.core.end(head);
        }
        for head in self.held.take_all() {
            self.core.end(head);
        }
        let root = self.core.processes.root();
        let is_alive =
            self.core.notebook.state(&StateId::root()).is_some_and(|s| !is_new(s)) && root.is_some();
        for process in self.core.processes.take_frozen() {
            self.core.effects.push(Effect::Kill(process));
        }
        listings::end_all(&mut self.core);
        for (state, tickets) in std::mem::take(&mut self.load_tickets) {
            self.core.answer_all(tickets, &Reply::Refused(not_found("state", state)));
        }
        introspect::end_all_answers(&mut self.core);
        self.comparer.stop_comparing(&mut self.core);
        self.listings.clear();
        self.core.notebook.reset(self.core.now_ms);
        self.memory.forget_all();
        self.core.uses.forget_all();
        self.presence.move_away(&mut self.core, &StateId::root(), |id| !id.is_root());
        if is_alive && let Some(root) = self.core.notebook.state_mut(&StateId::root()) {
            root.residency = Residency::Memory;
        }
        if root.is_none() {
            self.core.spawn_root();
        }
        let notebook = self.core.notebook.snapshot();
        self.core.publish(Fact::Reset { notebook });
        Reply::Done
    }
}

pub(super) fn is_new(state: &State) -> bool {
    state.residency == Residency::Freezing
}
