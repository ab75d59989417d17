//! Ends the processes that cells started, in any session or process group. A signal to a group
//! would not reach all of them.
//!
//! First, all processes are stopped, in rounds, until two rounds in succession see the same ones.
//! Then all are killed. A stopped process cannot fork, whereas killing one would let a fork bomb
//! start the next. A process that is told to stop in the midst of a fork finishes that fork first,
//! so the search is repeated after the killing, until it finds no new process.
//!
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

/// The most rounds of stopping. A fork bomb is stopped after four or five.
const ROUNDS: u32 = 100;
/// How often at most the search is repeated after the killing. Mostly the first finds nothing.
const MAX_SEARCHES: u32 = 100;

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
        end_all(|| self.find());
    }

    /// Ends the selected processes except the heads. Returns how many it ended.
    pub(super) fn end_all_but_heads(&self) -> usize {
        end_all(|| {
            let mut found = self.find();
            found.selected.drain(..self.heads.len());
            found
        })
    }

    fn find(&self) -> Found {
        let is_young = |pid: i32| started_at(pid).is_some_and(|at| at >= self.since);
        let is_ours = |pid: i32| !self.known.contains(&pid) && is_young(pid);
        let mut found = Found { selected: self.heads.clone(), ..Found::default() };
        found.add_those_below(0, is_ours);
        // The orphans come last: a process that loses its parent meanwhile becomes one.
        let roots = found.selected.len();
        let has_files = |pid: i32| self.files.iter().any(|files| files.are_held_by(pid));
        found.add_children(std::process::id().cast_signed(), |pid| is_ours(pid) && has_files(pid));
        found.add_those_below(roots, is_ours);
        found
    }
}

/// What one search found.
#[derive(Default)]
struct Found {
    /// The processes to end.
    selected: Vec<i32>,
    /// All processes that it came across. If they are others than last time, a process has ended
    /// during the search, and may have hidden its children from it.
    listed: HashSet<i32>,
}

impl Found {
    /// Adds the children that `counts` selects.
    fn add_children(&mut self, parent: i32, counts: impl Fn(i32) -> bool) {
        for child in children(parent) {
            self.listed.insert(child);
            if counts(child) {
                self.selected.push(child);
            }
        }
    }

    /// Adds all descendants of `selected[first..]`, except those that `counts` rejects and their
    /// descendants.
    fn add_those_below(&mut self, first: usize, counts: impl Fn(i32) -> bool) {
        let mut at = first;
        while let Some(parent) = self.selected.get(at) {
            self.add_children(*parent, &counts);
            at += 1;
        }
    }
}

/// Ends every process below another one.
pub(super) fn end_below(pid: i32) {
    end_all(|| {
        let mut found = Found { selected: vec![pid], ..Found::default() };
        found.add_those_below(0, |_| true);
        found.selected.remove(0);
        found
    });
}

/// Ends all processes that `find` selects. Returns how many.
fn end_all(find: impl Fn() -> Found) -> usize {
    let mut killed = HashSet::new();
    for _ in 0..MAX_SEARCHES {
        let stopped = stop_all(&find, &killed);
        if stopped.is_empty() {
            break;
        }
        stopped.iter().for_each(|pid| signal(*pid, Signal::SIGKILL));
        killed.extend(stopped);
    }
    killed.len()
}

/// Stops the processes that `find` selects, except those that were killed. Returns which.
fn stop_all(find: impl Fn() -> Found, killed: &HashSet<i32>) -> HashSet<i32> {
    let (mut stopped, mut listed) = (HashSet::new(), HashSet::new());
    for _ in 0..ROUNDS {
        let found = find();
        let selected = found.selected.into_iter().filter(|pid| !killed.contains(pid));
        let new: Vec<i32> = selected.filter(|pid| stopped.insert(*pid)).collect();
        if new.is_empty() && found.listed == listed {
            break;
        }
        new.into_iter().for_each(|pid| signal(pid, Signal::SIGSTOP));
        listed = found.listed;
    }
    stopped
}

fn signal(pid: i32, signal: Signal) {
    // Fails for a process that has ended by itself.
    let _ = kill(Pid::from_raw(pid), signal);
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
