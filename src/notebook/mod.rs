//! The domain model: what a notebook is, as plain data and pure functions.
//!
//! Owns the product's terms (state, run, draft, output, command, event) and the graph that connects
//! them. Uses no clock, process, socket or disk: callers pass in times and ids, so that tests can
//! compare plain values.

mod command;
mod event;
mod graph;
mod id;
mod output;
mod rebuild;
mod pieces;
mod record;

pub use command::{
    Command, Completion, Ended, Inspection, LineageRange, Reply, RunSpec, Signature, Variable,
};
pub use event::{Event, Fact, Live, Snapshot};
#[cfg(test)]
pub(crate) use graph::SEEN;
pub use graph::{Notebook, Parts};
pub use id::{DraftId, ExecId, ROOT_NAME, StateId, StateRef};
pub use output::{MAX_RUN_OUTPUT_BYTES, MimeBundle, Output, Outputs, RunError, StreamName, Updated};
pub use pieces::Pieces;
pub use rebuild::Rebuild;
pub use record::{
    Asked, Base, Caret, Changes, Checkpoint, Digests, DiskStatus, Draft, DraftKind, Form, KeptCredentials,
    KeptLink, KeptSession, Missing, OnError, Participant, PlacedDraft, Prompt, Reading, ReceivedUpdate,
    Residency, RestoredFrom, Run, RunStatus, Saving, State, Symbols, TaskCheckpoint, TextUpdate,
};
