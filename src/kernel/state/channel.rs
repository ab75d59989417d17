//! What Python code sends to the server: printed text, outputs and questions.
//!
//! A child that user code forked has neither pipe nor socket, and prints to descriptors 1 and 2.

use super::capture::{self, close_parents};
use super::{children, control, fork, process_exit, report};
use crate::kernel::protocol::{Order, Report};
use crate::notebook::{Output, Prompt, StreamName};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// The longest report from Python, in bytes: one output with all its representations.
const MAX_REPORT_BYTES: usize = 48 * 1024 * 1024;
/// Longer text goes over the socket, in pieces of this many bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// In a child that user code forked: unfinished lines of standard output and standard error.
static TAILS: Mutex<[String; 2]> = Mutex::new([String::new(), String::new()]);
/// How many questions this process and its ancestors have asked.
static ASKED: AtomicU32 = AtomicU32::new(0);
static IS_USERS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether user code forked this process. False for processes that `fork` made.
pub(super) fn is_users_child() -> bool {
    IS_USERS_CHILD.load(Ordering::Relaxed)
}

/// The object with which Python code sends reports to the server.
#[pyclass(frozen)]
#[derive(Debug)]
pub(super) struct Channel;

#[pymethods]
impl Channel {
    /// Prints text. Returns its length in characters.
    ///
    /// # Errors
    /// `TypeError` if `text` is not a string.
    fn text(&self, is_error: bool, text: &Bound<'_, PyAny>) -> PyResult<usize> {
        let Ok(text) = text.cast::<PyString>() else {
            let message = format!("write() argument must be str, not {}", text.get_type().name()?);
            return Err(PyTypeError::new_err(message));
        };
        let name = if is_error { StreamName::Stderr } else { StreamName::Stdout };
        match text.to_str() {
            Ok(text) => print(name, text)?,
            // Lone surrogates, as in file names that are not UTF-8.
            Err(_) => {
                let bytes = text.call_method1("encode", ("utf-8", "backslashreplace"))?;
                print(name, &String::from_utf8_lossy(bytes.cast::<PyBytes>()?.as_bytes()))?;
            }
        }
        text.len()
    }

    /// Prints the unfinished line of a stream.
    fn flush(&self, is_error: bool) -> io::Result<()> {
        flush(if is_error { StreamName::Stderr } else { StreamName::Stdout })
    }

    /// Sends a report that is encoded as JSON.
    ///
    /// # Errors
    /// `ValueError` if the report is longer than the server accepts, or not JSON.
    fn report(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        if json.len() > MAX_REPORT_BYTES {
            let message = format!("its {} bytes exceed the limit of {MAX_REPORT_BYTES}", json.len());
            return Err(PyValueError::new_err(message));
        }
        report::send_json(json).map_err(|error| PyValueError::new_err(error.to_string()))?;
        py.check_signals()
    }

    /// Asks the user and waits for the answer. An interrupt ends the waiting.
    fn ask(&self, py: Python<'_>, prompt: String, password: bool) -> PyResult<String> {
        let question = ASKED.fetch_add(1, Ordering::Relaxed) + 1;
        report::send(&Report::Ask(Prompt { number: question, text: prompt, password }));
        loop {
            let order = py.detach(|| control::receive(|| Python::attach(|py| py.check_signals())))?;
            match order {
                Some((Order::Answer { number, text }, _)) if number == question => return Ok(text),
                Some((Order::Reap { pid }, _)) => report::send(&children::reap(pid)),
                // The answer to an interrupted question. A busy head gets no other orders.
                Some(_) => {}
                None => process_exit::leave(),
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

fn print(name: StreamName, text: &str) -> io::Result<()> {
    if is_users_child() {
        return print_in_lines(name, text);
    }
    let mut left = text;
    if text.len() <= PIECE_BYTES {
        let Some(rest) = capture::write(name, text) else { return Ok(()) };
        left = rest;
    }
    while !left.is_empty() {
        let (piece, rest) = left.split_at(left.floor_char_boundary(PIECE_BYTES));
        report::send(&Report::Output(Output::stream(name, piece)));
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
