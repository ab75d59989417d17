//! The handle on one open notebook: `Session` sends commands, reads the notebook and subscribes to
//! its events. All requests go through the actor's inbox, so they have one order and need no lock.

use super::machine::{Adopted, Standing, Visitor};
use super::permit::{Owner, Permitted, Scope};
use super::system_memory;
use crate::blocking_pool::BlockingPool;
use crate::kernel::ReadyPython;
use crate::notebook::{
    AgentStatus, Caret, Command, KeptCredentials, Notebook, Pieces, Reply, Snapshot, StateId,
};
use crate::problem::{Kind, Problem};
use crate::store::Attachments;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, mpsc, oneshot};

/// How long measured memory is answered again without another measurement, at least, and as a
/// multiple of the time that the measurement took. So clients that ask often use at most a
/// twentieth of a core.
const MEMORY_IS_NEW: Duration = Duration::from_secs(2);
const MEMORY_IS_NEW_TIMES: u32 = 20;

/// A request to the actor. Process reports have another inbox, which has lower priority.
pub(super) enum Ask {
    /// Carry out a command and send the answer.
    Command(Command, OnReply),
    /// Note which state a client looks at.
    Stand(Visitor, Standing, oneshot::Sender<Reply>),
    /// Forget a client's presence.
    Left(Visitor),
    /// Call a function with the notebook.
    Read(Box<dyn FnOnce(&Notebook) + Send>),
    /// Replace the share links and browser sessions on disk.
    KeepCredentials(KeptCredentials, oneshot::Sender<Result<(), Problem>>),
    /// Copy the notebook to another directory.
    Copy(PathBuf, oneshot::Sender<Result<(), Problem>>),
    /// End all runs, and put a copy of the notebook into the trash unless the notebook is empty.
    SetAside(oneshot::Sender<Result<(), Problem>>),
    /// Add a state that was imported from a file.
    Adopt(Box<Adopted>, oneshot::Sender<Reply>),
    /// Send the process ids of all processes of the notebook.
    Pids(oneshot::Sender<HashSet<i32>>),
    /// Send the whole notebook with its visitors.
    Snapshot(oneshot::Sender<Snapshot>),
    /// Send the events after a position, and all later ones.
    Subscribe(Since, oneshot::Sender<Subscription>),
    /// Restart the notebook in this Python. The flag is true if the notebook chose the Python.
    UsePython(Box<ReadyPython>, bool, oneshot::Sender<Reply>),
    /// End all processes, then stop the actor.
    Close(oneshot::Sender<()>),
}

/// Called once, with the notebook and the reply to a command.
pub(super) type OnReply = Box<dyn FnOnce(&Notebook, Reply) + Send>;

/// A client's position in the stream of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Identifies one opening of the notebook. Each opening has a new epoch.
    pub epoch: String,
    /// The number of the last event that the client received. Events are numbered without gaps.
    pub seq: u64,
}

/// Where a subscription to the stream of events begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Since {
    /// With a snapshot.
    #[default]
    Beginning,
    /// After a position. If the position is unknown or too old, with a snapshot.
    Position(Position),
    /// With the next event.
    Now,
}

/// The events that a client missed.
#[derive(Debug)]
pub enum Missed {
    /// The events after the client's position. Each is one JSON text.
    Events(Vec<Arc<str>>),
    /// A snapshot as one JSON text in pieces, for a client that is new or has missed too many
    /// events.
    Whole(Box<Pieces>),
}

/// A client's subscription to the stream of events.
#[derive(Debug)]
pub struct Subscription {
    /// Identifies this opening of the notebook. What a client learned in another one may be lost.
    pub epoch: String,
    /// What the client missed.
    pub missed: Missed,
    /// All later events. The channel closes if the client is too slow or the notebook is closed.
    /// The client then subscribes again.
    pub events: mpsc::Receiver<Arc<str>>,
}

/// A handle on one open notebook. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Session {
    name: Arc<str>,
    files: Arc<NotebookFiles>,
    inbox: mpsc::UnboundedSender<Ask>,
    threads: BlockingPool,
    visitors: Arc<AtomicU64>,
    close_reason: Arc<OnceLock<CloseReason>>,
    /// The last measurement of the memory, and until when it is new. Locked while one is made.
    memory: Arc<Mutex<Option<(Instant, MemoryTotals)>>>,
}

/// Memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryTotals {
    /// Of all processes of the notebook, and of the processes that its cells started. Memory that
    /// several of them share counts once.
    pub notebook: u64,
    /// Of the computer, available without swapping.
    pub available: u64,
    /// Of the computer.
    pub total: u64,
}

/// Why a notebook was closed although the server continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The notebook was renamed; this is its new name.
    Renamed(String),
    /// The notebook was deleted.
    Deleted,
}

/// A client's presence. It ends when this value is dropped.
#[derive(Debug)]
pub struct Visit {
    visitor: Visitor,
    scope: Scope,
    identity: Arc<str>,
    session: Session,
}

