//! Tests of `/mcp`: agents call tools over HTTP. `tests/doors` tests the same with the official
//! client.

use crate::request::{Answer, Request};
use crate::server::{TOKEN, TestServer, until};
use crate::wire::Wire;
use serde_json::{Value, json};

const MODERN: &str = "2026-07-28";

/// A request of the revision without sessions, with its headers.
fn modern(method: &str, mut params: Value) -> Request {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
    });
    let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or("-").to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    Request::post("/mcp", &body.to_string())
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", method)
        .header("mcp-name", &name)
}

fn call(name: &str, arguments: Value) -> Request {
    modern("tools/call", json!({"name": name, "arguments": arguments}))
}

/// The message in an answer, which may be a stream.
fn message(answer: &Answer) -> Value {
    let text = answer.text();
    if answer.header("content-type") == Some("application/json") {
        return answer.json();
    }
    let data = text.lines().find_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(data.unwrap_or_else(|| panic!("{answer:?}"))).unwrap()
}

/// The result of a tool that succeeds.
fn use_tool(server: &TestServer, name: &str, arguments: Value) -> Value {
    let message = message(&server.owner(call(name, arguments)));
    let result = &message["result"];
    assert_eq!(result["isError"], false, "{message}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    result.clone()
}

fn tool(server: &TestServer, name: &str, arguments: Value) -> Value {
    use_tool(server, name, arguments)["structuredContent"].clone()
}

/// The text of a tool's error.
fn tool_error(server: &TestServer, token: &str, name: &str, arguments: Value) -> String {
    let message = message(&server.send(call(name, arguments).bearer(token)));
    assert_eq!(message["result"]["isError"], true, "{message}");
    message["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

fn link(server: &TestServer, scope: &str) -> String {
    let wish = json!({"scope": scope}).to_string();
    server.owner(Request::post("/api/links", &wish)).json()["token"].as_str().unwrap().to_owned()
}

#[test]
fn both_eras_of_the_protocol_are_answered() {
    let server = TestServer::start();
    let discovered = server.owner(modern("server/discover", json!({}))).json();
    assert_eq!(discovered["result"]["supportedVersions"][0], MODERN);
    assert_eq!(discovered["result"]["resultType"], "complete");
    assert!(discovered["result"]["instructions"].as_str().unwrap().contains("state"));
    let listed = server.owner(modern("tools/list", json!({}))).json();
    let names: Vec<_> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["run", "read_run", "run_many", "peek", "compare", "history", "take", "interrupt"]);

    let old = |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params});
        server.owner(Request::post("/mcp", &body.to_string()))
    };
    let info = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "old"}});
    let begun = old("initialize", info);
    assert_eq!(begun.json()["result"]["protocolVersion"], "2025-06-18");
    assert!(begun.header("mcp-session-id").is_some_and(|id| id.len() > 32));
    let ran = old("tools/call", json!({"name": "run", "arguments": {"at": "initial", "code": "1 + 1"}}));
    assert_eq!(message(&ran)["result"]["structuredContent"]["output"], "2");
    assert_eq!(old("ping", json!({})).json()["result"], json!({}));
    let unknown = old("nothing", json!({}));
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!(-32601)));
    let none = old("tools/call", json!({"name": "nothing"}));
    assert_eq!(message(&none)["error"]["code"], -32602);
    let notice = Request::post("/mcp", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(server.owner(notice).status, 202);
    assert_eq!(server.owner(Request::get("/mcp")).status, 405);
    let mut lying = modern("tools/list", json!({}));
    lying = lying.header("mcp-method", "tools/call");
    assert_eq!(server.owner(lying).json()["error"]["code"], -32020);
}

