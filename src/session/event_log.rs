//! The stream of events. Events are numbered without gaps, kept for some time, and sent to all
//! subscribers.
//!
//! A client that reconnects sends the number of the last event that it received, and gets all later
//! events. If those events are no longer kept, or the number is from an earlier opening of the
//! notebook, the client gets a snapshot. A client that is too slow is disconnected, and reconnects
//! in the same way. So slow clients, sleeping computers and server restarts need only one way to
//! recover.

use super::{Missed, Position, Since, Subscription};
use crate::notebook::{Event, Fact, Snapshot};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Maximum size, in bytes, of the events that are kept for clients that reconnect.
const MAX_KEPT_BYTES: usize = 8 * 1024 * 1024;
/// Maximum number of messages in the queue of one client.
const MAX_WAITING: usize = 1024;

#[derive(Serialize)]
struct Stamped<'a, T> {
    epoch: &'a str,
    seq: u64,
    #[serde(flatten)]
    what: T,
}

/// The events since the notebook was opened.
pub(super) struct EventLog {
    epoch: String,
    seq: u64,
    kept: VecDeque<Arc<str>>,
    kept_bytes: usize,
    clients: Vec<mpsc::Sender<Arc<str>>>,
}

impl EventLog {
    /// An empty log.
    pub(super) fn new() -> Self {
        let epoch = uuid::Uuid::new_v4().simple().to_string();
        Self { epoch, seq: 0, kept: VecDeque::new(), kept_bytes: 0, clients: Vec::new() }
    }

    /// Numbers an event, keeps it, and sends it to all subscribers. Returns the event's number.
    pub(super) fn publish(&mut self, event: &Event) -> u64 {
        if matches!(event, Event::Fact(Fact::Reset { .. })) {
            // After a reset, a snapshot is shorter than what happened before.
            self.kept.clear();
            self.kept_bytes = 0;
        }
        self.seq += 1;
        let text = text_of(&Stamped { epoch: &self.epoch, seq: self.seq, what: event });
        self.kept_bytes += text.len();
        self.kept.push_back(text.clone());
        while self.kept_bytes > MAX_KEPT_BYTES
            && let Some(oldest) = self.kept.pop_front()
        {
            self.kept_bytes -= oldest.len();
        }
        // Removes clients whose queue is full or closed.
        self.clients.retain(|client| client.try_send(text.clone()).is_ok());
        self.seq
    }

