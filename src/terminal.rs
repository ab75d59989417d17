//! Terminals: shells of the owner, each behind a pseudo-terminal.
//!
//! A terminal lives as long as its shell, at most as long as the server. Pages attach to it and
//! leave again: it keeps its last output for those that come later. A page that reads more slowly
//! than the shell writes misses output in between, and never holds up the shell or the server.

use crate::problem::{Kind, Problem};
use pty_process::{Command, OwnedReadPty, OwnedWritePty, Size};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::sync::{broadcast, mpsc};

/// Maximum number of terminals.
const MAX_TERMINALS: usize = 32;

/// Bytes of its last output that a terminal keeps.
const KEPT_BYTES: usize = 512 * 1024;

/// Maximum bytes of one piece of output.
const PIECE_BYTES: usize = 16 * 1024;

/// Pieces of output that wait for a page that reads slowly, before it misses some.
const WAITING_PIECES: usize = 64;

/// Orders that wait for a shell that does not read.
const WAITING_ORDERS: usize = 64;

/// How long a shell may take to end after its terminal was closed.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Variables that the server may have and that its shells do not get: the credentials of this
/// server, and what would make a shell's `ratoon` believe that it is this server.
const HIDDEN: [&str; 3] = ["RATOON_TOKEN", "RATOON_INSTALLED_IN", "RATOON_WORKERS_KEY"];

/// The terminals of a server.
#[derive(Debug)]
pub struct Terminals {
    /// The program that is started: the user's shell.
    shell: PathBuf,
    /// The directory in which shells start.
    dir: PathBuf,
    /// The directories in which shells find programs.
    path: Vec<PathBuf>,
    all: Arc<Mutex<All>>,
}

#[derive(Debug, Default)]
struct All {
    last: u32,
    open: BTreeMap<u32, Terminal>,
}

/// An open terminal, as its task and the pages share it.
#[derive(Clone, Debug)]
struct Terminal {
    orders: mpsc::Sender<Order>,
    screen: Arc<Mutex<Screen>>,
}

/// What a page asks of a terminal.
#[derive(Debug)]
pub enum Order {
    /// The user typed, or pasted.
    Type(Vec<u8>),
    /// The page shows this many rows and columns.
    Resize(u16, u16),
    /// Ends the shell.
    Close,
}

/// The last output of a terminal, and who gets what follows.
#[derive(Debug)]
struct Screen {
    kept: VecDeque<u8>,
    /// `None` after the shell has ended.
    pages: Option<broadcast::Sender<Arc<[u8]>>>,
}

impl Screen {
    fn add(&mut self, piece: &[u8]) {
        let surplus = (self.kept.len() + piece.len()).saturating_sub(KEPT_BYTES);
        self.kept.drain(..surplus.min(self.kept.len()));
        self.kept.extend(piece);
        // Sending fails if no page is attached.
        let _ = self.pages.as_ref().map(|pages| pages.send(piece.into()));
    }
}

/// A page's connection to a terminal.
#[derive(Debug)]
pub struct Attached {
    terminal: Terminal,
    pages: Option<broadcast::Receiver<Arc<[u8]>>>,
}

/// What a page gets from a terminal.
#[derive(Debug)]
pub enum Shown {
    /// All of the output that is kept: it replaces what the page shows.
    All(Vec<u8>),
    /// Further output.
    More(Arc<[u8]>),
    /// The shell has ended.
    Ended,
}

impl Attached {
    /// The kept output. Further output follows it.
    pub fn all(&mut self) -> Shown {
        let screen = lock(&self.terminal.screen);
        self.pages = screen.pages.as_ref().map(broadcast::Sender::subscribe);
        Shown::All(screen.kept.iter().copied().collect())
    }

    /// Waits for further output. If the page has missed some, returns all that is kept.
    pub async fn next(&mut self) -> Shown {
        let Some(pages) = &mut self.pages else { return Shown::Ended };
        match pages.recv().await {
            Ok(piece) => Shown::More(piece),
            Err(broadcast::error::RecvError::Lagged(_)) => self.all(),
            Err(broadcast::error::RecvError::Closed) => Shown::Ended,
        }
    }

