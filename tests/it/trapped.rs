//! Tests of a hostile notebook directory that contains links or pipes instead of its files and
//! folders. The server must not read or remove files outside of the directory, and must not wait
//! for a pipe.

use crate::cells::Room;
use crate::request::{Answer, Request};
use crate::server::{TestServer, output_of};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The kind of a trap, which replaces a file or folder of the directory.
#[derive(Clone, Copy)]
enum Trap {
    /// A link to the folder `outside`.
    ToFolder,
    /// A link to the file `outside/precious`.
    ToFile,
    Pipe,
}

/// Each row has the path of the trap, its kind, and the expected error.
const TRAPS: &[(&str, Trap, &str)] = &[
    ("tmp", Trap::ToFolder, "its tmp is a symbolic link, not a folder"),
    ("tmp", Trap::Pipe, "its tmp is a named pipe, not a folder"),
    ("blobs", Trap::ToFolder, "its blobs is a symbolic link, not a folder"),
    ("blobs/zz", Trap::ToFolder, "its blobs/zz is a symbolic link, not a folder"),
    ("notebook.db", Trap::ToFile, "its notebook.db is a symbolic link, not a file"),
    ("notebook.db", Trap::Pipe, "its notebook.db is a named pipe, not a file"),
    ("notebook.db-wal", Trap::Pipe, "its notebook.db-wal is a named pipe, not a file"),
    ("notebook.db-wal", Trap::ToFile, "its notebook.db-wal is a symbolic link, not a file"),
    ("notebook.db-shm", Trap::Pipe, "its notebook.db-shm is a named pipe, not a file"),
    ("notebook.db-journal", Trap::Pipe, "its notebook.db-journal is a named pipe, not a file"),
    ("lock", Trap::Pipe, "its lock is a named pipe, not a file"),
    ("lock", Trap::ToFile, "lock"),
];

/// Makes a directory with the closed notebook `main`, and with files that the server must not
/// touch.
fn room() -> Room {
    let room = Room::new();
    let mut server = TestServer::in_dir(room.path());
    let state = server.run("initial", "x = list(range(1000))").state().to_owned();
    server.checkpoint(&state, json!({}));
    server.signal(Signal::SIGTERM);
    server.wait();
    drop(server);
    fs::create_dir_all(room.file("outside/ab")).unwrap();
    fs::write(room.file("outside/precious"), "precious").unwrap();
    fs::write(room.file("outside/ab").join("ab".repeat(32)), "like a blob").unwrap();
    room
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let own = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &own);
        } else {
            fs::copy(entry.path(), own).unwrap();
        }
    }
}

/// Makes a notebook of this name that contains a trap.
fn trapped(room: &Room, name: &str, place: &str, trap: Trap) -> PathBuf {
    let dir = room.file(&format!("{name}.ratoon"));
    copy(&room.file("main.ratoon"), &dir);
    let path = dir.join(place);
    if path.is_dir() {
        fs::remove_dir_all(&path).unwrap();
    } else {
        let _ = fs::remove_file(&path);
    }
    match trap {
        Trap::ToFolder => symlink(room.file("outside"), path).unwrap(),
        Trap::ToFile => symlink(room.file("outside/precious"), path).unwrap(),
        Trap::Pipe => nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap(),
    }
    dir
}

fn nothing_outside_has_changed(room: &Room, place: &str) {
    let read = |path: &str| fs::read_to_string(room.file(path)).unwrap_or_default();
    assert_eq!(read("outside/precious"), "precious", "{place}");
    assert_eq!(read(&format!("outside/ab/{}", "ab".repeat(32))), "like a blob", "{place}");
    let count = fs::read_dir(room.file("outside")).unwrap().count();
    assert_eq!(count, 2, "{place}: no file was created there");
}

#[test]
fn commands_follow_no_links_and_wait_for_no_pipes() {
    let room = room();
    for (number, (place, trap, told)) in TRAPS.iter().enumerate() {
        let dir = trapped(&room, &format!("n{number}"), place, *trap);
        for command in ["check", "gc", "trust", "export"] {
            let mut words = vec![command, dir.to_str().unwrap()];
            words.extend((command == "trust").then_some("--yes"));
            let output = output_of(&words);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(1) && said.contains(told), "{command}, {place}: {said}");
            nothing_outside_has_changed(&room, place);
        }
    }
}

