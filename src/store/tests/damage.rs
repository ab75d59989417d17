//! Tests of damaged notebooks. Such a notebook is either refused and not changed, or opened without
//! its damaged records. The store never panics and never returns wrong data.

use super::facts::{Story, new_run, new_state};
use super::*;
use crate::breadth::in_full;
use crate::notebook::{Output, RunStatus, StateId, StreamName};
use crate::store::open::examine;
use crate::store::paths::Paths;
use rusqlite::Connection;
use std::fs;

/// Writes a notebook with records of all kinds, and closes it.
fn filled(dir: &Dir, steps: usize) -> (Story, Parts) {
    let mut story = Story::new(5);
    story.longest = 2000;
    while story.facts.len() < steps || story.notebook.states().count() < 8 {
        story.go_on();
    }
    let parts = saved(dir, &story.facts);
    (story, parts)
}

/// Asserts that each record of `found` is also in `whole`, or has a warning because it replaces a
/// damaged record.
fn assert_part_of(found: &Parts, whole: &Parts, damage: &[String], what: &str) {
    if damage.is_empty() {
        return assert_same(found, whole, what);
    }
    let (found, whole) = (lasting(found), lasting(whole));
    for part in ["states", "names", "drafts", "tasks"] {
        for one in found[part].as_array().unwrap() {
            let is_stand_in = one["warnings"].to_string().contains("was damaged");
            let is_there = whole[part].as_array().unwrap().contains(one);
            // The name of a damaged row is restored from the record of its state. If the name had
            // been moved to another state, `whole` does not contain this name and state together.
            assert!(is_stand_in || is_there || part == "names", "{what}: {part} {one} {damage:?}");
        }
    }
    for run in found["runs"].as_array().unwrap() {
        let id = run[1]["exec_id"].as_str().unwrap();
        let own = whole["runs"].as_array().unwrap().iter().find(|r| r[1]["exec_id"] == id).unwrap();
        for field in ["code", "status", "error", "on", "asked", "state", "started_at"] {
            assert_eq!(run[1][field], own[1][field], "{what}: {id}");
        }
        let is_said = damage.iter().any(|d| d.contains(&format!("{id:?}")) || d.contains("`outputs`"));
        assert!(is_said || run[1]["outputs"] == own[1]["outputs"], "{what}: outputs of {id} {damage:?}");
    }
}

fn database(dir: &Dir) -> PathBuf {
    dir.notebook().join("notebook.db")
}

/// Reads the notebook, and returns whether it can be opened. Asserts that reading changes nothing
/// and returns no wrong data.
fn look(dir: &Dir, whole: &Parts, what: &str) -> bool {
    let before = fs::read(database(dir)).unwrap();
    let found = examine(&Paths::of(&dir.notebook()), Some(&dir.key()), "main");
    let is_taken = found.is_ok();
    match &found {
        Ok(found) => assert_part_of(&found.loaded.parts, whole, &found.loaded.damage, what),
        Err(error) => {
            assert!(error.what.contains("main.ratoon") && !error.why.is_empty() && !error.how.is_empty());
        }
    }
    drop(found);
    assert_eq!(fs::read(database(dir)).unwrap(), before, "{what}: a look changes nothing");
    is_taken
}

#[test]
fn a_database_that_is_cut_off_is_refused() {
    let dir = Dir::new("cut");
    let (_, parts) = filled(&dir, 120);
    let whole = fs::read(database(&dir)).unwrap();
    let pages = whole.len() / 4096;
    for length in (0..pages).map(|n| n * 4096).chain([1, 99, 100, 511, 5000, whole.len() - 1]) {
        fs::write(database(&dir), &whole[..length]).unwrap();
        assert!(!look(&dir, &parts, &format!("cut to {length}")), "cut to {length}");
        assert!(dir.try_open().is_err());
        assert_eq!(fs::read(database(&dir)).unwrap().len(), length);
    }
}

#[test]
fn bit_flips_are_refused_or_set_aside() {
    let dir = Dir::new("flip");
    let (_, parts) = filled(&dir, 120);
    let whole = fs::read(database(&dir)).unwrap();
    let mut dice = Dice(3);
    let (mut refused, mut taken) = (0, 0);
    for page in 0..whole.len() / 4096 {
        for n in 0..if in_full() { 100 } else { 3 } {
            // One in three flipped bits is near the beginning of a page, where the page's header
            // is.
            let at = page * 4096 + if n % 3 == 0 { dice.roll(120) } else { dice.roll(4096) };
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << dice.roll(8);
            fs::write(database(&dir), &bytes).unwrap();
            let what = format!("flipped in byte {at}");
            if !look(&dir, &parts, &what) {
                refused += 1;
                continue;
            }
            taken += 1;
            if n % 6 == 0 {
                let (opened, _) = dir.open();
                assert_part_of(&opened.parts, &parts, &opened.damage, &what);
                opened.store.close();
                let kept = backups(&dir);
                assert_eq!(kept.len(), usize::from(!opened.damage.is_empty()), "{what}");
                for path in kept {
                    assert_eq!(fs::read(&path).unwrap(), bytes, "{what}: the original is kept");
                    fs::remove_file(path).unwrap();
                }
                let (again, _) = dir.open();
                assert_eq!(again.damage, Vec::<String>::new(), "{what}: after {:?}", opened.damage);
                assert_same(&again.parts, &opened.parts, &what);
                again.store.close();
            }
        }
    }
    println!("{refused} refused, {taken} taken");
    assert!(refused > 5 && taken > 20);
}

