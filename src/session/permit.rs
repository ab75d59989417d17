//! What a client may do. A notebook carries out a client's command only as a `Permitted`, and only
//! the check of the client's scope makes one.

use crate::notebook::Command;
use crate::problem::{Kind, Problem};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The rights of a client. Each scope also includes the rights of the scopes above it in this
/// list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Allows reading states, outputs and the values of variables.
    View,
    /// Also allows running and interrupting cells, answering `input()`, and writing drafts, prose
    /// and labels. A cell can do everything that the server's user can do.
    Run,
    /// Allows everything, including deleting, resetting, opening and sharing notebooks.
    Owner,
}

impl Scope {
    /// The scope's name in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Run => "run",
            Self::Owner => "owner",
        }
    }
}

/// A command that its client may send.
#[derive(Debug)]
pub struct Permitted(Command);

impl Permitted {
    /// Checks that a scope allows a command.
    ///
    /// # Errors
    /// 403.
    pub fn check(scope: Scope, command: Command) -> Result<Self, Problem> {
        let needed = scope_for(&command);
        if scope >= needed {
            return Ok(Self(command));
        }
        let why =
            format!("this link has the scope `{}`, and the command needs `{}`", scope.word(), needed.word());
        let how = "ask the owner for a link with that scope";
        Err(Problem::new(Kind::Forbidden, "carry out the command", why, how))
    }

    /// The command, for reading only.
    pub fn command(&self) -> &Command {
        &self.0
    }

    pub(super) fn into_command(self) -> Command {
        self.0
    }
}

/// Says that the client is the owner of the server.
#[derive(Debug)]
pub struct Owner(());

impl Owner {
    /// Checks that a scope is the owner's.
    ///
    /// # Errors
    /// 403.
    pub fn check(scope: Scope, what: &str, why: &str, how: &str) -> Result<Self, Problem> {
        if scope == Scope::Owner {
            return Ok(Self(()));
        }
        Err(Problem::new(Kind::Forbidden, what, why, how))
    }
}

/// The lowest scope that allows a command.
fn scope_for(command: &Command) -> Scope {
    match command {
        Command::ListVariables { .. } | Command::Stand { .. } => Scope::View,
        Command::Run(_)
        | Command::Merge(_)
        | Command::KeepPartial { .. }
        | Command::Interrupt { .. }
        | Command::AnswerInput { .. }
        | Command::Widget { .. }
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
        | Command::Check { .. }
        | Command::Evaluate { .. }
        | Command::Sweep(_)
        | Command::StopSweep { .. }
        | Command::FindParameters { .. }
        | Command::Table { .. }
        | Command::ValuePart { .. }
        | Command::Digest { .. }
        | Command::SaveTask { .. } => Scope::Run,
        Command::Trust
        | Command::TakeOver
        | Command::DeleteState { .. }
        | Command::DeleteBranches { .. }
        | Command::Collapse { .. }
        | Command::DeleteSweep { .. }
        | Command::DropAttempt { .. }
        | Command::Restore { .. }
        | Command::EmptyTrash
        | Command::Reset => Scope::Owner,
    }
}
