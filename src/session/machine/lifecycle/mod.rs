//! Handles a process that is ready or late, that could not be created or could not load its state,
//! or that has exited.
//!
//! Each of these events is one `match` on `Duty`. When a state's process has exited, a head that
//! rests at the state freezes it again. Without such a head, the state is on disk or lost. Runs
//! that wait for the state begin or end, and requests are answered or refused.
//!
//! This folder has the code that concerns several parts of the machine. `begin`: how a run gets its
//! head, and what happens when its cell has ended. `deletion`: how states are deleted, and how the
//! notebook is reset. `hangs`: what happens when a fork hangs. `refreeze`: what follows when
//! widgets have changed a state. `sweeping`: the rows of sweeps.

mod begin;
mod deletion;
pub(super) mod hangs;
mod refreeze;
mod sweeping;

use super::core::Core;
use super::held::NotHeld;
use super::processes::{Doing, Duty, Process};
use super::runs::Outcome;
use super::{Effect, Killed, Machine, introspect, listings, transfers};
use crate::kernel::{Exit, ProcId};
use crate::notebook::{
    Cause, ExecId, Form, Missing, Reply, Residency, RestoredFrom, RunError, Saving, StateId,
};
use crate::problem::{Kind, Problem};
use nix::sys::signal::Signal;

/// The warning of a state whose head could not fork the state's frozen process.
const NOT_KEPT: &str =
    "this state could not be frozen, so it can be lost; the next run against it tries to freeze it again";

impl Machine {
    /// Handles a process's report that it is ready.
    pub(super) fn ready(&mut self, process: ProcId, missing: Vec<Missing>, hazard: Option<String>) {
        let Some(known) = self.core.processes.get_mut(process) else { return };
        known.is_ready = true;
        let is_loaded = std::mem::take(&mut known.is_loading);
        let state = known.at.clone();
        if matches!(known.duty, Duty::Root) {
            // The warnings said why an earlier root process could not start.
            self.core.notebook.state_mut(&state).into_iter().for_each(|root| root.warnings.clear());
        }
        let Some(known) = self.core.processes.get(process) else { return };
        match &known.duty {
            Duty::Root | Duty::Frozen => self.frozen_is_ready(&state, missing, is_loaded, hazard),
            Duty::Head(_) if !missing.is_empty() => self.set_restored(&state, missing, true),
            Duty::Answering(_) => introspect::answerer_is_ready(&mut self.core, process),
            Duty::Head(_) | Duty::Held(_) | Duty::Ending | Duty::Spare | Duty::Saving(_) => {}
            Duty::Listing(_) | Duty::Fingerprinting | Duty::Sending(_) => {}
        }
    }

    fn frozen_is_ready(
        &mut self,
        state: &StateId,
        missing: Vec<Missing>,
        is_loaded: bool,
        hazard: Option<String>,
    ) {
        if is_loaded || !missing.is_empty() {
            self.set_restored(state, missing, is_loaded);
        }
        if is_loaded {
            hangs::note_hazard(&mut self.core, state, hazard);
        }
        note_whether_kept(&mut self.core, state, true);
        self.core.set_residency(state, Residency::Memory);
        self.loads.answer(&mut self.core, state, &Reply::Done);
        self.begin_loaded(state);
        self.comparer.compare_soon(&mut self.core, state);
        self.end_idle_heads();
        self.memory.measure_soon(&mut self.core, &self.held, state);
        self.evict_to_budget();
        self.save_next();
    }

    /// Notes that a state may differ from the state that its cell left: it was loaded from a
    /// checkpoint, or one of its ancestors was, and some variables are missing.
    fn set_restored(&mut self, id: &StateId, missing: Vec<Missing>, is_loaded: bool) {
        self.listings.forget(id);
        let python = self.core.notebook.python().clone();
        if let Some(state) = self.core.notebook.state_mut(id) {
            // Which variables cannot be loaded was unknown when the checkpoint was written, so the
            // checkpoint's list is updated.
            let checkpoint = state.checkpoint.as_mut().filter(|c| is_loaded && c.is_loadable_by(&python));
            if let Some(checkpoint) = checkpoint.filter(|c| c.form == Form::Environment) {
                checkpoint.missing.clone_from(&missing);
            }
            state.restored_from = Some(RestoredFrom::Checkpoint { missing });
            self.core.publish_state(id);
            self.core.note_evictable(id);
        }
    }

