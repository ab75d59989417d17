//! Errors of the disk and of the database, as text.

use crate::notebook::DiskStatus;
use rusqlite::ErrorCode;
use std::io::{self, ErrorKind};
use std::path::Path;

/// An error of the disk or of the database.
#[derive(Debug)]
pub(in crate::store) struct Fault {
    pub(in crate::store) why: String,
    pub(in crate::store) how: &'static str,
    pub(in crate::store) cause: Cause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Cause {
    /// The disk is full, read-only or broken.
    Disk,
    /// The content of the database is wrong.
    Content,
    /// The system has no more descriptors, processes or memory for now.
    Scarce,
    /// Anything else, for example a missing permission, or another program that has the database
    /// open.
    Other,
}

const FREE: &str = "free some space";
const LOOK: &str = "check the disk (dmesg, smartctl) and its mount";

impl Fault {
    pub(in crate::store) fn new(why: impl Into<String>, how: &'static str) -> Self {
        Self { why: why.into(), how, cause: Cause::Other }
    }

    fn disk(why: impl Into<String>, how: &'static str) -> Self {
        Self { cause: Cause::Disk, ..Self::new(why, how) }
    }

    /// An error in the content of the database.
    pub(in crate::store) fn malformed(why: impl Into<String>) -> Self {
        Self { cause: Cause::Content, ..Self::new(why, "restore the directory from a backup") }
    }

    /// Converts the error to the status that is shown to the notebook's clients.
    pub(in crate::store) fn trouble(&self, dir: &Path) -> DiskStatus {
        DiskStatus {
            what: format!("write to {}", dir.display()),
            why: self.why.clone(),
            how: format!("{}; Ratoon tries again every second", self.how),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        if let Some(libc::EMFILE | libc::ENFILE | libc::EAGAIN | libc::ENOMEM) = error.raw_os_error() {
            return Self {
                why: error.to_string(),
                how: "close some programs and try again",
                cause: Cause::Scarce,
            };
        }
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::disk("the disk is full", FREE),
            ErrorKind::ReadOnlyFilesystem => Self::disk("the file system is read-only", LOOK),
            ErrorKind::PermissionDenied => {
                Self::new("permission denied", "make the directory writable for you")
            }
            _ => Self::new(error.to_string(), LOOK),
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        let why = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::disk("the disk is full", FREE),
            Some(ErrorCode::ReadOnly) => Self::disk("the database is read-only", LOOK),
            Some(ErrorCode::SystemIoFailure) => Self::disk(format!("the disk failed ({why})"), LOOK),
            Some(ErrorCode::CannotOpen) => Self::new(
                format!("the database cannot be opened ({why})"),
                "check that the directory still exists, and its permissions",
            ),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::new("another program has the database open", "close that program")
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::malformed(why),
            _ => Self::new(why, "report this error"),
        }
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string(), "report this error")
    }
}
