//! Reads a state's file into blobs.

use super::super::checkpoint_rows::{MAX_MANIFEST_BYTES, cuts, named};
use super::{Arrived, MAGIC, MAX_HEADER_BYTES, RECORD_HEAD_BYTES, StateFileError, bad, once};
use crate::blobs::{Blobs, Digest, from_file};
use crate::notebook::{ChangedOnLoad, Form, Missing};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// Maximum number of JSON values in a header or a manifest. Parsed JSON that consists of brackets
/// takes thirty times as much memory as its text.
const MAX_PARTS: usize = 4_000_000;
/// An imported file may unpack to this many bytes, plus `UNPACKED_PER_BYTE` for each byte of the
/// file.
const BASE_UNPACKED_BYTES: u64 = 1 << 30;
const UNPACKED_PER_BYTE: u64 = 200;

/// The parts of a manifest from which the checkpoint's record is completed.
#[derive(Deserialize)]
struct ManifestSummary {
    #[serde(default)]
    entries: Vec<IgnoredAny>,
    #[serde(default)]
    missing: Vec<Missing>,
    #[serde(default)]
    changed: Vec<ChangedOnLoad>,
    not_compared: Option<String>,
    sources: Option<BTreeMap<String, IgnoredAny>>,
}

/// Reads a state's file. Verifies the whole file first, then stores its blobs. The checkpoint
/// becomes untrusted, even if the file says otherwise.
///
/// # Errors
/// When the file is cut off, altered, too large or of another kind; no blob is stored then. Also
/// when a file cannot be read or written; some blobs may be stored then.
pub fn read_state(path: &Path, blobs: &Path) -> Result<Arrived, StateFileError> {
    let mut reader = Reader::open(path)?;
    let mut magic = [0; MAGIC.len()];
    reader.fill(&mut magic)?;
    if magic != MAGIC {
        return Err(bad("it is not a ratoon-state file of a known version"));
    }
    let (_, header) = reader.record(None, MAX_HEADER_BYTES)?;
    count_parts("header", &header)?;
    let mut arrived: Arrived =
        serde_json::from_slice(&header).map_err(|e| bad(format!("its header cannot be read: {e}")))?;
    let (id, manifest) = reader.record(None, MAX_MANIFEST_BYTES)?;
    count_parts("manifest", &manifest)?;
    let form = arrived.checkpoint.form;
    let chunks = once(named(&manifest, Some(form)).map_err(bad)?)?;
    if form == Form::Data && named(&manifest, Some(Form::Environment)).is_ok() {
        return Err(bad("it claims to hold plain values only, but holds more"));
    }
    let unpacked: u64 = chunks.iter().map(|(_, length)| *length as u64).sum();
    let most = BASE_UNPACKED_BYTES.saturating_add(UNPACKED_PER_BYTE.saturating_mul(reader.length()?));
    if unpacked > most {
        return Err(bad(format!(
            "it unpacks to more than the {} MiB that a file of its size may",
            most >> 20
        )));
    }
    let start = reader.at()?;
    for (chunk, length) in &chunks {
        reader.chunk(chunk, *length)?;
    }
    if !reader.is_at_its_end()? {
        return Err(bad("there is data after its end"));
    }

    let mut blobs = Blobs::at(blobs);
    let (mut stored, mut new) = (0, 0);
    let mut put = |bytes: &[u8]| -> Result<(), StateFileError> {
        let put = blobs.put(bytes).map_err(StateFileError::Disk)?;
        stored += put.stored_bytes;
        new += if put.is_new { put.stored_bytes } else { 0 };
        Ok(())
    };
    reader.go_to(start)?;
    for (chunk, length) in &chunks {
        put(&reader.chunk(chunk, *length)?)?;
    }
    put(&manifest)?;
    blobs.settle().map_err(StateFileError::Disk)?;

    let summary: ManifestSummary = serde_json::from_slice(&manifest).map_err(|e| bad(e.to_string()))?;
    let checkpoint = &mut arrived.checkpoint;
    checkpoint.checkpoint_id = id.to_string();
    checkpoint.is_trusted = false;
    checkpoint.parent_checkpoint = None;
    checkpoint.namespace_size_bytes = cuts(&manifest).map_err(bad)?;
    (checkpoint.compressed_size_bytes, checkpoint.new_bytes) = (stored, new);
    checkpoint.compression_ratio = checkpoint.namespace_size_bytes as f64 / stored.max(1) as f64;
    checkpoint.entry_count = u32::try_from(summary.entries.len()).unwrap_or(u32::MAX);
    checkpoint.includes_source = summary.sources.is_some_and(|sources| !sources.is_empty());
    checkpoint.missing = summary.missing;
    checkpoint.changed = summary.changed;
    checkpoint.not_compared = summary.not_compared;
    Ok(arrived)
}

