//! Tests of runs in series and in branches, and of runs that wait, fail, are interrupted or crash.

use super::play;
use expect_test::expect;

#[test]
fn a_straight_line_uses_one_head() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a
            p1 forks p2, head
            p2 runs a
        p2 ready
        p2 began
            a began
        p2 prints hello
            a printed "hello"
        p2 ok
            answer 3: a Ok s1
            p2 forks p3, frozen
        p3 ready
            s1 is in Memory
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 9: b Ok s2
            p2 forks p4, frozen
        p4 ready
            s2 is in Memory
        initial
        └─ s1 (a)
           └─ s2 (b)
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 ready
         p2 began
         p2 prints hello
         p2 ok
         p3 ready
         run b on s1
         p2 began
         p2 ok
         p4 ready",
    ));
}

#[test]
fn running_at_an_older_state_branches() {
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
        p3 ready
            s1 is in Memory
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 7: b Ok s2
            p2 forks p4, frozen
        p4 ready
            s2 is in Memory
        run c on s1
            p3 forks p5, head
            p5 runs c
        p5 ready
        p5 began
            c began
        p5 ok
            answer 11: c Ok s3
            p5 forks p6, frozen
        p6 ready
            s3 is in Memory
        run d on initial
            p1 forks p7, head
            p7 runs d
        initial
        ├─ s1 (a)
        │  ├─ s2 (b)
        │  └─ s3 (c)
        └─ × d Queued
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 ok
         p3 ready
         run b on s1
         p2 began
         p2 ok
         p4 ready
         run c on s1
         p5 ready
         p5 began
         p5 ok
         p6 ready
         run d on initial",
    ));
}

#[test]
fn a_failed_run_leaves_an_attempt_and_no_head() {
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
        p2 prints so_far
            a printed "so_far"
        p2 raises ValueError
            end p2 and what its cell has started
            kill p2
            answer 3: a Error ValueError: message
        p2 gone
        run b
            p1 forks p3, head
            p3 runs b
        p3 began
            b began
        p3 gone
            end p3 and what its cell has started
            answer 8: b Crashed KernelDied: the process of this cell was killed by SIGSEGV
        run c
            p1 forks p4, head
            p4 runs c
        p4 began
            c began
        p4 exits 3
            end p4 and what its cell has started
            answer 11: c Crashed KernelDied: the process of this cell exited with code 3
        drop a
            removed [] [a]
            answer 14: done
        drop a
            answer 15: refused, not_found: find failed run a: this notebook has none with this id
        initial
        ├─ × b Crashed
        └─ × c Crashed
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 prints so_far
         p2 raises ValueError
         p2 gone
         run b
         p3 began
         p3 gone
         run c
         p4 began
         p4 exits 3
         drop a
         drop a",
    ));
}

#[test]
fn a_run_after_another_waits_for_its_state() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        run b after a
        run c after b
        p2 began
            a began
        p2 ok
            answer 2: a Ok s1
            p2 forks p3, frozen
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 3: b Ok s2
            p2 forks p4, frozen
            p2 runs c
        p2 began
            c began
        p2 ok
            answer 4: c Ok s3
            p2 forks p5, frozen
        run d after a
            p3 forks p6, head
            p6 runs d
        run e after nobody
            answer 12: refused, not_found: find run nobody: this notebook has none with this id
        initial Freezing
        └─ s1 (a) Freezing
           ├─ s2 (b) Freezing
           │  └─ s3 (c) Freezing
           └─ × d Queued
    "#]]
    .assert_eq(&play(
        "open
         run a
         run b after a
         run c after b
         p2 began
         p2 ok
         p2 began
         p2 ok
         p2 began
         p2 ok
         run d after a
         run e after nobody",
    ));
}

#[test]
fn what_waits_for_a_failed_run_is_aborted() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        run b after a
        run c after b
        p2 began
            a began
        p2 raises KeyError
            end p2 and what its cell has started
            kill p2
            answer 2: a Error KeyError: message
            answer 3: b Interrupted RunAborted: the run before it left no state
            answer 4: c Interrupted RunAborted: the run before it left no state
        run d after a
            answer 7: refused, conflict: run the cell: the run that it waits for (a) left no state
        initial Freezing
        └─ × a Error
    "#]]
    .assert_eq(&play(
        "open
         run a
         run b after a
         run c after b
         p2 began
         p2 raises KeyError
         run d after a",
    ));
}

