//! Replay: restores a state by running the cells of its lineage again, from the nearest complete
//! ancestor.
//!
//! One head runs all these cells. Their output is dropped, because the notebook already has it.
//! Each state between the ancestor and the restored state gets a frozen process again, because a
//! head never leaves a state that is not frozen.

use super::core::{Core, FollowUp, not_found};
use super::duty::{Doing, Duty};
use super::effect::{Effect, Killed, Ticket};
use super::processes::Origin;
use super::timeouts::READY_TIMEOUT;
use super::transfers;
use crate::kernel::{CellOrder, Hazards, How, ProcId, Remains};
use crate::notebook::{
    Cause, Checkpoint, ExecId, Live, Reply, Residency, RestoredFrom, RunError, Saving, State, StateId,
    other_state,
};
use crate::problem::{Kind, Problem};
use std::collections::BTreeMap;

/// A replay that has not ended.
#[derive(Debug)]
struct Replay {
    head: ProcId,
    /// The states whose cells run, in order. The last one is the state to restore.
    steps: Vec<StateId>,
    done: usize,
    tickets: Vec<Ticket>,
    /// Runs that wait until the state is replayed.
    runs: Vec<ExecId>,
    /// Other replays that wait for this one, because one of their cells takes variables from the
    /// restored state.
    replays: Vec<StateId>,
    /// Processes of states on the replayed path that are deleted, or that another process already
    /// holds. They are killed at the end.
    spare: Vec<ProcId>,
}

/// The replays that have not ended, by the state that each restores.
#[derive(Debug, Default)]
pub(super) struct Replays {
    all: BTreeMap<StateId, Replay>,
}

impl Replays {
    /// Whether no replay is running.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Handles a request for a replay. Returns the answer unless the client has to wait.
    pub(super) fn ask(&mut self, core: &mut Core, ticket: Ticket, target: &StateId) -> Option<Reply> {
        let Some(state) = core.notebook.state(target).filter(|s| s.residency != Residency::Deleted) else {
            return Some(Reply::Refused(not_found("state", target)));
        };
        if is_whole_in_memory(state) {
            return Some(Reply::Done);
        }
        if target.is_root() {
            // The root state needs no replay: its process is only started again.
            core.source_of(target);
            return Some(Reply::Done);
        }
        match self.begin(core, target) {
            Ok(replay) => {
                replay.tickets.push(ticket);
                None
            }
            Err(refused) => Some(Reply::Refused(refused)),
        }
    }

    /// Makes a run wait until its state is replayed.
    pub(super) fn wait(&mut self, core: &mut Core, exec_id: &ExecId, target: &StateId) {
        match self.begin(core, target) {
            Ok(replay) => replay.runs.push(exec_id.clone()),
            Err(refused) => {
                let error = RunError::of(Cause::ReplayFailed, format!("{}; {}", refused.why, refused.how));
                core.follow_up(FollowUp::Fail(exec_id.clone(), error));
            }
        }
    }

    /// Returns the replay of a state. Begins the replay if it is not running.
    fn begin(&mut self, core: &mut Core, target: &StateId) -> Result<&mut Replay, Problem> {
        if !self.all.contains_key(target) {
            let (from, steps) = replay_path(core, target)?;
            let what = replay_of(core, target);
            if !core.processes.has_room() {
                return Err(Problem::new(Kind::Busy, what, "too many cells are running", "try again"));
            }
            let Some(head) = core.branch(&from, Doing::Replay(target.clone())) else {
                let why = "the state that the replay would start from has no process";
                return Err(Problem::new(Kind::Lost, what, why, "run the cells again from the first state"));
            };
            let total = steps.len();
            let (tickets, runs, replays, spare) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            self.all.insert(target.clone(), Replay { head, steps, done: 0, tickets, runs, replays, spare });
            core.publish(Live::Replaying { state: target.clone(), done: 0, total });
            self.run_step(core, target);
        }
        self.all.get_mut(target).ok_or_else(|| not_found("state", target))
    }

