//! Tests that list, rename, copy and delete notebooks, both open and closed ones.

use crate::cells::Room;
use crate::request::{Answer, Request};
use crate::server::{TestServer, until};
use crate::wire::Wire;
use serde_json::{Value, json};

fn make(server: &TestServer, name: &str) {
    assert_eq!(server.owner(Request::post("/api/notebooks", &json!({"name": name}).to_string())).status, 200);
}

fn about(server: &TestServer, name: &str) -> Value {
    let all = server.owner(Request::get("/api/notebooks")).json();
    all["about"].as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap_or_default()
}

fn names(server: &TestServer) -> Vec<String> {
    let all = server.owner(Request::get("/api/notebooks")).json();
    all["notebooks"].as_array().unwrap().iter().map(|n| n.as_str().unwrap().to_owned()).collect()
}

fn to(server: &TestServer, deed: &str, from: &str, wish: Value) -> Answer {
    server.owner(Request::post(&format!("/api/notebooks/{from}/{deed}"), &wish.to_string()))
}

fn delete(server: &TestServer, name: &str) -> Answer {
    server.owner(Request::new("DELETE", &format!("/api/notebooks/{name}")))
}

fn run(server: &TestServer, name: &str, exec_id: &str, code: &str) -> Value {
    let wish = json!({"do": "run", "exec_id": exec_id, "code": code, "on": {"state": "initial"}});
    server.owner(Request::post(&format!("/api/notebooks/{name}/commands"), &wish.to_string())).json()
}

fn link(server: &TestServer, name: &str) -> String {
    let wish = json!({"scope": "view", "notebook": name}).to_string();
    server.owner(Request::post("/api/links", &wish)).json()["token"].as_str().unwrap().to_owned()
}

fn why(answer: &Answer) -> String {
    answer.json()["error"]["why"].as_str().unwrap().to_owned()
}

/// Starts a run that does not end on its own.
fn busy(server: &TestServer, name: &str) {
    let mut wire = Wire::open(server.address);
    let wish = json!({
        "do": "run", "exec_id": "busy", "code": "import time; time.sleep(60)", "on": {"state": "initial"},
    });
    let request = Request::post(&format!("/api/notebooks/{name}/commands"), &wish.to_string());
    wire.write(&request.bearer(crate::server::TOKEN).bytes(&server.host()));
    until("it runs", || about(server, name)["running"] == 1);
}

#[test]
fn the_list_of_notebooks_describes_each_notebook() {
    let room = Room::new();
    let mut server = TestServer::in_dir(room.path());
    make(&server, "other");
    run(&server, "other", "a", "x = 1");
    let other = about(&server, "other");
    assert_eq!(
        (&other["states"], &other["is_open"], &other["is_start"]),
        (&json!(1), &json!(true), &json!(false))
    );
    assert!(
        other["bytes"].as_u64().unwrap() > 4096 && other["last_used"].as_f64().unwrap() > 1.7e12,
        "{other}"
    );
    assert_eq!(about(&server, "main")["is_start"], true);
    server.restart();
    let other = about(&server, "other");
    assert_eq!(
        (&other["states"], &other["is_open"], &other["running"]),
        (&json!(1), &json!(false), &json!(0))
    );
    let token = link(&server, "other");
    let seen = server.send(Request::get("/api/notebooks").bearer(&token)).json();
    assert_eq!(
        seen["about"].as_array().unwrap().len(),
        1,
        "a guest sees only the notebook of their link: {seen}"
    );
}

#[test]
fn renaming_a_notebook_keeps_its_links_and_notifies_its_pages() {
    let room = Room::new();
    let mut server = TestServer::in_dir(room.path());
    make(&server, "old");
    let ran = run(&server, "old", "a", "x = 1");
    let token = link(&server, "old");
    let mut page = Wire::open(server.address);
    let handshake = Wire::handshake("/ws/old").bearer(crate::server::TOKEN);
    assert_eq!(page.ask(&handshake.bytes(&server.host())).status, 101);
    assert_eq!(to(&server, "rename", "old", json!({"to": "new one"})).json(), json!({"name": "new one"}));
    assert_eq!(page.closing(), Some(4301));
    assert_eq!(names(&server), ["main", "new one"]);
    let at = |name: &str| server.send(Request::get(&format!("/api/notebooks/{name}")).bearer(&token)).status;
    assert_eq!((at("new%20one"), at("old")), (200, 403));
    let snapshot = server.owner(Request::get("/api/notebooks/new%20one")).json();
    assert_eq!((&snapshot["name"], &snapshot["states"][1]["id"]), (&json!("new one"), &ran["state"]));
    assert_eq!(server.owner(Request::get("/api/notebooks/old")).status, 404);
    server.restart();
    let by_link = server.send(Request::get("/api/notebooks/new%20one").bearer(&token));
    assert_eq!(by_link.status, 200, "the link works after a restart, under the new name");
    // The old name is free now. The link does not open a new notebook with this name.
    make(&server, "old");
    assert_eq!(server.send(Request::get("/api/notebooks/old").bearer(&token)).status, 403);
    // A notebook that is not open can also be renamed.
    server.restart();
    assert_eq!(to(&server, "rename", "new%20one", json!({"to": "third"})).status, 200);
    assert_eq!(server.send(Request::get("/api/notebooks/third").bearer(&token)).status, 200);
    let restored = json!({
        "do": "run", "exec_id": "z", "code": "print(x)", "on": {"state": ran["state"]}, "replay": true,
    });
    let reply = server.owner(Request::post("/api/notebooks/third/commands", &restored.to_string())).json();
    assert_eq!(reply["status"], "ok", "its states are restored: {reply}");
}

