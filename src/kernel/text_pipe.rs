//! The pipe that carries printed text from a head to the server, and the counts that give texts and
//! other outputs their order.
//!
//! Each text is a record with a stamp: how many reports were sent, and how many bytes were written
//! to the pipes of descriptors 1 and 2, before it. A record fits into `PIPE_BUF` bytes, so Linux
//! writes it whole or not at all. The reader trusts no record, because user code can write to the
//! pipe too.
//!
//! Linux does not report the total number of bytes written to a pipe. So a head adds two numbers:
//! the bytes that the server has read, which the server writes to a shared file, and the bytes that
//! are still in the pipe. The server writes a sequence number to the file before and after each
//! read, so a head notices if the server reads while it adds these numbers.

use super::protocol::Written;
use crate::notebook::StreamName;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

/// Capacity of each pipe of a head, in bytes. Few cells print more between two ticks of the server.
const PIPE_BYTES: i32 = 1024 * 1024;
/// Bytes of a record's header: the text's length, the number of reports and the bytes of stdout and
/// stderr before it (each u32), and its stream (u8).
const STAMP_BYTES: usize = 17;
/// The longest text of one record, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = libc::PIPE_BUF - STAMP_BYTES;
const STDERR: u8 = 1;
/// Size of the server's buffer, in bytes. It has room for many records.
const READ_BYTES: usize = 64 * 1024;
/// Maximum number of times that a head reads the counts again while the server reads a pipe.
const MAX_POLLS: usize = 10_000;

/// The position of a text among everything else that its process sends. Counts are modulo 2³².
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// How many reports were sent before it.
    pub(crate) reports: u32,
    /// How many bytes were written to descriptors 1 and 2 before it.
    pub(crate) written: Written,
}

/// A piece of printed text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) name: StreamName,
    pub(crate) stamp: Stamp,
    /// UTF-8, unless user code wrote the record.
    pub(crate) bytes: Vec<u8>,
}

/// Makes a pipe: its read end and its write end.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
    // May fail: the system limits an ordinary user's pipe memory. A smaller pipe works too.
    let _ = fcntl(&write, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES));
    Ok((read, write))
}

