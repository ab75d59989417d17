//! The graph of states, with the runs and drafts that are attached to it.
//!
//! Invariants: the root always exists; a parent is added before its children; a name refers to at
//! most one state; a deleted state stays in the graph only while it has descendants or open runs.

mod trash;

use super::{
    Base, ChosenPython, DiskStatus, Draft, DraftId, ExecId, ImportedFile, OffsitePhase, OffsiteStatus,
    PlacedDraft, Python, Residency, Run, Saving, State, StateId, Sweep, SweepId, TaskCheckpoint,
};
use crate::problem::{Kind, Problem};
use indexmap::IndexMap;
use std::collections::{HashMap, HashSet};
pub use trash::{Deletion, Restored, Trash};

/// A notebook: states, the names by which clients know them, runs and drafts.
#[derive(Clone, Debug)]
pub struct Notebook {
    name: String,
    states: IndexMap<StateId, State>,
    names: IndexMap<String, StateId>,
    runs: IndexMap<ExecId, Run>,
    /// Runs that leave neither a state nor a record (`RunSpec::reads`). Each is removed when it
    /// ends.
    passing: IndexMap<ExecId, Run>,
    drafts: Vec<Draft>,
    tasks: IndexMap<String, Vec<TaskCheckpoint>>,
    python: Python,
    disk_status: Option<DiskStatus>,
    offsite: Option<OffsiteStatus>,
    saves_by_itself: bool,
    imported_file: Option<ImportedFile>,
    trash: Trash,
    sweeps: IndexMap<SweepId, Sweep>,
}

/// The content of a notebook as plain lists, for the store.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The notebook's name.
    pub name: String,
    /// States in creation order, also those in the trash: every parent comes before its children.
    pub states: Vec<State>,
    /// Names with their states, in the order in which the names were first used.
    pub names: Vec<(String, StateId)>,
    /// Runs in the order in which they were requested, also those in the trash.
    pub runs: Vec<Run>,
    /// All drafts, also those in the trash. The drafts of one state are in page order, from top to
    /// bottom.
    pub drafts: Vec<Draft>,
    /// All checkpoints of tasks. The checkpoints of one task are in order of their versions.
    pub tasks: Vec<TaskCheckpoint>,
    /// The Python that the notebook has chosen.
    pub python: Option<ChosenPython>,
    /// The file that the notebook was imported from.
    pub imported_file: Option<ImportedFile>,
    /// Sweeps in the order in which they began, with their rows.
    pub sweeps: Vec<Sweep>,
}

