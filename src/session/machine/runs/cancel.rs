//! Stops runs that were interrupted, that reached a limit of time or memory, or whose process died.

use super::Runs;
use crate::kernel::{Exit, ProcId};
use crate::notebook::{Base, Cause, ExecId, Run, RunError, StateId};
use crate::session::machine::core::{Core, FollowUp};
use crate::session::machine::duty::Doing;
use crate::session::machine::effect::{Alarm, Effect, Serial};
use crate::session::machine::outcome;
use crate::session::machine::outputs;
use std::time::Duration;

/// How long an interrupted cell may take to stop. After that, its head is killed.
const INTERRUPT_GRACE: Duration = Duration::from_secs(3);

/// Why a run has to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session::machine) enum Stop {
    Asked,
    TimeLimit,
    /// The run used this many bytes in addition to the memory of its state.
    MemoryLimit(u64),
}

impl Runs {
    /// The error of a run whose cell raised: that of the cell, or the limit because of which the
    /// cell was interrupted.
    pub(in crate::session::machine) fn judge(
        &self,
        core: &Core,
        exec_id: &ExecId,
        error: RunError,
    ) -> RunError {
        match self.get(exec_id).and_then(|r| r.stop) {
            Some(limit) if error.cause == Some(Cause::Interrupt) && limit != Stop::Asked => {
                self.stop_error(core, exec_id, limit)
            }
            _ => error,
        }
    }

    /// The error of a run that was stopped.
    fn stop_error(&self, core: &Core, exec_id: &ExecId, stop: Stop) -> RunError {
        match stop {
            Stop::Asked => outcome::interrupted(
                "the cell did not stop when it was interrupted, so its process was killed",
            ),
            Stop::TimeLimit => self.time_limit_error(core, exec_id),
            Stop::MemoryLimit(bytes) => self.memory_limit_error(exec_id, bytes),
        }
    }

    fn time_limit_error(&self, core: &Core, exec_id: &ExecId) -> RunError {
        let limit = self.get(exec_id).and_then(|r| r.timeout).unwrap_or_default();
        let has_begun = core.notebook.run(exec_id).is_none_or(|r| r.started_at.is_some());
        let waited = if has_begun { "" } else { ", before its state was loaded from its checkpoint" };
        let why = format!("the run was stopped at its time limit of {} s{waited}", limit.as_secs_f64());
        RunError::of(Cause::RunTimeout, why)
    }

    /// Interrupts a run or kills its process. Returns false if the run does not exist or has ended.
    pub(in crate::session::machine) fn stop(&mut self, core: &mut Core, exec_id: &ExecId, why: Stop) -> bool {
        if core.notebook.run(exec_id).is_none_or(|r| r.status.has_ended()) {
            return false;
        }
        let Some(request) = self.get_mut(exec_id) else { return false };
        let first = request.stop.is_none();
        request.stop = request.stop.or(Some(why));
        let head = core.processes.of_run(exec_id);
        match head.and_then(|id| core.processes.head(id).map(|h| (id, &h.doing))) {
            Some((head, Doing::Run(_))) if first => self.ask_to_stop(core, head, exec_id),
            // The cell has not begun, and loading can take long, so the head is killed immediately.
            Some((head, Doing::Begin(_))) if core.is_loading(head) => core.kill_for_good(head),
            // The head has the order to run the cell and may have begun. When it reports the
            // beginning, it is interrupted.
            Some(_) if first => self.check_whether_stopped(core, exec_id),
            // A second request to stop kills the process.
            Some((head, _)) => core.kill_for_good(head),
            None => {
                self.backlog.retain(|r| r != exec_id);
                let has_begun = core.notebook.run(exec_id).is_some_and(|run| run.started_at.is_some());
                let error = match why {
                    _ if has_begun => outcome::interrupted("the run was stopped at its worker"),
                    Stop::TimeLimit => self.time_limit_error(core, exec_id),
                    _ => outcome::interrupted("the run was stopped before it began"),
                };
                self.fail(core, exec_id, error);
            }
        }
        true
    }

    /// Whether a request to stop the run was made.
    pub(in crate::session::machine) fn is_stopping(&self, exec_id: &ExecId) -> bool {
        self.get(exec_id).is_some_and(|r| r.stop.is_some())
    }

