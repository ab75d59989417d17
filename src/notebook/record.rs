//! The records a notebook is made of: state, run, draft. The page and the store get whole records.

use super::{DraftId, ExecId, Outputs, RunError, StateId, StateRef};
use crate::problem::{Kind, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A node of the graph: the namespace after a cell ran. Immutable except for its name, label and
/// prose.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct State {
    /// Its id; never used again for another state.
    pub id: StateId,
    /// The name that REST clients use. A name means the newest state that got this name.
    pub name: String,
    /// The state its cell ran against; none for the root.
    pub parent: Option<StateId>,
    /// The run that made it; none for the root.
    pub exec_id: Option<ExecId>,
    /// The number in `In[n]` of the cell that made it: how many cells ran on its lineage.
    pub exec_count: u32,
    /// Milliseconds since the Unix epoch, with fractions.
    pub created_at: f64,
    /// The user's label.
    pub label: Option<String>,
    /// The Markdown above its code, as separate cells.
    pub prose: Vec<String>,
    /// What a branch of this state lacks or shares with other branches, as sentences.
    pub warnings: Vec<String>,
    /// Whether its process may be forked. If not (a library's threads would be lost), branches come
    /// from its checkpoint.
    pub forks: bool,
    /// Whether the user allows forks although the state warns against them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fork_anyway: bool,
    /// Whether to keep it in memory as long as possible.
    pub pinned: bool,
    /// Where its variables are.
    #[serde(rename = "living")]
    pub residency: Residency,
    /// Its environment checkpoint, if there is one.
    pub checkpoint: Option<Checkpoint>,
    /// The progress of its environment checkpoint.
    pub saving: Saving,
    /// How its process was restored; none if its cell ran in it.
    #[serde(rename = "revival")]
    pub restored_from: Option<RestoredFrom>,
    /// Private memory of its frozen process in bytes, as last measured.
    pub memory_bytes: Option<u64>,
    /// Changes that its cell made to the variables; none until they are known.
    pub changes: Option<Changes>,
    /// Whether its cell failed: the state holds what the cell had set until then. Absent when
    /// false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

impl State {
    /// A state whose cell has just ended. Its name is its id.
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

/// Changes that a cell made to the variables of the state it ran against. Sorted names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Changes {
    /// New variables.
    pub added: Vec<String>,
    /// Variables whose fingerprint or address differs.
    pub changed: Vec<String>,
    /// Deleted variables.
    pub removed: Vec<String>,
    /// Number of further changes that are not listed.
    pub more: u32,
}

/// Variables of its base state that a run's code uses. Sorted names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbols {
    /// Existing variables that the code reads. Found by analysing the code, so it may list too
    /// many.
    pub accessed: Vec<String>,
    /// Assigned variables.
    pub modified: Vec<String>,
    /// Deleted variables.
    pub deleted: Vec<String>,
}

/// Digests of the variables of a state, and which of them share objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Digests {
    /// By name: 64 hexadecimal digits, equal only for equal values; none for a value that cannot be
    /// read.
    pub hashes: BTreeMap<String, Option<String>>,
    /// Each variable is in one group, together with all that share a mutable object with it.
    pub groups: Vec<Vec<String>>,
    /// Digest of each group's values and sharing; none if a value cannot be read.
    pub fingerprints: Vec<Option<String>>,
}

/// A state whose variables a run reads, and the alias that the code uses for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The name.
    pub alias: String,
    /// The state.
    pub state: StateRef,
    /// Whether the code contains the alias. If not, nothing of the state is read.
    pub is_named: bool,
}

/// A visitor of the notebook: one browser tab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Participant {
    /// Its id; not reused while the notebook is open.
    pub id: String,
    /// The name that the visitor chose.
    pub name: Option<String>,
    /// `owner`, `run` or `view`.
    pub scope: String,
    /// The state that the visitor looks at.
    pub state: StateId,
    /// The visitor's caret in the draft being edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caret: Option<Caret>,
}

/// A caret in a draft. Positions count UTF-16 code units, as the editors of the page do.
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

/// Whether a state can be run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Residency {
    /// Its cell has ended, but its frozen process is not ready yet. Runs may start already.
    Freezing,
    /// A frozen process holds it.
    Memory,
    /// No process holds it; using it loads its checkpoint.
    Disk,
    /// No process and no usable checkpoint; a replay from an ancestor can restore it.
    Replay,
    /// Deleted by the user, and kept in the graph only for its descendants.
    Deleted,
}

impl Residency {
    /// Whether a run may start against it.
    pub fn can_run(self) -> bool {
        matches!(self, Self::Freezing | Self::Memory | Self::Disk)
    }
}

