//! Which Python a notebook uses: its own choice, two at once, and Pythons that cannot run cells.
//!
//! Tests that need Pythons of several versions use those of pyenv, and are skipped without them.

use crate::cells::{Live, Ran, Room};
use crate::checkpoints::wait_for_checkpoints;
use crate::request::{Answer, Request};
use crate::restarts::state_of;
use crate::server::{TestServer, until};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = "import sys; print('.'.join(map(str, sys.version_info[:3])))";

fn choose(server: &TestServer, notebook: &str, path: Option<&Path>) -> Answer {
    put(server, notebook, &json!({"path": path}))
}

fn put(server: &TestServer, notebook: &str, body: &Value) -> Answer {
    let target = format!("/api/notebooks/{notebook}/python");
    let request = Request::new("PUT", &target).header("Content-Type", "application/json");
    server.owner(request.body(body.to_string()))
}

fn chosen(server: &TestServer, notebook: &str, path: Option<&Path>) -> Value {
    let answer = choose(server, notebook, path);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn python_of(server: &TestServer, notebook: &str) -> Value {
    server.owner(Request::get(&format!("/api/notebooks/{notebook}"))).json()["python"].clone()
}

/// Runs a cell on the first state of a notebook, and returns what it printed.
fn print_in(server: &TestServer, notebook: &str, code: &str) -> String {
    let wish = json!({"do": "run", "exec_id": crate::cells::unique("print"), "on": {"state": "initial"},
        "code": code})
    .to_string();
    let answer = server.owner(Request::post(&format!("/api/notebooks/{notebook}/commands"), &wish));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let run = answer.json()["exec_id"].clone();
    let notebook = server.owner(Request::get(&format!("/api/notebooks/{notebook}"))).json();
    let runs = notebook["runs"].as_array().unwrap();
    let run = runs.iter().find(|one| one["exec_id"] == run).unwrap();
    run["outputs"][0]["text"].as_str().unwrap_or_else(|| panic!("{run:#}")).trim().to_owned()
}

/// pyenv's Pythons of these versions. None if one of them is missing.
pub fn pyenv<const N: usize>(versions: [&str; N]) -> Option<[PathBuf; N]> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    let paths = versions.map(|version| home.join(".pyenv").join("versions").join(version).join("bin/python"));
    if paths.iter().all(|path| path.is_file()) {
        return Some(paths);
    }
    eprintln!("skipped: pyenv lacks one of {versions:?}");
    None
}

/// Creates an environment without packages, with the Python that the servers of the tests use.
fn environment(room: &Room, name: &str) -> PathBuf {
    let path = room.file(name);
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&path).status().unwrap();
    assert!(made.success());
    path
}

