//! Tests of failures of the system: a process cannot be started, a descriptor cannot be opened, or
//! a process is stopped or ends too early. The answer is one clear error, no process stays behind,
//! and the same request works later.

use crate::cells::{Live, Ran, Room, unique};
use crate::request::{Answer, Request};
use crate::restarts::{has_strace, state_of};
use crate::server::{TOKEN, TestServer, until};
use crate::wire::Wire;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// All system calls that create a process. `?` skips a call that this machine does not have.
const FORKS: &str = "clone,?clone3,?fork,?vfork";

/// A fault that strace injects into the system calls of a process, until this value is dropped.
struct Fault(Child);

impl Fault {
    /// Injects a fault. Returns `None`, and prints a message to stderr, if the system does not
    /// allow it.
    fn put_into(pid: u32, what: &str, more: &[&str]) -> Option<Self> {
        let strace = Command::new("strace")
            .args(["-p", &pid.to_string(), "-e", &format!("inject={what}"), "-o", "/dev/null"])
            .args(more)
            .stderr(Stdio::piped())
            .spawn();
        let mut strace = strace.unwrap();
        let mut lines = BufReader::new(strace.stderr.take().unwrap()).lines().map_while(Result::ok);
        let is_attached = lines.any(|line| line.contains("attached"));
        // Reads the other output of strace, because a full pipe would block strace.
        std::thread::spawn(move || lines.for_each(drop));
        let fault = Self(strace);
        if !is_attached {
            eprintln!("skipped: strace may not attach to a process that is not its child");
            return None;
        }
        Some(fault)
    }
}

