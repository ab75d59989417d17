//! Chooses the Python that runs cells. A Python that cannot run them is refused before any kernel
//! starts.
//!
//! The first of these that exists is used: `--python`, `$VIRTUAL_ENV`, `.venv` in the directory of
//! the notebooks, `$CONDA_PREFIX`, the Python that Ratoon was installed into, and the `python3` of
//! `$PATH`. Only if that `python3` cannot be used, other Pythons on `$PATH` are tried.
//!
//! How to support another version of Python: CONTRIBUTING.md, "Add a Python version".

use super::failure;
use super::helper::{self, Slow};
use crate::problem::Problem;
use nix::libc;
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The oldest Python that the extension module and the pinned IPython run on.
const OLDEST: (u8, u8) = (3, 11);
/// The newest Python that the tests have run on. Newer ones are not refused.
const NEWEST: u8 = 14;
/// How long to wait for Pythons when one is chosen. The first start from a network disk is slow.
const TIMEOUTS: Timeouts =
    Timeouts { one: Duration::from_secs(20), all: Duration::from_secs(30), quiet: Duration::from_secs(2) };
/// Two values of `Candidate::source`: the Python that Ratoon is installed in, and `$PATH`.
pub(super) const INSTALLED_IN: &str = "installed in";
pub(super) const ON_PATH: &str = "$PATH";
/// Prints `MARK` and a description of the Python, also in Python 2.
const DESCRIBE: &str = include_str!("python/describe.py");
/// How many bytes of a program contain the kind of its processor (`e_machine` of elf(5)).
const ELF_HEADER_BYTES: u64 = 20;
/// A part of `DESCRIBE` that no Python prints.
const IN_DESCRIBE: &str = "Prints one line that describes this Python";
/// Precedes the description. Code of the environment may print something before it.
const MARK: &str = "ratoon-python ";
/// Environment variables with which Python does more than answer: it asks for more input after a
/// failure, writes in another encoding, or prints more after the line that says why it failed.
const DISTRACTIONS: [&str; 5] =
    ["PYTHONINSPECT", "PYTHONIOENCODING", "PYTHONVERBOSE", "PYTHONPROFILEIMPORTTIME", "PYTHONMALLOCSTATS"];

/// A version of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 3.
    pub major: u8,
    /// 12 in 3.12.1.
    pub minor: u8,
    /// 1 in 3.12.1.
    pub micro: u8,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.micro)
    }
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self { major: next()?, minor: next()?, micro: next()? })
    }

    /// Major and minor version, which decide whether two Pythons can read each other's checkpoints.
    pub fn series(self) -> (u8, u8) {
        (self.major, self.minor)
    }
}

/// A Python that can run cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// The executable. It becomes `sys.executable`, so an environment's symbolic link is not
    /// resolved. If it is a script, `sys.executable` is the Python that the script starts.
    pub executable: PathBuf,
    /// Its version.
    pub version: Version,
}

/// Where to look for a Python, in this order.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// `--python`: an executable, or the directory of an environment.
    pub wish: Option<PathBuf>,
    /// `$VIRTUAL_ENV`, the directory of the active environment.
    pub virtual_env: Option<PathBuf>,
    /// The directory of the notebooks, which may contain an environment `.venv`.
    pub dir: PathBuf,
    /// `$CONDA_PREFIX`, the directory of the active conda environment.
    pub conda_prefix: Option<PathBuf>,
    /// The executable of the Python that Ratoon was installed into.
    pub own: Option<PathBuf>,
    /// `$PATH`.
    pub path: Vec<PathBuf>,
}

/// Chooses the Python. `progress` is called with a sentence if one takes long to answer.
///
/// # Errors
/// There is none, or the first one that exists cannot be used.
pub fn choose(places: &Places, progress: &mut dyn FnMut(&str)) -> Result<Interpreter, Problem> {
    let mut patience = Patience::new(TIMEOUTS, progress);
    match places.named().first() {
        Some(named) => named.interpreter(&mut patience),
        None => places.on_path(&mut patience),
    }
}

