//! Gives a branch its own offset in every open file, and its own epoll instances.
//!
//! Forked processes share the offset of an open file: a `readline()` in one branch would move the
//! offset in the others. Forked processes also share epoll instances. The head records both before
//! it is frozen. A head forked from that state opens each file again at the recorded offset and
//! makes new epoll instances. Copies of a descriptor (`dup`) stay copies. Pipes, sockets and
//! terminals stay shared, because they cannot be opened a second time.

#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::fcntl::{AtFlags, FcntlArg, OFlag, fcntl};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::{AccessFlags, Whence, lseek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// kcmp's command that compares the open files of two descriptors (Linux, kcmp.h). The libc crate
/// does not define it.
const KCMP_FILE: libc::c_int = 0;

/// A file that the state had open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenFile {
    number: RawFd,
    kind: OpenFileKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum OpenFileKind {
    /// A regular file, its offset, and whether the state had a lock on it.
    File { device: u64, inode: u64, offset: i64, is_locked: bool },
    /// A copy (`dup`) of the descriptor with this number.
    CopyOf(RawFd),
    /// An epoll instance and what it watches.
    Epoll(Vec<Watched>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watched {
    number: RawFd,
    events: u32,
    data: u64,
}

/// Returns all open files and epoll instances of the user.
pub(super) fn note() -> Vec<OpenFile> {
    let mut files: Vec<OpenFile> = Vec::new();
    for number in super::descriptors::list() {
        if let Some(kind) = classify(number).filter(|_| !super::capture::is_own(number)) {
            let same = files.iter().find(|p| p.kind == kind && is_copy(p.number, number)).map(|p| p.number);
            files.push(OpenFile { number, kind: same.map_or(kind, OpenFileKind::CopyOf) });
        }
    }
    files
}

fn classify(number: RawFd) -> Option<OpenFileKind> {
    // SAFETY: the descriptor is only queried, never closed. If it was closed meanwhile, the query
    // fails with EBADF.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    let stat = fstat(file).ok()?;
    match file_type(&stat) {
        SFlag::S_IFREG => {
            let offset = lseek(file, 0, Whence::SeekCur).ok()?;
            let is_locked = info_of(number).unwrap_or_default().lines().any(|line| line.starts_with("lock:"));
            Some(OpenFileKind::File { device: stat.st_dev, inode: stat.st_ino, offset, is_locked })
        }
        // Anonymous inodes have no file type.
        kind if kind.is_empty() => {
            let link = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
            let info = info_of(number)?;
            link.as_os_str().eq("anon_inode:[eventpoll]").then(|| OpenFileKind::Epoll(watched(&info)))
        }
        _ => None,
    }
}

/// The system's description of a descriptor (proc_pid_fdinfo(5)).
fn info_of(number: RawFd) -> Option<String> {
    std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()
}

fn file_type(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

/// What an epoll instance watches, from its fdinfo.
fn watched(info: &str) -> Vec<Watched> {
    let parse = |line: &str| {
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
    info.lines().filter_map(parse).collect()
}

/// Whether two descriptors share one open file. False if the system does not allow kcmp.
fn is_copy(one: RawFd, other: RawFd) -> bool {
    let me = std::process::id();
    // SAFETY: the call takes numbers only, and changes nothing.
    unsafe { libc::syscall(libc::SYS_kcmp, me, me, KCMP_FILE, one, other) == 0 }
}

/// Opens each file again and makes new epoll instances. A file that cannot be opened again, because
/// its permissions were tightened, stays shared.
pub(super) fn reopen<'a>(files: impl IntoIterator<Item = &'a OpenFile>) {
    for OpenFile { number, kind } in files {
        // If this fails, the file stays shared, and module `shared` warns about it.
        let _ = match kind {
            OpenFileKind::File { offset, .. } => reopen_file(*number, *offset),
            // SAFETY: the descriptor was open when it was noted, and nothing has run since.
            // Otherwise dup3 fails with EBADF.
            OpenFileKind::CopyOf(first) => replace(*number, unsafe { BorrowedFd::borrow_raw(*first) }),
            OpenFileKind::Epoll(watched) => rebuild_epoll(*number, watched),
        };
    }
}

/// Opens again the files on which the state has a lock. The lock then belongs to the lineage
/// alone, and ends when a later cell closes the file.
pub(super) fn leave_locks(files: &[OpenFile]) {
    let locked = lose_their_lock(files);
    let is_of_locked = |file: &&OpenFile| match file.kind {
        OpenFileKind::CopyOf(first) => locked.contains(&first),
        _ => locked.contains(&file.number),
    };
    reopen(files.iter().filter(is_of_locked));
}

/// The files that cannot be opened again, and the system's reason: their permissions were tightened
/// after they were opened. A file that a function given to `os.register_at_fork` has closed is open
/// in no branch and does not count.
pub(super) fn stay_shared(files: &[OpenFile]) -> Vec<(RawFd, Errno)> {
    let files = files.iter().filter(|file| matches!(file.kind, OpenFileKind::File { .. }));
    let refused = files.filter_map(|file| Some((file.number, may_reopen(file.number).err()?)));
    refused.filter(|(_, why)| *why != Errno::EBADF).collect()
}

/// The files on which the state had a lock. A lock belongs to an open file, so a branch, which
/// opens the file again, does not hold it.
pub(super) fn lose_their_lock(files: &[OpenFile]) -> Vec<RawFd> {
    let is_locked = |file: &&OpenFile| matches!(file.kind, OpenFileKind::File { is_locked: true, .. });
    files.iter().filter(is_locked).map(|file| file.number).collect()
}

/// Checks the permission without opening the file, because programs that watch the file would
/// notice an open.
fn may_reopen(number: RawFd) -> Result<(), Errno> {
    // SAFETY: the descriptor is only queried. If it is not open, the query fails with EBADF.
    let status =
        OFlag::from_bits_truncate(fcntl(unsafe { BorrowedFd::borrow_raw(number) }, FcntlArg::F_GETFL)?);
    if status.contains(OFlag::O_PATH) {
        return Ok(());
    }
    let needed = match status & OFlag::O_ACCMODE {
        OFlag::O_WRONLY => AccessFlags::W_OK,
        OFlag::O_RDWR => AccessFlags::R_OK | AccessFlags::W_OK,
        _ => AccessFlags::R_OK,
    };
    let path = format!("/proc/self/fd/{number}");
    nix::unistd::faccessat(nix::fcntl::AT_FDCWD, path.as_str(), needed, AtFlags::AT_EACCESS)
}

fn reopen_file(number: RawFd, offset: i64) -> Result<(), Errno> {
    // SAFETY: the descriptor was open when it was noted, and nothing has run since. Otherwise fcntl
    // fails with EBADF.
    let old = unsafe { BorrowedFd::borrow_raw(number) };
    let status = OFlag::from_bits_truncate(fcntl(old, FcntlArg::F_GETFL)?);
    if status.contains(OFlag::O_PATH) {
        return Ok(());
    }
    let keep = OFlag::O_ACCMODE | OFlag::O_APPEND | OFlag::O_NONBLOCK | OFlag::O_SYNC | OFlag::O_DIRECT;
    let path = format!("/proc/self/fd/{number}");
    let new = nix::fcntl::open(path.as_str(), (status & keep) | OFlag::O_CLOEXEC, Mode::empty())?;
    lseek(&new, offset, Whence::SeekSet)?;
    replace(number, new)
}

fn rebuild_epoll(number: RawFd, watched: &[Watched]) -> Result<(), Errno> {
    let new = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    for Watched { number, events, data } in watched {
        let event = EpollEvent::new(EpollFlags::from_bits_retain(*events as i32), *data);
        // SAFETY: as in reopen. A watched descriptor that was closed is skipped.
        let _ = new.add(unsafe { BorrowedFd::borrow_raw(*number) }, event);
    }
    replace(number, new.0)
}

/// Makes a descriptor refer to another open file of the same kind. Its number stays, because user
/// objects hold it.
fn replace(number: RawFd, with: impl AsFd) -> Result<(), Errno> {
    // SAFETY: the descriptor is only queried. If it is not open, the query fails with EBADF.
    let on_exec = fcntl(unsafe { BorrowedFd::borrow_raw(number) }, FcntlArg::F_GETFD)? & libc::FD_CLOEXEC;
    let flags = if on_exec == 0 { 0 } else { libc::O_CLOEXEC };
    // SAFETY: both are open. The call closes this process' descriptor of the shared file.
    Errno::result(unsafe { libc::dup3(with.as_fd().as_raw_fd(), number, flags) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_epoll_watches_is_read_from_fdinfo() {
        let info = "pos:\t0\nflags:\t02000002\nmnt_id:\t15\ntfd:        5 events:       1d data: \
        ffffffffffffffff  pos:0 ino:61af sdev:7\n";
        assert_eq!(watched(info), [Watched { number: 5, events: 0x1d, data: u64::MAX }]);
    }

    #[test]
    fn a_copy_of_a_descriptor_differs_from_a_second_opening() {
        let open = || std::fs::File::open("/proc/self/exe").expect("a program has a file");
        let (first, second) = (open(), open());
        let copy = first.try_clone().expect("descriptors can be copied");
        assert!(is_copy(first.as_raw_fd(), copy.as_raw_fd()));
        assert!(!is_copy(first.as_raw_fd(), second.as_raw_fd()));
    }
}
