//! The handle on one open notebook: `Session` sends commands, reads the notebook and subscribes to
//! its events. All requests go through the actor's inbox, so they have one order and need no lock.

use super::machine::{Adopted, Standing, Visitor};
use crate::blocking_pool::BlockingPool;
use crate::notebook::{Caret, Command, KeptCredentials, Notebook, Pieces, Reply, Snapshot, StateId};
use crate::problem::{Kind, Problem};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::{mpsc, oneshot};

/// A request to the actor. Reports of processes have another inbox, of lower priority.
pub(super) enum Ask {
    /// Carry out a command and answer it.
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
    /// End all runs and put a copy of the notebook into the trash, unless it is empty.
    SetAside(oneshot::Sender<Result<(), Problem>>),
    /// Add a state that was read from a file.
    Adopt(Box<Adopted>, oneshot::Sender<Reply>),
    /// Send the whole notebook with its visitors.
    Snapshot(oneshot::Sender<Snapshot>),
    /// Send the events after a position, and all later ones.
    Subscribe(Option<Position>, oneshot::Sender<Subscription>),
    /// End all processes and stop.
    Close(oneshot::Sender<()>),
}

/// Called once with the reply to a command, and with the notebook at that moment.
pub(super) type OnReply = Box<dyn FnOnce(&Notebook, Reply) + Send>;

/// A client's position in the stream of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Identifies one opening of the notebook. Each time it is opened it gets a new epoch.
    pub epoch: String,
    /// The number of the last event seen; events are numbered without gaps.
    pub seq: u64,
}

/// What a client missed.
#[derive(Debug)]
pub enum Missed {
    /// The events after the client's position, each as one JSON text.
    Events(Vec<Arc<str>>),
    /// A snapshot, for a client that is new or has missed too much: a JSON text, split into pieces.
    Whole(Box<Pieces>),
}

/// A client's subscription to the stream of events.
#[derive(Debug)]
pub struct Subscription {
    /// What the client missed.
    pub missed: Missed,
    /// All later events. The channel closes if the client is too slow or the notebook is closed.
    /// Then subscribe again.
    pub events: mpsc::Receiver<Arc<str>>,
}

/// A handle on one open notebook. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Session {
    name: Arc<str>,
    files: Arc<NotebookFiles>,
    inbox: mpsc::Sender<Ask>,
    threads: BlockingPool,
    visitors: Arc<AtomicU64>,
    close_reason: Arc<OnceLock<CloseReason>>,
}

/// Why a notebook was closed while the server keeps running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The notebook was renamed to this.
    Renamed(String),
    /// The notebook was deleted.
    Deleted,
}

/// A client's presence. It ends when this value is dropped.
#[derive(Debug)]
pub struct Visit {
    visitor: Visitor,
    /// What the client may do: `owner`, `run` or `view`.
    scope: &'static str,
    session: Session,
}

impl Visit {
    /// Notes which state the client looks at, and the name of its user.
    pub async fn stand(&self, state: StateId, name: Option<String>, caret: Option<Caret>) -> Reply {
        let (tx, rx) = oneshot::channel();
        let standing = Standing { scope: self.scope, state, name, caret };
        self.session.send(Ask::Stand(self.visitor, standing, tx), rx).await.unwrap_or_else(Reply::Refused)
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let (inbox, left) = (self.session.inbox.clone(), Ask::Left(self.visitor));
        if let Err(mpsc::error::TrySendError::Full(left)) = inbox.try_send(left)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // Fails if the notebook was closed meanwhile, which has ended the presence, too.
            runtime.spawn(async move { drop(inbox.send(left).await) });
        }
    }
}

/// Where a notebook is stored, and what was found there when it was opened.
#[derive(Debug)]
pub struct NotebookFiles {
    /// The notebook's own id.
    pub notebook_id: String,
    /// The folder of its blobs.
    pub blobs: PathBuf,
    /// Its share links and browser sessions.
    pub credentials: KeptCredentials,
    /// What was damaged and set aside, as sentences to show to users.
    pub damage: Vec<String>,
}

impl Session {
    pub(super) fn new(
        name: &str,
        files: NotebookFiles,
        inbox: mpsc::Sender<Ask>,
        threads: BlockingPool,
    ) -> Self {
        Self {
            name: name.into(),
            files: Arc::new(files),
            inbox,
            threads,
            visitors: Arc::default(),
            close_reason: Arc::default(),
        }
    }

    /// Where the notebook is stored, and what was found there when it was opened.
    pub fn files(&self) -> &NotebookFiles {
        &self.files
    }

    /// The threads for work that waits for the disk.
    pub(super) fn threads(&self) -> &BlockingPool {
        &self.threads
    }