    /// Interrupts the cell of a head, and sets an alarm to check whether the cell has stopped.
    pub(in crate::session::machine) fn ask_to_stop(&self, core: &mut Core, head: ProcId, exec_id: &ExecId) {
        if core.notebook.run(exec_id).is_some_and(|r| r.prompt.is_some()) {
            outputs::prompt(core, head, None);
        }
        core.emit(Effect::Interrupt(head));
        self.check_whether_stopped(core, exec_id);
    }

    fn check_whether_stopped(&self, core: &mut Core, exec_id: &ExecId) {
        let alarm = Alarm::StopTimeout(exec_id.clone(), self.serial(exec_id));
        core.wake(INTERRUPT_GRACE, alarm);
    }

    /// Kills the process of an interrupted cell that did not stop in time.
    pub(in crate::session::machine) fn did_not_stop(
        &self,
        core: &mut Core,
        exec_id: &ExecId,
        serial: Serial,
    ) {
        if self.is_still(exec_id, serial)
            && let Some(head) = core.processes.of_run(exec_id)
        {
            core.kill_for_good(head);
        }
    }

    /// Replaces an idle head that did not begin its cell in time, probably because something that
    /// an earlier cell left running blocks it. The head's state has not changed, so the cell moves
    /// to another head.
    pub(in crate::session::machine) fn did_not_begin(
        &mut self,
        core: &mut Core,
        head: ProcId,
        exec_id: &ExecId,
        serial: Serial,
    ) {
        let hangs = core.processes.head(head).is_some_and(|h| h.doing == Doing::Begin(exec_id.clone()));
        if !hangs || !self.is_still(exec_id, serial) {
            return;
        }
        let at = core.processes.at(head).cloned();
        core.discard(head);
        let Some(at) = at else { return };
        match core.runnable(&at) {
            Ok(()) => core.follow_up(FollowUp::Begin(exec_id.clone(), at)),
            Err(lost) => {
                let known = core.warnings_of(&at);
                let why = format!(
                    "the process of the state did not begin the cell in time, and {}{known}",
                    lost.why
                );
                self.fail(core, exec_id, outcome::fork_failed(&why));
            }
        }
    }

    /// Stops a run that has reached its time limit.
    pub(in crate::session::machine) fn reached_time_limit(
        &mut self,
        core: &mut Core,
        exec_id: &ExecId,
        serial: Serial,
    ) {
        if self.is_still(exec_id, serial) {
            self.stop(core, exec_id, Stop::TimeLimit);
        }
    }

    /// Ends all runs against some states, because these states are about to be deleted.
    pub(in crate::session::machine) fn stop_on(&mut self, core: &mut Core, states: &[StateId]) {
        let is_on = |run: &Run| matches!(&run.on, Base::State(on) if states.contains(on));
        let is_theirs = |run: &&ExecId| core.notebook.run(run).is_some_and(is_on);
        let theirs: Vec<ExecId> = core.open.iter().filter(is_theirs).cloned().collect();
        self.kill_and_end(core, &theirs, outcome::STATE_DELETED);
    }

    /// Ends all runs, because the notebook is about to be reset.
    pub(in crate::session::machine) fn stop_all(&mut self, core: &mut Core) {
        let all: Vec<ExecId> = core.open.iter().cloned().collect();
        self.kill_and_end(core, &all, "the notebook was reset");
    }

    /// Kills the processes of runs, and ends the runs.
    pub(in crate::session::machine) fn kill_and_end(
        &mut self,
        core: &mut Core,
        theirs: &[ExecId],
        why: &str,
    ) {
        for run in theirs {
            self.backlog.retain(|waiting| waiting != run);
            if let Some(head) = core.processes.of_run(run) {
                core.emit(Effect::EndRun(head));
                core.discard(head);
            }
            self.fail(core, run, outcome::interrupted(why));
        }
    }

    /// Ends a run whose head died.
    pub(in crate::session::machine) fn head_died(
        &mut self,
        core: &mut Core,
        exec_id: &ExecId,
        exit: Option<Exit>,
    ) {
        let error = match self.get(exec_id).and_then(|r| r.stop) {
            Some(stop) => self.stop_error(core, exec_id, stop),
            None => RunError::of(Cause::KernelDied, outcome::exit_in_words(exit)),
        };
        self.fail(core, exec_id, error);
    }
}
