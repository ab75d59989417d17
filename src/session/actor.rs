//! The loop that owns one notebook. It passes inputs to the machine and carries out the effects
//! that the machine returns.
//!
//! Client requests and process reports have separate inboxes. Requests are handled first, so an
//! interrupt never waits behind a flood of output. Both inboxes are bounded: senders wait while an
//! inbox is full.

use super::event_log::EventLog;
use super::handle::{Ask, OnReply};
use super::machine::{Alarm, Budget, Effect, Input, Killed, Machine, RunMemory, Serial, Ticket};
use super::offsite::{OffsiteNews, OffsiteThread};
use super::system_memory::Footprint;
use super::{NotebookConfig, NotebookFiles, Session, system_memory};
use crate::allocator;
use crate::blocking_pool::BlockingPool;
use crate::clock::now_ms;
use crate::kernel::{self, Exit, Heard, Launch, MemoryUse, ProcId, ProcessEvent, Pythons, ReadyPython, Tree};
use crate::notebook::{
    Cause, DiskStatus, Dispatch, Ended, Event, ExecId, Fact, Live, Notebook, OffsiteStatus, Python, Reply,
    RunError, StateId, WorkerReport,
};
use crate::problem::{Kind, Problem};
use crate::store::{self, Attachments, NewCheckpoint, Opened, Store};
use crate::workers::Courier;
use futures_util::FutureExt;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::Instrument;

/// Maximum number of process reports in the inbox. Each report has at most 256 KiB of text, so a
/// flood of output neither delays other reports for long nor fills the server's memory.
const REPORTS: usize = 16;
/// How long the actor waits for killed processes to exit when the notebook is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// How long the actor may continue to write checkpoints when the notebook is closed.
const SAVE_TIMEOUT: Duration = Duration::from_millis(2000);
/// While the Python is checked, a late process is not examined. This is the time until the next
/// attempt.
const CHECK_PAUSE: Duration = Duration::from_secs(10);
/// When a run with outputs larger than this number of bytes ends, freed memory is returned to the
/// operating system.
const MANY_BYTES: usize = 1024 * 1024;
/// Limit of bytes that wait to be written to disk. Above it, the server stops reading the output of
/// cells, so that cells that print have to wait.
const MAX_UNSAVED_BYTES: usize = 8 * 1024 * 1024;

/// A step of the machine that takes longer is logged.
const SLOW_STEP: Duration = Duration::from_millis(100);

/// The parameters for opening a notebook, and for opening it again after a panic.
pub(super) struct OpenRequest {
    pub(super) name: String,
    pub(super) dir: PathBuf,
    pub(super) launch: Arc<Launch>,
    pub(super) pythons: Arc<Pythons>,
    pub(super) config: Arc<NotebookConfig>,
    pub(super) threads: BlockingPool,
}

/// A notebook that was read from disk, and the channel for events of its store.
type ReadNotebook = (Opened, mpsc::UnboundedReceiver<store::StoreEvent>);

impl OpenRequest {
    /// Opens the notebook and starts its actor.
    ///
    /// # Errors
    /// `Problem` when the notebook's files cannot be used.
    pub(super) fn open(self, runtime: &Handle) -> Result<Session, Problem> {
        let (asks, asked) = mpsc::unbounded_channel();
        let (mut opened, told) = self.read()?;
        let credentials = std::mem::take(&mut opened.credentials);
        let attachments = Attachments::in_notebook(&self.dir);
        let home = NotebookFiles { blobs: opened.store.blobs(), attachments, credentials };
        let session = Session::new(&self.name, home, asks, self.threads.clone());
        let span = tracing::error_span!("notebook", name = self.name);
        runtime.spawn(Arc::new(self).serve(asked, (opened, told)).instrument(span));
        Ok(session)
    }

    fn read(&self) -> Result<ReadNotebook, Problem> {
        let (tell, told) = mpsc::unbounded_channel();
        // The send fails if the actor has ended.
        let tell = move |event| drop(tell.send(event));
        Ok((Store::open(&self.dir, &self.name, &self.config.key, tell)?, told))
    }

    /// Runs the notebook until it is closed. A panic is a bug in the server. After a panic, the
    /// processes are ended and the store is closed; the next request opens the notebook again from
    /// disk.
    async fn serve(self: Arc<Self>, mut asked: mpsc::UnboundedReceiver<Ask>, found: ReadNotebook) {
        let mut next = Some((found, None));
        while let Some((found, first)) = next.take() {
            tracing::info!("opened");
            let (mut actor, mut inboxes) = self.start(found);
            let end = AssertUnwindSafe(actor.run(first, &mut asked, &mut inboxes)).catch_unwind().await;
            let ended = AssertUnwindSafe(actor.end(inboxes)).catch_unwind().await;
            match (end, ended) {
                (Ok(closed), _) => {
                    tracing::info!("closed");
                    // The send fails if the requester no longer waits.
                    closed.map(|done| done.send(()));
                    return;
                }
                (Err(_), _) => {
                    tracing::error!("its task panicked; the next request opens it again from disk");
                    next = self.open_again(&mut asked).await;
                }
            }
        }
    }