#[test]
fn a_link_in_place_of_a_blob_is_damage_and_its_target_stays() {
    let room = room();
    let dir = room.file("main.ratoon");
    let blobs: Vec<PathBuf> = fs::read_dir(dir.join("blobs"))
        .unwrap()
        .flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect();
    let stray = dir.join("blobs/ab");
    fs::create_dir_all(&stray).unwrap();
    symlink(room.file("outside/precious"), stray.join("ab".repeat(32))).unwrap();
    symlink(room.file("outside"), dir.join("tmp/link")).unwrap();
    let gc = output_of(&["gc", dir.to_str().unwrap()]);
    assert_eq!(gc.status.code(), Some(0), "{}", String::from_utf8_lossy(&gc.stderr));
    nothing_outside_has_changed(&room, "a stray blob");
    assert!(!dir.join("tmp/link").is_symlink(), "entries of tmp are removed; of a link, the link itself");
    fs::remove_file(stray.join("ab".repeat(32))).unwrap();
    assert!(!blobs.is_empty());
    for blob in blobs {
        fs::remove_file(&blob).unwrap();
        symlink(room.file("outside/precious"), &blob).unwrap();
    }
    let check = output_of(&["check", dir.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&check.stdout) + String::from_utf8_lossy(&check.stderr);
    assert!(check.status.code() == Some(1) && said.contains("it is a symbolic link"), "{said}");
    nothing_outside_has_changed(&room, "all blobs");
}

#[test]
fn a_server_starts_beside_trapped_notebooks_and_reports_their_problems() {
    let room = room();
    for (number, (place, trap, _)) in TRAPS.iter().enumerate() {
        trapped(&room, &format!("n{number}"), place, *trap);
    }
    // An interrupted removal leaves an entry with a name like this. The entry may be a link.
    symlink(room.file("outside"), room.file(".ratoon-going-0")).unwrap();
    let server = TestServer::in_dir(room.path());
    let why = |answer: &Answer| answer.json()["error"]["why"].as_str().unwrap_or_default().to_owned();
    for (number, (place, _, told)) in TRAPS.iter().enumerate() {
        let path = format!("/api/notebooks/n{number}");
        let wish = json!({"to": format!("copy{number}")}).to_string();
        let asked = [
            Request::get(&path),
            Request::post(&format!("{path}/duplicate"), &wish),
            Request::post(&format!("{path}/rename"), &wish),
        ];
        for request in asked {
            let answer = server.owner(request);
            assert!(answer.status >= 400 && why(&answer).contains(told), "{place}: {answer:?}");
        }
        nothing_outside_has_changed(&room, place);
        if !place.starts_with("lock") {
            assert_eq!(server.owner(Request::new("DELETE", &path)).status, 204, "{place}");
            assert!(!room.file(&format!("n{number}.ratoon")).exists(), "{place}");
            nothing_outside_has_changed(&room, place);
        }
    }
}

#[test]
fn deleting_a_notebook_that_is_a_link_deletes_the_link() {
    let room = room();
    copy(&room.file("main.ratoon"), &room.file("elsewhere"));
    symlink(room.file("elsewhere"), room.file("linked.ratoon")).unwrap();
    let server = TestServer::in_dir(room.path());
    for is_open in [false, true] {
        if is_open {
            symlink(room.file("elsewhere"), room.file("linked.ratoon")).unwrap();
            assert_eq!(server.owner(Request::get("/api/notebooks/linked")).status, 200);
        }
        let list = server.owner(Request::get("/api/notebooks")).json();
        assert_eq!(list["notebooks"], json!(["linked", "main"]));
        assert_eq!(server.owner(Request::new("DELETE", "/api/notebooks/linked")).status, 204);
        assert!(!room.file("linked.ratoon").is_symlink());
        assert_eq!(server.owner(Request::get("/api/notebooks/linked")).status, 404);
        assert!(room.file("elsewhere/notebook.db").is_file(), "the link's target is unchanged");
    }
}

/// Returns the paths below a directory, with the contents of files.
fn contents(dir: &Path) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        }
        all.push((path.clone(), fs::read_to_string(&path).unwrap_or_default()));
    }
    all.sort();
    all
}