    fn end_idle_heads(&mut self) {
        let in_memory =
            |id: &StateId| self.core.notebook.state(id).is_some_and(|s| s.residency == Residency::Memory);
        for head in self.core.processes.too_many(in_memory) {
            self.core.discard(head);
        }
    }

    /// Handles a late process, which hangs or waits for something slow.
    pub(super) fn timed_out(&mut self, process: ProcId) {
        let Some(known) = self.core.processes.get(process) else { return };
        match known.duty {
            Duty::Root | Duty::Frozen | Duty::Head(_) => self.not_ready(process),
            Duty::Listing(_) => listings::timed_out(&mut self.core, process),
            Duty::Sending(_) => transfers::timed_out(&mut self.core, process),
            Duty::Answering(_) => introspect::end_if_idle(&mut self.core, process),
            Duty::Fingerprinting => self.comparer.timed_out(&mut self.core, process),
            Duty::Saving(_) => self.saver.stalled(&mut self.core, process),
            Duty::Held(_) | Duty::Ending | Duty::Spare => {}
        }
    }

    /// Handles the exit of a process.
    pub(super) fn gone(&mut self, process: ProcId, exit: Option<Exit>) {
        if let Some(why) = died_loading(&self.core, process, exit) {
            return self.load_failed(process, &why);
        }
        let Some(known) = self.core.processes.get(process) else { return };
        let at = known.at.clone();
        match known.duty {
            Duty::Root
                if self
                    .core
                    .notebook
                    .state(&at)
                    .is_some_and(|root| root.residency == Residency::Freezing) =>
            {
                self.root_failed(
                    process,
                    "Python ended while it was starting; the terminal may show its error",
                );
            }
            Duty::Root | Duty::Frozen => self.frozen_gone(process, &at),
            Duty::Head(_) => self.head_is_gone(process, exit),
            Duty::Held(_) => self.held.died(&mut self.core, process, exit),
            Duty::Ending => self.held.exited(&mut self.core, process),
            Duty::Listing(_) => {
                let how = "the repr of a variable may have ended it; print values in a cell";
                let why = "the process that listed the variables has died";
                listings::failed(&mut self.core, process, Kind::Kernel, why, how);
            }
            Duty::Answering(_) => {
                let why = "the process that computed the answer has died";
                introspect::end_answerer(&mut self.core, process, Kind::Kernel, why);
            }
            Duty::Saving(_) => {
                let why = "the process that wrote the checkpoint died";
                self.saver.failed(&mut self.core, process, Kind::Kernel, why);
            }
            Duty::Fingerprinting => self.comparer.failed(&mut self.core, process),
            // If a sender dies early, the head that reads from it notices the end of the pipe and
            // reports this.
            Duty::Sending(_) | Duty::Spare => {
                self.core.processes.remove(process);
            }
        }
    }

    fn head_is_gone(&mut self, process: ProcId, exit: Option<Exit>) {
        let Some(Process { at, from, is_ready, duty: Duty::Head(head), .. }) =
            self.core.processes.remove(process)
        else {
            return;
        };
        match head.doing {
            // `Widgets::serve` answers the messages.
            Doing::Rest | Doing::Handle(_) => {}
            Doing::Run(run) => {
                self.core.effects.push(Effect::EndRun(process));
                self.head_died(&run, exit);
            }
            Doing::Begin(run) if self.runs.is_stopping(&run) => self.head_died(&run, exit),
            // The head died before the cell began. The head's state has not changed, so another
            // head runs the cell.
            Doing::Begin(run) if is_ready => self.begin(&run, &at),
            Doing::Begin(run) => self.begin_again(&run, from, &at),
            Doing::Replay(target) => {
                self.replays.failed(&mut self.core, &target, "the process that ran its cells died");
            }
        }
        self.core.left(&at);
    }

    fn head_died(&mut self, run: &ExecId, exit: Option<Exit>) {
        self.held.note(&self.core, run, NotHeld::Ended);
        self.runs.head_died(&mut self.core, run, exit);
    }

    /// Kills a head, and returns what it was doing.
    fn end_head(&mut self, head: ProcId) -> Doing {
        self.core.effects.push(Effect::Kill(head, Killed::Failed));
        match self.core.processes.remove(head) {
            Some(Process { duty: Duty::Head(head), .. }) => head.doing,
            _ => Doing::Rest,
        }
    }

