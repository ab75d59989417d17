//! Decides when each state is saved: the newest first, while no client waits for a cell. The next
//! state is saved when the one before it has been saved, or takes long. States whose checkpoints
//! take long, or hang, give way to others and are saved when only they are left.
//!
//! A short-lived fork of the state's frozen process writes the checkpoint (`Role::Save`), so the
//! state does not change and no cell has to wait. The store then adds the checkpoint to the
//! notebook and reports this.

use super::core::{Core, FollowUp, not_found};
use super::duty::Duty;
use super::effect::{Alarm, Effect, Ticket};
use super::outcome;
use super::processes::Origin;
use crate::kernel::{Contents, ProcId};
use crate::notebook::{
    Checkpoint, DiskStatus, ExecId, Form, Live, Reply, Residency, RestoredFrom, Saving, State, StateId,
};
use crate::problem::{Kind, Problem};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// An automatic checkpoint begins only if no run was requested for this long. So saving does not
/// slow down a quick series of cells, and the last state of the series is saved first.
const REST: Duration = Duration::from_millis(300);
/// Maximum time for which an automatic checkpoint waits for such a pause, in milliseconds.
const MAX_WAIT_MS: f64 = 5000.0;
/// Time between a failed checkpoint and the next attempt. The time doubles with each failure.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// How many times `AGAIN_AFTER` doubles. The longest time between attempts is some five minutes.
const MAX_DOUBLINGS: u32 = 6;
/// How long a checkpoint may take before the next one begins beside it. So a state that is slow to
/// save, or hangs, does not hold up the others.
const SLOW: Duration = Duration::from_secs(2);
/// Maximum number of checkpoints that are written at the same time. Each is a process.
const MAX_AT_ONCE: usize = 3;
/// How long a saving process may report no progress. Normally it reports its progress many times a
/// second.
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
    /// An automatic checkpoint, which no client requested.
    fn by_itself(state: StateId) -> Self {
        Self { state, form: Form::Environment, label: None, metadata: Map::new(), tickets: Vec::new() }
    }
}

/// The checkpoint to write next.
#[derive(Clone, Debug)]
struct Next {
    state: StateId,
    /// The index of its request. None if it is automatic.
    requested: Option<usize>,
    /// Whether it is known to take long.
    is_slow: bool,
}

/// A checkpoint that is being written.
#[derive(Debug)]
struct Writing {
    request: SaveRequest,
    /// The process that writes the checkpoint. None when it has finished and the store is adding
    /// the checkpoint to the notebook.
    process: Option<ProcId>,
    began_ms: f64,
    heard_ms: f64,
}

/// Writes checkpoints.
#[derive(Debug, Default)]
pub(super) struct Saver {
    /// At most one for each state.
    writing: Vec<Writing>,
    requests: VecDeque<SaveRequest>,
    /// Whether the notebook is about to be closed or restarted. If so, checkpoints are written
    /// without a pause.
    pub(super) is_closing: bool,
    /// When the next alarm is due. Earlier alarms do no harm.
    alarm_ms: Option<f64>,
    waiting_since_ms: Option<f64>,
    /// Number of consecutive failures, by state.
    failures: BTreeMap<StateId, u32>,
    /// Runs that wait for a checkpoint because their state must not be forked.
    runs: BTreeMap<StateId, Vec<ExecId>>,
}

impl Saver {
    /// Whether a checkpoint of this state is being written.
    pub(super) fn is_at(&self, state: &StateId) -> bool {
        self.writing.iter().any(|w| &w.request.state == state)
    }

    fn by_process(&mut self, process: ProcId) -> Option<&mut Writing> {
        self.writing.iter_mut().find(|w| w.process == Some(process))
    }

    /// Removes the first checkpoint that fits from those that are being written.
    fn take(&mut self, fits: impl Fn(&Writing) -> bool) -> Option<Writing> {
        let at = self.writing.iter().position(fits)?;
        Some(self.writing.remove(at))
    }
}

