//! Keeps each notebook in one directory, `NAME.ratoon/`, with a database and blobs. See
//! docs/format.md.
//!
//! A thread owns the database. It writes the facts of its queue in order, many in one transaction,
//! and reports what is on disk. After a failure the session, which has everything in memory, writes
//! the whole notebook again. The store imports nothing of session, kernel or http.

mod maintenance;
mod checkpoint_rows;
mod latest_time;
mod draft_order;
mod state_file;
mod key;
mod load;
mod lock;
mod open;
mod row_formats;
mod notebook_dir;
mod tables;
mod thread;
mod trash;
mod wal;
mod write;

pub use checkpoint_rows::TrustPreview;
pub use key::InstallKey;
pub use latest_time::LatestTime;
pub use maintenance::{Checked, Trusting, Untrusted, check, gc};
pub use notebook_dir::{NotebookInfo, create, duplicate, inspect, is_open, read, rename, sweep};
pub use state_file::{Arrived, Export, StateFileError, read_state};
pub use trash::{Discarded, Trashed, discard, find, list, purge, restore, sweep as sweep_trash};

use crate::blobs::Blobs;
use crate::notebook::{Checkpoint, DiskStatus, Fact, KeptCredentials, Notebook, Parts, StateId};
use crate::problem::Problem;
use key::Seal;
use open::Paths;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use thread::{Job, StoreThread};

/// A notebook opened from disk.
#[derive(Debug)]
pub struct Opened {
    /// The handle for all further writing.
    pub store: Store,
    /// Its content. Runs that had not ended still say so.
    pub parts: Parts,
    /// Its share links and browser sessions, without those that another install wrote.
    pub credentials: KeptCredentials,
    /// Damage that was set aside, as sentences for the user.
    pub damage: Vec<String>,
}

/// A report of the store's thread.
#[derive(Debug)]
pub enum StoreEvent {
    /// The facts up to this number are on disk.
    Saved {
        /// The number of the last.
        up_to: u64,
    },
    /// Writing failed. Nothing after the last `Saved` is on disk, and facts are dropped until a
    /// `rewrite`.
    Failed {
        /// What is wrong.
        trouble: DiskStatus,
    },
    /// Writing works again: time for a `rewrite`.
    Usable,
    /// A checkpoint became part of the notebook on disk, or why not.
    Kept {
        /// The state.
        state: StateId,
        /// The checkpoint.
        checkpoint: Result<Box<Checkpoint>, String>,
    },
    /// The checkpoints of these states are now signed by this install, or why not.
    Trusted(Result<Vec<StateId>, DiskStatus>),
}

/// A checkpoint to be added to the notebook; its blobs are already written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCheckpoint {
    /// The state.
    pub state: StateId,
    /// The state's parent. The signature covers it.
    pub parent: Option<StateId>,
    /// What is known about it. Its id is the digest of its manifest; `notebook_id` is set by the
    /// store. One with `is_trusted` unset comes from elsewhere, and is not signed.
    pub checkpoint: Checkpoint,
}

/// Reads the share links and browser sessions of a notebook that no process has open: those that
/// this install signed.
///
/// # Errors
/// When another process has it open, or it cannot be read.
pub fn read_credentials(dir: &Path, key: &InstallKey) -> Result<KeptCredentials, Problem> {
    open::read_credentials(&Paths::of(dir), key)
}

