//! What is decided when: a pure machine. `step` takes one input and answers the effects, in order.
//!
//! It has no clock (time is passed in), makes no ids (they are given by a function), sends nothing and waits for nothing: an
//! effect's result comes back as another input, or never. So everything that can happen to a notebook can be told to it
//! in a test, in any order.
//!
//! The rules in one place: a state is run against by a head that stands at it, or by a new head forked from its frozen
//! process. When a cell succeeds its head is told to fork the frozen process of the new state and stands there. When a
//! cell fails its head is held for a while, so that what it had set can be kept, or ended; the state it ran against was
//! never touched.

mod introspect;
mod budget;
mod changes;
mod digests;
mod drafts;
mod frozen;
mod hangs;
mod heads;
mod held;
mod imported;
mod outputs;
mod presence;
mod replay;
mod runs;
mod saving;
mod spawn;
mod states;
mod cancel;
mod tasks;
mod transfers;
mod watch;
mod memory_limit;
#[cfg(test)]
mod tests;

use crate::kernel::{Cell, Exit, Hung, IntrospectKind, Load, ProcId, Report, Role, Seen, Wanted};
use crate::notebook::{
    Checkpoint, Command, DiskStatus, Event, ExecId, Fact, Notebook, Output, Reply, StateId, StateRef,
};
use crate::problem::{Kind, Problem};
pub use budget::Budget;
use budget::Memory;
use changes::Comparer;
use digests::Digesters;
use frozen::Frozen;
use hangs::Hazards;
use heads::Heads;
use held::HeldHeads;
use indexmap::IndexSet;
use introspect::Answerers;
pub(super) use memory_limit::Weighed;
use presence::Presence;
pub(super) use presence::{Standing, Visitor};
use replay::Replay;
use runs::Requests;
use saving::Saver;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use transfers::Senders;

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
    /// A client says where it stands.
    Stand(Ticket, Visitor, Standing),
    /// A client is gone.
    Left(Visitor),
    /// A process reported.
    Reported(ProcId, Report),
    /// A head was stopped, and what its last cell had started was ended: so many processes.
    Stopped(ProcId, usize),
    /// A process is gone.
    Gone(ProcId, Option<Exit>),
    /// An effect of ours could not be carried out by the operating system.
    Unable(ProcId, String),
    /// A process that is not there in time was looked at.
    Examined(ProcId, Hung),
    /// An alarm that was set has rung.
    Rang(Alarm),
    /// A checkpoint is part of the notebook on disk, or could not become so.
    Kept(StateId, Result<Box<Checkpoint>, String>),
    /// The checkpoints of these states are trusted from now on.
    Trusted(Result<Vec<StateId>, DiskStatus>),
    /// What processes hold for themselves alone, in bytes, and how much memory the machine has available.
    Measured(Vec<(ProcId, u64)>, Option<u64>),
    /// What a run that has a limit holds, unless it is gone.
    Weighed(ExecId, Serial, Option<Weighed>),
    /// What was seen of a run in a branch, unless its process is gone.
    Observed(ExecId, Serial, Option<Seen>),
    /// Something is wrong with the disk, or (none) it is well again.
    Trouble(Option<DiskStatus>),
    /// A state that came in a file.
    Adopt(Ticket, Box<Adopted>),
    /// All runs are to end, as the notebook is about to be reset.
    StopRuns,
    /// The notebook is about to be closed.
    Closing,
}

/// A state that came in a file, with its blobs already in place.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// The code of its whole lineage.
    pub code: String,
    /// The outputs of its cell.
    pub outputs: Vec<Output>,
    /// A name for people.
    pub label: Option<String>,
    /// What is known about its checkpoint. It is not trusted.
    pub about: Checkpoint,
}

