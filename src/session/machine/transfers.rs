//! Variables of other states for a cell: throw-away forks of those states send them through pipes that the tree has made.
//!
//! Nobody waits for a sender. What it sends the head reads before its cell runs; a sender that dies, or never comes to be,
//! ends its pipe, and the head says so.

use super::{Alarm, Effect, Machine};
use crate::kernel::{Cell, Delivery, ProcId, Wanted};
use crate::notebook::{ExecId, Reading, Rebuild, StateId, StateRef};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a process that sends may take to come to be. Loading its state does not count.
const SENDER_TIMEOUT: Duration = Duration::from_secs(15);

/// A process that sends variables.
#[derive(Debug)]
struct Sender {
    state: StateId,
    run: ExecId,
    is_there: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Senders(BTreeMap<ProcId, Sender>);

impl Senders {
    /// The state that a process is to send variables of, while it is not there.
    pub(super) fn coming_from(&self, process: ProcId) -> Option<&StateId> {
        self.0.get(&process).filter(|sender| !sender.is_there).map(|sender| &sender.state)
    }

    /// Whether some process sends, or is to send, variables of a state.
    pub(super) fn are_at(&self, state: &StateId) -> bool {
        self.0.values().any(|sender| &sender.state == state)
    }
}

impl Machine {
    /// Has a head run a cell, with the variables of other states that it is to have.
    pub(super) fn run_on(&mut self, head: ProcId, exec_id: ExecId, code: String, allow_stdin: bool) {
        let request = self.requests.get(&exec_id);
        let (weighs, tells_symbols) =
            request.map_or((false, false), |r| (r.weighing.is_some(), r.spec.with_outputs));
        let deliveries = self.deliveries(&exec_id, &code);
        let cell = Cell { exec_id, code, allow_stdin, weighs, tells_symbols, deliveries };
        self.effects.push(Effect::Run { head, cell });
    }

    fn deliveries(&mut self, exec_id: &ExecId, code: &str) -> Vec<(Delivery, Option<ProcId>)> {
        self.end_senders(exec_id);
        let reads = self.requests.get(exec_id).and_then(|request| request.spec.reads.clone());
        if let Some(reads) = reads {
            let deliver = |Reading { alias, state, is_named }| {
                let StateRef::Id(state) = state else { return None };
                let wanted = Wanted::For { alias: alias.clone(), code: code.to_owned() };
                let sender = if is_named { self.send_from(&state, exec_id, wanted) } else { None };
                Some((delivery(alias, &state, is_named), sender))
            };
            return reads.into_iter().filter_map(deliver).collect();
        }
        let Some(Rebuild { from, take, .. }) = Rebuild::read(code) else { return Vec::new() };
        // Without it the cell says that the other state is not there.
        let sender = self.send_from(&from, exec_id, Wanted::Names { names: take });
        sender.map(|sender| (delivery(String::new(), &from, true), Some(sender))).into_iter().collect()
    }

    fn send_from(&mut self, state: &StateId, run: &ExecId, wanted: Wanted) -> Option<ProcId> {
        self.runnable(state).ok()?;
        let from = self.source_of(state)?;
        self.memory.note_used(state);
        let child = self.new_proc();
        self.senders.0.insert(child, Sender { state: state.clone(), run: run.clone(), is_there: false });
        self.effects.push(Effect::Send { from, child, wanted });
        self.effects.push(Effect::Wake(SENDER_TIMEOUT, Alarm::Sending(child)));
        Some(child)
    }

    /// A process is there; if it is to send, it does so now.
    pub(super) fn is_sending(&mut self, process: ProcId) {
        if let Some(sender) = self.senders.0.get_mut(&process) {
            sender.is_there = true;
        }
    }

    /// A process should be sending.
    pub(super) fn is_not_sending(&mut self, process: ProcId) {
        if self.waits_for_a_load(process) {
            self.effects.push(Effect::Wake(SENDER_TIMEOUT, Alarm::Sending(process)));
        } else if self.senders.coming_from(process).is_some() {
            self.senders.0.remove(&process);
            self.effects.push(Effect::Kill(process));
        }
    }

    /// A process has sent what it was to send, or has died; false when it was none of these.
    pub(super) fn has_sent(&mut self, process: ProcId) -> bool {
        self.senders.0.remove(&process).is_some()
    }

    /// A run needs nothing any more.
    pub(super) fn end_senders(&mut self, run: &ExecId) {
        self.end_senders_where(|sender| &sender.run == run);
    }

    /// A state's process is gone before its senders came to be.
    pub(super) fn end_senders_at(&mut self, state: &StateId) {
        self.end_senders_where(|sender| &sender.state == state && !sender.is_there);
    }

    fn end_senders_where(&mut self, is_over: impl Fn(&Sender) -> bool) {
        let over: Vec<ProcId> = self
            .senders
            .0
            .iter()
            .filter(|(_, sender)| is_over(sender))
            .map(|(process, _)| *process)
            .collect();
        for process in over {
            self.senders.0.remove(&process);
            self.effects.push(Effect::Kill(process));
        }
    }
}

fn delivery(alias: String, state: &StateId, comes: bool) -> Delivery {
    Delivery { alias, state: state.as_str().to_owned(), comes }
}
