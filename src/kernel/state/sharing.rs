//! Computes digests of variables, and which of them share objects (`sharing.py`), in throw-away
//! forks.

use super::package;
use crate::notebook::Digests;
use pyo3::prelude::*;

/// The Python module, imported in the root.
#[derive(Debug)]
pub(super) struct Sharing(Py<PyModule>);

impl Sharing {
    /// Imports the module.
    pub(super) fn boot(py: Python<'_>) -> PyResult<Self> {
        Ok(Self(package::import(py, "sharing")?.unbind()))
    }

    /// None: the digests cannot be computed.
    pub(super) fn digests(&self, py: Python<'_>) -> Option<Digests> {
        let json = self.0.call_method0(py, "digests").and_then(|json| json.extract::<String>(py));
        if super::capture::is_users_child() {
            // The code of a pickled object has forked, and this is the child.
            super::process_exit::leave();
        }
        serde_json::from_str(&json.ok()?).ok()
    }
}
