//! The files in the directory in which cells run: lists, reads, writes, renames, deletes and
//! restores them.
//!
//! Each component of a path is opened relative to its parent and without following links, so no
//! path leads out of the directory, even while cells rename folders. Hidden files and the inside of
//! notebooks (`NAME.ratoon`) do not exist here: `FilePath` refuses their names.

mod path;
#[cfg(test)]
mod tests;
mod trash;
mod write;

pub(crate) use path::{FilePath, NOTEBOOK_SUFFIX};
pub(crate) use trash::Deleted;
pub(crate) use write::NewFile;

use crate::problem::{Kind, Problem};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, RenameFlags, openat, renameat2};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::fsync;
use serde::Serialize;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of entries of a folder that are listed. The page cannot show more of them
/// usefully.
const MAX_ENTRIES: usize = 10_000;

/// Flags of every open: no link is followed, and no pipe is waited for.
const OPEN: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);

/// The directory in which cells run. Its folders are opened anew for each call.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    root: PathBuf,
    /// Held while the trash changes: an entry that is being made looks like a damaged one.
    trash: Arc<Mutex<()>>,
}

/// The kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EntryKind {
    Folder,
    File,
    /// The directory of a notebook, which this API does not open.
    Notebook,
    /// A symbolic link, which is never followed.
    Link,
    /// A device, a socket or a pipe.
    Other,
}

/// An entry of a folder.
#[derive(Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: EntryKind,
    /// Length of a file, in bytes; null for other kinds.
    pub(crate) bytes: Option<u64>,
    /// When the entry was last changed, in milliseconds since the Unix epoch.
    pub(crate) modified: f64,
}

/// The entries of a folder.
#[derive(Debug, Default, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct Listing {
    /// Sorted by name, without hidden files.
    pub(crate) entries: Vec<Entry>,
    /// Number of entries that are not listed: there are too many, or their names cannot be shown.
    pub(crate) more: u64,
}

impl Directory {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, trash: Arc::default() }
    }

    /// Waits until no other thread changes the trash.
    fn lock_trash(&self) -> MutexGuard<'_, ()> {
        self.trash.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory's full path.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The entries of a folder.
    ///
    /// # Errors
    /// When there is no such folder, or it cannot be read.
    pub(crate) fn list(&self, path: &FilePath) -> Result<Listing, Problem> {
        let failed = |error| problem(&format!("list the folder {path}"), error);
        let folder = self.folder(path.components()).map_err(failed)?;
        let mut dir = Dir::from_fd(folder.try_clone().map_err(|e| failed(errno(&e)))?).map_err(failed)?;
        let mut listing = Listing::default();
        for entry in dir.iter() {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if name.to_bytes().starts_with(b".") {
                continue;
            }
            // Another program may have removed the entry since.
            let Ok(stat) = fstatat(&folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) else { continue };
            match name.to_str().ok().filter(|name| path::is_plain(name)) {
                Some(name) if listing.entries.len() < MAX_ENTRIES => {
                    listing.entries.push(entry_of(name, &stat));
                }
                _ => listing.more += 1,
            }
        }
        listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listing)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be read.
    pub(crate) fn open(&self, path: &FilePath) -> Result<File, Problem> {
        let what = || format!("open {path}");
        let failed = |error| problem(&what(), error);
        let (folder, name) = self.parent(path).map_err(failed)?;
        let file = openat(&folder, name, OFlag::O_RDONLY | OPEN, Mode::empty()).map_err(failed)?;
        let stat = fstat(&file).map_err(failed)?;
        if SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
            let how = "open a file; list a folder with GET /api/folders";
            return Err(Problem::bad_request(what(), "it is not a file", how));
        }
        Ok(file.into())
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// When its name is taken, or the disk cannot be written.
    pub(crate) fn make_folder(&self, path: &FilePath) -> Result<(), Problem> {
        let failed = |error| problem(&format!("make the folder {path}"), error);
        let (folder, name) = self.parent(path).map_err(failed)?;
        // The process's umask takes away what others may not do, as for folders that cells make.
        mkdirat(&folder, name, Mode::S_IRWXU | Mode::S_IRWXG | Mode::S_IRWXO).map_err(failed)?;
        fsync(&folder).map_err(failed)
    }

    /// Renames or moves a file or a folder. Never replaces another one.
    ///
    /// # Errors
    /// When there is no such file, the new name is taken, or the disk cannot be written.
    pub(crate) fn rename(&self, from: &FilePath, to: &FilePath) -> Result<(), Problem> {
        let failed = |error| problem(&format!("rename {from} to {to}"), error);
        let (old, old_name) = self.parent(from).map_err(failed)?;
        let (new, new_name) = self.parent(to).map_err(failed)?;
        take_name(&old, old_name, &new, new_name).map_err(failed)?;
        fsync(&old).and_then(|()| fsync(&new)).map_err(failed)
    }

    /// The folder that contains a path, and the path's last component.
    fn parent<'a>(&self, path: &'a FilePath) -> Result<(OwnedFd, &'a str), Errno> {
        // The directory itself has no name that could be changed.
        let (name, folders) = path.components().split_last().ok_or(Errno::EBUSY)?;
        Ok((self.folder(folders)?, name))
    }

    /// Opens a folder, one component after the other.
    fn folder<S: AsRef<str>>(&self, components: &[S]) -> Result<OwnedFd, Errno> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        // Only the owner's own `--dir` may lead through links.
        let root = nix::fcntl::open(&self.root, flags, Mode::empty())?;
        components.iter().try_fold(root, |folder, name| {
            openat(&folder, name.as_ref(), flags | OPEN, Mode::empty()).map_err(|error| {
                // Linux has the same answer for a link and for a file.
                let is_link = || {
                    fstatat(&folder, name.as_ref(), AtFlags::AT_SYMLINK_NOFOLLOW)
                        .is_ok_and(|stat| kind_of(&stat) == EntryKind::Link)
                };
                if error == Errno::ENOTDIR && is_link() { Errno::ELOOP } else { error }
            })
        })
    }
}

