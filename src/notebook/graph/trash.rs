//! The trash of a notebook: its deleted states and failed runs, until they are restored or purged.
//!
//! Everything that one command deletes has the same time of deletion, `deleted_at`, and returns
//! together. A deleted state that has descendants is still in the graph, not in the trash, but it
//! can be restored in the same way.

use super::Notebook;
use crate::notebook::{Base, Draft, DraftId, ExecId, Residency, Run, Saving, State, StateId};
use indexmap::{IndexMap, IndexSet};

/// How long the trash keeps what was deleted, in milliseconds.
const MAX_AGE_MS: f64 = 30.0 * 24.0 * 3600.0 * 1000.0;

/// Maximum number of states and runs in the trash. A program may delete states all day long.
const MAX_ITEMS: usize = 2000;

/// Maximum size of the outputs in the trash, in bytes. They are in memory, like all outputs.
const MAX_OUTPUT_BYTES: usize = 64 << 20;

/// Maximum size of the checkpoints in the trash, in bytes on disk.
const MAX_CHECKPOINT_BYTES: u64 = 4 << 30;

/// Deleted states and runs that are not in the graph, and the drafts of all deleted states.
#[derive(Clone, Debug, Default)]
pub struct Trash {
    states: IndexMap<StateId, State>,
    runs: IndexMap<ExecId, Run>,
    drafts: Vec<Draft>,
}

/// What one command deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct Deletion {
    /// When, in milliseconds since the Unix epoch.
    pub at: f64,
    /// The deleted states, each with the code of its cell.
    pub states: Vec<(State, String)>,
    /// The deleted failed runs.
    pub runs: Vec<Run>,
}

/// What returned from the trash.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Restored {
    /// The restored states, and their deleted ancestors that are in the graph again. Every parent
    /// comes before its children.
    pub states: Vec<State>,
    /// The runs that are in the graph again.
    pub runs: Vec<Run>,
    /// The drafts of the restored states. The drafts of one state are in page order.
    pub drafts: Vec<Draft>,
}

impl Trash {
    pub(super) fn add_drafts(&mut self, drafts: impl IntoIterator<Item = Draft>) {
        self.drafts.extend(drafts);
    }

    pub(super) fn add_state(&mut self, state: State) {
        let state = State {
            saving: Saving::Idle,
            restored_from: None,
            memory_bytes: None,
            shared_bytes: None,
            in_memory_since: None,
            ..state
        };
        self.states.insert(state.id.clone(), state);
    }

    pub(super) fn add_run(&mut self, run: Run, deleted_at: f64) {
        self.runs.insert(run.exec_id.clone(), Run { deleted_at: Some(deleted_at), keepable: false, ..run });
    }

    /// Forgets a draft, because it is in the graph.
    pub(super) fn forget_draft(&mut self, id: &DraftId) {
        self.drafts.retain(|draft| &draft.id != id);
    }

    /// A state and its ancestors in the trash, ancestors first.
    fn line(&self, id: &StateId) -> Vec<&State> {
        let above = |state: &&State| state.parent.as_ref().and_then(|id| self.states.get(id));
        let mut line: Vec<&State> = std::iter::successors(self.states.get(id), above).collect();
        line.reverse();
        line
    }

    /// The states. Every parent comes before its children.
    pub fn states(&self) -> Vec<&State> {
        let lines = self.states.keys().flat_map(|id| self.line(id));
        let found: IndexMap<&StateId, &State> = lines.map(|state| (&state.id, state)).collect();
        found.into_values().collect()
    }

