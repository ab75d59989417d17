//! SIGINT reaches cells and nothing else: outside a cell it is ignored, else it would be remembered and kill the next one.
//!
//! What the user's code installed as a handler is part of the state and is put back before the next cell.

#![allow(unsafe_code)]

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::sync::{Mutex, PoisonError};

static OF_THE_CELL: Mutex<Option<SigAction>> = Mutex::new(None);

/// Ignores SIGINT, before Python is there.
pub(super) fn ignore() {
    set(&SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty()));
}

/// Lets Python find SIGINT as a fresh process has it: it installs its handler only then.
pub(super) fn default() {
    set(&SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty()));
}

/// Ignores SIGINT until `allow`, which puts back what was there.
pub(super) fn ignore_but_keep() {
    let before = set(&SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty()));
    *OF_THE_CELL.lock().unwrap_or_else(PoisonError::into_inner) = before;
}

/// Lets SIGINT through to what the state's code (at first: Python) installed.
pub(super) fn allow() {
    if let Some(kept) = OF_THE_CELL.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
        set(kept);
    }
}

fn set(action: &SigAction) -> Option<SigAction> {
    // SAFETY: either ignores the signal or puts back an action that was installed for it before.
    unsafe { sigaction(Signal::SIGINT, action).ok() }
}
