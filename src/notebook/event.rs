//! Events report the changes of a notebook to its clients and its store. Their names are past
//! participles.

use super::{
    Base, Changes, DiskStatus, Draft, DraftId, ExecId, Metric, MimeBundle, Notebook, OffsiteStatus, Output,
    Participant, PlacedDraft, Prompt, Python, RowEnd, Run, RunError, RunStatus, RunWorker, Saving, State,
    StateId, Sweep, SweepId, SweepRow, SweepStatus, Symbols, TaskCheckpoint, WidgetMessage,
};
use schemars::JsonSchema;
use serde::Serialize;

/// An event. Clients get all events; the store gets only facts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "an event travels in a box of its own")]
pub enum Event {
    /// A change of the notebook's content. The store saves it.
    Fact(Fact),
    /// A change of processes, of the disk's status or of presence. The store does not save it.
    Live(Live),
}

/// A change of a notebook's content, which the store saves.
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
        /// The state or run that the code runs against.
        on: Base,
        /// Milliseconds since the Unix epoch, with fractions.
        started_at: f64,
    },
    /// A run printed or showed something. If the item and the run's last item are text of the same
    /// stream, the text is appended to the last item.
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
    /// A run updated its displays that have this `display_id`.
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
    /// Widgets of a run were made or changed, or sent messages to the page. Widgets also change
    /// when the run has ended, until another cell runs on the run's state.
    WidgetsChanged {
        /// The run.
        exec_id: ExecId,
        /// The messages, in order. Updates of one widget may be joined.
        messages: Vec<WidgetMessage>,
    },
    /// A run has a new warning for the user.
    RunWarned {
        /// The run.
        exec_id: ExecId,
        /// The warning, as a sentence.
        warning: String,
    },
    /// A run has ended. If the run left a state, `StateAdded` comes just before. If the variables
    /// of a failed run are kept later, a second `RunEnded` names the state.
    RunEnded {
        /// The run.
        exec_id: ExecId,
        /// The final status.
        status: RunStatus,
        /// Why the run failed; null if it succeeded.
        error: Option<RunError>,
        /// How long the code ran, in milliseconds; null if it never began.
        duration_ms: Option<f64>,
        /// The state that the run left; null if there is none.
        state: Option<StateId>,
        /// The variables that the run read, assigned and deleted, if the client asked for them.
        #[serde(skip)]
        symbols: Option<Symbols>,
        /// The run's metric, if its sweep has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metric: Option<Metric>,
        /// The run's worker, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worker: Option<RunWorker>,
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
    /// States and runs left the graph.
    Removed {
        /// The removed states.
        states: Vec<StateId>,
        /// The removed runs, including the runs that made the removed states.
        runs: Vec<ExecId>,
        /// When they went into the trash, in milliseconds since the Unix epoch. Null if they were
        /// removed for good.
        deleted_at: Option<f64>,
    },
    /// States and runs returned from the trash. Their drafts follow in `DraftsChanged`.
    Restored {
        /// The restored states, and their deleted ancestors that are in the graph again. Every
        /// parent comes before its children.
        states: Vec<State>,
        /// The runs that are in the graph again.
        runs: Vec<Run>,
    },
    /// Drafts of a state were added, changed, moved or deleted. Drafts that are neither in
    /// `removed` nor in `put` are unchanged.
    DraftsChanged {
        /// The state that the drafts are attached to.
        on: StateId,
        /// Drafts that were deleted or became states. Clients remove them before they apply `put`.
        removed: Vec<DraftId>,
        /// Drafts that were added, changed or moved, from top to bottom.
        put: Vec<PlacedDraft>,
    },
    /// The server found out how a state's cell changed the variables.
    ChangesFound {
        /// The state.
        state: StateId,
        /// The changes.
        changes: Changes,
    },
    /// The notebook uses another Python, or its Python was checked. When the Python changes, all
    /// processes of the notebook are started again.
    PythonChanged {
        /// The Python, with the result of the check.
        python: Python,
    },
    /// A task has a new checkpoint.
    TaskSaved {
        /// The checkpoint.
        checkpoint: TaskCheckpoint,
    },
    /// A sweep began.
    SweepAdded {
        /// The sweep, with the rows that are known.
        sweep: Sweep,
    },
    /// A sweep has further rows.
    SweepRowsAdded {
        /// The sweep.
        sweep: SweepId,
        /// The index of the first of them in the sweep.
        first: usize,
        /// The rows.
        rows: Vec<SweepRow>,
    },
    /// A run of a row has ended. `RunEnded` comes just before.
    SweepRowEnded {
        /// The sweep.
        sweep: SweepId,
        /// The index of the row, from 0.
        row: usize,
        /// How the run ended; appended to the ends of the row.
        end: RowEnd,
    },
    /// A sweep has ended.
    SweepEnded {
        /// The sweep.
        sweep: SweepId,
        /// `done` or `stopped`.
        status: SweepStatus,
        /// When it ended, in milliseconds since the Unix epoch.
        ended_at: f64,
        /// Why it ended before all rows had run, as a sentence; null if all have run.
        note: Option<String>,
    },
    /// A sweep was deleted.
    SweepRemoved {
        /// The sweep.
        sweep: SweepId,
    },
    /// The notebook was reset: only the root is left.
    Reset {
        /// The notebook after the reset.
        notebook: Snapshot,
    },
}

/// A change that the store does not save.
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
    /// The memory of a state's frozen process was measured.
    MemoryMeasured {
        /// The state.
        state: StateId,
        /// Memory that only this process uses, in bytes.
        memory_bytes: u64,
        /// Memory that it shares with other processes, in bytes.
        shared_bytes: u64,
    },
    /// A replay of a state's lineage made progress. The replay is complete when `done` equals
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
    /// Writing to the disk has failed, or works again.
    #[serde(rename = "trouble_changed")]
    DiskStatusChanged {
        /// The failure; null if writing works again.
        #[serde(rename = "trouble")]
        disk_status: Option<DiskStatus>,
    },
    /// What happens to the copy in a store has changed.
    OffsiteChanged {
        /// The copy.
        offsite: OffsiteStatus,
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
    /// The fact in this event; `None` for a live event.
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
            | Self::WidgetsChanged { exec_id, .. }
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

/// A whole notebook, as sent to a new client.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Snapshot {
    /// The notebook's name.
    pub name: String,
    /// States in creation order; the root first.
    pub states: Vec<State>,
    /// Runs in the order in which they were requested.
    pub runs: Vec<Run>,
    /// All drafts. The drafts of one state are in page order, from top to bottom.
    pub drafts: Vec<Draft>,
    /// All sweeps, in the order in which they began. Absent when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<Sweep>,
    /// The Python that runs the notebook's cells.
    pub python: Python,
    /// Why the disk cannot be written at present; null if it can be written.
    #[serde(rename = "trouble")]
    pub disk_status: Option<DiskStatus>,
    /// The copy in a store. Absent if the server has no store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offsite: Option<OffsiteStatus>,
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
            sweeps: self.sweeps().cloned().collect(),
            python: self.python().clone(),
            disk_status: self.disk_status().cloned(),
            offsite: self.offsite().cloned(),
            participants,
        }
    }
}
