//! Tests of terminals: only the owner opens them, over guarded requests, and they end with the
//! server.

use crate::request::Request;
use crate::server::{TOKEN, TestServer, until};
use crate::wire::{Frame, Wire};
use nix::sys::signal::Signal;
use serde_json::json;
use std::path::Path;

/// Opens a terminal. Returns the path of its socket.
fn opened(server: &TestServer) -> String {
    let answer = server.owner(Request::post("/api/terminals", "{}"));
    assert_eq!(answer.status, 201, "{answer:?}");
    format!("/terminals/{}", answer.json()["id"])
}

fn connected(server: &TestServer, path: &str) -> Wire {
    let mut wire = Wire::open(server.address);
    let answer = wire.ask(&Wire::handshake(path).bearer(TOKEN).bytes(&server.host()));
    assert_eq!(answer.status, 101, "{answer:?}");
    wire
}

/// Types a line into a terminal.
fn type_line(wire: &mut Wire, line: &str) {
    wire.frame(0x82, format!("{line}\n").as_bytes());
}

/// Reads output until it contains a text.
fn shows(wire: &mut Wire, wanted: &str) -> String {
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains(wanted) {
        let (first, content) = wire.hear_any();
        assert_ne!(first, 0x88, "closed after {:?}", String::from_utf8_lossy(&shown));
        if first == 0x82 {
            shown.extend(content);
        }
    }
    String::from_utf8_lossy(&shown).into_owned()
}

#[test]
fn the_owner_types_into_a_shell_in_the_directory_of_the_notebooks() {
    let mut server = TestServer::fresh();
    let path = opened(&server);
    let mut wire = connected(&server, &path);
    wire.say(r#"{"rows":10,"columns":70}"#);
    type_line(&mut wire, "stty size; pwd -P; echo token=$RATOON_TOKEN; echo $$ > pid; echo do''ne");
    let shown = shows(&mut wire, "done\r\n");
    let dir = server.dir().canonicalize().unwrap();
    for wanted in ["10 70\r\n", &format!("{}\r\n", dir.display()), "token=\r\n"] {
        assert!(shown.contains(wanted), "{wanted:?} in {shown}");
    }
    let listed = || server.owner(Request::get("/api/terminals")).json();
    assert_eq!(listed(), json!({"terminals": [{"id": 1}]}));
    let other = opened(&server);
    let close = Request::new("DELETE", &format!("/api{other}"));
    assert_eq!(server.owner(close.clone()).status, 204);
    until("the other terminal is closed", || server.owner(close.clone()).status == 404);

    // A broken message ends the connection, and the terminal stays.
    wire.say("{}");
    let close = loop {
        if let (0x88, reason) = wire.hear_any() {
            break reason;
        }
    };
    assert_eq!(close, 1000_u16.to_be_bytes());
    let mut again = connected(&server, &path);
    assert!(shows(&mut again, "done\r\n").contains("10 70"));
    let pid = std::fs::read_to_string(dir.join("pid")).unwrap();
    let shell = Path::new("/proc").join(pid.trim());
    assert!(shell.exists());
    server.signal(Signal::SIGTERM);
    assert_eq!(server.wait(), Some(0));
    assert!(!shell.exists(), "the shell has ended with the server");
}

#[test]
fn a_terminal_that_ends_says_so_and_leaves_the_list() {
    let server = TestServer::fresh();
    let path = opened(&server);
    let mut wire = connected(&server, &path);
    type_line(&mut wire, "exit");
    while !matches!(wire.hear_any(), (0x81, text) if text == br#"{"ended":true}"#) {}
    assert_eq!(server.owner(Request::get("/api/terminals")).json(), json!({"terminals": []}));
    assert_eq!(server.owner(Wire::handshake(&path)).status, 404);
}

#[test]
fn guests_pages_of_others_and_servers_without_terminals_get_none() {
    let server = TestServer::fresh();
    let path = opened(&server);
    let made = server.owner(Request::post("/api/links", r#"{"scope":"run"}"#)).json();
    let guest = made["token"].as_str().unwrap();
    let requests = [
        Request::get("/terminal"),
        Request::get("/api/terminals"),
        Request::post("/api/terminals", "{}"),
        Request::new("DELETE", &format!("/api{path}")),
        Wire::handshake(&path),
    ];
    for request in &requests {
        assert_eq!(server.send(request.clone().bearer(guest)).status, 403, "{request:?}");
        let foreign = request.clone().header("origin", "http://evil.test");
        assert_eq!(server.owner(foreign).status, 403, "{request:?}");
    }
    let page = server.owner(requests[0].clone());
    assert!(page.header("content-security-policy").unwrap().contains("script-src 'self'; "));
    let greeting = |server: &TestServer, token: &str| match Wire::socket(server, token).hear() {
        Frame::Text(text) => text,
        other => panic!("{other:?}"),
    };
    assert!(greeting(&server, TOKEN).contains(r#""terminals":true"#));
    assert!(!greeting(&server, guest).contains("terminals"));

    let without = TestServer::start_with(&["--no-terminal"]);
    for request in &requests[1..] {
        let answer = without.owner(request.clone());
        assert_eq!(answer.status, 404, "{request:?}");
        assert!(answer.text().contains("--no-terminal"), "{answer:?}");
    }
    assert!(!greeting(&without, TOKEN).contains("terminals"));
}
