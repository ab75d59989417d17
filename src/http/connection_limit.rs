//! How many connections there are, who makes room when there are too many, and what is still
//! answered then.
//!
//! A connection that waits for its next request makes room for a new one: first those that have
//! never shown a credential, then those that have waited longest. One that is busy with a request
//! that may pass is never ended. So sockets that are held open without a token keep nobody out, and
//! while all are busy what ends things is still answered.

use crate::problem::{Kind, Problem};
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::rt::net::TcpStream;
use actix_web::web::Bytes;
use futures_util::task::AtomicWaker;
use nix::sys::resource::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Duration, Instant, Sleep, sleep_until};

/// Connections at a time. One notebook page needs one; this is room for thousands of clients.
const MAX_CONNECTIONS: usize = 4096;

/// Connections beyond them on which an interrupt, a look at the list and a question after our
/// health still pass.
const RESERVED: usize = 64;

/// How long the head of a request may take, from its first byte on.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection may stay without a request.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// All connections.
#[derive(Clone, Debug)]
pub(super) struct Room {
    lines: Arc<Mutex<Lines>>,
    limit: usize,
}

#[derive(Debug, Default)]
struct Lines {
    /// In the order in which they came, without those that have to go.
    open: BTreeMap<u64, Line>,
    last: u64,
}

/// What is known of a connection.
#[derive(Clone, Debug)]
pub(super) struct Line(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the connection when it has to go.
    waker: AtomicWaker,
}

#[derive(Debug)]
struct State {
    /// Requests that are being answered, and those of them that have shown a valid credential.
    requests: usize,
    admitted: usize,
    /// Whether it has ever shown a valid credential.
    is_known: bool,
    /// Since when it has been waiting for a request.
    idle_since: Instant,
    /// When the head of its next request has to be whole; the parser below us sees to the first.
    head_by: Option<Instant>,
    /// Whether a byte of that head has come.
    has_begun: bool,
    has_to_go: bool,
}

impl Room {
    /// A share of the descriptors that this process may have is for connections; the rest is for
    /// the kernels.
    pub(super) fn new() -> Self {
        let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
        let limit = usize::try_from(descriptors / 3).unwrap_or(usize::MAX).min(MAX_CONNECTIONS);
        Self { lines: Arc::default(), limit }
    }

    /// How many connections each of some workers may have, with those that are reserved.
    pub(super) fn of_each(&self, workers: usize) -> usize {
        (self.limit + RESERVED.min(self.limit / 2)).div_ceil(workers)
    }

    /// A connection came. Another one goes when there are too many.
    pub(super) fn admit(&self, stream: TcpStream) -> Connection {
        let (number, line) = self.enter(Instant::now());
        Connection { stream, line, number, room: self.clone(), timer: None }
    }

    fn enter(&self, now: Instant) -> (u64, Line) {
        let mut lines = self.lock();
        if lines.open.len() >= self.limit {
            // Of equals, the first that came.
            let can_go = lines.open.iter().filter_map(|(number, line)| Some((line.lock().rank()?, *number)));
            if let Some(line) = can_go.min().and_then(|(_, number)| lines.open.remove(&number)) {
                line.lock().has_to_go = true;
                line.0.waker.wake();
            }
        }
        lines.last += 1;
        let (number, line) = (lines.last, Line::new(now));
        lines.open.insert(number, line.clone());
        (number, line)
    }

    /// Whether another request may be taken up.
    ///
    /// # Errors
    /// 503 when there are too many connections.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.lock().open.len() <= self.limit {
            return Ok(());
        }
        let why = format!("there are more than {} connections", self.limit);
        let how = "close some; interrupt, reset, delete and list still work";
        Err(Problem::new(Kind::Busy, "answer", why, how))
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        // Every change is one statement on the map, so a panic elsewhere leaves nothing half done.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Order of eviction, the least first; none if the connection must not be closed.
    fn rank(&self) -> Option<(bool, Instant)> {
        (self.admitted == 0).then_some((self.is_known, self.idle_since))
    }

    /// Bytes came. The first of a head starts its time.
    fn heard(&mut self, now: Instant) {
        if self.requests == 0 && !self.has_begun {
            self.has_begun = true;
            self.head_by = self.head_by.map(|by| by.min(now + HEAD_TIMEOUT));
        }
    }

    fn begin(&mut self) {
        self.requests += 1;
        (self.head_by, self.has_begun) = (None, false);
    }

    fn admit(&mut self) {
        self.admitted += 1;
        self.is_known = true;
    }

    fn end(&mut self, is_admitted: bool, now: Instant) {
        self.requests -= 1;
        self.admitted -= usize::from(is_admitted);
        if self.requests == 0 {
            (self.idle_since, self.head_by) = (now, Some(now + IDLE_TIMEOUT));
        }
    }
}

