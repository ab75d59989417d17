//! The HTML shells. They hold no notebook content: the page's scripts fetch that over the WebSocket.

use super::AppState;
use super::assets::{NEEDED, PREFIX};
use super::auth::SESSION_LASTS;
use super::guard::Caller;
use super::links::keep_sessions;
use super::routes::MatchedRoute;
use crate::problem::Problem;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, SET_COOKIE};
use actix_web::{HttpResponse, web};
use askama::Template;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

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

#[derive(Template)]
#[template(path = "signin.html")]
struct SignInPage<'a> {
    why: &'a str,
    assets: &'a str,
}

#[derive(Template)]
#[template(path = "exchange.html")]
struct ExchangePage<'a> {
    assets: &'a str,
}

/// `GET /`: the notebooks that the caller may see.
pub(crate) async fn home(app: web::Data<AppState>, caller: Caller) -> Result<HttpResponse, Problem> {
    if caller.token_in_url {
        return begin_session(app, &caller).await;
    }
    Ok(render(StatusCode::OK, &HomePage { names: &app.names_for(caller.access()?), assets: &PREFIX }))
}

/// `GET /n/{name}`: a notebook. Opening one starts a process, so a page that is only looked at does not.
pub(crate) async fn notebook(
    app: web::Data<AppState>,
    found: MatchedRoute,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    if caller.token_in_url {
        return begin_session(app, &caller).await;
    }
    let name = found.params.first().map(String::as_str).unwrap_or_default();
    if !app.has(name) {
        return Ok(render(
            StatusCode::NOT_FOUND,
            &HomePage { names: &app.names_for(caller.access()?), assets: &PREFIX },
        ));
    }
    let page = NotebookPage { name, assets: &PREFIX, modules: &NEEDED };
    Ok(render(StatusCode::OK, &page))
}

/// Exchanges the token in the URL for a session. Not a redirect: a browser that came from another site would leave
/// a `SameSite=Strict` cookie out of the next request. The page's script goes on to the same path without the token.
async fn begin_session(app: web::Data<AppState>, caller: &Caller) -> Result<HttpResponse, Problem> {
    let access = caller.access()?;
    let id = app
        .keys
        .begin_session(access, app.keys.now())
        .map_err(|_| Problem::internal("the operating system gives no random numbers"))?;
    // One that cannot be kept is good all the same, until the server is started again.
    let _ = keep_sessions(app.clone()).await;
    let (name, lasts) = (access.cookie(&app.cookie), SESSION_LASTS.as_secs());
    let cookie = format!("{name}={id}; Max-Age={lasts}; Path=/; HttpOnly; SameSite=Strict");
    let mut response = render(StatusCode::OK, &ExchangePage { assets: &PREFIX });
    let cookie = cookie.parse().map_err(|_| Problem::internal("the session has no cookie"))?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// The page that asks again from here.
pub(crate) fn exchange(status: StatusCode) -> HttpResponse {
    render(status, &ExchangePage { assets: &PREFIX })
}

/// The page for somebody who may not come in.
pub(crate) fn sign_in(status: StatusCode, error: &Problem) -> HttpResponse {
    render(status, &SignInPage { why: &error.why, assets: &PREFIX })
}

fn render(status: StatusCode, page: &impl Template) -> HttpResponse {
    match page.render() {
        Ok(html) => {
            HttpResponse::build(status).insert_header((CONTENT_TYPE, "text/html; charset=utf-8")).body(html)
        }
        Err(_) => actix_web::ResponseError::error_response(&Problem::internal("the page cannot be rendered")),
    }
}

/// A notebook's name as a segment of a path. Names have letters, digits, `-_.` and spaces only.
pub fn in_path(name: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    utf8_percent_encode(name, ESCAPED).to_string()
}
