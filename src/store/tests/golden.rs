//! Notebooks as earlier versions wrote them. A released one never changes.

use super::facts::Story;
use super::trust::{about, blobs};
use super::*;
use crate::notebook::{Checkpoint, KeptLink, StateId};
use crate::store::NewCheckpoint;
use crate::store::tables::digest;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The key that signed them.
fn fixed_key(dir: &Dir) -> InstallKey {
    let config = dir.0.join("config");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("key"), [7; 32]).unwrap();
    fs::set_permissions(config.join("key"), fs::Permissions::from_mode(0o600)).unwrap();
    dir.key()
}

fn golden(end: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/tests").join(format!("version-1.{end}"))
}

/// Whether everything of `wished` is in `found`. Later versions may know more.
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

/// Not a test: `RATOON_TEST_GOLDEN=1` writes the notebook of the newest version, once.
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
    let about = Checkpoint { checkpoint_id: blobs(&dir, 7), ..about("initial") };
    opened.store.keep_checkpoint(NewCheckpoint { state: StateId::root(), parent: None, about });
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
    opened.store.keep_links(vec![link], move |done| tell.send(done).unwrap());
    told.recv().unwrap().unwrap();
    opened.store.close();
    let (opened, _) = dir.open();
    let whole = json!({"parts": lasting(&opened.parts), "links": opened.links});
    opened.store.close();
    fs::copy(dir.notebook().join("notebook.db"), golden("db")).unwrap();
    fs::write(golden("json"), serde_json::to_string_pretty(&whole).unwrap() + "\n").unwrap();
}

#[test]
fn version_1_opens() {
    let dir = Dir::new("version-1");
    fixed_key(&dir);
    fs::create_dir_all(dir.notebook()).unwrap();
    fs::copy(golden("db"), dir.notebook().join("notebook.db")).unwrap();
    let (opened, _) = dir.open();
    assert_eq!(opened.damage, Vec::<String>::new());
    let found = json!({"parts": lasting(&opened.parts), "links": opened.links});
    let wished: Value = serde_json::from_slice(&fs::read(golden("json")).unwrap()).unwrap();
    assert!(holds(&found, &wished), "{found}");
    assert!(opened.parts.states[0].checkpoint.as_ref().unwrap().is_trusted && opened.links.len() == 1);
    opened.store.close();
    // Written down, so that a change is seen even where it is made on both sides.
    assert_eq!(digest("golden", &["a".into(), 7.into()]).bytes()[..4], [123, 203, 196, 110]);
}
