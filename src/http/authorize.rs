//! Checks the commands of a caller, and sends them to a notebook.

use super::agents::Report;
use super::app_state::AppState;
use super::auth::Access;
use super::limits;
use crate::notebook::{Command, ExecId, Python, Reply, State};
use crate::problem::{Kind, Problem};
use crate::session::{Owner, Permitted, Scope, Session, Visit};
use std::path::PathBuf;
use std::rc::Rc;

impl AppState {
    /// Checks that a caller may send a command, that the command's texts are within their limits,
    /// and that the command does not delete the root. Sets the server's default limits on a run
    /// without limits.
    ///
    /// # Errors
    /// 400, 403, 409 or 413.
    pub(super) fn authorize(&self, access: &Access, mut command: Command) -> Result<Permitted, Problem> {
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
        let permitted = Permitted::check(access.scope, command)?;
        limits::check_command(permitted.command())?;
        if matches!(permitted.command(), Command::DeleteState { state, .. } if state.is_root()) {
            let how = "to delete all other states, reset the notebook";
            let what = "delete state initial";
            return Err(Problem::new(Kind::Conflict, what, "all other states grow from it", how));
        }
        Ok(permitted)
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
        match session.ask(self.authorize(access, command)?).await? {
            Reply::Refused(problem) => Err(problem),
            reply => Ok(reply),
        }
    }
}

/// Sends the command of a WebSocket client. `visit` is its presence, for the command that changes
/// it.
pub(super) async fn send_for(visit: Option<Rc<Visit>>, session: Session, permitted: Permitted) -> Reply {
    if let (Some(visit), Command::Stand { state, name, caret, cell, follows }) = (visit, permitted.command())
    {
        let (state, name, caret) = (state.clone(), name.clone(), caret.clone());
        return visit.stand(state, name, caret, cell.clone(), follows.clone(), None).await;
    }
    session.ask(permitted).await.unwrap_or_else(Reply::Refused)
}

/// Deletes a failed run, for requests that must not leave a run in the notebook. A caller may clean
/// up after itself, even if it may delete nothing else.
///
/// # Errors
/// When the notebook has been closed.
pub(super) async fn clean_up(session: &Session, exec_id: ExecId) -> Result<(), Problem> {
    session.ask(Permitted::check(Scope::Owner, Command::DropAttempt { exec_id })?).await.map(drop)
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
        let owner = Owner::check(
            access.scope,
            "change the notebook's Python",
            "only the owner of this server may choose a Python",
            "ask the owner to change it",
        )?;
        let pythons = self.sessions.pythons().clone();
        let is_chosen = path.is_some();
        let prepare = move || match path {
            Some(path) => pythons.prepare(&path),
            None => Ok(pythons.default().clone()),
        };
        let python = self.threads.run(prepare).await??;
        match session.use_python(owner, python, is_chosen).await {
            Reply::Refused(problem) => Err(problem),
            _ => session.read(|notebook| notebook.python().clone()).await,
        }
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
