//! The `.ipynb` that a notebook was imported from: a blob, and a row of `meta` that names it. The
//! row is removed when the notebook is reset, and `gc` then removes the blob.

use super::tables::{Fault, META, SqlValue, Tables};
use crate::blobs::{Blobs, Digest};
use crate::notebook::ImportedFile;
use std::path::Path;

/// The key of its row in the table `meta`.
pub(super) const KEY: &str = "imported_file";

/// Maximum length of a file that is kept, in bytes: the maximum of an upload. It also bounds what a
/// notebook from elsewhere can unpack into memory.
const MAX_BYTES: usize = 64 << 20;

/// Stores the bytes of the file, unless it is too long. They are durable once the blobs are
/// settled.
pub(super) fn keep(blobs: &mut Blobs, file: &str) -> Result<Option<ImportedFile>, Fault> {
    if file.len() > MAX_BYTES {
        return Ok(None);
    }
    let put = blobs.put(file.as_bytes())?;
    Ok(Some(ImportedFile { digest: put.digest.to_string(), bytes: file.len() }))
}

/// Writes or removes the row.
pub(super) fn put(tables: &Tables, file: Option<&ImportedFile>) -> Result<(), Fault> {
    match file {
        Some(file) => tables.put(&META, &[KEY.into(), serde_json::to_string(file)?.into()]),
        None => tables.remove_row(&META, &[KEY.into()]),
    }
}

/// Reads the value of the row, and the name of the blob.
pub(super) fn read(value: &SqlValue) -> Option<(ImportedFile, Digest)> {
    let file: ImportedFile = serde_json::from_str(value.text()?).ok()?;
    let digest = file.digest.parse().ok()?;
    Some((file, digest))
}

/// Reads the file from the blobs of a notebook. `None` if the blob is lost or damaged: the notebook
/// itself is whole, so an export then does without the file. `ratoon check` reports the damage.
pub fn read_imported_file(blobs: &Path, file: &ImportedFile) -> Option<String> {
    let bytes = Blobs::at(blobs).get(&file.digest.parse().ok()?, file.bytes.min(MAX_BYTES)).ok()?;
    String::from_utf8(bytes).ok()
}
