//! Adds states that were imported from files. Each becomes a child of the root.

use super::core::Core;
use super::effect::{Effect, Ticket};
use super::input::Adopted;
use crate::notebook::{
    Asked, Base, Ended, ExecId, Fact, Outputs, Reply, Residency, Run, RunStatus, State, StateId,
};
use crate::problem::{Kind, Problem};
use std::collections::BTreeMap;

/// States whose checkpoints the store has not added yet, each with the request and the reply that
/// is sent when the store has added the checkpoint.
#[derive(Debug, Default)]
pub(super) struct Adoption {
    waiting: BTreeMap<StateId, (Ticket, Reply)>,
}

impl Adoption {
    /// Adds an imported state as a child of the root, with one run that contains all code of the
    /// state's lineage.
    pub(super) fn adopt(&mut self, core: &mut Core, ticket: Ticket, adopted: Adopted) {
        let exec_id = ExecId::new(format!("import-{}", core.new_id()));
        let on = Base::State(StateId::root());
        let mut outputs = Outputs::default();
        for output in adopted.outputs {
            outputs.push(output);
        }
        let id = StateId::new(core.new_id());
        let asked = Asked { on: on.clone(), new_state_name: None };
        let mut run = Run::new(exec_id.clone(), on, adopted.code, None, asked);
        (run.status, run.outputs) = (RunStatus::Ok, outputs);
        (run.started_at, run.state) = (Some(core.now_ms), Some(id.clone()));
        core.add_run(run);
        let root = Some(StateId::root());
        let mut state = State::new(id.clone(), root, Some(exec_id.clone()), core.now_ms);
        (state.exec_count, state.label, state.residency) =
            (adopted.checkpoint.execution_count, adopted.label, Residency::Replay);
        core.notebook.add_state(state.clone());
        core.publish(Fact::StateAdded { state });
        let (parent, checkpoint) = (Some(StateId::root()), Box::new(adopted.checkpoint));
        core.emit(Effect::Keep { state: id.clone(), parent, checkpoint });
        let reply = Reply::Ended(Ended {
            exec_id,
            status: RunStatus::Ok,
            state_name: Some(id.as_str().to_owned()),
            state: Some(id.clone()),
            error: None,
            symbols: None,
            warnings: Vec::new(),
            keepable: false,
            outputs: Outputs::default(),
        });
        self.waiting.insert(id, (ticket, reply));
    }

    /// Answers the import request of a state, if there is one, when the store has added the state's
    /// checkpoint.
    pub(super) fn done(&mut self, core: &mut Core, id: &StateId) {
        if let Some((ticket, reply)) = self.waiting.remove(id) {
            core.answer(ticket, reply);
        }
    }

    /// Handles the store's failure to add a state's checkpoint. Returns the import request of the
    /// state, if there is one.
    pub(super) fn failed(&mut self, id: &StateId) -> Option<Ticket> {
        self.waiting.remove(id).map(|(ticket, _)| ticket)
    }

    /// Refuses all waiting import requests, because the notebook is reset.
    pub(super) fn reset(&mut self, core: &mut Core) {
        for (ticket, _) in std::mem::take(&mut self.waiting).into_values() {
            core.answer(ticket, refused(Kind::Conflict, "the notebook was reset", "import it again"));
        }
    }
}

/// The reply to an import request that fails.
pub(super) fn refused(kind: Kind, why: &str, how: &str) -> Reply {
    Reply::Refused(Problem::new(kind, "import a state", why, how))
}
