//! What the system tells of a process that hangs, for who asks why.

use nix::unistd::Pid;

/// Parts of the file names of libraries that keep threads, locks or devices of their own, and what people call them.
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

/// What a process does at this moment.
pub(super) fn doing(pid: Pid) -> &'static str {
    let state = super::stat_field(pid.as_raw(), 0);
    match state.as_deref() {
        Some("R") => "it computes without an end",
        Some("S") if waits_for_lock(pid) => "it waits for a lock",
        Some("S") => "it waits for something",
        Some("D") => "it waits for the disk or the memory",
        Some("T" | "t") => "it has been stopped",
        _ => "it is gone",
    }
}

/// Whether the thread that runs cells waits for a lock, or for a thread.
pub(super) fn waits_for_lock(pid: Pid) -> bool {
    // The first of a system call's numbers (proc_pid_syscall(5)); not everybody may read it.
    let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    call.split(' ').next() == Some(&libc::SYS_futex.to_string())
}

/// The libraries with threads of their own that a process has loaded.
pub(super) fn libraries(pid: Pid) -> Vec<String> {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    let files: Vec<&str> = maps.lines().filter_map(|line| line.rsplit('/').next()).collect();
    let is_loaded = |part: &str| files.iter().any(|file| file.contains(part));
    LIBRARIES.iter().filter(|(part, _)| is_loaded(part)).map(|(_, name)| (*name).to_owned()).collect()
}