    /// The runs.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.values()
    }

    /// The drafts of deleted states.
    pub fn drafts(&self) -> impl Iterator<Item = &Draft> {
        self.drafts.iter()
    }

    /// The times of all deletions, oldest first.
    fn times(&self) -> Vec<f64> {
        let states = self.states.values().filter_map(|state| state.deleted_at);
        let mut times: Vec<f64> = states.chain(self.runs.values().filter_map(|run| run.deleted_at)).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        times
    }

    fn is_too_large(&self) -> bool {
        let outputs: usize = self.runs.values().map(|run| run.outputs.kept_bytes()).sum();
        let checkpoints = self.states.values().filter_map(|state| state.checkpoint.as_ref());
        self.states.len() + self.runs.len() > MAX_ITEMS
            || outputs > MAX_OUTPUT_BYTES
            || checkpoints.map(|checkpoint| checkpoint.new_bytes).sum::<u64>() > MAX_CHECKPOINT_BYTES
    }

    /// Removes what was deleted at this time or before, except what later deletions need.
    fn purge(&mut self, until: f64) -> (Vec<StateId>, Vec<ExecId>) {
        let is_old = |at: Option<f64>| at.is_none_or(|at| at <= until);
        let newer_states = self.states.values().filter(|s| !is_old(s.deleted_at)).map(|s| &s.id);
        let newer_runs = self.runs.values().filter(|r| !is_old(r.deleted_at)).filter_map(|r| base_of(&r.on));
        let needed: IndexSet<StateId> =
            newer_states.chain(newer_runs).flat_map(|id| self.line(id)).map(|s| s.id.clone()).collect();
        let states: Vec<StateId> = self.states.keys().filter(|id| !needed.contains(*id)).cloned().collect();
        let is_needed = |run: &Run| run.state.as_ref().is_some_and(|state| needed.contains(state));
        let old = self.runs.values().filter(|run| is_old(run.deleted_at) && !is_needed(run));
        let runs: Vec<ExecId> = old.map(|run| run.exec_id.clone()).collect();
        self.states.retain(|id, _| needed.contains(id));
        self.runs.retain(|id, _| !runs.contains(id));
        self.drafts.retain(|draft| !states.contains(&draft.on));
        (states, runs)
    }
}

impl Notebook {
    /// Moves deleted states that no living state and no run needs, and deleted runs, into the
    /// trash. Called when a notebook has been loaded: on disk, they are among the others.
    pub(super) fn sort_out_trash(&mut self) {
        let mut there: IndexSet<StateId> = IndexSet::from([StateId::root()]);
        let attempts = self.runs.values().filter(|run| run.state.is_none() && run.deleted_at.is_none());
        let living = self.states.values().filter(|state| state.residency != Residency::Deleted);
        let tips =
            living.map(|state| state.id.clone()).chain(attempts.filter_map(|run| base_of(&run.on)).cloned());
        for tip in tips.collect::<Vec<_>>() {
            for state in self.ancestry(&tip) {
                if !there.insert(state.id.clone()) {
                    break;
                }
            }
        }
        for (id, mut state) in std::mem::take(&mut self.states) {
            if state.residency == Residency::Deleted {
                // Earlier versions did not store the time.
                state.deleted_at = state.deleted_at.or(Some(state.created_at));
            }
            let to = if there.contains(&id) { &mut self.states } else { &mut self.trash.states };
            to.insert(id, state);
        }
        for (id, mut run) in std::mem::take(&mut self.runs) {
            if let Some(state) = &run.state {
                run.deleted_at = self.trash.states.get(state).and_then(|state| state.deleted_at);
            }
            let to = if run.deleted_at.is_none() { &mut self.runs } else { &mut self.trash.runs };
            to.insert(id, run);
        }
        let mut drafts = std::mem::take(&mut self.drafts);
        let is_living = |draft: &Draft| {
            self.states.get(&draft.on).is_some_and(|state| state.residency != Residency::Deleted)
        };
        // The cells of some edits may have been deleted for good.
        drafts.retain(|draft| draft.instead_of.as_ref().is_none_or(|state| self.was_state(state)));
        let (living, deleted): (Vec<Draft>, Vec<Draft>) = drafts.into_iter().partition(is_living);
        self.drafts = living;
        self.trash.drafts = deleted.into_iter().filter(|draft| self.was_state(&draft.on)).collect();
    }

    fn was_state(&self, id: &StateId) -> bool {
        self.states.contains_key(id) || self.trash.states.contains_key(id)
    }

    /// The trash.
    pub fn trash(&self) -> &Trash {
        &self.trash
    }

    /// A time for the next deletion that no earlier deletion has.
    pub fn next_deletion(&self, now_ms: f64) -> f64 {
        let deleted = self.states.values().filter_map(|state| state.deleted_at);
        let last = deleted.chain(self.trash.times()).fold(f64::MIN, f64::max);
        if last < now_ms { now_ms } else { last + 1.0 }
    }

