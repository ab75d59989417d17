//! The records of a notebook: states, runs, drafts. The page and the store get whole records.

use super::{DraftId, ExecId, Metric, Outputs, RunError, RunWorker, StateId, StateRef, Widgets};
use crate::problem::{Kind, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A node of the graph: the namespace after a cell ran. Immutable except for its name, label and
/// prose; until it has a child, its widgets may change its variables too.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct State {
    /// The state's id. No other state ever gets this id.
    pub id: StateId,
    /// The name that REST clients use. A name refers to the state that got this name last.
    pub name: String,
    /// The state that the cell ran against; null for the root.
    pub parent: Option<StateId>,
    /// The state from which the cell took variables: a second parent. Absent for most states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_from: Option<StateId>,
    /// The run that made the state; null for the root.
    pub exec_id: Option<ExecId>,
    /// The number in `In[n]` of the state's cell: how many cells ran on its lineage.
    pub exec_count: u32,
    /// Milliseconds since the Unix epoch, with fractions.
    pub created_at: f64,
    /// The user's label.
    pub label: Option<String>,
    /// The Markdown cells above the state's code.
    pub prose: Vec<String>,
    /// Warnings about objects that branches of this state lose or share with each other, as
    /// sentences.
    pub warnings: Vec<String>,
    /// Whether branches may fork the state's process. If false, a fork would lose a library's
    /// threads, and branches load the state's checkpoint instead.
    pub forks: bool,
    /// Whether the user allows forks although a warning advises against them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fork_anyway: bool,
    /// Whether to keep the state in memory as long as possible.
    pub pinned: bool,
    /// Where the state's variables are.
    #[serde(rename = "living")]
    pub residency: Residency,
    /// Since when the state is in memory, in milliseconds since the Unix epoch. Absent if it is
    /// not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_memory_since: Option<f64>,
    /// When the state was deleted, in milliseconds since the Unix epoch. States that one command
    /// deleted have the same time. Absent unless the state was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<f64>,
    /// The state's checkpoint, if there is one. An environment checkpoint replaces a data
    /// checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// The progress of the state's checkpoint.
    pub saving: Saving,
    /// How the state was restored to memory; null if it was not restored since its cell ran.
    #[serde(rename = "revival")]
    pub restored_from: Option<RestoredFrom>,
    /// Memory that only the state's frozen process uses, in bytes, as last measured.
    pub memory_bytes: Option<u64>,
    /// Memory that the state's frozen process shares with other processes, in bytes, as last
    /// measured.
    #[serde(default)]
    pub shared_bytes: Option<u64>,
    /// How the state's cell changed the variables; null until that is known.
    pub changes: Option<Changes>,
    /// Whether the state's cell failed. Such a state holds the variables that the cell had set
    /// before it failed. Absent when false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

impl State {
    /// A state whose cell has just ended. The state's name is its id.
    pub fn new(id: StateId, parent: Option<StateId>, exec_id: Option<ExecId>, now_ms: f64) -> Self {
        Self {
            name: id.as_str().to_owned(),
            id,
            parent,
            taken_from: None,
            exec_id,
            exec_count: 0,
            created_at: now_ms,
            label: None,
            prose: Vec::new(),
            warnings: Vec::new(),
            forks: true,
            fork_anyway: false,
            pinned: false,
            residency: Residency::Freezing,
            in_memory_since: None,
            deleted_at: None,
            checkpoint: None,
            saving: Saving::Idle,
            restored_from: None,
            memory_bytes: None,
            shared_bytes: None,
            changes: None,
            partial: false,
        }
    }

    /// Forgets what is known about the state's process, which has ended.
    pub(crate) fn forget_process(&mut self) {
        (self.restored_from, self.memory_bytes, self.shared_bytes) = (None, None, None);
    }

    /// Notes that the state's variables are somewhere else now.
    pub(crate) fn move_to(&mut self, residency: Residency, now_ms: f64) {
        if self.residency != residency {
            self.in_memory_since = (residency == Residency::Memory).then_some(now_ms);
            self.residency = residency;
        }
    }
}

/// How a cell changed the variables of the state that it ran against, as sorted lists of names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Changes {
    /// New variables.
    pub added: Vec<String>,
    /// Variables whose fingerprint or address has changed.
    pub changed: Vec<String>,
    /// Deleted variables.
    pub removed: Vec<String>,
    /// Number of further changes that are not listed.
    pub more: u32,
}

