//! Checkpoints of tasks: plain values that clients store in numbered versions.

use super::core::{Core, not_found};
use crate::notebook::{Fact, Reply, Residency, StateId, TaskCheckpoint};
use crate::problem::{Kind, Problem};
use serde_json::{Map, Value};

/// Adds a checkpoint to a task's sequence.
pub(super) fn save(
    core: &mut Core,
    task_id: String,
    state: Option<StateId>,
    values: Map<String, Value>,
    token_usage: Map<String, Value>,
    metadata: Map<String, Value>,
) -> Reply {
    if task_id.is_empty() {
        let how = "give the task a name";
        return Reply::Refused(Problem::new(Kind::BadRequest, "save a task", "its task_id is empty", how));
    }
    if let Some(id) = &state
        && core.notebook.state(id).is_none_or(|s| s.residency == Residency::Deleted)
    {
        return Reply::Refused(not_found("state", id));
    }
    let version = core.notebook.task(&task_id).and_then(|all| all.last()).map_or(1, |last| last.version + 1);
    let created_at = core.now_ms;
    let checkpoint = TaskCheckpoint { task_id, version, state, values, token_usage, metadata, created_at };
    core.notebook.add_task(checkpoint.clone());
    core.publish(Fact::TaskSaved { checkpoint: checkpoint.clone() });
    Reply::TaskSaved { checkpoint: Box::new(checkpoint) }
}
