//! Holds the heads of failed cells for some time, so that the user can keep the variables that the
//! cells set.
//!
//! A cell that raises leaves no state, but its head is not killed immediately. The head is stopped,
//! and the processes that the cell started are killed. `KeepPartial` resumes the head and freezes
//! it, as after a cell that succeeded. The result is a partial state. With `OnError::Keep`, the run
//! leaves a partial state immediately, and the head is not held.
//!
//! A held head may have a port open or a database locked. So when the next version of the cell is
//! run, the held head is killed, and the run begins after the head has exited.

use super::core::{Core, FollowUp, not_found};
use super::effect::{Alarm, Effect};
use super::outcome::exit_in_words;
use super::runs::{Runs, ended_reply, publish_end};
use crate::kernel::{CellReport, Exit, ProcId};
use crate::notebook::{DraftId, ExecId, Live, Reply, Residency, Run, RunStatus, StateId};
use crate::problem::{Kind, Problem};
use std::collections::BTreeMap;
use std::time::Duration;

/// Maximum number of held heads. The heads of the latest failed cells are held. Each takes a
/// process with all the memory that its cell used.
const MAX_HELD: usize = 2;
/// How long a head is held. The user needs this time to read the error and to decide.
const HELD_FOR: Duration = Duration::from_secs(600);

/// Maximum number of dead children that a held head may have. Cells with ordinary subprocesses stay
/// below this number. A stopped head cannot reap its children, so they count towards the user's
/// limit of processes.
const MAX_UNREAPED: usize = 16;

/// A head whose cell failed.
#[derive(Debug)]
struct Held {
    process: ProcId,
    run: ExecId,
    draft: Option<DraftId>,
    at: StateId,
    report: CellReport,
    since_ms: f64,
    /// The private memory of the process, in bytes. `None` before it is measured.
    bytes: Option<u64>,
}

/// A held head that was killed but has not exited yet.
#[derive(Debug)]
struct Ending {
    at: StateId,
    draft: Option<DraftId>,
    /// Runs of later versions of the cell. They begin when the head has exited.
    waiting: Vec<ExecId>,
}

/// Why the variables of a failed run cannot be kept.
#[derive(Clone, Debug)]
pub(super) enum NotHeld {
    /// The cell did not begin, or called `exit`.
    LeftNothing,
    /// The cell failed in its first statement, which had set nothing.
    SetNothing,
    /// The process of the cell cannot be frozen, for this reason.
    Unfit(String),
    /// The cell had started this many processes.
    StartedTooMany(usize),
    /// The process had ended before the cell did.
    Ended,
    /// The process ended while it was held.
    Died(Option<Exit>),
    /// Newer cells failed, and only `MAX_HELD` heads are held.
    Older,
    /// The head was held for `HELD_FOR`.
    LongAgo,
    /// A later version of the cell was run.
    RunAgain,
    /// Memory was short.
    Memory,
    /// The run, or the state that it ran against, was deleted.
    Deleted,
    /// The notebook was restarted in another Python.
    Restarted,
}

/// The held heads, and the reasons why other failed runs have no held head.
#[derive(Debug, Default)]
pub(super) struct HeldHeads {
    /// The newest head is last.
    all: Vec<Held>,
    ending: BTreeMap<ProcId, Ending>,
    /// Why failed runs have no held head, if the reason is known.
    reasons: BTreeMap<ExecId, NotHeld>,
    alarm_is_set: bool,
}