fn backups(dir: &Dir) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.notebook()).unwrap().map(|e| e.unwrap().path());
    entries
        .filter(|p| p.to_string_lossy().contains(".bad-") && !p.to_string_lossy().ends_with("-wal"))
        .collect()
}

/// Saves the states root ← a ← b ← c. Each is made by a run with two outputs that are not joined
/// into one.
fn line(dir: &Dir) -> Parts {
    let mut facts = Vec::new();
    let mut parent = StateId::root();
    for name in ["a", "b", "c"] {
        let mut run = new_run(&format!("run-{name}"), &parent, name);
        run.status = RunStatus::Ok;
        run.outputs.push(Output::stream(StreamName::Stdout, format!("out {name}")));
        run.outputs.push(Output::stream(StreamName::Stderr, format!("err {name}")));
        run.state = Some(StateId::new(name));
        let state = new_state(name, &format!("name-{name}"), &parent, Some(&run.exec_id));
        parent = state.id.clone();
        facts.push(Fact::RunAdded { run });
        facts.push(Fact::StateAdded { state });
    }
    saved(dir, &facts)
}

fn spoil(dir: &Dir, sql: &str) {
    let db = Connection::open(database(dir)).unwrap();
    db.pragma_update(None, "foreign_keys", false).unwrap();
    assert_eq!(db.execute(sql, []).unwrap(), 1, "{sql}");
}

#[test]
fn a_damaged_record_is_set_aside_alone() {
    type Judge = fn(&Parts);
    let cases: [(&str, &str, Judge); 8] = [
        ("UPDATE states SET body = replace(body, 'name-b', 'name-x') WHERE id = 'b'", "\"b\"", |parts| {
            let b = &parts.states[2];
            assert_eq!((b.id.as_str(), b.name.as_str(), b.warnings.len()), ("b", "name-b", 1));
            assert_eq!((parts.states.len(), b.exec_id.as_ref().unwrap().as_str()), (4, "run-b"));
        }),
        ("UPDATE states SET parent = 'initial' WHERE id = 'b'", "\"b\"", |parts| {
            let b = parts.states.iter().find(|s| s.id.as_str() == "b").unwrap();
            assert_eq!((b.parent.clone(), b.warnings.len()), (Some(StateId::root()), 1));
            assert!(parts.states.iter().any(|s| s.id.as_str() == "c" && s.parent == Some(b.id.clone())));
        }),
        ("UPDATE states SET id = 'z' WHERE id = 'c'", "\"z\"", |parts| {
            assert!(parts.states.iter().all(|s| s.id.as_str() != "z"));
        }),
        ("UPDATE runs SET body = replace(body, 'queued', 'q') || ' ' WHERE id = 'run-b'", "run-b", |parts| {
            assert_eq!((parts.runs.len(), parts.states.len()), (2, 4));
        }),
        (
            "UPDATE outputs SET body = replace(body, 'out', 'OUT') WHERE run = 'run-b' AND seq = 0",
            "run-b",
            |parts| {
                assert_eq!(parts.runs[1].outputs.items(), [Output::stream(StreamName::Stderr, "err b")]);
            },
        ),
        ("UPDATE names SET state = 'a' WHERE name = 'name-b'", "name-b", |parts| {
            assert!(parts.names.contains(&("name-b".into(), StateId::new("b"))));
        }),
        ("UPDATE meta SET value = 'other' WHERE key = 'notebook_id'", "id is lost", |parts| {
            assert_eq!(parts.states.len(), 4);
        }),
        ("DELETE FROM states WHERE id = 'initial'", "first state", |parts| {
            assert_eq!((parts.states.len(), parts.states[0].id.clone()), (4, StateId::root()));
        }),
    ];
    for (sql, word, judge) in cases {
        let dir = Dir::new("row");
        let whole = line(&dir);
        spoil(&dir, sql);
        let (opened, _) = dir.open();
        assert!(opened.damage.iter().any(|d| d.contains(word)), "{sql}: {:?}", opened.damage);
        assert!(opened.damage.len() <= 3, "{sql}: {:?}", opened.damage);
        assert_part_of(&opened.parts, &whole, &opened.damage, sql);
        judge(&opened.parts);
        opened.store.close();
        assert_eq!(backups(&dir).len(), 1);
        let (again, _) = dir.open();
        assert_eq!(again.damage, Vec::<String>::new(), "{sql}");
        assert_same(&again.parts, &opened.parts, sql);
        // After the repair, the notebook can be changed.
        let news = again.store.clone();
        news.save(1, &Fact::RunAdded { run: new_run("later", &StateId::root(), "1") });
        again.store.close();
    }
}

