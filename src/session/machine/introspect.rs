//! Completes code, describes objects, evaluates expressions, reads tables and parts of variables,
//! in a fork of the state's frozen process.
//!
//! Typing triggers many questions, and so does scrolling through a table. So such a fork stays for
//! some seconds after its last answer. Tables have their own fork, because sorting takes seconds. A
//! fork that evaluates expressions ends with its answer, because they may change its objects. The
//! state itself never changes, and cells can run at the same time.

use super::core::Core;
use super::duty::{Answerer, Duty, Serves};
use super::effect::{Alarm, Effect, Killed, Ticket};
use super::processes::{Origin, Process};
use crate::kernel::{Introspected, ProcId, Question};
use crate::notebook::{Reply, StateId, TableAnswer};
use crate::problem::{Kind, Problem};
use std::collections::BTreeMap;
use std::time::Duration;

/// Maximum number of answering processes. Each serves one state in which a user is typing.
const MAX_ANSWERERS: usize = 4;
/// Maximum number of questions that wait for one answering process.
const MAX_WAITING: usize = 16;
/// How long an answering process stays after its last question.
const IDLE: Duration = Duration::from_secs(20);
/// How long completions may take. Later completions would only disturb, because the user continues
/// to type.
const COMPLETE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the description of an object or the check of code may take.
const INSPECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the evaluation of the expressions of one command may take.
const EVALUATE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long reading a cell and the values of a sweep may take: ten thousand rows have many values.
const PARAMETERS_TIMEOUT: Duration = Duration::from_secs(10);
/// How long Optuna may take to draw rows. Importing it takes seconds on a slow disk.
const DRAW_TIMEOUT: Duration = Duration::from_secs(60);
/// How long reading rows of a table may take, with sorting it.
const TABLE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long reading a part of a variable may take, with painting a figure.
const VALUE_PART_TIMEOUT: Duration = Duration::from_secs(10);

/// Counts the questions, to give each a number.
#[derive(Debug, Default)]
pub(super) struct Introspection {
    last: u64,
}

impl Introspection {
    /// Asks a question about a state. Returns a reply only if the question is refused.
    pub(super) fn ask(
        &mut self,
        core: &mut Core,
        ticket: Ticket,
        state: &StateId,
        question: Question,
    ) -> Option<Reply> {
        if let Err(refused) = core.runnable(state) {
            return Some(Reply::Refused(refused));
        }
        let serves = Serves::of(&question);
        let known = shared_answerer_at(core, state, serves);
        let process = match known.map_or_else(|| make_answerer(core, state, serves), Ok) {
            Ok(process) => process,
            Err(why) => return Some(refused(state, Kind::Busy, why)),
        };
        self.last += 1;
        let (number, now_ms) = (self.last, core.now_ms);
        let answerer = answerer(core, process)?;
        if answerer.waiting.len() >= MAX_WAITING {
            return Some(refused(state, Kind::Busy, "too many requests are waiting"));
        }
        let limit = limit(&question);
        answerer.asked_ms = now_ms;
        answerer.waiting.insert(number, (ticket, limit));
        core.uses.note(state);
        core.emit(Effect::Question { process, number, question });
        core.wake(limit, Alarm::AnswerTimeout(process, number));
        None
    }
}

fn answerer(core: &mut Core, process: ProcId) -> Option<&mut Answerer> {
    match &mut core.processes.get_mut(process)?.duty {
        Duty::Answering(answerer) => Some(answerer),
        _ => None,
    }
}

fn answerers_at(core: &Core, state: &StateId) -> Vec<ProcId> {
    core.processes.of(state, |duty| matches!(duty, Duty::Answering(_)))
}

/// The process that answers all questions of a kind about a state.
fn shared_answerer_at(core: &Core, state: &StateId, serves: Serves) -> Option<ProcId> {
    let is_shared = |duty: &Duty| {
        let Duty::Answering(answerer) = duty else { return false };
        serves != Serves::One && answerer.serves == serves
    };
    core.processes.of(state, is_shared).first().copied()
}

fn make_answerer(core: &mut Core, state: &StateId, serves: Serves) -> Result<ProcId, &'static str> {
    if core.processes.all_of(|duty| matches!(duty, Duty::Answering(_))).len() >= MAX_ANSWERERS {
        let idlest = idlest(core).ok_or("too many states are answering such requests")?;
        end_answerer(core, idlest, Kind::Busy, "the process that answers was idle and was ended");
    }
    let frozen = core.source_of(state).ok_or("its process is being restored")?;
    let answerer = Answerer { waiting: BTreeMap::new(), serves, asked_ms: core.now_ms, ready_ms: None };
    Ok(core.spawn(Origin::fork(frozen, state), Duty::Answering(answerer), IDLE))
}

/// The answering process without open questions whose last question is oldest.
fn idlest(core: &Core) -> Option<ProcId> {
    let idle = core.processes.working().filter_map(|(id, process)| match &process.duty {
        Duty::Answering(answerer) if !answerer.is_busy() => Some((id, answerer.asked_ms)),
        _ => None,
    });
    idle.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(id, _)| id)
}

/// Notes that an answering process is ready, and restarts the time limits of its questions.
pub(super) fn answerer_is_ready(core: &mut Core, process: ProcId) {
    let now_ms = core.now_ms;
    let Some(answerer) = answerer(core, process) else { return };
    answerer.ready_ms = Some(now_ms);
    let waiting: Vec<_> = answerer.waiting.iter().map(|(number, (_, limit))| (*number, *limit)).collect();
    // The time limit of a question does not include the time for loading the state.
    for (number, limit) in waiting {
        core.wake(limit, Alarm::AnswerTimeout(process, number));
    }
}

