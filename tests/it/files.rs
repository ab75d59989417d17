//! Tests of the files in the directory in which cells run: the owner lists, uploads, downloads,
//! renames, deletes and restores them, and so do guests who run cells.

use crate::cells::{Room, unique};
use crate::disk::SmallDisk;
use crate::request::{Answer, Request};
use crate::sandbox;
use crate::server::{TOKEN, TestServer, until};
use crate::wire::Wire;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

fn put(server: &TestServer, path: &str, body: &[u8]) -> Answer {
    let request = Request::new("PUT", &format!("/api/files/{path}"));
    server.owner(request.header("content-type", "application/octet-stream").body(body))
}

fn get(server: &TestServer, path: &str) -> Answer {
    server.owner(Request::get(path))
}

fn names(server: &TestServer, folder: &str) -> Vec<String> {
    let listing = get(server, &format!("/api/folders{folder}")).json();
    let entries = listing["entries"].as_array().unwrap();
    entries.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

fn print_of(server: &TestServer, code: &str) -> String {
    let wish = json!({"exec_id": unique("run"), "state_name": "initial", "code": code});
    let answer = server.owner(Request::post("/execute", &wish.to_string())).json();
    answer["output"][0]["text"].as_str().unwrap_or_default().to_owned()
}

fn post(server: &TestServer, path: &str, body: Value) -> Answer {
    server.owner(Request::post(path, &body.to_string()))
}

fn delete(server: &TestServer, path: &str) -> Answer {
    server.owner(Request::new("DELETE", path))
}

#[test]
fn cells_and_the_files_api_share_one_directory() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    let made = put(&server, "data%20set.csv", b"a,b\n1,2\n");
    assert_eq!((made.status, made.json()), (201, json!({"path": "data set.csv"})));
    assert_eq!(print_of(&server, "print(open('data set.csv').read())"), "a,b\n1,2\n\n");
    print_of(&server, "import os; os.mkdir('out'); open('out/é.txt', 'w').write('x' * 3_000_000)");
    let listing = get(&server, "/api/folders").json();
    assert_eq!(listing["directory"], room.path().to_str().unwrap());
    assert_eq!(print_of(&server, "import os; print(os.getcwd())").trim(), listing["directory"]);
    let kinds: Vec<_> =
        listing["entries"].as_array().unwrap().iter().map(|one| (&one["name"], &one["kind"])).collect();
    let (file, folder, notebook) = (json!("file"), json!("folder"), json!("notebook"));
    assert_eq!(
        kinds,
        [(&json!("data set.csv"), &file), (&json!("main.ratoon"), &notebook), (&json!("out"), &folder),]
    );
    let inner = get(&server, "/api/folders/out").json();
    assert_eq!(inner["entries"][0]["bytes"], 3_000_000);
    assert!(inner["entries"][0]["modified"].as_f64().unwrap() > 1.7e12);
    let answer = get(&server, "/api/files/out/%C3%A9.txt");
    assert_eq!((answer.status, answer.body.len()), (200, 3_000_000));
    assert!(answer.body.iter().all(|byte| *byte == b'x'));
}

