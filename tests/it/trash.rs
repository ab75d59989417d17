//! The trash: deleted or reset notebooks can be restored completely, until the trash is too full.

use crate::cells::Room;
use crate::request::{Answer, Request};
use crate::server::{TestServer, until};
use serde_json::{Value, json};

fn post(server: &TestServer, path: &str, body: Value) -> Answer {
    server.owner(Request::post(path, &body.to_string()))
}

fn command(server: &TestServer, name: &str, wish: Value) -> Answer {
    post(server, &format!("/api/notebooks/{name}/commands"), wish)
}

fn trash(server: &TestServer) -> Vec<Value> {
    let all = server.owner(Request::get("/api/trash")).json();
    all["trash"].as_array().unwrap().clone()
}

fn snapshot(server: &TestServer, name: &str) -> Value {
    server.owner(Request::get(&format!("/api/notebooks/{}", name.replace(' ', "%20")))).json()
}

fn restore(server: &TestServer, entry: &Value) -> Answer {
    let id = entry["id"].as_str().unwrap().replace(' ', "%20");
    post(server, &format!("/api/trash/{id}/restore"), json!({}))
}

fn reset(server: &TestServer) -> Answer {
    post(server, "/reset", json!({}))
}

/// The parts of a notebook's snapshot that must be equal in a copy.
fn essence(snapshot: &Value) -> Value {
    let of = |list: &str, keys: &[&str]| -> Vec<Value> {
        let all = snapshot[list].as_array().unwrap().iter();
        all.map(|one| keys.iter().map(|key| one[*key].clone()).collect()).collect()
    };
    json!({
        "states": of("states", &["id", "parent", "exec_id", "label", "name"]),
        "checkpoints": snapshot["states"].as_array().unwrap().iter()
            .map(|state| state["checkpoint"]["checkpoint_id"].clone()).collect::<Vec<_>>(),
        "runs": of("runs", &["exec_id", "code", "status", "outputs"]),
        "drafts": of("drafts", &["id", "on", "source"]),
    })
}

fn make(server: &TestServer, name: &str) {
    assert_eq!(post(server, "/api/notebooks", json!({"name": name})).status, 200);
}

#[test]
fn what_a_reset_forgets_comes_back_whole_also_after_a_restart() {
    let room = Room::new();
    let mut server = TestServer::in_dir(room.path());
    let ran = server.run("initial", "x = 41\nprint('seen')");
    let saved = post(&server, &format!("/api/states/{}/checkpoint", ran.state()), json!({}));
    assert_eq!(saved.status, 200);
    server.run(ran.state(), "1/0");
    let draft = json!({"id": "d", "on": ran.state(), "kind": "code", "source": "a draft"});
    assert_eq!(command(&server, "main", json!({"do": "put_draft", "draft": draft})).status, 200);
    let before = essence(&snapshot(&server, "main"));
    let answer = reset(&server);
    assert_eq!((answer.status, answer.json()), (200, json!({"status": "ok"})), "its answer is as ever");
    assert_eq!(snapshot(&server, "main")["states"].as_array().unwrap().len(), 1);
    server.restart();
    let all = trash(&server);
    assert_eq!((all.len(), &all[0]["name"], &all[0]["why"]), (1, &json!("main"), &json!("reset")));
    assert_eq!(all[0]["states"], 1, "a cell that failed left none: {all:?}");
    let restored = restore(&server, &all[0]);
    assert_eq!((restored.status, restored.json()), (200, json!({"name": "main restored"})));
    assert_eq!(trash(&server), Vec::<Value>::new());
    assert_eq!(essence(&snapshot(&server, "main restored")), before);
    let wish = json!({"do": "run", "exec_id": "new", "code": "print(x + 1)", "on": {"state": ran.state()}});
    assert_eq!(command(&server, "main%20restored", wish).json()["status"], "ok");
    let now = snapshot(&server, "main restored");
    let run = now["runs"].as_array().unwrap().iter().find(|run| run["exec_id"] == "new").unwrap();
    assert_eq!(run["outputs"][0]["text"], "42\n", "its checkpoint is trusted as before");
}

