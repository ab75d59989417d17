//! Runs Python in a tree of forked processes. Each process holds one state.
//!
//! - `tree`: the server's end (tokio, no Python)
//! - `state`: the child's end (Python, no tokio, one thread); `python/` holds its Python
//! - `protocol`: orders and reports between the two ends; `text_pipe`: printed text
//! - `interpreter`: which Python is used, and which versions are supported
//! - `provision`: installs IPython if the user's environment does not have it (pins: `support/`)
//! - `plot_javascript`: finds the JavaScript of plotting libraries, so that plots need no network
//! - `memory`: measures the memory of a process
//!
//! This module imports nothing from session, store or http.

pub mod interpreter;
mod plot_javascript;
mod protocol;
pub mod provision;
mod text_pipe;
mod state;
mod tree;
mod memory;

pub use memory::{MemoryUse, below, is_whole, kilobytes};
pub use plot_javascript::find_plot_javascript;
pub use protocol::{
    Contents, Delivery, Exit, Fingerprint, Fingerprints, How, IntrospectKind, Introspected, Load,
    MAX_DELIVERIES, ProcId, Remains, Report, Role, Wanted,
};
pub use state::child_main;
pub use tree::{Heard, Hung, ProcessEvent, RunOrder, Seen, Tree, end_all_below};

use std::path::PathBuf;

/// The settings of a notebook's processes.
#[derive(Clone, Debug)]
pub struct Launch {
    /// This program, which is started again as `ratoon kernel`.
    pub program: PathBuf,
    /// The user's interpreter: its environment is what cells see.
    pub python: PathBuf,
    /// A directory to append to `sys.path`. It contains the packages that the user's environment
    /// does not have (IPython, cloudpickle).
    pub support: Option<PathBuf>,
    /// The directory in which cells run.
    pub cwd: PathBuf,
    /// Niceness of cell processes, 0 to 19.
    pub nice: u8,
}
