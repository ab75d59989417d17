//! Deleted files. They are in the trash of the notebooks, a hidden directory, until they are
//! restored, deleted permanently, 30 days old, or displaced by newer ones.
//!
//! Each deletion has a directory `MILLISECONDS-RANDOM` with two entries: `item`, which is what was
//! deleted, and the file `path`, which says where it was. `path` is written first.

use super::{Directory, EntryKind, FilePath, OPEN, errno, kind_of, problem, take_name};
use crate::problem::{Kind, Problem};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, fstatat, mkdirat};
use nix::unistd::fsync;
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The folder for files in the trash of the notebooks (`store/trash`). The store ignores this
/// folder, because its name cannot be the name of an entry.
const TRASH: [&str; 2] = [".ratoon-trash", "files"];

const ITEM: &str = "item";
const PATH: &str = "path";

/// How long a deleted file is kept.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Maximum number of deletions that are kept.
const MAX_ENTRIES: usize = 1000;

/// Maximum number of names that are tried for a restored file.
const MAX_NAMES: u32 = 1000;

/// A deleted file or folder.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct Deleted {
    pub(crate) id: String,
    /// The path that it had.
    pub(crate) path: String,
    pub(crate) kind: EntryKind,
    /// Length of a file, in bytes; null for other kinds.
    pub(crate) bytes: Option<u64>,
    /// When it was deleted, in milliseconds since the Unix epoch.
    pub(crate) at: u64,
}

impl Directory {
    /// Moves a file or a folder into the trash. Returns the id of the deletion.
    ///
    /// # Errors
    /// When there is no such file, or the disk cannot be written. The file then stays where it was.
    pub(crate) fn discard(&self, path: &FilePath) -> Result<String, Problem> {
        let _held = self.lock_trash();
        discard(self, path)
    }

    /// The deleted files, newest first.
    pub(crate) fn deleted(&self) -> Vec<Deleted> {
        let Ok(trash) = self.folder(&TRASH) else { return Vec::new() };
        let mut all: Vec<Deleted> =
            names_in(&trash).iter().filter_map(|name| read_entry(&trash, name)).collect();
        all.sort_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
        all
    }

