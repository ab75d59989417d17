//! Starts CPython in this process as the user's interpreter would start, and calls `shell.py` and
//! `forks.py`.

use super::capture::Channel;
use super::package::PackageModule;
use crate::kernel::protocol::{How, Remains};
use crate::notebook::{RunError, Symbols};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::ffi;
use pyo3::prelude::*;
use serde::Deserialize;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The seed of text hashes, the same in every root. Otherwise hashes that objects have stored would
/// be wrong after a restart, and sets would be in another order.
const HASH_SEED: std::ffi::c_ulong = 0x5261_746e;

/// Starts the interpreter. Afterwards this thread holds the GIL until the process ends.
///
/// # Errors
/// CPython's own message, when the interpreter's environment is broken.
#[allow(unsafe_code)]
pub(super) fn start(executable: &Path) -> Result<(), String> {
    let path = CString::new(executable.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
    let mut config = MaybeUninit::<ffi::PyConfig>::zeroed();
    // SAFETY: the calls and their order are those of CPython's documentation of PyConfig; the
    // config is initialised by the first of them, the strings are copied, and no other thread
    // exists.
    unsafe {
        let config = config.as_mut_ptr();
        ffi::PyConfig_InitPythonConfig(config);
        (*config).parse_argv = 0;
        (*config).install_signal_handlers = 1;
        let mut status = ffi::PyConfig_SetBytesString(config, &raw mut (*config).program_name, path.as_ptr());
        if ffi::PyStatus_Exception(status) == 0 {
            status = ffi::PyConfig_SetBytesString(config, &raw mut (*config).executable, path.as_ptr());
        }
        if ffi::PyStatus_Exception(status) == 0 {
            status = ffi::PyConfig_Read(config);
        }
        // 0: PYTHONHASHSEED asks for no seed.
        if ffi::PyStatus_Exception(status) == 0 && (*config).use_hash_seed == 0 {
            (*config).use_hash_seed = 1;
            (*config).hash_seed = HASH_SEED;
        }
        if ffi::PyStatus_Exception(status) == 0 {
            status = ffi::Py_InitializeFromConfig(config);
        }
        ffi::PyConfig_Clear(config);
        if ffi::PyStatus_Exception(status) != 0 {
            let message = status.err_msg;
            let text = if message.is_null() {
                "no reason given".into()
            } else {
                std::ffi::CStr::from_ptr(message).to_string_lossy()
            };
            return Err(format!("Python could not start: {text}"));
        }
    }
    Ok(())
}

/// The modules that run cells (`shell`) and prepare forks (`forks`).
#[derive(Debug)]
pub(super) struct Shell {
    shell: PackageModule,
    forks: PackageModule,
}

/// How a cell ended, its number, and what it left behind if it raised.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) how: How,
    pub(super) exec_count: u32,
    pub(super) symbols: Option<Symbols>,
    pub(super) remains: Remains,
}

impl Ran {
    /// Whether the process, as it is now, can become a state.
    pub(super) fn can_be_a_state(&self) -> bool {
        matches!(self.how, How::Ok) || self.remains.can_be_a_state()
    }
}

#[derive(Deserialize)]
struct RanJson {
    error: Option<RunError>,
    exec_count: u32,
    symbols: Option<Symbols>,
    remains: Remains,
}

impl Shell {
    /// Creates IPython's shell in the root.
    pub(super) fn boot(py: Python<'_>, support: Option<&Path>) -> PyResult<Self> {
        let shell = PackageModule::import(py, "shell")?;
        shell.0.call_method1(py, "boot", (Channel, support.map(|p| p.to_string_lossy().into_owned())))?;
        Ok(Self { shell, forks: PackageModule::import(py, "forks")? })
    }

    /// Freezes the root's objects for the garbage collector, because they do not change any more.
    pub(super) fn settle(&self, py: Python<'_>) -> PyResult<()> {
        self.shell.0.call_method0(py, "settle").map(drop)
    }

    /// Runs a cell.
    pub(super) fn run(&self, py: Python<'_>, code: &str, allow_stdin: bool, report_symbols: bool) -> Ran {
        match self.shell.call(py, "run", (code, allow_stdin, report_symbols)) {
            Ok(RanJson { error, exec_count, symbols, remains }) => {
                Ran { how: error.map_or(How::Ok, How::Error), exec_count, symbols, remains }
            }
            // An interrupt arrived outside the shell.
            Err(error) => failed(as_run_error(py, &error)),
        }
    }

    /// Touches the memory that running a cell touches, so that the next cell starts faster.
    pub(super) fn rehearse(&self, py: Python<'_>) {
        // Only for speed, so errors do not matter.
        let _ = self.shell.0.call_method0(py, "rehearse");
    }

    /// What branches lack, whether this process may be forked at all, and whether part of its state
    /// cannot be copied.
    pub(super) fn hazards(&self, py: Python<'_>) -> (Vec<String>, bool, bool) {
        self.forks.call(py, "hazards", ()).unwrap_or((Vec::new(), true, false))
    }

    /// The sockets that event loops use to wake themselves. Each branch gets its own.
    pub(super) fn own_sockets(&self, py: Python<'_>) -> Vec<RawFd> {
        self.forks.call(py, "own_sockets", ()).unwrap_or_default()
    }

    /// How many inter-process locks libraries own for their own processes.
    pub(super) fn own_locks(&self, py: Python<'_>) -> u64 {
        self.forks.call(py, "own_locks", ()).unwrap_or_default()
    }

    /// The ids of the threads that Python knows.
    pub(super) fn native_ids(&self, py: Python<'_>) -> Vec<i32> {
        self.forks.call(py, "native_ids", ()).unwrap_or_default()
    }

    /// Called before each of our forks.
    pub(super) fn before_fork(&self, py: Python<'_>) {
        // Fails only if user code has broken modules of the standard library.
        let _ = self.forks.0.call_method0(py, "before_fork");
    }

    /// Repairs what the fork breaks.
    pub(super) fn after_fork_in_child(&self, py: Python<'_>) {
        // As above.
        let _ = self.forks.0.call_method0(py, "after_fork_in_child");
    }
}

fn failed(error: RunError) -> Ran {
    Ran { how: How::Error(error), exec_count: 0, symbols: None, remains: Remains::Nothing }
}

fn as_run_error(py: Python<'_>, error: &PyErr) -> RunError {
    let name = if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        "KeyboardInterrupt".to_owned()
    } else {
        error.get_type(py).name().map(|n| n.to_string()).unwrap_or_default()
    };
    RunError::new(&name, error.value(py).to_string())
}
