//! Events: the changes of a notebook. Their names are past participles.

use super::{
    Base, Changes, DiskStatus, Draft, DraftId, ExecId, MimeBundle, Notebook, Output, Participant,
    PlacedDraft, Prompt, Run, RunError, RunStatus, Saving, State, StateId, Symbols, TaskCheckpoint,
};
use schemars::JsonSchema;
use serde::Serialize;

/// An event. Clients get all events, the store gets only facts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "an event travels in a box of its own")]
pub enum Event {
    /// A change of the notebook itself. The store saves it.
    Fact(Fact),
    /// A change of processes, of the disk's status or of presence. It is not saved.
    Live(Live),
}

/// A lasting change of a notebook.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Fact {
    /// A run was requested.
    RunAdded {
        /// The run, queued.
        run: Run,
    },
    /// The cell of a run began.
    RunStarted {
        /// The run.
        exec_id: ExecId,
        /// The state it runs against.
        on: Base,
        /// Milliseconds since the Unix epoch, with fractions.
        started_at: f64,
    },
    /// A run printed or showed something. Text is appended to the run's last item if that item has
    /// text of the same stream.
    OutputAdded {
        /// The run.
        exec_id: ExecId,
        /// The item.
        output: Output,
    },
    /// The outputs of a run were cleared (`clear_output`).
    OutputsCleared {
        /// The run.
        exec_id: ExecId,
        /// Whether to clear the outputs only when the next output arrives.
        wait: bool,
    },
    /// The displays of a run that have this `display_id` have new data.
    DisplayUpdated {
        /// The run.
        exec_id: ExecId,
        /// The display's id.
        display_id: String,
        /// The new data of the displays.
        data: MimeBundle,
        /// The new metadata of the displays.
        metadata: MimeBundle,
    },
    /// A run has a new warning for the user.
    RunWarned {
        /// The run.
        exec_id: ExecId,
        /// The warning, as a sentence.
        warning: String,
    },
    /// A run has ended. If the run left a state, `StateAdded` comes just before. If a failed cell's
    /// variables are kept later, this event is sent again, with a state.
    RunEnded {
        /// The run.
        exec_id: ExecId,
        /// The final status.
        status: RunStatus,
        /// Why it failed.
        error: Option<RunError>,
        /// The duration of the run in milliseconds; null if it never started.
        duration_ms: Option<f64>,
        /// The state that the run left; null if there is none.
        state: Option<StateId>,
        /// The variables that the run read, assigned and deleted, if the client asked for them.
        #[serde(skip)]
        symbols: Option<Symbols>,
    },
    /// The graph has a new state.
    StateAdded {
        /// The state.
        state: State,
    },
    /// The label, prose, name or residency of a state changed.
    StateChanged {
        /// The state after the change.
        state: State,
    },
    /// States and runs were removed from the graph.
    Removed {
        /// The states.
        states: Vec<StateId>,
        /// The runs, including the runs that made these states.
        runs: Vec<ExecId>,
    },
    /// Drafts of a state were added, changed, moved or deleted. All others are unchanged.
    DraftsChanged {
        /// The state.
        on: StateId,
        /// Drafts that were deleted or became a state. Clients remove them before they apply `put`.
        removed: Vec<DraftId>,
        /// Drafts that were added, changed or moved, in their order.
        put: Vec<PlacedDraft>,
    },
    /// It is now known how a state's cell changed the variables.
    ChangesFound {
        /// The state.
        state: StateId,
        /// The changes.
        changes: Changes,
    },
    /// A task has a new checkpoint.
    TaskSaved {
        /// The checkpoint.
        checkpoint: TaskCheckpoint,
    },
    /// The notebook was reset: only the root is left.
    Reset {
        /// The notebook after the reset.
        notebook: Snapshot,
    },
}

