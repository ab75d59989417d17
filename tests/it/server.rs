//! A server for one test. It starts on a free port, and ends when the test ends.

use crate::cells::{Dir, Room};
use crate::request::{Answer, Request};
use crate::wire::Wire;
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, Once};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The owner's token of every test server.
pub const TOKEN: &str = "owner-token-of-the-tests";

/// How long a test waits before it fails. Even on a busy machine, only a hang takes this long.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Servers that tests have given back, each with an empty notebook and an empty directory. They end
/// when the test program ends, because their standard input closes.
static UNUSED: Mutex<Vec<TestServer>> = Mutex::new(Vec::new());
/// The options of a server that ends so.
const ENDS_WITH_THE_TESTS: [&str; 3] = ["--used-while-stdin-is-open", "--exit-when-unused", "1"];

pub struct TestServer {
    /// Is `None` only after the server was given back.
    child: Option<Child>,
    pub address: SocketAddr,
    /// The line with the URL, as the server printed it.
    pub greeting: String,
    options: Vec<String>,
    token: &'static str,
    errors: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
    /// The server's temporary directory, if the test did not choose a directory. It is deleted when
    /// this value is dropped.
    room: Option<Room>,
    /// Is there if the next test may use this server: removes `room` when the test program has
    /// ended, and the server after it. Then nobody drops this value.
    sweeper: Option<Child>,
}

impl TestServer {
    /// Returns a server with an empty notebook, whose cells run in an empty directory. Another test
    /// may have used it: starting a server with its Python takes longer than most tests.
    pub fn start() -> Self {
        Self::shared(&[])
    }

    /// Does the same for a server with options.
    pub fn shared(options: &[&str]) -> Self {
        let options = [&ENDS_WITH_THE_TESTS, options].concat();
        let mut unused = UNUSED.lock().unwrap();
        // The options end with the directory.
        let fits = |server: &Self| server.options[..server.options.len() - 2] == options;
        if let Some(at) = unused.iter().rposition(fits) {
            return unused.swap_remove(at);
        }
        drop(unused);
        let mut server = Self::start_with(&options);
        server.sweeper = Some(sweeper(server.pid(), server.room().path()));
        server
    }

    /// Starts a server that no other test uses. For tests of what a server has beside its notebook:
    /// memory, processes, log, trash, links.
    pub fn fresh() -> Self {
        Self::start_with(&[])
    }

    pub fn start_with(options: &[&str]) -> Self {
        let room = (!options.contains(&"--dir")).then(Room::new);
        let mut options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        if let Some(room) = &room {
            options.extend(["--dir".to_owned(), room.path().to_str().unwrap().to_owned()]);
        }
        let launched = launch(&[], "127.0.0.1:0", TOKEN, &options);
        let (_, greeting, errors, _) = &launched;
        let address = greeting.split(['/', ' ']).find_map(|part| part.parse().ok());
        let address =
            address.unwrap_or_else(|| panic!("no address in {greeting:?}: {}", errors.lock().unwrap()));
        Self::launched(launched, address, options, room)
    }

    /// Starts a server under another program, such as strace. `under` is the program with its
    /// options. Returns whether the server printed its address.
    pub fn start_under(under: &[&str]) -> (Self, bool) {
        let room = Room::new();
        let options = vec!["--dir".to_owned(), room.path().to_str().unwrap().to_owned()];
        let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let launched = launch(under, &address.to_string(), TOKEN, &options);
        let server = Self::launched(launched, address, options, Some(room));
        let has_begun = !server.greeting.is_empty();
        (server, has_begun)
    }

    fn launched(launched: Launched, address: SocketAddr, options: Vec<String>, room: Option<Room>) -> Self {
        let (child, greeting, errors, reader) = launched;
        Self {
            child: Some(child),
            address,
            greeting,
            options,
            token: TOKEN,
            errors,
            reader: Some(reader),
            room,
            sweeper: None,
        }
    }

