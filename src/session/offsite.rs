//! Keeps the copy of an open notebook in the server's store up to date, in a thread of its own. No
//! cell waits for it.

use super::machine::Ticket;
use crate::clock::now_ms;
use crate::notebook::{OffsitePhase, OffsiteStatus};
use crate::problem::{Kind, Problem};
use crate::remote::RemoteStore;
use crate::store::InstallKey;
use crate::store::offsite::{Begun, Claim, Holder, Pushed, Pusher};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// How long a change waits for further changes before it is pushed, and how long at most.
const IDLE: Duration = Duration::from_secs(2);
const MAX_DELAY: Duration = Duration::from_secs(30);
/// After a push, the next one waits for this multiple of its duration. So pushing a large notebook
/// again and again uses at most a tenth of a core.
const REST: u32 = 10;
/// The pauses between attempts while the store does not answer: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Interval at which a server looks whether another has given up the lease.
const HELD_PAUSE: Duration = Duration::from_secs(15);
/// How long the last push may take when the notebook is closed. What is missing then is pushed when
/// it is opened again.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// What the thread reports.
#[derive(Debug)]
pub(super) enum OffsiteNews {
    Status(OffsiteStatus),
    /// The answer to a request to take the lease over.
    TakenOver(Ticket, Result<(), Problem>),
}

enum Order {
    /// Something is on disk that is not in the store yet.
    Changed,
    TakeOver(Ticket),
    Close(oneshot::Sender<()>),
}

/// A handle on the thread. When it is dropped, the thread ends.
#[derive(Debug)]
pub(super) struct OffsiteThread {
    orders: Sender<Order>,
    stop: Arc<AtomicBool>,
}

impl OffsiteThread {
    /// Starts the thread for a notebook that this process has open.
    pub(super) fn start(
        store: RemoteStore,
        dir: PathBuf,
        name: String,
        key: InstallKey,
    ) -> (Self, mpsc::UnboundedReceiver<OffsiteNews>) {
        // Unbounded, but the thread reports a few changes of its status per minute.
        let (tell, told) = mpsc::unbounded_channel();
        let (orders, ordered) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let now = Instant::now();
        let worker = Worker {
            store,
            dir,
            name,
            key,
            tell,
            stop: stop.clone(),
            pusher: None,
            unpushed: Some((now, now)),
            not_before: now,
            next_renewal: now,
            pause: FIRST_PAUSE,
            status: OffsiteStatus::default(),
        };
        // If no thread can be started, the status stays as it is: not pushed.
        let _ = std::thread::Builder::new().name("offsite".into()).spawn(move || worker.run(&ordered));
        (Self { orders, stop }, told)
    }

    /// Notes that something has changed on disk.
    pub(super) fn changed(&self) {
        let _ = self.orders.send(Order::Changed);
    }

    /// Takes the lease over. The answer is an `OffsiteNews::TakenOver`.
    pub(super) fn take_over(&self, ticket: Ticket) {
        let _ = self.orders.send(Order::TakeOver(ticket));
    }

