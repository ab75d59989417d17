//! `POST /api/notebooks/{name}/agents/{id}`: stops an agent, or lets it continue.

use crate::http::app_state::AppState;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::{Caller, Json, PathParams};
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of `POST /api/notebooks/{name}/agents/{id}`, and its answer.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentWish {
    /// Whether the agent may run no cells. Stopping also interrupts the cells that it has begun.
    stopped: bool,
}

/// Stops an agent, or lets it continue. The agents of a notebook are among its visitors.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/agents/{id}", tag = "notebooks", request_body = AgentWish,
    params(
        ("name" = String, Path),
        ("id" = String, Path, description = "The agent's id among the visitors (`people`)"),
    ),
    responses(
        (status = 200, body = AgentWish),
        (status = 404, description = "The notebook has no such agent", body = ErrorBody),
    )
)]
pub(crate) async fn stop(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(body): Json<AgentWish>,
) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let (started, report) = app.agents.stop(session.name(), path.get(1), body.stopped)?;
    app.report_agent(report).await;
    if body.stopped {
        for command in started.stop_commands() {
            // Refused if it has ended or was deleted in the meantime.
            let _ = app.ask(&session, caller.access()?, command).await;
        }
    }
    Ok(HttpResponse::Ok().json(body))
}