/// The variables that a run's code uses, as sorted lists of names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbols {
    /// Existing variables that the code reads. The list comes from an analysis of the code, and may
    /// contain variables that the run did not read.
    pub accessed: Vec<String>,
    /// Assigned variables.
    pub modified: Vec<String>,
    /// Deleted variables.
    pub deleted: Vec<String>,
}

/// Digests of the variables of a state, and which variables share objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Digests {
    /// Digests by variable name, as 64 hexadecimal digits; null for a value that cannot be read.
    /// Equal digests mean equal values.
    pub hashes: BTreeMap<String, Option<String>>,
    /// Groups of variables that share mutable objects. Each variable is in exactly one group.
    pub groups: Vec<Vec<String>>,
    /// For each group, a digest of the values and of the objects that they share; null if a value
    /// cannot be read.
    pub fingerprints: Vec<Option<String>>,
    /// For each function or class of the notebook, the variables that it reads as globals.
    #[serde(default)]
    pub reads: BTreeMap<String, Vec<String>>,
}

/// A state whose variables a run reads, and the alias that the code uses for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The alias.
    pub alias: String,
    /// The state.
    pub state: StateRef,
    /// Whether the code contains the alias. If false, the state is not read.
    pub is_named: bool,
}

/// A visitor of the notebook: one browser tab, or an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Participant {
    /// The visitor's id, which is not reused while the notebook is open.
    pub id: String,
    /// Tells people apart who have chosen no name, and gives each a colour: 0 for the owner, and
    /// from 1 for the browsers of others and for agents. It stays when a page is loaded again.
    pub number: usize,
    /// The name that the visitor chose.
    pub name: Option<String>,
    /// `owner`, `run` or `view`.
    pub scope: String,
    /// The state that the visitor looks at.
    pub state: StateId,
    /// The visitor's caret in the draft being edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caret: Option<Caret>,
    /// The cell that has the visitor's focus: the id of its draft or of its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// The participant whom the visitor's page follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// Set if the visitor is an agent: a program that uses the notebook over MCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentStatus>,
}

/// Whether an agent may run cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentStatus {
    /// Whether a person has stopped the agent.
    pub stopped: bool,
}

/// A caret or selection in a draft. Positions count UTF-16 code units, as the page's editors do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Caret {
    /// The draft.
    pub draft: DraftId,
    /// The version of the draft that the positions belong to.
    pub version: u64,
    /// The fixed end of the selection; equal to `head` when nothing is selected.
    pub anchor: u32,
    /// The moving end of the selection.
    pub head: u32,
}

/// What cells may do on the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SandboxRules {
    /// The directories below which cells may write; null: everywhere.
    pub write: Option<Vec<String>>,
    /// Whether cells have a network.
    pub network: bool,
}

impl SandboxRules {
    /// The rules in a sentence.
    pub fn in_words(&self) -> String {
        let network = if self.network { "" } else { "have no network" };
        let write = match &self.write {
            Some(dirs) => format!("may write only below {}, and to temporary files", dirs.join(", ")),
            None => String::new(),
        };
        let joint = if write.is_empty() || network.is_empty() { "" } else { "; they " };
        format!("Cells {write}{joint}{network}.")
    }
}

/// Where a state's variables are, and so whether a cell can run against the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Residency {
    /// The state's cell has ended, but its frozen process is not ready yet. Runs may start.
    Freezing,
    /// A frozen process holds the state.
    Memory,
    /// No process holds the state. A run against it loads its checkpoint.
    Disk,
    /// The state has no process and no usable checkpoint. A replay can restore it.
    Replay,
    /// The user deleted the state. It stays in the graph only while it has descendants or open
    /// runs.
    Deleted,
}

impl Residency {
    /// Whether a run may start against a state with this residency.
    pub fn can_run(self) -> bool {
        self.is_in_memory() || self == Self::Disk
    }

    /// Whether a process holds the variables.
    pub fn is_in_memory(self) -> bool {
        matches!(self, Self::Freezing | Self::Memory)
    }
}

