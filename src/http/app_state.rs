//! The data that all handlers share: the open notebooks, the credentials and the server's limits.

use super::auth::{Access, Keys, Scope, Throttle};
use super::connection_limit::ConnectionLimit;
use super::limits;
use crate::blocking_pool::BlockingPool;
use crate::problem::{Kind, Problem};
use crate::session::{Session, Sessions};
use actix_web::web;
use std::collections::BTreeSet;
use std::future::Future;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many whole notebooks are sent to clients with share links at a time, at most. Each transfer
/// holds the JSON of one run in memory, up to 32 MB.
pub(super) const MAX_WHOLES: u32 = 8;

/// How long a client with a link waits for its turn before it gets 503. The page then tries again.
const WHOLE_WAIT_TIMEOUT: Duration = Duration::from_secs(20);

/// How long sending a whole notebook may take: 400 MB at 3 MB/s. Other clients may be waiting for
/// its permit.
pub(super) const WHOLE_TIMEOUT: Duration = Duration::from_secs(120);

/// How many uploads and downloads run at a time, at most. Each uses a thread and some memory.
const MAX_FILES: usize = 4;

/// The data that all handlers share.
#[derive(Debug)]
pub struct AppState {
    pub(super) keys: Keys,
    pub(super) throttle: Throttle,
    pub(super) connection_limit: ConnectionLimit,
    /// The name of the owner's cookie. Browsers send a cookie to every port of a host, so the name
    /// contains the port.
    pub(super) cookie: String,
    pub(super) sessions: Sessions,
    pub(super) threads: BlockingPool,
    /// Held while notebooks are opened, renamed or deleted and while links change, so that
    /// credentials on disk and in memory agree.
    pub(super) changes: tokio::sync::Mutex<()>,
    /// Held during a search for a JavaScript library, because each search starts a process.
    pub(super) library_search: tokio::sync::Mutex<()>,
    /// Permits to send a whole notebook to a client with a link.
    wholes: Arc<Semaphore>,
    /// Permits to upload or download a file.
    files: Arc<Semaphore>,
    /// The notebook that the server was started with. The REST API at the root uses it.
    pub(super) start: Session,
    /// Time limit of runs that set none, in seconds.
    pub(super) timeout: Option<f64>,
    /// Memory limit of runs that set none: bytes that a run may add to its state.
    pub(super) run_memory: Option<u64>,
}

/// Settings of the server, from the command line.
#[derive(Debug)]
pub struct AppOptions {
    /// The owner's token.
    pub token: String,
    /// Whether Ratoon made the token, not the user. The owner's browser sessions then stay valid
    /// when the next start makes another token.
    pub token_was_made: bool,
    /// Time limit of runs that set none, in seconds.
    pub timeout: Option<f64>,
    /// Memory limit of runs that set none: bytes that a run may add to its state.
    pub run_memory: Option<u64>,
}

impl AppState {
    /// Opens the start notebook. Loads its browser sessions, and the share links of all notebooks.
    ///
    /// # Errors
    /// When the notebook cannot be opened.
    pub fn new(
        listener: &TcpListener,
        sessions: Sessions,
        notebook: &str,
        options: AppOptions,
    ) -> Result<Self, Problem> {
        let bound = listener.local_addr().map_err(|e| {
            Problem::new(Kind::Kernel, "read the bound address", e.to_string(), "try another --bind")
        })?;
        let start = sessions.open(notebook)?;
        let keys = Keys::new(&options.token, options.token_was_made, sessions.latest_time().read());
        let now = keys.now();
        let stored = &start.files().credentials;
        keys.load_sessions(start.name(), &stored.sessions, now);
        keys.load_links(start.name(), &stored.links, now);
        // A share link works before its notebook is opened, so all links are loaded now.
        let others = sessions.kept().into_iter().filter(|name| name != notebook);
        for name in others.filter(|name| limits::check_notebook_name(name).is_ok()) {
            keys.load_links(&name, &sessions.credentials_of(&name).links, now);
        }
        Ok(Self {
            keys,
            throttle: Throttle::new(Instant::now()),
            connection_limit: ConnectionLimit::new(),
            cookie: format!("ratoon_{}", bound.port()),
            changes: tokio::sync::Mutex::default(),
            library_search: tokio::sync::Mutex::default(),
            wholes: Arc::new(Semaphore::new(MAX_WHOLES as usize)),
            files: Arc::new(Semaphore::new(MAX_FILES)),
            start,
            threads: sessions.threads().clone(),
            sessions,
            timeout: options.timeout,
            run_memory: options.run_memory,
        })
    }

