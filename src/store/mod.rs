//! WHERE a notebook is kept: one directory, `NAME.ratoon/`, with a database and blobs. See docs/format.md.
//!
//! A thread owns the database. Facts go into its queue and are written in order, many in one transaction; it says what is
//! on disk. What fails is told and tried again by the session, which has everything in memory. Knows no session, no
//! process, no HTTP.

mod maintenance;
mod checkpoint;
mod clock;
mod draft_order;
mod exchange;
mod key;
mod load;
mod lock;
mod open;
mod record;
mod notebook_dir;
mod tables;
mod thread;
mod trash;
mod wal;
mod write;

pub use checkpoint::Holds;
pub use clock::LatestTime;
pub use exchange::{Arrived, ExchangeError, Export, read_state};
pub use key::InstallKey;
pub use maintenance::{Checked, Trusting, Untrusted, check, gc};
pub use notebook_dir::{NotebookInfo, create, duplicate, inspect, is_open, read, rename, sweep};
pub use trash::{Discarded, Trashed, discard, find, list, purge, restore, sweep as sweep_trash};

use crate::blobs::Blobs;
use crate::notebook::{Checkpoint, DiskStatus, Fact, KeptLink, Notebook, Parts, StateId};
use crate::problem::Problem;
use key::Seal;
use open::Paths;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use thread::{Job, Thread};

/// A notebook as it was found on disk.
#[derive(Debug)]
pub struct Opened {
    /// Where it is written to from now on.
    pub store: Store,
    /// What it is made of. Runs that had not ended stand as they were.
    pub parts: Parts,
    /// Its share links; those that another install wrote are left out.
    pub links: Vec<KeptLink>,
    /// What was damaged and set aside, as sentences for people; empty when all is well.
    pub damage: Vec<String>,
}

/// What the store's thread says.
#[derive(Debug)]
pub enum StoreEvent {
    /// The facts up to this number are on disk.
    Saved {
        /// The number of the last.
        up_to: u64,
    },
    /// Writing failed. Nothing after the last `Saved` is on disk, and facts are let go until a `rewrite` comes.
    Failed {
        /// What is wrong.
        trouble: DiskStatus,
    },
    /// It could be written to again: time for a `rewrite`.
    Usable,
    /// A checkpoint is part of the notebook, on disk; or why not.
    Kept {
        /// The state.
        state: StateId,
        /// The checkpoint.
        checkpoint: Result<Box<Checkpoint>, String>,
    },
    /// The checkpoints of these states were not this install's own, and are now; or why not.
    Trusted(Result<Vec<StateId>, DiskStatus>),
}

/// A checkpoint whose blobs are written and that is to become part of the notebook.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCheckpoint {
    /// The state.
    pub state: StateId,
    /// The state's parent, to which the signature binds it.
    pub parent: Option<StateId>,
    /// What is known about it. Its id is the digest of its manifest; `session_id` is set by the store. One with `is_trusted`
    /// unset comes from elsewhere, and is not signed.
    pub about: Checkpoint,
}

/// The share links of a notebook that nobody has open. Only those that this install signed; nothing is changed.
///
/// # Errors
/// When another process has it open, or it cannot be read.
pub fn read_links(dir: &Path, key: &InstallKey) -> Result<Vec<KeptLink>, Problem> {
    open::read_links(&Paths::of(dir), key)
}

