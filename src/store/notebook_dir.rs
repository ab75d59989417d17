//! Creates, inspects, renames, copies and removes whole notebooks.
//!
//! A new notebook is written under a temporary name and then renamed. A notebook is renamed to a
//! temporary name before it is deleted. If the program is interrupted, the next start of a server
//! removes the directory with the temporary name.

use super::attachments::Attachments;
use super::key::{InstallKey, Seal};
use super::load::load_credentials;
use super::lock::Lock;
use super::open::{examine, make, open_tables, transaction, upgraded};
use super::paths::{Paths, is_notebook};
use super::tables::{Fault, META, Tables};
use super::thread::put_credentials;
use super::write::{Writer, parts_of};
use crate::blobs::{Blobs, Digest};
use crate::notebook::{KeptCredentials, KeptLink, Notebook, Parts};
use crate::problem::{Kind, Problem};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Prefix of the temporary name of a notebook that is being written. A random suffix follows.
const COMING: &str = ".ratoon-coming-";
/// Prefix of the temporary name of a notebook that is being deleted. A random suffix follows.
const GOING: &str = ".ratoon-going-";

/// Facts about a notebook that can be found without opening it in the server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NotebookInfo {
    /// Number of states, without the root and deleted states. `None` if a program has the notebook
    /// open, or if the notebook cannot be read.
    pub states: Option<u64>,
    /// Size on disk in bytes, including blobs that are shared with other notebooks.
    pub bytes: u64,
    /// When the notebook was last written to, in milliseconds since the Unix epoch.
    pub last_used: Option<f64>,
}

/// Reads a notebook that no program has open. Changes nothing, except that it upgrades a database
/// of an older version.
///
/// # Errors
/// When another program has the notebook open, the directory is no notebook, or its database
/// cannot be repaired.
pub fn read(dir: &Path, name: &str) -> Result<Notebook, Problem> {
    let examined = examine(&Paths::of(dir), None, name)?;
    let created_at = examined.loaded.parts.states.first().map_or(0.0, |root| root.created_at);
    Ok(Notebook::from_parts(examined.loaded.parts, created_at))
}

/// Creates a notebook with this content. `file` is the `.ipynb` that it was imported from, and
/// `attachments` are pictures of its texts, by name. Writes the notebook under a temporary name,
/// and renames it when all of it is on disk.
///
/// # Errors
/// When the name is taken, or the disk cannot be written.
pub fn create(
    dir: &Path,
    notebook: &Notebook,
    file: Option<&str>,
    attachments: &[(String, Vec<u8>)],
) -> Result<(), Problem> {
    let paths = Paths::of(dir);
    is_free(&paths)?;
    let (coming, lock) = begin(&paths)?;
    let written =
        write_new(&coming, parts_of(notebook), file).map_err(|fault| unwritten(&paths, fault.why, fault.how));
    let attached = Attachments::in_notebook(&coming.dir);
    let done = written
        .and_then(|()| attachments.iter().try_for_each(|(name, bytes)| attached.put(name, bytes)))
        .and_then(|()| take_name(&coming.dir, &paths));
    drop(lock);
    done.inspect_err(|_| clear(&coming.dir))
}

/// Creates an empty notebook if its name is free.
///
/// # Errors
/// When the disk cannot be written.
pub(super) fn create_if_missing(paths: &Paths) -> Result<(), Problem> {
    // A dangling symbolic link also occupies the name.
    if fs::symlink_metadata(&paths.dir).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        let made = create_empty(paths);
        // Another program may have created the notebook at the same time.
        if !paths.dir.is_dir() {
            made?;
        }
    }
    Ok(())
}

/// Creates an empty notebook.
///
/// # Errors
/// When the name is taken, or the disk cannot be written.
fn create_empty(paths: &Paths) -> Result<(), Problem> {
    if let Some(parent) = paths.dir.parent() {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(parent);
        made.map_err(|error| paths.fault(error.into()))?;
    }
    let (coming, lock) = begin(paths)?;
    let made = make(&coming).map_err(|fault| paths.fault(fault));
    let done = made.and_then(|()| take_name(&coming.dir, paths));
    drop(lock);
    done.inspect_err(|_| clear(&coming.dir))
}

