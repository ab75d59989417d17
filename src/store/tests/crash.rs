//! Tests of a store that is killed at any write, and of disks that fail. The tests run this test
//! binary under strace and check the files that remain.

use super::facts::{Story, new_run};
use super::*;
use crate::breadth::in_full;
use crate::notebook::StateId;
use std::collections::HashSet;
use std::process::{Command, Output as Ended};

const DIR: &str = "RATOON_TEST_STORE";
/// System calls that change files.
const CALLS: [&str; 8] =
    ["pwrite64", "write", "fsync", "fdatasync", "rename", "openat", "unlink,unlinkat,rmdir", "ftruncate"];

fn script() -> Story {
    let mut story = Story::new(21);
    story.longest = 3000;
    while story.facts.len() < 24 {
        story.go_on();
    }
    // An output that is large enough to be stored as a blob.
    let mut run = new_run("large", &StateId::root(), "1");
    let text = "z".repeat(400_000);
    story.notebook.add_run(run.clone());
    story.facts.push(Fact::RunAdded { run: run.clone() });
    let output = crate::notebook::Output::stream(crate::notebook::StreamName::Stdout, text);
    run.outputs.push(output.clone());
    run.status = crate::notebook::RunStatus::Error;
    story.facts.push(Fact::OutputAdded { exec_id: run.exec_id.clone(), output });
    let exec_id = run.exec_id.clone();
    story.facts.push(Fact::RunEnded {
        exec_id,
        status: run.status,
        error: None,
        duration_ms: None,
        state: None,
        symbols: None,
        metric: None,
        worker: None,
    });
    story.notebook.add_run(run);
    story
}

/// Not a test: the tests below run this under strace. Saves the facts of the script, waits after
/// every third fact, and prints the number of the last fact on disk.
#[test]
fn driver() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let dir = std::mem::ManuallyDrop::new(Dir(dir.into()));
    let story = script();
    let Ok((opened, news)) = dir.try_open() else {
        println!("refused");
        return;
    };
    let start = usize::from(!opened.parts.runs.is_empty()) * story.facts.len();
    let mut last = 0;
    for (number, fact) in (1..).zip(&story.facts).skip(start) {
        opened.store.save(number, fact);
        if number % 3 == 0 || number == story.facts.len() as u64 {
            last = number;
            if !wait_or_mend(&opened.store, &news, &story.notebook, number) {
                break;
            }
        }
    }
    opened.store.close();
    println!("closed after {last}");
}

/// Waits until the facts up to a number are saved, and returns true. If the disk fails, waits until
/// it works again, writes the whole notebook, and returns false.
fn wait_or_mend(
    store: &Store,
    news: &Receiver<StoreEvent>,
    notebook: &crate::notebook::Notebook,
    number: u64,
) -> bool {
    let mut has_failed = false;
    loop {
        match news.recv_timeout(Duration::from_secs(30)).unwrap() {
            StoreEvent::Saved { up_to } if has_failed && up_to >= 1000 => {
                println!("mended");
                return false;
            }
            StoreEvent::Saved { up_to } if up_to >= number => {
                println!("acked {number}");
                return true;
            }
            StoreEvent::Failed { trouble } => {
                println!("failed {trouble:?}");
                assert!(!trouble.how.is_empty());
                has_failed = true;
            }
            StoreEvent::Usable => store.rewrite(1000, notebook),
            _ => {}
        }
    }
}

fn strace() -> bool {
    let is_there = Command::new("strace").arg("-V").output().is_ok_and(|out| out.status.success());
    let can = is_there
        && Command::new("strace")
            .args(["-qq", "-o", "/dev/null", "true"])
            .status()
            .is_ok_and(|s| s.success());
    if !can {
        println!("skipped: strace is missing, or may not trace");
    }
    can
}

fn drive(dir: &Dir, inject: &str) -> Ended {
    let calls = inject.split(':').next().unwrap();
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={calls}")]);
    command.args(["-e", &format!("inject={inject}")]);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "store::tests::crash::driver", "--nocapture", "--test-threads=1"]);
    command.env(DIR, &dir.0).output().unwrap()
}

