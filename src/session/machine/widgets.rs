//! Messages between widgets and their models on the pages.
//!
//! **From a process.** A widget's message belongs to the running cell's run. If no cell runs, it
//! belongs to the run that made the state. Pages get the messages of some milliseconds as one
//! event, in order with the outputs.
//!
//! **From a page.** A message goes to a head at the state at which the page is. The widget's code
//! runs there and may change variables, so the head then freezes its state again: a new frozen
//! process replaces the old one, and the checkpoint is written again (`lifecycle/refreeze`). So the
//! next cell, branches, checkpoints and listings all see what the widget set. Only a state without
//! children takes messages: from its first child on, a state never changes. While a cell runs
//! against the state, messages wait; they then go to the state that the cell left. While a widget's
//! code runs, runs against the state wait.
//!
//! If a head dies in a widget's code, the frozen process still has the state from before that code.
//! The pages then show the widgets of that state again.

use super::core::{Core, FollowUp, not_found};
use super::duty::{Doing, Head};
use super::effect::{Alarm, Effect, Ticket};
use crate::kernel::{ProcId, WidgetEnd};
use crate::notebook::{Base, ExecId, Fact, Reply, Residency, Run, StateId, WidgetMessage, Widgets as Models};
use crate::problem::{Kind, Problem};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How long messages are collected before pages get them as one event.
const COLLECT: Duration = Duration::from_millis(25);
/// Maximum number and size of collected messages. With more, pages get them at once.
const MAX_COLLECTED: usize = 256;
const MAX_COLLECTED_BYTES: usize = 1024 * 1024;
/// A state is frozen again when its widgets were quiet for this long, or before the next run. So a
/// slider that is dragged does not cause a fork for each of its values.
const QUIET: Duration = Duration::from_millis(200);
/// Maximum number of messages of pages that wait or are handled, in one notebook.
const MAX_MESSAGES: usize = 500;

/// The warning of a run whose widgets exceed the limits.
const TOO_LARGE: &str = "the widgets of this cell have more data than a cell can show (16 MB, 10,000 \
    models), so some of their changes are not shown";

/// A message of a page.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) ticket: Ticket,
    /// The state at which the page is.
    pub(super) state: StateId,
    /// The run that shows the widget, and gets the outputs of its code.
    pub(super) exec_id: ExecId,
    pub(super) message: WidgetMessage,
}

/// A head in which the code of widgets has run since its state was frozen.
#[derive(Debug)]
struct Ahead {
    /// The run that made the state, and what it had set when the state was frozen.
    run: ExecId,
    before: Models,
    /// The number of the last message.
    last: u64,
    has_run: bool,
    is_interrupted: bool,
}

#[derive(Debug, Default)]
pub(super) struct Widgets {
    last: u64,
    /// The messages that heads are handling, by number.
    sent: BTreeMap<u64, (ProcId, Ticket)>,
    /// Messages that wait for the end of a run, with that run.
    waiting: VecDeque<(Request, ExecId)>,
    ahead: BTreeMap<ProcId, Ahead>,
    /// Runs that wait until a widget's code has run.
    runs: Vec<(ExecId, StateId)>,
    /// Messages for the pages that are being collected, by run.
    collected: BTreeMap<ExecId, Collected>,
    alarm_is_set: bool,
}

/// Messages for the pages, and the sum of the sizes of those that arrived.
#[derive(Debug, Default)]
struct Collected {
    messages: Vec<WidgetMessage>,
    bytes: usize,
}

impl Collected {
    /// Adds a message. An update is joined with the one before it, unless pages would then get
    /// other messages in another order.
    fn add(&mut self, message: WidgetMessage) {
        self.bytes += message.size();
        let is_state = |m: &WidgetMessage| {
            matches!(m, WidgetMessage::Open { .. } | WidgetMessage::Update { echo: None, .. })
        };
        let first = self.messages.iter().rposition(|m| !is_state(m)).map_or(0, |at| at + 1);
        let known = self.messages[first..].iter_mut().rfind(|m| m.model() == message.model());
        let left = match known {
            Some(known) => known.join(message),
            None => Some(message),
        };
        self.messages.extend(left);
    }

    fn is_full(&self) -> bool {
        self.messages.len() >= MAX_COLLECTED || self.bytes > MAX_COLLECTED_BYTES
    }
}