#[test]
fn a_notebook_keeps_its_chosen_python_through_a_kill() {
    let (mut server, room) = (TestServer::fresh(), Room::new());
    let environment = environment(&room, "env");
    let default = python_of(&server, "main");
    assert_eq!((&default["is_chosen"], &default["problem"]), (&json!(false), &Value::Null), "{default}");
    server.owner(Request::post("/api/notebooks", r#"{"name": "other"}"#));
    let mut live = Live::join(&server);
    let python = chosen(&server, "main", Some(&environment));
    let executable = environment.join("bin/python");
    assert_eq!(python["path"], executable.to_str().unwrap(), "{python}");
    assert_eq!((&python["is_chosen"], &python["version"]), (&json!(true), &default["version"]));
    let told = live.hear(|event| event["event"] == "python_changed");
    assert_eq!(told["python"], python);
    // The two notebooks run at the same time.
    let prefix = "import sys; print(sys.prefix)";
    assert_eq!(print_in(&server, "main", prefix), environment.to_str().unwrap());
    assert_ne!(print_in(&server, "other", prefix), environment.to_str().unwrap());

    // A body without the field is an error, not a request to drop the choice.
    let refused = put(&server, "main", &json!({}));
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("missing field `path`"), "{}", refused.text());
    assert_eq!(python_of(&server, "main"), python);

    server.restart();
    assert_eq!(python_of(&server, "main"), python);
    assert_eq!(print_in(&server, "main", prefix), environment.to_str().unwrap());
    assert_eq!(python_of(&server, "other"), default);

    assert_eq!(chosen(&server, "main", None), default);
    assert_ne!(print_in(&server, "main", prefix), environment.to_str().unwrap());
    server.restart();
    assert_eq!(python_of(&server, "main"), default);
    server.has_no_zombies();
}

#[test]
fn two_notebooks_can_run_two_python_versions_at_once() {
    let Some([old, new]) = pyenv(["3.12.1", "3.13.0"]) else { return };
    let server = TestServer::fresh();
    server.owner(Request::post("/api/notebooks", r#"{"name": "other"}"#));
    chosen(&server, "main", Some(&old));
    chosen(&server, "other", Some(&new));
    assert_eq!(print_in(&server, "main", VERSION), "3.12.1");
    assert_eq!(print_in(&server, "other", VERSION), "3.13.0");
    assert_eq!(print_in(&server, "main", VERSION), "3.12.1");
}

#[test]
fn a_python_that_cannot_run_cells_is_refused_without_a_change() {
    let (server, room) = (TestServer::fresh(), Room::new());
    let state = server.run("initial", "x = 1").state().to_owned();
    let before = python_of(&server, "main");
    let plain = room.file("plain");
    std::fs::write(&plain, "").unwrap();
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    let alien = room.file("alien");
    std::fs::write(&alien, b"\x7fELF no program").unwrap();
    std::fs::set_permissions(&alien, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut refused = vec![
        (PathBuf::from("bin/python"), "the path does not begin with /"),
        (PathBuf::new(), "the path is empty"),
        (PathBuf::from("/nowhere/python"), "there is no such file"),
        (PathBuf::from("/dev/null"), "it is not a file"),
        (plain, "it is not executable"),
        (alien, "it does not start: it is not a program for this machine"),
        (PathBuf::from("/bin/echo"), "it does not behave like a Python interpreter"),
    ];
    for (version, why) in [
        ("2.7.18", "it is Python 2.7, and Ratoon needs 3.11 or later"),
        ("3.10.13", "it is Python 3.10, and Ratoon needs 3.11 or later"),
    ] {
        refused.extend(pyenv([version]).map(|[path]| (path, why)));
    }
    for (path, why) in refused {
        let answer = choose(&server, "main", Some(&path));
        let error = answer.json()["error"].clone();
        assert_eq!((answer.status, error["why"].as_str().unwrap()), (400, why), "{error}");
        assert!(!error["how"].as_str().unwrap().contains("--python"), "{error}");
    }
    assert_eq!(choose(&server, "none", None).status, 404);
    assert_eq!(python_of(&server, "main"), before);
    assert_eq!(state_of(&server, &state)["living"], "memory");
    let going = server.begin(&state, "import time; open('there', 'w'); time.sleep(1000)");
    until("the cell runs", || server.dir().join("there").exists());
    let busy = choose(&server, "main", None);
    assert_eq!(busy.status, 409, "{}", busy.text());
    assert_eq!(busy.json()["error"]["why"], "a cell is running");
    assert!(server.interrupt(&going.exec_id));
    assert_eq!(going.end().ename(), "KeyboardInterrupt");
}

#[test]
fn only_the_owner_can_list_the_machines_pythons() {
    let room = Room::new();
    let broken = room.file(".venv/bin/python");
    std::fs::create_dir_all(broken.parent().unwrap()).unwrap();
    std::fs::write(room.file(".venv/pyvenv.cfg"), "").unwrap();
    std::os::unix::fs::symlink("/nowhere/python3", &broken).unwrap();
    let wish = environment(&room, "env");
    let options = ["--dir", room.path().to_str().unwrap(), "--python", wish.to_str().unwrap()];
    let server = TestServer::start_with(&options);
    let list = server.owner(Request::get("/api/pythons")).json()["pythons"].clone();
    let list = list.as_array().unwrap();
    let first = &list[0];
    assert_eq!(first["path"], wish.join("bin/python").to_str().unwrap(), "{list:#?}");
    assert_eq!(first["version"], python_of(&server, "main")["version"]);
    assert_eq!((&first["place"], &first["is_default"]), (&json!("--python"), &json!(true)));
    assert_eq!(list.iter().filter(|python| python["is_default"] == true).count(), 1);
    let found = list.iter().find(|python| python["path"] == broken.to_str().unwrap()).unwrap();
    assert_eq!(found["problem"], "it is a link to a file that no longer exists");
    assert_eq!((&found["place"], &found["version"]), (&json!(".venv"), &Value::Null));

    let link = server.owner(Request::post("/api/links", r#"{"scope":"run"}"#)).json();
    let token = link["token"].as_str().unwrap();
    let body = json!({"path": wish.join("bin/python")}).to_string();
    let put = Request::new("PUT", "/api/notebooks/main/python").header("Content-Type", "application/json");
    assert_eq!(server.send(Request::get("/api/pythons").bearer(token)).status, 403);
    assert_eq!(server.send(put.body(body).bearer(token)).status, 403);
    let seen = server.send(Request::get("/api/notebooks/main").bearer(token)).json();
    assert_eq!(seen["python"], python_of(&server, "main"));
}

#[test]
fn a_notebook_whose_python_is_missing_opens_and_can_choose_another() {
    let (mut server, room) = (TestServer::fresh(), Room::new());
    let environment = environment(&room, "env");
    chosen(&server, "main", Some(&environment));
    let state = server.run("initial", "x = 1").state().to_owned();
    wait_for_checkpoints(&server, std::slice::from_ref(&state));
    // The environment disappears while the server runs, so the next root process cannot start.
    std::fs::rename(room.file("env"), room.file("moved")).unwrap();
    server.restart();
    let sentence = "there is no such file; choose another Python for this notebook";
    until("the page can show the reason", || {
        python_of(&server, "main")["problem"].as_str().is_some_and(|why| why.contains(sentence))
    });
    let failed = server.run(&state, "print(x)");
    assert!(failed.evalue().contains(sentence), "{failed:?}");
    assert_eq!(server.notebook()["states"].as_array().unwrap().len(), 2, "a cell is lost");

    // The environment is back, so the next run uses it.
    std::fs::rename(room.file("moved"), room.file("env")).unwrap();
    assert_eq!(server.run(&state, "print(x)").text(), "1\n");
    assert_eq!(python_of(&server, "main")["problem"], Value::Null);

    std::fs::rename(room.file("env"), room.file("moved")).unwrap();
    server.restart();
    assert_eq!(chosen(&server, "main", None)["problem"], Value::Null);
    assert_eq!(server.run(&state, "print(x)").text(), "1\n");
    assert_eq!(server.run("initial", "print(2)").text(), "2\n");
}

fn replayed(server: &TestServer, state: &str, code: &str) -> Ran {
    server.begin_with(state, code, json!({"replay": true})).end()
}

/// Checks that a state saved by one version has its plain values in the other, names the missing
/// variables, and is complete after a replay.
fn crosses(from: &Path, to: &Path, series: &str) {
    let server = TestServer::fresh();
    chosen(&server, "main", Some(from));
    let first =
        server.run("initial", "import math\nx = [1, 2]\ny = {'a': (1.5, None, b'b')}").state().to_owned();
    let second =
        server.run(&first, "class C:\n    v = 3\ndef f(): return x[1] + C().v\nz = f()").state().to_owned();
    let unsaved = server.run(&second, "import threading; lock = threading.Lock()").state().to_owned();
    let states = [first.clone(), second.clone(), unsaved.clone()];
    wait_for_checkpoints(&server, &states);
    let whole = state_of(&server, &second)["checkpoint"].clone();
    assert_eq!(whole["python"], series, "{whole:#}");

    chosen(&server, "main", Some(to));
    for state in &states {
        assert_eq!(state_of(&server, state)["living"], "disk");
    }
    assert_eq!(server.run(&second, "print(x, y, z)").text(), "[1, 2] {'a': (1.5, None, b'b')} 5\n");
    let missing = server.run(&second, "f()");
    let reason = format!("Python {series} saved it");
    assert!(missing.ename() == "NameError" && missing.evalue().contains(&reason), "{missing:?}");
    let restored = state_of(&server, &second)["revival"]["missing"].clone();
    let mut names: Vec<&str> =
        restored.as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["C", "f", "math"], "{restored:#}");
    // The values are not saved over the whole checkpoint.
    let saved = server.owner(Request::post(&format!("/api/states/{second}/checkpoint"), "{}"));
    assert_eq!(saved.status, 409, "{}", saved.text());

    // In the first version the state is complete again.
    chosen(&server, "main", Some(from));
    assert_eq!(server.run(&second, "print(f(), math.floor(2.5))").text(), "5 2\n");
    chosen(&server, "main", Some(to));
    let ran = replayed(&server, &second, "print(f(), math.floor(2.5))");
    assert_eq!(ran.text(), "5 2\n", "{ran:?}");
    // This version saves the replayed states again.
    let ours = python_of(&server, "main")["version"].as_str().unwrap().rsplit_once('.').unwrap().0.to_owned();
    until("the state is saved again", || state_of(&server, &second)["checkpoint"]["python"] == ours);
    chosen(&server, "main", Some(to));
    assert_eq!(server.run(&second, "print(f())").text(), "5\n");
}

#[test]
fn states_of_an_older_python_are_restored_as_values_or_by_replay() {
    let Some([old, new]) = pyenv(["3.11.7", "3.13.0"]) else { return };
    crosses(&old, &new, "3.11");
}

#[test]
#[ignore = "nightly: as with an older Python"]
fn states_of_a_newer_python_are_restored_as_values_or_by_replay() {
    let Some([old, new]) = pyenv(["3.11.7", "3.13.0"]) else { return };
    crosses(&new, &old, "3.13");
}

/// Checkpoints depend on the minor version only, so another environment loads them completely.
#[test]
fn a_state_is_restored_completely_in_another_environment_of_the_same_version() {
    let (server, room) = (TestServer::fresh(), Room::new());
    let environment = environment(&room, "env");
    let state = server.run("initial", "def f(): return 7").state().to_owned();
    // The change waits for the checkpoint.
    chosen(&server, "main", Some(&environment));
    assert_eq!(state_of(&server, &state)["living"], "disk");
    assert_eq!(server.run(&state, "print(f())").text(), "7\n");
}

#[test]
fn the_reported_version_is_that_of_the_python_that_runs() {
    let room = Room::new();
    let path = room.file("python");
    // The script reports another version than that of the Python that runs cells.
    let script = "#!/bin/sh\ncase \"$*\" in\n*ratoon-python*) \
                  echo \"ratoon-python cpython 3.11.0 64 0 1 $$ $0\t/\" ;;\n*) exec python3 \"$@\" ;;\nesac\n";
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let server = TestServer::start_with(&["--python", path.to_str().unwrap()]);
    let version = print_in(&server, "main", VERSION);
    assert_ne!(version, "3.11.0");
    assert_eq!(python_of(&server, "main")["version"], version);
}
