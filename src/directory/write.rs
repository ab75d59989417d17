//! `NewFile`: a file that is being uploaded. It is written under a temporary name and renamed when
//! all of it is on disk, so nobody reads half a file.

use super::{Directory, EntryKind, FilePath, OPEN, errno, kind_of, problem, take_name, trash};
use crate::problem::Problem;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, fstatat};
use nix::unistd::{UnlinkatFlags, fsync, unlinkat};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

/// Prefix of the temporary name. A random suffix follows. Hidden, so the files pane never shows it.
const UPLOAD: &str = ".ratoon-upload-";

/// Age at which a temporary file is a remainder of a killed server. Longer than any upload takes
/// (`http/request/body`).
const REMAINDER_AGE: Duration = Duration::from_secs(24 * 3600);

/// A file under a temporary name. Dropping this value deletes the file.
pub(crate) struct NewFile {
    directory: Directory,
    path: FilePath,
    folder: OwnedFd,
    temporary: Option<String>,
    file: File,
}

impl Directory {
    /// Begins to write a file.
    ///
    /// # Errors
    /// When the name is taken and `replaces` is false, a folder has the name, or the disk cannot be
    /// written.
    pub(crate) fn create(&self, path: &FilePath, replaces: bool) -> Result<NewFile, Problem> {
        let failed = |error| problem(&format!("upload {path}"), error);
        let (folder, name) = self.parent(path).map_err(failed)?;
        // Checked before the body is read, and again when the file gets its name.
        check_name(&folder, name, replaces).map_err(failed)?;
        remove_remainders(&folder);
        let temporary = format!("{UPLOAD}{}", uuid::Uuid::new_v4().simple());
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OPEN;
        let file =
            openat(&folder, temporary.as_str(), flags, Mode::from_bits_truncate(0o666)).map_err(failed)?;
        Ok(NewFile {
            directory: self.clone(),
            path: path.clone(),
            folder,
            temporary: Some(temporary),
            file: file.into(),
        })
    }
}

impl NewFile {
    /// Appends bytes.
    ///
    /// # Errors
    /// When the disk cannot be written.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.file.write_all(bytes).map_err(|e| self.failed(errno(&e)))
    }

    /// Gives the file its name, durably. With `replaces`, a file of this name goes into the trash
    /// first. Returns whether there was one.
    ///
    /// # Errors
    /// Those of `Directory::create`.
    pub(crate) fn finish(mut self, replaces: bool) -> Result<bool, Problem> {
        self.file.sync_all().map_err(|e| self.failed(errno(&e)))?;
        let directory = self.directory.clone();
        // Two uploads of the same name must not take each other's file for theirs.
        let _held = directory.lock_trash();
        let is_there = check_name(&self.folder, self.path.name(), replaces).map_err(|e| self.failed(e))?;
        if is_there {
            trash::discard(&self.directory, &self.path)?;
        }
        if let Some(temporary) = self.temporary.clone() {
            let name = self.path.name();
            take_name(&self.folder, &temporary, &self.folder, name).map_err(|e| self.failed(e))?;
            self.temporary = None;
        }
        fsync(&self.folder).map_err(|e| self.failed(e))?;
        Ok(is_there)
    }

    fn failed(&self, error: Errno) -> Problem {
        problem(&format!("upload {}", self.path), error)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // If the file cannot be deleted, a later upload into this folder deletes it.
            let _ = unlinkat(&self.folder, temporary.as_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// Returns whether the name is taken. EEXIST if it is and may not be replaced.
fn check_name(folder: &OwnedFd, name: &str, replaces: bool) -> Result<bool, Errno> {
    match fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Err(Errno::ENOENT) => Ok(false),
        Err(error) => Err(error),
        Ok(stat) if kind_of(&stat) == EntryKind::Folder => Err(Errno::EISDIR),
        Ok(_) if replaces => Ok(true),
        Ok(_) => Err(Errno::EEXIST),
    }
}

/// Removes temporary files that a killed server has left in a folder.
fn remove_remainders(folder: &OwnedFd) {
    let Ok(mut dir) = folder.try_clone().map_err(|e| errno(&e)).and_then(Dir::from_fd) else { return };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let oldest = i64::try_from(now.saturating_sub(REMAINDER_AGE).as_secs()).unwrap_or_default();
    for entry in dir.iter().flatten() {
        let name = entry.file_name();
        let is_old =
            || fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW).is_ok_and(|s| s.st_mtime < oldest);
        if name.to_bytes().starts_with(UPLOAD.as_bytes()) && is_old() {
            let _ = unlinkat(folder, name, UnlinkatFlags::NoRemoveDir);
        }
    }
}
