//! Starting and stopping: errors are reported clearly, and before the server starts.

use crate::request::Request;
use crate::server::{TOKEN, TestServer, output_of, until};
use crate::wire::{Frame, Wire};
use nix::sys::signal::Signal;
use std::process::Output;
use std::time::{Duration, Instant};

fn refused(options: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = output_of(options);
    assert!(stdout.is_empty(), "it says an address all the same");
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn what_cannot_work_is_said_with_a_way_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (options, why, how) in [
        (&["--bind", taken.as_str()][..], "the port is taken", "--bind 127.0.0.1:0"),
        (&["--bind", "nonsense"], "cannot listen on nonsense", "HOST:PORT"),
        (&["--bind", "127.0.0.1:99999"], "cannot listen", "HOST:PORT"),
        (&["--bind", "0.0.0.0:0"], "other machines could reach it", "--dangerously-listen-beyond-loopback"),
        (&["--bind", "[::]:0"], "other machines could reach it", "--dangerously-listen-beyond-loopback"),
        (&["--bind", "127.0.0.1:0", "--dir", "/no/such/place"], "it does not exist", "--dir"),
        (&["--bind", "127.0.0.1:0", "--dir", "/dev/null"], "not a directory", "--dir"),
        (&["--bind", "127.0.0.1:0", "--python", "/no/python"], "/no/python", "--python"),
        (&["--bind", "127.0.0.1:0", "--token", ""], "it is empty", "--token"),
        (&["--bind", "127.0.0.1:0", "--token", "a"], "fewer than 7 characters", "leave --token out"),
        (&["--bind", "127.0.0.1:0", "--token", "secret"], "fewer than 7 characters", "openssl rand"),
        (&["--bind", "127.0.0.1:0", "--timeout", "0"], "a positive number", "--timeout"),
        (&["--bind", "127.0.0.1:0", "../x"], "name a notebook", "dot"),
        (&["--nonsense"], "--nonsense", "--help"),
    ] {
        let (code, text) = refused(options);
        assert_eq!(code, Some(2), "{options:?}: {text}");
        assert!(text.contains(why) && text.contains(how), "{options:?}: {text}");
        assert!(!text.contains("panicked"), "{text}");
    }
}

/// With very few descriptors the notebook can be opened, but the threads that serve connections
/// cannot be started.
#[test]
fn a_server_that_cannot_serve_ends_with_an_error() {
    let mut server = TestServer::start();
    server.kill();
    let has_begun = (8..64).any(|descriptors| {
        let limit = format!("ulimit -n {descriptors}; exec \"$@\"");
        let has_begun = server.start_again(&["sh", "-c", &limit, "sh"]);
        assert_ne!(server.wait(), Some(0), "with {descriptors} descriptors");
        has_begun
    });
    assert!(has_begun, "no limit lets the notebook open: {}", server.errors());
    until("the error is printed", || server.errors().contains("ratoon cannot serve any longer: "));
    until("the remedy is printed", || server.errors().contains("ulimit -n"));
}

#[test]
fn one_address_is_said_and_it_works() {
    let server = TestServer::start();
    let url = server.greeting.trim();
    assert_eq!(url, format!("Ratoon is at http://{}/n/main?token={TOKEN}", server.address));
    assert!(server.address.ip().is_loopback());
    assert_eq!(server.send(Request::get("/health")).status, 200);
}

#[test]
fn it_ends_when_told_to_and_says_goodbye() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut server = TestServer::start();
        let mut socket = Wire::socket(&server, TOKEN);
        assert!(matches!(socket.hear(), Frame::Text(_)));
        let told = Instant::now();
        server.signal(signal);
        assert_eq!(server.wait(), Some(0), "{}", server.errors());
        assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());
        assert_eq!(socket.closing(), Some(4408));
    }
}
