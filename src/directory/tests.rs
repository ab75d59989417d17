#![allow(clippy::unwrap_used)]

use super::*;
use std::fs;
use std::os::unix::fs::symlink;

/// A directory that is deleted with this value.
struct Room(Directory);

impl Room {
    fn new() -> Self {
        let root = std::env::temp_dir().join(format!("ratoon-files-{}", uuid::Uuid::new_v4().simple()));
        fs::create_dir(&root).unwrap();
        Self(Directory::new(root.canonicalize().unwrap()))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.root().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    fn upload(&self, path: &str, text: &str, replaces: bool) -> Result<bool, Problem> {
        let mut file = self.0.create(&at(path), replaces)?;
        file.write(text.as_bytes())?;
        file.finish(replaces)
    }

    /// All names in the directory itself, also hidden ones.
    fn names(&self) -> Vec<String> {
        let mut all: Vec<String> = fs::read_dir(self.0.root())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        all.sort();
        all
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.root());
    }
}

fn at(path: &str) -> FilePath {
    FilePath::parse(path).unwrap()
}

fn kind<T>(done: Result<T, Problem>) -> Option<Kind> {
    done.err().map(|problem| problem.kind)
}

#[test]
fn a_path_is_plain_visible_and_outside_notebooks() {
    for good in ["a", "a/b.csv", "été 1/x", "a..b", "a.ratoon.txt", "ratoon", "a\\b", "e\u{301}"] {
        assert_eq!(FilePath::parse(good).unwrap().to_string(), good);
    }
    let long = "a/".repeat(2048) + "a";
    for bad in [
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/../b",
        "a/./b",
        ".git",
        "a/.env",
        "a\0",
        "a\nb",
        "main.ratoon",
        "main.ratoon/notebook.db",
        "a/b.ratoon/c",
        ".ratoon-trash/files",
        &long,
    ] {
        assert_eq!(kind(FilePath::parse(bad)), Some(Kind::BadRequest), "{bad:?}");
    }
}

#[test]
fn a_listing_has_kinds_sizes_and_times_and_no_hidden_files() {
    let room = Room::new();
    room.put("b.csv", "12345");
    room.put("data/inner", "");
    room.put("main.ratoon/notebook.db", "");
    room.put(".hidden", "");
    symlink("/etc/passwd", room.path("link")).unwrap();
    nix::unistd::mkfifo(&room.path("pipe"), Mode::S_IRWXU).unwrap();
    fs::write(room.path("odd\nname"), "").unwrap();
    let listing = room.0.list(&FilePath::root()).unwrap();
    let seen: Vec<_> = listing.entries.iter().map(|one| (one.name.as_str(), one.kind, one.bytes)).collect();
    assert_eq!(
        seen,
        [
            ("b.csv", EntryKind::File, Some(5)),
            ("data", EntryKind::Folder, None),
            ("link", EntryKind::Link, None),
            ("main.ratoon", EntryKind::Notebook, None),
            ("pipe", EntryKind::Other, None),
        ]
    );
    assert_eq!(listing.more, 1, "the odd name");
    let written = fs::metadata(room.path("b.csv")).unwrap().modified().unwrap();
    let ms = written.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64() * 1e3;
    assert!((listing.entries[0].modified - ms).abs() < 2.0);
    assert_eq!(kind(room.0.list(&at("b.csv"))), Some(Kind::NotFound));
    assert_eq!(kind(room.0.list(&at("nothing"))), Some(Kind::NotFound));
}

