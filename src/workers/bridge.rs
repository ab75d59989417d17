//! The bridge: a Python program in the user's environment, which makes the engine's client and
//! hands it `ratoon_worker.run`. It gets names of tasks and resources, and no checkpoint.
//!
//! Lines of JSON go both ways. When the bridge ends, because the engine is gone or for any other
//! reason, it is started again, and gets all tasks that have not ended. A task that then runs twice
//! does no harm.

use super::objects::TaskKey;
use super::order::Order;
use crate::notebook::Resources;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// The package of the bridge and of the workers, as the wheel has it.
const PACKAGE: [(&str, &str); 3] = [
    ("ratoon_worker", include_str!("../../python/ratoon_worker/__init__.py")),
    ("ratoon_worker.engines", include_str!("../../python/ratoon_worker/engines.py")),
    ("ratoon_worker.bridge", include_str!("../../python/ratoon_worker/bridge.py")),
];

/// Imports the package if the environment has it, and makes it from the texts in the first line of
/// the input otherwise.
const BOOT: &str = include_str!("boot.py");

/// The pause before the bridge is started again. It doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Maximum length of a line from the bridge, in bytes.
const MAX_LINE_BYTES: u64 = 8 << 20;
/// How long the answer to a probe may take: the engine may have to start a worker.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);
/// How many of the bridge's last lines on stderr explain its end.
const LAST_LINES: usize = 12;

/// Whether the engine can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EngineStatus {
    /// The engine, as `--workers` names it.
    pub engine: String,
    /// Whether the engine's client is connected.
    pub is_connected: bool,
    /// The engine's own words about itself, for example its dashboard's address.
    pub description: Option<String>,
    /// Number of tasks that may run at the same time; null if the engine does not know.
    pub slots: Option<u64>,
    /// Why the engine cannot be reached, as a sentence; null if it can.
    pub problem: Option<String>,
}

/// What a worker's environment has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Probe {
    /// The name of the worker's node.
    pub node: String,
    /// The version of its Python.
    pub python: String,
    /// The versions of the installed packages, by their normalised names.
    pub packages: BTreeMap<String, String>,
    /// The version of the `ratoon` program there; null if it was not found.
    pub ratoon: Option<String>,
    /// The id of the key with which the worker checks tasks; null if it has none.
    pub key: Option<String>,
}

/// What the environments of a worker and of the server have. The latter may be unknown.
pub type Probes = (Probe, Option<Probe>);

/// How the bridge is started.
#[derive(Clone, Debug)]
pub(super) struct BridgeConfig {
    /// The engine: `dask://HOST:PORT`, `ray`, `slurm`, `module:factory`, …
    pub(super) engine: String,
    /// The user's Python.
    pub(super) python: PathBuf,
    /// The directory in which it runs: that of the cells.
    pub(super) dir: PathBuf,
    /// The address of the object store, which workers need.
    pub(super) store: String,
}

/// The bridge, with the tasks that have not ended.
pub(super) struct Bridge {
    config: BridgeConfig,
    state: Mutex<State>,
}

impl std::fmt::Debug for Bridge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bridge").field("engine", &self.config.engine).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    status: EngineStatus,
    stdin: Option<ChildStdin>,
    tasks: BTreeMap<String, (Value, Sender<Order>)>,
    probes: Vec<Sender<Result<Probes, String>>>,
}

/// A line from the bridge.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Ready { description: Option<String>, slots: Option<u64> },
    Ended { task: String },
    Failed { task: String, why: String },
    Probed { probe: Option<Box<Probe>>, own: Option<Box<Probe>>, why: Option<String> },
    Gone { why: String },
}

