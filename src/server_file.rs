//! The file by which programs of the same user find a running server: its address and its token.
//!
//! The server holds a lock on the file as long as it lives, so a file without a lock belongs to a
//! server that was killed. Nobody but the user can read the file.

use nix::libc::O_NOFOLLOW;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where a server is, and what it serves.
#[derive(Debug, Serialize)]
pub(crate) struct Described<'a> {
    /// The address without a path, for example `http://127.0.0.1:8080`, and the base path.
    pub(crate) url: String,
    /// The owner's token.
    pub(crate) token: &'a str,
    /// The directory in which cells run and notebooks are kept.
    pub(crate) dir: &'a Path,
    /// The notebook that the server was started with.
    pub(crate) notebook: &'a str,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(flatten)]
    described: &'a Described<'a>,
    pid: u32,
    /// Identifies the machine and its start. The directory may be shared by several machines, and
    /// the address is valid only on this one.
    boot: String,
}

/// The file of this server. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct ServerFile {
    path: PathBuf,
    /// Open, because it holds the lock.
    _file: File,
}

impl ServerFile {
    /// Writes the file `servers/PID.json` in Ratoon's data directory, and removes the files of
    /// servers that were killed.
    pub(crate) fn write(data_dir: &Path, described: &Described<'_>) -> io::Result<Self> {
        let dir = data_dir.join("servers");
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        let metadata = fs::symlink_metadata(&dir)?;
        if !metadata.is_dir()
            || metadata.uid() != nix::unistd::geteuid().as_raw()
            || metadata.mode() & 0o077 != 0
        {
            let why = format!("{} is not a directory that only you can use", dir.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        remove_abandoned(&dir);
        let pid = std::process::id();
        let content = Content { described, pid, boot: boot_id() };
        // Locked under a temporary name, and then renamed: no client finds it without its lock.
        let temporary = dir.join(format!(".{pid}"));
        let _ = fs::remove_file(&temporary);
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create_new(true).mode(0o600).custom_flags(O_NOFOLLOW).open(&temporary)?;
        file.lock()?;
        file.write_all(&serde_json::to_vec(&content)?)?;
        let path = dir.join(format!("{pid}.json"));
        fs::rename(&temporary, &path)?;
        Ok(Self { path, _file: file })
    }
}

impl Drop for ServerFile {
    fn drop(&mut self) {
        // A file that cannot be removed loses its lock when this process ends.
        let _ = fs::remove_file(&self.path);
    }
}

/// A server that a file describes.
#[derive(Clone, Deserialize)]
pub(crate) struct FoundServer {
    pub(crate) url: String,
    pub(crate) token: String,
    dir: PathBuf,
    boot: String,
}

/// Finds a running server of this machine whose cells run in this directory.
pub(crate) fn find(data_dir: &Path, dir: &Path) -> Option<FoundServer> {
    let boot = boot_id();
    let entries = fs::read_dir(data_dir.join("servers")).into_iter().flatten().flatten();
    let files =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json"));
    let servers = files.filter_map(|path| read_running(&path).ok());
    servers.into_iter().find(|server| server.dir == dir && server.boot == boot)
}

/// Reads the file of a running server. Refuses one that another user could have written.
fn read_running(path: &Path) -> io::Result<FoundServer> {
    let mut file = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW).open(path)?;
    let metadata = file.metadata()?;
    let is_ours = metadata.uid() == nix::unistd::geteuid().as_raw() && metadata.mode() & 0o077 == 0;
    if !metadata.is_file() || !is_ours || file.try_lock_shared().is_ok() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Removes the files of servers that no longer run.
fn remove_abandoned(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_file = path.extension().is_some_and(|end| end == "json");
        let options = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW).clone();
        if is_file && options.open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_locked_private_and_removed_and_those_of_killed_servers_are_removed_too() {
        let room = std::env::temp_dir().join(format!("ratoon-server-file-{}", uuid::Uuid::new_v4()));
        let dir = room.join("servers");
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).unwrap();
        fs::write(dir.join("1.json"), "{}").unwrap();
        let described = Described {
            url: "http://127.0.0.1:1".into(),
            token: "secret",
            dir: Path::new("/d"),
            notebook: "main",
        };
        let file = ServerFile::write(&room, &described).unwrap();
        let names: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(names, std::slice::from_ref(&file.path));
        assert_eq!(fs::metadata(&file.path).unwrap().mode() & 0o777, 0o600);
        let read: serde_json::Value = serde_json::from_slice(&fs::read(&file.path).unwrap()).unwrap();
        assert_eq!((&read["token"], &read["dir"]), (&"secret".into(), &"/d".into()));
        assert!(File::open(&file.path).unwrap().try_lock_shared().is_err());
        assert!(find(&room, Path::new("/d")).is_some_and(|server| server.token == "secret"));
        assert!(find(&room, Path::new("/e")).is_none());
        let path = file.path.clone();
        drop(file);
        assert!(find(&room, Path::new("/d")).is_none());
        assert!(!path.exists());
        fs::remove_dir_all(&room).unwrap();
    }

    #[test]
    fn a_directory_that_others_can_use_is_refused() {
        let room = std::env::temp_dir().join(format!("ratoon-server-file-{}", uuid::Uuid::new_v4()));
        DirBuilder::new().recursive(true).mode(0o755).create(room.join("servers")).unwrap();
        let described = Described { url: String::new(), token: "t", dir: &room, notebook: "main" };
        assert!(ServerFile::write(&room, &described).is_err());
        fs::remove_dir_all(&room).unwrap();
    }
}
