//! Starts and stops the parts of the server in order, and reports clearly why it cannot start.

use crate::http::{self, AppOptions, AppState, Usage};
use crate::kernel::{Launch, Pythons, Sandbox, end_all_below, interpreter};
use crate::node_agent::Agent;
use crate::problem::{Kind, Problem};
use crate::remote::RemoteStore;
use crate::store::InstallKey;
use crate::workers::Workers;

use crate::blocking_pool::BlockingPool;
use crate::log::{self, Level};
use crate::notebook::SandboxRules;
use crate::options::{Options, Secret};
use crate::server_file::{Described, ServerFile};
use crate::session::{Budget, NotebookConfig, Sessions};
use crate::terminal::Terminals;
use clap::ValueEnum;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

/// How long notebooks may take to end their processes. Of this, 2 s are for pending checkpoints.
const NOTEBOOKS_CLOSE_TIMEOUT: Duration = Duration::from_millis(5500);

/// How long connections may take to close, after the notebooks have closed.
const CONNECTIONS_CLOSE_TIMEOUT: Duration = Duration::from_millis(1000);

/// Minimum length of a token. The server answers at most 20 wrong tokens per second with 401
/// (`http/auth/throttle`), so trying all tokens of seven random letters and digits takes a century.
/// The tests of snapshot-kernel use tokens of seven characters; plainbook makes tokens of 32.
const MIN_TOKEN_CHARS: usize = 7;

/// How long `bind` retries a port that is in use. A server that has just ended may still hold it.
const PORT_RETRY_TIMEOUT: Duration = Duration::from_millis(500);
const PORT_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// How often a server with `--exit-when-unused` checks whether it is used.
const USAGE_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The notebook that begins with an example: the page adds it if the notebook is empty.
const EXAMPLE: &str = "demo";

/// The exit code for errors in the command line. clap uses the same.
const EXIT_USAGE: u8 = 2;

/// Runs the server until a signal stops it.
pub fn run(options: Options) -> ExitCode {
    crate::allocator::give_large_blocks_back();
    start_and_wait(&options).unwrap_or_else(|problem| {
        print_problem(&problem);
        ExitCode::from(EXIT_USAGE)
    })
}

fn start_and_wait(options: &Options) -> Result<ExitCode, Problem> {
    let _log = log::start(log_level(options)?, options.log_file.as_deref())?;
    http::check_notebook_name(&options.name)?;
    check_is_no_file(options)?;
    let token = token(options)?;
    check_limits(options)?;
    set_limits();
    keep_descriptors_to_this_process();
    let sandbox = Sandbox::new(&options.write, options.no_network, options.home.clone())?;
    let listener = listen(options)?;
    let launch = launch(options, sandbox)?;
    let pythons = pythons(options, &launch)?;
    let mut config = notebook_config(options, &launch)?;
    let store = options.store_settings.as_ref().map(RemoteStore::connect).transpose()?;
    config.workers = workers(options, store.as_ref(), &pythons, &launch)?;
    // An agent's notebooks are not kept. The agents of all nodes give one the same name, so the
    // lease of its copy would keep all but one of them out.
    config.remote = store.clone().filter(|_| options.agent.is_none());
    let sandbox = launch.sandbox.as_ref().map(Sandbox::rules);
    let cannot_start = |e: io::Error| {
        Problem::new(Kind::BadRequest, "start", e.to_string(), "close some programs and try again")
    };
    let threads = BlockingPool::start().map_err(cannot_start)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(cannot_start)?;
    let code = runtime.block_on(async {
        let sessions = Sessions::new(launch, pythons, config, threads);
        let agent = agent(options, store, &sessions)?;
        serve(options, token, listener, sessions, agent, sandbox).await
    });
    // Does not wait for running work: no client needs its result any more.
    runtime.shutdown_background();
    code
}

