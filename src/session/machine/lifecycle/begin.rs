//! How a run begins: which head it gets, or what it waits for first. And what follows when its cell
//! has ended.

use super::hangs::BEGIN_TIMEOUT;
use crate::kernel::{How, ProcId, Remains};
use crate::notebook::{Base, ExecId, Reply, Residency, RunError, RunSpec, StateId};
use crate::problem::Problem;
use crate::session::machine::core::FollowUp;
use crate::session::machine::held::NotHeld;
use crate::session::machine::processes::Doing;
use crate::session::machine::runs::{self, CellReport, Outcome};
use crate::session::machine::{Alarm, Effect, Machine, Ticket, replay};

impl Machine {
    /// A client asks for a run. Returns the answer unless the client has to wait.
    pub(in crate::session::machine) fn ask_run(
        &mut self,
        ticket: Ticket,
        spec: RunSpec,
    ) -> Result<Option<Reply>, Problem> {
        let spec = runs::resolve_names(&self.core, spec)?;
        if runs::was_refused(&self.core, &spec) {
            self.drop_attempt(spec.exec_id.clone());
        }
        self.runs.ask(&mut self.core, ticket, spec)
    }

    /// Carries out what parts of the machine have asked of each other (`FollowUp`).
    pub(in crate::session::machine) fn settle(&mut self) {
        while let Some(follow_up) = self.core.next_follow_up() {
            match follow_up {
                FollowUp::Begin(run, state) => self.begin(&run, &state),
                FollowUp::BeginReplayed(run, state) => {
                    self.runs.note_replayed(&run);
                    self.begin(&run, &state);
                }
                FollowUp::Resume(run) => self.resume(&run),
                FollowUp::End(run, outcome) => self.runs.end(&mut self.core, &run, outcome),
                FollowUp::SaveNext => self.save_next(),
                FollowUp::ForgetDeleted(state) => self.forget_deleted(&state),
            }
        }
    }

    /// Starts a run, or lets it wait.
    pub(super) fn begin(&mut self, exec_id: &ExecId, state: &StateId) {
        if self.core.notebook.run(exec_id).is_none_or(|r| r.status.has_ended()) {
            return;
        }
        self.core.uses.note(state);
        if !self.may_begin() {
            return self.runs.backlog.push_back(exec_id.clone());
        }
        if self.waits_to_be_whole(exec_id, state)
            || self.held.waits_for_earlier_version(&mut self.core, exec_id, state)
        {
            return;
        }
        if let Some(head) = self.head_for(exec_id, state) {
            self.runs.run_on(&mut self.core, head, exec_id);
        }
    }

    fn may_begin(&self) -> bool {
        self.core.processes.has_room()
            && !(self.memory.is_full(&self.core) && self.saver.is_saving(&self.core))
    }

    /// A run with `replay` begins only at a whole state: variables that are missing in the
    /// checkpoint are replayed first. Returns whether the run waits for that.
    fn waits_to_be_whole(&mut self, exec_id: &ExecId, id: &StateId) -> bool {
        if id.is_root() || !self.runs.wants_whole_state(exec_id) {
            return false;
        }
        let Some(state) = self.core.notebook.state(id) else { return false };
        if replay::lacks_something(&self.core, state) {
            self.replays.wait(&mut self.core, exec_id, id);
            return true;
        }
        // Which variables are missing is known only when the checkpoint is loaded. So it is loaded
        // here, even if each branch then loads it for itself.
        if state.residency == Residency::Disk {
            self.core.source_of(id);
        }
        let is_being_loaded = self.core.processes.is_being_loaded(id);
        if is_being_loaded {
            self.wait_until_loaded(exec_id, id);
        }
        is_being_loaded
    }

    fn wait_until_loaded(&mut self, exec_id: &ExecId, state: &StateId) {
        self.loads.wait(exec_id, state);
        self.runs.limit_time(&mut self.core, exec_id);
    }

    /// The head for a run: one that rests at its state, or a new one. None if the run has to wait,
    /// or has ended because no head can be made.
    fn head_for(&mut self, exec_id: &ExecId, state: &StateId) -> Option<ProcId> {
        let core = &mut self.core;
        // A passing run leaves no state, so it must not use up a resting head: part of the head's
        // state may exist only there.
        let resting = core.processes.resting_at(state);
        if let Some(head) = resting.filter(|_| !core.notebook.is_passing(exec_id)) {
            core.ensure_frozen(head, state);
            if let Some(head) = core.processes.head_mut(head) {
                head.doing = Doing::Begin(exec_id.clone());
            }
            core.wake(BEGIN_TIMEOUT, Alarm::BeginTimeout(head, exec_id.clone(), self.runs.serial(exec_id)));
            return Some(head);
        }
        if core.has_to_wait_for_its_checkpoint(state) {
            self.saver.wait(core, exec_id, state);
            return None;
        }
        if core.has_to_wait_until_loaded(state) {
            self.wait_until_loaded(exec_id, state);
            return None;
        }
        let head = core.branch(state, Doing::Begin(exec_id.clone()));
        if head.is_none() {
            self.no_head(exec_id, state);
        }
        head
    }

