//! The agent: what an ordinary Ratoon does on the node of a worker. `ratoon_worker.run` starts one
//! for each user, environment and object store, and hands it tasks.
//!
//! The agent fetches the blobs of a state that it lacks, once, and adds the state to a notebook of
//! its own. Each task is a run against that state, so it begins by a fork of the state's frozen
//! process. The agent then stores the blobs of the new state, and the signed result last. It keeps
//! nothing of a task that is over, except blobs, which later tasks may need.

use crate::blobs::Digest;
use crate::notebook::{
    Base, Cause, Checkpoint, Command, Ended, ExecId, Form, Output, OutputChange, Reply, RunError, RunSpec,
    RunStatus, StateId, StateRef, WorkerResult, WorkerState, WorkerTask,
};
use crate::problem::{Kind, Problem};
use crate::remote::RemoteStore;
use crate::session::{Adopted, Permitted, Scope, Session, Sessions};
use crate::store::InstallKey;
use crate::workers::TaskText;
use crate::workers::letter::{self, Purpose};
use crate::workers::objects::{self, KnownBlobs, Shown, TaskKey};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::watch;

/// How often what a run has shown is stored.
const SHOW_EVERY: Duration = Duration::from_millis(500);
/// How often the agent checks whether a task is still wanted.
const CHECK_EVERY: Duration = Duration::from_secs(2);
/// How long the agent waits for the object store before it gives a task back to the engine.
const STORE_PATIENCE: Duration = Duration::from_secs(600);
/// The pause between two attempts.
const STORE_PAUSE: Duration = Duration::from_secs(2);
/// Maximum size of the outputs in a result, in bytes. An object has at most 64 MiB.
const MAX_OUTPUT_BYTES: usize = 40 << 20;

/// How a task has ended for the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// The result is in the object store.
    Stored,
    /// The task is over: its run has ended otherwise.
    Withdrawn,
    /// The agent does not run the task, and no other attempt would.
    Refused(Problem),
    /// The agent could not complete the task. Another attempt may.
    Failed(Problem),
}

/// Runs tasks. A clone refers to the same agent.
#[derive(Clone, Debug)]
pub struct Agent {
    inner: Arc<Inner>,
}

struct Inner {
    sessions: Sessions,
    store: RemoteStore,
    key: InstallKey,
    runtime: Handle,
    node: String,
    /// The tasks that run, by their ids. A task that is delivered twice runs once.
    running: Mutex<BTreeMap<String, watch::Receiver<Option<TaskEnd>>>>,
    /// When the last task ended.
    idle_since: Mutex<Instant>,
    /// The states that were added, by notebook and manifest. Locked while one is fetched, so that
    /// it is fetched once.
    states: Mutex<BTreeMap<(String, String), Arc<AddedState>>>,
    /// The blobs that are in the object store.
    known: KnownBlobs,
}

/// A state of the agent's notebook; none while it is being fetched.
type AddedState = Mutex<Option<StateId>>;

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("node", &self.node).finish_non_exhaustive()
    }
}

impl Agent {
    /// An agent whose notebooks are those of `sessions`. Must be called inside the runtime.
    pub fn new(sessions: Sessions, store: RemoteStore, key: InstallKey, node: String) -> Self {
        let (running, states, known) = Default::default();
        let (runtime, idle_since) = (Handle::current(), Mutex::new(Instant::now()));
        Self {
            inner: Arc::new(Inner {
                sessions,
                store,
                key,
                runtime,
                node,
                running,
                idle_since,
                states,
                known,
            }),
        }
    }

    /// Waits until no task has run for this long.
    pub async fn is_idle_for(&self, time: Duration) {
        loop {
            let since = *lock(&self.inner.idle_since);
            let is_busy = !lock(&self.inner.running).is_empty();
            let left = time.saturating_sub(since.elapsed());
            match is_busy {
                false if left.is_zero() => return,
                true => tokio::time::sleep(time).await,
                false => tokio::time::sleep(left).await,
            }
        }
    }

    /// Runs a task. If it runs already, waits for that.
    pub async fn run(&self, notebook: String, task: String) -> TaskEnd {
        let key = match TaskKey::checked(notebook, task) {
            Ok(key) => key,
            Err(problem) => return TaskEnd::Refused(problem),
        };
        let mut ended = match self.begin(key) {
            Ok(ended) => ended,
            Err(problem) => return TaskEnd::Failed(problem),
        };
        let end = ended.wait_for(Option::is_some).await.ok().and_then(|end| end.clone());
        end.unwrap_or_else(|| TaskEnd::Failed(Problem::internal("a part of the agent failed")))
    }

