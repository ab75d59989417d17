//! How the handlers of the REST API ask a notebook.

use super::AppState;
use super::auth::Access;
use super::routes::MatchedRoute;
use crate::notebook::{Command, Notebook, Reply, State};
use crate::problem::Problem;
use crate::session::Session;
use std::future::Future;

/// Asks in a task of its own: a client that goes away does not take its command with it.
pub(super) async fn ask(session: Session, command: Command) -> Result<Reply, Problem> {
    to_its_end(async move { Ok(session.ask(command).await) }).await
}

/// The same, and reads the notebook at the moment of the reply.
pub(super) async fn ask_then<T: Send + 'static>(
    session: Session,
    command: Command,
    read: impl FnOnce(&Notebook, Reply) -> T + Send + 'static,
) -> Result<T, Problem> {
    to_its_end(async move { session.ask_then(command, read).await }).await
}

/// Does something in a task of its own, so that it is not left half done when the client goes away.
pub(super) async fn to_its_end<T: 'static>(
    work: impl Future<Output = Result<T, Problem>> + 'static,
) -> Result<T, Problem> {
    actix_web::rt::spawn(work).await.map_err(|_| Problem::internal("a part of the server failed"))?
}

impl AppState {
    /// Asks a notebook, if the caller may. A refusal is an error.
    pub(super) async fn ask(
        &self,
        session: &Session,
        access: &Access,
        command: Command,
    ) -> Result<Reply, Problem> {
        match ask(session.clone(), self.allow(access, command)?).await? {
            Reply::Refused(refused) => Err(refused),
            reply => Ok(reply),
        }
    }
}

/// A state by its name or id.
pub(super) async fn find(session: &Session, text: &str) -> Result<State, Problem> {
    let wanted = text.to_owned();
    let found = session.read(move |notebook| notebook.find(&wanted).cloned()).await?;
    found.ok_or_else(|| Problem::not_found(format!("find state {text:?}"), "no state has this name or id"))
}

/// What stands for a `{}` of the path.
pub(super) fn param(found: &MatchedRoute, place: usize) -> &str {
    found.params.get(place).map(String::as_str).unwrap_or_default()
}

/// A reply that does not belong to the command.
pub(super) fn unexpected(reply: Reply) -> Problem {
    match reply {
        Reply::Refused(refused) => refused,
        _ => Problem::internal("the notebook answered something else"),
    }
}