impl Line {
    fn new(now: Instant) -> Self {
        let state = State {
            requests: 0,
            admitted: 0,
            is_known: false,
            idle_since: now,
            head_by: None,
            has_begun: false,
            has_to_go: false,
        };
        Self(Arc::new(Shared { state: Mutex::new(state), waker: AtomicWaker::new() }))
    }

    /// A request's head is whole; it is being answered until the answer is given to the connection.
    pub(super) fn begin(&self) -> Busy {
        self.lock().begin();
        Busy { line: self.clone(), is_admitted: false }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Busy {
    line: Line,
    is_admitted: bool,
}

impl Busy {
    /// It has shown a valid credential: its connection is not ended for another one.
    pub(super) fn admit(&mut self) {
        if !self.is_admitted {
            self.is_admitted = true;
            self.line.lock().admit();
        }
    }

    /// The body of its answer, which ends it when it has been sent.
    pub(super) fn body(self, body: BoxBody) -> BoxBody {
        BoxBody::new(Answering { body, _busy: self })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.line.lock().end(self.is_admitted, Instant::now());
    }
}

struct Answering {
    body: BoxBody,
    _busy: Busy,
}

impl MessageBody for Answering {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }
}

/// A TCP connection that ends when it has to go, or the head of its next request takes too long.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    line: Line,
    number: u64,
    room: Room,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    /// What is known of it.
    pub(super) fn line(&self) -> &Line {
        &self.line
    }

    /// An error when it is over.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        self.line.0.waker.register(cx.waker());
        let (has_to_go, head_by) = {
            let state = self.line.lock();
            (state.has_to_go, state.head_by)
        };
        if has_to_go {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let Some(head_by) = head_by else { return Ok(()) };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(head_by)));
        if timer.deadline() != head_by {
            timer.as_mut().reset(head_by);
        }
        match timer.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.room.lock().open.remove(&self.number);
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.line.lock().heard(Instant::now());
        }
        self.check(cx)?;
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.line.lock().has_to_go {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(limit: usize) -> Room {
        Room { lines: Arc::default(), limit }
    }

    fn left(lines: &[(u64, Line)]) -> Vec<usize> {
        (0..lines.len()).filter(|n| !lines[*n].1.lock().has_to_go).collect()
    }

    #[test]
    fn strangers_make_room_before_those_who_have_shown_a_credential_and_the_oldest_first() {
        let (room, start) = (room(4), Instant::now());
        let come = |seconds| room.enter(start + Duration::from_secs(seconds));
        let mut lines: Vec<_> = (0..4).map(come).collect();
        let mut busy = lines[0].1.begin();
        busy.admit();
        drop(busy);
        lines.push(come(10));
        assert_eq!(left(&lines), [0, 2, 3, 4], "the first has shown one, the second came next");
        let _strange = lines[2].1.begin();
        lines.push(come(11));
        assert_eq!(left(&lines), [0, 3, 4, 5], "a request that may not pass holds no place");
        lines.push(come(12));
        lines.push(come(13));
        assert_eq!(left(&lines), [0, 5, 6, 7]);
        assert!(room.check().is_ok());
    }

    #[test]
    fn who_is_busy_stays_and_then_there_may_be_too_many() {
        let room = room(3);
        let lines: Vec<_> = (0..5)
            .map(|_| {
                let (number, line) = room.enter(Instant::now());
                let mut busy = line.begin();
                busy.admit();
                (number, line, busy)
            })
            .collect();
        assert!(lines.iter().all(|(_, line, _)| !line.lock().has_to_go));
        assert!(room.check().is_err());
    }

    #[test]
    fn a_heads_time_begins_with_its_first_byte_and_ends_with_the_request() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let line = Line::new(start);
        let mut state = line.lock();
        state.heard(at(0));
        assert_eq!(state.head_by, None, "the parser sees to the first");
        state.begin();
        state.heard(at(1));
        assert_eq!(state.head_by, None, "that is its body");
        state.end(false, at(2));
        assert_eq!(state.head_by, Some(at(62)));
        state.heard(at(10));
        state.heard(at(14));
        assert_eq!(state.head_by, Some(at(15)));
        state.begin();
        state.begin();
        state.end(false, at(20));
        assert_eq!(state.head_by, None, "another one is being answered");
        state.end(false, at(21));
        state.heard(at(80));
        assert_eq!(state.head_by, Some(at(81)), "no later than without a byte");
    }
}
