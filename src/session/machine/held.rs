//! Heads of cells that failed: held for a while, so that what the cell had set can be kept.
//!
//! A cell that raises leaves no state, but its head is not ended at once. The processes that the
//! cell started end and the head is stopped, so that nothing of the cell runs on. `KeepPartial`
//! lets the head go on and freezes it like that of a cell that succeeded: a partial state. With
//! `OnError::Keep` the run leaves that state at once and nothing is held.
//!
//! A held head may own a port or the lock of a database. The next version of its cell replaces
//! it, and begins when its process has ended.

use super::hangs::Hazards;
use super::heads::Head;
use super::{Alarm, Effect, Machine, not_found};
use crate::kernel::ProcId;
use crate::notebook::{Event, ExecId, Refused, Reply, Residency, RunStatus, StateId};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many heads are held: those that failed last. Each is a process with all that its cell had made.
const MAX_HELD: usize = 2;
/// How long a head is held: time to read the error and to decide.
const HELD_FOR: Duration = Duration::from_secs(600);

/// A head whose cell failed.
#[derive(Debug)]
struct Held {
    process: ProcId,
    run: ExecId,
    head: Head,
    exec_count: u32,
    hazards: Hazards,
    since_ms: f64,
    /// What it holds for itself alone, in bytes, when it has been measured.
    bytes: Option<u64>,
}

/// All of them, the newest last.
#[derive(Debug, Default)]
pub(super) struct HeldHeads {
    all: Vec<Held>,
    /// Those that were ended for the next version of their cell, and the run that waits for their end.
    ending: BTreeMap<ProcId, ExecId>,
    alarm_is_set: bool,
}

impl HeldHeads {
    /// What all of them hold, in bytes, as far as it was measured.
    pub(super) fn bytes(&self) -> u64 {
        self.all.iter().filter_map(|held| held.bytes).sum()
    }

    /// Those that have not been measured.
    pub(super) fn unmeasured(&self) -> Vec<ProcId> {
        self.all.iter().filter(|held| held.bytes.is_none()).map(|held| held.process).collect()
    }

    /// Notes what one holds, if it is one.
    pub(super) fn note_bytes(&mut self, process: ProcId, bytes: u64) {
        if let Some(held) = self.all.iter_mut().find(|held| held.process == process) {
            held.bytes = Some(bytes);
        }
    }

    /// Takes all away, those too whose end is awaited.
    pub(super) fn take_all(&mut self) -> Vec<ProcId> {
        self.ending.clear();
        std::mem::take(&mut self.all).into_iter().map(|held| held.process).collect()
    }

    /// The head that is held for a run.
    #[cfg(test)]
    pub(super) fn process_of(&self, run: &ExecId) -> Option<ProcId> {
        self.all.iter().find(|held| &held.run == run).map(|held| held.process)
    }

    fn processes_of(&self, is_it: impl Fn(&Held) -> bool) -> Vec<ProcId> {
        self.all.iter().filter(|held| is_it(held)).map(|held| held.process).collect()
    }
}

impl Machine {
    /// Holds the head of a run that is about to end with an error. Where the state that it ran
    /// against was deleted, the head is ended.
    pub(super) fn hold(&mut self, process: ProcId, run: &ExecId, exec_count: u32, hazards: Hazards) {
        let Some(head) = self.heads.remove(process) else { return };
        if self.notebook.state(&head.at).is_none_or(|state| state.residency == Residency::Deleted) {
            return self.effects.push(Effect::Kill(process));
        }
        self.left(&head.at);
        self.effects.push(Effect::Stop(process));
        let since_ms = self.now_ms;
        self.held.all.push(Held {
            process,
            run: run.clone(),
            head,
            exec_count,
            hazards,
            since_ms,
            bytes: None,
        });
        self.set_keepable(run, true);
        while let Some(oldest) = self.held.all.first().map(|held| held.process)
            && self.held.all.len() > MAX_HELD
        {
            self.end_held(oldest);
        }
        self.wake_to_end_held();
        self.wake_to_measure();
    }

    /// One alarm for all, however many cells fail.
    fn wake_to_end_held(&mut self) {
        if !self.held.alarm_is_set
            && let Some(oldest) = self.held.all.first()
        {
            let left_ms = HELD_FOR.as_secs_f64() * 1000.0 - (self.now_ms - oldest.since_ms);
            self.held.alarm_is_set = true;
            let after = Duration::from_secs_f64(left_ms.max(0.0) / 1000.0);
            self.effects.push(Effect::Wake(after, Alarm::Held));
        }
    }

    fn set_keepable(&mut self, run: &ExecId, keepable: bool) {
        if let Some(own) = self.notebook.run_mut(run) {
            own.keepable = keepable;
            self.publish(Event::KeepableChanged { exec_id: run.clone(), keepable });
        }
    }

