//! Presence: which clients look at the notebook, and at which states. Presence is not saved.

use super::core::{Core, not_found};
use super::effect::{Alarm, Ticket};
use crate::notebook::{AgentStatus, Caret, Live, Participant, Reply, StateId};
use crate::problem::{Kind, Problem};
use crate::session::permit::Scope;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of clients in the list. Each change sends the whole list to every client.
const MAX_PARTICIPANTS: usize = 100;
/// The shortest time between two presence events. Without this limit, each key press in the graph
/// would send an event.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// The number of one client: a WebSocket or an agent. Numbers are not reused while the notebook is
/// open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) struct Visitor(pub(in crate::session) u64);

/// Which state a client looks at.
#[derive(Clone, Debug)]
pub(in crate::session) struct Standing {
    pub(in crate::session) scope: Scope,
    /// The same for all visits of one browser or one agent.
    pub(in crate::session) identity: Arc<str>,
    /// The state that the client looks at.
    pub(in crate::session) state: StateId,
    /// The name that the client's user has chosen.
    pub(in crate::session) name: Option<String>,
    /// The user's caret in a draft.
    pub(in crate::session) caret: Option<Caret>,
    /// The cell that has the user's focus.
    pub(in crate::session) cell: Option<String>,
    /// The participant whom the client follows.
    pub(in crate::session) follows: Option<String>,
    /// Set if the client is an agent.
    pub(in crate::session) agent: Option<AgentStatus>,
}

/// The clients that look at the notebook, and the list that was last published.
#[derive(Debug, Default)]
pub(super) struct Presence {
    /// In the order of arrival.
    pub(super) participants: Vec<Participant>,
    /// The numbers of visitors that are not the owner, by identity. No two have the same number.
    /// One that has left keeps its number until somebody else needs it.
    numbers: BTreeMap<Arc<str>, usize>,
    published: Vec<Participant>,
    /// When presence was last published, in milliseconds since the Unix epoch.
    published_at: f64,
    /// Whether an alarm is set to publish presence again.
    is_due: bool,
}

impl Presence {
    /// Notes which state a client looks at.
    pub(super) fn stand(&mut self, core: &mut Core, ticket: Ticket, visitor: Visitor, standing: Standing) {
        let Standing { scope, identity, state, name, caret, cell, follows, agent } = standing;
        if core.notebook.state(&state).is_none() {
            return core.answer(ticket, Reply::Refused(not_found("state", state)));
        }
        let id = id_of(visitor);
        let has_room = self.participants.len() < MAX_PARTICIPANTS;
        match self.participants.iter_mut().find(|one| one.id == id) {
            Some(one) => {
                (one.state, one.name, one.caret) = (state, name, caret);
                (one.cell, one.follows, one.agent) = (cell, follows, agent);
            }
            None if has_room => {
                let is_owner = scope == Scope::Owner && agent.is_none();
                let number = if is_owner { 0 } else { self.number_of(&identity) };
                self.participants.push(Participant {
                    id: id.clone(),
                    number,
                    name,
                    scope: scope.word().to_owned(),
                    state,
                    caret,
                    cell,
                    follows,
                    agent,
                });
            }
            // The list is full. The client is added at its next report, if there is space by then.
            None => {}
        }
        self.changed(core);
        core.answer(ticket, Reply::Standing { id });
    }

    /// The number of a visitor that is not the owner: that of its last visit, or else the lowest
    /// that nobody present has.
    fn number_of(&mut self, identity: &Arc<str>) -> usize {
        if let Some(number) = self.numbers.get(identity) {
            return *number;
        }
        let taken: BTreeSet<usize> = self.participants.iter().map(|one| one.number).collect();
        let number = (1..).find(|number| !taken.contains(number)).unwrap_or_default();
        self.numbers.retain(|_, other| *other != number);
        self.numbers.insert(identity.clone(), number);
        number
    }

    /// Handles the disconnection of a client.
    pub(super) fn visitor_left(&mut self, core: &mut Core, visitor: Visitor) {
        let id = id_of(visitor);
        self.participants.retain(|one| one.id != id);
        self.changed(core);
    }

    /// Moves the clients that look at a deleted state to another state.
    pub(super) fn move_away(&mut self, core: &mut Core, to: &StateId, is_gone: impl Fn(&StateId) -> bool) {
        for participant in self.participants.iter_mut().filter(|one| is_gone(&one.state)) {
            participant.state.clone_from(to);
        }
        self.changed(core);
    }

    /// Publishes presence now. If presence was published less than `TELL_EVERY` ago, publishes it
    /// after that time.
    fn changed(&mut self, core: &mut Core) {
        if self.is_due || self.published == self.participants {
            return;
        }
        // The clock may have been set back.
        let passed = (core.now_ms - self.published_at).max(0.0);
        match TELL_EVERY.checked_sub(Duration::from_secs_f64(passed / 1000.0)) {
            Some(wait) if !wait.is_zero() => {
                self.is_due = true;
                core.wake(wait, Alarm::Presence);
            }
            _ => self.publish_now(core),
        }
    }

    /// Publishes presence if it differs from the last published list.
    pub(super) fn publish_now(&mut self, core: &mut Core) {
        self.is_due = false;
        if self.published == self.participants {
            return;
        }
        let participants = self.participants.clone();
        self.published.clone_from(&participants);
        self.published_at = core.now_ms;
        core.publish(Live::PresenceChanged { participants });
    }
}

fn id_of(Visitor(number): Visitor) -> String {
    format!("v{number}")
}

/// The refusal of a presence report that was sent in an HTTP request.
pub(super) fn needs_a_socket() -> Problem {
    let why = "presence needs an open WebSocket, and a request ends with its answer";
    Problem::new(
        Kind::BadRequest,
        "show presence at a state",
        why,
        "send the command over the notebook's WebSocket, /ws/NAME",
    )
}
