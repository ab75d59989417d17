//! Runs and requests that wait until a state is loaded from its checkpoint.

use super::core::{Core, not_found};
use super::effect::Ticket;
use crate::notebook::{ExecId, Reply, Residency, StateId};
use crate::problem::{Kind, Problem};
use std::collections::BTreeMap;

/// The waiting runs and requests, by state.
#[derive(Debug, Default)]
pub(super) struct Loads {
    runs: BTreeMap<StateId, Vec<ExecId>>,
    tickets: BTreeMap<StateId, Vec<Ticket>>,
}

impl Loads {
    /// Loads a state if the state is on disk. Returns the answer unless the request has to wait.
    pub(super) fn ask(
        &mut self,
        core: &mut Core,
        ticket: Ticket,
        id: &StateId,
    ) -> Result<Option<Reply>, Problem> {
        let state = core.notebook.state(id).filter(|s| s.residency != Residency::Deleted);
        match state.ok_or_else(|| not_found("state", id))?.residency {
            Residency::Replay if !id.is_root() => {
                let why = "it has neither a process nor a checkpoint, only its code";
                let how = "send replay=true, which runs its cells again";
                return Err(Problem::new(Kind::Lost, format!("load state {id}"), why, how));
            }
            Residency::Disk => {
                core.load(id);
            }
            _ => {}
        }
        if !core.processes.is_being_loaded(id) {
            return Ok(Some(Reply::Done));
        }
        self.tickets.entry(id.clone()).or_default().push(ticket);
        Ok(None)
    }

    /// Makes a run wait until a state is loaded.
    pub(super) fn wait(&mut self, run: &ExecId, state: &StateId) {
        self.runs.entry(state.clone()).or_default().push(run.clone());
    }

    /// Answers the requests that wait for a state.
    pub(super) fn answer(&mut self, core: &mut Core, state: &StateId, reply: &Reply) {
        let tickets = self.tickets.remove(state).unwrap_or_default();
        core.answer_all(tickets, reply);
    }

    /// Removes and returns the runs that waited for a state, which is now loaded or cannot be
    /// loaded.
    pub(super) fn take_runs(&mut self, state: &StateId) -> Vec<ExecId> {
        self.runs.remove(state).unwrap_or_default()
    }

    /// Refuses all waiting requests and forgets all waiting runs.
    pub(super) fn reset(&mut self, core: &mut Core, kind: Kind, why: &str) {
        self.runs.clear();
        for (state, tickets) in std::mem::take(&mut self.tickets) {
            let refused = Problem::new(kind, format!("load state {state}"), why, "reload the notebook");
            core.answer_all(tickets, &Reply::Refused(refused));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_taken_once_and_a_state_that_needs_no_load_is_answered_at_once() {
        let (mut core, mut loads) = (Core::of_empty_notebook(), Loads::default());
        let (root, run) = (StateId::root(), ExecId::new("a"));
        loads.wait(&run, &root);
        assert_eq!(loads.take_runs(&root), vec![run]);
        assert!(loads.take_runs(&root).is_empty());
        assert_eq!(loads.ask(&mut core, Ticket(1), &root), Ok(Some(Reply::Done)));
        assert!(
            loads.ask(&mut core, Ticket(2), &StateId::new("s9")).is_err() && core.take_effects().is_empty()
        );
    }
}
