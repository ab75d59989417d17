//! Tests of failed cells whose heads are held. A head is kept as a partial state, expires, is
//! replaced, is deleted, or dies, in various orders.

use super::{Budget, machine_with, play, play_on, play_within};
use expect_test::expect;

#[test]
fn what_a_failed_cell_had_set_is_kept_on_a_later_request() {
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
        p2 raises ValueError having set
            a can be kept
            wake in 600 s: end what is held
            answer 3: a Error ValueError: message
            stop p2
        keep a
            a can be kept no more
            continue p2
            p2 forks p3, frozen
            answer 6: a Error s1 ValueError: message
        p3 ready
            s1 is in Memory
        keep a
            answer 8: a Error s1 ValueError: message
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 9: b Ok s2
            p2 forks p4, frozen
        initial
        └─ s1 (a, partial)
           └─ s2 (b) Freezing
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 raises ValueError having set
         keep a
         p3 ready
         keep a
         run b on s1
         p2 began
         p2 ok",
    ));
}

#[test]
fn on_error_keep_leaves_a_partial_state_at_once() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a as name on_error keep
            p1 forks p2, head
            p2 runs a
        run b after a
        p2 began
            a began
        p2 raises ValueError having set
            end what the cell of p2 has started
            answer 3: a Error s1 named name ValueError: message
            answer 4: b Interrupted RunAborted: the run before it failed
            p2 forks p3, frozen
        p3 ready
            s1 is in Memory
        run c after a
            p2 runs c
        run d on_error keep
            p1 forks p4, head
            p4 runs d
        p4 began
            d began
        p4 raises NameError at once
            end what the cell of p4 has started
            answer 9: d Error s2 NameError: message
            p4 forks p5, frozen
        run e on_error keep
            p1 forks p6, head
            p6 runs e
        p6 began
            e began
        p6 raises SystemExit
            end p6 and what its cell has started
            kill p6
            answer 12: e Error SystemExit: message
        run a as name on_error keep
            answer 15: a Error s1 named name ValueError: message
        initial
        ├─ s1 “name” (a, partial)
        │  └─ × c Queued
        ├─ s2 (d, partial) Freezing
        └─ × e Error
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a as name on_error keep
         run b after a
         p2 began
         p2 raises ValueError having set
         p3 ready
         run c after a
         run d on_error keep
         p4 began
         p4 raises NameError at once
         run e on_error keep
         p6 began
         p6 raises SystemExit
         run a as name on_error keep",
    ));
}

#[test]
fn a_cell_that_set_nothing_or_asked_for_its_end_is_not_held() {
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
        p2 raises NameError at once
            end p2 and what its cell has started
            kill p2
            answer 3: a Error NameError: message
        keep a
            answer 6: refused, lost: keep the variables of run a: the cell failed in its first statement, which set nothing
        run b
            p1 forks p3, head
            p3 runs b
        p3 began
            b began
        p3 raises SystemExit
            end p3 and what its cell has started
            kill p3
            answer 7: b Error SystemExit: message
        run c
            p1 forks p4, head
            p4 runs c
        p4 began
            c began
        p4 gone
            end p4 and what its cell has started
            answer 10: c Crashed KernelDied: the process of this cell was killed by SIGSEGV
        keep c
            answer 13: refused, lost: keep the variables of run c: its process has ended
        run d
            p1 forks p5, head
            p5 runs d
        keep d
            answer 15: refused, conflict: keep the variables of run d: the run has not ended
        p5 began
            d began
        keep d
            answer 17: refused, conflict: keep the variables of run d: the run has not ended
        p5 ok
            answer 14: d Ok s1
            p5 forks p6, frozen
        keep d
            answer 19: d Ok s1
        keep x
            answer 20: refused, not_found: find run x: this notebook has none with this id
        initial
        ├─ s1 (d) Freezing
        ├─ × a Error
        ├─ × b Error
        └─ × c Crashed
    "#]].assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 raises NameError at once
         keep a
         run b
         p3 began
         p3 raises SystemExit
         run c
         p4 began
         p4 gone
         keep c
         run d
         keep d
         p5 began
         keep d
         p5 ok
         keep d
         keep x",
    ));
}