/// Messages from processes.
impl Widgets {
    /// Applies a message of a head's widget, and collects it for the pages.
    pub(super) fn reported(&mut self, core: &mut Core, head: ProcId, message: WidgetMessage) {
        let Some(exec_id) = run_of(core, head) else { return };
        let Some(run) = core.notebook.run_mut(&exec_id) else { return };
        if !run.outputs.widgets.apply(&message) {
            if !run.warnings.iter().any(|warning| warning == TOO_LARGE) {
                run.warnings.push(TOO_LARGE.to_owned());
                core.publish(Fact::RunWarned { exec_id, warning: TOO_LARGE.to_owned() });
            }
            return;
        }
        let collected = self.collected.entry(exec_id.clone()).or_default();
        collected.add(message);
        if collected.is_full() {
            self.flush(core, &exec_id);
        } else if !self.alarm_is_set {
            self.alarm_is_set = true;
            core.wake(COLLECT, Alarm::Widgets);
        }
    }

    /// Publishes the collected messages of a run.
    pub(super) fn flush(&mut self, core: &mut Core, exec_id: &ExecId) {
        if let Some(Collected { messages, .. }) = self.collected.remove(exec_id) {
            core.publish(Fact::WidgetsChanged { exec_id: exec_id.clone(), messages });
        }
    }

    /// Publishes the collected messages of a head's run, because an output or the end of the run
    /// comes next.
    pub(super) fn flush_of(&mut self, core: &mut Core, head: ProcId) {
        if !self.collected.is_empty()
            && let Some(exec_id) = run_of(core, head)
        {
            self.flush(core, &exec_id);
        }
    }

    /// Publishes all collected messages.
    pub(super) fn flush_all(&mut self, core: &mut Core) {
        self.alarm_is_set = false;
        for (exec_id, Collected { messages, .. }) in std::mem::take(&mut self.collected) {
            if core.notebook.run(&exec_id).is_some() {
                core.publish(Fact::WidgetsChanged { exec_id, messages });
            }
        }
    }
}

/// The run to which the messages of a head's widgets belong.
fn run_of(core: &Core, head: ProcId) -> Option<ExecId> {
    match &core.processes.head(head)?.doing {
        Doing::Begin(run) | Doing::Run(run) => Some(run.clone()),
        Doing::Rest | Doing::Handle(_) => core.notebook.state(core.processes.at(head)?)?.exec_id.clone(),
        Doing::Replay(_) => None,
    }
}

/// Messages from pages.
impl Widgets {
    /// Sends a message to a widget. The client has to wait for the answer.
    pub(super) fn send(&mut self, core: &mut Core, request: Request) -> Result<(), Problem> {
        if self.sent.len() + self.waiting.len() >= MAX_MESSAGES {
            let why = format!("{MAX_MESSAGES} messages to widgets wait already");
            let how = "wait, or interrupt the code of the widgets";
            return Err(Problem::new(Kind::Busy, "send a message to a widget", why, how));
        }
        let state = core.notebook.state(&request.state).filter(|s| s.residency != Residency::Deleted);
        let Some(state) = state else { return Err(not_found("state", &request.state)) };
        let (made, has_child) = (state.exec_id.is_some(), has_child(core, &request.state));
        let run = if is_open_on(core, &request.exec_id, &request.state) {
            Some(request.exec_id.clone())
        } else if !made || has_child {
            let why = if made { "a cell has run after this state" } else { "no cell has run" };
            return Err(not_live(why));
        } else {
            core.open.iter().find(|run| is_open_on(core, run, &request.state)).cloned()
        };
        if let Some(run) = run {
            self.waiting.push_back((request, run));
            return Ok(());
        }
        self.deliver(core, request)
    }

