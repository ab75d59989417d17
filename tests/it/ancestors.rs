//! Tests the features that Ratoon has in common with earlier systems. docs/api.md lists these
//! features.

use crate::cells::Room;
use crate::request::Request;
use crate::server::{TestServer, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::path::Path;

/// Kills a server, and starts another one in the same directory.
fn crash(mut server: TestServer, room: &Path, options: &[&str]) -> TestServer {
    server.signal(Signal::SIGKILL);
    server.wait();
    let dir = ["--dir", room.to_str().unwrap()];
    TestServer::start_with(&[&dir[..], options].concat())
}

fn missing(checkpoint: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    checkpoint["missing"].as_array().unwrap().iter().map(|m| (text(&m["name"]), text(&m["reason"]))).collect()
}

// exec-py's pyrepl

#[test]
fn a_checkpoint_can_have_a_label() {
    let server = TestServer::start_with(&["--no-checkpoints"]);
    let named = server.begin_with("initial", "x = 1", json!({"new_state_name": "mine"})).end();
    assert_eq!(server.get("/api/states/mine/checkpoint").status, 404);
    let saved = server.checkpoint(named.state(), json!({"label": "before", "metadata": {"k": [1]}}));
    let about = &saved["checkpoint"];
    assert_eq!((&saved["ok"], &saved["label"]), (&json!(true), &json!("before")));
    assert_eq!(saved["state_id"].as_str().unwrap().len(), 32);
    assert!(saved["bytes"].as_u64() > Some(0) && saved["bytes"] == about["compressed_size_bytes"]);
    assert_eq!(about["metadata"], json!({"k": [1]}));
    assert_eq!(server.get("/api/states/mine/checkpoint").json(), *about);
    let list = server.get("/api/states").json()["states"].clone();
    assert_eq!(list[1]["checkpoint"]["checkpoint_id"], about["checkpoint_id"]);
    // The body of the request is optional. A state that is already saved is not written again.
    let again = server.owner(Request::new("POST", "/api/states/mine/checkpoint"));
    assert_eq!(again.json()["checkpoint"]["checkpoint_id"], about["checkpoint_id"]);
    for (path, body, status) in [
        ("none", json!({}), 404),
        ("mine", json!({"form": "pickle"}), 400),
        ("mine", json!({"label": ""}), 400),
        ("mine", json!({"labels": "x"}), 400),
        ("mine", json!({"metadata": {"x": "y".repeat(1 << 20)}}), 413),
    ] {
        let answer = server.post(&format!("/api/states/{path}/checkpoint"), body.clone());
        assert_eq!(answer.status, status, "{body:.60}");
        assert!(!answer.error_code().is_empty());
    }
}

#[test]
fn a_data_checkpoint_contains_only_values() {
    let server = TestServer::start_with(&["--no-checkpoints"]);
    let code = "import math\ndef f(): pass\nclass C: pass\nx = {'a': [1, (2, 3)], 'b': {4}}\n__dunder__ = 1\n\
        c = C()";
    let state = server.run("initial", code);
    let saved = server.checkpoint(state.state(), json!({"form": "data"}))["checkpoint"].clone();
    assert_eq!((&saved["form"], &saved["entry_count"]), (&json!("data"), &json!(1)));
    assert_eq!(saved["includes_source"], false);
    let names: Vec<String> = missing(&saved).into_iter().map(|(name, _)| name).collect();
    assert!(!names.contains(&"x".to_owned()) && names.contains(&"f".to_owned()), "{names:?}");
    // The id depends only on the content, so equal values have equal ids.
    let other = server.run("initial", &format!("{code}\n"));
    let again = server.checkpoint(other.state(), json!({"form": "data"}))["checkpoint"].clone();
    assert_eq!(again["checkpoint_id"], saved["checkpoint_id"]);
    let different = server.run("initial", &code.replace("{4}", "{5}"));
    let different = server.checkpoint(different.state(), json!({"form": "data"}))["checkpoint"].clone();
    assert_ne!(different["checkpoint_id"], saved["checkpoint_id"]);
}

#[test]
fn every_error_says_what_failed_why_and_what_to_do() {
    let server = TestServer::start();
    server.save_task("t", json!({}));
    for request in [
        Request::get("/nothing"),
        Request::new("PUT", "/states"),
        Request::get("/states/none"),
        Request::get("/api/notebooks/none"),
        Request::get("/api/states/none/checkpoint"),
        Request::get("/api/tasks/t/checkpoints/9"),
        Request::get("/api/notebooks/main/states/none/export"),
        Request::post("/api/states/none/checkpoint", "{}"),
        Request::post("/api/states/none/replay", "{}"),
        Request::post("/api/states/none/pin", r#"{"pinned":true}"#),
        Request::post("/api/states/none/clear_namespace", "{}"),
        Request::post("/api/states/initial/pin", "{}"),
        Request::post("/api/states/initial/label", r#"{"label":"a\u0000"}"#),
        Request::post("/api/states/initial/checkpoint", "[]"),
        Request::post("/api/tasks/t/checkpoints", "no json"),
        Request::new("POST", "/api/notebooks/main/import").header("content-type", "application/octet-stream"),
        Request::new("DELETE", "/api/links/none"),
    ] {
        let answer = server.owner(request.clone());
        assert!(answer.status >= 400 && !answer.error_code().is_empty(), "{request:?}: {answer:?}");
    }
}

// pyrepl2

#[test]
fn sources_and_imports_are_restored() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    let one = server
        .run("initial", "import json as j\nfrom os import path as p\nx = 1\ndef f():\n    return x + 1");
    let two = server.run(one.state(), "class C:\n    def m(self):\n        return f()\nc = C()");
    let saved = server.checkpoint(two.state(), json!({}));
    assert_eq!(saved["checkpoint"]["includes_source"], true);
    let server = crash(server, room.path(), &[]);
    let code = "import inspect\nx = 5\nprint(f(), c.m(), isinstance(c, C), j.dumps([1]), p.join('a', 'b'))\n\
                print(inspect.getsource(f), end='')\nprint(inspect.getsource(C.m), end='')";
    assert_eq!(
        server.run(two.state(), code).text(),
        "6 6 True [1] a/b\ndef f():\n    return x + 1\n    def m(self):\n        return f()\n"
    );
}

#[test]
fn variables_that_cannot_be_saved_are_named_and_a_replay_restores_them() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    let state = server.run("initial", "x = 20\ng = (x + i for i in range(9))\nnext(g)");
    let saved = server.checkpoint(state.state(), json!({}))["checkpoint"].clone();
    let named = missing(&saved);
    assert!(named.len() == 1 && named[0].0 == "g" && !named[0].1.is_empty(), "{named:?}");
    let server = crash(server, room.path(), &[]);
    let ran = server.run(state.state(), "print(x)\nnext(g)");
    assert_eq!((ran.text().as_str(), ran.ename()), ("20\n", "NameError"));
    assert!(ran.evalue().contains("generator") && ran.evalue().contains("Replay"), "{}", ran.evalue());
    let replayed = server.post(&format!("/api/states/{}/replay", state.state()), json!({}));
    assert_eq!(replayed.status, 200, "{replayed:?}");
    assert_eq!(replayed.json()["revival"], json!({"by": "replay"}));
    assert_eq!(server.run(state.state(), "print(next(g))").text(), "21\n");
}

#[test]
fn a_state_that_was_not_saved_is_restored_from_its_code_on_request() {
    let room = Room::new();
    let options = ["--no-checkpoints"];
    let server = TestServer::start_with(&[&["--dir", room.path().to_str().unwrap()], &options[..]].concat());
    let one = server.run("initial", "x = [1]");
    let two = server.run(one.state(), "x.append(2)");
    server.save_task("t", json!({"state": two.state()}));
    let server = crash(server, room.path(), &options);
    assert_eq!(server.get("/api/states").json()["states"][2]["living"], "replay");
    assert_eq!(server.run(two.state(), "x").ename(), "StateLost");
    let restore = |query: &str| server.post(&format!("/api/tasks/t/checkpoints/1/restore{query}"), json!({}));
    let refused = restore("");
    assert_eq!((refused.status, refused.error_code().as_str()), (410, "lost"));
    assert!(refused.text().contains("replay=true"), "{}", refused.text());
    assert_eq!(server.begin_with(one.state(), "print(x)", json!({"replay": true})).end().text(), "[1]\n");
    assert_eq!(restore("?replay=true").json()["state_id"], two.state());
    assert_eq!(server.run(two.state(), "print(x)").text(), "[1, 2]\n");
    assert_eq!(server.post("/api/states/none/replay", json!({})).status, 404);
}

#[test]
fn answers_contain_counts_times_and_sizes() {
    let server = TestServer::start_with(&["--no-checkpoints"]);
    let mut state = "initial".to_owned();
    for n in 0..3 {
        state = server
            .run(&state, &format!("import time; time.sleep(0.02)\nv{n} = 'text ' * 100_000"))
            .state()
            .to_owned();
    }
    let saved = server.checkpoint(&state, json!({}))["checkpoint"].clone();
    let fields = [
        "checkpoint_id",
        "session_id",
        "state_id",
        "form",
        "created_at",
        "label",
        "metadata",
        "namespace_size_bytes",
        "compressed_size_bytes",
        "new_bytes",
        "compression_ratio",
        "entry_count",
        "includes_source",
        "parent_checkpoint",
        "execution_count",
        "total_execution_time_ms",
        "missing",
        "changed",
        "not_compared",
        "is_trusted",
        "python",
    ];
    let mut own: Vec<&str> = saved.as_object().unwrap().keys().map(String::as_str).collect();
    own.sort_unstable();
    let mut expected = fields.to_vec();
    expected.sort_unstable();
    assert_eq!(own, expected);
    assert_eq!((&saved["execution_count"], &saved["state_id"]), (&json!(3), &json!(state)));
    assert!(saved["total_execution_time_ms"].as_f64() >= Some(60.0), "{saved}");
    assert!(saved["entry_count"].as_u64() >= Some(3), "three values, and perhaps a module");
    let (whole, packed) =
        (saved["namespace_size_bytes"].as_f64().unwrap(), saved["compressed_size_bytes"].as_f64().unwrap());
    assert!(whole > 1_500_000.0 && packed < whole / 10.0, "{saved}");
    assert!((saved["compression_ratio"].as_f64().unwrap() - whole / packed).abs() < 0.001);
    assert_eq!(server.run(&state, "print(len(In) - 1)").text(), "4\n");
}

#[test]
fn a_checkpoint_stores_only_what_changed_since_its_parent() {
    let server = TestServer::start_with(&["--no-checkpoints"]);
    let one = server.run("initial", "import os\nbig = os.urandom(24 << 20)\nn = 1");
    let first = server.checkpoint(one.state(), json!({}))["checkpoint"].clone();
    assert_eq!(first["parent_checkpoint"], Value::Null);
    let two = server.run(one.state(), "n = 2");
    let second = server.checkpoint(two.state(), json!({}))["checkpoint"].clone();
    assert_eq!(second["parent_checkpoint"], first["checkpoint_id"]);
    assert!(first["new_bytes"].as_u64() > Some(24 << 20));
    assert!(second["compressed_size_bytes"].as_u64() > Some(24 << 20), "it is whole in itself");
    assert!(second["new_bytes"].as_u64() < Some(1 << 20), "{second}");
}

#[test]
fn clearing_a_namespace_keeps_builtins_and_the_execution_count() {
    let server = TestServer::start();
    let code = "import math\nx, _private, get_ipython, print = 1, 2, 3, len\ndef f(): pass\n'shown'";
    let before = server.run("initial", code);
    let answer = server
        .post(&format!("/api/states/{}/clear_namespace", before.state()), json!({"new_state_name": "clear"}));
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    let names = json!(["_private", "f", "math", "print", "x"]);
    assert_eq!(
        answer,
        json!({"output": [], "state_name": "clear", "error": null, "accessed_symbols": names,
            "modified_symbols": [], "deleted_symbols": names})
    );
    assert_eq!(server.get("/states/clear").json()["variables"], json!({}));
    let look =
        "print(sorted(n for n in dir() if not n.startswith('_')), len(Out))\nprint(len(In) - 1)\n%time 1";
    let after = server.run("clear", look).text();
    assert!(after.starts_with("['In', 'Out', 'exit', 'get_ipython', 'open', 'quit'] 0\n3\n"), "{after}");
    // The new state is a child of the cleared state. The cleared state itself is unchanged.
    let states = server.get("/api/states").json()["states"].clone();
    assert_eq!(states[2]["parent"], before.state());
    assert_eq!(server.run(before.state(), "x").text(), "");
    // A repeated request does not run the cell again.
    let wish = json!({"exec_id": "again"});
    let path = format!("/api/states/{}/clear_namespace", before.state());
    assert_eq!(server.post(&path, wish.clone()).json(), server.post(&path, wish).json());
}

// the snapshot kernel

#[test]
fn named_states_survive_a_crash() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    server.begin_with("initial", "x = 1", json!({"new_state_name": "a"})).end();
    server.begin_with("a", "x += 1\nprint(x)", json!({"new_state_name": "b"})).end();
    server.begin_with("a", "x += 10", json!({"new_state_name": "gone"})).end();
    for name in ["a", "b"] {
        server.checkpoint(name, json!({}));
    }
    assert_eq!(server.owner(Request::new("DELETE", "/states/gone")).status, 200);
    let server = crash(server, room.path(), &[]);
    assert_eq!(server.states(), ["initial", "a", "b"]);
    assert_eq!(server.notebook()["runs"][1]["outputs"][0]["text"], "2\n");
    assert_eq!(server.get("/api/states").json()["states"][1]["living"], "disk");
    assert_eq!(server.run("b", "print(x)").text(), "2\n");
    assert_eq!(server.run("a", "print(x)").text(), "1\n");
    server.reset();
    let server = crash(server, room.path(), &[]);
    assert_eq!(server.states(), ["initial"]);
}

