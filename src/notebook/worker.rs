//! Runs at workers: what a worker is asked to do, and what it reports.
//!
//! A task and a result are JSON documents in the object store. `crate::workers` signs them.

use super::{Checkpoint, ExecId, Metric, OnError, Output, RunError, RunStatus};
use crate::notebook::Resources;
use serde::{Deserialize, Serialize};

/// What a worker is asked to run. Two equal tasks have equal JSON, and so the same id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerTask {
    /// The run.
    pub exec_id: ExecId,
    /// The source.
    pub code: String,
    /// The checkpoint of the state that the code runs against; none for the root.
    pub parent: Option<Checkpoint>,
    /// Major and minor version of the notebook's Python. The worker must have the same.
    pub python: String,
    /// Seconds after which the run is interrupted.
    pub timeout: Option<f64>,
    /// Bytes of memory that the run may add to its state.
    pub run_memory: Option<u64>,
    /// What happens to the variables of a cell that fails.
    pub on_error: OnError,
    /// The expression of the run's metric.
    pub metric: Option<String>,
    /// How many threads numeric libraries may use.
    pub threads: Option<u32>,
}

/// The state that a run at a worker left. The blobs of its checkpoint are in the object store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerState {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The number in `In[n]`.
    pub exec_count: u32,
    /// Warnings about objects that branches of this state lose or share.
    pub warnings: Vec<String>,
    /// Whether branches may fork the state's process.
    pub forks: bool,
}

/// How a run at a worker has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerResult {
    /// The id of the task. It is a digest, so the result belongs to no other task.
    pub task: String,
    /// The name of the worker's node.
    pub node: String,
    /// The final status.
    pub status: RunStatus,
    /// Why the run failed.
    pub error: Option<RunError>,
    /// All outputs.
    pub outputs: Vec<Output>,
    /// The metric, if the task has one.
    pub metric: Option<Metric>,
    /// How long the code ran, in milliseconds.
    pub duration_ms: Option<f64>,
    /// The state that the run left.
    pub state: Option<WorkerState>,
    /// Bytes that the node fetched from the object store for this run.
    pub fetched_bytes: u64,
    /// Bytes of the run's state that the node stored.
    pub pushed_bytes: u64,
}

/// A change of the outputs of a run at a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputChange {
    /// Whether the outputs so far are replaced: they were cleared, or a display was updated.
    pub replaces: bool,
    /// New outputs. Text is appended to the last item if both are of the same stream.
    pub added: Vec<Output>,
}

impl OutputChange {
    /// What changed between two lists of outputs of one run; none if nothing did.
    pub fn between(before: &[Output], after: &[Output]) -> Option<Self> {
        if before == after {
            return None;
        }
        let Some((last, kept)) = before.split_last() else {
            return Some(Self { replaces: false, added: after.to_vec() });
        };
        let grown = after.strip_prefix(kept).and_then(|rest| rest.split_first());
        let more = grown.and_then(|(first, rest)| Some((growth(last, first)?, rest)));
        Some(match more {
            Some((more, rest)) => {
                Self { replaces: false, added: more.into_iter().chain(rest.iter().cloned()).collect() }
            }
            None => Self { replaces: true, added: after.to_vec() },
        })
    }
}

/// The text by which an item has grown, if it did. The outer option is none if it changed in
/// another way.
#[expect(clippy::option_option, reason = "the two absences differ")]
fn growth(before: &Output, after: &Output) -> Option<Option<Output>> {
    match (before, after) {
        (Output::Stream { name, text }, Output::Stream { name: same, text: longer }) if name == same => {
            let more = longer.strip_prefix(text.as_str())?;
            Some((!more.is_empty()).then(|| Output::stream(*name, more)))
        }
        _ => (before == after).then_some(None),
    }
}

/// What the server learns about a run at a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkerReport {
    /// An attempt to run the task has begun, at the node of this name. A later attempt replaces the
    /// outputs of an earlier one.
    Began {
        /// The name of the node.
        node: String,
    },
    /// The outputs of the attempt that began last have changed.
    Outputs(OutputChange),
    /// The run has ended. The result is signed, and the blobs of its state are in the notebook.
    Ended(Box<WorkerResult>),
    /// The run cannot be completed.
    Failed(RunError),
}

/// A run that is to be sent to the workers.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// The task.
    pub task: WorkerTask,
    /// What the engine is asked for.
    pub resources: Resources,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::{MimeBundle, StreamName};
    use serde_json::json;

    fn text(text: &str) -> Output {
        Output::stream(StreamName::Stdout, text)
    }

    fn shown(value: &str) -> Output {
        let data = json!({"text/plain": value}).as_object().cloned().unwrap_or_default();
        Output::DisplayData { data, metadata: MimeBundle::new(), display_id: None }
    }

    #[test]
    fn only_what_is_new_is_sent_unless_something_was_cleared_or_updated() {
        let between = |before: &[Output], after: &[Output]| OutputChange::between(before, after);
        let added = |added: &[Output]| Some(OutputChange { replaces: false, added: added.to_vec() });
        let replaced = |added: &[Output]| Some(OutputChange { replaces: true, added: added.to_vec() });
        assert_eq!(between(&[], &[]), None);
        assert_eq!(between(&[text("a")], &[text("a")]), None);
        assert_eq!(between(&[], &[text("a")]), added(&[text("a")]));
        assert_eq!(between(&[text("a")], &[text("ab"), shown("1")]), added(&[text("b"), shown("1")]));
        assert_eq!(
            between(&[shown("1"), text("a")], &[shown("1"), text("a"), text("c")]),
            added(&[text("c")])
        );
        assert_eq!(between(&[shown("1")], &[shown("1"), shown("2")]), added(&[shown("2")]));
        assert_eq!(between(&[text("a")], &[]), replaced(&[]));
        assert_eq!(between(&[text("ab")], &[text("a")]), replaced(&[text("a")]));
        assert_eq!(
            between(&[shown("1"), text("a")], &[shown("2"), text("a")]),
            replaced(&[shown("2"), text("a")])
        );
    }
}
