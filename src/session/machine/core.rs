//! What all parts of the machine share: the notebook, its processes, the clock, and the effects of
//! this step.
//!
//! Also decides from which process branches of a state are forked (`source_of`). If the state has
//! no process, `source_of` makes one: it starts the root again, or makes a fork of the root load
//! the state's checkpoint.

use super::budget::Uses;
use super::lifecycle::hangs::{READY_TIMEOUT, START_TIMEOUT};
use super::processes::{Doing, Duty, Head, Origin, Processes};
use super::runs::Outcome;
use super::saving::Due;
use super::{Alarm, Effect, Ticket, not_found};
use crate::kernel::{Load, ProcId};
use crate::notebook::{
    Event, ExecId, Fact, Form, Live, Notebook, Reply, Residency, Saving, State, StateId, StateRef,
};
use crate::problem::{Kind, Problem};
use indexmap::IndexSet;
use std::collections::VecDeque;
use std::time::Duration;

/// How long a process may take to load a checkpoint. It may read gigabytes from a slow disk and
/// import libraries.
const LOAD_TIMEOUT: Duration = Duration::from_secs(600);

/// What one part of the machine asks of another. The machine does it before the step ends.
#[derive(Debug)]
pub(super) enum FollowUp {
    /// Begin a run at a state.
    Begin(ExecId, StateId),
    /// Begin a run at a state that was replayed for it.
    BeginReplayed(ExecId, StateId),
    /// Begin a run that has waited, if its state can still be run against.
    Resume(ExecId),
    /// End a run whose awaited process or load has failed.
    End(ExecId, Outcome),
    /// Write the next checkpoint, if it is time.
    SaveNext,
    /// A run against this state has ended without leaving a state. If this state was deleted and
    /// nothing else needs it, remove it from the graph.
    ForgetDeleted(StateId),
}

/// The notebook and what all parts share.
pub(super) struct Core {
    pub(super) notebook: Notebook,
    pub(super) processes: Processes,
    /// The runs that have not ended, in the order in which they were asked for.
    pub(super) open: IndexSet<ExecId>,
    /// When each state was last used.
    pub(super) uses: Uses,
    /// Which states still need a checkpoint.
    pub(super) due: Due,
    /// Limit of memory for loading an untrusted checkpoint, in bytes.
    max_untrusted_bytes: u64,
    pub(super) now_ms: f64,
    /// When a client last asked for a run, in milliseconds since the Unix epoch.
    pub(super) asked_ms: f64,
    /// When a run was last asked for or ended, in milliseconds since the Unix epoch.
    pub(super) run_ms: f64,
    new_id: Box<dyn FnMut() -> String + Send>,
    pub(super) effects: Vec<Effect>,
    follow_ups: VecDeque<FollowUp>,
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

    /// Asks something of another part.
    pub(super) fn follow_up(&mut self, follow_up: FollowUp) {
        self.follow_ups.push_back(follow_up);
    }

    pub(super) fn next_follow_up(&mut self) -> Option<FollowUp> {
        self.follow_ups.pop_front()
    }

    /// Publishes an event, unless it is about a passing run, which leaves nothing in the notebook.
    pub(super) fn publish(&mut self, event: impl Into<Event>) {
        let event = event.into();
        if event.run().is_some_and(|run| self.notebook.is_passing(run)) {
            return;
        }
        self.effects.push(Effect::Publish(Box::new(event)));
    }

    /// Publishes the current fields of a state.
    pub(super) fn publish_state(&mut self, id: &StateId) {
        if let Some(state) = self.notebook.state(id).cloned() {
            self.publish(Fact::StateChanged { state });
        }
    }

    pub(super) fn answer(&mut self, ticket: Ticket, reply: Reply) {
        self.effects.push(Effect::Answer(ticket, Box::new(reply)));
    }

    pub(super) fn answer_all(&mut self, tickets: Vec<Ticket>, reply: &Reply) {
        for ticket in tickets {
            self.answer(ticket, reply.clone());
        }
    }

    pub(super) fn wake(&mut self, after: Duration, alarm: Alarm) {
        self.effects.push(Effect::Wake(after, alarm));
    }

    /// The state that a request refers to.
    pub(super) fn resolve_state(&self, state: StateRef) -> Result<StateId, Problem> {
        match state {
            StateRef::Id(id) => Ok(id),
            StateRef::Name(name) => match self.notebook.find(&name) {
                Some(state) => Ok(state.id.clone()),
                None => Err(Problem::new(
                    Kind::NotFound,
                    format!("find state {name:?}"),
                    "no state has this name or id",
                    "see GET /states for the states that there are",
                )),
            },
        }
    }

