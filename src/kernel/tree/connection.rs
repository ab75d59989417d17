//! The connection to one process: one task writes orders to it, another reads its reports and
//! outputs.
//!
//! A head sends reports on its socket, prints through its text pipe, and its native code writes to
//! the pipes of descriptors 1 and 2 (pipes 1 and 2). The reading task merges all of them into the
//! order in which they happened: each text carries the number of reports before it, and each text
//! and report carries the number of bytes in pipes 1 and 2 before it. In each turn the task reads
//! pipes 1 and 2 first, then the socket, then the text pipe. So everything that was sent before a
//! byte of pipes 1 and 2 is read in the same turn. The first text is passed on immediately; later
//! text is collected for some milliseconds.

use super::events::Heard;
use super::text::{Decoder, whole};
use crate::kernel::protocol::{Envelope, MAX_FRAME_BYTES, ProcId, Report, Written};
use crate::kernel::text_pipe::{ReadCounts, TextReader, has_bytes, is_after, set_nonblocking};
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

/// How long text that follows other text may wait, so that a thousand prints are not a thousand
/// messages.
const COALESCE: Duration = Duration::from_millis(10);
/// Maximum number of bytes read from a pipe in one turn, so that a subprocess that floods its pipe
/// does not delay the reports on the socket.
const MAX_PIPE_READ: usize = 256 * 1024;
/// `take_text` stops after this many bytes of text. A text pipe holds less, so all text before a
/// report is taken. Without the limit, a cell that prints endlessly would keep it busy.
const MAX_TEXT_READ: usize = 2 * 1024 * 1024;
/// Maximum capacity, in bytes, that the buffers of a pipe and of the socket keep while they are
/// empty.
const MAX_PIPE_KEPT: usize = 64 * 1024;
const MAX_BUFFER_KEPT: usize = 1024 * 1024;

/// An encoded order with its descriptors.
#[derive(Debug)]
pub(super) struct OutgoingFrame {
    pub(super) bytes: Vec<u8>,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// The server's ends of a head's text pipe and of its pipes 1 and 2.
pub(super) struct HeadIo {
    text: TextReader,
    counts: ReadCounts,
    out: ReadEnd,
    err: ReadEnd,
}

struct ReadEnd {
    name: StreamName,
    end: OwnedFd,
    decoder: Decoder,
    /// Bytes read so far, modulo 2³².
    taken: u32,
    /// The bytes that were read but not passed on yet.
    pending: Vec<u8>,
    /// The value of `taken` after the first read of this turn. Bytes that are read later may have
    /// been written after text that this turn has not read yet.
    settled: u32,
}

impl HeadIo {
    pub(super) fn new(text: TextReader, counts: ReadCounts, out: OwnedFd, err: OwnedFd) -> io::Result<Self> {
        let (out, err) = (ReadEnd::new(StreamName::Stdout, out)?, ReadEnd::new(StreamName::Stderr, err)?);
        Ok(Self { text, counts, out, err })
    }

    /// Waits until a pipe has bytes. Watches pipes 1 and 2 only while a cell runs.
    ///
    /// The pipes are registered with tokio only during this wait. Otherwise each write of a flood
    /// would wake this thread.
    async fn readable(&self, is_running: bool) {
        if !is_running {
            return readable(self.text.pipe()).await;
        }
        tokio::select! {
            () = readable(self.text.pipe()) => (),
            () = readable(&self.out.end) => (),
            () = readable(&self.err.end) => (),
        }
    }

    /// Reads the pipes at the beginning of a turn.
    fn take(&mut self) {
        for pipe in [&mut self.out, &mut self.err] {
            pipe.take(&mut self.counts);
            pipe.settled = pipe.taken;
        }
    }

    /// Passes on the bytes of pipes 1 and 2 up to these counts.
    fn pass_up_to(&mut self, written: Written, into: &mut Vec<Output>) {
        self.out.pass_up_to(written.out, &mut self.counts, into);
        self.err.pass_up_to(written.err, &mut self.counts, into);
    }

    /// Passes on the bytes of pipes 1 and 2 up to `settled`. Returns whether others are left.
    fn pass_settled(&mut self, into: &mut Vec<Output>) -> bool {
        for pipe in [&mut self.out, &mut self.err] {
            pipe.pass_up_to(pipe.settled, &mut self.counts, into);
        }
        !self.out.pending.is_empty() || !self.err.pending.is_empty()
    }
}

impl ReadEnd {
    fn new(name: StreamName, end: OwnedFd) -> io::Result<Self> {
        set_nonblocking(&end)?;
        Ok(Self { name, end, decoder: Decoder::default(), taken: 0, pending: Vec::new(), settled: 0 })
    }

