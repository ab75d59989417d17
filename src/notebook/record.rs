//! The records a notebook is made of: state, run, draft. They cross boundaries whole (to the page, to the store).

use super::{DraftId, ExecId, Outputs, RunError, StateId, StateRef};
use crate::problem::{Kind, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A node of the graph: the namespace after a cell ran. Immutable but for its name, label and prose.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct State {
    /// Its id; never used again for another state.
    pub id: StateId,
    /// The name by which clients know it. Several states may have had a name; it means the newest.
    pub name: String,
    /// The state its cell ran against; none for the root.
    pub parent: Option<StateId>,
    /// The run that made it; none for the root.
    pub exec_id: Option<ExecId>,
    /// The number in `In[n]` of the cell that made it: how many cells ran on its lineage.
    pub exec_count: u32,
    /// Milliseconds since the Unix epoch, with fractions.
    pub created_at: f64,
    /// A name for people.
    pub label: Option<String>,
    /// The markdown that stood before its code, as separate cells.
    pub prose: Vec<String>,
    /// What of this state does not survive a branch, in plain words.
    pub warnings: Vec<String>,
    /// Whether its process may be forked. Else (threads of a library would be lost) branches come from its checkpoint.
    pub forks: bool,
    /// Whether it is forked all the same, as the user has decided.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fork_anyway: bool,
    /// Whether it is to stay in memory as long as that is possible.
    pub pinned: bool,
    /// Where it can be run from.
    #[serde(rename = "living")]
    pub residency: Residency,
    /// Its environment checkpoint, when there is one.
    pub checkpoint: Option<Checkpoint>,
    /// What is being done about its environment checkpoint.
    pub saving: Saving,
    /// How its process came to be, when it was not by running its cell.
    #[serde(rename = "revival")]
    pub restored_from: Option<RestoredFrom>,
    /// What its frozen process holds for itself alone, in bytes, when it was last measured.
    pub memory_bytes: Option<u64>,
    /// What its cell did to the variables; none while that is not known.
    pub changes: Option<Changes>,
    /// Whether its cell failed: the state holds what the cell had set until then. Absent where it did not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

impl State {
    /// A state whose cell has just ended, called by its id.
    pub fn new(id: StateId, parent: Option<StateId>, exec_id: Option<ExecId>, now_ms: f64) -> Self {
        Self {
            name: id.as_str().to_owned(),
            id,
            parent,
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
            checkpoint: None,
            saving: Saving::Idle,
            restored_from: None,
            memory_bytes: None,
            changes: None,
            partial: false,
        }
    }
}

/// What a cell did to the variables of the state that it ran against. Names only, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Changes {
    /// There are now and were not before.
    pub added: Vec<String>,
    /// Hold another value than before, as far as that can be seen.
    pub changed: Vec<String>,
    /// Were there before.
    pub removed: Vec<String>,
    /// How many more there are than are named.
    pub more: u32,
}

/// What a run did to the variables of the state that it ran against, by the names in its code. Sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Symbols {
    /// Were there before and were read, as far as the code tells; rather too many than too few.
    pub accessed: Vec<String>,
    /// Were assigned.
    pub modified: Vec<String>,
    /// Were deleted.
    pub deleted: Vec<String>,
}

/// Digests of the variables of a state, and which of them share objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Digests {
    /// By name: 64 hexadecimal digits, equal only for equal values; none of a value that cannot be read.
    pub hashes: BTreeMap<String, Option<String>>,
    /// Every variable is in one group, with all that share an object with it that can be changed.
    pub groups: Vec<Vec<String>>,
    /// Of each group: its values and what they share; none where a value cannot be read.
    pub fingerprints: Vec<Option<String>>,
}

/// A state whose variables a run reads, and the name by which its code calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The name.
    pub alias: String,
    /// The state.
    pub state: StateRef,
    /// Whether the code has this name in it. Else nothing of the state is read.
    pub is_named: bool,
}

/// Somebody who looks at the notebook: one tab of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Participant {
    /// Which; not used again while the notebook is open.
    pub id: String,
    /// What they want to be called.
    pub name: Option<String>,
    /// `owner`, `run` or `view`.
    pub scope: String,
    /// The state they stand at.
    pub state: StateId,
}

