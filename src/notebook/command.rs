//! Commands: the requests that clients send to a notebook, and the replies.

use super::{
    Base, Caret, Checkpoint, CodeParameters, Digests, Draft, DraftId, Drawn, ExecId, Form, MergePlan,
    OnConflict, OnError, Outputs, Place, Reading, Resources, RunError, RunStatus, StateId, StateRef, SweepId,
    SweepSpec, Symbols, Table, TableView, TaskCheckpoint, TextUpdate, ValuePart, ValuePartView, Wanted,
    WidgetMessage,
};
use crate::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Deserialises a field that may be null, but not absent: only an explicit null removes the value.
/// (Without a function of its own, serde takes an absent `Option` as null.)
pub(crate) fn null_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}

/// A request to a notebook, from a WebSocket or REST client.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Run code against a state. Answered when the run has ended.
    Run(RunSpec),
    /// Interrupt a run. The run's process is killed if the interrupt has no effect in time, or if
    /// the run is interrupted a second time. If the run has ended, the code of its widgets is
    /// interrupted.
    Interrupt {
        /// The run.
        exec_id: ExecId,
    },
    /// Keep the variables that a failed cell had set, as a partial state. Possible for some minutes
    /// after the failure, while the run's `keepable` is true. Answered with `Ended`, as for a run.
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
    /// Send a message to a widget: an update or a custom message. The widget's code runs at a state
    /// that has no child yet, and may change the variables of that state. While a cell runs against
    /// the state, the message waits, and then goes to the state that the cell left. Answered when
    /// the widget's code has run.
    Widget {
        /// The state at which the client is: the last one of its lineage.
        state: StateId,
        /// The run among whose outputs the widget is. It gets what the widget's code prints.
        exec_id: ExecId,
        /// The message.
        message: WidgetMessage,
    },
    /// Make or change a draft.
    PutDraft {
        /// The new draft.
        draft: Draft,
        /// The draft of the same state after which the new draft is placed. Without it, the new
        /// draft comes first. Ignored if the draft exists and `in_place` is set. If that draft has
        /// moved or has become a state meanwhile, a new draft follows it there.
        #[serde(default)]
        after: Option<DraftId>,
        /// Whether to leave an existing draft in its place.
        #[serde(default)]
        in_place: bool,
        /// The version that the text is based on; 0 for a new draft. If the draft has another
        /// version, the change is refused as a conflict; if the draft was deleted, as not found.
        /// Without `base`, the text replaces any version.
        #[serde(default)]
        base: Option<u64>,
        /// The change from version `base` to this text, for the editors of other clients.
        #[serde(default)]
        update: Option<TextUpdate>,
    },
    /// Delete a draft.
    DeleteDraft {
        /// The draft. The field is not called `id`, because `id` is the number of the WebSocket
        /// message.
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
        #[serde(deserialize_with = "null_or_text")]
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
    /// Delete branches: states with all their descendants, and failed runs, as one deletion. Skips
    /// those that are gone; refused if all are.
    DeleteBranches {
        /// The first states of the branches.
        states: Vec<StateId>,
        /// Failed runs.
        #[serde(default)]
        attempts: Vec<ExecId>,
    },
    /// Remove a failed run.
    DropAttempt {
        /// The run.
        exec_id: ExecId,
    },
    /// Restore a deleted state or failed run, with all that was deleted with it.
    Restore {
        /// The id of the state or run.
        deleted: String,
    },
    /// Delete the deleted states and failed runs for good.
    EmptyTrash,
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
    /// Take the notebook's copy in the store over from the server that writes it. That server's
    /// copy is then read-only.
    TakeOver,
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
        /// Code that runs before the cell and has not run yet.
        #[serde(default)]
        above: String,
    },
    /// Describe the object at a cursor or, inside the parentheses of a call, the called function.
    Inspect {
        /// The state.
        state: StateId,
        /// The whole cell.
        code: String,
        /// The cursor, in Unicode code points from the beginning.
        cursor: u32,
        /// Code that runs before the cell and has not run yet.
        #[serde(default)]
        above: String,
    },
    /// Find the syntax error in code, without running it, as if the code ran against a state.
    Check {
        /// The state.
        state: StateId,
        /// The whole cell.
        code: String,
    },
    /// Take variables of another state into a new child of this state. Answered when the variables
    /// are taken, like a run.
    Merge(MergeSpec),
    /// Run a cell with many values of its parameters, each time as a branch of a state. Answered
    /// when the rows are known and begin to run.
    Sweep(Box<SweepSpec>),
    /// Begin no further row of a sweep, and interrupt the rows that run.
    StopSweep {
        /// The sweep.
        sweep: SweepId,
    },
    /// Keep one row of a sweep: the states of all other rows are deleted, except those from which
    /// someone has continued. `Restore` brings them back.
    Collapse {
        /// The sweep.
        sweep: SweepId,
        /// The index of the row that is kept, from 0. Without it, the best row.
        #[serde(default)]
        row: Option<usize>,
        /// A label for the state of that row.
        #[serde(default)]
        label: Option<String>,
    },
    /// Stop a sweep and delete it, with the states of its rows, except those from which someone has
    /// continued. The states go into the trash.
    DeleteSweep {
        /// The sweep.
        sweep: SweepId,
    },
    /// Find the parameters of a cell: what a sweep can change.
    FindParameters {
        /// The state that the cell would run against.
        state: StateId,
        /// The whole cell.
        code: String,
    },
    /// Evaluate expressions against a state, without changing it.
    Evaluate {
        /// The state.
        state: StateId,
        /// Python expressions, such as `r2` or `len(df)`.
        expressions: Vec<String>,
    },
    /// Read rows of a data frame in a state, sorted and filtered.
    Table {
        /// The state.
        state: StateId,
        /// Which rows.
        view: TableView,
    },
    /// Read what is in a variable: entries of a dict, list, tuple or set, or a picture.
    ValuePart {
        /// The state.
        state: StateId,
        /// Which part.
        view: ValuePartView,
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
        /// The cell that has the user's focus: the id of its draft or of its state.
        #[serde(default)]
        cell: Option<String>,
        /// The participant whom the client follows.
        #[serde(default)]
        follows: Option<String>,
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
    /// drafts after it move to that state. The runs of all versions of a cell name the same draft.
    #[serde(default)]
    pub draft: Option<DraftId>,
    /// The part of a lineage that this run replaces. The new state becomes a sibling of the part's
    /// first state. If a cell was inserted after that first state, the new state becomes its child.
    /// The later cells of the part become drafts below the new state.
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
    /// Whether the run is one of several versions of a cell that run beside each other. If it
    /// fails, the page still shows it among them.
    #[serde(default)]
    pub variant: bool,
    /// Whether to replay the base state if it has neither a process nor a usable checkpoint. If
    /// false, the run is refused in that case.
    #[serde(default)]
    pub replay: bool,
    /// What happens to the variables that the cell has set if it raises or is interrupted.
    #[serde(default)]
    pub on_error: OnError,
    /// Whether the run leaves nothing: no state, no record in the notebook and no event. Its
    /// outputs are in the reply, and `input()` cannot ask the user.
    #[serde(default)]
    pub passing: bool,
    /// Where the run runs.
    #[serde(default, rename = "where")]
    pub place: Place,
    /// What a run at a worker needs.
    #[serde(default)]
    pub resources: Resources,
    /// Whether the reply contains outputs and symbols. REST clients get no events and need this:
    /// when they request the outputs later, the state may already be deleted.
    #[serde(skip)]
    pub with_outputs: bool,
    /// An expression that is evaluated in the run's process when the cell has succeeded.
    #[serde(skip)]
    pub metric: Option<String>,
    /// How many threads numeric libraries may use while the cell runs. `None` leaves them alone.
    #[serde(skip)]
    pub threads: Option<u32>,
    /// Other states whose variables the code of a passing run reads.
    #[serde(skip)]
    pub reads: Vec<Reading>,
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
            variant: false,
            replay: false,
            on_error: OnError::Discard,
            passing: false,
            place: Place::Here,
            resources: Resources::default(),
            with_outputs: false,
            metric: None,
            threads: None,
            reads: Vec::new(),
        }
    }
}

