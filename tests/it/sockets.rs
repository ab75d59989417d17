//! Tests of the WebSocket: accepted handshakes, messages, and the causes of a closed connection.

use crate::request::Request;
use crate::server::{TOKEN, TestServer, until};
use crate::wire::{Frame, Wire};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn a_socket_begins_with_the_clients_scope_and_a_snapshot() {
    let server = TestServer::start();
    let mut socket = Wire::socket(&server, TOKEN);
    let greeting = socket.hear_until(|_| true);
    assert_eq!(greeting["you"], json!({"scope": "owner", "terminals": true, "start": true}));
    let snapshot = socket.hear_until(|_| true);
    assert_eq!(snapshot["epoch"], greeting["epoch"]);
    assert_eq!(snapshot["snapshot"]["name"], "main");
    assert_eq!(snapshot["snapshot"]["states"][0]["id"], "initial");
    assert!(snapshot["epoch"].is_string() && snapshot["seq"].is_u64());
}

#[test]
fn a_client_that_reconnects_gets_only_the_missed_events() {
    let server = TestServer::start();
    let label = |socket: &mut Wire, label: &str| {
        socket.command(1, &format!(r#""do":"label","state":"initial","label":"{label}""#))
    };
    let mut first = Wire::socket(&server, TOKEN);
    let snapshot = first.hear_until(|m| m["snapshot"].is_object());
    // The kernel may still be starting. Its events are also in the stream.
    first.say(r#"{"id":1,"do":"label","state":"initial","label":"one"}"#);
    let seen = first.hear_until(|m| m["state"]["label"] == "one");
    drop(first);
    let mut second = Wire::socket(&server, TOKEN);
    assert_eq!(label(&mut second, "two")["kind"], "done");

    let back = |epoch: &str, seq: u64| {
        let mut wire = Wire::open(server.address);
        let request = Wire::handshake(&format!("/ws/main?epoch={epoch}&seq={seq}")).bearer(TOKEN);
        assert_eq!(wire.ask(&request.bytes(&server.host())).status, 101);
        wire.hear();
        wire
    };
    let (epoch, seq) = (seen["epoch"].as_str().unwrap(), seen["seq"].as_u64().unwrap());
    assert_eq!(snapshot["epoch"], epoch);
    let mut last = seq;
    back(epoch, seq).hear_until(|message| {
        assert!(message["snapshot"].is_null(), "a snapshot for a client that missed few events");
        message["state"]["label"] == "two"
    });
    let missed = back(epoch, seq).hear_until(|message| {
        assert_eq!(message["seq"].as_u64(), Some(seq + 1));
        true
    });
    last += 1;
    assert_eq!(missed["seq"].as_u64(), Some(last));
    assert!(back("another-epoch", seq).hear_until(|_| true)["snapshot"].is_object());
}

#[test]
fn every_invalid_handshake_is_refused_before_the_upgrade() {
    let server = TestServer::start();
    let port = server.address.port();
    let right = || Wire::handshake("/ws/main").bearer(TOKEN);
    let without = |name: &str, value: Option<&str>| {
        let parts = [
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let request = Request::get("/ws/main").bearer(TOKEN);
        parts.iter().fold(request, |r, (own, default)| match value {
            _ if *own != name => r.header(own, default),
            Some(other) => r.header(own, other),
            None => r,
        })
    };
    for (what, request) in [
        ("no token", Wire::handshake("/ws/main")),
        ("a wrong token", Wire::handshake("/ws/main?token=wrong")),
        ("a wrong cookie", Wire::handshake("/ws/main").header("cookie", &format!("ratoon_{port}=wrong"))),
        ("the token as a protocol", Wire::handshake("/ws/main").header("sec-websocket-protocol", TOKEN)),
        ("no notebook", Wire::handshake("/ws/none").bearer(TOKEN)),
        ("a null origin", right().header("origin", "null")),
        ("another origin", right().header("origin", "http://evil.test")),
        ("another port", right().header("origin", &format!("http://127.0.0.1:{}", port ^ 1))),
        ("another host", right().header("host", "evil.test")),
        ("cross-site", right().header("sec-fetch-site", "cross-site")),
        ("same-site", right().header("sec-fetch-site", "same-site")),
        ("a position without its epoch", Wire::handshake("/ws/main?seq=1").bearer(TOKEN)),
        ("an invalid position", Wire::handshake("/ws/main?epoch=a&seq=-1").bearer(TOKEN)),
        ("POST", Request::new("POST", "/ws/main").bearer(TOKEN)),
        ("no upgrade", without("upgrade", None)),
        ("another upgrade", without("upgrade", Some("h2c"))),
        ("no connection", without("connection", None)),
        ("no version", without("sec-websocket-version", None)),
        ("an old version", without("sec-websocket-version", Some("8"))),
        ("no key", without("sec-websocket-key", None)),
    ] {
        let status = server.send(request).status;
        assert!((400..500).contains(&status), "{what}: {status}");
    }
    assert_eq!(server.send(right()).status, 101);
    assert_eq!(server.send(Wire::handshake(&format!("/ws/main?token={TOKEN}"))).status, 101);
    let compressed = server.send(right().header("sec-websocket-extensions", "permessage-deflate"));
    assert_eq!((compressed.status, compressed.header("sec-websocket-extensions")), (101, None));
}

#[test]
fn invalid_messages_get_an_error_and_the_socket_stays_open() {
    let server = TestServer::start();
    let mut socket = Wire::socket(&server, TOKEN);
    for (text, id) in [
        ("", Value::Null),
        ("hello", Value::Null),
        ("null", Value::Null),
        ("[]", Value::Null),
        ("{}", Value::Null),
        (r#"{"id":null,"do":"reset"}"#, Value::Null),
        (r#"{"id":1.5,"do":"reset"}"#, Value::Null),
        (r#"{"id":1,"id":2,"do":"reset"}"#, Value::Null),
        (r#"{"id":1}"#, json!(1)),
        (r#"{"id":2,"do":"dance"}"#, json!(2)),
        (r#"{"id":3,"do":["reset"]}"#, json!(3)),
        (r#"{"id":4,"do":"interrupt","exec_id":"a","more":1}"#, json!(4)),
        (r#"{"id":5,"do":"run","exec_id":"a","code":"1","on":{"state":"initial"},"timeout":-1}"#, json!(5)),
        (
            r#"{"id":6,"do":"run","exec_id":"a","code":"1","on":{"state":"initial"},"new_state_name":"a/b"}"#,
            json!(6),
        ),
        (&"[".repeat(100_000), Value::Null),
    ] {
        socket.say(text);
        let answer = socket.hear_until(|m| m.get("reply").is_some());
        assert_eq!((&answer["reply"], &answer["kind"]), (&id, &json!("refused")), "{text:.60}");
        assert_eq!(answer["code"], "bad_request", "{text:.60}");
    }
    let answer = socket.command(7, r#""do":"interrupt","exec_id":"none""#);
    assert_eq!(answer, json!({"reply": 7, "kind": "interrupted", "interrupted": false}));
}

#[test]
fn an_invalid_frame_closes_only_its_own_socket() {
    let server = TestServer::start();
    let mut other = Wire::socket(&server, TOKEN);
    let ends_with = |what: &str, code: u16, send: &dyn Fn(&mut Wire)| {
        let mut socket = Wire::socket(&server, TOKEN);
        send(&mut socket);
        assert_eq!(socket.closing(), Some(code), "{what}");
    };
    ends_with("not UTF-8", 1007, &|s| s.frame(0x81, b"\xff\xfe"));
    ends_with("a reserved bit", 1002, &|s| s.frame(0xc1, b"{}"));
    ends_with("no mask", 1002, &|s| s.write(&[0x81, 2, b'{', b'}']));
    ends_with("an unknown opcode", 1002, &|s| s.frame(0x83, b"x"));
    ends_with("a long ping", 1002, &|s| s.frame(0x89, &[b'x'; 126]));
    ends_with("binary", 1003, &|s| s.frame(0x82, b"x"));
    ends_with("more than 1 MiB", 1009, &|s| s.frame(0x81, &vec![b' '; 1024 * 1024 + 1]));
    ends_with("2 GiB announced", 1009, &|s| s.write(&[0x81, 0xff, 0, 0, 0, 0, 0x80, 0, 0, 0]));
    ends_with("the top bit of a length", 1009, &|s| s.write(&[0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0]));
    ends_with("a continuation without a beginning", 1002, &|s| s.frame(0x80, b"x"));
    ends_with("more than 1 MiB in parts", 1009, &|s| {
        s.frame(0x01, &vec![b' '; 600 * 1024]);
        s.frame(0x80, &vec![b' '; 600 * 1024]);
    });
    assert_eq!(other.command(1, r#""do":"interrupt","exec_id":"none""#)["kind"], "interrupted");
}

#[test]
fn a_view_link_sends_short_messages_only() {
    let server = TestServer::start();
    let link = server.owner(Request::post("/api/links", r#"{"scope":"view"}"#)).json();
    let mut socket = Wire::socket(&server, link["token"].as_str().unwrap());
    let stand = format!(r#""do":"stand","state":"initial"{}"#, " ".repeat(15_000));
    assert_eq!(socket.command(1, &stand)["kind"], "standing");
    // Refused at its header.
    socket.write(&[0x81, 0xfe, 0x40, 0x01]);
    assert_eq!(socket.closing(), Some(1009));
}

#[test]
fn a_fragmented_message_is_one_message() {
    let server = TestServer::start();
    let mut socket = Wire::socket(&server, TOKEN);
    socket.frame(0x01, br#"{"id":1,"do":"inter"#);
    socket.frame(0x89, b"are you there");
    socket.frame(0x80, br#"rupt","exec_id":"none"}"#);
    let mut pong = false;
    loop {
        match socket.hear_any() {
            (0x8a, content) => {
                assert_eq!(content, b"are you there");
                pong = true;
            }
            (0x81, content) if content.starts_with(br#"{"reply":1"#) => break,
            _ => (),
        }
    }
    assert!(pong, "a ping between the parts is answered first");
}

/// In an earlier version, a frame header that announced 2 GiB made the server buffer all following
/// bytes.
#[test]
fn announced_lengths_allocate_no_memory() {
    let server = TestServer::fresh();
    let mut sockets: Vec<Wire> = (0..20).map(|_| Wire::socket(&server, TOKEN)).collect();
    let before = server.memory();
    let megabyte = vec![b'x'; 1024 * 1024];
    for socket in &mut sockets {
        socket.write(&[0x81, 0xff, 0, 0, 0, 0, 0x80, 0, 0, 0, 1, 2, 3, 4]);
        for _ in 0..8 {
            socket.write(&megabyte);
        }
    }
    assert_eq!(server.owner(Request::get("/states")).status, 200);
    let grown = server.memory().saturating_sub(before);
    assert!(grown < 32 * 1024 * 1024, "it grew by {grown} bytes");
}

#[test]
fn three_hundred_clients_are_served() {
    let server = TestServer::fresh();
    let mut sockets: Vec<Wire> = (0..300).map(|_| Wire::socket(&server, TOKEN)).collect();
    assert_eq!(server.send(Request::get("/health")).status, 200);
    let answer = sockets[0].command(1, r#""do":"label","state":"initial","label":"seen by all""#);
    assert_eq!(answer["kind"], "done");
    for socket in &mut sockets[1..] {
        socket.hear_until(|m| m["state"]["label"] == "seen by all");
    }
    let descriptors = || std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    assert!(descriptors() > 300);
    drop(sockets);
    until("their descriptors are free again", || descriptors() < 100);
}

#[test]
fn a_quiet_socket_is_kept_alive() {
    let server = TestServer::start();
    let mut socket = Wire::socket(&server, TOKEN);
    let mut pinged = false;
    loop {
        match socket.hear() {
            Frame::Ping => pinged = true,
            Frame::Text(text) if text == r#"{"beat":true}"# => break,
            Frame::Text(_) => (),
            other => panic!("{other:?}"),
        }
    }
    assert!(pinged);
}

#[test]
fn signing_out_closes_the_sockets_of_the_session() {
    let server = TestServer::fresh();
    let cookie = server.send(Request::get(&format!("/?token={TOKEN}"))).cookie();
    let mut by_cookie = Wire::open(server.address);
    let handshake = Wire::handshake("/ws/main").header("cookie", &cookie);
    assert_eq!(by_cookie.ask(&handshake.bytes(&server.host())).status, 101);
    let mut by_token = Wire::socket(&server, TOKEN);
    assert_eq!(server.send(Request::new("DELETE", "/api/session").header("cookie", &cookie)).status, 204);
    assert_eq!(by_cookie.closing(), Some(4401));
    assert_eq!(by_token.command(1, r#""do":"interrupt","exec_id":"none""#)["kind"], "interrupted");
}

/// Sends drafts of half a mebibyte each to a client that does not read. They soon exceed the
/// buffers of the network and the server. The client sends messages now and then, because on a slow
/// machine the server would otherwise disconnect it as silent.
#[test]
fn a_client_that_does_not_read_is_disconnected_and_delays_nobody() {
    let server = TestServer::fresh();
    let mut slow = Wire::socket(&server, TOKEN);
    let mut quick = Wire::socket(&server, TOKEN);
    let before = server.memory();
    let began = Instant::now();
    let source = "x".repeat(512 * 1024);
    for id in 0..120 {
        slow.frame(0x8a, b"");
        let draft = format!(
            r#""do":"put_draft","draft":{{"id":"d","on":"initial","kind":"code","source":"{id}{source}"}}"#
        );
        assert_eq!(quick.command(id, &draft)["kind"], "done");
    }
    let grown = server.memory().saturating_sub(before);
    assert!(grown < 150 * 1024 * 1024, "it grew by {grown} bytes");
    // On a very busy machine the server may close the connection earlier: after 45 s with unread
    // data.
    let end = slow.closing();
    assert!(end == Some(4408) || end.is_none() && began.elapsed() > Duration::from_secs(40), "{end:?}");
}
