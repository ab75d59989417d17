//! Tests that the cost of a cell does not grow with the number of states. The cost is the number of
//! effects, and the number of states and runs that the machine visits.

use super::{cell_report, exec, machine_with, run};
use crate::kernel::{Contents, How, ProcId, Remains, Report, Role};
use crate::notebook::{Base, Checkpoint, Form, SEEN, StateId};
use crate::session::machine::{Alarm, Budget, Effect, Input, Machine, Ticket};
use crate::session::system_memory::Footprint;
use std::collections::VecDeque;

/// Number of cells that are measured near the beginning of a chain, and again at its end.
const WINDOW: usize = 20;
/// Number of cells in a chain.
const DEPTH: usize = 600;

/// The cost of a cell: the number of effects, and the number of states and runs that the machine
/// visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    effects: usize,
    seen: usize,
}

/// A machine with simulated processes and a simulated disk, which carry out each effect
/// immediately.
struct Chain {
    machine: Machine,
    now_ms: f64,
    alarms: Vec<Alarm>,
    cost: Cost,
}

impl Chain {
    fn new(budget: Budget) -> Self {
        let machine = machine_with(budget, true);
        let mut chain = Self { machine, now_ms: 1000.0, alarms: Vec::new(), cost: Cost::default() };
        chain.feed(Input::Opened);
        chain
    }

    fn feed(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            self.now_ms += 0.01;
            let before = SEEN.get();
            let effects = self.machine.step(self.now_ms, input);
            self.cost.seen += SEEN.get() - before;
            self.cost.effects += effects.len();
            inputs.extend(effects.into_iter().flat_map(|effect| self.come_of(effect)));
        }
    }

    fn come_of(&mut self, effect: Effect) -> Vec<Input> {
        let ready =
            |process| Input::Reported(process, Report::Ready { pid: 0, missing: Vec::new(), hazard: None });
        match effect {
            Effect::SpawnRoot(root) => vec![ready(root)],
            Effect::Fork { child, role: Role::Save(_), .. } => {
                let report = Report::Saved(contents(child));
                vec![Input::Reported(child, report), Input::Gone(child, None)]
            }
            Effect::Fork { child, role: Role::Fingerprint, .. } => {
                let report = Report::Fingerprinted { fingerprints: None, address_space: 0 };
                vec![Input::Reported(child, report), Input::Gone(child, None)]
            }
            Effect::Fork { child, .. } => vec![ready(child)],
            Effect::Run { head, .. } => {
                let ended = Report::Ended { how: How::Ok, report: cell_report(1), remains: Remains::Nothing };
                vec![Input::Reported(head, Report::Started), Input::Reported(head, ended)]
            }
            Effect::Keep { state, checkpoint, .. } => vec![Input::Kept(state, Ok(checkpoint))],
            Effect::Measure(processes) => {
                vec![Input::Measured(
                    processes
                        .into_iter()
                        .map(|process| (process, Footprint { own: 1000, shared: 0 }))
                        .collect(),
                    None,
                )]
            }
            Effect::Kill(process, _) => vec![Input::Gone(process, None)],
            Effect::Wake(_, alarm @ (Alarm::Save | Alarm::Compare | Alarm::Measure)) => {
                self.alarms.push(alarm);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Runs a cell against a state. With `rests`, then waits two seconds and triggers the alarms
    /// that were set. Returns the new state and the total cost.
    fn cell(&mut self, number: usize, at: StateId, rests: bool) -> (StateId, Cost) {
        self.cost = Cost::default();
        let id = format!("run {number}");
        self.feed(Input::Command(Ticket(1), run(&id, Base::State(at))));
        if rests {
            self.now_ms += 2000.0;
            // An alarm can set further alarms, so alarms are triggered several times.
            for _ in 0..4 {
                for alarm in std::mem::take(&mut self.alarms) {
                    self.feed(Input::AlarmDue(alarm));
                }
            }
        }
        let state = self.machine.notebook().run(&exec(&id)).and_then(|run| run.state.clone());
        (state.expect("the cell left a state"), self.cost)
    }
}

fn contents(child: ProcId) -> Contents {
    Contents {
        manifest: format!("manifest of {}", child.0),
        entry_count: 1,
        namespace_bytes: 10,
        stored_bytes: 5,
        new_bytes: 5,
        includes_source: true,
        missing: Vec::new(),
        changed: Vec::new(),
        not_compared: None,
    }
}

/// Runs a chain of cells. Returns the highest cost of a cell near the beginning, the highest cost
/// of a cell at the end, and the machine.
fn early_and_late(budget: Budget, rests: bool) -> (Cost, Cost, Machine) {
    let mut chain = Chain::new(budget);
    let (mut at, mut costs) = (StateId::root(), Vec::new());
    for number in 0..DEPTH {
        let (state, cost) = chain.cell(number, at, rests);
        at = state;
        costs.push(cost);
    }
    let dearest = |costs: &[Cost]| Cost {
        effects: costs.iter().map(|cost| cost.effects).max().unwrap_or_default(),
        seen: costs.iter().map(|cost| cost.seen).max().unwrap_or_default(),
    };
    // The first cells are not measured: the limits for idle heads and for the budget are reached
    // there.
    let early = dearest(&costs[2 * WINDOW..3 * WINDOW]);
    (early, dearest(&costs[DEPTH - WINDOW..]), chain.machine)
}

#[test]
fn a_cell_costs_as_much_late_in_a_notebook_as_early() {
    let small = Budget { processes: WINDOW, ..Budget::default() };
    for (budget, rests) in [(Budget::default(), true), (Budget::default(), false), (small, true)] {
        let (early, late, _) = early_and_late(budget, rests);
        assert!(late.effects <= early.effects, "{budget:?} rests: {rests}: {early:?}, late {late:?}");
        assert!(late.seen <= early.seen, "{budget:?} rests: {rests}: {early:?}, late {late:?}");
        assert!(early.effects >= 10, "the chain does something: {early:?}");
    }
}

#[test]
fn every_state_of_a_chain_is_saved_and_knows_how_long_its_lineage_ran() {
    let (_, _, machine) = early_and_late(Budget::default(), true);
    let notebook = machine.notebook();
    let mut total_ms = 0.0;
    for state in notebook.states().filter(|state| !state.id.is_root()) {
        let run = state.exec_id.as_ref().and_then(|run| notebook.run(run)).expect("its run");
        total_ms += run.duration_ms.unwrap_or_default();
        let checkpoint: &Checkpoint = state.checkpoint.as_ref().expect("it is saved");
        assert!((checkpoint.total_execution_time_ms - total_ms).abs() < 1e-6, "{checkpoint:?}");
        let parent = state.parent.as_ref().and_then(|id| notebook.state(id));
        let before = parent.and_then(|parent| parent.checkpoint.as_ref()).map(|c| &c.checkpoint_id);
        assert_eq!((checkpoint.parent_checkpoint.as_ref(), checkpoint.form), (before, Form::Environment));
    }
    assert!(total_ms > 0.0);
}
