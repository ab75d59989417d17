//! The map of open notebooks.

use super::actor::OpenRequest;
use super::{CloseReason, Session};
use crate::blocking_pool::{BlockingPool, Lost};
use crate::kernel::{Launch, Pythons, Ruff, find_plot_javascript};
use crate::notebook::{KeptCredentials, Notebook};
use crate::problem::{Kind, Problem};
use crate::session::NotebookConfig;
use crate::store::{self, LatestTime, NotebookInfo, Settings, Trashed};
use crate::workers::Workers;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;

/// Maximum number of notebooks that are open at the same time. Each has a Python process of some
/// 100 MB.
const MAX_OPEN_NOTEBOOKS: usize = 64;
/// Suffix of a notebook's directory.
const SUFFIX: &str = ".ratoon";

/// All open notebooks, by name. A clone refers to the same map.
#[derive(Clone, Debug)]
pub struct Sessions {
    launch: Arc<Launch>,
    pythons: Arc<Pythons>,
    config: Arc<NotebookConfig>,
    runtime: Handle,
    threads: BlockingPool,
    open: Arc<Mutex<Open>>,
}

/// The notebooks that are open.
#[derive(Debug, Default)]
struct Open {
    by_name: BTreeMap<String, Session>,
    /// Whether the server is stopping. If so, no notebook may be opened, because nothing would
    /// close it.
    is_over: bool,
}

impl Sessions {
    /// Starts without open notebooks, and removes temporary files from the notebook directory. Must
    /// be called inside the tokio runtime in which the notebooks will run.
    pub fn new(launch: Launch, pythons: Pythons, config: NotebookConfig, threads: BlockingPool) -> Self {
        store::clean_up(&config.dir);
        store::clean_up_trash(&config.dir);
        let (launch, pythons, config) = (Arc::new(launch), Arc::new(pythons), Arc::new(config));
        Self { launch, pythons, config, runtime: Handle::current(), threads, open: Arc::default() }
    }

    /// The directory of the notebooks, in which cells run.
    pub fn dir(&self) -> &Path {
        &self.config.dir
    }

    /// The latest time that the clock has ever shown. It is stored in the same directory as the
    /// key.
    pub fn latest_time(&self) -> &LatestTime {
        &self.config.latest_time
    }

    /// The owner's settings of the page.
    pub fn settings(&self) -> &Settings {
        &self.config.settings
    }

    /// The workers, if the server has some.
    pub fn workers(&self) -> Option<&Workers> {
        self.config.workers.as_ref()
    }

    /// The threads for blocking disk operations.
    pub fn threads(&self) -> &BlockingPool {
        &self.threads
    }

    /// The names of the open notebooks, sorted.
    pub fn names(&self) -> Vec<String> {
        self.lock().by_name.keys().cloned().collect()
    }

