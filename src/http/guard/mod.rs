//! The outermost middleware: nothing reaches a handler that has not passed here, and every answer
//! leaves through here.
//!
//! In this order, each before anything of the request but its head is looked at: is the server
//! meant (Host), is the sender a page of ours (Origin, Sec-Fetch-Site), who is it, is there such a
//! route, may they, is the body acceptable. An unknown path without a credential is answered as a
//! known one is, so that nothing can be learned by trying.

mod origin;

pub(crate) use origin::Hosts;

use super::app_state::AppState;
use super::auth::Access;
use super::connection_limit::{Busy, Line};
use super::headers::{self, Content};
use super::page::sign_in;
use super::request::{Caller, Shown, too_large, unauthorized};
use super::route::{Body, Least, MatchedRoute, NoRoute, Subject};
use super::routes;
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

/// Lets a request pass or not, and hardens the answer.
pub(crate) async fn guard(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    // It is there with every connection of ours.
    let mut busy = request.conn_data::<Line>().map(Line::begin);
    let (kind, mut response) = match check(&mut request) {
        Ok((kind, is_known)) => {
            busy.as_mut().filter(|_| is_known).map(Busy::admit);
            (kind, pass(request, next).await?)
        }
        Err(denied) => {
            let answer = denied.answer(&request);
            let kind = if answer.headers().get(CONTENT_TYPE).is_some_and(is_html) {
                Content::Page
            } else {
                Content::Data
            };
            (kind, request.into_response(answer))
        }
    };
    headers::harden(response.headers_mut(), kind);
    Ok(match busy {
        Some(busy) => response.map_body(|_, body| busy.body(body)),
        None => response,
    })
}

/// Runs the handler. One that panics costs its own request and nothing else.
async fn pass(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    match AssertUnwindSafe(next.call(request)).catch_unwind().await {
        Ok(answer) => answer.map(ServiceResponse::map_into_boxed_body),
        Err(_) => Err(Problem::internal("a part of the server failed").into()),
    }
}

/// A request that may not pass.
struct Denied {
    error: Problem,
    /// Set with `NoSuchPath` and its kin: the methods that are possible.
    allow: Option<String>,
    /// Whether a browser that came from another site may have kept our cookie back.
    retry_from_here: bool,
}

impl From<Problem> for Denied {
    fn from(error: Problem) -> Self {
        Self { error, allow: None, retry_from_here: false }
    }
}

impl Denied {
    fn answer(&self, request: &ServiceRequest) -> HttpResponse {
        let for_a_person = *request.method() == Method::GET && wants_html(request.headers());
        let mut response = match self.error.status_code() {
            status @ StatusCode::UNAUTHORIZED if for_a_person => {
                if self.retry_from_here {
                    sign_in::exchange(status)
                } else {
                    sign_in::sign_in(status, &self.error)
                }
            }
            status @ (StatusCode::MISDIRECTED_REQUEST | StatusCode::FORBIDDEN) if for_a_person => {
                sign_in::sign_in(status, &self.error)
            }
            _ => self.error.error_response(),
        };
        if let Some(allow) = self.allow.as_deref().and_then(|a| HeaderValue::from_str(a).ok()) {
            response.headers_mut().insert(ALLOW, allow);
        }
        if self.error.status_code() == StatusCode::SERVICE_UNAVAILABLE {
            // There are too many connections.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if has_body(request.headers()) {
            // The body was not read, so nothing after it can be a request of this connection.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            response.head_mut().set_connection_type(actix_web::http::ConnectionType::Close);
        }
        response
    }
}

/// What the answer will be to the browser, and whether the request has shown a valid credential.
fn check(request: &mut ServiceRequest) -> Result<(Content, bool), Denied> {
    let not_set_up = || Problem::internal("the server is not set up");
    let app = request.app_data::<web::Data<AppState>>().cloned().ok_or_else(not_set_up)?;
    let hosts = request.app_data::<web::Data<Hosts>>().cloned().ok_or_else(not_set_up)?;
    let found = routes::find(request.method(), request.uri().path());
    let is_page = found.as_ref().is_ok_and(|f| f.route.content == Content::Page);

    let host = hosts.check(request.head())?;
    if *request.method() == Method::OPTIONS {
        return Err(no_cors().into());
    }
    hosts.check_origin(request.headers(), &host)?;
    origin::check_fetch_site(request.headers(), is_page)?;

    let is_public = found.as_ref().is_ok_and(|f| f.route.least == Least::Public);
    let shown = Shown::by(request.head(), &app.cookie);
    let by_cookie = matches!(shown, Shown::Cookies(_));
    let token_in_url = matches!(shown, Shown::Token { in_url: true, .. });
    let access = if is_public {
        None
    } else {
        let wanted = found.as_ref().ok().and_then(|found| concerned(&app, found));
        Some(identify(&app, &shown, wanted).map_err(|e| elsewhere(e, request, is_page))?)
    };

    let found = found.map_err(|nowhere| no_route(request.method(), nowhere))?;
    if let (Some(access), Least::Needs(scope)) = (&access, found.route.least) {
        if access.scope < scope {
            return Err(forbidden(format!("this link may {}, not more", access.scope.word())).into());
        }
        if concerned(&app, &found).is_some_and(|notebook| !access.opens(notebook)) {
            return Err(forbidden("this link is for another notebook").into());
        }
    }
    if !found.route.is_reserved() {
        app.room.check()?;
    }
    check_body(request, &found, by_cookie)?;

    let (kind, is_known) = (found.route.content, access.is_some());
    request.extensions_mut().insert(found);
    request.extensions_mut().insert(Caller { access, token_in_url });
    Ok((kind, is_known))
}

