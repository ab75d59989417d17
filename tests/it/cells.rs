//! Helpers that run cells over REST and the WebSocket, and that inspect processes.

use crate::request::{Answer, Request};
use crate::server::{PATIENCE, TOKEN, TestServer, until};
use crate::wire::Wire;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

static LAST: AtomicU32 = AtomicU32::new(0);

/// Makes a word that is unique among all tests.
pub fn unique(word: &str) -> String {
    format!("{word}-{}", LAST.fetch_add(1, Ordering::Relaxed))
}

/// The result of a run over REST.
#[derive(Debug)]
pub struct Ran {
    pub state: Option<String>,
    pub output: Vec<Value>,
    pub error: Option<Value>,
}

impl Ran {
    pub fn new(answer: &Answer) -> Self {
        assert_eq!(answer.status, 200, "{answer:?}");
        let body = answer.json();
        Self {
            state: body["state_name"].as_str().map(str::to_owned),
            output: body["output"].as_array().unwrap().clone(),
            error: Some(body["error"].clone()).filter(|error| !error.is_null()),
        }
    }

    /// The name of the state that the run made. Panics if the run failed.
    pub fn state(&self) -> &str {
        match &self.error {
            None => self.state.as_deref().unwrap(),
            Some(error) => panic!("{}: {} {:#?}", error["ename"], error["evalue"], self.output),
        }
    }

    /// All text that the run printed to one stream.
    pub fn stream(&self, name: &str) -> String {
        self.output
            .iter()
            .filter(|item| item["name"] == name)
            .map(|item| item["text"].as_str().unwrap())
            .collect()
    }

    /// All text that the run printed to stdout.
    pub fn text(&self) -> String {
        self.stream("stdout")
    }

    /// The name of the exception that ended the run; empty if there was none.
    pub fn ename(&self) -> &str {
        self.error.as_ref().map_or("", |error| error["ename"].as_str().unwrap())
    }

    /// The message of the exception that ended the run.
    pub fn evalue(&self) -> &str {
        self.error.as_ref().map_or("", |error| error["evalue"].as_str().unwrap())
    }
}

/// A run over REST whose answer has not been read yet.
pub struct Going {
    pub exec_id: String,
    wire: Wire,
}

impl Going {
    /// Waits until the run has ended.
    pub fn end(mut self) -> Ran {
        Ran::new(&self.wire.answer(false).unwrap())
    }
}

/// The Python with numpy and the other packages.
fn science() -> Option<String> {
    let python = std::env::var("RATOON_TEST_PYTHON").ok();
    if python.is_none() {
        eprintln!("skipped: RATOON_TEST_PYTHON names no Python with numpy (tests/run does that)");
    }
    python
}

impl TestServer {
    /// Returns a server whose cells have numpy, pandas, matplotlib and scikit-learn, as `start`
    /// does. Returns `None`, and prints a message to stderr, if the test run provides no such
    /// Python.
    pub fn with_science() -> Option<Self> {
        Some(Self::shared(&["--python", &science()?]))
    }

    /// Starts such a server whose cells run in this directory.
    pub fn science_in(dir: &Path) -> Option<Self> {
        Some(Self::start_with(&["--python", &science()?, "--dir", dir.to_str().unwrap()]))
    }

    /// Starts a server whose cells run in this directory.
    pub fn in_dir(dir: &Path) -> Self {
        Self::start_with(&["--dir", dir.to_str().unwrap()])
    }

    /// Runs a cell against a state and waits until it has ended.
    pub fn run(&self, state: &str, code: &str) -> Ran {
        self.begin(state, code).end()
    }

    /// Starts a cell, and does not wait for its end.
    pub fn begin(&self, state: &str, code: &str) -> Going {
        self.begin_with(state, code, json!({}))
    }

    /// Starts a cell. The request has additional fields.
    pub fn begin_with(&self, state: &str, code: &str, more: Value) -> Going {
        let mut fields = Map::from_iter([
            ("exec_id".to_owned(), json!(unique("run"))),
            ("state_name".to_owned(), json!(state)),
            ("code".to_owned(), json!(code)),
        ]);
        fields.extend(more.as_object().unwrap().clone());
        let exec_id = fields["exec_id"].as_str().unwrap().to_owned();
        let mut wire = Wire::open(self.address);
        let request = Request::post("/execute", &Value::from(fields).to_string()).bearer(TOKEN);
        wire.write(&request.bytes(&self.host()));
        Going { exec_id, wire }
    }

    /// The names of the states.
    pub fn states(&self) -> Vec<String> {
        let names = self.owner(Request::get("/states")).json()["states"].clone();
        serde_json::from_value(names).unwrap()
    }

    /// Interrupts a run. Returns whether the run could be interrupted.
    pub fn interrupt(&self, exec_id: &str) -> bool {
        let answer = self.owner(Request::post("/interrupt", &json!({ "exec_id": exec_id }).to_string()));
        answer.json()["interrupted"].as_bool().unwrap()
    }

