//! Tests that the user's Python starts as in Jupyter's kernel: `sys.path`, startup files,
//! configuration.

use crate::cells::Room;
use crate::server::TestServer;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A server in this directory, which starts with these variables.
fn start(dir: &Path, variables: &[String]) -> TestServer {
    let mut server = TestServer::in_dir(dir);
    server.kill();
    again(&mut server, variables);
    server
}

fn again(server: &mut TestServer, variables: &[String]) {
    let mut under = vec!["env"];
    under.extend(variables.iter().map(String::as_str));
    assert!(server.start_again(&under), "{}", server.errors());
}

#[test]
fn no_file_of_the_notebooks_directory_replaces_a_module_that_the_start_needs() {
    let room = Room::new();
    let modules = ["platform", "random", "json", "IPython", "cloudpickle", "traitlets", "describe"];
    for module in modules {
        let code = "open(__file__ + '.was-imported', 'w').close()\n";
        fs::write(room.path().join(format!("{module}.py")), code).unwrap();
    }
    fs::write(room.path().join("own.py"), "own = 1\n").unwrap();
    let server = start(room.path(), &[]);
    let code = "import sys, own, platform\n\
        at = [path.endswith('-packages') for path in sys.path].index(True)\n\
        print(own.own, platform.machine() != '', sys.path[at - 1] == '')";
    assert_eq!(server.run("initial", code).text(), "1 True True\n");
    let imported = |module: &&&str| room.path().join(format!("{module}.py.was-imported")).exists();
    assert_eq!(modules.iter().filter(imported).collect::<Vec<_>>(), [&""; 0]);
}

#[test]
fn pythonsafepath_is_respected() {
    let room = Room::new();
    let server = start(room.path(), &["PYTHONSAFEPATH=1".into()]);
    assert_eq!(server.run("initial", "import sys; print('' in sys.path)").text(), "False\n");
}

#[test]
fn startup_files_run_once_and_cells_see_their_variables_as_in_jupyter() {
    let (room, home) = (Room::new(), Room::new());
    let write = |name: &str, code: &str| {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, code).unwrap();
    };
    write("python.py", "first = [__file__.rsplit('/')[-1]]\nprint('a start')\n");
    write("profile_default/startup/10-next.py", "second = first + ['next']\ndisplay(second)\n");
    write("profile_default/startup/20-bad.py", "kept = 1\n1/0\nnever = 1\n");
    write(
        "profile_default/ipython_config.py",
        "c.InteractiveShell.ast_node_interactivity = 'all'\n\
         c.InteractiveShellApp.exec_lines = ['third = 3']\n\
         c.InteractiveShellApp.extensions.append('no_such_extension')\n",
    );
    let variables = [
        format!("IPYTHONDIR={}", home.path().display()),
        format!("PYTHONSTARTUP={}", home.path().join("python.py").display()),
    ];
    let mut server = start(room.path(), &variables);
    let all = server.run("initial", "first\nsecond\n(kept, third, 'never' in dir(), '__file__' in dir())");
    let results: Vec<&str> =
        all.output.iter().filter_map(|item| item["data"]["text/plain"].as_str()).collect();
    assert_eq!(results, ["['python.py']", "['python.py', 'next']", "(1, 3, False, False)"]);
    let errors = server.errors();
    for expected in ["a start\n", "20-bad.py failed", "ZeroDivisionError", "the extension no_such_extension"]
    {
        assert!(errors.contains(expected), "{expected}: {errors}");
    }
    assert_eq!(errors.matches("a start").count(), 1, "{errors}");

    // A checkpoint has what cells made of the variables, also what they deleted.
    let changed = server.run(all.state(), "first.append('cell'); del second");
    server.checkpoint(changed.state(), serde_json::json!({}));
    server.kill();
    again(&mut server, &variables);
    let restored = server.run(changed.state(), "print(first, 'second' in dir(), third)");
    assert_eq!(restored.text(), "['python.py', 'cell'] False 3\n");
    // Other notebooks have what `%store` keeps, as in Jupyter.
    assert_eq!(server.run(&restored.state.unwrap(), "%store third").text(), "Stored 'third' (int)\n");
    assert_eq!(server.run("initial", "del third\n%store -r third\nprint(third)").text(), "3\n");
}

