//! Ratoon: a Python notebook that can branch from any cell it ever ran.
//!
//! Each cell that succeeds leaves an immutable state: a frozen, forked Python process. Any cell can
//! run against any state, so branches grow. The path of a click:
//!
//! ```text
//! view.js ─ socket.js ─▶ http/socket ─Command▶ session/actor ─▶ machine.step ─▶ [Effect…]
//!         ├ kernel: run on a head, or fork one from the state
//!         └ publish(Event) ─▶ session/event_log ─▶ http/socket ─▶ model.js ─▶ view
//! head ─ Output… Ended, Ready ─▶ kernel/tree ─Input▶ session/actor ─▶ machine.step ─▶ …
//! ```
//!
//! One task owns one notebook, and one pure function makes all decisions without waiting for
//! replies. The modules below are in reading order; each uses only those before it (`http` uses
//! `session` and `formats`, `session` uses `kernel` and `store`, all use `notebook`).

pub mod problem;
mod terminal_text;
mod clock;
pub mod log;
pub mod notebook;
pub mod formats;
mod blobs;
pub mod remote;
mod directory;
pub mod kernel;
pub mod store;
pub mod workers;
pub mod session;
pub mod node_agent;
mod pictures;
pub mod terminal;
pub mod http;
pub mod options;
mod server_file;
pub mod subcommands;
pub mod mcp_stdio;
mod allocator;
mod blocking_pool;
pub mod serve;
#[cfg(test)]
#[path = "../tests/it/breadth.rs"]
mod breadth;
