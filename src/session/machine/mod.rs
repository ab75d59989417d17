//! Decides what happens in a notebook and when. `step` takes one input and returns the resulting
//! effects, in order.
//!
//! The machine is pure: callers pass in the time and a function that makes ids, and the machine
//! does no IO and never blocks. The result of an effect arrives as another input, or never. So
//! tests can feed the machine any sequence of inputs that can happen to a notebook.
//!
//! The main rules: a cell runs in a head that rests at the cell's base state, or in a new head
//! forked from that state's frozen process. When the cell succeeds, the head forks the frozen
//! process of the new state and rests at that state. When the cell fails, the head is killed, or
//! held for some minutes so that the variables that the cell set can be kept. The state that the
//! cell ran against never changes. This file only routes inputs. Each part of the machine (a field
//! of `Machine`) has its own data and its own file.

mod adoption;
mod budget;
mod cancel;
mod changes;
mod core;
mod drafts;
mod due;
mod held;
mod imported;
mod introspect;
mod lifecycle;
mod listings;
mod loads;
mod memory_limit;
mod merges;
mod outputs;
mod presence;
mod processes;
mod python;
mod replay;
mod runs;
mod saving;
mod sweeps;
mod task_checkpoints;
#[cfg(test)]
mod tests;
mod transfers;
mod trust;
mod watch;
mod widgets;
mod workers;

use self::core::Core;
use crate::kernel::{Exit, Hung, Load, ProcId, Question, ReadyPython, Report, Role, RunOrder, Seen, Wanted};
use crate::notebook::{
    Checkpoint, Command, Digests, DiskStatus, Dispatch, Event, ExecId, Live, Notebook, OffsiteStatus, Output,
    Reply, Residency, Snapshot, State, StateId, WidgetMessage, WorkerReport,
};
use crate::problem::{Kind, Problem};
use adoption::Adoption;
pub use budget::Budget;
pub(super) use budget::Footprint;
use budget::Memory;
use cancel::Stop;
use changes::Comparer;
use due::Due;
use held::HeldHeads;
use introspect::Introspection;
use listings::{ListingKind, Listings};
use loads::Loads;
pub(super) use memory_limit::RunMemory;
use merges::{Answer, Merges};
use presence::Presence;
pub(super) use presence::{Standing, Visitor};
use replay::Replays;
use runs::{CellReport, Runs};
use saving::Saver;
use std::time::Duration;
use sweeps::Sweeps;
use trust::Trust;
use widgets::Widgets;
use workers::Workers;

/// Identifies a client request. The machine returns the ticket with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ticket(pub(super) u64);

/// The number of a run. Unlike an exec id, it is not reused after a reset, so an alarm of an old
/// run never affects a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Serial(pub(super) u64);