fn acked(ended: &Ended) -> usize {
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    text.lines().filter_map(|l| l.rsplit_once("acked ")?.1.trim().parse().ok()).max().unwrap_or(0)
}

/// Returns saved notebooks as text: the notebook without facts, with one fact, with two facts, and
/// so on.
fn pictures(story: &Story) -> Vec<String> {
    let facts = &story.facts;
    let saved = (0..=facts.len()).map(|n| picture(saved(&Dir::new("picture"), &facts[..n])));
    saved.collect()
}

fn picture(mut parts: Parts) -> String {
    // The store creates the root with the current time, which differs between runs.
    if parts.states[0].created_at > 1e9 {
        parts.states[0].created_at = 0.0;
    }
    lasting(&parts).to_string()
}

/// Opens the notebook after a crash. Asserts that it contains all acknowledged facts, and no fact
/// in part. Later facts may also be on disk.
fn assert_whole(dir: &Dir, pictures: &[String], acked: usize, what: &str) {
    let (opened, _) = dir.try_open().unwrap_or_else(|error| panic!("{what}: {error:?}"));
    assert_eq!(opened.damage, Vec::<String>::new(), "{what}");
    let found = picture(opened.parts.clone());
    let is_right = pictures.iter().enumerate().any(|(n, one)| n >= acked && *one == found);
    assert!(is_right, "{what}: not what was there after {acked} facts or more: {found}");
    opened.store.close();
    let checked = crate::store::check(&dir.notebook()).unwrap();
    assert_eq!(checked.damage, Vec::<String>::new(), "{what}");
}

#[test]
fn killed_anywhere_everything_acknowledged_is_there() {
    if std::env::var(DIR).is_ok() || !strace() {
        return;
    }
    let pictures = pictures(&script());
    let mut kills = 0;
    let step = if in_full() { 1 } else { 32 };
    for calls in CALLS {
        for n in (1..600).step_by(step) {
            let dir = Dir::new("killed");
            let _ = dir.key();
            let what = format!("killed at {calls} {n}");
            let ended = drive(&dir, &format!("{calls}:signal=KILL:when={n}"));
            if ended.status.success() {
                assert_whole(&dir, &pictures, pictures.len() - 1, &what);
                break;
            }
            kills += 1;
            let acked = acked(&ended);
            // Kills the store again while it recovers.
            if n % 3 == 1 {
                drive(&dir, &format!("{}:signal=KILL:when={}", CALLS[n % 6], 1 + n % 7));
                let again = CALLS[(n + 1) % 6];
                drive(&dir, &format!("{again}:signal=KILL:when={}", 1 + n % 5));
            }
            assert_whole(&dir, &pictures, acked, &what);
        }
    }
    println!("killed {kills} times");
    assert!(kills > 60 / step);
}

