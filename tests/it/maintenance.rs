//! Tests of the commands `ratoon check`, `gc` and `trust`.

use crate::cells::Room;
use crate::server::{TestServer, output_of};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn ratoon(home: &Path, command: &str, dir: &Path) -> (i32, String) {
    said_by(Command::new(env!("CARGO_BIN_EXE_ratoon")).arg(command).arg(dir).env("HOME", home))
}

fn trust(home: &Path, dir: &Path) -> (i32, String) {
    said_by(Command::new(env!("CARGO_BIN_EXE_ratoon")).args(["trust", "--yes"]).arg(dir).env("HOME", home))
}

fn said_by(command: &mut Command) -> (i32, String) {
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).env_remove("XDG_CONFIG_HOME").output().unwrap();
    let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    (status.code().unwrap(), said)
}

#[test]
fn a_notebook_can_be_checked_cleaned_and_trusted() {
    let home = std::env::temp_dir().join(format!("ratoon-care-{}", std::process::id()));
    let dir = home.join("main.ratoon");
    fs::create_dir_all(dir.join("tmp")).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/tests/version-2.db");
    fs::copy(&golden, dir.join("notebook.db")).unwrap();
    // The blobs of the notebook's only checkpoint are missing.
    let (code, said) = ratoon(&home, "check", &dir);
    assert!(code == 1 && said.contains("missing") && said.contains("1 damaged"), "{said}");
    let (code, said) = ratoon(&home, "gc", &dir);
    assert!(
        code == 1 && said.contains("the list of blobs of the checkpoint of state initial cannot be read"),
        "{said}"
    );
    // Without `--yes`, the command lists the checkpoints to trust, and trusts none of them.
    let (code, said) = ratoon(&home, "trust", &dir);
    let told = [
        "initial: ",
        "signed by another install",
        "cannot be read: the blob",
        "stdin is not a terminal",
        "--yes",
    ];
    assert!(code == 1 && told.iter().all(|told| said.contains(told)), "{said}");
    let (code, said) = trust(&home, &dir);
    assert!(
        code == 0 && said.contains("runs as you") && said.contains("newly trusted checkpoints: 1"),
        "{said}"
    );
    let (code, said) = ratoon(&home, "trust", &dir);
    assert!(code == 0 && said == "newly trusted checkpoints: 0\n", "{said}");
    assert!(home.join(".config/ratoon/key").is_file());
    fs::write(dir.join("notebook.db"), "no database").unwrap();
    let (code, said) = ratoon(&home, "check", &dir);
    assert!(code == 1 && said.contains("notebook.db is damaged: it is cut off"), "{said}");
    assert_eq!(fs::read_to_string(dir.join("notebook.db")).unwrap(), "no database");
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn trust_shows_the_checkpoints_before_it_signs_them() {
    let (room, home) = (Room::new(), Room::new());
    let mut server = TestServer::in_dir(room.path());
    let code = "import decimal\ndef greet(): return decimal.Decimal(1)\nclass Thing: pass\nx = [1]";
    let state = server.run("initial", code).state().to_owned();
    server.checkpoint(&state, json!({}));
    server.signal(nix::sys::signal::Signal::SIGTERM);
    server.wait();
    // An install with another home directory has another key.
    let dir = room.file("main.ratoon");
    let (code, said) = ratoon(home.path(), "trust", &dir);
    let told = [
        "main.ratoon: ",
        "4 names",
        "runs code when it is loaded; imports ",
        "decimal",
        "greet",
        "Thing",
        &state,
    ];
    assert!(code == 1 && told.iter().all(|told| said.contains(told)), "{said}");
    let (code, said) = trust(home.path(), &dir);
    assert!(code == 0 && said.contains("greet") && said.contains("newly trusted checkpoints: 1"), "{said}");
    // The first install does not trust the checkpoint any more.
    let again = output_of(&["trust", dir.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&again.stdout).contains("not signed: 1"), "{again:?}");
    drop(server);
}
