//! Ends a kernel process immediately, together with its process group.

use super::children;
use nix::sys::signal::{Signal, killpg};

/// How long a process that has lost its socket waits to be killed by the server, in milliseconds.
const KILL_TIMEOUT: u16 = 5000;

/// Ends this process and its process group. Exiting alone is not enough: when the server dies, the
/// socket may close before the lifeline kills the group, and the lifeline ends with this process.
///
/// If this process is a throw-away fork, all its descendants end too, in any process group.
pub(super) fn leave() -> ! {
    children::end_adopted();
    let me = nix::unistd::getpid();
    if nix::unistd::getpgrp() == me {
        let _ = killpg(me, Signal::SIGKILL);
    }
    // SAFETY: _exit never returns and runs nothing.
    #[allow(unsafe_code)]
    unsafe {
        libc::_exit(0)
    }
}

/// Waits to be killed by the server, which sees the socket close and reports it as unreachable.
/// Leaves if the server does not kill it in time.
pub(super) fn wait_to_be_killed() -> ! {
    let _ = nix::poll::poll(&mut [], KILL_TIMEOUT);
    leave()
}