#[test]
fn no_notebook_is_created_in_an_existing_directory() {
    let room = Room::new();
    let kept = room.file("kept");
    fs::create_dir(&kept).unwrap();
    for name in ["empty", "mine", "like"] {
        fs::create_dir(room.file(name)).unwrap();
        symlink(room.file(name), kept.join(format!("to-{name}.ratoon"))).unwrap();
        fs::create_dir(kept.join(format!("{name}.ratoon"))).unwrap();
    }
    let likes = [room.file("like"), kept.join("like.ratoon")];
    for dir in [room.file("mine"), kept.join("mine.ratoon")] {
        fs::write(dir.join("mine.txt"), "mine").unwrap();
    }
    for dir in &likes {
        // A file `lock` that belongs to another program.
        fs::write(dir.join("lock"), "1234").unwrap();
        fs::create_dir_all(dir.join("tmp")).unwrap();
        fs::write(dir.join("tmp/mine.txt"), "mine").unwrap();
    }
    let server = TestServer::in_dir(&kept);
    let others = |room: &Room| -> Vec<(PathBuf, String)> {
        let is_main =
            |path: &Path| path.ends_with(".ratoon-trash") || path.starts_with(kept.join("main.ratoon"));
        contents(room.path()).into_iter().filter(|(path, _)| !is_main(path)).collect()
    };
    let before = others(&room);
    for name in ["empty", "mine", "to-empty", "to-mine", "like", "to-like"] {
        let own = format!("/api/notebooks/{name}");
        for request in [Request::get(&own), Request::get(&format!("{own}/states/initial/document"))] {
            let answer = server.owner(request);
            assert_eq!(
                (answer.status, answer.error_code().as_str()),
                (409, "conflict"),
                "{name}: {answer:?}"
            );
            assert!(answer.text().contains("there is no notebook.db in it"), "{name}: {answer:?}");
        }
        let copied = server.owner(Request::post(&format!("{own}/duplicate"), r#"{"to":"copy"}"#));
        assert!(copied.status == 409, "{name}: {copied:?}");
        let dir = kept.join(format!("{name}.ratoon"));
        if matches!(name, "empty" | "mine") {
            assert_eq!(server.owner(Request::new("DELETE", &own)).status, 409, "{name}");
        }
        for command in ["check", "gc", "export"] {
            assert_eq!(
                output_of(&[command, dir.to_str().unwrap()]).status.code(),
                Some(1),
                "{command} {name}"
            );
        }
    }
    assert_eq!(server.owner(Request::get("/api/notebooks")).status, 200);
    assert_eq!(server.owner(Request::get("/")).status, 200);
    assert_eq!(others(&room), before);
    // If there is no directory for the name, a new notebook is made.
    let make =
        |name: &str| server.owner(Request::post("/api/notebooks", &json!({"name": name}).to_string())).status;
    assert_eq!((make("new"), make("mine"), make("to-empty")), (200, 409, 409));
}

#[test]
fn a_directory_that_an_earlier_version_left_unfinished_becomes_a_notebook() {
    let room = Room::new();
    for (name, has_draft) in [("early", false), ("late", true)] {
        let dir = room.file(&format!("{name}.ratoon"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("lock"), "123").unwrap();
        if has_draft {
            fs::create_dir(dir.join("blobs")).unwrap();
            fs::create_dir(dir.join("tmp")).unwrap();
            fs::write(dir.join("tmp/notebook.db"), "half").unwrap();
            fs::write(dir.join("tmp/notebook.db-wal"), "").unwrap();
        }
    }
    let server = TestServer::in_dir(room.path());
    for name in ["early", "late"] {
        let answer = server.owner(Request::get(&format!("/api/notebooks/{name}")));
        assert_eq!(answer.json()["states"].as_array().map(Vec::len), Some(1), "{answer:?}");
    }
}
