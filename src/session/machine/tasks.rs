//! What else is kept: the checkpoints of tasks, whose versions are never used again, and states
//! that come in files.

use super::runs::new_run;
use super::{Adopted, Effect, Machine, Ticket, not_found};
use crate::notebook::{
    Asked, Base, DiskStatus, Ended, ExecId, Fact, Outputs, Reply, Residency, RunStatus, Saving, State,
    StateId, TaskCheckpoint,
};
use crate::problem::{Kind, Problem};

use serde_json::{Map, Value};

impl Machine {
    /// A task wants another checkpoint.
    pub(super) fn save_task(
        &mut self,
        task_id: String,
        state: Option<StateId>,
        values: Map<String, Value>,
        token_usage: Map<String, Value>,
        metadata: Map<String, Value>,
    ) -> Reply {
        if task_id.is_empty() {
            let how = "give the task a name";
            return Reply::Refused(Problem::new(
                Kind::BadRequest,
                "save a task",
                "its task_id is empty",
                how,
            ));
        }
        if let Some(id) = &state
            && self.core.notebook.state(id).is_none_or(|s| s.residency == Residency::Deleted)
        {
            return Reply::Refused(not_found("state", id));
        }
        let version =
            self.core.notebook.task(&task_id).and_then(|all| all.last()).map_or(1, |last| last.version + 1);
        let created_at = self.core.now_ms;
        let checkpoint =
            TaskCheckpoint { task_id, version, state, values, token_usage, metadata, created_at };
        self.core.notebook.add_task(checkpoint.clone());
        self.core.publish(Fact::TaskSaved { checkpoint: checkpoint.clone() });
        Reply::TaskSaved { checkpoint: Box::new(checkpoint) }
    }

    /// A state came in a file: it stands beside the root's other children, with a run that holds
    /// all its code.
    pub(super) fn adopt(&mut self, ticket: Ticket, adopted: Adopted) {
        let exec_id = ExecId::new(format!("import-{}", self.core.new_id()));
        let on = Base::State(StateId::root());
        let mut outputs = Outputs::default();
        for output in adopted.outputs {
            outputs.push(output);
        }
        let id = StateId::new(self.core.new_id());
        let asked = Asked { on: on.clone(), new_state_name: None };
        let mut run = new_run(exec_id.clone(), on, adopted.code, None, asked);
        (run.status, run.outputs) = (RunStatus::Ok, outputs);
        (run.started_at, run.state) = (Some(self.core.now_ms), Some(id.clone()));
        self.core.notebook.add_run(run.clone());
        self.core.publish(Fact::RunAdded { run });
        let root = Some(StateId::root());
        let mut state = State::new(id.clone(), root, Some(exec_id.clone()), self.core.now_ms);
        (state.exec_count, state.label, state.residency) =
            (adopted.about.execution_count, adopted.label, Residency::Replay);
        self.core.notebook.add_state(state.clone());
        self.core.publish(Fact::StateAdded { state });
        let (parent, about) = (Some(StateId::root()), Box::new(adopted.about));
        self.core.effects.push(Effect::Keep { state: id.clone(), parent, about });
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
        self.adopting.insert(id, (ticket, reply));
    }

    /// The checkpoint of a state that came in a file is a part of the notebook, or could not become
    /// one: then there is no such state.
    pub(super) fn adopted(&mut self, id: &StateId, kept: Result<(), &str>) {
        let Some((ticket, reply)) = self.adopting.remove(id) else { return };
        let reply = match kept {
            Ok(()) => reply,
            Err(why) => {
                self.delete_state(id);
                let how = "look whether there is room on the disk, and import it again";
                Reply::Refused(Problem::new(Kind::Disk, "import a state", why, how))
            }
        };
        self.core.answer(ticket, reply);
    }

    /// Checkpoints were signed as our own, or could not be.
    pub(super) fn trusted(&mut self, states: Result<Vec<StateId>, DiskStatus>) {
        let tickets = std::mem::take(&mut self.trusting);
        let states = match states {
            Ok(states) => states,
            Err(trouble) => return self.core.answer_all(tickets, &Reply::Refused(trouble.into())),
        };
        for id in &states {
            let Some(state) = self.core.notebook.state_mut(id) else { continue };
            if let Some(checkpoint) = &mut state.checkpoint {
                checkpoint.is_trusted = true;
            }
            // As values it could not be loaded; whole it has not been tried.
            let is_untried = state.residency == Residency::Replay && state.checkpoint.is_some();
            if is_untried {
                (state.residency, state.saving) = (Residency::Disk, Saving::Idle);
            }
            // What was loaded of it are its values only.
            let is_partial = state.restored_from.is_some() && state.residency == Residency::Memory;
            self.core.publish_state(id);
            if is_untried {
                self.core.due.forget_broken(id);
            }
            self.core.note_may_go(id);
            if is_partial && !self.core.processes.needs(id) && !self.saver.is_at(id) {
                self.core.let_go(id);
            }
        }
        self.core.answer_all(tickets, &Reply::Trusted { count: states.len() });
    }
}
