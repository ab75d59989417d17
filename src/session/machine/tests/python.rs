//! Tests of restarting a notebook in another Python, and of a Python that cannot be started.

use super::{play, play_within};
use expect_test::expect;

/// A script that makes a state s1, with a checkpoint by Python 3.12.
const SAVED: &str = "
    open
    p1 ready
    run a
    p2 ready
    p2 began
    p2 ok
    p3 ready
    p4 saved c1
    kept s1 by-3.12
";

#[test]
fn all_processes_end_and_saved_states_are_on_disk() {
    let script = "
        run b on s1
        p2 began
        p2 ok
        p5 ready
        look s2
        python 3.13.0
        p8 ready
        run c on s1
    ";
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
            p3 forks p4, save(environment)
            s1 saving: Writing { percent: 0 }
        p4 saved c1
            keep checkpoint c1 of s1
        kept s1 by-3.12
            s1 is in Memory
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 10: b Ok s2
            p2 forks p5, frozen
        p5 ready
            s2 is in Memory
            p5 forks p6, save(environment)
            s2 saving: Writing { percent: 0 }
        look s2
            p5 forks p7, listvariables
        python 3.13.0
            kill p6
            s2 saving: Idle
            end what cells have started
            kill p7
            answer 14: refused, conflict: list the variables of state s2: the notebook was restarted in another Python
            kill p3
            kill p5
            kill p2
            kill p1
            use Python 3.13.0
            python chosen 3.13.0
            initial is in Freezing
            s1 is in Disk
            s2 is in Replay
            plant p8
            answer 15: done
        p8 ready
            initial is in Memory
        run c on s1
            p8 forks p9, frozen from c-s1 (Environment)
            s1 is in Freezing
        initial
        └─ s1 (a) Freezing
           ├─ s2 (b) Replay
           └─ × c Queued
    "#]].assert_eq(&play_within(10, true, &format!("{SAVED}{script}")));
}

#[test]
fn while_a_cell_runs_or_waits_the_change_is_refused() {
    let script = "
        open
        p1 ready
        run a
        run b after a
        p2 ready
        p2 began
        python 3.13.0
    ";
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        run a
            p1 forks p2, head
            p2 runs a
        run b after a
        p2 ready
        p2 began
            a began
        python 3.13.0
            answer 7: refused, conflict: change the notebook's Python: 2 cells are running or waiting
        initial
        └─ × a Running
    "#]]
    .assert_eq(&play(script));
}

#[test]
fn a_python_that_is_gone_fails_what_waits_and_the_next_run_checks_again() {
    let script = "
        open
        run a
        python is gone
        run b
        python 3.12.2 is there
        p3 ready
    ";
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        python is gone
            python default 3.12.1: cannot use the Python: it is gone
            initial is in Replay
            kill p2
            answer 2: a Error ForkFailed: cannot use the Python: it is gone
        run b
            plant p3
            p3 forks p4, head
            p4 runs b
        python 3.12.2 is there
            python default 3.12.2
        p3 ready
            initial is in Memory
        initial
        ├─ × a Error
        └─ × b Queued
    "#]]
    .assert_eq(&play(script));
}

