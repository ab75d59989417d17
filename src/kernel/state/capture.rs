//! A head's outputs: descriptors 1 and 2, and the pipe of printed text.
//!
//! Text goes through the text pipe, everything else as a report on the socket. Both carry the
//! number of bytes written to descriptors 1 and 2 so far; text also carries the number of reports
//! sent. So the server knows their order.

use super::control;
use crate::kernel::protocol::Written;
use crate::kernel::text_pipe::{self, MAX_TEXT_BYTES, SharedCounts, Stamp, WriteCounts};
use crate::notebook::StreamName;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, PoisonError};

static PRINTER: Mutex<Option<Printer>> = Mutex::new(None);

/// The pipes and counters of a head's printed text.
struct Printer {
    text: WriteEnd,
    counts: WriteCounts,
    /// The pipes of descriptors 1 and 2.
    pipes: [WriteEnd; 2],
}

/// Connects a head's outputs: `pipes` become descriptors 1 and 2, and printed text goes to `text`.
pub(super) fn connect(pipes: [OwnedFd; 2], text: OwnedFd, shared: SharedCounts) -> io::Result<()> {
    let [out, err] = pipes;
    let SharedCounts { counts, changed, watch } = shared;
    let (counts, changed) = (super::descriptors::raise(counts)?, super::descriptors::raise(changed)?);
    let shared = SharedCounts { counts, changed, watch: super::descriptors::raise(watch)? };
    let text = WriteEnd::keep(text)?;
    let counts = WriteCounts::new(shared, text.end())?;
    let printer = Printer { text, counts, pipes: [WriteEnd::keep(out)?, WriteEnd::keep(err)?] };
    // Descriptors received with the order may have had the numbers 1 and 2. Only their high copies
    // are still open.
    nix::unistd::dup2_stdout(printer.pipes[0].end())?;
    nix::unistd::dup2_stderr(printer.pipes[1].end())?;
    *lock() = Some(printer);
    Ok(())
}

/// Repairs descriptors 0, 1 and 2 after user code has closed or redirected them: branches need
/// them, and subprocesses print to them. Returns a sentence about each repair.
///
/// # Errors
/// The pipe that descriptor 1 or 2 needs is closed as well, or another system call fails.
pub(super) fn repair_standard_descriptors() -> io::Result<Vec<String>> {
    let mut repaired = Vec::new();
    if Inode::of(io::stdin()).is_none() {
        let null = super::descriptors::raise(std::fs::File::open("/dev/null")?)?;
        nix::unistd::dup2_stdin(null)?;
        repaired.push(sentence("descriptor 0 (standard input) leads to /dev/null"));
    }
    let guard = lock();
    let Some(printer) = guard.as_ref() else { return Ok(repaired) };
    let [out, err] = &printer.pipes;
    if !out.is_behind(io::stdout()) {
        nix::unistd::dup2_stdout(out.checked()?)?;
        repaired.push(sentence("descriptor 1 (standard output) leads to the cells' output"));
    }
    if !err.is_behind(io::stderr()) {
        nix::unistd::dup2_stderr(err.checked()?)?;
        repaired.push(sentence("descriptor 2 (standard error) leads to the cells' output"));
    }
    Ok(repaired)
}

fn sentence(what: &str) -> String {
    format!(
        "{what} again: the cell had closed or redirected it, and such a change lasts only until the cell ends"
    )
}

/// The write end of a head's pipe, at a high number. User code may have closed that number or given
/// it to another file, so this is not an `OwnedFd`: `drop` closes the number only if it is still
/// the pipe.
struct WriteEnd {
    number: RawFd,
    inode: Inode,
}

/// Identifies a pipe: device and inode number.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Inode(u64, u64);

impl Inode {
    fn of(end: impl AsFd) -> Option<Self> {
        nix::sys::stat::fstat(end).ok().map(|stat| Self(stat.st_dev, stat.st_ino))
    }
}

