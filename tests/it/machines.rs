//! Tests of copies in a store off this machine, in a directory. `tests/machines` uses a real S3
//! server.

use crate::cells::Room;
use crate::request::Request;
use crate::server::{PATIENCE, TestServer};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs a command in the directory `room`, by the install whose home it is.
fn ratoon(room: &Room, store: &str, words: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ratoon"));
    command.args(words).current_dir(room.path()).env("HOME", room.path()).env("RATOON_STORE", store);
    let ended = command.env_remove("XDG_CONFIG_HOME").stdin(Stdio::null()).output().unwrap();
    let said = [ended.stdout, ended.stderr].concat();
    (ended.status.success(), String::from_utf8_lossy(&said).into_owned())
}

fn store_in(room: &Room) -> String {
    format!("file://{}", room.file("store").display())
}

#[test]
fn a_notebook_is_pushed_and_pulled_by_command() {
    let (here, there) = (Room::new(), Room::new());
    let store = store_in(&here);
    let mut server = TestServer::in_dir(here.path());
    let state = server.run("initial", "x = 41").state().to_owned();
    server.checkpoint(&state, json!({}));
    let (done, said) = ratoon(&here, &store, &["push", "main"]);
    assert!(!done && said.contains("open"), "a server has it open: {said}");
    server.signal(nix::sys::signal::Signal::SIGTERM);
    server.wait();

    let (done, said) = ratoon(&here, &store, &["push", "main"]);
    assert!(done && said.contains("new blobs"), "{said}");
    let (done, said) = ratoon(&here, &store, &["push", "main"]);
    assert!(done && said.contains("everything already"), "{said}");
    let (done, said) = ratoon(&there, &store, &["pull", "main", "--as", "copy"]);
    assert!(done && said.contains("not trusted") && said.contains("ratoon -- copy"), "{said}");
    assert!(ratoon(&there, &store, &["check", "copy"]).0);
    let (done, said) = ratoon(&there, &store, &["pull", "main", "--as", "copy"]);
    assert!(!done && said.contains("changes"), "{said}");
    let (done, said) = ratoon(&there, &store, &["pull", "main", "--versions"]);
    assert!(done && said.starts_with("1.1  ") && said.lines().count() == 1, "{said}");
    let (done, said) = ratoon(&there, &store, &["pull", "other"]);
    assert!(!done && said.contains("no notebook of this name"), "{said}");
    let (done, said) = ratoon(&there, &store, &["gc", "--store", &store]);
    assert!(done && said.starts_with("0 blobs removed"), "{said}");
    let (done, said) = ratoon(&there, "", &["pull", "main"]);
    assert!(!done && said.contains("--store"), "{said}");

    ratoon(&there, &store, &["trust", "--yes", "copy"]);
    let server = TestServer::start_with(&["--dir", there.path().to_str().unwrap(), "--", "copy"]);
    assert_eq!(server.run(&state, "print(x + 1)").text(), "42\n");
}

#[test]
fn cells_do_not_inherit_the_credentials_of_the_store() {
    let variables = [
        "env",
        "RATOON_STORE=s3://bucket/prefix?endpoint=http://127.0.0.1:1",
        "RATOON_STORE_REGION=eu-west-1",
        "AWS_ACCESS_KEY_ID=the-access-key",
        "AWS_SECRET_ACCESS_KEY=the-secret-key",
        "AWS_REGION=eu-west-2",
    ];
    let (server, has_begun) = TestServer::start_under(&variables);
    assert!(has_begun);
    let code = "import os, subprocess\nprint({k: v for k, v in os.environ.items() if ('AWS' in k or 'STORE' in k) and 'CA_' not in k})\n\
                print('secret' in subprocess.check_output('env', text=True))";
    assert_eq!(server.run("initial", code).text(), "{'AWS_REGION': 'eu-west-2'}\nFalse\n");
    let environ = std::fs::read(Path::new("/proc").join(server.pid().to_string()).join("environ")).unwrap();
    assert!(!String::from_utf8_lossy(&environ).contains("the-secret-key"));

    // The user's own key stays, if the store has another.
    let own = ["RATOON_STORE_ACCESS_KEY_ID=stores", "RATOON_STORE_SECRET_ACCESS_KEY=stores-secret"];
    let (server, _) = TestServer::start_under(&[&variables[..], &own].concat());
    let code = "import os\nprint(os.environ['AWS_SECRET_ACCESS_KEY'], 'RATOON_STORE_SECRET_ACCESS_KEY' in os.environ)";
    assert_eq!(server.run("initial", code).text(), "the-secret-key False\n");
}

/// Waits until the copy of the server's notebook in its store is in this phase. Returns its status.
fn wait_for_phase(server: &TestServer, phase: &str) -> Value {
    let began = Instant::now();
    loop {
        let offsite = server.notebook()["offsite"].clone();
        if offsite["phase"] == phase {
            return offsite;
        }
        assert!(began.elapsed() < PATIENCE, "{phase}: {offsite}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_pushes_by_itself_and_a_second_one_is_read_only_until_it_takes_over() {
    let (here, there) = (Room::new(), Room::new());
    let store = store_in(&here);
    let start =
        |room: &Room| TestServer::start_with(&["--dir", room.path().to_str().unwrap(), "--store", &store]);
    let first = start(&here);
    wait_for_phase(&first, "pushed");
    let (done, said) = ratoon(&there, &store, &["pull", "main"]);
    assert!(done, "{said}");

    let second = start(&there);
    let held = wait_for_phase(&second, "held");
    assert!(held["why"].as_str().unwrap().contains(" on "), "{held}");
    let body = json!({"code": "x = 1", "exec_id": "refused", "state_name": "initial"}).to_string();
    let refused = second.owner(Request::post("/execute", &body));
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("take it over"), "{}", refused.text());
    assert_eq!(first.run("initial", "print(1)").text(), "1\n");

    let taken = second.owner(Request::post("/api/notebooks/main/commands", r#"{"do": "take_over"}"#));
    assert_eq!(taken.status, 200, "{}", taken.text());
    wait_for_phase(&second, "pushed");
    assert_eq!(second.run("initial", "print(2)").text(), "2\n");
    // The first server notices it when it pushes its last change.
    let held = wait_for_phase(&first, "held");
    assert!(held["why"].as_str().unwrap().contains("taken it over"), "{held}");
    let refused = first.owner(Request::post("/execute", &body));
    assert_eq!(refused.status, 409, "{}", refused.text());
}
