//! DOOR: the only part that knows HTTP. It translates and forwards; it decides nothing about notebooks.
//!
//! `routes` is the table of everything that can be asked; `guard` lets a request pass or not before anything else is
//! done with it; `auth` knows who is asking. Behind them: `seed` (REST at the root); `api`, `home`, `trash`, `states`, `tasks`, `exchange`,
//! `documents`, `libraries` and `links` (the rest of the REST API); `socket` (commands up, facts down); `pages`, `bundle` and
//! `assets` (the page itself).

mod api;
mod ask;
mod assets;
mod auth;
mod body;
mod bundle;
mod documents;
mod error;
mod exchange;
mod guard;
mod home;
mod json;
mod libraries;
mod limits;
mod links;
mod openapi;
#[cfg(test)]
mod protocol_types;
mod pages;
mod connection_limit;
mod routes;
mod compat;
mod socket;
mod states;
mod tasks;
mod trash;

pub use auth::new_secret;
pub use limits::check_notebook_name;
pub use pages::in_path;

use crate::notebook::Command;
use crate::problem::{Kind, Problem};
use crate::session::{Session, Sessions};
use crate::threads::Threads;
use actix_http::error::DispatchError;
use actix_http::{HttpService, Protocol};
use actix_server::Server;
use actix_service::{IntoServiceFactory, ServiceFactoryExt, fn_service, map_config};
use actix_web::dev::AppConfig;
use actix_web::http::KeepAlive;
use actix_web::middleware::from_fn;
use actix_web::rt::net::TcpStream;
use actix_web::{App, web};
use auth::{Access, Keys, Scope};
use connection_limit::{Connection, HEAD_TIMEOUT, IDLE_TIMEOUT, Room};
use guard::{Hosts, Throttle};
use std::collections::BTreeSet;
use std::future::ready;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long the end of a connection may take.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long what was sent may stay unread before the connection is given up. Without it, a client that has stopped
/// reading would hold its memory for a quarter of an hour.
const UNREAD_TIMEOUT_MS: u32 = 45_000;

/// Whole notebooks that may be on their way at once to clients with links: each holds the text of one run, of up to 32 MB.
const MAX_WHOLES: u32 = 8;

/// How long such a client waits for its turn. A page tries again.
const WHOLE_PATIENCE: Duration = Duration::from_secs(20);

/// Threads that serve connections. The work is in the kernels; more threads would only take cores from them.
const MAX_WORKERS: usize = 4;

/// What all handlers share.
#[derive(Debug)]
pub struct AppState {
    keys: Keys,
    hosts: Hosts,
    throttle: Throttle,
    room: Room,
    /// The name of our cookie. Cookies do not know ports, so the port is in the name.
    cookie: String,
    sessions: Sessions,
    threads: Threads,
    /// Held while links change or a notebook is opened: what is on disk and what is good are then the same.
    changes_links: tokio::sync::Mutex<()>,
    /// Held while a library is looked for.
    libraries: tokio::sync::Mutex<()>,
    /// How many more whole notebooks may be sent to those who came by a link.
    wholes: Arc<Semaphore>,
    /// How many more files may come and go.
    exchanges: Arc<Semaphore>,
    /// The notebook given at start, which the REST API at the root is about.
    start: Session,
    /// The limits of runs that give none: seconds, and bytes.
    timeout: Option<f64>,
    run_memory: Option<u64>,
}

/// Settings of the server, from the command line.
#[derive(Debug)]
pub struct AppOptions {
    /// The owner's token.
    pub token: String,
    /// Whether nobody chose it: then the owner's browser sessions outlive it.
    pub token_was_made: bool,
    /// Further names, `host:port`, under which the server is reached.
    pub reachable_as: Vec<String>,
    /// The limit, in seconds, of runs that give none.
    pub timeout: Option<f64>,
    /// The bytes of memory that runs may add that do not say it themselves.
    pub run_memory: Option<u64>,
}

