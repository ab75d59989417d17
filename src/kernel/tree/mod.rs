//! The server's end of the process tree: makes sockets, sends orders, hears reports, signals and reaps.
//!
//! Nothing here waits: orders go into a writer's queue, what is heard comes into the session's inbox. The tree decides
//! nothing; it only knows which pid a process has and who its parent is.

mod connection;
mod hung;
mod reaper;
mod strays;
mod text;

pub use reaper::end_all_below;

use super::protocol::{Delivery, Exit, IntrospectKind, Load, Order, ProcId, Report, Role, Wanted, frame};
use super::{Launch, memory, ring};
use crate::notebook::ExecId;
use connection::OutgoingFrame;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::Pid;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use strays::{HeadFiles, Search};
use tokio::sync::mpsc;

/// How long to wait for the exit status of a head that has died. It is there at once, unless its parent hangs.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);
/// The same, of one whose process id nobody has told: the one that was to fork it tells at once, or has died before.
const UNBORN_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the socket of a process that was killed may stay open.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// How many descriptors are not for processes.
const RESERVED_DESCRIPTORS: u64 = 128;
/// Of how many heads the files are remembered. Only those of which a process is left that its cell has detached matter.
const MAX_HEAD_FILES: usize = 4096;
/// Room in the pipes of descriptors 1 and 2: what a subprocess may print between two looks.
const PIPE_BYTES: i32 = 1024 * 1024;

/// Something heard from a process.
#[derive(Debug)]
pub enum Heard {
    /// It reported something.
    Report(Report),
    /// Its socket is closed: it is dead, or dying.
    Closed,
    /// It was killed a while ago.
    KilledLongAgo,
    /// The wait for its exit status is over.
    Status(Option<Exit>),
}

/// What can be seen from outside of a process that does not say that it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hung {
    /// Whether it exists. Else the process that was to fork it has not done so.
    pub is_there: bool,
    /// How long ago that process has made its last child.
    pub parent_made_one: Option<Duration>,
    /// What it does, or its parent when it does not exist, for people.
    pub doing: &'static str,
    /// Libraries in it that have threads of their own.
    pub libraries: Vec<String>,
}

/// What can be seen from outside of a process that runs a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How much processor time it has used, in clock ticks.
    pub cpu_ticks: u64,
    /// Whether it waits for a lock, and for no child process.
    pub waits_for_lock: bool,
    /// Whether it has threads beside its main thread.
    pub has_threads: bool,
    /// Libraries in it that have threads of their own.
    pub libraries: Vec<String>,
}

/// What the session learns from the tree.
#[derive(Debug)]
pub enum ProcessEvent {
    /// A process reported something.
    Report(ProcId, Report),
    /// A process is gone.
    Gone(ProcId, Option<Exit>),
}

/// What a head is to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The run.
    pub exec_id: ExecId,
    /// The source.
    pub code: String,
    /// Whether `input()` may ask.
    pub allow_stdin: bool,
    /// Whether it has a limit of memory, so that it is to say before what it holds.
    pub weighs: bool,
    /// Whether it is to say which variables it has read, assigned and deleted.
    pub tells_symbols: bool,
    /// Variables of other states, and which processes send them.
    pub deliveries: Vec<(Delivery, Option<ProcId>)>,
}

/// The processes of one notebook. Everything it hears arrives at the inbox given to `new`.
#[derive(Debug)]
pub struct Tree {
    launch: Arc<Launch>,
    blobs: PathBuf,
    inbox: mpsc::Sender<(ProcId, Heard)>,
    processes: HashMap<ProcId, Process>,
    /// Where what a process sends can be read, until that is given to the one that it is for.
    pipes: HashMap<ProcId, OwnedFd>,
    /// The files of the heads, of those too that are gone: what they have started may still be there.
    head_files: BTreeMap<ProcId, HeadFiles>,
    /// How many descriptors this program may have.
    max_descriptors: u64,
}

#[derive(Debug)]
struct Process {
    parent: Option<ProcId>,
    role: Role,
    pid: Option<Pid>,
    /// None: it was killed, and its socket is closed; a child that comes to be all the same finds it so and leaves.
    orders: Option<mpsc::UnboundedSender<OutgoingFrame>>,
    /// A signal that was wished before the pid was known.
    wished: Option<Signal>,
    /// When it last said that it has made a child.
    made: Option<Instant>,
    /// Of a head, when it was told to run its last cell, on the clock of `strays`. That the cell has begun is heard later,
    /// when it may have started processes already.
    began: u64,
    is_closed: bool,
    /// Whether it lived on when its socket was closed.
    was_unreachable: bool,
}