/// The Python that runs the cells of a notebook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Python {
    /// The path of the executable.
    pub path: String,
    /// The version of the executable, for example "3.12.1".
    pub version: String,
    /// Whether the notebook chose this Python. If false, it is the server's default.
    pub is_chosen: bool,
    /// Why this Python cannot run cells, as a sentence; null if it can.
    pub problem: Option<String>,
}

impl Python {
    /// Major and minor version, for example "3.12". Pythons of one series can load each other's
    /// checkpoints.
    pub fn series(&self) -> &str {
        let end = self.version.match_indices('.').nth(1).map_or(self.version.len(), |(at, _)| at);
        &self.version[..end]
    }
}

/// The Python that a notebook has chosen, in the form in which the store saves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPython {
    /// The path of the executable.
    pub path: String,
    /// The version of the executable when it was last checked.
    pub version: String,
}

/// A checkpoint: the content of a state on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    /// The BLAKE3 digest of the checkpoint's manifest, in hex. Equal content has equal ids.
    pub checkpoint_id: String,
    /// The id of the checkpoint's notebook.
    #[serde(rename = "session_id")]
    pub notebook_id: String,
    /// The checkpoint's state.
    pub state_id: StateId,
    /// Whether the checkpoint is an environment or data.
    pub form: Form,
    /// Milliseconds since the Unix epoch.
    pub created_at: f64,
    /// The user's label.
    pub label: Option<String>,
    /// The caller's own data.
    pub metadata: Map<String, Value>,
    /// Uncompressed size, in bytes.
    pub namespace_size_bytes: u64,
    /// Bytes on disk, including content that is shared with other checkpoints.
    pub compressed_size_bytes: u64,
    /// Bytes on disk that no earlier checkpoint had already stored.
    pub new_bytes: u64,
    /// `namespace_size_bytes / compressed_size_bytes`.
    pub compression_ratio: f64,
    /// Number of names that the checkpoint holds.
    pub entry_count: u32,
    /// Whether the checkpoint holds import statements and the sources of functions and classes.
    pub includes_source: bool,
    /// The checkpoint of the nearest ancestor that had a checkpoint when this one was written. The
    /// two checkpoints share unchanged content.
    pub parent_checkpoint: Option<String>,
    /// The number in `In[n]` of the state.
    pub execution_count: u32,
    /// Total run time of the cells on the state's lineage, in milliseconds.
    pub total_execution_time_ms: f64,
    /// Names that could not be saved, with reasons.
    pub missing: Vec<Missing>,
    /// Variables that change when they are loaded, because a library's own pickling
    /// changes them.
    #[serde(default)]
    pub changed: Vec<ChangedOnLoad>,
    /// Why loading was not tried, so that `changed` may lack variables. Null if it was tried, or if
    /// the checkpoint holds nothing that a library pickles in its own way.
    #[serde(default)]
    pub not_compared: Option<String>,
    /// Major and minor version of the Python that wrote the checkpoint, for example "3.12"; null if
    /// unknown. A Python of another series loads only the plain values.
    #[serde(default)]
    pub python: Option<String>,
    /// Whether this install has signed the checkpoint (its HMAC matches). If not, only its plain
    /// values are loaded, never its pickled objects.
    pub is_trusted: bool,
}

impl Checkpoint {
    /// Whether this Python may load the checkpoint's pickled objects: this install has signed them,
    /// and a Python of the same series wrote them.
    pub fn is_loadable_by(&self, python: &Python) -> bool {
        let is_same = |theirs: &str| theirs == python.series();
        self.is_trusted && self.python.as_deref().is_none_or(is_same)
    }

    /// Whether loading the checkpoint into this Python restores the state completely: no name is
    /// missing, and the pickled objects may be loaded.
    pub fn is_whole_for(&self, python: &Python) -> bool {
        self.is_loadable_by(python) && self.form == Form::Environment && self.missing.is_empty()
    }
}

/// What a checkpoint holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Everything that can be pickled, including functions, classes and settings. Loading runs
    /// code.
    Environment,
    /// Plain values only. Loading runs no code.
    Data,
}

/// A name that a checkpoint could not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// The name.
    pub name: String,
    /// `type(v).__name__`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Why the name could not be saved, as a sentence.
    pub reason: String,
}

