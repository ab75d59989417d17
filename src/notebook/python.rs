//! The Python that a notebook uses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Python that runs the cells of a notebook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Python {
    /// The path of the executable.
    pub path: String,
    /// The version of the executable, for example "3.12.1".
    pub version: String,
    /// Whether the notebook chose this Python. If false, it is the server's default.
    pub is_chosen: bool,
    /// Why this Python cannot run cells, as a sentence; null if it can.
    pub problem: Option<String>,
}

impl Python {
    /// Major and minor version, for example "3.12". Pythons of one series can load each other's
    /// checkpoints.
    pub fn series(&self) -> &str {
        let end = self.version.match_indices('.').nth(1).map_or(self.version.len(), |(at, _)| at);
        &self.version[..end]
    }
}

/// The Python that a notebook has chosen, in the form in which the store saves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPython {
    /// The path of the executable.
    pub path: String,
    /// The version of the executable when it was last checked.
    pub version: String,
}
