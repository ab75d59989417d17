//! Tests of checkpoints, of restoring states, and of small memory budgets.

use super::{
    Base, Budget, Contents, Effect, Ended, How, Input, Reply, Report, StateId, Ticket, cell_report,
    machine_with, play, play_within, run, state,
};
use expect_test::expect;

/// A script that runs cell a, then cell b against the state of a. p2 is the head, p3 the frozen
/// process of s1, and p4 the frozen process of s2. No checkpoint is written automatically.
const TWO: &str = "
    open
    p1 ready
    run a
    p2 ready
    p2 began
    p2 ok
    p3 ready
    run b on s1
    p2 began
    p2 ok
    p4 ready
";

/// Like `TWO`, but checkpoints are written automatically: p4 saves s1, and p5 is the frozen process
/// of s2.
const TWO_SAVING: &str = "
    open
    p1 ready
    run a
    p2 ready
    p2 began
    p2 ok
    p3 ready
    run b on s1
    p2 began
    p2 ok
    p5 ready
";

/// Plays `TWO`, then `script`, with at most `processes` states in memory. Returns only the effects
/// of `script`.
fn after_two(processes: usize, script: &str) -> String {
    let all = play_within(processes, false, &format!("{TWO}{script}"));
    all[all.find("p4 ready").expect("the end of the beginning")..].to_owned()
}

/// Like `after_two`, with automatic checkpoints.
fn after_two_saving(script: &str) -> String {
    let all = play_within(9, true, &format!("{TWO_SAVING}{script}"));
    all[all.find("p5 ready").expect("the end of the beginning")..].to_owned()
}