impl Drop for Fault {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

fn execute(server: &TestServer, wish: &Value) -> Answer {
    server.owner(Request::post("/execute", &wish.to_string()))
}

fn wish(state: &str, code: &str) -> Value {
    json!({"exec_id": unique("run"), "state_name": state, "code": code})
}

/// Asserts that a request was refused for this reason, and that it may be repeated.
fn is_refused(answer: &Answer, why: &str) {
    assert_eq!((answer.status, answer.error_code().as_str()), (503, "busy"), "{answer:?}");
    assert!(answer.json()["error"]["why"].as_str().unwrap().contains(why), "{answer:?}");
    assert!(answer.header("retry-after").is_some());
}

fn count(server: &TestServer) -> usize {
    server.descendants().iter().filter(|p| !p.is_zombie).count()
}

fn count_below(server: &TestServer, process: u32) -> usize {
    server.descendants().iter().filter(|p| p.parent() == process).count()
}

/// Returns the frozen process of a state whose head has run another cell. The children of the head
/// are frozen processes. The youngest one belongs to the newest state.
fn frozen(server: &TestServer, state: &str, head: u32) -> u32 {
    until("the state is frozen", || living(server, state) == "memory");
    let states = server.descendants().into_iter().filter(|p| p.parent() == head && !p.is_zombie);
    states.map(|p| p.pid).max().unwrap()
}

fn living(server: &TestServer, state: &str) -> String {
    state_of(server, state)["living"].as_str().unwrap().to_owned()
}

fn is_warned(server: &TestServer, state: &str) -> bool {
    state_of(server, state)["warnings"].as_array().is_some_and(|all| !all.is_empty())
}

/// Starts a server with two states of one lineage. Returns the server, the states, the frozen
/// process of the first state, and the head.
fn two_states(options: &[&str]) -> (TestServer, [String; 2], u32, u32) {
    // There are no checkpoints, so that no process starts or ends on its own.
    let server = TestServer::start_with(&[&["--no-checkpoints"], options].concat());
    let first = server.run("initial", "import os, time; x = 1; ends = os.pipe(); print(os.getpid())");
    let head = first.text().trim().parse().unwrap();
    let process = frozen(&server, first.state(), head);
    let second = server.run(first.state(), "x = 2; print(os.getpid())");
    assert_eq!(second.text().trim(), head.to_string());
    until("the second state is frozen", || living(&server, second.state()) == "memory");
    // The frozen process reads system files once to find these warnings.
    until("it has reported what its branches share", || is_warned(&server, first.state()));
    let states = [first.state().to_owned(), second.state().to_owned()];
    (server, states, process, head)
}

#[test]
fn a_fork_that_the_system_refuses_is_a_503_and_the_same_request_works_later() {
    if !has_strace() {
        return;
    }
    let (server, [first, second], process, head) = two_states(&[]);
    for errno in ["EAGAIN", "ENOMEM"] {
        let (names, before) = (server.states(), count(&server));
        let branch = wish(&first, "print(x)");
        let Some(fault) = Fault::put_into(process, &format!("{FORKS}:error={errno}"), &[]) else { return };
        is_refused(&execute(&server, &branch), errno);
        is_refused(&execute(&server, &branch), errno);
        let look = server.owner(Request::get(&format!("/states/{first}")));
        assert_eq!(look.status, 503, "{look:?}");
        let complete = json!({"do": "complete", "state": first, "code": "x", "cursor": 1}).to_string();
        assert_eq!(server.owner(Request::post("/api/notebooks/main/commands", &complete)).status, 503);
        assert_eq!(server.states(), names);
        until("nothing is left over", || count(&server) <= before);
        drop(fault);
        assert_eq!(Ran::new(&execute(&server, &branch)).text(), "1\n");
        assert_eq!(server.owner(Request::get(&format!("/states/{first}"))).status, 200);
    }
    // If a state cannot be frozen, its head holds the state and runs no further cell.
    let fault = Fault::put_into(head, &format!("{FORKS}:error=EAGAIN"), &[]).unwrap();
    let third = server.run(&second, "x = 3").state().to_owned();
    let next = wish(&third, "print(x)");
    is_refused(&execute(&server, &next), "EAGAIN");
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| execute(&server, &wish(&third, "1")))).collect();
        all.into_iter().for_each(|answer| is_refused(&answer.join().unwrap(), "EAGAIN"));
    });
    let look = || server.owner(Request::get(&format!("/states/{third}")));
    assert_eq!(look().status, 503);
    assert_eq!(living(&server, &third), "freezing");
    assert!(is_warned(&server, &third));
    drop(fault);
    assert_eq!(look().status, 200);
    assert_eq!(Ran::new(&execute(&server, &next)).text(), "3\n");
    until("the third state is frozen", || living(&server, &third) == "memory");
    assert!(!state_of(&server, &third)["warnings"].to_string().contains("could not be frozen"));
    server.has_no_zombies();
}

#[test]
fn a_process_that_dies_before_it_is_ready_is_reported_and_the_next_one_works() {
    if !has_strace() {
        return;
    }
    let (server, [first, _], process, _) = two_states(&[]);
    let before = count(&server);
    let Some(fault) = Fault::put_into(process, "openat:signal=KILL", &["-f"]) else { return };
    let ran = server.run(&first, "1");
    assert_eq!((ran.ename(), ran.state.as_deref()), ("ForkFailed", None), "{ran:?}");
    assert!(ran.evalue().contains("before it was ready"), "{ran:?}");
    drop(fault);
    until("no process is left of it", || count(&server) <= before);
    assert_eq!(server.run(&first, "print(x)").text(), "1\n");
    server.has_no_zombies();
}

