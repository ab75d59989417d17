//! The life of a run: it is requested and queued, it begins, and it ends with or without a state.

mod cancel;
mod memory_limit;
mod watch;

pub(super) use self::cancel::Stop;
use self::memory_limit::MemoryLimit;
pub(in crate::session) use self::memory_limit::RunMemory;
use self::watch::Watch;
use super::core::{Core, FollowUp, not_found};
use super::drafts;
use super::effect::{Alarm, Effect, Serial, Ticket};
use super::outcome;
use super::placement;
use super::transfers;
use crate::kernel::{CellReport, ProcId};
use crate::notebook::{
    Asked, Base, Cause, Ended, ExecId, Fact, Metric, OnError, Output, Outputs, Place, Reply, Residency, Run,
    RunError, RunSpec, RunStatus, RunWorker, State, StateId, StateRef, Symbols, other_state,
};
use crate::problem::{Kind, Problem};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Maximum number of runs that are queued or running in one notebook.
const MAX_OPEN_RUNS: usize = 1000;

/// The request of a run, with the run's progress. It exists as long as the run is in the notebook.
#[derive(Debug)]
pub(super) struct Request {
    /// The request. Names of states are replaced by ids.
    pub(super) spec: RunSpec,
    /// The version of the draft `spec.draft` when the run was requested.
    draft_version: Option<u64>,
    pub(super) timeout: Option<Duration>,
    pub(super) memory_limit: Option<MemoryLimit>,
    /// Whether the run's base state was replayed for this run.
    is_replayed: bool,
    waiting: Vec<Ticket>,
    /// Whether the run began a second time because the process that should have forked its head
    /// died. This happens at most once.
    has_used_its_retry: bool,
    pub(super) stop: Option<Stop>,
    pub(super) watch: Watch,
    pub(super) serial: Serial,
    /// How long the code ran, in milliseconds, as its worker has measured it.
    duration_ms: Option<f64>,
}

impl Request {
    fn new(spec: RunSpec, draft_version: Option<u64>, ticket: Option<Ticket>) -> Self {
        Self {
            draft_version,
            timeout: spec.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            memory_limit: spec.run_memory.map(MemoryLimit::new),
            spec,
            is_replayed: false,
            waiting: ticket.into_iter().collect(),
            has_used_its_retry: false,
            stop: None,
            watch: Watch::default(),
            serial: Serial(0),
            duration_ms: None,
        }
    }
}

/// The requests of all runs in the notebook.
#[derive(Debug, Default)]
pub(super) struct Runs {
    all: BTreeMap<ExecId, Request>,
    last: u64,
    /// Runs that wait because too many cells run.
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

    /// Whether an exec id still refers to the run with this serial number.
    pub(super) fn is_still(&self, run: &ExecId, serial: Serial) -> bool {
        self.all.get(run).is_some_and(|request| request.serial == serial)
    }

    /// The serial number of a run; 0 if the run does not exist.
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
    /// Adds a run. If this request was made before and its run has ended, returns the earlier
    /// answer; otherwise, the client has to wait.
    pub(super) fn ask(
        &mut self,
        core: &mut Core,
        ticket: impl Into<Option<Ticket>>,
        spec: RunSpec,
    ) -> Result<Option<Reply>, Problem> {
        let exec_id = spec.exec_id.clone();
        if core.notebook.run(&exec_id).is_some() {
            return ask_again(core, &spec).map(Some);
        }
        if core.notebook.has_deleted_state_of(&exec_id) && !spec.passing {
            let why = "a run with this exec_id was deleted, with the state that it left";
            let how = "restore it from the deleted states, or use another exec_id";
            return Err(Problem::new(Kind::Conflict, format!("run {exec_id}"), why, how));
        }
        if spec.place == Place::Workers {
            placement::check(core, &spec)?;
        }
        (core.asked_ms, core.run_ms) = (core.now_ms, core.now_ms);
        let leaves_nothing = spec.passing;
        let on = match resolve(core, spec.on.clone(), spec.replay) {
            Ok(on) => on,
            // The empty namespace is always available for a run that leaves no state, even if the
            // root state was deleted.
            Err(_) if leaves_nothing && spec.on == Base::State(StateId::root()) => spec.on.clone(),
            Err(refused) => return Err(refused),
        };
        if core.open.len() >= MAX_OPEN_RUNS {
            let why = format!("{MAX_OPEN_RUNS} runs are waiting or running already");
            return Err(Problem::new(
                Kind::Busy,
                format!("run {exec_id}"),
                why,
                "wait, or interrupt some runs",
            ));
        }
        let asked = Asked { on: spec.on.clone(), new_state_name: spec.new_state_name.clone() };
        let mut run = Run::new(exec_id.clone(), on.clone(), spec.code.clone(), spec.draft.clone(), asked);
        run.variant = spec.variant;
        run.worker = (spec.place == Place::Workers).then(RunWorker::default);
        run.imported_cell = spec.draft.as_ref().and_then(|draft| core.notebook.imported_cell_of(draft));
        let draft_version = spec.draft.as_ref().and_then(|id| core.notebook.draft(id)).map(|d| d.version);
        self.add(exec_id.clone(), Request::new(spec, draft_version, ticket.into()));
        core.open.insert(exec_id.clone());
        if leaves_nothing {
            core.notebook.add_passing(run);
        } else {
            core.add_run(run);
        }
        if let Base::State(state) = on {
            core.follow_up(FollowUp::Begin(exec_id, state));
        }
        Ok(None)
    }

