//! Tests of ruff on the cells of a notebook, and of syntax errors.

use crate::cells::Room;
use crate::request::{Answer, Request};
use crate::server::{TestServer, until};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn post(server: &TestServer, what: &str, cells: &Value) -> Answer {
    let body = json!({ "cells": cells }).to_string();
    server.owner(Request::post(&format!("/api/notebooks/main/{what}"), &body))
}

/// The codes, cells and marked texts of the problems.
fn problems(server: &TestServer, cells: &[&str]) -> Vec<(String, usize, String)> {
    let linted = post(server, "lint", &json!(cells)).json();
    assert_eq!(linted["failure"], Value::Null, "{linted}");
    let places = linted["problems"].as_array().unwrap().iter().map(|one| {
        let number = |key: &str| usize::try_from(one[key].as_u64().unwrap()).unwrap();
        let marked = cells[number("cell")].chars().take(number("to")).skip(number("from")).collect();
        (one["code"].as_str().unwrap().to_owned(), number("cell"), marked)
    });
    places.collect()
}

/// Whether the tests' environment has ruff beside its Python.
fn has_ruff() -> bool {
    let python = std::env::var("RATOON_TEST_PYTHON").unwrap_or_default();
    Path::new(&python).with_file_name("ruff").exists()
}

#[test]
fn cells_are_linted_and_formatted_with_the_users_ruff() {
    if !has_ruff() {
        return;
    }
    let room = Room::new();
    std::fs::write(
        room.path().join("ruff.toml"),
        "[lint]\nselect = [\"F\"]\n[format]\nquote-style = \"single\"\n",
    )
    .unwrap();
    let Some(server) = TestServer::science_in(room.path()) else { return };
    // Names of other cells are known. A cell with a syntax error does not hide the problems of the
    // others.
    let cells =
        ["import os\nimport sys", "%matplotlib inline\n!ls\nfoo?\nawait é(os)", "x = = 1", "%%bash\nls ("];
    let found = problems(&server, &cells);
    assert_eq!(found, [("F401".into(), 0, "sys".into()), ("F821".into(), 1, "é".into())]);

    let code = "%time x=f( 1,\"a\" )\ny = {  'b':2 };\nx;";
    let formatted = post(&server, "format", &json!([code, "if x", "", "%%bash\nls  ("])).json();
    let cells = formatted["cells"].as_array().unwrap();
    assert_eq!(cells[0]["code"], "%time x=f( 1,\"a\" )\ny = {'b': 2}\nx;", "{formatted}");
    let why = cells[1]["failure"].as_str().unwrap();
    assert!(why.starts_with("line 1: ") && cells[1]["code"].is_null(), "{formatted}");
    assert_eq!((&cells[2]["code"], &cells[3]["code"]), (&json!(""), &json!("%%bash\nls  (")));

    // Without settings, mistakes are reported and questions of style are not, such as imports on
    // one line, whichever rules this version of ruff would choose.
    std::fs::remove_file(room.path().join("ruff.toml")).unwrap();
    let found = problems(&server, &["import sys\nimport os, re\nfor x in ( sys,re ): print(x);"]);
    assert_eq!(found, [("F401".into(), 0, "os".into())]);
    std::fs::write(room.path().join("pyproject.toml"), "[tool.ruff.lint]\nselect = [\"I\"]\n").unwrap();
    let found = problems(&server, &["import sys\nimport os"]);
    assert_eq!(found.iter().map(|(code, ..)| code.as_str()).collect::<Vec<_>>(), ["I001"]);

    std::fs::write(room.path().join("ruff.toml"), "no such key = 1").unwrap();
    let failed = post(&server, "lint", &json!(["import os"])).json();
    assert!(failed["failure"].as_str().is_some_and(|why| !why.is_empty()), "{failed}");
    let too_long = post(&server, "lint", &json!(["x".repeat(1024 * 1024 + 1)]));
    assert_eq!(too_long.status, 413);
    let left: Vec<_> = std::fs::read_dir(room.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name != ".ruff_cache"), "{left:?}");
}