fn write_new(paths: &Paths, mut parts: Parts, file: Option<&str>) -> Result<(), Fault> {
    make(paths)?;
    let mut writer = Writer::new(Tables::open(&paths.database())?, Blobs::at(&paths.blobs()));
    writer.begin()?;
    if let Some(file) = file {
        parts.imported_file = writer.keep_imported_file(file)?;
    }
    writer.whole(&parts)?;
    writer.settle()?;
    writer.commit()?;
    writer.tables.settle_on_close(true);
    writer.tables.empty_log()
}

/// Copies a notebook that is not open to a new name.
///
/// # Errors
/// When another program has the notebook open, the name is taken, or the disk cannot be written.
pub fn duplicate(from: &Path, to: &Path) -> Result<(), Problem> {
    let source = Paths::of(from);
    if !from.is_dir() {
        return Err(source.refused("there is no such directory", "check the spelling of its name"));
    }
    is_notebook(&source)?;
    let lock = Lock::take(from)?;
    let tables = open_tables(&source)?;
    let done = copy(&source, to, |database| tables.copy_to(database).map_err(|fault| fault.why));
    drop(lock);
    done
}

/// Copies a notebook. `copy_database` must write the database of the copy to the path that it gets.
/// The copy has no share links, no browser sessions and no tasks.
pub(super) fn copy(
    from: &Paths,
    to: &Path,
    copy_database: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), Problem> {
    let paths = Paths::of(to);
    is_free(&paths)?;
    let (coming, lock) = begin(&paths)?;
    let refused = |why: String| unwritten(&paths, why, "make room on the disk and try again");
    let done = copy_database(&coming.database())
        .and_then(|()| copy_blobs(&from.blobs(), &coming.blobs()).map_err(|error| error.to_string()))
        .and_then(|()| copy_attachments(from, &coming).map_err(|error| error.to_string()))
        .and_then(|()| fs::create_dir_all(coming.temporary()).map_err(|error| error.to_string()))
        .map_err(refused)
        .and_then(|()| take_name(&coming.dir, &paths));
    drop(lock);
    done.inspect_err(|_| clear(&coming.dir))
}

/// Creates and locks the temporary directory of a pull. The same pull always has the same
/// directory, so it finds the blobs of an interrupted one.
///
/// # Errors
/// When the directory cannot be made, or the same pull is running.
pub(super) fn begin_pull(paths: &Paths, source: &str) -> Result<(Paths, Lock), Problem> {
    let own = format!("{source}\n{}", paths.dir.display());
    let id = Digest::of(own.as_bytes()).to_string();
    let coming = Paths::of(&paths.dir.with_file_name(format!("{COMING}{}", &id[..32])));
    match DirBuilder::new().mode(0o700).create(&coming.dir) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(paths.refused(error.to_string(), "check the permissions of its directory"));
        }
        _ => {}
    }
    if !fs::symlink_metadata(&coming.dir).is_ok_and(|metadata| metadata.is_dir()) {
        return Err(paths.refused(format!("{} is not a directory", coming.dir.display()), "remove it"));
    }
    coming.vet()?;
    let lock = Lock::make(&coming.dir)?;
    Ok((coming, lock))
}

/// Gives a pulled notebook its name.
///
/// # Errors
/// When the name is taken in the meantime. The temporary directory stays for another attempt.
pub(super) fn finish_pull((coming, lock): (Paths, Lock), paths: &Paths) -> Result<(), Problem> {
    let done = take_name(&coming.dir, paths);
    drop(lock);
    done
}

