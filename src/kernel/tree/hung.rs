//! Examines from outside, through `/proc`, a process that hangs or waits.

use super::{Tree, procfs};
use crate::kernel::memory;
use crate::kernel::protocol::ProcId;
use nix::unistd::Pid;
use std::time::Duration;

/// Libraries that use threads, locks or devices: a part of the file name, and the usual name.
const LIBRARIES: &[(&str, &str)] = &[
    ("libgomp", "OpenMP (libgomp)"),
    ("libomp", "OpenMP (libomp)"),
    ("libiomp", "OpenMP (libiomp)"),
    ("libtbb", "TBB"),
    ("omppool", "numba"),
    ("openblas", "OpenBLAS"),
    ("libmkl", "MKL"),
    ("polars", "polars"),
    ("libarrow", "Arrow"),
    ("duckdb", "DuckDB"),
    ("libtorch", "torch"),
    ("libcuda", "CUDA"),
    ("tensorflow", "tensorflow"),
    ("jaxlib", "jax"),
    ("cygrpc", "gRPC"),
    ("onnxruntime", "onnxruntime"),
    ("librdkafka", "librdkafka"),
    ("libQt", "Qt"),
];

/// A process that is late to report itself ready, seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hung {
    /// Whether the process exists. If not, its parent has not forked it yet.
    pub is_there: bool,
    /// How long ago the parent last reported that it has forked a child.
    pub parent_made_one: Option<Duration>,
    /// What the process is doing, as a clause for the user. If it does not exist yet, what its
    /// parent is doing.
    pub doing: &'static str,
    /// The libraries of `LIBRARIES` that the process (or its parent) has loaded.
    pub libraries: Vec<String>,
}

/// A process that runs a cell, seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Processor time that the process has used, in clock ticks.
    pub cpu_ticks: u64,
    /// Whether it waits for a lock and has no child process.
    pub waits_for_lock: bool,
    /// Whether it has threads beside its main thread.
    pub has_threads: bool,
    /// The libraries of `LIBRARIES` that it has loaded.
    pub libraries: Vec<String>,
}

impl Tree {
    /// Examines a process that is late to report itself ready.
    pub fn examine(&self, process: ProcId) -> Hung {
        let child = self.processes.get(&process);
        let parent = child.and_then(|child| self.processes.get(&child.parent?));
        let pid = child.and_then(|child| child.pid);
        let visible = pid.or_else(|| parent?.pid);
        Hung {
            is_there: pid.is_some(),
            parent_made_one: parent.and_then(|parent| parent.last_fork).map(|at| at.elapsed()),
            doing: visible.map_or("its activity is unknown", doing),
            libraries: visible.map(libraries).unwrap_or_default(),
        }
    }

    /// Observes a process that runs a cell. `None` if it has ended.
    pub fn observe(&self, process: ProcId) -> Option<Seen> {
        let pid = self.processes.get(&process)?.pid?;
        let ticks = |number| procfs::stat_field(pid.as_raw(), number)?.parse::<u64>().ok();
        let (user, system) = (ticks(11)?, ticks(12)?);
        Some(Seen {
            cpu_ticks: user + system,
            has_threads: procfs::stat_field(pid.as_raw(), 17).is_some_and(|count| count != "1"),
            waits_for_lock: waits_for_lock(pid) && memory::children(pid.as_raw()).is_empty(),
            libraries: libraries(pid),
        })
    }
}

fn doing(pid: Pid) -> &'static str {
    let state = procfs::stat_field(pid.as_raw(), 0);
    match state.as_deref() {
        Some("R") => "it is still computing",
        Some("S") if waits_for_lock(pid) => "it waits for a lock",
        Some("S") => "it waits for something",
        Some("D") => "it waits for the disk or for memory",
        Some("T" | "t") => "it has been stopped",
        _ => "it has ended",
    }
}

/// Whether the main thread, which runs cells, waits for a lock or for another thread.
fn waits_for_lock(pid: Pid) -> bool {
    // The first word is the system call's number (proc_pid_syscall(5)). Reading it needs privileges
    // on some systems.
    let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    call.split(' ').next() == Some(&libc::SYS_futex.to_string())
}

fn libraries(pid: Pid) -> Vec<String> {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    let files: Vec<&str> = maps.lines().filter_map(|line| line.rsplit('/').next()).collect();
    let is_loaded = |part: &str| files.iter().any(|file| file.contains(part));
    LIBRARIES.iter().filter(|(part, _)| is_loaded(part)).map(|(_, name)| (*name).to_owned()).collect()
}
