//! Sweeps: runs the rows of each sweep as ordinary runs, a few at a time.
//!
//! `Sweep::pending` decides from the rows alone what runs next, so a sweep continues after a
//! restart as if nothing had happened. A row that ran when the server stopped runs again, under the
//! same exec id.

use super::core::{Core, not_found};
use super::effect::Ticket;
use super::introspect::Introspection;
use super::placement;
use crate::kernel::Question;
use crate::notebook::{
    Base, Drawn, ExecId, Fact, Place, PlannedRows, Reply, RowEnd, RowPlace, Run, RunError, RunSpec, Sampler,
    StateId, Sweep, SweepId, SweepOptions, SweepRow, SweepSpec, SweepStatus,
};
use crate::problem::{Kind, Problem};
use indexmap::IndexMap;
use std::collections::{HashMap, VecDeque};

/// Maximum number of sweeps in a notebook, and of requests that wait for Python to read their cell.
const MAX_SWEEPS: usize = 1000;
const MAX_ASKING: usize = 16;
/// Maximum number of rows of a sweep that are at the workers at the same time: enough to keep a
/// small cluster busy, and fewer than the runs that a notebook may have open.
const MAX_AT_WORKERS: usize = 500;
/// The first ticket for a question that a sweep asks itself. Further tickets count down from it, so
/// they never equal a client's ticket.
const FIRST_OWN_TICKET: u64 = u64::MAX;

/// A request that waits until Python has read its cell.
#[derive(Debug)]
struct Asking {
    spec: SweepSpec,
    planned: PlannedRows,
    at: StateId,
}

/// One run of a row: the row and the rung.
type Step = (usize, usize);

/// A sweep whose rows run.
#[derive(Debug, Default)]
struct Active {
    /// The steps that have not begun. Filled from `Sweep::pending` whenever nothing runs or waits.
    waiting: VecDeque<Step>,
    running: Vec<(Step, Place)>,
    /// The question to the sampler that has not been answered.
    drawing: Option<Ticket>,
}

/// The sweeps that have not ended.
#[derive(Debug)]
pub(super) struct Sweeps {
    asking: HashMap<Ticket, Asking>,
    active: IndexMap<SweepId, Active>,
    /// The number of cores: how many rows run at the same time unless the request says it.
    cores: usize,
    own_tickets: u64,
    /// States that leave memory as soon as no process works on them.
    to_release: Vec<StateId>,
    /// Whether the notebook is being closed, so that no row begins or ends.
    is_closing: bool,
}

/// A row that is to begin.
#[derive(Debug)]
pub(super) struct Begin {
    pub(super) sweep: SweepId,
    pub(super) step: (usize, usize),
    pub(super) spec: RunSpec,
}

impl Sweeps {
    pub(super) fn new(cores: usize) -> Self {
        Self {
            asking: HashMap::new(),
            active: IndexMap::new(),
            cores: cores.max(1),
            own_tickets: FIRST_OWN_TICKET,
            to_release: Vec::new(),
            is_closing: false,
        }
    }

    /// Handles a request for a sweep: asks Python about the cell. Returns a reply only if the sweep
    /// was begun before.
    pub(super) fn ask(
        &mut self,
        core: &mut Core,
        introspection: &mut Introspection,
        ticket: Ticket,
        spec: SweepSpec,
    ) -> Result<Option<Reply>, Problem> {
        let at = core.resolve_state(spec.at.clone())?;
        let planned = spec.plan()?;
        if spec.options.place.uses_workers() && !core.has_workers {
            return Err(placement::no_workers("start a sweep at workers"));
        }
        if let Some(id) = &spec.id
            && let Some(reply) = asked_before(core, id, &at, &spec, &planned)?
        {
            return Ok(Some(reply));
        }
        core.runnable(&at)?;
        if self.asking.len() >= MAX_ASKING || core.notebook.sweeps().count() >= MAX_SWEEPS {
            return Err(refused(Kind::Busy, "there are too many sweeps", "delete some of them"));
        }
        let question = Question::Parameters {
            code: spec.code.clone(),
            values: planned.sources(),
            metric: spec.options.metric.clone(),
            rung: spec.options.rungs.as_ref().map(|rungs| rungs.code.clone()),
            draws: planned.sampler.is_some(),
        };
        if let Some(reply) = introspection.ask(core, ticket, &at, question) {
            return Ok(Some(reply));
        }
        core.keep_answer(ticket);
        self.asking.insert(ticket, Asking { spec, planned, at });
        Ok(None)
    }

