//! Finds out which variables a cell changed. Compares the fingerprints of the state that the cell
//! left with the fingerprints of the parent state, while no cell is about to run.
//!
//! A short-lived fork of the frozen process (`Role::Fingerprint`) reports the fingerprints of one
//! state. The fingerprints of the latest states are kept, so each state of a lineage is
//! fingerprinted only once. No state is loaded from disk for a comparison: if a state is only on
//! disk, its changes stay unknown.

use super::core::Core;
use super::duty::Duty;
use super::effect::{Alarm, Killed};
use super::processes::Origin;
use crate::kernel::{Fingerprint, Fingerprints, ProcId};
use crate::notebook::{Changes, Fact, RunStatus, StateId};
use std::collections::VecDeque;
use std::time::Duration;

/// A comparison begins only if no run was requested or ended for this long. So it does not slow
/// down a quick series of cells.
const REST: Duration = Duration::from_millis(150);
/// Used instead of `REST` while a cell runs. Longer than `REST`, because each cell of a series may
/// take longer than `REST`. Still short, because a cell that runs for hours must not delay the
/// comparison.
const REST_BESIDE_A_RUN: Duration = Duration::from_secs(1);
/// Maximum number of states that wait for a comparison. If more states wait, the changes of the
/// oldest stay unknown.
const MAX_WAITING: usize = 32;
/// Maximum number of states, and of variables in all states, whose fingerprints are kept.
const MAX_KEPT: usize = 64;
const MAX_KEPT_FINGERPRINTS: usize = 100_000;
/// Maximum number of names in one state's changes.
const MAX_NAMES: usize = 200;
/// How long a fingerprinting process may take. The process limits itself to a third of a second for
/// reading contents.
const FINGERPRINT_TIMEOUT: Duration = Duration::from_secs(3);

/// The fingerprints of a state and the id of its address space; none if the state could not be
/// read.
type Known = Option<(Fingerprints, u64)>;

/// The states that wait for a comparison, and the fingerprints that were read.
#[derive(Debug, Default)]
pub(super) struct Comparer {
    /// The newest state is last.
    waiting: VecDeque<StateId>,
    /// The process that fingerprints a state, and that state.
    fingerprinting: Option<(ProcId, StateId)>,
    /// Fingerprints of the latest states, the newest last.
    kept: VecDeque<(StateId, Known)>,
    alarm_is_set: bool,
}

impl Comparer {
    /// Forgets states that were removed, or whose variables a widget has changed.
    pub(super) fn forget(&mut self, core: &mut Core, states: &[StateId]) {
        if let Some((process, _)) = self.fingerprinting.take_if(|(_, state)| states.contains(state)) {
            core.end(process);
            self.wake_to_compare(core);
        }
        self.waiting.retain(|s| !states.contains(s));
        self.kept.retain(|(s, _)| !states.contains(s));
    }

    fn known(&self, state: &StateId) -> Option<&Known> {
        self.kept.iter().find(|(s, _)| s == state).map(|(_, known)| known)
    }

    fn keep(&mut self, state: StateId, known: Known) {
        self.kept.push_back((state, known));
        let count = |known: &Known| known.as_ref().map_or(0, |(fingerprints, _)| fingerprints.len());
        let mut all: usize = self.kept.iter().map(|(_, known)| count(known)).sum();
        // The two states of the current comparison always stay.
        while self.kept.len() > MAX_KEPT || all > MAX_KEPT_FINGERPRINTS && self.kept.len() > 2 {
            all -= self.kept.pop_front().map_or(0, |(_, known)| count(&known));
        }
    }
}

impl Comparer {
    /// Schedules the comparison of a state that now has a frozen process.
    pub(super) fn compare_soon(&mut self, core: &mut Core, id: &StateId) {
        let is_new = core.notebook.state(id).is_some_and(|s| s.changes.is_none() && s.parent.is_some());
        if is_new && !self.waiting.contains(id) {
            self.waiting.push_back(id.clone());
            if self.waiting.len() > MAX_WAITING {
                self.waiting.pop_front();
            }
            self.wake_to_compare(core);
        }
    }

    fn wake_to_compare(&mut self, core: &mut Core) {
        if !self.alarm_is_set {
            self.alarm_is_set = true;
            core.wake(REST, Alarm::Compare);
        }
    }

    /// Handles the alarm: compares states if no cell is about to run.
    pub(super) fn time_to_compare(&mut self, core: &mut Core) {
        self.alarm_is_set = false;
        self.compare_next(core);
    }

    /// Whether no run is queued, and no run was requested or ended recently.
    fn rests(&self, core: &Core) -> bool {
        let waits = |run| core.notebook.run(run).is_some_and(|r| r.status == RunStatus::Queued);
        let rest = if core.open.is_empty() { REST } else { REST_BESIDE_A_RUN };
        core.now_ms - core.run_ms >= rest.as_secs_f64() * 1000.0 && !core.open.iter().any(waits)
    }

