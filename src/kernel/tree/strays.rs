//! Ends the processes that cells started, in any session or process group. A signal to a group
//! would not reach all of them.
//!
//! First, all processes are stopped, in rounds, until a round finds no new one. Then all are
//! killed. A stopped process cannot fork, whereas killing one would let a fork bomb start the next.
//! The server adopts processes that lost their parent (subreaper), and recognises them by the pipes
//! of their head, which they hold open. A process that has closed all these pipes is a daemon, and
//! ends with the server.

use super::procfs::stat_field;
use crate::kernel::memory::children;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::fstat;
use nix::unistd::Pid;
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;

/// The most rounds of stopping. A fork bomb is stopped after three or four.
const ROUNDS: u32 = 100;

/// The files by which processes that a head's cells started are recognised: no other process has
/// them open.
#[derive(Clone, Debug)]
pub(super) struct HeadFiles {
    /// The pipes, as links in `/proc/PID/fd` name them.
    pipes: [String; 3],
}

impl HeadFiles {
    /// The files of a head that is about to be forked.
    pub(super) fn of(pipes: [&OwnedFd; 3]) -> io::Result<Self> {
        let pipe = |pipe| Ok::<_, io::Error>(format!("pipe:[{}]", fstat(pipe)?.st_ino));
        let pipes = [pipe(pipes[0])?, pipe(pipes[1])?, pipe(pipes[2])?];
        Ok(Self { pipes })
    }

    fn are_held_by(&self, pid: i32) -> bool {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let links = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        let is_pipe =
            |link: std::path::PathBuf| self.pipes.iter().any(|pipe| link.as_os_str() == pipe.as_str());
        links.into_iter().any(is_pipe)
    }
}

/// Selects processes to end.
pub(super) struct Search<'a> {
    /// Heads to end, with everything below them.
    pub(super) heads: Vec<i32>,
    /// The files of these heads and of earlier ones.
    pub(super) files: Vec<&'a HeadFiles>,
    /// Processes of the tree: spared with everything below them, unless they are among `heads`.
    pub(super) known: HashSet<i32>,
    /// Earliest start of a process to end, on the clock of `ticks`.
    pub(super) since: u64,
}

impl Search<'_> {
    pub(super) fn end(&self) {
        let _ = end_all(|| self.find());
    }

    /// Ends the selected processes except the heads. Returns how many it ended.
    pub(super) fn end_all_but_heads(&self) -> usize {
        end_all(|| self.find().split_off(self.heads.len()))
    }

    fn find(&self) -> Vec<i32> {
        let is_young = |pid: i32| started_at(pid).is_some_and(|at| at >= self.since);
        let is_ours = |pid: i32| !self.known.contains(&pid) && is_young(pid);
        let orphans = children(std::process::id().cast_signed()).into_iter().filter(|pid| is_ours(*pid));
        let orphans = orphans.filter(|pid| self.files.iter().any(|files| files.are_held_by(*pid)));
        with_those_below(self.heads.iter().copied().chain(orphans).collect(), is_ours)
    }
}

/// Ends every process below another one.
pub(super) fn end_below(pid: i32) {
    end_all(|| with_those_below(vec![pid], |_| true).split_off(1));
}

/// `pids` and all their descendants, except those that `counts` rejects and their descendants.
fn with_those_below(mut pids: Vec<i32>, counts: impl Fn(i32) -> bool) -> Vec<i32> {
    let mut at = 0;
    while let Some(parent) = pids.get(at) {
        pids.extend(children(*parent).into_iter().filter(|pid| counts(*pid)));
        at += 1;
    }
    pids
}

fn end_all(find: impl Fn() -> Vec<i32>) -> usize {
    // Fails for a process that has ended by itself.
    let signal = |pid: i32, signal| _ = kill(Pid::from_raw(pid), signal);
    let mut stopped = HashSet::new();
    for _ in 0..ROUNDS {
        let new: Vec<i32> = find().into_iter().filter(|pid| stopped.insert(*pid)).collect();
        if new.is_empty() {
            break;
        }
        new.into_iter().for_each(|pid| signal(pid, Signal::SIGSTOP));
    }
    stopped.iter().for_each(|pid| signal(*pid, Signal::SIGKILL));
    stopped.len()
}

/// When a process started, in clock ticks since the machine started (proc_pid_stat(5), field 22).
fn started_at(pid: i32) -> Option<u64> {
    stat_field(pid, 19)?.parse().ok()
}

/// The time now on the clock of process starts (proc_uptime(5)), in hundredths of a second.
pub(super) fn ticks() -> u64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = uptime.split(' ').next().unwrap_or_default();
    // 0 if unreadable: then every process counts as young enough.
    seconds.replace('.', "").parse().unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_process_starts_between_two_readings_of_the_clock() {
        let before = ticks();
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let (started, after) = (started_at(child.id().cast_signed()).unwrap(), ticks());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(before > 0 && before <= started && started <= after, "{before} {started} {after}");
    }
}