    /// Waits for a request and opens the notebook for it. If the notebook cannot be opened, the
    /// request fails with the error of a closed notebook, and the function waits for the next
    /// request. Returns `None` when the request is to close the notebook.
    async fn open_again(
        self: &Arc<Self>,
        asked: &mut mpsc::UnboundedReceiver<Ask>,
    ) -> Option<(ReadNotebook, Option<Ask>)> {
        loop {
            match asked.recv().await? {
                Ask::Close(done) => {
                    // The send fails if the requester no longer waits.
                    let _ = done.send(());
                    return None;
                }
                Ask::Left(_) => {}
                first => {
                    let request = Arc::clone(self);
                    if let Ok(Ok(found)) = self.threads.run(move || request.read()).await {
                        return Some((found, Some(first)));
                    }
                }
            }
        }
    }

    fn start(&self, (opened, told): ReadNotebook) -> (Actor, Inboxes) {
        let (reports, heard) = mpsc::channel(REPORTS);
        let (measures, measured) = mpsc::channel(1);
        // Unbounded, but it holds at most one message for each run.
        let (run_measures, run_measured) = mpsc::unbounded_channel();
        // Unbounded, but the courier sends a few messages for each look into the object store.
        let (worker_reports, worker_reported) = mpsc::unbounded_channel();
        // Unbounded, but it holds at most one message, because only one check runs at a time.
        let (python_checks, python_checked) = mpsc::unbounded_channel();
        let new_id = Box::new(|| uuid::Uuid::new_v4().simple().to_string());
        let mut notebook = Notebook::from_parts(opened.parts, now_ms());
        let python = PythonInUse::of(&mut notebook, &self.pythons);
        let NotebookConfig { budget, saves, .. } = *self.config;
        let budget = Budget { workers: self.config.workers.is_some(), ..budget };
        let (offsite, offsite_news) = match self.config.remote.clone() {
            Some(remote) => {
                let key = self.config.key.clone();
                let (thread, news) = OffsiteThread::start(remote, self.dir.clone(), self.name.clone(), key);
                (Some(thread), Some(news))
            }
            None => (None, None),
        };
        let actor = Actor {
            machine: Machine::new(notebook, new_id, budget, saves),
            tree: Tree::new(self.launch.clone(), opened.store.blobs(), reports),
            log: EventLog::new(),
            store: opened.store,
            offsite,
            threads: self.threads.clone(),
            unsaved: Unsaved::default(),
            waiting: HashMap::new(),
            last_ticket: 0,
            alarms: BTreeMap::new(),
            last_alarm: 0,
            measures,
            run_measures,
            courier: None,
            worker_reports,
            config: self.config.clone(),
            python,
            pythons: self.pythons.clone(),
            python_checks,
            out_of_memory_kills: system_memory::out_of_memory_kills(),
        };
        let inboxes = Inboxes {
            reports: heard,
            store_events: told,
            memory: measured,
            run_memory: run_measured,
            worker_reports: worker_reported,
            python_checks: python_checked,
            offsite: offsite_news,
        };
        (actor, inboxes)
    }
}

struct Actor {
    machine: Machine,
    tree: Tree,
    log: EventLog,
    store: Store,
    /// None if the server has no store off this machine.
    offsite: Option<OffsiteThread>,
    threads: BlockingPool,
    unsaved: Unsaved,
    waiting: HashMap<Ticket, OnReply>,
    last_ticket: u64,
    alarms: BTreeMap<(Instant, u64), Alarm>,
    last_alarm: u64,
    measures: mpsc::Sender<Measured>,
    run_measures: mpsc::UnboundedSender<Input>,
    /// Sends runs to the workers. Made for the first such run.
    courier: Option<Courier>,
    worker_reports: mpsc::UnboundedSender<Input>,
    config: Arc<NotebookConfig>,
    python: PythonInUse,
    pythons: Arc<Pythons>,
    python_checks: mpsc::UnboundedSender<PythonCheck>,
    /// How many processes Linux had killed for lack of memory at the last measurement.
    out_of_memory_kills: Option<u64>,
}

/// The Python with which root processes of the notebook are started.
enum PythonInUse {
    Ready(Box<ReadyPython>),
    /// The Python must be checked before the root starts: the notebook chose it, maybe long ago, or
    /// its file or its support directory no longer exists.
    Unchecked(PathBuf),
    /// The Python is being checked. The effects wait until the root process can be started.
    Checked(PathBuf, Vec<Effect>),
}

/// The path of a Python, and the result of the check.
type PythonCheck = (PathBuf, Result<ReadyPython, Problem>);

