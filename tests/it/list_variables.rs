//! Tests of reading a state's variables. A temporary fork reads them. It changes nothing in the
//! state, and leaves no process behind.

use crate::cells::{Process, descendants};
use crate::request::{Answer, Request};
use crate::restarts::state_of;
use crate::server::{TestServer, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Lists a state's variables, which runs no cell.
fn look(server: &TestServer, state: &str) -> Answer {
    server.owner(Request::get(&format!("/states/{state}")))
}

fn command(server: &TestServer, command: Value) -> Answer {
    server.owner(Request::post("/api/notebooks/main/commands", &command.to_string()))
}

/// Waits until the automatic work on a state is done: saving it, and comparing it with its parent.
fn settle(server: &TestServer, state: &str) {
    until("the state is saved and compared", || {
        let state = state_of(server, state);
        state["living"] == "memory"
            && state["changes"].is_object()
            && state["saving"]["is"] != "writing"
            && !state["checkpoint"].is_null()
    });
}

pub fn children(server: &TestServer, of: u32) -> Vec<Process> {
    server.descendants().into_iter().filter(|p| p.parent() == of && !p.is_zombie).collect()
}

/// Returns the private memory of a process, in bytes.
pub fn private_bytes(pid: u32) -> u64 {
    rollup_bytes(pid, "Private_")
}

/// Returns the sum, in bytes, of the fields of `smaps_rollup` whose names begin with `name`
/// (proc_pid_smaps(5)).
pub fn rollup_bytes(pid: u32, name: &str) -> u64 {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let of = |line: &str| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024;
    rollup.lines().filter(|line| line.starts_with(name)).map(of).sum()
}

/// Code with an object `c` that counts accesses, and with fork hooks that count forks.
const COUNTS: &str = "import os
n = {'asked': 0, 'before': 0, 'in parent': 0}
def count(what):
    n[what] += 1
    with open('asked', 'a') as asked: asked.write(f'{os.getpid()}\\n')
class Counts:
    shape = property(lambda self: count('asked') or (1, 2))
    def __repr__(self): count('asked'); return 'c'
    def __len__(self): count('asked'); return 1
    def __dir__(self): count('asked'); return ['d']
    def __reduce_ex__(self, protocol): count('asked'); return (Counts, ())
    def __eq__(self, other): count('asked'); return True
c = Counts()
lines = open('lines')
class Reads:
    def __repr__(self): return lines.readline()
r = Reads()
os.register_at_fork(before=lambda: count('before'), after_in_parent=lambda: count('in parent'))
print(os.getpid())";

#[test]
fn listing_variables_leaves_no_trace_in_the_state() {
    let server = TestServer::start();
    let room = server.room();
    std::fs::write(room.file("lines"), "first\nsecond\n".repeat(10_000)).unwrap();
    let ran = server.run("initial", COUNTS);
    let (state, head) = (ran.state(), ran.text().trim().parse().unwrap());
    settle(&server, state);
    until("the frozen process is the head's only child", || children(&server, head).len() == 1);
    let frozen = children(&server, head).remove(0);
    let look_often = || {
        for _ in 0..3 {
            let seen = look(&server, state).json();
            assert_eq!(seen["variables"]["c"]["repr"], "c");
            assert_eq!(seen["variables"]["r"]["repr"], "first\n");
            let pane = command(&server, json!({"do": "look_at_variables", "state": state}));
            assert_eq!(pane.status, 200);
        }
    };
    let none_is_left = || until("no listing fork is left", || children(&server, frozen.pid).is_empty());
    look_often();
    none_is_left();
    let before = private_bytes(frozen.pid);
    look_often();
    none_is_left();
    let after = private_bytes(frozen.pid);
    eprintln!("a frozen process had {before} private bytes, and {after} after six requests");
    assert!(after.abs_diff(before) <= 64 << 10, "{before} became {after}");
    for what in ["complete", "inspect"] {
        let answer = command(&server, json!({"do": what, "state": state, "code": "c.", "cursor": 2}));
        assert!([200, 504].contains(&answer.status), "{what}: {answer:?}");
    }
    assert!(
        frozen.is_alive() && children(&server, head).contains(&frozen),
        "the state's process is the same"
    );
    let asked = std::fs::read_to_string(room.file("asked")).unwrap();
    let who: Vec<u32> = asked.lines().map(|pid| pid.parse().unwrap()).collect();
    assert!(who.len() >= 12, "{who:?}");
    assert!(!who.contains(&frozen.pid), "the frozen process ran the user's code");
    // Checks the head at this state first, then branches.
    let count = "print(n['asked'], n['in parent'], lines.readline(), end='')";
    assert_eq!(server.run(state, count).text(), "0 1 first\n");
    let count = "print(n, lines.readline(), end='')";
    let branch = server.run(state, count).text();
    assert_eq!(branch, "{'asked': 0, 'before': 1, 'in parent': 0} first\n");
    look_often();
    assert_eq!(server.run(state, count).text(), branch);
}

#[test]
fn listing_variables_that_hangs_or_dies_is_reported() {
    let server = TestServer::fresh();
    let rows = [
        ("sum(range(10**12))", 504),
        (
            "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals)); time.sleep(1000)",
            504,
        ),
        ("os.kill(os.getpid(), 19)", 504),
        ("exec('while True:\\n try: time.sleep(9)\\n except BaseException: pass')", 504),
        ("os._exit(3)", 503),
        ("import ctypes; ctypes.string_at(0)", 503),
        ("sys.exit(3)", 200),
    ];
    let make = |(body, _): &(&str, u16)| {
        let code =
            format!("import os, sys, time\nclass R:\n    def __repr__(self): {body}\nr = R(); fine = 1");
        server.run("initial", &code).state().to_owned()
    };
    let states: Vec<String> = rows.iter().map(make).collect();
    states.iter().for_each(|state| settle(&server, state));
    // A repr of a gigabyte is cut. If the repr takes too long, the answer says so. Then there may
    // be no time for the next variable.
    let huge = make(&("return 'x' * 1_000_000_000", 200));
    let before = server.memory();
    let answer = look(&server, &huge);
    let (status, body) = (answer.status, answer.json());
    let fine = body["variables"]["fine"]["repr"].as_str();
    assert!(status == 504 || status == 200 && matches!(fine, Some("1" | "…")), "{body}");
    std::thread::scope(|scope| {
        for ((body, status), state) in rows.iter().zip(&states) {
            let server = &server;
            scope.spawn(move || {
                let start = Instant::now();
                let mut answer = look(server, state);
                // On a busy machine, even a readable value may exceed the time limit. A later
                // attempt succeeds.
                until("a listing that ends by itself is answered", || {
                    if answer.status == 504 && *status != 504 {
                        answer = look(server, state);
                    }
                    answer.status != 504 || *status == 504
                });
                eprintln!("{body}: {} after {:?}", answer.status, start.elapsed());
                assert_eq!(answer.status, *status, "{body}: {answer:?}");
                let json = answer.json();
                match status {
                    200 => assert_eq!(json["variables"]["fine"]["repr"], "1", "{body}"),
                    _ => assert!(
                        json["error"]["how"].as_str().unwrap().contains("repr") || *status == 504,
                        "{json}"
                    ),
                }
            });
        }
    });
    assert!(server.memory() < before + (64 << 20));
    for ((body, _), state) in rows.iter().zip(&states) {
        assert_eq!(server.run(state, "print(fine)").text(), "1\n", "{body}");
    }
    until("all listing forks have ended", || {
        let all = descendants(server.pid());
        // Allows the root. For each state also allows its frozen process, a head at the state, and
        // a head at its child.
        all.iter().all(|p| !p.is_zombie) && all.len() <= 1 + 3 * states.len()
    });
}

#[test]
#[ignore = "nightly: it takes 7 s of processor time"]
fn processes_started_while_listing_variables_end_with_it() {
    let server = TestServer::start();
    let room = server.room();
    // A typical daemon: its parent has ended, and the daemon leads a new session.
    let code = "import os, sys, time
def daemon(name):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(name + '.tmp', 'w') as said: said.write(str(os.getpid()))
            os.rename(name + '.tmp', name)
            time.sleep(1000)
        os.kill(os.getpid(), 9)
    os.wait()
    while not os.path.exists(name): time.sleep(0.001)
class Quick:
    def __repr__(self): daemon('quick'); return 'quick'
class Hangs:
    def __repr__(self): daemon('hangs'); sum(range(10**12))
class Completes:
    def __dir__(self): daemon('completes'); sum(range(10**12))
class Saves:
    def __reduce_ex__(self, protocol): daemon('saves'); return (Saves, ())
";
    let at = |name: &str, class: &str| {
        server.run("initial", &format!("{code}{name} = {class}()")).state().to_owned()
    };
    let pid_of = |name: &str| {
        room.wait_for(name);
        std::fs::read_to_string(room.file(name)).unwrap().parse::<u32>().unwrap()
    };
    let has_ended = |name: &str| {
        let pid = pid_of(name);
        let is_there =
            || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z "));
        until(&format!("the daemon of {name} has ended"), || !is_there());
    };
    let (quick, hangs, completes) = (at("q", "Quick"), at("h", "Hangs"), at("c", "Completes"));
    at("s", "Saves");
    has_ended("saves");
    assert_eq!(look(&server, &quick).json()["variables"]["q"]["repr"], "quick");
    has_ended("quick");
    assert_eq!(look(&server, &hangs).status, 504);
    has_ended("hangs");
    let question = json!({"do": "complete", "state": completes, "code": "c.", "cursor": 2});
    until("the request has arrived", || {
        assert_eq!(command(&server, question.clone()).status, 504);
        room.file("completes").exists()
    });
    has_ended("completes");
    // A daemon that a cell has started continues to run.
    let kept = server.run("initial", &format!("{code}daemon('kept'); print(1)"));
    look(&server, kept.state());
    let kept = pid_of("kept");
    std::thread::sleep(Duration::from_millis(50));
    assert!(std::fs::metadata(format!("/proc/{kept}")).is_ok());
    // The daemon has left its process group, and would survive the server. So the test kills it.
    kill(Pid::from_raw(i32::try_from(kept).unwrap()), Signal::SIGKILL).unwrap();
}