/// Whether a state can be run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Residency {
    /// Its cell ended; the frozen process has not said yet that it is ready. It can be run against all the same.
    Freezing,
    /// A frozen process holds it.
    Memory,
    /// No process holds it; it is made again from its checkpoint when it is used.
    Disk,
    /// Neither a process nor a checkpoint that may be used; its code can be run again from an ancestor.
    Replay,
    /// Deleted by the user, kept only because states that grew from it still live.
    Deleted,
}

impl Residency {
    /// Whether a run may be started against it.
    pub fn can_run(self) -> bool {
        matches!(self, Self::Freezing | Self::Memory | Self::Disk)
    }
}

/// A state's durable form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Checkpoint {
    /// The BLAKE3 digest of its manifest, in hex: the same content has the same id.
    pub checkpoint_id: String,
    /// The id of the notebook that it belongs to.
    pub session_id: String,
    /// The state that it is of.
    pub state_id: StateId,
    /// What it holds.
    pub form: Form,
    /// Milliseconds since the Unix epoch.
    pub created_at: f64,
    /// A name for people.
    pub label: Option<String>,
    /// The user's own data about it.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// How much it is when it is unpacked, in bytes.
    pub namespace_size_bytes: u64,
    /// How much it is on disk, in bytes, what it shares with other checkpoints included.
    pub compressed_size_bytes: u64,
    /// How much of that was not on disk before, in bytes.
    pub new_bytes: u64,
    /// `namespace_size_bytes / compressed_size_bytes`.
    pub compression_ratio: f64,
    /// How many names it holds.
    pub entry_count: u32,
    /// Whether the sources of functions and classes and the import statements are in it.
    pub includes_source: bool,
    /// The checkpoint of the nearest ancestor that had one when this was written: what did not change is shared with it.
    pub parent_checkpoint: Option<String>,
    /// The number in `In[n]` of the state.
    pub execution_count: u32,
    /// How long all cells of its lineage ran, in milliseconds.
    pub total_execution_time_ms: f64,
    /// What could not be saved.
    pub missing: Vec<Missing>,
    /// Whether it was written by this install (its HMAC is right). Else only its values may be read, never its objects.
    pub is_trusted: bool,
}

impl Checkpoint {
    /// Whether the state comes back from it with everything that could be pickled: nothing is missing, and its objects may
    /// be loaded.
    pub fn is_whole(&self) -> bool {
        self.is_trusted && self.form == Form::Environment && self.missing.is_empty()
    }
}

/// What a checkpoint holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Everything that can be pickled, functions, classes and settings included. Code runs when it is read.
    Environment,
    /// Plain values only. No code runs when it is read.
    Data,
}

/// A name that a checkpoint could not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Missing {
    /// The name.
    pub name: String,
    /// `type(v).__name__`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Why, in plain words.
    pub reason: String,
}

/// What is being done about a state's checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "now", rename_all = "lowercase")]
pub enum Saving {
    /// Nothing. A list of states says instead which of `Done`, `Waiting` and `Never` that means.
    #[default]
    Idle,
    /// It is on disk.
    Done,
    /// It is due: it is written when nobody waits for a cell.
    Waiting,
    /// None will be written without being asked for.
    Never {
        /// Why.
        why: String,
    },
    /// It is being written.
    Writing {
        /// How far it has come.
        percent: u8,
    },
    /// The last attempt failed; the state itself is unharmed. It is tried again after a while.
    Failed {
        /// Why.
        why: String,
    },
}

/// How a state's process came to be, when it was not by running its cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum RestoredFrom {
    /// From its checkpoint.
    Checkpoint {
        /// What is not there.
        missing: Vec<Missing>,
    },
    /// The cells of its lineage ran again.
    Replay,
}

/// What a run is to be run against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Base {
    /// A state.
    State(StateId),
    /// Whatever state this earlier run leaves; the new run waits for it and is aborted when it fails.
    Run(ExecId),
    /// A state by its name or id. Only requests have it: the machine resolves it, and records never hold it.
    #[serde(skip)]
    Name(String),
}

