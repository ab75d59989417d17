//! Open notebooks. One actor owns each notebook, and a pure machine decides what happens in it and
//! when.
//!
//! `sessions` is the map of open notebooks. `handle` is the interface of one notebook for the rest
//! of the server, and `permit` what a client may do there. `actor` is the loop that passes inputs
//! to the machine, carries out the effects of the machine, and passes every fact to the store.
//! `machine` decides; it has no clock and no IO. Nothing here depends on actix, pyo3 or a database.

mod actor;
mod config;
mod event_log;
mod handle;
mod import_export;
mod machine;
mod offsite;
mod permit;
mod sessions;
mod system_memory;

pub use crate::kernel::{FoundPython, LintProblem, Ruff};
pub use config::NotebookConfig;
pub use handle::{
    CloseReason, MemoryTotals, Missed, NotebookFiles, Position, Session, Since, Subscription, Visit,
};
pub use machine::{Adopted, Budget};
pub use permit::{Owner, Permitted, Scope};
pub use sessions::Sessions;
