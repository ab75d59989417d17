//! Finds which names of a namespace a cell has changed. It records the namespace before the cell
//! without touching its objects, because each touch would copy a memory page. `symbols.py` finds
//! what the cell reads.

#![allow(unsafe_code)]

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;

/// The names of a namespace and the addresses of their objects before the cell.
#[pyclass(frozen)]
#[derive(Debug)]
pub(super) struct Before(HashMap<String, usize>);

/// The added, changed and removed names.
type Changed = (Vec<String>, Vec<String>, Vec<String>);

/// Records a namespace.
#[pyfunction]
pub(super) fn note(namespace: &Bound<'_, PyDict>) -> Before {
    Before(addresses(namespace))
}

#[pymethods]
impl Before {
    fn changes(&self, namespace: &Bound<'_, PyDict>) -> Changed {
        let now = addresses(namespace);
        let before = &self.0;
        let added = now.keys().filter(|name| !before.contains_key(*name)).cloned().collect();
        let differs = |(name, at): &(&String, &usize)| before.get(*name).is_some_and(|before| before != *at);
        let changed = now.iter().filter(differs).map(|(name, _)| name.clone()).collect();
        let gone = before.keys().filter(|name| !now.contains_key(*name)).cloned().collect();
        (added, changed, gone)
    }
}

fn addresses(namespace: &Bound<'_, PyDict>) -> HashMap<String, usize> {
    let mut addresses = HashMap::with_capacity(namespace.len());
    let (mut at, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the dictionary is alive, the GIL is held and no Python code runs meanwhile, so it
    // does not change. Key and value are borrowed and not kept. The text of a key belongs to the
    // key and is copied.
    unsafe {
        while ffi::PyDict_Next(namespace.as_ptr(), &raw mut at, &raw mut key, &raw mut value) != 0 {
            if ffi::PyUnicode_Check(key) == 0 {
                continue;
            }
            let mut length = 0;
            let text = ffi::PyUnicode_AsUTF8AndSize(key, &raw mut length);
            if text.is_null() {
                // The key contains a lone surrogate, so no code can name it.
                ffi::PyErr_Clear();
                continue;
            }
            let bytes = std::slice::from_raw_parts(text.cast::<u8>(), length.unsigned_abs());
            addresses.insert(String::from_utf8_lossy(bytes).into_owned(), value as usize);
        }
    }
    addresses
}
