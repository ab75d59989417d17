//! Digests of this process' variables, and which of them share objects (`sharing.py`). In forks that are thrown away.

use crate::notebook::Digests;
use pyo3::prelude::*;

/// Loads the Python part, after those that it imports.
pub(super) fn boot(py: Python<'_>) -> PyResult<()> {
    let text = std::ffi::CString::new(include_str!("sharing.py"))?;
    PyModule::from_code(py, &text, c"<ratoon sharing>", c"_ratoon_sharing").map(drop)
}

/// The digests; none when they cannot be made.
pub(super) fn digests(py: Python<'_>) -> Option<Digests> {
    let json = py.import("_ratoon_sharing").and_then(|m| m.call_method0("digests")?.extract::<String>());
    if super::capture::is_users_child() {
        // Something that was pickled has forked, and this is the child.
        super::leave();
    }
    serde_json::from_str(&json.ok()?).ok()
}
