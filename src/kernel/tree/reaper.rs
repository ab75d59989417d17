//! Holds the lifeline and reaps the server's children. There is one lifeline and one reaper for all
//! notebooks.
//!
//! The server adopts every orphan below it (subreaper): states whose head has ended, and processes
//! that cells left behind. It waits for all of them, so none stays a zombie.

use super::strays;
use crate::kernel::memory;
use crate::kernel::protocol::Exit;
use nix::errno::Errno;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Maximum number of rounds in which a stopping server ends the remaining processes, and the pause
/// between two rounds.
const ROUNDS: u32 = 100;
const BETWEEN_ROUNDS: Duration = Duration::from_millis(5);
/// Maximum number of exit statuses kept for a later `wait_for`.
const MAX_REMEMBERED: usize = 4096;

static LIFELINE: OnceLock<(OwnedFd, OwnedFd)> = OnceLock::new();
static REAPER: LazyLock<Mutex<Reaper>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Reaper {
    waiting: HashMap<i32, oneshot::Sender<Exit>>,
    ended: HashMap<i32, Exit>,
    order: VecDeque<i32>,
}

/// Returns a copy of the lifeline's read end. Only this process holds the write end. The first call
/// makes this process adopt orphans, and starts the task that waits for them.
pub(super) fn lifeline() -> io::Result<OwnedFd> {
    if LIFELINE.get().is_none() {
        nix::sys::prctl::set_child_subreaper(true)?;
        let pipe = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
        if LIFELINE.set(pipe).is_ok() {
            let mut children = signal(SignalKind::child())?;
            tokio::spawn(async move {
                loop {
                    reap_all();
                    if children.recv().await.is_none() {
                        break;
                    }
                }
            });
        }
    }
    let (read, _write) = LIFELINE.get().ok_or_else(|| io::Error::other("the lifeline could not be made"))?;
    read.try_clone()
}

/// Returns the exit status of a child as soon as the server has reaped it. Never returns for a
/// child of another process or for an unknown pid.
pub(super) async fn wait_for(pid: Option<Pid>) -> Option<Exit> {
    let Some(pid) = pid.map(Pid::as_raw) else { return std::future::pending().await };
    let exit = {
        let mut reaper = REAPER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(exit) = reaper.ended.remove(&pid) {
            return Some(exit);
        }
        // Removes callers that have timed out: most children are reaped by their own parents.
        reaper.waiting.retain(|_, waiting| !waiting.is_closed());
        let (tx, rx) = oneshot::channel();
        reaper.waiting.insert(pid, tx);
        rx
    };
    exit.await.ok()
}

/// Forgets the exit status of an earlier process with this pid.
pub(super) fn forget(pid: Pid) {
    REAPER.lock().unwrap_or_else(PoisonError::into_inner).ended.remove(&pid.as_raw());
}

/// Takes the exit status of a child that the server has reaped, unless a `wait_for` got it.
pub(in crate::kernel) fn take_exit(pid: i32) -> Option<Exit> {
    REAPER.lock().unwrap_or_else(PoisonError::into_inner).ended.remove(&pid)
}

/// Ends all descendants of the server, in any process group. Called when the server stops, so that
/// no process that a cell started is left.
pub async fn end_all_below() {
    let own = std::process::id().cast_signed();
    for _ in 0..ROUNDS {
        strays::end_below(own);
        tokio::time::sleep(BETWEEN_ROUNDS).await;
        reap_all();
        if memory::children(own).is_empty() {
            return;
        }
    }
}

fn reap_all() {
    loop {
        let (pid, exit) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) => (pid.as_raw(), Exit::Code(code)),
            Ok(WaitStatus::Signaled(pid, signal, _)) => (pid.as_raw(), Exit::Signal(signal as i32)),
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return,
            Err(Errno::EINTR) | Ok(_) => continue,
            Err(_) => return,
        };
        let mut reaper = REAPER.lock().unwrap_or_else(PoisonError::into_inner);
        match reaper.waiting.remove(&pid) {
            // Fails when the caller has timed out.
            Some(waiting) => drop(waiting.send(exit)),
            None => reaper.remember(pid, exit),
        }
    }
}

impl Reaper {
    fn remember(&mut self, pid: i32, exit: Exit) {
        self.ended.insert(pid, exit);
        self.order.push_back(pid);
        if self.order.len() > MAX_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ended.remove(&oldest);
        }
    }
}