    /// Waits for `parts` of the `MAX_WHOLES` permits to send whole notebooks. Clients with share
    /// links thus use a bounded part of the server's memory. The owner needs no permit.
    ///
    /// # Errors
    /// 503 after `WHOLE_WAIT_TIMEOUT`.
    pub(super) async fn whole_for(
        &self,
        access: &Access,
        parts: u32,
    ) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        if access.scope == Scope::Owner {
            return Ok(None);
        }
        let wait = tokio::time::timeout(WHOLE_WAIT_TIMEOUT, self.wholes.clone().acquire_many_owned(parts));
        wait.await.ok().and_then(Result::ok).map(Some).ok_or_else(|| {
            let why = "many clients with links are loading notebooks";
            Problem::new(Kind::Busy, "send the notebook", why, "try again when one of them is done")
        })
    }

    /// Takes a permit to upload or download a file.
    ///
    /// # Errors
    /// 503 when all permits are taken.
    pub(super) fn file_permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.files.clone().try_acquire_owned().map_err(|_| {
            let why = format!("{MAX_FILES} files are being uploaded or downloaded already");
            Problem::new(Kind::Busy, "send or receive a file", why, "try again when one of them is done")
        })
    }

    /// The names of the notebooks that a caller may see, open or only on disk, sorted.
    pub(super) fn names_for(&self, access: &Access) -> Vec<String> {
        let kept = self.sessions.kept().into_iter().filter(|name| limits::check_notebook_name(name).is_ok());
        let all: BTreeSet<String> = self.sessions.names().into_iter().chain(kept).collect();
        all.into_iter().filter(|name| access.opens(name)).collect()
    }

    /// Whether there is a notebook of this name, open or not.
    pub(super) fn has(&self, name: &str) -> bool {
        let is_kept = || limits::check_notebook_name(name).is_ok() && self.sessions.has(name);
        self.sessions.get(name).is_some() || is_kept()
    }

    /// Returns an existing notebook. Opens it if it is not open yet.
    ///
    /// # Errors
    /// When there is no notebook of this name, or it cannot be opened.
    pub(super) async fn notebook(app: &web::Data<Self>, name: &str) -> Result<Session, Problem> {
        if let Some(session) = app.sessions.get(name) {
            return Ok(session);
        }
        if app.has(name) {
            return Self::open_or(app, name, false).await;
        }
        Err(no_notebook(name))
    }

    /// Opens a notebook, and creates it if it does not exist.
    ///
    /// # Errors
    /// When the name cannot be used, or the notebook cannot be opened.
    pub(super) async fn open(app: &web::Data<Self>, name: &str) -> Result<Session, Problem> {
        Self::open_or(app, name, true).await
    }

    async fn open_or(app: &web::Data<Self>, name: &str, create: bool) -> Result<Session, Problem> {
        limits::check_notebook_name(name)?;
        let (app, name) = (app.clone(), name.to_owned());
        let opened = detached(async move {
            let _lock = app.changes.lock().await;
            if let Some(session) = app.sessions.get(&name) {
                return Ok(Ok(session));
            }
            // The notebook may have been renamed or deleted before this task got the lock.
            if !create && !app.has(&name) {
                return Ok(Err(no_notebook(&name)));
            }
            let sessions = app.sessions.clone();
            let opened = app.threads.run(move || sessions.open(&name)).await?;
            if let Ok(session) = &opened {
                // Requires the lock: otherwise a link could be revoked after it was read, and be
                // added again.
                app.keys.load_links(session.name(), &session.files().credentials.links, app.keys.now());
            }
            Ok(opened)
        });
        opened
            .await
            .unwrap_or_else(|lost| Err(Problem::new(Kind::Kernel, "open a notebook", lost.why, "try again")))
    }

    /// Refuses a name that a notebook already has.
    ///
    /// # Errors
    /// 409 when the name is taken.
    pub(super) fn check_free(&self, name: &str) -> Result<(), Problem> {
        if !self.has(name) {
            return Ok(());
        }
        let (what, why) = (format!("use the name {name:?}"), "there is a notebook of this name");
        Err(Problem::new(Kind::Conflict, what, why, "choose another name"))
    }
}

fn no_notebook(name: &str) -> Problem {
    let (what, how) = (format!("find notebook {name:?}"), "make it: POST /api/notebooks");
    Problem::new(Kind::NotFound, what, "there is no notebook of this name", how)
}

/// Runs work in a separate task, so that the work is completed even if the client disconnects.
pub(super) async fn detached<T: 'static>(
    work: impl Future<Output = Result<T, Problem>> + 'static,
) -> Result<T, Problem> {
    actix_web::rt::spawn(work).await.map_err(|_| Problem::internal("a part of the server failed"))?
}