    fn begin(&self, key: TaskKey) -> Result<watch::Receiver<Option<TaskEnd>>, Problem> {
        let mut running = lock(&self.inner.running);
        if let Some(ended) = running.get(&key.task) {
            return Ok(ended.clone());
        }
        let (end, ended) = watch::channel(None);
        let (agent, task) = (self.clone(), key.task.clone());
        let work = move || {
            let over = Over { agent: agent.clone(), task: key.task.clone() };
            let how = agent.inner.complete(&key).err().unwrap_or(TaskEnd::Stored);
            drop(over);
            // The send fails if nobody waits any more.
            let _ = end.send(Some(how));
        };
        std::thread::Builder::new().name("task".into()).spawn(work).map_err(|error| {
            let how = "allow more processes on this node (`ulimit -u`)";
            Problem::new(Kind::Busy, "run a task", error.to_string(), how)
        })?;
        running.insert(task, ended.clone());
        Ok(ended)
    }
}

/// Notes the end of a task, also if its thread panics.
struct Over {
    agent: Agent,
    task: String,
}

impl Drop for Over {
    fn drop(&mut self) {
        *lock(&self.agent.inner.idle_since) = Instant::now();
        lock(&self.agent.inner.running).remove(&self.task);
    }
}

impl From<Problem> for TaskEnd {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl Inner {
    /// Runs a task and stores its result. The error is any other end.
    fn complete(&self, key: &TaskKey) -> Result<(), TaskEnd> {
        let Some(object) = patiently(|| self.store.get(&key.task()))? else { return Err(TaskEnd::Withdrawn) };
        if patiently(|| self.store.age(&key.result()))?.is_some() {
            return Ok(());
        }
        let (text, body) =
            letter::open::<TaskText>(&self.key, Purpose::Task, &object.bytes).map_err(TaskEnd::Refused)?;
        let is_at_its_place =
            text.notebook == key.notebook && Digest::of(body.as_bytes()).to_string() == key.task;
        if !is_at_its_place {
            let (why, how) = ("it is another task: someone has copied it", "run the cell again");
            return Err(TaskEnd::Refused(Problem::new(Kind::Forbidden, "run a task", why, how)));
        }
        self.check_python(&text.task)?;
        // The agent's notebook for the tasks of a notebook has the other one's id as its name.
        let session = self.sessions.open(&key.notebook)?;
        let (state, fetched_bytes) = match &text.task.parent {
            None => (StateId::root(), 0),
            Some(parent) => self.state(&session, &key.notebook, parent)?,
        };
        self.run(key, &session, text.task, state, fetched_bytes)
    }

    fn check_python(&self, task: &WorkerTask) -> Result<(), TaskEnd> {
        let version = self.sessions.pythons().default().version;
        let (major, minor) = version.series();
        if task.python == format!("{major}.{minor}") {
            return Ok(());
        }
        let why = format!(
            "the notebook has Python {}, and the worker {} has Python {version}: it cannot load the state",
            task.python, self.node
        );
        let how = format!("give the workers Python {}, or the notebook Python {major}.{minor}", task.python);
        Err(TaskEnd::Refused(Problem::new(Kind::Conflict, "run a task", why, how)))
    }

    /// The state with this checkpoint, and how many bytes were fetched for it.
    fn state(
        &self,
        session: &Session,
        notebook: &str,
        parent: &Checkpoint,
    ) -> Result<(StateId, u64), TaskEnd> {
        let manifest = parent.checkpoint_id.clone();
        let place = lock(&self.states).entry((notebook.to_owned(), manifest.clone())).or_default().clone();
        let mut place = lock(&place);
        if let Some(state) = &*place {
            return Ok((state.clone(), 0));
        }
        let blobs = session.files().blobs.clone();
        let fetched = patiently(|| objects::fetch(&self.store, &blobs, &manifest, &self.known));
        let fetched = fetched.map_err(|problem| match problem.kind {
            Kind::Lost | Kind::NotFound => TaskEnd::Refused(problem),
            _ => TaskEnd::Failed(problem),
        })?;
        // The signature of the task covers the digest of the manifest.
        let checkpoint = Checkpoint { is_trusted: true, ..parent.clone() };
        let adopted = Adopted { code: String::new(), outputs: Vec::new(), label: None, checkpoint };
        match self.runtime.block_on(session.adopt(adopted)) {
            Reply::Ended(Ended { state: Some(state), .. }) => {
                *place = Some(state.clone());
                Ok((state, fetched))
            }
            Reply::Refused(problem) => Err(TaskEnd::Failed(problem)),
            _ => Err(TaskEnd::Failed(Problem::internal("the state was not added"))),
        }
    }