#[test]
fn a_copy_has_everything_but_links_and_tasks_while_cells_run() {
    let room = Room::new();
    let mut server = TestServer::in_dir(room.path());
    let token = link(&server, "main");
    let kept = Request::post("/api/tasks/t/checkpoints", r#"{"values": {"secret": "s3cret-of-a-task"}}"#);
    assert!(server.owner(kept).status < 300);
    let ran = server.run("initial", "x = 41\nprint('y' * 300_000)");
    assert_eq!(
        server.owner(Request::post(&format!("/api/states/{}/checkpoint", ran.state()), "{}")).status,
        200
    );
    busy(&server, "main");
    assert_eq!(to(&server, "duplicate", "main", json!({"to": "copy"})).status, 201);
    assert_eq!(about(&server, "main")["running"], 1, "the cell still runs");
    assert_eq!(names(&server), ["copy", "main"]);
    assert_eq!(server.send(Request::get("/api/notebooks/copy").bearer(&token)).status, 403);
    let bytes = std::fs::read(room.file("copy.ratoon/notebook.db")).unwrap();
    assert!(!bytes.windows(6).any(|w| w == b"s3cret"), "values of tasks are not left in free pages, either");
    let at = |name: &str| format!("/api/notebooks/{name}/commands");
    let look = json!({"do": "run", "exec_id": "c", "code": "print(x + 1)", "on": {"state": ran.state()}})
        .to_string();
    assert_eq!(server.owner(Request::post(&at("copy"), &look)).json()["status"], "ok");
    let snapshot = server.owner(Request::get("/api/notebooks/copy")).json();
    let run = snapshot["runs"].as_array().unwrap().iter().find(|r| r["exec_id"] == "c").unwrap();
    assert_eq!(run["outputs"][0]["text"], "42\n");
    let of = |name: &str, exec: &str| {
        let snapshot = server.owner(Request::get(&format!("/api/notebooks/{name}"))).json();
        snapshot["runs"]
            .as_array()
            .unwrap()
            .iter()
            .find(|r| r["exec_id"] == exec)
            .map(|r| r["status"].clone())
    };
    assert_eq!(of("copy", "busy"), Some(json!("interrupted")), "the cell does not run in the copy");
    assert_eq!(of("main", "c"), None);
    // The copies are complete and independent of the original. A notebook that is not open can also
    // be copied.
    server.restart();
    assert_eq!(to(&server, "duplicate", "copy", json!({"to": "third"})).status, 201);
    assert_eq!(delete(&server, "copy").status, 204);
    let ran = crate::server::output_of(&["check", room.file("third.ratoon").to_str().unwrap()]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}

#[test]
fn deleting_a_notebook_disconnects_its_pages_and_guests() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    make(&server, "other");
    let token = link(&server, "other");
    let mut page = Wire::open(server.address);
    let handshake = Wire::handshake("/ws/other").bearer(crate::server::TOKEN);
    assert_eq!(page.ask(&handshake.bytes(&server.host())).status, 101);
    busy(&server, "other");
    let refused = delete(&server, "other");
    assert_eq!((refused.status, why(&refused)), (409, "one of its cells is running".into()));
    let renamed = to(&server, "rename", "other", json!({"to": "x"}));
    assert_eq!((renamed.status, why(&renamed)), (409, "one of its cells is running".into()));
    let processes = server.descendants().len();
    assert_eq!(server.owner(Request::new("DELETE", "/api/notebooks/other?stop=true")).status, 204);
    assert_eq!(page.closing(), Some(4404));
    assert_eq!(names(&server), ["main"]);
    assert_eq!(server.send(Request::get("/api/notebooks").bearer(&token)).status, 401);
    assert_eq!(server.owner(Request::get("/api/links")).json()["links"], json!([]));
    until("its processes are gone", || server.descendants().len() < processes);
    let mut left: Vec<_> = std::fs::read_dir(room.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".ratoon-trash", "main.ratoon"]);
    assert_eq!(delete(&server, "other").status, 404);
}

#[test]
fn impossible_changes_of_notebooks_are_refused() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    make(&server, "other");
    for answer in [delete(&server, "main"), to(&server, "rename", "main", json!({"to": "x"}))] {
        assert_eq!((answer.status, why(&answer)), (409, "the server was started with this notebook".into()));
    }
    for deed in ["rename", "duplicate"] {
        let wish = |name: &str| to(&server, deed, "other", json!({"to": name}));
        assert_eq!((wish("main").status, wish("../x").status, wish("").status), (409, 400, 400), "{deed}");
        assert_eq!(wish("other").status, 409);
        assert_eq!(to(&server, deed, "none", json!({"to": "x"})).status, 404);
    }
    std::fs::write(room.file("file.ratoon"), "in the way").unwrap();
    assert_eq!(to(&server, "duplicate", "other", json!({"to": "file"})).status, 409);
    // A notebook that another server has open cannot be changed.
    let second = TestServer::start_with(&["--dir", room.path().to_str().unwrap(), "second"]);
    assert_eq!(delete(&server, "second").status, 409);
    assert_eq!(to(&server, "duplicate", "second", json!({"to": "x"})).status, 409);
    assert_eq!(about(&server, "second")["states"], Value::Null);
    drop(second);
    assert_eq!(delete(&server, "second").status, 204);
    assert_eq!(names(&server), ["main", "other"]);
}

#[test]
fn half_made_directories_of_a_crash_are_removed_at_the_next_start() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    drop(server);
    for name in [".ratoon-coming-1", ".ratoon-going-2", ".ratoon-mine"] {
        std::fs::create_dir_all(room.file(name).join("blobs/00")).unwrap();
    }
    let server = TestServer::in_dir(room.path());
    assert_eq!(names(&server), ["main"]);
    let mut left: Vec<_> = std::fs::read_dir(room.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".ratoon-mine", "main.ratoon"]);
}
