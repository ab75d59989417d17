//! Where the processes of a state come from: forked from the one that holds it, or loaded from its checkpoint by a fork of
//! the root.

use super::hangs::{READY_TIMEOUT, START_TIMEOUT};
use super::heads::{Doing, Head};
use super::states::is_new;
use super::{Alarm, Effect, Machine, Ticket, not_found};
use crate::kernel::{Exit, Load, ProcId, Role};
use crate::notebook::{ExecId, Form, Reply, Residency, RunError, RunStatus, Saving, StateId};
use crate::problem::{Kind, Problem};
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a process may take to load a checkpoint: gigabytes from a slow disk, and imports.
const LOAD_TIMEOUT: Duration = Duration::from_secs(600);

impl Machine {
    /// The process from which a state can be forked. The root is planted anew when it has gone, any other state is loaded
    /// from its checkpoint.
    pub(super) fn source_of(&mut self, state: &StateId) -> Option<ProcId> {
        if state.is_root() && self.root.is_none() {
            self.spawn_root();
        }
        if let Some(head) = self.heads.resting_at(state) {
            // The system may have refused to freeze it when it came to be.
            self.keep(head, state);
        }
        let held = self.frozen.get(state).copied();
        held.or_else(|| self.load(state))
    }

    /// Makes a state's frozen process from its checkpoint, as a fork of the root.
    fn load(&mut self, state: &StateId) -> Option<ProcId> {
        if state.is_root() || self.notebook.state(state).is_none_or(|s| s.residency != Residency::Disk) {
            return None;
        }
        let load = self.load_of(state)?;
        let root = self.source_of(&StateId::root())?;
        let frozen = self.new_proc();
        self.frozen.insert(state.clone(), frozen);
        self.loads.insert(frozen, state.clone());
        self.effects.push(Effect::Fork { from: root, child: frozen, role: Role::Frozen, load: Some(load) });
        self.effects.push(Effect::Wake(LOAD_TIMEOUT, Alarm::Ready(frozen)));
        self.memory.note_used(state);
        self.set_residency(state, Residency::Freezing);
        Some(frozen)
    }

    /// What a process is to load to be a state: objects only from a checkpoint of our own, else only plain values.
    fn load_of(&self, state: &StateId) -> Option<Load> {
        let there = self.notebook.state(state).filter(|s| s.residency != Residency::Deleted)?;
        let checkpoint = there.checkpoint.as_ref()?;
        let form = if checkpoint.is_trusted { checkpoint.form } else { Form::Data };
        let max_bytes = (!checkpoint.is_trusted).then(|| self.memory.of_a_run());
        Some(Load { manifest: checkpoint.checkpoint_id.clone(), form, max_bytes })
    }

    /// Why the process has died that was loading what nobody has vouched for; none when it was doing something else. What
    /// has ended it once would do so each time, and anybody who may look at the state could ask for it.
    pub(super) fn died_loading(&self, process: ProcId, exit: Option<Exit>) -> Option<String> {
        let head = self.heads.get(process).filter(|h| !h.is_killed && self.loads_itself(h));
        let state = self.loads.get(&process).or(head.map(|h| &h.at))?;
        let is_trusted = self.notebook.state(state)?.checkpoint.as_ref()?.is_trusted;
        match exit {
            _ if is_trusted => None,
            Some(Exit::Signal(signal)) if signal == Signal::SIGXCPU as i32 => Some(
                "its values took longer to load than files of their size may: trust the notebook if you know where it comes from"
                    .into(),
            ),
            Some(_) => Some("the process that loaded its values has died".into()),
            None => None,
        }
    }

    /// Makes a head at a state: forked from its process, or from the root and loaded when that process would hang in forks,
    /// or is not known to be safe yet. None when there is nothing to make it from.
    pub(super) fn branch(&mut self, state: &StateId, doing: Doing) -> Option<ProcId> {
        let is_ready = |process: &ProcId| !self.loads.contains_key(process);
        let is_there = self.frozen.get(state).is_some_and(is_ready);
        let load = if self.forks(state) && is_there { None } else { self.load_of(state) };
        let (from, limit) = match load {
            Some(_) => (self.source_of(&StateId::root())?, LOAD_TIMEOUT),
            None if self.is_starting(state) => (self.source_of(state)?, START_TIMEOUT),
            None => (self.source_of(state)?, READY_TIMEOUT),
        };
        let head = self.new_proc();
        self.heads.add(head, from, state.clone(), doing);
        if let Some(head) = self.heads.get_mut(head) {
            head.is_forked = load.is_none() && !state.is_root();
        }
        self.effects.push(Effect::Fork { from, child: head, role: Role::Head, load });
        self.effects.push(Effect::Wake(limit, Alarm::Ready(head)));
        Some(head)
    }

    fn is_starting(&self, state: &StateId) -> bool {
        state.is_root() && (self.root.is_none() || self.notebook.state(state).is_some_and(is_new))
    }

    /// Whether branches of a state are forked from its process.
    pub(super) fn forks(&self, state: &StateId) -> bool {
        self.notebook.state(state).is_none_or(|s| s.forks || s.fork_anyway)
    }

    /// Whether a branch has to wait until its state is loaded, which begins with this: only then is it known whether loading
    /// has started threads, so that the loaded process must not be forked.
    pub(super) fn has_to_wait_until_loaded(&mut self, state: &StateId) -> bool {
        if self.forks(state) {
            self.load(state);
        }
        self.forks(state) && self.loads.values().any(|loading| loading == state)
    }

    /// A run waits until its state is loaded.
    pub(super) fn wait_until_loaded(&mut self, exec_id: &ExecId, state: &StateId) {
        self.late_runs.entry(state.clone()).or_default().push(exec_id.clone());
        self.limit_waiting(exec_id);
    }

