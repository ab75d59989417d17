//! Open notebooks: each is owned by one actor, and a pure machine decides what happens when.
//!
//! `sessions` is the map of open notebooks; through `handle` the rest of the server uses one of
//! them. `actor` is the loop that passes inputs to the machine, carries out its effects and gives
//! every fact to the store. `machine` decides (no clock, no IO). Nothing here depends on actix,
//! pyo3 or a database.

mod actor;
mod event_log;
mod handle;
mod import_export;
mod machine;
mod sessions;
mod system_memory;

pub use handle::{CloseReason, Missed, NotebookFiles, Position, Session, Subscription, Visit};
pub use machine::{Adopted, Budget};
pub use sessions::{NotebookConfig, Sessions};
