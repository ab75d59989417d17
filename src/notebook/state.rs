//! A state: a node of the graph, and what is known about its variables and its process.

use super::{Checkpoint, ExecId, Missing, StateId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
