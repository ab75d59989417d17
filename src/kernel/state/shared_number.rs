//! Numbers in memory that all processes of a notebook share.

#![allow(unsafe_code)]

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap};
use pyo3::prelude::*;
use std::io;
use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name of the memory in `/proc/PID/maps`.
pub(super) const NAME: &str = "/memfd:ratoon-numbers (deleted)";
/// How many numbers there are. The oldest is used again when all have been used. Pages that are not
/// used take no memory.
const COUNT: usize = 1 << 16;

/// The first number counts how many have been used.
struct Numbers(NonNull<AtomicU64>);

// SAFETY: the memory is never unmapped, and is only used as atomics.
unsafe impl Send for Numbers {}
// SAFETY: as above.
unsafe impl Sync for Numbers {}

static NUMBERS: OnceLock<Numbers> = OnceLock::new();

impl Numbers {
    fn map() -> io::Result<Self> {
        let bytes = NonZero::new(COUNT * size_of::<AtomicU64>()).ok_or(io::ErrorKind::InvalidInput)?;
        let file = memfd_create("ratoon-numbers", MFdFlags::MFD_CLOEXEC)?;
        nix::unistd::ftruncate(&file, i64::try_from(bytes.get()).map_err(io::Error::other)?)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping of a new file, at an address that the system chooses.
        let memory = unsafe { mmap(None, bytes, access, MapFlags::MAP_SHARED, &file, 0)? };
        Ok(Self(memory.cast()))
    }

    fn at(&self, index: usize) -> &AtomicU64 {
        // SAFETY: within the mapping, which is aligned to pages and was filled with zeros.
        unsafe { self.0.add(index % COUNT).as_ref() }
    }
}

/// Maps the memory. Must be called in the root, so that all processes have the same.
pub(super) fn start() -> io::Result<()> {
    let numbers = Numbers::map()?;
    NUMBERS.set(numbers).map_err(|_| io::Error::other("the numbers exist already"))
}

/// A number that this process shares with its forks and its ancestors. It begins with 0.
#[pyclass(frozen)]
#[derive(Debug)]
pub(super) struct SharedNumber {
    index: usize,
}

#[pymethods]
impl SharedNumber {
    #[new]
    fn new() -> PyResult<Self> {
        let numbers = numbers()?;
        let used = numbers.at(0).fetch_add(1, Ordering::Relaxed);
        let index = 1 + usize::try_from(used)? % (COUNT - 1);
        numbers.at(index).store(0, Ordering::SeqCst);
        Ok(Self { index })
    }

    fn get(&self) -> PyResult<u64> {
        Ok(numbers()?.at(self.index).load(Ordering::SeqCst))
    }

    /// Sets the number to `new` if it is `old`. Returns whether it was.
    fn replace(&self, old: u64, new: u64) -> PyResult<bool> {
        let number = numbers()?.at(self.index);
        Ok(number.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok())
    }
}

fn numbers() -> PyResult<&'static Numbers> {
    NUMBERS.get().ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("there are no shared numbers"))
}
