//! Which blobs were seen to be whole since the notebook was opened. A blob that is there already is compared with what
//! is to be kept the first time, and a damaged one is written anew; a list spares each later saving process that work.
//!
//! The list is a file in `tmp`, which is emptied when a notebook is opened. It is removed as soon as anybody finds a
//! damaged blob, so that all are compared again. A list that cannot be read or written costs time and nothing else.

use super::nofollow::{flags, open_file, read_file};
use super::{Digest, digest};
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The list takes no more, so that reading it stays cheap: 262,144 blobs, or a terabyte in chunks.
const MAX_LIST_BYTES: u64 = 8 << 20;

#[derive(Debug)]
pub(super) struct Verified {
    list: PathBuf,
    /// The list as it was read: its inode and length, by which a change is seen.
    seen: (u64, u64),
    known: HashSet<Digest>,
    /// What this process has found and not written to the list yet.
    unwritten: Vec<u8>,
}

impl Verified {
    pub(super) fn at(temporary: &Path) -> Self {
        Self { list: temporary.join("verified"), seen: (0, 0), known: HashSet::new(), unwritten: Vec::new() }
    }

    /// Whether a blob was seen to be whole, by this process or another.
    pub(super) fn has(&mut self, blob: &Digest) -> bool {
        self.read_again();
        self.known.contains(blob)
    }

    fn read_again(&mut self) {
        let about = open_file(&self.list).and_then(|file| file.metadata());
        let now = about.map_or((0, 0), |about| (about.ino(), about.len()));
        if now == self.seen {
            return;
        }
        let bytes = read_file(&self.list).unwrap_or_default();
        self.known = bytes.chunks_exact(digest::BYTES).filter_map(Digest::from_bytes).collect();
        self.known.extend(self.unwritten.chunks_exact(digest::BYTES).filter_map(Digest::from_bytes));
        self.seen = now;
    }

    /// A blob is whole.
    pub(super) fn add(&mut self, blob: &Digest) {
        if self.known.insert(*blob) {
            self.unwritten.extend_from_slice(blob.bytes());
        }
    }

    /// Tells other processes what this one has found.
    pub(super) fn write(&mut self) {
        let bytes = std::mem::take(&mut self.unwritten);
        if bytes.is_empty() || self.seen.1 > MAX_LIST_BYTES {
            return;
        }
        // In one call, so that lists of several processes do not mix.
        let list =
            OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags()).open(&self.list);
        let _ = list.and_then(|mut list| list.write_all(&bytes));
    }

    /// A blob was found damaged: nothing is known of any of them from now on.
    pub(super) fn forget_all(&self) {
        let _ = std::fs::remove_file(&self.list);
    }
}