async fn serve(
    options: &Options,
    token: String,
    listener: TcpListener,
    sessions: Sessions,
    agent: Option<Agent>,
    sandbox: Option<SandboxRules>,
) -> Result<ExitCode, Problem> {
    let cannot_serve = |e: io::Error| Problem::new(Kind::BadRequest, "serve", e.to_string(), "try again");
    let mut stop = StopSignals::new().map_err(cannot_serve)?;
    let address = listener.local_addr().map_err(cannot_serve)?;
    let path = format!("/n/{}?token={}", http::percent_encoded(&options.name), http::percent_encoded(&token));
    let fragment = if options.name == EXAMPLE { "#example" } else { "" };
    let path = options.base_url.join(&path) + fragment;
    let app_options = AppOptions {
        token: token.clone(),
        token_was_made: options.token.is_none(),
        base_url: options.base_url.clone(),
        reachable_as: options.reachable_as.clone(),
        timeout: options.timeout,
        run_memory: options.run_memory,
        agent: agent.clone(),
        sandbox,
        terminals: terminals(options, &sessions),
    };
    let app_has_sandbox = app_options.sandbox.is_some();
    let app = AppState::new(&listener, sessions.clone(), &options.name, app_options)?;
    let usage = app.usage();
    let server = http::serve(listener, app, &options.reachable_as).map_err(cannot_serve)?;
    let handle = server.handle();
    let server = tokio::spawn(server);
    let host = format!("http://{}", browser_address(address));
    let file = server_file(options, &format!("{host}{}", options.base_url.join("/")), &token, sessions.dir());
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        pid = std::process::id(),
        %address,
        dir = ?sessions.dir(),
        python = ?sessions.pythons().default().executable,
        timeout = options.timeout,
        run_memory = options.run_memory,
        max_frozen = options.max_frozen,
        max_memory = options.max_memory,
        saves = !options.no_checkpoints,
        has_sandbox = app_has_sandbox,
        store = options.store_settings.is_some(),
        workers = options.workers.is_some(),
        "the server started"
    );
    let python = sessions.pythons().default();
    let python = format!("Python {}, {}", python.version, python.executable.display());
    print_stdout(&format!("Ratoon is at {host}{path}\nCells run in {python}\nCtrl-C stops it."));

    let stdin = options.used_while_stdin_is_open.then(stdin_is_open).transpose().map_err(cannot_serve)?;
    if let Some(file) = &options.agent {
        tell_agent(file, address, &token)?;
    }
    let idle = async {
        match &agent {
            Some(agent) => agent.is_idle_for(Duration::from_secs(options.agent_idle)).await,
            None => std::future::pending().await,
        }
    };
    let stopped = async {
        tokio::select! {
            () = stop.wait() => (),
            () = idle => (),
            () = until_unused(&usage, options.exit_when_unused, stdin.as_deref()) => (),
        }
    };
    let code = match stopped_or_failed(stopped, server).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            print_problem(&problem);
            ExitCode::FAILURE
        }
    };
    tracing::info!("the server stops");
    // Programs must not find a server that is about to end.
    drop(file);
    let close = async {
        // Notebooks close first: their clients see the end, and no kernel process outlives the
        // server.
        let _ = tokio::time::timeout(NOTEBOOKS_CLOSE_TIMEOUT, sessions.close_all()).await;
        // Always, also on a busy computer on which a notebook did not close in time.
        end_all_below().await;
        let _ = tokio::time::timeout(CONNECTIONS_CLOSE_TIMEOUT, handle.stop(true)).await;
    };
    if let Some(file) = &options.agent {
        // If it stays, the next worker finds that nobody answers.
        let _ = std::fs::remove_file(file);
    }
    tokio::select! {
        () = close => {
            if options.agent.is_some() {
                // An agent keeps nothing. What stays is removed by the next one.
                let _ = std::fs::remove_dir_all(sessions.dir());
            }
            Ok(code)
        }
        // A second signal stops the server immediately.
        () = stop.wait() => Ok(ExitCode::FAILURE),
    }
}

/// The owner's terminals, unless they are turned off. Shells find the programs of the default
/// Python first, so that `pip` installs for its cells.
fn terminals(options: &Options, sessions: &Sessions) -> Option<Terminals> {
    if options.no_terminal || options.agent.is_some() {
        return None;
    }
    let shell = options.shell.clone().unwrap_or_else(|| "/bin/sh".into());
    let python = sessions.pythons().default().executable.parent().map(Path::to_owned);
    let own = python.into_iter().filter(|dir| !options.path.contains(dir));
    let path = own.chain(options.path.iter().cloned());
    Some(Terminals::new(shell, sessions.dir().to_owned(), path.collect()))
}

