//! The trash contains deleted notebooks, and copies of notebooks that were made before a reset. It
//! is a hidden directory next to the notebooks. An entry stays until it is restored, deleted, too
//! old, or displaced by newer entries.

use super::notebook_dir::{self, NotebookInfo};
use super::open::{examine, transaction};
use super::paths::Paths;
use super::tables::{BROWSER_SESSIONS, LINKS};
use crate::problem::{Kind, Problem};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Name of the trash directory. It is next to the notebooks, so that moving a notebook to the trash
/// is a rename instead of a copy.
const TRASH: &str = ".ratoon-trash";

/// Maximum number of entries with the same notebook name. So a program that resets its notebook
/// repeatedly displaces only its own entries.
const MAX_OF_A_NAME: usize = 4;

/// Maximum number of all entries. Listing the trash opens the database of each entry.
const MAX_ENTRIES: usize = 32;

/// How long an entry is kept.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Why a notebook is in the trash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// The notebook was deleted.
    Deleted,
    /// The notebook was reset. The entry is a copy that was made before the reset.
    Reset,
}

impl Discarded {
    /// The word in directory names and in the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Reset => "reset",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Deleted, Self::Reset].into_iter().find(|one| one.word() == word)
    }
}

/// A notebook in the trash.
#[derive(Clone, Debug, PartialEq)]
pub struct Trashed {
    /// The name of the entry's directory, `MILLISECONDS-WORD-NAME`. The other fields are parsed
    /// from this name.
    pub id: String,
    /// The name that the notebook had.
    pub name: String,
    /// Why the notebook is in the trash.
    pub why: Discarded,
    /// When the entry was put into the trash, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    path: PathBuf,
}

impl Trashed {
    fn of(path: PathBuf) -> Option<Self> {
        let id = path.file_name()?.to_str()?.to_owned();
        let mut parts = id.splitn(3, '-');
        let at_ms = parts.next()?.parse().ok()?;
        let why = Discarded::from_word(parts.next()?)?;
        let name = parts.next().filter(|name| !name.is_empty())?.to_owned();
        // The target of a symbolic link does not belong to the trash.
        let is_dir = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        is_dir.then_some(Self { id, name, why, at_ms, path })
    }

    /// Reads from disk the entry's number of states, its size and its last use.
    pub fn inspect(&self) -> NotebookInfo {
        notebook_dir::inspect(&self.path, false)
    }
}

/// The entries of the trash in the directory `parent`, newest first.
pub fn list(parent: &Path) -> Vec<Trashed> {
    let trash = parent.join(TRASH);
    if trash.is_symlink() {
        // The target of a symbolic link does not belong to the trash.
        return Vec::new();
    }
    let entries = fs::read_dir(trash).into_iter().flatten().flatten();
    let mut all: Vec<Trashed> = entries.filter_map(|entry| Trashed::of(entry.path())).collect();
    all.sort_by(|a, b| (b.at_ms, &b.id).cmp(&(a.at_ms, &a.id)));
    all
}

/// Moves a notebook that no program has open into the trash. If `dir` is a symbolic link, deletes
/// only the link.
///
/// # Errors
/// When a program has the notebook open, or the disk cannot be written. The notebook then stays in
/// its old directory.
pub fn discard(dir: &Path) -> Result<(), Problem> {
    let paths = Paths::of(dir);
    match fs::symlink_metadata(dir) {
        // Only the link is deleted. Its target stays, so nothing goes into the trash.
        Ok(metadata) if metadata.is_symlink() => return notebook_dir::remove(dir),
        Ok(metadata) if metadata.is_dir() => {}
        _ => return Err(paths.refused("there is no such directory", "check the spelling of its name")),
    }
    let to = place(&paths, Discarded::Deleted)?;
    notebook_dir::relocate(dir, &to)?;
    prune(dir);
    Ok(())
}

/// Returns a free path in the trash, for a notebook or a copy of one. Creates the trash directory.
pub(super) fn place(paths: &Paths, why: Discarded) -> Result<PathBuf, Problem> {
    let trash = trash_beside(&paths.dir);
    // The directory is private, because a notebook contains everything that its code printed.
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&trash);
    let is_dir = fs::symlink_metadata(&trash).is_ok_and(|metadata| metadata.is_dir());
    if let Err(error) = made {
        return Err(unusable(&trash, error.to_string()));
    }
    if !is_dir {
        return Err(unusable(&trash, "it is a symbolic link".into()));
    }
    let name = paths.dir.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let places = (now_ms()..).map(|ms| trash.join(format!("{ms}-{}-{name}", why.word())));
    let free = places.take(MAX_ENTRIES).find(|path| fs::symlink_metadata(path).is_err());
    free.ok_or_else(|| unusable(&trash, "no free name was found in it".into()))
}

