//! What is decided when: a pure machine. `step` takes one input and answers the effects, in order.
//!
//! It has no clock (time is passed in), makes no ids (they are given by a function), sends nothing and waits for nothing: an
//! effect's result comes back as another input, or never. So everything that can happen to a notebook can be told to it
//! in a test, in any order.
//!
//! The rules in one place: a state is run against by a head that stands at it, or by a new head forked from its frozen
//! process. When a cell succeeds its head is told to fork the frozen process of the new state and stands there. When a
//! cell fails in any way its head is ended; the state it ran against was never touched.

mod drafts;
mod heads;
mod outputs;
mod runs;
mod states;
mod stops;
#[cfg(test)]
mod tests;

use crate::kernel::{Exit, Load, ProcId, Report, Role};
use crate::notebook::{Command, Event, ExecId, Notebook, Refused, Reply, StateId};
use heads::Heads;
use runs::Requests;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Whom to answer. The machine only hands it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ticket(pub(super) u64);

/// Numbers the runs of a notebook. An exec id may be used again after a reset; this is not, so that an alarm that was set
/// for one run never rings for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Serial(pub(super) u64);

/// Something that happened.
#[derive(Debug)]
pub(super) enum Input {
    /// The notebook was opened.
    Opened,
    /// Somebody wishes something.
    Command(Ticket, Command),
    /// A process reported.
    Reported(ProcId, Report),
    /// A process is gone.
    Gone(ProcId, Option<Exit>),
    /// An effect of ours could not be carried out by the operating system.
    Unable(ProcId, String),
    /// An alarm that was set has rung.
    Rang(Alarm),
}

/// Something to be done.
#[derive(Debug, PartialEq)]
pub(super) enum Effect {
    /// Tell everybody, and save it: every published event is a fact of the notebook.
    Publish(Event),
    /// Answer a command.
    Answer(Ticket, Reply),
    /// Start the root process.
    Plant(ProcId),
    /// Make a process fork a child.
    Fork { from: ProcId, child: ProcId, role: Role, load: Option<Load> },
    /// Run a cell on a head.
    Run { head: ProcId, exec_id: ExecId, code: String, allow_stdin: bool },
    /// Give a head what the user typed.
    Type { head: ProcId, number: u32, text: String },
    /// Stop a head's cell politely.
    Interrupt(ProcId),
    /// End a process.
    Kill(ProcId),
    /// Let an alarm ring after a while.
    Wake(Duration, Alarm),
}

/// What was to happen by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// A forked process should be ready.
    Ready(ProcId),
    /// A look at variables should be over.
    Looked(ProcId),
    /// A head should have begun its cell.
    Begun(ProcId, ExecId, Serial),
    /// An interrupted cell should have stopped.
    Stopped(ExecId, Serial),
    /// A run has reached its time limit.
    TimeLimit(ExecId, Serial),
}

/// The machine of one notebook.
pub(super) struct Machine {
    notebook: Notebook,
    new_id: Box<dyn FnMut() -> String + Send>,
    now_ms: f64,
    last_proc: u64,
    root: Option<ProcId>,
    frozen: BTreeMap<StateId, ProcId>,
    heads: Heads,
    looks: BTreeMap<ProcId, (Vec<Ticket>, StateId)>,
    requests: Requests,
    backlog: VecDeque<ExecId>,
    effects: Vec<Effect>,
}

impl Machine {
    /// A notebook with nothing but its root. `new_id` makes the ids of states.
    pub(super) fn new(name: &str, now_ms: f64, new_id: Box<dyn FnMut() -> String + Send>) -> Self {
        Self {
            notebook: Notebook::new(name, now_ms),
            new_id,
            now_ms,
            last_proc: 0,
            root: None,
            frozen: BTreeMap::new(),
            heads: Heads::default(),
            looks: BTreeMap::new(),
            requests: Requests::default(),
            backlog: VecDeque::new(),
            effects: Vec::new(),
        }
    }

    /// The notebook as it is.
    pub(super) fn notebook(&self) -> &Notebook {
        &self.notebook
    }