    /// Reads the bytes that are in the pipe, up to `MAX_PIPE_READ`. Returns whether there were any.
    fn take(&mut self, counts: &mut ReadCounts) -> bool {
        let mut bytes = [0; 16 * 1024];
        let mut count = 0;
        while count < MAX_PIPE_READ {
            if !has_bytes(&self.end) {
                break;
            }
            let got = counts.note(self.name, || {
                let got = nix::unistd::read(&self.end, &mut bytes).unwrap_or_default();
                (got, got)
            });
            if got == 0 {
                break;
            }
            count += got;
            self.taken = self.taken.wrapping_add(got as u32);
            self.pending.extend_from_slice(&bytes[..got]);
        }
        count > 0
    }

    fn pass_up_to(&mut self, written: u32, counts: &mut ReadCounts, into: &mut Vec<Output>) {
        while is_after(written, self.taken) && self.take(counts) {}
        let passed = self.taken.wrapping_sub(self.pending.len() as u32);
        if is_after(written, passed) {
            let count = self.pending.len().min(written.wrapping_sub(passed) as usize);
            push_text(into, self.name, self.decoder.decode(&self.pending[..count]));
            self.pending.drain(..count);
            if self.pending.is_empty() && self.pending.capacity() > MAX_PIPE_KEPT {
                self.pending = Vec::new();
            }
        }
    }
}

/// Waits until a pipe has bytes. Returns immediately if tokio cannot register the pipe.
async fn readable(pipe: &OwnedFd) {
    if let Ok(receiver) = pipe.try_clone().and_then(Receiver::from_owned_fd_unchecked) {
        let _ = receiver.readable().await;
    }
}

/// Starts both tasks. Returns the queue for orders; dropping it closes the socket.
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
        is_polling: false,
    };
    tokio::spawn(listener.listen());
    Ok(orders)
}

async fn write(socket: Arc<UnixStream>, mut queue: mpsc::UnboundedReceiver<OutgoingFrame>) {
    while let Some(order) = queue.recv().await {
        if send(&socket, order).await.is_err() {
            break;
        }
    }
    // The queue was dropped, or the process cannot be reached. The process sees its socket close
    // and exits.
    let _ = nix::sys::socket::shutdown(socket.as_raw_fd(), nix::sys::socket::Shutdown::Both);
}

