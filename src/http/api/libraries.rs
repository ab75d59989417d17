//! Serves the JavaScript of plotting packages to output frames, which have no network access.

use crate::http::app_state::AppState;
use crate::http::error::HttpResult;
use crate::http::request::{Caller, PathParams, query_value};
use crate::session::Session;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpRequest, HttpResponse, web};
use std::path::PathBuf;

/// Finds the JavaScript library of a plotting package in the Python environment of the cells. Sends
/// the library as plain text, so that our own page cannot run it as a script.
#[utoipa::path(
    get, path = "/api/libraries/{library}", tag = "notebooks",
    params(
        (
            "library" = String, Path,
            description = "`plotly`, `vega`, `bokeh`, `bokeh-gl`, `bokeh-widgets`, `bokeh-tables` or \
                `bokeh-mathjax`"
        ),
        (
            "notebook" = Option<String>, Query,
            description = "An open notebook: its Python is used, not the server's default"
        ),
    ),
    responses(
        (status = 200, description = "The JavaScript text of the library", content_type = "text/plain"),
        (status = 204, description = "The library is unknown, or is not installed in the Python environment"),
    )
)]
pub(crate) async fn library(
    request: HttpRequest,
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
) -> HttpResult {
    let name = path.get(0).to_owned();
    let python = match query_value(&request, "notebook") {
        Some(notebook) if caller.access()?.opens(&notebook) => {
            let session = app.sessions.get(&notebook);
            let read = async |session: Session| session.read(|n| PathBuf::from(&n.python().path)).await;
            match session {
                Some(session) => read(session).await.ok(),
                None => None,
            }
        }
        _ => None,
    };
    // Allows only one search at a time, because each search starts a process.
    let _lock = app.library_search.lock().await;
    let sessions = app.sessions.clone();
    let text = app.threads.run(move || sessions.library(python.as_deref(), &name)).await?;
    Ok(match text {
        Some(text) => {
            HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/plain; charset=utf-8")).body(text)
        }
        None => HttpResponse::NoContent().finish(),
    })
}
