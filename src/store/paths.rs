//! The files of one notebook.

use super::tables::{Cause, Fault};
use crate::blobs::nofollow::FileKind;
use crate::problem::{Kind, Problem};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The record of the notebook's copy in a store off this machine.
pub(super) const OFFSITE_RECORD: &str = "offsite.json";

/// The paths of one notebook.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    pub(super) dir: PathBuf,
}

impl Paths {
    pub(super) fn of(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    pub(super) fn database(&self) -> PathBuf {
        self.dir.join("notebook.db")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.dir.join("notebook.db-wal")
    }

    pub(super) fn blobs(&self) -> PathBuf {
        self.dir.join("blobs")
    }

    pub(super) fn attachments(&self) -> PathBuf {
        self.dir.join("attachments")
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    /// Refuses a directory in which one of the notebook's files is not a regular file, or one of
    /// its folders is not a folder. A symbolic link would lead to files outside the notebook, and
    /// opening a named pipe would block forever.
    pub(super) fn vet(&self) -> Result<(), Problem> {
        for name in [
            "lock",
            "notebook.db",
            "notebook.db-wal",
            "notebook.db-shm",
            "notebook.db-journal",
            OFFSITE_RECORD,
        ] {
            let kind = FileKind::at(&self.dir.join(name)).map_err(|e| self.failed(e))?;
            if !matches!(kind, FileKind::Nothing | FileKind::File) {
                return Err(self.odd(name, kind, "a file"));
            }
        }
        for name in ["tmp", "blobs", "attachments"] {
            let kind = FileKind::at(&self.dir.join(name)).map_err(|e| self.failed(e))?;
            if !matches!(kind, FileKind::Nothing | FileKind::Folder) {
                return Err(self.odd(name, kind, "a folder"));
            }
        }
        for entry in fs::read_dir(self.blobs()).into_iter().flatten() {
            let entry = entry.map_err(|e| self.failed(e))?;
            let kind = FileKind::of(entry.file_type().map_err(|e| self.failed(e))?);
            if matches!(kind, FileKind::Other(_)) {
                let name = format!("blobs/{}", entry.file_name().to_string_lossy());
                return Err(self.odd(&name, kind, "a folder"));
            }
        }
        Ok(())
    }

    fn odd(&self, name: &str, kind: FileKind, should: &str) -> Problem {
        let why = format!("its {name} is {}, not {should}", kind.in_words());
        self.refused(why, &format!("nothing was changed; replace it with {should}, or move it away"))
    }

    /// The error for a notebook that cannot be opened: the reason, and a suggestion.
    pub(super) fn refused(&self, why: impl Into<String>, how: &str) -> Problem {
        Problem {
            kind: Kind::Conflict,
            what: format!("open the notebook {}", self.dir.display()),
            why: why.into(),
            how: how.to_owned(),
        }
    }

    pub(super) fn fault(&self, fault: Fault) -> Problem {
        match fault.cause {
            Cause::Content => self.malformed(&fault.why),
            Cause::Disk => Problem { kind: Kind::Disk, ..self.refused(fault.why, fault.how) },
            Cause::Scarce => Problem { kind: Kind::Busy, ..self.refused(fault.why, fault.how) },
            Cause::Other => self.refused(fault.why, fault.how),
        }
    }

    pub(super) fn failed(&self, error: io::Error) -> Problem {
        self.fault(error.into())
    }

    /// The error for a database with wrong content.
    pub(super) fn malformed(&self, why: &str) -> Problem {
        self.refused(
            format!("{} is damaged: {why}", self.database().display()),
            "nothing was changed; restore the directory from a backup, \
             or save what `sqlite3 notebook.db .recover` finds",
        )
    }
}

/// Refuses a directory without a database.
pub(super) fn is_notebook(paths: &Paths) -> Result<(), Problem> {
    if there(paths)? { Ok(()) } else { Err(no_notebook(&paths.dir)) }
}

/// The error for a directory without a notebook.
pub(super) fn no_notebook(dir: &Path) -> Problem {
    Paths::of(dir).refused(
        "there is no notebook.db in it",
        "give the directory of a notebook, NAME.ratoon; for a new notebook choose a name \
         that is not taken",
    )
}

/// Whether the directory has a database. Refuses a directory that has other files of a notebook but
/// no database, because such a directory must not be used for a new notebook.
pub(super) fn there(paths: &Paths) -> Result<bool, Problem> {
    paths.vet()?;
    if FileKind::at(&paths.database()).map_err(|e| paths.failed(e))? == FileKind::File {
        return Ok(true);
    }
    let is_left = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("notebook.db")
                || name == "blobs" && fs::read_dir(entry.path()).is_ok_and(|mut blobs| blobs.next().is_some())
        })
    };
    if fs::read_dir(&paths.dir).map_err(|e| paths.failed(e))?.any(is_left) {
        let how = "put its notebook.db back, or choose another name for a new notebook";
        return Err(paths.refused("its notebook.db is missing, but other files of the notebook exist", how));
    }
    Ok(false)
}