/// One execution of a cell. An attempt that failed stays as a red leaf beside the states.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Run {
    /// The caller's id for it.
    pub exec_id: ExecId,
    /// What it runs against; a state as soon as that is known.
    pub on: Base,
    /// The source as it was sent.
    pub code: String,
    /// How far it has come.
    pub status: RunStatus,
    /// The draft that it runs, when the page asked for it.
    pub draft: Option<DraftId>,
    /// Of a run that came in a file: the number in `In[n]` that its cell had there. Else its state has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec_count: Option<u32>,
    /// What it printed and showed.
    #[schema(value_type = Vec<super::Output>)]
    pub outputs: Outputs,
    /// Why it failed.
    pub error: Option<RunError>,
    /// What was seen of it that its user should know, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Whether what it had set until it failed can still be kept (`keep_partial`). Absent where it cannot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keepable: bool,
    /// The prompt of an `input()` that waits for an answer.
    pub prompt: Option<Prompt>,
    /// When it began to run, in milliseconds since the Unix epoch.
    pub started_at: Option<f64>,
    /// How long it ran, in milliseconds.
    pub duration_ms: Option<f64>,
    /// The state it left. One whose cell failed leaves a state when what it had set was to be kept.
    pub state: Option<StateId>,
    /// Which variables it read, assigned and deleted, when the client asked for that. No page shows it.
    #[serde(skip)]
    pub symbols: Option<Symbols>,
    /// The request as it was made, by which a repeat of it is known.
    pub asked: Asked,
}

/// What a run was asked for with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Asked {
    /// What it was to be run against.
    pub on: Base,
    /// The name that the new state was to have.
    pub new_state_name: Option<String>,
}

/// What becomes of what a cell had set when it raises or is interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// It is taken back: the run leaves no state.
    #[default]
    Discard,
    /// It is kept: the run leaves a state that is marked as partial.
    Keep,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Waits for an earlier run, or for its head.
    Queued,
    /// Its cell is running.
    Running,
    /// It left a state.
    Ok,
    /// The cell raised.
    Error,
    /// Stopped by the user, by its time limit, or because the run it waited for failed.
    Interrupted,
    /// Its process died.
    Crashed,
    /// It never ran here: its outputs came in a file, and stand below the draft until that is run.
    Imported,
}

impl RunStatus {
    /// Whether nothing more will come from it.
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// A question that the code asks its user (`input()`, `getpass()`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Prompt {
    /// Which question of the run's process this is; an answer to an earlier one is not taken for an answer to it.
    pub number: u32,
    /// The text before the cursor.
    pub text: String,
    /// Whether what is typed must not be shown.
    pub password: bool,
}

/// A cell that has not run yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The page's id for it.
    pub id: DraftId,
    /// The state that it would run against.
    pub on: StateId,
    /// The child of that state above whose cell it stands. None: it stands at the end of the line to its state, as it
    /// does when that child is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<StateId>,
    /// Code or markdown.
    pub kind: DraftKind,
    /// Its text.
    pub source: String,
    /// 1, 2, 3, … with each change of its text or kind. The server counts; what a client says is not looked at.
    #[serde(default)]
    pub version: u64,
}

/// A draft and its place among those of its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PlacedDraft {
    /// The draft.
    pub draft: Draft,
    /// The draft of the same state that it follows; none for the first.
    pub after: Option<DraftId>,
}

/// What a draft holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DraftKind {
    /// Python.
    Code,
    /// Text for people.
    Markdown,
}

/// A version in the sequence of checkpoints that a task keeps: a pointer to a state, or plain values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskCheckpoint {
    /// The task.
    pub task_id: String,
    /// 1, 2, 3, … within the task; never used again.
    pub version: u64,
    /// The state that it points at.
    pub state: Option<StateId>,
    /// Plain values.
    #[schema(value_type = Object)]
    pub values: Map<String, Value>,
    /// Counters of tokens, by the caller's names.
    #[schema(value_type = Object)]
    pub token_usage: Map<String, Value>,
    /// The caller's own data.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// Milliseconds since the Unix epoch.
    pub created_at: f64,
}

/// A share link as it is kept: never the token itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptLink {
    /// Its public id.
    pub id: String,
    /// The name of the notebook that it opens: a copy under another name is not opened by it.
    pub notebook: String,
    /// SHA-256 of the token, in hex.
    pub token_sha256: String,
    /// `view` or `run`.
    pub scope: String,
    /// A note on who has it.
    pub label: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: f64,
    /// When it ends, in milliseconds since the Unix epoch.
    pub expires_at: Option<f64>,
}

/// Why what happened cannot be written to disk now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DiskStatus {
    /// What fails.
    pub what: String,
    /// Why.
    pub why: String,
    /// What to do about it.
    pub how: String,
}

impl From<DiskStatus> for Problem {
    fn from(DiskStatus { what, why, how }: DiskStatus) -> Self {
        Self::new(Kind::Disk, what, why, how)
    }
}
