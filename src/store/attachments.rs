//! Attachments: the pictures that users paste into text cells. A text refers to one as
//! `attachment:NAME`, as in Jupyter. They are files in the notebook's directory and not rows of its
//! database, because they never change, and the texts that refer to them move between cells.
//!
//! A name contains a digest of the picture. So two pictures never have one name, and a picture that
//! is attached twice is stored once.

use super::paths::Paths;
use crate::blobs::Digest;
use crate::blobs::nofollow::{FileKind, open_file};
use crate::problem::{Kind, Problem};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Maximum length of an attachment, in bytes.
pub const MAX_ATTACHMENT_BYTES: usize = 10 * 1024 * 1024;
/// Maximum number of attachments of a notebook, and their total length in bytes.
const MAX_ATTACHMENTS: usize = 1000;
const MAX_TOTAL_BYTES: u64 = 256 * 1024 * 1024;

/// How many digits of the digest are in a name.
const DIGITS: usize = 10;

/// The attachments of a notebook.
#[derive(Clone, Debug)]
pub struct Attachments {
    dir: PathBuf,
}

impl Attachments {
    /// The attachments in a notebook's directory.
    pub fn in_notebook(dir: &Path) -> Self {
        Self { dir: Paths::of(dir).attachments() }
    }

    /// Stores a picture durably. Returns its name, which consists of `stem`, a digest and `suffix`.
    ///
    /// # Errors
    /// When there are too many attachments, or the disk cannot be written.
    pub fn add(&self, stem: &str, suffix: &str, bytes: &[u8]) -> Result<String, Problem> {
        let digits: String = Digest::of(bytes).to_string().chars().take(DIGITS).collect();
        let name = format!("{stem}-{digits}.{suffix}");
        self.put(&name, bytes)?;
        Ok(name)
    }

    /// Stores a picture durably under a name, unless there is one of this name.
    ///
    /// # Errors
    /// Those of `add`.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Problem> {
        let failed = |error: io::Error| {
            let how = "make room on the disk and try again";
            Problem::new(Kind::Disk, format!("attach {name}"), error.to_string(), how)
        };
        let path = self.dir.join(name);
        if FileKind::at(&path).map_err(failed)? != FileKind::Nothing {
            return Ok(());
        }
        self.check_limits(bytes.len() as u64)?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        made.and_then(|()| self.write(&path, bytes)).map_err(failed)
    }

    /// The content of an attachment; `None` if there is none of this name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        if name.contains('/') || name.starts_with('.') {
            return Ok(None);
        }
        let file = match open_file(&self.dir.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut bytes = Vec::new();
        file.take(MAX_ATTACHMENT_BYTES as u64).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// The paths and lengths of all files.
    pub(super) fn files(&self) -> Vec<(PathBuf, u64)> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| Some((entry.path(), fs::symlink_metadata(entry.path()).ok()?.len())))
            .collect()
    }

    fn check_limits(&self, more: u64) -> Result<(), Problem> {
        let files = self.files();
        let total = files.iter().map(|(_, bytes)| bytes).sum::<u64>() + more;
        let why = if files.len() >= MAX_ATTACHMENTS {
            format!("the notebook has {MAX_ATTACHMENTS} attached pictures already")
        } else if total > MAX_TOTAL_BYTES {
            format!("the attached pictures would have {total} bytes, more than {MAX_TOTAL_BYTES}")
        } else {
            return Ok(());
        };
        let how = "upload the picture as a file and refer to it by its name, \
                   or remove pictures that no text shows with `ratoon gc`";
        Err(Problem::new(Kind::TooLarge, "attach a picture", why, how))
    }

    /// Writes a file under a temporary name, then renames it.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.dir.join(format!(".new-{}", uuid::Uuid::new_v4().simple()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&temporary, path))
            .and_then(|()| File::open(&self.dir)?.sync_all());
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}