/// Makes reads and writes fail instead of waiting (`O_NONBLOCK`).
pub(crate) fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    let flags = OFlag::from_bits_truncate(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// Writes a text of at most `MAX_TEXT_BYTES` into a pipe that does not block. Returns false if the
/// pipe is full.
pub(crate) fn write(pipe: BorrowedFd<'_>, name: StreamName, stamp: Stamp, text: &[u8]) -> bool {
    let mut record = [0; libc::PIPE_BUF];
    let Written { out, err } = stamp.written;
    for (at, number) in [text.len() as u32, stamp.reports, out, err].into_iter().enumerate() {
        record[at * 4..at * 4 + 4].copy_from_slice(&number.to_le_bytes());
    }
    record[16] = if name == StreamName::Stderr { STDERR } else { 0 };
    let length = STAMP_BYTES + text.len();
    record[STAMP_BYTES..length].copy_from_slice(text);
    loop {
        match nix::unistd::write(pipe, &record[..length]) {
            Err(Errno::EINTR) => {}
            written => return written.is_ok(),
        }
    }
}

/// The server's end of a text pipe.
#[derive(Debug)]
pub(crate) struct TextReader {
    pipe: OwnedFd,
    /// Empty until the first text comes.
    buffer: Vec<u8>,
    /// The part of the buffer that was read and has not been returned.
    unread: Range<usize>,
}

/// Whether a pipe has bytes to read.
pub(crate) fn has_bytes(pipe: &OwnedFd) -> bool {
    let polled = poll(&mut [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO);
    polled.is_ok_and(|count| count > 0)
}

enum Parsed {
    Text(Text, usize),
    /// A text that comes after a report that has not arrived yet.
    Later,
    Incomplete,
    Malformed,
}

impl TextReader {
    pub(crate) fn new(pipe: OwnedFd) -> io::Result<Self> {
        set_nonblocking(&pipe)?;
        Ok(Self { pipe, buffer: Vec::new(), unread: 0..0 })
    }

    /// The pipe's read end, to wait on.
    pub(crate) fn pipe(&self) -> &OwnedFd {
        &self.pipe
    }

    /// The next text that was printed before report `reports + 1`.
    pub(crate) fn next(&mut self, reports: u32) -> Option<Text> {
        loop {
            match parse(&self.buffer[self.unread.clone()], reports) {
                Parsed::Text(text, length) => {
                    self.unread.start += length;
                    return Some(text);
                }
                Parsed::Later => return None,
                Parsed::Incomplete => {}
                Parsed::Malformed => self.unread.start = self.unread.end,
            }
            if !self.fill() {
                return None;
            }
        }
    }

    /// Reads more bytes into the buffer. Returns whether there were any.
    fn fill(&mut self) -> bool {
        if self.buffer.is_empty() {
            if !has_bytes(&self.pipe) {
                return false;
            }
            self.buffer.resize(READ_BYTES, 0);
        }
        self.buffer.copy_within(self.unread.clone(), 0);
        let length = self.unread.len();
        let count = nix::unistd::read(&self.pipe, &mut self.buffer[length..]).unwrap_or_default();
        self.unread = 0..length + count;
        count > 0
    }
}

fn parse(bytes: &[u8], reports: u32) -> Parsed {
    let Some((head, rest)) = bytes.split_at_checked(STAMP_BYTES) else { return Parsed::Incomplete };
    let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let length = number(0) as usize;
    let stamp = Stamp { reports: number(4), written: Written { out: number(8), err: number(12) } };
    if length > MAX_TEXT_BYTES {
        return Parsed::Malformed;
    }
    if is_after(stamp.reports, reports) {
        return Parsed::Later;
    }
    let Some(text) = rest.get(..length) else { return Parsed::Incomplete };
    let name = if head[16] == STDERR { StreamName::Stderr } else { StreamName::Stdout };
    Parsed::Text(Text { name, stamp, bytes: text.to_vec() }, STAMP_BYTES + length)
}

/// The descriptors that let a head count the bytes written to descriptors 1 and 2.
#[derive(Debug)]
pub(crate) struct SharedCounts {
    /// A file of four native u32: the sequence number written before a read, the bytes read from
    /// pipe 1 and from pipe 2, and the sequence number written after the read.
    pub(crate) counts: OwnedFd,
    /// An eventfd that is signalled when the counts change.
    pub(crate) changed: OwnedFd,
    /// An epoll instance that watches `changed` and the read ends of pipes 1 and 2. If nothing was
    /// written, a head finds that with one system call. The head adds its end of the text pipe.
    pub(crate) watch: OwnedFd,
}

impl SharedCounts {
    /// Makes the counts of a head. `pipes`: the read ends of its pipes of descriptors 1 and 2.
    pub(crate) fn new(pipes: [&OwnedFd; 2]) -> io::Result<Self> {
        let counts = memfd_create(c"ratoon-counts", MFdFlags::MFD_CLOEXEC)?;
        nix::unistd::ftruncate(&counts, 16)?;
        let changed: OwnedFd = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?.into();
        let watch = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for end in [pipes[0], pipes[1], &changed] {
            watch.add(end, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        }
        Ok(Self { counts, changed, watch: watch.0 })
    }
}

/// The server's side of the counts.
#[derive(Debug)]
pub(crate) struct ReadCounts {
    file: File,
    changed: OwnedFd,
    sequence: u32,
    read: Written,
}

impl ReadCounts {
    pub(crate) fn new(shared: &SharedCounts) -> io::Result<Self> {
        let (file, changed) = (shared.counts.try_clone()?.into(), shared.changed.try_clone()?);
        Ok(Self { file, changed, sequence: 0, read: Written::default() })
    }

    /// Calls `read`, which reads a pipe, and adds the number of bytes that it returns to the
    /// counts. During the call, a head that counts bytes waits.
    pub(crate) fn note<T>(&mut self, name: StreamName, read: impl FnOnce() -> (usize, T)) -> T {
        self.sequence = self.sequence.wrapping_add(1);
        // Errors do not matter: the file already has its size, and a full eventfd is readable too.
        let _ = self.file.write_all_at(&self.sequence.to_ne_bytes(), 0);
        let _ = nix::unistd::write(&self.changed, &1u64.to_ne_bytes());
        let (count, result) = read();
        let counter = if name == StreamName::Stderr { &mut self.read.err } else { &mut self.read.out };
        *counter = counter.wrapping_add(count as u32);
        let numbers = [self.read.out, self.read.err, self.sequence];
        let _ = self.file.write_all_at(numbers.map(u32::to_ne_bytes).as_flattened(), 4);
        result
    }
}

/// A head's side of the counts.
#[derive(Debug)]
pub(crate) struct WriteCounts {
    file: File,
    changed: OwnedFd,
    watch: Epoll,
    /// The bytes that the server had read when the head last read the counts.
    read: Cell<Written>,
}

impl WriteCounts {
    /// The counts of a head. `text`: its end of the text pipe, for `is_text_pipe`.
    pub(crate) fn new(shared: SharedCounts, text: BorrowedFd<'_>) -> io::Result<Self> {
        let SharedCounts { counts, changed, watch } = shared;
        let watch = Epoll(watch);
        watch.add(text, EpollEvent::empty())?;
        Ok(Self { file: counts.into(), changed, watch, read: Cell::default() })
    }

    /// Whether this number is still the head's end of the text pipe: user code can close it and
    /// give the number to another file. An epoll instance knows a descriptor by its number and its
    /// open file (epoll(7), first question), and refuses to add the same one again. That takes half
    /// as long as `fstat`.
    pub(crate) fn is_text_pipe(&self, number: BorrowedFd<'_>) -> bool {
        let added = self.watch.add(number, EpollEvent::empty());
        if added.is_ok() {
            let _ = self.watch.delete(number);
        }
        added == Err(Errno::EEXIST)
    }

    /// Whether this is the number of one of the three descriptors.
    pub(crate) fn owns(&self, number: RawFd) -> bool {
        [self.file.as_raw_fd(), self.changed.as_raw_fd(), self.watch.0.as_raw_fd()].contains(&number)
    }

    /// The total number of bytes written to the pipes of descriptors 1 and 2. `waiting` returns how
    /// many of them are still in the pipes.
    pub(crate) fn written(&self, waiting: impl Fn() -> Written) -> Written {
        // No event: nothing has changed since the last call. An error: user code has closed the
        // epoll descriptor.
        if self.watch.wait(&mut [EpollEvent::empty()], EpollTimeout::ZERO) != Ok(1) {
            return self.read.get();
        }
        let _ = nix::unistd::read(&self.changed, &mut [0; 8]);
        for _ in 0..MAX_POLLS {
            let before = self.counts();
            let Written { out, err } = waiting();
            let [begun, read_out, read_err, ended] = before;
            if begun == ended && before == self.counts() {
                self.read.set(Written { out: read_out, err: read_err });
                return Written { out: read_out.wrapping_add(out), err: read_err.wrapping_add(err) };
            }
            std::thread::yield_now();
        }
        // The sequence numbers never matched: user code has written to the file.
        Written::default()
    }

    fn counts(&self) -> [u32; 4] {
        let mut bytes = [[0; 4]; 4];
        let _ = self.file.read_exact_at(bytes.as_flattened_mut(), 0);
        bytes.map(u32::from_ne_bytes)
    }
}

/// Whether `count` comes after `other`. Both are modulo 2³².
pub(crate) fn is_after(count: u32, other: u32) -> bool {
    count != other && count.wrapping_sub(other) < u32::MAX / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Stamp = Stamp { reports: 0, written: Written { out: 0, err: 0 } };

    fn both_ends() -> (OwnedFd, TextReader) {
        let (read, write) = pipe().expect("a pipe");
        set_nonblocking(&write).expect("a flag");
        (write, TextReader::new(read).expect("a flag"))
    }

    fn texts(reader: &mut TextReader, reports: u32) -> Vec<Text> {
        std::iter::from_fn(|| reader.next(reports)).collect()
    }

    #[test]
    fn text_comes_with_its_stream_and_stamp() {
        let (writer, mut reader) = both_ends();
        let second = Stamp { reports: 7, written: Written { out: 3, err: u32::MAX } };
        assert!(write(writer.as_fd(), StreamName::Stdout, FIRST, b"a"));
        assert!(write(writer.as_fd(), StreamName::Stderr, second, b"b"));
        let texts = texts(&mut reader, 7);
        assert_eq!(texts.len(), 2);
        assert_eq!(texts[1], Text { name: StreamName::Stderr, stamp: second, bytes: b"b".to_vec() });
        assert_eq!(reader.next(7), None);
    }

    #[test]
    fn text_waits_for_the_reports_before_it() {
        let (writer, mut reader) = both_ends();
        for reports in [u32::MAX, 0, 1] {
            write(writer.as_fd(), StreamName::Stdout, Stamp { reports, ..FIRST }, &reports.to_le_bytes());
        }
        assert_eq!(reader.next(u32::MAX - 1), None);
        assert_eq!(texts(&mut reader, u32::MAX).len(), 1);
        assert_eq!(texts(&mut reader, 1).len(), 2);
    }

    #[test]
    fn a_full_pipe_takes_no_part_of_a_text() {
        let (writer, mut reader) = both_ends();
        let (mut sent, mut got) = (Vec::new(), Vec::new());
        for i in 0..3000u32 {
            let piece = vec![i as u8; (i as usize * 37) % MAX_TEXT_BYTES];
            while !write(writer.as_fd(), StreamName::Stdout, FIRST, &piece) {
                got.extend(texts(&mut reader, 0).into_iter().flat_map(|text| text.bytes));
            }
            sent.extend(piece);
        }
        drop(writer);
        got.extend(texts(&mut reader, 0).into_iter().flat_map(|text| text.bytes));
        assert!(sent == got);
    }

    #[test]
    fn a_malformed_record_is_skipped() {
        let (writer, mut reader) = both_ends();
        nix::unistd::write(&writer, &[0xff; 100]).expect("room");
        assert_eq!(reader.next(0), None);
        write(writer.as_fd(), StreamName::Stdout, FIRST, b"fine");
        assert_eq!(reader.next(0).expect("a text").bytes, b"fine");
    }

    fn counts() -> (ReadCounts, WriteCounts, OwnedFd, OwnedFd) {
        let (read, write) = pipe().expect("a pipe");
        let shared = SharedCounts::new([&read, &pipe().expect("a pipe").0]).expect("descriptors");
        let server = ReadCounts::new(&shared).expect("descriptors");
        (server, WriteCounts::new(shared, write.as_fd()).expect("room in the epoll instance"), read, write)
    }

    #[test]
    fn another_file_with_the_number_of_the_text_pipe_is_noticed() {
        let (_server, head, read, write) = counts();
        let copy = write.try_clone().expect("a descriptor");
        assert!(head.is_text_pipe(write.as_fd()));
        assert!(!head.is_text_pipe(copy.as_fd()), "another number");
        let mut taken = write;
        for _ in 0..2 {
            nix::unistd::dup2(read.as_fd(), &mut taken).expect("a descriptor");
            assert!(!head.is_text_pipe(taken.as_fd()), "another file");
        }
        nix::unistd::dup2(copy.as_fd(), &mut taken).expect("a descriptor");
        assert!(head.is_text_pipe(taken.as_fd()), "the pipe has its number again");
    }

    #[test]
    fn bytes_that_were_read_still_count_as_written() {
        let (mut server, head, _read, write) = counts();
        let nothing = || -> Written { panic!("nothing is in the pipes") };
        assert_eq!(head.written(nothing), Written::default());
        assert_eq!(server.note(StreamName::Stderr, || (5, "read")), "read");
        nix::unistd::write(&write, b"x").expect("room");
        assert_eq!(head.written(|| Written { out: 1, err: 2 }), Written { out: 1, err: 7 });
    }

    #[test]
    fn bytes_that_are_read_during_a_count_are_counted_once() {
        let (server, head, read, write) = counts();
        nix::unistd::write(&write, b"x").expect("room");
        let server = std::cell::RefCell::new(server);
        let calls = Cell::new(0);
        let waiting = || {
            calls.set(calls.get() + 1);
            if calls.get() > 1 {
                return Written::default();
            }
            let take = || (nix::unistd::read(&read, &mut [0; 8]).expect("a byte"), ());
            server.borrow_mut().note(StreamName::Stdout, take);
            Written { out: 1, err: 0 }
        };
        assert_eq!(head.written(waiting), Written { out: 1, err: 0 });
        let nothing = || Written::default();
        assert_eq!(head.written(nothing), Written { out: 1, err: 0 }, "the signal of that read");
        assert_eq!(head.written(|| panic!("nothing is in the pipes")), Written { out: 1, err: 0 });
    }

    #[test]
    fn a_forged_count_ends_the_waiting() {
        let (mut server, head, ..) = counts();
        server.note(StreamName::Stdout, || (1, ()));
        server.file.write_all_at(&7u32.to_ne_bytes(), 0).expect("a file");
        assert_eq!(head.written(Written::default), Written::default());
    }
}
