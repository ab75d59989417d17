//! Whether the notebook can be written, and the copy of it off this machine.

use crate::problem::{Kind, Problem};
use schemars::JsonSchema;
use serde::Serialize;

/// The copy of the notebook in a store off this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct OffsiteStatus {
    /// What happens to the copy.
    pub phase: OffsitePhase,
    /// When everything was pushed, since when the store does not answer, or since when another
    /// server writes the copy, in milliseconds since the Unix epoch; null if that is unknown.
    pub at: Option<f64>,
    /// The reason, if the copy waits or another server writes it.
    pub why: Option<String>,
    /// The remedy, as an instruction.
    pub how: Option<String>,
}

/// What happens to the copy of a notebook in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OffsitePhase {
    /// Changes are being pushed.
    #[default]
    Pushing,
    /// The copy has everything that was on disk at this time.
    Pushed,
    /// The store does not answer, or refuses. Pushing goes on by itself when it works again.
    Waiting,
    /// Another server writes the copy, or the store has a newer one. This copy is read-only.
    Held,
}

/// Why the notebook cannot be written to the disk at present.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiskStatus {
    /// The action that fails, for example "write to /home/ann/main.ratoon".
    pub what: String,
    /// The reason.
    pub why: String,
    /// The remedy, as an instruction.
    pub how: String,
}

impl From<DiskStatus> for Problem {
    fn from(DiskStatus { what, why, how }: DiskStatus) -> Self {
        Self::new(Kind::Disk, what, why, how)
    }
}
