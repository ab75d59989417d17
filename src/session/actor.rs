//! The loop that owns one notebook: it passes inputs to the machine and carries out the effects
//! that the machine returns.
//!
//! Requests of clients and reports of processes have separate inboxes. Requests go first, so an
//! interrupt never waits behind a flood of output. Both inboxes are bounded: a full inbox holds
//! back its senders.

use super::event_log::EventLog;
use super::handle::{Ask, OnReply};
use super::machine::{Alarm, Effect, Input, Machine, RunMemory, Serial, Ticket};
use super::{NotebookConfig, NotebookFiles, Session, system_memory};
use crate::allocator;
use crate::blocking_pool::BlockingPool;
use crate::kernel::{self, Exit, Heard, Launch, MemoryUse, ProcId, ProcessEvent, Tree};
use crate::notebook::{DiskStatus, Ended, Event, ExecId, Fact, Live, Notebook, Reply, StateId};
use crate::problem::{Kind, Problem};
use crate::store::{self, NewCheckpoint, Opened, Store};
use futures_util::FutureExt;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// How many requests of clients may wait.
const ASKS: usize = 256;
/// How many reports of processes may wait. Each has up to 256 KiB of text, so a flood of output
/// neither delays other reports for long nor fills the server's memory.
const REPORTS: usize = 16;
/// How long closing waits for killed processes to exit.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// How long closing may keep writing checkpoints.
const SAVE_TIMEOUT: Duration = Duration::from_millis(2000);
/// When a run with more than this many bytes of outputs ends, freed memory is returned to the
/// system.
const MANY_BYTES: usize = 1024 * 1024;
/// How many bytes may wait to be written to disk before cells that print are held back.
const MAX_UNSAVED_BYTES: usize = 8 * 1024 * 1024;

/// What is needed to open a notebook, and to open it again after a panic.
pub(super) struct OpenRequest {
    pub(super) name: String,
    pub(super) dir: PathBuf,
    pub(super) launch: Arc<Launch>,
    pub(super) config: Arc<NotebookConfig>,
    pub(super) threads: BlockingPool,
}

/// A notebook as found on disk, and the later events of its store.
type ReadNotebook = (Opened, mpsc::UnboundedReceiver<store::StoreEvent>);

impl OpenRequest {
    /// Opens the notebook and starts its actor.
    ///
    /// # Errors
    /// `Problem` when the notebook's files cannot be used.
    pub(super) fn open(self, runtime: &Handle) -> Result<Session, Problem> {
        let (asks, asked) = mpsc::channel(ASKS);
        let (mut opened, told) = self.read()?;
        let credentials = std::mem::take(&mut opened.credentials);
        let damage = std::mem::take(&mut opened.damage);
        let store = &opened.store;
        let (notebook_id, blobs) = (store.notebook_id().to_owned(), store.blobs());
        let home = NotebookFiles { notebook_id, blobs, credentials, damage };
        let session = Session::new(&self.name, home, asks, self.threads.clone());
        runtime.spawn(Arc::new(self).serve(asked, (opened, told)));
        Ok(session)
    }

    fn read(&self) -> Result<ReadNotebook, Problem> {
        let (tell, told) = mpsc::unbounded_channel();
        // Fails if the actor has ended.
        let tell = move |event| drop(tell.send(event));
        Ok((Store::open(&self.dir, &self.name, &self.config.key, tell)?, told))
    }

    /// Runs the notebook until it is closed. A panic is a bug in the server. It ends the processes
    /// and closes the store, and the next request opens the notebook again from disk.
    async fn serve(self: Arc<Self>, mut asked: mpsc::Receiver<Ask>, found: ReadNotebook) {
        let mut next = Some((found, None));
        while let Some((found, first)) = next.take() {
            let (mut actor, mut inboxes) = self.start(found);
            let end = AssertUnwindSafe(actor.run(first, &mut asked, &mut inboxes)).catch_unwind().await;
            let ended = AssertUnwindSafe(actor.end(inboxes)).catch_unwind().await;
            match (end, ended) {
                (Ok(closed), _) => {
                    // Fails if the requester no longer waits.
                    closed.map(|done| done.send(()));
                    return;
                }
                (Err(_), _) => next = self.open_again(&mut asked).await,
            }
        }
    }