#[test]
fn a_downloaded_file_cannot_run_in_our_origin() {
    let room = Room::new();
    for name in ["a.html", "a.svg", "a.png", "a.pdf", "a.js", "a"] {
        fs::write(room.file(name), "<script>alert(1)</script>").unwrap();
    }
    let server = TestServer::in_dir(room.path());
    let types = [
        ("a.html", "application/octet-stream"),
        ("a.svg", "image/svg+xml"),
        ("a.png", "image/png"),
        ("a.pdf", "application/octet-stream"),
        ("a.js", "application/octet-stream"),
        ("a", "application/octet-stream"),
    ];
    for (name, media_type) in types {
        let answer = get(&server, &format!("/api/files/{name}"));
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(media_type)), "{name}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("sandbox;") && policy.contains("default-src 'none'"), "{policy}");
        assert!(!policy.contains("allow-scripts"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let disposition = answer.header("content-disposition").unwrap();
        assert!(disposition.starts_with("attachment; "), "{disposition}");
    }
}

#[test]
fn files_are_renamed_deleted_and_restored() {
    let room = Room::new();
    let mut server = TestServer::in_dir(room.path());
    put(&server, "a", b"a");
    put(&server, "b", b"b");
    assert_eq!(post(&server, "/api/folders/data", json!({})).status, 201);
    assert_eq!(post(&server, "/api/folders/data", json!({})).error_code(), "conflict");
    assert_eq!(post(&server, "/api/files/a", json!({"to": "b"})).error_code(), "conflict");
    assert_eq!(post(&server, "/api/files/a", json!({"to": "data/a"})).json(), json!({"path": "data/a"}));
    assert_eq!(names(&server, "/data"), ["a"]);
    assert_eq!(put(&server, "b", b"other").error_code(), "conflict");
    let replaced = put(&server, "b?replace=true", b"other");
    assert_eq!((replaced.status, fs::read(room.file("b")).unwrap()), (200, b"other".to_vec()));
    let id = delete(&server, "/api/files/data").json()["id"].as_str().unwrap().to_owned();
    assert_eq!(names(&server, ""), ["b", "main.ratoon"]);
    server.restart();
    let deleted = get(&server, "/api/deleted-files").json();
    let paths: Vec<_> = deleted["deleted"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(paths, ["data", "b"], "newest first, also after a kill");
    let restored = post(&server, &format!("/api/deleted-files/{id}/restore"), json!({}));
    assert_eq!(restored.json(), json!({"path": "data"}));
    assert_eq!(fs::read(room.file("data/a")).unwrap(), b"a");
    assert_eq!(post(&server, &format!("/api/deleted-files/{id}/restore"), json!({})).status, 404);
    let left = deleted["deleted"][1]["id"].as_str().unwrap();
    assert_eq!(delete(&server, &format!("/api/deleted-files/{left}")).status, 204);
    assert_eq!(get(&server, "/api/deleted-files").json(), json!({"deleted": []}));
    // The trash of the notebooks is beside it and does not list files.
    assert_eq!(get(&server, "/api/trash").json(), json!({"trash": []}));
}

#[test]
fn names_that_lead_elsewhere_or_mislead_are_refused() {
    let (room, other) = (Room::new(), Room::new());
    fs::write(other.file("secret"), "s").unwrap();
    symlink(other.path(), room.file("out")).unwrap();
    fs::write(room.file(".env"), "TOKEN").unwrap();
    let server = TestServer::in_dir(room.path());
    for path in [
        "..%2fsecret",
        "%2e%2e/secret",
        "%2fetc/passwd",
        "out/secret",
        "out",
        ".env",
        "main.ratoon",
        "main.ratoon/notebook.db",
        ".ratoon-trash/files",
        "a%00",
        "..",
        "a//b",
    ] {
        let refused = |answer: Answer| {
            assert!(matches!(answer.status, 400 | 404), "{path}: {answer:?}");
            assert!(!answer.text().contains("root:") && !answer.text().contains("TOKEN"), "{path}");
        };
        refused(get(&server, &format!("/api/files/{path}")));
        if path != "out" {
            refused(put(&server, &format!("{path}?replace=true"), b"x"));
            refused(delete(&server, &format!("/api/files/{path}")));
            refused(post(&server, &format!("/api/files/{path}"), json!({"to": "mine"})));
        }
        refused(get(&server, &format!("/api/folders/{path}")));
    }
    put(&server, "a", b"a");
    for to in ["../b", "/b", "", ".b", "b.ratoon", "a\u{202e}b", " b", "e\u{301}", "b\nc", "main.ratoon/b"] {
        assert_eq!(post(&server, "/api/files/a", json!({"to": to})).error_code(), "bad_request", "{to:?}");
    }
    let long = "x".repeat(256);
    assert_eq!(put(&server, &long, b"x").error_code(), "bad_request");
    assert_eq!(names(&server, ""), ["a", "main.ratoon", "out"]);
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(room.file(".env")).unwrap(), "TOKEN");
    // A cell may give a file any name: it can be deleted, and nothing follows the link.
    assert_eq!(delete(&server, "/api/files/out").status, 200);
    assert!(other.file("secret").exists());
}

fn link(server: &TestServer, scope: &str) -> String {
    let wish = json!({"scope": scope, "notebook": "main"});
    post(server, "/api/links", wish).json()["token"].as_str().unwrap().to_owned()
}

/// Sends a request with a body where the method has one.
fn send(server: &TestServer, method: &str, path: &str, body: &str, token: &str) -> Answer {
    let request = Request::new(method, path).bearer(token);
    server.send(match method {
        "PUT" => request.header("content-type", "application/octet-stream").body(body.as_bytes()),
        "POST" => request.header("content-type", "application/json").body(body.as_bytes()),
        _ => request,
    })
}

/// All calls, in an order in which each finds what it needs. `ID` is that of the deletion.
const CALLS: [(&str, &str, &str, u16); 11] = [
    ("GET", "/api/folders", "", 200),
    ("POST", "/api/folders/x", "{}", 201),
    ("GET", "/api/folders/x", "", 200),
    ("GET", "/api/files/a.png", "", 200),
    ("PUT", "/api/files/x/b", "b", 201),
    ("PUT", "/api/files/x/b?replace=true", "c", 200),
    ("POST", "/api/files/x/b", r#"{"to": "x/d"}"#, 200),
    ("DELETE", "/api/files/x", "", 200),
    ("POST", "/api/deleted-files/ID/restore", "{}", 200),
    ("GET", "/api/deleted-files", "", 200),
    ("DELETE", "/api/deleted-files/ID", "", 204),
];

fn statuses(server: &TestServer, token: &str) -> Vec<u16> {
    let mut deleted = "1-x".to_owned();
    let calls = CALLS.iter().map(|(method, path, body, _)| {
        let answer = send(server, method, &path.replace("ID", &deleted), body, token);
        if answer.status == 200 && *method == "DELETE" {
            answer.json()["id"].as_str().unwrap().clone_into(&mut deleted);
        }
        answer.status
    });
    calls.collect()
}

#[test]
fn a_view_link_reaches_no_files_and_a_run_link_those_that_its_cells_reach() {
    let room = Room::new();
    fs::write(room.file("a.png"), "x").unwrap();
    let server = TestServer::in_dir(room.path());
    assert_eq!(statuses(&server, &link(&server, "view")), [403; CALLS.len()]);
    assert_eq!(names(&server, ""), ["a.png", "main.ratoon"]);
    // A guest restores what the guest deleted, and neither lists nor empties the trash.
    let mut expected = CALLS.map(|(_, _, _, status)| status);
    expected[CALLS.len() - 2..].fill(403);
    assert_eq!(statuses(&server, &link(&server, "run")), expected);
    assert_eq!(fs::read_to_string(room.file("x/d")).unwrap(), "c");
    fs::remove_dir_all(room.file("x")).unwrap();
    // The restored folder is not in the trash any more.
    let mut expected = CALLS.map(|(_, _, _, status)| status);
    expected[CALLS.len() - 1] = 404;
    assert_eq!(statuses(&server, TOKEN), expected);
}

#[test]
fn a_run_link_does_not_leave_the_directory_and_sees_no_other_notebooks() {
    let (room, other) = (Room::new(), Room::new());
    fs::write(other.file("secret"), "s").unwrap();
    symlink(other.path(), room.file("out")).unwrap();
    symlink(other.file("secret"), room.file("one")).unwrap();
    fs::write(room.file(".env"), "TOKEN").unwrap();
    let server = TestServer::in_dir(room.path());
    assert_eq!(post(&server, "/api/notebooks", json!({"name": "private"})).status, 200);
    fs::create_dir_all(room.file("sub/old.ratoon")).unwrap();
    let run = link(&server, "run");
    let listed = |path: &str| {
        let listing = send(&server, "GET", path, "", &run).json();
        let entries = listing["entries"].as_array().unwrap();
        entries.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed("/api/folders"), ["main.ratoon", "one", "out", "sub"]);
    assert_eq!(listed("/api/folders/sub"), [""; 0]);
    assert_eq!(names(&server, ""), ["main.ratoon", "one", "out", "private.ratoon", "sub"]);
    for path in ["out/secret", "one", "..%2fsecret", ".env", ".ratoon-trash/x", "private.ratoon/notebook.db"]
    {
        for (method, body) in [("GET", ""), ("PUT", "x"), ("POST", r#"{"to": "y"}"#), ("DELETE", "")] {
            let answer = send(&server, method, &format!("/api/files/{path}"), body, &run);
            let may_be_removed = path == "one" && method != "GET" && method != "PUT";
            assert!(
                may_be_removed || matches!(answer.status, 400 | 404 | 409),
                "{method} {path}: {answer:?}"
            );
        }
    }
    assert_eq!(fs::read_to_string(other.file("secret")).unwrap(), "s");
    assert_eq!(fs::read_to_string(room.file(".env")).unwrap(), "TOKEN");
}

#[test]
fn where_cells_may_not_write_a_run_link_only_reads() {
    let room = Room::new();
    for folder in ["data", "data/in"] {
        fs::create_dir_all(room.file(folder)).unwrap();
    }
    fs::write(room.file("a.png"), "x").unwrap();
    let data = room.file("data");
    // A server that is killed would leave the directory for temporary files of its cells.
    let end = |mut server: TestServer| {
        server.signal(nix::sys::signal::Signal::SIGTERM);
        server.wait();
    };
    let Some(server) = sandbox::start(&room, &["--write", data.to_str().unwrap()]) else { return };
    let is_read = |(method, path): (&str, &str)| method == "GET" && !path.contains("deleted");
    let run = statuses(&server, &link(&server, "run"));
    for ((method, path, ..), status) in CALLS.iter().zip(run) {
        assert_eq!(status == 403, !is_read((method, path)), "{method} {path}: {status}");
    }
    assert!(!statuses(&server, TOKEN).contains(&403));
    let may_write = |token: &str| send(&server, "GET", "/api/folders", "", token).json()["may_write"].clone();
    assert_eq!((may_write(&link(&server, "run")), may_write(TOKEN)), (json!(false), json!(true)));
    end(server);
    // Here cells may write, so guests may too.
    let dir = room.file("data/in");
    let server = TestServer::start_with(&["--dir", dir.to_str().unwrap(), "--write", data.to_str().unwrap()]);
    assert_eq!(send(&server, "PUT", "/api/files/b", "b", &link(&server, "run")).status, 201);
    end(server);
}

#[test]
fn an_upload_that_is_cut_off_leaves_nothing() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    let head = Request::new("PUT", "/api/files/big.bin")
        .bearer(crate::server::TOKEN)
        .header("content-type", "application/octet-stream")
        .header("content-length", "8000000")
        .body(vec![7; 4_000_000]);
    let before = server.memory();
    let mut wire = Wire::open(server.address);
    wire.write(&head.bytes(&server.host()));
    let temporary = || {
        let entries = fs::read_dir(room.path()).unwrap().map(|entry| entry.unwrap().file_name());
        entries.filter(|name| name.to_string_lossy().starts_with(".ratoon-upload-")).count()
    };
    until("the upload has begun", || temporary() == 1);
    assert_eq!(names(&server, ""), ["main.ratoon"], "nobody sees half a file");
    drop(wire);
    until("the temporary file is gone", || temporary() == 0);
    assert!(!room.file("big.bin").exists());
    assert!(server.memory() < before + 64_000_000);
}

#[test]
fn an_upload_to_a_full_disk_is_refused_and_leaves_nothing() {
    let Some(disk) = SmallDisk::new(16) else { return };
    let server = TestServer::in_dir(disk.path());
    disk.fill(1_000_000);
    let answer = put(&server, "big.bin", &vec![7; 4_000_000]);
    assert_eq!((answer.status, answer.error_code().as_str()), (507, "disk"));
    assert_eq!(names(&server, ""), ["filler", "main.ratoon"]);
    assert!(!disk.path().join("big.bin").exists());
    disk.clear();
    assert_eq!(put(&server, "big.bin", &vec![7; 4_000_000]).status, 201);
}