impl PythonInUse {
    /// The Python that the notebook has chosen. If it has chosen none, the server's default, which
    /// is then set in the notebook.
    fn of(notebook: &mut Notebook, pythons: &Pythons) -> Self {
        if notebook.python().is_chosen {
            return Self::Unchecked(notebook.python().path.clone().into());
        }
        let default = pythons.default();
        let (path, version) = (default.executable.display().to_string(), default.version.to_string());
        notebook.set_python(Python { path, version, is_chosen: false, problem: None });
        Self::Ready(Box::new(default.clone()))
    }

    /// The path of the Python if it must be checked before it is started.
    fn to_be_checked(&self) -> Option<PathBuf> {
        match self {
            Self::Ready(python) if python.is_there() => None,
            Self::Ready(python) => Some(python.executable.clone()),
            Self::Unchecked(path) => Some(path.clone()),
            Self::Checked(..) => None,
        }
    }
}

/// The memory of processes; the computer's available memory, in bytes; and how many processes Linux
/// has killed for lack of memory.
type Measured = (Vec<(ProcId, Footprint)>, Option<u64>, Option<u64>);

/// The inputs of the actor, except client requests.
struct Inboxes {
    reports: mpsc::Receiver<(ProcId, Heard)>,
    store_events: mpsc::UnboundedReceiver<store::StoreEvent>,
    memory: mpsc::Receiver<Measured>,
    run_memory: mpsc::UnboundedReceiver<Input>,
    worker_reports: mpsc::UnboundedReceiver<Input>,
    python_checks: mpsc::UnboundedReceiver<PythonCheck>,
    offsite: Option<mpsc::UnboundedReceiver<OffsiteNews>>,
}

/// Facts that are not on disk yet, and the answers that wait for them.
#[derive(Default)]
struct Unsaved {
    /// Each answer waits until the fact with its number is on disk.
    answers: VecDeque<(u64, OnReply, Reply)>,
    states: VecDeque<(u64, StateId)>,
    /// The number of the last fact that was passed to the store.
    given: u64,
    /// The number of the last fact that is on disk.
    saved: u64,
    /// How many facts of the current step are not yet passed to the store. All facts of a step are
    /// written to the disk together.
    coming: usize,
    /// Whether the store's thread has died. If so, nothing more is written.
    is_store_dead: bool,
    /// After a disk failure, the number of the last fact in the rewritten notebook. When it is on
    /// disk, the disk failure is over.
    rewritten: u64,
}

impl Unsaved {
    /// Notes that all facts up to a number are on disk, and sends the answers that waited for these
    /// facts. Returns the states that the facts added.
    fn note_saved(&mut self, up_to: u64, notebook: &Notebook) -> Vec<StateId> {
        self.saved = self.saved.max(up_to);
        let saved = self.answers.partition_point(|(number, ..)| *number <= up_to);
        for (_, waiting, reply) in self.answers.drain(..saved) {
            waiting(notebook, reply);
        }
        let saved = self.states.partition_point(|(number, _)| *number <= up_to);
        self.states.drain(..saved).map(|(_, state)| state).collect()
    }
}

/// The refusal for a command that was carried out but could not be saved.
fn not_on_disk(reply: &Reply, trouble: &DiskStatus) -> Reply {
    let what = match reply {
        Reply::Ended(Ended { exec_id, .. }) => format!("save the end of run {exec_id}"),
        _ => "save the change".into(),
    };
    let how =
        format!("{}; the change is in memory, and is saved when the disk accepts writes again", trouble.how);
    Reply::Refused(Problem::new(Kind::Disk, what, trouble.why.clone(), how))
}

impl Actor {
    /// Handles requests and events until the notebook is to be closed. Then saves the remaining
    /// states, for a limited time. Returns the sender that reports the end to the requester.
    async fn run(
        &mut self,
        first: Option<Ask>,
        asked: &mut mpsc::UnboundedReceiver<Ask>,
        inboxes: &mut Inboxes,
    ) -> Option<oneshot::Sender<()>> {
        self.feed(Input::Opened);
        if self.offsite.is_some() {
            self.feed(Input::Offsite(OffsiteStatus::default()));
        }
        first.into_iter().for_each(|ask| self.on_ask(ask));
        let closed = loop {
            tokio::select! {
                biased;
                ask = asked.recv() => match ask {
                    Some(Ask::Close(done)) => break Some(done),
                    Some(Ask::UsePython(python, is_chosen, answer)) => {
                        self.use_python(python, is_chosen, answer, inboxes).await;
                    }
                    Some(ask) => self.on_ask(ask),
                    None => break None,
                },
                () = self.next_event(inboxes) => {}
            }
        };
        self.feed(Input::Closing);
        self.save_the_rest(inboxes).await;
        closed
    }

