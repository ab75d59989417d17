//! Random tests of the machine: thousands of random commands and process deaths, in any order that
//! real processes could cause.
//!
//! The tests check that each command is answered once, that no process is forgotten or used after
//! its end, and that the graph keeps its invariants.

use super::{
    Alarm, Budget, Effect, Input, Machine, Ticket, exec, machine, machine_with, parse_widget, picture, run,
};
use crate::breadth::in_full;
use crate::kernel::{
    CellReport, Contents, Exit, Fingerprint, Hazards, How, Hung, Introspected, ProcId, Question, Remains,
    Report, Role, WidgetEnd,
};
use crate::notebook::{
    Base, Cause, Changed, Checkpoint, CodeParameters, Command, Digests, Ended, Event, ExecId, Fact, Form,
    MergeSpec, Metric, OnConflict, OnError, Parameter, Reply, Residency, RunError, RunStatus, StateId, Sweep,
    SweepId, SweepRow, SweepSpec, SweepStatus, Wanted,
};
use std::collections::{BTreeMap, BTreeSet};

/// A random number generator with a fixed sequence (Knuth's MMIX constants).
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn of<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        if items.is_empty() { None } else { Some(items[self.below(items.len())].clone()) }
    }
}

/// The next action of a simulated process.
#[derive(Clone, Debug, PartialEq)]
enum Life {
    Waits,
    BecomesReady(Role),
    Loads,
    Begins,
    Runs,
}

struct World {
    machine: Machine,
    processes: BTreeMap<ProcId, Life>,
    dying: BTreeSet<ProcId>,
    /// Checkpoints that the machine has passed to the store.
    to_keep: Vec<(StateId, Checkpoint)>,
    to_trust: bool,
    alarms: Vec<Alarm>,
    open: BTreeSet<u64>,
    /// Questions that have not been answered, and whether each is about the parameters of a cell.
    questions: Vec<(ProcId, u64, bool)>,
    /// Messages to widgets that heads have not handled.
    widgets: Vec<(ProcId, u64)>,
    /// Heads that have handled messages and whose state is not frozen again.
    ahead: BTreeSet<ProcId>,
    now_ms: f64,
    last_ticket: u64,
    last_run: usize,
    trace: Vec<String>,
}

impl World {
    fn new(budget: Option<usize>) -> Self {
        let machine = match budget {
            Some(processes) => machine_with(Budget { processes, ..Budget::default() }, true),
            None => machine(),
        };
        let mut world = Self {
            machine,
            to_keep: Vec::new(),
            to_trust: false,
            alarms: Vec::new(),
            processes: BTreeMap::new(),
            dying: BTreeSet::new(),
            open: BTreeSet::new(),
            questions: Vec::new(),
            widgets: Vec::new(),
            ahead: BTreeSet::new(),
            now_ms: 0.0,
            last_ticket: 0,
            last_run: 0,
            trace: Vec::new(),
        };
        world.feed(Input::Opened);
        world
    }

    fn feed(&mut self, input: Input) {
        self.trace.push(format!("{input:?}"));
        self.now_ms += 50.0;
        for effect in self.machine.step(self.now_ms, input) {
            self.check(&effect);
            match effect {
                Effect::SpawnRoot(id) => drop(self.processes.insert(id, Life::BecomesReady(Role::Frozen))),
                Effect::Fork { from, child, role, load } => {
                    assert!(
                        self.processes.contains_key(&from) || self.dying.contains(&from),
                        "{from:?} forks"
                    );
                    let life = if load.is_some() { Life::Loads } else { Life::BecomesReady(role) };
                    assert!(self.processes.insert(child, life).is_none());
                    if role == Role::Frozen {
                        self.ahead.remove(&from);
                    }
                }
                Effect::Run { head, .. } => {
                    assert!(!self.ahead.contains(&head), "a cell would lose what widgets have set");
                    assert!(!self.widgets.iter().any(|(of, _)| *of == head), "the code of a widget runs");
                    if let Some(life) = self.processes.get_mut(&head) {
                        assert_ne!(*life, Life::Runs, "a busy head is not given another cell");
                        *life = Life::Begins;
                    }
                }
                Effect::Kill(id, _) if self.processes.remove(&id).is_some() => drop(self.dying.insert(id)),
                Effect::Answer(ticket, _) => {
                    assert!(self.open.remove(&ticket.0), "answered twice: {ticket:?}")
                }
                Effect::Keep { state, checkpoint, .. } => self.to_keep.push((state, *checkpoint)),
                Effect::Trust => self.to_trust = true,
                Effect::Widget { head, number, .. } => {
                    let life = self.processes.get(&head);
                    assert!(life.is_none_or(|l| !matches!(l, Life::Begins | Life::Runs)), "a cell runs");
                    self.widgets.push((head, number));
                }
                Effect::Question { process, number, question } => {
                    let is_for_sweep = matches!(question, Question::Parameters { .. });
                    self.questions.push((process, number, is_for_sweep));
                }
                Effect::Wake(_, alarm @ (Alarm::Save | Alarm::Measure | Alarm::Compare)) => {
                    self.alarms.push(alarm)
                }
                Effect::Wake(_, alarm @ (Alarm::WidgetsQuiet(..) | Alarm::Retire(_))) => {
                    self.alarms.push(alarm)
                }
                Effect::Measure(_) => self.alarms.push(Alarm::Measure),
                _ => {}
            }
        }
        self.check_graph();
    }