/// Writes the file by which the user's programs find this server. The server works without it.
fn server_file(options: &Options, url: &str, token: &str, dir: &Path) -> Option<ServerFile> {
    if options.agent.is_some() {
        return None;
    }
    let data_dir = options.data_dir.as_ref()?;
    let url = url.trim_end_matches('/').to_owned();
    let described = Described { url, token, dir, notebook: &options.name };
    let failed = |error| print_stderr(&format!("ratoon: programs will not find this server: {error}"));
    ServerFile::write(data_dir, &described).map_err(failed).ok()
}

/// Waits until the server has been unused for this many seconds. Without a number, waits forever.
async fn until_unused(usage: &Usage, seconds: Option<u64>, stdin: Option<&AtomicBool>) {
    let Some(seconds) = seconds else { return std::future::pending().await };
    let mut used_at = Instant::now();
    while used_at.elapsed() < Duration::from_secs(seconds) {
        tokio::time::sleep(USAGE_CHECK_INTERVAL).await;
        if stdin.is_some_and(|is_open| is_open.load(Ordering::Relaxed)) || usage.is_used().await {
            used_at = Instant::now();
        }
    }
}

/// Waits until a signal stops the server.
///
/// # Errors
/// When the server's task ends before the signal: with an error, with a panic, or with success.
async fn stopped_or_failed(
    stopped: impl Future<Output = ()>,
    server: JoinHandle<io::Result<()>>,
) -> Result<(), Problem> {
    let ended = tokio::select! {
        () = stopped => return Ok(()),
        ended = server => ended,
    };
    let again = "start it again; the notebooks are stored";
    let (why, how) = match ended {
        Ok(Err(error)) => {
            let how = format!("allow more open files (`ulimit -n`) or close some programs, and {again}");
            (error.to_string(), how)
        }
        Ok(Ok(())) => ("the server ended without an error".to_owned(), again.to_owned()),
        Err(panicked) => (panicked.to_string(), again.to_owned()),
    };
    Err(Problem::new(Kind::Internal, "keep serving", why, how))
}

/// The client of the engine that `--workers` names.
fn workers(
    options: &Options,
    store: Option<&RemoteStore>,
    pythons: &Pythons,
    launch: &Launch,
) -> Result<Option<Workers>, Problem> {
    let Some(engine) = &options.workers else { return Ok(None) };
    let (Some(store), Some(settings)) = (store, &options.store_settings) else {
        let (why, how) = ("states move to them through a store", "add --store s3://… or --store file:///…");
        return Err(Problem::new(Kind::BadRequest, format!("use the workers {engine}"), why, how));
    };
    let (key, python) = (workers_key(options)?, pythons.default().executable.clone());
    Workers::start(engine, &settings.url, store.clone(), key, python, launch.cwd.clone()).map(Some)
}

/// The key with which the server and its workers sign what they tell each other.
fn workers_key(options: &Options) -> Result<InstallKey, Problem> {
    if let Some(given) = &options.workers_key {
        return InstallKey::from_hex(given.reveal()).ok_or_else(|| {
            let (why, how) = ("it is not 64 hexadecimal digits", "make one with `openssl rand -hex 32`");
            Problem::new(Kind::BadRequest, "use the key in RATOON_WORKERS_KEY", why, how)
        });
    }
    match &options.config_dir {
        Some(dir) => InstallKey::of_workers(dir),
        None => {
            let why = "neither HOME nor XDG_CONFIG_HOME names a directory";
            let how = "set HOME or RATOON_WORKERS_KEY";
            Err(Problem::new(Kind::BadRequest, "find the key of the workers", why, how))
        }
    }
}

/// The agent, if this server is one.
fn agent(
    options: &Options,
    store: Option<RemoteStore>,
    sessions: &Sessions,
) -> Result<Option<Agent>, Problem> {
    let (Some(_), Some(store)) = (&options.agent, store) else { return Ok(None) };
    let key = workers_key(options)?;
    Ok(Some(Agent::new(sessions.clone(), store, key, options.agent_name.clone())))
}

/// Writes the port and the token of an agent to a file that only this user can read.
fn tell_agent(file: &Path, address: SocketAddr, token: &str) -> Result<(), Problem> {
    let draft = file.with_extension("new");
    let text = serde_json::json!({"port": address.port(), "token": token, "pid": std::process::id()});
    let write = || {
        let mut open = std::fs::OpenOptions::new();
        let mut draft = open.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        draft.write_all(text.to_string().as_bytes())
    };
    write().and_then(|()| std::fs::rename(&draft, file)).map_err(|e: io::Error| {
        let what = format!("write {}", file.display());
        Problem::new(Kind::Disk, what, reason(&e), "make its directory writable for you")
    })
}

