//! Tests of the pictures that text cells show: attachments of the notebook, and files in the
//! directory in which cells run.

use crate::cells::Room;
use crate::request::{Answer, Request};
use crate::server::{TestServer, output_of};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n, and whatever follows";

fn attach(server: &TestServer, file: &str, bytes: &[u8]) -> Answer {
    let request = Request::new("POST", &format!("/api/notebooks/main/attachments?file={file}"));
    server.owner(request.header("content-type", "application/octet-stream").body(bytes))
}

fn command(server: &TestServer, command: Value) -> Value {
    server.owner(Request::post("/api/notebooks/main/commands", &command.to_string())).json()
}

/// Puts a text cell at the start of the notebook.
fn write_text(server: &TestServer, id: &str, source: &str) {
    let draft = json!({"id": id, "on": "initial", "kind": "markdown", "source": source});
    let reply = command(server, json!({"do": "put_draft", "draft": draft}));
    assert_ne!(reply["kind"], "refused", "{reply}");
}

fn link(server: &TestServer, scope: &str) -> String {
    let wish = json!({"scope": scope, "notebook": "main"}).to_string();
    server.owner(Request::post("/api/links", &wish)).json()["token"].as_str().unwrap().to_owned()
}

fn document(server: &TestServer, notebook: &str, format: &str) -> String {
    let path = format!("/api/notebooks/{notebook}/states/initial/document?as={format}");
    server.owner(Request::get(&path)).text()
}

fn is_tame(answer: &Answer) {
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("sandbox;") && !policy.contains("allow-scripts"), "{policy}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert!(answer.header("content-disposition").unwrap().starts_with("attachment; "));
}