/// A variable that a checkpoint holds, but not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedOnLoad {
    /// The name.
    pub name: String,
    /// `type(v).__name__`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// What is different after loading, for example "a Mol lost .note".
    pub what: String,
}

/// The progress of a state's checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "now", rename_all = "lowercase")]
pub enum Saving {
    /// No save is in progress. The list of states shows `Done`, `Waiting` or `Never` instead
    /// (`Notebook::outlook`).
    #[default]
    Idle,
    /// The checkpoint is on disk.
    Done,
    /// The checkpoint will be written when no cell is waiting.
    Waiting,
    /// No checkpoint will be written unless a client asks for it.
    Never {
        /// The reason.
        why: String,
    },
    /// The checkpoint is being written.
    Writing {
        /// The progress, from 0 to 100.
        percent: u8,
    },
    /// The last save failed. The state is unharmed, and the save will be retried.
    Failed {
        /// The reason.
        why: String,
    },
}

/// How a state was restored to memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum RestoredFrom {
    /// From its checkpoint.
    Checkpoint {
        /// Names that the checkpoint could not restore.
        missing: Vec<Missing>,
    },
    /// By running the cells of its lineage again.
    Replay,
}

/// The base of a run: what its code runs against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Base {
    /// A state.
    State(StateId),
    /// The state that an earlier run leaves. The new run waits for the earlier one, and is aborted
    /// if that one fails.
    Run(ExecId),
    /// A state by its name or id. Occurs only in requests: the machine replaces it with `State`,
    /// and records never contain it.
    #[serde(skip)]
    Name(String),
}

/// A run: one execution of a cell. The page shows a failed run as a red leaf beside the states.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Run {
    /// The caller's id for the run.
    pub exec_id: ExecId,
    /// The state or run that the code runs against. An earlier run is replaced by the state that it
    /// leaves, once that state exists.
    pub on: Base,
    /// The source as it was sent.
    pub code: String,
    /// The run's status.
    pub status: RunStatus,
    /// The draft that was run, if the page started the run.
    pub draft: Option<DraftId>,
    /// The number in `In[n]` that the cell of an imported run had in the file. For other runs, the
    /// number is in the run's state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec_count: Option<u32>,
    /// The cell of the imported file that the run's cell comes from, counted from 0 (see
    /// `Draft::imported_cell`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_cell: Option<u32>,
    /// What the run printed and showed, and its widgets.
    #[serde(flatten, serialize_with = "with_widgets")]
    #[schemars(with = "Shown<'static>")]
    pub outputs: Outputs,
    /// Why the run failed; null if it did not fail.
    pub error: Option<RunError>,
    /// Warnings for the user, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Whether `keep_partial` can still keep the variables that the run had set before it failed.
    /// Absent when false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keepable: bool,
    /// The prompt of an `input()` that waits for an answer.
    pub prompt: Option<Prompt>,
    /// When the code began to run, in milliseconds since the Unix epoch.
    pub started_at: Option<f64>,
    /// How long the code ran, in milliseconds.
    pub duration_ms: Option<f64>,
    /// The state that the run left. A failed run leaves a state only if its variables were kept.
    pub state: Option<StateId>,
    /// The variables that the run read, assigned and deleted, if the client asked for them. Stored,
    /// but not sent with the run.
    #[serde(skip)]
    pub symbols: Option<Symbols>,
    /// The run's metric, if it belongs to a sweep that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// The worker, if the run does not run in a process of this server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<RunWorker>,
    /// When the run was deleted, in milliseconds since the Unix epoch; `None` in the graph.
    #[serde(skip)]
    pub deleted_at: Option<f64>,
    /// The parts of the original request. A repeated request is recognised by them.
    pub asked: Asked,
}

impl Run {
    /// A requested run that has not begun.
    pub fn new(exec_id: ExecId, on: Base, code: String, draft: Option<DraftId>, asked: Asked) -> Self {
        Self {
            exec_id,
            on,
            code,
            status: RunStatus::Queued,
            draft,
            exec_count: None,
            imported_cell: None,
            outputs: Outputs::default(),
            error: None,
            warnings: Vec::new(),
            keepable: false,
            prompt: None,
            started_at: None,
            duration_ms: None,
            state: None,
            symbols: None,
            metric: None,
            worker: None,
            deleted_at: None,
            asked,
        }
    }
}