    /// Starts a server again after it has ended, with the same options, directory and port. `under`
    /// is a program, with its options, that runs the server. Returns whether the server printed its
    /// address.
    pub fn start_again(&mut self, under: &[&str]) -> bool {
        assert!(self.child().try_wait().unwrap().is_some(), "the server still runs");
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        let bind = self.address.to_string();
        let (child, greeting, errors, reader) = launch(under, &bind, self.token, &self.options);
        let has_begun = !greeting.is_empty();
        (self.child, self.greeting, self.errors, self.reader) = (Some(child), greeting, errors, Some(reader));
        has_begun
    }

    /// Sets the owner's token for the next start.
    pub fn change_token(&mut self, token: &'static str) {
        self.token = token;
    }

    /// Kills the server, and starts it again with another notebook.
    pub fn restart_with(&mut self, notebook: &str) {
        self.kill();
        self.options.retain(|option| option != "main" && option != "other");
        self.options.push(notebook.to_owned());
        assert!(self.start_again(&[]), "it does not start again: {}", self.errors());
    }

    /// Kills the server with SIGKILL.
    pub fn kill(&mut self) {
        self.signal(nix::sys::signal::Signal::SIGKILL);
        self.wait();
    }

    /// Kills the server, and starts it again with the same options.
    pub fn restart(&mut self) {
        self.kill();
        assert!(self.start_again(&[]), "it does not start again: {}", self.errors());
    }

    /// The directory in which cells run.
    pub fn dir(&self) -> PathBuf {
        let at = self.options.iter().position(|option| option == "--dir").unwrap();
        PathBuf::from(&self.options[at + 1])
    }

    /// The directory of the notebook `main`.
    pub fn kept(&self) -> PathBuf {
        self.dir().join("main.ratoon")
    }

    /// The directory in which cells run, of a server whose directory the test did not choose.
    pub fn room(&self) -> Dir {
        Dir::clone(self.room.as_ref().unwrap())
    }

    fn child(&mut self) -> &mut Child {
        self.child.as_mut().unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// The server's log so far.
    pub fn errors(&self) -> String {
        self.errors.lock().unwrap().clone()
    }

    /// The server's address, as in the header `Host`: `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Sends a request and waits for the answer.
    pub fn send(&self, request: Request) -> Answer {
        Wire::open(self.address).ask(&request.bytes(&self.host()))
    }

    /// Sends a request with the owner's token.
    pub fn owner(&self, request: Request) -> Answer {
        self.send(request.bearer(TOKEN))
    }

    /// Returns the server's resident memory, in bytes.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Sends a signal to the server.
    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.pid()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    /// Waits until the server has ended. Returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child().try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Empties the notebook and the directory for the next test. Returns whether nothing is left.
    fn is_emptied(&mut self) -> bool {
        let is_running = self.child().try_wait().is_ok_and(|status| status.is_none());
        if !is_running || self.token != TOKEN {
            return false;
        }
        let ask = |request: Request| Wire::try_ask(self.address, &request.bearer(TOKEN).bytes(&self.host()));
        let is_reset = ask(Request::new("POST", "/reset")).is_some_and(|answer| answer.status == 200);
        let has_links = |answer: Answer| answer.json()["links"] != json!([]);
        if !is_reset || ask(Request::get("/api/links")).is_none_or(has_links) {
            return false;
        }
        let left = std::fs::read_dir(self.dir()).unwrap().flatten().map(|entry| entry.path());
        left.filter(|path| *path != self.kept()).all(|path| match path.is_dir() {
            // Of another notebook, which may be open.
            true if path.extension().is_some_and(|extension| extension == "ratoon") => false,
            true => std::fs::remove_dir_all(path).is_ok(),
            false => std::fs::remove_file(path).is_ok(),
        })
    }

    /// Moves the server out of this value.
    fn taken(&mut self) -> Self {
        self.errors.lock().unwrap().clear();
        Self {
            child: self.child.take(),
            address: self.address,
            greeting: std::mem::take(&mut self.greeting),
            options: std::mem::take(&mut self.options),
            token: self.token,
            errors: self.errors.clone(),
            reader: self.reader.take(),
            room: self.room.take(),
            sweeper: self.sweeper.take(),
        }
    }
}

/// Starts a process that removes a directory when the test program and then a server have ended.
fn sweeper(server: u32, dir: &Path) -> Child {
    let script = "cat; while kill -0 $0 2> /dev/null; do sleep 0.05; done; rm -rf \"$1\"";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(server.to_string()).arg(dir);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if self.sweeper.is_some() && !std::thread::panicking() && self.is_emptied() {
            let server = self.taken();
            UNUSED.lock().unwrap().push(server);
            return;
        }
        // Killing fails if the server has already ended. Waiting is needed in both cases.
        let _ = self.child().kill();
        let _ = self.child().wait();
        if let Some(mut sweeper) = self.sweeper.take() {
            // Waiting closes its input.
            let _ = sweeper.wait();
        }
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        if std::thread::panicking() {
            eprintln!("the server wrote:\n{}", self.errors());
        }
    }
}