/// Something to be done.
#[derive(Debug, PartialEq)]
pub(super) enum Effect {
    /// Send an event to all clients; a fact is also saved.
    Publish(Box<Event>),
    /// Answer a command.
    Answer(Ticket, Box<Reply>),
    /// Start the root process.
    SpawnRoot(ProcId),
    /// Make a process fork a child that sends variables to a head, whose run names it.
    Send { from: ProcId, child: ProcId, wanted: Wanted },
    /// Make a process fork a child.
    Fork { from: ProcId, child: ProcId, role: Role, load: Option<Load> },
    /// Run a cell on a head.
    Run { head: ProcId, cell: Cell },
    /// Ask a process that answers.
    Question { process: ProcId, number: u64, sought: IntrospectKind, code: String, cursor: u32 },
    /// Give a head what the user typed.
    Type { head: ProcId, number: u32, text: String },
    /// Stop a head's cell politely.
    Interrupt(ProcId),
    /// Stop a head (SIGSTOP) and end all that its last cell has started, in whatever session; answered by `Input::Stopped`.
    Stop(ProcId),
    /// Let it go on.
    Continue(ProcId),
    /// Look from outside at a process that should be there and has not said so.
    Examine(ProcId),
    /// End a process.
    Kill(ProcId),
    /// End a head together with all that its last cell has started, in whatever session.
    EndRun(ProcId),
    /// End all that the last cell of a head has started, in whatever session, but not the head.
    EndStarted(ProcId),
    /// End all heads together with all that cells have ever started.
    EndCells,
    /// Let an alarm ring after a while.
    Wake(Duration, Alarm),
    /// Make a checkpoint, whose blobs are written, part of the notebook on disk.
    Keep { state: StateId, parent: Option<StateId>, about: Box<Checkpoint> },
    /// Sign all checkpoints as our own.
    Trust,
    /// Measure what processes hold for themselves alone.
    Measure(Vec<ProcId>),
    /// Look from outside at a run in a branch.
    Observe { exec_id: ExecId, serial: Serial, head: ProcId },
    /// Measure what a run holds whose head this is. Beside it stands the frozen process of its state, if that lives.
    Weigh { exec_id: ExecId, serial: Serial, head: ProcId, beside: Option<ProcId> },
}

/// What was to happen by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// A forked process should be ready.
    Ready(ProcId),
    /// A process that sends variables should be there.
    Sending(ProcId),
    /// A look at variables should be over.
    Looked(ProcId),
    /// A question should have been answered.
    Answered(ProcId, u64),
    /// A process that answers may have had nothing to do for a while.
    Unasked(ProcId),
    /// There may be a moment to find out what cells have changed.
    Compare,
    /// A process should have told the marks of its variables.
    Marked(ProcId),
    /// A head should have begun its cell.
    Begun(ProcId, ExecId, Serial),
    /// An interrupted cell should have stopped.
    Stopped(ExecId, Serial),
    /// A head whose cell failed may have been held long enough.
    Held,
    /// A run has reached its time limit.
    TimeLimit(ExecId, Serial),
    /// A run is to be weighed that has a limit of memory.
    Weigh(ExecId, Serial),
    /// A run in a branch is to be looked at.
    Watch(ExecId, Serial),
    /// There may be a moment to save.
    Save,
    /// A checkpoint that could not be written may be written now.
    SaveAgain(StateId),
    /// A saving process should have been heard.
    SavingStalled(ProcId),
    /// Processes are to be measured.
    Measure,
    /// It may be told again where people stand.
    People,
}

/// The machine of one notebook.
pub(super) struct Machine {
    notebook: Notebook,
    new_id: Box<dyn FnMut() -> String + Send>,
    now_ms: f64,
    last_proc: u64,
    root: Option<ProcId>,
    frozen: Frozen,
    heads: Heads,
    held: HeldHeads,
    looks: BTreeMap<ProcId, (Vec<Ticket>, StateId)>,
    /// Looks that had to wait for their state to be loaded.
    late_looks: BTreeSet<ProcId>,
    digesters: Digesters,
    senders: Senders,
    answerers: Answerers,
    comparer: Comparer,
    requests: Requests,
    /// The runs that have not ended, in the order in which they were asked for.
    open: IndexSet<ExecId>,
    backlog: VecDeque<ExecId>,
    /// States that are being loaded from their checkpoints.
    loads: BTreeMap<ProcId, StateId>,
    /// Commands to answer when such a state is there.
    load_tickets: BTreeMap<StateId, Vec<Ticket>>,
    /// Runs that wait for such a state.
    late_runs: BTreeMap<StateId, Vec<ExecId>>,
    saver: Saver,
    replays: BTreeMap<StateId, Replay>,
    memory: Memory,
    trusting: Vec<Ticket>,
    /// States that came in files, whose checkpoints the store has not made a part of the notebook yet.
    adopting: BTreeMap<StateId, (Ticket, Reply)>,
    presence: Presence,
    effects: Vec<Effect>,
}

