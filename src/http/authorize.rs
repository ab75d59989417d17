//! Checks which commands a caller may send. Code can send a command to a notebook only as an
//! `Authorized`, which is the result of this check.

use super::agents::Report;
use super::app_state::{AppState, detached};
use super::auth::{Access, Scope};
use super::limits;
use crate::notebook::{Command, ExecId, Notebook, Python, Reply, State, StateRef};
use crate::problem::{Kind, Problem};
use crate::session::{Session, Visit};
use std::path::PathBuf;
use std::rc::Rc;

/// A command that passed the check. Only this file can make one and unwrap it.
#[derive(Debug)]
pub(super) struct Authorized(Command);

impl AppState {
    /// Checks that a caller may send a command, that the command's texts are within their limits,
    /// and that the command does not delete the root. Sets the server's default limits on a run
    /// without limits.
    ///
    /// # Errors
    /// 400, 403, 409 or 413.
    pub(super) fn authorize(&self, access: &Access, mut command: Command) -> Result<Authorized, Problem> {
        check_scope(access, &command)?;
        limits::check_command(&command)?;
        if matches!(&command, Command::DeleteState { state, .. } if state.is_root()) {
            let how = "to delete all other states, reset the notebook";
            let what = "delete state initial";
            return Err(Problem::new(Kind::Conflict, what, "all other states grow from it", how));
        }
        if let Command::Run(spec) = &mut command {
            if spec.passing {
                (spec.with_outputs, spec.allow_stdin) = (true, false);
            }
            spec.timeout = spec.timeout.or(self.timeout);
            spec.run_memory = spec.run_memory.or(self.run_memory);
        }
        if let Command::Sweep(spec) = &mut command {
            spec.options.timeout = spec.options.timeout.or(self.timeout);
            spec.options.run_memory = spec.options.run_memory.or(self.run_memory);
        }
        Ok(Authorized(command))
    }

    /// Checks that a caller may delete a state. Unlike `authorize`, this check allows deleting
    /// `initial`, because snapshot-kernel allows it.
    ///
    /// # Errors
    /// 403.
    pub(super) fn authorize_deletion(&self, access: &Access, state: StateRef) -> Result<Authorized, Problem> {
        let command = Command::DeleteState { state, subtree: false };
        check_scope(access, &command)?;
        Ok(Authorized(command))
    }

    /// Authorizes a command, sends it to a notebook and returns the reply.
    ///
    /// # Errors
    /// When the caller may not send the command, or the notebook refuses it.
    pub(super) async fn ask(
        &self,
        session: &Session,
        access: &Access,
        command: Command,
    ) -> Result<Reply, Problem> {
        match self.authorize(access, command)?.send(session).await? {
            Reply::Refused(problem) => Err(problem),
            reply => Ok(reply),
        }
    }
}

/// Presence of agents, which have no WebSocket.
impl AppState {
    /// Shows an agent to the visitors. Returns its id among them; `None` if the state or the
    /// notebook is gone.
    pub(super) async fn report_agent(&self, report: Report) -> Option<String> {
        let Report { visit, state, name, status } = report;
        match visit.stand(state, Some(name), None, None, None, Some(status)).await {
            Reply::Standing { id } => Some(id),
            _ => None,
        }
    }
}

/// Choosing a Python starts a program by its path, so only the owner may do it.
impl AppState {
    /// Restarts a notebook in the Python at a path; without one, in the server's default. The
    /// caller must hold `python_setup`.
    ///
    /// # Errors
    /// When the caller is not the owner, the Python cannot run cells, or cells are running.
    pub(super) async fn change_python(
        &self,
        session: &Session,
        access: &Access,
        path: Option<PathBuf>,
    ) -> Result<Python, Problem> {
        if access.scope < Scope::Owner {
            let how = "ask the owner to change it";
            let why = "only the owner of this server may choose a Python";
            return Err(Problem::new(Kind::Forbidden, "change the notebook's Python", why, how));
        }
        let pythons = self.sessions.pythons().clone();
        let is_chosen = path.is_some();
        let prepare = move || match path {
            Some(path) => pythons.prepare(&path),
            None => Ok(pythons.default().clone()),
        };
        let python = self.threads.run(prepare).await??;
        match session.use_python(python, is_chosen).await {
            Reply::Refused(problem) => Err(problem),
            _ => session.read(|notebook| notebook.python().clone()).await,
        }
    }
}

