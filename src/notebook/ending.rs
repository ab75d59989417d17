//! How a run ends: its status and its error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// The run waits for an earlier run, or for its head.
    Queued,
    /// The run's cell is running.
    Running,
    /// The run left a state.
    Ok,
    /// The cell raised.
    Error,
    /// The run was stopped by the user, by its time limit, or because the run it waited for failed.
    Interrupted,
    /// The run's process exited or was killed before the cell ended.
    Crashed,
    /// Ratoon did not run the code: its outputs were imported from a file. The page shows the
    /// outputs below the run's draft until that draft runs.
    Imported,
}

impl RunStatus {
    /// Whether the run is over.
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// Why a run failed: a Python exception, or an error of Ratoon in the same form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunError {
    /// The exception's class name, or the name of `cause`. An exception of the user may have the
    /// same name, so nothing is decided by it.
    pub ename: String,
    /// The exception's message.
    pub evalue: String,
    /// Lines of the traceback, with ANSI colours.
    pub traceback: Vec<String>,
    /// What Ratoon reports. Missing for an exception of the code, and in outputs, which have the
    /// fields of nbformat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// What ended a run, if no exception of its own code did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It was interrupted: a `KeyboardInterrupt` ended its code, or its process was killed.
    Interrupt,
    /// Its process died.
    KernelDied,
    /// The state that it should run against does not exist.
    StateNotFound,
    /// The state that it should run against has neither a process nor a checkpoint.
    StateLost,
    /// The run before it left no state.
    RunAborted,
    /// It reached its time limit.
    RunTimeout,
    /// It reached its memory limit.
    RunOutOfMemory,
    /// Its process cannot be frozen, so the run left no state.
    StateNotKept,
    /// No process could be made from its state.
    ForkFailed,
    /// The system could not start a process. The run never began, and can be requested again.
    ForkRefused,
    /// Its state could not be restored.
    RestoreFailed,
    /// Its state could not be replayed.
    ReplayFailed,
    /// The worker that ran it failed.
    WorkerFailed,
    /// The worker refused it.
    WorkerRefused,
}

impl Cause {
    /// The name of an exception's class, for programs and people who know only exceptions.
    fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "KeyboardInterrupt",
            Self::KernelDied => "KernelDied",
            Self::StateNotFound => "StateNotFound",
            Self::StateLost => "StateLost",
            Self::RunAborted => "RunAborted",
            Self::RunTimeout => "RunTimeout",
            Self::RunOutOfMemory => "RunOutOfMemory",
            Self::StateNotKept => "StateNotKept",
            Self::ForkFailed => "ForkFailed",
            Self::ForkRefused => "ForkRefused",
            Self::RestoreFailed => "RestoreFailed",
            Self::ReplayFailed => "ReplayFailed",
            Self::WorkerFailed => "WorkerFailed",
            Self::WorkerRefused => "WorkerRefused",
        }
    }

    fn status(self) -> RunStatus {
        match self {
            Self::Interrupt | Self::RunAborted | Self::RunTimeout | Self::RunOutOfMemory => {
                RunStatus::Interrupted
            }
            Self::KernelDied => RunStatus::Crashed,
            _ => RunStatus::Error,
        }
    }
}

impl RunError {
    /// An error that Ratoon reports, without a traceback.
    pub fn of(cause: Cause, why: impl Into<String>) -> Self {
        let (ename, evalue) = (cause.name().to_owned(), why.into());
        Self { ename, evalue, traceback: Vec::new(), cause: Some(cause) }
    }

    /// An exception of the code, without a traceback.
    pub fn raised(ename: &str, evalue: impl Into<String>) -> Self {
        let (ename, evalue) = (ename.to_owned(), evalue.into());
        Self { ename, evalue, traceback: Vec::new(), cause: None }
    }

    /// The status of a run that ended with the error.
    pub fn status(&self) -> RunStatus {
        self.cause.map_or(RunStatus::Error, Cause::status)
    }

    /// The error with the fields of nbformat only.
    #[must_use]
    pub fn without_cause(self) -> Self {
        Self { cause: None, ..self }
    }

    /// The error's class and message, in the form of the last line of a Python traceback.
    pub fn in_words(&self) -> String {
        let Self { ename, evalue, .. } = self;
        if evalue.is_empty() { ename.clone() } else { format!("{ename}: {evalue}") }
    }
}