#[test]
fn no_link_is_followed_by_any_call() {
    let (room, other) = (Room::new(), Room::new());
    other.put("secret", "s");
    other.put("folder/secret", "s");
    symlink(other.0.root(), room.path("out")).unwrap();
    symlink(other.path("secret"), room.path("file")).unwrap();
    symlink("nowhere", room.path("dangling")).unwrap();
    room.put("own", "o");
    for path in ["out/secret", "file", "out/folder/secret", "dangling"] {
        assert_eq!(kind(room.0.open(&at(path))), Some(Kind::BadRequest), "{path}");
    }
    for path in ["out", "out/folder"] {
        assert_eq!(kind(room.0.list(&at(path))), Some(Kind::BadRequest), "{path}");
    }
    assert_eq!(kind(room.upload("out/new", "n", true)), Some(Kind::BadRequest));
    assert_eq!(kind(room.0.make_folder(&at("out/new"))), Some(Kind::BadRequest));
    assert_eq!(kind(room.0.rename(&at("own"), &at("out/own"))), Some(Kind::BadRequest));
    assert_eq!(kind(room.0.rename(&at("out/secret"), &at("mine"))), Some(Kind::BadRequest));
    assert_eq!(kind(room.0.discard(&at("out/secret"))), Some(Kind::BadRequest));
    // An upload that replaces a link replaces the link itself.
    assert_eq!(room.upload("file", "mine", true), Ok(true));
    assert_eq!((room.read("file").as_str(), other.read("secret").as_str()), ("mine", "s"));
    // A deleted link comes back as a link.
    let id = room.0.discard(&at("dangling")).unwrap();
    assert_eq!(room.0.restore(&id).unwrap(), "dangling");
    assert_eq!(fs::read_link(room.path("dangling")).unwrap(), Path::new("nowhere"));
    assert_eq!(other.names(), ["folder", "secret"]);
}

#[test]
fn pipes_and_folders_are_not_opened() {
    let room = Room::new();
    nix::unistd::mkfifo(&room.path("pipe"), Mode::S_IRWXU).unwrap();
    fs::create_dir(room.path("folder")).unwrap();
    for path in ["pipe", "folder"] {
        assert_eq!(kind(room.0.open(&at(path))), Some(Kind::BadRequest), "{path}");
    }
}

#[test]
fn an_upload_has_its_name_only_when_all_of_it_is_there() {
    let room = Room::new();
    let mut file = room.0.create(&at("a.csv"), false).unwrap();
    file.write(b"half").unwrap();
    assert_eq!(room.0.list(&FilePath::root()).unwrap(), Listing::default());
    drop(file);
    assert_eq!(room.names(), [""; 0], "nothing is left of an interrupted upload");
    assert_eq!(room.upload("a.csv", "one", false), Ok(false));
    assert_eq!(kind(room.upload("a.csv", "two", false)), Some(Kind::Conflict));
    assert_eq!(room.read("a.csv"), "one");
    // The name is taken while the upload is under way.
    let file = room.0.create(&at("b"), false).unwrap();
    room.put("b", "theirs");
    assert_eq!(kind(file.finish(false)), Some(Kind::Conflict));
    assert_eq!(room.read("b"), "theirs");
    fs::create_dir(room.path("folder")).unwrap();
    assert_eq!(kind(room.upload("folder", "x", true)), Some(Kind::Conflict));
    assert_eq!(kind(room.upload("none/x", "x", true)), Some(Kind::NotFound));
}

#[test]
fn a_replaced_file_can_be_restored() {
    let room = Room::new();
    room.put("a.csv", "old");
    assert_eq!(room.upload("a.csv", "new", true), Ok(true));
    let [deleted] = &room.0.deleted()[..] else { panic!("{:?}", room.0.deleted()) };
    assert_eq!((deleted.path.as_str(), deleted.kind, deleted.bytes), ("a.csv", EntryKind::File, Some(3)));
    assert_eq!(room.0.restore(&deleted.id).unwrap(), "a (2).csv");
    assert_eq!((room.read("a.csv"), room.read("a (2).csv")), ("new".into(), "old".into()));
    assert_eq!(room.0.deleted(), []);
}

#[test]
fn remainders_of_a_killed_server_are_removed_by_a_later_upload() {
    let room = Room::new();
    room.put(".ratoon-upload-old", "x");
    room.put(".ratoon-upload-new", "x");
    let old = File::options().write(true).open(room.path(".ratoon-upload-old")).unwrap();
    old.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 3600)).unwrap();
    room.upload("a", "a", false).unwrap();
    assert_eq!(room.names(), [".ratoon-upload-new", "a"]);
}

