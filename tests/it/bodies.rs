//! Tests of bodies that are too long, arrive too slowly, or are malformed.

use crate::request::Request;
use crate::server::{TOKEN, TestServer};
use crate::wire::Wire;
use std::time::{Duration, Instant};

fn post_head(server: &TestServer, path: &str, headers: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\n\
        content-type: application/json\r\n{headers}\r\n",
        server.host()
    )
}

#[test]
fn a_body_whose_announced_length_is_too_long_is_refused_at_once() {
    let server = TestServer::start();
    for (path, length) in [("/execute", 1u64 << 40), ("/execute", 5 << 20), ("/interrupt", 1 << 20)] {
        let mut wire = Wire::open(server.address);
        let asked = Instant::now();
        let answer = wire.ask(post_head(&server, path, &format!("content-length: {length}\r\n")).as_bytes());
        assert_eq!((answer.status, answer.error_code().as_str()), (413, "too_large"), "{path}");
        assert!(asked.elapsed() < Duration::from_secs(2), "the server waited for the body");
        assert!(wire.ends(), "the body could be taken for a request");
    }
    // The credential is checked before the body.
    let anonymous = format!(
        "POST /execute HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n",
        server.host(),
        1u64 << 40
    );
    assert_eq!(Wire::open(server.address).ask(anonymous.as_bytes()).status, 401);
}

#[test]
fn a_chunked_body_that_becomes_too_long_is_refused() {
    let server = TestServer::start();
    let mut wire = Wire::open(server.address);
    wire.write(post_head(&server, "/interrupt", "transfer-encoding: chunked\r\n").as_bytes());
    let chunk = [b"4000\r\n".as_slice(), &[b' '; 0x4000], b"\r\n"].concat();
    for _ in 0..8 {
        wire.write(&chunk);
    }
    assert_eq!(wire.answer(false).map(|a| a.status), Some(413));
}

#[test]
fn slow_bodies_and_heads_are_cut_off_and_delay_no_other_request() {
    let server = TestServer::start();
    let begin = |text: &str| {
        let mut wire = Wire::open(server.address);
        wire.write(text.as_bytes());
        wire
    };
    let mut slow_body = begin(&(post_head(&server, "/execute", "content-length: 100\r\n") + "{"));
    let mut slow_head = begin("GET /states HTTP/1.1\r\nhost: ");
    let others: Vec<Wire> =
        (0..60).map(|_| begin(&post_head(&server, "/execute", "content-length: 9\r\n"))).collect();
    let asked = Instant::now();
    assert_eq!(server.send(Request::get("/health")).status, 200);
    assert!(asked.elapsed() < Duration::from_secs(1));
    assert_eq!(slow_body.answer(false).map(|a| a.status), Some(408));
    assert!(slow_head.answer(false).is_none_or(|a| a.status == 408));
    drop(others);
}

#[test]
fn a_body_that_is_not_json_is_a_clear_400() {
    let server = TestServer::start();
    let deep = "[".repeat(60_000);
    let deep_object = r#"{"code":"#.to_owned() + &"[".repeat(200) + &"]".repeat(200) + "}";
    let bodies: Vec<&[u8]> = vec![
        b" ",
        b"null",
        b"1",
        b"\"x\"",
        b"[]",
        b"{",
        b"}",
        b"{]",
        b"{\"code\":}",
        b"{\"code\":\"x\",}",
        b"{'code':'x'}",
        b"{code:1}",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"{\"code\":\"\xff\"}",
        b"{\"code\":\"\\ud800\"}",
        b"{}{}",
        b"{}\0",
        b"NaN",
        b"{\"timeout\":NaN}",
        b"{\"timeout\":1e999}",
        deep.as_bytes(),
        deep_object.as_bytes(),
        br#"{"exec_id":"a","exec_id":"b","state_name":"initial"}"#,
        br#"{"exec_id":"a","state_name":"initial","x":{"y":1,"y":2}}"#,
    ];
    for body in bodies {
        for path in ["/execute", "/interrupt", "/api/notebooks", "/api/links", "/api/notebooks/main/commands"]
        {
            let answer = server.owner(Request::post(path, "").body(body));
            let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
            assert_eq!(answer.status, 400, "{path} {shown}: {answer:?}");
            assert_eq!(answer.error_code(), "bad_request");
        }
    }
    assert_eq!(server.owner(Request::get("/states")).status, 200);
}

