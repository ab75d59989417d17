//! Handles a process that could not be created, could not load its state, or has died before it was
//! ready.
//!
//! Runs that wait for the process end, begin again or replay its state, and requests are refused.

use super::begin::begin_again;
use crate::kernel::ProcId;
use crate::notebook::{Cause, ExecId, Reply, Residency, RunError, Saving, StateId};
use crate::problem::{Kind, Problem};
use crate::session::machine::core::Core;
use crate::session::machine::duty::{Doing, Duty};
use crate::session::machine::effect::Killed;
use crate::session::machine::introspect;
use crate::session::machine::listings;
use crate::session::machine::outcome;
use crate::session::machine::parts::Parts;
use crate::session::machine::processes::Process;
use crate::session::machine::transfers;

/// The warning of a state whose head could not fork the state's frozen process.
const NOT_KEPT: &str =
    "this state could not be frozen, so it can be lost; the next run against it tries to freeze it again";

/// Handles the system's refusal to create a process. Clients may repeat the requests that
/// needed the process.
pub(in crate::session::machine) fn fork_refused(parts: &mut Parts, child: ProcId, why: &str) {
    if let Some(run) = parts.core.processes.run_of(child) {
        parts.core.processes.remove(child);
        parts.runs.fail(&mut parts.core, &run, outcome::fork_refused(why));
    } else {
        if let Some(state) = parts.core.processes.held_by(child).cloned() {
            parts.core.processes.note_refusal(&state, why);
            refuse_branches(parts, &state, why);
        }
        fork_failed(parts, child, why);
    }
}

/// Ends the heads that wait for a state's frozen process to fork them, because that process
/// cannot be created.
fn refuse_branches(parts: &mut Parts, state: &StateId, why: &str) {
    if !parts.core.forks(state) {
        return;
    }
    for head in parts.core.processes.coming_to(state) {
        match end_head(parts, head) {
            Doing::Begin(run) | Doing::Run(run) => {
                parts.runs.fail(&mut parts.core, &run, outcome::fork_refused(why));
            }
            Doing::Replay(target) => parts.replays.failed(&mut parts.core, &target, why),
            Doing::Rest | Doing::Handle(_) => {}
        }
    }
}

/// Handles the failure to create a process.
pub(in crate::session::machine) fn fork_failed(parts: &mut Parts, child: ProcId, why: &str) {
    let Some(known) = parts.core.processes.get(child) else { return };
    let at = known.at.clone();
    match &known.duty {
        Duty::Root => root_failed(parts, child, why),
        Duty::Frozen => not_kept(parts, child, &at),
        Duty::Head(head) => {
            let doing = head.doing.clone();
            parts.core.processes.remove(child);
            match doing {
                Doing::Begin(run) | Doing::Run(run) => {
                    parts.runs.fail(&mut parts.core, &run, outcome::fork_failed(why));
                }
                Doing::Replay(target) => parts.replays.failed(&mut parts.core, &target, why),
                Doing::Rest | Doing::Handle(_) => {}
            }
        }
        Duty::Listing(_) => {
            listings::failed(&mut parts.core, child, Kind::Kernel, why, "try again later");
        }
        Duty::Answering(_) => introspect::end_answerer(&mut parts.core, child, Kind::Kernel, why),
        Duty::Fingerprinting => parts.comparer.failed(&mut parts.core, child),
        Duty::Saving(_) => parts.saver.failed(&mut parts.core, child, Kind::Kernel, why),
        // The pipe of a failed sender is closed. The head that reads from the pipe notices
        // this.
        Duty::Sending(_) | Duty::Spare | Duty::Held(_) | Duty::Ending => {
            parts.core.processes.remove(child);
        }
    }
}

/// Handles a root process that could not start Python: all runs and replays end.
pub(in crate::session::machine) fn root_failed(parts: &mut Parts, process: ProcId, why: &str) {
    if parts.core.processes.root() != Some(process) {
        return;
    }
    parts.core.processes.remove(process);
    if let Some(root) = parts.core.notebook.state_mut(&StateId::root()) {
        root.warnings = vec![why.to_owned()];
        root.residency =
            if root.residency == Residency::Deleted { Residency::Deleted } else { Residency::Replay };
        parts.core.publish_state(&StateId::root());
    }
    parts.replays.fail_all(&mut parts.core, why);
    for head in parts.core.processes.all_of(|duty| matches!(duty, Duty::Head(_))) {
        parts.core.end(head);
    }
    for run in parts.core.open.clone() {
        parts.runs.fail(&mut parts.core, &run, outcome::fork_failed(why));
    }
}

