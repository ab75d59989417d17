//! Restarts the notebook in another Python.
//!
//! All processes end. As after a restart of the server, states with a checkpoint are then on disk,
//! and other states can be restored by replay. If a Python of another series (3.11, 3.12) wrote a
//! checkpoint, only the plain values in it can be loaded (`Checkpoint::is_loadable_by`).

use super::failures::root_failed;
use super::refreeze::refreeze_all;
use super::settle::settle;
use crate::kernel::{ProcId, ReadyPython};
use crate::notebook::{Fact, Python, Reply, Residency, Saving, State, StateId};
use crate::problem::{Kind, Problem};
use crate::session::machine::duty::Duty;
use crate::session::machine::effect::{Effect, Killed, Ticket};
use crate::session::machine::introspect;
use crate::session::machine::listings;
use crate::session::machine::parts::Parts;

/// The reason in refusals of requests whose process ended because of the restart.
const RESTARTED: &str = "the notebook was restarted in another Python";

/// Restarts the notebook in this Python. Refused while cells run.
pub(in crate::session::machine) fn change_python(
    parts: &mut Parts,
    ticket: Ticket,
    python: ReadyPython,
    is_chosen: bool,
) {
    if parts.is_busy() {
        let running = parts.core.open.len();
        let why = match running {
            0 => "a state is being replayed".to_owned(),
            1 => "a cell is running".to_owned(),
            _ => format!("{running} cells are running or waiting"),
        };
        let how = "wait until they have ended, or interrupt them";
        let refused = Problem::new(Kind::Conflict, "change the notebook's Python", why, how);
        return parts.core.answer(ticket, Reply::Refused(refused));
    }
    end_all_processes(parts);
    parts.core.notebook.set_python(record(&python, is_chosen));
    parts.core.emit(Effect::UsePython(Box::new(python)));
    publish_python(parts);
    leave_memory(parts);
    parts.core.spawn_root();
    parts.core.answer(ticket, Reply::Done);
}

/// Handles the result of checking the Python. If the Python cannot run cells, all runs and
/// requests that wait for it fail.
pub(in crate::session::machine) fn python_checked(
    parts: &mut Parts,
    checked: Result<Box<ReadyPython>, String>,
) {
    let before = parts.core.notebook.python().clone();
    let (now, failed) = match checked {
        Ok(python) => (record(&python, before.is_chosen), None),
        Err(why) => (Python { problem: Some(why.clone()), ..before.clone() }, Some(why)),
    };
    if now != before {
        parts.core.notebook.set_python(now);
        publish_python(parts);
    }
    if let (Some(why), Some(root)) = (failed, parts.core.processes.root()) {
        root_failed(parts, root, &why);
    }
}

/// Notes which version of Python the root runs: its file may have been replaced since it was
/// checked. The version decides which checkpoints can be loaded.
pub(in crate::session::machine) fn python_started(parts: &mut Parts, process: ProcId, version: String) {
    let before = parts.core.notebook.python();
    if parts.core.processes.root() == Some(process) && before.version != version {
        let now = Python { version, ..before.clone() };
        parts.core.notebook.set_python(now);
        publish_python(parts);
    }
}

/// Sets whether the remaining states are saved without a pause between cells.
pub(in crate::session::machine) fn save_now(parts: &mut Parts, now: bool) {
    refreeze_all(parts);
    parts.saver.is_closing = now;
    parts.save_next();
}

fn publish_python(parts: &mut Parts) {
    let python = parts.core.notebook.python().clone();
    parts.core.publish(Fact::PythonChanged { python });
}

fn end_all_processes(parts: &mut Parts) {
    parts.saver.interrupt_all(&mut parts.core, RESTARTED);
    settle(parts);
    let core = &mut parts.core;
    core.emit(Effect::EndCells);
    parts.held.restart(core);
    listings::end_all(core, Kind::Conflict, RESTARTED);
    introspect::end_all_answers(core, Kind::Conflict, RESTARTED);
    parts.comparer.stop_comparing(core);
    parts.listings.clear();
    parts.loads.reset(core, Kind::Conflict, RESTARTED);
    let root = core.processes.root();
    for process in core.processes.take_frozen() {
        core.kill(process, Killed::NotNeeded);
    }
    for process in core.processes.all_of(|duty| !matches!(duty, Duty::Root)).into_iter().chain(root) {
        core.end(process);
    }
    parts.memory.forget_all();
    core.uses.forget_all();
}

/// Notes that no state is in memory any more. Also, a checkpoint that could not be loaded may
/// be loadable by the new Python.
fn leave_memory(parts: &mut Parts) {
    let gone = |state: &&State| state.residency != Residency::Deleted;
    let ids: Vec<StateId> = parts.core.notebook.states().filter(gone).map(|s| s.id.clone()).collect();
    for id in ids {
        parts.core.due.forget_broken(&id);
        let Some(state) = parts.core.notebook.state_mut(&id) else { continue };
        let before = (state.residency, state.restored_from.take(), state.warnings.len());
        (state.memory_bytes, state.shared_bytes) = (None, None);
        let residency = match &state.checkpoint {
            _ if id.is_root() => Residency::Freezing,
            Some(_) => Residency::Disk,
            None => Residency::Replay,
        };
        state.move_to(residency, parts.core.now_ms);
        if id.is_root() {
            state.warnings.clear();
        }
        if matches!(state.saving, Saving::Failed { .. }) {
            state.saving = Saving::Idle;
        }
        if before != (state.residency, None, state.warnings.len()) {
            parts.core.publish_state(&id);
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
