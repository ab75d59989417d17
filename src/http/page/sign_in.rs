//! Begins a browser session in exchange for a token in the URL. Ends the session when the user
//! signs out.

use super::assets::assets_url;
use super::render::render;
use crate::http::app_state::AppState;
use crate::http::auth::SESSION_LASTS;
use crate::http::base_url::BaseUrl;
use crate::http::error::HttpResult;
use crate::http::request::{Caller, NoBody, session_cookies};
use crate::http::saved_credentials::store_sessions;
use crate::problem::{Kind, Problem};
use actix_web::http::StatusCode;
use actix_web::http::header::{HOST, HeaderMap, SET_COOKIE};
use actix_web::{HttpRequest, HttpResponse, ResponseError, web};
use askama::Template;

#[derive(Template)]
#[template(path = "signin.html")]
struct SignInPage<'a> {
    why: &'a str,
    base: &'a BaseUrl,
    assets: String,
}

#[derive(Template)]
#[template(path = "misdirected.html")]
struct MisdirectedPage<'a> {
    host: &'a str,
}

#[derive(Template)]
#[template(path = "strip_token.html")]
struct StripTokenPage<'a> {
    base: &'a BaseUrl,
    assets: String,
}

/// Exchanges the token in the URL for a session. The answer is a page whose script opens the same
/// path without the token. A redirect would not work: a browser that came from another site would
/// not send the `SameSite=Strict` cookie.
pub(super) async fn begin_session(app: web::Data<AppState>, caller: &Caller) -> HttpResult {
    let access = caller.access()?;
    let id = match app.keys.begin_session(access, app.keys.now()) {
        Ok(id) => id,
        Err(error) => {
            let how = "try again later, or ask the owner for another link";
            let problem = Problem::new(Kind::Busy, "sign in", error.to_string(), how);
            return Ok(sign_in(&app.base_url, problem.status_code(), &problem));
        }
    };
    // If the session cannot be stored, it is valid until the server restarts.
    let _ = store_sessions(app.clone()).await;
    let (name, lasts) = (access.cookie(&app.cookie), SESSION_LASTS.as_secs());
    let path = cookie_path(&app);
    let cookie = format!("{name}={id}; Max-Age={lasts}; Path={path}; HttpOnly; SameSite=Strict");
    let mut response = exchange(&app.base_url, StatusCode::OK);
    let cookie = cookie.parse().map_err(|_| Problem::internal("the session has no cookie"))?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// Answers with a page whose script requests the same address again.
pub(crate) fn exchange(base: &BaseUrl, status: StatusCode) -> HttpResponse {
    render(status, &StripTokenPage { base, assets: assets_url(base) })
}

/// Answers with the sign-in page, which shows why the request was refused.
pub(crate) fn sign_in(base: &BaseUrl, status: StatusCode, error: &Problem) -> HttpResponse {
    render(status, &SignInPage { why: &error.why, base, assets: assets_url(base) })
}

/// Answers a request that addresses this server by a name that it does not know. The page uses no
/// other file, because requests for them would be refused, too.
pub(crate) fn misdirected(status: StatusCode, headers: &HeaderMap) -> HttpResponse {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("HOST:PORT");
    render(status, &MisdirectedPage { host })
}

/// The value of the attribute `Path` of a session's cookie. Servers that share a host behind a
/// proxy do not get each other's cookies.
fn cookie_path(app: &AppState) -> String {
    if app.base_url == BaseUrl::default() { "/".into() } else { app.base_url.to_string() }
}

/// Ends the caller's browser sessions: the owner's session, and the sessions of links that were
/// opened in the same browser.
#[utoipa::path(
    delete, path = "/api/session", tag = "server",
    responses((status = 204, description = "Signed out")),
)]
pub(crate) async fn sign_out(app: web::Data<AppState>, request: HttpRequest, _: NoBody) -> HttpResult {
    let cookies = session_cookies(&request, &app.cookie);
    let now = app.keys.now();
    for access in cookies.iter().filter_map(|(_, id)| app.keys.by_session(id, now)) {
        app.keys.end_session(&access);
    }
    store_sessions(app.clone()).await?;
    let mut response = HttpResponse::NoContent();
    for (name, _) in cookies {
        let path = cookie_path(&app);
        let cookie = format!("{name}=; Max-Age=0; Path={path}; HttpOnly; SameSite=Strict");
        response.append_header((SET_COOKIE, cookie));
    }
    Ok(response.finish())
}
