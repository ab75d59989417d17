//! Tests of the signatures and blobs of checkpoints, of the install's key, and of `check` and `gc`.

use super::facts::{new_run, new_state};
use super::*;
use crate::blobs::Blobs;
use crate::notebook::{Checkpoint, ChosenPython, Form, KeptCredentials, KeptLink, Notebook, Python, StateId};
use crate::store::key::Seal;
use crate::store::tables::{BROWSER_SESSIONS, LINKS, SqlValue, Tables};
use crate::store::{NewCheckpoint, Trusting, check, gc};
use rusqlite::Connection;
use serde_json::Map;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Writes the blobs of a checkpoint. Returns the digest of its manifest.
pub(super) fn blobs(dir: &Dir, fill: u8) -> String {
    let mut blobs = Blobs::at(&dir.notebook().join("blobs"));
    let mut put = |bytes: &[u8]| blobs.put(bytes).unwrap().digest;
    let chunk = put(&vec![fill; 70_000]);
    let cut = json!({"name": "values", "bytes": 70_000, "chunks": [chunk]});
    let manifest = json!({
        "format": "ratoon-checkpoint-1", "python": "3.11", "environment": {"streams": [cut]},
        "data": {"streams": [cut]}, "buffers": [{"bytes": 70_000, "readonly": false, "chunks": [chunk]}],
    });
    let manifest = put(manifest.to_string().as_bytes());
    blobs.settle().unwrap();
    manifest.to_string()
}

pub(super) fn about(state: &str) -> Checkpoint {
    Checkpoint {
        checkpoint_id: String::new(),
        notebook_id: String::new(),
        state_id: StateId::new(state),
        form: Form::Environment,
        created_at: 0.1,
        label: None,
        metadata: Map::new(),
        namespace_size_bytes: 70_000,
        compressed_size_bytes: 100,
        new_bytes: 100,
        compression_ratio: 700.0,
        entry_count: 3,
        includes_source: true,
        parent_checkpoint: None,
        execution_count: 1,
        total_execution_time_ms: 0.3,
        missing: vec![],
        changed: vec![],
        not_compared: None,
        is_trusted: true,
        python: None,
    }
}

fn new_checkpoint(state: &str, parent: &str, manifest: &str) -> NewCheckpoint {
    NewCheckpoint {
        state: StateId::new(state),
        parent: Some(StateId::new(parent)),
        checkpoint: Checkpoint { checkpoint_id: manifest.into(), ..about(state) },
    }
}

fn kept(news: &Receiver<StoreEvent>) -> Result<Box<Checkpoint>, String> {
    loop {
        match news.recv_timeout(Duration::from_secs(30)).unwrap() {
            StoreEvent::Kept { checkpoint, .. } => return checkpoint,
            StoreEvent::Failed { trouble } => panic!("{trouble:?}"),
            _ => {}
        }
    }
}

/// Saves the states root ← a ← b. The states a and b have checkpoints.
pub(super) fn two(dir: &Dir) -> Opened {
    let (opened, news) = dir.open();
    for (number, (id, parent)) in (1..).zip([("a", "initial"), ("b", "a")]) {
        opened
            .store
            .save(number, &Fact::StateAdded { state: new_state(id, id, &StateId::new(parent), None) });
        opened.store.keep_checkpoint(new_checkpoint(id, parent, &blobs(dir, number as u8)));
        assert!(kept(&news).unwrap().is_trusted);
    }
    opened
}

fn trusted(dir: &Dir) -> Vec<Option<bool>> {
    let (opened, _) = dir.open();
    assert_eq!(opened.damage, Vec::<String>::new());
    opened.store.close();
    opened.parts.states[1..].iter().map(|s| s.checkpoint.as_ref().map(|c| c.is_trusted)).collect()
}

