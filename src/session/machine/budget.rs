//! Decides which states leave memory. Above a budget, the frozen processes of the least recently
//! used states end. These states have checkpoints, from which they are loaded when they are used
//! again.

use super::core::Core;
use super::duty::Duty;
use super::effect::{Alarm, Effect};
use super::held::HeldHeads;
use super::introspect;
use super::saving::Saver;
use crate::kernel::ProcId;
use crate::notebook::{Live, Missing, Residency, RestoredFrom, Saving, State, StateId};
use crate::problem::Kind;
use crate::session::system_memory::Footprint;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long after a state was frozen the memory of its process is measured. Because of this delay,
/// one measurement covers several states. Measuring a process takes milliseconds.
const MEASURE_AFTER: Duration = Duration::from_millis(250);
/// Maximum number of processes in one measurement.
const MAX_MEASURED: usize = 16;

/// Default limit of frozen processes per notebook. Each takes a socket in the server, a process id
/// and a few megabytes.
const MAX_PROCESSES: usize = 1000;

/// How far the number of frozen processes and running cells may exceed the budget before new runs
/// wait. States that are still being saved cannot leave memory; this margin keeps them from
/// delaying a short series of cells.
const MAX_OVER: usize = 32;

/// Limits for the frozen processes of one notebook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Maximum number of frozen processes.
    pub processes: usize,
    /// Maximum private memory of all frozen processes, in bytes.
    pub bytes: u64,
    /// Memory of the computer that must stay available, in bytes.
    pub available: u64,
    /// Maximum memory that a run may use in addition to the memory of its state (`--run-memory`),
    /// in bytes. The same limit applies to loading an untrusted checkpoint.
    pub run: u64,
    /// The number of cores: how many rows of a sweep run at the same time by default.
    pub cores: usize,
    /// Whether runs can be sent to workers.
    pub workers: bool,
}

impl Budget {
    /// The default limits on this computer: frozen processes may use half of the memory, and a
    /// tenth stays available.
    pub fn of_this_machine() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let total = crate::session::system_memory::total_bytes().unwrap_or(u64::MAX);
        let (processes, run) = (MAX_PROCESSES, u64::MAX);
        Self { processes, bytes: total / 2, available: total / 10, run, cores, workers: false }
    }
}

impl Default for Budget {
    /// No limits.
    fn default() -> Self {
        let (bytes, run) = (u64::MAX, u64::MAX);
        Self { processes: usize::MAX, bytes, available: 0, run, cores: 2, workers: false }
    }
}

impl Core {
    /// Notes that a state may leave memory, if it can be restored from its checkpoint.
    pub(super) fn note_evictable(&mut self, id: &StateId) {
        if self.notebook.state(id).is_some_and(|state| is_restorable(self, state)) {
            self.uses.note_evictable(id);
        }
    }

    /// Ends the frozen process of a state that can be restored from its checkpoint.
    pub(super) fn evict(&mut self, id: &StateId) {
        if let Some(process) = self.processes.frozen(id) {
            self.end(process);
        }
        self.uses.forget(id);
        introspect::end_answers(self, id, Kind::Busy, "the state was unloaded because memory is short");
        if let Some(state) = self.notebook.state_mut(id) {
            state.forget_process();
        }
        self.set_residency(id, Residency::Disk);
    }
}

/// Measures the notebook's memory and decides which states leave it.
#[derive(Debug)]
pub(super) struct Memory {
    budget: Budget,
    available: Option<u64>,
    to_measure: BTreeSet<StateId>,
    alarm_is_set: bool,
}

