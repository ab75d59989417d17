//! The life of a run: asked for, queued, started, and ended, with the state that it leaves.

use super::cancel::{Stop, interrupted};
use super::core::{Core, FollowUp};
use super::memory_limit::MemoryLimit;
use super::watch::Watch;
use super::{Alarm, Effect, Serial, Ticket, drafts, not_found, transfers};
use crate::kernel::{ProcId, RunOrder};
use crate::notebook::{
    Asked, Base, DraftId, Ended, ExecId, Fact, OnError, Output, Outputs, Reply, Run, RunError, RunSpec,
    RunStatus, State, StateId, StateRef, Symbols,
};
use crate::problem::{Kind, Problem};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Limit of runs that are queued or running in one notebook.
const MAX_OPEN_RUNS: usize = 1000;

/// How a run ends: its status and its error.
#[derive(Debug)]
pub(super) enum Outcome {
    Ok,
    Error(RunError),
    Interrupted(RunError),
    Crashed(RunError),
}

impl Outcome {
    /// The run waited for a state that will never exist.
    pub(super) fn aborted(why: &str) -> Self {
        Self::Interrupted(RunError::new("RunAborted", why))
    }

    /// No process could be made for the run.
    pub(super) fn fork_failed(why: &str) -> Self {
        Self::Error(RunError::new("ForkFailed", why))
    }

    /// The system refused to make another process.
    pub(super) fn fork_refused(why: &str) -> Self {
        let why = format!("{why}. Nothing has run: try again when other cells or programs have ended");
        Self::Error(RunError::fork_refused(why))
    }

    fn into_parts(self) -> (RunStatus, Option<RunError>) {
        match self {
            Self::Ok => (RunStatus::Ok, None),
            Self::Error(error) => (RunStatus::Error, Some(error)),
            Self::Interrupted(error) => (RunStatus::Interrupted, Some(error)),
            Self::Crashed(error) => (RunStatus::Crashed, Some(error)),
        }
    }
}

/// What a head reports about itself when its cell has ended.
#[derive(Debug, Default)]
pub(super) struct CellReport {
    /// The number of the cell in `In[n]`.
    pub(super) exec_count: u32,
    /// What branches of the state do not get, as warnings for users.
    pub(super) warnings: Vec<String>,
    /// Whether branches of the state may be forked from its process.
    pub(super) forks: bool,
    /// Whether part of the state exists only in the head's process.
    pub(super) is_alone: bool,
}

/// What was requested with a run. It is kept as long as the run is in the notebook.
#[derive(Debug)]
pub(super) struct Request {
    /// The request, with ids in place of the names of states.
    pub(super) spec: RunSpec,
    pub(super) timeout: Option<Duration>,
    pub(super) memory_limit: Option<MemoryLimit>,
    /// Whether the state that the run runs against was replayed for this run.
    is_replayed: bool,
    waiting: Vec<Ticket>,
    /// Whether the run was begun again because the process that was to fork its head died. This is
    /// done only once.
    is_begun_again: bool,
    pub(super) stop: Option<Stop>,
    pub(super) watch: Watch,
    pub(super) serial: Serial,
}

impl Request {
    fn new(spec: RunSpec, ticket: Ticket) -> Self {
        Self {
            timeout: spec.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            memory_limit: spec.run_memory.map(MemoryLimit::new),
            spec,
            is_replayed: false,
            waiting: vec![ticket],
            is_begun_again: false,
            stop: None,
            watch: Watch::default(),
            serial: Serial(0),
        }
    }
}

/// All requested runs that are in the notebook.
#[derive(Debug, Default)]
pub(super) struct Runs {
    all: BTreeMap<ExecId, Request>,
    last: u64,
    /// Runs that wait until another cell may begin.
    pub(super) backlog: VecDeque<ExecId>,
}

impl Runs {
    pub(super) fn get(&self, run: &ExecId) -> Option<&Request> {
        self.all.get(run)
    }

    pub(super) fn get_mut(&mut self, run: &ExecId) -> Option<&mut Request> {
        self.all.get_mut(run)
    }

    fn add(&mut self, run: ExecId, mut request: Request) {
        self.last += 1;
        request.serial = Serial(self.last);
        self.all.insert(run, request);
    }

    /// Whether an exec id still belongs to the run with this number.
    pub(super) fn is_still(&self, run: &ExecId, serial: Serial) -> bool {
        self.all.get(run).is_some_and(|request| request.serial == serial)
    }