    /// Whether a run runs at a worker.
    pub(super) fn is_at_workers(&self, run: &ExecId) -> bool {
        self.get(run).is_some_and(|request| request.spec.place == Place::Workers)
    }

    /// Notes how long the code of a run has run at its worker, in milliseconds.
    pub(super) fn note_duration(&mut self, run: &ExecId, duration_ms: Option<f64>) {
        if let Some(request) = self.get_mut(run) {
            request.duration_ms = duration_ms;
        }
    }

    /// Whether a run may replay its base state.
    pub(super) fn may_replay(&self, run: &ExecId) -> bool {
        self.get(run).is_some_and(|request| request.spec.replay)
    }

    /// Whether a run may begin only at a whole state. If so, a state that lacks variables is
    /// replayed first.
    pub(super) fn wants_whole_state(&self, run: &ExecId) -> bool {
        self.get(run).is_some_and(|request| request.spec.replay && !request.is_replayed)
    }

    /// Notes that a run's base state was replayed for this run.
    pub(super) fn note_replayed(&mut self, run: &ExecId) {
        if let Some(request) = self.get_mut(run) {
            request.is_replayed = true;
        }
    }

    /// Takes the one retry of a run: it begins again after the process that should have forked its
    /// head died. Returns false if the run has had its retry.
    pub(super) fn take_retry(&mut self, run: &ExecId) -> bool {
        let again = self.get_mut(run).map(|request| &mut request.has_used_its_retry);
        again.is_some_and(|again| !std::mem::replace(again, true))
    }

    /// Whether a run leaves a partial state when it fails.
    pub(super) fn keeps_on_error(&self, run: &ExecId) -> bool {
        self.get(run).is_some_and(|request| request.spec.on_error == OnError::Keep)
    }

