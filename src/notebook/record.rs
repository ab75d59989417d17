//! The records a notebook is made of: state, run, draft. They cross boundaries whole (to the page, to the store).

use super::{DraftId, ExecId, Outputs, RunError, StateId};
use serde::{Deserialize, Serialize};
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
    /// Where it can be run from.
    pub living: Living,
}

/// Whether a state can be run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Living {
    /// Its cell ended; the frozen process has not said yet that it is ready. It can be run against all the same.
    Freezing,
    /// A frozen process holds it.
    Memory,
    /// Its process is gone (killed from outside, or never came to be); its code and outputs are still here.
    Lost,
    /// Deleted by the user, kept only because states that grew from it still live.
    Deleted,
}

impl Living {
    /// Whether a run may be started against it.
    pub fn can_run(self) -> bool {
        matches!(self, Self::Freezing | Self::Memory)
    }
}

/// What a run is to be run against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Base {
    /// A state.
    State(StateId),
    /// Whatever state this earlier run leaves; the new run waits for it and is aborted when it fails.
    Run(ExecId),
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
    /// What it printed and showed.
    #[schema(value_type = Vec<super::Output>)]
    pub outputs: Outputs,
    /// Why it failed.
    pub error: Option<RunError>,
    /// The prompt of an `input()` that waits for an answer.
    pub prompt: Option<Prompt>,
    /// When it began to run, in milliseconds since the Unix epoch.
    pub started_at: Option<f64>,
    /// How long it ran, in milliseconds.
    pub duration_ms: Option<f64>,
    /// The state it left.
    pub state: Option<StateId>,
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
    /// Code or markdown.
    pub kind: DraftKind,
    /// Its text.
    pub source: String,
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