    /// Where the page sends what it asks.
    pub fn orders(&self) -> mpsc::Sender<Order> {
        self.terminal.orders.clone()
    }
}

impl Terminals {
    /// No terminals yet. Each will run the program `shell` in the directory `dir`, with the
    /// directories `path` in `PATH`.
    pub fn new(shell: PathBuf, dir: PathBuf, path: Vec<PathBuf>) -> Self {
        Self { shell, dir, path, all: Arc::default() }
    }

    /// Starts a shell. Returns the number of its terminal.
    ///
    /// # Errors
    /// When there are too many terminals, or the shell cannot be started.
    pub fn open(&self) -> Result<u32, Problem> {
        let refused = |kind, why: String, how| Problem::new(kind, "open a terminal", why, how);
        if lock(&self.all).open.len() >= MAX_TERMINALS {
            let why = format!("{MAX_TERMINALS} terminals are open");
            return Err(refused(Kind::Busy, why, "close one"));
        }
        let (child, pty) = self.start().map_err(|error| {
            refused(Kind::Internal, error.to_string(), "check $SHELL, and that /dev/pts is mounted")
        })?;
        let (orders, to_do) = mpsc::channel(WAITING_ORDERS);
        let pages = Some(broadcast::channel(WAITING_PIECES).0);
        let terminal =
            Terminal { orders, screen: Arc::new(Mutex::new(Screen { kept: VecDeque::new(), pages })) };
        let mut all = lock(&self.all);
        all.last += 1;
        let number = all.last;
        all.open.insert(number, terminal.clone());
        drop(all);
        let all = self.all.clone();
        tokio::spawn(async move {
            attend(child, pty, to_do, &terminal.screen).await;
            // The list first: pages that see the end may ask for it.
            lock(&all).open.remove(&number);
            lock(&terminal.screen).pages = None;
        });
        Ok(number)
    }

    fn start(&self) -> io::Result<(Child, pty_process::Pty)> {
        let as_io = |error| match error {
            pty_process::Error::Io(error) => error,
            other => io::Error::other(other),
        };
        // A directory with a colon in its name cannot be in `PATH`.
        let path = self.path.iter().filter(|dir| std::env::join_paths([dir]).is_ok());
        let path = std::env::join_paths(path).map_err(io::Error::other)?;
        let (pty, inside) = pty_process::open().map_err(as_io)?;
        let command = Command::new(&self.shell)
            .current_dir(&self.dir)
            .env("TERM", "xterm-256color")
            .env("COLORTERM", "truecolor")
            .env("PATH", path)
            .kill_on_drop(true);
        let command = HIDDEN.iter().fold(command, |command, name| command.env_remove(name));
        Ok((command.spawn(inside).map_err(as_io)?, pty))
    }

    /// The numbers of the open terminals.
    pub fn list(&self) -> Vec<u32> {
        lock(&self.all).open.keys().copied().collect()
    }

    /// Attaches a page to a terminal. `None` if there is no such terminal.
    pub fn attach(&self, number: u32) -> Option<Attached> {
        let terminal = lock(&self.all).open.get(&number)?.clone();
        Some(Attached { terminal, pages: None })
    }
}

/// Passes on the output of a shell, and carries out orders, until the shell ends or is closed.
async fn attend(
    mut child: Child,
    pty: pty_process::Pty,
    mut orders: mpsc::Receiver<Order>,
    screen: &Mutex<Screen>,
) {
    let (output, input) = pty.into_split();
    tokio::select! {
        () = pass_on(output, screen) => (),
        () = carry_out(input, &mut orders) => (),
    }
    // Both halves are gone, so the shell and what runs in its foreground have got SIGHUP.
    if tokio::time::timeout(END_TIMEOUT, child.wait()).await.is_err() {
        // A shell that cannot be killed stays with the server's other processes, which end with it.
        let _ = child.kill().await;
    }
}

