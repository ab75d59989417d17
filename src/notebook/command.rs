//! Commands: the requests that clients send to a notebook, and the replies.

use super::{
    Base, Caret, Checkpoint, Digests, Draft, DraftId, ExecId, Form, OnError, Outputs, Reading, RunError,
    RunStatus, StateId, StateRef, Symbols, TaskCheckpoint, TextUpdate,
};
use crate::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A request to a notebook. WebSocket and REST use the same words.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Run code against a state. Answered when the run has ended.
    Run(RunSpec),
    /// Interrupt a run. Its process is killed if the interrupt has no effect in time, or if the run
    /// is interrupted a second time.
    Interrupt {
        /// The run.
        exec_id: ExecId,
    },
    /// Keep the variables that a failed cell had set, as a partial state. Possible for some minutes
    /// after the failure (`keepable`). The reply is `Ended`, as for a run.
    KeepPartial {
        /// The run.
        exec_id: ExecId,
    },
    /// Answer a call of `input()`.
    AnswerInput {
        /// The run whose code called `input()`.
        exec_id: ExecId,
        /// What the user typed, without the newline.
        text: String,
    },
    /// Make or change a draft.
    PutDraft {
        /// The new draft.
        draft: Draft,
        /// The draft of the same state after which the new draft is placed. Without it, the new
        /// draft comes first. Ignored if the draft exists and `in_place` is set.
        #[serde(default)]
        after: Option<DraftId>,
        /// Whether to leave an existing draft in its place.
        #[serde(default)]
        in_place: bool,
        /// The version that the text is based on; 0 for a new draft. A change based on another
        /// version is refused as a conflict, a change of a deleted draft as not found. Without
        /// `base` the text always wins.
        #[serde(default)]
        base: Option<u64>,
        /// The change from version `base` to this text, for the editors of other clients.
        #[serde(default)]
        update: Option<TextUpdate>,
    },
    /// Delete a draft.
    DeleteDraft {
        /// The draft. (Not `id`: that is the message's own number on the wire.)
        draft: DraftId,
    },
    /// Change the Markdown above a state's code.
    PutProse {
        /// The state.
        state: StateId,
        /// All Markdown cells above the state's code.
        prose: Vec<String>,
    },
    /// Set or remove a state's label.
    Label {
        /// The state.
        state: StateRef,
        /// The label; null removes it.
        label: Option<String>,
    },
    /// Delete a state. Its descendants remain unless `subtree` is set.
    DeleteState {
        /// The state.
        state: StateRef,
        /// Whether to delete the descendants too.
        #[serde(default)]
        subtree: bool,
    },
    /// Remove a failed run.
    DropAttempt {
        /// The run.
        exec_id: ExecId,
    },
    /// Stop all runs, and remove all runs, drafts and states except the root.
    Reset,
    /// Pin or unpin a state. A pinned state stays in memory as long as possible.
    Pin {
        /// The state.
        state: StateRef,
        /// Whether to pin it.
        pinned: bool,
    },
    /// Allow or forbid forks of the process of a state whose warnings advise against forks.
    ForkAnyway {
        /// The state.
        state: StateRef,
        /// Whether to allow forks.
        anyway: bool,
    },
    /// Write a state's checkpoint now. Answered when the checkpoint is on disk.
    Checkpoint {
        /// The state.
        state: StateRef,
        /// What the checkpoint holds.
        #[serde(default = "environment")]
        form: Form,
        /// The user's label for the checkpoint.
        #[serde(default)]
        label: Option<String>,
        /// The caller's own data.
        #[serde(default)]
        metadata: Map<String, Value>,
    },
    /// Restore a state by running the cells of its lineage again, from the nearest ancestor that is
    /// complete. Answered when the state is restored.
    Replay {
        /// The state.
        state: StateRef,
    },
    /// Make sure that a process holds a state. Loads the state's checkpoint if needed. Answered
    /// when the process is ready. REST only.
    #[serde(skip)]
    Load {
        /// The state.
        state: StateRef,
        /// Whether to replay a state that has neither a process nor a checkpoint. If false, the
        /// command is refused for such a state.
        replay: bool,
    },
    /// Trust all checkpoints of the notebook, including those of other installs. Code in a trusted
    /// checkpoint runs when the checkpoint is loaded.
    Trust,
    /// Add a checkpoint to a task's sequence.
    SaveTask {
        /// The task.
        task_id: String,
        /// The state that the checkpoint points at.
        #[serde(default)]
        state: Option<StateId>,
        /// Plain values.
        #[serde(default)]
        values: Map<String, Value>,
        /// Token counts, under names that the caller chooses.
        #[serde(default)]
        token_usage: Map<String, Value>,
        /// The caller's own data.
        #[serde(default)]
        metadata: Map<String, Value>,
    },
    /// List a state's variables.
    #[serde(rename = "look_at_variables")]
    ListVariables {
        /// The state.
        state: StateRef,
    },
    /// Compute digests of a state's variables, and find out which variables share objects.
    Digest {
        /// The state.
        state: StateRef,
    },
    /// List completions for code at a cursor, as if the code ran against a state.
    Complete {
        /// The state.
        state: StateId,
        /// The whole cell.
        code: String,
        /// The cursor, in Unicode code points from the beginning.
        cursor: u32,
    },
    /// Describe the object at a cursor or, inside the parentheses of a call, the called function.
    Inspect {
        /// The state.
        state: StateId,
        /// The whole cell.
        code: String,
        /// The cursor, in Unicode code points from the beginning.
        cursor: u32,
    },
    /// Report which state the client looks at. WebSocket only: presence ends with the connection.
    Stand {
        /// The state that the client looks at.
        state: StateId,
        /// The visitor's name, which other clients show; at most 40 characters.
        #[serde(default)]
        name: Option<String>,
        /// The user's caret in the draft being edited.
        #[serde(default)]
        caret: Option<Caret>,
    },
}

