//! Tests that an interrupt stops its run, whatever the cell does, and stops no other run.

use crate::breadth::{examples, in_full};
use crate::cells::{Dir, Going, Live};
use crate::request::Request;
use crate::server::{TestServer, until};
use serde_json::json;
use std::time::Instant;

/// What a cell does, and its code.
type Cell = (&'static str, &'static str);

/// Cells that end with `KeyboardInterrupt`.
const POLITE: &[Cell] = &[
    ("sleep", "time.sleep(1000)"),
    ("a busy loop", "while True: pass"),
    ("a socket", "import socket; a, b = socket.socketpair(); a.recv(1)"),
    ("a lock", "import threading; l = threading.Lock(); l.acquire(); l.acquire()"),
    (
        "a thread to join",
        "import threading; t = threading.Thread(target=time.sleep, args=(1000,), daemon=True); t.start(); \
        t.join()",
    ),
    ("a queue", "import queue; queue.Queue().get()"),
    ("a pipe", "r, w = os.pipe(); os.read(r, 1)"),
    ("select", "import select; select.select([], [], [])"),
    ("asyncio.run", "import asyncio; asyncio.run(asyncio.sleep(1000))"),
    ("await", "import asyncio; await asyncio.sleep(1000)"),
    ("subprocess.run", "import subprocess; subprocess.run(['sleep', '1000'])"),
    ("a loop that prints", "while True: print('x' * 1000)"),
    ("a loop of small sleeps", "while True: time.sleep(0.001)"),
    ("a finally that runs on for a while", "try: time.sleep(1000)\nfinally: time.sleep(0.05)"),
    ("a fork that waits", "pid = os.fork()\nif pid == 0: time.sleep(1000)\nos.wait()"),
    ("a __repr__ that sleeps", "class R:\n    def __repr__(self): time.sleep(1000)\nR()"),
];

/// Cells that ignore the interrupt, so that their process must be killed.
const RUDE: &[Cell] = &[
    ("a loop in C", "sum(range(10**12))"),
    ("a loop that swallows it", "while True:\n    try: time.sleep(0.01)\n    except BaseException: pass"),
    (
        "SIGINT ignored",
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(0.01)",
    ),
    (
        "every signal blocked",
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))\n\
        while True: time.sleep(0.01)",
    ),
    ("a __repr__ in C", "class R:\n    def __repr__(self): sum(range(10**12))\nR()"),
    ("its process stopped", "import signal; os.kill(os.getpid(), signal.SIGSTOP)"),
];

fn begin(
    server: &TestServer,
    room: &Dir,
    state: &str,
    cells: impl Iterator<Item = &'static Cell>,
) -> Vec<(&'static str, Going)> {
    let start = |(n, (what, code)): (usize, &'static Cell)| {
        let going =
            server.begin(state, &format!("print('kept', flush=True); open('began{n}', 'w').close()\n{code}"));
        (*what, going)
    };
    let going: Vec<_> = cells.enumerate().map(start).collect();
    (0..going.len()).for_each(|n| room.wait_for(&format!("began{n}")));
    going
}

fn all_stop(cells: impl Iterator<Item = &'static Cell>) {
    let server = TestServer::start();
    let room = server.room();
    let state = server.run("initial", "import os, time; x = 1");
    let all = begin(&server, &room, state.state(), cells);
    for (what, going) in &all {
        assert!(server.interrupt(&going.exec_id), "{what}");
    }
    for (what, going) in all {
        let exec_id = going.exec_id.clone();
        let ran = going.end();
        assert_eq!(
            (ran.ename(), ran.state.as_deref()),
            ("KeyboardInterrupt", None),
            "{what}: {:?}",
            ran.error
        );
        assert!(ran.text().starts_with("kept\n"), "{what}");
        assert!(!server.interrupt(&exec_id), "{what}: the run has ended");
    }
    assert_eq!(server.run(state.state(), "print(x)").text(), "1\n");
    let left = || server.descendants().iter().any(|p| p.name == "sleep");
    until("no subprocess is left", || !left());
    server.has_no_zombies();
}

