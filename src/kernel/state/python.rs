//! Calls `cells.py`, `forks.py` and `widgets.py`.

use super::channel::Channel;
use super::package::PackageModule;
use crate::kernel::protocol::{CellOrder, Hazards, How, Remains};
use crate::notebook::{Cause, Metric, RunError, Symbols, WidgetMessage};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde::{Deserialize, Deserializer};
use std::os::fd::RawFd;
use std::path::Path;

/// The modules that run cells (`cells`), handle forks (`forks`) and run the code of widgets
/// (`widgets`).
#[derive(Debug)]
pub(super) struct Shell {
    cells: PackageModule,
    forks: PackageModule,
    widgets: PackageModule,
}

/// How a cell ended, its number, and what it left behind if it raised.
#[derive(Debug, Deserialize)]
pub(super) struct Ran {
    #[serde(rename = "error", deserialize_with = "how")]
    pub(super) how: How,
    pub(super) exec_count: u32,
    pub(super) symbols: Option<Symbols>,
    pub(super) metric: Option<Metric>,
    pub(super) remains: Remains,
}

impl Ran {
    /// Whether the process, as it is now, can become a state.
    pub(super) fn can_be_a_state(&self) -> bool {
        matches!(self.how, How::Ok) || self.remains.can_be_a_state()
    }
}

fn how<'de, D: Deserializer<'de>>(error: D) -> Result<How, D::Error> {
    Ok(Option::deserialize(error)?.map_or(How::Ok, How::Error))
}

impl Shell {
    /// Creates IPython's shell in the root.
    pub(super) fn boot(py: Python<'_>, support: Option<&Path>) -> PyResult<Self> {
        let cells = PackageModule::import(py, "cells")?;
        cells.0.call_method1(py, "boot", (Channel, support.map(|p| p.to_string_lossy().into_owned())))?;
        let (forks, widgets) = (PackageModule::import(py, "forks")?, PackageModule::import(py, "widgets")?);
        Ok(Self { cells, forks, widgets })
    }

    /// Completes the start of the root: loads what the first cell would load, runs the startup
    /// files, and exempts the root's objects from garbage collection.
    pub(super) fn settle(&self, py: Python<'_>) -> PyResult<()> {
        self.cells.0.call_method0(py, "settle").map(drop)
    }

    /// Runs a cell.
    pub(super) fn run(&self, py: Python<'_>, cell: &CellOrder) -> Ran {
        let CellOrder { code, allow_stdin, report_symbols, metric, threads, .. } = cell;
        let arguments = (code, *allow_stdin, *report_symbols, metric.as_deref(), *threads);
        // An error is an interrupt that arrived outside the shell.
        self.cells.call(py, "run", arguments).unwrap_or_else(|error| failed(as_run_error(py, &error)))
    }

    /// Whether this process has the widget of a model.
    pub(super) fn has_widget(&self, py: Python<'_>, model: &str) -> bool {
        self.widgets.call(py, "has", (model,)).unwrap_or(false)
    }

    /// Runs the code of a widget. Its errors are among the outputs.
    pub(super) fn handle_widget(&self, py: Python<'_>, message: &WidgetMessage) {
        let message = serde_json::to_string(message).unwrap_or_default();
        if let Err(error) = self.widgets.0.call_method1(py, "handle", (message,)) {
            // An interrupt arrived outside the widget's code.
            drop(error);
        }
    }

    /// Writes to the memory pages that the next cell will write to, so that it starts faster.
    pub(super) fn rehearse(&self, py: Python<'_>) {
        // Only for speed, so errors do not matter.
        let _ = self.cells.0.call_method0(py, "rehearse");
    }

    /// What branches lack. If user code has broken what the search needs, it assumes all.
    pub(super) fn hazards(&self, py: Python<'_>) -> Hazards {
        self.forks.call(py, "hazards", ()).unwrap_or_else(|error| {
            let warning = format!(
                "Ratoon could not find out what does not survive in a branch ({error}), so branches come \
                 from the checkpoint"
            );
            Hazards { warnings: vec![warning], forks: false, is_alone: true }
        })
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
    Ran { how: How::Error(error), exec_count: 0, symbols: None, metric: None, remains: Remains::Nothing }
}

fn as_run_error(py: Python<'_>, error: &PyErr) -> RunError {
    let why = error.value(py).to_string();
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return RunError::of(Cause::Interrupt, why);
    }
    let name = error.get_type(py).name().map(|n| n.to_string()).unwrap_or_default();
    RunError::raised(&name, why)
}
