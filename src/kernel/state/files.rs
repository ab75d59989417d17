//! A branch gets its own place in every open file, and its own epoll sets.
//!
//! Forked processes share the offset of an open file: without this, one branch's `readline()` would
//! move the other's. They share what an epoll instance watches, too. The head notes both before it
//! is frozen; a head forked from that state opens each file anew at the noted offset and makes each
//! instance anew. Descriptors that were copies of one another (`dup`) stay so. Pipes, sockets and
//! terminals stay shared: there is no second one to open.

#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::fcntl::{AtFlags, FcntlArg, OFlag, fcntl};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::{AccessFlags, Whence, lseek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// kcmp's "are these two descriptors one open file" (Linux, kcmp.h), which the libc crate lacks.
const KCMP_FILE: libc::c_int = 0;

/// An open file of the state, as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenFile {
    number: RawFd,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// A regular file that stood at this offset, and whether the state had a lock on it.
    File { device: u64, inode: u64, offset: i64, is_locked: bool },
    /// A copy of this descriptor.
    CopyOf(RawFd),
    /// An epoll instance that watched these.
    Epoll(Vec<Watched>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watched {
    number: RawFd,
    events: u32,
    data: u64,
}

/// Notes all open files and epoll instances of the user.
pub(super) fn note() -> Vec<OpenFile> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let mut numbers: Vec<RawFd> =
        entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).filter(|n| *n > 2).collect();
    numbers.sort_unstable();
    let mut places: Vec<OpenFile> = Vec::new();
    for number in numbers {
        if let Some(what) = what_is(number).filter(|_| !super::capture::is_own(number)) {
            let same = places.iter().find(|p| p.what == what && is_copy(p.number, number)).map(|p| p.number);
            places.push(OpenFile { number, what: same.map_or(what, What::CopyOf) });
        }
    }
    places
}

fn what_is(number: RawFd) -> Option<What> {
    // SAFETY: only asked, never closed; a descriptor that has gone in between answers EBADF.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    let stat = fstat(file).ok()?;
    match kind(&stat) {
        SFlag::S_IFREG => {
            let offset = lseek(file, 0, Whence::SeekCur).ok()?;
            let is_locked = info_of(number).unwrap_or_default().lines().any(|line| line.starts_with("lock:"));
            Some(What::File { device: stat.st_dev, inode: stat.st_ino, offset, is_locked })
        }
        // Anonymous inodes have no kind.
        kind if kind.is_empty() => {
            let link = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
            let info = info_of(number)?;
            link.as_os_str().eq("anon_inode:[eventpoll]").then(|| What::Epoll(watched(&info)))
        }
        _ => None,
    }
}

/// What the system tells of a descriptor (proc_pid_fdinfo(5)).
fn info_of(number: RawFd) -> Option<String> {
    std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()
}

fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

/// What an epoll instance watches, from what the system tells of it.
fn watched(info: &str) -> Vec<Watched> {
    let one = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["tfd:", number, "events:", events, "data:", data, ..] => Some(Watched {
                number: number.parse().ok()?,
                events: u32::from_str_radix(events, 16).ok()?,
                data: u64::from_str_radix(data, 16).ok()?,
            }),
            _ => None,
        }
    };
    info.lines().filter_map(one).collect()
}

/// Whether two descriptors are one open file. Where the system does not tell, they are taken for
/// two.
fn is_copy(one: RawFd, other: RawFd) -> bool {
    let me = std::process::id();
    // SAFETY: only numbers are passed; the call compares and changes nothing.
    unsafe { libc::syscall(libc::SYS_kcmp, me, me, KCMP_FILE, one, other) == 0 }
}

/// Makes each of them anew. A file that cannot be opened again (its permissions were tightened)
/// stays shared.
pub(super) fn open_anew(places: &[OpenFile]) {
    for OpenFile { number, what } in places {
        // What cannot be made anew works as before, only shared; the warning is the state's.
        let _ = match what {
            What::File { offset, .. } => open_file_anew(*number, *offset),
            // SAFETY: the descriptor was open when it was noted and nothing has run since; if not,
            // dup3 answers EBADF.
            What::CopyOf(first) => replace(*number, unsafe { BorrowedFd::borrow_raw(*first) }),
            What::Epoll(watched) => watch_anew(*number, watched),
        };
    }
}

