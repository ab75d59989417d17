//! Serves the JavaScript of plotting packages. Output frames need it, and have no network access.

use crate::http::app_state::AppState;
use crate::http::request::PathParams;
use crate::problem::Problem;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpResponse, web};

/// Finds the JavaScript library of a plotting package in the environment that cells run in. Sends
/// the library as plain text, so that our own page cannot run it as a script.
#[utoipa::path(
    get, path = "/api/libraries/{library}", tag = "notebooks",
    params((
        "library" = String, Path,
        description = "`plotly`, `vega`, `bokeh`, `bokeh-gl`, `bokeh-widgets`, `bokeh-tables` or \
            `bokeh-mathjax`"
    )),
    responses(
        (status = 200, description = "Its text", content_type = "text/plain"),
        (status = 204, description = "The library is unknown, or the environment does not have it"),
    )
)]
pub(crate) async fn library(app: web::Data<AppState>, path: PathParams) -> Result<HttpResponse, Problem> {
    let name = path.get(0).to_owned();
    // Allows only one search at a time, because each search starts a process.
    let _lock = app.library_search.lock().await;
    let sessions = app.sessions.clone();
    let text = app.threads.run(move || sessions.library(&name)).await?;
    Ok(match text {
        Some(text) => {
            HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/plain; charset=utf-8")).body(text)
        }
        None => HttpResponse::NoContent().finish(),
    })
}
