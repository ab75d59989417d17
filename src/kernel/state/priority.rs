//! OOM score and niceness of each process.
//!
//! Under memory pressure the system kills the cheapest process first: a throw-away fork, then the
//! running cell (the likely cause), then states, and the server last. Each process sets its own
//! score after its fork. Programs that a cell starts inherit the cell's score.

#![allow(unsafe_code)]

use crate::kernel::protocol::Role;

/// Added to the OOM score, of a thousand (proc_pid_oom_score_adj(5)). Redis gives its forks 800.
const THROW_AWAY: &str = "1000";
const HEAD: &str = "900";
const STATE: &str = "600";

/// Niceness of processes that no user waits for: a running cell gets nine times their share of a
/// core.
const BACKGROUND_NICENESS: i32 = 10;

/// Sets the priority of a role. Failures are ignored: the system then only chooses less well.
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