#[test]
fn cells_that_wait_or_loop_in_python_stop_at_an_interrupt() {
    all_stop(POLITE.iter());
}

#[test]
fn cells_that_ignore_an_interrupt_are_killed() {
    all_stop(examples(RUDE, 2));
}

#[test]
fn an_interrupt_in_a_hook_of_the_shell_ends_the_cell() {
    let server = TestServer::start();
    let room = server.room();
    let state = server.run(
        "initial",
        "import time\ndef hook(): open('hooked', 'w').close(); time.sleep(1000)\n\
         get_ipython().events.register('pre_execute', hook)",
    );
    let going = server.begin(state.state(), "print('ran')");
    room.wait_for("hooked");
    assert!(server.interrupt(&going.exec_id));
    let ran = going.end();
    assert_eq!((ran.ename(), ran.text().as_str(), &ran.state), ("KeyboardInterrupt", "", &None));
}

#[test]
fn a_second_interrupt_kills_without_a_grace_period() {
    let server = TestServer::start();
    let room = server.room();
    let state = server.run("initial", "import os, time");
    for (what, going) in begin(&server, &room, state.state(), examples(RUDE, 2)) {
        assert!(server.interrupt(&going.exec_id) && server.interrupt(&going.exec_id), "{what}");
        let ran = going.end();
        assert_eq!(ran.ename(), "KeyboardInterrupt", "{what}");
        assert!(ran.evalue().contains("its process was killed"), "{what}: {}", ran.evalue());
    }
}

#[test]
fn an_interrupt_ends_os_system_and_the_cell_continues_as_in_a_terminal() {
    let server = TestServer::start();
    let room = server.room();
    let going =
        server.begin("initial", "import os; open('began', 'w').close(); print(os.system('sleep 1000') != 0)");
    room.wait_for("began");
    until("it sleeps", || server.descendants().iter().any(|p| p.name == "sleep"));
    assert!(server.interrupt(&going.exec_id));
    let ran = going.end();
    assert_eq!((ran.ename(), ran.text().as_str()), ("", "True\n"), "{ran:?}");
}

#[test]
fn an_interrupt_ends_a_shell_command() {
    let server = TestServer::start();
    let going = server.begin("initial", "!sleep 1000");
    until("it sleeps", || server.descendants().iter().any(|p| p.name == "sleep"));
    assert!(server.interrupt(&going.exec_id));
    going.end();
    let is_left = || server.descendants().iter().any(|p| p.name == "sleep" && p.is_alive());
    until("the command has ended", || !is_left());
}

/// IPython knows no command yet that it could end.
#[test]
fn an_interrupt_while_a_shell_command_starts_ends_the_cell() {
    let server = TestServer::start();
    let room = server.room();
    let code = "import pexpect, time\nbegin = pexpect.spawn.__init__\n\
        def begin_slowly(*args, **named):\n\
        \x20   begin(*args, **named); open('began', 'w').close(); time.sleep(1000)\n\
        pexpect.spawn.__init__ = begin_slowly";
    let slow = server.run("initial", code);
    let going = server.begin(slow.state(), "!sleep 1000");
    room.wait_for("began");
    assert!(server.interrupt(&going.exec_id));
    let ran = going.end();
    assert_eq!((ran.ename(), ran.evalue()), ("KeyboardInterrupt", ""), "{ran:?}");
    let is_left = || server.descendants().iter().any(|p| p.name == "sleep" && p.is_alive());
    until("the command has ended", || !is_left());
}

#[test]
fn a_cell_that_catches_the_interrupt_succeeds() {
    let server = TestServer::start();
    let room = server.room();
    let code = "import time\ntry: open('began', 'w').close(); time.sleep(1000)\n\
        except KeyboardInterrupt: caught = True";
    let going = server.begin("initial", code);
    room.wait_for("began");
    assert!(server.interrupt(&going.exec_id));
    let ran = going.end();
    assert_eq!(server.run(ran.state(), "print(caught)").text(), "True\n");
}

