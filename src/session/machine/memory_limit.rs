//! The limit of memory of a run: what it may hold beyond what its state holds.
//!
//! A run is measured repeatedly; `kernel::MemoryUse` separates what it has added from what it
//! shares with its state. The operating system's own limits do not fit: they count reserved memory,
//! which some libraries take by the hundred gigabytes, and not the pages of the state that are
//! written to, which is what a branch costs.

use super::cancel::Stop;
use super::core::Core;
use super::runs::Runs;
use super::{Alarm, Effect, Serial};
use crate::kernel::{MemoryUse, ProcId};
use crate::notebook::{ExecId, RunError, StateId};
use std::time::Duration;

/// How long after one weighing the next may come at the earliest: a core writes some 100 MB
/// meanwhile.
const EVERY: Duration = Duration::from_millis(50);
/// How long it may take at most, however long a weighing took.
const AT_LEAST_EVERY: Duration = Duration::from_secs(2);
/// Which part of its time a run may be weighed: it is held up when it asks for memory just then.
const SHARE: f64 = 0.1;

/// What is known about a run that has a limit of memory.
#[derive(Debug)]
pub(super) struct Weighing {
    /// The limit, in bytes.
    limit: u64,
    /// What its head held when it began.
    start: Option<MemoryUse>,
    /// The process that shared all of that then.
    beside: Option<ProcId>,
    /// When it was asked for last.
    asked_ms: f64,
}

impl Weighing {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, start: None, beside: None, asked_ms: 0.0 }
    }
}

/// What a run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) struct Weighed {
    /// Its head.
    pub(in crate::session) weight: MemoryUse,
    /// What the processes that it has started hold for themselves, in bytes.
    pub(in crate::session) below: u64,
    /// Whether the process beside it is whole.
    pub(in crate::session) is_shared: bool,
}

impl Runs {
    fn weighing(&mut self, run: &ExecId) -> Option<&mut Weighing> {
        self.get_mut(run)?.weighing.as_mut()
    }

    /// A head says what it holds, right before it begins.
    pub(super) fn holds(&mut self, core: &mut Core, head: ProcId, weight: MemoryUse) {
        if let Some(run) = core.processes.run_of(head)
            && let Some(weighing) = self.weighing(&run)
        {
            weighing.start.get_or_insert(weight);
        }
    }

    /// A run has begun.
    pub(super) fn begin_to_weigh(&mut self, core: &mut Core, run: &ExecId, at: &StateId) {
        let beside = core.processes.frozen(at);
        if let Some(weighing) = self.weighing(run) {
            weighing.beside = beside;
            self.weigh_after(core, run, EVERY);
        }
    }

    fn weigh_after(&mut self, core: &mut Core, run: &ExecId, after: Duration) {
        let alarm = Alarm::Weigh(run.clone(), self.serial(run));
        core.wake(after, alarm);
    }

    /// It is time to weigh a run.
    pub(super) fn weigh(&mut self, core: &mut Core, run: &ExecId, serial: Serial) {
        let Some(head) = core.processes.of_run(run).filter(|_| self.is_still(run, serial)) else {
            return;
        };
        let now_beside = core.processes.at(head).and_then(|at| core.processes.frozen(at));
        let now_ms = core.now_ms;
        let Some(weighing) = self.weighing(run) else { return };
        weighing.asked_ms = now_ms;
        // One that was made later does not share what the run began with.
        weighing.beside = weighing.beside.filter(|beside| Some(*beside) == now_beside);
        let beside = weighing.beside;
        core.effects.push(Effect::Weigh { exec_id: run.clone(), serial, head, beside });
    }

    /// A run was weighed.
    pub(super) fn weighed(
        &mut self,
        core: &mut Core,
        run: &ExecId,
        serial: Serial,
        weighed: Option<Weighed>,
    ) {
        let Some(head) = core.processes.of_run(run).filter(|_| self.is_still(run, serial)) else {
            return;
        };
        let now_ms = core.now_ms;
        let (Some(weighing), Some(weighed)) = (self.weighing(run), weighed) else { return };
        let start = weighing.start.unwrap_or_default();
        let is_shared = weighed.is_shared && weighing.beside.is_some();
        let added = weighed.weight.added_since(start, is_shared).saturating_add(weighed.below);
        if added > weighing.limit {
            if let Some(request) = self.get_mut(run) {
                request.stop.get_or_insert(Stop::MemoryLimit(added));
            }
            return core.kill_for_good(head);
        }
        let took = Duration::from_secs_f64((now_ms - weighing.asked_ms).max(0.0) / 1000.0);
        self.weigh_after(core, run, took.div_f64(SHARE).clamp(EVERY, AT_LEAST_EVERY));
    }

    pub(super) fn memory_limit_error(&self, run: &ExecId, held: u64) -> RunError {
        let limit = self.get(run).and_then(|r| r.weighing.as_ref()).map_or(0, |w| w.limit);
        let why = format!(
            "the run was ended at its limit of memory: it held {} more than its state, and may hold {}. \
             Its state is as it was",
            size(held),
            size(limit)
        );
        RunError::new("RunOutOfMemory", why)
    }
}

/// Bytes, for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{bytes} bytes"),
        _ => format!("{} MiB", bytes >> 20),
    }
}
