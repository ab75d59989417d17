//! The life of a run: asked for, queued, begun, ended.

use super::cancel::{Stop, interrupted};
use super::hangs::{BEGIN_TIMEOUT, Hazards};
use super::held::NotHeld;
use super::memory_limit::Weighing;
use super::processes::Doing;
use super::watch::Watch;
use super::{Alarm, Effect, Machine, Serial, Ticket, drafts, not_found, transfers};
use crate::kernel::{How, ProcId, Remains};
use crate::notebook::{
    Asked, Base, DraftId, Ended, ExecId, Fact, OnError, Output, Outputs, Reply, Run, RunError, RunSpec,
    RunStatus, StateId, StateRef, Symbols,
};
use crate::problem::{Kind, Problem};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many runs may be queued or running in one notebook.
const MAX_OPEN_RUNS: usize = 1000;

/// A run that was asked for, as long as the notebook knows it.
#[derive(Debug)]
pub(super) struct Request {
    /// As it was asked for.
    pub(super) spec: RunSpec,
    pub(super) timeout: Option<Duration>,
    pub(super) weighing: Option<Weighing>,
    /// Whether its state has been replayed for it.
    pub(super) is_replayed: bool,
    waiting: Vec<Ticket>,
    /// Whether it was begun again because its source died. That is done once.
    is_begun_again: bool,
    pub(super) stop: Option<Stop>,
    /// Why what it had set is not held, once that is known.
    pub(super) not_held: Option<NotHeld>,
    pub(super) watch: Watch,
    pub(super) serial: Serial,
}

impl Request {
    fn new(spec: RunSpec, ticket: Ticket) -> Self {
        Self {
            timeout: spec.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            weighing: spec.run_memory.map(Weighing::new),
            spec,
            is_replayed: false,
            waiting: vec![ticket],
            is_begun_again: false,
            stop: None,
            not_held: None,
            watch: Watch::default(),
            serial: Serial(0),
        }
    }
}

/// The requests of all runs that the notebook knows.
#[derive(Debug, Default)]
pub(super) struct Requests {
    all: BTreeMap<ExecId, Request>,
    last: u64,
}

impl Requests {
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

    /// Whether this exec id still means the run with this number.
    pub(super) fn is_still(&self, run: &ExecId, serial: Serial) -> bool {
        self.all.get(run).is_some_and(|request| request.serial == serial)
    }

    /// The number of a run.
    pub(super) fn serial(&self, run: &ExecId) -> Serial {
        self.all.get(run).map_or(Serial(0), |request| request.serial)
    }

    /// Forgets all runs. Their serial numbers stay used.
    fn forget_all(&mut self) {
        self.all.clear();
    }

    /// Forgets runs that left the notebook.
    pub(super) fn forget(&mut self, runs: &[ExecId]) {
        for run in runs {
            self.all.remove(run);
        }
    }
}

impl Machine {
    /// A run is asked for. Answers at once only when there is nothing to wait for.
    pub(super) fn ask_run(&mut self, ticket: Ticket, spec: RunSpec) -> Result<Option<Reply>, Problem> {
        let spec = self.resolve_names(spec)?;
        let exec_id = spec.exec_id.clone();
        if self.was_refused(&spec) {
            // It never began: the same request is a new one.
            self.drop_attempt(exec_id);
        }
        if self.core.notebook.run(&spec.exec_id).is_some() {
            return self.ask_again(&spec).map(Some);
        }
        self.saver.note_asked(self.core.now_ms);
        self.comparer.note_run(self.core.now_ms);
        let leaves_nothing = spec.reads.is_some();
        let on = match self.resolve(spec.on.clone(), spec.replay) {
            Ok(on) => on,
            // An empty namespace is always there, whatever became of the root state.
            Err(_) if leaves_nothing && spec.on == Base::State(StateId::root()) => spec.on.clone(),
            Err(refused) => return Err(refused),
        };
        let exec_id = spec.exec_id.clone();
        if self.core.open.len() >= MAX_OPEN_RUNS {
            let why = format!("{MAX_OPEN_RUNS} runs are waiting or running already");
            return Err(Problem::new(Kind::Busy, format!("run {exec_id}"), why, "wait, or interrupt some"));
        }
        let asked = Asked { on: spec.on.clone(), new_state_name: spec.new_state_name.clone() };
        let run = new_run(exec_id.clone(), on.clone(), spec.code.clone(), spec.draft.clone(), asked);
        self.requests.add(exec_id.clone(), Request::new(spec, ticket));
        self.core.open.insert(exec_id.clone());
        if leaves_nothing {
            self.core.notebook.add_passing(run);
        } else {
            self.core.notebook.add_run(run.clone());
            self.core.publish(Fact::RunAdded { run });
        }
        if let Base::State(state) = on {
            self.begin(&exec_id, &state);
        }
        Ok(None)
    }