#[test]
fn the_same_exec_id_never_runs_twice() {
    expect![[r#"
        open
            plant p1
        run a as x
            p1 forks p2, head
            p2 runs a
        run a as x
            answer 3: refused, conflict: run a: a run with this exec_id has not ended yet
        p2 began
            a began
        p2 ok
            answer 2: a Ok s1 named x
            p2 forks p3, frozen
        run a as x
            answer 6: a Ok s1 named x
        run a as y
            answer 7: refused, conflict: run a: another request used this exec_id before
        run a on s1 as x
            answer 8: refused, conflict: run a: another request used this exec_id before
        run a as x code other
            answer 9: refused, conflict: run a: another request used this exec_id before
        initial Freezing
        └─ s1 “x” (a) Freezing
    "#]]
    .assert_eq(&play(
        "open
         run a as x
         run a as x
         p2 began
         p2 ok
         run a as x
         run a as y
         run a on s1 as x
         run a as x code other",
    ));
}

#[test]
fn an_interrupt_is_polite_first() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        interrupt a
            interrupt p2
            wake in 3 s: has a stopped?
            answer 4: interrupted true
        p2 raises KeyboardInterrupt
            end p2 and what its cell has started
            kill p2
            answer 2: a Interrupted KeyboardInterrupt: message
        interrupt a
            answer 6: interrupted false
        interrupt nobody
            answer 7: interrupted false
        run b
            p1 forks p3, head
            p3 runs b
        p3 began
            b began
        interrupt b
            interrupt p3
            wake in 3 s: has b stopped?
            answer 10: interrupted true
        p3 ok
            answer 8: b Ok s1
            p3 forks p4, frozen
        initial Freezing
        ├─ s1 (b) Freezing
        └─ × a Interrupted
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 began
         interrupt a
         p2 raises KeyboardInterrupt
         interrupt a
         interrupt nobody
         run b
         p3 began
         interrupt b
         p3 ok",
    ));
}

#[test]
fn a_cell_that_ignores_the_interrupt_is_killed() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        interrupt a
            interrupt p2
            wake in 3 s: has a stopped?
            answer 4: interrupted true
        alarm stopped a
            end p2 and what its cell has started
            kill p2
        p2 gone
            end p2 and what its cell has started
            answer 2: a Interrupted KeyboardInterrupt: the cell did not stop when it was interrupted, so its process was killed
        run b
            p1 forks p3, head
            p3 runs b
        p3 began
            b began
        interrupt b
            interrupt p3
            wake in 3 s: has b stopped?
            answer 9: interrupted true
        interrupt b
            end p3 and what its cell has started
            kill p3
            answer 10: interrupted true
        p3 gone
            end p3 and what its cell has started
            answer 7: b Interrupted KeyboardInterrupt: the cell did not stop when it was interrupted, so its process was killed
        alarm stopped b
        initial Freezing
        ├─ × a Interrupted
        └─ × b Interrupted
    "#]].assert_eq(&play(
        "open
         run a
         p2 began
         interrupt a
         alarm stopped a
         p2 gone
         run b
         p3 began
         interrupt b
         interrupt b
         p3 gone
         alarm stopped b",
    ));
}

#[test]
fn a_run_that_waits_is_stopped_at_once_and_one_that_was_ordered_when_it_begins() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        run b after a
        interrupt b
            answer 3: b Interrupted KeyboardInterrupt: the run was stopped before it began
            answer 4: interrupted true
        interrupt a
            wake in 3 s: has a stopped?
            answer 5: interrupted true
        p2 began
            a began
            interrupt p2
            wake in 3 s: has a stopped?
        p2 raises KeyboardInterrupt
            end p2 and what its cell has started
            kill p2
            answer 2: a Interrupted KeyboardInterrupt: message
        p2 gone
        run c
            p1 forks p3, head
            p3 runs c
        interrupt c
            wake in 3 s: has c stopped?
            answer 10: interrupted true
        alarm stopped c
            end p3 and what its cell has started
            kill p3
        p3 gone
            answer 9: c Interrupted KeyboardInterrupt: the cell did not stop when it was interrupted, so its process was killed
        initial Freezing
        ├─ × a Interrupted
        └─ × c Interrupted
    "#]]
    .assert_eq(&play(
        "open
         run a
         run b after a
         interrupt b
         interrupt a
         p2 began
         p2 raises KeyboardInterrupt
         p2 gone
         run c
         interrupt c
         alarm stopped c
         p3 gone",
    ));
}

#[test]
fn a_head_that_has_yet_to_freeze_its_state_is_not_killed_by_an_interrupt() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        p2 ready
        p2 began
            a began
        p2 ok
            answer 2: a Ok s1
            p2 forks p3, frozen
        run b on s1
            p2 runs b
        interrupt b
            wake in 3 s: has b stopped?
            answer 7: interrupted true
        interrupt b
            answer 8: interrupted true
        p3 ready
            s1 is in Memory
        p2 began
            b began
            interrupt p2
            wake in 3 s: has b stopped?
        p2 raises KeyboardInterrupt
            end p2 and what its cell has started
            kill p2
            answer 6: b Interrupted KeyboardInterrupt: message
        p2 gone
        initial Freezing
        └─ s1 (a)
           └─ × b Interrupted
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 ready
         p2 began
         p2 ok
         run b on s1
         interrupt b
         interrupt b
         p3 ready
         p2 began
         p2 raises KeyboardInterrupt
         p2 gone",
    ));
}

