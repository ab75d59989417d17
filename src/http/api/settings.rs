//! The settings of the page that the server keeps for its owner.

use crate::http::app_state::{AppState, detached};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::Json;
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Settings of the page.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageSettings {
    /// The settings as texts, by name, for example `{"theme": "dark"}`. The page says what they
    /// mean, and ignores those that it does not know.
    settings: BTreeMap<String, String>,
}

/// Returns the settings that were kept; none before the first change.
#[utoipa::path(
    get, path = "/api/settings", tag = "server",
    responses(
        (status = 200, body = PageSettings),
        (status = 409, description = "Their file holds something else", body = ErrorBody),
    )
)]
pub(crate) async fn settings(app: web::Data<AppState>) -> HttpResult {
    let kept = app.sessions.settings().clone();
    let settings = app.threads.run(move || kept.read()).await??;
    Ok(HttpResponse::Ok().json(PageSettings { settings }))
}

/// Changes the settings that are named, and returns all. They are kept for all notebooks of this
/// user.
#[utoipa::path(
    patch, path = "/api/settings", tag = "server", request_body = PageSettings,
    responses(
        (status = 200, body = PageSettings),
        (status = 400, description = "Too many settings, or too long ones", body = ErrorBody),
        (status = 409, description = "Their file holds something else", body = ErrorBody),
        (status = 507, description = "The file cannot be written", body = ErrorBody),
    )
)]
pub(crate) async fn change(
    app: web::Data<AppState>,
    Json(PageSettings { settings }): Json<PageSettings>,
) -> HttpResult {
    detached(async move {
        let kept = app.sessions.settings().clone();
        let settings = app.threads.run(move || kept.change(settings)).await??;
        Ok(HttpResponse::Ok().json(PageSettings { settings }))
    })
    .await
}
