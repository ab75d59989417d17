//! How a run comes to an end that it did not choose: interrupted, out of time, or with its process.

use super::held::NotHeld;
use super::processes::Doing;
use super::{Alarm, Effect, Machine, Serial, outputs};
use crate::kernel::{Exit, ProcId};
use crate::notebook::{Base, ExecId, RunError, RunStatus, StateId};
use std::time::Duration;

/// How long an interrupted cell may take to stop before its head is killed.
const INTERRUPT_GRACE: Duration = Duration::from_secs(3);
/// Why a run was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Asked,
    TimeLimit,
    /// It held so many bytes more than its state.
    MemoryLimit(u64),
}

impl Machine {
    /// Whether an exception is a failure of the code or the interrupt that somebody asked for.
    pub(super) fn judge(&self, exec_id: &ExecId, error: RunError) -> (RunStatus, RunError) {
        if error.ename != "KeyboardInterrupt" {
            return (RunStatus::Error, error);
        }
        match self.requests.get(exec_id).and_then(|r| r.stop) {
            Some(Stop::TimeLimit) => (RunStatus::Interrupted, self.time_limit_error(exec_id)),
            Some(Stop::MemoryLimit(bytes)) => {
                (RunStatus::Interrupted, self.requests.memory_limit_error(exec_id, bytes))
            }
            _ => (RunStatus::Interrupted, error),
        }
    }

    fn time_limit_error(&self, exec_id: &ExecId) -> RunError {
        let limit = self.requests.get(exec_id).and_then(|r| r.timeout).unwrap_or_default();
        let has_begun = self.core.notebook.run(exec_id).is_none_or(|r| r.started_at.is_some());
        let waited = if has_begun { "" } else { ", before its state was loaded from its checkpoint" };
        let why = format!("the run was stopped at its limit of {} s{waited}", limit.as_secs_f64());
        RunError::new("RunTimeout", why)
    }

    /// Stops a run; false when there is none to stop.
    pub(super) fn interrupt(&mut self, exec_id: &ExecId) -> bool {
        self.stop_replay(exec_id) || self.stop(exec_id, Stop::Asked)
    }

    fn stop(&mut self, exec_id: &ExecId, why: Stop) -> bool {
        if self.core.notebook.run(exec_id).is_none_or(|r| r.status.has_ended()) {
            return false;
        }
        let Some(request) = self.requests.get_mut(exec_id) else { return false };
        let first = request.stop.is_none();
        request.stop = request.stop.or(Some(why));
        let head = self.core.processes.of_run(exec_id);
        match head.and_then(|id| self.core.processes.head(id).map(|h| (id, &h.doing))) {
            Some((head, Doing::Run(_))) if first => self.ask_to_stop(head, exec_id),
            // Nothing of it runs yet, and a load may take long.
            Some((head, Doing::Begin(_))) if self.core.is_loading(head) => self.core.kill_for_good(head),
            // It has its order, and may have begun already: it is interrupted when it says so.
            Some(_) if first => self.check_whether_stopped(exec_id),
            // Asked twice: its end comes as the end of its process.
            Some((head, _)) => self.core.kill_for_good(head),
            None => {
                self.backlog.retain(|r| r != exec_id);
                let error = match why {
                    Stop::TimeLimit => self.time_limit_error(exec_id),
                    _ => interrupted("it was stopped before it began"),
                };
                self.end(exec_id, RunStatus::Interrupted, Some(error));
                self.serve_backlog();
            }
        }
        true
    }

    /// Whether a run was told to stop.
    pub(super) fn is_stopping(&self, exec_id: &ExecId) -> bool {
        self.requests.get(exec_id).is_some_and(|r| r.stop.is_some())
    }

    /// Interrupts the cell of a head, and looks a while later whether it has stopped.
    pub(super) fn ask_to_stop(&mut self, head: ProcId, exec_id: &ExecId) {
        if self.core.notebook.run(exec_id).is_some_and(|r| r.prompt.is_some()) {
            outputs::prompt(&mut self.core, head, None);
        }
        self.core.effects.push(Effect::Interrupt(head));
        self.check_whether_stopped(exec_id);
    }

    fn check_whether_stopped(&mut self, exec_id: &ExecId) {
        let alarm = Alarm::Stopped(exec_id.clone(), self.requests.serial(exec_id));
        self.core.wake(INTERRUPT_GRACE, alarm);
    }

