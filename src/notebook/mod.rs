//! The domain model: what a notebook is, as plain data and pure functions.
//!
//! Owns the product's terms (state, run, draft, output, command, event) and the graph that connects
//! them. Uses no clock, process, socket or disk: callers pass in times and ids, so that tests can
//! compare plain values.

mod checkpoint;
mod command;
mod credentials;
mod disk;
mod draft;
mod ending;
mod event;
mod graph;
mod id;
mod merge;
mod metric;
mod output;
mod participant;
mod pieces;
mod place;
mod python;
mod rebuild;
mod run;
mod size;
mod state;
mod sweep;
mod table;
mod task;
mod value_part;
mod widget;
mod worker;

pub use checkpoint::{ChangedOnLoad, Checkpoint, Form, Missing};
pub(crate) use command::null_or_text;
pub use command::{
    Command, Completion, Ended, Evaluated, Inspection, LineageRange, MergeSpec, Reply, RunSpec, Signature,
    SyntaxProblem, Variable,
};
pub use credentials::{KeptCredentials, KeptLink, KeptSession};
pub use disk::{DiskStatus, OffsitePhase, OffsiteStatus};
pub use draft::{Draft, DraftKind, ImportedFile, PlacedDraft, ReceivedUpdate, TextUpdate};
pub use ending::{Cause, RunError, RunStatus};
pub use event::{Event, Fact, Live, Snapshot};
#[cfg(test)]
pub(crate) use graph::SEEN;
pub use graph::{Deletion, Notebook, Parts, Restored, Trash};
pub use id::{DraftId, ExecId, ROOT_NAME, StateId, StateRef, SweepId};
pub use merge::{Changed, MergePlan, MergeRule, OnConflict, Take, TakenName, Wanted, other_state};
pub use metric::Metric;
pub use output::{MAX_RUN_OUTPUT_BYTES, MimeBundle, Output, Outputs, StreamName, Updated};
pub use participant::{AgentStatus, Caret, Participant, SandboxRules};
pub use pieces::Pieces;
pub use place::{Place, Resources, RowPlace, RunWorker};
pub use python::{ChosenPython, Python};
pub use rebuild::Rebuild;
pub use run::{Asked, Base, OnError, Prompt, Reading, Run, Symbols};
pub use state::{Changes, Digests, Residency, RestoredFrom, Saving, State};
pub use sweep::{
    CodeParameters, CodeRange, Drawn, Goal, MAX_ROWS, NumberRange, Parameter, PlannedRows, Range, RowEnd,
    Rungs, Sampler, SamplerKind, Slot, StopRule, Sweep, SweepOptions, SweepRow, SweepSpec, SweepStatus,
};
pub use table::{Table, TableAnswer, TableView};
pub use task::TaskCheckpoint;
pub use value_part::{ValuePart, ValuePartView};
pub use widget::{WidgetBuffer, WidgetMessage, WidgetModel, Widgets};
pub use worker::{Dispatch, OutputChange, WorkerReport, WorkerResult, WorkerState, WorkerTask};
