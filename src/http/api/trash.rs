//! The trash: notebooks that were deleted, and what was in those that were reset.

use super::notebooks::Named;
use crate::http::app_state::{AppState, detached};
use crate::http::error::ErrorBody;
use crate::http::limits;
use crate::http::request::{NoBody, PathParams};
use crate::problem::Problem;
use actix_web::{HttpResponse, web};
use serde::Serialize;
use utoipa::ToSchema;

/// How many names are tried for a notebook that is restored beside others of its name.
const MAX_NAMES: usize = 1000;

/// How much of a name is kept in one like it: four bytes each, they fit into a directory's name.
const MAX_COPIED_CHARS: usize = 40;

/// The answer to `GET /api/trash`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Trash {
    /// The newest first.
    trash: Vec<Entry>,
}

/// A notebook in the trash.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Entry {
    id: String,
    /// The name that it had.
    name: String,
    /// `deleted`, or `reset`: then it is a copy of what the notebook was.
    why: &'static str,
    /// When, in milliseconds since the Unix epoch.
    at: u64,
    /// How many of its cells left a state; none when that cannot be told.
    states: Option<u64>,
    /// How much it takes on disk, in bytes.
    bytes: u64,
}

/// Lists the trash.
#[utoipa::path(get, path = "/api/trash", tag = "notebooks", responses((status = 200, body = Trash)))]
pub(crate) async fn list(app: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    let sessions = app.sessions.clone();
    let all = app.sessions.threads().run(move || sessions.trash()).await?;
    let entries = all.into_iter().map(|(one, seen)| Entry {
        why: one.why.word(),
        id: one.id,
        name: one.name,
        at: one.at_ms,
        states: seen.states,
        bytes: seen.bytes,
    });
    Ok(HttpResponse::Ok().json(Trash { trash: entries.collect() }))
}

/// Makes a notebook of an entry again, under its name or, where that is taken, under one like it.
/// Its share links do not come back.
#[utoipa::path(
    post, path = "/api/trash/{id}/restore", tag = "notebooks", params(("id" = String, Path)),
    responses(
        (status = 200, description = "It is there again, under this name", body = Named),
        (status = 404, description = "No such entry", body = ErrorBody),
        (status = 409, description = "It cannot be read", body = ErrorBody),
    )
)]
pub(crate) async fn restore(
    app: web::Data<AppState>,
    path: PathParams,
    _: NoBody,
) -> Result<HttpResponse, Problem> {
    let id = path.get(0).to_owned();
    detached(async move {
        let _one = app.changes.lock().await;
        let name = named(&app, &id).await?;
        limits::check_notebook_name(&name)?;
        let to = free_name(&app, &name);
        app.sessions.restore(&id, &to).await?;
        Ok(HttpResponse::Ok().json(Named { name: to }))
    })
    .await
}

/// Removes an entry permanently.
#[utoipa::path(
    delete, path = "/api/trash/{id}", tag = "notebooks", params(("id" = String, Path)),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "No such entry", body = ErrorBody),
    )
)]
pub(crate) async fn purge(
    app: web::Data<AppState>,
    path: PathParams,
    _: NoBody,
) -> Result<HttpResponse, Problem> {
    let id = path.get(0).to_owned();
    detached(async move {
        named(&app, &id).await?;
        app.sessions.purge(&id).await?;
        Ok(HttpResponse::NoContent().finish())
    })
    .await
}

/// The name that an entry's notebook had.
async fn named(app: &web::Data<AppState>, id: &str) -> Result<String, Problem> {
    let (sessions, wanted) = (app.sessions.clone(), id.to_owned());
    let name = app.sessions.threads().run(move || sessions.find_trashed(&wanted)).await?;
    let why = "it may have been restored, or pushed out by newer ones";
    name.ok_or_else(|| Problem::not_found(format!("find {id:?} in the trash"), why))
}

/// The name itself, or one like it.
fn free_name(app: &AppState, name: &str) -> String {
    // A long name is cut, so that one like it is not too long.
    let short: String = name.chars().take(MAX_COPIED_CHARS).collect();
    let restored = format!("{} restored", short.trim_end());
    let more = (2..MAX_NAMES).map(|n| format!("{restored} {n}"));
    let mut all = [name.to_owned(), restored.clone()].into_iter().chain(more);
    all.find(|one| !app.has(one)).unwrap_or_else(|| name.to_owned())
}