    /// The number of a run.
    pub(super) fn serial(&self, run: &ExecId) -> Serial {
        self.all.get(run).map_or(Serial(0), |request| request.serial)
    }

    /// Forgets runs that were removed from the notebook.
    pub(super) fn forget(&mut self, runs: &[ExecId]) {
        for run in runs {
            self.all.remove(run);
        }
    }
}

impl Runs {
    /// Adds a run. Returns the answer if this request was answered before, else none.
    pub(super) fn ask(
        &mut self,
        core: &mut Core,
        ticket: Ticket,
        spec: RunSpec,
    ) -> Result<Option<Reply>, Problem> {
        let exec_id = spec.exec_id.clone();
        if core.notebook.run(&exec_id).is_some() {
            return ask_again(core, &spec).map(Some);
        }
        (core.asked_ms, core.run_ms) = (core.now_ms, core.now_ms);
        let leaves_nothing = spec.reads.is_some();
        let on = match resolve(core, spec.on.clone(), spec.replay) {
            Ok(on) => on,
            // An empty namespace is always available, even if the root state was deleted.
            Err(_) if leaves_nothing && spec.on == Base::State(StateId::root()) => spec.on.clone(),
            Err(refused) => return Err(refused),
        };
        if core.open.len() >= MAX_OPEN_RUNS {
            let why = format!("{MAX_OPEN_RUNS} runs are waiting or running already");
            return Err(Problem::new(Kind::Busy, format!("run {exec_id}"), why, "wait, or interrupt some"));
        }
        let asked = Asked { on: spec.on.clone(), new_state_name: spec.new_state_name.clone() };
        let run = new_run(exec_id.clone(), on.clone(), spec.code.clone(), spec.draft.clone(), asked);
        self.add(exec_id.clone(), Request::new(spec, ticket));
        core.open.insert(exec_id.clone());
        if leaves_nothing {
            core.notebook.add_passing(run);
        } else {
            core.notebook.add_run(run.clone());
            core.publish(Fact::RunAdded { run });
        }
        if let Base::State(state) = on {
            core.follow_up(FollowUp::Begin(exec_id, state));
        }
        Ok(None)
    }

    /// Whether a run may replay the state it runs against.
    pub(super) fn may_replay(&self, run: &ExecId) -> bool {
        self.get(run).is_some_and(|request| request.spec.replay)
    }

    /// Whether a run may begin only at a whole state, so that missing variables are replayed first.
    pub(super) fn wants_whole_state(&self, run: &ExecId) -> bool {
        self.get(run).is_some_and(|request| request.spec.replay && !request.is_replayed)
    }

    /// Notes that the state of a run has been replayed for it.
    pub(super) fn note_replayed(&mut self, run: &ExecId) {
        if let Some(request) = self.get_mut(run) {
            request.is_replayed = true;
        }
    }

    /// Whether a run may begin again because the process that was to fork its head died. Returns
    /// true only once.
    pub(super) fn may_begin_again(&mut self, run: &ExecId) -> bool {
        let again = self.get_mut(run).map(|request| &mut request.is_begun_again);
        again.is_some_and(|again| !std::mem::replace(again, true))
    }

    /// Whether a run leaves a partial state when it fails.
    pub(super) fn keeps_on_error(&self, run: &ExecId) -> bool {
        self.get(run).is_some_and(|request| request.spec.on_error == OnError::Keep)
    }

    /// Sets the alarm for a run's time limit. Waiting for a load counts, too.
    pub(super) fn limit_time(&self, core: &mut Core, run: &ExecId) {
        if let Some(limit) = self.get(run).and_then(|request| request.timeout) {
            core.wake(limit, Alarm::TimeLimit(run.clone(), self.serial(run)));
        }
    }

    /// Orders a head to run the cell of a run.
    pub(super) fn run_on(&self, core: &mut Core, head: ProcId, exec_id: &ExecId) {
        if core.is_loading(head) {
            self.limit_time(core, exec_id);
        }
        let Some(Request { spec, memory_limit, .. }) = self.get(exec_id) else { return };
        let cell = RunOrder {
            exec_id: exec_id.clone(),
            code: spec.code.clone(),
            allow_stdin: spec.allow_stdin,
            has_memory_limit: memory_limit.is_some(),
            report_symbols: spec.with_outputs,
            deliveries: transfers::deliveries(core, spec.reads.as_deref(), exec_id, &spec.code),
        };
        core.effects.push(Effect::Run { head, cell });
    }

