//! Open notebooks: each is owned by one actor, and a pure machine decides what happens when.
//!
//! `sessions` is the map of open notebooks and `handle` what others hold of one. `actor` is the
//! loop that feeds the machine, carries out its effects and has every fact saved. `machine` decides
//! (no clock, no IO). Knows no actix, no pyo3, no database.

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
