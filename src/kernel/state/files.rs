//! A branch gets its own place in every open file.
//!
//! Forked processes share the offset of an open file: without this, one branch's `readline()` would move the other's.
//! The head notes its offsets before it is frozen; a head forked from that state opens each file anew at the noted offset.
//! Pipes, sockets and terminals stay shared: there is no second one to open.

#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::{Whence, lseek};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Where an open file of the state stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    number: RawFd,
    offset: i64,
}

/// Notes the offsets of all open regular files of the user.
pub(super) fn note() -> Vec<Place> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<RawFd>().ok());
    numbers.filter(|n| *n > 2).filter_map(offset_of).collect()
}

fn offset_of(number: RawFd) -> Option<Place> {
    // SAFETY: only asked, never closed; a descriptor that has gone in between answers EBADF.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    let is_regular = SFlag::from_bits_truncate(fstat(file).ok()?.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG;
    if !is_regular {
        return None;
    }
    Some(Place { number, offset: lseek(file, 0, Whence::SeekCur).ok()? })
}

/// Opens each file anew at its place. A file that cannot be opened again (its permissions were tightened) stays shared.
pub(super) fn open_anew(places: &[Place]) {
    for place in places {
        // What cannot be opened anew works as before, only shared; the warning is the state's.
        let _ = open_one_anew(*place);
    }
}

fn open_one_anew(place: Place) -> Result<(), Errno> {
    // SAFETY: the descriptor was open when it was noted and nothing has run since; if not, fcntl answers EBADF.
    let old = unsafe { BorrowedFd::borrow_raw(place.number) };
    let status = OFlag::from_bits_truncate(fcntl(old, FcntlArg::F_GETFL)?);
    if status.contains(OFlag::O_PATH) {
        return Ok(());
    }
    let keep = OFlag::O_ACCMODE | OFlag::O_APPEND | OFlag::O_NONBLOCK | OFlag::O_SYNC | OFlag::O_DIRECT;
    let path = format!("/proc/self/fd/{}", place.number);
    let anew = nix::fcntl::open(path.as_str(), (status & keep) | OFlag::O_CLOEXEC, Mode::empty())?;
    lseek(&anew, place.offset, Whence::SeekSet)?;
    let on_exec = fcntl(old, FcntlArg::F_GETFD)? & libc::FD_CLOEXEC;
    let flags = if on_exec == 0 { 0 } else { libc::O_CLOEXEC };
    // SAFETY: replaces a descriptor that the user's objects know by this number with an open file of the same kind.
    Errno::result(unsafe { libc::dup3(anew.as_raw_fd(), place.number, flags) }).map(drop)
}
