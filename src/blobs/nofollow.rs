//! Opens files and folders of a notebook's directory safely: never follows symbolic links, and
//! never blocks on pipes or devices. A directory from another computer may contain anything.

use nix::fcntl::OFlag;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Nothing,
    File,
    Folder,
    /// Something that no notebook contains. The text names it, with its article.
    Other(&'static str),
}

impl FileKind {
    /// The kind of the entry at a path. Does not follow links.
    ///
    /// # Errors
    /// When the path's metadata cannot be read.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(metadata) => Ok(Self::of(metadata.file_type())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::Nothing),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn of(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Other("a symbolic link")
        } else if kind.is_fifo() {
            Self::Other("a named pipe")
        } else if kind.is_socket() {
            Self::Other("a socket")
        } else {
            Self::Other("a device")
        }
    }

    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Nothing => "missing",
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Other(what) => what,
        }
    }
}

/// Flags of an open that neither follows a link nor waits for the other end of a pipe.
pub(crate) fn flags() -> i32 {
    (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits()
}

/// Opens a file for reading.
///
/// # Errors
/// When the file cannot be opened; `InvalidInput` when the path is not a regular file.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(flags()).open(path).map_err(|error| {
        match error.raw_os_error() {
            Some(nix::libc::ELOOP) => other(FileKind::Other("a symbolic link")),
            // A socket, or a missing device.
            Some(nix::libc::ENXIO) => other(FileKind::Other("a socket or a device")),
            _ => error,
        }
    })?;
    let kind = FileKind::of(file.metadata()?.file_type());
    if kind == FileKind::File { Ok(file) } else { Err(other(kind)) }
}

/// The content of a file.
///
/// # Errors
/// Those of `open_file`.
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn other(kind: FileKind) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("it is {}, not a file", kind.in_words()))
}
