//! Exports one state of a notebook to a `.ratoon-state` file, and imports such a file into the
//! blobs of another notebook. See docs/format.md.
//!
//! A file begins with a fixed line. A sequence of records follows: the header, the manifest, and
//! each chunk of the manifest once, in the manifest's order. The digest of every record is checked
//! before use. Nothing is stored before the whole file is verified.

mod export;
mod import;

pub use export::Export;
pub use import::read_state;

use crate::blobs::{BlobError, Digest};
use crate::notebook::{Checkpoint, Output};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;

/// The first line of every file.
const MAGIC: &[u8] = b"ratoon-state 1\n";
/// Maximum length of a header, in bytes. A header contains the outputs of a run and the code of a
/// lineage.
const MAX_HEADER_BYTES: usize = super::row_formats::MAX_ENTRY_BYTES + (64 << 20);
/// Maximum number of chunks in one file.
const MAX_CHUNKS: usize = 1 << 16;
/// Maximum total of all chunks of a file, in unpacked bytes.
const MAX_UNPACKED_BYTES: u64 = 64 << 30;
/// Number of bytes before a record's content: the digest in hex, and the length.
const RECORD_HEAD_BYTES: usize = 64 + 4;

/// The header of a state's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Arrived {
    /// An explanation for a person who looks into the file.
    contains: Vec<String>,
    /// The state's label.
    pub label: Option<String>,
    /// The code of the whole lineage.
    pub code: String,
    /// The outputs of the state's own cell.
    pub outputs: Vec<Output>,
    /// The checkpoint's record.
    pub checkpoint: Checkpoint,
}

/// Why a state cannot be written to a file or read from one.
#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    /// The file is damaged or of another kind.
    #[error("{0}")]
    Bad(String),
    /// The checkpoint cannot be read.
    #[error("{0}")]
    Lost(String),
    /// A file cannot be read or written.
    #[error("{0}")]
    Disk(io::Error),
}

fn bad(why: impl Into<String>) -> StateFileError {
    StateFileError::Bad(why.into())
}

/// Removes repeated chunks and keeps the order. Checks the number of chunks, and that equal chunks
/// have equal lengths.
fn once(named: Vec<(Digest, usize)>) -> Result<Vec<(Digest, usize)>, StateFileError> {
    let mut seen: HashMap<Digest, usize> = HashMap::new();
    let mut chunks = Vec::new();
    for (digest, length) in named {
        match seen.insert(digest, length) {
            None => chunks.push((digest, length)),
            Some(before) if before == length => {}
            Some(_) => return Err(bad(format!("the chunk {digest} has two different lengths"))),
        }
    }
    let all: u64 = chunks.iter().map(|(_, length)| *length as u64).sum();
    if chunks.len() > MAX_CHUNKS || all > MAX_UNPACKED_BYTES {
        let most = MAX_UNPACKED_BYTES >> 30;
        return Err(bad(format!("it has more than {MAX_CHUNKS} chunks, or more than {most} GiB in them")));
    }
    Ok(chunks)
}

impl From<BlobError> for StateFileError {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Io(_, error) => Self::Disk(error),
            other => Self::Lost(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