impl Authorized {
    /// A command that deletes a failed run, for requests that must not leave a run in the notebook.
    pub(super) fn clean_up(exec_id: ExecId) -> Self {
        Self(Command::DropAttempt { exec_id })
    }

    /// The command, for reading only.
    pub(super) fn command(&self) -> &Command {
        &self.0
    }

    /// Sends the command to a notebook and waits for the reply. The command is completed even if
    /// the client disconnects.
    pub(super) async fn send(self, session: &Session) -> Result<Reply, Problem> {
        self.send_then(session, |_, reply| reply).await
    }

    /// Like `send`, but returns the result of `read`. `read` gets the reply, and the notebook at
    /// the moment of the reply.
    pub(super) async fn send_then<T: Send + 'static>(
        self,
        session: &Session,
        read: impl FnOnce(&Notebook, Reply) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let session = session.clone();
        detached(async move { session.ask_then(self.0, read).await }).await
    }

    /// Sends the command of a WebSocket client. Only WebSocket clients have presence.
    pub(super) async fn send_for(self, visit: Rc<Visit>, session: Session) -> Reply {
        match self.0 {
            Command::Stand { state, name, caret, cell, follows } => {
                visit.stand(state, name, caret, cell, follows, None).await
            }
            command => {
                // Dropped before the wait, because presence must end with the connection even if
                // the run continues for an hour.
                drop(visit);
                session.ask(command).await
            }
        }
    }
}

fn check_scope(access: &Access, command: &Command) -> Result<(), Problem> {
    let needed = scope_for(command);
    if access.scope >= needed {
        return Ok(());
    }
    let why = format!(
        "this link has the scope `{}`, and the command needs `{}`",
        access.scope.word(),
        needed.word()
    );
    Err(Problem::new(
        Kind::Forbidden,
        "carry out the command",
        why,
        "ask the owner for a link with that scope",
    ))
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
        | Command::Digest { .. }
        | Command::SaveTask { .. } => Scope::Run,
        Command::Trust
        | Command::TakeOver
        | Command::DeleteState { .. }
        | Command::Collapse { .. }
        | Command::DeleteSweep { .. }
        | Command::DropAttempt { .. }
        | Command::Restore { .. }
        | Command::EmptyTrash
        | Command::Reset => Scope::Owner,
    }
}

/// Finds a state by its name or id.
///
/// # Errors
/// 404.
pub(super) async fn find_state(session: &Session, name: &str) -> Result<State, Problem> {
    let wanted = name.to_owned();
    let state = session.read(move |notebook| notebook.find(&wanted).cloned()).await?;
    state.ok_or_else(|| Problem::not_found(format!("find state {name:?}"), "no state has this name or id"))
}

/// The error for an unexpected reply: the problem if the notebook refused the command, or else an
/// internal error.
pub(super) fn unexpected(reply: Reply) -> Problem {
    match reply {
        Reply::Refused(problem) => problem,
        _ => Problem::internal("the notebook sent the answer to another command"),
    }
}

#[cfg(test)]
mod tests {
    /// If another file sent commands to notebooks, they would not be checked.
    #[test]
    fn only_this_file_sends_commands() {
        let mut pending = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http")];
        while let Some(path) = pending.pop() {
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).expect("a folder of src can be read");
                pending.extend(entries.map(|entry| entry.expect("its entries too").path()));
            } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("authorize.rs")
            {
                let text = std::fs::read_to_string(&path).expect("a source file is text");
                for call in ["session.ask(", "start.ask(", ".ask_then(", "visit.stand(", ".use_python("] {
                    assert!(!text.contains(call), "{} calls {call}", path.display());
                }
            }
        }
    }
}
