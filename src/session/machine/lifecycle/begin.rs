//! How a run begins: which head runs its cell, or what the run waits for first.

use super::refreeze::refreeze_at;
use crate::kernel::{CellOrder, ProcId};
use crate::notebook::{Base, Cause, ExecId, Residency, RunError, StateId};
use crate::session::machine::duty::Doing;
use crate::session::machine::effect::{Alarm, Effect};
use crate::session::machine::outcome;
use crate::session::machine::parts::Parts;
use crate::session::machine::placement;
use crate::session::machine::replay;
use crate::session::machine::runs::{self, Request};
use crate::session::machine::saving;
use crate::session::machine::timeouts::BEGIN_TIMEOUT;
use crate::session::machine::transfers;

/// Begins a run, or makes it wait.
pub(in crate::session::machine) fn begin(parts: &mut Parts, exec_id: &ExecId, state: &StateId) {
    if parts.core.notebook.run(exec_id).is_none_or(|r| r.status.has_ended()) {
        return;
    }
    parts.core.uses.note(state);
    if parts.runs.is_at_workers(exec_id) {
        return begin_at_workers(parts, exec_id, state);
    }
    if !may_begin(parts) {
        return parts.runs.backlog.push_back(exec_id.clone());
    }
    if wait_until_whole(parts, exec_id, state)
        || parts.held.wait_for_earlier_version(&mut parts.core, exec_id, state)
    {
        return;
    }
    if parts.widgets.wait_for_widget(&parts.core, exec_id, state) {
        return;
    }
    refreeze_at(parts, state);
    if let Some(head) = head_for(parts, exec_id, state) {
        run_on(parts, head, exec_id);
    }
}

/// Orders a head to run the cell of a run.
fn run_on(parts: &mut Parts, head: ProcId, exec_id: &ExecId) {
    let core = &mut parts.core;
    if core.is_loading(head) {
        parts.runs.limit_time(core, exec_id);
    }
    let Some(Request { spec, memory_limit, .. }) = parts.runs.get(exec_id) else { return };
    let cell = CellOrder {
        allow_stdin: spec.allow_stdin,
        has_memory_limit: memory_limit.is_some(),
        report_symbols: spec.with_outputs,
        metric: spec.metric.clone(),
        threads: spec.threads,
        ..CellOrder::new(spec.code.clone())
    };
    let deliveries =
        transfers::deliveries(core, spec.passing.then_some(spec.reads.as_slice()), exec_id, &spec.code);
    core.emit(Effect::Run { head, exec_id: exec_id.clone(), cell, deliveries });
}

/// Sends a run to the workers, once its state has a checkpoint.
fn begin_at_workers(parts: &mut Parts, exec_id: &ExecId, id: &StateId) {
    if parts.widgets.wait_for_widget(&parts.core, exec_id, id) {
        return;
    }
    refreeze_at(parts, id);
    let Some(state) = parts.core.notebook.state(id) else { return };
    let parent = placement::checkpoint_for_workers(&parts.core, state).cloned();
    if parent.is_some() || id.is_root() {
        return parts.workers.send(&mut parts.core, &parts.runs, exec_id, parent);
    }
    let why = match parts.core.runnable(id) {
        Ok(()) if saving::holds_values_only(&parts.core, state) => {
            "its state has only the plain values of a checkpoint that is not trusted, or that another \
             Python wrote. Trust the notebook's checkpoints, or replay the state, and run the cell again"
                .to_owned()
        }
        Ok(()) => return parts.saver.wait(&mut parts.core, exec_id, id),
        Err(_) if parts.runs.may_replay(exec_id) => {
            return parts.replays.wait(&mut parts.core, exec_id, id);
        }
        Err(lost) => format!("{}: {}", lost.why, lost.how),
    };
    parts.runs.fail(&mut parts.core, exec_id, RunError::of(Cause::StateLost, why));
}

pub(in crate::session::machine) fn may_begin(parts: &Parts) -> bool {
    parts.core.processes.has_room()
        && !(parts.memory.is_full(&parts.core) && parts.saver.is_saving(&parts.core))
}

