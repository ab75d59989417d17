//! The WebSocket of a notebook. Clients send commands, and receive events and replies.
//!
//! A client message is `{"id": 7, "do": "run", …}`. The server first sends `{"epoch": "…", "you":
//! {"scope": "owner"}}`, then the events that the client missed, then new events. It also sends
//! `{"reply": 7, …}` for each command, and `{"beat": true}` at intervals. Reading and writing
//! never wait for each other: a client that does not read can still interrupt a run, and a long
//! run delays no other command.

mod frames;
mod in_flight;
mod message;
mod waiting;

use crate::http::app_state::{AppState, Permit, WHOLE_TIMEOUT};
use crate::http::auth::Access;
use crate::http::authorize::send_for;
use crate::http::request::{Caller, PathParams, query_value};
use crate::notebook::{Command, Reply};
use crate::problem::Problem;
use crate::session::{CloseReason, Missed, Position, Scope, Session, Since, Subscription, Visit};
use actix_web::dev::Payload;
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpRequest, HttpResponse, web};
use actix_ws::{
    AggregatedMessage, AggregatedMessageStream, CloseCode, CloseReason as CloseFrame, Message, ProtocolError,
};
use frames::{CheckedPayload, Fault, MAX_MESSAGE_BYTES, MAX_VIEW_MESSAGE_BYTES, SharedFault};
use futures_util::{Stream, StreamExt};
use in_flight::{InFlight, MAX_IN_FLIGHT};
use message::ClientMessage;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};
use waiting::{Outgoing, Waiting};

/// The interval of pings and beats.
const BEAT: Duration = Duration::from_secs(15);

/// How long a client may be silent before it counts as unreachable. The server sends three pings in
/// this time, and clients answer each ping.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(45);

/// How long sending the close frame may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// After a protocol error, the server waits this long for further bytes of the client before it
/// sends the close frame.
const DRAIN_PAUSE: Duration = Duration::from_millis(50);

/// Maximum number of answers that wait to be sent. The number is greater than `MAX_IN_FLIGHT`, so
/// there is always room for the replies to commands.
const ANSWER_QUEUE: usize = MAX_IN_FLIGHT * 2;

/// `GET /ws/{name}?epoch=E&seq=N` or `GET /ws/{name}?since=now`.
pub(crate) async fn open(
    request: HttpRequest,
    body: web::Payload,
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
) -> Result<HttpResponse, actix_web::Error> {
    let access = caller.access()?.clone();
    let name = path.get(0);
    let session = AppState::notebook(&app, name).await?;
    let since = since(&request)?;

    let fault = SharedFault::default();
    let bytes = Rc::new(RefCell::new(body.into_inner()));
    let max_message = if access.scope == Scope::View { MAX_VIEW_MESSAGE_BYTES } else { MAX_MESSAGE_BYTES };
    let checked = Box::pin(CheckedPayload::new(bytes.clone(), fault.clone(), max_message));
    let checked = web::Payload::from_request(&request, &mut Payload::Stream { payload: checked }).await?;
    let (response, sink, messages) = actix_ws::handle(&request, checked)?;
    let messages =
        messages.max_frame_size(max_message).aggregate_continuations().max_continuation_size(max_message);

    let permit = app.whole_for(&access, 1).await?;
    let subscription = session.subscribe(since).await?;
    let permit = permit.filter(|_| matches!(subscription.missed, Missed::Whole(_)));
    let visit = Rc::new(session.visit(access.scope, &access.browser()));
    let client = Client { app, access, session, visit, fault, bytes, permit: Cell::new(permit) };
    actix_web::rt::spawn(run_connection(client, sink, messages, subscription));
    Ok(response)
}

/// Where the client's events begin: after its position, with a snapshot for a new client, or now.
fn since(request: &HttpRequest) -> Result<Since, Problem> {
    let value = |name| query_value(request, name);
    match (value("epoch"), value("seq"), value("since").as_deref()) {
        (None, None, None) => Ok(Since::Beginning),
        (None, None, Some("now")) => Ok(Since::Now),
        (Some(epoch), Some(seq), None) if seq.parse::<u64>().is_ok() => {
            Ok(Since::Position(Position { epoch, seq: seq.parse().unwrap_or_default() }))
        }
        _ => Err(Problem::bad_request(
            "join the notebook's events",
            "a position consists of an epoch and the number of the last event",
            "give both `epoch` and `seq`, or `since=now`, or none of them",
        )),
    }
}

