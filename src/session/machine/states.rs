//! The life of a state and of the processes that hold it: grown, frozen, looked at, lost, deleted.

use super::cancel::interrupted;
use super::hangs::{Hazards, READY_TIMEOUT};
use super::heads::Doing;
use super::{Alarm, Effect, Machine, Ticket, not_found};
use crate::kernel::{Exit, ProcId, Role};
use crate::notebook::{
    Base, ExecId, Fact, Form, Missing, Reply, Residency, RestoredFrom, RunStatus, Saving, State, StateId,
    Variable,
};
use crate::problem::{Kind, Problem};
use std::time::Duration;

/// How many states may be looked at at once: each look is a process, and view links may look too.
const MAX_LISTINGS: usize = 8;
/// What a state says whose head could not make its process.
const NOT_KEPT: &str =
    "its process could not be made: a run against it tries that again first, and until then it could be lost";
/// What a run is told that was going on when the server stopped.
const STOPPED: &str = "interrupted by server stop";
/// How long a look at variables may take.
const LOOK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long reading all values of a state may take; its process stops by itself before, and tells what it has.
const DIGEST_TIMEOUT: Duration = Duration::from_secs(60);

impl Machine {
    /// The notebook was opened: its first process starts, and runs that the last server did not see the end of are over.
    pub(super) fn opened(&mut self) {
        self.spawn_root();
        for run in self.open.clone() {
            self.end(&run, RunStatus::Interrupted, Some(interrupted(STOPPED)));
        }
    }

    /// The notebook is about to be closed: cells that run are over, and what can still be saved is saved without waiting for
    /// a moment of rest.
    pub(super) fn closing(&mut self) {
        self.fail_all_replays(STOPPED);
        self.backlog.clear();
        for run in self.open.clone() {
            if let Some(head) = self.heads.of_run(&run) {
                self.discard(head);
            }
            self.end(&run, RunStatus::Interrupted, Some(interrupted(STOPPED)));
        }
        self.saver.in_haste = true;
        self.save_next();
    }

    /// Starts the root process.
    pub(super) fn spawn_root(&mut self) {
        let root = self.new_proc();
        self.root = Some(root);
        self.frozen.insert(StateId::root(), root);
        self.effects.push(Effect::SpawnRoot(root));
    }

    /// Adds the state that a run leaves.
    pub(super) fn grow(
        &mut self,
        parent: &StateId,
        exec_id: &ExecId,
        name: Option<String>,
        exec_count: u32,
        hazards: Hazards,
        partial: bool,
    ) -> StateId {
        let id = StateId::new((self.new_id)());
        let mut state = State::new(id.clone(), Some(parent.clone()), Some(exec_id.clone()), self.now_ms);
        state.name = name.unwrap_or(state.name);
        (state.exec_count, state.warnings, state.forks) = (exec_count, hazards.warnings, hazards.forks);
        state.partial = partial;
        let renamed = self.notebook.add_state(state.clone());
        if let Some(earlier) = renamed {
            self.publish_state(&earlier);
        }
        self.publish(Fact::StateAdded { state });
        id
    }

    /// Makes sure that a frozen process holds the state at which a head rests, before the head runs on.
    pub(super) fn keep(&mut self, head: ProcId, state: &StateId) {
        if self.frozen.contains_key(state) {
            return;
        }
        let frozen = self.new_proc();
        self.frozen.insert(state.clone(), frozen);
        self.effects.push(Effect::Fork { from: head, child: frozen, role: Role::Frozen, load: None });
        self.effects.push(Effect::Wake(READY_TIMEOUT, Alarm::Ready(frozen)));
    }

    /// Whether a head that is about to run on may not have made the frozen process of its state yet: without either, the
    /// state would be lost.
    pub(super) fn may_have_to_freeze(&self, head: ProcId) -> bool {
        let stands_there = self.heads.get(head).filter(|h| h.is_ready && matches!(h.doing, Doing::Begin(_)));
        let state = stands_there.and_then(|h| self.notebook.state(&h.at));
        state.is_some_and(|s| s.residency == Residency::Freezing)
    }