/// The parameters of a merge: a run that takes variables of another state.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeSpec {
    /// The caller's id for the run. A repeated request with the same id gets the first answer.
    pub exec_id: ExecId,
    /// The state that the variables are taken into: the parent of the new state.
    pub into: StateRef,
    /// The state that the variables are taken from.
    pub from: StateRef,
    /// `"changed"`, for all that `from` has changed since the nearest common ancestor, or a list of
    /// variables.
    pub take: Wanted,
    /// What to do with variables that both states have changed.
    #[serde(default)]
    pub on_conflict: OnConflict,
    /// What to do with single variables that differ, and so with the variables that share objects
    /// with them.
    #[serde(default)]
    pub resolve: BTreeMap<String, OnConflict>,
    /// The name of the new state. Default: the state's id.
    #[serde(default)]
    pub new_state_name: Option<String>,
    /// Whether to return the plan only, and to take nothing.
    #[serde(default)]
    pub dry_run: bool,
}

fn environment() -> Form {
    Form::Environment
}

fn yes() -> bool {
    true
}

impl Command {
    /// Whether the answer may have megabytes.
    pub fn has_long_answer(&self) -> bool {
        matches!(
            self,
            Self::ListVariables { .. }
                | Self::Evaluate { .. }
                | Self::Table { .. }
                | Self::ValuePart { .. }
                | Self::Inspect { .. }
        )
    }

