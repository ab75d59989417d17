//! Tests of connections without requests. They are closed after a while, or to make room for
//! others.

use crate::request::Request;
use crate::server::{PATIENCE, TOKEN, TestServer};
use crate::wire::Wire;
use std::time::{Duration, Instant};

/// A limit of 300 descriptors, so that the server accepts 100 connections and some reserved ones.
const FEW: &[&str] = &["prlimit", "--nofile=300:300"];

#[test]
fn an_endless_head_is_cut_off_on_a_connection_used_before() {
    let server = TestServer::fresh();
    let health = Request::get("/health").bytes(&server.host());
    // In the second case the same packet also contains the beginning of the next head.
    for (begun, rest) in [("", "GET /health HTTP/1.1\r\nx: "), ("GET /hea", "lth HTTP/1.1\r\nx: ")] {
        let first = [health.as_slice(), begun.as_bytes()].concat();
        let mut wire = Wire::open(server.address);
        assert_eq!(wire.ask(&first).status, 200);
        let begun = Instant::now();
        wire.write(rest.as_bytes());
        // Sends one byte at a time, and never the end of the head.
        while !wire.has_ended() {
            assert!(begun.elapsed() < PATIENCE, "the connection is never closed");
            wire.write(b"y");
            std::thread::sleep(Duration::from_millis(200));
        }
        eprintln!("the connection was closed after {:?}", begun.elapsed());
    }
    let mut wire = Wire::open(server.address);
    for _ in 0..3 {
        assert_eq!(wire.ask(&health).status, 200, "a connection with requests stays open");
    }
}

#[test]
fn idle_connections_are_closed_to_make_room() {
    let (server, has_begun) = TestServer::start_under(FEW);
    assert!(has_begun, "{}", server.errors());
    let state = server.run("initial", "x = 7").state().to_owned();
    let host = server.host();
    let list = Request::get("/states").bearer(TOKEN).bytes(&host);
    let mut owner = Wire::open(server.address);
    assert_eq!(owner.ask(&list).status, 200);
    let health = Request::get("/health").bytes(&host);
    let mut crowd = Vec::new();
    // Opens many more connections than allowed. Each one sends the beginning of another head.
    for _ in 0..400 {
        let mut wire = Wire::open(server.address);
        assert_eq!(wire.ask(&health).status, 200, "a new connection is accepted");
        wire.write(b"GET /health HTTP/1.1\r\n");
        crowd.push(wire);
    }
    assert_eq!(owner.ask(&list).status, 200, "a connection that sent a token stays open");
    assert_eq!(server.owner(Request::get("/api/notebooks/main")).status, 200);
    assert_eq!(server.run(&state, "print(x)").text(), "7\n");
    assert!(crowd[0].ends(), "the oldest idle connection was closed");
}