impl Machine {
    /// A notebook as it was opened. `new_id` makes the ids of states; with `saves`, checkpoints are written without being
    /// asked for.
    pub(super) fn new(
        notebook: Notebook,
        new_id: Box<dyn FnMut() -> String + Send>,
        budget: Budget,
        saves: bool,
    ) -> Self {
        let mut notebook = notebook;
        notebook.set_saves_by_itself(saves);
        Self {
            new_id,
            now_ms: 0.0,
            last_proc: 0,
            root: None,
            frozen: Frozen::default(),
            heads: Heads::default(),
            held: HeldHeads::default(),
            looks: BTreeMap::new(),
            late_looks: BTreeSet::new(),
            digesters: Digesters::default(),
            senders: Senders::default(),
            answerers: Answerers::default(),
            comparer: Comparer::default(),
            requests: Requests::default(),
            open: notebook.runs().filter(|r| !r.status.has_ended()).map(|r| r.exec_id.clone()).collect(),
            backlog: VecDeque::new(),
            loads: BTreeMap::new(),
            load_tickets: BTreeMap::new(),
            late_runs: BTreeMap::new(),
            saver: Saver::new(saves),
            replays: BTreeMap::new(),
            memory: Memory::new(budget),
            trusting: Vec::new(),
            adopting: BTreeMap::new(),
            presence: Presence::default(),
            effects: Vec::new(),
            notebook,
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
            Input::Opened => self.opened(),
            Input::Command(ticket, command) => self.command(ticket, command),
            Input::Stand(ticket, visitor, standing) => self.stand(ticket, visitor, standing),
            Input::Left(visitor) => self.visitor_left(visitor),
            Input::Reported(process, report) => self.reported(process, report),
            Input::Stopped(process, ended) => self.stopped(process, ended),
            Input::Gone(process, exit) => self.gone(process, exit),
            Input::Unable(process, why) => self.fork_refused(process, &why),
            Input::Examined(process, hung) => self.examined(process, &hung),
            Input::Rang(alarm) => self.rang(alarm),
            Input::Kept(state, kept) => self.kept(&state, kept),
            Input::Trusted(states) => self.trusted(states),
            Input::Measured(processes, available) => self.measured(processes, available),
            Input::Weighed(run, serial, weighed) => self.weighed(&run, serial, weighed),
            Input::Observed(run, serial, seen) => self.observed(&run, serial, seen.as_ref()),
            Input::Trouble(trouble) => self.set_disk_status(trouble),
            Input::Adopt(ticket, adopted) => self.adopt(ticket, *adopted),
            Input::StopRuns => self.stop_all_runs(),
            Input::Closing => self.closing(),
        }
        // Room comes in many ways: a run ends, a state is let go, or will never be saved.
        if !self.backlog.is_empty() {
            self.serve_backlog();
        }
        std::mem::take(&mut self.effects)
    }

    fn command(&mut self, ticket: Ticket, command: Command) {
        let answer = self.carry_out(ticket, command).unwrap_or_else(|refused| Some(Reply::Refused(refused)));
        if let Some(reply) = answer {
            self.answer(ticket, reply);
        }
    }

    /// The state that a request refers to.
    fn resolve_state(&self, state: StateRef) -> Result<StateId, Problem> {
        match state {
            StateRef::Id(id) => Ok(id),
            StateRef::Name(name) => match self.notebook.find(&name) {
                Some(state) => Ok(state.id.clone()),
                None => Err(Problem::new(
                    Kind::NotFound,
                    format!("find state {name:?}"),
                    "no state has this name or id",
                    "see GET /states for the states that there are",
                )),
            },
        }
    }

    /// Answers at once, or has noted the ticket to answer it later.
    fn carry_out(&mut self, ticket: Ticket, command: Command) -> Result<Option<Reply>, Problem> {
        Ok(match command {
            Command::Run(spec) => self.ask_run(ticket, spec)?,
            Command::ListVariables { state } => {
                let state = self.resolve_state(state)?;
                self.list_variables(ticket, &state, Role::ListVariables)
            }
            Command::Digest { state } => {
                let state = self.resolve_state(state)?;
                self.digest(ticket, &state)
            }
            Command::Interrupt { exec_id } => {
                let interrupted = self.interrupt(&exec_id);
                Some(Reply::Interrupted { interrupted })
            }
            Command::AnswerInput { exec_id, text } => Some(self.type_answer(&exec_id, text)),
            Command::PutDraft { draft, after, in_place, base, update } => {
                Some(self.put_draft(draft, after.as_ref(), in_place, base, update))
            }
            Command::DeleteDraft { draft } => Some(self.delete_draft(&draft)),
            Command::PutProse { state, prose } => Some(self.change_state(&state, |s| s.prose = prose)),
            Command::Label { state, label } => {
                let state = self.resolve_state(state)?;
                Some(self.change_state(&state, |s| s.label = label))
            }
            Command::DeleteState { state, subtree } => {
                let state = self.resolve_state(state)?;
                Some(if subtree { self.delete_subtree(&state) } else { self.delete_state(&state) })
            }
            Command::KeepPartial { exec_id } => Some(self.keep_partial(&exec_id)),
            Command::DropAttempt { exec_id } => Some(self.drop_attempt(exec_id)),
            Command::Reset => Some(self.reset()),
            Command::Pin { state, pinned } => {
                let state = self.resolve_state(state)?;
                Some(self.change_state(&state, |s| s.pinned = pinned))
            }
            Command::ForkAnyway { state, anyway } => {
                let state = self.resolve_state(state)?;
                Some(self.change_state(&state, |s| s.fork_anyway = anyway))
            }
            Command::Checkpoint { state, form, label, metadata } => {
                let state = self.resolve_state(state)?;
                self.ask_checkpoint(ticket, &state, form, label, metadata)
            }
            Command::Replay { state } => {
                let state = self.resolve_state(state)?;
                self.ask_replay(ticket, &state)
            }
            Command::Load { state, replay } => {
                let state = self.resolve_state(state)?;
                self.ask_load(ticket, &state, replay)?
            }
            Command::Trust => {
                self.trusting.push(ticket);
                self.effects.push(Effect::Trust);
                None
            }
            Command::SaveTask { task_id, state, values, token_usage, metadata } => {
                Some(self.save_task(task_id, state, values, token_usage, metadata))
            }
            Command::Complete { state, code, cursor } => {
                self.ask(ticket, &state, IntrospectKind::Completions, code, cursor)
            }
            Command::Inspect { state, code, cursor } => {
                self.ask(ticket, &state, IntrospectKind::Object, code, cursor)
            }
            Command::Stand { .. } => Some(Reply::Refused(presence::needs_a_socket())),
        })
    }

