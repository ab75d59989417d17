//! The child end: one process, standing at a state. `ratoon kernel` begins here.
//!
//! One thread, no tokio. The root starts Python and waits; every other process is a fork of it. A
//! process waits for orders on its socket; when the socket closes it leaves by `_exit`, so that
//! nothing of the user's (atexit, temporary directories) is torn down by one of many branches.

mod introspection;
mod load_limits;
mod capture;
mod checkpoint;
mod children;
mod control;
mod files;
mod fork;
mod interrupt;
mod lifeline;
mod package;
mod python;
mod priority;
mod freezable;
mod shared;
mod sharing;
mod symbols;
mod threads;
mod transfer;

use super::memory::MemoryUse;
use super::protocol::{How, Load, Order, Remains, Report, Role, Wanted};
use super::text_pipe::SharedCounts;
use crate::notebook::{Missing, RunError, StreamName};
use checkpoint::Checkpoints;
use fork::Side;
use introspection::Introspector;
use pyo3::Python;
use python::{Ran, Shell};
use sharing::Sharing;
use std::collections::HashSet;
use std::convert::Infallible;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use transfer::Transfer;

/// Our descriptors have numbers from here on, so that user code that counts on 3, 4, 5 or closes
/// them meets none.
const FIRST_OWN_DESCRIPTOR: i32 = 200;

/// What a fork needs: an order brings up to four, the child opens some more for a moment.
const SPARE_DESCRIPTORS: usize = 16;
/// How long a frozen process waits for an order, in milliseconds, before it looks for what its
/// branches share. That takes a millisecond, which those who are still busy with its cell are not
/// to miss.
const REST_BEFORE_TELLING: u8 = 50;
/// How long a process that has lost its socket waits for the server to end it, in milliseconds.
const BEFORE_THE_END: u16 = 5000;