/// A state's durable form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    /// The BLAKE3 digest of its manifest, in hex: the same content has the same id.
    pub checkpoint_id: String,
    /// The id of its notebook.
    #[serde(rename = "session_id")]
    pub notebook_id: String,
    /// Its state.
    pub state_id: StateId,
    /// What kind of content it holds.
    pub form: Form,
    /// Milliseconds since the Unix epoch.
    pub created_at: f64,
    /// The user's label.
    pub label: Option<String>,
    /// The caller's own data.
    pub metadata: Map<String, Value>,
    /// Unpacked size in bytes.
    pub namespace_size_bytes: u64,
    /// Bytes on disk, including those shared with other checkpoints.
    pub compressed_size_bytes: u64,
    /// Bytes that no earlier checkpoint had already stored.
    pub new_bytes: u64,
    /// `namespace_size_bytes / compressed_size_bytes`.
    pub compression_ratio: f64,
    /// Number of names it holds.
    pub entry_count: u32,
    /// Whether it holds import statements and the sources of functions and classes.
    pub includes_source: bool,
    /// The checkpoint of the nearest ancestor that had one when this was written. Unchanged content
    /// is shared with it.
    pub parent_checkpoint: Option<String>,
    /// The number in `In[n]` of the state.
    pub execution_count: u32,
    /// Total run time of the cells of its lineage, in milliseconds.
    pub total_execution_time_ms: f64,
    /// What could not be saved.
    pub missing: Vec<Missing>,
    /// Whether this install wrote it (its HMAC matches). If not, only its plain values are loaded,
    /// never its pickled objects.
    pub is_trusted: bool,
}

impl Checkpoint {
    /// Whether loading it restores the state completely: nothing is missing, and its objects may be
    /// loaded.
    pub fn is_whole(&self) -> bool {
        self.is_trusted && self.form == Form::Environment && self.missing.is_empty()
    }
}

/// What a checkpoint holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// All that can be pickled, including functions, classes and settings. Reading it runs code.
    Environment,
    /// Plain values only. Reading it runs no code.
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
    /// Why, as a sentence.
    pub reason: String,
}

/// The progress of a state's checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "now", rename_all = "lowercase")]
pub enum Saving {
    /// No save is in progress. The list of states shows `Done`, `Waiting` or `Never` instead
    /// (`Notebook::outlook`).
    #[default]
    Idle,
    /// It is on disk.
    Done,
    /// It will be written when no cell is waiting.
    Waiting,
    /// None will be written unless a client asks for it.
    Never {
        /// Why.
        why: String,
    },
    /// It is being written.
    Writing {
        /// From 0 to 100.
        percent: u8,
    },
    /// The last save failed. The state is unharmed, and the save will be retried.
    Failed {
        /// Why.
        why: String,
    },
}

/// How a state's process was restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum RestoredFrom {
    /// From its checkpoint.
    Checkpoint {
        /// Names that it could not restore.
        missing: Vec<Missing>,
    },
    /// By running the cells of its lineage again.
    Replay,
}

/// What a run runs against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Base {
    /// A state.
    State(StateId),
    /// The state that an earlier run leaves. The new run waits for it, and is aborted if it fails.
    Run(ExecId),
    /// A state by its name or id. Only requests have it: the machine resolves it, and records never
    /// hold it.
    #[serde(skip)]
    Name(String),
}

/// One execution of a cell. An attempt that failed stays as a red leaf beside the states.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Run {
    /// The caller's id for it.
    pub exec_id: ExecId,
    /// What it runs against. Another run is replaced by the state that it left, once that exists.
    pub on: Base,
    /// The source as it was sent.
    pub code: String,
    /// Its status.
    pub status: RunStatus,
    /// The draft that it runs, if the page started it.
    pub draft: Option<DraftId>,
    /// Of an imported run: the number in `In[n]` that its cell had in the file. Other runs have it
    /// in their state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec_count: Option<u32>,
    /// What it printed and showed.
    #[schemars(with = "Vec<super::Output>")]
    pub outputs: Outputs,
    /// Why it failed.
    pub error: Option<RunError>,
    /// Warnings for the user, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Whether `keep_partial` can still keep what the run had set before it failed. Absent when
    /// false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keepable: bool,
    /// The prompt of an `input()` that waits for an answer.
    pub prompt: Option<Prompt>,
    /// When it began to run, in milliseconds since the Unix epoch.
    pub started_at: Option<f64>,
    /// How long it ran, in milliseconds.
    pub duration_ms: Option<f64>,
    /// The state it left. A failed run leaves one only if its variables were kept.
    pub state: Option<StateId>,
    /// Variables that it read, assigned and deleted, if the client asked for them. Stored, but not
    /// on the wire.
    #[serde(skip)]
    pub symbols: Option<Symbols>,
    /// The original request, to recognise a repeat of it.
    pub asked: Asked,
}

/// The part of a request by which a repeat of it is recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// What to run against.
    pub on: Base,
    /// The requested name of the new state.
    pub new_state_name: Option<String>,
}

