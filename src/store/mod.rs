//! WHERE a notebook is kept: one directory, `NAME.ratoon/`, with a database and blobs. See docs/format.md.
//!
//! A thread owns the database. Facts go into its queue and are written in order, many in one transaction; it says what is
//! on disk. What fails is told and tried again by the session, which has everything in memory. Knows no session, no
//! process, no HTTP.

use crate::notebook::{Checkpoint, Event, KeptLink, Notebook, Parts, StateId, Trouble};
use std::path::{Path, PathBuf};

/// The key of this install, by which it knows what it has written itself.
#[derive(Clone)]
pub struct InstallKey([u8; 32]);

impl InstallKey {
    /// Reads the key from the config directory, or makes one there.
    ///
    /// # Errors
    /// When it cannot be read or made, or others could read it too.
    pub fn load_or_make(config_dir: &Path) -> Result<Self, StoreError> {
        let _ = config_dir;
        Ok(Self([0; 32]))
    }
}

impl std::fmt::Debug for InstallKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InstallKey")
    }
}

/// Why a notebook cannot be opened, and what to do about it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct StoreError {
    /// What was wished, with its path.
    pub what: String,
    /// Why it cannot be.
    pub why: String,
    /// What to do about it.
    pub how: String,
}

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
pub enum News {
    /// The facts up to this number are on disk.
    Saved {
        /// The number of the last.
        up_to: u64,
    },
    /// Writing failed. Nothing after the last `Saved` is on disk, and facts are let go until a `rewrite` comes.
    Failed {
        /// What is wrong.
        trouble: Trouble,
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
    Trusted(Result<Vec<StateId>, Trouble>),
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

/// A handle on the store's thread. When the last is dropped the thread writes what waits and ends.
pub struct Store {
    news: Box<dyn Fn(News) + Send>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

impl Store {
    /// Opens a notebook's directory, or makes it. Takes the lock, checks every record's digest, sets aside what is damaged.
    ///
    /// # Errors
    /// When another process has it open, it is no notebook, it is of a newer version, it is damaged as a whole, or the
    /// disk refuses.
    pub fn open(
        dir: &Path,
        name: &str,
        key: &InstallKey,
        news: impl Fn(News) + Send + 'static,
    ) -> Result<Opened, StoreError> {
        let _ = (dir, key);
        Ok(Opened {
            store: Self { news: Box::new(news) },
            parts: Parts { name: name.to_owned(), ..Parts::default() },
            links: Vec::new(),
            damage: Vec::new(),
        })
    }

    /// The notebook's own id, made when its directory was made.
    pub fn notebook_id(&self) -> &str {
        ""
    }

    /// The folder of its blobs.
    pub fn blobs(&self) -> PathBuf {
        PathBuf::new()
    }

    /// Saves a fact. Never waits; facts are written in the order in which they come. `number` grows.
    pub fn save(&self, number: u64, fact: &Event) {
        let _ = fact;
        (self.news)(News::Saved { up_to: number });
    }

    /// Writes the whole notebook anew: after a failure, when facts were let go.
    pub fn rewrite(&self, number: u64, notebook: &Notebook) {
        let _ = (number, notebook);
    }

    /// Makes a checkpoint part of the notebook; answered by `News::Kept`.
    pub fn keep_checkpoint(&self, checkpoint: NewCheckpoint) {
        let _ = checkpoint;
    }

    /// Signs all checkpoints as this install's own; answered by `News::Trusted`.
    pub fn trust(&self) {}

    /// Keeps the share links, in place of those before.
    pub fn keep_links(&self, links: Vec<KeptLink>, done: impl FnOnce(Result<(), Trouble>) + Send + 'static) {
        let _ = (links, done);
    }

    /// How many bytes wait to be written.
    pub fn backlog_bytes(&self) -> usize {
        0
    }

    /// Writes what waits, and closes. Waits for it.
    pub fn close(self) {}
}
