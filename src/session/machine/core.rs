//! Data that all parts of the machine share: the notebook, its processes, the clock, and the
//! effects of the current step.
//!
//! Also decides which process the branches of a state are forked from (`source_of`). If the state
//! has no process, `source_of` creates one: it starts the root again, or forks the root and loads
//! the state's checkpoint in the fork.

use super::due::Due;
use super::duty::{Doing, Duty, Head};
use super::effect::{Alarm, Effect, Killed, Ticket};
use super::processes::{Origin, Processes};
use super::timeouts::{LOAD_TIMEOUT, READY_TIMEOUT, START_TIMEOUT};
use super::uses::Uses;
use crate::kernel::{Load, ProcId};
use crate::notebook::{
    Checkpoint, Digests, Event, ExecId, Fact, Form, Live, Notebook, Reply, Residency, RestoredFrom, Run,
    RunError, Saving, State, StateId, StateRef,
};
use crate::problem::{Kind, Problem};
use indexmap::IndexSet;
use std::collections::{HashSet, VecDeque};
use std::time::Duration;

/// A request of one part of the machine to another. The machine carries it out before the step
/// ends.
#[derive(Debug)]
pub(super) enum FollowUp {
    /// Begin a run at a state.
    Begin(ExecId, StateId),
    /// Begin a run at a state that was replayed for this run.
    BeginReplayed(ExecId, StateId),
    /// Begin a run that has waited, if the run's state can still be run against.
    Resume(ExecId),
    /// End a run because the process or load that it waited for has failed.
    Fail(ExecId, RunError),
    /// Write the next checkpoint if one is due and no cell is about to run.
    SaveNext,
    /// Tell the merges that wait for a state's digests.
    Digested(StateId, Result<Digests, Problem>),
    /// Give an answer to the part that has kept it (`Core::keep_answer`).
    Answered(Ticket, Box<Reply>),
    /// Remove this deleted state from the graph if nothing needs it any more. Requested when a run
    /// against the state has ended without leaving a state.
    ForgetDeleted(StateId),
}

/// The notebook and the data that all parts share.
pub(super) struct Core {
    pub(super) notebook: Notebook,
    pub(super) processes: Processes,
    /// The runs that have not ended, in the order in which they were requested.
    pub(super) open: IndexSet<ExecId>,
    /// When each state was last used.
    pub(super) uses: Uses,
    /// Which states still need a checkpoint.
    pub(super) due: Due,
    /// Maximum memory for loading an untrusted checkpoint, in bytes.
    max_untrusted_bytes: u64,
    pub(super) now_ms: f64,
    /// When a client last requested a run, in milliseconds since the Unix epoch.
    pub(super) asked_ms: f64,
    /// When a run was last requested or ended, in milliseconds since the Unix epoch.
    pub(super) run_ms: f64,
    new_id: Box<dyn FnMut() -> String + Send>,
    effects: Vec<Effect>,
    /// Whether runs can be sent to workers.
    pub(super) has_workers: bool,
    /// Whether runs that end leave their tasks to the workers: the notebook is being closed, or was
    /// just opened. The rows of sweeps go on when it is opened again.
    pub(super) keeps_tasks: bool,
    follow_ups: VecDeque<FollowUp>,
    /// The requests whose answers go to a part of the machine.
    kept_answers: HashSet<Ticket>,
}

impl Core {
    pub(super) fn new(
        notebook: Notebook,
        new_id: Box<dyn FnMut() -> String + Send>,
        due: Due,
        max_untrusted_bytes: u64,
    ) -> Self {
        Self {
            open: notebook.runs().filter(|r| !r.status.has_ended()).map(|r| r.exec_id.clone()).collect(),
            notebook,
            processes: Processes::default(),
            uses: Uses::default(),
            due,
            max_untrusted_bytes,
            now_ms: 0.0,
            asked_ms: 0.0,
            run_ms: 0.0,
            new_id,
            effects: Vec::new(),
            has_workers: false,
            keeps_tasks: false,
            kept_answers: HashSet::new(),
            follow_ups: VecDeque::new(),
        }
    }

    /// The core of an empty notebook.
    #[cfg(test)]
    pub(super) fn of_empty_notebook() -> Self {
        Self::new(Notebook::new("n", 0.0), Box::new(|| "s1".to_owned()), Due::new(false), u64::MAX)
    }

    /// Makes an id that no other state, run or draft has.
    pub(super) fn new_id(&mut self) -> String {
        (self.new_id)()
    }

    /// Adds a request to another part of the machine.
    pub(super) fn follow_up(&mut self, follow_up: FollowUp) {
        self.follow_ups.push_back(follow_up);
    }

    pub(super) fn next_follow_up(&mut self) -> Option<FollowUp> {
        self.follow_ups.pop_front()
    }

