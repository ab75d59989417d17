//! What happens when a cell has ended: its head freezes the new state, is held, or is killed.

use super::sweeping::release_rows;
use crate::kernel::{CellReport, Exit, How, ProcId, Remains};
use crate::notebook::{ExecId, RunError};
use crate::session::machine::effect::Effect;
use crate::session::machine::held::NotHeld;
use crate::session::machine::parts::Parts;

/// Handles a head's report that its cell has ended.
pub(in crate::session::machine) fn ended(
    parts: &mut Parts,
    head: ProcId,
    how: How,
    report: CellReport,
    remains: Remains,
) {
    parts.widgets.flush_of(&mut parts.core, head);
    if let Some(target) = parts.core.processes.replaying(head) {
        return parts.replays.cell_ended(&mut parts.core, &target, how, report.hazards, &remains);
    }
    let Some(exec_id) = parts.core.processes.run_of(head) else { return };
    if parts.core.processes.head(head).is_some_and(|h| h.is_killed) {
        // The head was killed just when the cell ended, so the new state could not be kept.
        parts.core.discard(head);
        return head_died(parts, &exec_id, None);
    }
    match how {
        How::Ok if parts.core.notebook.is_passing(&exec_id) => {
            parts.core.discard(head);
            parts.runs.end(&mut parts.core, &exec_id, Ok(()));
        }
        How::Ok => leave_state(parts, head, &exec_id, report, Ok(())),
        How::Refused => parts.runs.head_refused(&mut parts.core, head, &exec_id),
        How::Error(error) => {
            let error = parts.runs.judge(&parts.core, &exec_id, error);
            failed(parts, head, &exec_id, report, remains, error);
        }
    }
}

/// Ends a run that leaves a state, which its head then freezes. If the run failed, the state is
/// partial.
fn leave_state(
    parts: &mut Parts,
    head: ProcId,
    exec_id: &ExecId,
    report: CellReport,
    ending: Result<(), RunError>,
) {
    let core = &mut parts.core;
    let state = parts.runs.leave_state(core, head, exec_id, report, ending.is_err());
    parts.runs.end(core, exec_id, ending);
    // Many rows of a sweep are not kept. Their states are never frozen, which saves a fork.
    release_rows(parts);
    if let Some(state) = state.filter(|state| parts.core.processes.at(head) == Some(state)) {
        parts.core.ensure_frozen(head, &state);
    }
}

/// Handles the failure of a cell. With `OnError::Keep`, the run leaves a partial state.
/// Otherwise, the head is held if the variables that the cell set can be kept. If they cannot,
/// the head and all processes that the cell started are killed.
pub(in crate::session::machine) fn failed(
    parts: &mut Parts,
    head: ProcId,
    exec_id: &ExecId,
    report: CellReport,
    remains: Remains,
    error: RunError,
) {
    let core = &mut parts.core;
    // A passing run leaves no state, so it leaves no partial state either.
    let remains = if core.notebook.is_passing(exec_id) { Remains::Nothing } else { remains };
    let why = match remains {
        Remains::Unchanged | Remains::Set if parts.runs.keeps_on_error(exec_id) => {
            core.emit(Effect::EndStarted(head));
            return leave_state(parts, head, exec_id, report, Err(error));
        }
        Remains::Set => {
            let is_held = parts.held.hold(core, head, exec_id, report);
            parts.memory.wake_to_measure(core, &parts.held);
            parts.runs.fail(core, exec_id, error);
            if is_held {
                // The last effect, because `Input::HeadStopped` can follow at once, and the
                // events that it causes must be published after the end of the run.
                core.emit(Effect::Stop(head));
            }
            return;
        }
        Remains::Nothing => NotHeld::LeftNothing,
        Remains::Unchanged => NotHeld::SetNothing,
        Remains::Unfit(why) => NotHeld::Unfit(why),
    };
    parts.held.note(core, exec_id, why);
    core.emit(Effect::EndRun(head));
    core.discard(head);
    parts.runs.fail(core, exec_id, error);
}

pub(in crate::session::machine) fn head_died(parts: &mut Parts, run: &ExecId, exit: Option<Exit>) {
    parts.held.note(&parts.core, run, NotHeld::Ended);
    parts.runs.head_died(&mut parts.core, run, exit);
}