#[test]
fn an_attached_picture_is_durable_and_part_of_the_notebook() {
    let mut server = TestServer::start();
    let answer = attach(&server, "My%20plot%20(1).png", PNG);
    assert_eq!(answer.status, 201, "{answer:?}");
    let name = answer.json()["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("My-plot--1-") && name.ends_with(".png"), "{name}");
    assert_eq!(attach(&server, "My%20plot%20(1).png", PNG).json()["name"], name.as_str(), "stored once");
    let other = attach(&server, "My%20plot%20(1).png", b"other").json()["name"].clone();
    assert_ne!(other, name.as_str(), "another picture has another name");
    write_text(&server, "t", &format!("# Plot\n\n![plot](attachment:{name})"));
    server.restart();
    let path = format!("/api/notebooks/main/attachments/{name}");
    let shown = server.owner(Request::get(&path));
    assert_eq!((shown.status, shown.header("content-type")), (200, Some("image/png")));
    assert_eq!(shown.body, PNG);
    is_tame(&shown);
    assert_eq!(server.send(Request::get(&path).bearer(&link(&server, "view"))).body, PNG);
    // Exports contain it, and copies of the notebook.
    let file: Value = serde_json::from_str(&document(&server, "main", "ipynb")).unwrap();
    assert_eq!(file["cells"][0]["attachments"][&name]["image/png"].as_str().unwrap().len(), 40);
    assert!(document(&server, "main", "html").contains("src=\"data:image/png;base64,iVBORw0KGgo"));
    let copied = Request::post("/api/notebooks/main/duplicate", &json!({"to": "copy"}).to_string());
    assert_eq!(server.owner(copied).status, 201);
    let of_copy = format!("/api/notebooks/copy/attachments/{name}");
    assert_eq!(server.owner(Request::get(&of_copy)).body, PNG);
    // `gc` removes the picture that no text shows.
    server.signal(nix::sys::signal::Signal::SIGTERM);
    server.wait();
    let count = || fs::read_dir(server.kept().join("attachments")).unwrap().count();
    assert_eq!(count(), 2);
    assert!(output_of(&["gc", server.kept().to_str().unwrap()]).status.success());
    assert_eq!(count(), 1);
    assert!(server.kept().join("attachments").join(&name).exists());
}

#[test]
fn a_large_picture_of_an_imported_file_becomes_an_attachment_and_keeps_its_bytes() {
    let server = TestServer::start();
    let data = "QUJD".repeat(100_000);
    let cell = json!({
        "attachments": {"image.png": {"image/png": data}},
        "cell_type": "markdown", "id": "a", "metadata": {}, "source": ["![large](attachment:image.png)"],
    });
    let file = json!({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).to_string();
    let imported = server.owner(Request::post("/api/notebooks/import?name=theirs", &file));
    assert_eq!(imported.json(), json!({"name": "theirs", "left_out": []}));
    let shown = server.owner(Request::get("/api/notebooks/theirs/attachments/image.png"));
    assert_eq!(shown.body, b"ABC".repeat(100_000));
    assert_eq!(document(&server, "theirs", "ipynb"), file);
    assert!(document(&server, "theirs", "html").contains("src=\"data:image/png;base64,QUJDQUJD"));
}

#[test]
fn attachments_have_limits_and_need_the_scope_run() {
    let server = TestServer::start();
    for (file, bytes, status) in [
        ("a.html", PNG, 400),
        ("png", PNG, 400),
        ("", PNG, 400),
        ("a.png", &b""[..], 400),
        ("a.png", &vec![7; 10 * 1024 * 1024 + 1], 413),
    ] {
        assert_eq!(attach(&server, file, bytes).status, status, "{file}");
    }
    let by = |scope: &str| {
        let request = Request::new("POST", "/api/notebooks/main/attachments?file=a.svg");
        let request = request.header("content-type", "application/octet-stream").body("<svg/>");
        server.send(request.bearer(&link(&server, scope))).status
    };
    assert_eq!((by("view"), by("run")), (403, 201));
    for name in ["none.png", "..%2fnotebook.db", "..", ".hidden", "%2e%2e%2flock", "a.html"] {
        let answer = server.owner(Request::get(&format!("/api/notebooks/main/attachments/{name}")));
        assert_eq!(answer.status, 404, "{name}");
    }
    let svg = fs::read_dir(server.kept().join("attachments")).unwrap().next().unwrap().unwrap().file_name();
    let shown =
        server.owner(Request::get(&format!("/api/notebooks/main/attachments/{}", svg.to_str().unwrap())));
    assert_eq!(shown.header("content-type"), Some("image/svg+xml"));
    is_tame(&shown);
    // A foreign notebook may contain anything.
    symlink("/etc/passwd", server.kept().join("attachments/link.png")).unwrap();
    let answer = server.owner(Request::get("/api/notebooks/main/attachments/link.png"));
    assert!(answer.status >= 400 && !answer.text().contains("root:"), "{answer:?}");
}

#[test]
fn a_view_link_shows_only_pictures_that_a_text_cell_shows() {
    let (room, other) = (Room::new(), Room::new());
    fs::create_dir(room.file("plots")).unwrap();
    for name in ["plots/a b.png", "secret.png", "data.csv"] {
        fs::write(room.file(name), PNG).unwrap();
    }
    fs::write(other.file("x.png"), PNG).unwrap();
    symlink(other.file("x.png"), room.file("link.png")).unwrap();
    let server = TestServer::in_dir(room.path());
    let (view, run) = (link(&server, "view"), link(&server, "run"));
    let get = |path: &str, token: &str| {
        server.send(Request::get(&format!("/api/notebooks/main/pictures/{path}")).bearer(token))
    };
    assert_eq!(get("plots/a%20b.png", &view).error_code(), "forbidden");
    write_text(&server, "t", "![plot](plots/a%20b.png) `![no](secret.png)`");
    let shown = get("plots/a%20b.png", &view);
    assert_eq!((shown.status, shown.header("content-type"), &shown.body[..]), (200, Some("image/png"), PNG));
    is_tame(&shown);
    assert_eq!((get("secret.png", &view).status, get("secret.png", &run).status), (403, 200));
    // No other file, also if a text names it.
    write_text(&server, "u", "![](data.csv) ![](link.png) ![](main.ratoon/x.png) ![](none.png)");
    for (path, status) in [
        ("data.csv", 404),
        ("link.png", 400),
        ("main.ratoon/x.png", 400),
        ("none.png", 404),
        ("..%2fx.png", 400),
    ] {
        assert_eq!(get(path, &run).status, status, "{path}");
        assert!(get(path, &view).status >= 400, "{path}");
    }
    // A text above a cell that ran counts, too.
    let prose = json!({"do": "run", "exec_id": "r", "code": "1", "on": {"state": "initial"}});
    let state = command(&server, prose)["state"].clone();
    command(&server, json!({"do": "put_prose", "state": state, "prose": ["<img src='secret.png'>"]}));
    assert_eq!(get("secret.png", &view).status, 200);
    assert!(document(&server, "main", "html").contains("src=\"data:image/png;base64,iVBORw0KGgo"));
}