    /// Adds a subscriber. The subscription begins with the events after `since`, or with a
    /// snapshot.
    pub(super) fn subscribe(&mut self, since: &Since, snapshot: impl FnOnce() -> Snapshot) -> Subscription {
        let missed = match since {
            Since::Beginning => None,
            Since::Position(position) => self.after(position),
            Since::Now => Some(Vec::new()),
        };
        let missed = missed.map(Missed::Events);
        let missed = missed.unwrap_or_else(|| {
            let before = format!(r#"{{"epoch":"{}","seq":{},"snapshot":"#, self.epoch, self.seq);
            Missed::Whole(Box::new(snapshot().into_pieces(&before, "}")))
        });
        // Removes clients that have disconnected since the last event.
        self.clients.retain(|client| !client.is_closed());
        let (client, events) = mpsc::channel(MAX_WAITING);
        self.clients.push(client);
        Subscription { epoch: self.epoch.clone(), missed, events }
    }

    fn after(&self, position: &Position) -> Option<Vec<Arc<str>>> {
        let first_kept = self.seq + 1 - self.kept.len() as u64;
        let is_known =
            position.epoch == self.epoch && position.seq <= self.seq && position.seq + 1 >= first_kept;
        let skip = usize::try_from((position.seq + 1).checked_sub(first_kept)?).ok()?;
        is_known.then(|| self.kept.iter().skip(skip).cloned().collect())
    }
}

fn text_of<T: Serialize>(message: &T) -> Arc<str> {
    serde_json::to_string(message).expect("plain data is serialised into memory").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::{Live, Notebook, StateId};

    fn event(n: usize) -> Event {
        let on = StateId::new(format!("{n}"));
        Fact::DraftsChanged { on, removed: Vec::new(), put: Vec::new() }.into()
    }

    fn whole(missed: Missed) -> String {
        match missed {
            Missed::Whole(pieces) => pieces.collect(),
            Missed::Events(_) => panic!("no snapshot"),
        }
    }

    fn snapshot() -> Snapshot {
        Notebook::new("n", 0.0).snapshot(Vec::new())
    }

    #[test]
    fn facts_and_live_events_are_one_flat_object() {
        let mut log = EventLog::new();
        let mut client = log.subscribe(&Since::Beginning, snapshot).events;
        log.publish(&event(1));
        log.publish(&Live::StateSaved { state: StateId::root() }.into());
        let mut next = || client.try_recv().expect("an event").replace(&log.epoch, "E");
        let put = r#""event":"drafts_changed","on":"1","removed":[],"put":[]}"#;
        assert_eq!(next(), format!(r#"{{"epoch":"E","seq":1,{put}"#));
        assert_eq!(next(), r#"{"epoch":"E","seq":2,"event":"state_saved","state":"initial"}"#);
    }

    #[test]
    fn a_client_that_comes_back_gets_exactly_the_rest() {
        let mut log = EventLog::new();
        for n in 1..=5 {
            log.publish(&event(n));
        }
        for seen in 0..=5 {
            let position = Position { epoch: log.epoch.clone(), seq: seen };
            let missed = log.subscribe(&Since::Position(position), || panic!("no snapshot is needed")).missed;
            let Missed::Events(missed) = missed else { panic!("a snapshot") };
            assert_eq!(missed.len() as u64, 5 - seen);
            assert!(missed.iter().zip(seen + 1..).all(|(m, n)| m.contains(&format!("\"seq\":{n},"))));
        }
    }

    #[test]
    fn a_position_that_is_not_known_gets_a_snapshot() {
        let mut log = EventLog::new();
        log.publish(&event(1));
        let other = Position { epoch: "other".into(), seq: 1 };
        let future = Position { epoch: log.epoch.clone(), seq: 9 };
        for since in [Since::Beginning, Since::Position(other), Since::Position(future)] {
            let whole = whole(log.subscribe(&since, snapshot).missed);
            let json: serde_json::Value = serde_json::from_str(&whole).expect("JSON");
            assert_eq!((&json["seq"], &json["epoch"]), (&1.into(), &log.epoch.as_str().into()));
            assert_eq!(json["snapshot"], serde_json::to_value(snapshot()).expect("JSON"));
        }
    }

    #[test]
    fn a_client_that_begins_now_gets_neither_a_snapshot_nor_earlier_events() {
        let mut log = EventLog::new();
        log.publish(&event(1));
        let mut client = log.subscribe(&Since::Now, || panic!("no snapshot is needed"));
        assert!(matches!(client.missed, Missed::Events(events) if events.is_empty()));
        log.publish(&event(2));
        assert!(client.events.try_recv().is_ok_and(|text| text.contains(r#""seq":2,"#)));
    }

    #[test]
    fn nothing_from_before_a_reset_is_kept() {
        let mut log = EventLog::new();
        (1..=3).for_each(|n| _ = log.publish(&event(n)));
        log.publish(&Fact::Reset { notebook: snapshot() }.into());
        let mut missed = |seq| {
            let position = Position { epoch: log.epoch.clone(), seq };
            log.subscribe(&Since::Position(position), snapshot).missed
        };
        assert!(whole(missed(2)).contains("snapshot"));
        assert!(matches!(missed(3), Missed::Events(events) if events.len() == 1));
        assert_eq!(log.kept.len(), 1);
    }

    #[test]
    fn old_events_are_dropped() {
        let mut log = EventLog::new();
        let big = StateId::new("x".repeat(MAX_KEPT_BYTES / 2));
        for _ in 0..3 {
            let on = big.clone();
            log.publish(&Fact::DraftsChanged { on, removed: Vec::new(), put: Vec::new() }.into());
        }
        let position = Position { epoch: log.epoch.clone(), seq: 0 };
        assert!(whole(log.subscribe(&Since::Position(position), snapshot).missed).contains("snapshot"));
    }

    #[test]
    fn clients_that_left_leave_nothing_behind() {
        let mut log = EventLog::new();
        let stays = log.subscribe(&Since::Beginning, snapshot);
        for _ in 0..40_000 {
            drop(log.subscribe(&Since::Beginning, snapshot));
            assert!(log.clients.len() <= 3);
        }
        log.publish(&event(1));
        assert_eq!((log.clients.len(), stays.events.len()), (1, 1));
    }

    #[test]
    fn a_slow_client_is_disconnected_and_the_others_are_not() {
        let mut log = EventLog::new();
        let mut slow = log.subscribe(&Since::Beginning, snapshot);
        let mut quick = log.subscribe(&Since::Beginning, snapshot);
        for n in 0..=MAX_WAITING {
            log.publish(&event(n));
            assert!(quick.events.try_recv().is_ok());
        }
        assert_eq!(log.clients.len(), 1);
        let mut got = 0;
        while slow.events.try_recv().is_ok() {
            got += 1;
        }
        assert_eq!(got, MAX_WAITING);
    }
}
