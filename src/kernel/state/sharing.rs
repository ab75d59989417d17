//! Digests of this process' variables, and which of them share objects (`sharing.py`). In forks
//! that are thrown away.

use super::package;
use crate::notebook::Digests;
use pyo3::prelude::*;

/// The Python part, loaded in the root.
#[derive(Debug)]
pub(super) struct Sharing(Py<PyModule>);

impl Sharing {
    /// Loads the Python part, after those that it imports.
    pub(super) fn boot(py: Python<'_>) -> PyResult<Self> {
        Ok(Self(package::import(py, "sharing")?.unbind()))
    }

    /// The digests; none when they cannot be made.
    pub(super) fn digests(&self, py: Python<'_>) -> Option<Digests> {
        let json = self.0.call_method0(py, "digests").and_then(|json| json.extract::<String>(py));
        if super::capture::is_users_child() {
            // Something that was pickled has forked, and this is the child.
            super::process_exit::leave();
        }
        serde_json::from_str(&json.ok()?).ok()
    }
}
