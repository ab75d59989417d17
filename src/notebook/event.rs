//! Events: what happened to a notebook, named by past participles.

use super::{
    Base, Changes, DiskStatus, Draft, DraftId, ExecId, MimeBundle, Notebook, Output, Participant,
    PlacedDraft, Prompt, Run, RunError, RunStatus, Saving, State, StateId, Symbols, TaskCheckpoint,
};
use schemars::JsonSchema;
use serde::Serialize;

/// An event: clients get all of them, the store only facts.
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
    /// A run printed or showed something. Text is appended to the last item if both belong to the
    /// same stream.
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
        /// Whether to clear only when the next output comes.
        wait: bool,
    },
    /// The displays of a run with this id have new data.
    DisplayUpdated {
        /// The run.
        exec_id: ExecId,
        /// The display's id.
        display_id: String,
        /// Its new data.
        data: MimeBundle,
        /// Its new metadata.
        metadata: MimeBundle,
    },
    /// A run has a new warning for the user.
    RunWarned {
        /// The run.
        exec_id: ExecId,
        /// A sentence.
        warning: String,
    },
    /// A run has ended. `StateAdded` for the state that it left comes just before. The event is
    /// sent again, with a state, when a failed cell's variables are kept later.
    RunEnded {
        /// The run.
        exec_id: ExecId,
        /// The final status.
        status: RunStatus,
        /// Why it failed.
        error: Option<RunError>,
        /// In milliseconds; none if it never started.
        duration_ms: Option<f64>,
        /// The state it left.
        state: Option<StateId>,
        /// Variables that it read, assigned and deleted, if the client asked for them.
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
        /// The new value.
        state: State,
    },
    /// States and attempts left the graph.
    Removed {
        /// The states.
        states: Vec<StateId>,
        /// The runs, including those that made these states.
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
    /// The changes that a state's cell made to the variables are known.
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
    /// A run waits for input, or has got it.
    PromptChanged {
        /// The run.
        exec_id: ExecId,
        /// The prompt; none once the input has come.
        prompt: Option<Prompt>,
    },
    /// Whether the variables of a failed run can still be kept has changed.
    KeepableChanged {
        /// The run.
        exec_id: ExecId,
        /// Whether they can still be kept.
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
        /// In bytes.
        memory_bytes: u64,
    },
    /// A replay of a state's lineage made progress. The replay has ended when `done` equals
    /// `total`. A `total` of 0 means that it was abandoned.
    Replaying {
        /// The state to restore.
        state: StateId,
        /// Cells that have run.
        done: usize,
        /// Cells to run.
        total: usize,
    },
    /// A state's record, code and outputs are on disk.
    StateSaved {
        /// The state.
        state: StateId,
    },
    /// Writing to the disk fails, or works again.
    #[serde(rename = "trouble_changed")]
    DiskStatusChanged {
        /// The failure; none once writing works again.
        #[serde(rename = "trouble")]
        disk_status: Option<DiskStatus>,
    },
    /// Visitors came, left or moved.
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
    /// The fact, unless the event is live only.
    pub fn fact(&self) -> Option<&Fact> {
        if let Self::Fact(fact) = self { Some(fact) } else { None }
    }

    /// The run that it concerns.
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

/// A whole notebook, as a client gets it when it joins.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// States in creation order; the root first.
    pub states: Vec<State>,
    /// Runs in the order in which they were requested.
    pub runs: Vec<Run>,
    /// Drafts; those of one state in their order.
    pub drafts: Vec<Draft>,
    /// The failure of the disk, if writing fails at present.
    #[serde(rename = "trouble")]
    pub disk_status: Option<DiskStatus>,
    /// Visitors.
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
