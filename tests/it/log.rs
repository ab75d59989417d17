//! Tests of the server's log.

use crate::cells::Room;
use crate::request::Request;
use crate::server::{TOKEN, TestServer, output_of, program};
use nix::sys::signal::Signal;

#[test]
fn the_log_says_what_happened_and_contains_neither_code_nor_tokens() {
    let room = Room::new();
    let file = room.file("log");
    let mut server = TestServer::start_with(&["--log", "debug", "--log-file", file.to_str().unwrap()]);
    let secret = "a text of the user";
    let state = server.run("initial", &format!("x = print({secret:?})")).state().to_owned();
    assert_eq!(server.run(&state, "import os; os._exit(3)").ename(), "KernelDied");
    let run = server.begin(&state, &format!("open({:?}, 'w').close()\nwhile True: pass", room.file("runs")));
    room.wait_for("runs");
    assert!(server.interrupt(&run.exec_id));
    assert_eq!(run.end().ename(), "KeyboardInterrupt");
    for _ in 0..3 {
        assert_eq!(server.send(Request::get("/states").bearer("another token")).status, 401);
    }
    server.signal(Signal::SIGTERM);
    assert_eq!(server.wait(), Some(0));
    let log = std::fs::read_to_string(&file).unwrap();
    for part in [
        "INFO the server started version=",
        "INFO notebook{name=\"main\"}: opened",
        "Python starts process=1",
        "DEBUG notebook{name=\"main\"}: a process is forked",
        "a run was ended run=",
        "cause=KernelDied",
        "cause=Interrupt",
        "exit=Some(Code(3))",
        "requests were refused by_status={401: 1}",
        "INFO the server stops",
        "INFO notebook{name=\"main\"}: closed",
    ] {
        assert!(log.contains(part), "no {part:?} in:\n{log}");
    }
    assert!(!log.contains(secret) && !log.contains(TOKEN) && !log.contains("another token"), "{log}");
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
    assert_eq!(server.errors(), "");
}

#[test]
fn by_default_only_warnings_are_logged_to_stderr() {
    let server = TestServer::fresh();
    assert_eq!(server.run("initial", "import os; os._exit(3)").ename(), "KernelDied");
    assert_eq!(server.errors(), "");
}

#[test]
fn a_log_that_cannot_begin_is_refused_with_a_remedy() {
    for (options, why) in [
        (&["--log", "loud"][..], "possible values: off, error, warn, info, debug"),
        (&["--log-file", "/no/such/place/log"], "cannot log to /no/such/place/log"),
    ] {
        let output = output_of(options);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && text.contains(why), "{text}");
    }
    let refused = program(&[]).env("RATOON_LOG", "loud").output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && text.contains("set it to off, error, warn"), "{text}");
}
