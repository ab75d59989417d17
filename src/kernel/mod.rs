//! Runs Python in a tree of forked processes. Each process holds one state.
//!
//! - `tree`: the server's end (tokio, no Python)
//! - `state`: the child's end (Python, no tokio, one thread); `python/` holds its Python
//! - `protocol`: orders and reports between the two ends; `text_pipe`: printed text
//! - `interpreter`: which Python is used, and which versions are supported
//! - `provision`: installs IPython if the user's environment does not have it (`pins/`: versions)
//! - `pythons`: finds the Pythons of this machine, and makes one ready to run cells
//! - `helper`: runs short programs; `failure`: says why one failed
//! - `plot_javascript`: finds the JavaScript of plotting libraries, so that plots need no network
//! - `ruff`: lints and formats cells, if the user has ruff
//! - `sandbox`: where cells may write, and whether they have a network
//! - `memory`: measures the memory of a process
//!
//! This module imports nothing from session, store or http.

mod failure;
mod helper;
pub mod interpreter;
mod plot_javascript;
mod protocol;
pub mod provision;
pub mod pythons;
mod ruff;
mod sandbox;
mod text_pipe;
mod state;
mod tree;
mod memory;

pub use memory::{MemoryUse, below, is_whole, kilobytes};
pub use plot_javascript::find_plot_javascript;
pub use protocol::{
    CellOrder, CellReport, Contents, Delivery, Exit, Fingerprint, Fingerprints, Hazards, How, Introspected,
    Load, MAX_DELIVERIES, ProcId, Question, Remains, Report, Role, Wanted, WidgetEnd,
};
pub use pythons::{FoundPython, Pythons, ReadyPython};
pub use ruff::{LintProblem, Ruff};
pub use sandbox::Sandbox;
pub use tree::{Heard, Hung, ProcessEvent, Seen, Tree, end_all_below};

use std::path::PathBuf;

/// The settings of the processes of all notebooks.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The extension module that the interpreter loads.
    pub extension: PathBuf,
    /// Where the compiled code of the kernel's Python package is kept between starts.
    pub bytecode: Option<PathBuf>,
    /// PYTHONHASHSEED of the server's environment, which cells see.
    pub hash_seed: Option<String>,
    /// The directory in which cells run.
    pub cwd: PathBuf,
    /// Niceness of cell processes, 0 to 19.
    pub nice: u8,
    /// What cells may do; `None`: everything that the server's user may.
    pub sandbox: Option<Sandbox>,
}