impl Tree {
    /// No process yet. Checkpoints are written to and loaded from `blobs`. Must be called inside a tokio runtime.
    pub fn new(launch: Arc<Launch>, blobs: PathBuf, inbox: mpsc::Sender<(ProcId, Heard)>) -> Self {
        let max_descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
        Self {
            launch,
            blobs,
            inbox,
            processes: HashMap::new(),
            pipes: HashMap::new(),
            head_files: BTreeMap::new(),
            max_descriptors,
        }
    }

    /// Starts the root: this program again, as `ratoon kernel`, with its socket as standard input.
    ///
    /// # Errors
    /// The operating system's.
    pub fn spawn_root(&mut self, root: ProcId) -> io::Result<()> {
        let lifeline = reaper::lifeline()?;
        let (ours, theirs) = socket_pair()?;
        let child = Command::new(&self.launch.program)
            .arg("kernel")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()?;
        self.add(root, None, Role::Frozen, ours, None)?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        self.set_pid(root, pid);
        let plant = Order::SpawnRoot {
            python: self.launch.python.clone(),
            support: self.launch.support.clone(),
            cwd: self.launch.cwd.clone(),
            nice: self.launch.nice,
        };
        self.send(root, &plant, vec![lifeline]);
        Ok(())
    }

    /// Makes `from` fork a child. Orders may be sent to the child at once; it finds them when it comes to be.
    ///
    /// # Errors
    /// The operating system's: no descriptors left.
    pub fn fork(&mut self, from: ProcId, child: ProcId, role: Role, load: Option<Load>) -> io::Result<()> {
        self.wake(from);
        let (ours, theirs) = socket_pair()?;
        self.leave_some(&ours)?;
        let mut descriptors = vec![theirs];
        let mut head_io = None;
        if role == Role::Head {
            let memory = ring::create()?;
            let (out, out_end) = pipe()?;
            let (err, err_end) = pipe()?;
            let watch = watch(&[&out, &err])?;
            self.note_files(child, HeadFiles::of(&memory, [&out, &err])?);
            head_io = Some(connection::HeadIo::new(ring::Ring::map(&memory)?, out, err)?);
            descriptors.extend([out_end, err_end, memory, watch]);
        }
        self.add(child, Some(from), role, ours, head_io)?;
        let blobs = (load.is_some() || matches!(role, Role::Save(_))).then(|| self.blobs.clone());
        self.send(from, &Order::Fork { child, role, load, blobs, wanted: None }, descriptors);
        Ok(())
    }

    /// The server's doors and its disk need descriptors, too. The lowest free number is given first, so a high one means that
    /// few are left.
    fn leave_some(&self, newest: &OwnedFd) -> io::Result<()> {
        let left = self.max_descriptors.saturating_sub(newest.as_raw_fd().unsigned_abs().into());
        if left > RESERVED_DESCRIPTORS.min(self.max_descriptors / 4) {
            return Ok(());
        }
        let why = format!(
            "of the {} descriptors that the server may have (ulimit -n) too few are left",
            self.max_descriptors
        );
        Err(io::Error::other(why))
    }

    /// Makes `from` fork a child that sends variables to a head, which `run` names.
    ///
    /// # Errors
    /// The operating system's: no descriptors left.
    pub fn send_variables(&mut self, from: ProcId, child: ProcId, wanted: Wanted) -> io::Result<()> {
        self.wake(from);
        let (ours, theirs) = socket_pair()?;
        let (read, write) = pipe()?;
        self.leave_some(&write)?;
        self.add(child, Some(from), Role::Send, ours, None)?;
        self.pipes.insert(child, read);
        let (role, wanted) = (Role::Send, Some(wanted));
        self.send(from, &Order::Fork { child, role, load: None, blobs: None, wanted }, vec![theirs, write]);
        Ok(())
    }

    /// Runs a cell on a head.
    pub fn run(&mut self, head: ProcId, cell: Cell) {
        self.wake(head);
        if let Some(head) = self.processes.get_mut(&head) {
            head.began = strays::ticks();
        }
        let Cell { exec_id, code, allow_stdin, weighs, tells_symbols, deliveries } = cell;
        let mut pipes = Vec::new();
        for (delivery, sender) in &deliveries {
            if delivery.comes {
                let pipe = sender.and_then(|sender| self.pipes.remove(&sender));
                // A sender that could not be made sends nothing, which the head finds.
                pipes.extend(pipe.or_else(|| std::fs::File::open("/dev/null").ok().map(OwnedFd::from)));
            }
        }
        let deliveries = deliveries.into_iter().map(|(delivery, _)| delivery).collect();
        let order = Order::Run { exec_id, code, allow_stdin, weighs, tells_symbols, deliveries };
        self.send(head, &order, pipes);
    }

