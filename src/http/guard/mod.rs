//! Decides from the head of a request, without the body, whether the request reaches a handler.
//! Sets the security headers of every answer.
//!
//! The checks run in this order. The header `Host` must name this server. `Origin` and
//! `Sec-Fetch-Site` must name our own page. The credential must be valid. The route must exist. The
//! scope must suffice. The route must allow the body. A request without a valid credential gets the
//! same answer for unknown and known paths, so such requests do not reveal which paths exist.

mod origin;

pub(crate) use origin::Hosts;

use super::app_state::AppState;
use super::auth::Access;
use super::base_url::BaseUrl;
use super::connection_limit::{Busy, ConnectionStatus};
use super::headers::{self, Content};
use super::page::sign_in;
use super::request::{BodyLimit, Caller, Credential, PathParams, body_too_long, unauthorized};
use super::routes::{self, Body, MatchedRoute, NoRoute, RequiredAccess, Subject};
use crate::problem::{Kind, Problem};
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{
    ACCEPT, ALLOW, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue,
    TRANSFER_ENCODING,
};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpResponse, ResponseError, web};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;

/// The outermost middleware: checks a request, and hardens its answer.
pub(crate) async fn guard(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    // Connections in unit tests have no status.
    let mut busy = request.conn_data::<ConnectionStatus>().map(ConnectionStatus::begin);
    let (content, mut response) = match check(&mut request) {
        Ok((content, is_known)) => {
            busy.as_mut().filter(|_| is_known).map(Busy::admit);
            (content, pass(request, next).await?)
        }
        Err(denied) => {
            let answer = denied.answer(&request);
            let content = if answer.headers().get(CONTENT_TYPE).is_some_and(is_html) {
                Content::Page
            } else {
                Content::Data
            };
            (content, request.into_response(answer))
        }
    };
    if let Some(app) = response.request().app_data::<web::Data<AppState>>() {
        app.refusals.count(response.status());
    }
    headers::harden(response.headers_mut(), content);
    Ok(match busy {
        Some(busy) => response.map_body(|_, body| busy.body(body)),
        None => response,
    })
}

/// Runs the handler. If the handler panics, only its own request fails.
async fn pass(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    match AssertUnwindSafe(next.call(request)).catch_unwind().await {
        Ok(answer) => answer.map(ServiceResponse::map_into_boxed_body),
        Err(_) => Err(Problem::internal("a part of the server failed").into()),
    }
}

/// The answer to a request that reaches no handler.
struct Denied {
    error: Problem,
    /// The methods that the path allows, for the header `Allow` of a 405.
    allow: Option<String>,
    /// Whether another site opened the page. If so, the browser may have withheld our cookie, and
    /// the answer is a page that requests the same address again.
    retry_from_here: bool,
}

impl From<Problem> for Denied {
    fn from(error: Problem) -> Self {
        Self { error, allow: None, retry_from_here: false }
    }
}

impl Denied {
    fn answer(&self, request: &ServiceRequest) -> HttpResponse {
        let default = BaseUrl::default();
        let base = request.app_data::<web::Data<AppState>>().map_or(&default, |app| &app.base_url);
        let for_a_person = *request.method() == Method::GET && wants_html(request.headers());
        let mut response = match self.error.status_code() {
            status @ StatusCode::UNAUTHORIZED if for_a_person => {
                if self.retry_from_here {
                    sign_in::exchange(base, status)
                } else {
                    sign_in::sign_in(base, status, &self.error)
                }
            }
            status @ StatusCode::MISDIRECTED_REQUEST if for_a_person => {
                sign_in::misdirected(status, request.headers())
            }
            status @ StatusCode::FORBIDDEN if for_a_person => sign_in::sign_in(base, status, &self.error),
            _ => self.error.error_response(),
        };
        if let Some(allow) = self.allow.as_deref().and_then(|a| HeaderValue::from_str(a).ok()) {
            response.headers_mut().insert(ALLOW, allow);
        }
        if self.error.status_code() == StatusCode::SERVICE_UNAVAILABLE {
            // The status 503 means that there are too many connections. Closing this connection
            // makes room.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if has_body(request.headers()) {
            // A connection that stays open would parse the unread body as the next request.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            response.head_mut().set_connection_type(actix_web::http::ConnectionType::Close);
        }
        response
    }
}