#[test]
fn a_rename_moves_and_never_replaces() {
    let room = Room::new();
    room.put("a", "a");
    room.put("b", "b");
    room.put("folder/c", "c");
    assert_eq!(kind(room.0.rename(&at("a"), &at("b"))), Some(Kind::Conflict));
    assert_eq!(kind(room.0.rename(&at("a"), &at("folder"))), Some(Kind::Conflict));
    assert_eq!(kind(room.0.rename(&at("none"), &at("d"))), Some(Kind::NotFound));
    assert_eq!(kind(room.0.rename(&at("folder"), &at("folder/d"))), Some(Kind::BadRequest));
    assert_eq!((room.read("a"), room.read("b")), ("a".into(), "b".into()));
    assert_eq!(room.0.rename(&at("a"), &at("folder/a")), Ok(()));
    assert_eq!(room.0.rename(&at("folder"), &at("other")), Ok(()));
    assert_eq!((room.read("other/a"), room.read("other/c")), ("a".into(), "c".into()));
    room.0.make_folder(&at("other/deep")).unwrap();
    assert_eq!(kind(room.0.make_folder(&at("other/deep"))), Some(Kind::Conflict));
}

#[test]
fn deleted_folders_come_back_with_their_content_also_if_the_folder_around_is_gone() {
    let room = Room::new();
    room.put("data/deep/a.csv", "a");
    let id = room.0.discard(&at("data/deep")).unwrap();
    assert!(!room.path("data/deep").exists());
    fs::remove_dir(room.path("data")).unwrap();
    assert_eq!(room.0.restore(&id).unwrap(), "data/deep");
    assert_eq!(room.read("data/deep/a.csv"), "a");
    assert_eq!(kind(room.0.restore(&id)), Some(Kind::NotFound));
    assert_eq!(kind(room.0.discard(&at("none"))), Some(Kind::NotFound));
    for id in ["", "..", "../..", "files", "1-x/../../data"] {
        assert_eq!(kind(room.0.purge(id)), Some(Kind::NotFound), "{id}");
    }
    let id = room.0.discard(&at("data")).unwrap();
    assert_eq!(room.0.purge(&id), Ok(()));
    assert_eq!(room.0.deleted(), []);
    assert_eq!(room.names(), [".ratoon-trash"]);
}

#[test]
fn old_deletions_are_removed() {
    let room = Room::new();
    let entry = |ms: u64| format!(".ratoon-trash/files/{ms}-x");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = u64::try_from(now.as_millis()).unwrap();
    let month = 30 * 24 * 3600 * 1000;
    let (young, old) = (entry(now - month + 60_000), entry(now - month - 1));
    for one in [&young, &old] {
        room.put(&format!("{one}/item"), "x");
        room.put(&format!("{one}/path"), "a/b");
    }
    // An interruption before the file was moved leaves an entry without an item.
    room.put(&format!("{}/path", entry(now)), "c");
    room.0.prune();
    let left: Vec<_> = room.0.deleted().into_iter().map(|one| one.path).collect();
    assert_eq!(left, ["a/b"]);
    assert!(room.path(&young).exists() && !room.path(&old).exists() && !room.path(&entry(now)).exists());
    // A path in the trash cannot lead out of the directory.
    room.put(&format!("{}/item", entry(now)), "x");
    room.put(&format!("{}/path", entry(now)), "../b");
    assert_eq!(room.0.deleted().len(), 1);
}

#[test]
fn files_that_are_deleted_and_replaced_at_the_same_time_can_all_be_restored() {
    let room = Room::new();
    let names: Vec<String> = (0..160).map(|n| format!("f{n}")).collect();
    for name in &names {
        room.put(name, name);
    }
    let done: Vec<(String, String)> = std::thread::scope(|scope| {
        let work = |part: &[String]| -> Vec<(String, String)> {
            let delete = |name: &String| (name.clone(), room.0.discard(&at(name)).unwrap());
            part.iter().map(delete).collect()
        };
        let threads: Vec<_> = names.chunks(20).map(|part| scope.spawn(move || work(part))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(done.len(), names.len());
    for (name, id) in done {
        assert_eq!(room.0.restore(&id).as_ref(), Ok(&name));
        assert_eq!(room.read(&name), name);
    }
    // All uploads of one name succeed, and every earlier version is in the trash.
    let uploads = std::thread::scope(|scope| {
        let upload = |text: String| room.upload("f0", &text, true).unwrap();
        let threads: Vec<_> = (0..12).map(|n| scope.spawn(move || upload(format!("new {n}")))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(|replaced| *replaced).count()
    });
    assert_eq!((uploads, room.0.deleted().len()), (12, 12));
}
