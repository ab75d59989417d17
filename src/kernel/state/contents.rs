//! Finds whether dictionaries and lists still hold what they held, without touching their objects:
//! writing to a reference count copies a memory page after a fork.

#![allow(unsafe_code)]

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// What containers held when this was made.
#[pyclass(frozen)]
#[derive(Debug)]
pub(super) struct Contents {
    containers: Vec<(Container, u64)>,
    entries: Vec<(Py<PyDict>, Py<PyAny>, usize)>,
}

#[derive(Debug)]
enum Container {
    Dict(Py<PyDict>),
    List(Py<PyList>),
}

#[pymethods]
impl Contents {
    /// Notes what `containers` hold, and what dictionaries hold under single keys.
    #[new]
    fn note(
        py: Python<'_>,
        containers: Vec<Bound<'_, PyAny>>,
        entries: Vec<(Bound<'_, PyDict>, Bound<'_, PyAny>)>,
    ) -> PyResult<Self> {
        let containers = containers.into_iter().map(|one| {
            let one = Container::of(one)?;
            let held = one.held(py);
            Ok((one, held))
        });
        let entries = entries.into_iter().map(|(dict, key)| {
            let held = entry(&dict, &key);
            (dict.unbind(), key.unbind(), held)
        });
        Ok(Self { containers: containers.collect::<PyResult<_>>()?, entries: entries.collect() })
    }

    /// Whether nothing has changed since.
    fn are_same(&self, py: Python<'_>) -> bool {
        self.containers.iter().all(|(one, held)| one.held(py) == *held)
            && self.entries.iter().all(|(dict, key, held)| entry(dict.bind(py), key.bind(py)) == *held)
    }
}

impl Container {
    fn of(object: Bound<'_, PyAny>) -> PyResult<Self> {
        match object.cast_into::<PyDict>() {
            Ok(dict) => Ok(Self::Dict(dict.unbind())),
            Err(error) => match error.into_inner().cast_into::<PyList>() {
                Ok(list) => Ok(Self::List(list.unbind())),
                Err(_) => Err(PyTypeError::new_err("neither a dict nor a list")),
            },
        }
    }

    /// A hash of the addresses in it.
    fn held(&self, py: Python<'_>) -> u64 {
        let mut hash = 0;
        match self {
            Self::Dict(dict) => {
                let dict = dict.bind(py).as_ptr();
                let (mut at, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
                // SAFETY: the dictionary is alive and no Python code runs meanwhile, so it does
                // not change. Key and value are borrowed and not kept.
                while unsafe { ffi::PyDict_Next(dict, &raw mut at, &raw mut key, &raw mut value) } != 0 {
                    hash = mixed(mixed(hash, key as usize), value as usize);
                }
            }
            Self::List(list) => {
                let list = list.bind(py).as_ptr();
                // SAFETY: the list is alive and does not change meanwhile.
                for at in 0..unsafe { ffi::PyList_Size(list) } {
                    // SAFETY: as above. The item is borrowed and not kept.
                    let item = unsafe { ffi::PyList_GetItem(list, at) };
                    hash = mixed(hash, item as usize);
                }
            }
        }
        hash
    }
}

/// Adds an address to a hash, in a nanosecond: thousands are read before each cell. Nobody chooses
/// addresses to make two hashes equal.
fn mixed(hash: u64, address: usize) -> u64 {
    (hash.rotate_left(5) ^ address as u64).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// The address of what a dictionary holds under a key; 0 for nothing.
fn entry(dict: &Bound<'_, PyDict>, key: &Bound<'_, PyAny>) -> usize {
    // SAFETY: both are alive; the value is borrowed and not kept. Errors of a key's own comparison
    // are dropped: the keys are texts and classes.
    unsafe { ffi::PyDict_GetItem(dict.as_ptr(), key.as_ptr()) as usize }
}