impl AppState {
    /// Opens the start notebook.
    ///
    /// # Errors
    /// `Problem` when it cannot be opened.
    pub fn new(
        listener: &TcpListener,
        sessions: Sessions,
        notebook: &str,
        options: AppOptions,
    ) -> Result<Self, Problem> {
        let bound = listener.local_addr().map_err(|e| {
            Problem::new(
                Kind::Kernel,
                "find out the port that was bound",
                e.to_string(),
                "try another --bind",
            )
        })?;
        let start = sessions.open(notebook)?;
        let keys = Keys::new(&options.token, options.token_was_made, sessions.latest_time().read());
        let now = keys.now();
        keys.add_kept(start.name(), &start.home().links, now);
        // Links of the other notebooks are good without somebody opening those first.
        let others = sessions.kept().into_iter().filter(|name| name != notebook);
        for name in others.filter(|name| limits::check_notebook_name(name).is_ok()) {
            keys.add_kept(&name, &sessions.links_of(&name), now);
        }
        Ok(Self {
            keys,
            hosts: Hosts::new(bound, &options.reachable_as),
            throttle: Throttle::new(Instant::now()),
            room: Room::new(),
            cookie: format!("ratoon_{}", bound.port()),
            changes_links: tokio::sync::Mutex::default(),
            libraries: tokio::sync::Mutex::default(),
            wholes: Arc::new(Semaphore::new(MAX_WHOLES as usize)),
            exchanges: Arc::new(Semaphore::new(exchange::MAX_AT_ONCE)),
            start,
            threads: sessions.threads().clone(),
            sessions,
            timeout: options.timeout,
            run_memory: options.run_memory,
        })
    }

    /// Waits until so many parts of the memory for whole notebooks are free. The owner does not wait: links are given to
    /// others, and what they can make the server hold is bounded.
    ///
    /// # Errors
    /// 503 when it takes too long.
    async fn whole_for(&self, access: &Access, parts: u32) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        if access.scope == Scope::Owner {
            return Ok(None);
        }
        let wait = tokio::time::timeout(WHOLE_PATIENCE, self.wholes.clone().acquire_many_owned(parts));
        wait.await.ok().and_then(Result::ok).map(Some).ok_or_else(|| {
            let why = "many clients with links are loading notebooks";
            Problem::new(Kind::Busy, "send the notebook", why, "try again when one of them is done")
        })
    }

    /// The names of the notebooks that a caller may see: the open ones, and those in the directory.
    fn names_for(&self, access: &Access) -> Vec<String> {
        let kept = self.sessions.kept().into_iter().filter(|name| limits::check_notebook_name(name).is_ok());
        let all: BTreeSet<String> = self.sessions.names().into_iter().chain(kept).collect();
        all.into_iter().filter(|name| access.opens(name)).collect()
    }

    /// Whether there is a notebook of this name, open or not.
    fn has(&self, name: &str) -> bool {
        let is_kept = || limits::check_notebook_name(name).is_ok() && self.sessions.has(name);
        self.sessions.get(name).is_some() || is_kept()
    }

    /// A notebook that is there; opened, if it is not open yet.
    async fn notebook(app: &web::Data<Self>, name: &str) -> Result<Session, Problem> {
        if let Some(session) = app.sessions.get(name) {
            return Ok(session);
        }
        if app.has(name) {
            return Self::open_or(app, name, false).await;
        }
        Err(Self::nowhere(name))
    }

    fn nowhere(name: &str) -> Problem {
        let (what, how) = (format!("find notebook {name:?}"), "make it: POST /api/notebooks");
        Problem::new(Kind::NotFound, what, "there is no notebook of this name", how)
    }

    /// Opens a notebook, made when it is not there yet, or answers the one that is open.
    async fn open(app: &web::Data<Self>, name: &str) -> Result<Session, Problem> {
        Self::open_or(app, name, true).await
    }

    async fn open_or(app: &web::Data<Self>, name: &str, is_made: bool) -> Result<Session, Problem> {
        limits::check_notebook_name(name)?;
        let (app, name) = (app.clone(), name.to_owned());
        let opened = ask::to_its_end(async move {
            let _one = app.changes_links.lock().await;
            if let Some(session) = app.sessions.get(&name) {
                return Ok(Ok(session));
            }
            // It may have been renamed or deleted while this waited.
            if !is_made && !app.has(&name) {
                return Ok(Err(Self::nowhere(&name)));
            }
            let sessions = app.sessions.clone();
            let opened = app.threads.run(move || sessions.open(&name)).await?;
            if let Ok(session) = &opened {
                // Only now: later, what was found on disk may have been taken back.
                app.keys.add_kept(session.name(), &session.home().links, app.keys.now());
            }
            Ok(opened)
        });
        opened
            .await
            .unwrap_or_else(|lost| Err(Problem::new(Kind::Kernel, "open a notebook", lost.why, "try again")))
    }

    /// Whether a caller may ask for a command in the notebook's own words, and whether it may go further in. The REST API at
    /// the root, which goes by its ancestor's rules, deletes even `initial`.
    fn admit(&self, access: &Access, command: Command) -> Result<Command, Problem> {
        let command = self.allow(access, command)?;
        if matches!(&command, Command::DeleteState { state, .. } if state.is_root()) {
            let how = "start over, with a reset, to forget all other states";
            return Err(Problem::new(
                Kind::Conflict,
                "delete state initial",
                "every notebook grows from it",
                how,
            ));
        }
        Ok(command)
    }

    /// Whether a caller may ask for a command, and whether it may go further in.
    fn allow(&self, access: &Access, mut command: Command) -> Result<Command, Problem> {
        let needed = Scope::needed_for(&command);
        if access.scope < needed {
            let why = format!("this link may {}, and it takes {}", access.scope.word(), needed.word());
            return Err(Problem::new(
                Kind::Forbidden,
                "carry out the command",
                why,
                "ask the owner for a link that may",
            ));
        }
        limits::check_command(&command)?;
        if let Command::Run(spec) = &mut command {
            spec.timeout = spec.timeout.or(self.timeout);
            spec.run_memory = spec.run_memory.or(self.run_memory);
        }
        Ok(command)
    }
}

