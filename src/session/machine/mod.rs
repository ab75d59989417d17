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
//! cell ran against never changes. This file only routes inputs: to one part of the machine
//! (`Parts`), or to a function of all parts (`lifecycle`).

mod adoption;
mod budget;
mod changes;
mod core;
mod drafts;
mod due;
mod duty;
mod effect;
mod held;
mod imported;
mod input;
mod introspect;
mod lifecycle;
mod listings;
mod loads;
mod merges;
mod outcome;
mod outputs;
mod parts;
mod placement;
mod presence;
mod processes;
mod replay;
mod runs;
mod saving;
mod sweeps;
mod task_checkpoints;
#[cfg(test)]
mod tests;
mod timeouts;
mod transfers;
mod trust;
mod uses;
mod widgets;
mod workers;

pub use self::budget::Budget;
use self::duty::ListingKind;
pub(super) use self::effect::{Alarm, Effect, Killed, Serial, Ticket};
pub use self::input::Adopted;
pub(super) use self::input::Input;
use self::lifecycle::deletion::{delete_branches, delete_state, remove_for_good, reset};
use self::lifecycle::ended::ended;
use self::lifecycle::failures::{fork_refused, load_failed, root_failed};
use self::lifecycle::hangs::examined;
use self::lifecycle::opening::{closing, opened};
use self::lifecycle::process_events::{gone, ready, timed_out};
use self::lifecycle::python::{change_python, python_checked, python_started, save_now};
use self::lifecycle::refreeze::{refreeze_at, retire, widget_handled, widgets_are_quiet};
use self::lifecycle::removal::{drop_attempt, empty_trash, restore};
use self::lifecycle::settle::{answer_merge, ask_run, serve_backlog, settle};
use self::lifecycle::sweeping::{collapse, delete_sweep, serve_sweeps, stop_sweep};
use self::parts::Parts;
pub(super) use self::presence::{Standing, Visitor};
pub(super) use self::runs::RunMemory;
use self::runs::Stop;
use crate::kernel::{ProcId, Question, Report};
use crate::notebook::{Checkpoint, Command, Live, Notebook, Reply, Residency, Snapshot, State, StateId};
use crate::problem::{Kind, Problem};

/// The machine of one notebook. It passes each input to the part that handles it.
pub(super) struct Machine {
    parts: Parts,
}

impl Machine {
    /// Makes the machine of a notebook that was opened. `new_id` makes ids. If `saves` is true,
    /// checkpoints are written automatically.
    pub(super) fn new(
        notebook: Notebook,
        new_id: Box<dyn FnMut() -> String + Send>,
        budget: Budget,
        saves: bool,
    ) -> Self {
        Self { parts: Parts::new(notebook, new_id, budget, saves) }
    }

    /// The notebook in its current state.
    pub(super) fn notebook(&self) -> &Notebook {
        &self.parts.core.notebook
    }

    /// The notebook and its visitors, for a new client.
    pub(super) fn snapshot(&self) -> Snapshot {
        self.parts.core.notebook.snapshot(self.parts.presence.participants.clone())
    }

