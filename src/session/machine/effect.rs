//! What the machine wants done (`Effect`), and the alarms that it sets.

use crate::kernel::{CellOrder, Delivery, Load, ProcId, Question, ReadyPython, Role, Wanted};
use crate::notebook::{Checkpoint, Dispatch, Event, ExecId, Reply, StateId, WidgetMessage};
use std::time::Duration;

/// Identifies a client request. The machine returns the ticket with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::session) struct Ticket(pub(in crate::session) u64);

/// The number of a run. Unlike an exec id, it is not reused after a reset, so an alarm of an old
/// run never affects a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) struct Serial(pub(in crate::session) u64);

/// An action for the actor.
#[derive(Debug, PartialEq)]
pub(in crate::session) enum Effect {
    /// Send an event to all clients, and save it if it is a fact.
    Publish(Box<Event>),
    /// Answer a command.
    Answer(Ticket, Box<Reply>),
    /// Start the root process.
    SpawnRoot(ProcId),
    /// Use this Python for root processes from now on.
    UsePython(Box<ReadyPython>),
    /// Make a process fork a child that sends variables to a head.
    Send { from: ProcId, child: ProcId, wanted: Wanted },
    /// Make a process fork a child.
    Fork { from: ProcId, child: ProcId, role: Role, load: Option<Load> },
    /// Run a cell on a head. Each variable of another state comes from a process.
    Run { head: ProcId, exec_id: ExecId, cell: CellOrder, deliveries: Vec<(Delivery, Option<ProcId>)> },
    /// Ask a process to complete code or to describe an object.
    Question { process: ProcId, number: u64, question: Question },
    /// Send the text that the user typed to a head.
    Type { head: ProcId, number: u32, text: String },
    /// Send a message to a widget in a head. `Report::WidgetHandled` repeats the number.
    Widget { head: ProcId, number: u64, message: WidgetMessage },
    /// Interrupt a head's cell (SIGINT).
    Interrupt(ProcId),
    /// Stop a head (SIGSTOP), and kill all processes that its last cell started, even in other Unix
    /// sessions. `Input::HeadStopped` reports the result.
    Stop(ProcId),
    /// Resume a stopped head (SIGCONT).
    Continue(ProcId),
    /// Examine a late process from outside.
    Examine(ProcId),
    /// End a process.
    Kill(ProcId, Killed),
    /// End a head and all processes that its last cell started, even in other Unix sessions.
    EndRun(ProcId),
    /// End all processes that the last cell of a head started, even in other Unix sessions, but not
    /// the head.
    EndStarted(ProcId),
    /// End all heads, and all processes that any cell started.
    EndCells,
    /// Set an alarm.
    Wake(Duration, Alarm),
    /// Add a checkpoint to the notebook on disk. The blobs of the checkpoint are stored already.
    Keep { state: StateId, parent: Option<StateId>, checkpoint: Box<Checkpoint> },
    /// Sign all checkpoints with this install's key.
    Trust,
    /// Send a run to the workers.
    Dispatch(ExecId, Serial, Box<Dispatch>),
    /// The run is over: no worker shall run it, and the object store shall keep nothing of it.
    Recall(ExecId),
    /// Take the notebook's copy in the store over. The answer is `Input::TakenOver`.
    TakeOver(Ticket),
    /// Measure the private memory of processes.
    Measure(Vec<ProcId>),
    /// Observe a run in a branch from outside.
    Observe { exec_id: ExecId, serial: Serial, head: ProcId },
    /// Measure the memory of a run. `frozen` is the frozen process of the state that the run runs
    /// against, if there is one.
    MeasureRun { exec_id: ExecId, serial: Serial, head: ProcId, frozen: Option<ProcId> },
}

impl Effect {
    /// Whether the effect controls or creates a process.
    pub(in crate::session) fn is_for_processes(&self) -> bool {
        match self {
            Self::SpawnRoot(_)
            | Self::Send { .. }
            | Self::Fork { .. }
            | Self::Run { .. }
            | Self::Question { .. }
            | Self::Type { .. }
            | Self::Widget { .. }
            | Self::Interrupt(_)
            | Self::Stop(_)
            | Self::Continue(_)
            | Self::Examine(_)
            | Self::Kill(..)
            | Self::EndRun(_)
            | Self::EndStarted(_)
            | Self::EndCells => true,
            Self::Publish(_)
            | Self::Answer(..)
            | Self::UsePython(_)
            | Self::Wake(..)
            | Self::Keep { .. }
            | Self::Trust
            | Self::Dispatch(..)
            | Self::Recall(_)
            | Self::TakeOver(_)
            | Self::Measure(_)
            | Self::Observe { .. }
            | Self::MeasureRun { .. } => false,
        }
    }
}

/// Why a process is killed, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Killed {
    /// Nothing needs it any more, or others need its memory more.
    NotNeeded,
    /// What it was asked for took too long, for example the list of its variables.
    Late,
    /// The run in it is to end.
    RunStopped,
    /// It does not answer, although it should have started or forked long ago.
    Hung,
    /// It could not be made, or could not load its state.
    Failed,
}

/// The purpose of an alarm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::session) enum Alarm {
    /// A process should have finished what it was forked for (its `Duty`).
    Late(ProcId),
    /// A question to a process should have been answered.
    AnswerTimeout(ProcId, u64),
    /// It may be time to compare variables, if no cell is about to run.
    Compare,
    /// A head should have begun its cell.
    BeginTimeout(ProcId, ExecId, Serial),
    /// An interrupted cell should have stopped.
    StopTimeout(ExecId, Serial),
    /// A head of a failed cell may have been held for `HELD_FOR`.
    HoldTimeout,
    /// A run has reached its time limit.
    TimeLimit(ExecId, Serial),
    /// The memory of a run with a memory limit has to be measured again.
    MeasureRun(ExecId, Serial),
    /// A run in a branch has to be observed again.
    Watch(ExecId, Serial),
    /// It may be time to save a checkpoint, if no cell is about to run.
    Save,
    /// A checkpoint that failed has to be tried again.
    SaveAgain(StateId),
    /// The memory of processes has to be measured.
    Measure,
    /// Presence may be published again.
    Presence,
    /// The collected messages of widgets have to be published.
    Widgets,
    /// The widgets of a head may have been quiet since this message.
    WidgetsQuiet(ProcId, u64),
    /// A frozen process that was replaced may be no longer needed.
    Retire(ProcId),
}
