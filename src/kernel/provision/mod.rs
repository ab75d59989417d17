//! Installs IPython and cloudpickle if the user's environment does not have them. Never writes into
//! that environment: pinned wheels with known hashes are installed once, into a support directory
//! of Ratoon's own. The kernel appends this directory to `sys.path`, so packages of the environment
//! come first. If Ratoon's package is installed in the environment, so are its dependencies, and
//! there is nothing to install.
//!
//! `ruff` installs ruff, but only when the owner asks for it.
//!
//! The pins are `pins/*.txt`; `scripts/lock-support` writes them.

mod environment;
mod install;
pub mod ruff;

use crate::kernel::helper;
use crate::kernel::interpreter::{Interpreter, Places, question};
use crate::problem::{Kind, Problem};
use environment::{ANSWER_TIMEOUT, Environment};
use install::InstallError;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The requirements of IPython 9 and cloudpickle, for Python 3.11 and all later ones.
const PINS: &str = include_str!("pins/py311.txt");
/// Imports what the kernel imports, with the support directory at the end of `sys.path`. Runs with
/// `-P`, so that no file of the working directory replaces a module.
const IMPORT_ALL: &str =
    "import sys; sys.path.append(sys.argv[1]); import IPython.core.interactiveshell, cloudpickle";
/// Texts in the messages of installers that mean: the disk, or the user's quota of it, is full.
const NO_SPACE: [&str; 2] = ["No space left on device", "Disk quota exceeded"];
/// Prefix of a directory that is being filled. If no process holds the lock, the process that was
/// filling the directory was killed.
const UNFINISHED: &str = "unfinished-";