#[test]
fn a_disk_that_fails_is_told_and_everything_is_written_when_it_works_again() {
    if std::env::var(DIR).is_ok() || !strace() {
        return;
    }
    let story = script();
    let whole = picture(parts_of(&story.notebook));
    let mut seen = HashSet::new();
    for (calls, errors) in [("pwrite64", ["ENOSPC", "EIO"]), ("fsync,fdatasync", ["EIO", "ENOSPC"])] {
        for error in errors {
            let (most, step) = if calls == "pwrite64" { (340, 19) } else { (60, 4) };
            let step = if in_full() { step } else { 6 * step };
            for n in (1..most).step_by(step) {
                let dir = Dir::new("fails");
                let _ = dir.key();
                let ended = drive(&dir, &format!("{calls}:error={error}:when={n}"));
                let said = String::from_utf8_lossy(&ended.stdout).into_owned();
                let what = format!("{calls} {n} {error}: {said} {}", String::from_utf8_lossy(&ended.stderr));
                assert!(ended.status.success(), "{what}");
                if said.contains("refused") {
                    // The disk failed while the notebook was opened. A second attempt succeeds.
                    assert!(dir.try_open().is_ok(), "{what}");
                    continue;
                }
                let (opened, _) = dir.open();
                assert_eq!(opened.damage, Vec::<String>::new(), "{what}");
                let mut parts = opened.parts.clone();
                parts.states[0].created_at = story.notebook.states().next().unwrap().created_at;
                assert_eq!(picture(parts), whole, "{what}");
                seen.extend(
                    ["mended", "disk is full", "disk failed"].into_iter().filter(|w| said.contains(w)),
                );
            }
        }
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
}

/// Not a test: a test below runs this in a namespace where it can mount a small disk.
#[test]
fn full_disk_driver() {
    let Ok(dir) = std::env::var("RATOON_TEST_FULL") else { return };
    let dir = std::mem::ManuallyDrop::new(Dir(dir.into()));
    let (opened, news) = dir.open();
    let mut notebook = crate::notebook::Notebook::new("main", 1.0);
    let mut failed = 0;
    for number in 1..=40 {
        let run = new_run(&format!("run{number}"), &StateId::root(), &"x".repeat(200_000));
        notebook.add_run(run.clone());
        opened.store.save(number, &Fact::RunAdded { run });
        match news.recv_timeout(Duration::from_secs(30)).unwrap() {
            StoreEvent::Saved { up_to } => assert_eq!(up_to, number),
            StoreEvent::Failed { trouble } => {
                failed = number;
                assert!(trouble.why.contains("the disk is full"), "{trouble:?}");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(failed > 1);
    // While facts are dropped, credentials cannot be stored.
    let (tell, told) = channel();
    opened.store.keep_credentials(Default::default(), move |done| tell.send(done).unwrap());
    assert!(told.recv().unwrap().is_err());
    std::fs::remove_file(dir.0.join("filler")).unwrap();
    loop {
        match news.recv_timeout(Duration::from_secs(30)).unwrap() {
            StoreEvent::Usable => opened.store.rewrite(100, &notebook),
            StoreEvent::Saved { up_to: 100 } => break,
            StoreEvent::Failed { trouble } => panic!("{trouble:?}"),
            other => println!("{other:?}"),
        }
    }
    opened.store.close();
    assert_eq!(dir.open().0.parts.runs.len() as u64, failed);
    println!("it was full");
}

#[test]
fn a_full_disk_is_told_and_works_again_when_there_is_room() {
    if std::env::var(DIR).is_ok() || std::env::var("RATOON_TEST_FULL").is_ok() {
        return;
    }
    let dir = Dir::new("full");
    let script = "mount -t tmpfs -o size=16m tmpfs \"$RATOON_TEST_FULL\" && \
                  head -c 12000000 /dev/zero > \"$RATOON_TEST_FULL/filler\" && echo mounted && \
                  exec \"$0\" --exact store::tests::crash::full_disk_driver --nocapture";
    let ended = Command::new("unshare")
        .args(["-Urm", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("RATOON_TEST_FULL", &dir.0)
        .output();
    let said = ended.as_ref().map(|e| String::from_utf8_lossy(&e.stdout).into_owned()).unwrap_or_default();
    if !said.contains("mounted") {
        println!("skipped: no file system may be mounted here");
        return;
    }
    assert!(said.contains("it was full"), "{said} {}", String::from_utf8_lossy(&ended.unwrap().stderr));
}

#[test]
fn a_directory_that_is_moved_away_is_not_written_to() {
    let dir = Dir::new("moved");
    let (opened, news) = dir.open();
    let away = dir.0.join("away");
    std::fs::rename(dir.notebook(), &away).unwrap();
    let run = new_run("r", &StateId::root(), "1");
    opened.store.save(1, &Fact::RunAdded { run: run.clone() });
    assert!(matches!(news.recv().unwrap(), StoreEvent::Failed { trouble } if trouble.why.contains("moved")));
    std::fs::rename(&away, dir.notebook()).unwrap();
    assert!(matches!(news.recv().unwrap(), StoreEvent::Usable));
    let mut notebook = crate::notebook::Notebook::new("main", 1.0);
    notebook.add_run(run);
    opened.store.rewrite(2, &notebook);
    wait(&news, 2);
    opened.store.close();
    assert_eq!(dir.open().0.parts.runs.len(), 1);
}