#[test]
fn a_token_counts_only_in_a_header_and_only_for_its_scope_and_notebook() {
    let server = TestServer::start();
    let list = || modern("tools/list", json!({}));
    assert_eq!(server.owner(list()).status, 200);
    let in_url = Request::post(&format!("/mcp?token={TOKEN}"), "{}");
    assert_eq!(
        (server.send(in_url.clone()).status, server.send(in_url).error_code()),
        (401, "unauthorized".into())
    );
    let signed_in = server.send(Request::get(&format!("/?token={TOKEN}")).by_browser());
    let by_cookie = list().header("cookie", &signed_in.cookie());
    assert_eq!(server.send(by_cookie).status, 401);
    for (name, value) in
        [("origin", "http://evil.test"), ("host", "evil.test"), ("sec-fetch-site", "same-site")]
    {
        let answer = server.owner(list().header(name, value));
        assert!(matches!(answer.status, 403 | 421), "{name}: {answer:?}");
    }

    let view = link(&server, "view");
    let state = tool(&server, "run", json!({"at": "initial", "code": "x = 1"}))["state"].clone();
    let refused = tool_error(&server, &view, "run", json!({"at": "initial", "code": "1"}));
    assert!(refused.contains("the scope `view`, and the tool needs `run`"), "{refused}");
    let seen = message(&server.send(call("peek", json!({"state": state, "names": ["x"]})).bearer(&view)));
    assert_eq!(seen["result"]["structuredContent"]["variables"][0]["repr"], "1", "{seen}");
    let by_expression = tool_error(&server, &view, "peek", json!({"state": state, "expr": "x"}));
    assert!(by_expression.contains("scope"), "{by_expression}");
    server.owner(Request::post("/api/notebooks", r#"{"name":"other"}"#));
    let elsewhere = tool_error(&server, &view, "history", json!({"notebook": "other"}));
    assert!(elsewhere.contains("another notebook"), "{elsewhere}");
    let uri = json!({"uri": "ratoon://other/runs/x/outputs/0"});
    let read = server.send(modern("resources/read", uri).bearer(&view)).json();
    assert_eq!(read["error"]["code"], -32602);
    assert!(!server.errors().contains(TOKEN) && !server.errors().contains(&view));
}

#[test]
fn a_cell_is_corrected_at_its_state_and_a_long_output_is_cut() {
    let server = TestServer::start();
    let first = tool(&server, "run", json!({"at": "initial", "code": "n = 3", "label": "three"}));
    assert_eq!((&first["status"], &first["assigned"]), (&json!("ok"), &json!(["n"])));
    let at = first["state"].as_str().unwrap();
    let failed = tool(&server, "run", json!({"at": at, "code": "n = 4\n1 / 0"}));
    assert_eq!((&failed["status"], &failed["state"]), (&json!("error"), &Value::Null));
    assert_eq!(failed["error"], "ZeroDivisionError: division by zero");
    assert!(!failed["output"].as_str().unwrap().contains('\u{1b}'));
    let code = "print('begin', n, 'x' * 50_000, 'end')";
    let long = use_tool(&server, "run", json!({"at": at, "code": code}));
    let output = long["structuredContent"]["output"].as_str().unwrap();
    assert!(output.starts_with("begin 3 xx") && output.trim_end().ends_with("x end"), "{output}");
    assert!(output.chars().count() < 8100);
    let link = &long["content"][1];
    assert_eq!(link["type"], "resource_link");
    let read = server.owner(modern("resources/read", json!({"uri": link["uri"]}))).json();
    assert_eq!(read["result"]["contents"][0]["text"].as_str().unwrap().len(), 50_013);
    let history = tool(&server, "history", json!({"at": at, "query": "N = "}));
    let cell = &history["cells"][0];
    assert_eq!(
        (&cell["label"], &cell["code"], &cell["parent"]),
        (&json!("three"), &json!("n = 3"), &json!("initial"))
    );
    let statuses = tool(&server, "history", json!({"limit": 2}));
    let words: Vec<_> = statuses["cells"].as_array().unwrap().iter().map(|c| c["status"].clone()).collect();
    assert_eq!((words, &statuses["older"]), (vec![json!("error"), json!("ok")], &json!(2)));
    for (name, arguments, reason) in [
        ("run", json!({"at": "nowhere", "code": "1"}), "no state has this id"),
        ("run", json!({"code": "1"}), "missing field `at`"),
        ("run", json!({"at": "initial", "code": "1", "to": 1}), "unknown field `to`"),
        ("run", json!({"at": "initial", "code": "1", "wait_s": 90}), "between 0 and 30"),
        ("run_many", json!({"at": "initial", "code": "1"}), "not clear"),
        ("peek", json!({"state": "initial"}), "neither `expr` nor `names`"),
        ("read_run", json!({"run": "none"}), "there is none"),
        ("history", json!({"notebook": "none"}), "no notebook of this name"),
    ] {
        let error = tool_error(&server, TOKEN, name, arguments);
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn a_long_run_is_read_on_and_interrupted() {
    let server = TestServer::start();
    let room = server.room();
    let code = "import os, time\nprint('one', flush=True)\nopen('begun', 'w').close()\n\
        while not os.path.exists('go'): time.sleep(0.01)\nprint('two', flush=True)\n\
        while True: time.sleep(0.01)";
    let begun = tool(&server, "run", json!({"at": "initial", "code": code, "wait_s": 0}));
    let run = begun["run"].as_str().unwrap().to_owned();
    assert!(begun["status"] == "queued" || begun["status"] == "running", "{begun}");
    room.wait_for("begun");
    let read = |cursor: &Value| tool(&server, "read_run", json!({"run": run, "cursor": cursor}));
    // Text may arrive in pieces.
    let mut cursor = begun["cursor"].clone();
    let mut read_all = |expected: &str| {
        let mut text = String::new();
        while !text.ends_with('\n') {
            let part = read(&cursor);
            assert!(part["status"] == "running", "{part}");
            text += part["output"].as_str().unwrap();
            cursor = part["cursor"].clone();
        }
        assert_eq!(text, expected);
    };
    read_all("one\n");
    room.put("go");
    read_all("two\n");
    assert_eq!(tool(&server, "interrupt", json!({"run": run}))["interrupted"], true);
    let mut end = read(&cursor);
    while end["status"] == "running" {
        end = read(&end["cursor"]);
    }
    assert_eq!(end["status"], "interrupted");
    assert_eq!(tool(&server, "interrupt", json!({"run": run}))["interrupted"], false);
}

#[test]
fn a_cancelled_call_interrupts_its_run() {
    let server = TestServer::start();
    let room = server.room();
    let code = |name: &str| format!("import time\nopen('{name}', 'w').close()\nwhile True: time.sleep(0.01)");
    let statuses = || {
        let runs = server.notebook()["runs"].clone();
        let status = |run: &Value| run["status"].as_str().unwrap().to_owned();
        runs.as_array().unwrap().iter().map(status).collect::<Vec<_>>()
    };
    // Since 2026-07-28, a client cancels by closing the connection.
    let request = call("run", json!({"at": "initial", "code": code("a")})).bearer(TOKEN);
    let mut wire = Wire::open(server.address);
    wire.write(&request.bytes(&server.host()));
    room.wait_for("a");
    drop(wire);
    until("the run is interrupted", || statuses() == ["interrupted"]);

    // Before, by a notification. Closing the connection means nothing.
    let old = |body: Value, session: &str| {
        let request = Request::post("/mcp", &body.to_string()).bearer(TOKEN).header("accept", "*/*");
        request.header("mcp-session-id", session)
    };
    let params = json!({"name": "run", "arguments": {"at": "initial", "code": code("b")}});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let mut wire = Wire::open(server.address);
    wire.write(&old(body, "b2xk.1").bytes(&server.host()));
    room.wait_for("b");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(server.send(old(cancel.clone(), "b2xk.2")).status, 202);
    assert_eq!(server.send(old(cancel, "b2xk.1")).status, 202);
    assert!(!wire.answer(false).unwrap().text().contains("data"));
    until("the run is interrupted", || statuses() == ["interrupted", "interrupted"]);
}

#[test]
fn branches_are_swept_compared_and_taken_over() {
    let server = TestServer::start();
    let base =
        tool(&server, "run", json!({"at": "initial", "code": "data = [1, 2]\nk = 0"}))["state"].clone();
    let grid = json!({"at": base, "code": "k = 1\nscore = k * len(data)", "grid": {"k": [1, 5, 3]},
        "metric": "score", "goal": "max"});
    let swept = tool(&server, "run_many", grid);
    assert_eq!((&swept["status"], &swept["ended"], &swept["best"]), (&json!("done"), &json!(3), &json!(1)));
    let best = &swept["rows"][0];
    assert_eq!((&best["params"]["k"], &best["metric"]), (&json!(5), &json!(10.0)));
    let again = tool(&server, "read_run", json!({"run": swept["sweep"]}));
    assert_eq!(again["rows"]["rows"][0]["state"], best["state"]);

    let variants = json!({"at": base, "variants": ["data.append(3)\nm = 1", "m = 2", "m = 1 / 0"],
        "metric": "m", "goal": "min", "parallel": 1});
    let varied = tool(&server, "run_many", variants);
    let order: Vec<_> = varied["rows"].as_array().unwrap().iter().map(|r| r["index"].clone()).collect();
    assert_eq!((order, &varied["best"]), (vec![json!(0), json!(1), json!(2)], &json!(0)));
    assert_eq!(varied["rows"][2]["error"], "ZeroDivisionError: division by zero");

    let (a, b) = (&best["state"], &varied["rows"][0]["state"]);
    let compared = tool(&server, "compare", json!({"a": a, "b": b}));
    assert_eq!(compared["ancestor"], base);
    assert_eq!((&compared["only_a"], &compared["only_b"]), (&json!(["score"]), &json!(["m"])));
    let names: Vec<_> = compared["different"].as_array().unwrap().iter().map(|d| d["name"].clone()).collect();
    assert_eq!(names, [json!("data"), json!("k")]);
    let taken = tool(&server, "take", json!({"into": a, "from": b, "names": ["data"]}));
    assert_eq!(taken["taken"], json!([{"name": "data"}]));
    let seen = tool(&server, "peek", json!({"state": taken["state"], "expr": "(data, k)", "names": []}));
    assert_eq!(seen["value"]["text"], "([1, 2, 3], 5)");
    let names: Vec<_> = seen["variables"].as_array().unwrap().iter().map(|v| v["name"].clone()).collect();
    assert_eq!(names, [json!("data"), json!("k"), json!("score")]);
    let unknown = tool(&server, "peek", json!({"state": base, "names": ["data", "m"]}));
    assert_eq!((&unknown["unknown"], &unknown["variables"][0]["type"]), (&json!(["m"]), &json!("list")));
}

#[test]
fn pictures_are_in_the_answer() {
    let server = TestServer::start();
    let code = "import base64\nfrom IPython.display import display\n\
        png = base64.b64encode(b'\\x89PNG' + bytes(100)).decode()\n\
        for _ in range(5): display({'image/png': png, 'text/plain': 'a plot'}, raw=True)";
    let result = use_tool(&server, "run", json!({"at": "initial", "code": code}));
    let kinds: Vec<_> =
        result["content"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "image", "image", "image", "resource_link"]);
    assert_eq!(result["content"][1]["mimeType"], "image/png");
    let read = server.owner(modern("resources/read", json!({"uri": result["content"][5]["uri"]}))).json();
    let contents = read["result"]["contents"].as_array().unwrap();
    assert_eq!(contents[0]["blob"], result["content"][1]["data"]);
    assert_eq!(contents[1]["text"], "a plot");
}

#[test]
fn a_person_sees_an_agent_and_stops_it() {
    let server = TestServer::start();
    let room = server.room();
    let mut socket = Wire::socket(&server, TOKEN);
    let state = tool(&server, "run", json!({"at": "initial", "code": "x = 1"}))["state"].clone();
    let seen = socket.hear_until(|m| m["people"][0]["state"] == state);
    let agent = &seen["people"][0];
    assert_eq!(
        (&agent["name"], &agent["scope"], &agent["agent"]),
        (&json!("probe"), &json!("owner"), &json!({"stopped": false}))
    );

    let code = "import time\nopen('begun', 'w').close()\nwhile True: time.sleep(0.01)";
    let begun = tool(&server, "run", json!({"at": state, "code": code, "wait_s": 0}));
    room.wait_for("begun");
    let path = format!("/api/notebooks/main/agents/{}", agent["id"].as_str().unwrap());
    let stop = |stopped: bool| Request::post(&path, &json!({"stopped": stopped}).to_string());
    let view = link(&server, "view");
    assert_eq!(server.send(stop(true).bearer(&view)).status, 403);
    assert_eq!(server.owner(stop(true)).status, 200);
    socket.hear_until(|m| m["people"][0]["agent"]["stopped"] == true);
    until("the run is interrupted", || {
        tool(&server, "read_run", json!({"run": begun["run"], "wait_s": 0}))["status"] == "interrupted"
    });
    let refused = tool_error(&server, TOKEN, "run", json!({"at": state, "code": "1"}));
    assert!(refused.contains("a person at the notebook's page has stopped this agent"), "{refused}");
    let peek = json!({"state": state, "expr": "open('peeked', 'w').close()"});
    assert!(tool_error(&server, TOKEN, "peek", peek).contains("has stopped this agent"));
    assert!(!room.path().join("peeked").exists());
    let seen = tool(&server, "peek", json!({"state": state, "names": ["x"]}));
    assert_eq!(seen["variables"][0]["repr"], "1");
    assert_eq!(server.owner(stop(false)).status, 200);
    tool(&server, "run", json!({"at": state, "code": "1"}));
    let nobody = Request::post("/api/notebooks/main/agents/v99", r#"{"stopped":true}"#);
    assert_eq!(server.owner(nobody).status, 404);
}

#[test]
fn fifty_calls_at_once_are_answered() {
    let server = TestServer::start();
    let state = tool(&server, "run", json!({"at": "initial", "code": "x = 20"}))["state"].clone();
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..50)
            .map(|n| {
                let (server, state) = (&server, &state);
                scope.spawn(move || {
                    let (name, arguments) = match n % 5 {
                        0 => ("run", json!({"at": state, "code": format!("x + {n}")})),
                        _ => ("peek", json!({"state": state, "expr": format!("x + {n}")})),
                    };
                    let result = tool(server, name, arguments);
                    let value = if n % 5 == 0 { &result["output"] } else { &result["value"]["text"] };
                    assert_eq!(value, &json!((20 + n).to_string()), "{result}");
                })
            })
            .collect();
        calls.into_iter().for_each(|call| call.join().unwrap());
    });
}

/// An agent's work on data as it was recorded: cells, each with the faulty versions that came
/// first. The bench (`tests/bench/run agent`) replays the same with more data, and measures time.
const TRANSCRIPT: &str = include_str!("../bench/agent-transcript.json");

#[test]
#[ignore = "nightly: it counts what the design promises"]
fn a_recorded_agent_runs_fewer_cells_with_states_than_with_restarts() {
    let server = TestServer::start();
    let cells: Vec<Value> = serde_json::from_str(TRANSCRIPT).unwrap();
    let code = |cell: &Value| cell.as_str().unwrap().replace("SCALE", "1");
    let run = |at: &str, source: String, runs: &mut usize| {
        *runs += 1;
        let result = tool(&server, "run", json!({"at": at, "code": source}));
        (result["state"].as_str().map(str::to_owned), result["output"].clone())
    };
    let (mut with_states, mut linear, mut outputs) = (0, 0, Vec::new());
    let mut at = "initial".to_owned();
    for cell in &cells {
        for faulty in cell["faulty"].as_array().unwrap() {
            assert_eq!(run(&at, code(faulty), &mut with_states).0, None, "{faulty}");
        }
        let (state, output) = run(&at, code(&cell["code"]), &mut with_states);
        at = state.unwrap_or_else(|| panic!("{output}"));
        outputs.push(output);
    }
    // Without states, a failed cell may have changed anything: restart, and run all again.
    let mut restarted = Vec::new();
    let mut from_the_top = |count: usize, runs: &mut usize| {
        restarted.clear();
        let mut at = "initial".to_owned();
        for cell in &cells[..count] {
            let (state, output) = run(&at, code(&cell["code"]), runs);
            at = state.unwrap();
            restarted.push(output);
        }
        (at, restarted.clone())
    };
    let mut at = "initial".to_owned();
    for (index, cell) in cells.iter().enumerate() {
        for faulty in cell["faulty"].as_array().unwrap() {
            run(&at, code(faulty), &mut linear);
            at = from_the_top(index, &mut linear).0;
        }
        at = run(&at, code(&cell["code"]), &mut linear).0.unwrap();
    }
    assert_eq!((with_states, linear), (19, 53));
    assert_eq!(from_the_top(cells.len(), &mut 0).1, outputs);
}
