//! How many states live in memory: beyond a budget the least valuable frozen processes are let go. Each has a checkpoint, from
//! which it comes back when it is used.

use super::{Alarm, Effect, Machine};
use crate::kernel::ProcId;
use crate::notebook::{Checkpoint, Event, Living, Revival, Saving, State, StateId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long after a state was frozen its memory is measured: measuring takes milliseconds, so it is done for several at once.
const MEASURE_AFTER: Duration = Duration::from_millis(250);
/// How many processes are measured at once.
const MAX_MEASURED: usize = 16;

/// How many frozen processes a notebook has at most, unless it is told otherwise: each has a socket in the server, a process
/// id, and a few MB.
const MAX_PROCESSES: usize = 1000;

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
    used: BTreeMap<StateId, u64>,
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
        self.used.insert(state.clone(), self.uses);
    }

    /// Forgets a state.
    pub(super) fn forget(&mut self, state: &StateId) {
        self.used.remove(state);
        self.to_measure.remove(state);
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

    fn wake_to_measure(&mut self) {
        if !self.memory.alarm_is_set && !self.memory.to_measure.is_empty() {
            self.memory.alarm_is_set = true;
            self.effects.push(Effect::Wake(MEASURE_AFTER, Alarm::Measure));
        }
    }

    /// It is time to measure.
    pub(super) fn measure(&mut self) {
        let mut processes = Vec::new();
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
            let Some(id) = self.state_of(process) else { continue };
            if let Some(state) = self.notebook.state_mut(&id)
                && state.memory_bytes != Some(bytes)
            {
                state.memory_bytes = Some(bytes);
                self.publish(Event::MemoryMeasured { state: id, memory_bytes: bytes });
            }
        }
        self.memory.alarm_is_set = false;
        self.wake_to_measure();
        self.live_within_budget();
    }

    /// Whether the frozen processes take more than they may.
    pub(super) fn is_over_budget(&self) -> bool {
        let Budget { processes, bytes, available, .. } = self.memory.budget;
        let held =
            || self.notebook.states().filter(|s| s.living == Living::Memory).filter_map(|s| s.memory_bytes);
        self.frozen.len().saturating_sub(1) > processes
            || self.memory.available.is_some_and(|a| a < available)
            || bytes < u64::MAX && held().sum::<u64>() > bytes
    }

    /// Lets the least valuable frozen processes go until the budget holds, or no other can be spared.
    pub(super) fn live_within_budget(&mut self) {
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
        self.end_answers(id, "busy", "the state was let go, as memory is short");
        if let Some(state) = self.notebook.state_mut(id) {
            (state.revival, state.memory_bytes) = (None, None);
        }
        self.set_living(id, Living::Disk);
    }

    fn least_valuable(&self) -> Option<StateId> {
        let is_short = self.memory.available.is_some_and(|a| a < self.memory.budget.available);
        // A pinned state goes only when the machine runs out of memory, and then last.
        let can_go = |s: &&State| (is_short || !s.pinned) && self.can_be_let_go(s);
        let worth = |s: &&State| (s.pinned, self.memory.used.get(&s.id).copied().unwrap_or_default());
        self.notebook.states().filter(can_go).min_by_key(worth).map(|s| s.id.clone())
    }

    /// Whether nothing is lost when a frozen process goes, and nobody is busy with it.
    fn can_be_let_go(&self, state: &State) -> bool {
        let comes_back = |s: &State| {
            let is_broken = self.saver.has_broken(&s.id);
            !is_broken && s.checkpoint.as_ref().is_some_and(Checkpoint::is_whole)
                || matches!(&s.revival, Some(Revival::Checkpoint { .. }))
        };
        state.living == Living::Memory
            && !state.id.is_root()
            && !matches!(state.saving, Saving::Failed { .. })
            && comes_back(state)
            && !self.heads.stand_at(&state.id)
            && !self.saver.is_at(&state.id)
            && !self.senders.are_at(&state.id)
            && !self.looks.values().any(|(_, at)| at == &state.id)
            && !self.answerers.are_busy_at(&state.id)
    }
}