/// A handle on the store's thread. When the last is dropped, the thread writes the waiting jobs and
/// ends.
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
    /// record's digest and sets damaged records aside. The thread calls `news`, which must not wait
    /// for the thread.
    ///
    /// # Errors
    /// When another process has it open, it is no notebook, it is of a newer version, it is damaged
    /// as a whole, or the disk refuses.
    pub fn open(
        dir: &Path,
        name: &str,
        key: &InstallKey,
        news: impl Fn(StoreEvent) + Send + 'static,
    ) -> Result<Opened, Problem> {
        let paths = Paths::of(dir);
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
            .map_err(|e| paths.refused(e.to_string(), "close some programs and try again"))?;
        let thread = Mutex::new(Some(thread));
        let store = Self { inner: Arc::new(StoreInner { jobs, backlog, notebook_id, paths, thread }) };
        Ok(Opened {
            store,
            parts: opened.loaded.parts,
            credentials: opened.loaded.credentials,
            damage: opened.loaded.damage,
        })
    }

    /// The notebook's id, made with its directory.
    pub fn notebook_id(&self) -> &str {
        &self.inner.notebook_id
    }

    /// The folder of its blobs.
    pub fn blobs(&self) -> PathBuf {
        self.inner.paths.blobs()
    }

    /// Saves a fact without waiting. Facts are written in order; `number` must grow.
    pub fn save(&self, number: u64, fact: &Fact) {
        self.save_fact(number, fact, false);
    }

    /// Saves a fact in one transaction with the next, which must follow at once.
    pub fn save_with_next(&self, number: u64, fact: &Fact) {
        self.save_fact(number, fact, true);
    }

    fn save_fact(&self, number: u64, fact: &Fact, has_next: bool) {
        self.send(Job::Fact { number, fact: Box::new(fact.clone()), bytes: bytes_of(fact), has_next });
    }

    /// Writes the facts so far without waiting for more: a client waits for them.
    pub fn hurry(&self) {
        self.send(Job::Hurry);
    }

    /// Writes the whole notebook again, after a failure in which facts were dropped.
    pub fn rewrite(&self, number: u64, notebook: &Notebook) {
        self.send(Job::Whole(number, Box::new(parts_of(notebook))));
    }

    /// Adds a checkpoint to the notebook; answered by `StoreEvent::Kept`.
    pub fn keep_checkpoint(&self, checkpoint: NewCheckpoint) {
        self.send(Job::Keep(Box::new(checkpoint)));
    }

    /// Signs all checkpoints as this install's own; answered by `StoreEvent::Trusted`.
    pub fn trust(&self) {
        self.send(Job::Trust);
    }

    /// Replaces the stored share links and browser sessions.
    pub fn keep_credentials(
        &self,
        credentials: KeptCredentials,
        done: impl FnOnce(Result<(), DiskStatus>) + Send + 'static,
    ) {
        self.send(Job::Credentials(credentials, Box::new(done)));
    }

    /// Copies the notebook, after all earlier jobs, to another directory. Waits for it.
    ///
    /// # Errors
    /// When the name is taken, or the disk refuses.
    pub fn copy_to(&self, to: &Path) -> Result<(), Problem> {
        notebook_dir::copy(&self.inner.paths, to, |database| {
            let (done, copied) = mpsc::channel();
            // The receiver below waits until this answer comes.
            self.send(Job::Copy(database.to_owned(), Box::new(move |copied| drop(done.send(copied)))));
            let copied =
                copied.recv().map_err(|_| "the thread that writes to disk has stopped".to_owned())?;
            copied.map_err(|trouble| trouble.why)
        })
    }

    /// Copies the notebook, after all earlier jobs, to the trash. Waits for it.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn set_aside(&self) -> Result<(), Problem> {
        let paths = &self.inner.paths;
        self.copy_to(&trash::place(paths, Discarded::Reset)?)
    }

    /// Removes old and surplus entries from the trash. Waits for it.
    pub fn prune_trash(&self) {
        trash::prune(&self.inner.paths.dir);
    }

    /// Estimated bytes that wait to be written.
    pub fn backlog_bytes(&self) -> usize {
        self.inner.backlog.load(Ordering::Relaxed)
    }

    /// Writes the waiting jobs and closes. Waits for it. Other handles are useless afterwards.
    pub fn close(self) {
        self.send(Job::Close);
        let thread = self.inner.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            // After a panic there is nothing left to close.
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

/// The stored content of a notebook.
fn parts_of(notebook: &Notebook) -> Parts {
    Parts {
        name: notebook.name().to_owned(),
        states: notebook.states().cloned().collect(),
        names: notebook.named().map(|(name, id)| (name.to_owned(), id.clone())).collect(),
        runs: notebook.runs().cloned().collect(),
        drafts: notebook.drafts().cloned().collect(),
        tasks: notebook.tasks().cloned().collect(),
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
        Fact::RunAdded { run } => LITTLE + run.code.len() + run.outputs.kept_bytes(),
        Fact::DraftsChanged { put, .. } => LITTLE + put.iter().map(|p| p.draft.source.len()).sum::<usize>(),
        _ => LITTLE,
    }
}

#[cfg(test)]
mod tests;