/// The life of a kernel process. Must be called before any thread exists.
pub fn child_main() -> ExitCode {
    match prepare() {
        Ok(Some((order, descriptors))) => live(order, descriptors),
        Ok(None) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn prepare() -> std::io::Result<Option<(Order, Vec<OwnedFd>)>> {
    control::adopt(control::take_from_stdin()?);
    close_what_was_inherited();
    interrupt::ignore();
    // A comfort: without it crashes are slow to write out.
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
    priority::take(Role::Frozen);
    let Ok(first) = control::receive(|| Ok::<(), Infallible>(()));
    Ok(first)
}

/// Closes what the server was started with, or by: a shell's or a supervisor's pipes are nothing of
/// the cells'.
fn close_what_was_inherited() {
    let own = control::number();
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<i32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2 && Some(*number) != own) {
        // SAFETY: this process has just begun and owns nothing but its socket; the list's own
        // descriptor is closed already, which only answers EBADF.
        #[allow(unsafe_code)]
        unsafe {
            libc::close(number);
        }
    }
}

fn live(order: Order, descriptors: Vec<OwnedFd>) -> ExitCode {
    let Order::SpawnRoot { python, support, cwd, nice } = order else { return ExitCode::FAILURE };
    priority::stand_back(nice.into());
    let started = spawn_root(&python, support.as_deref(), &cwd, descriptors);
    Python::attach(|py| match started {
        Ok(Parts { shell, introspection, checkpoints, sharing, transfer }) => {
            let pid = std::process::id().cast_signed();
            control::report(&Report::Ready { pid, missing: Vec::new(), hazard: None });
            let mut step = 0;
            while !control::order_is_waiting() && introspection.prime(py, step) {
                step += 1;
            }
            Process {
                shell,
                introspection,
                checkpoints,
                sharing,
                transfer,
                address_space: new_address_space(),
                role: Role::Frozen,
                kept: FrozenCopy::Yes,
                places: Vec::new(),
                forked: HashSet::new(),
                has_told: true,
            }
            .obey(py)
        }
        Err(why) => {
            control::report(&Report::Failed { why });
            leave()
        }
    })
}

/// Our Python, loaded in the root. Held, not looked for in `sys.modules`: that is the user's.
struct Parts {
    shell: Shell,
    introspection: Introspector,
    checkpoints: Checkpoints,
    sharing: Sharing,
    transfer: Transfer,
}

fn spawn_root(
    python: &Path,
    support: Option<&Path>,
    cwd: &Path,
    descriptors: Vec<OwnedFd>,
) -> Result<Parts, String> {
    let pipe = descriptors.into_iter().next().ok_or("the server sent no lifeline")?;
    lifeline::tie(pipe).map_err(|e| format!("the process could not be tied to the server: {e}"))?;
    std::env::set_current_dir(cwd).map_err(|e| format!("cannot work in {}: {e}", cwd.display()))?;
    interrupt::default();
    python::start(python)?;
    interrupt::ignore_but_keep();
    Python::attach(|py| {
        package::while_importable(py, || boot_parts(py, support))
            .map_err(|e| format!("Python started, but the kernel's own package did not load: {e}"))?
    })
}

fn boot_parts(py: Python<'_>, support: Option<&Path>) -> Result<Parts, String> {
    let shell = Shell::boot(py, support).map_err(|e| format!("Python started, but IPython did not: {e}"))?;
    let introspection = Introspector::boot(py)
        .map_err(|e| format!("Python started, but what answers questions did not: {e}"))?;
    let checkpoints = Checkpoints::boot(py)
        .map_err(|e| format!("Python started, but what writes checkpoints did not: {e}"))?;
    let (sharing, transfer) = Sharing::boot(py)
        .and_then(|sharing| Ok((sharing, Transfer::boot(py)?)))
        .map_err(|e| format!("Python started, but what reads cells did not: {e}"))?;
    shell.settle(py).map_err(|e| format!("Python started, but IPython did not: {e}"))?;
    Ok(Parts { shell, introspection, checkpoints, sharing, transfer })
}

/// Ends this process at once, and what the user's code has started in its group: when the server
/// dies, this process may see the end of its socket before its lifeline has had its effect, and
/// takes the lifeline along.
///
/// What a throw-away fork has started goes with it, whatever group it is in.
fn leave() -> ! {
    children::end_adopted();
    let me = nix::unistd::getpid();
    if nix::unistd::getpgrp() == me {
        let _ = nix::sys::signal::killpg(me, nix::sys::signal::Signal::SIGKILL);
    }
    // SAFETY: _exit never returns and runs nothing.
    #[allow(unsafe_code)]
    unsafe {
        libc::_exit(0)
    }
}

/// Waits to be ended by the server, which has heard this process' socket close, and tells that so;
/// leaves if it does not.
fn wait_for_the_end() -> ! {
    let _ = nix::poll::poll(&mut [], BEFORE_THE_END);
    leave()
}

struct Process {
    shell: Shell,
    introspection: Introspector,
    checkpoints: Checkpoints,
    sharing: Sharing,
    transfer: Transfer,
    /// Told in `Report::Marked`.
    address_space: u64,
    role: Role,
    /// Whether the state that this head stands at is held by a frozen process: else running on
    /// would lose it.
    kept: FrozenCopy,
    /// Where the state's open files stood.
    places: Vec<files::OpenFile>,
    /// The processes that we forked from this one, as opposed to those that the user's code
    /// started.
    forked: HashSet<i32>,
    /// Whether this frozen process has said what its branches share. It has a moment for that when
    /// no order waits.
    has_told: bool,
}

impl Process {
    fn obey(mut self, py: Python<'_>) -> ! {
        loop {
            if !self.has_told && !control::order_comes_within(REST_BEFORE_TELLING.into()) {
                self.tell_what_is_shared(py);
            }
            let Some((order, descriptors)) = self.wait(py) else { leave() };
            match order {
                Order::Fork { child, role, load, blobs, wanted } => {
                    self.fork(py, child, Future { role, load, blobs, wanted }, descriptors);
                }
                Order::Run { code, allow_stdin, has_memory_limit, report_symbols, deliveries, .. }
                    if self.role == Role::Head =>
                {
                    self.transfer.deliver(py, &deliveries, descriptors);
                    self.run(py, &code, allow_stdin, has_memory_limit, report_symbols)
                }
                Order::Question { number, kind, code, cursor } if self.role == Role::Answer => {
                    let found = self.introspection.find(py, kind, &code, cursor);
                    if capture::is_users_child() {
                        leave();
                    }
                    control::report(&Report::Found { number, found });
                }
                Order::Reap { pid } => {
                    self.forked.remove(&pid);
                    reap(pid);
                }
                Order::Run { .. }
                | Order::Question { .. }
                | Order::Answer { .. }
                | Order::SpawnRoot { .. } => {}
            }
        }
    }

    fn tell_what_is_shared(&mut self, py: Python<'_>) {
        self.has_told = true;
        let warnings =
            shared::warnings(&self.places, || self.shell.own_sockets(py), || self.shell.own_locks(py));
        if !warnings.is_empty() {
            control::report(&Report::Shared(warnings));
        }
    }

    /// Waits for an order. A head's own threads go on meanwhile; a frozen process has none.
    fn wait(&self, py: Python<'_>) -> Option<(Order, Vec<OwnedFd>)> {
        let Ok(order) = match self.role {
            Role::Head => py.detach(|| {
                control::receive(|| {
                    // A handler of the user's may raise, but there is no cell that could take it.
                    Python::attach(|py| drop(py.check_signals()));
                    Ok::<(), Infallible>(())
                })
            }),
            _ => control::receive(|| Ok::<(), Infallible>(())),
        };
        order
    }

    fn fork(&mut self, py: Python<'_>, child: super::ProcId, future: Future, descriptors: Vec<OwnedFd>) {
        let role = future.role;
        let needed = match role {
            Role::Head => 7,
            Role::Send => 2,
            _ => 1,
        };
        if descriptors.len() < needed {
            return could_not_fork(child, nix::errno::Errno::EMFILE);
        }
        if role == Role::Frozen {
            self.places = files::note();
        }
        let sign = match nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC) {
            Ok(sign) => sign,
            Err(errno) => return could_not_fork(child, errno),
        };
        let shell = &self.shell;
        match fork::fork(py, self.role == Role::Frozen, || shell.before_fork(py)) {
            Ok(Side::Parent(pid)) => {
                // The child does so too. But what ends this process' group is not to end the child,
                // however young.
                let young = nix::unistd::Pid::from_raw(pid);
                let _ = nix::unistd::setpgid(young, young);
                if role == Role::Frozen {
                    self.kept = FrozenCopy::When(sign.0);
                }
                drop(sign.1);
                self.forked.insert(pid);
                control::report(&Report::Forked { child, pid });
                if self.role == Role::Head && !control::order_is_waiting() {
                    self.shell.rehearse(py);
                }
            }
            Ok(Side::Child(kept)) => {
                self.shell.after_fork_in_child(py, kept);
                if let Err(error) = self.become_role(py, future, descriptors) {
                    let errno = nix::errno::Errno::from_raw(error.raw_os_error().unwrap_or_default());
                    let limits = freezable::limits_behind(errno);
                    let why =
                        format!("the forked process could not become what it was to be ({error}){limits}");
                    control::report(&Report::ForkFailed { child, why });
                    leave();
                }
                // A parent that does not listen needs no sign.
                let _ = nix::unistd::write(&sign.1, &[1]);
            }
            Err(errno) => could_not_fork(child, errno),
        }
    }

    /// The first steps of a new process, which is tied to the server already. First its own
    /// socket, so that the parent's closes; then its descriptors; it is ready last.
    fn become_role(
        &mut self,
        py: Python<'_>,
        future: Future,
        descriptors: Vec<OwnedFd>,
    ) -> std::io::Result<()> {
        let Future { role, load, blobs, wanted } = future;
        let blobs = blobs.as_deref().unwrap_or(Path::new(""));
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next().ok_or(std::io::ErrorKind::InvalidInput);
        control::adopt(raise(next()?)?);
        self.role = role;
        priority::take(role);
        self.has_told = role != Role::Frozen;
        self.kept = FrozenCopy::Yes;
        self.forked.clear();
        let is_loaded = load.is_some();
        let missing = match load {
            Some(load) => {
                self.address_space = new_address_space();
                self.load(py, &load, blobs)?
            }
            None if role == Role::Frozen => self.checkpoints.lacking(py),
            None => Vec::new(),
        };
        // Loading may have started threads, as running the cell does: some runtimes start with
        // their first array.
        let hazard = if is_loaded { threads::warning(|| self.shell.native_ids(py)) } else { None };
        match role {
            Role::Frozen => capture::disconnect()?,
            Role::Head => {
                let pipes = [next()?, next()?];
                let text = next()?;
                let counts = SharedCounts { counts: next()?, changed: next()?, watch: next()? };
                capture::connect(pipes, text, counts)?;
                files::open_anew(&self.places);
            }
            Role::ListVariables
            | Role::Fingerprint
            | Role::Digest
            | Role::Send
            | Role::Answer
            | Role::Save(_) => {
                capture::disconnect()?;
                // What is asked may read from files: the state's own stay where they are.
                files::open_anew(&self.places);
                children::adopt_orphans();
            }
        }
        match role {
            Role::ListVariables => {
                load_limits::limit_look();
                control::report(&Report::Variables(self.introspection.list_variables(py)));
                leave();
            }
            Role::Fingerprint => {
                control::report(&Report::Fingerprinted {
                    fingerprints: self.introspection.fingerprints(py),
                    address_space: self.address_space,
                });
                leave();
            }
            Role::Digest => {
                control::report(&Report::Digested(self.sharing.digests(py)));
                leave();
            }
            Role::Send => {
                let pid = std::process::id().cast_signed();
                control::report(&Report::Ready { pid, missing, hazard });
                if let Some(wanted) = wanted {
                    self.transfer.send(py, raise(next()?)?, &wanted);
                }
                leave();
            }
            Role::Save(form) => {
                control::report(&self.checkpoints.save(py, form, blobs));
                leave();
            }
            Role::Frozen | Role::Head | Role::Answer => {}
        }
        let pid = std::process::id().cast_signed();
        control::report(&Report::Ready { pid, missing, hazard });
        Ok(())
    }

    /// Loads a checkpoint. What its objects print while they come to be is nobody's output.
    fn load(&self, py: Python<'_>, load: &Load, blobs: &Path) -> std::io::Result<Vec<Missing>> {
        capture::disconnect()?;
        match self.checkpoints.load(py, load, blobs) {
            Ok(missing) => Ok(missing),
            Err(why) => {
                control::report(&Report::LoadFailed { why });
                leave()
            }
        }
    }

    fn run(
        &mut self,
        py: Python<'_>,
        code: &str,
        allow_stdin: bool,
        has_memory_limit: bool,
        report_symbols: bool,
    ) {
        if !self.kept.is_true() {
            control::report(&Report::Ended {
                how: How::Refused,
                exec_count: 0,
                warnings: Vec::new(),
                forks: true,
                is_alone: false,
                remains: Remains::Nothing,
            });
            return;
        }
        if has_memory_limit && let Some(weight) = MemoryUse::of(std::process::id().cast_signed()) {
            control::report(&Report::MemoryUse(weight));
        }
        let spare = Spare::take();
        interrupt::allow();
        control::report(&Report::Started);
        let mut ran = self.shell.run(py, code, allow_stdin, report_symbols);
        drop(spare);
        interrupt::ignore_but_keep();
        if capture::is_users_child() {
            // The user's code forked and the child ran on to the end of the cell: it is no head.
            let _ = capture::flush(StreamName::Stdout).and_then(|()| capture::flush(StreamName::Stderr));
            leave();
        }
        // An interrupt that came after the cell's last instruction is not to stop the next.
        while let Err(late) = py.check_signals() {
            drop(late);
        }
        let mut mended = Vec::new();
        if ran.can_be_a_state() {
            match freezable::can_be_kept() {
                Ok(told) => mended = told,
                Err(why) => {
                    if matches!(ran.how, How::Ok) {
                        ran.how = How::Error(RunError::new("StateNotKept", &why));
                    }
                    ran.remains = Remains::Unfit(why);
                }
            }
        }
        let (mut warnings, mut forks, mut is_alone) = match ran.can_be_a_state() {
            true => self.shell.hazards(py),
            false => (Vec::new(), true, false),
        };
        warnings.extend(mended);
        if ran.can_be_a_state()
            && let Some(warning) = threads::warning(|| self.shell.native_ids(py))
        {
            warnings.push(warning);
            (forks, is_alone) = (false, true);
        }
        if ran.can_be_a_state()
            && let Some(warning) = children::warning(&self.forked)
        {
            warnings.push(warning);
            is_alone = true;
        }
        if let How::Error(RunError { ename, .. }) = &mut ran.how {
            ename.truncate(ename.floor_char_boundary(200));
        }
        self.kept = FrozenCopy::No;
        let Ran { how, exec_count, remains, symbols } = ran;
        if let Some(symbols) = symbols {
            control::report(&Report::Symbols(symbols));
        }
        control::report(&Report::Ended { how, exec_count, warnings, forks, is_alone, remains });
    }
}

