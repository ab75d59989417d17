//! The loop that owns one notebook: feeds the machine and carries out what it decides.
//!
//! Two inboxes: what clients ask goes before what processes report, so that an interrupt is never behind a flood of
//! output. Both are bounded: a full one holds back whoever fills it. The loop waits for nothing else.

use super::Session;
use super::handle::Ask;
use super::log::Log;
use super::machine::{Alarm, Effect, Input, Machine, Ticket};
use crate::kernel::{Heard, Launch, News, ProcId, Tree};
use crate::notebook::Reply;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

/// How many wishes may wait.
const ASKS: usize = 256;
/// How many reports may wait. Each is at most some 10 ms of output.
const REPORTS: usize = 64;
/// How long closing waits for the processes to be gone; they were killed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Starts the task of a notebook.
pub(super) fn spawn(runtime: &Handle, name: &str, launch: Arc<Launch>) -> Session {
    let (asks, asked) = mpsc::channel(ASKS);
    let session = Session::new(name, asks);
    let name = name.to_owned();
    runtime.spawn(async move {
        let (reports, heard) = mpsc::channel(REPORTS);
        let new_id = Box::new(|| uuid::Uuid::new_v4().simple().to_string());
        let task = Task {
            machine: Machine::new(&name, now_ms(), new_id),
            tree: Tree::new(launch, std::path::PathBuf::new(), reports),
            log: Log::new(),
            waiting: HashMap::new(),
            last_ticket: 0,
            alarms: BTreeMap::new(),
            last_alarm: 0,
        };
        task.run(asked, heard).await;
    });
    session
}

struct Task {
    machine: Machine,
    tree: Tree,
    log: Log,
    waiting: HashMap<Ticket, oneshot::Sender<Reply>>,
    last_ticket: u64,
    alarms: BTreeMap<(Instant, u64), Alarm>,
    last_alarm: u64,
}

impl Task {
    async fn run(mut self, mut asked: mpsc::Receiver<Ask>, mut heard: mpsc::Receiver<(ProcId, Heard)>) {
        self.feed(Input::Opened);
        let closed = loop {
            let next_alarm = self.alarms.keys().next().copied();
            let alarm = async {
                match next_alarm {
                    Some((at, _)) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                ask = asked.recv() => match ask {
                    Some(Ask::Close(done)) => break Some(done),
                    Some(ask) => self.asked(ask),
                    None => break None,
                },
                () = alarm => self.ring(),
                Some((process, heard)) = heard.recv() => self.heard(process, heard),
            }
        };
        self.close(&mut heard).await;
        if let Some(done) = closed {
            // Whoever closed may not wait for it.
            let _ = done.send(());
        }
    }

    async fn close(&mut self, heard: &mut mpsc::Receiver<(ProcId, Heard)>) {
        self.tree.kill_all();
        let all_gone = async {
            while !self.tree.is_empty()
                && let Some((process, what)) = heard.recv().await
            {
                self.tree.note(process, what);
            }
        };
        // What is not gone by then is ended by the lifeline.
        let _ = timeout(CLOSE_TIMEOUT, all_gone).await;
    }

    fn asked(&mut self, ask: Ask) {
        match ask {
            Ask::Command(command, answer) => {
                self.last_ticket += 1;
                let ticket = Ticket(self.last_ticket);
                self.waiting.insert(ticket, answer);
                self.feed(Input::Command(ticket, command));
            }
            Ask::Read(look) => look(self.machine.notebook()),
            Ask::Subscribe(since, answer) => {
                let subscription = self.log.subscribe(since.as_ref(), || self.machine.notebook().snapshot());
                // The client may have gone meanwhile; its place is cleared with the next event.
                let _ = answer.send(subscription);
            }
            Ask::Close(_) => {}
        }
    }

    fn heard(&mut self, process: ProcId, heard: Heard) {
        match self.tree.note(process, heard) {
            Some(News::Report(process, report)) => self.feed(Input::Reported(process, report)),
            Some(News::Gone(process, exit)) => self.feed(Input::Gone(process, exit)),
            None => {}
        }
    }

    fn ring(&mut self) {
        if let Some((_, alarm)) = self.alarms.pop_first() {
            self.feed(Input::Rang(alarm));
        }
    }

    fn feed(&mut self, input: Input) {
        for effect in self.machine.step(now_ms(), input) {
            self.carry_out(effect);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Publish(event) => self.log.publish(&event),
            Effect::Answer(ticket, reply) => {
                if let Some(waiting) = self.waiting.remove(&ticket) {
                    // The asker may have gone; the deed is done all the same.
                    let _ = waiting.send(reply);
                }
            }
            Effect::Plant(root) => {
                let done = self.tree.plant(root);
                self.check(root, done);
            }
            Effect::Fork { from, child, role, load } => {
                let done = self.tree.fork(from, child, role, load);
                self.check(child, done);
            }
            Effect::Run { head, exec_id, code, allow_stdin } => {
                self.tree.run(head, exec_id, code, allow_stdin)
            }
            Effect::Type { head, number, text } => self.tree.answer(head, number, text),
            Effect::Interrupt(head) => self.tree.interrupt(head),
            Effect::Kill(process) => self.tree.kill(process),
            Effect::Wake(after, alarm) => {
                self.last_alarm += 1;
                self.alarms.insert((Instant::now() + after, self.last_alarm), alarm);
            }
        }
    }

    fn check(&mut self, process: ProcId, done: io::Result<()>) {
        if let Err(error) = done {
            self.feed(Input::Unable(process, format!("the system refused another process: {error}")));
        }
    }
}

/// Milliseconds since the Unix epoch.
fn now_ms() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1000.0
}