/// What happens to the variables that a cell had set when it raises or is interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// They are discarded: the run leaves no state.
    #[default]
    Discard,
    /// They are kept: the run leaves a partial state.
    Keep,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// It never ran here: its outputs were imported from a file. The page shows them below the
    /// draft until the draft runs.
    Imported,
}

impl RunStatus {
    /// Whether the run is over.
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// A question that the code asks its user (`input()`, `getpass()`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prompt {
    /// Numbers the prompts of a process, so that a late answer to an earlier prompt is ignored.
    pub number: u32,
    /// The text before the cursor.
    pub text: String,
    /// Whether to hide what is typed.
    pub password: bool,
}

/// A cell that has not run yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The page's id for it.
    pub id: DraftId,
    /// The state that it would run against.
    pub on: StateId,
    /// The child of that state whose cell it precedes. Without one, or when that child was deleted,
    /// the draft comes last in the lineage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<StateId>,
    /// Code or markdown.
    pub kind: DraftKind,
    /// Its text.
    pub source: String,
    /// 1, 2, 3, … with each change of its text or kind. Only the server counts; values from clients
    /// are ignored.
    #[serde(default)]
    pub version: u64,
    /// The last update of each client that wrote lately, newest last. After a disconnect, a client
    /// sees here which of its updates have arrived. Values from clients are ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub received: Vec<ReceivedUpdate>,
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

/// A draft and its place among those of its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlacedDraft {
    /// The draft.
    pub draft: Draft,
    /// The draft of the same state that it follows; none for the first.
    pub after: Option<DraftId>,
    /// The change from the previous version to this one, if the client sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<TextUpdate>,
}

/// The change from the previous version of a text to this one. Editors use it to move carets and
/// unsent changes. The message also contains the text itself, which wins if the two disagree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextUpdate {
    /// The id of the client that made the change. The client chooses this id, and recognises its
    /// own changes by it.
    pub client: String,
    /// The number of this update among the client's updates of this draft, from 1. A repeated
    /// number changes nothing. After a refused update, later ones are refused too. Without a
    /// number, an update always counts as new.
    #[serde(default)]
    pub number: u64,
    /// The change, as the JSON of CodeMirror's `ChangeSet`. Each item is a length of unchanged
    /// text, or a list of a deleted length and the inserted lines. The server does not interpret
    /// it.
    pub changes: Vec<Value>,
}

/// What a draft holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DraftKind {
    /// Python.
    Code,
    /// Markdown.
    Markdown,
}

/// A version in a task's sequence of checkpoints: a pointer to a state, or plain values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskCheckpoint {
    /// The task.
    pub task_id: String,
    /// 1, 2, 3, … within the task; never reused.
    pub version: u64,
    /// The state, if it points at one.
    pub state: Option<StateId>,
    /// Plain values.
    pub values: Map<String, Value>,
    /// Counters of tokens, by the caller's names.
    pub token_usage: Map<String, Value>,
    /// The caller's own data.
    pub metadata: Map<String, Value>,
    /// Milliseconds since the Unix epoch.
    pub created_at: f64,
}

/// A share link as stored: without its token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptLink {
    /// Its public id.
    pub id: String,
    /// The name of the notebook that it opens. The link does not open a copy under another name.
    pub notebook: String,
    /// SHA-256 of the token, in hex.
    pub token_sha256: String,
    /// `view` or `run`.
    pub scope: String,
    /// The owner's note, for example who has the link.
    pub label: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: f64,
    /// When it expires, in milliseconds since the Unix epoch.
    pub expires_at: Option<f64>,
}

/// A browser session as stored: without its id, which only the cookie holds. The serde aliases are
/// the field names of format version 1, which stored a session as a link of the scope `session`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptSession {
    /// `ID_PREFIX` and `cookie_sha256`.
    pub id: String,
    /// The name of the notebook that it is stored with. The session is invalid in a copy under
    /// another name.
    pub notebook: String,
    /// SHA-256 of the cookie's value, in hex.
    #[serde(alias = "token_sha256")]
    pub cookie_sha256: String,
    /// The credential it began with: `link ID`, `owner`, or `owner` and the fingerprint of the
    /// token that the user chose.
    #[serde(alias = "label")]
    pub began_with: String,
    /// When it expires, in milliseconds since the Unix epoch.
    pub expires_at: f64,
}

impl KeptSession {
    /// Prefix of every session's id. No link's id has it, so a link's signed row cannot pass as a
    /// browser session.
    pub const ID_PREFIX: &str = "session-";
}

/// The credentials stored with a notebook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptCredentials {
    /// Its share links.
    pub links: Vec<KeptLink>,
    /// Browser sessions, if the server was started with this notebook.
    pub sessions: Vec<KeptSession>,
}

/// Why the notebook cannot be written to disk now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
