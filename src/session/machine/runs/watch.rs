//! Warns when a cell in a branch makes no progress. Such a cell may wait for a thread that the fork
//! did not copy.

use super::{Request, Runs};
use crate::kernel::{ProcId, Seen};
use crate::notebook::{Base, ExecId, StateId};
use crate::session::machine::core::Core;
use crate::session::machine::effect::{Alarm, Effect, Serial};
use std::time::Duration;

/// How long a cell must make no progress before it gets a warning. Most locks are held for a
/// shorter time, and most users wait longer.
const STANDSTILL: Duration = Duration::from_secs(20);
/// How often a cell in a branch is observed. Each observation reads three small files.
const EVERY: Duration = Duration::from_secs(5);
/// The warning of a state after a cell in a branch of it hung until it was stopped.
const STOOD_STILL: &str =
    "a cell in a branch of this state hung until it was stopped: branches now come from the checkpoint";

/// The progress of a cell in a branch.
#[derive(Debug, Default)]
pub(in crate::session::machine) struct Watch {
    /// The processor time that the cell's process has used, and the time since which it has not
    /// increased. `None` if the cell does not wait for a lock.
    still: Option<(u64, f64)>,
    is_warned: bool,
}

impl Runs {
    /// Begins to watch a run if its head was forked from a state's process. Only such a head can
    /// lack threads.
    pub(in crate::session::machine) fn begin_to_watch(
        &mut self,
        core: &mut Core,
        head: ProcId,
        run: &ExecId,
    ) {
        if core.processes.head(head).is_some_and(|head| head.is_forked) {
            self.watch_on(core, run);
        }
    }

    fn watch_on(&mut self, core: &mut Core, run: &ExecId) {
        let alarm = Alarm::Watch(run.clone(), self.serial(run));
        core.wake(EVERY, alarm);
    }

    /// Orders an observation of a run.
    pub(in crate::session::machine) fn watch(&mut self, core: &mut Core, run: &ExecId, serial: Serial) {
        if self.is_still(run, serial)
            && let Some(head) = core.processes.of_run(run)
        {
            core.emit(Effect::Observe { exec_id: run.clone(), serial, head });
        }
    }

    /// Handles an observation of a run. Adds a warning if the run has made no progress for
    /// `STANDSTILL`.
    pub(in crate::session::machine) fn observed(
        &mut self,
        core: &mut Core,
        run: &ExecId,
        serial: Serial,
        seen: Option<&Seen>,
    ) {
        if !self.is_still(run, serial) || core.processes.of_run(run).is_none() {
            return;
        }
        let now_ms = core.now_ms;
        let suspects = self.suspects(core, run, seen.map(|s| s.libraries.as_slice()).unwrap_or_default());
        // The cell may wait for a thread that it started itself, and that thread may wait for the
        // network. So this is no reason for a warning.
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
                "the cell has used no processor time for {} s and waits for a lock. A branch has no copy of \
                 its state's threads, so code that waits for them waits forever. {suspects}. If nothing \
                 else can wake the cell, interrupt it and run it again: branches of this state then come \
                 from its checkpoint",
                STANDSTILL.as_secs(),
            );
            return core.warn_run(run, warning);
        }
        self.watch_on(core, run);
    }

    /// A sentence about libraries and objects that may have started the threads that the fork of
    /// the run's head lacks.
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

    /// Called when a run has ended without success. If the run got a warning and was then stopped,
    /// its base state is no longer forked.
    pub(in crate::session::machine) fn distrust_after(
        &mut self,
        core: &mut Core,
        run: &ExecId,
        state: &StateId,
    ) {
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
