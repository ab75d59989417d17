//! What a client may ask of a notebook, and what it is answered.

use super::{
    Base, Checkpoint, Draft, DraftId, ExecId, Form, RunError, RunStatus, StateId, TaskCheckpoint, Trouble,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A wish of a client. Imperatives; the same words over WebSocket and REST.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Run code against a state. Answered when the run has ended.
    Run {
        /// The caller's id: a repeat of the same request is answered, not run again.
        exec_id: ExecId,
        /// The source.
        code: String,
        /// What to run it against.
        on: Base,
        /// The name that the new state is to have; without it, its id.
        #[serde(default)]
        new_state_name: Option<String>,
        /// The draft that this is: when the run succeeds it becomes the state, and the drafts after it move on.
        #[serde(default)]
        draft: Option<DraftId>,
        /// The line that this run is another version of: its first state's sibling is to grow, and the later cells of the
        /// line become drafts under it.
        #[serde(default)]
        instead_of: Option<Line>,
        /// Seconds after which the run is interrupted.
        #[serde(default)]
        timeout: Option<f64>,
        /// Whether `input()` may ask. A door that cannot answer says no.
        #[serde(default = "yes")]
        allow_stdin: bool,
        /// Whether a state that can only come back by running its cells again is brought back so. Else the run is refused.
        #[serde(default)]
        replay: bool,
    },
    /// Stop a run: politely, and if that has no effect in time (or when asked twice) by killing its head.
    Interrupt {
        /// The run.
        exec_id: ExecId,
    },
    /// Answer an `input()`.
    AnswerInput {
        /// The run that asks.
        exec_id: ExecId,
        /// What the user typed, without the newline.
        text: String,
    },
    /// Make or change a draft.
    PutDraft {
        /// The draft as it is to be.
        draft: Draft,
        /// The draft of the same state that it is to stand behind; none: first. Not looked at when the draft is there
        /// already and `in_place` is set.
        #[serde(default)]
        after: Option<DraftId>,
        /// Leave it where it stands.
        #[serde(default)]
        in_place: bool,
    },
    /// Throw a draft away.
    DeleteDraft {
        /// The draft. (Not `id`: that is the message's own number on the wire.)
        draft: DraftId,
    },
    /// Change the markdown that stands before a state's code.
    PutProse {
        /// The state.
        state: StateId,
        /// All its markdown cells.
        prose: Vec<String>,
    },
    /// Name a state for people; none takes the label away.
    Label {
        /// The state.
        state: StateId,
        /// The label.
        label: Option<String>,
    },
    /// Delete a state. Those that grew from it live on.
    DeleteState {
        /// The state.
        state: StateId,
    },
    /// Forget a run that has failed.
    DropAttempt {
        /// The run.
        exec_id: ExecId,
    },
    /// Stop all runs and forget all states but the root.
    Reset,
    /// Keep a state in memory as long as that is possible, or no longer.
    Pin {
        /// The state.
        state: StateId,
        /// Whether it is to be kept.
        pinned: bool,
    },
    /// Write a state's checkpoint now. Answered when it is on disk.
    Checkpoint {
        /// The state.
        state: StateId,
        /// What it is to hold.
        #[serde(default = "environment")]
        form: Form,
        /// A name for people.
        #[serde(default)]
        label: Option<String>,
        /// The caller's own data.
        #[serde(default)]
        metadata: Map<String, Value>,
    },
    /// Bring a state back by running the cells of its lineage again, from the nearest ancestor that is whole. Answered when it
    /// is there.
    Replay {
        /// The state.
        state: StateId,
    },
    /// Trust the notebook's checkpoints, whoever wrote them: code in them runs when they are used.
    Trust,
    /// Add a checkpoint to a task's sequence.
    SaveTask {
        /// The task.
        task_id: String,
        /// The state that it is to point at.
        #[serde(default)]
        state: Option<StateId>,
        /// Plain values.
        #[serde(default)]
        values: Map<String, Value>,
        /// Counters of tokens.
        #[serde(default)]
        token_usage: Map<String, Value>,
        /// The caller's own data.
        #[serde(default)]
        metadata: Map<String, Value>,
    },
    /// Look at a state's variables.
    LookAtVariables {
        /// The state.
        state: StateId,
    },
}

fn environment() -> Form {
    Form::Environment
}

fn yes() -> bool {
    true
}

/// A line of states that ran, from the one to be replaced to the one it ends in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The state whose cell was edited.
    pub state: StateId,
    /// The last state of the line that the page showed: `state` itself or a descendant.
    pub tip: StateId,
}

/// What a command is answered.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reply {
    /// It is done, and there is nothing to say.
    Done,
    /// A run has ended.
    Ended {
        /// The run.
        exec_id: ExecId,
        /// How it ended.
        status: RunStatus,
        /// The state it left.
        state: Option<StateId>,
        /// The name that state was given.
        state_name: Option<String>,
        /// Why it failed.
        error: Option<RunError>,
    },
    /// A checkpoint is on disk.
    Checkpointed {
        /// The checkpoint.
        checkpoint: Box<Checkpoint>,
    },
    /// A task has another checkpoint, on disk.
    TaskSaved {
        /// The checkpoint.
        checkpoint: Box<TaskCheckpoint>,
    },
    /// Checkpoints are trusted now.
    Trusted {
        /// How many were not before.
        count: usize,
    },
    /// Whether there was a run to interrupt.
    Interrupted {
        /// False: no such run, or it has ended.
        interrupted: bool,
    },
    /// The variables of a state.
    Variables {
        /// In the order in which they were first assigned.
        variables: Vec<Variable>,
    },
    /// It cannot be done.
    Refused(Refused),
}

/// A variable as a person would want to see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// `type(v).__name__`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// `repr(v)`, cut when it is long.
    pub repr: String,
    /// Shape or length, where it has one.
    #[serde(default)]
    pub size: Option<String>,
}

/// Why a command was not carried out. Control flow branches on `code`; people read the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error, ToSchema)]
#[error("{what}: {why}")]
pub struct Refused {
    /// A stable word: `not_found`, `conflict`, `lost`, `busy`, `bad_request`, `too_large`, `forbidden`, `timeout`, `kernel`,
    /// `closed`, `disk`.
    pub code: &'static str,
    /// What was wished, with its id.
    pub what: String,
    /// Why it cannot be.
    pub why: String,
    /// What to do about it.
    pub how: String,
}

impl From<Trouble> for Refused {
    fn from(Trouble { what, why, how }: Trouble) -> Self {
        Self::new("disk", what, why, how)
    }
}

impl Refused {
    /// Makes one from its four parts.
    pub fn new(
        code: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        how: impl Into<String>,
    ) -> Self {
        Self { code, what: what.into(), why: why.into(), how: how.into() }
    }
}
