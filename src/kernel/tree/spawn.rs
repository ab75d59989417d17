//! Makes processes: starts the root, orders forks, and creates each child's socket and pipes.

use super::connection::{self, HeadIo};
use super::strays::{HeadFiles, Moment};
use super::{HeadRecord, ProcessHandle, Tree, reaper};
use crate::kernel::ReadyPython;
use crate::kernel::protocol::{Load, Order, ProcId, Role, VERSION, Wanted};
use crate::kernel::sandbox::{OwnTemporary, Restrictions};
use crate::kernel::text_pipe::{ReadCounts, SharedCounts, TextReader, pipe, set_nonblocking};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The Python text that makes the user's Python a kernel process.
const BOOT: &str = include_str!("../python/boot.py");
/// The seed of text hashes, the same in every root. Otherwise hashes that objects have stored would
/// be wrong after a restart, and sets would be in another order.
const HASH_SEED: &str = "1382118510";
/// Descriptors that forks leave free for connections and files.
const RESERVED_DESCRIPTORS: u64 = 128;
/// Maximum number of heads that are remembered. An ended head matters only while a process that one
/// of its cells detached still runs.
const MAX_HEADS: usize = 4096;

impl Tree {
    /// Starts this Python as the root, which inherits its socket. Standard error goes into a file
    /// in memory until the root is ready: it explains a failed start.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn spawn_root(&mut self, root: ProcId, python: &ReadyPython) -> io::Result<()> {
        let descriptors = vec![reaper::lifeline()?, io::stderr().as_fd().try_clone_to_owned()?];
        let (ours, theirs) = socket_pair()?;
        let messages = File::from(memfd_create(c"ratoon-start", MFdFlags::MFD_CLOEXEC)?);
        let launch = &self.launch;
        let cannot_start = |e: io::Error| {
            let (path, cwd) = (python.executable.display(), launch.cwd.display());
            io::Error::other(format!("cannot start {path} in the directory {cwd}: {e}"))
        };
        let users_seed = launch.hash_seed.as_deref().unwrap_or_default();
        let seed = if matches!(users_seed, "" | "random") { HASH_SEED } else { users_seed };
        let mut command = Command::new(&python.executable);
        // In a sandbox, a process cannot open files of the server by `/proc`.
        let inherited = launch.sandbox.as_ref().map(|_| File::open(&launch.extension)).transpose()?;
        let by_number = inherited.as_ref().map(|file| format!("/proc/self/fd/{}", file.as_raw_fd()).into());
        let extension: &PathBuf = by_number.as_ref().unwrap_or(&launch.extension);
        command
            .arg("-c")
            .arg(boot_text(extension, users_seed, &theirs)?)
            .env("PYTHONHASHSEED", seed)
            // It describes this server, not one that a cell starts.
            .env_remove("RATOON_INSTALLED_IN")
            .current_dir(&launch.cwd)
            // Ctrl-C at the server's terminal stops the server, which ends the kernel.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(messages.try_clone()?);
        inherit(&mut command, theirs);
        if let Some(file) = inherited {
            inherit(&mut command, file.into());
        }
        if let Some(sandbox) = &launch.sandbox {
            if sandbox.limits_writing() && self.temporary.is_none() {
                self.temporary = Some(OwnTemporary::make()?);
            }
            let temporary = self.temporary.as_ref().map(OwnTemporary::path);
            temporary.map(|path| command.env("TMPDIR", path));
            restrict(&mut command, sandbox.prepare(&self.blobs, temporary)?);
        }
        let child = command.spawn().map_err(cannot_start)?;
        let order = Order::SpawnRoot {
            version: VERSION.into(),
            support: python.support.clone(),
            bytecode: launch.bytecode.clone(),
            nice: launch.nice,
        };
        self.add(root, None, Role::Frozen, ours, None)?;
        if let Some(process) = self.processes.get_mut(&root) {
            process.start_messages = Some(messages);
        }
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        self.set_pid(root, pid);
        self.send(root, &order, descriptors);
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
            start_messages: None,
        };
        self.processes.insert(id, process);
        Ok(())
    }
}

/// The text that the root runs: `BOOT`, and a call of its `start`. A JSON string is also a string
/// of Python.
fn boot_text(extension: &Path, hash_seed: &str, socket: &OwnedFd) -> io::Result<String> {
    let text = |value: &str| serde_json::to_string(value).map_err(io::Error::other);
    let (path, seed) = (text(&extension.to_string_lossy())?, text(hash_seed)?);
    Ok(format!("{BOOT}\n\nstart({path}, {seed}, {})\n", socket.as_raw_fd()))
}

/// Lets only this program inherit the descriptor. The descriptor keeps its number.
fn inherit(command: &mut Command, descriptor: OwnedFd) {
    let keep_open = move || {
        fcntl(&descriptor, FcntlArg::F_SETFD(FdFlag::empty()))?;
        Ok(())
    };
    // SAFETY: in the child, between fork and exec, it makes one system call and allocates nothing.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(keep_open);
    }
}

/// Restricts this program. Must be the last thing that is done before exec.
fn restrict(command: &mut Command, mut restrictions: Restrictions) {
    // SAFETY: in the child, between fork and exec, it makes system calls and allocates nothing
    // unless one fails.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(move || restrictions.set());
    }
}

fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?)
}
