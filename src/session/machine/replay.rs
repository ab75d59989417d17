//! Bringing a state back by running the cells of its lineage again, from the nearest ancestor that
//! is whole.
//!
//! A head runs them one after the other. Their output is dropped: the notebook has it already. Each
//! state on the way gets a process again, because a head never runs on from a state that is not
//! frozen.

use super::hangs::Hazards;
use super::hangs::READY_TIMEOUT;
use super::processes::{Doing, Duty, Origin};
use super::{Effect, Machine, Ticket, not_found, transfers};
use crate::kernel::{How, ProcId, Remains};
use crate::notebook::{
    Checkpoint, ExecId, Live, Rebuild, Reply, Residency, RestoredFrom, RunError, RunStatus, Saving, State,
    StateId,
};
use crate::problem::{Kind, Problem};

/// A lineage that runs again.
#[derive(Debug)]
pub(super) struct Replay {
    head: ProcId,
    /// The states whose cells run, in order; the last is the one that is to come back.
    steps: Vec<StateId>,
    done: usize,
    tickets: Vec<Ticket>,
    /// Runs that wait for the state.
    runs: Vec<ExecId>,
    /// Replays that wait for the state, as a cell of theirs takes variables from it.
    replays: Vec<StateId>,
    /// Processes of deleted states on the way, which nobody needs afterwards.
    spare: Vec<ProcId>,
}

impl Machine {
    /// A replay is asked for. Answers at once only when there is nothing to wait for.
    pub(super) fn ask_replay(&mut self, ticket: Ticket, target: &StateId) -> Option<Reply> {
        let Some(state) = self.core.notebook.state(target).filter(|s| s.residency != Residency::Deleted)
        else {
            return Some(Reply::Refused(not_found("state", target)));
        };
        if is_whole_in_memory(state) {
            return Some(Reply::Done);
        }
        if target.is_root() {
            // It comes back by itself.
            self.core.source_of(target);
            return Some(Reply::Done);
        }
        match self.replay(target) {
            Ok(replay) => {
                replay.tickets.push(ticket);
                None
            }
            Err(refused) => Some(Reply::Refused(refused)),
        }
    }

    /// A run with `replay` begins only at a whole state: what the checkpoint lacks is replayed
    /// first. Answers whether the run waits for that.
    pub(super) fn waits_to_be_whole(&mut self, exec_id: &ExecId, id: &StateId) -> bool {
        let wishes = self.requests.get(exec_id).is_some_and(|r| r.spec.replay && !r.is_replayed);
        let Some(state) = self.core.notebook.state(id).filter(|s| wishes && !s.id.is_root()) else {
            return false;
        };
        if is_partial(state) || state.residency == Residency::Disk && !self.is_whole(state) {
            self.run_after_replay(exec_id, id);
            return true;
        }
        // What it gives is known when it is loaded, also where each branch loads it for itself.
        if state.residency == Residency::Disk {
            self.core.source_of(id);
        }
        let is_being_loaded = self.core.processes.is_being_loaded(id);
        if is_being_loaded {
            self.wait_until_loaded(exec_id, id);
        }
        is_being_loaded
    }

    /// A run waits until its state has come back.
    pub(super) fn run_after_replay(&mut self, exec_id: &ExecId, target: &StateId) {
        match self.replay(target) {
            Ok(replay) => replay.runs.push(exec_id.clone()),
            Err(refused) => {
                let error = RunError::new("ReplayFailed", format!("{}; {}", refused.why, refused.how));
                self.end(exec_id, RunStatus::Error, Some(error));
            }
        }
    }

    /// The replay that brings a state back; begun, if it was not going on.
    fn replay(&mut self, target: &StateId) -> Result<&mut Replay, Problem> {
        if !self.replays.contains_key(target) {
            let (from, steps) = self.way_to(target)?;
            let refused = |why: &str| {
                Problem::new(
                    Kind::Lost,
                    format!("replay state {target}"),
                    why,
                    "run the cells again from the first state",
                )
            };
            if !self.core.processes.has_room() {
                return Err(Problem::new(
                    Kind::Busy,
                    format!("replay state {target}"),
                    "too many cells are running",
                    "try again",
                ));
            }
            let head = self
                .core
                .branch(&from, Doing::Replay(target.clone()))
                .ok_or_else(|| refused("the state that it would start from has no process"))?;
            let total = steps.len();
            let (tickets, runs, replays, spare) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            self.replays
                .insert(target.clone(), Replay { head, steps, done: 0, tickets, runs, replays, spare });
            self.core.publish(Live::Replaying { state: target.clone(), done: 0, total });
            self.run_step(target);
        }
        self.replays.get_mut(target).ok_or_else(|| not_found("state", target))
    }

