//! Tests of states that are named, listed, lost, deleted or reset, and of failing forks.

use super::play;
use expect_test::expect;

#[test]
fn a_name_given_again_means_the_new_state() {
    expect![[r#"
        open
            plant p1
        run a as x
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 ok
            answer 2: a Ok s1 named x
            p2 forks p3, frozen
        run b on s1 as x
            p2 runs b
        p2 began
            b began
        p2 ok
            s1 is in Freezing
            answer 5: b Ok s2 named x
            p2 forks p4, frozen
        run c on s1
            p3 forks p5, head
            p5 runs c
        p5 began
            c began
        p5 ok
            answer 8: c Ok s3
            p5 forks p6, frozen
        label s1 good
            s1 is in Freezing label good
            answer 11: done
        label s9 bad
            answer 12: refused, not_found: find state s9: this notebook has none with this id
        initial Freezing
        └─ s1 (a) Freezing
           ├─ s2 “x” (b) Freezing
           └─ s3 (c) Freezing
    "#]]
    .assert_eq(&play(
        "open
         run a as x
         p2 began
         p2 ok
         run b on s1 as x
         p2 began
         p2 ok
         run c on s1
         p5 began
         p5 ok
         label s1 good
         label s9 bad",
    ));
}

#[test]
fn listing_variables_takes_a_fork_that_ends() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        look initial
            p1 forks p2, listvariables
        p2 tells
            answer 3: 0 variables
        p2 gone
        look initial
            p1 forks p3, listvariables
        alarm looked p3
            kill p3
            answer 6: refused, timeout: list the variables of state initial: it took longer than 5 s
        p3 gone
        look initial
            p1 forks p4, listvariables
        p4 gone
            answer 9: refused, kernel: list the variables of state initial: the process that listed the variables has died
        look s9
            answer 11: refused, not_found: find state s9: this notebook has none with this id
        initial
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         look initial
         p2 tells
         p2 gone
         look initial
         alarm looked p3
         p3 gone
         look initial
         p4 gone
         look s9",
    ));
}

#[test]
fn a_deleted_state_stays_while_something_grew_from_it() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 ok
            answer 2: a Ok s1
            p2 forks p3, frozen
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 5: b Ok s2
            p2 forks p4, frozen
        run x on s1
            p3 forks p5, head
            p5 runs x
        p5 began
            x began
        p5 raises Error
            end p5 and what its cell has started
            kill p5
            answer 8: x Error Error: message
        delete s1
            kill p3
            s1 is in Deleted
            answer 11: done
        run c on s1
            answer 12: refused, not_found: find state s1: this notebook has none with this id
        look s1
            answer 13: refused, not_found: find state s1: this notebook has none with this id
        delete s1
            answer 14: refused, not_found: find state s1: this notebook has none with this id
        delete s2
            kill p4
            kill p2
            removed [s2 s1] [b x a]
            answer 15: done
        delete s2
            answer 16: refused, not_found: find state s2: this notebook has none with this id
        initial Freezing
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 began
         p2 ok
         run b on s1
         p2 began
         p2 ok
         run x on s1
         p5 began
         p5 raises Error
         delete s1
         run c on s1
         look s1
         delete s1
         delete s2
         delete s2",
    ));
}

#[test]
fn a_listing_of_a_deleted_state_is_refused() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 ok
            answer 2: a Ok s1
            p2 forks p3, frozen
        look s1
            p3 forks p4, listvariables
        delete s1
            kill p3
            kill p2
            kill p4
            answer 5: refused, not_found: find state s1: this notebook has none with this id
            removed [s1] [a]
            answer 6: done
        initial Freezing
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 began
         p2 ok
         look s1
         delete s1",
    ));
}

#[test]
fn a_run_goes_on_when_its_state_is_deleted() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 ok
            answer 2: a Ok s1
            p2 forks p3, frozen
        run b on s1
            p2 runs b
        p2 began
            b began
        delete s1
            kill p3
            s1 is in Deleted
            answer 7: done
        p3 gone
        p2 ok
            answer 5: b Ok s2
            p2 forks p4, frozen
        initial Freezing
        └─ s1 (a) Deleted
           └─ s2 (b) Freezing
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 began
         p2 ok
         run b on s1
         p2 began
         delete s1
         p3 gone
         p2 ok",
    ));
}