/// How long to wait for Pythons that describe themselves.
#[derive(Clone, Copy)]
pub(super) struct Timeouts {
    /// For each.
    pub(super) one: Duration,
    /// For all together.
    pub(super) all: Duration,
    /// How long a Python may be slow before the user gets a message that names it.
    pub(super) quiet: Duration,
}

/// Waits for one Python after another, within the timeouts.
pub(super) struct Patience<'a> {
    timeouts: Timeouts,
    end: Instant,
    progress: &'a mut dyn FnMut(&str),
}

impl<'a> Patience<'a> {
    pub(super) fn new(timeouts: Timeouts, progress: &'a mut dyn FnMut(&str)) -> Self {
        Self { timeouts, end: Instant::now() + timeouts.all, progress }
    }

    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Runs a program that prints a description of a Python, within the timeouts.
    fn run(&mut self, command: &mut Command) -> std::io::Result<helper::Finished> {
        let timeout = self.timeouts.one.min(self.left());
        let name = command.get_program().display().to_string();
        let mut tell = || (self.progress)(&format!("Waiting for {name} to describe itself"));
        helper::run_and_tell(command, timeout, Slow { after: self.timeouts.quiet, tell: &mut tell })
    }
}

impl Places {
    /// The Pythons that something other than `$PATH` names. The first is used.
    pub(super) fn named(&self) -> Vec<Candidate> {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut all = Vec::new();
        if let Some(wish) = &self.wish {
            let path = if wish.is_dir() { executable_of(wish) } else { wish.clone() };
            all.push(Candidate { path: absolute(&path), source: "--python" });
        }
        if let Some(dir) = &self.virtual_env {
            all.push(Candidate { path: absolute(&executable_of(dir)), source: "$VIRTUAL_ENV" });
        }
        let local = self.dir.join(".venv");
        if local.join("pyvenv.cfg").exists() {
            all.push(Candidate { path: absolute(&executable_of(&local)), source: ".venv" });
        }
        if let Some(dir) = &self.conda_prefix {
            let path = absolute(&executable_of(dir));
            // A conda environment need not contain Python.
            if path.exists() {
                all.push(Candidate { path, source: "$CONDA_PREFIX" });
            }
        }
        if let Some(own) = &self.own {
            all.push(Candidate { path: own.clone(), source: INSTALLED_IN });
        }
        all
    }

    /// The files of this name on `$PATH`.
    pub(super) fn programs(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.path.iter().map(move |dir| dir.join(name)).filter(|path| path.is_file())
    }

    /// `python3`, or the newest other Python on `$PATH` if that cannot be used.
    fn on_path(&self, patience: &mut Patience<'_>) -> Result<Interpreter, Problem> {
        let versions = (OLDEST.1..=NEWEST).rev().map(|minor| format!("python3.{minor}"));
        let names = ["python3".to_owned(), "python".to_owned()].into_iter().chain(versions);
        let mut tried = HashSet::new();
        let mut first_error = None;
        for name in names {
            let Some(path) = self.programs(&name).next() else {
                continue;
            };
            let candidate = Candidate { path, source: ON_PATH };
            if !tried.insert(candidate.identity()) || first_error.is_some() && patience.left().is_zero() {
                continue;
            }
            match candidate.interpreter(patience) {
                Ok(found) => return Ok(found),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or_else(|| unusable("python3 (on $PATH)", "there is no such file")))
    }
}

/// The problem that a Python cannot be used. `python` is its file, and the option or variable that
/// names it.
fn unusable(python: &str, why: impl Into<String>) -> Problem {
    let how = format!("give a Python {}.{} or later: --python PATH", OLDEST.0, OLDEST.1);
    Problem::bad_request(format!("use the Python {python}"), why, how)
}

/// Checks a Python that a user named: an executable, or the directory of an environment.
///
/// # Errors
/// It cannot be used.
pub fn check(path: &Path) -> Result<Interpreter, Problem> {
    let path = if path.is_dir() { executable_of(path) } else { path.to_owned() };
    Candidate { path, source: "" }.interpreter(&mut Patience::new(TIMEOUTS, &mut |_| {}))
}

/// The Python of an environment's directory: `bin/python`, or `bin/python3` if only that exists.
pub(super) fn executable_of(dir: &Path) -> PathBuf {
    let [python, python3] = ["bin/python", "bin/python3"].map(|name| dir.join(name));
    if !python.is_file() && python3.is_file() { python3 } else { python }
}

/// A file that should be a Python interpreter.
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// Which option or variable named it; empty for a path that a user gave.
    pub(super) source: &'static str,
}

