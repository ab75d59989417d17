//! What waits to be said to one client: bounded, so that one that does not read costs no more than that.

use actix_ws::{Closed, Message};
use futures_util::{Sink, SinkExt};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

/// How many bytes may wait. A browser that is busy for a moment is far below; one that is asleep comes back and says
/// where it stands.
const MAX_WAITING_BYTES: usize = 8 * 1024 * 1024;

/// The messages that wait, in order.
pub(super) struct Waiting {
    messages: VecDeque<Message>,
    bytes: usize,
    /// The limit: what a client missed is sent to it whole, however much it is.
    most: usize,
}

impl Waiting {
    /// The greeting waits, and what was missed.
    pub(super) fn new(greeting: String, missed: Vec<Arc<str>>) -> Self {
        let mut waiting = Self { messages: VecDeque::new(), bytes: 0, most: usize::MAX };
        waiting.push(Message::Text(greeting.into()));
        for text in &missed {
            waiting.event(text);
        }
        waiting.most = waiting.bytes + MAX_WAITING_BYTES;
        waiting
    }

    /// Adds an event, as it was serialised once for all clients.
    pub(super) fn event(&mut self, text: &str) {
        self.push(Message::Text(text.to_owned().into()));
    }

    /// Adds a message.
    pub(super) fn push(&mut self, message: Message) {
        self.bytes += size(&message);
        self.messages.push_back(message);
    }

    /// Whether there is nothing to say.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether more waits than may.
    pub(super) fn is_too_long(&self) -> bool {
        self.bytes > self.most
    }

    /// Waits until the connection takes a message, and gives it as many as it takes at once. May be given up at any
    /// time: a message is gone from here only when it was taken.
    pub(super) async fn send_some(&mut self, sink: &mut actix_ws::Session) -> Result<(), Closed> {
        poll_fn(|cx| Pin::new(&mut *sink).poll_ready(cx)).await?;
        while let Some(message) = self.messages.pop_front() {
            self.bytes -= size(&message);
            sink.start_send_unpin(message)?;
            let ready = poll_fn(|cx| std::task::Poll::Ready(Pin::new(&mut *sink).poll_ready(cx))).await;
            if !ready.is_ready() {
                break;
            }
        }
        Ok(())
    }
}

fn size(message: &Message) -> usize {
    match message {
        Message::Text(text) => text.len(),
        Message::Pong(bytes) => bytes.len(),
        _ => 0,
    }
}
