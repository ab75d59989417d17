//! Tests of the store: saving and loading, damaged files, crashes, and disks that fail or are full.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod crash;
mod damage;
mod facts;
mod golden;
mod offsite;
mod outputs;
mod round;
mod trust;

use super::{InstallKey, Opened, Store, StoreEvent, parts_of};
use crate::notebook::{Fact, Notebook, Parts, Residency, Run, Saving, State};
use crate::problem::Problem;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A directory that is removed at the end of a test.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("ratoon-store-{name}-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn notebook(&self) -> PathBuf {
        self.0.join("main.ratoon")
    }

    fn key(&self) -> InstallKey {
        InstallKey::load_or_make(&self.0.join("config")).unwrap()
    }

    fn open(&self) -> (Opened, Receiver<StoreEvent>) {
        self.try_open().unwrap()
    }

    fn try_open(&self) -> Result<(Opened, Receiver<StoreEvent>), Problem> {
        open_at(&self.notebook(), &self.key())
    }
}

fn open_at(dir: &Path, key: &InstallKey) -> Result<(Opened, Receiver<StoreEvent>), Problem> {
    let (tell, news) = channel();
    let opened = Store::open(dir, "main", key, move |one| drop(tell.send(one)))?;
    Ok((opened, news))
}

impl Drop for Dir {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// Removes a directory. Tries for some seconds, because the thread of a store may still write files
/// in this directory.
pub(super) fn remove(dir: &Path) {
    for _ in 0..500 {
        if std::fs::remove_dir_all(dir).is_ok() || !dir.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A random number generator with a fixed sequence.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % sides
    }
}

/// Waits until all facts up to a number are on disk.
fn wait(news: &Receiver<StoreEvent>, number: u64) {
    loop {
        match news.recv_timeout(Duration::from_secs(30)).unwrap() {
            StoreEvent::Saved { up_to } if up_to >= number => return,
            StoreEvent::Failed { trouble } => panic!("{trouble:?}"),
            _ => {}
        }
    }
}

/// Returns the parts of a notebook that survive a restart, as JSON for comparisons. The order of
/// what is in the trash does not matter.
fn lasting(parts: &Parts) -> Value {
    let notebook = Notebook::from_parts(parts.clone(), 0.0);
    let trash = notebook.trash();
    let (mut states, mut runs): (Vec<State>, Vec<Run>) =
        (trash.states().into_iter().cloned().collect(), trash.runs().cloned().collect());
    states.sort_by_key(|state| state.id.clone());
    runs.sort_by_key(|run| run.exec_id.clone());
    let states: Vec<Value> = notebook
        .states()
        .chain(&states)
        .map(|state| {
            let mut state: State = state.clone();
            state.residency = match (state.residency, &state.parent) {
                (Residency::Deleted, _) => Residency::Deleted,
                (_, None) => Residency::Freezing,
                _ if state.checkpoint.is_some() => Residency::Disk,
                _ => Residency::Replay,
            };
            (state.saving, state.restored_from) = (Saving::Idle, None);
            (state.memory_bytes, state.shared_bytes) = (None, None);
            serde_json::to_value(state).unwrap()
        })
        .collect();
    let runs: Vec<Value> = notebook
        .runs()
        .chain(&runs)
        .map(|run| {
            let mut run = run.clone();
            run.prompt = None;
            let mut fields = json!(run);
            fields["deleted_at"] = json!(run.deleted_at);
            json!([run.outputs.is_clear_pending(), fields])
        })
        .collect();
    let mut drafts = parts.drafts.clone();
    drafts.sort_by_key(|d| d.on.clone());
    let mut tasks = parts.tasks.clone();
    tasks.sort_by_key(|t| (t.task_id.clone(), t.version));
    json!({"states": states, "runs": runs, "names": parts.names, "drafts": drafts, "tasks": tasks,
        "sweeps": parts.sweeps})
}

/// Asserts that two notebooks are equal. If not, shows only the first difference.
fn assert_same(found: &Parts, wished: &Parts, what: &str) {
    let (found, wished) = (lasting(found), lasting(wished));
    for part in ["states", "runs", "names", "drafts", "tasks", "sweeps"] {
        let none = Vec::new();
        let (a, b) = (found[part].as_array().unwrap_or(&none), wished[part].as_array().unwrap_or(&none));
        for (a, b) in a.iter().zip(b) {
            let cut = |v: &Value| v.to_string().chars().take(3000).collect::<String>();
            assert!(a == b, "{what}: {part}\n{}\n{}", cut(a), cut(b));
        }
        assert_eq!(a.len(), b.len(), "{what}: {part}");
    }
}

/// Saves facts, closes the notebook, opens it again and returns its content.
fn saved(dir: &Dir, facts: &[Fact]) -> Parts {
    let (opened, news) = dir.open();
    for (number, fact) in (1..).zip(facts) {
        opened.store.save(number, fact);
    }
    if !facts.is_empty() {
        wait(&news, facts.len() as u64);
    }
    opened.store.close();
    let (opened, _news) = dir.open();
    assert_eq!(opened.damage, Vec::<String>::new());
    opened.store.close();
    opened.parts
}

#[test]
fn facts_that_belong_together_are_on_disk_together_however_much_hurry_there_is() {
    let dir = Dir::new("together");
    let (opened, news) = dir.open();
    let runs: Vec<Fact> = (0..100)
        .map(|n| Fact::RunAdded {
            run: facts::new_run(&format!("r{n}"), &crate::notebook::StateId::root(), "1"),
        })
        .collect();
    for (pair, number) in runs.chunks(2).zip((1..).step_by(2)) {
        opened.store.save_with_next(number, &pair[0]);
        // `hurry` must not cause the first fact of a pair to be written without the second.
        opened.store.hurry();
        std::thread::yield_now();
        opened.store.save(number + 1, &pair[1]);
        let StoreEvent::Saved { up_to } = news.recv_timeout(Duration::from_secs(30)).unwrap() else {
            panic!("trouble")
        };
        assert_eq!(up_to, number + 1, "half of it is on disk");
    }
    opened.store.close();
}
