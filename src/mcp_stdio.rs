//! `ratoon mcp`: MCP over stdin and stdout. Finds the server of a directory or starts one, and
//! passes each message to its `/mcp`. It decides nothing about messages.
//!
//! A server that it starts ends after it, unless somebody else uses the server. The server notices
//! the end because its standard input closes.

use crate::options::{McpOptions, Options, Secret};
use crate::problem::{Kind, Problem};
use crate::server_file::{self, FoundServer};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Maximum length of a message from the client, in bytes: as for the route.
const MAX_MESSAGE_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum number of requests that are being answered at the same time. Each has a thread.
const MAX_IN_FLIGHT: usize = 256;
/// Maximum length of the head of an answer, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Seconds after which a server that was started ends when its client has gone and nobody else
/// uses it.
const UNUSED_S: &str = "3";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Passes messages until standard input closes.
pub fn run(options: &Options, mcp: &McpOptions) -> ExitCode {
    match start(options, mcp) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "{}", problem.for_terminal());
            ExitCode::FAILURE
        }
    }
}

/// The server, and the one that was started if none was found.
struct Upstream {
    dir: PathBuf,
    data_dir: PathBuf,
    server_options: Vec<String>,
    /// Used instead of the owner's token.
    token: Option<Secret>,
    child: Option<(Child, ChildStdin)>,
}

/// What all threads share.
struct Bridge {
    server: Mutex<FoundServer>,
    /// Whether a request could not reach the server.
    is_lost: AtomicBool,
    /// The session, and the revision that was agreed, of a client that has begun with `initialize`.
    session: Mutex<(Option<String>, Option<String>)>,
    /// The connections of requests that are being answered, by the ids as JSON.
    open: Mutex<HashMap<String, OpenRequest>>,
}

struct OpenRequest {
    connection: Option<TcpStream>,
    is_modern: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(options: &Options, mcp: &McpOptions) -> Result<(), Problem> {
    let named = mcp.dir.as_ref().or(options.current_dir.as_ref());
    let failed =
        |why: String| Problem::bad_request("serve MCP", why, "give an existing directory with --dir DIR");
    let dir = named.ok_or_else(|| failed("the current directory was deleted".into()))?;
    let dir = dir.canonicalize().map_err(|e| failed(format!("{}: {e}", dir.display())))?;
    let Some(data_dir) = options.data_dir.clone() else {
        let why = "neither HOME nor XDG_DATA_HOME names a directory";
        return Err(Problem::bad_request("find the running server", why, "set HOME"));
    };
    let server_options = mcp.server_options.clone();
    let token = options.token_in_environment.clone();
    let mut upstream = Upstream { dir, data_dir, server_options, token, child: None };
    let bridge = Arc::new(Bridge {
        server: Mutex::new(upstream.find_or_start()?),
        is_lost: AtomicBool::new(false),
        session: Mutex::default(),
        open: Mutex::default(),
    });
    let mut input = BufReader::new(io::stdin().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = input.by_ref().take(MAX_MESSAGE_BYTES + 1).read_until(b'\n', &mut line).unwrap_or(0);
        if length == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') && length as u64 > MAX_MESSAGE_BYTES {
            let what = "read a message";
            return Err(Problem::new(Kind::TooLarge, what, "it has more than 4 MiB", "send shorter code"));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if bridge.is_lost.swap(false, Ordering::Relaxed) {
            *lock(&bridge.server) = upstream.find_or_start()?;
        }
        accept(&bridge, &line);
    }
}

impl Upstream {
    fn find_or_start(&mut self) -> Result<FoundServer, Problem> {
        let found = server_file::find(&self.data_dir, &self.dir);
        let mut server = match found {
            Some(server) => server,
            None if self.token.is_some() => {
                let why = format!("no server runs in {}", self.dir.display());
                let how = "start one, or unset RATOON_TOKEN";
                return Err(Problem::bad_request("use the token of RATOON_TOKEN", why, how));
            }
            None => self.start()?,
        };
        if let Some(token) = &self.token {
            server.token = token.reveal().to_owned();
        }
        Ok(server)
    }

