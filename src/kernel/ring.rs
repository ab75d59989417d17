//! Shared memory that carries printed text from a head to the server without a system call per `print`.
//!
//! The head appends records; the server takes them out when the doorbell rings and then every few milliseconds until
//! nothing more comes. So the first text is on the wire at once, a flood costs next to nothing per line, and a cell that
//! prints and then sleeps leaves nothing unseen. One writer, one reader, no lock. The reader trusts nothing it finds:
//! user code can write here too.

#![allow(unsafe_code)]

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
/// Length (u32) and flags (u8).
const RECORD_HEAD_BYTES: usize = 5;
const FLAG_STDERR: u8 = 1;
const FLAG_NATIVE: u8 = 2;

#[repr(C)]
struct Header {
    written: AtomicU64,
    read: AtomicU64,
    armed: AtomicU32,
}

/// A piece of printed text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// The stream it was written to.
    pub(crate) name: StreamName,
    /// When it was written, bytes were waiting in the pipes of descriptors 1 or 2.
    pub(crate) native: bool,
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
    pub(crate) fn push(&self, name: StreamName, native: bool, bytes: &[u8]) -> Pushed {
        let header = self.header();
        let written = header.written.load(Ordering::Relaxed);
        let used = written.wrapping_sub(header.read.load(Ordering::Acquire)) as usize;
        let need = RECORD_HEAD_BYTES + bytes.len();
        if used > CAPACITY || need > CAPACITY - used {
            return Pushed::NoRoom;
        }
        let mut head = [0; RECORD_HEAD_BYTES];
        head[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        head[4] =
            if name == StreamName::Stderr { FLAG_STDERR } else { 0 } | if native { FLAG_NATIVE } else { 0 };
        self.copy_in(written, &head);
        self.copy_in(written.wrapping_add(RECORD_HEAD_BYTES as u64), bytes);
        header.written.store(written.wrapping_add(need as u64), Ordering::SeqCst);
        match header.armed.swap(1, Ordering::SeqCst) {
            0 => Pushed::RingDoorbell,
            _ => Pushed::Quietly,
        }
    }

    /// Takes out all text that is there; the reader's half.
    pub(crate) fn drain(&self) -> Vec<Text> {
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
            let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
            if length > left - RECORD_HEAD_BYTES {
                read = written;
                break;
            }
            let bytes = self.copy_out(read.wrapping_add(RECORD_HEAD_BYTES as u64), length);
            let name = if head[4] & FLAG_STDERR == 0 { StreamName::Stdout } else { StreamName::Stderr };
            texts.push(Text { name, native: head[4] & FLAG_NATIVE != 0, bytes });
            read = read.wrapping_add((RECORD_HEAD_BYTES + length) as u64);
        }
        header.read.store(read, Ordering::Release);
        texts
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

    #[test]
    fn only_the_first_push_rings() {
        let (writer, reader) = both_ends();
        assert_eq!(writer.push(StreamName::Stdout, false, b"a"), Pushed::RingDoorbell);
        assert_eq!(writer.push(StreamName::Stderr, true, b"b"), Pushed::Quietly);
        let texts = reader.drain();
        assert_eq!(texts.len(), 2);
        assert_eq!(texts[1], Text { name: StreamName::Stderr, native: true, bytes: b"b".to_vec() });
        assert!(reader.drain().is_empty());
        reader.disarm();
        assert_eq!(writer.push(StreamName::Stdout, false, b"c"), Pushed::RingDoorbell);
    }

    #[test]
    fn text_survives_going_round_the_end() {
        let (writer, reader) = both_ends();
        let mut sent = Vec::new();
        let mut got = Vec::new();
        for i in 0..1000u32 {
            let piece = vec![i as u8; (i as usize * 37) % 5000];
            while writer.push(StreamName::Stdout, false, &piece) == Pushed::NoRoom {
                got.extend(reader.drain().into_iter().flat_map(|t| t.bytes));
            }
            sent.extend(piece);
        }
        got.extend(reader.drain().into_iter().flat_map(|t| t.bytes));
        assert!(sent == got);
    }

    #[test]
    fn a_lying_writer_is_not_believed() {
        let (writer, reader) = both_ends();
        writer.push(StreamName::Stdout, false, b"abc");
        writer.copy_in(0, &u32::MAX.to_le_bytes());
        assert!(reader.drain().is_empty());
        writer.header().written.store(u64::MAX / 2, Ordering::SeqCst);
        assert!(reader.drain().is_empty());
        assert_eq!(writer.push(StreamName::Stdout, false, b"fine"), Pushed::Quietly);
        assert_eq!(reader.drain()[0].bytes, b"fine");
    }
}