#[test]
fn deleting_the_root_leaves_its_descendants() {
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
        delete initial
            initial is in Deleted
            answer 6: done
        run b
            answer 7: refused, not_found: find state initial: this notebook has none with this id
        run c on s1
            p2 runs c
        reset
            answer 8: c Interrupted KeyboardInterrupt: the notebook was reset
            end what cells have started
            kill p2
            kill p3
            all was reset
            answer 9: done
        run d
            p1 forks p4, head
            p4 runs d
        initial
        └─ × d Queued
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 ok
         delete initial
         run b
         run c on s1
         reset
         run d",
    ));
}

#[test]
fn reset_stops_all_and_keeps_the_root() {
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
        run c after b
        look s1
            p3 forks p4, listvariables
        draft d s1 code
            drafts on s1: [d]
            answer 11: done
        reset
            answer 7: b Interrupted KeyboardInterrupt: the notebook was reset
            answer 9: c Interrupted RunAborted: the run before it left no state
            end what cells have started
            kill p2
            kill p3
            kill p4
            answer 10: refused, not_found: list the variables of state s1: the notebook was reset
            all was reset
            answer 12: done
        p2 gone
        p3 gone
        run a
            p1 forks p5, head
            p5 runs a
        initial
        └─ × a Queued
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
         run c after b
         look s1
         draft d s1 code
         reset
         p2 gone
         p3 gone
         run a",
    ));
}

#[test]
fn a_state_whose_process_dies_is_lost_unless_a_head_rests_there() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 ok
            answer 2: a Ok s1
            p2 forks p3, frozen
        p3 ready
            s1 is in Memory
        p3 gone
            s1 is in Freezing
            p2 forks p4, frozen
        p4 ready
            s1 is in Memory
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 8: b Ok s2
            p2 forks p5, frozen
        p5 ready
            s2 is in Memory
        p4 gone
            s1 is in Freezing
            s1 is in Replay
        run c on s1
            answer 13: refused, lost: run against state s1: it has neither a process nor a checkpoint
        look s1
            answer 14: refused, lost: run against state s1: it has neither a process nor a checkpoint
        initial Freezing
        └─ s1 (a) Replay
           └─ s2 (b)
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 began
         p2 ok
         p3 ready
         p3 gone
         p4 ready
         run b on s1
         p2 began
         p2 ok
         p5 ready
         p4 gone
         run c on s1
         look s1",
    ));
}

#[test]
fn the_root_is_started_again() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        p1 gone
            initial is in Freezing
            initial is in Replay
        run a
            plant p2
            p2 forks p3, head
            p3 runs a
        p2 ready
            initial is in Memory
        p3 began
            a began
        p3 ok
            answer 4: a Ok s1
            p3 forks p4, frozen
        initial
        └─ s1 (a) Freezing
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         p1 gone
         run a
         p2 ready
         p3 began
         p3 ok",
    ));
}

#[test]
fn a_root_that_cannot_start_reports_why() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        run b after a
        p1 failed
            initial is in Replay
            kill p2
            answer 2: a Error ForkFailed: no IPython
            answer 3: b Interrupted RunAborted: the run before it left no state
        p1 gone
        run c
            plant p3
            p3 forks p4, head
            p4 runs c
        p3 gone
            initial is in Freezing
            initial is in Replay
        initial Replay
        ├─ × a Error
        └─ × c Queued
    "#]]
    .assert_eq(&play(
        "open
         run a
         run b after a
         p1 failed
         p1 gone
         run c
         p3 gone",
    ));
}

#[test]
fn a_fork_that_fails_ends_its_run_only() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a
            p1 forks p2, head
            p2 runs a
        p1 cannot fork p2
            answer 3: a Error ForkRefused: no more processes. Nothing has run: end other cells or programs, then try again
        p2 gone
        look initial
            p1 forks p3, listvariables
        p1 cannot fork p3
            answer 6: refused, kernel: list the variables of state initial: no more processes
        run b
            p1 forks p4, head
            p4 runs b
        p4 ready
        p4 began
            b began
        p4 ok
            answer 8: b Ok s1
            p4 forks p5, frozen
        initial
        ├─ s1 (b) Freezing
        └─ × a Error
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p1 cannot fork p2
         p2 gone
         look initial
         p1 cannot fork p3
         run b
         p4 ready
         p4 began
         p4 ok",
    ));
}