/// An event that the machine has to handle.
#[derive(Debug)]
pub(super) enum Input {
    /// The notebook was opened.
    Opened,
    /// A client sent a command.
    Command(Ticket, Command),
    /// A client reported which state it looks at.
    Stand(Ticket, Visitor, Standing),
    /// A client disconnected.
    Left(Visitor),
    /// A process sent a report.
    Reported(ProcId, Report),
    /// A head was stopped. The number is the number of processes that the head's last cell had
    /// started and that were then killed.
    HeadStopped(ProcId, usize),
    /// A process exited.
    Gone(ProcId, Option<Exit>),
    /// The operating system refused to create a process. The text says why.
    Unable(ProcId, String),
    /// A process that is late was examined from outside, with this finding.
    Examined(ProcId, Hung),
    /// An alarm has rung.
    AlarmDue(Alarm),
    /// The store added a checkpoint to the notebook, or failed to.
    Kept(StateId, Result<Box<Checkpoint>, String>),
    /// The store signed the checkpoints of these states, or failed to. Signed checkpoints are
    /// trusted.
    Trusted(Result<Vec<StateId>, DiskStatus>),
    /// The memory of processes was measured, and the computer's available memory, in bytes.
    Measured(Vec<(ProcId, Footprint)>, Option<u64>),
    /// The memory of a run with a memory limit was measured; none if the run's process has exited.
    RunMeasured(ExecId, Serial, Option<RunMemory>),
    /// A run in a branch was observed; none if the run's process has exited.
    Observed(ExecId, Serial, Option<Seen>),
    /// The status of the disk changed: the failure, or none if writing works again.
    Trouble(Option<DiskStatus>),
    /// A run at a worker has begun, shown something, or ended.
    Worker(ExecId, Serial, WorkerReport),
    /// What is known of the copy in a store has changed.
    Offsite(OffsiteStatus),
    /// The answer to `Effect::TakeOver`.
    TakenOver(Ticket, Result<(), Problem>),
    /// A state was read from a file and is to be added.
    Adopt(Ticket, Box<Adopted>),
    /// The notebook is to use another Python. The flag is true if the notebook chose the Python.
    ChangePython(Ticket, Box<ReadyPython>, bool),
    /// The notebook's Python was checked before the root starts. The error says, as a sentence, why
    /// it cannot run cells.
    PythonChecked(Result<Box<ReadyPython>, String>),
    /// Whether the remaining states are saved without a pause between cells. True when all
    /// processes are about to be ended.
    SaveNow(bool),
    /// All runs have to end, because the notebook is about to be reset.
    StopRuns,
    /// The notebook is about to be closed.
    Closing,
}

impl Input {
    /// The kind of input, for the log.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Opened => "Opened",
            Self::Command(..) => "Command",
            Self::Stand(..) => "Stand",
            Self::Left(..) => "Left",
            Self::Reported(..) => "Reported",
            Self::HeadStopped(..) => "HeadStopped",
            Self::Gone(..) => "Gone",
            Self::Unable(..) => "Unable",
            Self::Examined(..) => "Examined",
            Self::AlarmDue(..) => "AlarmDue",
            Self::Kept(..) => "Kept",
            Self::Trusted(..) => "Trusted",
            Self::Measured(..) => "Measured",
            Self::RunMeasured(..) => "RunMeasured",
            Self::Observed(..) => "Observed",
            Self::Trouble(..) => "Trouble",
            Self::Worker(..) => "Worker",
            Self::Offsite(..) => "Offsite",
            Self::TakenOver(..) => "TakenOver",
            Self::Adopt(..) => "Adopt",
            Self::ChangePython(..) => "ChangePython",
            Self::PythonChecked(..) => "PythonChecked",
            Self::SaveNow(..) => "SaveNow",
            Self::StopRuns => "StopRuns",
            Self::Closing => "Closing",
        }
    }
}

/// A state that was read from a file. Its blobs are stored already.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// The code of all cells on the state's lineage, as one text.
    pub code: String,
    /// The outputs of the state's cell.
    pub outputs: Vec<Output>,
    /// The state's label, which users see.
    pub label: Option<String>,
    /// The state's checkpoint, which is not trusted.
    pub checkpoint: Checkpoint,
}

/// Why a process is killed, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Killed {
    /// Nothing needs it any more, or others need its memory more.
    NotNeeded,
    /// What it was asked for took too long, for example the list of its variables.
    Late,
    /// The run in it is to end.
    RunStopped,
    /// It does not answer, although it should have started or forked long ago.
    Hung,
    /// It could not be made, or could not load its state.
    Failed,
}

