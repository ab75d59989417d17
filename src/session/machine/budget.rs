//! How many states live in memory: beyond a budget the least valuable frozen processes are let go. Each has a checkpoint, from
//! which it comes back when it is used.

use super::{Alarm, Effect, Machine};
use crate::kernel::ProcId;
use crate::notebook::{Live, Missing, Residency, RestoredFrom, Saving, State, StateId};
use crate::problem::Kind;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// How long after a state was frozen its memory is measured: measuring takes milliseconds, so it is done for several at once.
const MEASURE_AFTER: Duration = Duration::from_millis(250);
/// How many processes are measured at once.
const MAX_MEASURED: usize = 16;

/// How many frozen processes a notebook has at most, unless it is told otherwise: each has a socket in the server, a process
/// id, and a few MB.
const MAX_PROCESSES: usize = 1000;

/// How many frozen processes more than the budget's there may be, with the runs that may each leave another one, before new
/// runs wait: some are on their way to disk at any time, and a short series of cells is not held up by it.
const MAX_OVER: usize = 32;

/// How much the frozen processes of one notebook may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many there may be.
    pub processes: usize,
    /// How much memory they may hold for themselves alone, in bytes.
    pub bytes: u64,
    /// How much memory the machine is to keep available, in bytes.
    pub available: u64,
    /// How much a run may add to its state (`--run-memory`): what nobody has vouched for may not take more when it is loaded.
    pub run: u64,
}

impl Budget {
    /// What suits this machine: a share of its memory, and no more processes than it can well have.
    pub fn of_this_machine() -> Self {
        let total = crate::session::measure::total_bytes().unwrap_or(u64::MAX);
        Self { processes: MAX_PROCESSES, bytes: total / 2, available: total / 10, run: u64::MAX }
    }
}

impl Default for Budget {
    /// No limit.
    fn default() -> Self {
        Self { processes: usize::MAX, bytes: u64::MAX, available: 0, run: u64::MAX }
    }
}

/// What is known about the memory of states.
#[derive(Debug, Default)]
pub(super) struct Memory {
    budget: Budget,
    available: Option<u64>,
    uses: u64,
    used: HashMap<StateId, u64>,
    /// States that can come back from a checkpoint, those first that were used longest ago: one of them goes next.
    may_go: BTreeSet<(u64, StateId)>,
    to_measure: BTreeSet<StateId>,
    alarm_is_set: bool,
}

impl Memory {
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// How much memory a run may add, in bytes.
    pub(super) fn of_a_run(&self) -> u64 {
        self.budget.run
    }

    /// Notes that a state was used now.
    pub(super) fn note_used(&mut self, state: &StateId) {
        self.uses += 1;
        let before = self.used.insert(state.clone(), self.uses).unwrap_or_default();
        if self.may_go.remove(&(before, state.clone())) {
            self.may_go.insert((self.uses, state.clone()));
        }
    }

    /// Forgets a state.
    pub(super) fn forget(&mut self, state: &StateId) {
        let used = self.used.remove(state).unwrap_or_default();
        self.may_go.remove(&(used, state.clone()));
        self.to_measure.remove(state);
    }

    /// Forgets all states.
    pub(super) fn forget_all(&mut self) {
        self.used.clear();
        self.may_go.clear();
        self.to_measure.clear();
    }
}

impl Machine {
    /// A state has a frozen process now: it is measured soon, and so is its parent, which no longer shares with the head what
    /// the cell has changed.
    pub(super) fn measure_soon(&mut self, id: &StateId) {
        let parent = self.notebook.state(id).and_then(|s| s.parent.clone());
        self.memory.to_measure.extend(parent.into_iter().chain([id.clone()]));
        self.wake_to_measure();
    }

    pub(super) fn wake_to_measure(&mut self) {
        let has_more = !self.memory.to_measure.is_empty() || !self.held.unmeasured().is_empty();
        if !self.memory.alarm_is_set && has_more {
            self.memory.alarm_is_set = true;
            self.effects.push(Effect::Wake(MEASURE_AFTER, Alarm::Measure));
        }
    }

    /// It is time to measure.
    pub(super) fn measure(&mut self) {
        let mut processes = self.held.unmeasured();
        while processes.len() < MAX_MEASURED
            && let Some(id) = self.memory.to_measure.pop_first()
        {
            processes.extend(self.frozen.get(&id).copied());
        }
        if processes.is_empty() {
            self.memory.alarm_is_set = false;
            return self.wake_to_measure();
        }
        self.effects.push(Effect::Measure(processes));
    }

