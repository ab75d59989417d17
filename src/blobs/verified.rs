//! Lists the blobs that were verified since the notebook was opened. When existing content is put
//! again for the first time, its file is compared, and is replaced if it is damaged. Later saving
//! processes find the blob in the list and skip the comparison.
//!
//! The list is a file in `tmp`, which is emptied when a notebook is opened. Finding a damaged blob
//! removes the list, so that all blobs are compared again. If the list cannot be read or written,
//! blobs are compared more often than needed.

use super::nofollow::{flags, open_file, read_file};
use super::{Digest, digest};
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A list longer than this is not extended, so that reading it stays cheap. It then holds 262,144
/// blobs, enough for a terabyte of chunks.
const MAX_LIST_BYTES: u64 = 8 << 20;

#[derive(Debug)]
pub(super) struct Verified {
    list: PathBuf,
    /// Inode and length of the list as last read, to notice changes.
    seen: (u64, u64),
    known: HashSet<Digest>,
    /// Blobs that this process has verified but not yet listed.
    unwritten: Vec<u8>,
}

impl Verified {
    pub(super) fn at(temporary: &Path) -> Self {
        Self { list: temporary.join("verified"), seen: (0, 0), known: HashSet::new(), unwritten: Vec::new() }
    }

    /// Whether this or another process has verified a blob.
    pub(super) fn has(&mut self, blob: &Digest) -> bool {
        self.read_again();
        self.known.contains(blob)
    }

    fn read_again(&mut self) {
        let metadata = open_file(&self.list).and_then(|file| file.metadata());
        let now = metadata.map_or((0, 0), |metadata| (metadata.ino(), metadata.len()));
        if now == self.seen {
            return;
        }
        let bytes = read_file(&self.list).unwrap_or_default();
        self.known = bytes.chunks_exact(digest::BYTES).filter_map(Digest::from_bytes).collect();
        self.known.extend(self.unwritten.chunks_exact(digest::BYTES).filter_map(Digest::from_bytes));
        self.seen = now;
    }

    /// Notes a verified blob.
    pub(super) fn add(&mut self, blob: &Digest) {
        if self.known.insert(*blob) {
            self.unwritten.extend_from_slice(blob.bytes());
        }
    }

    /// Appends the blobs that this process has verified to the list.
    pub(super) fn write(&mut self) {
        let bytes = std::mem::take(&mut self.unwritten);
        if bytes.is_empty() || self.seen.1 > MAX_LIST_BYTES {
            return;
        }
        // One write call, so that the entries of several processes do not mix.
        let list =
            OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags()).open(&self.list);
        let _ = list.and_then(|mut list| list.write_all(&bytes));
    }

    /// Drops the list because a blob was found damaged.
    pub(super) fn forget_all(&self) {
        let _ = std::fs::remove_file(&self.list);
    }
}
