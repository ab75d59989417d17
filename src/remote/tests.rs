#![allow(clippy::unwrap_used)]

use super::*;
use std::path::PathBuf;

fn folder(name: &str) -> (PathBuf, RemoteStore) {
    let dir = std::env::temp_dir().join(format!("ratoon-remote-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let settings = StoreSettings::new(&format!("file://{}", dir.display()), |_| None, None);
    (dir, RemoteStore::connect(&settings).unwrap())
}

#[test]
fn a_directory_holds_objects_by_key() {
    let (dir, store) = folder("objects");
    assert_eq!(store.get("notebooks/a/1").unwrap(), None);
    assert_eq!(store.list("").unwrap(), Vec::<String>::new());
    for (key, bytes) in [("notebooks/a/2", "two"), ("notebooks/a/1", "one"), ("notebooks/ab/1", "other")] {
        store.put(key, bytes.as_bytes()).unwrap();
    }
    store.put("notebooks/a/1", b"one again").unwrap();
    assert_eq!(store.get("notebooks/a/1").unwrap().unwrap().bytes, b"one again");
    assert_eq!(store.list("notebooks/a/").unwrap(), ["notebooks/a/1", "notebooks/a/2"]);
    assert_eq!(store.list("notebooks/a").unwrap().len(), 3);
    assert!(store.age("notebooks/a/1").unwrap().unwrap() < Duration::from_secs(3600));
    assert_eq!(store.age("notebooks/a/3").unwrap(), None);
    store.delete("notebooks/a/1").unwrap();
    store.delete("notebooks/a/1").unwrap();
    assert_eq!(store.list("notebooks/a/").unwrap(), ["notebooks/a/2"]);
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn an_object_in_a_directory_is_never_a_link_and_an_unmounted_drive_is_not_replaced() {
    let (dir, store) = folder("links");
    store.put("notebooks/a", b"").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.join("notebooks/b")).unwrap();
    assert_eq!(store.get("notebooks/b").unwrap_err().kind, Kind::Store);
    assert_eq!(store.list("notebooks/").unwrap(), ["notebooks/a"]);
    std::fs::remove_dir_all(&dir).unwrap();
    let below = StoreSettings::new(&format!("file://{}/not/there", dir.display()), |_| None, None);
    let problem = RemoteStore::connect(&below).unwrap().put("a", b"").unwrap_err();
    assert!(problem.why.contains("does not exist") && !dir.exists(), "{problem:?}");
}

#[test]
fn a_blob_is_packed_and_an_altered_one_is_refused() {
    let (dir, store) = folder("blobs");
    let content = b"the same line again\n".repeat(1000);
    let digest = store.put_blob(&content).unwrap();
    assert!(store.blob_age(&digest).unwrap().is_some());
    assert_eq!(store.get_blob(&digest, content.len()).unwrap(), content);
    let file = store.get(&blob_key(&digest)).unwrap().unwrap().bytes;
    assert!(file.len() < content.len() / 10);
    assert_eq!(store.get_blob(&digest, 10).unwrap_err().kind, Kind::Store, "it is longer than it may be");
    for altered in [b"\0other".to_vec(), Vec::new(), file[..file.len() - 1].to_vec()] {
        store.put_blob_file(&digest, &altered).unwrap();
        let problem = store.get_blob(&digest, content.len()).unwrap_err();
        assert!(problem.kind == Kind::Lost && problem.what.contains(store.url()), "{problem:?}");
    }
    assert_eq!(store.get_blob(&Digest::of(b"none"), 9).unwrap_err().kind, Kind::NotFound);
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn any_text_becomes_a_part_of_a_key_and_comes_back() {
    for text in ["main", "a b", "Résumé/1", "..", "a=b", "%2F", "日本"] {
        let part = key_part(text);
        assert!(is_key(&part) && !part.contains(['/', '.']), "{part}");
        assert_eq!(text_of_key_part(&part).as_deref(), Some(text));
    }
    assert!(["a b", "a.b", "=2", "=zz", "=e9"].iter().all(|part| text_of_key_part(part).is_none()));
    assert!(["../a", "a/../b", "a b", "é", "./a"].iter().all(|key| !is_key(key)));
}