    /// The names of all notebooks in the notebook directory, open or not, sorted.
    pub fn kept(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.config.dir).into_iter().flatten().flatten();
        let name = |entry: std::fs::DirEntry| {
            let name = entry.file_name().to_str()?.strip_suffix(SUFFIX)?.to_owned();
            entry.path().is_dir().then_some(name)
        };
        let mut names: Vec<String> = entries.filter_map(name).filter(|name| !name.is_empty()).collect();
        names.sort();
        names
    }

    /// Whether the notebook directory has a notebook of this name.
    pub fn has(&self, name: &str) -> bool {
        self.dir_of(name).is_dir()
    }

    /// The share links and browser sessions of a notebook in the notebook directory, without
    /// opening the notebook. None if they cannot be read.
    pub fn credentials_of(&self, name: &str) -> KeptCredentials {
        store::read_credentials(&self.dir_of(name), &self.config.key).unwrap_or_default()
    }

    /// Finds an open notebook.
    pub fn get(&self, name: &str) -> Option<Session> {
        self.lock().by_name.get(name).cloned()
    }

    /// Returns the open notebook of this name. If it is not open, opens it, and creates it if it
    /// does not exist. Reads the disk.
    ///
    /// # Errors
    /// `Problem` when too many notebooks are open, the server is stopping, or the notebook's files
    /// cannot be used.
    pub fn open(&self, name: &str) -> Result<Session, Problem> {
        let mut open = self.lock();
        if let Some(session) = open.by_name.get(name) {
            return Ok(session.clone());
        }
        if open.is_over {
            return Err(Problem::new(
                Kind::Closed,
                format!("open notebook {name}"),
                "the server is stopping",
                "start the server again",
            ));
        }
        if open.by_name.len() >= MAX_OPEN_NOTEBOOKS {
            return Err(Problem::new(
                Kind::Busy,
                format!("open notebook {name}"),
                format!("{MAX_OPEN_NOTEBOOKS} notebooks are open already"),
                "restart the server, which opens notebooks again when they are needed, or delete one",
            ));
        }
        let request = OpenRequest {
            name: name.to_owned(),
            dir: self.dir_of(name),
            launch: self.launch.clone(),
            pythons: self.pythons.clone(),
            config: self.config.clone(),
            threads: self.threads.clone(),
        };
        let session = request.open(&self.runtime)?;
        open.by_name.insert(name.to_owned(), session.clone());
        Ok(session)
    }

    /// The known Pythons of this computer.
    pub fn pythons(&self) -> &Arc<Pythons> {
        &self.pythons
    }

    /// The JavaScript library of a plotting package, from the environment of a Python. Uses the
    /// default Python if none is given. Starts a Python process and waits for its answer.
    pub fn library(&self, python: Option<&Path>, name: &str) -> Option<String> {
        find_plot_javascript(python.unwrap_or(&self.pythons.default().executable), name)
    }

    /// Ruff beside a Python, on `$PATH`, or installed by Ratoon.
    pub fn ruff(&self, python: &Path) -> Option<Ruff> {
        Some(Ruff::new(self.pythons.ruff(python)?, &self.launch.cwd))
    }

    /// Closes all notebooks. Processes that their cells have started may be left.
    pub async fn close_all(&self) {
        let over = Open { by_name: BTreeMap::new(), is_over: true };
        let all: Vec<Session> = std::mem::replace(&mut *self.lock(), over).by_name.into_values().collect();
        futures_util::future::join_all(all.iter().map(Session::close)).await;
    }

    /// Writes a new notebook to the notebook directory. `file` is the `.ipynb` that it was imported
    /// from, and `attachments` are pictures of its texts, by name.
    ///
    /// # Errors
    /// `Problem` when a notebook of this name exists, or the disk cannot be written.
    pub fn create(
        &self,
        notebook: &Notebook,
        file: Option<&str>,
        attachments: &[(String, Vec<u8>)],
    ) -> Result<(), Problem> {
        store::create(&self.dir_of(notebook.name()), notebook, file, attachments)
    }

    /// Information about a notebook in the directory without opening it. Reads the disk.
    pub fn inspect(&self, name: &str) -> NotebookInfo {
        store::inspect(&self.dir_of(name), self.get(name).is_some())
    }

    /// Copies a notebook, open or not. Running cells continue.
    ///
    /// # Errors
    /// `Problem` when the new name is taken, another program has the notebook open, or the disk
    /// cannot be written.
    pub async fn duplicate(&self, name: &str, to: &str) -> Result<(), Problem> {
        let (from, to) = (self.dir_of(name), self.dir_of(to));
        match self.get(name) {
            Some(session) => session.copy_to(to).await,
            None => self.on_disk(move || store::duplicate(&from, &to)).await,
        }
    }

    /// Renames a notebook. An open notebook is closed first, and its clients get the reason.
    ///
    /// # Errors
    /// `Problem` when the new name is taken, another program has the notebook open, or the disk
    /// cannot be written.
    pub async fn rename(&self, name: &str, to: &str) -> Result<(), Problem> {
        self.leave(name, CloseReason::Renamed(to.to_owned())).await;
        let (from, dir, key) = (self.dir_of(name), self.dir_of(to), self.config.key.clone());
        let names = (name.to_owned(), to.to_owned());
        self.on_disk(move || store::rename(&from, &dir, (&names.0, &names.1), &key)).await
    }

    /// Moves a notebook into the trash. An open notebook is closed first, and its clients get the
    /// reason.
    ///
    /// # Errors
    /// `Problem` when another program has the notebook open, or the disk cannot be written.
    pub async fn remove(&self, name: &str) -> Result<(), Problem> {
        self.leave(name, CloseReason::Deleted).await;
        let dir = self.dir_of(name);
        self.on_disk(move || store::discard(&dir)).await
    }

    /// The notebooks in the trash, the newest first, with information about each. Reads the disk.
    pub fn trash(&self) -> Vec<(Trashed, NotebookInfo)> {
        store::list(&self.config.dir).into_iter().map(|one| (one.clone(), one.inspect())).collect()
    }

    /// The former name of a notebook in the trash; none if the notebook is not there. Reads the
    /// disk.
    pub fn find_trashed(&self, id: &str) -> Option<String> {
        store::find(&self.config.dir, id).ok().map(|one| one.name)
    }

    /// Restores a notebook from the trash under the name `to`.
    ///
    /// # Errors
    /// `Problem` when the notebook is not in the trash, the name is taken, or the disk cannot be
    /// written.
    pub async fn restore(&self, id: &str, to: &str) -> Result<(), Problem> {
        let (root, id, dir) = (self.config.dir.clone(), id.to_owned(), self.dir_of(to));
        self.on_disk(move || store::restore(&root, &id, &dir)).await
    }

    /// Permanently deletes a notebook that is in the trash.
    ///
    /// # Errors
    /// `Problem` when the notebook is not in the trash, or the disk cannot be written.
    pub async fn purge(&self, id: &str) -> Result<(), Problem> {
        let (root, id) = (self.config.dir.clone(), id.to_owned());
        self.on_disk(move || store::purge(&root, &id)).await
    }

    /// Closes a notebook if it is open, and sets the reason that its clients get.
    async fn leave(&self, name: &str, reason: CloseReason) {
        let session = self.lock().by_name.remove(name);
        if let Some(session) = session {
            session.set_close_reason(reason);
            session.close().await;
        }
    }

    /// Calls a function that blocks on the disk, on another thread.
    async fn on_disk(
        &self,
        work: impl FnOnce() -> Result<(), Problem> + Send + 'static,
    ) -> Result<(), Problem> {
        let lost = |lost: Lost| {
            Problem::new(Kind::Kernel, "change the directory of the notebook", lost.to_string(), "try again")
        };
        self.threads.run(work).await.map_err(lost)?
    }

    fn dir_of(&self, name: &str) -> PathBuf {
        self.config.dir.join(format!("{name}{SUFFIX}"))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        // A panic cannot leave the map in an inconsistent state, so a poisoned lock is still
        // usable.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
