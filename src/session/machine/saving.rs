//! When checkpoints are written: one at a time, newest first, and only when nobody is waiting for a
//! cell.
//!
//! A throw-away fork of the frozen process writes it (`Role::Save`), so the state is never touched
//! and nothing waits. A written checkpoint becomes part of the notebook when the store reports
//! that.

use super::processes::{Duty, Origin};
use super::{Alarm, Effect, Machine, Ticket, not_found};
use crate::kernel::{Contents, ProcId};
use crate::notebook::{
    Checkpoint, DiskStatus, ExecId, Form, Live, Notebook, Reply, Residency, RestoredFrom, Saving, State,
    StateId,
};
use crate::problem::{Kind, Problem};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// How long nobody must have asked for a run before a checkpoint is begun: cells that follow each
/// other quickly are not slowed down, and of a quick series the last is saved first.
const REST: Duration = Duration::from_millis(300);
/// How long a checkpoint waits for such a moment at most, in milliseconds.
const MAX_WAIT_MS: f64 = 5000.0;
/// How long after a failure a checkpoint is tried again; each further time twice as long.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// How many times that doubles: up to some five minutes.
const MAX_DOUBLINGS: u32 = 6;
/// How long a saving process may be silent. It reports its progress many times a second; one that
/// hangs never does.
const STALL: Duration = Duration::from_secs(180);

/// A checkpoint that is to be written.
#[derive(Debug)]
struct Wish {
    state: StateId,
    form: Form,
    label: Option<String>,
    metadata: Map<String, Value>,
    tickets: Vec<Ticket>,
}

impl Wish {
    /// A checkpoint that no client asked for.
    fn by_itself(state: StateId) -> Self {
        Self { state, form: Form::Environment, label: None, metadata: Map::new(), tickets: Vec::new() }
    }
}

/// The checkpoint that is being written.
#[derive(Debug)]
struct Writing {
    wish: Wish,
    /// The process that writes it; none: it is written, and the store makes it part of the
    /// notebook.
    process: Option<ProcId>,
    heard_ms: f64,
}

/// What is saved, and what is to be.
#[derive(Debug, Default)]
pub(super) struct Saver {
    writing: Option<Writing>,
    wishes: VecDeque<Wish>,
    /// Whether the notebook is being closed: then there is no time to rest.
    pub(super) in_haste: bool,
    alarm_is_set: bool,
    asked_ms: f64,
    waiting_since_ms: Option<f64>,
    /// How often the checkpoint of a state has failed.
    failures: BTreeMap<StateId, u32>,
    /// Runs that wait for the checkpoint of a state that cannot be forked.
    runs: BTreeMap<StateId, Vec<ExecId>>,
}

impl Saver {
    /// Whether a process is busy with a state.
    pub(super) fn is_at(&self, state: &StateId) -> bool {
        self.writing.as_ref().is_some_and(|w| &w.wish.state == state)
    }

    /// Notes that a client asked for a run.
    pub(super) fn note_asked(&mut self, now_ms: f64) {
        self.asked_ms = now_ms;
    }
}

/// Which states lack a checkpoint.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// Whether checkpoints are written without being asked for.
    by_itself: bool,
    /// States that may have to be saved, the newest last. One that need not be is skipped when its
    /// turn comes.
    states: BTreeSet<(u64, StateId)>,
    /// States whose checkpoint could not be loaded: it is written anew when they are there again.
    broken: BTreeSet<StateId>,
}

impl Due {
    /// No state is due. With `by_itself`, checkpoints are written without being asked for.
    pub(super) fn new(by_itself: bool) -> Self {
        Self { by_itself, ..Self::default() }
    }