#[test]
fn a_checkpoint_is_kept_when_all_of_it_is_there() {
    let dir = Dir::new("keep");
    let opened = two(&dir);
    opened.store.close();
    let (opened, news) = dir.open();
    let first = opened.parts.states[1].checkpoint.clone().unwrap();
    assert_eq!(
        (opened.parts.states[1].residency, first.is_trusted, first.entry_count),
        (Residency::Disk, true, 3)
    );
    assert_eq!(first.notebook_id, opened.store.notebook_id());
    let manifest = blobs(&dir, 9);
    assert!(kept_with(&opened, &news, "gone", "a", &manifest).unwrap_err().contains("gone"));
    assert!(kept_with(&opened, &news, "b", "initial", &manifest).unwrap_err().contains("parent"));
    assert!(kept_with(&opened, &news, "b", "a", &"0".repeat(64)).unwrap_err().contains("missing"));
    let chunk = crate::blobs::Digest::of(&vec![9; 70_000]).to_string();
    let path = dir.notebook().join("blobs").join(&chunk[..2]).join(&chunk);
    fs::write(&path, vec![0; 90_000]).unwrap();
    assert!(kept_with(&opened, &news, "b", "a", &manifest).unwrap_err().contains("90000"));
    fs::remove_file(&path).unwrap();
    assert!(kept_with(&opened, &news, "b", "a", &manifest).unwrap_err().contains("missing"));
    // A checkpoint from another install is stored but not signed.
    let mut foreign = new_checkpoint("b", "a", &blobs(&dir, 5));
    foreign.checkpoint.is_trusted = false;
    opened.store.keep_checkpoint(foreign);
    assert!(!kept(&news).unwrap().is_trusted);
    opened.store.close();
    assert_eq!(trusted(&dir), [Some(true), Some(false)]);
}

fn kept_with(
    o: &Opened,
    news: &Receiver<StoreEvent>,
    state: &str,
    parent: &str,
    manifest: &str,
) -> Result<Box<Checkpoint>, String> {
    o.store.keep_checkpoint(new_checkpoint(state, parent, manifest));
    kept(news)
}

#[test]
fn every_flipped_bit_is_seen() {
    let dir = Dir::new("bits");
    let seal = Seal::new(&dir.key(), "notebook");
    let parent = StateId::new("parent");
    let body = serde_json::to_string(&about("state")).unwrap();
    let manifest = "ab".repeat(32);
    let hmac = seal.checkpoint("state", Some(&parent), &manifest, &body);
    let row = |parts: [&[u8]; 4]| {
        let text = |at: usize| SqlValue::from(String::from_utf8_lossy(parts[at]).into_owned());
        vec![text(0), "environment".into(), text(1), text(2), SqlValue::Bytes(parts[3].to_vec())]
    };
    let whole: [&[u8]; 4] = [b"state", manifest.as_bytes(), body.as_bytes(), hmac.bytes()];
    assert!(seal.is_checkpoint(&row(whole), Some(&parent)));
    for part in 0..4 {
        for bit in 0..whole[part].len() * 8 {
            let mut flipped = whole[part].to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let mut parts = whole;
            parts[part] = &flipped;
            assert!(!seal.is_checkpoint(&row(parts), Some(&parent)), "part {part}, bit {bit}");
        }
        let mut parts = whole;
        parts[part] = &whole[part][..whole[part].len() - 1];
        assert!(!seal.is_checkpoint(&row(parts), Some(&parent)), "part {part}, cut");
    }
    for other in [None, Some(StateId::new("parenu")), Some(StateId::new(""))] {
        assert!(!seal.is_checkpoint(&row(whole), other.as_ref()));
    }
    assert!(!Seal::new(&dir.key(), "notebool").is_checkpoint(&row(whole), Some(&parent)));
    let elsewhere = InstallKey::load_or_make(&dir.0.join("elsewhere")).unwrap();
    assert!(!Seal::new(&elsewhere, "notebook").is_checkpoint(&row(whole), Some(&parent)));
    assert_eq!(format!("{elsewhere:?}"), "InstallKey");
}

/// Changes rows and gives them correct digests. An attacker who knows the format could do the same.
fn forge(dir: &Dir, sql: &str) {
    let path = dir.notebook().join("notebook.db");
    let db = Connection::open(&path).unwrap();
    db.pragma_update(None, "foreign_keys", false).unwrap();
    db.execute_batch(sql).unwrap();
    drop(db);
    let mut tables = Tables::open(&path).unwrap();
    for table in [&crate::store::tables::CHECKPOINTS, &crate::store::tables::STATES] {
        for row in tables.rows(table).unwrap() {
            tables.put(table, &row.cells).unwrap();
        }
    }
    tables.settle_on_close(true);
}