/// An action for the actor.
#[derive(Debug, PartialEq)]
pub(super) enum Effect {
    /// Send an event to all clients, and save it if it is a fact.
    Publish(Box<Event>),
    /// Answer a command.
    Answer(Ticket, Box<Reply>),
    /// Start the root process.
    SpawnRoot(ProcId),
    /// Use this Python for root processes from now on.
    UsePython(Box<ReadyPython>),
    /// Make a process fork a child that sends variables to a head.
    Send { from: ProcId, child: ProcId, wanted: Wanted },
    /// Make a process fork a child.
    Fork { from: ProcId, child: ProcId, role: Role, load: Option<Load> },
    /// Run a cell on a head.
    Run { head: ProcId, order: RunOrder },
    /// Ask a process to complete code or to describe an object.
    Question { process: ProcId, number: u64, question: Question },
    /// Send the text that the user typed to a head.
    Type { head: ProcId, number: u32, text: String },
    /// Send a message to a widget in a head. `Report::WidgetHandled` repeats the number.
    Widget { head: ProcId, number: u64, message: WidgetMessage },
    /// Interrupt a head's cell (SIGINT).
    Interrupt(ProcId),
    /// Stop a head (SIGSTOP), and kill all processes that its last cell started, even in other Unix
    /// sessions. `Input::HeadStopped` reports the result.
    Stop(ProcId),
    /// Resume a stopped head (SIGCONT).
    Continue(ProcId),
    /// Examine a late process from outside.
    Examine(ProcId),
    /// End a process.
    Kill(ProcId, Killed),
    /// End a head and all processes that its last cell started, even in other Unix sessions.
    EndRun(ProcId),
    /// End all processes that the last cell of a head started, even in other Unix sessions, but not
    /// the head.
    EndStarted(ProcId),
    /// End all heads, and all processes that any cell started.
    EndCells,
    /// Set an alarm.
    Wake(Duration, Alarm),
    /// Add a checkpoint to the notebook on disk. The blobs of the checkpoint are stored already.
    Keep { state: StateId, parent: Option<StateId>, checkpoint: Box<Checkpoint> },
    /// Sign all checkpoints with this install's key.
    Trust,
    /// Send a run to the workers.
    Dispatch(ExecId, Serial, Box<Dispatch>),
    /// The run is over: no worker shall run it, and the object store shall keep nothing of it.
    Recall(ExecId),
    /// Take the notebook's copy in the store over. The answer is `Input::TakenOver`.
    TakeOver(Ticket),
    /// Measure the private memory of processes.
    Measure(Vec<ProcId>),
    /// Observe a run in a branch from outside.
    Observe { exec_id: ExecId, serial: Serial, head: ProcId },
    /// Measure the memory of a run. `frozen` is the frozen process of the state that the run runs
    /// against, if there is one.
    MeasureRun { exec_id: ExecId, serial: Serial, head: ProcId, frozen: Option<ProcId> },
}

impl Effect {
    /// Whether the effect controls or creates a process.
    pub(super) fn is_for_processes(&self) -> bool {
        match self {
            Self::SpawnRoot(_)
            | Self::Send { .. }
            | Self::Fork { .. }
            | Self::Run { .. }
            | Self::Question { .. }
            | Self::Type { .. }
            | Self::Widget { .. }
            | Self::Interrupt(_)
            | Self::Stop(_)
            | Self::Continue(_)
            | Self::Examine(_)
            | Self::Kill(..)
            | Self::EndRun(_)
            | Self::EndStarted(_)
            | Self::EndCells => true,
            Self::Publish(_)
            | Self::Answer(..)
            | Self::UsePython(_)
            | Self::Wake(..)
            | Self::Keep { .. }
            | Self::Trust
            | Self::Dispatch(..)
            | Self::Recall(_)
            | Self::TakeOver(_)
            | Self::Measure(_)
            | Self::Observe { .. }
            | Self::MeasureRun { .. } => false,
        }
    }
}

