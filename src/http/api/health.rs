//! `GET /health`.

use actix_web::HttpResponse;
use serde::Serialize;
use utoipa::ToSchema;

/// The answer to `GET /health`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    status: &'static str,
}

/// Shows that the server is running.
#[utoipa::path(get, path = "/health", tag = "server", security(()), responses((status = 200, body = Health)))]
pub(crate) async fn health() -> HttpResponse {
    HttpResponse::Ok().json(Health { status: "ok" })
}
