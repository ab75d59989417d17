//! Decides which states leave memory. Beyond a budget, frozen processes end, those of the states
//! used longest ago first. Each such state has a checkpoint, from which it is loaded when it is
//! used again.

use super::core::Core;
use super::held::HeldHeads;
use super::processes::Duty;
use super::saving::Saver;
use super::{Alarm, Effect, introspect};
use crate::kernel::ProcId;
use crate::notebook::{Live, Missing, Residency, RestoredFrom, Saving, State, StateId};
use crate::problem::Kind;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// How long after a state was frozen its memory is measured. Measuring takes milliseconds, so
/// several states are measured together.
const MEASURE_AFTER: Duration = Duration::from_millis(250);
/// How many processes are measured together.
const MAX_MEASURED: usize = 16;

/// Default limit of frozen processes per notebook. Each takes a socket in the server, a process id
/// and a few MB.
const MAX_PROCESSES: usize = 1000;

/// How many frozen processes and running cells may exceed the budget before new runs wait. States
/// that are still being saved may exceed it, so a short series of cells is not held up.
const MAX_OVER: usize = 32;

/// What the frozen processes of one notebook may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Limit of their number.
    pub processes: usize,
    /// Limit of their private memory, in bytes.
    pub bytes: u64,
    /// Memory of the computer to keep available, in bytes.
    pub available: u64,
    /// Limit of what a run may add to its state (`--run-memory`), in bytes. Loading an untrusted
    /// checkpoint has the same limit.
    pub run: u64,
}

impl Budget {
    /// The default for this computer: half of its memory for frozen processes, and a tenth kept
    /// available.
    pub fn of_this_machine() -> Self {
        let total = crate::session::system_memory::total_bytes().unwrap_or(u64::MAX);
        Self { processes: MAX_PROCESSES, bytes: total / 2, available: total / 10, run: u64::MAX }
    }
}

impl Default for Budget {
    /// No limit.
    fn default() -> Self {
        Self { processes: usize::MAX, bytes: u64::MAX, available: 0, run: u64::MAX }
    }
}

/// When each state was last used.
#[derive(Debug, Default)]
pub(super) struct Uses {
    count: u64,
    used: HashMap<StateId, u64>,
    /// States that can be restored from a checkpoint, by last use. The first one that can be spared
    /// leaves memory next.
    evictable: BTreeSet<(u64, StateId)>,
}

impl Uses {
    /// Notes that a state was used now.
    pub(super) fn note(&mut self, state: &StateId) {
        self.count += 1;
        let before = self.used.insert(state.clone(), self.count).unwrap_or_default();
        if self.evictable.remove(&(before, state.clone())) {
            self.evictable.insert((self.count, state.clone()));
        }
    }

    /// Notes that a state can leave memory, because it can be restored from its checkpoint.
    fn note_evictable(&mut self, state: &StateId) {
        let used = *self.used.entry(state.clone()).or_default();
        self.evictable.insert((used, state.clone()));
    }

    /// Forgets all states, as when the notebook is reset.
    pub(super) fn forget_all(&mut self) {
        self.used.clear();
        self.evictable.clear();
    }

    /// Forgets a state.
    pub(super) fn forget(&mut self, state: &StateId) {
        let used = self.used.remove(state).unwrap_or_default();
        self.evictable.remove(&(used, state.clone()));
    }
}

impl Core {
    /// Notes that a state can leave memory, if it can be restored from its checkpoint.
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
        introspect::end_answers(self, id, Kind::Busy, "its state left memory, because memory is short");
        if let Some(state) = self.notebook.state_mut(id) {
            (state.restored_from, state.memory_bytes) = (None, None);
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

    /// Measures a state soon, now that it has a frozen process, and its parent state, too: the
    /// memory that the cell changed is no longer shared with the parent's process.
    pub(super) fn measure_soon(&mut self, core: &mut Core, held: &HeldHeads, id: &StateId) {
        let parent = core.notebook.state(id).and_then(|s| s.parent.clone());
        self.to_measure.extend(parent.into_iter().chain([id.clone()]));
        self.wake_to_measure(core, held);
    }

    /// Sets the alarm if something has to be measured. One alarm serves several processes.
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
        core.effects.push(Effect::Measure(processes));
    }

    /// Notes the memory of processes that were measured.
    pub(super) fn measured(
        &mut self,
        core: &mut Core,
        held: &mut HeldHeads,
        processes: Vec<(ProcId, u64)>,
        available: Option<u64>,
    ) {
        self.available = available;
        for (process, bytes) in processes {
            held.note_bytes(process, bytes);
            let Some(id) = core.processes.held_by(process).cloned() else { continue };
            core.processes.note_bytes(process, bytes);
            if let Some(state) = core.notebook.state_mut(&id)
                && state.memory_bytes != Some(bytes)
            {
                state.memory_bytes = Some(bytes);
                core.publish(Live::MemoryMeasured { state: id, memory_bytes: bytes });
            }
        }
        self.alarm_is_set = false;
        self.wake_to_measure(core, held);
    }

    /// Whether there are more frozen processes than the budget allows, or memory is short.
    pub(super) fn is_over_budget(&self, core: &Core, held: &HeldHeads) -> bool {
        core.processes.frozen_count().saturating_sub(1) > self.budget.processes || self.is_short(core, held)
    }

    /// Whether so many states are in memory that new runs must wait until some are on disk.
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

    /// Lets states leave memory until the budget holds, or no other can be spared.
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
            let candidates = core.uses.evictable.iter().filter_map(|(_, id)| core.notebook.state(id));
            let mut candidates = candidates.filter(|s| s.pinned == pinned && can_be_evicted(core, saver, s));
            candidates.next().map(|s| s.id.clone())
        };
        // A pinned state leaves memory only when the computer is short of memory, and then last.
        first(false).or_else(|| if self.machine_is_short() { first(true) } else { None })
    }
}

/// Whether nothing is lost when a state's process ends: its checkpoint is complete, or every name
/// missing in it is missing in the process, too.
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
    !core.due.is_broken(&state.id) && checkpoint.is_whole() || is_from_it
}

/// Whether nothing is lost when the frozen process of a state ends, and no other process works for
/// that state.
fn can_be_evicted(core: &Core, saver: &Saver, state: &State) -> bool {
    let is_busy = |duty: &Duty| match duty {
        Duty::Saving(_) | Duty::Listing(_) | Duty::Sending(_) => true,
        Duty::Answering(answerer) => answerer.is_busy(),
        // `Processes::needs` covers heads. Fingerprinting may be cut short.
        Duty::Head(_) | Duty::Held(_) | Duty::Ending | Duty::Fingerprinting => false,
        Duty::Root | Duty::Frozen | Duty::Spare => false,
    };
    state.residency == Residency::Memory
        && !state.id.is_root()
        && !matches!(state.saving, Saving::Failed { .. })
        && is_restorable(core, state)
        && !core.processes.needs(&state.id)
        && !saver.is_at(&state.id)
        && core.processes.of(&state.id, is_busy).is_empty()
}
