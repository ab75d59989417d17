//! Installs IPython and cloudpickle if the user's environment does not have them. Never writes into
//! that environment: pinned wheels with known hashes are installed once, into a support directory
//! of Ratoon's own. The kernel appends this directory to `sys.path`, so packages of the environment
//! come first.
//!
//! The pins are `support/py*.txt`; `scripts/lock-support` writes them.

mod install;

use crate::kernel::interpreter::Interpreter;
use crate::problem::{Kind, Problem};
use sha2::{Digest, Sha256};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// IPython 8, for Python 3.10, which IPython 9 does not support.
const PY310: &str = include_str!("../support/py310.txt");
/// IPython 9, for Python 3.11 and all later ones.
const PY311: &str = include_str!("../support/py311.txt");
/// Prints what the environment contains, for `Environment`.
const MISSING_PACKAGES: &str = include_str!("../python/missing_packages.py");
/// Imports what the kernel imports, with the support directory at the end of `sys.path`.
const IMPORT_ALL: &str =
    "import sys; sys.path.append(sys.argv[1]); import IPython.core.interactiveshell, cloudpickle";
/// Prefix of a directory that is being filled. If no process holds the lock, the process that was
/// filling the directory was killed.
const UNFINISHED: &str = "unfinished-";

/// Returns the directory to append to `sys.path`, or None if the environment already has all
/// packages. `data_dir` is Ratoon's data directory. `progress` is called with a sentence before
/// each step that may take long. If the support directory already exists, no process is started.
pub fn ensure(
    interpreter: &Interpreter,
    data_dir: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Option<PathBuf>, Problem> {
    let parent = data_dir.join("support");
    let pins = pins(interpreter.version);
    let support = parent.join(directory_name(interpreter.version, pins));
    if support.is_dir() {
        return Ok(Some(support));
    }
    let environment = Environment::ask(interpreter)?;
    if environment.has_all() {
        return Ok(None);
    }
    let cannot_write = |e: io::Error| Problem {
        kind: Kind::Kernel,
        what: format!("cannot install IPython into {}", support.display()),
        why: e.to_string(),
        how: format!(
            "make sure that there is free space and that you may write there; {}",
            by_hand(interpreter)
        ),
    };
    fs::create_dir_all(&parent).map_err(cannot_write)?;
    let _lock = lock(&parent, progress).map_err(cannot_write)?;
    if support.is_dir() {
        return Ok(Some(support));
    }
    remove_unfinished(&parent).map_err(cannot_write)?;
    progress(&announcement(pins, &support));
    let unfinished = parent.join(format!("{UNFINISHED}{}", std::process::id()));
    let installed = fs::create_dir(&unfinished)
        .map_err(cannot_write)
        .and_then(|()| fill(interpreter, &environment, pins, &unfinished))
        .and_then(|packages| fs::rename(packages, &support).map_err(cannot_write));
    // If this fails, the next installation removes the directory.
    let _ = fs::remove_dir_all(&unfinished);
    installed.map(|()| Some(support))
}

/// What an interpreter can import, as `python/missing_packages.py` prints it.
struct Environment {
    /// The modules that the kernel needs and the environment does not have.
    missing: Vec<String>,
    /// Whether it can run `-m pip`.
    has_pip: bool,
    /// The pip that came with Python, as a wheel.
    bundled_pip: Option<PathBuf>,
}

impl Environment {
    fn ask(interpreter: &Interpreter) -> Result<Self, Problem> {
        let error = |why: String| Problem {
            kind: Kind::Kernel,
            what: format!("cannot ask {} which packages it has", interpreter.executable.display()),
            why,
            how: "run it by hand to see what is wrong with it, or give another one: --python PATH".to_owned(),
        };
        let output =
            python(interpreter).args(["-c", MISSING_PACKAGES]).output().map_err(|e| error(e.to_string()))?;
        if !output.status.success() {
            return Err(error(last_line(&output.stderr)));
        }
        let output = String::from_utf8_lossy(&output.stdout);
        let values = |key: &str| {
            let prefix = format!("{key} ");
            output.lines().filter_map(|l| l.strip_prefix(&prefix)).map(str::to_owned).collect::<Vec<_>>()
        };
        if let Some(old) = values("too-old").first() {
            let python = interpreter.executable.display();
            return Err(Problem {
                kind: Kind::Kernel,
                what: format!("cannot use the {old} of {python}"),
                why: "Ratoon needs IPython 8.0 or later, and does not change your environment".to_owned(),
                how: format!("run: {python} -m pip install --upgrade ipython"),
            });
        }
        Ok(Self {
            missing: values("missing"),
            has_pip: !values("pip").is_empty(),
            bundled_pip: values("bundled-pip").first().map(PathBuf::from),
        })
    }

    fn has_all(&self) -> bool {
        self.missing.is_empty()
    }
}

/// Installs the packages into a new directory inside `dir`, tries to import them, and returns their
/// directory.
fn fill(
    interpreter: &Interpreter,
    environment: &Environment,
    pins: &str,
    dir: &Path,
) -> Result<PathBuf, Problem> {
    let packages = install::install(interpreter, environment, pins, dir).map_err(|why| Problem {
        kind: Kind::Kernel,
        what: "cannot install IPython, which runs the cells".to_owned(),
        why,
        how: format!(
            "connect to the network (or set pip's index and proxy) and start again; {}",
            by_hand(interpreter)
        ),
    })?;
    let failed = |why| Problem {
        kind: Kind::Kernel,
        what: format!(
            "cannot import the IPython that was installed for {}",
            interpreter.executable.display()
        ),
        why,
        how: format!("a package of the environment is probably too old for it; {}", by_hand(interpreter)),
    };
    let tried = python(interpreter)
        .args(["-c", IMPORT_ALL])
        .arg(&packages)
        .output()
        .map_err(|e| failed(e.to_string()))?;
    if !tried.status.success() {
        return Err(failed(last_line(&tried.stderr)));
    }
    Ok(packages)
}

fn by_hand(interpreter: &Interpreter) -> String {
    format!("or install it yourself: {} -m pip install ipython cloudpickle", interpreter.executable.display())
}

/// A command that starts the interpreter without input. It writes no byte code into the
/// environment.
fn python(interpreter: &Interpreter) -> Command {
    let mut command = Command::new(&interpreter.executable);
    command.arg("-B").stdin(Stdio::null());
    command
}

fn pins(version: (u8, u8)) -> &'static str {
    if version < (3, 11) { PY310 } else { PY311 }
}