    /// Takes one input; answers what is to be done, in order.
    pub(super) fn step(&mut self, now_ms: f64, input: Input) -> Vec<Effect> {
        self.now_ms = now_ms;
        match input {
            Input::Opened => self.plant(),
            Input::Command(ticket, command) => self.command(ticket, command),
            Input::Reported(process, report) => self.reported(process, report),
            Input::Gone(process, exit) => self.gone(process, exit),
            Input::Unable(process, why) => self.fork_failed(process, &why),
            Input::Rang(alarm) => self.rang(alarm),
        }
        std::mem::take(&mut self.effects)
    }

    fn command(&mut self, ticket: Ticket, command: Command) {
        let answer = match command {
            Command::Run { .. } => self.ask_run(ticket, command),
            Command::LookAtVariables { state } => self.look(ticket, &state),
            Command::Interrupt { exec_id } => {
                let interrupted = self.interrupt(&exec_id);
                Some(Reply::Interrupted { interrupted })
            }
            Command::AnswerInput { exec_id, text } => Some(self.type_answer(&exec_id, text)),
            Command::PutDraft { draft, after, in_place } => {
                Some(self.put_draft(draft, after.as_ref(), in_place))
            }
            Command::DeleteDraft { draft } => Some(self.delete_draft(&draft)),
            Command::PutProse { state, prose } => Some(self.change_state(&state, |s| s.prose = prose)),
            Command::Label { state, label } => Some(self.change_state(&state, |s| s.label = label)),
            Command::DeleteState { state } => Some(self.delete_state(&state)),
            Command::DropAttempt { exec_id } => Some(self.drop_attempt(exec_id)),
            Command::Reset => Some(self.reset()),
            Command::Pin { .. }
            | Command::Checkpoint { .. }
            | Command::Replay { .. }
            | Command::Trust
            | Command::SaveTask { .. } => None,
        };
        if let Some(reply) = answer {
            self.answer(ticket, reply);
        }
    }

    fn reported(&mut self, process: ProcId, report: Report) {
        match report {
            Report::Ready { .. } => self.ready(process),
            Report::Failed { why } => self.root_failed(process, &why),
            Report::ForkFailed { child, why } => self.fork_failed(child, &why),
            Report::Started => self.started(process),
            Report::Output(output) => self.output(process, output),
            Report::Update { display_id, data, metadata } => self.update(process, display_id, data, metadata),
            Report::Clear { wait } => self.clear(process, wait),
            Report::Ask(prompt) => self.prompt(process, Some(prompt)),
            Report::Ended { how, exec_count, warnings } => self.ended(process, how, exec_count, warnings),
            Report::Variables(variables) => self.looked(process, variables),
            // The tree's own business.
            Report::Forked { .. } | Report::Reaped { .. } | Report::Doorbell => {}
            Report::LoadFailed { .. }
            | Report::Saving { .. }
            | Report::Saved(_)
            | Report::SaveFailed { .. } => {}
        }
    }

    fn rang(&mut self, alarm: Alarm) {
        match alarm {
            Alarm::Ready(process) => self.not_ready(process),
            Alarm::Looked(process) => self.look_took_too_long(process),
            Alarm::Begun(head, run, serial) => self.did_not_begin(head, &run, serial),
            Alarm::Stopped(run, serial) => self.did_not_stop(&run, serial),
            Alarm::TimeLimit(run, serial) => self.reached_time_limit(&run, serial),
        }
    }

    fn publish(&mut self, event: Event) {
        self.effects.push(Effect::Publish(event));
    }

    fn answer(&mut self, ticket: Ticket, reply: Reply) {
        self.effects.push(Effect::Answer(ticket, reply));
    }

    fn answer_all(&mut self, tickets: Vec<Ticket>, reply: &Reply) {
        for ticket in tickets {
            self.answer(ticket, reply.clone());
        }
    }

    fn new_proc(&mut self) -> ProcId {
        self.last_proc += 1;
        ProcId(self.last_proc)
    }
}

fn not_found(kind: &str, id: impl std::fmt::Display) -> Refused {
    Refused::new(
        "not_found",
        format!("find {kind} {id}"),
        "there is none in this notebook",
        "look at the list again",
    )
}