/// The files that cannot be opened again, and the system's reason: their permissions were tightened
/// after they were opened. One that a function given to `os.register_at_fork` has closed is open in
/// no branch.
pub(super) fn stay_shared(places: &[OpenFile]) -> Vec<(RawFd, Errno)> {
    let files = places.iter().filter(|place| matches!(place.what, What::File { .. }));
    let refused = files.filter_map(|place| Some((place.number, may_open_anew(place.number).err()?)));
    refused.filter(|(_, why)| *why != Errno::EBADF).collect()
}

/// The files on which the state had a lock. A branch opens them anew, and locks belong to who
/// opened a file.
pub(super) fn lose_their_lock(places: &[OpenFile]) -> Vec<RawFd> {
    let is_locked = |place: &&OpenFile| matches!(place.what, What::File { is_locked: true, .. });
    places.iter().filter(is_locked).map(|place| place.number).collect()
}

/// Asks for the right to open a file instead of opening it, which who watches the file would see.
fn may_open_anew(number: RawFd) -> Result<(), Errno> {
    // SAFETY: only asked; a descriptor that is not open answers EBADF.
    let status =
        OFlag::from_bits_truncate(fcntl(unsafe { BorrowedFd::borrow_raw(number) }, FcntlArg::F_GETFL)?);
    if status.contains(OFlag::O_PATH) {
        return Ok(());
    }
    let wished = match status & OFlag::O_ACCMODE {
        OFlag::O_WRONLY => AccessFlags::W_OK,
        OFlag::O_RDWR => AccessFlags::R_OK | AccessFlags::W_OK,
        _ => AccessFlags::R_OK,
    };
    let path = format!("/proc/self/fd/{number}");
    nix::unistd::faccessat(nix::fcntl::AT_FDCWD, path.as_str(), wished, AtFlags::AT_EACCESS)
}

fn open_file_anew(number: RawFd, offset: i64) -> Result<(), Errno> {
    // SAFETY: the descriptor was open when it was noted and nothing has run since; if not, fcntl
    // answers EBADF.
    let old = unsafe { BorrowedFd::borrow_raw(number) };
    let status = OFlag::from_bits_truncate(fcntl(old, FcntlArg::F_GETFL)?);
    if status.contains(OFlag::O_PATH) {
        return Ok(());
    }
    let keep = OFlag::O_ACCMODE | OFlag::O_APPEND | OFlag::O_NONBLOCK | OFlag::O_SYNC | OFlag::O_DIRECT;
    let path = format!("/proc/self/fd/{number}");
    let anew = nix::fcntl::open(path.as_str(), (status & keep) | OFlag::O_CLOEXEC, Mode::empty())?;
    lseek(&anew, offset, Whence::SeekSet)?;
    replace(number, anew)
}

fn watch_anew(number: RawFd, watched: &[Watched]) -> Result<(), Errno> {
    let anew = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    for Watched { number, events, data } in watched {
        let event = EpollEvent::new(EpollFlags::from_bits_retain(*events as i32), *data);
        // SAFETY: as in open_anew. One that was closed since it was added cannot be added again,
        // nor does it need to be.
        let _ = anew.add(unsafe { BorrowedFd::borrow_raw(*number) }, event);
    }
    replace(number, anew.0)
}

/// Lets a descriptor, which the user's objects know by its number, mean another open file of the
/// same kind.
fn replace(number: RawFd, with: impl AsFd) -> Result<(), Errno> {
    // SAFETY: only asked; a descriptor that is not open answers EBADF.
    let on_exec = fcntl(unsafe { BorrowedFd::borrow_raw(number) }, FcntlArg::F_GETFD)? & libc::FD_CLOEXEC;
    let flags = if on_exec == 0 { 0 } else { libc::O_CLOEXEC };
    // SAFETY: both are open, and what is closed by this is the shared file that is to be let go.
    Errno::result(unsafe { libc::dup3(with.as_fd().as_raw_fd(), number, flags) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_watched_is_read_from_the_descriptors_info() {
        let info = "pos:\t0\nflags:\t02000002\nmnt_id:\t15\ntfd:        5 events:       1d data: \
        ffffffffffffffff  pos:0 ino:61af sdev:7\n";
        assert_eq!(watched(info), [Watched { number: 5, events: 0x1d, data: u64::MAX }]);
    }

    #[test]
    fn copies_of_a_descriptor_are_told_from_second_openings() {
        let open = || std::fs::File::open("/proc/self/exe").expect("a program has a file");
        let (first, second) = (open(), open());
        let copy = first.try_clone().expect("descriptors can be copied");
        assert!(is_copy(first.as_raw_fd(), copy.as_raw_fd()));
        assert!(!is_copy(first.as_raw_fd(), second.as_raw_fd()));
    }
}
