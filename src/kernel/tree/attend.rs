//! Attending one process: a task that writes its orders, and a task that hears it.
//!
//! Hearing a head means four things at once: reports on the socket, text in the ring, bytes on the pipes of descriptors 1
//! and 2. They are put in the order in which they happened: text in the ring says whether bytes in the pipes came before
//! it, and so does every report. The first text is passed on at once; while more comes, every few milliseconds.

use super::Heard;
use super::text::{Decoder, whole};
use crate::kernel::protocol::{Envelope, MAX_FRAME_BYTES, ProcId, Report};
use crate::kernel::ring::Ring;
use crate::notebook::{Output, StreamName};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How long text that follows other text may wait, so that a thousand prints are not a thousand messages.
const COALESCE: Duration = Duration::from_millis(10);
/// How much of a pipe is read in one go, in bytes; a subprocess that floods must not keep us from hearing the rest.
const MAX_PIPE_READ: usize = 4 * 1024 * 1024;

/// An order ready to be sent, with its descriptors.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) bytes: Vec<u8>,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// What a head is heard by, beside its socket.
pub(super) struct Ears {
    ring: Ring,
    out: Pipe,
    err: Pipe,
}

struct Pipe {
    name: StreamName,
    end: Receiver,
    decoder: Decoder,
}

impl Ears {
    /// Ears for a head that is about to be made.
    pub(super) fn new(ring: Ring, out: OwnedFd, err: OwnedFd) -> io::Result<Self> {
        Ok(Self { ring, out: Pipe::new(StreamName::Stdout, out)?, err: Pipe::new(StreamName::Stderr, err)? })
    }
}

impl Pipe {
    fn new(name: StreamName, end: OwnedFd) -> io::Result<Self> {
        Ok(Self { name, end: Receiver::from_owned_fd(end)?, decoder: Decoder::default() })
    }

    /// Takes out what is there.
    fn drain(&mut self, into: &mut Vec<Output>) {
        let mut bytes = vec![0; 64 * 1024];
        let mut taken = 0;
        while taken < MAX_PIPE_READ {
            match self.end.try_read(&mut bytes) {
                Ok(n) if n > 0 => {
                    taken += n;
                    push_text(into, self.name, self.decoder.decode(&bytes[..n]));
                }
                _ => return,
            }
        }
    }

    async fn readable(&self) {
        if self.end.readable().await.is_err() {
            std::future::pending().await
        }
    }
}

/// Starts attending; the queue takes orders until it is dropped.
pub(super) fn spawn(
    id: ProcId,
    socket: OwnedFd,
    ears: Option<Ears>,
    inbox: mpsc::Sender<(ProcId, Heard)>,
) -> io::Result<mpsc::UnboundedSender<Parcel>> {
    set_nonblocking(&socket)?;
    let socket = Arc::new(UnixStream::from_std(socket.into())?);
    let (orders, queue) = mpsc::unbounded_channel();
    tokio::spawn(write(socket.clone(), queue));
    let listener =
        Listener { id, socket, ears, inbox, buffer: Vec::new(), is_running: false, is_looking: false };
    tokio::spawn(listener.listen());
    Ok(orders)
}

async fn write(socket: Arc<UnixStream>, mut queue: mpsc::UnboundedReceiver<Parcel>) {
    while let Some(parcel) = queue.recv().await {
        if send(&socket, parcel).await.is_err() {
            return;
        }
    }
    // The tree has let the process go: it sees the end of its socket and leaves.
    let _ = nix::sys::socket::shutdown(socket.as_raw_fd(), nix::sys::socket::Shutdown::Both);
}