/// A number that no other family of processes has: this process' id and the time.
fn new_address_space() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::from(std::process::id()) << 40 ^ u64::from(now.subsec_nanos()) ^ now.as_secs() << 20
}

/// What a new process is to become, and from what.
struct Future {
    role: Role,
    load: Option<Load>,
    blobs: Option<PathBuf>,
    wanted: Option<Wanted>,
}

/// Whether a head's state is held by a frozen process.
enum FrozenCopy {
    No,
    Yes,
    /// When the frozen process has written a byte here; the end of the pipe without it: it did not
    /// come to be.
    When(OwnedFd),
}

impl FrozenCopy {
    fn is_true(&mut self) -> bool {
        if let Self::When(sign) = self {
            let mut byte = [0];
            let came = loop {
                match nix::unistd::read(&*sign, &mut byte) {
                    Err(nix::errno::Errno::EINTR) => {}
                    other => break other == Ok(1),
                }
            };
            *self = if came { Self::Yes } else { Self::No };
        }
        matches!(self, Self::Yes)
    }
}

fn could_not_fork(child: super::ProcId, errno: nix::errno::Errno) {
    let why =
        format!("the system could not make another process ({errno}){}", freezable::limits_behind(errno));
    control::report(&Report::ForkFailed { child, why });
}

