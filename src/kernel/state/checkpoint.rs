//! Saves the state of a throw-away fork as a checkpoint, and loads a checkpoint into a fork of the
//! root.
//!
//! `checkpoint.py` decides what is saved and how. This file cuts the bytes into chunks, stores them
//! as blobs and reads them back. It checks a chunk's digest before anything uses its bytes.

use super::load_limits::LoadLimits;
use super::package::PackageModule;
use super::report;
use crate::blobs::{BlobError, Blobs, CHUNK_BYTES, Digest};
use crate::kernel::protocol::{Contents, Load, Report};
use crate::notebook::{ChangedOnLoad, Form, Missing};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// The largest manifest, in bytes: some million chunks or names.
const MAX_MANIFEST_BYTES: usize = 256 << 20;
/// The interval between reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Percentage of available memory to keep free when a checkpoint is loaded.
const PERCENT_KEPT_FREE: u64 = 5;

#[derive(Debug)]
pub(super) struct Checkpoints(PackageModule);

/// Why the disk refused a blob.
fn disk_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        _ => error.to_string(),
    }
}

/// Why a checkpoint could not be written.
enum SaveError {
    /// The disk refused a blob.
    Disk(String),
    Python(PyErr),
}

impl From<PyErr> for SaveError {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

#[derive(Deserialize)]
struct Summary {
    manifest: String,
    entry_count: u32,
    namespace_bytes: u64,
    includes_source: bool,
    missing: Vec<Missing>,
    changed: Vec<ChangedOnLoad>,
    not_compared: Option<String>,
}

impl Checkpoints {
    /// Imports the module. The shell must have been imported before.
    pub(super) fn boot(py: Python<'_>) -> PyResult<Self> {
        let module = PackageModule::import(py, "checkpoint")?;
        module.0.call_method0(py, "boot")?;
        Ok(Self(module))
    }

    /// Writes this process' state. This changes the process, so it must be a throw-away fork.
    pub(super) fn save(&self, py: Python<'_>, form: Form, blobs: &Path) -> Report {
        match self.try_save(py, form, blobs) {
            Ok(contents) => Report::Saved(contents),
            Err(SaveError::Disk(why)) => Report::SaveFailed { is_disk: true, why },
            Err(SaveError::Python(error)) => Report::SaveFailed { is_disk: false, why: why(py, &error) },
        }
    }

    fn try_save(&self, py: Python<'_>, form: Form, blobs: &Path) -> Result<Contents, SaveError> {
        let keeper = Bound::new(py, Keeper::at(blobs))?;
        let summary: Summary = self.0.call(py, "save", (&keeper, form_name(form)))?;
        if super::channel::is_users_child() {
            // The code of a pickled object has forked, and this is the child. The parent writes the
            // checkpoint.
            super::process_exit::leave();
        }
        let mut keeper = keeper.borrow_mut();
        // If a write fails, the whole checkpoint fails, not only the value that was being written.
        if let Some(why) = keeper.disk_error.take() {
            return Err(SaveError::Disk(why));
        }
        let refused = |error| SaveError::Disk(disk_reason(&error));
        let manifest = keeper.blobs.put(summary.manifest.as_bytes()).map_err(refused)?;
        keeper.count(manifest.digest, manifest.stored_bytes, manifest.is_new);
        keeper.blobs.settle().map_err(refused)?;
        Ok(Contents {
            manifest: manifest.digest.to_string(),
            entry_count: summary.entry_count,
            namespace_bytes: summary.namespace_bytes,
            stored_bytes: keeper.stored_bytes,
            new_bytes: keeper.new_bytes,
            includes_source: summary.includes_source,
            missing: summary.missing,
            changed: summary.changed,
            not_compared: summary.not_compared,
        })
    }

    /// The names that could not be restored from the checkpoint of this process or an ancestor, and
    /// that are still missing.
    pub(super) fn lacking(&self, py: Python<'_>) -> Vec<Missing> {
        self.0.call(py, "still_lacking", ()).unwrap_or_default()
    }

