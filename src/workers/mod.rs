//! Runs at workers, on the server's side: other processes or machines, which an engine that the
//! user already runs (Dask, Ray, Slurm, any `concurrent.futures.Executor`) provides.
//!
//! - `bridge`: the Python program that makes the engine's client
//! - `courier`: sends the runs of one notebook, and brings back what they show and leave
//! - `letter`: signed texts
//! - `objects`: what is in the object store, and moving checkpoints there and back
//!
//! The worker's side is `crate::node_agent`: a Ratoon without a page, on the worker's node.
//! Everything between the two moves through the object store. The engine only says: run this task.

mod bridge;
mod courier;
pub(crate) mod letter;
pub(crate) mod objects;
mod order;

pub use bridge::{EngineStatus, Probe, Probes};
pub use courier::Courier;
pub(crate) use courier::TaskText;

use crate::notebook::{ExecId, WorkerReport};
use crate::problem::{Kind, Problem};
use crate::remote::RemoteStore;
use crate::store::InstallKey;
use bridge::{Bridge, BridgeConfig};
use courier::Shared;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// The workers of this server. A clone refers to the same workers.
#[derive(Clone)]
pub struct Workers {
    shared: Shared,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Workers").field(&self.shared.bridge).finish()
    }
}

/// What a state needs to get to the workers, and how they differ from the server.
#[derive(Clone, Debug)]
pub struct Moving {
    /// Bytes of the checkpoint that the object store does not have yet.
    pub to_push: u64,
    /// All bytes of the checkpoint. A node that has none of them fetches them once.
    pub all: u64,
}

impl Workers {
    /// Starts the engine's client. `engine` is the value of `--workers`, `url` that of `--store`.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(
        engine: &str,
        url: &str,
        store: RemoteStore,
        key: InstallKey,
        python: PathBuf,
        dir: PathBuf,
    ) -> Result<Self, Problem> {
        let config = BridgeConfig { engine: engine.to_owned(), python, dir, store: url.to_owned() };
        let bridge = Bridge::start(config).map_err(|error| refused_thread(&error))?;
        Ok(Self { shared: Shared { store, key, bridge, store_problem: Arc::default() } })
    }

    /// Starts the courier of a notebook. `tell` gets the reports about its runs.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn courier(
        &self,
        notebook: &str,
        blobs: &Path,
        tell: impl Fn(ExecId, u64, WorkerReport) + Send + Sync + 'static,
    ) -> Result<Courier, Problem> {
        courier::start(self.shared.clone(), notebook.to_owned(), blobs.to_owned(), Box::new(tell))
            .map_err(|error| refused_thread(&error))
    }

    /// Whether the engine can be reached.
    pub fn status(&self) -> EngineStatus {
        self.shared.bridge.status()
    }

    /// Why the object store cannot be used at present; none if it can.
    pub fn store_problem(&self) -> Option<Problem> {
        self.shared.store_problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The id of the key that signs tasks.
    pub fn key_id(&self) -> String {
        self.shared.key.short_id()
    }

    /// Asks a worker what its environment has. Waits for the answer.
    ///
    /// # Errors
    /// Why there is no answer, as a sentence.
    pub fn probe(&self) -> Result<Probes, String> {
        self.shared.bridge.probe()
    }

    /// How many bytes of a checkpoint have to be moved. Waits for the object store.
    ///
    /// # Errors
    /// When the manifest cannot be read, or the store does not answer.
    pub fn moving(&self, blobs: &Path, manifest: &str) -> Result<Moving, Problem> {
        let (to_push, all) = objects::bytes_to_push(&self.shared.store, blobs, manifest)?;
        Ok(Moving { to_push, all })
    }
}

fn refused_thread(error: &std::io::Error) -> Problem {
    let how = "end other programs, and start the server again";
    Problem::new(Kind::Busy, "start the workers' client", error.to_string(), how)
}