    fn run(
        &self,
        key: &TaskKey,
        session: &Session,
        task: WorkerTask,
        state: StateId,
        fetched_bytes: u64,
    ) -> Result<(), TaskEnd> {
        let attempt = uuid::Uuid::new_v4().simple().to_string();
        let exec_id = ExecId::new(attempt.clone());
        let metric = task.metric.clone();
        let spec = RunSpec {
            timeout: task.timeout,
            run_memory: task.run_memory,
            on_error: task.on_error,
            metric: task.metric,
            threads: task.threads,
            ..RunSpec::new(exec_id.clone(), task.code, Base::State(state))
        };
        let mut live = Live::new(self, key, attempt);
        let ended = self.runtime.block_on(self.watch(session, spec, &mut live));
        let done = ended.and_then(|ended| {
            if live.is_withdrawn {
                return Err(TaskEnd::Withdrawn);
            }
            let result = self.result(key, session, ended, metric.is_some(), fetched_bytes)?;
            let body =
                serde_json::to_string(&result).map_err(|_| Problem::internal("the result is no JSON"))?;
            let letter = letter::seal(&self.key, Purpose::Result, body);
            // Written only for a task that is still wanted: nothing would remove it otherwise.
            if patiently(|| self.store.age(&key.task()))?.is_none() {
                return Err(TaskEnd::Withdrawn);
            }
            Ok(patiently(|| self.store.put(&key.result(), &letter))?)
        });
        self.forget(session, &exec_id);
        done
    }

    /// Waits for the end of a run. Stores what it shows, and interrupts it when the task is gone.
    async fn watch(&self, session: &Session, spec: RunSpec, live: &mut Live<'_>) -> Result<Ended, TaskEnd> {
        let exec_id = spec.exec_id.clone();
        let asked = ask(session, Command::Run(spec));
        tokio::pin!(asked);
        let mut checked = Instant::now();
        live.show(Vec::new());
        loop {
            match tokio::time::timeout(SHOW_EVERY, &mut asked).await {
                Ok(Reply::Ended(ended)) => return Ok(ended),
                Ok(Reply::Refused(problem)) => return Err(TaskEnd::Failed(problem)),
                Ok(_) => return Err(TaskEnd::Failed(Problem::internal("the run has no end"))),
                Err(_) => {}
            }
            let run = exec_id.clone();
            let outputs =
                session.read(move |notebook| notebook.run(&run).map(|run| run.outputs.items().to_vec()));
            // This thread has nothing else to do, so it may wait for the store.
            live.show(outputs.await.ok().flatten().unwrap_or_default());
            if checked.elapsed() >= CHECK_EVERY {
                checked = Instant::now();
                // While the store does not answer, the run goes on.
                live.is_withdrawn |= matches!(self.store.age(&live.key.task()), Ok(None));
                if live.is_withdrawn {
                    // A second interrupt kills the process.
                    ask(session, Command::Interrupt { exec_id: exec_id.clone() }).await;
                }
            }
        }
    }

