//! Sends a cell's printed text, outputs and questions to the server, in their order.
//!
//! Text goes through the text pipe, everything else as a report on the socket. Both carry the
//! number of bytes written to descriptors 1 and 2 so far; text also carries the number of reports
//! sent. A child that user code forks has neither pipe nor socket, and prints to descriptors 1 and
//! 2.

use super::{control, fork};
use crate::kernel::protocol::{Order, Report, Written, seal};
use crate::kernel::text_pipe::{self, MAX_TEXT_BYTES, SharedCounts, Stamp, WriteCounts};
use crate::notebook::{Output, Prompt, StreamName};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// The longest report from Python, in bytes: one output with all its representations.
const MAX_REPORT_BYTES: usize = 48 * 1024 * 1024;
/// Longer text goes over the socket, in pieces of this many bytes.
const PIECE_BYTES: usize = 64 * 1024;

static PRINTER: Mutex<Option<Printer>> = Mutex::new(None);
/// In a child that user code forked: unfinished lines of standard output and standard error.
static TAILS: Mutex<[String; 2]> = Mutex::new([String::new(), String::new()]);
/// How many questions this process and its ancestors have asked.
static ASKED: AtomicU32 = AtomicU32::new(0);
static IS_USERS_CHILD: AtomicBool = AtomicBool::new(false);

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
    let counts = WriteCounts::new(SharedCounts { counts, changed, watch: super::descriptors::raise(watch)? });
    let printer =
        Printer { text: WriteEnd::keep(text)?, counts, pipes: [WriteEnd::keep(out)?, WriteEnd::keep(err)?] };
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

/// Whether user code forked this process. False for processes that `fork` made.
pub(super) fn is_users_child() -> bool {
    IS_USERS_CHILD.load(Ordering::Relaxed)
}

/// How many bytes have been written to descriptors 1 and 2 so far.
pub(super) fn written() -> Written {
    lock().as_ref().map(Printer::written).unwrap_or_default()
}

impl Printer {
    fn written(&self) -> Written {
        self.counts.written(|| self.waiting())
    }

    /// Writes as much text as the text pipe has room for. Returns the rest.
    fn write<'t>(&self, name: StreamName, text: &'t str) -> &'t str {
        let mut left = text;
        // User code may have closed the pipe and given its number to another file.
        let Ok(pipe) = self.text.checked() else { return left };
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

/// The object with which Python code sends reports to the server.
#[pyclass(frozen)]
#[derive(Debug)]
pub(super) struct Channel;

#[pymethods]
impl Channel {
    /// Prints text.
    fn text(&self, py: Python<'_>, is_error: bool, text: &Bound<'_, PyString>) -> PyResult<()> {
        let name = if is_error { StreamName::Stderr } else { StreamName::Stdout };
        match text.to_str() {
            Ok(text) => print(name, text)?,
            // Lone surrogates, as in file names that are not UTF-8.
            Err(_) => {
                let bytes = text.call_method1("encode", ("utf-8", "backslashreplace"))?;
                print(name, &String::from_utf8_lossy(bytes.cast::<PyBytes>()?.as_bytes()))?;
            }
        }
        py.check_signals()
    }

    /// Prints the unfinished line of a stream.
    fn flush(&self, is_error: bool) -> io::Result<()> {
        flush(if is_error { StreamName::Stderr } else { StreamName::Stdout })
    }

    /// Sends a report that is encoded as JSON.
    ///
    /// # Errors
    /// `ValueError` if the report is longer than the server accepts.
    fn report(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        if json.len() > MAX_REPORT_BYTES {
            let message = format!("its {} bytes exceed the limit of {MAX_REPORT_BYTES}", json.len());
            return Err(pyo3::exceptions::PyValueError::new_err(message));
        }
        if control::is_held() {
            let mut bytes = Vec::with_capacity(json.len() + 40);
            bytes.extend_from_slice(&[0; 4]);
            let Written { out, err } = written();
            let written = format!("{{\"written\":{{\"out\":{out},\"err\":{err}}},\"report\":");
            bytes.extend_from_slice(written.as_bytes());
            bytes.extend_from_slice(json.as_bytes());
            bytes.push(b'}');
            control::send_frame(&seal(bytes));
        }
        py.check_signals()
    }

    /// Asks the user and waits for the answer. An interrupt ends the waiting.
    fn ask(&self, py: Python<'_>, prompt: String, password: bool) -> PyResult<String> {
        let question = ASKED.fetch_add(1, Ordering::Relaxed) + 1;
        control::report(&Report::Ask(Prompt { number: question, text: prompt, password }));
        loop {
            let order = py.detach(|| control::receive(|| Python::attach(|py| py.check_signals())))?;
            match order {
                Some((Order::Answer { number, text }, _)) if number == question => return Ok(text),
                Some((Order::Reap { pid }, _)) => super::children::reap(pid),
                // The answer to an interrupted question. A busy head gets no other orders.
                Some(_) => {}
                None => super::process_exit::leave(),
            }
        }
    }

    /// Runs in every forked child, before the user's fork hooks. A child that user code forked
    /// continues to print to the parent's descriptors.
    fn has_forked(&self) {
        if !fork::is_ours() {
            close_parents();
            IS_USERS_CHILD.store(true, Ordering::Relaxed);
        }
    }
}

/// Closes what belongs to the parent.
fn close_parents() {
    control::close();
    *lock() = None;
}

/// Runs first in each of our own forks: closes what belongs to the parent, and discards output
/// until this process becomes a head.
pub(super) fn begin_fork() -> io::Result<()> {
    close_parents();
    disconnect()
}

fn print(name: StreamName, text: &str) -> io::Result<()> {
    if is_users_child() {
        return print_in_lines(name, text);
    }
    let mut left = text;
    if text.len() <= PIECE_BYTES {
        let guard = lock();
        let Some(printer) = guard.as_ref() else { return Ok(()) };
        left = printer.write(name, text);
    }
    while !left.is_empty() {
        let (piece, rest) = left.split_at(left.floor_char_boundary(PIECE_BYTES));
        control::report(&Report::Output(Output::stream(name, piece)));
        left = rest;
    }
    Ok(())
}

/// Prints whole lines to descriptors 1 and 2, which a child shares with its parent.
fn print_in_lines(name: StreamName, text: &str) -> io::Result<()> {
    let mut tails = TAILS.lock().unwrap_or_else(PoisonError::into_inner);
    let tail = &mut tails[name as usize];
    tail.push_str(text);
    let Some(end) = tail.rfind('\n') else { return Ok(()) };
    let rest = tail.split_off(end + 1);
    let lines = std::mem::replace(tail, rest);
    print_natively(name, lines.as_bytes())
}

/// In a child that user code forked: prints an unfinished line.
pub(super) fn flush(name: StreamName) -> io::Result<()> {
    let tail = std::mem::take(&mut TAILS.lock().unwrap_or_else(PoisonError::into_inner)[name as usize]);
    print_natively(name, tail.as_bytes())
}

fn print_natively(name: StreamName, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write;
    match name {
        StreamName::Stdout => {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            out.flush()
        }
        StreamName::Stderr => io::stderr().lock().write_all(bytes),
    }
}
