//! Reads `/proc/PID/stat` (proc_pid_stat(5)).

use nix::unistd::Pid;

/// Whether a process runs and is not exiting (`PF_EXITING`, include/linux/sched.h). Linux sets this
/// flag before it closes the process' sockets.
pub(super) fn is_alive(pid: i32) -> bool {
    const EXITING: u32 = 0x4;
    let flags = stat_field(pid, 6).and_then(|flags| flags.parse::<u32>().ok());
    flags.is_some_and(|flags| flags & EXITING == 0)
}

pub(super) fn parent_of(pid: i32) -> Option<Pid> {
    stat_field(pid, 1)?.parse().ok().map(Pid::from_raw)
}

/// A field of `stat`, counted from the one after the name: 0 is the state, 1 the parent.
pub(super) fn stat_field(pid: i32, number: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(number).map(str::to_owned)
}