    pub fn reset(&self) {
        let answer = self.owner(Request::new("POST", "/reset"));
        assert_eq!((answer.status, answer.json()), (200, json!({"status": "ok"})));
    }

    /// Returns the whole notebook.
    pub fn notebook(&self) -> Value {
        self.owner(Request::get("/api/notebooks/main")).json()
    }

    /// Returns all descendant processes of the server.
    pub fn descendants(&self) -> Vec<Process> {
        descendants(self.pid())
    }

    /// Waits until no descendant of the server is a zombie.
    pub fn has_no_zombies(&self) {
        until("no process is a zombie", || self.descendants().iter().all(|p| !p.is_zombie));
    }
}

/// A WebSocket client of the notebook, which sends commands and receives events.
pub struct Live {
    wire: Wire,
    last: u64,
}

impl Live {
    pub fn join(server: &TestServer) -> Self {
        let mut wire = Wire::socket(server, TOKEN);
        wire.hear_until(|message| message["snapshot"].is_object());
        Self { wire, last: 0 }
    }

    /// Sends a command and returns its number.
    pub fn send(&mut self, mut command: Value) -> u64 {
        self.last += 1;
        command["id"] = json!(self.last);
        self.wire.say(&command.to_string());
        self.last
    }

    /// Starts a run and returns its id.
    pub fn run(&mut self, state: &str, code: &str) -> String {
        let exec_id = unique("live");
        self.send(json!({"do": "run", "exec_id": exec_id, "code": code, "on": {"state": state}}));
        exec_id
    }

    /// Reads messages until one satisfies the condition, and returns it.
    pub fn hear(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        self.wire.hear_until(is_it)
    }

    /// Reads messages until an event of this kind arrives for the run, and returns the event.
    pub fn event(&mut self, exec_id: &str, event: &str) -> Value {
        self.hear(|message| {
            message["event"] == event
                && (message["exec_id"] == exec_id || message["run"]["exec_id"] == exec_id)
        })
    }

    /// Reads messages until the run has ended, and returns all events of the run.
    pub fn events_of(&mut self, exec_id: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.hear(|message| message["exec_id"] == exec_id && message["event"].is_string());
            let is_last = event["event"] == "run_ended";
            events.push(event);
            if is_last {
                return events;
            }
        }
    }
}

/// A temporary directory for one test. It is deleted at the end of the test.
pub struct Room(Dir);

impl Room {
    pub fn new() -> Self {
        let path = std::env::temp_dir().join(format!("ratoon-{}-{}", std::process::id(), unique("room")));
        std::fs::create_dir_all(&path).unwrap();
        Self(Dir(path.canonicalize().unwrap()))
    }
}

impl Deref for Room {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        &self.0
    }
}

/// A directory in which tests and cells meet.
#[derive(Clone)]
pub struct Dir(PathBuf);

impl Dir {
    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Waits until a cell has created this file.
    pub fn wait_for(&self, name: &str) {
        until(&format!("there is a file {name}"), || self.file(name).exists());
    }

    /// Creates a file that a cell waits for.
    pub fn put(&self, name: &str) {
        std::fs::write(self.file(name), "").unwrap();
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // A process of a killed server may still run and write files for a moment.
        for _ in 0..100 {
            if std::fs::remove_dir_all(self.path()).is_ok() || !self.path().exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A process, as `/proc` describes it. The start time distinguishes it from a later process with
/// the same id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    pub pid: u32,
    started: u64,
    parent: u32,
    pub is_zombie: bool,
    pub name: String,
}

impl Process {
    fn read(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (head, tail) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = tail.split(' ').collect();
        Some(Self {
            pid,
            started: fields[19].parse().unwrap(),
            parent: fields[1].parse().unwrap(),
            is_zombie: fields[0] == "Z" || fields[0] == "X",
            name: head.split_once('(')?.1.to_owned(),
        })
    }

    pub fn parent(&self) -> u32 {
        self.parent
    }

    /// Whether this process is still running. A zombie does not count as running.
    pub fn is_alive(&self) -> bool {
        Self::read(self.pid).is_some_and(|now| now.started == self.started && !now.is_zombie)
    }
}

/// The descendants of a process.
pub fn descendants(of: u32) -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let all: Vec<Process> =
        entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).filter_map(Process::read).collect();
    let mut below = BTreeSet::from([of]);
    let mut found = Vec::new();
    loop {
        let children: Vec<_> =
            all.iter().filter(|p| below.contains(&p.parent) && !below.contains(&p.pid)).collect();
        if children.is_empty() {
            return found;
        }
        below.extend(children.iter().map(|p| p.pid));
        found.extend(children.into_iter().cloned());
    }
}

/// Waits until all these processes have ended. Returns the time that this took.
pub fn all_end(processes: &[Process], within: Duration) -> Duration {
    assert!(within < PATIENCE);
    let start = Instant::now();
    loop {
        let left: Vec<_> = processes.iter().filter(|p| p.is_alive()).collect();
        if left.is_empty() {
            return start.elapsed();
        }
        assert!(start.elapsed() < within, "still there: {left:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