/// One connected client.
struct Client {
    app: web::Data<AppState>,
    access: Access,
    session: Session,
    /// The client's presence, which other clients see.
    visit: Rc<Visit>,
    fault: SharedFault,
    /// The bytes that the client sends.
    bytes: Rc<RefCell<Payload>>,
    /// The permit to send a whole notebook. It is dropped when the whole notebook has been sent.
    permit: Cell<Permit>,
}

/// The reason why a connection ends. It determines the close frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The client closed the connection.
    Left,
    /// The client stopped answering without closing the connection, so no close frame is sent.
    Unreachable,
    /// The client broke the protocol.
    Broken(CloseCode, &'static str),
    /// The client's session has ended or its link was revoked.
    SignedOut,
    /// The client reads too slowly, or the server shuts down. The client may reconnect and continue
    /// from its position in the event stream.
    Behind,
    /// The notebook was renamed or deleted.
    Moved,
}

async fn run_connection(
    client: Client,
    mut sink: actix_ws::Session,
    messages: AggregatedMessageStream,
    events: Subscription,
) {
    let (answers, to_send) = mpsc::channel(ANSWER_QUEUE);
    let last_received = Rc::new(Cell::new(Instant::now()));
    let in_flight = Rc::new(InFlight::new());
    let end = tokio::select! {
        end = read_messages(&client, messages, answers, &in_flight, &last_received) => end,
        end = write_messages(&mut sink, &client, events, to_send, &last_received) => end,
        () = client.app.keys.wait_until_invalid(&client.access) => End::SignedOut,
    };
    let end = if end == End::Behind && client.session.close_reason().is_some() { End::Moved } else { end };
    // Frees the permits, so that another client can load a notebook.
    client.permit.take();
    in_flight.close();
    let Client { visit, bytes, session, .. } = client;
    // Presence must end before the close frame is sent, because sending may take long.
    drop(visit);
    let reason = |code: CloseCode, text: &str| Some(CloseFrame { code, description: Some(text.to_owned()) });
    let reason = match end {
        End::Left => None,
        End::Unreachable => return,
        End::Broken(code, why) => {
            drain(&bytes).await;
            reason(code, why)
        }
        End::SignedOut => reason(CloseCode::Other(4401), "signed out"),
        End::Moved => match session.close_reason() {
            Some(CloseReason::Renamed(to)) => reason(CloseCode::Other(4301), short(to)),
            _ => reason(CloseCode::Other(4404), "deleted"),
        },
        End::Behind => reason(CloseCode::Other(4408), "behind: come back with your position"),
    };
    // A slow client may read the close frame late. Only this frame says that the client can
    // reconnect.
    let patience = if end == End::Behind { SILENCE_TIMEOUT } else { CLOSE_TIMEOUT };
    let _ = tokio::time::timeout(patience, sink.close(reason)).await;
}

/// Returns the name, or an empty text if the name does not fit into a close frame's reason (123
/// bytes).
fn short(name: &str) -> &str {
    if name.len() <= 123 { name } else { "" }
}

/// Reads and drops all bytes that a client is still sending. Closing a connection with unread bytes
/// resets the connection, and the client would not get the close frame.
async fn drain(bytes: &RefCell<Payload>) {
    let next = || poll_fn(|cx| Pin::new(&mut *bytes.borrow_mut()).poll_next(cx));
    let until_it_pauses =
        async { while let Ok(Some(Ok(_))) = tokio::time::timeout(DRAIN_PAUSE, next()).await {} };
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, until_it_pauses).await;
}

/// Reads the client's messages until the connection ends. Returns the reason.
async fn read_messages(
    client: &Client,
    mut messages: AggregatedMessageStream,
    answers: mpsc::Sender<Outgoing>,
    in_flight: &Rc<InFlight>,
    last_received: &Cell<Instant>,
) -> End {
    loop {
        let message = match messages.next().await {
            Some(Ok(message)) => message,
            Some(Err(error)) => return broken(client.fault.get(), &error),
            None => return if client.fault.get().is_some() { TOO_LONG } else { End::Left },
        };
        last_received.set(Instant::now());
        match message {
            AggregatedMessage::Text(text) => handle_message(client, &text, &answers, in_flight),
            AggregatedMessage::Binary(_) => {
                return End::Broken(CloseCode::Unsupported, "only text messages are accepted");
            }
            // If the queue is full, the pong is dropped. The queued answers also show that the
            // server is alive.
            AggregatedMessage::Ping(bytes) => drop(answers.try_send(Outgoing::Control(Message::Pong(bytes)))),
            AggregatedMessage::Pong(_) => (),
            AggregatedMessage::Close(_) => return End::Left,
        }
    }
}