    /// Replaces the names of states by their ids. A repeat of an earlier request means what it
    /// meant then, even if the name has been bound to another state since: often to the one that
    /// the first request made.
    fn resolve_names(&self, mut spec: RunSpec) -> Result<RunSpec, Problem> {
        if let Base::Name(name) = spec.on {
            let earlier = self.core.notebook.run(&spec.exec_id).filter(|run| run.code == spec.code);
            spec.on = match earlier {
                Some(run) => run.on.clone(),
                None => Base::State(self.core.resolve_state(StateRef::Name(name))?),
            };
        }
        for reading in spec.reads.iter_mut().flatten() {
            reading.state = StateRef::Id(self.core.resolve_state(reading.state.clone())?);
        }
        Ok(spec)
    }

    /// The runs that have not ended.
    fn open_runs(&self) -> impl Iterator<Item = &Run> {
        self.core.open.iter().filter_map(|id| self.core.notebook.run(id))
    }

    /// Whether this request was made before, and the system had no room for its process.
    fn was_refused(&self, spec: &RunSpec) -> bool {
        self.core.notebook.run(&spec.exec_id).is_some_and(|run| {
            run.started_at.is_none()
                && run.error.as_ref().is_some_and(RunError::is_fork_refused)
                && is_same(run, spec)
        })
    }

    /// The same id once more: never run twice. A known run was a cell's, if it has ended: it is no
    /// answer to a request that leaves nothing.
    fn ask_again(&self, spec: &RunSpec) -> Result<Reply, Problem> {
        let exec_id = &spec.exec_id;
        let run = self.core.notebook.run(exec_id).ok_or_else(|| not_found("run", exec_id))?;
        let conflict = |why, how| Err(Problem::new(Kind::Conflict, format!("run {exec_id}"), why, how));
        if !run.status.has_ended() {
            let how = "wait for it, interrupt it, or use another exec_id";
            return conflict("a run with this exec_id has not ended yet", how);
        }
        if !is_same(run, spec) || spec.reads.is_some() {
            return conflict("another request used this exec_id before", "use a new exec_id for each run");
        }
        Ok(self.ended_reply(run, spec.with_outputs))
    }

    /// What a run is to be run against: a state that can be run against, or a run whose end is
    /// awaited.
    fn resolve(&self, on: Base, replay: bool) -> Result<Base, Problem> {
        let state = match on {
            Base::State(state) => state,
            Base::Name(name) => self.core.resolve_state(StateRef::Name(name))?,
            Base::Run(earlier) => {
                let run = self.core.notebook.run(&earlier).ok_or_else(|| not_found("run", &earlier))?;
                match (&run.state, run.status.has_ended()) {
                    (Some(state), _) => state.clone(),
                    (None, false) => return Ok(Base::Run(earlier)),
                    (None, true) => {
                        return Err(Problem::new(
                            Kind::Conflict,
                            format!("run after {earlier}"),
                            "that run left no state",
                            "run against a state, or run that cell again first",
                        ));
                    }
                }
            }
        };
        match self.core.runnable(&state) {
            Err(refused) if refused.kind != Kind::Lost || !replay => Err(refused),
            _ => Ok(Base::State(state)),
        }
    }

