//! Tests of the variables of failed cells. They are discarded, kept at once, or kept later on
//! request.

use crate::cells::{Live, Room, unique};
use crate::request::Request;
use crate::restarts::{command, state_of};
use crate::server::{TestServer, output_of, until};
use serde_json::{Value, json};

/// The first cell of a real notebook whose last import is not installed.
const IMPORTS: &str = "import json\nx = 1\nimport no_such_module\ny = 2";

fn keep() -> Value {
    json!({"on_error": "keep"})
}

fn execute(server: &TestServer, state: &str, code: &str, more: Value) -> (String, Value) {
    let mut wish = json!({"exec_id": unique("partial"), "state_name": state, "code": code});
    wish.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = server.owner(Request::post("/execute", &wish.to_string()));
    assert_eq!(answer.status, 200, "{}", answer.text());
    (wish["exec_id"].as_str().unwrap().to_owned(), answer.json())
}

fn run_of(server: &TestServer, exec_id: &str) -> Value {
    let notebook = server.notebook();
    let runs = notebook["runs"].as_array().unwrap();
    runs.iter().find(|run| run["exec_id"] == exec_id).unwrap().clone()
}

/// Sends a command that may be refused. Returns the status and the body of the answer.
fn wish(server: &TestServer, command: Value) -> (u16, Value) {
    let answer = server.owner(Request::post("/api/notebooks/main/commands", &command.to_string()));
    (answer.status, answer.json())
}

/// Whether one of the server's processes is stopped.
fn has_stopped_process(server: &TestServer) -> bool {
    let is_stopped = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    server.descendants().iter().any(|process| is_stopped(process.pid))
}

#[test]
fn the_variables_of_a_failed_cell_are_undone_and_kept_on_request() {
    let server = TestServer::start();
    let (exec_id, body) = execute(&server, "initial", IMPORTS, json!({}));
    // Clients that do not use `keep` get the same answer as in earlier versions.
    assert_eq!((&body["state_name"], &body["error"]["ename"]), (&Value::Null, &json!("ModuleNotFoundError")));
    let warnings = body["warnings"].to_string();
    assert!(warnings.contains("on_error") && warnings.contains("undone"), "{body:#}");
    assert_eq!(run_of(&server, &exec_id)["keepable"], true);
    let kept = command(&server, json!({"do": "keep_partial", "exec_id": exec_id}));
    assert_eq!((&kept["kind"], &kept["status"]), (&json!("ended"), &json!("error")), "{kept:#}");
    let state = kept["state"].as_str().unwrap().to_owned();
    assert_eq!(kept["state_name"], state);
    let run = run_of(&server, &exec_id);
    assert_eq!((&run["state"], &run["status"]), (&json!(state), &json!("error")), "{run:#}");
    assert_eq!((&run["error"]["ename"], run.get("keepable")), (&json!("ModuleNotFoundError"), None));
    assert_eq!(state_of(&server, &state)["exec_id"], exec_id);
    assert_eq!(server.run(&state, "print(json.dumps(x), 'y' in globals())").text(), "1 False\n");
    let listed = server.owner(Request::get("/api/states")).json();
    let partial = |id: &str| {
        let all = listed["states"].as_array().unwrap();
        all.iter().find(|one| one["id"] == id).unwrap().get("partial").cloned()
    };
    assert_eq!((partial(&state), partial("initial")), (Some(json!(true)), None));
    // A repeated command gets the same answer. A repeated run without `keep` gets its first answer.
    assert_eq!(command(&server, json!({"do": "keep_partial", "exec_id": exec_id})), kept);
    let again = json!({"exec_id": exec_id, "state_name": "initial", "code": IMPORTS});
    let again = server.owner(Request::post("/execute", &again.to_string())).json();
    assert_eq!(
        (&again["state_name"], &again["error"]["ename"]),
        (&Value::Null, &json!("ModuleNotFoundError"))
    );
}

