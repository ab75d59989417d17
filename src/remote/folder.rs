//! A store in a directory, such as one on a network drive.

use super::outcome::{Failure, Object, Outcome};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The folder of files that are being written. No key begins with its name.
const TEMPORARY: &str = ".tmp";

/// A directory whose files are the objects.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Writes a file under a temporary name, then renames it.
    pub(super) fn put(&self, key: &str, bytes: &[u8]) -> Outcome<()> {
        self.check()?;
        let path = self.root.join(key);
        let parent = path.parent().unwrap_or(&self.root);
        let written = self.temporary(bytes).and_then(|draft| {
            make(parent)?;
            fs::rename(draft, &path)?;
            File::open(parent)?.sync_all()
        });
        written.map_err(|error| failed(&error))
    }

    /// Makes a new file outside of all keys, with its content on disk.
    fn temporary(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        let folder = self.root.join(TEMPORARY);
        make(&folder)?;
        let path = folder.join(uuid::Uuid::new_v4().simple().to_string());
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        // A leftover file does no harm: no key names it.
        written.inspect_err(|_| drop(fs::remove_file(&path))).map(|()| path)
    }

    pub(super) fn get(&self, key: &str, max_bytes: usize) -> Outcome<Option<Object>> {
        let Some((file, metadata)) = self.open(key)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(max_bytes as u64 + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        if bytes.len() > max_bytes {
            return Err(super::outcome::too_long(max_bytes));
        }
        Ok(Some(Object { bytes, age: self.age_of(&metadata)? }))
    }

    pub(super) fn age(&self, key: &str) -> Outcome<Option<Duration>> {
        let found = self.open(key)?;
        found.map(|(_, metadata)| self.age_of(&metadata)).transpose()
    }

    fn open(&self, key: &str) -> Outcome<Option<(File, fs::Metadata)>> {
        self.check()?;
        let open = || -> io::Result<_> {
            let file = crate::blobs::nofollow::open_file(&self.root.join(key))?;
            let metadata = file.metadata()?;
            Ok((file, metadata))
        };
        match open() {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    /// The time since a file was written. The file system may be on another machine with another
    /// clock, so the present time is taken from a file that is created now.
    fn age_of(&self, metadata: &fs::Metadata) -> Outcome<Duration> {
        let age = || {
            let path = self.temporary(&[])?;
            let now: SystemTime = fs::metadata(&path)?.modified()?;
            fs::remove_file(path)?;
            Ok(now.duration_since(metadata.modified()?).unwrap_or_default())
        };
        age().map_err(|error: io::Error| failed(&error))
    }

    pub(super) fn list(&self, prefix: &str, most: usize) -> Outcome<Vec<String>> {
        self.check()?;
        let (mut keys, mut folders) = (Vec::new(), vec![String::new()]);
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(self.root.join(&folder)) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                other => other.map_err(|error| failed(&error))?,
            };
            for entry in entries {
                let entry = entry.map_err(|error| failed(&error))?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                let key = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                let kind = entry.file_type().map_err(|error| failed(&error))?;
                let may_hold = key.starts_with(prefix) || prefix.starts_with(&format!("{key}/"));
                if kind.is_dir() && key != TEMPORARY && may_hold {
                    folders.push(key);
                } else if kind.is_file() && key.starts_with(prefix) {
                    keys.push(key);
                }
            }
            if keys.len() > most {
                return Err(super::outcome::too_many(most));
            }
        }
        Ok(keys)
    }

    pub(super) fn delete(&self, key: &str) -> Outcome<()> {
        self.check()?;
        match fs::remove_file(self.root.join(key)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&error)),
            _ => Ok(()),
        }
    }

    /// Makes the directory, but not its parent: a network drive that is not mounted must not be
    /// replaced by a directory of this machine.
    fn check(&self) -> Outcome<()> {
        if self.root.is_dir() {
            return Ok(());
        }
        match fs::DirBuilder::new().mode(0o700).create(&self.root) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let parent = self.root.parent().unwrap_or(&self.root).display();
                Err(Failure {
                    why: format!("the directory {parent} does not exist"),
                    how: "mount it, or make it with mkdir",
                    is_transient: false,
                })
            }
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(failed(&error)),
            _ => Ok(()),
        }
    }
}

fn make(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn failed(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            Failure::refused(error.to_string(), "make its directory writable for you")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Failure::refused(
            error.to_string(),
            "make room there, or remove old blobs with `ratoon gc --store`",
        ),
        ErrorKind::Interrupted | ErrorKind::TimedOut | ErrorKind::StaleNetworkFileHandle => {
            Failure::transient(error.to_string())
        }
        _ => Failure::refused(error.to_string(), "check the directory"),
    }
}
