//! Starts IPython and our own package in the root, the first process of a notebook.

use super::checkpoint::Checkpoints;
use super::introspection::Introspector;
use super::kernel_process::{FrozenCopy, KernelProcess};
use super::process_exit::leave;
use super::python::Shell;
use super::roles::new_address_space;
use super::transfer::Transfer;
use super::{control, huge_pages, lifeline, package, priority, report, shared_number, sigint};
use crate::kernel::protocol::{Order, Report, Role, VERSION};
use pyo3::exceptions::PyModuleNotFoundError;
use pyo3::prelude::*;
use std::cell::Cell;
use std::collections::HashSet;
use std::convert::Infallible;
use std::os::fd::{OwnedFd, RawFd};
use std::path::Path;

/// The extension module that `boot.py` loads: what Python can call in Rust.
#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use super::super::contents::Contents;
    #[pymodule_export]
    use super::super::introspection::digest;
    #[pymodule_export]
    use super::super::pickle_watch::PickleWatch;
    #[pymodule_export]
    use super::super::shared_number::SharedNumber;
    #[pymodule_export]
    use super::super::symbols::note;
    #[pymodule_export]
    use super::run;
}

/// Runs a kernel process, of which this is the root. `socket` is the descriptor of its socket.
#[pyfunction]
#[pyo3(pass_module)]
fn run(native: &Bound<'_, PyModule>, socket: RawFd) -> PyResult<()> {
    let py = native.py();
    sigint::start(py)?;
    control::adopt(control::take_socket(socket)?);
    // No core files: writing one after a crash takes long.
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
    priority::set(Role::Frozen);
    let Ok(first) = control::receive(|| Ok::<(), Infallible>(()));
    let Some((Order::SpawnRoot { version, support, bytecode, nice }, descriptors)) = first else { leave() };
    priority::add_niceness(nice.into());
    match start(native, &version, [support.as_deref(), bytecode.as_deref()], descriptors) {
        Ok(process) => {
            let (pid, python) = (std::process::id().cast_signed(), py.version_info());
            let version = format!("{}.{}.{}", python.major, python.minor, python.patch);
            report::send(&Report::Python { version });
            report::send(&Report::Ready { pid, missing: Vec::new(), hazard: None });
            let mut step = 0;
            while !control::order_is_waiting() && process.introspector.prime(py, step) {
                step += 1;
            }
            process.obey(py)
        }
        Err(why) => {
            report::send(&Report::Failed { why });
            leave()
        }
    }
}

fn start(
    native: &Bound<'_, PyModule>,
    version: &str,
    [support, bytecode]: [Option<&Path>; 2],
    descriptors: Vec<OwnedFd>,
) -> Result<KernelProcess, String> {
    let [pipe, stderr] = <[OwnedFd; 2]>::try_from(descriptors).map_err(|_| "the server sent no lifeline")?;
    lifeline::tie(pipe).map_err(|e| format!("the process could not be tied to the server: {e}"))?;
    nix::unistd::dup2_stderr(stderr).map_err(|e| format!("the server's stderr could not be used: {e}"))?;
    if version != VERSION {
        return Err(format!(
            "the server is Ratoon {version}, and its file libratoon.so is of Ratoon {VERSION}: install both again"
        ));
    }
    shared_number::start().map_err(|e| format!("memory for all processes could not be made: {e}"))?;
    huge_pages::use_for_objects();
    let py = native.py();
    package::while_importable(native, bytecode, || import_package(py, support))
        .map_err(|e| format!("Python started, but the kernel's own package did not load: {e}"))?
}

fn import_package(py: Python<'_>, support: Option<&Path>) -> Result<KernelProcess, String> {
    let failed = |what: &'static str| move |e: PyErr| format!("Python started, but {what} did not: {e}");
    let failed_or_incomplete = |e: PyErr| {
        let is_missing = e.is_instance_of::<PyModuleNotFoundError>(py);
        let advice = support.filter(|_| is_missing).map(|support| {
            let support = support.display();
            format!(". If files are missing in {support}, delete that directory: Ratoon installs it again")
        });
        failed("IPython")(e) + &advice.unwrap_or_default()
    };
    let process = KernelProcess {
        shell: Shell::boot(py, support).map_err(failed_or_incomplete)?,
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
