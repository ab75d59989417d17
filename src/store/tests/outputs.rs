//! Tests of the log of a run's outputs. The log is shortened when possible, and no output is lost.

use super::facts::{bundle, new_run};
use super::*;
use crate::notebook::{ExecId, Output, RunStatus, StateId, StreamName};
use rusqlite::Connection;
use serde_json::Map;

fn rows(dir: &Dir) -> (i64, i64) {
    let db = Connection::open(dir.notebook().join("notebook.db")).unwrap();
    let sql = "SELECT count(*), coalesce(sum(length(body)), 0) FROM outputs";
    db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

fn ended(exec_id: &ExecId) -> Fact {
    Fact::RunEnded {
        exec_id: exec_id.clone(),
        status: RunStatus::Ok,
        error: None,
        duration_ms: None,
        state: None,
        symbols: None,
        metric: None,
        worker: None,
    }
}

#[test]
fn a_log_becomes_its_items_when_the_run_ends() {
    let dir = Dir::new("log");
    let run = new_run("r", &StateId::root(), "1");
    let exec_id = run.exec_id.clone();
    let print = |text: &str| Fact::OutputAdded {
        exec_id: exec_id.clone(),
        output: Output::stream(StreamName::Stdout, text),
    };
    let mut facts = vec![Fact::RunAdded { run }];
    facts.extend((0..500).map(|n| print(&format!("{n}\n"))));
    let parts = saved(&dir, &facts);
    let text: String = (0..500).map(|n| format!("{n}\n")).collect();
    assert_eq!(parts.runs[0].outputs.items(), [Output::stream(StreamName::Stdout, text.clone())]);
    assert_eq!(rows(&dir).0, 500);
    assert_eq!(saved(&dir, &[ended(&exec_id)]).runs[0].outputs, parts.runs[0].outputs);
    assert_eq!(rows(&dir).0, 1);
    // A large output is stored as a blob. Reading the blob verifies its content.
    let dir = Dir::new("large");
    let large = "ä".repeat(300_000);
    let mut run = new_run("r", &StateId::root(), "1");
    run.outputs.push(Output::stream(StreamName::Stderr, "small"));
    saved(&dir, &[Fact::RunAdded { run }, print(&large), ended(&exec_id)]);
    assert!(rows(&dir).0 == 2 && rows(&dir).1 < 300);
    let (opened, _) = dir.open();
    assert_eq!(opened.parts.runs[0].outputs.items()[1], Output::stream(StreamName::Stdout, large));
    opened.store.close();
    let folder = std::fs::read_dir(dir.notebook().join("blobs")).unwrap().next().unwrap().unwrap().path();
    let blob = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&blob, b"\0other").unwrap();
    let (opened, _) = dir.open();
    assert!(
        opened.damage.len() == 1 && opened.damage[0].contains("output of run \"r\""),
        "{:?}",
        opened.damage
    );
    assert_eq!(opened.parts.runs[0].outputs.items(), [Output::stream(StreamName::Stderr, "small")]);
}

#[test]
fn clearing_and_updating_in_a_loop_does_not_grow_the_log() {
    let dir = Dir::new("loop");
    let run = new_run("r", &StateId::root(), "1");
    let exec_id = run.exec_id.clone();
    let (opened, news) = dir.open();
    opened.store.save(1, &Fact::RunAdded { run });
    let picture = "p".repeat(4 << 20);
    let shown = |n: usize| Output::DisplayData {
        data: bundle(&format!("{n}{picture}")),
        metadata: Map::new(),
        display_id: Some("d".into()),
    };
    let mut number = 1;
    let mut save = |fact: Fact| {
        number += 1;
        opened.store.save(number, &fact);
        number
    };
    for n in 0..20 {
        save(Fact::OutputsCleared { exec_id: exec_id.clone(), wait: true });
        wait(&news, save(Fact::OutputAdded { exec_id: exec_id.clone(), output: shown(n) }));
    }
    let last = save(Fact::OutputsCleared { exec_id: exec_id.clone(), wait: true });
    wait(&news, last);
    assert_eq!(opened.store.backlog_bytes(), 0);
    opened.store.close();
    assert!(rows(&dir).1 < (70 << 20), "{:?}", rows(&dir));
    let (opened, _) = dir.open();
    let outputs = &opened.parts.runs[0].outputs;
    assert!(outputs.items() == [shown(19)] && outputs.is_clear_pending());
    opened.store.close();
}

/// Saves a thousand states. Each is made by a run with a printed text and a table.
#[test]
fn a_thousand_states_open_at_once() {
    let dir = Dir::new("thousand");
    let mut facts = Vec::new();
    let mut parent = StateId::root();
    for n in 0..1000 {
        let mut run = new_run(&format!("run{n}"), &parent, "print(1)\n".repeat(20).as_str());
        run.outputs.push(Output::stream(StreamName::Stdout, "1\n".repeat(500)));
        run.outputs.push(Output::DisplayData {
            data: bundle("<table>"),
            metadata: Map::new(),
            display_id: None,
        });
        let state = super::facts::new_state(&format!("s{n}"), &format!("s{n}"), &parent, Some(&run.exec_id));
        parent = state.id.clone();
        facts.extend([Fact::RunAdded { run }, Fact::StateAdded { state }]);
    }
    saved(&dir, &facts);
    let start = std::time::Instant::now();
    let (opened, _) = dir.open();
    println!("opened in {:?}", start.elapsed());
    assert_eq!((opened.parts.states.len(), opened.damage.len()), (1001, 0));
}
