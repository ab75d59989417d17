//! What happened to a notebook: whole facts, in past participles. The page folds them, the store keeps them.

use super::{
    Base, Changes, Draft, DraftId, ExecId, MimeBundle, Notebook, Output, Person, PlacedDraft, Prompt, Run,
    RunError, RunStatus, Saving, State, StateId, Symbols, TaskCheckpoint, Trouble,
};
use serde::Serialize;
use utoipa::ToSchema;

/// A fact. Every event that is published is also what the store saves, but for those that concern only what is alive
/// now: prompts, `KeepableChanged`, `SavingChanged`, `MemoryMeasured`, `Replaying`, `StateSaved`, `TroubleChanged`, `PeopleChanged`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
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
    /// Its code asks something, or (none) was answered.
    PromptChanged {
        /// The run.
        exec_id: ExecId,
        /// The question.
        prompt: Option<Prompt>,
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
    /// What a run had set until it failed can be kept from now on, or no longer.
    KeepableChanged {
        /// The run.
        exec_id: ExecId,
        /// Whether it can.
        keepable: bool,
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
    TroubleChanged {
        /// What is wrong.
        trouble: Option<Trouble>,
    },
    /// What a state's cell did to the variables is known.
    ChangesFound {
        /// The state.
        state: StateId,
        /// What it did.
        changes: Changes,
    },
    /// These look at the notebook now.
    PeopleChanged {
        /// All of them, in the order in which they came.
        people: Vec<Person>,
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

impl Event {
    /// The run that it is about.
    pub fn run(&self) -> Option<&ExecId> {
        match self {
            Self::RunAdded { run } => Some(&run.exec_id),
            Self::RunStarted { exec_id, .. }
            | Self::OutputAdded { exec_id, .. }
            | Self::OutputsCleared { exec_id, .. }
            | Self::DisplayUpdated { exec_id, .. }
            | Self::PromptChanged { exec_id, .. }
            | Self::RunEnded { exec_id, .. } => Some(exec_id),
            _ => None,
        }
    }

    /// Whether it belongs to what is kept, and not only to what is alive now.
    pub fn is_kept(&self) -> bool {
        !matches!(
            self,
            Self::PromptChanged { .. }
                | Self::KeepableChanged { .. }
                | Self::SavingChanged { .. }
                | Self::MemoryMeasured { .. }
                | Self::Replaying { .. }
                | Self::StateSaved { .. }
                | Self::TroubleChanged { .. }
                | Self::PeopleChanged { .. }
        )
    }
}

/// A whole notebook as a client sees it when it joins.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
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
    pub trouble: Option<Trouble>,
    /// Who looks at it.
    pub people: Vec<Person>,
}

impl Notebook {
    /// The whole notebook as a value.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            name: self.name().to_owned(),
            states: self.states().cloned().collect(),
            runs: self.runs().cloned().collect(),
            drafts: self.drafts().cloned().collect(),
            trouble: self.trouble().cloned(),
            people: self.people().to_vec(),
        }
    }
}
