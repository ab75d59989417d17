//! Tests of presence: when changes are published, and how often.

use super::{Input, Standing, Ticket, Visitor, machine, play};
use crate::notebook::{Event, Live, StateId};
use crate::session::machine::Effect;
use crate::session::permit::Scope;
use expect_test::expect;

#[test]
fn presence_is_published_and_ends_with_the_client() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 ok
            answer 3: a Ok s1
            p2 forks p3, frozen
        v1 stands initial
            people: [v1@initial]
            answer 6: is v1
        v2 stands s1
            people: [v1@initial v2@s1]
            answer 7: is v2
        v1 stands s1
            people: [v1@s1 v2@s1]
            answer 8: is v1
        v1 stands nowhere
            answer 9: refused, not_found: find state nowhere: this notebook has none with this id
        stand s1
            answer 10: refused, bad_request: show presence at a state: presence needs an open WebSocket, and a request ends with its answer
        v1 leaves
            people: [v2@s1]
        v3 leaves
        initial
        └─ s1 (a) Freezing
    "#]].assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 ok
         v1 stands initial
         v2 stands s1
         v1 stands s1
         v1 stands nowhere
         stand s1
         v1 leaves
         v3 leaves",
    ));
}

#[test]
fn clients_at_a_deleted_state_move_to_its_nearest_ancestor() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 ok
            answer 3: a Ok s1
            p2 forks p3, frozen
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 6: b Ok s2
            p2 forks p4, frozen
        v1 stands s2
            people: [v1@s2]
            answer 9: is v1
        v2 stands initial
            people: [v1@s2 v2@initial]
            answer 10: is v2
        delete s1
            kill p3
            s1 is in Deleted
            answer 11: done
        delete s2
            kill p4
            kill p2
            people: [v1@initial v2@initial]
            removed [s2 s1] [b a]
            answer 12: done
        v1 stands initial
            answer 13: is v1
        reset
            end what cells have started
            all was reset
            answer 14: done
        initial
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 ok
         run b on s1
         p2 began
         p2 ok
         v1 stands s2
         v2 stands initial
         delete s1
         delete s2
         v1 stands initial
         reset",
    ));
}

/// The first change is published immediately. All changes shortly after it are published together
/// in one event.
#[test]
fn quick_moves_are_published_together() {
    let mut machine = machine();
    let mut stand = |at_ms: f64, input: Input| {
        let told = |effect: &Effect| match effect {
            Effect::Publish(event) => {
                matches!(**event, Event::Live(Live::PresenceChanged { .. })).then_some("told")
            }
            Effect::Wake(..) => Some("later"),
            _ => None,
        };
        machine.step(at_ms, input).iter().filter_map(told).collect::<Vec<_>>()
    };
    let step = |who: u64| {
        let standing = Standing {
            scope: Scope::View,
            identity: format!("{who}").into(),
            state: StateId::root(),
            name: Some(format!("{who}")),
            caret: None,
            cell: None,
            follows: None,
            agent: None,
        };
        Input::Stand(Ticket(1), Visitor(who), standing)
    };
    assert_eq!(stand(1000.0, step(1)), ["told"]);
    assert_eq!(stand(1010.0, step(2)), ["later"]);
    assert_eq!(stand(1020.0, step(3)), [""; 0]);
    assert_eq!(stand(1030.0, Input::Left(Visitor(3))), [""; 0]);
    assert_eq!(stand(1100.0, Input::AlarmDue(super::Alarm::Presence)), ["told"]);
    assert_eq!(stand(1300.0, step(2)), [""; 0], "nothing has changed");
    for who in 3..200 {
        stand(2000.0 + 1000.0 * who as f64, step(who));
    }
    assert_eq!(machine.snapshot().participants.len(), 100);
}
