//! Gives a cell variables of other states. Short-lived forks of the processes of those states send
//! the variables through pipes.
//!
//! The machine does not wait for these senders. The head reads from their pipes before its cell
//! runs. If a sender dies, its pipe ends, and the head reports an error.

use super::core::Core;
use super::duty::{Duty, Sender};
use super::effect::Alarm;
use super::processes::Origin;
use crate::kernel::Wanted;
use crate::kernel::{Delivery, ProcId};
use crate::notebook::{ExecId, Reading, StateId, StateRef, other_state};
use std::time::Duration;

/// How long the fork of a sender may take. The time for loading the sender's state does not count.
const SENDER_TIMEOUT: Duration = Duration::from_secs(15);

/// Starts the senders for the variables that a cell needs, and returns each delivery with its
/// sender. The request names the variables (`reads`), or generated code names them.
pub(super) fn deliveries(
    core: &mut Core,
    reads: Option<&[Reading]>,
    exec_id: &ExecId,
    code: &str,
) -> Vec<(Delivery, Option<ProcId>)> {
    end_senders(core, exec_id);
    if let Some(reads) = reads {
        let deliver = |Reading { alias, state, is_named }: &Reading| {
            let StateRef::Id(state) = state else { return None };
            let wanted = Wanted::For { alias: alias.clone(), code: code.to_owned() };
            let sender = if *is_named { send_from(core, state, exec_id, wanted) } else { None };
            Some((delivery(alias.clone(), state, *is_named), sender))
        };
        return reads.iter().filter_map(deliver).collect();
    }
    let Some((from, names)) = other_state(code) else { return Vec::new() };
    // If no sender can be started, the cell fails with an error that the other state is not
    // available.
    let sender = send_from(core, &from, exec_id, Wanted::Names { names });
    sender.map(|sender| (delivery(String::new(), &from, true), Some(sender))).into_iter().collect()
}

fn send_from(core: &mut Core, state: &StateId, run: &ExecId, wanted: Wanted) -> Option<ProcId> {
    core.runnable(state).ok()?;
    let from = core.source_of(state)?;
    core.uses.note(state);
    let duty = Duty::Sending(Sender { run: run.clone(), wanted });
    Some(core.spawn(Origin::fork(from, state), duty, SENDER_TIMEOUT))
}

/// Ends a sender that is late. The time limit does not include the time for loading its state.
pub(super) fn timed_out(core: &mut Core, process: ProcId) {
    if core.processes.waits_for_a_load(process) {
        core.wake(SENDER_TIMEOUT, Alarm::Late(process));
    } else if core.processes.get(process).is_some_and(|sender| !sender.is_ready) {
        core.end(process);
    }
}

/// Ends the senders of a run.
pub(super) fn end_senders(core: &mut Core, run: &ExecId) {
    for process in core.processes.all_of(|duty| matches!(duty, Duty::Sending(sender) if &sender.run == run)) {
        core.end(process);
    }
}

/// Ends the senders at a state that are not ready, because the state's process has exited.
pub(super) fn end_senders_at(core: &mut Core, state: &StateId) {
    for process in core.processes.of(state, |duty| matches!(duty, Duty::Sending(_))) {
        if core.processes.get(process).is_some_and(|sender| !sender.is_ready) {
            core.end(process);
        }
    }
}

fn delivery(alias: String, state: &StateId, comes: bool) -> Delivery {
    Delivery { alias, state: state.as_str().to_owned(), comes }
}
