//! Tests that the processes of a notebook run as long as they are needed, and end with their
//! server.

use crate::breadth::examples;
use crate::cells::{Dir, Live, Process, Room, all_end};
use crate::request::Request;
use crate::server::{TOKEN, TestServer, until};
use nix::sys::signal::Signal;
use std::time::{Duration, Instant};

/// Cells that never end. Each one resists its end in another way. `BEGUN` creates a file when the
/// cell has started.
const TENACIOUS: &[(&str, &str)] = &[
    ("a busy loop", "BEGUN\nwhile True: pass"),
    ("a loop in C", "BEGUN; sum(range(10**12))"),
    ("sleep", "BEGUN; time.sleep(1000)"),
    (
        "every signal ignored",
        "for s in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(s, signal.SIG_IGN)\n\
        BEGUN; time.sleep(1000)",
    ),
    (
        "every signal blocked",
        "signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals)); BEGUN; time.sleep(1000)",
    ),
    ("a subprocess", "p = subprocess.Popen(['sleep', '1000']); BEGUN; p.wait()"),
    (
        "a subprocess of a subprocess",
        "p = subprocess.Popen('trap \"\" HUP TERM INT; sleep 1000; true', shell=True); BEGUN; p.wait()",
    ),
    (
        "a child forked twice",
        "if os.fork() == 0:\n    if os.fork() == 0:\n        BEGUN; time.sleep(1000)\n    os._exit(0)\n\
        os.wait(); time.sleep(1000)",
    ),
    ("a child of a cell that has ended", "if os.fork() == 0:\n    BEGUN\n    while True: pass"),
    ("a subprocess of a cell that has ended", "p = subprocess.Popen(['sleep', '1000']); BEGUN"),
    ("a flood of text", "BEGUN\nwhile True: print('x' * 100)"),
    (
        "a pool of processes",
        "p = multiprocessing.get_context('fork').Pool(2); p.map(abs, [1]); BEGUN; p.map(time.sleep, [1000] * \
        2)",
    ),
    ("a process that is stopped", "BEGUN; os.kill(os.getpid(), signal.SIGSTOP)"),
];

fn hold_on(server: &TestServer, room: &Dir) -> Vec<Process> {
    let mut tip =
        server.run("initial", "import multiprocessing, os, signal, subprocess, time").state().to_owned();
    for n in 0..5 {
        tip = server.run(&tip, &format!("x = {n}")).state().to_owned();
    }
    let begin = |(n, (_, code)): (usize, &(&str, &str))| {
        server.begin(&tip, &code.replace("BEGUN", &format!("open('begun{n}', 'w').close()")))
    };
    let _going: Vec<_> = TENACIOUS.iter().enumerate().map(begin).collect();
    for (n, (what, _)) in TENACIOUS.iter().enumerate() {
        until(what, || room.file(&format!("begun{n}")).exists());
    }
    let found = server.descendants();
    // There is one process for each cell, for each state and for the root. The cells have also
    // started processes.
    assert!(found.len() > TENACIOUS.len() + 7, "{found:?}");
    assert!(found.iter().filter(|p| p.name == "sleep").count() >= 3, "{found:?}");
    found
}

/// How long the processes may run after the server. The documented limit is 2 s, and a busy machine
/// may need longer.
const GONE: Duration = Duration::from_secs(2 + 8);

#[test]
fn no_process_outlives_its_server_however_it_ends() {
    use Signal::{SIGHUP, SIGINT, SIGKILL, SIGTERM};
    for &signal in examples(&[SIGKILL, SIGHUP, SIGTERM, SIGINT], 2) {
        if signal == SIGHUP && is_ignored(signal) {
            eprintln!("skipped: this process ignores SIGHUP, and so do the servers that it starts");
            continue;
        }
        let room = Room::new();
        let mut server = TestServer::in_dir(room.path());
        let processes = hold_on(&server, &room);
        let told = Instant::now();
        server.signal(signal);
        let code = server.wait();
        let took = told.elapsed();
        let gone = all_end(&processes, GONE);
        eprintln!(
            "{signal}: the server ended after {took:?}, and all {} processes {gone:?} later",
            processes.len()
        );
        // A server that a signal stopped exits with 0. A killed server has no exit code.
        assert_eq!(code, (signal != SIGKILL).then_some(0), "{signal}");
        assert!(took < GONE, "{signal}: the server took {took:?}");
    }
}

/// Whether this process ignores a signal. Child processes inherit this (proc_pid_status(5)).
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 << (signal as u64 - 1) != 0
}