    /// The time for which a run waits for a load counts: nobody knows how long that takes.
    pub(super) fn limit_waiting(&mut self, exec_id: &ExecId) {
        if let Some(limit) = self.requests.get(exec_id).and_then(|r| r.timeout) {
            let alarm = Alarm::TimeLimit(exec_id.clone(), self.requests.serial(exec_id));
            self.effects.push(Effect::Wake(limit, alarm));
        }
    }

    /// A process is wanted for a state. Answers at once only when there is nothing to wait for.
    pub(super) fn ask_load(
        &mut self,
        ticket: Ticket,
        id: &StateId,
        replay: bool,
    ) -> Result<Option<Reply>, Problem> {
        let state = self.notebook.state(id).filter(|s| s.residency != Residency::Deleted);
        let state = state.ok_or_else(|| not_found("state", id))?;
        match state.residency {
            Residency::Replay if !id.is_root() && replay => return Ok(self.ask_replay(ticket, id)),
            Residency::Replay if !id.is_root() => {
                let why = "it has neither a process nor a checkpoint, only its code";
                let how = "ask with replay=true: its cells run again";
                return Err(Problem::new(Kind::Lost, format!("load state {id}"), why, how));
            }
            Residency::Disk => {
                self.load(id);
            }
            _ => {}
        }
        if !self.loads.values().any(|loading| loading == id) {
            return Ok(Some(Reply::Done));
        }
        self.load_tickets.entry(id.clone()).or_default().push(ticket);
        Ok(None)
    }

    /// Answers those who wait until a state is loaded.
    pub(super) fn answer_loads(&mut self, state: &StateId, reply: &Reply) {
        let tickets = self.load_tickets.remove(state).unwrap_or_default();
        self.answer_all(tickets, reply);
    }

    /// Begins the runs that have waited until a state is loaded, or cannot be any more.
    pub(super) fn begin_late_runs(&mut self, state: &StateId) {
        for run in self.late_runs.remove(state).unwrap_or_default() {
            self.begin(&run, state);
        }
    }

    /// Whether a branch has to come from a checkpoint that is not there yet.
    pub(super) fn has_to_wait_for_its_checkpoint(&self, state: &StateId) -> bool {
        !self.forks(state) && self.load_of(state).is_none() && self.frozen.contains_key(state)
    }

    /// A process could not load its checkpoint. What waits for it is told; the checkpoint stays as it is.
    pub(super) fn load_failed(&mut self, process: ProcId, why: &str) {
        let state = match self.loads.remove(&process) {
            Some(state) => {
                self.frozen.remove(&state);
                state
            }
            None => match self.heads.get(process).map(|h| h.at.clone()) {
                Some(state) => state,
                None => return,
            },
        };
        self.effects.push(Effect::Kill(process));
        let late = self.late_runs.remove(&state).unwrap_or_default().into_iter();
        let may_replay = |run: &ExecId| self.requests.get(run).is_some_and(|r| r.spec.replay);
        let (replayed, others): (Vec<ExecId>, Vec<ExecId>) = late.partition(may_replay);
        for run in others {
            self.end(&run, RunStatus::Error, Some(RunError::new("RestoreFailed", why)));
        }
        for head in self.heads.coming_to(&state) {
            let doing = self.heads.remove(head).map(|h| h.doing);
            self.effects.push(Effect::Kill(head));
            match doing {
                Some(Doing::Begin(run)) => {
                    self.end(&run, RunStatus::Error, Some(RunError::new("RestoreFailed", why)));
                }
                Some(Doing::Replay(target)) => self.replay_failed(&target, why),
                _ => {}
            }
        }
        let at_it = |looks: &BTreeMap<ProcId, (Vec<Ticket>, StateId)>| {
            looks.iter().filter(|(_, (_, at))| *at == state).map(|(p, _)| *p).collect::<Vec<_>>()
        };
        for look in at_it(&self.looks) {
            self.effects.push(Effect::Kill(look));
            self.fork_failed(look, why);
        }
        self.end_answers(&state, Kind::Kernel, why);
        let refused = Problem::new(
            Kind::Kernel,
            format!("load state {state}"),
            why,
            "save the state again, or replay it",
        );
        self.answer_loads(&state, &Reply::Refused(refused));
        self.end_senders_at(&state);
        if self.saver.is_at(&state) {
            self.stop_saving(&state);
        }
        if !self.frozen.contains_key(&state) {
            self.set_residency(&state, Residency::Replay);
        }
        self.saver.note_broken(&state);
        self.set_saving(&state, Saving::Failed { why: format!("its checkpoint could not be loaded: {why}") });
        for run in replayed {
            self.run_after_replay(&run, &state);
        }
        self.serve_backlog();
    }

    /// Whether a head is not there yet because its state is being loaded.
    pub(super) fn is_loading(&self, head: ProcId) -> bool {
        self.heads.get(head).is_some_and(|h| self.loads_itself(h)) || self.waits_for_a_load(head)
    }

    fn loads_itself(&self, head: &Head) -> bool {
        !head.is_ready && !head.at.is_root() && self.root == Some(head.from)
    }

    /// Whether a process cannot be there yet, as the one that it is forked from is still being loaded.
    pub(super) fn waits_for_a_load(&self, process: ProcId) -> bool {
        let head = self.heads.get(process).filter(|h| !h.is_ready).map(|h| &h.at);
        let at = head.or_else(|| self.looks.get(&process).map(|(_, at)| at));
        let at = at.or_else(|| self.answerers.state_of(process));
        let at = at.or_else(|| self.senders.coming_from(process));
        at.and_then(|at| self.frozen.get(at)).is_some_and(|frozen| self.loads.contains_key(frozen))
    }
}
