//! WHEN things happen: one task owns one notebook, and all decisions are in a pure machine.
//!
//! `handle` is what others hold, `machine` decides (no clock, no IO), `task` is the loop that feeds
//! the machine and carries out its effects and has every fact saved, `sessions` is the map of open
//! notebooks. Knows no actix, no pyo3, no database.

mod exchange;
mod handle;
mod log;
mod machine;
mod sessions;
mod measure;
mod task;

pub use handle::{CloseReason, Home, Missed, Position, Session, Subscription, Visit};
pub use machine::{Adopted, Budget};
pub use sessions::{NotebookConfig, Sessions};