/// Refuses a name that is a file to import: users of Jupyter give the file to open it.
fn check_is_no_file(options: &Options) -> Result<(), Problem> {
    let name = &options.name;
    let is_document = [".ipynb", ".py"].iter().any(|ending| name.ends_with(ending));
    if is_document && Path::new(name).is_file() {
        let why = "it is a file, and Ratoon keeps a notebook with its branches in a directory";
        let how = format!("import it: ratoon import {name}");
        return Err(Problem::new(Kind::BadRequest, format!("open the notebook {name}"), why, how));
    }
    Ok(())
}

/// The settings of all kernel processes, from the options.
fn launch(options: &Options, sandbox: Option<Sandbox>) -> Result<Launch, Problem> {
    let (cwd, extension) = (working_directory(options)?, extension(options)?);
    let bytecode = options.data_dir.as_ref().map(|dir| dir.join("bytecode"));
    Ok(Launch { extension, bytecode, hash_seed: options.hash_seed.clone(), cwd, nice: options.nice, sandbox })
}

/// The default Python, and where to look for others. Installs IPython if the default lacks it.
fn pythons(options: &Options, launch: &Launch) -> Result<Pythons, Problem> {
    let places = interpreter::Places {
        wish: options.python.clone(),
        virtual_env: options.virtual_env.clone(),
        dir: launch.cwd.clone(),
        conda_prefix: options.conda_prefix.clone(),
        own: options.installed_in.clone(),
        path: options.path.clone(),
    };
    let Some(data_dir) = &options.data_dir else {
        let why = "neither HOME nor XDG_DATA_HOME names a directory";
        return Err(Problem::new(
            Kind::BadRequest,
            "find a directory for installed packages",
            why,
            "set HOME",
        ));
    };
    let home = options.home.clone();
    Pythons::new(places, home, data_dir.clone(), &mut |line| print_stderr(line))
}

/// The path at which kernels load the extension module. It leads to the file that was there when
/// the server started, because another build of Ratoon may replace it while the server runs.
fn extension(options: &Options) -> Result<PathBuf, Problem> {
    let path = options.extension.clone().unwrap_or_else(|| PathBuf::from("libratoon.so"));
    let file = File::open(&path).map_err(|e| {
        let what = format!("open the extension module {} that cells need", path.display());
        let how = "keep the file beside the program `ratoon`: install Ratoon again or, in a clone, run `cargo build`";
        Problem::new(Kind::BadRequest, what, reason(&e), how)
    })?;
    // Open until the server ends.
    Ok(format!("/proc/{}/fd/{}", std::process::id(), file.into_raw_fd()).into())
}

/// The configuration of notebooks. Notebooks are stored in the directory in which cells run.
fn notebook_config(options: &Options, launch: &Launch) -> Result<NotebookConfig, Problem> {
    let Some(config_dir) = &options.config_dir else {
        let why = "neither HOME nor XDG_CONFIG_HOME names a directory";
        return Err(Problem::new(
            Kind::BadRequest,
            "find a directory for the key of this install",
            why,
            "set HOME",
        ));
    };
    let own = Budget::of_this_machine();
    // Each state has a socket. A third of the descriptors is reserved for connections, and some
    // for heads.
    let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
    let sockets = usize::try_from(descriptors / 3).unwrap_or(usize::MAX);
    let budget = Budget {
        processes: options.max_frozen.unwrap_or(own.processes.min(sockets)),
        bytes: options.max_memory.unwrap_or(own.bytes),
        run: options.run_memory.unwrap_or(own.run),
        ..own
    };
    NotebookConfig::new(launch.cwd.clone(), config_dir, budget, !options.no_checkpoints)
}