impl Saver {
    /// Handles a request for a checkpoint. Returns the answer unless the client has to wait.
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
        if let Some(state) = core.notebook.state(id).filter(|state| holds_values_only(core, state)) {
            let (why, how) = match state.checkpoint.as_ref().and_then(|c| c.python.as_deref()) {
                Some(python) if state.checkpoint.as_ref().is_some_and(|c| c.is_trusted) => (
                    format!(
                        "Python {python} wrote its checkpoint, so only its values are loaded; saving those \
                         would lose the rest"
                    ),
                    "replay its cells first, or save a state that grew from it",
                ),
                _ => (
                    "its checkpoint is not trusted, so only its values are loaded; saving those would lose \
                     the rest"
                        .to_owned(),
                    "trust the notebook's checkpoints first, or save a state that grew from it",
                ),
            };
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

    /// Makes a run wait for the checkpoint of its state.
    pub(super) fn wait(&mut self, core: &mut Core, exec_id: &ExecId, state: &StateId) {
        self.runs.entry(state.clone()).or_default().push(exec_id.clone());
        // A checkpoint of plain values does not help: branches would lack the rest.
        let is_whole = |r: &SaveRequest| &r.state == state && r.form == Form::Environment;
        let is_requested = self.writing.iter().map(|w| &w.request).chain(&self.requests).any(is_whole);
        if !is_requested {
            self.requests.push_front(SaveRequest::by_itself(state.clone()));
        }
        match core.notebook.disk_status().cloned() {
            Some(trouble) => self.refuse_all(core, &trouble),
            None => core.follow_up(FollowUp::SaveNext),
        }
    }

    /// Refuses all waiting requests, because writing to the disk fails.
    fn refuse_all(&mut self, core: &mut Core, trouble: &DiskStatus) {
        for request in std::mem::take(&mut self.requests) {
            self.refuse(core, request, Kind::Disk, &trouble.why);
        }
    }

    /// Begins the next checkpoint. A requested checkpoint begins at once. An automatic one waits
    /// for a pause between cells, unless memory is short.
    pub(super) fn save_next(&mut self, core: &mut Core, is_short: bool) {
        while core.notebook.disk_status().is_none() {
            let Some(next) = self.next(core) else {
                self.waiting_since_ms = None;
                return;
            };
            if let Some(left) = self.left_until_slow(core) {
                return self.wake_to_save(core, left);
            }
            if next.requested.is_none() {
                let since_ms = *self.waiting_since_ms.get_or_insert(core.now_ms);
                if !(is_short || self.is_time_to_save(core, since_ms)) {
                    return self.wake_to_save(core, REST);
                }
            }
            if self.writing.len() >= MAX_AT_ONCE && (next.is_slow || !self.make_room(core)) {
                return;
            }
            let request = next.requested.and_then(|at| self.requests.remove(at));
            self.begin_saving(core, request.unwrap_or_else(|| SaveRequest::by_itself(next.state)));
        }
    }

    /// What to save next: requested states before others, but all that are known to be slow last.
    fn next(&self, core: &mut Core) -> Option<Next> {
        let requested = |is_slow: bool| {
            let fits = |r: &SaveRequest| !self.is_at(&r.state) && core.due.is_slow(&r.state) == is_slow;
            let at = self.requests.iter().position(fits)?;
            Some(Next { state: self.requests[at].state.clone(), requested: Some(at), is_slow })
        };
        let (fast, slow) = (requested(false), requested(true));
        let due = core.due.first(&core.notebook).map(|state| {
            let is_slow = core.due.is_slow(&state);
            Next { state, requested: None, is_slow }
        });
        fast.or(due.clone().filter(|due| !due.is_slow)).or(slow).or(due)
    }

    /// The time until the checkpoint that began last takes long. None if it does already, or if
    /// none is being written.
    fn left_until_slow(&self, core: &Core) -> Option<Duration> {
        let began_ms = self.writing.iter().map(|w| w.began_ms).reduce(f64::max)?;
        // It is negative if the clock was set back.
        let passed_ms = core.now_ms - began_ms;
        let slow_ms = SLOW.as_secs_f64() * 1000.0;
        (0.0..slow_ms).contains(&passed_ms).then(|| Duration::from_secs_f64((slow_ms - passed_ms) / 1000.0))
    }

    /// Sets the checkpoint aside that began last. It begins again when only such states are left.
    /// Returns whether there is one.
    fn make_room(&mut self, core: &mut Core) -> bool {
        let running = self.writing.iter().enumerate().filter(|(_, w)| w.process.is_some());
        let Some((at, _)) = running.max_by(|(_, a), (_, b)| a.began_ms.total_cmp(&b.began_ms)) else {
            return false;
        };
        let Writing { request, process, .. } = self.writing.remove(at);
        let state = request.state.clone();
        process.into_iter().for_each(|process| core.end(process));
        core.due.note_slow(&state);
        if request.tickets.is_empty() && !self.runs.contains_key(&state) {
            core.set_saving(&state, Saving::Idle);
        } else {
            self.requests.push_back(request);
            core.set_saving(&state, Saving::Waiting);
        }
        true
    }

    fn is_time_to_save(&self, core: &Core, since_ms: f64) -> bool {
        let rested = core.now_ms - core.asked_ms >= REST.as_secs_f64() * 1000.0;
        self.is_closing || rested || core.now_ms - since_ms >= MAX_WAIT_MS
    }

    fn wake_to_save(&mut self, core: &mut Core, after: Duration) {
        let at_ms = core.now_ms + after.as_secs_f64() * 1000.0;
        if self.alarm_ms.is_none_or(|alarm_ms| at_ms < alarm_ms || alarm_ms < core.now_ms) {
            self.alarm_ms = Some(at_ms);
            core.wake(after, Alarm::Save);
        }
    }

    /// Handles the alarm: writes the next checkpoint if no cell is about to run.
    pub(super) fn time_to_save(&mut self, core: &mut Core) {
        self.alarm_ms = None;
        core.follow_up(FollowUp::SaveNext);
    }

    fn begin_saving(&mut self, core: &mut Core, request: SaveRequest) {
        let state = request.state.clone();
        if self.answer_if_saved(core, &request) {
            return;
        }
        let source = match core.runnable(&state) {
            Ok(()) => core.source_of(&state),
            Err(_) => None,
        };
        let Some(source) = source else {
            return self.refuse(core, request, Kind::Lost, "the state has no process that could be saved");
        };
        let duty = Duty::Saving(request.form);
        let process = core.spawn(Origin::fork(source, &state), duty, STALL);
        self.waiting_since_ms = None;
        self.begin_writing(core, request, Some(process));
        core.set_saving(&state, Saving::Writing { percent: 0 });
    }

    fn begin_writing(&mut self, core: &Core, request: SaveRequest, process: Option<ProcId>) {
        let now_ms = core.now_ms;
        self.writing.push(Writing { request, process, began_ms: now_ms, heard_ms: now_ms });
    }

    /// If the state already has the requested checkpoint, answers the request and returns true.
    /// States are immutable, so at most the checkpoint's label and metadata change.
    fn answer_if_saved(&mut self, core: &mut Core, request: &SaveRequest) -> bool {
        let saved = core.notebook.state(&request.state).and_then(|s| s.checkpoint.clone());
        let is_good =
            |c: &Checkpoint| c.form == request.form && c.is_trusted && !core.due.is_broken(&request.state);
        let Some(mut checkpoint) = saved.filter(is_good) else {
            return false;
        };
        core.set_saving(&request.state, Saving::Idle);
        // An older checkpoint may have become good while they waited: it is trusted now.
        if request.form == Form::Environment {
            self.begin_runs(core, &request.state);
        }
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
            self.begin_writing(core, request, None);
        } else {
            let reply = Reply::Checkpointed { checkpoint: Box::new(checkpoint) };
            core.answer_all(request.tickets.clone(), &reply);
        }
        true
    }

