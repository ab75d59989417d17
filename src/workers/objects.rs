//! What the server and its workers keep in the object store, and moving checkpoints there and back.
//!
//! - `tasks/NOTEBOOK/TASK.task`: the task. It exists as long as the server wants the result: a
//!   worker begins only if it exists, and interrupts the run when it is gone.
//! - `tasks/NOTEBOOK/TASK.out.ATTEMPT.NUMBER`: what a running attempt has shown, in pieces.
//! - `tasks/NOTEBOOK/TASK.result`: the result. Written after all blobs of its state.
//!
//! The server removes all of them when the run has ended. Checkpoints are blobs.

use crate::blobs::{Blobs, Digest};
use crate::notebook::OutputChange;
use crate::problem::{Kind, Problem};
use crate::remote::{RemoteStore, for_each_in_parallel};
use crate::store::{MAX_MANIFEST_BYTES, checkpoint_chunks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many requests about blobs are under way at once. One waits mostly for the network.
pub(super) const PARALLEL: usize = 4;
/// `ratoon gc --store` removes a blob that no notebook names when it is a week old. An older blob
/// than this is written again.
const FRESH: Duration = Duration::from_hours(72);

/// The place of a task's objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaskKey {
    /// The id of the notebook.
    pub(crate) notebook: String,
    /// The digest of the task's text.
    pub(crate) task: String,
}

impl TaskKey {
    /// The keys of all tasks of a notebook begin with this.
    pub(crate) fn prefix(notebook: &str) -> String {
        format!("tasks/{notebook}/")
    }

    fn key(&self, name: &str) -> String {
        format!("{}{}.{name}", Self::prefix(&self.notebook), self.task)
    }

    pub(crate) fn task(&self) -> String {
        self.key("task")
    }

    pub(crate) fn result(&self) -> String {
        self.key("result")
    }

    pub(crate) fn output(&self, attempt: &str, number: u64) -> String {
        self.key(&format!("out.{attempt}.{number:09}"))
    }

    /// Reads a key of this task from a request. Both parts are hexadecimal digits, so they name
    /// nothing else.
    ///
    /// # Errors
    /// `BadRequest` for anything else.
    pub(crate) fn checked(notebook: String, task: String) -> Result<Self, Problem> {
        let is_id =
            |text: &str| !text.is_empty() && text.len() <= 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if is_id(&notebook) && is_id(&task) {
            return Ok(Self { notebook, task });
        }
        Err(Problem::bad_request(
            "run a task",
            "its id is not one of Ratoon's",
            "start workers with ratoon_worker.run",
        ))
    }
}

/// What a key below `TaskKey::prefix` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Task,
    Result,
    Output { attempt: String, number: u64 },
}

/// Reads a key below the prefix of a notebook: the id of the task, and what the key names. None for
/// keys that Ratoon does not make.
pub(crate) fn parse_key(prefix: &str, key: &str) -> Option<(String, Named)> {
    let (task, name) = key.strip_prefix(prefix)?.split_once('.')?;
    let named = match name.split('.').collect::<Vec<_>>()[..] {
        ["task"] => Named::Task,
        ["result"] => Named::Result,
        ["out", attempt, number] => {
            Named::Output { attempt: attempt.to_owned(), number: number.parse().ok()? }
        }
        _ => return None,
    };
    Some((task.to_owned(), named))
}

/// A piece of what an attempt has shown. Signed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shown {
    /// The id of the task.
    pub(crate) task: String,
    /// The attempt. Each time a task begins, it is another one.
    pub(crate) attempt: String,
    /// The number of the piece. Piece 0 is written when the attempt begins.
    pub(crate) number: u64,
    /// The name of the node.
    pub(crate) node: String,
    /// What has changed since the piece before.
    pub(crate) change: OutputChange,
}

/// Blobs that were found in the object store, or written to it.
#[derive(Debug, Default)]
pub(crate) struct KnownBlobs(Mutex<BTreeSet<Digest>>);

impl KnownBlobs {
    fn has(&self, blob: &Digest) -> bool {
        self.all().contains(blob)
    }

    fn add(&self, blob: Digest) {
        self.all().insert(blob);
    }

    /// Forgets them all, so that the store is asked again.
    pub(crate) fn clear(&self) {
        self.all().clear();
    }