#[test]
fn a_held_head_is_ended_after_its_time_and_when_newer_ones_have_failed() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a draft x
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 raises ValueError having set
            a can be kept
            wake in 600 s: end what is held
            answer 3: a Error ValueError: message
            stop p2
        run b draft y
            p1 forks p3, head
            p3 runs b
        p3 began
            b began
        p3 raises ValueError having set
            b can be kept
            answer 6: b Error ValueError: message
            stop p3
        run c draft z
            p1 forks p4, head
            p4 runs c
        p4 began
            c began
        p4 raises ValueError having set
            c can be kept
            a can be kept no more
            kill p2
            answer 9: c Error ValueError: message
            stop p4
        p2 gone
        keep a
            answer 13: refused, lost: keep the variables of run a: 2 cells have failed since, and only the last 2 can be kept
        wait 590
        alarm held
            wake in 3 s: end what is held
        keep b
            b can be kept no more
            continue p3
            p3 forks p5, frozen
            answer 16: b Error s1 ValueError: message
        wait 3
        alarm held
            c can be kept no more
            kill p4
        alarm held
        initial
        ├─ s1 (b, partial) Freezing
        ├─ × a Error
        └─ × c Error
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a draft x
         p2 began
         p2 raises ValueError having set
         run b draft y
         p3 began
         p3 raises ValueError having set
         run c draft z
         p4 began
         p4 raises ValueError having set
         p2 gone
         keep a
         wait 590
         alarm held
         keep b
         wait 3
         alarm held
         alarm held",
    ));
}

#[test]
fn the_next_version_of_a_cell_begins_when_the_held_head_is_gone() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        draft x initial code
            drafts on initial: [x]
            answer 3: done
        run a draft x
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 raises ValueError having set
            a can be kept
            wake in 600 s: end what is held
            answer 4: a Error ValueError: message
            stop p2
        run b draft y
            p1 forks p3, head
            p3 runs b
        p3 began
            b began
        p3 raises ValueError having set
            b can be kept
            answer 7: b Error ValueError: message
            stop p3
        run c draft x
            a can be kept no more
            kill p2
        keep a
            answer 11: refused, lost: keep the variables of run a: its cell was run again
        p2 gone
            p1 forks p4, head
            p4 runs c
        p4 began
            c began
        p4 ok
            drafts on initial: [no x]
            answer 10: c Ok s1
            p4 forks p5, frozen
        keep b
            b can be kept no more
            continue p3
            p3 forks p6, frozen
            answer 15: b Error s2 ValueError: message
        initial
        ├─ s1 (c) Freezing
        ├─ s2 (b, partial) Freezing
        └─ × a Error
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         draft x initial code
         run a draft x
         p2 began
         p2 raises ValueError having set
         run b draft y
         p3 began
         p3 raises ValueError having set
         run c draft x
         keep a
         p2 gone
         p4 began
         p4 ok
         keep b",
    ));
}

#[test]
fn every_later_version_of_a_cell_waits_for_the_head_that_was_held_whatever_ends_it() {
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
        p2 raises ValueError having set
            a can be kept
            wake in 600 s: end what is held
            answer 3: a Error ValueError: message
            stop p2
        run b
            a can be kept no more
            kill p2
        run c
        interrupt c
            answer 7: c Interrupted KeyboardInterrupt: the run was stopped before it began
            answer 8: interrupted true
        run d
        p2 gone
            p1 forks p3, head
            p3 runs b
            p1 forks p4, head
            p4 runs d
        p3 began
            b began
        p3 raises ValueError having set
            b can be kept
            answer 6: b Error ValueError: message
            stop p3
        p4 began
            d began
        p4 raises ValueError having set
            d can be kept
            answer 9: d Error ValueError: message
            stop p4
        drop b
            kill p3
            removed [] [b]
            answer 15: done
        run e
            d can be kept no more
            kill p4
        run f draft x
            p1 forks p5, head
            p5 runs f
        p3 gone
        p4 gone
            p1 forks p6, head
            p6 runs e
        initial
        ├─ × a Error
        ├─ × c Interrupted
        ├─ × d Error
        ├─ × e Queued
        └─ × f Queued
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 raises ValueError having set
         run b
         run c
         interrupt c
         run d
         p2 gone
         p3 began
         p3 raises ValueError having set
         p4 began
         p4 raises ValueError having set
         drop b
         run e
         run f draft x
         p3 gone
         p4 gone",
    ));
}