/// Sends the answer to the client that asked the question.
pub(super) fn found(core: &mut Core, process: ProcId, number: u64, found: Introspected) {
    let waiting = answerer(core, process).and_then(|answerer| answerer.waiting.remove(&number));
    let Some((ticket, _)) = waiting else { return };
    let reply = match found {
        Introspected::Completions { from, to, items } => Reply::Completions { from, to, items },
        Introspected::Object(object) => Reply::Inspected { object },
        Introspected::Checked(error) => Reply::Checked { error },
        Introspected::Parameters(Some(found)) => Reply::Parameters(Box::new(found)),
        Introspected::Parameters(None) => {
            let how = "make the cell shorter, and send it again";
            Reply::Refused(Problem::bad_request("find the parameters of a cell", "it cannot be read", how))
        }
        Introspected::Drawn(Some(drawn)) => Reply::RowsDrawn(drawn),
        Introspected::Drawn(None) => {
            let how = "use the sampler `random`, or send the rows";
            Reply::Refused(Problem::bad_request("draw rows", "Optuna has failed", how))
        }
        Introspected::Values(values) => Reply::Evaluated { values },
        Introspected::Table(Some(TableAnswer::Found(table))) => Reply::Table { table },
        Introspected::Table(Some(TableAnswer::Refused { why, how })) => {
            Reply::Refused(Problem::bad_request("show a table", why, how))
        }
        Introspected::ValuePart(Some(part)) => Reply::ValuePart { part },
        Introspected::ValuePart(None) => {
            let how = "choose another value, or print a part of it";
            Reply::Refused(Problem::bad_request("show a value", "it cannot be read", how))
        }
        Introspected::Table(None) => {
            let how = "choose another value, or print a part of it";
            Reply::Refused(Problem::bad_request("show a table", "its rows cannot be read", how))
        }
    };
    core.answer(ticket, reply);
    if answerer(core, process).is_some_and(|answerer| answerer.serves == Serves::One) {
        end_answerer(core, process, Kind::Busy, "the process that answers has ended");
    }
}

/// Kills an answering process that did not answer a question in time.
pub(super) fn answer_timed_out(core: &mut Core, process: ProcId, number: u64) {
    let (now_ms, waits_for_a_load) = (core.now_ms, core.processes.waits_for_a_load(process));
    let Some(answerer) = answerer(core, process) else { return };
    let Some(&(_, limit)) = answerer.waiting.get(&number) else { return };
    let is_young = |ms: f64| now_ms - ms < limit.as_secs_f64() * 1000.0;
    if answerer.ready_ms.is_some_and(is_young) || waits_for_a_load {
        // The question's time limit was restarted, or will be when the process is ready. The
        // restart sets another alarm.
        return;
    }
    let why = format!("it took longer than {} s", limit.as_secs());
    end_answerer(core, process, Kind::Timeout, &why);
}

/// Kills an answering process that was not used for `IDLE`. Otherwise, sets the alarm again.
pub(super) fn end_if_idle(core: &mut Core, process: ProcId) {
    let now_ms = core.now_ms;
    let Some(answerer) = answerer(core, process) else { return };
    let left_ms = IDLE.as_secs_f64() * 1000.0 - (now_ms - answerer.asked_ms);
    if left_ms <= 0.0 && !answerer.is_busy() {
        end_answerer(core, process, Kind::Busy, "the process that answers was idle and was ended");
    } else {
        let again = Duration::from_secs_f64((left_ms / 1000.0).clamp(0.1, IDLE.as_secs_f64()));
        core.wake(again, Alarm::Late(process));
    }
}

/// Kills an answering process, and refuses its open questions.
pub(super) fn end_answerer(core: &mut Core, process: ProcId, kind: Kind, why: &str) {
    if answerer(core, process).is_none() {
        return;
    }
    let killed = if kind == Kind::Timeout { Killed::Late } else { Killed::NotNeeded };
    core.kill(process, killed);
    if let Some(Process { at, duty: Duty::Answering(answerer), .. }) = core.processes.remove(process) {
        for (ticket, _) in answerer.waiting.into_values() {
            core.answer(ticket, refused(&at, kind, why));
        }
    }
}

/// Kills the answering processes of a state.
pub(super) fn end_answers(core: &mut Core, state: &StateId, kind: Kind, why: &str) {
    for process in answerers_at(core, state) {
        end_answerer(core, process, kind, why);
    }
}

/// Kills all answering processes.
pub(super) fn end_all_answers(core: &mut Core, kind: Kind, why: &str) {
    for process in core.processes.all_of(|duty| matches!(duty, Duty::Answering(_))) {
        end_answerer(core, process, kind, why);
    }
}

fn limit(question: &Question) -> Duration {
    match question {
        Question::Complete { .. } => COMPLETE_TIMEOUT,
        Question::Inspect { .. } | Question::Check { .. } => INSPECT_TIMEOUT,
        Question::Evaluate { .. } => EVALUATE_TIMEOUT,
        Question::Parameters { .. } => PARAMETERS_TIMEOUT,
        Question::Draw { .. } => DRAW_TIMEOUT,
        Question::Table { .. } => TABLE_TIMEOUT,
        Question::ValuePart { .. } => VALUE_PART_TIMEOUT,
    }
}

fn refused(state: &StateId, kind: Kind, why: impl Into<String>) -> Reply {
    Reply::Refused(Problem::new(kind, format!("answer a question about state {state}"), why, "try again"))
}