/// Restores an entry without its share links and browser sessions, because deleting the notebook
/// revoked them.
///
/// # Errors
/// When there is no such entry, the name is taken, or the entry cannot be read or moved. The entry
/// then stays in the trash.
pub fn restore(parent: &Path, id: &str, to: &Path) -> Result<(), Problem> {
    let entry = find(parent, id)?;
    let paths = Paths::of(&entry.path);
    let mut opened = examine(&paths, None, &entry.name)?;
    let fault = |fault| paths.fault(fault);
    transaction(&mut opened.tables, |tables| {
        tables.replace_all(&LINKS, std::iter::empty())?;
        tables.replace_all(&BROWSER_SESSIONS, std::iter::empty())
    })
    .map_err(fault)?;
    opened.tables.settle_on_close(true);
    opened.tables.empty_log().map_err(fault)?;
    drop(opened);
    notebook_dir::relocate(&entry.path, to)
}

/// Deletes an entry permanently.
///
/// # Errors
/// When there is no such entry, or the disk cannot be written.
pub fn purge(parent: &Path, id: &str) -> Result<(), Problem> {
    notebook_dir::remove(&find(parent, id)?.path)
}

/// Finds an entry by listing the trash, so that an id is never used as a path.
pub fn find(parent: &Path, id: &str) -> Result<Trashed, Problem> {
    list(parent).into_iter().find(|one| one.id == id).ok_or_else(|| Problem {
        kind: Kind::Conflict,
        what: format!("find {id:?} in the trash"),
        why: "there is no such entry".into(),
        how: "list the trash again; the entry may have been restored, deleted, or displaced by newer entries"
            .into(),
    })
}

/// Removes old and surplus entries from the trash that is next to a notebook's directory.
pub(super) fn prune(dir: &Path) {
    let parent = dir.parent().unwrap_or(Path::new(""));
    for one in surplus(list(parent), now_ms()) {
        // The next pruning tries again.
        let _ = notebook_dir::remove(&one.path);
    }
}

/// Removes old entries, and directories that interrupted work has left in the trash.
pub fn clean_up(parent: &Path) {
    let trash = parent.join(TRASH);
    if !trash.is_symlink() {
        notebook_dir::clean_up(&trash);
    }
    prune(&parent.join("any.ratoon"));
}

/// Returns the entries to remove. `all` must be sorted, newest first.
fn surplus(all: Vec<Trashed>, now_ms: u64) -> Vec<Trashed> {
    let mut kept: Vec<String> = Vec::new();
    let goes = |one: &Trashed| {
        let age = Duration::from_millis(now_ms.saturating_sub(one.at_ms));
        let same = kept.iter().filter(|name| **name == one.name).count();
        let goes = age > MAX_AGE || same >= MAX_OF_A_NAME || kept.len() >= MAX_ENTRIES;
        if !goes {
            kept.push(one.name.clone());
        }
        goes
    };
    all.into_iter().filter(goes).collect()
}

fn trash_beside(dir: &Path) -> PathBuf {
    dir.with_file_name(TRASH)
}

fn unusable(trash: &Path, why: String) -> Problem {
    Problem {
        kind: Kind::Disk,
        what: format!("use the trash {}", trash.display()),
        why,
        how: "make it a directory that Ratoon may write to".into(),
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at_ms: u64, name: &str) -> Trashed {
        let id = format!("{at_ms}-reset-{name}");
        Trashed { path: id.clone().into(), id, name: name.into(), why: Discarded::Reset, at_ms }
    }

    fn gone(all: Vec<Trashed>, now_ms: u64) -> Vec<String> {
        surplus(all, now_ms).into_iter().map(|one| one.id).collect()
    }

    #[test]
    fn the_newest_of_each_name_stay_and_old_ones_go() {
        let busy = (0..6).map(|n| entry(100 - n, "busy"));
        let all = busy.chain([entry(50, "calm")]).collect::<Vec<_>>();
        assert_eq!(gone(all, 200), ["96-reset-busy", "95-reset-busy"]);
        let month = u64::try_from(MAX_AGE.as_millis()).unwrap_or_default();
        assert_eq!(gone(vec![entry(2, "a"), entry(1, "b")], month + 2), ["1-reset-b"]);
        let many = (0..40).map(|n| entry(1000 - n, &format!("n{n}"))).collect();
        assert_eq!(gone(many, 1000).len(), 8);
        // If the clock was set back, no entry counts as old.
        assert_eq!(gone(vec![entry(u64::MAX, "a")], 0), Vec::<String>::new());
    }
}
