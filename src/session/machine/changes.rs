//! What a cell did to the variables: found out when nobody waits, by comparing the marks of its state with its parent's.
//!
//! Marks are told by a throw-away fork of the frozen process (`Role::Mark`), one at a time. Those of the last states are kept,
//! so that along a line each state is read once. No state is brought back from disk for it: then it stays unknown.

use super::{Alarm, Effect, Machine};
use crate::kernel::{Fingerprint, Fingerprints, ProcId, Role};
use crate::notebook::{Changes, Fact, RunStatus, StateId};
use std::collections::VecDeque;
use std::time::Duration;

/// How long nothing must have been asked or have ended: cells that follow each other quickly are not slowed down.
const REST: Duration = Duration::from_millis(150);
/// The same while some cell runs: one in a series may take longer, and one that runs for hours is not to hold this up.
const REST_BESIDE_A_RUN: Duration = Duration::from_secs(1);
/// How many states may wait; the oldest beyond it stay unknown.
const MAX_WAITING: usize = 32;
/// The marks of so many states are kept, and of so many variables together.
const MAX_KEPT: usize = 64;
const MAX_KEPT_MARKS: usize = 100_000;
/// How many names are told of one state.
const MAX_NAMES: usize = 200;
/// How long telling marks may take. Reading contents is limited to a third of a second, inside.
const MARK_TIMEOUT: Duration = Duration::from_secs(3);

/// What is known of the variables of a state: nothing, when they could not be read.
type Known = Option<(Fingerprints, u64)>;

/// What waits to be compared, and with what.
#[derive(Debug, Default)]
pub(super) struct Comparer {
    /// The newest last.
    waiting: VecDeque<StateId>,
    /// The state whose marks are being told, and by which process.
    marking: Option<(ProcId, StateId)>,
    /// Of the states that were read last.
    kept: VecDeque<(StateId, Known)>,
    /// When a run was last asked for or ended.
    run_ms: f64,
    alarm_is_set: bool,
}

impl Comparer {
    /// Notes that a run was asked for, or has ended.
    pub(super) fn note_run(&mut self, now_ms: f64) {
        self.run_ms = now_ms;
    }

    /// Whether a process tells marks.
    pub(super) fn is_marking(&self, process: ProcId) -> bool {
        self.marking.as_ref().is_some_and(|(p, _)| *p == process)
    }

    /// Forgets states that are gone.
    pub(super) fn forget(&mut self, states: &[StateId]) {
        self.waiting.retain(|s| !states.contains(s));
        self.kept.retain(|(s, _)| !states.contains(s));
    }

    fn known(&self, state: &StateId) -> Option<&Known> {
        self.kept.iter().find(|(s, _)| s == state).map(|(_, known)| known)
    }

    fn keep(&mut self, state: StateId, known: Known) {
        self.kept.push_back((state, known));
        let count = |known: &Known| known.as_ref().map_or(0, |(marks, _)| marks.len());
        let mut all: usize = self.kept.iter().map(|(_, known)| count(known)).sum();
        // The two that are compared stay, however many they have.
        while self.kept.len() > MAX_KEPT || all > MAX_KEPT_MARKS && self.kept.len() > 2 {
            all -= self.kept.pop_front().map_or(0, |(_, known)| count(&known));
        }
    }
}

impl Machine {
    /// A state has a frozen process now: what its cell did is found out soon.
    pub(super) fn compare_soon(&mut self, id: &StateId) {
        let is_new = self.notebook.state(id).is_some_and(|s| s.changes.is_none() && s.parent.is_some());
        if is_new && !self.comparer.waiting.contains(id) {
            self.comparer.waiting.push_back(id.clone());
            if self.comparer.waiting.len() > MAX_WAITING {
                self.comparer.waiting.pop_front();
            }
            self.wake_to_compare();
        }
    }

    fn wake_to_compare(&mut self) {
        if !self.comparer.alarm_is_set {
            self.comparer.alarm_is_set = true;
            self.effects.push(Effect::Wake(REST, Alarm::Compare));
        }
    }

    /// The moment of rest may have come.
    pub(super) fn time_to_compare(&mut self) {
        self.comparer.alarm_is_set = false;
        self.compare_next();
    }

    /// Whether no cell is about to follow another.
    fn rests(&self) -> bool {
        let waits = |run| self.notebook.run(run).is_some_and(|r| r.status == RunStatus::Queued);
        let rest = if self.open.is_empty() { REST } else { REST_BESIDE_A_RUN };
        self.now_ms - self.comparer.run_ms >= rest.as_secs_f64() * 1000.0 && !self.open.iter().any(waits)
    }