impl Memory {
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, available: None, to_measure: BTreeSet::new(), alarm_is_set: false }
    }

    /// Forgets a state.
    pub(super) fn forget(&mut self, state: &StateId) {
        self.to_measure.remove(state);
    }

    /// Forgets all states.
    pub(super) fn forget_all(&mut self) {
        self.to_measure.clear();
    }

    /// Schedules a measurement of a state that now has a frozen process, and of its parent state.
    /// The parent's process is measured too, because it no longer shares the memory that the cell
    /// changed.
    pub(super) fn measure_soon(&mut self, core: &mut Core, held: &HeldHeads, id: &StateId) {
        let parent = core.notebook.state(id).and_then(|s| s.parent.clone());
        self.to_measure.extend(parent.into_iter().chain([id.clone()]));
        self.wake_to_measure(core, held);
    }

    /// Sets the alarm if a measurement is due. One alarm serves all processes that wait to be
    /// measured.
    pub(super) fn wake_to_measure(&mut self, core: &mut Core, held: &HeldHeads) {
        let has_more = !self.to_measure.is_empty() || !held.unmeasured().is_empty();
        if !self.alarm_is_set && has_more {
            self.alarm_is_set = true;
            core.wake(MEASURE_AFTER, Alarm::Measure);
        }
    }

    /// Orders a measurement.
    pub(super) fn measure(&mut self, core: &mut Core, held: &HeldHeads) {
        let mut processes = held.unmeasured();
        while processes.len() < MAX_MEASURED
            && let Some(id) = self.to_measure.pop_first()
        {
            processes.extend(core.processes.frozen(&id));
        }
        if processes.is_empty() {
            self.alarm_is_set = false;
            return self.wake_to_measure(core, held);
        }
        core.emit(Effect::Measure(processes));
    }

    /// Notes the measured memory of processes.
    pub(super) fn measured(
        &mut self,
        core: &mut Core,
        held: &mut HeldHeads,
        processes: Vec<(ProcId, Footprint)>,
        available: Option<u64>,
    ) {
        self.available = available;
        for (process, Footprint { own, shared }) in processes {
            held.note_bytes(process, own);
            let Some(id) = core.processes.held_by(process).cloned() else { continue };
            core.processes.note_bytes(process, own);
            if let Some(state) = core.notebook.state_mut(&id)
                && (state.memory_bytes, state.shared_bytes) != (Some(own), Some(shared))
            {
                (state.memory_bytes, state.shared_bytes) = (Some(own), Some(shared));
                core.publish(Live::MemoryMeasured { state: id, memory_bytes: own, shared_bytes: shared });
            }
        }
        self.alarm_is_set = false;
        self.wake_to_measure(core, held);
    }

    /// Whether the frozen processes exceed the budget, or memory is short.
    pub(super) fn is_over_budget(&self, core: &Core, held: &HeldHeads) -> bool {
        core.processes.frozen_count().saturating_sub(1) > self.budget.processes || self.is_short(core, held)
    }

    /// Whether new runs must wait, because too many states are in memory and some must be saved
    /// first.
    pub(super) fn is_full(&self, core: &Core) -> bool {
        let count = core.processes.frozen_count().saturating_sub(1) + core.processes.busy();
        count > self.budget.processes.saturating_add(MAX_OVER)
    }

    /// Whether the notebook or the computer is short of memory.
    pub(super) fn is_short(&self, core: &Core, held: &HeldHeads) -> bool {
        self.machine_is_short() || core.processes.bytes().saturating_add(held.bytes()) > self.budget.bytes
    }

    fn machine_is_short(&self) -> bool {
        self.available.is_some_and(|available| available < self.budget.available)
    }

    /// Ends frozen processes until the budget is met, or until none of the others can be ended.
    pub(super) fn evict_to_budget(&mut self, core: &mut Core, held: &HeldHeads, saver: &Saver) {
        while self.is_over_budget(core, held)
            && let Some(id) = self.next_to_evict(core, saver)
        {
            let freed = core.notebook.state(&id).and_then(|s| s.memory_bytes).unwrap_or_default();
            self.available = self.available.map(|a| a.saturating_add(freed));
            self.forget(&id);
            core.evict(&id);
        }
    }

    fn next_to_evict(&self, core: &Core, saver: &Saver) -> Option<StateId> {
        let first = |pinned| {
            let candidates = core.uses.evictable().filter_map(|id| core.notebook.state(id));
            let mut candidates = candidates.filter(|s| s.pinned == pinned && can_be_evicted(core, saver, s));
            candidates.next().map(|s| s.id.clone())
        };
        // A pinned state leaves memory only when the computer is short of memory, and only after
        // all other states.
        first(false).or_else(|| if self.machine_is_short() { first(true) } else { None })
    }
}

/// Whether nothing is lost when a state's process ends. This is true if the checkpoint is complete,
/// or if the process lacks every name that the checkpoint lacks.
fn is_restorable(core: &Core, state: &State) -> bool {
    let Some(checkpoint) = &state.checkpoint else { return false };
    let lacks_no_more = |missing: &[Missing]| {
        let lacking: BTreeSet<&str> = missing.iter().map(|m| m.name.as_str()).collect();
        checkpoint.missing.iter().all(|m| lacking.contains(m.name.as_str()))
    };
    let is_from_it = match &state.restored_from {
        Some(RestoredFrom::Checkpoint { missing }) => lacks_no_more(missing),
        _ => false,
    };
    !core.due.is_broken(&state.id) && checkpoint.is_whole_for(core.notebook.python()) || is_from_it
}

/// Whether the frozen process of a state can end: nothing is lost, and no other process works on
/// that state.
fn can_be_evicted(core: &Core, saver: &Saver, state: &State) -> bool {
    state.residency == Residency::Memory
        && !state.id.is_root()
        && !matches!(state.saving, Saving::Failed { .. })
        && is_restorable(core, state)
        && !core.processes.needs(&state.id)
        && !is_worked_on(core, saver, &state.id)
}

/// Whether a process works on a state. Heads are not considered.
pub(super) fn is_worked_on(core: &Core, saver: &Saver, state: &StateId) -> bool {
    let is_busy = |duty: &Duty| match duty {
        Duty::Saving(_) | Duty::Listing(_) | Duty::Sending(_) => true,
        Duty::Answering(answerer) => answerer.is_busy(),
        // Heads are covered by `Processes::needs`. Fingerprinting can be interrupted without loss.
        Duty::Head(_) | Duty::Held(_) | Duty::Ending | Duty::Fingerprinting => false,
        Duty::Root | Duty::Frozen | Duty::Spare => false,
    };
    saver.is_at(state) || !core.processes.of(state, is_busy).is_empty()
}
