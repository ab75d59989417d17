//! The domain model: what a notebook is, as plain data and pure functions.
//!
//! Owns the product's terms (state, run, draft, output, command, event) and the graph that connects
//! them. Uses no clock, process, socket or disk: callers pass in times and ids, so that tests can
//! compare plain values.

mod command;
mod event;
mod graph;
mod id;
mod merge;
mod metric;
mod output;
mod pieces;
mod place;
mod rebuild;
mod record;
mod size;
mod sweep;
mod table;
mod widget;
mod worker;

pub use command::{
    Command, Completion, Ended, Evaluated, Inspection, LineageRange, MergeSpec, Reply, RunSpec, Signature,
    SyntaxProblem, Variable,
};
pub use event::{Event, Fact, Live, Snapshot};
#[cfg(test)]
pub(crate) use graph::SEEN;
pub use graph::{Deletion, Notebook, Parts, Restored, Trash};
pub use id::{DraftId, ExecId, ROOT_NAME, StateId, StateRef, SweepId};
pub use merge::{Changed, MergePlan, MergeRule, OnConflict, Take, TakenName, Wanted, other_state};
pub use metric::Metric;
pub use output::{Cause, MAX_RUN_OUTPUT_BYTES, MimeBundle, Output, Outputs, RunError, StreamName, Updated};
pub use pieces::Pieces;
pub use place::{Place, Resources, RowPlace, RunWorker};
pub use rebuild::Rebuild;
pub use record::{
    AgentStatus, Asked, Base, Caret, ChangedOnLoad, Changes, Checkpoint, ChosenPython, Digests, DiskStatus,
    Draft, DraftKind, Form, ImportedFile, KeptCredentials, KeptLink, KeptSession, Missing, OffsitePhase,
    OffsiteStatus, OnError, Participant, PlacedDraft, Prompt, Python, Reading, ReceivedUpdate, Residency,
    RestoredFrom, Run, RunStatus, SandboxRules, Saving, State, Symbols, TaskCheckpoint, TextUpdate,
};
pub use sweep::{
    CodeParameters, CodeRange, Drawn, Goal, MAX_ROWS, NumberRange, Parameter, PlannedRows, Range, RowEnd,
    Rungs, Sampler, SamplerKind, Slot, StopRule, Sweep, SweepOptions, SweepRow, SweepSpec, SweepStatus,
};
pub use table::{Table, TableAnswer, TableView};
pub use widget::{WidgetBuffer, WidgetMessage, WidgetModel, Widgets};
pub use worker::{Dispatch, OutputChange, WorkerReport, WorkerResult, WorkerState, WorkerTask};