#[test]
fn a_run_can_ask_to_keep_the_variables_of_a_failed_cell_at_once() {
    let server = TestServer::start();
    let named = json!({"on_error": "keep", "new_state_name": "imports"});
    let (exec_id, body) = execute(&server, "initial", IMPORTS, named.clone());
    assert_eq!(
        (&body["state_name"], &body["error"]["ename"]),
        (&json!("imports"), &json!("ModuleNotFoundError"))
    );
    assert_eq!(body["output"].as_array().unwrap().last().unwrap()["output_type"], "error");
    assert_eq!(body.get("warnings").and_then(Value::as_array).map_or(0, Vec::len), 0, "{body:#}");
    assert_eq!(server.states(), ["initial", "imports"]);
    assert_eq!(server.run("imports", "print(x)").text(), "1\n");
    let mut again = json!({"exec_id": exec_id, "state_name": "initial", "code": IMPORTS});
    again.as_object_mut().unwrap().extend(named.as_object().unwrap().clone());
    assert_eq!(server.owner(Request::post("/execute", &again.to_string())).json(), body);
    // With `keep`, the run makes a state even if the cell has set no variable.
    let (_, body) = execute(&server, "imports", "1 / 0", keep());
    assert_eq!(body["error"]["ename"], "ZeroDivisionError");
    assert_eq!(server.run(body["state_name"].as_str().unwrap(), "print(x)").text(), "1\n");
    // If the cell succeeds, `keep` has no effect.
    let (_, body) = execute(&server, "imports", "z = 3", keep());
    assert_eq!(state_of(&server, body["state_name"].as_str().unwrap()).get("partial"), None);
    // There is no partial state if no line of the cell ran, or if the cell called exit.
    for code in
        ["x = 2\ndef f(:", "x = 2\nraise SystemExit", "x = 2\nexit()", "x = 2\nimport os\nos._exit(3)"]
    {
        let (exec_id, body) = execute(&server, "imports", code, keep());
        assert_eq!(
            (&body["state_name"], body["error"].is_object()),
            (&Value::Null, true),
            "{code}: {body:#}"
        );
        let (status, refused) = wish(&server, json!({"do": "keep_partial", "exec_id": exec_id}));
        assert_eq!((status, &refused["code"]), (410, &json!("lost")), "{code}: {refused:#}");
        for part in ["what", "why", "how"] {
            assert!(!refused[part].as_str().unwrap().is_empty(), "{refused:#}");
        }
    }
    let bad = json!({"exec_id": "b", "state_name": "initial", "code": "1", "on_error": "hold"});
    assert_eq!(server.owner(Request::post("/execute", &bad.to_string())).status, 400);
}

#[test]
fn a_failed_cell_that_set_no_variable_cannot_be_kept() {
    let server = TestServer::start();
    let base = server.run("initial", "x, xs = 1, []\ndef f(): xs.append(1); g()").state().to_owned();
    let offers = |code: &str| {
        let (exec_id, body) = execute(&server, &base, code, json!({}));
        assert_eq!(body["state_name"], Value::Null, "{code}: {body:#}");
        let (is_told, is_offered) =
            (body.get("warnings").is_some(), run_of(&server, &exec_id).get("keepable").is_some());
        assert_eq!(is_told, is_offered, "{code}: {body:#}");
        is_told
    };
    for nothing in [
        "1 / 0",
        "nobody",
        "\n# Why\nnobody",
        "import no_such_module",
        "y = nobody",
        "x = 2\nreturn (",
        "(1 +\n nobody)",
    ] {
        assert!(!offers(nothing), "{nothing}");
    }
    let something = [
        "x = 2\nnobody",
        "x = 2; nobody",
        "y = 2; nobody",
        "f()",
        "for x in range(3): nobody",
        "if x:\n    x = 2\n    nobody",
        "!true\nnobody",
        "import json, no_such_module",
        "class A:\n    x = 2\n    nobody",
    ];
    for something in something {
        assert!(offers(something), "{something}");
    }
}