    fn check(&self, effect: &Effect) {
        if let Effect::Answer(_, reply) = effect
            && let Reply::Ended(Ended { status, state, error, .. }) = &**reply
        {
            assert_eq!(error.is_none(), *status == RunStatus::Ok, "a run that fails says why");
            let partial = state.as_ref().and_then(|id| self.machine.notebook().state(id)).map(|s| s.partial);
            let may = if error.is_some() { [None, Some(true)] } else { [Some(false); 2] };
            assert!(state.is_some() && partial.is_none() || may.contains(&partial), "{effect:?}");
        }
        if let Effect::Stop(id) | Effect::Continue(id) = effect {
            assert!(self.processes.contains_key(id) || self.dying.contains(id), "{effect:?}");
        }
        if let Effect::Publish(event) = effect
            && let Event::Fact(Fact::StateAdded { state }) = &**event
        {
            assert!(state.parent.is_some());
        }
    }

    fn check_graph(&self) {
        let notebook = self.machine.notebook();
        for state in notebook.states() {
            if let Some(parent) = &state.parent {
                assert!(notebook.state(parent).is_some(), "{} lost its parent", state.id);
            }
            if state.residency == Residency::Memory {
                let held = self
                    .machine
                    .parts
                    .core
                    .processes
                    .frozen(&state.id)
                    .expect("a state in memory has a process");
                assert!(self.processes.contains_key(&held) || self.dying.contains(&held));
            }
        }
        let mut made: Vec<&ExecId> = notebook.states().filter_map(|s| s.exec_id.as_ref()).collect();
        made.sort_unstable();
        assert!(made.windows(2).all(|two| two[0] != two[1]), "a run made two states: {made:?}");
        for name in notebook.names() {
            assert!(notebook.find(name).is_some(), "{name} means nothing");
        }
        for run in notebook.runs() {
            assert!(!(run.keepable && run.state.is_some()), "{} is kept already", run.exec_id);
            let held = self.machine.parts.held.process_of(&run.exec_id);
            assert_eq!(run.keepable, held.is_some(), "{}", run.exec_id);
            let is_there = |id| self.processes.contains_key(&id) || self.dying.contains(&id);
            assert!(held.is_none_or(is_there), "{}", run.exec_id);
        }
    }

    /// The id of a state or run that may have been deleted.
    fn any_deleted(&self, chance: &mut Chance) -> String {
        let deletions = self.machine.notebook().deletions();
        let Some(deletion) = chance.of(&deletions) else { return "s1".into() };
        let states = deletion.states.iter().map(|(state, _)| state.id.to_string());
        let ids: Vec<String> =
            states.chain(deletion.runs.iter().map(|run| run.exec_id.to_string())).collect();
        chance.of(&ids).unwrap_or_default()
    }