/// The purpose of an alarm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// A process should have finished what it was forked for (its `Duty`).
    Late(ProcId),
    /// A question to a process should have been answered.
    AnswerTimeout(ProcId, u64),
    /// It may be time to compare variables, if no cell is about to run.
    Compare,
    /// A head should have begun its cell.
    BeginTimeout(ProcId, ExecId, Serial),
    /// An interrupted cell should have stopped.
    StopTimeout(ExecId, Serial),
    /// A head of a failed cell may have been held for `HELD_FOR`.
    HoldTimeout,
    /// A run has reached its time limit.
    TimeLimit(ExecId, Serial),
    /// The memory of a run with a memory limit has to be measured again.
    MeasureRun(ExecId, Serial),
    /// A run in a branch has to be observed again.
    Watch(ExecId, Serial),
    /// It may be time to save a checkpoint, if no cell is about to run.
    Save,
    /// A checkpoint that failed has to be tried again.
    SaveAgain(StateId),
    /// The memory of processes has to be measured.
    Measure,
    /// Presence may be published again.
    Presence,
    /// The collected messages of widgets have to be published.
    Widgets,
    /// The widgets of a head may have been quiet since this message.
    WidgetsQuiet(ProcId, u64),
    /// A frozen process that was replaced may be no longer needed.
    Retire(ProcId),
}

/// The machine of one notebook. It passes each input to the part that handles it.
pub(super) struct Machine {
    core: Core,
    runs: Runs,
    loads: Loads,
    replays: Replays,
    held: HeldHeads,
    saver: Saver,
    memory: Memory,
    listings: Listings,
    merges: Merges,
    sweeps: Sweeps,
    introspection: Introspection,
    comparer: Comparer,
    presence: Presence,
    trust: Trust,
    adoption: Adoption,
    widgets: Widgets,
    workers: Workers,
}

impl Machine {
    /// Makes the machine of a notebook that was opened. `new_id` makes ids. If `saves` is true,
    /// checkpoints are written automatically.
    pub(super) fn new(
        mut notebook: Notebook,
        new_id: Box<dyn FnMut() -> String + Send>,
        budget: Budget,
        saves: bool,
    ) -> Self {
        notebook.set_saves_by_itself(saves);
        let mut core = Core::new(notebook, new_id, Due::new(saves), budget.run);
        core.has_workers = budget.workers;
        Self {
            core,
            runs: Runs::default(),
            loads: Loads::default(),
            replays: Replays::default(),
            held: HeldHeads::default(),
            saver: Saver::default(),
            memory: Memory::new(budget),
            listings: Listings::default(),
            merges: Merges::default(),
            sweeps: Sweeps::new(budget.cores),
            introspection: Introspection::default(),
            comparer: Comparer::default(),
            presence: Presence::default(),
            trust: Trust::default(),
            adoption: Adoption::default(),
            widgets: Widgets::default(),
            workers: Workers::default(),
        }
    }

    /// The notebook in its current state.
    pub(super) fn notebook(&self) -> &Notebook {
        &self.core.notebook
    }

    /// The notebook and its visitors, for a new client.
    pub(super) fn snapshot(&self) -> Snapshot {
        self.core.notebook.snapshot(self.presence.participants.clone())
    }

