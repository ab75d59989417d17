//! Decides what happens in a notebook and when: `step` takes one input and returns the effects, in
//! order.
//!
//! The machine has no clock (time is passed in), makes no ids (a function gives them), sends
//! nothing and waits for nothing. The result of an effect comes back as another input, or never. So
//! a test can feed it anything that can happen to a notebook, in any order.
//!
//! The main rules: a cell runs in a head that rests at its state, or in a new head forked from the
//! state's frozen process. When the cell succeeds, the head forks the frozen process of the new
//! state and rests there. When the cell fails, the head ends, or it is held for a while so that the
//! variables that the cell set can be kept. The state that the cell ran against never changes. This
//! file only routes inputs: each part of the machine (a field of `Machine`) has its own data and
//! its own file.

mod adoption;
mod budget;
mod cancel;
mod changes;
mod core;
mod drafts;
mod held;
mod imported;
mod introspect;
mod lifecycle;
mod listings;
mod loads;
mod memory_limit;
mod outputs;
mod presence;
mod processes;
mod replay;
mod runs;
mod saving;
mod task_checkpoints;
#[cfg(test)]
mod tests;
mod transfers;
mod trust;
mod watch;

use self::core::Core;
use crate::kernel::{Exit, Hung, IntrospectKind, Load, ProcId, Report, Role, RunOrder, Seen, Wanted};
use crate::notebook::{
    Checkpoint, Command, DiskStatus, Event, ExecId, Notebook, Output, Reply, Residency, Snapshot, State,
    StateId,
};
use crate::problem::{Kind, Problem};
use adoption::Adoption;
pub use budget::Budget;
use budget::Memory;
use cancel::Stop;
use changes::Comparer;
use held::HeldHeads;
use introspect::Introspection;
use listings::{ListingKind, Listings};
use loads::Loads;
pub(super) use memory_limit::RunMemory;
use presence::Presence;
pub(super) use presence::{Standing, Visitor};
use replay::Replays;
use runs::{CellReport, Runs};
use saving::{Due, Saver};
use std::time::Duration;
use trust::Trust;

/// Identifies a request. The machine returns it with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ticket(pub(super) u64);

/// The number of a run. Unlike an exec id it is never reused after a reset, so an alarm that was
/// set for one run never rings for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Serial(pub(super) u64);

/// Something that happened.
#[derive(Debug)]
pub(super) enum Input {
    /// The notebook was opened.
    Opened,
    /// A client sent a command.
    Command(Ticket, Command),
    /// A client says which state it looks at.
    Stand(Ticket, Visitor, Standing),
    /// A client disconnected.
    Left(Visitor),
    /// A process reported.
    Reported(ProcId, Report),
    /// A head was stopped, and this many processes that its last cell had started were ended.
    HeadStopped(ProcId, usize),
    /// A process exited.
    Gone(ProcId, Option<Exit>),
    /// The operating system refused to make a process.
    Unable(ProcId, String),
    /// A process that is late was examined from outside.
    Examined(ProcId, Hung),
    /// An alarm that was set has rung.
    AlarmDue(Alarm),
    /// A checkpoint was made part of the notebook on disk, or could not be.
    Kept(StateId, Result<Box<Checkpoint>, String>),
    /// The checkpoints of these states are trusted from now on.
    Trusted(Result<Vec<StateId>, DiskStatus>),
    /// The private memory of processes, and the computer's available memory, in bytes.
    Measured(Vec<(ProcId, u64)>, Option<u64>),
    /// The memory of a run that has a memory limit; none if the run's process is gone.
    RunMeasured(ExecId, Serial, Option<RunMemory>),
    /// What was observed of a run in a branch; none if the run's process is gone.
    Observed(ExecId, Serial, Option<Seen>),
    /// What is wrong with the disk; none when it works again.
    Trouble(Option<DiskStatus>),
    /// A state that came in a file.
    Adopt(Ticket, Box<Adopted>),
    /// End all runs: the notebook is about to be reset.
    StopRuns,
    /// The notebook is about to be closed.
    Closing,
}