    fn wish(&mut self, chance: &mut Chance) {
        let states: Vec<StateId> = self.machine.notebook().states().map(|s| s.id.clone()).collect();
        let state = chance.of(&states).expect("the root");
        let runs = self.last_run.max(1);
        let some_run = format!("r{}", 1 + chance.below(runs));
        let sweeps: Vec<SweepId> = self.machine.notebook().sweeps().map(|sweep| sweep.id.clone()).collect();
        let sweep = chance.of(&sweeps).unwrap_or_else(|| SweepId::new("none"));
        let command = match chance.below(41) {
            36..=37 => Command::Sweep(a_sweep(state, chance)),
            38 => Command::StopSweep { sweep },
            39 => Command::Collapse { sweep, row: (chance.below(2) == 0).then_some(1), label: None },
            40 => Command::DeleteSweep { sweep },
            32..=35 => Command::Widget { state, exec_id: exec(&some_run), message: parse_widget("m=1") },
            29..=30 => Command::Restore { deleted: self.any_deleted(chance) },
            31 if chance.below(8) == 0 => Command::EmptyTrash,
            26..=28 => Command::KeepPartial { exec_id: exec(&some_run) },
            24..=25 => Command::Complete { state, code: String::new(), cursor: 0, above: String::new() },
            20 => Command::Checkpoint {
                state: state.into(),
                form: if chance.below(4) == 0 { Form::Data } else { Form::Environment },
                label: None,
                metadata: serde_json::Map::new(),
            },
            21 => Command::Replay { state: state.into() },
            22 => Command::Pin { state: state.into(), pinned: chance.below(2) == 0 },
            23 => Command::Trust,
            0..=9 => {
                self.last_run += 1;
                let mut run = run(&format!("r{}", self.last_run), Base::State(state));
                if let Command::Run(spec) = &mut run
                    && chance.below(3) == 0
                {
                    spec.on_error = OnError::Keep;
                }
                run
            }
            10 => {
                self.last_run += 1;
                run(&format!("r{}", self.last_run), Base::Run(exec(&some_run)))
            }
            11..=13 => Command::Interrupt { exec_id: exec(&some_run) },
            14 => run(&some_run, Base::State(state)),
            15..=16 => Command::ListVariables { state: state.into() },
            17 => Command::DropAttempt { exec_id: exec(&some_run) },
            18 if chance.below(3) == 0 => {
                let other = chance.of(&states).expect("the root");
                Command::DeleteBranches { states: vec![state, other], attempts: vec![exec(&some_run)] }
            }
            18 => Command::DeleteState { state: state.into(), subtree: chance.below(3) == 0 },
            19 => {
                self.last_run += 1;
                let from = chance.of(&states).expect("the root");
                Command::Merge(MergeSpec {
                    exec_id: exec(&format!("r{}", self.last_run)),
                    into: state.into(),
                    from: from.into(),
                    take: Wanted::All(Changed::Changed),
                    on_conflict: if chance.below(2) == 0 { OnConflict::Refuse } else { OnConflict::Theirs },
                    resolve: BTreeMap::new(),
                    new_state_name: None,
                    dry_run: chance.below(4) == 0,
                })
            }
            _ if chance.below(20) == 0 => Command::Reset,
            _ => Command::AnswerInput { exec_id: exec(&some_run), text: String::new() },
        };
        self.last_ticket += 1;
        self.open.insert(self.last_ticket);
        self.feed(Input::Command(Ticket(self.last_ticket), command));
    }

    /// Returns an input from the store, an alarm, or a process that answers questions, if there is
    /// one.
    fn news(&mut self, chance: &mut Chance) -> Option<Input> {
        match chance.below(5) {
            4 if !self.widgets.is_empty() => self.handled(chance),
            0 if !self.to_keep.is_empty() => {
                let (state, mut checkpoint) = self.to_keep.remove(0);
                checkpoint.is_trusted = chance.below(4) != 0;
                let kept = if chance.below(6) == 0 { Err("EIO".into()) } else { Ok(Box::new(checkpoint)) };
                Some(Input::Kept(state, kept))
            }
            1 if self.to_trust => {
                self.to_trust = false;
                let all = self.machine.notebook().states().map(|s| s.id.clone()).collect();
                Some(Input::Trusted(Ok(all)))
            }
            3 if !self.questions.is_empty() => {
                let (process, number, is_for_sweep) = self.questions.remove(0);
                // If the process has ended, the machine has already refused the question, and no
                // answer comes.
                let is_there = self.processes.contains_key(&process);
                let found = match is_for_sweep {
                    true => Introspected::Parameters((chance.below(8) != 0).then(one_parameter)),
                    false => Introspected::Object(None),
                };
                is_there.then_some(Input::Reported(process, Report::Found { number, found }))
            }
            2 => match self.alarms.pop()? {
                Alarm::Measure => Some(Input::Measured(Vec::new(), None)),
                alarm => Some(Input::AlarmDue(alarm)),
            },
            _ => None,
        }
    }