fn working_directory(options: &Options) -> Result<PathBuf, Problem> {
    let how = "give an existing directory with --dir DIR";
    let Some(dir) = options.dir.as_ref().or(options.current_dir.as_ref()) else {
        return Err(Problem::new(
            Kind::BadRequest,
            "run cells in the current directory",
            "it was deleted",
            how,
        ));
    };
    let what = || format!("run cells in {}", dir.display());
    let full = dir.canonicalize().map_err(|e| Problem::new(Kind::BadRequest, what(), reason(&e), how))?;
    if !full.is_dir() {
        return Err(Problem::new(Kind::BadRequest, what(), "it is not a directory", how));
    }
    // Orders to processes, notebooks and pages contain paths in JSON.
    if full.to_str().is_none() {
        return Err(Problem::new(Kind::BadRequest, what(), "its path is not valid UTF-8", "rename it"));
    }
    Ok(full)
}

fn token(options: &Options) -> Result<String, Problem> {
    match options.token.as_ref().map(Secret::reveal) {
        Some("") => {
            let how = "give one that cannot be guessed, or leave --token out to get a random one";
            Err(Problem::new(Kind::BadRequest, "use the token", "it is empty", how))
        }
        Some(given) if given.chars().count() < MIN_TOKEN_CHARS => {
            let why = format!(
                "it has fewer than {MIN_TOKEN_CHARS} characters, and anyone who guesses it can run code as you"
            );
            let how = "leave --token out to get a random one, or create one with `openssl rand -hex 16`";
            Err(Problem::new(Kind::BadRequest, "use the token", why, how))
        }
        Some(given) => Ok(given.to_owned()),
        None => http::new_secret().map_err(|e| {
            Problem::new(Kind::BadRequest, "make a token", e.to_string(), "give one with --token")
        }),
    }
}

fn log_level(options: &Options) -> Result<Level, Problem> {
    let named = options.log_in_environment.as_ref();
    let level = options.log.map(Ok).or(named.map(|name| Level::from_str(name, true)));
    level.unwrap_or(Ok(Level::Warn)).map_err(|why| {
        let how = "set it to off, error, warn, info or debug";
        Problem::new(Kind::BadRequest, "log at the level in RATOON_LOG", why, how)
    })
}

fn check_limits(options: &Options) -> Result<(), Problem> {
    if options.run_memory == Some(0) {
        let how = "give --run-memory a size, for example 4G, or leave it out";
        return Err(Problem::new(
            Kind::BadRequest,
            "limit the memory of runs to 0 bytes",
            "every cell needs some memory",
            how,
        ));
    }
    match options.timeout {
        Some(seconds) if !(seconds > 0.0 && seconds.is_finite()) => {
            let what = format!("stop runs after {seconds} seconds");
            Err(Problem::new(
                Kind::BadRequest,
                what,
                "a timeout must be a positive number",
                "give --timeout a number above 0",
            ))
        }
        _ => Ok(()),
    }
}

fn listen(options: &Options) -> Result<TcpListener, Problem> {
    let what = || format!("listen on {}", options.bind);
    let how = "give --bind as HOST:PORT, for example 127.0.0.1:8080";
    let addresses = options
        .bind
        .to_socket_addrs()
        .map_err(|e| Problem::new(Kind::BadRequest, what(), reason(&e), how))?;
    let mut addresses: Vec<SocketAddr> = addresses.collect();
    // `localhost` has an IPv4 and an IPv6 address: prefer IPv4.
    addresses.sort_by_key(SocketAddr::is_ipv6);
    let Some(address) = addresses.first() else {
        return Err(Problem::new(Kind::BadRequest, what(), "the name has no address", how));
    };
    if !addresses.iter().all(|a| a.ip().is_loopback()) && !options.dangerously_listen_beyond_loopback {
        let why = "other machines could reach it, and anyone with the token can run code as you";
        let how = "bind to 127.0.0.1 and reach it by `ssh -L`, or add --dangerously-listen-beyond-loopback";
        return Err(Problem::new(Kind::BadRequest, what(), why, how));
    }
    bind(address, || std::thread::sleep(PORT_RETRY_INTERVAL)).map_err(|error| {
        let how = match error.kind() {
            ErrorKind::AddrInUse => {
                "stop the program that uses it, or give --bind 127.0.0.1:0 to use any free port"
            }
            ErrorKind::PermissionDenied => "give a port above 1023",
            _ => how,
        };
        Problem::new(Kind::BadRequest, what(), reason(&error), how)
    })
}

