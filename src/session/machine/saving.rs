//! Decides which state is saved when: one at a time, the newest first, while no client waits for a
//! cell.
//!
//! A throw-away fork of the state's frozen process writes the checkpoint (`Role::Save`), so the
//! state never changes and nothing waits for it. A written checkpoint becomes part of the notebook
//! when the store reports that it is kept.

use super::core::{Core, FollowUp};
use super::processes::{Duty, Origin};
use super::runs::Outcome;
use super::{Alarm, Effect, Ticket, not_found};
use crate::kernel::{Contents, ProcId};
use crate::notebook::{
    Checkpoint, DiskStatus, ExecId, Form, Live, Notebook, Reply, Residency, RestoredFrom, Saving, State,
    StateId,
};
use crate::problem::{Kind, Problem};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// How long no run must have been asked for before a checkpoint begins. So cells that follow each
/// other quickly are not slowed down, and the last of them is saved first.
const REST: Duration = Duration::from_millis(300);
/// How long a checkpoint waits at most for such a pause, in milliseconds.
const MAX_WAIT_MS: f64 = 5000.0;
/// How long after a failure a checkpoint is tried again. The time doubles with each failure.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// How many times that time doubles: up to some five minutes.
const MAX_DOUBLINGS: u32 = 6;
/// How long a saving process may be silent. Normally it reports its progress many times a second.
const STALL: Duration = Duration::from_secs(180);

/// A checkpoint that is to be written.
#[derive(Debug)]
struct SaveRequest {
    state: StateId,
    form: Form,
    label: Option<String>,
    metadata: Map<String, Value>,
    tickets: Vec<Ticket>,
}

impl SaveRequest {
    /// A checkpoint that no client asked for.
    fn by_itself(state: StateId) -> Self {
        Self { state, form: Form::Environment, label: None, metadata: Map::new(), tickets: Vec::new() }
    }
}

/// The checkpoint that is being written.
#[derive(Debug)]
struct Writing {
    request: SaveRequest,
    /// The process that writes the checkpoint. None once that is written, while the store makes the
    /// checkpoint part of the notebook.
    process: Option<ProcId>,
    heard_ms: f64,
}

/// Has checkpoints written, one at a time.
#[derive(Debug, Default)]
pub(super) struct Saver {
    writing: Option<Writing>,
    requests: VecDeque<SaveRequest>,
    /// Whether the notebook is being closed. Then checkpoints do not wait for a pause.
    pub(super) is_closing: bool,
    alarm_is_set: bool,
    waiting_since_ms: Option<f64>,
    /// Failures in a row, by state.
    failures: BTreeMap<StateId, u32>,
    /// Runs that wait for the checkpoint of a state that cannot be forked.
    runs: BTreeMap<StateId, Vec<ExecId>>,
}

impl Saver {
    /// Whether the checkpoint of a state is being written.
    pub(super) fn is_at(&self, state: &StateId) -> bool {
        self.writing.as_ref().is_some_and(|w| &w.request.state == state)
    }
}

/// Which states still need a checkpoint.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// Whether checkpoints are written automatically.
    by_itself: bool,
    /// States that may have to be saved, the newest last. `newest` skips those that need not be
    /// saved.
    states: BTreeSet<(u64, StateId)>,
    /// States whose checkpoint could not be loaded. A new checkpoint is written once the state has
    /// a process again.
    broken: BTreeSet<StateId>,
}

impl Due {
    /// Starts with no state due. With `by_itself`, checkpoints are written automatically.
    pub(super) fn new(by_itself: bool) -> Self {
        Self { by_itself, ..Self::default() }
    }

