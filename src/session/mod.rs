//! WHEN things happen: one task owns one notebook, and all decisions are in a pure machine.
//!
//! `handle` is what others hold, `machine` decides (no clock, no IO), `actor` is the loop that feeds
//! the machine and carries out its effects and has every fact saved, `sessions` is the map of open
//! notebooks. Knows no actix, no pyo3, no database.

mod import_export;
mod handle;
mod event_log;
mod machine;
mod sessions;
mod system_memory;
mod actor;

pub use handle::{CloseReason, Missed, NotebookFiles, Position, Session, Subscription, Visit};
pub use machine::{Adopted, Budget};
pub use sessions::{NotebookConfig, Sessions};