    /// Pushes the last changes and gives the lease up, if that does not take long.
    pub(super) async fn close(self) {
        let (done, ended) = oneshot::channel();
        let _ = self.orders.send(Order::Close(done));
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, ended).await;
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Worker {
    store: RemoteStore,
    dir: PathBuf,
    name: String,
    key: InstallKey,
    tell: mpsc::UnboundedSender<OffsiteNews>,
    stop: Arc<AtomicBool>,
    /// None while this server does not hold the lease.
    pusher: Option<Box<Pusher>>,
    /// When the first and the last change came that are not pushed yet.
    unpushed: Option<(Instant, Instant)>,
    /// No push or claim begins earlier.
    not_before: Instant,
    next_renewal: Instant,
    /// The pause before the next attempt, while the store does not answer.
    pause: Duration,
    status: OffsiteStatus,
}

impl Worker {
    fn run(mut self, orders: &Receiver<Order>) {
        loop {
            match orders.recv_timeout(self.due().saturating_duration_since(Instant::now())) {
                Ok(Order::Changed) => self.note_change(),
                Ok(Order::TakeOver(ticket)) => {
                    let done = self.take_over();
                    let _ = self.tell.send(OffsiteNews::TakenOver(ticket, done));
                }
                Ok(Order::Close(done)) => {
                    self.finish();
                    let _ = done.send(());
                    return;
                }
                Err(RecvTimeoutError::Timeout) => self.act(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// When the next action is due.
    fn due(&self) -> Instant {
        if self.pusher.is_none() {
            return self.not_before;
        }
        let push =
            self.unpushed.map(|(first, last)| (last + IDLE).min(first + MAX_DELAY).max(self.not_before));
        push.map_or(self.next_renewal, |push| push.min(self.next_renewal))
    }

    fn note_change(&mut self) {
        let now = Instant::now();
        self.unpushed = Some((self.unpushed.map_or(now, |(first, _)| first), now));
    }

    fn act(&mut self) {
        match &self.pusher {
            None => drop(self.begin(Claim::default())),
            Some(pusher) if self.next_renewal <= Instant::now() => match pusher.renew() {
                Ok(None) => {
                    self.next_renewal = Instant::now() + Pusher::RENEWAL;
                    self.works_again();
                }
                Ok(Some(holder)) => self.lose(&holder),
                Err(problem) => {
                    self.wait(&problem);
                    self.next_renewal = self.not_before;
                }
            },
            Some(_) => self.push(),
        }
    }

    /// Claims the lease, and pushes. Fails if this server does not hold the lease afterwards.
    fn begin(&mut self, claim: Claim) -> Result<(), Problem> {
        match Pusher::begin(&self.store, &self.dir, &self.name, &self.key, claim) {
            Ok(Begun::Ready(pusher)) => {
                self.pusher = Some(pusher);
                self.next_renewal = Instant::now() + Pusher::RENEWAL;
                self.push();
                Ok(())
            }
            Ok(Begun::Held(holder)) => {
                let why = format!("{} has it open since {}", holder.in_words(), holder.since_in_words());
                self.hold(why.clone(), HELD_HOW, Some(holder.since));
                Err(Problem::new(Kind::Conflict, format!("push {}", self.name), why, HELD_HOW))
            }
            Ok(Begun::Behind(problem)) => {
                self.hold(problem.why.clone(), &problem.how, None);
                Err(problem)
            }
            Err(problem) => {
                self.wait(&problem);
                Err(problem)
            }
        }
    }

    fn push(&mut self) {
        let Some(pusher) = &mut self.pusher else { return };
        if self.status.phase != OffsitePhase::Waiting {
            set(
                &mut self.status,
                &self.tell,
                OffsiteStatus { phase: OffsitePhase::Pushing, ..OffsiteStatus::default() },
            );
        }
        let unpushed = self.unpushed.take();
        let began = Instant::now();
        match pusher.push(&self.stop) {
            Ok(Pushed::Unchanged | Pushed::Done(..)) => {
                self.not_before = Instant::now() + began.elapsed() * REST;
                self.works_again();
            }
            Ok(Pushed::TakenBy(holder)) => self.lose(&holder),
            Err(problem) => {
                self.unpushed = unpushed;
                self.wait(&problem);
            }
        }
    }

    fn take_over(&mut self) -> Result<(), Problem> {
        if self.pusher.is_some() {
            return Ok(());
        }
        self.begin(Claim { take_over: true, replace: true })
    }

    /// The store has answered.
    fn works_again(&mut self) {
        self.pause = FIRST_PAUSE;
        if self.unpushed.is_none() {
            let pushed =
                OffsiteStatus { phase: OffsitePhase::Pushed, at: Some(now_ms()), ..OffsiteStatus::default() };
            // A renewal pushes nothing, so the time of the last push stays.
            if self.status.phase != OffsitePhase::Pushed {
                set(&mut self.status, &self.tell, pushed);
            }
        }
    }

    /// The store does not answer, or refuses.
    fn wait(&mut self, problem: &Problem) {
        self.not_before = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        let since = match self.status.phase {
            OffsitePhase::Waiting => self.status.at,
            _ => Some(now_ms()),
        };
        let (why, how) = (Some(problem.why.clone()), Some(problem.how.clone()));
        set(
            &mut self.status,
            &self.tell,
            OffsiteStatus { phase: OffsitePhase::Waiting, at: since, why, how },
        );
    }

    /// Another server has taken the lease over.
    fn lose(&mut self, holder: &Holder) {
        self.pusher = None;
        let why =
            format!("{} has taken it over; what was not pushed is in this copy only", holder.in_words());
        self.hold(why, HELD_HOW, None);
    }

    /// This server may not push, so its copy is read-only.
    fn hold(&mut self, why: String, how: &str, since: Option<f64>) {
        self.not_before = Instant::now() + HELD_PAUSE;
        let (why, how) = (Some(why), Some(how.to_owned()));
        set(&mut self.status, &self.tell, OffsiteStatus { phase: OffsitePhase::Held, at: since, why, how });
    }

    /// Pushes the rest. Keeps the lease if that fails, so that nobody continues without the rest.
    fn finish(&mut self) {
        if self.unpushed.is_some() && self.pusher.is_some() {
            self.push();
        }
        if self.unpushed.is_none()
            && let Some(pusher) = self.pusher.take()
        {
            pusher.release();
        }
    }
}

const HELD_HOW: &str =
    "copy the notebook under another name, or take it over; the other copy is then read-only";

/// Changes the status, and reports it if it is another one.
fn set(status: &mut OffsiteStatus, tell: &mpsc::UnboundedSender<OffsiteNews>, new: OffsiteStatus) {
    if *status != new {
        *status = new.clone();
        // Fails if the notebook was closed.
        let _ = tell.send(OffsiteNews::Status(new));
    }
}