/// Returns the kind of content of the answer, and whether the request has a valid credential.
fn check(request: &mut ServiceRequest) -> Result<(Content, bool), Denied> {
    let not_set_up = || Problem::internal("the server is not set up");
    let app = request.app_data::<web::Data<AppState>>().cloned().ok_or_else(not_set_up)?;
    let hosts = request.app_data::<web::Data<Hosts>>().cloned().ok_or_else(not_set_up)?;
    let path = app.base_url.strip(request.uri().path());
    let matched = path.map_or(Err(NoRoute::NoSuchPath), |path| routes::find(request.method(), path));
    let is_page =
        matched.as_ref().is_ok_and(|m| matches!(m.route.content, Content::Page | Content::Terminal));

    let host = hosts.check(request.head())?;
    if *request.method() == Method::OPTIONS {
        return Err(no_cors().into());
    }
    hosts.check_origin(request.headers(), &host)?;
    origin::check_fetch_site(request.headers(), is_page)?;

    let is_public = matched.as_ref().is_ok_and(|m| m.route.required == RequiredAccess::Public);
    let credential = Credential::of(request.head(), &app.cookie);
    let by_cookie = matches!(credential, Credential::Cookies(_));
    let token_in_url = matches!(credential, Credential::Token { in_url: true, .. });
    let access = if is_public {
        None
    } else {
        let notebook = matched.as_ref().ok().and_then(|matched| notebook_of(&app, matched));
        Some(identify(&app, &credential, notebook).map_err(|e| unidentified(e, request, is_page))?)
    };

    let matched = matched.map_err(|error| no_route(request.method(), error))?;
    let in_header = matches!(credential, Credential::Token { in_url: false, .. });
    if let RequiredAccess::ByHeader(_) = matched.route.required
        && !in_header
    {
        return Err(needs_header().into());
    }
    if let (Some(access), RequiredAccess::AtLeast(scope) | RequiredAccess::ByHeader(scope)) =
        (&access, matched.route.required)
    {
        if access.scope < scope {
            return Err(forbidden(format!("this link has only the scope `{}`", access.scope.word())).into());
        }
        if notebook_of(&app, &matched).is_some_and(|notebook| !access.opens(notebook)) {
            return Err(forbidden("this link is for another notebook").into());
        }
    }
    if !matched.route.is_reserved() {
        app.connection_limit.check()?;
    }
    check_body(request, &matched, by_cookie)?;

    let (content, is_known) = (matched.route.content, access.is_some());
    let mut extensions = request.extensions_mut();
    extensions.insert(PathParams(matched.params.clone()));
    extensions.insert(BodyLimit(matched.route.body.limit()));
    extensions.insert(Caller { access, token_in_url });
    extensions.insert(matched);
    Ok((content, is_known))
}

/// Returns the access that a credential gives. If the request has several browser sessions, the
/// session with the widest scope for the notebook counts. So the owner loses no rights by opening a
/// share link.
fn identify(app: &AppState, credential: &Credential, notebook: Option<&str>) -> Result<Access, Problem> {
    let now = app.keys.now();
    let strength = |access: &Access| (notebook.is_none_or(|name| access.opens(name)), access.scope);
    let access = match credential {
        Credential::Missing => return Err(unauthorized()),
        Credential::Token { token, .. } => app.keys.by_token(token, now),
        Credential::Cookies(all) => {
            all.iter().filter_map(|(_, id)| app.keys.by_session(id, now)).max_by_key(strength)
        }
        Credential::Unclear => None,
    };
    let Some(access) = access else {
        return Err(if app.throttle.admits_failure(now.at) { unauthorized() } else { too_many_failures() });
    };
    app.keys.note_used(&access, now);
    Ok(access)
}

/// The answer to a request without a valid credential. If another site opened one of our pages, the
/// browser withheld our cookie. The answer is then a page that requests the same path from our
/// origin.
fn unidentified(error: Problem, request: &ServiceRequest, is_page: bool) -> Denied {
    let retry_from_here = is_page && origin::comes_from_elsewhere(request.headers());
    Denied { error, allow: None, retry_from_here }
}

/// The notebook that a request concerns.
fn notebook_of<'a>(app: &'a AppState, matched: &'a MatchedRoute) -> Option<&'a str> {
    match matched.route.subject {
        Subject::Server => None,
        Subject::Start => Some(app.start.name()),
        Subject::Named => matched.params.first().map(String::as_str),
    }
}