    /// The result of a run that has ended. Stores the blobs of its state first.
    fn result(
        &self,
        key: &TaskKey,
        session: &Session,
        ended: Ended,
        has_metric: bool,
        fetched_bytes: u64,
    ) -> Result<WorkerResult, TaskEnd> {
        let run = ended.exec_id.clone();
        let read = session.read(move |notebook| {
            let run = notebook.run(&run)?;
            let state = run.state.as_ref().and_then(|id| notebook.state(id));
            Some((run.clone(), state.cloned()))
        });
        let found = self.runtime.block_on(read)?;
        let (run, state) = found.ok_or_else(|| Problem::internal("the run is gone"))?;
        let (mut left, mut pushed_bytes) = (None, 0);
        let mut error = run.error;
        let mut status = run.status;
        if let Some(state) = state {
            let save = Command::Checkpoint {
                state: StateRef::Id(state.id.clone()),
                form: Form::Environment,
                label: None,
                metadata: serde_json::Map::new(),
            };
            match self.runtime.block_on(ask(session, save)) {
                Reply::Checkpointed { checkpoint } => {
                    let blobs = &session.files().blobs;
                    let push = || objects::push(&self.store, blobs, &checkpoint.checkpoint_id, &self.known);
                    pushed_bytes = patiently(push)?;
                    let (exec_count, warnings, forks) = (state.exec_count, state.warnings, state.forks);
                    left = Some(WorkerState { checkpoint: *checkpoint, exec_count, warnings, forks });
                }
                Reply::Refused(problem) => {
                    let why =
                        format!("the state of the cell could not be saved at its worker: {}", problem.why);
                    (status, error) = (RunStatus::Error, Some(RunError::of(Cause::StateNotKept, why)));
                }
                _ => return Err(TaskEnd::Failed(Problem::internal("the state was not saved"))),
            }
        }
        let outputs: Vec<Output> = if run.outputs.kept_bytes() > MAX_OUTPUT_BYTES {
            let note = "[ratoon: the outputs were too large to come back from the worker]\n";
            vec![Output::stream(crate::notebook::StreamName::Stderr, note)]
        } else {
            run.outputs.items().to_vec()
        };
        Ok(WorkerResult {
            task: key.task.clone(),
            node: self.node.clone(),
            status,
            error,
            outputs,
            metric: run.metric.filter(|_| has_metric),
            duration_ms: run.duration_ms,
            state: left,
            fetched_bytes,
            pushed_bytes,
        })
    }

    /// Removes a run and its state from the agent's notebook.
    fn forget(&self, session: &Session, exec_id: &ExecId) {
        let run = exec_id.clone();
        let state = session.read(move |notebook| notebook.run(&run).and_then(|run| run.state.clone()));
        let remove = async {
            match state.await.ok().flatten() {
                Some(state) => {
                    ask(session, Command::DeleteState { state: StateRef::Id(state), subtree: true }).await
                }
                None => ask(session, Command::DropAttempt { exec_id: exec_id.clone() }).await,
            };
            ask(session, Command::EmptyTrash).await
        };
        // Fails if the agent is being stopped, and then nothing is left either.
        let _ = self.runtime.block_on(remove);
    }
}

/// Sends a command of the agent itself to its notebook.
async fn ask(session: &Session, command: Command) -> Reply {
    match Permitted::check(Scope::Owner, command) {
        Ok(permitted) => session.ask(permitted).await.unwrap_or_else(Reply::Refused),
        Err(refused) => Reply::Refused(refused),
    }
}

/// What a run has shown so far in the object store.
struct Live<'a> {
    agent: &'a Inner,
    key: &'a TaskKey,
    attempt: String,
    stored: Vec<Output>,
    next: u64,
    is_withdrawn: bool,
}

impl<'a> Live<'a> {
    fn new(agent: &'a Inner, key: &'a TaskKey, attempt: String) -> Self {
        Self { agent, key, attempt, stored: Vec::new(), next: 0, is_withdrawn: false }
    }

    /// Stores what is new. A failure is made up for next time, and by the result.
    fn show(&mut self, outputs: Vec<Output>) {
        let change = OutputChange::between(&self.stored, &outputs);
        if change.is_none() && self.next > 0 {
            return;
        }
        let (agent, key) = (self.agent, self.key);
        let piece = Shown {
            task: key.task.clone(),
            attempt: self.attempt.clone(),
            number: self.next,
            node: agent.node.clone(),
            change: change.unwrap_or_default(),
        };
        let Ok(body) = serde_json::to_string(&piece) else { return };
        let letter = letter::seal(&agent.key, Purpose::Output, body);
        if agent.store.put(&key.output(&self.attempt, self.next), &letter).is_ok() {
            self.next += 1;
            self.stored = outputs;
        }
    }
}

/// Does something with the object store, again and again while it does not answer.
fn patiently<T>(work: impl Fn() -> Result<T, Problem>) -> Result<T, Problem> {
    let began = Instant::now();
    loop {
        match work() {
            Err(problem) if problem.kind == Kind::Store && began.elapsed() < STORE_PATIENCE => {
                std::thread::sleep(STORE_PAUSE);
            }
            other => return other,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