#[test]
fn a_refusal_to_keep_says_why() {
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
        p2 raises ValueError having set
            a can be kept
            wake in 600 s: end what is held
            answer 3: a Error ValueError: message
            stop p2
        p2 stopped 16
        p2 stopped 17
            a can be kept no more
            kill p2
        keep a
            answer 8: refused, lost: keep the variables of run a: the cell had started 17 processes; a cell that started more than 16 can only be kept at once
        p2 gone
        run b
            p1 forks p3, head
            p3 runs b
        p3 began
            b began
        p3 raises ValueError in a chroot
            end p3 and what its cell has started
            kill p3
            answer 10: b Error ValueError: message
        keep b
            answer 13: refused, lost: keep the variables of run b: no branch of it could be made (chroot)
        run d on_error keep
            p1 forks p4, head
            p4 runs d
        p4 began
            d began
        p4 raises ValueError in a chroot
            end p4 and what its cell has started
            kill p4
            answer 14: d Error ValueError: message
        keep d
            answer 17: refused, lost: keep the variables of run d: no branch of it could be made (chroot)
        initial
        ├─ × a Error
        ├─ × b Error
        └─ × d Error
    "#]].assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 raises ValueError having set
         p2 stopped 16
         p2 stopped 17
         keep a
         p2 gone
         run b
         p3 began
         p3 raises ValueError in a chroot
         keep b
         run d on_error keep
         p4 began
         p4 raises ValueError in a chroot
         keep d",
    ));
}

#[test]
fn a_run_that_waits_for_a_held_head_to_go_can_be_interrupted_and_survives_a_reset() {
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
        p2 raises ValueError having set
            a can be kept
            wake in 600 s: end what is held
            answer 3: a Error ValueError: message
            stop p2
        run b
            a can be kept no more
            kill p2
        interrupt b
            answer 6: b Interrupted KeyboardInterrupt: the run was stopped before it began
            answer 7: interrupted true
        p2 gone
        run c
            p1 forks p3, head
            p3 runs c
        p3 began
            c began
        p3 raises ValueError having set
            c can be kept
            answer 9: c Error ValueError: message
            stop p3
        run d
            c can be kept no more
            kill p3
        reset
            answer 12: d Interrupted KeyboardInterrupt: the notebook was reset
            end what cells have started
            all was reset
            answer 13: done
        p3 gone
        initial
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 raises ValueError having set
         run b
         interrupt b
         p2 gone
         run c
         p3 began
         p3 raises ValueError having set
         run d
         reset
         p3 gone",
    ));
}