#[test]
fn what_was_altered_or_moved_is_not_trusted() {
    for (sql, wished) in [
        (
            "UPDATE checkpoints SET state = CASE state WHEN 'a' THEN 'b' ELSE 'a' END || '2';
          UPDATE checkpoints SET state = substr(state, 1, 1)",
            [Some(false), Some(false)],
        ),
        (
            "UPDATE checkpoints SET manifest = (SELECT manifest FROM checkpoints WHERE state = 'a') \
             WHERE state = 'b'",
            [Some(true), Some(false)],
        ),
        (
            "UPDATE checkpoints SET body = replace(body, '70000', '70001') WHERE state = 'a'",
            [Some(false), Some(true)],
        ),
        ("UPDATE states SET parent = 'initial' WHERE id = 'b'", [Some(true), Some(false)]),
    ] {
        let dir = Dir::new("forged");
        two(&dir).store.close();
        forge(&dir, sql);
        assert_eq!(trusted(&dir), wished, "{sql}");
        let taken = Trusting::inspect(&dir.notebook(), &dir.key()).unwrap().sign().unwrap();
        assert_eq!(taken, wished.iter().filter(|w| **w == Some(false)).count());
        assert_eq!(trusted(&dir), [Some(true), Some(true)]);
    }
}

#[test]
fn another_install_gets_values_only_and_no_links() {
    let dir = Dir::new("foreign-key");
    let opened = two(&dir);
    let link = KeptLink {
        id: "l".into(),
        notebook: "n".into(),
        token_sha256: "0".repeat(64),
        scope: "view".into(),
        label: None,
        created_at: 0.1,
        expires_at: None,
    };
    let (tell, told) = channel();
    let kept = KeptCredentials { links: vec![link], sessions: Vec::new() };
    opened.store.keep_credentials(kept.clone(), move |done| tell.send(done).unwrap());
    told.recv().unwrap().unwrap();
    opened.store.close();
    assert_eq!(dir.open().0.credentials, kept);
    let other = InstallKey::load_or_make(&dir.0.join("other")).unwrap();
    let (opened, news) = open_at(&dir.notebook(), &other).unwrap();
    assert_eq!((opened.credentials.links.len(), opened.damage.len()), (0, 0));
    assert!(opened.parts.states[1..].iter().all(|s| !s.checkpoint.as_ref().unwrap().is_trusted));
    opened.store.trust();
    let taken = loop {
        if let StoreEvent::Trusted(taken) = news.recv_timeout(Duration::from_secs(30)).unwrap() {
            break taken.unwrap();
        }
    };
    assert_eq!(taken, [StateId::new("a"), StateId::new("b")]);
    opened.store.close();
    let (opened, _) = open_at(&dir.notebook(), &other).unwrap();
    assert!(opened.parts.states[1..].iter().all(|s| s.checkpoint.as_ref().unwrap().is_trusted));
    assert_eq!(opened.credentials.links.len(), 0);
}

#[test]
fn a_links_row_among_the_browser_sessions_is_none() {
    let dir = Dir::new("moved-link");
    let (opened, _) = dir.open();
    let link = KeptLink {
        id: "link-1".into(),
        notebook: "main".into(),
        token_sha256: "0".repeat(64),
        scope: "view".into(),
        label: Some("owner".into()),
        created_at: 0.1,
        expires_at: Some(1e15),
    };
    let kept = KeptCredentials { links: vec![link], sessions: Vec::new() };
    let (tell, told) = channel();
    opened.store.keep_credentials(kept.clone(), move |done| tell.send(done).unwrap());
    told.recv().unwrap().unwrap();
    opened.store.close();
    let mut tables = Tables::open(&dir.notebook().join("notebook.db")).unwrap();
    let row = tables.rows(&LINKS).unwrap().remove(0);
    tables.begin().unwrap();
    tables.put(&BROWSER_SESSIONS, &row.cells).unwrap();
    tables.commit().unwrap();
    drop(tables);
    let (opened, _) = dir.open();
    opened.store.close();
    assert_eq!((opened.damage, opened.credentials), (Vec::new(), kept));
}