    /// Handles the system's refusal to create a process. Clients may repeat the requests that
    /// needed the process.
    pub(super) fn fork_refused(&mut self, child: ProcId, why: &str) {
        if let Some(run) = self.core.processes.run_of(child) {
            self.core.processes.remove(child);
            self.runs.end(&mut self.core, &run, Outcome::fork_refused(why));
        } else {
            if let Some(state) = self.core.processes.held_by(child).cloned() {
                self.core.processes.note_refusal(&state, why);
                self.refuse_branches(&state, why);
            }
            self.fork_failed(child, why);
        }
    }

    /// Ends the heads that wait for a state's frozen process to fork them, because that process
    /// cannot be created.
    fn refuse_branches(&mut self, state: &StateId, why: &str) {
        if !self.core.forks(state) {
            return;
        }
        for head in self.core.processes.coming_to(state) {
            match self.end_head(head) {
                Doing::Begin(run) | Doing::Run(run) => {
                    self.runs.end(&mut self.core, &run, Outcome::fork_refused(why));
                }
                Doing::Replay(target) => self.replays.failed(&mut self.core, &target, why),
                Doing::Rest | Doing::Handle(_) => {}
            }
        }
    }

    /// Handles the failure to create a process.
    pub(super) fn fork_failed(&mut self, child: ProcId, why: &str) {
        let Some(known) = self.core.processes.get(child) else { return };
        let at = known.at.clone();
        match &known.duty {
            Duty::Root => self.root_failed(child, why),
            Duty::Frozen => self.not_kept(child, &at),
            Duty::Head(head) => {
                let doing = head.doing.clone();
                self.core.processes.remove(child);
                match doing {
                    Doing::Begin(run) | Doing::Run(run) => {
                        self.runs.end(&mut self.core, &run, Outcome::fork_failed(why));
                    }
                    Doing::Replay(target) => self.replays.failed(&mut self.core, &target, why),
                    Doing::Rest | Doing::Handle(_) => {}
                }
            }
            Duty::Listing(_) => {
                listings::failed(&mut self.core, child, Kind::Kernel, why, "try again later");
            }
            Duty::Answering(_) => introspect::end_answerer(&mut self.core, child, Kind::Kernel, why),
            Duty::Fingerprinting => self.comparer.failed(&mut self.core, child),
            Duty::Saving(_) => self.saver.failed(&mut self.core, child, Kind::Kernel, why),
            // The pipe of a failed sender is closed. The head that reads from the pipe notices
            // this.
            Duty::Sending(_) | Duty::Spare | Duty::Held(_) | Duty::Ending => {
                self.core.processes.remove(child);
            }
        }
    }

    /// Handles a root process that could not start Python: all runs and replays end.
    pub(super) fn root_failed(&mut self, process: ProcId, why: &str) {
        if self.core.processes.root() != Some(process) {
            return;
        }
        self.core.processes.remove(process);
        if let Some(root) = self.core.notebook.state_mut(&StateId::root()) {
            root.warnings = vec![why.to_owned()];
            root.residency =
                if root.residency == Residency::Deleted { Residency::Deleted } else { Residency::Replay };
            self.core.publish_state(&StateId::root());
        }
        self.replays.fail_all(&mut self.core, why);
        for head in self.core.processes.all_of(|duty| matches!(duty, Duty::Head(_))) {
            self.core.end(head);
        }
        for run in self.core.open.clone() {
            self.runs.end(&mut self.core, &run, Outcome::fork_failed(why));
        }
    }

    /// Handles the exit of a frozen process. If a head rests at the state, it freezes the state
    /// again.
    fn frozen_gone(&mut self, process: ProcId, state: &StateId) {
        let was_ready = self.core.notebook.state(state).is_some_and(|s| s.residency == Residency::Memory);
        if !was_ready {
            // The process died before it was ready. A new one would probably die too.
            return self.not_kept(process, state);
        }
        self.core.processes.remove(process);
        self.core.set_residency(state, Residency::Freezing);
        match self.core.processes.resting_at(state) {
            Some(head) => self.core.ensure_frozen(head, state),
            None => self.core.left(state),
        }
    }

