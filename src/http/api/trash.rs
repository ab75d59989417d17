//! The trash: deleted notebooks, and copies of notebooks that were reset.

use super::notebooks::Named;
use crate::http::app_state::{AppState, detached};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::limits;
use crate::http::request::{NoBody, PathParams};
use crate::problem::Problem;
use actix_web::{HttpResponse, web};
use serde::Serialize;
use utoipa::ToSchema;

/// Maximum number of names that are tried if the name of a restored notebook is taken.
const MAX_NAMES: usize = 1000;

/// Maximum number of characters that a similar name copies from the taken name. A character has at
/// most four bytes, so the similar name fits into the name of a directory.
const MAX_COPIED_CHARS: usize = 40;

/// The answer to `GET /api/trash`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Trash {
    /// The entries of the trash, newest first.
    trash: Vec<Entry>,
}

/// A notebook in the trash.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Entry {
    id: String,
    /// The notebook's name before it was deleted or reset.
    name: String,
    /// `deleted` for a deleted notebook, or `reset` for a copy that was made before a reset.
    why: &'static str,
    /// When the entry was put into the trash, in milliseconds since the Unix epoch.
    at: u64,
    /// Number of states except the root; null if unknown.
    states: Option<u64>,
    /// Size on disk, in bytes.
    bytes: u64,
}

/// Lists the trash.
#[utoipa::path(get, path = "/api/trash", tag = "notebooks", responses((status = 200, body = Trash)))]
pub(crate) async fn list(app: web::Data<AppState>) -> HttpResult {
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

/// Restores a notebook under its old name, or under a similar name if the old name is taken. The
/// notebook's share links are not restored.
#[utoipa::path(
    post, path = "/api/trash/{id}/restore", tag = "notebooks", params(("id" = String, Path)),
    responses(
        (status = 200, description = "The notebook was restored under this name", body = Named),
        (status = 404, description = "No such entry", body = ErrorBody),
        (status = 409, description = "The notebook in the trash cannot be read", body = ErrorBody),
    )
)]
pub(crate) async fn restore(app: web::Data<AppState>, path: PathParams, _: NoBody) -> HttpResult {
    let id = path.get(0).to_owned();
    detached(async move {
        let _lock = app.changes.lock().await;
        let name = named(&app, &id).await?;
        limits::check_notebook_name(&name)?;
        let to = free_name(&app, &name);
        app.sessions.restore(&id, &to).await?;
        Ok(HttpResponse::Ok().json(Named { name: to }))
    })
    .await
}

/// Deletes an entry of the trash permanently.
#[utoipa::path(
    delete, path = "/api/trash/{id}", tag = "notebooks", params(("id" = String, Path)),
    responses(
        (status = 204, description = "The entry was deleted"),
        (status = 404, description = "No such entry", body = ErrorBody),
    )
)]
pub(crate) async fn purge(app: web::Data<AppState>, path: PathParams, _: NoBody) -> HttpResult {
    let id = path.get(0).to_owned();
    detached(async move {
        named(&app, &id).await?;
        app.sessions.purge(&id).await?;
        Ok(HttpResponse::NoContent().finish())
    })
    .await
}

/// Returns the name that a notebook in the trash had before it was deleted or reset.
async fn named(app: &web::Data<AppState>, id: &str) -> Result<String, Problem> {
    let (sessions, wanted) = (app.sessions.clone(), id.to_owned());
    let name = app.sessions.threads().run(move || sessions.find_trashed(&wanted)).await?;
    let why = "it may have been restored, or removed to make room for newer ones";
    name.ok_or_else(|| Problem::not_found(format!("find {id:?} in the trash"), why))
}

/// Returns the name itself if it is free, or else a similar name that is free.
fn free_name(app: &AppState, name: &str) -> String {
    // Only the beginning of a long name is used, so that the similar name is not too long.
    let short: String = name.chars().take(MAX_COPIED_CHARS).collect();
    let restored = format!("{} restored", short.trim_end());
    let more = (2..MAX_NAMES).map(|n| format!("{restored} {n}"));
    let mut all = [name.to_owned(), restored.clone()].into_iter().chain(more);
    all.find(|one| !app.has(one)).unwrap_or_else(|| name.to_owned())
}