    /// What can be restored, newest deletion first.
    pub fn deletions(&self) -> Vec<Deletion> {
        let mut all: Vec<Deletion> = Vec::new();
        let code_of = |state: &State| {
            let run = state.exec_id.as_ref().and_then(|id| self.runs.get(id).or(self.trash.runs.get(id)));
            run.map(|run| run.code.clone()).unwrap_or_default()
        };
        for state in self.states.values().chain(self.trash.states()) {
            if let Some(at) = state.deleted_at {
                deletion_at(&mut all, at).states.push((state.clone(), code_of(state)));
            }
        }
        for run in self.trash.runs.values().filter(|run| run.state.is_none()) {
            if let Some(at) = run.deleted_at {
                deletion_at(&mut all, at).runs.push(run.clone());
            }
        }
        all.sort_by(|a, b| b.at.total_cmp(&a.at));
        all
    }

    /// Restores a deleted state or failed run by its id, with all that was deleted with it. Returns
    /// `None` if nothing deleted has this id.
    pub fn restore(&mut self, id: &str) -> Option<Restored> {
        let state = StateId::new(id);
        let state = self.states.get(&state).or_else(|| self.trash.states.get(&state));
        let run = || self.trash.runs.get(&ExecId::new(id)).and_then(|run| run.deleted_at);
        let at = state.and_then(|state| state.deleted_at).or_else(run)?;
        let is_it = |time: Option<f64>| time == Some(at);
        let states = self.states.values().chain(self.trash.states.values());
        let back: IndexSet<StateId> =
            states.filter(|state| is_it(state.deleted_at)).map(|state| state.id.clone()).collect();
        let runs = self.trash.runs.values().filter(|run| is_it(run.deleted_at));
        let bases: Vec<StateId> = runs.filter_map(|run| base_of(&run.on)).cloned().collect();
        let mut changed: IndexSet<StateId> = IndexSet::new();
        for id in back.iter().chain(&bases) {
            let line: Vec<StateId> = self.trash.line(id).iter().map(|state| state.id.clone()).collect();
            for id in line {
                if let Some(state) = self.trash.states.shift_remove(&id) {
                    self.insert_by_age(state);
                    changed.insert(id);
                }
            }
        }
        for id in back {
            self.bring_to_life(&id);
            changed.insert(id);
        }
        let times: Vec<Option<f64>> = changed.iter().map(|id| self.states[id].deleted_at).collect();
        let runs = self.take_runs(|run| is_it(run.deleted_at) || times.contains(&run.deleted_at));
        let living = |id: &StateId| self.states.get(id).is_some_and(|s| s.residency != Residency::Deleted);
        let (drafts, left): (Vec<Draft>, Vec<Draft>) =
            std::mem::take(&mut self.trash.drafts).into_iter().partition(|draft| living(&draft.on));
        self.trash.drafts = left;
        self.drafts.extend(drafts.iter().cloned());
        // In the graph, every parent comes before its children.
        let states = self.states.values().filter(|state| changed.contains(&state.id)).cloned().collect();
        Some(Restored { states, runs, drafts })
    }

    /// Makes a deleted state one that has just been loaded. Its name returns if it is free.
    fn bring_to_life(&mut self, id: &StateId) {
        let Some(state) = self.states.get_mut(id) else { return };
        state.deleted_at = None;
        state.residency = match (&state.parent, &state.checkpoint) {
            (Some(_), Some(_)) => Residency::Disk,
            _ => Residency::Replay,
        };
        if self.names.contains_key(&state.name) {
            state.name = id.as_str().to_owned();
        }
        self.names.insert(state.name.clone(), id.clone());
    }

    /// Adds a state to the graph after its parent and the states that are older.
    fn insert_by_age(&mut self, state: State) {
        let is_above =
            |other: &State| Some(&other.id) == state.parent.as_ref() || other.created_at <= state.created_at;
        let at = self.states.values().rposition(is_above).map_or(self.states.len(), |at| at + 1);
        self.states.shift_insert(at, state.id.clone(), state);
    }