    /// Puts a deleted file back. If its name is taken, gives it a similar one; if its folder is
    /// gone, makes the folder. Returns the path.
    ///
    /// # Errors
    /// When there is no such deletion, or the disk cannot be written.
    pub(crate) fn restore(&self, id: &str) -> Result<String, Problem> {
        let _held = self.lock_trash();
        let entry = self.find(id)?;
        let failed = |error| problem(&format!("restore {}", entry.path), error);
        let own = self.folder(&[TRASH[0], TRASH[1], id]).map_err(failed)?;
        let path = FilePath::parse(&entry.path)?;
        let (name, folders) = path.components().split_last().ok_or_else(|| failed(Errno::ENOENT))?;
        let mut folder = self.folder::<&str>(&[]).map_err(failed)?;
        for part in folders {
            match mkdirat(&folder, part.as_str(), Mode::S_IRWXU | Mode::S_IRWXG | Mode::S_IRWXO) {
                Ok(()) | Err(Errno::EEXIST) => {}
                Err(error) => return Err(failed(error)),
            }
            let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OPEN;
            folder = openat(&folder, part.as_str(), flags, Mode::empty()).map_err(failed)?;
        }
        for free in similar_names(name) {
            match take_name(&own, ITEM, &folder, &free) {
                Ok(()) => {
                    fsync(&folder).map_err(failed)?;
                    self.remove_entry(id);
                    let all: Vec<&str> = folders.iter().map(String::as_str).chain([free.as_str()]).collect();
                    return Ok(all.join("/"));
                }
                Err(Errno::EEXIST) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(Errno::EEXIST))
    }

    /// Deletes a deleted file permanently.
    ///
    /// # Errors
    /// When there is no such deletion, or the disk cannot be written.
    pub(crate) fn purge(&self, id: &str) -> Result<(), Problem> {
        let _held = self.lock_trash();
        let entry = self.find(id)?;
        // `remove_dir_all` follows no link.
        std::fs::remove_dir_all(self.entry_path(id))
            .map_err(|e| problem(&format!("delete {} permanently", entry.path), errno(&e)))
    }

    /// Deletes old and surplus entries, and those that an interruption left without content.
    pub(crate) fn prune(&self) {
        let _held = self.lock_trash();
        prune(self);
    }

    /// Finds a deletion in the list, so that an id is never used as a path.
    fn find(&self, id: &str) -> Result<Deleted, Problem> {
        self.deleted().into_iter().find(|one| one.id == id).ok_or_else(|| {
            let why = "it may have been restored, or removed to make room for newer ones";
            Problem::new(Kind::NotFound, format!("find the deleted file {id:?}"), why, "list them again")
        })
    }

    fn entry_path(&self, id: &str) -> std::path::PathBuf {
        self.root().join(TRASH[0]).join(TRASH[1]).join(id)
    }

    fn remove_entry(&self, id: &str) {
        // The next pruning tries again.
        let _ = std::fs::remove_dir_all(self.entry_path(id));
    }
}

/// Deletes old and surplus entries, and those without content. The caller holds the lock of the
/// trash: an entry that is being made has no content yet.
fn prune(directory: &Directory) {
    let Ok(trash) = directory.folder(&TRASH) else { return };
    let oldest = now_ms().saturating_sub(u64::try_from(MAX_AGE.as_millis()).unwrap_or(u64::MAX));
    let kept: Vec<String> = directory
        .deleted()
        .into_iter()
        .take(MAX_ENTRIES)
        .filter(|one| one.at >= oldest)
        .map(|one| one.id)
        .collect();
    for name in names_in(&trash) {
        if time_of(&name).is_some() && !kept.contains(&name) {
            directory.remove_entry(&name);
        }
    }
}

/// Moves a file or a folder into the trash. The caller holds the lock of the trash.
pub(super) fn discard(directory: &Directory, path: &FilePath) -> Result<String, Problem> {
    let failed = |error| problem(&format!("delete {path}"), error);
    let (folder, name) = directory.parent(path).map_err(failed)?;
    // Nothing is made in the trash for a file that does not exist.
    fstatat(&folder, name, AtFlags::AT_SYMLINK_NOFOLLOW).map_err(failed)?;
    let mut trash = directory.folder::<&str>(&[]).map_err(failed)?;
    for part in TRASH {
        trash = private_folder(&trash, part).map_err(failed)?;
    }
    let id = format!("{}-{}", now_ms(), uuid::Uuid::new_v4().simple());
    let entry = private_folder(&trash, &id).map_err(failed)?;
    let done = write_path(&entry, path).and_then(|()| take_name(&folder, name, &entry, ITEM));
    if let Err(error) = done {
        directory.remove_entry(&id);
        return Err(failed(error));
    }
    for changed in [&entry, &trash, &folder] {
        fsync(changed).map_err(failed)?;
    }
    prune(directory);
    Ok(id)
}

/// Makes a folder that only this user may open, unless it exists, and opens it.
fn private_folder(parent: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    match mkdirat(parent, name, Mode::S_IRWXU) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(error) => return Err(error),
    }
    openat(parent, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY | OPEN, Mode::empty())
}

fn write_path(entry: &OwnedFd, path: &FilePath) -> Result<(), Errno> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OPEN;
    let mut file = File::from(openat(entry, PATH, flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
    let written = file.write_all(path.to_string().as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| errno(&error))
}

fn names_in(folder: &OwnedFd) -> Vec<String> {
    let dir = folder.try_clone().map_err(|e| errno(&e)).and_then(Dir::from_fd);
    let Ok(mut dir) = dir else { return Vec::new() };
    dir.iter().flatten().filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned)).collect()
}

fn read_entry(trash: &OwnedFd, id: &str) -> Option<Deleted> {
    let at = time_of(id)?;
    let entry = openat(trash, id, OFlag::O_RDONLY | OFlag::O_DIRECTORY | OPEN, Mode::empty()).ok()?;
    let stat = fstatat(&entry, ITEM, AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
    let file = File::from(openat(&entry, PATH, OFlag::O_RDONLY | OPEN, Mode::empty()).ok()?);
    let mut path = String::new();
    // A path has at most 4095 bytes; a longer text is not ours, and `parse` refuses it.
    file.take(8192).read_to_string(&mut path).ok()?;
    let path = FilePath::parse(&path).ok()?.to_string();
    let kind = kind_of(&stat);
    let bytes = (kind == EntryKind::File).then(|| u64::try_from(stat.st_size).unwrap_or_default());
    Some(Deleted { id: id.to_owned(), path, kind, bytes, at })
}

/// The time in the name of an entry.
fn time_of(id: &str) -> Option<u64> {
    id.split_once('-')?.0.parse().ok()
}

/// A name, and then similar ones: `a.csv`, `a (2).csv`, `a (3).csv`.
fn similar_names(name: &str) -> impl Iterator<Item = String> {
    let (stem, suffix) = match name.rfind('.').filter(|at| *at > 0) {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    let more = (2..MAX_NAMES).map(move |n| format!("{stem} ({n}){suffix}"));
    std::iter::once(name.to_owned()).chain(more)
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
