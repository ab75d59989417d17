//! The data that all handlers share: the open notebooks, the credentials and the server's limits.

use super::agents::{Agents, CallsInFlight};
use super::auth::{Access, Keys, Throttle};
use super::base_url::BaseUrl;
use super::connection_limit::ConnectionLimit;
use super::limits;
use super::refusals::Refusals;
use crate::blocking_pool::BlockingPool;
use crate::directory::Directory;
use crate::node_agent::Agent;
use crate::notebook::{Command, Notebook, SandboxRules};
use crate::problem::{Kind, Problem};
use crate::session::{Scope, Session, Sessions};
use crate::terminal::Terminals;
use actix_web::web;
use serde::Serialize;
use std::collections::BTreeSet;
use std::future::Future;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use utoipa::ToSchema;

/// Maximum number of whole notebooks that are sent to clients with share links at the same time.
/// Each transfer holds the JSON of one run in memory, up to 32 MB.
pub(super) const MAX_WHOLES: u32 = 8;

/// Maximum number of long answers that are made or sent at the same time to clients with share
/// links. Each has up to 10 MB while it is made.
const MAX_LONG_ANSWERS: usize = 8;

/// How long a client with a share link waits for a permit. Then it gets 503, and the page tries
/// again.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(20);

/// A permit of a client with a share link.
pub(super) type Permit = Option<OwnedSemaphorePermit>;

/// Time limit for sending a whole notebook: enough for 360 MB at 3 MB/s. A limit is needed because
/// other clients may wait for the permit.
pub(super) const WHOLE_TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum number of uploads and downloads at the same time. Each uses a thread and some memory.
const MAX_FILES: usize = 4;

/// The data that all handlers share.
#[derive(Debug)]
pub struct AppState {
    pub(super) keys: Keys,
    pub(super) throttle: Throttle,
    pub(super) refusals: Refusals,
    pub(super) connection_limit: ConnectionLimit,
    /// The name of the owner's cookie. Browsers send a cookie to every port of a host, so the name
    /// contains the port.
    pub(super) cookie: String,
    /// The path before all paths of the server.
    pub(super) base_url: BaseUrl,
    pub(super) listens: Listens,
    pub(super) sessions: Sessions,
    pub(super) threads: BlockingPool,
    /// The directory of the notebooks, in which cells run.
    pub(super) directory: Directory,
    /// Locked while a notebook is opened, renamed or deleted, and while share links change. Makes
    /// sure that the credentials in memory equal those on disk.
    pub(super) changes: tokio::sync::Mutex<()>,
    /// Locked during a search for a JavaScript library. Each search starts a process, so only one
    /// runs at a time.
    pub(super) library_search: tokio::sync::Mutex<()>,
    /// The agents that are present in notebooks.
    pub(super) agents: Agents,
    /// The calls of agents that a notification can cancel.
    pub(super) calls_in_flight: CallsInFlight,
    /// Held while ruff runs.
    pub(super) ruff: tokio::sync::Mutex<()>,
    /// Held while the Pythons of the machine are listed.
    pub(super) python_search: tokio::sync::Mutex<()>,
    /// Held while a Python is made ready for a notebook.
    pub(super) python_setup: tokio::sync::Mutex<()>,
    /// Permits to send a whole notebook to a client with a link.
    wholes: Arc<Semaphore>,
    /// Permits to send a long answer to a client with a link.
    long_answers: Arc<Semaphore>,
    /// Permits to upload or download a file.
    files: Arc<Semaphore>,
    /// The notebook that the server was started with. The REST API at the root uses it.
    pub(super) start: Session,
    /// Default time limit of a run, in seconds.
    pub(super) timeout: Option<f64>,
    /// Default memory limit of a run: bytes that a run may use in addition to its state's memory.
    pub(super) run_memory: Option<u64>,
    /// Runs tasks of another server, if this one is a worker's agent.
    pub(super) agent: Option<Agent>,
    /// What cells may do; `None`: everything.
    pub(super) sandbox: Option<SandboxRules>,
    /// The owner's terminals; `None` if the server offers none.
    pub(super) terminals: Option<Terminals>,
}

