//! What a kernel process holds, and how it obeys orders. `roles`, `run_cell` and `root` have the
//! rest of its methods.

use super::checkpoint::Checkpoints;
use super::introspection::Introspector;
use super::process_exit::leave;
use super::python::Shell;
use super::transfer::Transfer;
use super::{channel, children, control, files, report, shared};
use crate::kernel::protocol::{Load, Order, Report, Role, Wanted};
use nix::errno::Errno;
use pyo3::Python;
use std::cell::Cell;
use std::collections::HashSet;
use std::convert::Infallible;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

/// How long a frozen process waits for an order, in milliseconds, before it searches for what its
/// branches share. The search takes a millisecond, which would delay orders right after its cell.
const IDLE_BEFORE_SEARCH: u8 = 50;

/// A kernel process.
pub(super) struct KernelProcess {
    pub(super) shell: Shell,
    pub(super) introspector: Introspector,
    pub(super) checkpoints: Checkpoints,
    pub(super) transfer: Transfer,
    /// Sent with `Report::Fingerprinted`.
    pub(super) address_space: u64,
    pub(super) role: Role,
    /// Whether a frozen process holds this head's state. If none does, running a cell would lose
    /// the state.
    pub(super) frozen_copy: FrozenCopy,
    /// The state's open files and their offsets.
    pub(super) open_files: Vec<files::OpenFile>,
    /// The children that `fork` made; user code started all others.
    pub(super) forked: HashSet<i32>,
    /// Whether this frozen process has reported what its branches share.
    pub(super) has_reported_sharing: bool,
    /// Whether CPython's after-fork hooks have not run yet. Until then no Python code may run.
    pub(super) is_fork_unfinished: Cell<bool>,
    /// Whether a checkpoint loaded here or in an ancestor has left names out.
    pub(super) may_lack_names: bool,
}

/// The fields of `Order::Fork` that describe the child.
pub(super) struct ChildSpec {
    pub(super) role: Role,
    pub(super) load: Option<Load>,
    pub(super) blobs: Option<PathBuf>,
    pub(super) wanted: Option<Wanted>,
}

/// Whether a frozen process holds a head's state.
pub(super) enum FrozenCopy {
    Missing,
    Exists,
    /// It exists once it has written a byte into this pipe. If the pipe ends without one, it failed
    /// to start.
    Starting(OwnedFd),
}

impl FrozenCopy {
    pub(super) fn exists(&mut self) -> bool {
        if let Self::Starting(pipe) = self {
            *self = if has_signalled(pipe) { Self::Exists } else { Self::Missing };
        }
        matches!(self, Self::Exists)
    }
}

fn has_signalled(pipe: impl AsFd) -> bool {
    let mut byte = [0];
    loop {
        match nix::unistd::read(&pipe, &mut byte) {
            Err(Errno::EINTR) => {}
            read => return read == Ok(1),
        }
    }
}

impl KernelProcess {
    /// Obeys orders until the server closes the socket.
    pub(super) fn obey(mut self, py: Python<'_>) -> ! {
        loop {
            if !self.has_reported_sharing && !control::order_comes_within(IDLE_BEFORE_SEARCH.into()) {
                self.report_sharing(py);
            }
            let Some((order, descriptors)) = self.wait(py) else { leave() };
            self.handle(py, order, descriptors);
        }
    }

    fn handle(&mut self, py: Python<'_>, order: Order, descriptors: Vec<OwnedFd>) {
        match order {
            Order::Fork { child, role, load, blobs, wanted } => {
                self.fork(py, child, ChildSpec { role, load, blobs, wanted }, descriptors);
            }
            Order::Run { cell, deliveries } if self.role == Role::Head => {
                self.transfer.deliver(py, &deliveries, descriptors);
                self.run(py, &cell);
            }
            Order::Question { number, question } if self.role == Role::Answer => {
                let found = self.introspector.find(py, question);
                if channel::is_users_child() {
                    leave();
                }
                report::send(&Report::Found { number, found });
            }
            Order::Widget { number, message } if self.role == Role::Head => {
                let end = self.handle_widget(py, &message);
                report::send(&Report::WidgetHandled { number, end });
            }
            Order::Reap { pid } => {
                self.forked.remove(&pid);
                report::send(&children::reap(pid));
            }
            // Ignores orders for other roles, and answers to interrupted questions.
            Order::Run { .. } | Order::Question { .. } | Order::Answer { .. } => {}
            Order::Widget { .. } | Order::SpawnRoot { .. } => {}
        }
    }

    fn report_sharing(&mut self, py: Python<'_>) {
        self.has_reported_sharing = true;
        let own_sockets = || {
            self.finish_fork(py);
            self.shell.own_sockets(py)
        };
        let own_locks = || {
            self.finish_fork(py);
            self.shell.own_locks(py)
        };
        let warnings = shared::warnings(&self.open_files, own_sockets, own_locks);
        if !warnings.is_empty() {
            report::send(&Report::Shared(warnings));
        }
    }

    /// Waits for an order. User threads of a head run meanwhile; a frozen process has none.
    fn wait(&self, py: Python<'_>) -> Option<(Order, Vec<OwnedFd>)> {
        let Ok(order) = match self.role {
            Role::Head => py.detach(|| {
                control::receive(|| {
                    // A user's signal handler may raise, but no cell runs that could catch it.
                    Python::attach(|py| drop(py.check_signals()));
                    Ok::<(), Infallible>(())
                })
            }),
            _ => control::receive(|| Ok::<(), Infallible>(())),
        };
        order
    }
}
