//! Regression tests for faults that the soak test (`tests/soak`) found.

use crate::cells::{Live, Ran, unique};
use crate::request::Request;
use crate::server::{TestServer, until};
use serde_json::{Value, json};

fn command(server: &TestServer, command: Value) -> Value {
    server.owner(Request::post("/api/notebooks/main/commands", &command.to_string())).json()
}

fn names_of(notebook: &Value, what: &str, field: &str) -> Vec<String> {
    let all = notebook[what].as_array().unwrap();
    all.iter().map(|one| one[field].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_deleted_state_is_removed_with_its_last_run_whose_answer_has_its_output() {
    let server = TestServer::start();
    let room = server.room();
    let base = server.run("initial", "import os, time; x = 1").state().to_owned();
    let middle = server.run(&base, "y = 2").state().to_owned();
    let code = "print('kept', flush=True); open('began', 'w').close()\n\
                while not os.path.exists('go'): time.sleep(0.01)\n1 / 0";
    let going = server.begin(&middle, code);
    room.wait_for("began");
    for state in [&base, &middle] {
        assert_eq!(command(&server, json!({"do": "delete_state", "state": state}))["kind"], "done");
    }
    room.put("go");
    let ran = going.end();
    assert_eq!((ran.ename(), ran.text().as_str()), ("ZeroDivisionError", "kept\n"));
    let notebook = server.notebook();
    assert_eq!(names_of(&notebook, "states", "id"), ["initial"]);
    assert_eq!(names_of(&notebook, "runs", "exec_id"), [""; 0]);
}

#[test]
fn runs_that_waited_for_an_attempt_are_deleted_with_it() {
    let server = TestServer::start();
    let room = server.room();
    let base = server.run("initial", "import os, time").state().to_owned();
    let mut live = Live::join(&server);
    let runs: Vec<String> = (0..3).map(|_| unique("live")).collect();
    let mut on = json!({"state": base});
    for (exec_id, code) in
        runs.iter().zip(["while not os.path.exists('go'): time.sleep(0.01)\n1 / 0", "2", "3"])
    {
        live.send(json!({"do": "run", "exec_id": exec_id, "code": code, "on": on}));
        live.event(exec_id, "run_added");
        on = json!({"run": exec_id});
    }
    room.put("go");
    live.event(&runs[2], "run_ended");
    assert_eq!(command(&server, json!({"do": "drop_attempt", "exec_id": runs[0]}))["kind"], "done");
    assert_eq!(names_of(&server.notebook(), "runs", "exec_id").len(), 1, "{:#}", server.notebook());
}

#[test]
fn simultaneous_replays_of_one_lineage_do_not_disturb_each_other() {
    let mut server = TestServer::start_with(&["--no-checkpoints"]);
    // The cell is slow, so that all requests arrive during the replay.
    let slow = server.run("initial", "import time; time.sleep(0.3); x = 1").state().to_owned();
    let ends: Vec<String> =
        (0..4).map(|n| server.run(&slow, &format!("x += {n}; y = x")).state().to_owned()).collect();
    server.restart();
    let replay = || json!({"replay": true});
    let far: Vec<_> = ends.iter().map(|end| server.begin_with(end, "print(y)", replay())).collect();
    let near: Vec<_> = (0..8).map(|_| server.begin_with(&slow, "print(x)", replay())).collect();
    let told = |ran: Ran| (ran.text(), ran.error);
    for (n, going) in far.into_iter().enumerate() {
        assert_eq!(told(going.end()), (format!("{}\n", 1 + n), None));
    }
    for going in near {
        assert_eq!(told(going.end()), ("1\n".to_owned(), None));
    }
    server.has_no_zombies();
}

#[test]
fn a_stopping_server_opens_no_notebook() {
    let mut server = TestServer::start();
    // Saving this state takes so long that it is not finished when the notebook closes.
    let code =
        "import time\nclass Slow:\n    def __reduce__(self): time.sleep(1.5); return int, ()\nslow = Slow()";
    server.run("initial", code);
    server.signal(nix::sys::signal::Signal::SIGINT);
    let mut refused = None;
    until("it refuses", || {
        let answer = server.owner(Request::get("/states"));
        refused = (answer.status != 200).then_some(answer);
        refused.is_some()
    });
    let answer = refused.unwrap();
    assert_eq!((answer.status, answer.json()["error"]["code"].as_str()), (503, Some("closed")), "{answer:?}");
    assert_eq!(server.wait(), Some(0));
}
