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
pub enum Event {
    /// Part of the notebook. The store saves it.
    Fact(Fact),
    /// About processes, the disk or visitors as they are now. Gone with the server.
    Live(Live),
}

/// A lasting change of a notebook.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Fact {
    /// A run was asked for.
    RunAdded {
        /// The run, queued.
        run: Run,
    },
    /// Its cell began.
    RunStarted {
        /// The run.
        exec_id: ExecId,
        /// The state it runs against.
        on: Base,
        /// Milliseconds since the Unix epoch, with fractions.
        started_at: f64,
    },
    /// It printed or showed something. A stream's text joins the last item if that is of the same stream.
    OutputAdded {
        /// The run.
        exec_id: ExecId,
        /// The item.
        output: Output,
    },
    /// Its outputs were cleared (`clear_output`); with `wait`, when the next comes.
    OutputsCleared {
        /// The run.
        exec_id: ExecId,
        /// Whether to wait for the next output.
        wait: bool,
    },
    /// Displays of the run with this id show something else now.
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
    /// Something was seen of a run that its user should know.
    RunWarned {
        /// The run.
        exec_id: ExecId,
        /// A sentence.
        warning: String,
    },
    /// A run has ended. The state it left came with `StateAdded` just before. Told again, with its state, when what a failed
    /// cell had set is kept later.
    RunEnded {
        /// The run.
        exec_id: ExecId,
        /// How.
        status: RunStatus,
        /// Why it failed.
        error: Option<RunError>,
        /// How long it ran, in milliseconds; none if it never started.
        duration_ms: Option<f64>,
        /// The state it left.
        state: Option<StateId>,
        /// Which variables it read, assigned and deleted, when the client asked for that.
        #[serde(skip)]
        symbols: Option<Symbols>,
    },
    /// A state was made.
    StateAdded {
        /// The state.
        state: State,
    },
    /// Something about a state is different: its label, prose, name or where it lives.
    StateChanged {
        /// The state as it is now.
        state: State,
    },
    /// States and attempts are gone from the graph.
    Removed {
        /// The states.
        states: Vec<StateId>,
        /// The runs, those that made these states included.
        runs: Vec<ExecId>,
    },
    /// Drafts of a state were made, changed, moved or deleted. Drafts that it does not name are as they were.
    DraftsChanged {
        /// The state.
        on: StateId,
        /// Drafts that were deleted or ran into a state. To be applied first.
        removed: Vec<DraftId>,
        /// Drafts that hang on the state now, wherever they hung before, in their order.
        put: Vec<PlacedDraft>,
    },
    /// What a state's cell did to the variables is known.
    ChangesFound {
        /// The state.
        state: StateId,
        /// What it did.
        changes: Changes,
    },
    /// A task has another checkpoint.
    TaskSaved {
        /// The checkpoint.
        checkpoint: TaskCheckpoint,
    },
    /// Only the root is left.
    Reset {
        /// The notebook as it is now.
        notebook: Snapshot,
    },
}

/// A change of what is not saved.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Live {
    /// Its code asks something, or (none) was answered.
    PromptChanged {
        /// The run.
        exec_id: ExecId,
        /// The question.
        prompt: Option<Prompt>,
    },
    /// What a run had set until it failed can be kept from now on, or no longer.
    KeepableChanged {
        /// The run.
        exec_id: ExecId,
        /// Whether it can.
        keepable: bool,
    },
    /// What is being done about a state's checkpoint.
    SavingChanged {
        /// The state.
        state: StateId,
        /// What is being done.
        saving: Saving,
    },
    /// What a state's frozen process holds for itself alone.
    MemoryMeasured {
        /// The state.
        state: StateId,
        /// In bytes.
        memory_bytes: u64,
    },
    /// The cells of a state's lineage run again to bring it back. When all are done it is there; with a `total` of 0 it was
    /// given up.
    Replaying {
        /// The state that is to come back.
        state: StateId,
        /// How many cells have run.
        done: usize,
        /// How many there are.
        total: usize,
    },
    /// A state's record, code and outputs are on disk.
    StateSaved {
        /// The state.
        state: StateId,
    },
    /// What happens cannot be written to disk, or (none) it can again.
    #[serde(rename = "trouble_changed")]
    DiskStatusChanged {
        /// What is wrong.
        #[serde(rename = "trouble")]
        disk_status: Option<DiskStatus>,
    },
    /// These look at the notebook now.
    #[serde(rename = "people_changed")]
    PresenceChanged {
        /// All of them, in the order in which they came.
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
    /// The fact, if it is one.
    pub fn fact(&self) -> Option<&Fact> {
        if let Self::Fact(fact) = self { Some(fact) } else { None }
    }

    /// The run that it is about.
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

/// A whole notebook as a client sees it when it joins.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// States in creation order; the root first.
    pub states: Vec<State>,
    /// Runs in the order in which they were asked for.
    pub runs: Vec<Run>,
    /// Drafts; those of one state stand in their order.
    pub drafts: Vec<Draft>,
    /// What is wrong with the disk, when something is.
    #[serde(rename = "trouble")]
    pub disk_status: Option<DiskStatus>,
    /// Who looks at it.
    #[serde(rename = "people")]
    pub participants: Vec<Participant>,
}

impl Notebook {
    /// The whole notebook as a value.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            name: self.name().to_owned(),
            states: self.states().cloned().collect(),
            runs: self.runs().cloned().collect(),
            drafts: self.drafts().cloned().collect(),
            disk_status: self.disk_status().cloned(),
            participants: self.participants().to_vec(),
        }
    }
}
