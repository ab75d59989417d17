//! Runs a short program and returns what it printed. It works in a running server, whose reaper may
//! wait for the program first, and it never hangs: a program that takes too long or prints too much
//! is killed, together with its descendants.

use super::failure;
use super::protocol::Exit;
use super::tree::{end_with_descendants, take_exit};
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::prctl;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How much a program may print, in bytes. An installer prints some kilobytes.
const MAX_OUTPUT_BYTES: u64 = 8 * 1024 * 1024;
/// The longest pause between two checks whether the program has ended.
const MAX_PAUSE: Duration = Duration::from_millis(20);
/// How long the reaper may take to note the status of a program that it has waited for.
const STATUS_TIMEOUT: Duration = Duration::from_secs(1);

/// What a program has printed, and how it ended.
#[derive(Debug)]
pub(super) struct Finished {
    /// Its process id.
    pub(super) pid: i32,
    /// How it ended; none if that is unknown.
    exit: Option<Exit>,
    /// Its standard output.
    pub(super) stdout: String,
    /// Its standard error.
    pub(super) stderr: String,
}

impl Finished {
    /// Whether its exit code was 0. An unknown status counts as success: the caller then judges by
    /// what the program has printed.
    pub(super) fn is_success(&self) -> bool {
        matches!(self.exit, None | Some(Exit::Code(0)))
    }

    /// Why it failed, in a sentence.
    pub(super) fn reason(&self) -> String {
        failure::reason(self.exit, &self.stderr)
    }
}

/// What to do when a program takes long.
pub(super) struct Slow<'a> {
    /// How long a program may run before `tell` is called.
    pub(super) after: Duration,
    /// Called at most once.
    pub(super) tell: &'a mut dyn FnMut(),
}

/// Runs a program without input. It gets a process group of its own, so that everything that it
/// starts ends with it.
///
/// # Errors
/// The program cannot be started, takes longer than `timeout`, or prints too much. Then its
/// descendants in other groups end too.
pub(super) fn run(command: &mut Command, timeout: Duration) -> io::Result<Finished> {
    run_and_tell(command, timeout, Slow { after: Duration::MAX, tell: &mut || {} })
}

/// Like `run`, of a program that reads `input` from its standard input.
///
/// # Errors
/// As `run`.
pub(super) fn run_with_input(command: &mut Command, input: &str, timeout: Duration) -> io::Result<Finished> {
    let mut stdin = file()?;
    stdin.write_all(input.as_bytes())?;
    stdin.rewind()?;
    start(command, stdin.into(), timeout, Slow { after: Duration::MAX, tell: &mut || {} })
}

/// Like `run`. Also calls `slow.tell` if the program takes longer than `slow.after`.
///
/// # Errors
/// As `run`.
pub(super) fn run_and_tell(command: &mut Command, timeout: Duration, slow: Slow<'_>) -> io::Result<Finished> {
    start(command, Stdio::null(), timeout, slow)
}

fn start(command: &mut Command, stdin: Stdio, timeout: Duration, slow: Slow<'_>) -> io::Result<Finished> {
    // Files, because reading a pipe can wait for a process that the program has left behind.
    let (mut stdout, mut stderr) = (file()?, file()?);
    end_with_this_thread(command);
    let mut child = command
        .stdin(stdin)
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .process_group(0)
        .spawn()?;
    let ended = wait(&mut child, timeout, slow, [&stdout, &stderr]);
    if ended.is_err() {
        end_with_descendants(pid_of(&child));
    }
    // Fails if no process of the group is left.
    let _ = killpg(Pid::from_raw(pid_of(&child)), Signal::SIGKILL);
    if ended.is_err() {
        // Fails if the reaper has waited for it.
        let _ = child.wait();
    }
    let (exit, pid) = (ended?, pid_of(&child));
    Ok(Finished { pid, exit, stdout: text(&mut stdout)?, stderr: text(&mut stderr)? })
}

/// Makes Linux kill the program when this thread ends. The thread waits for the program, so it ends
/// first only if this process is killed.
fn end_with_this_thread(command: &mut Command) {
    let set_signal = || Ok(prctl::set_pdeathsig(Signal::SIGKILL)?);
    // SAFETY: in the child, between fork and exec, it makes one system call and allocates nothing.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(set_signal);
    }
}

