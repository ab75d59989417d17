//! This process' socket: receives orders and sends frames.
//!
//! Each process has its own socket. A child that user code forks closes its copy immediately, so
//! the server sees the socket close when this process ends.

use crate::kernel::protocol::{MAX_DELIVERIES, MAX_FRAME_BYTES, Order, SOCKET_LOST};
use nix::errno::Errno;
use nix::poll::PollTimeout;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, send};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

static SOCKET: Mutex<Option<OwnedFd>> = Mutex::new(None);
/// How many frames this process has sent on its socket.
static SENT: AtomicU32 = AtomicU32::new(0);

/// Maximum number of descriptors that one order carries: a head's socket and six for its outputs,
/// or the pipes of other states' variables.
const MAX_DESCRIPTORS: usize = if MAX_DELIVERIES > 7 { MAX_DELIVERIES } else { 7 };

/// Replaces the process' socket and closes the previous one.
pub(super) fn adopt(socket: OwnedFd) {
    SENT.store(0, Ordering::Relaxed);
    *lock() = Some(socket);
}

/// Closes the socket. Later reports are discarded.
pub(super) fn close() {
    *lock() = None;
}

/// Whether this process has a socket.
pub(super) fn is_held() -> bool {
    lock().is_some()
}

/// How many frames this process has sent on its socket. Text printed now comes after them.
pub(super) fn sent() -> u32 {
    SENT.load(Ordering::Relaxed)
}

/// The descriptor number of the socket.
pub(super) fn number() -> Option<RawFd> {
    lock().as_ref().map(AsRawFd::as_raw_fd)
}

/// Sends a frame. Ends this process if the server is gone or cannot be reached.
pub(super) fn send_frame(bytes: &[u8]) {
    let Some(socket) = number() else { return };
    let mut left = bytes;
    while !left.is_empty() {
        match send(socket, left, MsgFlags::MSG_NOSIGNAL) {
            Ok(n) => left = &left[n..],
            // Retry. The frame is sent whole before Python runs the signal's handler.
            Err(Errno::EINTR) => {}
            Err(Errno::EPIPE | Errno::ECONNRESET) => super::process_exit::leave(),
            // User code has closed the socket.
            Err(_) => super::process_exit::wait_to_be_killed(),
        }
    }
    SENT.fetch_add(1, Ordering::Relaxed);
}

/// Whether an order, or the end of the socket, has arrived.
pub(super) fn order_is_waiting() -> bool {
    order_comes_within(PollTimeout::ZERO)
}

/// Whether an order, or the end of the socket, arrives within this time.
pub(super) fn order_comes_within(time: PollTimeout) -> bool {
    use nix::poll::{PollFd, PollFlags, poll};
    use std::os::fd::AsFd;
    let guard = lock();
    let Some(socket) = guard.as_ref() else { return true };
    poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], time).is_ok_and(|n| n > 0)
}

/// Waits for the next order. None if the server has closed the socket.
///
/// `interrupted` is called after each signal that arrives before the order. Its error ends the
/// waiting.
pub(super) fn receive<E>(
    mut interrupted: impl FnMut() -> Result<(), E>,
) -> Result<Option<(Order, Vec<OwnedFd>)>, E> {
    let Some(socket) = number() else { return Ok(None) };
    let mut head = [0; 4];
    let mut descriptors = Vec::new();
    let mut got = 0;
    while got < head.len() {
        match receive_some(socket, &mut head[got..], &mut descriptors) {
            Ok(0) => return Ok(None),
            Ok(n) => got += n,
            Err(Errno::EINTR) => interrupted()?,
            Err(_) => return Ok(None),
        }
    }
    let length = u32::from_le_bytes(head) as usize;
    if length > MAX_FRAME_BYTES {
        return Ok(None);
    }
    let mut body = vec![0; length];
    let mut got = 0;
    while got < length {
        match receive_some(socket, &mut body[got..], &mut descriptors) {
            Ok(0) => return Ok(None),
            Ok(n) => got += n,
            Err(Errno::EINTR) => {}
            Err(_) => return Ok(None),
        }
    }
    Ok(serde_json::from_slice(&body).ok().map(|order| (order, descriptors)))
}

fn receive_some(socket: RawFd, into: &mut [u8], descriptors: &mut Vec<OwnedFd>) -> Result<usize, Errno> {
    let mut space = nix::cmsg_space!([RawFd; MAX_DESCRIPTORS]);
    let mut slices = [IoSliceMut::new(into)];
    let message = recvmsg::<()>(socket, &mut slices, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
    // If user code has used up the descriptors, fewer arrive than were sent. `roles` checks their
    // number.
    for control in message.cmsgs().into_iter().flatten() {
        if let ControlMessageOwned::ScmRights(numbers) = control {
            // SAFETY: Linux has just made these descriptors for this process; nobody else owns
            // them.
            #[allow(unsafe_code)]
            descriptors.extend(numbers.into_iter().map(|n| unsafe { OwnedFd::from_raw_fd(n) }));
        }
    }
    Ok(message.bytes)
}

/// Moves the socket, which the server passes with this number, to a high number that user code does
/// not use.
pub(super) fn take_socket(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: it is used only for the next call, which fails if no descriptor has the number.
    #[allow(unsafe_code)]
    let passed = unsafe { BorrowedFd::borrow_raw(number) };
    let socket = super::descriptors::raise(passed).map_err(|_| io::Error::other(SOCKET_LOST))?;
    nix::unistd::close(number)?;
    Ok(socket)
}

fn lock() -> std::sync::MutexGuard<'static, Option<OwnedFd>> {
    SOCKET.lock().unwrap_or_else(PoisonError::into_inner)
}