    /// Sets the alarm for a run's time limit. The limit includes the time for loading the state.
    pub(super) fn limit_time(&self, core: &mut Core, run: &ExecId) {
        if let Some(limit) = self.get(run).and_then(|request| request.timeout) {
            core.wake(limit, Alarm::TimeLimit(run.clone(), self.serial(run)));
        }
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

    /// Ends a run whose head refused to run the cell because the head's state could not be frozen.
    /// Running the cell would have lost that state.
    pub(super) fn head_refused(&mut self, core: &mut Core, head: ProcId, exec_id: &ExecId) {
        let refusal = core.processes.head_mut(head).and_then(|head| head.refusal.take());
        let mut why = "the state could not be kept, and running the cell would have lost it".to_owned();
        if let Some(at) = core.processes.at(head).cloned() {
            why += &core.warnings_of(&at);
            core.processes.rest(head, at);
        }
        let error = match refusal {
            Some(why) => outcome::fork_refused(&format!("the state could not be kept: {why}")),
            None => outcome::fork_failed(&why),
        };
        self.fail(core, exec_id, error);
    }

    /// Adds the state that a run leaves, and notes that the run's head rests at that state.
    /// `partial` is true if the cell failed.
    pub(super) fn leave_state(
        &mut self,
        core: &mut Core,
        head: ProcId,
        exec_id: &ExecId,
        report: CellReport,
        partial: bool,
    ) -> Option<StateId> {
        if let Some(head) = core.processes.head_mut(head) {
            head.is_needed = report.hazards.is_alone;
        }
        let id = self.add_state(core, exec_id, report, partial, Residency::Freezing)?;
        core.uses.note(&id);
        core.processes.rest(head, id.clone());
        Some(id)
    }

    /// Adds the state that a run leaves to the graph.
    pub(super) fn add_state(
        &mut self,
        core: &mut Core,
        exec_id: &ExecId,
        report: CellReport,
        partial: bool,
        residency: Residency,
    ) -> Option<StateId> {
        let run = core.notebook.run(exec_id)?;
        let Base::State(parent) = run.on.clone() else { return None };
        let name = run.asked.new_state_name.clone();
        let taken_from = other_state(&run.code).map(|(from, _)| from);
        let request = self.get_mut(exec_id);
        let (instead_of, version) =
            request.map_or((None, None), |r| (r.spec.instead_of.take(), r.draft_version));
        let id = StateId::new(core.new_id());
        let mut state = State::new(id.clone(), Some(parent.clone()), Some(exec_id.clone()), core.now_ms);
        state.name = name.unwrap_or(state.name);
        let CellReport { exec_count, hazards } = report;
        (state.exec_count, state.warnings, state.forks) = (exec_count, hazards.warnings, hazards.forks);
        (state.partial, state.taken_from, state.residency) = (partial, taken_from, residency);
        if let Some(renamed) = core.notebook.add_state(state.clone()) {
            core.publish_state(&renamed);
        }
        core.publish(Fact::StateAdded { state });
        if let Some(run) = core.notebook.run_mut(exec_id) {
            run.state = Some(id.clone());
        }
        if let Some(range) = &instead_of {
            drafts::remove_edit(core, exec_id, &range.state);
        }
        let line = instead_of.or_else(|| drafts::version_with_draft(core, exec_id, &parent));
        drafts::move_drafts(core, exec_id, version, &parent, &id);
        if let Some(line) = line {
            drafts::replay_as_drafts(core, &line, &id);
        }
        Some(id)
    }

    /// Ends a run. Then begins the runs that waited for the run's state. If the run failed or left
    /// no state, ends these runs too.
    pub(super) fn end(&mut self, core: &mut Core, exec_id: &ExecId, ending: Result<(), RunError>) {
        let now_ms = core.now_ms;
        let Some(run) = core.notebook.run_mut(exec_id).filter(|r| !r.status.has_ended()) else { return };
        let error = ending.err();
        let status = error.as_ref().map_or(RunStatus::Ok, RunError::status);
        let mut last = Vec::new();
        if let Some(error) = &error
            && !matches!(run.outputs.items().last(), Some(Output::Error(_)))
        {
            run.outputs.push_last(error.clone());
            last.push(Output::error(error.clone()));
        }
        last.extend(run.outputs.note_dropped());
        (run.status, run.error, run.prompt) = (status, error, None);
        let measured = self.all.get(exec_id).and_then(|request| request.duration_ms);
        run.duration_ms = measured.or_else(|| run.started_at.map(|t| (now_ms - t).max(0.0)));
        let is_at_workers = run.worker.is_some();
        let (on, state) = (run.on.clone(), run.state.clone());
        core.open.shift_remove(exec_id);
        core.run_ms = now_ms;
        for output in last {
            core.publish(Fact::OutputAdded { exec_id: exec_id.clone(), output });
        }
        publish_end(core, exec_id);
        if is_at_workers && !core.keeps_tasks {
            core.emit(Effect::Recall(exec_id.clone()));
        }
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
                    self.fail(core, &next, outcome::aborted(&format!("the run before it {left}")));
                }
                if let Base::State(on) = on {
                    core.follow_up(FollowUp::ForgetDeleted(on));
                }
            }
        }
    }

    /// Ends a run with an error.
    pub(super) fn fail(&mut self, core: &mut Core, exec_id: &ExecId, error: RunError) {
        self.end(core, exec_id, Err(error));
    }

    fn answer_ended(&mut self, core: &mut Core, exec_id: &ExecId) {
        let Some(request) = self.all.get_mut(exec_id) else { return };
        let tickets = std::mem::take(&mut request.waiting);
        if let Some(run) = core.notebook.run(exec_id) {
            let reply = ended_reply(run, request.spec.with_outputs);
            core.answer_all(tickets, &reply);
        }
    }

    /// Ends all open runs, because the notebook is reset. New runs never get the serial numbers of
    /// these runs.
    pub(super) fn end_all(&mut self, core: &mut Core) {
        self.backlog.clear();
        for run in core.open.clone() {
            self.fail(core, &run, outcome::interrupted("the notebook was reset"));
        }
        self.all.clear();
    }
}

