//! The graph of states, with the runs and drafts that are attached to it.
//!
//! Invariants: the root always exists; a parent is added before its children; a name refers to at
//! most one state; a deleted state stays in the graph only while it has descendants.

use super::{
    Base, DiskStatus, Draft, DraftId, ExecId, PlacedDraft, Residency, Run, Saving, State, StateId,
    TaskCheckpoint,
};
use indexmap::IndexMap;
use std::collections::{HashMap, HashSet};

/// A notebook: states, the names by which clients know them, runs and drafts.
#[derive(Clone, Debug)]
pub struct Notebook {
    name: String,
    states: IndexMap<StateId, State>,
    names: IndexMap<String, StateId>,
    runs: IndexMap<ExecId, Run>,
    /// Runs that leave neither a state nor a record. Each run is removed when it ends.
    passing: IndexMap<ExecId, Run>,
    drafts: Vec<Draft>,
    tasks: IndexMap<String, Vec<TaskCheckpoint>>,
    disk_status: Option<DiskStatus>,
    saves_by_itself: bool,
}

/// The content of a notebook, as the store keeps it.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The notebook's name.
    pub name: String,
    /// States in creation order: every parent comes before its children.
    pub states: Vec<State>,
    /// Names with their states, in the order in which they were first given.
    pub names: Vec<(String, StateId)>,
    /// Runs in the order in which they were requested.
    pub runs: Vec<Run>,
    /// Drafts. The drafts of one state are in order.
    pub drafts: Vec<Draft>,
    /// The checkpoints of tasks. The checkpoints of one task are in order.
    pub tasks: Vec<TaskCheckpoint>,
}

impl Notebook {
    /// A notebook with nothing but its root.
    pub fn new(name: impl Into<String>, now_ms: f64) -> Self {
        let root = State::new(StateId::root(), None, None, now_ms);
        Self {
            name: name.into(),
            names: IndexMap::from([(root.name.clone(), root.id.clone())]),
            states: IndexMap::from([(root.id.clone(), root)]),
            runs: IndexMap::new(),
            passing: IndexMap::new(),
            drafts: Vec::new(),
            tasks: IndexMap::new(),
            disk_status: None,
            saves_by_itself: false,
        }
    }

    /// Builds a notebook from stored content. Leaves out contradictions: a state without its
    /// parent, a name or draft of a missing state. Adds a root if there is none.
    pub fn from_parts(parts: Parts, now_ms: f64) -> Self {
        let mut notebook = Self::new(parts.name, now_ms);
        for state in parts.states {
            match &state.parent {
                None if state.id == StateId::root() => {}
                Some(parent) if notebook.states.contains_key(parent) && state.id != StateId::root() => {}
                _ => continue,
            }
            notebook.states.insert(state.id.clone(), state);
        }
        let is_named = |notebook: &Self, id: &StateId| {
            notebook.state(id).is_some_and(|s| s.residency != Residency::Deleted)
        };
        if !parts.names.is_empty() {
            notebook.names.clear();
        }
        for (name, id) in parts.names {
            if is_named(&notebook, &id) {
                notebook.names.insert(name, id);
            }
        }
        for run in parts.runs {
            notebook.runs.insert(run.exec_id.clone(), run);
        }
        notebook.drafts = parts.drafts.into_iter().filter(|d| notebook.states.contains_key(&d.on)).collect();
        // Drafts of earlier versions of the format have no version.
        notebook.drafts.iter_mut().for_each(|draft| draft.version = draft.version.max(1));
        for task in parts.tasks {
            notebook.add_task(task);
        }
        notebook
    }

    /// The notebook's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// States in creation order, including deleted ones that still have descendants.
    pub fn states(&self) -> impl DoubleEndedIterator<Item = &State> {
        self.states.values().inspect(|_| seen())
    }

    /// Names in the order in which they were first given. A name that moves to another state keeps
    /// its place, as a key in a Python dict.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// Names with their states, in the order of `names`.
    pub fn named(&self) -> impl Iterator<Item = (&str, &StateId)> {
        self.names.iter().map(|(name, id)| (name.as_str(), id))
    }