fn wait(child: &mut Child, timeout: Duration, slow: Slow<'_>, files: [&File; 2]) -> io::Result<Option<Exit>> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    let mut slow = Some(slow);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                return Ok(status.code().map(Exit::Code).or(status.signal().map(Exit::Signal)));
            }
            Ok(None) => {}
            Err(e) if e.raw_os_error() == Some(libc::ECHILD) => return Ok(status_of_reaped(child)),
            Err(e) => return Err(e),
        }
        if started.elapsed() >= timeout {
            let seconds = (timeout.as_secs_f64() * 100.0).round() / 100.0;
            let why = format!("it did not answer within {seconds} s");
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        for file in files {
            if file.metadata()?.len() > MAX_OUTPUT_BYTES {
                return Err(io::Error::other("it prints without end"));
            }
        }
        if let Some(slow) = slow.take_if(|slow| started.elapsed() >= slow.after) {
            (slow.tell)();
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// How a program ended that the server's reaper has waited for. None if the reaper does not note
/// the status in time.
fn status_of_reaped(child: &Child) -> Option<Exit> {
    let started = Instant::now();
    loop {
        let exit = take_exit(pid_of(child));
        if exit.is_some() || started.elapsed() >= STATUS_TIMEOUT {
            return exit;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn pid_of(child: &Child) -> i32 {
    child.id().cast_signed()
}

fn file() -> io::Result<File> {
    Ok(File::from(memfd_create(c"ratoon-helper", MFdFlags::MFD_CLOEXEC)?))
}

fn text(file: &mut File) -> io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;

    fn sh(code: &str) -> io::Result<Finished> {
        run(Command::new("sh").args(["-c", code]), Duration::from_secs(60))
    }

    #[test]
    fn a_program_is_read_and_its_status_is_known() {
        let good = sh("echo out; echo err >&2").unwrap();
        assert_eq!((good.is_success(), &*good.stdout, &*good.stderr), (true, "out\n", "err\n"));
        for (code, reason) in [
            ("exit 3", "it exited with status 3 and no message"),
            ("echo broken >&2; exit 3", "broken"),
            ("kill -SEGV $$", "it was killed by SIGSEGV"),
        ] {
            let bad = sh(code).unwrap();
            assert_eq!((bad.is_success(), &*bad.reason()), (false, reason));
        }
        assert!(run(&mut Command::new("/nowhere/program"), Duration::from_secs(60)).is_err());
    }

    #[test]
    fn a_program_gets_its_input() {
        let input = "x".repeat(1 << 20);
        let mut count = Command::new("wc");
        let ended = run_with_input(count.arg("-c"), &input, Duration::from_secs(60)).unwrap();
        assert_eq!(ended.stdout.trim(), "1048576");
    }

    #[test]
    fn what_a_program_leaves_behind_neither_holds_us_up_nor_stays() {
        let left = sh("sleep 600 & echo $!").unwrap();
        assert!(left.is_success());
        ends(&left.stdout);
    }

    /// Waits until a process has ended.
    fn ends(pid: &str) {
        let pid: i32 = pid.trim().parse().unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_alive = || !state().is_empty() && !state().contains(") Z ");
        let started = Instant::now();
        while is_alive() {
            assert!(started.elapsed() < Duration::from_secs(60), "it stays: {}", state());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_a_program_has_put_into_another_session_ends_with_it() {
        let file = std::env::temp_dir().join(format!("ratoon-helper-{}", std::process::id()));
        // It has its own session when it writes its pid.
        let code = "setsid sh -c 'echo $$ > \"$0\"; exec sleep 600' \"$0\" &\n\
                    while [ ! -s \"$0\" ]; do sleep 0.01; done; exec yes";
        let ended = run(Command::new("sh").args(["-c", code]).arg(&file), Duration::from_secs(60));
        let pid = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(ended.unwrap_err().to_string(), "it prints without end");
        ends(&pid);
    }

    #[test]
    fn a_program_that_hangs_or_prints_without_end_is_ended() {
        let slow = run(Command::new("sh").args(["-c", "sleep 600; true"]), Duration::from_millis(50));
        assert_eq!(slow.unwrap_err().to_string(), "it did not answer within 0.05 s");
        assert_eq!(sh("yes").unwrap_err().to_string(), "it prints without end");
    }

    #[test]
    fn a_program_that_takes_long_is_reported_once() {
        let count = |code: &str, after: Duration| {
            let mut count = 0;
            let slow = Slow { after, tell: &mut || count += 1 };
            let ended = run_and_tell(Command::new("sh").args(["-c", code]), Duration::from_millis(200), slow);
            (ended.is_ok(), count)
        };
        assert_eq!(count("sleep 600", Duration::ZERO), (false, 1));
        assert_eq!(count("sleep 600", Duration::from_secs(60)), (false, 0));
        assert_eq!(count("true", Duration::from_secs(60)), (true, 0));
    }
}
