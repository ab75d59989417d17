//! The rows of checkpoints. The store signs and writes a row when all blobs of the checkpoint
//! exist.

use super::key::Seal;
use super::tables::{CHECKPOINTS, Fault, STATES, SqlValue, Tables};
use super::write::Writer;
use crate::blobs::{BlobError, Blobs, CHUNK_BYTES, Digest};
use crate::notebook::{Checkpoint, Form, StateId};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Maximum length of a manifest, in bytes. A manifest has some 70 bytes for each chunk of 4 MiB,
/// and the source code of functions.
pub(crate) const MAX_MANIFEST_BYTES: usize = 64 << 20;

const FORMAT: &str = "ratoon-checkpoint-1";

/// The part of a manifest that the store reads.
#[derive(Debug, Deserialize)]
struct Manifest {
    format: String,
    environment: Option<Part>,
    data: Option<Part>,
    #[serde(default)]
    buffers: Vec<ChunkedBytes>,
}

#[derive(Debug, Deserialize)]
struct Part {
    streams: Vec<ChunkedBytes>,
}

/// A stream or a buffer that is stored in chunks.
#[derive(Debug, Deserialize)]
struct ChunkedBytes {
    bytes: u64,
    chunks: Vec<Digest>,
}

/// Returns every chunk that a manifest names, with the chunk's length. Reads the manifest's blob.
pub(super) fn chunks(
    blobs: &Blobs,
    manifest: &Digest,
    form: Option<Form>,
) -> Result<Vec<(Digest, usize)>, BlobError> {
    let text = blobs.get(manifest, MAX_MANIFEST_BYTES)?;
    named(&text, form).map_err(|why| BlobError::Damaged(*manifest, why))
}

/// Returns every chunk that the text of the manifest of a complete checkpoint names, with the
/// chunk's length.
pub(crate) fn checkpoint_chunks(text: &[u8]) -> Result<Vec<(Digest, usize)>, String> {
    named(text, Some(Form::Environment))
}

/// Returns every chunk that the text of a manifest names, with the chunk's length.
pub(super) fn named(text: &[u8], form: Option<Form>) -> Result<Vec<(Digest, usize)>, String> {
    let read = read(text)?;
    if read.data.is_none() || (form == Some(Form::Environment) && read.environment.is_none()) {
        return Err("a part of it is missing".into());
    }
    let mut named = Vec::new();
    for cut in read.cuts() {
        let whole = CHUNK_BYTES as u64;
        if cut.chunks.len() as u64 != cut.bytes.div_ceil(whole) {
            return Err("its number of chunks does not match its length".into());
        }
        let mut left = cut.bytes;
        for chunk in &cut.chunks {
            let length = left.min(whole);
            left -= length;
            named.push((*chunk, usize::try_from(length).unwrap_or(CHUNK_BYTES)));
        }
    }
    Ok(named)
}

/// A summary of a checkpoint, shown before the user trusts it. The summary repeats the claims of
/// the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustPreview {
    /// Number of variable names.
    pub names: usize,
    /// Size of the checkpoint's data in bytes, unpacked.
    pub bytes: u64,
    /// The modules that are imported when the checkpoint is loaded; `None` if it contains plain
    /// values only.
    pub modules: Option<Vec<String>>,
    /// The names of the functions and classes whose source code the manifest contains.
    pub definitions: Vec<String>,
}

/// The lists of a manifest. They may be long, so items that are not shown are only counted.
#[derive(Deserialize)]
struct ManifestNames {
    #[serde(default)]
    entries: Vec<serde::de::IgnoredAny>,
    environment: Option<EnvironmentSummary>,
    sources: Option<BTreeMap<String, serde::de::IgnoredAny>>,
}

#[derive(Deserialize)]
struct EnvironmentSummary {
    #[serde(default)]
    modules: Vec<String>,
}

/// Summarises the checkpoint that has this manifest.
pub(super) fn holds(blobs: &Blobs, manifest: &str) -> Result<TrustPreview, String> {
    let digest: Digest = manifest.parse().map_err(|_| "its manifest has no digest".to_owned())?;
    let text = blobs.get(&digest, MAX_MANIFEST_BYTES).map_err(|error| error.to_string())?;
    let bytes = cuts(&text)?;
    let listing: ManifestNames =
        serde_json::from_slice(&text).map_err(|error| format!("it is not a manifest ({error})"))?;
    Ok(TrustPreview {
        names: listing.entries.len(),
        bytes,
        modules: listing.environment.map(|environment| environment.modules),
        definitions: listing.sources.unwrap_or_default().into_keys().collect(),
    })
}

/// The Python that wrote the checkpoint with this manifest; none if that cannot be read.
pub(super) fn python_of(blobs: &Blobs, manifest: &Digest) -> Option<String> {
    #[derive(Deserialize)]
    struct Writer {
        python: String,
    }
    let text = blobs.get(manifest, MAX_MANIFEST_BYTES).ok()?;
    serde_json::from_slice::<Writer>(&text).ok().map(|writer| writer.python)
}

/// Returns the total number of bytes of all streams and buffers that the text of a manifest names.
pub(super) fn cuts(text: &[u8]) -> Result<u64, String> {
    Ok(read(text)?.cuts().map(|cut| cut.bytes).fold(0, u64::saturating_add))
}

fn read(text: &[u8]) -> Result<Manifest, String> {
    let read: Manifest =
        serde_json::from_slice(text).map_err(|error| format!("it is not a manifest ({error})"))?;
    if read.format == FORMAT { Ok(read) } else { Err(format!("its format {:?} is unknown", read.format)) }
}