    /// Handles the answer to a question that a sweep has asked.
    pub(super) fn answered(&mut self, core: &mut Core, ticket: Ticket, reply: Reply) {
        if let Some(asking) = self.asking.remove(&ticket) {
            let reply = match reply {
                Reply::Parameters(found) => {
                    let id = asking.spec.id.clone().unwrap_or_else(|| SweepId::new(core.new_id()));
                    let Asking { spec, planned, at } = asking;
                    // The same request may have been sent twice at the same time.
                    let begun = match asked_before(core, &id, &at, &spec, &planned) {
                        Ok(None) => Sweep::new(id, at, spec, planned, &found, core.now_ms)
                            .map(|sweep| self.begin(core, sweep)),
                        Ok(Some(reply)) => Ok(reply),
                        Err(refused) => Err(refused),
                    };
                    begun.unwrap_or_else(Reply::Refused)
                }
                other => other,
            };
            return core.answer(ticket, reply);
        }
        let drawing = self.active.iter().find(|(_, active)| active.drawing == Some(ticket));
        if let Some(id) = drawing.map(|(id, _)| id.clone()) {
            self.drawn(core, &id, reply);
        }
    }

    fn begin(&mut self, core: &mut Core, sweep: Sweep) -> Reply {
        let reply = started(&sweep);
        self.active.insert(sweep.id.clone(), Active::default());
        core.notebook.add_sweep(sweep.clone());
        core.publish(Fact::SweepAdded { sweep });
        reply
    }

    fn drawn(&mut self, core: &mut Core, id: &SweepId, reply: Reply) {
        let Some(active) = self.active.get_mut(id) else { return };
        active.drawing = None;
        match reply {
            Reply::RowsDrawn(Drawn::Rows { rows }) if !rows.is_empty() => {
                let rows: Vec<SweepRow> = rows.into_iter().map(SweepRow::new).collect();
                if let Some(sweep) = core.notebook.sweep_mut(id) {
                    let first = sweep.rows.len();
                    sweep.rows.extend(rows.clone());
                    core.publish(Fact::SweepRowsAdded { sweep: id.clone(), first, rows });
                }
            }
            Reply::RowsDrawn(Drawn::Refused { why, how }) => self.halt(core, id, format!("{why}: {how}")),
            Reply::Refused(problem) => self.halt(core, id, problem.to_string()),
            _ => self.halt(core, id, "Optuna returned no row".to_owned()),
        }
    }

    /// Continues the sweeps when the notebook was opened. Notes the runs that have ended unnoticed.
    /// Returns the runs that the server's stop has interrupted: they have to be removed, because
    /// they run again.
    pub(super) fn resume(&mut self, core: &mut Core, was_stopped: impl Fn(&Run) -> bool) -> Vec<Run> {
        let mut again = Vec::new();
        let all: Vec<SweepId> = core.notebook.sweeps().map(|sweep| sweep.id.clone()).collect();
        for id in all {
            let Some(sweep) = core.notebook.sweep(&id) else { continue };
            let is_running = sweep.status == SweepStatus::Running;
            let mut ended = Vec::new();
            for (number, row) in sweep.rows.iter().enumerate() {
                let rung = row.ends.len();
                let Some(run) = core.notebook.run(&sweep.exec_id(number, rung)) else { continue };
                if is_running && was_stopped(run) {
                    again.push(run.clone());
                } else {
                    ended.push((number, rung));
                }
            }
            for step in ended {
                note_end(core, &id, step);
            }
            if is_running {
                self.active.insert(id, Active::default());
            }
        }
        again
    }

    /// Notes the ends of rows. Returns the states that may leave memory.
    pub(super) fn note_ends(&mut self, core: &mut Core) -> Vec<StateId> {
        if self.is_closing {
            return Vec::new();
        }
        let mut dispensable = std::mem::take(&mut self.to_release);
        for (id, active) in &mut self.active {
            let Some(sweep) = core.notebook.sweep(id) else { continue };
            let has_ended = |(step, _): &(Step, Place)| {
                core.notebook.run(&sweep.exec_id(step.0, step.1)).is_none_or(|run| run.status.has_ended())
            };
            let (ended, running): (Vec<_>, Vec<_>) = active.running.iter().partition(|row| has_ended(row));
            if ended.is_empty() {
                continue;
            }
            active.running = running;
            for (step, _) in ended {
                note_end(core, id, step);
            }
            dispensable.extend(core.notebook.sweep(id).map(Sweep::dispensable).unwrap_or_default());
        }
        dispensable
    }

