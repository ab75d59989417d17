//! What could be typed on, and what an object is: asked of a fork of the state's frozen process.
//!
//! Who types asks again and again, so such a fork stays for some seconds after its last answer, and then goes. The state
//! itself is never touched, and a cell that runs on from it goes on meanwhile.

use super::{Alarm, Effect, Machine, Ticket};
use crate::kernel::{IntrospectKind, Introspected, ProcId, Role};
use crate::notebook::{Reply, StateId};
use crate::problem::{Kind, Problem};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many processes may be kept for answering: places where somebody is typing.
const MAX_ANSWERERS: usize = 4;
/// How many questions may wait for one of them.
const MAX_WAITING: usize = 16;
/// How long such a process stays after the last question.
const IDLE: Duration = Duration::from_secs(20);
/// How long completions may take. Later they would only disturb.
const COMPLETE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long looking up an object may take.
const INSPECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A process that answers questions about one state.
#[derive(Debug)]
struct Answerer {
    state: StateId,
    waiting: BTreeMap<u64, (Ticket, IntrospectKind)>,
    asked_ms: f64,
    /// When it came to be; none while it has not, or its state is being loaded.
    ready_ms: Option<f64>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Answerers {
    all: BTreeMap<ProcId, Answerer>,
    last: u64,
}

impl Answerers {
    pub(super) fn has(&self, process: ProcId) -> bool {
        self.all.contains_key(&process)
    }

    /// The state about which a process answers.
    pub(super) fn state_of(&self, process: ProcId) -> Option<&StateId> {
        self.all.get(&process).map(|a| &a.state)
    }

    /// Whether a question waits for its answer that is about this state.
    pub(super) fn are_busy_at(&self, state: &StateId) -> bool {
        self.all.values().any(|a| &a.state == state && !a.waiting.is_empty())
    }

    fn at(&self, state: &StateId) -> Option<ProcId> {
        self.all.iter().find(|(_, a)| &a.state == state).map(|(p, _)| *p)
    }

    /// The one that was not asked for the longest time, if it has nothing to do.
    fn idlest(&self) -> Option<ProcId> {
        let idle = self.all.iter().filter(|(_, a)| a.waiting.is_empty());
        idle.min_by(|(_, a), (_, b)| a.asked_ms.total_cmp(&b.asked_ms)).map(|(p, _)| *p)
    }
}

impl Machine {
    /// Something is asked about a place in code. Answers at once only when it cannot be found out.
    pub(super) fn ask(
        &mut self,
        ticket: Ticket,
        state: &StateId,
        sought: IntrospectKind,
        code: String,
        cursor: u32,
    ) -> Option<Reply> {
        if let Err(refused) = self.runnable(state) {
            return Some(Reply::Refused(refused));
        }
        let process = match self.answerers.at(state) {
            Some(process) => process,
            None => match self.make_answerer(state) {
                Ok(process) => process,
                Err(why) => return Some(refused(state, Kind::Busy, why)),
            },
        };
        self.answerers.last += 1;
        let number = self.answerers.last;
        let answerer = self.answerers.all.get_mut(&process)?;
        if answerer.waiting.len() >= MAX_WAITING {
            return Some(refused(state, Kind::Busy, "too many questions are waiting"));
        }
        answerer.asked_ms = self.now_ms;
        answerer.waiting.insert(number, (ticket, sought));
        self.memory.note_used(state);
        self.effects.push(Effect::Question { process, number, sought, code, cursor });
        self.effects.push(Effect::Wake(limit(sought), Alarm::Answered(process, number)));
        None
    }

    fn make_answerer(&mut self, state: &StateId) -> Result<ProcId, &'static str> {
        if self.answerers.all.len() >= MAX_ANSWERERS {
            let idlest = self.answerers.idlest().ok_or("too many states are being asked about")?;
            self.end_answerer(idlest, Kind::Busy, "it is not needed any more");
        }
        let frozen = self.source_of(state).ok_or("its process is being made again")?;
        let process = self.new_proc();
        let answerer = Answerer {
            state: state.clone(),
            waiting: BTreeMap::new(),
            asked_ms: self.now_ms,
            ready_ms: None,
        };
        self.answerers.all.insert(process, answerer);
        self.effects.push(Effect::Fork { from: frozen, child: process, role: Role::Answer, load: None });
        self.effects.push(Effect::Wake(IDLE, Alarm::Unasked(process)));
        Ok(process)
    }