#[test]
fn a_state_that_could_not_be_frozen_is_frozen_before_the_next_cell() {
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
        p2 cannot fork p3
            s1 is in Freezing
        run b on s1
            p2 forks p4, frozen
            p2 runs b
        p2 cannot fork p4
        p2 refuses
            answer 7: b Error ForkRefused: the state could not be kept: no more processes. Nothing has run: end other cells or programs, then try again
        run c on s1
            p2 forks p5, frozen
            p2 runs c
        p2 began
            c began
        p2 ok
            answer 10: c Ok s2
            p2 forks p6, frozen
        initial
        └─ s1 (a) Freezing
           ├─ s2 (c) Freezing
           └─ × b Error
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 ok
         p2 cannot fork p3
         run b on s1
         p2 cannot fork p4
         p2 refuses
         run c on s1
         p2 began
         p2 ok",
    ));
}

#[test]
fn a_fork_that_hangs_is_killed_and_reported() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a
            p1 forks p2, head
            p2 runs a
        alarm ready p2
            examine p2
        p2 hangs
            kill p2
            answer 3: a Error ForkFailed: the branch was not ready within 10 s and was ended; the forked process hung: it waits for a lock. Suspected: libraries with threads of their own are loaded: polars
        p2 gone
        run b
            p1 forks p3, head
            p3 runs b
        p3 ready
        alarm ready p3
        p3 began
            b began
        p3 ok
            answer 7: b Ok s1
            p3 forks p4, frozen
        alarm ready p4
            examine p4
        p4 hangs
            kill p4
            s1 is in Freezing
            s1 is in Freezing
        p4 gone
        initial
        ├─ s1 (b) Freezing
        └─ × a Error
    "#]].assert_eq(&play(
        "open
         p1 ready
         run a
         alarm ready p2
         p2 hangs
         p2 gone
         run b
         p3 ready
         alarm ready p3
         p3 began
         p3 ok
         alarm ready p4
         p4 hangs
         p4 gone",
    ));
}

#[test]
fn a_state_whose_fork_hung_is_branched_from_its_checkpoint() {
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
        p2 ok
            answer 3: a Ok s1
            p2 forks p3, frozen
        p3 ready
            s1 is in Memory
        p3 shares memory
            s1 is in Memory
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 9: b Ok s2
            p2 forks p4, frozen
        run c on s1
            p3 forks p5, head
            p5 runs c
        alarm ready p5
            examine p5
        p5 hangs behind
        alarm ready p5
            examine p5
        p5 hangs
            kill p5
            s1 is in Memory
            answer 12: c Error ForkFailed: the branch was not ready within 10 s and was ended; the forked process hung: it waits for a lock. Suspected: memory; libraries with threads of their own are loaded: polars
        p5 gone
        run d on s1
            p3 forks p6, head
            p6 runs d
        p6 ready
        p6 began
            d began
        p6 ok
            answer 18: d Ok s3
            p6 forks p7, frozen
        checkpoint s1
            s1 saving: Waiting
            p3 forks p8, save(environment)
            s1 saving: Writing { percent: 0 }
        p8 saved m1
            keep checkpoint m1 of s1
        kept s1 m1
            s1 is in Memory
            answer 22: checkpoint c-s1
        run e on s1
            p3 forks p9, head
            p9 runs e
        alarm ready p9
            examine p9
        p9 hangs before
            kill p9
            kill p3
            s1 is in Memory
            answer 25: e Error ForkFailed: the branch was not ready within 10 s and was ended; the process that should have forked hung: it waits for a lock. Suspected: memory; a fork of this state hung: it waits for a lock; libraries with threads of their own are loaded: polars
        p9 gone
        p3 gone
            s1 is in Freezing
            s1 is in Disk
        run f on s1
            p1 forks p10, head from c-s1 (Environment)
            p10 runs f
        initial
        └─ s1 (a) Disk
           ├─ s2 (b) Freezing
           ├─ s3 (d) Freezing
           ├─ × c Error
           ├─ × e Error
           └─ × f Queued
    "#]].assert_eq(&play(
        "open
         p1 ready
         run a
         p2 ready
         p2 began
         p2 ok
         p3 ready
         p3 shares memory
         run b on s1
         p2 began
         p2 ok
         run c on s1
         alarm ready p5
         p5 hangs behind
         alarm ready p5
         p5 hangs
         p5 gone
         run d on s1
         p6 ready
         p6 began
         p6 ok
         checkpoint s1
         p8 saved m1
         kept s1 m1
         run e on s1
         alarm ready p9
         p9 hangs before
         p9 gone
         p3 gone
         run f on s1",
    ));
}

