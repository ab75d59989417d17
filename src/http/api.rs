//! The REST API under `/api`: every notebook, every command, and who else may come in.

use super::auth::{Link, LinkError, NewLink, Now, Scope};
use super::body::{Json, NoBody};
use super::error::{ErrorBody, HttpError, status_of};
use super::guard::Caller;
use super::openapi::ApiDoc;
use super::routes::Found;
use super::{Door, limits};
use crate::notebook::{Command, Refused, Reply, StateId};
use crate::session::Session;
use actix_web::http::StatusCode;
use actix_web::http::header::SET_COOKIE;
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::{OpenApi, ToSchema};

/// The longest time for which a link can be made. Without an end it lasts until it is taken back.
const MAX_LINK_SECONDS: u64 = 10 * 365 * 24 * 3600;

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
    name: String,
}

/// The answer to `GET /api/notebooks`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Notebooks {
    /// The names of the open notebooks, sorted.
    notebooks: Vec<String>,
}

/// A share link that is wished.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkWish {
    /// `view` or `run`.
    scope: Scope,
    /// The notebook that it is to open; without it, the one given at start.
    #[serde(default)]
    notebook: Option<String>,
    /// A note on who gets it.
    #[serde(default)]
    label: Option<String>,
    /// Seconds until it ends; without it, when it is taken back.
    #[serde(default)]
    expires_in: Option<u64>,
}

/// A share link that was made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NewLinkView {
    #[serde(flatten)]
    link: Link,
    /// The token. It is shown only here.
    token: String,
    /// What to open on this server, token included.
    path: String,
}

/// The answer to `GET /api/links`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Links {
    /// In the order in which they were made.
    links: Vec<Link>,
}

/// Says that the server is there.
#[utoipa::path(get, path = "/health", tag = "server", security(()), responses((status = 200, body = Health)))]
pub(crate) async fn health() -> HttpResponse {
    HttpResponse::Ok().json(Health { status: "ok" })
}

/// Lists the open notebooks that the caller may see.
#[utoipa::path(get, path = "/api/notebooks", tag = "notebooks", responses((status = 200, body = Notebooks)))]
pub(crate) async fn notebooks(door: web::Data<Door>, caller: Caller) -> Result<HttpResponse, HttpError> {
    Ok(HttpResponse::Ok().json(Notebooks { notebooks: door.names_for(caller.access()?) }))
}

/// Opens a notebook, or answers the one that is open under this name.
#[utoipa::path(
    post, path = "/api/notebooks", tag = "notebooks", request_body = Named,
    responses(
        (status = 200, description = "It is open", body = Named),
        (status = 400, description = "The name cannot be used", body = ErrorBody),
        (status = 503, description = "Too many are open", body = ErrorBody),
    )
)]
pub(crate) async fn open_notebook(
    door: web::Data<Door>,
    Json(wish): Json<Named>,
) -> Result<HttpResponse, HttpError> {
    let session = door.open(&wish.name)?;
    Ok(HttpResponse::Ok().json(Named { name: session.name().to_owned() }))
}

/// Shows a notebook whole: states, runs with their outputs, drafts.
#[utoipa::path(
    get, path = "/api/notebooks/{name}", tag = "notebooks", params(("name" = String, Path)),
    responses((status = 200, body = crate::notebook::Snapshot), (status = 404, body = ErrorBody))
)]
pub(crate) async fn snapshot(door: web::Data<Door>, found: Found) -> Result<HttpResponse, HttpError> {
    let snapshot = notebook(&door, &found)?.read(crate::notebook::Notebook::snapshot).await?;
    Ok(HttpResponse::Ok().json(snapshot))
}

