//! The way of a command into a notebook: checked here, once, then sent.

use super::app_state::{AppState, detached};
use super::auth::{Access, Scope};
use super::limits;
use crate::notebook::{Command, Notebook, Reply, State, StateRef};
use crate::problem::{Kind, Problem};
use crate::session::Session;

/// A command that its sender may give. Only `AppState` makes one.
#[derive(Debug)]
pub(super) struct Authorized(Command);

impl Authorized {
    /// The command itself.
    pub(super) fn into_command(self) -> Command {
        self.0
    }
}

impl AppState {
    /// Checks that a caller may give a command, that its texts are within their limits and that it
    /// leaves the state
    /// `initial` alone; gives a run that names no limits those of the server.
    ///
    /// # Errors
    /// 400, 403, 409 or 413.
    pub(super) fn authorize(&self, access: &Access, command: Command) -> Result<Authorized, Problem> {
        check_scope(access, &command)?;
        limits::check_command(&command)?;
        if matches!(&command, Command::DeleteState { state, .. } if state.is_root()) {
            let how = "start over, with a reset, to forget all other states";
            return Err(Problem::new(
                Kind::Conflict,
                "delete state initial",
                "every notebook grows from it",
                how,
            ));
        }
        Ok(Authorized(self.with_limits(command)))
    }

    /// Checks that a caller may delete a state. snapshot-kernel deletes even `initial`.
    ///
    /// # Errors
    /// 403.
    pub(super) fn authorize_deletion(&self, access: &Access, state: StateRef) -> Result<Authorized, Problem> {
        let command = Command::DeleteState { state, subtree: false };
        check_scope(access, &command)?;
        Ok(Authorized(command))
    }

    fn with_limits(&self, mut command: Command) -> Command {
        if let Command::Run(spec) = &mut command {
            spec.timeout = spec.timeout.or(self.timeout);
            spec.run_memory = spec.run_memory.or(self.run_memory);
        }
        command
    }

    /// Authorizes a command and sends it to a notebook; a refusal is an error.
    ///
    /// # Errors
    /// When the caller may not, or the notebook refuses.
    pub(super) async fn ask(
        &self,
        session: &Session,
        access: &Access,
        command: Command,
    ) -> Result<Reply, Problem> {
        match send(session, self.authorize(access, command)?).await? {
            Reply::Refused(problem) => Err(problem),
            reply => Ok(reply),
        }
    }
}

fn check_scope(access: &Access, command: &Command) -> Result<(), Problem> {
    let needed = Scope::needed_for(command);
    if access.scope >= needed {
        return Ok(());
    }
    let why = format!("this link may {}, and it takes {}", access.scope.word(), needed.word());
    Err(Problem::new(Kind::Forbidden, "carry out the command", why, "ask the owner for a link that may"))
}

/// Sends a command to a notebook, and waits for the reply. A client that disconnects does not take
/// its command back.
pub(super) async fn send(session: &Session, command: Authorized) -> Result<Reply, Problem> {
    let session = session.clone();
    detached(async move { Ok(session.ask(command.0).await) }).await
}

/// The same, and reads the notebook at the moment of the reply.
pub(super) async fn send_then<T: Send + 'static>(
    session: &Session,
    command: Authorized,
    read: impl FnOnce(&Notebook, Reply) -> T + Send + 'static,
) -> Result<T, Problem> {
    let session = session.clone();
    detached(async move { session.ask_then(command.0, read).await }).await
}

/// The state of a name or an id.
///
/// # Errors
/// 404.
pub(super) async fn find_state(session: &Session, name: &str) -> Result<State, Problem> {
    let wanted = name.to_owned();
    let state = session.read(move |notebook| notebook.find(&wanted).cloned()).await?;
    state.ok_or_else(|| Problem::not_found(format!("find state {name:?}"), "no state has this name or id"))
}

/// The problem of a reply that the command cannot have.
pub(super) fn unexpected(reply: Reply) -> Problem {
    match reply {
        Reply::Refused(problem) => problem,
        _ => Problem::internal("the notebook answered something else"),
    }
}