#[test]
fn a_subtree_goes_as_a_whole_with_what_runs_in_it() {
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
        run d on s2
            p2 runs d
        p2 began
            d began
        run e after d
        draft t s2 code
            drafts on s2: [t]
            answer 15: done
        v1 stands s2
            people: [v1@s2]
            answer 16: is v1
        delete subtree s1
            end p5 and what its cell has started
            kill p5
            answer 11: c Interrupted KeyboardInterrupt: the state it ran against was deleted
            end p2 and what its cell has started
            kill p2
            answer 12: d Interrupted KeyboardInterrupt: the state it ran against was deleted
            answer 14: e Interrupted RunAborted: the run before it left no state
            kill p4
            kill p3
            people: [v1@initial]
            removed [s2 s1] [d b e c a]
            answer 17: done
        p2 gone
        delete subtree s1
            answer 19: refused, not_found: find state s1: this notebook has none with this id
        delete subtree initial
            answer 20: refused, conflict: delete state initial: every notebook begins with it
        initial
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
         run d on s2
         p2 began
         run e after d
         draft t s2 code
         v1 stands s2
         delete subtree s1
         p2 gone
         delete subtree s1
         delete subtree initial",
    ));
}

#[test]
fn a_subtree_takes_deleted_states_along() {
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 ok
            answer 2: a Ok s1
            p2 forks p3, frozen
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 5: b Ok s2
            p2 forks p4, frozen
        run c on s2
            p2 runs c
        p2 began
            c began
        p2 ok
            answer 8: c Ok s3
            p2 forks p5, frozen
        delete s1
            kill p3
            s1 is in Deleted
            answer 11: done
        delete subtree s2
            kill p5
            kill p2
            kill p4
            removed [s3 s2 s1] [c b a]
            answer 12: done
        initial Freezing
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 began
         p2 ok
         run b on s1
         p2 began
         p2 ok
         run c on s2
         p2 began
         p2 ok
         delete s1
         delete subtree s2",
    ));
}

