//! The registry of a notebook's processes. For each process, it has the purpose, and the state at
//! which the process is.
//!
//! `spawn` forks every process and sets an alarm for the case that the process is late. A process
//! that `end` kills is removed from the registry immediately, and its later reports are ignored.
//! Frozen processes are indexed by state, and other processes are listed separately. So the cost of
//! a cell does not depend on the number of states.

use super::duty::{Doing, Duty, Head, Sender};
use super::effect::{Alarm, Effect, Killed};
use crate::kernel::{Load, ProcId, Role};
use crate::notebook::{ExecId, StateId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Maximum number of resting heads. Each is a process at a state where the next cell is likely to
/// run.
const MAX_IDLE_HEADS: usize = 4;
/// Maximum number of cells that run at the same time in one notebook. Further cells wait.
const MAX_BUSY_HEADS: usize = 128;

/// A process of the notebook.
#[derive(Debug)]
pub(super) struct Process {
    /// The state that the process holds, is at, or works for. While a head runs a cell, this is the
    /// state that the cell runs against.
    pub(super) at: StateId,
    /// The purpose of the process.
    pub(super) duty: Duty,
    /// The process that it was forked from; none for the root.
    pub(super) from: Option<ProcId>,
    /// Whether the process has reported that it is ready.
    pub(super) is_ready: bool,
    /// Whether the process is loading a checkpoint. It does so before it is ready.
    pub(super) is_loading: bool,
    /// The process's private memory when last measured, in bytes; 0 before that. Only used for
    /// processes that hold states.
    bytes: u64,
}

/// From which process a process is forked, and at which state it will be.
#[derive(Debug)]
pub(super) struct Origin {
    /// The process that forks the new process.
    pub(super) from: ProcId,
    /// The state at which the new process will be.
    pub(super) at: StateId,
    /// The checkpoint that the new process loads before it is ready, if any.
    pub(super) load: Option<Load>,
}

impl Origin {
    /// The origin of a fork of a process that is at a state or holds it.
    pub(super) fn fork(from: ProcId, at: &StateId) -> Self {
        Self { from, at: at.clone(), load: None }
    }
}

/// All processes of a notebook.
#[derive(Debug, Default)]
pub(super) struct Processes {
    all: BTreeMap<ProcId, Process>,
    /// The process that holds each state. A state has at most one such process.
    by_state: BTreeMap<StateId, ProcId>,
    /// The processes that hold no state.
    working: BTreeSet<ProcId>,
    /// The private memory of all frozen processes that were measured, in bytes.
    bytes: u64,
    last: u64,
    rests: u64,
}

impl Processes {
    /// Starts the root process.
    pub(super) fn spawn_root(&mut self, effects: &mut Vec<Effect>) {
        let id = self.next_id();
        let (at, duty) = (StateId::root(), Duty::Root);
        self.insert(id, Process { at, duty, from: None, is_ready: false, is_loading: false, bytes: 0 });
        effects.push(Effect::SpawnRoot(id));
    }

    /// Forks a process, and sets an alarm for the case that the process is late.
    pub(super) fn spawn(
        &mut self,
        effects: &mut Vec<Effect>,
        origin: Origin,
        duty: Duty,
        deadline: Duration,
    ) -> ProcId {
        let Origin { from, at, load } = origin;
        let child = self.next_id();
        let role = match &duty {
            Duty::Root | Duty::Frozen | Duty::Spare => Role::Frozen,
            Duty::Head(_) | Duty::Held(_) | Duty::Ending => Role::Head,
            Duty::Saving(form) => Role::Save(*form),
            Duty::Listing(listing) => listing.role(),
            Duty::Answering(_) => Role::Answer,
            Duty::Fingerprinting => Role::Fingerprint,
            Duty::Sending(_) => Role::Send,
        };
        let is_loading = load.is_some();
        effects.push(match &duty {
            Duty::Sending(Sender { wanted, .. }) => Effect::Send { from, child, wanted: wanted.clone() },
            _ => Effect::Fork { from, child, role, load },
        });
        effects.push(Effect::Wake(deadline, Alarm::Late(child)));
        self.insert(child, Process { at, duty, from: Some(from), is_ready: false, is_loading, bytes: 0 });
        child
    }

    fn next_id(&mut self) -> ProcId {
        self.last += 1;
        ProcId(self.last)
    }

    fn insert(&mut self, id: ProcId, process: Process) {
        match process.duty {
            Duty::Root | Duty::Frozen => {
                self.by_state.insert(process.at.clone(), id);
            }
            _ => {
                self.working.insert(id);
            }
        }
        self.all.insert(id, process);
    }

    /// Finds a process that is in the registry.
    pub(super) fn get(&self, id: ProcId) -> Option<&Process> {
        self.all.get(&id)
    }

    /// Finds a process, to change it. The caller must not change the state or the kind of duty,
    /// because the indexes depend on them.
    pub(super) fn get_mut(&mut self, id: ProcId) -> Option<&mut Process> {
        self.all.get_mut(&id)
    }

    /// Removes a process from the registry and returns it.
    pub(super) fn remove(&mut self, id: ProcId) -> Option<Process> {
        let process = self.all.remove(&id)?;
        self.working.remove(&id);
        if self.by_state.get(&process.at) == Some(&id) {
            self.by_state.remove(&process.at);
        }
        self.bytes = self.bytes.saturating_sub(process.bytes);
        Some(process)
    }

    /// Kills a process and removes it from the registry.
    pub(super) fn end(&mut self, id: ProcId, effects: &mut Vec<Effect>) -> Option<Process> {
        effects.push(Effect::Kill(id, Killed::NotNeeded));
        self.remove(id)
    }

    /// The state at which a process is.
    pub(super) fn at(&self, id: ProcId) -> Option<&StateId> {
        self.all.get(&id).map(|process| &process.at)
    }

    /// The processes that hold no state.
    pub(super) fn working(&self) -> impl Iterator<Item = (ProcId, &Process)> {
        self.working.iter().filter_map(|id| Some((*id, self.all.get(id)?)))
    }

    fn working_at(&self, state: &StateId) -> impl Iterator<Item = (ProcId, &Process)> {
        self.working().filter(move |(_, process)| &process.at == state)
    }

    /// The processes at a state that do not hold the state, and for whose duty `fits` returns true.
    pub(super) fn of(&self, state: &StateId, fits: impl Fn(&Duty) -> bool) -> Vec<ProcId> {
        self.working_at(state).filter(|(_, process)| fits(&process.duty)).map(|(id, _)| id).collect()
    }

    /// All processes that hold no state, and for whose duty `fits` returns true.
    pub(super) fn all_of(&self, fits: impl Fn(&Duty) -> bool) -> Vec<ProcId> {
        self.working().filter(|(_, process)| fits(&process.duty)).map(|(id, _)| id).collect()
    }
}

/// Processes that hold states.
impl Processes {
    /// The root process, if it runs.
    pub(super) fn root(&self) -> Option<ProcId> {
        let root = self.frozen(&StateId::root())?;
        matches!(self.get(root)?.duty, Duty::Root).then_some(root)
    }

    /// The process that holds a state, its frozen process.
    pub(super) fn frozen(&self, state: &StateId) -> Option<ProcId> {
        self.by_state.get(state).copied()
    }

    /// The state that a process holds.
    pub(super) fn held_by(&self, id: ProcId) -> Option<&StateId> {
        self.at(id).filter(|state| self.frozen(state) == Some(id))
    }

    /// Takes the process of a state out of the index, because another one will hold the state.
    /// Returns the process.
    pub(super) fn set_aside(&mut self, state: &StateId) -> Option<ProcId> {
        let id = self.by_state.remove(state)?;
        self.working.insert(id);
        let process = self.all.get_mut(&id)?;
        self.bytes = self.bytes.saturating_sub(std::mem::take(&mut process.bytes));
        process.duty = Duty::Spare;
        Some(id)
    }

    /// Whether a process has been ordered to fork processes that are not ready.
    pub(super) fn has_unready_forks(&self, id: ProcId) -> bool {
        self.working().any(|(_, process)| process.from == Some(id) && !process.is_ready)
    }

    /// Whether the process of a state is still loading the state.
    pub(super) fn is_being_loaded(&self, state: &StateId) -> bool {
        self.frozen(state).and_then(|id| self.get(id)).is_some_and(|process| process.is_loading)
    }

    /// Whether a process is not ready because the process that it is forked from is still loading
    /// its state.
    pub(super) fn waits_for_a_load(&self, id: ProcId) -> bool {
        let is_held = self.held_by(id).is_some();
        self.get(id).is_some_and(|process| !process.is_ready && !is_held && self.is_being_loaded(&process.at))
    }

    /// The number of processes that hold states.
    pub(super) fn frozen_count(&self) -> usize {
        self.by_state.len()
    }

    /// Removes the processes that hold states from the registry, except the root process. Returns
    /// the removed processes.
    pub(super) fn take_frozen(&mut self) -> Vec<ProcId> {
        let root = self.root();
        let others: Vec<ProcId> = self.by_state.values().copied().filter(|id| Some(*id) != root).collect();
        others.into_iter().filter(|id| self.remove(*id).is_some()).collect()
    }

    /// Notes the private memory of a process that holds a state, in bytes.
    pub(super) fn note_bytes(&mut self, id: ProcId, now: u64) {
        if self.held_by(id).is_some()
            && let Some(process) = self.all.get_mut(&id)
        {
            self.bytes = self.bytes.saturating_sub(process.bytes).saturating_add(now);
            process.bytes = now;
        }
    }

    /// The private memory of all frozen processes that were measured, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Processes that run cells.
impl Processes {
    /// The data of a head. None if the process is not a head.
    pub(super) fn head(&self, id: ProcId) -> Option<&Head> {
        match &self.all.get(&id)?.duty {
            Duty::Head(head) => Some(head),
            _ => None,
        }
    }

    pub(super) fn head_mut(&mut self, id: ProcId) -> Option<&mut Head> {
        match &mut self.all.get_mut(&id)?.duty {
            Duty::Head(head) => Some(head),
            _ => None,
        }
    }

    fn heads(&self) -> impl Iterator<Item = (ProcId, &Process, &Head)> {
        self.working().filter_map(|(id, process)| match &process.duty {
            Duty::Head(head) => Some((id, process, head)),
            _ => None,
        })
    }

    fn heads_at(&self, state: &StateId) -> impl Iterator<Item = (ProcId, &Process, &Head)> {
        self.heads().filter(move |(_, process, _)| &process.at == state)
    }

    /// Whether all heads at a state rest.
    pub(super) fn only_rest_at(&self, state: &StateId) -> bool {
        self.heads_at(state).all(|(_, process, head)| process.is_ready && head.doing == Doing::Rest)
    }

    /// Finds a head that rests at a state.
    pub(super) fn resting_at(&self, state: &StateId) -> Option<ProcId> {
        self.heads_at(state).find(|(_, _, head)| head.doing == Doing::Rest).map(|(id, ..)| id)
    }

    /// Finds a head that runs the code of widgets at a state.
    pub(super) fn handling_at(&self, state: &StateId) -> Option<ProcId> {
        self.heads_at(state).find(|(_, _, head)| matches!(head.doing, Doing::Handle(_))).map(|(id, ..)| id)
    }

    /// The run that shows the outputs of a head: that of its cell, or of its widgets.
    pub(super) fn shown_by(&self, id: ProcId) -> Option<ExecId> {
        match &self.head(id)?.doing {
            Doing::Handle(run) => Some(run.clone()),
            doing => doing.run().cloned(),
        }
    }

    /// Whether a ready head is at a state and has not begun another cell.
    pub(super) fn has_head_at(&self, state: &StateId) -> bool {
        let has_left = |doing: &Doing| matches!(doing, Doing::Run(_) | Doing::Replay(_));
        self.heads_at(state).any(|(_, process, head)| process.is_ready && !has_left(&head.doing))
    }

    /// Finds the head that runs or is about to run the cell of a run.
    pub(super) fn of_run(&self, run: &ExecId) -> Option<ProcId> {
        self.heads().find(|(_, _, head)| head.doing.run() == Some(run)).map(|(id, ..)| id)
    }

    /// Notes that the cell of a head has begun, and returns its run.
    pub(super) fn begin_run(&mut self, id: ProcId) -> Option<ExecId> {
        let process = self.all.get_mut(&id)?;
        let Duty::Head(head) = &mut process.duty else { return None };
        let run = head.doing.run().cloned()?;
        head.doing = Doing::Run(run.clone());
        (process.is_ready, process.is_loading) = (true, false);
        Some(run)
    }

    /// The run whose cell a head runs or is about to run.
    pub(super) fn run_of(&self, id: ProcId) -> Option<ExecId> {
        self.head(id)?.doing.run().cloned()
    }

    /// Whether another cell may begin now.
    pub(super) fn has_room(&self) -> bool {
        self.busy() < MAX_BUSY_HEADS
    }

    /// The number of heads that do not rest.
    pub(super) fn busy(&self) -> usize {
        self.heads().filter(|(_, _, head)| head.doing != Doing::Rest).count()
    }

    /// Notes that a head rests at a state.
    pub(super) fn rest(&mut self, id: ProcId, at: StateId) {
        self.rests += 1;
        let rested = self.rests;
        if let Some(process) = self.all.get_mut(&id)
            && let Duty::Head(head) = &mut process.duty
        {
            (head.doing, head.rested) = (Doing::Rest, rested);
            process.at = at;
        }
    }

    /// Notes that a head is at another state.
    pub(super) fn move_to(&mut self, id: ProcId, at: &StateId) {
        if let Some(process) = self.all.get_mut(&id) {
            process.at.clone_from(at);
        }
    }

    /// The resting heads beyond the limit, which have rested longest. A head whose state is not
    /// frozen yet is never returned, because its state would be lost.
    pub(super) fn too_many(&self, is_frozen: impl Fn(&StateId) -> bool) -> Vec<ProcId> {
        let resting = self.heads().filter(|(_, _, head)| head.doing == Doing::Rest && !head.is_needed);
        let mut resting: Vec<_> = resting.map(|(id, process, head)| (head.rested, id, &process.at)).collect();
        resting.sort_unstable();
        let count = resting.len().saturating_sub(MAX_IDLE_HEADS);
        resting.into_iter().take(count).filter(|(_, _, at)| is_frozen(at)).map(|(_, id, _)| id).collect()
    }

    /// Whether a head is at a state or is being forked from the state's process.
    pub(super) fn needs(&self, state: &StateId) -> bool {
        self.heads_at(state)
            .any(|(_, process, head)| !process.is_ready || !matches!(head.doing, Doing::Run(_)))
    }

    /// The heads that will be at a state when they are ready.
    pub(super) fn coming_to(&self, state: &StateId) -> Vec<ProcId> {
        self.heads_at(state).filter(|(_, process, _)| !process.is_ready).map(|(id, ..)| id).collect()
    }

    /// Notes the reason why a state could not be frozen, in the heads that are at the state.
    pub(super) fn note_refusal(&mut self, state: &StateId, why: &str) {
        let ready = |(id, process, _): (ProcId, &Process, &Head)| process.is_ready.then_some(id);
        for id in self.heads_at(state).filter_map(ready).collect::<Vec<_>>() {
            if let Some(head) = self.head_mut(id) {
                head.refusal = Some(why.to_owned());
            }
        }
    }

    /// The reason why a state could not be frozen, as noted in a head at the state.
    pub(super) fn refusal_at(&self, state: &StateId) -> Option<&str> {
        self.heads_at(state).find_map(|(_, _, head)| head.refusal.as_deref())
    }

    /// The state that a head replays.
    pub(super) fn replaying(&self, id: ProcId) -> Option<StateId> {
        match &self.head(id)?.doing {
            Doing::Replay(target) => Some(target.clone()),
            _ => None,
        }
    }

    /// Notes that a head is held because its cell failed.
    pub(super) fn hold(&mut self, id: ProcId) {
        self.change_duty(id, |duty| match duty {
            Duty::Head(head) => Duty::Held(head),
            other => other,
        });
    }

    /// Notes that a held head may run cells again.
    pub(super) fn release(&mut self, id: ProcId) {
        self.change_duty(id, |duty| match duty {
            Duty::Held(head) => Duty::Head(head),
            other => other,
        });
    }

    /// Kills a held head. The head stays in the registry until it has exited.
    pub(super) fn end_held(&mut self, id: ProcId, effects: &mut Vec<Effect>) {
        effects.push(Effect::Kill(id, Killed::NotNeeded));
        self.change_duty(id, |_| Duty::Ending);
    }

    fn change_duty(&mut self, id: ProcId, change: impl FnOnce(Duty) -> Duty) {
        if let Some(process) = self.all.get_mut(&id) {
            process.duty = change(std::mem::replace(&mut process.duty, Duty::Ending));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(n: u32) -> StateId {
        StateId::new(format!("s{n}"))
    }

    fn freeze(processes: &mut Processes, n: u32) -> ProcId {
        let origin = Origin::fork(ProcId(1), &state(n));
        processes.spawn(&mut Vec::new(), origin, Duty::Frozen, Duration::ZERO)
    }

    #[test]
    fn the_sum_of_bytes_follows_what_is_measured_and_what_goes() {
        let mut processes = Processes::default();
        processes.spawn_root(&mut Vec::new());
        let (first, second) = (freeze(&mut processes, 1), freeze(&mut processes, 2));
        processes.note_bytes(first, 10);
        processes.note_bytes(second, 100);
        processes.note_bytes(first, 30);
        processes.note_bytes(ProcId(9), 1000);
        assert_eq!(processes.bytes(), 130);
        processes.remove(second);
        let third = freeze(&mut processes, 2);
        assert_eq!((processes.bytes(), processes.held_by(second), processes.frozen_count()), (30, None, 3));
        assert_eq!(processes.take_frozen(), vec![first, third]);
        assert_eq!((processes.bytes(), processes.held_by(ProcId(1))), (0, Some(&StateId::root())));
    }

    #[test]
    fn every_fork_comes_with_its_alarm() {
        let (mut processes, mut effects) = (Processes::default(), Vec::new());
        let origin = Origin::fork(ProcId(7), &state(1));
        let deadline = Duration::from_secs(3);
        let child = processes.spawn(&mut effects, origin, Duty::Fingerprinting, deadline);
        let fork = Effect::Fork { from: ProcId(7), child, role: Role::Fingerprint, load: None };
        assert_eq!(effects, vec![fork, Effect::Wake(deadline, Alarm::Late(child))]);
        assert_eq!(processes.of(&state(1), |duty| matches!(duty, Duty::Fingerprinting)), vec![child]);
        processes.end(child, &mut effects);
        assert!(
            processes.get(child).is_none() && effects.last() == Some(&Effect::Kill(child, Killed::NotNeeded))
        );
    }
}