/// Python may lose the moment of an interrupt: its handler runs in another thread, or just before
/// the main thread begins to wait.
#[test]
fn an_interrupt_that_arrives_in_another_thread_ends_a_wait_of_the_main_thread() {
    let server = TestServer::start();
    let room = server.room();
    let code = "import signal, threading, time\n\
        done = threading.Event()\n\
        thread = threading.Thread(target=done.wait); thread.start()\n\
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n\
        try: open('began', 'w').close(); time.sleep(1000)\n\
        except KeyboardInterrupt: caught = True\n\
        done.set(); thread.join()\n\
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])\n\
        del done, thread";
    let going = server.begin("initial", code);
    room.wait_for("began");
    assert!(server.interrupt(&going.exec_id));
    let ran = going.end();
    assert_eq!(server.run(ran.state(), "print(caught)").text(), "True\n");
}

#[test]
fn an_interrupt_ends_a_wait_for_input() {
    let server = TestServer::start();
    let mut live = Live::join(&server);
    let exec_id = live.run("initial", "input('name? ')");
    live.event(&exec_id, "prompt_changed");
    assert!(server.interrupt(&exec_id));
    let ended = live.event(&exec_id, "run_ended");
    assert_eq!(
        (ended["status"].as_str(), ended["error"]["ename"].as_str()),
        (Some("interrupted"), Some("KeyboardInterrupt"))
    );
}

#[test]
fn interrupting_a_queued_run_cancels_it_and_those_after_it() {
    let server = TestServer::start();
    let room = server.room();
    let mut live = Live::join(&server);
    let first = live.run("initial", "import time; open('began', 'w').close(); time.sleep(1000)");
    live.send(json!({"do": "run", "exec_id": "second", "code": "open('second', 'w')", "on": {"run": first}}));
    live.send(
        json!({"do": "run", "exec_id": "third", "code": "open('third', 'w')", "on": {"run": "second"}}),
    );
    live.event("third", "run_added");
    room.wait_for("began");
    assert!(server.interrupt("second"));
    for (run, ename) in [("second", "KeyboardInterrupt"), ("third", "RunAborted")] {
        let ended = live.event(run, "run_ended");
        assert_eq!(
            (ended["status"].as_str(), ended["error"]["ename"].as_str()),
            (Some("interrupted"), Some(ename))
        );
        assert!(!server.interrupt(run));
    }
    assert!(server.interrupt(&first));
    live.event(&first, "run_ended");
    assert!(!room.file("second").exists() && !room.file("third").exists());
}

#[test]
fn interrupting_an_unknown_run_does_nothing() {
    let server = TestServer::start();
    assert!(!server.interrupt("nobody"));
    let ended = server.begin_with("initial", "1", json!({"exec_id": "ended"}));
    ended.end().state();
    assert!(!server.interrupt("ended"));
}

#[test]
fn a_late_interrupt_does_not_hit_the_next_cell() {
    let server = TestServer::start();
    let mut tip = server.run("initial", "n = 0").state().to_owned();
    for _ in 0..if in_full() { 40 } else { 10 } {
        let going = server.begin(&tip, "n += 1");
        server.interrupt(&going.exec_id);
        if let Some(state) = going.end().state {
            tip = state;
        }
        let next = server.run(&tip, "for _ in range(20_000): pass");
        assert_eq!(next.ename(), "", "{next:?}");
        tip = next.state().to_owned();
    }
}

#[test]
fn an_interrupt_during_the_fork_reaches_the_run_later() {
    let server = TestServer::start();
    let room = server.room();
    // Each fork of the state waits for a file before it is complete.
    room.put("go");
    let slow = "import os, time\nx = 1\ndef wait():\n    while not os.path.exists('go'): time.sleep(0.005)\n\
                os.register_at_fork(after_in_child=wait)";
    let ran = server.run("initial", slow);
    let state = ran.state();
    // The head runs another cell. From now on, each run against that state needs a fork.
    server.run(state, "time.sleep(0)").state();
    let status = |exec_id: &str| {
        let notebook = server.notebook();
        let run = notebook["runs"].as_array().unwrap().iter().find(|run| run["exec_id"] == exec_id);
        run.map(|run| run["status"].clone())
    };
    for times in [1, 2] {
        std::fs::remove_file(room.file("go")).unwrap();
        let going = server.begin(state, "while True: time.sleep(0.01)");
        until("the run is known", || status(&going.exec_id).is_some());
        let start = Instant::now();
        (0..times).for_each(|_| assert!(server.interrupt(&going.exec_id)));
        eprintln!("{times} interrupts during a fork were answered in {:?}", start.elapsed());
        room.put("go");
        let ran = going.end();
        eprintln!("ended after {:?}", start.elapsed());
        assert_eq!((ran.ename(), &ran.state), ("KeyboardInterrupt", &None));
        assert_eq!(server.run(state, "print(x)").text(), "1\n");
    }
    server.has_no_zombies();
}

