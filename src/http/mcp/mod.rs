//! `POST /mcp`: the Model Context Protocol over streamable HTTP. Programs that work with a language
//! model (agents) use notebooks through it.
//!
//! The server keeps no sessions. A session id only carries the name of the client's program, so it
//! stays valid when the server restarts. A call of a tool is answered as a stream, because only a
//! stream lets the server notice that the client has gone: since revision 2026-07-28 that cancels
//! the call. In earlier revisions a notification cancels it, and a lost connection does not.

mod arguments;
mod message;
mod resources;
mod text;
mod tools;

use super::agents::Caller;
use super::app_state::AppState;
use super::auth::Access;
use super::error::HttpResult;
use super::request::{Caller as HttpCaller, Json};
use actix_web::http::StatusCode;
use actix_web::http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, web};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::stream;
use message::{Message, RpcError, agreed_version, server_info, supported_versions};
use serde_json::{Map, Value, json};
use std::convert::Infallible;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tools::Call;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// Maximum length of a session's id, in bytes.
const MAX_SESSION_BYTES: usize = 256;
/// How often an open stream sends a comment. A client that has gone is noticed after the second.
const KEEP_ALIVE: Duration = Duration::from_millis(500);
/// How long clients may keep the lists, in milliseconds. They change only with the server.
const LISTS_LAST_MS: u64 = 3_600_000;

/// `POST /mcp`.
pub(crate) async fn post(
    request: HttpRequest,
    app: web::Data<AppState>,
    caller: HttpCaller,
    Json(body): Json<Map<String, Value>>,
) -> HttpResult {
    let access = caller.access()?.clone();
    let message = match Message::read(body, request.headers()) {
        Ok(message) => message,
        Err(refused) => return Ok(failed(refused.0.as_ref(), &refused.1)),
    };
    let session = session_of(request.headers());
    let Some(id) = message.id.clone() else {
        if message.method == "notifications/cancelled" {
            app.calls_in_flight.cancel(session.as_deref(), &message.params);
        }
        return Ok(HttpResponse::Accepted().finish());
    };
    let result = match message.method.as_str() {
        "initialize" => return Ok(initialize(&app, &message)),
        "server/discover" => Ok(cacheable(discover(&app), "public")),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(cacheable(json!({"tools": tools::list()}), "public")),
        "resources/list" => Ok(cacheable(json!({"resources": []}), "public")),
        "resources/templates/list" => {
            Ok(cacheable(json!({"resourceTemplates": resources::templates()}), "public"))
        }
        "resources/read" => match message.text("uri") {
            Ok(uri) => resources::read(&app, &access, uri).await.map(|content| {
                let mut content = cacheable(content, "private");
                content["ttlMs"] = json!(0);
                content
            }),
            Err(error) => Err(error),
        },
        "tools/call" => return Ok(call_tool(&request, app, access, message, session)),
        other => Err(RpcError::no_method(other)),
    };
    Ok(match result {
        Ok(result) => HttpResponse::Ok().json(message.result(result)),
        Err(error) => failed(Some(&id), &error),
    })
}

fn failed(id: Option<&Value>, error: &RpcError) -> HttpResponse {
    HttpResponse::build(error.status).json(error.message(id))
}

fn cacheable(mut result: Value, scope: &str) -> Value {
    result["ttlMs"] = json!(LISTS_LAST_MS);
    result["cacheScope"] = json!(scope);
    result
}

fn capabilities() -> Value {
    json!({"tools": {}, "resources": {}})
}

/// What a model should know before its first call.
fn instructions(app: &AppState) -> String {
    let sandbox = app.sandbox.as_ref().map(|rules| format!(" {}", rules.in_words())).unwrap_or_default();
    let text = "Ratoon is a Python notebook whose every successful cell leaves an immutable state. Any cell can run \
     against any state, so try alternatives as branches of one state instead of running cells again. State \
     ids are explicit: use the `state` of a result as the `at` of the next call. `input()` is not answered.";
    format!("{text}{sandbox}")
}

fn discover(app: &AppState) -> Value {
    json!({"supportedVersions": supported_versions(), "capabilities": capabilities(),
        "instructions": instructions(app)})
}

/// Answers the first request of a client of an earlier revision.
fn initialize(app: &AppState, message: &Message) -> HttpResponse {
    let requested = message.params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let result = json!({"protocolVersion": agreed_version(requested), "capabilities": capabilities(),
        "serverInfo": server_info(), "instructions": instructions(app)});
    let name: String = message.client_name().unwrap_or("Agent").chars().take(40).collect();
    let random = uuid::Uuid::new_v4().simple().to_string();
    let session = format!("{}.{random}", BASE64_URL_SAFE_NO_PAD.encode(name));
    HttpResponse::Ok().insert_header((SESSION_ID, session)).json(message.result(result))
}