    /// Handles one input and returns the effects, in order.
    pub(super) fn step(&mut self, now_ms: f64, input: Input) -> Vec<Effect> {
        self.core.now_ms = now_ms;
        let core = &mut self.core;
        match input {
            Input::Opened => self.opened(),
            Input::Command(ticket, command) => self.command(ticket, command),
            Input::Stand(ticket, visitor, standing) => self.presence.stand(core, ticket, visitor, standing),
            Input::Left(visitor) => self.presence.visitor_left(core, visitor),
            Input::Reported(process, report) => self.reported(process, report),
            Input::HeadStopped(process, ended) => self.held.stopped(core, process, ended),
            Input::Gone(process, exit) => self.gone(process, exit),
            Input::Unable(process, why) => self.fork_refused(process, &why),
            Input::Examined(process, hung) => self.examined(process, &hung),
            Input::AlarmDue(alarm) => self.on_alarm(alarm),
            Input::Kept(state, kept) => self.kept(&state, kept),
            Input::Trusted(states) => {
                // Pickled objects are loaded now, so the states have more variables.
                states.iter().flatten().for_each(|state| self.listings.forget(state));
                self.trust.done(core, &self.saver, states);
            }
            Input::Measured(processes, available) => {
                self.memory.measured(core, &mut self.held, processes, available);
                self.evict_to_budget();
            }
            Input::RunMeasured(run, serial, memory) => self.runs.measured(core, &run, serial, memory),
            Input::Observed(run, serial, seen) => self.runs.observed(core, &run, serial, seen.as_ref()),
            Input::Trouble(trouble) => self.saver.set_disk_status(core, trouble),
            Input::Worker(run, serial, report) => {
                self.workers.reported(core, &mut self.runs, &run, serial, report);
            }
            Input::Offsite(offsite) => {
                core.notebook.set_offsite(offsite.clone());
                core.publish(Live::OffsiteChanged { offsite });
            }
            Input::TakenOver(ticket, done) => {
                core.answer(ticket, done.map_or_else(Reply::Refused, |()| Reply::Done));
            }
            Input::Adopt(ticket, _) | Input::ChangePython(ticket, ..)
                if core.notebook.read_only().is_some() =>
            {
                core.notebook
                    .read_only()
                    .into_iter()
                    .for_each(|refused| core.answer(ticket, Reply::Refused(refused)));
            }
            Input::Adopt(ticket, adopted) => self.adoption.adopt(core, ticket, *adopted),
            Input::ChangePython(ticket, python, is_chosen) => {
                self.change_python(ticket, *python, is_chosen);
            }
            Input::PythonChecked(checked) => self.python_checked(checked),
            Input::SaveNow(now) => self.save_now(now),
            Input::StopRuns => {
                self.sweeps.stop_all(core);
                self.runs.stop_all(core);
            }
            Input::Closing => self.closing(),
        }
        self.widgets.serve(&mut self.core);
        self.settle();
        self.serve_sweeps();
        // Many inputs allow waiting runs to begin: a run ends, a state leaves memory, or a state is
        // found to need no checkpoint.
        self.serve_backlog();
        std::mem::take(&mut self.core.effects)
    }

    fn command(&mut self, ticket: Ticket, command: Command) {
        let answer = self.carry_out(ticket, command).unwrap_or_else(|refused| Some(Reply::Refused(refused)));
        if let Some(reply) = answer {
            self.core.answer(ticket, reply);
        }
    }

