//! Events of kernel processes: `Heard` is what the tree receives, `ProcessEvent` what it passes on
//! to the session.

use crate::kernel::protocol::{Exit, ProcId, Report};

/// An event of a process, before the tree has handled it.
#[derive(Debug)]
pub enum Heard {
    /// The process reported something.
    Report(Report),
    /// The process' socket is closed: the process is dead or dying.
    Closed,
    /// The process was interrupted a while ago (`WAKE_DELAYS`). If a system call still blocks it,
    /// `WAKE` ends that call.
    InterruptedLongAgo,
    /// The process was killed `KILL_TIMEOUT` ago. If its socket is still open, the server closes
    /// its own end.
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