    fn start(&mut self) -> Result<FoundServer, Problem> {
        let failed =
            |why: String| Problem::new(Kind::Kernel, "start a server", why, "start `ratoon` to see why");
        let program = std::env::current_exe().map_err(|e| failed(e.to_string()))?;
        let mut command = Command::new(program);
        command
            .args([
                "--bind",
                "127.0.0.1:0",
                "--used-while-stdin-is-open",
                "--exit-when-unused",
                UNUSED_S,
                "--dir",
            ])
            .arg(&self.dir);
        command.args(&self.server_options).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| failed(e.to_string()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Problem::internal("a process has no pipes"));
        };
        let mut greeting = String::new();
        let read = BufReader::new(stdout).read_line(&mut greeting);
        let server = read.ok().filter(|length| *length > 0);
        let server = server.and_then(|_| server_file::find(&self.data_dir, &self.dir));
        self.child = Some((child, stdin));
        server.ok_or_else(|| failed("it has ended".into()))
    }
}

/// Begins to answer a message.
fn accept(bridge: &Arc<Bridge>, line: &[u8]) {
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => {
            let error = json!({"code": -32700, "message": error.to_string()});
            return say(&json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string());
        }
    };
    let key = message.get("id").map(Value::to_string);
    if message["method"] == "notifications/cancelled" {
        let cancelled = message["params"]["requestId"].to_string();
        let mut open = lock(&bridge.open);
        if let Some(request) = open.get_mut(&cancelled).filter(|request| request.is_modern) {
            // In this revision, closing the connection is the way to cancel.
            let connection = request.connection.take();
            open.remove(&cancelled);
            drop(open);
            drop(connection.map(|connection| connection.shutdown(Shutdown::Both)));
            return;
        }
    }
    if let Some(key) = &key {
        let is_modern = version_of(&message).is_some();
        let mut open = lock(&bridge.open);
        if open.len() >= MAX_IN_FLIGHT {
            drop(open);
            return fail(&message, "too many requests are being answered; try again");
        }
        open.insert(key.clone(), OpenRequest { connection: None, is_modern });
    }
    let of_thread = bridge.clone();
    let pass = move || {
        let passed = pass(&of_thread, &message);
        // A cancelled request gets no answer.
        let is_open = key.as_ref().is_some_and(|key| lock(&of_thread.open).remove(key).is_some());
        match passed {
            Ok(true) => (),
            Ok(false) if is_open => fail(&message, "the call has ended without an answer"),
            Err(error) if is_open => {
                of_thread.is_lost.store(true, Ordering::Relaxed);
                fail(&message, &format!("the server cannot be reached: {error}; try again"));
            }
            _ => (),
        }
    };
    if let Err(error) = thread::Builder::new().name("message".into()).spawn(pass) {
        let _ = writeln!(io::stderr(), "ratoon cannot answer a message: {error}");
    }
}

/// The revision of a message without a session.
fn version_of(message: &Value) -> Option<&str> {
    message["params"]["_meta"][VERSION_KEY].as_str()
}

fn fail(message: &Value, why: &str) {
    let error = json!({"code": -32603, "message": why});
    say(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}).to_string());
}

/// Writes a message to the client.
fn say(message: &str) {
    // If stdout is closed, the client has gone, and stdin closes too.
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}