/// Handles the failure to freeze a state. While a head rests at the state, nothing is lost: the
/// head tries again before its next cell.
pub(in crate::session::machine) fn not_kept(parts: &mut Parts, process: ProcId, state: &StateId) {
    parts.core.processes.remove(process);
    let (what, why) =
        (format!("list the variables of state {state}"), "the process of the state died before it was ready");
    listings::end_at(&mut parts.core, state, &Problem::new(Kind::Kernel, what, why, "try again"));
    let refused = Problem::new(Kind::Kernel, format!("load state {state}"), why, "try again");
    parts.loads.answer(&mut parts.core, state, &Reply::Refused(refused));
    introspect::end_answers(&mut parts.core, state, Kind::Kernel, why);
    let is_kept = state.is_root() || !parts.core.processes.has_head_at(state);
    note_whether_kept(&mut parts.core, state, is_kept);
    parts.core.set_residency(state, Residency::Freezing);
    parts.core.left(state);
    for run in parts.loads.take_runs(state) {
        begin_again(parts, &run, Some(process), state);
    }
}

/// Handles a process that could not load its checkpoint. Runs that wait for the load replay the
/// state if they allow it; other runs and requests that wait for the state fail. The checkpoint
/// is not deleted.
pub(in crate::session::machine) fn load_failed(parts: &mut Parts, process: ProcId, why: &str) {
    let Some(state) = parts.core.processes.at(process).cloned() else { return };
    match parts.core.processes.held_by(process) {
        Some(_) => parts.core.end(process),
        // The process is a head. The loop over heads below ends it.
        None => parts.core.kill(process, Killed::Failed),
    }
    let failed = || RunError::of(Cause::RestoreFailed, why);
    let late = parts.loads.take_runs(&state).into_iter();
    let (replayed, others): (Vec<ExecId>, Vec<ExecId>) = late.partition(|run| parts.runs.may_replay(run));
    for run in others {
        parts.runs.fail(&mut parts.core, &run, failed());
    }
    for head in parts.core.processes.coming_to(&state) {
        match end_head(parts, head) {
            Doing::Begin(run) => parts.runs.fail(&mut parts.core, &run, failed()),
            Doing::Replay(target) => parts.replays.failed(&mut parts.core, &target, why),
            Doing::Rest | Doing::Run(_) | Doing::Handle(_) => {}
        }
    }
    let (what, how) = (format!("list the variables of state {state}"), "try again later");
    listings::end_at(&mut parts.core, &state, &Problem::new(Kind::Kernel, what, why, how));
    introspect::end_answers(&mut parts.core, &state, Kind::Kernel, why);
    let refused =
        Problem::new(Kind::Kernel, format!("load state {state}"), why, "save the state again, or replay it");
    parts.loads.answer(&mut parts.core, &state, &Reply::Refused(refused));
    transfers::end_senders_at(&mut parts.core, &state);
    if parts.saver.is_at(&state) {
        parts.saver.stop(&mut parts.core, &state);
    }
    if parts.core.processes.frozen(&state).is_none() {
        parts.core.set_residency(&state, Residency::Replay);
    }
    parts.core.due.note_broken(&state);
    parts
        .core
        .set_saving(&state, Saving::Failed { why: format!("its checkpoint could not be loaded: {why}") });
    for run in replayed {
        parts.replays.wait(&mut parts.core, &run, &state);
    }
}

/// Kills a head, and returns what it was doing.
fn end_head(parts: &mut Parts, head: ProcId) -> Doing {
    parts.core.kill(head, Killed::Failed);
    match parts.core.processes.remove(head) {
        Some(Process { duty: Duty::Head(head), .. }) => head.doing,
        _ => Doing::Rest,
    }
}

/// Adds or removes the warning of a state that only a head holds. Before another cell can run in
/// that head, the state must be frozen.
pub(in crate::session::machine) fn note_whether_kept(core: &mut Core, id: &StateId, is_kept: bool) {
    let Some(state) = core.notebook.state_mut(id) else { return };
    let known = state.warnings.iter().position(|warning| warning == NOT_KEPT);
    match known {
        Some(at) if is_kept => drop(state.warnings.remove(at)),
        None if !is_kept => state.warnings.push(NOT_KEPT.to_owned()),
        _ => return,
    }
    core.publish_state(id);
}