/// Where browsers find the server.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Listens {
    /// The port on this machine.
    port: u16,
    /// Whether the server listens on a loopback address, which other machines cannot reach.
    is_loopback: bool,
    /// The other addresses at which browsers reach the server, as `--reachable-as` names them.
    reachable_as: Vec<String>,
}

/// Settings of the server, from the command line.
#[derive(Debug)]
pub struct AppOptions {
    /// The owner's token.
    pub token: String,
    /// Whether Ratoon generated the token. If so, the owner's browser sessions stay valid when the
    /// next start generates another token.
    pub token_was_made: bool,
    /// The path before all paths of the server.
    pub base_url: BaseUrl,
    /// The other addresses at which browsers reach the server.
    pub reachable_as: Vec<String>,
    /// Default time limit of a run, in seconds.
    pub timeout: Option<f64>,
    /// Default memory limit of a run: bytes that a run may use in addition to its state's memory.
    pub run_memory: Option<u64>,
    /// Runs tasks of another server, if this one is a worker's agent.
    pub agent: Option<Agent>,
    /// What cells may do; `None`: everything.
    pub sandbox: Option<SandboxRules>,
    /// The owner's terminals; `None` if the server offers none.
    pub terminals: Option<Terminals>,
}

impl AppState {
    /// Opens the start notebook. Loads the browser sessions stored with it, and the share links of
    /// all notebooks.
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
            Problem::new(
                Kind::Kernel,
                "read the bound address",
                e.to_string(),
                "give another address with --bind",
            )
        })?;
        let start = sessions.open(notebook)?;
        let keys = Keys::new(&options.token, options.token_was_made, sessions.latest_time().read());
        let now = keys.now();
        let stored = &start.files().credentials;
        keys.load_sessions(start.name(), &stored.sessions, now);
        keys.load_links(start.name(), &stored.links, now);
        // A share link must work before its notebook is opened, so the links of all notebooks are
        // loaded now.
        let others = sessions.kept().into_iter().filter(|name| name != notebook);
        for name in others.filter(|name| limits::check_notebook_name(name).is_ok()) {
            keys.load_links(&name, &sessions.credentials_of(&name).links, now);
        }
        let directory = Directory::new(sessions.dir().to_owned());
        directory.prune();
        Ok(Self {
            directory,
            keys,
            throttle: Throttle::new(Instant::now()),
            refusals: Refusals::default(),
            connection_limit: ConnectionLimit::new(),
            cookie: format!("ratoon_{}", bound.port()),
            base_url: options.base_url,
            listens: Listens {
                port: bound.port(),
                is_loopback: bound.ip().is_loopback(),
                reachable_as: options.reachable_as,
            },
            changes: tokio::sync::Mutex::default(),
            library_search: tokio::sync::Mutex::default(),
            agents: Agents::default(),
            calls_in_flight: CallsInFlight::default(),
            ruff: tokio::sync::Mutex::default(),
            python_search: tokio::sync::Mutex::default(),
            python_setup: tokio::sync::Mutex::default(),
            long_answers: Arc::new(Semaphore::new(MAX_LONG_ANSWERS)),
            wholes: Arc::new(Semaphore::new(MAX_WHOLES as usize)),
            files: Arc::new(Semaphore::new(MAX_FILES)),
            terminals: options.terminals,
            start,
            threads: sessions.threads().clone(),
            sessions,
            timeout: options.timeout,
            run_memory: options.run_memory,
            agent: options.agent,
            sandbox: options.sandbox,
        })
    }

    /// Tells whether somebody uses the server.
    pub fn usage(&self) -> Usage {
        Usage { connections: self.connection_limit.clone(), sessions: self.sessions.clone() }
    }

    /// Waits for `parts` of the `MAX_WHOLES` permits to send whole notebooks. The permits limit the
    /// memory that clients with share links can use. The owner needs no permit and gets `None`.
    ///
    /// # Errors
    /// 503 after `PERMIT_TIMEOUT`.
    pub(super) async fn whole_for(&self, access: &Access, parts: u32) -> Result<Permit, Problem> {
        permit_of(&self.wholes, access, parts, "notebooks").await
    }

    /// Waits for a permit to send the answer to a command, if the answer may be long. Does the same
    /// as `whole_for`, for answers of a few megabytes.
    ///
    /// # Errors
    /// 503 after `PERMIT_TIMEOUT`.
    pub(super) async fn long_answer_for(
        &self,
        access: &Access,
        command: &Command,
    ) -> Result<Permit, Problem> {
        if !command.has_long_answer() {
            return Ok(None);
        }
        permit_of(&self.long_answers, access, 1, "long answers").await
    }

    /// Takes a permit to upload or download a file.
    ///
    /// # Errors
    /// 503 when all permits are taken.
    pub(super) fn file_permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.files.clone().try_acquire_owned().map_err(|_| {
            let why = format!("{MAX_FILES} files are being uploaded or downloaded already");
            Problem::new(Kind::Busy, "upload or download a file", why, "try again in a moment")
        })
    }

    /// The names of the notebooks that a caller may see, open or only on disk, sorted.
    pub(super) fn names_for(&self, access: &Access) -> Vec<String> {
        let kept = self.sessions.kept().into_iter().filter(|name| limits::check_notebook_name(name).is_ok());
        let all: BTreeSet<String> = self.sessions.names().into_iter().chain(kept).collect();
        all.into_iter().filter(|name| access.opens(name)).collect()
    }

    /// Whether a notebook of this name exists, open or not.
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

    /// Opens a notebook. Creates the notebook if it does not exist.
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
                // The lock is needed here. Without it, a link that is revoked after it was read
                // from disk would be added again.
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