    fn run_step(&mut self, core: &mut Core, target: &StateId) {
        let Some(replay) = self.all.get(target) else { return };
        let (head, step) = (replay.head, replay.steps[replay.done].clone());
        let Some(code) = code_of(core, &step) else {
            return self.failed(core, target, "the code of an earlier state is lost");
        };
        if let Some((from, _)) = other_state(&code)
            && core.runnable(&from).is_err_and(|refused| refused.kind == Kind::Lost)
        {
            // A cell takes variables only from older states, so this recursion ends.
            return match self.begin(core, &from) {
                Ok(other) => other.replays.push(target.clone()),
                Err(refused) => self.failed(core, target, &refused.why),
            };
        }
        let exec_id = replay_id(target);
        let deliveries = transfers::deliveries(core, None, &exec_id, &code);
        core.emit(Effect::Run { head, exec_id, cell: CellOrder::new(code), deliveries });
    }

    /// Continues a replay after one of its cells has ended.
    pub(super) fn cell_ended(
        &mut self,
        core: &mut Core,
        target: &StateId,
        how: How,
        hazards: Hazards,
        remains: &Remains,
    ) {
        let Some(replay) = self.all.get(target) else { return };
        let (head, step) = (replay.head, replay.steps[replay.done].clone());
        match how {
            How::Ok => {}
            How::Refused => return self.failed(core, target, "an earlier state could not be kept"),
            How::Error(error) if remains.can_be_a_state() && failed_as_before(core, &step, &error) => {}
            How::Error(error) => {
                let number = core.notebook.state(&step).map_or(0, |s| s.exec_count);
                let is_partial = core.notebook.state(&step).is_some_and(|s| s.partial);
                let how = if is_partial { "failed differently" } else { "failed" };
                let why = format!("this time the cell In[{number}] {how}: {}", error.in_words());
                return self.failed(core, target, &why);
            }
        }
        let is_there = self.restored(core, head, &step, hazards);
        let Some(replay) = self.all.get_mut(target) else { return };
        replay.done += 1;
        let (done, total) = (replay.done, replay.steps.len());
        core.publish(Live::Replaying { state: target.clone(), done, total });
        if done < total {
            return self.run_step(core, target);
        }
        if is_there {
            core.discard(head);
        } else {
            core.processes.rest(head, step);
        }
        let Some(replay) = self.all.remove(target) else { return };
        replay.spare.into_iter().for_each(|spare| core.end(spare));
        core.answer_all(replay.tickets, &Reply::Done);
        for waiting in replay.replays {
            self.run_step(core, &waiting);
        }
        for run in replay.runs {
            core.follow_up(FollowUp::BeginReplayed(run, target.clone()));
        }
    }

    /// Handles a replaying head that has reached a state. Makes the state's frozen process, unless
    /// another replay has restored the state in the meantime: other heads may wait to be forked
    /// from the existing process. Returns whether the state was restored already.
    fn restored(&mut self, core: &mut Core, head: ProcId, id: &StateId, hazards: Hazards) -> bool {
        core.processes.move_to(head, id);
        let is_foreign = |c: &Checkpoint| !core.is_loadable(c);
        if core.notebook.state(id).and_then(|s| s.checkpoint.as_ref()).is_some_and(is_foreign) {
            // The state's checkpoint cannot be loaded by the current Python. So the replayed state
            // is saved again.
            core.due.note_broken(id);
        }
        let Some(state) = core.notebook.state_mut(id) else { return false };
        let is_there = core.processes.frozen(id).is_some() && is_whole_in_memory(state);
        if is_there || state.residency == Residency::Deleted {
            let spare = core.spawn(Origin::fork(head, id), Duty::Spare, READY_TIMEOUT);
            if let Some(replay) = self.all.values_mut().find(|r| r.head == head) {
                replay.spare.push(spare);
            }
            return is_there;
        }
        (state.residency, state.restored_from) = (Residency::Freezing, Some(RestoredFrom::Replay));
        (state.warnings, state.forks) = (hazards.warnings, hazards.forks);
        if core.due.is_broken(id) {
            state.saving = Saving::Idle;
        }
        let old = core.processes.frozen(id).and_then(|old| core.processes.remove(old).map(|_| old));
        core.spawn(Origin::fork(head, id), Duty::Frozen, READY_TIMEOUT);
        core.publish_state(id);
        if let Some(old) = old {
            core.kill(old, Killed::NotNeeded);
        }
        false
    }