async fn send(socket: &UnixStream, parcel: Parcel) -> io::Result<()> {
    let numbers: Vec<RawFd> = parcel.descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let mut sent = 0;
    while sent < parcel.bytes.len() {
        socket.writable().await?;
        let rights = [ControlMessage::ScmRights(&numbers)];
        let control: &[ControlMessage<'_>] = if sent == 0 && !numbers.is_empty() { &rights } else { &[] };
        let wrote = socket.try_io(Interest::WRITABLE, || {
            let slices = [IoSlice::new(&parcel.bytes[sent..])];
            let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
            Ok(sendmsg::<()>(socket.as_raw_fd(), &slices, control, flags, None)?)
        });
        match wrote {
            Ok(n) => sent += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

struct Listener {
    id: ProcId,
    socket: Arc<UnixStream>,
    ears: Option<Ears>,
    inbox: mpsc::Sender<(ProcId, Heard)>,
    buffer: Vec<u8>,
    /// A cell runs: what comes out of the pipes is its output. Between cells it waits there for the next.
    is_running: bool,
    /// The ring and the pipes are looked at every few milliseconds.
    is_looking: bool,
}

enum Woken {
    Socket,
    Pipe,
    Tick,
}

impl Listener {
    async fn listen(mut self) {
        let mut tick = interval(COALESCE);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let woken = self.wait(&mut tick).await;
            let going_on = match woken {
                Woken::Socket => self.hear_socket(&mut tick).await,
                Woken::Pipe => self.look(&mut tick).await,
                Woken::Tick => self.look_again().await,
            };
            if !going_on {
                break;
            }
        }
        let last = self.collect();
        self.pass_on(last).await;
        // The session has gone: then there is nobody to tell.
        let _ = self.inbox.send((self.id, Heard::Closed)).await;
    }

    async fn wait(&mut self, tick: &mut Interval) -> Woken {
        let pipes = async {
            match &mut self.ears {
                Some(Ears { out, err, .. }) if self.is_running && !self.is_looking => {
                    tokio::select! { () = out.readable() => (), () = err.readable() => () }
                }
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.socket.readable() => Woken::Socket,
            () = pipes => Woken::Pipe,
            _ = tick.tick(), if self.is_looking => Woken::Tick,
        }
    }

    /// Reads what is there and passes it on; false at the end of the process.
    async fn hear_socket(&mut self, tick: &mut Interval) -> bool {
        let start = self.buffer.len();
        self.buffer.resize(start + 128 * 1024, 0);
        let read = self.socket.try_read(&mut self.buffer[start..]);
        self.buffer.truncate(start + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => return false,
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return true,
            Err(_) => return false,
        }
        let mut at = 0;
        while let Some(body) = next_frame(&self.buffer[at..]) {
            let Ok(length) = body else { return false };
            let parsed = serde_json::from_slice::<Envelope<Report>>(&self.buffer[at + 4..at + 4 + length]);
            at += 4 + length;
            // Only what user code has made of its outputs can be unreadable; the words of our own end are.
            let envelope = parsed.unwrap_or_else(|error| unreadable(&error));
            if !self.hear(envelope, tick).await {
                return false;
            }
        }
        self.buffer.drain(..at);
        if self.buffer.is_empty() && self.ears.is_none() {
            // A frozen process says little, and there may be thousands.
            self.buffer = Vec::new();
        }
        true
    }

    async fn hear(&mut self, envelope: Envelope<Report>, tick: &mut Interval) -> bool {
        let mut before = Vec::new();
        self.drain_ring(&mut before);
        if envelope.native || matches!(envelope.report, Report::Ended { .. }) {
            self.drain_pipes(&mut before);
        }
        match &envelope.report {
            Report::Started => self.is_running = true,
            Report::Doorbell => {
                self.look_from_now_on(tick);
                return self.pass_on(before).await;
            }
            Report::Ended { .. } => {
                self.is_running = false;
                self.finish_text(&mut before);
            }
            _ => {}
        }
        self.pass_on(before).await && self.inbox.send((self.id, Heard::Report(envelope.report))).await.is_ok()
    }

    /// Bytes have come out of a pipe.
    async fn look(&mut self, tick: &mut Interval) -> bool {
        self.look_from_now_on(tick);
        if let Some(ears) = &self.ears {
            ears.ring.arm();
        }
        let found = self.collect();
        self.pass_on(found).await
    }

    fn look_from_now_on(&mut self, tick: &mut Interval) {
        if !self.is_looking {
            self.is_looking = true;
            tick.reset();
        }
    }

    /// Looks whether more text has come; stops looking when there was none.
    async fn look_again(&mut self) -> bool {
        let mut found = self.collect();
        if found.is_empty() {
            if let Some(ears) = &self.ears {
                ears.ring.disarm();
            }
            // What came in between did not ring.
            self.drain_ring(&mut found);
            if found.is_empty() {
                self.is_looking = false;
                return true;
            }
            if let Some(ears) = &self.ears {
                ears.ring.arm();
            }
        }
        self.pass_on(found).await
    }

    fn collect(&mut self) -> Vec<Output> {
        let mut found = Vec::new();
        self.drain_ring(&mut found);
        if self.is_running {
            self.drain_pipes(&mut found);
        }
        found
    }

    fn drain_ring(&mut self, into: &mut Vec<Output>) {
        let Some(ears) = &self.ears else { return };
        for text in ears.ring.drain() {
            if text.native {
                self.drain_pipes(into);
            }
            push_text(into, text.name, whole(text.bytes));
        }
    }

    fn drain_pipes(&mut self, into: &mut Vec<Output>) {
        if let Some(ears) = &mut self.ears {
            ears.out.drain(into);
            ears.err.drain(into);
        }
    }

    fn finish_text(&mut self, into: &mut Vec<Output>) {
        if let Some(ears) = &mut self.ears {
            push_text(into, StreamName::Stdout, ears.out.decoder.finish());
            push_text(into, StreamName::Stderr, ears.err.decoder.finish());
        }
    }

    async fn pass_on(&mut self, outputs: Vec<Output>) -> bool {
        for output in outputs {
            if self.inbox.send((self.id, Heard::Report(Report::Output(output)))).await.is_err() {
                return false;
            }
        }
        true
    }
}

fn push_text(into: &mut Vec<Output>, name: StreamName, text: String) {
    if text.is_empty() {
        return;
    }
    if let Some(Output::Stream { name: last, text: kept }) = into.last_mut()
        && *last == name
    {
        kept.push_str(&text);
    } else {
        into.push(Output::Stream { name, text });
    }
}

fn unreadable(error: &serde_json::Error) -> Envelope<Report> {
    let text = format!("[ratoon: an output could not be read: {error}]\n");
    Envelope { report: Report::Output(Output::stream(StreamName::Stderr, text)), native: false }
}

/// The length of the next frame's body, when all of it is there; an error when it is longer than any of ours.
fn next_frame(bytes: &[u8]) -> Option<Result<usize, ()>> {
    let head = bytes.get(..4)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    if length > MAX_FRAME_BYTES {
        return Some(Err(()));
    }
    (bytes.len() >= 4 + length).then_some(Ok(length))
}

fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    let flags = OFlag::from_bits_truncate(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}
