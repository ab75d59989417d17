//! A checkpoint in the sequence of an agent's task.

use super::StateId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A checkpoint in a task's sequence: a pointer to a state, or plain values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskCheckpoint {
    /// The task.
    pub task_id: String,
    /// 1, 2, 3, … within the task; never reused.
    pub version: u64,
    /// The state, if the checkpoint points at one.
    pub state: Option<StateId>,
    /// Plain values.
    pub values: Map<String, Value>,
    /// Token counts, under names that the caller chooses.
    pub token_usage: Map<String, Value>,
    /// The caller's own data.
    pub metadata: Map<String, Value>,
    /// Milliseconds since the Unix epoch.
    pub created_at: f64,
}
