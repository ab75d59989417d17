//! Attending one process: a task that writes its orders, and a task that hears it.
//!
//! Hearing a head means four things at once: reports on the socket, text in the ring, bytes on the pipes of descriptors 1
//! and 2. They are put in the order in which they happened: text says how many reports came before it, and both say how
//! many bytes. What stood before a byte of a pipe was said before it, so it is taken after it: the pipes are read first, then
//! the socket, then the ring. The first text is passed on at once; while more comes, every few milliseconds.

use super::Heard;
use super::text::{Decoder, whole};
use crate::kernel::protocol::{Envelope, MAX_FRAME_BYTES, ProcId, Report, Written};
use crate::kernel::ring::{Ring, is_after};
use crate::notebook::{Output, StreamName};
use nix::sys::socket::{ControlMessage, MsgFlags, recv, sendmsg};
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
const MAX_PIPE_READ: usize = 256 * 1024;

/// Room for bytes of a pipe, and of the socket, that is not given back.
const MAX_PIPE_KEPT: usize = 64 * 1024;
const MAX_BUFFER_KEPT: usize = 1024 * 1024;

/// An order ready to be sent, with its descriptors.
#[derive(Debug)]
pub(super) struct OutgoingFrame {
    pub(super) bytes: Vec<u8>,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// What a head is heard by, beside its socket.
pub(super) struct HeadIo {
    ring: Ring,
    out: Pipe,
    err: Pipe,
}

struct Pipe {
    name: StreamName,
    end: Receiver,
    decoder: Decoder,
    /// How many bytes were taken out; the count goes round at 2³².
    taken: u32,
    /// The last of them, which have not been passed on.
    kept: Vec<u8>,
    /// How many had been taken when this turn began. What came later may stand behind text that is not seen yet.
    settled: u32,
}

impl HeadIo {
    /// Those of a head that is about to be made.
    pub(super) fn new(ring: Ring, out: OwnedFd, err: OwnedFd) -> io::Result<Self> {
        Ok(Self { ring, out: Pipe::new(StreamName::Stdout, out)?, err: Pipe::new(StreamName::Stderr, err)? })
    }

    /// Takes out what is in the pipes, as a turn begins.
    fn take(&mut self) {
        for pipe in [&mut self.out, &mut self.err] {
            pipe.take(&self.ring);
            pipe.settled = pipe.taken;
        }
    }

    /// What came out of the pipes up to there.
    fn pass_up_to(&mut self, written: Written, into: &mut Vec<Output>) {
        self.out.pass_up_to(written.out, &self.ring, into);
        self.err.pass_up_to(written.err, &self.ring, into);
    }

    /// What came out of the pipes before this turn; whether something came since.
    fn pass_settled(&mut self, into: &mut Vec<Output>) -> bool {
        for pipe in [&mut self.out, &mut self.err] {
            pipe.pass_up_to(pipe.settled, &self.ring, into);
        }
        !self.out.kept.is_empty() || !self.err.kept.is_empty()
    }
}

impl Pipe {
    fn new(name: StreamName, end: OwnedFd) -> io::Result<Self> {
        let end = Receiver::from_owned_fd(end)?;
        Ok(Self { name, end, decoder: Decoder::default(), taken: 0, kept: Vec::new(), settled: 0 })
    }

    /// Takes out what is there; whether there was something.
    fn take(&mut self, ring: &Ring) -> bool {
        let mut bytes = [0; 16 * 1024];
        let mut count = 0;
        while count < MAX_PIPE_READ {
            let got = ring.taking(self.name, || {
                let got = self.read(&mut bytes);
                (got, got)
            });
            if got == 0 {
                break;
            }
            count += got;
            self.taken = self.taken.wrapping_add(got as u32);
            self.kept.extend_from_slice(&bytes[..got]);
        }
        count > 0
    }

    fn read(&self, bytes: &mut [u8]) -> usize {
        // What tokio knows may be old, so the pipe is asked first; then tokio is told that there is no more.
        let read = nix::unistd::read(&self.end, bytes);
        read.or_else(|_| self.end.try_read(bytes)).unwrap_or_default()
    }

