//! Completes code and describes objects: asks a fork of the state's frozen process.
//!
//! Typing triggers repeated questions, so such a fork stays for some seconds after its last answer.
//! The state itself never changes, and cells can run meanwhile.

use super::core::Core;
use super::processes::{Duty, Origin, Process};
use super::{Alarm, Effect, Ticket};
use crate::kernel::{IntrospectKind, Introspected, ProcId};
use crate::notebook::{Reply, StateId};
use crate::problem::{Kind, Problem};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many processes may be kept for answering: one for each state where a user is typing.
const MAX_ANSWERERS: usize = 4;
/// How many questions may wait for one such process.
const MAX_WAITING: usize = 16;
/// How long an answering process stays after the last question.
const IDLE: Duration = Duration::from_secs(20);
/// How long completions may take. Later ones would only disturb.
const COMPLETE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long looking up an object may take.
const INSPECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A process that answers questions about one state.
#[derive(Debug)]
pub(super) struct Answerer {
    waiting: BTreeMap<u64, (Ticket, IntrospectKind)>,
    asked_ms: f64,
    /// When it was ready; none before that.
    ready_ms: Option<f64>,
}

impl Answerer {
    /// Whether a question waits for its answer.
    pub(super) fn is_busy(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// Numbers the questions.
#[derive(Debug, Default)]
pub(super) struct Introspection {
    last: u64,
}

impl Introspection {
    /// Asks for completions at a place in code, or for the object there. Returns a reply only if
    /// the question is refused.
    pub(super) fn ask(
        &mut self,
        core: &mut Core,
        ticket: Ticket,
        state: &StateId,
        sought: IntrospectKind,
        code: String,
        cursor: u32,
    ) -> Option<Reply> {
        if let Err(refused) = core.runnable(state) {
            return Some(Reply::Refused(refused));
        }
        let process = match answerers_at(core, state).first() {
            Some(process) => *process,
            None => match make_answerer(core, state) {
                Ok(process) => process,
                Err(why) => return Some(refused(state, Kind::Busy, why)),
            },
        };
        self.last += 1;
        let (number, now_ms) = (self.last, core.now_ms);
        let answerer = answerer(core, process)?;
        if answerer.waiting.len() >= MAX_WAITING {
            return Some(refused(state, Kind::Busy, "too many questions are waiting"));
        }
        answerer.asked_ms = now_ms;
        answerer.waiting.insert(number, (ticket, sought));
        core.uses.note(state);
        core.effects.push(Effect::Question { process, number, sought, code, cursor });
        core.wake(limit(sought), Alarm::AnswerTimeout(process, number));
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

fn make_answerer(core: &mut Core, state: &StateId) -> Result<ProcId, &'static str> {
    if core.processes.all_of(|duty| matches!(duty, Duty::Answering(_))).len() >= MAX_ANSWERERS {
        let idlest = idlest(core).ok_or("too many states are being asked about")?;
        end_answerer(core, idlest, Kind::Busy, "it is not needed any more");
    }
    let frozen = core.source_of(state).ok_or("its process is being made again")?;
    let answerer = Answerer { waiting: BTreeMap::new(), asked_ms: core.now_ms, ready_ms: None };
    Ok(core.spawn(Origin::fork(frozen, state), Duty::Answering(answerer), IDLE))
}

/// The idle answerer whose last question is the longest ago.
fn idlest(core: &Core) -> Option<ProcId> {
    let idle = core.processes.working().filter_map(|(id, process)| match &process.duty {
        Duty::Answering(answerer) if !answerer.is_busy() => Some((id, answerer.asked_ms)),
        _ => None,
    });
    idle.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(id, _)| id)
}

/// Notes that an answering process is ready, and sets the alarms of its questions again.
pub(super) fn answerer_is_ready(core: &mut Core, process: ProcId) {
    let now_ms = core.now_ms;
    let Some(answerer) = answerer(core, process) else { return };
    answerer.ready_ms = Some(now_ms);
    let waiting: Vec<_> = answerer.waiting.iter().map(|(number, (_, sought))| (*number, *sought)).collect();
    // The time in which the state is loaded does not count: set the alarms of all questions again.
    for (number, sought) in waiting {
        core.wake(limit(sought), Alarm::AnswerTimeout(process, number));
    }
}

/// Gives a client the answer to its question.
pub(super) fn found(core: &mut Core, process: ProcId, number: u64, found: Introspected) {
    let waiting = answerer(core, process).and_then(|answerer| answerer.waiting.remove(&number));
    let Some((ticket, _)) = waiting else { return };
    let reply = match found {
        Introspected::Completions { from, to, items } => Reply::Completions { from, to, items },
        Introspected::Object(object) => Reply::Inspected { object },
    };
    core.answer(ticket, reply);
}

/// Kills the process if a question was not answered in time.
pub(super) fn answer_is_late(core: &mut Core, process: ProcId, number: u64) {
    let (now_ms, waits_for_a_load) = (core.now_ms, core.processes.waits_for_a_load(process));
    let Some(answerer) = answerer(core, process) else { return };
    let Some(&(_, sought)) = answerer.waiting.get(&number) else { return };
    let is_young = |ms: f64| now_ms - ms < limit(sought).as_secs_f64() * 1000.0;
    if answerer.ready_ms.is_some_and(is_young) || waits_for_a_load {
        // Another alarm is set, or will be when the process is ready.
        return;
    }
    let why = format!("it took longer than {} s", limit(sought).as_secs());
    end_answerer(core, process, Kind::Timeout, &why);
}

/// Kills a process that answers, if it was idle for long.
pub(super) fn end_if_idle(core: &mut Core, process: ProcId) {
    let now_ms = core.now_ms;
    let Some(answerer) = answerer(core, process) else { return };
    let left_ms = IDLE.as_secs_f64() * 1000.0 - (now_ms - answerer.asked_ms);
    if left_ms <= 0.0 && !answerer.is_busy() {
        end_answerer(core, process, Kind::Busy, "it is not needed any more");
    } else {
        let again = Duration::from_secs_f64((left_ms / 1000.0).clamp(0.1, IDLE.as_secs_f64()));
        core.wake(again, Alarm::Late(process));
    }
}

/// Kills a process that answers, and refuses its open questions.
pub(super) fn end_answerer(core: &mut Core, process: ProcId, kind: Kind, why: &str) {
    if answerer(core, process).is_none() {
        return;
    }
    core.effects.push(Effect::Kill(process));
    if let Some(Process { at, duty: Duty::Answering(answerer), .. }) = core.processes.remove(process) {
        for (ticket, _) in answerer.waiting.into_values() {
            core.answer(ticket, refused(&at, kind, why));
        }
    }
}

/// Kills the processes that answer about a state.
pub(super) fn end_answers(core: &mut Core, state: &StateId, kind: Kind, why: &str) {
    for process in answerers_at(core, state) {
        end_answerer(core, process, kind, why);
    }
}

/// Kills all processes that answer.
pub(super) fn end_all_answers(core: &mut Core) {
    for process in core.processes.all_of(|duty| matches!(duty, Duty::Answering(_))) {
        end_answerer(core, process, Kind::NotFound, "the notebook was reset");
    }
}

fn limit(sought: IntrospectKind) -> Duration {
    match sought {
        IntrospectKind::Completions => COMPLETE_TIMEOUT,
        IntrospectKind::Object => INSPECT_TIMEOUT,
    }
}

fn refused(state: &StateId, kind: Kind, why: impl Into<String>) -> Reply {
    Reply::Refused(Problem::new(kind, format!("answer a question about state {state}"), why, "ask again"))
}
