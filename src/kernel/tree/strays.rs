//! Ends what cells have started, in whatever session or group it is: signals to a group do not reach it.
//!
//! All that is found is stopped first, round after round until nothing new is found, and killed then: a process that is
//! stopped cannot start another, while one that is killed makes room for the next of a fork bomb. What has lost its
//! parents is adopted by the server (subreaper). It is known by the ring and the pipes of the head that it came from,
//! which it has mapped or open, unless it has let go of all of them: then it is a daemon, and ends with the server.

use super::stat_field;
use crate::kernel::memory::children;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::fstat;
use nix::unistd::Pid;
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;

/// How many rounds of stopping there are. A bomb is over after three or four: what it is made of cannot run any more.
const ROUNDS: u32 = 100;

/// What a head and the processes that its cells start have mapped or open, and nobody else.
#[derive(Clone, Debug)]
pub(super) struct HeadFiles {
    /// The number of the ring's file, as `maps` writes it.
    ring: String,
    /// The pipes, as the links in `fd` name them.
    pipes: [String; 2],
}

impl HeadFiles {
    /// Those of a head that is about to be made.
    pub(super) fn of(ring: &OwnedFd, pipes: [&OwnedFd; 2]) -> io::Result<Self> {
        let pipe = |pipe| Ok::<_, io::Error>(format!("pipe:[{}]", fstat(pipe)?.st_ino));
        let pipes = [pipe(pipes[0])?, pipe(pipes[1])?];
        Ok(Self { ring: format!(" {} ", fstat(ring)?.st_ino), pipes })
    }

    fn are_held_by(&self, pid: i32) -> bool {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let links = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        let is_pipe =
            |link: std::path::PathBuf| self.pipes.iter().any(|pipe| link.as_os_str() == pipe.as_str());
        links.into_iter().any(is_pipe) || {
            let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
            let maps = String::from_utf8_lossy(&maps);
            maps.lines().any(|line| line.contains("memfd:ratoon-ring") && line.contains(&self.ring))
        }
    }
}

/// Which processes are to end.
pub(super) struct Search<'a> {
    /// Heads that are to end, with what is below them.
    pub(super) heads: Vec<i32>,
    /// The files of these and of earlier heads.
    pub(super) files: Vec<&'a HeadFiles>,
    /// The processes that the tree knows: they are spared, with what is below them, unless they are among the heads.
    pub(super) known: HashSet<i32>,
    /// Only processes that began at this time or later, on the clock of `ticks`.
    pub(super) since: u64,
}

impl Search<'_> {
    /// Ends them.
    pub(super) fn end(&self) {
        let _ = end_all(|| self.find());
    }

    /// Ends them, but not the heads; answers how many there were.
    pub(super) fn end_all_but_heads(&self) -> usize {
        end_all(|| self.find().split_off(self.heads.len()))
    }

    fn find(&self) -> Vec<i32> {
        let is_young = |pid: i32| began(pid).is_some_and(|at| at >= self.since);
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

/// These processes and all below them, without those that do not count and what is below them.
fn with_those_below(mut found: Vec<i32>, counts: impl Fn(i32) -> bool) -> Vec<i32> {
    let mut at = 0;
    while let Some(parent) = found.get(at) {
        found.extend(children(*parent).into_iter().filter(|pid| counts(*pid)));
        at += 1;
    }
    found
}

fn end_all(find: impl Fn() -> Vec<i32>) -> usize {
    // One that has ended by itself needs no signal.
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

/// When a process began, in clock ticks since the machine started (proc_pid_stat(5), field 22).
fn began(pid: i32) -> Option<u64> {
    stat_field(pid, 19)?.parse().ok()
}

/// The time now, as the kernel notes it for a process that begins (proc_uptime(5)). Both count hundredths of a second.
pub(super) fn ticks() -> u64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = uptime.split(' ').next().unwrap_or_default();
    // Without it every process counts as young enough.
    seconds.replace('.', "").parse().unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_process_begins_between_two_looks_at_the_clock() {
        let before = ticks();
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let (began, after) = (began(child.id().cast_signed()).unwrap(), ticks());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(before > 0 && before <= began && began <= after, "{before} {began} {after}");
    }
}