/// Python 3.13 loads s1 without `f`. So the loaded values are not saved over the checkpoint of
/// 3.12, and a run that needs the whole state replays the state. 3.13 then saves the replayed
/// state.
#[test]
fn a_state_of_another_version_comes_back_as_values_or_by_replay() {
    let script = "
        python 3.13.0
        p5 ready
        load s1
        p6 ready without f
        checkpoint s1
        run c on s1 replay yes
        p7 ready
        p7 began
        p7 ok
        p8 ready
        p7 began
        p7 ok
        p9 ready
        wait 10
        alarm save
    ";
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
            p3 forks p4, save(environment)
            s1 saving: Writing { percent: 0 }
        p4 saved c1
            keep checkpoint c1 of s1
        kept s1 by-3.12
            s1 is in Memory
        python 3.13.0
            end what cells have started
            kill p3
            kill p2
            kill p1
            use Python 3.13.0
            python chosen 3.13.0
            initial is in Freezing
            s1 is in Disk
            plant p5
            answer 10: done
        p5 ready
            initial is in Memory
        load s1
            p5 forks p6, frozen from c-s1 (Environment)
            s1 is in Freezing
        p6 ready without f
            s1 is in Freezing
            s1 is in Memory
            answer 12: done
        checkpoint s1
            answer 14: refused, conflict: save state s1: Python 3.12 wrote its checkpoint, so only its values are loaded; saving those would lose the rest
        run c on s1 replay yes
            p5 forks p7, head
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
            p8 forks p9, save(environment)
            s1 saving: Writing { percent: 0 }
        p7 began
            c began
        p7 ok
            answer 15: c Ok s2
            p7 forks p10, frozen
        p9 ready
        wait 10
        alarm save
        initial
        └─ s1 (a)
           └─ s2 (c) Freezing
    "#]].assert_eq(&play_within(10, true, &format!("{SAVED}{script}")));
}

/// After a change to 3.13 and back to 3.12, the checkpoint of 3.12 restores the whole state.
#[test]
fn back_in_the_first_version_the_state_is_whole() {
    let script = "
        python 3.13.0
        p5 ready
        load s1
        p6 ready without f
        python 3.12.9
        p7 ready
        run c on s1 replay yes
    ";
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
            p3 forks p4, save(environment)
            s1 saving: Writing { percent: 0 }
        p4 saved c1
            keep checkpoint c1 of s1
        kept s1 by-3.12
            s1 is in Memory
        python 3.13.0
            end what cells have started
            kill p3
            kill p2
            kill p1
            use Python 3.13.0
            python chosen 3.13.0
            initial is in Freezing
            s1 is in Disk
            plant p5
            answer 10: done
        p5 ready
            initial is in Memory
        load s1
            p5 forks p6, frozen from c-s1 (Environment)
            s1 is in Freezing
        p6 ready without f
            s1 is in Freezing
            s1 is in Memory
            answer 12: done
        python 3.12.9
            end what cells have started
            kill p6
            kill p5
            use Python 3.12.9
            python chosen 3.12.9
            initial is in Freezing
            s1 is in Disk
            plant p7
            answer 14: done
        p7 ready
            initial is in Memory
        run c on s1 replay yes
            p7 forks p8, frozen from c-s1 (Environment)
            s1 is in Freezing
        initial
        └─ s1 (a) Freezing
           └─ × c Queued
    "#]]
    .assert_eq(&play_within(10, true, &format!("{SAVED}{script}")));
}

#[test]
fn a_python_that_was_replaced_is_known_by_the_version_that_runs() {
    let script = "
        open
        p1 runs Python 3.13.0
        p1 ready
        run a
        p2 runs Python 3.11.0
    ";
    expect![[r#"
        open
            plant p1
        p1 runs Python 3.13.0
            python default 3.13.0
        p1 ready
            initial is in Memory
        run a
            p1 forks p2, head
            p2 runs a
        p2 runs Python 3.11.0
        initial
        └─ × a Queued
    "#]]
    .assert_eq(&play(script));
}

#[test]
fn a_late_start_is_explained_and_goes_on() {
    let script = "
        open
        run a
        alarm unasked p2
        p2 hangs
        p1 ready
        run b
    ";
    expect![[r#"
        open
            plant p1
        run a
            p1 forks p2, head
            p2 runs a
        alarm unasked p2
            examine p2
        p2 hangs
            kill p2
            answer 2: a Error ForkFailed: Python has not started within 60 s: it waits for a lock. It goes on starting, so run the cell again later. A `.pth` file or a startup file may wait; to find it, run: /bin/python3 -v -m IPython
        p1 ready
            initial is in Memory
        run b
            p1 forks p3, head
            p3 runs b
        initial
        ├─ × a Error
        └─ × b Queued
    "#]].assert_eq(&play(script));
}