    /// Notes the progress that a saving process reports.
    pub(super) fn progressed(&mut self, core: &mut Core, process: ProcId, percent: u8) {
        let now_ms = core.now_ms;
        if let Some(writing) = self.by_process(process) {
            writing.heard_ms = now_ms;
            let state = writing.request.state.clone();
            core.set_saving(&state, Saving::Writing { percent: percent.min(100) });
        }
    }

    /// Passes the checkpoint that a saving process has written to the store.
    pub(super) fn written(&mut self, core: &mut Core, process: ProcId, contents: Contents) {
        let Some(writing) = self.by_process(process) else { return };
        // The process has finished and exits without being killed.
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
            changed: contents.changed,
            not_compared: contents.not_compared,
            python: Some(core.notebook.python().series().to_owned()),
            is_trusted: true,
        };
        keep_checkpoint(core, &state, checkpoint);
    }

    /// Handles the store's report that it added a checkpoint to the notebook.
    pub(super) fn kept(&mut self, core: &mut Core, id: &StateId, checkpoint: Box<Checkpoint>) {
        let form = checkpoint.form;
        if let Some(state) = core.notebook.state_mut(id) {
            // A checkpoint of plain values does not replace a complete one.
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
        core.due.forget_slow(id);
        core.note_may_be_due(id);
        core.note_evictable(id);
        if let Some(writing) = self.take(|w| &w.request.state == id && w.process.is_none()) {
            core.answer_all(writing.request.tickets, &Reply::Checkpointed { checkpoint });
        }
        if form == Form::Environment {
            self.begin_runs(core, id);
        }
    }

    /// Begins the runs that have waited for the checkpoint of a state.
    fn begin_runs(&mut self, core: &mut Core, state: &StateId) {
        for run in self.runs.remove(state).unwrap_or_default() {
            core.follow_up(FollowUp::Begin(run, state.clone()));
        }
    }

    /// Handles a checkpoint that could not be written, and schedules another attempt.
    pub(super) fn not_saved(&mut self, core: &mut Core, id: &StateId, kind: Kind, why: &str) {
        if let Some(writing) = self.take(|w| &w.request.state == id) {
            writing.process.into_iter().for_each(|process| core.end(process));
            self.refuse(core, writing.request, kind, why);
            let failures = self.failures.entry(id.clone()).or_default();
            let after = AGAIN_AFTER * 2_u32.pow((*failures).min(MAX_DOUBLINGS));
            *failures += 1;
            core.wake(after, Alarm::SaveAgain(id.clone()));
        }
        core.follow_up(FollowUp::SaveNext);
    }

    /// Makes another attempt to write a checkpoint that failed.
    pub(super) fn save_again(&self, core: &mut Core, id: &StateId) {
        let has_failed = |s: &State| matches!(s.saving, Saving::Failed { .. }) && core.due.is_missing(s);
        if core.notebook.state(id).is_some_and(has_failed) {
            core.set_saving(id, Saving::Idle);
            core.follow_up(FollowUp::SaveNext);
        }
    }

    fn refuse(&mut self, core: &mut Core, request: SaveRequest, kind: Kind, why: &str) {
        core.set_saving(&request.state, Saving::Failed { why: why.to_owned() });
        let how = match kind {
            Kind::Lost => "replay the state's cells, and save it then",
            Kind::Disk => "the state itself is intact; make room on the disk, and try again",
            _ => "the state itself is intact; try again, or check its variables",
        };
        let refused = Problem::new(kind, format!("save state {}", request.state), why, how);
        core.answer_all(request.tickets, &Reply::Refused(refused));
        for run in self.runs.remove(&request.state).unwrap_or_default() {
            let why = format!(
                "branches of this state are loaded from its checkpoint, and the checkpoint could not be \
                 written: {why}. Run its cells again, or choose \"Branch from memory\" in the state's menu"
            );
            core.follow_up(FollowUp::Fail(run, outcome::fork_failed(&why)));
        }
    }

    /// Handles the failure or exit of a saving process.
    pub(super) fn failed(&mut self, core: &mut Core, process: ProcId, kind: Kind, why: &str) {
        if let Some(state) = self.by_process(process).map(|w| w.request.state.clone()) {
            self.not_saved(core, &state, kind, why);
        }
    }

    /// Handles the alarm of a saving process. Kills the process if it reported nothing for `STALL`;
    /// otherwise sets the alarm again.
    pub(super) fn stalled(&mut self, core: &mut Core, process: ProcId) {
        let Some(writing) = self.by_process(process) else { return };
        if core.now_ms - writing.heard_ms >= STALL.as_secs_f64() * 1000.0 {
            let why = format!(
                "saving made no progress for {} s: a library that this state uses may hang after a fork",
                STALL.as_secs()
            );
            // The next attempt would probably hang too, and delay other checkpoints. So the longest
            // time between attempts is used.
            let state = writing.request.state.clone();
            self.failures.insert(state, MAX_DOUBLINGS);
            self.failed(core, process, Kind::Timeout, &why);
        } else {
            core.wake(STALL, Alarm::Late(process));
        }
    }

    /// Stops saving a state, because the state is deleted.
    pub(super) fn stop(&mut self, core: &mut Core, id: &StateId) {
        self.stop_because(core, id, not_found("state", id), "the state was deleted");
    }

    /// Stops saving all states, because their processes end. States whose checkpoint failed may be
    /// tried again as soon as they have a process.
    pub(super) fn interrupt_all(&mut self, core: &mut Core, why: &str) {
        let ids: Vec<StateId> = core.notebook.states().map(|s| s.id.clone()).collect();
        for id in ids {
            let refused = Problem::new(Kind::Conflict, format!("save state {id}"), why, "try again");
            self.stop_because(core, &id, refused, why);
            core.set_saving(&id, Saving::Idle);
        }
        self.waiting_since_ms = None;
    }

    fn stop_because(&mut self, core: &mut Core, id: &StateId, refused: Problem, why: &str) {
        let gone = Reply::Refused(refused);
        self.failures.remove(id);
        core.due.forget_broken(id);
        core.due.forget_slow(id);
        let requests = std::mem::take(&mut self.requests);
        let (theirs, others): (VecDeque<SaveRequest>, _) = requests.into_iter().partition(|w| &w.state == id);
        self.requests = others;
        for request in theirs {
            core.answer_all(request.tickets, &gone);
        }
        if let Some(writing) = self.take(|w| &w.request.state == id) {
            writing.process.into_iter().for_each(|process| core.end(process));
            core.answer_all(writing.request.tickets, &gone);
        }
        for run in self.runs.remove(id).unwrap_or_default() {
            core.follow_up(FollowUp::Fail(run, outcome::fork_failed(why)));
        }
    }

    /// Notes that the variables of a state have changed. If its checkpoint is being written, begins
    /// that checkpoint again.
    pub(super) fn variables_changed(&mut self, core: &mut Core, id: &StateId) {
        core.due.forget_broken(id);
        if let Some(Writing { mut request, process: Some(process), .. }) =
            self.take(|w| &w.request.state == id && w.process.is_some())
        {
            core.end(process);
            request.form = if request.tickets.is_empty() { Form::Environment } else { request.form };
            self.requests.push_front(request);
            core.follow_up(FollowUp::SaveNext);
        }
        core.set_saving(id, Saving::Idle);
    }

    /// Stops saving all states, because the notebook is reset.
    pub(super) fn stop_all(&mut self, core: &mut Core) {
        let ids: Vec<StateId> = core.notebook.states().map(|s| s.id.clone()).collect();
        for id in ids {
            self.stop(core, &id);
        }
    }

    /// Whether automatic checkpoints are being written or need to be written.
    pub(super) fn is_saving(&self, core: &Core) -> bool {
        core.due.is_by_itself()
            && core.notebook.disk_status().is_none()
            && (!self.writing.is_empty() || core.due.is_any(&core.notebook))
    }

    /// Whether every state that can be saved is saved. While the disk fails, no state can be saved.
    pub(super) fn is_all_saved(&self, core: &Core) -> bool {
        let is_left = || core.due.is_any(&core.notebook) || core.due.is_coming(&core.notebook);
        self.writing.is_empty() && (core.notebook.disk_status().is_some() || !is_left())
    }

    /// Notes that writing to the disk has failed, or works again.
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
    core.emit(Effect::Keep { state: state.clone(), parent, checkpoint: Box::new(checkpoint) });
}

/// The checkpoint of the nearest ancestor that has one, and the total run time of all cells of the
/// lineage, in milliseconds. That checkpoint contains the total run time of the cells up to the
/// ancestor.
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

/// Whether only the plain values of a state are available, because its checkpoint has pickled
/// objects that may not be loaded: the checkpoint is not trusted, or a Python of another series
/// wrote it.
pub(super) fn holds_values_only(core: &Core, state: &State) -> bool {
    let has_more = |c: &Checkpoint| c.form == Form::Environment && !c.is_loadable_by(core.notebook.python());
    let is_whole = state.residency.is_in_memory()
        && !matches!(state.restored_from, Some(RestoredFrom::Checkpoint { .. }));
    state.checkpoint.as_ref().is_some_and(has_more) && !is_whole
}
