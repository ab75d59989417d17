//! Tests of starting and stopping. Errors are reported clearly, and before the server starts.

use crate::cells::Room;
use crate::request::Request;
use crate::server::{TOKEN, TestServer, output_of, program, until};
use crate::wire::{Frame, Wire};
use nix::sys::signal::Signal;
use std::os::unix::ffi::OsStrExt;
use std::process::Output;
use std::time::{Duration, Instant};

fn refused(options: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = output_of(options);
    assert!(stdout.is_empty(), "the server printed an address nevertheless");
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn wrong_options_are_refused_with_a_remedy() {
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

/// Such a path cannot be sent to kernel processes.
#[test]
fn a_directory_whose_path_is_not_utf8_is_refused() {
    let room = Room::new();
    let odd = room.path().join(std::ffi::OsStr::from_bytes(b"\xe9"));
    std::fs::create_dir(&odd).unwrap();
    let refused = program(&[]).args(["--bind", "127.0.0.1:0"]).current_dir(&odd).output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("its path is not valid UTF-8") && text.contains("rename it"), "{text}");
}

#[test]
fn a_file_in_place_of_a_notebook_is_refused_with_the_command_that_imports_it() {
    let room = Room::new();
    std::fs::write(room.file("paper.ipynb"), "{}").unwrap();
    let refused = program(&[]).arg("paper.ipynb").current_dir(room.path()).output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("it is a file") && text.contains("ratoon import paper.ipynb"), "{text}");
    assert!(!room.file("paper.ipynb.ratoon").exists());
}

/// With very few descriptors, the server can open the notebook, but cannot start the threads that
/// serve connections.
#[test]
fn a_server_that_cannot_serve_ends_with_an_error() {
    let mut server = TestServer::fresh();
    server.kill();
    let has_begun = (8..64).any(|descriptors| {
        let limit = format!("ulimit -n {descriptors}; exec \"$@\"");
        let has_begun = server.start_again(&["sh", "-c", &limit, "sh"]);
        assert_ne!(server.wait(), Some(0), "with {descriptors} descriptors");
        has_begun
    });
    assert!(has_begun, "no limit lets the notebook open: {}", server.errors());
    until("the error is printed", || server.errors().contains("ratoon cannot keep serving: "));
    until("the remedy is printed", || server.errors().contains("ulimit -n"));
}

#[test]
fn the_printed_address_works() {
    let server = TestServer::fresh();
    let url = server.greeting.trim();
    assert_eq!(url, format!("Ratoon is at http://{}/n/main?token={TOKEN}", server.address));
    assert!(server.address.ip().is_loopback());
    assert_eq!(server.send(Request::get("/health")).status, 200);
}

#[test]
fn a_signal_stops_the_server_with_a_message() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut server = TestServer::fresh();
        let mut socket = Wire::socket(&server, TOKEN);
        assert!(matches!(socket.hear(), Frame::Text(_)));
        let told = Instant::now();
        server.signal(signal);
        assert_eq!(server.wait(), Some(0), "{}", server.errors());
        assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());
        assert_eq!(socket.closing(), Some(4408));
    }
}