/// Carries out a command. A run is answered when it has ended.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/commands", tag = "notebooks", params(("name" = String, Path)),
    request_body = Command,
    responses(
        (status = 200, description = "Done", body = Reply),
        (status = 400, description = "Refused: it makes no sense", body = Reply),
        (status = 403, description = "Refused: the caller may not", body = Reply),
        (status = 404, description = "Refused: what it names is not there", body = Reply),
        (status = 409, description = "Refused: it contradicts what is", body = Reply),
        (status = 413, description = "Refused: it is too long", body = Reply),
        (status = 503, description = "Refused: not now", body = Reply),
        (status = 504, description = "Refused: no answer in time", body = Reply),
    )
)]
pub(crate) async fn command(
    door: web::Data<Door>,
    caller: Caller,
    found: Found,
    Json(command): Json<Command>,
) -> Result<HttpResponse, HttpError> {
    let session = notebook(&door, &found)?;
    let reply = match door.admit(caller.access()?, command) {
        Ok(command) => ask(session, command).await?,
        Err(refused) => Reply::Refused(refused),
    };
    let status = match &reply {
        Reply::Refused(refused) => status_of(refused),
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
pub(crate) async fn variables(door: web::Data<Door>, found: Found) -> Result<HttpResponse, HttpError> {
    let state = StateId::new(found.params.get(1).map(String::as_str).unwrap_or_default());
    match ask(notebook(&door, &found)?, Command::LookAtVariables { state }).await? {
        Reply::Refused(refused) => Err(refused.into()),
        reply => Ok(HttpResponse::Ok().json(reply)),
    }
}

/// Lists the share links.
#[utoipa::path(get, path = "/api/links", tag = "links", responses((status = 200, body = Links)))]
pub(crate) async fn links(door: web::Data<Door>) -> HttpResponse {
    HttpResponse::Ok().json(Links { links: door.keys.links(Now::read()) })
}

/// Makes a share link.
#[utoipa::path(
    post, path = "/api/links", tag = "links", request_body = LinkWish,
    responses((status = 201, body = NewLinkView), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody))
)]
pub(crate) async fn add_link(
    door: web::Data<Door>,
    Json(wish): Json<LinkWish>,
) -> Result<HttpResponse, HttpError> {
    if wish.scope == Scope::Owner {
        let why = "a link cannot give everything";
        return Err(HttpError::bad_request("make a link", why, "make it for `view` or `run`"));
    }
    let notebook = match wish.notebook {
        Some(name) => door.notebook(&name)?.name().to_owned(),
        None => door.start.name().to_owned(),
    };
    if let Some(label) = &wish.label {
        limits::check_label(label)?;
    }
    let lasts = match wish.expires_in {
        Some(0) | Some(MAX_LINK_SECONDS..) => {
            let how = format!("give seconds between 1 and {MAX_LINK_SECONDS}, or leave it out");
            return Err(HttpError::bad_request("make a link", "it would end at once or never", how));
        }
        seconds => seconds.map(Duration::from_secs),
    };
    let new = NewLink { scope: wish.scope, notebook, label: wish.label, lasts };
    let (link, token) = door.keys.add_link(new, Now::read())?;
    let path = format!("/n/{}?token={token}", super::pages::in_path(&link.notebook));
    Ok(HttpResponse::Created().json(NewLinkView { link, token, path }))
}

/// Takes a share link back. Whoever came in by it is sent out.
#[utoipa::path(
    delete, path = "/api/links/{id}", tag = "links", params(("id" = String, Path)),
    responses((status = 204, description = "It is gone"), (status = 404, body = ErrorBody))
)]
pub(crate) async fn take_back_link(
    door: web::Data<Door>,
    found: Found,
    _: NoBody,
) -> Result<HttpResponse, HttpError> {
    let id = found.params.first().map(String::as_str).unwrap_or_default();
    if door.keys.take_back(id) {
        return Ok(HttpResponse::NoContent().finish());
    }
    Err(HttpError::not_found(format!("find link {id:?}"), "there is no such link, or it has ended"))
}

/// Ends the caller's browser session.
#[utoipa::path(delete, path = "/api/session", tag = "server", responses((status = 204, description = "Signed out")))]
pub(crate) async fn sign_out(
    door: web::Data<Door>,
    caller: Caller,
    _: NoBody,
) -> Result<HttpResponse, HttpError> {
    door.keys.end_session(caller.access()?);
    let cookie = format!("{}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict", door.cookie);
    Ok(HttpResponse::NoContent().insert_header((SET_COOKIE, cookie)).finish())
}

/// Describes this API.
#[utoipa::path(get, path = "/api/openapi.json", tag = "server", responses((status = 200, description = "OpenAPI")))]
pub(crate) async fn openapi() -> HttpResponse {
    HttpResponse::Ok().json(ApiDoc::openapi())
}

fn notebook(door: &Door, found: &Found) -> Result<Session, Refused> {
    door.notebook(found.params.first().map(String::as_str).unwrap_or_default())
}

/// Asks in a task of its own: a client that goes away does not take its command with it.
pub(super) async fn ask(session: Session, command: Command) -> Result<Reply, HttpError> {
    let asked = actix_web::rt::spawn(async move { session.ask(command).await });
    asked.await.map_err(|_| HttpError::internal("the command was lost"))
}

impl From<LinkError> for HttpError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::TooMany => {
                Refused::new("conflict", "make a link", error.to_string(), "take some of them back").into()
            }
            LinkError::NoSecret(_) => HttpError::internal("the operating system gives no random numbers"),
        }
    }
}
