//! Tests of a server that is killed and started again. Acknowledged changes are on disk, and the
//! server runs no cell on its own.

use crate::breadth::in_full;
use crate::cells::{Live, Ran, Room, unique};
use crate::request::{Answer, Request};
use crate::server::{TOKEN, TestServer, output_of, program, until};
use crate::wire::Wire;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Sends a command over REST. The command must succeed. Its effect is on disk when this returns.
pub fn command(server: &TestServer, command: Value) -> Value {
    let answer = server.owner(Request::post("/api/notebooks/main/commands", &command.to_string()));
    assert_eq!(answer.status, 200, "{command}: {}", answer.text());
    answer.json()
}

fn execute(server: &TestServer, wish: &Value) -> Answer {
    server.owner(Request::post("/execute", &wish.to_string()))
}

pub fn run_of(server: &TestServer, exec_id: &str) -> Value {
    let notebook = server.notebook();
    let runs = notebook["runs"].as_array().unwrap();
    runs.iter().find(|run| run["exec_id"] == exec_id).unwrap_or_else(|| panic!("no {exec_id}")).clone()
}

pub fn state_of(server: &TestServer, name: &str) -> Value {
    let notebook = server.notebook();
    let states = notebook["states"].as_array().unwrap();
    states.iter().find(|s| s["name"] == name).unwrap_or_else(|| panic!("no {name} in {states:#?}")).clone()
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap_or_default().lines().count()
}

#[test]
fn a_cell_that_was_running_when_the_server_was_killed_keeps_its_output() {
    let mut server = TestServer::fresh();
    let base = server.run("initial", "import time; x = 1").state().to_owned();
    command(&server, json!({"do": "checkpoint", "state": base}));
    let mut live = Live::join(&server);
    let code = "open('ran', 'a').write('once\\n'); print('so far\\n', end=''); time.sleep(1000)";
    let cut = live.run(&base, code);
    live.event(&cut, "output_added");
    let queued = unique("live");
    live.send(json!({"do": "run", "exec_id": queued, "code": code, "on": {"run": cut}}));
    live.event(&queued, "run_added");
    // Facts are written in order. So when an answer arrives, all earlier facts are on disk.
    command(&server, json!({"do": "label", "state": base, "label": "here"}));
    server.restart();

    let run = run_of(&server, &cut);
    assert_eq!((&run["status"], &run["state"]), (&json!("interrupted"), &Value::Null), "{run:#}");
    assert_eq!(run["outputs"][0]["text"], "so far\n", "{run:#}");
    assert_eq!(run["error"]["ename"], "KeyboardInterrupt", "{run:#}");
    assert_eq!(run["error"]["evalue"], "interrupted by server stop", "{run:#}");
    assert_eq!(run_of(&server, &queued)["status"], "interrupted");
    assert_eq!(server.notebook()["states"].as_array().unwrap().len(), 2);
    // The base state exists, and cells can run against it.
    assert_eq!(server.run(&base, "print(x)").text(), "1\n");
    assert_eq!(lines(&server.dir().join("ran")), 1, "a cell ran by itself");
}