    /// Loads a checkpoint into this fork of the root. Returns what could not be restored.
    ///
    /// # Errors
    /// The reason why it cannot be loaded. After an error, the process must not become a state.
    pub(super) fn load(&self, py: Python<'_>, load: &Load, blobs: &Path) -> Result<Vec<Missing>, String> {
        let mut keeper = Keeper::at(blobs);
        let digest: Digest = load.manifest.parse().map_err(|e| format!("{e}"))?;
        let manifest = keeper.blobs.get(&digest, MAX_MANIFEST_BYTES).map_err(|e| e.to_string())?;
        let manifest = String::from_utf8(manifest).map_err(|e| e.to_string())?;
        if let Some(max_bytes) = load.max_bytes {
            keeper.limit(&digest, &manifest, max_bytes);
        }
        let keeper = Bound::new(py, keeper).map_err(|e| why(py, &e))?;
        let loaded = self.0.call(py, "load", (&keeper, manifest, form_name(load.form)));
        let limits = keeper.borrow_mut().limits.take();
        loaded.map_err(|error| match limits {
            Some(limits) if error.is_instance_of::<PyMemoryError>(py) => {
                format!("its values {}", too_large(limits.bytes))
            }
            _ => why(py, &error),
        })
    }
}

/// The end of a sentence about values that are too large for the size of their files.
fn too_large(bytes: u64) -> String {
    format!(
        "would need more than {} MiB of memory, which is the limit for untrusted files of this size: trust \
         the notebook if you know where it comes from",
        bytes >> 20
    )
}

/// The chunks that a manifest of the data form names.
#[derive(Deserialize)]
struct Chunks<'a> {
    #[serde(borrow)]
    data: Option<Streams<'a>>,
    #[serde(borrow, default)]
    buffers: Vec<ChunkList<'a>>,
}

#[derive(Deserialize)]
struct Streams<'a> {
    #[serde(borrow)]
    streams: Vec<ChunkList<'a>>,
}

#[derive(Deserialize)]
struct ChunkList<'a> {
    #[serde(borrow)]
    chunks: Vec<&'a str>,
}

fn form_name(form: Form) -> &'static str {
    match form {
        Form::Environment => "environment",
        Form::Data => "data",
    }
}

/// An error as a sentence. Errors that are not ours begin with their type.
fn why(py: Python<'_>, error: &PyErr) -> String {
    let text = error.value(py).str().map(|t| t.to_string_lossy().into_owned()).unwrap_or_default();
    let is_ours = error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyOSError>(py);
    let mut why = match error.get_type(py).name() {
        Ok(name) if !is_ours || text.is_empty() => format!("{name}: {text}"),
        _ => text,
    };
    why.truncate(why.floor_char_boundary(1000));
    why
}

/// Stores the bytes of a checkpoint and reads them back. Python uses it through `keeper.py`.
#[pyclass(unsendable)]
#[derive(Debug)]
struct Keeper {
    blobs: Blobs,
    /// Stored memory that may be stored again, by address and length. The memory is kept alive, so
    /// that no other object gets its address.
    known: HashMap<(usize, usize), KeptBuffer>,
    counted: HashSet<Digest>,
    stored_bytes: u64,
    new_bytes: u64,
    /// How many bytes will be stored, to compute the progress.
    expected: u64,
    done: u64,
    reported_at: Option<Instant>,
    /// Why a write failed.
    disk_error: Option<String>,
    /// How many bytes may still be unpacked.
    budget: u64,
    /// The limits for an untrusted checkpoint.
    limits: Option<LoadLimits>,
}

#[derive(Debug)]
struct KeptBuffer {
    chunks: Vec<String>,
    _alive: PyBuffer<u8>,
}

impl Keeper {
    fn at(folder: &Path) -> Self {
        Self {
            blobs: Blobs::at(folder),
            known: HashMap::new(),
            counted: HashSet::new(),
            stored_bytes: 0,
            new_bytes: 0,
            expected: 1,
            done: 0,
            reported_at: None,
            disk_error: None,
            budget: available_memory(),
            limits: None,
        }
    }

    /// Sets limits in proportion to the size of the files that the manifest names.
    fn limit(&mut self, digest: &Digest, manifest: &str, max_bytes: u64) {
        let listed: Option<Chunks<'_>> = serde_json::from_str(manifest).ok();
        let lists = listed.iter().flat_map(|listed| {
            listed
                .data
                .iter()
                .flat_map(|data| &data.streams)
                .chain(&listed.buffers)
                .flat_map(|list| &list.chunks)
        });
        let mut chunks: HashSet<Digest> = lists.filter_map(|chunk| chunk.parse().ok()).collect();
        chunks.insert(*digest);
        // A missing chunk counts as 0 bytes; reading it later fails.
        let stored = chunks.iter().map(|chunk| self.blobs.stored_bytes(chunk).unwrap_or_default()).sum();
        let limits = LoadLimits::for_loading(stored, max_bytes);
        self.budget = self.budget.min(limits.bytes);
        self.limits = Some(limits);
    }

    fn count(&mut self, digest: Digest, stored_bytes: u64, is_new: bool) {
        if self.counted.insert(digest) {
            self.stored_bytes += stored_bytes;
            self.new_bytes += if is_new { stored_bytes } else { 0 };
        }
    }

    fn report_progress(&mut self, bytes: usize) {
        self.done += bytes as u64;
        if self.reported_at.is_some_and(|at| at.elapsed() < PROGRESS_INTERVAL) {
            return;
        }
        self.reported_at = Some(Instant::now());
        let percent = (self.done * 100 / self.expected.max(1)).min(99);
        report::send(&Report::Saving { percent: u8::try_from(percent).unwrap_or(99) });
    }
}