/// The access that a credential gives. Of several browser sessions, the strongest one for the
/// notebook counts: a later session takes nothing away.
fn identify(app: &AppState, shown: &Shown, notebook: Option<&str>) -> Result<Access, Problem> {
    let now = app.keys.now();
    let worth = |access: &Access| (notebook.is_none_or(|name| access.opens(name)), access.scope);
    let access = match shown {
        Shown::Nothing => return Err(unauthorized()),
        Shown::Token { token, .. } => app.keys.by_token(token, now),
        Shown::Cookies(all) => {
            all.iter().filter_map(|(_, id)| app.keys.by_session(id, now)).max_by_key(worth)
        }
        Shown::Unclear => None,
    };
    let Some(access) = access else {
        return Err(if app.throttle.admits_failure(now.at) { unauthorized() } else { too_many_failures() });
    };
    app.keys.note_used(&access, now);
    Ok(access)
}

/// A page that was opened from another site came without our cookie. It may have one all the same:
/// it is shown the exchange page, which asks again from here.
fn elsewhere(error: Problem, request: &ServiceRequest, is_page: bool) -> Denied {
    let retry_from_here = is_page && origin::comes_from_elsewhere(request.headers());
    Denied { error, allow: None, retry_from_here }
}

fn concerned<'a>(app: &'a AppState, found: &'a MatchedRoute) -> Option<&'a str> {
    match found.route.about {
        Subject::Server => None,
        Subject::Start => Some(app.start.name()),
        Subject::Named => Some(found.param(0)),
    }
}

/// Nothing is read here: what the head says of the body is enough to refuse most that is wrong with
/// it.
fn check_body(request: &ServiceRequest, found: &MatchedRoute, by_cookie: bool) -> Result<(), Problem> {
    let (headers, method) = (request.headers(), request.method());
    let body = found.route.body;
    if !has_body(headers) {
        // A form or an image of another page can send an empty POST with our cookie, but not as
        // JSON.
        let needs_type = by_cookie && *method == Method::POST;
        return if needs_type && !has_right_type(headers, body) {
            Err(unsupported("it has no JSON content type"))
        } else {
            Ok(())
        };
    }
    if body == Body::No {
        return Err(Problem::bad_request(
            "read the request",
            format!("a {method} here has no body"),
            "leave it out",
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
    // Said as a number or not at all: the parser below us has refused anything else.
    let declared =
        headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<u64>().ok());
    if declared.is_some_and(|length| length > limit as u64) {
        return Err(too_large(limit));
    }
    Ok(())
}

fn has_body(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).is_some_and(|v| v.as_bytes() != b"0");
    length || headers.contains_key(TRANSFER_ENCODING)
}

/// What a state's file is sent as. No form of another page can send these.
const FILE_TYPES: [&str; 2] = ["application/x-ratoon-state", "application/octet-stream"];

/// What another program's notebook is sent as, besides JSON. No form can send these either.
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

/// `application/json`, alone or with the only charset that JSON has.
fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE);
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let Ok(value) = value.to_str() else { return false };
    let mut parts = value.split(';').map(str::trim);
    let json = parts.next().is_some_and(|t| t.eq_ignore_ascii_case("application/json"));
    json && parts
        .all(|p| p.eq_ignore_ascii_case("charset=utf-8") || p.eq_ignore_ascii_case("charset=\"utf-8\""))
}

/// Whether a browser asks, to show the answer to a person.
pub(crate) fn wants_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    accept.split(',').any(|part| part.split(';').next().is_some_and(|t| t.trim() == "text/html"))
}

fn is_html(content_type: &HeaderValue) -> bool {
    content_type.as_bytes().starts_with(b"text/html")
}

fn no_route(method: &Method, nowhere: NoRoute) -> Denied {
    match nowhere {
        NoRoute::NoSuchPath => Problem::not_found("find the path", "there is nothing there").into(),
        NoRoute::OtherMethods(methods) => {
            let allow = methods.iter().map(|m| m.as_str()).collect::<Vec<_>>().join(", ");
            let error = Problem::new(
                Kind::MethodNotAllowed,
                format!("{method} it"),
                "the path has no such method",
                format!("use {allow}"),
            );
            Denied { error, allow: Some(allow), retry_from_here: false }
        }
    }
}

fn too_many_failures() -> Problem {
    Problem::new(
        Kind::TooManyFailures,
        "let the request in",
        "too many wrong tokens came lately",
        "wait a second; a right token is let in at any time",
    )
}

fn forbidden(why: impl Into<String>) -> Problem {
    Problem::new(Kind::Forbidden, "do what was asked", why, "ask the owner for a link that may")
}

fn no_cors() -> Problem {
    Problem::new(
        Kind::NoCors,
        "answer a preflight",
        "no other page may use this server",
        "call it from its own page or from a program",
    )
}

fn unsupported(why: &str) -> Problem {
    Problem::new(
        Kind::UnsupportedMediaType,
        "read the body",
        why,
        "send it plain, with the content type that /api/openapi.json names",
    )
}