impl Visit {
    /// Notes which state the client looks at, the name of the user, the user's caret, the cell that
    /// has the focus, the participant whom the client follows, and whether it is an agent.
    pub async fn stand(
        &self,
        state: StateId,
        name: Option<String>,
        caret: Option<Caret>,
        cell: Option<String>,
        follows: Option<String>,
        agent: Option<AgentStatus>,
    ) -> Reply {
        let (scope, identity) = (self.scope, self.identity.clone());
        let standing = Standing { scope, identity, state, name, caret, cell, follows, agent };
        self.session.send(|tx| Ask::Stand(self.visitor, standing, tx)).await.unwrap_or_else(Reply::Refused)
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        // If the notebook was closed, the presence has ended, too.
        self.session.put(Ask::Left(self.visitor));
    }
}

/// Where a notebook is stored, and the content of its directory when it was opened.
#[derive(Debug)]
pub struct NotebookFiles {
    /// The directory of the notebook's blobs.
    pub blobs: PathBuf,
    /// The pictures that users pasted into the notebook's texts.
    pub attachments: Attachments,
    /// The notebook's share links and browser sessions.
    pub credentials: KeptCredentials,
}

impl Session {
    pub(super) fn new(
        name: &str,
        files: NotebookFiles,
        inbox: mpsc::UnboundedSender<Ask>,
        threads: BlockingPool,
    ) -> Self {
        Self {
            name: name.into(),
            files: Arc::new(files),
            inbox,
            threads,
            visitors: Arc::default(),
            close_reason: Arc::default(),
            memory: Arc::default(),
        }
    }

    /// Where the notebook is stored, and the content of its directory when it was opened.
    pub fn files(&self) -> &NotebookFiles {
        &self.files
    }

    /// The threads for blocking disk operations.
    pub(super) fn threads(&self) -> &BlockingPool {
        &self.threads
    }

    /// The notebook's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a client. Other clients see the client after it reports which state it looks at.
    /// `identity` is the same for all visits of one browser or one agent.
    pub fn visit(&self, scope: Scope, identity: &str) -> Visit {
        let visitor = Visitor(self.visitors.fetch_add(1, Ordering::Relaxed) + 1);
        Visit { visitor, scope, identity: identity.into(), session: self.clone() }
    }

    /// Carries out a command and waits for its reply. The reply to a run comes when the run has
    /// ended. The command is completed even if the future is dropped after its first poll. A reset
    /// first puts a copy of the notebook into the trash.
    ///
    /// # Errors
    /// Those of `ask_then`.
    pub async fn ask(&self, permitted: Permitted) -> Result<Reply, Problem> {
        self.ask_then(permitted, |_, reply| reply).await
    }

