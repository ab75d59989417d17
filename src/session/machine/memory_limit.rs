//! The memory limit of a run: how much memory it may use beyond that of its state.
//!
//! A run is measured repeatedly; `kernel::MemoryUse` separates what it has added from what it
//! shares with its state. The operating system's own limits do not fit: they count reserved memory,
//! which some libraries take by the hundred gigabytes, and not the pages of the state that are
//! written to, which is what a branch costs.

use super::cancel::Stop;
use super::core::Core;
use super::runs::Runs;
use super::{Alarm, Effect, Serial};
use crate::kernel::{MemoryUse, ProcId};
use crate::notebook::{ExecId, RunError, StateId};
use std::time::Duration;

/// The least time between two measurements: a core writes some 100 MB meanwhile.
const EVERY: Duration = Duration::from_millis(50);
/// The most time between two measurements, however long one takes.
const AT_LEAST_EVERY: Duration = Duration::from_secs(2);
/// The share of its time that a run may be measured: meanwhile it cannot allocate memory.
const SHARE: f64 = 0.1;

/// The memory limit of a run, and what it is measured against.
#[derive(Debug)]
pub(super) struct MemoryLimit {
    /// In bytes.
    limit: u64,
    /// What its head held when it began.
    start: Option<MemoryUse>,
    /// The frozen process that shared all of that then.
    frozen: Option<ProcId>,
    /// When a measurement was last ordered.
    measured_ms: f64,
}

impl MemoryLimit {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, start: None, frozen: None, measured_ms: 0.0 }
    }
}

/// What a run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) struct RunMemory {
    /// What its head holds.
    pub(in crate::session) head: MemoryUse,
    /// What the processes that it has started hold for themselves, in bytes.
    pub(in crate::session) below: u64,
    /// Whether its frozen process is whole.
    pub(in crate::session) is_shared: bool,
}

impl Runs {
    fn memory_limit(&mut self, run: &ExecId) -> Option<&mut MemoryLimit> {
        self.get_mut(run)?.memory_limit.as_mut()
    }

    /// A head reports what it holds, right before its cell begins.
    pub(super) fn note_start_memory(&mut self, core: &mut Core, head: ProcId, memory: MemoryUse) {
        if let Some(run) = core.processes.run_of(head)
            && let Some(limit) = self.memory_limit(&run)
        {
            limit.start.get_or_insert(memory);
        }
    }

    /// A run has begun: if it has a limit, it is measured from now on.
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

    /// It is time to measure a run.
    pub(super) fn measure(&mut self, core: &mut Core, run: &ExecId, serial: Serial) {
        let Some(head) = core.processes.of_run(run).filter(|_| self.is_still(run, serial)) else { return };
        let frozen_now = core.processes.at(head).and_then(|at| core.processes.frozen(at));
        let Some(limit) = self.memory_limit(run) else { return };
        limit.measured_ms = core.now_ms;
        // A process that was made later does not share what the run began with.
        limit.frozen = limit.frozen.filter(|frozen| Some(*frozen) == frozen_now);
        let frozen = limit.frozen;
        core.effects.push(Effect::MeasureRun { exec_id: run.clone(), serial, head, frozen });
    }

    /// A run was measured. Beyond its limit it is killed.
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

/// Bytes, for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{bytes} bytes"),
        _ => format!("{} MiB", bytes >> 20),
    }
}