#[test]
fn check_finds_what_is_wrong_and_gc_drops_what_nothing_names() {
    let dir = Dir::new("care");
    let opened = two(&dir);
    let error = check(&dir.notebook()).unwrap_err();
    assert!(error.why.contains(&format!("process {} has it open", std::process::id())), "{error:?}");
    opened.store.save(8, &Fact::RunAdded { run: new_run("r", &StateId::root(), "1") });
    opened.store.close();
    assert_eq!(check(&dir.notebook()).unwrap().damage, Vec::<String>::new());
    let mut more = Blobs::at(&dir.notebook().join("blobs"));
    let orphan = more.put(b"nobody names this").unwrap();
    more.settle().unwrap();
    fs::write(dir.notebook().join("tmp/left"), b"12345").unwrap();
    assert_eq!(gc(&dir.notebook()).unwrap(), (2, orphan.stored_bytes + 5));
    assert_eq!(gc(&dir.notebook()).unwrap(), (0, 0));
    assert_eq!(check(&dir.notebook()).unwrap().damage, Vec::<String>::new());
    let chunk = crate::blobs::Digest::of(&vec![2; 70_000]).to_string();
    let path = dir.notebook().join("blobs").join(&chunk[..2]).join(&chunk);
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let damage = check(&dir.notebook()).unwrap().damage;
    assert!(damage.len() == 1 && damage[0].contains("state b") && damage[0].contains(&chunk), "{damage:?}");
    fs::remove_file(path).unwrap();
    let damage = check(&dir.notebook()).unwrap().damage;
    assert!(damage.len() == 1 && damage[0].contains("missing"), "{damage:?}");
    // Directories that are not notebooks are refused.
    assert!(check(&dir.0).unwrap_err().why.contains("no notebook.db"));
    assert!(check(&dir.0.join("none")).unwrap_err().why.contains("no such directory"));
}

#[test]
fn the_key_is_for_its_owner_alone() {
    let dir = Dir::new("key");
    let path = dir.0.join("config/key");
    let seal = |key| Seal::new(&key, "n").credential("l", "b");
    let first = seal(dir.key());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(dir.0.join("config")).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::read_dir(dir.0.join("config")).unwrap().count(), 1);
    assert_eq!(seal(dir.key()), first, "it stays the same");
    let refused = |why: &str| {
        let error = InstallKey::load_or_make(&dir.0.join("config")).unwrap_err();
        assert!(
            error.why.contains(why) && error.what.contains("config/key") && !error.how.is_empty(),
            "{error:?}"
        );
    };
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    refused("only you");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, [0; 31]).unwrap();
    refused("32 bytes");
    fs::rename(&path, dir.0.join("key")).unwrap();
    std::os::unix::fs::symlink(dir.0.join("key"), &path).unwrap();
    refused("symbolic link");
}

#[test]
fn one_process_has_a_notebook_open_and_no_child_inherits_it() {
    let dir = Dir::new("lock");
    let (opened, _news) = dir.open();
    let error = dir.try_open().unwrap_err();
    assert!(error.why.contains(&format!("process {} has it open", std::process::id())), "{error:?}");
    let mut seen = 0;
    for entry in fs::read_dir("/proc/self/fd").unwrap() {
        let entry = entry.unwrap();
        let Ok(target) = fs::read_link(entry.path()) else { continue };
        if target.starts_with(dir.notebook()) {
            let info =
                fs::read_to_string(format!("/proc/self/fdinfo/{}", entry.file_name().to_string_lossy()))
                    .unwrap();
            let flags = info.lines().find_map(|l| l.strip_prefix("flags:")).unwrap().trim();
            let flags = i32::from_str_radix(flags, 8).unwrap();
            assert!(flags & nix::libc::O_CLOEXEC != 0, "{}", target.display());
            seen += 1;
        }
    }
    assert!(seen >= 4, "the database, its log, its index and the lock");
    opened.store.close();
    dir.open();
}

/// Choosing a Python means starting a program, so only this install's own choice counts.
#[test]
fn the_chosen_python_is_kept_and_that_of_another_install_is_not() {
    let dir = Dir::new("python");
    let chosen = |path: &str| {
        let (path, version) = (path.to_owned(), "3.12.1".to_owned());
        Python { path, version, is_chosen: true, problem: None }
    };
    let changed = |python: Python| Fact::PythonChanged { python };
    assert_eq!(saved(&dir, &[]).python, None);
    let parts = saved(&dir, &[changed(chosen("/first")), changed(chosen("/second"))]);
    let kept = ChosenPython { path: "/second".into(), version: "3.12.1".into() };
    assert_eq!(parts.python, Some(kept.clone()));
    // Written again after a disk failure.
    let (opened, news) = dir.open();
    opened.store.rewrite(1, &Notebook::from_parts(opened.parts, 0.0));
    wait(&news, 1);
    opened.store.close();
    assert_eq!(saved(&dir, &[]).python, Some(kept));
    let other = InstallKey::load_or_make(&dir.0.join("other")).unwrap();
    let (opened, _news) = open_at(&dir.notebook(), &other).unwrap();
    assert_eq!((opened.parts.python, opened.damage), (None, Vec::new()));
    opened.store.close();
    let default = Python { is_chosen: false, ..chosen("/default") };
    assert_eq!(saved(&dir, &[changed(default)]).python, None);
}