    /// An interrupted cell goes on: its process is killed.
    pub(super) fn did_not_stop(&mut self, exec_id: &ExecId, serial: Serial) {
        if self.requests.is_still(exec_id, serial)
            && let Some(head) = self.core.processes.of_run(exec_id)
        {
            self.core.kill_for_good(head);
        }
    }

    /// A head that rested does not take up its cell: something that the user's code left behind
    /// holds it. The state has not changed, so another head takes over.
    pub(super) fn did_not_begin(&mut self, head: ProcId, exec_id: &ExecId, serial: Serial) {
        let hangs = self.core.processes.head(head).is_some_and(|h| h.doing == Doing::Begin(exec_id.clone()));
        if !hangs || !self.requests.is_still(exec_id, serial) {
            return;
        }
        let at = self.core.processes.at(head).cloned();
        self.core.discard(head);
        if let Some(at) = at {
            match self.core.runnable(&at) {
                Ok(()) => self.begin(exec_id, &at),
                Err(lost) => {
                    let why = format!("its process does not take up the cell, and {}", lost.why);
                    let why = why + &self.core.known_of(&at);
                    self.head_not_made(exec_id, &why);
                }
            }
        }
    }

    /// A run has used up its time.
    pub(super) fn reached_time_limit(&mut self, exec_id: &ExecId, serial: Serial) {
        if self.requests.is_still(exec_id, serial) {
            self.stop(exec_id, Stop::TimeLimit);
        }
    }

    /// Ends the runs that run against some states, or are to; those states are about to go.
    pub(super) fn stop_runs_on(&mut self, states: &[StateId]) {
        let is_there = |run: &ExecId| {
            self.core
                .notebook
                .run(run)
                .is_some_and(|r| matches!(&r.on, Base::State(on) if states.contains(on)))
        };
        let theirs: Vec<ExecId> = self.core.open.iter().filter(|run| is_there(run)).cloned().collect();
        self.end_runs(&theirs, "the state it ran against was deleted");
    }

    /// Ends all runs: the notebook is about to be reset.
    pub(super) fn stop_all_runs(&mut self) {
        let all: Vec<ExecId> = self.core.open.iter().cloned().collect();
        self.end_runs(&all, "the notebook was reset");
    }

    fn end_runs(&mut self, theirs: &[ExecId], why: &str) {
        for run in theirs {
            self.backlog.retain(|waiting| waiting != run);
            if let Some(head) = self.core.processes.of_run(run) {
                self.core.effects.push(Effect::EndRun(head));
                self.core.discard(head);
            }
            self.end(run, RunStatus::Interrupted, Some(interrupted(why)));
        }
    }

    /// The head of a run died.
    pub(super) fn head_gone(&mut self, exec_id: &ExecId, exit: Option<Exit>) {
        let stop = self.requests.get(exec_id).and_then(|r| r.stop);
        let (status, error) = match stop {
            Some(Stop::TimeLimit) => (RunStatus::Interrupted, self.time_limit_error(exec_id)),
            Some(Stop::MemoryLimit(bytes)) => {
                (RunStatus::Interrupted, self.requests.memory_limit_error(exec_id, bytes))
            }
            Some(Stop::Asked) => (
                RunStatus::Interrupted,
                interrupted("the cell did not stop when asked, so its process was ended"),
            ),
            None => (RunStatus::Crashed, RunError::new("KernelDied", told(exit))),
        };
        self.note_not_held(exec_id, NotHeld::Ended);
        self.end(exec_id, status, Some(error));
        self.serve_backlog();
    }
}

pub(super) fn interrupted(why: &str) -> RunError {
    RunError::new("KeyboardInterrupt", why)
}

/// How a process ended, for people.
pub(super) fn told(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("the process of this cell ended itself with exit code {code}"),
        Some(Exit::Signal(number)) => {
            let name = nix::sys::signal::Signal::try_from(number).map_or("an unknown signal", |s| s.as_str());
            format!("the process of this cell was killed by {name}")
        }
        Some(Exit::OutOfMemory) => "the process of this cell was killed by SIGKILL: the machine ran out \
            of memory, most likely because of it. \
             Its state is as it was. Have the cell hold less, or limit runs with --run-memory"
            .into(),
        Some(Exit::Unreachable) => "the process of this cell could not be reached any more and was \
            ended: the cell has closed all descriptors, \
             or become another program (os.closerange, os.exec…). Its state is as it was"
            .into(),
        None => "the process of this cell is gone".into(),
    }
}