/// The outputs of a run as the page gets them.
#[derive(Serialize, JsonSchema)]
struct Shown<'a> {
    /// What the run printed and showed.
    #[schemars(with = "Vec<super::Output>")]
    outputs: &'a Outputs,
    /// The widgets that the run made or changed, by the ids of their models. Absent when empty.
    #[serde(skip_serializing_if = "Widgets::is_empty")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, super::WidgetModel>>")]
    widgets: &'a Widgets,
}

fn with_widgets<S: Serializer>(outputs: &Outputs, serializer: S) -> Result<S::Ok, S::Error> {
    Shown { outputs, widgets: &outputs.widgets }.serialize(serializer)
}

/// The parts of a run's request that a repeated request must have in common with the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// The base of the requested run.
    pub on: Base,
    /// The requested name of the new state.
    pub new_state_name: Option<String>,
}

/// What happens to the variables that a cell has set if it raises or is interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The variables are discarded: the run leaves no state.
    #[default]
    Discard,
    /// The variables are kept: the run leaves a partial state.
    Keep,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// The run waits for an earlier run, or for its head.
    Queued,
    /// The run's cell is running.
    Running,
    /// The run left a state.
    Ok,
    /// The cell raised.
    Error,
    /// The run was stopped by the user, by its time limit, or because the run it waited for failed.
    Interrupted,
    /// The run's process exited or was killed before the cell ended.
    Crashed,
    /// Ratoon did not run the code: its outputs were imported from a file. The page shows the
    /// outputs below the run's draft until that draft runs.
    Imported,
}

impl RunStatus {
    /// Whether the run is over.
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// A prompt: the code asks its user for input (`input()`, `getpass()`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prompt {
    /// The number of the prompt in its process, so that a late answer to an earlier prompt is
    /// ignored.
    pub number: u32,
    /// The text that is shown before the input.
    pub text: String,
    /// Whether to hide what is typed.
    pub password: bool,
}

/// A cell that has not run yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The draft's id, which the page makes.
    pub id: DraftId,
    /// The state that the draft would run against.
    pub on: StateId,
    /// The draft is placed above the cell of this child of the state `on`. Without a child, or if
    /// the child was deleted, the draft comes last in the lineage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<StateId>,
    /// Code or markdown.
    pub kind: DraftKind,
    /// The draft's text.
    pub source: String,
    /// The version: 1, 2, 3, …, increased with each change of the text or kind. Only the server
    /// counts; values from clients are ignored.
    #[serde(default)]
    pub version: u64,
    /// The last update of each client that recently changed the draft, the newest last. A client
    /// that reconnects finds out here which of its updates have arrived. Values from clients are
    /// ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub received: Vec<ReceivedUpdate>,
    /// The cell of the imported file that the draft comes from, counted from 0. An export writes
    /// that cell's metadata again. An existing draft keeps its number, whatever a client sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_cell: Option<u32>,
}

/// The `.ipynb` that a notebook was imported from. The store has its bytes; an export repeats
/// whatever was not changed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFile {
    /// The BLAKE3 digest of the file, in hexadecimal digits: the name of its blob.
    pub digest: String,
    /// The length of the file, in bytes.
    pub bytes: usize,
}

/// The last update of a draft that arrived from a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceivedUpdate {
    /// The client.
    pub client: String,
    /// The update's number.
    pub number: u64,
}

/// A draft, and its place among the drafts of its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlacedDraft {
    /// The draft.
    pub draft: Draft,
    /// The draft of the same state that this draft follows; null for the first.
    pub after: Option<DraftId>,
    /// The change of the text from the previous version to this version, if the client sent the
    /// change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<TextUpdate>,
}

