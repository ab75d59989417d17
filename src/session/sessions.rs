//! The map of open notebooks: the only shared mutable thing in the server.

use super::{Session, task};
use crate::kernel::{Launch, end_all_below};
use crate::notebook::Refused;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;

/// How many notebooks may be open at once. Each has a Python process of some 100 MB.
const MAX_OPEN_NOTEBOOKS: usize = 64;

/// All open notebooks by name. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Sessions {
    launch: Arc<Launch>,
    runtime: Handle,
    open: Arc<Mutex<BTreeMap<String, Session>>>,
}

impl Sessions {
    /// No notebook is open yet. Must be called inside the tokio runtime in which the notebooks are to live.
    pub fn new(launch: Launch) -> Self {
        Self { launch: Arc::new(launch), runtime: Handle::current(), open: Arc::default() }
    }

    /// The names of the open notebooks, sorted.
    pub fn names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// An open notebook.
    pub fn get(&self, name: &str) -> Option<Session> {
        self.lock().get(name).cloned()
    }

    /// Opens a notebook, or answers the one that is open under this name.
    ///
    /// # Errors
    /// `Refused` when too many are open.
    pub fn open(&self, name: &str) -> Result<Session, Refused> {
        let mut open = self.lock();
        if let Some(session) = open.get(name) {
            return Ok(session.clone());
        }
        if open.len() >= MAX_OPEN_NOTEBOOKS {
            return Err(Refused::new(
                "busy",
                format!("open notebook {name}"),
                format!("{MAX_OPEN_NOTEBOOKS} notebooks are open already"),
                "close one of them first",
            ));
        }
        let session = task::spawn(&self.runtime, name, self.launch.clone());
        open.insert(name.to_owned(), session.clone());
        Ok(session)
    }

    /// Closes all notebooks and ends all their processes, whatever users' code has made of them.
    pub async fn close_all(&self) {
        let all: Vec<Session> = std::mem::take(&mut *self.lock()).into_values().collect();
        futures_util::future::join_all(all.iter().map(Session::close)).await;
        end_all_below().await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Session>> {
        // The map is whole after every statement that touches it, so a panic elsewhere does not spoil it.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
