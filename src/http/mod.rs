//! The HTTP layer, the only part that knows HTTP. It translates requests into commands, and
//! contains no logic of notebooks.
//!
//! `guard` finds the row of each request in `routes`, checks the credential (`auth`) and the
//! headers, and passes the request to the handler of that row. Handlers are in `compat` (REST at
//! the root, as snapshot-kernel has it), `api` (the rest of the REST API), `socket` (the WebSocket)
//! and `page` (the page itself). They share `app_state`, `request` (reads a request), `authorize`
//! (checks a command and sends it to a notebook), `limits` and `error`.

mod api;
mod app_state;
mod auth;
mod authorize;
mod compat;
mod connection_limit;
mod error;
mod guard;
mod headers;
mod limits;
mod page;
mod percent;
#[cfg(test)]
mod protocol_types;
mod request;
mod routes;
mod saved_credentials;
mod server;
mod socket;

pub use app_state::{AppOptions, AppState};
pub use auth::new_secret;
pub use limits::check_notebook_name;
pub use percent::percent_encoded;
pub use server::serve;
