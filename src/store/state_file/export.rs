//! Writes a state's checkpoint to a file.

use super::super::checkpoint_rows::{MAX_MANIFEST_BYTES, named};
use super::{Arrived, MAGIC, MAX_HEADER_BYTES, RECORD_HEAD_BYTES, StateFileError, bad, once};
use crate::blobs::{Blobs, Digest, to_file};
use crate::notebook::{Checkpoint, Form, Output};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

/// The content of a state's file, ready to be written. All chunks exist.
#[derive(Debug)]
pub struct Export {
    blobs: Blobs,
    /// The first line, the header and the manifest.
    head: Vec<u8>,
    chunks: Vec<(Digest, usize)>,
    /// The length of the file in bytes.
    pub bytes: u64,
}

impl Export {
    /// Collects the content of a state's file. `form` selects the part of the checkpoint. If
    /// `environ` is true, the file also contains the changes that the code made to environment
    /// variables.
    ///
    /// # Errors
    /// When the checkpoint does not have this form, or when a part of the checkpoint is missing.
    pub fn prepare(
        blobs: &Path,
        label: Option<String>,
        code: String,
        outputs: Vec<Output>,
        checkpoint: &Checkpoint,
        form: Form,
        environ: bool,
    ) -> Result<Self, StateFileError> {
        let blobs = Blobs::at(blobs);
        let id: Digest =
            checkpoint.checkpoint_id.parse().map_err(|e| StateFileError::Lost(format!("{e}")))?;
        let text = blobs.get(&id, MAX_MANIFEST_BYTES)?;
        let text = reduced(text, form, environ)?;
        let chunks = once(named(&text, Some(form)).map_err(StateFileError::Lost)?)?;
        let manifest = record(&Digest::of(&text), &to_file(&text));
        let mut stored = manifest.len() as u64;
        for (chunk, _) in &chunks {
            let bytes = blobs
                .stored_bytes(chunk)
                .map_err(|_| StateFileError::Lost(format!("the chunk {chunk} is missing")))?;
            stored += RECORD_HEAD_BYTES as u64 + bytes;
        }
        let mut exported = checkpoint.clone();
        exported.checkpoint_id = Digest::of(&text).to_string();
        exported.form = form;
        exported.includes_source = form == Form::Environment && checkpoint.includes_source;
        let contains = in_words(form, environ, &outputs);
        let header = Arrived { contains, label, code, outputs, checkpoint: exported };
        let header = serde_json::to_vec(&header).map_err(|e| bad(e.to_string()))?;
        if header.len() > MAX_HEADER_BYTES {
            return Err(bad(format!(
                "its code and outputs have {} bytes, too many for a file",
                header.len()
            )));
        }
        let head = [MAGIC, &record(&Digest::of(&header), &to_file(&header)), &manifest].concat();
        let bytes = head.len() as u64 + stored - manifest.len() as u64;
        Ok(Self { blobs, head, chunks, bytes })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When a chunk does not match its digest, or when the file cannot be written. The file is then
    /// incomplete.
    pub fn write(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.head)?;
        for (chunk, length) in &self.chunks {
            let file = self.blobs.file(chunk, *length).map_err(io::Error::other)?;
            out.write_all(&record(chunk, &file))?;
        }
        out.flush()
    }
}

fn record(digest: &Digest, file: &[u8]) -> Vec<u8> {
    // Every record is much shorter than `u32::MAX`.
    let length = u32::try_from(file.len()).unwrap_or(u32::MAX).to_le_bytes();
    [digest.to_string().as_bytes(), &length, file].concat()
}

/// Removes the parts of a manifest that do not go into the file.
fn reduced(text: Vec<u8>, form: Form, environ: bool) -> Result<Vec<u8>, StateFileError> {
    let lost = |e: serde_json::Error| StateFileError::Lost(e.to_string());
    let mut manifest: Value = serde_json::from_slice(&text).map_err(lost)?;
    let has_environment = manifest["environment"].is_object();
    match form {
        Form::Environment if !has_environment => {
            return Err(bad(
                "its checkpoint holds plain values only; export it with form=data, or save it again",
            ));
        }
        Form::Environment if environ => return Ok(text),
        Form::Environment => {
            if let Some(streams) = manifest["environment"]["streams"].as_array_mut() {
                streams.retain(|stream| stream["name"] != "environ");
            }
        }
        Form::Data if !has_environment => return Ok(text),
        Form::Data => {
            let used = manifest["data"]["buffers"].as_array().cloned();
            if let Some(fields) = manifest.as_object_mut() {
                let of_environment = ["environment", "imports", "sources", "changed", "not_compared"];
                fields.retain(|name, _| !of_environment.contains(&name.as_str()));
            }
            // Buffers keep their numbers. A part without a list of buffers uses all buffers.
            let buffers = manifest["buffers"].as_array_mut();
            for (number, buffer) in buffers.into_iter().flatten().enumerate() {
                if used.as_ref().is_some_and(|used| !used.contains(&json!(number))) {
                    *buffer = json!({"bytes": 0, "readonly": false, "chunks": []});
                }
            }
        }
    }
    serde_json::to_vec(&manifest).map_err(lost)
}

fn in_words(form: Form, environ: bool, outputs: &[Output]) -> Vec<String> {
    let mut words = vec!["the code of all cells that led to the state".to_owned()];
    if !outputs.is_empty() {
        words.push("the outputs of its last cell".into());
    }
    words.push("the values of its variables, as plain data".into());
    if form == Form::Environment {
        words
            .push("its objects, functions, classes and settings: code that runs when they are loaded".into());
        let without = "no environment variables, except where a Python variable contains them";
        words.push(if environ { "the environment variables that its code changed" } else { without }.into());
    }
    words
}