impl HeldHeads {
    /// The private memory of all measured held heads, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.all.iter().filter_map(|held| held.bytes).sum()
    }

    /// The held heads that have not been measured yet.
    pub(super) fn unmeasured(&self) -> Vec<ProcId> {
        self.all.iter().filter(|held| held.bytes.is_none()).map(|held| held.process).collect()
    }

    /// Notes the private memory of a process if the process is a held head.
    pub(super) fn note_bytes(&mut self, process: ProcId, bytes: u64) {
        if let Some(held) = self.all.iter_mut().find(|held| held.process == process) {
            held.bytes = Some(bytes);
        }
    }

    /// The head that is held for a run.
    #[cfg(test)]
    pub(super) fn process_of(&self, run: &ExecId) -> Option<ProcId> {
        self.all.iter().find(|held| &held.run == run).map(|held| held.process)
    }

    fn processes_of(&self, is_it: impl Fn(&Held) -> bool) -> Vec<ProcId> {
        self.all.iter().filter(|held| is_it(held)).map(|held| held.process).collect()
    }

    /// Notes why the variables of a run cannot be kept.
    pub(super) fn note(&mut self, core: &Core, run: &ExecId, why: NotHeld) {
        if !core.notebook.is_passing(run) {
            self.reasons.insert(run.clone(), why);
        }
    }

    /// Holds the head of a run that is about to end with an error. Returns true if the head is now
    /// held; the caller then stops it. If the state that the code ran against was deleted, kills
    /// the head and returns false.
    pub(super) fn hold(
        &mut self,
        core: &mut Core,
        process: ProcId,
        run: &ExecId,
        report: CellReport,
    ) -> bool {
        let Some(at) = core.processes.at(process).cloned() else { return false };
        if core.notebook.state(&at).is_none_or(|state| state.residency == Residency::Deleted) {
            self.note(core, run, NotHeld::Deleted);
            core.emit(Effect::EndRun(process));
            core.end(process);
            return false;
        }
        core.processes.hold(process);
        core.left(&at);
        self.all.push(Held {
            process,
            run: run.clone(),
            draft: core.notebook.run(run).and_then(|own| own.draft.clone()),
            at,
            report,
            since_ms: core.now_ms,
            bytes: None,
        });
        set_keepable(core, run, true);
        while let Some(oldest) = self.all.first().map(|held| held.process)
            && self.all.len() > MAX_HELD
        {
            self.end(core, oldest, NotHeld::Older);
        }
        self.wake_to_end(core);
        true
    }

    /// Handles the report that a head was stopped and that `ended` processes of its cell were
    /// killed. Kills the head if `ended` exceeds `MAX_UNREAPED`.
    pub(super) fn stopped(&mut self, core: &mut Core, process: ProcId, ended: usize) {
        if ended > MAX_UNREAPED {
            self.end(core, process, NotHeld::StartedTooMany(ended));
        }
    }

    /// Sets an alarm for the end of the oldest held head. One alarm serves all held heads.
    fn wake_to_end(&mut self, core: &mut Core) {
        if !self.alarm_is_set
            && let Some(oldest) = self.all.first()
        {
            let left_ms = HELD_FOR.as_secs_f64() * 1000.0 - (core.now_ms - oldest.since_ms);
            self.alarm_is_set = true;
            let after = Duration::from_secs_f64(left_ms.max(0.0) / 1000.0);
            core.wake(after, Alarm::HoldTimeout);
        }
    }

    fn take(&mut self, core: &mut Core, process: ProcId, why: NotHeld) -> Option<Held> {
        let at = self.all.iter().position(|held| held.process == process)?;
        let held = self.all.remove(at);
        set_keepable(core, &held.run, false);
        self.note(core, &held.run, why);
        Some(held)
    }

    /// Kills a held head. The variables of its run can then no longer be kept.
    fn end(&mut self, core: &mut Core, process: ProcId, why: NotHeld) {
        if let Some(Held { at, draft, .. }) = self.take(core, process, why) {
            self.ending.insert(process, Ending { at, draft, waiting: Vec::new() });
            core.end_held(process);
        }
    }

    fn end_those(&mut self, core: &mut Core, why: &NotHeld, is_it: impl Fn(&Held) -> bool) {
        for process in self.processes_of(is_it) {
            self.end(core, process, why.clone());
        }
    }

    /// Forgets a held head that exited without being killed by the machine.
    pub(super) fn died(&mut self, core: &mut Core, process: ProcId, exit: Option<Exit>) {
        core.processes.remove(process);
        self.take(core, process, NotHeld::Died(exit));
    }

    /// Handles the exit of a held head that was killed. Begins the runs that waited for the exit.
    pub(super) fn exited(&mut self, core: &mut Core, process: ProcId) {
        core.processes.remove(process);
        let ending = self.ending.remove(&process);
        for run in ending.into_iter().flat_map(|ending| ending.waiting) {
            core.follow_up(FollowUp::Resume(run));
        }
    }

    /// Kills the heads that have been held for `HELD_FOR`.
    pub(super) fn held_long_enough(&mut self, core: &mut Core) {
        let now_ms = core.now_ms;
        let is_over = |held: &Held| now_ms - held.since_ms >= HELD_FOR.as_secs_f64() * 1000.0;
        self.end_those(core, &NotHeld::LongAgo, is_over);
        self.alarm_is_set = false;
        self.wake_to_end(core);
    }

    /// Kills the heads that are held at a state, because the state is deleted.
    pub(super) fn end_at(&mut self, core: &mut Core, state: &StateId) {
        self.end_those(core, &NotHeld::Deleted, |held| &held.at == state);
    }

    /// Kills the head that is held for a run, because the run is deleted.
    pub(super) fn end_of(&mut self, core: &mut Core, run: &ExecId) {
        self.end_those(core, &NotHeld::Deleted, |held| &held.run == run);
    }

    /// Kills all held heads, because memory is short.
    pub(super) fn end_all(&mut self, core: &mut Core) {
        self.end_those(core, &NotHeld::Memory, |_| true);
    }

    /// Kills all held heads, because the notebook is restarted.
    pub(super) fn restart(&mut self, core: &mut Core) {
        self.end_those(core, &NotHeld::Restarted, |_| true);
        for process in std::mem::take(&mut self.ending).into_keys() {
            core.processes.remove(process);
        }
    }

    /// Forgets runs that were removed from the notebook.
    pub(super) fn forget(&mut self, runs: &[ExecId]) {
        for run in runs {
            self.reasons.remove(run);
        }
    }

    /// Kills and forgets all held heads, because the notebook is reset.
    pub(super) fn reset(&mut self, core: &mut Core) {
        self.ending.clear();
        self.reasons.clear();
        for held in std::mem::take(&mut self.all) {
            core.end(held.process);
        }
    }

    /// Kills the heads that are held for earlier versions of a run's cell. An earlier version has
    /// the same base state and the same draft. Without drafts, the same base state is enough.
    /// Makes the run wait until such a head has exited, and returns whether it waits.
    pub(super) fn wait_for_earlier_version(&mut self, core: &mut Core, run: &ExecId, at: &StateId) -> bool {
        let draft = core.notebook.run(run).and_then(|own| own.draft.clone());
        self.end_those(core, &NotHeld::RunAgain, |held| &held.at == at && held.draft == draft);
        let ending = self.ending.values_mut().find(|ending| &ending.at == at && ending.draft == draft);
        // When this head has exited, the run tries to begin again. It may then have to wait for
        // another such head.
        ending.map(|ending| ending.waiting.push(run.clone())).is_some()
    }

    /// Keeps the variables of a failed run: resumes the head, which is then at a partial state.
    pub(super) fn keep_partial(&mut self, core: &mut Core, runs: &mut Runs, exec_id: &ExecId) -> Reply {
        let Some(run) = core.notebook.run(exec_id) else {
            return Reply::Refused(not_found("run", exec_id));
        };
        if run.state.is_some() {
            return ended_reply(run, false);
        }
        let Some(at) = self.all.iter().position(|held| &held.run == exec_id) else {
            return Reply::Refused(cannot_keep(run, self.reasons.get(exec_id)));
        };
        let Held { process, report, .. } = self.all.remove(at);
        set_keepable(core, exec_id, false);
        core.emit(Effect::Continue(process));
        core.processes.release(process);
        let Some(state) = runs.leave_state(core, process, exec_id, report, true) else {
            return Reply::Refused(not_found("run", exec_id));
        };
        publish_end(core, exec_id);
        core.ensure_frozen(process, &state);
        match core.notebook.run(exec_id) {
            Some(run) => ended_reply(run, false),
            None => Reply::Refused(not_found("run", exec_id)),
        }
    }
}

