//! Tests of variables that are sent from one state to another, and of digests. Each line of a
//! script takes a second.

use super::play;
use expect_test::expect;

/// A script that creates two states below the root, s1 and s2. Each has a frozen process.
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

/// Creates the two states, then plays a script. Returns the effects of the script.
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
            answer 20: refused, not_found: find state s1: there is none in this notebook
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
            answer 13: refused, kernel: digest the variables of state s1: reading them failed
        digest s1
            p3 forks p7, digest
        p7 gone
            answer 16: refused, kernel: list the variables of state s1: the process that listed them has died
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
            answer 20: refused, not_found: find state s1: there is none in this notebook
            all was reset
            answer 21: done
        digest s1
            answer 22: refused, not_found: find state s1: there is none in this notebook
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
