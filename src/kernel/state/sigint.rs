//! Lets SIGINT reach running cells only. Between cells it is ignored. Otherwise it would interrupt
//! the next cell.
//!
//! A handler that user code installed is part of the state and is restored before the next cell.

#![allow(unsafe_code)]

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::sync::{Mutex, PoisonError};

static CELL_HANDLER: Mutex<Option<SigAction>> = Mutex::new(None);

/// Ignores SIGINT until Python starts.
pub(super) fn ignore() {
    set(&SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty()));
}

/// Restores SIGINT's default action. Python installs its handler only if it finds that action.
pub(super) fn default() {
    set(&SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty()));
}

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
    // SAFETY: it ignores the signal, or restores an action that was installed before.
    unsafe { sigaction(Signal::SIGINT, action).ok() }
}