    fn reported(&mut self, process: ProcId, report: Report) {
        match report {
            Report::Ready { missing, hazard, .. } => self.ready(process, missing, hazard),
            Report::LoadFailed { why } => self.load_failed(process, &why),
            Report::Saving { percent } => self.saving(process, percent),
            Report::Saved(contents) => self.written(process, contents),
            Report::SaveFailed { why } => self.saving_failed(process, &why),
            Report::Failed { why } => self.root_failed(process, &why),
            Report::ForkFailed { child, why } => self.fork_refused(child, &why),
            Report::Holds(weight) => self.holds(process, weight),
            Report::Started => self.started(process),
            Report::Output(output) => self.output(process, output),
            Report::Update { display_id, data, metadata } => self.update(process, display_id, data, metadata),
            Report::Clear { wait } => self.clear(process, wait),
            Report::Ask(prompt) => self.prompt(process, Some(prompt)),
            Report::Symbols(symbols) => self.note_symbols(process, symbols),
            Report::Ended { how, exec_count, warnings, forks, is_alone, remains } => {
                self.ended(process, how, exec_count, Hazards { warnings, forks, is_alone }, remains)
            }
            Report::Shared(warnings) => self.shared(process, warnings),
            Report::Variables(variables) => self.looked(process, variables),
            Report::Digested(digests) => self.digested(process, digests),
            Report::Found { number, found } => self.found(process, number, found),
            Report::Fingerprinted { fingerprints: marks, address_space: family } => {
                self.fingerprinted(process, marks, family)
            }
            // The tree's own business.
            Report::Forked { .. } | Report::Reaped { .. } | Report::Doorbell => {}
        }
    }

    fn rang(&mut self, alarm: Alarm) {
        match alarm {
            Alarm::Ready(process) => self.not_ready(process),
            Alarm::Sending(process) => self.is_not_sending(process),
            Alarm::Looked(process) => self.listing_took_too_long(process),
            Alarm::Answered(process, number) => self.answer_took_too_long(process, number),
            Alarm::Unasked(process) => self.end_if_unasked(process),
            Alarm::Compare => self.time_to_compare(),
            Alarm::Marked(process) => self.marks_took_too_long(process),
            Alarm::Begun(head, run, serial) => self.did_not_begin(head, &run, serial),
            Alarm::Stopped(run, serial) => self.did_not_stop(&run, serial),
            Alarm::Held => self.held_long_enough(),
            Alarm::TimeLimit(run, serial) => self.reached_time_limit(&run, serial),
            Alarm::Weigh(run, serial) => self.weigh(&run, serial),
            Alarm::Watch(run, serial) => self.watch(&run, serial),
            Alarm::Save => self.time_to_save(),
            Alarm::SaveAgain(state) => self.save_again(&state),
            Alarm::SavingStalled(process) => self.saving_stalled(process),
            Alarm::Measure => self.measure(),
            Alarm::People => self.tell_people(),
        }
    }

    fn publish(&mut self, event: impl Into<Event>) {
        let event = event.into();
        if event.run().is_some_and(|run| self.notebook.is_passing(run)) {
            return;
        }
        self.effects.push(Effect::Publish(Box::new(event)));
    }

    /// Tells everybody what a state is like now.
    fn publish_state(&mut self, id: &StateId) {
        if let Some(state) = self.notebook.state(id).cloned() {
            self.publish(Fact::StateChanged { state });
        }
    }

    fn answer(&mut self, ticket: Ticket, reply: Reply) {
        self.effects.push(Effect::Answer(ticket, Box::new(reply)));
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

fn not_found(kind: &str, id: impl std::fmt::Display) -> Problem {
    Problem::new(
        Kind::NotFound,
        format!("find {kind} {id}"),
        "there is none in this notebook",
        "look at the list again",
    )
}
