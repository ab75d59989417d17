//! What the courier of a notebook is told.

use crate::notebook::{Dispatch, ExecId};

/// What the courier is told.
pub(super) enum Order {
    /// Send a run.
    Dispatch(ExecId, u64, Box<Dispatch>),
    /// A run is over.
    Recall(ExecId),
    /// The engine says that a task has ended.
    Ended(String),
    /// The engine cannot complete a task; why, as a sentence.
    Failed(String, String),
    /// The notebook is closed. Its tasks stay at the workers.
    Close,
}