#[test]
fn a_held_head_goes_with_its_state_its_attempt_and_the_notebook() {
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
        p2 raises ValueError having set
            b can be kept
            wake in 600 s: end what is held
            answer 7: b Error ValueError: message
            stop p2
        delete s1
            kill p3
            kill p2
            removed [s1] [b a]
            answer 10: done
        keep b
            answer 11: refused, not_found: find run b: this notebook has none with this id
        run c
            p1 forks p4, head
            p4 runs c
        p4 began
            c began
        p4 raises ValueError having set
            c can be kept
            answer 12: c Error ValueError: message
            stop p4
        drop c
            kill p4
            removed [] [c]
            answer 15: done
        keep c
            answer 16: refused, not_found: find run c: this notebook has none with this id
        p4 gone
        run d
            p1 forks p5, head
            p5 runs d
        p5 began
            d began
        p5 raises ValueError having set
            d can be kept
            answer 18: d Error ValueError: message
            stop p5
        reset
            end what cells have started
            kill p5
            all was reset
            answer 21: done
        keep d
            answer 22: refused, not_found: find run d: this notebook has none with this id
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
         p2 raises ValueError having set
         delete s1
         keep b
         run c
         p4 began
         p4 raises ValueError having set
         drop c
         keep c
         p4 gone
         run d
         p5 began
         p5 raises ValueError having set
         reset
         keep d",
    ));
}

#[test]
fn a_held_head_that_dies_cannot_be_kept() {
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
        p2 raises ValueError having set
            a can be kept
            wake in 600 s: end what is held
            answer 3: a Error ValueError: message
            stop p2
        p2 gone
            a can be kept no more
        keep a
            answer 7: refused, lost: keep the variables of run a: the process of this cell was killed by SIGSEGV
        initial
        └─ × a Error
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 raises ValueError having set
         p2 gone
         keep a",
    ));
}

#[test]
fn a_head_whose_state_was_deleted_meanwhile_is_not_held() {
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
        delete s1
            kill p3
            s1 is in Deleted
            answer 9: done
        p2 raises ValueError having set
            end p2 and what its cell has started
            kill p2
            answer 7: b Error ValueError: message
            removed [s1] [b a]
        p2 gone
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
         delete s1
         p2 raises ValueError having set
         p2 gone",
    ));
}

#[test]
fn a_cell_that_was_interrupted_or_reached_its_time_limit_is_held_one_that_was_killed_is_not() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a draft x
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        interrupt a
            interrupt p2
            wake in 3 s: has a stopped?
            answer 5: interrupted true
        p2 raises KeyboardInterrupt having set
            a can be kept
            wake in 600 s: end what is held
            answer 3: a Interrupted KeyboardInterrupt: message
            stop p2
        keep a
            a can be kept no more
            continue p2
            p2 forks p3, frozen
            answer 7: a Interrupted s1 KeyboardInterrupt: message
        run b draft y limit 1
            p1 forks p4, head
            p4 runs b
        p4 began
            wake in 1 s: the limit of b
            b began
        alarm limit b
            interrupt p4
            wake in 3 s: has b stopped?
        p4 raises KeyboardInterrupt having set
            b can be kept
            answer 8: b Interrupted RunTimeout: the run was stopped at its time limit of 1 s
            stop p4
        keep b
            b can be kept no more
            continue p4
            p4 forks p5, frozen
            answer 12: b Interrupted s2 RunTimeout: the run was stopped at its time limit of 1 s
        run c draft z
            p1 forks p6, head
            p6 runs c
        p6 began
            c began
        interrupt c
            interrupt p6
            wake in 3 s: has c stopped?
            answer 15: interrupted true
        interrupt c
            end p6 and what its cell has started
            kill p6
            answer 16: interrupted true
        p6 raises KeyboardInterrupt having set
            kill p6
            answer 13: c Interrupted KeyboardInterrupt: the cell did not stop when it was interrupted, so its process was killed
        p6 gone
        keep c
            answer 19: refused, lost: keep the variables of run c: its process has ended
        run d memory 100
            p1 forks p7, head
            p7 runs d
        p7 holds 1000 10
        p7 began
            wake in 50 ms: measure d
            d began
        alarm measure d
            measure d: p7 beside p1
        d measures 2000 2000 0
            end p7 and what its cell has started
            kill p7
        p7 raises MemoryError having set
            kill p7
            answer 20: d Interrupted RunOutOfMemory: the run was killed at its memory limit: it used 1990 bytes more than its state, and the limit is 100 bytes. The state that it ran against has not changed
        p7 gone
        keep d
            answer 27: refused, lost: keep the variables of run d: its process has ended
        initial
        ├─ s1 (a, partial) Freezing
        ├─ s2 (b, partial) Freezing
        ├─ × c Interrupted
        └─ × d Interrupted
    "#]].assert_eq(&play(
        "open
         p1 ready
         run a draft x
         p2 began
         interrupt a
         p2 raises KeyboardInterrupt having set
         keep a
         run b draft y limit 1
         p4 began
         alarm limit b
         p4 raises KeyboardInterrupt having set
         keep b
         run c draft z
         p6 began
         interrupt c
         interrupt c
         p6 raises KeyboardInterrupt having set
         p6 gone
         keep c
         run d memory 100
         p7 holds 1000 10
         p7 began
         alarm measure d
         d measures 2000 2000 0
         p7 raises MemoryError having set
         p7 gone
         keep d",
    ));
}

