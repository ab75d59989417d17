//! Tests of tasks: sequences of checkpoints that refer to states or contain plain values.

use crate::cells::Room;
use crate::request::{Answer, Request};
use crate::server::TestServer;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;

impl TestServer {
    /// Sends a POST request with a JSON body and the owner's token.
    pub fn post(&self, path: &str, body: Value) -> Answer {
        self.owner(Request::post(path, &body.to_string()))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.owner(Request::get(path))
    }

    /// Saves a checkpoint of a task and returns it.
    pub fn save_task(&self, task: &str, body: Value) -> Value {
        let answer = self.post(&format!("/api/tasks/{task}/checkpoints"), body);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    }
}

#[test]
fn versions_of_a_task_count_from_one() {
    let server = TestServer::fresh();
    assert_eq!(
        server.get("/api/tasks/t/checkpoints").json(),
        json!({"task_id": "t", "versions": [], "checkpoints": [], "len": 0})
    );
    let first =
        server.save_task("t", json!({"values": {"step": 1}, "token_usage": {"input": 10, "output": 2}}));
    let mut keys: Vec<&str> = first.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["created_at", "metadata", "state", "task_id", "token_usage", "values", "version"]);
    assert_eq!((&first["task_id"], &first["version"]), (&json!("t"), &json!(1)));
    assert_eq!(server.save_task("t", json!({"values": {"step": 2}}))["version"], 2);
    assert_eq!(server.save_task("another", json!({}))["version"], 1);
    assert_eq!(server.save_task("t", json!({"metadata": {"why": "end"}}))["version"], 3);

    let list = server.get("/api/tasks/t/checkpoints").json();
    assert_eq!(
        (&list["versions"], &list["len"], &list["task_id"]),
        (&json!([1, 2, 3]), &json!(3), &json!("t"))
    );
    assert_eq!(list["checkpoints"][0], first, "a saved checkpoint does not change");
    assert_eq!(server.get("/api/tasks/t/checkpoints/1").json(), first);
    assert_eq!(server.get("/api/tasks/t/checkpoints/latest").json(), list["checkpoints"][2]);
    // After a reset, the version numbers continue. No number is used twice.
    server.reset();
    assert_eq!(server.save_task("t", json!({}))["version"], 4);
    // The id of a task can be any visible text.
    assert_eq!(server.save_task("a%2Fb%20%C3%A9", json!({}))["task_id"], "a/b é");
}

#[test]
fn unknown_tasks_and_versions_and_invalid_bodies_are_refused() {
    let server = TestServer::fresh();
    server.save_task("t", json!({}));
    for path in [
        "/api/tasks/none/checkpoints/latest",
        "/api/tasks/none/checkpoints/1",
        "/api/tasks/t/checkpoints/2",
        "/api/tasks/t/checkpoints/0",
        "/api/tasks/t/checkpoints/-1",
        "/api/tasks/t/checkpoints/x",
        "/api/tasks/t/checkpoints/99999999999999999999",
    ] {
        let answer = server.get(path);
        assert_eq!((answer.status, answer.error_code().as_str()), (404, "checkpoint_error"), "{path}");
    }
    let answer = server.post("/api/tasks/t/checkpoints/7/restore", json!({}));
    assert_eq!((answer.status, answer.error_code().as_str()), (404, "checkpoint_error"));
    // An empty task id is refused, both in the path and in the command.
    assert_eq!(server.post("/api/tasks//checkpoints", json!({})).status, 404);
    let save = |fields: Value| server.post("/api/notebooks/main/commands", fields);
    assert_eq!(save(json!({"do": "save_task", "task_id": ""})).json()["code"], "bad_request");
    assert_eq!(save(json!({"do": "save_task", "task_id": "a\u{200b}"})).json()["code"], "bad_request");
    let long = format!("/api/tasks/{}/checkpoints", "x".repeat(129));
    assert_eq!(server.post(&long, json!({})).status, 400);
    let nested = (0..70).fold(json!(1), |inner, _| json!([inner]));
    for (body, status) in [
        (json!({"state": "none"}), 404),
        (json!({"values": []}), 400),
        (json!({"value": {}}), 400),
        (json!({"values": {"deep": nested}}), 400),
        (json!({"metadata": {"long": "x".repeat(1 << 20)}}), 413),
    ] {
        assert_eq!(server.post("/api/tasks/t/checkpoints", body.clone()).status, status, "{body:.60}");
    }
    assert_eq!(server.get("/api/tasks/t/checkpoints").json()["len"], 1);
}

#[test]
fn a_checkpoint_of_a_task_can_be_saved_again_unchanged() {
    let server = TestServer::fresh();
    let values = json!({"text": "é\n\u{0}", "n": [1, 2.5, null, true], "deep": {"a": {"b": []}}});
    let first = server
        .save_task("t", json!({"values": values, "token_usage": {"total": 7}, "metadata": {"model": "m"}}));
    let copy = server.save_task("copy", first.clone());
    assert_eq!((&copy["task_id"], &copy["version"]), (&json!("copy"), &json!(1)));
    for field in ["values", "token_usage", "metadata", "state"] {
        assert_eq!(copy[field], first[field], "{field}");
    }
    assert_eq!(server.save_task("t", copy)["version"], 2);
}