    /// Notes a state that cannot leave memory yet.
    pub(super) fn release_later(&mut self, state: StateId) {
        self.to_release.push(state);
    }

    /// The rows that are to begin now. Ends the sweeps that have none left. While memory is short,
    /// each sweep runs one row at a time.
    pub(super) fn due(
        &mut self,
        core: &mut Core,
        introspection: &mut Introspection,
        is_short: bool,
    ) -> Vec<Begin> {
        let mut due = Vec::new();
        if self.is_closing {
            return due;
        }
        let all: Vec<SweepId> = self.active.keys().cloned().collect();
        for id in all {
            let Some(active) = self.active.get_mut(&id) else { continue };
            let Some(sweep) = core.notebook.sweep(&id) else {
                self.active.shift_remove(&id);
                continue;
            };
            if sweep.status != SweepStatus::Running {
                if active.running.is_empty() {
                    self.active.shift_remove(&id);
                }
                continue;
            }
            let room = Room::of(sweep, self.cores, is_short);
            if room.next(&active.running).is_none() {
                continue;
            }
            let stop = sweep.stop_reason(core.now_ms);
            if stop.is_some() {
                active.waiting.clear();
            } else if active.waiting.is_empty() && active.drawing.is_none() {
                let (rung, rows) = sweep.pending();
                let steps = rows.into_iter().map(|row| (row, rung));
                let runs = |step: &Step| active.running.iter().any(|(running, _)| running == step);
                active.waiting.extend(steps.filter(|step| !runs(step)));
                let is_idle = active.waiting.is_empty();
                let to_draw = sweep.due_to_draw();
                if let Some(sampler) = sweep.sampler.clone().filter(|_| is_idle && to_draw > 0) {
                    let count = to_draw.min(room.left(&active.running));
                    let question = draw(sweep, sampler, count);
                    self.own_tickets -= 1;
                    let ticket = Ticket(self.own_tickets);
                    active.drawing = Some(ticket);
                    core.keep_answer(ticket);
                    // The space names no variables, so the root can draw as well as any state.
                    if let Some(reply) = introspection.ask(core, ticket, &StateId::root(), question) {
                        core.answer(ticket, reply);
                    }
                    continue;
                }
            }
            while let Some(place) = room.next(&active.running)
                && let Some(step) = active.waiting.pop_front()
            {
                active.running.push((step, place));
                let threads = room.threads(place, self.cores);
                due.push(Begin { sweep: id.clone(), step, spec: spec_of(sweep, step, place, threads) });
            }
            if active.running.is_empty() && active.drawing.is_none() {
                end(core, &id, SweepStatus::Done, stop);
                self.active.shift_remove(&id);
            }
        }
        due
    }

    /// Notes that a row could not begin now, and will be tried again.
    pub(super) fn put_back(&mut self, begin: Begin) {
        if let Some(active) = self.active.get_mut(&begin.sweep) {
            active.running.retain(|(step, _)| *step != begin.step);
            active.waiting.push_front(begin.step);
        }
    }

    /// Ends a row that cannot continue because its state was deleted, or a sweep whose rows cannot
    /// begin.
    pub(super) fn cannot_begin(&mut self, core: &mut Core, begin: &Begin, why: &Problem) {
        if let Some(active) = self.active.get_mut(&begin.sweep) {
            active.running.retain(|(step, _)| *step != begin.step);
        }
        let (row, rung) = begin.step;
        if rung == 0 {
            return self.halt(core, &begin.sweep, why.to_string());
        }
        add_end(core, &begin.sweep, row, RowEnd::failed(why.why.clone()));
    }

    /// Stops a sweep at a user's request. Returns the runs to interrupt.
    pub(super) fn stop(&mut self, core: &mut Core, id: &SweepId) -> Result<Vec<ExecId>, Problem> {
        let sweep = core.notebook.sweep(id).ok_or_else(|| not_found("sweep", id))?;
        let running = self.active.get(id).map(|active| active.running.clone()).unwrap_or_default();
        let runs = running.into_iter().map(|((row, rung), _)| sweep.exec_id(row, rung)).collect();
        self.halt(core, id, "it was stopped".to_owned());
        Ok(runs)
    }

