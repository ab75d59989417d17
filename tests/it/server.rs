//! A server of one's own for a test: started on a free port, ended when the test is over.

use crate::cells::Room;
use crate::request::{Answer, Request};
use crate::wire::Wire;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The owner's token of every test server.
pub const TOKEN: &str = "owner-token-of-the-tests";

/// How long anything may take before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct TestServer {
    child: Child,
    /// Its directory, when it was given none.
    _room: Option<Room>,
    pub address: SocketAddr,
    /// The line with the URL.
    pub greeting: String,
    errors: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl TestServer {
    /// Starts a server and waits until it says its address.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    pub fn start_with(options: &[&str]) -> Self {
        let room = (!options.contains(&"--dir")).then(Room::new);
        let dir = room.as_ref().map(|room| ["--dir", room.path().to_str().unwrap()]);
        let mut child = Command::new(env!("CARGO_BIN_EXE_ratoon"))
            .args(["--bind", "127.0.0.1:0", "--token", TOKEN])
            .args(dir.iter().flatten())
            .args(options)
            // Not the user's own key.
            .env("XDG_CONFIG_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/config"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Before the address it may say that it provides what Python lacks.
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let greeting = lines.find(|line| line.contains("http://")).unwrap_or_default();
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
        let address = greeting.split(['/', ' ']).find_map(|part| part.parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address in {greeting:?}"));
        Self { child, _room: room, address, greeting, errors, reader: Some(reader) }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the server has written to its log so far.
    pub fn errors(&self) -> String {
        self.errors.lock().unwrap().clone()
    }

    /// `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Sends a request and waits for the answer.
    pub fn send(&self, request: Request) -> Answer {
        Wire::open(self.address).ask(&request.bytes(&self.host()))
    }

    /// Sends a request as the owner.
    pub fn owner(&self, request: Request) -> Answer {
        self.send(request.bearer(TOKEN))
    }

    /// Resident memory, in bytes.
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

    /// Waits until the server has ended; answers its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill, only to collect.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        if std::thread::panicking() {
            eprintln!("the server wrote:\n{}", self.errors());
        }
    }
}

/// Waits until something is so.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < PATIENCE, "it never came to be that {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
