//! Tests of completion and inspection, and of finding out which variables a cell changed. Each line
//! of a script takes one second.

use super::play;
use expect_test::expect;

#[test]
fn repeated_questions_go_to_the_same_process() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        complete initial
            p1 forks p2, answer
            p2 is asked 1
        inspect initial
            p2 is asked 2
        p2 ready
        p2 finds 1
            answer 3: 0 completions
        p2 knows 2
            answer 4: inspected nothing
        p2 finds 2
        alarm unasked p2
        complete s9
            answer 10: refused, not_found: find state s9: this notebook has none with this id
        initial
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         complete initial
         inspect initial
         p2 ready
         p2 finds 1
         p2 knows 2
         p2 finds 2
         alarm unasked p2
         complete s9",
    ));
}

#[test]
fn a_process_that_evaluates_expressions_answers_no_other_question() {
    let script = "
        open
        p1 ready
        complete initial
        p2 ready
        p2 finds 1
        evaluate initial
        evaluate initial
        inspect initial
        p3 ready
        p3 computes 2
        p4 ready
        p4 computes 3
        p2 knows 4
    ";
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        complete initial
            p1 forks p2, answer
            p2 is asked 1
        p2 ready
        p2 finds 1
            answer 3: 0 completions
        evaluate initial
            p1 forks p3, answer
            p3 is asked 2
        evaluate initial
            p1 forks p4, answer
            p4 is asked 3
        inspect initial
            p2 is asked 4
        p3 ready
        p3 computes 2
            answer 6: 0 values
            kill p3
        p4 ready
        p4 computes 3
            answer 7: 0 values
            kill p4
        p2 knows 4
            answer 8: inspected nothing
        initial
    "#]]
    .assert_eq(&play(script));
}

#[test]
fn tables_have_a_process_of_their_own_that_answers_again_and_is_killed_when_it_hangs() {
    let script = "
        open
        p1 ready
        complete initial
        p2 ready
        p2 finds 1
        table initial
        p3 ready
        p3 refuses 2
        table initial
        table initial
        wait 10
        alarm answered p3 3
    ";
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        complete initial
            p1 forks p2, answer
            p2 is asked 1
        p2 ready
        p2 finds 1
            answer 3: 0 completions
        table initial
            p1 forks p3, answer
            p3 is asked 2
        p3 ready
        p3 refuses 2
            answer 6: refused, bad_request: show a table: why
        table initial
            p3 is asked 3
        table initial
            p3 is asked 4
        wait 10
        alarm answered p3 3
            kill p3
            answer 9: refused, timeout: answer a question about state initial: it took longer than 10 s
            answer 10: refused, timeout: answer a question about state initial: it took longer than 10 s
        initial
    "#]]
    .assert_eq(&play(script));
}

#[test]
fn waiting_questions_are_refused_when_their_process_hangs_or_dies() {
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        complete initial
            p1 forks p2, answer
            p2 is asked 1
        complete initial
            p2 is asked 2
        p2 ready
        alarm answered p2 1
            kill p2
            answer 3: refused, timeout: answer a question about state initial: it took longer than 1 s
            answer 4: refused, timeout: answer a question about state initial: it took longer than 1 s
        label initial x
            initial is in Memory label x
            answer 7: done
        alarm answered p2 1
        p2 finds 1
        complete initial
            p1 forks p3, answer
            p3 is asked 3
        p3 gone
            kill p3
            answer 10: refused, kernel: answer a question about state initial: the process that computed the answer has died
        complete initial
            p1 forks p4, answer
            p4 is asked 4
        p1 cannot fork p4
            kill p4
            answer 12: refused, kernel: answer a question about state initial: no more processes
        complete initial
            p1 forks p5, answer
            p5 is asked 5
        reset
            end what cells have started
            kill p5
            answer 14: refused, not_found: answer a question about state initial: the notebook was reset
            all was reset
            answer 15: done
        initial
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         complete initial
         complete initial
         p2 ready
         alarm answered p2 1
         label initial x
         alarm answered p2 1
         p2 finds 1
         complete initial
         p3 gone
         complete initial
         p1 cannot fork p4
         complete initial
         reset",
    ));
}

#[test]
fn questions_go_to_the_state_while_a_cell_runs_on_from_it() {
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
        run b on s1
            p2 runs b
        p2 began
            b began
        complete s1
            p3 forks p4, answer
            p4 is asked 1
        p4 finds 1
            answer 10: 0 completions
        delete s1
            kill p3
            kill p4
            s1 is in Deleted
            answer 12: done
        initial
        └─ s1 (a) Deleted
           └─ × b Running
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 ready
         p2 began
         p2 ok
         p3 ready
         run b on s1
         p2 began
         complete s1
         p4 finds 1
         delete s1",
    ));
}

#[test]
fn variables_are_compared_while_no_cell_runs() {
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
        alarm compare
            p1 forks p4, fingerprint
        p4 marks 1
            p3 forks p5, fingerprint
        p5 marks 1 x=1 y=1 z@lock:1
            s1 changed [x y z] [] []
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 11: b Ok s2
            p2 forks p6, frozen
        p6 ready
            s2 is in Memory
        alarm compare
            p6 forks p7, fingerprint
        p7 marks 1 x=2 y=1 z@lock:2 new=1
            s2 changed [new] [x z] []
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
         p2 ok
         p3 ready
         alarm compare
         p4 marks 1
         p5 marks 1 x=1 y=1 z@lock:1
         run b on s1
         p2 began
         p2 ok
         p6 ready
         alarm compare
         p7 marks 1 x=2 y=1 z@lock:2 new=1",
    ));
}

#[test]
fn nothing_is_compared_while_cells_wait_nor_with_what_is_not_known() {
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
        p2 ok
            answer 3: a Ok s1
            p2 forks p3, frozen
            p2 runs b
        p3 ready
            s1 is in Memory
        alarm compare
        p2 began
            b began
        p2 ok
            answer 4: b Ok s2
            p2 forks p4, frozen
        p4 ready
            s2 is in Memory
        alarm compare
            p3 forks p5, fingerprint
        alarm marked p5
            kill p5
            p4 forks p6, fingerprint
        alarm compare
        initial
        └─ s1 (a)
           └─ s2 (b)
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         run b after a
         p2 ready
         p2 began
         p2 ok
         p3 ready
         alarm compare
         p2 began
         p2 ok
         p4 ready
         alarm compare
         alarm marked p5
         alarm compare",
    ));
}

#[test]
fn addresses_are_compared_only_within_one_address_space() {
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
        alarm compare
            p1 forks p4, fingerprint
        p4 marks 7 same@lock:1 other@lock:2 content=1
            p3 forks p5, fingerprint
        p5 marks 8 same@lock:9 other@set:3 content=2
            s1 changed [] [content other] []
        initial
        └─ s1 (a)
    "#]]
    .assert_eq(&play(
        "open
         p1 ready
         run a
         p2 ready
         p2 began
         p2 ok
         p3 ready
         alarm compare
         p4 marks 7 same@lock:1 other@lock:2 content=1
         p5 marks 8 same@lock:9 other@set:3 content=2",
    ));
}