    /// Stops all sweeps, because the notebook is about to be reset.
    pub(super) fn stop_all(&mut self, core: &mut Core) {
        for id in self.active.keys().cloned().collect::<Vec<_>>() {
            self.halt(core, &id, "the notebook was reset".to_owned());
        }
    }

    fn halt(&mut self, core: &mut Core, id: &SweepId, note: String) {
        if let Some(active) = self.active.get_mut(id) {
            active.waiting.clear();
            active.drawing = None;
        }
        end(core, id, SweepStatus::Stopped, Some(note));
    }

    /// Whether rows of a sweep run or wait.
    pub(super) fn is_running(&self, id: &SweepId) -> bool {
        self.active.contains_key(id)
    }

    /// Notes that the notebook is about to be closed: its rows run again when it is opened.
    pub(super) fn close(&mut self) {
        self.is_closing = true;
    }

    /// Forgets all sweeps, because the notebook is reset.
    pub(super) fn reset(&mut self, core: &mut Core) {
        self.active.clear();
        for (ticket, _) in self.asking.drain() {
            let refused = refused(Kind::NotFound, "the notebook was reset", "start the sweep again");
            core.answer(ticket, Reply::Refused(refused));
        }
    }
}

fn refused(kind: Kind, why: &str, how: &str) -> Problem {
    Problem::new(kind, "start a sweep", why, how)
}

/// The reply to a request that was made before. An error if the id, or the id of one of the runs,
/// is in use for something else.
fn asked_before(
    core: &Core,
    id: &SweepId,
    at: &StateId,
    spec: &SweepSpec,
    planned: &PlannedRows,
) -> Result<Option<Reply>, Problem> {
    let conflict = |why| Err(refused(Kind::Conflict, why, "use a new id for each sweep"));
    match core.notebook.sweep(id) {
        Some(earlier) if earlier.is_same(at, spec, planned) => Ok(Some(started(earlier))),
        Some(_) => conflict("another request used this id before"),
        None if core.notebook.runs().any(|run| sweep_of(&run.exec_id) == *id) => {
            conflict("runs with the ids of its rows exist already")
        }
        None => Ok(None),
    }
}

/// The id of the sweep to which a run with this id would belong.
fn sweep_of(run: &ExecId) -> SweepId {
    SweepId::new(run.as_str().split('.').next().unwrap_or_default())
}

/// Whether the ids of runs that begin like this one are reserved for the rows of a sweep.
pub(super) fn is_reserved(core: &Core, run: &ExecId) -> bool {
    run.as_str().contains('.') && core.notebook.sweep(&sweep_of(run)).is_some()
}

fn started(sweep: &Sweep) -> Reply {
    Reply::SweepStarted { id: sweep.id.clone(), rows: sweep.rows.len() + sweep.to_draw() }
}

fn draw(sweep: &Sweep, sampler: Sampler, count: usize) -> Question {
    // Also the rows that run, so that the sampler does not draw them again.
    let known = sweep.rows.iter();
    let metric = |row: &SweepRow| row.ends.iter().rev().find_map(|end| end.metric);
    Question::Draw {
        sampler,
        goal: sweep.options.goal,
        known: known.map(|row| (row.values.clone(), metric(row))).collect(),
        count: u32::try_from(count).unwrap_or(u32::MAX),
    }
}

/// How many rows of a sweep may run at the same time.
#[derive(Clone, Copy, Debug)]
struct Room {
    here: usize,
    at_workers: usize,
}

impl Room {
    fn of(sweep: &Sweep, cores: usize, is_short: bool) -> Self {
        let SweepOptions { place, parallel, .. } = &sweep.options;
        let asked = parallel.map(|parallel| (parallel as usize).max(1));
        let here = match place {
            RowPlace::Here => asked.unwrap_or(cores),
            RowPlace::Workers => 0,
            RowPlace::Both => cores,
        };
        // A sampler learns from the rows that have ended, so it must not draw many at once.
        let most = if sweep.sampler.is_some() { cores } else { MAX_AT_WORKERS };
        let at_workers = if place.uses_workers() { asked.unwrap_or(most).min(MAX_AT_WORKERS) } else { 0 };
        Self { here: if is_short { here.min(1) } else { here }, at_workers }
    }