#[test]
fn the_variables_of_an_interrupted_cell_can_be_kept_and_its_threads_are_stopped() {
    let server = TestServer::start();
    let room = server.room();
    let code = "import threading, time\n\
        def work():\n    while True:\n        open('ticks', 'a').write('.'); time.sleep(0.01)\n\
                threading.Thread(target=work, daemon=True).start()\nsteps = 0\n\
                while True:\n    steps += 1\n    if steps == 1: open('began', 'w').close()";
    let going = server.begin("initial", code);
    let exec_id = going.exec_id.clone();
    room.wait_for("began");
    assert!(server.interrupt(&exec_id));
    assert_eq!(going.end().ename(), "KeyboardInterrupt");
    until("its process is stopped", || has_stopped_process(&server));
    let ticks = || std::fs::read(room.file("ticks")).unwrap().len();
    let before = ticks();
    server.run("initial", "import time; time.sleep(0.2)").state();
    assert_eq!(ticks(), before, "a thread of an interrupted cell still runs");
    // The server treats the run above as the next version of the interrupted cell. So the variables
    // of the interrupted cell can no longer be kept.
    assert_eq!(wish(&server, json!({"do": "keep_partial", "exec_id": exec_id})).0, 410);
    assert!(!has_stopped_process(&server));

    std::fs::remove_file(room.file("began")).unwrap();
    let going = server.begin("initial", code);
    let exec_id = going.exec_id.clone();
    room.wait_for("began");
    assert!(server.interrupt(&exec_id));
    going.end();
    let kept = command(&server, json!({"do": "keep_partial", "exec_id": exec_id}));
    assert_eq!(kept["status"], "interrupted");
    let before = ticks();
    until("its thread continues in the kept head", || ticks() > before);
    let state = kept["state"].as_str().unwrap();
    let on = server.run(state, "print(steps > 0, threading.active_count())");
    assert_eq!(on.text(), "True 2\n");
    assert!(
        state_of(&server, state)["warnings"].to_string().contains("threads"),
        "a branch has no such thread"
    );
    server.reset();
    until("only the root is left", || server.descendants().iter().filter(|p| !p.is_zombie).count() == 1);
}

#[test]
fn the_next_version_of_a_failed_cell_can_use_the_same_port() {
    let server = TestServer::start();
    let base = server.run("initial", "import socket").state().to_owned();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let listen = format!(
        "s = socket.socket(); s.bind(('127.0.0.1', {port})); s.listen()\nbig = bytearray(50_000_000)\n"
    );
    for _ in 0..10 {
        assert_eq!(server.run(&base, &format!("{listen}nobody")).ename(), "NameError");
    }
    server.run(&base, &listen).state();
}

#[test]
fn later_versions_of_a_failed_cell_wait_for_its_process_to_end() {
    let server = TestServer::start();
    let base = server.run("initial", "import socket").state().to_owned();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let listen = format!("s = socket.socket(); s.bind(('127.0.0.1', {port})); s.listen()\n");
    // The process needs some time to free its memory.
    let fails =
        format!("{listen}big = bytearray(200_000_000)\nbig[::4096] = b'x' * len(big[::4096])\nnobody");
    let mut live = Live::join(&server);
    for _ in 0..5 {
        assert_eq!(server.run(&base, &fails).ename(), "NameError");
        let mut runs = vec![live.run(&base, "pass"), live.run(&base, &format!("{listen}s.close()"))];
        while !runs.is_empty() {
            let is_one = |run: &String, message: &Value| message["exec_id"] == run.as_str();
            let ended = live.hear(|m| m["event"] == "run_ended" && runs.iter().any(|run| is_one(run, m)));
            assert_eq!(ended["status"], "ok", "{ended:#}");
            runs.retain(|run| !is_one(run, &ended));
        }
    }
}

