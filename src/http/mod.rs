//! The HTTP layer, and the only part that knows HTTP. It translates requests into commands. It does
//! not decide how a notebook reacts to a command.
//!
//! `guard` finds the row of each request in `routes`, checks the credential (`auth`) and the
//! headers, and passes the request to the handler of that row. Handlers are in `compat` (REST at
//! the root, as snapshot-kernel has it), `api` (the rest of the REST API), `socket` (the
//! WebSocket), `mcp` (agents) and `page` (the page itself). They share `app_state`, `agents` (which
//! of them are present), `request` (reads a request), `authorize` (checks a command and sends it to
//! a notebook), `refusals`, `base_url`, `limits` and `error`.

mod agents;
mod api;
mod app_state;
mod auth;
mod authorize;
mod base_url;
mod compat;
mod connection_limit;
mod error;
mod guard;
mod headers;
mod held_body;
mod limits;
mod mcp;
mod page;
mod percent;
#[cfg(test)]
mod protocol_types;
mod refusals;
mod request;
mod routes;
mod saved_credentials;
mod server;
mod socket;

pub use app_state::{AppOptions, AppState, Usage};
pub use auth::new_secret;
pub use base_url::BaseUrl;
pub use limits::check_notebook_name;
pub use percent::percent_encoded;
pub use server::serve;
