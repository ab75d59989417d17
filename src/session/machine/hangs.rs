//! What happens when a fork hangs: the error with its suspects, and a warning at the state.

use super::core::Core;
use crate::kernel::{Hung, ProcId};
use crate::notebook::StateId;
use std::time::Duration;

/// How long a forked process may take to report that it is ready. A fork takes milliseconds, or a
/// second with tens of gigabytes in small pages.
pub(super) const READY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a head may take to begin its cell. Longer than `READY_TIMEOUT`, because it first waits
/// until its state is frozen.
pub(super) const BEGIN_TIMEOUT: Duration = Duration::from_secs(15);
/// The same while Python itself starts, which takes long on a cold disk.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn why_it_hangs(core: &Core, state: &StateId, hung: &Hung) -> String {
    let whose = if hung.is_there { "the forked process" } else { "the process that was to fork" };
    let mut suspects = core.notebook.state(state).map(|s| s.warnings.clone()).unwrap_or_default();
    if !hung.libraries.is_empty() {
        suspects
            .push(format!("libraries with threads of their own are loaded: {}", hung.libraries.join(", ")));
    }
    if suspects.is_empty() {
        suspects.push("a function that was given to os.register_at_fork".to_owned());
    }
    format!(
        "the branch was not there within {} s and was ended; {whose} hung: {}. Suspected: {}",
        READY_TIMEOUT.as_secs(),
        hung.doing,
        suspects.join("; "),
    )
}

/// Notes at a state that a fork of it hung. If it has a checkpoint, its next branch comes from
/// that.
pub(super) fn remember_that_it_hung(core: &mut Core, id: &StateId, hung: &Hung) {
    let Some(state) = core.notebook.state_mut(id) else { return };
    let warning = format!("a fork of it hung: {}", hung.doing);
    let has_checkpoint = state.checkpoint.as_ref().is_some_and(|c| c.is_trusted);
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

/// Notes that a state's process must not be forked, because loading it has started threads.
pub(super) fn note_hazard(core: &mut Core, id: &StateId, hazard: Option<String>) {
    if let Some(hazard) = hazard
        && let Some(state) = core.notebook.state_mut(id).filter(|s| s.forks)
    {
        state.forks = false;
        state.warnings.push(hazard);
        core.publish_state(id);
    }
}

/// A frozen process reports what its branches share.
pub(super) fn shared(core: &mut Core, process: ProcId, warnings: Vec<String>) {
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