async fn send(socket: &UnixStream, order: OutgoingFrame) -> io::Result<()> {
    let numbers: Vec<RawFd> = order.descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let mut sent = 0;
    while sent < order.bytes.len() {
        socket.writable().await?;
        let rights = [ControlMessage::ScmRights(&numbers)];
        let control: &[ControlMessage<'_>] = if sent == 0 && !numbers.is_empty() { &rights } else { &[] };
        let wrote = socket.try_io(Interest::WRITABLE, || {
            let slices = [IoSlice::new(&order.bytes[sent..])];
            let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
            Ok(sendmsg::<()>(socket.as_raw_fd(), &slices, control, flags, None)?)
        });
        match wrote {
            Ok(n) => sent += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            // Linux limits an unprivileged user's descriptors in flight. Retry when some have
            // arrived.
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
    /// Reports received so far, modulo 2³².
    heard: u32,
    /// Whether a cell runs. Pipes 1 and 2 are read only then: bytes that arrive between cells stay
    /// there until the next cell.
    is_running: bool,
    /// Whether the pipes are read at each tick instead of being watched.
    is_polling: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Woken {
    Socket,
    ReadEnd,
    Tick,
}

#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Something,
    Nothing,
    /// The process has ended, or the session has closed.
    End,
}

impl Listener {
    async fn listen(mut self) {
        let mut tick = interval(COALESCE);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let woken = self.wait(&mut tick).await;
            if woken == Woken::ReadEnd {
                self.start_polling(&mut tick);
            }
            let progress = self.turn(&mut tick).await;
            if progress == Progress::Nothing && woken == Woken::Tick {
                self.is_polling = false;
            }
            if progress == Progress::End {
                break;
            }
        }
        let mut last = Vec::new();
        self.take_pipes();
        self.take_text(self.heard.wrapping_add(u32::MAX / 4), &mut last);
        if let Some(head_io) = self.head_io.as_mut().filter(|_| self.is_running) {
            head_io.take();
            head_io.pass_settled(&mut last);
        }
        self.finish_text(&mut last);
        self.pass_on(last).await;
        // Fails only when the session has closed.
        let _ = self.inbox.send((self.id, Heard::Closed)).await;
    }

    async fn wait(&mut self, tick: &mut Interval) -> Woken {
        let pipes = async {
            match &self.head_io {
                Some(head_io) if !self.is_polling => head_io.readable(self.is_running).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.socket.readable() => Woken::Socket,
            () = pipes => Woken::ReadEnd,
            _ = tick.tick(), if self.is_polling => Woken::Tick,
        }
    }

    /// Reads the pipes and the socket, and passes everything on in order.
    async fn turn(&mut self, tick: &mut Interval) -> Progress {
        self.take_pipes();
        let mut progress = Progress::Nothing;
        loop {
            let is_more = self.read_socket();
            if !self.hear_frames().await || is_more.is_err() {
                return Progress::End;
            }
            if is_more == Ok(false) {
                break;
            }
            progress = Progress::Something;
        }
        let mut rest = Vec::new();
        self.take_text(self.heard, &mut rest);
        let head_io = self.head_io.as_mut().filter(|_| self.is_running);
        if head_io.is_some_and(|head_io| head_io.pass_settled(&mut rest)) {
            self.start_polling(tick);
        }
        if !rest.is_empty() {
            progress = Progress::Something;
        }
        if self.pass_on(rest).await { progress } else { Progress::End }
    }

    /// Reads from the socket. Returns whether there were bytes, or an error if the socket is
    /// closed.
    fn read_socket(&mut self) -> Result<bool, ()> {
        let start = self.buffer.len();
        self.buffer.resize(start + 128 * 1024, 0);
        let into = &mut self.buffer[start..];
        let read = recv(self.socket.as_raw_fd(), into, MsgFlags::MSG_DONTWAIT).map_err(io::Error::from);
        // Only `try_read` clears tokio's readiness.
        let read = read.or_else(|_| self.socket.try_read(into));
        self.buffer.truncate(start + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(()),
            Ok(_) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(_) => Err(()),
        }
    }

    /// Handles the complete frames. Returns false if a frame is malformed or the session has
    /// closed.
    async fn hear_frames(&mut self) -> bool {
        let mut at = 0;
        while let Some(body) = next_frame(&self.buffer[at..]) {
            let Ok(length) = body else { return false };
            let parsed = serde_json::from_slice::<Envelope<Report>>(&self.buffer[at + 4..at + 4 + length]);
            at += 4 + length;
            // Only a report that user code made can be unreadable.
            let envelope = parsed.unwrap_or_else(|error| unreadable(&error));
            if !self.hear(envelope).await {
                return false;
            }
        }
        self.buffer.drain(..at);
        // Frozen processes keep no buffer: there may be thousands, and they report little.
        let room = if self.head_io.is_none() { 0 } else { MAX_BUFFER_KEPT };
        if self.buffer.is_empty() && self.buffer.capacity() > room {
            self.buffer = Vec::new();
        }
        true
    }

    async fn hear(&mut self, envelope: Envelope<Report>) -> bool {
        let mut before = Vec::new();
        self.take_text(self.heard, &mut before);
        self.heard = self.heard.wrapping_add(1);
        if let Some(head_io) = self.head_io.as_mut().filter(|_| self.is_running) {
            head_io.pass_up_to(envelope.written, &mut before);
        }
        match &envelope.report {
            Report::Started => self.is_running = true,
            Report::Ended { .. } => {
                self.is_running = false;
                self.finish_text(&mut before);
            }
            _ => {}
        }
        self.pass_on(before).await && self.inbox.send((self.id, Heard::Report(envelope.report))).await.is_ok()
    }

    fn start_polling(&mut self, tick: &mut Interval) {
        if !self.is_polling {
            self.is_polling = true;
            tick.reset();
        }
    }

    fn take_pipes(&mut self) {
        if let Some(head_io) = self.head_io.as_mut().filter(|_| self.is_running) {
            head_io.take();
        }
    }

    /// Takes the text that was printed before report `reports + 1`, and the bytes of pipes 1 and 2
    /// that come before it.
    fn take_text(&mut self, reports: u32, into: &mut Vec<Output>) {
        let Some(head_io) = &mut self.head_io else { return };
        let mut bytes = 0;
        while bytes < MAX_TEXT_READ
            && let Some(text) = head_io.text.next(reports)
        {
            bytes += text.bytes.len();
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

/// The length of the next frame's body. None if the frame is incomplete; an error if the body is
/// longer than `MAX_FRAME_BYTES`.
fn next_frame(bytes: &[u8]) -> Option<Result<usize, ()>> {
    let head = bytes.get(..4)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    if length > MAX_FRAME_BYTES {
        return Some(Err(()));
    }
    (bytes.len() >= 4 + length).then_some(Ok(length))
}
