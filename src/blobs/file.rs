//! Reads and makes the content of blob files, so that a blob can be copied without packing it
//! again.

use super::{BlobError, Blobs, Digest, pack};
use std::io::Read;

/// Bytes in the form of a blob's file: the kind, then the payload.
pub(crate) fn to_file(bytes: &[u8]) -> Vec<u8> {
    let (kind, payload) = pack::pack(bytes);
    [&[kind], &payload[..]].concat()
}

/// Unpacks the content of a blob's file to at most `max_bytes` and verifies it.
///
/// # Errors
/// When the content does not match the digest, or unpacks to more than `max_bytes`.
pub(crate) fn from_file(digest: &Digest, file: &[u8], max_bytes: usize) -> Result<Vec<u8>, BlobError> {
    let damaged = |what: String| BlobError::Damaged(*digest, what);
    let bytes = match file.split_first() {
        Some((&pack::RAW, payload)) if payload.len() <= max_bytes => payload.to_vec(),
        Some((&pack::RAW, _)) => return Err(damaged(format!("it holds more than {max_bytes} bytes"))),
        Some((&kind, payload)) => pack::unpack(kind, payload, max_bytes).map_err(damaged)?,
        None => return Err(damaged("it is empty".into())),
    };
    if Digest::of(&bytes) == *digest {
        Ok(bytes)
    } else {
        Err(damaged("its content does not match its digest".into()))
    }
}

impl Blobs {
    /// The verified content of a blob's file, still packed.
    ///
    /// # Errors
    /// Those of `get`.
    pub(crate) fn file(&self, digest: &Digest, max_bytes: usize) -> Result<Vec<u8>, BlobError> {
        let (kind, file, length) = self.open(digest)?;
        let mut whole = vec![kind];
        // Packed content is never longer than unpacked content.
        let most = length.min(max_bytes as u64);
        file.take(most).read_to_end(&mut whole).map_err(|e| BlobError::Io(*digest, e))?;
        from_file(digest, &whole, max_bytes).inspect_err(|error| self.note(error))?;
        Ok(whole)
    }
}