/// What `python/describe.py` prints.
#[derive(Debug)]
pub(super) struct Description {
    implementation: String,
    pub(super) version: Version,
    bits: u8,
    is_free_threaded: bool,
    /// Whether the Python uses the same C library as this program.
    is_glibc: bool,
    pid: i32,
    executable: PathBuf,
    /// The directory of its environment (`sys.prefix`).
    pub(super) prefix: PathBuf,
}

impl Description {
    fn parse(line: &str) -> Option<Self> {
        let (line, prefix) = line.split_once('\t').unwrap_or((line, ""));
        let fields: Vec<&str> = line.splitn(7, ' ').collect();
        let [implementation, version, bits, is_free_threaded, is_glibc, pid, executable] = fields[..] else {
            return None;
        };
        Some(Self {
            implementation: implementation.into(),
            version: Version::parse(version)?,
            bits: bits.parse().ok()?,
            is_free_threaded: is_free_threaded == "1",
            is_glibc: is_glibc == "1",
            pid: pid.parse().ok()?,
            executable: executable.into(),
            prefix: prefix.into(),
        })
    }
}

impl Candidate {
    /// Starts the Python and lets it describe itself.
    pub(super) fn interpreter(&self, patience: &mut Patience<'_>) -> Result<Interpreter, Problem> {
        let (executable, found) = self.found(patience).or_else(|why| self.refuse(why))?;
        match unsuitable(&found) {
            Some(why) => self.refuse(why),
            None => Ok(Interpreter { executable, version: found.version }),
        }
    }

    /// The executable to start and its description; or why the file cannot be used as a Python.
    ///
    /// The executable is the file that was named, even if it is a script that sets environment
    /// variables and then starts a Python. Only launchers of version managers are replaced by the
    /// Python that they start: a launcher may start another version next time.
    pub(super) fn found(&self, patience: &mut Patience<'_>) -> Result<(PathBuf, Description), String> {
        let found = self.describe(patience)?;
        if self.is_launcher() {
            let real = Self { path: found.executable.clone(), source: self.source };
            if real.describe(patience).is_ok_and(|again| again.version == found.version) {
                return Ok((real.path, found));
            }
        }
        Ok((self.path.clone(), found))
    }

    /// Whether it is a launcher of a version manager. pyenv, asdf, mise and rye put their launchers
    /// into a directory `shims`.
    pub(super) fn is_launcher(&self) -> bool {
        let is_shim = |path: &Path| path.parent().is_some_and(|dir| dir.ends_with("shims"));
        is_shim(&self.path) || self.path.canonicalize().is_ok_and(|real| is_shim(&real))
    }

    /// Its identity before it is started: the file that it leads to, and its directory. A Python's
    /// environment depends on the directory, so names in two directories are two Pythons, even if
    /// they lead to the same file.
    pub(super) fn identity(&self) -> (PathBuf, PathBuf) {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        (real(&self.path), real(self.path.parent().unwrap_or(Path::new("/"))))
    }

    fn refuse<T>(&self, why: impl Into<String>) -> Result<T, Problem> {
        let path = self.path.display();
        let python = match self.source {
            "" => path.to_string(),
            INSTALLED_IN => format!("{path} (the one Ratoon is installed in)"),
            ON_PATH => format!("{path} (on $PATH)"),
            source => format!("{path} ({source})"),
        };
        Err(unusable(&python, why))
    }