    /// Changes a mutable property of a state.
    pub(super) fn change_state(&mut self, id: &StateId, change: impl FnOnce(&mut State)) -> Reply {
        let Some(state) = self.notebook.state_mut(id).filter(|s| s.residency != Residency::Deleted) else {
            return Reply::Refused(not_found("state", id));
        };
        change(state);
        self.publish_state(id);
        Reply::Done
    }

    /// Whether a state can be run against.
    pub(super) fn runnable(&self, id: &StateId) -> Result<(), Problem> {
        let state = self.notebook.state(id).filter(|s| s.residency != Residency::Deleted);
        let state = state.ok_or_else(|| not_found("state", id))?;
        // The root process can be started again.
        if state.residency.can_run() || state.parent.is_none() {
            return Ok(());
        }
        let how = "replay it: its cells run again from the nearest state that is whole";
        let why = match (&state.checkpoint, &state.saving) {
            (Some(_), Saving::Failed { why }) => format!("it has no process, and {why}"),
            (Some(_), _) => "it has no process, and its checkpoint could not be loaded".into(),
            (None, _) => "it has neither a process nor a checkpoint".into(),
        };
        Err(Problem::new(Kind::Lost, format!("run against state {id}"), why, how))
    }

    /// Whether branches of a state are forked from its process. If not, they come from its
    /// checkpoint.
    pub(super) fn forks(&self, state: &StateId) -> bool {
        self.notebook.state(state).is_none_or(|s| s.forks || s.fork_anyway)
    }

    /// Sets whether a state is in memory, on disk or lost, and publishes it.
    pub(super) fn set_residency(&mut self, id: &StateId, residency: Residency) {
        let Some(state) = self.notebook.state_mut(id).filter(|s| s.residency != Residency::Deleted) else {
            return;
        };
        if state.residency != residency {
            state.residency = residency;
            self.publish_state(id);
            self.note_may_be_due(id);
        }
    }

    /// Sets the progress of a state's checkpoint, and publishes it.
    pub(super) fn set_saving(&mut self, id: &StateId, saving: Saving) {
        if let Some(state) = self.notebook.state_mut(id)
            && state.saving != saving
        {
            state.saving = saving.clone();
            self.publish(Live::SavingChanged { state: id.clone(), saving });
            self.note_may_be_due(id);
        }
    }

    fn note_may_be_due(&mut self, id: &StateId) {
        if let Some(state) = self.notebook.state(id) {
            self.due.note(state);
        }
    }

    /// The warnings of a state, as the end of a sentence.
    pub(super) fn warnings_of(&self, state: &StateId) -> String {
        match self.notebook.state(state).map(|s| s.warnings.join("; ")) {
            Some(warnings) if !warnings.is_empty() => format!(". Its warnings: {warnings}"),
            _ => String::new(),
        }
    }
}

/// Where the processes of a state come from.
impl Core {
    /// Starts the root process.
    pub(super) fn spawn_root(&mut self) {
        self.processes.spawn_root(&mut self.effects);
    }

    /// Forks a process for a state, and sets the alarm that rings if the process is late.
    pub(super) fn spawn(&mut self, origin: Origin, duty: Duty, deadline: Duration) -> ProcId {
        self.processes.spawn(&mut self.effects, origin, duty, deadline)
    }

    /// The process from which branches of a state can be forked. Makes one if there is none;
    /// returns none if that is impossible.
    pub(super) fn source_of(&mut self, state: &StateId) -> Option<ProcId> {
        if state.is_root() && self.processes.root().is_none() {
            // A head may have frozen the root state meanwhile.
            self.processes.frozen(state).into_iter().for_each(|frozen| self.end(frozen));
            self.spawn_root();
        }
        if let Some(head) = self.processes.resting_at(state) {
            // The system may have refused to make the frozen process when the head arrived.
            self.ensure_frozen(head, state);
        }
        self.processes.frozen(state).or_else(|| self.load(state))
    }

    /// Makes a head fork the frozen process of the state at which it rests, unless there is one.
    /// Without it, the state would be lost when the head runs another cell.
    pub(super) fn ensure_frozen(&mut self, head: ProcId, state: &StateId) {
        if self.processes.frozen(state).is_none() {
            self.spawn(Origin::fork(head, state), Duty::Frozen, READY_TIMEOUT);
        }
    }