#[test]
fn a_server_started_with_nohup_survives_sighup() {
    let (mut server, has_begun) = TestServer::start_under(&["nohup"]);
    assert!(has_begun, "{}", server.errors());
    server.signal(Signal::SIGHUP);
    assert_eq!(server.run("initial", "print(1)").text(), "1\n");
    server.signal(Signal::SIGTERM);
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_reset_ends_every_process_but_the_root() {
    let server = TestServer::fresh();
    let room = server.room();
    until("the root is there", || !server.descendants().is_empty());
    let root = server.descendants().remove(0);
    let processes = hold_on(&server, &room);
    server.reset();
    assert_eq!(server.states(), ["initial"]);
    let others: Vec<_> = processes.into_iter().filter(|p| p.pid != root.pid).collect();
    eprintln!("reset: all {} processes ended within {:?}", others.len(), all_end(&others, GONE));
    server.has_no_zombies();
    until("only the root is left", || server.descendants().iter().map(|p| p.pid).eq([root.pid]));
    assert_eq!(server.run("initial", "print('x' in globals())").text(), "False\n");
}

#[test]
fn deleting_a_state_ends_its_process_and_keeps_those_of_its_descendants() {
    // The test counts processes, so no process may start or end on its own.
    let server = TestServer::start_with(&["--no-checkpoints"]);
    let a = server.run("initial", "x = 1");
    let b = server.run(a.state(), "x += 1");
    let c = server.run(b.state(), "x += 1");
    // Runs a cell, so that the head leaves the last state and only frozen processes hold the
    // states.
    server.run(c.state(), "1").state();
    let count = |server: &TestServer| server.descendants().iter().filter(|p| !p.is_zombie).count();
    until("all are frozen", || {
        let notebook = server.notebook();
        notebook["states"].as_array().unwrap().iter().all(|s| s["living"] == "memory")
    });
    let before = count(&server);
    for state in [&a, &b] {
        assert_eq!(server.owner(Request::new("DELETE", &format!("/states/{}", state.state()))).status, 200);
    }
    until("two processes are gone", || count(&server) == before - 2);
    assert_eq!(server.run(c.state(), "print(x)").text(), "3\n");
    assert_eq!(server.run(a.state(), "1").ename(), "StateNotFound");
    server.has_no_zombies();
}

#[test]
fn processes_of_a_failed_cell_end() {
    let server = TestServer::fresh();
    let state = server.run("initial", "import subprocess");
    let ran = server.run(state.state(), "p = subprocess.Popen(['sleep', '1000'])\n1/0");
    assert_eq!(ran.ename(), "ZeroDivisionError");
    until("the command has ended", || server.descendants().iter().all(|p| p.name != "sleep" || p.is_zombie));
    // The failed run's process stays, because the user may still keep its variables. The next
    // version of the cell ends the process.
    server.run(state.state(), "2");
    until("the process is reaped", || server.descendants().iter().all(|p| p.name != "sleep"));
    server.has_no_zombies();
}

#[test]
fn idle_heads_are_ended_when_there_are_many() {
    let server = TestServer::fresh();
    let state = server.run("initial", "x = 1");
    for n in 0..20 {
        server.run(state.state(), &format!("x = {n}")).state();
    }
    // Expected are the root, twenty-one states, and a few heads.
    until("most heads are gone", || {
        server.descendants().iter().filter(|p| !p.is_zombie).count() <= 1 + 21 + 4
    });
}

#[test]
fn a_cell_sees_no_descriptor_and_no_secret_of_the_server() {
    let server = TestServer::fresh();
    let ran = server.run("initial", &format!("server, port = {}, {}", server.pid(), server.address.port()));
    let state = server.run(ran.state(), "import os, stat, re\nTOKEN = 'owner-token' + '-of-the-tests'");
    let say = |code: &str| {
        let ran = server.run(state.state(), code);
        ran.state();
        ran.text()
    };
    assert_eq!(say("print('TOKEN' in globals(), len(TOKEN))"), format!("True {}\n", TOKEN.len()));
    assert_eq!(say("print(any(TOKEN in v for v in os.environ.values()))"), "False\n");
    assert_eq!(
        say("for p in ('self', server, os.getppid()):\n    for f in ('environ', 'cmdline'):\n        \
            print(TOKEN.encode() in open(f'/proc/{p}/{f}', 'rb').read(), end=' ')"),
        "False ".repeat(6)
    );
    // The first descriptor that a cell opens is 3.
    assert_eq!(say("f = open('/dev/null'); print(f.fileno())"), "3\n");
    let sockets = "inodes = {re.sub(r'\\D', '', os.readlink(f'/proc/self/fd/{n}')) for n in \
        os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}') and \
        stat.S_ISSOCK(os.stat(f'/proc/self/fd/{n}').st_mode)}\n\
                   tcp = [l.split() for f in ('tcp', 'tcp6') for l in \
                   open(f'/proc/net/{f}').readlines()[1:]]\n\
                   print(len(tcp) > 0, len(inodes), [w[1] for w in tcp if w[9] in inodes])";
    assert_eq!(say(sockets), "True 1 []\n");
    // A subprocess inherits only the descriptors 0 to 2, even if the server has inherited others.
    // `ls` itself opens the fourth one.
    let list = "ls -x /proc/self/fd";
    let theirs = say(&format!(
        "import subprocess; print(subprocess.check_output('{list}', shell=True, close_fds=False, text=True))"
    ));
    assert_eq!(theirs.split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
}

#[test]
fn clients_are_told_that_their_server_stops() {
    let mut server = TestServer::fresh();
    let mut live = Live::join(&server);
    let exec_id = live.run("initial", "import time; time.sleep(1000)");
    live.event(&exec_id, "run_started");
    server.signal(Signal::SIGTERM);
    assert_eq!(server.wait(), Some(0));
}
