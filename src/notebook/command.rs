//! What a client may ask of a notebook, and what it is answered.

use super::{
    Base, Checkpoint, Digests, Draft, DraftId, ExecId, Form, OnError, Outputs, Reading, RunError, RunStatus,
    StateId, Symbols, TaskCheckpoint,
};
use crate::problem::Problem;
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
        /// The draft that this is: when the run succeeds it becomes the state, and the drafts after it move on. For a cell
        /// that ran and runs again the draft that it was: all its versions name the same one.
        #[serde(default)]
        draft: Option<DraftId>,
        /// The line that this run is another version of: a sibling of its first state, or, for a cell that was inserted
        /// behind that state, a child of it. The later cells of the line become drafts under what it leaves.
        #[serde(default)]
        instead_of: Option<Line>,
        /// Seconds after which the run is interrupted.
        #[serde(default)]
        timeout: Option<f64>,
        /// Bytes of memory that the run may add to what its state holds, its subprocesses counted. Beyond them it is ended.
        #[serde(default)]
        run_memory: Option<u64>,
        /// Whether `input()` may ask. A client that cannot answer sets it to false.
        #[serde(default = "yes")]
        allow_stdin: bool,
        /// Whether a state that can only come back by running its cells again is brought back so. Else the run is refused.
        #[serde(default)]
        replay: bool,
        /// What becomes of what the cell had set when it raises or is interrupted.
        #[serde(default)]
        on_error: OnError,
        /// Whether the answer has the outputs with it: who hears of them no other way would lose them with a state that is
        /// deleted meanwhile.
        #[serde(skip)]
        with_outputs: bool,
        /// Other states whose variables the code reads: then the run leaves nothing behind, not even itself.
        #[serde(skip)]
        reads: Option<Vec<Reading>>,
    },
    /// Stop a run: politely, and if that has no effect in time (or when asked twice) by killing its head.
    Interrupt {
        /// The run.
        exec_id: ExecId,
    },
    /// Keep what a cell had set until it failed, as a state that is marked as partial. Possible for some minutes after the
    /// failure (`keepable`). Answered like a run that has ended.
    KeepPartial {
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
        /// The version that the text grew from; 0: none, the draft is new. When it has another by now the change is refused
        /// as a conflict; when it is gone, as not found. Without one the text is taken as it is.
        #[serde(default)]
        base: Option<u64>,
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
    /// Delete a state. Those that grew from it live on, unless the whole subtree is to go.
    DeleteState {
        /// The state.
        state: StateId,
        /// Whether all that grew from it goes, too.
        #[serde(default)]
        subtree: bool,
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
    /// Fork a state for its branches although it warns of that, or no longer.
    ForkAnyway {
        /// The state.
        state: StateId,
        /// Whether it is to be forked.
        anyway: bool,
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
    #[serde(rename = "look_at_variables")]
    ListVariables {
        /// The state.
        state: StateId,
    },
    /// Digests of a state's variables, and which of them share objects.
    Digest {
        /// The state.
        state: StateId,
    },
    /// What could be typed on at a place in code that would run against a state.
    Complete {
        /// The state.
        state: StateId,
        /// The whole cell.
        code: String,
        /// Where the cursor stands, in Unicode code points from the beginning.
        cursor: u32,
    },
    /// What the object at a place in code is, or, within the parentheses of a call, the function that is called.
    Inspect {
        /// The state.
        state: StateId,
        /// The whole cell.
        code: String,
        /// Where the cursor stands, in Unicode code points from the beginning.
        cursor: u32,
    },
    /// Says where the client stands. Only over a WebSocket: whoever has left is forgotten.
    Stand {
        /// The state it looks at.
        state: StateId,
        /// What the others are to call it; at most 40 characters.
        #[serde(default)]
        name: Option<String>,
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
    /// The state whose cell was edited, or behind which a cell was inserted.
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
        /// Which variables it read, assigned and deleted, when that was asked for.
        #[serde(skip)]
        symbols: Option<Symbols>,
        /// What was seen of it that its user should know.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
        /// Whether what it had set until then can still be kept. Absent where it cannot.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keepable: bool,
        /// What it printed and showed, if that was wished.
        #[serde(skip)]
        outputs: Outputs,
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
    /// Digests of a state's variables.
    Digested {
        /// Them.
        digests: Digests,
    },
    /// What could be typed on.
    Completions {
        /// Where the text begins that a completion replaces, in code points.
        from: u32,
        /// Where it ends.
        to: u32,
        /// Best first; at most 500.
        items: Vec<Completion>,
    },
    /// What an object is; none when there is nothing known at this place.
    Inspected {
        /// The object.
        object: Option<Box<Inspection>>,
    },
    /// The client's place is known.
    Standing {
        /// Which of the people it is.
        id: String,
    },
    /// It cannot be done.
    Refused(Problem),
}

/// One way to type on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Completion {
    /// What replaces the text.
    pub text: String,
    /// `function`, `class`, `module`, `instance`, `keyword`, `param`, `property`, `path`, `magic` or another word of Jedi's.
    pub kind: String,
    /// Of a function: its parameters, as `(a, b=1)`.
    pub signature: Option<String>,
}

/// What is known of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Inspection {
    /// How the code calls it.
    pub name: String,
    /// `type(v).__name__`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// `repr(v)`, cut when it is long; none where it would say nothing (functions, modules).
    pub repr: Option<String>,
    /// How it is called, parameter by parameter; none when it cannot be called.
    pub signature: Option<Signature>,
    /// Its docstring, cut when it is long.
    pub doc: Option<String>,
    /// Where it is written, as a path and a line; none for what C made.
    pub place: Option<String>,
}

/// How a function is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Signature {
    /// The parameters as they are written: `x: int = 3`, `*args`, `/`.
    pub parameters: Vec<String>,
    /// What follows `->`.
    pub returns: Option<String>,
    /// Which of the parameters is being typed; none outside of a call's parentheses.
    pub active: Option<u32>,
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
    /// How much memory it takes, in bytes, as far as that is known cheaply.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Of its content: two variables with equal fingerprints have equal values. None where that is not known.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// Whether the fingerprint is of samples only, as the value is large: then equal fingerprints promise nothing.
    #[serde(default)]
    pub sampled: bool,
    /// Of arrays, series and frames: what is in them.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub summary: Option<Value>,
}
