//! Opens and closes the notebook.

use super::refreeze::refreeze_all;
use super::removal::trim_trash;
use super::settle::settle;
use super::sweeping::resume_sweeps;
use crate::session::machine::outcome::{self, STOPPED};
use crate::session::machine::parts::Parts;

/// Starts the root process, and ends the runs that had not ended when the server last stopped.
pub(in crate::session::machine) fn opened(parts: &mut Parts) {
    parts.core.spawn_root();
    parts.core.keeps_tasks = true;
    for run in parts.core.open.clone() {
        parts.runs.fail(&mut parts.core, &run, outcome::interrupted(STOPPED));
    }
    trim_trash(parts);
    resume_sweeps(parts);
    parts.core.keeps_tasks = false;
}

/// Ends all runs, and begins to save the remaining states without a pause.
pub(in crate::session::machine) fn closing(parts: &mut Parts) {
    parts.core.keeps_tasks = true;
    parts.sweeps.close();
    parts.replays.fail_all(&mut parts.core, STOPPED);
    settle(parts);
    refreeze_all(parts);
    parts.runs.backlog.clear();
    for run in parts.core.open.clone() {
        if let Some(head) = parts.core.processes.of_run(&run) {
            parts.core.discard(head);
        }
        parts.runs.fail(&mut parts.core, &run, outcome::interrupted(STOPPED));
    }
    parts.saver.is_closing = true;
    parts.save_next();
}