/// Returns the directory to append to `sys.path`, or None if the environment already has all
/// packages. `places` are searched for installers other than the environment's own. `data_dir` is
/// Ratoon's data directory. `progress` is called with a sentence before each step that may take
/// long. If the support directory already exists, no process is started.
pub fn ensure(
    interpreter: &Interpreter,
    places: &Places,
    data_dir: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Option<PathBuf>, Problem> {
    let parent = data_dir.join("support");
    let support = parent.join(directory_name(interpreter.version.series(), PINS));
    if support.is_dir() {
        return Ok(Some(support));
    }
    let environment = ask(interpreter, places)?;
    if environment.missing.is_empty() {
        return Ok(None);
    }
    let cannot_write = |e: io::Error| Problem {
        kind: Kind::Kernel,
        what: format!("install IPython into {}", support.display()),
        why: e.to_string(),
        how: format!(
            "make sure that there is free space and that you may write there; {}",
            by_hand(interpreter, &environment, places)
        ),
    };
    fs::create_dir_all(&parent).map_err(cannot_write)?;
    let _lock = lock(&parent, progress).map_err(cannot_write)?;
    if support.is_dir() {
        return Ok(Some(support));
    }
    remove_unfinished(&parent).map_err(cannot_write)?;
    progress(&announcement(PINS, &support));
    let unfinished = parent.join(format!("{UNFINISHED}{}", std::process::id()));
    let installed = fs::create_dir(&unfinished)
        .map_err(cannot_write)
        .and_then(|()| fill(interpreter, &environment, places, &unfinished))
        .and_then(|packages| fs::rename(packages, &support).map_err(cannot_write));
    // If this fails, the next installation removes the directory.
    let _ = fs::remove_dir_all(&unfinished);
    installed.map(|()| Some(support))
}

/// The environment that cells run in.
fn ask(interpreter: &Interpreter, places: &Places) -> Result<Environment, Problem> {
    let python = interpreter.executable.display();
    let environment = Environment::of(&interpreter.executable).map_err(|why| Problem {
        kind: Kind::Kernel,
        what: format!("ask {python} which packages it has"),
        why,
        how: "run this Python by hand to see the error, or give another one: --python PATH".to_owned(),
    })?;
    if let Some([package, version, oldest]) = &environment.too_old {
        let upgrade = by_hand_command(interpreter, &environment, places, &format!("--upgrade {package}"));
        return Err(Problem {
            kind: Kind::Kernel,
            what: format!("use {package} {version}, which is installed for {python}"),
            why: format!("Ratoon needs {package} {oldest}.0 or later, and does not change your environment"),
            how: format!("run: {upgrade}"),
        });
    }
    Ok(environment)
}

/// Installs the packages into a new directory inside `dir`, tries to import them, and returns their
/// directory.
fn fill(
    interpreter: &Interpreter,
    environment: &Environment,
    places: &Places,
    dir: &Path,
) -> Result<PathBuf, Problem> {
    let by_hand = || by_hand(interpreter, environment, places);
    let packages = install::install(interpreter, environment, places, PINS, dir).map_err(
        |InstallError { reasons, has_installer }| {
            let is_full = |why: &String| NO_SPACE.iter().any(|error| why.contains(error));
            let way_out = if reasons.iter().any(is_full) {
                "make room there, and in the directory for temporary files ($TMPDIR or /tmp),"
            } else if has_installer {
                "connect to the network (or set the index and proxy of pip or uv)"
            } else {
                "install uv, or pip for one of these Pythons,"
            };
            Problem {
                kind: Kind::Kernel,
                what: format!(
                    "install IPython for {} into {}",
                    interpreter.executable.display(),
                    dir.parent().unwrap_or(dir).display()
                ),
                why: format!("no installer worked: {}", reasons.join("; ")),
                how: format!("{way_out} and try again; {}", by_hand()),
            }
        },
    )?;
    let failed = |why| Problem {
        kind: Kind::Kernel,
        what: format!("import the IPython that was installed for {}", interpreter.executable.display()),
        why,
        how: format!("a package of the environment is probably too old for it; {}", by_hand()),
    };
    let tried = helper::run(
        question(&interpreter.executable).args(["-P", "-c", IMPORT_ALL]).arg(&packages),
        ANSWER_TIMEOUT,
    )
    .map_err(|e| failed(e.to_string()))?;
    if !tried.is_success() {
        return Err(failed(tried.reason()));
    }
    Ok(packages)
}

fn by_hand(interpreter: &Interpreter, environment: &Environment, places: &Places) -> String {
    let command = by_hand_command(interpreter, environment, places, "ipython cloudpickle");
    format!("or install it yourself: {command}")
}

/// A command line for the user that installs `packages` into the environment.
fn by_hand_command(
    interpreter: &Interpreter,
    environment: &Environment,
    places: &Places,
    packages: &str,
) -> String {
    let python = interpreter.executable.to_string_lossy();
    // Fails for a path with a NUL character, which no file has.
    let python = shlex::try_quote(&python).unwrap_or(Cow::Borrowed(&python));
    let has_uv = places.programs("uv").next().is_some();
    match &environment.bundled_pip {
        _ if environment.has_pip => format!("{python} -m pip install {packages}"),
        Some(_) if !has_uv => format!("{python} -m ensurepip && {python} -m pip install {packages}"),
        _ => format!("uv pip install --python {python} {packages}"),
    }
}

/// The name of the support directory. It depends on everything that decides the content, so an
/// existing directory has the right content.
fn directory_name((major, minor): (u8, u8), pins: &str) -> String {
    format!("py{major}{minor}-{}-{}", std::env::consts::ARCH, short_hash(pins))
}

fn short_hash(pins: &str) -> String {
    let hash = Sha256::digest(pins.as_bytes());
    hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
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
            progress("Waiting for another Ratoon that is installing packages");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pin_is_exact_and_has_a_hash() {
        for package in PINS.lines().filter(|l| l.contains("==")) {
            let after = PINS.split_once(package).unwrap().1;
            assert!(after.trim_start().starts_with("--hash=sha256:"), "{package}");
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
            [directory_name((3, 11), PINS), directory_name((3, 12), PINS), directory_name((3, 11), "other")];
        assert!(names[0] != names[1] && names[0] != names[2], "{names:?}");
        assert!(names[0].starts_with("py311-"), "{names:?}");
    }
}