    fn deliver(&mut self, core: &mut Core, request: Request) -> Result<(), Problem> {
        let Request { ticket, state, exec_id, message } = request;
        let made = core.notebook.state(&state).and_then(|s| s.exec_id.clone());
        let Some(made) = made else { return Err(not_live("no cell has run")) };
        let exec_id = if core.notebook.run(&exec_id).is_some() { exec_id } else { made.clone() };
        let Some(head) = head_at(core, &state, exec_id) else {
            return Err(not_live("the processes of this state have ended"));
        };
        core.uses.note(&state);
        self.last += 1;
        let number = self.last;
        let before = core.notebook.run(&made).map(|run| run.outputs.widgets.clone()).unwrap_or_default();
        let fresh = Ahead { run: made, before, last: 0, has_run: false, is_interrupted: false };
        self.ahead.entry(head).or_insert(fresh).last = number;
        self.sent.insert(number, (head, ticket));
        core.emit(Effect::Widget { head, number, message });
        Ok(())
    }

    /// Whether a head is handling messages.
    pub(super) fn is_handling(&self, head: ProcId) -> bool {
        self.sent.values().any(|(busy, _)| *busy == head)
    }

    /// The head at a state in which widgets' code has run since the state was frozen.
    pub(super) fn ahead_at(&self, core: &Core, state: &StateId) -> Option<ProcId> {
        self.ahead.keys().copied().find(|head| core.processes.at(*head) == Some(state))
    }

    /// Makes a run wait if a widget's code runs at its state. Returns whether it has to wait.
    pub(super) fn wait_for_widget(&mut self, core: &Core, run: &ExecId, state: &StateId) -> bool {
        let waits = self.ahead_at(core, state).is_some_and(|head| self.is_handling(head));
        if waits {
            self.runs.push((run.clone(), state.clone()));
        }
        waits
    }

    /// Handles the report that a widget's code has run. Returns the answer's ticket and whether the
    /// head has nothing more to handle.
    pub(super) fn handled(&mut self, core: &mut Core, head: ProcId, number: u64, end: &WidgetEnd) {
        self.flush_of(core, head);
        let Some((_, ticket)) = self.sent.remove(&number) else { return };
        let reply = match end {
            WidgetEnd::Ran(_) => Reply::Handled,
            WidgetEnd::Unknown => Reply::Refused(not_live("its process does not have this widget")),
            WidgetEnd::Unfit { why } => Reply::Refused(Problem::new(
                Kind::Kernel,
                "keep what the code of a widget changed",
                why.clone(),
                "the state is as it was before; change the code of the widget",
            )),
        };
        core.answer(ticket, reply);
        if let Some(ahead) = self.ahead.get_mut(&head) {
            ahead.is_interrupted = false;
            ahead.has_run |= *end != WidgetEnd::Unknown;
        }
        if !self.is_handling(head) {
            core.wake(QUIET, Alarm::WidgetsQuiet(head, number));
            if let Some(at) = core.processes.at(head).cloned() {
                self.resume_runs(core, Some(&at));
            }
        }
    }

    fn resume_runs(&mut self, core: &mut Core, at: Option<&StateId>) {
        let (ready, left) = std::mem::take(&mut self.runs)
            .into_iter()
            .partition(|(_, state)| at.is_none_or(|at| at == state));
        self.runs = left;
        for (run, _) in ready as Vec<(ExecId, StateId)> {
            core.follow_up(FollowUp::Resume(run));
        }
    }

    /// The heads in which widgets' code has run since their state was frozen, and runs no more.
    pub(super) fn quiet_heads(&self) -> Vec<ProcId> {
        self.ahead.keys().copied().filter(|head| !self.is_handling(*head)).collect()
    }

    /// Whether the widgets of a head were quiet since this message.
    pub(super) fn is_quiet_since(&self, head: ProcId, number: u64) -> bool {
        self.ahead.get(&head).is_some_and(|ahead| ahead.last == number) && !self.is_handling(head)
    }

    /// Notes that a head's state is about to be frozen again. Returns whether the code of a widget
    /// has run: the process may have had none of the widgets.
    pub(super) fn note_frozen(&mut self, head: ProcId) -> bool {
        self.ahead.remove(&head).is_some_and(|ahead| ahead.has_run)
    }