    /// Fingerprints one state, or compares two fingerprinted states. The newest state is first.
    fn compare_next(&mut self, core: &mut Core) {
        while self.fingerprinting.is_none()
            && let Some(id) = self.waiting.back().cloned()
        {
            if !self.rests(core) {
                return self.wake_to_compare(core);
            }
            let parent = core.notebook.state(&id).and_then(|s| s.parent.clone());
            let unread = parent.iter().chain([&id]).find(|s| self.known(s).is_none()).cloned();
            match (unread, parent) {
                (Some(unread), Some(_)) if self.fingerprint(core, &unread) => return,
                (None, Some(parent)) => self.compare(core, &id, &parent),
                // A state that is needed has neither a process nor fingerprints, so the changes
                // stay unknown.
                _ => {}
            }
            self.waiting.retain(|s| *s != id);
        }
    }

    /// Fingerprints a state if it has a frozen process. Returns false if it has none.
    fn fingerprint(&mut self, core: &mut Core, id: &StateId) -> bool {
        let frozen = core.processes.frozen(id).filter(|_| !core.processes.is_being_loaded(id));
        let Some(frozen) = frozen else { return false };
        let process = core.spawn(Origin::fork(frozen, id), Duty::Fingerprinting, FINGERPRINT_TIMEOUT);
        self.fingerprinting = Some((process, id.clone()));
        true
    }

    /// Keeps the fingerprints that a process reports, and continues with the next state.
    pub(super) fn fingerprinted(
        &mut self,
        core: &mut Core,
        process: ProcId,
        fingerprints: Option<Fingerprints>,
        address_space: u64,
    ) {
        if let Some((_, state)) = self.fingerprinting.take_if(|(p, _)| *p == process) {
            core.processes.remove(process);
            if core.notebook.state(&state).is_some() {
                self.keep(state, fingerprints.map(|known| (known, address_space)));
            }
            self.compare_next(core);
        }
    }

    /// Notes that a state's variables could not be fingerprinted.
    pub(super) fn failed(&mut self, core: &mut Core, process: ProcId) {
        self.fingerprinted(core, process, None, 0);
    }

    /// Kills a process that takes too long to fingerprint.
    pub(super) fn timed_out(&mut self, core: &mut Core, process: ProcId) {
        core.kill(process, Killed::Late);
        self.failed(core, process);
    }

    fn compare(&mut self, core: &mut Core, id: &StateId, parent: &StateId) {
        let (Some(Some(now)), Some(Some(before))) = (self.known(id), self.known(parent)) else {
            return;
        };
        let changes = changes(before, now);
        if let Some(state) = core.notebook.state_mut(id) {
            state.changes = Some(changes.clone());
            core.publish(Fact::ChangesFound { state: id.clone(), changes });
        }
    }

    /// Ends fingerprinting and forgets all states, because the notebook is reset.
    pub(super) fn stop_comparing(&mut self, core: &mut Core) {
        if let Some((process, _)) = self.fingerprinting.take() {
            core.end(process);
        }
        self.waiting.clear();
        self.kept.clear();
    }
}

/// The names that were added, changed or removed between two states.
fn changes((before, space): &(Fingerprints, u64), (now, own): &(Fingerprints, u64)) -> Changes {
    let shares_addresses = space == own;
    let mut room = MAX_NAMES;
    let mut more = 0;
    let mut limited = |names: Vec<&String>| {
        let count = names.len().min(room);
        room -= count;
        more += u32::try_from(names.len() - count).unwrap_or(u32::MAX);
        names.into_iter().take(count).cloned().collect::<Vec<_>>()
    };
    let differs = |(name, found): &(&String, &Fingerprint)| {
        before.get(*name).is_some_and(|b| differ(b, found, shares_addresses))
    };
    Changes {
        added: limited(now.keys().filter(|name| !before.contains_key(*name)).collect()),
        changed: limited(now.iter().filter(differs).map(|(name, _)| name).collect()),
        removed: limited(before.keys().filter(|name| !now.contains_key(*name)).collect()),
        more,
    }
}

/// Whether two fingerprints belong to different values. If both contents are known, they decide.
/// Otherwise a different address or type means a different object; a change in place or a reused
/// address is not noticed. Addresses are compared only within one address space.
fn differ(
    Fingerprint(before, at): &Fingerprint,
    Fingerprint(now, own): &Fingerprint,
    shares_addresses: bool,
) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => before != now,
        _ => shares_addresses && at != own || type_of(at) != type_of(own),
    }
}

fn type_of(at: &str) -> Option<&str> {
    at.rsplit_once(' ').map(|(kind, _)| kind)
}
