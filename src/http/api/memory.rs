//! `GET /api/notebooks/{name}/memory`.

use crate::http::app_state::AppState;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::PathParams;
use actix_web::{HttpResponse, web};
use serde::Serialize;
use utoipa::ToSchema;

/// The answer to `GET /api/notebooks/{name}/memory`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Memory {
    /// Memory of all processes of the notebook, and of the processes that its cells started. Memory
    /// that several of them share counts once.
    memory_bytes: u64,
    /// Memory of the computer that is available without swapping.
    machine_available_bytes: u64,
    /// Memory of the computer.
    machine_total_bytes: u64,
}

/// Measures the memory of a notebook and of the computer. The figures may be some seconds old.
#[utoipa::path(
    get, path = "/api/notebooks/{name}/memory", tag = "notebooks", params(("name" = String, Path)),
    responses((status = 200, body = Memory), (status = 404, body = ErrorBody))
)]
pub(crate) async fn memory(app: web::Data<AppState>, path: PathParams) -> HttpResult {
    let totals = AppState::notebook(&app, path.get(0)).await?.memory().await?;
    Ok(HttpResponse::Ok().json(Memory {
        memory_bytes: totals.notebook,
        machine_available_bytes: totals.available,
        machine_total_bytes: totals.total,
    }))
}