/// Replaces the names of states by ids. In a repeated request, a name refers to the same state as
/// in the first request. The name may have moved since then, often to the state that the first
/// request made.
pub(super) fn resolve_names(core: &Core, mut spec: RunSpec) -> Result<RunSpec, Problem> {
    if let Base::Name(name) = spec.on {
        let earlier = core.notebook.run(&spec.exec_id).filter(|run| run.code == spec.code);
        spec.on = match earlier {
            Some(run) => run.on.clone(),
            None => Base::State(core.resolve_state(StateRef::Name(name))?),
        };
    }
    for reading in &mut spec.reads {
        reading.state = StateRef::Id(core.resolve_state(reading.state.clone())?);
    }
    Ok(spec)
}

/// The other states whose variables a run reads.
pub(super) fn read_states(spec: &RunSpec) -> Vec<StateId> {
    let named = spec.reads.iter().filter_map(|reading| match &reading.state {
        StateRef::Id(state) => Some(state.clone()),
        StateRef::Name(_) => None,
    });
    named.chain(other_state(&spec.code).map(|(state, _)| state)).collect()
}

/// Whether this request was made before, and its run ended because the system could not create a
/// process. That run never began, so the request may be repeated.
pub(super) fn was_refused(core: &Core, spec: &RunSpec) -> bool {
    core.notebook.run(&spec.exec_id).is_some_and(|run| {
        run.started_at.is_none()
            && run.error.as_ref().is_some_and(|error| error.cause == Some(Cause::ForkRefused))
            && is_same(run, spec)
    })
}

/// Answers a request whose exec id is in use, because no cell runs twice for one exec id. A passing
/// run is always refused: it leaves no run in the notebook, so the existing run belongs to another
/// request.
fn ask_again(core: &Core, spec: &RunSpec) -> Result<Reply, Problem> {
    let exec_id = &spec.exec_id;
    let run = core.notebook.run(exec_id).ok_or_else(|| not_found("run", exec_id))?;
    let conflict = |why, how| Err(Problem::new(Kind::Conflict, format!("run {exec_id}"), why, how));
    if !run.status.has_ended() {
        let how = "wait for it, interrupt it, or use another exec_id";
        return conflict("a run with this exec_id has not ended yet", how);
    }
    if !is_same(run, spec) || spec.passing {
        return conflict("another request used this exec_id before", "use a new exec_id for each run");
    }
    Ok(ended_reply(run, spec.with_outputs))
}

/// The base of a run: a state that can be run against, or a run that has not ended. With `replay`,
/// a lost state is accepted too.
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

/// Notes which variables a cell has read, assigned and deleted. The head reports this just before
/// the end of the cell.
pub(super) fn note_symbols(core: &mut Core, head: ProcId, symbols: Symbols) {
    if let Some(run) = core.processes.run_of(head).and_then(|id| core.notebook.run_mut(&id)) {
        run.symbols = Some(symbols);
    }
}

/// Notes the metric of a run. The head reports it just before the end of the cell.
pub(super) fn note_metric(core: &mut Core, head: ProcId, metric: Metric) {
    if let Some(run) = core.processes.run_of(head).and_then(|id| core.notebook.run_mut(&id)) {
        run.metric = Some(metric);
    }
}

/// Begins the runs that waited for a run that has now left a state.
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

/// Publishes the end of a run, with the state that it left.
pub(super) fn publish_end(core: &mut Core, exec_id: &ExecId) {
    let Some(run) = core.notebook.run(exec_id) else { return };
    let (exec_id, status, error) = (exec_id.clone(), run.status, run.error.clone());
    let (duration_ms, state) = (run.duration_ms, run.state.clone());
    let (symbols, metric, worker) = (run.symbols.clone(), run.metric.clone(), run.worker.clone());
    core.publish(Fact::RunEnded { exec_id, status, error, duration_ms, state, symbols, metric, worker });
}

/// The reply to the request of a run that has ended.
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

/// Whether a request has the same code, base and new state name as the request that made a run.
fn is_same(run: &Run, spec: &RunSpec) -> bool {
    (&run.code, &run.asked.on, &run.asked.new_state_name) == (&spec.code, &spec.on, &spec.new_state_name)
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
        runs.fail(&mut core, &first, outcome::fork_failed("no process"));
        let status = |id| core.notebook.run(id).map(|run| run.status);
        assert_eq!(status(&first), Some(RunStatus::Error));
        assert_eq!(status(&second), Some(RunStatus::Interrupted));
        assert!(core.open.is_empty());
    }
}
