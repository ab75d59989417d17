//! What a cell prints, shows and asks, on its way to the server, in the order in which it happened.
//!
//! Text goes through the ring, everything else as a report on the socket; each says how many bytes had been written straight
//! to descriptors 1 and 2 before it, and text says how many reports. A child that the user's code forks has neither: it prints to the descriptors.

use super::{control, fork};
use crate::kernel::protocol::{Order, Report, Written, seal};
use crate::kernel::ring::{Pushed, Ring, Stamp};
use crate::notebook::{Output, Prompt, StreamName};
use nix::sys::epoll::{Epoll, EpollEvent, EpollTimeout};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// The longest report that `shell.py` may send: one output with all its representations.
const MAX_REPORT_BYTES: usize = 48 * 1024 * 1024;
/// Longer text does not go through the ring, and goes in pieces of this many bytes.
const PIECE_BYTES: usize = 64 * 1024;

static LINE: Mutex<Option<Line>> = Mutex::new(None);
/// In a child of the user's: the beginnings of lines, of standard output and standard error.
static TAILS: Mutex<[String; 2]> = Mutex::new([String::new(), String::new()]);
/// How many questions this process, and those it was forked from, have asked.
static ASKED: AtomicU32 = AtomicU32::new(0);
static IS_USERS_CHILD: AtomicBool = AtomicBool::new(false);

/// What a head prints through.
struct Line {
    ring: Ring,
    /// Tells at once that both pipes are empty, as they mostly are: a third of what asking each for its bytes takes.
    watch: Epoll,
    pipes: [Pipe; 2],
}

/// A head's outputs go to these pipes and this ring from now on; `watch` watches the pipes' other ends.
pub(super) fn connect(stdout: OwnedFd, stderr: OwnedFd, ring: OwnedFd, watch: OwnedFd) -> io::Result<()> {
    let pipes = [Pipe::keep(stdout)?, Pipe::keep(stderr)?];
    let line = Line { ring: Ring::map(ring)?, watch: Epoll(super::raise(watch)?), pipes };
    // What came with the order may have had these numbers; by now it is closed.
    nix::unistd::dup2_stdout(line.pipes[0].end())?;
    nix::unistd::dup2_stderr(line.pipes[1].end())?;
    *lock() = Some(line);
    Ok(())
}

/// Puts back what the user's code has made of descriptors 0, 1 and 2: a branch could not be made without them, and what a
/// subprocess prints there would go astray. Answers what was not as it should be, in sentences.
///
/// # Errors
/// When there is nothing left to put back.
pub(super) fn mend() -> io::Result<Vec<String>> {
    let mut mended = Vec::new();
    if Mark::of(io::stdin()).is_none() {
        let null = super::raise(std::fs::File::open("/dev/null")?)?;
        nix::unistd::dup2_stdin(null)?;
        mended.push(told("descriptor 0 (standard input) is /dev/null"));
    }
    let guard = lock();
    let Some(line) = guard.as_ref() else { return Ok(mended) };
    let [out, err] = &line.pipes;
    if !out.is_behind(io::stdout()) {
        nix::unistd::dup2_stdout(out.checked()?)?;
        mended.push(told("descriptor 1 (standard output) leads to the cells' output"));
    }
    if !err.is_behind(io::stderr()) {
        nix::unistd::dup2_stderr(err.checked()?)?;
        mended.push(told("descriptor 2 (standard error) leads to the cells' output"));
    }
    Ok(mended)
}

fn told(what: &str) -> String {
    format!("{what} again: the cell had closed it or led it elsewhere, which lasts to its end")
}

/// A pipe of a head's, at a number that user code does not expect to be its own. User code may have closed that number,
/// or given it to something else, so it is no owned descriptor: closing what is not ours would harm.
struct Pipe {
    number: RawFd,
    mark: Mark,
}

/// What tells a pipe from everything else: its file system and its number there.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark(u64, u64);

impl Mark {
    fn of(end: impl AsFd) -> Option<Self> {
        nix::sys::stat::fstat(end).ok().map(|about| Self(about.st_dev, about.st_ino))
    }
}

impl Pipe {
    fn keep(end: OwnedFd) -> io::Result<Self> {
        let high = super::raise(end)?;
        let mark = Mark::of(&high).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { number: high.into_raw_fd(), mark })
    }

    fn is_behind(&self, other: impl AsFd) -> bool {
        Mark::of(other) == Some(self.mark)
    }

    fn end(&self) -> BorrowedFd<'_> {
        // SAFETY: the number is not -1. User code may have closed it; then system calls say so.
        #[allow(unsafe_code)]
        unsafe {
            BorrowedFd::borrow_raw(self.number)
        }
    }

    fn checked(&self) -> io::Result<BorrowedFd<'_>> {
        if self.is_behind(self.end()) { Ok(self.end()) } else { Err(nix::errno::Errno::EBADF.into()) }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        if self.is_behind(self.end()) {
            let _ = nix::unistd::close(self.number);
        }
    }
}

/// Whether a descriptor is one of those through which this process prints, and none of the user's.
pub(super) fn is_own(number: RawFd) -> bool {
    let is_own = |line: &Line| {
        line.watch.0.as_raw_fd() == number || line.pipes.iter().any(|pipe| pipe.number == number)
    };
    lock().as_ref().is_some_and(is_own)
}