#[test]
fn the_reason_why_a_failed_cell_cannot_be_kept_is_reported() {
    let server = TestServer::start();
    let many = "import subprocess\nmany = [subprocess.Popen(['sleep', '600']) for _ in range(40)]\nnobody";
    for (code, told) in [
        (many, "the cell had started 40 processes"),
        ("import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\nnobody", "RLIMIT_NOFILE"),
        ("1 / 0", "set nothing"),
        ("x = 1\nraise SystemExit", "called exit"),
        ("import os\nos._exit(3)", "its process has ended"),
    ] {
        let (exec_id, _) = execute(&server, "initial", code, json!({}));
        let (status, refused) = wish(&server, json!({"do": "keep_partial", "exec_id": exec_id}));
        assert_eq!((status, &refused["code"]), (410, &json!("lost")), "{code}: {refused:#}");
        assert!(refused["why"].as_str().unwrap().contains(told), "{code}: {refused:#}");
        assert_eq!(run_of(&server, &exec_id).get("keepable"), None, "{code}");
    }
    server.has_no_zombies();
    let fails = |state: &str, code: &str| execute(&server, state, code, json!({})).0;
    let why =
        |exec_id: &str| wish(&server, json!({"do": "keep_partial", "exec_id": exec_id})).1["why"].to_string();
    // The process dies while its variables can still be kept.
    let dies = fails("initial", "import os\nprint(os.getpid())\nnobody");
    let pid = run_of(&server, &dies)["outputs"][0]["text"].as_str().unwrap().trim().parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
    until("the run is not keepable any more", || run_of(&server, &dies).get("keepable").is_none());
    assert!(why(&dies).contains("SIGKILL"), "{}", why(&dies));
    // Later failed cells end the offer to keep these variables.
    let states: Vec<String> =
        (0..3).map(|n| server.run("initial", &format!("n = {n}")).state().to_owned()).collect();
    let failed: Vec<String> = states.iter().map(|state| fails(state, "x = 1\nnobody")).collect();
    assert!(why(&failed[0]).contains("2 cells have failed since"), "{}", why(&failed[0]));
    server.run(&states[1], "x = 1");
    let told = "another cell without a draft was run against its state";
    assert!(why(&failed[1]).contains(told), "{}", why(&failed[1]));
}

#[test]
fn clients_learn_which_failed_cells_can_be_and_were_kept() {
    let server = TestServer::start();
    let room = server.room();
    let mut live = Live::join(&server);
    let base = server.run("initial", "import os, time").state().to_owned();
    let draft = json!({"id": "d", "on": base, "kind": "code", "source": "x = 1\nnobody"});
    live.send(json!({"do": "put_draft", "draft": draft}));
    live.send(json!({
        "do": "put_draft", "draft": {"id": "e", "on": base, "kind": "code", "source": "x"}, "after": "d",
    }));
    live.send(
        json!({"do": "run", "exec_id": "one", "code": "x = 1\nnobody", "on": {"state": base}, "draft": "d"}),
    );
    assert_eq!(live.event("one", "keepable_changed")["keepable"], true);
    assert_eq!(live.event("one", "run_ended")["state"], Value::Null);
    let ended = live.hear(|message| message["kind"] == "ended");
    assert_eq!(ended["keepable"], true, "{ended:#}");
    let mut other = Live::join(&server);
    let number = other.send(json!({"do": "keep_partial", "exec_id": "one"}));
    assert_eq!(live.event("one", "keepable_changed")["keepable"], false);
    let added = live.hear(|message| message["event"] == "state_added")["state"].clone();
    assert_eq!((&added["partial"], &added["exec_id"]), (&json!(true), &json!("one")));
    let drafts = live.hear(|message| message["event"] == "drafts_changed" && message["on"] == added["id"]);
    assert_eq!(drafts["put"][0]["draft"]["id"], "e");
    let again = live.event("one", "run_ended");
    assert_eq!((&again["state"], &again["status"]), (&added["id"], &json!("error")));
    let reply = other.hear(|message| message["reply"] == number);
    assert_eq!(reply["state"], added["id"], "{reply:#}");
    // The state exists at once. A run that waited for the cell is aborted.
    let on = json!({"state": added["id"]});
    let code = "z = 1\nwhile not os.path.exists('go'): time.sleep(0.01)\nnobody";
    live.send(json!({"do": "run", "exec_id": "two", "code": code, "on": on, "on_error": "keep"}));
    live.send(json!({"do": "run", "exec_id": "three", "code": "z", "on": {"run": "two"}}));
    live.event("three", "run_added");
    room.put("go");
    let ended = live.event("two", "run_ended");
    assert_eq!((ended["status"].as_str(), ended["state"].is_string()), (Some("error"), true), "{ended:#}");
    assert_eq!(live.event("three", "run_ended")["error"]["ename"], "RunAborted");
    live.send(json!({"do": "run", "exec_id": "four", "code": "print(z, end='')", "on": {"run": "two"}}));
    assert_eq!(live.event("four", "output_added")["output"]["text"], "1");
}