/// A state that came in a file, with its blobs already in place.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// The code of its whole lineage.
    pub code: String,
    /// The outputs of the state's cell.
    pub outputs: Vec<Output>,
    /// The state's label, which users see.
    pub label: Option<String>,
    /// The state's checkpoint, which is not trusted.
    pub checkpoint: Checkpoint,
}

/// Something that the actor is to do.
#[derive(Debug, PartialEq)]
pub(super) enum Effect {
    /// Send an event to all clients; a fact is also saved.
    Publish(Box<Event>),
    /// Answer a command.
    Answer(Ticket, Box<Reply>),
    /// Start the root process.
    SpawnRoot(ProcId),
    /// Make a process fork a child that sends variables to a head.
    Send { from: ProcId, child: ProcId, wanted: Wanted },
    /// Make a process fork a child.
    Fork { from: ProcId, child: ProcId, role: Role, load: Option<Load> },
    /// Run a cell on a head.
    Run { head: ProcId, cell: RunOrder },
    /// Ask an answering process to complete code or describe an object.
    Question { process: ProcId, number: u64, sought: IntrospectKind, code: String, cursor: u32 },
    /// Give a head what the user typed.
    Type { head: ProcId, number: u32, text: String },
    /// Interrupt a head's cell (SIGINT).
    Interrupt(ProcId),
    /// Stop a head (SIGSTOP) and end all processes that its last cell has started, even in other
    /// Unix sessions. `Input::HeadStopped` brings the result.
    Stop(ProcId),
    /// Resume a stopped head (SIGCONT).
    Continue(ProcId),
    /// Examine a process that is late, from outside.
    Examine(ProcId),
    /// End a process.
    Kill(ProcId),
    /// End a head and all processes that its last cell has started, even in other Unix sessions.
    EndRun(ProcId),
    /// End all processes that the last cell of a head has started, even in other Unix sessions, but
    /// not the head.
    EndStarted(ProcId),
    /// End all heads and all processes that cells have ever started.
    EndCells,
    /// Set an alarm.
    Wake(Duration, Alarm),
    /// Make a checkpoint part of the notebook on disk. Its blobs are written already.
    Keep { state: StateId, parent: Option<StateId>, checkpoint: Box<Checkpoint> },
    /// Sign all checkpoints with this install's key.
    Trust,
    /// Measure the private memory of processes.
    Measure(Vec<ProcId>),
    /// Observe a run in a branch from outside.
    Observe { exec_id: ExecId, serial: Serial, head: ProcId },
    /// Measure the memory of a run. `frozen` is the frozen process of its state, if there is one.
    MeasureRun { exec_id: ExecId, serial: Serial, head: ProcId, frozen: Option<ProcId> },
}

/// What an alarm was set for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// A process should have done what it was forked for (its `Duty`).
    Late(ProcId),
    /// A question should have been answered.
    AnswerTimeout(ProcId, u64),
    /// Variables may be compared, if no cell is about to run.
    Compare,
    /// A head should have begun its cell.
    BeginTimeout(ProcId, ExecId, Serial),
    /// An interrupted cell should have stopped.
    StopTimeout(ExecId, Serial),
    /// A head whose cell failed may have been held long enough.
    HoldTimeout,
    /// A run has reached its time limit.
    TimeLimit(ExecId, Serial),
    /// The memory of a run with a memory limit is to be measured again.
    MeasureRun(ExecId, Serial),
    /// A run in a branch is to be observed again.
    Watch(ExecId, Serial),
    /// A checkpoint may be saved, if no cell is about to run.
    Save,
    /// A checkpoint that failed may be tried again.
    SaveAgain(StateId),
    /// The memory of processes is to be measured.
    Measure,
    /// Presence may be published again.
    Presence,
}

