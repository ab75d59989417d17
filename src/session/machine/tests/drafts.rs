//! Tests of drafts: how clients create and change them, how runs move them, and how the later cells
//! of a lineage become drafts.

use super::play;
use expect_test::expect;

#[test]
fn drafts_keep_their_order() {
    expect![[r#"
        open
            plant p1
        draft a initial code
            drafts on initial: [a]
            answer 2: done
        draft b initial code after a
            drafts on initial: [b after a]
            answer 3: done
        draft c initial code after a
            drafts on initial: [c after a]
            answer 4: done
        draft d initial code
            drafts on initial: [d]
            answer 5: done
        draft a initial code in place
            drafts on initial: [a after d]
            answer 6: done
        draft a initial code after c
            drafts on initial: [a after c]
            answer 7: done
        undraft b
            drafts on initial: [no b]
            answer 8: done
        undraft b
            answer 9: refused, not_found: find draft b: this notebook has none with this id
        draft e s9 code
            answer 10: refused, not_found: find state s9: this notebook has none with this id
        initial Freezing drafts [d c a]
    "#]]
    .assert_eq(&play(
        "open
         draft a initial code
         draft b initial code after a
         draft c initial code after a
         draft d initial code
         draft a initial code in place
         draft a initial code after c
         undraft b
         undraft b
         draft e s9 code",
    ));
}

#[test]
fn a_draft_that_ran_takes_its_prose_and_moves_the_rest_on() {
    expect![[r#"
        open
            plant p1
        draft skipped initial code
            drafts on initial: [skipped]
            answer 2: done
        draft prose initial md after skipped
            drafts on initial: [prose after skipped]
            answer 3: done
        draft cell initial code after prose
            drafts on initial: [cell after prose]
            answer 4: done
        draft next initial code after cell
            drafts on initial: [next after cell]
            answer 5: done
        run a draft cell
            p1 forks p2, head
            p2 runs a
        run b after a draft next
        p2 began
            a began
        p2 ok
            s1 is in Freezing
            drafts on initial: [skipped above s1]
            drafts on s1: [next]
            drafts on initial: [no cell, no prose]
            answer 6: a Ok s1
            p2 forks p3, frozen
            p2 runs b
        p2 began
            b began
        p2 ok
            drafts on s1: [no next]
            answer 7: b Ok s2
            p2 forks p4, frozen
        initial Freezing
        └─ s1 (a) Freezing below [skipped]
           └─ s2 (b) Freezing
    "#]]
    .assert_eq(&play(
        "open
         draft skipped initial code
         draft prose initial md after skipped
         draft cell initial code after prose
         draft next initial code after cell
         run a draft cell
         run b after a draft next
         p2 began
         p2 ok
         p2 began
         p2 ok",
    ));
}

#[test]
fn a_draft_that_failed_stays() {
    expect![[r#"
        open
            plant p1
        draft cell initial code
            drafts on initial: [cell]
            answer 2: done
        run a draft cell
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 raises Error
            end p2 and what its cell has started
            kill p2
            answer 3: a Error Error: message
        initial Freezing drafts [cell]
        └─ × a Error
    "#]]
    .assert_eq(&play(
        "open
         draft cell initial code
         run a draft cell
         p2 began
         p2 raises Error",
    ));
}

#[test]
fn another_version_of_a_cell_gets_the_rest_as_drafts() {
    expect![[r#"
        open
            plant p1
        draft prose initial md
            drafts on initial: [prose]
            answer 2: done
        draft cell initial code after prose
            drafts on initial: [cell after prose]
            answer 3: done
        run a draft cell
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 ok
            s1 is in Freezing
            drafts on initial: [no cell, no prose]
            answer 4: a Ok s1
            p2 forks p3, frozen
        run b on s1
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 7: b Ok s2
            p2 forks p4, frozen
        draft tail s2 code
            drafts on s2: [tail]
            answer 10: done
        run a2 instead s1..s2
            p1 forks p5, head
            p5 runs a2
        p5 began
            a2 began
        p5 ok
            s3 is in Freezing
            drafts on s3: [s4 with b, s5 after s4]
            answer 11: a2 Ok s3
            p5 forks p6, frozen
        initial Freezing
        ├─ s1 (a) Freezing
        │  └─ s2 (b) Freezing drafts [tail]
        └─ s3 (a2) Freezing drafts [s4 s5]
    "#]]
    .assert_eq(&play(
        "open
         draft prose initial md
         draft cell initial code after prose
         run a draft cell
         p2 began
         p2 ok
         run b on s1
         p2 began
         p2 ok
         draft tail s2 code
         run a2 instead s1..s2
         p5 began
         p5 ok",
    ));
}

#[test]
fn what_stands_between_cells_that_ran_stands_in_the_line_of_another_version_too() {
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
        draft title initial md above s1
            drafts on initial: [title above s1]
            answer 8: done
        draft between s1 md above s2
            drafts on s1: [between above s2]
            answer 9: done
        draft stray s1 code
            drafts on s1: [stray]
            answer 10: done
        draft elsewhere initial md above s2
            drafts on initial: [elsewhere]
            answer 11: done
        run a2 draft s1 instead s1..s2
            p1 forks p5, head
            p5 runs a2
        p5 began
            a2 began
        p5 ok
            drafts on initial: [s4 after title above s3]
            drafts on s3: [s5, s6 after s5 with b]
            answer 12: a2 Ok s3
            p5 forks p6, frozen
        delete s3
            kill p6
            kill p5
            removed [s3] [a2]
            answer 15: done
        initial Freezing drafts [elsewhere s4]
        └─ s1 (a) Freezing below [title] drafts [stray]
           └─ s2 (b) Freezing below [between]
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 began
         p2 ok
         run b on s1
         p2 began
         p2 ok
         draft title initial md above s1
         draft between s1 md above s2
         draft stray s1 code
         draft elsewhere initial md above s2
         run a2 draft s1 instead s1..s2
         p5 began
         p5 ok
         delete s3",
    ));
}

#[test]
fn what_stands_below_an_inserted_cell_waits_below_it() {
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
        draft tail s2 code
            drafts on s2: [tail]
            answer 8: done
        draft below s1 code above s2
            drafts on s1: [below above s2]
            answer 9: done
        draft inserted s1 code above s2
            drafts on s1: [inserted above s2]
            answer 10: done
        draft above s1 code above s2
            drafts on s1: [above above s2]
            answer 11: done
        draft waits s1 code
            drafts on s1: [waits]
            answer 12: done
        run i on s1 draft inserted instead s1..s2
            p3 forks p5, head
            p5 runs i
        p5 began
            i began
        p5 ok
            drafts on s1: [above after waits above s3]
            drafts on s3: [below]
            drafts on s1: [no inserted]
            drafts on s3: [s4 after below with b, s5 after s4]
            answer 13: i Ok s3
            p5 forks p6, frozen
        initial Freezing
        └─ s1 (a) Freezing drafts [waits]
           ├─ s2 (b) Freezing drafts [tail]
           └─ s3 (i) Freezing below [above] drafts [below s4 s5]
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 began
         p2 ok
         run b on s1
         p2 began
         p2 ok
         draft tail s2 code
         draft below s1 code above s2
         draft inserted s1 code above s2
         draft above s1 code above s2
         draft waits s1 code
         run i on s1 draft inserted instead s1..s2
         p5 began
         p5 ok",
    ));
}

#[test]
fn what_came_in_a_file_goes_when_its_draft_has_run_or_the_trash_is_emptied() {
    use super::*;
    use crate::notebook::{Asked, Run, RunStatus};
    let mut notebook = Notebook::new("n", 0.0);
    for name in ["a", "b", "c", "d"] {
        let (id, on, source) = (DraftId::new(name), StateId::root(), name.to_owned());
        let base = Base::State(on.clone());
        let asked = Asked { on: base.clone(), new_state_name: None };
        let mut run = crate::notebook::Run::new(exec(name), base, source.clone(), Some(id.clone()), asked);
        run.status = RunStatus::Imported;
        notebook.add_run(run);
        notebook.append_draft(Draft {
            id,
            on,
            before: None,
            kind: DraftKind::Code,
            source,
            version: 1,
            received: Vec::new(),
            imported_cell: None,
            stale_run: None,
            instead_of: None,
        });
    }
    let new_id = || "s1".to_owned();
    let mut machine = Machine::new(notebook, Box::new(new_id), Budget::default(), false);
    let left = |machine: &Machine| {
        let is_imported = |run: &&Run| run.status == RunStatus::Imported;
        machine.notebook().runs().filter(is_imported).map(|run| run.exec_id.as_str()).collect::<String>()
    };
    let mut tell = |line: &str| {
        machine.step(0.0, parse(line, Ticket(1)));
        left(&machine)
    };
    assert_eq!(tell("open"), "abcd", "they count as ended");
    assert_eq!(tell("undraft b"), "abcd", "an undo shows it again");
    tell("run x draft a");
    tell("p2 began");
    assert_eq!(tell("p2 raises Error"), "abcd", "a draft that failed keeps them");
    tell("run y draft a");
    tell("p3 began");
    assert_eq!(tell("p3 ok"), "bcd", "the others moved on");
    assert_eq!(tell("delete s1"), "bcd", "their drafts are in the trash with the state");
    assert_eq!(tell("restore s1"), "bcd");
    tell("delete s1");
    assert_eq!(tell("empty trash"), "", "their drafts are gone with the state");
}

#[test]
fn a_text_that_grew_from_another_version_is_refused() {
    expect![[r#"
        open
            plant p1
        draft a initial code base 0
            drafts on initial: [a]
            answer 2: done
        draft a initial code base 0 text other
            answer 3: refused, conflict: change draft a: it has version 1, and the change is based on version 0
        draft a initial code in place base 1 text other
            drafts on initial: [a.2]
            answer 4: done
        draft a initial code in place base 1 text late
            answer 5: refused, conflict: change draft a: it has version 2, and the change is based on version 1
        draft a initial code in place base 2 text other
            drafts on initial: [a.2]
            answer 6: done
        draft a initial md in place base 2 text other
            drafts on initial: [a.3]
            answer 7: done
        draft a initial md in place text whatever
            drafts on initial: [a.4]
            answer 8: done
        undraft a
            drafts on initial: [no a]
            answer 9: done
        draft a initial code in place base 4
            answer 10: refused, not_found: find draft a: this notebook has none with this id
        draft a initial code base 0
            drafts on initial: [a]
            answer 11: done
        initial Freezing drafts [a]
    "#]]
    .assert_eq(&play(
        "open
         draft a initial code base 0
         draft a initial code base 0 text other
         draft a initial code in place base 1 text other
         draft a initial code in place base 1 text late
         draft a initial code in place base 2 text other
         draft a initial md in place base 2 text other
         draft a initial md in place text whatever
         undraft a
         draft a initial code in place base 4
         draft a initial code base 0",
    ));
}

#[test]
fn an_update_that_arrives_again_changes_nothing() {
    expect![[r#"
        open
            plant p1
        draft a initial code base 0 by ada:1 text 1
            drafts on initial: [a]
            answer 2: done
        draft a initial code base 0 by ada:1 text 1
            answer 3: done
        draft a initial code in place base 1 by ada:2 text 12
            drafts on initial: [a.2]
            answer 4: done
        draft a initial code in place base 2 by bob:1 text 123
            drafts on initial: [a.3]
            answer 5: done
        draft a initial code in place base 1 by ada:2 text 12
            answer 6: done
        draft a initial code in place base 1 by ada:3 text 124
            answer 7: refused, conflict: change draft a: it has version 3, and the change is based on version 1
        draft a initial code in place base 3 by ada:4 text 1234
            answer 8: refused, conflict: change draft a: update 3 of this client has not arrived
        draft a initial code in place base 3 by ada:3 text 1234
            drafts on initial: [a.4]
            answer 9: done
        draft a initial code in place base 3 by ada:0 text 1234
            answer 10: refused, conflict: change draft a: it has version 4, and the change is based on version 3
        initial Freezing drafts [a]
    "#]]
    .assert_eq(&play(
        "open
         draft a initial code base 0 by ada:1 text 1
         draft a initial code base 0 by ada:1 text 1
         draft a initial code in place base 1 by ada:2 text 12
         draft a initial code in place base 2 by bob:1 text 123
         draft a initial code in place base 1 by ada:2 text 12
         draft a initial code in place base 1 by ada:3 text 124
         draft a initial code in place base 3 by ada:4 text 1234
         draft a initial code in place base 3 by ada:3 text 1234
         draft a initial code in place base 3 by ada:0 text 1234",
    ));
}

#[test]
fn a_draft_keeps_the_last_update_of_the_clients_that_wrote_last() {
    use super::*;
    let mut machine = super::machine();
    for n in 0..20 {
        let line = format!("draft a initial code in place base {n} by c{n}:1 text {n}");
        machine.step(0.0, parse(&line, Ticket(n)));
    }
    machine.step(0.0, parse("draft a initial code in place base 20 by c6:2 text again", Ticket(20)));
    let draft = machine.notebook().draft(&DraftId::new("a")).cloned().expect("the draft");
    let received = draft.received.iter().map(|last| format!("{}:{}", last.client, last.number));
    let expected = (4..20).filter(|n| *n != 6).map(|n| format!("c{n}:1")).chain(["c6:2".to_owned()]);
    assert_eq!(received.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn a_draft_that_has_become_a_state_does_not_come_again() {
    expect![[r#"
        open
            plant p1
        draft a initial code base 0
            drafts on initial: [a]
            answer 2: done
        draft b initial code after a base 0
            drafts on initial: [b after a]
            answer 3: done
        run r draft a
            p1 forks p2, head
            p2 runs r
        p2 began
            r began
        p2 ok
            drafts on s1: [b]
            drafts on initial: [no a]
            answer 4: r Ok s1
            p2 forks p3, frozen
        draft a initial code in place base 1 text late
            answer 7: refused, not_found: find draft a: this notebook has none with this id
        draft a initial code base 0
            answer 8: refused, not_found: find draft a: this notebook has none with this id
        draft a initial code in place
            answer 9: refused, not_found: find draft a: this notebook has none with this id
        draft b initial code in place base 1 text moved
            drafts on s1: [b.2]
            answer 10: done
        initial Freezing
        └─ s1 (r) Freezing drafts [b]
    "#]]
    .assert_eq(&play(
        "open
         draft a initial code base 0
         draft b initial code after a base 0
         run r draft a
         p2 began
         p2 ok
         draft a initial code in place base 1 text late
         draft a initial code base 0
         draft a initial code in place
         draft b initial code in place base 1 text moved",
    ));
}

#[test]
fn a_new_draft_follows_a_draft_that_moved_on_meanwhile() {
    expect![[r#"
        open
            plant p1
        draft a initial code base 0
            drafts on initial: [a]
            answer 2: done
        draft b initial code after a base 0
            drafts on initial: [b after a]
            answer 3: done
        run r draft a
            p1 forks p2, head
            p2 runs r
        p2 began
            r began
        p2 ok
            drafts on s1: [b]
            drafts on initial: [no a]
            answer 4: r Ok s1
            p2 forks p3, frozen
        draft c initial code after a base 0
            drafts on s1: [c]
            answer 7: done
        draft d initial code after b base 0
            drafts on s1: [d after b]
            answer 8: done
        draft e initial code after gone base 0
            drafts on initial: [e]
            answer 9: done
        draft f initial code text one
            drafts on initial: [f]
            answer 10: done
        run q draft f code one
            p1 forks p4, head
            p4 runs q
        draft f initial code in place text two base 1
            drafts on initial: [f.2]
            answer 12: done
        p4 began
            q began
        p4 ok
            drafts on initial: [f.2 instead of s2]
            drafts on s2: [e]
            answer 11: q Ok s2
            p4 forks p5, frozen
        draft g initial code after f base 0
            drafts on s2: [g]
            answer 15: done
        initial Freezing
        ├─ s1 (r) Freezing drafts [c b d]
        └─ s2 (q) Freezing drafts [g e]
    "#]]
    .assert_eq(&play(
        "open
         draft a initial code base 0
         draft b initial code after a base 0
         run r draft a
         p2 began
         p2 ok
         draft c initial code after a base 0
         draft d initial code after b base 0
         draft e initial code after gone base 0
         draft f initial code text one
         run q draft f code one
         draft f initial code in place text two base 1
         p4 began
         p4 ok
         draft g initial code after f base 0",
    ));
}

#[test]
fn a_new_draft_follows_a_draft_above_which_several_runs_have_ended_meanwhile() {
    expect![[r#"
        open
            plant p1
        draft a initial code base 0
            drafts on initial: [a]
            answer 2: done
        draft b initial code after a base 0
            drafts on initial: [b after a]
            answer 3: done
        run r draft a
            p1 forks p2, head
            p2 runs r
        run q after r draft b
        p2 began
            r began
        p2 ok
            drafts on s1: [b]
            drafts on initial: [no a]
            answer 4: r Ok s1
            p2 forks p3, frozen
            p2 runs q
        p2 began
            q began
        p2 ok
            drafts on s1: [no b]
            answer 5: q Ok s2
            p2 forks p4, frozen
        draft c initial code after b base 0
            drafts on s2: [c]
            answer 10: done
        initial Freezing
        └─ s1 (r) Freezing
           └─ s2 (q) Freezing drafts [c]
    "#]]
    .assert_eq(&play(
        "open
         draft a initial code base 0
         draft b initial code after a base 0
         run r draft a
         run q after r draft b
         p2 began
         p2 ok
         p2 began
         p2 ok
         draft c initial code after b base 0",
    ));
}

#[test]
fn a_draft_that_runs_beside_another_one_stays_at_its_state() {
    let script = "
        open
        p1 ready
        draft before initial code
        draft between initial code after before
        draft behind initial code after between
        draft waits initial code after behind
        run a draft before
        run b draft between
        run c draft behind
        run d after b draft waits
        p3 ready
        p3 began
        p3 ok
    ";
    expect![[r#"
        open
            plant p1
        p1 ready
            initial is in Memory
        draft before initial code
            drafts on initial: [before]
            answer 3: done
        draft between initial code after before
            drafts on initial: [between after before]
            answer 4: done
        draft behind initial code after between
            drafts on initial: [behind after between]
            answer 5: done
        draft waits initial code after behind
            drafts on initial: [waits after behind]
            answer 6: done
        run a draft before
            p1 forks p2, head
            p2 runs a
        run b draft between
            p1 forks p3, head
            p3 runs b
        run c draft behind
            p1 forks p4, head
            p4 runs c
        run d after b draft waits
        p3 ready
        p3 began
            b began
        p3 ok
            drafts on s1: [waits]
            drafts on initial: [no between]
            answer 8: b Ok s1
            p3 forks p5, frozen
            p3 runs d
        initial drafts [before behind]
        ├─ s1 (b) Freezing drafts [waits]
        │  └─ × d Queued
        ├─ × a Queued
        └─ × c Queued
    "#]]
    .assert_eq(&play(script));
}

#[test]
fn a_raw_cell_stays_a_draft_above_the_cell_and_above_its_variants() {
    expect![[r#"
        open
            plant p1
        draft words initial md
            drafts on initial: [words]
            answer 2: done
        draft raw initial raw after words
            drafts on initial: [raw after words]
            answer 3: done
        draft note initial md after raw
            drafts on initial: [note after raw]
            answer 4: done
        draft cell initial code after note
            drafts on initial: [cell after note]
            answer 5: done
        run early draft cell
            p1 forks p2, head
            p2 runs early
        run late draft cell
            p1 forks p3, head
            p3 runs late
        p2 began
            early began
        p2 ok
            s1 is in Freezing
            drafts on initial: [s2 after cell above s1, s3 after s2 above s1]
            answer 6: early Ok s1
            p2 forks p4, frozen
        p3 began
            late began
        p3 ok
            s4 is in Freezing
            drafts on initial: [words above s4, raw after words above s4]
            drafts on initial: [no cell, no note]
            answer 7: late Ok s4
            p3 forks p5, frozen
        initial Freezing
        ├─ s1 (early) Freezing below [s2 s3]
        └─ s4 (late) Freezing below [words raw]
    "#]]
    .assert_eq(&play(
        "open
         draft words initial md
         draft raw initial raw after words
         draft note initial md after raw
         draft cell initial code after note
         run early draft cell
         run late draft cell
         p2 began
         p2 ok
         p3 began
         p3 ok",
    ));
}

#[test]
fn variants_of_a_draft_are_versions_with_its_prose_and_copies_of_the_later_drafts() {
    let script = "
        open
        draft words initial md
        draft cell initial code after words
        draft later initial code after cell
        run early draft cell
        run late draft cell
        run own draft cell
        p2 began
        p2 ok
        p4 began
        p4 ok
        p3 began
        p3 ok
    ";
    expect![[r#"
        open
            plant p1
        draft words initial md
            drafts on initial: [words]
            answer 2: done
        draft cell initial code after words
            drafts on initial: [cell after words]
            answer 3: done
        draft later initial code after cell
            drafts on initial: [later after cell]
            answer 4: done
        run early draft cell
            p1 forks p2, head
            p2 runs early
        run late draft cell
            p1 forks p3, head
            p3 runs late
        run own draft cell
            p1 forks p4, head
            p4 runs own
        p2 began
            early began
        p2 ok
            s1 is in Freezing
            drafts on s1: [s2]
            answer 5: early Ok s1
            p2 forks p5, frozen
        p4 began
            own began
        p4 ok
            s3 is in Freezing
            drafts on s3: [later]
            drafts on initial: [no cell, no words]
            answer 7: own Ok s3
            p4 forks p6, frozen
        p3 began
            late began
        p3 ok
            s4 is in Freezing
            drafts on s4: [s5]
            answer 6: late Ok s4
            p3 forks p7, frozen
        initial Freezing
        ├─ s1 (early) Freezing drafts [s2]
        ├─ s3 (own) Freezing drafts [later]
        └─ s4 (late) Freezing drafts [s5]
    "#]]
    .assert_eq(&play(script));
}

#[test]
fn a_draft_shows_a_run_of_the_notebook_as_stale_until_a_client_removes_it() {
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
        draft new initial code with a
            drafts on initial: [new with a]
            answer 5: done
        draft odd initial code with nobody
            drafts on initial: [odd]
            answer 6: done
        draft new initial code in place text other with a
            drafts on initial: [new.2 after odd with a]
            answer 7: done
        draft new initial code in place text other with nobody
            drafts on initial: [new.2 after odd]
            answer 8: done
        draft new initial code in place text again
            drafts on initial: [new.3 after odd]
            answer 9: done
        draft new initial code in place text again with a
            drafts on initial: [new.3 after odd]
            answer 10: done
        initial Freezing drafts [odd new]
        └─ s1 (a) Freezing
    "#]]
    .assert_eq(&play(
        "open
         run a
         p2 began
         p2 ok
         draft new initial code with a
         draft odd initial code with nobody
         draft new initial code in place text other with a
         draft new initial code in place text other with nobody
         draft new initial code in place text again
         draft new initial code in place text again with a",
    ));
}

#[test]
fn an_edit_of_a_cell_is_a_draft_until_its_code_has_run() {
    expect![[r#"
        open
            plant p1
        run a as one
            p1 forks p2, head
            p2 runs a
        p2 began
            a began
        p2 ok
            answer 2: a Ok s1 named one
            p2 forks p3, frozen
        run b on s1 as two
            p2 runs b
        p2 began
            b began
        p2 ok
            answer 5: b Ok s2 named two
            p2 forks p4, frozen
        draft e s1 md instead s1 text edited
            drafts on initial: [e instead of s1]
            answer 8: done
        draft f s1 code above s2 instead s2 text lower
            drafts on s1: [f instead of s2]
            answer 9: done
        draft e s1 code in place text newer
            drafts on initial: [e.2 instead of s1]
            answer 10: done
        draft g s1 code text below
            drafts on s1: [g]
            answer 11: done
        run a2 instead s1..s2 code other
            p1 forks p5, head
            p5 runs a2
        p5 began
            a2 began
        p5 ok
            drafts on s3: [s4 with b]
            answer 12: a2 Ok s3
            p5 forks p6, frozen
        run a3 instead s1..s2 code newer
            p1 forks p7, head
            p7 runs a3
        p7 began
            a3 began
        p7 ok
            drafts on initial: [no e]
            drafts on s5: [s6 with b]
            answer 15: a3 Ok s5
            p7 forks p8, frozen
        delete s2
            kill p4
            kill p2
            removed [s2] [b]
            answer 18: done
        draft f s1 code in place text more
            drafts on s1: [f.2 after g instead of s2]
            answer 19: done
        empty trash
            drafts on s1: [no f]
            purged [s2] [b]
            answer 20: done
        initial Freezing
        ├─ s1 “one” (a) Freezing drafts [g]
        ├─ s3 (a2) Freezing drafts [s4]
        └─ s5 (a3) Freezing drafts [s6]
    "#]]
    .assert_eq(&play(
        "open
         run a as one
         p2 began
         p2 ok
         run b on s1 as two
         p2 began
         p2 ok
         draft e s1 md instead s1 text edited
         draft f s1 code above s2 instead s2 text lower
         draft e s1 code in place text newer
         draft g s1 code text below
         run a2 instead s1..s2 code other
         p5 began
         p5 ok
         run a3 instead s1..s2 code newer
         p7 began
         p7 ok
         delete s2
         draft f s1 code in place text more
         empty trash",
    ));
}

#[test]
fn what_was_typed_into_a_draft_while_it_ran_is_an_edit_of_its_cell() {
    expect![[r#"
        open
            plant p1
        draft d initial code text one
            drafts on initial: [d]
            answer 2: done
        run a draft d code one
            p1 forks p2, head
            p2 runs a
        draft d initial code in place text two base 1 by me:1
            drafts on initial: [d.2]
            answer 4: done
        p2 began
            a began
        p2 ok
            drafts on initial: [d.2 instead of s1]
            answer 3: a Ok s1
            p2 forks p3, frozen
        draft d initial code in place text three base 2 by me:2
            drafts on initial: [d.3 instead of s1]
            answer 7: done
        run b draft d instead s1..s1 code three
            p1 forks p4, head
            p4 runs b
        p4 began
            b began
        p4 ok
            drafts on initial: [no d]
            answer 8: b Ok s2
            p4 forks p5, frozen
        initial Freezing
        ├─ s1 (a) Freezing
        └─ s2 (b) Freezing
    "#]]
    .assert_eq(&play(
        "open
         draft d initial code text one
         run a draft d code one
         draft d initial code in place text two base 1 by me:1
         p2 began
         p2 ok
         draft d initial code in place text three base 2 by me:2
         run b draft d instead s1..s1 code three
         p4 began
         p4 ok",
    ));
}
