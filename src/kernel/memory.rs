//! Measures how much memory a process holds, from `/proc` (proc_pid_status(5), proc_pid_smaps(5)).
//!
//! Branches share memory, so the size of a process does not show how much its run has added. Two
//! figures together show it. `anonymous` grows with every new page, but not when the run changes a
//! page of the state, which copies the page. `own` grows also with each copied page, but it is
//! useful only while the state's frozen process lives. Later it also counts pages that the run has
//! not added. Neither counts memory that is reserved and never touched, nor files that are only
//! read.

use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::Path;

/// Size of the buffer for a list of child pids, in bytes: enough for some ten thousand. Large,
/// because Linux searches the list from its beginning at each further read.
const LIST_BYTES: usize = 128 * 1024;

/// Memory of one process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Memory that belongs to no file, whether or not other processes share it.
    pub anonymous: u64,
    /// Memory that belongs to no file and that no other process shares.
    pub own: u64,
}

impl MemoryUse {
    /// Measures a process. None if it has ended.
    pub fn of(pid: i32) -> Option<Self> {
        let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        Some(Self { anonymous: anonymous(pid)?, own: kilobytes(&rollup, "Private_Dirty:")? * 1024 })
    }

    /// Bytes that the process has added since `start`. `is_shared`: whether another process still
    /// holds all memory that the process had at `start`.
    pub fn added_since(self, start: Self, is_shared: bool) -> u64 {
        let new = self.anonymous.saturating_sub(start.anonymous);
        let changed = if is_shared { self.own.saturating_sub(start.own) } else { 0 };
        new.max(changed)
    }
}

/// Whether a process still has its memory. An exiting process does not.
pub fn is_whole(pid: i32) -> bool {
    anonymous(pid).is_some()
}

/// The sum of `own` over all descendants of a process, except those that `is_ours` selects and
/// their descendants.
pub fn below(pid: i32, is_ours: &impl Fn(i32) -> bool) -> u64 {
    children(pid)
        .into_iter()
        .filter(|child| !is_ours(*child))
        .map(|child| MemoryUse::of(child).unwrap_or_default().own.saturating_add(below(child, is_ours)))
        .sum()
}

fn anonymous(pid: i32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(kilobytes(&status, "RssAnon:")? * 1024)
}

/// The children of all threads of a process. Empty if it has ended.
pub(super) fn children(pid: i32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.flat_map(|task| children_of_thread(task.path())).collect()
}

/// The pids of the children that a thread started; none if it has ended. `thread` is its directory
/// in `/proc`.
pub(super) fn children_of_thread(thread: impl AsRef<Path>) -> Vec<i32> {
    let mut text = Vec::with_capacity(LIST_BYTES);
    let file = std::fs::File::open(thread.as_ref().join("children"));
    if file.and_then(|mut file| file.read_to_end(&mut text)).is_err() {
        return Vec::new();
    }
    String::from_utf8_lossy(&text).split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The number in a field of a `/proc` file such as `status`; None if there is no such field. Most
/// fields are in kB.
pub fn kilobytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_memory_counts_always_and_changed_memory_while_the_rest_is_shared() {
        let start = MemoryUse { anonymous: 1000, own: 10 };
        for (now, is_shared, added) in [
            (MemoryUse { anonymous: 1500, own: 510 }, true, 500),
            (MemoryUse { anonymous: 1000, own: 310 }, true, 300),
            // The state was deleted: all memory is the run's own, and nothing was added.
            (MemoryUse { anonymous: 1000, own: 1000 }, false, 0),
            (MemoryUse { anonymous: 1500, own: 1500 }, false, 500),
            // A child of the run shares the added memory.
            (MemoryUse { anonymous: 1500, own: 10 }, true, 500),
            (MemoryUse { anonymous: 900, own: 5 }, true, 0),
        ] {
            assert_eq!(now.added_since(start, is_shared), added, "{now:?} {is_shared}");
        }
    }

    #[test]
    fn this_process_holds_memory_and_a_missing_one_holds_none() {
        let me = i32::try_from(std::process::id()).unwrap_or_default();
        let memory = MemoryUse::of(me).unwrap_or_default();
        assert!(memory.own > 100_000 && memory.anonymous > 100_000, "{memory:?}");
        assert!(is_whole(me) && !is_whole(i32::MAX) && MemoryUse::of(i32::MAX).is_none());
        assert_eq!(below(i32::MAX, &|_| false), 0);
    }
}