#[test]
fn the_list_of_states_has_their_residency_and_sizes() {
    let server = TestServer::start();
    let state = server.run("initial", "x = bytearray(8 << 20)").state().to_owned();
    let child = server.run(&state, "y = 1").state().to_owned();
    let one = || {
        let states = server.get("/api/states").json()["states"].clone();
        states.as_array().unwrap().iter().find(|s| s["id"] == state).unwrap().clone()
    };
    until("the state is in memory and on disk, and measured", || {
        let one = one();
        one["living"] == "memory" && one["checkpoint"].is_object() && one["memory_bytes"].is_u64()
    });
    // The child has the same bytes, and they are in memory once.
    until("most of the state's memory is shared with its child", || {
        let one = one();
        one["memory_bytes"].as_u64() < Some(8 << 20) && one["shared_bytes"].as_u64() > Some(8 << 20)
    });
    let mut keys: Vec<String> = one().as_object().unwrap().keys().cloned().collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            "checkpoint",
            "fork_anyway",
            "forks",
            "id",
            "label",
            "living",
            "memory_bytes",
            "name",
            "parent",
            "pinned",
            "revival",
            "saving",
            "shared_bytes",
            "warnings"
        ]
    );
    let change = |what: &str, body: Value| server.post(&format!("/api/states/{state}/{what}"), body).json();
    assert_eq!(change("pin", json!({"pinned": true}))["pinned"], true);
    assert_eq!(change("label", json!({"label": "mine"}))["label"], "mine");
    assert_eq!((&one()["pinned"], &one()["label"]), (&json!(true), &json!("mine")));
    // Only an explicit null removes a label.
    let command = json!({"do": "label", "state": "initial"}).to_string();
    let named = server.owner(Request::post("/api/notebooks/main/commands", &command));
    let nothing = server.post(&format!("/api/states/{state}/label"), json!({}));
    assert_eq!([named.status, nothing.status], [400, 400], "{}", nothing.text());
    assert_eq!(one()["label"], "mine");
    assert_eq!(change("label", json!({"label": null}))["label"], Value::Null);
    // A refusal does not repeat all that it refuses.
    let long = server.post(&format!("/api/states/{}/pin", "x".repeat(4000)), json!({"pinned": true}));
    assert!(long.text().len() < 2000, "{}", long.text());
    // The state is in memory with all its variables, so a replay does nothing.
    assert_eq!(change("replay", json!({}))["living"], "memory");
    assert_eq!(server.owner(Request::new("POST", "/api/trust")).json(), json!({"trusted": 0}));
    for state in [child, state] {
        server.owner(Request::new("DELETE", &format!("/states/{state}")));
    }
    assert_eq!(server.get("/api/states").json()["states"].as_array().unwrap().len(), 1);
}
