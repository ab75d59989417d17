//! The server's end of the process tree. It makes no decisions and waits for nothing: orders go
//! into a writer's queue, and every event goes to the session's inbox.
//!
//! - `spawn`: starts the root, forks children, makes their sockets and pipes
//! - `connection`: merges one process' reports and outputs into one exact order (`text`: decodes
//!   text)
//! - `signals`: interrupt, stop, kill; `strays`: ends processes that cells have started
//! - `exits`: pids, closed sockets, exit statuses; `reaper`: waits for adopted orphans, holds the
//!   lifeline
//! - `hung`: examines a process that hangs, through `/proc` (`procfs`)

mod connection;
mod events;
mod exits;
mod hung;
mod procfs;
mod reaper;
mod signals;
mod spawn;
mod strays;
mod text;

pub use events::{Heard, ProcessEvent};
pub use hung::{Hung, Seen};
pub use reaper::end_all_below;
pub(super) use reaper::take_exit;
pub(super) use strays::end_with_descendants;

use super::Launch;
use super::protocol::{CellOrder, Delivery, Order, ProcId, Question, Role, frame};
use super::sandbox::OwnTemporary;
use crate::notebook::ExecId;
use crate::notebook::WidgetMessage;
use connection::OutgoingFrame;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use strays::{HeadFiles, Moment};
use tokio::sync::mpsc;

/// The processes of one notebook. Their events arrive at the inbox given to `new`.
#[derive(Debug)]
pub struct Tree {
    launch: Arc<Launch>,
    blobs: PathBuf,
    inbox: mpsc::Sender<(ProcId, Heard)>,
    processes: HashMap<ProcId, ProcessHandle>,
    /// By sending process: the read end of its pipe, until a head gets it.
    pipes: HashMap<ProcId, OwnedFd>,
    /// All heads. Ended heads are included, because processes that their cells started may still
    /// run.
    heads: BTreeMap<ProcId, HeadRecord>,
    /// The server's limit of open descriptors.
    max_descriptors: u64,
    /// Where cells of a sandbox keep temporary files.
    temporary: Option<OwnTemporary>,
}

#[derive(Debug)]
struct ProcessHandle {
    parent: Option<ProcId>,
    role: Role,
    pid: Option<Pid>,
    /// None after the server has killed the process and closed its socket. If the process is forked
    /// only afterwards, it finds its socket closed and exits.
    orders: Option<mpsc::UnboundedSender<OutgoingFrame>>,
    /// A signal that waits until the pid is known.
    pending_signal: Option<Signal>,
    /// When it last reported that it has forked a child.
    last_fork: Option<Instant>,
    is_closed: bool,
    /// Whether it still ran when its socket was closed.
    was_unreachable: bool,
    /// What the root has printed to standard error; none once it is ready.
    start_messages: Option<File>,
}

/// What the tree remembers of a head after the head's process has ended.
#[derive(Debug)]
struct HeadRecord {
    files: HeadFiles,
    /// When the head was ordered to run its last cell. Not when the cell has begun: that report may
    /// arrive after the start of the cell's first subprocess.
    run_started: Moment,
}

impl Tree {
    /// A tree without processes. Checkpoints are written to and loaded from `blobs`. Must be called
    /// inside a tokio runtime.
    pub fn new(launch: Arc<Launch>, blobs: PathBuf, inbox: mpsc::Sender<(ProcId, Heard)>) -> Self {
        let max_descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
        Self {
            launch,
            blobs,
            inbox,
            processes: HashMap::new(),
            pipes: HashMap::new(),
            heads: BTreeMap::new(),
            max_descriptors,
            temporary: None,
        }
    }

    /// Runs a cell on a head. `exec_id` is the run's, for the log. `deliveries`: variables of other
    /// states, each with the process that sends them.
    pub fn run(
        &mut self,
        head: ProcId,
        exec_id: &ExecId,
        cell: CellOrder,
        deliveries: Vec<(Delivery, Option<ProcId>)>,
    ) {
        self.wake(head);
        if let Some(record) = self.heads.get_mut(&head) {
            record.run_started = Moment::now();
        }
        tracing::debug!(process = head.0, run = %exec_id, "a process runs a cell");
        let mut pipes = Vec::new();
        for (delivery, sender) in &deliveries {
            if delivery.comes {
                let pipe = sender.and_then(|sender| self.pipes.remove(&sender));
                // Without a sender the head reads an empty file and reports that nothing came.
                pipes.extend(pipe.or_else(|| std::fs::File::open("/dev/null").ok().map(OwnedFd::from)));
            }
        }
        let deliveries = deliveries.into_iter().map(|(delivery, _)| delivery).collect();
        self.send(head, &Order::Run { cell, deliveries }, pipes);
    }

    /// Asks a process of `Role::Answer` about its state.
    pub fn question(&mut self, process: ProcId, number: u64, question: Question) {
        self.wake(process);
        self.send(process, &Order::Question { number, question }, Vec::new());
    }

    /// Sends the user's input to a head that asked for it.
    pub fn answer(&mut self, head: ProcId, number: u32, text: String) {
        self.send(head, &Order::Answer { number, text }, Vec::new());
    }

    /// Sends a message to a widget in a head.
    pub fn widget(&mut self, head: ProcId, number: u64, message: WidgetMessage) {
        self.wake(head);
        self.send(head, &Order::Widget { number, message }, Vec::new());
    }

    /// A process' pid, when it is known.
    pub fn pid(&self, process: ProcId) -> Option<i32> {
        self.processes.get(&process)?.pid.map(Pid::as_raw)
    }

    /// All known pids.
    pub fn pids(&self) -> HashSet<i32> {
        self.processes.values().filter_map(|p| p.pid).map(Pid::as_raw).collect()
    }

    /// Whether no process is left.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    fn send(&self, to: ProcId, order: &Order, descriptors: Vec<OwnedFd>) {
        if let Some(orders) = self.processes.get(&to).and_then(|p| p.orders.as_ref()) {
            // Fails only for a dead process, whose reader reports its end.
            let _ = orders.send(OutgoingFrame { bytes: frame(order), descriptors });
        }
    }
}