#[test]
fn a_held_head_that_cannot_be_frozen_keeps_its_state_as_any_other_does() {
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
        p2 raises ValueError having set
            a can be kept
            wake in 600 s: end what is held
            answer 3: a Error ValueError: message
            stop p2
        keep a
            a can be kept no more
            continue p2
            p2 forks p3, frozen
            answer 6: a Error s1 ValueError: message
        p2 cannot fork p3
            s1 is in Freezing
        run b on s1
            p2 forks p4, frozen
            p2 runs b
        p4 ready
            s1 is in Freezing
            s1 is in Memory
        p2 began
            b began
        initial
        └─ s1 (a, partial)
           └─ × b Running
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 raises ValueError having set
         keep a
         p2 cannot fork p3
         run b on s1
         p4 ready
         p2 began",
    ));
}

#[test]
fn drafts_move_on_to_a_partial_state() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        draft x initial code
            drafts on initial: [x]
            answer 3: done
        draft y initial code after x
            drafts on initial: [y after x]
            answer 4: done
        run a draft x
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 raises ValueError having set
            a can be kept
            wake in 600 s: end what is held
            answer 5: a Error ValueError: message
            stop p2
        keep a
            a can be kept no more
            continue p2
            drafts on s1: [y]
            drafts on initial: [no x]
            p2 forks p3, frozen
            answer 8: a Error s1 ValueError: message
        initial
        └─ s1 (a, partial) Freezing drafts [y]
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         draft x initial code
         draft y initial code after x
         run a draft x
         p2 began
         p2 raises ValueError having set
         keep a",
    ));
}

