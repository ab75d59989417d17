//! Ends this process and its process group when the server dies, even by SIGKILL.
//!
//! The server holds the write end of a pipe and never writes. When the server dies, Linux signals
//! the owner of each read end. Each process makes its process group the owner and SIGKILL the
//! signal. This needs no thread and no timer, and it ends tight C loops and users' subprocesses.
//! The owner is a property of the open file, so every process opens the pipe again.

#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, PoisonError};

/// fcntl's command that sets the signal to send instead of SIGIO (Linux, asm-generic/fcntl.h). The
/// libc crate does not define it.
const F_SETSIG: libc::c_int = 10;

static PIPE: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// Makes this process the leader of its own group and ties the group to the lifeline.
pub(super) fn tie(pipe: OwnedFd) -> io::Result<()> {
    let group = nix::unistd::getpid();
    nix::unistd::setpgid(group, group)?;
    let low = open_again(pipe.as_raw_fd())?;
    let own = super::descriptors::raise(&low)?;
    let number = own.as_raw_fd();
    drop((low, pipe));
    // SAFETY: fcntl calls on a descriptor that we own. They touch no memory.
    unsafe {
        Errno::result(libc::fcntl(number, libc::F_SETOWN, -group.as_raw()))?;
        Errno::result(libc::fcntl(number, F_SETSIG, libc::SIGKILL))?;
        Errno::result(libc::fcntl(number, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK))?;
    }
    // The server may have died before this process was tied.
    let mut ends = [PollFd::new(own.as_fd(), PollFlags::POLLIN)];
    if poll(&mut ends, PollTimeout::ZERO)? > 0 {
        super::process_exit::leave();
    }
    *PIPE.lock().unwrap_or_else(PoisonError::into_inner) = Some(own);
    Ok(())
}

fn open_again(number: RawFd) -> nix::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{number}");
    let flags = nix::fcntl::OFlag::O_RDONLY | nix::fcntl::OFlag::O_NONBLOCK | nix::fcntl::OFlag::O_CLOEXEC;
    nix::fcntl::open(path.as_str(), flags, nix::sys::stat::Mode::empty())
}

/// Checks that a fork of this process could be tied to the lifeline and killed by the server. User
/// code may have made that impossible.
///
/// # Errors
/// The reason, as the end of a sentence.
pub(super) fn can_tie() -> Result<(), String> {
    let Some(number) = number() else { return Ok(()) };
    if let Err(errno) = open_again(number) {
        return Err(match errno {
            Errno::EACCES | Errno::EPERM => format!(
                "the cell changed the user or the permissions of its process (os.setuid, os.seteuid, \
                 os.unshare…), so the process can no longer open its own descriptors ({errno})"
            ),
            _ => format!("the cell's process can no longer open its own descriptors in /proc ({errno})"),
        });
    }
    let space = |name: &str| std::fs::read_link(format!("/proc/self/ns/{name}")).ok();
    if space("pid_for_children") != space("pid") {
        return Err("the cell's process starts its children in another pid namespace (os.unshare with \
             CLONE_NEWPID), so the server could not signal its branches"
            .into());
    }
    Ok(())
}

/// The number of the pipe's descriptor.
pub(super) fn number() -> Option<RawFd> {
    PIPE.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(AsRawFd::as_raw_fd)
}

/// Ties this process to the lifeline after a fork.
pub(super) fn tie_again() -> io::Result<()> {
    let inherited = PIPE.lock().unwrap_or_else(PoisonError::into_inner).take();
    inherited.map_or(Ok(()), tie)
}