    /// Whether the command is allowed while the notebook is read-only, because it changes nothing
    /// that a copy has.
    pub fn keeps_the_notebook(&self) -> bool {
        match self {
            Self::Interrupt { .. }
            | Self::AnswerInput { .. }
            | Self::Load { .. }
            | Self::Replay { .. }
            | Self::TakeOver
            | Self::ListVariables { .. }
            | Self::Digest { .. }
            | Self::Complete { .. }
            | Self::Inspect { .. }
            | Self::Check { .. }
            | Self::FindParameters { .. }
            | Self::Evaluate { .. }
            | Self::Table { .. }
            | Self::ValuePart { .. }
            | Self::StopSweep { .. }
            | Self::Stand { .. } => true,
            Self::Run(_)
            | Self::KeepPartial { .. }
            | Self::Widget { .. }
            | Self::PutDraft { .. }
            | Self::DeleteDraft { .. }
            | Self::PutProse { .. }
            | Self::Label { .. }
            | Self::DeleteState { .. }
            | Self::DeleteBranches { .. }
            | Self::DropAttempt { .. }
            | Self::Restore { .. }
            | Self::EmptyTrash
            | Self::Reset
            | Self::Pin { .. }
            | Self::ForkAnyway { .. }
            | Self::Checkpoint { .. }
            | Self::Trust
            | Self::SaveTask { .. }
            | Self::Merge(_)
            | Self::Sweep(_)
            | Self::Collapse { .. }
            | Self::DeleteSweep { .. } => false,
        }
    }
}

/// The part of a lineage that a run replaces, from its first state to its last.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineageRange {
    /// The state whose cell was edited, or the state after which a cell was inserted.
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
        /// False if the run does not exist or has ended.
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
    /// What a merge would do.
    MergePlanned {
        /// The plan.
        plan: MergePlan,
        /// Why the merge would be refused; null if it can be carried out.
        refusal: Option<Problem>,
    },
    /// The rows of a sweep are known and begin to run.
    SweepStarted {
        /// The sweep.
        id: SweepId,
        /// The number of its rows.
        rows: usize,
    },
    /// One row of a sweep was kept.
    Collapsed {
        /// The state of that row.
        kept: StateId,
        /// The states that were deleted. `Restore` with any of them brings all of them back.
        deleted: Vec<StateId>,
        /// The states of other rows that stay, because someone has continued from them.
        continued: Vec<StateId>,
    },
    /// The parameters of a cell.
    Parameters(Box<CodeParameters>),
    /// Rows that a sampler has drawn. Only for the session itself.
    #[serde(skip)]
    RowsDrawn(Drawn),
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
    /// Code was checked.
    Checked {
        /// The first syntax error; null if there is none.
        error: Option<SyntaxProblem>,
    },
    /// The values of expressions.
    Evaluated {
        /// A value for each expression, in their order.
        values: Vec<Evaluated>,
    },
    /// Rows of a data frame.
    Table {
        /// The rows.
        table: Box<Table>,
    },
    /// A part of a variable.
    ValuePart {
        /// The part.
        part: Box<ValuePart>,
    },
    /// The code of a widget has run.
    Handled,
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
    /// What the run printed and showed, if `RunSpec::with_outputs` is set. Absent when empty.
    #[serde(skip_serializing_if = "Outputs::is_empty")]
    #[schemars(with = "Option<Vec<super::Output>>")]
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

/// A syntax error in code that has not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyntaxProblem {
    /// Start of the wrong text, in code points from the beginning of the cell.
    pub from: u32,
    /// Its end, in the same unit.
    pub to: u32,
    /// The message of Python.
    pub message: String,
}

/// The value of an expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluated {
    /// `repr(v)`, shortened; if the expression failed, the error, for example `NameError: name 'r2'
    /// is not defined`.
    pub text: String,
    /// The value as a number; null if it is not a finite number.
    pub number: Option<f64>,
    /// Whether the expression failed.
    pub failed: bool,
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
