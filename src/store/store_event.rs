//! What the store reports.

use crate::notebook::{Checkpoint, DiskStatus, StateId};

/// A report of the store's thread.
#[derive(Debug)]
pub enum StoreEvent {
    /// The facts up to this number are on disk.
    Saved {
        /// The number of the last saved fact.
        up_to: u64,
    },
    /// Writing failed. Nothing after the last `Saved` is on disk. Further facts are dropped until a
    /// `rewrite`.
    Failed {
        /// What failed, why, and what the user can do.
        trouble: DiskStatus,
    },
    /// Writing works again. The session must call `rewrite` now.
    Usable,
    /// The result of `Store::keep_checkpoint`.
    Kept {
        /// The checkpoint's state.
        state: StateId,
        /// The stored checkpoint, or why it was not added.
        checkpoint: Result<Box<Checkpoint>, String>,
    },
    /// The states whose checkpoints were signed, or why signing failed.
    Trusted(Result<Vec<StateId>, DiskStatus>),
}