#[test]
fn a_run_whose_source_dies_during_the_fork_uses_the_checkpoint_or_a_replay() {
    if !has_strace() {
        return;
    }
    let dies = format!("{FORKS}:signal=KILL");
    let server = TestServer::start();
    let saved = server.run("initial", "import os; x = 1; print(os.getpid())");
    let process = frozen(&server, saved.state(), saved.text().trim().parse().unwrap());
    // Runs a cell, so that the head leaves the saved state and the next run against it needs a
    // fork.
    assert!(server.run(saved.state(), "x = 2").error.is_none());
    until("the state is on disk", || !state_of(&server, saved.state())["checkpoint"].is_null());
    until("nothing else forks there", || count_below(&server, process) == 0);
    let Some(fault) = Fault::put_into(process, &dies, &[]) else { return };
    let ran = server.run(saved.state(), "print(x)");
    assert!(std::fs::metadata(format!("/proc/{process}")).is_err(), "the source died during the fork");
    assert_eq!(ran.text(), "1\n", "{ran:?}");
    assert_eq!(living(&server, saved.state()), "memory");
    drop(fault);
    server.has_no_zombies();

    for (replay, answer) in [(false, ("", "StateLost")), (true, ("1\n", ""))] {
        let (server, [first, _], process, _) = two_states(&[]);
        let fault = Fault::put_into(process, &dies, &[]).unwrap();
        let mut wish = wish(&first, "print(x)");
        wish["replay"] = json!(replay);
        let ran = Ran::new(&execute(&server, &wish));
        assert_eq!((ran.text().as_str(), ran.ename()), answer, "{ran:?}");
        assert_eq!(living(&server, &first), if replay { "memory" } else { "replay" });
        drop(fault);
        server.has_no_zombies();
    }
}

#[test]
fn a_cell_that_uses_up_all_descriptors_makes_a_usable_state() {
    let server = TestServer::start();
    let code = "import os, resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)); all = []\n\
                try:\n    while True: all.append(os.open('/dev/null', 0))\n\
                except OSError as e: print(e.errno)";
    let full = server.run("initial", code);
    assert_eq!(full.text(), "24\n");
    // The first run is in the head at the state. The second run is in a fork of the frozen process.
    for _ in 0..2 {
        let next =
            server.run(full.state(), "print(len(all) > 100); os.close(all.pop()); open('/dev/null').close()");
        assert_eq!((next.text().as_str(), next.ename()), ("True\n", ""), "{next:?}");
        assert_eq!(server.run(next.state(), "print(len(all) > 100)").text(), "True\n");
    }
    assert_eq!(server.owner(Request::get(&format!("/states/{}", full.state()))).status, 200);
    server.has_no_zombies();
}

#[test]
fn a_cell_that_leaves_itself_no_descriptors_fails_and_its_base_state_is_intact() {
    let server = TestServer::start();
    let state = server.run("initial", "import resource; x = 1");
    let limit = |n: u32| format!("resource.setrlimit(resource.RLIMIT_NOFILE, ({n}, {n}))");
    for n in [5, 9] {
        let ran = server.run(state.state(), &limit(n));
        assert_eq!((ran.ename(), ran.state.as_deref()), ("StateNotKept", None), "{ran:?}");
        assert!(ran.evalue().contains(&format!("its limit of {n} (RLIMIT_NOFILE)")), "{ran:?}");
        assert_eq!(server.run(state.state(), "print(x)").text(), "1\n");
    }
    // The limits are lower than the numbers of the server's own descriptors, but high enough for a
    // cell.
    for n in [16, 64] {
        let low = server.run(state.state(), &limit(n));
        for _ in 0..3 {
            assert_eq!(server.run(low.state(), "print(x)").text(), "1\n", "{n}");
        }
        assert_eq!(server.owner(Request::get(&format!("/states/{}", low.state()))).status, 200, "{n}");
        until("it is frozen", || living(&server, low.state()) == "memory");
        until("it is saved", || !state_of(&server, low.state())["checkpoint"].is_null());
    }
}

fn stop(pid: u32) {
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGSTOP).unwrap();
    until("the process is stopped", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('T')
    });
}