/// A handle on the store's thread. When the last is dropped the thread writes what waits and ends.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    jobs: mpsc::Sender<Job>,
    backlog: Arc<AtomicUsize>,
    notebook_id: String,
    paths: Paths,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens a notebook's directory (`NAME.ratoon`), or makes it. Takes the lock, checks every record's digest, sets
    /// aside what is damaged. `news` is called on the store's thread, and must not wait for it.
    ///
    /// # Errors
    /// When another process has it open, it is no notebook, it is of a newer version, it is damaged as a whole, or the
    /// disk refuses.
    pub fn open(
        dir: &Path,
        name: &str,
        key: &InstallKey,
        news: impl Fn(StoreEvent) + Send + 'static,
    ) -> Result<Opened, Problem> {
        let paths = Paths::of(dir);
        let found = open::open(&paths, key, name)?;
        let notebook_id = found.loaded.notebook_id.unwrap_or_default();
        let seal = Seal::new(key, &notebook_id);
        let (jobs, waiting) = mpsc::channel();
        let backlog = Arc::new(AtomicUsize::new(0));
        let thread = Thread::new(
            (paths.clone(), seal, found.lock),
            waiting,
            Arc::clone(&backlog),
            Box::new(news),
            found.loaded.commits,
        );
        let (tables, has_crashed) = (found.tables, found.has_crashed);
        let thread = std::thread::Builder::new()
            .name("store".into())
            .spawn(move || thread.run(tables, has_crashed))
            .map_err(|e| paths.refused(e.to_string(), "close some programs and try again"))?;
        let thread = Mutex::new(Some(thread));
        let store = Self { shared: Arc::new(Shared { jobs, backlog, notebook_id, paths, thread }) };
        Ok(Opened {
            store,
            parts: found.loaded.parts,
            links: found.loaded.links,
            damage: found.loaded.damage,
        })
    }

    /// The notebook's own id, made when its directory was made.
    pub fn notebook_id(&self) -> &str {
        &self.shared.notebook_id
    }

    /// The folder of its blobs.
    pub fn blobs(&self) -> PathBuf {
        self.shared.paths.blobs()
    }

    /// Saves a fact. Never waits; facts are written in the order in which they come. `number` grows.
    pub fn save(&self, number: u64, fact: &Fact) {
        self.save_fact(number, fact, false);
    }

    /// Saves a fact together with the next, which must come at once: both are on disk, or neither is.
    pub fn save_with_next(&self, number: u64, fact: &Fact) {
        self.save_fact(number, fact, true);
    }

    fn save_fact(&self, number: u64, fact: &Fact, has_next: bool) {
        self.send(Job::Fact { number, fact: Box::new(fact.clone()), bytes: bytes_of(fact), has_next });
    }

    /// Somebody waits for the facts so far: they are not kept waiting for more.
    pub fn hurry(&self) {
        self.send(Job::Hurry);
    }

    /// Writes the whole notebook anew: after a failure, when facts were let go.
    pub fn rewrite(&self, number: u64, notebook: &Notebook) {
        self.send(Job::Whole(number, Box::new(parts_of(notebook))));
    }

    /// Makes a checkpoint part of the notebook; answered by `News::Kept`.
    pub fn keep_checkpoint(&self, checkpoint: NewCheckpoint) {
        self.send(Job::Keep(Box::new(checkpoint)));
    }

    /// Signs all checkpoints as this install's own; answered by `News::Trusted`.
    pub fn trust(&self) {
        self.send(Job::Trust);
    }

    /// Keeps the share links, in place of those before.
    pub fn keep_links(
        &self,
        links: Vec<KeptLink>,
        done: impl FnOnce(Result<(), DiskStatus>) + Send + 'static,
    ) {
        self.send(Job::Links(links, Box::new(done)));
    }

    /// Copies the notebook, as it is when all that was asked before is written, to another directory. Waits for it.
    ///
    /// # Errors
    /// When the name is taken, or the disk refuses.
    pub fn copy_to(&self, to: &Path) -> Result<(), Problem> {
        notebook_dir::copy(&self.shared.paths, to, |database| {
            let (done, copied) = mpsc::channel();
            // Whoever waits here does so until it is answered.
            self.send(Job::Copy(database.to_owned(), Box::new(move |copied| drop(done.send(copied)))));
            let copied = copied.recv().map_err(|_| "what writes has stopped".to_owned())?;
            copied.map_err(|trouble| trouble.why)
        })
    }

    /// Puts a copy of the notebook, as it is when all that was asked before is written, into the trash. Waits for it.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn set_aside(&self) -> Result<(), Problem> {
        let paths = &self.shared.paths;
        self.copy_to(&trash::place(paths, Discarded::Reset)?)
    }

    /// Removes from the trash what is too old or too much. Waits for it.
    pub fn prune_trash(&self) {
        trash::prune(&self.shared.paths.dir);
    }

    /// How many bytes wait to be written.
    pub fn backlog_bytes(&self) -> usize {
        self.shared.backlog.load(Ordering::Relaxed)
    }

    /// Writes what waits, and closes. Waits for it. Other handles are of no use from then on.
    pub fn close(self) {
        self.send(Job::Close);
        let thread = self.shared.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            // If it panicked there is nothing left to close.
            let _ = thread.join();
        }
        Blobs::at(&self.shared.paths.blobs()).forget_verified();
    }

    fn send(&self, job: Job) {
        self.shared.backlog.fetch_add(job.bytes(), Ordering::Relaxed);
        // It only ends when it was closed.
        let _ = self.shared.jobs.send(job);
    }
}

/// A notebook as it is kept.
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
