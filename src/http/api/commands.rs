//! Handlers that send a command to a notebook, return a whole notebook, or list a state's
//! variables.

use crate::http::app_state::{AppState, WHOLE_TIMEOUT};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::held_body::json_with;
use crate::http::request::{Caller, Json, PathParams};
use crate::notebook::{Command, Reply, Snapshot, StateId};
use crate::problem::{Kind, Problem};
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Bytes;
use actix_web::{HttpResponse, ResponseError, web};
use futures_util::future::join_all;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Instant;
use utoipa::ToSchema;

/// Maximum number of commands with long answers in one batch, because all answers are sent
/// together.
const MAX_QUESTIONS: usize = 4;

/// Several commands.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Batch {
    commands: Vec<Command>,
}

/// The reply to each command of a batch, in the same order.
#[derive(Serialize, ToSchema)]
pub(crate) struct Replies {
    replies: Vec<Reply>,
}

/// Returns a whole notebook: its states, its runs with their outputs, and its drafts.
#[utoipa::path(
    get, path = "/api/notebooks/{name}", tag = "notebooks", params(("name" = String, Path)),
    responses((status = 200, body = Snapshot), (status = 404, body = ErrorBody))
)]
pub(crate) async fn snapshot(app: web::Data<AppState>, caller: Caller, path: PathParams) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let permit = app.whole_for(caller.access()?, 1).await?;
    let mut pieces = session.snapshot().await?.into_pieces("", "");
    let by = Instant::now() + WHOLE_TIMEOUT;
    let body = stream::iter(std::iter::from_fn(move || {
        let _held = &permit;
        if Instant::now() > by {
            return Some(Err(io::Error::from(io::ErrorKind::TimedOut)));
        }
        pieces.next().map(|piece| Ok(Bytes::from(piece)))
    }));
    Ok(HttpResponse::Ok().insert_header((CONTENT_TYPE, "application/json")).streaming(body))
}

/// Carries out a command. The answer to a run is sent when the run has ended.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/commands", tag = "notebooks", params(("name" = String, Path)),
    request_body = Command,
    responses(
        (status = 200, description = "Done", body = Reply),
        (status = 400, description = "The command is invalid", body = Reply),
        (status = 403, description = "The caller's scope does not allow it", body = Reply),
        (status = 404, description = "It names something that does not exist", body = Reply),
        (status = 409, description = "It conflicts with the current state", body = Reply),
        (status = 413, description = "It is too long", body = Reply),
        (status = 503, description = "Too busy; try again", body = Reply),
        (status = 504, description = "No answer in time", body = Reply),
    )
)]
pub(crate) async fn command(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(command): Json<Command>,
) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let permit = app.long_answer_for(caller.access()?, &command).await?;
    let reply = match app.authorize(caller.access()?, command) {
        Ok(command) => session.ask(command).await?,
        Err(refused) => Reply::Refused(refused),
    };
    let status = match &reply {
        Reply::Refused(refused) => refused.status_code(),
        _ => StatusCode::OK,
    };
    json_with(status, &reply, permit)
}

/// Carries out several commands, in their order, as if they had come over one WebSocket: a run
/// delays no later command. They are completed even if the client disconnects.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/commands/batch", tag = "notebooks",
    params(("name" = String, Path)), request_body = Batch,
    responses(
        (status = 200, description = "The replies, some of which may be refusals", body = Replies),
        (status = 400, description = "A command cannot be read; none was carried out", body = ErrorBody),
        (status = 413, description = "They are too long; none was carried out", body = ErrorBody),
    )
)]
pub(crate) async fn batch(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(Batch { commands }): Json<Batch>,
) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let access = caller.access()?;
    let questions = || commands.iter().filter(|command| command.has_long_answer());
    if questions().count() > MAX_QUESTIONS {
        let why = format!("more than {MAX_QUESTIONS} of them have long answers");
        return Err(Problem::new(Kind::TooLarge, "carry out the commands", why, "send them one by one"));
    }
    let permit = match questions().next() {
        Some(question) => app.long_answer_for(access, question).await?,
        None => None,
    };
    let commands: Vec<_> = commands.into_iter().map(|command| app.authorize(access, command)).collect();
    let replies = join_all(commands.into_iter().map(async |command| match command {
        Ok(command) => session.ask(command).await,
        Err(refused) => Ok(Reply::Refused(refused)),
    }));
    let replies = replies.await.into_iter().collect::<Result<_, _>>()?;
    json_with(StatusCode::OK, &Replies { replies }, permit)
}

/// Lists a state's variables.
#[utoipa::path(
    get, path = "/api/notebooks/{name}/states/{id}/variables", tag = "notebooks",
    params(("name" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = Reply), (status = 404, body = ErrorBody))
)]
pub(crate) async fn variables(app: web::Data<AppState>, caller: Caller, path: PathParams) -> HttpResult {
    let state = StateId::new(path.get(1));
    let session = AppState::notebook(&app, path.get(0)).await?;
    let command = Command::ListVariables { state: state.into() };
    let permit = app.long_answer_for(caller.access()?, &command).await?;
    let reply = app.ask(&session, caller.access()?, command).await?;
    json_with(StatusCode::OK, &reply, permit)
}