#[test]
fn a_deleted_notebook_comes_back_under_its_name_without_its_links() {
    let room = Room::new();
    let mut server = TestServer::in_dir(room.path());
    make(&server, "other");
    let wish = json!({"do": "run", "exec_id": "a", "code": "print('kept')", "on": {"state": "initial"}});
    assert_eq!(command(&server, "other", wish).json()["status"], "ok");
    let before = essence(&snapshot(&server, "other"));
    let link = post(&server, "/api/links", json!({"scope": "view", "notebook": "other"})).json();
    let token = link["token"].as_str().unwrap().to_owned();
    assert_eq!(server.owner(Request::new("DELETE", "/api/notebooks/other")).status, 204);
    let all = trash(&server);
    assert_eq!((&all[0]["name"], &all[0]["why"]), (&json!("other"), &json!("deleted")));
    assert_eq!(restore(&server, &all[0]).json(), json!({"name": "other"}));
    let by_link = |server: &TestServer| server.send(Request::get("/api/notebooks/other").bearer(&token));
    assert_eq!(by_link(&server).status, 401);
    server.restart();
    assert_eq!(by_link(&server).status, 401, "nor after a restart");
    let now = essence(&snapshot(&server, "other"));
    assert_eq!((&now["states"], &now["runs"]), (&before["states"], &before["runs"]));
    assert_eq!(by_link(&server).status, 401, "nor once it is open");
}

#[test]
fn the_trash_is_bounded_and_can_be_emptied_by_the_owner_alone() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    assert_eq!(reset(&server).status, 200);
    assert_eq!(trash(&server), Vec::<Value>::new(), "nothing was in it");
    for n in 0..6 {
        server.run("initial", &format!("x = {n}"));
        assert_eq!(reset(&server).status, 200);
    }
    until("the newest of each name stay", || trash(&server).len() == 4);
    let all = trash(&server);
    let id = all[3]["id"].as_str().unwrap();
    for scope in ["view", "run"] {
        let link = post(&server, "/api/links", json!({"scope": scope})).json();
        let guest = |request: Request| server.send(request.bearer(link["token"].as_str().unwrap())).status;
        assert_eq!(guest(Request::get("/api/trash")), 403);
        assert_eq!(guest(Request::post(&format!("/api/trash/{id}/restore"), "{}")), 403);
        assert_eq!(guest(Request::new("DELETE", &format!("/api/trash/{id}"))), 403);
    }
    assert_eq!(server.owner(Request::new("DELETE", &format!("/api/trash/{id}"))).status, 204);
    assert_eq!(server.owner(Request::new("DELETE", &format!("/api/trash/{id}"))).status, 404);
    assert_eq!(trash(&server).len(), 3);
    // An id must not be used as a path.
    for id in ["..%2Fmain.ratoon", "..", "%2E%2E%2F1-reset-x", "main.ratoon"] {
        assert_eq!(server.owner(Request::new("DELETE", &format!("/api/trash/{id}"))).status, 404, "{id}");
        assert_eq!(post(&server, &format!("/api/trash/{id}/restore"), json!({})).status, 404, "{id}");
    }
    assert!(room.file("main.ratoon/notebook.db").is_file());
}

#[test]
fn what_old_entries_and_crashes_left_goes_at_the_next_start() {
    let room = Room::new();
    for name in ["1-reset-old", ".ratoon-going-1", ".ratoon-coming-2", "mine"] {
        std::fs::create_dir_all(room.file(".ratoon-trash").join(name)).unwrap();
    }
    std::os::unix::fs::symlink("/", room.file(".ratoon-trash/2-reset-link")).unwrap();
    let server = TestServer::in_dir(room.path());
    let mut left: Vec<_> = std::fs::read_dir(room.file(".ratoon-trash"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["2-reset-link", "mine"], "what is not ours stays");
    assert_eq!(trash(&server), Vec::<Value>::new());
}

#[test]
fn a_reset_that_can_keep_no_copy_stops_what_runs_and_forgets_nothing() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    std::fs::write(room.file(".ratoon-trash"), "in the way").unwrap();
    let ran = server.run("initial", "x = 1");
    let going = server.begin_with(ran.state(), "import time; time.sleep(600)", json!({"exec_id": "long"}));
    let status = |server: &TestServer| {
        let now = snapshot(server, "main");
        let runs = now["runs"].as_array().unwrap().iter();
        runs.filter(|run| run["exec_id"] == "long").map(|run| run["status"].clone()).next()
    };
    until("it runs", || status(&server) == Some(json!("running")));
    let answer = reset(&server);
    let error = &answer.json()["error"];
    assert_eq!((answer.status, &error["code"]), (507, &json!("disk")), "{error}");
    assert!(error["how"].as_str().unwrap().contains("nothing was deleted"), "{error}");
    assert_eq!(status(&server), Some(json!("interrupted")));
    assert_eq!(snapshot(&server, "main")["states"].as_array().unwrap().len(), 2);
    assert_eq!(going.end().ename(), "KeyboardInterrupt");
    assert_eq!(server.run(ran.state(), "print(x)").stream("stdout"), "1\n", "it goes on");
}