    /// Asks a process that answers.
    pub fn question(
        &mut self,
        process: ProcId,
        number: u64,
        sought: IntrospectKind,
        code: String,
        cursor: u32,
    ) {
        self.wake(process);
        self.send(process, &Order::Question { number, sought, code, cursor }, Vec::new());
    }

    /// Answers a head that asked.
    pub fn answer(&mut self, head: ProcId, number: u32, text: String) {
        self.send(head, &Order::Answer { number, text }, Vec::new());
    }

    /// Sends SIGINT to a head and the processes that its cell started.
    pub fn interrupt(&mut self, head: ProcId) {
        self.signal(head, Signal::SIGINT);
    }

    /// Stops a head, and ends what its last cell has started. Answers how many processes that were.
    pub fn stop(&mut self, head: ProcId) -> usize {
        // First, so that it starts no others.
        self.signal(head, Signal::SIGSTOP);
        self.end_started(head)
    }

    /// Lets it go on.
    pub fn go_on(&mut self, head: ProcId) {
        self.signal(head, Signal::SIGCONT);
    }

    /// Ends what the last cell of a head has started, in whatever session, but not the head. Answers how many processes.
    pub fn end_started(&self, head: ProcId) -> usize {
        self.search(head).map_or(0, |search| search.end_all_but_heads())
    }