/// The machine of one notebook. It routes inputs to its parts.
pub(super) struct Machine {
    core: Core,
    runs: Runs,
    loads: Loads,
    replays: Replays,
    held: HeldHeads,
    saver: Saver,
    memory: Memory,
    listings: Listings,
    introspection: Introspection,
    comparer: Comparer,
    presence: Presence,
    trust: Trust,
    adoption: Adoption,
}

impl Machine {
    /// The machine of a notebook as it was opened. `new_id` makes new ids. With `saves`,
    /// checkpoints are written automatically.
    pub(super) fn new(
        mut notebook: Notebook,
        new_id: Box<dyn FnMut() -> String + Send>,
        budget: Budget,
        saves: bool,
    ) -> Self {
        notebook.set_saves_by_itself(saves);
        Self {
            core: Core::new(notebook, new_id, Due::new(saves), budget.run),
            runs: Runs::default(),
            loads: Loads::default(),
            replays: Replays::default(),
            held: HeldHeads::default(),
            saver: Saver::default(),
            memory: Memory::new(budget),
            listings: Listings::default(),
            introspection: Introspection::default(),
            comparer: Comparer::default(),
            presence: Presence::default(),
            trust: Trust::default(),
            adoption: Adoption::default(),
        }
    }

    /// The notebook as it is now.
    pub(super) fn notebook(&self) -> &Notebook {
        &self.core.notebook
    }

    /// The notebook and its visitors, as a client gets them when it joins.
    pub(super) fn snapshot(&self) -> Snapshot {
        self.core.notebook.snapshot(self.presence.participants.clone())
    }

