//! Starts the HTTP server: its threads, the options of its connections, and the guard in front of
//! every route.

use super::app_state::AppState;
use super::connection_limit::{Connection, HEAD_TIMEOUT, IDLE_TIMEOUT};
use super::guard::{self, Hosts};
use super::{routes, saved_credentials};
use actix_http::error::DispatchError;
use actix_http::{HttpService, Protocol};
use actix_server::Server;
use actix_service::{IntoServiceFactory, ServiceFactoryExt, fn_service, map_config};
use actix_web::dev::AppConfig;
use actix_web::http::KeepAlive;
use actix_web::middleware::from_fn;
use actix_web::rt::net::TcpStream;
use actix_web::{App, web};
use std::future::ready;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::time::Duration;

/// How long closing a connection may take.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long sent data may stay unacknowledged before the connection is closed, in milliseconds.
/// With the system's default, data for a client that has stopped reading would stay in memory for
/// 15 minutes.
const UNREAD_TIMEOUT_MS: u32 = 45_000;

/// Maximum number of threads that serve connections. More threads would take cores from the cells.
const MAX_WORKERS: usize = 4;

/// Starts to serve on a listener. Must be called inside a tokio runtime.
///
/// # Errors
/// When the listener cannot be used.
pub fn serve(listener: TcpListener, app: AppState, reachable_as: &[String]) -> io::Result<Server> {
    let hosts = web::Data::new(Hosts::new(listener.local_addr()?, reachable_as));
    // The default backlog of the standard library is too short for 300 tabs that reconnect at the
    // same time.
    nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::new(1024)?)?;
    let limit = app.connection_limit.clone();
    tokio::spawn(app.refusals.clone().log_regularly());
    let app = web::Data::new(app);
    tokio::spawn(saved_credentials::store_time_regularly(app.clone()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS);
    let server = Server::build()
        .workers(workers)
        .max_concurrent_connections(limit.of_each(workers))
        .disable_signals()
        .shutdown_timeout(1);
    let stopping = server.graceful_shutdown_signal();
    // This does the same as actix's `HttpServer`, but with our own type of connection.
    let service = move || {
        let app = App::new()
            .app_data(app.clone())
            .app_data(hosts.clone())
            .configure(routes::register)
            .wrap(from_fn(guard::guard));
        let app = app.into_factory().map_err(|error: actix_web::Error| error.error_response());
        let (limit, stopping) = (limit.clone(), stopping.clone());
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .client_request_timeout(HEAD_TIMEOUT)
            .client_disconnect_timeout(DISCONNECT_TIMEOUT)
            .keep_alive(KeepAlive::Timeout(IDLE_TIMEOUT))
            .on_connect_ext(|connection: &Connection, data| {
                data.insert(connection.status().clone());
            })
            .finish(map_config(app, |()| AppConfig::default()));
        fn_service(move |stream: TcpStream| {
            set_options(&stream);
            let peer = stream.peer_addr().ok();
            ready(Ok::<_, DispatchError>((limit.admit(stream), Protocol::Http1, peer)))
        })
        .and_then(http)
    };
    Ok(server.listen("ratoon", listener, service)?.run())
}

fn set_options(stream: &TcpStream) {
    // If an option cannot be set, the connection still works. It is slower, or closes later.
    let _ = stream.set_nodelay(true);
    let _ = nix::sys::socket::setsockopt(
        &stream.as_fd(),
        nix::sys::socket::sockopt::TcpUserTimeout,
        &UNREAD_TIMEOUT_MS,
    );
}
