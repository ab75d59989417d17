//! Starts Python, IPython and our own package in the root, the first process of a notebook.

use super::checkpoint::Checkpoints;
use super::descriptors::close_inherited;
use super::introspection::Introspector;
use super::process_exit::leave;
use super::python::{self, Shell};
use super::roles::{FrozenCopy, new_address_space};
use super::transfer::Transfer;
use super::{KernelProcess, control, huge_pages, lifeline, package, priority, sigint};
use crate::kernel::protocol::{Order, Report, Role};
use pyo3::{PyErr, Python};
use std::cell::Cell;
use std::collections::HashSet;
use std::convert::Infallible;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;

/// Runs a kernel process. Must be called before any thread exists.
pub fn child_main() -> ExitCode {
    match prepare() {
        Ok(Some((order, descriptors))) => run(order, descriptors),
        Ok(None) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn prepare() -> std::io::Result<Option<(Order, Vec<OwnedFd>)>> {
    control::adopt(control::take_from_stdin()?);
    close_inherited();
    sigint::ignore();
    // No core files: writing one after a crash takes long.
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
    priority::set(Role::Frozen);
    let Ok(first) = control::receive(|| Ok::<(), Infallible>(()));
    Ok(first)
}

fn run(order: Order, descriptors: Vec<OwnedFd>) -> ExitCode {
    let Order::SpawnRoot { python, support, cwd, nice } = order else { return ExitCode::FAILURE };
    priority::add_niceness(nice.into());
    let started = start(&python, support.as_deref(), &cwd, descriptors);
    Python::attach(|py| match started {
        Ok(process) => {
            let pid = std::process::id().cast_signed();
            control::report(&Report::Ready { pid, missing: Vec::new(), hazard: None });
            let mut step = 0;
            while !control::order_is_waiting() && process.introspector.prime(py, step) {
                step += 1;
            }
            process.obey(py)
        }
        Err(why) => {
            control::report(&Report::Failed { why });
            leave()
        }
    })
}

fn start(
    python: &Path,
    support: Option<&Path>,
    cwd: &Path,
    descriptors: Vec<OwnedFd>,
) -> Result<KernelProcess, String> {
    let pipe = descriptors.into_iter().next().ok_or("the server sent no lifeline")?;
    lifeline::tie(pipe).map_err(|e| format!("the process could not be tied to the server: {e}"))?;
    std::env::set_current_dir(cwd)
        .map_err(|e| format!("cannot change to the directory {}: {e}", cwd.display()))?;
    sigint::default();
    huge_pages::use_for_objects();
    python::start(python)?;
    sigint::ignore_but_keep();
    Python::attach(|py| {
        package::while_importable(py, || import_package(py, support))
            .map_err(|e| format!("Python started, but the kernel's own package did not load: {e}"))?
    })
}

fn import_package(py: Python<'_>, support: Option<&Path>) -> Result<KernelProcess, String> {
    let failed = |what: &'static str| move |e: PyErr| format!("Python started, but {what} did not: {e}");
    let process = KernelProcess {
        shell: Shell::boot(py, support).map_err(failed("IPython"))?,
        introspector: Introspector::boot(py).map_err(failed("introspection"))?,
        checkpoints: Checkpoints::boot(py).map_err(failed("checkpoints"))?,
        transfer: Transfer::boot(py).map_err(failed("the transfer of variables"))?,
        address_space: new_address_space(),
        role: Role::Frozen,
        frozen_copy: FrozenCopy::Exists,
        open_files: Vec::new(),
        forked: HashSet::new(),
        has_reported_sharing: true,
        is_fork_unfinished: Cell::new(false),
        may_lack_names: false,
    };
    process.shell.settle(py).map_err(failed("IPython"))?;
    Ok(process)
}