    /// Takes one input and returns the effects, in order.
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
            Input::Trusted(states) => self.trust.done(core, &self.saver, states),
            Input::Measured(processes, available) => {
                self.memory.measured(core, &mut self.held, processes, available);
                self.evict_to_budget();
            }
            Input::RunMeasured(run, serial, memory) => self.runs.measured(core, &run, serial, memory),
            Input::Observed(run, serial, seen) => self.runs.observed(core, &run, serial, seen.as_ref()),
            Input::Trouble(trouble) => self.saver.set_disk_status(core, trouble),
            Input::Adopt(ticket, adopted) => self.adoption.adopt(core, ticket, *adopted),
            Input::StopRuns => self.runs.stop_all(core),
            Input::Closing => self.closing(),
        }
        self.settle();
        // Many inputs make room for waiting runs: a run ends, a state leaves memory, or a state
        // turns out never to be saved.
        self.serve_backlog();
        std::mem::take(&mut self.core.effects)
    }

    fn command(&mut self, ticket: Ticket, command: Command) {
        let answer = self.carry_out(ticket, command).unwrap_or_else(|refused| Some(Reply::Refused(refused)));
        if let Some(reply) = answer {
            self.core.answer(ticket, reply);
        }
    }

    /// Returns the answer, or none if a part has noted the ticket and answers later.
    fn carry_out(&mut self, ticket: Ticket, command: Command) -> Result<Option<Reply>, Problem> {
        Ok(match command {
            Command::Run(spec) => self.ask_run(ticket, spec)?,
            Command::ListVariables { state } => {
                let state = self.core.resolve_state(state)?;
                self.listings.list(&mut self.core, ticket, &state, ListingKind::Variables)
            }
            Command::Digest { state } => {
                let state = self.core.resolve_state(state)?;
                self.listings.digest(&mut self.core, ticket, &state)
            }
            Command::Interrupt { exec_id } => {
                let core = &mut self.core;
                let interrupted =
                    self.replays.stop(core, &exec_id) || self.runs.stop(core, &exec_id, Stop::Asked);
                Some(Reply::Interrupted { interrupted })
            }
            Command::AnswerInput { exec_id, text } => {
                Some(outputs::type_answer(&mut self.core, &exec_id, text))
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
            Command::DropAttempt { exec_id } => Some(self.drop_attempt(exec_id)),
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
            Command::SaveTask { task_id, state, values, token_usage, metadata } => {
                let core = &mut self.core;
                Some(task_checkpoints::save(core, task_id, state, values, token_usage, metadata))
            }
            Command::Complete { state, code, cursor } => self.introspection.ask(
                &mut self.core,
                ticket,
                &state,
                IntrospectKind::Completions,
                code,
                cursor,
            ),
            Command::Inspect { state, code, cursor } => {
                self.introspection.ask(&mut self.core, ticket, &state, IntrospectKind::Object, code, cursor)
            }
            Command::Stand { .. } => Some(Reply::Refused(presence::needs_a_socket())),
        })
    }

    fn reported(&mut self, process: ProcId, report: Report) {
        let core = &mut self.core;
        match report {
            Report::Ready { missing, hazard, .. } => self.ready(process, missing, hazard),
            Report::LoadFailed { why } => self.load_failed(process, &why),
            Report::Saving { percent } => self.saver.progressed(core, process, percent),
            Report::Saved(contents) => self.saver.written(core, process, contents),
            Report::SaveFailed { why } => self.saver.failed(core, process, &why),
            Report::Failed { why } => self.root_failed(process, &why),
            Report::ForkFailed { child, why } => self.fork_refused(child, &why),
            Report::MemoryUse(memory) => self.runs.note_start_memory(core, process, memory),
            Report::Started => self.runs.started(core, process),
            Report::Output(output) => outputs::output(core, process, output),
            Report::Update { display_id, data, metadata } => {
                outputs::update(core, process, display_id, data, metadata)
            }
            Report::Clear { wait } => outputs::clear(core, process, wait),
            Report::Ask(prompt) => outputs::prompt(core, process, Some(prompt)),
            Report::Symbols(symbols) => runs::note_symbols(core, process, symbols),
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
            // Only the process tree needs these.
            Report::Forked { .. } | Report::Reaped { .. } => {}
        }
    }

    fn on_alarm(&mut self, alarm: Alarm) {
        let core = &mut self.core;
        match alarm {
            Alarm::Late(process) => self.is_late(process),
            Alarm::AnswerTimeout(process, number) => introspect::answer_is_late(core, process, number),
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
        }
    }

    /// Loads a state into a process, for a request. With `replay`, replays the state if it is lost.
    /// Returns the answer unless the request has to wait.
    fn load(&mut self, ticket: Ticket, id: &StateId, replay: bool) -> Result<Option<Reply>, Problem> {
        let is_lost = |state: &State| state.residency == Residency::Replay && !id.is_root();
        if replay && self.core.notebook.state(id).is_some_and(is_lost) {
            return Ok(self.replays.ask(&mut self.core, ticket, id));
        }
        self.loads.ask(&mut self.core, ticket, id)
    }

    /// The store has made a checkpoint part of the notebook, or could not.
    fn kept(&mut self, id: &StateId, kept: Result<Box<Checkpoint>, String>) {
        match kept {
            Ok(checkpoint) => {
                self.saver.kept(&mut self.core, id, checkpoint);
                self.adoption.done(&mut self.core, id);
                self.settle();
                self.evict_to_budget();
                self.save_next();
            }
            Err(why) => {
                if let Some(ticket) = self.adoption.failed(id) {
                    self.delete_state(id);
                    let how = "check whether there is room on the disk, and import it again";
                    self.core.answer(ticket, adoption::refused(Kind::Disk, &why, how));
                }
                self.saver.not_saved(&mut self.core, id, &why);
            }
        }
    }

    /// Begins the next checkpoint, if there is one and it is time.
    fn save_next(&mut self) {
        let is_short = self.memory.is_over_budget(&self.core, &self.held);
        self.saver.save_next(&mut self.core, is_short);
    }

    /// Whether everything that can be saved has been saved.
    pub(super) fn is_all_saved(&self) -> bool {
        self.saver.is_all_saved(&self.core)
    }

    /// Ends processes until the budget holds or no other can be spared: first the held heads of
    /// failed cells, then the frozen processes that were used longest ago.
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
        "there is none in this notebook",
        "look at the list again",
    )
}