    fn pass_up_to(&mut self, written: u32, ring: &Ring, into: &mut Vec<Output>) {
        while is_after(written, self.taken) && self.take(ring) {}
        let passed = self.taken.wrapping_sub(self.kept.len() as u32);
        if is_after(written, passed) {
            let count = self.kept.len().min(written.wrapping_sub(passed) as usize);
            push_text(into, self.name, self.decoder.decode(&self.kept[..count]));
            self.kept.drain(..count);
            if self.kept.is_empty() && self.kept.capacity() > MAX_PIPE_KEPT {
                self.kept = Vec::new();
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
    head_io: Option<HeadIo>,
    inbox: mpsc::Sender<(ProcId, Heard)>,
) -> io::Result<mpsc::UnboundedSender<OutgoingFrame>> {
    set_nonblocking(&socket)?;
    let socket = Arc::new(UnixStream::from_std(socket.into())?);
    let (orders, queue) = mpsc::unbounded_channel();
    tokio::spawn(write(socket.clone(), queue));
    let listener = Listener {
        id,
        socket,
        head_io,
        inbox,
        buffer: Vec::new(),
        heard: 0,
        is_running: false,
        is_looking: false,
    };
    tokio::spawn(listener.listen());
    Ok(orders)
}

async fn write(socket: Arc<UnixStream>, mut queue: mpsc::UnboundedReceiver<OutgoingFrame>) {
    while let Some(parcel) = queue.recv().await {
        if send(&socket, parcel).await.is_err() {
            break;
        }
    }
    // The tree has let the process go, or it cannot be told any more what to do: it sees the end of its socket and leaves.
    let _ = nix::sys::socket::shutdown(socket.as_raw_fd(), nix::sys::socket::Shutdown::Both);
}

async fn send(socket: &UnixStream, parcel: OutgoingFrame) -> io::Result<()> {
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
            // An ordinary user's descriptors that are under way are limited: others must arrive first.
            Err(e) if e.raw_os_error() == Some(libc::ETOOMANYREFS) => tokio::time::sleep(COALESCE).await,
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

struct Listener {
    id: ProcId,
    socket: Arc<UnixStream>,
    head_io: Option<HeadIo>,
    inbox: mpsc::Sender<(ProcId, Heard)>,
    buffer: Vec<u8>,
    /// How many reports were heard; the count goes round at 2³².
    heard: u32,
    /// A cell runs: what comes out of the pipes is its output. Between cells it waits there for the next.
    is_running: bool,
    /// The ring and the pipes are looked at every few milliseconds.
    is_looking: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Woken {
    Socket,
    Pipe,
    Tick,
}

/// What a turn has brought.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Something,
    Nothing,
    /// The end of the process, or of the session.
    End,
}

impl Listener {
    async fn listen(mut self) {
        let mut tick = interval(COALESCE);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let woken = self.wait(&mut tick).await;
            if woken == Woken::Pipe {
                self.look_from_now_on(&mut tick);
            }
            let mut found = self.turn(&mut tick).await;
            if found == Progress::Nothing && woken == Woken::Tick {
                self.arm(false);
                // What came in between did not ring.
                self.is_looking = false;
                found = self.turn(&mut tick).await;
                if found == Progress::Something {
                    self.look_from_now_on(&mut tick);
                }
            }
            if found == Progress::End {
                break;
            }
        }
        let mut last = Vec::new();
        self.take();
        self.drain_ring(self.heard.wrapping_add(u32::MAX / 4), &mut last);
        if let Some(head_io) = self.head_io.as_mut().filter(|_| self.is_running) {
            head_io.take();
            head_io.pass_settled(&mut last);
        }
        self.finish_text(&mut last);
        self.pass_on(last).await;
        // The session has gone: then there is nobody to tell.
        let _ = self.inbox.send((self.id, Heard::Closed)).await;
    }

    async fn wait(&mut self, tick: &mut Interval) -> Woken {
        let pipes = async {
            match &mut self.head_io {
                Some(HeadIo { out, err, .. }) if self.is_running && !self.is_looking => {
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

    /// Takes what there is and passes it on in its order.
    async fn turn(&mut self, tick: &mut Interval) -> Progress {
        self.take();
        let mut found = Progress::Nothing;
        loop {
            let is_more = self.read_socket();
            if !self.hear_frames(tick).await || is_more.is_err() {
                return Progress::End;
            }
            if is_more == Ok(false) {
                break;
            }
            found = Progress::Something;
        }
        let mut rest = Vec::new();
        self.drain_ring(self.heard, &mut rest);
        let head_io = self.head_io.as_mut().filter(|_| self.is_running);
        if head_io.is_some_and(|head_io| head_io.pass_settled(&mut rest)) {
            self.look_from_now_on(tick);
        }
        if !rest.is_empty() {
            found = Progress::Something;
        }
        if self.pass_on(rest).await { found } else { Progress::End }
    }

    /// Reads some of what is on the socket; whether there was something. An error at its end.
    fn read_socket(&mut self) -> Result<bool, ()> {
        let start = self.buffer.len();
        self.buffer.resize(start + 128 * 1024, 0);
        let into = &mut self.buffer[start..];
        let read = recv(self.socket.as_raw_fd(), into, MsgFlags::MSG_DONTWAIT).map_err(io::Error::from);
        // As with the pipes: tokio is told only when there is no more.
        let read = read.or_else(|_| self.socket.try_read(into));
        self.buffer.truncate(start + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(()),
            Ok(_) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(_) => Err(()),
        }
    }

    /// Hears what has been read; false when it makes no sense or nobody wants to know.
    async fn hear_frames(&mut self, tick: &mut Interval) -> bool {
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
        // A frozen process says little, and there may be thousands.
        let room = if self.head_io.is_none() { 0 } else { MAX_BUFFER_KEPT };
        if self.buffer.is_empty() && self.buffer.capacity() > room {
            self.buffer = Vec::new();
        }
        true
    }

    async fn hear(&mut self, envelope: Envelope<Report>, tick: &mut Interval) -> bool {
        let mut before = Vec::new();
        self.drain_ring(self.heard, &mut before);
        self.heard = self.heard.wrapping_add(1);
        if let Some(head_io) = self.head_io.as_mut().filter(|_| self.is_running) {
            head_io.pass_up_to(envelope.written, &mut before);
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

    fn look_from_now_on(&mut self, tick: &mut Interval) {
        if !self.is_looking {
            self.is_looking = true;
            tick.reset();
        }
        self.arm(true);
    }

    /// Whether the ring is looked at anyway, so that text in it need not ring.
    fn arm(&self, is_looked_at: bool) {
        match &self.head_io {
            Some(head_io) if is_looked_at => head_io.ring.arm(),
            Some(head_io) => head_io.ring.disarm(),
            None => {}
        }
    }

    fn take(&mut self) {
        if let Some(head_io) = self.head_io.as_mut().filter(|_| self.is_running) {
            head_io.take();
        }
    }

    /// The text that stands before or right behind so many reports, with what was in the pipes before it.
    fn drain_ring(&mut self, reports: u32, into: &mut Vec<Output>) {
        let Some(head_io) = &mut self.head_io else { return };
        for text in head_io.ring.drain(reports) {
            if self.is_running {
                head_io.pass_up_to(text.stamp.written, into);
            }
            push_text(into, text.name, whole(text.bytes));
        }
    }

    fn finish_text(&mut self, into: &mut Vec<Output>) {
        if let Some(head_io) = &mut self.head_io {
            push_text(into, StreamName::Stdout, head_io.out.decoder.finish());
            push_text(into, StreamName::Stderr, head_io.err.decoder.finish());
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
    Envelope { report: Report::Output(Output::stream(StreamName::Stderr, text)), written: Written::default() }
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