    /// Moves runs that `is_wanted` from the trash into the graph, if the graph has the state that
    /// they left, or else what they ran against. A run comes after the run whose state it ran
    /// against.
    fn take_runs(&mut self, is_wanted: impl Fn(&Run) -> bool) -> Vec<Run> {
        let wanted = self.trash.runs.values().filter(|run| is_wanted(run));
        let mut wanted: Vec<(usize, ExecId)> =
            wanted.map(|run| (self.place_of_base(run), run.exec_id.clone())).collect();
        wanted.sort_by_key(|(place, _)| *place);
        let mut taken = Vec::new();
        for (_, id) in wanted {
            let fits = self.trash.runs.get(&id).is_some_and(|run| match (&run.state, &run.on) {
                (Some(state), _) | (None, Base::State(state)) => self.states.contains_key(state),
                (None, Base::Run(earlier)) => self.runs.contains_key(earlier),
                (None, Base::Name(_)) => false,
            });
            if let Some(run) = fits.then(|| self.trash.runs.shift_remove(&id)).flatten() {
                let run = Run { deleted_at: None, ..run };
                self.runs.insert(id, run.clone());
                taken.push(run);
            }
        }
        taken
    }

    /// The index of the state that a deleted run ran against; the greatest number if it has none.
    fn place_of_base(&self, run: &Run) -> usize {
        let left_by = |run| self.runs.get(run).or_else(|| self.trash.runs.get(run))?.state.as_ref();
        let base = match &run.on {
            Base::State(state) => Some(state),
            Base::Run(earlier) => left_by(earlier),
            Base::Name(_) => None,
        };
        base.and_then(|state| self.states.get_index_of(state)).unwrap_or(usize::MAX)
    }

    /// Purges what has been in the trash for too long, and the oldest deletions if the trash is too
    /// large. Never purges the newest deletion for its size. Returns what was purged.
    pub fn trim_trash(&mut self, now_ms: f64) -> (Vec<StateId>, Vec<ExecId>) {
        let (mut states, mut runs) = (Vec::new(), Vec::new());
        let times = self.trash.times();
        for (i, at) in times.iter().enumerate() {
            let is_too_old = *at < now_ms - MAX_AGE_MS;
            if !is_too_old && (i + 1 == times.len() || !self.trash.is_too_large()) {
                break;
            }
            let (more_states, more_runs) = self.trash.purge(*at);
            states.extend(more_states);
            runs.extend(more_runs);
        }
        (states, runs)
    }

    /// Removes these states and runs from the trash.
    pub fn purge(&mut self, states: &[StateId], runs: &[ExecId]) {
        self.trash.states.retain(|id, _| !states.contains(id));
        self.trash.runs.retain(|id, _| !runs.contains(id));
        self.trash.drafts.retain(|draft| !states.contains(&draft.on));
    }

    /// Whether a run in the trash left a state.
    pub fn has_deleted_state_of(&self, id: &ExecId) -> bool {
        self.trash.runs.get(id).is_some_and(|run| run.state.is_some())
    }

    /// Purges a run that left no state from the trash, with the runs that had waited for it.
    /// Returns what was purged.
    pub fn purge_attempt(&mut self, id: &ExecId) -> Vec<ExecId> {
        if !self.trash.runs.contains_key(id) {
            return Vec::new();
        }
        let mut purged = IndexSet::from([id.clone()]);
        let mut found = 0;
        while found < purged.len() {
            found = purged.len();
            for (id, run) in &self.trash.runs {
                if matches!(&run.on, Base::Run(earlier) if purged.contains(earlier)) {
                    purged.insert(id.clone());
                }
            }
        }
        let purged = Vec::from_iter(purged);
        self.purge(&[], &purged);
        purged
    }

    /// Purges the whole trash. Deleted states that are still in the graph stay there. Returns what
    /// was purged.
    pub fn empty_trash(&mut self) -> (Vec<StateId>, Vec<ExecId>) {
        self.trash.purge(f64::MAX)
    }
}

fn base_of(on: &Base) -> Option<&StateId> {
    if let Base::State(state) = on { Some(state) } else { None }
}

fn deletion_at(all: &mut Vec<Deletion>, at: f64) -> &mut Deletion {
    let found = all.iter().position(|deletion| deletion.at == at).unwrap_or_else(|| {
        all.push(Deletion { at, states: Vec::new(), runs: Vec::new() });
        all.len() - 1
    });
    &mut all[found]
}