    /// Lets a head handle its message, if it is ready. If the head has ended, no report comes.
    fn handled(&mut self, chance: &mut Chance) -> Option<Input> {
        let (head, number) = self.widgets[0];
        let life = self.processes.get(&head);
        if matches!(life, Some(Life::BecomesReady(_) | Life::Loads)) {
            return None;
        }
        self.widgets.remove(0);
        life?;
        let end = match chance.below(6) {
            0 => WidgetEnd::Unknown,
            1 => WidgetEnd::Unfit { why: "chroot".into() },
            n => WidgetEnd::Ran(Hazards { forks: n != 2, ..Hazards::only(Vec::new()) }),
        };
        if matches!(end, WidgetEnd::Ran(_)) {
            self.ahead.insert(head);
        }
        Some(Input::Reported(head, Report::WidgetHandled { number, end }))
    }

    /// Lets a random event happen to a simulated process. Returns false if no event is possible.
    fn happen(&mut self, chance: &mut Chance, accidents: bool) -> bool {
        if let Some(id) = chance.of(&self.dying.iter().copied().collect::<Vec<_>>())
            && chance.below(2) == 0
        {
            self.dying.remove(&id);
            self.feed(Input::Gone(id, Some(Exit::Signal(9))));
            return true;
        }
        if let Some(input) = self.news(chance) {
            self.feed(input);
            return true;
        }
        let busy: Vec<ProcId> = self
            .processes
            .iter()
            .filter(|(_, l)| **l != Life::Waits || accidents)
            .map(|(id, _)| *id)
            .collect();
        let Some(id) = chance.of(&busy) else { return !self.dying.is_empty() };
        if accidents && chance.below(12) == 0 {
            self.processes.remove(&id);
            self.feed(Input::Gone(id, Some(Exit::Signal(11))));
            return true;
        }
        let life = self.processes[&id].clone();
        if life == Life::Waits && chance.below(4) == 0 {
            self.feed(Input::HeadStopped(id, 20));
            return true;
        }
        let report = match life.clone() {
            Life::Waits => return true,
            Life::BecomesReady(Role::ListVariables) => {
                self.processes.remove(&id);
                self.feed(Input::Reported(id, Report::Variables(Vec::new())));
                self.feed(Input::Gone(id, Some(Exit::Code(0))));
                return true;
            }
            Life::BecomesReady(Role::Digest) => {
                self.processes.remove(&id);
                let hashes = [("x".to_owned(), Some(chance.below(3).to_string()))].into();
                let digests = (chance.below(8) != 0).then(|| Digests { hashes, ..Digests::default() });
                self.feed(Input::Reported(id, Report::Digested(digests)));
                self.feed(Input::Gone(id, Some(Exit::Code(0))));
                return true;
            }
            Life::BecomesReady(Role::Fingerprint) => {
                self.processes.remove(&id);
                let marks =
                    Some([(format!("v{}", chance.below(3)), Fingerprint(None, "int 1".into()))].into());
                self.feed(Input::Reported(
                    id,
                    Report::Fingerprinted { fingerprints: marks, address_space: 1 },
                ));
                self.feed(Input::Gone(id, Some(Exit::Code(0))));
                return true;
            }
            Life::BecomesReady(Role::Save(form)) => {
                self.processes.remove(&id);
                let report = match chance.below(4) {
                    0 => Report::SaveFailed { is_disk: true, why: "no space left".into() },
                    _ => Report::Saved(contents(form)),
                };
                self.feed(Input::Reported(id, report));
                self.feed(Input::Gone(id, Some(Exit::Code(0))));
                return true;
            }
            Life::Loads if chance.below(5) == 0 => {
                self.processes.remove(&id);
                self.feed(Input::Reported(id, Report::LoadFailed { why: "a blob is damaged".into() }));
                self.feed(Input::Gone(id, Some(Exit::Code(0))));
                return true;
            }
            Life::BecomesReady(_) if accidents && chance.below(10) == 0 && id.0 != 1 => {
                self.processes.remove(&id);
                let report = Report::ForkFailed { child: id, why: "EAGAIN".into() };
                self.feed(Input::Reported(ProcId(1), report));
                self.feed(Input::Gone(id, None));
                return true;
            }
            Life::BecomesReady(Role::Head | Role::Frozen)
                if accidents && chance.below(10) == 0 && id.0 != 1 =>
            {
                let (is_there, doing) = (chance.below(2) == 0, "it waits for a lock");
                let hung = Hung { is_there, parent_made_one: None, doing, libraries: Vec::new() };
                self.feed(Input::Examined(id, hung));
                return true;
            }
            Life::BecomesReady(_) | Life::Loads => {
                let has_threads = life == Life::Loads && chance.below(3) == 0;
                let hazard = has_threads.then(|| "native threads".to_owned());
                (Life::Waits, Report::Ready { pid: 0, missing: Vec::new(), hazard })
            }
            Life::Begins => (Life::Runs, Report::Started),
            Life::Runs => {
                let how = match chance.below(4) {
                    0 => How::Error(RunError::of(Cause::Interrupt, "")),
                    1 => How::Error(RunError::raised("ValueError", "")),
                    _ => How::Ok,
                };
                if matches!(how, How::Ok) && chance.below(4) != 0 {
                    let value = Some(chance.below(5) as f64);
                    self.feed(Input::Reported(id, Report::Metric(Metric { value, problem: None })));
                }
                let forks = chance.below(8) != 0;
                let remains =
                    [Remains::Nothing, Remains::Unchanged, Remains::Set, Remains::Unfit("chroot".into())]
                        [chance.below(4)]
                    .clone();
                let hazards = Hazards { forks, ..Hazards::only(Vec::new()) };
                let report = CellReport { exec_count: 1, hazards };
                (Life::Waits, Report::Ended { how, report, remains })
            }
        };
        self.processes.insert(id, report.0);
        self.feed(Input::Reported(id, report.1));
        true
    }
}

