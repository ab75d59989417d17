//! A kernel process: it holds one state and obeys the server's orders. This is the extension
//! module that the user's Python loads (`python/boot.py`).
//!
//! It has one thread and no tokio. The root starts the shell and waits; every other process is a
//! fork of it. When its socket closes it calls `_exit`, so that no branch runs atexit functions or
//! deletes temporary directories that other branches use.
//!
//! - `root`: the first process; `fork`: the only fork; `roles`: what a fork becomes; `process_exit`
//! - `run_cell`: one cell; `capture`: its outputs; `sigint`: when an interrupt may arrive
//! - `package`: our Python package, `bytecode`: its compiled code; `python`, `introspection`,
//!   `symbols`, `transfer`, `checkpoint`: calls into the package; `contents`: whether containers
//!   have changed
//! - `freezable`: whether a state can be kept; `threads`, `children`: what branches would lack;
//!   `shared`: what they share; `shared_number`: by which they agree; `files`: reopens the state's
//!   files in each branch
//! - `huge_pages`: the memory of Python's objects, which each fork shares
//! - `lifeline`: exit with the server; `priority`: OOM score and niceness; `load_limits`: rlimits
//! - `control`, `descriptors`: its socket and its other descriptors

mod capture;
mod checkpoint;
mod bytecode;
mod children;
mod contents;
mod control;
mod descriptors;
mod files;
mod fork;
mod freezable;
mod huge_pages;
mod introspection;
mod lifeline;
mod load_limits;
mod package;
mod pickle_watch;
mod priority;
mod process_exit;
mod python;
mod robust_locks;
mod roles;
mod root;
mod run_cell;
mod shared;
mod shared_number;
mod sigint;
mod symbols;
mod threads;
mod transfer;

use super::protocol::{Order, Report, Role};
use checkpoint::Checkpoints;
use introspection::Introspector;
use process_exit::leave;
use pyo3::Python;
use python::Shell;
use roles::{ChildSpec, FrozenCopy};
use std::cell::Cell;
use std::collections::HashSet;
use std::convert::Infallible;
use std::os::fd::OwnedFd;
use transfer::Transfer;

/// How long a frozen process waits for an order, in milliseconds, before it searches for what its
/// branches share. The search takes a millisecond, which would delay orders right after its cell.
const IDLE_BEFORE_SEARCH: u8 = 50;

struct KernelProcess {
    shell: Shell,
    introspector: Introspector,
    checkpoints: Checkpoints,
    transfer: Transfer,
    /// Sent with `Report::Fingerprinted`.
    address_space: u64,
    role: Role,
    /// Whether a frozen process holds this head's state. If none does, running a cell would lose
    /// the state.
    frozen_copy: FrozenCopy,
    /// The state's open files and their offsets.
    open_files: Vec<files::OpenFile>,
    /// The children that `fork` made; user code started all others.
    forked: HashSet<i32>,
    /// Whether this frozen process has reported what its branches share.
    has_reported_sharing: bool,
    /// Whether CPython's after-fork hooks have not run yet. Until then no Python code may run.
    is_fork_unfinished: Cell<bool>,
    /// Whether a checkpoint loaded here or in an ancestor has left names out.
    may_lack_names: bool,
}

impl KernelProcess {
    fn obey(mut self, py: Python<'_>) -> ! {
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
                if capture::is_users_child() {
                    leave();
                }
                control::report(&Report::Found { number, found });
            }
            Order::Widget { number, message } if self.role == Role::Head => {
                let end = self.handle_widget(py, &message);
                control::report(&Report::WidgetHandled { number, end });
            }
            Order::Reap { pid } => {
                self.forked.remove(&pid);
                children::reap(pid);
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
            control::report(&Report::Shared(warnings));
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
