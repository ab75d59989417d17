//! The queue of messages to one client. The length of the queue is limited, so that a client that
//! does not read uses little memory.

use crate::notebook::Pieces;
use crate::session::Missed;
use actix_http::ws::Item;
use actix_web::web::Bytes;
use actix_ws::{Closed, Message};
use futures_util::{Sink, SinkExt};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;

/// Maximum number of bytes that wait for one client. A busy browser stays far below this limit. A
/// suspended browser exceeds it and is disconnected. Later the browser can reconnect and continue
/// from its position in the event stream.
const MAX_WAITING_BYTES: usize = 8 * 1024 * 1024;

/// Size of the parts in which a whole notebook is sent, in bytes. Small, because actix queues
/// several parts.
const PART_BYTES: usize = 64 * 1024;

/// The messages to one client that have not been sent yet.
pub(super) struct Waiting {
    messages: VecDeque<Message>,
    /// The whole notebook, with the greeting before it. It is sent before `messages`.
    whole: Option<Whole>,
    bytes: usize,
    /// Limit of `bytes`: `MAX_WAITING_BYTES` plus the size of the missed events that are sent
    /// first.
    most: usize,
}

impl Waiting {
    /// A queue that begins with the greeting. The missed events or the whole notebook follow.
    pub(super) fn new(greeting: String, missed: Missed) -> Self {
        let mut waiting = Self { messages: VecDeque::new(), whole: None, bytes: 0, most: usize::MAX };
        match missed {
            Missed::Events(events) => {
                waiting.push(Message::Text(greeting.into()));
                events.iter().for_each(|text| waiting.event(text));
            }
            Missed::Whole(pieces) => waiting.whole = Some(Whole::new(greeting, *pieces)),
        }
        waiting.most = waiting.bytes + MAX_WAITING_BYTES;
        waiting
    }

    /// Adds an event, which was serialised once for all clients.
    pub(super) fn event(&mut self, text: &str) {
        self.push(Message::Text(text.to_owned().into()));
    }

    /// Adds a message.
    pub(super) fn push(&mut self, message: Message) {
        self.bytes += size(&message);
        self.messages.push_back(message);
    }

    /// Whether nothing waits to be sent.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.whole.is_none()
    }

    /// Whether a whole notebook is still being sent.
    pub(super) fn has_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// Whether the waiting bytes exceed the limit.
    pub(super) fn is_too_long(&self) -> bool {
        self.bytes > self.most
    }

    /// Waits until the connection accepts a message, then sends messages until the connection
    /// accepts no more. Safe to cancel: a message leaves the queue only when it is accepted.
    pub(super) async fn send_some(&mut self, sink: &mut actix_ws::Session) -> Result<(), Closed> {
        poll_fn(|cx| Pin::new(&mut *sink).poll_ready(cx)).await?;
        while let Some(message) = self.next() {
            sink.start_send_unpin(message)?;
            let ready = poll_fn(|cx| std::task::Poll::Ready(Pin::new(&mut *sink).poll_ready(cx))).await;
            if !ready.is_ready() {
                break;
            }
        }
        Ok(())
    }
}

impl Waiting {
    fn next(&mut self) -> Option<Message> {
        if let Some(whole) = &mut self.whole {
            let message = whole.next();
            if whole.is_over {
                self.whole = None;
            }
            return Some(message);
        }
        let message = self.messages.pop_front()?;
        self.bytes -= size(&message);
        Some(message)
    }
}

/// A whole notebook as one fragmented message (RFC 6455, 5.4). The message is never in memory as a
/// whole.
struct Whole {
    greeting: Option<String>,
    pieces: Pieces,
    left: Bytes,
    has_begun: bool,
    is_over: bool,
}

impl Whole {
    fn new(greeting: String, pieces: Pieces) -> Self {
        Self { greeting: Some(greeting), pieces, left: Bytes::new(), has_begun: false, is_over: false }
    }

    fn refill(&mut self) {
        if self.left.is_empty() {
            self.left = self.pieces.next().map(Bytes::from).unwrap_or_default();
        }
    }

    fn next(&mut self) -> Message {
        if let Some(greeting) = self.greeting.take() {
            return Message::Text(greeting.into());
        }
        self.refill();
        let part = self.left.split_to(self.left.len().min(PART_BYTES));
        self.refill();
        self.is_over = self.left.is_empty();
        match (std::mem::replace(&mut self.has_begun, true), self.is_over) {
            (false, true) => Message::Text(String::from_utf8_lossy(&part).into_owned().into()),
            (false, false) => Message::Continuation(Item::FirstText(part)),
            (true, false) => Message::Continuation(Item::Continue(part)),
            (true, true) => Message::Continuation(Item::Last(part)),
        }
    }
}

fn size(message: &Message) -> usize {
    match message {
        Message::Text(text) => text.len(),
        Message::Pong(bytes) => bytes.len(),
        _ => 0,
    }
}
