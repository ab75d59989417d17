//! Handles a process that is ready or late, or that has exited. Each of these events is one `match`
//! on `Duty`.
//!
//! When a state's process has exited, a head that rests at the state freezes it again. Without such
//! a head, the state is on disk or lost.

use super::begin::{begin, begin_again, begin_loaded};
use super::ended::head_died;
use super::failures::note_whether_kept;
use super::failures::{load_failed, not_kept, root_failed};
use super::hangs::not_ready;
use crate::kernel::{Exit, ProcId};
use crate::notebook::{Form, Missing, Reply, Residency, RestoredFrom, StateId};
use crate::problem::Kind;
use crate::session::machine::core::Core;
use crate::session::machine::duty::{Doing, Duty};
use crate::session::machine::effect::Effect;
use crate::session::machine::introspect;
use crate::session::machine::lifecycle::hangs;
use crate::session::machine::listings;
use crate::session::machine::parts::Parts;
use crate::session::machine::processes::Process;
use crate::session::machine::transfers;
use nix::sys::signal::Signal;

/// Handles a process's report that it is ready.
pub(in crate::session::machine) fn ready(
    parts: &mut Parts,
    process: ProcId,
    missing: Vec<Missing>,
    hazard: Option<String>,
) {
    let Some(known) = parts.core.processes.get_mut(process) else { return };
    known.is_ready = true;
    let is_loaded = std::mem::take(&mut known.is_loading);
    let state = known.at.clone();
    if matches!(known.duty, Duty::Root) {
        // The warnings said why an earlier root process could not start.
        parts.core.notebook.state_mut(&state).into_iter().for_each(|root| root.warnings.clear());
    }
    let Some(known) = parts.core.processes.get(process) else { return };
    match &known.duty {
        Duty::Root | Duty::Frozen => frozen_is_ready(parts, &state, missing, is_loaded, hazard),
        Duty::Head(_) if !missing.is_empty() => set_restored(parts, &state, missing, true),
        Duty::Answering(_) => introspect::answerer_is_ready(&mut parts.core, process),
        Duty::Head(_) | Duty::Held(_) | Duty::Ending | Duty::Spare | Duty::Saving(_) => {}
        Duty::Listing(_) | Duty::Fingerprinting | Duty::Sending(_) => {}
    }
}

fn frozen_is_ready(
    parts: &mut Parts,
    state: &StateId,
    missing: Vec<Missing>,
    is_loaded: bool,
    hazard: Option<String>,
) {
    if is_loaded || !missing.is_empty() {
        set_restored(parts, state, missing, is_loaded);
    }
    if is_loaded {
        hangs::note_hazard(&mut parts.core, state, hazard);
    }
    note_whether_kept(&mut parts.core, state, true);
    parts.core.set_residency(state, Residency::Memory);
    parts.loads.answer(&mut parts.core, state, &Reply::Done);
    begin_loaded(parts, state);
    parts.comparer.compare_soon(&mut parts.core, state);
    end_idle_heads(parts);
    parts.memory.measure_soon(&mut parts.core, &parts.held, state);
    parts.evict_to_budget();
    parts.save_next();
}

/// Notes that a state may differ from the state that its cell left: it was loaded from a
/// checkpoint, or one of its ancestors was, and some variables are missing.
fn set_restored(parts: &mut Parts, id: &StateId, missing: Vec<Missing>, is_loaded: bool) {
    parts.listings.forget(id);
    let python = parts.core.notebook.python().clone();
    if let Some(state) = parts.core.notebook.state_mut(id) {
        // Which variables cannot be loaded was unknown when the checkpoint was written, so the
        // checkpoint's list is updated.
        let checkpoint = state.checkpoint.as_mut().filter(|c| is_loaded && c.is_loadable_by(&python));
        if let Some(checkpoint) = checkpoint.filter(|c| c.form == Form::Environment) {
            checkpoint.missing.clone_from(&missing);
        }
        state.restored_from = Some(RestoredFrom::Checkpoint { missing });
        parts.core.publish_state(id);
        parts.core.note_evictable(id);
    }
}

fn end_idle_heads(parts: &mut Parts) {
    let in_memory =
        |id: &StateId| parts.core.notebook.state(id).is_some_and(|s| s.residency == Residency::Memory);
    for head in parts.core.processes.too_many(in_memory) {
        parts.core.discard(head);
    }
}

/// Handles a late process, which hangs or waits for something slow.
pub(in crate::session::machine) fn timed_out(parts: &mut Parts, process: ProcId) {
    let Some(known) = parts.core.processes.get(process) else { return };
    match known.duty {
        Duty::Root | Duty::Frozen | Duty::Head(_) => not_ready(parts, process),
        Duty::Listing(_) => listings::timed_out(&mut parts.core, process),
        Duty::Sending(_) => transfers::timed_out(&mut parts.core, process),
        Duty::Answering(_) => introspect::end_if_idle(&mut parts.core, process),
        Duty::Fingerprinting => parts.comparer.timed_out(&mut parts.core, process),
        Duty::Saving(_) => parts.saver.stalled(&mut parts.core, process),
        Duty::Held(_) | Duty::Ending | Duty::Spare => {}
    }
}

