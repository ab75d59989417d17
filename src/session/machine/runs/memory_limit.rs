//! The memory limit of a run: how much memory the run may use in addition to the memory of its
//! state.
//!
//! A run is measured repeatedly. `kernel::MemoryUse` separates the memory that the run has added
//! from the memory that it shares with its state. The limits of the operating system are unsuitable
//! for two reasons. They count reserved memory, and some libraries reserve hundreds of gigabytes.
//! They do not count pages of the state that are copied when the run writes to them, although these
//! pages are the cost of a branch.

use super::Runs;
use super::cancel::Stop;
use crate::kernel::{MemoryUse, ProcId};
use crate::notebook::{Cause, ExecId, RunError, StateId};
use crate::session::machine::core::Core;
use crate::session::machine::effect::{Alarm, Effect, Serial};
use std::time::Duration;

/// The shortest time between two measurements. In this time, one processor core writes some 100 MB.
const EVERY: Duration = Duration::from_millis(50);
/// The longest time between two measurements, even if a measurement takes long.
const AT_LEAST_EVERY: Duration = Duration::from_secs(2);
/// The largest fraction of a run's time that measurements may take. During a measurement, the run
/// cannot allocate memory.
const SHARE: f64 = 0.1;

/// The memory limit of a run, and the memory at its beginning, with which later measurements are
/// compared.
#[derive(Debug)]
pub(in crate::session::machine) struct MemoryLimit {
    /// The limit, in bytes.
    limit: u64,
    /// How much memory the head used when the cell began.
    start: Option<MemoryUse>,
    /// The frozen process that shared all of the head's memory at that time.
    frozen: Option<ProcId>,
    /// When a measurement was last ordered.
    measured_ms: f64,
}

impl MemoryLimit {
    pub(in crate::session::machine) fn new(limit: u64) -> Self {
        Self { limit, start: None, frozen: None, measured_ms: 0.0 }
    }
}

/// How much memory a run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) struct RunMemory {
    /// How much memory the run's head uses.
    pub(in crate::session) head: MemoryUse,
    /// The private memory of the processes that the run started, in bytes.
    pub(in crate::session) below: u64,
    /// Whether the frozen process of the run's state still has its memory. A process that is
    /// exiting has none.
    pub(in crate::session) is_shared: bool,
}

impl Runs {
    fn memory_limit(&mut self, run: &ExecId) -> Option<&mut MemoryLimit> {
        self.get_mut(run)?.memory_limit.as_mut()
    }

    /// Handles a head's report of its memory, which it sends right before its cell begins.
    pub(in crate::session::machine) fn note_start_memory(
        &mut self,
        core: &mut Core,
        head: ProcId,
        memory: MemoryUse,
    ) {
        if let Some(run) = core.processes.run_of(head)
            && let Some(limit) = self.memory_limit(&run)
        {
            limit.start.get_or_insert(memory);
        }
    }

    /// Begins to measure a run that has a memory limit.
    pub(in crate::session::machine) fn begin_to_measure(
        &mut self,
        core: &mut Core,
        run: &ExecId,
        at: &StateId,
    ) {
        let frozen = core.processes.frozen(at);
        if let Some(limit) = self.memory_limit(run) {
            limit.frozen = frozen;
            self.measure_after(core, run, EVERY);
        }
    }

    fn measure_after(&self, core: &mut Core, run: &ExecId, after: Duration) {
        core.wake(after, Alarm::MeasureRun(run.clone(), self.serial(run)));
    }

    /// Orders a measurement of a run.
    pub(in crate::session::machine) fn measure(&mut self, core: &mut Core, run: &ExecId, serial: Serial) {
        let Some(head) = core.processes.of_run(run).filter(|_| self.is_still(run, serial)) else { return };
        let frozen_now = core.processes.at(head).and_then(|at| core.processes.frozen(at));
        let Some(limit) = self.memory_limit(run) else { return };
        limit.measured_ms = core.now_ms;
        // Only the frozen process that existed when the run began shares the run's initial memory.
        // A process that was made later does not.
        limit.frozen = limit.frozen.filter(|frozen| Some(*frozen) == frozen_now);
        let frozen = limit.frozen;
        core.emit(Effect::MeasureRun { exec_id: run.clone(), serial, head, frozen });
    }

    /// Handles the measurement of a run. Kills the run if it exceeds its limit.
    pub(in crate::session::machine) fn measured(
        &mut self,
        core: &mut Core,
        run: &ExecId,
        serial: Serial,
        memory: Option<RunMemory>,
    ) {
        let Some(head) = core.processes.of_run(run).filter(|_| self.is_still(run, serial)) else { return };
        let (Some(limit), Some(memory)) = (self.memory_limit(run), memory) else { return };
        let start = limit.start.unwrap_or_default();
        let is_shared = memory.is_shared && limit.frozen.is_some();
        let added = memory.head.added_since(start, is_shared).saturating_add(memory.below);
        let took = Duration::from_secs_f64((core.now_ms - limit.measured_ms).max(0.0) / 1000.0);
        if added <= limit.limit {
            return self.measure_after(core, run, took.div_f64(SHARE).clamp(EVERY, AT_LEAST_EVERY));
        }
        if let Some(request) = self.get_mut(run) {
            request.stop.get_or_insert(Stop::MemoryLimit(added));
        }
        core.kill_for_good(head);
    }

    pub(in crate::session::machine) fn memory_limit_error(&self, run: &ExecId, held: u64) -> RunError {
        let limit = self.get(run).and_then(|r| r.memory_limit.as_ref()).map_or(0, |limit| limit.limit);
        let why = format!(
            "the run was killed at its memory limit: it used {} more than its state, and the limit is {}. \
             The state that it ran against has not changed",
            size(held),
            size(limit)
        );
        RunError::of(Cause::RunOutOfMemory, why)
    }
}

/// Formats a number of bytes for users.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{bytes} bytes"),
        _ => format!("{} MiB", bytes >> 20),
    }
}