    /// Where the next row may run; none while the room is used up.
    fn next(self, running: &[(Step, Place)]) -> Option<Place> {
        let count = |place| running.iter().filter(|(_, at)| *at == place).count();
        if count(Place::Here) < self.here {
            return Some(Place::Here);
        }
        (count(Place::Workers) < self.at_workers).then_some(Place::Workers)
    }

    /// How many further rows may run.
    fn left(self, running: &[(Step, Place)]) -> usize {
        (self.here + self.at_workers).saturating_sub(running.len())
    }

    /// How many threads numeric libraries may use in a row. A worker of an engine is one of many on
    /// its node.
    fn threads(self, place: Place, cores: usize) -> Option<u32> {
        let share = || u32::try_from((cores / self.here.max(1)).max(1)).unwrap_or(1);
        match place {
            Place::Here => (self.here > 1).then(share),
            Place::Workers => Some(1),
        }
    }
}

fn spec_of(sweep: &Sweep, (row, rung): Step, place: Place, threads: Option<u32>) -> RunSpec {
    let before = rung.checked_sub(1).and_then(|rung| sweep.rows[row].ends.get(rung)?.state.clone());
    let on = before.unwrap_or_else(|| sweep.at.clone());
    RunSpec {
        timeout: sweep.options.timeout,
        run_memory: sweep.options.run_memory,
        metric: sweep.options.metric.clone(),
        threads,
        place,
        resources: sweep.options.resources.clone(),
        replay: true,
        ..RunSpec::new(sweep.exec_id(row, rung), sweep.code_of(row, rung), Base::State(on))
    }
}

fn note_end(core: &mut Core, id: &SweepId, (row, rung): Step) {
    let Some(sweep) = core.notebook.sweep(id) else { return };
    let end = match core.notebook.run(&sweep.exec_id(row, rung)) {
        Some(run) => end_of(run),
        None => RowEnd::failed("its run was deleted"),
    };
    add_end(core, id, row, end);
}

fn add_end(core: &mut Core, id: &SweepId, row: usize, end: RowEnd) {
    let Some(there) = core.notebook.sweep_mut(id).and_then(|sweep| sweep.rows.get_mut(row)) else { return };
    there.ends.push(end.clone());
    core.publish(Fact::SweepRowEnded { sweep: id.clone(), row, end });
}

fn end_of(run: &Run) -> RowEnd {
    let failed = run.error.as_ref().map(RunError::in_words);
    let no_metric = || run.metric.as_ref().and_then(|metric| metric.problem.clone());
    RowEnd {
        status: run.status,
        state: run.state.clone(),
        metric: run.metric.as_ref().and_then(|metric| metric.value),
        error: failed.or_else(no_metric),
        duration_ms: run.duration_ms,
        node: run.worker.as_ref().and_then(|worker| worker.node.clone()),
    }
}

fn end(core: &mut Core, id: &SweepId, status: SweepStatus, note: Option<String>) {
    let now_ms = core.now_ms;
    let Some(sweep) = core.notebook.sweep_mut(id).filter(|sweep| sweep.status == SweepStatus::Running) else {
        return;
    };
    (sweep.status, sweep.ended_at, sweep.note) = (status, Some(now_ms), note.clone());
    core.publish(Fact::SweepEnded { sweep: id.clone(), status, ended_at: now_ms, note });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(here: usize, at_workers: usize) -> Room {
        Room { here, at_workers }
    }

    #[test]
    fn rows_fill_the_cores_here_first_and_then_the_workers() {
        let both = room(2, 3);
        let mut running = Vec::new();
        while let Some(place) = both.next(&running) {
            running.push(((running.len(), 0), place));
        }
        let places: Vec<Place> = running.iter().map(|(_, place)| *place).collect();
        let (here, there) = (Place::Here, Place::Workers);
        assert_eq!(places, [here, here, there, there, there]);
        assert_eq!((both.left(&running), both.left(&running[1..])), (0, 1));
        assert_eq!(both.next(&running[1..]), Some(here));
        assert_eq!(room(0, 1).next(&[]), Some(there));
        assert_eq!(room(0, 0).next(&[]), None);
    }

    #[test]
    fn rows_share_the_cores_here_and_have_one_thread_at_workers() {
        assert_eq!(room(1, 0).threads(Place::Here, 8), None);
        assert_eq!(room(2, 0).threads(Place::Here, 8), Some(4));
        assert_eq!(room(8, 9).threads(Place::Here, 8), Some(1));
        assert_eq!(room(0, 9).threads(Place::Workers, 8), Some(1));
    }
}
