//! The REST API under `/api` that is about notebooks as wholes: every notebook, every command.

use super::AppState;
use super::ask::{ask, param};
use super::body::{Json, NoBody};
use super::error::ErrorBody;
use super::guard::{Caller, session_cookies};
use super::links::keep_sessions;
use super::routes::MatchedRoute;
use super::socket::WHOLE_TIMEOUT;
use crate::notebook::{Command, Reply, StateId};
use crate::problem::Problem;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, SET_COOKIE};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Instant;
use utoipa::ToSchema;

/// The answer to `GET /health`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    status: &'static str,
}

/// A notebook by name.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    /// The notebook's name.
    pub(super) name: String,
}

/// Says that the server is there.
#[utoipa::path(get, path = "/health", tag = "server", security(()), responses((status = 200, body = Health)))]
pub(crate) async fn health() -> HttpResponse {
    HttpResponse::Ok().json(Health { status: "ok" })
}

/// Opens a notebook, made when it is not there yet, or answers the one that is open under this name.
#[utoipa::path(
    post, path = "/api/notebooks", tag = "notebooks", request_body = Named,
    responses(
        (status = 200, description = "It is open", body = Named),
        (status = 400, description = "The name cannot be used", body = ErrorBody),
        (status = 503, description = "Too many are open", body = ErrorBody),
    )
)]
pub(crate) async fn open_notebook(
    app: web::Data<AppState>,
    Json(wish): Json<Named>,
) -> Result<HttpResponse, Problem> {
    let session = AppState::open(&app, &wish.name).await?;
    Ok(HttpResponse::Ok().json(Named { name: session.name().to_owned() }))
}

/// Shows a notebook whole: states, runs with their outputs, drafts.
#[utoipa::path(
    get, path = "/api/notebooks/{name}", tag = "notebooks", params(("name" = String, Path)),
    responses((status = 200, body = crate::notebook::Snapshot), (status = 404, body = ErrorBody))
)]
pub(crate) async fn snapshot(
    app: web::Data<AppState>,
    caller: Caller,
    found: MatchedRoute,
) -> Result<HttpResponse, Problem> {
    let session = AppState::notebook(&app, param(&found, 0)).await?;
    let permit = app.whole_for(caller.access()?, 1).await?;
    let mut pieces = session.read(crate::notebook::Notebook::snapshot).await?.into_pieces("", "");
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

/// Carries out a command. A run is answered when it has ended.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/commands", tag = "notebooks", params(("name" = String, Path)),
    request_body = Command,
    responses(
        (status = 200, description = "Done", body = Reply),
        (status = 400, description = "Problem: it makes no sense", body = Reply),
        (status = 403, description = "Problem: the caller may not", body = Reply),
        (status = 404, description = "Problem: what it names is not there", body = Reply),
        (status = 409, description = "Problem: it contradicts what is", body = Reply),
        (status = 413, description = "Problem: it is too long", body = Reply),
        (status = 503, description = "Problem: not now", body = Reply),
        (status = 504, description = "Problem: no answer in time", body = Reply),
    )
)]
pub(crate) async fn command(
    app: web::Data<AppState>,
    caller: Caller,
    found: MatchedRoute,
    Json(command): Json<Command>,
) -> Result<HttpResponse, Problem> {
    let session = AppState::notebook(&app, param(&found, 0)).await?;
    let reply = match app.admit(caller.access()?, command) {
        Ok(command) => ask(session, command).await?,
        Err(refused) => Reply::Refused(refused),
    };
    let status = match &reply {
        Reply::Refused(refused) => actix_web::ResponseError::status_code(refused),
        _ => StatusCode::OK,
    };
    Ok(HttpResponse::build(status).json(reply))
}

/// Shows a state's variables.
#[utoipa::path(
    get, path = "/api/notebooks/{name}/states/{id}/variables", tag = "notebooks",
    params(("name" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = Reply), (status = 404, body = ErrorBody))
)]
pub(crate) async fn variables(
    app: web::Data<AppState>,
    found: MatchedRoute,
) -> Result<HttpResponse, Problem> {
    let state = StateId::new(param(&found, 1));
    let session = AppState::notebook(&app, param(&found, 0)).await?;
    match ask(session, Command::ListVariables { state: state.into() }).await? {
        Reply::Refused(refused) => Err(refused),
        reply => Ok(HttpResponse::Ok().json(reply)),
    }
}

/// Ends the caller's browser sessions: the owner's, and those of links that were opened in the same browser.
#[utoipa::path(delete, path = "/api/session", tag = "server", responses((status = 204, description = "Signed out")))]
pub(crate) async fn sign_out(
    app: web::Data<AppState>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, Problem> {
    let cookies = session_cookies(&request, &app);
    let now = app.keys.now();
    for access in cookies.iter().filter_map(|(_, id)| app.keys.by_session(id, now)) {
        app.keys.end_session(&access);
    }
    keep_sessions(app.clone()).await?;
    let mut response = HttpResponse::NoContent();
    for (name, _) in cookies {
        let cookie = format!("{name}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict");
        response.append_header((SET_COOKIE, cookie));
    }
    Ok(response.finish())
}

/// Describes this API.
#[utoipa::path(get, path = "/api/openapi.json", tag = "server", responses((status = 200, description = "OpenAPI")))]
pub(crate) async fn openapi() -> HttpResponse {
    HttpResponse::Ok().json(super::openapi::document())
}