    /// Starts a run, or lets it wait for room.
    pub(super) fn begin(&mut self, exec_id: &ExecId, state: &StateId) {
        if self.core.notebook.run(exec_id).is_none_or(|r| r.status.has_ended()) {
            return;
        }
        self.core.uses.note(state);
        if !self.may_begin() {
            self.backlog.push_back(exec_id.clone());
            return;
        }
        if self.waits_to_be_whole(exec_id, state) || self.waits_for_earlier_version(exec_id, state) {
            return;
        }
        // One that leaves nothing behind does not use up what may live in a head alone.
        let resting =
            self.core.processes.resting_at(state).filter(|_| !self.core.notebook.is_passing(exec_id));
        let head = match resting {
            Some(head) => {
                self.core.keep(head, state);
                if let Some(head) = self.core.processes.head_mut(head) {
                    head.doing = Doing::Begin(exec_id.clone());
                }
                let serial = self.requests.serial(exec_id);
                self.core.wake(BEGIN_TIMEOUT, Alarm::Begun(head, exec_id.clone(), serial));
                head
            }
            None if self.core.has_to_wait_for_its_checkpoint(state) => {
                return self.wait_for_checkpoint(exec_id, state);
            }
            None if self.core.has_to_wait_until_loaded(state) => {
                return self.wait_until_loaded(exec_id, state);
            }
            None => match self.core.branch(state, Doing::Begin(exec_id.clone())) {
                Some(head) => head,
                None if self.requests.get(exec_id).is_some_and(|r| r.spec.replay) => {
                    return self.run_after_replay(exec_id, state);
                }
                None if self.core.processes.has_head_at(state) => {
                    // The state could not be frozen, and its head has not reported yet that it will
                    // not run on.
                    let why =
                        self.core.processes.refusal_at(state).unwrap_or("its process is being made again");
                    return self.refuse_run(exec_id, &format!("the state could not be kept: {why}"));
                }
                None => {
                    let error = RunError::new("StateLost", format!("the process of state {state} is gone"));
                    return self.end(exec_id, RunStatus::Crashed, Some(error));
                }
            },
        };
        let allow_stdin = self.requests.get(exec_id).is_some_and(|r| r.spec.allow_stdin);
        if self.core.is_loading(head) {
            self.limit_waiting(exec_id);
        }
        let Some(run) = self.core.notebook.run(exec_id) else { return };
        let code = run.code.clone();
        transfers::run_on(
            &mut self.core,
            self.requests.get(exec_id),
            head,
            exec_id.clone(),
            code,
            allow_stdin,
        );
    }

    /// The head that was to begin a run was never made. If its source is gone too, the state may
    /// come from elsewhere.
    pub(super) fn begin_again(&mut self, exec_id: &ExecId, source: Option<ProcId>, at: &StateId) {
        let has_lost_its_source = source.is_none_or(|source| self.core.processes.held_by(source).is_none());
        let request = self.requests.get_mut(exec_id).filter(|r| has_lost_its_source && !r.is_begun_again);
        let Some(request) = request else {
            return self.head_not_made(exec_id, "the forked process died before it was ready");
        };
        request.is_begun_again = true;
        self.core.left(at);
        self.begin(exec_id, at);
    }

    fn may_begin(&self) -> bool {
        self.core.processes.has_room() && !(self.memory.is_full(&self.core) && self.is_saving())
    }

    /// Lets runs begin that waited for room.
    pub(super) fn serve_backlog(&mut self) {
        while self.may_begin()
            && let Some(exec_id) = self.backlog.pop_front()
        {
            self.begin_if_possible(&exec_id);
        }
    }

