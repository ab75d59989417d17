//! The queue of messages to one client. The length of the queue is limited, so that a client that
//! does not read uses little memory.

use super::in_flight::Held;
use crate::notebook::Pieces;
use crate::session::Missed;
use actix_http::ws::Item;
use actix_web::web::Bytes;
use actix_ws::{Closed, Message};
use futures_util::{Sink, SinkExt};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Instant;

/// Maximum number of bytes of events that wait for one client. A busy browser stays far below this
/// limit. A suspended browser exceeds it and is disconnected. Later the browser can reconnect and
/// continue from its position in the event stream.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Size of the parts in which a whole notebook or a long text is sent, in bytes. Small, because
/// actix queues several parts.
const PART_BYTES: usize = 64 * 1024;

/// The messages to one client that have not been sent yet.
pub(super) struct Waiting {
    messages: VecDeque<Outgoing>,
    /// The whole notebook, with the greeting before it. It is sent before `messages`.
    whole: Option<Whole>,
    /// The bytes of events in `messages`.
    event_bytes: usize,
    /// Limit of `event_bytes`: `MAX_EVENT_BYTES` plus the size of the missed events that are sent
    /// first.
    most: usize,
    /// When the connection last accepted a message, or nothing waited.
    moved: Instant,
}

/// A message to one client.
pub(super) enum Outgoing {
    /// A ping or a pong.
    Control(Message),
    /// An event of the notebook.
    Event(String),
    /// An answer. `Held` is dropped when all of it has been sent.
    Answer(String, Option<Held>),
    /// What is left of a text that is sent in parts.
    Rest(Bytes, Option<Held>),
}

impl Waiting {
    /// A queue that begins with the greeting. The missed events or the whole notebook follow.
    pub(super) fn new(greeting: String, missed: Missed) -> Self {
        let (messages, moved) = (VecDeque::new(), Instant::now());
        let mut waiting = Self { messages, whole: None, event_bytes: 0, most: usize::MAX, moved };
        match missed {
            Missed::Events(events) => {
                waiting.push(Outgoing::Event(greeting));
                events.iter().for_each(|text| waiting.event(text));
            }
            Missed::Whole(pieces) => waiting.whole = Some(Whole::new(greeting, *pieces)),
        }
        waiting.most = waiting.event_bytes + MAX_EVENT_BYTES;
        waiting
    }

    /// Adds an event, which was serialised once for all clients.
    pub(super) fn event(&mut self, text: &str) {
        self.push(Outgoing::Event(text.to_owned()));
    }