    /// Where a replay starts, and the states that it makes again.
    fn way_to(&self, target: &StateId) -> Result<(StateId, Vec<StateId>), Problem> {
        let lineage = self.core.notebook.lineage(target);
        let [before @ .., _] = lineage.as_slice() else { return Err(not_found("state", target)) };
        if before.is_empty() {
            return Err(not_found("state before", target));
        }
        let start = before.iter().rposition(|s| self.is_whole(s)).unwrap_or(0);
        let steps: Vec<StateId> = lineage[start + 1..].iter().map(|s| s.id.clone()).collect();
        for id in &steps {
            if self.code_of(id).is_none() {
                let why = format!("the code of state {id} is lost");
                return Err(Problem::new(
                    Kind::Lost,
                    format!("replay state {target}"),
                    why,
                    "run what you remember of it",
                ));
            }
        }
        Ok((lineage[start].id.clone(), steps))
    }

    fn code_of(&self, id: &StateId) -> Option<String> {
        let run = self.core.notebook.state(id)?.exec_id.as_ref()?;
        self.core.notebook.run(run).map(|r| r.code.clone())
    }

    /// Whether a state has everything that its cells left.
    fn is_whole(&self, state: &State) -> bool {
        let on_disk = state.checkpoint.as_ref().is_some_and(Checkpoint::is_whole);
        state.id.is_root()
            || is_whole_in_memory(state) && (self.core.forks(&state.id) || on_disk)
            || state.residency == Residency::Disk && on_disk
    }

    fn run_step(&mut self, target: &StateId) {
        let Some(replay) = self.replays.get(target) else { return };
        let (head, step) = (replay.head, replay.steps[replay.done].clone());
        let Some(code) = self.code_of(&step) else {
            return self.replay_failed(target, "the code of a state on the way is lost");
        };
        if let Some(Rebuild { from, .. }) = Rebuild::read(&code)
            && self.core.runnable(&from).is_err_and(|refused| refused.kind == Kind::Lost)
        {
            // It is older than what takes from it, so this ends.
            return match self.replay(&from) {
                Ok(other) => other.replays.push(target.clone()),
                Err(refused) => self.replay_failed(target, &refused.why),
            };
        }
        let exec_id = replay_id(target);
        transfers::run_on(&mut self.core, None, head, exec_id, code, false);
    }

    /// A cell of a replay has ended.
    pub(super) fn replayed(&mut self, target: &StateId, how: How, hazards: Hazards, remains: &Remains) {
        let Some(replay) = self.replays.get(target) else { return };
        let (head, step) = (replay.head, replay.steps[replay.done].clone());
        match how {
            How::Ok => {}
            How::Refused => return self.replay_failed(target, "a state on the way could not be kept"),
            How::Error(error) if remains.can_be_a_state() && self.has_failed_so(&step, &error) => {}
            How::Error(error) => {
                let number = self.core.notebook.state(&step).map_or(0, |s| s.exec_count);
                let is_partial = self.core.notebook.state(&step).is_some_and(|s| s.partial);
                let how = if is_partial { "failed in another way" } else { "failed" };
                let why = format!("this time the cell In[{number}] {how}: {}", error.in_words());
                return self.replay_failed(target, &why);
            }
        }
        let is_there = self.come_back(head, &step, hazards);
        let Some(replay) = self.replays.get_mut(target) else { return };
        replay.done += 1;
        let (done, total) = (replay.done, replay.steps.len());
        self.core.publish(Live::Replaying { state: target.clone(), done, total });
        if done < total {
            return self.run_step(target);
        }
        if is_there {
            self.core.discard(head);
        } else {
            self.core.processes.rest(head, step);
        }
        let Some(replay) = self.replays.remove(target) else { return };
        replay.spare.into_iter().for_each(|spare| self.core.end(spare));
        self.core.answer_all(replay.tickets, &Reply::Done);
        for waiting in replay.replays {
            self.run_step(&waiting);
        }
        for run in replay.runs {
            if let Some(request) = self.requests.get_mut(&run) {
                request.is_replayed = true;
            }
            self.begin(&run, target);
        }
    }

