//! What a caller may do, and the one table of what each command needs.

use crate::notebook::Command;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a credential is good for. Each scope includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// Read: states, outputs and the values of variables.
    View,
    /// Run cells, interrupt them, answer them, and write drafts, prose and labels. Running code is
    /// all that code can do.
    Run,
    /// Everything: delete, reset, open notebooks, share.
    Owner,
}

impl Scope {
    /// The least scope that may ask for a command.
    pub(crate) fn needed_for(command: &Command) -> Self {
        match command {
            Command::ListVariables { .. } | Command::Stand { .. } => Self::View,
            Command::Run(_)
            | Command::KeepPartial { .. }
            | Command::Interrupt { .. }
            | Command::AnswerInput { .. }
            | Command::PutDraft { .. }
            | Command::DeleteDraft { .. }
            | Command::PutProse { .. }
            | Command::Label { .. }
            | Command::Pin { .. }
            | Command::ForkAnyway { .. }
            | Command::Checkpoint { .. }
            | Command::Replay { .. }
            | Command::Load { .. }
            | Command::Complete { .. }
            | Command::Inspect { .. }
            | Command::Digest { .. }
            | Command::SaveTask { .. } => Self::Run,
            Command::Trust | Command::DeleteState { .. } | Command::DropAttempt { .. } | Command::Reset => {
                Self::Owner
            }
        }
    }

    /// The word for it on the wire.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Run => "run",
            Self::Owner => "owner",
        }
    }
}