    /// Ends a held head: what its cell had set cannot be kept any more.
    fn end_held(&mut self, process: ProcId) {
        if self.held_is_gone(process) {
            self.effects.push(Effect::Kill(process));
        }
    }

    /// A process is gone, or about to go. Answers whether it was held.
    pub(super) fn held_is_gone(&mut self, process: ProcId) -> bool {
        let Some(at) = self.held.all.iter().position(|held| held.process == process) else { return false };
        let held = self.held.all.remove(at);
        self.set_keepable(&held.run, false);
        true
    }

    /// Some head may have been held long enough.
    pub(super) fn held_long_enough(&mut self) {
        let now_ms = self.now_ms;
        let is_over = |held: &Held| now_ms - held.since_ms >= HELD_FOR.as_secs_f64() * 1000.0;
        for process in self.held.processes_of(is_over) {
            self.end_held(process);
        }
        self.held.alarm_is_set = false;
        self.wake_to_end_held();
    }

    /// Ends the heads that are held at a state.
    pub(super) fn end_held_at(&mut self, state: &StateId) {
        for process in self.held.processes_of(|held| &held.head.at == state) {
            self.end_held(process);
        }
    }

    /// Ends the head that is held for a run.
    pub(super) fn end_held_of(&mut self, run: &ExecId) {
        for process in self.held.processes_of(|held| &held.run == run) {
            self.end_held(process);
        }
    }

    /// Ends all held heads, as memory is short.
    pub(super) fn end_all_held(&mut self) {
        for process in self.held.processes_of(|_| true) {
            self.end_held(process);
        }
    }

    /// Ends the heads that are held for earlier versions of a run's cell: those of the same state
    /// and the same draft, or without a draft both. Answers whether the run has to wait for that.
    pub(super) fn waits_for_earlier_version(&mut self, run: &ExecId, at: &StateId) -> bool {
        let draft = self.notebook.run(run).and_then(|own| own.draft.clone());
        let is_earlier = |held: &Held| {
            let own = self.notebook.run(&held.run).and_then(|earlier| earlier.draft.as_ref());
            &held.head.at == at && own == draft.as_ref()
        };
        let earlier = self.held.processes_of(is_earlier);
        for process in &earlier {
            self.end_held(*process);
            self.held.ending.insert(*process, run.clone());
        }
        !earlier.is_empty()
    }

    /// A process is gone. A run may have waited for that.
    pub(super) fn begin_after_earlier_version(&mut self, process: ProcId) {
        if let Some(run) = self.held.ending.remove(&process)
            && !self.held.ending.values().any(|waiting| *waiting == run)
        {
            self.begin_if_possible(&run);
        }
    }

    /// What a failed cell had set is to be kept: its head goes on, and stands at a partial state.
    pub(super) fn keep_partial(&mut self, exec_id: &ExecId) -> Reply {
        let Some(run) = self.notebook.run(exec_id) else { return Reply::Refused(not_found("run", exec_id)) };
        if run.state.is_some() {
            return self.ended_reply(run, false);
        }
        let Some(at) = self.held.all.iter().position(|held| &held.run == exec_id) else {
            return Reply::Refused(cannot_keep(exec_id, run.status));
        };
        let Held { process, head, exec_count, hazards, .. } = self.held.all.remove(at);
        self.set_keepable(exec_id, false);
        self.effects.push(Effect::Continue(process));
        self.heads.put_back(process, head);
        let Some(state) = self.leave_state(process, exec_id, exec_count, hazards, true) else {
            return Reply::Refused(not_found("run", exec_id));
        };
        self.end_again(exec_id);
        self.keep(process, &state);
        match self.notebook.run(exec_id) {
            Some(run) => self.ended_reply(run, false),
            None => Reply::Refused(not_found("run", exec_id)),
        }
    }

    /// Tells the end of a run once more, with the state that it has left now.
    fn end_again(&mut self, exec_id: &ExecId) {
        let Some(run) = self.notebook.run(exec_id) else { return };
        let (exec_id, status, error) = (exec_id.clone(), run.status, run.error.clone());
        let (duration_ms, state, symbols) = (run.duration_ms, run.state.clone(), run.symbols.clone());
        self.publish(Event::RunEnded { exec_id, status, error, duration_ms, state, symbols });
    }
}

fn cannot_keep(run: &ExecId, status: RunStatus) -> Refused {
    let what = format!("keep what run {run} had set");
    let how = "run it again: if it fails, keep it then, or ask for that with the run (on_error: \"keep\")";
    let held = HELD_FOR.as_secs() / 60;
    let why = match status {
        RunStatus::Queued | RunStatus::Running => {
            return Refused::new("conflict", what, "it has not ended", "wait for it, or interrupt it");
        }
        RunStatus::Crashed => "its process has died".to_owned(),
        _ => format!(
            "it is not held: that is done for the last {MAX_HELD} cells that failed and had set something, for {held} minutes, \
             until they run again or memory is short"
        ),
    };
    Refused::new("lost", what, why, how)
}