    /// Where a state lives, or what is done about its checkpoint, has changed.
    pub(super) fn note(&mut self, state: &State) {
        if self.by_itself && self.is_due(state) {
            // Positive numbers stand in the order of their bits.
            self.states.insert((state.created_at.to_bits(), state.id.clone()));
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

    /// The checkpoint of a state is written anew, or may be loaded after all.
    pub(super) fn forget_broken(&mut self, state: &StateId) {
        self.broken.remove(state);
    }

    fn is_due(&self, state: &State) -> bool {
        state.residency == Residency::Memory
            && (state.checkpoint.is_none() || self.is_broken(&state.id))
            && state.saving == Saving::Idle
            && !state.id.is_root()
    }

    fn newest(&mut self, notebook: &Notebook) -> Option<StateId> {
        while let Some((_, id)) = self.states.last() {
            if notebook.state(id).is_some_and(|state| self.is_due(state)) {
                return Some(id.clone());
            }
            self.states.pop_last();
        }
        None
    }

    fn is_any(&self, notebook: &Notebook) -> bool {
        self.states.iter().any(|(_, id)| notebook.state(id).is_some_and(|state| self.is_due(state)))
    }
}

impl Machine {
    /// A checkpoint is asked for. Answers at once only when there is nothing to wait for.
    pub(super) fn ask_checkpoint(
        &mut self,
        ticket: Ticket,
        id: &StateId,
        form: Form,
        label: Option<String>,
        metadata: Map<String, Value>,
    ) -> Option<Reply> {
        if let Err(refused) = self.core.runnable(id) {
            return Some(Reply::Refused(refused));
        }
        if let Some(trouble) = self.core.notebook.disk_status() {
            let (what, why, how) = (format!("save state {id}"), trouble.why.clone(), trouble.how.clone());
            return Some(Reply::Refused(Problem::new(Kind::Disk, what, why, how)));
        }
        if self.core.notebook.state(id).is_some_and(holds_values_only) {
            let why = "its checkpoint is not trusted, so only its values are loaded; saving those would \
                lose the rest";
            let how = "trust the notebook's checkpoints first, or save a state that grew from it";
            return Some(Reply::Refused(Problem::new(Kind::Conflict, format!("save state {id}"), why, how)));
        }
        let wish = Wish { state: id.clone(), form, label, metadata, tickets: vec![ticket] };
        let same = |w: &Wish| {
            &w.state == id && w.form == form && w.label == wish.label && w.metadata == wish.metadata
        };
        if let Some(known) = self.saver.wishes.iter_mut().find(|w| same(w)) {
            known.tickets.push(ticket);
            return None;
        }
        self.saver.wishes.push_back(wish);
        if !self.saver.is_at(id) {
            self.core.set_saving(id, Saving::Waiting);
        }
        self.save_next();
        None
    }

    /// A run has to wait for the checkpoint of its state.
    pub(super) fn wait_for_checkpoint(&mut self, exec_id: &ExecId, state: &StateId) {
        self.saver.runs.entry(state.clone()).or_default().push(exec_id.clone());
        let is_wished = self.saver.is_at(state) || self.saver.wishes.iter().any(|w| &w.state == state);
        if !is_wished {
            self.saver.wishes.push_front(Wish::by_itself(state.clone()));
        }
        match self.core.notebook.disk_status().cloned() {
            Some(trouble) => self.refuse_wishes(&trouble),
            None => self.save_next(),
        }
    }

    /// Nothing can be written: all waiting wishes are refused.
    fn refuse_wishes(&mut self, trouble: &DiskStatus) {
        for wish in std::mem::take(&mut self.saver.wishes) {
            self.refuse_wish(wish, &trouble.why);
        }
    }

    /// Begins the next checkpoint, when there is one and it is time.
    pub(super) fn save_next(&mut self) {
        while self.saver.writing.is_none() && self.core.notebook.disk_status().is_none() {
            if let Some(wish) = self.saver.wishes.pop_front() {
                self.begin_saving(wish);
                continue;
            }
            let Some(state) = self.core.due.newest(&self.core.notebook) else {
                self.saver.waiting_since_ms = None;
                return;
            };
            if !self.is_time_to_save() {
                return self.wake_to_save();
            }
            self.begin_saving(Wish::by_itself(state));
        }
    }

    fn is_time_to_save(&mut self) -> bool {
        let since = *self.saver.waiting_since_ms.get_or_insert(self.core.now_ms);
        let rested = self.core.now_ms - self.saver.asked_ms >= REST.as_secs_f64() * 1000.0;
        self.saver.in_haste
            || rested
            || self.core.now_ms - since >= MAX_WAIT_MS
            || self.memory.is_over_budget(&self.core, &self.held)
    }

    fn wake_to_save(&mut self) {
        if !self.saver.alarm_is_set {
            self.saver.alarm_is_set = true;
            self.core.wake(REST, Alarm::Save);
        }
    }

    /// The moment of rest may have come.
    pub(super) fn time_to_save(&mut self) {
        self.saver.alarm_is_set = false;
        self.save_next();
    }

    fn begin_saving(&mut self, wish: Wish) {
        let state = wish.state.clone();
        if self.has_what_is_wished(&wish) {
            return;
        }
        let source = match self.core.runnable(&state) {
            Ok(()) => self.core.source_of(&state),
            Err(_) => None,
        };
        let Some(source) = source else {
            return self.refuse_wish(wish, "the state has no process that could be saved");
        };
        let duty = Duty::Saving(wish.form);
        let process = self.core.spawn(Origin::fork(source, &state), duty, STALL);
        self.saver.waiting_since_ms = None;
        self.saver.writing = Some(Writing { wish, process: Some(process), heard_ms: self.core.now_ms });
        self.core.set_saving(&state, Saving::Writing { percent: 0 });
    }

    /// A state is immutable: what has been saved is not written again, only called otherwise.
    fn has_what_is_wished(&mut self, wish: &Wish) -> bool {
        let saved = self.core.notebook.state(&wish.state).and_then(|s| s.checkpoint.clone());
        let is_good =
            |c: &Checkpoint| c.form == wish.form && c.is_trusted && !self.core.due.is_broken(&wish.state);
        let Some(mut checkpoint) = saved.filter(is_good) else {
            return false;
        };
        self.core.set_saving(&wish.state, Saving::Idle);
        if wish.label.is_some() || !wish.metadata.is_empty() {
            (checkpoint.label, checkpoint.metadata) = (wish.label.clone(), wish.metadata.clone());
            self.keep_checkpoint(&wish.state, checkpoint);
            let tickets = wish.tickets.clone();
            let wish =
                Wish { metadata: Map::new(), label: None, tickets, state: wish.state.clone(), ..*wish };
            self.saver.writing = Some(Writing { wish, process: None, heard_ms: self.core.now_ms });
        } else {
            let reply = Reply::Checkpointed { checkpoint: Box::new(checkpoint) };
            self.core.answer_all(wish.tickets.clone(), &reply);
        }
        true
    }

    fn keep_checkpoint(&mut self, state: &StateId, about: Checkpoint) {
        let parent = self.core.notebook.state(state).and_then(|s| s.parent.clone());
        self.core.effects.push(Effect::Keep { state: state.clone(), parent, about: Box::new(about) });
    }

    /// A saving process says how far it is.
    pub(super) fn saving(&mut self, process: ProcId, percent: u8) {
        let now_ms = self.core.now_ms;
        if let Some(writing) = self.saver.writing.as_mut().filter(|w| w.process == Some(process)) {
            writing.heard_ms = now_ms;
            let state = writing.wish.state.clone();
            self.core.set_saving(&state, Saving::Writing { percent: percent.min(100) });
        }
    }

    /// A saving process has written everything.
    pub(super) fn written(&mut self, process: ProcId, contents: Contents) {
        let Some(writing) = self.saver.writing.as_mut().filter(|w| w.process == Some(process)) else {
            return;
        };
        // It exits by itself.
        writing.process = None;
        self.core.processes.remove(process);
        let (state, form) = (writing.wish.state.clone(), writing.wish.form);
        let (label, metadata) = (writing.wish.label.clone(), writing.wish.metadata.clone());
        let (parent_checkpoint, total_execution_time_ms) = self.before_saved(&state);
        let about = Checkpoint {
            checkpoint_id: contents.manifest,
            notebook_id: String::new(),
            state_id: state.clone(),
            form,
            created_at: self.core.now_ms,
            label,
            metadata,
            namespace_size_bytes: contents.namespace_bytes,
            compressed_size_bytes: contents.stored_bytes,
            new_bytes: contents.new_bytes,
            compression_ratio: contents.namespace_bytes as f64 / contents.stored_bytes.max(1) as f64,
            entry_count: contents.entry_count,
            includes_source: contents.includes_source,
            parent_checkpoint,
            execution_count: self.core.notebook.state(&state).map_or(0, |s| s.exec_count),
            total_execution_time_ms,
            missing: contents.missing,
            is_trusted: true,
        };
        self.keep_checkpoint(&state, about);
    }

    /// The checkpoint of the nearest ancestor that has one, and how long all cells of the lineage
    /// ran: those up to there were counted when that was written.
    fn before_saved(&self, id: &StateId) -> (Option<String>, f64) {
        let mut total_ms = 0.0;
        for state in self.core.notebook.ancestry(id) {
            if let Some(checkpoint) = state.checkpoint.as_ref().filter(|_| &state.id != id) {
                let before = checkpoint.total_execution_time_ms;
                return (Some(checkpoint.checkpoint_id.clone()), total_ms + before);
            }
            let run = state.exec_id.as_ref().and_then(|run| self.core.notebook.run(run));
            total_ms += run.and_then(|run| run.duration_ms).unwrap_or_default();
        }
        (None, total_ms)
    }

    /// The store has made a checkpoint part of the notebook, or could not.
    pub(super) fn kept(&mut self, id: &StateId, kept: Result<Box<Checkpoint>, String>) {
        let checkpoint = match kept {
            Ok(checkpoint) => checkpoint,
            Err(why) => {
                self.adopted(id, Err(&why));
                return self.not_saved(id, &why);
            }
        };
        if let Some(state) = self.core.notebook.state_mut(id) {
            // A data-only checkpoint beside a whole one does not replace it.
            if checkpoint.form == Form::Environment || state.checkpoint.is_none() {
                state.checkpoint = Some((*checkpoint).clone());
            }
            state.saving = Saving::Idle;
            if state.residency == Residency::Replay {
                state.residency = Residency::Disk;
            }
            self.core.publish_state(id);
        }
        self.saver.failures.remove(id);
        self.core.due.forget_broken(id);
        self.core.note_may_go(id);
        if let Some(writing) = self.saver.writing.take_if(|w| &w.wish.state == id && w.process.is_none()) {
            self.core.answer_all(writing.wish.tickets, &Reply::Checkpointed { checkpoint });
        }
        self.adopted(id, Ok(()));
        for run in self.saver.runs.remove(id).unwrap_or_default() {
            self.begin(&run, id);
        }
        self.live_within_budget();
        self.save_next();
    }

    /// The checkpoint that was being written for a state will not be. The state is unharmed.
    fn not_saved(&mut self, id: &StateId, why: &str) {
        if let Some(writing) = self.saver.writing.take_if(|w| &w.wish.state == id) {
            writing.process.into_iter().for_each(|process| self.core.end(process));
            self.refuse_wish(writing.wish, why);
            let failures = self.saver.failures.entry(id.clone()).or_default();
            let after = AGAIN_AFTER * 2_u32.pow((*failures).min(MAX_DOUBLINGS));
            *failures += 1;
            self.core.wake(after, Alarm::SaveAgain(id.clone()));
        }
        self.save_next();
    }

    /// What kept a checkpoint from being written may be over.
    pub(super) fn save_again(&mut self, id: &StateId) {
        let is_lacking = |s: &State| s.checkpoint.is_none() || self.core.due.is_broken(&s.id);
        let has_failed = |s: &State| matches!(s.saving, Saving::Failed { .. }) && is_lacking(s);
        if self.core.notebook.state(id).is_some_and(has_failed) {
            self.core.set_saving(id, Saving::Idle);
            self.save_next();
        }
    }

    fn refuse_wish(&mut self, wish: Wish, why: &str) {
        self.core.set_saving(&wish.state, Saving::Failed { why: why.to_owned() });
        let how = "the state itself is unharmed; try again, or look at what it holds";
        let refused = Problem::new(Kind::Disk, format!("save state {}", wish.state), why, how);
        self.core.answer_all(wish.tickets, &Reply::Refused(refused));
        for run in self.saver.runs.remove(&wish.state).unwrap_or_default() {
            let why = format!(
                "this state can only be branched from its checkpoint, and that could not be written: {why}. \
                 Its cells can be run again, or it can be forked all the same (in the state's menu)"
            );
            self.head_not_made(&run, &why);
        }
    }

    /// A saving process could not do it, or is gone.
    pub(super) fn saving_failed(&mut self, process: ProcId, why: &str) {
        if let Some(state) = self.saved_by(process) {
            self.not_saved(&state, why);
        }
    }

    /// The state that a process writes the checkpoint of.
    pub(super) fn saved_by(&self, process: ProcId) -> Option<StateId> {
        let writing = self.saver.writing.as_ref().filter(|w| w.process == Some(process));
        writing.map(|w| w.wish.state.clone())
    }

    /// A saving process may hang.
    pub(super) fn saving_stalled(&mut self, process: ProcId) {
        let Some(writing) = self.saver.writing.as_ref().filter(|w| w.process == Some(process)) else {
            return;
        };
        if self.core.now_ms - writing.heard_ms >= STALL.as_secs_f64() * 1000.0 {
            let why = format!(
                "nothing was written for {} s: a library in this state may not survive a fork",
                STALL.as_secs()
            );
            // It would most likely hang again, and the others would wait for it.
            let state = writing.wish.state.clone();
            self.saver.failures.insert(state, MAX_DOUBLINGS);
            self.saving_failed(process, &why);
        } else {
            self.core.wake(STALL, Alarm::Late(process));
        }
    }

    /// A state is deleted: nothing is written for it any longer.
    pub(super) fn stop_saving(&mut self, id: &StateId) {
        let gone = Reply::Refused(not_found("state", id));
        self.saver.failures.remove(id);
        self.core.due.forget_broken(id);
        let wishes = std::mem::take(&mut self.saver.wishes);
        let (theirs, others): (VecDeque<Wish>, _) = wishes.into_iter().partition(|w| &w.state == id);
        self.saver.wishes = others;
        for wish in theirs {
            self.core.answer_all(wish.tickets, &gone);
        }
        if let Some(writing) = self.saver.writing.take_if(|w| &w.wish.state == id) {
            writing.process.into_iter().for_each(|process| self.core.end(process));
            self.core.answer_all(writing.wish.tickets, &gone);
        }
        for run in self.saver.runs.remove(id).unwrap_or_default() {
            self.head_not_made(&run, "the state was deleted");
        }
    }

    /// All states but the root are forgotten.
    pub(super) fn stop_all_saving(&mut self) {
        let ids: Vec<StateId> = self.core.notebook.states().map(|s| s.id.clone()).collect();
        for id in ids {
            self.stop_saving(&id);
        }
    }

    /// Whether checkpoints are being written without being asked for.
    pub(super) fn is_saving(&self) -> bool {
        self.core.due.by_itself
            && self.core.notebook.disk_status().is_none()
            && (self.saver.writing.is_some() || self.core.due.is_any(&self.core.notebook))
    }

    /// Whether everything that could be saved is.
    pub(in crate::session) fn is_all_saved(&self) -> bool {
        self.saver.writing.is_none()
            && (self.core.notebook.disk_status().is_some() || !self.core.due.is_any(&self.core.notebook))
    }

    /// Something is wrong with the disk, or is no longer.
    pub(super) fn set_disk_status(&mut self, trouble: Option<DiskStatus>) {
        let is_over = trouble.is_none();
        self.core.notebook.set_disk_status(trouble.clone());
        self.core.publish(Live::DiskStatusChanged { disk_status: trouble.clone() });
        if let Some(trouble) = &trouble {
            self.refuse_wishes(trouble);
        }
        if is_over {
            let failed = |s: &&State| matches!(s.saving, Saving::Failed { .. });
            let again: Vec<StateId> =
                self.core.notebook.states().filter(failed).map(|s| s.id.clone()).collect();
            for state in again {
                self.core.set_saving(&state, Saving::Idle);
            }
            self.save_next();
        }
    }
}

/// Whether all that can be had of a state now is the values of a checkpoint that has more in it.
fn holds_values_only(state: &State) -> bool {
    let has_more = |c: &Checkpoint| !c.is_trusted && c.form == Form::Environment;
    let is_whole = matches!(state.residency, Residency::Memory | Residency::Freezing)
        && !matches!(state.restored_from, Some(RestoredFrom::Checkpoint { .. }));
    state.checkpoint.as_ref().is_some_and(has_more) && !is_whole
}