#[test]
fn a_run_beyond_its_limit_of_memory_is_killed() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a memory 100
            p1 forks p2, head
            p2 runs a
        p2 holds 1000 10
        p2 began
            wake in 50 ms: measure a
            a began
        alarm measure a
            measure a: p2 beside p1
        a measures 1050 60 40
            wake in 2000 ms: measure a
        alarm measure a
            measure a: p2 beside p1
        a measures 1050 60 51
            end p2 and what its cell has started
            kill p2
        p2 ok
            kill p2
            answer 3: a Interrupted RunOutOfMemory: the run was killed at its memory limit: it used 101 bytes more than its state, and the limit is 100 bytes. The state that it ran against has not changed
        run b memory 100
            p1 forks p3, head
            p3 runs b
        p3 holds 1000 10
        p3 began
            wake in 50 ms: measure b
            b began
        a measures 2000 2000 2000
        b measures 1000 1000 0 alone
            wake in 2000 ms: measure b
        b measures 1000 1000 0
            end p3 and what its cell has started
            kill p3
        p3 gone
            end p3 and what its cell has started
            answer 11: b Interrupted RunOutOfMemory: the run was killed at its memory limit: it used 990 bytes more than its state, and the limit is 100 bytes. The state that it ran against has not changed
        initial
        ├─ × a Interrupted
        └─ × b Interrupted
    "#]]
    .assert_eq(&play(
        "
        open
        p1 ready
        run a memory 100
        p2 holds 1000 10
        p2 began
        alarm measure a
        a measures 1050 60 40
        alarm measure a
        a measures 1050 60 51
        p2 ok
        run b memory 100
        p3 holds 1000 10
        p3 began
        a measures 2000 2000 2000
        b measures 1000 1000 0 alone
        b measures 1000 1000 0
        p3 gone
        ",
    ));
}

#[test]
fn a_time_limit_is_an_interrupt() {
    expect![[r#"
        open
            plant p1
        run a limit 5
            p1 forks p2, head
            p2 runs a
        p2 began
            wake in 5 s: the limit of a
            a began
        alarm limit a
            interrupt p2
            wake in 3 s: has a stopped?
        p2 raises KeyboardInterrupt
            end p2 and what its cell has started
            kill p2
            answer 2: a Interrupted RunTimeout: the run was stopped at its time limit of 5 s
        run b limit 5
            p1 forks p3, head
            p3 runs b
        p3 began
            wake in 5 s: the limit of b
            b began
        alarm limit b
            interrupt p3
            wake in 3 s: has b stopped?
        alarm stopped b
            end p3 and what its cell has started
            kill p3
        p3 gone
            end p3 and what its cell has started
            answer 6: b Interrupted RunTimeout: the run was stopped at its time limit of 5 s
        run c limit 5
            p1 forks p4, head
            p4 runs c
        p4 began
            wake in 5 s: the limit of c
            c began
        p4 ok
            answer 11: c Ok s1
            p4 forks p5, frozen
        alarm limit c
        initial Freezing
        ├─ s1 (c) Freezing
        ├─ × a Interrupted
        └─ × b Interrupted
    "#]]
    .assert_eq(&play(
        "open
         run a limit 5
         p2 began
         alarm limit a
         p2 raises KeyboardInterrupt
         run b limit 5
         p3 began
         alarm limit b
         alarm stopped b
         p3 gone
         run c limit 5
         p4 began
         p4 ok
         alarm limit c",
    ));
}

#[test]
fn input_is_asked_and_answered() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        answer a early
            answer 4: refused, conflict: answer run a: the run is not waiting for input
        p2 asks
            a asks "name?"
        answer a me
            p2 gets "me"
            a asks no more
            answer 6: done
        answer a again
            answer 7: refused, conflict: answer run a: the run is not waiting for input
        p2 ok
            answer 2: a Ok s1
            p2 forks p3, frozen
        initial Freezing
        └─ s1 (a) Freezing
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 began
         answer a early
         p2 asks
         answer a me
         answer a again
         p2 ok",
    ));
}

#[test]
fn displays_are_updated_where_they_were_shown() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 shows plot
            a showed something
        p2 updates plot
            a updated plot
        p2 clears
            a cleared
        p2 updates plot
            a showed something
        p2 ok
            answer 2: a Ok s1
            p2 forks p3, frozen
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 updates plot
            b showed something
        initial Freezing
        └─ s1 (a) Freezing
           └─ × b Running
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 began
         p2 shows plot
         p2 updates plot
         p2 clears
         p2 updates plot
         p2 ok
         run b on s1
         p2 began
         p2 updates plot",
    ));
}