#[test]
fn a_process_stopped_from_outside_continues_when_it_is_needed() {
    let room = Room::new();
    let (server, [first, second], process, head) = two_states(&["--dir", room.path().to_str().unwrap()]);
    // Stops idle processes: first the frozen process of a state, then a head.
    for _ in 0..2 {
        stop(process);
        assert_eq!(server.run(&first, "print(x)").text(), "1\n");
    }
    stop(process);
    assert_eq!(server.owner(Request::get(&format!("/states/{first}"))).status, 200);
    stop(head);
    let ran = server.run(&second, "print(x, os.getpid())");
    assert_eq!(ran.text(), format!("2 {head}\n"));
    // The user may have stopped a process that runs a cell. A time limit or an interrupt still ends
    // such a process.
    let code = "open('pid', 'w').write(str(os.getpid())); open('begun', 'w').close(); time.sleep(1000)";
    for limit in [Some(0.3), None] {
        let _ = std::fs::remove_file(room.file("begun"));
        let going =
            server.begin_with(&first, code, limit.map_or(json!({}), |limit| json!({"timeout": limit})));
        room.wait_for("begun");
        stop(std::fs::read_to_string(room.file("pid")).unwrap().parse().unwrap());
        if limit.is_none() {
            assert!(server.interrupt(&going.exec_id));
        }
        let right = if limit.is_some() { "RunTimeout" } else { "KeyboardInterrupt" };
        assert_eq!(going.end().ename(), right);
        assert_eq!(server.run(&first, "print(x)").text(), "1\n");
    }
    // A state can be deleted while its process is stopped.
    stop(process);
    assert_eq!(server.owner(Request::new("DELETE", &format!("/states/{first}"))).status, 200);
    server.has_no_zombies();
    until("it is gone", || server.descendants().iter().all(|p| p.pid != process));
}

#[test]
#[ignore = "nightly: it takes 9 s of processor time"]
fn a_head_whose_socket_is_full_gets_all_messages_later() {
    let room = Room::new();
    let server = TestServer::start_with(&["--no-checkpoints", "--dir", room.path().to_str().unwrap()]);
    let first = server.run("initial", "import os, time; n = 0").state().to_owned();
    let mut live = Live::join(&server);
    let mut line = vec![first.clone()];
    let mut on = json!({"state": first});
    for _ in 0..6 {
        for _ in 0..50 {
            let run = unique("n");
            live.send(json!({"do": "run", "exec_id": run, "code": "n += 1", "on": on}));
            on = json!({"run": run});
        }
        live.event(on["run"].as_str().unwrap(), "run_ended");
    }
    let notebook = server.notebook();
    line.extend(
        notebook["states"].as_array().unwrap()[2..].iter().map(|s| s["id"].as_str().unwrap().to_owned()),
    );
    assert_eq!(line.len(), 301);
    drop(live);
    let code = "open('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint(n)";
    let going = server.begin(line.last().unwrap(), code);
    room.wait_for("begun");
    // A process gets a message for each child that has ended. It does not read these messages while
    // it runs a cell.
    let before = count(&server);
    for state in &line[..300] {
        assert_eq!(server.owner(Request::new("DELETE", &format!("/states/{state}"))).status, 200);
    }
    until("they are gone", || count(&server) <= before - 300);
    let zombies = server.descendants().iter().filter(|p| p.is_zombie).count();
    assert!(zombies > 290, "{zombies} wait for their parent");
    room.put("go");
    let ran = going.end();
    assert_eq!(ran.text(), "300\n");
    server.has_no_zombies();
    assert_eq!(server.run(ran.state(), "print(n)").text(), "300\n");
}

/// A low limit of descriptors. A kernel could not work with fewer.
const FEW: &[&str] = &["prlimit", "--nofile=300:300"];