/// Checks the headers that describe the body. The body itself is read later.
fn check_body(request: &ServiceRequest, matched: &MatchedRoute, by_cookie: bool) -> Result<(), Problem> {
    let (headers, method) = (request.headers(), request.method());
    let body = matched.route.body;
    if !has_body(headers) {
        // Another site's form or image can send an empty POST with our cookie. It cannot set the
        // content type to JSON.
        let needs_type = by_cookie && *method == Method::POST;
        return if needs_type && !has_right_type(headers, body) {
            Err(unsupported("its content type is not JSON"))
        } else {
            Ok(())
        };
    }
    if body == Body::No {
        return Err(Problem::bad_request(
            "read the request",
            format!("this route takes no body with {method}"),
            "send the request without a body",
        ));
    }
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(unsupported("its body is compressed"));
    }
    if !has_right_type(headers, body) {
        let wanted = match body {
            Body::File(_) => FILE_TYPES[0],
            Body::Notebook(_) => "application/json or text/x-python",
            Body::Json(_) | Body::No => "application/json",
        };
        return Err(unsupported(&format!("its content type is not {wanted}")));
    }
    let limit = body.limit();
    // actix has already refused a length that is not a number.
    let declared =
        headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<u64>().ok());
    if declared.is_some_and(|length| length > limit as u64) {
        return Err(body_too_long(limit));
    }
    Ok(())
}

fn has_body(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).is_some_and(|v| v.as_bytes() != b"0");
    length || headers.contains_key(TRANSFER_ENCODING)
}

/// Content types of a state's file. A form of another site cannot send these types.
const FILE_TYPES: [&str; 2] = ["application/x-ratoon-state", "application/octet-stream"];

/// Content types, besides JSON, of another program's notebook. A form of another site cannot send
/// these types.
const NOTEBOOK_TYPES: [&str; 2] = ["application/x-ipynb+json", "text/x-python"];

fn has_right_type(headers: &HeaderMap, body: Body) -> bool {
    let is_one_of = |types: &[&str]| {
        let mut values = headers.get_all(CONTENT_TYPE);
        let is_it = |v: &HeaderValue| types.iter().any(|t| v.as_bytes().eq_ignore_ascii_case(t.as_bytes()));
        values.next().is_some_and(is_it) && values.next().is_none()
    };
    match body {
        Body::File(_) => is_one_of(&FILE_TYPES),
        Body::Notebook(_) => is_json(headers) || is_one_of(&NOTEBOOK_TYPES),
        Body::Json(_) | Body::No => is_json(headers),
    }
}

/// Whether the content type is `application/json`, without a charset or with UTF-8.
fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE);
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let Ok(value) = value.to_str() else { return false };
    let mut parts = value.split(';').map(str::trim);
    let json = parts.next().is_some_and(|t| t.eq_ignore_ascii_case("application/json"));
    json && parts
        .all(|p| p.eq_ignore_ascii_case("charset=utf-8") || p.eq_ignore_ascii_case("charset=\"utf-8\""))
}

/// Whether the client accepts HTML. Browsers accept HTML for an answer that they will display.
pub(crate) fn wants_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    accept.split(',').any(|part| part.split(';').next().is_some_and(|t| t.trim() == "text/html"))
}

fn is_html(content_type: &HeaderValue) -> bool {
    content_type.as_bytes().starts_with(b"text/html")
}

fn no_route(method: &Method, error: NoRoute) -> Denied {
    match error {
        NoRoute::NoSuchPath => Problem::not_found("find the path", "there is no such path").into(),
        NoRoute::OtherMethods(methods) => {
            let allow = methods.iter().map(|m| m.as_str()).collect::<Vec<_>>().join(", ");
            let error = Problem::new(
                Kind::MethodNotAllowed,
                format!("use {method} on this path"),
                "the path does not support this method",
                format!("use {allow}"),
            );
            Denied { error, allow: Some(allow), retry_from_here: false }
        }
    }
}

fn too_many_failures() -> Problem {
    Problem::new(
        Kind::TooManyFailures,
        "authenticate the request",
        "too many wrong tokens were sent in the last seconds",
        "wait a second, or send the right token, which is always accepted",
    )
}

fn forbidden(why: impl Into<String>) -> Problem {
    Problem::new(Kind::Forbidden, "allow the request", why, "ask the owner for another link")
}

fn needs_header() -> Problem {
    Problem::new(
        Kind::Unauthorized,
        "authenticate the request",
        "its token is not in a header, where no log and no history keeps it",
        "send `Authorization: Bearer TOKEN`",
    )
}

fn no_cors() -> Problem {
    Problem::new(
        Kind::NoCors,
        "answer a preflight request",
        "pages of other sites may not use this server",
        "send the request from the server's own page, or from a program",
    )
}

fn unsupported(why: &str) -> Problem {
    Problem::new(
        Kind::UnsupportedMediaType,
        "read the body",
        why,
        "send it without Content-Encoding, with the content type that /api/openapi.json names",
    )
}
