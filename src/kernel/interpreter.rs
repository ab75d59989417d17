//! Chooses the Python that runs cells: the one that `--python` names, else that of the active
//! environment, else the one this program was built with. Refuses an unsuitable Python before any
//! kernel process starts: if its version differs, the embedded Python would start, but would
//! silently not find the environment's packages.
//!
//! How to support another version of Python: CONTRIBUTING.md, "Add a Python version".

use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The executable of the Python that this program was built with and is linked to.
const BUILT_WITH: &str = env!("RATOON_BUILD_PYTHON");
/// The version of `BUILT_WITH`, such as `3.11`.
const BUILT_WITH_VERSION: &str = env!("RATOON_BUILD_PYTHON_VERSION");
/// The oldest Python that the pinned IPython runs on.
const OLDEST: (u8, u8) = (3, 10);
/// How long a Python may take to print its version. The first start from a network disk is slow.
const ASK_LIMIT: Duration = Duration::from_secs(20);
/// Python code that prints the version and then the executable. The executable is another file if a
/// launcher was started.
const ASK: &str = "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.executable)";

/// A Python that fits this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// The executable. It becomes `sys.executable`, so an environment's symbolic link is not
    /// resolved.
    pub executable: PathBuf,
    /// Major and minor version.
    pub version: (u8, u8),
}

/// Why a Python cannot be used, and what to do about it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot use the Python {python}: {why}\n{how}")]
pub struct InterpreterError {
    /// The file, and the option or variable that names it.
    pub python: String,
    /// Why it cannot be used.
    pub why: String,
    /// What to do instead.
    pub how: String,
}

/// Chooses the Python: `wish` (`--python`; a directory means the environment in it), or that of
/// `virtual_env` (`$VIRTUAL_ENV`), or the one this program was built with. The version of the last
/// is known, so it is not started.
pub fn choose(wish: Option<&Path>, virtual_env: Option<&Path>) -> Result<Interpreter, InterpreterError> {
    let Some((path, source)) = wish.map(|p| (p, "--python")).or(virtual_env.map(|p| (p, "$VIRTUAL_ENV")))
    else {
        let built_with =
            Candidate { path: PathBuf::from(BUILT_WITH), source: "the one Ratoon was built with" };
        built_with.check_file()?;
        return Ok(Interpreter { executable: built_with.path, version: built_with_version() });
    };
    let path =
        if path.is_dir() || source == "$VIRTUAL_ENV" { path.join("bin/python") } else { path.to_owned() };
    let candidate = Candidate { path: std::path::absolute(&path).unwrap_or(path), source };
    candidate.check_file()?;
    let version = candidate.ask(ASK_LIMIT)?;
    candidate.check_version(version)?;
    Ok(Interpreter { executable: candidate.path, version })
}

/// A file that should be a Python interpreter.
struct Candidate {
    path: PathBuf,
    source: &'static str,
}

impl Candidate {
    fn refuse<T>(&self, why: impl Into<String>, how: impl Into<String>) -> Result<T, InterpreterError> {
        let python = format!("{} ({})", self.path.display(), self.source);
        Err(InterpreterError { python, why: why.into(), how: how.into() })
    }

    fn check_file(&self) -> Result<(), InterpreterError> {
        let give_another = format!("give the full path of a Python {BUILT_WITH_VERSION}: --python PATH");
        match self.path.metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => self.refuse("there is no such file", give_another),
            Err(e) => self.refuse(format!("it cannot be read ({e})"), give_another),
            Ok(m) if !m.is_file() => self.refuse("it is not a file", give_another),
            Ok(m) if m.permissions().mode() & 0o111 == 0 => self.refuse("it is not executable", give_another),
            Ok(_) => Ok(()),
        }
    }

    fn ask(&self, limit: Duration) -> Result<(u8, u8), InterpreterError> {
        let not_python = format!("give the path of a Python {BUILT_WITH_VERSION}: --python PATH");
        let answer = match self.run(limit) {
            Ok(answer) => answer,
            Err(why) => return self.refuse(why, not_python),
        };
        let mut lines = answer.lines();
        let Some(version) = lines.next().and_then(parse_version) else {
            return self.refuse("it does not answer as a Python would", not_python);
        };
        let real = Path::new(lines.next().unwrap_or_default());
        // A launcher, such as a shim of pyenv, chooses a Python by the current directory and
        // environment variables. But an embedded Python finds its packages by the path of its
        // executable.
        if !is_same_file(&self.path, real) {
            let how = format!("give the Python that it starts: --python {}", real.display());
            return self.refuse("it is a script that starts another Python", how);
        }
        Ok(version)
    }

    fn run(&self, limit: Duration) -> Result<String, String> {
        let mut child = Command::new(&self.path)
            .args(["-I", "-S", "-c", ASK])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("it does not start ({e})"))?;
        let status = wait(&mut child, limit)?;
        let mut output = String::new();
        if !status.success() {
            child.stderr.take().map(|mut e| e.read_to_string(&mut output));
            let last = output.trim().lines().last().unwrap_or("it printed nothing").trim();
            return Err(format!("it does not answer as a Python would ({last})"));
        }
        child.stdout.take().map(|mut o| o.read_to_string(&mut output));
        Ok(output)
    }

    fn check_version(&self, version: (u8, u8)) -> Result<(), InterpreterError> {
        let built_with = built_with_version();
        let (major, minor) = version;
        if version < OLDEST {
            let why = format!("it is Python {major}.{minor}, and Ratoon needs 3.10 or later");
            return self.refuse(why, format!("give a Python {BUILT_WITH_VERSION}: --python PATH"));
        }
        if version != built_with {
            let why =
                format!("it is Python {major}.{minor}, and this Ratoon was built with {BUILT_WITH_VERSION}");
            let how = format!(
                "give a Python {BUILT_WITH_VERSION} (--python PATH), or build Ratoon for this one: \
                 PYO3_PYTHON={} cargo build --release",
                self.path.display()
            );
            return self.refuse(why, how);
        }
        Ok(())
    }
}