impl Notebook {
    /// A notebook that has only a root state.
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
            python: Python::default(),
            disk_status: None,
            offsite: None,
            saves_by_itself: false,
            imported_file: None,
            trash: Trash::default(),
            sweeps: IndexMap::new(),
        }
    }

    /// Builds a notebook from stored content. Leaves out inconsistent rows: a state without its
    /// parent, and a name or draft of a state that does not exist. Adds a root if there is none.
    pub fn from_parts(parts: Parts, now_ms: f64) -> Self {
        let mut notebook = Self::new(parts.name, now_ms);
        notebook.imported_file = parts.imported_file;
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
        notebook.drafts = parts.drafts;
        notebook.sort_out_trash();
        // Old versions of the file format stored drafts without a version number.
        notebook.drafts.iter_mut().for_each(|draft| draft.version = draft.version.max(1));
        for task in parts.tasks {
            notebook.add_task(task);
        }
        notebook.sweeps = parts.sweeps.into_iter().map(|sweep| (sweep.id.clone(), sweep)).collect();
        if let Some(ChosenPython { path, version }) = parts.python {
            notebook.python = Python { path, version, is_chosen: true, problem: None };
        }
        notebook
    }

    /// The notebook's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All states in creation order, including deleted ones that are still in the graph.
    pub fn states(&self) -> impl DoubleEndedIterator<Item = &State> {
        self.states.values().inspect(|_| seen())
    }

    /// Names in the order in which they were first used. A name that moves to another state keeps
    /// its position, like a key in a Python dict.
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

    /// All drafts. The drafts of one state are in page order, from top to bottom.
    pub fn drafts(&self) -> impl Iterator<Item = &Draft> {
        self.drafts.iter()
    }

    /// All sweeps, in the order in which they began.
    pub fn sweeps(&self) -> impl Iterator<Item = &Sweep> {
        self.sweeps.values()
    }

    /// A sweep.
    pub fn sweep(&self, id: &SweepId) -> Option<&Sweep> {
        self.sweeps.get(id)
    }

    /// A sweep, to change it.
    pub fn sweep_mut(&mut self, id: &SweepId) -> Option<&mut Sweep> {
        self.sweeps.get_mut(id)
    }

    /// Adds a sweep.
    pub fn add_sweep(&mut self, sweep: Sweep) {
        self.sweeps.insert(sweep.id.clone(), sweep);
    }

    /// Removes a sweep. Its runs and states stay.
    pub fn remove_sweep(&mut self, id: &SweepId) {
        self.sweeps.shift_remove(id);
    }

    /// The progress of a state's checkpoint. If no save is in progress, returns whether a
    /// checkpoint exists (`Done`), is due (`Waiting`) or will not be written (`Never`).
    #[must_use]
    pub fn outlook(&self, state: &State) -> Saving {
        let is_held = state.residency.is_in_memory();
        let never = |why: &str| Saving::Never { why: why.to_owned() };
        match &state.saving {
            Saving::Idle if state.checkpoint.is_some() => Saving::Done,
            Saving::Idle if state.id.is_root() => never("the first state is empty and needs no checkpoint"),
            Saving::Idle if !is_held => never("the state is not in memory: replay it first"),
            Saving::Idle if self.saves_by_itself => Saving::Waiting,
            Saving::Idle => {
                never("the server was started with --no-checkpoints: request a checkpoint for this state")
            }
            other => other.clone(),
        }
    }

    /// Sets whether checkpoints are written automatically.
    pub fn set_saves_by_itself(&mut self, saves: bool) {
        self.saves_by_itself = saves;
    }

    /// The Python that runs the cells.
    pub fn python(&self) -> &Python {
        &self.python
    }

    /// The file that the notebook was imported from; `None` after a reset.
    pub fn imported_file(&self) -> Option<&ImportedFile> {
        self.imported_file.as_ref()
    }

    /// The cell of the imported file that a draft comes from. Also finds drafts that became states:
    /// the runs of all versions of a cell name the same draft.
    pub fn imported_cell_of(&self, id: &DraftId) -> Option<u32> {
        self.imported_file.as_ref()?;
        let of_runs = || self.runs.values().find(|run| run.draft.as_ref() == Some(id));
        match self.draft(id) {
            Some(draft) => draft.imported_cell,
            None => of_runs()?.imported_cell,
        }
    }

    /// Sets the Python that runs the cells.
    pub fn set_python(&mut self, python: Python) {
        self.python = python;
    }

    /// The Python that the notebook has chosen; `None` if it uses the server's default.
    pub fn chosen_python(&self) -> Option<ChosenPython> {
        let Python { path, version, is_chosen, .. } = self.python.clone();
        is_chosen.then_some(ChosenPython { path, version })
    }

    /// Why the disk cannot be written at present; `None` if it can be written.
    pub fn disk_status(&self) -> Option<&DiskStatus> {
        self.disk_status.as_ref()
    }

    /// Sets why the disk cannot be written at present.
    pub fn set_disk_status(&mut self, trouble: Option<DiskStatus>) {
        self.disk_status = trouble;
    }

    /// The copy of the notebook in a store; `None` if the server has no store.
    pub fn offsite(&self) -> Option<&OffsiteStatus> {
        self.offsite.as_ref()
    }

    /// Sets what is known of the copy in a store.
    pub fn set_offsite(&mut self, offsite: OffsiteStatus) {
        self.offsite = Some(offsite);
    }

    /// Why the notebook may not be changed: another server writes its copy in the store.
    pub fn read_only(&self) -> Option<Problem> {
        let offsite = self.offsite.as_ref().filter(|offsite| offsite.phase == OffsitePhase::Held)?;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let what = format!("change the notebook {}", self.name);
        Some(Problem::new(Kind::Conflict, what, text(&offsite.why), text(&offsite.how)))
    }

    /// The checkpoints of a task, in order of their versions; `None` if there is no such task.
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

    /// Finds a state by id, including deleted states.
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

    /// Adds a state. If another state has the same name, the name moves to the new state, and the
    /// id of the other state is returned.
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

    /// Adds a run that leaves a record.
    pub fn add_run(&mut self, run: Run) {
        self.runs.insert(run.exec_id.clone(), run);
    }

    /// Iterates over a state, its parent, and so on, up to the root.
    pub fn ancestry(&self, tip: &StateId) -> impl Iterator<Item = &State> {
        std::iter::successors(self.states.get(tip), |s| self.parent_of(s)).inspect(|_| seen())
    }

    /// The state that a run ran against. `None` if the run that it waited for has left none, and
    /// while that is not known.
    pub fn state_under<'a>(&'a self, run: &'a Run) -> Option<&'a StateId> {
        match &run.on {
            Base::State(state) => Some(state),
            Base::Run(earlier) => self.run(earlier)?.state.as_ref(),
            Base::Name(_) => None,
        }
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
            // One pass finds all descendants: every parent comes before its children.
            if &state.id == id || state.parent.as_ref().is_some_and(|parent| found.contains(parent)) {
                found.insert(state.id.clone());
            }
        }
        found.into_iter().collect()
    }

    /// The states whose cells ran against a state or took variables of it, in creation order.
    pub fn dependents(&self, id: &StateId) -> impl Iterator<Item = &State> {
        self.states().filter(move |s| s.parent.as_ref() == Some(id) || s.taken_from.as_ref() == Some(id))
    }

    /// The children of a state, in creation order.
    pub fn children(&self, id: &StateId) -> impl Iterator<Item = &State> {
        self.states.values().filter(move |s| s.parent.as_ref() == Some(id))
    }

    /// Deletes a state. While the state has descendants or open runs, it stays in the graph as a
    /// deleted node. Otherwise it goes into the trash, and so do deleted ancestors whose last child
    /// is gone. `at` is the time of the deletion (`next_deletion`). Returns the states and runs
    /// that left the graph, or `None` if there is no such state.
    pub fn delete_state(&mut self, id: &StateId, at: f64) -> Option<(Vec<StateId>, Vec<ExecId>)> {
        let state = self.states.get_mut(id).filter(|s| s.residency != Residency::Deleted)?;
        (state.residency, state.deleted_at) = (Residency::Deleted, Some(at));
        if self.names.get(&state.name) == Some(id) {
            self.names.shift_remove(&state.name.clone());
        }
        let (drafts, others): (Vec<Draft>, Vec<Draft>) =
            std::mem::take(&mut self.drafts).into_iter().partition(|draft| &draft.on == id);
        self.drafts = others;
        self.trash.add_drafts(drafts);
        Some(self.forget_deleted(id))
    }

    /// Moves a deleted state into the trash if it has neither children nor open runs. Then does the
    /// same with the state's parent, and so on. Returns the states and runs that left the graph.
    pub fn forget_deleted(&mut self, id: &StateId) -> (Vec<StateId>, Vec<ExecId>) {
        let (mut states, mut runs) = (Vec::new(), Vec::new());
        let mut next = Some(id.clone());
        while let Some(id) = next.take() {
            let removable =
                self.states.get(&id).is_some_and(|s| s.residency == Residency::Deleted && s.parent.is_some());
            if !removable || self.children(&id).next().is_some() || self.has_open_runs(&id) {
                break;
            }
            let mut with_it = self.attempts_on(&id);
            if let Some(state) = self.states.shift_remove(&id) {
                with_it.extend(state.exec_id.clone());
                let at = state.deleted_at.unwrap_or(state.created_at);
                self.trash_runs(&with_it, at);
                with_it.extend(self.drop_stranded(&with_it, at));
                states.push(id);
                next = state.parent.clone();
                self.trash.add_state(state);
            }
            runs.extend(with_it);
        }
        (states, runs)
    }

    fn trash_runs(&mut self, runs: &[ExecId], at: f64) {
        for run in runs {
            if let Some(run) = self.runs.shift_remove(run) {
                self.trash.add_run(run, at);
            }
        }
    }

    fn attempts_on(&self, id: &StateId) -> Vec<ExecId> {
        let on = Base::State(id.clone());
        self.runs.values().filter(|r| r.on == on && r.state.is_none()).map(|r| r.exec_id.clone()).collect()
    }

    fn has_open_runs(&self, id: &StateId) -> bool {
        let on = Base::State(id.clone());
        self.runs.values().any(|r| r.on == on && !r.status.has_ended())
    }

    /// Moves ended runs that had waited for one of the deleted runs `gone`, directly or through
    /// other runs, into the trash. Returns their ids.
    fn drop_stranded(&mut self, gone: &[ExecId], at: f64) -> Vec<ExecId> {
        let mut lost: indexmap::IndexSet<ExecId> = gone.iter().cloned().collect();
        // One pass is enough: each run comes after the run that it waited for.
        for run in self.runs.values().filter(|r| r.state.is_none() && r.status.has_ended()) {
            if matches!(&run.on, Base::Run(earlier) if lost.contains(earlier)) {
                lost.insert(run.exec_id.clone());
            }
        }
        let stranded: Vec<ExecId> = lost.into_iter().filter(|run| self.runs.contains_key(run)).collect();
        self.trash_runs(&stranded, at);
        stranded
    }

    /// Moves an ended run that left no state into the trash, with the runs that had waited for it.
    /// `at` is the time of the deletion. Returns the ids of these runs; `None` if there is no such
    /// run.
    pub fn drop_attempt(&mut self, id: &ExecId, at: f64) -> Option<Vec<ExecId>> {
        self.runs.get(id).filter(|run| run.status.has_ended() && run.state.is_none())?;
        let mut runs = vec![id.clone()];
        self.trash_runs(&runs, at);
        runs.extend(self.drop_stranded(&runs, at));
        Some(runs)
    }

    /// Removes an ended run that left no state for good.
    pub fn remove_attempt(&mut self, id: &ExecId) {
        if self.runs.get(id).is_some_and(|run| run.status.has_ended() && run.state.is_none()) {
            self.runs.shift_remove(id);
        }
    }

    /// Removes all states except the root, all runs, all drafts and the trash. The checkpoints of
    /// tasks and the choice of Python stay.
    pub fn reset(&mut self, now_ms: f64) {
        let fresh = Self::new(std::mem::take(&mut self.name), now_ms);
        let before = std::mem::replace(self, fresh);
        (self.tasks, self.disk_status, self.python) = (before.tasks, before.disk_status, before.python);
        (self.saves_by_itself, self.offsite) = (before.saves_by_itself, before.offsite);
    }

    /// The drafts of the state `on` that are placed above the cell of its child `before`, from top
    /// to bottom, without edits of cells that ran. If `before` is `None`, the drafts that come last
    /// in the lineage.
    pub fn drafts_at(&self, on: &StateId, before: Option<&StateId>) -> Vec<Draft> {
        let is_there = |draft: &&Draft| {
            draft.on == *on && draft.instead_of.is_none() && self.child_below(draft) == before
        };
        self.drafts.iter().filter(is_there).cloned().collect()
    }

    /// All drafts, grouped by state and child as in `drafts_at`, from top to bottom. Callers that
    /// need a whole lineage use this function, because each call of `drafts_at` scans all drafts.
    pub fn drafts_by_place(&self) -> HashMap<(&StateId, Option<&StateId>), Vec<&Draft>> {
        let mut places: HashMap<_, Vec<&Draft>> = HashMap::new();
        for draft in self.drafts.iter().filter(|draft| draft.instead_of.is_none()) {
            places.entry((&draft.on, self.child_below(draft))).or_default().push(draft);
        }
        places
    }

    /// The child state above whose cell a draft is placed, if that state still exists.
    pub fn child_below<'a>(&self, draft: &'a Draft) -> Option<&'a StateId> {
        let is_child = |id: &&StateId| self.state(id).is_some_and(|s| s.parent.as_ref() == Some(&draft.on));
        draft.before.as_ref().filter(is_child)
    }

    /// The edit of a state's cell, if there is one.
    pub fn edit_of(&self, state: &StateId) -> Option<&Draft> {
        self.drafts.iter().find(|draft| draft.instead_of.as_ref() == Some(state))
    }

    /// All edits of cells that ran, by the states of the cells. Callers that need many of them use
    /// this function, because each call of `edit_of` scans all drafts.
    pub fn edits(&self) -> HashMap<&StateId, &Draft> {
        // Of several, the first counts, as in `edit_of`.
        self.drafts.iter().rev().filter_map(|draft| Some((draft.instead_of.as_ref()?, draft))).collect()
    }

    /// Finds a draft by id.
    pub fn draft(&self, id: &DraftId) -> Option<&Draft> {
        self.drafts.iter().find(|d| &d.id == id)
    }

    /// The drafts of a state whose ids are in `chosen`, each with the id of the draft before it.
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

    /// Replaces a draft without moving it. Returns false if the state `draft.on` has no draft with
    /// this id.
    pub fn change_draft(&mut self, draft: &Draft) -> bool {
        match self.drafts.iter_mut().find(|d| d.id == draft.id && d.on == draft.on) {
            Some(own) => {
                *own = draft.clone();
                true
            }
            None => false,
        }
    }

    /// Places a draft directly after the draft `after` of the same state. Without `after`, places
    /// it before all drafts of the state.
    pub fn place_draft(&mut self, draft: Draft, after: Option<&DraftId>) {
        self.trash.forget_draft(&draft.id);
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

/// In tests, counts each visited state and run. Tests use the count to check that the cost of
/// running a cell does not grow with the number of states and runs.
fn seen() {
    #[cfg(test)]
    SEEN.with(|seen| seen.set(seen.get() + 1));
}

#[cfg(test)]
thread_local! {
    /// Number of states and runs visited on this thread.
    pub(crate) static SEEN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