#[test]
fn a_server_full_of_connections_still_accepts_interrupts() {
    let (server, has_begun) = TestServer::start_under(FEW);
    assert!(has_begun, "{}", server.errors());
    let going = server.begin("initial", "import time; time.sleep(1000)");
    until("it runs", || server.notebook()["runs"][0]["status"] == "running");
    // The connections must be busy, because idle connections would be closed to make room.
    let mut crowd = Vec::new();
    let socket = Wire::handshake("/ws/main").bearer(TOKEN).bytes(&server.host());
    until("no other socket is opened", || {
        let mut wire = Wire::open(server.address);
        let status = wire.ask(&socket).status;
        crowd.push(wire);
        status == 503
    });
    let refused = |answer: &Answer| answer.status == 503 && answer.error_code() == "busy";
    until("the server is full", || refused(&server.owner(Request::get("/api/notebooks/main"))));
    let answer = execute(&server, &wish("initial", "1"));
    assert!(refused(&answer) && answer.header("retry-after").is_some(), "{answer:?}");
    assert_eq!(server.send(Request::get("/health")).status, 200);
    assert_eq!(server.states(), ["initial"]);
    let asked = std::time::Instant::now();
    assert!(server.interrupt(&going.exec_id));
    eprintln!("an interrupt was answered within {:?}", asked.elapsed());
    assert_eq!(going.end().ename(), "KeyboardInterrupt");
    drop(crowd);
    until("there is room again", || server.owner(Request::get("/api/notebooks/main")).status == 200);
    assert_eq!(server.run("initial", "print(1)").text(), "1\n");
}

#[test]
fn a_server_without_free_descriptors_says_so_and_recovers() {
    let (server, has_begun) = TestServer::start_under(FEW);
    assert!(has_begun, "{}", server.errors());
    let state = server.run("initial", "import time; x = 1").state().to_owned();
    // Each running cell uses three descriptors.
    let mut going = Vec::new();
    let refused = loop {
        assert!(going.len() < 100, "the descriptors are never used up");
        let wish = wish(&state, "time.sleep(1000)");
        let mut wire = Wire::open(server.address);
        wire.write(&Request::post("/execute", &wish.to_string()).bearer(TOKEN).bytes(&server.host()));
        let id = wish["exec_id"].as_str().unwrap().to_owned();
        let status = |status: &str| {
            let notebook = server.notebook();
            let run = notebook["runs"].as_array().unwrap().iter().find(|run| run["exec_id"] == *id).cloned();
            run.is_some_and(|run| run["status"] == status)
        };
        until("it runs, or cannot", || status("running") || status("error"));
        if status("error") {
            is_refused(&wire.answer(false).unwrap(), "300 descriptors");
            break wish;
        }
        going.push((wire, id));
    };
    eprintln!("{} cells ran at once with 300 descriptors", going.len());
    assert_eq!(server.send(Request::get("/health")).status, 200);
    for (_, run) in &going {
        assert!(server.interrupt(run));
    }
    for (mut wire, _) in going {
        assert_eq!(Ran::new(&wire.answer(false).unwrap()).ename(), "KeyboardInterrupt");
    }
    let again =
        json!({"exec_id": refused["exec_id"], "state_name": state, "code": refused["code"], "timeout": 0.1});
    until("there is room again", || execute(&server, &again).status == 200);
    assert_eq!(server.run(&state, "print(x)").text(), "1\n");
    server.has_no_zombies();
}

#[test]
fn standard_descriptors_that_a_cell_closed_are_open_again_after_it() {
    let server = TestServer::start();
    let closing = [
        ("os.close(1)", "descriptor 1"),
        ("os.close(2)", "descriptor 2"),
        ("os.close(0)", "descriptor 0"),
        ("os.closerange(0, 3)", "descriptor 1"),
        ("os.dup2(os.open('/dev/null', os.O_WRONLY), 1)", "descriptor 1"),
    ];
    let say = "import subprocess as s; print('py', flush=True); r = s.run('echo out; echo err >&2; cat', \
        shell=True).returncode";
    for (code, told) in closing {
        let state = server.run("initial", &format!("import os; {code}")).state().to_owned();
        // Runs in the head, in a branch, and in a branch of this branch.
        let line = server.run(&state, say);
        let branch = server.run(&state, say);
        let again = server.run(branch.state(), say);
        for ran in [&line, &branch, &again] {
            assert!(ran.error.is_none(), "{code}: {ran:?}");
            assert_eq!(
                (ran.text().as_str(), ran.stream("stderr").as_str()),
                ("py\nout\n", "err\n"),
                "{code}"
            );
        }
        let states = server.get("/api/states").json();
        let own = states["states"].as_array().unwrap().iter().find(|s| s["name"] == *state).cloned().unwrap();
        assert!(own["warnings"].to_string().contains(told), "{code}: {own}");
    }
}

