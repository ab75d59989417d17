//! Tests of the limits of runs and of the machine. A run that exceeds a limit ends with a clear
//! error. Its base state and all other runs are not affected.

use crate::breadth::in_full;
use crate::cells::{Live, Ran, Room, unique};
use crate::request::Request;
use crate::restarts::state_of;
use crate::server::{TestServer, until};
use serde_json::json;

const MIB: u64 = 1 << 20;

/// Cells that use more than 100 MiB in addition to the memory of their state, each in another way.
const GREEDY: &[(&str, &str)] = &[
    ("one large object", "b = bytearray(300 << 20); time.sleep(1000)"),
    ("many small ones", "b = []\nwhile True: b.append(bytes(10_000))"),
    ("pages of the state that are written to", "for i in range(0, len(a), 4096): a[i] = 1\ntime.sleep(1000)"),
    ("shared memory", "m = mmap.mmap(-1, 300 << 20); m.write(bytes(300 << 20)); time.sleep(1000)"),
    (
        "a program that it starts",
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; b = bytearray(300 << \
        20); time.sleep(1000)'])",
    ),
    ("a child that it forks", "if os.fork() == 0: b = bytearray(300 << 20)\ntime.sleep(1000)"),
    (
        "while every exception is swallowed",
        "b = []\nwhile True:\n    try:\n        while True: b.append(bytes(10_000))\n    except \
        BaseException: pass",
    ),
];

/// Cells that seem to use more than 100 MiB, but do not.
const FRUGAL: &[(&str, &str)] = &[
    ("reading the state's memory", "print(sum(a[::4096])); time.sleep(0.4)"),
    ("reserving and not using", "m = mmap.mmap(-1, 10 << 30); time.sleep(0.4)"),
    ("a little again and again", "for _ in range(8): b = bytearray(40 << 20); time.sleep(0.06)"),
];

#[test]
fn a_run_over_its_memory_limit_ends_and_its_base_state_is_untouched() {
    let server = TestServer::fresh();
    let state = server.run("initial", "import mmap, os, time; a = bytearray(150 << 20)");
    let run = |code: &str| {
        let limits = json!({"run_memory": 100 * MIB, "timeout": 30});
        server.begin_with(state.state(), &format!("print('kept', flush=True)\n{code}"), limits)
    };
    let greedy: Vec<_> = GREEDY.iter().map(|(what, code)| (what, run(code))).collect();
    for (what, ran) in greedy {
        let ran: Ran = ran.end();
        assert_eq!((ran.ename(), ran.state.as_deref()), ("RunOutOfMemory", None), "{what}: {ran:?}");
        assert!(ran.evalue().contains("100 MiB") && ran.text().starts_with("kept\n"), "{what}: {ran:?}");
        eprintln!("{what}: {}", ran.evalue());
    }
    for (what, code) in FRUGAL {
        assert_eq!(run(code).end().ename(), "", "{what}");
    }
    assert_eq!(server.run(state.state(), "print(len(a) >> 20, any(a))").text(), "150 False\n");
    // The deleted state's memory now belongs to the run alone. It does not count as added by the
    // run.
    let last = run("open('last', 'w').close(); time.sleep(0.8)");
    until("the cell runs", || server.dir().join("last").exists());
    assert_eq!(server.owner(Request::new("DELETE", &format!("/states/{}", state.state()))).status, 200);
    assert_eq!(last.end().ename(), "");
    for wrong in [json!(0), json!(-1), json!("1G")] {
        let body = json!({"exec_id": "wrong", "state_name": "initial", "code": "1", "run_memory": wrong});
        assert_eq!(server.owner(Request::post("/execute", &body.to_string())).status, 400, "{body}");
    }
    server.has_no_zombies();
}

#[test]
fn the_servers_memory_limit_applies_to_runs_without_their_own() {
    let room = Room::new();
    let server = TestServer::start_with(&["--run-memory", "100M", "--dir", room.path().to_str().unwrap()]);
    let code = "import time; b = bytearray(300 << 20); time.sleep(SECONDS)";
    assert_eq!(server.run("initial", &code.replace("SECONDS", "1000")).ename(), "RunOutOfMemory");
    let own = server.begin_with("initial", &code.replace("SECONDS", "0.3"), json!({"run_memory": 1 << 30}));
    assert_eq!(own.end().ename(), "");
}

/// The niceness of a process, field 19 of `/proc/PID/stat`.
fn niceness(pid: u32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(16).unwrap().parse().unwrap()
}

/// The `oom_score_adj` of a process. If memory is short, the system kills processes with a high
/// value first.
fn badness(pid: impl std::fmt::Display) -> i32 {
    std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap().trim().parse().unwrap()
}