#[test]
fn a_checkpoint_of_plain_values_does_not_replace_that_of_the_process() {
    let script = "
        open
        p1 ready
        run a
        p2 ready
        p2 began
        p2 ok
        checkpoint s1 of values
        p3 ready
        p4 saved c-s1
        kept s1 values
        p5 saved c-s1
        kept s1
    ";
    let all = play_within(9, true, script);
    expect![[r#"
        checkpoint s1 of values
            s1 saving: Waiting
            p3 forks p4, save(data)
            s1 saving: Writing { percent: 0 }
        p3 ready
            s1 is in Memory
        p4 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1 values
            s1 is in Memory
            answer 7: checkpoint c-s1
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
        initial
        └─ s1 (a)
    "#]]
    .assert_eq(&all[all.find("checkpoint s1 of values").expect("the end of the beginning")..]);
}

#[test]
fn a_state_that_is_slow_to_save_does_not_hold_up_others() {
    expect![[r#"
        p5 ready
            s2 is in Memory
            p5 forks p6, save(environment)
            s2 saving: Writing { percent: 0 }
        run c on s2
            p2 runs c
        p2 began
            c began
        p2 ok
            answer 12: c Ok s3
            p2 forks p7, frozen
        p7 ready
            s3 is in Memory
            p7 forks p8, save(environment)
            s3 saving: Writing { percent: 0 }
        run d on s3
            p2 runs d
        p2 began
            d began
        p2 ok
            answer 16: d Ok s4
            p2 forks p9, frozen
        p9 ready
            s4 is in Memory
            kill p8
            s3 saving: Idle
            p9 forks p10, save(environment)
            s4 saving: Writing { percent: 0 }
        run e on s4
            p2 runs e
        p2 began
            e began
        p2 ok
            answer 20: e Ok s5
            p2 forks p11, frozen
        p11 ready
            s5 is in Memory
            kill p10
            s4 saving: Idle
            p11 forks p12, save(environment)
            s5 saving: Writing { percent: 0 }
        alarm save
        p12 saved c-s5
            keep checkpoint c-s5 of s5
        kept s5
            s5 is in Memory
            p9 forks p13, save(environment)
            s4 saving: Writing { percent: 0 }
        checkpoint s3
            s3 saving: Waiting
        p13 saved c-s4
            keep checkpoint c-s4 of s4
        kept s4
            s4 is in Memory
            p7 forks p14, save(environment)
            s3 saving: Writing { percent: 0 }
        alarm save
        p6 saved c-s2
            keep checkpoint c-s2 of s2
        kept s2
            s2 is in Memory
        p14 saved c-s3
            keep checkpoint c-s3 of s3
        kept s3
            s3 is in Memory
            answer 27: checkpoint c-s3
        initial
        └─ s1 (a)
           └─ s2 (b)
              └─ s3 (c)
                 └─ s4 (d)
                    └─ s5 (e)
    "#]]
    .assert_eq(&after_two_saving(
        "
        run c on s2
        p2 began
        p2 ok
        p7 ready
        run d on s3
        p2 began
        p2 ok
        p9 ready
        run e on s4
        p2 began
        p2 ok
        p11 ready
        alarm save
        p12 saved c-s5
        kept s5
        checkpoint s3
        p13 saved c-s4
        kept s4
        alarm save
        p6 saved c-s2
        kept s2
        p14 saved c-s3
        kept s3
        ",
    ));
}

#[test]
fn a_run_does_not_interrupt_saving() {
    expect![[r#"
        p5 ready
            s2 is in Memory
            p5 forks p6, save(environment)
            s2 saving: Writing { percent: 0 }
        p4 saving 50
            s1 saving: Writing { percent: 50 }
        p4 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
        run c on s1
            p3 forks p7, head
            p7 runs c
        p6 saving 10
            s2 saving: Writing { percent: 10 }
        p6 saved c-s2
            keep checkpoint c-s2 of s2
        kept s2
            s2 is in Memory
        alarm save
        initial
        └─ s1 (a)
           ├─ s2 (b)
           └─ × c Queued
    "#]]
    .assert_eq(&after_two_saving(
        "
        p4 saving 50
        p4 saved c-s1
        kept s1
        run c on s1
        p6 saving 10
        p6 saved c-s2
        kept s2
        alarm save
        ",
    ));
}

#[test]
fn a_checkpoint_that_fails_harms_nothing_and_is_reported() {
    expect![[r#"
        p5 ready
            s2 is in Memory
            p5 forks p6, save(environment)
            s2 saving: Writing { percent: 0 }
        p4 cannot save
            kill p4
            s1 saving: Failed { why: "no space left" }
        p6 gone
            kill p6
            s2 saving: Failed { why: "the process that wrote the checkpoint died" }
        alarm again s1
            s1 saving: Idle
            p3 forks p7, save(environment)
            s1 saving: Writing { percent: 0 }
        p7 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
        alarm again s1
        run c on s2
            p2 runs c
        checkpoint s2
            s2 saving: Waiting
            p5 forks p8, save(environment)
            s2 saving: Writing { percent: 0 }
        p8 saved c-s2
            keep checkpoint c-s2 of s2
        unkept s2
            s2 saving: Failed { why: "the disk is full" }
            answer 19: refused, disk: save state s2: the disk is full
        initial
        └─ s1 (a)
           └─ s2 (b)
              └─ × c Queued
    "#]]
    .assert_eq(&after_two_saving(
        "
        p4 cannot save
        p6 gone
        alarm again s1
        p7 saved c-s1
        kept s1
        alarm again s1
        run c on s2
        checkpoint s2
        p8 saved c-s2
        unkept s2
        ",
    ));
}

#[test]
fn a_checkpoint_is_answered_when_it_is_kept_and_is_not_written_twice() {
    expect![[r#"
        p4 ready
            s2 is in Memory
        checkpoint s1
            s1 saving: Waiting
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        checkpoint s1
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            answer 12: checkpoint c-s1
            answer 13: checkpoint c-s1
        checkpoint s1
            s1 saving: Waiting
            s1 saving: Idle
            answer 16: checkpoint c-s1
        checkpoint s1 best
            s1 saving: Waiting
            s1 saving: Idle
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            answer 17: checkpoint c-s1
        initial
        └─ s1 (a)
           └─ s2 (b)
    "#]]
    .assert_eq(&after_two(
        9,
        "
        checkpoint s1
        checkpoint s1
        p5 saved c-s1
        kept s1
        checkpoint s1
        checkpoint s1 best
        kept s1
        ",
    ));
}

#[test]
fn a_state_beyond_the_budget_leaves_memory_and_is_loaded_when_it_is_used() {
    expect![[r#"
        p4 ready
            s2 is in Memory
        checkpoint s1
            s1 saving: Waiting
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            answer 12: checkpoint c-s1
            kill p3
            s1 is in Disk
        run c on s1
            p1 forks p6, frozen from c-s1 (Environment)
            s1 is in Freezing
        p6 ready
            s1 is in Freezing
            s1 is in Memory
            p6 forks p7, head
            p7 runs c
        p7 ready
        p7 began
            c began
        p7 ok
            answer 15: c Ok s3
            p7 forks p8, frozen
        initial
        └─ s1 (a)
           ├─ s2 (b)
           └─ s3 (c) Freezing
    "#]]
    .assert_eq(&after_two(
        1,
        "
        checkpoint s1
        p5 saved c-s1
        kept s1
        run c on s1
        p6 ready
        p7 ready
        p7 began
        p7 ok
        ",
    ));
}

/// While the user types, the page lets the code be checked.
#[test]
fn a_check_of_code_loads_no_state_from_disk() {
    expect![[r#"
        p4 ready
            s2 is in Memory
        checkpoint s1
            s1 saving: Waiting
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            answer 12: checkpoint c-s1
            kill p3
            s1 is in Disk
        check s1
            p1 forks p6, answer
            p6 is asked 1
        check s2
            p4 forks p7, answer
            p7 is asked 2
        complete s1
            p1 forks p8, frozen from c-s1 (Environment)
            s1 is in Freezing
            p8 forks p9, answer
            p9 is asked 3
        initial
        └─ s1 (a) Freezing
           └─ s2 (b)
    "#]]
    .assert_eq(&after_two(
        1,
        "
        checkpoint s1
        p5 saved c-s1
        kept s1
        check s1
        check s2
        complete s1
        ",
    ));
}

#[test]
fn a_checkpoint_that_cannot_be_loaded_is_reported_and_its_state_can_be_replayed() {
    expect![[r#"
        p4 ready
            s2 is in Memory
        checkpoint s1
            s1 saving: Waiting
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            answer 12: checkpoint c-s1
            kill p3
            s1 is in Disk
        run c on s1
            p1 forks p6, frozen from c-s1 (Environment)
            s1 is in Freezing
        look s1
            p6 forks p7, listvariables
        p6 cannot load
            kill p6
            answer 15: c Error RestoreFailed: a blob is damaged
            kill p7
            answer 16: refused, kernel: list the variables of state s1: a blob is damaged
            s1 is in Replay
            s1 saving: Failed { why: "its checkpoint could not be loaded: a blob is damaged" }
        run d on s1
            answer 18: refused, lost: run against state s1: it has no process, and its checkpoint could not be loaded: a blob is damaged
        replay s1
            p1 forks p8, head
            replaying s1: 0 of 1
            p8 runs replay:s1
        p8 ready
        p8 began
        p8 ok
            p8 forks p9, frozen
            s1 is in Freezing
            replaying s1: 1 of 1
            answer 19: done
        p9 ready
            s1 is in Memory
        initial
        └─ s1 (a)
           ├─ s2 (b)
           └─ × c Error
    "#]]
    .assert_eq(&after_two(
        1,
        "
        checkpoint s1
        p5 saved c-s1
        kept s1
        run c on s1
        look s1
        p6 cannot load
        run d on s1
        replay s1
        p8 ready
        p8 began
        p8 ok
        p9 ready
        ",
    ));
}

#[test]
fn a_lost_state_comes_back_by_running_its_lineage_again() {
    expect![[r#"
        p4 ready
            s2 is in Memory
        p2 gone
        p3 gone
            s1 is in Freezing
            s1 is in Replay
        p4 gone
            s2 is in Freezing
            s2 is in Replay
        run c on s2
            answer 15: refused, lost: run against state s2: it has neither a process nor a checkpoint
        run d on s2 replay yes
            p1 forks p5, head
            replaying s2: 0 of 2
            p5 runs replay:s2
        p5 ready
        p5 began
        p5 prints twice
        p5 ok
            p5 forks p6, frozen
            s1 is in Freezing
            replaying s2: 1 of 2
            p5 runs replay:s2
        p6 ready
            s1 is in Memory
        p5 ok
            p5 forks p7, frozen
            s2 is in Freezing
            replaying s2: 2 of 2
            p5 runs d
        p7 ready
            s2 is in Memory
        p5 began
            d began
        p5 ok
            answer 16: d Ok s3
            p5 forks p8, frozen
        initial
        └─ s1 (a)
           └─ s2 (b)
              └─ s3 (d) Freezing
    "#]]
    .assert_eq(&after_two(
        9,
        "
        p2 gone
        p3 gone
        p4 gone
        run c on s2
        run d on s2 replay yes
        p5 ready
        p5 began
        p5 prints twice
        p5 ok
        p6 ready
        p5 ok
        p7 ready
        p5 began
        p5 ok
        ",
    ));
}

#[test]
fn a_run_with_replay_waits_until_its_state_is_whole() {
    let script = |end: &str| format!("checkpoint s1\np5 saved c-s1\nkept s1\np3 gone\n{end}");
    // The checkpoint's record names no missing variable, but the process that loads it reports that
    // f is missing.
    expect![[r#"
        p4 ready
            s2 is in Memory
        checkpoint s1
            s1 saving: Waiting
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            answer 12: checkpoint c-s1
        p3 gone
            s1 is in Freezing
            s1 is in Disk
        run c on s1 replay yes
            p1 forks p6, frozen from c-s1 (Environment)
            s1 is in Freezing
        p6 ready without f
            s1 is in Freezing
            s1 is in Memory
            p1 forks p7, head
            replaying s1: 0 of 1
            p7 runs replay:s1
        p7 ready
        p7 began
        p7 ok
            p7 forks p8, frozen
            s1 is in Freezing
            kill p6
            replaying s1: 1 of 1
            p7 runs c
        p8 ready
            s1 is in Memory
        p7 began
            c began
        initial
        └─ s1 (a)
           ├─ s2 (b)
           └─ × c Running
    "#]]
    .assert_eq(&after_two(
        9,
        &script(
            "run c on s1 replay yes
            p6 ready without f
            p7 ready
            p7 began
            p7 ok
            p8 ready
            p7 began",
        ),
    ));
    // The checkpoint is complete, so nothing is replayed.
    expect![[r#"
        p4 ready
            s2 is in Memory
        checkpoint s1
            s1 saving: Waiting
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            answer 12: checkpoint c-s1
        p3 gone
            s1 is in Freezing
            s1 is in Disk
        run c on s1 replay yes
            p1 forks p6, frozen from c-s1 (Environment)
            s1 is in Freezing
        p6 ready
            s1 is in Freezing
            s1 is in Memory
            p6 forks p7, head
            p7 runs c
        p7 ready
        p7 began
            c began
        initial
        └─ s1 (a)
           ├─ s2 (b)
           └─ × c Running
    "#]]
    .assert_eq(&after_two(9, &script("run c on s1 replay yes\np6 ready\np7 ready\np7 began")));
    // Three cases: the checkpoint cannot be loaded, the process that loads it dies, or the state is
    // deleted.
    expect![[r#"
        p4 ready
            s2 is in Memory
        checkpoint s1
            s1 saving: Waiting
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            answer 12: checkpoint c-s1
        p3 gone
            s1 is in Freezing
            s1 is in Disk
        run c on s1 replay yes
            p1 forks p6, frozen from c-s1 (Environment)
            s1 is in Freezing
        p6 cannot load
            kill p6
            s1 is in Replay
            s1 saving: Failed { why: "its checkpoint could not be loaded: a blob is damaged" }
            p1 forks p7, head
            replaying s1: 0 of 1
            p7 runs replay:s1
        initial
        └─ s1 (a) Replay
           ├─ s2 (b)
           └─ × c Queued
    "#]]
    .assert_eq(&after_two(9, &script("run c on s1 replay yes\np6 cannot load")));
    expect![[r#"
        p4 ready
            s2 is in Memory
        checkpoint s1
            s1 saving: Waiting
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            answer 12: checkpoint c-s1
        p3 gone
            s1 is in Freezing
            s1 is in Disk
        run c on s1 replay yes
            p1 forks p6, frozen from c-s1 (Environment)
            s1 is in Freezing
        p6 gone
            s1 is in Disk
            p1 forks p7, frozen from c-s1 (Environment)
            s1 is in Freezing
        initial
        └─ s1 (a) Freezing
           ├─ s2 (b)
           └─ × c Queued
    "#]]
    .assert_eq(&after_two(9, &script("run c on s1 replay yes\np6 gone")));
    expect![[r#"
        p4 ready
            s2 is in Memory
        checkpoint s1
            s1 saving: Waiting
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            answer 12: checkpoint c-s1
        p3 gone
            s1 is in Freezing
            s1 is in Disk
        run c on s1 replay yes
            p1 forks p6, frozen from c-s1 (Environment)
            s1 is in Freezing
        delete s1
            kill p6
            answer 16: c Interrupted KeyboardInterrupt: the state it ran against was deleted
            s1 is in Deleted
            answer 17: done
        initial
        └─ s1 (a) Deleted
           ├─ s2 (b)
           └─ × c Interrupted
    "#]]
    .assert_eq(&after_two(9, &script("run c on s1 replay yes\ndelete s1")));
}

#[test]
fn a_state_that_grows_from_one_that_lacks_names_lacks_them_too() {
    expect![[r#"
        p4 ready
            s2 is in Memory
        checkpoint s1
            s1 saving: Waiting
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            answer 12: checkpoint c-s1
        p3 gone
            s1 is in Freezing
            s1 is in Disk
        run c on s1
            p1 forks p6, frozen from c-s1 (Environment)
            s1 is in Freezing
        p6 ready without f
            s1 is in Freezing
            s1 is in Memory
            p6 forks p7, head
            p7 runs c
        p7 ready
        p7 began
            c began
        p7 ok
            answer 16: c Ok s3
            p7 forks p8, frozen
        p8 ready without f
            s3 is in Freezing
            s3 is in Memory
        run d on s3 replay yes
            p1 forks p9, head
            replaying s3: 0 of 2
            p9 runs replay:s3
        initial
        └─ s1 (a)
           ├─ s2 (b)
           └─ s3 (c)
              └─ × d Queued
    "#]]
    .assert_eq(&after_two(
        9,
        "
        checkpoint s1
        p5 saved c-s1
        kept s1
        p3 gone
        run c on s1
        p6 ready without f
        p7 ready
        p7 began
        p7 ok
        p8 ready without f
        run d on s3 replay yes
        ",
    ));
}

#[test]
fn a_replay_that_fails_names_the_cell() {
    expect![[r#"
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
        replay s2
        p5 ready
        p5 raises KeyError
            kill p5
            replaying s2: 0 of 0
            answer 15: refused, lost: replay the state of In[1]: this time the cell In[1] failed: KeyError: message
            answer 16: refused, lost: replay the state of In[1]: this time the cell In[1] failed: KeyError: message
        replay s2
            p1 forks p6, head
            replaying s2: 0 of 2
            p6 runs replay:s2
        interrupt replay:s2
            kill p6
            replaying s2: 0 of 0
            answer 19: refused, lost: replay the state of In[1]: the replay was stopped
            answer 20: interrupted true
        initial
        └─ s1 (a) Replay
           └─ s2 (b) Replay
    "#]]
    .assert_eq(&after_two(
        9,
        "
        p2 gone
        p3 gone
        p4 gone
        replay s2
        replay s2
        p5 ready
        p5 raises KeyError
        replay s2
        interrupt replay:s2
        ",
    ));
}

#[test]
fn a_state_that_hangs_in_forks_is_branched_from_its_checkpoint() {
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
        p2 ok hangs
            answer 3: a Ok s1
            p2 forks p3, frozen
        p3 ready
            s1 is in Memory
            p3 forks p4, save(environment)
            s1 saving: Writing { percent: 0 }
        run b on s1
            p2 runs b
        p2 began
            b began
        run c on s1
        p4 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            p1 forks p5, head from c-s1 (Environment)
            p5 runs c
        p5 ready
        p5 began
            c began
        initial
        └─ s1 (a)
           ├─ × b Running
           └─ × c Running
    "#]]
    .assert_eq(&play_within(
        9,
        true,
        "
        open
        p1 ready
        run a
        p2 began
        p2 ok hangs
        p3 ready
        run b on s1
        p2 began
        run c on s1
        p4 saved c-s1
        kept s1
        p5 ready
        p5 began
        ",
    ));
}

#[test]
fn of_a_foreign_checkpoint_only_values_are_loaded_until_it_is_trusted() {
    expect![[r#"
        p4 ready
            s2 is in Memory
        checkpoint s1
            s1 saving: Waiting
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1 foreign
            s1 is in Memory
            answer 12: checkpoint c-s1
        p3 gone
            s1 is in Freezing
            s1 is in Disk
        run c on s1
            p1 forks p6, frozen from c-s1 (Data)
            s1 is in Freezing
        p6 ready without f
            s1 is in Freezing
            s1 is in Memory
            p6 forks p7, head
            p7 runs c
        trust
            trust all
        trusted s1
            s1 is in Memory
            answer 18: 1 trusted
        initial
        └─ s1 (a)
           ├─ s2 (b)
           └─ × c Queued
    "#]]
    .assert_eq(&after_two(
        1,
        "
        checkpoint s1
        p5 saved c-s1
        kept s1 foreign
        p3 gone
        run c on s1
        p6 ready without f
        trust
        trusted s1
        ",
    ));
}

#[test]
fn a_notebook_that_another_server_writes_is_read_only_until_it_is_taken_over() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a
            p1 forks p2, head
            p2 runs a
        copy held
            copy held
        run b
            answer 5: refused, conflict: change the notebook n: ann on b has it open
        adopt
            answer 6: refused, conflict: change the notebook n: ann on b has it open
        python 3.13.0
            answer 7: refused, conflict: change the notebook n: ann on b has it open
        p2 ready
        p2 began
            a began
        p2 ok
            answer 3: a Ok s1
            p2 forks p3, frozen
        take over
            take over for 11
        copy pushed
            copy pushed
        taken over 11
            answer 11: done
        run c on s1
            p2 runs c
        initial
        └─ s1 (a) Freezing
           └─ × c Queued
    "#]]
    .assert_eq(&play(
        "
        open
        p1 ready
        run a
        copy held
        run b
        adopt
        python 3.13.0
        p2 ready
        p2 began
        p2 ok
        take over
        copy pushed
        taken over 11
        run c on s1
        ",
    ));
}

#[test]
fn a_client_learns_whether_the_disk_or_something_else_kept_a_state_from_being_saved() {
    expect![[r#"
        p5 ready
            s2 is in Memory
            p5 forks p6, save(environment)
            s2 saving: Writing { percent: 0 }
        p4 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
        checkpoint s2
        p6 saving 10
            s2 saving: Writing { percent: 10 }
        p6 cannot pickle
            kill p6
            s2 saving: Failed { why: "a value recurses" }
            p5 forks p7, save(environment)
            s2 saving: Writing { percent: 0 }
        p7 cannot pickle
            kill p7
            s2 saving: Failed { why: "a value recurses" }
            answer 14: refused, kernel: save state s2: a value recurses
        checkpoint s2
            s2 saving: Waiting
            p5 forks p8, save(environment)
            s2 saving: Writing { percent: 0 }
        p8 gone
            kill p8
            s2 saving: Failed { why: "the process that wrote the checkpoint died" }
            answer 18: refused, kernel: save state s2: the process that wrote the checkpoint died
        checkpoint s2
            s2 saving: Waiting
            p5 forks p9, save(environment)
            s2 saving: Writing { percent: 0 }
        p9 cannot save
            kill p9
            s2 saving: Failed { why: "no space left" }
            answer 20: refused, disk: save state s2: no space left
        initial
        └─ s1 (a)
           └─ s2 (b)
    "#]]
    .assert_eq(&after_two_saving(
        "
        p4 saved c-s1
        kept s1
        checkpoint s2
        p6 saving 10
        p6 cannot pickle
        p7 cannot pickle
        checkpoint s2
        p8 gone
        checkpoint s2
        p9 cannot save
        ",
    ));
}

#[test]
fn nothing_is_saved_while_the_disk_is_full() {
    expect![[r#"
        p5 ready
            s2 is in Memory
            p5 forks p6, save(environment)
            s2 saving: Writing { percent: 0 }
        checkpoint s2
        trouble
            trouble: the disk is full
            s2 saving: Failed { why: "the disk is full" }
            answer 12: refused, disk: save state s2: the disk is full
        p4 cannot save
            kill p4
            s1 saving: Failed { why: "no space left" }
        checkpoint s2
            answer 15: refused, disk: save state s2: the disk is full
        alarm save
        run c on s2
            p2 runs c
        well
            trouble: none
            s1 saving: Idle
            s2 saving: Idle
            p5 forks p7, save(environment)
            s2 saving: Writing { percent: 0 }
        initial
        └─ s1 (a)
           └─ s2 (b)
              └─ × c Queued
    "#]]
    .assert_eq(&after_two_saving(
        "
        checkpoint s2
        trouble
        p4 cannot save
        checkpoint s2
        alarm save
        run c on s2
        well
        ",
    ));
}

#[test]
fn closing_ends_runs_and_saves_what_can_be_saved() {
    expect![[r#"
        p5 ready
            s2 is in Memory
            p5 forks p6, save(environment)
            s2 saving: Writing { percent: 0 }
        run c on s2
            p2 runs c
        p2 began
            c began
        p4 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
        closing
            kill p2
            answer 12: c Interrupted KeyboardInterrupt: interrupted by server stop
        p6 saved c-s2
            keep checkpoint c-s2 of s2
        kept s2
            s2 is in Memory
        initial
        └─ s1 (a)
           └─ s2 (b)
              └─ × c Interrupted
    "#]]
    .assert_eq(&after_two_saving(
        "
        run c on s2
        p2 began
        p4 saved c-s1
        kept s1
        closing
        p6 saved c-s2
        kept s2
        ",
    ));
}

#[test]
fn a_pinned_state_stays_longest() {
    expect![[r#"
        p4 ready
            s2 is in Memory
        pin s1
            s1 is in Memory
            answer 12: done
        checkpoint s1
            s1 saving: Waiting
            p3 forks p5, save(environment)
            s1 saving: Writing { percent: 0 }
        p5 saved c-s1
            keep checkpoint c-s1 of s1
        kept s1
            s1 is in Memory
            answer 13: checkpoint c-s1
        p2 gone
        checkpoint s2
            s2 saving: Waiting
            p4 forks p6, save(environment)
            s2 saving: Writing { percent: 0 }
        p6 saved c-s2
            keep checkpoint c-s2 of s2
        kept s2
            s2 is in Memory
            answer 17: checkpoint c-s2
            kill p4
            s2 is in Disk
        initial
        └─ s1 (a)
           └─ s2 (b) Disk
    "#]]
    .assert_eq(&after_two(
        1,
        "
        pin s1
        checkpoint s1
        p5 saved c-s1
        kept s1
        p2 gone
        checkpoint s2
        p6 saved c-s2
        kept s2
        ",
    ));
}

#[test]
fn versions_of_a_task_go_on() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        task t initial
            t has version 1
            answer 3: version 1
        task t initial
            t has version 2
            answer 4: version 2
        reset
            end what cells have started
            all was reset
            answer 5: done
        task t initial
            t has version 3
            answer 6: version 3
        task u s9
            answer 7: refused, not_found: find state s9: this notebook has none with this id
        initial
    "#]]
    .assert_eq(&play(
        "
        open
        p1 ready
        task t initial
        task t initial
        reset
        task t initial
        task u s9
        ",
    ));
}

#[test]
fn a_state_from_a_file_is_there_when_its_checkpoint_is_and_its_values_are_not_saved_over_it() {
    let story = "open
        p1 ready
        adopt
        kept s2 foreign
        checkpoint s2
        run a on s2
        p2 ready without f
        checkpoint s2";
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        adopt
            keep checkpoint c-elsewhere of s2
        kept s2 foreign
            s2 is in Disk label mine
            answer 3: import-s1 Ok s2
        checkpoint s2
            answer 5: refused, conflict: save state s2: its checkpoint is not trusted, so only its values are loaded; saving those would lose the rest
        run a on s2
            p1 forks p2, frozen from c-s2 (Data)
            s2 is in Freezing label mine
        p2 ready without f
            s2 is in Freezing label mine
            s2 is in Memory label mine
            p2 forks p3, head
            p3 runs a
        checkpoint s2
            answer 8: refused, conflict: save state s2: its checkpoint is not trusted, so only its values are loaded; saving those would lose the rest
        initial
        └─ s2 (import-s1)
           └─ × a Queued
    "#]].assert_eq(&play(story));
}

#[test]
fn a_state_from_a_file_that_cannot_be_kept_is_no_state() {
    let story = "open
        p1 ready
        adopt
        unkept s2
        adopt
        reset
        kept s4 foreign";
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        adopt
            keep checkpoint c-elsewhere of s2
        unkept s2
            purged [s2] [import-s1]
            answer 3: refused, disk: import a state: the disk is full
        adopt
            keep checkpoint c-elsewhere of s4
        reset
            answer 5: refused, conflict: import a state: the notebook was reset
            end what cells have started
            all was reset
            answer 6: done
        kept s4 foreign
        initial
    "#]]
    .assert_eq(&play(story));
}

#[test]
fn a_loaded_process_with_threads_is_not_forked_for_a_run() {
    let script = "open\n p1 ready\n run a\n p2 ok\n p3 ready\n checkpoint s1\n p4 saved c\n kept s1\n run b on s1\n p2 ok\n p5 ready\n
        p3 gone\n run c on s1\n run d on s1\n p6 ready with threads\n run e on s1\n look s1";
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a
            p1 forks p2, head
            p2 runs a
        p2 ok
            answer 3: a Ok s1
            p2 forks p3, frozen
        p3 ready
            s1 is in Memory
        checkpoint s1
            s1 saving: Waiting
            p3 forks p4, save(environment)
            s1 saving: Writing { percent: 0 }
        p4 saved c
            keep checkpoint c of s1
        kept s1
            s1 is in Memory
            answer 6: checkpoint c-s1
        run b on s1
            p2 runs b
        p2 ok
            answer 9: b Ok s2
            p2 forks p5, frozen
        p5 ready
            s2 is in Memory
        p3 gone
            s1 is in Freezing
            s1 is in Disk
        run c on s1
            p1 forks p6, frozen from c-s1 (Environment)
            s1 is in Freezing
        run d on s1
        p6 ready with threads
            s1 is in Freezing
            s1 is in Freezing
            s1 is in Memory
            p1 forks p7, head from c-s1 (Environment)
            p7 runs c
            p1 forks p8, head from c-s1 (Environment)
            p8 runs d
        run e on s1
            p1 forks p9, head from c-s1 (Environment)
            p9 runs e
        look s1
            p6 forks p10, listvariables
        initial
        └─ s1 (a)
           ├─ s2 (b)
           ├─ × c Queued
           ├─ × d Queued
           └─ × e Queued
    "#]]
    .assert_eq(&play(script));
}

#[test]
fn a_run_that_waits_for_a_load_fails_with_it() {
    let start = "open\n p1 ready\n run a\n p2 ok\n p3 ready\n checkpoint s1\n p4 saved c\n kept s1\n run b on s1\n p2 ok\n p5 ready\n
        p3 gone\n run c on s1\n run d on s1\n";
    for (how, ends) in [
        ("p6 cannot load", "c Error RestoreFailed"),
        ("p6 gone\n p7 gone", "c Error ForkFailed"),
        ("interrupt c\n p6 ready", "c Interrupted"),
        ("delete s1", "c Interrupted"),
        ("reset", "c Interrupted"),
        ("closing", "c Interrupted"),
    ] {
        let story = play(&format!("{start}{how}"));
        assert!(story.contains(ends), "{how}: {story}");
        assert!(!story.contains("runs c"), "{how}: {story}");
    }
}

#[test]
fn fork_anyway_forks_a_state_that_warns_against_it() {
    let start = "open\n p1 ready\n run a\n p2 ok hangs\n p3 ready\n checkpoint s1\n p4 saved c\n kept s1\n run b on s1\n";
    let story = play(&format!("{start} run c on s1\n fork s1 anyway\n run d on s1"));
    assert!(story.contains("p1 forks p5, head from c-s1"), "{story}");
    assert!(story.contains("p3 forks p6, head"), "{story}");
}

/// Runs a series of cells while checkpoints are written slowly. Each cell is requested as soon as
/// the previous cell has left a state.
#[test]
fn new_runs_wait_until_states_beyond_the_budget_are_on_disk() {
    let budget = Budget { processes: 10, ..Budget::default() };
    let mut machine = machine_with(budget, true);
    let (mut states, mut most, mut waited) = (0, 0, 0);
    let (mut alive, mut forks) = (std::collections::BTreeSet::new(), 0);
    let mut inputs = std::collections::VecDeque::from([Input::Opened]);
    // Reports of saving processes. The test delays them, as a slow disk would.
    let mut unsaved = std::collections::VecDeque::new();
    let ask = |n: usize| {
        let on = if n == 0 { StateId::root() } else { state(&format!("s{n}")) };
        Input::Command(Ticket(n as u64), run(&format!("r{n}"), Base::State(on)))
    };
    for turn in 0..20_000 {
        let input = match inputs.pop_front() {
            Some(input) => input,
            None => match unsaved.pop_front() {
                // No other input is left, so the machine waits for a checkpoint.
                Some(done) => {
                    waited += 1;
                    done
                }
                None => break,
            },
        };
        for effect in machine.step(f64::from(turn), input) {
            match effect {
                Effect::SpawnRoot(root) => inputs.push_back(Input::Reported(root, ready())),
                Effect::Fork { child, role: crate::kernel::Role::Frozen, .. } => {
                    forks += 1;
                    alive.insert(child);
                    inputs.push_back(Input::Reported(child, ready()));
                }
                Effect::Fork { child, role: crate::kernel::Role::Head, .. } => {
                    inputs.push_back(Input::Reported(child, ready()));
                }
                Effect::Fork { child, role: crate::kernel::Role::Save(_), .. } => {
                    let contents = Contents {
                        manifest: format!("c{}", child.0),
                        entry_count: 1,
                        namespace_bytes: 10,
                        stored_bytes: 5,
                        new_bytes: 5,
                        includes_source: true,
                        missing: Vec::new(),
                        changed: Vec::new(),
                        not_compared: None,
                    };
                    unsaved.push_back(Input::Reported(child, Report::Saved(contents)));
                }
                Effect::Keep { state, checkpoint, .. } => {
                    inputs.push_back(Input::Kept(state, Ok(checkpoint)))
                }
                Effect::Run { head, .. } => {
                    inputs.push_back(Input::Reported(head, Report::Started));
                    inputs.push_back(Input::Reported(head, ended()));
                }
                Effect::Kill(process, _) => drop(alive.remove(&process)),
                Effect::Answer(_, reply) if matches!(*reply, Reply::Ended(Ended { state: Some(_), .. })) => {
                    states += 1;
                    if states < 300 {
                        inputs.push_back(ask(states));
                    }
                }
                _ => {}
            }
        }
        if turn == 0 {
            inputs.push_back(ask(0));
        }
        most = most.max(alive.len());
    }
    assert_eq!(states, 300, "every run has its turn");
    assert!(most <= 10 + 32 + 2 && forks >= 300, "{most} of {forks} lived at once");
    assert!(waited >= 300 - 44, "{waited}");
}

fn ready() -> Report {
    Report::Ready { pid: 0, missing: Vec::new(), hazard: None }
}

fn ended() -> Report {
    Report::Ended { how: How::Ok, report: cell_report(1), remains: Default::default() }
}

#[test]
fn a_load_is_answered_when_a_process_holds_the_state() {
    let story = play_within(
        1,
        true,
        "open
         p1 ready
         run a on initial
         p2 ready
         p2 began
         p2 ok
         p3 ready
         load s1",
    );
    assert!(story.contains("answer 8: done"), "{story}");
    let story = play("open\n p1 ready\n load nowhere\n load initial");
    assert!(story.contains("answer 3: refused, not_found: find state \"nowhere\""), "{story}");
    assert!(story.contains("answer 4: done"), "{story}");
}

#[test]
fn a_repeated_request_by_name_is_answered_by_the_run_that_the_first_one_made() {
    let story = play(
        "open
         p1 ready
         run a named initial as initial
         p2 ready
         p2 began
         p2 ok
         p3 ready
         run a named initial as initial
         run b named gone",
    );
    assert!(story.contains("answer 8: a Ok s1 named initial"), "{story}");
    assert!(story.contains("answer 9: refused, not_found: find state \"gone\""), "{story}");
}

#[test]
fn a_state_that_is_being_frozen_is_not_yet_saved() {
    let script = "
        open
        p1 ready
        all saved?
        run a
        p2 ready
        p2 began
        p2 ok
        all saved?
        closing
        p3 ready
        all saved?
        p4 saved c1
        all saved?
        kept s1
        all saved?
    ";
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        all saved?
            true
        run a
            p1 forks p2, head
            p2 runs a
        p2 ready
        p2 began
            a began
        p2 ok
            answer 4: a Ok s1
            p2 forks p3, frozen
        all saved?
            false
        closing
        p3 ready
            s1 is in Memory
            p3 forks p4, save(environment)
            s1 saving: Writing { percent: 0 }
        all saved?
            false
        p4 saved c1
            keep checkpoint c1 of s1
        all saved?
            false
        kept s1
            s1 is in Memory
        all saved?
            true
        initial
        └─ s1 (a)
    "#]]
    .assert_eq(&play_within(10, true, script));
}
