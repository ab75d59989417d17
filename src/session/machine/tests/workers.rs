//! Tests of runs at workers: each run takes exactly one result.

use super::{Budget, machine_with, play, play_on};
use expect_test::{Expect, expect};

/// A notebook whose state s1 has the checkpoint c1.
const SAVED: &str = "
    open
    p1 ready
    run a
    p2 ready
    p2 began
    p2 ok
    p3 ready
    p4 saved c1
    kept s1
";

fn check(script: &str, expected: &Expect) {
    let machine = machine_with(Budget { workers: true, ..Budget::default() }, true);
    let text = play_on(machine, &format!("{SAVED}{script}"));
    let (_, shown) = text.split_once("kept s1\n").expect("the beginning");
    expected.assert_eq(shown);
}

#[test]
fn a_run_at_workers_shows_what_it_prints_and_its_state_is_on_disk() {
    let script = "
        run b on s1 at workers
        worker b begins
        worker b prints one
        worker b ok onetwo
        kept s2
    ";
    check(
        script,
        &expect![[r#"
            s1 is in Memory
        run b on s1 at workers
            send b on c-s1
        worker b begins
            b began
        worker b prints one
            b printed "one"
        worker b ok onetwo
            b printed "two"
            keep checkpoint c-there of s2
        kept s2
            s2 is in Disk
            recall b
            answer 10: b Ok s2
        initial
        └─ s1 (a)
           └─ s2 (b) Disk
    "#]],
    );
}

#[test]
fn a_result_is_taken_once_and_late_reports_change_nothing() {
    let script = "
        run b on s1 at workers
        worker b ok one
        worker b ok two
        kept s2
        worker b ok three
        worker b prints four
        worker b is lost
        worker b begins
    ";
    check(
        script,
        &expect![[r#"
            s1 is in Memory
        run b on s1 at workers
            send b on c-s1
        worker b ok one
            b began
            b printed "one"
            keep checkpoint c-there of s2
        worker b ok two
        kept s2
            s2 is in Disk
            recall b
            answer 10: b Ok s2
        worker b ok three
        worker b prints four
        worker b is lost
        worker b begins
        initial
        └─ s1 (a)
           └─ s2 (b) Disk
    "#]],
    );
}

#[test]
fn a_second_attempt_replaces_what_the_first_has_shown() {
    let script = "
        run b on s1 at workers
        worker b begins
        worker b prints one
        worker b begins
        worker b prints uno
        worker b replaces due
        worker b ok due
        kept s2
    ";
    check(
        script,
        &expect![[r#"
            s1 is in Memory
        run b on s1 at workers
            send b on c-s1
        worker b begins
            b began
        worker b prints one
            b printed "one"
        worker b begins
            b cleared
        worker b prints uno
            b printed "uno"
        worker b replaces due
            b cleared
            b printed "due"
        worker b ok due
            keep checkpoint c-there of s2
        kept s2
            s2 is in Disk
            recall b
            answer 10: b Ok s2
        initial
        └─ s1 (a)
           └─ s2 (b) Disk
    "#]],
    );
}

#[test]
fn an_interrupt_ends_the_run_and_recalls_it() {
    let script = "
        run b on s1 at workers
        worker b begins
        interrupt b
        worker b ok one
        run c on s1 at workers
        interrupt c
    ";
    check(
        script,
        &expect![[r#"
            s1 is in Memory
        run b on s1 at workers
            send b on c-s1
        worker b begins
            b began
        interrupt b
            recall b
            answer 10: b Interrupted KeyboardInterrupt: the run was stopped at its worker
            answer 12: interrupted true
        worker b ok one
        run c on s1 at workers
            send c on c-s1
        interrupt c
            recall c
            answer 14: c Interrupted KeyboardInterrupt: the run was stopped before it began
            answer 15: interrupted true
        initial
        └─ s1 (a)
           ├─ × b Interrupted
           └─ × c Interrupted
    "#]],
    );
}

#[test]
fn runs_that_fail_leave_no_state_unless_they_keep_it() {
    let script = "
        run b on s1 at workers
        worker b raises ValueError
        run c on s1 at workers
        worker c is lost
        run d on s1 at workers
        worker d keeps ValueError
        kept s2
    ";
    check(
        script,
        &expect![[r#"
            s1 is in Memory
        run b on s1 at workers
            send b on c-s1
        worker b raises ValueError
            b began
            recall b
            answer 10: b Error ValueError: message
        run c on s1 at workers
            send c on c-s1
        worker c is lost
            recall c
            answer 12: c Error WorkerFailed: the workers died
        run d on s1 at workers
            send d on c-s1
        worker d keeps ValueError
            d began
            keep checkpoint c-there of s2
        kept s2
            s2 is in Disk
            recall d
            answer 14: d Error s2 ValueError: message
        initial
        └─ s1 (a)
           ├─ s2 (d, partial) Disk
           ├─ × b Error
           └─ × c Error
    "#]],
    );
}

#[test]
fn a_result_that_the_store_cannot_keep_comes_back_by_a_replay() {
    let script = "
        run b on s1 at workers
        worker b ok one
        unkept s2
    ";
    check(
        script,
        &expect![[r#"
            s1 is in Memory
        run b on s1 at workers
            send b on c-s1
        worker b ok one
            b began
            b printed "one"
            keep checkpoint c-there of s2
        unkept s2
            b is warned: its checkpoint could not be stored, so it comes back by a replay: the disk is full
            recall b
            answer 10: b Ok s2
        initial
        └─ s1 (a)
           └─ s2 (b) Replay
    "#]],
    );
}

#[test]
fn a_state_without_a_checkpoint_is_saved_first() {
    let script = "
        run b on s1
        p2 began
        p2 ok
        run c on s2 at workers
        p5 ready
        p6 saved c2
        kept s2
    ";
    check(
        script,
        &expect![[r#"
            s1 is in Memory
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 10: b Ok s2
            p2 forks p5, frozen
        run c on s2 at workers
            p5 forks p6, save(environment)
            s2 saving: Writing { percent: 0 }
        p5 ready
            s2 is in Memory
        p6 saved c2
            keep checkpoint c2 of s2
        kept s2
            s2 is in Memory
            send c on c-s2
        initial
        └─ s1 (a)
           └─ s2 (b)
              └─ × c Queued
    "#]],
    );
}

#[test]
fn tasks_stay_at_the_workers_when_the_notebook_is_closed() {
    let script = "
        run b on s1 at workers
        worker b begins
        closing
    ";
    check(
        script,
        &expect![[r#"
            s1 is in Memory
        run b on s1 at workers
            send b on c-s1
        worker b begins
            b began
        closing
            answer 10: b Interrupted KeyboardInterrupt: interrupted by server stop
        initial
        └─ s1 (a)
           └─ × b Interrupted
    "#]],
    );
}

#[test]
fn a_reset_recalls_all_runs_and_forgets_results() {
    let script = "
        run b on s1 at workers
        worker b ok one
        reset
        kept s2
    ";
    check(
        script,
        &expect![[r#"
            s1 is in Memory
        run b on s1 at workers
            send b on c-s1
        worker b ok one
            b began
            b printed "one"
            keep checkpoint c-there of s2
        reset
            recall b
            answer 10: b Interrupted s2 KeyboardInterrupt: the notebook was reset
            end what cells have started
            kill p2
            kill p3
            all was reset
            answer 12: done
        kept s2
        initial
    "#]],
    );
}

#[test]
fn a_server_without_workers_refuses() {
    let shown = play("open\nrun a at workers");
    expect![[r#"
        open
            plant p1
        run a at workers
            answer 2: refused, conflict: run a: this server has no workers
        initial Freezing
    "#]]
    .assert_eq(&shown);
}