    /// Adds an effect to those of the current step.
    pub(super) fn emit(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// The effects of the current step, which ends.
    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Publishes an event, unless it belongs to a run that leaves no record.
    pub(super) fn publish(&mut self, event: impl Into<Event>) {
        let event = event.into();
        if event.run().is_some_and(|run| self.notebook.is_passing(run)) {
            return;
        }
        self.emit(Effect::Publish(Box::new(event)));
    }

    /// Adds a run that leaves a record, and publishes it. Purges what the trash has of an earlier
    /// run with the same id, which left no state (`Runs::ask`).
    pub(super) fn add_run(&mut self, run: Run) {
        let runs = self.notebook.purge_attempt(&run.exec_id);
        if !runs.is_empty() {
            self.publish(Fact::Removed { states: Vec::new(), runs, deleted_at: None });
        }
        self.notebook.add_run(run.clone());
        self.publish(Fact::RunAdded { run });
    }

    /// Publishes a state's current content.
    pub(super) fn publish_state(&mut self, id: &StateId) {
        if let Some(state) = self.notebook.state(id).cloned() {
            self.publish(Fact::StateChanged { state });
        }
    }

    /// Makes the answer to a request go to a part of the machine, once: the part answers the client
    /// later, or has asked itself.
    pub(super) fn keep_answer(&mut self, ticket: Ticket) {
        self.kept_answers.insert(ticket);
    }

    pub(super) fn answer(&mut self, ticket: Ticket, reply: Reply) {
        if self.kept_answers.remove(&ticket) {
            return self.follow_up(FollowUp::Answered(ticket, Box::new(reply)));
        }
        self.emit(Effect::Answer(ticket, Box::new(reply)));
    }

    pub(super) fn answer_all(&mut self, tickets: Vec<Ticket>, reply: &Reply) {
        for ticket in tickets {
            self.answer(ticket, reply.clone());
        }
    }

    pub(super) fn wake(&mut self, after: Duration, alarm: Alarm) {
        self.emit(Effect::Wake(after, alarm));
    }

    /// Adds a warning to a run, and publishes it.
    pub(super) fn warn_run(&mut self, exec_id: &ExecId, warning: String) {
        if let Some(run) = self.notebook.run_mut(exec_id) {
            run.warnings.push(warning.clone());
            self.publish(Fact::RunWarned { exec_id: exec_id.clone(), warning });
        }
    }

    /// Finds the state that a request refers to.
    pub(super) fn resolve_state(&self, state: StateRef) -> Result<StateId, Problem> {
        match state {
            StateRef::Id(id) => Ok(id),
            StateRef::Name(name) => match self.notebook.find(&name) {
                Some(state) => Ok(state.id.clone()),
                None => Err(Problem::new(
                    Kind::NotFound,
                    format!("find state {name:?}"),
                    "no state has this name or id",
                    "GET /states lists the states",
                )),
            },
        }
    }

    /// Changes a property of a state and publishes the state.
    pub(super) fn change_state(&mut self, id: &StateId, change: impl FnOnce(&mut State)) -> Reply {
        let Some(state) = self.notebook.state_mut(id).filter(|s| s.residency != Residency::Deleted) else {
            return Reply::Refused(not_found("state", id));
        };
        change(state);
        self.publish_state(id);
        Reply::Done
    }

    /// Returns an error if a state cannot be run against.
    pub(super) fn runnable(&self, id: &StateId) -> Result<(), Problem> {
        let state = self.notebook.state(id).filter(|s| s.residency != Residency::Deleted);
        let state = state.ok_or_else(|| not_found("state", id))?;
        // The root state needs no checkpoint: its process can be started again.
        if state.residency.can_run() || state.parent.is_none() {
            return Ok(());
        }
        let how = "replay the state: its cells run again from the nearest complete state";
        let why = match (&state.checkpoint, &state.saving) {
            (Some(_), Saving::Failed { why }) => format!("it has no process, and {why}"),
            (Some(_), _) => "it has no process, and its checkpoint could not be loaded".into(),
            (None, _) => "it has neither a process nor a checkpoint".into(),
        };
        Err(Problem::new(Kind::Lost, format!("run against state {id}"), why, how))
    }

    /// Whether branches of a state are forked from its process. If false, they load its checkpoint.
    pub(super) fn forks(&self, state: &StateId) -> bool {
        self.notebook.state(state).is_none_or(|s| s.forks || s.fork_anyway)
    }

    /// Sets whether a state is in memory, on disk or lost, and publishes the state.
    pub(super) fn set_residency(&mut self, id: &StateId, residency: Residency) {
        let now_ms = self.now_ms;
        let Some(state) = self.notebook.state_mut(id).filter(|s| s.residency != Residency::Deleted) else {
            return;
        };
        if state.residency != residency {
            state.move_to(residency, now_ms);
            self.publish_state(id);
            self.note_may_be_due(id);
        }
    }

    /// Sets the progress of a state's checkpoint, and publishes the progress.
    pub(super) fn set_saving(&mut self, id: &StateId, saving: Saving) {
        if let Some(state) = self.notebook.state_mut(id)
            && state.saving != saving
        {
            state.saving = saving.clone();
            self.publish(Live::SavingChanged { state: id.clone(), saving });
            self.note_may_be_due(id);
        }
    }

    /// Adds a state to those that need a checkpoint, if it needs one.
    pub(super) fn note_may_be_due(&mut self, id: &StateId) {
        if let Some(state) = self.notebook.state(id) {
            self.due.note(state);
        }
    }

    /// A text about a state's warnings to append to an error message; empty if there are none.
    pub(super) fn warnings_of(&self, state: &StateId) -> String {
        match self.notebook.state(state).map(|s| s.warnings.join("; ")) {
            Some(warnings) if !warnings.is_empty() => format!(". Warnings of the state: {warnings}"),
            _ => String::new(),
        }
    }
}

/// Creating and ending the processes of states.
impl Core {
    /// Starts the root process.
    pub(super) fn spawn_root(&mut self) {
        self.processes.spawn_root(&mut self.effects);
    }

