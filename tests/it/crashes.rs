//! Tests of cells that end their process. The error names the cause, and nothing else is affected.

use crate::cells::{Live, Process, Ran};
use crate::restarts::state_of;
use crate::server::{TestServer, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const DEATHS: &[(&str, &str, &str)] = &[
    ("os._exit", "os._exit(3)", "exited with code 3"),
    ("os._exit without an error", "os._exit(0)", "exited with code 0"),
    ("a null pointer", "import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    ("abort", "os.abort()", "SIGABRT"),
    ("kill -9", "import signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    ("SIGTERM to itself", "import signal; os.kill(os.getpid(), signal.SIGTERM)", "SIGTERM"),
    (
        "a thread with a null pointer",
        "import ctypes, threading, time; threading.Thread(target=ctypes.string_at, args=(0,)).start(); \
        time.sleep(1000)",
        "SIGSEGV",
    ),
    (
        "a stack that is too deep",
        "import sys; sys.setrecursionlimit(10**9)\n\
        def deep(n): return sorted([0], key=lambda _: deep(n + 1))\ndeep(0)",
        "SIGSEGV",
    ),
];

fn signal(pid: &str, signal: Signal) {
    kill(Pid::from_raw(pid.trim().parse().unwrap()), signal).unwrap();
}

fn is_killed(ran: &Ran, how: &str) -> bool {
    ran.ename() == "KernelDied" && ran.evalue().contains(how) && ran.state.is_none()
}

#[test]
fn the_death_of_a_process_is_a_clear_error_of_its_run_only() {
    let server = TestServer::start();
    let room = server.room();
    let state = server.run("initial", "import os, time; x = [1]");
    let state = state.state();
    let wait =
        "open('waiting', 'w')\nwhile not os.path.exists('go'): time.sleep(0.01)\nx.append(2); print(x)";
    let beside = server.begin(state, wait);
    room.wait_for("waiting");
    for (what, code, how) in DEATHS {
        let ran = server.run(state, &format!("x.append(9); print('before'); {code}"));
        // Python 3.12 limits the depth of its C functions, 3.14 detects the overflow of its stack.
        let is_seen = ran.ename() == "RecursionError" || ran.evalue().starts_with("Stack overflow");
        assert!(is_seen || is_killed(&ran, how), "{what}: {ran:?}");
        assert_eq!(ran.text(), "before\n", "{what}");
        assert_eq!(ran.output.last().unwrap()["output_type"], "error", "{what}");
        assert_eq!(server.run(state, "print(x)").text(), "[1]\n", "{what}");
    }
    room.put("go");
    assert_eq!(beside.end().text(), "[1, 2]\n");
    server.has_no_zombies();
}

#[test]
fn processes_started_by_a_dead_process_end_too() {
    let server = TestServer::start();
    let code = "import os, subprocess, time\np = subprocess.Popen(['sleep', '1000'])\nchild = os.fork()\n\
        if child == 0: time.sleep(1000)\n\
                print(p.pid, child)\nos._exit(1)";
    let ran = server.run("initial", code);
    assert!(is_killed(&ran, "exited with code 1"), "{ran:?}");
    let text = ran.text();
    let started: Vec<u32> = text.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(started.len(), 2);
    until("its processes are gone", || server.descendants().iter().all(|p| !started.contains(&p.pid)));
    server.has_no_zombies();
}

#[test]
fn a_cell_that_dies_at_once_leaves_its_base_state_intact() {
    let server = TestServer::start();
    let mut tip = server.run("initial", "import os; n = 0").state().to_owned();
    for n in 1..=30 {
        tip = server.run(&tip, "n += 1").state().to_owned();
        assert_eq!(server.run(&tip, "os._exit(3)").ename(), "KernelDied");
        assert_eq!(server.run(&tip, "print(n)").text(), format!("{n}\n"));
    }
}

#[test]
fn errors_that_python_can_raise_do_not_end_the_process() {
    let server = TestServer::start();
    let state = server.run("initial", "x = 1");
    for (code, ename) in [
        ("def f(): f()\nf()", "RecursionError"),
        ("b = bytearray(10**13)", "MemoryError"),
        ("x = bytearray(10**11)", "MemoryError"),
        ("raise SystemExit(4)", "SystemExit"),
        ("import sys; sys.exit('bye')", "SystemExit"),
        ("exit()", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("class E(BaseException): pass\nraise E('own')", "E"),
        ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "E"),
    ] {
        let ran = server.run(state.state(), code);
        assert_eq!((ran.ename(), ran.state.as_deref()), (ename, None), "{code}: {ran:?}");
    }
    assert_eq!(server.run(state.state(), "print(x)").text(), "1\n");
}

#[test]
fn an_exception_in_a_thread_is_shown_and_the_cell_succeeds() {
    let server = TestServer::start();
    let ran = server.run(
        "initial",
        "import threading; t = threading.Thread(target=lambda: 1/0); t.start(); t.join(); print('on')",
    );
    assert_eq!((ran.state().is_empty(), ran.text().as_str()), (false, "on\n"));
    assert!(ran.stream("stderr").contains("ZeroDivisionError"), "{ran:?}");
}

#[test]
fn a_head_that_is_killed_from_outside_fails_only_its_cell() {
    let server = TestServer::start();
    let state = server.run("initial", "import os, time; x = 1");
    let mut live = Live::join(&server);
    let exec_id = live.run(state.state(), "print(os.getpid()); time.sleep(1000)");
    let printed = live.event(&exec_id, "output_added");
    signal(printed["output"]["text"].as_str().unwrap(), Signal::SIGKILL);
    let ended = live.event(&exec_id, "run_ended");
    assert_eq!(
        (ended["status"].as_str(), ended["error"]["ename"].as_str()),
        (Some("crashed"), Some("KernelDied"))
    );
    assert_eq!(server.run(state.state(), "print(x)").text(), "1\n");
    server.has_no_zombies();
}

#[test]
fn a_forked_child_that_reaches_the_end_of_the_cell_makes_no_state() {
    let server = TestServer::start();
    let state = server.run("initial", "import os");
    let ran = server.run(
        state.state(),
        "pid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('child' if pid == 0 else 'parent')",
    );
    assert_eq!((ran.ename(), ran.text().as_str()), ("", "child\nparent\n"));
    assert_eq!(server.states().len(), 3);
    // First, a cell whose process ends before the child that it forked. Then, a forked child that
    // raises an exception.
    let ran = server.run(state.state(), "if os.fork(): os._exit(5)");
    assert!(is_killed(&ran, "exited with code 5"), "{ran:?}");
    let ran = server.run(
        state.state(),
        "pid = os.fork()\nif pid == 0: raise ValueError\nos.waitpid(pid, 0); print('parent')",
    );
    assert_eq!((ran.ename(), ran.text().as_str()), ("", "parent\n"), "{ran:?}");
    assert_eq!(server.run(state.state(), "print('fine')").text(), "fine\n");
    server.has_no_zombies();
}

fn living(server: &TestServer, state: &str) -> String {
    state_of(server, state)["living"].as_str().unwrap().to_owned()
}

#[test]
fn the_error_of_an_unreachable_or_killed_process_does_not_blame_memory() {
    let server = TestServer::start();
    for code in ["import os; os.closerange(3, 300)", "import os; os.execvp('sleep', ['sleep', '100'])"] {
        let ran = server.run("initial", code);
        assert!(is_killed(&ran, "could no longer be reached"), "{ran:?}");
    }
    for code in [
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import os; os.setpgid(0, 0); os.killpg(0, 9)",
    ] {
        let ran = server.run("initial", code);
        assert!(is_killed(&ran, "killed by SIGKILL"), "{ran:?}");
        assert!(!ran.evalue().contains("memory"), "{ran:?}");
    }
}

#[test]
fn a_frozen_process_that_is_killed_loses_its_state_and_no_other() {
    // With checkpoints, the server would load the lost state again.
    let server = TestServer::start_with(&["--no-checkpoints"]);
    let state = server.run("initial", "import os; x = 1");
    // The head that made the state runs the first cell. So the second cell runs in a fork of the
    // frozen process.
    let one = server.run(state.state(), "x = 2");
    let two = server.run(state.state(), "x = 3; print(os.getppid())");
    assert_eq!(living(&server, state.state()), "memory");
    signal(&two.text(), Signal::SIGKILL);
    until("the state is lost", || living(&server, state.state()) == "replay");
    let answer = server.begin(state.state(), "1");
    let refused = answer.end();
    assert_eq!((refused.ename(), refused.evalue().is_empty()), ("StateLost", false), "{refused:?}");
    for (state, x) in [(&one, "2\n"), (&two, "3\n")] {
        assert_eq!(server.run(state.state(), "print(x)").text(), x);
        assert_eq!(server.run(state.state(), "print(x)").text(), x);
    }
    assert!(server.run("initial", "1").error.is_none());
    server.has_no_zombies();
}

#[test]
fn a_killed_frozen_process_is_replaced_while_its_head_is_at_the_state() {
    let server = TestServer::start();
    let state = server.run("initial", "import os; x = 1; print(os.getpid())");
    let head: u32 = state.text().trim().parse().unwrap();
    until("the state is frozen", || living(&server, state.state()) == "memory");
    let of_head = |server: &TestServer| -> Vec<Process> {
        server.descendants().into_iter().filter(|p| p.parent() == head && !p.is_zombie).collect()
    };
    let frozen = of_head(&server);
    assert_eq!(frozen.len(), 1);
    signal(&frozen[0].pid.to_string(), Signal::SIGKILL);
    until("a new process is frozen", || of_head(&server).first().is_some_and(|now| now.pid != frozen[0].pid));
    until("the state is in memory", || living(&server, state.state()) == "memory");
    for _ in 0..2 {
        assert_eq!(server.run(state.state(), "print(x); x = 2").text(), "1\n");
    }
    server.has_no_zombies();
}

#[test]
fn a_killed_root_process_is_started_again() {
    let server = TestServer::start();
    let ran = server.run("initial", "import os; x = 1; print(os.getppid())");
    signal(&ran.text(), Signal::SIGKILL);
    until("the root is lost", || living(&server, "initial") == "replay");
    assert_eq!(server.run("initial", "print('x' in globals())").text(), "False\n");
    assert_eq!(server.run(ran.state(), "print(x)").text(), "1\n");
    server.reset();
    assert_eq!(server.run("initial", "print('x' in globals())").text(), "False\n");
    server.has_no_zombies();
}
