//! The HTML shells of the pages. A shell contains no notebook content: the page's scripts fetch the
//! content over the WebSocket.

use super::assets::{assets_url, preloaded};
use super::render::render;
use super::sign_in::begin_session;
use crate::http::app_state::AppState;
use crate::http::base_url::BaseUrl;
use crate::http::error::HttpResult;
use crate::http::request::{Caller, PathParams};
use actix_web::http::StatusCode;
use actix_web::web;
use askama::Template;

#[derive(Template)]
#[template(path = "notebook.html")]
struct NotebookPage<'a> {
    name: &'a str,
    base: &'a BaseUrl,
    assets: String,
    modules: Vec<&'a str>,
}

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    names: &'a [String],
    base: &'a BaseUrl,
    assets: String,
}

/// `GET /`: the page that lists the notebooks that the caller may see.
pub(crate) async fn home(app: web::Data<AppState>, caller: Caller) -> HttpResult {
    if caller.token_in_url {
        return begin_session(app, &caller).await;
    }
    list(&app, &caller, StatusCode::OK)
}

fn list(app: &AppState, caller: &Caller, status: StatusCode) -> HttpResult {
    let (base, names) = (&app.base_url, app.names_for(caller.access()?));
    Ok(render(status, &HomePage { names: &names, base, assets: assets_url(base) }))
}

#[derive(Template)]
#[template(path = "terminal.html")]
struct TerminalPage<'a> {
    base: &'a BaseUrl,
    assets: String,
}

/// `GET /terminal`: the page of a terminal. Its script opens the terminal.
pub(crate) async fn terminal(app: web::Data<AppState>, caller: Caller) -> HttpResult {
    if caller.token_in_url {
        return begin_session(app, &caller).await;
    }
    let base = &app.base_url;
    Ok(render(StatusCode::OK, &TerminalPage { base, assets: assets_url(base) }))
}

/// `GET /n/{name}`: the page of a notebook. The page's WebSocket opens the notebook; this request
/// does not.
pub(crate) async fn notebook(app: web::Data<AppState>, path: PathParams, caller: Caller) -> HttpResult {
    if caller.token_in_url {
        return begin_session(app, &caller).await;
    }
    let name = path.get(0);
    if !app.has(name) {
        return list(&app, &caller, StatusCode::NOT_FOUND);
    }
    let base = &app.base_url;
    let page = NotebookPage { name, base, assets: assets_url(base), modules: preloaded().collect() };
    Ok(render(StatusCode::OK, &page))
}