    /// Handles events until all states are saved, at most for `SAVE_TIMEOUT`.
    async fn save_the_rest(&mut self, inboxes: &mut Inboxes) {
        let deadline = Instant::now() + SAVE_TIMEOUT;
        while !self.machine.is_all_saved() {
            if timeout_at(deadline, self.next_event(inboxes)).await.is_err() {
                break;
            }
        }
    }

    /// Saves the notebook's states and restarts its processes in another Python. Requests wait
    /// meanwhile, so no cell can begin.
    async fn use_python(
        &mut self,
        python: Box<ReadyPython>,
        is_chosen: bool,
        answer: oneshot::Sender<Reply>,
        inboxes: &mut Inboxes,
    ) {
        if !self.machine.is_busy() {
            self.feed(Input::SaveNow(true));
            self.save_the_rest(inboxes).await;
            self.feed(Input::SaveNow(false));
        }
        let ticket = self.ticket(Box::new(move |_, reply| drop(answer.send(reply))));
        self.feed(Input::ChangePython(ticket, python, is_chosen));
    }

    /// Waits for one event other than a client request, and handles it.
    async fn next_event(&mut self, inboxes: &mut Inboxes) {
        let Inboxes { reports, store_events, memory, run_memory, worker_reports, python_checks, offsite } =
            inboxes;
        let offsite = async {
            match offsite {
                Some(news) => news.recv().await,
                None => std::future::pending().await,
            }
        };
        let next_alarm = self.alarms.keys().next().copied();
        let alarm = async {
            match next_alarm {
                Some((at, _)) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        // While the disk is slower than the output of cells, reports are not read, so cells that
        // print have to wait. If the disk fails, the notebook continues in memory.
        let has_room = self.store.backlog_bytes() < MAX_UNSAVED_BYTES;
        tokio::select! {
            biased;
            event = store_events.recv(), if !self.unsaved.is_store_dead => match event {
                Some(event) => self.on_store_event(event),
                None => self.on_store_death(),
            },
            () = alarm => self.on_alarm(),
            Some(input) = run_memory.recv() => self.feed(input),
            Some(input) = worker_reports.recv(), if has_room => self.feed(input),
            Some(checked) = python_checks.recv() => self.on_python_checked(checked),
            Some(news) = offsite => self.feed(match news {
                OffsiteNews::Status(status) => Input::Offsite(status),
                OffsiteNews::TakenOver(ticket, done) => Input::TakenOver(ticket, done),
            }),
            Some((processes, available, kills)) = memory.recv() => {
                self.out_of_memory_kills = kills;
                self.feed(Input::Measured(processes, available));
            }
            Some((process, what)) = reports.recv(), if has_room => self.on_heard(process, what),
        }
    }

    /// Ends all processes and closes the store, even after a panic of the machine.
    async fn end(mut self, mut inboxes: Inboxes) {
        self.tree.end_cells();
        self.tree.kill_all();
        let all_gone = async {
            while !self.tree.is_empty()
                && let Some((process, what)) = inboxes.reports.recv().await
            {
                self.tree.note(process, what);
            }
        };
        // After the timeout, the lifeline ends the remaining processes.
        let _ = timeout(CLOSE_TIMEOUT, all_gone).await;
        let (store, offsite) = (self.store, self.offsite.take());
        // Writes the facts that are not on disk yet. If this panics, nothing more can be done.
        let _ = self.threads.run(move || store.close()).await;
        if let Some(offsite) = offsite {
            offsite.close().await;
        }
        allocator::give_small_blocks_back_soon();
        while let Ok(event) = inboxes.store_events.try_recv() {
            if let store::StoreEvent::Saved { up_to } = event {
                self.unsaved.note_saved(up_to, self.machine.notebook());
            }
        }
    }

    /// Notes that the disk has failed, and refuses the commands whose answers wait for the disk.
    fn on_disk_failure(&mut self, trouble: DiskStatus) {
        tracing::warn!(what = trouble.what, why = trouble.why, "the disk fails");
        self.feed(Input::Trouble(Some(trouble.clone())));
        for (_, waiting, reply) in self.unsaved.answers.drain(..) {
            waiting(self.machine.notebook(), not_on_disk(&reply, &trouble));
        }
        self.unsaved.rewritten = u64::MAX;
    }

    /// Handles the death of the store's thread, which is a bug in the server.
    fn on_store_death(&mut self) {
        self.unsaved.is_store_dead = true;
        self.on_disk_failure(DiskStatus {
            what: "write to disk".into(),
            why: "the thread that writes to disk has stopped".into(),
            how: "start the server again, and report it".into(),
        });
    }

    /// Handles an event of the store.
    fn on_store_event(&mut self, event: store::StoreEvent) {
        if let Some(offsite) = &self.offsite {
            offsite.changed();
        }
        match event {
            store::StoreEvent::Saved { up_to } => {
                let states = self.unsaved.note_saved(up_to, self.machine.notebook());
                if up_to >= self.unsaved.rewritten && self.machine.notebook().disk_status().is_some() {
                    tracing::warn!("the disk works again, and all is saved");
                    self.feed(Input::Trouble(None));
                }
                for state in states {
                    self.log.publish(&Live::StateSaved { state }.into());
                }
            }
            store::StoreEvent::Failed { trouble } => self.on_disk_failure(trouble),
            store::StoreEvent::Usable => {
                self.store.rewrite(self.unsaved.given, self.machine.notebook());
                self.unsaved.rewritten = self.unsaved.given;
            }
            store::StoreEvent::Kept { state, checkpoint } => self.feed(Input::Kept(state, checkpoint)),
            store::StoreEvent::Trusted(states) => self.feed(Input::Trusted(states)),
        }
    }

    fn on_ask(&mut self, ask: Ask) {
        match ask {
            Ask::Command(command, answer) => {
                let ticket = self.ticket(answer);
                self.feed(Input::Command(ticket, command));
            }
            Ask::Stand(visitor, standing, answer) => {
                let ticket = self.ticket(Box::new(move |_, reply| drop(answer.send(reply))));
                self.feed(Input::Stand(ticket, visitor, standing));
            }
            Ask::Left(visitor) => self.feed(Input::Left(visitor)),
            Ask::Read(look) => look(self.machine.notebook()),
            // The send fails if the requester no longer waits.
            Ask::Pids(answer) => drop(answer.send(self.tree.pids())),
            Ask::Snapshot(answer) => drop(answer.send(self.machine.snapshot())),
            Ask::Subscribe(since, answer) => {
                let subscription = self.log.subscribe(&since, || self.machine.snapshot());
                // The send fails if the client has disconnected. The next event then removes the
                // subscription.
                let _ = answer.send(subscription);
            }
            Ask::KeepCredentials(credentials, done) => {
                self.store.keep_credentials(credentials, move |kept| {
                    // The send fails if the requester no longer waits.
                    let _ = done.send(kept.map_err(Problem::from));
                })
            }
            Ask::Copy(dir, done) => {
                let store = self.store.clone();
                self.threads.spawn(move || {
                    // The send fails if the requester no longer waits.
                    let _ = done.send(store.copy_to(&dir));
                });
            }
            Ask::SetAside(done) => self.set_aside(done),
            Ask::Adopt(adopted, answer) => {
                let ticket = self.ticket(Box::new(move |_, reply| drop(answer.send(reply))));
                self.feed(Input::Adopt(ticket, adopted));
            }
            // `run` handles these two requests.
            Ask::Close(_) | Ask::UsePython(..) => {}
        }
    }

    fn ticket(&mut self, answer: OnReply) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.waiting.insert(ticket, answer);
        ticket
    }

    fn set_aside(&mut self, done: oneshot::Sender<Result<(), Problem>>) {
        self.feed(Input::StopRuns);
        let notebook = self.machine.notebook();
        let is_empty = notebook.states().all(|state| state.id.is_root())
            && notebook.runs().next().is_none()
            && notebook.drafts().next().is_none();
        if is_empty {
            // The send fails if the requester no longer waits.
            let _ = done.send(Ok(()));
            return;
        }
        let store = self.store.clone();
        self.threads.spawn(move || {
            // The send fails if the requester no longer waits.
            let _ = done.send(store.set_aside());
            store.prune_trash();
        });
    }

    fn on_heard(&mut self, process: ProcId, heard: Heard) {
        match self.tree.note(process, heard) {
            Some(ProcessEvent::Report(process, report)) => self.feed(Input::Reported(process, report)),
            Some(ProcessEvent::Gone(process, exit)) => {
                let exit = self.cause_of(exit);
                tracing::debug!(process = process.0, ?exit, "a process ended");
                self.feed(Input::Gone(process, exit));
            }
            None => {}
        }
    }

    /// Returns why a process ended. If it was killed, and Linux has just killed processes for lack
    /// of memory, returns `Exit::OutOfMemory`: it was probably one of those processes.
    fn cause_of(&mut self, exit: Option<Exit>) -> Option<Exit> {
        if exit != Some(Exit::Signal(libc::SIGKILL)) {
            return exit;
        }
        let kills = system_memory::out_of_memory_kills();
        if kills > self.out_of_memory_kills { Some(Exit::OutOfMemory) } else { exit }
    }

    fn on_alarm(&mut self) {
        if let Some((_, alarm)) = self.alarms.pop_first() {
            self.feed(Input::AlarmDue(alarm));
        }
    }

    fn feed(&mut self, input: Input) {
        let (kind, began) = (input.name(), Instant::now());
        let effects = self.machine.step(now_ms(), input);
        let took = began.elapsed();
        if took >= SLOW_STEP {
            tracing::warn!(input = kind, ms = took.as_millis(), "a step was slow");
        }
        let is_fact = |effect: &Effect| matches!(effect, Effect::Publish(event) if event.fact().is_some());
        self.unsaved.coming = effects.iter().filter(|effect| is_fact(effect)).count();
        for effect in effects {
            self.carry_out(effect);
        }
    }

    /// Handles the result of a check. If the Python can run cells, carries out the effects that
    /// waited for the root process.
    fn on_python_checked(&mut self, (path, checked): PythonCheck) {
        let waiting = match &mut self.python {
            PythonInUse::Checked(awaited, waiting) if *awaited == path => std::mem::take(waiting),
            // The notebook now uses another Python, so this result is out of date.
            _ => return,
        };
        match checked {
            Ok(python) => {
                self.python = PythonInUse::Ready(Box::new(python.clone()));
                self.feed(Input::PythonChecked(Ok(Box::new(python))));
                for effect in waiting {
                    self.carry_out(effect);
                }
            }
            Err(problem) => {
                self.python = PythonInUse::Unchecked(path);
                let sentence = problem.in_one_sentence();
                self.feed(Input::PythonChecked(Err(sentence.clone())));
                for effect in waiting {
                    if let Effect::Fork { child, .. } | Effect::Send { child, .. } = effect {
                        self.feed(Input::Unable(child, sentence.clone()));
                    }
                }
            }
        }
    }

    /// Checks the Python on another thread: the check starts the Python and takes time.
    fn check_python(&mut self, path: PathBuf, first: Effect) {
        self.python = PythonInUse::Checked(path.clone(), vec![first]);
        let (pythons, tell) = (self.pythons.clone(), self.python_checks.clone());
        // The send fails if the notebook was closed.
        self.threads.spawn(move || {
            let checked = pythons.prepare(&path);
            drop(tell.send((path, checked)));
        });
    }

    fn carry_out(&mut self, effect: Effect) {
        if let PythonInUse::Checked(_, waiting) = &mut self.python
            && effect.is_for_processes()
        {
            // While the Python is checked, no process runs that could hang. So the process is
            // examined later.
            match effect {
                Effect::Examine(process) => {
                    self.last_alarm += 1;
                    let at = (Instant::now() + CHECK_PAUSE, self.last_alarm);
                    self.alarms.insert(at, Alarm::Late(process));
                }
                effect => waiting.push(effect),
            }
            return;
        }
        match effect {
            Effect::Publish(event) => self.publish(&event),
            Effect::Answer(ticket, reply) => self.answer(ticket, *reply),
            Effect::UsePython(python) => self.python = PythonInUse::Ready(python),
            Effect::SpawnRoot(root) => match (self.python.to_be_checked(), &self.python) {
                (None, PythonInUse::Ready(python)) => {
                    tracing::info!(process = root.0, python = ?python.executable, "Python starts");
                    let done = self.tree.spawn_root(root, python);
                    self.check(root, done);
                }
                (Some(path), _) => self.check_python(path, Effect::SpawnRoot(root)),
                (None, _) => {}
            },
            Effect::Fork { from, child, role, load } => {
                tracing::debug!(process = child.0, from = from.0, "a process is forked");
                let done = self.tree.fork(from, child, role, load);
                self.check(child, done);
            }
            Effect::Run { head, exec_id, cell, deliveries } => {
                self.tree.run(head, &exec_id, cell, deliveries);
            }
            Effect::Send { from, child, wanted } => {
                let done = self.tree.send_variables(from, child, wanted);
                self.check(child, done);
            }
            Effect::Question { process, number, question } => self.tree.question(process, number, question),
            Effect::Widget { head, number, message } => self.tree.widget(head, number, message),
            Effect::Type { head, number, text } => self.tree.answer(head, number, text),
            Effect::Interrupt(head) => self.tree.interrupt(head),
            Effect::Stop(head) => {
                let ended = self.tree.stop(head);
                self.feed(Input::HeadStopped(head, ended));
            }
            Effect::Continue(head) => self.tree.resume(head),
            Effect::Examine(process) => {
                let hung = self.tree.examine(process);
                self.feed(Input::Examined(process, hung));
            }
            Effect::Observe { exec_id, serial, head } => {
                let seen = self.tree.observe(head);
                self.feed(Input::Observed(exec_id, serial, seen));
            }
            Effect::Kill(process, why) => {
                match why {
                    Killed::NotNeeded => tracing::debug!(process = process.0, ?why, "a process is killed"),
                    Killed::Late | Killed::RunStopped => {
                        tracing::info!(process = process.0, ?why, "a process is killed")
                    }
                    Killed::Hung | Killed::Failed => {
                        tracing::warn!(process = process.0, ?why, "a process is killed")
                    }
                }
                self.tree.kill(process);
            }
            Effect::EndStarted(head) => drop(self.tree.end_started(head)),
            Effect::EndRun(head) => self.tree.end_run(head),
            Effect::EndCells => self.tree.end_cells(),
            Effect::Keep { state, parent, checkpoint } => {
                self.store.keep_checkpoint(NewCheckpoint { state, parent, checkpoint: *checkpoint })
            }
            Effect::Trust => self.store.trust(),
            Effect::Dispatch(exec_id, serial, dispatch) => self.dispatch(exec_id, serial, dispatch),
            Effect::Recall(exec_id) => {
                if let Some(courier) = &self.courier {
                    courier.recall(exec_id);
                }
            }
            Effect::TakeOver(ticket) => match &self.offsite {
                Some(offsite) => offsite.take_over(ticket),
                None => {
                    let how = "start the server with --store";
                    let why = "the server has no store off this machine";
                    let refused = Problem::bad_request("take the notebook over", why, how);
                    self.feed(Input::TakenOver(ticket, Err(refused)));
                }
            },
            Effect::Measure(processes) => self.measure(&processes),
            Effect::MeasureRun { exec_id, serial, head, frozen } => {
                self.measure_run(exec_id, serial, head, frozen)
            }
            Effect::Wake(after, alarm) => {
                self.last_alarm += 1;
                self.alarms.insert((Instant::now() + after, self.last_alarm), alarm);
            }
        }
    }

    /// Sends a run to the workers.
    fn dispatch(&mut self, exec_id: ExecId, serial: Serial, dispatch: Box<Dispatch>) {
        if self.courier.is_none() {
            match self.start_courier() {
                Ok(courier) => self.courier = Some(courier),
                Err(problem) => {
                    let error = RunError::of(Cause::WorkerFailed, problem.to_string());
                    return self.feed(Input::Worker(exec_id, serial, WorkerReport::Failed(error)));
                }
            }
        }
        if let Some(courier) = &self.courier {
            courier.dispatch(exec_id, serial.0, dispatch);
        }
    }

    fn start_courier(&self) -> Result<Courier, Problem> {
        let Some(workers) = &self.config.workers else {
            return Err(Problem::internal("the server has no workers"));
        };
        let reports = self.worker_reports.clone();
        workers.courier(self.store.notebook_id(), &self.store.blobs(), move |exec_id, serial, report| {
            // The send fails if the notebook was closed.
            let _ = reports.send(Input::Worker(exec_id, Serial(serial), report));
        })
    }

    /// Sends an event to all clients. Passes it to the store if it is a fact.
    fn publish(&mut self, event: &Event) {
        if self.frees_much(event) {
            allocator::give_small_blocks_back_soon();
        }
        let number = self.log.publish(event);
        if let Event::Fact(fact) = event {
            self.unsaved.given = number;
            if let Fact::RunEnded { exec_id, error: Some(RunError { cause: Some(cause), .. }), .. } = fact {
                tracing::info!(run = exec_id.as_str(), ?cause, "a run was ended");
            }
            if let Fact::StateAdded { state } = fact {
                self.unsaved.states.push_back((number, state.id.clone()));
            }
            self.unsaved.coming = self.unsaved.coming.saturating_sub(1);
            match self.unsaved.coming {
                0 => self.store.save(number, fact),
                _ => self.store.save_with_next(number, fact),
            }
        }
    }

    /// Whether an event is followed by the release of many small allocations.
    fn frees_much(&self, event: &Event) -> bool {
        match event {
            Event::Fact(Fact::Reset { .. } | Fact::Removed { .. }) => true,
            Event::Fact(Fact::RunEnded { exec_id, .. }) => {
                let run = self.machine.notebook().run(exec_id);
                run.is_some_and(|run| run.outputs.kept_bytes() > MANY_BYTES)
            }
            _ => false,
        }
    }

    /// Answers a command. If the command changed the notebook, the answer waits until the change is
    /// on disk.
    fn answer(&mut self, ticket: Ticket, reply: Reply) {
        let Some(waiting) = self.waiting.remove(&ticket) else { return };
        let changed = !matches!(
            reply,
            Reply::Refused(_)
                | Reply::Variables { .. }
                | Reply::Digested { .. }
                | Reply::MergePlanned { .. }
                | Reply::Completions { .. }
                | Reply::Inspected { .. }
                | Reply::Checked { .. }
                | Reply::Evaluated { .. }
                | Reply::Parameters(_)
                | Reply::RowsDrawn(_)
                | Reply::Table { .. }
                | Reply::ValuePart { .. }
                | Reply::Interrupted { .. }
                | Reply::Standing { .. }
                | Reply::Handled
        );
        if changed && self.unsaved.given > self.unsaved.saved {
            match self.machine.notebook().disk_status() {
                Some(trouble) => waiting(self.machine.notebook(), not_on_disk(&reply, trouble)),
                None => {
                    self.unsaved.answers.push_back((self.unsaved.given, waiting, reply));
                    self.store.hurry();
                }
            }
        } else {
            waiting(self.machine.notebook(), reply);
        }
    }

    /// Measures the memory of processes on another thread, because each measurement takes
    /// milliseconds.
    fn measure(&self, processes: &[ProcId]) {
        let pids: Vec<(ProcId, i32)> =
            processes.iter().filter_map(|p| Some((*p, self.tree.pid(*p)?))).collect();
        let tell = self.measures.clone();
        self.threads.spawn(move || {
            let footprints =
                pids.into_iter().filter_map(|(p, pid)| Some((p, system_memory::footprint(pid)?))).collect();
            // The send fails if the notebook was closed.
            let _ = tell.try_send((
                footprints,
                system_memory::available_bytes(),
                system_memory::out_of_memory_kills(),
            ));
        });
    }

    /// Measures the memory of a run on another thread.
    fn measure_run(&self, exec_id: ExecId, serial: Serial, head: ProcId, frozen: Option<ProcId>) {
        let (pid, frozen) = (self.tree.pid(head), frozen.and_then(|p| self.tree.pid(p)));
        let (ours, tell) = (self.tree.pids(), self.run_measures.clone());
        self.threads.spawn(move || {
            let memory = pid.and_then(|pid| {
                let head = MemoryUse::of(pid)?;
                // Checked last: if the frozen process still has its memory now, it also had it when
                // the run was measured.
                let is_shared = frozen.is_some_and(kernel::is_whole);
                Some(RunMemory { head, below: kernel::below(pid, &|pid| ours.contains(&pid)), is_shared })
            });
            // The send fails if the notebook was closed.
            let _ = tell.send(Input::RunMeasured(exec_id, serial, memory));
        });
    }

    fn check(&mut self, process: ProcId, done: io::Result<()>) {
        if let Err(error) = done {
            tracing::warn!(process = process.0, %error, "no process could be created");
            self.feed(Input::Unable(
                process,
                format!("the system refused to create another process: {error}"),
            ));
        }
    }
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::interpreter::Version;
    use crate::notebook::{Command, Draft, DraftId, DraftKind};
    use crate::session::{Budget, Permitted, Scope};

    fn draft(id: &str) -> Command {
        let (id, on) = (DraftId::new(id), StateId::root());
        let draft = Draft {
            id,
            on,
            before: None,
            kind: DraftKind::Code,
            source: "x = 1".into(),
            version: 0,
            received: Vec::new(),
            imported_cell: None,
            stale_run: None,
            instead_of: None,
        };
        Command::PutDraft { draft, after: None, in_place: false, base: None, update: None }
    }

    /// This environment variable is set when the test runs itself in a new process. A process tree
    /// waits for every child of its process, so tests in the same process could not wait for their
    /// own children.
    const ALONE: &str = "RATOON_TEST_ALONE";

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_panic_closes_the_notebook_and_the_next_request_opens_it_again_from_disk() {
        if std::env::var(ALONE).is_err() {
            let name = "session::actor::tests::\
                a_panic_closes_the_notebook_and_the_next_request_opens_it_again_from_disk";
            let mut again = std::process::Command::new(std::env::current_exe().unwrap());
            let ended = again.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
            let said = String::from_utf8_lossy(&ended.stdout).into_owned();
            assert!(
                ended.status.success() && said.contains("1 passed"),
                "{said}{}",
                String::from_utf8_lossy(&ended.stderr)
            );
            return;
        }
        let dir = std::env::temp_dir().join(format!("ratoon-actor-{}", std::process::id()));
        let config = NotebookConfig::new(dir.clone(), &dir.join("config"), Budget::default(), true).unwrap();
        let launch = Launch {
            extension: "none".into(),
            bytecode: None,
            hash_seed: None,
            cwd: dir.clone(),
            nice: 0,
            sandbox: None,
        };
        // This test starts no Python process.
        let version = Version { major: 3, minor: 12, micro: 1 };
        let python = ReadyPython { executable: "/bin/false".into(), version, support: None };
        let request = OpenRequest {
            name: "main".into(),
            dir: dir.join("main.ratoon"),
            launch: Arc::new(launch),
            pythons: Arc::new(Pythons::only(python)),
            config: Arc::new(config),
            threads: BlockingPool::start().unwrap(),
        };
        let session = request.open(&Handle::current()).unwrap();
        for round in 0..3 {
            let mut events = session.subscribe(crate::session::Since::Beginning).await.unwrap().events;
            let permitted = Permitted::check(Scope::Run, draft(&format!("draft {round}"))).unwrap();
            assert_eq!(session.ask(permitted).await, Ok(Reply::Done));
            let failed = session.read(|notebook| assert!(notebook.name().is_empty(), "as it should")).await;
            assert_eq!(failed.unwrap_err().kind, Kind::Closed);
            // The stream of events ends with the actor.
            while events.recv().await.is_some() {}
            assert_eq!(session.read(|notebook| notebook.drafts().count()).await, Ok(round + 1));
        }
        session.close().await;
        assert_eq!(session.read(|_| ()).await.unwrap_err().kind, Kind::Closed);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