    /// Forks a process for a state, and sets an alarm for the case that the process is late.
    pub(super) fn spawn(&mut self, origin: Origin, duty: Duty, deadline: Duration) -> ProcId {
        self.processes.spawn(&mut self.effects, origin, duty, deadline)
    }

    /// Returns the process from which branches of a state are forked. Creates one if there is none.
    /// Returns none if that is impossible.
    pub(super) fn source_of(&mut self, state: &StateId) -> Option<ProcId> {
        if state.is_root() && self.processes.root().is_none() {
            // A head may have frozen the root state in the meantime.
            self.processes.frozen(state).into_iter().for_each(|frozen| self.end(frozen));
            self.spawn_root();
        }
        if let Some(head) = self.processes.resting_at(state) {
            // The system may have refused to create the frozen process when the head arrived at the
            // state.
            self.ensure_frozen(head, state);
        }
        self.processes.frozen(state).or_else(|| self.load(state))
    }

    /// Makes a head fork the frozen process of the state at which it rests, if the state has none.
    /// Without a frozen process, the state would be lost when the head runs another cell.
    pub(super) fn ensure_frozen(&mut self, head: ProcId, state: &StateId) {
        if self.processes.frozen(state).is_none() {
            self.spawn(Origin::fork(head, state), Duty::Frozen, READY_TIMEOUT);
        }
    }

    /// Whether a state's variables exist only in its checkpoint.
    pub(super) fn is_on_disk(&self, state: &StateId) -> bool {
        self.notebook.state(state).is_some_and(|s| s.residency == Residency::Disk)
    }

    /// Forks the root and loads a state's checkpoint in the fork, which becomes the state's frozen
    /// process. None if the state is not on disk, or has such a process.
    pub(super) fn load(&mut self, state: &StateId) -> Option<ProcId> {
        // A head that rests at the state may be freezing it already.
        if state.is_root() || !self.is_on_disk(state) || self.processes.frozen(state).is_some() {
            return None;
        }
        let load = self.load_of(state)?;
        let root = self.source_of(&StateId::root())?;
        let origin = Origin { from: root, at: state.clone(), load: Some(load) };
        let frozen = self.spawn(origin, Duty::Frozen, LOAD_TIMEOUT);
        self.uses.note(state);
        self.set_residency(state, Residency::Freezing);
        Some(frozen)
    }

    /// Describes how a process loads a state's checkpoint. Only plain values are loaded from an
    /// untrusted checkpoint.
    fn load_of(&self, state: &StateId) -> Option<Load> {
        let there = self.notebook.state(state).filter(|s| s.residency != Residency::Deleted)?;
        let checkpoint = there.checkpoint.as_ref()?;
        if there.restored_from == Some(RestoredFrom::Replay) && !self.is_loadable(checkpoint) {
            // The process of the state holds objects that this Python cannot load from the
            // checkpoint.
            return None;
        }
        let form = if checkpoint.is_trusted { checkpoint.form } else { Form::Data };
        let max_bytes = (!checkpoint.is_trusted).then_some(self.max_untrusted_bytes);
        Some(Load { manifest: checkpoint.checkpoint_id.clone(), form, max_bytes })
    }

    /// Whether the notebook's Python may load the pickled objects of a checkpoint.
    pub(super) fn is_loadable(&self, checkpoint: &Checkpoint) -> bool {
        checkpoint.is_loadable_by(self.notebook.python())
    }

