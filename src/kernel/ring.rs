//! Shared memory that carries printed text from a head to the server without a system call per `print`.
//!
//! The head appends records; the server takes them out when the doorbell rings and then every few milliseconds until
//! nothing more comes. So the first text is on the wire at once, a flood costs next to nothing per line, and a cell that
//! prints and then sleeps leaves nothing unseen. One writer, one reader, no lock. The reader trusts nothing it finds:
//! user code can write here too.

#![allow(unsafe_code)]

use super::protocol::Written;
use crate::notebook::StreamName;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Bytes of text that may wait. Ten milliseconds of output at 25 MB/s.
const CAPACITY: usize = 256 * 1024;
const HEADER_BYTES: usize = 64;
const MAP_BYTES: usize = HEADER_BYTES + CAPACITY;
/// Length, reports, bytes out, bytes err (each u32) and the stream (u8).
const RECORD_HEAD_BYTES: usize = 17;
const STDERR: u8 = 1;
/// How often the writer looks again while the reader is just taking bytes out of a pipe.
const MAX_POLLS: usize = 10_000;

#[repr(C)]
struct Header {
    written: AtomicU64,
    read: AtomicU64,
    armed: AtomicU32,
    /// Odd while the reader takes bytes out of a pipe.
    taking: AtomicU32,
    /// How many bytes the reader has taken out of the pipes of descriptors 1 and 2.
    taken_out: AtomicU32,
    taken_err: AtomicU32,
}

/// Where a text stands among everything else that its process says. Counts go round at 2³².
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// How many reports were sent before it.
    pub(crate) reports: u32,
    /// What was in the pipes before it.
    pub(crate) written: Written,
}

/// A piece of printed text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// The stream it was written to.
    pub(crate) name: StreamName,
    /// Where it stands.
    pub(crate) stamp: Stamp,
    /// The text; UTF-8 if the writer is honest.
    pub(crate) bytes: Vec<u8>,
}

/// What became of a text that was pushed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// The server will see it by itself.
    Quietly,
    /// The server is not looking: ring the doorbell.
    RingDoorbell,
    /// There is no room: send it another way.
    NoRoom,
}

/// One end's mapping of a ring.
#[derive(Debug)]
pub(crate) struct Ring {
    map: NonNull<u8>,
}

// SAFETY: the mapping is shared memory that is only touched through atomics and bounded copies; nothing in it belongs to
// a thread.
unsafe impl Send for Ring {}