/// Returns the command that starts the program. User settings are in the build's directory.
pub fn program(under: &[&str]) -> Command {
    static KERNEL: Once = Once::new();
    KERNEL.call_once(renew_kernel);
    let own = env!("CARGO_BIN_EXE_ratoon");
    let mut command = match under {
        [] => Command::new(own),
        [first, more @ ..] => {
            let mut command = Command::new(first);
            command.args(more).arg(own);
            command
        }
    };
    let own = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    command.env("XDG_CONFIG_HOME", own("config")).env("IPYTHONDIR", own("ipython"));
    // A shell that keeps no history.
    command.env("SHELL", "/bin/sh");
    command.env("RATOON_WORKER_DIR", own("workers")).env("RATOON_WORKER_IDLE", "30");
    command
}

/// Puts the kernel beside the program, if it was built after the one that is there. `cargo build`
/// and `cargo run` do that; `cargo test` leaves it in `deps`.
fn renew_kernel() {
    let program = Path::new(env!("CARGO_BIN_EXE_ratoon"));
    let built = program.with_file_name("deps").join("libratoon.so");
    let beside = program.with_file_name("libratoon.so");
    let time = |path: &Path| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    if time(&built) > time(&beside) {
        let new = beside.with_extension(format!("{}.so", std::process::id()));
        std::fs::copy(built, &new).unwrap();
        std::fs::rename(new, beside).unwrap();
    }
}

/// Runs the program, which should end soon, and returns its output.
pub fn output_of(arguments: &[&str]) -> Output {
    let mut child =
        program(&[]).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    // The program did not end. It has probably started a server, so it is killed.
    let _ = child.kill();
    child.wait_with_output().unwrap()
}

/// The process of a server, its greeting, its log, and the thread that reads the log. The greeting
/// is empty if the server ended without one.
type Launched = (Child, String, Arc<Mutex<String>>, JoinHandle<()>);

/// Starts a server.
fn launch(under: &[&str], bind: &str, token: &str, options: &[String]) -> Launched {
    let mut child = program(under)
        .args(["--bind", bind, "--token", token])
        .args(options)
        .stdin(if options.iter().any(|option| option == ENDS_WITH_THE_TESTS[0]) {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (errors, mut stderr) = (Arc::<Mutex<String>>::default(), child.stderr.take().unwrap());
    let reader = std::thread::spawn({
        let errors = errors.clone();
        move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut chunk) {
                errors.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk[..count]));
            }
        }
    });
    // The server may print other lines before the address, for example that it installs packages.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let greeting = lines.find(|line| line.contains("http://")).unwrap_or_default();
    (child, greeting, errors, reader)
}

/// Waits until the condition `so` is true. Panics after `PATIENCE`.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < PATIENCE, "still not true after {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