#[test]
fn a_head_that_died_at_rest_is_replaced() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        p2 ready
        p2 began
            a began
        p2 ok
            answer 2: a Ok s1
            p2 forks p3, frozen
        p3 ready
            s1 is in Memory
        run b on s1
            p2 runs b
        p2 gone
            p3 forks p4, head
            p4 runs b
        p4 ready
        p4 began
            b began
        p4 ok
            answer 7: b Ok s2
            p4 forks p5, frozen
        initial Freezing
        └─ s1 (a)
           └─ s2 (b) Freezing
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 ready
         p2 began
         p2 ok
         p3 ready
         run b on s1
         p2 gone
         p4 ready
         p4 began
         p4 ok",
    ));
}

#[test]
fn idle_heads_beyond_four_end() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        run b
            p1 forks p3, head
            p3 runs b
        p3 began
            b began
        run c
            p1 forks p4, head
            p4 runs c
        p4 began
            c began
        run d
            p1 forks p5, head
            p5 runs d
        p5 began
            d began
        run e
            p1 forks p6, head
            p6 runs e
        p6 began
            e began
        p2 ok
            answer 2: a Ok s1
            p2 forks p7, frozen
        p3 ok
            answer 4: b Ok s2
            p3 forks p8, frozen
        p4 ok
            answer 6: c Ok s3
            p4 forks p9, frozen
        p5 ok
            answer 8: d Ok s4
            p5 forks p10, frozen
        p6 ok
            answer 10: e Ok s5
            p6 forks p11, frozen
        p8 ready
            s2 is in Memory
        p7 ready
            s1 is in Memory
            kill p2
        p9 ready
            s3 is in Memory
        p10 ready
            s4 is in Memory
        p11 ready
            s5 is in Memory
        initial Freezing
        ├─ s1 (a)
        ├─ s2 (b)
        ├─ s3 (c)
        ├─ s4 (d)
        └─ s5 (e)
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 began
         run b
         p3 began
         run c
         p4 began
         run d
         p5 began
         run e
         p6 began
         p2 ok
         p3 ok
         p4 ok
         p5 ok
         p6 ok
         p8 ready
         p7 ready
         p9 ready
         p10 ready
         p11 ready",
    ));
}

/// Plays a script in which run c runs in a branch and its progress is watched, then the script
/// `then`. Each line takes one second. In `then`, the word STILL means 21 seconds without progress.
fn watched(then: &str) -> String {
    let still = "c used 7 polars\n".repeat(21);
    play(&format!(
        "open\n p1 ready\n run a\n p2 ok\n p3 ready\n run b on s1\n p2 began\n run c on s1\n p4 ready\n p4 began\n
         alarm watch c\n {}",
        then.replace("STILL", &still)
    ))
}

#[test]
fn a_cell_of_a_branch_that_stands_still_gets_a_warning_and_once_stopped_its_state_is_not_forked_again() {
    let story = watched("STILL interrupt c\n p4 raises KeyboardInterrupt\n run d on s1");
    assert!(story.contains("observe c: p4"), "{story}");
    assert_eq!(
        story.matches("c is warned: the cell has used no processor time for 20 s").count(),
        1,
        "{story}"
    );
    assert!(story.contains("Suspected: libraries with threads of their own are loaded: polars."), "{story}");
    // The state has no checkpoint yet. A checkpoint is written, and run d waits for it.
    assert!(
        story.contains("p3 forks p5, save(environment)") && !story.contains("p3 forks p6, head"),
        "{story}"
    );
}

#[test]
fn a_cell_that_stands_still_gets_a_warning_without_suspects_too() {
    let still = "c used 7\n".repeat(21);
    let story = watched(&format!("{still} interrupt c\n p4 raises KeyboardInterrupt\n run d on s1"));
    assert!(story.contains("waits forever. No such threads are known in this state. If"), "{story}");
    assert!(
        story.contains("p3 forks p5, save(environment)") && !story.contains("p3 forks p6, head"),
        "{story}"
    );
}

#[test]
fn a_cell_that_computes_or_waits_for_something_else_gets_no_warning() {
    let busy: String = (0..30).map(|n| format!("c used {n} polars\n")).collect();
    let elsewhere = "c used 7 busy polars\n".repeat(30);
    for then in [
        busy,
        elsewhere,
        "c used 7 polars\n".repeat(19),
        "c used 7\n".repeat(19),
        "c used 7 threads\n".repeat(30),
    ] {
        assert!(!watched(&then).contains("is warned"), "{then}");
    }
    // Run c is interrupted before it gets a warning, so its state can still be forked.
    let story = watched("interrupt c\n p4 raises KeyboardInterrupt\n run d on s1");
    assert!(story.contains("p3 forks p5, head"), "{story}");
}