#[test]
fn a_partial_state_survives_a_kill() {
    let mut server = TestServer::start();
    let (exec_id, body) = execute(&server, "initial", IMPORTS, keep());
    let state = body["state_name"].as_str().unwrap().to_owned();
    let next = server.run(&state, "z = x + 1").state().to_owned();
    let (held, _) = execute(&server, &state, "w = 1\nnobody", json!({}));
    command(&server, json!({"do": "checkpoint", "state": state}));
    let error = run_of(&server, &exec_id)["error"].clone();
    server.restart();

    let there = state_of(&server, &state);
    assert_eq!((&there["partial"], &there["exec_id"]), (&json!(true), &json!(exec_id)));
    let run = run_of(&server, &exec_id);
    assert_eq!((&run["status"], &run["state"], &run["error"]), (&json!("error"), &json!(state), &error));
    assert_eq!(state_of(&server, &next).get("partial"), None);
    assert_eq!(server.run(&state, "print(json.dumps(x))").text(), "1\n");
    // The variables were lost with the process.
    assert_eq!(run_of(&server, &held).get("keepable"), None);
    assert_eq!(wish(&server, json!({"do": "keep_partial", "exec_id": held})).0, 410);
    server.kill();
    let checked = output_of(&["check", server.kept().to_str().unwrap()]);
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn a_replay_through_a_partial_state_keeps_its_variables_again() {
    let room = Room::new();
    let mut server = TestServer::start_with(&["--no-checkpoints", "--dir", room.path().to_str().unwrap()]);
    let code = "x = [1]\nx.append(2)\nopen('missing').close()\nx.append(3)";
    let (_, body) = execute(&server, "initial", code, keep());
    let partial = body["state_name"].as_str().unwrap().to_owned();
    let end = server.run(&partial, "x.append(4)").state().to_owned();
    let replayed = |server: &TestServer| server.begin_with(&end, "print(x)", json!({"replay": true})).end();
    server.restart();
    assert_eq!(replayed(&server).text(), "[1, 2, 4]\n");
    assert_eq!(server.run(&partial, "print(x)").text(), "[1, 2]\n");
    // In this replay the cell succeeds. This is not an error.
    room.put("missing");
    server.restart();
    assert_eq!(replayed(&server).text(), "[1, 2, 3, 4]\n");
    // In this replay the cell fails for another reason, and with other variables.
    std::fs::remove_file(room.file("missing")).unwrap();
    std::fs::create_dir(room.file("missing")).unwrap();
    server.restart();
    let failed = replayed(&server);
    assert_eq!(failed.ename(), "ReplayFailed");
    assert!(failed.evalue().contains("failed differently: IsADirectoryError"), "{}", failed.evalue());
}

#[test]
fn an_exported_file_marks_a_cell_of_a_partial_state() {
    let server = TestServer::start();
    let (_, body) = execute(&server, "initial", IMPORTS, keep());
    let end = server.run(body["state_name"].as_str().unwrap(), "z = x").state().to_owned();
    let document = |format: &str| {
        server.owner(Request::get(&format!("/api/notebooks/main/states/{end}/document?as={format}"))).text()
    };
    let notebook: Value = serde_json::from_str(&document("ipynb")).unwrap();
    let [first, second] = notebook["cells"].as_array().unwrap().as_slice() else { panic!("{notebook:#}") };
    assert_eq!(first["metadata"], json!({"tags": ["raises-exception"]}));
    assert_eq!(first["outputs"][0]["ename"], "ModuleNotFoundError");
    assert_eq!(second["metadata"], json!({}));
    let script = document("py");
    assert!(script.starts_with("# %% tags=[\"raises-exception\"]\nimport json\n"), "{script}");
    let import =
        Request::new("POST", "/api/notebooks/import?name=again").header("content-type", "text/x-python");
    assert_eq!(server.owner(import.body(script.as_bytes())).status, 201);
    let again = server.owner(Request::get("/api/notebooks/again")).json();
    assert_eq!(again["drafts"][0]["source"], IMPORTS);
    assert!(document("html").contains("ModuleNotFoundError"));
}

#[test]
fn the_error_of_a_partial_state_can_be_debugged() {
    let server = TestServer::start();
    let (_, body) = execute(&server, "initial", "def f(secret):\n    return 1 / 0\nf(42)", keep());
    let code =
        "import sys\ntb = sys.last_traceback\nwhile tb.tb_next: tb = tb.tb_next\nprint(tb.tb_frame.f_locals)";
    assert_eq!(server.run(body["state_name"].as_str().unwrap(), code).text(), "{'secret': 42}\n");
}