/// Makes hard links to the attachments, because they never change. A notebook without attachments
/// has no folder for them.
fn copy_attachments(from: &Paths, to: &Paths) -> io::Result<()> {
    if from.attachments().is_dir() {
        let folder = copy_files(&from.attachments(), to.attachments())?;
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Makes hard links to the files of a folder in a new folder.
fn copy_files(from: &Path, to: PathBuf) -> io::Result<PathBuf> {
    fs::create_dir_all(&to)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        if !file.file_type()?.is_file() {
            continue;
        }
        let (path, own) = (file.path(), to.join(file.file_name()));
        if fs::hard_link(&path, &own).is_err() {
            fs::copy(&path, &own)?;
            File::open(&own)?.sync_all()?;
        }
    }
    Ok(to)
}

/// Makes hard links to the blobs, because blobs never change. Syncs the folders after all links are
/// made, so that the file system writes its journal once.
pub(super) fn copy_blobs(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut folders = vec![to.to_owned()];
    for folder in fs::read_dir(from)? {
        let folder = folder?;
        if !folder.file_type()?.is_dir() {
            continue;
        }
        folders.push(copy_files(&folder.path(), to.join(folder.file_name()))?);
    }
    folders.iter().try_for_each(|folder| File::open(folder)?.sync_all())
}

/// Renames a notebook that is not open. Its share links keep working.
///
/// # Errors
/// When another program has the notebook open, the name is taken, or the disk cannot be written.
/// The notebook then keeps its old name.
pub fn rename(from: &Path, to: &Path, names: (&str, &str), key: &InstallKey) -> Result<(), Problem> {
    let (old, new) = (Paths::of(from), Paths::of(to));
    is_free(&new)?;
    if !from.is_dir() {
        return Err(old.refused("there is no such directory", "check the spelling of its name"));
    }
    is_notebook(&old)?;
    let lock = Lock::take(from)?;
    // A share link contains the notebook's name. The links get the new name before the directory is
    // renamed. If renaming then fails, a link opens nothing, and never another notebook.
    bind_links(&old, names, key)?;
    let done = take_name(from, &new);
    if done.is_err() {
        // If this also fails, only the links are lost, and the user can make new ones.
        let _ = bind_links(&old, (names.1, names.0), key);
    }
    drop(lock);
    done
}

/// Replaces the name `from` by `to` in the stored share links, and signs the links again. Drops
/// links with other names. Also drops browser sessions, because a server stores them only with its
/// start notebook.
fn bind_links(paths: &Paths, (from, to): (&str, &str), key: &InstallKey) -> Result<(), Problem> {
    let fault = |fault| paths.fault(fault);
    let mut tables = upgraded(paths, open_tables(paths)?)?;
    let links = load_credentials(&mut tables, key).map_err(fault)?.links;
    let links = links.into_iter().filter(|link| link.notebook == from);
    let links = links.map(|link| KeptLink { notebook: to.to_owned(), ..link }).collect();
    let credentials = KeptCredentials { links, sessions: Vec::new() };
    let id = tables.get(&META, &["notebook_id".into()]).map_err(fault)?;
    let id = id.and_then(|row| row[1].text().map(str::to_owned)).unwrap_or_default();
    let seal = Seal::new(key, &id);
    transaction(&mut tables, |tables| put_credentials(tables, &credentials, &seal)).map_err(fault)?;
    tables.settle_on_close(true);
    tables.empty_log().map_err(fault)
}

/// Moves a notebook that is not open to another directory of the same file system.
///
/// # Errors
/// When a program has the notebook open, the name is taken, or the disk cannot be written. The
/// notebook then stays in its old directory.
pub(super) fn relocate(from: &Path, to: &Path) -> Result<(), Problem> {
    let paths = Paths::of(from);
    let lock = Lock::take(from)?;
    take_name(from, &Paths::of(to))?;
    drop(lock);
    sync_parent(from).map_err(|error| paths.refused(error.to_string(), "check the disk"))
}

/// Renames a notebook that is not open, then deletes it permanently. If `dir` is a symbolic link,
/// deletes only the link, because its target may be in use under another name.
///
/// # Errors
/// When another program has the notebook open, or the notebook cannot be renamed.
pub(super) fn remove(dir: &Path) -> Result<(), Problem> {
    let paths = Paths::of(dir);
    let refused = |error: io::Error| paths.refused(error.to_string(), "check its permissions");
    if dir.is_symlink() {
        fs::remove_file(dir).map_err(refused)?;
        return sync_parent(dir).map_err(refused);
    }
    if !dir.is_dir() {
        return Err(paths.refused("there is no such directory", "check the spelling of its name"));
    }
    let lock = Lock::make(dir)?;
    let going = beside(dir, GOING);
    fs::rename(dir, &going).map_err(refused)?;
    sync_parent(dir).map_err(refused)?;
    drop(lock);
    // The name is free now. If a file cannot be deleted, the next start of a server tries again. So
    // this is not an error.
    clear(&going);
    Ok(())
}

/// Whether a program has a notebook open.
pub fn is_open(dir: &Path) -> bool {
    dir.is_dir() && Lock::is_held(dir)
}

/// Inspects a notebook. If the notebook `is_open` in this server, does not count its states,
/// because the session knows their number.
pub fn inspect(dir: &Path, is_open: bool) -> NotebookInfo {
    let paths = Paths::of(dir);
    let written = |path: PathBuf| {
        let time = fs::symlink_metadata(path).ok()?.modified().ok()?;
        Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64() * 1000.0)
    };
    let (database, log) = (written(paths.database()), written(paths.log()));
    let last_used = [database, log].into_iter().flatten().max_by(f64::total_cmp);
    let states = if is_open { None } else { count(&paths) };
    NotebookInfo { states, bytes: size(dir), last_used }
}

