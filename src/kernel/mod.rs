//! HOW Python runs: a tree of forked processes, each standing at a state.
//!
//! `interpreter` chooses the Python, `library` takes JavaScript out of its packages and `provision` gives it what it lacks; `protocol` holds the words of both ends, `ring` the shared memory that carries printed text, `weight` tells what a process holds, `tree` is the server's
//! end (tokio, no Python), `state` the child's end (Python, no tokio, no threads). Knows no session, store or http.

pub mod interpreter;
mod library;
mod protocol;
pub mod provision;
mod text_pipe;
mod state;
mod tree;
mod memory;

pub use library::find_library;
pub use memory::{Weight, below, is_whole, kilobytes};
pub use protocol::{
    Contents, Delivery, Exit, Fingerprint, Fingerprints, How, IntrospectKind, Introspected, Load,
    MAX_DELIVERIES, ProcId, Remains, Report, Role, Wanted,
};
pub use state::child_main;
pub use tree::{Cell, Heard, Hung, ProcessEvent, Seen, Tree, end_all_below};

use std::path::PathBuf;

/// What it takes to start a notebook's first process.
#[derive(Clone, Debug)]
pub struct Launch {
    /// This program, which is started again as `kernel`.
    pub program: PathBuf,
    /// The user's interpreter: its environment is what cells see.
    pub python: PathBuf,
    /// A directory for the end of `sys.path` that holds what the user's environment lacks (IPython, cloudpickle).
    pub support: Option<PathBuf>,
    /// The directory in which cells run.
    pub cwd: PathBuf,
    /// How far cells stand back behind other programs: 0 to 19, as `nice` counts.
    pub nice: u8,
}