impl Bridge {
    /// Starts a thread that keeps the bridge running as long as it is used.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(super) fn start(config: BridgeConfig) -> std::io::Result<Arc<Self>> {
        let status = EngineStatus { engine: config.engine.clone(), ..EngineStatus::default() };
        let bridge = Arc::new(Self { config, state: Mutex::new(State { status, ..State::default() }) });
        let weak = Arc::downgrade(&bridge);
        std::thread::Builder::new().name("bridge".into()).spawn(move || keep_running(&weak))?;
        Ok(bridge)
    }

    /// Hands a task to the engine. `told` learns how it ends.
    pub(super) fn submit(&self, key: TaskKey, resources: Resources, told: Sender<Order>) {
        let TaskKey { notebook, task } = key;
        let line = json!({"do": "submit", "notebook": notebook, "task": task, "resources": resources});
        let mut state = self.state();
        state.say(&line);
        state.tasks.insert(task, (line, told));
    }

    /// Tells the engine that a task is not wanted any more.
    pub(super) fn cancel(&self, task: &str) {
        let mut state = self.state();
        if state.tasks.remove(task).is_some() {
            state.say(&json!({"do": "cancel", "task": task}));
        }
    }

    /// Forgets a task that stays at the engine.
    pub(super) fn forget(&self, task: &str) {
        self.state().tasks.remove(task);
    }

    pub(super) fn status(&self) -> EngineStatus {
        self.state().status.clone()
    }

    /// Asks a worker what its environment has. Waits for the answer.
    ///
    /// # Errors
    /// Why there is no answer, as a sentence.
    pub(super) fn probe(&self) -> Result<Probes, String> {
        let (answer, answered) = channel();
        {
            let mut state = self.state();
            if !state.status.is_connected {
                let problem = state.status.problem.clone();
                return Err(problem.unwrap_or_else(|| "the engine's client is starting".into()));
            }
            state.probes.push(answer);
            state.say(&json!({"do": "probe"}));
        }
        let late = |_| format!("no worker answered within {} s", PROBE_TIMEOUT.as_secs());
        answered.recv_timeout(PROBE_TIMEOUT).map_err(late)?
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_line(&self, line: Line) {
        let mut state = self.state();
        match line {
            Line::Ready { description, slots } => {
                let status = &mut state.status;
                (status.is_connected, status.problem) = (true, None);
                (status.description, status.slots) = (description, slots);
            }
            Line::Ended { task } => state.tell(&task, Order::Ended(task.clone())),
            Line::Failed { task, why } => state.tell(&task, Order::Failed(task.clone(), why)),
            Line::Probed { probe, own, why } => {
                let probes = probe.map(|probe| (*probe, own.map(|own| *own)));
                let answer = probes.ok_or_else(|| why.unwrap_or_else(|| "the probe failed".into()));
                for waiting in std::mem::take(&mut state.probes) {
                    // The send fails if nobody waits any more.
                    let _ = waiting.send(answer.clone());
                }
            }
            Line::Gone { why } => state.status.problem = Some(why),
        }
    }
}

impl State {
    /// Sends a line. While the bridge does not run, the line is dropped: at its start, the bridge
    /// gets all tasks.
    fn say(&mut self, line: &Value) {
        if let Some(stdin) = &mut self.stdin
            && writeln!(stdin, "{line}").and_then(|()| stdin.flush()).is_err()
        {
            self.stdin = None;
        }
    }

    fn tell(&mut self, task: &str, order: Order) {
        if let Some((_, told)) = self.tasks.remove(task) {
            // The send fails if the notebook was closed.
            let _ = told.send(order);
        }
    }
}

fn keep_running(bridge: &Weak<Bridge>) {
    let mut pause = FIRST_PAUSE;
    while let Some(bridge) = bridge.upgrade() {
        let why = run_once(&bridge);
        let mut state = bridge.state();
        let was_connected = std::mem::take(&mut state.status.is_connected);
        state.stdin = None;
        let known = state.status.problem.take();
        state.status.problem = Some(known.unwrap_or(why));
        for waiting in std::mem::take(&mut state.probes) {
            let _ = waiting.send(Err("the engine's client has ended".into()));
        }
        drop(state);
        drop(bridge);
        pause = if was_connected { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        std::thread::sleep(pause);
    }
}

/// Runs the bridge until it ends. Returns why it ended.
fn run_once(bridge: &Arc<Bridge>) -> String {
    let config = &bridge.config;
    // In a group of its own, so that Ctrl-C in the terminal does not end it before the server.
    let program = std::env::current_exe().unwrap_or_default();
    let spawned = Command::new(&config.python)
        // For workers on this machine whose environment has no Ratoon.
        .env("RATOON_PROGRAM", program)
        .args(["-c", BOOT])
        .current_dir(&config.dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return format!("{} cannot be started: {error}", config.python.display()),
    };
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return "it has no pipes".into();
    };
    let last_lines = std::thread::Builder::new().name("bridge errors".into()).spawn(move || {
        let mut last = VecDeque::new();
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if last.len() == LAST_LINES {
                last.pop_front();
            }
            last.push_back(line);
        }
        last
    });
    {
        let mut state = bridge.state();
        state.stdin = Some(stdin);
        state.say(&json!({"modules": PACKAGE, "engine": config.engine, "store": config.store}));
        let lines: Vec<Value> = state.tasks.values().map(|(line, _)| line.clone()).collect();
        lines.iter().for_each(|line| state.say(line));
    }
    let mut reader = BufReader::new(stdout);
    let mut line = String::new();
    loop {
        line.clear();
        match (&mut reader).take(MAX_LINE_BYTES).read_line(&mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {
                if let Ok(line) = serde_json::from_str(&line) {
                    bridge.on_line(line);
                }
            }
        }
    }
    bridge.state().stdin = None;
    let _ = child.kill();
    // Fails if the server's reaper has waited for it.
    let _ = child.wait();
    let last = last_lines.ok().and_then(|thread| thread.join().ok()).unwrap_or_default();
    let last = last.into_iter().rfind(|line| !line.trim().is_empty());
    last.unwrap_or_else(|| "the engine's client ended without a message".into())
}