    /// Handles the failure to freeze a state. While a head rests at the state, nothing is lost: the
    /// head tries again before its next cell.
    fn not_kept(&mut self, process: ProcId, state: &StateId) {
        self.core.processes.remove(process);
        let (what, why) = (
            format!("list the variables of state {state}"),
            "the process of the state died before it was ready",
        );
        listings::end_at(&mut self.core, state, &Problem::new(Kind::Kernel, what, why, "try again"));
        let refused = Problem::new(Kind::Kernel, format!("load state {state}"), why, "try again");
        self.loads.answer(&mut self.core, state, &Reply::Refused(refused));
        introspect::end_answers(&mut self.core, state, Kind::Kernel, why);
        let is_kept = state.is_root() || !self.core.processes.has_head_at(state);
        note_whether_kept(&mut self.core, state, is_kept);
        self.core.set_residency(state, Residency::Freezing);
        self.core.left(state);
        for run in self.loads.take_runs(state) {
            self.begin_again(&run, Some(process), state);
        }
    }

    /// Handles a process that could not load its checkpoint. Runs that wait for the load replay the
    /// state if they allow it; other runs and requests that wait for the state fail. The checkpoint
    /// is not deleted.
    pub(super) fn load_failed(&mut self, process: ProcId, why: &str) {
        let Some(state) = self.core.processes.at(process).cloned() else { return };
        match self.core.processes.held_by(process) {
            Some(_) => self.core.end(process),
            // The process is a head. The loop over heads below ends it.
            None => self.core.effects.push(Effect::Kill(process, Killed::Failed)),
        }
        let failed = || Outcome::Error(RunError::of(Cause::RestoreFailed, why));
        let late = self.loads.take_runs(&state).into_iter();
        let (replayed, others): (Vec<ExecId>, Vec<ExecId>) = late.partition(|run| self.runs.may_replay(run));
        for run in others {
            self.runs.end(&mut self.core, &run, failed());
        }
        for head in self.core.processes.coming_to(&state) {
            match self.end_head(head) {
                Doing::Begin(run) => self.runs.end(&mut self.core, &run, failed()),
                Doing::Replay(target) => self.replays.failed(&mut self.core, &target, why),
                Doing::Rest | Doing::Run(_) | Doing::Handle(_) => {}
            }
        }
        let (what, how) = (format!("list the variables of state {state}"), "try again later");
        listings::end_at(&mut self.core, &state, &Problem::new(Kind::Kernel, what, why, how));
        introspect::end_answers(&mut self.core, &state, Kind::Kernel, why);
        let refused = Problem::new(
            Kind::Kernel,
            format!("load state {state}"),
            why,
            "save the state again, or replay it",
        );
        self.loads.answer(&mut self.core, &state, &Reply::Refused(refused));
        transfers::end_senders_at(&mut self.core, &state);
        if self.saver.is_at(&state) {
            self.saver.stop(&mut self.core, &state);
        }
        if self.core.processes.frozen(&state).is_none() {
            self.core.set_residency(&state, Residency::Replay);
        }
        self.core.due.note_broken(&state);
        self.core
            .set_saving(&state, Saving::Failed { why: format!("its checkpoint could not be loaded: {why}") });
        for run in replayed {
            self.replays.wait(&mut self.core, &run, &state);
        }
    }
}

/// Adds or removes the warning of a state that only a head holds. Before another cell can run in
/// that head, the state must be frozen.
fn note_whether_kept(core: &mut Core, id: &StateId, is_kept: bool) {
    let Some(state) = core.notebook.state_mut(id) else { return };
    let known = state.warnings.iter().position(|warning| warning == NOT_KEPT);
    match known {
        Some(at) if is_kept => drop(state.warnings.remove(at)),
        None if !is_kept => state.warnings.push(NOT_KEPT.to_owned()),
        _ => return,
    }
    core.publish_state(id);
}

/// Returns why a process died while it loaded an untrusted checkpoint; none in other cases. Such a
/// load is not repeated: it would fail each time, and any client that can list variables could
/// trigger it.
fn died_loading(core: &Core, process: ProcId, exit: Option<Exit>) -> Option<String> {
    let is_killed = core.processes.head(process).is_some_and(|head| head.is_killed);
    let known = core.processes.get(process).filter(|known| known.is_loading && !is_killed)?;
    let is_trusted = core.notebook.state(&known.at)?.checkpoint.as_ref()?.is_trusted;
    match exit {
        _ if is_trusted => None,
        Some(Exit::Signal(signal)) if signal == Signal::SIGXCPU as i32 => Some(
            "its values took too long to load for an untrusted file of this size: trust the notebook if \
             you know where it comes from"
                .into(),
        ),
        Some(_) => Some("the process that loaded its values has died".into()),
        None => None,
    }
}
