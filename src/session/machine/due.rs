//! The states that still need a checkpoint, and in which order they are saved.

use crate::notebook::{Checkpoint, Form, Notebook, Residency, RestoredFrom, Saving, State, StateId};
use std::collections::BTreeSet;

/// The states that still need a checkpoint.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// Whether checkpoints are written automatically.
    by_itself: bool,
    /// States that may need a checkpoint, in the reverse of the order in which they are saved.
    /// `first` removes those that need none.
    states: BTreeSet<Place>,
    /// States whose checkpoint takes long. They are saved when no others are left.
    slow: BTreeSet<StateId>,
    /// States whose checkpoint could not be loaded. A new checkpoint is written when the state has
    /// a process again.
    broken: BTreeSet<StateId>,
}

/// The greatest is saved first: the newest of those that are not known to be slow.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    is_fast: bool,
    /// The bit patterns of positive floats have the same order as the floats.
    created_at_bits: u64,
    id: StateId,
}

impl Due {
    /// Starts with no states. If `by_itself` is true, checkpoints are written automatically.
    pub(super) fn new(by_itself: bool) -> Self {
        Self { by_itself, ..Self::default() }
    }

    /// Whether checkpoints are written automatically.
    pub(super) fn is_by_itself(&self) -> bool {
        self.by_itself
    }

    /// Adds a state if it needs a checkpoint. Must be called after each change of the state's
    /// residency or of the progress of its checkpoint.
    pub(super) fn note(&mut self, state: &State) {
        if self.by_itself && self.is_due(state) {
            let (is_fast, id) = (!self.is_slow(&state.id), state.id.clone());
            self.states.insert(Place { is_fast, created_at_bits: state.created_at.to_bits(), id });
        }
    }

    /// Whether the checkpoint of a state could not be loaded.
    pub(super) fn is_broken(&self, state: &StateId) -> bool {
        self.broken.contains(state)
    }

    /// Notes that the checkpoint of a state could not be loaded.
    pub(super) fn note_broken(&mut self, state: &StateId) {
        self.broken.insert(state.clone());
    }

    /// Notes that the checkpoint of a state was written again, or that it may be loadable now.
    pub(super) fn forget_broken(&mut self, state: &StateId) {
        self.broken.remove(state);
    }

    /// Whether the checkpoint of a state takes long, as far as is known.
    pub(super) fn is_slow(&self, state: &StateId) -> bool {
        self.slow.contains(state)
    }

    /// Notes that the checkpoint of a state takes long. Must be called before `note`.
    pub(super) fn note_slow(&mut self, state: &StateId) {
        self.slow.insert(state.clone());
    }

    /// Notes that a state has its checkpoint, or that its variables are gone.
    pub(super) fn forget_slow(&mut self, state: &StateId) {
        self.slow.remove(state);
    }

    /// Whether a checkpoint of the state's process is missing: there is no checkpoint, or it could
    /// not be loaded, or it has only the plain values although the process holds everything.
    pub(super) fn is_missing(&self, state: &State) -> bool {
        let is_whole = !matches!(state.restored_from, Some(RestoredFrom::Checkpoint { .. }));
        let is_enough = |c: &Checkpoint| c.form == Form::Environment || !is_whole;
        !state.checkpoint.as_ref().is_some_and(is_enough) || self.is_broken(&state.id)
    }

    fn is_due(&self, state: &State) -> bool {
        state.residency == Residency::Memory
            && self.is_missing(state)
            && state.saving == Saving::Idle
            && !state.id.is_root()
    }

    fn is_up_to_date(&self, place: &Place, notebook: &Notebook) -> bool {
        place.is_fast != self.is_slow(&place.id)
            && notebook.state(&place.id).is_some_and(|state| self.is_due(state))
    }

    /// The state to save next: the newest, unless its checkpoint takes long.
    pub(super) fn first(&mut self, notebook: &Notebook) -> Option<StateId> {
        while let Some(place) = self.states.last() {
            if self.is_up_to_date(place, notebook) {
                return Some(place.id.clone());
            }
            self.states.pop_last();
        }
        None
    }

    /// Whether a cell's state will need a checkpoint as soon as it has a process.
    pub(super) fn is_coming(&self, notebook: &Notebook) -> bool {
        let is_coming =
            |s: &State| s.residency == Residency::Freezing && !s.id.is_root() && self.is_missing(s);
        self.by_itself && notebook.states().any(is_coming)
    }

    /// Whether any state needs a checkpoint.
    pub(super) fn is_any(&self, notebook: &Notebook) -> bool {
        self.states.iter().any(|place| self.is_up_to_date(place, notebook))
    }
}