/// Starts to serve on a listener. Must be called inside a tokio runtime. The answer is the server's handle and its future.
///
/// # Errors
/// When the listener cannot be used.
pub fn serve(listener: TcpListener, app: AppState) -> io::Result<Server> {
    // The standard library's backlog is short: three hundred tabs that reconnect at once must not be turned away.
    nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::new(1024)?)?;
    let room = app.room.clone();
    let app = web::Data::new(app);
    tokio::spawn(links::keep_time(app.clone()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS);
    let server = Server::build()
        .workers(workers)
        .max_concurrent_connections(room.of_each(workers))
        .disable_signals()
        .shutdown_timeout(1);
    let stopping = server.graceful_shutdown_signal();
    // As `HttpServer` does it, but for the connections, which are ours.
    let service = move || {
        let app = App::new().app_data(app.clone()).configure(routes::register).wrap(from_fn(guard::guard));
        let app = app.into_factory().map_err(|error: actix_web::Error| error.error_response());
        let (room, stopping) = (room.clone(), stopping.clone());
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .client_request_timeout(HEAD_TIMEOUT)
            .client_disconnect_timeout(DISCONNECT_TIMEOUT)
            .keep_alive(KeepAlive::Timeout(IDLE_TIMEOUT))
            .on_connect_ext(|connection: &Connection, data| {
                data.insert(connection.line().clone());
            })
            .finish(map_config(app, |()| AppConfig::default()));
        fn_service(move |stream: TcpStream| {
            set_options(&stream);
            let peer = stream.peer_addr().ok();
            ready(Ok::<_, DispatchError>((room.admit(stream), Protocol::Http1, peer)))
        })
        .and_then(http)
    };
    Ok(server.listen("ratoon", listener, service)?.run())
}

fn set_options(stream: &TcpStream) {
    // Without them the connection still works: slower, and it ends later.
    let _ = stream.set_nodelay(true);
    let _ = nix::sys::socket::setsockopt(
        &stream.as_fd(),
        nix::sys::socket::sockopt::TcpUserTimeout,
        &UNREAD_TIMEOUT_MS,
    );
}