    /// Takes the next step: reads a state, or compares two; the newest first.
    fn compare_next(&mut self) {
        while self.comparer.marking.is_none()
            && let Some(id) = self.comparer.waiting.back().cloned()
        {
            if !self.rests() {
                return self.wake_to_compare();
            }
            let parent = self.notebook.state(&id).and_then(|s| s.parent.clone());
            let unread = parent.iter().chain([&id]).find(|s| self.comparer.known(s).is_none()).cloned();
            match (unread, parent) {
                (Some(unread), Some(_)) if self.mark(&unread) => return,
                (None, Some(parent)) => self.compare(&id, &parent),
                // Neither in memory nor known: it stays unknown.
                _ => {}
            }
            self.comparer.waiting.retain(|s| *s != id);
        }
    }

    /// Has the marks of a state told, if a process holds it.
    fn mark(&mut self, id: &StateId) -> bool {
        let Some(frozen) = self.frozen.get(id).copied().filter(|p| !self.loads.contains_key(p)) else {
            return false;
        };
        let process = self.new_proc();
        self.comparer.marking = Some((process, id.clone()));
        self.effects.push(Effect::Fork { from: frozen, child: process, role: Role::Fingerprint, load: None });
        self.effects.push(Effect::Wake(MARK_TIMEOUT, Alarm::Marked(process)));
        true
    }

    /// The marks of a state are told.
    pub(super) fn fingerprinted(&mut self, process: ProcId, marks: Option<Fingerprints>, family: u64) {
        if let Some((_, state)) = self.comparer.marking.take_if(|(p, _)| *p == process) {
            if self.notebook.state(&state).is_some() {
                self.comparer.keep(state, marks.map(|marks| (marks, family)));
            }
            self.compare_next();
        }
    }

    /// The marks of a state are not to be had.
    pub(super) fn not_marked(&mut self, process: ProcId) {
        self.fingerprinted(process, None, 0);
    }

    /// Telling marks takes too long.
    pub(super) fn marks_took_too_long(&mut self, process: ProcId) {
        if self.comparer.is_marking(process) {
            self.effects.push(Effect::Kill(process));
            self.not_marked(process);
        }
    }

    fn compare(&mut self, id: &StateId, parent: &StateId) {
        let (Some(Some(now)), Some(Some(before))) = (self.comparer.known(id), self.comparer.known(parent))
        else {
            return;
        };
        let changes = changes(before, now);
        if let Some(state) = self.notebook.state_mut(id) {
            state.changes = Some(changes.clone());
            self.publish(Fact::ChangesFound { state: id.clone(), changes });
        }
    }

    /// All states but the root are forgotten.
    pub(super) fn stop_comparing(&mut self) {
        if let Some((process, _)) = self.comparer.marking.take() {
            self.effects.push(Effect::Kill(process));
        }
        self.comparer.waiting.clear();
        self.comparer.kept.clear();
    }
}

/// What is different, by name.
fn changes((before, family): &(Fingerprints, u64), (now, own): &(Fingerprints, u64)) -> Changes {
    let is_family = family == own;
    let mut room = MAX_NAMES;
    let mut more = 0;
    let mut told = |names: Vec<&String>| {
        let count = names.len().min(room);
        room -= count;
        more += u32::try_from(names.len() - count).unwrap_or(u32::MAX);
        names.into_iter().take(count).cloned().collect::<Vec<_>>()
    };
    let differs = |(name, mark): &(&String, &Fingerprint)| {
        before.get(*name).is_some_and(|b| differ(b, mark, is_family))
    };
    Changes {
        added: told(now.keys().filter(|name| !before.contains_key(*name)).collect()),
        changed: told(now.iter().filter(differs).map(|(name, _)| name).collect()),
        removed: told(before.keys().filter(|name| !now.contains_key(*name)).collect()),
        more,
    }
}

/// Whether two marks are of different values. Contents say it; where one is not known, it is another object when it is at
/// another address or of another type. One that was changed in place is not seen then, nor one whose address was used again.
/// Between processes that are no family addresses say nothing.
fn differ(
    Fingerprint(before, at): &Fingerprint,
    Fingerprint(now, own): &Fingerprint,
    is_family: bool,
) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => before != now,
        _ => is_family && at != own || type_of(at) != type_of(own),
    }
}

fn type_of(at: &str) -> Option<&str> {
    at.rsplit_once(' ').map(|(kind, _)| kind)
}