#[test]
fn what_was_deleted_returns_with_what_it_needs() {
    // Each line of the script deletes or restores; the graph is drawn at the end.
    let grown = "open
         run a
         p2 began
         p2 ok
         run b on s1
         p2 began
         p2 ok
         run c on s2
         p2 began
         p2 ok
         run d on s1
         p6 began
         p6 raises Error";
    let after = |script: &str| {
        let told = play(&format!("{grown}\n{script}"));
        told[told.find("p6 raises Error").unwrap()..].to_owned()
    };
    expect![[r#"
        p6 raises Error
            end p6 and what its cell has started
            kill p6
            answer 11: d Error Error: message
        delete subtree s2
            kill p5
            kill p2
            kill p4
            removed [s3 s2] [c b]
            answer 14: done
        restore s3
            restored [s2 s3] [b c]
            answer 15: done
        initial Freezing
        └─ s1 (a) Freezing
           ├─ s2 (b) Replay
           │  └─ s3 (c) Replay
           └─ × d Error
    "#]]
    .assert_eq(&after("delete subtree s2\nrestore s3"));
    expect![[r#"
        p6 raises Error
            end p6 and what its cell has started
            kill p6
            answer 11: d Error Error: message
        delete s2
            kill p4
            s2 is in Deleted
            answer 14: done
        delete s3
            kill p5
            kill p2
            removed [s3 s2] [c b]
            answer 15: done
        restore s3
            restored [s2 s3] [b c]
            answer 16: done
        restore s2
            restored [s2] []
            answer 17: done
        restore s2
            answer 18: refused, not_found: restore "s2": nothing in the trash has this id: it was restored, or deleted for good
        initial Freezing
        └─ s1 (a) Freezing
           ├─ s2 (b) Replay
           │  └─ s3 (c) Replay
           └─ × d Error
    "#]].assert_eq(&after("delete s2\ndelete s3\nrestore s3\nrestore s2\nrestore s2"));
    expect![[r#"
        p6 raises Error
            end p6 and what its cell has started
            kill p6
            answer 11: d Error Error: message
        delete s2
            kill p4
            s2 is in Deleted
            answer 14: done
        delete subtree s1
            kill p5
            kill p2
            kill p3
            removed [s3 s2 s1] [c b d a]
            answer 15: done
        restore s2
            restored [s1 s2] [a b d]
            answer 16: done
        restore d
            answer 17: refused, not_found: restore "d": nothing in the trash has this id: it was restored, or deleted for good
        restore a
            answer 18: refused, not_found: restore "a": nothing in the trash has this id: it was restored, or deleted for good
        initial Freezing
        └─ s1 (a) Deleted
           ├─ s2 (b) Replay
           └─ × d Error
    "#]].assert_eq(&after("delete s2\ndelete subtree s1\nrestore s2\nrestore d\nrestore a"));
    expect![[r#"
        p6 raises Error
            end p6 and what its cell has started
            kill p6
            answer 11: d Error Error: message
        drop d
            removed [] [d]
            answer 14: done
        delete subtree s1
            kill p5
            kill p2
            kill p4
            kill p3
            removed [s3 s2 s1] [c b a]
            answer 15: done
        restore d
            restored [s1] [a d]
            answer 16: done
        empty trash
            purged [s3 s2] [c b]
            answer 17: done
        restore s3
            answer 18: refused, not_found: restore "s3": nothing in the trash has this id: it was restored, or deleted for good
        initial Freezing
        └─ s1 (a) Deleted
           └─ × d Error
    "#]].assert_eq(&after("drop d\ndelete subtree s1\nrestore d\nempty trash\nrestore s3"));
    expect![[r#"
        p6 raises Error
            end p6 and what its cell has started
            kill p6
            answer 11: d Error Error: message
        delete subtree s2
            kill p5
            kill p2
            kill p4
            removed [s3 s2] [c b]
            answer 14: done
        reset
            end what cells have started
            kill p3
            all was reset
            answer 15: done
        restore s2
            answer 16: refused, not_found: restore "s2": nothing in the trash has this id: it was restored, or deleted for good
        initial Freezing
    "#]].assert_eq(&after("delete subtree s2\nreset\nrestore s2"));
    expect![[r#"
        p6 raises Error
            end p6 and what its cell has started
            kill p6
            answer 11: d Error Error: message
        delete branches s2,s3 d
            kill p5
            kill p2
            kill p4
            removed [s3 s2] [c b d]
            answer 14: done
        restore d
            restored [s2 s3] [b d c]
            answer 15: done
        delete branches s9,s2 d
            removed [s3 s2] [c b d]
            answer 16: done
        delete branches s2 d
            answer 17: refused, not_found: find state s2: this notebook has none with this id
        delete branches - d
            answer 18: refused, not_found: find failed run d: this notebook has none with this id
        initial Freezing
        └─ s1 (a) Freezing
    "#]]
    .assert_eq(&after("delete branches s2,s3 d\nrestore d\ndelete branches s9,s2 d\ndelete branches s2 d\ndelete branches - d"));
    expect![[r#"
        p6 raises Error
            end p6 and what its cell has started
            kill p6
            answer 11: d Error Error: message
        delete branches s2,initial d
            answer 14: refused, conflict: delete state initial: every notebook begins with it
        initial Freezing
        └─ s1 (a) Freezing
           ├─ s2 (b) Freezing
           │  └─ s3 (c) Freezing
           └─ × d Error
    "#]]
    .assert_eq(&after("delete branches s2,initial d"));
}

#[test]
fn runs_are_refused_while_a_state_cannot_be_frozen_and_the_state_is_not_lost() {
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
        p2 cannot fork p3
            s1 is in Freezing
        run b on s1
            p2 forks p4, frozen
            p2 runs b
        run c on s1
            p4 forks p5, head
            p5 runs c
        p2 cannot fork p4
            kill p5
            answer 8: c Error ForkRefused: no more processes. Nothing has run: end other cells or programs, then try again
        run d on s1
            answer 10: d Error ForkRefused: the state could not be kept: no more processes. Nothing has run: end other cells or programs, then try again
        p2 refuses
            answer 7: b Error ForkRefused: the state could not be kept: no more processes. Nothing has run: end other cells or programs, then try again
        run b on s1
            removed [] [b]
            purged [] [b]
            p2 forks p6, frozen
            p2 runs b
        p5 gone
        p6 ready
            s1 is in Freezing
            s1 is in Memory
        p2 began
            b began
        p2 ok
            answer 12: b Ok s2
            p2 forks p7, frozen
        initial
        └─ s1 (a)
           ├─ s2 (b) Freezing
           ├─ × c Error
           └─ × d Error
    "#]].assert_eq(&play(
        "
        open
        p1 ready
        run a
        p2 began
        p2 ok
        p2 cannot fork p3
        run b on s1
        run c on s1
        p2 cannot fork p4
        run d on s1
        p2 refuses
        run b on s1
        p5 gone
        p6 ready
        p2 began
        p2 ok
        ",
    ));
}