/// Binds the address. Retries a taken port for `PORT_RETRY_TIMEOUT`: when a server is killed while
/// it starts a process, that process holds the server's socket until its `exec`. Notebook locks are
/// retried for the same reason.
fn bind(address: &SocketAddr, mut pause: impl FnMut()) -> io::Result<TcpListener> {
    let began = Instant::now();
    loop {
        match TcpListener::bind(address) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && began.elapsed() < PORT_RETRY_TIMEOUT => {
                pause()
            }
            other => return other,
        }
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::AddrInUse => "the port is taken".into(),
        ErrorKind::AddrNotAvailable => "this machine has no such address".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::NotFound => "it does not exist".into(),
        _ => error.to_string(),
    }
}

/// Raises the limit of descriptors to the maximum, because each state holds some. Disables core
/// files, which would contain the tokens.
fn set_limits() {
    // If the limit cannot be raised, the server works with fewer descriptors.
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_CORE) {
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, hard);
    }
}

/// Closes descriptors that came from this process' parent, such as pipes of a shell, in all
/// programs that it starts.
fn keep_descriptors_to_this_process() {
    // SAFETY: sets a flag of descriptors and closes none. Before Linux 5.11 it fails, and kernels
    // inherit what the parent left open.
    #[allow(unsafe_code)]
    unsafe {
        libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int);
    }
}

fn print_problem(problem: &Problem) {
    print_stderr(&problem.for_terminal());
}

/// The address to print. Replaces "any address" (0.0.0.0), which no browser can open.
fn browser_address(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("localhost:{}", address.port()) } else { address.to_string() }
}

fn print_stdout(text: &str) {
    // If stdout is closed, the address is not needed.
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Prints a message to stderr. Only the server's address is printed to stdout.
fn print_stderr(text: &str) {
    // If stderr is closed, the message is lost.
    let _ = writeln!(io::stderr(), "{text}");
}

/// The signals of Ctrl-C, `kill` and a closing terminal.
struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    /// None if SIGHUP is ignored: the server must outlive the terminal (`nohup`).
    hang_up: Option<Signal>,
}

impl StopSignals {
    fn new() -> io::Result<Self> {
        let hang_up = if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
            _ = async {
                match &mut self.hang_up {
                    Some(hang_up) => hang_up.recv().await,
                    None => std::future::pending().await,
                }
            } => (),
        }
    }
}

/// A flag that becomes false when standard input closes.
fn stdin_is_open() -> io::Result<Arc<AtomicBool>> {
    let is_open = Arc::new(AtomicBool::new(true));
    let of_thread = is_open.clone();
    let wait = move || {
        // An error counts as the end, too.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        of_thread.store(false, Ordering::Relaxed);
    };
    std::thread::Builder::new().name("stdin".into()).spawn(wait)?;
    Ok(is_open)
}

/// Whether SIGHUP was ignored when this process started. SIGHUP is signal 1, the lowest bit of the
/// mask (proc_pid_status(5)).
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_fails_before_a_signal_is_a_problem_at_once() {
        let pending = std::future::pending::<()>;
        let failed = tokio::spawn(async { Err(io::Error::other("no descriptors are left")) });
        let problem = stopped_or_failed(pending(), failed).await.unwrap_err();
        assert_eq!((problem.kind, problem.why.as_str()), (Kind::Internal, "no descriptors are left"));
        let ended = tokio::spawn(async { Ok(()) });
        let problem = stopped_or_failed(pending(), ended).await.unwrap_err();
        assert_eq!(problem.why, "the server ended without an error");
        let panicked = tokio::spawn(async { panic!("a fault") });
        let problem = stopped_or_failed(pending(), panicked).await.unwrap_err();
        assert!(problem.why.contains("a fault"), "{}", problem.why);
        let serving = tokio::spawn(std::future::pending());
        assert_eq!(stopped_or_failed(async {}, serving).await, Ok(()));
    }

    #[test]
    fn a_port_released_in_time_is_bound_and_a_taken_one_is_refused() {
        let mut other = Some(TcpListener::bind("127.0.0.1:0").unwrap());
        let address = other.as_ref().unwrap().local_addr().unwrap();
        let refused = bind(&address, || std::thread::sleep(PORT_RETRY_INTERVAL)).unwrap_err();
        assert_eq!(reason(&refused), "the port is taken");
        // The other server releases the port between two attempts.
        let taken = bind(&address, || drop(other.take())).unwrap();
        assert_eq!(taken.local_addr().unwrap(), address);
    }
}