    /// Whether a cell has failed as it did when its state was made: what it had set until then is
    /// what is wanted. An interrupt does not come again by itself, and then any end will do.
    fn has_failed_so(&self, step: &StateId, error: &RunError) -> bool {
        let Some(state) = self.core.notebook.state(step).filter(|s| s.partial) else { return false };
        let run = state.exec_id.as_ref().and_then(|run| self.core.notebook.run(run));
        run.and_then(|run| run.error.as_ref()).is_some_and(|before| before.ename == error.ename)
    }

    /// A head stands at a state again: its frozen process is made anew, in place of one that had
    /// not everything. Answers whether there was no need for one: another replay has brought the
    /// state back meanwhile, and heads may be about to be forked from what it made.
    fn come_back(&mut self, head: ProcId, id: &StateId, hazards: Hazards) -> bool {
        self.core.processes.move_to(head, id);
        let Some(state) = self.core.notebook.state_mut(id) else { return false };
        let is_there = self.core.processes.frozen(id).is_some() && is_whole_in_memory(state);
        if is_there || state.residency == Residency::Deleted {
            let spare = self.core.spawn(Origin::fork(head, id), Duty::Spare, READY_TIMEOUT);
            if let Some(replay) = self.replays.values_mut().find(|r| r.head == head) {
                replay.spare.push(spare);
            }
            return is_there;
        }
        (state.residency, state.restored_from) = (Residency::Freezing, Some(RestoredFrom::Replay));
        (state.warnings, state.forks) = (hazards.warnings, hazards.forks);
        if self.core.due.is_broken(id) {
            state.saving = Saving::Idle;
        }
        let old = self.core.processes.frozen(id).and_then(|old| self.core.processes.remove(old).map(|_| old));
        self.core.spawn(Origin::fork(head, id), Duty::Frozen, READY_TIMEOUT);
        self.core.publish_state(id);
        self.core.effects.extend(old.map(Effect::Kill));
        false
    }

    /// A replay cannot go on. What came back on the way stays.
    pub(super) fn replay_failed(&mut self, target: &StateId, why: &str) {
        let Some(replay) = self.replays.remove(target) else { return };
        self.core.discard(replay.head);
        replay.spare.into_iter().for_each(|spare| self.core.end(spare));
        self.core.publish(Live::Replaying { state: target.clone(), done: 0, total: 0 });
        let how = "run its cells by hand and change what fails";
        let refused = Problem::new(Kind::Lost, format!("replay state {target}"), why, how);
        self.core.answer_all(replay.tickets, &Reply::Refused(refused));
        for waiting in replay.replays {
            self.replay_failed(&waiting, why);
        }
        for run in replay.runs {
            self.end(&run, RunStatus::Error, Some(RunError::new("ReplayFailed", why)));
        }
        self.serve_backlog();
    }

    /// Stops a replay that is known by the exec id of its runs; false when there is none.
    pub(super) fn stop_replay(&mut self, exec_id: &ExecId) -> bool {
        let target = self.replays.keys().find(|target| replay_id(target) == *exec_id).cloned();
        target.inspect(|target| self.replay_failed(target, "it was stopped")).is_some()
    }

    /// No replay can go on.
    pub(super) fn fail_all_replays(&mut self, why: &str) {
        let all: Vec<StateId> = self.replays.keys().cloned().collect();
        all.iter().for_each(|target| self.replay_failed(target, why));
    }
}

fn is_whole_in_memory(state: &State) -> bool {
    matches!(state.residency, Residency::Memory | Residency::Freezing) && !is_partial(state)
}

fn is_partial(state: &State) -> bool {
    matches!(&state.restored_from, Some(RestoredFrom::Checkpoint { missing }) if !missing.is_empty())
}

/// By this a replay can be interrupted.
fn replay_id(target: &StateId) -> ExecId {
    ExecId::new(format!("replay:{target}"))
}