    /// Notes that the cell of a head has begun.
    pub(super) fn started(&mut self, core: &mut Core, head: ProcId) {
        let Some(exec_id) = core.processes.begin_run(head) else { return };
        let Some(at) = core.processes.at(head).cloned() else { return };
        core.left(&at);
        let now_ms = core.now_ms;
        let Some(run) = core.notebook.run_mut(&exec_id) else { return };
        run.status = RunStatus::Running;
        run.started_at = Some(now_ms);
        let on = run.on.clone();
        self.limit_time(core, &exec_id);
        self.begin_to_measure(core, &exec_id, &at);
        self.begin_to_watch(core, head, &exec_id);
        core.publish(Fact::RunStarted { exec_id: exec_id.clone(), on, started_at: now_ms });
        if self.is_stopping(&exec_id) {
            self.ask_to_stop(core, head, &exec_id);
        }
    }

    /// Ends a run whose head refused to run the cell, because the head's state could not be frozen.
    pub(super) fn head_refused(&mut self, core: &mut Core, head: ProcId, exec_id: &ExecId) {
        let refusal = core.processes.head_mut(head).and_then(|head| head.refusal.take());
        let mut why = "the state could not be kept, and running the cell would have lost it".to_owned();
        if let Some(at) = core.processes.at(head).cloned() {
            why += &core.warnings_of(&at);
            core.processes.rest(head, at);
        }
        let outcome = match refusal {
            Some(why) => Outcome::fork_refused(&format!("the state could not be kept: {why}")),
            None => Outcome::fork_failed(&why),
        };
        self.end(core, exec_id, outcome);
    }

    /// Adds the state that a run leaves, and notes that the run's head rests there. `partial` says
    /// that the cell failed.
    pub(super) fn leave_state(
        &mut self,
        core: &mut Core,
        head: ProcId,
        exec_id: &ExecId,
        report: CellReport,
        partial: bool,
    ) -> Option<StateId> {
        let run = core.notebook.run(exec_id)?;
        let Base::State(parent) = run.on.clone() else { return None };
        let name = run.asked.new_state_name.clone();
        let instead_of = self.get_mut(exec_id).and_then(|r| r.spec.instead_of.take());
        if let Some(head) = core.processes.head_mut(head) {
            head.is_needed = report.is_alone;
        }
        let id = StateId::new(core.new_id());
        let mut state = State::new(id.clone(), Some(parent.clone()), Some(exec_id.clone()), core.now_ms);
        state.name = name.unwrap_or(state.name);
        (state.exec_count, state.warnings, state.forks) = (report.exec_count, report.warnings, report.forks);
        state.partial = partial;
        if let Some(renamed) = core.notebook.add_state(state.clone()) {
            core.publish_state(&renamed);
        }
        core.publish(Fact::StateAdded { state });
        core.uses.note(&id);
        core.processes.rest(head, id.clone());
        if let Some(run) = core.notebook.run_mut(exec_id) {
            run.state = Some(id.clone());
        }
        drafts::move_drafts(core, exec_id, &parent, &id);
        if let Some(line) = instead_of {
            drafts::replay_as_drafts(core, &line, &id);
        }
        Some(id)
    }

    /// Ends a run. The runs that waited for its state begin, or end if it left none.
    pub(super) fn end(&mut self, core: &mut Core, exec_id: &ExecId, outcome: Outcome) {
        let now_ms = core.now_ms;
        let Some(run) = core.notebook.run_mut(exec_id).filter(|r| !r.status.has_ended()) else { return };
        let (status, error) = outcome.into_parts();
        let mut last = Vec::new();
        if let Some(error) = &error
            && !matches!(run.outputs.items().last(), Some(Output::Error(_)))
        {
            run.outputs.push_last(error.clone());
            last.push(Output::Error(error.clone()));
        }
        last.extend(run.outputs.note_dropped());
        (run.status, run.error, run.prompt) = (status, error, None);
        run.duration_ms = run.started_at.map(|t| (now_ms - t).max(0.0));
        let (on, state) = (run.on.clone(), run.state.clone());
        core.open.shift_remove(exec_id);
        core.run_ms = now_ms;
        for output in last {
            core.publish(Fact::OutputAdded { exec_id: exec_id.clone(), output });
        }
        publish_end(core, exec_id);
        self.answer_ended(core, exec_id);
        transfers::end_senders(core, exec_id);
        if status != RunStatus::Ok
            && let Base::State(state) = &on
        {
            self.distrust_after(core, exec_id, state);
        }
        if core.notebook.is_passing(exec_id) {
            core.notebook.forget_passing(exec_id);
            self.forget(std::slice::from_ref(exec_id));
        }
        match state {
            Some(state) if status == RunStatus::Ok => begin_waiting(core, exec_id, &state),
            _ if status == RunStatus::Ok => {}
            state => {
                let left = if state.is_some() { "failed" } else { "left no state" };
                for next in waiting_for(core, exec_id) {
                    self.end(core, &next, Outcome::aborted(&format!("the run before it {left}")));
                }
                if let Base::State(on) = on {
                    core.follow_up(FollowUp::ForgetDeleted(on));
                }
            }
        }
    }

