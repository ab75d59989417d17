//! Tests of running several cells against one state with one request.

use crate::cells::unique;
use crate::request::Request;
use crate::server::{TOKEN, TestServer, until};
use crate::wire::Wire;
use serde_json::{Value, json};

/// Sends the request. Returns the lines of the answer, in the order in which they arrived.
fn many(server: &TestServer, state: &str, body: &Value) -> Vec<Value> {
    let answer = server.post(&format!("/api/states/{state}/run_many"), body.clone());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn cells(codes: &[&str]) -> Value {
    json!(codes.iter().map(|code| json!({"code": code})).collect::<Vec<_>>())
}

#[test]
fn cells_run_as_branches_and_each_is_answered_when_it_ends() {
    let server = TestServer::start();
    let state = server.run("initial", "import os, time; x = [1]").state().to_owned();
    // The first cell waits for the others.
    let waits = "while not all(os.path.exists(f'done{i}') for i in (1, 2)): time.sleep(0.01)\nprint(x)";
    let ends = |i: usize| format!("x.append({i}); open('done{i}', 'w').close(); print(x)");
    let body = json!({
        "cells": [
            {"code": waits, "new_state_name": "slow"},
            {"code": ends(1), "exec_id": unique("many")},
            {"code": ends(2)},
            {"code": "1 / 0"},
        ],
        "parallel": 2,
    });
    let lines = many(&server, &state, &body);
    let order: Vec<i64> = lines.iter().map(|line| line["index"].as_i64().unwrap()).collect();
    assert_eq!((order.len(), order[0]), (4, 1), "the first answer is that of the first cell to end");
    let of = |index: i64| lines.iter().find(|line| line["index"] == index).unwrap();
    let text = |index| of(index)["output"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!([text(0), text(1), text(2)], ["[1]\n", "[1, 1]\n", "[1, 2]\n"]);
    assert_eq!(of(0)["state_name"], "slow");
    assert_eq!((&of(3)["error"]["ename"], &of(3)["state_name"]), (&json!("ZeroDivisionError"), &json!(null)));
    assert_eq!(of(1)["exec_id"], body["cells"][1]["exec_id"]);
    // The same ids again: nothing runs twice.
    let states = server.states().len();
    let again = json!({"cells": [body["cells"][1]]});
    assert_eq!(many(&server, &state, &again)[0]["state_name"], of(1)["state_name"]);
    assert_eq!(server.states().len(), states);
}

#[test]
fn what_is_wrong_with_one_cell_does_not_stop_the_others() {
    let server = TestServer::start();
    let state = server.run("initial", "x = 1").state().to_owned();
    let bad = json!({"cells": [{"code": "x", "new_state_name": "/"}, {"code": "x"}], "timeout": 60});
    let mut lines = many(&server, &state, &bad);
    lines.sort_by_key(|line| line["index"].as_i64());
    assert_eq!(lines[0]["refused"]["code"], "bad_request");
    assert_eq!(lines[1]["output"][0]["data"]["text/plain"], "1");
    assert_eq!(many(&server, "none", &json!({"cells": cells(&["x"])}))[0]["error"]["ename"], "StateNotFound");
    assert!(many(&server, &state, &json!({"cells": []})).is_empty());
    let status = |body: Value| server.post(&format!("/api/states/{state}/run_many"), body).status;
    assert_eq!(status(json!({"cells": cells(&["x"; 1001])})), 413);
    assert_eq!(status(json!({"cells": cells(&["x"]), "parallel": 0})), 400);
    assert_eq!(status(json!({"cells": ["x"]})), 400);
    assert_eq!(status(json!({"cells": cells(&["x"]), "timeout": -1})), 200, "each cell is refused");
}

#[test]
fn a_cell_that_has_begun_continues_when_its_client_disconnects() {
    let server = TestServer::start();
    let room = server.room();
    let state = server.run("initial", "import os, time").state().to_owned();
    let waits = "open('began', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)";
    let body = json!({"cells": [{"code": waits, "new_state_name": "left"}], "parallel": 1});
    let request = Request::post(&format!("/api/states/{state}/run_many"), &body.to_string()).bearer(TOKEN);
    let mut wire = Wire::open(server.address);
    wire.write(&request.bytes(&server.host()));
    room.wait_for("began");
    drop(wire);
    std::fs::write(room.file("go"), "").unwrap();
    until("the run has left a state", || server.states().contains(&"left".to_owned()));
    assert!(server.run("initial", "1").error.is_none());
}
