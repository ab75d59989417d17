//! Warns when a cell of a branch makes no progress because it waits for a thread that the fork did
//! not copy.

use super::core::Core;
use super::runs::{Request, Runs};
use super::{Alarm, Effect, Serial};
use crate::kernel::{ProcId, Seen};
use crate::notebook::{Base, ExecId, Fact, StateId};
use std::time::Duration;

/// How long a cell makes no progress before it gets a warning: longer than most locks are held, and
/// shorter than users wait.
const STANDSTILL: Duration = Duration::from_secs(20);
/// How often a cell of a branch is observed. Each time the server reads three small files.
const EVERY: Duration = Duration::from_secs(5);
/// The warning of a state after a cell in a branch of it hung until it was stopped.
const STOOD_STILL: &str =
    "a cell in a branch of this state hung until it was stopped: branches now come from the checkpoint";

/// What is known about a cell of a branch.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The processor time that the cell's process has used, and since when this has not grown.
    still: Option<(u64, f64)>,
    is_warned: bool,
}

impl Runs {
    /// Begins to watch a run, if its head was forked from a state's process: only there threads can
    /// be missing.
    pub(super) fn begin_to_watch(&mut self, core: &mut Core, head: ProcId, run: &ExecId) {
        if core.processes.head(head).is_some_and(|head| head.is_forked) {
            self.watch_on(core, run);
        }
    }

    fn watch_on(&mut self, core: &mut Core, run: &ExecId) {
        let alarm = Alarm::Watch(run.clone(), self.serial(run));
        core.wake(EVERY, alarm);
    }

    /// Orders an observation of a run.
    pub(super) fn watch(&mut self, core: &mut Core, run: &ExecId, serial: Serial) {
        if self.is_still(run, serial)
            && let Some(head) = core.processes.of_run(run)
        {
            core.effects.push(Effect::Observe { exec_id: run.clone(), serial, head });
        }
    }

    /// Notes what was observed of a run, and warns if the run has made no progress for
    /// `STANDSTILL`.
    pub(super) fn observed(&mut self, core: &mut Core, run: &ExecId, serial: Serial, seen: Option<&Seen>) {
        if !self.is_still(run, serial) || core.processes.of_run(run).is_none() {
            return;
        }
        let now_ms = core.now_ms;
        let suspects = self.suspects(core, run, seen.map(|s| s.libraries.as_slice()).unwrap_or_default());
        // The cell may wait for a thread that it started itself, and that thread for the network.
        let may_be_woken = suspects.is_none() && seen.is_some_and(|seen| seen.has_threads);
        let Some(watch) = self.get_mut(run).map(|request| &mut request.watch) else { return };
        let still = seen.filter(|seen| seen.waits_for_lock).map(|seen| seen.cpu_ticks);
        watch.still = match (still, watch.still) {
            (Some(now), Some((before, since))) if now == before => Some((before, since)),
            (now, _) => now.map(|ticks| (ticks, now_ms)),
        };
        let is_long = |(_, since): (u64, f64)| now_ms - since >= STANDSTILL.as_secs_f64() * 1000.0;
        if watch.still.is_some_and(is_long) && !may_be_woken {
            watch.is_warned = true;
            let suspects = suspects.unwrap_or_else(|| "No such threads are known in this state".to_owned());
            let warning = format!(
                "the cell has used no processor time for {} s and waits for a lock. In a branch, code \
                 that waits for \
                 threads of its state waits forever. {suspects}. Unless something else wakes it, interrupt \
                 it and run it again: branches of this state then come from its checkpoint",
                STANDSTILL.as_secs(),
            );
            if let Some(known) = core.notebook.run_mut(run) {
                known.warnings.push(warning.clone());
            }
            return core.publish(Fact::RunWarned { exec_id: run.clone(), warning });
        }
        self.watch_on(core, run);
    }

    /// A sentence about what may have started the threads that the fork of a run's head did not
    /// copy.
    fn suspects(&self, core: &Core, run: &ExecId, libraries: &[String]) -> Option<String> {
        let state = core.notebook.run(run).and_then(|run| match &run.on {
            Base::State(state) => core.notebook.state(state),
            Base::Run(_) | Base::Name(_) => None,
        });
        let mut suspects = state.map(|state| state.warnings.clone()).unwrap_or_default();
        if !libraries.is_empty() {
            suspects
                .push(format!("libraries with threads of their own are loaded: {}", libraries.join(", ")));
        }
        (!suspects.is_empty()).then(|| format!("Suspected: {}", suspects.join("; ")))
    }

    /// A run has ended without success. If it hung until it was stopped, its state is not forked
    /// any more.
    pub(super) fn distrust_after(&mut self, core: &mut Core, run: &ExecId, state: &StateId) {
        let is_it = |request: &Request| request.watch.is_warned && request.stop.is_some();
        if state.is_root() || !self.get(run).is_some_and(is_it) {
            return;
        }
        let Some(known) = core.notebook.state_mut(state).filter(|s| s.forks || s.fork_anyway) else { return };
        (known.forks, known.fork_anyway) = (false, false);
        if !known.warnings.iter().any(|warning| warning == STOOD_STILL) {
            known.warnings.push(STOOD_STILL.to_owned());
        }
        core.publish_state(state);
    }
}
