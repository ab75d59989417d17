//! Why runs fail.

use crate::kernel::Exit;
use crate::notebook::{Cause, RunError};

/// The error of a run that had not ended when the server stopped.
pub(super) const STOPPED: &str = "interrupted by server stop";

/// Why runs end whose state was deleted.
pub(super) const STATE_DELETED: &str = "the state it ran against was deleted";

/// The run waited for a state that will never exist.
pub(super) fn aborted(why: &str) -> RunError {
    RunError::of(Cause::RunAborted, why)
}

/// No process could be created for the run.
pub(super) fn fork_failed(why: &str) -> RunError {
    RunError::of(Cause::ForkFailed, why)
}

/// The operating system refused to create another process.
pub(super) fn fork_refused(why: &str) -> RunError {
    let why = format!("{why}. Nothing has run: end other cells or programs, then try again");
    RunError::of(Cause::ForkRefused, why)
}

/// The error of a run that was interrupted.
pub(super) fn interrupted(why: &str) -> RunError {
    RunError::of(Cause::Interrupt, why)
}

/// Describes the end of a process in a text for users.
pub(super) fn exit_in_words(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("the process of this cell exited with code {code}"),
        Some(Exit::Signal(number)) => {
            let name = nix::sys::signal::Signal::try_from(number).map_or("an unknown signal", |s| s.as_str());
            format!("the process of this cell was killed by {name}")
        }
        Some(Exit::OutOfMemory) => "the process of this cell was killed by SIGKILL: the machine ran out \
             of memory, most likely because of this cell. The state that it ran against has not changed. \
             Use less memory in the cell, or limit runs with --run-memory"
            .into(),
        Some(Exit::Unreachable) => "the process of this cell could no longer be reached and was \
             killed: the cell closed all descriptors, or became another program (os.closerange, \
             os.exec…). The state that it ran against has not changed"
            .into(),
        None => "the process of this cell ended for an unknown reason".into(),
    }
}