    /// Begins a run that has waited, if its state can still be run against.
    pub(super) fn begin_if_possible(&mut self, exec_id: &ExecId) {
        let Some(Base::State(state)) = self.core.notebook.run(exec_id).map(|r| r.on.clone()) else { return };
        let replay = self.requests.get(exec_id).is_some_and(|r| r.spec.replay);
        match self.resolve(Base::State(state.clone()), replay) {
            Ok(_) => self.begin(exec_id, &state),
            Err(refused) => self.end(exec_id, RunStatus::Interrupted, Some(aborted(&refused.why))),
        }
    }

    /// A head says that its cell began.
    pub(super) fn started(&mut self, head: ProcId) {
        let Some(exec_id) = self.core.processes.begin_run(head) else { return };
        let Some(at) = self.core.processes.at(head).cloned() else { return };
        self.core.left(&at);
        let now_ms = self.core.now_ms;
        let Some(run) = self.core.notebook.run_mut(&exec_id) else { return };
        run.status = RunStatus::Running;
        run.started_at = Some(now_ms);
        let on = run.on.clone();
        if let Some(limit) = self.requests.get(&exec_id).and_then(|r| r.timeout) {
            let alarm = Alarm::TimeLimit(exec_id.clone(), self.requests.serial(&exec_id));
            self.core.wake(limit, alarm);
        }
        self.requests.begin_to_weigh(&mut self.core, &exec_id, &at);
        self.requests.begin_to_watch(&mut self.core, head, &exec_id);
        self.core.publish(Fact::RunStarted { exec_id: exec_id.clone(), on, started_at: now_ms });
        if self.is_stopping(&exec_id) {
            self.ask_to_stop(head, &exec_id);
        }
    }

    /// A cell that is about to end reports which variables it read, assigned and deleted.
    pub(super) fn note_symbols(&mut self, head: ProcId, symbols: Symbols) {
        if let Some(run) = self.core.processes.run_of(head).and_then(|id| self.core.notebook.run_mut(&id)) {
            run.symbols = Some(symbols);
        }
    }

    /// A cell ended in its own process.
    pub(super) fn ended(
        &mut self,
        head: ProcId,
        how: How,
        exec_count: u32,
        hazards: Hazards,
        remains: Remains,
    ) {
        if let Some(target) = self.core.processes.replaying(head) {
            return self.replayed(&target, how, hazards, &remains);
        }
        let Some(exec_id) = self.core.processes.run_of(head) else { return };
        if self.core.processes.head(head).is_some_and(|h| h.is_killed) {
            // It ended just when it was killed: its state could not be kept.
            self.core.discard(head);
            return self.head_gone(&exec_id, None);
        }
        match how {
            How::Ok => self.succeeded(head, &exec_id, exec_count, hazards),
            How::Refused => {
                let refusal = self.core.processes.head_mut(head).and_then(|h| h.refusal.take());
                let mut why = "the state could not be kept, so that running on would have lost it".to_owned();
                if let Some(at) = self.core.processes.at(head).cloned() {
                    why += &self.core.known_of(&at);
                    self.core.processes.rest(head, at);
                }
                if let Some(why) = refusal {
                    return self.refuse_run(&exec_id, &format!("the state could not be kept: {why}"));
                }
                self.end(&exec_id, RunStatus::Error, Some(RunError::new("ForkFailed", &why)));
            }
            How::Error(error) => {
                let (status, error) = self.judge(&exec_id, error);
                let keeps = self.requests.get(&exec_id).is_some_and(|r| r.spec.on_error == OnError::Keep);
                // A run that leaves nothing behind leaves no partial state either.
                let remains =
                    if self.core.notebook.is_passing(&exec_id) { Remains::Nothing } else { remains };
                match remains {
                    Remains::Unchanged | Remains::Set if keeps => {
                        self.core.effects.push(Effect::EndStarted(head));
                        let state = self.leave_state(head, &exec_id, exec_count, hazards, true);
                        self.end(&exec_id, status, Some(error));
                        if let Some(state) = state {
                            self.core.keep(head, &state);
                        }
                    }
                    Remains::Set => {
                        let is_held = self.hold(head, &exec_id, exec_count, hazards);
                        self.end(&exec_id, status, Some(error));
                        if is_held {
                            // Last: what comes of it is to be told behind the end of the run.
                            self.core.effects.push(Effect::Stop(head));
                        }
                    }
                    Remains::Nothing => self.fail(head, &exec_id, NotHeld::LeftNothing, (status, error)),
                    Remains::Unchanged => self.fail(head, &exec_id, NotHeld::SetNothing, (status, error)),
                    Remains::Unfit(why) => self.fail(head, &exec_id, NotHeld::Unfit(why), (status, error)),
                }
            }
        }
        self.serve_backlog();
    }