/// Renames an entry. Fails with EEXIST if the new name is taken.
fn take_name(old: impl AsFd, old_name: &str, new: impl AsFd, new_name: &str) -> Result<(), Errno> {
    match renameat2(&old, old_name, &new, new_name, RenameFlags::RENAME_NOREPLACE) {
        // This file system cannot check the name and rename in one step.
        Err(Errno::EINVAL | Errno::ENOSYS) => match fstatat(&new, new_name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(_) => Err(Errno::EEXIST),
            Err(Errno::ENOENT) => nix::fcntl::renameat(&old, old_name, &new, new_name),
            Err(error) => Err(error),
        },
        done => done,
    }
}

fn kind_of(stat: &FileStat) -> EntryKind {
    match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFDIR => EntryKind::Folder,
        SFlag::S_IFREG => EntryKind::File,
        SFlag::S_IFLNK => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

#[allow(clippy::cast_precision_loss)]
fn entry_of(name: &str, stat: &FileStat) -> Entry {
    let kind = match kind_of(stat) {
        EntryKind::Folder if name.ends_with(NOTEBOOK_SUFFIX) => EntryKind::Notebook,
        kind => kind,
    };
    Entry {
        name: name.to_owned(),
        kind,
        bytes: (kind == EntryKind::File).then(|| u64::try_from(stat.st_size).unwrap_or_default()),
        modified: stat.st_mtime as f64 * 1e3 + (stat.st_mtime_nsec as f64 / 1e6).round(),
    }
}

fn errno(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// The problem that a system call reports.
fn problem(what: &str, error: Errno) -> Problem {
    let (kind, why, how) = match error {
        Errno::ENOENT | Errno::ENOTDIR => {
            (Kind::NotFound, "there is no such file or folder", "list the folder again")
        }
        Errno::EEXIST | Errno::ENOTEMPTY => {
            (Kind::Conflict, "there is already a file or a folder of this name", "choose another name")
        }
        Errno::EISDIR => (Kind::Conflict, "it is a folder", "choose another name"),
        Errno::ELOOP => (
            Kind::BadRequest,
            "it is a symbolic link, or behind one, and links are not followed",
            "open its target in a cell, or copy the file to the directory",
        ),
        Errno::EACCES | Errno::EPERM | Errno::EROFS => {
            (Kind::Forbidden, "the file system does not allow it", "check the permissions of the file")
        }
        Errno::EXDEV => {
            (Kind::Conflict, "it is on another file system", "move or delete it with a cell or in a terminal")
        }
        // `rename` of a folder into itself.
        Errno::EINVAL => (Kind::BadRequest, "a folder cannot be moved into itself", "choose another name"),
        Errno::EBUSY => (Kind::BadRequest, "it is in use by the system", "choose another file"),
        Errno::ENAMETOOLONG => (Kind::BadRequest, "its path is too long", "choose a shorter name"),
        // O_NONBLOCK of a socket or a device without a driver.
        Errno::ENXIO => (Kind::BadRequest, "it is not a file", "open a file"),
        Errno::EMFILE | Errno::ENFILE => (Kind::Busy, "too many files are open", "try again in a moment"),
        Errno::ENOSPC | Errno::EDQUOT => {
            (Kind::Disk, "the disk is full", "make room on the disk and try again")
        }
        error => (Kind::Disk, error.desc(), "check the disk and try again"),
    };
    Problem::new(kind, what, why, how)
}