    fn answer_ended(&mut self, core: &mut Core, exec_id: &ExecId) {
        let Some(request) = self.all.get_mut(exec_id) else { return };
        let tickets = std::mem::take(&mut request.waiting);
        if let Some(run) = core.notebook.run(exec_id) {
            let reply = ended_reply(run, request.spec.with_outputs);
            core.answer_all(tickets, &reply);
        }
    }

    /// Ends all open runs, because the notebook is reset. Their serial numbers are not used again.
    pub(super) fn end_all(&mut self, core: &mut Core) {
        self.backlog.clear();
        for run in core.open.clone() {
            self.end(core, &run, Outcome::Interrupted(interrupted("the notebook was reset")));
        }
        self.all.clear();
    }
}

/// Replaces the names of states by their ids. A repeated request means the same state as before,
/// even if the name belongs to another state now, often the one that the first request made.
pub(super) fn resolve_names(core: &Core, mut spec: RunSpec) -> Result<RunSpec, Problem> {
    if let Base::Name(name) = spec.on {
        let earlier = core.notebook.run(&spec.exec_id).filter(|run| run.code == spec.code);
        spec.on = match earlier {
            Some(run) => run.on.clone(),
            None => Base::State(core.resolve_state(StateRef::Name(name))?),
        };
    }
    for reading in spec.reads.iter_mut().flatten() {
        reading.state = StateRef::Id(core.resolve_state(reading.state.clone())?);
    }
    Ok(spec)
}

/// Whether this request was made before and its run was refused because the system could not make a
/// process. That run never began, so the request may be made again.
pub(super) fn was_refused(core: &Core, spec: &RunSpec) -> bool {
    core.notebook.run(&spec.exec_id).is_some_and(|run| {
        run.started_at.is_none()
            && run.error.as_ref().is_some_and(RunError::is_fork_refused)
            && is_same(run, spec)
    })
}

/// Answers a request whose exec id is known: nothing runs twice. A request with `reads` never
/// leaves a run in the notebook, so a known run cannot be its result.
fn ask_again(core: &Core, spec: &RunSpec) -> Result<Reply, Problem> {
    let exec_id = &spec.exec_id;
    let run = core.notebook.run(exec_id).ok_or_else(|| not_found("run", exec_id))?;
    let conflict = |why, how| Err(Problem::new(Kind::Conflict, format!("run {exec_id}"), why, how));
    if !run.status.has_ended() {
        let how = "wait for it, interrupt it, or use another exec_id";
        return conflict("a run with this exec_id has not ended yet", how);
    }
    if !is_same(run, spec) || spec.reads.is_some() {
        return conflict("another request used this exec_id before", "use a new exec_id for each run");
    }
    Ok(ended_reply(run, spec.with_outputs))
}

/// The base of a run: a state that can be run against, or a run that has not ended. With `replay`,
/// the state may also be lost.
pub(super) fn resolve(core: &Core, on: Base, replay: bool) -> Result<Base, Problem> {
    let state = match on {
        Base::State(state) => state,
        Base::Name(name) => core.resolve_state(StateRef::Name(name))?,
        Base::Run(earlier) => {
            let run = core.notebook.run(&earlier).ok_or_else(|| not_found("run", &earlier))?;
            match (&run.state, run.status.has_ended()) {
                (Some(state), _) => state.clone(),
                (None, false) => return Ok(Base::Run(earlier)),
                (None, true) => {
                    return Err(Problem::new(
                        Kind::Conflict,
                        "run the cell",
                        format!("the run that it waits for ({earlier}) left no state"),
                        "run the earlier cell again, then this one",
                    ));
                }
            }
        }
    };
    match core.runnable(&state) {
        Err(refused) if refused.kind != Kind::Lost || !replay => Err(refused),
        _ => Ok(Base::State(state)),
    }
}

