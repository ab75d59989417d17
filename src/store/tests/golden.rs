//! Opens notebooks that earlier versions wrote. The golden files of a released version never
//! change.

use super::facts::Story;
use super::trust::{about, blobs};
use super::*;
use crate::notebook::{Checkpoint, KeptCredentials, KeptLink, KeptSession, StateId};
use crate::store::NewCheckpoint;
use crate::store::tables::digest;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Writes the key that signed the golden notebooks into a config directory, and loads it.
fn fixed_key(dir: &Dir) -> InstallKey {
    let config = dir.0.join("config");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("key"), [7; 32]).unwrap();
    fs::set_permissions(config.join("key"), fs::Permissions::from_mode(0o600)).unwrap();
    dir.key()
}

fn golden(version: u32, end: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/tests").join(format!("version-{version}.{end}"))
}

/// Whether `found` has all fields and values of `wished`. Later versions may have added fields to
/// `found`.
fn holds(found: &Value, wished: &Value) -> bool {
    match (found, wished) {
        (Value::Object(found), Value::Object(wished)) => {
            wished.iter().all(|(key, wished)| found.get(key).is_some_and(|found| holds(found, wished)))
        }
        (Value::Array(found), Value::Array(wished)) => {
            found.len() == wished.len()
                && found.iter().zip(wished).all(|(found, wished)| holds(found, wished))
        }
        _ => found == wished,
    }
}

/// Sorts the states and runs. Deleted leaves of earlier versions were in the graph, and are in the
/// trash now, which comes after the graph.
fn sorted(mut whole: Value) -> Value {
    for part in ["states", "runs"] {
        if let Some(items) = whole["parts"][part].as_array_mut() {
            items.sort_by_key(|item| item.get("id").unwrap_or(&item[1]["exec_id"]).to_string());
        }
    }
    whole
}

fn whole(opened: &Opened) -> Value {
    let KeptCredentials { links, sessions } = &opened.credentials;
    json!({"parts": lasting(&opened.parts), "links": links, "sessions": sessions})
}

/// Not a test: with `RATOON_TEST_GOLDEN=1`, writes the golden notebook of the newest version.
#[test]
fn write_golden() {
    if std::env::var("RATOON_TEST_GOLDEN").is_err() {
        return;
    }
    let mut story = Story::new(77);
    story.longest = 300;
    while story.facts.len() < 90 {
        story.go_on();
    }
    let dir = Dir::new("golden");
    fixed_key(&dir);
    saved(&dir, &story.facts);
    let (opened, news) = dir.open();
    let checkpoint = Checkpoint { checkpoint_id: blobs(&dir, 7), ..about("initial") };
    opened.store.keep_checkpoint(NewCheckpoint { state: StateId::root(), parent: None, checkpoint });
    while !matches!(news.recv().unwrap(), StoreEvent::Kept { checkpoint: Ok(_), .. }) {}
    let (tell, told) = channel();
    let link = KeptLink {
        id: "link".into(),
        notebook: "main".into(),
        token_sha256: "0".repeat(64),
        scope: "run".into(),
        label: Some("for a friend".into()),
        created_at: 0.1,
        expires_at: Some(1e12),
    };
    let session = KeptSession {
        id: format!("session-{}", "1".repeat(64)),
        notebook: "main".into(),
        cookie_sha256: "1".repeat(64),
        began_with: "link link".into(),
        expires_at: 1e12,
    };
    let kept = KeptCredentials { links: vec![link], sessions: vec![session] };
    opened.store.keep_credentials(kept, move |done| tell.send(done).unwrap());
    told.recv().unwrap().unwrap();
    opened.store.close();
    let (opened, _) = dir.open();
    let whole = whole(&opened);
    opened.store.close();
    fs::copy(dir.notebook().join("notebook.db"), golden(3, "db")).unwrap();
    fs::write(golden(3, "json"), serde_json::to_string_pretty(&whole).unwrap() + "\n").unwrap();
}

#[test]
fn a_notebook_of_each_version_opens() {
    for version in [2, 3] {
        let dir = Dir::new("version");
        fixed_key(&dir);
        fs::create_dir_all(dir.notebook()).unwrap();
        fs::copy(golden(version, "db"), dir.notebook().join("notebook.db")).unwrap();
        let (opened, _) = dir.open();
        assert_eq!(opened.damage, Vec::<String>::new());
        let found = whole(&opened);
        let wished: Value = serde_json::from_slice(&fs::read(golden(version, "json")).unwrap()).unwrap();
        assert!(holds(&sorted(found.clone()), &sorted(wished)), "{version}: {found}");
        assert!(opened.parts.states[0].checkpoint.as_ref().unwrap().is_trusted);
        assert_eq!(opened.credentials.links.len(), 1);
        opened.store.close();
    }
    // Compares with a fixed value. A comparison of writing and reading would not detect a changed
    // `digest`.
    assert_eq!(digest("golden", &["a".into(), 7.into()]).bytes()[..4], [123, 203, 196, 110]);
}