/// A sweep of two to four rows, with and without rungs.
fn a_sweep(at: StateId, chance: &mut Chance) -> Box<SweepSpec> {
    let values: Vec<usize> = (0..2 + chance.below(3)).collect();
    let mut spec = serde_json::json!({
        "at": at, "code": "x = 1", "grid": {"x": values}, "metric": "x", "parallel": 1 + chance.below(3), "keep": 1,
    });
    if chance.below(2) == 0 {
        spec["rungs"] = serde_json::json!({"code": "x += 1", "count": 2, "factor": 2});
    }
    serde_json::from_value(spec).unwrap()
}

fn one_parameter() -> CodeParameters {
    let (name, value, type_name) = ("x".into(), "1".into(), "int".into());
    let parameters = vec![Parameter { name, value, type_name, from: 4, to: 5 }];
    CodeParameters { parameters, ..CodeParameters::default() }
}

/// The report of a saving process.
fn contents(form: Form) -> Contents {
    Contents {
        manifest: format!("{form:?}"),
        entry_count: 1,
        namespace_bytes: 1,
        stored_bytes: 1,
        new_bytes: 1,
        includes_source: true,
        missing: Vec::new(),
        changed: Vec::new(),
        not_compared: None,
    }
}

fn storm(seed: u64, accidents: bool, budget: Option<usize>) {
    let mut chance = Chance(seed);
    let mut world = World::new(budget);
    for _ in 0..400 {
        match chance.below(3) {
            0 => world.wish(&mut chance),
            _ => drop(world.happen(&mut chance, accidents)),
        }
    }
    let has_ended = |sweep: &Sweep| sweep.status != SweepStatus::Running;
    for _ in 0..100_000 {
        let is_still = world.machine.notebook().sweeps().all(has_ended);
        if world.open.is_empty() && world.dying.is_empty() && is_still {
            break;
        }
        world.happen(&mut chance, false);
    }
    for sweep in world.machine.notebook().sweeps() {
        assert!(has_ended(sweep), "seed {seed}: {sweep:?} never ended");
        let ran = |row: &SweepRow| !row.ends.is_empty();
        let is_whole = sweep.status != SweepStatus::Done || sweep.rows.iter().all(ran);
        assert!(is_whole, "seed {seed}: a row never ran: {sweep:?}");
    }
    assert!(
        world.open.is_empty(),
        "seed {seed}: never answered {:?}\n{}\n{:#?}",
        world.open,
        picture(world.machine.notebook()),
        world.trace
    );
    world.last_ticket += 1;
    world.open.insert(world.last_ticket);
    world.feed(Input::Command(Ticket(world.last_ticket), Command::Reset));
    assert!(world.processes.len() <= 1, "seed {seed}: only the root is left: {:?}", world.processes);
}

#[test]
fn every_command_is_answered_when_nothing_fails() {
    let seeds = if in_full() { 1000 } else { 40 };
    (0..seeds).for_each(|seed| storm(seed, false, None));
    (0..seeds).for_each(|seed| storm(seed, false, Some(3)));
}

#[test]
fn every_command_is_answered_whatever_dies() {
    let seeds = if in_full() { 3000 } else { 100 };
    (1000..1000 + seeds).for_each(|seed| storm(seed, true, None));
    (2000..2000 + seeds).for_each(|seed| storm(seed, true, Some(3)));
}
