//! Stores each notebook in one directory, `NAME.ratoon/`, with a database and blobs. See
//! docs/format.md.
//!
//! One thread per notebook owns the database. The thread writes the queued facts in order, many in
//! one transaction, and reports which facts are on disk. After a failure the session sends the
//! whole notebook, which it has in memory, and the thread writes all of it. The store imports
//! nothing from session, kernel or http.

mod maintenance;
mod checkpoint_rows;
mod chosen_python;
mod config_file;
mod attachments;
mod imported_file;
mod latest_time;
mod settings;
mod draft_order;
mod state_file;
mod store_event;
mod sweep_rows;
mod key;
mod load;
mod loaded;
mod lock;
mod open;
mod paths;
mod row_formats;
mod notebook_dir;
pub mod offsite;
mod tables;
mod thread;
mod trash;
mod wal;
mod write;

pub use attachments::{Attachments, MAX_ATTACHMENT_BYTES};
pub(crate) use checkpoint_rows::{MAX_MANIFEST_BYTES, checkpoint_chunks};
pub use checkpoint_rows::{NewCheckpoint, TrustPreview};
pub use imported_file::read_imported_file;
pub use key::InstallKey;
pub use latest_time::LatestTime;
pub use maintenance::{Checked, Trusting, Untrusted, check, gc};
pub use notebook_dir::{NotebookInfo, clean_up, create, duplicate, inspect, is_open, read, rename};
pub use settings::Settings;
pub use state_file::{Arrived, Export, StateFileError, read_state};
pub use store_event::StoreEvent;
pub use trash::{Discarded, Trashed, clean_up as clean_up_trash, discard, find, list, purge, restore};

use crate::blobs::Blobs;
use crate::notebook::{DiskStatus, Fact, KeptCredentials, Notebook, Parts, WidgetMessage};
use crate::problem::Problem;
use key::Seal;
use paths::Paths;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use thread::{Job, StoreThread};
use write::parts_of;

/// A notebook opened from disk.
#[derive(Debug)]
pub struct Opened {
    /// The handle through which the session writes.
    pub store: Store,
    /// The notebook's content. A run that had not ended has the status that was stored last.
    pub parts: Parts,
    /// The notebook's share links and browser sessions that this install signed.
    pub credentials: KeptCredentials,
    /// Descriptions, as sentences for the user, of damaged data that was set aside.
    pub damage: Vec<String>,
}

/// Reads the share links and browser sessions of a notebook that no process has open. Returns only
/// those that this install signed.
///
/// # Errors
/// When another process has the notebook open, or the notebook cannot be read.
pub fn read_credentials(dir: &Path, key: &InstallKey) -> Result<KeptCredentials, Problem> {
    open::read_credentials(&Paths::of(dir), key)
}

/// A handle on the store's thread. When the last handle is dropped, the thread writes the queued
/// jobs and ends.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<StoreInner>,
}

#[derive(Debug)]
struct StoreInner {
    jobs: mpsc::Sender<Job>,
    backlog: Arc<AtomicUsize>,
    notebook_id: String,
    paths: Paths,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens a notebook's directory (`NAME.ratoon`), or creates it. Takes the lock, checks every
    /// record's digest and sets damaged records aside. The store's thread calls `news` with its
    /// reports. `news` must not wait for that thread.
    ///
    /// # Errors
    /// When another process has the notebook open, the directory is no notebook, its version is
    /// newer, its database cannot be repaired, or the disk cannot be written.
    pub fn open(
        dir: &Path,
        name: &str,
        key: &InstallKey,
        news: impl Fn(StoreEvent) + Send + 'static,
    ) -> Result<Opened, Problem> {
        let paths = Paths::of(dir);
        notebook_dir::create_if_missing(&paths)?;
        let opened = open::open(&paths, key, name)?;
        let notebook_id = opened.loaded.notebook_id.unwrap_or_default();
        let seal = Seal::new(key, &notebook_id);
        let (jobs, waiting) = mpsc::channel();
        let backlog = Arc::new(AtomicUsize::new(0));
        let thread = StoreThread::new(
            (paths.clone(), seal, opened.lock),
            waiting,
            Arc::clone(&backlog),
            Box::new(news),
            opened.loaded.commits,
        );
        let (tables, has_crashed) = (opened.tables, opened.has_crashed);
        let thread = std::thread::Builder::new()
            .name("store".into())
            .spawn(move || thread.run(tables, has_crashed))
            .map_err(|e| paths.failed(e))?;
        let thread = Mutex::new(Some(thread));
        let store = Self { inner: Arc::new(StoreInner { jobs, backlog, notebook_id, paths, thread }) };
        Ok(Opened {
            store,
            parts: opened.loaded.parts,
            credentials: opened.loaded.credentials,
            damage: opened.loaded.damage,
        })
    }

    /// The notebook's id, which its database stores.
    pub fn notebook_id(&self) -> &str {
        &self.inner.notebook_id
    }