#[test]
fn throw_away_forks_lose_memory_and_cores_first_and_the_server_last() {
    let room = Room::new();
    let server = TestServer::start_with(&["--nice", "5", "--dir", room.path().to_str().unwrap()]);
    let code = "import os, subprocess\n\
                ranks = lambda: open('/proc/self/oom_score_adj').read().strip() + ' ' + str(os.nice(0))\n\
                class Looked:\n    def __repr__(self): return ranks()\n\
                class Saved:\n    def __reduce__(self):\n        open('saved', 'w').write(ranks()); return \
                (Saved, ())\n\
                looked, saved = Looked(), Saved()\n\
                print(os.getpid(), subprocess.check_output(['cat', '/proc/self/oom_score_adj'], text=True))";
    let ran = server.run("initial", code);
    ran.state();
    let text = ran.text();
    let (head, program) = text.split_once(' ').unwrap();
    let head: u32 = head.parse().unwrap();
    let mut state = None;
    until("the state is frozen", || {
        state = server.descendants().into_iter().find(|p| p.parent() == head && !p.is_zombie);
        state.is_some() && server.notebook()["states"][1]["living"] == "memory"
    });
    let state = state.unwrap().pid;
    let looked = server.owner(Request::get(&format!("/states/{}", ran.state()))).json();
    let looked = looked["variables"]["looked"]["repr"].as_str().unwrap().to_owned();
    until("the state is saved", || {
        std::fs::read_to_string(room.file("saved")).is_ok_and(|text| !text.is_empty())
    });
    let saved = std::fs::read_to_string(room.file("saved")).unwrap();
    // The highest niceness is 19.
    let (own, base) = (badness(server.pid()), niceness(server.pid()));
    let (cell, background) = ((base + 5).min(19), (base + 15).min(19));
    eprintln!(
        "badness: listing and saving {looked}, {saved}; cell {}; state {}; server {own}",
        badness(head),
        badness(state)
    );
    assert!(own < badness(state) && badness(state) < badness(head) && badness(head) < 1000);
    assert_eq!(program.trim(), badness(head).to_string());
    assert_eq!((niceness(head), niceness(state)), (cell, cell));
    assert_eq!(looked, format!("1000 {cell}"));
    assert_eq!(saved, format!("1000 {background}"));
    // Branches have the same niceness as the state that they belong to.
    let branch = server.run(ran.state(), "print(ranks())");
    let branch = [branch, server.run(ran.state(), "print(ranks())")].map(|ran| ran.text());
    assert_eq!(branch, [format!("{} {cell}\n", badness(head)), format!("900 {cell}\n")]);
}

#[test]
fn housekeeping_ends_no_running_cell_and_no_state_that_it_needs() {
    let room = Room::new();
    let server = TestServer::start_with(&["--max-frozen", "2", "--dir", room.path().to_str().unwrap()]);
    let mut states = Vec::new();
    let wait = |n: usize| {
        format!(
            "open('begun{n}', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)\n\
            x.append({n}); print(x)"
        )
    };
    let mut going = Vec::new();
    let mut tip = server.run("initial", "import os, time; x = []").state().to_owned();
    for n in 0..8 {
        tip = server.run(&tip, &format!("x.append('state {n}')")).state().to_owned();
        going.push(server.begin(&tip, &wait(n)));
        room.wait_for(&format!("begun{n}"));
        states.push(tip.clone());
    }
    // During these runs, states are measured, saved, compared and released.
    until("most states are on disk", || {
        states.iter().filter(|state| state_of(&server, state)["living"] == "disk").count() >= 5
    });
    for state in &states {
        assert_eq!(server.owner(Request::get(&format!("/states/{state}"))).status, 200);
    }
    room.put("go");
    for (n, going) in going.into_iter().enumerate() {
        let before: String = (0..=n).map(|m| format!("'state {m}', ")).collect();
        assert_eq!(going.end().text(), format!("[{before}{n}]\n"));
    }
    server.has_no_zombies();
}

#[test]
fn under_load_the_limit_of_frozen_processes_holds_and_every_cell_runs() {
    let cells = if in_full() { 150 } else { 50 };
    let room = Room::new();
    let server = TestServer::start_with(&["--max-frozen", "10", "--dir", room.path().to_str().unwrap()]);
    let mut live = Live::join(&server);
    let mut last = live.run("initial", "x = []");
    for n in 0..cells {
        let id = unique("line");
        let code = format!("x.append({n})");
        live.send(json!({"do": "run", "exec_id": id, "code": code, "on": {"run": last}}));
        last = id;
    }
    let (mut most, mut ended) = (0, 0);
    let state = loop {
        let event = live.hear(|message| message["event"] == "run_ended");
        assert_eq!(event["status"], "ok", "{event}");
        ended += 1;
        // Sends a command, because this client answers no pings, and the server disconnects silent
        // clients.
        live.send(json!({"do": "interrupt", "exec_id": "none"}));
        most = most.max(server.descendants().len());
        if event["exec_id"] == last.as_str() {
            break event["state"].as_str().unwrap().to_owned();
        }
    };
    eprintln!("{most} processes at most, with --max-frozen 10 and {ended} cells in a row");
    // The sum allows for states that are being saved, for heads, and for temporary forks.
    assert!(most <= 10 + 32 + 16, "{most}");
    assert_eq!(server.run(&state, "print(len(x), x[-1])").text(), format!("{cells} {}\n", cells - 1));
}