/// Handles the exit of a process.
pub(in crate::session::machine) fn gone(parts: &mut Parts, process: ProcId, exit: Option<Exit>) {
    if let Some(why) = died_loading(&parts.core, process, exit) {
        return load_failed(parts, process, &why);
    }
    let Some(known) = parts.core.processes.get(process) else { return };
    let at = known.at.clone();
    match known.duty {
        Duty::Root
            if parts.core.notebook.state(&at).is_some_and(|root| root.residency == Residency::Freezing) =>
        {
            root_failed(
                parts,
                process,
                "Python ended while it was starting; the terminal may show its error",
            );
        }
        Duty::Root | Duty::Frozen => frozen_gone(parts, process, &at),
        Duty::Head(_) => head_is_gone(parts, process, exit),
        Duty::Held(_) => parts.held.died(&mut parts.core, process, exit),
        Duty::Ending => parts.held.exited(&mut parts.core, process),
        Duty::Listing(_) => {
            let how = "the repr of a variable may have ended it; print values in a cell";
            let why = "the process that listed the variables has died";
            listings::failed(&mut parts.core, process, Kind::Kernel, why, how);
        }
        Duty::Answering(_) => {
            let why = "the process that computed the answer has died";
            introspect::end_answerer(&mut parts.core, process, Kind::Kernel, why);
        }
        Duty::Saving(_) => {
            let why = "the process that wrote the checkpoint died";
            parts.saver.failed(&mut parts.core, process, Kind::Kernel, why);
        }
        Duty::Fingerprinting => parts.comparer.failed(&mut parts.core, process),
        // If a sender dies early, the head that reads from it notices the end of the pipe and
        // reports this.
        Duty::Sending(_) | Duty::Spare => {
            parts.core.processes.remove(process);
        }
    }
}

fn head_is_gone(parts: &mut Parts, process: ProcId, exit: Option<Exit>) {
    let Some(Process { at, from, is_ready, duty: Duty::Head(head), .. }) =
        parts.core.processes.remove(process)
    else {
        return;
    };
    match head.doing {
        // `Widgets::serve` answers the messages.
        Doing::Rest | Doing::Handle(_) => {}
        Doing::Run(run) => {
            parts.core.emit(Effect::EndRun(process));
            head_died(parts, &run, exit);
        }
        Doing::Begin(run) if parts.runs.is_stopping(&run) => head_died(parts, &run, exit),
        // The head died before the cell began. The head's state has not changed, so another
        // head runs the cell.
        Doing::Begin(run) if is_ready => begin(parts, &run, &at),
        Doing::Begin(run) => begin_again(parts, &run, from, &at),
        Doing::Replay(target) => {
            parts.replays.failed(&mut parts.core, &target, "the process that ran its cells died");
        }
    }
    parts.core.left(&at);
}

/// Handles the exit of a frozen process. If a head rests at the state, it freezes the state
/// again.
fn frozen_gone(parts: &mut Parts, process: ProcId, state: &StateId) {
    let was_ready = parts.core.notebook.state(state).is_some_and(|s| s.residency == Residency::Memory);
    if !was_ready {
        // The process died before it was ready. A new one would probably die too.
        return not_kept(parts, process, state);
    }
    parts.core.processes.remove(process);
    parts.core.set_residency(state, Residency::Freezing);
    match parts.core.processes.resting_at(state) {
        Some(head) => parts.core.ensure_frozen(head, state),
        None => parts.core.left(state),
    }
}

/// Returns why a process died while it loaded an untrusted checkpoint; none in other cases. Such a
/// load is not repeated: it would fail each time, and any client that can list variables could
/// trigger it.
fn died_loading(core: &Core, process: ProcId, exit: Option<Exit>) -> Option<String> {
    let is_killed = core.processes.head(process).is_some_and(|head| head.is_killed);
    let known = core.processes.get(process).filter(|known| known.is_loading && !is_killed)?;
    let is_trusted = core.notebook.state(&known.at)?.checkpoint.as_ref()?.is_trusted;
    match exit {
        _ if is_trusted => None,
        Some(Exit::Signal(signal)) if signal == Signal::SIGXCPU as i32 => Some(
            "its values took too long to load for an untrusted file of this size: trust the notebook if \
             you know where it comes from"
                .into(),
        ),
        Some(_) => Some("the process that loaded its values has died".into()),
        None => None,
    }
}
