//! The lock on a notebook's directory. It allows only one process to write the notebook.

use crate::blobs::nofollow::flags;
use crate::problem::{Kind, Problem};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long `take` waits for another process to release the lock. If a server is killed while it
/// starts a child process, the child holds the lock until the child executes its own program.
const HELD_ON: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(10);

/// A lock that is taken. It is released when this value is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock on a notebook's directory. Creates nothing in a directory without a notebook.
    pub(super) fn take(dir: &Path) -> Result<Self, Problem> {
        Self::take_within(dir, HELD_ON, is_ours(dir))
    }

    /// Like `take`, without waiting.
    pub(super) fn take_at_once(dir: &Path) -> Result<Self, Problem> {
        Self::take_within(dir, Duration::ZERO, is_ours(dir))
    }

    /// Takes the lock on a directory created for a new notebook.
    pub(super) fn make(dir: &Path) -> Result<Self, Problem> {
        Self::take_within(dir, HELD_ON, true)
    }

    /// Like `make`, without waiting.
    pub(super) fn make_at_once(dir: &Path) -> Result<Self, Problem> {
        Self::take_within(dir, Duration::ZERO, true)
    }

    /// Whether a process holds the lock. Always false for a directory without a database.
    pub(super) fn is_held(dir: &Path) -> bool {
        dir.join("notebook.db").symlink_metadata().is_ok() && Self::take_at_once(dir).is_err()
    }

    fn take_within(dir: &Path, patience: Duration, is_ours: bool) -> Result<Self, Problem> {
        let path = dir.join("lock");
        let refused = |why: String, how: &str| Problem {
            kind: Kind::Conflict,
            what: format!("open the notebook {}", dir.display()),
            why,
            how: how.to_owned(),
        };
        if !is_ours {
            return Err(super::paths::no_notebook(dir));
        }
        let failed = |e: std::io::Error| refused(format!("{}: {e}", path.display()), "check its permissions");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flags())
            .open(&path)
            .map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(refused(
                "its lock is not a file".into(),
                "remove the lock; Ratoon creates a new one",
            ));
        }
        // The lock belongs to this open file instead of the process. So closing another descriptor
        // of the same file does not release the lock.
        let began = Instant::now();
        let taken = loop {
            match fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_WRLCK))) {
                Err(nix::Error::EAGAIN | nix::Error::EACCES) if began.elapsed() < patience => sleep(PAUSE),
                other => break other,
            }
        };
        match taken {
            Ok(_) => {}
            Err(nix::Error::EAGAIN | nix::Error::EACCES) => {
                let mut pid = String::new();
                let _ = (&file).take(16).read_to_string(&mut pid);
                let why = format!("process {} has it open", if pid.is_empty() { "?" } else { pid.trim() });
                return Err(refused(why, "use that process, or stop it first"));
            }
            Err(error) => return Err(failed(error.into())),
        }
        // The lock file contains the pid only for error messages. Errors of this write are ignored,
        // because a full disk must not prevent opening a notebook.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file does not release the lock at once: a child process that is starting also
        // has the descriptor, until it executes its own program.
        let _ = fcntl(&self.file, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_UNLCK)));
    }
}

/// Whether a directory belongs to a notebook. It does if it has a database or a lock file. One of
/// them is enough, because the lock file may have been removed.
fn is_ours(dir: &Path) -> bool {
    ["lock", "notebook.db"].iter().any(|name| dir.join(name).symlink_metadata().is_ok())
}

fn whole_file(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}
