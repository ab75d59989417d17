//! Tracks how processes begin and end: reported pids, closed sockets, exit statuses.

use super::{Heard, ProcessEvent, Tree, procfs, reaper};
use crate::kernel::failure;
use crate::kernel::protocol::{Exit, Order, ProcId, Report};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::time::{Duration, Instant};

/// How long to wait for the exit status of a dead process. The status comes immediately, unless the
/// parent hangs.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait for the exit status if even the pid is unknown. The parent reports the pid
/// immediately after the fork, unless it dies first.
const UNBORN_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum number of bytes that are read of a root's messages.
const MAX_START_MESSAGES: u64 = 64 * 1024;

impl Tree {
    /// Handles an event of a process. Returns an event for the session, if there is one.
    pub fn note(&mut self, process: ProcId, heard: Heard) -> Option<ProcessEvent> {
        match heard {
            Heard::Report(report) => self.note_report(process, report),
            Heard::Closed => {
                self.on_exit(process);
                None
            }
            Heard::InterruptedLongAgo => {
                self.wake_main_thread(process);
                None
            }
            Heard::KilledLongAgo => {
                // A process that the killed one has started may still hold the socket open.
                // Dropping the queue of orders closes our end, so our reader ends.
                if let Some(killed) = self.processes.get_mut(&process) {
                    killed.orders = None;
                }
                None
            }
            Heard::Status(exit) => self.on_status(process, exit),
        }
    }

    fn note_report(&mut self, process: ProcId, report: Report) -> Option<ProcessEvent> {
        match report {
            Report::Forked { child, pid } => {
                if let Some(parent) = self.processes.get_mut(&process) {
                    parent.last_fork = Some(Instant::now());
                }
                match self.processes.get(&child) {
                    Some(expected) if expected.parent == Some(process) => self.set_pid(child, pid),
                    Some(_) => {}
                    None => self.end_late_child(process, pid),
                }
                return None;
            }
            Report::Reaped { pid, exit } => {
                let pid = Pid::from_raw(pid);
                let dead = *self.processes.iter().find(|(_, p)| p.is_closed && p.pid == Some(pid))?.0;
                return self.on_status(dead, exit);
            }
            Report::Ready { pid, .. } => {
                self.set_pid(process, pid);
                self.show_start_messages(process);
            }
            _ => {}
        }
        self.processes.contains_key(&process).then_some(ProcessEvent::Report(process, report))
    }

    /// Handles the closed socket of a process. If the process is still alive, it can no longer be
    /// reached and is killed. Its parent reaps it, or the server if the parent has ended. If the
    /// process died before its parent reported its pid, `set_pid` calls this again.
    fn on_exit(&mut self, dead: ProcId) {
        let was_unreachable = self.pid(dead).is_some_and(procfs::is_alive);
        self.signal(dead, Signal::SIGKILL);
        let Some(process) = self.processes.get_mut(&dead) else { return };
        process.is_closed = true;
        process.was_unreachable |= was_unreachable;
        let (pid, parent) = (process.pid, process.parent);
        let inbox = self.inbox.clone();
        let reaped = reaper::wait_for(pid);
        if let (Some(pid), Some(parent)) = (pid, parent) {
            self.send(parent, &Order::Reap { pid: pid.as_raw() }, Vec::new());
        }
        tokio::spawn(async move {
            let timeout = if pid.is_some() { STATUS_TIMEOUT } else { UNBORN_TIMEOUT };
            let exit = tokio::time::timeout(timeout, reaped).await.ok().flatten();
            // Fails only when the session has closed.
            let _ = inbox.send((dead, Heard::Status(exit))).await;
        });
    }

    fn on_status(&mut self, dead: ProcId, exit: Option<Exit>) -> Option<ProcessEvent> {
        if self.waits_for_its_parents_status(dead) {
            return None;
        }
        self.pipes.remove(&dead);
        let mut process = self.processes.remove(&dead)?;
        // Kills the processes in its group, which its cells have started.
        if let Some(pid) = process.pid {
            let _ = killpg(pid, Signal::SIGKILL);
        }
        self.give_up_unborn_children(dead);
        let is_killed = exit == Some(Exit::Signal(libc::SIGKILL));
        let exit = if process.was_unreachable && is_killed { Some(Exit::Unreachable) } else { exit };
        Some(match process.start_messages.take() {
            Some(messages) => {
                let messages = read_messages(messages);
                let why = format!("Python ended while it was starting: {}", failure::reason(exit, &messages));
                ProcessEvent::Report(dead, Report::Failed { why })
            }
            None => ProcessEvent::Gone(dead, exit),
        })
    }

    /// Whether the end of this process is reported only after its parent's end. That is so if its
    /// pid is unknown and its parent is ending too: the parent may never have forked it, and the
    /// parent's status says why. Afterwards `give_up_unborn_children` reports it.
    fn waits_for_its_parents_status(&self, dead: ProcId) -> bool {
        let unborn = self.processes.get(&dead).filter(|process| process.pid.is_none());
        let parent = unborn.and_then(|process| self.processes.get(&process.parent?));
        parent.is_some_and(|parent| parent.is_closed)
    }

    /// Prints the warnings of a root that has started, for example about a broken `.pth` file.
    fn show_start_messages(&mut self, root: ProcId) {
        let Some(process) = self.processes.get_mut(&root) else { return };
        if let Some(messages) = process.start_messages.take() {
            // If standard error is closed, the warnings are lost.
            let _ = io::stderr().write_all(read_messages(messages).as_bytes());
        }
    }

    /// Reports the end of children that an ended parent was ordered to fork and did not report.
    /// They will never exist.
    fn give_up_unborn_children(&self, parent: ProcId) {
        let unborn = self.processes.iter().filter(|(_, p)| p.parent == Some(parent) && p.pid.is_none());
        for (child, _) in unborn {
            let (child, inbox) = (*child, self.inbox.clone());
            // Arrives after the event of the parent's own end. Fails only when the session has
            // closed.
            tokio::spawn(async move { drop(inbox.send((child, Heard::Status(None))).await) });
        }
    }

    /// Kills a child that was forked after the session had given it up. Its parent reaps it.
    fn end_late_child(&mut self, parent: ProcId, pid: i32) {
        let parent_pid = self.processes.get(&parent).and_then(|p| p.pid);
        // User code may have forged the report: only a child of the process that reported it is
        // killed.
        if pid > 1 && parent_pid.is_some() && procfs::parent_of(pid) == parent_pid {
            let pid = Pid::from_raw(pid);
            let _ = killpg(pid, Signal::SIGKILL);
            let _ = kill(pid, Signal::SIGKILL);
            self.send(parent, &Order::Reap { pid: pid.as_raw() }, Vec::new());
        }
    }

    pub(super) fn set_pid(&mut self, id: ProcId, pid: i32) {
        let Some(process) = self.processes.get_mut(&id).filter(|p| p.pid.is_none() && pid > 1) else {
            return;
        };
        let pid = Pid::from_raw(pid);
        reaper::forget(pid);
        process.pid = Some(pid);
        if let Some(signal) = process.pending_signal.take() {
            self.signal(id, signal);
        }
        if self.processes.get(&id).is_some_and(|p| p.is_closed) {
            // The process died before its parent reported its pid.
            self.on_exit(id);
        }
    }
}

fn read_messages(mut messages: File) -> String {
    let mut bytes = Vec::new();
    // The file is in memory. If it cannot be read, the cause of a failure is not known.
    let _ = messages.rewind().and_then(|()| messages.take(MAX_START_MESSAGES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}