    /// A cell failed and nothing of it can be kept: its head ends, with all that it has started.
    fn fail(&mut self, head: ProcId, exec_id: &ExecId, why: NotHeld, (status, error): (RunStatus, RunError)) {
        self.note_not_held(exec_id, why);
        self.core.effects.push(Effect::EndRun(head));
        self.core.discard(head);
        self.end(exec_id, status, Some(error));
    }

    fn succeeded(&mut self, head: ProcId, exec_id: &ExecId, exec_count: u32, hazards: Hazards) {
        if self.core.notebook.is_passing(exec_id) {
            self.core.discard(head);
            return self.end(exec_id, RunStatus::Ok, None);
        }
        let Some(state) = self.leave_state(head, exec_id, exec_count, hazards, false) else { return };
        self.end(exec_id, RunStatus::Ok, None);
        self.core.keep(head, &state);
        self.go_on_after(exec_id, &state);
    }

    /// A run leaves a state, at which its head stands from now on. With `partial`, its cell has
    /// failed.
    pub(super) fn leave_state(
        &mut self,
        head: ProcId,
        exec_id: &ExecId,
        exec_count: u32,
        hazards: Hazards,
        partial: bool,
    ) -> Option<StateId> {
        let Some(Base::State(parent)) = self.core.notebook.run(exec_id).map(|r| r.on.clone()) else {
            return None;
        };
        let name = self.core.notebook.run(exec_id).and_then(|r| r.asked.new_state_name.clone());
        let instead_of = self.requests.get_mut(exec_id).and_then(|r| r.spec.instead_of.take());
        if let Some(head) = self.core.processes.head_mut(head) {
            head.is_needed = hazards.is_alone;
        }
        let state = self.grow(&parent, exec_id, name, exec_count, hazards, partial);
        self.core.uses.note(&state);
        self.core.processes.rest(head, state.clone());
        if let Some(run) = self.core.notebook.run_mut(exec_id) {
            run.state = Some(state.clone());
        }
        drafts::move_drafts(&mut self.core, exec_id, &parent, &state);
        if let Some(line) = instead_of {
            drafts::replay_as_drafts(&mut self.core, &line, &state);
        }
        Some(state)
    }

    /// Starts the runs that waited for this one, now that it has left a state.
    fn go_on_after(&mut self, exec_id: &ExecId, state: &StateId) {
        for next in self.waiting_for(exec_id) {
            if let Some(run) = self.core.notebook.run_mut(&next) {
                run.on = Base::State(state.clone());
            }
            self.begin(&next, state);
        }
    }

    fn waiting_for(&self, exec_id: &ExecId) -> Vec<ExecId> {
        let on = Base::Run(exec_id.clone());
        self.open_runs().filter(|r| r.on == on).map(|r| r.exec_id.clone()).collect()
    }

