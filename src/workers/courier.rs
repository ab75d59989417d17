//! Sends the runs of one notebook to the workers, and brings back what they show and leave.
//!
//! A thread of its own does this, because all requests to the object store wait for the network. It
//! looks into the store every `POLL` while runs are at the workers: one request lists what all of
//! them have shown and ended. Everything can be repeated: while the store does not answer, runs
//! wait, and nothing is lost.

use super::bridge::Bridge;
use super::letter::{self, Purpose};
use super::objects::{self, KnownBlobs, Named, Shown, TaskKey, parse_key};
use super::order::Order;
use crate::blobs::Digest;
use crate::notebook::{Cause, Dispatch, ExecId, Resources, RunError, WorkerReport, WorkerResult, WorkerTask};
use crate::problem::{Kind, Problem};
use crate::remote::{RemoteStore, for_each_in_parallel};
use crate::store::InstallKey;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often the courier looks into the store.
const POLL: Duration = Duration::from_secs(1);
/// The shortest time between two looks. What happens meanwhile is handled together.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// How often it tries again while the store does not answer.
const POLL_AFTER_FAILURE: Duration = Duration::from_secs(3);
/// How long the courier removes what late workers write of a task that is over.
const OVER_FOR: Duration = Duration::from_secs(10);
/// How many times a result whose blobs cannot be read is tried again. The store may be recovering.
const MAX_READS: u32 = 5;

/// The text of a task, which names its notebook.
#[derive(Debug, Serialize, serde::Deserialize)]
pub(crate) struct TaskText {
    /// The id of the notebook.
    pub(crate) notebook: String,
    /// The task.
    #[serde(flatten)]
    pub(crate) task: WorkerTask,
}

/// Reports about runs: the run, its serial number, and the report.
pub(super) type Tell = Box<dyn Fn(ExecId, u64, WorkerReport) + Send + Sync>;

/// A handle on the courier of one notebook. The courier ends when the handle is dropped.
#[derive(Debug)]
pub struct Courier {
    orders: Sender<Order>,
}

impl Courier {
    /// Sends a run to the workers. `serial` comes back with each report.
    pub fn dispatch(&self, exec_id: ExecId, serial: u64, dispatch: Box<Dispatch>) {
        // The courier runs as long as this handle exists.
        let _ = self.orders.send(Order::Dispatch(exec_id, serial, dispatch));
    }

    /// Notes that a run is over: no worker shall run it, and the store shall keep nothing of it.
    pub fn recall(&self, exec_id: ExecId) {
        let _ = self.orders.send(Order::Recall(exec_id));
    }
}

impl Drop for Courier {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Close);
    }
}

/// The parts of the server that all couriers share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) store: RemoteStore,
    pub(super) key: InstallKey,
    pub(super) bridge: Arc<Bridge>,
    /// Why the store cannot be used at present, for users.
    pub(super) store_problem: Arc<Mutex<Option<Problem>>>,
}