    /// Carries out a command, and calls `read` with the notebook and the reply before the notebook
    /// changes again.
    ///
    /// # Errors
    /// `Problem` when the notebook has been closed, or when a reset could not put a copy of the
    /// notebook into the trash.
    pub async fn ask_then<T: Send + 'static>(
        &self,
        permitted: Permitted,
        read: impl FnOnce(&Notebook, Reply) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let command = permitted.into_command();
        let is_reset = matches!(command, Command::Reset);
        let ask = move |tx: oneshot::Sender<T>| {
            // The send fails if the requester no longer waits. The command was carried out
            // nevertheless.
            let answer = move |notebook: &Notebook, reply| drop(tx.send(read(notebook, reply)));
            Ask::Command(command, Box::new(answer))
        };
        if !is_reset {
            return self.send(ask).await;
        }
        let session = self.clone();
        let reset = tokio::spawn(async move {
            session.set_aside().await?;
            session.send(ask).await
        });
        reset.await.map_err(|_| Problem::internal("a part of the server failed"))?
    }

    /// Calls `look` with the notebook, which does not change during the call.
    ///
    /// # Errors
    /// `Problem` when the notebook has been closed.
    pub async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Notebook) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        // The send fails if the requester no longer waits.
        let ask = |tx: oneshot::Sender<T>| {
            Ask::Read(Box::new(move |notebook: &Notebook| drop(tx.send(look(notebook)))))
        };
        self.send(ask).await
    }

    /// The whole notebook with its visitors.
    ///
    /// # Errors
    /// `Problem` when the notebook has been closed.
    pub async fn snapshot(&self) -> Result<Snapshot, Problem> {
        self.send(Ask::Snapshot).await
    }

    /// Subscribes to the events after `since`.
    ///
    /// # Errors
    /// `Problem` when the notebook has been closed.
    pub async fn subscribe(&self, since: Since) -> Result<Subscription, Problem> {
        self.send(|tx| Ask::Subscribe(since, tx)).await
    }

    /// The memory of the notebook and of the computer. It may have been measured some seconds ago.
    ///
    /// # Errors
    /// `Problem` when the notebook has been closed.
    pub async fn memory(&self) -> Result<MemoryTotals, Problem> {
        let mut last = self.memory.lock().await;
        let began = Instant::now();
        if let Some((until, totals)) = *last
            && began < until
        {
            return Ok(totals);
        }
        let pids = self.send(Ask::Pids).await?;
        let measured = self.threads.run(move || MemoryTotals {
            notebook: system_memory::bytes_together(&pids),
            available: system_memory::available_bytes().unwrap_or_default(),
            total: system_memory::total_bytes().unwrap_or_default(),
        });
        let totals = measured.await?;
        *last = Some((Instant::now() + MEMORY_IS_NEW.max(began.elapsed() * MEMORY_IS_NEW_TIMES), totals));
        Ok(totals)
    }

    /// Replaces the share links and browser sessions on disk.
    ///
    /// # Errors
    /// `Problem` when the disk cannot be written, or the notebook has been closed. The earlier
    /// share links and browser sessions then stay on disk.
    pub async fn keep_credentials(&self, credentials: KeptCredentials) -> Result<(), Problem> {
        self.send(|tx| Ask::KeepCredentials(credentials, tx)).await?
    }

    /// Adds a state that was imported from a file. The state's blobs must be stored already. The
    /// reply is the reply of a run that has ended.
    pub async fn adopt(&self, adopted: Adopted) -> Reply {
        self.send(|tx| Ask::Adopt(Box::new(adopted), tx)).await.unwrap_or_else(Reply::Refused)
    }

    /// Restarts the notebook in this Python, and stores the choice; `is_chosen` is false for the
    /// server's default. Refused while cells run.
    pub async fn use_python(&self, _: Owner, python: ReadyPython, is_chosen: bool) -> Reply {
        let ask = |tx| Ask::UsePython(Box::new(python), is_chosen, tx);
        self.send(ask).await.unwrap_or_else(Reply::Refused)
    }

    /// Copies the notebook in its current state to another directory. Running cells continue.
    ///
    /// # Errors
    /// `Problem` when the name is taken, the disk cannot be written, or the notebook has been
    /// closed.
    pub(super) async fn copy_to(&self, dir: PathBuf) -> Result<(), Problem> {
        self.send(|tx| Ask::Copy(dir, tx)).await?
    }

    /// Ends all runs and puts a copy of the notebook into the trash. The runs end even if the copy
    /// fails, because users also reset a notebook to end cells that do not stop otherwise.
    async fn set_aside(&self) -> Result<(), Problem> {
        self.send(Ask::SetAside).await?.map_err(|refused| Problem {
            what: format!("reset notebook {}", self.name),
            why: format!("no copy could be put into the trash: {}", refused.why),
            how: format!("{}; all its cells were stopped, and nothing was deleted", refused.how),
            ..refused
        })
    }

    /// Why the notebook was closed, if it was renamed or deleted.
    pub fn close_reason(&self) -> Option<&CloseReason> {
        self.close_reason.get()
    }

    pub(super) fn set_close_reason(&self, reason: CloseReason) {
        // The first close reason wins.
        let _ = self.close_reason.set(reason);
    }

    /// Ends all processes of the notebook, and its actor.
    pub async fn close(&self) {
        // The send fails if the notebook is closed already.
        let _ = self.send(Ask::Close).await;
    }

    /// Puts the request that `ask` makes into the inbox, and waits for the answer.
    async fn send<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Result<T, Problem> {
        let closed = || {
            Problem::new(
                Kind::Closed,
                format!("use notebook {}", self.name),
                "it has been closed",
                "open it again",
            )
        };
        let (tx, answer) = oneshot::channel();
        self.put(ask(tx));
        answer.await.map_err(|_| closed())
    }

    /// Puts a request into the inbox. It arrives in the order of the calls, also if nobody waits
    /// for the answer. It is dropped if the notebook has been closed.
    fn put(&self, ask: Ask) {
        let _ = self.inbox.send(ask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn requests_arrive_in_their_order_after_their_requesters_have_left() {
        const REQUESTS: usize = 1000;
        let files = NotebookFiles {
            blobs: PathBuf::new(),
            attachments: Attachments::in_notebook(std::path::Path::new("")),
            credentials: KeptCredentials::default(),
        };
        let (inbox, mut asked) = mpsc::unbounded_channel();
        let session = Session::new("main", files, inbox, BlockingPool::start().unwrap());
        let read = Arc::new(std::sync::Mutex::new(Vec::new()));
        for at in 0..REQUESTS {
            let read = read.clone();
            let request = session.read(move |_| read.lock().unwrap().push(at));
            assert!(request.now_or_never().is_none(), "nobody answers");
        }
        let notebook = Notebook::new("main", 0.0);
        for _ in 0..REQUESTS {
            let Some(Ask::Read(look)) = asked.recv().await else { panic!("another request") };
            look(&notebook);
        }
        assert_eq!(*read.lock().unwrap(), (0..REQUESTS).collect::<Vec<_>>());
    }
}
