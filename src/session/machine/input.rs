//! What happens to a notebook (`Input`), which the machine has to handle.

use super::effect::{Alarm, Serial, Ticket};
use super::presence::{Standing, Visitor};
use super::runs::RunMemory;
use crate::kernel::{Exit, Hung, ProcId, ReadyPython, Report, Seen};
use crate::notebook::{
    Checkpoint, Command, DiskStatus, ExecId, OffsiteStatus, Output, StateId, WorkerReport,
};
use crate::problem::Problem;
use crate::session::system_memory::Footprint;

/// An event that the machine has to handle.
#[derive(Debug)]
pub(in crate::session) enum Input {
    /// The notebook was opened.
    Opened,
    /// A client sent a command.
    Command(Ticket, Command),
    /// A client reported which state it looks at.
    Stand(Ticket, Visitor, Standing),
    /// A client disconnected.
    Left(Visitor),
    /// A process sent a report.
    Reported(ProcId, Report),
    /// A head was stopped. The number is the number of processes that the head's last cell had
    /// started and that were then killed.
    HeadStopped(ProcId, usize),
    /// A process exited.
    Gone(ProcId, Option<Exit>),
    /// The operating system refused to create a process. The text says why.
    Unable(ProcId, String),
    /// A process that is late was examined from outside, with this finding.
    Examined(ProcId, Hung),
    /// An alarm has rung.
    AlarmDue(Alarm),
    /// The store added a checkpoint to the notebook, or failed to.
    Kept(StateId, Result<Box<Checkpoint>, String>),
    /// The store signed the checkpoints of these states, or failed to. Signed checkpoints are
    /// trusted.
    Trusted(Result<Vec<StateId>, DiskStatus>),
    /// The memory of processes was measured, and the computer's available memory, in bytes.
    Measured(Vec<(ProcId, Footprint)>, Option<u64>),
    /// The memory of a run with a memory limit was measured; none if the run's process has exited.
    RunMeasured(ExecId, Serial, Option<RunMemory>),
    /// A run in a branch was observed; none if the run's process has exited.
    Observed(ExecId, Serial, Option<Seen>),
    /// The status of the disk changed: the failure, or none if writing works again.
    Trouble(Option<DiskStatus>),
    /// A run at a worker has begun, shown something, or ended.
    Worker(ExecId, Serial, WorkerReport),
    /// What is known of the copy in a store has changed.
    Offsite(OffsiteStatus),
    /// The answer to `Effect::TakeOver`.
    TakenOver(Ticket, Result<(), Problem>),
    /// A state was read from a file and is to be added.
    Adopt(Ticket, Box<Adopted>),
    /// The notebook is to use another Python. The flag is true if the notebook chose the Python.
    ChangePython(Ticket, Box<ReadyPython>, bool),
    /// The notebook's Python was checked before the root starts. The error says, as a sentence, why
    /// it cannot run cells.
    PythonChecked(Result<Box<ReadyPython>, String>),
    /// Whether the remaining states are saved without a pause between cells. True when all
    /// processes are about to be ended.
    SaveNow(bool),
    /// All runs have to end, because the notebook is about to be reset.
    StopRuns,
    /// The notebook is about to be closed.
    Closing,
}

impl Input {
    /// The kind of input, for the log.
    pub(in crate::session) fn name(&self) -> &'static str {
        match self {
            Self::Opened => "Opened",
            Self::Command(..) => "Command",
            Self::Stand(..) => "Stand",
            Self::Left(..) => "Left",
            Self::Reported(..) => "Reported",
            Self::HeadStopped(..) => "HeadStopped",
            Self::Gone(..) => "Gone",
            Self::Unable(..) => "Unable",
            Self::Examined(..) => "Examined",
            Self::AlarmDue(..) => "AlarmDue",
            Self::Kept(..) => "Kept",
            Self::Trusted(..) => "Trusted",
            Self::Measured(..) => "Measured",
            Self::RunMeasured(..) => "RunMeasured",
            Self::Observed(..) => "Observed",
            Self::Trouble(..) => "Trouble",
            Self::Worker(..) => "Worker",
            Self::Offsite(..) => "Offsite",
            Self::TakenOver(..) => "TakenOver",
            Self::Adopt(..) => "Adopt",
            Self::ChangePython(..) => "ChangePython",
            Self::PythonChecked(..) => "PythonChecked",
            Self::SaveNow(..) => "SaveNow",
            Self::StopRuns => "StopRuns",
            Self::Closing => "Closing",
        }
    }
}

/// A state that was read from a file. Its blobs are stored already.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// The code of all cells on the state's lineage, as one text.
    pub code: String,
    /// The outputs of the state's cell.
    pub outputs: Vec<Output>,
    /// The state's label, which users see.
    pub label: Option<String>,
    /// The state's checkpoint, which is not trusted.
    pub checkpoint: Checkpoint,
}
