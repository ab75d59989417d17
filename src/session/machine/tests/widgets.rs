//! Tests of messages to and from widgets.

use super::play;
use expect_test::expect;

const MADE: &str = "open
    p1 ready
    run a
    p2 ready
    p2 began
    p2 widget m=1
    p2 ok
    p3 ready
";

fn after(script: &str) -> String {
    let played = play(&format!("{MADE}{script}"));
    let from = played.find("p3 ready").unwrap_or_default();
    played[from..].to_owned()
}

#[test]
fn a_state_is_frozen_again_when_its_widgets_were_quiet() {
    expect![[r#"
        p3 ready
            s1 is in Memory
        widget m=2 at s1
            p2 gets a message for m
        p2 widget m=2
        widget m=3 at s1
            p2 gets a message for m
        p2 handled 1
            a changed widgets: m
            answer 9: handled
        p2 quiet 1
        p2 handled 2
            answer 11: handled
        p2 quiet 2
            kill p3
            s1 is in Freezing
            p2 forks p4, frozen
        p4 ready
            s1 is in Memory
        initial
        └─ s1 (a)
    "#]]
    .assert_eq(&after(
        "widget m=2 at s1
         p2 widget m=2
         widget m=3 at s1
         p2 handled 1
         p2 quiet 1
         p2 handled 2
         p2 quiet 2
         p4 ready",
    ));
}

#[test]
fn what_is_read_of_a_state_while_a_widget_changes_it_is_read_again() {
    expect![[r#"
        p3 ready
            s1 is in Memory
        alarm compare
            p1 forks p4, fingerprint
        p4 marks 1
            p3 forks p5, fingerprint
        digest s1
            p3 forks p6, digest
        widget m=2 at s1
            p2 gets a message for m
        p2 handled 1
            answer 12: handled
        p2 quiet 1
            kill p5
            kill p6
            answer 11: refused, busy: list the variables of state s1: a widget has changed the variables
            kill p3
            s1 is in Freezing
            p2 forks p7, frozen
        p7 ready
            s1 is in Memory
        alarm compare
            p7 forks p8, fingerprint
        p8 marks 1 x=2
            s1 changed [x] [] []
        initial
        └─ s1 (a)
    "#]]
    .assert_eq(&after(
        "alarm compare
         p4 marks 1
         digest s1
         widget m=2 at s1
         p2 handled 1
         p2 quiet 1
         p7 ready
         alarm compare
         p8 marks 1 x=2",
    ));
}

#[test]
fn a_run_waits_for_the_code_of_a_widget_and_sees_what_it_set() {
    expect![[r#"
        p3 ready
            s1 is in Memory
        widget m=2 at s1
            p2 gets a message for m
        run b on s1
        p2 handled 1
            answer 9: handled
            kill p3
            s1 is in Freezing
            p2 forks p4, frozen
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 10: b Ok s2
            p2 forks p5, frozen
        initial
        └─ s1 (a) Freezing
           └─ s2 (b) Freezing
    "#]]
    .assert_eq(&after(
        "widget m=2 at s1
         run b on s1
         p2 handled 1
         p2 began
         p2 ok",
    ));
}

#[test]
fn messages_wait_for_a_cell_and_go_to_the_state_that_it_left() {
    expect![[r#"
        p3 ready
            s1 is in Memory
        run b on s1
            p2 runs b
        p2 began
            b began
        widget m=2 at s1
        p2 ok
            answer 9: b Ok s2
            p2 forks p4, frozen
            p2 gets a message for m
        p2 handled 1
            answer 11: handled
        widget m=3 at s1
            answer 14: refused, conflict: use a widget: it is not live here: a cell has run after this state
        initial
        └─ s1 (a)
           └─ s2 (b) Freezing
    "#]]
    .assert_eq(&after(
        "run b on s1
         p2 began
         widget m=2 at s1
         p2 ok
         p2 handled 1
         widget m=3 at s1",
    ));
}

#[test]
fn after_a_failed_cell_a_new_head_handles_the_messages() {
    expect![[r#"
        p3 ready
            s1 is in Memory
        run b on s1
            p2 runs b
        p2 began
            b began
        widget m=2 at s1
        p2 raises ValueError having set
            b can be kept
            wake in 600 s: end what is held
            answer 9: b Error ValueError: message
            stop p2
            p3 forks p4, head
            p4 gets a message for m
        initial
        └─ s1 (a)
           └─ × b Error
    "#]]
    .assert_eq(&after(
        "run b on s1
         p2 began
         widget m=2 at s1
         p2 raises ValueError having set",
    ));
}

#[test]
fn if_the_process_dies_the_widgets_look_as_they_did() {
    expect![[r#"
        p3 ready
            s1 is in Memory
        widget m=2 at s1
            p2 gets a message for m
        run b on s1
        p2 widget m=2
        p2 gone
            answer 9: refused, kernel: use a widget: the process in which the code of the widget ran has ended
            a changed widgets: m
            a changed widgets: m
            p3 forks p4, head
            p4 runs b
        initial
        └─ s1 (a)
           └─ × b Queued
    "#]]
    .assert_eq(&after(
        "widget m=2 at s1
         run b on s1
         p2 widget m=2
         p2 gone",
    ));
}

#[test]
fn an_interrupt_reaches_the_code_of_a_widget_and_the_second_one_ends_its_process() {
    expect![[r#"
        p3 ready
            s1 is in Memory
        interrupt a
            answer 9: interrupted false
        widget m=2 at s1
            p2 gets a message for m
        interrupt a
            interrupt p2
            answer 11: interrupted true
        interrupt a
            kill p2
            answer 12: interrupted true
            answer 10: refused, kernel: use a widget: the process in which the code of the widget ran has ended
        initial
        └─ s1 (a)
    "#]].assert_eq(&after(
        "interrupt a
         widget m=2 at s1
         interrupt a
         interrupt a",
    ));
}

#[test]
fn messages_to_a_widget_that_is_not_live_are_refused() {
    expect![[r#"
        p3 ready
            s1 is in Memory
        widget m=2 at initial
            answer 9: refused, conflict: use a widget: it is not live here: no cell has run
        widget m=2 at nowhere
            answer 10: refused, not_found: find state nowhere: this notebook has none with this id
        widget m=2 at s1
            p2 gets a message for m
        p2 lacks 1
            answer 11: refused, conflict: use a widget: it is not live here: its process does not have this widget
        reset
            end what cells have started
            kill p2
            kill p3
            all was reset
            answer 13: done
        widget m=2 at s1
            answer 14: refused, not_found: find state s1: this notebook has none with this id
        initial
    "#]].assert_eq(&after(
        "widget m=2 at initial
         widget m=2 at nowhere
         widget m=2 at s1
         p2 lacks 1
         reset
         widget m=2 at s1",
    ));
}