#[test]
fn an_interrupt_stops_only_its_run() {
    let server = TestServer::start();
    let room = server.room();
    let state = server.run("initial", "import os, time");
    let wait =
        |n: usize| format!("open('began{n}', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)");
    let mut going: Vec<Going> = (0..4).map(|n| server.begin(state.state(), &wait(n))).collect();
    (0..4).for_each(|n| room.wait_for(&format!("began{n}")));
    let meant = going.remove(2);
    assert!(server.interrupt(&meant.exec_id));
    assert_eq!(meant.end().ename(), "KeyboardInterrupt");
    room.put("go");
    for other in going {
        assert_eq!(other.end().ename(), "");
    }
}

#[test]
fn a_run_stops_at_its_time_limit() {
    let server = TestServer::start();
    let state = server.run("initial", "import time");
    for code in ["time.sleep(1000)", "sum(range(10**12))"] {
        let ran = server
            .begin_with(state.state(), &format!("print('kept')\n{code}"), json!({"timeout": 0.2}))
            .end();
        assert_eq!(
            (ran.ename(), ran.text().as_str(), ran.state.as_deref()),
            ("RunTimeout", "kept\n", None),
            "{ran:?}"
        );
        assert!(ran.evalue().contains("0.2 s"), "{ran:?}");
    }
    assert!(server.begin_with(state.state(), "1", json!({"timeout": 600})).end().error.is_none());
    // The time that a run waits in the queue does not count towards its time limit.
    let mut live = Live::join(&server);
    let first = live.run(state.state(), "time.sleep(0.5)");
    live.send(json!({"do": "run", "exec_id": "after", "code": "1", "on": {"run": first}, "timeout": 0.4}));
    assert_eq!(live.event("after", "run_ended")["status"], "ok");
    for wrong in [json!(-1), json!(0), json!("1"), json!(1e300)] {
        let body = json!({"exec_id": "wrong", "state_name": "initial", "code": "1", "timeout": wrong});
        assert_eq!(server.owner(Request::post("/execute", &body.to_string())).status, 400, "{body}");
    }
}

#[test]
fn the_servers_time_limit_applies_to_runs_without_their_own() {
    let server = TestServer::start_with(&["--timeout", "0.3"]);
    let ran = server.run("initial", "import time; time.sleep(1000)");
    assert_eq!(ran.ename(), "RunTimeout");
    let ran = server.begin_with("initial", "import time; time.sleep(0.6)", json!({"timeout": 600})).end();
    assert_eq!(ran.ename(), "");
}

#[test]
fn nothing_is_decided_by_the_name_of_an_exception() {
    let server = TestServer::start();
    let status = |run: &str| {
        let runs = server.notebook()["runs"].as_array().unwrap().clone();
        runs.iter().find(|one| one["exec_id"] == run).unwrap()["status"].clone()
    };
    for (code, ename, expected) in [
        ("class KeyboardInterrupt(Exception): pass\nraise KeyboardInterrupt", "KeyboardInterrupt", "error"),
        ("class Stop(KeyboardInterrupt): pass\nraise Stop", "Stop", "interrupted"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "interrupted"),
        ("class ForkRefused(Exception): pass\nraise ForkRefused", "ForkRefused", "error"),
    ] {
        let going = server.begin("initial", code);
        let run = going.exec_id.clone();
        let ended = going.end();
        assert_eq!((ended.ename(), status(&run).as_str().unwrap()), (ename, expected), "{code}");
    }
}