    /// Processes were measured.
    pub(super) fn measured(&mut self, processes: Vec<(ProcId, u64)>, available: Option<u64>) {
        self.memory.available = available;
        for (process, bytes) in processes {
            self.held.note_bytes(process, bytes);
            let Some(id) = self.state_of(process) else { continue };
            self.frozen.measured(process, bytes);
            if let Some(state) = self.notebook.state_mut(&id)
                && state.memory_bytes != Some(bytes)
            {
                state.memory_bytes = Some(bytes);
                self.publish(Live::MemoryMeasured { state: id, memory_bytes: bytes });
            }
        }
        self.memory.alarm_is_set = false;
        self.wake_to_measure();
        self.live_within_budget();
    }

    /// Whether the frozen processes take more than they may.
    pub(super) fn is_over_budget(&self) -> bool {
        self.frozen.len().saturating_sub(1) > self.memory.budget.processes || self.is_short_of_memory()
    }

    /// Whether new runs wait until states are saved: so many live in memory beyond the budget that have to be on disk
    /// before they can be let go. What cannot be saved is not waited for.
    pub(super) fn has_to_save_first(&self) -> bool {
        let count = self.frozen.len().saturating_sub(1) + self.heads.busy();
        count > self.memory.budget.processes.saturating_add(MAX_OVER) && self.is_saving()
    }

    fn is_short_of_memory(&self) -> bool {
        let Budget { bytes, available, .. } = self.memory.budget;
        self.memory.available.is_some_and(|a| a < available)
            || self.frozen.bytes().saturating_add(self.held.bytes()) > bytes
    }

    /// Lets the least valuable processes go until the budget holds, or no other can be spared: first those of cells that
    /// failed, then frozen ones.
    pub(super) fn live_within_budget(&mut self) {
        if self.is_short_of_memory() {
            self.end_all_held();
        }
        while self.is_over_budget()
            && let Some(id) = self.least_valuable()
        {
            let freed = self.notebook.state(&id).and_then(|s| s.memory_bytes).unwrap_or_default();
            self.memory.available = self.memory.available.map(|a| a.saturating_add(freed));
            self.let_go(&id);
        }
    }

    /// Ends the frozen process of a state that can come back from its checkpoint.
    pub(super) fn let_go(&mut self, id: &StateId) {
        if let Some(process) = self.frozen.remove(id) {
            self.effects.push(Effect::Kill(process));
        }
        self.memory.forget(id);
        self.end_answers(id, Kind::Busy, "the state was let go, as memory is short");
        if let Some(state) = self.notebook.state_mut(id) {
            (state.restored_from, state.memory_bytes) = (None, None);
        }
        self.set_residency(id, Residency::Disk);
    }

    fn least_valuable(&self) -> Option<StateId> {
        let is_short = self.memory.available.is_some_and(|a| a < self.memory.budget.available);
        let first = |pinned| {
            let candidates = self.memory.may_go.iter().filter_map(|(_, id)| self.notebook.state(id));
            let mut candidates = candidates.filter(|s| s.pinned == pinned && self.can_be_let_go(s));
            candidates.next().map(|s| s.id.clone())
        };
        // A pinned state goes only when the machine runs out of memory, and then last.
        first(false).or_else(|| if is_short { first(true) } else { None })
    }

    /// A state has a checkpoint now, or came from one: it may be one that can be let go.
    pub(super) fn note_may_go(&mut self, id: &StateId) {
        if self.notebook.state(id).is_some_and(|state| self.comes_back(state)) {
            let used = *self.memory.used.entry(id.clone()).or_default();
            self.memory.may_go.insert((used, id.clone()));
        }
    }

    /// Whether all that a state's process holds can be had from its checkpoint: what that lacks, the process lacks too.
    fn comes_back(&self, state: &State) -> bool {
        let is_broken = self.saver.has_broken(&state.id);
        let Some(checkpoint) = &state.checkpoint else { return false };
        let lacks_no_more = |missing: &[Missing]| {
            let lacking: BTreeSet<&str> = missing.iter().map(|m| m.name.as_str()).collect();
            checkpoint.missing.iter().all(|m| lacking.contains(m.name.as_str()))
        };
        !is_broken && checkpoint.is_whole()
            || matches!(&state.restored_from, Some(RestoredFrom::Checkpoint { missing }) if lacks_no_more(missing))
    }

    /// Whether nothing is lost when a frozen process goes, and nobody is busy with it.
    fn can_be_let_go(&self, state: &State) -> bool {
        state.residency == Residency::Memory
            && !state.id.is_root()
            && !matches!(state.saving, Saving::Failed { .. })
            && self.comes_back(state)
            && !self.heads.stand_at(&state.id)
            && !self.saver.is_at(&state.id)
            && !self.senders.are_at(&state.id)
            && !self.looks.values().any(|(_, at)| at == &state.id)
            && !self.answerers.are_busy_at(&state.id)
    }
}
