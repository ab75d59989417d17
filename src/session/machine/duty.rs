//! The purposes of processes, and what each purpose needs to know.

use super::effect::Ticket;
use crate::kernel::Wanted;
use crate::kernel::{Question, Role};
use crate::notebook::{ExecId, Form, StateId};
use std::collections::BTreeMap;
use std::time::Duration;

/// The purpose of a process.
#[derive(Debug)]
pub(super) enum Duty {
    /// The process that starts Python. It holds the root state. All other processes are forked from
    /// it or from its descendants.
    Root,
    /// The process holds its state. Processes that work for the state are forked from it.
    Frozen,
    /// The process runs cells.
    Head(Head),
    /// The process is a stopped head whose cell failed. The variables that the cell set can still
    /// be kept.
    Held(Head),
    /// The process is a held head that was killed. Later versions of its cell wait until it has
    /// exited.
    Ending,
    /// The process holds nothing that is needed: it was made during a replay for a state that is
    /// deleted or that another process already holds, or its state was frozen again.
    Spare,
    /// The process writes a checkpoint.
    Saving(Form),
    /// The process lists variables or computes their digests.
    Listing(Listing),
    /// The process completes code and describes objects.
    Answering(Answerer),
    /// The process fingerprints variables.
    Fingerprinting,
    /// The process sends variables to a head.
    Sending(Sender),
}

/// A process that runs cells.
#[derive(Debug)]
pub(super) struct Head {
    /// The current activity of the head.
    pub(super) doing: Doing,
    /// Whether the machine killed the process. Its later reports are ignored.
    pub(super) is_killed: bool,
    /// Why the system refused to create the frozen process of the head's state.
    pub(super) refusal: Option<String>,
    /// Whether the head has something that a checkpoint cannot contain, such as threads.
    pub(super) is_needed: bool,
    /// Whether the head was forked from the process of a state other than the root. Such a fork
    /// lacks the threads of that process.
    pub(super) is_forked: bool,
    pub(super) rested: u64,
}

impl Head {
    pub(super) fn new(doing: Doing) -> Self {
        Self { doing, is_killed: false, refusal: None, is_needed: false, is_forked: false, rested: 0 }
    }
}

/// The activity of a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// The head waits for the next cell.
    Rest,
    /// The head was ordered to run the cell of this run, and has not begun.
    Begin(ExecId),
    /// The head runs the cell of this run.
    Run(ExecId),
    /// The head runs the cells of this state's lineage again.
    Replay(StateId),
    /// The head runs the code of widgets. The run shows their outputs.
    Handle(ExecId),
}

impl Doing {
    /// The run whose cell the head runs or is about to run.
    pub(super) fn run(&self) -> Option<&ExecId> {
        match self {
            Self::Rest | Self::Replay(_) | Self::Handle(_) => None,
            Self::Begin(run) | Self::Run(run) => Some(run),
        }
    }
}

/// A listing that has not ended, with the requests that wait for it.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) tickets: Vec<Ticket>,
    pub(super) kind: ListingKind,
    /// Whether a deadline passed while the state was loading.
    pub(super) has_waited: bool,
}

/// What the process lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListingKind {
    Variables,
    Digests,
}

impl Listing {
    /// The role of the process that makes this listing.
    pub(super) fn role(&self) -> Role {
        match self.kind {
            ListingKind::Variables => Role::ListVariables,
            ListingKind::Digests => Role::Digest,
        }
    }
}

/// What a process answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Serves {
    /// Questions about code.
    Code,
    /// Questions about tables.
    Tables,
    /// One question: the process ends with its answer.
    One,
}

impl Serves {
    /// What a process answers that gets this question.
    pub(super) fn of(question: &Question) -> Self {
        match question {
            Question::Complete { .. } | Question::Inspect { .. } | Question::Check { .. } => Self::Code,
            Question::Table { .. } => Self::Tables,
            Question::Parameters { .. } => Self::Code,
            Question::Evaluate { .. } | Question::Draw { .. } | Question::ValuePart { .. } => Self::One,
        }
    }
}

/// A process that answers questions about one state.
#[derive(Debug)]
pub(super) struct Answerer {
    pub(super) waiting: BTreeMap<u64, (Ticket, Duration)>,
    pub(super) serves: Serves,
    pub(super) asked_ms: f64,
    /// When the process became ready; `None` before that.
    pub(super) ready_ms: Option<f64>,
}

impl Answerer {
    /// Whether a question has not been answered yet.
    pub(super) fn is_busy(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// A process that sends variables to a head.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) run: ExecId,
    pub(super) wanted: Wanted,
}
