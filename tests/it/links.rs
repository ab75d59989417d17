//! Share links: made, used for what they are for and nothing else, and taken back.

use crate::request::Request;
use crate::server::{TestServer, until};
use crate::wire::Wire;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn link(server: &TestServer, wish: &str) -> (String, String) {
    let answer = server.owner(Request::post("/api/links", wish));
    assert_eq!(answer.status, 201, "{answer:?}");
    let link = answer.json();
    (link["id"].as_str().unwrap().into(), link["token"].as_str().unwrap().into())
}

#[test]
fn a_link_is_made_listed_used_and_taken_back() {
    let server = TestServer::start();
    let made = server.owner(Request::post("/api/links", r#"{"scope":"view","label":"for Ada"}"#)).json();
    let token = made["token"].as_str().unwrap();
    assert_eq!(made["path"], format!("/n/main?token={token}"));
    assert_eq!(
        (&made["scope"], &made["notebook"], &made["expires_at"]),
        (&json!("view"), &json!("main"), &Value::Null)
    );

    let listed = || server.owner(Request::get("/api/links")).json()["links"].clone();
    assert_eq!((&listed()[0]["label"], &listed()[0]["last_used"]), (&json!("for Ada"), &Value::Null));
    assert!(!listed().to_string().contains(token), "the token is shown once");
    assert_eq!(server.send(Request::get("/states").bearer(token)).status, 200);
    assert!(listed()[0]["last_used"].as_u64() >= listed()[0]["created_at"].as_u64());

    let delete = Request::new("DELETE", &format!("/api/links/{}", made["id"].as_str().unwrap()));
    assert_eq!(server.owner(delete.clone()).status, 204);
    assert_eq!(server.owner(delete).status, 404);
    assert_eq!(listed(), json!([]));
    assert_eq!(server.send(Request::get("/states").bearer(token)).status, 401);
}

#[test]
fn a_link_opens_what_its_scope_says_and_nothing_else() {
    let server = TestServer::start();
    let (_, view) = link(&server, r#"{"scope":"view"}"#);
    let (_, run) = link(&server, r#"{"scope":"run"}"#);
    let command = |command: &str| Request::post("/api/notebooks/main/commands", command);
    // What it is, whether a view link may, whether a run link may.
    for (request, by_view, by_run) in [
        (Request::get("/"), true, true),
        (Request::get("/n/main"), true, true),
        (Wire::handshake("/ws/main"), true, true),
        (Request::get("/states"), true, true),
        (Request::get("/states/none"), true, true),
        (Request::get("/api/notebooks"), true, true),
        (Request::get("/api/notebooks/main"), true, true),
        (Request::get("/api/notebooks/main/states/none/variables"), true, true),
        (Request::get("/api/openapi.json"), true, true),
        (Request::post("/execute", r#"{"exec_id":"a","state_name":"none"}"#), false, true),
        (Request::post("/interrupt", r#"{"exec_id":"none"}"#), false, true),
        (Request::new("DELETE", "/states/none"), false, false),
        (Request::new("POST", "/reset"), false, false),
        (Request::post("/api/notebooks", r#"{"name":"x"}"#), false, false),
        (Request::get("/api/links"), false, false),
        (Request::post("/api/links", r#"{"scope":"view"}"#), false, false),
        (Request::new("DELETE", "/api/links/link-1"), false, false),
        (command(r#"{"do":"look_at_variables","state":"none"}"#), true, true),
        (command(r#"{"do":"run","exec_id":"b","code":"","on":{"state":"none"}}"#), false, true),
        (command(r#"{"do":"interrupt","exec_id":"none"}"#), false, true),
        (command(r#"{"do":"answer_input","exec_id":"none","text":""}"#), false, true),
        (
            command(r#"{"do":"put_draft","draft":{"id":"d","on":"none","kind":"code","source":""}}"#),
            false,
            true,
        ),
        (command(r#"{"do":"delete_draft","draft":"none"}"#), false, true),
        (command(r#"{"do":"put_prose","state":"none","prose":[]}"#), false, true),
        (command(r#"{"do":"label","state":"none","label":"x"}"#), false, true),
        (command(r#"{"do":"delete_state","state":"none"}"#), false, false),
        (command(r#"{"do":"drop_attempt","exec_id":"none"}"#), false, false),
        (command(r#"{"do":"reset"}"#), false, false),
    ] {
        for (token, may) in [(&view, by_view), (&run, by_run)] {
            let status = server.send(request.clone().bearer(token)).status;
            assert_eq!(status != 403, may, "{request:?}: {status}");
            assert!(status != 401 && status < 500, "{request:?}: {status}");
        }
    }
}

#[test]
fn the_scope_holds_for_each_message_of_a_socket() {
    let server = TestServer::start();
    let (_, view) = link(&server, r#"{"scope":"view"}"#);
    let (_, run) = link(&server, r#"{"scope":"run"}"#);
    let mut socket = Wire::socket(&server, &view);
    assert_eq!(socket.hear_until(|_| true), json!({"you": {"scope": "view"}}));
    for command in [
        r#""do":"run","exec_id":"a","code":"1","on":{"state":"initial"}"#,
        r#""do":"interrupt","exec_id":"a""#,
        r#""do":"label","state":"initial","label":"mine""#,
        r#""do":"reset""#,
    ] {
        assert_eq!(socket.command(1, command)["code"], "forbidden", "{command}");
    }
    let mut socket = Wire::socket(&server, &run);
    assert_eq!(socket.command(1, r#""do":"interrupt","exec_id":"a""#)["kind"], "interrupted");
    assert_eq!(socket.command(2, r#""do":"reset""#)["code"], "forbidden");
    assert_eq!(socket.command(3, r#""do":"delete_state","state":"initial""#)["code"], "forbidden");
}

#[test]
fn a_link_is_for_one_notebook() {
    let server = TestServer::start();
    assert_eq!(server.owner(Request::post("/api/notebooks", r#"{"name":"other"}"#)).status, 200);
    let (_, token) = link(&server, r#"{"scope":"run","notebook":"other"}"#);
    let status = |request: Request| server.send(request.bearer(&token)).status;
    assert_eq!(status(Request::get("/api/notebooks/other")), 200);
    assert_eq!(status(Wire::handshake("/ws/other")), 101);
    for request in [
        Request::get("/api/notebooks/main"),
        Request::get("/n/main"),
        Request::get("/states"),
        Request::post("/execute", r#"{"exec_id":"a","state_name":"initial"}"#),
        Wire::handshake("/ws/main"),
        // Whether there is another one is not for them to know.
        Request::get("/n/none"),
    ] {
        assert_eq!(status(request.clone()), 403, "{request:?}");
    }
    let names = server.send(Request::get("/api/notebooks").bearer(&token)).json();
    assert_eq!(names, json!({"notebooks": ["other"]}));
    assert_eq!(server.owner(Request::post("/api/links", r#"{"scope":"run","notebook":"none"}"#)).status, 404);
}

#[test]
fn who_came_by_a_link_that_is_taken_back_is_sent_out() {
    let server = TestServer::start();
    let (id, token) = link(&server, r#"{"scope":"view"}"#);
    let cookie = server.send(Request::get(&format!("/n/main?token={token}"))).cookie();
    let mut by_token = Wire::socket(&server, &token);
    let mut by_cookie = Wire::open(server.address);
    let handshake = Wire::handshake("/ws/main").header("cookie", &cookie);
    assert_eq!(by_cookie.ask(&handshake.bytes(&server.host())).status, 101);

    let taken_back = Instant::now();
    assert_eq!(server.owner(Request::new("DELETE", &format!("/api/links/{id}"))).status, 204);
    assert_eq!((by_token.closing(), by_cookie.closing()), (Some(4401), Some(4401)));
    assert!(taken_back.elapsed() < Duration::from_secs(5));
    assert_eq!(server.send(Request::get("/states").header("cookie", &cookie)).status, 401);
}

#[test]
fn a_link_ends_by_itself() {
    let server = TestServer::start();
    let (_, token) = link(&server, r#"{"scope":"view","expires_in":2}"#);
    let mut socket = Wire::socket(&server, &token);
    assert_eq!(socket.closing(), Some(4401));
    until("it is refused", || server.send(Request::get("/states").bearer(&token)).status == 401);
    assert_eq!(server.owner(Request::get("/api/links")).json()["links"], json!([]));
}
