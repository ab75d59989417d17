//! A blob's file as it stands, for those who carry it elsewhere.

use super::{BlobError, Blobs, Digest, pack};
use std::io::Read;

/// Bytes as they would stand in a blob's file: the kind, then the payload.
pub(crate) fn to_file(bytes: &[u8]) -> Vec<u8> {
    let (kind, payload) = pack::pack(bytes);
    [&[kind], &payload[..]].concat()
}

/// What stands in a blob's file, unpacked to at most `max_bytes`, and verified.
///
/// # Errors
/// When it is not what its name says, or longer.
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
        Err(damaged("its bytes do not have this digest".into()))
    }
}

impl Blobs {
    /// A blob's file as it stands, verified.
    ///
    /// # Errors
    /// As `get`.
    pub(crate) fn file(&self, digest: &Digest, max_bytes: usize) -> Result<Vec<u8>, BlobError> {
        let (kind, file, length) = self.open(digest)?;
        let mut whole = vec![kind];
        // Packed only where that makes it shorter.
        let most = length.min(max_bytes as u64);
        file.take(most).read_to_end(&mut whole).map_err(|e| BlobError::Io(*digest, e))?;
        from_file(digest, &whole, max_bytes).inspect_err(|error| self.note(error))?;
        Ok(whole)
    }
}
