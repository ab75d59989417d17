//! Tests of cells that print or display without end. Their outputs are cut and a message says so.
//! The cells can be interrupted. Neither the server nor other cells are affected.

use crate::breadth::{examples, in_full};
use crate::cells::Live;
use crate::request::Request;
use crate::server::{TOKEN, TestServer, until};
use crate::wire::Wire;
use serde_json::Value;
use std::time::Instant;

/// How much the server's peak memory may grow during a flood of output, in bytes.
const FLAT: u64 = 64 << 20;

struct Flood {
    what: &'static str,
    /// Code that creates the file `full` after it has printed more than the server keeps.
    code: &'static str,
    /// Whether the code can have printed exactly this number of bytes.
    can_print: fn(u64) -> bool,
    /// The expected output with this length, which repeats a pattern.
    pattern: fn(usize) -> String,
}

/// Number of bytes that `print(10**1000 + i)` writes: 1,001 digits and a newline.
const LINE: u64 = 1002;

const FLOODS: &[Flood] = &[
    Flood {
        what: "while True: print(i)",
        code: "i = 10**1000\nwhile True:\n    print(i); i += 1\n    if i % 10**1000 == 20_000: open('full', \
            'w').close()",
        can_print: |bytes| matches!(bytes % LINE, 0 | 1001),
        pattern: |kept| (0..=kept / LINE as usize).map(|i| format!("1{i:01000}\n")).collect(),
    },
    Flood {
        what: "100 MB in one print",
        code: "print('x' * 100_000_000); open('full', 'w').close()\nwhile True: pass",
        can_print: |bytes| bytes == 100_000_001,
        pattern: |kept| "x".repeat(kept),
    },
    Flood {
        what: "100 MB in one write to descriptor 1",
        code: "import os\nleft = memoryview(b'y' * 100_000_000)\n\
            while left: left = left[os.write(1, left):]\nopen('full', 'w').close()\nwhile True: pass",
        can_print: |bytes| bytes == 100_000_000,
        pattern: |kept| "y".repeat(kept),
    },
    Flood {
        what: "a subprocess that floods",
        code: "import subprocess\nflood = 'yes $0 | head -c 40000000; touch full; exec yes $0'\n\
            subprocess.run(['sh', '-c', flood, 'z' * 999])",
        can_print: |_| true,
        pattern: |kept| format!("{}\n", "z".repeat(999)).repeat(kept / 1000 + 1),
    },
];

impl TestServer {
    /// Resets the server's peak memory to its current memory, and returns this value in bytes.
    fn forget_peak(&self) -> u64 {
        std::fs::write(format!("/proc/{}/clear_refs", self.pid()), "5").unwrap();
        self.peak()
    }