    /// Ends a replay that cannot continue. States that it has already restored stay in memory.
    pub(super) fn failed(&mut self, core: &mut Core, target: &StateId, why: &str) {
        let Some(replay) = self.all.remove(target) else { return };
        core.discard(replay.head);
        replay.spare.into_iter().for_each(|spare| core.end(spare));
        core.publish(Live::Replaying { state: target.clone(), done: 0, total: 0 });
        let how = "run its cells one by one, and fix the cell that fails";
        let refused = Problem::new(Kind::Lost, replay_of(core, target), why, how);
        core.answer_all(replay.tickets, &Reply::Refused(refused));
        for waiting in replay.replays {
            self.failed(core, &waiting, why);
        }
        for run in replay.runs {
            core.follow_up(FollowUp::Fail(run, RunError::of(Cause::ReplayFailed, why)));
        }
    }

    /// Stops the replay that `exec_id` identifies. Returns whether there was one.
    pub(super) fn stop(&mut self, core: &mut Core, exec_id: &ExecId) -> bool {
        let target = self.all.keys().find(|target| replay_id(target) == *exec_id).cloned();
        target.inspect(|target| self.failed(core, target, "the replay was stopped")).is_some()
    }

    /// Ends all replays.
    pub(super) fn fail_all(&mut self, core: &mut Core, why: &str) {
        let all: Vec<StateId> = self.all.keys().cloned().collect();
        all.iter().for_each(|target| self.failed(core, target, why));
    }
}

/// Whether a state lacks variables that only a replay can restore.
pub(super) fn lacks_something(core: &Core, state: &State) -> bool {
    is_partial(state) || state.residency == Residency::Disk && !is_whole(core, state)
}

/// The state from which a replay starts, and the states that it restores.
fn replay_path(core: &Core, target: &StateId) -> Result<(StateId, Vec<StateId>), Problem> {
    let lineage = core.notebook.lineage(target);
    let [before @ .., _] = lineage.as_slice() else { return Err(not_found("state", target)) };
    if before.is_empty() {
        return Err(not_found("state before", target));
    }
    let start = before.iter().rposition(|s| is_whole(core, s)).unwrap_or(0);
    let steps: Vec<StateId> = lineage[start + 1..].iter().map(|s| s.id.clone()).collect();
    for id in &steps {
        if code_of(core, id).is_none() {
            let why = "the code of an earlier state is lost";
            return Err(Problem::new(
                Kind::Lost,
                replay_of(core, target),
                why,
                "write the cell again and run it",
            ));
        }
    }
    Ok((lineage[start].id.clone(), steps))
}

fn code_of(core: &Core, id: &StateId) -> Option<String> {
    let run = core.notebook.state(id)?.exec_id.as_ref()?;
    core.notebook.run(run).map(|r| r.code.clone())
}

/// Whether all variables of a state are in its process or in its checkpoint.
fn is_whole(core: &Core, state: &State) -> bool {
    let on_disk = state.checkpoint.as_ref().is_some_and(|c| c.is_whole_for(core.notebook.python()));
    state.id.is_root()
        || is_whole_in_memory(state) && (core.forks(&state.id) || on_disk)
        || state.residency == Residency::Disk && on_disk
}

/// Whether the cell of a partial state failed with the same kind of error as in the first run. If
/// so, the variables that the cell set are assumed to be the same.
fn failed_as_before(core: &Core, step: &StateId, error: &RunError) -> bool {
    let Some(state) = core.notebook.state(step).filter(|s| s.partial) else { return false };
    let run = state.exec_id.as_ref().and_then(|run| core.notebook.run(run));
    let before = run.and_then(|run| run.error.as_ref());
    before.is_some_and(|before| (before.cause, &before.ename) == (error.cause, &error.ename))
}

fn is_whole_in_memory(state: &State) -> bool {
    state.residency.is_in_memory() && !is_partial(state)
}

fn is_partial(state: &State) -> bool {
    matches!(&state.restored_from, Some(RestoredFrom::Checkpoint { missing }) if !missing.is_empty())
}

/// What a replay does, in words: a state is called by its label or by the number of its cell.
fn replay_of(core: &Core, target: &StateId) -> String {
    match core.notebook.state(target) {
        Some(State { label: Some(label), .. }) => format!("replay the state “{label}”"),
        Some(State { exec_count, .. }) if *exec_count > 0 => format!("replay the state of In[{exec_count}]"),
        _ => format!("replay state {target}"),
    }
}

/// The exec id of a replay, with which the replay can be interrupted.
fn replay_id(target: &StateId) -> ExecId {
    ExecId::new(format!("replay:{target}"))
}