#[test]
fn missing_and_mistyped_fields_are_a_clear_400() {
    let server = TestServer::start();
    for (path, body, named) in [
        ("/execute", "{}", "exec_id"),
        ("/execute", r#"{"exec_id":"a"}"#, "state_name"),
        ("/execute", r#"{"state_name":"initial"}"#, "exec_id"),
        ("/execute", r#"{"exec_id":1,"state_name":"initial"}"#, "string"),
        ("/execute", r#"{"exec_id":"a","state_name":["initial"]}"#, "string"),
        ("/execute", r#"{"exec_id":"a","state_name":"initial","code":1}"#, "string"),
        ("/execute", r#"{"exec_id":"a","state_name":"initial","code":null}"#, "string"),
        ("/execute", r#"{"exec_id":"a","state_name":"initial","timeout":"1"}"#, "f64"),
        ("/execute", r#"{"exec_id":"a","state_name":"initial","timeout":-1}"#, "at most a year"),
        ("/execute", r#"{"exec_id":"","state_name":"initial"}"#, "visible"),
        ("/execute", r#"{"exec_id":"a\u0000","state_name":"initial"}"#, "visible"),
        ("/interrupt", "{}", "exec_id"),
        ("/interrupt", r#"{"exec_id":null}"#, "string"),
        ("/api/states/initial/merge", r#"{"from":"initial","take":"all"}"#, "a list of names"),
        ("/api/notebooks", r#"{"name":"x","other":1}"#, "other"),
        ("/api/links", r#"{"scope":"owner"}"#, "owner"),
        ("/api/links", r#"{"scope":"admin"}"#, "admin"),
        ("/api/links", r#"{"scope":"view","expires_in":0}"#, "seconds"),
        ("/api/links", r#"{"scope":"view","expires_in":-1}"#, "u64"),
        ("/api/links", r#"{"scope":"view","token":"mine"}"#, "token"),
        ("/api/notebooks/main/commands", r#"{"do":"dance"}"#, "dance"),
        ("/api/notebooks/main/commands", r#"{"do":"interrupt"}"#, "exec_id"),
    ] {
        let answer = server.owner(Request::post(path, body));
        assert_eq!(answer.status, 400, "{path} {body}: {answer:?}");
        assert!(answer.text().contains(named), "{path} {body}: {}", answer.text());
    }
    let unknown = server.owner(Request::post("/interrupt", r#"{"exec_id":"none","later_addition":true}"#));
    assert_eq!((unknown.status, unknown.json()), (200, serde_json::json!({"interrupted": false})));
}

#[test]
fn an_unknown_state_is_an_error_of_the_run_with_status_200() {
    let server = TestServer::start();
    for name in ["nope", "../x", "a\\u0000b", "<b>", ""] {
        let body = format!(r#"{{"exec_id":"a","code":"1","state_name":"{name}"}}"#);
        let answer = server.owner(Request::post("/execute", &body));
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        let error = &answer.json()["error"];
        assert_eq!(
            (error["ename"].as_str(), &error["traceback"]),
            (Some("StateNotFound"), &serde_json::json!([]))
        );
        assert_eq!(
            (&answer.json()["state_name"], &answer.json()["output"]),
            (&serde_json::Value::Null, &serde_json::json!([]))
        );
    }
}

#[test]
fn names_with_paths_or_invisible_characters_are_refused() {
    let server = TestServer::start();
    let long = "x".repeat(129);
    for name in [
        "",
        " a",
        ".",
        "..",
        "../../etc/passwd",
        ".hidden",
        "a/b",
        "a\\\\b",
        "a\\u0000",
        "a\\nb",
        "a\\r\\nX-Y: z",
        "\\u001b[31m",
        "a\\u200bb",
        "\\u202ea",
        "e\\u0301",
        "\\ufeffa",
        &long,
    ] {
        let body = format!(r#"{{"exec_id":"e","code":"","state_name":"initial","new_state_name":"{name}"}}"#);
        let answer = server.owner(Request::post("/execute", &body));
        assert_eq!((answer.status, answer.error_code().as_str()), (400, "bad_request"), "{name}: {answer:?}");
    }
    for path in [
        "/states/..%2f..%2fetc%2fpasswd",
        "/states/%ff",
        "/states/a%00",
        "/states/%0d%0aX-Y:%20z",
        "/states/%2e%2e",
    ] {
        for method in ["GET", "DELETE"] {
            let answer = server.owner(Request::new(method, path));
            assert_eq!(answer.status, 404, "{method} {path}");
            assert!(answer.headers.iter().all(|(name, _)| name != "x-y"));
        }
    }
    assert_eq!(server.owner(Request::get("/states")).json()["states"], serde_json::json!(["initial"]));
    assert!(!server.errors().contains("X-Y"), "{}", server.errors());
}

#[test]
fn a_cell_longer_than_a_mebibyte_is_refused() {
    let server = TestServer::start();
    let code = "x".repeat(1024 * 1024 + 1);
    let body = format!(r#"{{"exec_id":"e","state_name":"initial","code":"{code}"}}"#);
    assert_eq!(server.owner(Request::post("/execute", &body)).status, 413);
}

#[test]
fn encoded_bodies_are_refused() {
    let server = TestServer::start();
    for encoding in ["gzip", "br", "identity, gzip", "x"] {
        let request = Request::post("/interrupt", r#"{"exec_id":"a"}"#).header("content-encoding", encoding);
        assert_eq!(server.owner(request).status, 415, "{encoding}");
    }
    assert_eq!(server.owner(Request::get("/states").header("content-length", "2").body("{}")).status, 400);
}

/// If two programs disagree about the end of a request, a second request can be hidden in the body
/// of the first one.
#[test]
fn ambiguous_framing_is_refused_and_the_connection_ends() {
    let server = TestServer::start();
    let host = server.host();
    let smuggled = format!("GET /states HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
    for headers in [
        "content-length: 2\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 2\r\n",
        "content-length: 2\r\ncontent-length: 3\r\n",
        "content-length: +2\r\n",
        "content-length: -2\r\n",
        "content-length: 2, 2\r\n",
        "content-length: 0x2\r\n",
        "transfer-encoding: xchunked\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n",
        "transfer-encoding : chunked\r\n",
        " content-length: 2\r\n",
        "content-length: 2\r\n x: y\r\n",
        "x: a\0b\r\n",
        "x\0: a\r\n",
    ] {
        let mut wire = Wire::open(server.address);
        let text = post_head(&server, "/interrupt", headers) + "{}" + &smuggled;
        wire.write(text.as_bytes());
        let status = wire.answer(false).map(|a| a.status);
        assert!(status.is_none_or(|s| matches!(s, 400 | 411 | 501)), "{headers:?}: {status:?}");
        assert!(wire.answer(false).is_none(), "{headers:?}: a second answer came");
    }
}

#[test]
fn an_unread_body_is_not_taken_for_the_next_request() {
    let server = TestServer::start();
    let smuggled =
        format!("GET /states HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\n\r\n", server.host());
    let head = format!(
        "POST /execute HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n",
        server.host(),
        smuggled.len()
    );
    let mut wire = Wire::open(server.address);
    wire.write((head + &smuggled).as_bytes());
    assert_eq!(wire.answer(false).map(|a| a.status), Some(401));
    assert!(wire.answer(false).is_none(), "the body was answered");
}

#[test]
fn requests_on_one_connection_are_answered_in_order() {
    let server = TestServer::start();
    let mut wire = Wire::open(server.address);
    let (good, bad) =
        (Request::get("/health").bytes(&server.host()), Request::get("/nothing").bytes(&server.host()));
    let all: Vec<u8> = (0..40).flat_map(|i| if i % 2 == 0 { good.clone() } else { bad.clone() }).collect();
    wire.write(&all);
    for i in 0..40 {
        assert_eq!(wire.answer(false).map(|a| a.status), Some(if i % 2 == 0 { 200 } else { 401 }));
    }
}

#[test]
fn huge_heads_are_refused() {
    let server = TestServer::start();
    let huge = Request::get("/health").header("x", &"y".repeat(256 * 1024)).bytes(&server.host());
    let mut wire = Wire::open(server.address);
    wire.write(&huge);
    assert!(wire.answer(false).is_none_or(|a| (400..500).contains(&a.status)));
    let many = (0..200).fold(Request::get("/health"), |r, i| r.header(&format!("x{i}"), "y"));
    let mut wire = Wire::open(server.address);
    wire.write(&many.bytes(&server.host()));
    assert!(wire.answer(false).is_none_or(|a| (400..500).contains(&a.status)));
    assert_eq!(server.send(Request::get("/health")).status, 200);
}
