//! `ratoon check`, `gc` and `trust`, as they are typed.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn ratoon(home: &Path, command: &str, dir: &Path) -> (i32, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_ratoon"))
        .arg(command)
        .arg(dir)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    (status.code().unwrap(), said)
}

#[test]
fn a_notebook_is_checked_cleaned_and_trusted() {
    let home = std::env::temp_dir().join(format!("ratoon-care-{}", std::process::id()));
    let dir = home.join("main.ratoon");
    fs::create_dir_all(dir.join("tmp")).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/tests/version-1.db");
    fs::copy(&golden, dir.join("notebook.db")).unwrap();
    // Its one checkpoint has no blobs here.
    let (code, said) = ratoon(&home, "check", &dir);
    assert!(code == 1 && said.contains("missing") && said.contains("1 damaged"), "{said}");
    let (code, said) = ratoon(&home, "gc", &dir);
    assert!(code == 1 && said.contains("not known what the checkpoint of state initial needs"), "{said}");
    let (code, said) = ratoon(&home, "trust", &dir);
    assert!(code == 0 && said.contains("3 names") && said.contains("1 checkpoints are trusted"), "{said}");
    let (_, said) = ratoon(&home, "trust", &dir);
    assert!(said.contains("0 checkpoints are trusted"), "{said}");
    assert!(home.join(".config/ratoon/key").is_file());
    fs::write(dir.join("notebook.db"), "no database").unwrap();
    let (code, said) = ratoon(&home, "check", &dir);
    assert!(code == 1 && said.contains("notebook.db is damaged: it is cut off"), "{said}");
    assert_eq!(fs::read_to_string(dir.join("notebook.db")).unwrap(), "no database");
    fs::remove_dir_all(home).unwrap();
}
