//! Reads from Linux how much memory processes use and how much the computer has (proc_pid_smaps(5),
//! proc_meminfo(5)).

use crate::kernel::{below, kilobytes};
use std::collections::HashSet;

/// The memory of a process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Memory that no other process uses. Ending the process frees it.
    pub own: u64,
    /// Memory that it shares with other processes.
    pub shared: u64,
}

/// The memory of a process. None when the process has exited.
pub(super) fn footprint(pid: i32) -> Option<Footprint> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let sum =
        |fields: [&str; 2]| fields.iter().filter_map(|field| kilobytes(&text, field)).sum::<u64>() * 1024;
    Some(Footprint {
        own: sum(["Private_Clean:", "Private_Dirty:"]),
        shared: sum(["Shared_Clean:", "Shared_Dirty:"]),
    })
}

/// The memory of several processes and of the other processes that they started, in bytes. Memory
/// that several of them share counts once. Takes up to a millisecond per process.
pub(super) fn bytes_together(pids: &HashSet<i32>) -> u64 {
    let share = |pid: &i32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        Some(kilobytes(&text, "Pss:")? * 1024 + below(*pid, &|child| pids.contains(&child)))
    };
    pids.iter().filter_map(share).sum()
}

/// The memory that is available without swapping, in bytes.
pub(super) fn available_bytes() -> Option<u64> {
    Some(kilobytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")? * 1024)
}

/// The computer's total memory, in bytes.
pub(super) fn total_bytes() -> Option<u64> {
    Some(kilobytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")? * 1024)
}

/// How many processes Linux has killed for lack of memory since the computer started.
pub(super) fn out_of_memory_kills() -> Option<u64> {
    kilobytes(&std::fs::read_to_string("/proc/vmstat").ok()?, "oom_kill ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_this_machine_have_memory() {
        let pid = i32::try_from(std::process::id()).unwrap_or_default();
        let (own, left, all) = (footprint(pid).map(|f| f.own), available_bytes(), total_bytes());
        assert!(own > Some(100_000) && own < all && left < all, "{own:?} {left:?} {all:?}");
        assert_eq!(footprint(i32::MAX), None);
        let me = HashSet::from([i32::try_from(std::process::id()).unwrap_or_default()]);
        let together = bytes_together(&me);
        assert!(together > 100_000 && Some(together) < all, "{together} {all:?}");
        assert_eq!(bytes_together(&HashSet::from([i32::MAX])), 0);
    }
}
