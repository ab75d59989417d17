//! What does not survive a fork, and forks that hang: they are ended, who waits is told what may be the reason, and the
//! state remembers it.

use super::{Alarm, Effect, Machine};
use crate::kernel::{Hung, ProcId};
use crate::notebook::{Residency, StateId};
use std::time::Duration;

/// How long a forked process may take to say that it is ready. A fork takes milliseconds, of tens of gigabytes in small
/// pages a second; one that hangs never comes.
pub(super) const READY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a head may take to take up its cell. It waits until its state is frozen, which must have been given up before.
pub(super) const BEGIN_TIMEOUT: Duration = Duration::from_secs(15);
/// The same, while Python itself is starting: on a cold disk that takes its time.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(60);

/// What the process that made a state says of its branches.
#[derive(Debug, Default)]
pub(super) struct Hazards {
    /// What does not survive a branch, for people.
    pub(super) warnings: Vec<String>,
    /// Whether branches may be forked.
    pub(super) forks: bool,
    /// Whether some of the state lives only in that process.
    pub(super) is_alone: bool,
}

impl Machine {
    /// A forked process did not say that it is there: it is looked at.
    pub(super) fn not_ready(&mut self, process: ProcId) {
        if self.waits_for_a_load(process) {
            return self.effects.push(Effect::Wake(READY_TIMEOUT, Alarm::Ready(process)));
        }
        if self.is_to_be(process).is_some() {
            self.effects.push(Effect::Examine(process));
        }
    }

    /// The state at which a process is to stand that has not said that it is there.
    fn is_to_be(&self, process: ProcId) -> Option<StateId> {
        if let Some(head) = self.heads.get(process) {
            return (!head.is_ready).then(|| head.at.clone());
        }
        let state = self.state_of(process)?;
        (self.notebook.state(&state)?.residency == Residency::Freezing).then_some(state)
    }

    /// A process that is not there was looked at. While its parent makes other children it has only not come to this one.
    pub(super) fn examined(&mut self, process: ProcId, hung: &Hung) {
        let Some(state) = self.is_to_be(process) else { return };
        if !hung.is_there && hung.parent_made_one.is_some_and(|ago| ago < READY_TIMEOUT) {
            return self.effects.push(Effect::Wake(READY_TIMEOUT, Alarm::Ready(process)));
        }
        let why = self.why_it_hangs(&state, hung);
        self.effects.push(Effect::Kill(process));
        if self.heads.get(process).is_some() && !hung.is_there && self.forks(&state) {
            self.end_stuck(&state);
        }
        self.remember_that_it_hung(&state, hung);
        self.fork_failed(process, &why);
    }

    /// The frozen process of a state hangs before it forks: no branch could ever come from it. What is on disk still can.
    fn end_stuck(&mut self, state: &StateId) {
        let is_there = self.notebook.state(state).is_some_and(|s| s.residency == Residency::Memory);
        if let Some(frozen) = self.frozen.get(state).filter(|_| is_there) {
            self.effects.push(Effect::Kill(*frozen));
        }
    }

    fn why_it_hangs(&self, state: &StateId, hung: &Hung) -> String {
        let whose = if hung.is_there { "the forked process" } else { "the process that was to fork" };
        let mut suspects = self.notebook.state(state).map(|s| s.warnings.clone()).unwrap_or_default();
        if !hung.libraries.is_empty() {
            suspects.push(format!(
                "libraries with threads of their own are loaded: {}",
                hung.libraries.join(", ")
            ));
        }
        if suspects.is_empty() {
            suspects.push("a function that was given to os.register_at_fork".to_owned());
        }
        format!(
            "the branch was not there within {} s and was ended; {whose} hung: {}. Suspected: {}",
            READY_TIMEOUT.as_secs(),
            hung.doing,
            suspects.join("; "),
        )
    }

    /// Notes at a state that a fork of it hung. Its next branch comes from its checkpoint, where it has one.
    fn remember_that_it_hung(&mut self, id: &StateId, hung: &Hung) {
        let Some(state) = self.notebook.state_mut(id) else { return };
        let warning = format!("a fork of it hung: {}", hung.doing);
        let has_checkpoint = state.checkpoint.as_ref().is_some_and(|c| c.is_trusted);
        let is_known = state.warnings.contains(&warning) && state.forks != has_checkpoint;
        if state.id.is_root() || is_known {
            return;
        }
        state.forks &= !has_checkpoint;
        if !state.warnings.contains(&warning) {
            state.warnings.push(warning);
        }
        self.publish_state(id);
    }

    /// A state was loaded, and its process must not be forked: loading it has started threads.
    pub(super) fn note_hazard(&mut self, id: &StateId, hazard: Option<String>) {
        if let Some(hazard) = hazard
            && let Some(state) = self.notebook.state_mut(id).filter(|s| s.forks)
        {
            state.forks = false;
            state.warnings.push(hazard);
            self.publish_state(id);
        }
    }

    /// A frozen process says what its branches share.
    pub(super) fn shared(&mut self, process: ProcId, warnings: Vec<String>) {
        let Some(id) = self.state_of(process) else { return };
        let Some(state) = self.notebook.state_mut(&id) else { return };
        let known = state.warnings.len();
        for warning in warnings {
            if !state.warnings.contains(&warning) {
                state.warnings.push(warning);
            }
        }
        if state.warnings.len() > known {
            self.publish_state(&id);
        }
    }

    /// The end of a sentence: what a state warns of.
    pub(super) fn known_of(&self, state: &StateId) -> String {
        match self.notebook.state(state).map(|s| s.warnings.join("; ")) {
            Some(warnings) if !warnings.is_empty() => format!("; of this state is known: {warnings}"),
            _ => String::new(),
        }
    }
}
