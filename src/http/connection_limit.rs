//! Limits the number of connections. At the limit, decides which connection is closed and which
//! requests are still answered.
//!
//! A new connection above the limit closes an idle connection. Connections that never had a valid
//! credential are closed first. Among equal connections, the one that has been idle longest is
//! closed first. A connection is never closed while it answers an authenticated request. So
//! connections without a token cannot lock users out. While all connections are busy, requests that
//! stop or delete something are still answered.

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

/// Maximum number of open connections. A notebook page needs one, so this suffices for thousands of
/// clients.
const MAX_CONNECTIONS: usize = 4096;

/// Number of additional connections above the limit. On these, only reserved routes are answered
/// (`Route::is_reserved`).
const RESERVED: usize = 64;

/// How long the head of a request may take to arrive, from its first byte.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection may stay open without a request.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Counts the connections, and decides which one to close.
#[derive(Clone, Debug)]
pub(super) struct ConnectionLimit {
    connections: Arc<Mutex<OpenConnections>>,
    limit: usize,
}

#[derive(Debug, Default)]
struct OpenConnections {
    /// Open connections by number, in the order of arrival. A connection that is about to be closed
    /// is not in this map.
    open: BTreeMap<u64, ConnectionStatus>,
    last: u64,
}

/// The status of one connection, shared with the requests on it.
#[derive(Clone, Debug)]
pub(super) struct ConnectionStatus(Arc<StatusInner>);

#[derive(Debug)]
struct StatusInner {
    state: Mutex<RequestCounts>,
    /// Wakes the connection's task when the connection must close.
    waker: AtomicWaker,
}

#[derive(Debug)]
struct RequestCounts {
    /// Number of requests that are being answered. `admitted` counts those with a valid credential.
    requests: usize,
    admitted: usize,
    /// Whether any request on the connection had a valid credential.
    is_known: bool,
    /// When the connection last began to wait for a request.
    idle_since: Instant,
    /// Deadline for the head of the next request. actix itself sets the deadline for the first
    /// request.
    head_by: Option<Instant>,
    /// Whether a byte of the next request's head has arrived.
    has_begun: bool,
    has_to_go: bool,
}

impl ConnectionLimit {
    /// Allows connections to use at most a third of this process's file descriptors. The other
    /// descriptors are for kernel processes and files.
    pub(super) fn new() -> Self {
        let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
        let limit = usize::try_from(descriptors / 3).unwrap_or(usize::MAX).min(MAX_CONNECTIONS);
        Self { connections: Arc::default(), limit }
    }

    /// The maximum number of connections per thread. With this number, `workers` threads together
    /// can hold the permitted and the reserved connections.
    pub(super) fn of_each(&self, workers: usize) -> usize {
        (self.limit + RESERVED.min(self.limit / 2)).div_ceil(workers)
    }

    /// Registers a new connection. Closes an idle connection if there are too many connections.
    pub(super) fn admit(&self, stream: TcpStream) -> Connection {
        let (number, status) = self.enter(Instant::now());
        Connection { stream, status, number, limiter: self.clone(), timer: None }
    }

    fn enter(&self, now: Instant) -> (u64, ConnectionStatus) {
        let mut connections = self.lock();
        if connections.open.len() >= self.limit {
            // Among connections of equal rank, the oldest one is closed.
            let can_go =
                connections.open.iter().filter_map(|(number, status)| Some((status.lock().rank()?, *number)));
            if let Some(status) = can_go.min().and_then(|(_, number)| connections.open.remove(&number)) {
                status.lock().has_to_go = true;
                status.0.waker.wake();
            }
        }
        connections.last += 1;
        let (number, status) = (connections.last, ConnectionStatus::new(now));
        connections.open.insert(number, status.clone());
        (number, status)
    }

    /// The number of open connections.
    pub(super) fn count(&self) -> usize {
        self.lock().open.len()
    }