    /// Interrupts the code of widgets that a run shows, or for which the run waits. If it was
    /// interrupted before, ends its process. Returns whether such code runs.
    pub(super) fn interrupt(&mut self, core: &mut Core, run: &ExecId) -> bool {
        let waits_at = self.runs.iter().find(|(waiting, _)| waiting == run).map(|(_, state)| state.clone());
        let made = core.notebook.run(run).and_then(|r| r.state.clone());
        let concerns = |head: &ProcId| {
            let at = core.processes.at(*head);
            let shows = core.processes.head(*head).is_some_and(|h| h.doing == Doing::Handle(run.clone()));
            shows || at.is_some() && (at == waits_at.as_ref() || at == made.as_ref())
        };
        let head = self.ahead.keys().find(|head| concerns(head) && self.is_handling(**head)).copied();
        let Some((head, ahead)) = head.and_then(|head| Some((head, self.ahead.get_mut(&head)?))) else {
            return false;
        };
        if std::mem::replace(&mut ahead.is_interrupted, true) {
            core.discard(head);
        } else {
            core.emit(Effect::Interrupt(head));
        }
        true
    }

    /// Called after each step. Answers the messages of heads that have ended, and delivers messages
    /// whose run has ended.
    pub(super) fn serve(&mut self, core: &mut Core) {
        let gone: Vec<ProcId> =
            self.ahead.keys().copied().filter(|head| core.processes.head(*head).is_none()).collect();
        for head in gone {
            self.lost(core, head);
        }
        if self.waiting.is_empty() {
            return;
        }
        for (mut request, run) in std::mem::take(&mut self.waiting) {
            if let Some(left) =
                core.notebook.run(&run).filter(|r| r.status.has_ended()).and_then(|r| r.state.clone())
            {
                request.state = left;
            }
            let ticket = request.ticket;
            if let Err(refused) = self.send(core, request) {
                core.answer(ticket, Reply::Refused(refused));
            }
        }
    }

    /// Handles the end of a head that had run code of widgets and was not frozen again. The state
    /// is the one before that code.
    fn lost(&mut self, core: &mut Core, head: ProcId) {
        let Some(Ahead { run, before, .. }) = self.ahead.remove(&head) else { return };
        let (theirs, others) =
            std::mem::take(&mut self.sent).into_iter().partition(|(_, (of, _))| *of == head);
        self.sent = others;
        for (_, (_, ticket)) in theirs as BTreeMap<u64, (ProcId, Ticket)> {
            let why = "the process in which the code of the widget ran has ended";
            let how = "the state is as it was before; use the widget again, or run its cell again";
            core.answer(ticket, Reply::Refused(Problem::new(Kind::Kernel, "use a widget", why, how)));
        }
        self.resume_runs(core, None);
        self.flush(core, &run);
        let Some(models) = core.notebook.run_mut(&run).map(|run| &mut run.outputs.widgets) else { return };
        let messages = models.messages_back_to(&before);
        models.clone_from(&before);
        if !messages.is_empty() {
            core.publish(Fact::WidgetsChanged { exec_id: run, messages });
        }
    }
}

/// The head that handles messages at a state: one that does so already, one that rests there, or a
/// new one if the state is in memory.
fn head_at(core: &mut Core, state: &StateId, exec_id: ExecId) -> Option<ProcId> {
    let doing = Doing::Handle(exec_id);
    let head = core.processes.handling_at(state).or_else(|| core.processes.resting_at(state));
    if let Some(id) = head {
        core.ensure_frozen(id, state);
        core.processes.head_mut(id).into_iter().for_each(|head: &mut Head| head.doing = doing.clone());
        return Some(id);
    }
    let is_in_memory = core.processes.frozen(state).is_some() && !core.processes.is_being_loaded(state);
    if is_in_memory && core.forks(state) { core.branch(state, doing) } else { None }
}

/// Whether a run against a state has not ended, and will leave a state if it succeeds.
fn is_open_on(core: &Core, run: &ExecId, state: &StateId) -> bool {
    let is_on = |run: &Run| run.on == Base::State(state.clone()) && !run.status.has_ended();
    core.notebook.run(run).is_some_and(is_on) && !core.notebook.is_passing(run)
}

/// Whether another state was made from this one: by a cell, or by taking its variables. A replay of
/// that state must find this one as it was.
fn has_child(core: &Core, state: &StateId) -> bool {
    core.notebook.dependents(state).any(|other| other.residency != Residency::Deleted)
}

/// The error for a message to a widget at a state whose widgets cannot be used.
fn not_live(why: &str) -> Problem {
    let how = "run the cell of the widget again, or go to the last state of the lineage";
    Problem::new(Kind::Conflict, "use a widget", format!("it is not live here: {why}"), how)
}