/// Returns an error for JSON that would take far more memory than its text does.
fn count_parts(what: &str, text: &[u8]) -> Result<(), StateFileError> {
    let (mut count, mut is_text, mut is_escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    if count > MAX_PARTS { Err(bad(format!("its {what} has more than {MAX_PARTS} parts"))) } else { Ok(()) }
}

/// Reads the records of a file in order.
struct Reader {
    file: BufReader<File>,
}

impl Reader {
    fn open(path: &Path) -> Result<Self, StateFileError> {
        let file = File::open(path).map_err(StateFileError::Disk)?;
        Ok(Self { file: BufReader::with_capacity(1 << 18, file) })
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), StateFileError> {
        self.file.read_exact(into).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => bad("it is cut off"),
            _ => StateFileError::Disk(error),
        })
    }

    /// Reads the next record. Returns its digest and its verified content, unpacked to at most
    /// `max_bytes`.
    fn record(
        &mut self,
        expected: Option<&Digest>,
        max_bytes: usize,
    ) -> Result<(Digest, Vec<u8>), StateFileError> {
        let mut head = [0; RECORD_HEAD_BYTES];
        self.fill(&mut head)?;
        let (digest, length) = head.split_at(64);
        let digest: Option<Digest> = std::str::from_utf8(digest).ok().and_then(|text| text.parse().ok());
        let digest = digest.ok_or_else(|| bad("a digest is missing or malformed"))?;
        if expected.is_some_and(|expected| *expected != digest) {
            return Err(bad(format!("the chunk {digest} is not the one that comes next")));
        }
        let length = length.iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte));
        // The first byte is the kind. Content is packed only if packing makes it shorter.
        if length == 0 || length > max_bytes + 1 {
            return Err(bad(format!("the record {digest} cannot have {length} bytes")));
        }
        // Memory is allocated for the bytes that exist, because the claimed length may be wrong.
        let mut file = Vec::new();
        (&mut self.file).take(length as u64).read_to_end(&mut file).map_err(StateFileError::Disk)?;
        if file.len() < length {
            return Err(bad("it is cut off"));
        }
        let bytes = from_file(&digest, &file, max_bytes).map_err(|e| bad(e.to_string()))?;
        Ok((digest, bytes))
    }

    fn chunk(&mut self, digest: &Digest, length: usize) -> Result<Vec<u8>, StateFileError> {
        let (_, bytes) = self.record(Some(digest), length)?;
        if bytes.len() == length { Ok(bytes) } else { Err(bad(format!("the chunk {digest} is too short"))) }
    }

    fn length(&self) -> Result<u64, StateFileError> {
        self.file.get_ref().metadata().map(|metadata| metadata.len()).map_err(StateFileError::Disk)
    }

    fn at(&mut self) -> Result<u64, StateFileError> {
        self.file.stream_position().map_err(StateFileError::Disk)
    }

    fn go_to(&mut self, at: u64) -> Result<(), StateFileError> {
        self.file.seek(SeekFrom::Start(at)).map(drop).map_err(StateFileError::Disk)
    }

    fn is_at_its_end(&mut self) -> Result<bool, StateFileError> {
        let mut one = [0];
        Ok(self.file.read(&mut one).map_err(StateFileError::Disk)? == 0)
    }
}
