//! Who looks at the notebook, and where they stand. Nothing of it is kept: whoever has left is forgotten.

use super::{Alarm, Effect, Machine, Ticket, not_found};
use crate::notebook::{Caret, Live, Participant, Reply, StateId};
use crate::problem::{Kind, Problem};
use std::time::Duration;

/// How many people are shown at most. Each change sends all of them to everybody.
const MAX_PEOPLE: usize = 100;
/// How often it is told where people stand: somebody who walks the graph by keys would make an event for each.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// One client: a socket. Its number is not used again while the notebook is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) struct Visitor(pub(in crate::session) u64);

/// Where a client says that it stands.
#[derive(Clone, Debug)]
pub(in crate::session) struct Standing {
    /// What it may do: `owner`, `run` or `view`.
    pub(in crate::session) scope: &'static str,
    /// The state.
    pub(in crate::session) state: StateId,
    /// What its user wants to be called.
    pub(in crate::session) name: Option<String>,
    /// Its caret in a draft.
    pub(in crate::session) caret: Option<Caret>,
}

/// What was told about people.
#[derive(Debug, Default)]
pub(super) struct Presence {
    told: Vec<Participant>,
    /// When that was, in milliseconds since the Unix epoch.
    told_at: f64,
    /// Whether it will be told again when the alarm rings.
    is_due: bool,
}

impl Machine {
    /// A client says where it stands: for the first time, or anew.
    pub(super) fn stand(&mut self, ticket: Ticket, visitor: Visitor, standing: Standing) {
        let Standing { scope, state, name, caret } = standing;
        if self.notebook.state(&state).is_none() {
            return self.answer(ticket, Reply::Refused(not_found("state", state)));
        }
        let id = id_of(visitor);
        let people = self.notebook.people_mut();
        let has_room = people.len() < MAX_PEOPLE;
        match people.iter_mut().find(|person| person.id == id) {
            Some(person) => (person.state, person.name, person.caret) = (state, name, caret),
            None if has_room => {
                people.push(Participant { id: id.clone(), name, scope: scope.to_owned(), state, caret });
            }
            // It stands there all the same, and is shown when there is room and it goes on.
            None => {}
        }
        self.people_changed();
        self.answer(ticket, Reply::Standing { id });
    }

    /// A client is gone.
    pub(super) fn visitor_left(&mut self, visitor: Visitor) {
        let id = id_of(visitor);
        self.notebook.people_mut().retain(|person| person.id != id);
        self.people_changed();
    }

    /// Whoever stands at a state that is gone stands at another now.
    pub(super) fn move_people(&mut self, to: &StateId, is_gone: impl Fn(&StateId) -> bool) {
        for person in self.notebook.people_mut().iter_mut().filter(|person| is_gone(&person.state)) {
            person.state.clone_from(to);
        }
        self.people_changed();
    }

    /// Tells where people stand, now or, when that was told a moment ago, in a moment.
    fn people_changed(&mut self) {
        if self.presence.is_due || self.presence.told == self.notebook.participants() {
            return;
        }
        // A clock that was set back must not silence us.
        let passed = (self.now_ms - self.presence.told_at).max(0.0);
        match TELL_EVERY.checked_sub(Duration::from_secs_f64(passed / 1000.0)) {
            Some(wait) if !wait.is_zero() => {
                self.presence.is_due = true;
                self.effects.push(Effect::Wake(wait, Alarm::People));
            }
            _ => self.tell_people(),
        }
    }

    /// Tells where people stand, unless nothing has changed after all.
    pub(super) fn tell_people(&mut self) {
        self.presence.is_due = false;
        if self.presence.told == self.notebook.participants() {
            return;
        }
        let people = self.notebook.participants().to_vec();
        self.presence.told.clone_from(&people);
        self.presence.told_at = self.now_ms;
        self.publish(Live::PresenceChanged { participants: people });
    }
}

fn id_of(Visitor(number): Visitor) -> String {
    format!("v{number}")
}

/// Only who can leave can stand somewhere.
pub(super) fn needs_a_socket() -> Problem {
    let why = "whoever stands somewhere has to be there, and a request is gone when it is answered";
    Problem::new(Kind::BadRequest, "stand at a state", why, "say it over the notebook's WebSocket, /ws/NAME")
}
