//! Tests of the rules of snapshot-kernel's REST API that clients depend on.

use crate::cells::{Ran, unique};
use crate::request::{Answer, Request};
use crate::server::{TOKEN, TestServer, until};
use serde_json::{Value, json};

fn execute(server: &TestServer, body: &Value) -> Answer {
    server.owner(Request::post("/execute", &body.to_string()))
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn variables(server: &TestServer, state: &str) -> Value {
    let answer = server.owner(Request::get(&format!("/states/{state}")));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["variables"].clone()
}

#[test]
fn the_verification_of_snapshot_kernel_passes() {
    let server = TestServer::start();
    let first =
        execute(&server, &json!({"code": "x = 42; print(x)", "exec_id": "e1", "state_name": "initial"}));
    assert_eq!(first.status, 200);
    let state = first.json()["state_name"].as_str().unwrap().to_owned();
    assert_eq!(
        first.json(),
        json!({
            "output": [{"output_type": "stream", "name": "stdout", "text": "42\n"}], "state_name": state,
            "error": null,
            "accessed_symbols": [], "modified_symbols": ["x"], "deleted_symbols": [],
        })
    );
    assert_eq!(server.owner(Request::get("/states")).json(), json!({"states": ["initial", state]}));
    let shown = server.owner(Request::get(&format!("/states/{state}"))).json();
    assert_eq!(shown["variables"], json!({"x": {"type": "int", "repr": "42"}}));
    let second = execute(&server, &json!({"code": "x + 1", "exec_id": "e2", "state_name": state})).json();
    assert_eq!(second["output"][0]["data"], json!({"text/plain": "43"}));
    assert_eq!(variables(&server, "initial"), json!({}));
    assert_eq!(server.run("initial", "x").ename(), "NameError");
    for request in [
        Request::get("/states"),
        Request::get("/states?token=wrong"),
        Request::get("/states").bearer("wrong"),
    ] {
        assert_eq!(server.send(request).status, 401);
    }
    assert_eq!(server.owner(Request::new("POST", "/reset")).json(), json!({"status": "ok"}));
    assert_eq!(server.owner(Request::get("/states")).json(), json!({"states": ["initial"]}));
}

#[test]
fn the_token_may_be_in_the_query_and_is_checked_first() {
    let server = TestServer::start();
    assert_eq!(server.send(Request::get(&format!("/states?token={TOKEN}"))).status, 200);
    let body = json!({"code": "1", "exec_id": "q", "state_name": "initial"}).to_string();
    assert_eq!(server.send(Request::post(&format!("/execute?token={TOKEN}"), &body)).status, 200);
    assert_eq!(server.send(Request::get("/no/such/path")).status, 401);
    assert_eq!(server.owner(Request::get("/no/such/path")).status, 404);
    assert_eq!(server.send(Request::post("/execute", "not json")).status, 401);
}

#[test]
fn answers_have_exactly_these_fields() {
    let server = TestServer::start();
    let ok = execute(
        &server,
        &json!({"code": "display(1)\nprint(2)\n3", "exec_id": "ok", "state_name": "initial"}),
    )
    .json();
    assert_eq!(
        keys(&ok),
        ["accessed_symbols", "deleted_symbols", "error", "modified_symbols", "output", "state_name"]
    );
    let items = ok["output"].as_array().unwrap();
    assert_eq!(items[0], json!({"output_type": "display_data", "data": {"text/plain": "1"}, "metadata": {}}));
    assert_eq!(items[1], json!({"output_type": "stream", "name": "stdout", "text": "2\n"}));
    assert_eq!(items[2]["data"], json!({"text/plain": "3"}));
    let shown = server.owner(Request::get(&format!("/states/{}", ok["state_name"].as_str().unwrap()))).json();
    assert_eq!(keys(&shown), ["name", "timestamp", "variables"]);
    assert_eq!(shown["name"], ok["state_name"]);
    let timestamp = shown["timestamp"].as_str().unwrap();
    let shape: String = timestamp.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    assert_eq!(shape, "9999-99-99T99:99:99.999999+99:99");
    assert!(timestamp.ends_with("+00:00"));
    let deleted =
        server.owner(Request::new("DELETE", &format!("/states/{}", ok["state_name"].as_str().unwrap())));
    assert_eq!(deleted.json(), json!({"deleted": ok["state_name"]}));
    let none = server.owner(Request::post("/interrupt", r#"{"exec_id": "nobody"}"#));
    assert_eq!((none.status, none.json()), (200, json!({"interrupted": false})));
}

#[test]
fn an_exception_has_status_200_and_leaves_no_state() {
    let server = TestServer::start();
    let body = json!({
        "code": "print('before')\nx = 1\nraise ValueError('no')", "exec_id": "bad", "state_name": "initial",
    });
    let answer = execute(&server, &body);
    assert_eq!(answer.status, 200);
    let answer = answer.json();
    assert_eq!(answer["state_name"], Value::Null);
    assert_eq!(keys(&answer["error"]), ["ename", "evalue", "traceback"]);
    assert_eq!((&answer["error"]["ename"], &answer["error"]["evalue"]), (&json!("ValueError"), &json!("no")));
    assert!(
        answer["error"]["traceback"]
            .as_array()
            .is_some_and(|lines| !lines.is_empty() && lines.iter().all(Value::is_string))
    );
    assert_eq!(answer["output"][0], json!({"output_type": "stream", "name": "stdout", "text": "before\n"}));
    let last = answer["output"].as_array().unwrap().last().unwrap();
    assert_eq!(keys(last), ["ename", "evalue", "output_type", "traceback"]);
    assert_eq!((&last["output_type"], &last["traceback"]), (&json!("error"), &answer["error"]["traceback"]));
    assert_eq!(server.states(), ["initial"]);
    assert_eq!(variables(&server, "initial"), json!({}));
}

#[test]
fn an_unknown_state_is_reported_and_does_not_use_up_the_run_id() {
    let server = TestServer::start();
    let answer = execute(&server, &json!({"code": "1", "exec_id": "u", "state_name": "nowhere"}));
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json(),
        json!({
            "output": [], "state_name": null,
            "error": {"ename": "StateNotFound", "evalue": "nowhere", "traceback": []},
            "accessed_symbols": [], "modified_symbols": [], "deleted_symbols": [],
        })
    );
    // The refused request did not use the id, so the id is still free.
    assert_eq!(
        execute(&server, &json!({"code": "1", "exec_id": "u", "state_name": "initial"})).json()["error"],
        Value::Null
    );
    for request in [Request::get("/states/nowhere"), Request::new("DELETE", "/states/nowhere")] {
        let answer = server.owner(request);
        assert_eq!((answer.status, answer.error_code().as_str()), (404, "not_found"));
    }
}

#[test]
fn missing_or_wrong_fields_are_a_400_and_unknown_fields_are_ignored() {
    let server = TestServer::start();
    for body in [
        json!({"code": "1", "state_name": "initial"}),
        json!({"code": "1", "exec_id": "x"}),
        json!({}),
        json!({"code": 1, "exec_id": "x", "state_name": "initial"}),
        json!({"code": null, "exec_id": "x", "state_name": "initial"}),
        json!({"code": "1", "exec_id": 5, "state_name": "initial"}),
        json!({"code": "1", "exec_id": "x", "state_name": null}),
        json!({"code": "1", "exec_id": "", "state_name": "initial"}),
        json!({"code": "1", "exec_id": "x", "state_name": "initial", "new_state_name": 7}),
        json!({"code": "1", "exec_id": "x", "state_name": "initial", "new_state_name": ""}),
    ] {
        assert_eq!(execute(&server, &body).status, 400, "{body}");
    }
    assert_eq!(server.owner(Request::post("/interrupt", "{}")).status, 400);
    let long = json!({"code": "#".repeat(5 << 20), "exec_id": "long", "state_name": "initial"});
    assert_eq!(execute(&server, &long).status, 413);
    let more = json!({
        "code": "1", "exec_id": "more", "state_name": "initial", "new_state_name": null, "something": [1],
    });
    assert_eq!(execute(&server, &more).status, 200);
    let no_code = execute(&server, &json!({"exec_id": "none", "state_name": "initial"}));
    let ran = Ran::new(&no_code);
    assert_eq!((ran.output.len(), ran.state().is_empty()), (0, false));
    // The answer contains a warning, because the client has probably misspelled the field.
    assert!(no_code.json()["warnings"][0].as_str().unwrap().contains("`code`"), "{no_code:?}");
    let empty = execute(&server, &json!({"code": "", "exec_id": "empty", "state_name": "initial"}));
    assert_eq!(empty.json()["warnings"], Value::Null);
}

#[test]
fn states_are_listed_in_the_order_of_their_creation() {
    let server = TestServer::start();
    let mut expected = vec!["initial".to_owned()];
    for n in 0..12 {
        let from = expected[n / 2].clone();
        expected.push(server.run(&from, "1").state().to_owned());
    }
    assert_eq!(server.states(), expected);
    let hex = |name: &String| {
        name.len() == 32 && name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    assert!(expected[1..].iter().all(|name| hex(name) && name.as_bytes()[12] == b'4'), "{expected:?}");
}

#[test]
fn a_name_that_is_used_again_refers_to_the_newer_state() {
    let server = TestServer::start();
    let named = |state: &str, code: &str, name: &str| {
        server.begin_with(state, code, json!({"new_state_name": name})).end()
    };
    assert_eq!(named("initial", "x = 1", "cell").state(), "cell");
    let child = server.run("cell", "y = x");
    assert_eq!(named("initial", "x = 2", "cell").state(), "cell");
    assert_eq!(server.run("cell", "print(x)").text(), "2\n");
    assert_eq!(server.run(child.state(), "print(y)").text(), "1\n");
    // Each new state gets the name of the state that its cell ran against.
    for x in 3..6 {
        assert_eq!(named("cell", "x += 1", "cell").state(), "cell");
        assert_eq!(server.run("cell", "print(x)").text(), format!("{x}\n"));
    }
    assert_eq!(server.states().iter().filter(|name| *name == "cell").count(), 1);
    // If a run fails, the name still refers to the same state.
    assert_eq!(named("cell", "x = 0; 1/0", "cell").ename(), "ZeroDivisionError");
    assert_eq!(server.run("cell", "print(x)").text(), "5\n");
    // Unusual names that clients use.
    for name in ["Zelle 1", "ä/ö?".replace('/', "_").as_str(), "a:b", "x".repeat(128).as_str()] {
        assert_eq!(named("initial", "x = 1", name).state(), name);
        let path: String = name
            .bytes()
            .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
            .collect();
        assert_eq!(server.owner(Request::get(&format!("/states/{path}"))).json()["name"], name);
        assert_eq!(
            server.owner(Request::new("DELETE", &format!("/states/{path}"))).json(),
            json!({"deleted": name})
        );
    }
}

#[test]
fn only_the_users_variables_are_listed() {
    let server = TestServer::start();
    let code = "import math\nfrom os import path\nx = 1\n_private = 2\n__dunder__ = 3\n__half = 4\n\
        def f(): pass\nclass C: pass\nc = C\nn = None\ns = 'é'\n5\n";
    let state = server.run("initial", code);
    let shown = variables(&server, state.state());
    assert_eq!(keys(&shown), ["C", "__half", "_private", "c", "f", "math", "n", "path", "s", "x"]);
    assert_eq!(shown["x"], json!({"type": "int", "repr": "1"}));
    assert_eq!(shown["_private"], json!({"type": "int", "repr": "2"}));
    assert_eq!(shown["math"]["type"], "module");
    assert_eq!(shown["f"]["type"], "function");
    assert_eq!(shown["C"], json!({"type": "type", "repr": "<class '__main__.C'>"}));
    assert_eq!(shown["n"], json!({"type": "NoneType", "repr": "None"}));
    assert_eq!(shown["s"], json!({"type": "str", "repr": "'é'"}));
}

#[test]
fn a_failing_repr_is_no_error_and_listing_variables_changes_nothing() {
    let server = TestServer::start();
    let code = "class Bad:\n    def __repr__(self): raise ValueError('bad')\n\
        class Exits:\n    def __repr__(self): raise SystemExit\n\
        class Slow:\n    def __repr__(self):\n        while True: pass\n\
                class Counts:\n    n = 0\n    def __repr__(self):\n        Counts.n += 1\n        return \
                str(Counts.n)\nclass Odd:\n    def __repr__(self): return 5\n\
                bad, exits, slow, counts, odd, long, text = Bad(), Exits(), Slow(), Counts(), Odd(), \
                list(range(10**6)), 'x' * 10**6\ngone = (i for i in range(3)); next(gone);";
    let state = server.run("initial", code);
    for _ in 0..2 {
        let shown = variables(&server, state.state());
        let repr = |name: &str| shown[name]["repr"].as_str().unwrap().to_owned();
        assert_eq!(repr("bad"), "<repr failed: ValueError: bad>");
        for name in ["exits", "slow", "odd"] {
            assert!(repr(name).starts_with("<repr failed: "), "{name}: {}", repr(name));
        }
        assert_eq!(repr("counts"), "1");
        assert!(repr("long").starts_with("[0, 1, 2, ") && repr("long").len() < 20_000);
        assert!(repr("text").starts_with("'xxx") && repr("text").len() < 20_000);
        assert_eq!(shown["slow"]["type"], "Slow");
    }
    assert_eq!(server.run(state.state(), "print(Counts.n, next(gone))").text(), "0 1\n");
    // If a `repr` ends its process, only this answer is affected.
    let deadly =
        server.run("initial", "import os\nclass D:\n    def __repr__(self): os._exit(1)\nd = D(); x = 1");
    let answer = server.owner(Request::get(&format!("/states/{}", deadly.state())));
    assert_eq!((answer.status, answer.error_code().as_str()), (503, "kernel"));
    assert_eq!(server.run(deadly.state(), "print(x)").text(), "1\n");
}

#[test]
fn variables_of_a_state_can_be_listed_while_a_cell_runs_against_it() {
    let server = TestServer::start();
    let room = server.room();
    let state = server.run("initial", "x = 1");
    let going = server.begin(
        state.state(),
        "import os, time\nx = 2\nopen('began', 'w').close()\n\
        while not os.path.exists('go'): time.sleep(0.01)",
    );
    room.wait_for("began");
    assert_eq!(variables(&server, state.state())["x"]["repr"], "1");
    room.put("go");
    assert_eq!(variables(&server, going.end().state())["x"]["repr"], "2");
}

#[test]
fn deleting_a_state_keeps_its_descendants() {
    let server = TestServer::start();
    let a = server.run("initial", "x = 1");
    let b = server.run(a.state(), "x += 1");
    let delete = |name: &str| server.owner(Request::new("DELETE", &format!("/states/{name}"))).status;
    assert_eq!(delete(a.state()), 200);
    assert_eq!(delete(a.state()), 404);
    assert_eq!(server.states(), ["initial", b.state()]);
    assert_eq!(server.run(b.state(), "print(x)").text(), "2\n");
    // Even the root can be deleted. Then cells can run only against other states, until a reset.
    assert_eq!(delete("initial"), 200);
    assert_eq!(server.run("initial", "1").ename(), "StateNotFound");
    assert_eq!(server.run(b.state(), "print(x)").text(), "2\n");
    server.reset();
    assert_eq!(server.states(), ["initial"]);
    assert_eq!(server.run("initial", "print(1)").text(), "1\n");
}

#[test]
fn a_repeated_request_gets_the_first_answer_and_runs_nothing() {
    let server = TestServer::start();
    let room = server.room();
    let count = "with open('count', 'a') as f: f.write('x')\nprint('once')";
    for (name, code) in [
        (Value::Null, count.to_owned()),
        (json!("named"), count.to_owned()),
        (Value::Null, format!("{count}\n1/0")),
    ] {
        let before = std::fs::read_to_string(room.file("count")).unwrap_or_default().len();
        let body = json!({
            "code": code, "exec_id": unique("again"), "state_name": "initial", "new_state_name": name,
        });
        let first = execute(&server, &body);
        let second = execute(&server, &body);
        assert_eq!((first.status, second.status), (200, 200));
        assert_eq!(first.json(), second.json());
        assert_eq!(std::fs::read_to_string(room.file("count")).unwrap().len(), before + 1);
        let mut other = body.clone();
        other["code"] = json!("another");
        let refused = execute(&server, &other);
        assert_eq!((refused.status, refused.error_code().as_str()), (409, "conflict"));
    }
    // A repeated request is recognised even if the name of its base state now refers to the state
    // that the first request made.
    let body = json!({
        "code": "n = globals().get('n', 0) + 1; print(n)", "exec_id": "self", "state_name": "named",
        "new_state_name": "named",
    });
    assert_eq!(execute(&server, &body).json(), execute(&server, &body).json());
}

#[test]
fn a_run_id_in_use_is_refused() {
    let server = TestServer::start();
    let room = server.room();
    let code = "import os, time\nopen('began', 'w').close()\n\
        while not os.path.exists('go'): time.sleep(0.01)\nprint('done')";
    let body = json!({"code": code, "exec_id": "twice", "state_name": "initial"});
    let going = server.begin_with("initial", code, json!({"exec_id": "twice"}));
    room.wait_for("began");
    let second = execute(&server, &body);
    assert_eq!((second.status, second.error_code().as_str()), (409, "conflict"));
    room.put("go");
    assert_eq!(going.end().text(), "done\n");
    assert_eq!(execute(&server, &body).json()["output"][0]["text"], "done\n");
}

#[test]
fn a_run_can_be_interrupted_over_rest() {
    let server = TestServer::start();
    let room = server.room();
    let going =
        server.begin("initial", "import time\nprint('before')\nopen('began', 'w').close()\ntime.sleep(1000)");
    room.wait_for("began");
    let answer = server.owner(Request::post("/interrupt", &json!({"exec_id": going.exec_id}).to_string()));
    assert_eq!((answer.status, answer.json()), (200, json!({"interrupted": true})));
    let ran = going.end();
    assert_eq!(
        (ran.ename(), ran.text().as_str(), ran.state.as_deref()),
        ("KeyboardInterrupt", "before\n", None)
    );
    assert_eq!(ran.output.last().unwrap()["ename"], "KeyboardInterrupt");
}

#[test]
fn refusals_have_json_bodies() {
    let server = TestServer::start();
    for (request, status) in [
        (Request::get("/states/none"), 404),
        (Request::get("/none"), 404),
        (Request::new("PUT", "/states"), 405),
        (Request::post("/execute", "{"), 400),
    ] {
        let answer = server.owner(request);
        assert_eq!(answer.status, status);
        assert!(!answer.error_code().is_empty());
    }
    assert_eq!(server.send(Request::get("/states")).error_code(), "unauthorized");
}

#[test]
fn the_root_state_is_listed_before_its_process_is_ready() {
    let server = TestServer::start();
    assert_eq!(server.states(), ["initial"]);
    until("the root is ready", || server.notebook()["states"][0]["living"] == "memory");
    assert_eq!(server.states(), ["initial"]);
}