    /// A process that answers is there.
    pub(super) fn answerer_is_ready(&mut self, process: ProcId) {
        let Some(answerer) = self.answerers.all.get_mut(&process) else { return };
        answerer.ready_ms = Some(self.now_ms);
        // Those that waited for it to be loaded have their whole time now.
        for (number, (_, sought)) in &answerer.waiting {
            self.effects.push(Effect::Wake(limit(*sought), Alarm::Answered(process, *number)));
        }
    }

    /// A question is answered.
    pub(super) fn found(&mut self, process: ProcId, number: u64, found: Introspected) {
        let waiting = self.answerers.all.get_mut(&process).and_then(|a| a.waiting.remove(&number));
        let Some((ticket, _)) = waiting else { return };
        let reply = match found {
            Introspected::Completions { from, to, items } => Reply::Completions { from, to, items },
            Introspected::Object(object) => Reply::Inspected { object },
        };
        self.answer(ticket, reply);
    }

    /// A question may not have been answered in time: then its process hangs, and is ended.
    pub(super) fn answer_took_too_long(&mut self, process: ProcId, number: u64) {
        let Some(answerer) = self.answerers.all.get(&process) else { return };
        let Some(&(_, sought)) = answerer.waiting.get(&number) else { return };
        let is_young = |ms: f64| self.now_ms - ms < limit(sought).as_secs_f64() * 1000.0;
        if answerer.ready_ms.is_some_and(is_young) || self.waits_for_a_load(process) {
            // Another alarm is set, or will be when it is there.
            return;
        }
        let why = format!("it took longer than {} s", limit(sought).as_secs());
        self.end_answerer(process, Kind::Timeout, &why);
    }

    /// A process that answers may not be needed any longer.
    pub(super) fn end_if_unasked(&mut self, process: ProcId) {
        let Some(answerer) = self.answerers.all.get(&process) else { return };
        let idle_ms = self.now_ms - answerer.asked_ms;
        let left_ms = IDLE.as_secs_f64() * 1000.0 - idle_ms;
        if left_ms <= 0.0 && answerer.waiting.is_empty() {
            self.end_answerer(process, Kind::Busy, "it is not needed any more");
        } else {
            let again = Duration::from_secs_f64((left_ms / 1000.0).clamp(0.1, IDLE.as_secs_f64()));
            self.effects.push(Effect::Wake(again, Alarm::Unasked(process)));
        }
    }

    /// Ends a process that answers; who waits is told.
    pub(super) fn end_answerer(&mut self, process: ProcId, kind: Kind, why: &str) {
        let Some(answerer) = self.answerers.all.remove(&process) else { return };
        self.effects.push(Effect::Kill(process));
        for (ticket, _) in answerer.waiting.into_values() {
            self.answer(ticket, refused(&answerer.state, kind, why));
        }
    }

    /// Ends what answers about a state.
    pub(super) fn end_answers(&mut self, state: &StateId, kind: Kind, why: &str) {
        if let Some(process) = self.answerers.at(state) {
            self.end_answerer(process, kind, why);
        }
    }

    /// Ends all that answer.
    pub(super) fn end_all_answers(&mut self) {
        let all: Vec<ProcId> = self.answerers.all.keys().copied().collect();
        for process in all {
            self.end_answerer(process, Kind::NotFound, "the notebook was reset");
        }
    }
}

fn limit(sought: IntrospectKind) -> Duration {
    match sought {
        IntrospectKind::Completions => COMPLETE_TIMEOUT,
        IntrospectKind::Object => INSPECT_TIMEOUT,
    }
}

fn refused(state: &StateId, kind: Kind, why: impl Into<String>) -> Reply {
    Reply::Refused(Problem::new(
        kind,
        format!("answer a question about state {state}"),
        why,
        "go on, and ask again",
    ))
}