    /// Ends a run, and the runs that waited for a state that it did not leave.
    pub(super) fn end(&mut self, exec_id: &ExecId, status: RunStatus, error: Option<RunError>) {
        let now_ms = self.core.now_ms;
        let Some(run) = self.core.notebook.run_mut(exec_id).filter(|r| !r.status.has_ended()) else { return };
        let mut last = Vec::new();
        if let Some(error) = &error
            && !matches!(run.outputs.items().last(), Some(Output::Error(_)))
        {
            run.outputs.push_last(error.clone());
            last.push(Output::Error(error.clone()));
        }
        last.extend(run.outputs.note_dropped());
        run.status = status;
        self.core.open.shift_remove(exec_id);
        self.comparer.note_run(now_ms);
        run.error.clone_from(&error);
        run.prompt = None;
        run.duration_ms = run.started_at.map(|t| (now_ms - t).max(0.0));
        let (duration_ms, state, on) = (run.duration_ms, run.state.clone(), run.on.clone());
        let symbols = run.symbols.clone();
        let has_state = state.is_some();
        let with_outputs = self.requests.get(exec_id).is_some_and(|r| r.spec.with_outputs);
        let reply = self.core.notebook.run(exec_id).map(|r| self.ended_reply(r, with_outputs));
        for output in last {
            self.core.publish(Fact::OutputAdded { exec_id: exec_id.clone(), output });
        }
        self.core.publish(Fact::RunEnded {
            exec_id: exec_id.clone(),
            status,
            error,
            duration_ms,
            state,
            symbols,
        });
        let waiting =
            self.requests.get_mut(exec_id).map(|r| std::mem::take(&mut r.waiting)).unwrap_or_default();
        for ticket in waiting {
            if let Some(reply) = &reply {
                self.core.answer(ticket, reply.clone());
            }
        }
        transfers::end_senders(&mut self.core, exec_id);
        if status != RunStatus::Ok
            && let Base::State(state) = &on
        {
            self.requests.distrust_after(&mut self.core, exec_id, state);
        }
        if self.core.notebook.is_passing(exec_id) {
            self.core.notebook.forget_passing(exec_id);
            self.requests.forget(std::slice::from_ref(exec_id));
        }
        if status != RunStatus::Ok {
            let why = if has_state { "the run before it failed" } else { "the run before it left no state" };
            for next in self.waiting_for(exec_id) {
                self.end(&next, RunStatus::Interrupted, Some(aborted(why)));
            }
            self.let_go_after(&on);
        }
    }

    pub(super) fn ended_reply(&self, run: &Run, with_outputs: bool) -> Reply {
        let state_name = run
            .state
            .as_ref()
            .map(|id| run.asked.new_state_name.clone().unwrap_or_else(|| id.as_str().to_owned()));
        Reply::Ended(Ended {
            exec_id: run.exec_id.clone(),
            status: run.status,
            state: run.state.clone(),
            state_name,
            error: run.error.clone(),
            symbols: run.symbols.clone(),
            warnings: run.warnings.clone(),
            keepable: run.keepable,
            outputs: if with_outputs { run.outputs.clone() } else { Outputs::default() },
        })
    }

    /// A process could not be made, or did not come to be in time.
    pub(super) fn head_not_made(&mut self, exec_id: &ExecId, why: &str) {
        self.end(exec_id, RunStatus::Error, Some(RunError::new("ForkFailed", why)));
        self.serve_backlog();
    }

    /// The system had no room for another process.
    pub(super) fn refuse_run(&mut self, exec_id: &ExecId, why: &str) {
        let why = format!("{why}. Nothing has run: try again when other cells or programs have ended");
        self.end(exec_id, RunStatus::Error, Some(RunError::fork_refused(why)));
        self.serve_backlog();
    }

    /// All open runs end because the notebook is reset.
    pub(super) fn end_all_runs(&mut self) {
        self.backlog.clear();
        for run in self.core.open.clone() {
            self.end(&run, RunStatus::Interrupted, Some(interrupted("the notebook was reset")));
        }
        self.requests.forget_all();
    }
}

/// Whether a request asks for what a run was asked for with.
fn is_same(run: &Run, spec: &RunSpec) -> bool {
    (&run.code, &run.asked.on, &run.asked.new_state_name) == (&spec.code, &spec.on, &spec.new_state_name)
}

/// A run that was asked for and has not begun.
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

fn aborted(why: &str) -> RunError {
    RunError::new("RunAborted", why)
}