    /// The notebook's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a client. Other clients see it once it says which state it looks at.
    pub fn visit(&self, scope: &'static str) -> Visit {
        let visitor = Visitor(self.visitors.fetch_add(1, Ordering::Relaxed) + 1);
        Visit { visitor, scope, session: self.clone() }
    }

    /// Carries out a command and waits for its reply; a run is answered when it has ended. The
    /// command continues if the future is dropped. A reset first puts a copy of the notebook into
    /// the trash.
    pub async fn ask(&self, command: Command) -> Reply {
        self.ask_then(command, |_, reply| reply).await.unwrap_or_else(Reply::Refused)
    }

    /// Carries out a command, and calls `read` with the notebook and the reply at the moment of the
    /// reply. Both take one pass through the inbox.
    ///
    /// # Errors
    /// `Problem` when the notebook has been closed, or before a reset no copy of it could be put
    /// into the trash.
    pub async fn ask_then<T: Send + 'static>(
        &self,
        command: Command,
        read: impl FnOnce(&Notebook, Reply) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        if matches!(command, Command::Reset) {
            self.set_aside().await?;
        }
        let (tx, rx) = oneshot::channel();
        // Fails if the requester no longer waits. The command was carried out anyway.
        let answer = move |notebook: &Notebook, reply| drop(tx.send(read(notebook, reply)));
        self.send(Ask::Command(command, Box::new(answer)), rx).await
    }

    /// Calls `look` with the notebook, between two events.
    ///
    /// # Errors
    /// `Problem` when the notebook has been closed.
    pub async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Notebook) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (tx, rx) = oneshot::channel();
        let look = Box::new(move |notebook: &Notebook| {
            // Fails if the requester no longer waits.
            let _ = tx.send(look(notebook));
        });
        self.send(Ask::Read(look), rx).await
    }

    /// The whole notebook with its visitors.
    ///
    /// # Errors
    /// `Problem` when the notebook has been closed.
    pub async fn snapshot(&self) -> Result<Snapshot, Problem> {
        let (tx, rx) = oneshot::channel();
        self.send(Ask::Snapshot(tx), rx).await
    }

    /// Subscribes to the events after `since`. Without a position, or with one that is unknown or
    /// too old, the subscription begins with a snapshot.
    ///
    /// # Errors
    /// `Problem` when the notebook has been closed.
    pub async fn subscribe(&self, since: Option<Position>) -> Result<Subscription, Problem> {
        let (tx, rx) = oneshot::channel();
        self.send(Ask::Subscribe(since, tx), rx).await
    }

    /// Replaces the share links and browser sessions on disk.
    ///
    /// # Errors
    /// `Problem` when the disk cannot be written, or the notebook has been closed. The earlier
    /// share links and browser sessions then stay on disk.
    pub async fn keep_credentials(&self, credentials: KeptCredentials) -> Result<(), Problem> {
        let (tx, rx) = oneshot::channel();
        self.send(Ask::KeepCredentials(credentials, tx), rx).await?
    }

    /// Adds a state that was read from a file. Its blobs must be stored already. The reply is that
    /// of a run that has ended.
    pub async fn adopt(&self, adopted: Adopted) -> Reply {
        let (tx, rx) = oneshot::channel();
        self.send(Ask::Adopt(Box::new(adopted), tx), rx).await.unwrap_or_else(Reply::Refused)
    }

    /// Copies the notebook, as it is now, to another directory. Running cells continue.
    ///
    /// # Errors
    /// `Problem` when the name is taken, the disk cannot be written, or the notebook has been
    /// closed.
    pub(super) async fn copy_to(&self, dir: PathBuf) -> Result<(), Problem> {
        let (tx, rx) = oneshot::channel();
        self.send(Ask::Copy(dir, tx), rx).await?
    }

    /// Ends all runs and puts a copy of the notebook into the trash. The runs end even if the copy
    /// cannot be made: users also reset a notebook to stop cells that nothing else stops.
    async fn set_aside(&self) -> Result<(), Problem> {
        let (tx, rx) = oneshot::channel();
        self.send(Ask::SetAside(tx), rx).await?.map_err(|refused| Problem {
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

    /// Ends all processes of the notebook.
    pub async fn close(&self) {
        let (tx, rx) = oneshot::channel();
        // Fails if the notebook is closed already.
        let _ = self.send(Ask::Close(tx), rx).await;
    }

    async fn send<T>(&self, ask: Ask, answer: oneshot::Receiver<T>) -> Result<T, Problem> {
        let closed = || {
            Problem::new(
                Kind::Closed,
                format!("use notebook {}", self.name),
                "it has been closed",
                "open it again",
            )
        };
        self.inbox.send(ask).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())
    }
}
