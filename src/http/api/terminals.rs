//! The owner's terminals: their list, and the WebSocket of each.
//!
//! A client sends what the user types as binary messages; `{"rows": 24, "columns": 80}` when its
//! size changes; and `{"read": N}`, the number of bytes of output that it has shown so far. The
//! server sends output as binary messages. It sends the message `{"all": true}` before output that
//! replaces everything before it, and `{"ended": true}` when the shell has ended.

use crate::http::app_state::AppState;
use crate::http::auth::Access;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::{Caller, NoBody, PathParams};
use crate::problem::Problem;
use crate::terminal::{Attached, Order, Shown, Terminals};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, web};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseCode, CloseReason, Closed};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use utoipa::ToSchema;

/// Maximum bytes of a message: a large paste.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// Maximum bytes of output that are on their way to a client. A client that shows output more
/// slowly than the shell writes it misses some.
const WINDOW_BYTES: u64 = 1024 * 1024;

/// The interval of pings, and how long a client may be silent: it answers each ping.
const PING_INTERVAL: Duration = Duration::from_secs(15);
const SILENCE_TIMEOUT: Duration = Duration::from_secs(45);

/// The answer to `GET /api/terminals`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TerminalList {
    /// The open terminals, oldest first.
    terminals: Vec<TerminalView>,
}

/// An open terminal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TerminalView {
    /// Its number: 1, 2, 3, … since the server's start.
    id: u32,
}

/// Lists the open terminals.
#[utoipa::path(
    get, path = "/api/terminals", tag = "server",
    responses(
        (status = 200, body = TerminalList),
        (status = 404, description = "The server was started with --no-terminal", body = ErrorBody),
    )
)]
pub(crate) async fn list(app: web::Data<AppState>) -> HttpResult {
    let terminals = terminals(&app)?.list().into_iter().map(|id| TerminalView { id }).collect();
    Ok(HttpResponse::Ok().json(TerminalList { terminals }))
}

/// Opens a terminal: starts the user's shell in the server's directory.
#[utoipa::path(
    post, path = "/api/terminals", tag = "server",
    responses(
        (status = 201, body = TerminalView),
        (status = 404, description = "The server was started with --no-terminal", body = ErrorBody),
        (status = 503, description = "Too many terminals are open", body = ErrorBody),
    )
)]
pub(crate) async fn open(app: web::Data<AppState>, _: NoBody) -> HttpResult {
    let id = terminals(&app)?.open()?;
    Ok(HttpResponse::Created().json(TerminalView { id }))
}

/// Closes a terminal: ends its shell and what runs in the foreground.
#[utoipa::path(
    delete, path = "/api/terminals/{id}", tag = "server", params(("id" = u32, Path)),
    responses((status = 204), (status = 404, description = "No such terminal", body = ErrorBody))
)]
pub(crate) async fn close(app: web::Data<AppState>, path: PathParams, _: NoBody) -> HttpResult {
    // Sending fails if the shell has just ended.
    let _ = attach(&app, path.get(0))?.orders().send(Order::Close).await;
    Ok(HttpResponse::NoContent().finish())
}

fn terminals(app: &AppState) -> Result<&Terminals, Problem> {
    app.terminals.as_ref().ok_or_else(|| {
        Problem::not_found("open a terminal", "this server has none: it was started with --no-terminal")
    })
}

fn attach(app: &AppState, id: &str) -> Result<Attached, Problem> {
    let terminals = terminals(app)?;
    let found = id.parse().ok().and_then(|id| terminals.attach(id));
    found.ok_or_else(|| {
        Problem::not_found(format!("find terminal {id:?}"), "it was closed, or its shell has ended")
    })
}

/// `GET /terminals/{id}`: the WebSocket of a terminal.
pub(crate) async fn socket(
    request: HttpRequest,
    body: web::Payload,
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
) -> Result<HttpResponse, actix_web::Error> {
    let access = caller.access()?.clone();
    let attached = attach(&app, path.get(0))?;
    let (response, sink, messages) = actix_ws::handle(&request, body)?;
    let messages = messages
        .max_frame_size(MAX_MESSAGE_BYTES)
        .aggregate_continuations()
        .max_continuation_size(MAX_MESSAGE_BYTES);
    actix_web::rt::spawn(serve(app, access, attached, sink, messages));
    Ok(response)
}

/// How much of the output has reached a client.
struct Window {
    sent: Cell<u64>,
    read: Cell<u64>,
    has_moved: Notify,
    last_received: Cell<Instant>,
}

impl Window {
    fn has_room(&self) -> bool {
        self.sent.get().saturating_sub(self.read.get()) < WINDOW_BYTES
    }
}

async fn serve(
    app: web::Data<AppState>,
    access: Access,
    attached: Attached,
    mut sink: actix_ws::Session,
    messages: AggregatedMessageStream,
) {
    let window = Window {
        sent: Cell::new(0),
        read: Cell::new(0),
        has_moved: Notify::new(),
        last_received: Cell::new(Instant::now()),
    };
    let orders = attached.orders();
    let code = tokio::select! {
        () = read_messages(messages, &orders, &window) => CloseCode::Normal,
        _ = write_output(&mut sink, attached, &window) => CloseCode::Normal,
        () = app.keys.wait_until_invalid(&access) => CloseCode::Other(4401),
    };
    // Closing fails if the client has left.
    let _ = sink.close(Some(CloseReason { code, description: None })).await;
}

/// A message about the client.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Told {
    Size { rows: u16, columns: u16 },
    Read { read: u64 },
}

/// Passes on what a client sends, until it leaves or breaks the protocol.
async fn read_messages(
    mut messages: AggregatedMessageStream,
    orders: &tokio::sync::mpsc::Sender<Order>,
    window: &Window,
) {
    while let Some(Ok(message)) = messages.next().await {
        window.last_received.set(Instant::now());
        let order = match message {
            AggregatedMessage::Binary(typed) => Order::Type(typed.to_vec()),
            AggregatedMessage::Text(text) => match serde_json::from_str(&text) {
                Ok(Told::Size { rows, columns }) => Order::Resize(rows, columns),
                Ok(Told::Read { read }) => {
                    window.read.set(read);
                    window.has_moved.notify_one();
                    continue;
                }
                Err(_) => return,
            },
            AggregatedMessage::Ping(_) | AggregatedMessage::Pong(_) => continue,
            AggregatedMessage::Close(_) => return,
        };
        // Sending fails if the shell has ended. The client learns that from `write_output`.
        let _ = orders.send(order).await;
    }
}

/// Sends output until the shell has ended, or the client is gone.
async fn write_output(
    sink: &mut actix_ws::Session,
    mut attached: Attached,
    window: &Window,
) -> Result<(), Closed> {
    let mut ping = tokio::time::interval(PING_INTERVAL);
    let mut shown = attached.all();
    loop {
        let piece = match shown {
            Shown::All(all) => {
                sink.text(r#"{"all":true}"#).await?;
                Bytes::from(all)
            }
            Shown::More(piece) => Bytes::copy_from_slice(&piece),
            Shown::Ended => return sink.text(r#"{"ended":true}"#).await,
        };
        window.sent.set(window.sent.get() + piece.len() as u64);
        sink.binary(piece).await?;
        shown = loop {
            tokio::select! {
                next = attached.next(), if window.has_room() => break next,
                () = window.has_moved.notified() => (),
                _ = ping.tick() => {
                    if window.last_received.get().elapsed() > SILENCE_TIMEOUT {
                        return Err(Closed);
                    }
                    sink.ping(b"").await?;
                }
            }
        };
    }
}