    /// Ends a process, and the processes that its cells started, at once. What a throw-away fork has started ends with it,
    /// whatever group it is in.
    pub fn kill(&mut self, process: ProcId) {
        let known = self.processes.get(&process).filter(|p| p.role.is_thrown_away());
        if let Some(pid) = known.and_then(|p| p.pid) {
            strays::end_below(pid.as_raw());
        }
        self.signal(process, Signal::SIGKILL);
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            tokio::time::sleep(KILL_TIMEOUT).await;
            // The session has gone: then there is nobody to tell.
            let _ = inbox.send((process, Heard::KilledLongAgo)).await;
        });
    }

    /// Stops what the last cell of a head has started, and the head itself, and ends all of it: for a run that failed or was
    /// told to stop. What earlier cells have started lives on.
    pub fn end_run(&mut self, head: ProcId) {
        if let Some(search) = self.search(head) {
            search.end();
        }
    }

    fn search(&self, head: ProcId) -> Option<Search<'_>> {
        let process = self.processes.get(&head)?;
        let files = self.head_files.get(&head).into_iter().collect();
        Some(Search { heads: vec![process.pid?.as_raw()], files, known: self.pids(), since: process.began })
    }

    /// Ends all heads, with all that cells of this notebook have ever started, but for daemons.
    pub fn end_cells(&mut self) {
        let heads = self.processes.values().filter(|p| p.role == Role::Head);
        let heads = heads.filter_map(|p| p.pid).map(Pid::as_raw).collect();
        let files = self.head_files.values().collect();
        Search { heads, files, known: self.pids(), since: 0 }.end();
    }

    fn note_files(&mut self, head: ProcId, files: HeadFiles) {
        self.head_files.insert(head, files);
        if self.head_files.len() > MAX_HEAD_FILES {
            self.head_files.pop_first();
        }
    }

    /// Ends all processes.
    pub fn kill_all(&mut self) {
        let all: Vec<ProcId> = self.processes.keys().copied().collect();
        for process in all {
            self.kill(process);
        }
    }

    /// A process' id, when it is known.
    pub fn pid(&self, process: ProcId) -> Option<i32> {
        self.processes.get(&process)?.pid.map(Pid::as_raw)
    }

    /// The process ids of all that are known.
    pub fn pids(&self) -> HashSet<i32> {
        self.processes.values().filter_map(|p| p.pid).map(Pid::as_raw).collect()
    }

    /// Looks at a process that should be there and has not said so.
    pub fn examine(&self, process: ProcId) -> Hung {
        let known = self.processes.get(&process);
        let parent = known.and_then(|known| self.processes.get(&known.parent?));
        let pid = known.and_then(|known| known.pid);
        let seen = pid.or_else(|| parent?.pid);
        Hung {
            is_there: pid.is_some(),
            parent_made_one: parent.and_then(|parent| parent.made).map(|made| made.elapsed()),
            doing: seen.map_or("nothing is known of it", hung::doing),
            libraries: seen.map(hung::libraries).unwrap_or_default(),
        }
    }

    /// Looks at a process that runs a cell; none when it is gone.
    pub fn observe(&self, process: ProcId) -> Option<Seen> {
        let pid = self.processes.get(&process)?.pid?;
        // utime and stime.
        let ticks = |number| stat_field(pid.as_raw(), number)?.parse::<u64>().ok();
        Some(Seen {
            cpu_ticks: ticks(11)? + ticks(12)?,
            has_threads: stat_field(pid.as_raw(), 17).is_some_and(|count| count != "1"),
            waits_for_lock: hung::waits_for_lock(pid) && memory::children(pid.as_raw()).is_empty(),
            libraries: hung::libraries(pid),
        })
    }

    /// Whether no process is left.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Takes note of what was heard; answers what the session is to know.
    pub fn note(&mut self, process: ProcId, heard: Heard) -> Option<ProcessEvent> {
        match heard {
            Heard::Report(Report::Forked { child, pid }) => {
                if let Some(parent) = self.processes.get_mut(&process) {
                    parent.made = Some(Instant::now());
                }
                match self.processes.get(&child) {
                    Some(known) if known.parent == Some(process) => self.set_pid(child, pid),
                    Some(_) => {}
                    None => self.end_late_child(process, pid),
                }
                None
            }
            Heard::Report(ready @ Report::Ready { pid, .. }) => {
                self.set_pid(process, pid);
                self.processes.contains_key(&process).then_some(ProcessEvent::Report(process, ready))
            }
            Heard::Report(Report::Reaped { pid, exit }) => {
                let pid = Pid::from_raw(pid);
                let dead = *self.processes.iter().find(|(_, p)| p.is_closed && p.pid == Some(pid))?.0;
                self.note(dead, Heard::Status(exit))
            }
            Heard::Report(report) => {
                self.processes.contains_key(&process).then_some(ProcessEvent::Report(process, report))
            }
            Heard::Closed => {
                self.on_exit(process);
                None
            }
            Heard::KilledLongAgo => {
                // Its socket is held open by something that it has left behind. Ours is closed, so its end is heard.
                if let Some(known) = self.processes.get_mut(&process) {
                    known.orders = None;
                }
                None
            }
            Heard::Status(exit) => {
                self.pipes.remove(&process);
                let known = self.processes.remove(&process)?;
                // Processes that its cells started are in its group; they end with it.
                if let Some(pid) = known.pid {
                    let _ = killpg(pid, Signal::SIGKILL);
                }
                self.give_up_unborn_children(process);
                let is_killed = exit == Some(Exit::Signal(libc::SIGKILL));
                let exit = if known.was_unreachable && is_killed { Some(Exit::Unreachable) } else { exit };
                Some(ProcessEvent::Gone(process, exit))
            }
        }
    }

    /// Whoever was to fork these is gone: what it has not told of will not be told.
    fn give_up_unborn_children(&self, parent: ProcId) {
        let unborn = self.processes.iter().filter(|(_, p)| p.parent == Some(parent) && p.pid.is_none());
        for (child, _) in unborn {
            let (child, inbox) = (*child, self.inbox.clone());
            // Behind the news that the parent is gone. The session may have gone: then there is nobody to tell.
            tokio::spawn(async move { drop(inbox.send((child, Heard::Status(None))).await) });
        }
    }

    /// A child was made that was given up before: it is ended, and waited for by its parent.
    fn end_late_child(&mut self, parent: ProcId, pid: i32) {
        let parent_pid = self.processes.get(&parent).and_then(|p| p.pid);
        // What user code may have forged is not believed: only a child of the reporter is ended.
        if pid > 1 && parent_pid.is_some() && parent_of(pid) == parent_pid {
            let pid = Pid::from_raw(pid);
            let _ = killpg(pid, Signal::SIGKILL);
            let _ = kill(pid, Signal::SIGKILL);
            self.send(parent, &Order::Reap { pid: pid.as_raw() }, Vec::new());
        }
    }

    /// A process' socket has closed. If it still lives it has lost its way: it is ended. Then its parent waits for it, or the
    /// server does when the parent is gone. A process may die before its parent has said which pid it has: then this is
    /// done again when it is known.
    fn on_exit(&mut self, dead: ProcId) {
        let was_unreachable = self.pid(dead).is_some_and(is_alive);
        self.signal(dead, Signal::SIGKILL);
        let Some(known) = self.processes.get_mut(&dead) else { return };
        known.is_closed = true;
        known.was_unreachable |= was_unreachable;
        let (pid, parent) = (known.pid, known.parent);
        let inbox = self.inbox.clone();
        let ended = reaper::wait_for(pid);
        if let (Some(pid), Some(parent)) = (pid, parent) {
            self.send(parent, &Order::Reap { pid: pid.as_raw() }, Vec::new());
        }
        tokio::spawn(async move {
            let patience = if pid.is_some() { STATUS_TIMEOUT } else { UNBORN_TIMEOUT };
            let exit = tokio::time::timeout(patience, ended).await.ok().flatten();
            // The session has gone: then there is nobody to tell.
            let _ = inbox.send((dead, Heard::Status(exit))).await;
        });
    }

    fn add(
        &mut self,
        id: ProcId,
        parent: Option<ProcId>,
        role: Role,
        socket: OwnedFd,
        head_io: Option<connection::HeadIo>,
    ) -> io::Result<()> {
        let orders = connection::spawn(id, socket, head_io, self.inbox.clone())?;
        let process = Process {
            parent,
            role,
            pid: None,
            orders: Some(orders),
            wished: None,
            made: None,
            began: 0,
            is_closed: false,
            was_unreachable: false,
        };
        self.processes.insert(id, process);
        Ok(())
    }

    fn set_pid(&mut self, id: ProcId, pid: i32) {
        let Some(process) = self.processes.get_mut(&id).filter(|p| p.pid.is_none() && pid > 1) else {
            return;
        };
        let pid = Pid::from_raw(pid);
        reaper::forget(pid);
        process.pid = Some(pid);
        if let Some(signal) = process.wished.take() {
            self.signal(id, signal);
        }
        if self.processes.get(&id).is_some_and(|p| p.is_closed) {
            // It died before its parent said that it was there.
            self.on_exit(id);
        }
    }

    /// Lets a process go on that somebody has stopped while it was at rest. One that is not stopped gets no signal: the user
    /// may have a handler for it.
    fn wake(&self, id: ProcId) {
        if let Some(pid) = self.processes.get(&id).and_then(|p| p.pid)
            && stat_field(pid.as_raw(), 0).as_deref() == Some("T")
        {
            let _ = kill(pid, Signal::SIGCONT);
        }
    }

    fn signal(&mut self, id: ProcId, signal: Signal) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        let Some(pid) = process.pid else {
            process.wished = Some(signal);
            if signal == Signal::SIGKILL {
                process.orders = None;
            }
            return;
        };
        // It may be too young to lead its group, or dead already: then one of the two says so.
        let _ = killpg(pid, signal);
        if signal == Signal::SIGKILL || process.role != Role::Head {
            let _ = kill(pid, signal);
        }
    }

    fn send(&self, to: ProcId, order: &Order, descriptors: Vec<OwnedFd>) {
        if let Some(orders) = self.processes.get(&to).and_then(|p| p.orders.as_ref()) {
            // A closed queue is a dead process: its end is reported by its own reader.
            let _ = orders.send(OutgoingFrame { bytes: frame(order), descriptors });
        }
    }
}

