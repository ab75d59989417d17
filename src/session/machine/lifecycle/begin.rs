//! How a run begins: which head runs its cell, or what the run waits for first. Also what happens
//! when the cell has ended.

use super::hangs::BEGIN_TIMEOUT;
use crate::kernel::{How, ProcId, Remains};
use crate::notebook::{Base, Cause, ExecId, Reply, Residency, RunError, RunSpec, StateId};
use crate::problem::{Kind, Problem};
use crate::session::machine::core::FollowUp;
use crate::session::machine::held::NotHeld;
use crate::session::machine::processes::Doing;
use crate::session::machine::runs::{self, CellReport, Outcome};
use crate::session::machine::{Alarm, Effect, Machine, Ticket, replay, saving, sweeps, workers};

impl Machine {
    /// Handles a request for a run. Returns the answer unless the client has to wait.
    pub(in crate::session::machine) fn ask_run(
        &mut self,
        ticket: impl Into<Option<Ticket>>,
        spec: RunSpec,
    ) -> Result<Option<Reply>, Problem> {
        let ticket = ticket.into();
        if ticket.is_some() && sweeps::is_reserved(&self.core, &spec.exec_id) {
            let (what, why) = (format!("run {}", spec.exec_id), "ids of this form belong to a sweep");
            return Err(Problem::new(Kind::Conflict, what, why, "use another exec_id"));
        }
        let spec = runs::resolve_names(&self.core, spec)?;
        if runs::was_refused(&self.core, &spec) {
            self.drop_attempt(&spec.exec_id);
        }
        for state in runs::read_states(&spec) {
            self.refreeze_at(&state);
        }
        self.runs.ask(&mut self.core, ticket, spec)
    }