/// The parameters of a run, from a REST or WebSocket client.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// The caller's id for the run. A repeated request with the same id gets the first answer.
    pub exec_id: ExecId,
    /// The source.
    pub code: String,
    /// The state or run to run the code against.
    pub on: Base,
    /// The name of the new state. Default: the state's id.
    #[serde(default)]
    pub new_state_name: Option<String>,
    /// The draft whose text is run. When the run succeeds, the draft becomes the new state, and the
    /// drafts after it move to that state. All versions of a cell name the same draft.
    #[serde(default)]
    pub draft: Option<DraftId>,
    /// The part of a lineage that this run replaces. The new state becomes a sibling of the part's
    /// first state or, if a cell was inserted behind that state, its child. The later cells of the
    /// part become drafts below the new state.
    #[serde(default)]
    pub instead_of: Option<LineageRange>,
    /// Seconds after which the run is interrupted.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// Bytes of memory that the run and its subprocesses may use in addition to the memory of the
    /// state that it runs against. A run that uses more is ended.
    #[serde(default)]
    pub run_memory: Option<u64>,
    /// Whether `input()` may ask the user. Clients that cannot answer set this to false.
    #[serde(default = "yes")]
    pub allow_stdin: bool,
    /// Whether to replay the base state if it has neither a process nor a usable checkpoint. If
    /// false, the run is refused in that case.
    #[serde(default)]
    pub replay: bool,
    /// What happens to the variables that the cell has set if it raises or is interrupted.
    #[serde(default)]
    pub on_error: OnError,
    /// Whether the reply contains outputs and symbols. Clients that get no events need this: they
    /// could not read the outputs of a state that is deleted before they ask for it.
    #[serde(skip)]
    pub with_outputs: bool,
    /// Other states whose variables the code reads. A run with this field leaves no state, and its
    /// record is removed when it ends.
    #[serde(skip)]
    pub reads: Option<Vec<Reading>>,
}

impl RunSpec {
    /// A run with default parameters. `input()` may not ask the user.
    pub fn new(exec_id: ExecId, code: impl Into<String>, on: Base) -> Self {
        Self {
            exec_id,
            code: code.into(),
            on,
            new_state_name: None,
            draft: None,
            instead_of: None,
            timeout: None,
            run_memory: None,
            allow_stdin: false,
            replay: false,
            on_error: OnError::Discard,
            with_outputs: false,
            reads: None,
        }
    }
}

fn environment() -> Form {
    Form::Environment
}

fn yes() -> bool {
    true
}

/// The part of a lineage that a run replaces, from its first state to its last.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineageRange {
    /// The state whose cell was edited, or behind which a cell was inserted.
    pub state: StateId,
    /// The last state of the lineage that the page showed: `state` itself or a descendant.
    pub tip: StateId,
}

