//! Ends the processes that cells started, in any process group. A signal to one group would not
//! reach all of them.
//!
//! First, all processes are stopped, in rounds, until two successive rounds find the same
//! processes. Then all are killed. A stopped process cannot fork. If processes were killed one by
//! one, a fork bomb would start new ones meanwhile. A process that is stopped during a fork
//! finishes the fork first, so the search is repeated after the killing until it finds no new
//! process.
//!
//! The server adopts processes that lost their parent (subreaper), and recognises them by the pipes
//! of their head, which they hold open. A process that has closed all these pipes is a daemon, and
//! ends with the server. Processes that start a child and exit every millisecond may escape a
//! search. They end with the server too.

use super::procfs::{is_alive, stat_field};
use crate::kernel::memory::children;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::fstat;
use nix::unistd::Pid;
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;

/// Maximum number of rounds of stopping. A fork bomb is stopped after four or five.
const ROUNDS: u32 = 100;
/// Maximum number of searches. The second search usually finds nothing.
const MAX_SEARCHES: u32 = 10;

/// The files that identify processes started by a head's cells: no other processes have them open.
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
    /// Heads to end, with all their descendants.
    pub(super) heads: Vec<i32>,
    /// The files of these heads and of earlier ones.
    pub(super) files: Vec<&'a HeadFiles>,
    /// The processes of the tree. They and their descendants are not ended, unless they are among
    /// `heads`.
    pub(super) known: HashSet<i32>,
    /// Only processes that started after this time are ended.
    pub(super) since: Moment,
}

impl Search<'_> {
    pub(super) fn end(&self) {
        end_all(|sweep| {
            self.heads.iter().for_each(|head| sweep.stop(*head));
            self.sweep(sweep);
        });
    }

    /// Ends the selected processes except the heads. Returns how many it ended.
    pub(super) fn end_all_but_heads(&self) -> usize {
        end_all(|sweep| self.sweep(sweep))
    }

    fn sweep(&self, sweep: &mut Sweep<'_>) {
        let is_young = |pid: i32| self.since.is_before(pid);
        let is_ours = |pid: i32| !self.known.contains(&pid) && is_young(pid);
        sweep.stop_below(self.heads.clone(), is_ours);
        // The orphans come last: a process that loses its parent meanwhile becomes one.
        let has_files = |pid: i32| self.files.iter().any(|files| files.are_held_by(pid));
        let (mut parents, mut orphans) = (vec![std::process::id().cast_signed()], Vec::new());
        while let Some(parent) = parents.pop() {
            let ours: Vec<i32> = sweep.children(parent).into_iter().filter(|pid| is_ours(*pid)).collect();
            for pid in ours {
                if has_files(pid) {
                    sweep.stop(pid);
                    orphans.push(pid);
                } else if !is_alive(pid) {
                    // An exiting process may have closed its files and still have children.
                    parents.push(pid);
                }
            }
        }
        sweep.stop_below(orphans, is_ours);
    }
}

/// Ends all descendants of a process.
pub(super) fn end_below(pid: i32) {
    end_all(|sweep| sweep.stop_below(vec![pid], |_| true));
}

/// Ends a process and all its descendants.
pub(in crate::kernel) fn end_with_descendants(pid: i32) {
    end_all(|sweep| {
        sweep.stop(pid);
        sweep.stop_below(vec![pid], |_| true);
    });
}

/// One round of stopping.
struct Sweep<'a> {
    /// The processes stopped so far, in all rounds.
    stopped: &'a mut HashSet<i32>,
    /// All processes that this round has found. If the round before found others, a process has
    /// ended meanwhile, and this round may have missed its children.
    listed: HashSet<i32>,
    has_stopped_some: bool,
}

impl Sweep<'_> {
    fn stop(&mut self, pid: i32) {
        if self.stopped.insert(pid) {
            signal(pid, Signal::SIGSTOP);
            self.has_stopped_some = true;
        }
    }

    fn children(&mut self, parent: i32) -> Vec<i32> {
        let children = children(parent);
        self.listed.extend(&children);
        children
    }

    /// Stops the children that `counts` selects. Returns them.
    fn stop_children(&mut self, parent: i32, counts: impl Fn(i32) -> bool) -> Vec<i32> {
        let mut selected = Vec::new();
        for child in self.children(parent) {
            if counts(child) {
                self.stop(child);
                selected.push(child);
            }
        }
        selected
    }

    /// Stops all descendants of `parents`, except those that `counts` rejects and their
    /// descendants.
    fn stop_below(&mut self, mut parents: Vec<i32>, counts: impl Fn(i32) -> bool) {
        while let Some(parent) = parents.pop() {
            parents.extend(self.stop_children(parent, &counts));
        }
    }
}