#[test]
fn a_cell_that_changes_its_user_or_permissions_leaves_no_state() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root may become another user");
        return;
    }
    let server = TestServer::start();
    let state = server.run("initial", "import ctypes, os; x = 1").state().to_owned();
    for code in ["os.setuid(65534)", "os.seteuid(65534)", "os.setresuid(65534, 65534, 0)"] {
        let ran = server.run(&state, code);
        assert_eq!((ran.ename(), ran.state.as_deref()), ("StateNotKept", None), "{code}: {ran:?}");
        assert!(ran.evalue().contains("changed the user or the permissions"), "{code}: {}", ran.evalue());
        assert_eq!(server.run(&state, "print(x)").text(), "1\n", "{code}: the base state is intact");
    }
    let unshare = "print(ctypes.CDLL(None).unshare(0x20000000), end='')";
    let ran = server.run(&state, unshare);
    assert!(ran.text() == "-1" || ran.ename() == "StateNotKept", "{ran:?}");
    assert!(ran.text() == "-1" || ran.evalue().contains("CLONE_NEWPID"), "{ran:?}");
    // A cell makes a state if it restores its user id before it ends.
    let back = server.run(&state, "os.seteuid(65534); os.seteuid(0)").state().to_owned();
    server.run(&back, "y = 1").state();
    assert_eq!(server.run(&back, "print(x)").text(), "1\n");
}

#[test]
fn a_memory_limit_that_a_cell_sets_too_low_is_named_in_the_error() {
    let server = TestServer::start();
    let limit = |which: &str, mebibytes: u32| {
        format!(
            "import resource as r\nfield = {{'AS': 'VmSize:', 'DATA': 'VmData:'}}['{which}']\n\
             used = int(open('/proc/self/status').read().split(field)[1].split()[0]) << 10\n\
             r.setrlimit(r.RLIMIT_{which}, (used + ({mebibytes} << 20), r.RLIM_INFINITY))"
        )
    };
    for which in ["AS", "DATA"] {
        let ran = server.run("initial", &limit(which, 1));
        assert_eq!((ran.ename(), ran.state.as_deref()), ("StateNotKept", None), "{which}: {ran:?}");
        assert!(ran.evalue().contains(&format!("RLIMIT_{which} is ")), "{which}: {}", ran.evalue());
        // A limit that is high enough stays in force in the state's branches.
        let roomy = server.run("initial", &limit(which, 256)).state().to_owned();
        assert_eq!(server.run(&roomy, "print(1)").text(), "1\n");
        assert_eq!(server.run(&roomy, "x = bytes(1 << 30)").ename(), "MemoryError", "{which}");
    }
}

#[test]
fn a_cell_that_leaves_its_process_no_processor_time_leaves_no_state() {
    let server = TestServer::start();
    let limit = |soft: u32, hard: &str| {
        server.run("initial", &format!("import resource as r; r.setrlimit(r.RLIMIT_CPU, ({soft}, {hard}))"))
    };
    for hard in ["r.RLIM_INFINITY", "0"] {
        let ran = limit(0, hard);
        // The system may kill the process before the cell has ended.
        assert!(
            ["StateNotKept", "KernelDied"].contains(&ran.ename()) && ran.state.is_none(),
            "{hard}: {ran:?}"
        );
        let told = ran.evalue().contains("RLIMIT_CPU is 0");
        assert!(told || ran.ename() == "KernelDied", "{hard}: {}", ran.evalue());
    }
    // All other limits apply to each branch separately.
    let state = limit(5, "r.RLIM_INFINITY").state().to_owned();
    for _ in 0..2 {
        assert_eq!(server.run(&state, "print(r.getrlimit(r.RLIMIT_CPU)[0])").text(), "5\n");
    }
}