/// Nothing that is printed from now on goes anywhere.
pub(super) fn disconnect() -> io::Result<()> {
    *lock() = None;
    // At a number of its own: it would be 1 itself where user code has closed that.
    let null = super::raise(std::fs::OpenOptions::new().write(true).open("/dev/null")?)?;
    nix::unistd::dup2_stdout(&null)?;
    nix::unistd::dup2_stderr(&null)?;
    Ok(())
}

/// Whether this process was forked by the user's code and not by us.
pub(super) fn is_users_child() -> bool {
    IS_USERS_CHILD.load(Ordering::Relaxed)
}

/// How many bytes have been written to descriptors 1 and 2 so far.
pub(super) fn written() -> Written {
    lock().as_ref().map(Line::written).unwrap_or_default()
}

impl Line {
    fn written(&self) -> Written {
        self.ring.written(|| self.waiting())
    }

    /// How many bytes are in the pipes of descriptors 1 and 2.
    fn waiting(&self) -> Written {
        match self.watch.wait(&mut [EpollEvent::empty()], EpollTimeout::ZERO) {
            Ok(0) => Written::default(),
            _ => Written { out: waiting_in(self.pipes[0].end()), err: waiting_in(self.pipes[1].end()) },
        }
    }
}

fn waiting_in(pipe: impl AsFd) -> u32 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int; on what is no pipe it fails and leaves it alone.
    #[allow(unsafe_code)]
    unsafe {
        libc::ioctl(pipe.as_fd().as_raw_fd(), libc::FIONREAD, &raw mut bytes);
    }
    u32::try_from(bytes).unwrap_or_default()
}

fn lock() -> std::sync::MutexGuard<'static, Option<Line>> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The object through which `shell.py` speaks.
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
            // Lone surrogates, as in the names of files that are not UTF-8.
            Err(_) => {
                let bytes = text.call_method1("encode", ("utf-8", "backslashreplace"))?;
                print(name, &String::from_utf8_lossy(bytes.cast::<PyBytes>()?.as_bytes()))?;
            }
        }
        py.check_signals()
    }

    /// Lets out what waits for the rest of its line.
    fn flush(&self, is_error: bool) -> io::Result<()> {
        flush(if is_error { StreamName::Stderr } else { StreamName::Stdout })
    }

    /// Sends a report that is JSON already.
    ///
    /// # Errors
    /// `ValueError` when it is longer than the server takes.
    fn report(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        if json.len() > MAX_REPORT_BYTES {
            let message = format!("{} bytes are more than can be shown ({MAX_REPORT_BYTES})", json.len());
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

    /// Asks the user and waits for the answer; an interrupt ends the waiting.
    fn ask(&self, py: Python<'_>, prompt: String, password: bool) -> PyResult<String> {
        let asked = ASKED.fetch_add(1, Ordering::Relaxed) + 1;
        control::report(&Report::Ask(Prompt { number: asked, text: prompt, password }));
        loop {
            let order = py.detach(|| control::receive(|| Python::attach(|py| py.check_signals())))?;
            match order {
                Some((Order::Answer { number, text }, _)) if number == asked => return Ok(text),
                Some((Order::Reap { pid }, _)) => super::reap(pid),
                // An answer to a question that was interrupted; nothing else is sent to a busy head.
                Some(_) => {}
                None => super::leave(),
            }
        }
    }

    /// Called in every forked child, before functions of the user's are: it lets go of what belongs to its parent. One that is
    /// the user's own goes on to print to the parent's descriptors; what one of ours prints before it is a head is nobody's.
    fn has_forked(&self) -> io::Result<()> {
        control::let_go();
        *lock() = None;
        if fork::is_ours() {
            return disconnect();
        }
        IS_USERS_CHILD.store(true, Ordering::Relaxed);
        Ok(())
    }
}

fn print(name: StreamName, text: &str) -> io::Result<()> {
    if is_users_child() {
        return print_in_lines(name, text);
    }
    if text.len() <= PIECE_BYTES {
        let push = |line: &Line| {
            let stamp = Stamp { reports: control::sent(), written: line.written() };
            line.ring.push(name, stamp, text.as_bytes())
        };
        let pushed = lock().as_ref().map(push);
        match pushed {
            None | Some(Pushed::Quietly) => return Ok(()),
            Some(Pushed::RingDoorbell) => {
                control::report(&Report::Doorbell);
                return Ok(());
            }
            Some(Pushed::NoRoom) => {}
        }
    }
    let mut left = text;
    while !left.is_empty() {
        let (piece, rest) = left.split_at(left.floor_char_boundary(PIECE_BYTES));
        control::report(&Report::Output(Output::stream(name, piece)));
        left = rest;
    }
    Ok(())
}

/// A child shares the pipes with its parent: what it prints goes there line by line, so that lines stay whole.
fn print_in_lines(name: StreamName, text: &str) -> io::Result<()> {
    let mut tails = TAILS.lock().unwrap_or_else(PoisonError::into_inner);
    let tail = &mut tails[name as usize];
    tail.push_str(text);
    let Some(end) = tail.rfind('\n') else { return Ok(()) };
    let rest = tail.split_off(end + 1);
    let lines = std::mem::replace(tail, rest);
    print_natively(name, lines.as_bytes())
}

/// Prints what a child of the user's has begun of a line.
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