/// Kills all processes that `sweep` stops. Returns how many.
fn end_all(sweep: impl Fn(&mut Sweep<'_>)) -> usize {
    let (mut stopped, mut killed) = (HashSet::new(), HashSet::new());
    for _ in 0..MAX_SEARCHES {
        stop_all(&mut stopped, &sweep);
        let new: Vec<i32> = stopped.difference(&killed).copied().collect();
        if new.is_empty() {
            break;
        }
        new.iter().for_each(|pid| signal(*pid, Signal::SIGKILL));
        killed.extend(new);
    }
    killed.len()
}

/// Calls `sweep` until a round stops nothing and finds the same processes as the round before.
fn stop_all(stopped: &mut HashSet<i32>, sweep: impl Fn(&mut Sweep<'_>)) {
    let mut last = HashSet::new();
    for _ in 0..ROUNDS {
        let mut round = Sweep { stopped, listed: HashSet::new(), has_stopped_some: false };
        sweep(&mut round);
        let Sweep { listed, has_stopped_some, .. } = round;
        if !has_stopped_some && listed == last {
            break;
        }
        last = listed;
    }
}

fn signal(pid: i32, signal: Signal) {
    // Fails for a process that has ended by itself.
    let _ = kill(Pid::from_raw(pid), signal);
}

/// A point in time, exact enough to order it among the starts of processes. The default is before
/// all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    /// In clock ticks since the machine started, which are hundredths of a second.
    ticks: u64,
    /// The pid of the newest process: the next process may start in the same tick.
    last_pid: i32,
}

impl Moment {
    pub(super) fn now() -> Self {
        // The last field is the newest process (proc_loadavg(5)). A number that cannot be read
        // counts as 0. Then too many processes count as later.
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let last_pid = load.split_whitespace().last().and_then(|pid| pid.parse().ok());
        Self { ticks: ticks(), last_pid: last_pid.unwrap_or_default() }
    }

    fn is_before(self, pid: i32) -> bool {
        let is_later = |at| at > self.ticks || at == self.ticks && pid > self.last_pid;
        started_at(pid).is_some_and(is_later)
    }
}

/// When a process started, in clock ticks since the machine started (proc_pid_stat(5), field 22).
fn started_at(pid: i32) -> Option<u64> {
    stat_field(pid, 19)?.parse().ok()
}

/// The time now on the clock of process starts (proc_uptime(5)), in hundredths of a second.
fn ticks() -> u64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = uptime.split(' ').next().unwrap_or_default();
    // 0 if unreadable: then every process counts as later.
    seconds.replace('.', "").parse().unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_tells_processes_of_one_tick_apart() {
        let sleep = || std::process::Command::new("sleep").arg("100").spawn().unwrap();
        for _ in 0..20 {
            let mut earlier = sleep();
            let moment = Moment::now();
            let mut later = sleep();
            let [is_earlier_one_later, is_later_one] =
                [&earlier, &later].map(|child| moment.is_before(child.id().cast_signed()));
            for child in [&mut earlier, &mut later] {
                child.kill().unwrap();
                child.wait().unwrap();
            }
            assert!(!is_earlier_one_later && is_later_one, "{moment:?}");
        }
    }

    #[test]
    fn a_process_starts_between_two_readings_of_the_clock() {
        let before = ticks();
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let (started, after) = (started_at(child.id().cast_signed()).unwrap(), ticks());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(before > 0 && before <= started && started <= after, "{before} {started} {after}");
    }

    #[test]
    fn a_child_that_appears_when_its_parent_is_killed_is_ended() {
        let sleep = || std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let (mut parent, mut child) = (sleep(), sleep());
        let rounds = std::cell::Cell::new(0);
        let ended = end_all(|sweep| {
            rounds.set(rounds.get() + 1);
            sweep.stop(parent.id().cast_signed());
            // The first round stops the parent, the second finds nothing new, then it is killed.
            if rounds.get() > 2 {
                sweep.stop(child.id().cast_signed());
            }
        });
        parent.wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(ended, 2);
    }
}