/// With `replay`, a run begins only at a whole state: if the checkpoint lacks variables,
/// replays the state first. Returns whether the run waits for this.
fn wait_until_whole(parts: &mut Parts, exec_id: &ExecId, id: &StateId) -> bool {
    if id.is_root() || !parts.runs.wants_whole_state(exec_id) {
        return false;
    }
    let Some(state) = parts.core.notebook.state(id) else { return false };
    if replay::lacks_something(&parts.core, state) {
        parts.replays.wait(&mut parts.core, exec_id, id);
        return true;
    }
    // Only loading the checkpoint shows which variables cannot be loaded. So the state is
    // loaded here, even if each branch then loads the checkpoint again.
    if state.residency == Residency::Disk {
        parts.core.source_of(id);
    }
    let is_being_loaded = parts.core.processes.is_being_loaded(id);
    if is_being_loaded {
        wait_until_loaded(parts, exec_id, id);
    }
    is_being_loaded
}

fn wait_until_loaded(parts: &mut Parts, exec_id: &ExecId, state: &StateId) {
    parts.loads.wait(exec_id, state);
    parts.runs.limit_time(&mut parts.core, exec_id);
}

/// Finds the head for a run: a head that rests at the run's state, or a new one. None if the
/// run has to wait, or if it has ended because no head can be made.
fn head_for(parts: &mut Parts, exec_id: &ExecId, state: &StateId) -> Option<ProcId> {
    let core = &mut parts.core;
    // Part of a state may exist only in its resting head. A passing run leaves no state, so it
    // must not use up that head.
    let resting = core.processes.resting_at(state);
    if let Some(head) = resting.filter(|_| !core.notebook.is_passing(exec_id)) {
        core.ensure_frozen(head, state);
        if let Some(head) = core.processes.head_mut(head) {
            head.doing = Doing::Begin(exec_id.clone());
        }
        core.wake(BEGIN_TIMEOUT, Alarm::BeginTimeout(head, exec_id.clone(), parts.runs.serial(exec_id)));
        return Some(head);
    }
    if core.has_to_wait_for_its_checkpoint(state) {
        parts.saver.wait(core, exec_id, state);
        return None;
    }
    if core.load_before_forking(state) {
        wait_until_loaded(parts, exec_id, state);
        return None;
    }
    let head = core.branch(state, Doing::Begin(exec_id.clone()));
    if head.is_none() {
        no_head(parts, exec_id, state);
    }
    head
}

/// Handles a run for which no head can be made: replays the state if the run allows it,
/// otherwise ends the run.
fn no_head(parts: &mut Parts, exec_id: &ExecId, state: &StateId) {
    let core = &mut parts.core;
    if parts.runs.may_replay(exec_id) {
        return parts.replays.wait(core, exec_id, state);
    }
    let error = if core.processes.has_head_at(state) {
        // The state could not be frozen, and its head has not yet reported that it refuses to
        // run a cell.
        let why = core.processes.refusal_at(state).unwrap_or("its process is being restored");
        outcome::fork_refused(&format!("the state could not be kept: {why}"))
    } else {
        RunError::of(Cause::StateLost, format!("the process of state {state} has ended"))
    };
    parts.runs.fail(core, exec_id, error);
}

/// Handles a run whose head was never made. The run ends, or begins again if the process that
/// should have forked the head has exited too: another process may hold the state, or its
/// checkpoint can be loaded.
pub(in crate::session::machine) fn begin_again(
    parts: &mut Parts,
    exec_id: &ExecId,
    source: Option<ProcId>,
    at: &StateId,
) {
    let has_lost_its_source = source.is_none_or(|source| parts.core.processes.held_by(source).is_none());
    if has_lost_its_source && parts.runs.take_retry(exec_id) {
        parts.core.left(at);
        return begin(parts, exec_id, at);
    }
    let error = outcome::fork_failed("the forked process died before it was ready");
    parts.runs.fail(&mut parts.core, exec_id, error);
}

/// Begins the runs that have waited for a state to be loaded.
pub(in crate::session::machine) fn begin_loaded(parts: &mut Parts, state: &StateId) {
    for run in parts.loads.take_runs(state) {
        begin(parts, &run, state);
    }
}

/// Begins a run that has waited, if the run's state can still be run against.
pub(in crate::session::machine) fn resume(parts: &mut Parts, exec_id: &ExecId) {
    let Some(Base::State(state)) = parts.core.notebook.run(exec_id).map(|r| r.on.clone()) else { return };
    match runs::resolve(&parts.core, Base::State(state.clone()), parts.runs.may_replay(exec_id)) {
        Ok(_) => begin(parts, exec_id, &state),
        Err(refused) => parts.runs.fail(&mut parts.core, exec_id, outcome::aborted(&refused.why)),
    }
}