    /// Adds a message.
    pub(super) fn push(&mut self, message: Outgoing) {
        if self.is_empty() {
            self.moved = Instant::now();
        }
        if let Outgoing::Event(text) = &message {
            self.event_bytes += text.len();
        }
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

    /// Whether the waiting events exceed the limit.
    pub(super) fn is_too_long(&self) -> bool {
        self.event_bytes > self.most
    }

    /// For how long the connection has not accepted what waits.
    pub(super) fn stands_still_for(&self) -> Duration {
        if self.is_empty() { Duration::ZERO } else { self.moved.elapsed() }
    }

    /// Waits until the connection accepts a message, then sends messages until the connection
    /// accepts no more. Safe to cancel: a message leaves the queue only when it is accepted.
    pub(super) async fn send_some(&mut self, sink: &mut actix_ws::Session) -> Result<(), Closed> {
        poll_fn(|cx| Pin::new(&mut *sink).poll_ready(cx)).await?;
        self.moved = Instant::now();
        while let Some(message) = self.next() {
            sink.start_send_unpin(message)?;
            let ready = poll_fn(|cx| std::task::Poll::Ready(Pin::new(&mut *sink).poll_ready(cx))).await;
            if !ready.is_ready() {
                break;
            }
        }
        Ok(())
    }

    /// Takes the next message or part of a message.
    fn next(&mut self) -> Option<Message> {
        if let Some(whole) = &mut self.whole {
            let message = whole.next();
            if whole.is_over {
                self.whole = None;
            }
            return Some(message);
        }
        let (text, held) = match self.messages.pop_front()? {
            Outgoing::Control(message) => return Some(message),
            Outgoing::Event(text) => {
                self.event_bytes -= text.len();
                (text, None)
            }
            Outgoing::Answer(text, held) => (text, held),
            Outgoing::Rest(left, held) => return Some(self.next_part(left, false, held)),
        };
        Some(if text.len() <= PART_BYTES {
            Message::Text(text.into())
        } else {
            self.next_part(text.into(), true, held)
        })
    }

    fn next_part(&mut self, mut left: Bytes, is_first: bool, held: Option<Held>) -> Message {
        let part = left.split_to(left.len().min(PART_BYTES));
        let is_last = left.is_empty();
        if !is_last {
            self.messages.push_front(Outgoing::Rest(left, held));
        }
        message_of(part, is_first, is_last)
    }
}

/// The message with a part of a text.
fn message_of(part: Bytes, is_first: bool, is_last: bool) -> Message {
    match (is_first, is_last) {
        (true, true) => Message::Text(String::from_utf8_lossy(&part).into_owned().into()),
        (true, false) => Message::Continuation(Item::FirstText(part)),
        (false, false) => Message::Continuation(Item::Continue(part)),
        (false, true) => Message::Continuation(Item::Last(part)),
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
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        message_of(part, !has_begun, self.is_over)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn waiting() -> Waiting {
        Waiting::new("greeting".into(), Missed::Events(Vec::new()))
    }

    /// All that is sent: (opcode, bytes).
    fn sent(waiting: &mut Waiting) -> Vec<(&'static str, usize)> {
        let kind = |message| match message {
            Message::Text(text) => ("text", text.len()),
            Message::Continuation(Item::FirstText(part)) => ("first", part.len()),
            Message::Continuation(Item::Continue(part)) => ("more", part.len()),
            Message::Continuation(Item::Last(part)) => ("last", part.len()),
            _ => ("control", 0),
        };
        std::iter::from_fn(|| waiting.next()).map(kind).collect()
    }

    #[test]
    fn long_texts_are_sent_in_parts_and_in_order() {
        let mut waiting = waiting();
        for count in [PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES] {
            waiting.event(&"x".repeat(count));
        }
        waiting.push(Outgoing::Control(Message::Ping(Bytes::new())));
        waiting.push(Outgoing::Answer("y".repeat(2 * PART_BYTES), None));
        let (part, one) = (PART_BYTES, 1);
        assert_eq!(
            sent(&mut waiting),
            [
                ("text", 8),
                ("text", part),
                ("first", part),
                ("last", one),
                ("first", part),
                ("more", part),
                ("last", part),
                ("control", 0),
                ("first", part),
                ("last", part),
            ]
        );
        assert!(waiting.is_empty() && waiting.event_bytes == 0);
    }

    #[test]
    fn only_events_count_for_the_limit_because_answers_are_limited_before_they_are_made() {
        let mut waiting = waiting();
        waiting.push(Outgoing::Answer("y".repeat(2 * MAX_EVENT_BYTES), None));
        assert!(!waiting.is_too_long());
        waiting.event(&"x".repeat(MAX_EVENT_BYTES));
        assert!(!waiting.is_too_long());
        waiting.event("x");
        assert!(waiting.is_too_long());
    }

    #[test]
    fn a_connection_stands_still_only_while_something_waits() {
        let mut waiting = waiting();
        let minute = Duration::from_secs(60);
        waiting.moved -= minute;
        assert!(waiting.stands_still_for() >= minute);
        waiting.event("x");
        assert!(waiting.stands_still_for() >= minute);
        assert_eq!(sent(&mut waiting).len(), 2);
        assert_eq!(waiting.stands_still_for(), Duration::ZERO);
        waiting.event("x");
        assert!(waiting.stands_still_for() < minute);
    }
}