    /// Runs in the order in which they were requested.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = &Run> {
        self.runs.values().inspect(|_| seen())
    }

    /// Drafts. The drafts of one state are in order.
    pub fn drafts(&self) -> impl Iterator<Item = &Draft> {
        self.drafts.iter()
    }

    /// Whether a state's checkpoint exists, is due, or will not be written.
    #[must_use]
    pub fn outlook(&self, state: &State) -> Saving {
        let is_held = matches!(state.residency, Residency::Memory | Residency::Freezing);
        let never = |why: &str| Saving::Never { why: why.to_owned() };
        match &state.saving {
            Saving::Idle if state.checkpoint.is_some() => Saving::Done,
            Saving::Idle if state.id.is_root() => never("every process begins with this state"),
            Saving::Idle if !is_held => never("no process holds this state: replay it first"),
            Saving::Idle if self.saves_by_itself => Saving::Waiting,
            Saving::Idle => never("the server was started with --no-checkpoints: ask for one"),
            other => other.clone(),
        }
    }

    /// Sets whether checkpoints are written automatically.
    pub fn set_saves_by_itself(&mut self, saves: bool) {
        self.saves_by_itself = saves;
    }

    /// Why the disk cannot be written at present; `None` if it can be written.
    pub fn disk_status(&self) -> Option<&DiskStatus> {
        self.disk_status.as_ref()
    }

    /// Sets why the disk cannot be written at present.
    pub fn set_disk_status(&mut self, trouble: Option<DiskStatus>) {
        self.disk_status = trouble;
    }

    /// The checkpoints of a task in order; `None` if there is no such task.
    pub fn task(&self, task_id: &str) -> Option<&[TaskCheckpoint]> {
        self.tasks.get(task_id).map(Vec::as_slice)
    }

    /// All checkpoints of all tasks.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskCheckpoint> {
        self.tasks.values().flatten()
    }

    /// Adds a checkpoint to its task's sequence.
    pub fn add_task(&mut self, checkpoint: TaskCheckpoint) {
        self.tasks.entry(checkpoint.task_id.clone()).or_default().push(checkpoint);
    }

    /// Finds a state by id, deleted or not.
    pub fn state(&self, id: &StateId) -> Option<&State> {
        self.states.get(id)
    }

    /// Finds a state by id, to change it in place.
    pub fn state_mut(&mut self, id: &StateId) -> Option<&mut State> {
        self.states.get_mut(id)
    }

    /// Finds a run by id, including runs that leave no record.
    pub fn run(&self, id: &ExecId) -> Option<&Run> {
        self.runs.get(id).or_else(|| self.passing.get(id))
    }

    /// Finds a run by id, to change it in place.
    pub fn run_mut(&mut self, id: &ExecId) -> Option<&mut Run> {
        self.runs.get_mut(id).or_else(|| self.passing.get_mut(id))
    }

    /// Adds a run that leaves no record: `runs` does not contain it, and it is removed when it
    /// ends.
    pub fn add_passing(&mut self, run: Run) {
        self.passing.insert(run.exec_id.clone(), run);
    }

    /// Whether a run leaves no record.
    pub fn is_passing(&self, id: &ExecId) -> bool {
        self.passing.contains_key(id)
    }

    /// Removes a run that leaves no record.
    pub fn forget_passing(&mut self, id: &ExecId) {
        self.passing.shift_remove(id);
    }

    /// Finds a state by name or, if no state has the name, by id. Does not find deleted states.
    pub fn find(&self, text: &str) -> Option<&State> {
        let by_name = self.names.get(text).and_then(|id| self.states.get(id));
        by_name.or_else(|| self.states.get(&StateId::new(text))).filter(|s| s.residency != Residency::Deleted)
    }

    /// Adds a state, which takes over its name. Returns the state that had the name before.
    pub fn add_state(&mut self, state: State) -> Option<StateId> {
        debug_assert!(
            state.parent.as_ref().is_some_and(|p| self.states.contains_key(p)),
            "a child needs its parent"
        );
        let before = self.names.insert(state.name.clone(), state.id.clone());
        self.states.insert(state.id.clone(), state);
        let loser = before?;
        let earlier = self.states.get_mut(&loser)?;
        earlier.name = loser.as_str().to_owned();
        Some(loser)
    }

    /// Adds a requested run.
    pub fn add_run(&mut self, run: Run) {
        self.runs.insert(run.exec_id.clone(), run);
    }

    /// A state, its parent, and so on to the root.
    pub fn ancestry(&self, tip: &StateId) -> impl Iterator<Item = &State> {
        std::iter::successors(self.states.get(tip), |s| self.parent_of(s)).inspect(|_| seen())
    }

    /// The path from the root to a state, both included.
    pub fn lineage(&self, tip: &StateId) -> Vec<&State> {
        let mut line: Vec<&State> = self.ancestry(tip).collect();
        line.reverse();
        line
    }

    fn parent_of(&self, state: &State) -> Option<&State> {
        state.parent.as_ref().and_then(|id| self.states.get(id))
    }

    /// A state and its descendants, including deleted ones, in creation order; empty if there is no
    /// such state.
    pub fn subtree(&self, id: &StateId) -> Vec<StateId> {
        let mut found = indexmap::IndexSet::new();
        for state in self.states.values() {
            // Every parent comes before its children.
            if &state.id == id || state.parent.as_ref().is_some_and(|parent| found.contains(parent)) {
                found.insert(state.id.clone());
            }
        }
        found.into_iter().collect()
    }

    /// The children of a state, in creation order.
    pub fn children(&self, id: &StateId) -> impl Iterator<Item = &State> {
        self.states.values().filter(move |s| s.parent.as_ref() == Some(id))
    }

    /// Deletes a state. The state is removed from the graph or, while it has descendants, stays as
    /// a deleted node. Deleted ancestors that have no other descendants are removed too. Returns
    /// the removed states and runs, or `None` if there is no such state.
    pub fn delete_state(&mut self, id: &StateId) -> Option<(Vec<StateId>, Vec<ExecId>)> {
        let state = self.states.get_mut(id).filter(|s| s.residency != Residency::Deleted)?;
        state.residency = Residency::Deleted;
        if self.names.get(&state.name) == Some(id) {
            self.names.shift_remove(&state.name.clone());
        }
        self.drafts.retain(|d| &d.on != id);
        Some(self.forget_deleted(id))
    }

    /// Removes a deleted state that has neither children nor open runs, then its parent if the same
    /// is true of it, and so on. Returns the removed states and runs.
    pub fn forget_deleted(&mut self, id: &StateId) -> (Vec<StateId>, Vec<ExecId>) {
        let (mut states, mut runs) = (Vec::new(), Vec::new());
        let mut next = Some(id.clone());
        while let Some(id) = next.take() {
            let removable =
                self.states.get(&id).is_some_and(|s| s.residency == Residency::Deleted && s.parent.is_some());
            if !removable || self.children(&id).next().is_some() || self.has_open_runs(&id) {
                break;
            }
            runs.extend(self.attempts_on(&id));
            if let Some(state) = self.states.shift_remove(&id) {
                runs.extend(state.exec_id.clone());
                states.push(id);
                next = state.parent;
            }
        }
        for run in &runs {
            self.runs.shift_remove(run);
        }
        runs.extend(self.drop_stranded(&runs));
        (states, runs)
    }

    fn attempts_on(&self, id: &StateId) -> Vec<ExecId> {
        let on = Base::State(id.clone());
        self.runs.values().filter(|r| r.on == on && r.state.is_none()).map(|r| r.exec_id.clone()).collect()
    }

    fn has_open_runs(&self, id: &StateId) -> bool {
        let on = Base::State(id.clone());
        self.runs.values().any(|r| r.on == on && !r.status.has_ended())
    }

    /// Removes ended runs that had waited for the removed runs `gone`, directly or through other
    /// runs. Returns the ids of the runs that it removed.
    pub fn drop_stranded(&mut self, gone: &[ExecId]) -> Vec<ExecId> {
        let mut lost: indexmap::IndexSet<ExecId> = gone.iter().cloned().collect();
        // Each run comes after the run that it waited for.
        for run in self.runs.values().filter(|r| r.state.is_none() && r.status.has_ended()) {
            if matches!(&run.on, Base::Run(earlier) if lost.contains(earlier)) {
                lost.insert(run.exec_id.clone());
            }
        }
        let stranded: Vec<ExecId> = lost.into_iter().filter(|run| self.runs.contains_key(run)).collect();
        self.runs.retain(|id, _| !stranded.contains(id));
        stranded
    }

    /// Removes an ended run that left no state. Returns whether there was one.
    pub fn drop_attempt(&mut self, id: &ExecId) -> bool {
        let droppable = self.runs.get(id).is_some_and(|r| r.status.has_ended() && r.state.is_none());
        if droppable {
            self.runs.shift_remove(id);
        }
        droppable
    }

    /// Removes all states but the root, all runs and all drafts. Tasks keep their checkpoints.
    pub fn reset(&mut self, now_ms: f64) {
        let fresh = Self::new(std::mem::take(&mut self.name), now_ms);
        let before = std::mem::replace(self, fresh);
        (self.tasks, self.disk_status) = (before.tasks, before.disk_status);
        self.saves_by_itself = before.saves_by_itself;
    }

    /// The drafts at one place, in order: above the cell of the child `before` or, without it,
    /// after the state `on`.
    pub fn drafts_at(&self, on: &StateId, before: Option<&StateId>) -> Vec<Draft> {
        let is_there = |draft: &&Draft| draft.on == *on && self.child_below(draft) == before;
        self.drafts.iter().filter(is_there).cloned().collect()
    }

    /// All drafts by place; the drafts of one place are in order. For callers that need a whole
    /// lineage: `drafts_at` scans all drafts for each state.
    pub fn drafts_by_place(&self) -> HashMap<(&StateId, Option<&StateId>), Vec<&Draft>> {
        let mut places: HashMap<_, Vec<&Draft>> = HashMap::new();
        for draft in &self.drafts {
            places.entry((&draft.on, self.child_below(draft))).or_default().push(draft);
        }
        places
    }

    /// The child state above whose cell a draft is placed, if that state still exists.
    pub fn child_below<'a>(&self, draft: &'a Draft) -> Option<&'a StateId> {
        let is_child = |id: &&StateId| self.state(id).is_some_and(|s| s.parent.as_ref() == Some(&draft.on));
        draft.before.as_ref().filter(is_child)
    }

    /// Finds a draft by id.
    pub fn draft(&self, id: &DraftId) -> Option<&Draft> {
        self.drafts.iter().find(|d| &d.id == id)
    }

    /// The drafts of a state whose ids are in `chosen`, each with the draft that it follows.
    pub fn placed_drafts(&self, on: &StateId, chosen: &HashSet<DraftId>) -> Vec<PlacedDraft> {
        let (mut placed, mut after) = (Vec::new(), None::<&DraftId>);
        for draft in self.drafts.iter().filter(|d| d.on == *on) {
            if chosen.contains(&draft.id) {
                placed.push(PlacedDraft { draft: draft.clone(), after: after.cloned(), update: None });
            }
            after = Some(&draft.id);
        }
        placed
    }

    /// Replaces a draft in its place; false if its state has no draft with this id.
    pub fn change_draft(&mut self, draft: &Draft) -> bool {
        match self.drafts.iter_mut().find(|d| d.id == draft.id && d.on == draft.on) {
            Some(own) => {
                *own = draft.clone();
                true
            }
            None => false,
        }
    }

    /// Places a draft directly after another draft of its state, or before all of them.
    pub fn place_draft(&mut self, draft: Draft, after: Option<&DraftId>) {
        self.drafts.retain(|d| d.id != draft.id);
        let behind = after.and_then(|a| self.drafts.iter().position(|d| &d.id == a && d.on == draft.on));
        let at = match behind {
            Some(i) => i + 1,
            None => self.drafts.iter().position(|d| d.on == draft.on).unwrap_or(self.drafts.len()),
        };
        self.drafts.insert(at, draft);
    }

    /// Adds a draft after all others of its state.
    pub fn append_draft(&mut self, draft: Draft) {
        self.drafts.push(draft);
    }

    /// Removes a draft and returns it.
    pub fn remove_draft(&mut self, id: &DraftId) -> Option<Draft> {
        let at = self.drafts.iter().position(|d| &d.id == id)?;
        Some(self.drafts.remove(at))
    }
}

/// In tests, counts each state and run that an iteration visits. Tests check with this count that
/// the cost of a cell does not grow with the number of states and runs.
fn seen() {
    #[cfg(test)]
    SEEN.with(|seen| seen.set(seen.get() + 1));
}

#[cfg(test)]
thread_local! {
    /// Number of states and runs visited on this thread.
    pub(crate) static SEEN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
