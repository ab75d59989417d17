//! One state as one file, `.ratoon-state`: written from a notebook's blobs, read into another's. See docs/format.md.
//!
//! After a line that says what it is, a file is a sequence of records: the header, the manifest, and each chunk that the
//! manifest names, once, in the order in which it names them. Nothing of a file is used before its digest was checked, and
//! nothing is kept before the whole file was.

mod export;
mod import;

pub use export::Export;
pub use import::read_state;

use crate::blobs::{BlobError, Digest};
use crate::notebook::{Checkpoint, Output};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;

/// The first line.
const MAGIC: &[u8] = b"ratoon-state 1\n";
/// No header is longer: the outputs of a run, and the code of a lineage.
const MAX_HEADER_BYTES: usize = super::load::MAX_ENTRY_BYTES + (64 << 20);
/// Chunks of one file.
const MAX_CHUNKS: usize = 1 << 16;
/// What all chunks of a file may come to when they are unpacked.
const MAX_UNPACKED_BYTES: u64 = 64 << 30;
/// A digest in hex, and a length.
const RECORD_HEAD_BYTES: usize = 64 + 4;

/// What a state's file says besides its checkpoint's blobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Arrived {
    /// What is in the file, as sentences for people who look into it.
    contains: Vec<String>,
    /// A name for people.
    pub label: Option<String>,
    /// The code of the whole lineage.
    pub code: String,
    /// The outputs of the state's own cell.
    pub outputs: Vec<Output>,
    /// What is known about the checkpoint.
    pub checkpoint: Checkpoint,
}

/// Why a state cannot go to a file, or come from one.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The file is not what it should be.
    #[error("{0}")]
    Bad(String),
    /// The checkpoint cannot be read.
    #[error("{0}")]
    Lost(String),
    /// The disk refuses.
    #[error("{0}")]
    Disk(io::Error),
}

fn bad(why: impl Into<String>) -> ExchangeError {
    ExchangeError::Bad(why.into())
}

/// Every chunk once, with its length, in order.
fn once(named: Vec<(Digest, usize)>) -> Result<Vec<(Digest, usize)>, ExchangeError> {
    let mut seen: HashMap<Digest, usize> = HashMap::new();
    let mut chunks = Vec::new();
    for (digest, length) in named {
        match seen.insert(digest, length) {
            None => chunks.push((digest, length)),
            Some(before) if before == length => {}
            Some(_) => return Err(bad(format!("the chunk {digest} is said to have two lengths"))),
        }
    }
    let all: u64 = chunks.iter().map(|(_, length)| *length as u64).sum();
    if chunks.len() > MAX_CHUNKS || all > MAX_UNPACKED_BYTES {
        let most = MAX_UNPACKED_BYTES >> 30;
        return Err(bad(format!("it has more than {MAX_CHUNKS} chunks, or more than {most} GiB in them")));
    }
    Ok(chunks)
}

impl From<BlobError> for ExchangeError {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Io(_, error) => Self::Disk(error),
            other => Self::Lost(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
