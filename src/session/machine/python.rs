//! Restarts the notebook in another Python.
//!
//! All processes end. As after a restart of the server, states with a checkpoint are then on disk,
//! and other states can be restored by replay. If a Python of another series (3.11, 3.12) wrote a
//! checkpoint, only the plain values in it can be loaded (`Checkpoint::is_loadable_by`).

use super::processes::Duty;
use super::{Effect, Killed, Machine, Ticket, introspect, listings};
use crate::kernel::{ProcId, ReadyPython};
use crate::notebook::{Fact, Python, Reply, Residency, Saving, State, StateId};
use crate::problem::{Kind, Problem};

/// The reason in refusals of requests whose process ended because of the restart.
const RESTARTED: &str = "the notebook was restarted in another Python";

impl Machine {
    /// Whether cells run or wait. If so, the notebook must not be restarted.
    pub(in crate::session) fn is_busy(&self) -> bool {
        !self.core.open.is_empty() || !self.replays.is_empty()
    }

    /// Restarts the notebook in this Python. Refused while cells run.
    pub(super) fn change_python(&mut self, ticket: Ticket, python: ReadyPython, is_chosen: bool) {
        if self.is_busy() {
            let running = self.core.open.len();
            let why = match running {
                0 => "a state is being replayed".to_owned(),
                1 => "a cell is running".to_owned(),
                _ => format!("{running} cells are running or waiting"),
            };
            let how = "wait until they have ended, or interrupt them";
            let refused = Problem::new(Kind::Conflict, "change the notebook's Python", why, how);
            return self.core.answer(ticket, Reply::Refused(refused));
        }
        self.end_all_processes();
        self.core.notebook.set_python(record(&python, is_chosen));
        self.core.effects.push(Effect::UsePython(Box::new(python)));
        self.publish_python();
        self.leave_memory();
        self.core.spawn_root();
        self.core.answer(ticket, Reply::Done);
    }

    /// Handles the result of checking the Python. If the Python cannot run cells, all runs and
    /// requests that wait for it fail.
    pub(super) fn python_checked(&mut self, checked: Result<Box<ReadyPython>, String>) {
        let before = self.core.notebook.python().clone();
        let (now, failed) = match checked {
            Ok(python) => (record(&python, before.is_chosen), None),
            Err(why) => (Python { problem: Some(why.clone()), ..before.clone() }, Some(why)),
        };
        if now != before {
            self.core.notebook.set_python(now);
            self.publish_python();
        }
        if let (Some(why), Some(root)) = (failed, self.core.processes.root()) {
            self.root_failed(root, &why);
        }
    }

    /// Notes which version of Python the root runs: its file may have been replaced since it was
    /// checked. The version decides which checkpoints can be loaded.
    pub(super) fn python_started(&mut self, process: ProcId, version: String) {
        let before = self.core.notebook.python();
        if self.core.processes.root() == Some(process) && before.version != version {
            let now = Python { version, ..before.clone() };
            self.core.notebook.set_python(now);
            self.publish_python();
        }
    }

    /// Sets whether the remaining states are saved without a pause between cells.
    pub(super) fn save_now(&mut self, now: bool) {
        self.refreeze_all();
        self.saver.is_closing = now;
        self.save_next();
    }

    fn publish_python(&mut self) {
        let python = self.core.notebook.python().clone();
        self.core.publish(Fact::PythonChanged { python });
    }

    fn end_all_processes(&mut self) {
        self.saver.interrupt_all(&mut self.core, RESTARTED);
        self.settle();
        let core = &mut self.core;
        core.effects.push(Effect::EndCells);
        self.held.restart(core);
        listings::end_all(core, Kind::Conflict, RESTARTED);
        introspect::end_all_answers(core, Kind::Conflict, RESTARTED);
        self.comparer.stop_comparing(core);
        self.listings.clear();
        self.loads.reset(core, Kind::Conflict, RESTARTED);
        let root = core.processes.root();
        for process in core.processes.take_frozen() {
            core.effects.push(Effect::Kill(process, Killed::NotNeeded));
        }
        for process in core.processes.all_of(|duty| !matches!(duty, Duty::Root)).into_iter().chain(root) {
            core.end(process);
        }
        self.memory.forget_all();
        core.uses.forget_all();
    }

    /// Notes that no state is in memory any more. Also, a checkpoint that could not be loaded may
    /// be loadable by the new Python.
    fn leave_memory(&mut self) {
        let gone = |state: &&State| state.residency != Residency::Deleted;
        let ids: Vec<StateId> = self.core.notebook.states().filter(gone).map(|s| s.id.clone()).collect();
        for id in ids {
            self.core.due.forget_broken(&id);
            let Some(state) = self.core.notebook.state_mut(&id) else { continue };
            let before = (state.residency, state.restored_from.take(), state.warnings.len());
            (state.memory_bytes, state.shared_bytes) = (None, None);
            let residency = match &state.checkpoint {
                _ if id.is_root() => Residency::Freezing,
                Some(_) => Residency::Disk,
                None => Residency::Replay,
            };
            state.move_to(residency, self.core.now_ms);
            if id.is_root() {
                state.warnings.clear();
            }
            if matches!(state.saving, Saving::Failed { .. }) {
                state.saving = Saving::Idle;
            }
            if before != (state.residency, None, state.warnings.len()) {
                self.core.publish_state(&id);
            }
        }
    }
}

fn record(python: &ReadyPython, is_chosen: bool) -> Python {
    Python {
        path: python.executable.display().to_string(),
        version: python.version.to_string(),
        is_chosen,
        problem: None,
    }
}
