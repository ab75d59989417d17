//! Forks a child and gives it its role: a frozen process, a head, or a throw-away process that does
//! one task and exits.

use super::descriptors::raise;
use super::fork::{self, BeforeHooks, Side};
use super::kernel_process::{ChildSpec, FrozenCopy, KernelProcess};
use super::process_exit::leave;
use super::{capture, children, control, files, freezable, load_limits, priority, report, threads};
use crate::kernel::ProcId;
use crate::kernel::protocol::{Load, Report, Role};
use crate::kernel::text_pipe::SharedCounts;
use crate::notebook::Missing;
use nix::errno::Errno;
use pyo3::Python;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

impl KernelProcess {
    pub(super) fn fork(&mut self, py: Python<'_>, child: ProcId, spec: ChildSpec, descriptors: Vec<OwnedFd>) {
        if descriptors.len() < descriptors_of(spec.role) {
            return report_fork_failed(child, Errno::EMFILE);
        }
        if spec.role == Role::Frozen {
            self.open_files = files::note();
        }
        let (started, start) = match nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC) {
            Ok(ends) => ends,
            Err(errno) => return report_fork_failed(child, errno),
        };
        let shell = &self.shell;
        let hooks = match self.role {
            Role::Frozen if self.is_fork_unfinished.get() => BeforeHooks::Done,
            Role::Frozen => BeforeHooks::InChild,
            _ => BeforeHooks::InParent,
        };
        match fork::fork(py, hooks, || shell.before_fork(py)) {
            Ok(Side::Parent(pid)) => {
                drop(start);
                self.note_child(py, child, pid, (spec.role == Role::Frozen).then_some(started));
            }
            Ok(Side::Child) => {
                // Fails if no descriptor is left. Then `become_role` fails too, which is reported.
                let _ = capture::begin_fork();
                self.is_fork_unfinished.set(true);
                // A frozen process leaves the hooks to its forks: they write to hundreds of pages,
                // which it would hold as long as it lives.
                if spec.role != Role::Frozen || spec.load.is_some() {
                    self.finish_fork(py);
                }
                if let Err(error) = self.become_role(py, spec, descriptors) {
                    report_failed_start(child, &error);
                    leave();
                }
                // Fails when the parent does not wait for it.
                let _ = nix::unistd::write(&start, &[1]);
            }
            Err(errno) => report_fork_failed(child, errno),
        }
    }

    /// Runs the after-fork hooks unless they have run. Afterwards this process may run Python.
    pub(super) fn finish_fork(&self, py: Python<'_>) {
        if self.is_fork_unfinished.take() {
            fork::finish(py);
            self.shell.after_fork_in_child(py);
        }
    }

    /// Runs in the parent. `started`: the pipe on which a frozen process signals that it is ready.
    fn note_child(&mut self, py: Python<'_>, child: ProcId, pid: i32, started: Option<OwnedFd>) {
        // The child does this too. Until one of them has, the child gets this group's signals.
        let group = nix::unistd::Pid::from_raw(pid);
        let _ = nix::unistd::setpgid(group, group);
        if let Some(started) = started {
            self.frozen_copy = FrozenCopy::Starting(started);
            if !files::lose_their_lock(&self.open_files).is_empty() {
                // Until it exists, it may hold the locks that the next cell wants to end.
                self.frozen_copy.exists();
            }
        }
        self.forked.insert(pid);
        report::send(&Report::Forked { child, pid });
        if self.role == Role::Head && !control::order_is_waiting() {
            self.shell.rehearse(py);
        }
    }

    /// Sets up a child, which is already tied to the server. Adopts its own socket first, which
    /// closes the parent's, then its other descriptors. Reports ready last.
    fn become_role(&mut self, py: Python<'_>, spec: ChildSpec, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        let ChildSpec { role, load, blobs, wanted } = spec;
        let blobs = blobs.as_deref().unwrap_or(Path::new(""));
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next().ok_or(io::ErrorKind::InvalidInput);
        control::adopt(raise(next()?)?);
        self.role = role;
        priority::set(role);
        self.has_reported_sharing = role != Role::Frozen;
        self.frozen_copy = FrozenCopy::Exists;
        self.forked.clear();
        let is_loaded = load.is_some();
        let missing = match load {
            Some(load) => {
                self.address_space = new_address_space();
                let missing = self.load(py, &load, blobs)?;
                self.may_lack_names = !missing.is_empty();
                missing
            }
            None if role == Role::Frozen && self.may_lack_names => {
                self.finish_fork(py);
                self.checkpoints.lacking(py)
            }
            None => Vec::new(),
        };
        // Loading may have started threads: some libraries start them with their first array.
        let hazard = if is_loaded { threads::warning(|| self.shell.native_ids(py)) } else { None };
        match role {
            Role::Frozen => {
                capture::disconnect()?;
                files::leave_locks(&self.open_files);
            }
            Role::Head => {
                let pipes = [next()?, next()?];
                let text = next()?;
                let counts = SharedCounts { counts: next()?, changed: next()?, watch: next()? };
                capture::connect(pipes, text, counts)?;
                files::reopen(&self.open_files);
            }
            _ => {
                capture::disconnect()?;
                // This process may read from files, but must not move the state's offsets.
                files::reopen(&self.open_files);
                children::adopt_orphans();
            }
        }
        let pid = std::process::id().cast_signed();
        let ready = Report::Ready { pid, missing, hazard };
        match role {
            Role::Frozen | Role::Head | Role::Answer => {
                report::send(&ready);
                return Ok(());
            }
            Role::ListVariables => {
                load_limits::limit_listing();
                report::send(&Report::Variables(self.introspector.list_variables(py)));
            }
            Role::Fingerprint => report::send(&Report::Fingerprinted {
                fingerprints: self.introspector.fingerprints(py),
                address_space: self.address_space,
            }),
            Role::Digest => report::send(&Report::Digested(self.introspector.digests(py))),
            Role::Send => {
                report::send(&ready);
                if let Some(wanted) = wanted {
                    self.transfer.send(py, raise(next()?)?, &wanted);
                }
            }
            Role::Save(form) => report::send(&self.checkpoints.save(py, form, blobs)),
        }
        leave();
    }

    /// Loads a checkpoint. Discards the output of its objects meanwhile.
    fn load(&self, py: Python<'_>, load: &Load, blobs: &Path) -> io::Result<Vec<Missing>> {
        capture::disconnect()?;
        match self.checkpoints.load(py, load, blobs) {
            Ok(missing) => Ok(missing),
            Err(why) => {
                report::send(&Report::LoadFailed { why });
                leave()
            }
        }
    }
}

/// How many descriptors the order for a child carries: its socket, and those that `Role` lists.
fn descriptors_of(role: Role) -> usize {
    match role {
        Role::Head => 7,
        Role::Send => 2,
        _ => 1,
    }
}

fn report_fork_failed(child: ProcId, errno: Errno) {
    let limits = freezable::limits_behind(errno);
    let why = format!("the system could not create another process ({errno}){limits}");
    report::send(&Report::ForkFailed { child, why });
}

fn report_failed_start(child: ProcId, error: &io::Error) {
    let limits = freezable::limits_behind(Errno::from_raw(error.raw_os_error().unwrap_or_default()));
    let why = format!("the forked process could not be set up ({error}){limits}");
    report::send(&Report::ForkFailed { child, why });
}

/// Returns a number for this process and all processes forked from it: an object has the same
/// address in all of them. The pid and the time make the number unique.
pub(super) fn new_address_space() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::from(std::process::id()) << 40 ^ u64::from(now.subsec_nanos()) ^ now.as_secs() << 20
}