/// Waits for the end of a process that prints a few lines. Kills it if it takes too long.
fn wait(child: &mut Child, limit: Duration) -> Result<std::process::ExitStatus, String> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if started.elapsed() < limit => std::thread::sleep(pause),
            Ok(None) => {
                // Fails if the process has just ended. In both cases the next line reaps it.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it gave no answer within {} s", limit.as_secs_f32()));
            }
            Err(e) => return Err(format!("cannot wait for it to end ({e})")),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    match (a.metadata(), b.metadata()) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

fn built_with_version() -> (u8, u8) {
    parse_version(BUILT_WITH_VERSION).expect("build.rs writes MAJOR.MINOR")
}

fn parse_version(text: &str) -> Option<(u8, u8)> {
    let (major, minor) = text.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(name: &str, text: &str) -> Candidate {
        let path = std::env::temp_dir().join(format!("ratoon-interpreter-{}-{name}", std::process::id()));
        // Another process writes the file: a child forked by another test would inherit the open
        // descriptor, and the script could not be run ("text file busy").
        let write = "printf '%s' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        let status = Command::new("sh").arg("-c").arg(write).arg(&path).arg(text).status().unwrap();
        assert!(status.success());
        Candidate { path, source: "--python" }
    }

    fn why(candidate: &Candidate, limit: Duration) -> String {
        let error = candidate.ask(limit).and_then(|v| candidate.check_version(v)).unwrap_err();
        std::fs::remove_file(&candidate.path).unwrap();
        error.why
    }

    #[test]
    fn the_one_built_with_is_chosen_without_a_wish() {
        let chosen = choose(None, None).unwrap();
        assert_eq!(chosen.executable, Path::new(BUILT_WITH));
        assert_eq!(choose(Some(Path::new(BUILT_WITH)), Some(Path::new("/nowhere"))).unwrap(), chosen);
    }

    #[test]
    fn a_missing_file_and_a_missing_environment_are_named() {
        let wish = choose(Some(Path::new("/nowhere/python")), None).unwrap_err();
        assert_eq!(wish.why, "there is no such file");
        assert!(wish.to_string().contains("/nowhere/python (--python)"), "{wish}");
        let env = choose(None, Some(Path::new("/nowhere"))).unwrap_err();
        assert!(env.to_string().contains("/nowhere/bin/python ($VIRTUAL_ENV)"), "{env}");
    }

    #[test]
    fn a_file_that_is_not_executable_is_refused() {
        let candidate = script("plain", "");
        std::fs::set_permissions(&candidate.path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(choose(Some(&candidate.path), None).unwrap_err().why, "it is not executable");
        std::fs::remove_file(&candidate.path).unwrap();
    }

    #[test]
    fn what_is_not_a_python_is_refused() {
        let silent = script("silent", "#!/bin/sh\n");
        assert_eq!(why(&silent, ASK_LIMIT), "it does not answer as a Python would");
        let failing = script("failing", "#!/bin/sh\necho 'version 3.12 is not installed' >&2; exit 1\n");
        assert_eq!(
            why(&failing, ASK_LIMIT),
            "it does not answer as a Python would (version 3.12 is not installed)"
        );
        let stuck = script("stuck", "#!/bin/sh\nexec sleep 600\n");
        assert_eq!(why(&stuck, Duration::from_millis(50)), "it gave no answer within 0.05 s");
    }

    #[test]
    fn a_launcher_is_refused_and_names_the_python_behind_it() {
        let shim = script("shim", &format!("#!/bin/sh\nexec '{BUILT_WITH}' \"$@\"\n"));
        let error = shim.ask(ASK_LIMIT).unwrap_err();
        assert_eq!(error.how, format!("give the Python that it starts: --python {BUILT_WITH}"));
        assert_eq!(why(&shim, ASK_LIMIT), "it is a script that starts another Python");
    }

    #[test]
    fn other_versions_are_refused_with_both_fixes() {
        let old = script("old", "#!/bin/sh\necho 3.9; echo \"$0\"\n");
        assert_eq!(why(&old, ASK_LIMIT), "it is Python 3.9, and Ratoon needs 3.10 or later");
        let new = script("new", "#!/bin/sh\necho 3.99; echo \"$0\"\n");
        let error = new.ask(ASK_LIMIT).and_then(|v| new.check_version(v)).unwrap_err();
        let fix = format!("PYO3_PYTHON={} cargo build --release", new.path.display());
        assert!(error.how.contains(&fix) && error.how.contains("--python PATH"), "{error}");
        let why = why(&new, ASK_LIMIT);
        assert_eq!(why, format!("it is Python 3.99, and this Ratoon was built with {BUILT_WITH_VERSION}"));
    }
}
