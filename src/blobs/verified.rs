//! Lists the blobs that were verified since the notebook was opened. When existing content is put
//! again for the first time, its file is compared, and is replaced if it is damaged. Later saving
//! processes find the blob in the list and skip the comparison, unless the file has changed since.
//!
//! The list is a file in `tmp`, which is emptied when a notebook is opened. Finding a damaged blob
//! removes the list, so that all blobs are compared again. If the list cannot be read or written,
//! blobs are compared more often than needed.

use super::nofollow::{flags, open_file, read_file};
use super::{Digest, digest};
use std::collections::HashMap;
use std::fs::{Metadata, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A list longer than this is not extended, so that reading it stays cheap. It then holds 149,796
/// blobs, enough for half a terabyte of chunks.
const MAX_LIST_BYTES: u64 = 8 << 20;

/// The length of an entry: a digest and a stamp.
const ENTRY_BYTES: usize = digest::BYTES + STAMP_BYTES;
const STAMP_BYTES: usize = 24;

/// By what a change of a blob's file is noticed: its length and its time of modification, in
/// seconds and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp([u8; STAMP_BYTES]);

impl Stamp {
    pub(super) fn of(file: &Metadata) -> Self {
        let mut bytes = [0; STAMP_BYTES];
        bytes[..8].copy_from_slice(&file.len().to_le_bytes());
        bytes[8..16].copy_from_slice(&file.mtime().to_le_bytes());
        bytes[16..].copy_from_slice(&file.mtime_nsec().to_le_bytes());
        Self(bytes)
    }
}

#[derive(Debug)]
pub(super) struct Verified {
    list: PathBuf,
    /// Inode and length of the list as last read, to notice changes.
    seen: (u64, u64),
    known: HashMap<Digest, Stamp>,
    /// The entries of blobs that this process has verified but not yet listed.
    unwritten: Vec<u8>,
}

impl Verified {
    pub(super) fn at(temporary: &Path) -> Self {
        Self { list: temporary.join("verified"), seen: (0, 0), known: HashMap::new(), unwritten: Vec::new() }
    }

    /// Whether this or another process has verified a blob whose file had this stamp.
    pub(super) fn has(&mut self, blob: &Digest, stamp: Stamp) -> bool {
        self.read_again();
        self.known.get(blob) == Some(&stamp)
    }

    fn read_again(&mut self) {
        let metadata = open_file(&self.list).and_then(|file| file.metadata());
        let now = metadata.map_or((0, 0), |metadata| (metadata.ino(), metadata.len()));
        if now == self.seen {
            return;
        }
        let bytes = read_file(&self.list).unwrap_or_default();
        // A later entry of a blob replaces an earlier one.
        self.known = bytes
            .chunks_exact(ENTRY_BYTES)
            .chain(self.unwritten.chunks_exact(ENTRY_BYTES))
            .filter_map(entry)
            .collect();
        self.seen = now;
    }

    /// Notes a verified blob, with the stamp of its file.
    pub(super) fn add(&mut self, blob: &Digest, stamp: Stamp) {
        if self.known.insert(*blob, stamp) != Some(stamp) {
            self.unwritten.extend_from_slice(blob.bytes());
            self.unwritten.extend_from_slice(&stamp.0);
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

fn entry(bytes: &[u8]) -> Option<(Digest, Stamp)> {
    let (digest, stamp) = bytes.split_at_checked(digest::BYTES)?;
    Some((Digest::from_bytes(digest)?, Stamp(stamp.try_into().ok()?)))
}
