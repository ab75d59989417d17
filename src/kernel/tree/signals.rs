//! Interrupts, stops and kills processes, together with everything that their cells started.

use super::strays::{self, Moment, Search};
use super::{Heard, Tree, procfs};
use crate::kernel::protocol::{ProcId, Role, WAKE};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::time::Duration;

/// After these delays, an interrupted head also gets `WAKE`.
const WAKE_DELAYS: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// How long the socket of a killed process may stay open before the server closes its end.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

impl Tree {
    /// Sends SIGINT to a head and the processes that its cell started.
    ///
    /// Python acts on SIGINT between two of its instructions. If the signal arrives just before a
    /// system call, or in another thread, the call blocks nevertheless. `WAKE` then ends the call,
    /// and Python finds the interrupt.
    pub fn interrupt(&mut self, head: ProcId) {
        self.signal(head, Signal::SIGINT);
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            for delay in WAKE_DELAYS {
                tokio::time::sleep(delay).await;
                // Fails only when the session has closed.
                let _ = inbox.send((head, Heard::InterruptedLongAgo)).await;
            }
        });
    }

    /// Ends the system call in which the main thread of an interrupted head may wait.
    pub(super) fn wake_main_thread(&self, head: ProcId) {
        if let Some(pid) = self.processes.get(&head).and_then(|p| p.pid) {
            // Fails if the process is dead.
            let _ = kill(pid, WAKE);
        }
    }

    /// Stops a head (SIGSTOP) and ends the processes that its last cell has started. Returns how
    /// many it ended.
    pub fn stop(&mut self, head: ProcId) -> usize {
        // The head stops first, so that it starts no more processes.
        self.signal(head, Signal::SIGSTOP);
        self.end_started(head)
    }

    /// Continues a stopped head.
    pub fn resume(&mut self, head: ProcId) {
        self.signal(head, Signal::SIGCONT);
    }

    /// Ends the processes that the last cell of a head has started, in any process group, but not
    /// the head. Returns how many it ended.
    pub fn end_started(&self, head: ProcId) -> usize {
        self.search(head).map_or(0, |search| search.end_all_but_heads())
    }

    /// Kills a process and its process group, which contains processes that its cells started.
    /// Everything that a throw-away fork has started ends with it, in any group.
    pub fn kill(&mut self, process: ProcId) {
        let throw_away = self.processes.get(&process).filter(|p| p.role.is_thrown_away());
        if let Some(pid) = throw_away.and_then(|p| p.pid) {
            strays::end_below(pid.as_raw());
        }
        self.signal(process, Signal::SIGKILL);
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            tokio::time::sleep(KILL_TIMEOUT).await;
            // Fails only when the session has closed.
            let _ = inbox.send((process, Heard::KilledLongAgo)).await;
        });
    }

    /// Ends a head and everything that its last cell has started. Called when a run failed or was
    /// stopped, or when its process has ended. Processes that earlier cells started continue.
    pub fn end_run(&mut self, head: ProcId) {
        if let Some(search) = self.search(head) {
            search.end();
        }
    }

    /// Ends all heads, and all processes that cells of this notebook have started, except daemons.
    pub fn end_cells(&mut self) {
        let heads = self.processes.values().filter(|p| p.role == Role::Head);
        let heads = heads.filter_map(|p| p.pid).map(Pid::as_raw).collect();
        let files = self.heads.values().map(|head| &head.files).collect();
        Search { heads, files, known: self.pids(), since: Moment::default() }.end();
    }

    /// Kills all processes.
    pub fn kill_all(&mut self) {
        let all: Vec<ProcId> = self.processes.keys().copied().collect();
        for process in all {
            self.kill(process);
        }
    }

    fn search(&self, head: ProcId) -> Option<Search<'_>> {
        let record = self.heads.get(&head)?;
        let heads = self.pid(head).into_iter().collect();
        Some(Search { heads, files: vec![&record.files], known: self.pids(), since: record.run_started })
    }

    /// Continues a process that was stopped from outside (SIGSTOP). A process that is not stopped
    /// gets no signal, because user code may handle SIGCONT.
    pub(super) fn wake(&self, id: ProcId) {
        if let Some(pid) = self.processes.get(&id).and_then(|p| p.pid)
            && procfs::stat_field(pid.as_raw(), 0).as_deref() == Some("T")
        {
            let _ = kill(pid, Signal::SIGCONT);
        }
    }

    /// Signals a process and its group. If the pid is unknown, `set_pid` sends the signal later.
    pub(super) fn signal(&mut self, id: ProcId, signal: Signal) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        let Some(pid) = process.pid else {
            process.pending_signal = Some(signal);
            if signal == Signal::SIGKILL {
                process.orders = None;
            }
            return;
        };
        // The calls fail if the process is dead, and `killpg` also if the process does not lead its
        // group yet.
        let _ = killpg(pid, signal);
        if signal == Signal::SIGKILL || process.role != Role::Head {
            let _ = kill(pid, signal);
        }
    }
}
