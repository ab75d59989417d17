//! Makes processes: starts the root, orders forks, and creates each child's socket and pipes.

use super::connection::{self, HeadIo};
use super::strays::{HeadFiles, Moment};
use super::{HeadRecord, ProcessHandle, Tree, reaper};
use crate::kernel::protocol::{Load, Order, ProcId, Role, Wanted};
use crate::kernel::text_pipe::{ReadCounts, SharedCounts, TextReader, pipe, set_nonblocking};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};

/// Descriptors that forks leave free for connections and files.
const RESERVED_DESCRIPTORS: u64 = 128;
/// Maximum number of heads that are remembered. An ended head matters only while a process that one
/// of its cells detached still runs.
const MAX_HEADS: usize = 4096;

impl Tree {
    /// Starts the root: this program again, as `ratoon kernel`, with its socket as standard input.
    ///
    /// # Errors
    /// An error of the operating system.
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
        let order = Order::SpawnRoot {
            python: self.launch.python.clone(),
            support: self.launch.support.clone(),
            cwd: self.launch.cwd.clone(),
            nice: self.launch.nice,
        };
        self.send(root, &order, vec![lifeline]);
        Ok(())
    }

    /// Makes `from` fork a child. Orders to the child can be sent immediately; they wait in its
    /// socket.
    ///
    /// # Errors
    /// An error of the operating system, or too few descriptors are left.
    pub fn fork(&mut self, from: ProcId, child: ProcId, role: Role, load: Option<Load>) -> io::Result<()> {
        self.wake(from);
        let (ours, theirs) = socket_pair()?;
        self.check_descriptors(&ours)?;
        let mut descriptors = vec![theirs];
        let mut head_io = None;
        if role == Role::Head {
            let (io, ends) = self.make_head_io(child)?;
            head_io = Some(io);
            descriptors.extend(ends);
        }
        self.add(child, Some(from), role, ours, head_io)?;
        let blobs = (load.is_some() || matches!(role, Role::Save(_))).then(|| self.blobs.clone());
        self.send(from, &Order::Fork { child, role, load, blobs, wanted: None }, descriptors);
        Ok(())
    }

    /// Makes `from` fork a child that sends variables through a pipe. A later `run` gives the pipe
    /// to a head.
    ///
    /// # Errors
    /// An error of the operating system, or too few descriptors are left.
    pub fn send_variables(&mut self, from: ProcId, child: ProcId, wanted: Wanted) -> io::Result<()> {
        self.wake(from);
        let (ours, theirs) = socket_pair()?;
        let (read, write) = pipe()?;
        self.check_descriptors(&write)?;
        self.add(child, Some(from), Role::Send, ours, None)?;
        self.pipes.insert(child, read);
        let (role, wanted) = (Role::Send, Some(wanted));
        self.send(from, &Order::Fork { child, role, load: None, blobs: None, wanted }, vec![theirs, write]);
        Ok(())
    }

    /// Makes a head's text pipe and the pipes of descriptors 1 and 2. Returns the server's ends,
    /// and the head's descriptors in the order that `Role::Head` names.
    fn make_head_io(&mut self, head: ProcId) -> io::Result<(HeadIo, [OwnedFd; 6])> {
        let (text, text_end) = pipe()?;
        set_nonblocking(&text_end)?;
        let (out, out_end) = pipe()?;
        let (err, err_end) = pipe()?;
        let shared = SharedCounts::new([&out, &err])?;
        let files = HeadFiles::of([&text, &out, &err])?;
        self.heads.insert(head, HeadRecord { files, run_started: Moment::default() });
        if self.heads.len() > MAX_HEADS {
            self.heads.pop_first();
        }
        let io = HeadIo::new(TextReader::new(text)?, ReadCounts::new(&shared)?, out, err)?;
        Ok((io, [out_end, err_end, text_end, shared.counts, shared.changed, shared.watch]))
    }

    /// Fails if few descriptors are left for connections and files. The system gives out the lowest
    /// free number, so a high number means that few are left.
    fn check_descriptors(&self, newest: &OwnedFd) -> io::Result<()> {
        let left = self.max_descriptors.saturating_sub(newest.as_raw_fd().unsigned_abs().into());
        if left > RESERVED_DESCRIPTORS.min(self.max_descriptors / 4) {
            return Ok(());
        }
        let limit = self.max_descriptors;
        let why = format!("too few of the server's {limit} descriptors (ulimit -n) are left");
        Err(io::Error::other(why))
    }

    fn add(
        &mut self,
        id: ProcId,
        parent: Option<ProcId>,
        role: Role,
        socket: OwnedFd,
        head_io: Option<HeadIo>,
    ) -> io::Result<()> {
        let orders = connection::spawn(id, socket, head_io, self.inbox.clone())?;
        let process = ProcessHandle {
            parent,
            role,
            pid: None,
            orders: Some(orders),
            pending_signal: None,
            last_fork: None,
            is_closed: false,
            was_unreachable: false,
        };
        self.processes.insert(id, process);
        Ok(())
    }
}

fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?)
}