    /// Makes a head at a state by a fork of the state's process. If the state has no process, or
    /// its forks may hang, the head is a fork of the root that loads the state's checkpoint. None
    /// if neither is possible.
    pub(super) fn branch(&mut self, state: &StateId, doing: Doing) -> Option<ProcId> {
        let is_there = self.processes.frozen(state).is_some() && !self.processes.is_being_loaded(state);
        let load = if self.forks(state) && is_there { None } else { self.load_of(state) };
        let (from, deadline) = match load {
            Some(_) => (self.source_of(&StateId::root())?, LOAD_TIMEOUT),
            None if self.is_starting(state) => (self.source_of(state)?, START_TIMEOUT),
            None => (self.source_of(state)?, READY_TIMEOUT),
        };
        let mut head = Head::new(doing);
        head.is_forked = load.is_none() && !state.is_root();
        Some(self.spawn(Origin { from, at: state.clone(), load }, Duty::Head(head), deadline))
    }

    /// Whether a state is the root and its process has not started.
    pub(super) fn is_starting(&self, state: &StateId) -> bool {
        let is_new = |s: &State| s.residency == Residency::Freezing;
        state.is_root() && (self.processes.root().is_none() || self.notebook.state(state).is_some_and(is_new))
    }

    /// Begins to load a state if needed, before a branch is forked from it. Returns whether the
    /// branch has to wait until the state is loaded. Loading may start threads; a process with such
    /// threads must not be forked, and this is known only after loading.
    pub(super) fn load_before_forking(&mut self, state: &StateId) -> bool {
        if self.forks(state) {
            self.load(state);
        }
        self.forks(state) && self.processes.is_being_loaded(state)
    }

    /// Whether branches of a state need a checkpoint that is not written yet.
    pub(super) fn has_to_wait_for_its_checkpoint(&self, state: &StateId) -> bool {
        !self.forks(state) && self.load_of(state).is_none() && self.processes.frozen(state).is_some()
    }

    /// Whether a head is not ready because a state is being loaded, in the head or in the process
    /// that the head is forked from.
    pub(super) fn is_loading(&self, head: ProcId) -> bool {
        self.processes.get(head).is_some_and(|process| process.is_loading)
            || self.processes.waits_for_a_load(head)
    }

    /// Notes that a head is no longer at a state. If no other process holds the state, the state is
    /// now on disk or lost.
    pub(super) fn left(&mut self, id: &StateId) {
        if self.processes.frozen(id).is_some() || self.processes.has_head_at(id) {
            return;
        }
        let Some(state) = self.notebook.state_mut(id) else { return };
        state.forget_process();
        let is_on_disk = state.checkpoint.is_some() && !state.id.is_root();
        // A state whose checkpoint could not be loaded keeps the residency `Replay`.
        if state.residency != Residency::Replay {
            self.set_residency(id, if is_on_disk { Residency::Disk } else { Residency::Replay });
        }
    }

    /// Kills a process.
    pub(super) fn kill(&mut self, process: ProcId, why: Killed) {
        self.emit(Effect::Kill(process, why));
    }

    /// Kills a held head and forgets it.
    pub(super) fn end_held(&mut self, process: ProcId) {
        self.processes.end_held(process, &mut self.effects);
    }

    /// Kills a process and forgets it.
    pub(super) fn end(&mut self, process: ProcId) {
        self.processes.end(process, &mut self.effects);
    }

    /// Kills a head and forgets it.
    pub(super) fn discard(&mut self, head: ProcId) {
        self.kill(head, Killed::NotNeeded);
        if self.processes.head(head).is_some()
            && let Some(process) = self.processes.remove(head)
        {
            self.left(&process.at);
        }
    }

    /// Kills a head that runs or is about to run a cell. The head is not killed while it may be the
    /// only process that holds its state, because the state would be lost.
    pub(super) fn kill_for_good(&mut self, head: ProcId) {
        if !self.may_have_to_freeze(head) {
            if let Some(head) = self.processes.head_mut(head) {
                head.is_killed = true;
            }
            self.emit(Effect::EndRun(head));
            self.kill(head, Killed::RunStopped);
        }
    }

    /// Whether a head that is about to run a cell may first have to fork the frozen process of its
    /// state.
    fn may_have_to_freeze(&self, head: ProcId) -> bool {
        let begins = self.processes.head(head).is_some_and(|h| matches!(h.doing, Doing::Begin(_)));
        let waiting_head = self.processes.get(head).filter(|process| begins && process.is_ready);
        let state = waiting_head.and_then(|process| self.notebook.state(&process.at));
        state.is_some_and(|s| s.residency == Residency::Freezing)
    }
}

/// The refusal of a request that names something that the notebook does not have.
pub(super) fn not_found(kind: &str, id: impl std::fmt::Display) -> Problem {
    Problem::new(
        Kind::NotFound,
        format!("find {kind} {id}"),
        "this notebook has none with this id",
        "reload the notebook",
    )
}
