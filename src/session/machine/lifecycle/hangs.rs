//! Handles a fork that hangs. The process is examined and killed, the run fails with an error that
//! names the likely causes, and the state gets a warning.

use super::failures::fork_failed;
use crate::kernel::{Hung, ProcId};
use crate::notebook::{Residency, StateId};
use crate::session::machine::core::Core;
use crate::session::machine::duty::Duty;
use crate::session::machine::effect::{Alarm, Effect, Killed};
use crate::session::machine::parts::Parts;
use crate::session::machine::timeouts::{READY_TIMEOUT, START_TIMEOUT};

/// Examines a forked process that did not report in time that it is ready.
pub(in crate::session::machine) fn not_ready(parts: &mut Parts, process: ProcId) {
    if parts.core.processes.waits_for_a_load(process) {
        return parts.core.wake(READY_TIMEOUT, Alarm::Late(process));
    }
    if is_to_be(parts, process).is_some() {
        parts.core.emit(Effect::Examine(process));
    }
}

/// The state of a process that has not reported that it is ready. None for other processes.
fn is_to_be(parts: &Parts, process: ProcId) -> Option<StateId> {
    let known = parts.core.processes.get(process)?;
    match known.duty {
        Duty::Head(_) => (!known.is_ready).then(|| known.at.clone()),
        Duty::Root | Duty::Frozen => {
            let is_coming = parts.core.notebook.state(&known.at)?.residency == Residency::Freezing;
            is_coming.then(|| known.at.clone())
        }
        _ => None,
    }
}

/// Handles the examination of a late process. Kills the process, unless its parent is still
/// busy with other forks.
pub(in crate::session::machine) fn examined(parts: &mut Parts, process: ProcId, hung: &Hung) {
    let Some(state) = is_to_be(parts, process) else { return };
    if !hung.is_there && hung.parent_made_one.is_some_and(|ago| ago < READY_TIMEOUT) {
        return parts.core.wake(READY_TIMEOUT, Alarm::Late(process));
    }
    let why = if parts.core.is_starting(&state) {
        why_the_start_is_late(&parts.core, hung)
    } else {
        why_it_hangs(&parts.core, &state, hung)
    };
    parts.core.kill(process, Killed::Hung);
    if parts.core.processes.head(process).is_some() && !hung.is_there && parts.core.forks(&state) {
        end_stuck(parts, &state);
    }
    remember_that_it_hung(&mut parts.core, &state, hung);
    fork_failed(parts, process, &why);
}

/// Kills the frozen process of a state when it hangs before a fork, because no branch can be
/// forked from it. Branches can still load the state's checkpoint.
fn end_stuck(parts: &mut Parts, state: &StateId) {
    let is_there = parts.core.notebook.state(state).is_some_and(|s| s.residency == Residency::Memory);
    if let Some(frozen) = parts.core.processes.frozen(state).filter(|_| is_there) {
        parts.core.kill(frozen, Killed::Hung);
    }
}

fn why_the_start_is_late(core: &Core, hung: &Hung) -> String {
    format!(
        "Python has not started within {} s: {}. It goes on starting, so run the cell again later. \
         A `.pth` file or a startup file may wait; to find it, run: {} -v -m IPython",
        START_TIMEOUT.as_secs(),
        hung.doing,
        core.notebook.python().path,
    )
}

pub(in crate::session::machine) fn why_it_hangs(core: &Core, state: &StateId, hung: &Hung) -> String {
    let whose = if hung.is_there { "the forked process" } else { "the process that should have forked" };
    let mut suspects = core.notebook.state(state).map(|s| s.warnings.clone()).unwrap_or_default();
    if !hung.libraries.is_empty() {
        suspects
            .push(format!("libraries with threads of their own are loaded: {}", hung.libraries.join(", ")));
    }
    if suspects.is_empty() {
        suspects.push("a function that was given to os.register_at_fork".to_owned());
    }
    format!(
        "the branch was not ready within {} s and was ended; {whose} hung: {}. Suspected: {}",
        READY_TIMEOUT.as_secs(),
        hung.doing,
        suspects.join("; "),
    )
}

/// Adds the warning that a fork of a state hung. If this Python may load the pickled objects of the
/// state's checkpoint, later branches load the checkpoint.
pub(in crate::session::machine) fn remember_that_it_hung(core: &mut Core, id: &StateId, hung: &Hung) {
    let python = core.notebook.python().clone();
    let Some(state) = core.notebook.state_mut(id) else { return };
    let warning = format!("a fork of this state hung: {}", hung.doing);
    let has_checkpoint = state.checkpoint.as_ref().is_some_and(|c| c.is_loadable_by(&python));
    let is_known = state.warnings.contains(&warning) && state.forks != has_checkpoint;
    if state.id.is_root() || is_known {
        return;
    }
    state.forks &= !has_checkpoint;
    if !state.warnings.contains(&warning) {
        state.warnings.push(warning);
    }
    core.publish_state(id);
}

/// Notes that a state's process must not be forked, because loading the state has started threads.
pub(in crate::session::machine) fn note_hazard(core: &mut Core, id: &StateId, hazard: Option<String>) {
    if let Some(hazard) = hazard
        && let Some(state) = core.notebook.state_mut(id).filter(|s| s.forks)
    {
        state.forks = false;
        state.warnings.push(hazard);
        core.publish_state(id);
    }
}

/// Adds warnings that a frozen process reports to the process's state. The warnings are about
/// objects that branches share.
pub(in crate::session::machine) fn shared(core: &mut Core, process: ProcId, warnings: Vec<String>) {
    let Some(id) = core.processes.held_by(process).cloned() else { return };
    let Some(state) = core.notebook.state_mut(&id) else { return };
    let known = state.warnings.len();
    for warning in warnings {
        if !state.warnings.contains(&warning) {
            state.warnings.push(warning);
        }
    }
    if state.warnings.len() > known {
        core.publish_state(&id);
    }
}