    /// Carries out the requests between parts of the machine (`FollowUp`).
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
                FollowUp::Digested(state, found) => self.learned_digests(&state, &found),
                FollowUp::ForgetDeleted(state) => self.forget_deleted(&state),
                FollowUp::Answered(ticket, reply) => self.sweeps.answered(&mut self.core, ticket, *reply),
            }
        }
    }

    /// Begins a run, or makes it wait.
    pub(super) fn begin(&mut self, exec_id: &ExecId, state: &StateId) {
        if self.core.notebook.run(exec_id).is_none_or(|r| r.status.has_ended()) {
            return;
        }
        self.core.uses.note(state);
        if self.runs.is_at_workers(exec_id) {
            return self.begin_at_workers(exec_id, state);
        }
        if !self.may_begin() {
            return self.runs.backlog.push_back(exec_id.clone());
        }
        if self.wait_until_whole(exec_id, state)
            || self.held.wait_for_earlier_version(&mut self.core, exec_id, state)
        {
            return;
        }
        if self.widgets.wait_for_widget(&self.core, exec_id, state) {
            return;
        }
        self.refreeze_at(state);
        if let Some(head) = self.head_for(exec_id, state) {
            self.runs.run_on(&mut self.core, head, exec_id);
        }
    }

    /// Sends a run to the workers, once its state has a checkpoint.
    fn begin_at_workers(&mut self, exec_id: &ExecId, id: &StateId) {
        if self.widgets.wait_for_widget(&self.core, exec_id, id) {
            return;
        }
        self.refreeze_at(id);
        let Some(state) = self.core.notebook.state(id) else { return };
        let parent = workers::checkpoint_for_workers(&self.core, state).cloned();
        if parent.is_some() || id.is_root() {
            return self.workers.send(&mut self.core, &self.runs, exec_id, parent);
        }
        let why = match self.core.runnable(id) {
            Ok(()) if saving::holds_values_only(&self.core, state) => {
                "its state has only the plain values of a checkpoint that is not trusted, or that another \
                 Python wrote. Trust the notebook's checkpoints, or replay the state, and run the cell again"
                    .to_owned()
            }
            Ok(()) => return self.saver.wait(&mut self.core, exec_id, id),
            Err(_) if self.runs.may_replay(exec_id) => {
                return self.replays.wait(&mut self.core, exec_id, id);
            }
            Err(lost) => format!("{}: {}", lost.why, lost.how),
        };
        self.runs.end(&mut self.core, exec_id, Outcome::Error(RunError::of(Cause::StateLost, why)));
    }

    fn may_begin(&self) -> bool {
        self.core.processes.has_room()
            && !(self.memory.is_full(&self.core) && self.saver.is_saving(&self.core))
    }

    /// With `replay`, a run begins only at a whole state: if the checkpoint lacks variables,
    /// replays the state first. Returns whether the run waits for this.
    fn wait_until_whole(&mut self, exec_id: &ExecId, id: &StateId) -> bool {
        if id.is_root() || !self.runs.wants_whole_state(exec_id) {
            return false;
        }
        let Some(state) = self.core.notebook.state(id) else { return false };
        if replay::lacks_something(&self.core, state) {
            self.replays.wait(&mut self.core, exec_id, id);
            return true;
        }
        // Only loading the checkpoint shows which variables cannot be loaded. So the state is
        // loaded here, even if each branch then loads the checkpoint again.
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

    /// Finds the head for a run: a head that rests at the run's state, or a new one. None if the
    /// run has to wait, or if it has ended because no head can be made.
    fn head_for(&mut self, exec_id: &ExecId, state: &StateId) -> Option<ProcId> {
        let core = &mut self.core;
        // Part of a state may exist only in its resting head. A passing run leaves no state, so it
        // must not use up that head.
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
        if core.load_before_forking(state) {
            self.wait_until_loaded(exec_id, state);
            return None;
        }
        let head = core.branch(state, Doing::Begin(exec_id.clone()));
        if head.is_none() {
            self.no_head(exec_id, state);
        }
        head
    }

    /// Handles a run for which no head can be made: replays the state if the run allows it,
    /// otherwise ends the run.
    fn no_head(&mut self, exec_id: &ExecId, state: &StateId) {
        let core = &mut self.core;
        if self.runs.may_replay(exec_id) {
            return self.replays.wait(core, exec_id, state);
        }
        let outcome = if core.processes.has_head_at(state) {
            // The state could not be frozen, and its head has not yet reported that it refuses to
            // run a cell.
            let why = core.processes.refusal_at(state).unwrap_or("its process is being restored");
            Outcome::fork_refused(&format!("the state could not be kept: {why}"))
        } else {
            Outcome::Crashed(RunError::of(
                Cause::StateLost,
                format!("the process of state {state} has ended"),
            ))
        };
        self.runs.end(core, exec_id, outcome);
    }

    /// Handles a run whose head was never made. The run ends, or begins again if the process that
    /// should have forked the head has exited too: another process may hold the state, or its
    /// checkpoint can be loaded.
    pub(super) fn begin_again(&mut self, exec_id: &ExecId, source: Option<ProcId>, at: &StateId) {
        let has_lost_its_source = source.is_none_or(|source| self.core.processes.held_by(source).is_none());
        if has_lost_its_source && self.runs.take_retry(exec_id) {
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

    /// Begins runs in the backlog while further cells may begin.
    pub(in crate::session::machine) fn serve_backlog(&mut self) {
        while !self.runs.backlog.is_empty()
            && self.may_begin()
            && let Some(exec_id) = self.runs.backlog.pop_front()
        {
            self.resume(&exec_id);
            self.settle();
        }
    }

    /// Begins a run that has waited, if the run's state can still be run against.
    fn resume(&mut self, exec_id: &ExecId) {
        let Some(Base::State(state)) = self.core.notebook.run(exec_id).map(|r| r.on.clone()) else { return };
        match runs::resolve(&self.core, Base::State(state.clone()), self.runs.may_replay(exec_id)) {
            Ok(_) => self.begin(exec_id, &state),
            Err(refused) => self.runs.end(&mut self.core, exec_id, Outcome::aborted(&refused.why)),
        }
    }

    /// Handles a head's report that its cell has ended.
    pub(in crate::session::machine) fn ended(
        &mut self,
        head: ProcId,
        how: How,
        report: CellReport,
        remains: Remains,
    ) {
        self.widgets.flush_of(&mut self.core, head);
        if let Some(target) = self.core.processes.replaying(head) {
            return self.replays.cell_ended(&mut self.core, &target, how, report, &remains);
        }
        let Some(exec_id) = self.core.processes.run_of(head) else { return };
        if self.core.processes.head(head).is_some_and(|h| h.is_killed) {
            // The head was killed just when the cell ended, so the new state could not be kept.
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

    /// Ends a run that leaves a state, which its head then freezes. If `error` is given, the state
    /// is partial.
    fn leave_state(&mut self, head: ProcId, exec_id: &ExecId, report: CellReport, error: Option<Outcome>) {
        let core = &mut self.core;
        let state = self.runs.leave_state(core, head, exec_id, report, error.is_some());
        self.runs.end(core, exec_id, error.unwrap_or(Outcome::Ok));
        // Many rows of a sweep are not kept. Their states are never frozen, which saves a fork.
        self.release_rows();
        if let Some(state) = state.filter(|state| self.core.processes.at(head) == Some(state)) {
            self.core.ensure_frozen(head, &state);
        }
    }

    /// Handles the failure of a cell. With `OnError::Keep`, the run leaves a partial state.
    /// Otherwise, the head is held if the variables that the cell set can be kept. If they cannot,
    /// the head and all processes that the cell started are killed.
    fn failed(
        &mut self,
        head: ProcId,
        exec_id: &ExecId,
        report: CellReport,
        remains: Remains,
        outcome: Outcome,
    ) {
        let core = &mut self.core;
        // A passing run leaves no state, so it leaves no partial state either.
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
                    // The last effect, because `Input::HeadStopped` can follow at once, and the
                    // events that it causes must be published after the end of the run.
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
