//! Answers questions about a state, in throw-away forks: its variables (`variables.py`), digests
//! and shared objects (`sharing.py`), completions (`completion.py`), descriptions of objects
//! (`inspection.py`), parts of variables (`value_part.py`), syntax errors (`syntax.py`), values of
//! expressions (`evaluation.py`), rows of tables (`table.py`), and what a sweep needs
//! (`parameters.py`, `sampling.py`).

use super::checkpoint::bytes_of;
use super::package::PackageModule;
use super::{channel, process_exit};
use crate::blobs::Digest;
use crate::kernel::protocol::{Fingerprints, Introspected, Question};
use crate::notebook::{Completion, Digests, Inspection, Variable};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use serde::Deserialize;

#[derive(Debug)]
pub(super) struct Introspector {
    variables: PackageModule,
    completion: PackageModule,
    inspection: PackageModule,
    syntax: PackageModule,
    evaluation: PackageModule,
    sharing: PackageModule,
    table: PackageModule,
    value_part: PackageModule,
    parameters: PackageModule,
    sampling: PackageModule,
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
            syntax: import("syntax")?,
            evaluation: import("evaluation")?,
            sharing: import("sharing")?,
            table: import("table")?,
            value_part: import("value_part")?,
            parameters: import("parameters")?,
            sampling: import("sampling")?,
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
        if channel::is_users_child() {
            // The code of a pickled object has forked, and this is the child.
            process_exit::leave();
        }
        digests.ok()
    }

    /// Answers a question. The answer is empty if nothing was found.
    pub(super) fn find(&self, py: Python<'_>, question: Question) -> Introspected {
        match question {
            Question::Complete { code, cursor, above } => {
                let nothing = Completions { from: cursor, to: cursor, items: Vec::new() };
                let answer = self.completion.call(py, "complete", (code, cursor, above));
                let Completions { from, to, items } = answer.unwrap_or(nothing);
                Introspected::Completions { from, to, items }
            }
            Question::Inspect { code, cursor, above } => {
                let answer: PyResult<Option<Box<Inspection>>> =
                    self.inspection.call(py, "inspect", (code, cursor, above));
                Introspected::Object(answer.ok().flatten())
            }
            Question::Check { code } => {
                Introspected::Checked(self.syntax.call(py, "check", (code,)).unwrap_or_default())
            }
            Question::Parameters { .. } => {
                let request = serde_json::to_string(&question).unwrap_or_default();
                Introspected::Parameters(self.parameters.call(py, "find", (request,)).ok())
            }
            Question::Draw { .. } => {
                let request = serde_json::to_string(&question).unwrap_or_default();
                Introspected::Drawn(self.sampling.call(py, "draw", (request,)).ok())
            }
            Question::Evaluate { expressions } => {
                let answer = self.evaluation.call(py, "evaluate", (expressions,));
                Introspected::Values(answer.unwrap_or_default())
            }
            Question::Table { view } => {
                let view = serde_json::to_string(&view).unwrap_or_default();
                Introspected::Table(self.table.call(py, "page", (view,)).ok())
            }
            Question::ValuePart { view } => {
                let view = serde_json::to_string(&view).unwrap_or_default();
                Introspected::ValuePart(self.value_part.call(py, "view", (view,)).ok())
            }
        }
    }
}

/// The BLAKE3 digest of some memory, in hex.
#[pyfunction]
pub(super) fn digest(memory: PyBuffer<u8>) -> PyResult<String> {
    Ok(Digest::of(bytes_of(&memory)?).to_string())
}