fn set_keepable(core: &mut Core, run: &ExecId, keepable: bool) {
    if let Some(own) = core.notebook.run_mut(run) {
        own.keepable = keepable;
        core.publish(Live::KeepableChanged { exec_id: run.clone(), keepable });
    }
}

fn cannot_keep(run: &Run, known: Option<&NotHeld>) -> Problem {
    let what = format!("keep the variables of run {}", run.exec_id);
    let how = "run it again with on_error: \"keep\", or keep its variables if it fails again";
    let minutes = HELD_FOR.as_secs() / 60;
    let (why, how) = match (run.status, known) {
        (RunStatus::Queued | RunStatus::Running, _) => {
            return Problem::new(
                Kind::Conflict,
                what,
                "the run has not ended",
                "wait until it ends, or interrupt it",
            );
        }
        (_, Some(NotHeld::LeftNothing)) => {
            let why = "no line of the cell ran, or the cell called exit";
            return Problem::new(Kind::Lost, what, why, "fix the cell and run it again");
        }
        (_, Some(NotHeld::SetNothing)) => {
            let why = "the cell failed in its first statement, which set nothing";
            return Problem::new(
                Kind::Lost,
                what,
                why,
                "run the next cell against the state that this cell ran against",
            );
        }
        (_, Some(NotHeld::Unfit(why))) => (why.clone(), "change the cell and run it again"),
        (_, Some(NotHeld::Ended)) | (RunStatus::Crashed, None) => ("its process has ended".into(), how),
        (_, Some(NotHeld::StartedTooMany(started))) => {
            let why = format!(
                "the cell had started {started} processes; a cell that started more than {MAX_UNREAPED} \
                 can only be kept at once"
            );
            (why, "start fewer processes, or run the cell with on_error: \"keep\"")
        }
        (_, Some(NotHeld::Died(exit))) => (exit_in_words(*exit), how),
        (_, Some(NotHeld::Older)) => {
            (format!("{MAX_HELD} cells have failed since, and only the last {MAX_HELD} can be kept"), how)
        }
        (_, Some(NotHeld::LongAgo)) => (format!("it failed more than {minutes} minutes ago"), how),
        (_, Some(NotHeld::RunAgain)) if run.draft.is_some() => ("its cell was run again".into(), how),
        (_, Some(NotHeld::RunAgain)) => {
            ("another cell without a draft was run against its state, as a later version of it".into(), how)
        }
        (_, Some(NotHeld::Memory)) => ("memory was short".into(), how),
        (_, Some(NotHeld::Deleted)) => ("the state that it ran against was deleted".into(), how),
        (_, Some(NotHeld::Restarted)) => ("the notebook was restarted in another Python".into(), how),
        (_, None) if run.started_at.is_none() => ("it has not begun".into(), how),
        (_, None) => {
            let why = format!(
                "its process has ended: Ratoon holds the processes of the last {MAX_HELD} cells that failed \
                 and had set variables, for {minutes} minutes, unless the cell runs again, memory is \
                 short or the server stops"
            );
            (why, how)
        }
    };
    Problem::new(Kind::Lost, what, why, how)
}