/// Notes which variables a cell that is about to end has read, assigned and deleted.
pub(super) fn note_symbols(core: &mut Core, head: ProcId, symbols: Symbols) {
    if let Some(run) = core.processes.run_of(head).and_then(|id| core.notebook.run_mut(&id)) {
        run.symbols = Some(symbols);
    }
}

/// Begins the runs that waited for this one, now that it has left a state.
fn begin_waiting(core: &mut Core, exec_id: &ExecId, state: &StateId) {
    for next in waiting_for(core, exec_id) {
        if let Some(run) = core.notebook.run_mut(&next) {
            run.on = Base::State(state.clone());
        }
        core.follow_up(FollowUp::Begin(next, state.clone()));
    }
}

fn waiting_for(core: &Core, exec_id: &ExecId) -> Vec<ExecId> {
    let on = Base::Run(exec_id.clone());
    let open = core.open.iter().filter_map(|id| core.notebook.run(id));
    open.filter(|run| run.on == on).map(|run| run.exec_id.clone()).collect()
}

/// Publishes how a run has ended, and with which state.
pub(super) fn publish_end(core: &mut Core, exec_id: &ExecId) {
    let Some(run) = core.notebook.run(exec_id) else { return };
    let (exec_id, status, error) = (exec_id.clone(), run.status, run.error.clone());
    let (duration_ms, state, symbols) = (run.duration_ms, run.state.clone(), run.symbols.clone());
    core.publish(Fact::RunEnded { exec_id, status, error, duration_ms, state, symbols });
}

/// The answer to a request whose run has ended.
pub(super) fn ended_reply(run: &Run, with_outputs: bool) -> Reply {
    let name = |id: &StateId| run.asked.new_state_name.clone().unwrap_or_else(|| id.as_str().to_owned());
    Reply::Ended(Ended {
        exec_id: run.exec_id.clone(),
        status: run.status,
        state: run.state.clone(),
        state_name: run.state.as_ref().map(name),
        error: run.error.clone(),
        symbols: run.symbols.clone(),
        warnings: run.warnings.clone(),
        keepable: run.keepable,
        outputs: if with_outputs { run.outputs.clone() } else { Outputs::default() },
    })
}

/// Whether a request has the code, base and new name of the request that made a run.
fn is_same(run: &Run, spec: &RunSpec) -> bool {
    (&run.code, &run.asked.on, &run.asked.new_state_name) == (&spec.code, &spec.on, &spec.new_state_name)
}

/// A requested run that has not begun.
pub(super) fn new_run(exec_id: ExecId, on: Base, code: String, draft: Option<DraftId>, asked: Asked) -> Run {
    Run {
        exec_id,
        on,
        code,
        status: RunStatus::Queued,
        draft,
        exec_count: None,
        outputs: Outputs::default(),
        error: None,
        warnings: Vec::new(),
        keepable: false,
        prompt: None,
        started_at: None,
        duration_ms: None,
        state: None,
        symbols: None,
        asked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(runs: &mut Runs, core: &mut Core, id: &str, on: Base) -> ExecId {
        let spec = RunSpec::new(ExecId::new(id), "x = 1", on);
        assert_eq!(runs.ask(core, Ticket(1), spec), Ok(None));
        ExecId::new(id)
    }

    #[test]
    fn a_run_asks_to_begin_and_the_runs_after_it_end_with_it() {
        let (mut core, mut runs) = (Core::of_empty_notebook(), Runs::default());
        let first = ask(&mut runs, &mut core, "a", Base::State(StateId::root()));
        assert!(matches!(core.next_follow_up(), Some(FollowUp::Begin(run, _)) if run == first));
        let second = ask(&mut runs, &mut core, "b", Base::Run(first.clone()));
        assert!(core.next_follow_up().is_none(), "it waits for the first");
        runs.end(&mut core, &first, Outcome::fork_failed("no process"));
        let status = |id| core.notebook.run(id).map(|run| run.status);
        assert_eq!(status(&first), Some(RunStatus::Error));
        assert_eq!(status(&second), Some(RunStatus::Interrupted));
        assert!(core.open.is_empty());
    }
}