/// The reply to a command.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reply {
    /// The command was carried out.
    Done,
    /// A run has ended.
    Ended(Ended),
    /// A checkpoint is on disk.
    Checkpointed {
        /// The checkpoint.
        checkpoint: Box<Checkpoint>,
    },
    /// A new checkpoint of a task is on disk.
    TaskSaved {
        /// The checkpoint.
        checkpoint: Box<TaskCheckpoint>,
    },
    /// All checkpoints of the notebook are trusted.
    Trusted {
        /// Number of checkpoints that were not trusted before.
        count: usize,
    },
    /// Whether there was a run to interrupt.
    Interrupted {
        /// False if there is no such run, or it has ended.
        interrupted: bool,
    },
    /// The variables of a state.
    Variables {
        /// The variables, in the order in which they were first assigned.
        variables: Vec<Variable>,
    },
    /// Digests of a state's variables.
    Digested {
        /// The digests, and which variables share objects.
        digests: Digests,
    },
    /// Completions at a cursor.
    Completions {
        /// Start of the text that a completion replaces, in code points from the beginning of the
        /// cell.
        from: u32,
        /// End of that text, in the same unit.
        to: u32,
        /// The completions, the best first; at most 500.
        items: Vec<Completion>,
    },
    /// A description of the object at the cursor.
    Inspected {
        /// The description; null if nothing is known at the cursor.
        object: Option<Box<Inspection>>,
    },
    /// The client's presence is noted.
    Standing {
        /// The client's id among the participants.
        id: String,
    },
    /// The command was refused.
    Refused(Problem),
}

/// How a run ended, and the state that it left.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ended {
    /// The run.
    pub exec_id: ExecId,
    /// How the run ended.
    pub status: RunStatus,
    /// The state that the run left; null if there is none.
    pub state: Option<StateId>,
    /// The name of the state that the run left.
    pub state_name: Option<String>,
    /// Why the run failed; null if it succeeded.
    pub error: Option<RunError>,
    /// The variables that the run read, assigned and deleted, if `RunSpec::with_outputs` is set.
    #[serde(skip)]
    pub symbols: Option<Symbols>,
    /// Warnings for the user, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Whether `KeepPartial` can still keep the variables that the run had set. Absent when false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keepable: bool,
    /// What the run printed and showed, if `RunSpec::with_outputs` is set.
    #[serde(skip)]
    pub outputs: Outputs,
}

/// One completion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Completion {
    /// The text to insert.
    pub text: String,
    /// `function`, `class`, `module`, `instance`, `keyword`, `param`, `property`, `path`, `magic`,
    /// or another kind that Jedi reports.
    pub kind: String,
    /// The parameters of a function, as `(a, b=1)`.
    pub signature: Option<String>,
}

/// A description of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inspection {
    /// The expression in the code whose value is the object.
    pub name: String,
    /// `type(v).__name__`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// `repr(v)`, shortened; null for functions and modules, whose `repr` has no useful content.
    pub repr: Option<String>,
    /// The object's signature; null if the object cannot be called.
    pub signature: Option<Signature>,
    /// The object's docstring, cut if it is long.
    pub doc: Option<String>,
    /// Where the object's source is, as a path and a line; null for objects defined in C.
    pub place: Option<String>,
}

/// The signature of a callable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Signature {
    /// The parameters in Python's syntax: `x: int = 3`, `*args`, `/`.
    pub parameters: Vec<String>,
    /// The return annotation: the text that follows `->`.
    pub returns: Option<String>,
    /// Index of the parameter at the cursor; null outside the parentheses of a call.
    pub active: Option<u32>,
}

/// A variable, for display.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variable {
    /// The variable's name.
    pub name: String,
    /// `type(v).__name__`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// `repr(v)`, cut if it is long.
    pub repr: String,
    /// The value's shape or length, if it has one.
    #[serde(default)]
    pub size: Option<String>,
    /// The value's size in memory, in bytes; null if measuring would be slow.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Fingerprint of the value: equal fingerprints mean equal values. Null if unknown.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// Whether the fingerprint covers only samples of a large value. Equal fingerprints then do not
    /// imply equal values.
    #[serde(default)]
    pub sampled: bool,
    /// A summary of the content of arrays, series and frames.
    #[serde(default)]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub summary: Option<Value>,
}