    /// Waits for a request and opens the notebook for it. Returns none if the request is to close
    /// the notebook. While the notebook cannot be opened, requests fail as for a closed one.
    async fn open_again(
        self: &Arc<Self>,
        asked: &mut mpsc::Receiver<Ask>,
    ) -> Option<(ReadNotebook, Option<Ask>)> {
        loop {
            match asked.recv().await? {
                Ask::Close(done) => {
                    // Fails if the requester no longer waits.
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
        // Unbounded, but each run has at most one message in it.
        let (run_measures, run_measured) = mpsc::unbounded_channel();
        let new_id = Box::new(|| uuid::Uuid::new_v4().simple().to_string());
        let notebook = Notebook::from_parts(opened.parts, now_ms());
        let NotebookConfig { budget, saves, .. } = *self.config;
        let actor = Actor {
            machine: Machine::new(notebook, new_id, budget, saves),
            tree: Tree::new(self.launch.clone(), opened.store.blobs(), reports),
            log: EventLog::new(),
            store: opened.store,
            threads: self.threads.clone(),
            unsaved: Unsaved::default(),
            waiting: HashMap::new(),
            last_ticket: 0,
            alarms: BTreeMap::new(),
            last_alarm: 0,
            measures,
            run_measures,
            out_of_memory_kills: system_memory::out_of_memory_kills(),
        };
        (actor, Inboxes { reports: heard, store_events: told, memory: measured, run_memory: run_measured })
    }
}

struct Actor {
    machine: Machine,
    tree: Tree,
    log: EventLog,
    store: Store,
    threads: BlockingPool,
    unsaved: Unsaved,
    waiting: HashMap<Ticket, OnReply>,
    last_ticket: u64,
    alarms: BTreeMap<(Instant, u64), Alarm>,
    last_alarm: u64,
    measures: mpsc::Sender<Measured>,
    run_measures: mpsc::UnboundedSender<Input>,
    /// How many processes the system had killed for lack of memory at the last measurement.
    out_of_memory_kills: Option<u64>,
}

/// The private memory of processes and the computer's available memory, in bytes; how many
/// processes the system has killed for lack of memory.
type Measured = (Vec<(ProcId, u64)>, Option<u64>, Option<u64>);

/// What arrives besides the requests of clients.
struct Inboxes {
    reports: mpsc::Receiver<(ProcId, Heard)>,
    store_events: mpsc::UnboundedReceiver<store::StoreEvent>,
    memory: mpsc::Receiver<Measured>,
    run_memory: mpsc::UnboundedReceiver<Input>,
}

/// What is not on disk yet.
#[derive(Default)]
struct Unsaved {
    /// Answers that wait until the fact with this number is on disk.
    answers: VecDeque<(u64, OnReply, Reply)>,
    states: VecDeque<(u64, StateId)>,
    /// The number of the last fact that was given to the store.
    given: u64,
    /// The number of the last fact that is on disk.
    saved: u64,
    /// How many facts of this step are still to be given to the store. All facts of a step reach
    /// the disk together.
    coming: usize,
    /// Whether the store's thread has died. Then nothing more is written.
    is_store_dead: bool,
    /// After a disk failure: once the fact with this number is on disk, everything is on disk
    /// again.
    rewritten: u64,
}

impl Unsaved {
    /// Notes that the facts up to a number are on disk, and gives the answers that waited for them.
    /// Returns the states that those facts added.
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

/// The answer to a command that was carried out, but whose result could not be written to disk.
fn not_on_disk(reply: &Reply, trouble: &DiskStatus) -> Reply {
    let what = match reply {
        Reply::Ended(Ended { exec_id, .. }) => format!("keep the end of run {exec_id}"),
        _ => "keep what was done".into(),
    };
    let how = format!("{}; it is done in memory, and is saved when this is over", trouble.how);
    Reply::Refused(Problem::new(Kind::Disk, what, trouble.why.clone(), how))
}

impl Actor {
    /// Handles requests and events until the notebook is to be closed, and then saves the remaining
    /// states, for a limited time. Returns the sender with which to report that the notebook is
    /// closed.
    async fn run(
        &mut self,
        first: Option<Ask>,
        asked: &mut mpsc::Receiver<Ask>,
        inboxes: &mut Inboxes,
    ) -> Option<oneshot::Sender<()>> {
        self.feed(Input::Opened);
        first.into_iter().for_each(|ask| self.on_ask(ask));
        let closed = loop {
            tokio::select! {
                biased;
                ask = asked.recv() => match ask {
                    Some(Ask::Close(done)) => break Some(done),
                    Some(ask) => self.on_ask(ask),
                    None => break None,
                },
                () = self.next_event(inboxes) => {}
            }
        };
        self.feed(Input::Closing);
        let deadline = Instant::now() + SAVE_TIMEOUT;
        while !self.machine.is_all_saved() {
            if timeout_at(deadline, self.next_event(inboxes)).await.is_err() {
                break;
            }
        }
        closed
    }

    /// Waits for one event that is not a client's request, and handles it.
    async fn next_event(&mut self, Inboxes { reports, store_events, memory, run_memory }: &mut Inboxes) {
        let next_alarm = self.alarms.keys().next().copied();
        let alarm = async {
            match next_alarm {
                Some((at, _)) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        // Cells that print faster than the disk writes are held back. If the disk fails, the
        // notebook continues in memory.
        let has_room = self.store.backlog_bytes() < MAX_UNSAVED_BYTES;
        tokio::select! {
            biased;
            event = store_events.recv(), if !self.unsaved.is_store_dead => match event {
                Some(event) => self.on_store_event(event),
                None => self.on_store_death(),
            },
            () = alarm => self.on_alarm(),
            Some(input) = run_memory.recv() => self.feed(input),
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
        // The lifeline ends processes that are left after this.
        let _ = timeout(CLOSE_TIMEOUT, all_gone).await;
        let store = self.store;
        // Writes the facts that wait. Nothing more can be done if that panics.
        let _ = self.threads.run(move || store.close()).await;
        allocator::give_small_blocks_back_soon();
        while let Ok(event) = inboxes.store_events.try_recv() {
            if let store::StoreEvent::Saved { up_to } = event {
                self.unsaved.note_saved(up_to, self.machine.notebook());
            }
        }
    }

    /// Notes that the disk has failed, and answers the commands that wait for it with a refusal.
    fn on_disk_failure(&mut self, trouble: DiskStatus) {
        self.feed(Input::Trouble(Some(trouble.clone())));
        for (_, waiting, reply) in self.unsaved.answers.drain(..) {
            waiting(self.machine.notebook(), not_on_disk(&reply, &trouble));
        }
        self.unsaved.rewritten = u64::MAX;
    }

    /// The store's thread has died, which is a bug in the server.
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
        match event {
            store::StoreEvent::Saved { up_to } => {
                let states = self.unsaved.note_saved(up_to, self.machine.notebook());
                if up_to >= self.unsaved.rewritten && self.machine.notebook().disk_status().is_some() {
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
            // Fails if the requester no longer waits.
            Ask::Snapshot(answer) => drop(answer.send(self.machine.snapshot())),
            Ask::Subscribe(since, answer) => {
                let subscription = self.log.subscribe(since.as_ref(), || self.machine.snapshot());
                // Fails if the client has disconnected. The next event removes its subscription.
                let _ = answer.send(subscription);
            }
            Ask::KeepCredentials(credentials, done) => {
                self.store.keep_credentials(credentials, move |kept| {
                    // Fails if the requester no longer waits.
                    let _ = done.send(kept.map_err(Problem::from));
                })
            }
            Ask::Copy(dir, done) => {
                let store = self.store.clone();
                self.threads.spawn(move || {
                    // Fails if the requester no longer waits.
                    let _ = done.send(store.copy_to(&dir));
                });
            }
            Ask::SetAside(done) => self.set_aside(done),
            Ask::Adopt(adopted, answer) => {
                let ticket = self.ticket(Box::new(move |_, reply| drop(answer.send(reply))));
                self.feed(Input::Adopt(ticket, adopted));
            }
            Ask::Close(_) => {}
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
            // Fails if the requester no longer waits.
            let _ = done.send(Ok(()));
            return;
        }
        let store = self.store.clone();
        self.threads.spawn(move || {
            // Fails if the requester no longer waits.
            let _ = done.send(store.set_aside());
            store.prune_trash();
        });
    }

    fn on_heard(&mut self, process: ProcId, heard: Heard) {
        match self.tree.note(process, heard) {
            Some(ProcessEvent::Report(process, report)) => self.feed(Input::Reported(process, report)),
            Some(ProcessEvent::Gone(process, exit)) => {
                let exit = self.cause_of(exit);
                self.feed(Input::Gone(process, exit));
            }
            None => {}
        }
    }

    /// Why a process ended. If it was killed, and the system has just killed processes for lack of
    /// memory, it is taken for one of them.
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
        let effects = self.machine.step(now_ms(), input);
        let is_fact = |effect: &Effect| matches!(effect, Effect::Publish(event) if event.fact().is_some());
        self.unsaved.coming = effects.iter().filter(|effect| is_fact(effect)).count();
        for effect in effects {
            self.carry_out(effect);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Publish(event) => self.publish(&event),
            Effect::Answer(ticket, reply) => self.answer(ticket, *reply),
            Effect::SpawnRoot(root) => {
                let done = self.tree.spawn_root(root);
                self.check(root, done);
            }
            Effect::Fork { from, child, role, load } => {
                let done = self.tree.fork(from, child, role, load);
                self.check(child, done);
            }
            Effect::Run { head, cell } => self.tree.run(head, cell),
            Effect::Send { from, child, wanted } => {
                let done = self.tree.send_variables(from, child, wanted);
                self.check(child, done);
            }
            Effect::Question { process, number, sought, code, cursor } => {
                self.tree.question(process, number, sought, code, cursor)
            }
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
            Effect::Kill(process) => self.tree.kill(process),
            Effect::EndStarted(head) => drop(self.tree.end_started(head)),
            Effect::EndRun(head) => self.tree.end_run(head),
            Effect::EndCells => self.tree.end_cells(),
            Effect::Keep { state, parent, checkpoint } => {
                self.store.keep_checkpoint(NewCheckpoint { state, parent, checkpoint: *checkpoint })
            }
            Effect::Trust => self.store.trust(),
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

    /// Sends an event to all clients. If it is a fact, also gives it to the store.
    fn publish(&mut self, event: &Event) {
        if self.frees_much(event) {
            allocator::give_small_blocks_back_soon();
        }
        let number = self.log.publish(event);
        if let Event::Fact(fact) = event {
            self.unsaved.given = number;
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

    /// Whether an event frees many small allocations.
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

    /// Answers a command. The answer to a change waits until the change is on disk.
    fn answer(&mut self, ticket: Ticket, reply: Reply) {
        let Some(waiting) = self.waiting.remove(&ticket) else { return };
        let changed = !matches!(
            reply,
            Reply::Refused(_)
                | Reply::Variables { .. }
                | Reply::Digested { .. }
                | Reply::Completions { .. }
                | Reply::Inspected { .. }
                | Reply::Interrupted { .. }
                | Reply::Standing { .. }
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

    /// Measures the memory of processes on another thread, because each takes milliseconds.
    fn measure(&self, processes: &[ProcId]) {
        let pids: Vec<(ProcId, i32)> =
            processes.iter().filter_map(|p| Some((*p, self.tree.pid(*p)?))).collect();
        let tell = self.measures.clone();
        self.threads.spawn(move || {
            let bytes = pids
                .into_iter()
                .filter_map(|(p, pid)| Some((p, system_memory::private_bytes(pid)?)))
                .collect();
            // Fails if the notebook was closed.
            let _ = tell.try_send((
                bytes,
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
                // Checked last: if the frozen process has its memory now, it had it when the run
                // was measured.
                let is_shared = frozen.is_some_and(kernel::is_whole);
                Some(RunMemory { head, below: kernel::below(pid, &|pid| ours.contains(&pid)), is_shared })
            });
            // Fails if the notebook was closed.
            let _ = tell.send(Input::RunMeasured(exec_id, serial, memory));
        });
    }

    fn check(&mut self, process: ProcId, done: io::Result<()>) {
        if let Err(error) = done {
            self.feed(Input::Unable(process, format!("the system refused to make another process: {error}")));
        }
    }
}

/// Milliseconds since the Unix epoch.
fn now_ms() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1000.0
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::{Command, Draft, DraftId, DraftKind};
    use crate::session::Budget;

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
        };
        Command::PutDraft { draft, after: None, in_place: false, base: None, update: None }
    }

    /// Set when this test runs itself again in a process of its own. A process tree waits for every
    /// child of its process, so other tests in that process could not wait for their children.
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
            // No Python process is needed.
            program: "/bin/false".into(),
            python: "python".into(),
            support: None,
            cwd: dir.clone(),
            nice: 0,
        };
        let request = OpenRequest {
            name: "main".into(),
            dir: dir.join("main.ratoon"),
            launch: Arc::new(launch),
            config: Arc::new(config),
            threads: BlockingPool::start().unwrap(),
        };
        let session = request.open(&Handle::current()).unwrap();
        for round in 0..3 {
            let mut events = session.subscribe(None).await.unwrap().events;
            assert_eq!(session.ask(draft(&format!("draft {round}"))).await, Reply::Done);
            let failed = session.read(|notebook| assert!(notebook.name().is_empty(), "as it should")).await;
            assert_eq!(failed.unwrap_err().kind, Kind::Closed);
            // Subscribers notice the end of the stream.
            while events.recv().await.is_some() {}
            assert_eq!(session.read(|notebook| notebook.drafts().count()).await, Ok(round + 1));
        }
        session.close().await;
        assert_eq!(session.read(|_| ()).await.unwrap_err().kind, Kind::Closed);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
