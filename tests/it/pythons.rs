//! Tests of the kernel's file, which the user's Python loads, and of the start of that Python.

use crate::cells::Room;
use crate::server::{TestServer, program, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The server's program and its kernel.
fn files() -> [PathBuf; 2] {
    let program = PathBuf::from(program(&[]).get_program());
    let kernel = program.with_file_name("libratoon.so");
    [program, kernel]
}

/// Copies a program. A process of its own does it: another process that this one starts meanwhile
/// would inherit the file open for writing, and Linux does not run such a file (ETXTBSY).
fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

/// A server that runs from a copy of its two files in this directory.
fn start_copied(dir: &Path) -> TestServer {
    for file in files() {
        copy_program(&file, &dir.join(file.file_name().unwrap()));
    }
    let start = format!("shift; exec '{}/ratoon' \"$@\"", dir.display());
    let (server, has_begun) = TestServer::start_under(&["sh", "-c", &start, "sh"]);
    assert!(has_begun, "{}", server.errors());
    server
}

/// Kills all processes of a server's notebook, so that it starts Python again.
fn end_root(server: &TestServer) {
    let processes = server.descendants();
    assert!(!processes.is_empty());
    for process in &processes {
        // Fails for a process that has ended with its parent.
        let _ = kill(Pid::from_raw(process.pid.cast_signed()), Signal::SIGKILL);
    }
    until("the processes have ended", || {
        server.descendants().iter().all(|one| !processes.iter().any(|old| old.pid == one.pid))
    });
}

#[test]
fn the_program_contains_no_python_and_the_kernel_needs_no_libpython() {
    let [program, kernel] = files();
    let output = |tool: &str, arguments: &[&str], file: &Path| {
        let output = Command::new(tool).args(arguments).arg(file).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let is_python = |line: &&str| {
        let name = line.split_whitespace().last().unwrap_or_default();
        name.starts_with("Py") || name.starts_with("_Py")
    };
    let symbols = output("nm", &[], &program);
    assert_eq!(symbols.lines().filter(is_python).collect::<Vec<_>>(), [""; 0]);
    let own = output("nm", &["--dynamic", "--defined-only"], &kernel);
    assert_eq!(own.lines().filter(is_python).count(), 1, "{own}");
    assert!(own.contains("PyInit__native"), "{own}");
    for file in [&program, &kernel] {
        let needed = output("ldd", &[], file);
        assert!(!needed.contains("libpython"), "{needed}");
    }
}

#[test]
fn a_program_without_its_kernel_says_what_is_missing() {
    let room = Room::new();
    copy_program(&files()[0], &room.path().join("ratoon"));
    let output = Command::new(room.path().join("ratoon")).args(["--bind", "127.0.0.1:0"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("libratoon.so") && text.contains("cargo build"), "{text}");
}

#[test]
fn a_running_server_keeps_its_kernel_when_another_build_replaces_it() {
    let room = Room::new();
    let server = start_copied(room.path());
    assert_eq!(server.run("initial", "print(1)").text(), "1\n");
    fs::write(room.path().join("new"), "another build").unwrap();
    fs::rename(room.path().join("new"), room.path().join("libratoon.so")).unwrap();
    end_root(&server);
    assert_eq!(server.run("initial", "print(2)").text(), "2\n");
}

/// Creates an environment that runs this code at each start of Python. Does not use
/// `sitecustomize`, because Debian has its own.
fn environment(room: &Room, code: &str) -> PathBuf {
    let env = room.path().join("env");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&env).status().unwrap();
    assert!(made.success());
    let script = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let output = Command::new(env.join("bin/python")).args(["-c", script]).output().unwrap();
    let packages = String::from_utf8(output.stdout).unwrap();
    let packages = Path::new(packages.trim());
    fs::write(packages.join("at_start.py"), code).unwrap();
    fs::write(packages.join("at_start.pth"), "import at_start\n").unwrap();
    env
}

#[test]
fn the_reason_why_a_python_does_not_start_is_reported() {
    let room = Room::new();
    let flag = room.path().join("broken");
    // The environment breaks after the server has examined it.
    let code = format!(
        "import os, sys\nprint('hello', file=sys.stderr)\nif os.path.exists({flag:?}):\n    \
         os.write(2, b'the disk is on fire\\n'); os._exit(3)\n"
    );
    let env = environment(&room, &code);
    let server = TestServer::start_with(&["--python", env.to_str().unwrap()]);
    assert_eq!(server.run("initial", "print(1)").text(), "1\n");
    // What Python prints while it starts goes to the server's terminal.
    until("the greeting is printed", || server.errors().contains("hello"));
    fs::write(&flag, "").unwrap();
    end_root(&server);
    let ran = server.run("initial", "1");
    assert!(ran.evalue().contains("Python ended while it was starting: the disk is on fire"), "{ran:?}");
    fs::remove_file(&flag).unwrap();
    until("Python starts again", || server.run("initial", "print(2)").text() == "2\n");
}

#[test]
fn a_python_that_cannot_be_used_is_refused_at_the_start() {
    let room = Room::new();
    let env = environment(&room, "raise SystemExit('this environment is closed')");
    let refused = |python: &Path| {
        let mut ratoon = program(&["timeout", "60", "env", "--unset", "PYTHONDONTWRITEBYTECODE"]);
        let output = ratoon.args(["--bind", "127.0.0.1:0", "--python"]).arg(python).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let text = refused(&env);
    assert!(text.contains("this environment is closed") && text.contains("--python"), "{text}");
    // Examining the environment writes no byte code into it.
    let find = Command::new("find").arg(&env).args(["-name", "*.pyc"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&find.stdout), "");
    fs::write(room.path().join("plain"), "").unwrap();
    let text = refused(&room.path().join("plain"));
    assert!(text.contains("is not executable"), "{text}");
    fs::set_permissions(room.path().join("plain"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(refused(&room.path().join("plain")).contains("does not"), "an empty script");
}

#[test]
fn cells_run_in_the_environment_that_a_user_would_start() {
    let room = Room::new();
    let env = environment(&room, "import builtins; builtins.greeting = 'hello'");
    let settings =
        ["PYTHONPATH=relative", "PYTHONHASHSEED=7", "PYTHONSAFEPATH=", "PYTHONWARNINGS=error::UserWarning"];
    let under: Vec<&str> = ["env"].into_iter().chain(settings).collect();
    let mut server = TestServer::start_with(&["--python", env.to_str().unwrap()]);
    server.kill();
    assert!(server.start_again(&under), "{}", server.errors());
    let code = "import os, sys\nprint(greeting, sys.prefix, sys.executable)\n\
                print(os.environ['PYTHONHASHSEED'], sys.argv, sys.path.count(''), __name__)\n\
                print([p for p in sys.path if p.endswith('relative')], sys.warnoptions)\n\
                print(sys.flags.hash_randomization, [n for n in globals() if n in ('start', 'sys', 'os')])";
    let env = env.display();
    let dir = server.dir();
    let expected = format!(
        "hello {env} {env}/bin/python\n7 [''] 1 __main__\n['{}/relative'] ['error::UserWarning']\n1 ['os', 'sys']\n",
        dir.canonicalize().unwrap().display()
    );
    let ran = server.run("initial", code);
    assert_eq!(ran.text(), expected, "{ran:?}");
}

/// `.pth` files run before the kernel's own code.
#[test]
fn code_at_the_start_of_python_may_change_arguments_and_read_standard_input() {
    let room = Room::new();
    let code = "import os, sys\nsys.argv = ['theirs']\nos.environ.pop('PYTHONHASHSEED', None)\n\
                sys.greeting = os.read(0, 10)\n";
    let env = environment(&room, code);
    let server = TestServer::start_with(&["--python", env.to_str().unwrap()]);
    let ran = server.run("initial", "import sys\nprint(sys.greeting, sys.argv)");
    assert_eq!(ran.text(), "b'' ['']\n", "{ran:?}");
    assert_eq!(server.run(ran.state(), "print(sys.greeting)").text(), "b''\n");
}

#[test]
fn code_at_the_start_of_python_that_closes_the_connection_is_reported() {
    let room = Room::new();
    // Closes the sockets of the process, but not the file that Python reads.
    let code = "import os, stat\nfor number in map(int, os.listdir('/proc/self/fd')):\n    try:\n        \
                if stat.S_ISSOCK(os.fstat(number).st_mode):\n            os.close(number)\n    \
                except OSError:\n        pass\n";
    let env = environment(&room, code);
    let server = TestServer::start_with(&["--python", env.to_str().unwrap()]);
    let ran = server.run("initial", "1");
    assert!(ran.evalue().contains("was closed while Python started: by a .pth file"), "{ran:?}");
}

/// Cells run in the process that the user's script starts, with what the script sets.
#[test]
fn a_script_that_starts_a_python_is_the_kernels_python() {
    let room = Room::new();
    let real = room.path().join("env/bin/python");
    environment(&room, "");
    let script = room.path().join("python");
    let text = format!("#!/bin/sh\nexport GREETING=hello\nexec '{}' \"$@\"\n", real.display());
    let write = "printf '%s' \"$1\" > \"$0\" && chmod 755 \"$0\"";
    assert!(Command::new("sh").args(["-c", write]).arg(&script).arg(text).status().unwrap().success());
    let server = TestServer::start_with(&["--python", script.to_str().unwrap()]);
    let ran = server.run("initial", "import os, sys\nprint(os.environ['GREETING'], sys.executable)");
    assert_eq!(ran.text(), format!("hello {}\n", real.display()), "{ran:?}");
    // A branch and a restarted kernel have the variable, too.
    let code = "print(os.environ['GREETING'])";
    assert_eq!(server.run(ran.state(), code).text(), "hello\n");
    end_root(&server);
    assert_eq!(server.run("initial", "import os; print(os.environ['GREETING'])").text(), "hello\n");
    server.has_no_zombies();
}

/// These variables make Python ask for more input, or print in another encoding.
#[test]
fn environment_variables_that_change_pythons_output_affect_only_cells() {
    let mut server = TestServer::fresh();
    server.kill();
    let under = ["env", "PYTHONINSPECT=1", "PYTHONIOENCODING=utf-16", "PYTHONVERBOSE=1"];
    assert!(server.start_again(&under), "{}", server.errors());
    let code = "import os; print([os.environ[f'PYTHON{n}'] for n in ('INSPECT', 'IOENCODING', 'VERBOSE')])";
    assert_eq!(server.run("initial", code).text(), "['1', 'utf-16', '1']\n");
}

#[test]
fn the_hash_seed_is_constant_and_invisible_to_cells() {
    let mut server = TestServer::start();
    let code = "import os\nprint(hash('ratoon'), os.environ.get('PYTHONHASHSEED'))";
    let first = server.run("initial", code).text();
    assert!(first.ends_with(" None\n"), "{first}");
    server.kill();
    assert!(server.start_again(&["env", "PYTHONHASHSEED=random"]));
    let second = server.run("initial", code).text();
    assert_eq!(second, first.replace("None", "random"));
}

#[test]
fn a_server_started_with_sigint_ignored_can_interrupt_cells() {
    let mut server = TestServer::start();
    server.kill();
    assert!(server.start_again(&["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]));
    let going = server.begin("initial", "print('on', flush=True)\nwhile True: pass");
    until("the cell is interrupted", || server.interrupt(&going.exec_id));
    assert_eq!(going.end().ename(), "KeyboardInterrupt");
}

#[test]
fn a_python_that_is_being_examined_ends_with_the_server() {
    let room = Room::new();
    let python = room.path().join("python");
    let script = format!(
        "#!/bin/sh\necho $$ > '{0}/unfinished'\nmv '{0}/unfinished' '{0}/pid'\nexec sleep 600\n",
        room.path().display()
    );
    fs::write(&python, script).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let mut server = program(&[]).args(["--bind", "127.0.0.1:0", "--python"]).arg(&python).spawn().unwrap();
    room.wait_for("pid");
    let pid = fs::read_to_string(room.file("pid")).unwrap().trim().parse().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    until("the Python has ended", || kill(Pid::from_raw(pid), None).is_err());
}