#[test]
fn a_replay_through_a_partial_state_wants_its_cell_to_fail_the_same_way() {
    let before = "open
         p1 ready
         run a on_error keep
         p2 began
         p2 raises ValueError having set
         p3 ready
         run b on s1
         p2 began
         p2 ok
         p4 ready
         p2 gone
         p3 gone
         p4 gone
         replay s2
         p5 began";
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a on_error keep
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 raises ValueError having set
            end what the cell of p2 has started
            answer 3: a Error s1 ValueError: message
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
        p2 gone
        p3 gone
            s1 is in Freezing
            s1 is in Replay
        p4 gone
            s2 is in Freezing
            s2 is in Replay
        replay s2
            p1 forks p5, head
            replaying s2: 0 of 2
            p5 runs replay:s2
        p5 began
        p5 raises ValueError having set
            p5 forks p6, frozen
            s1 is in Freezing
            replaying s2: 1 of 2
            p5 runs replay:s2
        p5 began
        p5 ok
            p5 forks p7, frozen
            s2 is in Freezing
            replaying s2: 2 of 2
            answer 14: done
        p7 ready
            s2 is in Memory
        initial
        └─ s1 (a, partial) Freezing
           └─ s2 (b)
    "#]]
    .assert_eq(&play(&format!(
        "{before}
         p5 raises ValueError having set
         p5 began
         p5 ok
         p7 ready"
    )));
    let last = |script: &str| {
        play(&format!("{before}\n{script}")).lines().rev().take(6).collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
           └─ s2 (b) Replay
        └─ s1 (a, partial) Replay
        initial
            answer 14: refused, lost: replay the state of In[1]: this time the cell In[1] failed differently: NameError: message
            replaying s2: 0 of 0
            kill p5"#]]
    .assert_eq(&last("p5 raises NameError having set"));
    expect![[r#"
           └─ s2 (b) Replay
        └─ s1 (a, partial) Replay
        initial
            answer 14: refused, lost: replay the state of In[1]: this time the cell In[1] failed differently: ValueError: message
            replaying s2: 0 of 0
            kill p5"#]]
    .assert_eq(&last("p5 raises ValueError"));
    expect![[r#"
           └─ s2 (b) Replay
        └─ s1 (a, partial) Freezing
        initial
            p5 runs replay:s2
            replaying s2: 1 of 2
            s1 is in Freezing"#]]
    .assert_eq(&last("p5 ok"));
}

#[test]
fn held_heads_go_first_when_memory_is_short_and_not_for_the_number_of_processes() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a draft x
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 raises ValueError having set
            a can be kept
            wake in 600 s: end what is held
            answer 3: a Error ValueError: message
            stop p2
        run b
            p1 forks p3, head
            p3 runs b
        p3 began
            b began
        p3 ok
            answer 6: b Ok s1
            p3 forks p4, frozen
        p4 ready
            s1 is in Memory
        run c on s1
            p3 runs c
        p3 began
            c began
        p3 ok
            answer 10: c Ok s2
            p3 forks p5, frozen
        p5 ready
            s2 is in Memory
        keep a
            a can be kept no more
            continue p2
            p2 forks p6, frozen
            answer 14: a Error s3 ValueError: message
        initial
        ├─ s1 (b)
        │  └─ s2 (c)
        └─ s3 (a, partial) Freezing
    "#]]
    .assert_eq(&play_within(
        1,
        false,
        "open
         p1 ready
         run a draft x
         p2 began
         p2 raises ValueError having set
         run b
         p3 began
         p3 ok
         p4 ready
         run c on s1
         p3 began
         p3 ok
         p5 ready
         keep a",
    ));
}

#[test]
fn a_held_head_that_takes_too_much_memory_goes() {
    let budget = Budget { bytes: 100, ..Budget::default() };
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a draft x
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 raises ValueError having set
            a can be kept
            wake in 600 s: end what is held
            answer 3: a Error ValueError: message
            stop p2
        run b draft y
            p1 forks p3, head
            p3 runs b
        p3 began
            b began
        p3 raises ValueError having set
            b can be kept
            answer 6: b Error ValueError: message
            stop p3
        alarm measure
            measure 3
        measured p2 40 p3 50
        run c draft z
            p1 forks p4, head
            p4 runs c
        p4 began
            c began
        p4 ok
            answer 11: c Ok s1
            p4 forks p5, frozen
        p5 ready
            s1 is in Memory
        alarm measure
            measure 2
        measured p5 11
            s1 holds 11
            a can be kept no more
            kill p2
            b can be kept no more
            kill p3
        initial
        ├─ s1 (c)
        ├─ × a Error
        └─ × b Error
    "#]]
    .assert_eq(&play_on(
        machine_with(budget, false),
        "open
         p1 ready
         run a draft x
         p2 began
         p2 raises ValueError having set
         run b draft y
         p3 began
         p3 raises ValueError having set
         alarm measure
         measured p2 40 p3 50
         run c draft z
         p4 began
         p4 ok
         p5 ready
         alarm measure
         measured p5 11",
    ));
}

#[test]
fn an_exception_of_the_user_named_like_an_interrupt_is_an_error() {
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
        p2 raises their:KeyboardInterrupt
            end p2 and what its cell has started
            kill p2
            answer 3: a Error KeyboardInterrupt: message
        initial
        └─ × a Error
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 began
         p2 raises their:KeyboardInterrupt",
    ));
}
