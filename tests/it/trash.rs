//! Tests of the trash. Deleted or reset notebooks can be restored completely, until the trash is
//! too full.

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

/// Returns the parts of a notebook's snapshot that must be equal in a copy.
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
fn a_reset_notebook_can_be_restored_completely_also_after_a_restart() {
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
    assert_eq!(
        (answer.status, answer.json()),
        (200, json!({"status": "ok"})),
        "the answer is that of snapshot-kernel"
    );
    assert_eq!(snapshot(&server, "main")["states"].as_array().unwrap().len(), 1);
    server.restart();
    let all = trash(&server);
    assert_eq!((all.len(), &all[0]["name"], &all[0]["why"]), (1, &json!("main"), &json!("reset")));
    assert_eq!(all[0]["states"], 1, "a failed cell counts as no state: {all:?}");
    let restored = restore(&server, &all[0]);
    assert_eq!((restored.status, restored.json()), (200, json!({"name": "main restored"})));
    assert_eq!(trash(&server), Vec::<Value>::new());
    assert_eq!(essence(&snapshot(&server, "main restored")), before);
    let wish = json!({"do": "run", "exec_id": "new", "code": "print(x + 1)", "on": {"state": ran.state()}});
    assert_eq!(command(&server, "main%20restored", wish).json()["status"], "ok");
    let now = snapshot(&server, "main restored");
    let run = now["runs"].as_array().unwrap().iter().find(|run| run["exec_id"] == "new").unwrap();
    assert_eq!(run["outputs"][0]["text"], "42\n", "its checkpoint is still trusted");
}

#[test]
fn a_deleted_notebook_is_restored_under_its_name_without_its_links() {
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
    assert_eq!(by_link(&server).status, 401, "the link does not work after a restart");
    let now = essence(&snapshot(&server, "other"));
    assert_eq!((&now["states"], &now["runs"]), (&before["states"], &before["runs"]));
    assert_eq!(by_link(&server).status, 401, "the link does not work after the notebook was opened");
}

#[test]
fn the_trash_is_limited_and_only_the_owner_can_empty_it() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    assert_eq!(reset(&server).status, 200);
    assert_eq!(trash(&server), Vec::<Value>::new(), "the trash is empty at first");
    for n in 0..6 {
        server.run("initial", &format!("x = {n}"));
        assert_eq!(reset(&server).status, 200);
    }
    until("only the newest entries of each name are left", || trash(&server).len() == 4);
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
fn old_entries_and_remains_of_crashes_are_removed_at_the_next_start() {
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
    assert_eq!(left, ["2-reset-link", "mine"], "entries that are not Ratoon's stay");
    assert_eq!(trash(&server), Vec::<Value>::new());
}

#[test]
fn a_reset_that_cannot_keep_a_copy_deletes_nothing() {
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
    assert_eq!(server.run(ran.state(), "print(x)").stream("stdout"), "1\n", "the notebook still works");
}

fn restore_deleted(server: &TestServer, id: &str) -> Answer {
    command(server, "main", json!({"do": "restore", "deleted": id}))
}

fn deleted(server: &TestServer) -> Value {
    server.owner(Request::get("/api/notebooks/main/trash")).json()["deleted"].clone()
}

