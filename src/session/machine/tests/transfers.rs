//! Tests of variables that are sent from one state to another, and of digests. Each line of a
//! script takes one second.

use super::play;
use expect_test::expect;

/// A script that creates two children of the root, s1 and s2. Each has a frozen process.
const TWO_STATES: &str = "open
     p1 ready
     run a on initial
     p2 ready
     p2 began
     p2 ok
     p3 ready
     run b on initial
     p4 ready
     p4 began
     p4 ok
     p5 ready
     ";

/// Plays `TWO_STATES`, then `script`. Returns only the effects of `script`.
fn told_then(script: &str) -> String {
    let all = play(&format!("{TWO_STATES}{script}"));
    let first = script.lines().next().expect("a line").trim();
    all[all.find(first).expect("the line")..].to_owned()
}

#[test]
fn each_state_that_the_code_names_has_a_fork_that_sends() {
    expect![[r#"
        run c on s1 reads a=s1,b=s2,c!s2
            p3 forks p6, head
            p3 forks p7 to send
            p5 forks p8 to send
            p6 runs c with a of s1 from p7, b of s2 from p8, c of s2 from nobody
        p7 ready
        p8 ready
        p7 exits 0
        p6 ready
        p6 began
        p6 ok
            kill p6
            answer 13: c Ok
            kill p8
        p8 exits 0
        initial
        ├─ s1 (a)
        └─ s2 (b)
    "#]]
    .assert_eq(&told_then(
        "run c on s1 reads a=s1,b=s2,c!s2
         p7 ready
         p8 ready
         p7 exits 0
         p6 ready
         p6 began
         p6 ok
         p8 exits 0",
    ));
}

#[test]
fn a_head_that_dies_before_it_is_ready_ends_its_senders() {
    expect![[r#"
        run c on s1 reads b=s2
            p3 forks p6, head
            p5 forks p7 to send
            p6 runs c with b of s2 from p7
        p7 ready
        p6 gone
            answer 13: c Error ForkFailed: the forked process died before it was ready
            kill p7
        p7 exits 0
        initial
        ├─ s1 (a)
        └─ s2 (b)
    "#]]
    .assert_eq(&told_then(
        "run c on s1 reads b=s2
         p7 ready
         p6 gone
         p7 exits 0",
    ));
}

#[test]
fn a_sender_that_does_not_come_is_ended_and_its_pipe_with_it() {
    expect![[r#"
        run c on s1 reads b=s2
            p3 forks p6, head
            p5 forks p7 to send
            p6 runs c with b of s2 from p7
        alarm sending p7
            kill p7
        alarm sending p7
        p6 ready
        p6 began
        p6 raises AttributeError
            end p6 and what its cell has started
            kill p6
            answer 13: c Error AttributeError: message
        initial
        ├─ s1 (a)
        └─ s2 (b)
    "#]]
    .assert_eq(&told_then(
        "run c on s1 reads b=s2
         alarm sending p7
         alarm sending p7
         p6 ready
         p6 began
         p6 raises AttributeError",
    ));
}

#[test]
fn senders_end_with_their_run_and_those_to_come_with_their_state() {
    expect![[r#"
        run c on s1 reads a=s1,b=s2
            p3 forks p6, head
            p3 forks p7 to send
            p5 forks p8 to send
            p6 runs c with a of s1 from p7, b of s2 from p8
        p7 ready
        p5 gone
            s2 is in Freezing
            p4 forks p9, frozen
        interrupt c
            wake in 3 s: has c stopped?
            answer 16: interrupted true
        p6 ready
        p6 raises KeyboardInterrupt
            end p6 and what its cell has started
            kill p6
            answer 13: c Interrupted KeyboardInterrupt: message
            kill p7
            kill p8
        initial
        ├─ s1 (a)
        └─ s2 (b) Freezing
    "#]]
    .assert_eq(&told_then(
        "run c on s1 reads a=s1,b=s2
         p7 ready
         p5 gone
         interrupt c
         p6 ready
         p6 raises KeyboardInterrupt",
    ));
}

#[test]
fn digests_are_computed_once_and_kept_while_the_state_is_there() {
    expect![[r#"
        digest s1
            p3 forks p6, digest
        digest s1
        p6 ready
        p6 digests x y
            answer 13: digests of 2
            answer 14: digests of 2
        p6 exits 0
        digest s1
            answer 18: digests of 2
        delete s1
            kill p3
            kill p2
            removed [s1] [a]
            answer 19: done
        digest s1
            answer 20: refused, not_found: find state s1: this notebook has none with this id
        initial
        └─ s2 (b)
    "#]]
    .assert_eq(&told_then(
        "digest s1
         digest s1
         p6 ready
         p6 digests x y
         p6 exits 0
         digest s1
         delete s1
         digest s1",
    ));
}

#[test]
fn digests_that_fail_are_refused_and_computed_again() {
    expect![[r#"
        digest s1
            p3 forks p6, digest
        p6 ready
        p6 cannot digest
            answer 13: refused, kernel: digest the variables of state s1: reading the variables failed
        digest s1
            p3 forks p7, digest
        p7 gone
            answer 16: refused, kernel: list the variables of state s1: the process that listed the variables has died
        digest s1
            p3 forks p8, digest
        alarm looked p8
            kill p8
            answer 18: refused, timeout: list the variables of state s1: it took longer than 60 s
        digest s1
            p3 forks p9, digest
        reset
            end what cells have started
            kill p2
            kill p4
            kill p3
            kill p5
            kill p9
            answer 20: refused, not_found: list the variables of state s1: the notebook was reset
            all was reset
            answer 21: done
        digest s1
            answer 22: refused, not_found: find state s1: this notebook has none with this id
        initial
    "#]]
    .assert_eq(&told_then(
        "digest s1
         p6 ready
         p6 cannot digest
         digest s1
         p7 gone
         digest s1
         alarm looked p8
         digest s1
         reset
         digest s1",
    ));
}

#[test]
fn a_merge_waits_for_the_digests_of_both_states_and_their_ancestor() {
    expect![[r#"
        merge m into s1 from s2
            p3 forks p6, digest
            p5 forks p7, digest
            p1 forks p8, digest
        p6 ready
        p6 digests x=1
        p7 digests x=2
        p8 digests x=1
            p5 forks p9 to send
            p2 runs m with  of s2 from p9
        p9 ready
        p2 began
            m began
        p2 ok
            answer 13: m Ok s3
            kill p9
            p2 forks p10, frozen
        merge n into s1 from s2
            p3 forks p11, head
            p5 forks p12 to send
            p11 runs n with  of s2 from p12
        merge m into s1 from s2
            answer 22: m Ok s3
        merge m into s2 from s1
            answer 23: refused, conflict: take variables: the other state has changed nothing that differs here
        initial
        ├─ s1 (a)
        │  ├─ s3 (m) Freezing
        │  └─ × n Queued
        └─ s2 (b)
    "#]].assert_eq(&told_then(
        "merge m into s1 from s2
         p6 ready
         p6 digests x=1
         p7 digests x=2
         p8 digests x=1
         p9 ready
         p2 began
         p2 ok
         merge n into s1 from s2
         merge m into s1 from s2
         merge m into s2 from s1",
    ));
}

#[test]
fn a_merge_that_cannot_be_carried_out_leaves_no_run() {
    expect![[r#"
        merge m into s1 from s1
            answer 13: refused, conflict: take variables: both states are the same one
        merge m into s1 from s9
            answer 14: refused, not_found: find state s9: this notebook has none with this id
        merge m into s1 from s2 dry
            p3 forks p6, digest
            p5 forks p7, digest
            p1 forks p8, digest
        merge n into s1 from s2 take=y
        p6 digests x=1
        p7 digests x=2
        p8 digests x=3
            answer 15: plan %take  from THEIRS, refused: both states have changed `x`
            answer 16: refused, not_found: take the variable "y": the other state has no such variable
        merge m into s1 from s2
            answer 20: refused, conflict: take variables: both states have changed `x`
        delete s2
            kill p5
            kill p4
            removed [s2] [b]
            answer 21: done
        merge m into s1 from s2
            answer 22: refused, not_found: find state s2: this notebook has none with this id
        initial
        └─ s1 (a)
    "#]]
    .assert_eq(&told_then(
        "merge m into s1 from s1
         merge m into s1 from s9
         merge m into s1 from s2 dry
         merge n into s1 from s2 take=y
         p6 digests x=1
         p7 digests x=2
         p8 digests x=3
         merge m into s1 from s2
         delete s2
         merge m into s1 from s2",
    ));
}

#[test]
fn a_merge_ends_with_the_states_that_it_needs() {
    expect![[r#"
        merge m into s1 from s2
            p3 forks p6, digest
            p5 forks p7, digest
            p1 forks p8, digest
        p6 cannot digest
            answer 13: refused, kernel: digest the variables of state s1: reading the variables failed
        merge m into s1 from s2
            p3 forks p9, digest
        delete s2
            kill p5
            kill p4
            kill p7
            answer 15: refused, not_found: find state s2: this notebook has none with this id
            removed [s2] [b]
            answer 16: done
        merge n into s1 from s2
            answer 17: refused, not_found: find state s2: this notebook has none with this id
        reset
            end what cells have started
            kill p2
            kill p3
            kill p8
            kill p9
            all was reset
            answer 18: done
        initial
    "#]]
    .assert_eq(&told_then(
        "merge m into s1 from s2
         p6 cannot digest
         merge m into s1 from s2
         delete s2
         merge n into s1 from s2
         reset",
    ));
}