    /// The folder of the notebook's blobs.
    pub fn blobs(&self) -> PathBuf {
        self.inner.paths.blobs()
    }

    /// Queues a fact to be written. Each `number` must be larger than the one before.
    pub fn save(&self, number: u64, fact: &Fact) {
        self.save_fact(number, fact, false);
    }

    /// Like `save`, but writes the fact and the next fact in one transaction. The next fact must be
    /// queued directly after this call.
    pub fn save_with_next(&self, number: u64, fact: &Fact) {
        self.save_fact(number, fact, true);
    }

    fn save_fact(&self, number: u64, fact: &Fact, has_next: bool) {
        self.send(Job::Fact { number, fact: Box::new(fact.clone()), bytes: bytes_of(fact), has_next });
    }

    /// Writes the queued facts now instead of waiting for more, because a client waits for them.
    pub fn hurry(&self) {
        self.send(Job::Hurry);
    }

    /// Writes the whole notebook again, after a failure caused facts to be dropped.
    pub fn rewrite(&self, number: u64, notebook: &Notebook) {
        self.send(Job::Whole(number, Box::new(parts_of(notebook))));
    }

    /// Adds a checkpoint to the notebook. The answer is a `StoreEvent::Kept`.
    pub fn keep_checkpoint(&self, checkpoint: NewCheckpoint) {
        self.send(Job::Keep(Box::new(checkpoint)));
    }

    /// Signs all checkpoints with this install's key. The answer is a `StoreEvent::Trusted`.
    pub fn trust(&self) {
        self.send(Job::Trust);
    }

    /// Replaces the stored share links and browser sessions, then calls `done` with the result.
    pub fn keep_credentials(
        &self,
        credentials: KeptCredentials,
        done: impl FnOnce(Result<(), DiskStatus>) + Send + 'static,
    ) {
        self.send(Job::Credentials(credentials, Box::new(done)));
    }

    /// Copies the notebook to another directory, after all earlier jobs. Blocks until the copy is
    /// complete.
    ///
    /// # Errors
    /// When the name is taken, or the disk cannot be written.
    pub fn copy_to(&self, to: &Path) -> Result<(), Problem> {
        notebook_dir::copy(&self.inner.paths, to, |database| {
            let (done, copied) = mpsc::channel();
            // Sending cannot fail: the receiver below waits for this answer.
            self.send(Job::Copy(database.to_owned(), Box::new(move |copied| drop(done.send(copied)))));
            let copied =
                copied.recv().map_err(|_| "the thread that writes to disk has stopped".to_owned())?;
            copied.map_err(|trouble| trouble.why)
        })
    }

    /// Copies the notebook to the trash, after all earlier jobs. Blocks until the copy is complete.
    ///
    /// # Errors
    /// When the disk cannot be written.
    pub fn set_aside(&self) -> Result<(), Problem> {
        let paths = &self.inner.paths;
        self.copy_to(&trash::place(paths, Discarded::Reset)?)
    }

    /// Removes old and surplus entries from the trash. Blocks until they are removed.
    pub fn prune_trash(&self) {
        trash::prune(&self.inner.paths.dir);
    }

    /// Estimated number of bytes that wait to be written.
    pub fn backlog_bytes(&self) -> usize {
        self.inner.backlog.load(Ordering::Relaxed)
    }

    /// Writes the queued jobs and closes the notebook. Blocks until the notebook is closed. After
    /// this call, other handles do nothing.
    pub fn close(self) {
        self.send(Job::Close);
        let thread = self.inner.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            // An error means that the thread panicked. Then there is nothing to close.
            let _ = thread.join();
        }
        Blobs::at(&self.inner.paths.blobs()).forget_verified();
    }

    fn send(&self, job: Job) {
        self.inner.backlog.fetch_add(job.bytes(), Ordering::Relaxed);
        // Sending fails only after a close.
        let _ = self.inner.jobs.send(job);
    }
}

/// Estimated bytes that a fact holds in memory.
fn bytes_of(fact: &Fact) -> usize {
    const LITTLE: usize = 256;
    match fact {
        Fact::OutputAdded { output, .. } => LITTLE + output.size(),
        Fact::DisplayUpdated { data, .. } => {
            LITTLE + data.values().map(|value| value.as_str().map_or(LITTLE, str::len)).sum::<usize>()
        }
        Fact::WidgetsChanged { messages, .. } => {
            LITTLE + messages.iter().map(WidgetMessage::size).sum::<usize>()
        }
        Fact::SweepAdded { sweep } => {
            let values = sweep.rows.iter().flat_map(|row| &row.values).map(String::len).sum::<usize>();
            LITTLE + sweep.code.len() + values + sweep.rows.len() * LITTLE
        }
        Fact::RunAdded { run } => LITTLE + run.code.len() + run.outputs.kept_bytes(),
        Fact::DraftsChanged { put, .. } => LITTLE + put.iter().map(|p| p.draft.source.len()).sum::<usize>(),
        _ => LITTLE,
    }
}

#[cfg(test)]
mod tests;
