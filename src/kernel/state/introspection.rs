//! Answers questions about a state, in throw-away forks: its variables (`variables.py`),
//! completions (`completion.py`) and descriptions of objects (`inspection.py`).

use super::checkpoint::bytes_of;
use super::package;
use crate::blobs::Digest;
use crate::kernel::protocol::{Fingerprints, IntrospectKind, Introspected};
use crate::notebook::{Completion, Inspection, Variable};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The Python modules, imported in the root.
#[derive(Debug)]
pub(super) struct Introspector {
    variables: Py<PyModule>,
    completion: Py<PyModule>,
    inspection: Py<PyModule>,
}

#[derive(Deserialize)]
struct Completions {
    from: u32,
    to: u32,
    items: Vec<Completion>,
}

impl Introspector {
    /// Imports the modules, after the shell.
    pub(super) fn boot(py: Python<'_>) -> PyResult<Self> {
        let import = |name| package::import(py, name).map(Bound::unbind);
        Ok(Self {
            variables: import("variables")?,
            completion: import("completion")?,
            inspection: import("inspection")?,
        })
    }

    /// Loads a part of what the completer needs, while no order waits. Returns whether more is
    /// left.
    pub(super) fn prime(&self, py: Python<'_>, step: u32) -> bool {
        // Only for speed, so errors do not matter.
        self.completion.call_method1(py, "prime", (step,)).and_then(|more| more.extract(py)).unwrap_or(false)
    }

    /// The user's variables.
    pub(super) fn list_variables(&self, py: Python<'_>) -> Vec<Variable> {
        let json = self.variables.call_method0(py, "list_variables");
        read(py, json).unwrap_or_default()
    }

    /// The fingerprints of the user's variables. None: there are too many.
    pub(super) fn fingerprints(&self, py: Python<'_>) -> Option<Fingerprints> {
        let json = self.variables.call_method0(py, "fingerprints");
        read(py, json).flatten()
    }

    /// Answers a question about a place in code. What is unknown gives an empty answer.
    pub(super) fn find(&self, py: Python<'_>, kind: IntrospectKind, code: &str, cursor: u32) -> Introspected {
        match kind {
            IntrospectKind::Completions => {
                let json = self.completion.call_method1(py, "complete", (code, cursor));
                let nothing = Completions { from: cursor, to: cursor, items: Vec::new() };
                let Completions { from, to, items } = read(py, json).unwrap_or(nothing);
                Introspected::Completions { from, to, items }
            }
            IntrospectKind::Object => {
                let json = self.inspection.call_method1(py, "inspect", (code, cursor));
                Introspected::Object(read::<Option<Box<Inspection>>>(py, json).flatten())
            }
        }
    }
}

fn read<T: DeserializeOwned>(py: Python<'_>, json: PyResult<Py<PyAny>>) -> Option<T> {
    let json: String = json.and_then(|json| json.extract(py)).ok()?;
    serde_json::from_str(&json).ok()
}

/// The BLAKE3 digest of some memory, in hex.
#[pyfunction]
pub(super) fn digest(memory: PyBuffer<u8>) -> PyResult<String> {
    Ok(Digest::of(bytes_of(&memory)?).to_string())
}
