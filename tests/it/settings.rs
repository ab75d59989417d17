//! Tests of the settings that the server keeps for its owner.

use crate::cells::Room;
use crate::request::{Answer, Request};
use crate::server::TestServer;
use serde_json::{Map, Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn changing(body: &Value) -> Request {
    let request = Request::new("PATCH", "/api/settings").header("content-type", "application/json");
    request.body(body.to_string())
}

fn change(server: &TestServer, body: &Value) -> Answer {
    server.owner(changing(body))
}

#[test]
fn settings_are_kept_for_the_owner_and_changed_one_by_one() {
    let config = Room::new();
    let under = ["env", &format!("XDG_CONFIG_HOME={}", config.path().display())];
    let (mut server, _) = TestServer::start_under(&under);
    let get = |server: &TestServer| server.owner(Request::get("/api/settings"));
    assert_eq!(get(&server).json(), json!({"settings": {}}));
    assert_eq!(change(&server, &json!({"settings": {"theme": "dark", "wraps": "yes"}})).status, 200);
    let all = change(&server, &json!({"settings": {"theme": "light"}}));
    assert_eq!(all.json(), json!({"settings": {"theme": "light", "wraps": "yes"}}));

    let long = "x".repeat(101);
    let wrong = [json!({"theme": long}), json!({"theme": 1}), json!({"": "dark"}), Value::Null];
    for refused in wrong.map(|settings| json!({"settings": settings})) {
        assert_eq!(change(&server, &refused).status, 400, "{refused}");
    }
    assert_eq!(change(&server, &json!({"settings": {"tabs": "2"}})).json()["settings"]["tabs"], "2");
    assert_eq!(change(&server, &json!({"settings": {"tabs": ""}})).json(), all.json());
    let many: Map<String, Value> = (0..101).map(|i| (format!("s{i}"), json!("x"))).collect();
    assert_eq!(change(&server, &json!({"settings": many})).status, 400);
    assert_eq!(get(&server).json(), all.json());

    server.kill();
    assert!(server.start_again(&under));
    assert_eq!(get(&server).json(), all.json());
    let file = config.path().join("ratoon/settings.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    fs::write(&file, "[1").unwrap();
    for answer in [get(&server), change(&server, &json!({"settings": {"theme": "dark"}}))] {
        assert_eq!(answer.status, 409, "{answer:?}");
        assert!(answer.text().contains("settings.json"), "{answer:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "[1", "what someone wrote there stays");
}

#[test]
fn guests_and_pages_of_others_do_not_reach_the_settings() {
    let server = TestServer::fresh();
    let made = server.owner(Request::post("/api/links", r#"{"scope":"run"}"#)).json();
    let guest = made["token"].as_str().unwrap();
    for request in [Request::get("/api/settings"), changing(&json!({"settings": {"theme": "dark"}}))] {
        assert_eq!(server.send(request.clone().bearer(guest)).status, 403);
        assert_eq!(server.owner(request.header("origin", "http://evil.test")).status, 403);
    }
}
