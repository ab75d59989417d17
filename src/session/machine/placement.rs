//! Which runs can run at workers.

use super::core::Core;
use crate::notebook::{Checkpoint, Form, RunSpec, State, other_state};
use crate::problem::{Kind, Problem};

/// The checkpoint with which a worker can restore a state.
pub(super) fn checkpoint_for_workers<'a>(core: &Core, state: &'a State) -> Option<&'a Checkpoint> {
    let is_good = |c: &&Checkpoint| c.form == Form::Environment && core.is_loadable(c);
    state.checkpoint.as_ref().filter(is_good).filter(|_| !core.due.is_broken(&state.id))
}

/// Refuses a run that no worker can run.
pub(super) fn check(core: &Core, spec: &RunSpec) -> Result<(), Problem> {
    let what = || format!("run {}", spec.exec_id);
    if !core.has_workers {
        return Err(no_workers(what()));
    }
    let needs_server = spec.passing || !spec.reads.is_empty() || other_state(&spec.code).is_some();
    if needs_server {
        let why = "it leaves no state, or takes variables of another state, which is on this server";
        return Err(Problem::new(Kind::Conflict, what(), why, "run it here"));
    }
    Ok(())
}

/// The refusal of a run or sweep for workers by a server that has none.
pub(super) fn no_workers(what: impl Into<String>) -> Problem {
    let (why, how) = ("this server has no workers", "start it with --workers and --store, or run it here");
    Problem::new(Kind::Conflict, what, why, how)
}
