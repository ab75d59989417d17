//! Events of processes.

use crate::kernel::protocol::{Exit, ProcId, Report};

/// An event of a process, before the tree has handled it.
#[derive(Debug)]
pub enum Heard {
    /// The process reported something.
    Report(Report),
    /// The process' socket is closed: the process is dead or dying.
    Closed,
    /// The process was interrupted one of `WAKE_DELAYS` ago.
    InterruptedLongAgo,
    /// The process was killed `KILL_TIMEOUT` ago.
    KilledLongAgo,
    /// The process' exit status. None after a timeout.
    Status(Option<Exit>),
}

/// An event of a process that concerns the session.
#[derive(Debug)]
pub enum ProcessEvent {
    /// A process reported something.
    Report(ProcId, Report),
    /// A process has ended. None: its exit status is unknown.
    Gone(ProcId, Option<Exit>),
}