/// Copies a descriptor to a number out of the way of user code, or to any where a cell has set its
/// limit lower than that.
fn raise(low: impl AsFd) -> std::io::Result<OwnedFd> {
    use nix::fcntl::{FcntlArg, fcntl};
    use std::os::fd::FromRawFd;
    let low = low.as_fd();
    let number = fcntl(low, FcntlArg::F_DUPFD_CLOEXEC(FIRST_OWN_DESCRIPTOR))
        .or_else(|_| fcntl(low, FcntlArg::F_DUPFD_CLOEXEC(3)))?;
    // SAFETY: fcntl has just made it; nobody else owns it.
    #[allow(unsafe_code)]
    let high = unsafe { OwnedFd::from_raw_fd(number) };
    Ok(high)
}

/// Descriptors that the user's code cannot use up while they are held: without some to spare no
/// state could be frozen nor branched from. As many as there are, when there are few.
///
/// Numbers, not owned descriptors: user code may have closed them, which is no reason to abort.
struct Spare(Vec<RawFd>);

impl Spare {
    fn take() -> Self {
        let Ok(null) = std::fs::File::open("/dev/null") else { return Self(Vec::new()) };
        let all = (0..SPARE_DESCRIPTORS).map_while(|_| raise(&null).ok());
        Self(all.map(IntoRawFd::into_raw_fd).collect())
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        for number in &self.0 {
            let _ = nix::unistd::close(*number);
        }
    }
}

fn reap(pid: i32) {
    use super::Exit;
    use nix::sys::wait::{WaitStatus, waitpid};
    let exit = match waitpid(nix::unistd::Pid::from_raw(pid), None) {
        Ok(WaitStatus::Exited(_, code)) => Some(Exit::Code(code)),
        Ok(WaitStatus::Signaled(_, signal, _)) => Some(Exit::Signal(signal as i32)),
        _ => None,
    };
    control::report(&Report::Reaped { pid, exit });
}
