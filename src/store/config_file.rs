//! Writes the small files of the config directory, next to the key.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Replaces a file durably. Only its owner may read it.
///
/// # Errors
/// When it cannot be written. The earlier content then stays.
pub(super) fn replace(dir: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let draft = dir.join(format!("{name}.{}", uuid::Uuid::new_v4().simple()));
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()?;
            std::fs::rename(&draft, dir.join(name))
        });
    if written.is_err() {
        // Removing fails if the file was not created. This is not an error.
        let _ = std::fs::remove_file(&draft);
    }
    written.and_then(|()| File::open(dir)?.sync_all())
}

/// Reads a file of at most `limit` bytes; of a longer one, the beginning.
///
/// # Errors
/// When it cannot be read or is no text.
pub(super) fn read(dir: &Path, name: &str, limit: u64) -> io::Result<String> {
    let flags = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(dir.join(name))?;
    let mut text = String::new();
    file.take(limit).read_to_string(&mut text)?;
    Ok(text)
}
