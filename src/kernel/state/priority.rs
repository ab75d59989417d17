//! Sets the OOM score and niceness of each process.
//!
//! Under memory pressure the system kills the process with the highest score first: a throw-away
//! fork, then the running cell (the likely cause), then states, and the server last. Each process
//! sets its own score after its fork. Programs that a cell starts inherit the cell's score.

#![allow(unsafe_code)]

use crate::kernel::protocol::Role;

/// Values added to the OOM score, at most 1000 (proc_pid_oom_score_adj(5)). Redis gives its forks
/// 800.
const THROW_AWAY: &str = "1000";
const HEAD: &str = "900";
const STATE: &str = "600";

/// Niceness of processes that no user waits for: on a shared core, a running cell gets nine times
/// as much time as they do.
const BACKGROUND_NICENESS: i32 = 10;

/// Sets this process' priority for its role. Errors are ignored: the system then only makes worse
/// choices.
pub(super) fn set(role: Role) {
    let badness = match role {
        Role::Frozen => STATE,
        Role::Head => HEAD,
        Role::ListVariables
        | Role::Fingerprint
        | Role::Digest
        | Role::Send
        | Role::Answer
        | Role::Save(_) => THROW_AWAY,
    };
    let _ = std::fs::write("/proc/self/oom_score_adj", badness);
    // Unprivileged processes cannot lower their niceness again, so only processes that never fork a
    // state raise it.
    if matches!(role, Role::Fingerprint | Role::Save(_)) {
        add_niceness(BACKGROUND_NICENESS);
    }
}

/// Adds to this process' niceness, which its children inherit.
pub(super) fn add_niceness(by: i32) {
    // SAFETY: a plain call that touches no memory. A failure changes nothing.
    unsafe {
        libc::nice(by);
    }
}