    /// Adds a state if it now needs a checkpoint. To be called when its residency or the progress
    /// of its checkpoint has changed.
    pub(super) fn note(&mut self, state: &State) {
        if self.by_itself && self.is_due(state) {
            // The bits of positive floats sort like the numbers.
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

    /// Notes that the checkpoint of a state was written again, or may be loaded after all.
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

impl Saver {
    /// A client asks for a checkpoint. Returns the answer unless the client has to wait.
    pub(super) fn ask(
        &mut self,
        core: &mut Core,
        ticket: Ticket,
        id: &StateId,
        form: Form,
        label: Option<String>,
        metadata: Map<String, Value>,
    ) -> Option<Reply> {
        if let Err(refused) = core.runnable(id) {
            return Some(Reply::Refused(refused));
        }
        if let Some(trouble) = core.notebook.disk_status() {
            let (what, why, how) = (format!("save state {id}"), trouble.why.clone(), trouble.how.clone());
            return Some(Reply::Refused(Problem::new(Kind::Disk, what, why, how)));
        }
        if core.notebook.state(id).is_some_and(holds_values_only) {
            let why = "its checkpoint is not trusted, so only its values are loaded; saving those would \
                lose the rest";
            let how = "trust the notebook's checkpoints first, or save a state that grew from it";
            return Some(Reply::Refused(Problem::new(Kind::Conflict, format!("save state {id}"), why, how)));
        }
        let request = SaveRequest { state: id.clone(), form, label, metadata, tickets: vec![ticket] };
        let same = |w: &SaveRequest| {
            &w.state == id && w.form == form && w.label == request.label && w.metadata == request.metadata
        };
        if let Some(known) = self.requests.iter_mut().find(|w| same(w)) {
            known.tickets.push(ticket);
            return None;
        }
        self.requests.push_back(request);
        if !self.is_at(id) {
            core.set_saving(id, Saving::Waiting);
        }
        core.follow_up(FollowUp::SaveNext);
        None
    }

    /// Lets a run wait for the checkpoint of its state.
    pub(super) fn wait(&mut self, core: &mut Core, exec_id: &ExecId, state: &StateId) {
        self.runs.entry(state.clone()).or_default().push(exec_id.clone());
        let is_requested = self.is_at(state) || self.requests.iter().any(|w| &w.state == state);
        if !is_requested {
            self.requests.push_front(SaveRequest::by_itself(state.clone()));
        }
        match core.notebook.disk_status().cloned() {
            Some(trouble) => self.refuse_all(core, &trouble),
            None => core.follow_up(FollowUp::SaveNext),
        }
    }

    /// Refuses all waiting requests, because the disk cannot be written.
    fn refuse_all(&mut self, core: &mut Core, trouble: &DiskStatus) {
        for request in std::mem::take(&mut self.requests) {
            self.refuse(core, request, &trouble.why);
        }
    }

    /// Begins the next checkpoint, if there is one and it is time. While memory is short, no pause
    /// is needed.
    pub(super) fn save_next(&mut self, core: &mut Core, is_short: bool) {
        while self.writing.is_none() && core.notebook.disk_status().is_none() {
            if let Some(request) = self.requests.pop_front() {
                self.begin_saving(core, request);
                continue;
            }
            let Some(state) = core.due.newest(&core.notebook) else {
                self.waiting_since_ms = None;
                return;
            };
            if !(self.is_time_to_save(core) || is_short) {
                return self.wake_to_save(core);
            }
            self.begin_saving(core, SaveRequest::by_itself(state));
        }
    }

    fn is_time_to_save(&mut self, core: &Core) -> bool {
        let since = *self.waiting_since_ms.get_or_insert(core.now_ms);
        let rested = core.now_ms - core.asked_ms >= REST.as_secs_f64() * 1000.0;
        self.is_closing || rested || core.now_ms - since >= MAX_WAIT_MS
    }

    fn wake_to_save(&mut self, core: &mut Core) {
        if !self.alarm_is_set {
            self.alarm_is_set = true;
            core.wake(REST, Alarm::Save);
        }
    }

    /// The alarm has rung: the pause may have come.
    pub(super) fn time_to_save(&mut self, core: &mut Core) {
        self.alarm_is_set = false;
        core.follow_up(FollowUp::SaveNext);
    }

    fn begin_saving(&mut self, core: &mut Core, request: SaveRequest) {
        let state = request.state.clone();
        if self.is_saved_already(core, &request) {
            return;
        }
        let source = match core.runnable(&state) {
            Ok(()) => core.source_of(&state),
            Err(_) => None,
        };
        let Some(source) = source else {
            return self.refuse(core, request, "the state has no process that could be saved");
        };
        let duty = Duty::Saving(request.form);
        let process = core.spawn(Origin::fork(source, &state), duty, STALL);
        self.waiting_since_ms = None;
        self.writing = Some(Writing { request, process: Some(process), heard_ms: core.now_ms });
        core.set_saving(&state, Saving::Writing { percent: 0 });
    }

    /// Returns whether a state has the wanted checkpoint already, and then answers the request.
    /// States are immutable, so only the checkpoint's label and metadata may have to change.
    fn is_saved_already(&mut self, core: &mut Core, request: &SaveRequest) -> bool {
        let saved = core.notebook.state(&request.state).and_then(|s| s.checkpoint.clone());
        let is_good =
            |c: &Checkpoint| c.form == request.form && c.is_trusted && !core.due.is_broken(&request.state);
        let Some(mut checkpoint) = saved.filter(is_good) else {
            return false;
        };
        core.set_saving(&request.state, Saving::Idle);
        if request.label.is_some() || !request.metadata.is_empty() {
            (checkpoint.label, checkpoint.metadata) = (request.label.clone(), request.metadata.clone());
            keep_checkpoint(core, &request.state, checkpoint);
            let tickets = request.tickets.clone();
            let request = SaveRequest {
                metadata: Map::new(),
                label: None,
                tickets,
                state: request.state.clone(),
                ..*request
            };
            self.writing = Some(Writing { request, process: None, heard_ms: core.now_ms });
        } else {
            let reply = Reply::Checkpointed { checkpoint: Box::new(checkpoint) };
            core.answer_all(request.tickets.clone(), &reply);
        }
        true
    }

    /// Notes the progress that a saving process reports.
    pub(super) fn progressed(&mut self, core: &mut Core, process: ProcId, percent: u8) {
        let now_ms = core.now_ms;
        if let Some(writing) = self.writing.as_mut().filter(|w| w.process == Some(process)) {
            writing.heard_ms = now_ms;
            let state = writing.request.state.clone();
            core.set_saving(&state, Saving::Writing { percent: percent.min(100) });
        }
    }

    /// Gives the store the checkpoint that a saving process has written.
    pub(super) fn written(&mut self, core: &mut Core, process: ProcId, contents: Contents) {
        let Some(writing) = self.writing.as_mut().filter(|w| w.process == Some(process)) else {
            return;
        };
        // The process exits by itself.
        writing.process = None;
        core.processes.remove(process);
        let (state, form) = (writing.request.state.clone(), writing.request.form);
        let (label, metadata) = (writing.request.label.clone(), writing.request.metadata.clone());
        let (parent_checkpoint, total_execution_time_ms) = before_saved(core, &state);
        let checkpoint = Checkpoint {
            checkpoint_id: contents.manifest,
            notebook_id: String::new(),
            state_id: state.clone(),
            form,
            created_at: core.now_ms,
            label,
            metadata,
            namespace_size_bytes: contents.namespace_bytes,
            compressed_size_bytes: contents.stored_bytes,
            new_bytes: contents.new_bytes,
            compression_ratio: contents.namespace_bytes as f64 / contents.stored_bytes.max(1) as f64,
            entry_count: contents.entry_count,
            includes_source: contents.includes_source,
            parent_checkpoint,
            execution_count: core.notebook.state(&state).map_or(0, |s| s.exec_count),
            total_execution_time_ms,
            missing: contents.missing,
            is_trusted: true,
        };
        keep_checkpoint(core, &state, checkpoint);
    }

    /// Notes that the store has made a checkpoint part of the notebook.
    pub(super) fn kept(&mut self, core: &mut Core, id: &StateId, checkpoint: Box<Checkpoint>) {
        if let Some(state) = core.notebook.state_mut(id) {
            // A data-only checkpoint does not replace a complete one.
            if checkpoint.form == Form::Environment || state.checkpoint.is_none() {
                state.checkpoint = Some((*checkpoint).clone());
            }
            state.saving = Saving::Idle;
            if state.residency == Residency::Replay {
                state.residency = Residency::Disk;
            }
            core.publish_state(id);
        }
        self.failures.remove(id);
        core.due.forget_broken(id);
        core.note_evictable(id);
        if let Some(writing) = self.writing.take_if(|w| &w.request.state == id && w.process.is_none()) {
            core.answer_all(writing.request.tickets, &Reply::Checkpointed { checkpoint });
        }
        for run in self.runs.remove(id).unwrap_or_default() {
            core.follow_up(FollowUp::Begin(run, id.clone()));
        }
    }

    /// Handles a checkpoint that could not be written. Tries it again later.
    pub(super) fn not_saved(&mut self, core: &mut Core, id: &StateId, why: &str) {
        if let Some(writing) = self.writing.take_if(|w| &w.request.state == id) {
            writing.process.into_iter().for_each(|process| core.end(process));
            self.refuse(core, writing.request, why);
            let failures = self.failures.entry(id.clone()).or_default();
            let after = AGAIN_AFTER * 2_u32.pow((*failures).min(MAX_DOUBLINGS));
            *failures += 1;
            core.wake(after, Alarm::SaveAgain(id.clone()));
        }
        core.follow_up(FollowUp::SaveNext);
    }

    /// Tries a failed checkpoint again.
    pub(super) fn save_again(&self, core: &mut Core, id: &StateId) {
        let is_lacking = |s: &State| s.checkpoint.is_none() || core.due.is_broken(&s.id);
        let has_failed = |s: &State| matches!(s.saving, Saving::Failed { .. }) && is_lacking(s);
        if core.notebook.state(id).is_some_and(has_failed) {
            core.set_saving(id, Saving::Idle);
            core.follow_up(FollowUp::SaveNext);
        }
    }

    fn refuse(&mut self, core: &mut Core, request: SaveRequest, why: &str) {
        core.set_saving(&request.state, Saving::Failed { why: why.to_owned() });
        let how = "the state itself is unharmed; try again, or look at what it holds";
        let refused = Problem::new(Kind::Disk, format!("save state {}", request.state), why, how);
        core.answer_all(request.tickets, &Reply::Refused(refused));
        for run in self.runs.remove(&request.state).unwrap_or_default() {
            let why = format!(
                "this state can only be branched from its checkpoint, and that could not be written: {why}. \
                 Its cells can be run again, or it can be forked all the same (in the state's menu)"
            );
            core.follow_up(FollowUp::End(run, Outcome::fork_failed(&why)));
        }
    }

    /// Handles the failure or exit of a saving process.
    pub(super) fn failed(&mut self, core: &mut Core, process: ProcId, why: &str) {
        let writing = self.writing.as_ref().filter(|w| w.process == Some(process));
        if let Some(state) = writing.map(|w| w.request.state.clone()) {
            self.not_saved(core, &state, why);
        }
    }

    /// The alarm of a saving process has rung. Ends the process if it reported nothing for `STALL`,
    /// else sets the alarm again.
    pub(super) fn stalled(&mut self, core: &mut Core, process: ProcId) {
        let Some(writing) = self.writing.as_ref().filter(|w| w.process == Some(process)) else {
            return;
        };
        if core.now_ms - writing.heard_ms >= STALL.as_secs_f64() * 1000.0 {
            let why = format!(
                "nothing was written for {} s: a library in this state may not survive a fork",
                STALL.as_secs()
            );
            // The next attempt would most likely hang, too, and hold up other checkpoints. So it
            // waits longest.
            let state = writing.request.state.clone();
            self.failures.insert(state, MAX_DOUBLINGS);
            self.failed(core, process, &why);
        } else {
            core.wake(STALL, Alarm::Late(process));
        }
    }

    /// Stops saving a state, because it is deleted.
    pub(super) fn stop(&mut self, core: &mut Core, id: &StateId) {
        let gone = Reply::Refused(not_found("state", id));
        self.failures.remove(id);
        core.due.forget_broken(id);
        let requests = std::mem::take(&mut self.requests);
        let (theirs, others): (VecDeque<SaveRequest>, _) = requests.into_iter().partition(|w| &w.state == id);
        self.requests = others;
        for request in theirs {
            core.answer_all(request.tickets, &gone);
        }
        if let Some(writing) = self.writing.take_if(|w| &w.request.state == id) {
            writing.process.into_iter().for_each(|process| core.end(process));
            core.answer_all(writing.request.tickets, &gone);
        }
        for run in self.runs.remove(id).unwrap_or_default() {
            core.follow_up(FollowUp::End(run, Outcome::fork_failed("the state was deleted")));
        }
    }

    /// Stops saving all states, because the notebook is reset.
    pub(super) fn stop_all(&mut self, core: &mut Core) {
        let ids: Vec<StateId> = core.notebook.states().map(|s| s.id.clone()).collect();
        for id in ids {
            self.stop(core, &id);
        }
    }

    /// Whether automatic checkpoints are being written or are due.
    pub(super) fn is_saving(&self, core: &Core) -> bool {
        core.due.by_itself
            && core.notebook.disk_status().is_none()
            && (self.writing.is_some() || core.due.is_any(&core.notebook))
    }

    /// Whether everything that can be saved has been saved.
    pub(super) fn is_all_saved(&self, core: &Core) -> bool {
        self.writing.is_none() && (core.notebook.disk_status().is_some() || !core.due.is_any(&core.notebook))
    }

    /// Notes that the disk has failed or works again.
    pub(super) fn set_disk_status(&mut self, core: &mut Core, trouble: Option<DiskStatus>) {
        core.notebook.set_disk_status(trouble.clone());
        core.publish(Live::DiskStatusChanged { disk_status: trouble.clone() });
        if let Some(trouble) = &trouble {
            return self.refuse_all(core, trouble);
        }
        let failed = |s: &&State| matches!(s.saving, Saving::Failed { .. });
        let again: Vec<StateId> = core.notebook.states().filter(failed).map(|s| s.id.clone()).collect();
        for state in again {
            core.set_saving(&state, Saving::Idle);
        }
        core.follow_up(FollowUp::SaveNext);
    }
}

fn keep_checkpoint(core: &mut Core, state: &StateId, checkpoint: Checkpoint) {
    let parent = core.notebook.state(state).and_then(|s| s.parent.clone());
    core.effects.push(Effect::Keep { state: state.clone(), parent, checkpoint: Box::new(checkpoint) });
}

/// The checkpoint of the nearest ancestor that has one, and how long all cells of the lineage ran,
/// in milliseconds. The time up to that checkpoint is stored in it.
fn before_saved(core: &Core, id: &StateId) -> (Option<String>, f64) {
    let mut total_ms = 0.0;
    for state in core.notebook.ancestry(id) {
        if let Some(checkpoint) = state.checkpoint.as_ref().filter(|_| &state.id != id) {
            let before = checkpoint.total_execution_time_ms;
            return (Some(checkpoint.checkpoint_id.clone()), total_ms + before);
        }
        let run = state.exec_id.as_ref().and_then(|run| core.notebook.run(run));
        total_ms += run.and_then(|run| run.duration_ms).unwrap_or_default();
    }
    (None, total_ms)
}

/// Whether only the plain values of a state are available, because its checkpoint holds more but is
/// not trusted.
fn holds_values_only(state: &State) -> bool {
    let has_more = |c: &Checkpoint| !c.is_trusted && c.form == Form::Environment;
    let is_whole = matches!(state.residency, Residency::Memory | Residency::Freezing)
        && !matches!(state.restored_from, Some(RestoredFrom::Checkpoint { .. }));
    state.checkpoint.as_ref().is_some_and(has_more) && !is_whole
}
