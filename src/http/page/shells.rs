//! The HTML shells. They hold no notebook content: the page's scripts fetch that over the
//! WebSocket.

use super::assets::{NEEDED, PREFIX};
use super::render::render;
use super::sign_in::begin_session;
use crate::http::app_state::AppState;
use crate::http::request::{Caller, PathParams};
use crate::problem::Problem;
use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use askama::Template;

#[derive(Template)]
#[template(path = "notebook.html")]
struct NotebookPage<'a> {
    name: &'a str,
    assets: &'a str,
    modules: &'a [String],
}

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    names: &'a [String],
    assets: &'a str,
}

/// `GET /`: the page that lists the notebooks that the caller may see.
pub(crate) async fn home(app: web::Data<AppState>, caller: Caller) -> Result<HttpResponse, Problem> {
    if caller.token_in_url {
        return begin_session(app, &caller).await;
    }
    Ok(render(StatusCode::OK, &HomePage { names: &app.names_for(caller.access()?), assets: &PREFIX }))
}

/// `GET /n/{name}`: the page of a notebook. Does not open the notebook; the page's WebSocket does.
pub(crate) async fn notebook(
    app: web::Data<AppState>,
    path: PathParams,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    if caller.token_in_url {
        return begin_session(app, &caller).await;
    }
    let name = path.get(0);
    if !app.has(name) {
        return Ok(render(
            StatusCode::NOT_FOUND,
            &HomePage { names: &app.names_for(caller.access()?), assets: &PREFIX },
        ));
    }
    let page = NotebookPage { name, assets: &PREFIX, modules: &NEEDED };
    Ok(render(StatusCode::OK, &page))
}
