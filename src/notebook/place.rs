//! Where runs run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a run runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// In a process of this server.
    #[default]
    Here,
    /// At a worker of the engine that `--workers` names.
    Workers,
}

/// Where the rows of a sweep run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RowPlace {
    /// In processes of this server.
    #[default]
    Here,
    /// At workers.
    Workers,
    /// As many as there are cores here, and the others at workers.
    Both,
}

impl RowPlace {
    /// Whether rows run at workers.
    pub fn uses_workers(self) -> bool {
        self != Self::Here
    }
}

/// What a run at a worker needs. The engine finds a worker that has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Number of GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<f64>,
    /// Memory, for example `16G`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
}

impl Resources {
    /// Whether the run needs nothing in particular.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The worker of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunWorker {
    /// The name of its node; null until the run has begun.
    pub node: Option<String>,
    /// Bytes that the node fetched from the object store for this run.
    pub fetched_bytes: u64,
    /// Bytes of the run's state that the node stored.
    pub pushed_bytes: u64,
}