/// Handles one message. Each command runs in a separate task.
fn handle_message(client: &Client, text: &str, answers: &mpsc::Sender<Outgoing>, in_flight: &Rc<InFlight>) {
    let checked = ClientMessage::parse(text).and_then(|ClientMessage { id, command }| {
        let command = client.app.authorize(&client.access, command).map_err(|refused| (Some(id), refused))?;
        match in_flight.exceeded_limit(command.command()) {
            Some(limit) => Err((Some(id), message::too_many(limit))),
            None => Ok((id, command)),
        }
    });
    let (id, command) = match checked {
        Ok(checked) => checked,
        Err((id, refused)) => {
            // If the queue is full, the refusal is dropped. This happens only to a client that
            // sends invalid messages without reading the answers.
            let _ = answers.try_send(Outgoing::Answer(message::refusal(id, refused), None));
            return;
        }
    };
    let (app, access, session) = (client.app.clone(), client.access.clone(), client.session.clone());
    let (answers, in_flight) = (answers.clone(), in_flight.clone());
    let is_presence = matches!(command.command(), Command::Stand { .. });
    // Other commands do not hold the visit, because presence must end with the connection even if a
    // run continues for an hour.
    let visit = is_presence.then(|| client.visit.clone());
    in_flight.begin(is_presence);
    actix_web::rt::spawn(async move {
        let (reply, held) = match in_flight.hold(command.command(), &app, &access).await {
            Ok(held) => (send_for(visit, session, command).await, held),
            Err(refused) => (Reply::Refused(refused), None),
        };
        // Sending fails if the connection has ended. Then nobody needs the reply.
        let _ = answers.send(Outgoing::Answer(message::reply(id, &reply), held)).await;
        in_flight.end(is_presence);
    });
}

const TOO_LONG: End = End::Broken(CloseCode::Size, "a message has at most 1 MiB, and of a view link 16 KiB");

fn broken(fault: Option<Fault>, error: &ProtocolError) -> End {
    match (fault, error) {
        (Some(Fault::TooLong), _) | (None, ProtocolError::Overflow) => TOO_LONG,
        (Some(Fault::ReservedBits), _) => End::Broken(CloseCode::Protocol, "reserved bits are set"),
        (None, ProtocolError::Io(io)) if io.kind() == std::io::ErrorKind::InvalidData => {
            End::Broken(CloseCode::Invalid, "text is UTF-8")
        }
        (None, ProtocolError::Io(_)) => End::Left,
        (None, _) => End::Broken(CloseCode::Protocol, "that is not a WebSocket frame"),
    }
}

/// Sends events, answers and beats until the connection ends. Returns the reason.
async fn write_messages(
    sink: &mut actix_ws::Session,
    client: &Client,
    subscription: Subscription,
    mut answers: mpsc::Receiver<Outgoing>,
    last_received: &Cell<Instant>,
) -> End {
    let Subscription { epoch, missed, mut events } = subscription;
    let (app, scope) = (&client.app, client.access.scope);
    let has_terminals = app.terminals.is_some() && scope == Scope::Owner;
    let is_start = client.session.name() == app.start.name();
    let greeting = message::greeting(scope, app.sandbox.as_ref(), has_terminals, is_start, &epoch);
    let mut waiting = Waiting::new(greeting, missed);
    let whole_by = Instant::now() + WHOLE_TIMEOUT;
    let mut beat = tokio::time::interval_at(Instant::now() + BEAT, BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Some(text) => waiting.event(&text),
                None => return End::Behind,
            },
            // `recv` never returns `None`: `read_messages` holds a sender as long as this loop
            // runs.
            Some(answer) = answers.recv() => {
                // Events that happened before the answer are sent before it.
                while let Ok(text) = events.try_recv() {
                    waiting.event(&text);
                }
                waiting.push(answer);
            },
            _ = beat.tick() => {
                if waiting.has_whole() && Instant::now() > whole_by {
                    return End::Behind;
                }
                if last_received.get().elapsed() > SILENCE_TIMEOUT {
                    return End::Unreachable;
                }
                if waiting.stands_still_for() > SILENCE_TIMEOUT {
                    return End::Behind;
                }
                waiting.push(Outgoing::Control(Message::Ping(Bytes::new())));
                waiting.push(Outgoing::Event(message::BEAT.into()));
            }
            sent = waiting.send_some(sink), if !waiting.is_empty() => if sent.is_err() {
                return End::Left;
            },
        }
        if !waiting.has_whole() {
            client.permit.take();
        }
        if waiting.is_too_long() {
            return End::Behind;
        }
    }
}