/// The name of the support directory. It depends on everything that decides the content, so an
/// existing directory has the right content.
fn directory_name((major, minor): (u8, u8), pins: &str) -> String {
    let hash = Sha256::digest(pins.as_bytes());
    let short: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("py{major}{minor}-{}-{short}", std::env::consts::ARCH)
}

fn announcement(pins: &str, support: &Path) -> String {
    let mut names = pins.lines().filter_map(|line| line.trim_end_matches(" \\").split_once("=="));
    let all = names.clone().count();
    let ipython = names.find(|(name, _)| *name == "ipython").map_or("", |(_, version)| version);
    format!("Installing IPython {ipython} and {} more packages into {} (once)", all - 1, support.display())
}

fn lock(parent: &Path, progress: &mut dyn FnMut(&str)) -> io::Result<File> {
    let file = File::create(parent.join("lock"))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            progress("Waiting for another Ratoon that is installing IPython");
            file.lock()?;
        }
        Err(TryLockError::Error(e)) => return Err(e),
    }
    Ok(file)
}

fn remove_unfinished(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// The last line of a program's output. Python and pip print the reason there.
fn last_line(output: &[u8]) -> String {
    let output = String::from_utf8_lossy(output);
    output.trim().lines().last().unwrap_or("it printed nothing").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pin_is_exact_and_has_a_hash() {
        for pins in [PY310, PY311] {
            for package in pins.lines().filter(|l| l.contains("==")) {
                let after = pins.split_once(package).unwrap().1;
                assert!(after.trim_start().starts_with("--hash=sha256:"), "{package}");
            }
        }
    }

    #[test]
    fn the_announcement_counts_the_packages() {
        let pins = "# a\nipython==9.1 \\\n    --hash=sha256:0\njedi==1.0 \\\n    --hash=sha256:1\n";
        let output = announcement(pins, Path::new("/data/support"));
        assert_eq!(output, "Installing IPython 9.1 and 1 more packages into /data/support (once)");
    }

    #[test]
    fn other_pins_and_other_versions_get_other_directories() {
        let names =
            [directory_name((3, 11), PY311), directory_name((3, 12), PY311), directory_name((3, 11), PY310)];
        assert!(names[0] != names[1] && names[0] != names[2], "{names:?}");
        assert!(names[0].starts_with("py311-"), "{names:?}");
    }
}
