//! The server's log: one line for each event, on stderr or in a file.
//!
//! Events come from `tracing`'s macros. Their fields are ids, names, numbers and sentences, but
//! never code, outputs or credentials.

use crate::problem::{Kind, Problem};
use std::backtrace::Backtrace;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender, sync_channel};
use std::time::Duration;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Maximum size of a log file, in bytes. A full one is renamed, and replaces the one before it.
const MAX_FILE_BYTES: u64 = 10 << 20;
/// Maximum number of lines that wait for the thread that writes them.
const MAX_WAITING: usize = 1024;
/// How long the end of the server waits for the last lines.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Which events are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Level {
    /// Nothing.
    Off,
    /// Bugs of the server.
    Error,
    /// Also what users or the owner of the machine should know: failing disks, processes that hang.
    Warn,
    /// Also what happens to the server, to notebooks and to runs.
    Info,
    /// Also each process.
    Debug,
}

impl Level {
    fn filter(self) -> LevelFilter {
        match self {
            Self::Off => LevelFilter::OFF,
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
        }
    }
}

/// The running log. Dropping it waits until its lines are written.
#[derive(Debug)]
#[must_use]
pub struct Log(Lines);

impl Drop for Log {
    fn drop(&mut self) {
        let (tell, written) = mpsc::channel();
        // If nobody reads the pipe, the last lines are lost.
        if self.0.0.try_send(Message::Flush(tell)).is_ok() {
            let _ = written.recv_timeout(END_TIMEOUT);
        }
    }
}

/// Begins to log to a file, or else to stderr. Panics are logged with their backtrace.
///
/// # Errors
/// `Problem` when the file cannot be opened, or no thread can be started.
pub fn start(level: Level, file: Option<&Path>) -> Result<Log, Problem> {
    let target: Box<dyn Write + Send> = match file {
        None => Box::new(io::stderr()),
        Some(path) => Box::new(LogFile::open(path, MAX_FILE_BYTES).map_err(|error| {
            let how = "give --log-file a path in a directory that you may write";
            Problem::new(Kind::BadRequest, format!("log to {}", path.display()), error.to_string(), how)
        })?),
    };
    let lines = Lines::start(target).map_err(|error| {
        Problem::new(Kind::BadRequest, "start", error.to_string(), "close some programs and try again")
    })?;
    let log = Log(lines.clone());
    let lines = move || lines.clone();
    // Of this crate only: libraries log the paths of requests, which may contain tokens.
    let own = Targets::new().with_target("ratoon", level.filter());
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_target(false).with_writer(lines);
    // Fails if a log has begun already, in a test.
    let _ = tracing_subscriber::registry().with(layer.with_filter(own)).try_init();
    std::panic::set_hook(Box::new(log_panic));
    Ok(log)
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let why = panic.payload_as_str().unwrap_or_default();
    let backtrace = Backtrace::force_capture().to_string();
    let backtrace = backtrace.lines().map(str::trim).collect::<Vec<_>>().join(" | ");
    tracing::error!(?place, ?why, ?backtrace, "a part of the server panicked");
}

/// Passes lines to a thread that writes them, so that nothing waits for a slow disk or for a pipe
/// that nobody reads. Lines beyond its queue are lost.
#[derive(Clone, Debug)]
struct Lines(SyncSender<Message>);

#[derive(Debug)]
enum Message {
    Line(Vec<u8>),
    /// Send when all earlier lines are written.
    Flush(mpsc::Sender<()>),
}

impl Lines {
    fn start(mut target: Box<dyn Write + Send>) -> io::Result<Self> {
        let (lines, waiting) = sync_channel(MAX_WAITING);
        std::thread::Builder::new().name("log".into()).spawn(move || {
            for message in waiting {
                // What cannot be logged is lost, and so are the receivers that no longer wait.
                match message {
                    Message::Line(line) => drop(target.write_all(&line)),
                    Message::Flush(tell) => drop(target.flush().map(|()| tell.send(()))),
                }
            }
        })?;
        Ok(Self(lines))
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // Fails if the queue is full.
        let _ = self.0.try_send(Message::Line(line.to_vec()));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file to which lines are added. A full file is renamed to `PATH.1`.
struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    max_bytes: u64,
}

impl LogFile {
    fn open(path: &Path, max_bytes: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, bytes, max_bytes })
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > self.max_bytes {
            let mut full = self.path.clone().into_os_string();
            full.push(".1");
            std::fs::rename(&self.path, full)?;
            *self = Self::open(&self.path, self.max_bytes)?;
        }
        let count = self.file.write(line)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_panic_is_logged_in_one_line_with_its_backtrace() {
        let lines = Memory::default();
        let written = lines.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || written.clone()).finish();
        // Other tests may panic meanwhile.
        let (own, others) = (std::thread::current().id(), std::panic::take_hook());
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() == own { log_panic(panic) } else { others(panic) }
        }));
        let panicked = tracing::subscriber::with_default(subscriber, || {
            std::panic::catch_unwind(|| panic!("as it\nshould"))
        });
        drop(std::panic::take_hook());
        assert!(panicked.is_err());
        let lines = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(lines.lines().count(), 1, "{lines}");
        let name = "a_panic_is_logged_in_one_line_with_its_backtrace";
        for part in ["ERROR", "a part of the server panicked", "src/log.rs:", "as it\\nshould", " | ", name] {
            assert!(lines.contains(part), "no {part} in {lines}");
        }
    }

    #[test]
    fn nothing_waits_for_a_pipe_that_nobody_reads() {
        let (_reader, writer) = io::pipe().unwrap();
        let mut lines = Lines::start(Box::new(writer)).unwrap();
        for _ in 0..10 * MAX_WAITING {
            lines.write_all(&[b'x'; 1024]).unwrap();
        }
    }

    #[test]
    fn a_full_file_is_renamed_and_the_one_before_it_is_replaced() {
        let dir = std::env::temp_dir().join(format!("ratoon-log-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let path = dir.join("log");
        let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap_or_default();
        for (line, now, before) in [
            ("one\n", "one\n", ""),
            ("two\n", "one\ntwo\n", ""),
            ("three\n", "three\n", "one\ntwo\n"),
            ("a line that is longer than a file\n", "a line that is longer than a file\n", "three\n"),
            ("4\n", "4\n", "a line that is longer than a file\n"),
        ] {
            // Also by another server, later.
            LogFile::open(&path, 10).unwrap().write_all(line.as_bytes()).unwrap();
            assert_eq!((read("log"), read("log.1")), (now.into(), before.into()));
        }
        std::fs::remove_dir_all(dir).unwrap();
    }
}
