//! Child processes that user code starts. They belong to one process; its branches do not have
//! them.

use super::control;
use crate::kernel::protocol::{Exit, Report};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::io::Read;
use std::sync::atomic::{AtomicI32, Ordering};

/// Maximum number of names in a warning.
const MAX_NAMES: usize = 5;
/// Size of the buffer for a list of child pids, in bytes: enough for some ten thousand.
const LIST_BYTES: usize = 128 * 1024;

/// How many generations of orphans a process kills before it exits.
const MAX_ROUNDS: usize = 100;

/// The pid of the process that adopts orphans. Forked children have a copy of this pid, but do not
/// adopt orphans.
static ADOPTER: AtomicI32 = AtomicI32::new(0);

/// Makes this process the parent of all orphans among its descendants (a subreaper). So even a
/// daemon that leaves its parent and its group stays a descendant.
pub(super) fn adopt_orphans() {
    // If this fails, only daemons outlive this process.
    if nix::sys::prctl::set_child_subreaper(true).is_ok() {
        ADOPTER.store(std::process::id().cast_signed(), Ordering::Relaxed);
    }
}

/// Kills all descendants of this process, if it adopts orphans.
pub(super) fn end_adopted() {
    if ADOPTER.load(Ordering::Relaxed) != std::process::id().cast_signed() {
        return;
    }
    for _ in 0..MAX_ROUNDS {
        let list = list().unwrap_or_default();
        let pids: Vec<Pid> =
            list.split_whitespace().filter_map(|p| Some(Pid::from_raw(p.parse().ok()?))).collect();
        if pids.is_empty() {
            return;
        }
        for pid in pids {
            // The children of the killed process become ours, so the next round finds them.
            if kill(pid, Signal::SIGKILL).is_ok() {
                let _ = waitpid(pid, None);
            }
        }
    }
}

/// A sentence about the running children of this process, except `ours`. None if there are none.
pub(super) fn warning(ours: &HashSet<i32>) -> Option<String> {
    let list = list()?;
    let theirs = list.split_whitespace().filter_map(|p| p.parse().ok()).filter(|p| !ours.contains(p));
    let mut names: Vec<String> = theirs.filter_map(running).collect();
    if names.is_empty() {
        return None;
    }
    names.truncate(MAX_NAMES);
    Some(format!("child processes belong to this lineage only, and end with it: {}", names.join(", ")))
}

/// The pids of this process' children. The buffer is large, because Linux searches the list from
/// its beginning at each further read.
fn list() -> Option<String> {
    let mut file = std::fs::File::open(format!("/proc/self/task/{}/children", std::process::id())).ok()?;
    let mut list = Vec::with_capacity(LIST_BYTES);
    file.read_to_end(&mut list).ok()?;
    String::from_utf8(list).ok()
}

/// The name and pid of a process that has not ended.
fn running(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let is_zombie = rest.trim_start().starts_with('Z');
    // A child that user code forked has this program's name, which users would not recognise.
    let own = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    let name = if name == own.trim_end() { "python" } else { name };
    (!is_zombie).then(|| format!("{name} ({pid})"))
}

/// Reaps a child that has ended, and reports how it ended.
pub(super) fn reap(pid: i32) {
    let exit = match waitpid(Pid::from_raw(pid), None) {
        Ok(WaitStatus::Exited(_, code)) => Some(Exit::Code(code)),
        Ok(WaitStatus::Signaled(_, signal, _)) => Some(Exit::Signal(signal as i32)),
        _ => None,
    };
    control::report(&Report::Reaped { pid, exit });
}
