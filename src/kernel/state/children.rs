//! Child processes that user code starts. They belong to one process; its branches do not have
//! them.

use crate::kernel::memory;
use crate::kernel::protocol::{Exit, Report};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicI32, Ordering};

/// Maximum number of names in a warning.
const MAX_NAMES: usize = 5;
/// The number of links of a directory in `/proc` that has no subdirectories.
const LINKS_WITHOUT_THREADS: u64 = 2;

/// Maximum number of generations of orphans that a process kills before it exits.
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
        let pids: Vec<Pid> = list().into_iter().map(Pid::from_raw).collect();
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
    let theirs = list().into_iter().filter(|pid| !ours.contains(pid));
    let mut names: Vec<String> = theirs.filter_map(running).collect();
    if names.is_empty() {
        return None;
    }
    names.truncate(MAX_NAMES);
    Some(format!(
        "child processes exist only in this lineage, and end with its process: {}",
        names.join(", ")
    ))
}

/// The pids of this process' children. Linux lists them by the thread that started them.
fn list() -> Vec<i32> {
    let own = std::process::id();
    let links = std::fs::metadata("/proc/self/task").map_or(u64::MAX, |task| task.nlink());
    if links > 1 + LINKS_WITHOUT_THREADS {
        return memory::children(own.cast_signed());
    }
    memory::children_of_thread(format!("/proc/self/task/{own}"))
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

/// Reaps a child that has ended. Returns the report of how it ended.
pub(super) fn reap(pid: i32) -> Report {
    let exit = match waitpid(Pid::from_raw(pid), None) {
        Ok(WaitStatus::Exited(_, code)) => Some(Exit::Code(code)),
        Ok(WaitStatus::Signaled(_, signal, _)) => Some(Exit::Signal(signal as i32)),
        _ => None,
    };
    Report::Reaped { pid, exit }
}