/// Makes the memory of a ring. Its size is sealed: a process that shrinks it would kill the other end by SIGBUS.
pub(crate) fn create() -> io::Result<OwnedFd> {
    let fd = memfd_create(c"ratoon-ring", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
    nix::unistd::ftruncate(&fd, MAP_BYTES as i64)?;
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&fd, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(fd)
}

impl Ring {
    /// Maps a ring into this process.
    pub(crate) fn map(fd: impl AsFd) -> io::Result<Self> {
        let length = NonZeroUsize::new(MAP_BYTES).expect("the size is not zero");
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing of ours.
        let map = unsafe { mmap(None, length, protection, MapFlags::MAP_SHARED, fd, 0)? };
        Ok(Self { map: map.cast() })
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping is page aligned, at least HEADER_BYTES long, lives as long as self, and is only ever
        // accessed through these atomics, which may hold any bits.
        unsafe { self.map.cast::<Header>().as_ref() }
    }

    /// Appends text; the writer's half.
    pub(crate) fn push(&self, name: StreamName, stamp: Stamp, bytes: &[u8]) -> Pushed {
        let header = self.header();
        let written = header.written.load(Ordering::Relaxed);
        let used = written.wrapping_sub(header.read.load(Ordering::Acquire)) as usize;
        let need = RECORD_HEAD_BYTES + bytes.len();
        if used > CAPACITY || need > CAPACITY - used {
            return Pushed::NoRoom;
        }
        let mut head = [0; RECORD_HEAD_BYTES];
        let Written { out, err } = stamp.written;
        for (at, number) in [bytes.len() as u32, stamp.reports, out, err].into_iter().enumerate() {
            head[at * 4..at * 4 + 4].copy_from_slice(&number.to_le_bytes());
        }
        head[16] = if name == StreamName::Stderr { STDERR } else { 0 };
        self.copy_in(written, &head);
        self.copy_in(written.wrapping_add(RECORD_HEAD_BYTES as u64), bytes);
        header.written.store(written.wrapping_add(need as u64), Ordering::SeqCst);
        match header.armed.swap(1, Ordering::SeqCst) {
            0 => Pushed::RingDoorbell,
            _ => Pushed::Quietly,
        }
    }

    /// Takes out the text that stands before or right behind so many reports; the reader's half.
    pub(crate) fn drain(&self, reports: u32) -> Vec<Text> {
        let header = self.header();
        let written = header.written.load(Ordering::SeqCst);
        let mut read = header.read.load(Ordering::Relaxed);
        let mut texts = Vec::new();
        loop {
            let left = written.wrapping_sub(read) as usize;
            if left == 0 {
                break;
            }
            if !(RECORD_HEAD_BYTES..=CAPACITY).contains(&left) {
                read = written;
                break;
            }
            let head = self.copy_out(read, RECORD_HEAD_BYTES);
            let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
            let length = number(0) as usize;
            if length > left - RECORD_HEAD_BYTES {
                read = written;
                break;
            }
            let stamp = Stamp { reports: number(4), written: Written { out: number(8), err: number(12) } };
            if is_after(stamp.reports, reports) {
                break;
            }
            let bytes = self.copy_out(read.wrapping_add(RECORD_HEAD_BYTES as u64), length);
            let name = if head[16] == STDERR { StreamName::Stderr } else { StreamName::Stdout };
            texts.push(Text { name, stamp, bytes });
            read = read.wrapping_add((RECORD_HEAD_BYTES + length) as u64);
        }
        header.read.store(read, Ordering::Release);
        texts
    }

    /// Counts what is taken out of the pipes; the reader's half. While `take` runs, the writer waits to count.
    pub(crate) fn taking<T>(&self, name: StreamName, take: impl FnOnce() -> (usize, T)) -> T {
        let header = self.header();
        header.taking.fetch_add(1, Ordering::SeqCst);
        let (count, taken) = take();
        let counter = if name == StreamName::Stderr { &header.taken_err } else { &header.taken_out };
        counter.fetch_add(count as u32, Ordering::SeqCst);
        header.taking.fetch_add(1, Ordering::SeqCst);
        taken
    }

    /// How much was ever written to the pipes, when `waiting` tells how much is in them; the writer's half.
    pub(crate) fn written(&self, waiting: impl Fn() -> Written) -> Written {
        let header = self.header();
        for _ in 0..MAX_POLLS {
            let before = header.taking.load(Ordering::SeqCst);
            let Written { out, err } = waiting();
            let all = Written {
                out: header.taken_out.load(Ordering::SeqCst).wrapping_add(out),
                err: header.taken_err.load(Ordering::SeqCst).wrapping_add(err),
            };
            if before.is_multiple_of(2) && header.taking.load(Ordering::SeqCst) == before {
                return all;
            }
            std::thread::yield_now();
        }
        // Somebody has written to this memory who should not have.
        Written::default()
    }

    /// The reader stops looking: the next push is to ring. What came in between must be drained once more.
    pub(crate) fn disarm(&self) {
        self.header().armed.store(0, Ordering::SeqCst);
    }

    /// The reader looks again by itself.
    pub(crate) fn arm(&self) {
        self.header().armed.store(1, Ordering::SeqCst);
    }

    fn copy_in(&self, at: u64, bytes: &[u8]) {
        let start = (at % CAPACITY as u64) as usize;
        let first = bytes.len().min(CAPACITY - start);
        // SAFETY: start + first ≤ CAPACITY and the rest is shorter than CAPACITY, so both copies stay inside the
        // mapping; the reader does not look at these bytes before `written` says so.
        unsafe {
            let data = self.map.as_ptr().add(HEADER_BYTES);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.add(start), first);
            std::ptr::copy_nonoverlapping(bytes.as_ptr().add(first), data, bytes.len() - first);
        }
    }

    fn copy_out(&self, at: u64, length: usize) -> Vec<u8> {
        let start = (at % CAPACITY as u64) as usize;
        let first = length.min(CAPACITY - start);
        let mut bytes = vec![0; length];
        // SAFETY: as in copy_in; a writer that breaks the protocol can make us read other bytes of the same mapping,
        // never bytes outside it.
        unsafe {
            let data = self.map.as_ptr().add(HEADER_BYTES);
            std::ptr::copy_nonoverlapping(data.add(start), bytes.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(data, bytes.as_mut_ptr().add(first), length - first);
        }
        bytes
    }
}

/// Whether a count that goes round is beyond another.
pub(crate) fn is_after(count: u32, other: u32) -> bool {
    count != other && count.wrapping_sub(other) < u32::MAX / 2
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and nothing borrowed from it outlives self.
        let unmapped = unsafe { munmap(self.map.cast(), MAP_BYTES) };
        debug_assert!(unmapped.is_ok(), "a mapping of ours can be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both_ends() -> (Ring, Ring) {
        let fd = create().expect("a memfd");
        (Ring::map(&fd).expect("a map"), Ring::map(&fd).expect("a map"))
    }

    const FIRST: Stamp = Stamp { reports: 0, written: Written { out: 0, err: 0 } };

    #[test]
    fn only_the_first_push_rings() {
        let (writer, reader) = both_ends();
        let second = Stamp { reports: 7, written: Written { out: 3, err: u32::MAX } };
        assert_eq!(writer.push(StreamName::Stdout, FIRST, b"a"), Pushed::RingDoorbell);
        assert_eq!(writer.push(StreamName::Stderr, second, b"b"), Pushed::Quietly);
        let texts = reader.drain(7);
        assert_eq!(texts.len(), 2);
        assert_eq!(texts[1], Text { name: StreamName::Stderr, stamp: second, bytes: b"b".to_vec() });
        assert!(reader.drain(7).is_empty());
        reader.disarm();
        assert_eq!(writer.push(StreamName::Stdout, FIRST, b"c"), Pushed::RingDoorbell);
    }

    #[test]
    fn text_waits_for_the_reports_before_it() {
        let (writer, reader) = both_ends();
        for reports in [u32::MAX, 0, 1] {
            writer.push(StreamName::Stdout, Stamp { reports, ..FIRST }, &reports.to_le_bytes());
        }
        assert!(reader.drain(u32::MAX - 1).is_empty());
        assert_eq!(reader.drain(u32::MAX).len(), 1);
        assert_eq!(reader.drain(1).len(), 2);
    }

    #[test]
    fn what_was_taken_out_of_a_pipe_still_counts_as_written() {
        let (writer, reader) = both_ends();
        assert_eq!(reader.taking(StreamName::Stderr, || (5, "taken")), "taken");
        assert_eq!(writer.written(|| Written { out: 1, err: 2 }), Written { out: 1, err: 7 });
        // Taken just while the writer counts: it counts again.
        let looks = std::cell::Cell::new(0);
        let waiting = || {
            looks.set(looks.get() + 1);
            if looks.get() == 1 {
                reader.taking(StreamName::Stdout, || (1, ()));
                return Written { out: 1, err: 0 };
            }
            Written::default()
        };
        assert_eq!(writer.written(waiting), Written { out: 1, err: 5 });
    }

    #[test]
    fn text_survives_going_round_the_end() {
        let (writer, reader) = both_ends();
        let mut sent = Vec::new();
        let mut got = Vec::new();
        for i in 0..1000u32 {
            let piece = vec![i as u8; (i as usize * 37) % 5000];
            while writer.push(StreamName::Stdout, FIRST, &piece) == Pushed::NoRoom {
                got.extend(reader.drain(0).into_iter().flat_map(|t| t.bytes));
            }
            sent.extend(piece);
        }
        got.extend(reader.drain(0).into_iter().flat_map(|t| t.bytes));
        assert!(sent == got);
    }

    #[test]
    fn a_lying_writer_is_not_believed() {
        let (writer, reader) = both_ends();
        writer.push(StreamName::Stdout, FIRST, b"abc");
        writer.copy_in(0, &u32::MAX.to_le_bytes());
        assert!(reader.drain(0).is_empty());
        writer.header().written.store(u64::MAX / 2, Ordering::SeqCst);
        assert!(reader.drain(0).is_empty());
        assert_eq!(writer.push(StreamName::Stdout, FIRST, b"fine"), Pushed::Quietly);
        assert_eq!(reader.drain(0)[0].bytes, b"fine");
        writer.header().taking.store(1, Ordering::SeqCst);
        assert_eq!(writer.written(|| Written { out: 1, err: 1 }), Written::default());
    }
}