    /// Carries out a command. Returns the answer, or none if a part of the machine has noted the
    /// ticket and answers later.
    fn carry_out(&mut self, ticket: Ticket, command: Command) -> Result<Option<Reply>, Problem> {
        if let Some(refused) = self.core.notebook.read_only().filter(|_| !command.keeps_the_notebook()) {
            return Err(refused);
        }
        Ok(match command {
            Command::Run(spec) => self.ask_run(ticket, spec)?,
            Command::ListVariables { state } => {
                let state = self.core.resolve_state(state)?;
                self.refreeze_at(&state);
                self.listings.list(&mut self.core, ticket, &state, ListingKind::Variables)
            }
            Command::Digest { state } => {
                let state = self.core.resolve_state(state)?;
                self.refreeze_at(&state);
                self.listings.digest(&mut self.core, ticket, &state)
            }
            Command::Interrupt { exec_id } => {
                let core = &mut self.core;
                let widgets = self.widgets.interrupt(core, &exec_id);
                let interrupted = self.replays.stop(core, &exec_id)
                    || self.runs.stop(core, &exec_id, Stop::Asked)
                    || widgets;
                Some(Reply::Interrupted { interrupted })
            }
            Command::AnswerInput { exec_id, text } => {
                Some(outputs::type_answer(&mut self.core, &exec_id, text))
            }
            Command::Widget { state, exec_id, message } => {
                self.widgets.send(&mut self.core, widgets::Request { ticket, state, exec_id, message })?;
                None
            }
            Command::PutDraft { draft, after, in_place, base, update } => {
                Some(drafts::put_draft(&mut self.core, draft, after.as_ref(), in_place, base, update))
            }
            Command::DeleteDraft { draft } => Some(drafts::delete_draft(&mut self.core, &draft)),
            Command::PutProse { state, prose } => Some(self.core.change_state(&state, |s| s.prose = prose)),
            Command::Label { state, label } => {
                let state = self.core.resolve_state(state)?;
                Some(self.core.change_state(&state, |s| s.label = label))
            }
            Command::DeleteState { state, subtree } => {
                let state = self.core.resolve_state(state)?;
                Some(if subtree { self.delete_subtree(&state) } else { self.delete_state(&state) })
            }
            Command::KeepPartial { exec_id } => {
                Some(self.held.keep_partial(&mut self.core, &mut self.runs, &exec_id))
            }
            Command::DropAttempt { exec_id } => Some(self.drop_attempt(&exec_id)),
            Command::Restore { deleted } => Some(self.restore(&deleted)),
            Command::EmptyTrash => Some(self.empty_trash()),
            Command::Reset => Some(self.reset()),
            Command::Pin { state, pinned } => {
                let state = self.core.resolve_state(state)?;
                Some(self.core.change_state(&state, |s| s.pinned = pinned))
            }
            Command::ForkAnyway { state, anyway } => {
                let state = self.core.resolve_state(state)?;
                Some(self.core.change_state(&state, |s| s.fork_anyway = anyway))
            }
            Command::Checkpoint { state, form, label, metadata } => {
                let state = self.core.resolve_state(state)?;
                self.refreeze_at(&state);
                self.saver.ask(&mut self.core, ticket, &state, form, label, metadata)
            }
            Command::Replay { state } => {
                let state = self.core.resolve_state(state)?;
                self.replays.ask(&mut self.core, ticket, &state)
            }
            Command::Load { state, replay } => {
                let state = self.core.resolve_state(state)?;
                self.load(ticket, &state, replay)?
            }
            Command::Trust => {
                self.trust.ask(&mut self.core, ticket);
                None
            }
            Command::TakeOver => {
                self.core.effects.push(Effect::TakeOver(ticket));
                None
            }
            Command::SaveTask { task_id, state, values, token_usage, metadata } => {
                let core = &mut self.core;
                Some(task_checkpoints::save(core, task_id, state, values, token_usage, metadata))
            }
            Command::Complete { state, code, cursor, above } => {
                self.refreeze_at(&state);
                let question = Question::Complete { code, cursor, above };
                self.introspection.ask(&mut self.core, ticket, &state, question)
            }
            Command::Inspect { state, code, cursor, above } => {
                self.refreeze_at(&state);
                let question = Question::Inspect { code, cursor, above };
                self.introspection.ask(&mut self.core, ticket, &state, question)
            }
            Command::Check { state, code } => {
                // A check needs no variables, so it restores none.
                let at = if self.core.is_on_disk(&state) { StateId::root() } else { state };
                self.introspection.ask(&mut self.core, ticket, &at, Question::Check { code })
            }
            Command::Merge(spec) => {
                for state in [&spec.into, &spec.from] {
                    let state = self.core.resolve_state(state.clone())?;
                    self.refreeze_at(&state);
                }
                let answer = self.merges.ask(&mut self.core, &self.listings, ticket, spec)?;
                answer.map(|answer| self.answer_merge(ticket, answer)).transpose()?.flatten()
            }
            Command::Sweep(spec) => {
                self.sweeps.ask(&mut self.core, &mut self.introspection, ticket, *spec)?
            }
            Command::StopSweep { sweep } => Some(self.stop_sweep(&sweep)?),
            Command::Collapse { sweep, row, label } => Some(self.collapse(&sweep, row, label)?),
            Command::DeleteSweep { sweep } => Some(self.delete_sweep(&sweep)?),
            Command::FindParameters { state, code } => {
                let question =
                    Question::Parameters { code, values: Vec::new(), metric: None, rung: None, draws: false };
                self.introspection.ask(&mut self.core, ticket, &state, question)
            }
            Command::Evaluate { state, expressions } => {
                self.refreeze_at(&state);
                self.introspection.ask(&mut self.core, ticket, &state, Question::Evaluate { expressions })
            }
            Command::Table { state, view } => {
                self.refreeze_at(&state);
                self.introspection.ask(&mut self.core, ticket, &state, Question::Table { view })
            }
            Command::Stand { .. } => Some(Reply::Refused(presence::needs_a_socket())),
        })
    }

