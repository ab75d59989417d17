//! Sends variables from one state's process to another's through a pipe that the server made
//! (`transfer.py`).

use super::package::PackageModule;
use crate::kernel::protocol::{Delivery, Wanted};
use pyo3::prelude::*;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};

#[derive(Debug)]
pub(super) struct Transfer(PackageModule);

impl Transfer {
    /// Imports the module.
    pub(super) fn boot(py: Python<'_>) -> PyResult<Self> {
        let module = PackageModule::import(py, "transfer")?;
        module.0.call_method0(py, "boot")?;
        Ok(Self(module))
    }

    /// Writes variables into a pipe. This changes the process, so it must be a throw-away fork.
    pub(super) fn send(&self, py: Python<'_>, pipe: OwnedFd, wanted: &Wanted) {
        let wanted = serde_json::to_string(wanted).unwrap_or_default();
        // If this fails, the reader finds that the pipe ends too early.
        let _ = self.0.0.call_method1(py, "send", (pipe.as_raw_fd(), wanted));
    }

    /// Passes the deliveries of an order to run a cell, and their pipes, to `transfer.py`.
    pub(super) fn deliver(&self, py: Python<'_>, deliveries: &[Delivery], pipes: Vec<OwnedFd>) {
        if deliveries.is_empty() {
            return;
        }
        let mut pipes = pipes.into_iter();
        let mut next = |delivery: &Delivery| -> Option<RawFd> {
            let pipe = if delivery.comes { pipes.next() } else { None };
            super::descriptors::raise(pipe?).ok().map(IntoRawFd::into_raw_fd)
        };
        let all: Vec<_> = deliveries.iter().map(|d| (d.alias.clone(), d.state.clone(), next(d))).collect();
        // If this fails, the cell reports that the variables are missing.
        let _ = self.0.0.setattr(py, "deliveries", all);
    }
}