#[pymethods]
impl Keeper {
    /// Sets the approximate number of bytes to come.
    fn expect(&mut self, bytes: u64) {
        self.expected = bytes;
    }

    /// Cuts bytes into chunks and stores them. Returns the number of bytes and the digests of the
    /// chunks. `again`: the same memory may be stored again.
    fn put(&mut self, memory: PyBuffer<u8>, again: bool) -> PyResult<(usize, Vec<String>)> {
        if super::channel::is_users_child() {
            super::process_exit::leave();
        }
        let bytes = bytes_of(&memory)?;
        let key = (bytes.as_ptr() as usize, bytes.len());
        if let Some(known) = self.known.get(&key) {
            return Ok((bytes.len(), known.chunks.clone()));
        }
        let mut chunks = Vec::with_capacity(bytes.len().div_ceil(CHUNK_BYTES));
        for chunk in bytes.chunks(CHUNK_BYTES) {
            let put = self.blobs.put(chunk).inspect_err(|error| {
                self.disk_error.get_or_insert_with(|| disk_reason(error));
            })?;
            self.count(put.digest, put.stored_bytes, put.is_new);
            chunks.push(put.digest.to_string());
            self.report_progress(chunk.len());
        }
        let count = bytes.len();
        if again && count > 0 {
            self.known.insert(key, KeptBuffer { chunks: chunks.clone(), _alive: memory });
        }
        Ok((count, chunks))
    }

    /// Checks that these chunks can hold `count` bytes and that there is enough memory for the
    /// bytes. Returns `count`. Must be called before the memory is allocated.
    fn check(&mut self, count: u64, chunks: Vec<String>) -> PyResult<u64> {
        if count.div_ceil(CHUNK_BYTES as u64) != chunks.len() as u64 {
            let text = format!("{count} bytes do not fit {} chunks", chunks.len());
            return Err(PyValueError::new_err(text));
        }
        self.budget = self.budget.checked_sub(count).ok_or_else(|| match &self.limits {
            Some(_) => PyMemoryError::new_err(()),
            None => PyOSError::new_err(
                "there is not enough free memory to load this checkpoint: close some programs and try again",
            ),
        })?;
        Ok(count)
    }

    /// The end of a sentence about a value that exceeds the memory limit.
    fn too_large(&self) -> String {
        match &self.limits {
            Some(limits) => format!("it {}", too_large(limits.bytes)),
            None => "there is not enough free memory for it".into(),
        }
    }

    /// Lifts the limits while a library is imported.
    fn lift(&mut self) {
        self.limits.iter_mut().for_each(LoadLimits::lift);
    }

    /// Sets the limits again after `lift`.
    fn limit_again(&mut self) {
        self.limits.iter_mut().for_each(LoadLimits::limit_again);
    }

    /// Fills memory with the content of these chunks.
    fn fill(&self, memory: PyBuffer<u8>, chunks: Vec<String>) -> PyResult<()> {
        let bytes = bytes_of_mut(&memory)?;
        if bytes.len().div_ceil(CHUNK_BYTES) != chunks.len() {
            return Err(PyValueError::new_err("the chunks do not fit the memory"));
        }
        for (piece, chunk) in bytes.chunks_mut(CHUNK_BYTES).zip(&chunks) {
            let digest: Digest = chunk.parse().map_err(|_| PyValueError::new_err("a chunk has no digest"))?;
            self.blobs.get_into(&digest, piece).map_err(|error| match error {
                BlobError::Io(..) => PyOSError::new_err(error.to_string()),
                _ => PyValueError::new_err(error.to_string()),
            })?;
        }
        Ok(())
    }
}

/// The bytes of an object. Callers run no user code while they use them.
#[allow(unsafe_code)]
pub(super) fn bytes_of(memory: &PyBuffer<u8>) -> PyResult<&[u8]> {
    let bytes =
        memory.as_slice_ptr().ok_or_else(|| PyValueError::new_err("this buffer is not contiguous"))?;
    // SAFETY: the buffer is held, so the memory stays. Until the slice is dropped no Python code
    // runs, and the only other thread of a saving process waits.
    Ok(unsafe { bytes.as_ref() })
}

/// The bytes of an object, to be filled.
#[allow(unsafe_code, clippy::mut_from_ref)]
fn bytes_of_mut(memory: &PyBuffer<u8>) -> PyResult<&mut [u8]> {
    let bytes = memory.as_slice_ptr().filter(|_| !memory.readonly());
    let mut bytes = bytes.ok_or_else(|| PyValueError::new_err("this memory cannot be filled"))?;
    // SAFETY: as above. The memory was allocated for this call, and nothing else reads it.
    Ok(unsafe { bytes.as_mut() })
}

/// How much memory a loaded checkpoint may take, in bytes.
fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: Option<u64> = line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok());
    // Without that line, only the system's own limits apply.
    kib.map_or(u64::MAX, |kib| kib * 1024 / 100 * (100 - PERCENT_KEPT_FREE))
}