    /// Whether a state can be run against.
    pub(super) fn runnable(&self, id: &StateId) -> Result<(), Problem> {
        let state = self.notebook.state(id).filter(|s| s.residency != Residency::Deleted);
        let state = state.ok_or_else(|| not_found("state", id))?;
        // The root can be planted again; any other state is its process.
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

    /// A process says that it is what it was forked to be.
    pub(super) fn ready(&mut self, process: ProcId, missing: Vec<Missing>, hazard: Option<String>) {
        self.answerer_is_ready(process);
        self.is_sending(process);
        if let Some(head) = self.heads.get_mut(process) {
            head.is_ready = true;
            let at = head.at.clone();
            if !missing.is_empty() {
                self.set_revival(&at, missing, true);
            }
        } else if let Some(state) = self.state_of(process) {
            let is_loaded = self.loads.remove(&process).is_some();
            if is_loaded || !missing.is_empty() {
                self.set_revival(&state, missing, is_loaded);
            }
            if is_loaded {
                self.note_hazard(&state, hazard);
            }
            self.note_whether_kept(&state, true);
            self.set_residency(&state, Residency::Memory);
            self.answer_loads(&state, &Reply::Done);
            self.begin_late_runs(&state);
            self.compare_soon(&state);
            self.let_idle_heads_go();
            self.measure_soon(&state);
            self.live_within_budget();
            self.save_next();
        }
    }

    /// A state is not what its cell left: it came from a checkpoint, or grew from a state that did and lacks names.
    fn set_revival(&mut self, id: &StateId, missing: Vec<Missing>, is_loaded: bool) {
        self.digesters.forget(id);
        if let Some(state) = self.notebook.state_mut(id) {
            // What could not be loaded was not known when the checkpoint was written.
            let checkpoint = state.checkpoint.as_mut().filter(|c| is_loaded && c.is_trusted);
            if let Some(checkpoint) = checkpoint.filter(|c| c.form == Form::Environment) {
                checkpoint.missing.clone_from(&missing);
            }
            state.restored_from = Some(RestoredFrom::Checkpoint { missing });
            self.publish_state(id);
            self.note_may_go(id);
        }
    }

    fn let_idle_heads_go(&mut self) {
        let in_memory =
            |id: &StateId| self.notebook.state(id).is_some_and(|s| s.residency == Residency::Memory);
        for head in self.heads.too_many(in_memory) {
            self.discard(head);
        }
    }

    pub(super) fn state_of(&self, frozen: ProcId) -> Option<StateId> {
        self.frozen.state_of(frozen).cloned()
    }

    pub(super) fn set_residency(&mut self, id: &StateId, living: Residency) {
        let Some(state) = self.notebook.state_mut(id).filter(|s| s.residency != Residency::Deleted) else {
            return;
        };
        if state.residency != living {
            state.residency = living;
            self.publish_state(id);
            self.note_may_be_due(id);
        }
    }

    /// The root could not start Python: everybody who waits is told why.
    pub(super) fn root_failed(&mut self, process: ProcId, why: &str) {
        if self.root != Some(process) {
            return;
        }
        self.root = None;
        self.frozen.remove(&StateId::root());
        if let Some(root) = self.notebook.state_mut(&StateId::root()) {
            root.warnings = vec![why.to_owned()];
            root.residency =
                if root.residency == Residency::Deleted { Residency::Deleted } else { Residency::Replay };
            self.publish_state(&StateId::root());
        }
        self.fail_all_replays(why);
        for head in self.heads.take_all() {
            self.effects.push(Effect::Kill(head));
        }
        for run in self.open.clone() {
            self.head_not_made(&run, why);
        }
    }

    /// A process is gone.
    pub(super) fn gone(&mut self, process: ProcId, exit: Option<Exit>) {
        if self.held_is_gone(process, exit) {
            return;
        }
        if let Some(why) = self.died_loading(process, exit) {
            return self.load_failed(process, &why);
        }
        if let Some(head) = self.heads.remove(process) {
            match head.doing {
                Doing::Rest => {}
                Doing::Run(run) => self.head_gone(&run, exit),
                // It died at rest, unnoticed: the state has not changed, so another head can take over.
                Doing::Begin(run) if self.is_stopping(&run) => self.head_gone(&run, exit),
                Doing::Begin(run) if head.is_ready => self.begin(&run, &head.at),
                Doing::Begin(run) => self.begin_again(&run, head.from, &head.at),
                Doing::Replay(target) => self.replay_failed(&target, "the process that ran its cells died"),
            }
            self.left(&head.at);
        } else if let Some((tickets, state)) = self.looks.remove(&process) {
            let why = "the process that looked has died";
            let how = "some variable's repr may have ended it";
            let refused = Problem::new(Kind::Kernel, format!("look at state {state}"), why, how);
            self.answer_all(tickets, &Reply::Refused(refused));
        } else if self.has_sent(process) {
            // The head that reads has its end, or finds that it is too early.
        } else if self.answerers.has(process) {
            self.end_answerer(process, Kind::Kernel, "the process that answers has died");
        } else if self.comparer.is_marking(process) {
            self.not_marked(process);
        } else if self.saved_by(process).is_some() {
            self.saving_failed(process, "the process that wrote it died");
        } else if self.root == Some(process) && self.notebook.state(&StateId::root()).is_some_and(is_new) {
            self.root_failed(process, "Python ended while it was starting; the terminal may say more");
        } else if let Some(state) = self.state_of(process) {
            self.frozen_gone(&state);
        }
    }

    /// A frozen process is gone: if a head still rests at its state it is frozen again, else the state is lost.
    fn frozen_gone(&mut self, state: &StateId) {
        if state.is_root() {
            self.root = None;
        }
        self.loads.retain(|_, s| s != state);
        let was_ready = self.notebook.state(state).is_some_and(|s| s.residency == Residency::Memory);
        if !was_ready {
            // It could not become what it was forked to be, and another one could not either.
            return self.not_kept(state);
        }
        self.frozen.remove(state);
        self.set_residency(state, Residency::Freezing);
        match self.heads.resting_at(state) {
            Some(head) => self.keep(head, state),
            None => self.left(state),
        }
    }

    /// A head has left a state: if nothing else holds it, it lives on disk, or nowhere.
    pub(super) fn left(&mut self, id: &StateId) {
        if self.frozen.contains_key(id) || self.heads.hold(id) {
            return;
        }
        let has_checkpoint =
            self.notebook.state(id).is_some_and(|s| s.checkpoint.is_some() && !s.id.is_root());
        if let Some(state) = self.notebook.state_mut(id) {
            (state.restored_from, state.memory_bytes) = (None, None);
        }
        // One whose checkpoint could not be loaded stays what it is.
        let is_known = self.notebook.state(id).is_some_and(|s| s.residency == Residency::Replay);
        if !is_known {
            self.set_residency(id, if has_checkpoint { Residency::Disk } else { Residency::Replay });
        }
    }

    /// The system refused another process: whoever waits for it may ask again later.
    pub(super) fn fork_refused(&mut self, child: ProcId, why: &str) {
        if let Some(run) = self.heads.get(child).and_then(|h| h.doing.run().cloned()) {
            self.heads.remove(child);
            self.refuse_run(&run, why);
        } else {
            if let Some(state) = self.state_of(child) {
                self.heads.note_refusal(&state, why);
                self.refuse_branches(&state, why);
            }
            self.fork_failed(child, why);
        }
    }

    /// A frozen process will not come to be: those that were to be forked from it will not either.
    fn refuse_branches(&mut self, state: &StateId, why: &str) {
        if !self.forks(state) {
            return;
        }
        for head in self.heads.coming_to(state) {
            self.effects.push(Effect::Kill(head));
            match self.heads.remove(head).map(|h| h.doing) {
                Some(Doing::Begin(run) | Doing::Run(run)) => self.refuse_run(&run, why),
                Some(Doing::Replay(target)) => self.replay_failed(&target, why),
                Some(Doing::Rest) | None => {}
            }
        }
    }

    /// A process could not be made.
    pub(super) fn fork_failed(&mut self, child: ProcId, why: &str) {
        if self.root == Some(child) {
            return self.root_failed(child, why);
        }
        if let Some(head) = self.heads.remove(child) {
            match head.doing {
                Doing::Begin(run) | Doing::Run(run) => self.head_not_made(&run, why),
                Doing::Replay(target) => self.replay_failed(&target, why),
                Doing::Rest => {}
            }
        } else if self.has_sent(child) {
            // The pipe is closed, which the head finds.
        } else if self.answerers.has(child) {
            self.end_answerer(child, Kind::Kernel, why);
        } else if self.comparer.is_marking(child) {
            self.not_marked(child);
        } else if self.saved_by(child).is_some() {
            self.saving_failed(child, why);
        } else if let Some((tickets, state)) = self.looks.remove(&child) {
            let refused =
                Problem::new(Kind::Kernel, format!("look at state {state}"), why, "try again later");
            self.answer_all(tickets, &Reply::Refused(refused));
        } else if let Some(state) = self.state_of(child) {
            self.not_kept(&state);
        }
    }

    /// A state could not be frozen. While its head rests there nothing is lost: it is tried again before the next cell.
    fn not_kept(&mut self, state: &StateId) {
        let process = self.frozen.remove(state);
        if let Some(process) = process {
            self.loads.remove(&process);
        }
        let (what, why) = (format!("look at state {state}"), "the process that was to be it has died");
        self.end_looks(state, &Problem::new(Kind::Kernel, what, why, "try again"));
        let refused = Problem::new(Kind::Kernel, format!("load state {state}"), why, "try again");
        self.answer_loads(state, &Reply::Refused(refused));
        self.end_answers(state, Kind::Kernel, why);
        self.note_whether_kept(state, state.is_root() || !self.heads.hold(state));
        self.set_residency(state, Residency::Freezing);
        self.left(state);
        if let Some(process) = process {
            for run in self.late_runs.remove(state).unwrap_or_default() {
                self.begin_again(&run, process, state);
            }
        }
    }

    /// A state that only its head holds says so: a run against it has to freeze it first.
    fn note_whether_kept(&mut self, id: &StateId, is_kept: bool) {
        let Some(state) = self.notebook.state_mut(id) else { return };
        let known = state.warnings.iter().position(|warning| warning == NOT_KEPT);
        match known {
            Some(at) if is_kept => drop(state.warnings.remove(at)),
            None if !is_kept => state.warnings.push(NOT_KEPT.to_owned()),
            _ => return,
        }
        self.publish_state(id);
    }

    /// Ends all looks at a state: it is gone, and nothing would come of them.
    fn end_looks(&mut self, state: &StateId, refused: &Problem) {
        let theirs: Vec<ProcId> =
            self.looks.iter().filter(|(_, (_, at))| at == state).map(|(p, _)| *p).collect();
        for look in theirs {
            self.effects.push(Effect::Kill(look));
            if let Some((tickets, _)) = self.looks.remove(&look) {
                self.answer_all(tickets, &Reply::Refused(refused.clone()));
            }
        }
    }

    /// Ends a head; nothing more is heard from it.
    pub(super) fn discard(&mut self, head: ProcId) {
        self.effects.push(Effect::Kill(head));
        if let Some(head) = self.heads.remove(head) {
            self.left(&head.at);
        }
    }

    /// Looks at the variables of a state. Answers at once only when it cannot.
    pub(super) fn list_variables(&mut self, ticket: Ticket, state: &StateId, role: Role) -> Option<Reply> {
        if let Err(refused) = self.runnable(state) {
            return Some(Reply::Refused(refused));
        }
        let is_digest = role == Role::Digest;
        let digesters = &self.digesters;
        let same = |(look, (_, at)): &(&ProcId, &mut (Vec<Ticket>, StateId))| {
            at == state && digesters.has(**look) == is_digest
        };
        if let Some((_, (tickets, _))) = self.looks.iter_mut().find(same) {
            tickets.push(ticket);
            return None;
        }
        let busy = |why| {
            Some(Reply::Refused(Problem::new(Kind::Busy, format!("look at state {state}"), why, "try again")))
        };
        if self.looks.len() >= MAX_LISTINGS {
            return busy("too many states are being looked at");
        }
        let Some(frozen) = self.source_of(state) else { return busy("its process is being made again") };
        self.memory.note_used(state);
        let look = self.new_proc();
        self.looks.insert(look, (vec![ticket], state.clone()));
        if is_digest {
            self.digesters.add(look);
        }
        self.effects.push(Effect::Fork { from: frozen, child: look, role, load: None });
        self.effects.push(Effect::Wake(self.listing_limit(look), Alarm::Looked(look)));
        None
    }

    /// A look has brought the variables.
    pub(super) fn looked(&mut self, process: ProcId, variables: Vec<Variable>) {
        if let Some((tickets, _)) = self.looks.remove(&process) {
            self.answer_all(tickets, &Reply::Variables { variables });
        }
    }

    fn listing_limit(&self, look: ProcId) -> Duration {
        if self.digesters.has(look) { DIGEST_TIMEOUT } else { LOOK_TIMEOUT }
    }

    /// A look takes too long.
    pub(super) fn listing_took_too_long(&mut self, process: ProcId) {
        let is_waiting = self.waits_for_a_load(process);
        // One that waited for its state to be loaded has its whole time after that.
        let was_waiting = self.late_looks.remove(&process) && self.looks.contains_key(&process);
        if is_waiting {
            self.late_looks.insert(process);
        }
        if is_waiting || was_waiting {
            return self.effects.push(Effect::Wake(self.listing_limit(process), Alarm::Looked(process)));
        }
        if let Some((tickets, state)) = self.looks.remove(&process) {
            self.effects.push(Effect::Kill(process));
            let why = format!("it took longer than {} s", self.listing_limit(process).as_secs());
            let how = "the machine is busy, or some variable is slow to show; try again, or print what you need in a cell";
            let refused = Problem::new(Kind::Timeout, format!("look at state {state}"), why, how);
            self.answer_all(tickets, &Reply::Refused(refused));
        }
    }

    /// Changes what is not immutable about a state.
    pub(super) fn change_state(&mut self, id: &StateId, change: impl FnOnce(&mut State)) -> Reply {
        let Some(state) = self.notebook.state_mut(id).filter(|s| s.residency != Residency::Deleted) else {
            return Reply::Refused(not_found("state", id));
        };
        change(state);
        self.publish_state(id);
        Reply::Done
    }

    /// Deletes a state and ends its processes. States that grew from it live on, and so do runs that began from it.
    pub(super) fn delete_state(&mut self, id: &StateId) -> Reply {
        let before: Vec<StateId> = self.notebook.lineage(id).iter().map(|s| s.id.clone()).collect();
        match self.take_out(id) {
            Some((states, runs)) => {
                self.publish_state(id);
                self.publish_removed(&before, states, runs);
            }
            None => return Reply::Refused(not_found("state", id)),
        }
        self.sweep_imported();
        // What was being saved may have been what others waited for.
        self.save_next();
        Reply::Done
    }

    /// Deletes a state and all that grew from it, and stops what runs there.
    pub(super) fn delete_subtree(&mut self, id: &StateId) -> Reply {
        if id.is_root() {
            let why = "every notebook grows from it";
            return Reply::Refused(Problem::new(
                Kind::Conflict,
                "delete state initial",
                why,
                "start over instead",
            ));
        }
        if !self.notebook.state(id).is_some_and(|s| s.residency != Residency::Deleted) {
            return Reply::Refused(not_found("state", id));
        }
        let before: Vec<StateId> = self.notebook.lineage(id).iter().map(|s| s.id.clone()).collect();
        let subtree = self.notebook.subtree(id);
        self.stop_runs_on(&subtree);
        let (mut states, mut runs) = (Vec::new(), Vec::new());
        // Each is a leaf when its turn comes.
        for id in subtree.iter().rev() {
            let (gone, ended) = self.take_out(id).unwrap_or_default();
            states.extend(gone);
            runs.extend(ended);
        }
        self.publish_removed(&before, states, runs);
        self.sweep_imported();
        self.serve_backlog();
        self.save_next();
        Reply::Done
    }

    /// Takes a state out of the graph, with the processes that hold it, and ends what waits for it. Answers what left.
    fn take_out(&mut self, id: &StateId) -> Option<(Vec<StateId>, Vec<ExecId>)> {
        let (states, runs) = self.notebook.delete_state(id)?;
        if *id != StateId::root()
            && let Some(frozen) = self.frozen.remove(id)
        {
            self.loads.remove(&frozen);
            self.effects.push(Effect::Kill(frozen));
        }
        while let Some(head) = self.heads.resting_at(id) {
            self.discard(head);
        }
        self.begin_late_runs(id);
        self.end_held_at(id);
        self.requests.forget(&runs);
        self.stop_saving(id);
        self.end_looks(id, &not_found("state", id));
        self.answer_loads(id, &Reply::Refused(not_found("state", id)));
        self.end_answers(id, Kind::NotFound, "the state was deleted");
        self.comparer.forget(&states);
        states.iter().for_each(|state| self.digesters.forget(state));
        self.memory.forget(id);
        self.replay_failed(id, "the state was deleted");
        Some((states, runs))
    }

    /// A run that left no state has ended. It may have been the last that held a state which was deleted meanwhile.
    pub(super) fn let_go_after(&mut self, base: &Base) {
        let Base::State(id) = base else { return };
        if self.notebook.state(id).is_none_or(|s| s.residency != Residency::Deleted) {
            return;
        }
        let before: Vec<StateId> = self.notebook.lineage(id).iter().map(|s| s.id.clone()).collect();
        let (states, runs) = self.notebook.let_go_of_deleted(id);
        self.requests.forget(&runs);
        self.publish_removed(&before, states, runs);
    }

    /// Tells what left the graph, and where the people stand who stood there. `before` is the lineage of what was deleted.
    fn publish_removed(&mut self, before: &[StateId], states: Vec<StateId>, runs: Vec<ExecId>) {
        if states.is_empty() {
            return;
        }
        let stays = before.iter().rev().find(|id| !states.contains(id)).cloned();
        self.move_people(&stays.unwrap_or_else(StateId::root), |id| states.contains(id));
        self.publish(Fact::Removed { states, runs });
    }

    /// Forgets a run that left no state.
    pub(super) fn drop_attempt(&mut self, exec_id: ExecId) -> Reply {
        if !self.notebook.drop_attempt(&exec_id) {
            return Reply::Refused(not_found("failed run", &exec_id));
        }
        self.end_held_of(&exec_id);
        let mut runs = vec![exec_id];
        runs.extend(self.notebook.drop_stranded(&runs));
        self.requests.forget(&runs);
        self.publish(Fact::Removed { states: Vec::new(), runs });
        Reply::Done
    }

    /// Stops everything and forgets all but the root.
    pub(super) fn reset(&mut self) -> Reply {
        self.fail_all_replays("the notebook was reset");
        self.stop_all_saving();
        for (ticket, _) in std::mem::take(&mut self.adopting).into_values() {
            let how = "import it again";
            let refused = Problem::new(Kind::Conflict, "import a state", "the notebook was reset", how);
            self.answer(ticket, Reply::Refused(refused));
        }
        self.loads.clear();
        self.late_runs.clear();
        self.end_all_runs();
        self.effects.push(Effect::EndCells);
        for head in self.heads.take_all().into_iter().chain(self.held.take_all()) {
            self.effects.push(Effect::Kill(head));
        }
        let is_alive =
            self.notebook.state(&StateId::root()).is_some_and(|s| !is_new(s)) && self.root.is_some();
        for process in self.frozen.keep_only(self.root) {
            self.effects.push(Effect::Kill(process));
        }
        for (process, (tickets, state)) in std::mem::take(&mut self.looks) {
            self.effects.push(Effect::Kill(process));
            self.answer_all(tickets, &Reply::Refused(not_found("state", state)));
        }
        for (state, tickets) in std::mem::take(&mut self.load_tickets) {
            self.answer_all(tickets, &Reply::Refused(not_found("state", state)));
        }
        self.end_all_answers();
        self.stop_comparing();
        self.digesters.clear();
        self.notebook.reset(self.now_ms);
        self.memory.forget_all();
        self.move_people(&StateId::root(), |id| !id.is_root());
        if is_alive && let Some(root) = self.notebook.state_mut(&StateId::root()) {
            root.residency = Residency::Memory;
        }
        if self.root.is_none() {
            self.spawn_root();
        }
        let notebook = self.notebook.snapshot();
        self.publish(Fact::Reset { notebook });
        Reply::Done
    }
}

pub(super) fn is_new(state: &State) -> bool {
    state.residency == Residency::Freezing
}
