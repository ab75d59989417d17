//! What is asked about a state: its variables, what could be typed on, what an object is. The Python part is in `variables.py`,
//! `fingerprint.py` and `introspect.py`; all of it runs in forks that are thrown away.

use super::checkpoint::bytes_of;
use super::package;
use crate::blobs::Digest;
use crate::kernel::protocol::{Fingerprints, IntrospectKind, Introspected};
use crate::notebook::{Completion, Inspection, Variable};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The Python part, loaded in the root.
#[derive(Debug)]
pub(super) struct Asking {
    looking: Py<PyModule>,
    asking: Py<PyModule>,
}

#[derive(Deserialize)]
struct Completions {
    from: u32,
    to: u32,
    items: Vec<Completion>,
}

impl Asking {
    /// Loads the Python part, after the shell.
    pub(super) fn boot(py: Python<'_>) -> PyResult<Self> {
        let looking = package::import(py, "variables")?.unbind();
        let asking = package::import(py, "introspect")?.unbind();
        Ok(Self { looking, asking })
    }

    /// Loads a part of what the completer needs, while nobody waits; whether there is another.
    pub(super) fn prime(&self, py: Python<'_>, step: u32) -> bool {
        // It is only for speed.
        self.asking.call_method1(py, "prime", (step,)).and_then(|more| more.extract(py)).unwrap_or(false)
    }

    /// The user's variables.
    pub(super) fn list_variables(&self, py: Python<'_>) -> Vec<Variable> {
        let json = self.looking.call_method0(py, "look");
        read(py, json).unwrap_or_default()
    }

    /// What tells the user's variables from those of another state; none when there are too many.
    pub(super) fn fingerprints(&self, py: Python<'_>) -> Option<Fingerprints> {
        let json = self.looking.call_method0(py, "marks");
        read(py, json).flatten()
    }

    /// Answers a question about a place in code; what cannot be found out is an empty answer.
    pub(super) fn find(
        &self,
        py: Python<'_>,
        sought: IntrospectKind,
        code: &str,
        cursor: u32,
    ) -> Introspected {
        match sought {
            IntrospectKind::Completions => {
                let json = self.asking.call_method1(py, "complete", (code, cursor));
                let nothing = Completions { from: cursor, to: cursor, items: Vec::new() };
                let Completions { from, to, items } = read(py, json).unwrap_or(nothing);
                Introspected::Completions { from, to, items }
            }
            IntrospectKind::Object => {
                let json = self.asking.call_method1(py, "inspect", (code, cursor));
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