/// Whether a process runs and is not on its way out (`PF_EXITING`, include/linux/sched.h): that is so before its sockets close.
fn is_alive(pid: i32) -> bool {
    const EXITING: u32 = 0x4;
    let flags = stat_field(pid, 6).and_then(|flags| flags.parse::<u32>().ok());
    flags.is_some_and(|flags| flags & EXITING == 0)
}

/// The parent of a process.
fn parent_of(pid: i32) -> Option<Pid> {
    stat_field(pid, 1)?.parse().ok().map(Pid::from_raw)
}

/// A field of a process' `stat` behind its name (proc_pid_stat(5)): 0 is its state, 1 its parent.
fn stat_field(pid: i32, number: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(number).map(str::to_owned)
}

fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?)
}

/// What tells a head that there is nothing in its pipes. It sees only that, not what is in them.
fn watch(pipes: &[&OwnedFd]) -> io::Result<OwnedFd> {
    let watch = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    for pipe in pipes {
        watch.add(pipe, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
    }
    Ok(watch.0)
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    // A smaller pipe works too: an ordinary user's share of pipe memory is limited.
    let _ = nix::fcntl::fcntl(&write, nix::fcntl::FcntlArg::F_SETPIPE_SZ(PIPE_BYTES));
    Ok((read, write))
}