    /// Ends a run for which no head can be made, or replays its state if the run allows it.
    fn no_head(&mut self, exec_id: &ExecId, state: &StateId) {
        let core = &mut self.core;
        if self.runs.may_replay(exec_id) {
            return self.replays.wait(core, exec_id, state);
        }
        let outcome = if core.processes.has_head_at(state) {
            // The state could not be frozen, and its head has not reported yet that it refuses to
            // run a cell.
            let why = core.processes.refusal_at(state).unwrap_or("its process is being made again");
            Outcome::fork_refused(&format!("the state could not be kept: {why}"))
        } else {
            Outcome::Crashed(RunError::new("StateLost", format!("the process of state {state} is gone")))
        };
        self.runs.end(core, exec_id, outcome);
    }

    /// The head for a run was never made. If the process that was to fork the head is gone, too,
    /// the run begins again: another process may hold the state, or its checkpoint can be loaded.
    pub(super) fn begin_again(&mut self, exec_id: &ExecId, source: Option<ProcId>, at: &StateId) {
        let has_lost_its_source = source.is_none_or(|source| self.core.processes.held_by(source).is_none());
        if has_lost_its_source && self.runs.may_begin_again(exec_id) {
            self.core.left(at);
            return self.begin(exec_id, at);
        }
        let outcome = Outcome::fork_failed("the forked process died before it was ready");
        self.runs.end(&mut self.core, exec_id, outcome);
    }

    /// Begins the runs that have waited for a state to be loaded.
    pub(super) fn begin_loaded(&mut self, state: &StateId) {
        for run in self.loads.take_runs(state) {
            self.begin(&run, state);
        }
    }

    /// Begins runs that waited for room.
    pub(in crate::session::machine) fn serve_backlog(&mut self) {
        while !self.runs.backlog.is_empty()
            && self.may_begin()
            && let Some(exec_id) = self.runs.backlog.pop_front()
        {
            self.resume(&exec_id);
            self.settle();
        }
    }

    /// Begins a run that has waited, if its state can still be run against.
    fn resume(&mut self, exec_id: &ExecId) {
        let Some(Base::State(state)) = self.core.notebook.run(exec_id).map(|r| r.on.clone()) else { return };
        match runs::resolve(&self.core, Base::State(state.clone()), self.runs.may_replay(exec_id)) {
            Ok(_) => self.begin(exec_id, &state),
            Err(refused) => self.runs.end(&mut self.core, exec_id, Outcome::aborted(&refused.why)),
        }
    }

    /// A head reports that its cell has ended.
    pub(in crate::session::machine) fn ended(
        &mut self,
        head: ProcId,
        how: How,
        report: CellReport,
        remains: Remains,
    ) {
        if let Some(target) = self.core.processes.replaying(head) {
            return self.replays.cell_ended(&mut self.core, &target, how, report, &remains);
        }
        let Some(exec_id) = self.core.processes.run_of(head) else { return };
        if self.core.processes.head(head).is_some_and(|h| h.is_killed) {
            // The cell ended just when its head was killed, so its state could not be kept.
            self.core.discard(head);
            return self.head_died(&exec_id, None);
        }
        match how {
            How::Ok if self.core.notebook.is_passing(&exec_id) => {
                self.core.discard(head);
                self.runs.end(&mut self.core, &exec_id, Outcome::Ok);
            }
            How::Ok => self.leave_state(head, &exec_id, report, None),
            How::Refused => self.runs.head_refused(&mut self.core, head, &exec_id),
            How::Error(error) => {
                let outcome = self.runs.judge(&self.core, &exec_id, error);
                self.failed(head, &exec_id, report, remains, outcome);
            }
        }
    }

    /// Ends a run that leaves a state, which its head then freezes. After an error the state is
    /// partial.
    fn leave_state(&mut self, head: ProcId, exec_id: &ExecId, report: CellReport, error: Option<Outcome>) {
        let core = &mut self.core;
        let state = self.runs.leave_state(core, head, exec_id, report, error.is_some());
        self.runs.end(core, exec_id, error.unwrap_or(Outcome::Ok));
        if let Some(state) = state {
            core.ensure_frozen(head, &state);
        }
    }

    /// A cell failed. With `OnError::Keep` the run leaves a partial state. Otherwise the head is
    /// held if the variables that the cell set can be kept, else the head and all processes that
    /// the cell started are killed.
    fn failed(
        &mut self,
        head: ProcId,
        exec_id: &ExecId,
        report: CellReport,
        remains: Remains,
        outcome: Outcome,
    ) {
        let core = &mut self.core;
        // A passing run leaves no partial state either.
        let remains = if core.notebook.is_passing(exec_id) { Remains::Nothing } else { remains };
        let why = match remains {
            Remains::Unchanged | Remains::Set if self.runs.keeps_on_error(exec_id) => {
                core.effects.push(Effect::EndStarted(head));
                return self.leave_state(head, exec_id, report, Some(outcome));
            }
            Remains::Set => {
                let is_held = self.held.hold(core, head, exec_id, report);
                self.memory.wake_to_measure(core, &self.held);
                self.runs.end(core, exec_id, outcome);
                if is_held {
                    // This comes last: what follows from `Input::HeadStopped` must be published
                    // after the end of the run.
                    core.effects.push(Effect::Stop(head));
                }
                return;
            }
            Remains::Nothing => NotHeld::LeftNothing,
            Remains::Unchanged => NotHeld::SetNothing,
            Remains::Unfit(why) => NotHeld::Unfit(why),
        };
        self.held.note(core, exec_id, why);
        core.effects.push(Effect::EndRun(head));
        core.discard(head);
        self.runs.end(core, exec_id, outcome);
    }
}