impl WriteEnd {
    fn keep(end: OwnedFd) -> io::Result<Self> {
        let high = super::descriptors::raise(end)?;
        let inode = Inode::of(&high).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { number: high.into_raw_fd(), inode })
    }

    fn is_behind(&self, other: impl AsFd) -> bool {
        Inode::of(other) == Some(self.inode)
    }

    fn end(&self) -> BorrowedFd<'_> {
        // SAFETY: the number is not -1. If user code has closed it, system calls fail with EBADF.
        #[allow(unsafe_code)]
        unsafe {
            BorrowedFd::borrow_raw(self.number)
        }
    }

    fn checked(&self) -> io::Result<BorrowedFd<'_>> {
        if self.is_behind(self.end()) { Ok(self.end()) } else { Err(nix::errno::Errno::EBADF.into()) }
    }
}

impl Drop for WriteEnd {
    fn drop(&mut self) {
        if self.is_behind(self.end()) {
            let _ = nix::unistd::close(self.number);
        }
    }
}

/// Whether a descriptor belongs to our output channels, not to the user.
pub(super) fn is_own(number: RawFd) -> bool {
    let is_own = |printer: &Printer| {
        let mut pipes = printer.pipes.iter().chain([&printer.text]);
        printer.counts.owns(number) || pipes.any(|pipe| pipe.number == number)
    };
    lock().as_ref().is_some_and(is_own)
}

/// Discards all later output.
pub(super) fn disconnect() -> io::Result<()> {
    *lock() = None;
    // Raised, because `/dev/null` would get number 1 if user code has closed descriptor 1.
    let null = super::descriptors::raise(std::fs::OpenOptions::new().write(true).open("/dev/null")?)?;
    nix::unistd::dup2_stdout(&null)?;
    nix::unistd::dup2_stderr(&null)?;
    Ok(())
}

/// How many bytes have been written to descriptors 1 and 2 so far.
pub(super) fn written() -> Written {
    lock().as_ref().map(Printer::written).unwrap_or_default()
}

/// Writes as much text as the text pipe has room for. Returns the rest, or none if this process
/// has no outputs.
pub(super) fn write(name: StreamName, text: &str) -> Option<&str> {
    lock().as_ref().map(|printer| printer.write(name, text))
}

impl Printer {
    fn written(&self) -> Written {
        self.counts.written(|| self.waiting())
    }

    /// Writes as much text as the text pipe has room for. Returns the rest.
    fn write<'t>(&self, name: StreamName, text: &'t str) -> &'t str {
        let (mut left, pipe) = (text, self.text.end());
        if !self.counts.is_text_pipe(pipe) {
            return left;
        }
        let stamp = Stamp { reports: control::sent(), written: self.written() };
        while !left.is_empty() {
            let (piece, rest) = left.split_at(left.floor_char_boundary(MAX_TEXT_BYTES));
            if !text_pipe::write(pipe, name, stamp, piece.as_bytes()) {
                break;
            }
            left = rest;
        }
        left
    }

    /// How many bytes are in the pipes of descriptors 1 and 2.
    fn waiting(&self) -> Written {
        Written { out: waiting_in(self.pipes[0].end()), err: waiting_in(self.pipes[1].end()) }
    }
}

fn waiting_in(pipe: impl AsFd) -> u32 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int. On anything but a pipe it fails and writes nothing.
    #[allow(unsafe_code)]
    unsafe {
        libc::ioctl(pipe.as_fd().as_raw_fd(), libc::FIONREAD, &raw mut bytes);
    }
    u32::try_from(bytes).unwrap_or_default()
}

fn lock() -> std::sync::MutexGuard<'static, Option<Printer>> {
    PRINTER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes what belongs to the parent.
pub(super) fn close_parents() {
    control::close();
    *lock() = None;
}

/// Runs first in each of our own forks: closes what belongs to the parent, and discards output
/// until this process becomes a head.
pub(super) fn begin_fork() -> io::Result<()> {
    close_parents();
    disconnect()
}