#[test]
fn without_ruff_the_answer_says_how_to_get_it() {
    let room = Room::new();
    let bin = room.path();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let without = std::env::split_paths(&path).filter(|place| !place.join("ruff").exists());
    let path = std::env::join_paths(std::iter::once(bin.to_path_buf()).chain(without)).unwrap();
    let (server, has_begun) = TestServer::start_under(&["env", &format!("PATH={}", path.display())]);
    assert!(has_begun, "{}", server.errors());
    let linted = post(&server, "lint", &json!(["import os"])).json();
    assert_eq!(linted, json!({"ruff": null, "failure": null, "problems": []}));
    let refused = post(&server, "format", &json!(["x=1"]));
    assert_eq!(refused.status, 404);
    assert!(refused.text().contains("pip install ruff"), "{}", refused.text());

    // A ruff that fails costs nothing but its diagnostics.
    std::fs::write(bin.join("ruff"), "#!/bin/sh\necho broken >&2\nexit 2\n").unwrap();
    std::fs::set_permissions(bin.join("ruff"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let linted = post(&server, "lint", &json!(["import os"])).json();
    assert_eq!(linted["failure"], "broken", "{linted}");
}

/// A server on a machine without ruff, whose only working installer is this script, called `uv`.
fn server_without_ruff(room: &Room, uv: &str) -> TestServer {
    let (bin, data) = (room.path().join("bin"), room.path().join("data"));
    std::fs::create_dir_all(&bin).unwrap();
    write_program(&bin.join("uv"), uv);
    // Packages of the tests' own data directory, without a ruff that it may have.
    let support = data.join("ratoon/support");
    std::fs::create_dir_all(&support).unwrap();
    let home = std::env::var_os("XDG_DATA_HOME").map(std::path::PathBuf::from);
    let known = home.and_then(|home| std::fs::read_dir(home.join("ratoon/support")).ok());
    for entry in known.into_iter().flatten().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with("py") {
            std::os::unix::fs::symlink(entry.path(), support.join(entry.file_name())).unwrap();
        }
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let without = std::env::split_paths(&path).filter(|place| !place.join("ruff").exists());
    let path = std::env::join_paths(std::iter::once(bin).chain(without)).unwrap();
    let (path, data) = (format!("PATH={}", path.display()), format!("XDG_DATA_HOME={}", data.display()));
    let (server, has_begun) =
        TestServer::start_under(&["env", &path, &data, "PIP_NO_INDEX=1", "PIP_FIND_LINKS="]);
    assert!(has_begun, "{}", server.errors());
    server
}

fn write_program(path: &Path, script: &str) {
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn ruff_is_installed_for_ratoon_when_the_owner_asks_pinned_and_once() {
    let room = Room::new();
    let asked = room.path().join("asked");
    let uv = format!(
        "#!/bin/sh\necho \"$@\" >>'{asked}'\nwhile [ $# -gt 1 ]; do\n  [ $1 = --requirement ] && cat $2 >>'{asked}'\n  \
         [ $1 = --target ] && into=$2\n  shift\ndone\nmkdir -p $into/bin\n\
         printf '#!/bin/sh\\ncase $1 in --version) echo ruff;; format) cat;; *) echo \"[]\";; esac\\n' >$into/bin/ruff\n\
         chmod +x $into/bin/ruff\n",
        asked = asked.display()
    );
    let server = server_without_ruff(&room, &uv);
    assert_eq!(post(&server, "format", &json!(["x=1"])).status, 404);
    assert!(!asked.exists(), "nothing is fetched without being asked");
    let install = || Request::post("/api/ruff", "{}");
    let wish = json!({"scope": "run"}).to_string();
    let link = server.owner(Request::post("/api/links", &wish)).json()["token"].as_str().unwrap().to_owned();
    assert_eq!(server.send(install().bearer(&link)).status, 403);
    assert!(!asked.exists());

    let ruff = server.owner(install()).json()["ruff"].as_str().unwrap_or_default().to_owned();
    assert!(Path::new(&ruff).starts_with(room.path().join("data/ratoon/support")), "{ruff}");
    let told = std::fs::read_to_string(&asked).unwrap();
    for part in ["--require-hashes --no-deps --only-binary :all:", "\nruff==", "--hash=sha256:"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert_eq!(post(&server, "format", &json!(["x=1"])).json()["cells"][0]["code"], "x=1");
    assert_eq!(post(&server, "lint", &json!(["x=1"])).json()["ruff"], *ruff);
    assert_eq!(server.owner(install()).json()["ruff"], *ruff);
    assert_eq!(std::fs::read_to_string(&asked).unwrap(), told, "it is installed once");
}

#[test]
fn without_a_network_ruff_is_not_installed_and_the_answer_says_why() {
    let room = Room::new();
    let server = server_without_ruff(&room, "#!/bin/sh\necho 'error: no route to the index' >&2\nexit 2\n");
    let refused = server.owner(Request::post("/api/ruff", "{}"));
    assert_eq!(refused.status, 503, "{}", refused.text());
    for part in ["no route to the index", "connect to the network", "%pip install ruff"] {
        assert!(refused.text().contains(part), "{part} in {}", refused.text());
    }
    let left = std::fs::read_dir(room.path().join("data/ratoon/support")).unwrap();
    let mut left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(left.all(|name| name == "lock" || name.starts_with("py")));
    assert_eq!(post(&server, "format", &json!(["x=1"])).status, 404);
    // A ruff that does not start is not kept.
    write_program(
        &room.path().join("bin/uv"),
        "#!/bin/sh\nfor into; do :; done\nmkdir -p $into/bin\nprintf '#!/bin/sh\\nexit 3\\n' >$into/bin/ruff\n\
         chmod +x $into/bin/ruff\n",
    );
    let refused = server.owner(Request::post("/api/ruff", "{}"));
    assert!(refused.text().contains("does not start"), "{}", refused.text());
    assert_eq!(post(&server, "format", &json!(["x=1"])).status, 404);
}

#[test]
fn a_syntax_error_is_found_without_running_the_cell() {
    let server = TestServer::start();
    let check = |code: &str| {
        let command = json!({"do": "check", "state": "initial", "code": code}).to_string();
        let mut answer = Value::Null;
        // On a busy machine the server may reach its time limit before the answer is ready.
        until("the server answers in time", || {
            answer = server.owner(Request::post("/api/notebooks/main/commands", &command)).json();
            answer["code"] != "timeout"
        });
        answer
    };
    let found = check("é = 1\nprint('x'");
    assert_eq!((&found["kind"], &found["error"]["from"]), (&json!("checked"), &json!(11)), "{found}");
    assert!(found["error"]["message"].as_str().unwrap().contains("never closed"), "{found}");
    for code in ["%time 1 +", "!ls (", "await x", "%%bash\nif", "raise SystemExit"] {
        assert_eq!(check(code)["error"], Value::Null, "{code}");
    }
}
