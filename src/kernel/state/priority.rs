//! Who gives way to whom: when memory runs out, and when cores are short.
//!
//! What is killed first is what costs least to lose: a throw-away, then the cell that runs (it is the likely cause), then
//! states, and the server last. Heads and throw-aways are forked from states and states from heads, so each takes its own
//! rank as it comes to be. Programs that a cell starts inherit its rank.

#![allow(unsafe_code)]

use crate::kernel::protocol::Role;

/// What is added to a process' badness, of a thousand (proc_pid_oom_score_adj(5)). Redis gives its forks 800.
const THROW_AWAY: &str = "1000";
const HEAD: &str = "900";
const STATE: &str = "600";

/// How far a process for which no cell waits stands back: cells that run get nine times its share of a core.
const STAND_BACK: i32 = 10;

/// Takes the rank of a role. Without it memory pressure is less well aimed, and saving takes a little from cells.
pub(super) fn take(role: Role) {
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
    // Only who never forks a state: without privileges nobody comes back from standing back.
    if matches!(role, Role::Fingerprint | Role::Save(_)) {
        stand_back(STAND_BACK);
    }
}

/// Adds to this process' niceness; its children inherit it.
pub(super) fn stand_back(by: i32) {
    // SAFETY: a plain call that touches no memory. If it fails all goes on as before.
    unsafe {
        libc::nice(by);
    }
}