    /// Carries out the answer to a merge. Returns the reply, unless the client has to wait for a
    /// run.
    fn answer_merge(&mut self, ticket: Ticket, answer: Answer) -> Result<Option<Reply>, Problem> {
        let (spec, warnings) = match answer {
            Answer::Reply(reply) => return Ok(Some(*reply)),
            Answer::Run(spec, warnings) => (spec, warnings),
        };
        let exec_id = spec.exec_id.clone();
        let reply = self.ask_run(ticket, *spec)?;
        for warning in warnings {
            self.core.warn_run(&exec_id, warning);
        }
        Ok(reply)
    }

    /// Answers the merges that have waited for the digests of a state.
    fn learned_digests(&mut self, state: &StateId, found: &Result<Digests, Problem>) {
        for (ticket, answer) in self.merges.learned(state, found) {
            let answer = self.answer_merge(ticket, answer);
            if let Some(reply) = answer.unwrap_or_else(|refused| Some(Reply::Refused(refused))) {
                self.core.answer(ticket, reply);
            }
        }
    }

    fn reported(&mut self, process: ProcId, report: Report) {
        let core = &mut self.core;
        if let Report::Output(_) | Report::Update { .. } | Report::Clear { .. } = &report {
            self.widgets.flush_of(core, process);
        }
        match report {
            Report::Python { version } => self.python_started(process, version),
            Report::Ready { missing, hazard, .. } => self.ready(process, missing, hazard),
            Report::LoadFailed { why } => self.load_failed(process, &why),
            Report::Saving { percent } => self.saver.progressed(core, process, percent),
            Report::Saved(contents) => self.saver.written(core, process, contents),
            Report::SaveFailed { is_disk, why } => {
                let kind = if is_disk { Kind::Disk } else { Kind::Kernel };
                self.saver.failed(core, process, kind, &why);
            }
            Report::Failed { why } => self.root_failed(process, &why),
            Report::ForkFailed { child, why } => self.fork_refused(child, &why),
            Report::MemoryUse(memory) => self.runs.note_start_memory(core, process, memory),
            Report::Started => self.runs.started(core, process),
            Report::Output(output) => outputs::output(core, process, output),
            Report::Update { display_id, data, metadata } => {
                outputs::update(core, process, display_id, data, metadata)
            }
            Report::Clear { wait } => outputs::clear(core, process, wait),
            Report::Widget(message) => self.widgets.reported(core, process, message),
            Report::WidgetHandled { number, end } => self.widget_handled(process, number, end),
            Report::Ask(prompt) => outputs::prompt(core, process, Some(prompt)),
            Report::Symbols(symbols) => runs::note_symbols(core, process, symbols),
            Report::Metric(metric) => runs::note_metric(core, process, metric),
            Report::Ended { how, exec_count, warnings, forks, is_alone, remains } => {
                self.ended(process, how, CellReport { exec_count, warnings, forks, is_alone }, remains)
            }
            Report::Shared(warnings) => lifecycle::hangs::shared(core, process, warnings),
            Report::Variables(variables) => self.listings.listed(core, process, variables),
            Report::Digested(digests) => self.listings.digested(core, process, digests),
            Report::Found { number, found } => introspect::found(core, process, number, found),
            Report::Fingerprinted { fingerprints, address_space } => {
                self.comparer.fingerprinted(core, process, fingerprints, address_space)
            }
            // Only the process tree uses these reports.
            Report::Forked { .. } | Report::Reaped { .. } => {}
        }
    }