#[test]
fn a_broken_index_is_made_again() {
    let dir = Dir::new("index");
    let whole = line(&dir);
    let db = Connection::open(database(&dir)).unwrap();
    let page: i64 = db
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_outputs_1'", [], |r| {
            r.get(0)
        })
        .unwrap();
    drop(db);
    let mut bytes = fs::read(database(&dir)).unwrap();
    let page = (page as usize - 1) * 4096;
    let at = page + bytes[page..page + 4096].windows(5).position(|w| w == b"run-b").unwrap() + 4;
    bytes[at] = b'c';
    fs::write(database(&dir), &bytes).unwrap();
    let (opened, _) = dir.open();
    assert_eq!(opened.damage, ["an index of the database was damaged; no row was lost"]);
    assert_same(&opened.parts, &whole, "index");
    opened.store.close();
    assert_eq!(dir.open().0.damage, Vec::<String>::new());
}

#[test]
fn what_is_no_notebook_of_ours_is_refused_with_a_next_step() {
    let dir = Dir::new("foreign");
    let refused = |what: &str| {
        let before = fs::read(database(&dir)).ok();
        let error = dir.try_open().unwrap_err();
        assert!(error.why.contains(what), "{error:?}");
        assert!(error.what.contains("main.ratoon") && !error.how.is_empty());
        assert_eq!(fs::read(database(&dir)).ok(), before);
    };
    line(&dir);
    let db = Connection::open(database(&dir)).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    refused("version 99");
    let db = Connection::open(database(&dir)).unwrap();
    db.pragma_update(None, "user_version", 3).unwrap();
    db.execute_batch("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM states; END").unwrap();
    drop(db);
    refused("tables");
    fs::remove_file(database(&dir)).unwrap();
    let db = Connection::open(database(&dir)).unwrap();
    db.execute_batch("CREATE TABLE a(b)").unwrap();
    drop(db);
    refused("another program");
    fs::write(database(&dir), "print('no database')".repeat(99)).unwrap();
    refused("not an SQLite database");
    fs::remove_file(database(&dir)).unwrap();
    fs::create_dir_all(dir.notebook().join("blobs/ab")).unwrap();
    refused("missing");
}

#[test]
fn a_log_that_is_damaged_before_its_end_is_refused() {
    let dir = Dir::new("wal");
    let (opened, news) = dir.open();
    for number in 1..=6 {
        let run = new_run(&format!("r{number}"), &StateId::root(), &"x".repeat(6000));
        opened.store.save(number, &Fact::RunAdded { run });
        wait(&news, number);
    }
    // Copies the files while the notebook is open. A crash would leave the files in this state.
    let crashed = Dir::new("crashed");
    let copy = |to: &Dir| {
        fs::create_dir_all(to.notebook().join("blobs")).unwrap();
        for name in ["notebook.db", "notebook.db-wal"] {
            fs::copy(dir.notebook().join(name), to.notebook().join(name)).unwrap();
        }
    };
    copy(&crashed);
    let log = crashed.notebook().join("notebook.db-wal");
    let whole = fs::read(&log).unwrap();
    let frames = (whole.len() - 32) / (4096 + 24);
    let starts: Vec<usize> = (0..frames).map(|n| 32 + n * 4120).collect();
    let commits: Vec<usize> =
        (0..frames).filter(|n| whole[starts[*n] + 4..starts[*n] + 8] != [0; 4]).collect();
    assert_eq!(commits.len(), 6);
    let last = starts[commits[4] + 1];
    let mut dice = Dice(9);
    let mut refused = 0;
    for n in 0..400 {
        copy(&crashed);
        let mut bytes = whole.clone();
        let at = if n % 2 == 0 { starts[n / 2 % frames] + dice.roll(24) } else { dice.roll(whole.len()) };
        bytes[at] ^= 1 << dice.roll(8);
        fs::write(&log, &bytes).unwrap();
        match dir_runs(&crashed) {
            // A change in the header is also refused, because a checksum covers all fields of the
            // header.
            Ok(runs) => {
                assert!(at >= last && runs >= 5, "byte {at} of a log of {} lost runs: {runs}", whole.len())
            }
            Err(_) => refused += 1,
        }
        assert_eq!(fs::read(&log).unwrap(), bytes, "nothing is changed");
    }
    assert!(refused > 200);
    // The last transaction may be incomplete. This does not count as damage.
    for length in [last, last + 10, last + 4120, whole.len()] {
        copy(&crashed);
        fs::write(&log, &whole[..length]).unwrap();
        assert!(dir_runs(&crashed).unwrap() >= 5);
    }
    opened.store.close();
}

fn dir_runs(dir: &Dir) -> Result<usize, Problem> {
    let found = examine(&Paths::of(&dir.notebook()), Some(&dir.key()), "main")?;
    assert_eq!(found.loaded.damage, Vec::<String>::new());
    Ok(found.loaded.parts.runs.len())
}