fn count(paths: &Paths) -> Option<u64> {
    is_notebook(paths).ok()?;
    let _lock = Lock::take_at_once(&paths.dir).ok()?;
    open_tables(paths).ok()?.count_states().ok()
}

/// Returns the number of bytes that a file, or a directory with its content, takes on disk. Entries
/// that cannot be read count as zero.
fn size(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    let inside = || fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum();
    metadata.blocks() * 512 + if metadata.is_dir() { inside() } else { 0 }
}

/// Removes notebooks whose creation or deletion was interrupted. Skips directories that another
/// program has locked.
pub fn clean_up(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_left = name.to_str().is_some_and(|name| name.starts_with(COMING) || name.starts_with(GOING));
        // This is false for a symbolic link, so the target of a link is never removed.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_left && is_folder && Lock::make_at_once(&entry.path()).is_ok() {
            clear(&entry.path());
        }
    }
}

/// Creates and locks a temporary directory for a new notebook, next to the notebook's final place.
fn begin(paths: &Paths) -> Result<(Paths, Lock), Problem> {
    let coming = Paths::of(&beside(&paths.dir, COMING));
    // The directory is private, because the notebook contains everything that its code printed.
    DirBuilder::new().mode(0o700).create(&coming.dir).map_err(|error| {
        let how = if error.kind() == ErrorKind::NotFound {
            "create that directory first"
        } else {
            "check its permissions"
        };
        paths.refused(error.to_string(), how)
    })?;
    let lock = Lock::make(&coming.dir)?;
    Ok((coming, lock))
}

fn beside(dir: &Path, begin: &str) -> PathBuf {
    dir.with_file_name(format!("{begin}{}", uuid::Uuid::new_v4().simple()))
}

/// Renames a directory durably. Fails if the new name is taken.
fn take_name(from: &Path, to: &Paths) -> Result<(), Problem> {
    match renameat2(AT_FDCWD, from, AT_FDCWD, &to.dir, RenameFlags::RENAME_NOREPLACE) {
        Ok(()) => {}
        Err(nix::Error::EEXIST) => return Err(taken(to)),
        // This file system cannot check the name and rename the directory in one step.
        Err(nix::Error::EINVAL | nix::Error::ENOSYS) => {
            is_free(to)?;
            fs::rename(from, &to.dir).map_err(|e| to.refused(e.to_string(), "check its permissions"))?;
        }
        Err(error) => return Err(to.refused(error.desc(), "check its permissions")),
    }
    sync_parent(&to.dir).map_err(|e| to.refused(e.to_string(), "check the disk"))
}

fn is_free(paths: &Paths) -> Result<(), Problem> {
    if fs::symlink_metadata(&paths.dir).is_ok() { Err(taken(paths)) } else { Ok(()) }
}

fn taken(paths: &Paths) -> Problem {
    let name = paths.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Problem {
        kind: Kind::Conflict,
        what: format!("use the name {name}"),
        why: "a file or directory has this name already".into(),
        how: "choose another name".into(),
    }
}

/// The error for a notebook that cannot be written. It contains the notebook's name instead of the
/// temporary path.
fn unwritten(paths: &Paths, why: impl Into<String>, how: &str) -> Problem {
    let name = paths.dir.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".ratoon").unwrap_or(&name);
    Problem {
        kind: Kind::Disk,
        what: format!("write the notebook {name:?}"),
        why: why.into(),
        how: how.to_owned(),
    }
}

fn sync_parent(dir: &Path) -> io::Result<()> {
    match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

fn clear(dir: &Path) {
    // The next start of a server removes the files that could not be deleted.
    let _ = fs::remove_dir_all(dir);
}