    fn on_alarm(&mut self, alarm: Alarm) {
        let core = &mut self.core;
        match alarm {
            Alarm::Late(process) => self.timed_out(process),
            Alarm::AnswerTimeout(process, number) => introspect::answer_timed_out(core, process, number),
            Alarm::Compare => self.comparer.time_to_compare(core),
            Alarm::BeginTimeout(head, run, serial) => self.runs.did_not_begin(core, head, &run, serial),
            Alarm::StopTimeout(run, serial) => self.runs.did_not_stop(core, &run, serial),
            Alarm::HoldTimeout => self.held.held_long_enough(core),
            Alarm::TimeLimit(run, serial) => self.runs.reached_time_limit(core, &run, serial),
            Alarm::MeasureRun(run, serial) => self.runs.measure(core, &run, serial),
            Alarm::Watch(run, serial) => self.runs.watch(core, &run, serial),
            Alarm::Save => self.saver.time_to_save(core),
            Alarm::SaveAgain(state) => self.saver.save_again(core, &state),
            Alarm::Measure => self.memory.measure(core, &self.held),
            Alarm::Presence => self.presence.publish_now(core),
            Alarm::Widgets => self.widgets.flush_all(core),
            Alarm::WidgetsQuiet(head, number) => self.widgets_are_quiet(head, number),
            Alarm::Retire(process) => self.retire(process),
        }
    }

    /// Makes sure that a process holds a state. With `replay`, replays a state that is lost.
    /// Returns the answer unless the request has to wait.
    fn load(&mut self, ticket: Ticket, id: &StateId, replay: bool) -> Result<Option<Reply>, Problem> {
        let is_lost = |state: &State| state.residency == Residency::Replay && !id.is_root();
        if replay && self.core.notebook.state(id).is_some_and(is_lost) {
            return Ok(self.replays.ask(&mut self.core, ticket, id));
        }
        self.loads.ask(&mut self.core, ticket, id)
    }

    /// Handles the store's report that it added a checkpoint to the notebook, or failed to.
    fn kept(&mut self, id: &StateId, kept: Result<Box<Checkpoint>, String>) {
        match kept {
            Ok(checkpoint) => {
                self.saver.kept(&mut self.core, id, checkpoint);
                self.adoption.done(&mut self.core, id);
                self.workers.kept(&mut self.core, &mut self.runs, id, None);
                self.settle();
                self.evict_to_budget();
                self.save_next();
            }
            Err(why) => {
                if let Some(ticket) = self.adoption.failed(id) {
                    self.remove_for_good(id);
                    let how = "free some disk space, and import the state again";
                    self.core.answer(ticket, adoption::refused(Kind::Disk, &why, how));
                }
                self.workers.kept(&mut self.core, &mut self.runs, id, Some(&why));
                self.saver.not_saved(&mut self.core, id, Kind::Disk, &why);
            }
        }
    }

    /// Begins to write the next checkpoint if one is due and no cell is about to run.
    fn save_next(&mut self) {
        let is_short = self.memory.is_over_budget(&self.core, &self.held);
        self.saver.save_next(&mut self.core, is_short);
    }

    /// Whether every state that can be saved is saved.
    pub(super) fn is_all_saved(&self) -> bool {
        self.saver.is_all_saved(&self.core)
    }

    /// Ends processes until the memory budget is met, or until no other process can be ended. Heads
    /// of failed cells are ended first, then the least recently used frozen processes.
    fn evict_to_budget(&mut self) {
        if self.memory.is_short(&self.core, &self.held) {
            self.held.end_all(&mut self.core);
        }
        self.memory.evict_to_budget(&mut self.core, &self.held, &self.saver);
    }
}

fn not_found(kind: &str, id: impl std::fmt::Display) -> Problem {
    Problem::new(
        Kind::NotFound,
        format!("find {kind} {id}"),
        "this notebook has none with this id",
        "reload the notebook",
    )
}