    fn check_file(&self) -> Result<(), String> {
        let refuse = |why: &str| Err(why.to_owned());
        match self.path.metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound && self.path.is_symlink() => {
                refuse("it is a link to a file that no longer exists")
            }
            Err(e) if e.kind() == ErrorKind::NotFound => refuse("there is no such file"),
            Err(e) => Err(format!("it cannot be read ({e})")),
            Ok(m) if !m.is_file() => refuse("it is not a file"),
            Ok(m) if m.permissions().mode() & 0o111 == 0 => refuse("it is not executable"),
            // Orders to processes, notebooks and pages contain the path in JSON.
            Ok(_) if self.path.to_str().is_none() => refuse("its path is not valid UTF-8"),
            Ok(_) if !is_program(&self.path) => {
                refuse("it does not start: it is not a program for this machine")
            }
            Ok(_) => Ok(()),
        }
    }

    fn describe(&self, patience: &mut Patience<'_>) -> Result<Description, String> {
        self.check_file()?;
        let finished = patience.run(question(&self.path).args(["-c", DESCRIBE])).map_err(cannot_start)?;
        // Another program may print its arguments.
        if !finished.is_success() && finished.stderr.contains(IN_DESCRIBE) {
            return Err("it is not a Python interpreter".into());
        }
        if !finished.is_success() {
            return Err(format!("it does not start ({})", finished.reason()));
        }
        let line = finished.stdout.lines().rev().find_map(|line| line.strip_prefix(MARK));
        let found =
            line.and_then(Description::parse).ok_or("it does not behave like a Python interpreter")?;
        // Signals go to the process that the server starts, so they would not reach this Python.
        if found.pid != finished.pid {
            return Err("it is a script that starts Python as another process: put `exec` before the \
                        command in the script that starts Python"
                .into());
        }
        Ok(found)
    }
}

fn cannot_start(error: std::io::Error) -> String {
    match error.raw_os_error() {
        // The file is there, so its loader is not.
        Some(libc::ENOENT) => "it does not start: the program or the C library that it needs is not on \
            this machine (it may be made for musl, as in Alpine Linux)"
            .into(),
        Some(_) => format!("it does not start ({error})"),
        None => error.to_string(),
    }
}

/// A command that starts a user's Python with a question. It writes no byte code into the
/// environment.
pub(super) fn question(executable: &Path) -> Command {
    let mut command = Command::new(executable);
    command.arg("-B");
    DISTRACTIONS.iter().for_each(|name| _ = command.env_remove(name));
    command
}

/// Whether a file is a script or a program for this kind of processor. Any other file must not be
/// started: execvp(3) would give it to a shell.
fn is_program(path: &Path) -> bool {
    let header = |path: &Path| {
        let mut header = Vec::new();
        File::open(path)?.take(ELF_HEADER_BYTES).read_to_end(&mut header).map(|_| header)
    };
    let (Ok(own), Ok(header)) = (header(Path::new("/proc/self/exe")), header(path)) else {
        // A file that cannot be read may still be started.
        return true;
    };
    let machine = |header: &[u8]| header.get(18..20).map(<[u8]>::to_owned);
    header.starts_with(b"#!") || header.starts_with(b"\x7fELF") && machine(&header) == machine(&own)
}

/// Why a Python cannot run cells; none if it can.
pub(super) fn unsuitable(found: &Description) -> Option<String> {
    let (major, minor) = found.version.series();
    if found.implementation != "cpython" {
        return Some(format!("it is {}, and Ratoon needs CPython", failure::shown(&found.implementation)));
    }
    if found.version.series() < OLDEST {
        return Some(format!(
            "it is Python {major}.{minor}, and Ratoon needs {}.{} or later",
            OLDEST.0, OLDEST.1
        ));
    }
    if found.is_free_threaded {
        return Some(format!(
            "it is the free-threaded build of Python {major}.{minor}, and Ratoon needs the standard build"
        ));
    }
    if found.bits != 64 {
        return Some(format!("it is a {}-bit program, and Ratoon needs a 64-bit one", found.bits));
    }
    (!found.is_glibc).then(|| "it uses another C library than glibc, for example musl in Alpine Linux".into())
}

#[cfg(test)]
mod tests;