    /// Makes a fork of the root that loads a state's checkpoint and becomes the state's frozen
    /// process. None if the state is not on disk.
    pub(super) fn load(&mut self, state: &StateId) -> Option<ProcId> {
        if state.is_root() || self.notebook.state(state).is_none_or(|s| s.residency != Residency::Disk) {
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

    /// What a process loads to hold a state. From an untrusted checkpoint it loads only plain
    /// values.
    fn load_of(&self, state: &StateId) -> Option<Load> {
        let there = self.notebook.state(state).filter(|s| s.residency != Residency::Deleted)?;
        let checkpoint = there.checkpoint.as_ref()?;
        let form = if checkpoint.is_trusted { checkpoint.form } else { Form::Data };
        let max_bytes = (!checkpoint.is_trusted).then_some(self.max_untrusted_bytes);
        Some(Load { manifest: checkpoint.checkpoint_id.clone(), form, max_bytes })
    }

    /// Makes a head at a state, forked from the state's process. If the state has no process or its
    /// forks may hang, the head is forked from the root and loads the state's checkpoint. None if
    /// neither is possible.
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

    fn is_starting(&self, state: &StateId) -> bool {
        let is_new = |s: &State| s.residency == Residency::Freezing;
        state.is_root() && (self.processes.root().is_none() || self.notebook.state(state).is_some_and(is_new))
    }

    /// Starts to load a state if needed. Returns whether its branches have to wait until it is
    /// loaded: only then is it known whether loading has started threads, and a process with such
    /// threads must not be forked.
    pub(super) fn has_to_wait_until_loaded(&mut self, state: &StateId) -> bool {
        if self.forks(state) {
            self.load(state);
        }
        self.forks(state) && self.processes.is_being_loaded(state)
    }

    /// Whether branches of a state have to come from a checkpoint that is not written yet.
    pub(super) fn has_to_wait_for_its_checkpoint(&self, state: &StateId) -> bool {
        !self.forks(state) && self.load_of(state).is_none() && self.processes.frozen(state).is_some()
    }

    /// Whether a head is not ready yet because its state is being loaded.
    pub(super) fn is_loading(&self, head: ProcId) -> bool {
        self.processes.get(head).is_some_and(|process| process.is_loading)
            || self.processes.waits_for_a_load(head)
    }

    /// Notes that a head has left a state. If no other process holds the state, the state is now on
    /// disk or lost.
    pub(super) fn left(&mut self, id: &StateId) {
        if self.processes.frozen(id).is_some() || self.processes.has_head_at(id) {
            return;
        }
        let Some(state) = self.notebook.state_mut(id) else { return };
        (state.restored_from, state.memory_bytes) = (None, None);
        let is_on_disk = state.checkpoint.is_some() && !state.id.is_root();
        // A state whose checkpoint could not be loaded stays `Replay`.
        if state.residency != Residency::Replay {
            self.set_residency(id, if is_on_disk { Residency::Disk } else { Residency::Replay });
        }
    }

    /// Kills a process, and forgets it.
    pub(super) fn end(&mut self, process: ProcId) {
        self.processes.end(process, &mut self.effects);
    }

    /// Kills a head and forgets it.
    pub(super) fn discard(&mut self, head: ProcId) {
        self.effects.push(Effect::Kill(head));
        if self.processes.head(head).is_some()
            && let Some(process) = self.processes.remove(head)
        {
            self.left(&process.at);
        }
    }

    /// Kills a head that runs or is about to run a cell, unless the head's state may not be frozen
    /// yet, because that state would be lost.
    pub(super) fn kill_for_good(&mut self, head: ProcId) {
        if !self.may_have_to_freeze(head) {
            if let Some(head) = self.processes.head_mut(head) {
                head.is_killed = true;
            }
            self.effects.push(Effect::EndRun(head));
            self.effects.push(Effect::Kill(head));
        }
    }

    /// Whether a head that is about to run a cell may still have to fork the frozen process of its
    /// state.
    fn may_have_to_freeze(&self, head: ProcId) -> bool {
        let begins = self.processes.head(head).is_some_and(|h| matches!(h.doing, Doing::Begin(_)));
        let waiting_head = self.processes.get(head).filter(|process| begins && process.is_ready);
        let state = waiting_head.and_then(|process| self.notebook.state(&process.at));
        state.is_some_and(|s| s.residency == Residency::Freezing)
    }
}