#[test]
fn a_file_in_the_place_of_a_notebook_is_reported() {
    let room = Room::new();
    for (name, make) in [("file", true), ("link", false)] {
        let path = room.file(&format!("{name}.ratoon"));
        if make {
            std::fs::write(&path, "mine").unwrap();
        } else {
            std::os::unix::fs::symlink("/no/such/place", &path).unwrap();
        }
        let output = output_of(&[name, "--bind", "127.0.0.1:0", "--dir", room.path().to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("it is not a directory"), "{name}: {said}");
    }
    assert_eq!(std::fs::read(room.file("file.ratoon")).unwrap(), b"mine");
}

#[test]
fn no_cell_runs_by_itself_after_a_restart() {
    let mut server = TestServer::fresh();
    let mut tip = "initial".to_owned();
    for _ in 0..5 {
        tip = server.run(&tip, "open('ran', 'a').write('once\\n')").state().to_owned();
    }
    command(&server, json!({"do": "checkpoint", "state": tip}));
    let before = server.notebook()["runs"].clone();
    for _ in 0..2 {
        server.restart();
        until("the root is there", || state_of(&server, "initial")["living"] == "memory");
        // States are loaded when they are first used, instead of at the start.
        assert_eq!(state_of(&server, &tip)["living"], "disk");
        assert_eq!(server.descendants().iter().filter(|p| !p.is_zombie).count(), 1);
        assert_eq!(server.notebook()["runs"], before);
    }
    assert_eq!(lines(&server.dir().join("ran")), 5);
    server.run(&tip, "1").state();
    assert_eq!(lines(&server.dir().join("ran")), 5);
}

#[test]
fn drafts_labels_prose_links_names_and_tasks_survive_a_restart() {
    let mut server = TestServer::fresh();
    let wish = |state: &str, code: &str, name: &str| {
        json!({
            "exec_id": unique("run"), "state_name": state, "code": code, "new_state_name": name,
        })
    };
    let a = Ran::new(&execute(&server, &wish("initial", "x = 1", "a")));
    let b = Ran::new(&execute(&server, &wish("a", "x += 1", "b")));
    // The name now refers to the new state.
    Ran::new(&execute(&server, &wish("b", "x += 10", "a"))).state();
    assert_eq!((a.state(), b.state()), ("a", "b"));
    let b = state_of(&server, "b")["id"].clone();
    for (id, kind, after) in
        [("d1", "code", Value::Null), ("d2", "markdown", json!("d1")), ("d3", "code", Value::Null)]
    {
        let draft = json!({"id": id, "on": b, "kind": kind, "source": format!("text of {id} ü\u{1F333}")});
        command(&server, json!({"do": "put_draft", "draft": draft, "after": after}));
    }
    command(&server, json!({"do": "delete_draft", "draft": "d1"}));
    command(&server, json!({"do": "label", "state": b, "label": "the second"}));
    command(&server, json!({"do": "put_prose", "state": b, "prose": ["# One", "two"]}));
    command(&server, json!({"do": "pin", "state": b, "pinned": true}));
    for version in 1..=3 {
        let save = json!({"do": "save_task", "task_id": "t", "state": b, "values": {"n": version}});
        assert_eq!(command(&server, save)["checkpoint"]["version"], version);
    }
    let link = server.owner(Request::post("/api/links", r#"{"scope":"view","label":"for Ada"}"#)).json();
    let gone = server.owner(Request::post("/api/links", r#"{"scope":"run"}"#)).json();
    let take_back = Request::new("DELETE", &format!("/api/links/{}", gone["id"].as_str().unwrap()));
    assert_eq!(server.owner(take_back).status, 204);
    // One state was removed. Another deleted state stays, because it has a child.
    let gone_state = server.run("b", "1").state().to_owned();
    assert_eq!(server.owner(Request::new("DELETE", &format!("/states/{gone_state}"))).status, 200);
    for state in ["a", "b"] {
        command(&server, json!({"do": "checkpoint", "state": state_of(&server, state)["id"]}));
    }
    let (before, names) = (seen(&server), server.states());
    server.restart();

    assert_eq!((seen(&server), server.states()), (before, names));
    let read = |token: &Value| server.send(Request::get("/states").bearer(token.as_str().unwrap())).status;
    assert_eq!((read(&link["token"]), read(&gone["token"])), (200, 401));
    assert_eq!(server.run("a", "print(x)").text(), "12\n");
    assert_eq!(server.run("b", "print(x)").text(), "2\n");
    assert_eq!(server.run(&gone_state, "1").ename(), "StateNotFound");
    let save = json!({"do": "save_task", "task_id": "t", "values": {}});
    assert_eq!(command(&server, save)["checkpoint"]["version"], 4);
}

#[test]
fn a_request_is_carried_out_once_across_a_restart() {
    let mut server = TestServer::fresh();
    let wish = |code: &str| {
        json!({
            "exec_id": "the-one", "state_name": "initial", "code": code, "new_state_name": "named",
        })
    };
    let code = "open('ran', 'a').write('once\\n'); print('out'); 7";
    let first = execute(&server, &wish(code));
    let failing =
        json!({"exec_id": "bad", "state_name": "initial", "code": "open('ran', 'a').write('x\\n'); 1/0"});
    // After a restart, the variables of a failed cell can no longer be kept. So the repeated answer
    // does not offer this.
    let without_offer = |mut answer: Value| {
        answer.as_object_mut().unwrap().remove("warnings");
        answer
    };
    let failed = without_offer(execute(&server, &failing).json());
    for _ in 0..2 {
        server.restart();
        let again = execute(&server, &wish(code));
        assert_eq!((again.status, again.json()), (200, first.json()));
        let again = execute(&server, &failing);
        assert_eq!((again.status, without_offer(again.json())), (200, failed.clone()));
        let other = execute(&server, &wish("print('another')"));
        assert_eq!((other.status, other.error_code().as_str()), (409, "conflict"));
    }
    assert_eq!(lines(&server.dir().join("ran")), 2);
}

#[test]
fn a_client_that_reconnects_after_a_restart_gets_a_snapshot_with_a_new_epoch() {
    let mut server = TestServer::fresh();
    let mut socket = Wire::socket(&server, TOKEN);
    let first = socket.hear_until(|message| message["snapshot"].is_object());
    let state = server.run("initial", "x = 1").state().to_owned();
    let seen = socket.hear_until(|message| message["event"] == "state_added");
    let port = server.address.port();
    server.restart();
    assert_eq!(server.address.port(), port);

    let mut back = Wire::open(server.address);
    let target = format!("/ws/main?epoch={}&seq={}", first["epoch"].as_str().unwrap(), seen["seq"]);
    assert_eq!(back.ask(&Wire::handshake(&target).bearer(TOKEN).bytes(&server.host())).status, 101);
    let snapshot = back.hear_until(|message| message["snapshot"].is_object() || message["event"].is_string());
    assert!(snapshot["snapshot"].is_object(), "no snapshot for a client that missed a restart: {snapshot}");
    assert_ne!(snapshot["epoch"], first["epoch"]);
    let states = snapshot["snapshot"]["states"].as_array().unwrap();
    assert!(states.iter().any(|s| s["name"] == *state), "{states:#?}");
}

#[test]
fn a_notebook_can_be_open_in_one_server_only() {
    let mut server = TestServer::fresh();
    server.run("initial", "x = 1").state();
    let dir = server.dir();
    let second = output_of(&["--bind", "127.0.0.1:0", "--dir", dir.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&second.stderr);
    assert_eq!((second.status.code(), second.stdout.is_empty()), (Some(2), true), "{said}");
    assert!(
        said.contains(&server.pid().to_string()),
        "the message does not name the server that has it: {said}"
    );
    assert!(said.contains("main.ratoon") && !said.contains("panicked"), "{said}");
    // Another server can open a different notebook in the same directory. The first notebook is not
    // affected.
    let mut other = program(&[]);
    other.args(["--bind", "127.0.0.1:0", "--token", TOKEN, "--dir", dir.to_str().unwrap(), "other"]);
    let mut other =
        other.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    until("the other notebook exists", || dir.join("other.ratoon").exists());
    other.kill().unwrap();
    other.wait().unwrap();
    server.run("initial", "x = 2").state();
    // A killed server leaves files, which do not prevent the next start.
    for _ in 0..3 {
        server.restart();
        assert_eq!(server.states().len(), 3);
    }
}

/// Returns the open files in the notebook's directory, of all descendants of the server.
fn descriptors(server: &TestServer) -> Vec<String> {
    let kept = server.kept().to_str().unwrap().to_owned();
    let mut found = Vec::new();
    for process in server.descendants() {
        let Ok(entries) = std::fs::read_dir(format!("/proc/{}/fd", process.pid)) else { continue };
        let targets = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
        let targets = targets.map(|path| path.to_string_lossy().into_owned());
        found.extend(targets.filter_map(|t| Some(t.strip_prefix(&kept)?.to_owned())));
    }
    found
}

#[test]
fn processes_hold_no_descriptor_of_the_store() {
    let server = TestServer::fresh();
    let mut tip = "initial".to_owned();
    for n in 0..4 {
        let code = format!("data{n} = bytearray(__import__('os').urandom(16 << 20))");
        tip = server.run(&tip, &code).state().to_owned();
        assert_eq!(server.notebook()["trouble"], Value::Null);
        until("the state is saved", || {
            for open in descriptors(&server) {
                assert!(open.starts_with("/tmp") || open.starts_with("/blobs"), "{open}");
            }
            state_of(&server, &tip)["checkpoint"].is_object()
        });
    }
    until("all work is done", || {
        let notebook = server.notebook();
        notebook["states"].as_array().unwrap().iter().all(|s| s["saving"]["now"] == "idle")
    });
    until("no descriptor is left", || descriptors(&server).is_empty());
    // A cell and its subprocesses also have no such descriptors.
    let list = "import os\nprint([os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if \
        os.path.exists(f'/proc/self/fd/{n}')])";
    assert!(!server.run(&tip, list).text().contains(".ratoon"));
    assert_eq!(descriptors(&server), [""; 0]);
}

/// Returns the notebook as clients see it. Stable names replace random ids, so that two views can
/// be compared.
pub fn seen(server: &TestServer) -> Value {
    let notebook = server.notebook();
    let mut text = json!({
        "states": notebook["states"].as_array().unwrap().iter().map(|s| json!({
            "id": s["id"], "name": s["name"], "parent": s["parent"], "run": s["exec_id"],
            "count": s["exec_count"],
            "label": s["label"], "prose": s["prose"], "pinned": s["pinned"],
            "is_deleted": s["living"] == "deleted",
        })).collect::<Vec<_>>(),
        "runs": notebook["runs"].as_array().unwrap().iter().map(|r| json!({
            "id": r["exec_id"], "on": r["on"], "code": r["code"], "status": r["status"],
            "outputs": r["outputs"],
            "error": r["error"], "state": r["state"], "draft": r["draft"],
        })).collect::<Vec<_>>(),
        "drafts": notebook["drafts"],
        "names": server.states(),
        "links": server.owner(Request::get("/api/links")).json()["links"].as_array().unwrap().iter()
            .map(|l| json!({
            "label": l["label"], "scope": l["scope"],
        })).collect::<Vec<_>>(),
        "tasks": task_of(server),
    })
    .to_string();
    for state in notebook["states"].as_array().unwrap() {
        if let (Some(id), Some(run)) = (state["id"].as_str(), state["exec_id"].as_str()) {
            text = text.replace(id, &format!("the state of {run}"));
        }
    }
    serde_json::from_str(&text).unwrap()
}

/// Returns the versions and values of the checkpoints of the task `t`.
fn task_of(server: &TestServer) -> Vec<Value> {
    let answer = server.owner(Request::get("/api/tasks/t/checkpoints"));
    if answer.status == 404 {
        return Vec::new();
    }
    assert_eq!(answer.status, 200, "{answer:?}");
    let listed = answer.json()["checkpoints"].as_array().unwrap().clone();
    listed.iter().map(|c| json!({"version": c["version"], "values": c["values"]})).collect()
}

/// The requests of a session of a REST client. Each has the id of the run that it starts, if any.
fn session() -> Vec<(Request, Option<&'static str>)> {
    let command = |c: Value| (Request::post("/api/notebooks/main/commands", &c.to_string()), None);
    let run = |id: &'static str, on: &str, name: &str, code: &str| {
        let wish = json!({"exec_id": id, "state_name": on, "new_state_name": name, "code": code});
        (Request::post("/execute", &wish.to_string()), Some(id))
    };
    let draft = |id: &str, source: &str| {
        json!({
            "do": "put_draft", "draft": {"id": id, "on": "initial", "kind": "code", "source": source},
        })
    };
    vec![
        command(draft("d1", "first")),
        run("r1", "initial", "a", "x = 1; print('one'); x"),
        command(draft("d2", "second")),
        run("r2", "a", "b", "x += 1; data = list(range(1000)); print('two')"),
        command(json!({"do": "label", "state": "initial", "label": "the root"})),
        run("r3", "b", "a", "x += 10\nfor i in range(3): print(i)"),
        (Request::post("/api/links", r#"{"scope":"view","label":"for Ada"}"#), None),
        run("r4", "a", "never", "print('before'); 1/0"),
        command(json!({"do": "put_prose", "state": "initial", "prose": ["# Title"]})),
        command(json!({"do": "save_task", "task_id": "t", "values": {"n": 1}})),
        command(json!({"do": "delete_draft", "draft": "d1"})),
        (Request::new("DELETE", "/states/b"), None),
        command(json!({"do": "save_task", "task_id": "t", "values": {"n": 2}})),
        run("r5", "a", "c", "print(x)"),
    ]
}

/// Sends the requests of `session` until the server stops answering. Returns the number of answers.
fn carry_out(server: &TestServer, mut after_each: impl FnMut(&TestServer)) -> usize {
    let steps = session();
    for (number, (request, _)) in steps.iter().enumerate() {
        let bytes = request.clone().bearer(TOKEN).bytes(&server.host());
        let Some(answer) = Wire::try_ask(server.address, &bytes) else { return number };
        assert!(answer.status / 100 == 2, "step {number}: {answer:?}");
        after_each(server);
    }
    steps.len()
}

/// Describes the difference between two views, for the message of a failed test.
fn difference(is: &Value, was: &Value) -> String {
    let (Some(is), Some(was)) = (is.as_object(), was.as_object()) else {
        return "one of them is not a view".into();
    };
    let parts = is.iter().filter(|(part, value)| was.get(*part) != Some(value));
    parts.map(|(part, value)| format!("{part} are\n{value:#}\nand were\n{:#}\n", was[part])).collect()
}

/// Removes the run that was cut off by the end of the server. Asserts that the run's error says so.
fn without_cut_run(mut view: Value, run: Option<&str>) -> Value {
    let runs = view["runs"].as_array_mut().unwrap();
    runs.retain(|r| {
        let is_cut = Some(r["id"].as_str().unwrap()) == run && r["status"] == "interrupted";
        if is_cut {
            assert_eq!(
                (&r["state"], &r["error"]["evalue"]),
                (&Value::Null, &json!("interrupted by server stop"))
            );
        }
        !is_cut
    });
    view
}

/// Whether strace is installed, which injects faults into system calls. Prints a message if not.
pub fn has_strace() -> bool {
    let is_there = std::process::Command::new("strace").arg("-V").output().is_ok();
    if !is_there {
        eprintln!("skipped: there is no strace (tests/run installs it)");
    }
    is_there
}

/// The command that runs strace, with the server as the child of the test. `--seccomp-bpf` cannot
/// be used, because `when` would then not count all calls.
const STRACE: &[&str] = &["strace", "-D", "-f", "-qq", "-e", WRITES, "-e"];

/// The system calls that change files.
const WRITES: &str =
    "trace=pwrite64,fsync,fdatasync,ftruncate,rename,renameat,renameat2,unlink,unlinkat,mkdir";

/// Returns how many times one thread makes each of these calls during the session, from a trace.
fn calls(room: &Room) -> BTreeMap<String, usize> {
    let log = room.file("trace");
    let under = [STRACE, &[WRITES, "-o", log.to_str().unwrap()]].concat();
    let (mut server, has_begun) = TestServer::start_under(&under);
    assert!(has_begun, "{}", server.errors());
    carry_out(&server, |_| ());
    server.kill();
    let text = std::fs::read_to_string(&log).unwrap();
    let mut counts = BTreeMap::<(String, String), usize>::new();
    for line in text.lines() {
        let mut words = line.splitn(2, char::is_whitespace);
        let (Some(thread), Some(rest)) = (words.next(), words.next()) else { continue };
        if let Some((call, _)) = rest.trim_start().split_once('(') {
            *counts.entry((call.to_owned(), thread.to_owned())).or_default() += 1;
        }
    }
    let mut most = BTreeMap::new();
    for ((call, _), count) in counts {
        let own: &mut usize = most.entry(call).or_default();
        *own = count.max(*own);
    }
    most.retain(|call, _| WRITES.split(['=', ',']).any(|known| known == call));
    most
}

/// Returns the points at which the server is killed: each is the Nth system call of a kind, made by
/// one thread of the server or of its descendants.
fn points(calls: &BTreeMap<String, usize>, wanted: usize) -> Vec<(String, usize)> {
    let all: Vec<_> =
        calls.iter().flat_map(|(call, &count)| (1..=count).map(move |n| (call.clone(), n))).collect();
    // Takes the first two calls of each kind, which create and open the store. Then takes every kth
    // call.
    let (first, later): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, n)| *n <= 2);
    let each = later.len().div_ceil(wanted.saturating_sub(first.len()).max(1)).max(1);
    let later: Vec<_> = later.into_iter().step_by(each).collect();
    // Changes the order of the points. If time runs out, the skipped points are spread over the
    // session.
    let spread = (0..4).flat_map(|offset| later.iter().skip(offset).step_by(4)).cloned();
    first.into_iter().chain(spread).collect()
}

#[test]
fn a_server_killed_at_any_write_loses_nothing_that_it_acknowledged() {
    if !has_strace() {
        return;
    }
    // The views of the notebook after each step, without any fault.
    let mut views = Vec::new();
    let whole = TestServer::fresh();
    views.push(seen(&whole));
    assert_eq!(carry_out(&whole, |server| views.push(seen(server))), session().len());
    drop(whole);

    let room = Room::new();
    let mut killed = 0;
    let points = points(&calls(&room), if in_full() { 40 } else { 4 });
    for (number, (call, nth)) in points.iter().enumerate() {
        let what = format!("killed at {call} number {nth}");
        let inject = |call: &str, nth: usize| format!("inject={call}:signal=KILL:when={nth}");
        let first = inject(call, *nth);
        let (mut server, has_begun) =
            TestServer::start_under(&[STRACE, &[&first, "-o", "/dev/null"]].concat());
        let acknowledged = if has_begun { carry_out(&server, |_| ()) } else { 0 };
        killed += usize::from(acknowledged < session().len());
        server.kill();
        // Kills the server a second time during its next start.
        let second = inject(["fsync", "fdatasync", "pwrite64", "unlink"][number % 4], number / 4 % 3 + 1);
        server.start_again(&[STRACE, &[&second, "-o", "/dev/null"]].concat());
        server.kill();

        if server.kept().join("notebook.db").exists() {
            let check = output_of(&["check", server.kept().to_str().unwrap()]);
            assert!(check.status.success(), "{what}: {check:?}");
        }
        assert!(server.start_again(&[]), "{what}: the server does not start again: {}", server.errors());
        let run = session().get(acknowledged).and_then(|step| step.1);
        let view = without_cut_run(seen(&server), run);
        let is_right = views[acknowledged..].iter().take(2).any(|right| *right == view);
        let difference = difference(&view, &views[acknowledged]);
        assert!(is_right, "{what}, {acknowledged} steps acknowledged, then {second}: {difference}");
        // Cells can run in the restored notebook.
        assert_eq!(server.run("initial", "print('x' in globals())").text(), "False\n", "{what}");
        if acknowledged >= 2 {
            let wish =
                json!({"exec_id": unique("run"), "state_name": "a", "code": "print(x)", "replay": true});
            let text = Ran::new(&execute(&server, &wish)).text();
            let right: &[&str] = match acknowledged {
                ..5 => &["1\n"],
                5 => &["1\n", "12\n"],
                _ => &["12\n"],
            };
            assert!(right.contains(&text.as_str()), "{what}: {text}");
        }
    }
    assert!(killed * 2 > points.len(), "the server was killed in {killed} of {} sessions only", points.len());
}
