//! When each state was last used. States leave memory in this order.

use crate::notebook::StateId;
use std::collections::{BTreeSet, HashMap};

/// When each state was last used.
#[derive(Debug, Default)]
pub(super) struct Uses {
    count: u64,
    used: HashMap<StateId, u64>,
    /// States that can be restored from a checkpoint, the least recently used first. States leave
    /// memory in this order.
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

    /// Notes that a state may leave memory.
    pub(super) fn note_evictable(&mut self, state: &StateId) {
        let used = *self.used.entry(state.clone()).or_default();
        self.evictable.insert((used, state.clone()));
    }

    /// Forgets all states, because the notebook is reset.
    pub(super) fn forget_all(&mut self) {
        self.used.clear();
        self.evictable.clear();
    }

    /// Forgets a state.
    pub(super) fn forget(&mut self, state: &StateId) {
        let used = self.used.remove(state).unwrap_or_default();
        self.evictable.remove(&(used, state.clone()));
    }

    /// The states that may leave memory, the least recently used first.
    pub(super) fn evictable(&self) -> impl Iterator<Item = &StateId> {
        self.evictable.iter().map(|(_, state)| state)
    }
}