    fn all(&self) -> MutexGuard<'_, BTreeSet<Digest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a blob has to be written: the store lacks it, or has it for so long that it may be
/// removed soon.
fn has_to_be_written(store: &RemoteStore, blob: &Digest) -> Result<bool, Problem> {
    Ok(store.blob_age(blob)?.is_none_or(|age| age > FRESH))
}

/// Copies a checkpoint's blobs into the object store: its chunks, then its manifest. Returns the
/// number of bytes that were written.
///
/// # Errors
/// When a blob is missing or damaged here, or the store does not accept it.
pub(crate) fn push(
    store: &RemoteStore,
    blobs: &Path,
    manifest: &str,
    known: &KnownBlobs,
) -> Result<u64, Problem> {
    let blobs = Blobs::at(blobs);
    let digest = digest_of(manifest)?;
    let text = blobs.get(&digest, MAX_MANIFEST_BYTES).map_err(|error| lost(&error))?;
    let chunks = checkpoint_chunks(&text).map_err(|why| lost(&why))?;
    let written = AtomicU64::new(0);
    let put = |chunk: &Digest, length: usize| -> Result<(), Problem> {
        if known.has(chunk) {
            return Ok(());
        }
        if has_to_be_written(store, chunk)? {
            let file = blobs.file(chunk, length).map_err(|error| lost(&error))?;
            store.put_blob_file(chunk, &file)?;
            written.fetch_add(file.len() as u64, Ordering::Relaxed);
        }
        known.add(*chunk);
        Ok(())
    };
    for_each_in_parallel(&chunks, PARALLEL, |(chunk, length)| put(chunk, *length))?;
    put(&digest, MAX_MANIFEST_BYTES)?;
    Ok(written.into_inner())
}

/// Copies the blobs of a checkpoint that are missing here out of the object store. Each is verified
/// by its digest. Returns the number of bytes that were read.
///
/// # Errors
/// When the store does not have a blob or has altered it, or the disk cannot be written.
pub(crate) fn fetch(
    store: &RemoteStore,
    blobs: &Path,
    manifest: &str,
    known: &KnownBlobs,
) -> Result<u64, Problem> {
    let digest = digest_of(manifest)?;
    let read = AtomicU64::new(0);
    let get = |wanted: &Digest, length: usize| -> Result<Vec<u8>, Problem> {
        let here = Blobs::at(blobs);
        let bytes = match here.get(wanted, length) {
            Ok(bytes) => bytes,
            Err(_) => {
                let bytes = store.get_blob(wanted, length).inspect_err(|problem| {
                    // Removes altered content. If that fails, the next fetch reports it again.
                    if problem.kind == Kind::Lost {
                        let _ = store.remove_blob(wanted);
                    }
                })?;
                let mut here = Blobs::at(blobs);
                let put = here.put(&bytes).map_err(|error| disk(&error))?;
                here.settle().map_err(|error| disk(&error))?;
                read.fetch_add(put.stored_bytes, Ordering::Relaxed);
                bytes
            }
        };
        known.add(*wanted);
        Ok(bytes)
    };
    let text = get(&digest, MAX_MANIFEST_BYTES)?;
    let chunks = checkpoint_chunks(&text).map_err(|why| lost(&why))?;
    let missing: Vec<_> = chunks.into_iter().filter(|(chunk, _)| is_missing(blobs, chunk, known)).collect();
    for_each_in_parallel(&missing, PARALLEL, |(chunk, length)| get(chunk, *length).map(drop))?;
    Ok(read.into_inner())
}

/// Whether a blob has to be fetched, or is here and was never verified.
fn is_missing(blobs: &Path, chunk: &Digest, known: &KnownBlobs) -> bool {
    !known.has(chunk) || Blobs::at(blobs).stored_bytes(chunk).is_err()
}

/// How many bytes of a checkpoint the object store lacks, and how many the checkpoint has.
///
/// # Errors
/// When the manifest cannot be read, or the store does not answer.
pub(crate) fn bytes_to_push(
    store: &RemoteStore,
    blobs: &Path,
    manifest: &str,
) -> Result<(u64, u64), Problem> {
    let blobs = Blobs::at(blobs);
    let text = blobs.get(&digest_of(manifest)?, MAX_MANIFEST_BYTES).map_err(|error| lost(&error))?;
    let chunks: BTreeSet<_> = checkpoint_chunks(&text).map_err(|why| lost(&why))?.into_iter().collect();
    let (lacking, all) = (AtomicU64::new(0), AtomicU64::new(0));
    let chunks: Vec<_> = chunks.into_iter().collect();
    for_each_in_parallel(&chunks, PARALLEL, |(chunk, _)| {
        let bytes = blobs.stored_bytes(chunk).unwrap_or_default();
        all.fetch_add(bytes, Ordering::Relaxed);
        if has_to_be_written(store, chunk)? {
            lacking.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok((lacking.into_inner(), all.into_inner()))
}

fn digest_of(manifest: &str) -> Result<Digest, Problem> {
    manifest.parse().map_err(|_| lost(&"its manifest has no digest"))
}

fn lost(why: &dyn std::fmt::Display) -> Problem {
    let how = "save the state again, or replay it, and run the cell again";
    Problem::new(Kind::Lost, "read a checkpoint", why.to_string(), how)
}

fn disk(error: &std::io::Error) -> Problem {
    let how = "make room on the disk of this node";
    Problem::new(Kind::Disk, "write a checkpoint", error.to_string(), how)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_made_and_read_and_other_keys_are_not() {
        let key = TaskKey::checked("0a".into(), "ff".into()).unwrap();
        let prefix = TaskKey::prefix("0a");
        let output = Named::Output { attempt: "b1".into(), number: 7 };
        for (text, named) in
            [(key.task(), Named::Task), (key.result(), Named::Result), (key.output("b1", 7), output)]
        {
            assert_eq!(parse_key(&prefix, &text), Some(("ff".into(), named)));
        }
        for text in ["tasks/0a/ff", "tasks/0a/ff.other", "tasks/0b/ff.task", "tasks/0a/ff.out.b1.x"] {
            assert_eq!(parse_key(&prefix, text), None, "{text}");
        }
        for id in ["", "..", "a/b", &"a".repeat(65)] {
            assert!(TaskKey::checked(id.to_owned(), "ff".into()).is_err());
            assert!(TaskKey::checked("ff".into(), id.to_owned()).is_err());
        }
    }
}