#[test]
fn what_was_deleted_together_is_restored_together_also_after_a_kill() {
    let room = Room::new();
    let mut server = TestServer::in_dir(room.path());
    let first = server.run("initial", "x = 41\nprint('seen')");
    let second = server.run(first.state(), "# the second\nx += 1");
    server.run(second.state(), "1/0");
    server.run("initial", "2/0");
    for state in [first.state(), second.state()] {
        assert_eq!(post(&server, &format!("/api/states/{state}/checkpoint"), json!({})).status, 200);
    }
    let draft = json!({"id": "d", "on": second.state(), "kind": "code", "source": "a draft"});
    assert_eq!(command(&server, "main", json!({"do": "put_draft", "draft": draft})).status, 200);
    let now = snapshot(&server, "main");
    let attempt = now["runs"].as_array().unwrap().iter().find(|run| run["code"] == "2/0").unwrap();
    let attempt = attempt["exec_id"].as_str().unwrap();
    let before = essence(&now);
    let drop = json!({"do": "drop_attempt", "exec_id": attempt});
    assert_eq!(command(&server, "main", drop).status, 200);
    let delete = json!({"do": "delete_state", "state": first.state(), "subtree": true});
    assert_eq!(command(&server, "main", delete).status, 200);
    assert_eq!(server.states(), ["initial"]);
    server.restart();
    assert_eq!(server.states(), ["initial"]);
    let all = deleted(&server);
    let codes = |deletion: usize, list: &str| -> Vec<String> {
        let items = all[deletion][list].as_array().unwrap().iter();
        items.map(|item| item["code"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(all.as_array().unwrap().len(), 2, "{all}");
    assert_eq!(codes(0, "states"), ["x = 41\nprint('seen')", "# the second\nx += 1"], "the newest is first");
    assert_eq!((codes(0, "runs"), codes(1, "runs")), (vec!["1/0".into()], vec!["2/0".to_owned()]));
    for guest in ["view", "run"] {
        let link = post(&server, "/api/links", json!({"scope": guest})).json();
        let of_guest = |request: Request| server.send(request.bearer(link["token"].as_str().unwrap())).status;
        assert_eq!(of_guest(Request::get("/api/notebooks/main/trash")), 403);
        let wish = json!({"do": "restore", "deleted": second.state()}).to_string();
        assert_eq!(of_guest(Request::post("/api/notebooks/main/commands", &wish)), 403);
    }
    assert_eq!(restore_deleted(&server, second.state()).status, 200);
    assert_eq!(restore_deleted(&server, attempt).status, 200);
    assert_eq!(restore_deleted(&server, second.state()).status, 404, "it is back already");
    let sorted = |mut essence: Value| {
        let runs = essence["runs"].as_array_mut().unwrap();
        runs.sort_by_key(|run| run[0].to_string());
        essence
    };
    assert_eq!(sorted(essence(&snapshot(&server, "main"))), sorted(before));
    assert_eq!(server.run(second.state(), "print(x)").text(), "42\n", "its checkpoint was kept");
    let delete = json!({"do": "delete_state", "state": first.state(), "subtree": true});
    assert_eq!(command(&server, "main", delete).status, 200);
    assert_eq!(command(&server, "main", json!({"do": "empty_trash"})).status, 200);
    assert_eq!((deleted(&server), restore_deleted(&server, second.state()).status), (json!([]), 404));
}

/// The ids of the states and the codes of the failed runs of each deletion, newest first.
fn deletions(server: &TestServer) -> Value {
    let of = |one: &Value, list: &str, key: &str| -> Vec<Value> {
        one[list].as_array().unwrap().iter().map(|item| item[key].clone()).collect()
    };
    let all = deleted(server);
    let each = all.as_array().unwrap().iter();
    each.map(|one| json!([of(one, "states", "id"), of(one, "runs", "code")])).collect()
}

fn delete(server: &TestServer, state: &str) {
    assert_eq!(command(server, "main", json!({"do": "delete_state", "state": state})).status, 200);
}

#[test]
fn what_ran_against_a_deleted_state_stays_with_it_after_a_restart() {
    let mut server = TestServer::fresh();
    let first = server.run("initial", "a = 1");
    let second = server.run(first.state(), "b = 1");
    server.run(first.state(), "1/0");
    delete(&server, first.state());
    delete(&server, second.state());
    let before = deletions(&server);
    assert_eq!(before, json!([[[second.state()], []], [[first.state()], ["1/0"]]]));
    server.restart();
    assert_eq!(deletions(&server), before);
}

#[test]
fn a_failed_run_that_was_restored_stays_so_after_a_restart() {
    let mut server = TestServer::fresh();
    let state = server.run("initial", "a = 1");
    let failed = json!({"exec_id": "failed", "state_name": state.state(), "code": "1/0"});
    assert_eq!(post(&server, "/execute", failed).status, 200);
    assert_eq!(command(&server, "main", json!({"do": "drop_attempt", "exec_id": "failed"})).status, 200);
    delete(&server, state.state());
    assert_eq!(restore_deleted(&server, "failed").status, 200);
    let runs = |server: &TestServer| essence(&snapshot(server, "main"))["runs"].clone();
    let before = (runs(&server), deletions(&server));
    assert_eq!(before.1, json!([[[state.state()], []]]));
    assert!(before.0.to_string().contains("1/0"));
    server.restart();
    assert_eq!((runs(&server), deletions(&server)), before);
}

#[test]
fn the_request_of_a_deleted_run_is_refused_and_deletes_nothing_for_good() {
    let server = TestServer::start();
    let request = json!({"exec_id": "run-1", "state_name": "initial", "code": "a = 1"});
    let state = post(&server, "/execute", request.clone()).json()["state_name"].clone();
    let state = state.as_str().unwrap();
    server.run(state, "b = 'hours of work'");
    let all = json!({"do": "delete_state", "state": state, "subtree": true});
    assert_eq!(command(&server, "main", all).status, 200);
    let before = deletions(&server);
    let refused = post(&server, "/execute", request);
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("was deleted"), "{}", refused.text());
    assert_eq!(deletions(&server), before);
}