/// Tells whether somebody uses a server.
#[derive(Clone, Debug)]
pub struct Usage {
    connections: ConnectionLimit,
    sessions: Sessions,
}

impl Usage {
    /// Whether a connection is open or a cell runs.
    pub async fn is_used(&self) -> bool {
        if self.connections.count() > 0 {
            return true;
        }
        for name in self.sessions.names() {
            let Some(session) = self.sessions.get(&name) else { continue };
            let runs = |notebook: &Notebook| notebook.runs().any(|run| !run.status.has_ended());
            if session.read(runs).await.unwrap_or(false) {
                return true;
            }
        }
        false
    }
}

fn no_notebook(name: &str) -> Problem {
    let (what, how) = (format!("find notebook {name:?}"), "create it with POST /api/notebooks");
    Problem::new(Kind::NotFound, what, "there is no notebook of this name", how)
}

async fn permit_of(
    permits: &Arc<Semaphore>,
    access: &Access,
    parts: u32,
    what: &str,
) -> Result<Permit, Problem> {
    if access.scope == Scope::Owner {
        return Ok(None);
    }
    let wait = tokio::time::timeout(PERMIT_TIMEOUT, permits.clone().acquire_many_owned(parts));
    wait.await.ok().and_then(Result::ok).map(Some).ok_or_else(|| {
        let why = format!("too many clients with share links are loading {what}");
        Problem::new(Kind::Busy, "send the answer", why, "try again in a moment")
    })
}

/// Runs work in a separate task, so that the work is completed even if the client disconnects.
pub(super) async fn detached<T: 'static>(
    work: impl Future<Output = Result<T, Problem>> + 'static,
) -> Result<T, Problem> {
    actix_web::rt::spawn(work).await.map_err(|_| Problem::internal("a part of the server failed"))?
}