#[test]
fn an_outdated_package_is_reported_with_a_remedy() {
    let (room, packages) = (Room::new(), Room::new());
    fs::write(packages.path().join("cloudpickle.py"), "__version__ = '1.6.0'\n").unwrap();
    let server = start(room.path(), &[format!("PYTHONPATH={}", packages.path().display())]);
    let failed = server.run("initial", "1");
    let expected = "cloudpickle 1.6.0 is installed for ";
    assert!(failed.evalue().contains(expected), "{failed:?}");
    assert!(failed.evalue().contains("-m pip install --upgrade cloudpickle"), "{failed:?}");
}

#[test]
fn a_damaged_support_directory_is_reported_with_a_remedy() {
    let (room, data) = (Room::new(), Room::new());
    // An environment without packages, and a support directory that exists but is empty.
    let environment = room.path().join("env");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&environment).status();
    assert!(made.unwrap().success());
    let script = "import platform, sys; print('py%d%d-%s-' % (*sys.version_info[:2], platform.machine()))";
    let prefix = Command::new("python3").args(["-c", script]).output().unwrap().stdout;
    let support = data.path().join("ratoon/support").join(format!(
        "{}{}",
        String::from_utf8(prefix).unwrap().trim(),
        support_hash()
    ));
    fs::create_dir_all(&support).unwrap();
    let mut server = TestServer::start_with(&[
        "--dir",
        room.path().to_str().unwrap(),
        "--python",
        environment.to_str().unwrap(),
    ]);
    server.kill();
    again(&mut server, &[format!("XDG_DATA_HOME={}", data.path().display())]);
    let failed = server.run("initial", "1");
    let expected = format!("If files are missing in {}, delete that directory", support.display());
    assert!(failed.evalue().contains(&expected), "{failed:?}");
}

/// The end of the support directory's name: the hash of its pins.
fn support_hash() -> String {
    let pins = include_bytes!("../../src/kernel/provision/pins/py311.txt");
    Sha256::digest(pins).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_kernels_code_is_compiled_once_and_damaged_byte_code_is_replaced() {
    let Ok(python) = std::env::var("RATOON_TEST_PYTHON") else {
        eprintln!("skipped: RATOON_TEST_PYTHON names no Python with IPython (tests/run does that)");
        return;
    };
    let (room, data) = (Room::new(), Room::new());
    let variables = [format!("XDG_DATA_HOME={}", data.path().display())];
    let mut server = TestServer::start_with(&["--dir", room.path().to_str().unwrap(), "--python", &python]);
    server.kill();
    again(&mut server, &variables);
    server.run("initial", "1").state();
    let dir = data.path().join("ratoon/bytecode");
    let files = || fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let file = files().pop().unwrap();
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    for damaged in [&damaged[..], &whole[..20], b""] {
        fs::write(&file, damaged).unwrap();
        fs::write(dir.join("of-another-version"), "").unwrap();
        server.kill();
        again(&mut server, &variables);
        server.run("initial", "1").state();
        assert_eq!(files(), std::slice::from_ref(&file));
        assert_eq!(fs::read(&file).unwrap().len(), whole.len());
    }
    server.kill();
    let written = file.metadata().unwrap().modified().unwrap();
    again(&mut server, &variables);
    server.run("initial", "1").state();
    assert_eq!(file.metadata().unwrap().modified().unwrap(), written);
}

#[test]
fn ipythons_terminal_is_loaded_only_when_it_is_used() {
    let server = TestServer::start();
    let code = "import IPython, sys\nprint('prompt_toolkit' in sys.modules, callable(IPython.embed))\n\
        from IPython.terminal.embed import InteractiveShellEmbed\nprint('prompt_toolkit' in sys.modules)";
    assert_eq!(server.run("initial", code).text(), "False True\nTrue\n");
}