/// A run at the workers.
struct Sent {
    exec_id: ExecId,
    serial: u64,
    parent: Option<String>,
    resources: Resources,
    /// The signed task, until it is in the store.
    unsent: Option<Vec<u8>>,
    /// The attempt whose outputs are shown, and the number of the next piece.
    attempt: Option<(String, u64)>,
    /// Attempts that were seen before.
    earlier: BTreeSet<String>,
    /// What the engine has said about the task's end.
    engine: Engine,
    reads: u32,
    /// Whether the session has got the end. It then recalls the task.
    has_ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Engine {
    Running,
    Ended,
    Failed(String),
}

struct Work {
    shared: Shared,
    notebook: String,
    blobs: PathBuf,
    tell: Tell,
    own: Sender<Order>,
    sent: BTreeMap<String, Sent>,
    /// Tasks that are over, and since when. A worker may still write objects of them.
    over: BTreeMap<String, Instant>,
    /// The blobs that are in the store.
    known: KnownBlobs,
    /// The checkpoints that are in the store as a whole, and when that was made sure.
    pushed: BTreeMap<String, Instant>,
}

/// How long a checkpoint counts as stored without a look. Much shorter than the age at which blobs
/// are removed.
const PUSHED_FOR: Duration = Duration::from_hours(24);

/// Starts the courier of a notebook. `blobs` is the directory of the notebook's blobs.
///
/// # Errors
/// When the system refuses a thread.
pub(super) fn start(
    shared: Shared,
    notebook: String,
    blobs: PathBuf,
    tell: Tell,
) -> std::io::Result<Courier> {
    let (orders, ordered) = channel();
    let work = Work {
        shared,
        notebook,
        blobs,
        tell,
        own: orders.clone(),
        sent: BTreeMap::new(),
        over: BTreeMap::new(),
        known: KnownBlobs::default(),
        pushed: BTreeMap::new(),
    };
    std::thread::Builder::new().name("courier".into()).spawn(move || work.run(&ordered))?;
    Ok(Courier { orders })
}

impl Work {
    fn run(mut self, orders: &Receiver<Order>) {
        let (mut next, mut earliest) = (Instant::now(), Instant::now());
        loop {
            let is_idle = self.sent.is_empty() && self.over.is_empty();
            let now = Instant::now();
            let wait = if is_idle { Duration::from_hours(1) } else { next.saturating_duration_since(now) };
            match orders.recv_timeout(wait) {
                Ok(Order::Close) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(order) => {
                    self.on_order(order);
                    next = next.min(earliest);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if is_idle {
                continue;
            }
            let looked = self.look();
            let pause = if looked.is_ok() { POLL } else { POLL_AFTER_FAILURE };
            self.shared.note_store(looked.err());
            (next, earliest) = (Instant::now() + pause, Instant::now() + SHORTEST_PAUSE);
        }
        self.sent.keys().for_each(|task| self.shared.bridge.forget(task));
    }

    fn on_order(&mut self, order: Order) {
        match order {
            Order::Dispatch(exec_id, serial, dispatch) => self.add(exec_id, serial, *dispatch),
            Order::Recall(exec_id) => self.recall(&exec_id),
            Order::Ended(task) => self.note_engine(&task, Engine::Ended),
            Order::Failed(task, why) => self.note_engine(&task, Engine::Failed(why)),
            // `run` handles it.
            Order::Close => {}
        }
    }

    fn note_engine(&mut self, task: &str, engine: Engine) {
        let Some(sent) = self.sent.get_mut(task) else { return };
        if let (Engine::Failed(_), Some(parent)) = (&engine, &sent.parent) {
            // The worker may have found a blob missing or altered: the next run makes sure.
            self.pushed.remove(parent);
            self.known.clear();
        }
        sent.engine = engine;
    }

    fn add(&mut self, exec_id: ExecId, serial: u64, dispatch: Dispatch) {
        let Dispatch { task, resources } = dispatch;
        let parent = task.parent.as_ref().map(|checkpoint| checkpoint.checkpoint_id.clone());
        let text = TaskText { notebook: self.notebook.clone(), task };
        // Written without errors: all keys of its maps are strings.
        let body = serde_json::to_string(&text).unwrap_or_default();
        let id = Digest::of(body.as_bytes()).to_string();
        let unsent = Some(letter::seal(&self.shared.key, Purpose::Task, body));
        let (attempt, earlier) = (None, BTreeSet::new());
        let engine = Engine::Running;
        self.over.remove(&id);
        self.sent.insert(
            id,
            Sent {
                exec_id,
                serial,
                parent,
                resources,
                unsent,
                attempt,
                earlier,
                engine,
                reads: 0,
                has_ended: false,
            },
        );
    }

    fn recall(&mut self, exec_id: &ExecId) {
        let ids: Vec<String> =
            self.sent.iter().filter(|(_, sent)| sent.exec_id == *exec_id).map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.sent.remove(&id);
            self.shared.bridge.cancel(&id);
            self.over.insert(id, Instant::now());
        }
    }

    fn key(&self, task: &str) -> TaskKey {
        TaskKey { notebook: self.notebook.clone(), task: task.to_owned() }
    }

    /// Looks into the store: removes what is over, takes what has arrived, and sends what waits.
    fn look(&mut self) -> Result<(), Problem> {
        let prefix = TaskKey::prefix(&self.notebook);
        // Removed first: until then, workers run them.
        let over: Vec<String> = self.over.keys().cloned().collect();
        for_each_in_parallel(&over, objects::PARALLEL, |task| {
            self.shared.store.delete(&self.key(task).task())
        })?;
        let mut there: BTreeMap<String, Vec<(Named, String)>> = BTreeMap::new();
        for key in self.shared.store.list(&prefix)? {
            if let Some((task, named)) = parse_key(&prefix, &key) {
                there.entry(task).or_default().push((named, key));
            }
        }
        // Also what an earlier server has left, or a worker that was late.
        let garbage: Vec<&String> = there
            .iter()
            .filter(|(task, _)| !self.sent.contains_key(*task))
            .flat_map(|(_, keys)| keys.iter().map(|(_, key)| key))
            .collect();
        for_each_in_parallel(&garbage, objects::PARALLEL, |key| self.shared.store.delete(key))?;
        self.over.retain(|_, since| since.elapsed() < OVER_FOR);
        self.take(&there)?;
        self.send_waiting(&there)
    }

    /// Takes outputs and results.
    fn take(&mut self, there: &BTreeMap<String, Vec<(Named, String)>>) -> Result<(), Problem> {
        let arrived: Mutex<Vec<(String, Arrived)>> = Mutex::default();
        let all: Vec<(&String, &Sent)> = self.sent.iter().collect();
        for_each_in_parallel(&all, objects::PARALLEL, |(id, sent)| {
            let keys = there.get(*id).map(Vec::as_slice).unwrap_or_default();
            let found = self.read(id, sent, keys)?;
            lock(&arrived).extend(found.map(|found| ((*id).clone(), found)));
            Ok(())
        })?;
        for (id, arrived) in arrived.into_inner().unwrap_or_default() {
            self.report(&id, arrived);
        }
        Ok(())
    }

    /// Reads what has arrived of one task.
    fn read(&self, id: &str, sent: &Sent, keys: &[(Named, String)]) -> Result<Option<Arrived>, Problem> {
        if sent.has_ended {
            return Ok(None);
        }
        if let Some((_, key)) = keys.iter().find(|(named, _)| *named == Named::Result)
            && let Some(object) = self.shared.store.get(key)?
        {
            return Ok(Some(match self.result(id, &object.bytes) {
                Ok(result) => Arrived::Result(Box::new(result)),
                Err(problem) if matches!(problem.kind, Kind::Forbidden | Kind::BadRequest | Kind::Lost) => {
                    Arrived::Failed(refusal(&problem))
                }
                Err(problem) if sent.reads < MAX_READS => Arrived::Later(problem),
                Err(problem) => Arrived::Failed(refusal(&problem)),
            }));
        }
        match &sent.engine {
            Engine::Failed(why) => return Ok(Some(Arrived::Failed(RunError::of(Cause::WorkerFailed, why)))),
            Engine::Ended => {
                let why = "the engine says that the task has ended, but the object store has no result. \
                           Check that workers and server use the same store, and run the cell again";
                return Ok(Some(Arrived::Failed(RunError::of(Cause::WorkerFailed, why))));
            }
            Engine::Running => {}
        }
        let of = |attempt: &str| -> Vec<(u64, &String)> {
            let numbers = keys.iter().filter_map(|(named, key)| match named {
                Named::Output { attempt: of, number } if of == attempt => Some((*number, key)),
                _ => None,
            });
            numbers.collect()
        };
        let attempts: BTreeSet<&str> = keys
            .iter()
            .filter_map(|(named, _)| match named {
                Named::Output { attempt, .. } => Some(attempt.as_str()),
                _ => None,
            })
            .collect();
        let is_new = |attempt: &&str| {
            !sent.earlier.contains(*attempt) && sent.attempt.as_ref().is_none_or(|(own, _)| own != attempt)
        };
        let (attempt, first) = match (attempts.into_iter().find(is_new), &sent.attempt) {
            (Some(new), _) => (new.to_owned(), 0),
            (None, Some((attempt, next))) => (attempt.clone(), *next),
            (None, None) => return Ok(None),
        };
        let mut shown = Vec::new();
        let mut pieces = of(&attempt);
        pieces.sort_unstable();
        for (number, key) in pieces {
            // A gap is filled at the next look: pieces are written in order.
            if number != first + shown.len() as u64 {
                continue;
            }
            let Some(object) = self.shared.store.get(key)? else { break };
            match letter::open::<Shown>(&self.shared.key, Purpose::Output, &object.bytes) {
                Ok((piece, _))
                    if (&*piece.task, &*piece.attempt, piece.number) == (id, &*attempt, number) =>
                {
                    shown.push(piece);
                }
                // Only shown, and the result has all outputs.
                _ => break,
            }
        }
        Ok((!shown.is_empty()).then_some(Arrived::Shown { attempt, shown }))
    }

    /// Checks a result, and fetches the blobs of its state.
    fn result(&self, id: &str, bytes: &[u8]) -> Result<WorkerResult, Problem> {
        let (result, _) = letter::open::<WorkerResult>(&self.shared.key, Purpose::Result, bytes)?;
        if result.task != id {
            let why = "it is the result of another task: someone has copied it";
            let how = "find out who can write to the object store, and run the cell again";
            return Err(Problem::new(Kind::Forbidden, "accept a result", why, how));
        }
        if let Some(state) = &result.state {
            objects::fetch(&self.shared.store, &self.blobs, &state.checkpoint.checkpoint_id, &self.known)?;
        }
        Ok(result)
    }

    fn report(&mut self, id: &str, arrived: Arrived) {
        let Some(sent) = self.sent.get_mut(id) else { return };
        let (exec_id, serial) = (sent.exec_id.clone(), sent.serial);
        match arrived {
            Arrived::Later(problem) => {
                sent.reads += 1;
                self.shared.note_store(Some(problem));
            }
            Arrived::Shown { attempt, shown } => {
                let next = shown.last().map_or(0, |last| last.number + 1);
                if sent.attempt.as_ref().is_none_or(|(own, _)| *own != attempt) {
                    sent.earlier.extend(sent.attempt.take().map(|(own, _)| own));
                    let node = shown.first().map(|first| first.node.clone()).unwrap_or_default();
                    (self.tell)(exec_id.clone(), serial, WorkerReport::Began { node });
                }
                sent.attempt = Some((attempt, next));
                for piece in shown {
                    (self.tell)(exec_id.clone(), serial, WorkerReport::Outputs(piece.change));
                }
            }
            // The session ends the run, and then recalls the task.
            Arrived::Result(result) => self.hand_over(id, WorkerReport::Ended(result)),
            Arrived::Failed(error) => self.hand_over(id, WorkerReport::Failed(error)),
        }
    }

    fn hand_over(&mut self, id: &str, report: WorkerReport) {
        let Some(sent) = self.sent.get_mut(id) else { return };
        sent.has_ended = true;
        let (exec_id, serial) = (sent.exec_id.clone(), sent.serial);
        (self.tell)(exec_id, serial, report);
    }

    /// Sends the tasks that are not in the store yet.
    fn send_waiting(&mut self, there: &BTreeMap<String, Vec<(Named, String)>>) -> Result<(), Problem> {
        let waiting: Vec<String> =
            self.sent.iter().filter(|(_, sent)| sent.unsent.is_some()).map(|(id, _)| id.clone()).collect();
        for id in waiting {
            let has_result =
                there.get(&id).is_some_and(|keys| keys.iter().any(|(named, _)| *named == Named::Result));
            let Some(sent) = self.sent.get(&id) else { continue };
            if let Some(parent) = sent.parent.clone()
                && !has_result
                && self.pushed.get(&parent).is_none_or(|at| at.elapsed() > PUSHED_FOR)
            {
                if self.pushed.contains_key(&parent) {
                    self.known.clear();
                }
                match objects::push(&self.shared.store, &self.blobs, &parent, &self.known) {
                    Ok(_) => drop(self.pushed.insert(parent, Instant::now())),
                    Err(problem) if problem.kind == Kind::Lost => {
                        self.hand_over(&id, WorkerReport::Failed(refusal(&problem)));
                        continue;
                    }
                    Err(problem) => return Err(problem),
                }
            }
            let key = self.key(&id);
            let Some(sent) = self.sent.get_mut(&id) else { continue };
            if let Some(letter) = &sent.unsent {
                self.shared.store.put(&key.task(), letter)?;
            }
            sent.unsent = None;
            // The result may be there already: the server was stopped while the task ran.
            if !has_result {
                self.shared.bridge.submit(key, sent.resources.clone(), self.own.clone());
            }
        }
        Ok(())
    }
}

/// What was read of a task.
enum Arrived {
    Shown {
        attempt: String,
        shown: Vec<Shown>,
    },
    Result(Box<WorkerResult>),
    Failed(RunError),
    /// The result is there, but its state cannot be read yet.
    Later(Problem),
}

impl Shared {
    /// Notes whether the store can be used.
    fn note_store(&self, problem: Option<Problem>) {
        *lock(&self.store_problem) = problem;
    }
}

fn refusal(problem: &Problem) -> RunError {
    RunError::of(Cause::WorkerRefused, problem.with_way_out())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