async fn pass_on(mut output: OwnedReadPty, screen: &Mutex<Screen>) {
    let mut piece = vec![0; PIECE_BYTES];
    // Reading fails when the last program that has the terminal open has ended.
    while let Ok(length @ 1..) = output.read(&mut piece).await {
        lock(screen).add(&piece[..length]);
    }
}

async fn carry_out(mut input: OwnedWritePty, orders: &mut mpsc::Receiver<Order>) {
    while let Some(order) = orders.recv().await {
        match order {
            // If typing fails, the shell is about to end, and `pass_on` notices that.
            Order::Type(text) => _ = input.write_all(&text).await,
            // A size that the terminal does not take changes nothing.
            Order::Resize(rows, columns) => _ = input.resize(Size::new(rows, columns)),
            Order::Close => return,
        }
    }
}

/// Locks a value. A panic elsewhere leaves these values whole.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Terminals with a shell that keeps no history.
    fn terminals() -> Terminals {
        let path = ["/python/of/cells", "/usr/bin", "/bin"].map(PathBuf::from);
        Terminals::new("/bin/sh".into(), std::env::temp_dir(), path.into())
    }

    /// Waits until a terminal has shown a text.
    async fn until(attached: &mut Attached, wanted: &str) -> String {
        let mut shown = Vec::new();
        loop {
            match attached.next().await {
                Shown::All(all) => shown = all,
                Shown::More(piece) => shown.extend_from_slice(&piece),
                Shown::Ended => panic!("ended after {:?}", String::from_utf8_lossy(&shown)),
            }
            if String::from_utf8_lossy(&shown).contains(wanted) {
                return String::from_utf8_lossy(&shown).into_owned();
            }
        }
    }

    #[tokio::test]
    async fn a_terminal_shows_its_output_to_all_pages_also_later_and_ends_with_its_shell() {
        let terminals = terminals();
        let number = terminals.open().unwrap();
        let mut first = terminals.attach(number).unwrap();
        first.all();
        first.orders().send(Order::Resize(11, 77)).await.unwrap();
        first
            .orders()
            .send(Order::Type(b"stty size; echo $PATH; echo $((40 + 2))$TERM\n".to_vec()))
            .await
            .unwrap();
        let shown = until(&mut first, "42xterm").await;
        assert!(shown.contains("11 77") && shown.contains("/python/of/cells:"), "{shown}");
        let mut second = terminals.attach(number).unwrap();
        let Shown::All(all) = second.all() else { panic!("not all") };
        assert!(String::from_utf8_lossy(&all).contains("42xterm"));
        assert_eq!(terminals.list(), [number]);
        second.orders().send(Order::Type(b"exit\n".to_vec())).await.unwrap();
        while !matches!(first.next().await, Shown::Ended) {}
        assert!(terminals.list().is_empty() && terminals.attach(number).is_none());
    }

    #[tokio::test]
    async fn a_page_that_reads_too_slowly_gets_what_is_kept_and_closing_ends_what_runs() {
        let terminals = terminals();
        let number = terminals.open().unwrap();
        let mut slow = terminals.attach(number).unwrap();
        let mut fast = terminals.attach(number).unwrap();
        slow.all();
        fast.all();
        let flood = b"head -c 3000000 /dev/zero | tr '\\0' x; echo; echo do''ne; sleep 1000\n";
        slow.orders().send(Order::Type(flood.to_vec())).await.unwrap();
        until(&mut fast, "done").await;
        let Shown::All(all) = slow.next().await else { panic!("it missed nothing") };
        assert!(all.len() <= KEPT_BYTES && String::from_utf8_lossy(&all).contains("done"));
        slow.orders().send(Order::Close).await.unwrap();
        while !matches!(fast.next().await, Shown::Ended) {}
        assert!(terminals.list().is_empty());
    }
}