/// The session that a request names.
fn session_of(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(SESSION_ID)?.to_str().ok()?;
    (id.len() <= MAX_SESSION_BYTES).then(|| id.to_owned())
}

/// The name of the client's program in a session's id.
fn name_in(session: &str) -> Option<String> {
    let (name, _) = session.split_once('.')?;
    String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(name).ok()?).ok()
}

/// Calls a tool in a task of its own, and answers with a stream.
fn call_tool(
    request: &HttpRequest,
    app: web::Data<AppState>,
    access: Access,
    mut message: Message,
    session: Option<String>,
) -> HttpResponse {
    let name = match message.text("name") {
        Ok(name) => name.to_owned(),
        Err(error) => return failed(message.id.as_ref(), &error),
    };
    let arguments = match message.params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => {
            let error = RpcError::invalid_params("`arguments` is not an object");
            return failed(message.id.as_ref(), &error);
        }
    };
    let session = session.filter(|_| !message.is_modern);
    let in_session = || session.as_deref().and_then(name_in);
    let program = message.client_name().map(str::to_owned).or_else(in_session).unwrap_or_default();
    let caller = Caller { name: program, session: session.clone() };
    let in_flight = app.calls_in_flight.clone();
    let key = session.map(|session| (session, message.id.clone().unwrap_or_default().to_string()));
    let is_modern = message.is_modern;
    let of_task = key.clone();
    let in_flight_of_task = in_flight.clone();
    let task = actix_web::rt::spawn(async move {
        let answer = Call::new(app, access, caller).answer(&name, arguments).await;
        if let Some(key) = of_task {
            in_flight_of_task.remove(&key);
        }
        match answer {
            Ok(result) => message.result(result),
            Err(error) => error.message(message.id.as_ref()),
        }
    });
    if let Some(key) = key {
        in_flight.add(key, task.abort_handle());
    }
    let answer = PendingAnswer { task: Some(task), ends_with_client: is_modern, beat: beat() };
    if !accepts_stream(request.headers()) {
        let body = stream::unfold(answer, |mut answer| async move {
            let text = answer.wait().await?;
            Some((Ok::<_, Infallible>(Bytes::from(text)), answer))
        });
        return HttpResponse::Ok().insert_header((CONTENT_TYPE, "application/json")).streaming(body);
    }
    let body = stream::unfold(answer, |mut answer| async move {
        let text = answer.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(text)), answer))
    });
    HttpResponse::build(StatusCode::OK)
        .insert_header((CONTENT_TYPE, "text/event-stream"))
        // nginx would hold back the stream until it ends.
        .insert_header(("x-accel-buffering", HeaderValue::from_static("no")))
        .streaming(body)
}

fn beat() -> Interval {
    let mut beat = interval_at(Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat
}

/// Whether the client can read a stream of events.
fn accepts_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("text/event-stream") || accept.contains("*/*")
}

/// The answer to a call of a tool, while the tool works.
struct PendingAnswer {
    /// `None` when the answer has been sent.
    task: Option<JoinHandle<Value>>,
    /// Whether the call is cancelled when this value is dropped.
    ends_with_client: bool,
    beat: Interval,
}

impl PendingAnswer {
    /// The answer; `None` if it was sent before, or if the call was cancelled.
    async fn wait(&mut self) -> Option<String> {
        let answer = self.task.as_mut()?.await;
        self.task = None;
        answer.ok().map(|answer| answer.to_string())
    }

    /// The next part of the stream: the answer, or a comment while the tool works.
    async fn next(&mut self) -> Option<String> {
        let task = self.task.as_mut()?;
        tokio::select! {
            answer = task => {
                self.task = None;
                answer.ok().map(|answer| format!("event: message\ndata: {answer}\n\n"))
            }
            _ = self.beat.tick() => Some(":\n\n".to_owned()),
        }
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        if let Some(task) = self.task.take().filter(|_| self.ends_with_client) {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_carries_the_name_of_its_program() {
        let session = format!("{}.abc", BASE64_URL_SAFE_NO_PAD.encode("Claude Code é"));
        assert_eq!(name_in(&session).as_deref(), Some("Claude Code é"));
        for odd in ["", "abc", "%.x", "/w.x"] {
            assert_eq!(name_in(odd), None, "{odd}");
        }
    }

    #[test]
    fn only_clients_that_ask_for_a_stream_get_one() {
        let accepts = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(value));
            accepts_stream(&headers)
        };
        assert!(accepts("application/json, text/event-stream") && accepts("*/*"));
        assert!(!accepts("application/json") && !accepts_stream(&HeaderMap::new()));
    }
}