#[test]
fn concurrent_saves_get_different_versions() {
    let server = TestServer::fresh();
    let all: Vec<u64> = std::thread::scope(|scope| {
        let save = |n: usize| {
            let server = &server;
            scope.spawn(move || {
                let one =
                    |i: usize| server.save_task("t", json!({"values": {"n": n, "i": i}}))["version"].as_u64();
                let own: Vec<u64> = (0..4).map(|i| one(i).unwrap()).collect();
                assert!(own.is_sorted(), "{own:?}");
                own
            })
        };
        let threads: Vec<_> = (0..32).map(save).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(all.iter().copied().collect::<BTreeSet<u64>>(), (1..=128).collect());
}

#[test]
fn restoring_values_makes_a_state_with_them_as_variables() {
    let server = TestServer::fresh();
    let values = json!({
        "step": 3, "plan": ["a", {"b": null, "ok": true}], "text": "line\n\"quoted\" \\ \u{0} \u{2028} é",
        "größe": 1.5,
        "not a name": 1, "class": 2, "__builtins__": 3, "x = 1; import os": 4,
    });
    server.save_task("t", json!({"values": values, "token_usage": {"in": 5}, "metadata": {"m": 1}}));
    let restored = server.post("/api/tasks/t/checkpoints/1/restore", json!({}));
    assert_eq!(restored.status, 200, "{restored:?}");
    let restored = restored.json();
    assert_eq!(
        (&restored["values"], &restored["token_usage"], &restored["metadata"]),
        (&values, &json!({"in": 5}), &json!({"m": 1}))
    );
    let state = restored["state_id"].as_str().unwrap();
    assert_eq!(restored["state_name"], state);
    let print = "import json; print(json.dumps([step, plan, text, größe])); print('os' in globals())";
    let printed = server.run(state, print).text();
    let (first, second) = printed.split_once('\n').unwrap();
    let expected = json!([values["step"], values["plan"], values["text"], values["größe"]]);
    assert_eq!(serde_json::from_str::<Value>(first).unwrap(), expected);
    assert_eq!(second, "False\n");
    // Each restore makes a new branch.
    let again = server.post("/api/tasks/t/checkpoints/1/restore", json!({})).json();
    assert_ne!(again["state_id"], restored["state_id"]);
    // A checkpoint without values also makes a branch.
    server.save_task("empty", json!({}));
    let empty = server.post("/api/tasks/empty/checkpoints/1/restore", json!({})).json();
    assert_eq!(server.run(empty["state_id"].as_str().unwrap(), "print(1)").text(), "1\n");
}

#[test]
fn restoring_a_state_returns_it_ready_to_run() {
    let server = TestServer::fresh();
    let named = server.begin_with("initial", "x = [1]", json!({"new_state_name": "mine"})).end();
    assert_eq!(named.state(), "mine");
    let saved = server.save_task("t", json!({"state": "mine", "values": {"x": 2}}));
    let id = saved["state"].as_str().unwrap();
    assert_eq!(id.len(), 32, "names may be given again, ids are not: {id}");
    let child = server.run("mine", "x.append(2)");
    server.save_task("t", json!({"state": child.state()}));
    let restored = server.post("/api/tasks/t/checkpoints/1/restore", json!({})).json();
    assert_eq!((&restored["state_id"], &restored["state_name"]), (&json!(id), &json!("mine")));
    assert_eq!(restored["values"], json!({"x": 2}), "the values are the caller's, independent of the state");
    assert_eq!(server.run(restored["state_id"].as_str().unwrap(), "print(x)").text(), "[1]\n");
    server.owner(Request::new("DELETE", "/states/mine"));
    let gone = server.post("/api/tasks/t/checkpoints/1/restore", json!({}));
    assert_eq!((gone.status, gone.error_code().as_str()), (410, "lost"));
    assert_eq!(server.post("/api/tasks/t/checkpoints/2/restore", json!({})).status, 200);
}

#[test]
fn tasks_and_their_versions_survive_a_kill() {
    let room = Room::new();
    let saved: Vec<Value> = {
        let mut server = TestServer::in_dir(room.path());
        let state = server.run("initial", "x = 41");
        let saved = vec![
            server.save_task("t", json!({"values": {"step": 1}})),
            server.save_task("t", json!({"state": state.state()})),
        ];
        server.signal(Signal::SIGKILL);
        server.wait();
        saved
    };
    let server = TestServer::in_dir(room.path());
    let list = server.get("/api/tasks/t/checkpoints").json();
    assert_eq!(list["checkpoints"], json!(saved));
    assert_eq!(server.save_task("t", json!({}))["version"], 3);
    // If a state was not saved, it is restored only if the request allows a replay.
    let plain = server.post("/api/tasks/t/checkpoints/2/restore", json!({}));
    assert!(matches!(plain.status, 200 | 410), "{plain:?}");
    let restored = server.post("/api/tasks/t/checkpoints/2/restore?replay=true", json!({}));
    assert_eq!(restored.status, 200, "{restored:?}");
    let state = restored.json()["state_id"].as_str().unwrap().to_owned();
    assert_eq!(server.run(&state, "print(x + 1)").text(), "42\n");
}