/// A change that is not saved.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Live {
    /// A run waits for input, or has received it.
    PromptChanged {
        /// The run.
        exec_id: ExecId,
        /// The prompt; null when the input has been received.
        prompt: Option<Prompt>,
    },
    /// The variables of a failed run can be kept, or can no longer be kept.
    KeepableChanged {
        /// The run.
        exec_id: ExecId,
        /// Whether the variables can be kept.
        keepable: bool,
    },
    /// The progress of a state's checkpoint changed.
    SavingChanged {
        /// The state.
        state: StateId,
        /// The progress.
        saving: Saving,
    },
    /// The private memory of a state's frozen process was measured.
    MemoryMeasured {
        /// The state.
        state: StateId,
        /// The private memory, in bytes.
        memory_bytes: u64,
    },
    /// A replay of a state's lineage made progress. The replay has ended when `done` equals
    /// `total`. A `total` of 0 means that the replay was abandoned.
    Replaying {
        /// The state to restore.
        state: StateId,
        /// Number of cells that have run.
        done: usize,
        /// Number of cells that the replay runs.
        total: usize,
    },
    /// A state's record, code and outputs are on disk.
    StateSaved {
        /// The state.
        state: StateId,
    },
    /// The disk cannot be written, or can be written again.
    #[serde(rename = "trouble_changed")]
    DiskStatusChanged {
        /// The failure; null if writing works again.
        #[serde(rename = "trouble")]
        disk_status: Option<DiskStatus>,
    },
    /// Visitors came, left, or went to another state.
    #[serde(rename = "people_changed")]
    PresenceChanged {
        /// All visitors, in the order of arrival.
        #[serde(rename = "people")]
        participants: Vec<Participant>,
    },
}

impl From<Fact> for Event {
    fn from(fact: Fact) -> Self {
        Self::Fact(fact)
    }
}

impl From<Live> for Event {
    fn from(live: Live) -> Self {
        Self::Live(live)
    }
}

impl Event {
    /// The fact; `None` for a live event.
    pub fn fact(&self) -> Option<&Fact> {
        if let Self::Fact(fact) = self { Some(fact) } else { None }
    }

    /// The run that the event concerns, if any.
    pub fn run(&self) -> Option<&ExecId> {
        match self {
            Self::Fact(fact) => fact.run(),
            Self::Live(live) => live.run(),
        }
    }
}

impl Fact {
    fn run(&self) -> Option<&ExecId> {
        match self {
            Self::RunAdded { run } => Some(&run.exec_id),
            Self::RunStarted { exec_id, .. }
            | Self::OutputAdded { exec_id, .. }
            | Self::OutputsCleared { exec_id, .. }
            | Self::DisplayUpdated { exec_id, .. }
            | Self::RunWarned { exec_id, .. }
            | Self::RunEnded { exec_id, .. } => Some(exec_id),
            _ => None,
        }
    }
}

impl Live {
    fn run(&self) -> Option<&ExecId> {
        match self {
            Self::PromptChanged { exec_id, .. } | Self::KeepableChanged { exec_id, .. } => Some(exec_id),
            _ => None,
        }
    }
}

/// A whole notebook, as a new client gets it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Snapshot {
    /// The notebook's name.
    pub name: String,
    /// States in creation order; the root first.
    pub states: Vec<State>,
    /// Runs in the order in which they were requested.
    pub runs: Vec<Run>,
    /// Drafts. The drafts of one state are in order.
    pub drafts: Vec<Draft>,
    /// Why the disk cannot be written at present; null if it can be written.
    #[serde(rename = "trouble")]
    pub disk_status: Option<DiskStatus>,
    /// The visitors, in the order of arrival.
    #[serde(rename = "people")]
    pub participants: Vec<Participant>,
}

impl Notebook {
    /// The whole notebook as a value, with the presence of its visitors.
    pub fn snapshot(&self, participants: Vec<Participant>) -> Snapshot {
        Snapshot {
            name: self.name().to_owned(),
            states: self.states().cloned().collect(),
            runs: self.runs().cloned().collect(),
            drafts: self.drafts().cloned().collect(),
            disk_status: self.disk_status().cloned(),
            participants,
        }
    }
}
