//! Random tests of the machine: thousands of random commands, and processes that die, in any order
//! that real processes could cause.
//!
//! In every order, each command is answered once, no process is forgotten or used after its end,
//! and the graph keeps its invariants.

use super::{Alarm, Budget, Effect, Input, Machine, Ticket, exec, machine, machine_with, picture, run};
use crate::kernel::{Contents, Exit, Fingerprint, How, Hung, Introspected, ProcId, Remains, Report, Role};
use crate::notebook::{
    Base, Checkpoint, Command, Ended, Event, Fact, Form, OnError, Reply, Residency, RunError, RunStatus,
    StateId,
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

/// What a simulated process does next.
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
    /// Checkpoints that the machine has asked the store to keep.
    to_keep: Vec<(StateId, Checkpoint)>,
    to_trust: bool,
    alarms: Vec<Alarm>,
    open: BTreeSet<u64>,
    questions: Vec<(ProcId, u64)>,
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
                }
                Effect::Run { head, .. } => {
                    if let Some(life) = self.processes.get_mut(&head) {
                        assert_ne!(*life, Life::Runs, "a busy head is not given another cell");
                        *life = Life::Begins;
                    }
                }
                Effect::Kill(id) if self.processes.remove(&id).is_some() => drop(self.dying.insert(id)),
                Effect::Answer(ticket, _) => {
                    assert!(self.open.remove(&ticket.0), "answered twice: {ticket:?}")
                }
                Effect::Keep { state, checkpoint, .. } => self.to_keep.push((state, *checkpoint)),
                Effect::Trust => self.to_trust = true,
                Effect::Question { process, number, .. } => self.questions.push((process, number)),
                Effect::Wake(_, alarm @ (Alarm::Save | Alarm::Measure | Alarm::Compare)) => {
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
                let held =
                    self.machine.core.processes.frozen(&state.id).expect("a state in memory has a process");
                assert!(self.processes.contains_key(&held) || self.dying.contains(&held));
            }
        }
        for name in notebook.names() {
            assert!(notebook.find(name).is_some(), "{name} means nothing");
        }
        for run in notebook.runs() {
            assert!(!(run.keepable && run.state.is_some()), "{} is kept already", run.exec_id);
            let held = self.machine.held.process_of(&run.exec_id);
            assert_eq!(run.keepable, held.is_some(), "{}", run.exec_id);
            let is_there = |id| self.processes.contains_key(&id) || self.dying.contains(&id);
            assert!(held.is_none_or(is_there), "{}", run.exec_id);
        }
    }

    fn wish(&mut self, chance: &mut Chance) {
        let states: Vec<StateId> = self.machine.notebook().states().map(|s| s.id.clone()).collect();
        let state = chance.of(&states).expect("the root");
        let runs = self.last_run.max(1);
        let some_run = format!("r{}", 1 + chance.below(runs));
        let command = match chance.below(29) {
            26..=28 => Command::KeepPartial { exec_id: exec(&some_run) },
            24..=25 => Command::Complete { state, code: String::new(), cursor: 0 },
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
            18 => Command::DeleteState { state: state.into(), subtree: chance.below(3) == 0 },
            _ if chance.below(20) == 0 => Command::Reset,
            _ => Command::AnswerInput { exec_id: exec(&some_run), text: String::new() },
        };
        self.last_ticket += 1;
        self.open.insert(self.last_ticket);
        self.feed(Input::Command(Ticket(self.last_ticket), command));
    }

    /// The next input, if there is one, from the store, an alarm, or a process that answers
    /// questions.
    fn news(&mut self, chance: &mut Chance) -> Option<Input> {
        match chance.below(4) {
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
                let (process, number) = self.questions.remove(0);
                // If the process has ended, the machine has already refused the question.
                let is_there = self.processes.contains_key(&process);
                is_there.then_some(Input::Reported(
                    process,
                    Report::Found { number, found: Introspected::Object(None) },
                ))
            }
            2 => match self.alarms.pop()? {
                Alarm::Measure => Some(Input::Measured(Vec::new(), None)),
                alarm => Some(Input::AlarmDue(alarm)),
            },
            _ => None,
        }
    }

    /// Makes something happen to a simulated process. Returns false when nothing can.
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
                    0 => Report::SaveFailed { why: "no space left".into() },
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
                    0 => How::Error(RunError::new("KeyboardInterrupt", "")),
                    1 => How::Error(RunError::new("ValueError", "")),
                    _ => How::Ok,
                };
                let forks = chance.below(8) != 0;
                let remains =
                    [Remains::Nothing, Remains::Unchanged, Remains::Set, Remains::Unfit("chroot".into())]
                        [chance.below(4)]
                    .clone();
                let (exec_count, warnings, is_alone) = (1, Vec::new(), false);
                (Life::Waits, Report::Ended { how, exec_count, warnings, forks, is_alone, remains })
            }
        };
        self.processes.insert(id, report.0);
        self.feed(Input::Reported(id, report.1));
        true
    }
}

/// What a saving process reports.
fn contents(form: Form) -> Contents {
    Contents {
        manifest: format!("{form:?}"),
        entry_count: 1,
        namespace_bytes: 1,
        stored_bytes: 1,
        new_bytes: 1,
        includes_source: true,
        missing: Vec::new(),
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
    for _ in 0..100_000 {
        if world.open.is_empty() && world.dying.is_empty() {
            break;
        }
        world.happen(&mut chance, false);
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
    (0..100).for_each(|seed| storm(seed, false, None));
    (0..100).for_each(|seed| storm(seed, false, Some(3)));
}

#[test]
fn every_command_is_answered_whatever_dies() {
    (1000..1200).for_each(|seed| storm(seed, true, None));
    (2000..2300).for_each(|seed| storm(seed, true, Some(3)));
}
