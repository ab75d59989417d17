//! The memory limit of a run: how much memory it may use beyond that of its state.
//!
//! A run is measured repeatedly; `kernel::MemoryUse` separates what it has added from what it
//! shares with its state. The operating system's own limits do not fit: they count reserved memory,
//! of which some libraries take hundreds of gigabytes. And they do not count the pages of the state
//! that are copied when the run writes to them, although these are what a branch costs.

use super::cancel::Stop;
use super::core::Core;
use super::runs::Runs;
use super::{Alarm, Effect, Serial};
use crate::kernel::{MemoryUse, ProcId};
use crate::notebook::{ExecId, RunError, StateId};
use std::time::Duration;

/// The shortest time between two measurements. A processor core writes some 100 MB in that time.
const EVERY: Duration = Duration::from_millis(50);
/// The longest time between two measurements, however long a measurement takes.
const AT_LEAST_EVERY: Duration = Duration::from_secs(2);
/// The fraction of its time in which a run may be measured. During a measurement it cannot allocate
/// memory.
const SHARE: f64 = 0.1;

/// The memory limit of a run, and what the run's memory is compared with.
#[derive(Debug)]
pub(super) struct MemoryLimit {
    /// The limit, in bytes.
    limit: u64,
    /// How much memory its head held when the cell began.
    start: Option<MemoryUse>,
    /// The frozen process that shared all of that memory then.
    frozen: Option<ProcId>,
    /// When a measurement was last ordered.
    measured_ms: f64,
}

impl MemoryLimit {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, start: None, frozen: None, measured_ms: 0.0 }
    }
}

/// How much memory a run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) struct RunMemory {
    /// How much memory its head holds.
    pub(in crate::session) head: MemoryUse,
    /// The private memory of the processes that the run has started, in bytes.
    pub(in crate::session) below: u64,
    /// Whether the frozen process of its state still has its memory. An exiting process does not.
    pub(in crate::session) is_shared: bool,
}

impl Runs {
    fn memory_limit(&mut self, run: &ExecId) -> Option<&mut MemoryLimit> {
        self.get_mut(run)?.memory_limit.as_mut()
    }

    /// A head reports how much memory it holds, right before its cell begins.
    pub(super) fn note_start_memory(&mut self, core: &mut Core, head: ProcId, memory: MemoryUse) {
        if let Some(run) = core.processes.run_of(head)
            && let Some(limit) = self.memory_limit(&run)
        {
            limit.start.get_or_insert(memory);
        }
    }

    /// Begins to measure a run that has a memory limit.
    pub(super) fn begin_to_measure(&mut self, core: &mut Core, run: &ExecId, at: &StateId) {
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
    pub(super) fn measure(&mut self, core: &mut Core, run: &ExecId, serial: Serial) {
        let Some(head) = core.processes.of_run(run).filter(|_| self.is_still(run, serial)) else { return };
        let frozen_now = core.processes.at(head).and_then(|at| core.processes.frozen(at));
        let Some(limit) = self.memory_limit(run) else { return };
        limit.measured_ms = core.now_ms;
        // A frozen process that was made later does not share the memory that the run began with.
        limit.frozen = limit.frozen.filter(|frozen| Some(*frozen) == frozen_now);
        let frozen = limit.frozen;
        core.effects.push(Effect::MeasureRun { exec_id: run.clone(), serial, head, frozen });
    }

    /// A run was measured. Kills it if it is beyond its limit.
    pub(super) fn measured(
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

    pub(super) fn memory_limit_error(&self, run: &ExecId, held: u64) -> RunError {
        let limit = self.get(run).and_then(|r| r.memory_limit.as_ref()).map_or(0, |limit| limit.limit);
        let why = format!(
            "the run was ended at its limit of memory: it held {} more than its state, and may hold {}. \
             The state that it ran against has not changed",
            size(held),
            size(limit)
        );
        RunError::new("RunOutOfMemory", why)
    }
}

/// A number of bytes as text for users.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{bytes} bytes"),
        _ => format!("{} MiB", bytes >> 20),
    }
}