/// Sends a message to the server, and its answer to the client. Returns whether there was one.
fn pass(bridge: &Bridge, message: &Value) -> io::Result<bool> {
    let server = lock(&bridge.server).clone();
    let (host, _) = parts_of(&server.url);
    let mut connection = TcpStream::connect(host)?;
    connection.set_nodelay(true)?;
    if let Some(id) = message.get("id") {
        match lock(&bridge.open).get_mut(&id.to_string()) {
            Some(request) => request.connection = Some(connection.try_clone()?),
            // It was cancelled before it was sent.
            None => return Ok(false),
        }
    }
    connection.write_all(request(bridge, &server, message).as_bytes())?;
    let mut answer = BufReader::new(connection);
    let head = read_head(&mut answer)?;
    if let Some(session) = head.get("mcp-session-id") {
        lock(&bridge.session).0 = Some(session.clone());
    }
    if head.get("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
        let mut has_answer = false;
        for line in answer.lines() {
            if let Some(data) = line?.strip_prefix("data: ") {
                say(data);
                has_answer = true;
            }
        }
        return Ok(has_answer);
    }
    let mut body = String::new();
    answer.read_to_string(&mut body)?;
    if body.is_empty() {
        return Ok(false);
    }
    let answer: Value = serde_json::from_str(&body)?;
    if answer.get("jsonrpc").is_some() {
        if message["method"] == "initialize" {
            lock(&bridge.session).1 = answer["result"]["protocolVersion"].as_str().map(str::to_owned);
        }
        say(&answer.to_string());
        return Ok(true);
    }
    // A refusal before the message was read, such as that of a wrong token.
    let text = |key: &str| answer["error"][key].as_str().unwrap_or("?").to_owned();
    if message.get("id").is_some() {
        fail(message, &format!("cannot {}: {}; {}", text("what"), text("why"), text("how")));
    }
    Ok(true)
}

/// The HTTP request. In version 1.0 the answer has no chunks, and ends with the connection.
fn request(bridge: &Bridge, server: &FoundServer, message: &Value) -> String {
    let body = message.to_string();
    let (host, base) = parts_of(&server.url);
    let mut head = format!(
        "POST {base}/mcp HTTP/1.0\r\nhost: {host}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
        server.token,
        body.len(),
    );
    let mut add = |name: &str, value: &str| head.push_str(&format!("{name}: {}\r\n", header_value(value)));
    match version_of(message) {
        Some(version) => {
            add("mcp-protocol-version", version);
            add("mcp-method", message["method"].as_str().unwrap_or_default());
            let params = &message["params"];
            if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
                add("mcp-name", name);
            }
        }
        None => {
            let (session, version) = lock(&bridge.session).clone();
            if let Some(session) = session {
                add("mcp-session-id", &session);
            }
            if let Some(version) = version.filter(|_| message["method"] != "initialize") {
                add("mcp-protocol-version", &version);
            }
        }
    }
    format!("{head}\r\n{body}")
}

/// The host with its port, and the path before all paths of the server.
fn parts_of(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

/// A text as the value of a header, encoded as the protocol says if it is not plain ASCII.
fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text;
    if is_plain && !text.starts_with("=?base64?") {
        return text.to_owned();
    }
    format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
}

/// Reads the headers of an answer, with lower-case names.
fn read_head(answer: &mut impl BufRead) -> io::Result<HashMap<String, String>> {
    let mut head = HashMap::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        length += answer.take(MAX_HEAD_BYTES as u64).read_line(&mut line)?;
        if !line.ends_with('\n') || length > MAX_HEAD_BYTES {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if line.trim_end().is_empty() {
            return Ok(head);
        }
        if let Some((name, value)) = line.split_once(':') {
            head.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_plain_header_is_encoded() {
        assert_eq!(header_value("run"), "run");
        assert_eq!(header_value("a\r\nx: 1"), "=?base64?YQ0KeDogMQ==?=");
        for text in [" a", "é", "=?base64?x?="] {
            assert!(header_value(text).starts_with("=?base64?") && header_value(text) != text);
        }
    }

    #[test]
    fn the_address_of_a_server_may_have_a_path() {
        assert_eq!(parts_of("http://127.0.0.1:8080"), ("127.0.0.1:8080", ""));
        assert_eq!(parts_of("http://localhost:1/a/b"), ("localhost:1", "/a/b"));
    }

    #[test]
    fn the_head_of_an_answer_ends_with_an_empty_line() {
        let mut answer = &b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n"[..];
        let head = read_head(&mut answer).unwrap_or_default();
        assert_eq!(head.get("content-type").map(String::as_str), Some("text/event-stream"));
        assert_eq!(answer, b"data: 1\n");
        assert!(read_head(&mut &b"HTTP/1.0 200 OK\r\nx: 1"[..]).is_err());
    }
}