impl Manifest {
    fn cuts(&self) -> impl Iterator<Item = &ChunkedBytes> {
        let parts = self.environment.iter().chain(&self.data).flat_map(|part| &part.streams);
        parts.chain(&self.buffers)
    }
}

/// Checks that a chunk's file exists and has a possible size.
pub(super) fn is_plausible(blobs: &Blobs, chunk: &Digest, length: usize) -> Result<(), BlobError> {
    let stored = blobs.stored_bytes(chunk).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => BlobError::Missing(*chunk),
        _ => BlobError::Io(*chunk, error),
    })?;
    // The first byte of a blob's file is the kind, packed or not. A chunk is packed only if packing
    // makes it smaller.
    if stored > 1 && stored <= length as u64 + 1 {
        Ok(())
    } else {
        Err(BlobError::Damaged(*chunk, format!("its file has {stored} bytes for {length} bytes of content")))
    }
}

type Kept = Result<Box<Checkpoint>, String>;

/// A checkpoint that will be added to the notebook. Its blobs are already written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCheckpoint {
    /// The checkpoint's state.
    pub state: StateId,
    /// The state's parent. The signature covers it.
    pub parent: Option<StateId>,
    /// The checkpoint's record. Its id is the digest of its manifest. The store sets `notebook_id`
    /// and `state_id`. If `is_trusted` is false, the checkpoint was imported, and the store does
    /// not sign it.
    pub checkpoint: Checkpoint,
}

/// Signs a checkpoint and writes its row, if all blobs that the checkpoint names exist.
pub(super) fn keep(writer: &mut Writer, seal: &Seal, new: &NewCheckpoint) -> Result<Kept, Fault> {
    let Some(row) = writer.tables.get(&STATES, &[new.state.as_str().into()])? else {
        return Ok(Err(format!("state {} does not exist", new.state)));
    };
    if row[2].text() != new.parent.as_ref().map(StateId::as_str) {
        return Ok(Err(format!("state {} has another parent", new.state)));
    }
    let verified =
        new.checkpoint.checkpoint_id.parse::<Digest>().map_err(|error| error.to_string()).and_then(
            |manifest| {
                let chunks = chunks(writer.blobs(), &manifest, Some(new.checkpoint.form))
                    .map_err(|error| error.to_string())?;
                let all = chunks
                    .iter()
                    .try_for_each(|(chunk, length)| is_plausible(writer.blobs(), chunk, *length));
                all.map_err(|error| error.to_string())
            },
        );
    if let Err(why) = verified {
        return Ok(Err(why));
    }
    let checkpoint = Checkpoint {
        notebook_id: seal.notebook().to_owned(),
        state_id: new.state.clone(),
        ..new.checkpoint.clone()
    };
    let body = serde_json::to_string(&checkpoint)?;
    let manifest = new.checkpoint.checkpoint_id.as_str();
    let hmac = match checkpoint.is_trusted {
        true => seal.checkpoint(new.state.as_str(), new.parent.as_ref(), manifest, &body),
        false => SqlValue::Null,
    };
    let form = form_name(new.checkpoint.form);
    let row = [new.state.as_str().into(), form.into(), manifest.into(), body.into(), hmac];
    writer.tables.put(&CHECKPOINTS, &row)?;
    Ok(Ok(Box::new(checkpoint)))
}

fn form_name(form: Form) -> &'static str {
    match form {
        Form::Environment => "environment",
        Form::Data => "data",
    }
}

fn parent_of(tables: &Tables, state: &StateId) -> Result<Option<StateId>, Fault> {
    let row = tables.get(&STATES, &[state.as_str().into()])?;
    Ok(row.and_then(|row| row[2].text().map(StateId::new)))
}

fn sign(seal: &Seal, row: &[SqlValue], parent: Option<&StateId>) -> SqlValue {
    let text = |at: usize| row[at].text().unwrap_or_default();
    seal.checkpoint(text(0), parent, text(2), text(3))
}

/// Returns the checkpoints without a signature of this install. Each item has the state, the
/// manifest, and whether the row has some other signature.
pub(super) fn unsigned(tables: &mut Tables, seal: &Seal) -> Result<Vec<(StateId, String, bool)>, Fault> {
    let mut unsigned = Vec::new();
    for row in tables.rows(&CHECKPOINTS)?.into_iter().filter(|row| row.is_whole).map(|row| row.cells) {
        let text = |at: usize| row[at].text().unwrap_or_default();
        let state = StateId::new(text(0));
        if !seal.is_checkpoint(&row, parent_of(tables, &state)?.as_ref()) {
            unsigned.push((state, text(2).to_owned(), row[4] != SqlValue::Null));
        }
    }
    Ok(unsigned)
}

/// Signs all checkpoints. Returns the states whose checkpoints had no signature of this install.
pub(super) fn trust(tables: &mut Tables, seal: &Seal) -> Result<Vec<StateId>, Fault> {
    let mut taken = Vec::new();
    for mut row in tables.rows(&CHECKPOINTS)?.into_iter().filter(|row| row.is_whole).map(|row| row.cells) {
        let state = StateId::new(row[0].text().unwrap_or_default());
        let parent = parent_of(tables, &state)?;
        if seal.is_checkpoint(&row, parent.as_ref()) {
            continue;
        }
        row[4] = sign(seal, &row, parent.as_ref());
        tables.put(&CHECKPOINTS, &row)?;
        if !taken.contains(&state) {
            taken.push(state);
        }
    }
    Ok(taken)
}
