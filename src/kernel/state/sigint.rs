//! Lets SIGINT reach running cells only. Between cells it is ignored. Otherwise it would interrupt
//! the next cell.
//!
//! A handler that user code installed is part of the state and is restored before the next cell.

#![allow(unsafe_code)]

use crate::kernel::protocol::WAKE;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

static CELL_HANDLER: Mutex<Option<SigAction>> = Mutex::new(None);

/// Installs Python's handler and ignores SIGINT until the first cell. Python itself installs its
/// handler only if the signal is not ignored, and a shell without job control ignores it for
/// programs in the background.
///
/// # Errors
/// Those of `signal.signal` and of `sigaction`.
pub(super) fn start(py: Python<'_>) -> PyResult<()> {
    let signal = py.import("signal")?;
    signal.call_method1("signal", (Signal::SIGINT as i32, signal.getattr("default_int_handler")?))?;
    ignore_but_keep();
    let wake = SigAction::new(SigHandler::Handler(do_nothing), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler does nothing. Without SA_RESTART, the signal ends a waiting system call.
    unsafe { sigaction(WAKE, &wake) }.map_err(std::io::Error::from)?;
    Ok(())
}

extern "C" fn do_nothing(_: libc::c_int) {}

/// Ignores SIGINT until `allow`, which restores the handler that is installed now.
pub(super) fn ignore_but_keep() {
    let before = set(&SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty()));
    *CELL_HANDLER.lock().unwrap_or_else(PoisonError::into_inner) = before;
}

/// Restores the handler that Python or user code had installed.
pub(super) fn allow() {
    if let Some(kept) = CELL_HANDLER.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
        set(kept);
    }
}

fn set(action: &SigAction) -> Option<SigAction> {
    // SAFETY: `action` ignores the signal, or is an action that was installed before.
    unsafe { sigaction(Signal::SIGINT, action).ok() }
}
