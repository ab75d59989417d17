//! What is known of a Python of this machine.

use crate::kernel::interpreter::Version;
use std::path::PathBuf;

/// A Python that can run cells, with everything that cells need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyPython {
    /// The executable.
    pub executable: PathBuf,
    /// Its version.
    pub version: Version,
    /// A directory to append to `sys.path`. It contains the packages that the Python's environment
    /// does not have (IPython, cloudpickle).
    pub support: Option<PathBuf>,
}

impl ReadyPython {
    /// Whether the executable and the support directory still exist.
    pub fn is_there(&self) -> bool {
        self.executable.exists() && self.support.as_ref().is_none_or(|support| support.is_dir())
    }
}

/// A Python that was found on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPython {
    /// The executable.
    pub path: PathBuf,
    /// Its version; none if it does not start.
    pub version: Option<Version>,
    /// Where it was found: `--python`, `$VIRTUAL_ENV`, `.venv`, `$CONDA_PREFIX`, `installed in`,
    /// `$PATH`, `pyenv`, `uv`, `conda` or `system`.
    pub place: &'static str,
    /// Whether it is the Python of notebooks that have not chosen one.
    pub is_default: bool,
    /// Why it cannot run cells; none if it can.
    pub problem: Option<String>,
}