/// The change from the previous version of a draft's text to the new one. Editors use it to move
/// carets and unsent changes. The message also contains the new text, which wins if the two
/// disagree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextUpdate {
    /// The id of the client that made the change. Each client chooses its id, and recognises its
    /// own changes by this id.
    pub client: String,
    /// The number of this update among the client's updates of this draft, from 1. A repeated
    /// number changes nothing. After an update was refused, the client's later updates are refused
    /// too. An update without a number is never a repetition.
    #[serde(default)]
    pub number: u64,
    /// The change, as the JSON of CodeMirror's `ChangeSet`. Each item is the length of unchanged
    /// text, or a list with the length of deleted text and the inserted lines. The server does not
    /// interpret the change.
    pub changes: Vec<Value>,
}

/// The kind of a draft's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DraftKind {
    /// Python.
    Code,
    /// Markdown.
    Markdown,
}

/// A checkpoint in a task's sequence: a pointer to a state, or plain values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskCheckpoint {
    /// The task.
    pub task_id: String,
    /// 1, 2, 3, … within the task; never reused.
    pub version: u64,
    /// The state, if the checkpoint points at one.
    pub state: Option<StateId>,
    /// Plain values.
    pub values: Map<String, Value>,
    /// Token counts, under names that the caller chooses.
    pub token_usage: Map<String, Value>,
    /// The caller's own data.
    pub metadata: Map<String, Value>,
    /// Milliseconds since the Unix epoch.
    pub created_at: f64,
}

/// A share link as stored: without its token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptLink {
    /// The link's public id.
    pub id: String,
    /// The name of the notebook that the link opens. The link is invalid in a copy of the notebook
    /// under another name.
    pub notebook: String,
    /// SHA-256 of the token, in hex.
    pub token_sha256: String,
    /// `view` or `run`.
    pub scope: String,
    /// The owner's note, for example who has the link.
    pub label: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: f64,
    /// When the link expires, in milliseconds since the Unix epoch; null if never.
    pub expires_at: Option<f64>,
}

/// A browser session as stored: without its id, which only the cookie holds. The serde aliases are
/// the field names of format version 1, which stored a session as a link of the scope `session`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptSession {
    /// `ID_PREFIX` followed by `cookie_sha256`.
    pub id: String,
    /// The name of the notebook that the session is stored with. The session is invalid in a copy
    /// of the notebook under another name.
    pub notebook: String,
    /// SHA-256 of the cookie's value, in hex.
    #[serde(alias = "token_sha256")]
    pub cookie_sha256: String,
    /// The credential with which the session began: `link ID`, `owner`, or `owner` and the
    /// fingerprint of the token that the user chose.
    #[serde(alias = "label")]
    pub began_with: String,
    /// When the session expires, in milliseconds since the Unix epoch.
    pub expires_at: f64,
}

impl KeptSession {
    /// Prefix of every session's id. No link's id has this prefix, so the signed row of a link is
    /// never accepted as a browser session.
    pub const ID_PREFIX: &str = "session-";
}

/// The credentials stored with a notebook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptCredentials {
    /// The notebook's share links.
    pub links: Vec<KeptLink>,
    /// Browser sessions. Only the notebook that the server was started with stores them.
    pub sessions: Vec<KeptSession>,
}

/// The copy of the notebook in a store off this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct OffsiteStatus {
    /// What happens to the copy.
    pub phase: OffsitePhase,
    /// When everything was pushed, since when the store does not answer, or since when another
    /// server writes the copy, in milliseconds since the Unix epoch; null if that is unknown.
    pub at: Option<f64>,
    /// The reason, if the copy waits or another server writes it.
    pub why: Option<String>,
    /// The remedy, as an instruction.
    pub how: Option<String>,
}

/// What happens to the copy of a notebook in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OffsitePhase {
    /// Changes are being pushed.
    #[default]
    Pushing,
    /// The copy has everything that was on disk at this time.
    Pushed,
    /// The store does not answer, or refuses. Pushing goes on by itself when it works again.
    Waiting,
    /// Another server writes the copy, or the store has a newer one. This copy is read-only.
    Held,
}

/// Why the notebook cannot be written to the disk at present.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiskStatus {
    /// The action that fails, for example "write to /home/ann/main.ratoon".
    pub what: String,
    /// The reason.
    pub why: String,
    /// The remedy, as an instruction.
    pub how: String,
}

impl From<DiskStatus> for Problem {
    fn from(DiskStatus { what, why, how }: DiskStatus) -> Self {
        Self::new(Kind::Disk, what, why, how)
    }
}
