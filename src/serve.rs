//! Starts and stops the parts of the server in order, and reports clearly why it cannot start.

use crate::http::{self, AppOptions, AppState};
use crate::kernel::{Launch, interpreter, provision};
use crate::problem::{Kind, Problem};

use crate::blocking_pool::BlockingPool;
use crate::options::{Options, Secret};
use crate::session::{Budget, NotebookConfig, Sessions};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;
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
    http::check_notebook_name(&options.name)?;
    let token = token(options)?;
    check_limits(options)?;
    set_limits();
    let listener = listen(options)?;
    let launch = launch(options)?;
    let config = notebook_config(options, &launch)?;
    let cannot_start = |e: io::Error| {
        Problem::new(Kind::BadRequest, "start", e.to_string(), "close some programs and try again")
    };
    let threads = BlockingPool::start().map_err(cannot_start)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(cannot_start)?;
    let code = runtime.block_on(async {
        let sessions = Sessions::new(launch, config, threads);
        serve(options, token, listener, sessions).await
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
) -> Result<ExitCode, Problem> {
    let cannot_serve = |e: io::Error| Problem::new(Kind::BadRequest, "serve", e.to_string(), "try again");
    let mut stop = StopSignals::new().map_err(cannot_serve)?;
    let address = listener.local_addr().map_err(cannot_serve)?;
    let path = format!("/n/{}?token={}", http::percent_encoded(&options.name), http::percent_encoded(&token));
    let app_options = AppOptions {
        token,
        token_was_made: options.token.is_none(),
        timeout: options.timeout,
        run_memory: options.run_memory,
    };
    let app = AppState::new(&listener, sessions.clone(), &options.name, app_options)?;
    let server = http::serve(listener, app, &options.reachable_as).map_err(cannot_serve)?;
    let handle = server.handle();
    let server = tokio::spawn(server);
    print_stdout(&format!("Ratoon is at http://{}{path}\nCtrl-C stops it.", browser_address(address)));

    let code = match stopped_or_failed(stop.wait(), server).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            print_problem(&problem);
            ExitCode::FAILURE
        }
    };
    let close = async {
        // Notebooks close first: their clients see the end, and no kernel process outlives the
        // server.
        let _ = tokio::time::timeout(NOTEBOOKS_CLOSE_TIMEOUT, sessions.close_all()).await;
        let _ = tokio::time::timeout(CONNECTIONS_CLOSE_TIMEOUT, handle.stop(true)).await;
    };
    tokio::select! {
        () = close => Ok(code),
        // A second signal stops the server immediately.
        () = stop.wait() => Ok(ExitCode::FAILURE),
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
    Err(Problem::new(Kind::Internal, "serve any longer", why, how))
}

/// The Python to run and its working directory, from the options. Installs IPython if it is
/// missing.
fn launch(options: &Options) -> Result<Launch, Problem> {
    let cwd = working_directory(options)?;
    let interpreter = interpreter::choose(options.python.as_deref(), options.virtual_env.as_deref())
        .map_err(|e| Problem::new(Kind::BadRequest, format!("use the Python {}", e.python), e.why, e.how))?;
    let Some(data_dir) = &options.data_dir else {
        let why = "neither HOME nor XDG_DATA_HOME names a directory";
        return Err(Problem::new(
            Kind::BadRequest,
            "find a directory for installed packages",
            why,
            "set HOME",
        ));
    };
    let support = provision::ensure(&interpreter, data_dir, &mut |line| print_stderr(line)).map_err(|e| {
        Problem::new(Kind::BadRequest, "provide IPython", format!("{}: {}", e.what, e.why), e.how)
    })?;
    let (program, python) = ("/proc/self/exe".into(), interpreter.executable);
    Ok(Launch { program, python, support, cwd, nice: options.nice })
}

/// The configuration of notebooks. Notebooks are stored in the directory in which cells run.
fn notebook_config(options: &Options, launch: &Launch) -> Result<NotebookConfig, Problem> {
    let Some(config_dir) = &options.config_dir else {
        let why = "neither HOME nor XDG_CONFIG_HOME names a directory";
        return Err(Problem::new(Kind::BadRequest, "find a directory for its key", why, "set HOME"));
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
    let how = "name an existing directory with --dir DIR";
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
    Ok(full)
}

fn token(options: &Options) -> Result<String, Problem> {
    match options.token.as_ref().map(Secret::reveal) {
        Some("") => {
            let how = "give one that cannot be guessed, or leave --token out to have one made";
            Err(Problem::new(Kind::BadRequest, "use the token", "it is empty", how))
        }
        Some(given) if given.chars().count() < MIN_TOKEN_CHARS => {
            let why = format!(
                "it has fewer than {MIN_TOKEN_CHARS} characters, and anyone who guesses it can run code as you"
            );
            let how = "leave --token out to have one made, or make one: `openssl rand -hex 16`";
            Err(Problem::new(Kind::BadRequest, "use the token", why, how))
        }
        Some(given) => Ok(given.to_owned()),
        None => http::new_secret().map_err(|e| {
            Problem::new(Kind::BadRequest, "make a token", e.to_string(), "give one with --token")
        }),
    }
}

fn check_limits(options: &Options) -> Result<(), Problem> {
    if options.run_memory == Some(0) {
        let how = "give --run-memory a size, for example 4G, or leave it out";
        return Err(Problem::new(
            Kind::BadRequest,
            "let runs add 0 bytes",
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

fn print_problem(Problem { what, why, how, .. }: &Problem) {
    print_stderr(&format!("ratoon cannot {what}: {why}\n  {how}"));
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
