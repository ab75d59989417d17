//! Answers questions about a state, in throw-away forks: its variables (`variables.py`), digests
//! and shared objects (`sharing.py`), completions (`completion.py`) and descriptions of objects
//! (`inspection.py`).

use super::checkpoint::bytes_of;
use super::package::PackageModule;
use super::{capture, process_exit};
use crate::blobs::Digest;
use crate::kernel::protocol::{Fingerprints, IntrospectKind, Introspected};
use crate::notebook::{Completion, Digests, Inspection, Variable};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use serde::Deserialize;

#[derive(Debug)]
pub(super) struct Introspector {
    variables: PackageModule,
    completion: PackageModule,
    inspection: PackageModule,
    sharing: PackageModule,
}

#[derive(Deserialize)]
struct Completions {
    from: u32,
    to: u32,
    items: Vec<Completion>,
}

impl Introspector {
    /// Imports the modules. The shell must have been imported before.
    pub(super) fn boot(py: Python<'_>) -> PyResult<Self> {
        let import = |name| PackageModule::import(py, name);
        Ok(Self {
            variables: import("variables")?,
            completion: import("completion")?,
            inspection: import("inspection")?,
            sharing: import("sharing")?,
        })
    }

    /// Loads one part of what the completer needs. Returns whether other parts are left.
    pub(super) fn prime(&self, py: Python<'_>, step: u32) -> bool {
        // This only makes the first completion faster, so errors do not matter.
        self.completion
            .0
            .call_method1(py, "prime", (step,))
            .and_then(|more| more.extract(py))
            .unwrap_or(false)
    }

    /// The user's variables.
    pub(super) fn list_variables(&self, py: Python<'_>) -> Vec<Variable> {
        self.variables.call(py, "list_variables", ()).unwrap_or_default()
    }

    /// The fingerprints of the user's variables. None if there are too many.
    pub(super) fn fingerprints(&self, py: Python<'_>) -> Option<Fingerprints> {
        self.variables.call(py, "fingerprints", ()).ok().flatten()
    }

    /// Digests of the user's variables, and which of them share objects. None if they cannot be
    /// computed.
    pub(super) fn digests(&self, py: Python<'_>) -> Option<Digests> {
        let digests = self.sharing.call(py, "digests", ());
        if capture::is_users_child() {
            // The code of a pickled object has forked, and this is the child.
            process_exit::leave();
        }
        digests.ok()
    }

    /// Answers a question about a place in code. The answer is empty if nothing was found.
    pub(super) fn find(&self, py: Python<'_>, kind: IntrospectKind, code: &str, cursor: u32) -> Introspected {
        match kind {
            IntrospectKind::Completions => {
                let nothing = Completions { from: cursor, to: cursor, items: Vec::new() };
                let answer = self.completion.call(py, "complete", (code, cursor));
                let Completions { from, to, items } = answer.unwrap_or(nothing);
                Introspected::Completions { from, to, items }
            }
            IntrospectKind::Object => {
                let answer = self.inspection.call::<Option<Box<Inspection>>>(py, "inspect", (code, cursor));
                Introspected::Object(answer.ok().flatten())
            }
        }
    }
}

/// The BLAKE3 digest of some memory, in hex.
#[pyfunction]
pub(super) fn digest(memory: PyBuffer<u8>) -> PyResult<String> {
    Ok(Digest::of(bytes_of(&memory)?).to_string())
}