    /// Refuses a request when there are too many connections.
    ///
    /// # Errors
    /// 503.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.lock().open.len() <= self.limit {
            return Ok(());
        }
        let why = format!("there are more than {} connections", self.limit);
        let how =
            "close some connections; interrupting, resetting, deleting states and listing them still work";
        Err(Problem::new(Kind::Busy, "answer", why, how))
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        // Every change is a single statement on the map, so a panic leaves no half-done change.
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestCounts {
    /// The rank for eviction: the connection with the lowest rank is closed first. `None` if the
    /// connection must not be closed.
    fn rank(&self) -> Option<(bool, Instant)> {
        (self.admitted == 0).then_some((self.is_known, self.idle_since))
    }

    /// Records that bytes arrived. The first byte of a request's head starts the deadline
    /// `HEAD_TIMEOUT`.
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

impl ConnectionStatus {
    fn new(now: Instant) -> Self {
        let state = RequestCounts {
            requests: 0,
            admitted: 0,
            is_known: false,
            idle_since: now,
            head_by: None,
            has_begun: false,
            has_to_go: false,
        };
        Self(Arc::new(StatusInner { state: Mutex::new(state), waker: AtomicWaker::new() }))
    }

    /// Records that the head of a request has arrived. The request ends when the returned `Busy` is
    /// dropped.
    pub(super) fn begin(&self) -> Busy {
        self.lock().begin();
        Busy { status: self.clone(), is_admitted: false }
    }

    fn lock(&self) -> MutexGuard<'_, RequestCounts> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Busy {
    status: ConnectionStatus,
    is_admitted: bool,
}

impl Busy {
    /// Records that the request has a valid credential. Until the request ends, its connection is
    /// not closed to make room.
    pub(super) fn admit(&mut self) {
        if !self.is_admitted {
            self.is_admitted = true;
            self.status.lock().admit();
        }
    }

    /// Wraps the body of the answer. The request then counts as busy until the whole body has been
    /// sent.
    pub(super) fn body(self, body: BoxBody) -> BoxBody {
        BoxBody::new(BodyOfBusy { body, _busy: self })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.status.lock().end(self.is_admitted, Instant::now());
    }
}

struct BodyOfBusy {
    body: BoxBody,
    _busy: Busy,
}

impl MessageBody for BodyOfBusy {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }
}

/// A TCP connection. Its reads and writes fail when it must close to make room, or when a request's
/// head arrives too late.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    status: ConnectionStatus,
    number: u64,
    limiter: ConnectionLimit,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    /// The status of the connection, shared with its requests.
    pub(super) fn status(&self) -> &ConnectionStatus {
        &self.status
    }

    /// Returns an error if the connection must close.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        self.status.0.waker.register(cx.waker());
        let (has_to_go, head_by) = {
            let state = self.status.lock();
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
        self.limiter.lock().open.remove(&self.number);
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
            self.status.lock().heard(Instant::now());
        }
        self.check(cx)?;
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.status.lock().has_to_go {
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

    fn limiter(limit: usize) -> ConnectionLimit {
        ConnectionLimit { connections: Arc::default(), limit }
    }

    fn left(connections: &[(u64, ConnectionStatus)]) -> Vec<usize> {
        (0..connections.len()).filter(|n| !connections[*n].1.lock().has_to_go).collect()
    }

    #[test]
    fn strangers_make_room_before_those_who_have_shown_a_credential_and_the_oldest_first() {
        let (limiter, start) = (limiter(4), Instant::now());
        let come = |seconds| limiter.enter(start + Duration::from_secs(seconds));
        let mut connections: Vec<_> = (0..4).map(come).collect();
        let mut busy = connections[0].1.begin();
        busy.admit();
        drop(busy);
        connections.push(come(10));
        assert_eq!(left(&connections), [0, 2, 3, 4], "the first has shown one, the second came next");
        let _strange = connections[2].1.begin();
        connections.push(come(11));
        assert_eq!(left(&connections), [0, 3, 4, 5], "a request that may not pass holds no place");
        connections.push(come(12));
        connections.push(come(13));
        assert_eq!(left(&connections), [0, 5, 6, 7]);
        assert!(limiter.check().is_ok());
    }

    #[test]
    fn who_is_busy_stays_and_then_there_may_be_too_many() {
        let limiter = limiter(3);
        let connections: Vec<_> = (0..5)
            .map(|_| {
                let (number, status) = limiter.enter(Instant::now());
                let mut busy = status.begin();
                busy.admit();
                (number, status, busy)
            })
            .collect();
        assert!(connections.iter().all(|(_, status, _)| !status.lock().has_to_go));
        assert!(limiter.check().is_err());
    }

    #[test]
    fn a_heads_time_begins_with_its_first_byte_and_ends_with_the_request() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let status = ConnectionStatus::new(start);
        let mut state = status.lock();
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