    /// Returns the server's peak memory since `forget_peak`, in bytes.
    fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

/// Returns the text that a run printed to one stream.
fn printed(events: &[Value], name: &str) -> String {
    let of_it = events.iter().filter(|e| e["output"]["name"] == name);
    of_it.map(|e| e["output"]["text"].as_str().unwrap()).collect()
}

/// Returns the number of dropped bytes in the server's message about them.
fn told_bytes(stderr: &str) -> u64 {
    let told = stderr
        .split_once("[ratoon: ")
        .and_then(|(_, rest)| rest.split_once(" more bytes of output were not kept]"));
    told.unwrap_or_else(|| panic!("no message about dropped output: {stderr:?}")).0.parse().unwrap()
}

#[test]
#[ignore = "nightly: it takes 5 s of processor time"]
fn the_memory_of_large_outputs_is_freed_when_their_runs_are_deleted() {
    let server = TestServer::fresh();
    server.run("initial", "x = 1");
    let before = server.memory();
    for _ in 0..5 {
        server.run("initial", "print('a' * 17_000_000)");
    }
    assert!(server.memory() > before + FLAT, "it keeps 16 MiB of each");
    server.reset();
    until("the memory is free again", || server.memory() < before + FLAT);
}

/// Statements. Each of them makes a separate, very small output item.
const SMALL: &[&str] = &[
    "print(i % 10, file=[sys.stdout, sys.stderr][i % 2])",
    "display(i)",
    "display(i, display_id=True)",
    "display({'a/b': '', 'c/d': ''}, raw=True, metadata={'a/b': {}})",
];
/// How many times a cell executes the statement. This makes more items than the server keeps.
const MANY: u32 = 50_000;

#[test]
fn many_small_outputs_are_limited_by_their_memory_which_is_freed_later() {
    let server = TestServer::fresh();
    server.run("initial", "x = 1");
    server.reset();
    let before = server.memory();
    let kinds = examples(SMALL, SMALL.len());
    // It keeps 32 MiB of each.
    let half = kinds.clone().count() as u64 * (16 << 20);
    for small in kinds {
        let peak = server.forget_peak();
        let code =
            format!("import sys\nfrom IPython.display import display\nfor i in range({MANY}): {small}");
        let ran = server.run("initial", &code);
        assert!(told_bytes(&ran.stream("stderr")) > 0, "{small}");
        let grown = server.peak().saturating_sub(peak);
        eprintln!("{small}: the server grew by {} MiB", grown >> 20);
        assert!(grown < FLAT, "{small}: the server grew by {grown} bytes");
    }
    assert!(server.memory() > before + half, "it keeps the outputs");
    server.reset();
    until("the memory is free again", || server.memory() < before + half);
}

/// Number of cells, the bytes that each prints, and the number of clients that load all of them.
const FULL_CELLS: usize = 12;
const FULL: u64 = 2_000_000;
const LOADING: usize = 6;

#[test]
#[ignore = "nightly: it takes 5 s of processor time"]
fn slow_clients_with_view_links_use_limited_memory() {
    let server = TestServer::fresh();
    for _ in 0..FULL_CELLS {
        server.run("initial", "print('a' * 2_000_000)").state();
    }
    // Waits until the notebook stops changing, because the test loads it twice and compares the
    // two.
    until("all states are compared, measured and saved", || {
        let notebook = server.notebook();
        let states = notebook["states"].as_array().unwrap();
        let is_done = |what: &str| states.iter().skip(1).all(|state| !state[what].is_null());
        ["changes", "checkpoint", "memory_bytes"].into_iter().all(is_done)
    });
    let link = server.owner(Request::post("/api/links", r#"{"scope":"view"}"#)).json();
    let token = link["token"].as_str().unwrap();
    let before = server.forget_peak();
    // Some clients use REST, others the WebSocket, and none of them reads the answer. One more
    // client reads the whole answer.
    let whole = Request::get("/api/notebooks/main").bearer(token).bytes(&server.host());
    let mut asleep: Vec<Wire> = (0..LOADING / 2).map(|_| Wire::socket(&server, token)).collect();
    asleep.extend((0..LOADING / 2 - 1).map(|_| {
        let mut wire = Wire::open(server.address);
        wire.write(&whole);
        wire
    }));
    let mut awake = Wire::socket(&server, token);
    let snapshot = awake.hear_until(|message| message["snapshot"].is_object());
    let runs = snapshot["snapshot"]["runs"].as_array().unwrap().clone();
    let lengths: Vec<usize> =
        runs.iter().map(|run| run["outputs"][0]["text"].as_str().unwrap().len()).collect();
    assert!(lengths.iter().all(|length| *length as u64 > FULL), "{lengths:?}");
    assert!(
        server.notebook()["runs"] == snapshot["snapshot"]["runs"],
        "the snapshot equals the answer over REST"
    );
    let grown = server.peak().saturating_sub(before);
    eprintln!("{LOADING} clients that load {FULL_CELLS} full cells: the server grew by {} MiB", grown >> 20);
    // Each client uses memory for the text of one run, instead of all runs.
    assert!(grown < FULL_CELLS as u64 * FULL * 2, "the server grew by {grown} bytes");
    // After these clients have disconnected, the server still works.
    drop(asleep);
    assert_eq!(server.run("initial", "print(1)").text(), "1\n");
}

/// Asks 250 times for an answer of 5 MB, by each of several view links, and never reads.
#[test]
fn clients_that_never_read_long_answers_use_limited_memory() {
    let server = TestServer::fresh();
    let ran = server.run("initial", "for n in range(500): globals()[f'v{n}'] = chr(65 + n % 26) * 9_990");
    let path = format!("/api/notebooks/main/states/{}/variables", ran.state());
    let listed = server.owner(Request::get(&path));
    assert!(listed.status == 200 && listed.body.len() > 4 << 20, "{}", listed.body.len());
    let link = server.owner(Request::post("/api/links", r#"{"scope":"view"}"#)).json();
    let token = link["token"].as_str().unwrap();
    let before = server.forget_peak();
    let count = if in_full() { 20 } else { 4 };
    let clients: Vec<Wire> = (0..count)
        .map(|_| {
            let mut client = Wire::socket(&server, token);
            for id in 1..=250 {
                client.say(&format!(r#"{{"id":{id},"do":"look_at_variables","state":"{}"}}"#, ran.state()));
            }
            client.say(r#"{"id":251,"do":"stand","state":"initial"}"#);
            client
        })
        .collect();
    until("all questions were read", || {
        server.notebook()["people"].as_array().is_some_and(|people| people.len() == clients.len())
    });
    // The owner needs no permit.
    for _ in 0..20 {
        assert_eq!(server.owner(Request::get("/states")).status, 200);
        assert_eq!(server.owner(Request::get(&path)).body.len(), listed.body.len());
    }
    let grown = server.peak().saturating_sub(before);
    eprintln!("{count} clients that never read: the server grew by {} MiB", grown >> 20);
    assert!(grown < 200 << 20, "the server grew by {grown} bytes");
    if in_full() {
        // After 45 s, they make room for others.
        for mut client in clients {
            assert!(matches!(client.closing(), Some(4408) | None));
        }
        let reading = server.send(Request::get(&path).bearer(token));
        assert_eq!(reading.body.len(), listed.body.len());
    }
}

#[test]
fn a_flood_of_text_is_cut_and_counted_and_delays_nobody() {
    let server = TestServer::fresh();
    let room = server.room();
    let state = server.run("initial", "x = 1");
    for flood in examples(FLOODS, 2) {
        let _ = std::fs::remove_file(room.file("full"));
        // This client never reads.
        let _asleep = Wire::socket(&server, TOKEN);
        let mut live = Live::join(&server);
        let before = server.forget_peak();
        let exec_id = live.run("initial", flood.code);
        let (events, times) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let events = live.events_of(&exec_id);
                (events, Instant::now())
            });
            room.wait_for("full");
            let start = Instant::now();
            assert_eq!(server.run(state.state(), "print(x)").text(), "1\n");
            let other = start.elapsed();
            let start = Instant::now();
            assert!(server.interrupt(&exec_id));
            let answered = start.elapsed();
            let (events, ended) = reader.join().unwrap();
            (events, (other, answered, ended - start))
        });
        let grown = server.peak().saturating_sub(before);
        let (other, answered, ended) = times;
        eprintln!(
            "{}: another run took {other:?}, the interrupt was answered in {answered:?}, the run ended after \
            {ended:?}; \
             the server grew by {} MiB",
            flood.what,
            grown >> 20
        );
        assert!(grown < FLAT, "{}: the server grew by {grown} bytes", flood.what);
        assert_eq!(events.last().unwrap()["status"], "interrupted", "{}", flood.what);
        let kept = printed(&events, "stdout");
        assert!((15 << 20..=16 << 20).contains(&kept.len()), "{}: {}", flood.what, kept.len());
        assert!(
            (flood.pattern)(kept.len()).starts_with(&kept),
            "{}: something is missing within",
            flood.what
        );
        let dropped = told_bytes(&printed(&events, "stderr"));
        assert!((flood.can_print)(kept.len() as u64 + dropped), "{}: {} + {dropped}", flood.what, kept.len());
    }
}

/// Bodies of `__repr__`, `_repr_html_` or `_repr_mimebundle_`. Each has the error that ends the
/// cell, and, for `__repr__`, a part of the output.
const HOSTILE: &[(&str, &str, &str)] = &[
    ("raise ValueError('bad')", "", "ValueError"),
    ("raise type('K' * 1_000_000, (Exception,), {})", "", "KKKK"),
    ("sys.exit(3)", "SystemExit", "3"),
    ("os._exit(3)", "KernelDied", "exited with code 3"),
    ("os.kill(os.getpid(), 9)", "KernelDied", "SIGKILL"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt", ""),
    ("return 5", "", "non-string"),
    ("return repr(self) + self._repr_html_() + str(self)", "", "RecursionError"),
    ("print('within'); return 'shown'", "", "within"),
    ("child = os.fork(); child and os.waitpid(child, 0); return 'shown'", "", "shown"),
    ("return 'row\\n' * 1_000_000", "", "[truncated]"),
    ("return 'x' * 1_000_000_000", "", "[truncated]"),
];

#[test]
fn hostile_representations_harm_only_their_own_cell() {
    let server = TestServer::fresh();
    let state = server.run("initial", "import os, sys; x = 1");
    server.run(state.state(), "1/0");
    let mut most = 0;
    let methods = ["__repr__(self)", "_repr_html_(self)", "_repr_mimebundle_(self, **_)"];
    let all: Vec<_> = HOSTILE.iter().flat_map(|row| methods.map(|method| (row, method))).collect();
    for ((body, ename, part), method) in examples(&all, 4) {
        let before = server.forget_peak();
        let class = format!("class R:\n    def _repr_html_(self): return ''\n    def {method}: {body}");
        let ran = server.run(state.state(), &format!("{class}\nprint('before')\nR()"));
        assert_eq!(ran.ename(), *ename, "{method}: {body}");
        assert_eq!(ran.state.is_none(), !ename.is_empty(), "{method}: {body}");
        let text = ran.text();
        assert!(
            text.starts_with("before\n") && text.matches("before").count() == 1,
            "{method}: {body}: {text}"
        );
        let results = ran.output.iter().filter(|item| item["output_type"] == "execute_result").count();
        assert!(results <= 1, "{method}: {body}: {results} results");
        if method.starts_with("__repr__") {
            let said = format!("{:?} {}", ran.output, ran.evalue());
            assert!(said.contains(part), "{body}: {said}");
        }
        let grown = server.peak().saturating_sub(before);
        most = most.max(grown);
        assert!(grown < FLAT, "{body}: the server grew by {grown} bytes");
    }
    eprintln!("the server grew by at most {} MiB", most >> 20);
    assert_eq!(server.run(state.state(), "print(x)").text(), "1\n");
    server.has_no_zombies();
}

#[test]
fn a_representation_that_is_too_long_is_reported() {
    let server = TestServer::fresh();
    let before = server.forget_peak();
    for (code, told) in [
        ("from IPython.display import HTML; HTML('<p>' * 3_333_333)", "text/html has 9999999 characters"),
        (
            "from IPython.display import Image; Image(b'\\x89PNG\\r\\n\\x1a\\n' * 1_250_000, format='png')",
            "image/png has 13333336",
        ),
        (
            "display({'application/json': ['x' * 10_000_000]}, raw=True)",
            "application/json is not JSON, or is too long",
        ),
        ("list(range(10**6))", ""),
    ] {
        let ran = server.run("initial", code);
        ran.state();
        assert!(ran.stream("stderr").contains(told), "{code}: {:?}", ran.stream("stderr"));
        assert_eq!(ran.stream("stderr").is_empty(), told.is_empty(), "{code}");
    }
    let grown = server.peak().saturating_sub(before);
    assert!(grown < FLAT, "the server grew by {grown} bytes");
}
