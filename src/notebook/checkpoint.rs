//! The checkpoint of a state, and what it lacks.

use super::{Python, StateId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