    /// Handles one input and returns the effects, in order.
    pub(super) fn step(&mut self, now_ms: f64, input: Input) -> Vec<Effect> {
        let parts = &mut self.parts;
        parts.core.now_ms = now_ms;
        let core = &mut parts.core;
        match input {
            Input::Opened => opened(parts),
            Input::Command(ticket, command) => ask(parts, ticket, command),
            Input::Stand(ticket, visitor, standing) => parts.presence.stand(core, ticket, visitor, standing),
            Input::Left(visitor) => parts.presence.visitor_left(core, visitor),
            Input::Reported(process, report) => reported(parts, process, report),
            Input::HeadStopped(process, ended) => parts.held.stopped(core, process, ended),
            Input::Gone(process, exit) => gone(parts, process, exit),
            Input::Unable(process, why) => fork_refused(parts, process, &why),
            Input::Examined(process, hung) => examined(parts, process, &hung),
            Input::AlarmDue(alarm) => on_alarm(parts, alarm),
            Input::Kept(state, result) => kept(parts, &state, result),
            Input::Trusted(states) => {
                // Pickled objects are loaded now, so the states have more variables.
                states.iter().flatten().for_each(|state| parts.listings.forget(state));
                parts.trust.done(core, &parts.saver, states);
            }
            Input::Measured(processes, available) => {
                parts.memory.measured(core, &mut parts.held, processes, available);
                parts.evict_to_budget();
            }
            Input::RunMeasured(run, serial, memory) => parts.runs.measured(core, &run, serial, memory),
            Input::Observed(run, serial, seen) => parts.runs.observed(core, &run, serial, seen.as_ref()),
            Input::Trouble(trouble) => parts.saver.set_disk_status(core, trouble),
            Input::Worker(run, serial, report) => {
                parts.workers.reported(core, &mut parts.runs, &run, serial, report);
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
            Input::Adopt(ticket, adopted) => parts.adoption.adopt(core, ticket, *adopted),
            Input::ChangePython(ticket, python, is_chosen) => {
                change_python(parts, ticket, *python, is_chosen);
            }
            Input::PythonChecked(checked) => python_checked(parts, checked),
            Input::SaveNow(now) => save_now(parts, now),
            Input::StopRuns => {
                parts.sweeps.stop_all(core);
                parts.runs.stop_all(core);
            }
            Input::Closing => closing(parts),
        }
        parts.widgets.serve(&mut parts.core);
        settle(parts);
        serve_sweeps(parts);
        // Many inputs allow waiting runs to begin: a run ends, a state leaves memory, or a state is
        // found to need no checkpoint.
        serve_backlog(parts);
        parts.core.take_effects()
    }

    /// Whether cells run or wait. If so, the notebook must not be restarted.
    pub(super) fn is_busy(&self) -> bool {
        self.parts.is_busy()
    }

    /// Whether every state that can be saved is saved.
    pub(super) fn is_all_saved(&self) -> bool {
        self.parts.saver.is_all_saved(&self.parts.core)
    }
}

/// Carries out a command, and answers unless the client has to wait.
fn ask(parts: &mut Parts, ticket: Ticket, command: Command) {
    let answer = carry_out(parts, ticket, command).unwrap_or_else(|refused| Some(Reply::Refused(refused)));
    if let Some(reply) = answer {
        parts.core.answer(ticket, reply);
    }
}

/// Carries out a command. Returns the answer, or none if a part of the machine has noted the
/// ticket and answers later.
fn carry_out(parts: &mut Parts, ticket: Ticket, command: Command) -> Result<Option<Reply>, Problem> {
    if let Some(refused) = parts.core.notebook.read_only().filter(|_| !command.keeps_the_notebook()) {
        return Err(refused);
    }
    Ok(match command {
        Command::Run(spec) => ask_run(parts, ticket, spec)?,
        Command::ListVariables { state } => {
            let state = parts.core.resolve_state(state)?;
            refreeze_at(parts, &state);
            parts.listings.list(&mut parts.core, ticket, &state, ListingKind::Variables)
        }
        Command::Digest { state } => {
            let state = parts.core.resolve_state(state)?;
            refreeze_at(parts, &state);
            parts.listings.digest(&mut parts.core, ticket, &state)
        }
        Command::Interrupt { exec_id } => {
            let core = &mut parts.core;
            let widgets = parts.widgets.interrupt(core, &exec_id);
            let interrupted =
                parts.replays.stop(core, &exec_id) || parts.runs.stop(core, &exec_id, Stop::Asked) || widgets;
            Some(Reply::Interrupted { interrupted })
        }
        Command::AnswerInput { exec_id, text } => Some(outputs::type_answer(&mut parts.core, &exec_id, text)),
        Command::Widget { state, exec_id, message } => {
            parts.widgets.send(&mut parts.core, widgets::Request { ticket, state, exec_id, message })?;
            None
        }
        Command::PutDraft { draft, after, in_place, base, update } => {
            Some(drafts::put_draft(&mut parts.core, draft, after.as_ref(), in_place, base, update))
        }
        Command::DeleteDraft { draft } => Some(drafts::delete_draft(&mut parts.core, &draft)),
        Command::PutProse { state, prose } => Some(parts.core.change_state(&state, |s| s.prose = prose)),
        Command::Label { state, label } => {
            let state = parts.core.resolve_state(state)?;
            Some(parts.core.change_state(&state, |s| s.label = label))
        }
        Command::DeleteState { state, subtree } => {
            let state = parts.core.resolve_state(state)?;
            Some(if subtree { delete_branches(parts, &[state], &[]) } else { delete_state(parts, &state) })
        }
        Command::DeleteBranches { states, attempts } => Some(delete_branches(parts, &states, &attempts)),
        Command::KeepPartial { exec_id } => {
            Some(parts.held.keep_partial(&mut parts.core, &mut parts.runs, &exec_id))
        }
        Command::DropAttempt { exec_id } => Some(drop_attempt(parts, &exec_id)),
        Command::Restore { deleted } => Some(restore(parts, &deleted)),
        Command::EmptyTrash => Some(empty_trash(parts)),
        Command::Reset => Some(reset(parts)),
        Command::Pin { state, pinned } => {
            let state = parts.core.resolve_state(state)?;
            Some(parts.core.change_state(&state, |s| s.pinned = pinned))
        }
        Command::ForkAnyway { state, anyway } => {
            let state = parts.core.resolve_state(state)?;
            Some(parts.core.change_state(&state, |s| s.fork_anyway = anyway))
        }
        Command::Checkpoint { state, form, label, metadata } => {
            let state = parts.core.resolve_state(state)?;
            refreeze_at(parts, &state);
            parts.saver.ask(&mut parts.core, ticket, &state, form, label, metadata)
        }
        Command::Replay { state } => {
            let state = parts.core.resolve_state(state)?;
            parts.replays.ask(&mut parts.core, ticket, &state)
        }
        Command::Load { state, replay } => {
            let state = parts.core.resolve_state(state)?;
            load(parts, ticket, &state, replay)?
        }
        Command::Trust => {
            parts.trust.ask(&mut parts.core, ticket);
            None
        }
        Command::TakeOver => {
            parts.core.emit(Effect::TakeOver(ticket));
            None
        }
        Command::SaveTask { task_id, state, values, token_usage, metadata } => {
            let core = &mut parts.core;
            Some(task_checkpoints::save(core, task_id, state, values, token_usage, metadata))
        }
        Command::Complete { state, code, cursor, above } => {
            refreeze_at(parts, &state);
            let question = Question::Complete { code, cursor, above };
            parts.introspection.ask(&mut parts.core, ticket, &state, question)
        }
        Command::Inspect { state, code, cursor, above } => {
            refreeze_at(parts, &state);
            let question = Question::Inspect { code, cursor, above };
            parts.introspection.ask(&mut parts.core, ticket, &state, question)
        }
        Command::Check { state, code } => {
            // A check needs no variables, so it restores none.
            let at = if parts.core.is_on_disk(&state) { StateId::root() } else { state };
            parts.introspection.ask(&mut parts.core, ticket, &at, Question::Check { code })
        }
        Command::Merge(spec) => {
            for state in [&spec.into, &spec.from] {
                let state = parts.core.resolve_state(state.clone())?;
                refreeze_at(parts, &state);
            }
            let answer = parts.merges.ask(&mut parts.core, &parts.listings, ticket, spec)?;
            answer.map(|answer| answer_merge(parts, ticket, answer)).transpose()?.flatten()
        }
        Command::Sweep(spec) => parts.sweeps.ask(&mut parts.core, &mut parts.introspection, ticket, *spec)?,
        Command::StopSweep { sweep } => Some(stop_sweep(parts, &sweep)?),
        Command::Collapse { sweep, row, label } => Some(collapse(parts, &sweep, row, label)?),
        Command::DeleteSweep { sweep } => Some(delete_sweep(parts, &sweep)?),
        Command::FindParameters { state, code } => {
            let question =
                Question::Parameters { code, values: Vec::new(), metric: None, rung: None, draws: false };
            parts.introspection.ask(&mut parts.core, ticket, &state, question)
        }
        Command::Evaluate { state, expressions } => {
            refreeze_at(parts, &state);
            parts.introspection.ask(&mut parts.core, ticket, &state, Question::Evaluate { expressions })
        }
        Command::Table { state, view } => {
            refreeze_at(parts, &state);
            parts.introspection.ask(&mut parts.core, ticket, &state, Question::Table { view })
        }
        Command::ValuePart { state, view } => {
            refreeze_at(parts, &state);
            parts.introspection.ask(&mut parts.core, ticket, &state, Question::ValuePart { view })
        }
        Command::Stand { .. } => Some(Reply::Refused(presence::needs_a_socket())),
    })
}

fn reported(parts: &mut Parts, process: ProcId, report: Report) {
    let core = &mut parts.core;
    if let Report::Output(_) | Report::Update { .. } | Report::Clear { .. } = &report {
        parts.widgets.flush_of(core, process);
    }
    match report {
        Report::Python { version } => python_started(parts, process, version),
        Report::Ready { missing, hazard, .. } => ready(parts, process, missing, hazard),
        Report::LoadFailed { why } => load_failed(parts, process, &why),
        Report::Saving { percent } => parts.saver.progressed(core, process, percent),
        Report::Saved(contents) => parts.saver.written(core, process, contents),
        Report::SaveFailed { is_disk, why } => {
            let kind = if is_disk { Kind::Disk } else { Kind::Kernel };
            parts.saver.failed(core, process, kind, &why);
        }
        Report::Failed { why } => root_failed(parts, process, &why),
        Report::ForkFailed { child, why } => fork_refused(parts, child, &why),
        Report::MemoryUse(memory) => parts.runs.note_start_memory(core, process, memory),
        Report::Started => parts.runs.started(core, process),
        Report::Output(output) => outputs::output(core, process, output),
        Report::Update { display_id, data, metadata } => {
            outputs::update(core, process, display_id, data, metadata)
        }
        Report::Clear { wait } => outputs::clear(core, process, wait),
        Report::Widget(message) => parts.widgets.reported(core, process, message),
        Report::WidgetHandled { number, end } => widget_handled(parts, process, number, end),
        Report::Ask(prompt) => outputs::prompt(core, process, Some(prompt)),
        Report::Symbols(symbols) => runs::note_symbols(core, process, symbols),
        Report::Metric(metric) => runs::note_metric(core, process, metric),
        Report::Ended { how, report, remains } => ended(parts, process, how, report, remains),
        Report::Shared(warnings) => lifecycle::hangs::shared(core, process, warnings),
        Report::Variables(variables) => parts.listings.listed(core, process, variables),
        Report::Digested(digests) => parts.listings.digested(core, process, digests),
        Report::Found { number, found } => introspect::found(core, process, number, found),
        Report::Fingerprinted { fingerprints, address_space } => {
            parts.comparer.fingerprinted(core, process, fingerprints, address_space)
        }
        // Only the process tree uses these reports.
        Report::Forked { .. } | Report::Reaped { .. } => {}
    }
}

fn on_alarm(parts: &mut Parts, alarm: Alarm) {
    let core = &mut parts.core;
    match alarm {
        Alarm::Late(process) => timed_out(parts, process),
        Alarm::AnswerTimeout(process, number) => introspect::answer_timed_out(core, process, number),
        Alarm::Compare => parts.comparer.time_to_compare(core),
        Alarm::BeginTimeout(head, run, serial) => parts.runs.did_not_begin(core, head, &run, serial),
        Alarm::StopTimeout(run, serial) => parts.runs.did_not_stop(core, &run, serial),
        Alarm::HoldTimeout => parts.held.held_long_enough(core),
        Alarm::TimeLimit(run, serial) => parts.runs.reached_time_limit(core, &run, serial),
        Alarm::MeasureRun(run, serial) => parts.runs.measure(core, &run, serial),
        Alarm::Watch(run, serial) => parts.runs.watch(core, &run, serial),
        Alarm::Save => parts.saver.time_to_save(core),
        Alarm::SaveAgain(state) => parts.saver.save_again(core, &state),
        Alarm::Measure => parts.memory.measure(core, &parts.held),
        Alarm::Presence => parts.presence.publish_now(core),
        Alarm::Widgets => parts.widgets.flush_all(core),
        Alarm::WidgetsQuiet(head, number) => widgets_are_quiet(parts, head, number),
        Alarm::Retire(process) => retire(parts, process),
    }
}

/// Makes sure that a process holds a state. With `replay`, replays a state that is lost.
/// Returns the answer unless the request has to wait.
fn load(parts: &mut Parts, ticket: Ticket, id: &StateId, replay: bool) -> Result<Option<Reply>, Problem> {
    let is_lost = |state: &State| state.residency == Residency::Replay && !id.is_root();
    if replay && parts.core.notebook.state(id).is_some_and(is_lost) {
        return Ok(parts.replays.ask(&mut parts.core, ticket, id));
    }
    parts.loads.ask(&mut parts.core, ticket, id)
}

/// Handles the store's report that it added a checkpoint to the notebook, or failed to.
fn kept(parts: &mut Parts, id: &StateId, result: Result<Box<Checkpoint>, String>) {
    match result {
        Ok(checkpoint) => {
            parts.saver.kept(&mut parts.core, id, checkpoint);
            parts.adoption.done(&mut parts.core, id);
            parts.workers.kept(&mut parts.core, &mut parts.runs, id, None);
            settle(parts);
            parts.evict_to_budget();
            parts.save_next();
        }
        Err(why) => {
            if let Some(ticket) = parts.adoption.failed(id) {
                remove_for_good(parts, id);
                let how = "free some disk space, and import the state again";
                parts.core.answer(ticket, adoption::refused(Kind::Disk, &why, how));
            }
            parts.workers.kept(&mut parts.core, &mut parts.runs, id, Some(&why));
            parts.saver.not_saved(&mut parts.core, id, Kind::Disk, &why);
        }
    }
}
