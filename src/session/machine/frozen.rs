//! Which process holds which state, and what these processes take together: kept as sums and maps, so that a cell costs
//! the same in a notebook of ten states and of ten thousand.

use crate::kernel::ProcId;
use crate::notebook::StateId;
use std::collections::{BTreeMap, HashMap};

/// The frozen processes of a notebook. A state has one at most.
#[derive(Debug, Default)]
pub(super) struct Frozen {
    by_state: BTreeMap<StateId, ProcId>,
    by_process: HashMap<ProcId, Held>,
    bytes: u64,
}

#[derive(Debug)]
struct Held {
    state: StateId,
    /// What the process held for itself alone when it was last measured; 0 before that.
    bytes: u64,
}

impl Frozen {
    /// The process that holds a state.
    pub(super) fn get(&self, state: &StateId) -> Option<&ProcId> {
        self.by_state.get(state)
    }

    /// The state that a process holds.
    pub(super) fn state_of(&self, process: ProcId) -> Option<&StateId> {
        self.by_process.get(&process).map(|held| &held.state)
    }

    pub(super) fn contains_key(&self, state: &StateId) -> bool {
        self.by_state.contains_key(state)
    }

    /// Notes which process holds a state from now on; answers the one that did.
    pub(super) fn insert(&mut self, state: StateId, process: ProcId) -> Option<ProcId> {
        let before = self.remove(&state);
        self.by_process.insert(process, Held { state: state.clone(), bytes: 0 });
        self.by_state.insert(state, process);
        before
    }

    pub(super) fn remove(&mut self, state: &StateId) -> Option<ProcId> {
        let process = self.by_state.remove(state)?;
        if let Some(held) = self.by_process.remove(&process) {
            self.bytes = self.bytes.saturating_sub(held.bytes);
        }
        Some(process)
    }

    /// Takes all away but this one; answers the others.
    pub(super) fn keep_only(&mut self, root: Option<ProcId>) -> Vec<ProcId> {
        let is_other = |process: &ProcId| Some(*process) != root;
        let others: Vec<StateId> =
            self.by_state.iter().filter(|(_, process)| is_other(process)).map(|(s, _)| s.clone()).collect();
        others.iter().filter_map(|state| self.remove(state)).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.by_state.len()
    }

    /// Notes what a process holds for itself alone.
    pub(super) fn measured(&mut self, process: ProcId, bytes: u64) {
        if let Some(held) = self.by_process.get_mut(&process) {
            self.bytes = self.bytes.saturating_sub(held.bytes).saturating_add(bytes);
            held.bytes = bytes;
        }
    }

    /// What all of them hold for themselves alone, in bytes, as far as they were measured.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_bytes_follows_what_is_measured_and_what_goes() {
        let (mut frozen, state) = (Frozen::default(), |n: u32| StateId::new(format!("s{n}")));
        frozen.insert(state(1), ProcId(1));
        frozen.insert(state(2), ProcId(2));
        frozen.measured(ProcId(1), 10);
        frozen.measured(ProcId(2), 100);
        frozen.measured(ProcId(1), 30);
        frozen.measured(ProcId(9), 1000);
        assert_eq!(frozen.bytes(), 130);
        assert_eq!(frozen.insert(state(2), ProcId(3)), Some(ProcId(2)));
        assert_eq!((frozen.bytes(), frozen.state_of(ProcId(2)), frozen.len()), (30, None, 2));
        assert_eq!(frozen.keep_only(Some(ProcId(3))), vec![ProcId(1)]);
        assert_eq!((frozen.bytes(), frozen.state_of(ProcId(3))), (0, Some(&state(2))));
    }
}
