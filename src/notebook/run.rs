//! A run: one execution of a cell.

use super::{DraftId, ExecId, Metric, Outputs, RunError, RunStatus, RunWorker, StateId, StateRef, Widgets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

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
    /// Whether the run is one of several versions of a cell that run beside each other. Absent when
    /// false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub variant: bool,
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
            variant: false,
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
